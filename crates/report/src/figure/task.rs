//! The tasks that a figure shows, and their captions: n, duration, load, wake-up, overrun policy, missed.

use jitterlab_analysis::purposes::Measure;
use jitterlab_analysis::verdict::{PurposeVerdict, Verdict};
use jitterlab_model::load::LoadSpec;
use jitterlab_model::units::Human;
use jitterlab_model::{Distribution, Gap, Quantity, RunInfo};

use crate::chart::{Chart, Layer};
use crate::conclusion::quoted_purpose;
use crate::loads;
use crate::quantity;
use crate::run_view::{PageRun, PageTask};
use crate::section::{FigureOption, Piece};
use crate::words::{count, exact_time, known_count, time};

/// A task of a run with its name in the figure.
pub(crate) struct Task<'a> {
    pub name: String,
    pub run: &'a PageRun,
    pub task: &'a PageTask,
    /// Numbers of its run and of itself within the run.
    pub place: (usize, usize),
}

pub(crate) fn tasks(runs: &[PageRun]) -> impl Iterator<Item = Task<'_>> {
    runs.iter().enumerate().flat_map(move |(r, run)| {
        run.tasks.iter().enumerate().map(move |(t, task)| {
            let own = &task.measured.summary.task;
            let name = if runs.len() > 1 { format!("{}: {own}", run.label) } else { own.clone() };
            Task { name, run, task, place: (r, t) }
        })
    })
}

/// The tasks that have values of the quantity, with these.
pub(super) fn tasks_with_values(quantity: Quantity, runs: &[PageRun]) -> Vec<(Task<'_>, Distribution)> {
    tasks(runs)
        .map(|task| {
            let values = task.task.scan.timing.distribution(quantity).into_owned();
            (task, values)
        })
        .filter(|(_, values)| values.count() > 0)
        .collect()
}

/// A chart of every quantity that has one, to choose from.
pub(super) fn quantity_choice(chart: impl Fn(Quantity) -> Option<Chart>) -> Vec<Piece> {
    let shown = |quantity: Quantity| {
        Some(FigureOption {
            label: quantity::name(quantity).into(),
            charts: vec![chart(quantity)?],
            detail: None,
            selecting_point: None,
        })
    };
    let figures: Vec<FigureOption> = Quantity::SHOWN.into_iter().filter_map(shown).collect();
    let is_drawn = !figures.is_empty();
    is_drawn.then(|| Piece::Choice { label: "Quantity".into(), figures }).into_iter().collect()
}

