//! Words for predictions from a run: limits of the counted shares, and a bound if the data allow one.

use jitterlab_analysis::outlook::{Outlook, TaskOutlook};
use jitterlab_analysis::predict::{
    Bound, Condition, DEFAULT_HORIZON, Facts, Gate, Prediction, PredictionCaveat, Reliability,
};
use jitterlab_model::Fitness;

use crate::caveats::caveat_clause;
use crate::chart::{Axis, Chart, Layer, Shape};
use crate::conclusion::{self, Conclusion};
use crate::dictionary;
use crate::document::Present;
use crate::requirement::{self, claim_sentence};
use crate::section::{Cell, Piece, Section, Table};
use crate::warnings::warning_sentences;
use crate::why::cause_text;
use crate::words::{MANY_TASKS, SHOWN_TASKS, count, share, time};

impl Present for Outlook {
    const KIND: &'static str = "prediction";

    fn conclusion(&self) -> Option<Conclusion> {
        conclusion::outlook::outlook_conclusion(self)
    }

    fn sections(&self) -> Vec<Section> {
        let mut pieces: Vec<Piece> = requirement::table(&self.tasks).into_iter().collect();
        let is_single = self.tasks.len() == 1;
        let many = task_table(&self.tasks);
        let mut each = Vec::new();
        for task in &self.tasks {
            let pieces = if many.is_some() { &mut each } else { &mut pieces };
            let is_asked = task.reliability.is_some() || !task.requirements.is_empty();
            match &task.prediction {
                // For a single task the conclusion shows this, unless it is about a requirement.
                Some(found) => pieces.extend(task_pieces(&task.task, found, !is_single || is_asked)),
                None if !is_asked => pieces.push(Piece::text(format!(
                    "{}: no prediction; that takes latencies of a periodic task, their number and its period (--period)",
                    task.task
                ))),
                None => {}
            }
            pieces.extend(task.reliability.iter().map(|found| reliability_piece(&task.task, found)));
            pieces.extend(task.claims.iter().map(|plan| Piece::text(claim_sentence(&task.task, plan))));
        }
        if let Some(many) = many {
            pieces.extend(many.with_rest_folded(SHOWN_TASKS));
            pieces.push(Piece::details("Each task by itself", each));
        }
        pieces.extend(
            warning_sentences(&self.warnings.iter().collect::<Vec<_>>()).into_iter().map(Piece::note),
        );
        vec![section(pieces)]
    }
}

/// The page's section; `None` without a prediction.
pub fn page_section(predictions: &[(String, &Prediction)]) -> Option<Section> {
    let pieces: Vec<Piece> =
        predictions.iter().flat_map(|(name, found)| task_pieces(name, found, true)).collect();
    (!pieces.is_empty()).then(|| section(pieces))
}

fn section(pieces: Vec<Piece>) -> Section {
    Section::new(
        "prediction",
        "How much worse can it get",
        "What this run says about a longer one like it. A bound is given only where every condition of an extrapolation holds; otherwise only what was counted.",
        pieces,
    )
}

/// A row for each of many tasks, the latest first: maximum, quantile limits, bound; `None` for few tasks.
fn task_table(tasks: &[TaskOutlook]) -> Option<Table> {
    let predicted: Option<Vec<(&str, &Prediction)>> =
        tasks.iter().map(|of| Some((of.task.as_str(), of.prediction.as_ref()?))).collect();
    let mut sorted = predicted.filter(|all| all.len() >= MANY_TASKS)?;
    sorted.sort_by_key(|(_, of)| std::cmp::Reverse(of.facts.observed_max_ns));
    let any = &sorted[0].1.facts;
    let is_known = |share: f64| {
        let of = |prediction: &Prediction| {
            prediction.facts.quantiles.iter().any(|of| of.share_above == share && of.limit_ns.is_some())
        };
        sorted.iter().any(|(_, prediction)| of(prediction))
    };
    let shares: Vec<f64> =
        any.quantiles.iter().map(|of| of.share_above).filter(|share| is_known(*share)).collect();
    let is_bounded = sorted.iter().any(|(_, of)| of.bound.is_some());
    let singly =
        sorted.iter().flat_map(|(_, of)| &of.facts.quantiles).any(|of| of.limit_ns.is_some() && of.if_singly);
    let mut header = vec!["µs".to_owned(), "seen".into()];
    header.extend(shares.iter().map(|share| format!("p{}", 100.0 - share * 100.0)));
    header.extend(is_bounded.then(|| "bound".into()));
    let rows = sorted.iter().map(|(name, of)| {
        let limit = |share: &f64| {
            let found =
                of.facts.quantiles.iter().find(|of| of.share_above == *share).and_then(|of| of.limit_ns);
            Cell::optional(found, |ns| Cell::time(ns as f64))
        };
        let mut row = vec![Cell::from((*name).to_owned()), Cell::time(of.facts.observed_max_ns as f64)];
        row.extend(shares.iter().map(limit));
        row.extend(is_bounded.then(|| Cell::optional(of.bound.as_ref(), |bound| Cell::time(bound.bound_ns))));
        row
    });
    let bounds = match is_bounded {
        true => format!("; a bound is of the next {}, with 95 % confidence", time(any.horizon_ns)),
        false => "; no task has a bound, since a condition of it failed".into(),
    };
    let singly = if singly { " and later starts come one by one" } else { "" };
    let caption = format!(
        "{} tasks, the latest first: the largest so far, and upper limits with 95 % confidence, if it goes on as in these \
         {}{singly}{bounds}",
        sorted.len(),
        time(any.run_ns)
    );
    Some(Table::new(caption, &header, rows))
}

