//! What a figure shows, in words: n, duration, load, wake-up, overrun policy, missed.

use jitterlab_analysis::verdict::grouped;
use jitterlab_model::units::{Exact, Human};

use super::Quantity;
use crate::page::{PageRun, PageTask};

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
    let summary = &d.task.figures.summary;
    let spec = d.run.info.tasks.iter().map(|t| &t.spec).find(|spec| spec.name == summary.task);
    let length = d.run.info.measured_ns().map_or("unknown length".into(), |ns| Human(ns as f64).to_string());
    let wake = spec.map_or(String::new(), |spec| format!(", wake-up by {}", spec.wake));
    format!(
        "{}: n = {}, {quantity} of {length}, period {}, load {}{wake}, overrun policy {}, {} missed.",
        d.name,
        grouped(quantity.of(d.task).count()),
        Exact(summary.period_ns),
        if d.run.info.load.is_empty() { "not told" } else { &d.run.info.load },
        summary.overrun,
        grouped(summary.missed)
    )
}

/// The caption for all.
pub fn of_all(quantity: Quantity, drawables: &[Drawable<'_>]) -> String {
    drawables.iter().map(|d| of(quantity, d)).collect::<Vec<_>>().join(" ")
}
