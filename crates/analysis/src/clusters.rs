//! Latency modes: each code path of the kernel has a latency of its own (NIST's figure 1 shows them as bands).
//!
//! The result is a partition of the latencies in which a *valley* separates all neighbouring clusters: a
//! range with significantly fewer values than a range of the same width in either cluster. Of these
//! partitions the finest is taken. On each scale it follows from merging by persistence (Edelsbrunner,
//! Letscher & Zomorodian 2002): components grow from the peaks downwards, and two that meet are merged unless
//! the valley between them is real. So a skewed or heavy-tailed mode stays one, however many values there
//! are; a criterion such as BIC would split it.

use jitterlab_model::Distribution;
use jitterlab_model::histogram::Bin;
use serde::Serialize;

use crate::exact_binomial::binomial_at_most;
use crate::least_squares::weighted_median;

/// Chance of splitting a single mode, for a whole analysis.
const LEVEL: f64 = 1e-3;
/// Largest share of the lower peak's values in a valley; more is a ripple.
const DEPTH: f64 = 0.5;
/// Scales, from a quarter of the range down by halves.
const SCALES: i32 = 9;

/// One mode of the latency.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LatencyCluster {
    /// Share of the activations, 0 to 1.
    pub weight: f64,
    /// Activations in it.
    pub count: u64,
    /// Smallest latency, in ns.
    pub low_ns: i64,
    /// Largest latency, in ns.
    pub high_ns: i64,
    /// Median latency, in ns.
    pub centre_ns: f64,
    /// Standard deviation, in ns.
    pub sd_ns: f64,
}

impl LatencyCluster {
    /// Returns the largest minus the smallest latency.
    pub fn width_ns(&self) -> i64 {
        self.high_ns.saturating_sub(self.low_ns)
    }
}

/// A range of values that is not divided further.
#[derive(Debug, Clone, Copy)]
struct Cell {
    low_ns: i64,
    high_ns: i64,
    count: u64,
    /// The range of the axis of [`axis_position`] that its values are spread over.
    from: f64,
    to: f64,
}

/// Returns the modes of a distribution in ascending order: one if no valley is real, none if its shape is unknown.
pub fn latency_clusters(latency: &Distribution) -> Vec<LatencyCluster> {
    if !latency.has_shape() {
        return Vec::new();
    }
    let cells = histogram_cells(latency);
    let mut edges = vec![0, cells.len()];
    let (Some(first), Some(last)) = (cells.first(), cells.last()) else { return Vec::new() };
    let range = last.to - first.from;
    // Coarse to fine: within each part found so far, search for valleys of the next finer width.
    for scale in 2..2 + SCALES {
        let width = range / f64::from(1 << scale);
        let mut found = edges.clone();
        for part in edges.windows(2) {
            let valleys = valleys(&cells[part[0]..part[1]], width, range);
            found.extend(valleys.into_iter().map(|v| part[0] + v));
        }
        found.sort_unstable();
        found.dedup();
        edges = found;
    }
    let all = latency.count() as f64;
    edges.windows(2).map(|part| describe_cluster(&cells[part[0]..part[1]], latency, all)).collect()
}

/// Returns the position of a latency on the histogram's axis: linear up to 256 ns, logarithmic beyond.
fn axis_position(ns: f64) -> f64 {
    let size = ns.abs();
    let value = if size <= 256.0 { size } else { 256.0 * (1.0 + (size / 256.0).ln()) };
    value.copysign(ns)
}

/// Returns the latency in ns at a position on the histogram's axis.
fn ns_at(position: f64) -> f64 {
    let place = position.abs();
    let size = if place <= 256.0 { place } else { 256.0 * (place / 256.0 - 1.0).exp() };
    size.copysign(position)
}

