//! EPOS: table 1, figures 5 and 7 in numbers and drawn, costs, and where the paper is inconsistent.

use serde_json::{Value, json};

use crate::epos::{COLUMNS, EposReproduction, ErrorRow, ErrorSource, LedThread};
use crate::epos_faults::{self, Fault, FaultSearch};
use crate::paper::Paper::{self, Epos};
use crate::time_management::{ManagedDelays, delays_from_avr};
use jitterlab_mcu::{ServicesOutput, Strategy, ThreadFigures};

use super::{PaperFigure, Results};
use jitterlab_mcu::words::format_period;
use jitterlab_report::chart::{Chart, Layer, Shape, Stroke};
use jitterlab_report::section::Piece;
use jitterlab_report::words::plural;

impl Results for EposReproduction {
    const PAPER: Paper = Epos;

    fn pieces(&self) -> Vec<Piece> {
        let missing = self.without_arduino.as_ref();
        let missing = missing.map(|why| Piece::text(format!("To compare with Arduino: {why}.")));
        let mut pieces: Vec<Piece> = missing.into_iter().collect();
        pieces.push(Piece::details(
            "A delay of one and a half ticks",
            Epos.table("delays", delays_from_avr(&self.delays)),
        ));
        pieces.extend(Epos.table("timers", &self.nearby));
        let printed = self.figure_3.iter().map(figure_3_piece);
        pieces.push(Piece::details("Figure 3: what its program prints", printed.collect()));
        pieces.push(Piece::text(Epos.paragraph("table-1", ())));
        pieces.extend(rows_by_clock(&self.rows()).flat_map(|block| Epos.table("errors", block)));
        let faults: Vec<_> = epos_faults::search_faults().iter().flat_map(fault_rows).collect();
        pieces.extend(Epos.table("faults", faults));
        pieces.extend(Epos.table("rounds", self.led_thread.iter().map(rounds_row).collect::<Vec<_>>()));
        pieces.extend(self.led_thread.iter().map(|thread| longer_rounds_piece(&thread.figures)));
        pieces.extend(Epos.table("costs", &self.costs));
        if !self.handler_cycles.is_empty() {
            pieces.extend(Epos.table("handlers", &self.handler_cycles));
        }
        pieces
    }

    fn figures(&self) -> Vec<PaperFigure> {
        vec![("figure-5".into(), figure_5(&self.rows())), ("figure-7".into(), figure_7(&self.led_thread))]
    }
}

impl Results for ManagedDelays {
    const PAPER: Paper = Epos;

    fn is_virtual(&self) -> bool {
        true
    }

    fn pieces(&self) -> Vec<Piece> {
        Epos.table("delays", self)
    }
}

/// Paragraph with the lines that figure 3's program printed under a strategy.
fn figure_3_piece(services: &ServicesOutput) -> Piece {
    let ServicesOutput { strategy, period_us, events, said } = services;
    let asked_us = u64::from(*period_us) * (u64::from(*events) + 1);
    let said = said.lines().map(str::trim).collect::<Vec<_>>().join("; ");
    let values = json!({"strategy": strategy, "events": events, "asked_us": asked_us, "said": said});
    Piece::text(Epos.paragraph("output", values))
}

/// Table 1's rows by the timer's clock, each with all [`COLUMNS`].
fn rows_by_clock(rows: &[ErrorRow]) -> impl Iterator<Item = &[ErrorRow]> {
    rows.chunk_by(|a, b| a.timer_hz == b.timer_hz)
}

/// Rows for the fault that gives most cells of a column, and for each other cell.
fn fault_rows(column: &FaultSearch) -> Vec<Value> {
    let words = |fault: &Fault| {
        let excess = plural(fault.excess.into(), "count");
        format!("rounded {}, {excess} too many, {:+} µs", fault.rounding.0, fault.late_us)
    };
    let name = format!("{}, {:.0} Hz", column.strategy, column.timer_hz);
    let cells = format!("{} of {}", column.explained, column.explained + column.others.len());
    let mut rows = vec![json!({"column": name, "cell": cells, "fault": words(&column.common)})];
    rows.extend(column.others.iter().map(|cell| {
        let fault = cell.fault.as_ref().map_or_else(|| "unexplained".into(), words);
        json!({"column": "", "cell": format_period(cell.period_us), "counts": cell.counts, "fault": fault})
    }));
    rows
}

