//! The series: smallest and largest value over time, with mean and standard deviation. No more columns than the figure
//! has pixels, and no extreme is lost.

use jitterlab_model::units::Human;

use super::Quantity;
use super::caption::{Drawable, drawables, of};
use crate::chart::{Axis, Chart, Layer, Shape, Stroke, time_unit};
use crate::page::series::{Extent, Series};
use crate::page::{PageRun, phases};

/// Columns of the figure.
const COLUMNS: usize = 1_200;

/// One column of a series: from when, and what the quantity was.
struct Column {
    due_ns: i64,
    extent: Extent,
    missed: u64,
}

/// The series in at most `most` columns.
fn columns(series: &Series, quantity: usize, most: usize) -> Vec<Column> {
    let single = |value: Option<i64>| {
        value.map_or(Extent::default(), |v| Extent { count: 1, min_ns: v, max_ns: v, sum_ns: v.into() })
    };
    let all: Vec<Column> = if series.complete {
        let column = |e: &crate::page::series::Exact| Column {
            due_ns: e.due_ns,
            extent: single(e.values_ns[quantity]),
            missed: e.missed.into(),
        };
        series.exact.iter().map(column).collect()
    } else {
        let steps = series.steps.iter();
        steps.map(|s| Column { due_ns: s.due_ns, extent: s.extents[quantity], missed: s.missed }).collect()
    };
    let joined = all.chunks(all.len().div_ceil(most.max(1)).max(1)).filter_map(|part| {
        let mut extent = Extent::default();
        part.iter().for_each(|column| extent.merge(&column.extent));
        let missed = part.iter().map(|column| column.missed).sum();
        (extent.count > 0).then_some(Column { due_ns: part.first()?.due_ns, extent, missed })
    });
    joined.collect()
}

/// One chart for each task.
pub fn charts(quantity: Quantity, runs: &[PageRun]) -> Vec<Chart> {
    let drawables = drawables(quantity, runs);
    let many = drawables.len() > 1;
    drawables.iter().filter_map(|d| chart(quantity, d, many)).collect()
}

fn chart(quantity: Quantity, d: &Drawable<'_>, many: bool) -> Option<Chart> {
    let columns = columns(&d.task.series, quantity.column(), COLUMNS);
    let (first, last) = (columns.first()?, columns.last()?);
    let low_ns = columns.iter().map(|c| c.extent.min_ns).min()? as f64;
    let high_ns = columns.iter().map(|c| c.extent.max_ns).max()? as f64;
    let (per, unit) = time_unit(high_ns.abs().max(low_ns.abs()));
    let (seconds, time) = time_unit((last.due_ns - first.due_ns) as f64);
    let at = |due_ns: i64| (due_ns - first.due_ns) as f64 / seconds;
    let single = columns.iter().all(|c| c.extent.count == 1);
    let shape = if single {
        let points = columns.iter().map(|c| [at(c.due_ns), c.extent.max_ns as f64 / per]);
        Shape::Line { points: points.collect(), stroke: Stroke::Solid }
    } else {
        let parts = columns
            .iter()
            .map(|c| [at(c.due_ns), c.extent.min_ns as f64 / per, c.extent.max_ns as f64 / per]);
        Shape::Band(parts.collect())
    };
    let mut layers =
        vec![Layer::new(if single { "each activation" } else { "smallest to largest" }, 0, shape)];
    let values = quantity.of(d.task);
    if let (Some(mean), Some(sd)) = (values.mean_ns(), values.standard_deviation_ns()) {
        layers.push(Layer::new(format!("mean {}", Human(mean)), 1, Shape::Level(mean / per)));
        let ends = [mean - sd, mean + sd].into_iter().filter(|v| (low_ns..=high_ns).contains(v));
        for (i, end) in ends.enumerate() {
            let name =
                if i == 0 { format!("mean ± standard deviation {}", Human(sd)) } else { String::new() };
            layers.push(Layer::new(name, 2, Shape::Level(end / per)));
        }
    }
    let missed: Vec<[f64; 2]> = columns
        .iter()
        .filter(|c| c.missed > 0)
        .map(|c| [at(c.due_ns), c.extent.max_ns as f64 / per])
        .collect();
    if !missed.is_empty() {
        layers.push(Layer::new("due times missed", 3, Shape::Points(missed)));
    }
    let began: Vec<(f64, String)> =
        phases(&d.run.info).into_iter().map(|(text, from_ns)| (from_ns as f64 / seconds, text)).collect();
    if !began.is_empty() {
        layers.push(Layer::new("", 4, Shape::Marks(began)));
    }
    let jitter = Human(high_ns - low_ns);
    Some(Chart {
        name: "series",
        caption: format!(
            "{} Jitter, largest minus smallest: {jitter}. Every extreme is drawn.",
            of(quantity, d)
        ),
        x: Axis::linear(format!("time, {time}")),
        y: Axis::linear(if many {
            format!("{}: {quantity}, {unit}", d.name)
        } else {
            format!("{quantity}, {unit}")
        }),
        layers,
        height: if many { 320 } else { 420 },
    })
}
