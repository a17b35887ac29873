//! Tables of a matrix: servo / base maximum as in the Athlon report, p99.9 beside it, and a picture.

use std::fmt::Write as _;

use jitterlab_analysis::matrix::{Matrix, Quantity, Recommendation};

use crate::chart::{Axis, Cells, Chart, Layer, Shape};
use crate::figure::FigureError;
use crate::section::{Block, Section};
use crate::summary::wrap;

/// The tables of every condition and the recommendation. Cells are coloured on a terminal, from green for the best
/// of a table to red for the worst.
pub fn text(matrix: &Matrix, recommendation: Option<&Recommendation>, colours: bool) -> String {
    let mut text = tables(
        matrix,
        &[("largest latency", Quantity::Max), ("p99.9, median of the repetitions", Quantity::P999)],
        colours,
    );
    if text.is_empty() {
        text.push_str("nothing was measured yet\n");
    }
    if let Some(recommendation) = recommendation {
        text.push('\n');
        for sentence in &recommendation.sentences {
            text.push_str(&wrap(sentence));
        }
    }
    text
}

/// The tables of every condition, one for each of these quantities with its title. Cells are coloured as in [`text`].
pub fn tables(matrix: &Matrix, quantities: &[(&str, Quantity)], colours: bool) -> String {
    let mut text = String::new();
    for condition in matrix.conditions() {
        let repetitions =
            matrix.measurements.iter().filter(|m| m.condition == condition).map(|m| m.repetition);
        let times = repetitions.max().map_or(0, |last| last + 1);
        let repetitions = if times == 1 { "repetition" } else { "repetitions" };
        let _ = writeln!(text, "\nload: {condition}, {times} {repetitions}");
        for (title, quantity) in quantities {
            text.push_str(&table(matrix, condition, title, *quantity, colours));
        }
    }
    text
}

/// The rows and columns of a table: for one task there is one row.
fn axes(matrix: &Matrix) -> (Vec<u16>, Vec<u16>) {
    let columns = matrix.cpus_of(0).iter().collect();
    let rows = if matrix.tasks.len() > 1 { matrix.cpus_of(1).iter().collect() } else { vec![0] };
    (columns, rows)
}

/// The values of all tasks in a cell, in microseconds.
fn values(matrix: &Matrix, condition: &str, column: u16, row: u16, quantity: Quantity) -> Option<Vec<f64>> {
    let mut cpus = vec![row; matrix.tasks.len()];
    *cpus.first_mut()? = column;
    let value = |task| match quantity {
        Quantity::P999 => matrix.median(&cpus, condition, task, quantity),
        _ => matrix.largest(&cpus, condition, task, quantity),
    };
    (0..matrix.tasks.len()).map(|task| value(task).map(|ns| ns / 1e3)).collect()
}

/// How bad a cell is: the geometric mean over the tasks, as a logarithm.
fn badness(values: &[f64]) -> f64 {
    values.iter().map(|us| us.max(1e-3).ln()).sum::<f64>() / values.len().max(1) as f64
}

/// Where each cell lies between the best (0) and the worst (1) of its table.
fn scale(cells: &[Option<Vec<f64>>]) -> Vec<Option<f64>> {
    let bad: Vec<Option<f64>> = cells.iter().map(|cell| cell.as_deref().map(badness)).collect();
    let low = bad.iter().flatten().copied().fold(f64::INFINITY, f64::min);
    let high = bad.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
    bad.iter().map(|b| b.map(|b| if high > low { (b - low) / (high - low) } else { 0.0 })).collect()
}

fn microseconds(us: f64) -> String {
    match us.abs() {
        v if v < 99.95 => format!("{us:.1}"),
        _ => format!("{us:.0}"),
    }
}

fn table(matrix: &Matrix, condition: &str, title: &str, quantity: Quantity, colours: bool) -> String {
    let (columns, rows) = axes(matrix);
    let cells: Vec<Option<Vec<f64>>> = rows
        .iter()
        .flat_map(|row| columns.iter().map(move |column| (*row, *column)))
        .map(|(row, column)| values(matrix, condition, column, row, quantity))
        .collect();
    if cells.iter().all(Option::is_none) {
        return String::new();
    }
    let shades = scale(&cells);
    let shown: Vec<String> = cells
        .iter()
        .map(|cell| match cell {
            Some(values) => values.iter().map(|us| microseconds(*us)).collect::<Vec<_>>().join("/"),
            None => "-".into(),
        })
        .collect();
    let width = shown.iter().map(|cell| cell.chars().count()).max().unwrap_or(1).max(5);
    let names = matrix.tasks.join(" / ");
    let mut text = format!("  {title} in us, {names}");
    if let [first, second, ..] = matrix.tasks.as_slice() {
        let _ = write!(text, "; columns: CPU of {first}, rows: CPU of {second}");
    }
    let mut text = wrap(&text);
    // As many columns at once as 80 characters hold.
    let at_once = ((80 - 8) / (width + 2)).max(1);
    for first in (0..columns.len()).step_by(at_once) {
        let part = first..(first + at_once).min(columns.len());
        let _ = write!(text, "  {:>4}", "CPU");
        for column in part.clone() {
            let _ = write!(text, "  {:>width$}", columns[column]);
        }
        text.push('\n');
        for (r, row) in rows.iter().enumerate() {
            let head = if matrix.tasks.len() > 1 { row.to_string() } else { String::new() };
            let _ = write!(text, "  {head:>4}");
            for column in part.clone() {
                let at = r * columns.len() + column;
                let cell = format!("{:>width$}", shown[at]);
                let _ = write!(text, "  {}", shaded(&cell, shades[at], colours));
            }
            text.push('\n');
        }
    }
    text
}

