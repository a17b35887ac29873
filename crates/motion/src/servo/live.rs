//! A controller against a simulated plant in real time: the work of one activation, without an allocation.

use std::sync::mpsc::{Receiver, Sender, channel};

use jitterlab_model::OwnWork;
use nalgebra::{DMatrix, DVector};
use serde::{Deserialize, Serialize};

use super::controller::Controller;
use super::flow_map::FlowTable;
use super::plant::Plant;
use super::response::Reference;

/// Distance of the outputs from their references.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TrackingError {
    /// Root mean square over the time, in the output's unit.
    #[serde(with = "crate::Infinite")]
    pub rms: f64,
    /// Largest magnitude, in the output's unit.
    #[serde(with = "crate::Infinite")]
    pub max: f64,
}

/// Longest stretch the plant is moved at once, as a power of two nanoseconds: 34 s.
const LONGEST_POWER: u32 = 35;
/// Largest number of points of an interval that are evaluated, however long a stall was.
const LOOKS: i64 = 8;

/// The loop. Times are nanoseconds since the references began. Nothing allocates after [`LiveLoop::new`].
#[derive(Debug, Clone)]
pub struct LiveLoop {
    /// Phi of 2^k ns on [x; u], the rows of x.
    powers: Vec<DMatrix<f64>>,
    output: DMatrix<f64>,
    controller: Controller,
    references: Vec<Reference>,
    look_every_ns: i64,
    /// [x; u], and x alone.
    moving: DVector<f64>,
    states: DVector<f64>,
    measurement: DVector<f64>,
    wanted: DVector<f64>,
    computed: DVector<f64>,
    /// States of the controller now, and next.
    memory: DVector<f64>,
    next: DVector<f64>,
    now_ns: i64,
    sums: Vec<(f64, f64)>,
}

impl LiveLoop {
    /// The loop at rest at time zero. `references` has one for each output, or one for all.
    pub fn new(plant: &Plant, controller: &Controller, period_ns: i64, references: &[Reference]) -> LiveLoop {
        let (n, m, p) = plant.sizes();
        let mut table = FlowTable::new(&plant.a, &plant.b, &plant.process_noise, &plant.cost());
        let reference = |i: usize| references.get(i).or(references.last()).copied();
        LiveLoop {
            powers: (0..=LONGEST_POWER).map(|k| table.flow(1 << k).phi.rows(0, n).into_owned()).collect(),
            output: plant.c.clone(),
            references: (0..p).map(|i| reference(i).unwrap_or(Reference::Step(1.0))).collect(),
            look_every_ns: (period_ns / 4).max(1),
            moving: DVector::zeros(n + m),
            states: DVector::zeros(n),
            measurement: DVector::zeros(if controller.reads_states { n } else { p }),
            wanted: DVector::zeros(p),
            computed: DVector::zeros(m),
            memory: DVector::zeros(controller.state_count()),
            next: DVector::zeros(controller.state_count()),
            controller: controller.clone(),
            now_ns: 0,
            sums: vec![(0.0, 0.0); p],
        }
    }

    /// Lets the plant move until a time; nothing for a time already passed.
    fn advance_to(&mut self, time_ns: i64) {
        let look_every_ns = self.look_every_ns.max((time_ns - self.now_ns) / LOOKS);
        while self.now_ns < time_ns {
            let step_ns = look_every_ns.min(time_ns - self.now_ns);
            let mut left = step_ns as u64;
            while left > 0 {
                let power = (left.ilog2()).min(LONGEST_POWER);
                self.states.gemv(1.0, &self.powers[power as usize], &self.moving, 0.0);
                self.moving.rows_mut(0, self.states.len()).copy_from(&self.states);
                left -= 1 << power;
            }
            self.now_ns += step_ns;
            self.add_tracking_errors(step_ns as f64 * 1e-9);
        }
    }

    /// Adds the tracking errors of the stretch that just ended.
    fn add_tracking_errors(&mut self, stretch_s: f64) {
        let now_s = self.now_ns as f64 * 1e-9;
        self.wanted.gemv(1.0, &self.output, &self.states, 0.0);
        for ((y, reference), (squares, max)) in self.wanted.iter().zip(&self.references).zip(&mut self.sums) {
            let error = (reference.value_at(now_s) - y).abs();
            *squares += error * error * stretch_s;
            // A loop that ran away stays visible.
            *max = if error.is_nan() { f64::NAN } else { max.max(error) };
        }
    }

    /// Samples at this time, and computes the output and the next states.
    pub fn sample(&mut self, time_ns: i64) {
        self.advance_to(time_ns);
        let (now_s, law) = (self.now_ns as f64 * 1e-9, &self.controller);
        if law.reads_states {
            self.measurement.copy_from(&self.states);
        } else {
            self.measurement.gemv(1.0, &self.output, &self.states, 0.0);
        }
        for (to, reference) in self.wanted.iter_mut().zip(&self.references) {
            *to = reference.value_at(now_s);
        }
        self.computed.gemv(1.0, &law.c, &self.memory, 0.0);
        self.computed.gemv(1.0, &law.d, &self.measurement, 1.0);
        self.computed.gemv(1.0, &law.d_reference, &self.wanted, 1.0);
        self.next.gemv(1.0, &law.a, &self.memory, 0.0);
        self.next.gemv(1.0, &law.b, &self.measurement, 1.0);
        self.next.gemv(1.0, &law.b_reference, &self.wanted, 1.0);
        std::mem::swap(&mut self.memory, &mut self.next);
    }

