//! `jitterlab check`: is this machine set up for real time?

use jitterlab_host::check::{check, cpus_to_check};
use jitterlab_host::cpu_choice::check_cpu;
use jitterlab_host::facts::{self, Root};
use jitterlab_model::{CpuSet, Error};
use jitterlab_report::check::script;

use crate::exit::{CommandResult, Status};
use crate::output::{self, OutputArgs};

/// Check whether this machine is set up for real time
///
/// Exit status 0 when no check fails, 1 when one does; warnings do not count.
#[derive(clap::Args)]
pub struct Args {
    /// The CPUs that real-time tasks will run on, such as 2-3 [default: the isolated ones, else the one that
    /// topology favours]
    #[arg(long)]
    cpus: Option<CpuSet>,
    /// Print a script of every remedy for now that can be taken back, instead
    #[arg(long, conflicts_with_all = ["json", "brief", "details"])]
    script: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// Judges the machine's settings and prints that, or a script that mends them. Changes nothing.
pub fn execute(args: &Args) -> CommandResult {
    let facts = facts::read(&Root::system());
    let cpus = match &args.cpus {
        Some(cpus) => cpus.clone(),
        None => cpus_to_check(&facts),
    };
    for cpu in cpus.iter() {
        check_cpu(&facts, cpu)?;
    }
    let report = check(&facts, &cpus);
    if args.script {
        let script = script::fix_script(&report).ok_or_else(|| {
            Error::not_measured("nothing here is put right by a change that can be taken back")
                .remedy("see jitterlab check --details")
        })?;
        output::print(&script)?;
        return Ok(Status::Fine);
    }
    args.output.show(&report)?;
    Ok(if report.is_ready() { Status::Fine } else { Status::RequirementFailed })
}
