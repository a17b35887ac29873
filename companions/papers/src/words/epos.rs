//! EPOS: table 1, figures 5 and 7 in numbers and drawn, costs, and where the paper is inconsistent.

use crate::epos::{COLUMNS, EposReproduction, LedThread, PrintedThread, Row, Source};
use crate::epos_faults::{self, Fault, Rounding};
use crate::paper::Paper;
use crate::time_management::{Managed, ManagedDelay, ManagedDelays, from_avr};
use jitterlab_mcu::{CostFigures, NearbyFigures, ServicesSaid, Strategy, TimerKind};

use super::{PaperFigure, Results};
use jitterlab_mcu::words::{number, period};
use jitterlab_report::chart::{Axis, Chart, Layer, Shape, Stroke};
use jitterlab_report::section::{Cell, Piece};
use jitterlab_report::words::{count, exact, plural};

impl Results for EposReproduction {
    const PAPER: Paper = Paper::Epos;
    const NAME: &'static str = "epos";

    fn pieces(&self) -> Vec<Piece> {
        let missing = self.without_arduino.as_ref();
        let missing = missing.map(|why| Piece::text(format!("To compare with Arduino: {why}.")));
        let delays = delays(&from_avr(&self.delays));
        let mut pieces: Vec<Piece> = missing.into_iter().collect();
        pieces.push(Piece::details("A delay of one and a half ticks", delays));
        pieces.push(nearby(&self.nearby));
        let printed = self.figure_3.iter().map(output_lines).map(Piece::text);
        pieces.push(Piece::details("Figure 3: what its program prints", printed.collect()));
        pieces.push(Piece::text(words("table-1")));
        pieces.extend(blocks(&self.rows()).map(errors));
        pieces.push(faults());
        pieces.extend(rounds(&self.led_thread));
        pieces.push(costs(&self.costs));
        let handlers = ["function", "thread", "semaphore"].into_iter().zip(&self.handler_cycles);
        let rows = handlers.map(|(kind, cycles)| vec![kind.to_owned(), cycles.to_string()]);
        pieces.push(Piece::table(words("handlers"), &["", "cycles"], rows));
        pieces
    }

    /// Figures 5 and 7.
    fn figures(&self) -> Vec<PaperFigure> {
        vec![("figure-5".into(), figure_5(&self.rows())), ("figure-7".into(), figure_7(&self.led_thread))]
    }
}

fn words(name: &str) -> String {
    Paper::Epos.words(name)
}

/// A table that is folded away, with its title and note in the paper's data.
fn folded<const N: usize>(name: &str, header: [&str; N], rows: impl IntoIterator<Item = [Cell; N]>) -> Piece {
    let table = Piece::table("", &header, rows.into_iter().map(Vec::from));
    Piece::details(words(name), vec![table, Piece::text(words(&format!("{name}-note")))])
}

impl Results for ManagedDelays {
    const PAPER: Paper = Paper::Epos;
    const NAME: &'static str = "epos-virtual";

    fn pieces(&self) -> Vec<Piece> {
        delays(&self.0)
    }
}

/// Delays under each way to manage time, and the basis of the table.
fn delays(all: &[ManagedDelay]) -> Vec<Piece> {
    let header = ["in µs", "tick", "delays", "shortest", "longest", "interrupts"];
    let basis = Piece::text(words("delays"));
    vec![Piece::table("A delay of 15 ms", &header, all.iter().map(delay_row)), basis]
}

fn delay_row(of: &ManagedDelay) -> Vec<Cell> {
    let us = |us: f64| Cell::time(us * 1e3);
    vec![
        Cell::Text(managed_by(of.system)),
        Cell::new(of.tick_us, us),
        Cell::Count(of.delays),
        us(of.shortest_us),
        us(of.longest_us),
        Cell::new(of.interrupts, |number| Cell::Text(format!("{number:.1}"))),
    ]
}

fn managed_by(system: Managed) -> String {
    match system {
        Managed::Avr { strategy } => format!("AVR, {strategy}"),
        Managed::Linux { high_resolution, tickless } => {
            let switch = |on: bool| if on { "on" } else { "off" };
            format!("Linux, highres={} nohz={}", switch(high_resolution), switch(tickless))
        }
    }
}

