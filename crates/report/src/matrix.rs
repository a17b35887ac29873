//! Where threads should run: the recommendation and how sure it is, tables in the layout of the Athlon report, and a
//! picture.

use std::fmt::Write as _;
use std::path::Path;

use jitterlab_analysis::matrix::{
    Answer, CellStatistic, Effect, Matrix, MatrixIndex, MatrixResult, Observation, Proposal, Recommendation,
};
use jitterlab_model::facts::Sharing;
use jitterlab_model::{StopReason, TaskSpec};

use crate::chart::{Axis, Cells, Chart, Layer, Shape, Terminal};
use crate::figure::FigureError;
use crate::section::{Piece, Section};
use crate::warnings;
use crate::words::{count, plural, share, time};
use crate::wrap::wrap;

/// What the measurements show: the recommendation first, then the tables of every condition. Cells are coloured on a
/// terminal, from green for the best of a table to red for the worst.
#[must_use]
pub fn text(result: &MatrixResult, terminal: Terminal) -> String {
    let mut text: String = sentences(result).iter().map(|sentence| wrap(sentence)).collect();
    text.push_str(&tables(&result.matrix, &LATENCIES, terminal.colour));
    if text.is_empty() {
        text.push_str("nothing was measured yet\n");
    }
    text.extend(cautions(&result.index).iter().map(|caution| wrap(&format!("warning: {caution}"))));
    if result.index.left() > 0 {
        text.push_str(&wrap(&left(result.index.left())));
    }
    text
}

const LATENCIES: [(&str, CellStatistic); 2] =
    [("largest latency", CellStatistic::Max), ("p99.9, median of the repetitions", CellStatistic::P999)];

/// The cells that are still to be measured.
#[must_use]
pub fn left(cells: usize) -> String {
    let verb = if cells == 1 { "is" } else { "are" };
    format!("{} {verb} left: repeat the command to go on.", plural(cells as u64, "cell"))
}

/// What the cells' readers have to know, each once.
fn cautions(index: &MatrixIndex) -> Vec<String> {
    let ended = index.done.iter().filter_map(|done| match done.stop.as_ref()? {
        StopReason::Overloaded { overload, .. } => Some(overload.to_string()),
        StopReason::WaitFailed { task, why } => {
            let name = index.tasks.get(*task).map_or("?", |task| task.name.as_str());
            Some(format!("task {name} could not wait any more: {why}"))
        }
        _ => None,
    });
    let warned = index.done.iter().flat_map(|done| &done.warnings).map(warnings::sentence);
    let mut all: Vec<String> = warned.chain(ended).collect();
    all.sort();
    all.dedup();
    all
}

/// What is to be measured, before it begins; each cell takes `overhead_ns` beside its length.
#[must_use]
pub fn outset(index: &MatrixIndex, overhead_ns: i64, folder: &Path) -> String {
    format!(
        "{} of {}, {} to measure, about {}, into {}",
        plural(index.plan.cells.len() as u64, "cell"),
        time(index.duration_ns as f64),
        count(index.left() as u64),
        time(remaining_ns(index, overhead_ns)),
        folder.display()
    )
}

fn remaining_ns(index: &MatrixIndex, overhead_ns: i64) -> f64 {
    index.left() as f64 * (index.duration_ns + overhead_ns) as f64
}

/// A cell whose measurement begins.
#[derive(Debug, Clone, PartialEq)]
pub struct CellStep {
    /// Its number in the plan, from 0.
    number: usize,
    /// The number of cells.
    of: usize,
    cpus: Vec<u16>,
    condition: String,
    remaining_ns: f64,
}

impl CellStep {
    /// The cell of this number in the plan; `overhead_ns` is what each takes beside its length.
    #[must_use]
    pub fn of(index: &MatrixIndex, number: usize, overhead_ns: i64) -> Self {
        let cell = index.plan.cells.get(number);
        CellStep {
            number,
            of: index.plan.cells.len(),
            cpus: cell.map_or(Vec::new(), |cell| cell.cpus.clone()),
            condition: cell.map_or(String::new(), |cell| cell.condition.clone()),
            remaining_ns: remaining_ns(index, overhead_ns),
        }
    }
}

