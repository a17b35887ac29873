//! Consequences of a run's timing for a motor or a loop.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt::Display;
use std::str::FromStr;

use jitterlab_model::Error;
use jitterlab_model::units::{parse_duration_ns, parse_period_ns};
use jitterlab_motion::quantity::{self, Dimension};
use jitterlab_motion::servo::{
    AssessmentOptions, Design, OverrunAction, Plant, ServoResult, SingleTaskLoop, TaskTiming, TimingSource,
};
use jitterlab_motion::stepper::{AxisFacts, AxisRequest, StepperQuestion, checked_simulation_ns};
use jitterlab_motion::{JudgedRun, catalog, error};
use jitterlab_runs::OneTask;
use pyo3::prelude::*;

use crate::analysis_answers::Answer;
use crate::error::OrRaise;
use crate::interruptible::run_interruptibly;
use crate::run::Run;

/// The options, each as text; they are removed where they are read.
struct Options(HashMap<String, String>);

impl Options {
    fn take_text(&mut self, name: &str) -> Option<String> {
        self.0.remove(name)
    }

    fn read_with<T, E: Display>(
        &mut self,
        name: &str,
        read: fn(&str) -> Result<T, E>,
    ) -> PyResult<Option<T>> {
        self.take_text(name).map(|text| read(&text).or_raise()).transpose()
    }

    fn parse<T: FromStr<Err: Display>>(&mut self, name: &str) -> PyResult<Option<T>> {
        self.read_with(name, T::from_str)
    }

    fn quantity(&mut self, name: &str, dimension: Dimension) -> PyResult<Option<f64>> {
        self.take_text(name).map(|text| quantity::parse(dimension, name, &text).or_raise()).transpose()
    }

    fn duration_ns(&mut self, name: &str) -> PyResult<Option<i64>> {
        self.read_with(name, parse_duration_ns)
    }

    /// Refuses options that nothing has read.
    fn refuse_unread(self) -> PyResult<()> {
        let left = self.0.into_keys().next();
        left.map_or(Ok(()), |name| Err(Error::bad_use(format!("{name:?} is no option of this"))).or_raise())
    }

    fn axis_request(&mut self) -> PyResult<AxisRequest> {
        Ok(AxisRequest {
            motor: self.take_text("motor"),
            frame: self.parse("frame")?,
            torque_nm: self.quantity("torque", Dimension::Torque)?,
            facts: AxisFacts {
                voltage_v: self.quantity("voltage", Dimension::Voltage)?,
                current_a: self.quantity("drive_current", Dimension::Current)?,
                microsteps: self.parse("microsteps")?,
                load_torque_nm: self.quantity("load_torque", Dimension::Torque)?,
                load_inertia_kg_m2: self.quantity("load_inertia", Dimension::Inertia)?,
                friction: None,
                lead_mm: self.quantity("travel", Dimension::Lead)?,
            },
            drive: self.take_text("drive"),
            step_time_ns: self.duration_ns("step_time")?,
            step_space_ns: self.duration_ns("step_space")?,
            direction_setup_ns: self.duration_ns("direction_setup")?,
            direction_hold_ns: self.duration_ns("direction_hold")?,
        })
    }
}

