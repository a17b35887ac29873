//! `jitterlab tune --continue`: settings that need a restart, compared over starts of the machine.

use std::path::Path;

use jitterlab_host::Experiment;
use jitterlab_host::tune::{CurrentBoot, KeptBoots, TuneRequest, Tuning};
use jitterlab_model::{Error, TaskSpec};
use jitterlab_report::tune::boots::{self as words, FILE};
use jitterlab_trace::FinishedParts;

use super::Args;
use crate::exit::{CommandResult, Status};
use crate::experiment::run_experiment;
use crate::{kept_files, measure_args, output};

/// The time for each start, where none is given.
const START_NS: i64 = 120_000_000_000;
impl Args {
    /// Returns the request for this boot and the kept boots; later calls need not repeat the first one's options.
    fn start_request(&self, kept: Option<KeptBoots>) -> Result<(TuneRequest, KeptBoots), Error> {
        let given = TuneRequest { purpose: None, wanted: Vec::new(), ..self.request_with_budget(START_NS)? };
        let Some(kept) = kept else {
            let begun = KeptBoots::new(&given);
            return Ok((given, begun));
        };
        let usual = TuneRequest {
            task: TaskSpec::default(),
            watch: None,
            loads: Vec::new(),
            budget_ns: START_NS,
            ..given.clone()
        };
        let nothing_given = KeptBoots::new(&usual) == KeptBoots::new(&given);
        if !nothing_given && !kept.is_for(&given) {
            return Err(Error::bad_use(format!(
                "{} holds starts that were measured with another task, load or --budget",
                FILE
            ))
            .remedy("give the same, or none of them, or begin anew in another directory"));
        }
        let task = kept.task.parse().map_err(|error: Error| kept_files::unreadable_file(FILE, &error))?;
        let loads = measure_args::parse_loads(&kept.loads)?;
        let request =
            TuneRequest { task, watch: kept.watch.clone(), loads, budget_ns: kept.budget_ns, ..given };
        Ok((request, kept))
    }
}

/// Measures this start, keeps it, and prints the result of all starts.
pub(super) fn execute(args: &Args) -> CommandResult {
    let (request, mut kept) = args.start_request(kept_files::read_earlier_results(FILE)?)?;
    let this = CurrentBoot::from_kernel(args.way.as_deref())?;
    let mut keep = |kept: &KeptBoots| kept_files::save_results(Path::new(FILE), kept);
    let measure = |experiment: &mut Experiment<'_>| {
        let tuning = Tuning::prepare(request, experiment.interrupted())?;
        if !args.quiet {
            output::print_note(&words::intro_message(kept.starts.len()));
        }
        let result = tuning.measure_boot(&this, &mut kept, &mut keep, experiment)?;
        Ok(Some((result, experiment.is_interrupted())))
    };
    // The file of the starts keeps them over restarts.
    run_experiment(FinishedParts::without_file, args.quiet, measure, |(result, interrupted)| {
        args.output.show(&result)?;
        if interrupted {
            output::print_note(words::GOES_ON);
        }
        Ok(Status::Fine)
    })
}
