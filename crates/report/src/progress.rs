//! Messages of a command while it measures.

use std::path::Path;

use jitterlab_analysis::compensation_trial::TrialStep;
use jitterlab_analysis::measured::{MeasurementProgress, TaskProgress};
use jitterlab_analysis::purposes::{Measure, Purpose};
use jitterlab_model::units::Human;

use crate::printable::printable;
use crate::words::{count, exact_time, plural, time};

/// Ends the line of a measurement on a terminal.
const CTRL_C_HINT: &str = "  ^C ends";

/// Progress of a measurement in one line; of several tasks the one with the worst start is named. With a purpose, its
/// limit takes the place of count and median.
pub fn measurement_progress_line(so_far: &MeasurementProgress, purpose: Option<&Purpose>) -> String {
    // Whole seconds; tenths of the first one.
    let step_ns = if so_far.elapsed_ns < 1_000_000_000 { 100_000_000 } else { 1_000_000_000 };
    let elapsed = time((so_far.elapsed_ns / step_ns * step_ns) as f64);
    let planned = so_far.planned_ns.map_or_else(String::new, |ns| format!(" of {}", exact_time(ns)));
    let tasks = &so_far.tasks;
    let activations = plural(tasks.iter().map(|task| task.stats.latency.count()).sum(), "activation");
    let limit = limit_text(so_far, purpose);
    let several = if tasks.len() == 1 { String::new() } else { format!(" of {} tasks", tasks.len()) };
    let mut text = format!("{elapsed}{planned}: ") + &limit.clone().unwrap_or(activations + &several);
    let latest = tasks.iter().max_by_key(|task| task.stats.latency.max_ns());
    let known = latest.and_then(|task| Some((task, task.stats.latency.max_ns()?)));
    if let Some((task, worst_ns)) = known {
        let worst = time(worst_ns as f64);
        let median_ns = task.stats.latency.quantile_ns(0.5).filter(|_| limit.is_none() && several.is_empty());
        text += &median_ns.map_or_else(String::new, |ns| format!(", median {}", time(ns as f64)));
        text += &format!(", worst {worst}");
        text += &if several.is_empty() { String::new() } else { format!(" ({})", printable(&task.name)) };
    }
    let missed = tasks.iter().map(|task| task.stats.least_missed()).sum();
    text + &format!(", {} missed", count(missed))
}

/// Cuts a line between its parts to fit these columns; adds the hint for Ctrl-C if there is room. A longer line would
/// break, and the next one could not replace it.
pub fn trim_progress_line(line: &str, columns: usize) -> String {
    let whole = line.chars().take(columns).collect::<String>();
    if whole.len() < line.len() {
        return whole.rsplit_once(", ").map_or(whole.clone(), |(parts, _)| parts.to_owned());
    }
    let has_room = line.chars().count() + CTRL_C_HINT.len() <= columns;
    whole + if has_room { CTRL_C_HINT } else { "" }
}

/// Deciding quantity of a purpose, as measured so far, with its limit; `None` without a purpose or values.
fn limit_text(so_far: &MeasurementProgress, purpose: Option<&Purpose>) -> Option<String> {
    let limit = purpose?.limits.first()?;
    let seen = |task: &TaskProgress| {
        let (latency, errors) = (&task.stats.latency, &task.stats.period_error);
        match limit.measure {
            Measure::Interval => {
                Some(errors.max_ns()?.saturating_abs().max(errors.min_ns()?.saturating_abs()))
            }
            Measure::Latency => latency.max_ns(),
            Measure::PeriodDeviation => errors.standard_deviation_ns().map(|ns| ns.round() as i64),
            Measure::Missed => None,
        }
    };
    let worst_ns = so_far.tasks.iter().filter_map(seen).max()?;
    let (name, usable) = (crate::purpose::measure_name(limit.measure), time(limit.limited as f64));
    Some(format!("{name} {}, limit {usable}", time(worst_ns as f64)))
}

/// Progress of writing a run file that takes long.
pub fn run_file_progress_line(done: u64, of: u64) -> String {
    format!("closing the run file: {} % done", 100 * done.min(of) / of.max(1))
}

/// Text of a step with the approximate time for the rest, if it is known.
pub fn step_with_time_left(of: &TrialStep, left_ns: Option<i64>) -> String {
    let whole_s = |ns: i64| (ns as f64 / 1e9).ceil() * 1e9;
    let left = left_ns.map_or_else(String::new, |ns| format!(", about {} left", time(whole_s(ns))));
    step_text(of) + &left
}

/// Progress of trying ways to wait with a control loop; all still take `left_ns`.
pub fn wait_method_progress_line(name: &str, load: &str, left_ns: f64) -> String {
    format!("{name} under load {load}, {} left", Human(left_ns))
}

