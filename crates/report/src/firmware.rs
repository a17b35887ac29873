//! Behaviour of a firmware on its chip apart from activations: interrupts, locks, stack, findings.

use jitterlab_analysis::Summary;
use jitterlab_model::firmware::{CodeLocation, FirmwareFinding, FirmwareReport, PinReport, VectorInterrupts};
use jitterlab_model::units::Exact;
use jitterlab_model::{EdgeKind, Fitness, RunInfo, TaskResult, Warning};
use serde_json::from_value;

use crate::conclusion::Conclusion;
use crate::dictionary::{display_text, event_fields, event_name, sentence};
use crate::section::{Cell, Piece};
use crate::words::{count, list, list_some, plural, share, time};

/// Interrupts by vector, the longest lock, the stack, and the serial output.
pub fn firmware_pieces(report: &FirmwareReport) -> Vec<Piece> {
    let ns = |cycles: u64| cycles as f64 * 1e9 / f64::from(report.clock_hz.max(1));
    let part = |cycles: u64| cycles as f64 / report.cycles.max(1) as f64;
    let mut pieces = vec![Piece::text(format!(
        "On the chip, {} of simulated time: {} asleep; {} bytes of flash and {} of RAM.",
        time(ns(report.cycles)),
        share(part(report.asleep_cycles)),
        count(u64::from(report.size.flash)),
        count(u64::from(report.size.ram)),
    ))];
    if !report.interrupts.is_empty() {
        let header = ["µs", "times", "lost", "latency", "to", "handler", "to", "time in it"];
        let row = |i: &VectorInterrupts| {
            let [from, to, shortest, longest] =
                [i.min_latency_cycles, i.max_latency_cycles, i.min_cycles, i.max_cycles]
                    .map(|cycles| Cell::time(ns(cycles)));
            // Of handlers that end in another thread nothing is known.
            let known = |cell: Cell| if i.switched == 0 { cell } else { Cell::Nothing };
            let (times, lost) = (Cell::Count(i.count), Cell::Count(i.lost));
            vec![
                Cell::from(i.vector.as_str()),
                times,
                lost,
                from,
                to,
                known(shortest),
                known(longest),
                known(Cell::Share(part(i.total_cycles))),
            ]
        };
        let caption = "Interrupts; latency: from the flag to the handler's first instruction; handler: from its entry to \
                       its return, both with what other interrupts take between";
        pieces.push(Piece::table(caption, &header, report.interrupts.iter().map(row)));
    }
    pieces.extend(report.off.as_ref().map(|off| {
        Piece::text(format!(
            "Interrupts were off for at most {} ({} cycles) outside of handlers, from {} to {}.",
            time(ns(off.cycles)),
            count(off.cycles),
            location_text(&off.from),
            location_text(&off.to)
        ))
    }));
    pieces.extend(report.stack.map(|stack| {
        let room = stack.room.map_or("; how much there is, the firmware does not tell".into(), |room| {
            format!(" of {} that are free", count(u64::from(room)))
        });
        Piece::text(format!("The stack took at most {} bytes{room}.", count(u64::from(stack.deepest))))
    }));
    let sent = Some(serial_output(&report.sent)).filter(|sent| !sent.is_empty());
    pieces.extend(sent.map(|text| Piece::Verbatim { heading: String::new(), text }));
    pieces
}

