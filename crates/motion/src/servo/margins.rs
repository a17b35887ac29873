//! Margins of a loop against further delay and jitter: phase margin, delay margin, jitter margin.

use std::f64::consts::PI;

use nalgebra::Complex;
use serde::Serialize;

use super::controller::Controller;
use super::crossings::{Crossings, LONGEST_DELAY, angles_near_poles};
use super::frequency::{RationalTransfer, SampledLoop};
use super::numeric::{balance, complex, eigenvalues};
use super::plant::Plant;

/// Longest delay whose loop is built to find the delay margin, in periods.
const MOST_PERIODS: i64 = 16;

/// The constant delays from sampling to actuation with which a loop is stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "stable", content = "ns", rename_all = "kebab-case")]
pub enum DelayMargin {
    /// It is unstable without any.
    Never,
    /// It is stable with every delay from zero to this, in ns.
    UpTo(i64),
    /// It is stable with any.
    Always,
}

impl DelayMargin {
    /// Longest delay that the loop tolerates, 0 for none; `None` if it tolerates any.
    pub(super) fn longest_ns(self) -> Option<i64> {
        match self {
            DelayMargin::Never => Some(0),
            DelayMargin::UpTo(ns) => Some(ns),
            DelayMargin::Always => None,
        }
    }
}

/// Longest constant delay for which the loop is stable, as it is for every shorter one. Exact up to 16 periods, beyond
/// from the frequency response.
pub fn delay_margin(plant: &Plant, controller: &Controller, period_ns: i64) -> DelayMargin {
    let stable = |delay_ns| SampledLoop::new(plant, controller, period_ns, delay_ns).is_stable();
    if !stable(0) {
        return DelayMargin::Never;
    }
    let (longest, shortest) = ((period_ns / 4).max(1), (period_ns / 256).max(1));
    let ahead = |delay_ns| {
        periods_to_instability(&SampledLoop::new(plant, controller, period_ns, delay_ns)) * period_ns as f64
    };
    let (mut low, mut left) = (0, ahead(0));
    let step = loop {
        // Half the way to where a crossing is turned into -1: a part of a period also changes the gain.
        if left < period_ns as f64 {
            left = ahead(low);
        }
        let step = ((0.5 * left) as i64).clamp(shortest, longest);
        if !stable(low + step) {
            break step;
        }
        low += step;
        left -= step as f64;
        if low >= period_ns.saturating_mul(MOST_PERIODS) {
            return match long_delay_margin_ns(plant, controller, period_ns) {
                Some(ns) => DelayMargin::UpTo(ns.max(low)),
                None => DelayMargin::Always,
            };
        }
    };
    let mut high = low + step;
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if stable(middle) { low = middle } else { high = middle }
    }
    DelayMargin::UpTo(low)
}

/// Delay margin from the frequency response; `None` if any delay is tolerated. Part of a period and whole periods
/// agree.
fn long_delay_margin_ns(plant: &Plant, controller: &Controller, period_ns: i64) -> Option<i64> {
    let period = period_ns as f64;
    let mut margin_ns = 0.0;
    for _ in 0..4 {
        let part_ns = (margin_ns % period) as i64;
        let whole = periods_to_instability(&SampledLoop::new(plant, controller, period_ns, part_ns));
        margin_ns = part_ns as f64 + whole * period;
        if margin_ns.is_infinite() {
            return None;
        }
    }
    Some(margin_ns as i64)
}

