//! First steps for beginners: the usual things to do, and habits from other tools answered with ours.

use jitterlab_analysis::purposes::Purpose;
use jitterlab_model::load::LoadSpec;
use jitterlab_model::units::parse_duration_ns;
use jitterlab_model::{Policy, WakeMethod};
use jitterlab_motion::catalog;
use jitterlab_motion::servo::Plant;
use jitterlab_motion::stepper::Motor;

/// The usual things to do.
pub const USUAL: &str = "\
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
pub const EVERYWHERE: &str = "Most commands take --brief, --details, --json, --color WHEN and --ascii.
Exit status: 0 answered, 1 a requirement failed, 2 bad use, 3 could not measure; 128 and the signal's number when a signal ended a measurement early, with what was measured until then kept.";

/// Hint for a line of a motor's data sheet.
const MOTOR_FILE: &str =
    "a motor's data sheet is a file: jitterlab stepper --list shows one to copy, --motor FILE reads it";

/// Options that are typed out of habit, most of them from cyclictest, and ours.
pub const OPTIONS: [(&str, &str); 34] = [
    ("--step-angle", MOTOR_FILE),
    ("--current", MOTOR_FILE),
    ("--resistance", MOTOR_FILE),
    ("--inductance", MOTOR_FILE),
    ("--rotor-inertia", MOTOR_FILE),
    ("--friction", "friction is assumed; a load at the shaft is --load-torque 0.4Nm"),
    ("--live", "one line shows how a measurement goes on; --quiet shows none"),
    ("-p", "cyclictest's -p 80 is --policy fifo:80 here"),
    ("--prio", "cyclictest's --prio is --policy fifo:80 here"),
    ("--priority", "a priority belongs to its policy here: --policy fifo:80"),
    ("--affinity", "cyclictest's --affinity is --cpu 1 here"),
    ("--core", "a core is a CPU here: --cpu 1"),
    ("--threads", "cyclictest's --threads is --task name=a,period=1ms here, once for each thread"),
    ("--mlockall", "memory is always locked here: leave --mlockall out"),
    ("--breaktrace", "cyclictest's --breaktrace is --stop-above 100us here"),
    (
        "--margin",
        "how early a task wakes is --compensate margin:50us, of jitterlab run; compensate finds it out",
    ),
    (
        "--for",
        "run, watch and analyze judge for a purpose: jitterlab analyze --for servo-thread FILE; doctor takes a job: jitterlab doctor cnc",
    ),
    ("-i", "cyclictest's -i 1000 is --period 1000us here"),
    ("--interval", "cyclictest's --interval is --period 1000us here"),
    ("-D", "cyclictest's -D 60 is --duration 60s here"),
    (
        "-t",
        "cyclictest's -t is --task name=a,period=1ms here, once for each thread; jitterlab matrix measures every CPU",
    ),
    ("-a", "cyclictest's -a 1 is --cpu 1 here"),
    ("-l", "cyclictest's -l 1000 is --count 1000 here"),
    ("--loops", "cyclictest's --loops is --count 1000 here"),
    ("-S", "cyclictest's -S measures every CPU: that is jitterlab matrix here"),
    ("--smp", "cyclictest's --smp measures every CPU: that is jitterlab matrix here"),
    ("-r", "cyclictest's -r is --wake nanosleep-relative here"),
    ("-n", "tasks wait by clock_nanosleep here anyway: leave -n out"),
    ("--freq", "a period is a time or a frequency here: --period 1kHz"),
    ("--frequency", "a period is a time or a frequency here: --period 1kHz"),
    ("-m", "memory is always locked here: leave -m out"),
    ("-b", "cyclictest's -b 100 is --stop-above 100us here"),
    ("-H", "the histogram is always kept here: see it with --details, or jitterlab plot"),
    ("--histogram", "the histogram is always kept here: see it with --details, or jitterlab plot"),
];

/// Other tools and figures that people type as commands, and our command for each.
pub const TOOLS: [(&str, &str); 18] = [
    (
        "cyclictest",
        "what cyclictest measures: jitterlab run --period 1ms; its output: jitterlab analyze FILE",
    ),
    ("rtla", "what rtla timerlat measures: jitterlab run --period 1ms; its output: jitterlab analyze FILE"),
    (
        "latency-test",
        "LinuxCNC's threads: jitterlab run --task name=base,period=25us --task name=servo,period=1ms",
    ),
    ("latency-histogram", "jitterlab run --details, or jitterlab plot RUN --figure histogram"),
    ("histogram", "jitterlab plot RUN --figure histogram"),
    ("hwlatdetect", "what holds a machine up: jitterlab check, then jitterlab analyze RUN"),
    ("rtcqs", "whether a machine is set up for real time: jitterlab check"),
    ("measure", "to measure: jitterlab run"),
    ("test", "to measure: jitterlab run; all that is to be done, step by step: jitterlab doctor"),
    ("record", "to measure and record: jitterlab run -o run.parquet"),
    ("recommend", "which timer of a microcontroller: jitterlab mcu recommend"),
    (
        "sweep",
        "each way to use a timer, for your periods: jitterlab mcu recommend; table 1 of EPOS: jitterlab reproduce epos",
    ),
    (
        "cost",
        "flash, RAM and cycles of a firmware: jitterlab mcu run; of the time services: jitterlab reproduce epos",
    ),
    ("diff", "runs, also those of jitterlab kernel run: jitterlab compare BEFORE AFTER"),
    (
        "peers",
        "another tool in the same guest: jitterlab kernel run --with cyclictest --also 'cyclictest -q -l 1000'",
    ),
    ("open", "to look at a run: jitterlab report RUN -o page.html"),
    ("version", "jitterlab --version"),
    ("show", "to see what a run shows: jitterlab analyze RUN, or jitterlab report RUN -o page.html"),
];

