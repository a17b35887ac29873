//! Entries of LinuxCNC's INI file: the periods of its threads as this computer keeps them, and the drive's
//! times; or the inputs of StepConf. They need a run of real-time threads with such periods, on a machine.

use std::io::Write;

use jitterlab_analysis::purposes::Purpose;
use jitterlab_model::{Bench, Error, Fitness, TaskRun};
use jitterlab_motion::catalog;
use jitterlab_motion::stepper::{BaseThread, Drive};
use jitterlab_runs::{OneTask, Run};

use super::description::machine_comments;
use super::{ExportOptions, ExportSummary, Loss, words};
use crate::{conclusion, purpose};

/// The purpose of LinuxCNC's usual servo thread.
const SERVO: &str = "servo-thread";

pub(super) fn write(
    run: &Run,
    tasks: &[usize],
    asked: &ExportOptions,
    out: &mut dyn Write,
) -> Result<ExportSummary, Error> {
    let drive = match &asked.drive {
        Some(drive) => drive.clone(),
        None => catalog::known_device("stepconf")?,
    };
    let (base, servo) = (base_thread(run, tasks, &drive)?, servo_period(run, tasks)?);
    let mut exported = ExportSummary {
        values: [base.is_ok(), servo.is_ok()].map(u64::from).iter().sum(),
        ..ExportSummary::default()
    };
    for (entry, why) in [("BASE_PERIOD", base.as_ref().err()), ("SERVO_PERIOD", servo.as_ref().err())] {
        exported.losses.extend(why.map(|why| Loss::NoThread { entry, why: why.clone() }));
    }
    if exported.values == 0 {
        let mut why: Vec<String> = [base.err(), servo.err()].into_iter().flatten().collect();
        why.dedup();
        return Err(Error::not_measured(format!(
            "{}: no period for LinuxCNC's threads follows from it. {}",
            run.path().display(),
            why.join(" ")
        )));
    }

    writeln!(out, "# {}", words::source_comment(run))?;
    for comment in machine_comments(run.info()) {
        writeln!(out, "# {comment}")?;
    }
    writeln!(out, "[EMCMOT]")?;
    match &base {
        Ok(of) => writeln!(
            out,
            "# {}\nBASE_PERIOD = {}",
            words::base_thread_comment(of, &drive),
            of.stepconf.min_period_ns
        ),
        Err(why) => writeln!(out, "# {why}"),
    }?;
    match &servo {
        Ok((period_ns, said)) => writeln!(out, "# {said}\nSERVO_PERIOD = {period_ns}"),
        Err(why) => writeln!(out, "# {why}"),
    }?;
    let Ok(base) = base else { return Ok(exported) };
    let Drive { step_time_ns, step_space_ns, direction_hold_ns, direction_setup_ns, .. } = drive;
    let of = |names: [&'static str; 4]| {
        names.into_iter().zip([step_time_ns, step_space_ns, direction_hold_ns, direction_setup_ns])
    };
    for (section, about, entries) in [
        ("JOINT_0", words::STEPGEN, of(["STEPLEN", "STEPSPACE", "DIRHOLD", "DIRSETUP"])),
        ("STEPCONF", words::STEPCONF, of(["STEPTIME", "STEPSPACE", "DIRHOLD", "DIRSETUP"])),
    ] {
        writeln!(out, "\n[{section}]\n# {about}")?;
        if section == "STEPCONF" {
            writeln!(out, "LATENCY = {}", base.jitter_ns)?;
        }
        for (name, ns) in entries {
            writeln!(out, "{name} = {ns}")?;
        }
    }
    Ok(exported)
}

/// The thread that makes the steps, or the reason why the run has none.
fn base_thread(run: &Run, tasks: &[usize], drive: &Drive) -> Result<Result<BaseThread, String>, Error> {
    let task = match find_thread(run, tasks, BaseThread::is_base_period, words::NO_BASE) {
        Ok(task) => task,
        Err(why) => return Ok(Err(why)),
    };
    let name = task.spec.name.clone();
    let one = OneTask::new(run.clone(), Some(&name), |spec| spec.period_ns)?;
    Ok(BaseThread::new(&one, drive).map_err(|why| words::no_base_thread_reason(&name, why)))
}

/// The period of the thread that moves the axes with the evidence for it, or the reason why the run has none.
fn servo_period(run: &Run, tasks: &[usize]) -> Result<Result<(i64, String), String>, Error> {
    let Some(purpose) = Purpose::by_name(SERVO) else { return Ok(Err(words::NO_SERVO.into())) };
    let task = match find_thread(run, tasks, |ns| purpose.is_tested_by(ns), words::NO_SERVO) {
        Ok(task) => task,
        Err(why) => return Ok(Err(why)),
    };
    let analysis = run.analysis(Some(&task.spec.name), Vec::new(), false, Some(purpose))?;
    let verdict = analysis.verdict.as_ref().and_then(|verdict| verdict.purposes.first());
    Ok(match verdict.map(|of| (of, of.fitness, of.decided_by.as_ref())) {
        Some((_, Fitness::Good | Fitness::Limited, Some(decision))) => {
            Ok((task.spec.period_ns, purpose::decision_sentence(SERVO, decision, 1)))
        }
        Some((_, Fitness::Unfit, Some(decision))) => {
            Err(words::unfit_sentence(SERVO, &purpose::decision_sentence(SERVO, decision, 1)))
        }
        Some((of, ..)) => Err(words::undecided_sentence(
            SERVO,
            &conclusion::untested_reason(&analysis.run, std::slice::from_ref(of)),
        )),
        None => Err(words::SIMULATED.into()),
    })
}

/// The task with the shortest period that fits, or the reason why there is none; that is `none` if none fits.
fn find_thread<'a>(
    run: &'a Run,
    tasks: &[usize],
    fits: impl Fn(i64) -> bool,
    none: &str,
) -> Result<&'a TaskRun, String> {
    if matches!(run.info().bench, Bench::Kernel | Bench::Mcu) {
        return Err(words::SIMULATED.into());
    }
    let all = tasks.iter().map(|task| &run.info().tasks[*task]);
    let fitting = all.filter(|task| task.period_ns().exactly().is_some_and(&fits));
    match fitting.min_by_key(|task| task.spec.period_ns) {
        Some(task) if task.granted.is_some() => Ok(task),
        Some(task) => Err(words::unknown_policy_sentence(&task.spec.name)),
        None => Err(none.into()),
    }
}