/// Message of a command that continues an earlier call.
pub fn continuation_note(parts: usize, file: &Path) -> String {
    format!(
        "going on behind the {} that an earlier call of this command has measured ({}; remove it to begin anew)",
        plural(parts as u64, "part"),
        file.display()
    )
}

/// Error of a program that the system refuses memory; a constant, since formatting it would take some.
pub const OUT_OF_MEMORY: &str = "error: the system has no memory left for this; give it more (ulimit -v, a container's limit), or \
                             a shorter run\n";

/// Message of a command that is stopped.
pub const CONTINUES_LATER: &str = "what was measured is kept: the same command goes on from here";

/// Text of a step of an experiment.
pub fn step_text(step: &TrialStep) -> String {
    match step {
        TrialStep::EarlySleeps { methods, each_ns, proof: (turns, turn_ns) } => format!(
            "measuring early sleeps: {} for {} each, later {turns} turns of {} to prove it",
            plural(*methods as u64, "way"),
            exact_time(*each_ns),
            exact_time(*turn_ns)
        ),
        TrialStep::WakeUpCost => "measuring what waking early costs".into(),
        TrialStep::MarginPolling => "measuring how much margins poll".into(),
        TrialStep::Proof => "proving it: uncompensated and compensated blocks in turns".into(),
        TrialStep::Ways { count, rounds, turn_ns } => format!(
            "measuring {} to wait, each in {} of {}",
            plural(*count as u64, "way"),
            plural(u64::from(*rounds), "turn"),
            exact_time(*turn_ns)
        ),
        TrialStep::Causes => "finding out what makes it late".into(),
        TrialStep::Measuring => "measuring".into(),
        TrialStep::KnobRound { round, of } => {
            format!("trying settings in turns, round {round} of at most {of}")
        }
        TrialStep::Cell { number, of, cpus, condition } => {
            let cpus: Vec<String> = cpus.iter().map(ToString::to_string).collect();
            format!("cell {} of {of}: CPU {}, load {}", number + 1, cpus.join("/"), printable(condition))
        }
        TrialStep::ThisStart => "this start of the machine".into(),
        TrialStep::KnobProof { knobs } => {
            format!("proving {} against the start in turns", plural(*knobs as u64, "setting"))
        }
        TrialStep::NistSeries => "figures 1 and 2: series of the time stamp counter".into(),
        TrialStep::NistCalls => "figure 4: one activation with its early calls".into(),
        TrialStep::NistLoad => "figure 5: the load of repeated early wake-ups".into(),
        TrialStep::NistTurns => "figure 6: uncompensated and compensated in turns".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data;

    fn line(tasks: &[(&str, &[i64])]) -> String {
        line_for(tasks, None)
    }

    fn line_for(tasks: &[(&str, &[i64])], purpose: Option<&Purpose>) -> String {
        let task = |(name, latencies): &(&str, &[i64])| TaskProgress {
            name: (*name).into(),
            stats: test_data::timing_stats(latencies),
        };
        let tasks = tasks.iter().map(task).collect();
        measurement_progress_line(
            &MeasurementProgress { elapsed_ns: 4_700_000_000, planned_ns: Some(10_000_000_000), tasks },
            purpose,
        )
    }

    #[test]
    fn a_line_says_how_far_and_how_late() {
        let one = line(&[("servo", &[2_000, 2_500, 90_000])]);
        assert_eq!(one, "4 s of 10 s: 3 activations, median 2.51 µs, worst 90 µs, 0 missed");
        let two = line(&[("servo", &[2_000]), ("b\u{1b}", &[1_000, 90_000])]);
        assert_eq!(two, "4 s of 10 s: 3 activations of 2 tasks, worst 90 µs (b\\u001b), 0 missed");
        let fieldbus = line_for(&[("servo", &[2_000, 90_000])], Purpose::by_name("fieldbus-1ms"));
        assert_eq!(fieldbus, "4 s of 10 s: latency 90 µs, limit 500 µs, worst 90 µs, 0 missed");
        assert_eq!(line(&[("servo", &[])]), "4 s of 10 s: 0 activations, 0 missed");
        assert_eq!(
            trim_progress_line("4 s of 10 s: 3 activations, 0 missed", 45),
            "4 s of 10 s: 3 activations, 0 missed  ^C ends"
        );
        assert_eq!(
            trim_progress_line("4 s of 10 s: 3 activations, 0 missed", 30),
            "4 s of 10 s: 3 activations"
        );
        assert_eq!(trim_progress_line("no part of it fits", 10), "no part of");
    }
}
