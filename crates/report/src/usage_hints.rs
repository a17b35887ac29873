//! First steps for beginners: the usual things to do, and habits from other tools answered with ours.

use jitterlab_analysis::purposes::Purpose;
use jitterlab_model::load::LoadSpec;
use jitterlab_model::units::parse_duration_ns;
use jitterlab_model::{Policy, WakeMethod};
use jitterlab_motion::catalog;
use jitterlab_motion::servo::Plant;
use jitterlab_motion::stepper::Motor;

use crate::dictionary::entry;

/// The usual things to do.
pub const USUAL_COMMANDS: &str = "\
jitterlab measures how regular a periodic task really is on this machine.

Is this computer fit to drive my machine, and what makes it so?
    sudo jitterlab doctor
Is this machine set up for real time?
    jitterlab check
Is it good enough? (for what: step-50us, servo-thread, robot-1khz, audio, ...)
    jitterlab run --for servo-thread
How fast may my stepper motor go?
    jitterlab stepper --frame 23 --torque 1.9Nm --travel 5mm/rev RUN
Did the change help?
    jitterlab compare BEFORE AFTER
A page to look at and to send:
    jitterlab report RUN -o page.html

Outputs of cyclictest, rtla, latency-test and others are runs too.
All commands: jitterlab --help; a command's options: jitterlab run --help
";

/// The heading of the commands that are programs of their own.
pub const COMPANIONS: &str = "Companions, programs of their own";

/// The command that the parser adds.
pub const HELP: &str = "Print this message or the help of the given subcommand(s)";

/// Rules that hold for every command.
pub const COMMON_RULES: &str = "Most commands take --brief, --details, --json, --color WHEN and --ascii.
Exit status: 0 answered, 1 a requirement failed, 2 bad use, 3 could not measure; 128 and the signal's number when a signal ended a measurement early, with what was measured until then kept.";

/// Suggests the option for a word that a command does not take, as a question; `None` for unknown words.
pub fn suggest_option(given: &str, command: &str) -> Option<String> {
    const JUDGE: &[&str] = &["run", "watch", "analyze", "judge"];
    const RECORD: &[&str] = &["run", "watch"];
    const MEASURE: &[&str] = &["run", "compensate", "doctor", "tune", "matrix"];
    let lower = given.to_ascii_lowercase();
    let habit = entry("--for", &lower);
    let is_name = !lower.contains(['/', '.']);
    let is_plant = || is_name && catalog::known_device::<Plant>(&lower).is_ok();
    let is_motor = || is_name && catalog::known_device::<Motor>(&lower).is_ok();
    let (option, value, commands): (_, _, &[&str]) = match () {
        () if Purpose::by_name(&lower).is_some() => ("--for", lower.as_str(), JUDGE),
        () if habit.is_some() => return habit.map(|ours| format!("did you mean --for {ours}?")),
        () if is_plant() => ("--plant", lower.as_str(), &["servo"]),
        () if is_motor() => ("--motor", lower.as_str(), &["stepper"]),
        () if lower.parse::<Policy>().is_ok() => ("--policy", lower.as_str(), &["run"]),
        () if lower.parse::<WakeMethod>().is_ok() => ("--wake", lower.as_str(), &["run"]),
        () if parse_duration_ns(&lower).is_ok() => ("--duration", lower.as_str(), MEASURE),
        () if given.contains(':') && given.parse::<LoadSpec>().is_ok() => ("--load", given, &["run"]),
        () if given.ends_with(".parquet") && RECORD.contains(&command) => ("--output", given, RECORD),
        () => return None,
    };
    let command = if commands.contains(&command) { command } else { commands[0] };
    Some(format!("did you mean jitterlab {command} {option} {value}?"))
}

/// Hint for a file without a command, or with one that does not read it.
pub fn file_hint(file: &str, is_program: bool) -> String {
    match file.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "elf" | "hex" => format!("to run a firmware: jitterlab mcu run {file}"),
        "c" | "cc" | "cpp" | "ino" => {
            format!("{file} is a source text: compile it first (docs/guide/mcu.md)")
        }
        _ if is_program => format!("to see when a program starts: sudo jitterlab watch -- {file}"),
        _ => format!("to see what a run shows: jitterlab analyze {file}"),
    }
}

/// Hint for a command without the file that it reads.
pub const MEASURE_FIRST: &str = "to measure one first: jitterlab run -o run.parquet";

/// Hint for an export without a format.
pub const FORMATS: &str = "formats: csv, cyclictest, hdr, junit, linuxcnc, openmetrics, perfetto, prometheus, trace-dat; jitterlab export --help";

/// Hint for a source document that is not named.
pub const DOCUMENTS: &str = "the documents: jitterlab reproduce --list";

/// Hint for a unit that is separated from its value.
pub fn unit_hint(unit: &str) -> String {
    format!("a value and its unit are one word: 10{unit} (or in quotes: \"10 {unit}\")")
}

/// Hint for a name in place of a process number.
pub fn thread_name_hint(name: &str) -> String {
    format!("a process has a number; a thread goes by its name: --thread {name}")
}
