//! A norm for each memory of misses in which every step shrinks as much as can be: ellipsoids |z|_v = |L_v z|.
//!
//! Any invertible L_v prove a bound: the growth per period of every walk is at most the largest |L_to F L_from^-1|^(1/periods).
//! Good ones are found in two steps: ellipsoids that hold all images of each other (joins of quadratic forms, as in Allamigeon,
//! Gaubert and others 2016), then a descent on a smooth bound of the largest norm (L-BFGS; Nocedal 1980).

use std::collections::VecDeque;

use nalgebra::{DMatrix, SymmetricEigen};

use super::graph::{Step, StepGraph, Transition};

/// The factors L_v of each node.
pub(super) type Factors = Vec<DMatrix<f64>>;

pub(super) fn largest_singular_value(g: &DMatrix<f64>) -> f64 {
    if g.iter().any(|v| !v.is_finite()) {
        return f64::INFINITY;
    }
    let square = g.transpose() * g;
    SymmetricEigen::try_new(square, f64::EPSILON, 10_000)
        .map_or(f64::INFINITY, |found| found.eigenvalues.max().max(0.0).sqrt())
}

/// Bound of the growth per period that these factors prove; infinite if one has no inverse.
pub(super) fn growth_bound(graph: &StepGraph, factors: &Factors) -> f64 {
    let inverses: Vec<Option<DMatrix<f64>>> = factors.iter().map(|l| l.clone().try_inverse()).collect();
    let of = |arc: &Transition| {
        let inverse = inverses[arc.from].as_ref();
        let turned = inverse.map(|inverse| &factors[arc.to] * &graph.steps[arc.step].map * inverse);
        turned.map_or(f64::INFINITY, |g| {
            largest_singular_value(&g).powf(1.0 / graph.step_periods(arc.step) as f64)
        })
    };
    graph.arcs.iter().map(of).fold(0.0, f64::max)
}

/// Factors by joins of quadratic forms: each node's form is at least the image of those it can go to.
pub(super) fn norms_by_joins(graph: &StepGraph) -> Factors {
    const ROUNDS: usize = 150;
    let n = graph.steps.first().map_or(0, |step| step.map.nrows());
    let mut forms = vec![DMatrix::<f64>::identity(n, n); graph.nodes];
    for _ in 0..ROUNDS {
        let mut joined: Vec<Option<DMatrix<f64>>> = vec![None; graph.nodes];
        for arc in &graph.arcs {
            let map = &graph.steps[arc.step].map;
            let image = map.transpose() * &forms[arc.to] * map;
            let together = match joined[arc.from].take() {
                None => image,
                Some(other) => joined_form(&other, &image).unwrap_or(other),
            };
            joined[arc.from] = Some(together);
        }
        let size = joined.iter().flatten().map(DMatrix::norm).fold(0.0, f64::max);
        if !(size > 0.0 && size.is_finite()) {
            break;
        }
        for (form, joined) in forms.iter_mut().zip(joined) {
            if let Some(joined) = joined {
                // Half the way, and never flat.
                let next = &*form * 0.5 + joined * (0.5 / size);
                *form = regularized((&next + next.transpose()) * 0.5, 1e-6);
            }
        }
        let size = forms.iter().map(DMatrix::norm).fold(0.0, f64::max);
        forms.iter_mut().for_each(|form| *form /= size);
    }
    let factor = |form: &DMatrix<f64>| {
        form.clone().cholesky().map_or_else(|| DMatrix::identity(n, n), |c| c.l().transpose())
    };
    forms.iter().map(factor).collect()
}

/// Quadratic form with a little more in the direction of each coordinate, so that it is not singular.
fn regularized(mut form: DMatrix<f64>, share: f64) -> DMatrix<f64> {
    let largest = form.diagonal().max();
    for i in 0..form.nrows() {
        form[(i, i)] += share * form[(i, i)].max(1e-12 * largest);
    }
    form
}

/// Quadratic form at least as large as both: in coordinates that make one the unit and the other diagonal, the larger of each.
fn joined_form(a: &DMatrix<f64>, b: &DMatrix<f64>) -> Option<DMatrix<f64>> {
    let lower = regularized(a.clone(), 1e-9).cholesky()?.l();
    let inverse = lower.clone().try_inverse()?;
    let inner = &inverse * b * inverse.transpose();
    let inner = (&inner + inner.transpose()) * 0.5;
    let eigen = SymmetricEigen::try_new(inner, f64::EPSILON, 10_000)?;
    let most = eigen.eigenvalues.map(|v| v.max(1.0));
    let turned = &lower * &eigen.eigenvectors;
    Some(&turned * DMatrix::from_diagonal(&most) * turned.transpose())
}

