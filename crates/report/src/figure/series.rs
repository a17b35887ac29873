//! The series: smallest and largest value over time, with mean and standard deviation. No more columns than the figure
//! has pixels, and no extreme is lost.

use jitterlab_model::units::Human;
use jitterlab_model::{Distribution, Quantity};
use serde::Serialize;

use super::task::{Task, load_starts, tasks, tasks_with_values};
use crate::chart::{Axis, Chart, Layer, Shape, Stroke};
use crate::quantity;
use crate::run_view::PageRun;
use crate::section::{FigureOption, Piece, SeriesDetail};
use crate::words::count;
use jitterlab_analysis::scan::series::{Extent, QUANTITIES, Series};

/// Columns of a file's figure.
const COLUMNS: usize = 1_200;
/// Columns of the page's figure, until it has unpacked finer ones.
const FIRST_COLUMNS: usize = 500;
/// Least number of columns of each of many runs.
const LEAST_COLUMNS: usize = 100;

/// Texts of the page below a series about the visible stretch; numbers replace the words in braces.
#[derive(Serialize)]
pub(crate) struct Status {
    every: &'static str,
    steps: &'static str,
    shown: &'static str,
    hidden: &'static str,
    none: &'static str,
    largest: &'static str,
}

pub(crate) const STATUS: Status = Status {
    every: "{from} to {to}: every activation, exact. ",
    steps: "{from} to {to}: each step is the smallest, mean and largest value of {executed} activations",
    shown: "; {exact} activations of this stretch are shown exactly, as dots. ",
    hidden: "; zoom in to see single activations. ",
    none: "; of this stretch the page holds no single activations. ",
    largest: "Largest latency here: {largest}.",
};

/// The series of each task, to choose from; for these the page carries finer detail.
pub(super) fn series_pieces(runs: &[PageRun]) -> Vec<Piece> {
    let spans = QUANTITIES.map(|quantity| ValueRange::new(&tasks_with_values(quantity, runs)));
    let most = (FIRST_COLUMNS / runs.len().max(1)).max(LEAST_COLUMNS);
    let shown = |task: Task<'_>| {
        let rows = QUANTITIES.iter().zip(&spans).enumerate();
        let charts = rows
            .filter_map(|(row, (q, span))| Some((row, page_chart(&task, row, *q, span.as_ref()?, most)?)));
        let (columns, mut charts): (Vec<usize>, Vec<Chart>) = charts.unzip();
        let first = charts.first_mut()?;
        first.caption = format!("{} {}", first.caption, resolution_sentence(&task));
        let (run, number) = task.place;
        Some(FigureOption {
            label: task.name,
            charts,
            detail: Some(SeriesDetail { run, task: number, columns }),
            selecting_point: None,
        })
    };
    let figures: Vec<FigureOption> = tasks(runs).filter_map(shown).collect();
    let is_drawn = !figures.is_empty();
    is_drawn.then(|| Piece::Choice { label: "Task".into(), figures }).into_iter().collect()
}

/// Describes the resolution of the page's data of a task.
fn resolution_sentence(task: &Task<'_>) -> String {
    let series = &task.task.series;
    let spikes_only = matches!(task.run.info.keep, jitterlab_model::Keep::Spikes { .. });
    let holds = if series.complete {
        "The page holds every activation of this task.".into()
    } else {
        let step = match series.per_step {
            1 if spikes_only => "every second".into(),
            per_step if spikes_only => format!("every {} seconds", count(per_step)),
            per_step => format!("every {} activations", count(per_step)),
        };
        format!(
            "The page holds {step} as smallest, mean and largest value, and {} activations around the largest values exactly; the run file holds all that was kept.",
            count(series.exact.len() as u64)
        )
    };
    format!(
        "{holds} Thin line: mean of the step; dashed lines: mean and standard deviation of the whole run."
    )
}

/// One column of a series: its begin, and the values of the quantity.
pub(crate) struct SeriesColumn {
    pub due_ns: i64,
    pub extent: Extent,
    missed: u64,
}

/// Joins the series of a quantity, given by its number, to at most `most` columns.
pub(crate) fn series_columns(series: &Series, quantity: usize, most: usize) -> Vec<SeriesColumn> {
    let single = |value: Option<i64>| {
        value.map_or(Extent::default(), |v| Extent { count: 1, min_ns: v, max_ns: v, sum_ns: v.into() })
    };
    let all: Vec<SeriesColumn> = if series.complete {
        let column = |e: &jitterlab_analysis::scan::series::ExactRow| SeriesColumn {
            due_ns: e.due_ns,
            extent: single(e.values_ns[quantity]),
            missed: e.missed.into(),
        };
        series.exact.iter().map(column).collect()
    } else {
        let steps = series.steps.iter();
        steps
            .map(|s| SeriesColumn { due_ns: s.due_ns, extent: s.extents[quantity], missed: s.missed })
            .collect()
    };
    let joined = all.chunks(all.len().div_ceil(most.max(1)).max(1)).filter_map(|part| {
        let mut extent = Extent::default();
        part.iter().for_each(|column| extent.merge(&column.extent));
        let missed = part.iter().map(|column| column.missed).sum();
        (extent.count > 0).then_some(SeriesColumn { due_ns: part.first()?.due_ns, extent, missed })
    });
    joined.collect()
}

