//! Step and tracking in time: the loop driven by a reference, with recorded timing and with ideal.

use std::fmt;
use std::str::FromStr;

use jitterlab_model::units::parse_duration_ns;
use nalgebra::DVector;
use serde::Serialize;

use jitterlab_model::Error;

use super::closed_loop::{Event, Loop, LoopAction};
use super::timing::Moment;

/// Course that the outputs are to follow from time zero on. Text: `step:VALUE`, `sine:AMPLITUDE:FREQUENCY`,
/// `ramp:SPEED` or `move:DISTANCE:TIME`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(try_from = "String", into = "String")]
pub enum Reference {
    Step(f64),
    /// Follow amplitude sin(2 pi f t).
    Sine {
        /// Amplitude, in the outputs' unit.
        amplitude: f64,
        frequency_hz: f64,
    },
    Ramp(f64),
    /// Move from rest to rest: a third of the time speeding up, a third at constant speed, a third slowing down.
    Move {
        /// Distance, in the outputs' unit.
        distance: f64,
        time_ns: i64,
    },
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reference::Step(value) => write!(f, "step:{value}"),
            Reference::Sine { amplitude, frequency_hz } => write!(f, "sine:{amplitude}:{frequency_hz}Hz"),
            Reference::Ramp(speed) => write!(f, "ramp:{speed}"),
            Reference::Move { distance, time_ns } => {
                write!(f, "move:{distance}:{}ms", *time_ns as f64 / 1e6)
            }
        }
    }
}

jitterlab_model::as_text!(Reference);

impl FromStr for Reference {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let number = |t: &str| t.parse::<f64>().ok().filter(|v| v.is_finite() && *v != 0.0);
        let mut parts = text.split(':');
        let found = match (parts.next(), parts.next().and_then(number), parts.next(), parts.next()) {
            (Some("step"), Some(value), None, None) => Some(Reference::Step(value)),
            (Some("ramp"), Some(speed), None, None) => Some(Reference::Ramp(speed)),
            (Some("sine"), Some(amplitude), Some(frequency), None) => frequency
                .strip_suffix("Hz")
                .and_then(|hz| number(hz.trim()))
                .filter(|hz| *hz > 0.0)
                .map(|frequency_hz| Reference::Sine { amplitude, frequency_hz }),
            (Some("move"), Some(distance), Some(time), None) => {
                let time = parse_duration_ns(time).ok().filter(|ns| *ns > 0);
                time.map(|time_ns| Reference::Move { distance, time_ns })
            }
            _ => None,
        };
        found.ok_or_else(|| {
            Error::bad_use(format!(
                "{text:?} is not a reference: write step:1, sine:1:0.5Hz, ramp:2 or move:1:200ms, in the output's unit"
            ))
        })
    }
}

