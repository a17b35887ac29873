//! Stepper motors: effect of late, early and missing step pulses on torque, and limits of a software step
//! generator.
//!
//! Speeds are full steps per second throughout ([`Axis`] converts), load angles radians of the electrical cycle
//! or full steps (a quarter of it), torques N m.

mod assessment;
mod axis;
mod axis_defaults;
mod axis_request;
mod chopper;
mod drive;
pub mod jitter_torque;
mod motor;
mod playback;
mod pull_out;
mod pulses;
mod quantisation;
mod recommended;
mod resonance;
mod result;
mod simulate;
mod speed;
mod step_loss;
mod step_rate;
mod two_phase;

pub use assessment::{AxisAssessment, SpeedRow, StepTiming, Threshold};
pub use axis::{Axis, AxisFacts};
pub use axis_defaults::{ASSUMED_DAMPING, Assumed, AssumedFigure};
pub use axis_request::AxisRequest;
pub use drive::Drive;
pub use jitter_torque::{JitterTorque, jitter_torque, linear_share, linear_torque_nm, speed_at_linear_share};
pub use motor::Motor;
pub use playback::{fastest_speed_without_loss, play_latencies};
pub use pull_out::{Supply, limited_torque_nm};
pub use pulses::{Pulse, PulseTrain, latencies_ns};
pub use quantisation::{Beat, Quantisation, StepTicks, beat, quantise};
pub(crate) use recommended::TOO_LATE_NS;
pub use recommended::{BaseThread, NoBasePeriod, RecommendedRate, StepLimit, StepperVerdict};
pub use resonance::ring_frequency_hz;
pub use result::{
    Simulated, Simulations, StepperCaveat, StepperDevices, StepperQuestion, StepperResult, Ticks,
    checked_simulation_ns,
};
pub use simulate::{RotorResponse, simulate};
pub use step_loss::{critical_jump, load_angle_rad};
pub use step_rate::{IntervalErrors, Reversal, StepConf, StepMode, TimingRisk, stepconf_limits};
