//! Words of `doctor`: fitness for each purpose, next steps, settings that helped, causes.

mod advice;
pub mod words;

use jitterlab_analysis::causes::TaskWhy;
use jitterlab_analysis::tune::{Figure, LeftOut, TuneResult};
use jitterlab_analysis::verdict::{PurposeVerdict, Untested};
use jitterlab_model::{Fitness, RunInfo};
use jitterlab_motion::doctor::{ChangesSince, DoctorResult, DoctorStep, PurposeResult, SkipReason};

use crate::conclusion::{Conclusion, verdict_word};
use crate::document::Present;
use crate::motion::{servo_verdict, stepper_conclusion};
use crate::purpose;
use crate::section::{Piece, Section};
use crate::words::{capitalize, list, plural, share, time};
use crate::{caveats, tune, why};

impl Present for DoctorResult {
    const KIND: &'static str = "doctor";

    fn conclusion(&self) -> Option<Conclusion> {
        let mut found: Vec<&PurposeResult> = self.purposes.iter().collect();
        // If one purpose is enough, the best is the answer; else the worst.
        found.sort_by_key(|found| found.final_verdict().fitness);
        if !self.request.way.any {
            found.reverse();
        }
        let each: Vec<String> = found
            .iter()
            .map(|found| {
                let verdict = found.final_verdict();
                format!("{} for {}", verdict_word(verdict.fitness), purpose::title(&verdict.purpose))
            })
            .collect();
        let settings = if self.findings.after.is_some() { ", with the settings that helped" } else { "" };
        let verdict =
            format!("{}{}{settings}.", each.join("; "), measurement_clause(&self.findings.before.run));
        let mut number =
            found.first().map_or_else(String::new, |found| deciding_sentence(found.final_verdict()));
        if let Some(stop) = self.machine_stop() {
            number += &format!(" {}.", capitalize(&caveats::caveat_clause(&stop)));
        }
        if let Some((task, row)) = self.main_cause().filter(|_| self.fitness != Fitness::Good) {
            let (cause, share) = (why::cause_text(&row.cause), share(row.share_of_worst));
            let sure = why::certainty_text(row);
            number += &format!(
                " What made {} late most in the traced measurement: {cause}, {share} of its latest starts ({sure}).",
                task.task
            );
        }
        let next = self.advice.first().map_or_else(
            || "what stands on the page".into(),
            |first| with_lowercase_start(&advice::advice_sentence(self, first)),
        );
        Some(Conclusion { fitness: self.fitness, asked: true, verdict, number, next })
    }

    fn sections(&self) -> Vec<Section> {
        let mut sections = vec![decision_section(self), next_section(self)];
        sections.extend(self.since.as_ref().map(|since| since_section(self, since)));
        sections.push(changes_section(self));
        sections.extend(undo_section(self));
        sections.extend(left_out_section(self));
        sections.extend(lateness_section(self));
        let evidence = [
            self.findings.tuned.as_ref().map(|tuned| tuned.sections()),
            self.findings.stepper.last().map(|axis| vec![crate::motion::stepper::section(axis)]),
            self.findings
                .servo
                .last()
                .filter(|_| is_tested(self))
                .map(|servo| vec![crate::motion::servo::section(servo)]),
        ];
        let folded = |section: Section| Section {
            pieces: vec![Piece::details(section.title.clone(), section.pieces)],
            ..section
        };
        sections.extend(evidence.into_iter().flatten().flatten().map(folded));
        sections
    }
}

fn measurement_clause(run: &RunInfo) -> String {
    let length = run.measured_ns().map_or_else(String::new, |ns| format!("in {}", time(ns as f64)));
    let beside =
        if run.loads.is_empty() { "with nothing started beside it" } else { "while it was kept busy" };
    format!(", as seen {length} {beside}")
}

