//! Several loops of one run: the joint effect of each plant's tasks.

use jitterlab_motion::servo::{LoopAssessment, PlantResult, ServoLoops, TaskSummary};

use super::servo_verdict::{deciding_reason, reason_clause, verdict_sentence};
use super::{servo_charts, servo_redesign, servo_tables as tables};
use crate::conclusion::Conclusion;
use crate::document::Present;
use crate::section::{Piece, Section};
use crate::words::{count, exact_time, time};

impl Present for ServoLoops {
    const KIND: &'static str = "servo-loops";

    fn conclusion(&self) -> Option<Conclusion> {
        conclusion(self)
    }

    fn sections(&self) -> Vec<Section> {
        let mut pieces: Vec<Piece> = given_times_piece(self).into_iter().collect();
        pieces.extend(self.plants.iter().flat_map(plant_pieces));
        pieces.extend(self.run.iter().flat_map(|run| super::note_pieces(super::run_caveats(run))));
        pieces.extend(servo_charts::loop_charts(self).into_iter().map(Piece::Figure));
        vec![Section::new(
            "servo",
            "What it does to the control loops",
            "The mean quadratic cost of each plant under the joint timing of its tasks against punctual activations.",
            pieces,
        )]
    }
}

fn loop_names(task: &TaskSummary) -> String {
    let named = task.loops.iter().map(|l| match &l.name {
        Some(name) => format!("{name} ({})", l.controller),
        None => l.controller.clone(),
    });
    named.collect::<Vec<_>>().join(", ")
}

fn plant_sentence(plant: &PlantResult) -> String {
    let tasks = plant.tasks.iter().map(|t| format!("{} every {}", loop_names(t), exact_time(t.period_ns)));
    format!("{}: {}", plant.plant, tasks.collect::<Vec<_>>().join("; "))
}

/// Conclusion about the plant that is judged worst; `None` without a run or given times.
fn conclusion(result: &ServoLoops) -> Option<Conclusion> {
    use jitterlab_model::Fitness;
    let (plant, under) = result.worst_plant()?;
    let fitness = under.verdict.fitness;
    let several = if result.plants.len() > 1 { "the worst of the plants" } else { "the plant" };
    let with = if result.run.is_none() { "with these times" } else { "on this machine" };
    let verdict = verdict_sentence(&under.verdict, &plant.plant, ["the loops of ", "its loops", with]);
    let deciding = deciding_reason(&under.verdict.sides)
        .map_or(String::new(), |s| reason_clause(s, Some(&under.evaluation)));
    let number =
        format!("For {several}, {deciding}.{}", super::timing_alone_sentence(result.run.as_ref(), fitness));
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
    Some(Conclusion { fitness, asked: true, verdict, number, next })
}

/// A plant: its cost, what its tasks stand, and its evidence, folded.
fn plant_pieces(plant: &PlantResult) -> Vec<Piece> {
    let mut pieces = vec![Piece::text(format!("{}.", plant_sentence(plant)))];
    let Some(under) = &plant.under else {
        let cost = tables::cost_text(plant.ideal.cost);
        pieces.push(Piece::text(format!("Punctual and with no work to do it costs {cost}.")));
        return [pieces, task_table(plant)].concat();
    };
    pieces.extend(tables::cost_table(&under.evaluation));
    pieces.extend(tables::miss_sentences(&under.misses));
    pieces.extend(task_table(plant));
    pieces.extend(servo_redesign::redesign_pieces(&under.redesigns));
    let mut details = action_table(under);
    details.extend(tables::miss_sentences(&under.misses_seen));
    details.extend(proof_basis(plant, under));
    let caption = "What the outer loops are asked to follow, through the worst event";
    details.extend(tables::reference_tracking_table(caption, &under.responses));
    pieces.push(Piece::details(format!("{}: overrun actions and responses", plant.plant), details));
    pieces
}

fn action_table(under: &LoopAssessment) -> Vec<Piece> {
    let note = "If all of these tasks took it; each waits and works as it did at the same time. A grid that begins anew after \
                a late job is not among them: tasks of several periods would never be due together again.";
    let mut pieces = tables::action_table(&under.actions, under.evaluation.ideal.cost);
    pieces.push(Piece::text(note));
    pieces
}

/// Text on the jobs that the proofs are about, and the meaning of a missed one; `None` without a proof.
fn proof_basis(plant: &PlantResult, under: &LoopAssessment) -> Option<Piece> {
    let missed = if plant.tasks.len() > 1 {
        "missed where any of these tasks writes less often than it is due"
    } else {
        "missed where no output comes"
    };
    let is_proved = under.misses_seen.is_some() || !under.misses.is_empty();
    is_proved.then(|| {
        Piece::text(format!(
            "These jobs: {} cycles, evenly from all. A period here is {}, {missed}.",
            count(under.shown),
            exact_time(plant.misses_period_ns)
        ))
    })
}

fn given_times_piece(result: &ServoLoops) -> Option<Piece> {
    let tasks = result
        .given
        .iter()
        .map(|g| format!("{} every {} works {}", g.name, exact_time(g.period_ns), g.execution));
    let said = format!(
        "{}. One processor; the task of the shorter period goes first and interrupts the others. Execution times are drawn by these \
         shares.",
        tasks.collect::<Vec<_>>().join(", ")
    );
    (!result.given.is_empty()).then(|| Piece::text(said))
}

/// Each task: its timing, its cost alone, its margin.
fn task_table(plant: &PlantResult) -> Vec<Piece> {
    let is_run = plant.under.is_some();
    let ideal = plant.ideal.cost;
    let rows = plant.tasks.iter().zip(&plant.stands_ns).map(|(task, tolerated)| {
        let mut row = vec![task.name.clone(), exact_time(task.period_ns)];
        if let Some(timing) = &task.timing {
            row.push(time(timing.latency_ns + timing.execution_ns));
            row.push(time(timing.worst_response_ns as f64));
            row.push(count(timing.missed));
            row.push(task.alone.map_or("-".into(), |cost| tables::relative_change_text(cost, ideal)));
        }
        row.push(tolerated.map_or("its period".into(), |ns| time(ns as f64)));
        row
    });
    let mut header = vec!["task", "every"];
    if is_run {
        header.extend(["mean delay", "worst", "missed", "alone costs"]);
    }
    header.push("tolerates");
    let alone = if plant.tasks.len() > 1 && is_run {
        "alone costs: along the run, with the other tasks of this plant punctual. "
    } else {
        ""
    };
    let tolerates =
        "tolerates: the longest constant delay of its outputs, the others punctual, up to its period.";
    vec![Piece::table("", &header, rows), Piece::text(format!("{alone}{tolerates}"))]
}
