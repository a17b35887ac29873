//! Bounds by cause. A frequent cause can hide how far a rarer one reaches: the largest latencies of a short
//! run come from the first, those of a long run from the second.

use jitterlab_model::causes::{CauseSum, TaskCauses};

use super::bound::{Bound, bound};
use super::{Prediction, Tail, gates};
use crate::scan::Peak;

impl Prediction {
    /// Raises the bound to that of the cause whose own late starts give a higher one than all together. A cause that
    /// occurred too rarely to be extrapolated, or that fails a condition, changes nothing.
    #[must_use]
    pub fn with_causes(mut self, tail: &Tail, causes: &TaskCauses) -> Self {
        let Some(whole) = &self.bound else { return self };
        let known = causes.causes.iter().filter_map(|sum| bound_of_cause(tail, sum, self.facts.horizon_ns));
        let furthest = known.max_by(|a, b| a.bound_ns.total_cmp(&b.bound_ns));
        if let Some(furthest) = furthest.filter(|furthest| furthest.bound_ns > whole.bound_ns) {
            self.bound = Some(furthest);
        }
        self
    }
}

/// Returns the bound by the activations that one cause delayed most; `None` if too few, or a condition fails.
fn bound_of_cause(whole: &Tail, sum: &CauseSum, horizon_ns: f64) -> Option<Bound> {
    let peaks = sum.largest.iter().map(|&(index, latency_ns)| Peak { latency_ns, index }).collect();
    let tail = Tail { peaks, block_maxima_ns: Vec::new(), parts: Vec::new(), ..whole.clone() };
    let exceedances = gates::declustered_exceedances(&tail)?;
    let passed = gates::gates_of_tail(&tail, Some(&exceedances)).iter().all(|gate| gate.passed);
    let bound = passed.then(|| bound(&tail, &exceedances, horizon_ns))??;
    Some(Bound { cause: Some(sum.cause.clone()), ..bound })
}
