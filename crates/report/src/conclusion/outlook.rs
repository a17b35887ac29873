//! The conclusion of a prediction: the decision on requirements, or the bound of the largest latency.

use jitterlab_analysis::outlook::{Outlook, TaskOutlook};
use jitterlab_analysis::predict::{Condition, Prediction, PredictionCaveat};
use jitterlab_analysis::require::RequirementResult;
use jitterlab_model::Fitness;

use super::Conclusion;
use crate::requirement::{self, fitness};
use crate::words::{count, list, share, time};

/// Conclusion about the requirements, else about the prediction; `None` without either.
pub(crate) fn outlook_conclusion(outlook: &Outlook) -> Option<Conclusion> {
    let conclusion = requirement_conclusion(outlook).or_else(|| prediction_conclusion(outlook))?;
    Some(Conclusion { next: super::with_saved_input(conclusion.next, &outlook.file), ..conclusion })
}

/// Conclusion about the requirements, that of the worst; `None` if there are none.
pub(super) fn requirement_conclusion(outlook: &Outlook) -> Option<Conclusion> {
    let each = outlook.tasks.iter().flat_map(|task| task.requirements.iter().map(move |of| (task, of)));
    let all: Vec<(&TaskOutlook, &RequirementResult)> = each.collect();
    let worst = all.iter().map(|(_, of)| fitness(of.outcome)).max()?;
    let (task, deciding) = all.iter().find(|(_, of)| fitness(of.outcome) == worst)?;
    let named: Vec<String> = all
        .iter()
        .filter(|(_, of)| fitness(of.outcome) == worst)
        .map(|(task, of)| format!("{} of {}", of.requirement.text, task.task))
        .collect();
    let verdict = match worst {
        Fitness::Unfit => format!("BROKEN: {}.", list(&named)),
        Fitness::CannotTell => format!("CANNOT TELL whether {} is met.", list(&named)),
        _ => format!("MET with 95 % confidence: {}.", list(&named)),
    };
    let next = match (worst, deciding.unknown) {
        (Fitness::Unfit, _) => {
            format!("jitterlab analyze {} (what makes it late)", super::file_argument(&outlook.file))
        }
        (Fitness::CannotTell, Some(_)) => "jitterlab run, which tells what this source does not".into(),
        (Fitness::CannotTell, None) => match deciding.passes_if_at_most {
            Some(together) => format!(
                "a longer run, or --burst-at-most {together} where it is known that no more come together"
            ),
            None => format!(
                "jitterlab predict --claim \"{}\" {} (how long to measure)",
                deciding.requirement.text,
                super::file_argument(&outlook.file)
            ),
        },
        _ => format!("jitterlab predict {} (how much worse it can get)", super::file_argument(&outlook.file)),
    };
    let number = requirement::evidence_sentence(&task.task, deciding);
    Some(Conclusion { fitness: worst, asked: true, verdict, number, next })
}

/// Conclusion about the latest task without a bound, else the one with the largest; `None` without a prediction.
fn prediction_conclusion(outlook: &Outlook) -> Option<Conclusion> {
    let foretold = || outlook.tasks.iter().filter_map(|task| Some((&task.task, task.prediction.as_ref()?)));
    let bound = |of: &Prediction| of.bound.as_ref().map(|bound| bound.bound_ns);
    let without = foretold().filter(|(_, of)| of.bound.is_none());
    let (task, found) = without.max_by_key(|(_, of)| of.facts.observed_max_ns).or_else(|| {
        foretold().max_by(|a, b| f64::total_cmp(&bound(a.1).unwrap_or(0.0), &bound(b.1).unwrap_or(0.0)))
    })?;
    let facts = &found.facts;
    let ahead = time(facts.horizon_ns);
    let seen = time(facts.observed_max_ns as f64);
    let file = super::file_argument(&outlook.file);
    let far = found.caveats.iter().find_map(|caveat| match caveat {
        PredictionCaveat::FarHorizon { needed_run_ns, .. } => Some(*needed_run_ns),
        _ => None,
    });
    let bounded = |bound: f64| {
        format!(
            "BOUNDED if no kind of event comes that did not come in these {}: {task} stays below {} for the next {ahead}.",
            time(facts.run_ns),
            time(bound)
        )
    };
    let (fitness, verdict, next) = match (bound(found), far) {
        (Some(bound), None) => (
            Fitness::Good,
            bounded(bound),
            format!("jitterlab report {file} -o page.html (to look at, and to send)"),
        ),
        (Some(bound), Some(needed_ns)) => (
            Fitness::Limited,
            bounded(bound),
            format!("measure for {}, to look ahead that far", time(needed_ns)),
        ),
        (None, _) => (
            Fitness::CannotTell,
            format!("CANNOT TELL the worst start of {task} in the next {ahead}."),
            longer_run_advice(found, facts.run_ns, facts.count)
                .unwrap_or_else(|| format!("jitterlab analyze {file} (why no bound can be given)")),
        ),
    };
    let number = match found.bound {
        Some(_) => format!(
            "With 95 % probability at 95 % confidence, if it goes on as in this run; so far at most {seen}."
        ),
        None => format!(
            "Worst so far {seen}; if all goes on alike, a later one comes with a chance of {}.",
            share(1.0 - facts.p_max_holds)
        ),
    };
    Some(Conclusion { fitness, asked: false, verdict, number, next })
}

/// Time to measure, if the length of the run alone prevents a bound; else `None`.
fn longer_run_advice(found: &Prediction, run_ns: f64, activations: u64) -> Option<String> {
    let mut failed = found.gates.iter().filter(|gate| !gate.passed);
    let size = failed.next().filter(|gate| matches!(gate.condition, Condition::Size { clustered: None }))?;
    let needed = size.critical * 100.0;
    let per_ns = run_ns / activations.max(1) as f64;
    if activations as f64 >= needed {
        // It is long enough: only the single values of the largest latencies are missing.
        return Some(
            "jitterlab run, or the same tool with a histogram that holds all latencies (cyclictest -h 400)"
                .into(),
        );
    }
    failed.next().is_none().then(|| {
        format!("measure for {} or longer ({} activations)", time(needed * per_ns), count(needed as u64))
    })
}
