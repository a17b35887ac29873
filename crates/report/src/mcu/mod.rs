//! What was measured on a microcontroller: tables for the terminal.

pub mod firmware;
pub(crate) mod head;

use jitterlab_model::Fitness;
use jitterlab_model::mcu::{AlarmFigures, McuCost, McuRecommendation, Overload};

use crate::head::Head;
use crate::section::{Piece, Section};

/// Microseconds as people write them: few digits, the sign always.
pub(crate) fn signed_us(us: f64) -> String {
    match us.abs() {
        e if e < 0.005 => "0".into(),
        e if e < 99.995 => format!("{us:+.2}"),
        _ => format!("{us:+.0}"),
    }
}

/// A period in the unit that suits it.
pub(crate) fn period(us: u32) -> String {
    match us {
        us if us.is_multiple_of(1_000_000) => format!("{} s", us / 1_000_000),
        us if us.is_multiple_of(1_000) => format!("{} ms", us / 1_000),
        us => format!("{us} µs"),
    }
}

/// What a firmware sent over its serial port, each line set off; nothing where it sent nothing.
pub(crate) fn sent(text: &str) -> String {
    let lines: String = text.lines().map(|line| format!("  > {}\n", printable(line))).collect();
    if lines.is_empty() { lines } else { format!("sent over the serial port:\n{lines}") }
}

