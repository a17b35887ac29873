//! What was measured on a microcontroller: tables for the terminal.

pub mod firmware;

use jitterlab_model::Fitness;
use jitterlab_model::mcu::{AlarmFigures, McuRecommendation, Strategy};

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

/// The three lines: which way to take, why, and what to do next.
pub(crate) fn head(recommendation: &McuRecommendation) -> Head {
    let Some(best) = recommendation.choices.first().filter(|c| c.fits) else {
        return Head {
            fitness: Fitness::Unfit,
            asked: true,
            verdict: "NOT FIT: nothing keeps the tolerances.".into(),
            number: recommendation.choices.first().map_or_else(String::new, |nearest| {
                format!("The nearest is off by {:.2} µs at worst.", nearest.worst_us)
            }),
            next: "widen the tolerances, raise the chip's clock, or let hardware make the edges".into(),
        };
    };
    let strategy = match best.strategy {
        Strategy::SingleShot => "single-shot (with the trait INEXACT)",
        other => other.name(),
    };
    let tick = best.tick_us.map_or(String::new(), |tick| format!(" and a tick of {}", period(tick)));
    Head {
        fitness: Fitness::Good,
        asked: true,
        verdict: format!("TAKE {strategy} with prescaler {}{tick}.", best.prescaler),
        number: format!(
            "Every distance of two events keeps its tolerance; interrupts take {:.2} % of the processor, about the least \
             of all that do, and of those it drifts least, {:.1} ppm.",
            best.busy_share * 100.0,
            best.drift_ppm
        ),
        next: "jitterlab mcu run --elf FILE --pin B0 (the whole firmware, as it will run)".into(),
    }
}

/// Ways to use the timer, the best first.
pub fn recommendation(recommendation: &McuRecommendation) -> Section {
    let choices = &recommendation.choices;
    let header = ["strategy", "prescaler", "tick", "fits", "worst", "drift", "processor", "irq/s"];
    let rows = choices.iter().map(|c| {
        vec![
            c.strategy.to_string(),
            c.prescaler.to_string(),
            c.tick_us.map_or("-".into(), period),
            if c.fits { "yes".into() } else { "no".into() },
            format!("{:.2} µs", c.worst_us),
            format!("{:.1} ppm", c.drift_ppm),
            format!("{:.3}%", c.busy_share * 100.0),
            number(c.alarms.iter().map(|a| a.interrupts_per_s).fold(0.0, f64::max)),
        ]
    });
    let table = Piece::table("", &header, rows);
    let mut pieces = vec![table];
    if choices.iter().any(|c| c.alarms.len() > 1) {
        let alone = "Each alarm was measured alone: beside others an event also waits for their handlers, and for locks. Add these to \
                     the worst distance before you trust it.";
        pieces.push(Piece::said(alone));
    }
    Section {
        id: "mcu-recommendation".into(),
        title: "Timer of the microcontroller".into(),
        lead: "Which way to use the timer keeps the events within their tolerances.".into(),
        pieces,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Terminal;
    use jitterlab_model::mcu::{Choice, Size};

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
        let choice = Choice {
            strategy: Strategy::Anchored,
            prescaler: 8,
            tick_us: None,
            fits: true,
            worst_us: 1.0,
            drift_ppm: 0.0,
            busy_share: 0.001,
            alarms: vec![figures()],
        };
        let head = |choice: &Choice| {
            let choices = vec![choice.clone()];
            head(&McuRecommendation { mcu: "atmega328p".into(), clock_hz: 8_000_000, choices })
        };
        assert_eq!(head(&choice).verdict, "TAKE anchored with prescaler 8.");
        assert!(head(&Choice { fits: false, ..choice }).verdict.contains("nothing keeps"));
    }
}
