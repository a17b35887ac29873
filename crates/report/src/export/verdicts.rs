//! Decisions on a run as test cases: requirements, and purposes that it serves or not.

use jitterlab_analysis::verdict::{PurposeVerdict, Untested};
use jitterlab_model::Error;
use jitterlab_runs::{OutlookRequest, Run};

use super::ExportOptions;
use crate::junit::TestCase;
use crate::{conclusion, purpose, requirement};

/// A test case for each requirement and task, and for each purpose; fails if there are none.
pub(super) fn test_cases(run: &Run, tasks: &[usize], asked: &ExportOptions) -> Result<Vec<TestCase>, Error> {
    let all = run.info().tasks.len();
    let task = tasks.first().filter(|_| tasks.len() < all).map(|task| &*run.info().tasks[*task].spec.name);
    let mut cases = Vec::new();
    if !asked.requirements.is_empty() {
        let ExportOptions { requirements, burst_at_most, .. } = asked.clone();
        let outlook =
            run.outlook(task, &OutlookRequest { requirements, burst_at_most, ..OutlookRequest::default() })?;
        cases.extend(requirement::test_cases(&outlook));
    }
    if asked.purpose.is_some() || asked.requirements.is_empty() {
        let analysis = run.analysis(task, Vec::new(), false, asked.purpose)?;
        let purposes = analysis.verdict.iter().flat_map(|verdict| &verdict.purposes);
        // Purposes that no task has the period of were not in question, unless one was asked for.
        let wanted = purposes.filter(|of| asked.purpose.is_some() || of.untested != Some(Untested::Period));
        let case = |of: &PurposeVerdict| {
            let decided = of.decided_by.as_ref();
            TestCase {
                class: decided.map_or_else(|| run.label(), |decision| decision.task.clone()),
                name: of.purpose.clone(),
                fitness: of.fitness,
                said: match (of.untested, decided) {
                    (None, Some(decision)) => purpose::decision_sentence(&of.purpose, decision, 1),
                    _ => format!("{}.", conclusion::untested_reason(&analysis.run, std::slice::from_ref(of))),
                },
            }
        };
        cases.extend(wanted.map(case));
    }
    if cases.is_empty() {
        Err(Error::not_measured(format!(
            "{}: nothing to decide: no task has the period of a usual purpose, or its time \
             is a simulated one",
            run.path().display()
        ))
        .remedy("say what is required, as --require \"p99.9 < 80us\""))
    } else {
        Ok(cases)
    }
}