/// The number that decides about a purpose, or why it is unknown.
fn deciding_sentence(verdict: &PurposeVerdict) -> String {
    match (&verdict.decided_by, verdict.untested) {
        (_, Some(Untested::Policy)) => {
            "A real-time priority was refused, without which nothing can be told.".into()
        }
        (_, Some(Untested::Length { activations })) => {
            format!("Too short: it takes {activations} activations to tell.")
        }
        (Some(by), _) => purpose::plain_decision_sentence(by),
        _ => "It was not measured.".into(),
    }
}

fn doctor_section(id: &str, title: &str, lead: impl Into<String>, pieces: Vec<Piece>) -> Section {
    Section::new(format!("doctor-{id}"), title, lead, pieces)
}

/// True if the measurement judges all of the purposes, not an ordinary policy alone.
fn is_tested(result: &DoctorResult) -> bool {
    result.purposes.iter().all(|found| found.before.untested.is_none())
}

/// Purposes that the computer is fit for, and how fast.
fn decision_section(result: &DoctorResult) -> Section {
    let of = |verdict: &PurposeVerdict| {
        format!("{}. {}", verdict_word(verdict.fitness), deciding_sentence(verdict))
    };
    let purpose = |found: &PurposeResult| {
        let title = capitalize(purpose::title(&found.before.purpose));
        let verdict = match &found.after {
            None => of(&found.before),
            Some(after) => {
                format!("before {} With the settings that helped: {}", of(&found.before), of(after))
            }
        };
        (title, verdict)
    };
    let mut facts: Vec<(String, String)> = result.purposes.iter().map(purpose).collect();
    let when = ["as it is", "with the settings that helped"];
    let stop = result.machine_stop().is_some();
    let without = if stop { " What it does without that stop takes another measurement." } else { "" };
    facts.extend(result.findings.stepper.iter().zip(when).map(|(axis, when)| {
        let found = stepper_conclusion::conclusion(axis);
        (
            format!("Speed, stepped by software, {when}"),
            format!("{} {}{without}", found.verdict, found.number),
        )
    }));
    facts.extend(result.findings.servo.iter().filter(|_| is_tested(result)).zip(when).filter_map(
        |(servo, when)| {
            let found = servo_verdict::conclusion(servo)?;
            Some((format!("Control loop, {when}"), format!("{} {}", found.verdict, found.number)))
        },
    ));
    let is_virtual = result.findings.check.machine.virtualisation.virtual_machine == Some(true);
    let caption = format!(
        "{}, under {}{}.",
        capitalize(&words::request_text(result.request.job.name, result.request.way.name)),
        advice::kernel_clause(result),
        if is_virtual { ", in a virtual machine: its host takes part in every figure" } else { "" }
    );
    let lead = "Each purpose, and what decides it.";
    doctor_section("decision", "Is this computer fit?", lead, vec![Piece::facts(caption, facts)])
}

