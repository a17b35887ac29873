//! The worst starts by their causes: time, lateness, and by colour and letter the cause of the longest part
//! of each.

use jitterlab_analysis::causes::{CauseRow, RunWhy, TaskWhy};
use jitterlab_model::TaskRun;
use jitterlab_model::causes::Cause;

use super::activity;
use crate::chart::{Axis, Chart, Layer, Shape};
use crate::run_view::PageRun;
use crate::section::{Piece, Section};
use crate::why;
use crate::words::{count, time};

/// Causes that are named: all others are one, and starts that nothing delayed another.
const NAMED_CAUSES: usize = 4;

/// Causes of late starts, for each run that has them; `None` if no run has.
pub(super) fn section(runs: &[PageRun]) -> Option<Section> {
    let of_run = |run: &PageRun| run.why.as_ref().map(|why| run_pieces(run, why, runs.len() > 1));
    let pieces: Vec<Piece> = runs.iter().filter_map(of_run).flatten().collect();
    (!pieces.is_empty()).then(|| why::section(pieces))
}

fn run_pieces(run: &PageRun, why: &RunWhy, many_runs: bool) -> Vec<Piece> {
    why::with_others_folded(why, |(of, task)| task_pieces(run, why, of, task, many_runs))
}

fn task_pieces(run: &PageRun, why: &RunWhy, of: &TaskWhy, task: &TaskRun, many_runs: bool) -> Vec<Piece> {
    let name = if many_runs { format!("{}, {}", run.label, of.task) } else { of.task.clone() };
    let mut pieces = vec![Piece::text(format!("{name}: {}", why::main_sentences(of, &why.run).join(" ")))];
    pieces.extend(causes_chart(run, of, &name).map(Piece::Figure));
    let lanes = activity::activity_figures(&of.events, |late| (late.due_ns - run.origin_ns()) as f64);
    if !lanes.is_empty() {
        pieces.push(Piece::Choice { label: format!("{name}: what ran around start"), figures: lanes });
    }
    pieces.extend(why::task_pieces(of, why, task));
    pieces
}

fn causes_chart(run: &PageRun, of: &TaskWhy, name: &str) -> Option<Chart> {
    let origin_ns = run.origin_ns();
    let causes: Vec<&Cause> = of
        .causes
        .iter()
        .filter(|row| row.share_of_worst > 0.0)
        .take(NAMED_CAUSES)
        .map(|row: &CauseRow| &row.cause)
        .collect();
    let mut points: Vec<Vec<[f64; 2]>> = vec![Vec::new(); causes.len() + 2];
    for late in &of.events {
        let place = match late.main_part() {
            Some(part) => causes.iter().position(|cause| **cause == part.cause).unwrap_or(causes.len()),
            None => causes.len() + 1,
        };
        points[place].push([(late.due_ns - origin_ns) as f64, late.latency_ns as f64]);
    }
    let letters =
        why::marks::cause_letters(&causes).into_iter().chain([why::marks::OTHER, why::marks::USUAL]);
    let names = causes.iter().map(|cause| why::cause_text(cause));
    let names = names.chain(["other causes".into(), "the usual way only".into()]);
    let colours = causes.iter().map(|cause| why::marks::class_colour(cause.class));
    let colours = colours.chain([why::marks::OTHERS, why::marks::OTHERS]);
    let layers: Vec<Layer> = letters
        .zip(names)
        .zip(colours)
        .zip(points)
        .filter(|(_, points)| !points.is_empty())
        .map(|(((letter, name), colour), mut points)| {
            points.sort_by(|a, b| a[0].total_cmp(&b[0]));
            Layer::coloured(format!("{letter} {name}"), colour, Shape::Points(points))
        })
        .collect();
    (!layers.is_empty()).then(|| Chart {
        name: "causes".into(),
        caption: format!(
            "The {} latest starts of {} of {name}, those from {} on, by the cause of each one's longest part. A name of the legend shows or hides its starts; a click at a start shows what ran around it.",
            count(of.events.len() as u64),
            count(of.explained),
            time(of.events.iter().map(|late| late.latency_ns).min().unwrap_or(0) as f64)
        ),
        x: Axis::linear("time").time(),
        y: Axis::time_from(format!("{name}: latency"), 1, true),
        layers,
        height: 300,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_analysis::causes::ListedEvents;
    use jitterlab_analysis::scan::TaskScan;
    use jitterlab_model::causes::{CauseClass, CauseSum, Evidence, LateStart, LatencyPart, TaskCauses};
    use jitterlab_model::{Bench, RunInfo, TaskSpec};

    use crate::run_view::PageTask;
    use jitterlab_analysis::scan::series::{SeriesBuilder, Share};

    #[test]
    fn each_start_has_the_colour_of_its_longest_part() {
        let info = RunInfo::new(Bench::Host, "monotonic", [TaskSpec::default()]);
        let hog = Cause { class: CauseClass::Preempted, who: Some("hog".into()) };
        let sums = [hog, CauseClass::Outside.into(), CauseClass::TypicalWakeUp.into()].map(|cause| {
            let mut sum = CauseSum::new(cause);
            sum.add_activation(90_000, 80_000, 80_000, 0);
            sum
        });
        let late = |index: u64, cause| LateStart {
            index,
            due_ns: index as i64 * 1_000_000,
            latency_ns: 90_000,
            cpu: 0,
            parts: [(2, 0, 10_000), (cause, 10_000, 80_000)]
                .map(|(cause, at_ns, ns)| LatencyPart {
                    cause,
                    at_ns,
                    ns,
                    evidence: Evidence::Events,
                    function: None,
                })
                .into(),
            spans: Vec::new(),
        };
        let causes = TaskCauses {
            explained: 3,
            lateness_ns: 270_000,
            max_ns: 90_000,
            causes: sums.into(),
            worst_starts: vec![late(7, 0), late(8, 1), late(9, 2)],
            ..TaskCauses::default()
        };
        let of = TaskWhy::new("main", &causes, ListedEvents::Worst(9));
        let why = RunWhy {
            file: String::new(),
            tasks: vec![of],
            tracer: jitterlab_model::causes::Tracer::default(),
            one_event: false,
            run: info.clone(),
        };
        let series = SeriesBuilder::new(1_000_000, Share { expected: 1, total: 1 }).finish();
        let task = PageTask::new(0, series, TaskScan::new(1_000_000, 1), &info);
        let run = PageRun {
            label: "run".into(),
            file: "run".into(),
            info,
            checks: None,
            tasks: vec![task],
            why: Some(why),
        };
        let section = section(&[run]).unwrap();
        let chart = section.charts()[0];
        let mut seen: Vec<(&str, usize)> = Vec::new();
        for layer in &chart.layers {
            let Shape::Points(points) = &layer.shape else { panic!("{layer:?}") };
            seen.push((&layer.name, points.len()));
        }
        seen.sort_unstable();
        let wanted =
            [("H outside this kernel", 1), ("P more urgent thread hog", 1), ("· the usual way only", 1)];
        assert_eq!(seen, wanted, "{section:#?}");
    }
}
