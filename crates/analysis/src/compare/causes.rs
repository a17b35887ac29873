//! Causes that delayed a task in each of several runs, side by side. These are facts of the runs; the
//! comparison itself judges whether figures really differ.

use jitterlab_model::causes::{Cause, TaskCauses};
use serde::Serialize;

use crate::causes::is_unusual;

/// Causes compared at most, those that delayed most.
const MOST: usize = 12;
/// Expected number of occurrences from which on an unseen cause counts as gone from a run.
const EXPECTED: f64 = 20.0;

/// Causes that delayed a task in each of several runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CausesCompared {
    /// Names of the runs, the first run first.
    pub runs: Vec<String>,
    /// The causes beyond the usual way, the one that differs most first.
    pub causes: Vec<CauseCompared>,
}

/// One cause in each of several runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CauseCompared {
    /// The cause.
    pub cause: Cause,
    /// Effect in each run.
    pub in_runs: Vec<CauseInRun>,
    /// Change from the first run to the last.
    pub fate: CauseChange,
}

/// Effect of a cause in a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CauseInRun {
    /// Activations that it delayed.
    pub times: u64,
    /// Mean delay over all activations, in ns.
    pub mean_ns: f64,
    /// Largest delay, in ns.
    pub worst_ns: i64,
}

/// Change of a cause from one run to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CauseChange {
    /// It was not seen again, and would have been often.
    Gone,
    /// It was not seen before, and would have been often.
    New,
    /// It is in both, or too rare to judge.
    Stayed,
}

impl CausesCompared {
    /// Compares the causes of runs with these names; `None` if no cause beyond the usual way is known in any of them.
    #[must_use]
    pub fn from_runs(runs: &[(String, &TaskCauses)]) -> Option<Self> {
        let mut causes: Vec<&Cause> = Vec::new();
        for sum in runs.iter().flat_map(|(_, of)| &of.causes).filter(|sum| is_unusual(sum.cause.class)) {
            if !causes.contains(&&sum.cause) {
                causes.push(&sum.cause);
            }
        }
        let mut causes: Vec<CauseCompared> =
            causes.into_iter().map(|cause| cause_in_runs(cause, runs)).collect();
        let differs = |of: &CauseCompared| {
            let means = of.in_runs.iter().map(|of| of.mean_ns);
            means.clone().fold(0.0, f64::max) - means.fold(f64::INFINITY, f64::min)
        };
        causes.sort_by(|a, b| differs(b).total_cmp(&differs(a)));
        causes.truncate(MOST);
        let runs = runs.iter().map(|(name, _)| name.clone()).collect();
        (!causes.is_empty()).then_some(CausesCompared { runs, causes })
    }
}

fn cause_in_runs(cause: &Cause, runs: &[(String, &TaskCauses)]) -> CauseCompared {
    let in_run = |(_, of): &(String, &TaskCauses)| {
        let sum = of.causes.iter().find(|sum| sum.cause == *cause);
        sum.map_or(CauseInRun { times: 0, mean_ns: 0.0, worst_ns: 0 }, |sum| CauseInRun {
            times: sum.times,
            mean_ns: sum.sum_ns as f64 / of.explained.max(1) as f64,
            worst_ns: sum.max_ns,
        })
    };
    let in_runs: Vec<CauseInRun> = runs.iter().map(in_run).collect();
    // Expected number of occurrences in one run at the rate of the other.
    let expected = |seen: usize, elsewhere: usize| {
        in_runs[seen].times as f64 * runs[elsewhere].1.explained as f64 / runs[seen].1.explained.max(1) as f64
    };
    let last = in_runs.len().saturating_sub(1);
    let fate = match (in_runs.first(), in_runs.last()) {
        (Some(_), Some(here)) if here.times == 0 && expected(0, last) >= EXPECTED => CauseChange::Gone,
        (Some(first), Some(_)) if first.times == 0 && expected(last, 0) >= EXPECTED => CauseChange::New,
        _ => CauseChange::Stayed,
    };
    CauseCompared { cause: cause.clone(), in_runs, fate }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_model::causes::{CauseClass, CauseSum};

    fn causes(explained: u64, of: &[(CauseClass, &str, u64, i64)]) -> TaskCauses {
        let sums = of.iter().map(|(class, who, times, each_ns)| {
            let mut sum = CauseSum::new(Cause { class: *class, who: Some((*who).into()) });
            (0..*times).for_each(|_| sum.add_activation(*each_ns + 5_000, *each_ns, *each_ns, 0));
            sum
        });
        TaskCauses { explained, causes: sums.collect(), ..TaskCauses::default() }
    }

    #[test]
    fn what_went_and_what_came_is_said_where_it_would_have_been_seen() {
        use CauseClass::{Interrupt, Preempted, Softirq, TypicalWakeUp};
        let before =
            [(Preempted, "hog", 100, 300_000), (Interrupt, "36 disk", 4, 9_000), (TypicalWakeUp, "", 900, 1)];
        let after = [(Softirq, "NET_RX", 500, 20_000), (TypicalWakeUp, "", 900, 1)];
        let (a, b) = (causes(1_000, &before), causes(2_000, &after));
        let found = CausesCompared::from_runs(&[("a".into(), &a), ("b".into(), &b)]).unwrap();
        let of: Vec<_> = found.causes.iter().map(|of| (of.cause.who.as_deref().unwrap(), of.fate)).collect();
        assert_eq!(
            of,
            [("hog", CauseChange::Gone), ("NET_RX", CauseChange::New), ("36 disk", CauseChange::Stayed)]
        );
        let hog = found.causes[0].in_runs[0];
        assert_eq!((hog.times, hog.mean_ns, hog.worst_ns), (100, 30_000.0, 300_000));
        // A run too short to show the cause decides nothing.
        let short = causes(100, &[]);
        let found = CausesCompared::from_runs(&[("a".into(), &a), ("b".into(), &short)]).unwrap();
        assert_eq!(found.causes[0].fate, CauseChange::Stayed, "10 were expected: {found:?}");
        assert_eq!(CausesCompared::from_runs(&[("b".into(), &short), ("c".into(), &short)]), None);
    }
}
