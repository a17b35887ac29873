//! What a run's timing means for a servo loop: the answer first, then the tables it rests on.

use std::fmt::Write as _;

use jitterlab_motion::servo::{
    DelayCost, DelayMargin, Evaluation, FollowedReference, Judged, LoopDescription, LoopUnderRun, Margins,
    Remedy, RemedyKind, ServoResult, Stationary, VelocityError,
};

use super::change;
use super::servo_charts::{cost, responses};
use crate::chart::Terminal;
use crate::section::{Piece, Section};
use crate::table::columns;
use crate::words::{count, exact, share, time};
use crate::wrap::wrap;

/// The sentence a builder wants.
fn sentence(found: &Evaluation) -> String {
    let loss = found.loss();
    if !found.clustered.is_stable() {
        let cause = if !found.mean_delay.is_stable() {
            "its mean delay alone is too much"
        } else if !found.jitter.is_stable() {
            "its jitter is too much"
        } else if !found.independent.is_stable() {
            "it misses too many activations"
        } else {
            "missed activations come in bursts; the same number one by one would not"
        };
        return format!("With this run's timing the loop is NOT stable in the mean square: {cause}.");
    }
    let percent = |share: f64| {
        let p = share * 100.0;
        if p.abs() < 0.01 { format!("{p:.1e} %") } else { format!("{p:.2} %") }
    };
    if loss.total.abs() < NO_CONCERN {
        return format!(
            "This run's timing is no concern for this loop: its cost changes by {} against ideal timing.",
            percent(loss.total)
        );
    }
    if loss.total < 0.0 {
        return format!(
            "This run's timing happens to make the loop {} better than ideal timing.",
            percent(-loss.total)
        );
    }
    let mut text =
        format!("This run's timing makes the loop {} worse than ideal timing would be", percent(loss.total));
    let parts = [
        (loss.mean_delay, "mean latency and execution time"),
        (loss.jitter, "jitter"),
        (loss.missed, "missed activations"),
        (loss.clusters, "their coming in bursts"),
    ];
    if let Some((part, what)) = parts.iter().max_by(|a, b| a.0.total_cmp(&b.0)) {
        let share = part / loss.total;
        // A part can be more than the whole where another one helps.
        let most =
            if share > 1.0 { "the most of it".into() } else { format!("{:.0} % of that", share * 100.0) };
        let _ = write!(text, "; {most} is {what}");
    }
    text + "."
}

/// A change of the cost below this share is within what nobody would notice.
const NO_CONCERN: f64 = 1e-3;

/// The sentence a builder wants.
fn answer(result: &ServoResult) -> String {
    match &result.judged {
        Judged::Run(under) => sentence(&under.assessment.evaluation),
        Judged::ConstantDelays { .. } => stands(result),
    }
}

/// The whole answer, readable at 80 columns.
pub fn text(result: &ServoResult, terminal: Terminal) -> String {
    let answer = wrap(&answer(result));
    let margins = margin_table(&result.margins);
    match &result.judged {
        Judged::ConstantDelays { costs } => format!("{answer}\n{margins}\n{}", delay_table(costs)),
        Judged::Run(under) => {
            let found = &under.assessment;
            let mut parts = vec![
                answer,
                basis(&result.closed, under),
                costs(&found.evaluation),
                margins + &velocity(&found.velocity),
            ];
            if !found.remedies.is_empty() {
                parts.push(remedies(&found.remedies));
            }
            if !found.responses.is_empty() {
                let heading =
                    "What the loop is asked to follow, through the worst event of the run:\n".to_owned();
                parts.push(heading + &found.responses.iter().map(followed).collect::<String>());
            }
            parts.join("\n") + &super::minded(&caveats(under)) + "\n" + &terminal.figures(&responses(result))
        }
    }
}

/// What the page shows of a loop.
pub(crate) fn section(result: &ServoResult) -> Section {
    let text = |text: String| Piece::Text { text };
    let mut pieces = vec![text(answer(result)), text(described(&result.closed) + ".")];
    if let Judged::Run(under) = &result.judged {
        pieces.push(Piece::Figure(cost(&result.closed, &under.assessment.evaluation)));
        pieces.extend(responses(result).into_iter().map(Piece::Figure));
        pieces.extend(super::minded_pieces(caveats(under)));
    }
    Section {
        id: "servo".into(),
        title: "What it does to the control loop".into(),
        lead: "The mean quadratic cost of the loop under this run's timing against punctual activations, and which part of \
               the timing costs how much."
            .into(),
        pieces,
    }
}