impl Reference {
    pub fn value_at(self, time_s: f64) -> f64 {
        match self {
            Reference::Step(value) => value,
            Reference::Sine { amplitude, frequency_hz } => {
                amplitude * (std::f64::consts::TAU * frequency_hz * time_s).sin()
            }
            Reference::Ramp(speed) => speed * time_s,
            Reference::Move { distance, time_ns } => {
                let part = (time_s / (time_ns as f64 * 1e-9)).clamp(0.0, 1.0);
                let gone = match part {
                    up if up < 1.0 / 3.0 => 2.25 * up * up,
                    between if between < 2.0 / 3.0 => 1.5 * between - 0.25,
                    down => 1.0 - 2.25 * (1.0 - down) * (1.0 - down),
                };
                distance * gone
            }
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ResponsePoint {
    /// Time since the reference began, in s.
    pub time_s: f64,
    pub reference: f64,
    #[serde(with = "crate::Infinites")]
    pub outputs: Vec<f64>,
    #[serde(with = "crate::Infinites")]
    pub inputs: Vec<f64>,
}

#[derive(Debug, Clone)]
pub struct DrivenLoop {
    closed: Loop,
    reference: Reference,
    /// The state, as [`Loop`] has it.
    z: DVector<f64>,
    /// The reference when each controller sampled last.
    sampled: Vec<f64>,
    now_ns: i64,
}

impl DrivenLoop {
    /// The loop at rest at time zero, when the reference begins.
    pub fn new(closed: &Loop, reference: Reference) -> DrivenLoop {
        DrivenLoop {
            reference,
            z: DVector::zeros(closed.order()),
            sampled: vec![0.0; closed.wirings().len()],
            closed: closed.clone(),
            now_ns: 0,
        }
    }

    /// Lets the plant move until a time in ns; nothing for a time already passed.
    pub fn advance_to(&mut self, time_ns: i64) {
        if time_ns > self.now_ns {
            let (_, moving) = self.closed.moving_sizes();
            let mut part = self.z.rows(0, moving).into_owned();
            self.closed.table.advance(&mut part, time_ns - self.now_ns);
            self.z.rows_mut(0, moving).copy_from(&part);
            self.now_ns = time_ns;
        }
    }

    /// Applies an event of a controller to the state; a sample also takes the reference of that moment.
    pub fn apply(&mut self, event: Event) {
        let by = usize::from(event.by);
        if by >= self.sampled.len() {
            return;
        }
        if event.act == LoopAction::Sample {
            self.sampled[by] = self.reference.value_at(self.now_ns as f64 * 1e-9);
        }
        let Some(rows) = self.closed.update(event) else { return };
        let mut values = DVector::from_vec(rows.new_values(self.z.as_slice()));
        let closing = &self.closed.wirings()[by];
        if closing.follows.is_empty()
            && matches!(event.act, LoopAction::Finish | LoopAction::Compute | LoopAction::Predict)
        {
            let c = &closing.controller;
            let r = DVector::from_element(c.d_reference.ncols(), self.sampled[by]);
            let (m, nc) = (c.d_reference.nrows(), c.state_count());
            let mut output = values.rows_mut(0, m);
            output += &c.d_reference * &r;
            let mut states = values.rows_mut(m, nc);
            states += &c.b_reference * r;
        }
        rows.rows.iter().zip(values.iter()).for_each(|(row, value)| self.z[*row] = *value);
    }

    pub fn current_point(&self) -> ResponsePoint {
        let plant = self.closed.plant();
        let (n, m, _) = plant.sizes();
        let time_s = self.now_ns as f64 * 1e-9;
        let outputs = &plant.c * self.z.rows(0, n);
        ResponsePoint {
            time_s,
            reference: self.reference.value_at(time_s),
            outputs: self.closed.followed_outputs().into_iter().map(|output| outputs[output]).collect(),
            inputs: self.z.rows(n, m).iter().copied().collect(),
        }
    }

    /// Drives the loop through moments, counted from their first cut, with a point every `step_ns`.
    pub fn drive_through(
        mut self,
        moments: impl IntoIterator<Item = Moment>,
        step_ns: i64,
        end_ns: i64,
    ) -> Vec<ResponsePoint> {
        let mut points = vec![self.current_point()];
        let step_ns = step_ns.max(1);
        let mut next_point = step_ns;
        let mut origin = None;
        let mut walk = |drive: &mut DrivenLoop, until: i64| {
            while next_point <= until {
                drive.advance_to(next_point);
                points.push(drive.current_point());
                next_point += step_ns;
            }
            drive.advance_to(until);
        };
        for moment in moments {
            let (time, event) = match moment {
                Moment::At(time, event) => (time, event),
                // After lost records, continue with the loop as it is.
                Moment::Cut(time) => {
                    origin = Some(time - self.now_ns);
                    continue;
                }
                Moment::IdleDue(_) => continue,
            };
            let time = time - *origin.get_or_insert(time);
            if time > end_ns {
                break;
            }
            walk(&mut self, time);
            self.apply(event);
        }
        walk(&mut self, end_ns);
        points
    }
}

/// Tracking error of a response.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Tracking {
    /// Root mean square of reference - output, over all outputs.
    #[serde(with = "crate::Infinite")]
    pub rms_error: f64,
    /// Largest magnitude of reference - output.
    #[serde(with = "crate::Infinite")]
    pub max_error: f64,
}

/// Tracking figures of a response; infinite or not-a-number values (a loop that ran away) stay visible.
pub fn tracking_errors(points: &[ResponsePoint]) -> Tracking {
    let mut sum = 0.0;
    let (mut max_error, mut count): (f64, f64) = (0.0, 0.0);
    for point in points {
        for y in &point.outputs {
            let error = point.reference - y;
            sum += error * error;
            count += 1.0;
            max_error = if error.is_nan() { f64::NAN } else { max_error.max(error.abs()) };
        }
    }
    Tracking { rms_error: (sum / f64::max(count, 1.0)).sqrt(), max_error }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog;
    use crate::servo::{Job, MomentGenerator, Plant, TaskTiming};

    fn late_response(
        name: &str,
        h: i64,
        latency_ns: i64,
        reference: Reference,
        end_ns: i64,
    ) -> Vec<ResponsePoint> {
        let plant: Plant = catalog::find_device(name, None).unwrap();
        let closed = Loop::new(&plant, &plant.design.controller(&plant, h, 0).unwrap());
        let (mut making, mut moments) = (MomentGenerator::new(TaskTiming::default(), h, 0), Vec::new());
        for k in 0..end_ns / h {
            let start_ns = k * h + latency_ns;
            let job = Job { due_ns: k * h, start_ns, end_ns: start_ns, killed: false, after_gap: false };
            making.add_job(&job, |moment| moments.push(moment));
        }
        DrivenLoop::new(&closed, reference).drive_through(moments, h / 4, end_ns)
    }

    #[test]
    fn every_shipped_loop_reaches_its_step() {
        for (name, h) in [
            ("dc-servo", 6_000_000),
            ("ball-screw", 1_000_000),
            ("jiwy", 5_000_000),
            ("integrator", 100_000_000),
            ("ball-and-beam", 20_000_000),
            ("belt-axis", 500_000),
            ("harmonic-drive-joint", 1_000_000),
            ("hydraulic-press", 2_000_000),
            ("inverted-pendulum", 10_000_000),
            ("quadrotor-attitude", 5_000_000),
            ("thermal-process", 1_000_000_000),
        ] {
            let points = late_response(name, h, 0, Reference::Step(0.5), 2_000 * h);
            let last = points.last().unwrap();
            for y in &last.outputs {
                assert!((y - 0.5).abs() < 0.01, "{name}: {last:?}");
            }
        }
    }

    #[test]
    fn references_are_read_as_they_are_written() {
        for text in ["step:0.5", "sine:1:2.5Hz", "ramp:-3", "move:2:166.667ms"] {
            assert_eq!(text.parse::<Reference>().unwrap().to_string(), text);
        }
        for text in [
            "step",
            "step:0",
            "sine:1:2",
            "sine:1:-2Hz",
            "ramp:x",
            "circle:1",
            "step:1:2",
            "move:1",
            "move:1:0s",
            "move:1:2",
        ] {
            assert!(text.parse::<Reference>().unwrap_err().to_string().contains("step:1"), "{text}");
        }
    }

    #[test]
    fn delay_makes_tracking_worse() {
        let h = 6_000_000;
        let punctual = tracking_errors(&late_response("dc-servo", h, 0, Reference::Step(1.0), 200 * h));
        let late = tracking_errors(&late_response("dc-servo", h, 5_000_000, Reference::Step(1.0), 200 * h));
        assert!(late.rms_error > 1.1 * punctual.rms_error, "{late:?} {punctual:?}");
    }

    #[test]
    fn points_come_at_their_times_whatever_the_events() {
        let points = late_response("dc-servo", 6_000_000, 1_234_567, Reference::Ramp(1.0), 60_000_000);
        assert_eq!(points.len(), 41);
        for (k, point) in points.iter().enumerate() {
            assert!((point.time_s - k as f64 * 1.5e-3).abs() < 1e-12);
            assert!((point.reference - point.time_s).abs() < 1e-12);
        }
    }
}