/// The conclusion of a firmware without requirements: its period, its regularity, and its disturbances.
pub(crate) fn firmware_conclusion<'a>(
    run: &RunInfo,
    summaries: impl Iterator<Item = &'a Summary>,
) -> Option<Conclusion> {
    let report = run.firmware.as_ref()?;
    let tasks = run.tasks.iter().zip(summaries);
    let of_pins = tasks.filter_map(|(task, of)| {
        Some((task, of, report.pins.iter().find(|pin| pin.task == task.spec.name)?))
    });
    let of_pins: Vec<_> = of_pins.collect();
    let (task, summary, pin) =
        *of_pins.iter().max_by_key(|(_, of, _)| (of.missed.at_least(), largest_period_error_ns(of)))?;
    let result = task.result.as_ref()?;
    let ns = |cycles: u64| cycles as f64 * 1e9 / f64::from(report.clock_hz.max(1));
    let name = pin.on_board.as_ref().map_or(pin.pin.clone(), |on_board| format!("{} ({on_board})", pin.pin));
    let does = match pin.edge {
        EdgeKind::Rising => "rises",
        EdgeKind::Falling => "falls",
        EdgeKind::Both => "changes",
    };
    let (over, under) = pin.period_cycles;
    // The oscillator that times it is right to a tenth only.
    let about =
        if pin.made_by.as_deref() == Some("WDT") { " ± 10 % (the watchdog's oscillator)" } else { "" };
    let every = format!("{does} every {}{about}", period_text(ns(over) / under.max(1) as f64));
    let among =
        if of_pins.len() > 1 { format!(", the worst of {} pins,", of_pins.len()) } else { String::new() };
    let jitter = time(largest_period_error_ns(summary) as f64);
    let due = result.executed + result.missed;
    let end_ns = run.duration_ns.unwrap_or_default();
    let longest_ns = task.spec.period_ns + summary.period_error.max_ns.unwrap_or_default().max(0);
    let is_silent = result.missed > 0 && end_ns - result.last_end_ns > 2 * longest_ns;
    let not_simulated = run.warnings.iter().find_map(|warning| match warning {
        Warning::Firmware(FirmwareFinding::NotSimulated { part, .. }) => Some(display_text("part", part)),
        _ => None,
    });
    let (fitness, verdict) = if is_silent {
        let since = time(result.last_end_ns as f64);
        let missed = format!("{} of {} due times are missed", count(result.missed), count(due));
        (Fitness::Unfit, format!("SILENT since {since}: {name}{among} {every} until then; {missed}."))
    } else if let Some(part) = not_simulated {
        let rest = format!("without it {name}{among} {every}, jitter {jitter}");
        (
            Fitness::CannotTell,
            format!("CANNOT TELL: the firmware uses {part}, which is not simulated; {rest}."),
        )
    } else {
        let missed = format!("{} of {} missed", count(result.missed), count(due));
        (Fitness::CannotTell, format!("JITTER {jitter} at worst: {name}{among} {every}, {missed}."))
    };
    let number = [
        disturbance_sentence(pin, &ns),
        grid_drift_sentence(pin, result),
        pulse_sentence(pin, &ns),
        processor_sentence(report),
    ];
    Some(Conclusion {
        fitness,
        asked: false,
        verdict,
        number: number.into_iter().filter(|said| !said.is_empty()).collect::<Vec<_>>().join(" "),
        next: match is_silent {
            true => "jitterlab mcu run again with --details (interrupts, locks and sleep until then)".into(),
            false => {
                let meant =
                    nearby_usual_period_ns(ns(over) / under.max(1) as f64).filter(|_| pin.drift_ns.is_none());
                match meant {
                    Some(meant_ns) => format!(
                        "jitterlab mcu run again with --period {}, if that is meant (every start against that grid)",
                        Exact(meant_ns)
                    ),
                    None if !pin.disturbed.is_empty() => {
                        "jitterlab mcu recommend (how a timer drives a pin, which nothing disturbs)".into()
                    }
                    None => {
                        let bound = Exact(round_up_to_microseconds(largest_period_error_ns(summary)));
                        format!(
                            "jitterlab mcu run again with --max-jitter {bound} (exit status 1 where it is more)"
                        )
                    }
                }
            }
        },
    })
}

