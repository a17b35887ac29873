//! Several loops of one run: the joint effect of each plant's tasks.

use jitterlab_motion::servo::{PlantOfLoops, PlantUnderRun, ServoLoops, TaskOfLoops};

use super::servo_verdict::{asked, deciding, is_asked, not_known, reason};
use super::{servo_charts, servo_redesign, servo_tables as tables};
use crate::chart::Terminal;
use crate::head::{Head, word};
use crate::section::{Piece, Section};
use crate::table::columns;
use crate::words::{count, exact, time};
use crate::wrap::wrap;

/// The loops of a task in a few words.
fn loops(task: &TaskOfLoops) -> String {
    let named = task.loops.iter().map(|l| match &l.name {
        Some(name) => format!("{name} ({})", l.controller),
        None => l.controller.clone(),
    });
    named.collect::<Vec<_>>().join(", ")
}

/// A plant in a few words.
fn described(plant: &PlantOfLoops) -> String {
    let tasks = plant.tasks.iter().map(|t| format!("{} every {}", loops(t), exact(t.period_ns)));
    format!("{}: {}", plant.plant, tasks.collect::<Vec<_>>().join("; "))
}

/// The three lines; none without a run.
pub(crate) fn head(result: &ServoLoops) -> Option<Head> {
    use jitterlab_model::Fitness;
    let (plant, under) = result.worst()?;
    let fitness = under.verdict.fitness;
    let capital = word(fitness);
    let several = if result.plants.len() > 1 { "the worst of the plants" } else { "the plant" };
    let verdict = match fitness {
        Fitness::Good => format!("{capital} for {}.", plant.plant),
        _ if is_asked(under.verdict.sides.first()) => format!("{capital} for {}.", plant.plant),
        Fitness::Limited => {
            format!("{capital}: the loops of {} can be closed, and it costs something.", plant.plant)
        }
        Fitness::CannotTell => {
            format!("{capital} for {}: {}.", plant.plant, not_known(&under.verdict.sides, "its loops"))
        }
        Fitness::Unfit if result.run.is_none() => {
            format!("{capital}: do not close the loops of {} with these times.", plant.plant)
        }
        Fitness::Unfit => format!("{capital}: do not close the loops of {} on this machine.", plant.plant),
    };
    let verdict = verdict + &asked(&under.verdict.sides);
    let deciding =
        deciding(&under.verdict.sides).map_or(String::new(), |s| reason(s, Some(&under.evaluation)));
    let number = format!("For {several}, {deciding}.{}", super::timing_alone(result.run.as_ref(), fitness));
    let alone = plant.tasks.iter().filter_map(|t| Some((t.alone?, t)));
    let next = match (alone.max_by(|a, b| a.0.total_cmp(&b.0)), fitness) {
        (_, Fitness::Good) if result.run.is_none() => {
            "jitterlab run, and the same with its run file".to_owned()
        }
        (_, Fitness::Good) => "nothing needs to be done for it".to_owned(),
        (Some((_, task)), _) if result.run.is_none() => {
            format!("shorten the work of task {} first, whose timing costs most", task.name)
        }
        (None, _) if result.run.is_none() => {
            "shorter jobs, a longer period, or another overrun action".to_owned()
        }
        (Some((_, task)), _) => {
            format!("look at task {} first, whose timing costs most: jitterlab analyze --task {0}", task.name)
        }
        (None, _) => "find what makes it late with jitterlab analyze".to_owned(),
    };
    Some(Head { fitness, asked: true, verdict, number, next })
}

