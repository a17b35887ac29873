//! Discrete-time controllers, designed for the nominal period and optionally for a constant delay.

use nalgebra::DMatrix;

use jitterlab_model::Error;

use super::design::Design;
use super::flow_map::{Flow, FlowTable};
use super::numeric::is_finite;
use super::plant::Plant;
use super::riccati::dare;

impl Design {
    /// The controller for a plant and a period, designed for a constant delay from sampling to actuation. The delay is
    /// from 0 to a period. PD and PID add it to their lead: Td + delay.
    pub fn controller(&self, plant: &Plant, period_ns: i64, delay_ns: i64) -> Result<Controller, Error> {
        let fail = |fault: Error| Err(fault.within(&plant.name));
        let (_, m, p) = plant.sizes();
        if m != p {
            return fail(Error::bad_use(format!(
                "a controller needs as many outputs as inputs, and the plant has {p} and {m}: keep the rows of c that are to follow \
                 the reference, and weigh other states by cost.state"
            )));
        }
        if period_ns > LONGEST_PERIOD_NS {
            let days = period_ns / LONGEST_PERIOD_NS;
            return Err(Error::bad_use(format!(
                "a period of {days} days is none of a control loop: take one of at most a day"
            )));
        }
        if period_ns <= 0 || !(0..=period_ns).contains(&delay_ns) {
            return Err(Error::bad_use(format!(
                "a controller for a period of {period_ns} ns cannot be designed for a delay of {delay_ns} ns: the delay has to be \
                 from zero to one period; shorten the work or lengthen the period"
            )));
        }
        if delay_ns > 0 && !self.can_design_for_delay() {
            return fail(Error::bad_use(format!(
                "its controller is given by its numbers, which no design for a delay of {delay_ns} ns changes: leave the delay out, \
                 or take a controller that is designed, such as lqg"
            )));
        }
        let mut table = FlowTable::new(&plant.a, &plant.b, &plant.process_noise, &plant.cost());
        let whole = table.flow(period_ns);
        if ![&whole.phi, &whole.noise, &whole.cost].into_iter().all(is_finite) {
            return fail(Error::bad_use(format!(
                "within a period of {} s its numbers grow beyond what can be computed with: check the plant's coefficients and their \
                 units, or take a shorter period",
                period_ns as f64 * 1e-9
            )));
        }
        match self {
            Design::StateFeedback => {
                let sampled = SampledPlant::new(plant, &mut table, period_ns, delay_ns);
                Ok(sampled.state_feedback(plant, &sampled.optimal_gain()?))
            }
            Design::GivenFeedback(gain) => {
                let (n, m, _) = plant.sizes();
                let sampled = SampledPlant::new(plant, &mut table, period_ns, delay_ns);
                Ok(sampled.state_feedback(plant, &gain.clone().resize_horizontally(n + m, 0.0)))
            }
            Design::Lqg => {
                let sampled = SampledPlant::new(plant, &mut table, period_ns, delay_ns);
                sampled.kalman_feedback(plant, &whole, &sampled.optimal_gain()?)
            }
            Design::Unnamed | Design::Pid { .. } | Design::Discrete { .. } => {
                self.plant_independent_controller(period_ns, delay_ns as f64 * 1e-9).ok_or_else(|| {
                    Error::bad_use(
                        "no controller is named: take --controller, such as pd:1.5:35ms, or add a table [controller] with its kind, \
                         such as kind = \"lqg\", or kind = \"pd\" with gain = 1.5 and derivative_time = \"35 ms\"",
                    )
                    .within(&plant.name)
                })
            }
        }
    }

    /// The controller of a design that needs no plant, with `lead_s` more lead if it differentiates.
    pub(super) fn plant_independent_controller(&self, period_ns: i64, lead_s: f64) -> Option<Controller> {
        if let Design::Discrete { a, b, c, d } = self {
            // Written for the error, reference - output.
            return Some(Controller::from_matrices([a.clone(), -b, b.clone()], [c.clone(), -d, d.clone()]));
        }
        let part = |(k, ti, td): (f64, Option<f64>, f64)| (k, ti.map_or(0.0, f64::recip), td + lead_s);
        Some(Controller::pd_or_pid(self.pid_parameters()?.into_iter().map(part).collect(), period_ns))
    }
}

/// A day: longer periods than any loop's, and short enough for times of many periods.
const LONGEST_PERIOD_NS: i64 = 86_400_000_000_000;

