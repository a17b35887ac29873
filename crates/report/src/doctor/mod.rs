//! Whether a computer is fit for what it is to drive, in plain words: the answer first, then why, what helped, what to do.

mod advice;
pub mod words;

use jitterlab_analysis::causes::TaskWhy;
use jitterlab_analysis::tune::{Figure, LeftOut, TuneResult};
use jitterlab_analysis::verdict::{PurposeVerdict, Untested};
use jitterlab_model::{Fitness, RunInfo};
use jitterlab_motion::doctor::{DoctorResult, DoctorStep, PurposeFound, Skipped};

use crate::chart::Terminal;
use crate::head::{self, Head};
use crate::motion::{servo_verdict, stepper_head};
use crate::purpose;
use crate::section::{Piece, Section};
use crate::words::{list, plural, time};
use crate::wrap::wrap;
use crate::{tune, why};

/// The three lines.
pub(crate) fn head(result: &DoctorResult) -> Head {
    let mut found: Vec<&PurposeFound> = result.purposes.iter().collect();
    // Where one is enough, the best is the answer; else the worst.
    found.sort_by_key(|found| found.last().fitness);
    if !result.any {
        found.reverse();
    }
    let each: Vec<String> = found
        .iter()
        .map(|found| {
            let verdict = found.last();
            format!("{} for {}", head::word(verdict.fitness), purpose::title(&verdict.purpose))
        })
        .collect();
    let settings = if result.after.is_some() { ", with the settings that helped" } else { "" };
    let verdict = format!("{}{}{settings}.", each.join("; "), measured(&result.before.run));
    let number = found.first().map_or_else(String::new, |found| decided(found.last()));
    let next = result
        .advice
        .first()
        .map_or_else(|| "what stands on the page".into(), |first| small(&advice::sentence(result, first)));
    Head { fitness: result.fitness, asked: true, verdict, number, next }
}

fn measured(run: &RunInfo) -> String {
    let length = run.measured_ns().map_or_else(String::new, |ns| format!("in {}", time(ns as f64)));
    let beside =
        if run.loads.is_empty() { "with nothing started beside it" } else { "while it was kept busy" };
    format!(", as seen {length} {beside}")
}

/// What decides about a purpose, or why that cannot be told.
fn decided(verdict: &PurposeVerdict) -> String {
    match (&verdict.decided_by, verdict.untested) {
        (_, Some(Untested::Policy)) => {
            "A real-time priority was refused, without which nothing can be told.".into()
        }
        (_, Some(Untested::Length { activations })) => {
            format!("Too short: it takes {activations} activations to tell.")
        }
        (Some(by), _) => purpose::plainly(by),
        _ => "It was not measured.".into(),
    }
}

/// The answer on the terminal, without the tables.
pub(crate) fn answer(result: &DoctorResult, terminal: Terminal) -> String {
    let mut told = told(result);
    told.iter_mut().for_each(|section| section.pieces.retain(|piece| matches!(piece, Piece::Text { .. })));
    text_of(&told, terminal)
}

/// The whole answer on the terminal.
pub(crate) fn text(result: &DoctorResult, terminal: Terminal) -> String {
    let further = sections(result).into_iter().skip(told(result).len());
    let further: String = further.map(|section| format!("\n{}", section.text(terminal))).collect();
    text_of(&told(result), terminal) + &further
}

fn text_of(told: &[Section], terminal: Terminal) -> String {
    let each = told.iter().map(|section| {
        format!("\n{}\n{}{}", section.title.to_uppercase(), wrap(&section.lead), section.text(terminal))
    });
    each.collect::<String>().trim_start_matches('\n').to_owned()
}

/// The same on the page, with everything that it rests on.
pub(crate) fn sections(result: &DoctorResult) -> Vec<Section> {
    let mut sections = told(result);
    sections.extend(result.tuned.as_ref().map(tune::section));
    sections.extend(result.stepper.last().map(crate::motion::stepper::section));
    sections.extend(result.servo.last().filter(|_| is_tested(result)).map(crate::motion::servo::section));
    sections
}

fn section(id: &str, title: &str, lead: impl Into<String>, pieces: Vec<Piece>) -> Section {
    Section { id: format!("doctor-{id}"), title: title.into(), lead: lead.into(), pieces }
}

