//! What a firmware did on its chip besides its activations: interrupts, locks, stack, findings.

use jitterlab_model::firmware::{Finding, FirmwareReport, Interrupts, Part, Place};

use crate::section::{Cell, Piece};
use crate::words::{count, plural, share, time};

/// Interrupts by vector, the longest lock, the stack, and what it sent.
pub fn pieces(report: &FirmwareReport) -> Vec<Piece> {
    let ns = |cycles: u64| cycles as f64 * 1e9 / f64::from(report.clock_hz.max(1));
    let part = |cycles: u64| cycles as f64 / report.cycles.max(1) as f64;
    let mut pieces = vec![Piece::said(format!(
        "On the chip, {} of simulated time: {} asleep; {} bytes of flash and {} of RAM.",
        time(ns(report.cycles)),
        share(part(report.asleep_cycles)),
        count(u64::from(report.size.flash)),
        count(u64::from(report.size.ram)),
    ))];
    if !report.interrupts.is_empty() {
        let header = ["µs", "times", "lost", "latency", "to", "handler", "to", "time in it"];
        let row = |i: &Interrupts| {
            let [from, to, shortest, longest] =
                [i.min_latency_cycles, i.max_latency_cycles, i.min_cycles, i.max_cycles]
                    .map(|cycles| Cell::time(ns(cycles)));
            let (times, lost) = (Cell::Count(i.count), Cell::Count(i.lost));
            vec![
                Cell::from(i.vector.as_str()),
                times,
                lost,
                from,
                to,
                shortest,
                longest,
                Cell::Share(part(i.total_cycles)),
            ]
        };
        let caption = "Interrupts; latency: from the flag to the handler's first instruction; handler: from its entry to \
                       its return, both with what other interrupts take between";
        pieces.push(Piece::table(caption, &header, report.interrupts.iter().map(row)));
    }
    pieces.extend(report.off.as_ref().map(|off| {
        Piece::said(format!(
            "Interrupts were off for at most {} ({} cycles) outside of handlers, from {} to {}.",
            time(ns(off.cycles)),
            count(off.cycles),
            place(&off.from),
            place(&off.to)
        ))
    }));
    pieces.extend(report.stack.map(|stack| {
        let room = stack.room.map_or("; how much there is, the firmware does not tell".into(), |room| {
            format!(" of {} that are free", count(u64::from(room)))
        });
        Piece::said(format!("The stack took at most {} bytes{room}.", count(u64::from(stack.deepest))))
    }));
    let sent = Some(sent(&report.sent)).filter(|sent| !sent.is_empty());
    pieces.extend(sent.map(|text| Piece::Verbatim { heading: String::new(), text }));
    pieces
}

/// What a firmware sent over its serial port, each line set off; nothing where it sent nothing.
fn sent(text: &str) -> String {
    let lines: String = text.lines().map(|line| format!("  > {}\n", printable(line))).collect();
    if lines.is_empty() { lines } else { format!("sent over the serial port:\n{lines}") }
}

/// A line without what would command the terminal.
fn printable(line: &str) -> String {
    line.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// A place as people look it up.
fn place(place: &Place) -> String {
    match (&place.function, &place.line) {
        (Some(function), Some(line)) => format!("{function} ({line})"),
        (Some(function), None) => format!("{function} (address {:#x})", place.address),
        (None, Some(line)) => line.clone(),
        (None, None) => format!("address {:#x}", place.address),
    }
}

fn part_name(part: Part) -> &'static str {
    match part {
        Part::WritingFlash => "the instruction that writes flash (SPM)",
        Part::BootVectors => "interrupt vectors in the boot section (IVSEL)",
        Part::Usb => "USB",
        Part::FastTimer => "timer 4 of this chip",
        Part::ExternalMemory => "memory outside of the chip",
        Part::ClockDivision => "the division of the clock by XDIV",
        Part::Reserved => "a register that the manual calls reserved",
        Part::SecondCore => "the second core",
        Part::Pio => "programmable input and output (PIO)",
        Part::Dma => "direct memory access (DMA)",
        Part::Pwm => "pulse width modulation (PWM)",
        Part::Adc => "the converter of voltages (ADC)",
        Part::Spi => "SPI",
        Part::TwoWire => "the two-wire interface (I2C)",
        Part::RealTimeClock => "the clock of the time of day (RTC)",
        Part::Watchdog => "the watchdog's reset",
        Part::Interpolator => "an interpolator",
        Part::SerialInterrupts => "interrupts of a serial port",
    }
}

