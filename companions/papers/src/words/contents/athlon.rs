//! "xenomai-user threads (Athlon)", LinuxCNC's wiki, 2012.

use super::Reproducibility::{CannotBeTested, HasCommand, NeedsHardware, NeedsImage, NotBuilt, Refuted};
use super::Row;

const REPRODUCE: &str = "jitterlab reproduce athlon";
const VIRTUAL: &str = "jitterlab reproduce athlon --virtual";

pub(super) const ROWS: &[Row] = &[
    (
        "table-1",
        "largest period error of a servo and a base thread on each of 16 pairs of CPUs, without load",
        HasCommand,
        "every pair of the CPUs there are; with --virtual all 16 of four emulated ones",
        VIRTUAL,
    ),
    (
        "table-2",
        "the same with CPU hogs on CPUs 0 and 1",
        HasCommand,
        "as table 1; the hogs run on the first two CPUs that are not isolated",
        VIRTUAL,
    ),
    (
        "isolation",
        "CPUs 2 and 3 are isolated by isolcpus",
        HasCommand,
        "with --virtual the kernel is booted so; on a machine, CPUs isolated at boot are named in the result",
        VIRTUAL,
    ),
    (
        "same-cpu",
        "jitter is lowest with both threads on the same CPU",
        HasCommand,
        "holds on the report's numbers (a factor of 0.44, 95 % interval 0.36 to 0.75), and is tested on this machine's",
        REPRODUCE,
    ),
    (
        "cpu-0",
        "CPU 0, where the system's processes run, is an exception",
        HasCommand,
        "1.9 times the others on the report's numbers; with --virtual on four CPUs, on a machine with three at least",
        VIRTUAL,
    ),
    (
        "as-good-as-rtai",
        "but for CPU 0, the same-CPU cells are as good as RTAI's 4.4 us (servo) and 2.4 us (base) or better",
        Refuted,
        "by its own tables: the servo thread's 2.5 to 4.2 us are, the base thread's 4.7 to 5.5 us are twice RTAI's",
        REPRODUCE,
    ),
    (
        "rtai",
        "RTAI gave 4.4 us and 2.4 us on the same computer",
        CannotBeTested,
        "the number is of another page, for that computer and a kernel of its time",
        "",
    ),
    (
        "hogs",
        "CPU hogs help minimally, perhaps a few microseconds",
        HasCommand,
        "holds on the report's numbers (-1.1 us at the median, a factor of 0.86), and is tested on this machine's",
        REPRODUCE,
    ),
    (
        "usage",
        "without load CPU 0 is idle for 95 %; a hog takes 80 % as user and 20 % as system",
        NotBuilt,
        "what a load takes of the CPUs is told, not how it is shared between user and system",
        "",
    ),
    (
        "power-management",
        "that hogs help so little speaks against power management as a cause",
        NeedsHardware,
        "a machine whose idle states can be held: measure with and without, then `jitterlab compare`",
        "jitterlab run --cpu-dma-latency 0",
    ),
    (
        "step-generation",
        "even the worst value is quite acceptable for software step generation",
        HasCommand,
        "the report's worst base thread, 10 us, in StepConf's rule and on a motor; with a run file, on that run",
        "jitterlab stepper --jitter 10us --motor ml23hs8l4550",
    ),
    (
        "desktop-loads",
        "a browser, glxgears and the update agent kick the jitter occasionally, minimally",
        HasCommand,
        "any program that is installed is a load, as it is typed: a browser, glxgears, updatedb; two runs, then `compare`",
        "jitterlab run --period 25us -d 2m --load exec:glxgears",
    ),
    (
        "proc",
        "reading /proc/xenomai/stat raises the base thread's jitter to 250 to 350 us",
        NeedsImage,
        "a kernel with Cobalt; without one the command reads the files of /proc that there are",
        REPRODUCE,
    ),
    (
        "more-stable",
        "this build varies less than earlier ones",
        CannotBeTested,
        "of the earlier ones the report gives no numbers",
        "",
    ),
    (
        "repeatable",
        "two minutes a cell give reasonably repeatable results",
        HasCommand,
        "each cell is measured three times, and every answer carries the interval that follows",
        "jitterlab reproduce athlon --duration 2m",
    ),
    (
        "long-runs",
        "the best and the worst cell should be measured for 12 to 24 hours",
        HasCommand,
        "spikes and a histogram of each second are kept; two threads are two --task, and it cannot be resumed",
        "jitterlab run --period 25us -d 12h --keep spikes:20us",
    ),
];
