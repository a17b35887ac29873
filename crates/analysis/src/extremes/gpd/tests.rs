use super::*;
use crate::tests::agrees;
use proptest::prelude::*;

/// From Coles, An Introduction to Statistical Modeling of Extreme Values (2001): daily rainfall in south-west England 1914-1962, the 152 of 17531 days above 30 mm (section 4.4.1).
#[rustfmt::skip]
const RAIN_MM: [f64; 152] = [
    31.8, 32.5, 31.8, 44.5, 30.5, 43.2, 35.6, 38.1, 32.0, 31.8, 33.0, 39.1, 30.5, 31.8, 32.3, 33.0, 30.5,
    32.5, 48.5, 35.3, 40.6, 30.5, 34.3, 32.8, 30.5, 45.7, 31.8, 33.5, 33.5, 31.8, 34.8, 35.3, 37.8, 76.7,
    32.3, 34.0, 33.8, 36.6, 30.5, 45.7, 86.6, 35.6, 47.8, 47.5, 34.3, 48.5, 30.7, 43.4, 59.4, 35.1, 53.3,
    33.5, 30.5, 30.2, 40.9, 42.7, 83.3, 54.9, 59.2, 31.8, 37.3, 32.5, 34.0, 67.3, 31.2, 30.2, 36.1, 36.8,
    38.4, 31.0, 33.3, 47.0, 32.0, 33.0, 38.1, 30.5, 72.4, 34.3, 37.1, 33.0, 40.9, 39.9, 47.0, 36.3, 30.5,
    30.5, 55.9, 31.8, 51.3, 85.3, 41.9, 30.5, 33.0, 35.6, 55.9, 44.2, 38.1, 34.3, 31.8, 32.0, 31.8, 35.6,
    45.2, 30.5, 39.4, 30.2, 44.5, 31.8, 33.8, 51.6, 35.3, 59.4, 33.5, 35.3, 30.5, 36.8, 47.8, 42.9, 37.6,
    55.4, 35.3, 42.4, 33.0, 33.0, 40.1, 34.8, 38.1, 39.4, 34.0, 35.6, 34.3, 33.5, 31.0, 36.6, 36.3, 38.4,
    38.1, 47.0, 31.0, 30.5, 31.2, 35.6, 48.8, 41.9, 31.7, 31.2, 51.3, 33.5, 37.6, 39.4, 39.4, 45.7,
];

/// x_i = Q((i - 0.35) / 100): a sample that lies exactly on the distribution.
fn on_the_curve(shape: f64) -> Vec<f64> {
    let gpd = Gpd { scale: 2.0, shape };
    (1..=100).map(|i| gpd.excess_exceeded_with(1.0 - (f64::from(i) - 0.35) / 100.0)).collect()
}

#[test]
fn samples_on_the_curve_are_fitted_as_computed() {
    let expected = [
        (-0.2, [-0.17747144, 1.97384043], 0.85040142),
        (0.0, [0.02180706, 1.97021211], 1.00297881),
        (0.2, [0.21764396, 1.96905734], 1.24943800),
    ];
    for (shape, [fitted_shape, fitted_scale], variation) in expected {
        let x = on_the_curve(shape);
        let fit = Gpd::fit_l_moments(&x).unwrap();
        agrees(fit.shape, fitted_shape, 8);
        agrees(fit.scale, fitted_scale, 8);
        agrees(coefficient_of_variation(&x).unwrap(), variation, 8);
    }
}

/// Daily rain above 30 mm.
#[test]
fn daily_rain_is_fitted_as_computed() {
    let mut excesses: Vec<f64> = RAIN_MM.iter().map(|x| x - 30.0).collect();
    excesses.sort_by(f64::total_cmp);
    let (l1, l2) = l_moments(&excesses).unwrap();
    agrees(l1, 9.0842105, 7);
    agrees(l2, 5.0370338, 7);
    let by_moments = Gpd::fit_l_moments(&excesses).unwrap();
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
        agrees(10.0 + gpd.excess_exceeded_with(1.0 / (n * rate)), expected, 7);
        if let Some(expected) = of_max {
            agrees(10.0 + gpd.level_of_maximum(rate, n, 0.95), expected, 7);
        }
    }
    agrees(10.0 + Gpd { scale: 2.0, shape: -0.1 }.largest_excess().unwrap(), 30.0, 12);
}

#[test]
fn a_fit_never_denies_what_was_seen() {
    let excesses = [0.1, 1.0, 1.1, 1.2, 1.2, 1.3, 1.35, 1.4, 1.45, 1.5];
    let fit = Gpd::fit_l_moments(&excesses).unwrap();
    assert!(fit.largest_excess().is_none_or(|end| end >= 1.5 - 1e-12), "{fit:?}");
}

#[test]
fn what_cannot_be_fitted_is_not() {
    for x in [vec![], vec![1.0], vec![0.0; 20]] {
        assert_eq!(Gpd::fit_l_moments(&x), None);
    }
    assert_eq!(Gpd::fit_l_moments(&[3.0; 20]), None);
}

proptest! {
    #[test]
    fn the_level_exceeded_with_q_is_exceeded_with_q(shape in -0.6f64..0.6, scale in 0.1f64..1e4, q in 1e-9f64..1.0) {
        let gpd = Gpd { scale, shape };
        prop_assert!((gpd.survival(gpd.excess_exceeded_with(q)) / q - 1.0).abs() < 1e-6);
    }
}
