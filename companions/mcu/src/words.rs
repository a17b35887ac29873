//! Words of `jitterlab mcu`: its results in sentences and tables.

use jitterlab_model::Fitness;
use jitterlab_report::conclusion::Conclusion;
use jitterlab_report::document::Present;
use jitterlab_report::section::{Piece, Section};
use jitterlab_report::words::time;

use crate::recommend::McuRecommendation;
use crate::several_alarms::Overload;

impl Present for McuRecommendation {
    const KIND: &'static str = "mcu-recommendation";

    fn conclusion(&self) -> Option<Conclusion> {
        Some(conclusion(self))
    }

    fn sections(&self) -> Vec<Section> {
        vec![choices_section(self)]
    }
}

/// Three lines of the conclusion: the recommended way, the reason, and the next step.
fn conclusion(recommendation: &McuRecommendation) -> Conclusion {
    let Some(best) = recommendation.choices.first().filter(|c| c.fits) else {
        let nearest = recommendation.choices.first().and_then(|choice| choice.worst_us);
        return Conclusion {
            fitness: Fitness::Unfit,
            asked: true,
            verdict: "NOT FIT: nothing keeps the tolerances.".into(),
            number: nearest.map_or_else(
                || "Handlers and locks take too long for any of them.".into(),
                |worst| format!("The nearest is off by {worst:.2} µs at worst."),
            ),
            next: "widen the tolerances, shorten locks and handlers, raise the chip's clock, or let hardware make the edges"
                .into(),
        };
    };
    let tick = best.tick_us.map_or(String::new(), |tick| format!(" and a tick of {}", format_period(tick)));
    let together = if best.alarms.len() > 1 { " all alarms together, in any phase," } else { "" };
    Conclusion {
        fitness: Fitness::Good,
        asked: true,
        verdict: format!("TAKE {} with prescaler {}{tick}.", best.strategy, best.prescaler),
        number: format!(
            "At worst,{together} a distance of two events is off by {:.2} µs, and none drifts; interrupts and handlers take {:.2} % of the processor.",
            best.worst_us.unwrap_or_default(),
            best.busy_share * 100.0,
        ),
        next: "jitterlab mcu run --elf FILE --pin B0 (the whole firmware, as it will run)".into(),
    }
}

/// Table of the ways to use the timer, the best first.
fn choices_section(recommendation: &McuRecommendation) -> Section {
    let choices = &recommendation.choices;
    let header = ["strategy", "prescaler", "tick", "fits", "worst", "seen", "processor", "irq/s"];
    let off = |us: Option<f64>| us.map_or("-".into(), |us| format!("{us:.2} µs"));
    let rows = choices.iter().map(|c| {
        vec![
            c.strategy.to_string(),
            c.prescaler.to_string(),
            c.tick_us.map_or("-".into(), format_period),
            if c.fits { "yes".into() } else { "no".into() },
            off(c.worst_us),
            off(c.alarms.iter().filter_map(|a| a.seen_us).reduce(f64::max)),
            format!("{:.3}%", c.busy_share * 100.0),
            if c.overload.is_none() { format_number(c.interrupts_per_s) } else { "-".into() },
        ]
    });
    let mut pieces = vec![Piece::table("", &header, rows)];
    if let Some(best) = choices.first().filter(|c| c.overload.is_none() && c.alarms.len() > 1) {
        let header = ["period", "tolerance", "worst", "seen"];
        let rows = best.alarms.iter().map(|a| {
            vec![format_period(a.period_us), format_period(a.tolerance_us), off(a.worst_us), off(a.seen_us)]
        });
        pieces.push(Piece::table("the first, alarm by alarm", &header, rows));
    }
    pieces.push(Piece::text(format!(
        "worst: what a distance of two events can be off by, whatever the phases of the alarms, with interrupts off for at most {} \
         and handlers of at most {}; seen: what it was off by with all of them due at once, at the beginning of such a lock",
        format_duration(recommendation.lock_ns),
        format_duration(recommendation.handler_ns),
    )));
    if choices.iter().any(|c| c.overload == Some(Overload::Processor)) {
        let all = "Where no worst is given, interrupts and handlers would take all of the processor, or the counter would be left alone for \
                   longer than it bears.";
        pieces.push(Piece::text(all));
    } else if choices.iter().any(|c| c.overload == Some(Overload::Counter)) {
        let counter = "Where no worst is given, a lock and the handlers after it last longer than the counter can be left alone: a quarter of \
                       its range, or a tick.";
        pieces.push(Piece::text(counter));
    }
    Section::new(
        "mcu-recommendation",
        "Timer of the microcontroller",
        "Which way to use the timer keeps the events within their tolerances, all alarms together.",
        pieces,
    )
}

fn format_duration(ns: i64) -> String {
    if ns == 0 { "0".into() } else { time(ns as f64) }
}

/// Formats a period in a suitable unit.
pub fn format_period(us: u32) -> String {
    match us {
        us if us.is_multiple_of(1_000_000) => format!("{} s", us / 1_000_000),
        us if us.is_multiple_of(1_000) => format!("{} ms", us / 1_000),
        us => format!("{us} µs"),
    }
}

pub fn format_number(value: f64) -> String {
    if value < 9.995 { format!("{value:.2}") } else { format!("{value:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Strategy;
    use crate::recommend::Choice;
    use crate::several_alarms::WorstAlarm;
    use jitterlab_report::chart::Terminal;

    const TERMINAL: Terminal = Terminal { columns: 80, ascii: false, colour: false };

    #[test]
    fn the_recommendation_is_a_sentence() {
        let alarm =
            |worst_us| WorstAlarm { period_us: 1_000, tolerance_us: 10, worst_us, seen_us: Some(6.5) };
        let choice = Choice {
            strategy: Strategy::Anchored,
            prescaler: 8,
            tick_us: None,
            fits: true,
            worst_us: Some(7.25),
            overload: None,
            busy_share: 0.001,
            interrupts_per_s: 1_000.0,
            alarms: vec![alarm(Some(1.0)), alarm(Some(7.25))],
        };
        let recommendation = |choice: &Choice| {
            let choices = vec![choice.clone()];
            let (mcu, clock_hz) = ("atmega328p".into(), 8_000_000);
            McuRecommendation { mcu, clock_hz, lock_ns: 5_000, handler_ns: 0, choices }
        };
        let conclusion = |choice: &Choice| conclusion(&recommendation(choice));
        let text = choices_section(&recommendation(&choice)).text(TERMINAL);
        assert!(
            text.contains("7.25 µs") && text.contains("at most 5 µs and handlers of at most 0;"),
            "{text}"
        );
        assert!(
            conclusion(&choice)
                .number
                .contains("together, in any phase, a distance of two events is off by 7.25 µs")
        );
        let overload = Choice {
            overload: Some(Overload::Counter),
            worst_us: None,
            alarms: vec![alarm(None)],
            ..choice.clone()
        };
        assert!(choices_section(&recommendation(&overload)).text(TERMINAL).contains("a tick"));
        assert!(conclusion(&Choice { fits: false, ..overload }).number.contains("too long"));
        assert_eq!(conclusion(&choice).verdict, "TAKE anchored with prescaler 8.");
        assert!(conclusion(&Choice { fits: false, ..choice }).verdict.contains("nothing keeps"));
    }
}
