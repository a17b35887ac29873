//! All of it at once: costs, margins, velocity noise, remedies and responses of one loop under one run.

use jitterlab_model::{Activation, Flags};
use serde::{Deserialize, Serialize};

use super::along_trace::TimeBase;
use super::controller::Controller;
use super::evaluate::{Evaluation, Question, Remedy, input_output_delay_ns};
use super::margins::{DelayMargin, delay_margin, jitter_margin_ns, phase_margin};
use super::response::{DrivenLoop, Point, Reference, Tracking, tracking};
use crate::error::MotionError;

/// Phase margins of one input's loop, in degrees; `None` where the gain never crosses one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChannelMargins {
    /// The output's name.
    pub name: String,
    /// Without delay.
    pub punctual_degrees: Option<f64>,
    /// With the constant delay of [`Margins::with_delay_ns`].
    pub delayed_degrees: Option<f64>,
    /// Crossover without delay in rad/s.
    pub crossover_rad_per_s: Option<f64>,
}

/// How much more delay and jitter a loop stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Margins {
    /// Each input's loop.
    pub channels: Vec<ChannelMargins>,
    /// The constant delays from sampling to actuation it stands.
    pub delay: DelayMargin,
    /// Delay from sampling to actuation that the figures with delay are for, in ns.
    pub with_delay_ns: i64,
    /// Jitter margin without delay, in ns; `None` where there is none (see [`jitter_margin_ns`]).
    pub jitter_ns: Option<f64>,
    /// Jitter margin on top of [`Margins::with_delay_ns`], in ns.
    pub jitter_with_delay_ns: Option<f64>,
}

impl Margins {
    /// The margins of a question's loop, also with a constant delay.
    ///
    /// # Errors
    /// As [`super::Design::controller`].
    pub fn of(question: &Question, with_delay_ns: i64) -> Result<Margins, MotionError> {
        let Question { plant, period_ns, .. } = question;
        let controller = question.controller()?;
        let phase = |delay, channel| phase_margin(plant, &controller, *period_ns, delay, channel);
        let channels = plant.outputs.iter().enumerate().map(|(channel, name)| {
            let punctual = phase(0, channel);
            ChannelMargins {
                name: name.clone(),
                punctual_degrees: punctual.map(|m| m.degrees),
                delayed_degrees: phase(with_delay_ns, channel).map(|m| m.degrees),
                crossover_rad_per_s: punctual.map(|m| m.crossover_rad_per_s),
            }
        });
        let jitter = |delay| jitter_margin_ns(plant, &controller, *period_ns, delay);
        Ok(Margins {
            channels: channels.collect(),
            delay: delay_margin(plant, &controller, *period_ns),
            with_delay_ns,
            jitter_ns: jitter(0),
            jitter_with_delay_ns: jitter(with_delay_ns),
        })
    }
}

/// Error of a velocity that is computed from positions with the nominal period, as shares of the speed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VelocityError {
    /// Standard deviation: that of the period error over the period.
    pub standard_deviation: f64,
    /// Largest magnitude.
    pub worst: f64,
}

impl VelocityError {
    /// From the intervals between samples taken at starts.
    fn of(trace: &[Activation], period_ns: i64) -> VelocityError {
        let errors = trace.windows(2).filter(|w| !w[1].flags.contains(Flags::AFTER_GAP)).map(|w| {
            // 1 - interval / period is what the nominal period makes of a steady speed.
            (w[1].start_ns - w[0].start_ns - period_ns) as f64 / period_ns as f64
        });
        let (mut count, mut sum, mut squares, mut worst) = (0.0, 0.0, 0.0, 0.0f64);
        for e in errors {
            count += 1.0;
            sum += e;
            squares += e * e;
            worst = worst.max(e.abs());
        }
        let count = f64::max(count, 1.0);
        let mean = sum / count;
        VelocityError { standard_deviation: (squares / count - mean * mean).max(0.0).sqrt(), worst }
    }
}

