//! The tables behind a verdict on a loop.

use jitterlab_motion::servo::{
    ActionCost, DelayCost, DelayMargin, Evaluation, FollowedReference, Guarantee, LoopDescription,
    LoopMargins, LoopUnderExecution, Margins, MissedJobs, MissedOutput, OverrunAction, OverrunPolicy,
    POOR_PEAK, Remedy, RemedyKind, Stability, StabilityUnderMisses, Stationary, VelocityError,
};

use super::{change_percent, paragraphs, percent};
use crate::section::{Cell, Piece};
use crate::words::{exact_time, share, time};

pub(super) fn loop_sentence(closed: &LoopDescription) -> String {
    format!("{} under {} every {}", closed.plant, closed.controller, exact_time(closed.period_ns))
}

pub(super) fn cost_text(value: f64) -> String {
    match value {
        v if !v.is_finite() => "unstable".into(),
        v if v.abs() < 0.01 => format!("{v:.5e}"),
        v => format!("{v:.6}"),
    }
}

pub(super) fn relative_change_text(value: f64, ideal: f64) -> String {
    if value.is_finite() { change_percent(value / ideal - 1.0, 4) } else { "-".into() }
}

pub(super) fn cost_table(found: &Evaluation) -> Vec<Piece> {
    let ideal = found.ideal.cost;
    let row = |(name, s): (&str, &Stationary)| {
        vec![name.to_owned(), cost_text(s.cost), relative_change_text(s.cost, ideal), spectral_radius_text(s)]
    };
    let rows = [
        ("ideal timing", &found.ideal),
        ("+ mean latency and execution", &found.mean_delay),
        ("+ jitter", &found.jitter),
        ("+ jobs that overrun, at random", &found.independent),
        ("+ their order: the run itself", &found.clustered),
    ];
    let memory = match found.memory {
        0 => "in random order".into(),
        1 => "that remember the one before".into(),
        cycles => format!("that remember {cycles} others"),
    };
    let mut clauses = vec![
        format!("the run itself is followed event by event; its radius is that of cycles {memory}"),
        cost_certainty_clause(found),
    ];
    let along = found.along.cost;
    clauses.extend(found.along.worst_stretch().filter(|w| w.cost > 1.5 * along).map(|worst| {
        format!("its worst stretch, at {:.2} s, cost {:.1} times the mean", worst.from_s, worst.cost / along)
    }));
    let header = ["mean cost", "cost", "against ideal", "radius"];
    let table = Piece::table(RADIUS, &header, rows.map(row));
    std::iter::once(table).chain(paragraphs(clauses)).collect()
}

/// Caption of tables with a radius.
const RADIUS: &str = "Mean-square stable while the radius, per period, is below 1";

fn spectral_radius_text(s: &Stationary) -> String {
    format!("{:.5}", s.radius_per_period)
}

fn cost_certainty_clause(found: &Evaluation) -> String {
    let share = |cost: f64| percent(cost / found.ideal.cost - 1.0);
    match (&found.stability, found.cost_interval) {
        (Stability::Stable, Some(i)) => {
            format!("with 95 % confidence: {} to {} against ideal timing", share(i.low), share(i.high))
        }
        (Stability::Stable, None) => "the run is too short for an interval of its cost".into(),
        _ => format!(
            "along the run it cost {}, which proves nothing here: a finite run always has a cost, and it grows with the run's length",
            cost_text(found.along.cost)
        ),
    }
}

pub(super) fn action_table(actions: &[ActionCost], ideal: f64) -> Vec<Piece> {
    let rows = actions.iter().map(|ActionCost { action: a, stationary: s, .. }| {
        vec![
            action_text(*a),
            a.to_string(),
            cost_text(s.cost),
            relative_change_text(s.cost, ideal),
            spectral_radius_text(s),
        ]
    });
    let header = ["when a job overruns its period", "action", "cost", "against ideal", "radius"];
    let half = |a: &ActionCost| a.interval.map(|i| (i.high - i.low) / (i.high + i.low));
    let widest = actions.iter().filter_map(half).reduce(f64::max).map(|half| {
        let sure = percent(half);
        format!("of even parts of the run, against this run's own action there: each cost within {sure}, 95 % confidence")
    });
    std::iter::once(Piece::table("", &header, rows)).chain(paragraphs(widest)).collect()
}

