//! Activity of the processor around a late start, as lanes: the latency in parts above, the task itself
//! below.

use jitterlab_analysis::causes::LateEvent;
use jitterlab_model::causes::{Cause, CauseClass, ExecutionContext};

use crate::chart::{Axis, Chart, Layer, Shape, Span};
use crate::section::FigureOption;
use crate::why::{self, marks};
use crate::words::{count, time};

/// Starts that have lanes on the page.
pub(super) const MAX_STARTS: usize = 32;
/// Number of spans around one start, the longest ones.
const MAX_SPANS: usize = 150;

/// Charts of what ran around each of the worst starts, to choose from; `x` is its place in the chart of all.
pub(super) fn activity_figures(events: &[LateEvent], x: impl Fn(&LateEvent) -> f64) -> Vec<FigureOption> {
    let known = events.iter().filter(|late| !late.ran.is_empty()).take(MAX_STARTS);
    known
        .map(|late| {
            let label =
                format!("{}: {} late, #{}", late.rank, time(late.latency_ns as f64), count(late.index));
            let selecting_point = Some([x(late), late.latency_ns as f64]);
            FigureOption { label, charts: vec![activity_chart(late)], detail: None, selecting_point }
        })
        .collect()
}

/// Lanes from the lowest to the highest, with their names and the causes that have their colours.
const ROWS: [(ExecutionContext, &str, CauseClass); 4] = [
    (ExecutionContext::Task, "the task", CauseClass::TypicalWakeUp),
    (ExecutionContext::Thread, "threads", CauseClass::Preempted),
    (ExecutionContext::Softirq, "softirqs", CauseClass::Softirq),
    (ExecutionContext::Interrupt, "interrupts", CauseClass::Interrupt),
];

fn activity_chart(late: &LateEvent) -> Chart {
    let mut longest: Vec<_> = late.ran.iter().collect();
    longest.sort_by_key(|ran| std::cmp::Reverse(ran.ns));
    longest.truncate(MAX_SPANS);
    let span = |at_ns: i64, ns: i64, lane: usize, words: String| Span {
        from: at_ns as f64,
        to: (at_ns + ns) as f64,
        lane: lane as f64,
        words: format!("{words}, {}", time(ns as f64)),
    };
    let mut layers = Vec::new();
    for (place, (lane, _, class)) in ROWS.iter().enumerate() {
        let here = longest.iter().filter(|ran| ran.context == *lane);
        let spans = here.map(|ran| span(ran.at_ns, ran.ns, place, ran.name.clone())).collect();
        layers.push(Layer::coloured("", marks::class_colour(*class), Shape::Spans(spans)));
    }
    let causes: Vec<&Cause> = late.parts.iter().map(|part| &part.cause).collect();
    layers.extend(late.parts.iter().zip(marks::cause_letters(&causes)).map(|(part, letter)| {
        let function = part.function.as_ref().map_or(String::new(), |name| format!(" in {name}"));
        let words = format!("{letter} {}{function}", why::cause_text(&part.cause));
        let spans = vec![span(part.at_ns, part.ns, ROWS.len(), words)];
        Layer::coloured("", marks::class_colour(part.cause.class), Shape::Spans(spans))
    }));
    let marks = vec![(0.0, "due".into()), (late.latency_ns as f64, "start".into())];
    layers.push(Layer::new("", 5, Shape::Marks(marks)));
    let names = ROWS.iter().map(|(_, name, _)| *name).chain(["latency"]);
    Chart {
        name: "lanes".into(),
        caption: format!(
            "What ran on CPU {} around activation {}, and the latency in parts: point at a bar for its name, drag over a stretch to zoom in.",
            late.cpu,
            count(late.index)
        ),
        x: Axis::linear("time from the due time").time(),
        y: Axis::names("", names),
        layers,
        height: 250,
    }
}
