//! Servo loops: what the timing of a periodic task does to the control loop it closes.
//!
//! A loop is a continuous-time [`Plant`] with noise and a cost, a discrete-time [`Controller`] designed for the
//! nominal period, and the times at which the task samples and actuates. Its quality is the mean of a quadratic
//! cost (1/T) int z'Qz dt with z = [states; inputs], as in Jitterbug (Lincoln and Cervin, 2002): computed exactly
//! from covariances, never from random numbers.
//!
//! Inside, the whole loop has the state `[x; u; v; xc]`: plant states, inputs held by the actuator, outputs
//! computed and not yet written, controller states. Between events only `x` moves; sampling changes `v` and `xc`;
//! actuating copies `v` to `u`.

mod along_trace;
mod assessment;
mod classes;
mod controller;
mod design;
mod evaluate;
mod flow;
mod frequency;
mod jump_linear;
mod live;
mod live_result;
mod live_trial;
mod looped;
mod margins;
mod numeric;
mod plant;
mod realisation;
mod response;
mod result;
mod riccati;
mod sheet;
mod timing;

pub use along_trace::{AlongTrace, CostStretch, TimeBase, Walk};
pub use assessment::{
    ChannelMargins, FollowedReference, LoopAssessment, Margins, VelocityError, usual_references,
};
pub use controller::Controller;
pub use design::Design;
pub use evaluate::{Evaluation, Loss, MeanTiming, Question, Remedy, RemedyKind, input_output_delay_ns};
pub use flow::{Flow, FlowTable};
pub use jump_linear::{JumpLinear, PeriodClass, Stationary};
pub use live::{LiveLoop, TrackingError};
pub use live_result::{LiveTrouble, LiveWay, ServoLive};
pub use live_trial::{LiveBench, LiveTrial};
pub use looped::{Event, Loop, Pattern};
pub use margins::{
    DelayMargin, PhaseMargin, continuous_phase_margin, delay_margin, jitter_margin_ns, phase_margin,
};
pub use plant::{Plant, PlantFigures};
pub use response::{DrivenLoop, Point, Reference, Tracking, tracking};
pub use result::{DelayCost, Judged, LoopDescription, LoopUnderRun, ServoResult};
pub use timing::{Actuation, Moment, PeriodPatterns, Sampling, TaskTiming};