/// Values that people type in place of an option's own: option, value, and the value that is meant.
pub const VALUES: [(&str, &str, &str); 24] = [
    ("--for", "cnc", "step-50us where software makes the steps, servo-thread where a card does"),
    ("--for", "linuxcnc", "step-50us where software makes the steps, servo-thread where a card does"),
    ("--for", "stepper", "step-50us where software makes the steps, servo-thread where a card does"),
    ("--for", "base-thread", "step-50us"),
    ("--for", "ethercat", "fieldbus-1ms"),
    ("--for", "jack", "audio"),
    ("--mcu", "uno", "atmega328p"),
    ("--mcu", "nano", "atmega328p"),
    ("--mcu", "mega", "atmega2560"),
    ("--mcu", "leonardo", "atmega32u4"),
    ("--mcu", "pico", "rp2040"),
    ("--wake", "sleep", "nanosleep"),
    ("--wake", "timer", "timerfd"),
    ("--wake", "busy", "spin"),
    ("--as", "json", "the figures as JSON: jitterlab analyze --json RUN; single activations: csv"),
    ("--as", "arrow", "the run file itself, which is Parquet: pandas, polars and DuckDB open it as it is"),
    ("--as", "feather", "the run file itself, which is Parquet: pandas, polars and DuckDB open it as it is"),
    (
        "--as",
        "markdown",
        "the table of jitterlab analyze RUN, or of jitterlab compare --markdown BEFORE AFTER",
    ),
    ("--as", "twister", "junit, a report that twister writes, too"),
    ("--as", "excel", "csv, which spreadsheets open"),
    ("--as", "xlsx", "csv, which spreadsheets open"),
    ("--as", "parquet", "a run file is Parquet already: copy it"),
    ("--figure", "latency", "histogram or series"),
    ("--figure", "cdf", "percentiles"),
];

/// Answer to a word that a command does not take: the option that takes it, with a command that has it.
pub fn option_of(word: &str, command: &str) -> Option<String> {
    const JUDGE: &[&str] = &["run", "watch", "analyze", "judge"];
    const RECORD: &[&str] = &["run", "watch"];
    const MEASURE: &[&str] = &["run", "compensate", "doctor", "tune", "matrix"];
    let lower = word.to_ascii_lowercase();
    let habit = VALUES.iter().find(|(option, value, _)| *option == "--for" && *value == lower);
    let is_name = !lower.contains(['/', '.']);
    let is_plant = || is_name && catalog::known::<Plant>(&lower).is_ok();
    let is_motor = || is_name && catalog::known::<Motor>(&lower).is_ok();
    let (option, value, commands): (_, _, &[&str]) = match () {
        () if Purpose::named(&lower).is_some() => ("--for", lower.as_str(), JUDGE),
        () if habit.is_some() => return habit.map(|(_, _, ours)| format!("did you mean --for {ours}?")),
        () if is_plant() => ("--plant", lower.as_str(), &["servo"]),
        () if is_motor() => ("--motor", lower.as_str(), &["stepper"]),
        () if lower.parse::<Policy>().is_ok() => ("--policy", lower.as_str(), &["run"]),
        () if lower.parse::<WakeMethod>().is_ok() => ("--wake", lower.as_str(), &["run"]),
        () if parse_duration_ns(&lower).is_ok() => ("--duration", lower.as_str(), MEASURE),
        () if word.contains(':') && word.parse::<LoadSpec>().is_ok() => ("--load", word, &["run"]),
        () if word.ends_with(".parquet") && RECORD.contains(&command) => ("--output", word, RECORD),
        () => return None,
    };
    let command = if commands.contains(&command) { command } else { commands[0] };
    Some(format!("did you mean jitterlab {command} {option} {value}?"))
}

/// Hint for a file without a command, or with one that does not read it.
pub fn for_file(file: &str, is_program: bool) -> String {
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
pub fn one_word(unit: &str) -> String {
    format!("a value and its unit are one word: 10{unit} (or in quotes: \"10 {unit}\")")
}

/// Hint for a name in place of a process number.
pub fn thread_by_name(name: &str) -> String {
    format!("a process has a number; a thread goes by its name: --thread {name}")
}