/// Returns the occupied bins as cells on the axis. If the time stamps are coarser than the bins, each is spread over
/// two of their steps, so that the comb they make is no pattern.
fn histogram_cells(latency: &Distribution) -> Vec<Cell> {
    let bins: Vec<Bin> = latency.bins().collect();
    let step = resolution_ns(&bins);
    let cell = |bin: &Bin| {
        let (low, high) = (bin.low_ns as f64, bin.high_ns as f64 + 1.0);
        let middle = (low + high) / 2.0;
        let half = if high - low < step { step } else { (high - low) / 2.0 };
        let Bin { low_ns, high_ns, count } = *bin;
        Cell { low_ns, high_ns, count, from: axis_position(middle - half), to: axis_position(middle + half) }
    };
    bins.iter().map(cell).collect()
}

/// Returns the step of the time stamps in ns, as far as bins show it; 0 if it is no larger than a bin. It is the usual
/// distance between neighbouring occupied bins, each pair with the weight of its rarer bin.
fn resolution_ns(bins: &[Bin]) -> f64 {
    let touch = |w: &&[Bin]| w[1].low_ns.saturating_sub(1) <= w[0].high_ns;
    let weight = |w: &[Bin]| w[0].count.min(w[1].count);
    let touching: u64 = bins.windows(2).filter(touch).map(weight).sum();
    let apart = bins.windows(2).filter(|w| !touch(w));
    let mut distances: Vec<(f64, u64)> =
        apart.map(|w| (w[1].low_ns.saturating_sub(w[0].low_ns) as f64, weight(w))).collect();
    let distant: u64 = distances.iter().map(|d| d.1).sum();
    if touching >= distant { 0.0 } else { weighted_median(&mut distances).unwrap_or(0.0) }
}

/// Returns the indices of the cells before which a part is divided: the real valleys of about this width.
fn valleys(cells: &[Cell], width: f64, range: f64) -> Vec<usize> {
    let widest = cells.iter().map(|c| c.to - c.from).fold(0.0, f64::max);
    if cells.len() < 2 || width < 2.0 * widest {
        return Vec::new();
    }
    let windows = windows(cells, width);
    // Every pair of windows may be compared.
    let level = LEVEL / f64::from(SCALES) / (range / width).powi(2);
    let mut order: Vec<usize> = (0..windows.len()).collect();
    order.sort_by(|a, b| windows[*b].count.cmp(&windows[*a].count).then(a.cmp(b)));
    // Components grow from the peaks down; each knows its peak and its extent.
    let mut component: Vec<Option<usize>> = vec![None; windows.len()];
    let mut extents: Vec<(usize, usize, usize)> = Vec::new(); // peak, first, last
    let mut found = Vec::new();
    for index in order {
        let left = index.checked_sub(1).and_then(|i| component[i]);
        let right = component.get(index + 1).copied().flatten();
        let joined = match (left, right) {
            (None, None) => {
                extents.push((index, index, index));
                extents.len() - 1
            }
            (Some(only), None) | (None, Some(only)) => only,
            (Some(a), Some(b)) => {
                let (high, low) =
                    if windows[extents[a].0].count >= windows[extents[b].0].count { (a, b) } else { (b, a) };
                let valley = &windows[index];
                let peaks = [&windows[extents[high].0], &windows[extents[low].0]];
                if is_significant_valley(valley.count, peaks[1].count, level)
                    && !valley.is_axis_artifact(peaks, level)
                {
                    found.push(valley.split_position(cells));
                }
                // From here on the lower one is part of the higher one: its valley was judged.
                let (first, last) = (extents[a].1.min(extents[b].1), extents[a].2.max(extents[b].2));
                component[extents[low].1..=extents[low].2].fill(Some(high));
                extents[high] = (extents[high].0, first, last);
                high
            }
        };
        component[index] = Some(joined);
        extents[joined].1 = extents[joined].1.min(index);
        extents[joined].2 = extents[joined].2.max(index);
    }
    found.retain(|edge| *edge > 0 && *edge < cells.len());
    found
}

/// True if a valley has less than half of the peak's values, and if chance does not explain so few.
fn is_significant_valley(valley: u64, peak: u64, level: f64) -> bool {
    let both = (valley + peak) as f64;
    (valley as f64) < DEPTH * peak as f64 && binomial_at_most(valley as f64, both, 0.5) < level
}

