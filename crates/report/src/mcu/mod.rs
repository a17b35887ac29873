//! What was measured on a microcontroller: tables for the terminal, the EPOS paper's figures as SVG.

mod figures;

use jitterlab_model::mcu::{AlarmFigures, CostFigures, McuRecommendation, Strategy, ThreadFigures};

pub use figures::{Rounds, figure_5_svg, figure_7_svg};

use crate::summary::wrap;
use crate::table::columns;

/// A mean error that a source printed, beside the figures measured here.
#[derive(Debug, Clone)]
pub struct Row {
    /// The requested period.
    pub period_us: u32,
    /// Counts of the timer a second.
    pub timer_hz: f64,
    /// Mean errors, in the order of [`table_1`]'s columns; `None` where there is none.
    pub errors_us: [Option<f64>; 7],
}

/// Microseconds as people write them: few digits, the sign always.
fn signed_us(us: f64) -> String {
    match us.abs() {
        e if e < 0.005 => "0".into(),
        e if e < 99.995 => format!("{us:+.2}"),
        _ => format!("{us:+.0}"),
    }
}

/// A period in the unit that suits it.
fn period(us: u32) -> String {
    match us {
        us if us.is_multiple_of(1_000_000) => format!("{} s", us / 1_000_000),
        us if us.is_multiple_of(1_000) => format!("{} ms", us / 1_000),
        us => format!("{us} us"),
    }
}

/// What a firmware sent over its serial port, each line set off; nothing where it sent nothing.
pub fn sent(text: &str) -> String {
    let lines: String = text.lines().map(|line| format!("  > {}\n", printable(line))).collect();
    if lines.is_empty() { lines } else { format!("sent over the serial port:\n{lines}") }
}

