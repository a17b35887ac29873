//! EPOS: tables 1, figures 5 and 7 in numbers, costs, and where the paper is inconsistent.

use crate::claims::epos::{EposReproduction, LedThread, PrintedThread, Row};
use crate::claims::epos_faults::{self, Fault, Rounding};
use jitterlab_mcu::{CostFigures, NearbyFigures, ServicesSaid, TimerKind};

use super::{details, time_management};
use crate::claims::time_management::from_avr;
use jitterlab_mcu::words::{number, period};
use jitterlab_report::section::{Piece, Section};
use jitterlab_report::table::columns;
use jitterlab_report::words::{count, exact, plural, share, time};
use jitterlab_report::wrap::wrap;

pub(super) fn section(found: &EposReproduction) -> Section {
    let missing =
        found.without_arduino.iter().map(|why| Piece::text(format!("To compare with Arduino: {why}.")));
    let delays = Piece::details(
        "A delay of one and a half ticks",
        time_management::pieces(&from_avr(&found.delays)).into(),
    );
    let tables = tables(found).into_iter().map(|(title, table)| {
        match title.starts_with("Table 1") || title.starts_with("Figure 7") {
            true => Piece::Verbatim { heading: title, text: table },
            false => details(&title.replace('\n', " "), table),
        }
    });
    Section::new(
        "epos",
        "EPOS, table 1 and figures 3, 5 and 7",
        "The paper's programs and a third strategy, on a simulated microcontroller.",
        missing.chain([delays]).chain(tables).collect(),
    )
}

/// Every table with its title.
fn tables(found: &EposReproduction) -> [(String, String); 6] {
    let rows = found.rows();
    let rounds = found.led_thread.first().map_or(0, |thread| thread.figures.rounds);
    [
        (
            "Soft, smart and firm timers: three alarms of 10 ms, 0.3 ms apart, beside a\n\
             program that works, on an ATmega328P at 8 MHz"
                .into(),
            nearby(&found.nearby),
        ),
        ("Figure 3: what its program prints".into(), output_lines(&found.figure_3)),
        (
            "Table 1: 11 events of an alarm, on an ATmega128 at 7.3728 MHz\n\
             paper: as printed; alike: measured with the period itself in the compare\n\
             register, as in the paper; right: with one count less, for the 0 counts too"
                .into(),
            errors(&rows),
        ),
        ("Table 1: faults of programming the timer that would give the printed means".into(), faults()),
        (
            format!(
                "Figure 7: the led thread's period, {} rounds at 8 MHz, tick 1 ms, alarm 20 ms",
                count(rounds)
            ),
            figure_7(&found.led_thread),
        ),
        ("What one event every 20 ms costs, on an ATmega328P at 8 MHz".into(), costs(&found.costs)),
    ]
}

/// The timers of the related work.
fn nearby(figures: &[NearbyFigures]) -> String {
    let header = ["", "lenient", "interrupts/s", "of the time", "late: least", "median", "most"];
    let rows = figures.iter().map(|of| {
        vec![
            kind(of.kind).into(),
            of.lenient_us.map_or("-".into(), |us| exact(i64::from(us) * 1_000)),
            format!("{:.0}", of.interrupts_per_s),
            share(of.interrupt_share),
            time(of.earliest_us * 1e3),
            time(of.median_us * 1e3),
            time(of.latest_us * 1e3),
        ]
    });
    columns(&header, rows)
        + &wrap(
            "Lateness of a handler's first action, from where its alarm was asked for; lenient: how late it may be on purpose, or \
             the tick. Soft and firm: the program asks whether anything is due after each stretch of work of at most half a \
             millisecond, and what it then serves is not in the interrupts. In a tick of 1 ms the three alarms are rounded to it.",
        )
}

fn kind(kind: TimerKind) -> &'static str {
    match kind {
        TimerKind::Tick => "tick",
        TimerKind::SingleShot => "single shot",
        TimerKind::Soft => "soft",
        TimerKind::Smart => "smart",
        TimerKind::Firm => "firm",
    }
}

