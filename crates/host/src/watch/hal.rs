//! LinuxCNC's threads: the kernel knows them by numbers, HAL by names.

use std::process::Stdio;

use jitterlab_model::Warning;
use jitterlab_model::watched::LINUXCNC;
use jitterlab_trace::{HalThread, parse_hal_thread};

use super::threads::FoundThread;
use crate::programs::system_command;

/// Beginning of the names that LinuxCNC gives its threads in the kernel.
const NUMBERED: &str = "rtapi_app:T#";
/// Longest time for the answer in seconds: a program that died with HAL's lock stops it for ever.
const LONGEST_S: &str = "2";
/// The share of its period by which a thread's found period may differ from HAL's: found ones are means.
const APART: f64 = 0.02;

fn has_numbered_name(thread: &FoundThread) -> bool {
    thread.program == LINUXCNC && thread.name.starts_with(NUMBERED)
}

/// Runs `halcmd` for HAL's threads; returns its answer, empty without one.
fn run_halcmd() -> String {
    let halcmd = system_command("halcmd");
    let mut bounded = system_command("timeout");
    bounded.arg(LONGEST_S).arg(halcmd.get_program()).args(["show", "thread"]);
    let answer = bounded.stdin(Stdio::null()).stderr(Stdio::null()).output();
    answer.map(|answer| String::from_utf8_lossy(&answer.stdout).into_owned()).unwrap_or_default()
}

/// Gives LinuxCNC's threads their names in HAL, asked of `halcmd`, where a period has only one thread.
pub(super) fn assign_hal_names(threads: &mut [(&mut FoundThread, f64)]) {
    if threads.iter().any(|(thread, _)| has_numbered_name(thread)) {
        assign_listed_names(&run_halcmd(), threads);
    }
}

fn assign_listed_names(answer: &str, threads: &mut [(&mut FoundThread, f64)]) {
    let listed: Vec<HalThread<'_>> = answer.lines().filter_map(parse_hal_thread).collect();
    let is_it = |period_ns: f64, listed: &HalThread<'_>| {
        (period_ns - listed.period_ns as f64).abs() <= APART * listed.period_ns as f64
    };
    let periods: Vec<f64> = threads.iter().map(|(_, period_ns)| *period_ns).collect();
    for (thread, period_ns) in threads.iter_mut().filter(|(thread, _)| has_numbered_name(thread)) {
        let mut fitting = listed.iter().filter(|listed| is_it(*period_ns, listed));
        if let (Some(only), None) = (fitting.next(), fitting.next()) {
            let alike = periods.iter().filter(|period_ns| is_it(**period_ns, only)).count();
            if alike == 1 {
                only.name.clone_into(&mut thread.name);
            }
        }
    }
}

/// Warning with the longest times that HAL counted for these threads; `None` if none is LinuxCNC's.
pub(super) fn hal_longest_times_warning(threads: &[&FoundThread]) -> Option<Warning> {
    if !threads.iter().any(|thread| thread.program == LINUXCNC) {
        return None;
    }
    let answer = run_halcmd();
    let listed = answer.lines().filter_map(parse_hal_thread);
    let known = listed.filter(|listed| threads.iter().any(|thread| thread.name == listed.name));
    let texts: Vec<String> = known.map(|listed| format!("{}.tmax={}", listed.name, listed.longest)).collect();
    (!texts.is_empty()).then(|| Warning::Said { tool: "LinuxCNC".into(), text: texts.join(", ") })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &str = "Realtime Threads:\n     Period  FP     Name               (     Time, Max-Time )\n    \
                          1000000  YES                 servo (       74,    82394 )\n                  1 siggen.0.update\n     \
                          500000  YES                  base (        0,        0 )\n";

    fn named(periods: &[(&str, f64)]) -> Vec<String> {
        let new = |name: &&str| FoundThread {
            process: 1,
            thread: 1,
            name: (*name).into(),
            program: LINUXCNC.into(),
        };
        let mut threads: Vec<FoundThread> = periods.iter().map(|(name, _)| new(name)).collect();
        let mut with: Vec<_> =
            threads.iter_mut().zip(periods).map(|(thread, (_, ns))| (thread, *ns)).collect();
        assign_listed_names(ANSWER, &mut with);
        threads.into_iter().map(|thread| thread.name).collect()
    }

    #[test]
    fn threads_have_their_names_in_hal_where_one_period_is_of_one() {
        let found = [("rtapi_app:T#0", 500_012.0), ("rtapi_app:T#1", 999_849.0), ("rtapi_app:mesg", 1e6)];
        // A thread that is none of HAL's may have the same period: then nothing tells them apart.
        assert_eq!(named(&found), ["base", "rtapi_app:T#1", "rtapi_app:mesg"]);
        assert_eq!(named(&found[..2]), ["base", "servo"]);
        assert_eq!(named(&[("rtapi_app:T#0", 2e6)]), ["rtapi_app:T#0"]);
    }
}
