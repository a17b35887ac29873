//! Judges candidate shifts: which of them explains the pulses best, and whether it is certainly better than
//! every other.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::track::{Anchor, ClockTimes, PulseAssignment, track};
use super::{Ambiguous, FEWEST};
use crate::least_squares::median;
use crate::random::Random;

/// Stretches of the capture over which two shifts are compared.
const STRETCHES: usize = 20;
/// Chance that a shift no better than another looks certainly better; millions of shifts may be compared.
const CHANCE: f64 = 1e-6;
/// Largest share of the disagreement of an arbitrary shift that the right one leaves.
const LEFT: f64 = 0.9;
/// Factor on the best shift's median surprise: the size at which a surprise counts half.
const USUAL: f64 = 3.0;
/// Arbitrary shifts that measure the usual disagreement, and pulses examined for each.
const ARBITRARY: usize = 24;
const ARBITRARY_PULSES: usize = 2_000;

/// A shift with its assignment of every pulse.
#[derive(Debug, Clone)]
pub(super) struct Path {
    pub(super) assignments: Vec<PulseAssignment>,
    pub(super) anchor: Anchor,
    total: f64,
}

/// Weighs shifts.
pub(super) struct ShiftScorer<'a> {
    stamps: &'a ClockTimes,
    pulses: &'a ClockTimes,
    resolution: f64,
    /// Surprises of arbitrary shifts, by which any other is measured.
    arbitrary: Vec<f64>,
    /// Size of a surprise, in ns, that counts half as much as an unbounded one.
    size: f64,
    /// Mean cost of a pulse under an arbitrary shift.
    usual: f64,
    best: Option<Path>,
    /// Shifts that were examined and are not the best.
    rivals: Vec<Anchor>,
}

impl<'a> ShiftScorer<'a> {
    pub(super) fn new(stamps: &'a ClockTimes, pulses: &'a ClockTimes, resolution: f64) -> Self {
        let mut random = Random::new(17);
        let mut arbitrary: Vec<f64> = Vec::new();
        for _ in 0..ARBITRARY {
            let (stamp, pulse) = (random.below(stamps.at.len()), random.below(pulses.at.len()));
            let near = pulse.saturating_sub(ARBITRARY_PULSES / 2)..pulse + ARBITRARY_PULSES / 2;
            track(stamps, pulses, Anchor { stamp, pulse, rate: 1.0 }, resolution, |at, assignment| {
                if let (PulseAssignment::Of(_, surprise), true) = (assignment, near.contains(&at)) {
                    arbitrary.push(surprise.abs());
                }
            });
        }
        // Half the median surprise of an arbitrary shift; the right one may well be below it.
        let size = 0.5 * median(&mut arbitrary).unwrap_or(0.0);
        let mut scorer = ShiftScorer {
            stamps,
            pulses,
            resolution,
            arbitrary,
            size: 1.0,
            usual: 1.0,
            best: None,
            rivals: Vec::new(),
        };
        scorer.set_surprise_size(size);
        scorer
    }

    /// Sets the size of a surprise that counts half, and the mean cost that follows.
    fn set_surprise_size(&mut self, size: f64) {
        self.size = size.max(self.resolution).max(1.0);
        let counts: f64 = self.arbitrary.iter().map(|s| saturating_cost(*s, self.size)).sum();
        self.usual = counts / (self.arbitrary.len() as f64).max(1.0);
    }

    /// Rescales surprises by those that the best shift leaves, and scores its rivals again.
    pub(super) fn rescale_and_retry_rivals(&mut self) {
        let Some(best) = self.best.take() else { return };
        let of = |assignment: &PulseAssignment| {
            if let PulseAssignment::Of(_, surprise) = assignment { Some(surprise.abs()) } else { None }
        };
        let mut sizes: Vec<f64> = best.assignments.iter().filter_map(of).collect();
        self.set_surprise_size(USUAL * median(&mut sizes).unwrap_or(0.0));
        let total = best.assignments.iter().map(|assignment| self.cost(*assignment)).sum();
        self.best = Some(Path { total, ..best });
        for anchor in std::mem::take(&mut self.rivals) {
            self.try_shift(anchor);
        }
    }

    /// Returns the size of a surprise, in ns, that counts half as much as an unbounded one.
    pub(super) fn surprise_size(&self) -> f64 {
        self.size
    }

    /// Returns the evidence of a pulse against a shift, from 0 to 1.
    fn cost(&self, assignment: PulseAssignment) -> f64 {
        match assignment {
            PulseAssignment::Of(_, surprise) => saturating_cost(surprise, self.size),
            PulseAssignment::Extra => 1.0,
            PulseAssignment::Outside => self.usual,
        }
    }

    /// Assigns all pulses under a shift, then again with the estimated rate.
    fn assign_pulses(&self, anchor: Anchor) -> Path {
        let mut assignments = vec![PulseAssignment::Outside; self.pulses.at.len()];
        track(self.stamps, self.pulses, anchor, self.resolution, |pulse, of| assignments[pulse] = of);
        // Repeated with the estimated rate, so that the first pulses are expected as well as the last.
        let rate = clock_ratio(self.stamps, self.pulses, &assignments).unwrap_or(anchor.rate);
        let anchor = Anchor { rate, ..anchor };
        let mut total = 0.0;
        track(self.stamps, self.pulses, anchor, self.resolution, |pulse, of| {
            assignments[pulse] = of;
            total += self.cost(of);
        });
        Path { assignments, anchor, total }
    }

