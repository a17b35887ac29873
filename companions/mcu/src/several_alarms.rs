//! Several alarms in one firmware: largest deviation of the distance of two events of an alarm from its period.
//!
//! Alarms are served in the order of their due times, and nothing else runs until all due ones are served. As
//! long as that takes less than all of the processor, the critical instant is when an event waits longest:
//! all others become due with it and are served before it, and the program has just turned interrupts off.
//! This is measured on the firmware itself, in the order in which the queue takes longest; the longest lock
//! and the longest handlers of the others are added. An event comes earliest when it is alone. An alarm of
//! exactly the same period comes before each of its events or before none. The distance of an event to the next
//! or the previous one deviates by the difference of both, and by the fraction of a count in a period.

use crate::figures::Strategy;
use jitterlab_chip::avr::Avr;
use jitterlab_chip::avr::chips::Chip;
use jitterlab_chip::{Image, Log};
use jitterlab_model::Error;
use serde::Serialize;

use super::{Board, Compiler, Program, image};

/// A required period, with its tolerance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlarmRequirement {
    pub period_us: u32,
    /// Largest permitted deviation of the distance of two events from it, in microseconds.
    pub tolerance_us: u32,
}

/// One of several alarms, at its worst.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorstAlarm {
    pub period_us: u32,
    /// Largest permitted deviation of the distance of two events from it, in microseconds.
    pub tolerance_us: u32,
    /// Upper bound of the deviation in microseconds, for any phases of the alarms and of locks; `None` if it
    /// is unbounded.
    pub worst_us: Option<f64>,
    /// Deviation in microseconds when all alarms were due at once, at the beginning of the longest lock;
    /// `None` if that was not simulated.
    pub seen_us: Option<f64>,
}

/// Reason why the lateness of events is unbounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Overload {
    /// Interrupts and handlers use all of the processor's time, or would need more.
    Processor,
    /// A lock and the handlers after it together exceed the time for which the counter may be left unserved:
    /// a quarter of its range, or a tick.
    Counter,
}

/// Most alarms of one firmware: each has a pin.
pub const MAX_ALARMS: usize = 5;

/// Shortest period in cycles; the library refuses shorter ones (its trait `EVENT_CYCLES`).
pub(super) const EVENT_CYCLES: u32 = 400;

/// Largest difference in cycles between two ways to one handler with equal work before it: asleep (4 or 5
/// cycles), the instruction in progress or after SEI (4 each), a carried fraction.
const SLACK_CYCLES: u64 = 20;

/// Cycles of one iteration of the firmware's waiting loops.
pub const ITERATION_CYCLES: u32 = 6;

/// Cycles of a lock without an iteration, together with the largest time from its arming to the lock.
const EMPTY_LOCK_CYCLES: f64 = 24.0;

/// Iterations of a lock that lasts about this many cycles, but no more.
pub fn lock_iterations(cycles: f64) -> u32 {
    ((cycles - EMPTY_LOCK_CYCLES) / f64::from(ITERATION_CYCLES)) as u32
}

/// Beginning of each alarm, and all durations; the alarms are numbered in the order of the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    /// Time to the first event of each, in microseconds.
    pub first_us: [u32; MAX_ALARMS],
    /// Counts by which each is armed later than the first.
    pub offset: [u16; MAX_ALARMS],
    /// Order of arming: of alarms due at once, the one armed first is served first.
    pub order: [u8; MAX_ALARMS],
    pub base: u16,
    /// Duration of a handler besides moving its pin, in [`ITERATION_CYCLES`].
    pub handler_iterations: u32,
    /// Duration of interrupts being off, in [`ITERATION_CYCLES`].
    pub lock_iterations: u32,
    /// Duration of interrupts being on before that, in [`ITERATION_CYCLES`]; the first time from the arming of the alarms.
    pub gap_iterations: u32,
    pub sleeps: bool,
}

impl Scenario {
    /// Creates a scenario with all alarms due at once, `first_us` after they were armed in this order.
    /// The processor is awake.
    pub fn all_due_at_once(first_us: u32, order: [u8; MAX_ALARMS]) -> Self {
        Scenario {
            first_us: [first_us; MAX_ALARMS],
            offset: [0; MAX_ALARMS],
            order,
            base: 0,
            handler_iterations: 0,
            lock_iterations: 0,
            gap_iterations: u32::MAX,
            sleeps: false,
        }
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = self.first_us.iter().flat_map(|us| us.to_le_bytes()).collect();
        bytes.extend(self.offset.iter().flat_map(|counts| counts.to_le_bytes()));
        bytes.extend(self.order);
        bytes.extend(self.base.to_le_bytes());
        bytes.extend(
            [self.handler_iterations, self.lock_iterations, self.gap_iterations]
                .map(u32::to_le_bytes)
                .concat(),
        );
        bytes.push(u8::from(self.sleeps));
        bytes
    }
}

