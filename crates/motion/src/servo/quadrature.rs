//! Numerical integration (Gauss and Legendre).

use std::f64::consts::PI;

/// Points and weights that integrate polynomials of a degree below twice their number over -1..1 exactly.
fn gauss_legendre(points: usize) -> Vec<(f64, f64)> {
    let n = points as f64;
    // Legendre's polynomial and its derivative by the recursion of three terms.
    let legendre = |x: f64| {
        let (mut before, mut now) = (1.0, x);
        for k in 2..=points {
            let k = k as f64;
            (before, now) = (now, ((2.0 * k - 1.0) * x * now - (k - 1.0) * before) / k);
        }
        (now, n * (x * now - before) / (x * x - 1.0))
    };
    (1..=points)
        .map(|i| {
            let mut x = -(PI * (i as f64 - 0.25) / (n + 0.5)).cos();
            for _ in 0..8 {
                let (value, slope) = legendre(x);
                x -= value / slope;
            }
            let slope = legendre(x).1;
            (x, 2.0 / ((1.0 - x * x) * slope * slope))
        })
        .collect()
}

/// Points and weights for the mean over `from..to`, with `points` points in each piece between the `cuts` inside. The
/// weights add up to one.
pub(super) fn mean_quadrature(
    from: f64,
    to: f64,
    cuts: impl IntoIterator<Item = f64>,
    points: usize,
) -> Vec<(f64, f64)> {
    if to <= from {
        return vec![(from, 1.0)];
    }
    let mut ends: Vec<f64> = cuts.into_iter().filter(|cut| *cut > from && *cut < to).collect();
    ends.extend([from, to]);
    ends.sort_by(f64::total_cmp);
    let unit = gauss_legendre(points);
    let pieces = ends.windows(2).filter(|piece| piece[1] - piece[0] > 1e-12 * (to - from));
    pieces
        .flat_map(|piece| {
            let (middle, half) = (0.5 * (piece[0] + piece[1]), 0.5 * (piece[1] - piece[0]));
            let of = move |(x, w): &(f64, f64)| (middle + half * x, w * half / (to - from));
            unit.iter().map(of).collect::<Vec<_>>()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_integrated_exactly_piece_by_piece() {
        for points in [2, 8, 24] {
            let nodes = mean_quadrature(1.0, 3.0, [0.5, 2.0, 3.5], points);
            assert_eq!(nodes.len(), 2 * points);
            for power in 0..2 * points as i32 {
                let found: f64 = nodes.iter().map(|(x, w)| w * x.powi(power)).sum();
                let exact = (3f64.powi(power + 1) - 1.0) / f64::from(power + 1) / 2.0;
                assert!((found / exact - 1.0).abs() < 1e-12, "{points} {power}: {found} {exact}");
            }
        }
        assert_eq!(mean_quadrature(2.0, 2.0, [], 8), [(2.0, 1.0)]);
    }
}
