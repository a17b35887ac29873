//! Maxima of likelihoods and what their curvature says.

use nalgebra::SMatrix;

/// Where `f`, which has one maximum between `low` and `high`, has it.
pub(crate) fn golden_maximum(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    let ratio = (5f64.sqrt() - 1.0) / 2.0;
    let (mut a, mut b) = (high - ratio * (high - low), low + ratio * (high - low));
    let (mut fa, mut fb) = (f(a), f(b));
    while high - low > 1e-11 * (1.0 + low.abs()) {
        if fa > fb {
            (high, b, fb) = (b, a, fa);
            a = high - ratio * (high - low);
            fa = f(a);
        } else {
            (low, a, fa) = (a, b, fb);
            b = low + ratio * (high - low);
            fb = f(b);
        }
        if (high - low).abs() < 1e-13 {
            break;
        }
    }
    (low + high) / 2.0
}

/// Standard errors at a maximum of the log-likelihood `f`: roots of the diagonal of the inverse of minus its matrix of
/// second derivatives, by central differences with steps in units of `scales`. `None` where it is no maximum.
pub(crate) fn standard_errors<const N: usize>(
    at: [f64; N],
    scales: [f64; N],
    f: impl Fn([f64; N]) -> f64,
) -> Option<[f64; N]> {
    let shifted = |moves: &[(usize, f64)]| {
        let mut point = at;
        moves.iter().for_each(|(i, by)| point[*i] += by * scales[*i] * 1e-3);
        f(point)
    };
    let mut information = SMatrix::<f64, N, N>::zeros();
    for i in 0..N {
        for j in 0..N {
            let second = shifted(&[(i, 1.0), (j, 1.0)])
                - shifted(&[(i, 1.0), (j, -1.0)])
                - shifted(&[(i, -1.0), (j, 1.0)])
                + shifted(&[(i, -1.0), (j, -1.0)]);
            information[(i, j)] = -second / (4.0 * 1e-6 * scales[i] * scales[j]);
        }
    }
    let covariance = information.try_inverse()?;
    let mut errors = [0.0; N];
    for (i, error) in errors.iter_mut().enumerate() {
        *error = (covariance[(i, i)] > 0.0).then(|| covariance[(i, i)].sqrt())?;
    }
    Some(errors)
}
