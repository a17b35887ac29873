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
mod continuous_from_sampled;
mod controller;
mod covariance_propagation;
mod crossings;
mod cycles;
mod description;
mod design;
mod design_margins;
mod evaluate;
mod execution;
mod flow_map;
mod frequency;
mod gains;
mod given_task;
mod job_sequence;
mod job_sources;
mod krylov;
mod live;
mod live_result;
mod loop_assignment;
mod margins;
mod markov_chain;
mod matlab_files;
mod mean_timing;
mod miss_guarantees;
mod multi_task_loop;
mod multi_task_result;
mod multi_task_run;
mod numeric;
mod overrun;
mod overrun_costs;
mod plant;
mod plant_loop;
mod plant_values;
mod quadrature;
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
mod single_task_loop;
mod symmetric;
mod task_summary;
mod timing;
mod verdict;
mod weakly_hard;

pub use along_trace::{AlongTrace, CostStretch, CovarianceAlongTrace, Interval, TimeBase};
pub use assessment::{AssessmentOptions, LoopAssessment};
pub use burst_stability::Stability;
pub use closed_loop::{ControllerWiring, Event, Loop, LoopAction};
pub use controller::Controller;
pub use crossings::{LoopMargins, PhaseMargin};
pub use design::Design;
pub use design_margins::{ChannelMargins, Margins, POOR_PEAK};
pub use evaluate::{Evaluation, Loss};
pub use execution::{Execution, ExecutionKind};
pub use flow_map::{Flow, FlowTable};
pub use gains::{Gains, PidGains};
pub use given_task::GivenTask;
pub use live::{LiveLoop, LiveWork, TrackingError};
pub use live_result::{LiveTrial, LiveTrouble, ServoLive};
pub use loop_assignment::{RequestedPlant, set_controller};
pub use margins::{DelayMargin, JitterMargin, delay_margin};
pub use markov_chain::{Edge, MarkovChain, Stationary, StretchDistribution};
pub use mean_timing::{MeanTiming, VelocityError};
pub use multi_task_loop::{LoopTask, MultiTaskLoop};
pub use multi_task_result::{PlantResult, ServoLoops};
pub use overrun::{MissedOutput, OverrunAction, OverrunPolicy};
pub use overrun_costs::ActionCost;
pub use plant::{Plant, PlantFigures};
pub use plant_loop::{LoopOutput, PlantLoop};
pub use record::Record;
pub use redesign::{Redesign, RedesignKind};
pub use reference_tracking::{FollowedReference, default_references};
pub use remedies::{Remedy, RemedyKind};
pub use replay::Replay;
pub use response::{DrivenLoop, Reference, ResponsePoint, Tracking, tracking_errors};
pub use result::{DelayCost, LoopDescription, LoopUnderExecution, LoopUnderRun, ServoResult, TimingSource};
pub use schedule::{GivenTimes, Schedule};
pub use single_task_loop::SingleTaskLoop;
pub use task_summary::{LoopSummary, TaskSummary};
pub use timing::{Actuation, Job, Moment, MomentGenerator, Sampling, TaskTiming};
pub use verdict::{GradedReason, LoopVerdict, VerdictReason};
pub use weakly_hard::{
    Certificate, GrowthBounds, Guarantee, MissCounter, MissedJobs, StabilityUnderMisses, Step, StepGraph,
    StepSet, StoppingRule, Transition, WeaklyHard, growth_bounds,
};
