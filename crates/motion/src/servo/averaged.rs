//! The optimal controller where the time to the next sample and the delay of the output are random: averaged over what was measured.
//!
//! From sample to sample [x; u_prev] goes on by [A_i B_i], with the shares p_i of the measured pairs of interval and delay. The
//! feedback minimises E[z'Q_i z + next' S next], the Riccati equation with the expectation outside of its products (a system with
//! multiplicative noise: Nilsson 1998, chapter 5; De Koning 1982). The Kalman filter goes on by the mean maps; how much the maps
//! differ from them is noise that the timing makes, of the covariance that the loop itself has.

use nalgebra::DMatrix;

use super::ServoError;
use super::controller::{Controller, Sampled};
use super::flow::{Flow, FlowTable};
use super::plant::Plant;
use crate::error::MotionError;

/// From a sample to the next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Gap {
    /// How long.
    pub length_ns: i64,
    /// When the sample's output goes out.
    pub delay_ns: i64,
    /// How often.
    pub share: f64,
}

/// Most steps of the value iteration.
const MOST_STEPS: usize = 50_000;
const CONVERGED: f64 = 1e-13;

/// The plant from sample to sample, on average and in each gap.
pub(super) struct Averaged {
    each: Vec<(f64, Sampled)>,
    mean: Sampled,
    /// A gap's own flow on average.
    whole: Flow,
    gain: DMatrix<f64>,
}

impl Averaged {
    /// The optimal feedback for these gaps, whose shares add up to one.
    ///
    /// # Errors
    /// Nothing stabilises the plant.
    pub fn new(plant: &Plant, gaps: &[Gap]) -> Result<Averaged, MotionError> {
        let mut table = FlowTable::new(&plant.a, &plant.b, &plant.process_noise, &plant.cost());
        let flows: Vec<(f64, Flow)> = gaps.iter().map(|g| (g.share, table.flow(g.length_ns))).collect();
        let each: Vec<(f64, Sampled)> = gaps
            .iter()
            .map(|g| (g.share, Sampled::new(plant, &mut table, g.length_ns, g.delay_ns.min(g.length_ns))))
            .collect();
        let sum = |of: &dyn Fn(&Sampled) -> &DMatrix<f64>| {
            each.iter().skip(1).fold(of(&each[0].1) * each[0].0, |sum, (share, s)| sum + of(s) * *share)
        };
        let (Some(first), true) = (flows.first(), !each.is_empty()) else {
            return Err(ServoError::NotStabilised.into());
        };
        let mut whole =
            Flow { phi: &first.1.phi * first.0, noise: &first.1.noise * first.0, ..first.1.clone() };
        for (share, flow) in &flows[1..] {
            whole.phi += &flow.phi * *share;
            whole.noise += &flow.noise * *share;
        }
        let mean = Sampled {
            a: sum(&|s| &s.a),
            b: sum(&|s| &s.b),
            q: sum(&|s| &s.q),
            r: sum(&|s| &s.r),
            cross: sum(&|s| &s.cross),
        };
        let gain = optimal(&each, &mean).ok_or(ServoError::NotStabilised)?;
        Ok(Averaged { each, mean, whole, gain })
    }

    /// u = -L [x; u_prev].
    pub fn feedback(&self, plant: &Plant) -> Controller {
        self.mean.feedback(plant, &self.gain)
    }

    /// The same from a Kalman filter, with the covariance of [x; u_prev; u] at the samples where that is known.
    ///
    /// # Errors
    /// As [`super::Design::controller`].
    pub fn filtered(&self, plant: &Plant, spread: Option<&DMatrix<f64>>) -> Result<Controller, MotionError> {
        let mut whole = self.whole.clone();
        if let Some(z) = spread {
            let n = plant.sizes().0;
            let map = |s: &Sampled| {
                let (k, m) = s.b.shape();
                let mut rows = DMatrix::zeros(n, k + m);
                rows.columns_mut(0, k).copy_from(&s.a.rows(0, n));
                rows.columns_mut(k, m).copy_from(&s.b.rows(0, n));
                rows
            };
            let mean = map(&self.mean);
            let mut noise = whole.noise.view((0, 0), (n, n)).into_owned();
            for (share, sampled) in &self.each {
                let apart = map(sampled) - &mean;
                noise += &apart * z * apart.transpose() * *share;
            }
            whole.noise.view_mut((0, 0), (n, n)).copy_from(&noise);
        }
        self.mean.filtered(plant, &whole, &self.gain)
    }
}

