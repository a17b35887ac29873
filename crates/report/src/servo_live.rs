//! A loop closed in real time: tracking errors under each wake-up method and load.

use std::fmt::Write as _;

use jitterlab_analysis::verdict::grouped;
use jitterlab_model::units::{Exact, Human};
use jitterlab_motion::servo::{Question, Reference, TrackingError};
use serde::Serialize;

use crate::summary::wrap;
use crate::table::columns;

/// One wake-up method under one load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Way {
    /// The wake-up method.
    pub wake: String,
    /// The load.
    pub load: String,
    /// Mean latency.
    pub mean_latency_ns: Option<f64>,
    /// Largest latency.
    pub max_latency_ns: Option<i64>,
    /// Activations that ran.
    pub executed: u64,
    /// Activations that were missed.
    pub missed: u64,
    /// Tracking error of each output.
    pub errors: Vec<TrackingError>,
    /// Why the figures are not of what was asked for, if so.
    pub trouble: Option<String>,
}

/// Everything that was seen.
pub struct Live<'a> {
    /// The loop.
    pub question: &'a Question,
    /// What each output was to follow.
    pub references: &'a [Reference],
    /// Errors with punctual activations that take no time.
    pub punctual: &'a [TrackingError],
    /// Each way.
    pub ways: &'a [Way],
}

/// A tracking error this many times that of punctual activations is no longer tracking.
const RAN_AWAY: f64 = 10.0;

impl Live<'_> {
    /// How much larger the worst output's error (root mean square) is than with punctual activations; infinite for a
    /// loop that left all numbers behind.
    fn excess(&self, way: &Way) -> f64 {
        let of = |(e, ideal): (&TrackingError, &TrackingError)| e.rms / ideal.rms - 1.0;
        let finite = |excess: f64| if excess.is_nan() { f64::INFINITY } else { excess };
        way.errors.iter().zip(self.punctual).map(of).map(finite).fold(f64::NEG_INFINITY, f64::max)
    }

    /// The answer in a sentence.
    pub fn sentence(&self) -> String {
        let mut ways: Vec<&Way> = self.ways.iter().filter(|w| w.trouble.is_none()).collect();
        ways.sort_by(|a, b| self.excess(a).total_cmp(&self.excess(b)));
        let named = |way: &Way| {
            let excess = self.excess(way);
            let what = if excess < RAN_AWAY {
                format!("{:+.2} % tracking error against punctual activations", excess * 100.0)
            } else {
                "the loop ran away".into()
            };
            format!("{} under load {} ({what})", way.wake, way.load)
        };
        match (ways.first(), ways.last()) {
            (Some(best), Some(worst)) if ways.len() > 1 => {
                format!("Best was {}, worst {}.", named(best), named(worst))
            }
            (Some(only), _) => format!("Seen: {}.", named(only)),
            _ => "No way could be run as asked for.".into(),
        }
    }

    /// The whole answer, readable at 80 columns.
    pub fn text(&self) -> String {
        let Question { plant, period_ns, .. } = self.question;
        let references: Vec<String> = self.references.iter().map(ToString::to_string).collect();
        let mut text = wrap(&self.sentence());
        let _ = write!(
            text,
            "\n{}\n",
            wrap(&format!(
                "{} under {} every {}, simulated in real time; asked to follow {}.",
                plant.name,
                plant.design.name(),
                Exact(*period_ns),
                references.join(", ")
            ))
        );
        let mut header =
            vec!["load".to_owned(), "wake-up".into(), "mean us".into(), "max us".into(), "missed".into()];
        for name in &plant.outputs {
            header.extend([format!("{name} rms"), "max".into()]);
        }
        let figure = |v: f64| if v.abs() < 1e4 { format!("{v:.4}") } else { format!("{v:.0e}") };
        let error = |e: &TrackingError| [e.rms, e.max].map(figure);
        let punctual = ["-", "punctual", "0", "0", "0"].map(str::to_owned).to_vec();
        let punctual = punctual.into_iter().chain(self.punctual.iter().flat_map(error)).collect();
        let rows = self.ways.iter().map(|w| {
            let us = |ns: f64| format!("{:.1}", ns / 1e3);
            let mut row = vec![
                w.load.clone(),
                if w.trouble.is_some() { format!("{} (!)", w.wake) } else { w.wake.clone() },
                w.mean_latency_ns.map_or("-".into(), us),
                w.max_latency_ns.map_or("-".into(), |ns| us(ns as f64)),
                grouped(w.missed),
            ];
            row.extend(w.errors.iter().flat_map(error));
            row
        });
        let header: Vec<&str> = header.iter().map(String::as_str).collect();
        text.push_str(&columns(&header, std::iter::once(punctual).chain(rows)));
        for way in self.ways {
            if let Some(trouble) = &way.trouble {
                text.push_str(&wrap(&format!("(!) {}: {trouble}", way.wake)));
            }
        }
        if let Some(worst) = self.ways.iter().filter_map(|w| w.max_latency_ns).max()
            && worst < period_ns / 10
        {
            text.push_str(&wrap(&format!(
                "The largest latency of all was {}, small against the period: this loop cannot feel it.",
                Human(worst as f64)
            )));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_motion::catalog;
    use jitterlab_motion::servo::TaskTiming;

    fn way(wake: &str, factor: f64, trouble: Option<&str>) -> Way {
        Way {
            wake: wake.into(),
            load: "none".into(),
            mean_latency_ns: Some(5_000.0),
            max_latency_ns: Some(80_000),
            executed: 1_000,
            missed: 2,
            errors: vec![TrackingError { rms: 0.1 * factor, max: 0.2 }, TrackingError { rms: 0.1, max: 0.2 }],
            trouble: trouble.map(str::to_owned),
        }
    }

    #[test]
    fn best_and_worst_are_named_and_what_was_refused_is_not_among_them() {
        let question = Question {
            plant: catalog::find("jiwy", None).unwrap(),
            period_ns: 1_000_000,
            timing: TaskTiming::default(),
            design_delay_ns: 0,
        };
        let punctual = [TrackingError { rms: 0.1, max: 0.2 }; 2];
        let ways =
            [way("nanosleep", 1.01, None), way("spin", 1.0, None), way("deadline", 9.0, Some("no rights"))];
        let references = [Reference::Step(1.0)];
        let live = Live { question: &question, references: &references, punctual: &punctual, ways: &ways };
        let text = live.text();
        assert!(text.starts_with("Best was spin") && text.contains("worst nanosleep"), "{text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("(!) deadline: no rights") && words.contains("cannot feel it"), "{text}");
        assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
        let lost = [way("nanosleep", 1.0, None), way("timerfd", 1e20, None), way("spin", f64::NAN, None)];
        let live = Live { question: &question, references: &references, punctual: &punctual, ways: &lost };
        let text = live.text();
        assert!(text.starts_with("Best was nanosleep") && text.contains("the loop ran away"), "{text}");
        assert!(text.contains("1e19") && text.lines().all(|l| l.chars().count() <= 80), "{text}");
    }
}
