//! Requirements and claims in words: the outcome, and its evidence.

use jitterlab_analysis::outlook::{Outlook, TaskOutlook};
use jitterlab_analysis::require::{ClaimPlan, LimitBasis, Outcome, PlannedRun, Required, RequirementResult};

use jitterlab_model::Fitness;

use crate::junit::{self, TestCase};
use crate::section::{Cell, Piece};
use crate::warnings::gap_text;
use crate::words::{count, exact_time, share, time};

/// The requirements of all tasks with their outcomes; `None` without requirements.
pub(crate) fn table(tasks: &[TaskOutlook]) -> Option<Piece> {
    let named = |task: &TaskOutlook, of: &RequirementResult| match tasks {
        [_] => of.requirement.text.clone(),
        _ => format!("{}: {}", task.task, of.requirement.text),
    };
    let row = |task: &TaskOutlook, of: &RequirementResult| {
        let evidence = match of.unknown {
            Some(unknown) => format!("the source does not say {}", gap_text(unknown)),
            None => format!("{}.{}", evidence_clause(of), deciding_fact(of)),
        };
        let outcome = Cell::Verdict { fitness: fitness(of.outcome), text: outcome_word(of.outcome).into() };
        vec![named(task, of).into(), outcome, evidence.into()]
    };
    let rows = tasks.iter().flat_map(|task| task.requirements.iter().map(move |of| row(task, of)));
    let rows: Vec<Vec<Cell>> = rows.collect();
    (!rows.is_empty()).then(|| Piece::table("", &["requirement", "", "seen"], rows))
}

/// The outcome of a requirement in a line or two, the outcome first: for scripts and people.
pub fn outcome_line(task: &str, result: &RequirementResult) -> String {
    let required = &result.requirement.text;
    match result.unknown {
        Some(unknown) => format!(
            "unknown: {task}: {required}: the source does not say {}, so it cannot be decided.",
            gap_text(unknown)
        ),
        None => format!(
            "{}: {task}: {required}: {}.{}",
            outcome_word(result.outcome),
            evidence_clause(result),
            deciding_fact(result)
        ),
    }
}

pub(crate) fn fitness(outcome: Outcome) -> Fitness {
    match outcome {
        Outcome::Pass => Fitness::Good,
        Outcome::Fail => Fitness::Unfit,
        Outcome::NotEnoughData | Outcome::Unknown => Fitness::CannotTell,
    }
}

/// JUnit XML with a test case for each requirement of each task.
pub fn junit(suite: &str, decided: &Outlook) -> String {
    junit::test_suite_xml(suite, &[], &test_cases(decided))
}

pub(crate) fn test_cases(decided: &Outlook) -> Vec<TestCase> {
    let each = decided.tasks.iter().flat_map(|task| task.requirements.iter().map(move |of| (task, of)));
    let case = |(task, of): (&TaskOutlook, &RequirementResult)| TestCase {
        class: task.task.clone(),
        name: of.requirement.text.clone(),
        fitness: fitness(of.outcome),
        said: evidence_sentence(&task.task, of),
    };
    each.map(case).collect()
}

pub(crate) fn evidence_sentence(task: &str, result: &RequirementResult) -> String {
    match result.unknown {
        Some(unknown) => format!("{task}: the source does not say {}.", gap_text(unknown)),
        None => format!("{task}: {}.", evidence_clause(result)),
    }
}

/// Evidence on a claim so far, and the length of a run that would support it.
pub fn claim_sentence(task: &str, plan: &ClaimPlan) -> String {
    let claimed = &plan.now.requirement.text;
    format!("claim on {task}: {claimed}: {}. {}", evidence_clause(&plan.now), longer_run_sentence(plan))
}

fn outcome_word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "pass",
        Outcome::Fail => "FAIL",
        Outcome::NotEnoughData => "not enough data",
        Outcome::Unknown => "unknown",
    }
}

/// Clause on the number of values that broke a requirement, and their possible share.
fn evidence_clause(result: &RequirementResult) -> String {
    let (required, seen) = (&result.requirement, result.evidence);
    let upper = share(result.share_limits[1]);
    let broke = match (seen.broke, seen.may_have_broken) {
        (a, b) if a == b => count(a),
        (a, b) => format!("between {} and {}", count(a), count(b)),
    };
    let how = match required.subject {
        Required::Missed => "were missed".into(),
        _ if required.limit_breaks => format!("were {} or more", exact_time(required.limit_ns)),
        _ => format!("were above {}", exact_time(required.limit_ns)),
    };
    let what = if required.subject == Required::Missed { "due times" } else { "values" };
    let mut text = format!("{broke} of {} {what} {how}", count(seen.values));
    let basis = basis_text(result);
    if required.share > 0.0 {
        text += &format!(" (at most {upper}, {basis}; allowed: below {})", share(required.share));
    } else if result.outcome == Outcome::Pass {
        text += &format!("; that says, {basis}, that fewer than {upper} are");
    }
    text
}

/// Fact that only the user can know and that would decide it, if there is one.
fn deciding_fact(result: &RequirementResult) -> String {
    let [low, _] = result.share_limits;
    let undecided = result.basis == LimitBasis::Singly && result.outcome == Outcome::NotEnoughData;
    match result.passes_if_at_most {
        Some(together) => format!(
            " The run cannot say how many come together. It passes if never more than {} do: --burst-at-most {together}, \
             if that is known of this machine.",
            count(together)
        ),
        None if result.basis == LimitBasis::LongMemory && result.requirement.share > 0.0 => {
            " Slow and fast stretches come in every length, up to the whole run, so that one run does not decide a share: repeat it, or \
             require none (max, missed = 0)."
                .into()
        }
        None if undecided && low > result.requirement.share && result.requirement.share > 0.0 => {
            " That is more than allowed, but the run cannot say how many come together: one burst may be all of it. \
             Measure longer, keeping every activation; --burst-at-most says what is known of this machine."
                .into()
        }
        None => String::new(),
    }
}

