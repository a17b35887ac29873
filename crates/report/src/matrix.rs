//! Words of `matrix`: the recommended placement, the confidence in it, and every cell.

mod grid;

use std::path::Path;

use jitterlab_analysis::matrix::{
    Answer, CellStatistic, ComparedPair, Matrix, MatrixIndex, MatrixResult, Observation, Proposal,
    Recommendation,
};
use jitterlab_model::facts::Sharing;
use jitterlab_model::{Fitness, StopReason, TaskSpec};

use crate::chart::{Chart, Drawing};
use crate::conclusion::Conclusion;
use crate::document::Present;
use crate::section::{Piece, Section};
use crate::warnings;
use crate::words::{count, plural, share, time};
use grid::statistic_name;
pub use grid::{charts, tables};

impl Present for MatrixResult {
    const KIND: &'static str = "matrix";

    fn conclusion(&self) -> Option<Conclusion> {
        conclusion(self)
    }

    fn sections(&self) -> Vec<Section> {
        let mut pieces: Vec<Piece> = recommendation_sentences(self).into_iter().map(Piece::text).collect();
        if self.matrix.measurements.is_empty() {
            pieces.push(Piece::text("nothing was measured yet"));
        }
        pieces.extend(tables(&self.matrix, "p99.9, median of the repetitions,", CellStatistic::P999));
        if !self.matrix.measurements.is_empty() {
            pieces.push(Piece::text(caption(&self.index.tasks, self.index.duration_ns, &self.matrix)));
        }
        pieces.extend(result_charts(self).into_iter().map(Piece::Figure));
        pieces.extend(cell_warnings(&self.index).into_iter().map(Piece::note));
        let largest = tables(&self.matrix, "largest latency", CellStatistic::Max);
        if !largest.is_empty() {
            pieces.push(Piece::details("Largest latency of each cell", largest));
        }
        // The conclusion, if there is one, contains this already.
        let unfinished =
            Some(self.index.cells_left()).filter(|cells| *cells > 0 && self.recommendation.is_none());
        pieces.extend(unfinished.map(remaining_cells_text).map(Piece::text));
        vec![Section::new(
            "matrix",
            "Which processors",
            "The same tasks on every choice of processors. Dark cells of the picture are the ones to avoid.",
            pieces,
        )]
    }
}

/// The cells that are still to be measured.
pub fn remaining_cells_text(cells: usize) -> String {
    let verb = if cells == 1 { "is" } else { "are" };
    format!("{} {verb} left: repeat the command to go on.", plural(cells as u64, "cell"))
}

/// Warnings of all cells, each once.
fn cell_warnings(index: &MatrixIndex) -> Vec<String> {
    let ended = index.done.iter().filter_map(|done| match done.stop.as_ref()? {
        StopReason::Overloaded { overload, .. } => Some(overload.to_string()),
        StopReason::WaitFailed { task, why } => {
            let name = index.tasks.get(*task).map_or("?", |task| task.name.as_str());
            Some(format!("task {name} could not wait any more: {why}"))
        }
        _ => None,
    });
    let warned = index.done.iter().flat_map(|done| &done.warnings).map(warnings::warning_sentence);
    let mut all: Vec<String> = warned.chain(ended).collect();
    all.sort();
    all.dedup();
    all
}

/// Number of cells and time to measure them, with a warning if that exceeds the budget. Each cell takes `overhead_ns`
/// more than its length.
pub fn plan_sentence(index: &MatrixIndex, overhead_ns: i64, budget_ns: i64, folder: &Path) -> String {
    let longer = match remaining_ns(index, overhead_ns) > budget_ns as f64 {
        true => format!(
            ": longer than the {} of --budget; fewer --rounds or a shorter --duration keep to it",
            time(budget_ns as f64)
        ),
        false => String::new(),
    };
    format!(
        "{} of {}, {} to measure, about {}, into {}{longer}",
        plural(index.plan.cells.len() as u64, "cell"),
        time(index.duration_ns as f64),
        count(index.cells_left() as u64),
        time(remaining_ns(index, overhead_ns)),
        folder.display()
    )
}

fn remaining_ns(index: &MatrixIndex, overhead_ns: i64) -> f64 {
    index.cells_left() as f64 * (index.duration_ns + overhead_ns) as f64
}