fn told(result: &DoctorResult) -> Vec<Section> {
    [
        Some(fit(result)),
        Some(next(result)),
        Some(changed(result)),
        undo(result),
        left_out(result),
        late(result),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Whether what was measured says anything of the purposes: under an ordinary policy a loop would be judged by that alone.
fn is_tested(result: &DoctorResult) -> bool {
    result.purposes.iter().all(|found| found.before.untested.is_none())
}

/// For what it is fit, and how fast.
fn fit(result: &DoctorResult) -> Section {
    let mut pieces: Vec<Piece> = result
        .purposes
        .iter()
        .map(|found| {
            let of =
                |verdict: &PurposeVerdict| format!("{}. {}", head::word(verdict.fitness), decided(verdict));
            let title = capital(purpose::title(&found.before.purpose));
            Piece::said(match &found.after {
                None => format!("{title}: {}", of(&found.before)),
                Some(after) => format!(
                    "{title}: before {} With the settings that helped: {}",
                    of(&found.before),
                    of(after)
                ),
            })
        })
        .collect();
    let when = ["As it is", "With the settings that helped"];
    pieces.extend(result.stepper.iter().zip(when).map(|(axis, when)| {
        let head = stepper_head::head(axis);
        Piece::said(format!("How fast, stepped by software. {when}: {} {}", head.verdict, head.number))
    }));
    pieces.extend(result.servo.iter().filter(|_| is_tested(result)).zip(when).filter_map(|(servo, when)| {
        let head = servo_verdict::head(servo)?;
        Some(Piece::said(format!("The control loop. {when}: {} {}", head.verdict, head.number)))
    }));
    let is_virtual = result.check.machine.virtualisation.virtual_machine == Some(true);
    let lead = format!(
        "{}, under {}{}.",
        capital(&words::asked(&result.job, &result.way)),
        advice::kernel(result),
        if is_virtual { ", in a virtual machine: its host takes part in every figure" } else { "" }
    );
    section("decision", "Is this computer fit?", lead, pieces)
}

fn small(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Why it is late, where that was found out.
fn late(result: &DoctorResult) -> Option<Section> {
    let run = result.why.as_ref()?;
    // That one task of a control program comes before the other is meant so.
    let own = |of: &&TaskWhy| {
        let who = of.main_cause().and_then(|main| main.cause.who.as_deref());
        who.is_some_and(|who| run.run.tasks.iter().any(|task| task.spec.name == who))
    };
    let pieces = run.why.iter().filter(|of| !own(of)).flat_map(|of| {
        let said = why::head(of, &run.run).into_iter();
        let said = said.map(|sentence| Piece::said(format!("{}: {sentence}", of.task)));
        said.chain(why::piece(of)).collect::<Vec<_>>()
    });
    let lead = "What the kernel itself noted while starts were late.";
    Some(section("why", "Why is it late?", lead, pieces.collect()))
}

/// What was tried, and by how much it helped.
fn changed(result: &DoctorResult) -> Section {
    let lead = match (&result.tuned, result.skipped(DoctorStep::Tune)) {
        (Some(tuned), _) => tried(tuned, result.after.is_some()),
        (None, Some(why)) => format!("No setting was tried: {}.", words::left_out(why)),
        (None, None) => "No setting was tried.".into(),
    };
    let worth: Vec<_> = result.tuned.iter().flat_map(TuneResult::worth).collect();
    let pieces = worth.iter().map(|found| {
        let effect = found.effect(Figure::Tail).map_or_else(String::new, |effect| {
            format!(" ({} in its own measurements)", tune::change(Figure::Tail, effect.change))
        });
        Piece::said(format!("- {}{effect}", tune::words::does(found.offered.knob)))
    });
    section("changes", "What was tried, and did it help?", lead, pieces.collect())
}

fn tried(tuned: &TuneResult, measured_again: bool) -> String {
    let again = if measured_again { " Then all was measured again with it." } else { "" };
    let tried = tuned.knobs.len();
    let found = match &tuned.proven {
        Some(proven) if proven.holds => match tuned.worth().count() {
            1 if tried == 1 => "BETTER with it".into(),
            1 => "BETTER with one of them".into(),
            all if all == tried => "BETTER with all of them together".into(),
            some => format!("BETTER with {some} of them together"),
        },
        Some(proven) if tune::is_lower(proven) => {
            "NOT KEPT: most starts came less late with some of them, but the latest of all, or those missed, may be worse".into()
        }
        _ => tune::finding(tuned).1,
    };
    format!(
        "{} {} tried in turns, in {}. {found}.{}{again}",
        plural(tried as u64, "setting"),
        if tried == 1 { "was" } else { "were" },
        plural(tuned.blocks as u64, "short measurement"),
        figures(tuned)
    )
}

/// The figures of it, for whom a percentile says nothing.
fn figures(tuned: &TuneResult) -> String {
    let most = if tuned.tail == "p99.9" { "999 of 1000" } else { "99 of 100" };
    let proof = tuned.proven.as_ref().and_then(|proven| Some((proven, proven.change(Figure::Tail)?)));
    match (proof, &tuned.start) {
        (Some((proven, of)), _) => {
            let sure = of.effect.as_ref().map_or_else(String::new, |effect| {
                let [low, high] = effect.interval.map(|end| tune::change(Figure::Tail, end));
                format!(
                    ": {}, and with 95 % certainty between {low} and {high}",
                    tune::change(Figure::Tail, effect.change)
                )
            });
            format!(
                " {most} starts were no more than {} late without and {} with{sure} (in {} of measurements in turns).",
                time(of.start),
                time(of.tuned),
                plural(proven.pairs as u64, "pair")
            )
        }
        (None, Some(start)) => {
            let shows = tuned.scatter.zip(tuned.plan).map(|(scatter, plan)| tune::least(plan.shows(scatter)));
            let shows = shows.map_or_else(String::new, |least| {
                format!(" A setting that changes that by less than {least} would not have been found.")
            });
            format!(" {most} starts were no more than {} late.{shows}", time(start.tail_ns as f64))
        }
        (None, None) => String::new(),
    }
}

/// What to do next.
fn next(result: &DoctorResult) -> Section {
    let each = result.advice.iter().enumerate();
    let pieces =
        each.map(|(n, advice)| Piece::said(format!("{}. {}.", n + 1, advice::sentence(result, advice))));
    section("next", "What to do next", "The most useful first.", pieces.collect())
}

/// How to undo what was changed.
fn undo(result: &DoctorResult) -> Option<Section> {
    result.tuned.as_ref()?;
    let pieces = result.worth_keeping().then(|| {
        Piece::said(
            "If you copied the settings below / and want them gone: sudo jitterlab tune --revert /, then restart.",
        )
    });
    let lead = "Nothing was left changed: each setting was put back as soon as its measurement was over. If this program was \
                killed: sudo jitterlab restore.";
    Some(section("undo", "How to undo it", lead, pieces.into_iter().collect()))
}

/// What was left out, and why.
fn left_out(result: &DoctorResult) -> Option<Section> {
    let steps = result.steps.iter().filter_map(|taken| match &taken.skipped {
        None | Some(Skipped::Nothing) => None,
        Some(why) => Some(format!("{}: {}.", capital(words::step(taken.step)), words::left_out(why))),
    });
    let mut said: Vec<String> = steps.collect();
    if let Some(tuned) = &result.tuned {
        let of = |wanted: fn(&LeftOut) -> bool| -> Vec<String> {
            let left = tuned.left.iter().filter(|left| wanted(&left.why));
            left.map(|left| tune::words::does(left.knob).to_owned()).collect()
        };
        let refused = of(|why| matches!(why, LeftOut::Refused { .. }));
        if !refused.is_empty() {
            said.push(format!("Refused, and so not tried: {}.", list(&refused)));
        }
        let no_time = of(|why| matches!(why, LeftOut::NoTime));
        if !no_time.is_empty() {
            said.push(format!("Not tried for want of time (--budget): {}.", list(&no_time)));
        }
    }
    let refused = result.before.run.refused.iter();
    said.extend(refused.map(|refused| {
        format!("Refused while measuring: {} ({}). Remedy: {}.", refused.what, refused.why, refused.remedy)
    }));
    if said.is_empty() {
        return None;
    }
    let lead = match result.fitness {
        Fitness::Good => "The answer does not rest on these.",
        _ => "With these the answer may be another.",
    };
    let pieces = said.into_iter().map(Piece::said).collect();
    Some(section("left-out", "What was left out", lead, pieces))
}