pub(super) fn charts(quantity: Quantity, runs: &[PageRun]) -> Vec<Chart> {
    let Some(row) = QUANTITIES.iter().position(|q| *q == quantity) else { return Vec::new() };
    let tasks = tasks_with_values(quantity, runs);
    let many = tasks.len() > 1;
    let Some(span) = ValueRange::new(&tasks) else { return Vec::new() };
    let chart = |(task, values): &(Task<'_>, Distribution)| {
        let mut chart = series_chart(task, values, row, quantity, &span, COLUMNS)?;
        // A second line over the whole width would only hide the band.
        chart.layers.retain(|layer| !layer.shape.is_empty() && layer.name != STEP_MEAN);
        if many {
            chart.y.title = format!("{}: {}", task.name, quantity::name(quantity));
            chart.height = 320;
        }
        Some(chart)
    };
    tasks.iter().filter_map(chart).collect()
}

/// Chart of one quantity for the page; only the first has a caption.
fn page_chart(
    task: &Task<'_>,
    row: usize,
    quantity: Quantity,
    span: &ValueRange,
    most: usize,
) -> Option<Chart> {
    let values = task.task.scan.timing.distribution(quantity);
    let mut chart = series_chart(task, &values, row, quantity, span, most)?;
    if row > 0 {
        chart.caption = String::new();
    }
    chart.height = 240;
    Some(chart)
}

/// The axis that all charts of a quantity share.
struct ValueRange {
    low_ns: i64,
    high_ns: i64,
    log: bool,
}

impl ValueRange {
    fn new(tasks: &[(Task<'_>, Distribution)]) -> Option<Self> {
        let all = || tasks.iter().map(|(_, values)| values);
        let low_ns = all().filter_map(Distribution::min_ns).min()?;
        let high_ns = all().filter_map(Distribution::max_ns).max()?;
        Some(ValueRange { low_ns, high_ns, log: all().any(has_far_outliers) })
    }

    fn axis(&self, quantity: Quantity) -> Axis {
        let axis = Axis::time_from(quantity::name(quantity), self.low_ns, self.log);
        axis.with_values_shown([self.low_ns as f64, self.high_ns as f64])
    }
}

/// True if the largest value is so far from the median that a linear axis would press all others into one line.
pub(super) fn has_far_outliers(values: &Distribution) -> bool {
    let (Some(min_ns), Some(max_ns)) = (values.min_ns(), values.max_ns()) else { return false };
    let at = |share: f64| values.quantile_ns(share);
    let usual_ns = match min_ns {
        1.. => at(0.5),
        // To either side of 0: half of the range that holds most.
        _ => at(0.95).zip(at(0.05)).map(|(high, low)| (high - low) / 2),
    };
    usual_ns.is_some_and(|usual_ns| max_ns.max(-min_ns) > FAR_FACTOR * usual_ns)
}

/// Factor over the usual value from which on a value is far from it.
const FAR_FACTOR: i64 = 10;

/// The layer that only a page can show, since it can be looked at more closely.
const STEP_MEAN: &str = "mean of each step";

/// Draws a series. The page has finer detail of the first four layers: band, mean, single activations,
/// missed.
fn series_chart(
    task: &Task<'_>,
    values: &Distribution,
    row: usize,
    quantity: Quantity,
    span: &ValueRange,
    most: usize,
) -> Option<Chart> {
    let columns = series_columns(&task.task.series, row, most);
    columns.first()?;
    let low_ns = columns.iter().map(|c| c.extent.min_ns).min()?;
    let high_ns = columns.iter().map(|c| c.extent.max_ns).max()?;
    let origin_ns = task.run.origin_ns();
    let at = |c: &SeriesColumn| (c.due_ns - origin_ns) as f64;
    let single = columns.iter().all(|c| c.extent.count == 1);
    let bands = columns.iter().filter(|_| !single);
    let singles = columns.iter().filter(|_| single);
    let band = bands.clone().map(|c| [at(c), c.extent.min_ns as f64, c.extent.max_ns as f64]);
    let means = bands.filter_map(|c| Some([at(c), c.extent.mean_ns()? as f64]));
    let singles = singles.map(|c| [at(c), c.extent.max_ns as f64]);
    let missed = columns.iter().filter(|c| c.missed > 0).map(|c| [at(c), c.extent.max_ns as f64]);
    let line = |points, stroke| Shape::Line { points, stroke };
    let mut layers = vec![
        Layer::new("smallest to largest", 0, Shape::Band(band.collect())),
        Layer::new(STEP_MEAN, 5, line(means.collect(), Stroke::Solid)),
        Layer::new("each activation", 0, line(singles.collect(), Stroke::Solid)),
        Layer::new("due times missed", 3, Shape::Points(missed.collect())),
    ];
    if let (Some(mean), Some(sd)) = (values.mean_ns(), values.standard_deviation_ns()) {
        layers.push(Layer::new(format!("mean {}", Human(mean)), 1, Shape::Level(mean)));
        let ends =
            [mean - sd, mean + sd].into_iter().filter(|v| (low_ns as f64..=high_ns as f64).contains(v));
        for (i, end) in ends.enumerate() {
            let name =
                if i == 0 { format!("mean ± standard deviation {}", Human(sd)) } else { String::new() };
            layers.push(Layer::new(name, 2, Shape::Level(end)));
        }
    }
    let limits = task.limits(quantity, values);
    for (ns, name, colour) in limits {
        layers.push(Layer::coloured(name, colour, Shape::Level(ns)));
        // A period may be off to either side.
        if quantity == Quantity::PeriodError && low_ns < -(ns as i64) / 2 {
            layers.push(Layer::coloured("", colour, Shape::Level(-ns)));
        }
    }
    layers.push(Layer::new("", 4, Shape::Marks(load_starts(&task.run.info))));
    let range = Human((high_ns - low_ns) as f64);
    Some(Chart {
        name: "series".into(),
        caption: format!(
            "{} Largest minus smallest: {range}. Every extreme is drawn.",
            task.caption(quantity, values)
        ),
        x: Axis::linear("time since the first due time").time(),
        y: span.axis(quantity),
        layers,
        height: 420,
    })
}