pub(super) fn action_text(action: OverrunAction) -> String {
    match (action.policy, action.missed_output) {
        (OverrunPolicy::Skip, MissedOutput::Hold) => "finish it, skip what it missed",
        (OverrunPolicy::Skip, MissedOutput::Zero) => "the same, output zero meanwhile",
        (OverrunPolicy::Skip, MissedOutput::Predict) => "the same, output predicted",
        (OverrunPolicy::CatchUp, _) => "finish it, then serve all",
        (OverrunPolicy::RePhase, _) => "finish it, restart the grid",
        (OverrunPolicy::Kill, MissedOutput::Hold) => "kill it, hold the output",
        (OverrunPolicy::Kill, MissedOutput::Zero) => "kill it, output zero",
        (OverrunPolicy::Kill, MissedOutput::Predict) => "kill it, predict the output",
    }
    .into()
}

pub(super) fn miss_sentences<'a>(all: impl IntoIterator<Item = &'a StabilityUnderMisses>) -> Vec<Piece> {
    let clauses = all.into_iter().map(|under| {
        let (m, k) = (under.at_most.misses, under.at_most.of);
        let missed = match under.missed {
            MissedJobs::Killed => ", a missed one killed",
            MissedJobs::EndingAt { .. } => ", wherever a late one ends",
            MissedJobs::AsSeen | MissedJobs::None => ", late ones as they are",
        };
        let what = format!("every sequence of these jobs with at most {m} missed in {k} periods{missed}");
        let between = match (under.upper, under.missed) {
            (Some(upper), MissedJobs::EndingAt { places }) => format!(
                "growth per period between {:.6} and {upper:.6}, with {places} ends in each period",
                under.lower
            ),
            (Some(upper), _) => format!("growth per period between {:.6} and {upper:.6}", under.lower),
            (None, MissedJobs::None) => {
                "none is missed, and what a missed one would do is not computed here".into()
            }
            (None, _) if under.lower > 0.0 => format!("growth per period at least {:.6}", under.lower),
            (None, _) => "too many sequences to go through".into(),
        };
        let word: String = under.word.iter().map(|missed| if *missed { 'm' } else { 'o' }).collect();
        match under.guarantee {
            Guarantee::Stable => format!("PROVED stable under {what} ({between})"),
            Guarantee::Unstable => {
                format!("NOT stable under {what}: {word} again and again grows ({between}; m miss, o output)")
            }
            Guarantee::DoesNotDecay => format!(
                "NOT stable under {what}: {word} again and again does not decay ({between}; m miss, o output)"
            ),
            Guarantee::Undecided => format!("undecided under {what} ({between})"),
        }
    });
    paragraphs(clauses).collect()
}

/// The margins in a table, and those against delay and jitter.
pub(super) fn margin_pieces(margins: &Margins) -> Vec<Piece> {
    let mut rows = Vec::new();
    for channel in &margins.channels {
        rows.extend(crossover_rows(channel.name.clone(), channel.punctual.as_ref()));
        if margins.with_delay_ns > 0 {
            let name = format!("{}, with {}", channel.name, time(margins.with_delay_ns as f64));
            rows.extend(crossover_rows(name, channel.delayed.as_ref()));
        }
    }
    let header = ["gain one at", "rad/s", "phase margin", "gain up to", "down to", "peak"];
    let delay = match margins.delay {
        DelayMargin::Always => "none needed, stable with any constant delay".into(),
        DelayMargin::UpTo(ns) => {
            format!("{}, the longest constant delay it stays stable with", time(ns as f64))
        }
        DelayMargin::Never => "none: unstable without any delay".into(),
    };
    let on_top =
        margins.jitter_with_delay_ns.filter(|_| margins.with_delay_ns > 0).map_or(String::new(), |ns| {
            format!("; {} on top of {}", time(ns), time(margins.with_delay_ns as f64))
        });
    let jitter = margins.jitter_ns.map_or_else(
        || "only for one input, one output and an output controller".into(),
        |ns| format!("{}, stable for every sequence of delays up to that{on_top}", time(ns)),
    );
    let peak = peak_clause(margins).map(|peak| format!("{peak} (the peak of 1/(1 + L))"));
    let facts = [("delay margin", delay), ("jitter margin", jitter)];
    let table = Piece::table("", &header, rows);
    std::iter::once(table).chain(paragraphs(peak)).chain([Piece::facts("", facts)]).collect()
}