/// The limits of a task, the caveats, and the folded evidence for both.
fn task_pieces(name: &str, prediction: &Prediction, is_answered_here: bool) -> Vec<Piece> {
    let facts = &prediction.facts;
    let answer = Piece::text(answer_sentence(name, prediction));
    let (first, mut details) =
        if is_answered_here { (Some(answer), Vec::new()) } else { (None, vec![answer]) };
    let failed = prediction.gates.iter().filter(|gate| !gate.passed);
    let failed = failed.map(|gate| format!("No bound, {}: {}.", gate.condition.id(), condition_clause(gate)));
    let caveats = prediction.caveats.iter().map(|found| caveat_sentence(found, facts));
    details.push(Piece::text(format!(
        "{} activations in {}; {} are expected to exceed the largest latency so far within the next {}.",
        count(facts.count),
        time(facts.run_ns),
        format_expected_count(facts.expected_exceedances),
        time(facts.horizon_ns)
    )));
    details.push(Piece::Table(gates_table(name, prediction)));
    details.extend(prediction.bound.iter().map(|bound| Piece::Table(fits_table(bound))));
    details.extend(chart(name, prediction).map(Piece::Figure));
    let pieces = first.into_iter().chain([Piece::Table(limits_table(name, facts))]);
    let pieces = pieces.chain(failed.chain(caveats).map(Piece::note));
    pieces.chain([Piece::details(format!("{name}: conditions of the extrapolation"), details)]).collect()
}

/// Upper limits of quantiles, which hold whatever the distribution is.
fn limits_table(name: &str, facts: &Facts) -> Table {
    let per_ns = facts.run_ns / facts.count.max(1) as f64;
    let rows = facts.quantiles.iter().map(|of| {
        let (limit, provided) = match of.limit_ns {
            Some(ns) if of.if_singly => (Cell::time(ns as f64), "if later starts come one by one".into()),
            Some(ns) => (Cell::time(ns as f64), String::new()),
            None => {
                let needed = time(of.needs as f64 * per_ns);
                (Cell::Nothing, format!("needs {} activations ({needed})", count(of.needs)))
            }
        };
        vec![format!("p{}", 100.0 - of.share_above * 100.0).into(), limit, provided.into()]
    });
    let caption = format!(
        "{name}: upper limits with 95 % confidence, if it goes on as in these {}",
        time(facts.run_ns)
    );
    Table::new(caption, &["µs", "at most", ""], rows)
}

fn gates_table(name: &str, prediction: &Prediction) -> Table {
    let rows = prediction.gates.iter().map(|gate| {
        let (fitness, outcome) = if gate.passed { (Fitness::Good, "pass") } else { (Fitness::Unfit, "FAIL") };
        vec![
            gate.condition.id().into(),
            Cell::Verdict { fitness, text: outcome.into() },
            Cell::optional(gate.statistic, |statistic| format!("{statistic:.3}").into()),
            format!("{:.3}", gate.critical).into(),
            condition_with_method(gate).into(),
        ]
    });
    Table::new(
        format!("{name}: may the tail be extrapolated?"),
        &["condition", "", "statistic", "limit", "what was found"],
        rows,
    )
}

fn fits_table(bound: &Bound) -> Table {
    let rows = bound.fits.iter().map(|fit| {
        vec![
            format!("{} largest", count(fit.exceedances as u64)).into(),
            Cell::time(fit.threshold_ns),
            Cell::time(fit.scale_ns),
            format!("{:+.3}", fit.shape).into(),
            Cell::time(fit.bound_ns),
        ]
    });
    let caption = format!("The choice of the tail changes the bound by a factor of {:.2}", bound.sensitivity);
    Table::new(caption, &["tail of, µs", "above", "scale", "shape", "bound"], rows)
}

