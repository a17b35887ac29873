//! Servo loops: the effect of a periodic task's timing on the control loop it closes.
//!
//! A loop is a continuous-time [`Plant`] with noise and a cost, a discrete-time [`Controller`] designed for the
//! nominal period, and the times at which the task samples and actuates. Its quality is the mean of a quadratic
//! cost (1/T) int z'Qz dt with z = [states; inputs], as in Jitterbug (Lincoln and Cervin, 2002): computed exactly
//! from covariances along the course of the task. Only given execution times of a task that catches up are drawn.
//!
//! Inside, the whole loop has the state `[x; u; v; xc]`: plant states, inputs held by the actuator, outputs
//! computed and not yet written, controller states. Between events only `x` moves; sampling changes `v` and `xc`;
//! actuating copies `v` to `u`.

mod along_trace;
mod assessment;
mod burst_stability;
mod cascade;
mod closed_loop;
mod controller;
mod covariance_course;
mod crossings;
mod cycles;
mod description;
mod design;
mod design_margins;
mod discrete;
mod evaluate;
mod execution;
mod flow_map;
mod frequency;
mod gains;
mod job_sequence;
mod jobs;
mod krylov;
mod late_jobs;
mod live;
mod live_result;
mod loop_assignment;
mod loops_judged;
mod margins;
mod markov_chain;
mod matlab_files;
mod mean_timing;
mod misses;
mod numeric;
mod overrun;
mod overrun_costs;
mod plant;
mod plant_loop;
mod plant_values;
mod quadrature;
mod question;
mod realisation;
mod record;
mod redesign;
mod reference_tracking;
mod remedies;
mod replay;
mod response;
mod result;
mod riccati;
mod row_updates;
mod schedule;
mod several;
mod several_result;
mod several_run;
mod sources;
mod symmetric;
mod timing;
mod verdict;
mod weakly_hard;

pub use along_trace::{AlongTrace, CostStretch, CovarianceAlongTrace, Interval, TimeBase};
pub use assessment::{LoopAssessment, Wishes};
pub use burst_stability::Stability;
pub use closed_loop::{Closing, Event, Loop, LoopAction};
pub use controller::Controller;
pub use crossings::{LoopMargins, PhaseMargin};
pub use design::Design;
pub use design_margins::{ChannelMargins, Margins, POOR_PEAK};
pub use evaluate::{Evaluation, Loss};
pub use execution::{Execution, Kind};
pub use flow_map::{Flow, FlowTable};
pub use gains::{Gains, PidGains};
pub use jobs::GivenTask;
pub use live::{LiveLoop, LiveWork, TrackingError};
pub use live_result::{LiveTrouble, LiveWay, ServoLive};
pub use loop_assignment::{PlantAsked, control};
pub use loops_judged::{LoopOfPlant, TaskOfLoops};
pub use margins::{DelayMargin, JitterMargin, delay_margin};
pub use markov_chain::{Chain, Edge, Stationary, Stretches};
pub use mean_timing::{MeanTiming, VelocityError};
pub use misses::{AtMost, Misses};
pub use overrun::{Late, MissedOutput, OverrunAction};
pub use overrun_costs::ActionCost;
pub use plant::{Plant, PlantFigures};
pub use plant_loop::{PlantLoop, Writes};
pub use question::Question;
pub use record::Record;
pub use redesign::{Redesign, RedesignKind};
pub use reference_tracking::{FollowedReference, usual_references};
pub use remedies::{Remedy, RemedyKind};
pub use replay::Replay;
pub use response::{DrivenLoop, Point, Reference, Tracking, tracking};
pub use result::{DelayCost, Judged, LoopDescription, LoopUnderExecution, LoopUnderRun, ServoResult};
pub use schedule::{GivenTimes, Schedule};
pub use several::{LoopTask, Several};
pub use several_result::{PlantOfLoops, ServoLoops};
pub use timing::{Actuation, Job, Moment, Moments, Sampling, TaskTiming};
pub use verdict::{Judgement, Side, Verdict};
pub use weakly_hard::{
    Arc, Certificate, Graph, Growth, Guarantee, MissedJobs, Step, Steps, StoppingRule, UnderMisses, growth,
};