/// A finding as a sentence.
pub(crate) fn finding(finding: &Finding) -> String {
    let at = |ns: i64| time(ns as f64);
    match finding {
        Finding::NotSimulated { part, at_ns, place: p } => format!(
            "the firmware uses {}, which is not simulated (first after {}, in {}): what depends on it is not as on the chip",
            part_name(*part),
            at(*at_ns),
            place(p)
        ),
        Finding::AnalogRead { at_ns } => format!(
            "the firmware measures an analog voltage (first after {}): what is connected is not known, and it reads 0",
            at(*at_ns)
        ),
        Finding::StackOverflow { bytes, at_ns, place: p } => format!(
            "out of memory: the stack grew {} into the variables (first after {}, in {}): what happens then is chance. \
             Use less of it, or a chip with more memory",
            plural(u64::from(*bytes), "byte"),
            at(*at_ns),
            place(p)
        ),
        Finding::OutsideMemory { data: data @ ..0x20, at_ns, place: p, .. } => format!(
            "the firmware writes to address {data:#x} (first after {}, in {}), where the processor's registers are: a null pointer, as \
             malloc() gives where no memory is left",
            at(*at_ns),
            place(p)
        ),
        Finding::OutsideMemory { data, written, at_ns, place: p } => format!(
            "the firmware {} address {data:#x}, where the chip has no memory (first after {}, in {}): a wild pointer, or a stack \
             that was not set up",
            if *written { "writes to" } else { "reads from" },
            at(*at_ns),
            place(p)
        ),
        Finding::Restarted { vector: Some(vector), times, at_ns } => format!(
            "the firmware began again {} (first after {}) without a reset: the interrupt {vector} is enabled and has no handler",
            plural(*times, "time"),
            at(*at_ns)
        ),
        Finding::Restarted { vector: None, times, at_ns } => format!(
            "the firmware began again {} (first after {}) without a reset: main returned to it, or a null pointer was called",
            plural(*times, "time"),
            at(*at_ns)
        ),
        Finding::WatchdogReset { times, at_ns } => {
            format!("the watchdog reset the chip {} (first after {})", plural(*times, "time"), at(*at_ns))
        }
        Finding::StartUpAssumed { cycles } => format!(
            "after deep sleep the oscillator is taken to start within {} cycles, a crystal's longest setting: the fuses that \
             say it are not in the firmware's file",
            count(*cycles)
        ),
        Finding::FlashAssumedFast => {
            "the firmware runs from flash, and every instruction was taken to be in the cache: what is not takes longer on the \
             chip, by how much the flash decides. Code that must not wait belongs into RAM"
                .into()
        }
        Finding::ClockDiffers { hz: Some(hz) } => format!(
            "the firmware sets the processor's clock to {} MHz, and times were counted with another: say --clock {hz}Hz",
            f64::from(*hz) / 1e6
        ),
        Finding::ClockDiffers { hz: None } => {
            "the firmware leaves the processor on an oscillator whose frequency nobody knows exactly: times are those of \
             the frequency that was counted with"
                .into()
        }
        Finding::InterruptsLost { vector, lost } => format!(
            "{} of {vector} never came: interrupts were off, or handlers ran, until the next one was due",
            plural(*lost, "interrupt")
        ),
        Finding::AsleepForEver { mode, at_ns, place: p } => format!(
            "the firmware sleeps for ever since {}, in {}: what could wake it does not run in the sleep mode {mode}",
            at(*at_ns),
            place(p)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_model::firmware::{InterruptsOff, Size, StackDepth};

    fn at(function: &str, line: Option<&str>) -> Place {
        Place { address: 0x120, function: Some(function.into()), line: line.map(Into::into) }
    }

    #[test]
    fn a_report_fits_the_terminal() {
        let report = FirmwareReport {
            mcu: "atmega328p".into(),
            clock_hz: 16_000_000,
            size: Size { flash: 1_234, ram: 56 },
            cycles: 16_000_000,
            asleep_cycles: 15_000_000,
            interrupts: vec![Interrupts {
                vector: "TIMER1_COMPA".into(),
                count: 12_345,
                lost: 3,
                min_cycles: 90,
                max_cycles: 400,
                total_cycles: 1_000_000,
                min_latency_cycles: 4,
                max_latency_cycles: 131,
            }],
            off: Some(InterruptsOff {
                cycles: 127,
                at_ns: 5_000,
                from: at("work()", Some("main.cc:17")),
                to: at("work()", None),
            }),
            stack: Some(StackDepth { deepest: 40, room: Some(1_992) }),
            sent: String::new(),
        };
        insta::assert_snapshot!(crate::sample::shown_pieces(pieces(&report)), @r"
        On the chip, 1 s of simulated time: 94 % asleep; 1 234 bytes of flash and 56 of
          RAM.

        Interrupts; latency: from the flag to the handler's first instruction; handler:
          from its entry to its return, both with what other interrupts take between
          µs             times  lost  latency    to  handler    to  time in it
          TIMER1_COMPA  12 345     3     0.25  8.19     5.62  25.0       6.2 %
        Interrupts were off for at most 7.94 µs (127 cycles) outside of handlers, from
          work() (main.cc:17) to work() (address 0x120).
        The stack took at most 40 bytes of 1 992 that are free.
        ");
    }

    #[test]
    fn what_the_firmware_sent_cannot_command_the_terminal() {
        assert_eq!(sent(""), "");
        assert_eq!(sent("100\n\u{1b}[2J\n"), "sent over the serial port:\n  > 100\n  > \u{fffd}[2J\n");
    }

    #[test]
    fn what_went_wrong_is_said_in_words() {
        let overflow = Finding::StackOverflow { bytes: 12, at_ns: 1_000_000, place: at("deep", None) };
        assert!(finding(&overflow).starts_with("out of memory: the stack grew 12 bytes into the variables"));
        let bad = Finding::Restarted { vector: Some("INT0".into()), times: 2, at_ns: 5 };
        assert!(finding(&bad).contains("INT0 is enabled and has no handler"));
        let asleep =
            Finding::AsleepForEver { mode: "power-down".into(), at_ns: 9, place: at("main", Some("a.c:3")) };
        assert!(finding(&asleep).contains("main (a.c:3)") && finding(&asleep).ends_with("power-down"));
    }
}
