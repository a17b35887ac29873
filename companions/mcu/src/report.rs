//! Reports for the user from the log of a chip.

use jitterlab_chip::log::FinalSleep;
use jitterlab_chip::{Blocker, Chip, FindingKind, Log, Stop, log};
use jitterlab_model::Warning;
use jitterlab_model::firmware::FirmwareSize;
use jitterlab_model::firmware::{FirmwareFinding, FirmwareReport, InterruptsOff, VectorInterrupts};

use super::symbols::Symbols;

/// Creates the report of a log with times in periods of `clock_hz`.
pub fn firmware_report(
    log: &Log,
    mcu: &str,
    clock_hz: u32,
    size: FirmwareSize,
    names: &Symbols<'_>,
) -> FirmwareReport {
    FirmwareReport {
        mcu: mcu.into(),
        clock_hz,
        size,
        cycles: log.cycles,
        asleep_cycles: log.asleep_cycles,
        interrupts: log.vectors.iter().map(interrupts_of_vector).collect(),
        off: log.longest_off.map(|off| InterruptsOff {
            cycles: off.cycles,
            at_ns: cycle_to_ns(off.cycle, clock_hz),
            from: names.location(off.address),
            to: names.location(off.end_address),
        }),
        pins: Vec::new(),
        stack: log.stack,
        sent: String::from_utf8_lossy(whole_characters(&log.serial)).into_owned(),
    }
}

/// Bytes without a last character that is cut off, since the simulation ended within it.
fn whole_characters(bytes: &[u8]) -> &[u8] {
    let last = bytes.utf8_chunks().last().map_or(&[][..], |chunk| chunk.invalid());
    let is_cut = std::str::from_utf8(last).is_err_and(|error| error.error_len().is_none());
    if is_cut { &bytes[..bytes.len() - last.len()] } else { bytes }
}

fn interrupts_of_vector(vector: &log::VectorStatistics) -> VectorInterrupts {
    VectorInterrupts {
        vector: vector.name.clone(),
        count: vector.count,
        lost: vector.lost,
        min_cycles: vector.min_cycles,
        max_cycles: vector.max_cycles,
        total_cycles: vector.cycles,
        min_latency_cycles: vector.min_latency_cycles,
        max_latency_cycles: vector.max_latency_cycles,
        switched: vector.switched,
    }
}

/// Time of a cycle in nanoseconds since reset, rounded to the nearest.
pub fn cycle_to_ns(cycle: u64, clock_hz: u32) -> i64 {
    let hz = u128::from(clock_hz.max(1));
    ((u128::from(cycle) * 1_000_000_000 + hz / 2) / hz) as i64
}

pub fn warnings(log: &Log, clock_hz: u32, chip: Chip, names: &Symbols<'_>) -> Vec<Warning> {
    let ns = |cycle| cycle_to_ns(cycle, clock_hz);
    // Bytes that were read one after the other may be two variables.
    let one_variable = |finding: &&log::Finding| match finding.kind {
        FindingKind::TornRead { data, bytes, .. } => names.variable_name(data, bytes).is_some(),
        _ => true,
    };
    let vector_name = |number| chip.vector_name(number).unwrap_or_default();
    let found = log.findings.iter().filter(one_variable).map(|finding| {
        let (at_ns, times) = (ns(finding.cycle), finding.times);
        let place = || names.location(finding.address);
        match finding.kind {
            FindingKind::NotSimulated(part) => FirmwareFinding::NotSimulated { part, at_ns, place: place() },
            FindingKind::AnalogRead => FirmwareFinding::AnalogRead { at_ns },
            FindingKind::StackOverflow(bytes) => {
                FirmwareFinding::StackOverflow { bytes, at_ns, place: place() }
            }
            FindingKind::OutsideMemory { data, written } => {
                FirmwareFinding::OutsideMemory { data, written, at_ns, place: place() }
            }
            FindingKind::Restarted(vector) => FirmwareFinding::Restarted {
                vector: vector.and_then(|number| chip.vector_name(number)),
                times,
                at_ns,
            },
            FindingKind::WatchdogReset => FirmwareFinding::WatchdogReset { times, at_ns },
            FindingKind::CompareBehind { timer, unit, lap } => {
                let (unit, lap_ns) = (format!("OCR{timer}{}", char::from(b'A' + unit)), ns(lap));
                FirmwareFinding::CompareBehind { timer, unit, times, at_ns, place: place(), lap_ns }
            }
            FindingKind::AlarmPast { alarm, late } => {
                let late_ns = i64::from(late) * 1_000;
                FirmwareFinding::AlarmPast { alarm, times, at_ns, place: place(), late_ns }
            }
            FindingKind::OverflowUnseen(timer) => FirmwareFinding::OverflowUnseen {
                counter: format!("TCNT{timer}"),
                times,
                at_ns,
                place: place(),
            },
            FindingKind::StacksChanged => FirmwareFinding::StacksChanged { at_ns, place: place() },
            FindingKind::StartUpAssumed(cycles) => FirmwareFinding::StartUpAssumed { cycles },
            FindingKind::FlashAssumedFast => FirmwareFinding::FlashAssumedFast,
            FindingKind::ClockDiffers(hz) => FirmwareFinding::ClockDiffers { hz },
            FindingKind::TornRead { data, bytes, vector, before, after, read } => {
                let variable = names.variable_name(data, bytes).unwrap_or_default();
                let (vector, place) = (vector_name(vector), place());
                FirmwareFinding::TornRead {
                    variable,
                    bytes,
                    vector,
                    times,
                    at_ns,
                    place,
                    before,
                    after,
                    read,
                }
            }
            FindingKind::DueTooOften { vector, apart } => {
                FirmwareFinding::DueTooOften { vector: vector_name(vector), times, at_ns, cycles: apart }
            }
        }
    });
    let lost = log.vectors.iter().filter(|vector| vector.lost > 0);
    let lost = lost.map(|vector| {
        let blocker = blocker_at(log, vector.first_lost);
        let handler = blocker.and_then(|blocker| match blocker {
            Blocker::Handler(number) => log.vectors.iter().find(|of| of.number == number),
            Blocker::Lock(_) => None,
        });
        let place = blocker.map(|blocker| match blocker {
            Blocker::Handler(_) => handler.map_or(0, |of| of.handler),
            Blocker::Lock(address) => address,
        });
        FirmwareFinding::InterruptsLost {
            vector: vector.name.clone(),
            lost: vector.lost,
            at_ns: ns(vector.first_lost),
            by: handler.map(|of| of.name.clone()),
            place: place.map(|address| names.location(address)),
        }
    });
    let watchdog = log.vectors.iter().find(|vector| vector.name == "WDT" && vector.count > 0);
    let watchdog = watchdog.map(|vector| FirmwareFinding::WatchdogTimes { times: vector.count });
    let asleep = match log.stop {
        Stop::Asleep(FinalSleep::Unwakeable { mode, address }) => {
            let (mode, at_ns) = (mode.into(), ns(log.cycles));
            Some(FirmwareFinding::AsleepForEver { mode, at_ns, place: names.location(address) })
        }
        _ => None,
    };
    asleep.into_iter().chain(found).chain(lost).chain(watchdog).map(Warning::Firmware).collect()
}

/// Handler or lock that made everything else wait at a moment, if that was recorded.
fn blocker_at(log: &Log, cycle: u64) -> Option<Blocker> {
    let ended = log.spans.partition_point(|span| span.end < cycle);
    log.spans[ended..].iter().take(8).find(|span| span.begin <= cycle).map(|span| span.blocker)
}
