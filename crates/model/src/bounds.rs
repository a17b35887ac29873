//! Bounds on the contents of a run, on which every computation relies.
//!
//! Whatever comes from outside (a run file, a journal, another tool's output) is held against them once, where it is
//! read. Within them no difference of two times, and no sum over a run, overflows.

use crate::activation::{Activation, Flags};
use crate::distribution::Moments;
use crate::error::Error;
use crate::run::{RunInfo, TaskResult};

/// Latest time of a clock, in nanoseconds: CLOCK_REALTIME exceeds it in the year 2116.
pub const LATEST_NS: i64 = 1 << 62;
/// Earliest time of a clock, in nanoseconds; only a task that wakes early has a time below 0.
pub const EARLIEST_NS: i64 = -(1 << 60);
/// Longest period, latency or execution time, in nanoseconds: two years.
pub const SPAN_NS: i64 = 1 << 56;
/// Largest count: at a rate of 1 GHz it takes three days.
pub const COUNT: u64 = 1 << 48;
/// Upper limit of a due time's number on its grid.
pub const INDEX: u64 = 1 << 62;
/// Most tasks in a run: twice as many as Linux knows processors.
pub const TASKS: usize = 1 << 14;
/// Longest line of a text, in bytes: a line with [`COLUMNS`] columns is shorter.
pub const LINE: usize = 1 << 20;
/// Most columns that are read of a table.
pub const COLUMNS: usize = 1 << 14;
/// Widest terminal that is drawn for, in columns, whatever COLUMNS says.
pub const WIDEST_TERMINAL: usize = 1_000;
/// Most edges that are read of a capture, over all its channels: 100 s of a pulse every 25 us.
pub const EDGES: usize = 1 << 23;
/// Most voltages that are read of a capture: they are in memory until the thresholds are known.
pub const VOLTAGES: usize = 1 << 24;

/// Returns true for a time that a clock may show.
fn is_time(ns: i64) -> bool {
    negative_if_outside(ns, EARLIEST_NS, LATEST_NS) >= 0
}

/// Returns true for a duration, or an early start, within the bounds.
fn is_span(ns: i64) -> bool {
    negative_if_outside(ns, -SPAN_NS, SPAN_NS) >= 0
}

/// A number below 0 if a value is outside of bounds, which are less than half of all values apart.
fn negative_if_outside(value: i64, least: i64, most: i64) -> i64 {
    value.wrapping_sub(least) | most.wrapping_sub(value)
}

/// Checks a run's description against the bounds.
///
/// # Errors
/// The first value outside of the bounds.
pub fn check_description(info: &RunInfo) -> Result<(), Error> {
    if info.tasks.len() > TASKS {
        return Err(Error::damaged(format!("{} tasks, and {TASKS} are the most", info.tasks.len())));
    }
    for task in &info.tasks {
        let name = || task.spec.name.clone();
        if !(1..=SPAN_NS).contains(&task.spec.period_ns) {
            return Err(Error::damaged(format!(
                "the period of task {:?} is {} ns",
                name(),
                task.spec.period_ns
            )));
        }
        if task.result.as_ref().is_some_and(|result| !has_valid_counters(result)) {
            return Err(Error::damaged(format!("the counters of task {:?} contradict each other", name())));
        }
    }
    Ok(())
}

fn has_valid_counters(r: &TaskResult) -> bool {
    let counts = [r.executed, r.missed, r.dropped];
    let times = [r.first_due_ns, r.last_end_ns, r.phase_loss_ns, r.polled_ns, r.clock_moved_ns];
    let spans = [r.min_latency_ns, r.max_latency_ns, r.longest_hole_ns];
    counts.iter().all(|count| *count <= INDEX)
        && times.into_iter().all(is_time)
        && spans.into_iter().all(is_span)
        && r.min_latency_ns <= r.max_latency_ns
}

