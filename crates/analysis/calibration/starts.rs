//! Error rates and power of the comparison of two ways to start a machine, by their starts.

use jitterlab_analysis::tune::{
    BlockFigures, Boot, BootComparison, BootConfiguration, LEVEL, MOST_BOOTS, SettingVerdict,
};

use super::series::Noise;
use super::table::{Rate, TableSelection, print_head, print_row, share_text};

/// Process of the figure over the starts of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Boots {
    White,
    TwoModes,
    Seldom,
    HeavyTail,
    Wandering,
    Drift,
}

/// All of them.
pub const BOOTS: [Boots; 6] =
    [Boots::White, Boots::TwoModes, Boots::Seldom, Boots::HeavyTail, Boots::Wandering, Boots::Drift];

impl Boots {
    /// Returns the name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Boots::White => "white, 10 %",
            Boots::TwoModes => "every second one 35 % slower, by chance",
            Boots::Seldom => "one of seven twice as slow",
            Boots::HeavyTail => "heavy tail",
            Boots::Wandering => "wandering by 10 % a start",
            Boots::Drift => "5 %, drifts by 2 % a start",
        }
    }
}

/// Compares two ways to start by starts in turns; the second has this effect on the logarithm of the figure.
fn compare_starts(boots: Boots, effect: f64, seed: u64) -> BootComparison {
    let mut noise = Noise::new(seed);
    let mut level = 0.0;
    let mut start = |n: usize| {
        let white = 0.1 * noise.normal();
        level += white;
        let deviation = match boots {
            Boots::White => white,
            Boots::TwoModes => 0.2 * white + if noise.below(2) == 0 { 0.3 } else { 0.0 },
            Boots::Seldom => 0.5 * white + if noise.below(7) == 0 { 2f64.ln() } else { 0.0 },
            Boots::HeavyTail => (1.0 + 0.1 * (noise.uniform().powf(-0.5) - 1.0)).ln(),
            Boots::Wandering => level + 0.03 * noise.normal(),
            Boots::Drift => 0.5 * white + 0.02 * n as f64,
        };
        let second = n % 2 == 1;
        let tail_ns = (50_000.0 * (deviation + if second { effect } else { 0.0 }).exp()) as i64;
        let block =
            BlockFigures { tail_ns, max_ns: 2 * tail_ns, missed: 0, due: 5_000, verdict: None, repeated: 0 };
        let way = BootConfiguration { kernel: String::new(), command_line: second.to_string(), name: None };
        Boot { boot: n.to_string(), measured: String::new(), way, blocks: vec![block] }
    };
    let starts: Vec<Boot> = (0..2 * MOST_BOOTS).map(&mut start).collect();
    BootComparison::new(String::new(), Vec::new(), "p99".into(), &starts)
}

/// Returns the rate of trials in which one of two equal ways to start is called better or worse.
pub fn false_difference_rate(boots: Boots, repeats: usize, seed: u64) -> Rate {
    let called = (0..repeats as u64)
        .filter(|n| compare_starts(boots, 0.0, seed * 1_000_000 + n).judgement != SettingVerdict::Undecided);
    Rate { count: called.count(), of: repeats, bound: LEVEL }
}

/// Returns the share of experiments that find a second way to be better, where it is by this factor.
pub fn detection_share(boots: Boots, factor: f64, repeats: usize, seed: u64) -> f64 {
    let found = (0..repeats as u64).filter(|n| {
        compare_starts(boots, factor.ln(), seed * 1_000_000 + n).judgement == SettingVerdict::Helps
    });
    found.count() as f64 / repeats as f64
}

pub fn print_table(selection: &TableSelection) {
    let repeats = 4_000.min(selection.most);
    print_head(&[
        "starts of two ways in turns, 3 to 8 of each",
        "called different, alike",
        "found, 20 % better",
        "50 % better",
    ]);
    for (seed, boots) in (1..).zip(BOOTS).filter(|(_, of)| selection.includes(of.name())) {
        let powers = [0.8, 0.5].map(|factor| share_text(detection_share(boots, factor, repeats, 100 + seed)));
        let rate = false_difference_rate(boots, repeats, seed).to_string();
        print_row([boots.name().to_owned(), rate].into_iter().chain(powers));
    }
}
