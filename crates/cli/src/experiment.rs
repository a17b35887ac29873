//! An experiment as a command: its progress, its answer, and the parts that are kept until that is shown.

use std::sync::atomic::AtomicBool;

use jitterlab_host::{Experiment, KeptParts, Progress};
use jitterlab_model::Error;
use jitterlab_report::progress;
use jitterlab_trace::FinishedParts;

use crate::exit::{CommandResult, Status};
use crate::status_line::StatusLine;
use crate::{interrupt, kept_parts};

/// Measures, going on behind the parts that an earlier call kept, shows the result, and closes the parts. `measure`
/// returns `None` if it was interrupted before there was anything to show. `open` opens the parts; from then on Ctrl-C
/// ends it in order.
pub fn run_experiment<T>(
    open: impl FnOnce() -> FinishedParts,
    quiet: bool,
    measure: impl FnOnce(&mut Experiment<'_>) -> Result<Option<T>, Error>,
    show: impl FnOnce(T) -> CommandResult,
) -> CommandResult {
    let interrupted = interrupt::listen_for_interrupt()?;
    let (measured, kept) =
        measure_with_progress(open(), (!quiet).then(StatusLine::new), &interrupted, measure);
    let (complete, ending) = match measured {
        Ok(Some(found)) => {
            let ending = show(found);
            (ending.is_ok(), ending)
        }
        Ok(None) => (false, Ok(Status::Fine)),
        Err(failure) => (false, Err(failure)),
    };
    kept_parts::close(complete, |complete| kept.close(complete));
    ending
}

/// Measures with the steps shown in this line, if any; returns the result and the kept parts. A terminal shows each
/// part of a step, other output only its beginning.
pub fn measure_with_progress<T, E>(
    parts: FinishedParts,
    line: Option<StatusLine>,
    interrupted: &AtomicBool,
    measure: impl FnOnce(&mut Experiment<'_>) -> Result<T, E>,
) -> (Result<T, E>, KeptParts) {
    let mut tell = |now: &Progress| {
        if let Some(line) = line.as_ref().filter(|line| now.begins || line.is_redrawn()) {
            line.show(&progress::step_with_time_left(&now.step, now.remaining_ns));
        }
    };
    let mut experiment = Experiment::new(parts, &mut tell, interrupted);
    let measured = measure(&mut experiment);
    let kept = experiment.end();
    // What is printed next begins below the line.
    drop(line);
    (measured, kept)
}