/// Checks activations of one task against the bounds.
///
/// # Errors
/// The first time outside of the bounds.
pub fn check_times(rows: &[Activation]) -> Result<(), Error> {
    // The signs of all at once, without an early end or a branch: every run is read through here.
    let signs = |a: &Activation| {
        negative_if_outside(a.due_ns, EARLIEST_NS, LATEST_NS)
            | negative_if_outside(a.latency_ns(), -SPAN_NS, SPAN_NS)
            | negative_if_outside(a.execution_ns(), 0, SPAN_NS)
            | negative_if_outside(a.index.cast_signed(), 0, INDEX.cast_signed() - 1)
    };
    if rows.iter().fold(0, |all, a| all | signs(a)) >= 0 {
        return Ok(());
    }
    rows.iter().find(|a| signs(a) < 0).map_or(Ok(()), |a| {
        let &Activation { index, due_ns, start_ns, end_ns, .. } = a;
        Err(Error::damaged(format!(
            "activation {index} is due at {due_ns} ns, starts at {start_ns} ns and ends at {end_ns} ns"
        )))
    })
}

/// Checks that the numbers of one task's activations rise; `last` is the activation before them.
///
/// # Errors
/// The first that does not.
pub fn check_numbers(rows: &[Activation], last: Option<&Activation>) -> Result<(), Error> {
    match first_violation(rows, last, |a, b| a.index < b.index) {
        Some((a, b)) => {
            Err(Error::damaged(format!("activation {} comes after activation {}", b.index, a.index)))
        }
        None => Ok(()),
    }
}

/// Checks that the due times of one task's activations rise, except where its grid begins anew; `last` is the
/// activation before them.
///
/// # Errors
/// The first that does not.
pub fn check_due_times(rows: &[Activation], last: Option<&Activation>) -> Result<(), Error> {
    let follows = |a: &Activation, b: &Activation| (a.due_ns < b.due_ns) | b.flags.contains(Flags::RE_PHASED);
    match first_violation(rows, last, follows) {
        Some((a, b)) => Err(Error::damaged(format!(
            "an activation due at {} ns follows one due at {} ns",
            b.due_ns, a.due_ns
        ))),
        None => Ok(()),
    }
}

/// Returns the first activation that does not follow the one before it, after that one; `None` if all do.
fn first_violation<'a>(
    rows: &'a [Activation],
    last: Option<&'a Activation>,
    follows: impl Fn(&Activation, &Activation) -> bool,
) -> Option<(&'a Activation, &'a Activation)> {
    let first = rows.first()?;
    let pairs = || rows.iter().zip(&rows[1..]);
    // Without an early end, as in `check_times`.
    let all = pairs().fold(true, |all, (a, b)| all & follows(a, b));
    let before = last.map(|last| (last, first)).filter(|(last, first)| !follows(last, first));
    before.or_else(|| pairs().find(|(a, b)| !all && !follows(a, b)))
}