/// One reference followed with ideal and with recorded timing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FollowedReference {
    /// The reference.
    pub reference: Reference,
    /// Figures with ideal timing.
    pub ideal: Tracking,
    /// Figures with the recorded timing.
    pub recorded: Tracking,
    /// The response with ideal timing.
    pub ideal_points: Vec<Point>,
    /// The response with the recorded timing, at the same times.
    pub recorded_points: Vec<Point>,
}

/// What a run's timing does to a loop.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoopAssessment {
    /// What the timing costs.
    pub evaluation: Evaluation,
    /// What would help.
    pub remedies: Vec<Remedy>,
    /// Velocity noise.
    pub velocity: VelocityError,
    /// Responses around the run's worst event.
    pub responses: Vec<FollowedReference>,
}

/// Points of a curve.
const POINTS: i64 = 1_200;

/// Crossover of the slowest loop in rad/s; where there is none, one that suits the period.
fn crossover_rad_per_s(question: &Question, margins: &Margins) -> f64 {
    let slowest = margins.channels.iter().filter_map(|c| c.crossover_rad_per_s).reduce(f64::min);
    slowest.unwrap_or(0.1 / (question.period_ns as f64 * 1e-9))
}

/// A step and a tracking task for a loop: 1, and a sine of 1 at a tenth of the slowest crossover.
pub fn usual_references(question: &Question, margins: &Margins) -> [Reference; 2] {
    let hz = crossover_rad_per_s(question, margins) / 10.0 / std::f64::consts::TAU;
    // One digit, exactly as it is written: 0.3 and not 0.30000000000000004.
    let frequency_hz = format!("{hz:.0e}").parse().unwrap_or(hz);
    [Reference::Step(1.0), Reference::Sine { amplitude: 1.0, frequency_hz }]
}

impl LoopAssessment {
    /// Judges a run's activations of the task that closes the loop, and gives its margins, also with the run's delay.
    /// References default to [`usual_references`].
    ///
    /// # Errors
    /// As [`Question::evaluate`].
    pub fn new(
        question: &Question,
        trace: &[Activation],
        references: Option<&[Reference]>,
    ) -> Result<(LoopAssessment, Margins), MotionError> {
        let evaluation = question.evaluate(trace)?;
        let pattern = question.timing.constant_pattern(
            evaluation.timing.latency_ns.round() as i64,
            evaluation.timing.execution_ns.round() as i64,
            question.period_ns,
        );
        let margins = Margins::of(question, input_output_delay_ns(&pattern, question.period_ns))?;
        let usual = usual_references(question, &margins);
        let controller = question.controller()?;
        let rad_per_s = crossover_rad_per_s(question, &margins);
        let references = references.unwrap_or(&usual).iter();
        let responses = references.map(|r| respond(question, &controller, rad_per_s, trace, *r)).collect();
        let remedies = question.remedies(trace, &evaluation)?;
        let velocity = VelocityError::of(trace, question.period_ns);
        Ok((LoopAssessment { evaluation, remedies, velocity, responses }, margins))
    }
}

/// Follows a reference so that the worst latency falls into a step's rise, or into a quarter of two cycles.
fn respond(
    question: &Question,
    controller: &Controller,
    crossover_rad_per_s: f64,
    trace: &[Activation],
    reference: Reference,
) -> FollowedReference {
    let period_ns = question.period_ns;
    let rise_s = 1.0 / crossover_rad_per_s;
    let (before_s, length_s) = match reference {
        Reference::Sine { frequency_hz, .. } => (0.5 / frequency_hz, 2.0 / frequency_hz),
        Reference::Step(_) | Reference::Ramp(_) => (0.5 * rise_s, 20.0 * rise_s),
    };
    let length_ns = ((length_s * 1e9) as i64).max(40 * period_ns);
    let worst = trace.iter().max_by_key(|a| a.latency_ns()).map_or(0, |a| a.due_ns);
    let from = trace.partition_point(|a| a.due_ns < worst - (before_s * 1e9) as i64);
    let begin_ns = trace.get(from).map_or(0, |a| a.due_ns);
    let last_ns = trace.last().map_or(0, |a| a.due_ns);
    let length_ns = length_ns.min(last_ns - begin_ns + period_ns);
    let recorded = trace[from..].iter().copied().take_while(|a| a.due_ns - begin_ns <= length_ns);
    let punctual = (0..=length_ns / period_ns).map(|k| {
        let due_ns = k * period_ns;
        Activation { index: k as u64, due_ns, start_ns: due_ns, end_ns: due_ns, ..Activation::default() }
    });
    let step_ns = (length_ns / POINTS).max(1);
    let ideal_points = follow(question, controller, punctual, reference, step_ns, length_ns);
    let recorded_points = follow(question, controller, recorded, reference, step_ns, length_ns);
    FollowedReference {
        reference,
        ideal: tracking(&ideal_points),
        recorded: tracking(&recorded_points),
        ideal_points,
        recorded_points,
    }
}