/// A firmware with several alarms.
#[derive(Debug, Clone)]
pub struct AlarmsFirmware {
    board: Board,
    periods_us: Vec<u32>,
    chip: &'static Chip,
    image: Image,
    /// Address at which it reads its scenario.
    scenario_at: u16,
}

impl AlarmsFirmware {
    /// Builds the firmware, with a longest period that lets each alarm begin after the first events of all.
    pub fn build(board: &Board, periods_us: &[u32], compiler: &Compiler) -> Result<Self, Error> {
        let chip = super::simulator::avr_chip(&board.mcu)?;
        let longest = periods_us.iter().copied().max().unwrap_or(1);
        let mut board = board.clone();
        board.max_period_us = latest_first_us(&board, longest.saturating_add(shortest_first_us(&board)));
        let periods: Vec<String> = periods_us.iter().map(|us| format!("{us}UL")).collect();
        let program = Program::new("alarms").with_macro(format!("MCU_PERIODS={}", periods.join(",")));
        let firmware = compiler.build(&program, &board)?;
        let image = image::read_firmware(&firmware.elf)?.image;
        let scenario_at =
            image.variables_end.and_then(|end| u16::try_from(end).ok()).unwrap_or(chip.ram_start);
        Ok(AlarmsFirmware { board, periods_us: periods_us.to_vec(), chip, image, scenario_at })
    }

    /// Simulates a scenario for this many cycles, or until the pins have moved this often.
    pub fn run(&self, scenario: &Scenario, cycles: u64, edges: Option<usize>) -> Log {
        let pins = (0..self.periods_us.len() as u8).map(|bit| jitterlab_chip::Pin { port: 1, bit });
        let setup = jitterlab_chip::Setup {
            clock_hz: self.board.clock_hz,
            recorded_pins: pins.collect(),
            max_cycles: cycles,
            max_edges: edges.map(|edges| edges as u64),
            record_entries: edges.is_some(),
            initial_bytes: (self.scenario_at..).zip(scenario.to_bytes()).collect(),
            ..jitterlab_chip::Setup::from_image(self.image.clone())
        };
        Avr::new(self.chip, &setup).run()
    }

    /// Shortest time to the first event of a scenario's alarms, in microseconds.
    pub fn shortest_first_us(&self) -> u32 {
        shortest_first_us(&self.board)
    }

    fn cycles_in_us(&self, us: u32) -> f64 {
        f64::from(us) * f64::from(self.board.clock_hz) / 1e6
    }

    /// Counts until an event is due, rounded up so that it is never early.
    fn counts_in_us(&self, us: u32) -> u64 {
        (u64::from(us) * u64::from(self.board.clock_hz)).div_ceil(micro_cycles_per_count(&self.board))
    }

    /// Number of the event that gives the worst distance if it is late, by the rounding of due times to counts.
    /// Rounding lengthens the distance to the previous event, or shortens that to the next ([`period_rounding_cycles`]).
    fn worst_event(&self, alarm: usize) -> u32 {
        let (scale, rest) =
            (micro_cycles_per_count(&self.board), period_remainder(&self.board, self.periods_us[alarm]));
        // The first distance is rounded up; that after event k is rounded down if at least `rest` of its
        // count was left.
        if 2 * rest <= scale {
            return u32::from(rest != 0);
        }
        let most = (self.board.max_period_us - self.shortest_first_us()) / self.periods_us[alarm];
        let left = |event: u32| (scale - u64::from(event) * rest % scale) % scale;
        (1..=most).find(|event| left(*event) >= rest).unwrap_or(1)
    }

    /// Cycles from the arming until well after a first event that is due `us` later.
    fn cycles_beyond_first_event(&self, us: u32) -> u64 {
        self.cycles_in_us(us) as u64 + 4 * u64::from(self.board.prescaler) + 100_000
    }