fn with_lowercase_start(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// Causes of late starts; `None` if they were not traced.
fn lateness_section(result: &DoctorResult) -> Option<Section> {
    let run = result.findings.why.as_ref()?;
    // A control program may intend that one of its tasks runs before another.
    let own = |of: &&TaskWhy| {
        let who = of.main_cause().and_then(|main| main.cause.who.as_deref());
        who.is_some_and(|who| run.run.tasks.iter().any(|task| task.spec.name == who))
    };
    let pieces = run.why.iter().filter(|of| !own(of)).flat_map(|of| {
        let said = why::main_sentences(of, &run.run).into_iter();
        let said = said.map(|sentence| Piece::text(format!("{}: {sentence}", of.task)));
        let causes = why::main_causes_piece(of)
            .map(|table| Piece::details(format!("Causes of {}", of.task), vec![table]));
        said.chain(causes).collect::<Vec<_>>()
    });
    let lead = "What the kernel itself noted while starts were late.";
    Some(doctor_section("why", "Why is it late?", lead, pieces.collect()))
}

/// Settings that were tried, and their effects.
fn changes_section(result: &DoctorResult) -> Section {
    let said = match (&result.findings.tuned, result.skip_reason(DoctorStep::Tune)) {
        (Some(tuned), _) => trials_text(tuned, result.findings.after.is_some()),
        (None, Some(why)) => format!("No setting was tried: {}.", words::skip_reason_text(why)),
        (None, None) => "No setting was tried.".into(),
    };
    let worth = result.findings.tuned.iter().flat_map(TuneResult::knobs_worth_keeping).map(|found| {
        let effect = found.effects.first().map_or_else(
            || "-".into(),
            |effect| format!("{} in its own measurements", tune::format_change(effect.change)),
        );
        (capitalize(tune::words::effect_text(found.offered.knob)), effect)
    });
    let facts: Vec<(String, String)> = worth.collect();
    let mut pieces = vec![Piece::text(said)];
    if !facts.is_empty() {
        pieces.push(Piece::facts("", facts));
    }
    let lead = "Settings were tried in turns; what helped was proven together.";
    doctor_section("changes", "What was tried, and did it help?", lead, pieces)
}

fn trials_text(tuned: &TuneResult, measured_again: bool) -> String {
    let again = if measured_again { " Then all was measured again with it." } else { "" };
    let tried = tuned.knobs.len();
    let found = match &tuned.proven {
        Some(proven) if proven.holds => match tuned.knobs_worth_keeping().count() {
            1 if tried == 1 => "BETTER with it".into(),
            1 => "BETTER with one of them".into(),
            all if all == tried => "BETTER with all of them together".into(),
            some => format!("BETTER with {some} of them together"),
        },
        Some(proven) if tune::is_lower(tuned, proven) => {
            "NOT KEPT: most starts came less late with some of them, but the latest of all, or those missed, may be worse".into()
        }
        _ => tune::verdict_sentence(tuned).1,
    };
    format!(
        "{} {} tried in turns, in {}. {found}.{}{again}",
        plural(tried as u64, "setting"),
        if tried == 1 { "was" } else { "were" },
        plural(tuned.blocks as u64, "short measurement"),
        figures_text(tuned)
    )
}

/// The figures of the settings, in words without percentiles.
fn figures_text(tuned: &TuneResult) -> String {
    let figure = tuned.deciding_figure();
    let value = |value: f64| tune::format_value(figure, value);
    let most = if tuned.tail == "p99.9" { "999 of 1000" } else { "99 of 100" };
    if let Some((proven, of)) =
        tuned.proven.as_ref().and_then(|proven| Some((proven, proven.change(figure)?)))
    {
        let sure = of.effect.as_ref().map_or_else(String::new, |effect| {
            let [low, high] = effect.interval.map(tune::format_change);
            format!(
                ": {}, and with 95 % certainty between {low} and {high}",
                tune::format_change(effect.change)
            )
        });
        let pairs = plural(proven.pairs as u64, "pair");
        let (start, with) = (value(of.start), value(of.tuned));
        return match figure {
            Figure::Missed => {
                format!(
                    " {start} of the starts were missed without and {with} with{sure} (in {pairs} of measurements in turns)."
                )
            }
            _ => format!(
                " {most} starts were no more than {start} late without and {with} with{sure} (in {pairs} of measurements in turns)."
            ),
        };
    }
    let Some(start) = &tuned.start else { return String::new() };
    let shows = tuned
        .scatter
        .zip(tuned.plan)
        .map(|(scatter, plan)| tune::least_change_text(plan.detectable_change(scatter)));
    let shows = shows.map_or_else(String::new, |least| {
        format!(" A setting that changes that by less than {least} would not have been found.")
    });
    match figure {
        Figure::Missed => {
            format!(
                " {} of the starts were missed.{shows}",
                value(start.missed as f64 / start.due.max(1) as f64)
            )
        }
        _ => format!(" {most} starts were no more than {} late.{shows}", value(start.tail_ns as f64)),
    }
}

/// Changes since the examination that this one continues.
fn since_section(result: &DoctorResult, since: &ChangesSince) -> Section {
    let restarted = match since.restarted {
        Some(true) => "The computer was restarted since the last examination here.",
        Some(false) => "The computer was not restarted since the last examination here.",
        None => "Whether the computer was restarted since the last examination here is not known.",
    };
    let of = |verdict: &PurposeVerdict| {
        format!("{}. {}", verdict_word(verdict.fitness), deciding_sentence(verdict))
    };
    let purpose = |before: &PurposeVerdict| {
        let now = result.purposes.iter().find(|found| found.before.purpose == before.purpose)?;
        let (then, now) = (of(before), of(&now.before));
        Some((capitalize(purpose::title(&before.purpose)), format!("then {then} Now {now}")))
    };
    let mut facts: Vec<(String, String)> = since.purposes.iter().filter_map(purpose).collect();
    let steps =
        |ids: &[String]| list(&ids.iter().map(|id| advice::check_title(result, id)).collect::<Vec<_>>());
    let named = [("First steps done since", &since.done), ("Still open", &since.open)];
    facts.extend(
        named.into_iter().filter(|(_, ids)| !ids.is_empty()).map(|(what, ids)| (what.into(), steps(ids))),
    );
    let note = "One start of each decides nothing: jitterlab tune --continue compares two ways to start it over several.";
    let pieces = vec![Piece::text(restarted), Piece::facts("", facts), Piece::note(note)];
    doctor_section(
        "since",
        "What changed since the last time?",
        "The same examination, before and now.",
        pieces,
    )
}

/// Advice, the most useful first.
fn next_section(result: &DoctorResult) -> Section {
    let sentence = |advice| Piece::note(format!("{}.", advice::advice_sentence(result, advice)));
    let pieces = result.advice.iter().map(sentence).collect();
    doctor_section("next", "What to do next", "The most useful first.", pieces)
}

fn undo_section(result: &DoctorResult) -> Option<Section> {
    result.findings.tuned.as_ref()?;
    let mut said = format!(
        "Nothing was left changed: each setting was put back as soon as its measurement was over. If this program was killed: {}.",
        advice::root_command(result, "jitterlab restore")
    );
    if result.has_setting_worth_keeping() {
        let restore = advice::root_command(result, "jitterlab restore --kept");
        said += &format!(" If you copied the settings below / and want them gone: {restore}, then restart.");
    }
    let lead = "Settings are put back by a journal, after a kill too.";
    Some(doctor_section("undo", "How to undo it", lead, vec![Piece::text(said)]))
}

/// Steps and settings that were left out, and why; `None` if there are none.
fn left_out_section(result: &DoctorResult) -> Option<Section> {
    let steps = result.findings.steps.iter().filter_map(|taken| match &taken.skipped {
        None | Some(SkipReason::Nothing) => None,
        Some(why) => Some((words::step_name(taken.step).to_owned(), words::skip_reason_text(why))),
    });
    let mut facts: Vec<(String, String)> = steps.collect();
    let not_tried = |why: &str, wanted: fn(&LeftOut) -> bool| {
        let left =
            result.findings.tuned.iter().flat_map(|tuned| &tuned.left).filter(|left| wanted(&left.why));
        let left: Vec<String> = left.map(|left| tune::words::effect_text(left.knob).to_owned()).collect();
        (!left.is_empty()).then(|| (why.to_owned(), list(&left)))
    };
    facts.extend(not_tried("refused, and so not tried", |why| matches!(why, LeftOut::Refused { .. })));
    facts.extend(not_tried("no time for it (--budget)", |why| matches!(why, LeftOut::NoTime)));
    let refused = result.findings.before.run.refused.iter();
    // What to do about it is said above, once.
    facts.extend(refused.map(|refused| (refused.what.clone(), format!("refused ({})", refused.why))));
    if facts.is_empty() {
        return None;
    }
    let caption = match result.fitness {
        Fitness::Good => "Left out; the answer does not rest on it:",
        _ => "Left out; with it the answer may be another:",
    };
    let facts = vec![Piece::facts(caption, facts)];
    Some(doctor_section("left-out", "What was left out", "What could not be done, and why.", facts))
}