/// Checks the exact part of a distribution against the bounds.
///
/// # Errors
/// Moments that contradict each other or exceed the bounds.
pub fn check_moments(moments: Moments) -> Result<(), Error> {
    let Moments { count, min_ns, max_ns, sum, .. } = moments;
    // Not against the extremes: other tools print rounded means.
    let largest = u128::from(COUNT) << 63;
    let possible = count == 0 || (count <= COUNT && min_ns <= max_ns && sum.unsigned_abs() <= largest);
    if possible {
        Ok(())
    } else {
        Err(Error::damaged(format!("{count} values from {min_ns} ns to {max_ns} ns with a sum of {sum} ns")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bench, TaskSpec};
    use proptest::prelude::*;

    /// Any number, often a bound or a neighbour of one.
    fn numbers() -> impl Strategy<Value = i64> {
        const BOUNDS: [i64; 8] =
            [0, EARLIEST_NS, LATEST_NS, SPAN_NS, -SPAN_NS, INDEX as i64, i64::MIN, i64::MAX];
        prop_oneof![
            any::<i64>(),
            (prop::sample::select(&BOUNDS[..]), -2i64..=2).prop_map(|(bound, by)| bound.wrapping_add(by))
        ]
    }

    proptest! {
        #[test]
        fn rows_are_held_against_each_bound(
            numbers in prop::array::uniform4(numbers()), at in 0usize..9, index in 0u64..3, step in 0u64..3
        ) {
            let [index_of_one, due_ns, start_ns, end_ns] = numbers;
            let one = Activation { index: index_of_one as u64, due_ns, start_ns, end_ns, ..Activation::default() };
            let span = |from: i64, to: i64| (-SPAN_NS..=SPAN_NS).contains(&to.wrapping_sub(from));
            let possible = (EARLIEST_NS..=LATEST_NS).contains(&due_ns)
                && span(due_ns, start_ns) && (0..=SPAN_NS).contains(&end_ns.wrapping_sub(start_ns)) && one.index < INDEX;
            let mut rows = [Activation::default(); 9];
            rows[at] = one;
            prop_assert_eq!(check_times(&rows).is_ok(), possible);
            for (k, row) in (0..).zip(&mut rows) {
                (row.index, row.due_ns) = (index + k * step, 1 + (k * (2 - step)) as i64);
            }
            let last = Activation::default();
            prop_assert_eq!(check_numbers(&rows, Some(&last)).is_ok(), index > 0 && step > 0);
            prop_assert_eq!(check_due_times(&rows, Some(&last)).is_ok(), step < 2);
            rows[1..].iter_mut().for_each(|row| row.flags = Flags::RE_PHASED);
            prop_assert!(check_due_times(&rows, Some(&last)).is_ok());
        }
    }

    #[test]
    fn what_a_machine_measures_is_possible() {
        let row = |index: u64, due_ns: i64, late: i64| Activation {
            index,
            due_ns,
            start_ns: due_ns + late,
            end_ns: due_ns + late + 500,
            ..Activation::default()
        };
        // Since the machine started, since 1970, and early at the very beginning.
        for origin in [0, 1_900_000_000_000_000_000] {
            let rows =
                [row(0, origin, -40), row(1, origin + 1_000, 30_000_000_000), row(9, origin + 9_000, 2)];
            assert_eq!(check_times(&rows), Ok(()));
            assert_eq!((check_numbers(&rows, None), check_due_times(&rows, None)), (Ok(()), Ok(())));
        }
        let info = RunInfo::new(Bench::Host, "monotonic", [TaskSpec::default()]);
        assert_eq!(check_description(&info), Ok(()));
    }

    #[test]
    fn what_cannot_be_is_named() {
        let row = |index, due_ns, start_ns| Activation {
            index,
            due_ns,
            start_ns,
            end_ns: start_ns,
            ..Activation::default()
        };
        for a in [row(0, i64::MAX, i64::MAX), row(7, 0, SPAN_NS + 1), row(INDEX, 0, 0), row(0, i64::MIN, 0)] {
            assert!(
                check_times(&[row(0, 0, 0), a]).is_err_and(|e| e.to_string().contains("is due at")),
                "{a:?}"
            );
        }
        let early_end = Activation { end_ns: 4, ..row(0, 0, 5) };
        assert!(check_times(&[early_end]).is_err_and(|e| e.to_string().contains("ends at 4 ns")));
        let said = |found: Result<(), Error>| found.expect_err("it cannot be").to_string();
        let backwards = check_numbers(&[row(3, 0, 0), row(2, 0, 0)], None);
        assert_eq!(said(backwards), "activation 2 comes after activation 3");
        let same = check_numbers(&[row(3, 0, 0)], Some(&row(3, 0, 0)));
        assert_eq!(said(same), "activation 3 comes after activation 3");
        let due = check_due_times(&[row(4, 1, 1)], Some(&row(3, 1, 1)));
        assert_eq!(said(due), "an activation due at 1 ns follows one due at 1 ns");
        let many = RunInfo::new(Bench::Host, "monotonic", vec![TaskSpec::default(); TASKS + 1]);
        assert_eq!(said(check_description(&many)), "16385 tasks, and 16384 are the most");
        let mut info = RunInfo::new(Bench::Host, "monotonic", [TaskSpec::default()]);
        info.tasks[0].spec.period_ns = 0;
        assert!(check_description(&info).is_err_and(|e| e.to_string().contains("the period")));
        let moments = Moments { count: 2, min_ns: 5, max_ns: 4, sum: 9, sum_of_squares: 41 };
        assert!(check_moments(moments).is_err());
        assert_eq!(check_moments(Moments { max_ns: 5, sum: 10, ..moments }), Ok(()));
    }
}
