//! Typical lengths of the steps of a wake-up, learned from the run itself.

use jitterlab_model::causes::{SparseHistogram, Step, TypicalStep};

/// Least excess over the median that can be unusual.
const LEAST_NS: i64 = 1_000;
/// Most multiples of the median that are usual: a cause that delays a quarter of the activations moves the
/// quartiles.
const MOST_MEDIANS: i64 = 4;
/// Activations before any step is called unusual.
pub const WARM_UP: u64 = 256;

/// Histograms of the steps' lengths so far, and the typical lengths derived from them.
#[derive(Debug, Default)]
pub struct TypicalSteps {
    lengths: [SparseHistogram; Step::ALL.len()],
    steps: [Option<TypicalStep>; Step::ALL.len()],
    activations: u64,
    next: u64,
}

impl TypicalSteps {
    /// Adds the lengths of an activation's steps; steps of length 0 did not happen.
    pub fn add_lengths(&mut self, lengths_ns: &[i64; Step::ALL.len()]) {
        for (bins, ns) in self.lengths.iter_mut().zip(lengths_ns) {
            if *ns > 0 {
                bins.record(*ns);
            }
        }
        self.activations += 1;
        if self.activations >= self.next.max(WARM_UP) {
            self.learn();
        }
    }

    /// True once typical lengths have been learned.
    pub fn is_known(&self) -> bool {
        self.next > 0
    }

    /// Derives the typical lengths from all activations so far; repeated when there are twice as many.
    pub fn learn(&mut self) {
        self.next = 2 * self.activations.max(1);
        for ((step, bins), usual) in Step::ALL.into_iter().zip(&self.lengths).zip(&mut self.steps) {
            let quartiles = [0.25, 0.5, 0.75].map(|p| bins.quantile_ns(p));
            if let [Some(low), Some(median_ns), Some(high)] = quartiles {
                let fence_ns = high + (high - low) * 3 / 2;
                let fence_ns = fence_ns.min(MOST_MEDIANS * median_ns).max(median_ns + LEAST_NS);
                *usual = Some(TypicalStep { step, median_ns, fence_ns });
            }
        }
    }

    /// Returns the typical part of a step of this length, in ns: all of it within Tukey's fence, else the median.
    pub fn typical_part(&self, step: Step, length_ns: i64) -> i64 {
        match &self.steps[step as usize] {
            Some(usual) if length_ns > usual.fence_ns => usual.median_ns.min(length_ns),
            _ => length_ns,
        }
    }

    /// Returns the typical lengths of the steps that happened.
    pub fn steps(&self) -> Vec<TypicalStep> {
        self.steps.iter().flatten().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beyond_the_fence_is_cut_to_the_median() {
        let mut usual = TypicalSteps::default();
        for k in 0..1_000 {
            usual.add_lengths(&[20_000 + k * 617 % 1_000, 0, 0, 3_000, 0, 0]);
        }
        assert!(usual.is_known());
        assert_eq!(usual.typical_part(Step::Timer, 21_500), 21_500, "within the fence");
        let cut = usual.typical_part(Step::Timer, 400_000);
        assert!((20_400..20_700).contains(&cut), "{cut}");
        assert_eq!(
            usual.typical_part(Step::Return, 400_000),
            400_000,
            "a step that was never seen is not judged"
        );
        assert_eq!(usual.steps().len(), 2);
    }

    #[test]
    fn what_delays_four_in_ten_is_not_usual() {
        let mut usual = TypicalSteps::default();
        for k in 0..1_000 {
            usual.add_lengths(&[0, 0, 0, if k % 5 < 2 { 400_000 + k * 100 } else { 3_000 }, 0, 0]);
        }
        assert!(
            usual.typical_part(Step::Switch, 400_000) < 3_200
                && usual.typical_part(Step::Switch, 3_100) == 3_100
        );
    }
}