/// Sentence on what makes a firmware's pin late: its own period, else the worst disturbance. `None` without pins.
pub(crate) fn main_disturbance_sentence(run: &RunInfo) -> Option<String> {
    let report = run.firmware.as_ref()?;
    let pin = report.pins.iter().max_by_key(|pin| pin.disturbed.first().map(|by| by.worst_cycles))?;
    let ns = |cycles: u64| cycles as f64 * 1e9 / f64::from(report.clock_hz.max(1));
    let asked_ns = run.task(&pin.task)?.spec.period_ns as f64;
    let own_ns = ns(pin.period_cycles.0) / pin.period_cycles.1.max(1) as f64;
    let worst_ns = pin.disturbed.first().map_or(0.0, |by| ns(by.worst_cycles));
    let is_other = (own_ns - asked_ns).abs() > worst_ns.max(asked_ns / 1e3);
    Some(match is_other {
        true => format!("Its own period is {}, not {}.", period_text(own_ns), period_text(asked_ns)),
        false => disturbance_sentence(pin, &ns),
    })
}

/// The largest error of a period, too long or too short.
fn largest_period_error_ns(summary: &Summary) -> i64 {
    let error = &summary.period_error;
    error.max_ns.unwrap_or_default().max(-error.min_ns.unwrap_or_default())
}

/// The next whole microsecond above, as a bound that holds.
fn round_up_to_microseconds(ns: i64) -> i64 {
    (ns / 1_000 + 1) * 1_000
}

/// A period with as many digits as it has.
fn period_text(ns: f64) -> String {
    let (unit, per) = match ns {
        ns if ns >= 1e9 => ("s", 1e9),
        ns if ns >= 1e6 => ("ms", 1e6),
        ns if ns >= 1e3 => ("µs", 1e3),
        _ => ("ns", 1.0),
    };
    let digits = format!("{:.6}", ns / per);
    format!("{} {unit}", digits.trim_end_matches('0').trim_end_matches('.'))
}

/// Names the largest source of late starts.
fn disturbance_sentence(pin: &PinReport, ns: &impl Fn(u64) -> f64) -> String {
    let Some(first) = pin.disturbed.first() else {
        return match pin.late {
            0 => "Nothing disturbs it.".into(),
            late => format!(
                "{}: no interrupt explains them, the program itself does it.",
                plural(late, "late start")
            ),
        };
    };
    let what = first.vector.clone().unwrap_or_else(|| "A stretch with interrupts off".into());
    let at = match (&first.vector, &first.place.line) {
        (_, Some(line)) => format!(" ({line})"),
        (Some(_), None) => format!(" (address {:#x})", first.place.address),
        (None, None) => format!(" (from {})", location_text(&first.place)),
    };
    let worst = time(ns(first.worst_cycles));
    let name = |vector: &Option<String>| vector.clone().unwrap_or_else(|| "interrupts off".into());
    let others =
        pin.disturbed.iter().skip(1).map(|of| format!("{} by {}", count(of.starts), name(&of.vector)));
    let own = (pin.unexplained > 0).then(|| format!("{} by the program itself", count(pin.unexplained)));
    let others: Vec<String> = others.chain(own).collect();
    let others =
        if others.is_empty() { String::new() } else { format!("; the others: {}", list_some(&others)) };
    // The source file of the Arduino core in which the handler is.
    let is_millis = first.place.line.as_ref().is_some_and(|line| line.starts_with("wiring.c:"));
    let millis = if is_millis { ", the tick of Arduino's millis()," } else { "" };
    format!(
        "{what}{at}{millis} disturbs it most: {} of {}, by up to {worst}{others}.",
        count(first.starts),
        plural(pin.late, "late start")
    )
}

/// The usual period that a measured one is near to; `None` if it is equal to it or far from all.
fn nearby_usual_period_ns(own_ns: f64) -> Option<i64> {
    const USUAL: [f64; 8] = [1.0, 1.25, 2.0, 2.5, 4.0, 5.0, 8.0, 10.0];
    const NEAR: std::ops::Range<f64> = 5e-4..0.05;
    let decade = 10f64.powf(own_ns.log10().floor());
    let off = |usual: f64| (own_ns / usual - 1.0).abs();
    let near = USUAL.map(|usual| usual * decade).into_iter().min_by(|a, b| off(*a).total_cmp(&off(*b)))?;
    NEAR.contains(&off(near)).then(|| near.round() as i64)
}

