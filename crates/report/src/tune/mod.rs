//! Words of `tune`: the plan before it begins, and the result.

pub mod boots;
pub mod kept_files;
pub mod words;

use jitterlab_analysis::tune::{
    Effect, Figure, LeftOut, SettingVerdict, SettingsProof, TuneNote, TunePlan, TuneResult,
};
use jitterlab_model::causes::CauseClass;
use jitterlab_model::units::Human;
use jitterlab_model::{Fitness, Watched};

use crate::chart::{Axis, Chart, Layer, Shape};
use crate::conclusion::{self, Conclusion};
use crate::document::Present;
use crate::purpose;
use crate::section::{Cell, Piece, Section};
use crate::warnings;
use crate::words::{count, list, plural, share, time};

/// The plan, and the least change that it decides.
pub fn plan_sentence(plan: &TunePlan, tail: &str, knobs: &[jitterlab_model::Knob]) -> String {
    let names: Vec<String> = knobs.iter().map(ToString::to_string).collect();
    let pilot = plan.pilot;
    let longer = match plan.detectable_change(pilot.spread_upper_limit()) > 2.0 {
        true => "; a longer --budget finds smaller changes",
        false => "",
    };
    format!(
        "trying {} one at a time for up to {}: up to {} of blocks of {}, then up to {} of blocks to prove what helped\n\
         a setting counts as helping if it changes {} by {} or more, all of them together by {}: {} blocks of the start differ by \
         {}, and should that be {} later, it takes {}{longer}\n\
         everything is put back after each block; if this program is killed: jitterlab restore",
        list(&names),
        Human(plan.budget_ns as f64),
        plural(plan.rounds as u64, "round"),
        Human(plan.block_ns as f64),
        plural(plan.pairs as u64, "pair"),
        figure_name(pilot.figure, tail),
        least_change_text(plan.detectable_change(pilot.spread)),
        least_change_text(plan.detectable_change_of_proof(pilot.spread)),
        pilot.blocks,
        least_change_text(pilot.spread.exp_m1()),
        least_change_text(pilot.spread_upper_limit().exp_m1()),
        least_change_text(plan.detectable_change(pilot.spread_upper_limit())),
    )
}