    /// Scores a shift, and keeps it as the best or as a rival.
    pub(super) fn try_shift(&mut self, anchor: Anchor) {
        let known = |path: &Path| matches!(path.assignments[anchor.pulse], PulseAssignment::Of(stamp, _) if stamp == anchor.stamp);
        if self.best.as_ref().is_some_and(known) {
            return;
        }
        let path = self.assign_pulses(anchor);
        let before = match &self.best {
            Some(best) if best.total <= path.total => path.anchor,
            _ => match self.best.replace(path) {
                Some(before) => before.anchor,
                None => return,
            },
        };
        self.rivals.push(before);
    }

    pub(super) fn best(&self) -> Option<&Path> {
        self.best.as_ref()
    }

    /// Returns the best shift if it is certainly better than every other, else the shifts that rival it.
    pub(super) fn verdict(&self) -> Result<Path, Ambiguous> {
        let nothing = || Ambiguous { shifts: Vec::new(), left: 1.0 };
        let best = self.best.as_ref().ok_or_else(nothing)?;
        let inside: Vec<usize> = (0..best.assignments.len())
            .filter(|pulse| best.assignments[*pulse] != PulseAssignment::Outside)
            .collect();
        let costs: f64 = inside.iter().map(|pulse| self.cost(best.assignments[*pulse])).sum();
        let left = costs / inside.len() as f64 / self.usual.max(f64::MIN_POSITIVE);
        if inside.len() < FEWEST || left.is_nan() {
            return Err(Ambiguous { left: 1.0, ..nothing() });
        }
        let beaten = self.rivals.iter().map(|anchor| self.rival_distance(best, &inside, *anchor));
        let mut shifts: Vec<i64> = beaten.flatten().collect();
        shifts.sort_unstable();
        shifts.dedup();
        let certain = shifts.is_empty() && left <= LEFT;
        if certain { Ok(best.clone()) } else { Err(Ambiguous { shifts, left }) }
    }

    /// Returns a rival's distance from the best shift, in activations; `None` if the best is certainly better.
    fn rival_distance(&self, best: &Path, inside: &[usize], rival: Anchor) -> Option<i64> {
        let other = self.assign_pulses(rival);
        let beside = |pulse: usize| match (best.assignments[pulse], other.assignments[pulse]) {
            (PulseAssignment::Of(mine, _), PulseAssignment::Of(other, _)) => Some(other as i64 - mine as i64),
            _ => None,
        };
        let differs = |pulse: &&usize| beside(**pulse) != Some(0);
        let differing: Vec<usize> = inside.iter().filter(differs).copied().collect();
        // The rival has converged to the best path.
        if differing.len() < inside.len() / 4 {
            return None;
        }
        let stretches = STRETCHES.min(differing.len() / 6).max(2);
        let advantage = |stretch: &[usize]| {
            stretch
                .iter()
                .map(|p| self.cost(other.assignments[*p]) - self.cost(best.assignments[*p]))
                .sum::<f64>()
                / stretch.len() as f64
        };
        let each: Vec<f64> = differing.chunks(differing.len().div_ceil(stretches)).map(advantage).collect();
        let count = each.len() as f64;
        let mean = each.iter().sum::<f64>() / count;
        let variance = each.iter().map(|a| (a - mean) * (a - mean)).sum::<f64>() / (count - 1.0);
        if mean > 0.0 && mean > critical_t(count) * (variance / count).sqrt() {
            return None;
        }
        let mut shifts: Vec<f64> = inside.iter().filter_map(|p| beside(*p)).map(|s| s as f64).collect();
        median(&mut shifts).map(|shift| shift.round() as i64)
    }
}

/// Returns the number of standard errors by which a mean of `count` values must exceed 0 to be certain (Student's t).
fn critical_t(count: f64) -> f64 {
    StudentsT::new(0.0, 1.0, count - 1.0).map_or(f64::INFINITY, |t| t.inverse_cdf(1.0 - CHANCE))
}

/// Returns the cost of a surprise, saturating from 0 to 1: one half at `size`.
fn saturating_cost(surprise: f64, size: f64) -> f64 {
    let square = (surprise / size).powi(2);
    square / (1.0 + square)
}

/// Returns the ratio of the clocks' rates along a path; `None` for fewer than two pulses.
fn clock_ratio(stamps: &ClockTimes, pulses: &ClockTimes, assignments: &[PulseAssignment]) -> Option<f64> {
    let of = |(pulse, assignment): (usize, &PulseAssignment)| match assignment {
        PulseAssignment::Of(stamp, _) => Some((stamps.at[*stamp], pulses.at[pulse])),
        _ => None,
    };
    let first = assignments.iter().enumerate().find_map(of)?;
    let last = assignments.iter().enumerate().rev().find_map(of)?;
    let rate = (last.1 - first.1) / (last.0 - first.0);
    rate.is_finite().then_some(rate)
}
