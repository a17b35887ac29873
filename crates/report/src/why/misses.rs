//! Due times missed for the work before them, and the causes of that work's length.

use jitterlab_analysis::causes::TaskWhy;
use jitterlab_model::{Fitness, RunInfo};

use super::words::{cause_text, remedy_clause};
use crate::conclusion::Conclusion;
use crate::words::{plural, share, time};

/// Causes of one sentence, and the least share of one beside the first.
const NAMED: usize = 3;
const LEAST: f64 = 0.01;

/// The three lines of a task that missed due times for its work; `None` of any other.
pub(super) fn misses_conclusion(of: &TaskWhy, run: &RunInfo) -> Option<Conclusion> {
    let (most, part) = of.cause_of_misses()?;
    Some(Conclusion {
        fitness: Fitness::Limited,
        asked: false,
        verdict: format!(
            "LARGEST CAUSE: {}, {} of the time of {} after which {} missed {}.",
            cause_text(&most.cause),
            share(part),
            plural(of.misses.activations, "activation"),
            of.task,
            plural(of.misses.due_times, "due time")
        ),
        number: format!(
            "At worst {} of it in one{}{}. The latest start was {} late.",
            time(most.max_ns as f64),
            period_clause(of, run),
            shares_of_other_causes(of),
            time(of.max_ns as f64)
        ),
        next: remedy_clause(&most.cause, run),
    })
}

/// The next causes, each with its share.
fn shares_of_other_causes(of: &TaskWhy) -> String {
    let all_ns = of.misses.work_ns().max(1) as f64;
    let parts = of.misses.work.iter().map(|sum| (sum, sum.sum_ns as f64 / all_ns));
    let others = parts.skip(1).take(NAMED - 1).filter(|(_, part)| *part >= LEAST);
    others.map(|(sum, part)| format!("; {} is {}", share(part), cause_text(&sum.cause))).collect()
}

fn period_clause(of: &TaskWhy, run: &RunInfo) -> String {
    let period_ns = run.task(&of.task).map(|task| task.spec.period_ns as f64);
    period_ns.map_or(String::new(), |ns| format!("; the period is {}", time(ns)))
}

#[cfg(test)]
mod tests {
    use jitterlab_analysis::causes::ListedEvents;
    use jitterlab_model::causes::{CauseClass, InterruptionSum, Misses, TaskCauses};
    use jitterlab_model::{Bench, TaskSpec};

    use super::*;

    #[test]
    fn misses_for_work_come_before_late_starts_and_those_for_late_starts_do_not() {
        let work = |class: CauseClass, sum_ns, max_ns| InterruptionSum {
            cause: class.into(),
            times: 2,
            sum_ns,
            max_ns,
            p99_ns: None,
        };
        let misses = Misses {
            activations: 2,
            due_times: 1_003,
            late_ns: 20_000,
            work: vec![
                work(CauseClass::Budget, 900_000, 500_000),
                work(CauseClass::OwnWork, 3_000_000, 1_600_000),
            ],
        };
        let run = RunInfo::new(Bench::Host, "monotonic", [TaskSpec::default()]);
        let mut causes = TaskCauses { explained: 9, max_ns: 15_000, misses, ..TaskCauses::default() };
        let why = |causes: &TaskCauses| TaskWhy::new("main", causes, ListedEvents::Worst(1));
        let conclusion = misses_conclusion(&why(&causes), &run).unwrap();
        assert_eq!(
            conclusion.verdict,
            "LARGEST CAUSE: the task's own work, 77 % of the time of 2 activations after which main missed 1 003 due times."
        );
        assert_eq!(
            conclusion.number,
            "At worst 1.60 ms of it in one; the period is 1 ms; 23 % is its SCHED_DEADLINE budget used up. The latest start was 15 µs late."
        );
        causes.misses.late_ns = 5_000_000;
        assert_eq!(misses_conclusion(&why(&causes), &run), None);
        // Of lost events nothing is said.
        causes.misses = Misses { late_ns: 0, work: vec![work(CauseClass::Lost, 1, 1)], ..causes.misses };
        assert_eq!(misses_conclusion(&why(&causes), &run), None);
    }
}