/// Deviation of the last start from a requested grid; empty without one.
fn grid_drift_sentence(pin: &PinReport, result: &TaskResult) -> String {
    let length_ns = (result.last_end_ns - result.first_due_ns).max(1) as f64;
    match pin.drift_ns {
        None => String::new(),
        Some(0) => "It does not drift.".into(),
        Some(ns) => {
            let way = if ns > 0 { "late" } else { "early" };
            let millionths = ns.unsigned_abs() as f64 / length_ns * 1e6;
            format!("Its last start is {} {way}: {millionths:.1} ppm.", time(ns.unsigned_abs() as f64))
        }
    }
}

/// Describes the duration of the pin's pulses.
fn pulse_sentence(pin: &PinReport, ns: &impl Fn(u64) -> f64) -> String {
    /// The shortest step pulses that drivers of stepper motors take, in ns: data sheets of Allegro and Texas Instruments.
    const DRIVERS: [(&str, f64); 2] = [("an A4988", 1_000.0), ("a DRV8825", 1_900.0)];
    let Some((shortest, longest)) = pin.pulse_cycles else { return String::new() };
    let (over, under) = pin.period_cycles;
    let is_short = shortest * 10 * under.max(1) < over;
    let narrow = DRIVERS.iter().find(|(_, takes)| is_short && ns(shortest) < *takes);
    let narrow = narrow
        .map_or(String::new(), |(driver, takes)| format!(", shorter than {driver} takes ({})", time(*takes)));
    let jitter = longest - shortest;
    let up_to = if jitter == 0 { String::new() } else { format!(" or up to {} more", time(ns(jitter))) };
    format!("Pulses of {}{up_to}{narrow}.", period_text(ns(shortest)))
}

/// The part of the processor that handlers take, and lost interrupts.
fn processor_sentence(report: &FirmwareReport) -> String {
    let Some(most) = report.interrupts.iter().max_by_key(|of| of.total_cycles) else { return String::new() };
    if let Some(unknown) = report.interrupts.iter().find(|of| of.switched > 0) {
        return format!(
            "How much of the processor {} takes is not known: it changes threads.",
            unknown.vector
        );
    }
    let part = |cycles: u64| share(cycles as f64 / report.cycles.max(1) as f64);
    let lost: Vec<String> = report
        .interrupts
        .iter()
        .filter(|of| of.lost > 0)
        .map(|of| format!("{} of {}", count(of.lost), of.vector))
        .collect();
    let lost = if lost.is_empty() { "none lost".into() } else { format!("lost: {}", list(&lost)) };
    match report.interrupts.len() {
        1 => format!("{} takes {} of the processor, {lost}.", most.vector, part(most.total_cycles)),
        _ => {
            let all: u64 = report.interrupts.iter().map(|of| of.total_cycles).sum();
            let (all, most_of) = (part(all), part(most.total_cycles));
            format!("Interrupts take {all} of the processor ({} {most_of}), {lost}.", most.vector)
        }
    }
}

/// Output of a firmware on its serial port, each line set off; empty if it sent nothing.
fn serial_output(text: &str) -> String {
    let mut rows: Vec<(String, u64)> = Vec::new();
    // The last line may have been cut before its line feed.
    for line in text.trim_end_matches('\r').lines().map(replace_controls) {
        match rows.last_mut() {
            Some((last, times)) if *last == line => *times += 1,
            _ => rows.push((line, 1)),
        }
    }
    let times = |times: u64| if times > 1 { format!("  ({} times)", count(times)) } else { String::new() };
    let lines: String = rows.iter().map(|(line, of)| format!("  > {line}{}\n", times(*of))).collect();
    if lines.is_empty() { lines } else { format!("sent over the serial port:\n{lines}") }
}

