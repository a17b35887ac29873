//! What is shown to somebody who begins: the five usual things to do, and habits from other tools answered with ours.

/// The five usual things to do.
pub const USUAL: &str = "\
jitterlab measures how regular a periodic task really is on this machine.

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

/// The options that cyclictest's users type, and ours.
pub const CYCLICTEST: [(&str, &str); 12] = [
    ("-p", "cyclictest's -p 80 is --policy fifo:80 here"),
    ("--prio", "cyclictest's --prio is --policy fifo:80 here"),
    ("-i", "cyclictest's -i 1000 is --period 1000us here"),
    ("--interval", "cyclictest's --interval is --period 1000us here"),
    ("-D", "cyclictest's -D 60 is --duration 60s here"),
    (
        "-t",
        "cyclictest's -t is --task name=a,period=1ms here, once for each thread; jitterlab matrix measures every CPU",
    ),
    ("-a", "cyclictest's -a 1 is --cpu 1 here"),
    ("-l", "cyclictest's -l 1000 is --count 1000 here"),
    ("-m", "memory is always locked here: leave -m out"),
    ("-b", "cyclictest's -b 100 is --stop-above 100us here"),
    ("-H", "the histogram is always kept here: see it with --details, or jitterlab plot"),
    ("--histogram", "the histogram is always kept here: see it with --details, or jitterlab plot"),
];

/// What is meant by a file without a command.
#[must_use]
pub fn to_analyze(file: &str) -> String {
    format!("to see what a run shows: jitterlab analyze {file}")
}