/// A row of the paper's figure 7 with the results measured here.
fn rounds_row(thread: &LedThread) -> Value {
    let figures = &thread.figures;
    json!({
        "figures": figures,
        "of_mean": format!("{:.2}%", figures.standard_deviation_ns / figures.mean_ns * 100.0),
        "no_event_ns": thread.sd_without_event_ns(),
        "tick": figures.tick_cycles.map(|cycles| format!("{cycles} cyc")),
        "printed": thread.printed,
    })
}

fn longer_rounds_piece(figures: &ThreadFigures) -> Piece {
    let each = figures.interruptions.iter().map(|of| format!("{} by {} cycles", of.rounds, of.cycles));
    let longer = if figures.interruptions.is_empty() {
        "none longer".into()
    } else {
        each.collect::<Vec<_>>().join(", ")
    };
    let disturbed: u64 = figures.interruptions.iter().map(|of| of.rounds).sum();
    Piece::text(Epos.paragraph(
        "rounds",
        json!({
            "strategy": figures.strategy,
            "usual": figures.rounds - disturbed,
            "rounds": figures.rounds,
            "round_cycles": figures.round_cycles,
            "longer": longer,
        }),
    ))
}

/// Smallest error drawn, in percent: an exact value lies at the foot of a logarithmic axis.
const LEAST_PERCENT: f64 = 1e-7;

fn colour_index(strategy: Strategy) -> usize {
    Strategy::ALL.iter().position(|of| *of == strategy).unwrap_or_default()
}

/// Figure 5: the size of the mean error in percent of the period, a panel for each timer clock. Lines are the paper's values, and
/// those measured with the compare register rightly programmed; points are those measured with it programmed as in the paper.
fn figure_5(rows: &[ErrorRow]) -> Vec<Chart> {
    rows_by_clock(rows).filter_map(errors_chart).collect()
}

fn errors_chart(block: &[ErrorRow]) -> Option<Chart> {
    let layer = |(column, (strategy, source)): (usize, &(Strategy, ErrorSource))| {
        let points = block.iter().filter_map(|row| {
            let period_us = f64::from(row.period_us);
            row.errors_us[column].map(|us| [period_us, (us.abs() / period_us * 100.0).max(LEAST_PERCENT)])
        });
        let points = points.collect();
        let (suffix, shape) = match source {
            ErrorSource::Printed => (", paper", Shape::Line { points, stroke: Stroke::Dashed }),
            ErrorSource::AsPaper => (", programmed as in the paper", Shape::Points(points)),
            ErrorSource::Right => ("", Shape::Line { points, stroke: Stroke::Solid }),
        };
        Layer::new(format!("{strategy}{suffix}"), colour_index(*strategy), shape)
    };
    Epos.chart("errors", block.first(), COLUMNS.iter().enumerate().map(layer).collect())
}

/// Figure 7: the period of the led thread along time, a panel for each strategy, all over one range. Rounds that the alarm's own event
/// lengthens are left out: they come under every strategy, and would hide what a tick does.
fn figure_7(threads: &[LedThread]) -> Vec<Chart> {
    let rounds = threads.iter().flat_map(LedThread::rounds_without_event).map(|ns| ns / 1e3);
    let printed = threads.iter().filter_map(|thread| thread.printed["mean_us"].as_f64());
    let range_us = rounds.chain(printed);
    let range_us = range_us.fold([f64::INFINITY, 0.0], |[low, high], us| [us.min(low), us.max(high)]);
    threads.iter().filter_map(|thread| rounds_chart(thread, range_us)).collect()
}