/// Everything below the head, readable at 80 columns.
pub(crate) fn text(result: &ServoLoops, terminal: Terminal) -> String {
    let mut parts: Vec<String> = Vec::new();
    if !result.given.is_empty() {
        parts.push(wrap(&given(result)));
    }
    parts.extend(result.plants.iter().map(of_plant));
    if let Some(run) = &result.run {
        parts.push(super::caveats_text(&super::of_run(run)).trim_start_matches('\n').to_owned());
    }
    parts.push(terminal.figures(&servo_charts::of_loops(result)));
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

fn of_plant(plant: &PlantOfLoops) -> String {
    let mut parts = vec![wrap(&format!("{}.", described(plant)))];
    if let Some(under) = &plant.under {
        parts.push(tables::costs(&under.evaluation));
        parts.push(wrap(&exactness(under)));
        parts.push(actions(under));
        parts.push(misses(under));
    } else {
        parts.push(wrap(&format!(
            "Punctual and with no work to do it costs {}.",
            tables::cost(plant.ideal.cost)
        )));
    }
    parts.push(tasks(plant));
    if let Some(under) = plant.under.as_ref().filter(|under| !under.responses.is_empty()) {
        let heading = "What the outer loops are asked to follow, through the worst event:\n".to_owned();
        parts.push(heading + &under.responses.iter().map(tables::followed).collect::<String>());
    }
    if let Some(under) = plant.under.as_ref().filter(|under| !under.redesigns.is_empty()) {
        parts.push(servo_redesign::text(&under.redesigns));
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

/// Cost of each overrun action.
fn actions(under: &PlantUnderRun) -> String {
    tables::actions(&under.actions, under.evaluation.ideal.cost)
        + &wrap(
            "If all of these tasks took it; each waits and works as it did at the same time. A grid that begins anew after a late job \
             is not among them: tasks of several periods would never be due together again.",
        )
}

/// Stability proved for any sequence with these numbers of misses.
fn misses(under: &PlantUnderRun) -> String {
    let proved = tables::misses(under.misses_seen.iter().chain(&under.misses));
    if proved.is_empty() {
        return proved;
    }
    let missed = if under.tasks.len() > 1 {
        "missed where any of these tasks writes less often than it is due"
    } else {
        "missed where no output comes"
    };
    proved
        + &wrap(&format!(
            "These jobs: {} cycles, evenly from all. A period here is {}, {missed}.",
            count(under.shown),
            exact(under.misses_period_ns)
        ))
}

/// Execution times that were given instead of a run.
fn given(result: &ServoLoops) -> String {
    let tasks =
        result.given.iter().map(|g| format!("{} every {} works {}", g.name, exact(g.period_ns), g.execution));
    format!(
        "{}. One processor; the task of the shorter period goes first and interrupts the others. Execution times are drawn by these \
         shares.",
        tasks.collect::<Vec<_>>().join(", ")
    )
}

/// Explains how the figures were computed.
fn exactness(under: &PlantUnderRun) -> String {
    let of = if under.computed < under.cycles {
        format!("{} of {}", count(under.computed), count(under.cycles))
    } else {
        count(under.cycles)
    };
    format!(
        "Random order: {of} cycles of all tasks together, each from a time at which all are due and none is at work to the next ({} in \
         time).",
        exact(under.common_ns)
    )
}

/// Each task: its timing, its cost alone, its margin.
fn tasks(plant: &PlantOfLoops) -> String {
    let is_run = plant.under.is_some();
    let ideal = plant.ideal.cost;
    let rows = plant.tasks.iter().zip(&plant.stands_ns).map(|(task, stands)| {
        let mut row = vec![task.name.clone(), exact(task.period_ns)];
        if let Some(timing) = &task.timing {
            row.push(time(timing.latency_ns + timing.execution_ns));
            row.push(time(timing.worst_response_ns as f64));
            row.push(count(timing.missed));
            row.push(task.alone.map_or("-".into(), |cost| tables::against(cost, ideal)));
        }
        row.push(stands.map_or("its period".into(), |ns| time(ns as f64)));
        row
    });
    let mut header = vec!["task", "every"];
    if is_run {
        header.extend(["mean delay", "worst", "missed", "alone costs"]);
    }
    header.push("stands");
    let mut text = columns(&header, rows);
    let alone = if plant.tasks.len() > 1 && is_run {
        "alone costs: along the run, with the other tasks of this plant punctual. "
    } else {
        ""
    };
    text.push_str(&wrap(&format!(
        "{alone}stands: the longest constant delay of its outputs, the others punctual, up to its period."
    )));
    text
}

/// Section of the page.
pub(crate) fn section(result: &ServoLoops) -> Section {
    let mut pieces: Vec<Piece> =
        result.plants.iter().map(|plant| Piece::Text { text: described(plant) + "." }).collect();
    pieces.extend(servo_charts::of_loops(result).into_iter().map(Piece::Figure));
    if let Some(run) = &result.run {
        pieces.extend(super::minded_pieces(super::of_run(run)));
    }
    Section::new(
        "servo",
        "What it does to the control loops",
        "The mean quadratic cost of each plant under the joint timing of its tasks against punctual activations.",
        pieces,
    )
}
