//! What a run says about the time after it, for the terminal.

use jitterlab_analysis::outlook::{Outlook, TaskOutlook};
use jitterlab_analysis::predict::{
    Bound, CONFIDENCE, Condition, DEFAULT_HORIZON, Facts, Gate, Prediction, PredictionCaveat, Reliability,
};
use jitterlab_model::Warning;

use crate::caveats::clause;
use crate::chart::{Axis, Chart, Layer, Shape, Terminal};
use crate::check::paragraph;
use crate::requirement::{claim, judgement};
use crate::section::{Piece, Section};
use crate::table::columns;
use crate::warnings;
use crate::why::cause;
use crate::words::{count, microseconds, plural, share, time};
use crate::wrap::wrap;

/// Everything that is said of a file's tasks.
#[must_use]
pub fn text(outlook: &Outlook, terminal: Terminal) -> String {
    let mut text = String::new();
    for task in &outlook.tasks {
        match &task.prediction {
            Some(found) => {
                text.push_str(&prediction(&task.task, found));
                text.push_str(&terminal.figures(&chart(&task.task, found)));
            }
            None if task.requirements.is_empty() && task.reliability.is_none() => {
                text.push_str(&wrap(&format!(
                    "{}: nothing is foretold: that takes latencies of a periodic task, their number and its period \
                     (--period)",
                    task.task
                )));
            }
            None => {}
        }
        text.extend(task.reliability.iter().map(|found| reliability(&task.task, found)));
        text.extend(task.claims.iter().map(|plan| claim(&task.task, plan)));
        text.extend(task.requirements.iter().map(|found| wrap(&judgement(&task.task, found))));
    }
    text + &warned(&outlook.warnings)
}

/// What stands below the head on the terminal where not everything is wanted; `None` where that is everything.
pub(crate) fn short(outlook: &Outlook) -> Option<String> {
    let decided = |task: &TaskOutlook| {
        let lines = task.requirements.iter().map(|found| wrap(&judgement(&task.task, found)));
        let claimed = task.claims.iter().map(|plan| claim(&task.task, plan));
        claimed.chain(lines).collect::<String>()
    };
    let of_task = |task: &TaskOutlook| {
        let found = task.prediction.as_ref();
        found.map_or_else(String::new, |found| facts(&task.task, &found.facts) + &refused(found))
            + &decided(task)
    };
    let backtest = outlook.tasks.iter().any(|task| task.reliability.is_some());
    let text: String = outlook.tasks.iter().map(of_task).collect();
    (!backtest && !text.is_empty()).then(|| text + &warned(&outlook.warnings))
}

fn warned(all: &[Warning]) -> String {
    all.iter().map(|warning| wrap(&format!("warning: {}", warnings::sentence(warning)))).collect()
}

/// What the page shows of it.
#[must_use]
pub fn sections(outlook: &Outlook) -> Vec<Section> {
    let predicted = outlook.tasks.iter().filter_map(|of| Some((of.task.clone(), of.prediction.as_ref()?)));
    section(&predicted.collect::<Vec<_>>()).into_iter().collect()
}

/// The page's section; `None` without a prediction.
#[must_use]
pub fn section(predictions: &[(String, &Prediction)]) -> Option<Section> {
    let pieces: Vec<Piece> = predictions.iter().flat_map(|(name, found)| pieces(name, found)).collect();
    (!pieces.is_empty()).then(|| Section {
        id: "prediction".into(),
        title: "How much worse can it get".into(),
        lead: "What this run says about a longer one like it. A bound is given only where every condition of an extrapolation holds; otherwise only what was counted.".into(),
        pieces,
    })
}

fn pieces(name: &str, prediction: &Prediction) -> Vec<Piece> {
    let rows = prediction.gates.iter().map(|gate| {
        let outcome = if gate.passed { "passed" } else { "FAILED" };
        vec![gate.condition.id().into(), outcome.into(), with_method(gate)]
    });
    let gates = Piece::table(
        format!("{name}: conditions of the extrapolation"),
        &["condition", "outcome", "what was found"],
        rows,
    );
    let caveats =
        prediction.caveats.iter().map(|found| Piece::Text { text: caveat(found, &prediction.facts) });
    let mut pieces = vec![Piece::Text { text: answer(name, prediction) }];
    pieces.extend(chart(name, prediction).map(Piece::Figure));
    pieces.push(gates);
    pieces.extend(caveats);
    pieces
}