fn follow(
    question: &Question,
    controller: &Controller,
    activations: impl IntoIterator<Item = Activation>,
    reference: Reference,
    step_ns: i64,
    length_ns: i64,
) -> Vec<Point> {
    let mut moments = Vec::new();
    question.timing.moments(activations, question.period_ns, |moment| moments.push(moment));
    let drive = DrivenLoop::new(&question.plant, controller, TimeBase::Nominal, reference);
    drive.through(moments, step_ns, length_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog;
    use crate::servo::TaskTiming;

    const H: i64 = 6_000_000;

    fn question(name: &str, period_ns: i64) -> Question {
        Question {
            plant: catalog::find(name, None).unwrap(),
            period_ns,
            timing: TaskTiming::default(),
            design_delay_ns: 0,
        }
    }

    /// A trace whose activation 100 is nearly a period late.
    fn trace(period_ns: i64) -> Vec<Activation> {
        (0..1_000)
            .map(|k| {
                let due_ns = k * period_ns;
                let start_ns = due_ns + if k == 100 { period_ns * 9 / 10 } else { period_ns / 50 };
                let end_ns = start_ns + period_ns / 50;
                Activation { index: k as u64, due_ns, start_ns, end_ns, ..Activation::default() }
            })
            .collect()
    }

    #[test]
    fn one_run_gives_costs_margins_remedies_and_responses() {
        let question = question("dc-servo", H);
        let (found, margins) = LoopAssessment::new(&question, &trace(H), None).unwrap();
        assert_eq!(margins.with_delay_ns, H / 50);
        let channel = &margins.channels[0];
        assert!(channel.delayed_degrees < channel.punctual_degrees);
        assert!((margins.jitter_ns.unwrap() / H as f64 - 2.00513).abs() < 1e-3);
        let [step, sine] = &found.responses[..] else { panic!("{:?}", found.responses.len()) };
        assert_eq!(
            (step.reference.to_string(), sine.reference.to_string()),
            ("step:1".into(), "sine:1:1Hz".into())
        );
        assert_eq!(step.ideal_points.len(), step.recorded_points.len());
        // The late activation is inside what is shown and makes the step worse.
        let differs = |(a, b): (&Point, &Point)| (a.outputs[0] - b.outputs[0]).abs();
        let most = step.ideal_points.iter().zip(&step.recorded_points).map(differs).fold(0.0, f64::max);
        assert!(most > 0.01, "{most}");
        // 0.88 h once forth and once back in a thousand intervals.
        assert!((found.velocity.worst - 0.88).abs() < 1e-9);
        assert!((found.velocity.standard_deviation - 0.88 * (2.0f64 / 999.0).sqrt()).abs() < 1e-9);
    }

    #[test]
    fn every_joint_has_margins_and_a_curve() {
        let question = question("jiwy", 5_000_000);
        let (found, margins) =
            LoopAssessment::new(&question, &trace(5_000_000), Some(&[Reference::Step(0.5)])).unwrap();
        assert_eq!((margins.channels.len(), found.responses.len()), (2, 1));
        assert!(found.responses[0].recorded_points.iter().all(|p| p.outputs.len() == 2));
    }
}