/// A line without characters that control the terminal.
fn replace_controls(line: &str) -> String {
    line.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// Function and line of a code location, or its address.
fn location_text(place: &CodeLocation) -> String {
    match (&place.function, &place.line) {
        (Some(function), Some(line)) => format!("{function} ({line})"),
        (Some(function), None) => format!("{function} (address {:#x})", place.address),
        (None, Some(line)) => line.clone(),
        (None, None) => format!("address {:#x}", place.address),
    }
}

pub(crate) fn finding_sentence(finding: &FirmwareFinding) -> String {
    let mut quantities = event_fields(finding);
    if let Some(at) = quantities.get_mut("place")
        && let Ok(found) = from_value(at.clone())
    {
        *at = location_text(&found).into();
    }
    let name = match finding {
        FirmwareFinding::OutsideMemory { data: ..0x20, .. } => "null-pointer",
        FirmwareFinding::Restarted { vector: None, .. } => "restarted-by-itself",
        FirmwareFinding::ClockDiffers { hz: None } => "clock-unknown",
        FirmwareFinding::InterruptsLost { by: Some(_), place: Some(_), .. } => "interrupts-lost-to-handler",
        FirmwareFinding::InterruptsLost { place: Some(_), .. } => "interrupts-lost-while-off",
        _ => event_name(&quantities, "found"),
    };
    sentence("finding", name, &quantities)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_model::firmware::{FirmwareSize, InterruptsOff, StackDepth};

    fn at(function: &str, line: Option<&str>) -> CodeLocation {
        CodeLocation { address: 0x120, function: Some(function.into()), line: line.map(Into::into) }
    }

    #[test]
    fn a_report_fits_the_terminal() {
        let report = FirmwareReport {
            mcu: "atmega328p".into(),
            clock_hz: 16_000_000,
            size: FirmwareSize { flash: 1_234, ram: 56 },
            cycles: 16_000_000,
            asleep_cycles: 15_000_000,
            interrupts: vec![VectorInterrupts {
                vector: "TIMER1_COMPA".into(),
                count: 12_345,
                lost: 3,
                min_cycles: 90,
                max_cycles: 400,
                total_cycles: 1_000_000,
                min_latency_cycles: 4,
                max_latency_cycles: 131,
                switched: 0,
            }],
            off: Some(InterruptsOff {
                cycles: 127,
                at_ns: 5_000,
                from: at("work()", Some("main.cc:17")),
                to: at("work()", None),
            }),
            stack: Some(StackDepth { deepest: 40, room: Some(1_992) }),
            pins: Vec::new(),
            sent: String::new(),
        };
        insta::assert_snapshot!(crate::test_data::shown_pieces(firmware_pieces(&report)), @r"
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
        assert_eq!(serial_output(""), "");
        assert_eq!(
            serial_output("100\n\u{1b}[2J\n"),
            "sent over the serial port:\n  > 100\n  > \u{fffd}[2J\n"
        );
        assert_eq!(
            serial_output("0\r\n0\r\n7\r\n0\r"),
            "sent over the serial port:\n  > 0  (2 times)\n  > 7\n  > 0\n"
        );
    }

    #[test]
    fn a_period_beside_a_usual_one_is_asked_about() {
        let meant = [19_717_381.0, 20_027_218.0, 20_000_000.0, 9_990_000.0, 31_000_000.0, 980_000.0]
            .map(nearby_usual_period_ns);
        let (ms20, ms10, ms1) = (Some(20_000_000), Some(10_000_000), Some(1_000_000));
        assert_eq!(meant, [ms20, ms20, None, ms10, None, ms1]);
    }

    #[test]
    fn what_went_wrong_is_said_in_words() {
        let overflow =
            FirmwareFinding::StackOverflow { bytes: 12, at_ns: 1_000_000, place: at("deep", None) };
        assert!(
            finding_sentence(&overflow)
                .starts_with("out of memory: the stack grew 12 bytes into the variables")
        );
        let bad = FirmwareFinding::Restarted { vector: Some("INT0".into()), times: 2, at_ns: 5 };
        assert!(finding_sentence(&bad).contains("INT0 is enabled and has no handler"));
        let asleep = FirmwareFinding::AsleepForEver {
            mode: "power-down".into(),
            at_ns: 9,
            place: at("main", Some("a.c:3")),
        };
        assert!(
            finding_sentence(&asleep).contains("main (a.c:3)")
                && finding_sentence(&asleep).ends_with("power-down")
        );
    }
}