/// Numbers that are multiplied at most, in products of matrices for all arcs.
const MOST_PRODUCTS: usize = 100_000_000;

/// Factors that prove a smaller bound than these, by descent; stops early once it is below `goal`.
pub(super) fn minimise_growth_bound(graph: &StepGraph, factors: Factors, goal: f64) -> Factors {
    let mut kept = factors;
    let mut best = growth_bound(graph, &kept);
    // Limit on the computations of a bound: one that is not reached soon is not reached.
    let cost = graph.arcs.len() * kept.first().map_or(1, DMatrix::nrows).pow(3);
    let mut tries = MOST_PRODUCTS / cost.max(1);
    for power in [2u32, 4, 8, 16, 32, 64, 128] {
        if best < goal || tries == 0 {
            break;
        }
        // In coordinates in which the first node's norm is the usual length, the others' are nearly so: a descent is quick there.
        let Some(back) = kept[0].clone().try_inverse() else { break };
        let turned = |step: &Step| Step { map: &kept[0] * &step.map * &back, missed: step.missed.clone() };
        let inner = StepGraph { steps: graph.steps.iter().map(turned).collect(), ..graph.clone() };
        let begin = kept.iter().map(|factor| factor * &back).collect();
        let found: Factors = minimise_by_lbfgs(&inner, begin, power, goal, &mut tries)
            .iter()
            .map(|factor| factor * &kept[0])
            .collect();
        let reached = growth_bound(graph, &found);
        if reached < best {
            (best, kept) = (reached, found);
        }
    }
    kept
}

/// Smooth logarithm of the growth bound, and its slope in the factors; `None` if it is not finite. (1/2p) log of the
/// sum of tr (G'G)^p over the arcs, G = L_to F L_from^-1 with F scaled to the growth per period.
fn smooth_bound(graph: &StepGraph, factors: &Factors, power: u32, scale: f64) -> Option<(f64, Factors)> {
    let n = factors.first()?.nrows();
    let inverses = factors.iter().map(|l| l.clone().try_inverse()).collect::<Option<Vec<_>>>()?;
    let turned: Factors = inverses.iter().map(DMatrix::transpose).collect();
    let mut slopes = vec![DMatrix::zeros(n, n); factors.len()];
    // First the largest, so that no power overflows.
    let images: Vec<DMatrix<f64>> = graph
        .arcs
        .iter()
        .map(|arc| {
            let shrink = scale.powi(-(graph.step_periods(arc.step) as i32));
            &graph.steps[arc.step].map * &inverses[arc.from] * shrink
        })
        .collect();
    let maps: Vec<DMatrix<f64>> =
        graph.arcs.iter().zip(&images).map(|(arc, image)| &factors[arc.to] * image).collect();
    let size = maps.iter().map(DMatrix::norm).fold(0.0, f64::max);
    if !(size > 0.0 && size.is_finite()) {
        return None;
    }
    let mut sum = 0.0;
    // One place for each product: to ask for memory takes longer than to multiply.
    let [mut square, mut before, mut whole, mut next] = [(); 4].map(|()| DMatrix::zeros(n, n));
    for ((arc, image), mut g) in graph.arcs.iter().zip(&images).zip(maps) {
        g /= size;
        g.tr_mul_to(&g, &mut square);
        // (G'G)^(p-1), by squarings: p is a power of two.
        before.fill_with_identity();
        whole.copy_from(&square);
        let mut p = 1;
        while p < power {
            before.mul_to(&before, &mut next);
            next.mul_to(&square, &mut before);
            whole.mul_to(&whole, &mut next);
            std::mem::swap(&mut whole, &mut next);
            p *= 2;
        }
        sum += whole.trace();
        let common = f64::from(2 * power);
        g.mul_to(&before, &mut next);
        slopes[arc.to].gemm(common / size, &next, &image.transpose(), 1.0);
        slopes[arc.from].gemm(-common, &whole, &turned[arc.from], 1.0);
    }
    let scale = 1.0 / (f64::from(2 * power) * sum);
    slopes.iter_mut().for_each(|slope| *slope *= scale);
    Some((sum.ln() / f64::from(2 * power) + size.ln(), slopes))
}