/// The lines of the program under each strategy.
fn output_lines(all: &[ServicesSaid]) -> String {
    let one = |services: &ServicesSaid| {
        let ServicesSaid { strategy, period_us, events, said } = services;
        let asked = u64::from(*period_us) * (u64::from(*events) + 1);
        let lines = said.lines().map(str::trim).collect::<Vec<_>>().join("; ");
        wrap(&format!("{strategy}, {events} events and a delay of {asked} µs: {lines}"))
    };
    all.iter().map(one).collect()
}

/// Table 1 with the results measured here: mean errors, a block for each timer clock. Columns: periodic as
/// printed, as the paper programmed it, rightly programmed; single shot the same three; anchored.
fn errors(rows: &[Row]) -> String {
    let header =
        ["period", "periodic: paper", "alike", "right", "single: paper", "alike", "right", "anchored"];
    let block = |block: &[Row]| {
        let hz = block.first().map_or(0.0, |row| row.timer_hz);
        let title = format!("\ntimer clock {hz:.0} Hz: mean error in µs (one count is {:.2} µs)\n", 1e6 / hz);
        let rows = block.iter().map(|row| {
            let errors = row.errors_us.iter().map(|error| error.map_or("-".into(), signed_us));
            std::iter::once(period(row.period_us)).chain(errors).collect()
        });
        title + &columns(&header, rows)
    };
    rows.chunk_by(|a, b| a.timer_hz == b.timer_hz).map(block).collect()
}

/// Faults that would give the paper's cells, and the cells that none gives.
fn faults() -> String {
    let one = |fault: &Fault| {
        let rounding = match fault.rounding {
            Rounding::Nearest => "to the nearest count",
            Rounding::Down => "down",
            Rounding::Up => "up",
        };
        format!(
            "rounded {rounding}, {} too many, {:+} µs",
            plural(fault.excess.into(), "count"),
            fault.late_us
        )
    };
    let header = ["column", "cell", "printed, in counts", "fault"];
    let rows = epos_faults::search().into_iter().flat_map(|column| {
        let name = format!("{}, {:.0} Hz", column.strategy, column.timer_hz);
        let cells = format!("{} of {}", column.given, column.given + column.others.len());
        let others = column.others.iter().map(|cell| {
            let fault = cell.fault.as_ref().map_or_else(|| "unexplained".into(), one);
            vec![String::new(), period(cell.period_us), format!("{:.2}", cell.counts), fault]
        });
        let first = vec![name, cells, String::new(), one(&column.of_all)];
        std::iter::once(first).chain(others).collect::<Vec<_>>()
    });
    columns(&header, rows)
        + &wrap(
            "To 2 µs, with up to 2 counts and 40 µs for a whole column, up to 8 counts for a cell alone. That a fault gives a \
             mean does not prove that it was the paper's.",
        )
}

/// Costs of one event every 20 ms, a time service in each line.
fn costs(figures: &[CostFigures]) -> String {
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
            "flash and RAM in bytes above an empty program; program: cycles to program the next event; errors in µs",
        )
}