pub(crate) fn least_change_text(share: f64) -> String {
    if share >= 1.0 { format!("a factor of {:.1}", 1.0 + share) } else { percent(share) }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// A change with its sign, in percent; a large one as a factor.
pub(crate) fn format_change(value: f64) -> String {
    match value {
        value if value >= 10.0 => format!("x {value:.0}"),
        value if value < 1e-3 => format!("x 1/{:.0}", 1.0 / value),
        value => format!("{:+.1} %", 100.0 * (value - 1.0)),
    }
}

fn format_interval(effect: &Effect) -> String {
    let [low, high] = effect.interval.map(format_change);
    format!("{low} to {high}")
}

fn figure_name(figure: Figure, tail: &str) -> &str {
    match figure {
        Figure::Tail => tail,
        Figure::Maximum => "max",
        Figure::Missed => "missed",
    }
}

fn deciding_figure_name(result: &TuneResult, figure: Figure) -> &str {
    figure_name(figure, &result.tail)
}

pub(crate) fn format_value(figure: Figure, value: f64) -> String {
    match figure {
        Figure::Missed => share(value),
        _ => time(value),
    }
}

impl Present for TuneResult {
    const KIND: &'static str = "tune";

    fn conclusion(&self) -> Option<Conclusion> {
        Some(conclusion(self))
    }

    fn sections(&self) -> Vec<Section> {
        vec![section(self)]
    }
}

fn conclusion(result: &TuneResult) -> Conclusion {
    let (usual, finding) = verdict_sentence(result);
    let (fitness, verdict) = match (result.fitness(), &result.purpose) {
        (Some(fitness), Some(purpose)) => (
            fitness,
            format!("{} for {}: {finding}.", conclusion::verdict_word(fitness), purpose::title(purpose)),
        ),
        _ => (usual, finding + "."),
    };
    Conclusion {
        fitness,
        asked: result.purpose.is_some(),
        verdict,
        number: key_figure_sentence(result),
        next: next_step(result),
    }
}

/// Fitness and verdict on the settings, whatever the purpose.
pub(crate) fn verdict_sentence(result: &TuneResult) -> (Fitness, String) {
    let kept: Vec<String> =
        result.knobs_worth_keeping().map(|found| found.offered.knob.to_string()).collect();
    let figure = deciding_figure_name(result, result.deciding_figure());
    match &result.proven {
        Some(proven) if proven.holds => (Fitness::Good, format!("BETTER with {}", list(&kept))),
        Some(proven) if is_lower(result, proven) => {
            let others: Vec<&str> = Figure::ALL
                .into_iter()
                .filter(|of| *of != result.deciding_figure())
                .map(|of| deciding_figure_name(result, of))
                .collect();
            let others = others.join(" or ");
            (Fitness::CannotTell, format!("NOT KEPT: {figure} is lower, but {others} may be higher"))
        }
        Some(_) => (Fitness::CannotTell, "NOT PROVEN: nothing is worth keeping".into()),
        None if result.knobs.is_empty() => (Fitness::CannotTell, "NOTHING TRIED".into()),
        None => (Fitness::CannotTell, "NO HELP FOUND: nothing is worth keeping".into()),
    }
}

/// True if the deciding figure is shown to be lower with the settings, by its interval.
pub(crate) fn is_lower(result: &TuneResult, proven: &SettingsProof) -> bool {
    let effect = proven.change(result.deciding_figure()).and_then(|of| of.effect);
    effect.is_some_and(|effect| effect.real && effect.change < 1.0)
}

pub(crate) fn key_figure_sentence(result: &TuneResult) -> String {
    let figure = result.deciding_figure();
    let named = deciding_figure_name(result, figure);
    if let Some(proven) = &result.proven
        && let Some(of) = proven.change(figure)
    {
        let change = of.effect.as_ref().map_or_else(String::new, |effect| {
            format!(" ({}, {} with 95 %)", format_change(effect.change), format_interval(effect))
        });
        let pairs = plural(proven.pairs as u64, "pair");
        return format!(
            "{named} {} before, {} after{change}, {pairs} of blocks.",
            format_value(figure, of.start),
            format_value(figure, of.tuned)
        );
    }
    let seen = result.start.as_ref().map(|start| match figure {
        Figure::Missed => share(start.missed as f64 / start.due.max(1) as f64),
        _ => time(start.tail_ns as f64),
    });
    match (seen, result.scatter.zip(result.plan)) {
        (Some(seen), Some((scatter, plan))) => format!(
            "{named} {seen}; blocks differ by {}, so changes below {} would not be found in {}.",
            percent(scatter.exp_m1()),
            least_change_text(plan.detectable_change(scatter)),
            plural(result.rounds as u64, "round")
        ),
        (Some(seen), None) => format!("{named} {seen}; too little was measured to judge."),
        (None, _) => format!("{} of {} settings could be tried.", result.knobs.len(), result.left.len()),
    }
}

fn next_step(result: &TuneResult) -> String {
    let refused = result.left.iter().any(|left| matches!(left.why, LeftOut::Refused { .. }));
    match &result.proven {
        Some(proven) if proven.holds => "the same command with --keep /, which keeps what helped".into(),
        _ if result.knobs.is_empty() && refused => "the same as root: settings of the machine need it".into(),
        _ if result.notes.contains(&TuneNote::Interrupted) => {
            "the same command, which goes on from here".into()
        }
        _ if is_delay_from_outside(result) => {
            "no setting here ends it: most of the lateness comes from outside this kernel, from its host or firmware (jitterlab run \
             --why)"
                .into()
        }
        Some(_) => "the same command with a longer --budget".into(),
        None if result.knobs.iter().any(|found| found.judgement == SettingVerdict::Undecided) => {
            "the same command with a longer --budget, or jitterlab run --why for what makes it late".into()
        }
        None if !result.restart.is_empty() => {
            "jitterlab tune --continue, for what needs a restart (--details lists it), or jitterlab run --why"
                .into()
        }
        None => "jitterlab run --why: what makes it late".into(),
    }
}

/// True if most of the worst starts' delay came from outside this kernel, where no setting of it helps.
fn is_delay_from_outside(result: &TuneResult) -> bool {
    let main = result.why.as_ref().and_then(|why| why.main_cause());
    main.is_some_and(|main| main.cause.class == CauseClass::Outside && main.share_of_worst > 0.5)
}

fn tuned_task_text(result: &TuneResult) -> String {
    let of = |watched: &Watched| format!(" (thread {} of {}, watched)", watched.thread, watched.program);
    format!("{}{}", result.task, result.watched.as_ref().map_or_else(String::new, of))
}

/// The proof, the settings worth keeping, the table, and the knobs that were not tried.
fn section(result: &TuneResult) -> Section {
    let mut pieces: Vec<Piece> =
        result.proven.iter().flat_map(|proven| proof_pieces(result, proven)).collect();
    pieces.extend(facts_piece(
        "Smallest set that keeps the gain",
        result.knobs_worth_keeping().map(|found| {
            let steps: Vec<String> = found.offered.steps.iter().map(words::step_text).collect();
            let what = format!("{}: {}", words::effect_text(found.offered.knob), steps.join(", "));
            (found.offered.knob.to_string(), format!("{what}; {}", words::tried_reason(found)))
        }),
    ));
    pieces.extend(table(result));
    pieces.extend(result.notes.iter().map(|note| Piece::note(note_sentence(result, note))));
    let mut folded = vec![Piece::text(format!(
        "Each setting was compared with blocks without it, in turns. The intervals of {} hold all at once with 95 %; max and missed \
         are listed without a verdict.",
        deciding_figure_name(result, result.deciding_figure())
    ))];
    let reasons =
        result.knobs.iter().map(|found| (found.offered.knob.to_string(), words::tried_reason(found)));
    folded.extend(facts_piece("Why each was tried", reasons));
    folded.extend(chart(result).map(Piece::Figure));
    folded.extend(result.why.iter().flat_map(|why| {
        let what = format!("What made {} late before anything was set:", why.task);
        std::iter::once(Piece::text(what)).chain(crate::why::main_causes_piece(why))
    }));
    let left = result.left.iter().map(|left| (left.knob.to_string(), words::untried_reason(&left.why)));
    folded.extend(facts_piece("Not tried", left));
    folded.extend(facts_piece(boots::RESTARTS, result.restart.iter().map(boots::reboot_setting_row)));
    pieces.push(Piece::details("How sure each is, and what was not tried", folded));
    pieces.extend(kept_files::kept_files_pieces(result));
    Section::new(
        "settings",
        "Settings that help",
        "Each setting was tried on the same start, one at a time and in turns; what helped was kept for the rest, and the \
         smallest set measured against the start.",
        pieces,
    )
}

/// Table of each setting's effect on the figures; `None` if none was tried.
fn table(result: &TuneResult) -> Option<Piece> {
    let figure = result.deciding_figure();
    let others: Vec<Figure> = Figure::ALL.into_iter().filter(|other| *other != figure).collect();
    let mut header = vec!["", deciding_figure_name(result, figure), "between"];
    header.extend(others.iter().map(|other| deciding_figure_name(result, *other)));
    header.push("so it");
    let with_base = result.knobs.iter().any(|found| !found.beside.is_empty());
    header.extend(with_base.then_some("beside"));
    let rows = result.knobs.iter().map(|found| {
        let cell =
            |of: Figure| Cell::optional(found.effect(of), |effect| Cell::Text(format_change(effect.change)));
        let mut row = vec![
            Cell::Text(found.offered.knob.to_string()),
            cell(figure),
            Cell::optional(found.effect(figure), |effect| Cell::Text(format_interval(effect))),
        ];
        row.extend(others.iter().map(|other| cell(*other)));
        row.push(words::verdict_cell(found.judgement));
        let beside: Vec<String> = found.beside.iter().map(ToString::to_string).collect();
        row.extend(with_base.then(|| Cell::Text(beside.join(", "))));
        row
    });
    let caption = format!(
        "what each setting does to {}, one at a time in {} of {} blocks; below 0 is better",
        tuned_task_text(result),
        plural(result.rounds as u64, "round"),
        count(result.blocks as u64)
    );
    (!result.knobs.is_empty()).then(|| Piece::table(caption, &header, rows))
}

/// Facts under a caption; `None` if there are none.
fn facts_piece(caption: &str, facts: impl Iterator<Item = (String, String)>) -> Option<Piece> {
    let facts: Vec<(String, String)> = facts.collect();
    (!facts.is_empty()).then(|| Piece::facts(caption, facts))
}

fn proof_pieces(result: &TuneResult, proven: &SettingsProof) -> Vec<Piece> {
    let knobs: Vec<String> = proven.knobs.iter().map(ToString::to_string).collect();
    let rows = proven.changes.iter().map(|of| {
        let value = |value: f64| match of.figure {
            Figure::Missed => Cell::Share(value),
            _ => Cell::time(value),
        };
        let effect = of.effect.as_ref();
        vec![
            Cell::from(deciding_figure_name(result, of.figure)),
            value(of.start),
            value(of.tuned),
            Cell::optional(effect, |effect| Cell::Text(format_change(effect.change))),
            Cell::optional(effect, |effect| Cell::Text(format_interval(effect))),
        ]
    });
    let caption = format!(
        "with {} and without, {} of blocks in turns (medians)",
        list(&knobs),
        plural(proven.pairs as u64, "pair")
    );
    let header = ["µs", "before", "after", "change", "between, 95 %"];
    let mut pieces = vec![Piece::table(caption, &header, rows)];
    let verdicts =
        [("Worst block before", &proven.start_verdict), ("Worst block after", &proven.tuned_verdict)];
    let said = verdicts.into_iter().filter_map(|(when, verdict)| {
        let verdict = verdict.as_ref()?;
        let why = verdict.decided_by.as_ref().map(|by| purpose::decision_sentence(&verdict.purpose, by, 1));
        Some((
            when.to_owned(),
            format!("{}. {}", conclusion::verdict_word(verdict.fitness), why.unwrap_or_default()),
        ))
    });
    pieces.extend(facts_piece("", said));
    pieces
}

/// Chart of each setting's effect with its interval, as a factor on a logarithmic axis; `None` without effects.
fn chart(result: &TuneResult) -> Option<Chart> {
    let figure = result.deciding_figure();
    let seen: Vec<_> =
        result.knobs.iter().filter_map(|found| Some((found.offered.knob, found.effect(figure)?))).collect();
    if seen.is_empty() {
        return None;
    }
    let rows = seen.iter().enumerate().map(|(at, (_, effect))| {
        let [low, high] = effect.interval;
        [at as f64, low, effect.change, high]
    });
    Some(Chart {
        name: "settings".into(),
        caption: format!(
            "{} with each setting over that without it, and its interval: below 1 the task is more regular, and what crosses 1 \
             is not decided. A half and the double lie equally far from 1.",
            deciding_figure_name(result, figure)
        ),
        x: Axis::names("setting", seen.iter().map(|(knob, _)| knob.to_string())),
        y: Axis::log(format!("{} with / without", deciding_figure_name(result, figure))),
        layers: vec![
            Layer::new("", 5, Shape::Level(1.0)),
            Layer::new("change", 0, Shape::Intervals(rows.collect())),
        ],
        height: 320,
    })
}

fn note_sentence(result: &TuneResult, note: &TuneNote) -> String {
    match note {
        TuneNote::Machine { warning } => warnings::warning_sentence(warning),
        TuneNote::Interrupted => "Interrupted: judged is what whole rounds until then say.".into(),
        TuneNote::Slower { planned_ns, took_ns } => {
            let of = |measured: usize, planned: Option<usize>, what: &str| match planned {
                Some(planned) => format!("{measured} of {}", plural(planned as u64, what)),
                None => plural(measured as u64, what),
            };
            let pairs = result.proven.as_ref().map_or_else(String::new, |proven| {
                format!(", and {} of the proof", of(proven.pairs, result.plan.map(|plan| plan.pairs), "pair"))
            });
            format!(
                "A block took {} in the mean, where {} was planned, so fewer fitted into the time: {}{pairs}.",
                time(*took_ns as f64),
                time(*planned_ns as f64),
                of(result.rounds, result.plan.map(|plan| plan.rounds), "round"),
            )
        }
        TuneNote::HostTook { repeated } => format!(
            "The host took the processor during {}: discarded and repeated, since they say nothing of the settings.",
            plural(*repeated as u64, "short measurement")
        ),
        TuneNote::OthersMeasure { programs } => format!(
            "Measured at the same time: {}. Each delays the other: end it, and repeat the command.",
            list(programs)
        ),
        TuneNote::NotRestored { what } => {
            format!("Could not be put back: {what}. Run jitterlab restore as root.")
        }
    }
}

#[cfg(test)]
mod tests;