/// Number of periods of delay that turn one of the loop's characteristic loci into -1. A delay of d periods turns each
/// by d theta and keeps its size. Infinite if no locus has a size of one or more.
fn periods_to_instability(sampled: &SampledLoop) -> f64 {
    let from_one = |l: &Complex<f64>| (l.norm() - 1.0).abs();
    let turn = |theta: f64, l: &Complex<f64>| (-l).arg().rem_euclid(2.0 * PI) / theta;
    let crossings = Crossings::new(sampled, 0);
    let above = |theta| Some(sampled.characteristic_loci(theta)?.iter().filter(|l| l.norm() > 1.0).count());
    let mut least = f64::INFINITY;
    for (theta, _) in crossings.changes_at_unit_gain(above) {
        let loci = sampled.characteristic_loci(theta).unwrap_or_default();
        if let Some(crossing) = loci.iter().min_by(|a, b| from_one(a).total_cmp(&from_one(b))) {
            least = least.min(turn(theta, crossing));
        }
    }
    least
}

/// The jitter margin of a loop with one input and one output: it is stable for every sequence of delays within [L, L + J],
/// where J is found for the constant part L. Sufficient, not necessary.
///
/// Kao and Lincoln 2004 (Automatica 40) and Cervin, Lincoln, Eker, Arzen and Buttazzo 2004 (RTCSA), for a sampled
/// loop: with J = N + g periods it holds if for all w in (0, pi]
///
/// ```text
/// sqrt(N^2 + 2 N g + g) |e^iw - 1| P_alias(w) |C(e^iw)| < |1 + P_L(e^iw) C(e^iw)|
/// P_alias(w)^2 = sum over k of |P(i (w + 2 pi k)/h)|^2
/// ```
///
/// (the derivation is in `docs/evidence/servo.md`).
#[derive(Debug, Clone)]
pub struct JitterMargin<'a> {
    plant: &'a Plant,
    controller: &'a Controller,
    period_ns: i64,
    rational: RationalTransfer,
    /// |e^iw - 1| P_alias(w) at the frequencies looked at, which the delay does not change.
    aliased: Vec<f64>,
}

/// Frequencies looked at, from zero to half the sampling rate; others near the loop's poles.
const FREQUENCIES: u32 = 4_000;

impl<'a> JitterMargin<'a> {
    /// Prepares the margin for any constant delay. `None` for a loop that has several inputs or reads states, and for a plant that
    /// answers at once.
    pub fn new(plant: &'a Plant, controller: &'a Controller, period_ns: i64) -> Option<JitterMargin<'a>> {
        if plant.sizes() != (plant.sizes().0, 1, 1) || controller.reads_states {
            return None;
        }
        let rational = RationalTransfer::new(plant, 0, 0);
        if !rational.is_strictly_proper() {
            return None;
        }
        let mut all = JitterMargin { plant, controller, period_ns, rational, aliased: Vec::new() };
        all.aliased = (1..=FREQUENCIES).map(|k| all.aliased_gain(grid_frequency(k))).collect();
        Some(all)
    }

    /// Gain |e^iw - 1| P_alias(w) of the plant with its aliases.
    fn aliased_gain(&self, theta: f64) -> f64 {
        const ALIASES: i32 = 300;
        let period_s = self.period_ns as f64 * 1e-9;
        let of = |n| self.rational.response((theta + 2.0 * PI * f64::from(n)) / period_s).norm_sqr();
        (Complex::from_polar(1.0, theta) - 1.0).norm() * (-ALIASES..=ALIASES).map(of).sum::<f64>().sqrt()
    }

    /// Jitter margin in ns on top of a constant delay; `None` if the loop is unstable with that delay alone. None is
    /// looked for, either, with a delay of more than 64 periods.
    pub fn margin_ns(&self, delay_ns: i64) -> Option<f64> {
        if delay_ns > LONGEST_DELAY.saturating_mul(self.period_ns) {
            return None;
        }
        let sampled = SampledLoop::new(self.plant, self.controller, self.period_ns, delay_ns);
        if !sampled.is_stable() {
            return None;
        }
        let mut closed = sampled.closed_loop_matrix();
        balance(&mut closed);
        let near = angles_near_poles(&eigenvalues(complex(&closed)).unwrap_or_default());
        let near = near.into_iter().filter(|theta| (1e-9..PI).contains(theta));
        let near = near.map(|theta| (theta, self.aliased_gain(theta)));
        let mut most: f64 = 0.0;
        for (theta, aliased) in (1..).map(grid_frequency).zip(self.aliased.iter().copied()).chain(near) {
            let c = sampled.controller_response(theta)?[(0, 0)];
            let closed = sampled.plant_response(theta)?[(0, 0)] * c + 1.0;
            most = most.max(aliased * c.norm() / closed.norm());
        }
        // sqrt(N^2 + 2 N g + g) = 1/most
        let squared = most.powi(-2);
        let whole = squared.sqrt().floor();
        let periods = whole + (squared - whole * whole) / (2.0 * whole + 1.0);
        Some(periods * self.period_ns as f64)
    }
}

