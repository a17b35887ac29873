//! An experiment as a command: its progress, its answer, and the parts that are kept until that is shown.

use std::sync::atomic::AtomicBool;

use jitterlab_host::{Experiment, KeptParts, Progress};
use jitterlab_model::Error;
use jitterlab_trace::Parts;

use crate::countdown::Countdown;
use crate::exit::{Ending, Status};
use crate::{interrupt, kept_parts};

/// Measures, continuing after the parts that an earlier call of the command kept, and shows the result;
/// `None` if it was interrupted before there was anything to show. `open` opens the parts; from then on
/// Ctrl-C ends it in order.
pub fn conduct<T>(
    open: impl FnOnce() -> Parts,
    quiet: bool,
    measure: impl FnOnce(&mut Experiment<'_>) -> Result<Option<T>, Error>,
    show: impl FnOnce(T) -> Ending,
) -> Ending {
    let interrupted = interrupt::requested()?;
    let (measured, kept) = measured(open(), Countdown::new(quiet), &interrupted, measure);
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

/// Measures; returns the answer and the parts that were kept, once the line of the progress has ended.
pub fn measured<T, E>(
    parts: Parts,
    mut progress: Countdown,
    interrupted: &AtomicBool,
    measure: impl FnOnce(&mut Experiment<'_>) -> Result<T, E>,
) -> (Result<T, E>, KeptParts) {
    let mut tell = |now: &Progress| progress.tell(now);
    let mut experiment = Experiment::new(parts, &mut tell, interrupted);
    let measured = measure(&mut experiment);
    (measured, experiment.end())
}