    /// Writes the output that was computed last.
    pub fn actuate(&mut self, time_ns: i64) {
        self.advance_to(time_ns);
        self.moving.rows_mut(self.states.len(), self.computed.len()).copy_from(&self.computed);
    }

    pub fn tracking_errors(&self) -> Vec<TrackingError> {
        let time_s = (self.now_ns as f64 * 1e-9).max(f64::MIN_POSITIVE);
        self.sums
            .iter()
            .map(|(squares, max)| TrackingError { rms: (squares / time_s).sqrt(), max: *max })
            .collect()
    }

    /// Tracking errors with punctual activations that take no time.
    pub fn punctual_errors(mut self, period_ns: i64, length_ns: i64) -> Vec<TrackingError> {
        let mut time_ns = 0;
        while time_ns < length_ns {
            self.sample(time_ns);
            self.actuate(time_ns);
            time_ns += period_ns.max(1);
        }
        self.advance_to(length_ns);
        self.tracking_errors()
    }
}

/// The loop as the work of a task. When the task's thread ends it hands the loop back.
pub struct LiveWork {
    closed: Option<LiveLoop>,
    begin_ns: Option<i64>,
    back: Sender<LiveLoop>,
}

impl LiveWork {
    /// Work of the task, and the channel on which the loop comes back.
    pub fn new(closed: LiveLoop) -> (LiveWork, Receiver<LiveLoop>) {
        let (back, loops) = channel();
        (LiveWork { closed: Some(closed), begin_ns: None, back }, loops)
    }
}

impl OwnWork for LiveWork {
    fn activate(&mut self, due_ns: i64, start_ns: i64, now_ns: &dyn Fn() -> i64) {
        let begin_ns = *self.begin_ns.get_or_insert(due_ns);
        if let Some(closed) = &mut self.closed {
            closed.sample(start_ns - begin_ns);
            closed.actuate(now_ns() - begin_ns);
        }
    }
}

impl Drop for LiveWork {
    fn drop(&mut self) {
        if let Some(closed) = self.closed.take() {
            // Sending fails if the receiver is gone, which then does not need it.
            let _ = self.back.send(closed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog;
    use crate::servo::{DrivenLoop, Job, Loop, Moment, MomentGenerator, TaskTiming, tracking_errors};

    const H: i64 = 5_000_000;

    fn jiwy() -> (Plant, Controller) {
        let plant: Plant = catalog::find_device("jiwy", None).unwrap();
        let controller = plant.design.controller(&plant, H, 0).unwrap();
        (plant, controller)
    }

    #[test]
    fn it_does_what_the_offline_simulation_does() {
        let (plant, controller) = jiwy();
        let trace: Vec<Job> = (0..400)
            .map(|k| {
                let due_ns = k * H;
                let start_ns = due_ns + (k * 7_919_113) % 2_000_000;
                Job { due_ns, start_ns, end_ns: start_ns + 123_457, killed: false, after_gap: false }
            })
            .collect();
        for reference in [Reference::Step(0.5), Reference::Sine { amplitude: 0.5, frequency_hz: 1.0 }] {
            let mut moments: Vec<Moment> = Vec::new();
            let mut making = MomentGenerator::new(TaskTiming::default(), H, 0);
            trace.iter().for_each(|job| making.add_job(job, |m| moments.push(m)));
            let closed = Loop::new(&plant, &controller);
            let drive = DrivenLoop::new(&closed, reference);
            let points = drive.drive_through(moments, 100_000, 399 * H);
            let mut live = LiveLoop::new(&plant, &controller, H, &[reference]);
            for a in &trace {
                live.sample(a.start_ns);
                live.actuate(a.end_ns);
            }
            let errors = live.tracking_errors();
            let offline = tracking_errors(&points);
            let largest = errors.iter().map(|e| e.max).fold(0.0, f64::max);
            assert!(
                (largest - offline.max_error).abs() < 0.01 * offline.max_error,
                "{reference}: {errors:?}"
            );
            let rms = (errors.iter().map(|e| e.rms * e.rms).sum::<f64>() / 2.0).sqrt();
            assert!(
                (rms - offline.rms_error).abs() < 0.05 * offline.rms_error,
                "{reference}: {rms} {offline:?}"
            );
        }
    }

    #[test]
    fn each_joint_can_have_its_own_reference_and_a_stall_shows() {
        let (plant, controller) = jiwy();
        let sine = Reference::Sine { amplitude: 0.5, frequency_hz: 0.5 };
        let live = LiveLoop::new(&plant, &controller, H, &[sine, Reference::Step(0.1)]);
        let punctual = live.clone().punctual_errors(H, 400 * H);
        let mut stalled = live;
        for k in (0..400).filter(|k| !(100..150).contains(k)) {
            stalled.sample(k * H);
            stalled.actuate(k * H);
        }
        let errors = stalled.tracking_errors();
        assert!(errors[0].max > 1.2 * punctual[0].max, "{errors:?} {punctual:?}");
        assert!(((&stalled.output * &stalled.states)[1] - 0.1).abs() < 0.01);
    }
}