/// A row for each crossover of a loop, the first with its other margins.
fn crossover_rows(name: String, loop_margins: Option<&LoopMargins>) -> Vec<Vec<String>> {
    let Some(found) = loop_margins else {
        return vec![[name, "unstable".into()].into_iter().chain(vec![String::new(); 4]).collect()];
    };
    let factor = |k: Option<f64>| k.map_or("any".into(), |k| format!("{k:.3}"));
    let mut others = [factor(found.gain_up), factor(found.gain_down), format!("{:.2}", found.peak)];
    let mut name = name;
    let mut rows = Vec::new();
    let mut row = |w: String, degrees: String| {
        let first = [std::mem::take(&mut name), w, degrees];
        rows.push(first.into_iter().chain(others.iter_mut().map(std::mem::take)).collect());
    };
    if found.crossovers.is_empty() {
        row("none".into(), "none".into());
    }
    for c in &found.crossovers {
        row(format!("{:.1}", c.crossover_rad_per_s), format!("{:.2}", c.degrees));
    }
    rows
}

/// Clause on how much the loop amplifies a disturbance, with a verdict on its design; `None` without a peak.
pub(super) fn peak_clause(margins: &Margins) -> Option<String> {
    let (name, peak, w) = margins.peak()?;
    let name = if margins.channels.len() > 1 { format!("of {name}, ") } else { String::new() };
    let bad = if margins.is_poor_design() {
        format!("above {POOR_PEAK} the design is the problem, not the computer")
    } else {
        "up to 2 is good".into()
    };
    Some(format!("{name}a disturbance of {w:.1} rad/s comes through {peak:.2} times as large: {bad}"))
}

pub(super) fn velocity_error_piece(error: &VelocityError) -> Piece {
    Piece::text(format!(
        "A velocity from differences with the nominal period is off by {:.4} % of the speed (standard deviation), at \
         worst {:.2} %; with the measured interval by nothing.",
        error.standard_deviation * 100.0,
        error.worst * 100.0
    ))
}

pub(super) fn remedy_table(remedies: &[Remedy]) -> Option<Piece> {
    let rows = remedies.iter().map(|r| {
        let change = match (r.cost.is_finite(), r.instead_of.is_finite()) {
            (true, true) => change_percent(r.cost / r.instead_of - 1.0, 4),
            (true, false) => "stable".into(),
            (false, _) => "unstable".into(),
        };
        vec![remedy_text(r.remedy), change]
    });
    (!remedies.is_empty()).then(|| Piece::table("", &["what would change the cost", "by"], rows))
}

pub(super) fn remedy_text(remedy: RemedyKind) -> String {
    match remedy {
        RemedyKind::DesignForDelay { .. } => "design the controller for the mean delay".into(),
        RemedyKind::MeasuredInterval => "compute with the measured interval, not the nominal period".into(),
        RemedyKind::WakeEarly { quantile, .. } => {
            format!("wake early by the {} latency and poll to the due time", share(quantile))
        }
        RemedyKind::SpreadMisses => "avoid bursts: as many overruns, spread at random".into(),
        RemedyKind::MissNone => "let no job overrun".into(),
    }
}

pub(super) fn reference_tracking_table(caption: &str, responses: &[FollowedReference]) -> Option<Piece> {
    let number = |value: f64| Cell::Text(format!("{value:.4}"));
    let rows = responses.iter().map(|of| {
        let errors = [of.recorded.rms_error, of.recorded.max_error, of.ideal.rms_error, of.ideal.max_error];
        std::iter::once(Cell::Text(of.reference.to_string())).chain(errors.map(number)).collect()
    });
    let header = ["reference", "error, rms", "at most", "with ideal timing", "at most"];
    (!responses.is_empty()).then(|| Piece::table(caption, &header, rows))
}

/// The cost under constant delays, for a loop without a run; the first is the one compared with.
pub(super) fn delay_table(rows: &[DelayCost]) -> Piece {
    let ideal = rows.first().map_or(f64::NAN, |r| r.cost);
    let rows = rows
        .iter()
        .map(|r| vec![exact_time(r.delay_ns), cost_text(r.cost), relative_change_text(r.cost, ideal)]);
    Piece::table("", &["constant delay", "cost", "against none"], rows)
}

pub(super) fn execution_pieces(under: &LoopUnderExecution) -> Vec<Piece> {
    let s = &under.stationary;
    let facts = [
        ("mean cost", cost_text(s.cost)),
        ("with no work to do", cost_text(under.ideal.cost)),
        ("spectral radius of a job", format!("{:.9}", s.spectral_radius)),
        ("spectral radius per period", format!("{:.9}", s.radius_per_period)),
        ("mean interval of jobs, periods", format!("{:.6}", s.interval_periods)),
    ];
    let drawn = under.cost_interval.map(|i| {
        let drawn = "a job that catches up depends on those before: times were drawn by their shares, and the loop followed along";
        format!("{drawn}; its cost is {} to {} with 95 % confidence", cost_text(i.low), cost_text(i.high))
    });
    std::iter::once(Piece::facts("In the mean square", facts)).chain(paragraphs(drawn)).collect()
}
