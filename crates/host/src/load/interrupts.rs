//! Time that processors spend in interrupts, as the kernel accounts it.

use std::fs;

use jitterlab_model::CpuSet;

/// Nanoseconds of a tick in /proc/stat (USER_HZ is 100 on every architecture that Linux has in use).
const TICK_NS: i64 = 10_000_000;

/// Time that these CPUs have spent in interrupts and softirqs since boot; `None` if a CPU is not listed.
pub(super) fn interrupt_time_ns(cpus: &CpuSet) -> Option<i64> {
    interrupt_time_from_stat(&fs::read_to_string("/proc/stat").ok()?, cpus)
}

fn interrupt_time_from_stat(stat: &str, cpus: &CpuSet) -> Option<i64> {
    let mut sum_ns = 0;
    for cpu in cpus.iter() {
        let name = format!("cpu{cpu}");
        let line = stat.lines().find(|line| line.split(' ').next() == Some(name.as_str()))?;
        // user, nice, system, idle, iowait, irq, softirq (proc_stat(5)).
        for ticks in line.split_whitespace().skip(6).take(2) {
            sum_ns += ticks.parse::<i64>().ok()? * TICK_NS;
        }
    }
    Some(sum_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupts_and_softirqs_of_the_load_s_processors_are_added() {
        let stat = "cpu  1 2 3 4 5 60 70 0\ncpu0 1 2 3 4 5 6 7 0 0 0\ncpu1 1 2 3 4 5 8 9 0 0 0\nintr 5\n";
        let of = |cpus: &str| interrupt_time_from_stat(stat, &cpus.parse().unwrap());
        assert_eq!((of("1"), of("0-1"), of("2")), (Some(170_000_000), Some(300_000_000), None));
    }
}
