//! Frequencies at which the loop of one input crosses gain one and phase -180 degrees, and its least distance
//! from -1.
//!
//! L(z) = -K (zI - A)^-1 B is the signal that returns at the input, with the other inputs closed. The points
//! at which |1/(1 + L)| or |L| has a given value, or L is real, are eigenvalues of a matrix pencil on the
//! unit circle (Bruinsma and Steinbuch 1990). Nothing can cross between two neighbouring eigenvalue angles,
//! so one value between each two of them finds every crossing, however narrow.

use std::f64::consts::PI;

use nalgebra::{Complex, DMatrix};
use serde::Serialize;

use super::controller::Controller;
use super::frequency::SampledLoop;
use super::numeric::{balance, complex, eigenvalues};
use super::plant::Plant;

/// Margin of one input's loop where its gain crosses one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PhaseMargin {
    /// Distance of the phase from -180 degrees there, in degrees from -180 to 180: more lag uses up a positive one, less lag a
    /// negative one.
    pub degrees: f64,
    pub crossover_rad_per_s: f64,
    /// The gain falls with the frequency there.
    pub falls: bool,
}

/// Margins of one input's loop that is stable.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoopMargins {
    /// Crossovers (gain one), by frequency.
    pub crossovers: Vec<PhaseMargin>,
    /// The smallest factor above one by which a larger gain makes it unstable; `None` where none does.
    pub gain_up: Option<f64>,
    /// The largest factor below one by which a smaller gain makes it unstable; `None` where none does.
    pub gain_down: Option<f64>,
    /// The largest factor by which it amplifies a disturbance of any frequency: Ms = max |1/(1 + L)|.
    pub peak: f64,
    pub peak_rad_per_s: f64,
}

impl LoopMargins {
    /// Margins with a constant delay from sampling to actuation; `None` if the loop is unstable with it. None are
    /// looked for, either, with a delay of more than 64 periods.
    pub fn new(
        plant: &Plant,
        controller: &Controller,
        period_ns: i64,
        delay_ns: i64,
        channel: usize,
    ) -> Option<LoopMargins> {
        if delay_ns > period_ns.saturating_mul(LONGEST_DELAY) {
            return None;
        }
        let sampled = SampledLoop::new(plant, controller, period_ns, delay_ns);
        if !sampled.is_stable() {
            return None;
        }
        let at = Crossings::new(&sampled, channel);
        let period_s = period_ns as f64 * 1e-9;
        let factors = at.gain_factors();
        let (peak, theta) = at.peak_sensitivity();
        Some(LoopMargins {
            crossovers: at.crossovers(period_s),
            gain_up: factors.iter().copied().filter(|k| *k > 1.0).reduce(f64::min),
            gain_down: factors.iter().copied().filter(|k| *k < 1.0).reduce(f64::max),
            peak,
            peak_rad_per_s: theta / period_s,
        })
    }

    /// The crossover with the smallest phase margin, whatever its sign.
    pub fn smallest_phase_margin(&self) -> Option<PhaseMargin> {
        self.crossovers.iter().copied().min_by(|a, b| a.degrees.abs().total_cmp(&b.degrees.abs()))
    }

    /// The lowest frequency at which the gain falls below one, in rad/s.
    pub fn lowest_crossover(&self) -> Option<f64> {
        self.crossovers.iter().find(|c| c.falls).map(|c| c.crossover_rad_per_s)
    }
}

/// Longest constant delay that margins are looked for with, in periods: the loop's state grows with it.
pub(super) const LONGEST_DELAY: i64 = 64;
/// Lowest angle per period that is looked at.
const LOWEST: f64 = 1e-6 * PI;
/// Largest state whose pencils are solved; for a larger one the poles and a finer grid are used.
const LARGEST: usize = 40;

/// The loop of one input, broken there.
pub(super) struct Crossings<'a> {
    sampled: &'a SampledLoop,
    channel: usize,
    a: DMatrix<f64>,
    b: DMatrix<f64>,
    k: DMatrix<f64>,
    /// Angles near which something may happen fast: those of its poles, with their widths.
    near: Vec<f64>,
    /// Shift at which the pencils are inverted.
    shift: f64,
}