/// From green over yellow to red, as background (256-colour palette).
fn shaded(cell: &str, shade: Option<f64>, colours: bool) -> String {
    const PALETTE: [u8; 5] = [78, 148, 220, 208, 203];
    match shade.filter(|_| colours) {
        Some(shade) => {
            let colour = PALETTE[((shade * 4.0).round() as usize).min(4)];
            format!("\x1b[30;48;5;{colour}m{cell}\x1b[0m")
        }
        None => cell.into(),
    }
}

/// A heat map of the largest latencies for each condition. `caption` says what they rest on.
pub fn charts(matrix: &Matrix, caption: &str) -> Vec<Chart> {
    let (columns, rows) = axes(matrix);
    let names = matrix.tasks.join(" / ");
    let chart = |condition: &str| {
        let places = rows
            .iter()
            .enumerate()
            .flat_map(|(r, row)| columns.iter().enumerate().map(move |(c, column)| (r, *row, c, *column)));
        let places: Vec<_> = places.collect();
        let found: Vec<Option<Vec<f64>>> = places
            .iter()
            .map(|(_, row, _, column)| values(matrix, condition, *column, *row, Quantity::Max))
            .collect();
        let cells = places.iter().zip(&found).zip(scale(&found)).filter_map(|((place, values), shade)| {
            let words = values.as_ref()?.iter().map(|us| microseconds(*us)).collect::<Vec<_>>().join(" / ");
            // The first row stands at the top.
            Some(([place.2 as f64, (rows.len() - 1 - place.0) as f64], shade?, words))
        });
        let cells = Cells {
            size: [1.0, 1.0],
            cells: cells.collect(),
            labelled: true,
            key: ("latency".into(), vec![(0.0, "smallest".into()), (1.0, "largest".into())]),
        };
        let cpu = |cpu: &u16| format!("CPU {cpu}");
        let (first, second) = (matrix.tasks.first().map_or("", String::as_str), matrix.tasks.get(1));
        Chart {
            name: "matrix",
            caption: format!(
                "Largest latency of {names} in µs, load {condition}. {caption} Colour: the mean of the tasks on a logarithmic scale."
            ),
            x: Axis::names(format!("processor of {first}, load {condition}"), columns.iter().map(cpu)),
            y: match second {
                Some(second) => Axis::names(format!("processor of {second}"), rows.iter().rev().map(cpu)),
                None => Axis::names("", [""]),
            },
            layers: vec![Layer::new("", 0, Shape::Cells(cells))],
            height: 130 + 46 * rows.len() as u32,
        }
    };
    matrix.conditions().into_iter().map(chart).collect()
}

/// The heat maps as a picture.
///
/// # Errors
/// Nothing was measured.
pub fn svg(matrix: &Matrix, caption: &str) -> Result<String, FigureError> {
    crate::figure::svg(&charts(matrix, caption))
}