/// The bound, or what there is instead, in a sentence.
fn answer(name: &str, prediction: &Prediction) -> String {
    let facts = &prediction.facts;
    let ahead = time(facts.horizon_ns);
    let observed = time(facts.observed_max_ns as f64);
    match &prediction.bound {
        Some(bound) => format!(
            "{name}: within the next {ahead} the largest latency stays below {} with 95 % probability, at 95 % confidence; seen so far: {observed}.{}",
            time(bound.bound_ns),
            of_cause(bound)
        ),
        None => format!(
            "{name}: no bound can be given, since a condition of it failed. Seen so far: {observed}; that nothing exceeds it within the next {ahead} has a probability of {}, whatever the distribution, if it goes on as in this run.",
            share(facts.p_max_holds)
        ),
    }
}

/// What holds whatever the distribution is.
fn facts(name: &str, facts: &Facts) -> String {
    let mut text = wrap(&format!(
        "{name}: what {} ({} activations) say of the next {}",
        time(facts.run_ns),
        count(facts.count),
        time(facts.horizon_ns)
    ));
    text.push_str("\nWhatever the distribution is, if what follows is like the run:\n");
    text.push_str(&wrap(&format!(
        "- The largest latency so far is {}. That nothing later exceeds it has a probability of {}; {} activations are \
         expected to exceed it.",
        time(facts.observed_max_ns as f64),
        share(facts.p_max_holds),
        few(facts.expected_exceedances)
    )));
    text.push_str(&wrap(&format!(
        "- A cause that did not show may still come once every {}: up to {} times within the horizon (95 % confidence).",
        time(1e9 / facts.unseen_rate_per_s),
        few(facts.unseen_rate_per_s * facts.horizon_ns / 1e9)
    )));
    text.push_str("- Upper limits of quantiles (95 % confidence):\n");
    let rows = facts.quantiles.iter().map(|q| {
        let limit = q.limit_ns.map_or_else(
            || format!("needs {} activations", count(q.needs)),
            |ns| {
                let provided = if q.if_singly { ", if larger ones come singly" } else { "" };
                format!("{} µs{provided}", microseconds(ns as f64))
            },
        );
        vec![format!("p{}", 100.0 - q.share_above * 100.0), limit]
    });
    text.push_str(&columns(&["", "not above"], rows));
    text
}

/// The conditions of an extrapolation that are not met, and what a bound takes for granted.
fn refused(prediction: &Prediction) -> String {
    let failed = prediction.gates.iter().filter(|gate| !gate.passed);
    let failed = failed.map(|gate| format!("- No bound, {}: {}.", gate.condition.id(), condition(gate)));
    let minded = prediction.caveats.iter().map(|found| format!("- {}", caveat(found, &prediction.facts)));
    failed.chain(minded).map(|line| wrap(&line)).collect()
}

/// The facts, the gates, the bound if there is one, and the caveats.
fn prediction(name: &str, prediction: &Prediction) -> String {
    let mut text = facts(name, &prediction.facts);
    text.push_str("\nMay the tail be extrapolated?\n");
    let rows = prediction.gates.iter().map(|gate| {
        vec![
            gate.condition.id().into(),
            if gate.passed { "pass" } else { "FAIL" }.into(),
            gate.statistic.map_or("-".into(), |statistic| format!("{statistic:.3}")),
            format!("{:.3}", gate.critical),
        ]
    });
    text.push_str(&columns(&["condition", "", "statistic", "limit"], rows));
    for gate in prediction.gates.iter().filter(|gate| !gate.passed) {
        text.push_str(&paragraph(&format!("{}: {}.", gate.condition.id(), with_method(gate)), 2, 4));
    }
    text.push('\n');
    text.push_str(&bound(prediction));
    for found in &prediction.caveats {
        text.push_str(&wrap(&format!("- {}", caveat(found, &prediction.facts))));
    }
    text
}

/// The same with the name of what was computed, for a reader who knows the method.
fn with_method(gate: &Gate) -> String {
    let index = |index: f64| format!(" (extremal index {index:.2})");
    let method = match &gate.condition {
        Condition::Size { clustered: Some(of) } => index(*of),
        Condition::ClusterSizes { extremal_index, .. } => index(*extremal_index),
        Condition::GoodnessOfFit { latencies: Some(_) } => {
            " (generalised Pareto tail, Anderson-Darling)".into()
        }
        Condition::Shape { .. } => " (xi)".into(),
        Condition::Level { .. } => " (KPSS test)".into(),
        _ => String::new(),
    };
    condition(gate) + &method
}

