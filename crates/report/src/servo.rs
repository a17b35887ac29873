//! What a run's timing means for a servo loop: the answer first, then the tables it rests on.

use std::fmt::Write as _;

use crate::words::count;
use jitterlab_model::units::{Exact, Human};
use jitterlab_motion::servo::{
    Assessment, Evaluation, Margins, Plant, Question, Remedy, Response, Stationary,
};

use crate::summary::wrap;
use crate::table::columns;

/// Everything about one loop and one run.
pub struct Answer<'a> {
    /// The plant.
    pub plant: &'a Plant,
    /// The controller's kind and period, in words.
    pub controller: String,
    /// What was found.
    pub found: &'a Assessment,
    /// What speaks against the run's figures.
    pub caveats: &'a [String],
}

/// The sentence a builder wants.
pub fn sentence(found: &Evaluation) -> String {
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

/// The whole answer, readable at 80 columns.
pub fn text(answer: &Answer) -> String {
    let found = &answer.found.evaluation;
    let timing = &found.timing;
    let mut text = wrap(&sentence(found));
    let _ = write!(
        text,
        "\n{}",
        wrap(&format!(
            "{} under {}; {} activations, mean latency {}, mean execution {}, {} of {} periods empty{}.",
            answer.plant.name,
            answer.controller,
            count(timing.executed),
            Human(timing.latency_ns),
            Human(timing.execution_ns),
            count(timing.empty),
            count(timing.periods),
            if timing.longest_empty > 1 {
                format!(", at most {} in a row", timing.longest_empty)
            } else {
                String::new()
            }
        ))
    );
    text.push('\n');
    text.push_str(&costs(found));
    text.push('\n');
    text.push_str(&margins(answer.found));
    if !answer.found.remedies.is_empty() {
        text.push('\n');
        text.push_str(&remedies(&answer.found.remedies));
    }
    if !answer.found.responses.is_empty() {
        text.push_str("\nWhat the loop is asked to follow, through the worst event of the run:\n");
        text.extend(answer.found.responses.iter().map(followed));
    }
    if !answer.caveats.is_empty() {
        text.push_str("\nBear in mind:\n");
        text.extend(answer.caveats.iter().map(|caveat| wrap(&format!("- {caveat}"))));
    }
    text
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
    if let Some((from, worst)) = found.along.worst().filter(|w| w.1 > 1.5 * along) {
        text.push_str(&wrap(&format!(
            "its worst stretch, at {from:.2} s, cost {:.1} times the mean",
            worst / along
        )));
    }
    text.push_str("  (mean-square stable while the radius is below 1)\n");
    text
}

/// The delay margin of a loop that no delay makes unstable.
const ANY: i64 = i64::MAX;

/// Margins alone.
pub fn margin_table(margins: &Margins) -> String {
    let degrees = |d: Option<f64>| d.map_or("none".into(), |d| format!("{d:.2}"));
    let crossover = |w: Option<f64>| w.map_or("none".into(), |w| format!("{w:.1}"));
    let is_delayed = margins.with_delay_ns > 0;
    let rows = margins.channels.iter().map(|c| {
        let delayed = is_delayed.then(|| degrees(c.delayed_degrees));
        let first = [c.name.clone(), degrees(c.punctual_degrees)];
        first.into_iter().chain(delayed).chain([crossover(c.crossover_rad_per_s)]).collect()
    });
    let with = format!("with {}", Human(margins.with_delay_ns as f64));
    let mut header = vec!["phase margin in degrees", "punctual", with.as_str(), "crossover rad/s"];
    if !is_delayed {
        header.remove(2);
    }
    let mut text = columns(&header, rows);
    text.push_str(&wrap(&match margins.delay_ns {
        Some(ANY) => "delay margin: none needed, stable with any constant delay".into(),
        Some(ns) => {
            format!("delay margin {}: the longest constant delay it stays stable with", Human(ns as f64))
        }
        None => "delay margin none: unstable without any delay".into(),
    }));
    match (margins.jitter_ns, margins.jitter_with_delay_ns) {
        (Some(ns), with) => text.push_str(&wrap(&format!(
            "jitter margin {}: stable for every sequence of delays up to that{}",
            Human(ns),
            with.filter(|_| is_delayed).map_or(String::new(), |with| format!(
                "; {} on top of {}",
                Human(with),
                Human(margins.with_delay_ns as f64)
            ))
        ))),
        (None, _) => {
            text.push_str("jitter margin: only for one input, one output and an output controller\n");
        }
    }
    text
}

fn margins(found: &Assessment) -> String {
    let mut text = margin_table(&found.margins);
    text.push_str(&wrap(&format!(
        "a velocity from differences with the nominal period is off by {:.4} % of the speed (standard deviation), at \
         worst {:.2} %; with the measured interval by nothing",
        found.velocity.standard_deviation * 100.0,
        found.velocity.worst * 100.0
    )));
    text
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
        vec![r.what.to_owned(), change]
    });
    columns(&["what would change the cost", "by"], rows)
}

