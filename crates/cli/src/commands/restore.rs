//! `jitterlab restore`: undoes the isolation of a crashed run, ends its recordings, and removes kept
//! settings.

use std::path::{Path, PathBuf};

use jitterlab_host::changes::{restore, unrestored_processes};
use jitterlab_host::facts::Root;
use jitterlab_host::scratch::remove_abandoned_folders;
use jitterlab_host::trace_events::remove_stale_instances;
use jitterlab_report::recovery;
use jitterlab_trace::atomic_file;

use crate::exit::{CommandResult, Status};
use crate::{kept_files, output};

/// Put back what killed commands left changed, recording or half written
///
/// Puts back what a killed tune, doctor or run with --isolate changed, ends what one with --why left recording, and removes
/// what killed commands left half written here and where temporary files are. Settings that were kept on purpose stay, but for
/// --kept.
#[derive(clap::Args)]
pub struct Args {
    /// Remove the files that `tune --keep` wrote below this directory, too
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = "/")]
    kept: Option<PathBuf>,
}

/// Undoes the changes of processes that are gone.
pub fn execute(args: &Args) -> CommandResult {
    if let Some(folder) = &args.kept {
        kept_files::remove_settings(folder)?;
    }
    let restored = restore(&Root::system());
    let done = restored.iter().map(|crashed| (crashed.process, crashed.changes, crashed.problems.as_slice()));
    let mut left = remove_abandoned_folders();
    left.extend(atomic_file::remove_leftovers(Path::new(".")));
    output::print(&recovery::restoration_text(done, remove_stale_instances(), &left))?;
    let complete = restored.iter().all(|crashed| crashed.problems.is_empty());
    Ok(if complete { Status::Fine } else { Status::CouldNotMeasure })
}

/// Prints a hint if a killed command has left this machine changed.
pub fn print_restore_hint() {
    let left = unrestored_processes(&Root::system());
    if !left.is_empty() {
        output::print_note(&recovery::restore_hint(&left));
    }
}