/// What a condition looked at and found, as a clause in plain words.
fn condition(gate: &Gate) -> String {
    let whole = |number: f64| count(number as u64);
    let statistic = gate.statistic.unwrap_or(f64::NAN);
    match &gate.condition {
        Condition::Size { clustered: Some(index) } => format!(
            "the largest values come in clusters of about {:.1}: {} clusters, {} needed",
            1.0 / index.max(1e-3),
            whole(statistic),
            whole(gate.critical)
        ),
        Condition::Size { clustered: None } => format!(
            "{} values in the largest 1 % of the run, {} needed",
            whole(statistic),
            whole(gate.critical)
        ),
        Condition::Dispersion { latencies, parts } => {
            format!("the {latencies} largest latencies over {parts} equal parts of the run: an even spread")
        }
        Condition::ClusterSizes { clusters: Some(clusters), extremal_index } => format!(
            "{clusters} clusters of the largest values, of about {:.1} each: the size of the largest",
            1.0 / extremal_index.max(1e-3)
        ),
        Condition::ClusterSizes { clusters: None, .. } => "the largest values come each for itself".into(),
        Condition::GoodnessOfFit { latencies: Some(latencies) } => {
            format!("the {latencies} largest latencies against the tail that largest values have in theory")
        }
        Condition::GoodnessOfFit { latencies: None } => {
            "the largest latencies are all equal: there is no tail to fit".into()
        }
        Condition::Shape { variation } => {
            let variation = variation.map_or("unknown".into(), |v| format!("{v:.2}"));
            format!(
                "weight of the tail (standard deviation over mean {variation}, 1 for an exponential tail)"
            )
        }
        Condition::TopCluster { latencies } => format!(
            "the {latencies} largest latencies: no group apart from the rest (largest spacing over the median one)"
        ),
        Condition::Halves { latencies, first_half } => format!(
            "of the {latencies} largest latencies {first_half} in the first half (difference in standard deviations)"
        ),
        Condition::Level { parts } => {
            format!("the maxima of {parts} equal parts of the run: that the level stays the same")
        }
        Condition::Migrations if gate.passed => "the task stayed on one processor".into(),
        Condition::Migrations => {
            format!("the task moved to another processor {}", plural(statistic as u64, "time"))
        }
        Condition::Machine { events } if events.is_empty() => {
            "no event on the machine that is known to matter".into()
        }
        Condition::Machine { events } => events.iter().map(clause).collect::<Vec<_>>().join("; "),
    }
}

fn caveat(caveat: &PredictionCaveat, facts: &Facts) -> String {
    match caveat {
        PredictionCaveat::Persistence => "It holds if the observed mechanism and load persist.".into(),
        PredictionCaveat::Unseen { every_ns, expected } => format!(
            "Anything that comes every {} or less often may not have come in {}, and nothing here can know it: up to \
             {expected:.0} such events may come within the horizon.",
            time(*every_ns),
            time(facts.run_ns)
        ),
        PredictionCaveat::FarHorizon { times, needed_run_ns } => format!(
            "The horizon is {times:.0} times the run; beyond {DEFAULT_HORIZON:.0} times, slow causes that the run cannot \
             have met decide the maximum, and bounds have proved wrong in tests (an interrupt every 10 minutes, a \
             load every hour). Measure for {} to look ahead that far.",
            time(*needed_run_ns)
        ),
    }
}

/// The largest latencies against how often they came, and the bound at the horizon.
fn chart(name: &str, prediction: &Prediction) -> Option<Chart> {
    let facts = &prediction.facts;
    let largest = &prediction.largest_ns;
    largest.first()?;
    let points = largest.iter().zip(1u32..).map(|(ns, rank)| [facts.run_ns / f64::from(rank), *ns as f64]);
    let mut layers = vec![
        Layer::new("", 4, Shape::Level(facts.observed_max_ns as f64)),
        Layer::new("largest latencies of the run", 0, Shape::Points(points.collect())),
    ];
    let (at, low) = (facts.horizon_ns, facts.observed_max_ns as f64);
    layers.push(match &prediction.bound {
        Some(bound) => Layer::new(
            "stays below, 95 %",
            1,
            Shape::Intervals(vec![[at, low, bound.bound_ns, bound.bound_ns]]),
        ),
        None => Layer::new("", 1, Shape::Marks(vec![(at, "no bound: a condition failed".into())])),
    });
    Some(Chart {
        name: "prediction".into(),
        caption: format!(
            "{name}: the {} largest of {} latencies, each at the time in which one as large came once on average. Dashed: the largest. Looked ahead: {}.",
            largest.len(),
            count(facts.count),
            time(facts.horizon_ns)
        ),
        x: Axis::log("once in").time(),
        y: Axis::linear("latency").time(),
        layers,
        height: 380,
    })
}