/// A line without what would command the terminal.
fn printable(line: &str) -> String {
    line.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// All figures of a sweep, one line each.
pub fn sweep(alarms: &[AlarmFigures]) -> Section {
    let header =
        ["strategy", "timer Hz", "period", "mean err", "min err", "max err", "irq/s", "cyc/ev", "asleep"];
    let rows = alarms.iter().map(|f| {
        vec![
            f.strategy.to_string(),
            format!("{:.0}", f.timer_hz),
            period(f.period_us),
            signed_us(f.mean_error_us()),
            signed_us(f.min_error_us),
            signed_us(f.max_error_us),
            number(f.interrupts_per_s),
            format!("{:.0}", f.cycles_per_event),
            format!("{:.1}%", f.asleep_share * 100.0),
        ]
    });
    let columns = "errors in µs against the period; cyc/ev: cycles in interrupts for each event, with its handler and the \
         ticks between";
    let pieces = vec![Piece::table("", &header, rows), Piece::said(columns)];
    Section {
        id: "mcu-sweep".into(),
        title: "Timer of the microcontroller".into(),
        lead: "How exactly each way to use the timer keeps a period, and what it costs the processor.".into(),
        pieces,
    }
}

pub(crate) fn number(value: f64) -> String {
    if value < 9.995 { format!("{value:.2}") } else { format!("{value:.0}") }
}

/// What each way to be told of a periodic event costs.
pub fn cost(cost: &McuCost) -> Section {
    let header = ["", "flash", "RAM", "cycles", "irq/s", "worst", "asleep"];
    let rows = cost.costs.iter().map(|of| {
        vec![
            of.name.clone(),
            of.size.flash.to_string(),
            of.size.ram.to_string(),
            of.longest_interrupt_cycles.to_string(),
            number(of.interrupts_per_s),
            format!("{:.2} µs", of.min_error_us.abs().max(of.max_error_us.abs())),
            format!("{:.1}%", of.asleep_share * 100.0),
        ]
    });
    let mut pieces = vec![Piece::table("", &header, rows)];
    pieces.push(Piece::said(format!(
        "flash and RAM: bytes above a program that only starts and sleeps; cycles: of the longest interrupt, from its entry to its end, with \
         a handler that moves a pin; worst: what a distance of two events is off by; an event every {} on an {} at {} Hz, prescaler {}",
        period(cost.period_us),
        cost.mcu,
        cost.clock_hz,
        cost.prescaler
    )));
    pieces.extend(cost.missing.as_ref().map(|missing| Piece::said(format!("Left out: {missing}"))));
    Section {
        id: "mcu-cost".into(),
        title: "What an alarm costs".into(),
        lead: "Each way to be told of a periodic event, in memory and in time.".into(),
        pieces,
    }
}

/// The three lines: which way to take, why, and what to do next.
pub(crate) fn head(recommendation: &McuRecommendation) -> Head {
    let Some(best) = recommendation.choices.first().filter(|c| c.fits) else {
        let nearest = recommendation.choices.first().and_then(|choice| choice.worst_us);
        return Head {
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
    let tick = best.tick_us.map_or(String::new(), |tick| format!(" and a tick of {}", period(tick)));
    let together = if best.alarms.len() > 1 { " all alarms together, in any phase," } else { "" };
    Head {
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

/// Ways to use the timer, the best first.
pub fn recommendation(recommendation: &McuRecommendation) -> Section {
    let choices = &recommendation.choices;
    let header = ["strategy", "prescaler", "tick", "fits", "worst", "seen", "processor", "irq/s"];
    let off = |us: Option<f64>| us.map_or("-".into(), |us| format!("{us:.2} µs"));
    let rows = choices.iter().map(|c| {
        vec![
            c.strategy.to_string(),
            c.prescaler.to_string(),
            c.tick_us.map_or("-".into(), period),
            if c.fits { "yes".into() } else { "no".into() },
            off(c.worst_us),
            off(c.alarms.iter().filter_map(|a| a.seen_us).reduce(f64::max)),
            format!("{:.3}%", c.busy_share * 100.0),
            if c.overload.is_none() { number(c.interrupts_per_s) } else { "-".into() },
        ]
    });
    let mut pieces = vec![Piece::table("", &header, rows)];
    if let Some(best) = choices.first().filter(|c| c.overload.is_none() && c.alarms.len() > 1) {
        let header = ["period", "tolerance", "worst", "seen"];
        let rows = best
            .alarms
            .iter()
            .map(|a| vec![period(a.period_us), period(a.tolerance_us), off(a.worst_us), off(a.seen_us)]);
        pieces.push(Piece::table("the first, alarm by alarm", &header, rows));
    }
    pieces.push(Piece::said(format!(
        "worst: what a distance of two events can be off by, whatever the phases of the alarms, with interrupts off for at most {} \
         and handlers of at most {}; seen: what it was off by with all of them due at once, at the beginning of such a lock",
        length(recommendation.lock_ns),
        length(recommendation.handler_ns),
    )));
    if choices.iter().any(|c| c.overload == Some(Overload::Processor)) {
        let all = "Where no worst is given, interrupts and handlers would take all of the processor, or the counter would be left alone for \
                   longer than it bears.";
        pieces.push(Piece::said(all));
    } else if choices.iter().any(|c| c.overload == Some(Overload::Counter)) {
        let counter = "Where no worst is given, a lock and the handlers after it last longer than the counter can be left alone: a quarter of \
                       its range, or a tick.";
        pieces.push(Piece::said(counter));
    }
    Section {
        id: "mcu-recommendation".into(),
        title: "Timer of the microcontroller".into(),
        lead: "Which way to use the timer keeps the events within their tolerances, all alarms together."
            .into(),
        pieces,
    }
}

/// A length of time, or none.
fn length(ns: i64) -> String {
    if ns == 0 { "0".into() } else { crate::words::time(ns as f64) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Terminal;
    use jitterlab_model::mcu::{Choice, Size, Strategy, WorstAlarm};

    const TERMINAL: Terminal = Terminal { columns: 80, ascii: false, colour: false };

    fn figures() -> AlarmFigures {
        AlarmFigures {
            strategy: Strategy::Anchored,
            compare_as_paper: false,
            prescaler: 64,
            timer_hz: 115_200.0,
            period_us: 10_000_000,
            events: 11,
            mean_period_us: 9_999_999.1,
            min_error_us: -8.95,
            max_error_us: 0.0,
            total_error_counts: -1.0,
            interrupts_per_s: 6.4,
            cycles_per_event: 7_400.0,
            shortest_interrupt_cycles: 65,
            longest_interrupt_cycles: 426,
            asleep_share: 0.9998,
            size: Size { flash: 2_000, ram: 60 },
        }
    }

    fn widest(text: &str) -> usize {
        text.lines().map(|l| l.chars().count()).max().unwrap_or(0)
    }

    #[test]
    fn a_sweep_fits_the_terminal() {
        let text = sweep(&[figures(), figures()]).text(TERMINAL);
        assert!(text.contains("10 s") && text.contains("-0.90") && text.contains("100.0%"), "{text}");
        assert!(widest(&text.lines().take(4).collect::<Vec<_>>().join("\n")) <= 80, "{text}");
    }

    #[test]
    fn what_the_firmware_sent_cannot_command_the_terminal() {
        assert_eq!(sent(""), "");
        assert_eq!(sent("100\n\u{1b}[2J\n"), "sent over the serial port:\n  > 100\n  > \u{fffd}[2J\n");
    }

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
        let head = |choice: &Choice| head(&recommendation(choice));
        let text = super::recommendation(&recommendation(&choice)).text(TERMINAL);
        assert!(
            text.contains("7.25 µs") && text.contains("at most 5 µs and handlers of at most 0;"),
            "{text}"
        );
        assert!(
            head(&choice)
                .number
                .contains("together, in any phase, a distance of two events is off by 7.25 µs")
        );
        let overload = Choice {
            overload: Some(Overload::Counter),
            worst_us: None,
            alarms: vec![alarm(None)],
            ..choice.clone()
        };
        assert!(super::recommendation(&recommendation(&overload)).text(TERMINAL).contains("a tick"));
        assert!(head(&Choice { fits: false, ..overload }).number.contains("too long"));
        assert_eq!(head(&choice).verdict, "TAKE anchored with prescaler 8.");
        assert!(head(&Choice { fits: false, ..choice }).verdict.contains("nothing keeps"));
    }
}
