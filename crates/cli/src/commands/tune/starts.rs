//! `jitterlab tune --continue`: what needs a restart, compared over starts of the machine.

use std::io;
use std::path::Path;

use jitterlab_host::Experiment;
use jitterlab_host::tune::{Kept, ThisStart, TuneError, TuneRequest, Tuning};
use jitterlab_model::TaskSpec;
use jitterlab_report::tune::starts::{self as words, FILE};
use jitterlab_trace::{Parts, TraceError, place, source};

use super::Args;
use crate::error::CliError;
use crate::exit::{Ending, Failure, Status};
use crate::experiment::conduct;
use crate::{measure_args, output};

/// The time for each start, where none is given.
const START_NS: i64 = 120_000_000_000;
/// Blocks of some hundred starts are smaller.
const LARGEST_BYTES: u64 = 16 << 20;

/// What earlier starts left in this directory.
fn read() -> Result<Option<Kept>, CliError> {
    let broken = |error: String| CliError::StartsUnreadable { path: FILE.into(), error };
    match source::read_text(Path::new(FILE), LARGEST_BYTES) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(broken(error.to_string())),
        Ok(text) => serde_json::from_str(&text).map(Some).map_err(|error| broken(error.to_string())),
    }
}

impl Args {
    /// What is measured at each start: what the first call was asked for, which later ones need not repeat.
    fn of_each_start(&self, kept: Option<Kept>) -> Result<(TuneRequest, Kept), Failure> {
        let given = TuneRequest { purpose: None, wanted: Vec::new(), ..self.request_within(START_NS)? };
        let Some(kept) = kept else {
            let begun = Kept::begin(&given);
            return Ok((given, begun));
        };
        let usual = TuneRequest {
            task: TaskSpec::default(),
            watch: None,
            loads: Vec::new(),
            budget_ns: START_NS,
            ..given.clone()
        };
        let nothing_given = Kept::begin(&usual) == Kept::begin(&given);
        if !nothing_given && !kept.is_of(&given) {
            return Err(CliError::OtherStarts(FILE.into()).into());
        }
        let unreadable = |error: String| CliError::StartsUnreadable { path: FILE.into(), error };
        let task = kept
            .task
            .parse()
            .map_err(|error: jitterlab_model::task::TaskError| unreadable(error.to_string()))?;
        let loads = measure_args::loads(&kept.loads)?;
        let request =
            TuneRequest { task, watch: kept.watch.clone(), loads, budget_ns: kept.budget_ns, ..given };
        Ok((request, kept))
    }
}

/// Keeps all starts.
fn keep(kept: &Kept) -> Result<(), TuneError> {
    let path = Path::new(FILE);
    let unwritten = |error| TraceError::Io { action: "write", path: path.into(), source: error };
    let text = serde_json::to_string(kept).map_err(|error| unwritten(error.into()))?;
    Ok(place::write(path, text.as_bytes(), false)?)
}

/// Measures this start, keeps it and says what all of them say.
pub(super) fn execute(args: &Args) -> Ending {
    let (request, mut kept) = args.of_each_start(read()?)?;
    let this = ThisStart::now(args.way.as_deref())?;
    let measure = |experiment: &mut Experiment<'_>| {
        let tuning = Tuning::prepare(request, experiment.interrupted())?;
        if !args.quiet {
            output::note(&words::outset(kept.starts.len()));
        }
        let result = tuning.measure_start(&this, &mut kept, &mut keep, experiment)?;
        Ok(Some((result, experiment.is_interrupted())))
    };
    // The file of the starts keeps them over restarts.
    conduct(Parts::nowhere, args.quiet, measure, |(result, interrupted)| {
        args.output.show(&result)?;
        if interrupted {
            output::note(words::GOES_ON);
        }
        Ok(Status::Fine)
    })
}