fn rounds_chart(thread: &LedThread, range_us: [f64; 2]) -> Option<Chart> {
    let mut begin_ns = 0;
    let mut points = Vec::new();
    for length_ns in &thread.rounds_ns {
        if !thread.contains_event(*length_ns) {
            points.push([begin_ns as f64 / 1e6, *length_ns as f64 / 1e3]);
        }
        begin_ns += length_ns;
    }
    let (strategy, left_out) = (thread.figures.strategy, thread.rounds_ns.len() - points.len());
    let mut layers =
        vec![Layer::new("round", colour_index(strategy), Shape::Line { points, stroke: Stroke::Solid })];
    let printed = thread.printed["mean_us"].as_f64();
    let printed = printed.map(|mean_us| Layer::new("mean in the paper", 4, Shape::Level(mean_us)));
    layers.extend(printed);
    let values = json!({"strategy": strategy, "left_out": plural(left_out as u64, "round")});
    let chart = Epos.chart("rounds", values, layers)?;
    Some(Chart { y: chart.y.with_values_shown(range_us), ..chart })
}

#[cfg(test)]
mod tests {
    use super::super::Reproduction;
    use super::super::tests::words;
    use super::*;
    use crate::epos::printed_figure_7;
    use crate::time_management::ManagedDelay;
    use jitterlab_mcu::{CostFigures, DelayFigures, Interruption, NearbyFigures, TimerKind};
    use jitterlab_model::firmware::FirmwareSize;
    use jitterlab_report::chart::{Drawing, Terminal};

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
        LedThread { figures, printed: printed_figure_7(strategy), rounds_ns: vec![20_400, 26_200, 20_400] }
    }

    fn found() -> EposReproduction {
        let cost = CostFigures {
            name: "single-shot, up to 20 ms".into(),
            size: FirmwareSize { flash: 1_126, ram: 22 },
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
        let services = ServicesOutput {
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
        let row = |period_us, timer_hz| ErrorRow { errors_us: errors, ..ErrorRow::new(period_us, timer_hz) };
        let rows = [row(100, 7_200.0), row(1_000, 7_200.0), row(100, 115_200.0), row(10_000_000, 115_200.0)];
        let svg = Drawing::new(&figure_5(&rows)).svg();
        for name in ["periodic, paper", "single-shot, programmed as in the paper", "anchored"] {
            assert!(svg.contains(name), "{name}");
        }
        assert!(svg.contains("Timer clock 7200 Hz") && svg.contains("Timer clock 115200 Hz"));
        assert_eq!(
            svg.matches("h0").count(),
            2 * (4 + 2),
            "in both panels points of two curves, and the legend's"
        );
        assert!(Drawing::new(&figure_5(&[ErrorRow::new(100, 7_200.0)])).svg().contains("<path"));
    }

    #[test]
    fn figure_7_has_a_panel_for_each_strategy() {
        let threads = Strategy::ALL.map(thread);
        let charts = figure_7(&threads);
        let svg = Drawing::new(&charts).svg();
        assert!(Strategy::ALL.iter().all(|s| svg.contains(s.name())));
        assert_eq!(svg.matches("time, ms").count(), 3);
        // The round of 26.2 us is longer by what a tick takes: not the event's.
        let Shape::Line { points, .. } = &charts[0].layers[0].shape else { panic!("no line") };
        assert_eq!(points[2], [0.0466, 20.4]);
    }

    #[test]
    fn every_way_has_its_row_and_what_is_not_counted_is_left_open() {
        let one = |system: &str| ManagedDelay {
            system: system.into(),
            tick_us: None,
            delays: 8,
            shortest_us: 15_001.0,
            longest_us: 15_005.0,
            interrupts: None,
        };
        let text =
            words(ManagedDelays(["Linux, highres=off nohz=off", "AVR, anchored"].map(one).into()).pieces());
        for part in ["Linux, highres=off nohz=off", "AVR, anchored", "never ends early"] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }
}