/// The bound, or the reason why there is none, in a sentence.
fn answer_sentence(name: &str, prediction: &Prediction) -> String {
    let facts = &prediction.facts;
    let ahead = time(facts.horizon_ns);
    let observed = time(facts.observed_max_ns as f64);
    match &prediction.bound {
        Some(bound) => format!(
            "{name}: within the next {ahead} the largest latency stays below {} with 95 % probability, at 95 % confidence; seen so far: {observed}.{}",
            time(bound.bound_ns),
            cause_sentence(bound)
        ),
        None => format!(
            "{name}: no bound can be given, since a condition of it failed. Seen so far: {observed}; that nothing exceeds it within the next {ahead} has a probability of {}, whatever the distribution, if it goes on as in this run.",
            share(facts.p_max_holds)
        ),
    }
}

/// Clause of a condition with the name of its statistical method.
fn condition_with_method(gate: &Gate) -> String {
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
    condition_clause(gate) + &method
}

/// Value and result of a condition, as a clause in plain words.
fn condition_clause(gate: &Gate) -> String {
    let mut fields = dictionary::event_fields(gate);
    let index = match &gate.condition {
        Condition::Machine { events } if events.is_empty() => {
            return "no event on the machine that is known to matter".into();
        }
        Condition::Machine { events } => {
            return events.iter().map(caveat_clause).collect::<Vec<_>>().join("; ");
        }
        Condition::Migrations if !gate.passed => {
            fields.insert("moves".into(), gate.statistic.into());
            None
        }
        Condition::Size { clustered } => *clustered,
        Condition::ClusterSizes { extremal_index, .. } => Some(*extremal_index),
        _ => None,
    };
    fields.extend(index.map(|index| ("each".to_owned(), format!("{:.1}", 1.0 / index.max(1e-3)).into())));
    dictionary::sentence_from_fields("condition", &fields)
}

fn caveat_sentence(caveat: &PredictionCaveat, facts: &Facts) -> String {
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

/// Chart of the largest latencies by frequency, and of the bound; `None` without single latencies.
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

fn cause_sentence(bound: &Bound) -> String {
    bound.cause.as_ref().map_or(String::new(), |found| {
        format!(
            " That is the bound of one cause by itself, {}, which reaches further than all together.",
            cause_text(found)
        )
    })
}

fn reliability_piece(task: &str, found: &Reliability) -> Piece {
    let held = found.held_limits.map_or("-".into(), |[low, high]| {
        let held = found.held as f64 / found.bounded as f64;
        format!("{} ({} to {} with 95 % confidence)", share(held), share(low), share(high))
    });
    let refused_by: Vec<String> =
        found.refused_by.iter().map(|(gate, times)| format!("{gate} {times}")).collect();
    let refused_by = if refused_by.is_empty() { "-".into() } else { refused_by.join(", ") };
    let facts = [
        ("windows with a whole horizon after them", count(found.windows)),
        ("extrapolation refused", count(found.windows - found.bounded)),
        ("refused by", refused_by),
        ("bounded", count(found.bounded)),
        ("bounds that held", count(found.held)),
        ("share that held", held),
        ("bound over what came, median", found.median_ratio.map_or("-".into(), |r| format!("{r:.2}"))),
        ("for comparison: the window's own maximum held", count(found.max_held)),
    ];
    let caption = format!(
        "{task}: predictions from windows of {} for the {} after each. Horizons overlap: windows are not independent of each other.",
        time(found.window_ns),
        time(found.window_ns * found.horizon_windows as f64)
    );
    Piece::facts(caption, facts)
}

/// An expected number, with a digit behind the point only where it matters.
fn format_expected_count(number: f64) -> String {
    if number < 10.0 { format!("{number:.1}") } else { count(number.round() as u64) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Terminal;
    use crate::document::terminal_text;
    use crate::terminal::Extent;
    use jitterlab_analysis::outlook::TaskOutlook;
    use jitterlab_analysis::predict::predict;
    use jitterlab_analysis::scan::TaskScan;
    use jitterlab_model::Activation;

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

    fn shown(count: u64, columns: usize, extent: Extent) -> String {
        let task =
            TaskOutlook { task: "main".into(), prediction: Some(predicted(count)), ..TaskOutlook::default() };
        let outlook = Outlook { file: "run.parquet".into(), tasks: vec![task], warnings: Vec::new() };
        terminal_text(&outlook, extent, Terminal { columns, ascii: true, colour: false })
    }

    #[test]
    fn a_bound_has_its_confidence_its_horizon_and_its_caveat() {
        insta::assert_snapshot!(shown(120_000, 80, Extent::Answer));
        insta::assert_snapshot!(shown(120_000, 40, Extent::Answer));
        insta::assert_snapshot!(shown(120_000, 120, Extent::Details));
    }

    #[test]
    fn a_refusal_names_its_gate() {
        insta::assert_snapshot!(shown(2_000, 80, Extent::Answer));
        insta::assert_snapshot!(shown(2_000, 80, Extent::Details));
    }
}