/// Whose late starts the bound is of, as a further sentence.
fn of_cause(bound: &Bound) -> String {
    bound.cause.as_ref().map_or(String::new(), |found| {
        format!(
            " That is the bound of one cause by itself, {}, which reaches further than all together.",
            cause(found)
        )
    })
}

fn bound(prediction: &Prediction) -> String {
    let Some(bound) = &prediction.bound else {
        return wrap(
            "No extrapolation: a condition is not met, and a number would be a guess. The facts above hold all the same; \
             `jitterlab analyze` shows the modes and patterns.",
        );
    };
    let confidence = CONFIDENCE * 100.0;
    let mut text = wrap(&format!(
        "With {confidence:.0} % confidence the largest latency within {} stays below {} with a probability of {confidence:.0} %.{}",
        time(prediction.facts.horizon_ns),
        time(bound.bound_ns),
        of_cause(bound)
    ));
    let rows = bound.fits.iter().map(|fit| {
        vec![
            count(fit.exceedances as u64),
            microseconds(fit.threshold_ns),
            microseconds(fit.scale_ns),
            format!("{:+.3}", fit.shape),
            microseconds(fit.bound_ns),
        ]
    });
    text.push_str(&columns(&["tail of", "above µs", "scale µs", "shape", "bound µs"], rows));
    text.push_str(&paragraph(
        &format!("the choice of the tail changes the bound by a factor of {:.2}", bound.sensitivity),
        2,
        4,
    ));
    text
}

/// How predictions from the windows of a run turned out.
fn reliability(task: &str, found: &Reliability) -> String {
    let ahead = found.window_ns * found.horizon_windows as f64;
    let mut text = wrap(&format!(
        "{task}: predictions from windows of {} for the {} after each",
        time(found.window_ns),
        time(ahead)
    ));
    let held = found.held_limits.map_or("-".into(), |[low, high]| {
        let held = found.held as f64 / found.bounded as f64;
        format!("{} ({} to {})", share(held), share(low), share(high))
    });
    let rows = [
        ("windows with a whole horizon after them", count(found.windows)),
        ("extrapolation refused", count(found.windows - found.bounded)),
        ("bounded", count(found.bounded)),
        ("bounds that held", count(found.held)),
        ("share that held, with 95 % limits", held),
        ("bound over what came, median", found.median_ratio.map_or("-".into(), |r| format!("{r:.2}"))),
        ("for comparison: the window's own maximum held", count(found.max_held)),
    ];
    text.push_str(&columns(&["", ""], rows.map(|(name, value)| vec![name.to_owned(), value])));
    if !found.refused_by.is_empty() {
        let gates = found.refused_by.iter().map(|(gate, times)| format!("{gate} {times}"));
        text.push_str(&paragraph(&format!("refused by: {}", gates.collect::<Vec<_>>().join(", ")), 2, 4));
    }
    text.push_str(&paragraph("horizons overlap: windows are not independent of each other", 2, 4));
    text
}

/// An expected number, with a digit behind the point only where it matters.
fn few(number: f64) -> String {
    if number < 10.0 { format!("{number:.1}") } else { count(number.round() as u64) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_analysis::predict::predict;
    use jitterlab_analysis::scan::TaskScan;
    use jitterlab_model::Activation;

    fn text_of(count: u64) -> String {
        prediction("main", &predicted(count))
    }

    fn predicted(count: u64) -> Prediction {
        let mut scan = TaskScan::new(1_000_000, count);
        let rows: Vec<Activation> = (0..count)
            .map(|index| {
                let due_ns = index as i64 * 1_000_000;
                // Exponential from a hash that looks random.
                let mut z = index.wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                let unit = ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64;
                let start_ns = due_ns + 3_000 - ((1.0 - unit).ln() * 2_000.0) as i64;
                Activation { index, due_ns, start_ns, end_ns: start_ns, ..Activation::default() }
            })
            .collect();
        scan.push_all(&rows);
        let tail = scan.tail().unwrap();
        let horizon = 10.0 * tail.run_ns();
        predict(&tail, horizon, &[])
    }

    #[test]
    fn a_bound_has_its_confidence_its_horizon_and_its_caveat() {
        let text = text_of(120_000);
        for part in ["next 20 min", "With 95 % confidence", "persist", "may not have come", "p99.9"] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn a_refusal_names_its_gate() {
        let text = text_of(2_000);
        assert!(text.contains("No extrapolation") && text.contains("301 needed"), "{text}");
        assert!(text.contains("needs 2 995 731 activations"), "{text}");
    }
}