/// The paper's figure 7 with the results measured here.
fn figure_7(threads: &[LedThread]) -> String {
    let header =
        ["in µs", "mean", "std dev", "of mean", "no event", "a tick", "an event", "paper", "std dev"];
    let rows = threads.iter().map(|thread| {
        let LedThread { figures: t, printed, .. } = thread;
        let us = |ns: f64| format!("{:.3}", ns / 1e3);
        vec![
            t.strategy.to_string(),
            us(t.mean_ns),
            us(t.standard_deviation_ns),
            format!("{:.2}%", t.standard_deviation_ns / t.mean_ns * 100.0),
            us(thread.without_the_event().sd_ns),
            t.tick_cycles.map_or("-".into(), |c| format!("{c} cyc")),
            format!("{} cyc", t.event_cycles),
            printed.map_or("-".into(), |p| p.mean_us.to_string()),
            printed.map_or("-".into(), two_readings),
        ]
    });
    let mut text = columns(&header, rows)
        + &wrap("no event: standard deviation without the rounds that the alarm's own event lengthens");
    for t in threads.iter().map(|thread| &thread.figures) {
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

/// The standard deviation as printed, and the one from the printed percentage if that differs.
fn two_readings(printed: PrintedThread) -> String {
    let (us, by_percent_us) = (printed.standard_deviation_us, printed.standard_deviation_by_percent_us());
    if (by_percent_us - us).abs() < 0.01 * us {
        us.to_string()
    } else {
        format!("{us} or {by_percent_us:.4}")
    }
}

/// Microseconds as people write them: few digits, the sign always.
fn signed_us(us: f64) -> String {
    match us.abs() {
        e if e < 0.005 => "0".into(),
        e if e < 99.995 => format!("{us:+.2}"),
        _ => format!("{us:+.0}"),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::{Found, Reproduction, sections};
    use super::*;
    use crate::claims::epos::printed_thread;
    use jitterlab_mcu::{DelayFigures, Interruption, Strategy, ThreadFigures};
    use jitterlab_model::firmware::Size;
    use jitterlab_report::chart::Terminal;

    const WIDE: Terminal = Terminal { columns: 80, ascii: false, colour: false };

    pub(in super::super) fn thread(strategy: Strategy) -> LedThread {
        let figures = ThreadFigures {
            strategy,
            round_cycles: 163,
            rounds: 1_000,
            mean_ns: 20_525.0,
            standard_deviation_ns: 1_444.0,
            interruptions: vec![Interruption { cycles: 47, rounds: 19 }],
            event_cycles: 160,
            tick_cycles: Some(47),
        };
        LedThread { figures, printed: printed_thread(strategy), rounds_ns: vec![20_400, 26_200, 20_400] }
    }

    fn found() -> EposReproduction {
        let cost = CostFigures {
            name: "single-shot, up to 20 ms".into(),
            size: Size { flash: 1_126, ram: 22 },
            programming_cycles: Some(24),
            longest_interrupt_cycles: 200,
            interrupts_per_s: 49.5,
            interrupt_share: 0.000_94,
            asleep_share: 0.998_9,
            min_error_us: 0.0,
            max_error_us: -0.5,
        };
        let costs =
            vec![cost.clone(), CostFigures { name: "periodic".into(), programming_cycles: None, ..cost }];
        let delay = DelayFigures {
            strategy: Strategy::Periodic,
            tick_us: Some(10_000),
            asked_us: 15_000,
            delays: 128,
            shortest_us: 20_004.0,
            longest_us: 29_961.5,
            interrupts_per_delay: 3.0,
        };
        let soft = NearbyFigures {
            kind: TimerKind::Soft,
            lenient_us: Some(1_000),
            events: 1_500,
            interrupts_per_s: 1_000.0,
            interrupt_share: 0.0123,
            earliest_us: 40.5,
            median_us: 250.0,
            latest_us: 512.5,
        };
        let services = ServicesSaid {
            strategy: Strategy::Anchored,
            period_us: 100_000,
            events: 100,
            said: "Current Time: 0\r\nElapsed time: 10100069\r\n".into(),
        };
        EposReproduction {
            delays: vec![delay],
            nearby: vec![soft],
            figure_3: vec![services],
            led_thread: Strategy::ALL.map(thread).into(),
            costs,
            without_arduino: Some("no arduino".into()),
            ..EposReproduction::default()
        }
    }

    #[test]
    fn everything_is_in_the_text() {
        let text = sections(&Reproduction::new("here".into(), Found::Epos(found())))[0].text(WIDE);
        for part in [
            "128 20004 29962",
            "soft 1 ms",
            "512 µs",
            "100 events and a delay of 10100000 µs: Current Time: 0; Elapsed time: 10100069",
            "981 of 1000",
            "19 by 47",
            "31.34",
            "0.0191 or 0.1895",
            " 1126 ",
            "0.094%",
            "8.68 µs",
            "+921704",
            "To compare with Arduino: no arduino.",
            "an event takes 4 cycles",
            "about 200 cycles",
            "997 counts",
            "loses 8 to 176 counts",
            "takes 24 cycles here",
            "0.0016 % to 0.0017 %",
            "in 9 of the 18 cells",
            "come out to unknown",
        ] {
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(text.contains(part) || words.contains(part), "{part} is not in\n{text}");
        }
    }
}
