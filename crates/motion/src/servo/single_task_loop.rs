//! A loop to be judged: a plant, its controller's design, and the task that closes it.

use jitterlab_model::Error;

use super::closed_loop::{ControllerWiring, Loop};
use super::controller::Controller;
use super::execution::Execution;
use super::given_task::GivenTask;
use super::markov_chain::Stationary;
use super::multi_task_loop::{LoopTask, MultiTaskLoop};
use super::overrun::{OverrunAction, OverrunPolicy};
use super::plant::Plant;
use super::timing::{Actuation, Sampling, TaskTiming};
use crate::error;

#[derive(Debug, Clone)]
pub struct SingleTaskLoop {
    /// The plant; its design is the controller's.
    pub plant: Plant,
    /// The period the controller is designed for: the task's.
    pub period_ns: i64,
    pub timing: TaskTiming,
    pub overrun: OverrunAction,
    /// Constant delay the controller's design takes into account.
    pub design_delay_ns: i64,
}

impl SingleTaskLoop {
    /// A plant under its own design, sampled at the start of a task that skips, and written at its end.
    pub fn new(plant: Plant, period_ns: i64) -> SingleTaskLoop {
        let (timing, overrun) = (TaskTiming::default(), OverrunAction::default());
        SingleTaskLoop { plant, period_ns, timing, overrun, design_delay_ns: 0 }
    }

    pub fn controller(&self) -> Result<Controller, Error> {
        self.plant.design.controller(&self.plant, self.period_ns, self.design_delay_ns)
    }

    pub fn closed_loop(&self) -> Result<Loop, Error> {
        Ok(self.loop_with_controller(&self.controller()?))
    }

    pub fn loop_with_controller(&self, controller: &Controller) -> Loop {
        let defers = matches!(self.timing.actuation, Actuation::AtNextStart | Actuation::AtNextDue);
        Loop::with_controllers(
            &self.plant,
            vec![ControllerWiring::for_all_signals(&self.plant, controller)],
            defers,
        )
    }

    /// The stationary loop of a task with these execution times, under the question's overrun action.
    pub fn stationary_with_execution(&self, execution: &Execution) -> Result<Stationary, Error> {
        self.task_with_execution(execution.clone()).stationary(&mut self.closed_loop()?)
    }

    /// This loop as a plant with one task and no others.
    pub(super) fn to_multi_task_loop(&self) -> MultiTaskLoop {
        // A recorded job is as it was; the output's action at missed due times is unknown, so it holds.
        let task = LoopTask::new("", self.period_ns, OverrunAction::with_held_output(self.overrun.policy));
        let (plant, timing, design_delay_ns) = (self.plant.clone(), self.timing, self.design_delay_ns);
        MultiTaskLoop { plant, tasks: vec![task], others: Vec::new(), timing, design_delay_ns }
    }

    /// The stationary loop of a task that always has this wait and execution time.
    pub fn stationary_with_timing(&self, wait_ns: i64, execution_ns: i64) -> Result<Stationary, Error> {
        let task = self.task_with_execution(Execution::constant(execution_ns.max(0) as f64));
        GivenTask { wait_ns: wait_ns.max(0) as f64, ..task }.stationary(&mut self.closed_loop()?)
    }

    /// The stationary loop under a constant delay from sampling to the output, up to a period.
    pub fn stationary_with_delay(&self, delay_ns: i64) -> Result<Stationary, Error> {
        // A task that catches up works all the period and is no later for it.
        let overrun = OverrunAction::with_held_output(OverrunPolicy::CatchUp);
        let ended = SingleTaskLoop { timing: TaskTiming::default(), overrun, ..self.clone() };
        ended.stationary_with_execution(&Execution::constant(delay_ns.max(0) as f64))
    }

    /// The task with these execution times, which starts whenever it is due.
    pub fn task_with_execution(&self, execution: Execution) -> GivenTask {
        let (period_ns, action, timing) = (self.period_ns, self.overrun, self.timing);
        GivenTask { period_ns, execution, wait_ns: 0.0, action, timing }
    }

    /// Time from a sample to its output, for a task that always has this wait and execution time.
    pub fn output_delay_ns(&self, wait_ns: i64, execution_ns: i64) -> i64 {
        let sampled = if self.timing.sampling == Sampling::AtDue { 0 } else { wait_ns };
        let done = wait_ns + execution_ns;
        // The first due time from the end on.
        let due = (done.max(1) + self.period_ns - 1) / self.period_ns * self.period_ns;
        let written = match self.timing.actuation {
            Actuation::AtEnd => done,
            Actuation::AtStart => wait_ns,
            Actuation::AtNextStart => due + wait_ns,
            Actuation::AtNextDue => due,
        };
        (written - sampled).max(0)
    }

    /// The stationary loop with every activation punctual and no work to do.
    pub fn ideal_stationary(&self) -> Result<Stationary, Error> {
        let ideal = self.stationary_with_timing(0, 0)?;
        if ideal.is_stable() {
            return Ok(ideal);
        }
        Err(error::unstable(&self.plant.name, self.period_ns, ideal.spectral_radius))
    }
}