/// A range of the axis of the given width, with the values in it.
struct Window {
    from: f64,
    to: f64,
    count: u64,
}

impl Window {
    fn width_ns(&self) -> f64 {
        ns_at(self.to) - ns_at(self.from)
    }

    /// True if a window is a valley only on this axis. That is stretched around 0: between early and late latencies
    /// every distribution is thinner on it, even one with its peak there.
    fn is_axis_artifact(&self, peaks: [&Window; 2], level: f64) -> bool {
        let early = peaks.iter().any(|peak| peak.from < 0.0);
        let late = peaks.iter().any(|peak| peak.to > 0.0);
        let in_a_peak = |peak: &&Window| peak.count as f64 / peak.width_ns() * self.width_ns();
        let as_many = peaks.iter().map(in_a_peak).fold(f64::INFINITY, f64::min);
        early && late && !is_significant_valley(self.count, as_many as u64, level)
    }

    /// Returns the cell before which a valley is divided: behind its widest gap, or else at its rarest cell.
    fn split_position(&self, cells: &[Cell]) -> usize {
        let begin = cells.partition_point(|c| c.to < self.from).saturating_sub(1);
        let end = cells.partition_point(|c| c.from <= self.to).min(cells.len() - 1);
        let gap = |i: usize| cells[i].from - cells[i - 1].to;
        let widest = (begin + 1..=end).max_by(|a, b| gap(*a).total_cmp(&gap(*b)));
        match widest {
            Some(i) if gap(i) > 0.0 => i,
            _ => (begin..=end).min_by_key(|i| cells[*i].count).unwrap_or(begin),
        }
    }
}

/// Returns windows of one width at every quarter of it, with their values.
fn windows(cells: &[Cell], width: f64) -> Vec<Window> {
    let quarter = width / 4.0;
    let origin = cells[0].from - width;
    let end = cells.iter().map(|c| c.to).fold(f64::MIN, f64::max);
    let mut grid = vec![0.0; ((end - origin) / quarter) as usize + 5];
    for cell in cells {
        let density = cell.count as f64 / (cell.to - cell.from);
        let mut from = cell.from;
        while from < cell.to {
            let place = ((from - origin) / quarter) as usize;
            let to = (origin + (place + 1) as f64 * quarter).min(cell.to).max(from + 1e-9 * quarter);
            if let Some(sum) = grid.get_mut(place) {
                *sum += density * (to - from);
            }
            from = to;
        }
    }
    grid.windows(4)
        .enumerate()
        .map(|(i, four)| {
            let from = origin + i as f64 * quarter;
            Window { from, to: from + width, count: four.iter().sum::<f64>().round() as u64 }
        })
        .collect()
}

fn describe_cluster(cells: &[Cell], latency: &Distribution, all: f64) -> LatencyCluster {
    let count: u64 = cells.iter().map(|c| c.count).sum();
    let middle = |c: &Cell| (c.low_ns as f64 + c.high_ns as f64) / 2.0;
    let mean = cells.iter().map(|c| middle(c) * c.count as f64).sum::<f64>() / count as f64;
    let squares: f64 = cells.iter().map(|c| (middle(c) - mean).powi(2) * c.count as f64).sum();
    let mut weighted: Vec<(f64, u64)> = cells.iter().map(|c| (middle(c), c.count)).collect();
    let (low, high) = (cells[0].low_ns, cells[cells.len() - 1].high_ns);
    LatencyCluster {
        weight: count as f64 / all,
        count,
        low_ns: low.max(latency.min_ns().unwrap_or(low)),
        high_ns: high.min(latency.max_ns().unwrap_or(high)),
        centre_ns: weighted_median(&mut weighted).unwrap_or(mean),
        sd_ns: (squares / count as f64).sqrt(),
    }
}

#[cfg(test)]
mod tests;
