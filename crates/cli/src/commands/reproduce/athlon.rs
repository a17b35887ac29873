//! The Athlon report on this machine: its cells measured, as those of a matrix are.

use jitterlab_analysis::papers::athlon::AthlonReproduction;
use jitterlab_bench::host::facts::{self, Root};
use jitterlab_papers::athlon::{REPETITIONS, plan};
use jitterlab_papers::{Workplace, nist};
use jitterlab_report::papers::{Found, Step};

use crate::commands::matrix::OVERHEAD_NS;
use crate::exit::Failure;
use crate::matrix::{Index, Setting, measure_cells};

/// Measures what is missing, and NIST's figure 3 when nothing is.
pub fn reproduce(at: &mut Workplace<'_>) -> Result<Found, Failure> {
    let machine = facts::read(&Root::system());
    let mut index = match Index::read(at.directory)? {
        Some(index) => index,
        None => {
            let plan = plan(&machine)?;
            if let Some(reason) = plan.proposal.reason {
                (at.tell)(&Step::Chosen(reason));
            }
            let settings =
                plan.conditions.into_iter().map(|(name, loads)| Setting { name, loads, isolate: None });
            Index::new(plan.tasks, settings.collect(), at.duration_ns, plan.cells)
        }
    };
    measure_cells(&mut index, at.directory, OVERHEAD_NS, at.interrupted)?;
    let (tasks, duration_ns) = (index.tasks.clone(), index.duration_ns);
    let mut found =
        AthlonReproduction::of(machine, tasks, duration_ns, REPETITIONS, index.left(), index.matrix());
    if found.left == 0 {
        found.nist_figure_3 = Some(nist::loads(at, "nist-figure-3")?);
    }
    Ok(Found::Athlon(Box::new(found)))
}
