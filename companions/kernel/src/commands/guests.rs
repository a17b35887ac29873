//! Boots with a progress display, and reads the measurements.

use std::path::Path;

use jitterlab_analysis::measured::MeasuredRun;
use jitterlab_console::exit::{Ending, Status};
use jitterlab_console::measure_args::MeasureArgs;
use jitterlab_kernel::job::Step;
use jitterlab_kernel::session::run_step;
use jitterlab_kernel::{GuestRun, GuestTime, KernelChoice, KernelSession};
use jitterlab_model::error::ErrorKind;
use jitterlab_model::{Error, RunInfo};
use jitterlab_runs::{Hints, Run};

use super::progress::Board;

/// The step of a guest that measures with jitterlab.
pub const RUN_STEP: &str = "run";

/// The step of this measurement. Options that a run here would refuse do not cost a boot.
pub fn step(measure: &MeasureArgs) -> Result<Step, Error> {
    measure.request()?;
    Ok(run_step(RUN_STEP, &measure.words()))
}

/// Boots each kernel and does the session's steps on it. `each` is called for each guest as soon as it is
/// done; the results are in the kernels' order.
pub fn boot<T: Send>(
    session: &KernelSession,
    kernels: &[KernelChoice],
    jobs: Option<u16>,
    quiet: bool,
    each: impl Fn(usize, GuestRun) -> Result<T, Error> + Sync,
) -> Vec<Result<T, Error>> {
    let board = Board::new(kernels.iter().map(ToString::to_string).collect(), quiet);
    let answers = session.on_each(kernels, jobs, &board, &each);
    board.finish();
    answers.into_iter().map(|answer| answer?).collect()
}

/// Ending of a command with failures on some kernels: bad use if each of them is, else "not measured".
pub fn ending(failures: &[Error]) -> Ending {
    if failures.is_empty() {
        return Ok(Status::Fine);
    }
    let by_mistake = failures.iter().all(Error::is_bad_use);
    let kind = if by_mistake { ErrorKind::BadUse } else { ErrorKind::NotMeasured };
    let said: Vec<String> = failures.iter().map(ToString::to_string).collect();
    Err(Error::new(kind, said.join("\n")))
}

/// Opens a run file.
pub fn open_run(path: &Path) -> Result<Run, Error> {
    Run::open(path, &Hints::default())
}

/// Figures that a guest measured, with a description of the guest; its run file is not kept.
pub fn figures(guest: &GuestRun, time: GuestTime) -> Result<MeasuredRun, Error> {
    let file = guest.run_file(RUN_STEP)?;
    let run = open_run(file.path())?;
    let (stats, warnings) = run.timing()?.into_parts();
    let mut info = RunInfo { warnings, ..run.info().clone() };
    // Described before it is judged, since caveats about a machine's figures do not apply to virtual time.
    guest.describe(&mut info, time, std::env::args());
    Ok(MeasuredRun::new(info, &stats, None))
}
