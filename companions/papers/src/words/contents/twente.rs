//! "Timing of periodic non-realtime and realtime threads", University of Twente.

use super::Reproducibility::{CannotBeTested, HasCommand, Refuted};
use super::Row;

const REPRODUCE: &str = "jitterlab reproduce twente";
const VIRTUAL: &str = "jitterlab reproduce twente --virtual";
const SERIES: &str = "figures on this machine and, with --virtual, on kernels in virtual time";
const REAL_TIME: &str =
    "SCHED_FIFO on this machine; with --virtual PREEMPT_RT, and Cobalt or EVL where their images are given";

pub(super) const ROWS: &[Row] = &[
    (
        "choice-of-k",
        "10^5 divisions take more than 1 ms, 10^3 too little to matter: 10^4",
        HasCommand,
        "how long 10^3, 10^4 and 10^5 take here, as shares of the period; both statements tested",
        REPRODUCE,
    ),
    ("figure-1", "loop times without load, ordinary Linux", HasCommand, SERIES, REPRODUCE),
    ("figure-2", "their histogram", HasCommand, SERIES, REPRODUCE),
    ("figure-3", "loop times beside stress -c 4 -m 2, ordinary Linux", HasCommand, SERIES, REPRODUCE),
    ("figure-4", "their histogram", HasCommand, SERIES, REPRODUCE),
    ("figure-5", "loop times beside stress -c 4 -m 6, ordinary Linux", HasCommand, SERIES, REPRODUCE),
    ("figure-6", "their histogram", HasCommand, SERIES, REPRODUCE),
    ("figure-7", "loop times without load, Xenomai", HasCommand, REAL_TIME, REPRODUCE),
    ("figure-8", "their histogram", HasCommand, REAL_TIME, REPRODUCE),
    ("figure-9", "loop times beside stress -c 4 -m 2, Xenomai", HasCommand, REAL_TIME, REPRODUCE),
    ("figure-10", "their histogram", HasCommand, REAL_TIME, REPRODUCE),
    ("figure-11", "loop times beside stress -c 4 -m 6, Xenomai", HasCommand, REAL_TIME, REPRODUCE),
    ("figure-12", "their histogram", HasCommand, REAL_TIME, REPRODUCE),
    (
        "figure-13",
        "the pan-tilt head Jiwy in a loop",
        HasCommand,
        "its two axes as a plant, in a loop that runs live; its parameters are typical ones, not of the head itself",
        "jitterlab servo --live --plant jiwy",
    ),
    (
        "mean-1-2",
        "the mean is close to 1.2 ms without load and beside stress -c 4 -m 2",
        Refuted,
        "a loop that sleeps until absolute times has the period as its mean: it slept for relative ones, or 1 ms was not its period",
        VIRTUAL,
    ),
    (
        "stress-enlarges",
        "stress enlarges the jitter",
        HasCommand,
        "standard deviations under each load",
        VIRTUAL,
    ),
    (
        "proportional",
        "the jitter is directly proportional to the stress",
        HasCommand,
        "it grows with it; of a proportion three loads say nothing",
        VIRTUAL,
    ),
    (
        "mean-rises",
        "the mean rises under stress, from 1.15 to 1.3 ms",
        HasCommand,
        "by missed loops alone",
        VIRTUAL,
    ),
    (
        "stress-does-not-matter",
        "stress does not affect the loop under Xenomai",
        HasCommand,
        REAL_TIME,
        VIRTUAL,
    ),
    ("more-accurate", "Xenomai meets the period more accurately", HasCommand, REAL_TIME, VIRTUAL),
    (
        "mean-1-07",
        "the mean under Xenomai is 1.072 to 1.080 ms",
        Refuted,
        "inconsistent with absolute times, as above; its own two figures for one measurement differ",
        VIRTUAL,
    ),
    (
        "sd-0-30",
        "its standard deviation is 0.30 ms",
        Refuted,
        "0.031 ms in the text and in figure 7: a slip",
        REPRODUCE,
    ),
    (
        "better-under-stress",
        "the loop is better under stress, but negligibly",
        HasCommand,
        "standard deviations under each load",
        VIRTUAL,
    ),
    (
        "two-ways-to-show",
        "a line plot shows when, a histogram how often",
        HasCommand,
        "both, and others, of any run",
        "jitterlab plot twente/ordinary-idle.parquet",
    ),
    (
        "nanosleep-or-timer",
        "clock_nanosleep is more precise than a timer with sigwait, and has no signal's overhead",
        HasCommand,
        "both in turns, with intervals",
        "jitterlab compare-wakeups",
    ),
    (
        "interrupted",
        "a long clock_nanosleep may be interrupted by signals",
        HasCommand,
        "true, and harmless: an absolute sleep is resumed until its due time",
        "jitterlab run --period 100ms --wake nanosleep -d 1s",
    ),
    (
        "monotonic",
        "CLOCK_MONOTONIC for a loop, not CLOCK_REALTIME, which is set",
        HasCommand,
        "either can be measured; a clock that is set meanwhile is told",
        "jitterlab run --period 1ms --clock realtime -d 5s",
    ),
    (
        "timers-survive",
        "timers of timer_create survive a crash of their program",
        Refuted,
        "POSIX: timers are the process's own and go with it, however it ends; a test kills a program and sees them gone",
        "",
    ),
    (
        "not-for-control",
        "the ordinary loop is not fit for the control of a robot, the Xenomai one is",
        HasCommand,
        "what a run's times cost a plant's loop; the answer depends on the plant",
        "jitterlab servo twente/ordinary-idle.parquet --plant jiwy",
    ),
    (
        "two-plus-two",
        "Xenomai on two of the four cores, Linux on the other two",
        HasCommand,
        "on four processors that take turns in virtual time: of a start's lateness up to some 21 us are theirs; docs/evidence/twente.md has all of the command, and its load",
        "jitterlab kernel run --kernel debian:rt --cpus 4 --work twente:10000",
    ),
    (
        "default-attributes",
        "default thread attributes do for the test; FIFO 99 would be better",
        HasCommand,
        "the two policies in turns, with intervals",
        "jitterlab compare-wakeups --way policy=other --way policy=fifo:99",
    ),
    (
        "fifo-99-code",
        "the listing's attributes give its thread SCHED_FIFO with priority 99",
        Refuted,
        "without PTHREAD_EXPLICIT_SCHED a thread keeps its creator's policy: a test compiles and runs both",
        "",
    ),
    (
        "abstime",
        "absolute times are more precise than intervals",
        HasCommand,
        "relative sleeps drift by every delay, absolute ones do not",
        "jitterlab compare-wakeups --way wake=nanosleep --way wake=nanosleep-relative",
    ),
    (
        "raspberry",
        "all of it on a Raspberry Pi 4",
        CannotBeTested,
        "only on that board; jitterlab runs there as well",
        "",
    ),
];