impl<'a> Crossings<'a> {
    pub fn new(sampled: &'a SampledLoop, channel: usize) -> Crossings<'a> {
        let (open, inputs, outputs) = sampled.state_space();
        let mut a = open;
        for other in (0..inputs.ncols()).filter(|c| *c != channel) {
            a += inputs.columns(other, 1) * outputs.rows(other, 1);
        }
        let (b, k) = (inputs.columns(channel, 1).into_owned(), outputs.rows(channel, 1).into_owned());
        let closed = &a + &b * &k;
        let poles: Vec<Complex<f64>> = [&a, &closed]
            .into_iter()
            .filter_map(|m| {
                let mut balanced = m.clone();
                balance(&mut balanced);
                eigenvalues(complex(&balanced))
            })
            .flatten()
            .collect();
        // Not the place of an eigenvalue, and as near to one as they are.
        let shift = 1.0 + 0.3 * poles.iter().map(|z| (z - 1.0).norm()).fold(0.0, f64::max);
        let scale = (k.norm() / b.norm()).sqrt();
        let scale = if scale.is_normal() { scale } else { 1.0 };
        Crossings { sampled, channel, a, b: b * scale, k: k / scale, near: angles_near_poles(&poles), shift }
    }

    /// Loop gain L at an angle; `None` on a pole.
    fn loop_gain(&self, theta: f64) -> Option<Complex<f64>> {
        self.sampled.return_ratio(self.channel, theta)
    }

    /// Angles in order: a grid, the poles' and these, and a value between each two of them.
    fn candidate_angles(&self, candidates: &[f64]) -> Vec<f64> {
        let count = if self.a.nrows() > LARGEST { 2_000 } else { 120 };
        let grid = (0..=count).map(|k| LOWEST * (PI / LOWEST).powf(f64::from(k) / f64::from(count)));
        with_midpoints(grid.chain(self.near.iter().copied()).chain(candidates.iter().copied()))
    }

    /// Angles of all eigenvalues z of A - z N.
    fn eigenvalue_angles(&self, a: DMatrix<f64>, n: &DMatrix<f64>) -> Vec<f64> {
        if a.nrows() > 2 * LARGEST + 1 {
            return Vec::new();
        }
        let Some(mut inverse) = (a - n * self.shift).lu().solve(n) else { return Vec::new() };
        balance(&mut inverse);
        let found = eigenvalues(complex(&inverse)).unwrap_or_default();
        let angle = |mu: &Complex<f64>| (mu.inv() + self.shift).arg().abs();
        found.iter().filter(|mu| mu.norm() > 1e-12).map(angle).collect()
    }

    /// Angles at which |through - K (zI - A)^-1 B| may be this size.
    fn angles_with_gain(&self, a: &DMatrix<f64>, through: f64, size: f64) -> Vec<f64> {
        let n = a.nrows();
        let rest = size * size - through * through;
        let inner = a + &self.b * &self.k * (through / rest);
        let (mut m, mut e) = (DMatrix::zeros(2 * n, 2 * n), DMatrix::identity(2 * n, 2 * n));
        m.view_mut((0, 0), (n, n)).copy_from(&inner);
        m.view_mut((0, n), (n, n)).copy_from(&(&self.b * self.b.transpose() / rest));
        m.view_mut((n, n), (n, n)).fill_with_identity();
        e.view_mut((n, 0), (n, n)).copy_from(&(self.k.transpose() * &self.k * (size * size / rest)));
        e.view_mut((n, n), (n, n)).copy_from(&inner.transpose());
        self.eigenvalue_angles(m, &e)
    }

    /// Angles at which L may be real.
    fn angles_with_real_gain(&self) -> Vec<f64> {
        let n = self.a.nrows();
        let (mut m, mut e) = (DMatrix::zeros(2 * n + 1, 2 * n + 1), DMatrix::zeros(2 * n + 1, 2 * n + 1));
        m.view_mut((0, 0), (n, n)).copy_from(&self.a);
        m.view_mut((0, 2 * n), (n, 1)).copy_from(&self.b);
        m.view_mut((n, n), (n, n)).copy_from(&-DMatrix::<f64>::identity(n, n));
        m.view_mut((2 * n, 0), (1, n)).copy_from(&self.k);
        m.view_mut((2 * n, n), (1, n)).copy_from(&-self.b.transpose());
        e.view_mut((0, 0), (n, n)).fill_with_identity();
        e.view_mut((n, n), (n, n)).copy_from(&-self.a.transpose());
        e.view_mut((n, 2 * n), (n, 1)).copy_from(&-self.k.transpose());
        self.eigenvalue_angles(m, &e)
    }

    /// Angles of unit gain at which `value` changes, each with the value before.
    pub fn changes_at_unit_gain<T: PartialEq + Copy>(
        &self,
        value: impl Fn(f64) -> Option<T>,
    ) -> Vec<(f64, T)> {
        value_changes(&self.candidate_angles(&self.angles_with_gain(&self.a, 0.0, 1.0)), value)
    }

    pub fn crossovers(&self, period_s: f64) -> Vec<PhaseMargin> {
        let found = self.changes_at_unit_gain(|theta| Some(self.loop_gain(theta)?.norm() > 1.0));
        let margin = |(theta, falls): (f64, bool)| {
            // Distance of the phase from -180 degrees, in -180..180.
            let degrees = (-self.loop_gain(theta)?).arg().to_degrees();
            Some(PhaseMargin { degrees, crossover_rad_per_s: theta / period_s, falls })
        };
        found.into_iter().filter_map(margin).collect()
    }

    /// Factors of the gain with which a pole lies on the unit circle.
    fn gain_factors(&self) -> Vec<f64> {
        let above = |theta| Some(self.loop_gain(theta)?.im > 0.0);
        let found = value_changes(&self.candidate_angles(&self.angles_with_real_gain()), above);
        // At both ends it is real, unless it has no end there.
        let ends = [0.0, PI].into_iter().filter_map(|theta| self.loop_gain(theta));
        let ends = ends.filter(|l| l.norm() < 1e9 && l.im.abs() <= 1e-6 * l.re.abs());
        let inner = found.into_iter().filter_map(|(theta, _)| self.loop_gain(theta));
        // An infinite gain changes sign without being real: such points are dropped.
        let inner = inner.filter(|l| l.im.abs() <= 1e-6 * l.re.abs());
        ends.chain(inner).filter(|l| l.re < 0.0).map(|l| -1.0 / l.re).collect()
    }

    /// The largest |1/(1 + L)|, and where it is.
    fn peak_sensitivity(&self) -> (f64, f64) {
        let closed = &self.a + &self.b * &self.k;
        let size = |theta: f64| self.loop_gain(theta).map_or(0.0, |l| (l + 1.0).norm().recip());
        let mut best = (0.0, LOWEST);
        let mut points = self.candidate_angles(&[]);
        for _ in 0..20 {
            let sizes: Vec<f64> = points.iter().map(|theta| size(*theta)).collect();
            let Some(top) = (0..points.len()).max_by(|a, b| sizes[*a].total_cmp(&sizes[*b])) else { break };
            let (low, high) = (points[top.saturating_sub(1)], points[(top + 1).min(points.len() - 1)]);
            let found = golden_section_maximum(low, high, size);
            if found.0 <= best.0 * (1.0 + 1e-9) {
                break;
            }
            best = found;
            points = with_midpoints(
                self.angles_with_gain(&closed, 1.0, best.0 * (1.0 + 1e-9)).into_iter().chain([LOWEST, PI]),
            );
        }
        best
    }
}

/// Angles within some widths of poles.
pub(super) fn angles_near_poles(poles: &[Complex<f64>]) -> Vec<f64> {
    const WIDTHS: [f64; 7] = [-5.0, -2.0, -0.7, 0.0, 0.7, 2.0, 5.0];
    let fan = |z: &Complex<f64>| {
        let (angle, width) = (z.arg().abs(), (z.norm() - 1.0).abs());
        WIDTHS.map(|w| angle + w * width)
    };
    poles.iter().filter(|z| z.norm() > 0.1).flat_map(fan).collect()
}

/// Angles in order and once each, with a value between each two neighbours.
fn with_midpoints(angles: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut all: Vec<f64> = angles.filter(|theta| (LOWEST..=PI).contains(theta)).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    let between: Vec<f64> = all.windows(2).map(|pair| 0.5 * (pair[0] + pair[1])).collect();
    let mut both: Vec<f64> = all.into_iter().chain(between).collect();
    both.sort_by(f64::total_cmp);
    both.dedup();
    both
}

/// Points where a value changes, found by bisection, each with the value before the change.
pub(super) fn value_changes<T: PartialEq + Copy>(
    points: &[f64],
    is: impl Fn(f64) -> Option<T>,
) -> Vec<(f64, T)> {
    let mut found = Vec::new();
    let known: Vec<(f64, T)> = points.iter().filter_map(|theta| Some((*theta, is(*theta)?))).collect();
    for pair in known.windows(2) {
        let ((mut low, before), (mut high, after)) = (pair[0], pair[1]);
        if before == after {
            continue;
        }
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if is(middle) == Some(before) { low = middle } else { high = middle }
        }
        found.push((low, before));
    }
    found
}

/// The highest value between two angles (golden section), and where it is.
fn golden_section_maximum(mut low: f64, mut high: f64, value: impl Fn(f64) -> f64) -> (f64, f64) {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let (mut left, mut right) = (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
    let (mut at_left, mut at_right) = (value(left), value(right));
    for _ in 0..50 {
        if at_left > at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - GOLDEN * (high - low);
            at_left = value(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + GOLDEN * (high - low);
            at_right = value(right);
        }
    }
    [(value(low), low), (at_left, left), (at_right, right), (value(high), high)]
        .into_iter()
        .fold((0.0, low), |best, one| if one.0 > best.0 { one } else { best })
}