/// The page's section.
pub fn section(matrix: &Matrix, caption: &str, recommendation: Option<&Recommendation>) -> Section {
    let sentences =
        recommendation.iter().flat_map(|r| &r.sentences).map(|text| Block::Text { text: text.clone() });
    Section {
        id: "matrix".into(),
        title: "Which processors".into(),
        lead: "The same tasks on every choice of processors: the largest latency of each cell. Dark cells are the ones to avoid.".into(),
        blocks: sentences.chain(charts(matrix, caption).into_iter().map(Block::Figure)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_analysis::matrix::{Cell, Measurement, Plan, TaskFigures, placements, propose, recommend};
    use jitterlab_model::SystemFacts;
    use jitterlab_model::facts::{Cpu, Sharing};

    fn matrix(cpus: u16, tasks: usize) -> Matrix {
        let figures =
            |us: f64| TaskFigures { max_ns: us * 1e3, p999_ns: Some(us * 500.0), ..TaskFigures::default() };
        let mut measurements = Vec::new();
        for column in 0..cpus {
            for row in 0..if tasks > 1 { cpus } else { 1 } {
                let mut placed = vec![row; tasks];
                placed[0] = column;
                let us = if column == row { 2.5 } else { 10.0 + f64::from(column) };
                let tasks = (0..tasks).map(|t| figures(us + t as f64)).collect();
                measurements.push(Measurement {
                    cpus: placed,
                    condition: "mem:2<1>".into(),
                    repetition: 0,
                    tasks,
                });
            }
        }
        Matrix { tasks: ["servo", "base"][..tasks].iter().map(|t| (*t).to_owned()).collect(), measurements }
    }

    #[test]
    fn the_table_is_the_report_s() {
        let m = matrix(2, 2);
        let text = text(&m, recommend(&m, None).as_ref(), false);
        assert!(text.contains("columns: CPU of servo, rows: CPU of base"), "{text}");
        let row = text.lines().find(|line| line.trim_start().starts_with("0 ")).unwrap();
        assert_eq!(row.split_whitespace().collect::<Vec<_>>(), ["0", "2.5/3.5", "11.0/12.0"]);
        assert!(text.contains("both on CPU 0"), "{text}");
    }

    #[test]
    fn large_machines_stay_within_80_columns() {
        for tasks in [1, 2] {
            let text = text(&matrix(24, tasks), None, false);
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
            assert!(text.contains(" 23"));
        }
    }

    /// Two packages of 16 cores with two threads each; the last two cores of each package isolated.
    fn server() -> SystemFacts {
        let mut facts = SystemFacts::default();
        for id in 0..64u16 {
            let core = id % 32;
            let siblings = [core, core + 32].into_iter().collect();
            facts.cpus.push(Cpu { id, package: Some(core / 16), siblings, ..Cpu::default() });
        }
        facts.isolation.isolated = "30-31,62-63".parse().ok();
        facts
    }

    /// What a bench would measure there: quiet where isolated, worst beside the chores of CPU 0, worse on one core's two
    /// threads than on one thread, and a little different each time.
    fn simulated(facts: &SystemFacts, cell: &Cell) -> Vec<TaskFigures> {
        let isolated = facts.isolation.isolated.clone().unwrap_or_default();
        let sharing = facts.sharing(cell.cpus[0], cell.cpus[1]);
        let figures = cell.cpus.iter().map(|cpu| {
            let quiet = if isolated.contains(*cpu) { 3.0 } else { 9.0 };
            let chores = if *cpu == 0 { 2.0 } else { 1.0 };
            let shared = if sharing == Sharing::Core { 1.6 } else { 1.0 };
            let us = quiet * chores * shared * (1.0 + f64::from(cell.repetition % 3) / 20.0);
            TaskFigures { max_ns: us * 4e3, p999_ns: Some(us * 1e3), ..TaskFigures::default() }
        });
        figures.collect()
    }

    #[test]
    fn a_host_of_64_cpus_is_planned_shown_and_explained() {
        let facts = server();
        // One hour for two loads, three repetitions, 10 s each: 4096 pairs would take 68 hours.
        let affordable = 3_600 / (10 * 2 * 3);
        let proposal = propose(&facts, &facts.usable(), 2, affordable);
        assert!(proposal.reason.as_ref().is_some_and(|r| r.contains("of 64 CPUs")), "{proposal:?}");
        let places = placements(&proposal.cpus, 2);
        assert!((9..=affordable).contains(&places.len()), "{}", places.len());
        let plan = Plan::new(&places, &["none".into(), "mem:2".into()], 3, 1);
        let measurements = plan.cells.iter().map(|cell| Measurement {
            cpus: cell.cpus.clone(),
            condition: cell.condition.clone(),
            repetition: cell.repetition,
            tasks: simulated(&facts, cell),
        });
        let matrix =
            Matrix { tasks: vec!["servo".into(), "base".into()], measurements: measurements.collect() };
        let recommendation = recommend(&matrix, Some(&facts)).unwrap();
        let isolated = facts.isolation.isolated.clone().unwrap();
        assert!(recommendation.cpus.iter().all(|cpu| isolated.contains(*cpu)), "{recommendation:?}");
        assert_ne!(facts.sharing(recommendation.cpus[0], recommendation.cpus[1]), Sharing::Core);
        assert!(recommendation.worst.contains(&0), "{recommendation:?}");
        let text = text(&matrix, Some(&recommendation), false);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("Best: ") && text.contains("How sure: "), "{text}");
    }

    #[test]
    fn colours_are_for_terminals() {
        assert!(!text(&matrix(2, 2), None, false).contains('\x1b'));
        assert!(text(&matrix(2, 2), None, true).contains("48;5;78m"));
        assert_eq!(text(&Matrix::default(), None, true), "nothing was measured yet\n");
    }

    #[test]
    fn the_picture_holds_every_cell_and_no_foreign_markup() {
        let matrix = matrix(3, 2);
        let [Layer { shape: Shape::Cells(cells), .. }] = &charts(&matrix, "3 s each.")[0].layers[..] else {
            panic!("no cells")
        };
        assert_eq!(cells.cells.len(), 9);
        // The first row stands at the top: CPU 0 with CPU 0.
        assert!(
            cells
                .cells
                .iter()
                .any(|(at, shade, words)| *at == [0.0, 2.0] && *shade == 0.0 && words == "2.5 / 3.5")
        );
        assert!(svg(&matrix, "3 s each.").unwrap().contains("mem:2&lt;1&gt;"));
    }
}
