use super::*;
use crate::extremes::reference::RAIN_MM;
use crate::reference::agrees;
use proptest::prelude::*;

/// x_i = Q((i - 0.35) / 100): a sample that lies exactly on the distribution.
fn on_the_curve(shape: f64) -> Vec<f64> {
    let gpd = Gpd { scale: 2.0, shape };
    (1..=100).map(|i| gpd.exceeded_with(1.0 - (f64::from(i) - 0.35) / 100.0)).collect()
}

#[test]
fn samples_on_the_curve_are_fitted_as_computed() {
    let expected = [
        (
            -0.2,
            [-0.18504828, 1.98654178],
            [-0.17747144, 1.97384043],
            [-0.20787667, 2.02713919],
            -149.87488727,
            0.85040142,
        ),
        (
            0.0,
            [0.01373204, 1.98647628],
            [0.02180706, 1.97021211],
            [-0.00221425, 2.01859460],
            -170.01872831,
            1.00297881,
        ),
        (
            0.2,
            [0.20931201, 1.99002744],
            [0.21764396, 1.96905734],
            [0.20208857, 2.01277482],
            -190.16028412,
            1.24943800,
        ),
    ];
    for (shape, pwm, lmom, mle, likelihood, cv) in expected {
        let x = on_the_curve(shape);
        let fits = [Gpd::by_weighted_moments(&x), Gpd::by_l_moments(&x)];
        for (found, [shape, scale]) in fits.into_iter().zip([pwm, lmom]) {
            agrees(found.unwrap().shape, shape, 8);
            agrees(found.unwrap().scale, scale, 8);
        }
        let best = Gpd::by_maximum_likelihood(&x).unwrap();
        agrees(best.shape, mle[0], 6);
        agrees(best.scale, mle[1], 6);
        agrees(best.log_likelihood(&x), likelihood, 8);
        agrees(coefficient_of_variation(&x).unwrap(), cv, 8);
    }
}

/// Coles 2001 sections 4.4.1 and 4.3.2: daily rain above 30 mm, 152 of 17531 days.
#[test]
fn daily_rain_is_fitted_as_published() {
    let mut excesses: Vec<f64> = RAIN_MM.iter().map(|x| x - 30.0).collect();
    excesses.sort_by(f64::total_cmp);
    let best = Gpd::by_maximum_likelihood(&excesses).unwrap();
    agrees(best.scale, 7.4403, 4);
    agrees(best.shape, 0.1845, 4);
    agrees(best.log_likelihood(&excesses), -485.0937, 4);
    let rate = 152.0 / 17_531.0;
    let hundred_years = 30.0 + best.exceeded_with(1.0 / (36_500.0 * rate));
    agrees(hundred_years, 106.328, 2);
    let [scale_se, shape_se] = best.standard_errors(&excesses).unwrap();
    agrees(shape_se, 0.1012, 4);
    agrees(scale_se, 0.9585, 4);
    let [low, high] = best.profile_interval(&excesses, 1.0 / (36_500.0 * rate)).unwrap();
    agrees(30.0 + low, 80.857, 2);
    agrees(30.0 + high, 184.988, 2);
    let (l1, l2) = l_moments(&excesses).unwrap();
    agrees(l1, 9.0842105, 7);
    agrees(l2, 5.0370338, 7);
    let by_moments = Gpd::by_l_moments(&excesses).unwrap();
    agrees(by_moments.shape, 0.1965159, 7);
    agrees(by_moments.scale, 7.2990190, 6);
    agrees(coefficient_of_variation(&excesses).unwrap(), 1.18297, 5);
}

/// u = 10, s = 2, one value in 1000 above, 86.4 million further values.
#[test]
fn levels_of_a_day_are_as_computed() {
    let (rate, n) = (1e-3, 86.4e6);
    for (shape, expected, of_max) in
        [(0.1, 52.3277386, Some(73.8832620)), (0.0, 32.7334859, Some(38.6738764)), (-0.1, 23.5823117, None)]
    {
        let gpd = Gpd { scale: 2.0, shape };
        agrees(10.0 + gpd.exceeded_with(1.0 / (n * rate)), expected, 7);
        if let Some(expected) = of_max {
            agrees(10.0 + gpd.level_of_maximum(rate, n, 0.95), expected, 7);
        }
    }
    agrees(10.0 + Gpd { scale: 2.0, shape: -0.1 }.end().unwrap(), 30.0, 12);
}

#[test]
fn a_fit_never_denies_what_was_seen() {
    let excesses = [0.1, 1.0, 1.1, 1.2, 1.2, 1.3, 1.35, 1.4, 1.45, 1.5];
    let fit = Gpd::by_l_moments(&excesses).unwrap();
    assert!(fit.end().is_none_or(|end| end >= 1.5 - 1e-12), "{fit:?}");
}

#[test]
fn what_cannot_be_fitted_is_not() {
    for x in [vec![], vec![1.0], vec![0.0; 20]] {
        assert_eq!(Gpd::by_l_moments(&x), None);
        assert_eq!(Gpd::by_maximum_likelihood(&x), None);
        assert_eq!(Gpd::by_weighted_moments(&x), None);
    }
    assert_eq!(Gpd::by_l_moments(&[3.0; 20]), None);
}

proptest! {
    #[test]
    fn the_level_exceeded_with_q_is_exceeded_with_q(shape in -0.6f64..0.6, scale in 0.1f64..1e4, q in 1e-9f64..1.0) {
        let gpd = Gpd { scale, shape };
        prop_assert!((gpd.survival(gpd.exceeded_with(q)) / q - 1.0).abs() < 1e-6);
    }

    #[test]
    fn likelihood_is_largest_at_the_fit(shape in -0.4f64..0.6, step in -0.05f64..0.05, stretch in 0.9f64..1.1) {
        let x = on_the_curve(shape);
        let best = Gpd::by_maximum_likelihood(&x).unwrap();
        let other = Gpd { scale: best.scale * stretch, shape: best.shape + step };
        let possible = other.end().is_none_or(|end| end > x[99]);
        prop_assert!(!possible || other.log_likelihood(&x) <= best.log_likelihood(&x) + 1e-7);
    }
}