/// A cell whose measurement begins, in a line.
#[must_use]
pub fn cell_step(step: &CellStep) -> String {
    let cpus: Vec<String> = step.cpus.iter().map(ToString::to_string).collect();
    format!(
        "{}/{}  CPUs {}  {}  {} left",
        step.number + 1,
        step.of,
        cpus.join("/"),
        step.condition,
        time(step.remaining_ns)
    )
}

/// How near two CPUs are to each other.
fn placed(sharing: Sharing) -> String {
    match sharing {
        Sharing::Same => "the same CPU".into(),
        Sharing::Core => "SMT siblings of one core".into(),
        Sharing::Cache(level) => format!("cores sharing the level {level} cache"),
        Sharing::Package => "cores of one package".into(),
        Sharing::Machine => "cores of different packages".into(),
    }
}

/// What to do where a proposal leaves CPUs out, from the command itself.
pub const MORE_CPUS: &str = "name others with --cpus, or allow more --time";

/// Which CPUs are measured where not all are, and why these; `remedy` says how to take others.
#[must_use]
pub fn proposal(proposal: &Proposal, remedy: &str) -> String {
    format!(
        "measuring {} of {} CPUs ({}): one of each sort, and each way of sharing a core or a cache among the pairs; {remedy}",
        proposal.cpus.len(),
        proposal.usable,
        proposal.cpus
    )
}