impl Task<'_> {
    pub fn caption(&self, quantity: Quantity, values: &Distribution) -> String {
        let how = self.conditions().join(", ");
        format!("{}: n = {}, {} of {how}.", self.name, count(values.count()), quantity::name(quantity))
    }

    /// Lines to draw among its values, with their words and colours: the period, and a purpose's limits. The purpose is
    /// that of the verdict, or else the one that this quantity serves worst. Lines far away are left out.
    pub fn limits(&self, quantity: Quantity, values: &Distribution) -> Vec<(f64, String, usize)> {
        let summary = &self.task.measured.summary;
        let mut limits = Vec::new();
        let knows_period = summary.knows(Gap::Period) && summary.knows(Gap::Grid);
        let is_in_period =
            matches!(quantity, Quantity::Latency | Quantity::CorrectedLatency | Quantity::Execution);
        if knows_period && is_in_period {
            let words = format!("period {}", exact_time(summary.period_ns));
            limits.push((summary.period_ns as f64, words, Layer::PERIOD));
        }
        let measure = match quantity {
            Quantity::Latency => Some(Measure::Latency),
            Quantity::PeriodError => Some(Measure::Interval),
            _ => None,
        };
        let verdict = self.run.measured_run().verdict;
        let decides = |purpose: &&PurposeVerdict| {
            let by = purpose.decided_by.as_ref();
            by.is_some_and(|by| by.task == summary.task && Some(by.limit.measure) == measure)
        };
        let worst = |verdict: &Verdict| {
            let judged = verdict.purposes.iter().filter(decides);
            judged.min_by_key(|purpose| std::cmp::Reverse(purpose.fitness)).cloned()
        };
        let spoken_of = verdict.as_ref().and_then(|verdict| quoted_purpose(verdict).filter(decides).cloned());
        let judged = spoken_of.or_else(|| verdict.as_ref().and_then(worst));
        for (purpose, limit) in
            judged.iter().filter_map(|of| Some((&of.purpose, of.decided_by.as_ref()?.limit)))
        {
            let (good, usable) = (limit.good as f64, limit.limited as f64);
            let both = [(good, "good", Layer::GOOD), (usable, "usable", Layer::USABLE)];
            let drawn = both.into_iter().skip(usize::from(good == usable));
            limits.extend(
                drawn.map(|(ns, word, colour)| (ns, format!("{purpose}: {word} up to {}", time(ns)), colour)),
            );
        }
        let far = values.min_ns().unwrap_or(0).abs().max(values.max_ns().unwrap_or(0)) as f64;
        limits.retain(|(ns, ..)| *ns <= 2.0 * far);
        limits
    }

    /// Duration and conditions of its measurement.
    pub fn conditions(&self) -> [String; 5] {
        let (info, summary) = (&self.run.info, &self.task.measured.summary);
        let task = info.task(&summary.task);
        let length = info.measured_ns().map_or("unknown length".into(), |ns| Human(ns as f64).to_string());
        let how = match task {
            Some(task) if !info.is_imported() => {
                let overrun = task.overrun().exactly().map_or("unknown".into(), |policy| policy.to_string());
                format!("wake-up by {}, overrun policy {overrun}", task.spec.wake)
            }
            _ => "wake-up unknown".into(),
        };
        let period = match () {
            () if !summary.knows(Gap::Grid) => "not periodic".into(),
            () if !summary.knows(Gap::Period) => "period unknown".into(),
            () => format!("period {}", exact_time(summary.period_ns)),
        };
        let (load, missed) = (loads::run_load_text(info), known_count(summary.missed));
        [length, period, format!("load {load}"), how, format!("{missed} missed")]
    }
}

/// Caption for the tasks of one chart, with their common facts once.
pub(super) fn joint_caption(quantity: Quantity, tasks: &[(Task<'_>, Distribution)]) -> String {
    if let [(only, values)] = tasks {
        return only.caption(quantity, values);
    }
    let each: Vec<[String; 5]> = tasks.iter().map(|(task, _)| task.conditions()).collect();
    let is_common = |at: usize| each.iter().all(|of| of[at] == each[0][at]);
    let (common, own): (Vec<usize>, Vec<usize>) = (0..5).partition(|at| is_common(*at));
    let said = |of: &[String; 5], which: &[usize]| -> String {
        which.iter().map(|at| format!(", {}", of[*at])).collect()
    };
    let one = |((task, values), of): (&(Task<'_>, Distribution), &[String; 5])| {
        format!("{}: n = {}{}", task.name, count(values.count()), said(of, &own))
    };
    let all = each.first().map_or_else(String::new, |of| said(of, &common));
    let each: Vec<String> = tasks.iter().zip(&each).map(one).collect();
    format!("{}{all}. {}.", quantity::name(quantity), each.join("; "))
}

/// Loads that began during the run, and when in ns; a load that ran from the beginning is not among them.
pub(super) fn load_starts(info: &RunInfo) -> Vec<(f64, String)> {
    let length_ns = info.duration_ns.or(info.measured_ns()).unwrap_or(0);
    let specs = info.load.specs().unwrap_or_default().iter();
    let from_ns = |spec: &LoadSpec| length_ns as f64 * f64::from(spec.start_percent) / 100.0;
    specs.filter(|spec| spec.start_percent > 0).map(|spec| (from_ns(spec), spec.to_string())).collect()
}