fn sharing_text(sharing: Sharing) -> String {
    match sharing {
        Sharing::Same => "the same CPU".into(),
        Sharing::Core => "SMT siblings of one core".into(),
        Sharing::Cache(level) => format!("cores sharing the level {level} cache"),
        Sharing::Package => "cores of one package".into(),
        Sharing::Machine => "cores of different packages".into(),
    }
}

/// Remedy of a proposal that leaves CPUs out.
pub const MORE_CPUS: &str = "name others with --cpus, or raise --budget";

/// The CPUs that are measured instead of all, and the reason; `remedy` is the way to take others.
pub fn cpu_choice_sentence(proposal: &Proposal, remedy: &str) -> String {
    format!(
        "measuring {} of {} CPUs ({}): one of each sort, and each way of sharing a core or a cache among the pairs; {remedy}",
        proposal.cpus.len(),
        proposal.usable,
        proposal.cpus
    )
}

/// The answer to a question with its evidence; without a full stop.
pub fn observation_sentence(question: &str, found: &Observation) -> String {
    let answer = match found.answer {
        Answer::Yes => "yes",
        Answer::Little => "yes, but little",
        Answer::No => "no",
        Answer::Opposite => "no, the opposite",
        Answer::CannotTell => "cannot tell",
    };
    let compared = match &found.effect {
        ComparedPair::SameCpu { .. } => "the same CPU changes the values".into(),
        ComparedPair::Condition { from, to, change_ns } => {
            format!("{to} instead of {from} changes the values by {:+.1} µs at the median,", change_ns / 1e3)
        }
    };
    let interval = match found.interval {
        Some([low, high]) => {
            let p = if found.p < 0.005 { "p below 0.005".into() } else { format!("p = {:.2}", found.p) };
            format!("95 % interval {low:.2} to {high:.2}, {p}")
        }
        None => "too few values for an interval".into(),
    };
    let values = plural(found.values as u64, "value");
    format!("{question} {answer}: {compared} by a factor of {:.2} ({interval}, {values})", found.factor)
}

/// Writes a placement as `servo on CPU 1 and base on CPU 2`, or `both on CPU 1`.
fn placement_text(tasks: &[String], cpus: &[u16]) -> String {
    match (tasks, cpus) {
        ([_], [cpu]) => format!("CPU {cpu}"),
        (_, [first, rest @ ..]) if rest.iter().all(|cpu| cpu == first) => {
            format!("{} on CPU {first}", if rest.len() == 1 { "both" } else { "all" })
        }
        _ => {
            let parts: Vec<String> =
                tasks.iter().zip(cpus).map(|(task, cpu)| format!("{task} on CPU {cpu}")).collect();
            parts.join(" and ")
        }
    }
}