    /// Order of arming with this alarm last and the others by period, shortest first: the queue takes longest.
    fn order_ending_with(&self, last: usize) -> [u8; MAX_ALARMS] {
        let mut others: Vec<usize> = (0..self.periods_us.len()).filter(|k| *k != last).collect();
        others.sort_by_key(|k| self.periods_us[*k]);
        let mut order = [0; MAX_ALARMS];
        for (place, alarm) in order.iter_mut().zip(others.into_iter().chain([last])) {
            *place = alarm as u8;
        }
        order
    }

    /// Scenario in which an alarm's first event is served after those of some others; the rest is due later.
    fn scenario_behind(&self, alarm: usize, others: &[usize]) -> Scenario {
        let first_us = self.shortest_first_us();
        let mut scenario = Scenario::all_due_at_once(first_us, self.order_ending_with(alarm));
        let later = |k: &usize| *k != alarm && !others.contains(k);
        for k in (0..self.periods_us.len()).filter(later) {
            scenario.first_us[k] = self.periods_us[k].saturating_add(first_us);
        }
        scenario
    }

    /// Cycles from an alarm's due time to its handler, served after these others; `None` if it did not come.
    fn cycles_to_handler(&self, alarm: usize, others: &[usize]) -> Option<u64> {
        let cycles = self.cycles_beyond_first_event(self.shortest_first_us() * 2);
        let log = self.run(&self.scenario_behind(alarm, others), cycles, Some(2 * others.len() + 1));
        let start = log.edge_cycles(alarm, true).next()?;
        let vector = log.vectors.iter().find(|vector| vector.name == "TIMER1_COMPA")?;
        let entry = log.entries.iter().rev().find(|e| e.vector == vector.number && e.cycle <= start)?;
        Some(start - entry.cycle + vector.max_latency_cycles)
    }

    fn other_alarms(&self, alarm: usize) -> Vec<usize> {
        (0..self.periods_us.len()).filter(|k| *k != alarm).collect()
    }

    /// Other alarms that come before some but not all of its events, as one of the same period does not.
    fn alarms_before_some_events(&self, alarm: usize) -> Vec<usize> {
        let period_us = self.periods_us[alarm];
        let is_rival =
            |k: &usize| self.periods_us[*k] != period_us || period_remainder(&self.board, period_us) != 0;
        self.other_alarms(alarm).into_iter().filter(is_rival).collect()
    }

    /// Cycles of the interrupt that serves only this alarm, from entry to end.
    fn interrupt_cycles(&self, alarm: usize) -> u64 {
        // Until the next event of any alarm: the interrupt is over then.
        let log = self.run(
            &self.scenario_behind(alarm, &[]),
            self.cycles_beyond_first_event(self.shortest_first_us()),
            Some(3),
        );
        log.vectors.iter().map(|vector| vector.max_cycles).max().unwrap_or_default()
    }

    /// Scenario with all alarms due at the beginning of the longest lock, and this alarm last.
    pub fn critical_instant(&self, last: usize, longest: LongestBlocking) -> Scenario {
        let first_us = self.shortest_first_us();
        let mut scenario = Scenario {
            handler_iterations: (longest.handler / u64::from(ITERATION_CYCLES)) as u32,
            lock_iterations: lock_iterations(longest.lock as f64),
            sleeps: true,
            ..Scenario::all_due_at_once(first_us, self.order_ending_with(last))
        };
        // An interval begins with the next count, or tick.
        let (events, due) = match self.board.strategy {
            Strategy::Periodic => (0, 2.0 * self.cycles_in_us(first_us)),
            Strategy::SingleShot | Strategy::Anchored => {
                let events = self.worst_event(last);
                let until_us = events * self.periods_us[last];
                let begin_us = until_us.saturating_add(first_us);
                let due = self.counts_in_us(first_us) + self.counts_in_us(until_us);
                for other in self.other_alarms(last) {
                    scenario.first_us[other] = begin_us;
                    scenario.offset[other] = due.saturating_sub(self.counts_in_us(begin_us)) as u16;
                }
                (events, (due + 1) as f64 * f64::from(self.board.prescaler))
            }
        };
        // Earlier interrupts delay the program on its way to the lock.
        let until = due as u64 + self.cycles_beyond_first_event(0);
        let before = self.run(&scenario, until, Some(2 * events as usize + 1)).vectors;
        let served: u64 = before.iter().map(|vector| vector.cycles).sum();
        Scenario { gap_iterations: lock_iterations(due - served as f64), ..scenario }
    }

