//! What a figure shows, in words: n, duration, load, wake-up, overrun policy, missed.

use crate::words::{count, known_count};
use jitterlab_model::RunInfo;
use jitterlab_model::units::{Exact, Human};

use super::Quantity;
use crate::page::{PageRun, PageTask};
use crate::summary::load;

/// A task of a run with its name in the figure.
pub struct Drawable<'a> {
    pub name: String,
    pub run: &'a PageRun,
    pub task: &'a PageTask,
}

/// The tasks that have values of the quantity.
pub fn drawables(quantity: Quantity, runs: &[PageRun]) -> Vec<Drawable<'_>> {
    let tasks = runs.iter().flat_map(|run| run.tasks.iter().map(move |task| (run, task)));
    let named = tasks.filter(|(_, task)| quantity.of(task).count() > 0).map(|(run, task)| {
        let own = &task.figures.summary.task;
        let name = if runs.len() > 1 { format!("{}: {own}", run.label) } else { own.clone() };
        Drawable { name, run, task }
    });
    named.collect()
}

/// The caption for one task.
pub fn of(quantity: Quantity, d: &Drawable<'_>) -> String {
    let n = count(quantity.of(d.task).count());
    format!("{}: n = {n}, {quantity} of {}.", d.name, conditions(&d.run.info, d.task))
}

/// How long and how the task was measured.
pub fn conditions(info: &RunInfo, task: &PageTask) -> String {
    let summary = &task.figures.summary;
    let spec = info.tasks.iter().map(|t| &t.spec).find(|spec| spec.name == summary.task);
    let length = info.measured_ns().map_or("unknown length".into(), |ns| Human(ns as f64).to_string());
    let how = match spec {
        Some(spec) if !info.is_imported() => {
            format!("wake-up by {}, overrun policy {}", spec.wake, spec.overrun)
        }
        _ => "wake-up and overrun policy not told".into(),
    };
    let (period, load, missed) = (Exact(summary.period_ns), load(info), known_count(summary.missed));
    format!("{length}, period {period}, load {load}, {how}, {missed} missed")
}

/// The caption for all.
pub fn of_all(quantity: Quantity, drawables: &[Drawable<'_>]) -> String {
    drawables.iter().map(|d| of(quantity, d)).collect::<Vec<_>>().join(" ")
}