/// Confidence of the limits, and the assumption behind it.
fn basis_text(result: &RequirementResult) -> String {
    match result.basis {
        LimitBasis::Bursts { effective } => {
            let together = result.evidence.may_have_broken as f64 / effective;
            let bursts = if together < 1.5 {
                String::new()
            } else {
                format!(", counted as {} bursts", count(effective.round() as u64))
            };
            format!("with 95 % confidence{bursts}")
        }
        LimitBasis::Singly | LimitBasis::LongMemory => "with 95 % confidence if they come singly".into(),
        LimitBasis::AtMost { together } => {
            format!("with 95 % confidence if no more than {} come together", count(together))
        }
    }
}

fn longer_run_sentence(plan: &ClaimPlan) -> String {
    let run = |run: &PlannedRun| format!("{} ({} values)", time(run.length_ns), count(run.values));
    match plan.now.outcome {
        Outcome::Pass => return "This run supports it already.".into(),
        Outcome::Fail => return "This run contradicts it: a longer one will not support it.".into(),
        Outcome::Unknown => return "No run of this source can support it.".into(),
        Outcome::NotEnoughData => {}
    }
    let singly = if plan.now.basis == LimitBasis::Singly { ", if they come singly" } else { "" };
    let mut text =
        format!("A run of {} in which nothing breaks it would support it{singly}", run(&plan.if_none_breaks));
    if plan.now.evidence.may_have_broken > 0 {
        text += &format!("; this run, made {} long, if nothing more breaks it", run(&plan.if_no_more_break));
        text += &match &plan.at_this_rate {
            Some(longer) => format!(", or {} if it goes on as it did", run(longer)),
            None => "; if it goes on as it did, it never will".into(),
        };
    }
    text += ".";
    if !singly.is_empty() {
        text += " Where up to D come together, D times as long: --burst-at-most D.";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_analysis::require::{Breaches, Evidence, Requirement};
    use jitterlab_model::Gap;

    fn requirement(text: &str) -> Requirement {
        text.parse().unwrap()
    }

    /// Breaches one by one, evenly over the run.
    fn singly(values: u64, broke: u64) -> Breaches {
        let mut all = Breaches::default();
        for k in 0..broke.max(1) {
            let (from, to) = (values * k / broke.max(1), values * (k + 1) / broke.max(1));
            let broke = broke.min(1);
            all.push(from, to - from, &Evidence { values: to - from, broke, may_have_broken: broke });
        }
        all
    }

    fn said(text: &str) -> String {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn an_outcome_comes_first_with_what_it_rests_on() {
        let judged = |text: &str, values, broke| {
            said(&outcome_line("main", &requirement(text).judge(&singly(values, broke), None)))
        };
        insta::assert_snapshot!(judged("missed = 0", 1_000, 0), @"pass: main: missed = 0: 0 of 1 000 due times were missed; that says, with 95 % confidence if they come singly, that fewer than 0.30 % are.");
        insta::assert_snapshot!(judged("missed = 0", 1_000, 1), @"FAIL: main: missed = 0: 1 of 1 000 due times were missed.");
        insta::assert_snapshot!(judged("p99.99 < 80us", 10_000, 0), @"not enough data: main: p99.99 < 80us: 0 of 10 000 values were 80 µs or more (at most 0.030 %, with 95 % confidence if they come singly; allowed: below 0.010 %).");
        insta::assert_snapshot!(said(&outcome_line("main", &requirement("missed = 0").judge(&Breaches::from_gap(Gap::Missed), None))), @"unknown: main: missed = 0: the source does not say which due times were missed, so it cannot be decided.");
    }

    #[test]
    fn a_claim_says_how_long_to_run() {
        let planned = |values, broke| {
            let claimed = requirement("p(latency>100us) < 1e-6");
            said(&claim_sentence("main", &claimed.plan(&singly(values, broke), None, 1_000_000).unwrap()))
        };
        insta::assert_snapshot!(planned(120_000, 0), @"claim on main: p(latency>100us) < 1e-6: 0 of 120 000 values were above 100 µs (at most 0.0025 %, with 95 % confidence if they come singly; allowed: below 1.00e-6). A run of 49.9 min (2 995 733 values) in which nothing breaks it would support it, if they come singly. Where up to D come together, D times as long: --burst-at-most D.");
        insta::assert_snapshot!(planned(10_000_000, 5), @"claim on main: p(latency>100us) < 1e-6: 5 of 10 000 000 values were above 100 µs (at most 1.05e-6, with 95 % confidence; allowed: below 1.00e-6). A run of 49.9 min (2 995 733 values) in which nothing breaks it would support it; this run, made 2.92 h (10 513 035 values) long, if nothing more breaks it, or 3.20 h (11 536 849 values) if it goes on as it did.");
        insta::assert_snapshot!(planned(1_000, 5), @"claim on main: p(latency>100us) < 1e-6: 5 of 1 000 values were above 100 µs (at most 1.1 %, with 95 % confidence; allowed: below 1.00e-6). This run contradicts it: a longer one will not support it.");
    }
}