/// A relative change in percent with so many decimals; what rounds to nothing has no sign.
pub(crate) fn change(share: f64, decimals: usize) -> String {
    let percent = share * 100.0;
    if percent.abs() < 0.5 * 0.1f64.powi(decimals as i32) {
        format!("{:.decimals$} %", 0.0)
    } else {
        format!("{percent:+.decimals$} %")
    }
}

/// One reference in figures.
fn followed(response: &Response) -> String {
    wrap(&format!(
        "{}: error {:.4} rms, {:.4} at most; with ideal timing {:.4} rms, {:.4} at most",
        response.reference,
        response.recorded.rms_error,
        response.recorded.max_error,
        response.ideal.rms_error,
        response.ideal.max_error
    ))
}

/// The plants there are, one a line.
pub fn plants(entries: impl IntoIterator<Item = (String, bool, Result<Plant, String>)>) -> String {
    let rows = entries.into_iter().map(|(name, own, plant)| match plant {
        Ok(p) => {
            let (n, m, outputs) = p.sizes();
            vec![
                if own { format!("{name} (yours)") } else { name },
                n.to_string(),
                m.to_string(),
                outputs.to_string(),
                p.design.name().into(),
                p.name,
            ]
        }
        Err(error) => vec![format!("{name}: {error}")],
    });
    columns(&["plant", "states", "inputs", "outputs", "controller", "what"], rows)
}

/// The cost under constant delays (in ns), for a loop without a run; the first is the one compared with.
pub fn delay_table(rows: &[(i64, Stationary)]) -> String {
    let ideal = rows.first().map_or(f64::NAN, |r| r.1.cost);
    let lines = rows.iter().map(|(delay_ns, s)| {
        let (cost, against) = if s.is_stable() {
            (format!("{:.6}", s.cost), format!("{:+.3} %", (s.cost / ideal - 1.0) * 100.0))
        } else {
            ("unstable".into(), "-".into())
        };
        vec![Exact(*delay_ns).to_string(), cost, against]
    });
    columns(&["constant delay", "cost", "against none"], lines)
}

/// What a loop stands, in a sentence, for a loop without a run.
pub fn alone(question: &Question, margins: &Margins) -> String {
    let Question { plant, period_ns, .. } = question;
    let loop_of = format!("{} under {} every {}", plant.name, plant.design.name(), Exact(*period_ns));
    match (margins.delay_ns, margins.jitter_ns) {
        (None, _) => format!(
            "{loop_of} is NOT stable even without any delay: give it a shorter period, or another controller, such \
             as --controller lqg."
        ),
        (Some(delay), jitter) => {
            let delay = match delay {
                ANY => "any constant delay".into(),
                delay => format!("a constant delay of up to {}", Human(delay as f64)),
            };
            let jitter =
                jitter.map_or(String::new(), |ns| format!(", and with any jitter of up to {}", Human(ns)));
            format!("{loop_of} stays stable with {delay}{jitter}.")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_motion::catalog;
    use jitterlab_motion::servo::TaskTiming;

    #[test]
    fn margins_are_said_for_loops_that_stand_none_some_and_any_delay() {
        let question = Question {
            plant: catalog::find("dc-servo", None).unwrap(),
            period_ns: 6_000_000,
            timing: TaskTiming::default(),
            design_delay_ns: 0,
        };
        let found = Margins::of(&question, 0).unwrap();
        let told = |delay_ns| {
            let margins = Margins { delay_ns, ..found.clone() };
            format!("{}\n{}", alone(&question, &margins), margin_table(&margins))
        };
        let some = told(Some(13_351_560));
        assert!(
            some.contains("a constant delay of up to 13.4 ms, and with any jitter of up to 12 ms"),
            "{some}"
        );
        assert!(some.contains("delay margin 13.4 ms") && !some.contains("with 0 ns"), "{some}");
        assert!(told(Some(ANY)).contains("stable with any constant delay"), "{}", told(Some(ANY)));
        assert!(told(None).contains("NOT stable") && told(None).contains("unstable without any delay"));
        let delayed = margin_table(&Margins { with_delay_ns: 200_000, ..found.clone() });
        assert!(delayed.contains("with 200 us"), "{delayed}");
    }

    #[test]
    fn a_change_that_rounds_to_nothing_has_no_sign() {
        assert_eq!(
            [-1e-9, 0.0, 1.5e-6, -0.25].map(|share| change(share, 4)),
            ["0.0000 %", "0.0000 %", "+0.0002 %", "-25.0000 %"]
        );
    }
}