/// L-BFGS with a backtracking search; stops early as [`minimise_growth_bound`] does, or when no `tries` are left.
fn minimise_by_lbfgs(
    graph: &StepGraph,
    factors: Factors,
    power: u32,
    goal: f64,
    tries: &mut usize,
) -> Factors {
    const STEPS: usize = 400;
    const MEMORY: usize = 12;
    let scale = growth_bound(graph, &factors);
    let dot = |a: &Factors, b: &Factors| a.iter().zip(b).map(|(a, b)| a.dot(b)).sum::<f64>();
    let plus =
        |a: &Factors, b: &Factors, by: f64| -> Factors { a.iter().zip(b).map(|(a, b)| a + b * by).collect() };
    let mut at = factors;
    let Some((mut value, mut slope)) = smooth_bound(graph, &at, power, scale) else { return at };
    let mut past: VecDeque<(Factors, Factors, f64)> = VecDeque::new();
    for step in 0..STEPS {
        if step % 20 == 19 && goal > 0.0 && growth_bound(graph, &at) < goal {
            break;
        }
        let mut direction = slope.clone();
        let mut parts = Vec::new();
        for (moved, turned, product) in past.iter().rev() {
            let part = dot(moved, &direction) / product;
            direction = plus(&direction, turned, -part);
            parts.push(part);
        }
        if let Some((_, turned, product)) = past.back() {
            let size = product / dot(turned, turned);
            direction.iter_mut().for_each(|d| *d *= size);
        }
        for ((moved, turned, product), part) in past.iter().zip(parts.iter().rev()) {
            let other = dot(turned, &direction) / product;
            direction = plus(&direction, moved, part - other);
        }
        let steep = dot(&slope, &direction);
        if steep.is_nan() || steep < 1e-14 {
            break;
        }
        let mut by = -1.0;
        let found = loop {
            let next = plus(&at, &direction, by);
            *tries = tries.saturating_sub(1);
            match smooth_bound(graph, &next, power, scale) {
                Some((lower, turned)) if lower <= value + 1e-4 * by * steep => {
                    break Some((next, lower, turned));
                }
                _ if by > -1e-8 || *tries == 0 => break None,
                _ => by *= 0.5,
            }
        };
        let Some((next, lower, turned)) = found else { break };
        let (moved, change) = (plus(&next, &at, -1.0), plus(&turned, &slope, -1.0));
        let product = dot(&moved, &change);
        if product > 1e-300 {
            past.push_back((moved, change, product));
            if past.len() > MEMORY {
                past.pop_front();
            }
        }
        let gained = value - lower;
        (at, value, slope) = (next, lower, turned);
        if gained < 1e-10 {
            break;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::servo::weakly_hard::graph::Step;
    use crate::servo::weakly_hard::requirement::WeaklyHard;

    fn shears() -> StepGraph {
        let step =
            |m: [f64; 4], missed| Step { map: DMatrix::from_row_slice(2, 2, &m), missed: vec![missed] };
        let steps = vec![step([1.0, 1.0, 0.0, 1.0], false), step([1.0, 0.0, 1.0, 1.0], true)];
        StepGraph::new(WeaklyHard { misses: 1, of: 2 }, steps).unwrap()
    }

    #[test]
    fn the_slope_is_that_of_the_value() {
        let graph = shears();
        let factors: Factors =
            (0..2).map(|k| DMatrix::from_row_slice(2, 2, &[1.0 + f64::from(k), 0.3, -0.2, 1.5])).collect();
        for power in [2, 8] {
            let (_, slope) = smooth_bound(&graph, &factors, power, 1.2).unwrap();
            for (node, i, j) in [(0, 0, 0), (0, 1, 0), (1, 0, 1), (1, 1, 1)] {
                let value = |by: f64| {
                    let mut moved = factors.clone();
                    moved[node][(i, j)] += by;
                    smooth_bound(&graph, &moved, power, 1.2).unwrap().0
                };
                let numeric = (value(1e-6) - value(-1e-6)) / 2e-6;
                assert!((numeric - slope[node][(i, j)]).abs() < 1e-7, "{numeric} {}", slope[node][(i, j)]);
            }
        }
    }

    #[test]
    fn the_golden_ratio_is_nearly_proved_by_norms_alone() {
        let graph = shears();
        let joined = norms_by_joins(&graph);
        let golden = 0.5 * (1.0 + 5f64.sqrt());
        let (coarse, fine) = (
            growth_bound(&graph, &joined),
            growth_bound(&graph, &minimise_growth_bound(&graph, joined.clone(), 0.0)),
        );
        assert!(coarse >= golden - 1e-9 && fine <= coarse && fine < golden + 1e-4, "{coarse} {fine}");
    }
}