/// The k-th of the frequencies looked at, as an angle for each period.
fn grid_frequency(k: u32) -> f64 {
    PI * f64::from(k) / f64::from(FREQUENCIES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog;
    use crate::servo::crossings::LoopMargins;

    const MS: i64 = 1_000_000;

    fn delay_margin_ns(plant: &Plant, controller: &Controller, period_ns: i64) -> i64 {
        match delay_margin(plant, controller, period_ns) {
            DelayMargin::UpTo(ns) => ns,
            other => panic!("{other:?}"),
        }
    }

    fn jitter_margin_ns(
        plant: &Plant,
        controller: &Controller,
        period_ns: i64,
        delay_ns: i64,
    ) -> Option<f64> {
        JitterMargin::new(plant, controller, period_ns)?.margin_ns(delay_ns)
    }

    fn servo(period_ns: i64) -> (Plant, Controller) {
        let plant: Plant = catalog::find_device("dc-servo", None).unwrap();
        let controller = plant.design.controller(&plant, period_ns, 0).unwrap();
        (plant, controller)
    }

    #[test]
    fn phase_margins_of_the_sampled_dc_servo() {
        // Published: 62.106 59.155 53.111 46.863 40.475 34.016, from a grid of frequencies, up to 6e-4 off; these
        // are from an independent bisection.
        for (h, degrees, published) in [
            (1, 62.069957, 62.106),
            (2, 59.145636, 59.155),
            (4, 53.107682, 53.111),
            (6, 46.863848, 46.863),
            (8, 40.477218, 40.475),
            (10, 34.016518, 34.016),
        ] {
            let (plant, controller) = servo(h * MS);
            let margin =
                LoopMargins::new(&plant, &controller, h * MS, 0, 0).unwrap().smallest_phase_margin().unwrap();
            assert!((margin.degrees - degrees).abs() < 1e-6, "{h} ms: {margin:?}");
            assert!((margin.degrees - published).abs() < 1e-3 * published);
            if h == 6 {
                assert!((margin.crossover_rad_per_s - 61.251).abs() < 1e-3 * 61.251, "{margin:?}");
            }
        }
    }

    #[test]
    fn exact_delay_margins_of_the_dc_servo() {
        for (h, ms) in
            [(1, 18.36691), (2, 17.34863), (4, 15.33709), (6, 13.35156), (8, 11.41254), (10, 9.54752)]
        {
            let (plant, controller) = servo(h * MS);
            let margin = delay_margin_ns(&plant, &controller, h * MS) as f64 * 1e-6;
            assert!((margin - ms).abs() < 1e-5, "{h} ms: {margin}");
        }
    }

    #[test]
    fn delay_margins_of_many_periods_go_on_from_those_of_few() {
        for period_ns in [2 * MS, 4 * MS] {
            let (plant, controller) = servo(period_ns);
            let exact = delay_margin_ns(&plant, &controller, period_ns);
            assert!(exact < MOST_PERIODS * period_ns);
            assert!((long_delay_margin_ns(&plant, &controller, period_ns).unwrap() - exact).abs() <= 2);
        }
        // Towards the continuous loop's 19.3923 ms.
        for (period_ns, ms) in [(100_000, 19.29), (10_000, 19.382)] {
            let (plant, controller) = servo(period_ns);
            let margin = delay_margin_ns(&plant, &controller, period_ns) as f64 * 1e-6;
            assert!((margin - ms).abs() < 5e-3, "{margin}");
            assert!(jitter_margin_ns(&plant, &controller, period_ns, 0).unwrap() * 1e-6 < margin);
        }
        let jiwy: Plant = catalog::find_device("jiwy", None).unwrap();
        let margin = |period_ns| {
            delay_margin_ns(&jiwy, &jiwy.design.controller(&jiwy, period_ns, 0).unwrap(), period_ns)
        };
        let (slow, fast) = (margin(MS), margin(100_000));
        assert!(fast > MOST_PERIODS * 100_000 && (slow..slow + MS).contains(&fast), "{slow} {fast}");
    }

    #[test]
    fn a_loop_whose_gain_never_reaches_one_stands_any_delay() {
        use crate::catalog::Device;
        let weak = "name = 'x'\n[zpk]\npoles = [-1]\ngain = 0.5\n[controller]\nkind = 'pd'\ngain = 1.0\n\
                    derivative_time = '0 s'";
        let plant = Plant::from_toml("x", weak).unwrap();
        let controller = plant.design.controller(&plant, MS, 0).unwrap();
        assert_eq!(delay_margin(&plant, &controller, MS), DelayMargin::Always);
    }

    #[test]
    fn jitter_margins_of_the_dc_servo_are_below_the_delay_margins() {
        for (h, share, periods) in [
            (1, 0.0, 17.18402),
            (2, 0.0, 8.06759),
            (4, 0.0, 3.47553),
            (6, 0.0, 2.00513),
            (8, 0.0, 1.20281),
            (10, 0.0, 0.69874),
            (6, 0.25, 1.69705),
            (6, 0.5, 1.43624),
            (8, 0.25, 1.01677),
            (8, 0.5, 0.63388),
            (10, 0.25, 0.35748),
            (10, 0.5, 0.14378),
        ] {
            let (plant, controller) = servo(h * MS);
            let delay = (share * (h * MS) as f64) as i64;
            let margin = jitter_margin_ns(&plant, &controller, h * MS, delay).unwrap();
            let found = margin / (h * MS) as f64;
            assert!((found - periods).abs() < 1e-3, "{h} ms, {share}: {found} {periods}");
            let longest = delay_margin_ns(&plant, &controller, h * MS);
            assert!(delay as f64 + margin <= longest as f64);
        }
    }

    #[test]
    fn the_ball_screw_s_margins_are_those_of_an_independent_computation() {
        // Eigenvalues by LAPACK of the same loop: 0.99625 at 4.3 ms, 1.00157 at 4.5 ms.
        let plant: Plant = catalog::find_device("ball-screw", None).unwrap();
        let controller = plant.design.controller(&plant, MS, 0).unwrap();
        let margin = delay_margin_ns(&plant, &controller, MS);
        assert!((4_300_000..4_500_000).contains(&margin), "{margin}");
        let jitter = jitter_margin_ns(&plant, &controller, MS, 0).unwrap();
        assert!(jitter < margin as f64, "{jitter}");
    }

    #[test]
    fn each_joint_of_a_robot_has_its_margin() {
        let plant: Plant = catalog::find_device("jiwy", None).unwrap();
        let controller = plant.design.controller(&plant, 5 * MS, 0).unwrap();
        for joint in 0..2 {
            let margins = LoopMargins::new(&plant, &controller, 5 * MS, 0, joint).unwrap();
            let margin = margins.smallest_phase_margin().unwrap();
            assert!((20.0..90.0).contains(&margin.degrees), "{joint}: {margin:?}");
        }
        assert_eq!(jitter_margin_ns(&plant, &controller, 5 * MS, 0), None);
    }
}