/// What speaks against the figures, as clauses.
fn caveats(under: &LoopUnderRun) -> Vec<String> {
    let mut all = super::of_run(&under.run);
    if under.activations < under.run.executed {
        all.push(format!(
            "judged by {} of its {} activations, those around the worst latency",
            under.activations, under.run.executed
        ));
    }
    all
}

fn basis(closed: &LoopDescription, under: &LoopUnderRun) -> String {
    let timing = &under.assessment.evaluation.timing;
    let row = if timing.longest_empty > 1 {
        format!(", at most {} in a row", timing.longest_empty)
    } else {
        String::new()
    };
    wrap(&format!(
        "{} (task {}); {} activations, mean latency {}, mean execution {}, {} of {} periods empty{row}.",
        described(closed),
        under.run.task,
        count(timing.executed),
        time(timing.latency_ns),
        time(timing.execution_ns),
        count(timing.empty),
        count(timing.periods)
    ))
}

/// The loop in a few words.
pub(super) fn described(closed: &LoopDescription) -> String {
    format!("{} under {} every {}", closed.plant, closed.controller, exact(closed.period_ns))
}

fn costs(found: &Evaluation) -> String {
    let ideal = found.ideal.cost;
    let cost = |value: f64| match value {
        v if !v.is_finite() => "unstable".to_owned(),
        v if v.abs() < 0.01 => format!("{v:.5e}"),
        v => format!("{v:.6}"),
    };
    let against = |value: f64| {
        if value.is_finite() { change(value / ideal - 1.0, 4) } else { "-".into() }
    };
    let row = |name: &str, s: &Stationary| {
        vec![name.to_owned(), cost(s.cost), against(s.cost), format!("{:.5}", s.spectral_radius)]
    };
    let along = found.along.cost;
    let rows = vec![
        row("ideal timing", &found.ideal),
        row("+ mean latency and execution", &found.mean_delay),
        row("+ jitter", &found.jitter),
        row("+ missed activations, at random", &found.independent),
        row("+ their clusters", &found.clustered),
        vec!["the run itself, event by event".into(), cost(along), against(along), "-".into()],
    ];
    let mut text = columns(&["mean cost", "cost", "against ideal", "radius"], rows);
    if let Some(worst) = found.along.worst().filter(|w| w.cost > 1.5 * along) {
        text.push_str(&wrap(&format!(
            "its worst stretch, at {:.2} s, cost {:.1} times the mean",
            worst.from_s,
            worst.cost / along
        )));
    }
    text.push_str("  (mean-square stable while the radius is below 1)\n");
    text
}

/// Margins alone.
fn margin_table(margins: &Margins) -> String {
    let degrees = |d: Option<f64>| d.map_or("none".into(), |d| format!("{d:.2}"));
    let crossover = |w: Option<f64>| w.map_or("none".into(), |w| format!("{w:.1}"));
    let is_delayed = margins.with_delay_ns > 0;
    let rows = margins.channels.iter().map(|c| {
        let delayed = is_delayed.then(|| degrees(c.delayed_degrees));
        let first = [c.name.clone(), degrees(c.punctual_degrees)];
        first.into_iter().chain(delayed).chain([crossover(c.crossover_rad_per_s)]).collect()
    });
    let with = format!("with {}", time(margins.with_delay_ns as f64));
    let mut header = vec!["phase margin in degrees", "punctual", with.as_str(), "crossover rad/s"];
    if !is_delayed {
        header.remove(2);
    }
    let mut text = columns(&header, rows);
    text.push_str(&wrap(&match margins.delay {
        DelayMargin::Always => "delay margin: none needed, stable with any constant delay".into(),
        DelayMargin::UpTo(ns) => {
            format!("delay margin {}: the longest constant delay it stays stable with", time(ns as f64))
        }
        DelayMargin::Never => "delay margin none: unstable without any delay".into(),
    }));
    match (margins.jitter_ns, margins.jitter_with_delay_ns) {
        (Some(ns), with) => text.push_str(&wrap(&format!(
            "jitter margin {}: stable for every sequence of delays up to that{}",
            time(ns),
            with.filter(|_| is_delayed).map_or(String::new(), |with| format!(
                "; {} on top of {}",
                time(with),
                time(margins.with_delay_ns as f64)
            ))
        ))),
        (None, _) => {
            text.push_str("jitter margin: only for one input, one output and an output controller\n");
        }
    }
    text
}