/// A line without what would command the terminal.
fn printable(line: &str) -> String {
    line.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// A percentage in few characters, however small.
fn short(percent: f64) -> String {
    match percent {
        p if p < 1e-9 => "0".into(),
        p if p < 0.001 => format!("{p:.0e}"),
        p if p < 9.9995 => format!("{p:.3}"),
        p => format!("{p:.1}"),
    }
}

/// All figures of a sweep, one line each.
pub fn sweep(alarms: &[AlarmFigures]) -> String {
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
    columns(&header, rows)
        + &wrap(
            "errors in us against the period; cyc/ev: cycles in interrupts for each event, with its handler and the \
             ticks between",
        )
        + &wrap(ENTRIES)
}

/// What was done about the cycles that simavr does not charge.
const ENTRIES: &str = "Each interrupt's entry costs 4 cycles here, and 4 more from sleep, as the datasheets say at least; \
                       simavr alone charges nothing.";

fn number(value: f64) -> String {
    if value < 9.995 { format!("{value:.2}") } else { format!("{value:.0}") }
}

/// The EPOS paper's table 1 beside what is measured here: mean errors in microseconds, a block for each timer clock.
/// Columns: periodic as printed, as the paper programmed it, rightly programmed; single shot the same three; anchored.
pub fn table_1(rows: &[Row]) -> String {
    let mut text = String::new();
    for block in rows.chunk_by(|a, b| a.timer_hz == b.timer_hz) {
        text.push_str(&format!(
            "\ntimer clock {:.0} Hz: mean error in us (one count is {:.2} us)\n",
            block[0].timer_hz,
            1e6 / block[0].timer_hz
        ));
        let header =
            ["period", "periodic: paper", "alike", "right", "single: paper", "alike", "right", "anchored"];
        text.push_str(&columns(
            &header,
            block.iter().map(|row| {
                let errors = row.errors_us.iter().map(|e| e.map_or("-".into(), signed_us));
                std::iter::once(period(row.period_us)).chain(errors).collect()
            }),
        ));
    }
    text
}

/// The paper's figure 5: the same errors in percent of the period.
pub fn figure_5(rows: &[Row]) -> String {
    let mut text = String::new();
    for block in rows.chunk_by(|a, b| a.timer_hz == b.timer_hz) {
        text.push_str(&format!("\ntimer clock {:.0} Hz: mean error in % of the period\n", block[0].timer_hz));
        let header =
            ["period", "periodic: paper", "alike", "right", "single: paper", "alike", "right", "anchored"];
        text.push_str(&columns(
            &header,
            block.iter().map(|row| {
                let percent = |us: f64| short(us.abs() / f64::from(row.period_us) * 100.0);
                let errors = row.errors_us.iter().map(|e| e.map_or("-".into(), percent));
                std::iter::once(period(row.period_us)).chain(errors).collect()
            }),
        ));
    }
    text
}

/// What one event of 20 ms costs, a time service in each line.
pub fn costs(figures: &[CostFigures]) -> String {
    let header = ["", "flash", "RAM", "program", "irq/s", "in irq", "asleep", "min err", "max err"];
    let rows = figures.iter().map(|c| {
        vec![
            c.name.clone(),
            c.size.flash.to_string(),
            c.size.ram.to_string(),
            c.programming_cycles.map_or("-".into(), |cycles| cycles.to_string()),
            number(c.interrupts_per_s),
            format!("{:.3}%", c.interrupt_share * 100.0),
            format!("{:.1}%", c.asleep_share * 100.0),
            signed_us(c.min_error_us),
            signed_us(c.max_error_us),
        ]
    });
    columns(&header, rows)
        + &wrap(
            "flash and RAM in bytes above an empty program; program: cycles to program the next event; errors in us",
        )
}

/// What a source says of a thread's period: mean and standard deviation in microseconds.
#[derive(Debug, Clone, Copy)]
pub struct PrintedThread {
    /// Under which strategy.
    pub strategy: Strategy,
    /// Mean.
    pub mean_us: f64,
    /// Standard deviation as printed.
    pub standard_deviation_us: f64,
    /// Standard deviation that the printed percentage means.
    pub by_percent_us: f64,
}

/// The paper's figure 7 beside what is measured here.
pub fn figure_7(threads: &[ThreadFigures], printed: &[PrintedThread]) -> String {
    let header = ["in us", "mean", "std dev", "of mean", "a tick", "an event", "paper", "std dev"];
    let rows = threads.iter().map(|t| {
        let paper = printed.iter().find(|p| p.strategy == t.strategy);
        let us = |ns: f64| format!("{:.3}", ns / 1e3);
        vec![
            t.strategy.to_string(),
            us(t.mean_ns),
            us(t.standard_deviation_ns),
            format!("{:.2}%", t.standard_deviation_ns / t.mean_ns * 100.0),
            t.tick_cycles.map_or("-".into(), |c| format!("{c} cyc")),
            format!("{} cyc", t.event_cycles),
            paper.map_or("-".into(), |p| p.mean_us.to_string()),
            paper.map_or("-".into(), two_readings),
        ]
    });
    let mut text = columns(&header, rows);
    for t in threads {
        let disturbed: u64 = t.interruptions.iter().map(|i| i.rounds).sum();
        let by = t.interruptions.iter().map(|i| format!("{} by {} cycles", i.rounds, i.cycles));
        let by =
            if t.interruptions.is_empty() { "none longer".into() } else { by.collect::<Vec<_>>().join(", ") };
        text.push_str(&wrap(&format!(
            "{}: {} of {} rounds take exactly {} cycles; longer: {by}",
            t.strategy,
            t.rounds - disturbed,
            t.rounds,
            t.round_cycles
        )));
    }
    text
}

/// The standard deviation as printed, and as the percentage beside it says where that is something else.
fn two_readings(printed: &PrintedThread) -> String {
    let PrintedThread { standard_deviation_us: us, by_percent_us, .. } = printed;
    if (by_percent_us - us).abs() < 0.01 * us {
        us.to_string()
    } else {
        format!("{us} or {by_percent_us:.4}")
    }
}

/// Ways to use the timer, the best first, and a sentence on it.
pub fn recommendation(recommendation: &McuRecommendation) -> String {
    let choices = &recommendation.choices;
    let header = ["strategy", "prescaler", "tick", "fits", "worst", "drift", "processor", "irq/s"];
    let rows = choices.iter().map(|c| {
        vec![
            c.strategy.to_string(),
            c.prescaler.to_string(),
            c.tick_us.map_or("-".into(), period),
            if c.fits { "yes".into() } else { "no".into() },
            format!("{:.2} us", c.worst_us),
            format!("{:.1} ppm", c.drift_ppm),
            format!("{:.3}%", c.busy_share * 100.0),
            number(c.alarms.iter().map(|a| a.interrupts_per_s).fold(0.0, f64::max)),
        ]
    });
    let text = columns(&header, rows);
    let sentence = match choices.first().filter(|c| c.fits) {
        Some(best) => format!(
            "Take {} with prescaler {}{}: every distance of two events keeps its tolerance, interrupts take {:.2} % of the \
             processor, about the least of all that do, and of those it drifts least, {:.1} ppm.",
            best.strategy,
            best.prescaler,
            best.tick_us.map_or(String::new(), |tick| format!(" and a tick of {}", period(tick))),
            best.busy_share * 100.0,
            best.drift_ppm
        ),
        None => "Nothing keeps the tolerances: widen them, raise the chip's clock, or let hardware make the edges.".into(),
    };
    text + "\n" + &wrap(&sentence)
}

/// What does not agree with itself or with its table in the EPOS paper; the numbers are checked by the tests of the bench's
/// `mcu/paper.rs`.
pub const EPOS_NOTES: [&str; 7] = [
    "Figure 7: a standard deviation of 19.1 ns is 0.0625 % of 30.56 us, not 0.62 %; 0.62 % would be 189.5 ns. Neither fits an \
     event every 20 ms: the one would mean that an event takes 4 cycles, the other 39. So hardly any event fell into what \
     was measured. The periodic timer's two figures agree, with about 200 cycles for each tick.",
    "Table 1, 100 us at 7200 Hz: one count is 138.9 us, so equation 1 rules the period out, and both columns have it.",
    "Table 1, periodic: from 10 ms on each error is one count for each hardware period: the compare register held the \
     period, and the counter counts the 0 as well. Measured so here, 10 ms to 1 s come out to 1.4 us; for 10 s the paper \
     took 10 or 20 hardware periods, where 2 to 18 are enough.",
    "Table 1, single shot: 10 s at 7200 Hz is 997 counts too long, as 1000 ticks of 10 ms that lose a count each are here. At \
     28800 and 115200 Hz, and 1 s at 115200 Hz, the paper loses 8 to 176 counts in 10 ms: more than a timer that is programmed \
     late explains, which takes 24 cycles here, less than one count.",
    "\"In every case, the error rates decrease as the requested period increases\": not from 1 s to 10 s at 115200 Hz, \
     where the periodic timer's error rises from 0.0016 % to 0.0017 %.",
    "\"The single-shot timing strategy usually presents better results\": in 9 of the 18 cells of table 1.",
    "\"T = I / F\": an interval I has I * F ticks of a timer with the frequency F.",
];

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_model::mcu::{Choice, Interruption, Size};

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
        let text = sweep(&[figures(), figures()]);
        assert!(text.contains("10 s") && text.contains("-0.90") && text.contains("100.0%"), "{text}");
        assert!(widest(&text.lines().take(3).collect::<Vec<_>>().join("\n")) <= 80, "{text}");
    }

    #[test]
    fn table_1_shows_seven_columns_within_100() {
        let errors =
            [Some(173.0), Some(173.6), Some(0.0), Some(921_704.0), Some(8_681.0), Some(0.1), Some(-0.9)];
        let text = table_1(&[Row { period_us: 10_000_000, timer_hz: 115_200.0, errors_us: errors }]);
        assert!(text.contains("+921704") && text.contains("-0.90") && text.contains("8.68 us"), "{text}");
        assert!(widest(&text) <= 100, "{text}");
        assert!(figure_5(&[Row { period_us: 100, timer_hz: 7_200.0, errors_us: [None; 7] }]).contains(" - "));
    }

    #[test]
    fn the_thread_is_described_with_what_disturbed_it() {
        let thread = ThreadFigures {
            strategy: Strategy::Periodic,
            round_cycles: 163,
            rounds: 1_000,
            mean_ns: 20_525.0,
            standard_deviation_ns: 1_444.0,
            interruptions: vec![Interruption { cycles: 47, rounds: 19 }],
            event_cycles: 160,
            tick_cycles: Some(47),
        };
        let paper = PrintedThread {
            strategy: Strategy::Periodic,
            mean_us: 31.34,
            standard_deviation_us: 4.36,
            by_percent_us: 4.36,
        };
        assert_eq!(two_readings(&PrintedThread { by_percent_us: 0.1895, ..paper }), "4.36 or 0.1895");
        let text = figure_7(&[thread], &[paper]);
        assert!(
            text.contains("981 of 1000") && text.contains("19 by 47") && text.contains("31.34"),
            "{text}"
        );
    }

    #[test]
    fn costs_stand_in_one_table() {
        let cost = CostFigures {
            name: "anchored, up to 20 ms".into(),
            size: Size { flash: 1_126, ram: 22 },
            programming_cycles: Some(36),
            interrupts_per_s: 49.5,
            interrupt_share: 0.000_94,
            asleep_share: 0.998_9,
            min_error_us: 0.0,
            max_error_us: -0.5,
        };
        let text = costs(&[cost.clone(), CostFigures { programming_cycles: None, ..cost }]);
        assert!(text.contains(" 1126 ") && text.contains("0.094%") && text.contains(" - "), "{text}");
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
        let text = |choice: &Choice| {
            let choices = vec![choice.clone()];
            recommendation(&McuRecommendation { mcu: "atmega328p".into(), clock_hz: 8_000_000, choices })
        };
        assert!(text(&choice).contains("Take anchored with prescaler 8:"));
        assert!(text(&Choice { fits: false, ..choice }).contains("Nothing keeps"));
    }
}