    /// Largest lateness of the last alarm, in cycles, that the counter tolerates.
    fn largest_tolerated_lateness(&self) -> u64 {
        match self.board.strategy {
            Strategy::Periodic => self.cycles_in_us(self.board.tick_us) as u64,
            Strategy::SingleShot | Strategy::Anchored => 0x4000 * u64::from(self.board.prescaler),
        }
    }
}

/// Latest time to a first event that the counter reaches without an intermediate stop; at least `at_least`.
fn latest_first_us(board: &Board, at_least: u32) -> u32 {
    let quarter_us = (0x4000 - 1) * micro_cycles_per_count(board) / u64::from(board.clock_hz);
    at_least.max(quarter_us.min(u32::MAX.into()) as u32)
}

fn shortest_first_us(board: &Board) -> u32 {
    let shortest = u64::from(EVENT_CYCLES).max(board.prescaler.into()) * 1_000_000;
    match board.strategy {
        Strategy::Periodic => board.tick_us,
        Strategy::SingleShot | Strategy::Anchored => shortest.div_ceil(board.clock_hz.into()) as u32,
    }
}

/// Bounds of the deviations of several alarms.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviationBounds {
    pub alarms: Vec<WorstAlarm>,
    pub overload: Option<Overload>,
    /// Share of the processor used by interrupts and handlers, 0 to 1.
    pub busy_share: f64,
    pub interrupts_per_s: f64,
}

/// The longest lock and the longest handler, in cycles.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LongestBlocking {
    /// Stretch with interrupts off outside of handlers, from the beginning of the instruction that turns them
    /// off to the end of the one that turns them on.
    pub lock: u64,
    /// Duration of a handler, from its call to its return.
    pub handler: u64,
}

/// Measures the delays that the alarms cause each other, and bounds each alarm's deviation by their worst sum.
pub fn bound_deviations(
    firmware: &AlarmsFirmware,
    needs: &[AlarmRequirement],
    longest: LongestBlocking,
) -> Result<DeviationBounds, Error> {
    let silent = |alarm: usize| {
        Error::not_measured(format!(
            "an alarm of {} us did not come within the simulated time",
            needs[alarm].period_us
        ))
    };
    let (mut late, mut differ, mut events) = (Vec::new(), Vec::new(), 0.0);
    for (alarm, need) in needs.iter().enumerate() {
        let (others, rivals) = (firmware.other_alarms(alarm), firmware.alarms_before_some_events(alarm));
        let always: Vec<usize> = others.iter().copied().filter(|k| !rivals.contains(k)).collect();
        let way = |before: &[usize]| firmware.cycles_to_handler(alarm, before).ok_or_else(|| silent(alarm));
        let (alone, behind_all) = (way(&[])?, way(&others)?);
        let delay = |before: &[usize], cycles: u64| {
            longest.lock + before.len() as u64 * longest.handler + cycles + SLACK_CYCLES
        };
        let latest = delay(&others, behind_all.saturating_sub(alone));
        late.push(latest);
        differ.push(if always.is_empty() {
            latest
        } else {
            // Alarms that always come before it may be served in the same interrupt, which is quicker.
            let more = way(&rivals)?.saturating_sub(alone).max(behind_all.saturating_sub(way(&always)?));
            delay(&rivals, more)
        });
        let event = firmware.interrupt_cycles(alarm) + longest.handler;
        events += event as f64 / firmware.cycles_in_us(need.period_us);
    }
    // Locks after each of several events make an alarm that is late by a period due twice: it is served once
    // more before the others.
    let piled_up =
        needs.iter().zip(&late).any(|(need, late)| *late as f64 >= firmware.cycles_in_us(need.period_us));
    if piled_up {
        let all = late.iter().copied().max().unwrap_or_default();
        late.iter_mut().for_each(|late| *late += (all - longest.lock) / (needs.len() as u64 - 1).max(1));
        differ.clone_from(&late);
    }
    let most = late.iter().copied().max().unwrap_or_default() + longest.handler;
    let overload = match () {
        () if events >= 1.0 => Some(Overload::Processor),
        () if most >= firmware.largest_tolerated_lateness() => Some(Overload::Counter),
        () => None,
    };
    let us = |cycles: f64| cycles * 1e6 / f64::from(firmware.board.clock_hz);
    let see = |alarms: &mut [WorstAlarm], log: &Log| {
        for (k, alarm) in alarms.iter_mut().enumerate() {
            let seen = largest_deviation(log, k, firmware.cycles_in_us(alarm.period_us)).map(us);
            alarm.seen_us = alarm.seen_us.into_iter().chain(seen).reduce(f64::max);
        }
    };
    let mut alarms: Vec<WorstAlarm> = needs
        .iter()
        .zip(&differ)
        .map(|(need, differ)| WorstAlarm {
            period_us: need.period_us,
            tolerance_us: need.tolerance_us,
            worst_us: overload
                .is_none()
                .then(|| us(*differ as f64 + period_rounding_cycles(&firmware.board, need.period_us))),
            seen_us: None,
        })
        .collect();
    if overload.is_some() {
        return Ok(DeviationBounds { alarms, overload, busy_share: events.min(1.0), interrupts_per_s: 0.0 });
    }
    let last = (0..needs.len()).max_by_key(|k| needs[*k].period_us).unwrap_or(0);
    let log = firmware.run(&firmware.critical_instant(last, longest), observation_cycles(firmware), None);
    see(&mut alarms, &log);
    for k in (0..needs.len()).filter(|k| *k != last) {
        let until_us = (firmware.worst_event(k) + 1).saturating_mul(firmware.periods_us[k]);
        let cycles =
            firmware.cycles_beyond_first_event(until_us.saturating_add(firmware.shortest_first_us()));
        see(&mut alarms, &firmware.run(&firmware.critical_instant(k, longest), cycles, None));
    }
    let in_interrupts: u64 = log.vectors.iter().map(|vector| vector.cycles).sum();
    Ok(DeviationBounds {
        alarms,
        overload,
        busy_share: in_interrupts as f64 / log.cycles as f64,
        interrupts_per_s: log.entry_count as f64 * f64::from(firmware.board.clock_hz) / log.cycles as f64,
    })
}