/// The answer to a question with what it rests on; without a full stop.
#[must_use]
pub fn observation(question: &str, found: &Observation) -> String {
    let answer = match found.answer {
        Answer::Yes => "yes",
        Answer::Little => "yes, but little",
        Answer::No => "no",
        Answer::Opposite => "no, the opposite",
        Answer::CannotTell => "cannot tell",
    };
    let compared = match &found.effect {
        Effect::SameCpu { .. } => "the same CPU changes the values".into(),
        Effect::Condition { from, to, change_ns } => {
            format!("{to} instead of {from} changes the values by {:+.1} us at the median,", change_ns / 1e3)
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

/// `servo on CPU 1 and base on CPU 2`, or `both on CPU 1`.
fn placement(tasks: &[String], cpus: &[u16]) -> String {
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

/// The recommendation and how sure it is; nothing before anything was measured.
fn sentences(result: &MatrixResult) -> Vec<String> {
    let Some(found) = &result.recommendation else { return Vec::new() };
    let matrix = &result.matrix;
    let mut all = vec![best(found, matrix), how_sure(found, matrix)];
    all.extend(topology(found));
    all
}

fn name(statistic: CellStatistic) -> &'static str {
    match statistic {
        CellStatistic::P999 => "p99.9",
        CellStatistic::Max => "largest latency",
        CellStatistic::PeriodError => "largest period error",
    }
}

/// With a capital letter at its beginning.
fn sentence_case(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn best(found: &Recommendation, matrix: &Matrix) -> String {
    let statistic = name(found.statistic);
    let values = matrix.tasks.iter().zip(&found.worst_condition_ns);
    let values: Vec<String> =
        values.filter_map(|(name, ns)| Some(format!("{name} {}", time((*ns)?)))).collect();
    let under = if matrix.conditions().len() > 1 { " under the worst of the conditions" } else { "" };
    format!(
        "Best: {}, {statistic}{under} {}; the worst placement ({}) is {:.1} times as bad.",
        placement(&matrix.tasks, &found.cpus),
        values.join(", "),
        placement(&matrix.tasks, &found.worst),
        found.worst_factor
    )
}

fn how_sure(found: &Recommendation, matrix: &Matrix) -> String {
    let Some(probability) = found.probability else {
        return "How sure: one repetition shows no spread; measure again with --repetitions 3 or more."
            .into();
    };
    let mut text = format!("How sure: {} by the bootstrap over repetitions", share(probability));
    if let [_, others @ ..] = found.candidates.as_slice()
        && !others.is_empty()
    {
        let named: Vec<String> = others.iter().take(3).map(|cpus| placement(&matrix.tasks, cpus)).collect();
        text += &format!("; not told apart from it: {}", named.join("; "));
        if others.len() > 3 {
            text += &format!(" and {} more", others.len() - 3);
        }
    }
    text + "."
}

/// What the machine's topology says of the choice.
fn topology(found: &Recommendation) -> Vec<String> {
    let Some(facts) = &found.facts else { return Vec::new() };
    let sharing = facts.sharing.map(|sharing| format!("The tasks are on {}.", placed(sharing)));
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

/// What a matrix rests on: its tasks, and what was measured of them.
#[must_use]
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
        "{}. {} of {}, {} activations, {} missed. Each field is the largest of its repetitions.",
        tasks.join("; "),
        plural(matrix.measurements.len() as u64, "cell"),
        time(duration_ns as f64),
        count(all().map(|task| task.activations).sum()),
        count(all().map(|task| task.missed).sum())
    )
}

/// The tables of every condition, one for each of these numbers with its title. Cells are coloured as in [`text`].
pub fn tables(matrix: &Matrix, statistics: &[(&str, CellStatistic)], colours: bool) -> String {
    let mut text = String::new();
    for condition in matrix.conditions() {
        let repetitions =
            matrix.measurements.iter().filter(|m| m.condition == condition).map(|m| m.repetition);
        let times = repetitions.max().map_or(0, |last| last + 1);
        let _ = writeln!(text, "\nload: {condition}, {}", plural(times.into(), "repetition"));
        for (title, statistic) in statistics {
            text.push_str(&table(matrix, condition, title, *statistic, colours));
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
fn values(
    matrix: &Matrix,
    condition: &str,
    column: u16,
    row: u16,
    statistic: CellStatistic,
) -> Option<Vec<f64>> {
    let mut cpus = vec![row; matrix.tasks.len()];
    *cpus.first_mut()? = column;
    let value = |task| match statistic {
        CellStatistic::P999 => matrix.median(&cpus, condition, task, statistic),
        _ => matrix.largest(&cpus, condition, task, statistic),
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

fn table(matrix: &Matrix, condition: &str, title: &str, statistic: CellStatistic, colours: bool) -> String {
    let (columns, rows) = axes(matrix);
    let cells: Vec<Option<Vec<f64>>> = rows
        .iter()
        .flat_map(|row| columns.iter().map(move |column| (*row, *column)))
        .map(|(row, column)| values(matrix, condition, column, row, statistic))
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

/// A heat map of a number for each condition. `caption` says what it rests on.
pub fn charts(matrix: &Matrix, statistic: CellStatistic, caption: &str) -> Vec<Chart> {
    let (columns, rows) = axes(matrix);
    let names = matrix.tasks.join(" / ");
    let named = name(statistic);
    let chart = |condition: &str| {
        let places = rows
            .iter()
            .enumerate()
            .flat_map(|(r, row)| columns.iter().enumerate().map(move |(c, column)| (r, *row, c, *column)));
        let places: Vec<_> = places.collect();
        let found: Vec<Option<Vec<f64>>> = places
            .iter()
            .map(|(_, row, _, column)| values(matrix, condition, *column, *row, statistic))
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
            key: (named.into(), vec![(0.0, "smallest".into()), (1.0, "largest".into())]),
        };
        let cpu = |cpu: &u16| format!("CPU {cpu}");
        let (first, second) = (matrix.tasks.first().map_or("", String::as_str), matrix.tasks.get(1));
        Chart {
            name: "matrix",
            caption: format!(
                "{} of {names} in µs, load {condition}. {caption} Colour: the mean of the tasks on a logarithmic scale.",
                sentence_case(named)
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

fn result_charts(result: &MatrixResult) -> Vec<Chart> {
    let caption = caption(&result.index.tasks, result.index.duration_ns, &result.matrix);
    charts(&result.matrix, CellStatistic::Max, &caption)
}

/// The heat maps as a picture.
///
/// # Errors
/// Nothing was measured.
pub fn svg(result: &MatrixResult) -> Result<String, FigureError> {
    crate::figure::svg(&result_charts(result))
}

/// What the page shows of it.
#[must_use]
pub fn sections(result: &MatrixResult) -> Vec<Section> {
    let unfinished = Some(result.index.left()).filter(|cells| *cells > 0).map(left);
    let said = sentences(result).into_iter().chain(cautions(&result.index)).chain(unfinished);
    let said = said.map(|text| Piece::Text { text });
    vec![Section {
        id: "matrix".into(),
        title: "Which processors".into(),
        lead: "The same tasks on every choice of processors: the largest latency of each cell. Dark cells are the ones to avoid.".into(),
        pieces: said.chain(result_charts(result).into_iter().map(Piece::Figure)).collect(),
    }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_analysis::matrix::{
        Cell, CellMeasurement, CellPlan, TaskTiming, placements, propose, recommend,
    };
    use jitterlab_analysis::papers::athlon;
    use jitterlab_model::SystemFacts;
    use jitterlab_model::facts::Cpu;

    fn matrix(cpus: u16, tasks: usize) -> Matrix {
        let figures = |us: f64| TaskTiming {
            max_ns: Some(us * 1e3),
            p999_ns: Some(us * 500.0),
            ..TaskTiming::default()
        };
        let mut measurements = Vec::new();
        for column in 0..cpus {
            for row in 0..if tasks > 1 { cpus } else { 1 } {
                let mut placed = vec![row; tasks];
                placed[0] = column;
                let us = if column == row { 2.5 } else { 10.0 + f64::from(column) };
                let tasks = (0..tasks).map(|t| figures(us + t as f64)).collect();
                measurements.push(CellMeasurement {
                    cpus: placed,
                    condition: "mem:2<1>".into(),
                    repetition: 0,
                    tasks,
                });
            }
        }
        Matrix { tasks: ["servo", "base"][..tasks].iter().map(|t| (*t).to_owned()).collect(), measurements }
    }

    /// What is printed of a matrix that was measured whole.
    fn printed(matrix: &Matrix, facts: Option<&SystemFacts>, colour: bool) -> String {
        text(&result(matrix, facts), Terminal { columns: 80, ascii: false, colour })
    }

    fn result(matrix: &Matrix, facts: Option<&SystemFacts>) -> MatrixResult {
        let plan = CellPlan { cells: Vec::new(), seed: 0 };
        let index = MatrixIndex::new(Vec::new(), Vec::new(), 3_000_000_000, plan);
        MatrixResult { recommendation: recommend(matrix, facts), matrix: matrix.clone(), index }
    }

    #[test]
    fn an_observation_says_what_it_rests_on() {
        let found = athlon::AthlonReproduction::of(SystemFacts::default(), vec![], 1, 1, 0, athlon::matrix());
        let said: Vec<String> =
            found.observations.iter().flat_map(|o| &o.printed).map(|o| observation("?", o)).collect();
        insta::assert_snapshot!(said.join("\n"), @"
        ? yes: the same CPU changes the values by a factor of 0.44 (95 % interval 0.36 to 0.75, p below 0.005, 16 values)
        ? yes: the same CPU changes the values by a factor of 0.49 (95 % interval 0.40 to 0.80, p below 0.005, 16 values)
        ? yes, but little: hog@0-1 instead of none changes the values by -1.1 us at the median, by a factor of 0.86 (95 % interval 0.79 to 0.91, p below 0.005, 32 values)
        ");
    }

    #[test]
    fn a_recommendation_says_how_sure_it_is() {
        let mut m = matrix(2, 2);
        insta::assert_snapshot!(sentences(&result(&m, None)).join("\n"), @"
        Best: both on CPU 0, p99.9 servo 1.25 us, base 1.75 us; the worst placement (servo on CPU 1 and base on CPU 0) is 3.9 times as bad.
        How sure: one repetition shows no spread; measure again with --repetitions 3 or more.
        ");
        let again: Vec<_> =
            m.measurements.iter().map(|cell| CellMeasurement { repetition: 1, ..cell.clone() }).collect();
        m.measurements.extend(again);
        insta::assert_snapshot!(sentences(&result(&m, Some(&SystemFacts::default()))).join("\n"), @"
        Best: both on CPU 0, p99.9 servo 1.25 us, base 1.75 us; the worst placement (servo on CPU 1 and base on CPU 0) is 3.9 times as bad.
        How sure: 100 % by the bootstrap over repetitions.
        The tasks are on the same CPU.
        Whether these CPUs are isolated is unknown.
        ");
    }

    #[test]
    fn the_table_is_the_report_s() {
        let text = printed(&matrix(2, 2), None, false);
        assert!(text.contains("columns: CPU of servo, rows: CPU of base"), "{text}");
        let row = text.lines().find(|line| line.trim_start().starts_with("0 ")).unwrap();
        assert_eq!(row.split_whitespace().collect::<Vec<_>>(), ["0", "2.5/3.5", "11.0/12.0"]);
        assert!(text.contains("both on CPU 0"), "{text}");
    }

    #[test]
    fn large_machines_stay_within_80_columns() {
        for tasks in [1, 2] {
            let text = printed(&matrix(24, tasks), None, false);
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
    fn simulated(facts: &SystemFacts, cell: &Cell) -> Vec<TaskTiming> {
        let isolated = facts.isolation.isolated.clone().unwrap_or_default();
        let sharing = facts.sharing(cell.cpus[0], cell.cpus[1]);
        let figures = cell.cpus.iter().map(|cpu| {
            let quiet = if isolated.contains(*cpu) { 3.0 } else { 9.0 };
            let chores = if *cpu == 0 { 2.0 } else { 1.0 };
            let shared = if sharing == Sharing::Core { 1.6 } else { 1.0 };
            let us = quiet * chores * shared * (1.0 + f64::from(cell.repetition % 3) / 20.0);
            TaskTiming { max_ns: Some(us * 4e3), p999_ns: Some(us * 1e3), ..TaskTiming::default() }
        });
        figures.collect()
    }

    #[test]
    fn a_host_of_64_cpus_is_planned_shown_and_explained() {
        let facts = server();
        // One hour for two loads, three repetitions, 10 s each: 4096 pairs would take 68 hours.
        let affordable = 3_600 / (10 * 2 * 3);
        let proposal = propose(&facts, &facts.usable(), 2, affordable);
        let chosen = super::proposal(&proposal, "");
        assert!(chosen.contains("of 64 CPUs"), "{chosen}");
        let places = placements(&proposal.cpus, 2);
        assert!((9..=affordable).contains(&places.len()), "{}", places.len());
        let plan = CellPlan::new(&places, &["none".into(), "mem:2".into()], 3, 1);
        let measurements = plan.cells.iter().map(|cell| CellMeasurement {
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
        let text = printed(&matrix, Some(&facts), false);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("Best: ") && text.contains("How sure: "), "{text}");
    }

    #[test]
    fn colours_are_for_terminals() {
        assert!(!printed(&matrix(2, 2), None, false).contains('\x1b'));
        assert!(printed(&matrix(2, 2), None, true).contains("48;5;78m"));
        assert_eq!(printed(&Matrix::default(), None, true), "nothing was measured yet\n");
    }

    #[test]
    fn the_picture_holds_every_cell_and_no_foreign_markup() {
        let matrix = matrix(3, 2);
        let [Layer { shape: Shape::Cells(cells), .. }] =
            &charts(&matrix, CellStatistic::Max, "3 s each.")[0].layers[..]
        else {
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
        assert!(svg(&result(&matrix, None)).unwrap().contains("mem:2&lt;1&gt;"));
    }
}
