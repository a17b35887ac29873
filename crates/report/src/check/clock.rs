//! Words for the checks of the kernel's clock source.

use super::entry::Words;

pub(super) const WORDS: &[Words] = &[
    Words {
        id: "clocksource",
        title: "Clocksource",
        why: "The clock is read at every wake-up: a slow one costs microseconds each time, a coarse one hides the jitter.",
        found: &[
            ("unreadable", "the clocksource could not be read"),
            ("fast", "{source}"),
            ("tick", "{source}: time advances with the tick only"),
            ("slow", "{source}: each reading is a system call and takes about 1 µs"),
            ("not-known-slow", "{source} (not among the known slow ones)"),
        ],
        advice: &[
            ("paravirtual", "give the guest a paravirtual clock or an invariant TSC"),
            (
                "dmesg",
                "see `dmesg | grep -i tsc` for why the counter was given up; often a firmware update helps, or the kernel parameter tsc=reliable",
            ),
        ],
    },
    Words {
        id: "tsc",
        title: "Stability of the processor's counter",
        why: "A counter that changes speed or stops in idle states makes the kernel fall back to a slower clock in the middle of a run.",
        found: &[
            ("none", "this processor has no TSC"),
            ("architectural", "one speed, in every idle state: the architecture promises it"),
            ("declared-unstable", "declared unstable by the kernel parameter tsc=unstable"),
            ("stable", "runs at one speed and in every idle state"),
            ("not-promised-to-guest", "the guest is not promised {missing:and}"),
            ("stops", "stops in deep idle states"),
            ("not-promised", "the processor does not promise {missing:and}"),
        ],
        advice: &[
            ("host", "show the guest an invariant counter: `-cpu host,+invtsc` in QEMU"),
            ("take-off", "take `tsc=unstable` off the kernel's command line, then restart"),
        ],
    },
];
