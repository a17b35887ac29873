//! Periods in classes with a memory: what a Markov chain of a run's timing is made of.

use jitterlab_analysis::clusters::latency_clusters;
use jitterlab_model::Distribution;
use nalgebra::DMatrix;

use super::jump_linear::{JumpLinear, PeriodClass};
use super::looped::{Loop, Pattern};
use super::timing::PeriodPatterns;

/// Periods in classes, with how they followed each other: served ones by the mode of their response time, and those
/// without any event: the first of a row, the second, and so on, so that rows have the lengths they had.
pub(super) struct Classes {
    served: Vec<PeriodClass>,
    empty: PeriodClass,
    counts: DMatrix<f64>,
}

/// Most modes told apart; of more, the latest.
const MOST_MODES: usize = 4;
/// Share of the served periods that count as late where all have one mode.
const LATE: f64 = 0.01;
/// Most places in a row of empty periods told apart; in longer rows the last place follows itself.
const MOST_PLACES: usize = 6;
/// Most unknowns of the stationary equation; large loops tell fewer places apart.
const MOST_UNKNOWNS: usize = 1_600;

impl Classes {
    pub fn of(patterns: &PeriodPatterns, closed: &mut Loop, period_ns: i64) -> Classes {
        let from = later_modes_from(patterns);
        let modes = from.len() + 1;
        let mode = |pattern: &Pattern| done_at(pattern).map(|t| from.iter().filter(|f| **f <= t).count());
        let mode_of: Vec<Option<usize>> = patterns.patterns.iter().map(mode).collect();
        let unknowns = closed.order().pow(2);
        let places = (MOST_UNKNOWNS / unknowns).saturating_sub(modes).clamp(1, MOST_PLACES);
        let mut counts = DMatrix::zeros(modes + places, modes + places);
        for sequence in &patterns.sequences {
            let mut previous: Option<usize> = None;
            for number in sequence {
                let class = match (mode_of[*number as usize], previous) {
                    (Some(mode), _) => mode,
                    (None, Some(before)) if before >= modes => (before + 1).min(modes + places - 1),
                    (None, _) => modes,
                };
                if let Some(before) = previous {
                    counts[(before, class)] += 1.0;
                }
                previous = Some(class);
            }
        }
        let mut class = |wanted: Option<usize>| {
            let members = patterns.weighted().zip(&mode_of).filter(|(_, mode)| **mode == wanted);
            PeriodClass::new(closed, period_ns, members.map(|(weighted, _)| weighted))
        };
        Classes { served: (0..modes).map(|mode| class(Some(mode))).collect(), empty: class(None), counts }
    }

    /// All served periods as one class.
    pub fn served(&self) -> PeriodClass {
        let (first, others) = (&self.served[0], &self.served[1..]);
        others.iter().fold(first.clone(), |all, class| all.with(class))
    }

    /// All empty periods.
    pub fn empty(&self) -> &PeriodClass {
        &self.empty
    }

    /// The Markov chain of the classes that occur.
    pub fn chain(&self, period_ns: i64) -> JumpLinear {
        let visits = |i: usize| self.counts.row(i).sum() + self.counts.column(i).sum();
        let present: Vec<usize> = (0..self.counts.nrows()).filter(|i| visits(*i) > 0.0).collect();
        let class = |i: usize| self.served.get(i).unwrap_or(&self.empty).clone();
        let counts =
            DMatrix::from_fn(present.len(), present.len(), |i, j| self.counts[(present[i], present[j])]);
        JumpLinear::markov(present.into_iter().map(class).collect(), &counts, period_ns)
    }
}

/// The time of a period's last event; `None` for an empty one.
fn done_at(pattern: &Pattern) -> Option<i64> {
    pattern.last().map(|(t, _)| *t)
}

/// From which time of the last event on a period belongs to the second mode, the third and so on. Where there is one
/// mode alone, its latest periods are the second.
fn later_modes_from(patterns: &PeriodPatterns) -> Vec<i64> {
    let served = patterns.patterns.iter().zip(&patterns.counts);
    let mut served: Vec<(i64, u64)> = served.filter_map(|(p, count)| Some((done_at(p)?, *count))).collect();
    served.sort_unstable();
    let mut times = Distribution::new();
    for (time, count) in &served {
        (0..*count).for_each(|_| times.record(*time));
    }
    let modes = latency_clusters(&times);
    if modes.len() > 1 {
        let skipped = modes.len().saturating_sub(MOST_MODES);
        return modes.iter().skip(1 + skipped).map(|mode| mode.low_ns).collect();
    }
    let mut below = 0;
    let late = served.iter().find(|(_, count)| {
        below += count;
        below as f64 > (1.0 - LATE) * times.count() as f64
    });
    // Never the earliest there is.
    let earliest = served.first().map_or(0, |s| s.0);
    vec![late.map_or(i64::MAX, |s| s.0.max(earliest + 1))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::servo::TaskTiming;
    use jitterlab_model::Activation;

    fn modes_from(latency_ns: impl Fn(i64) -> i64) -> Vec<i64> {
        const H: i64 = 1_000_000;
        let trace = (0..20_000).map(|k| {
            let due_ns = k * H;
            let start_ns = due_ns + latency_ns(k);
            Activation {
                index: k as u64,
                due_ns,
                start_ns,
                end_ns: start_ns + 1_000,
                ..Activation::default()
            }
        });
        later_modes_from(&PeriodPatterns::of(TaskTiming::default(), trace, H))
    }

    #[test]
    fn modes_of_the_latency_are_classes_of_their_own() {
        let from =
            modes_from(|k| if k % 10 == 0 { 60_000 + k * 7_919 % 5_000 } else { 5_000 + k * 7_919 % 3_000 });
        assert!(from.len() == 1 && (9_000..=62_000).contains(&from[0]), "{from:?}");
    }

    #[test]
    fn one_mode_is_split_at_its_latest_percent() {
        let from = modes_from(|k| 5_000 + k * 7_919 % 10_007);
        assert!(from.len() == 1 && (15_800..16_100).contains(&from[0]), "{from:?}");
        assert_eq!(modes_from(|_| 5_000).len(), 1);
    }
}
