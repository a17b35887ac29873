//! Tables of the time services of microcontrollers.

use jitterlab_model::mcu::AlarmFigures;

use crate::section::{Piece, Section};

/// Microseconds as people write them: few digits, the sign always.
pub fn signed_us(us: f64) -> String {
    match us.abs() {
        e if e < 0.005 => "0".into(),
        e if e < 99.995 => format!("{us:+.2}"),
        _ => format!("{us:+.0}"),
    }
}

/// A period in the unit that suits it.
pub fn period(us: u32) -> String {
    match us {
        us if us.is_multiple_of(1_000_000) => format!("{} s", us / 1_000_000),
        us if us.is_multiple_of(1_000) => format!("{} ms", us / 1_000),
        us => format!("{us} µs"),
    }
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

/// A number with few digits.
pub fn number(value: f64) -> String {
    if value < 9.995 { format!("{value:.2}") } else { format!("{value:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Terminal;
    use jitterlab_model::firmware::Size;
    use jitterlab_model::mcu::Strategy;

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
}
