//! The fuzz targets on their corpora, and for some seconds on inputs made out of these. Longer runs, guided
//! by code coverage: `fuzz/run`.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot do its steps has failed"
)]

#[path = "../../../../fuzz/src/targets/mod.rs"]
mod targets;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use targets::{TARGETS, Target, lot};

/// Longer inputs are cut.
const LONGEST: usize = 1 << 16;

/// At least one input of this many is taken through the long checks.
const FEWER: u32 = 32;

/// Replacements for a number in a text.
const NUMBERS: [&str; 8] =
    ["0", "-1", "18446744073709551615", "-9223372036854775808", "1e308", "-1e30", "nan", "0.0000001"];

/// Random numbers, the same in each test.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides.max(1)
    }
}

/// An input with one change.
fn change(input: &mut Vec<u8>, other: &[u8], dice: &mut Dice) {
    let at = dice.roll(input.len());
    let length = dice.roll(16).min(input.len() - at);
    match dice.roll(8) {
        0 if !input.is_empty() => input[at] ^= 1 << dice.roll(8),
        1 if !input.is_empty() => input[at] = [0, 1, 0x7f, 0x80, 0xff][dice.roll(5)],
        2 => drop(input.drain(at..at + length)),
        3 => input.insert(at, dice.roll(256) as u8),
        4 => {
            let copy = input[at..at + length].to_vec();
            input.splice(at..at, copy);
        }
        5 if !other.is_empty() => {
            let from = dice.roll(other.len());
            let part = &other[from..(from + dice.roll(64)).min(other.len())];
            input.splice(at..at + length, part.iter().copied());
        }
        6 => {
            let digits = |b: &u8| b.is_ascii_digit();
            let Some(from) = input[at..].iter().position(digits).map(|n| at + n) else { return };
            let to = input[from..].iter().position(|b| !digits(b)).map_or(input.len(), |n| from + n);
            input.splice(from..to, NUMBERS[dice.roll(NUMBERS.len())].bytes());
        }
        _ => input.truncate(at),
    }
    input.truncate(LONGEST);
}

fn corpus(name: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

fn fuzz(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name).unwrap();
    let seconds = std::env::var("JITTERLAB_FUZZ_SECONDS").ok().and_then(|n| n.parse().ok()).unwrap_or(2);
    let folder = tempfile::tempdir().unwrap();
    let tried = |input: &[u8], long: bool, origin: &Path| {
        if catch_unwind(AssertUnwindSafe(|| (target.run)(folder.path(), input, long))).is_err() {
            let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{name}"));
            fs::write(&kept, input).unwrap();
            panic!("{name}: panics on what was made of {}; kept as {}", origin.display(), kept.display());
        }
    };
    let corpus = corpus(name);
    corpus.iter().for_each(|(path, input)| tried(input, true, path));
    let mut dice = Dice(seconds);
    let (begin, mut inputs) = (Instant::now(), corpus.len());
    let mut longest = Duration::ZERO;
    while begin.elapsed() < Duration::from_secs(seconds) {
        let (path, input) = &corpus[dice.roll(corpus.len())];
        let (_, other) = &corpus[dice.roll(corpus.len())];
        let mut input = input.clone();
        for _ in 0..1 + dice.roll(6) {
            change(&mut input, other, &mut dice);
        }
        // Here are fewer inputs than under libFuzzer, so a larger share of them goes through the long checks.
        let long = lot(&input).is_multiple_of(target.share.min(FEWER));
        let one = Instant::now();
        tried(&input, long, path);
        longest = longest.max(one.elapsed());
        inputs += 1;
    }
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default().trim();
    println!("{name}: {inputs} inputs, the longest {longest:?}, at most {most}");
}

macro_rules! fuzzed {
    ($($test:ident: $target:literal),+ $(,)?) => {
        $(#[test]
        fn $test() {
            fuzz($target);
        })+
    };
}

fuzzed! {
    run_files: "run-file",
    journals: "journal",
    values_in_runs: "values",
    descriptions_that_lie: "structures",
    outputs_of_other_tools: "import",
    causes_in_runs: "causes",
    motors_and_plants: "devices",
    options: "texts",
    programs_and_archives: "programs",
    results: "results",
    what_comes_to_pins: "stimuli",
    firmware: "firmware",
}

#[test]
fn every_target_has_a_corpus_and_a_test() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let source = include_str!("fuzz.rs");
    for Target { name, .. } in TARGETS {
        assert!(folder.join(name).is_dir(), "{name} has no corpus");
        assert!(source.contains(&format!(": \"{name}\",")), "{name} has no test");
    }
}