/// Conclusion: verdict, key figure and next step; `None` before anything was measured.
fn conclusion(result: &MatrixResult) -> Option<Conclusion> {
    let found = result.recommendation.as_ref()?;
    let matrix = &result.matrix;
    let fitness = match (found.probability, found.candidates.len()) {
        (None, _) => Fitness::CannotTell,
        (Some(_), ..=1) => Fitness::Good,
        (Some(_), _) => Fitness::Limited,
    };
    let values = |of: &[Option<f64>]| {
        let values = matrix.tasks.iter().zip(of);
        values
            .filter_map(|(name, ns)| Some(format!("{name} {}", time((*ns)?))))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let under = if matrix.conditions().len() > 1 { " under the worst of the conditions" } else { "" };
    let open =
        found.facts.as_ref().and_then(|facts| facts.not_isolated.as_ref()).filter(|open| !open.is_empty());
    let worst = if found.worst == found.cpus {
        "no other placement was measured".into()
    } else {
        let place = placement_text(&matrix.tasks, &found.worst);
        format!("worst placement ({place}): {}", values(&found.worst_placement_ns))
    };
    let best = placement_text(&matrix.tasks, &found.cpus);
    let (placements, others) = (matrix.placements().len(), found.candidates.len().saturating_sub(1));
    let verdict = match (found.probability, others) {
        (None, _) => format!("BEST as seen: {best}; one repetition shows no spread."),
        (_, 0) => format!("BEST: {best}."),
        (_, others) if others + 1 == placements => {
            format!(
                "NONE IS BEST: {} are not told apart; the lowest seen: {best}.",
                plural(placements as u64, "placement")
            )
        }
        (_, others) => {
            format!(
                "BEST as seen: {best}; {others} of {} are not shown to be worse.",
                plural(placements as u64 - 1, "other")
            )
        }
    };
    let next = match (result.index.cells_left(), found.probability, open) {
        (cells @ 1.., ..) => remaining_cells_text(cells),
        (_, None, _) => "again with --rounds 3 or more: one repetition shows no spread".into(),
        (_, _, Some(open)) => {
            format!("the same with --isolate {open} and another --output: what isolation changes")
        }
        _ if others > 0 => "the same with more --rounds and another --output, to tell them apart".into(),
        _ => "jitterlab run with these CPUs, for as long as it has to hold".into(),
    };
    Some(Conclusion {
        fitness,
        asked: false,
        verdict,
        number: format!(
            "{}{under}: {}; {worst}.",
            statistic_name(found.statistic),
            values(&found.worst_condition_ns)
        ),
        next,
    })
}

/// Confidence in the recommendation, and facts of the topology about it; empty before the first measurement.
fn recommendation_sentences(result: &MatrixResult) -> Vec<String> {
    let Some(found) = &result.recommendation else { return Vec::new() };
    let mut all = vec![confidence_sentence(found, &result.matrix)];
    all.extend(topology_sentences(found));
    all
}

fn confidence_sentence(found: &Recommendation, matrix: &Matrix) -> String {
    let Some(probability) = found.probability else {
        return "How sure: one repetition shows no spread; measure again with --rounds 3 or more.".into();
    };
    let best = placement_text(&matrix.tasks, &found.cpus);
    let mut text = format!(
        "How sure: {} that {best} is the best, by the bootstrap over repetitions",
        share(probability)
    );
    if let [_, others @ ..] = found.candidates.as_slice()
        && !others.is_empty()
    {
        let named: Vec<String> =
            others.iter().take(3).map(|cpus| placement_text(&matrix.tasks, cpus)).collect();
        text += &format!("; not told apart from it: {}", named.join("; "));
        if others.len() > 3 {
            text += &format!(" and {} more", others.len() - 3);
        }
    }
    text + "."
}

/// Shared cores, isolation and siblings of the chosen CPUs.
fn topology_sentences(found: &Recommendation) -> Vec<String> {
    let Some(facts) = &found.facts else { return Vec::new() };
    let sharing = facts.sharing.map(|sharing| format!("The tasks are on {}.", sharing_text(sharing)));
    let isolated = match &facts.not_isolated {
        None => Some("Whether these CPUs are isolated is unknown.".into()),
        Some(open) if open.is_empty() => None,
        Some(open) => Some(format!(
            "Not isolated: CPU {open}. Other programs may run there; measure what isolation changes with --isolate {open}."
        )),
    };
    let siblings = &facts.idle_siblings;
    let siblings =
        (!siblings.is_empty()).then(|| format!("Keep the SMT sibling {siblings} idle: it shares the core."));
    [sharing, isolated, siblings].into_iter().flatten().collect()
}

/// Caption of a matrix: its tasks, cells and activations.
pub fn caption(tasks: &[TaskSpec], duration_ns: i64, matrix: &Matrix) -> String {
    let task = |task: &TaskSpec| {
        let policy = task.policy.map_or_else(|| "the default policy".into(), |policy| policy.to_string());
        let (name, wake, overrun) = (&task.name, task.wake, task.overrun);
        let period = time(task.period_ns as f64);
        format!("{name} every {period} under {policy}, wake {wake}, overrun {overrun}")
    };
    let tasks: Vec<String> = tasks.iter().map(task).collect();
    let all = || matrix.measurements.iter().flat_map(|cell| &cell.tasks);
    format!(
        "{}. {} of {}, {} activations, {} missed.",
        tasks.join("; "),
        plural(matrix.measurements.len() as u64, "cell"),
        time(duration_ns as f64),
        count(all().map(|task| task.activations).fold(0, u64::saturating_add)),
        count(all().map(|task| task.missed).fold(0, u64::saturating_add))
    )
}

fn result_charts(result: &MatrixResult) -> Vec<Chart> {
    let caption = caption(&result.index.tasks, result.index.duration_ns, &result.matrix);
    charts(&result.matrix, CellStatistic::Max, &caption)
}

/// Draws the heat maps of the cells' largest latencies.
pub fn drawing(result: &MatrixResult) -> Drawing {
    Drawing::new(&result_charts(result))
}

#[cfg(test)]
mod tests;