/// The gain, by value iteration.
fn optimal(each: &[(f64, Sampled)], mean: &Sampled) -> Option<DMatrix<f64>> {
    let (k, m) = mean.b.shape();
    let mut s = DMatrix::identity(k, k) * mean.q.amax().max(f64::MIN_POSITIVE);
    for _ in 0..MOST_STEPS {
        let (mut xx, mut xu, mut uu) = (mean.q.clone(), mean.cross.clone(), mean.r.clone());
        for (share, one) in each {
            let (sa, sb) = (&s * &one.a, &s * &one.b);
            xx += one.a.transpose() * &sa * *share;
            xu += one.a.transpose() * &sb * *share;
            uu += one.b.transpose() * &sb * *share;
        }
        let gain = uu.cholesky()?.solve(&xu.transpose());
        let next = &xx - &xu * &gain;
        let next = (&next + next.transpose()) * 0.5;
        let change = (&next - &s).amax();
        s = next;
        if !s.amax().is_finite() {
            return None;
        }
        if change <= CONVERGED * s.amax() {
            return (gain.shape() == (m, k)).then_some(gain);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog;
    use crate::servo::chain::{Chain, Stretches};
    use crate::servo::looped::{Act, Closing, Loop};

    const H: i64 = 4_000_000;

    fn cost(plant: &Plant, controller: &Controller, gaps: &[Gap]) -> f64 {
        let mut closed = Loop::of(plant, vec![Closing::whole(plant, controller)], false);
        let mut all = Stretches::new(closed.lasting());
        for gap in gaps {
            let events = [(0.0, Act::Sample.alone()), (gap.delay_ns as f64, Act::Finish.alone())];
            all.add(&closed.passage(&events, gap.length_ns as f64), gap.length_ns as f64 * 1e-9, gap.share);
        }
        Chain::independent(&all, H).stationary().cost
    }

    fn plant() -> Plant {
        Plant {
            design: crate::servo::Design::Lqg,
            measurement_noise: DMatrix::from_element(1, 1, 1e-2),
            ..catalog::find("dc-servo", None).unwrap()
        }
    }

    #[test]
    fn one_gap_is_the_design_for_a_constant_delay() {
        let plant = plant();
        let gap = Gap { length_ns: H, delay_ns: H / 4, share: 1.0 };
        let found = Averaged::new(&plant, &[gap]).unwrap().filtered(&plant, None).unwrap();
        let known = plant.design.controller(&plant, H, H / 4).unwrap();
        assert!(
            (&found.a - &known.a).amax() < 1e-8 * known.a.amax()
                && (&found.d - &known.d).amax() < 1e-8 * known.d.amax()
        );
    }

    /// No feedback of any other gain costs less: seen by changing each of its numbers, with the cost from the chain.
    #[test]
    fn no_other_feedback_costs_less_under_random_gaps() {
        let plant = plant();
        let gap = |length_ns, delay_ns, share| Gap { length_ns, delay_ns, share };
        let gaps = [gap(H, H / 10, 0.6), gap(H, 9 * H / 10, 0.3), gap(2 * H, 13 * H / 10, 0.1)];
        let averaged = Averaged::new(&plant, &gaps).unwrap();
        let best = cost(&plant, &averaged.feedback(&plant), &gaps);
        for i in 0..averaged.gain.len() {
            for factor in [0.98, 1.02] {
                let mut other = averaged.gain.clone();
                other[i] *= factor;
                let worse = cost(&plant, &averaged.mean.feedback(&plant, &other), &gaps);
                assert!(worse > best, "{i} {factor}: {worse} {best}");
            }
        }
        let constant = plant.design.controller(&plant, H, 45 * H / 100).unwrap();
        let spread = averaged.filtered(&plant, None).unwrap();
        assert!(cost(&plant, &spread, &gaps) < cost(&plant, &constant, &gaps));
    }
}
