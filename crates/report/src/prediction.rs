//! What a run says about the time after it, for the terminal.

use crate::words::{count, share};
use jitterlab_analysis::predict::{CONFIDENCE, Prediction, Reliability};
use jitterlab_analysis::require::{Judgement, Plan};
use jitterlab_analysis::scan::TaskScan;
use jitterlab_model::units::Human;

use crate::chart::{Axis, Chart, Layer, Shape, time_unit};
use crate::check::paragraph;
use crate::summary::{microseconds, wrap};
use crate::table::columns;
use crate::warnings;

/// The facts, the gates, the bound if there is one, and the caveats.
pub fn text(prediction: &Prediction) -> String {
    let facts = &prediction.facts;
    let horizon = Human(facts.horizon_ns);
    let mut text = wrap(&format!(
        "{}: what {} ({} activations) say of the next {horizon}",
        prediction.task,
        Human(facts.run_ns),
        count(facts.count)
    ));
    text.push_str("\nWhatever the distribution is:\n");
    text.push_str(&wrap(&format!(
        "- The largest latency so far is {}. That nothing later exceeds it has a probability of {}; {} activations are \
         expected to exceed it.",
        Human(facts.observed_max_ns as f64),
        share(facts.p_max_holds),
        few(facts.expected_exceedances)
    )));
    text.push_str(&wrap(&format!(
        "- A cause that did not show may still come once every {}: up to {} times within the horizon (95 % confidence).",
        Human(1e9 / facts.unseen_rate_per_s),
        few(facts.unseen_rate_per_s * facts.horizon_ns / 1e9)
    )));
    text.push_str("- Upper limits of quantiles by order statistics (95 % confidence):\n");
    let rows = facts.quantiles.iter().map(|q| {
        let limit = q.limit_ns.map_or_else(
            || format!("needs {} activations", count(q.needs)),
            |ns| format!("{} us", microseconds(ns as f64)),
        );
        vec![format!("p{}", 100.0 - q.share_above * 100.0), limit]
    });
    text.push_str(&columns(&["", "not above"], rows));
    text.push_str("\nMay the tail be extrapolated?\n");
    let rows = prediction.gates.iter().map(|gate| {
        let outcome = if gate.passed { "pass" } else { "FAIL" };
        vec![
            gate.id.clone(),
            outcome.into(),
            format!("{:.3}", gate.statistic),
            format!("{:.3}", gate.critical),
        ]
    });
    text.push_str(&columns(&["gate", "", "figure", "limit"], rows));
    for gate in prediction.gates.iter().filter(|gate| !gate.passed) {
        text.push_str(&paragraph(&format!("{}: {}.", gate.id, gate.text), 2, 4));
    }
    text.push('\n');
    text.push_str(&bound(prediction));
    for caveat in &prediction.caveats {
        text.push_str(&wrap(&format!("- {caveat}")));
    }
    text
}

/// The largest latencies that are drawn.
const SHOWN: usize = 300;

/// The largest latencies against how often they came, and the bound at the horizon.
pub fn chart(name: &str, scan: &TaskScan, prediction: &Prediction) -> Option<Chart> {
    let facts = &prediction.facts;
    let peaks = scan.peaks.largest();
    let peaks = peaks.get(..peaks.len().min(SHOWN))?;
    let top = prediction.bound.as_ref().map_or(0.0, |b| b.bound_ns).max(peaks.first()?.latency_ns as f64);
    let (per, unit) = time_unit(top);
    let (seconds, time) = time_unit(facts.horizon_ns);
    let points = peaks
        .iter()
        .zip(1u32..)
        .map(|(peak, rank)| [facts.run_ns / f64::from(rank) / seconds, peak.latency_ns as f64 / per]);
    let mut layers = vec![
        Layer::new("", 4, Shape::Level(facts.observed_max_ns as f64 / per)),
        Layer::new("largest latencies of the run", 0, Shape::Points(points.collect())),
    ];
    let at = facts.horizon_ns / seconds;
    let low = facts.observed_max_ns as f64 / per;
    match &prediction.bound {
        Some(bound) => layers.push(Layer::new(
            "stays below, 95 %",
            1,
            Shape::Intervals(vec![[at, low, bound.bound_ns / per, bound.bound_ns / per]]),
        )),
        None => layers.push(Layer::new("", 1, Shape::Marks(vec![(at, "no bound: a gate failed".into())]))),
    }
    Some(Chart {
        name: "prediction",
        caption: format!(
            "{name}: the {} largest of {} latencies, each at the time in which one as large came once on average. Dashed: the largest. Looked ahead: {}.",
            peaks.len(),
            count(facts.count),
            Human(facts.horizon_ns)
        ),
        x: Axis::log(format!("once in, {time}")),
        y: Axis::linear(format!("latency, {unit}")),
        layers,
        height: 380,
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
        "With {confidence:.0} % confidence the largest latency within {} stays below {} with a probability of {confidence:.0} %.",
        Human(prediction.facts.horizon_ns),
        Human(bound.bound_ns)
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
    text.push_str(&columns(&["tail of", "above us", "scale us", "shape", "bound us"], rows));
    text.push_str(&paragraph(
        &format!("the choice of the tail changes the bound by a factor of {:.2}", bound.sensitivity),
        2,
        4,
    ));
    text
}

/// The outcome of a requirement in a line or two, the outcome first: for scripts and people.
pub fn judgement(task: &str, judgement: &Judgement) -> String {
    if let Some(gap) = judgement.unknown {
        let what = warnings::gap(gap);
        return wrap(&format!(
            "unknown: {task}: {}: the source does not tell {what}, so it cannot be decided.",
            judgement.requirement
        ));
    }
    wrap(&format!("{}: {task}: {}: {}.", judgement.outcome, judgement.requirement, judgement.text))
}

/// How long to run to support a claim.
pub fn plan(task: &str, plan: &Plan) -> String {
    wrap(&format!("claim on {task}: {}: {}. {plan}", plan.requirement, plan.now.text))
}

/// How predictions from the windows of a run turned out.
pub fn reliability(task: &str, found: &Reliability) -> String {
    let ahead = found.window_ns * found.horizon_windows as f64;
    let mut text = wrap(&format!(
        "{task}: predictions from windows of {} for the {} after each",
        Human(found.window_ns),
        Human(ahead)
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

    fn prediction(count: u64) -> Prediction {
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
        predict("main", &tail, horizon, &[])
    }

    #[test]
    fn a_bound_has_its_confidence_its_horizon_and_its_caveat() {
        let text = text(&prediction(120_000));
        for part in ["next 20 min", "With 95 % confidence", "persist", "may not have come", "p99.9"] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn a_refusal_names_its_gate() {
        let text = text(&prediction(2_000));
        assert!(text.contains("No extrapolation") && text.contains("301 needed"), "{text}");
        assert!(text.contains("needs 2 995 731 activations"), "{text}");
    }
}