fn velocity(error: &VelocityError) -> String {
    wrap(&format!(
        "a velocity from differences with the nominal period is off by {:.4} % of the speed (standard deviation), at \
         worst {:.2} %; with the measured interval by nothing",
        error.standard_deviation * 100.0,
        error.worst * 100.0
    ))
}

fn remedies(remedies: &[Remedy]) -> String {
    let rows = remedies.iter().map(|r| {
        let change = if r.cost.is_finite() && r.instead_of.is_finite() {
            change(r.cost / r.instead_of - 1.0, 4)
        } else if r.cost.is_finite() {
            "stable".into()
        } else {
            "unstable".into()
        };
        vec![remedy(r.remedy), change]
    });
    columns(&["what would change the cost", "by"], rows)
}

fn remedy(remedy: RemedyKind) -> String {
    match remedy {
        RemedyKind::DesignForDelay { .. } => "design the controller for the mean delay".into(),
        RemedyKind::MeasuredInterval => "compute with the measured interval, not the nominal period".into(),
        RemedyKind::WakeEarly { quantile, .. } => {
            format!("wake early by the {} latency and poll to the due time", share(quantile))
        }
        RemedyKind::SpreadMisses => "avoid bursts: the same missed activations, spread at random".into(),
        RemedyKind::MissNone => "miss no activation".into(),
    }
}

/// How well one reference is followed.
fn followed(response: &FollowedReference) -> String {
    wrap(&format!(
        "{}: error {:.4} rms, {:.4} at most; with ideal timing {:.4} rms, {:.4} at most",
        response.reference,
        response.recorded.rms_error,
        response.recorded.max_error,
        response.ideal.rms_error,
        response.ideal.max_error
    ))
}

/// The cost under constant delays (in ns), for a loop without a run; the first is the one compared with.
fn delay_table(rows: &[DelayCost]) -> String {
    let ideal = rows.first().map_or(f64::NAN, |r| r.stationary.cost);
    let lines = rows.iter().map(|DelayCost { delay_ns, stationary: s }| {
        let (cost, against) = if s.is_stable() {
            (format!("{:.6}", s.cost), format!("{:+.3} %", (s.cost / ideal - 1.0) * 100.0))
        } else {
            ("unstable".into(), "-".into())
        };
        vec![exact(*delay_ns), cost, against]
    });
    columns(&["constant delay", "cost", "against none"], lines)
}

/// What a loop stands, in a sentence, for a loop without a run.
fn stands(result: &ServoResult) -> String {
    let closed = described(&result.closed);
    let delay = match result.margins.delay {
        DelayMargin::Never => {
            return format!(
                "{closed} is NOT stable even without any delay: give it a shorter period, or another controller, such as \
                 --controller lqg."
            );
        }
        DelayMargin::Always => "any constant delay".into(),
        DelayMargin::UpTo(ns) => format!("a constant delay of up to {}", time(ns as f64)),
    };
    let jitter = result.margins.jitter_ns;
    let jitter = jitter.map_or(String::new(), |ns| format!(", and with any jitter of up to {}", time(ns)));
    format!("{closed} stays stable with {delay}{jitter}.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_motion::catalog;
    use jitterlab_motion::servo::{Question, TaskTiming};

    #[test]
    fn margins_are_said_for_loops_that_stand_none_some_and_any_delay() {
        let question = Question {
            plant: catalog::find("dc-servo", None).unwrap(),
            period_ns: 6_000_000,
            timing: TaskTiming::default(),
            design_delay_ns: 0,
        };
        let mut result = ServoResult::alone(&question).unwrap();
        let terminal = Terminal { columns: 80, ascii: true, colour: false };
        let mut told = |delay, with_delay_ns| {
            (result.margins.delay, result.margins.with_delay_ns) = (delay, with_delay_ns);
            text(&result, terminal).split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let some = told(DelayMargin::UpTo(13_351_560), 0);
        assert!(
            some.contains("a constant delay of up to 13.4 ms, and with any jitter of up to 12 ms"),
            "{some}"
        );
        assert!(some.contains("delay margin 13.4 ms") && !some.contains("with 0 ns"), "{some}");
        assert!(told(DelayMargin::Always, 0).contains("stable with any constant delay"));
        let never = told(DelayMargin::Never, 200_000);
        assert!(never.contains("NOT stable") && never.contains("unstable without any delay"), "{never}");
        assert!(never.contains("with 200 µs"), "{never}");
    }
}