/// Consequences of a run's timing, or of a jitter, for a stepper axis.
#[pyfunction]
pub(crate) fn stepper(
    py: Python<'_>,
    run: Option<&Run>,
    beside: Option<&Run>,
    options: HashMap<String, String>,
) -> PyResult<Answer> {
    let mut options = Options(options);
    let axis = options.axis_request()?;
    let (base_period, speed) =
        (options.read_with("base_period", parse_period_ns)?, options.take_text("speed"));
    let simulate_ns = options.duration_ns("simulate")?.map(checked_simulation_ns).transpose().or_raise()?;
    let (jitter_ns, task) = (options.duration_ns("jitter")?, options.take_text("task"));
    options.refuse_unread()?;
    let (run, beside) = (run.map(|run| run.run.clone()), beside.map(|run| run.run.clone()));
    run_interruptibly(py, move || {
        let question = StepperQuestion::new(axis.axis()?, speed.as_deref(), base_period)?;
        let result = match run {
            Some(run) => {
                // The task that makes the steps is the one with the shortest period.
                let one = |run| OneTask::new(run, task.as_deref(), |spec| spec.period_ns);
                let (run, beside) = (one(run)?, beside.map(one).transpose()?);
                let mut result = question.under_run(JudgedRun::from_task(&run), &run.stats)?;
                let simulate_ns = simulate_ns.unwrap_or(20_000_000_000);
                result.simulate(&run, beside.as_ref(), simulate_ns, &mut |_, _, _| ());
                result
            }
            None => question.under_jitter(jitter_ns.ok_or_else(error::no_stepper_timing)?)?,
        };
        let warnings = result.run.as_ref().map(|run| run.warnings.clone()).unwrap_or_default();
        Ok::<_, Error>(Answer::new(result, warnings))
    })
}

/// Consequences of a run's timing, or of given execution times, for a control loop.
#[pyfunction]
pub(crate) fn servo(
    py: Python<'_>,
    run: Option<&Run>,
    misses: Vec<String>,
    references: Vec<String>,
    redesign: bool,
    options: HashMap<String, String>,
) -> PyResult<Answer> {
    let mut options = Options(options);
    let mut plant: Plant =
        catalog::known_device(options.take_text("plant").as_deref().unwrap_or("dc-servo")).or_raise()?;
    if !plant.loops.is_empty() {
        return Err(Error::bad_use(format!(
            "{} has several loops: jitterlab servo --plant {} judges them",
            plant.name, plant.name
        )))
        .or_raise();
    }
    if let Some(text) = options.take_text("controller") {
        plant.design = Design::parse(&text, plant.outputs.len()).or_raise()?;
    }
    let timing = TaskTiming {
        sampling: options.parse("sampling")?.unwrap_or_default(),
        actuation: options.parse("actuation")?.unwrap_or_default(),
    };
    let overrun: Option<OverrunAction> = options.parse("overrun")?;
    let design_delay_ns = options.duration_ns("design_delay")?.unwrap_or(0);
    let (period_ns, execution) =
        (options.read_with("period", parse_period_ns)?, options.take_text("execution"));
    let task = options.take_text("task");
    options.refuse_unread()?;
    let wishes = AssessmentOptions {
        references: references.iter().map(|text| text.parse().or_raise()).collect::<PyResult<_>>()?,
        misses: misses.iter().map(|text| text.parse().or_raise()).collect::<PyResult<_>>()?,
        redesign,
    };
    let run = run.map(|run| run.run.clone());
    run_interruptibly(py, move || {
        let question = |period_ns: i64, measured: Option<OverrunAction>| {
            let overrun = overrun.or(measured).unwrap_or_default();
            let question =
                SingleTaskLoop { timing, overrun, design_delay_ns, ..SingleTaskLoop::new(plant, period_ns) };
            question.ideal_stationary().map(|_| question)
        };
        let result = match (run, execution) {
            (Some(run), _) => {
                // The task that closes the loop is the one with the longest period.
                let one = OneTask::new(run, task.as_deref(), |spec| Reverse(spec.period_ns))?;
                let question = question(one.stats.period_ns(), Some(one.spec().overrun.into()))?;
                ServoResult::under_run(&question, JudgedRun::from_task(&one), &one, &wishes)?
            }
            (None, times) => {
                let question = question(period_ns.ok_or_else(error::no_period)?, None)?;
                match times {
                    Some(times) => ServoResult::under_execution(&question, &times, &wishes.misses)?,
                    None => ServoResult::without_run(&question)?,
                }
            }
        };
        let warnings = match &result.judged {
            TimingSource::Run(judged) => judged.run.warnings.clone(),
            _ => Vec::new(),
        };
        Ok::<_, Error>(Answer::new(result, warnings))
    })
}
