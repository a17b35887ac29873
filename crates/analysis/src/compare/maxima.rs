//! Compares the worst latencies of two runs. A single maximum has no interval, but if many maxima of one run
//! exceed all of the other, it is not chance.

use serde::Serialize;

use super::Basis;
use crate::scan::TaskScan;

/// Stretches of a run whose maxima are compared, and the degrees of freedom needed for them to be independent.
const STRETCHES: [(usize, u64); 2] = [(16, 32), (8, 16)];

/// Comparison of the largest latencies of equally long stretches of two runs (a precedence test; Epstein, J.
/// Am. Stat. Assoc. 1954).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Maxima {
    /// The length of a stretch in due times.
    pub stretch_due_times: u64,
    /// Stretches of the first run and of the other.
    pub stretches: [usize; 2],
    /// Number of maxima of either run that exceed all of the other.
    pub exceed: [usize; 2],
    /// Number needed to call them larger.
    pub needed: [usize; 2],
    /// The run with the larger maxima, if that is shown.
    pub larger: Option<LargerRun>,
}

/// One of two runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LargerRun {
    /// The first.
    First,
    /// The other.
    Here,
}

impl Maxima {
    /// Compares two runs; either is called larger wrongly with chance `level`. `None` if too short or dependent.
    pub(super) fn new(scans: [&TaskScan; 2], bases: [Basis; 2], level: f64) -> Option<Self> {
        let degrees = bases.map(|basis| match basis {
            Basis::Dependence { degrees, .. } => degrees,
            _ => 0,
        });
        let least = degrees[0].min(degrees[1]);
        let (_, wanted) = STRETCHES.into_iter().find(|(needs, _)| least >= *needs)?;
        let lengths = scans.map(|scan| scan.due_time_range().map_or(0, |(first, last)| last - first + 1));
        // Spans are powers of two long, so the longer one is a multiple of the other.
        let span = scans.map(|scan| scan.spans.all().0).into_iter().max()?;
        let stretch = span * (lengths[0].min(lengths[1]) / wanted / span).max(1);
        let maxima =
            scans.map(|scan| scan.spans.stretches(stretch).iter().map(|b| b.max_ns).collect::<Vec<_>>());
        let largest = [&maxima[0], &maxima[1]].map(|all| all.iter().max().copied());
        let (a, b) = (largest[0]?, largest[1]?);
        let exceed =
            [maxima[0].iter().filter(|m| **m > b).count(), maxima[1].iter().filter(|m| **m > a).count()];
        let stretches = [maxima[0].len(), maxima[1].len()];
        // For equal runs, the k largest of all belong to this one with a probability below its share to the k.
        let all = (stretches[0] + stretches[1]) as f64;
        let needed = stretches.map(|own| ((level / 2.0).ln() / (own as f64 / all).ln()).ceil() as usize);
        let larger = match exceed {
            [first, _] if first >= needed[0] => Some(LargerRun::First),
            [_, here] if here >= needed[1] => Some(LargerRun::Here),
            _ => None,
        };
        Some(Maxima { stretch_due_times: stretch, stretches, exceed, needed, larger })
    }
}