/// xc+ = A xc + B y + B_r r, v = C xc + D y + D_r r, run once at each sample; r is the reference.
#[derive(Debug, Clone, PartialEq)]
pub struct Controller {
    pub a: DMatrix<f64>,
    pub b: DMatrix<f64>,
    pub b_reference: DMatrix<f64>,
    pub c: DMatrix<f64>,
    pub d: DMatrix<f64>,
    pub d_reference: DMatrix<f64>,
    pub reads_states: bool,
    /// To the next states and the output of a period without a measurement; `None` without an estimator.
    pub prediction: Option<(DMatrix<f64>, DMatrix<f64>)>,
    /// K, 1/Ti and Td of each loop of a PD or PID, which can also use a measured interval.
    difference: Option<Vec<(f64, f64, f64)>>,
}

impl Controller {
    /// Controller of these matrices: from states, measurement and reference to the next states, and to the output.
    pub(super) fn from_matrices(
        [a, b, b_reference]: [DMatrix<f64>; 3],
        [c, d, d_reference]: [DMatrix<f64>; 3],
    ) -> Controller {
        Controller {
            a,
            b,
            b_reference,
            c,
            d,
            d_reference,
            reads_states: false,
            prediction: None,
            difference: None,
        }
    }

    /// PD or PID controller; its states are the last error's negative (the output) and the integral.
    fn pd_or_pid(parts: Vec<(f64, f64, f64)>, period_ns: i64) -> Controller {
        let p = parts.len();
        let with_integral = parts.iter().any(|part| part.1 != 0.0);
        let nc = if with_integral { 2 * p } else { p };
        let zeros = |rows, columns| DMatrix::zeros(rows, columns);
        let mut controller = Controller {
            a: zeros(nc, nc),
            b: zeros(nc, p),
            b_reference: zeros(nc, p),
            c: zeros(p, nc),
            d: zeros(p, p),
            d_reference: zeros(p, p),
            reads_states: false,
            prediction: None,
            difference: Some(parts),
        };
        controller.set_interval(period_ns as f64 * 1e-9);
        controller
    }

    /// True if it differentiates or integrates over a known interval, which a measured one can replace.
    pub fn can_measure_interval(&self) -> bool {
        self.difference.is_some()
    }

    /// Uses this time since the last sample instead of the nominal period (PD and PID; nothing for others).
    pub fn set_interval(&mut self, interval_s: f64) {
        let Some(parts) = &self.difference else { return };
        let p = parts.len();
        for (i, (k, inverse_ti, td)) in parts.iter().enumerate() {
            let slope = td / interval_s;
            // xc[i] = last y - r
            self.b[(i, i)] = 1.0;
            self.c[(i, i)] = k * slope;
            self.d[(i, i)] = -k * (1.0 + slope);
            if self.a.nrows() > p {
                // xc[p + i] = sum of (y - r) h, up to the last sample; the newest one counts at once.
                self.a[(p + i, p + i)] = 1.0;
                self.b[(p + i, i)] = interval_s;
                self.c[(i, p + i)] = -k * inverse_ti;
                self.d[(i, i)] -= k * inverse_ti * interval_s;
            }
        }
        self.b_reference = -&self.b;
        self.d_reference = -&self.d;
    }

    pub fn state_count(&self) -> usize {
        self.a.nrows()
    }
}

/// The plant from sample to sample with a constant delay from sampling to actuation: the state is extended by the
/// input still held, [x; u_prev] (Astrom and Wittenmark, 3.2; Jitterbug's lqgdesign).
pub(super) struct SampledPlant {
    pub a: DMatrix<f64>,
    pub b: DMatrix<f64>,
    /// Cost of a period on the state, on the input, and across.
    pub q: DMatrix<f64>,
    pub r: DMatrix<f64>,
    pub cross: DMatrix<f64>,
}

impl SampledPlant {
    pub fn new(plant: &Plant, table: &mut FlowTable, period_ns: i64, delay_ns: i64) -> SampledPlant {
        let (n, m, _) = plant.sizes();
        let (before, after) = (table.flow(delay_ns), table.flow(period_ns - delay_ns));

        // zeta = [x; u_prev; u]: the part of it that each stretch uses.
        let mut first = DMatrix::zeros(n + m, n + 2 * m);
        first.view_mut((0, 0), (n + m, n + m)).fill_with_identity();
        let mut second = DMatrix::zeros(n + m, n + 2 * m);
        second.view_mut((0, 0), (n, n + m)).copy_from(&before.phi.rows(0, n));
        second.view_mut((n, n + m), (m, m)).fill_with_identity();
        let cost = first.transpose() * &before.cost * &first + second.transpose() * &after.cost * &second;
        let mut next = DMatrix::zeros(n + m, n + 2 * m);
        next.rows_mut(0, n).copy_from(&(after.phi.rows(0, n) * &second));
        next.view_mut((n, n + m), (m, m)).fill_with_identity();

        let k = n + m;
        SampledPlant {
            a: next.columns(0, k).into_owned(),
            b: next.columns(k, m).into_owned(),
            q: cost.view((0, 0), (k, k)).into_owned(),
            r: cost.view((k, k), (m, m)).into_owned(),
            cross: cost.view((0, k), (k, m)).into_owned(),
        }
    }