/// Returns cycles that include the next event of each alarm, and enough of the short ones.
fn observation_cycles(firmware: &AlarmsFirmware) -> u64 {
    let longest = firmware.periods_us.iter().copied().max().unwrap_or_default();
    2 * firmware.cycles_beyond_first_event(longest)
}

/// Largest deviation of the distance of two events of an alarm from its period, in cycles.
pub fn largest_deviation(log: &Log, alarm: usize, period_cycles: f64) -> Option<f64> {
    let starts: Vec<u64> = log.edge_cycles(alarm, true).collect();
    starts.windows(2).map(|w| ((w[1] - w[0]) as f64 - period_cycles).abs()).reduce(f64::max)
}

/// Most cycles by which a period that is no whole number of counts is too long or too short.
/// Its fraction is carried, so that both occur.
fn period_rounding_cycles(board: &Board, period_us: u32) -> f64 {
    let (scale, rest) = (micro_cycles_per_count(board), period_remainder(board, period_us));
    rest.max(scale - rest) as f64 / 1e6 * f64::from(u8::from(rest != 0))
}

/// Length of one count, in millionths of a cycle.
fn micro_cycles_per_count(board: &Board) -> u64 {
    u64::from(board.prescaler) * 1_000_000
}

/// Remainder of a period after whole counts, in millionths of a cycle.
fn period_remainder(board: &Board, period_us: u32) -> u64 {
    u64::from(period_us) * u64::from(board.clock_hz) % micro_cycles_per_count(board)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_leaves_more_or_less_of_a_count() {
        let board =
            Board::with_ideal_timing(Strategy::Anchored, 64, 1_000).with_chip("atmega328p", 16_000_000);
        assert_eq!(period_rounding_cycles(&board, 1_000), 0.0, "250 counts");
        assert_eq!(
            period_rounding_cycles(&board, 1_001),
            48.0,
            "a quarter of a count of 64 cycles, or three"
        );
        assert_eq!(period_rounding_cycles(&board, 1_003), 48.0);
    }

    #[test]
    fn a_scenario_lies_in_memory_as_the_firmware_has_it() {
        let bytes = Scenario { sleeps: true, base: 0x1234, ..Scenario::all_due_at_once(7, [4, 3, 2, 1, 0]) }
            .to_bytes();
        assert_eq!(bytes.len(), 20 + 10 + 5 + 2 + 12 + 1);
        assert_eq!((bytes[0], bytes[30], bytes[35], bytes[49]), (7, 4, 0x34, 1));
    }
}