/// The timers of the related work.
fn nearby(figures: &[NearbyFigures]) -> Piece {
    let header = ["late, in µs", "lenient", "interrupts/s", "of the time", "least", "median", "most"];
    let us = |us: f64| Cell::time(us * 1e3);
    let row = |of: &NearbyFigures| {
        [
            kind(of.kind).into(),
            Cell::new(of.lenient_us, |us| Cell::Text(exact(i64::from(us) * 1_000))),
            Cell::Count(of.interrupts_per_s.round() as u64),
            Cell::Share(of.interrupt_share),
            us(of.earliest_us),
            us(of.median_us),
            us(of.latest_us),
        ]
    };
    folded("timers", header, figures.iter().map(row))
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

/// The lines of the program under a strategy.
fn output_lines(services: &ServicesSaid) -> String {
    let ServicesSaid { strategy, period_us, events, said } = services;
    let asked = u64::from(*period_us) * (u64::from(*events) + 1);
    let lines = said.lines().map(str::trim).collect::<Vec<_>>().join("; ");
    format!("{strategy}, {events} events and a delay of {asked} µs: {lines}")
}

/// Table 1's rows by the timer's clock.
fn blocks(rows: &[Row]) -> impl Iterator<Item = &[Row]> {
    rows.chunk_by(|a, b| a.timer_hz == b.timer_hz)
}

/// A block of table 1: mean errors, periodic as printed, as the paper programmed it, rightly programmed; single shot the same
/// three; anchored.
fn errors(block: &[Row]) -> Piece {
    let header = ["period", "tick: paper", "alike", "right", "shot: paper", "alike", "right", "anchored"];
    let hz = block.first().map_or(0.0, |row| row.timer_hz);
    let title = format!("timer clock {hz:.0} Hz: mean error in µs (one count is {:.2} µs)", 1e6 / hz);
    let row = |row: &Row| {
        let errors = row.errors_us.iter().map(|error| Cell::new(*error, |us| signed_us(us).into()));
        std::iter::once(Cell::Text(period(row.period_us))).chain(errors).collect()
    };
    Piece::table(title, &header, block.iter().map(row))
}

/// Faults that would give the paper's cells, and the cells that none gives.
fn faults() -> Piece {
    let one = |fault: &Fault| {
        let rounding = match fault.rounding {
            Rounding::Nearest => "to the nearest count",
            Rounding::Down => "down",
            Rounding::Up => "up",
        };
        let excess = plural(fault.excess.into(), "count");
        Cell::Text(format!("rounded {rounding}, {excess} too many, {:+} µs", fault.late_us))
    };
    let rows = epos_faults::search().into_iter().flat_map(|column| {
        let name = format!("{}, {:.0} Hz", column.strategy, column.timer_hz);
        let cells = format!("{} of {}", column.given, column.given + column.others.len());
        let others = column.others.iter().map(|cell| {
            let fault = cell.fault.as_ref().map_or_else(|| "unexplained".into(), one);
            ["".into(), period(cell.period_us).into(), format!("{:.2}", cell.counts).into(), fault]
        });
        let first = [name.into(), cells.into(), Cell::Nothing, one(&column.of_all)];
        std::iter::once(first).chain(others).collect::<Vec<_>>()
    });
    folded("faults", ["column", "cell", "printed, in counts", "fault"], rows)
}

/// Costs of one event every 20 ms, a time service in each line.
fn costs(figures: &[CostFigures]) -> Piece {
    let header = ["", "flash", "RAM", "program", "irq/s", "in irq", "asleep", "min err", "max err"];
    let row = |c: &CostFigures| {
        [
            c.name.as_str().into(),
            c.size.flash.to_string().into(),
            c.size.ram.to_string().into(),
            Cell::new(c.programming_cycles, |cycles| cycles.to_string().into()),
            number(c.interrupts_per_s).into(),
            format!("{:.3}%", c.interrupt_share * 100.0).into(),
            format!("{:.1}%", c.asleep_share * 100.0).into(),
            signed_us(c.min_error_us).into(),
            signed_us(c.max_error_us).into(),
        ]
    };
    folded("costs", header, figures.iter().map(row))
}

/// The paper's figure 7 with the results measured here.
fn rounds(threads: &[LedThread]) -> Vec<Piece> {
    let header =
        ["in µs", "mean", "std dev", "of mean", "no event", "a tick", "an event", "paper", "std dev"];
    let us = |ns: f64| Cell::Text(format!("{:.3}", ns / 1e3));
    let row = |thread: &LedThread| {
        let LedThread { figures: t, printed, .. } = thread;
        vec![
            t.strategy.to_string().into(),
            us(t.mean_ns),
            us(t.standard_deviation_ns),
            format!("{:.2}%", t.standard_deviation_ns / t.mean_ns * 100.0).into(),
            Cell::new(thread.sd_without_the_event_ns(), us),
            Cell::new(t.tick_cycles, |cycles| format!("{cycles} cyc").into()),
            format!("{} cyc", t.event_cycles).into(),
            Cell::new(*printed, |of| of.mean_us.to_string().into()),
            Cell::new(*printed, |of| two_readings(of).into()),
        ]
    };
    let title = format!(
        "Figure 7: the led thread's period, {} rounds at 8 MHz, tick 1 ms, alarm 20 ms",
        count(threads.first().map_or(0, |thread| thread.figures.rounds))
    );
    let mut pieces =
        vec![Piece::table(title, &header, threads.iter().map(row)), Piece::text(words("no-event"))];
    pieces.extend(threads.iter().map(|LedThread { figures: t, .. }| {
        let disturbed: u64 = t.interruptions.iter().map(|i| i.rounds).sum();
        let by = t.interruptions.iter().map(|i| format!("{} by {} cycles", i.rounds, i.cycles));
        let by =
            if t.interruptions.is_empty() { "none longer".into() } else { by.collect::<Vec<_>>().join(", ") };
        let usual = t.rounds - disturbed;
        Piece::text(format!(
            "{}: {usual} of {} rounds take exactly {} cycles; longer: {by}",
            t.strategy, t.rounds, t.round_cycles
        ))
    }));
    pieces
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

/// Smallest error drawn, in percent: an exact value lies at the foot of a logarithmic axis.
const LEAST_PERCENT: f64 = 1e-7;

/// The strategy's colour in figures 5 and 7.
fn colour(strategy: Strategy) -> usize {
    Strategy::ALL.iter().position(|of| *of == strategy).unwrap_or_default()
}

/// Figure 5: the size of the mean error in percent of the period, a panel for each timer clock. Lines are the paper's values, and
/// those measured with the compare register rightly programmed; points are those measured with it programmed as in the paper.
fn figure_5(rows: &[Row]) -> Vec<Chart> {
    blocks(rows).map(errors_along_periods).collect()
}

fn errors_along_periods(block: &[Row]) -> Chart {
    let clock = block.first().map_or(0.0, |row| row.timer_hz);
    let layer = |(column, (strategy, source)): (usize, &(Strategy, Source))| {
        let points = block.iter().filter_map(|row| {
            let period_us = f64::from(row.period_us);
            row.errors_us[column].map(|us| [period_us, (us.abs() / period_us * 100.0).max(LEAST_PERCENT)])
        });
        let points = points.collect();
        let (suffix, shape) = match source {
            Source::Printed => (", paper", Shape::Line { points, stroke: Stroke::Dashed }),
            Source::AsPaper => (", programmed as in the paper", Shape::Points(points)),
            Source::Right => ("", Shape::Line { points, stroke: Stroke::Solid }),
        };
        Layer::new(format!("{strategy}{suffix}"), colour(*strategy), shape)
    };
    Chart {
        name: "epos-5".into(),
        caption: format!("Timer clock {clock:.0} Hz: {}", words("figure-5")),
        x: Axis::log("period, µs"),
        y: Axis::log("error, %"),
        layers: COLUMNS.iter().enumerate().map(layer).collect(),
        height: 460,
    }
}

/// Figure 7: the period of the led thread along time, a panel for each strategy, all over one range. Rounds that the alarm's own event
/// lengthens are left out: they come under every strategy, and would hide what a tick does.
fn figure_7(threads: &[LedThread]) -> Vec<Chart> {
    let rounds = threads.iter().flat_map(LedThread::without_the_event).map(|ns| ns / 1e3);
    let printed = threads.iter().filter_map(|thread| thread.printed).map(|of| of.mean_us);
    let range_us = rounds.chain(printed);
    let range_us = range_us.fold([f64::INFINITY, 0.0], |[low, high], us| [us.min(low), us.max(high)]);
    threads.iter().map(|thread| period_along_time(thread, range_us)).collect()
}

fn period_along_time(thread: &LedThread, range_us: [f64; 2]) -> Chart {
    let mut begin_ns = 0;
    let mut points = Vec::new();
    for length_ns in &thread.rounds_ns {
        if !thread.has_the_event(*length_ns) {
            points.push([begin_ns as f64 / 1e6, *length_ns as f64 / 1e3]);
        }
        begin_ns += length_ns;
    }
    let (strategy, left_out) = (thread.figures.strategy, thread.rounds_ns.len() - points.len());
    let mut layers =
        vec![Layer::new("round", colour(strategy), Shape::Line { points, stroke: Stroke::Solid })];
    let printed = thread.printed.map(|of| Layer::new("mean in the paper", 4, Shape::Level(of.mean_us)));
    layers.extend(printed);
    Chart {
        name: "epos-7".into(),
        caption: format!(
            "Period of the led thread, timer {strategy}. Left out: {} with the alarm's own event.",
            plural(left_out as u64, "round")
        ),
        x: Axis::linear("time, ms"),
        y: Axis::linear("period, µs").holding(range_us),
        layers,
        height: 240,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Reproduction;
    use super::super::tests::words;
    use super::*;
    use crate::epos::printed_thread;
    use jitterlab_mcu::{DelayFigures, Interruption, ThreadFigures};
    use jitterlab_model::firmware::Size;
    use jitterlab_report::chart::Terminal;
    use jitterlab_report::figure::svg;

    fn thread(strategy: Strategy) -> LedThread {
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
        let found = found();
        let reproduction = Reproduction::new("here".as_ref(), &found, found.evidence()).unwrap();
        let wide = Terminal { columns: 80, ascii: false, colour: false };
        let shown = reproduction.section.text(wide).split_whitespace().collect::<Vec<_>>().join(" ");
        let text = words(&reproduction.section.pieces) + &shown;
        for part in [
            "128 20004 29962",
            "soft 1 ms",
            "40.5 250 512",
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
            "in 9 of 14",
            "come out to unknown",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
    }

    #[test]
    fn every_curve_of_figure_5_is_drawn_and_named() {
        let errors =
            [Some(173.0), Some(173.6), Some(0.0), Some(921_704.0), Some(8_681.0), Some(0.1), Some(-0.9)];
        let row = |period_us, timer_hz| Row { period_us, timer_hz, errors_us: errors };
        let rows = [row(100, 7_200.0), row(1_000, 7_200.0), row(100, 115_200.0), row(10_000_000, 115_200.0)];
        let svg = svg(&figure_5(&rows)).unwrap();
        for name in ["periodic, paper", "single-shot, programmed as in the paper", "anchored"] {
            assert!(svg.contains(name), "{name}");
        }
        assert!(svg.contains("Timer clock 7200 Hz") && svg.contains("Timer clock 115200 Hz"));
        assert_eq!(
            svg.matches("<circle").count(),
            2 * (4 + 2),
            "in both panels points of two curves, and the legend's"
        );
        let empty = Row { period_us: 100, timer_hz: 7_200.0, errors_us: [None; 7] };
        assert!(jitterlab_report::figure::svg(&figure_5(&[empty])).is_ok());
    }

    #[test]
    fn figure_7_has_a_panel_for_each_strategy() {
        let threads = Strategy::ALL.map(thread);
        let charts = figure_7(&threads);
        let svg = svg(&charts).unwrap();
        assert!(Strategy::ALL.iter().all(|s| svg.contains(s.name())));
        assert_eq!(svg.matches("time, ms").count(), 3);
        // The round of 26.2 us is longer by what a tick takes: not the event's.
        let Shape::Line { points, .. } = &charts[0].layers[0].shape else { panic!("no line") };
        assert_eq!(points[2], [0.0466, 20.4]);
    }

    #[test]
    fn every_way_has_its_row_and_what_is_not_counted_is_left_open() {
        let one = |system| ManagedDelay {
            system,
            tick_us: None,
            delays: 8,
            shortest_us: 15_001.0,
            longest_us: 15_005.0,
            interrupts: None,
        };
        let linux = |(high_resolution, tickless)| one(Managed::Linux { high_resolution, tickless });
        let text = words(delays(&[(false, false), (true, true)].map(linux)));
        for part in ["Linux, highres=off nohz=off", "Linux, highres=on nohz=on", "never ends early"] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }
}