    fn optimal_gain(&self) -> Result<DMatrix<f64>, Error> {
        Ok(dare(&self.a, &self.b, &self.q, &self.r, &self.cross)?.1)
    }

    /// Gain from the reference to the input that makes the output equal to it at rest; zero if no gain does.
    fn reference_gain(&self, plant: &Plant, gain: &DMatrix<f64>) -> DMatrix<f64> {
        let (n, m, p) = plant.sizes();
        let closed = DMatrix::identity(n + m, n + m) - &self.a + &self.b * gain;
        let at_rest =
            closed.lu().solve(&self.b).map(|x| &plant.c * x.rows(0, n)).and_then(DMatrix::try_inverse);
        at_rest.unwrap_or_else(|| DMatrix::zeros(m, p))
    }

    /// Controller u = -L [x; u_prev] from measured states; xc = u_prev.
    pub fn state_feedback(&self, plant: &Plant, gain: &DMatrix<f64>) -> Controller {
        let (n, m, _) = plant.sizes();
        let (lx, lu) = (gain.columns(0, n).into_owned(), gain.columns(n, m).into_owned());
        let d_reference = self.reference_gain(plant, gain);
        Controller {
            a: -&lu,
            b: -&lx,
            b_reference: d_reference.clone(),
            c: -lu,
            d: -lx,
            d_reference,
            reads_states: true,
            prediction: None,
            difference: None,
        }
    }

    /// Controller by a Kalman filter's estimate of the states; `whole` is the flow of a period.
    pub fn kalman_feedback(
        &self,
        plant: &Plant,
        whole: &Flow,
        gain: &DMatrix<f64>,
    ) -> Result<Controller, Error> {
        let (n, m, p) = plant.sizes();
        let k = n + m;
        let (lx, lu) = (gain.columns(0, n).into_owned(), gain.columns(n, m).into_owned());
        let d_reference = self.reference_gain(plant, gain);
        if plant.measurement_noise.diagonal().iter().any(|v| *v <= 0.0) {
            return Err(Error::bad_use(
                "a Kalman filter needs measurement noise above zero on every output: set noise.measurement",
            )
            .within(&plant.name));
        }
        let phi = whole.phi.view((0, 0), (n, n)).into_owned();
        let noise = whole.noise.view((0, 0), (n, n)).into_owned();
        let c = &plant.c;
        let none = DMatrix::zeros(n, p);
        let (covariance, _) =
            dare(&phi.transpose(), &c.transpose(), &noise, &plant.measurement_noise, &none)?;
        let innovation = c * &covariance * c.transpose() + &plant.measurement_noise;
        let kalman = innovation
            .cholesky()
            .map(|s| s.solve(&(c * &covariance)).transpose())
            .ok_or_else(|| Error::bad_use("the Kalman filter has no gain").within(&plant.name))?;

        // xc = [prediction of x; u_prev]. v = -Lx (xp + K (y - C xp)) - Lu u_prev.
        let keep = DMatrix::identity(n, n) - &kalman * c;
        let mut from_states = DMatrix::zeros(m, k);
        from_states.columns_mut(0, n).copy_from(&-(&lx * &keep));
        from_states.columns_mut(n, m).copy_from(&-lu);
        let from_output = -(&lx * &kalman);
        let (ax, bu) = (self.a.rows(0, n).into_owned(), self.b.rows(0, n).into_owned());
        let next_of = |state: DMatrix<f64>, input: &DMatrix<f64>, previous: bool| {
            // x+ = a [x; u_prev] + b v for x = `state` and v = `input`.
            let columns = input.ncols();
            let mut out = DMatrix::zeros(k, columns);
            let mut seen = DMatrix::zeros(k, columns);
            seen.rows_mut(0, n).copy_from(&state);
            if previous {
                seen.view_mut((n, n), (m, m)).fill_with_identity();
            }
            out.rows_mut(0, n).copy_from(&(&ax * seen + &bu * input));
            out.rows_mut(n, m).copy_from(input);
            out
        };
        let mut estimate = DMatrix::zeros(n, k);
        estimate.columns_mut(0, n).copy_from(&keep);
        Ok(Controller {
            a: next_of(estimate, &from_states, true),
            b: next_of(kalman.clone(), &from_output, false),
            b_reference: next_of(DMatrix::zeros(n, p), &d_reference, false),
            c: from_states,
            d: from_output,
            d_reference,
            reads_states: false,
            prediction: Some((&self.a - &self.b * gain, -gain)),
            difference: None,
        })
    }
}
