//! Several alarms in one firmware: how much any distance of two events of each differs from its period at most.
//!
//! Alarms are served in the order of their due times, and nothing else runs until all that are due are served. As long as that takes less
//! than all of the processor, an event waits longest when all the others become due with it and are served before it, and when the
//! program has just turned interrupts off: the critical instant. What that costs is measured on the firmware itself, in the order in which the
//! queue takes longest; the longest lock and the longest handlers of the others are added. An event comes earliest when it is alone. What has
//! its very period comes before each of its events or before none.
//! Its distance to the next or to the one before is off by the difference of both, and by what a period leaves of a count.

use crate::figures::Strategy;
use jitterlab_chip::avr::Avr;
use jitterlab_chip::avr::chips::Chip;
use jitterlab_chip::{Image, Log};
use jitterlab_model::Error;
use serde::Serialize;

use super::{Board, Compiler, Program, image};

/// A period that is needed, and how exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    /// The period.
    pub period_us: u32,
    /// How much any distance of two events may differ from it.
    pub tolerance_us: u32,
}

/// One of several alarms, at its worst.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorstAlarm {
    /// Its period.
    pub period_us: u32,
    /// How much any distance of two events may differ from it.
    pub tolerance_us: u32,
    /// How much it differs at most, whatever the phases of the alarms and of locks; `None` where nothing bounds it.
    pub worst_us: Option<f64>,
    /// How much it differed when all alarms were due at once, at the beginning of the longest lock; `None` if that was not simulated.
    pub seen_us: Option<f64>,
}

/// Why nothing bounds how late events come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Overload {
    /// Interrupts and handlers take as long as there is time, or longer.
    Processor,
    /// A lock and the handlers after it together last longer than the counter can be left alone: a quarter of its range, or a tick.
    Counter,
}

/// Alarms that one firmware can have: each has a pin.
pub const MOST: usize = 5;

/// The library refuses what is shorter (its trait `EVENT_CYCLES`).
pub(super) const EVENT_CYCLES: u32 = 400;

/// By which the way to one handler can differ with equal work before it: asleep (4 or 5 cycles), the instruction that is being executed or
/// follows SEI (4 each), a carried fraction.
const SLACK_CYCLES: u64 = 20;

/// Cycles that a turn of the firmware's waiting loops takes.
pub const TURN_CYCLES: u32 = 6;

/// Cycles that a lock of the firmware takes without a turn, and the time from its arming to the lock, at most.
const EMPTY_LOCK_CYCLES: f64 = 24.0;

/// Turns of a lock that lasts about so many cycles, and no more.
pub fn lock_turns(cycles: f64) -> u32 {
    ((cycles - EMPTY_LOCK_CYCLES) / f64::from(TURN_CYCLES)) as u32
}

/// When each alarm begins and how long everything lasts; the alarms are numbered as they were asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    /// Microseconds to the first event of each.
    pub first_us: [u32; MOST],
    /// Counts by which each is armed later than the first.
    pub offset: [u16; MOST],
    /// In which order they are armed: of those that are due at once, the one that was armed first comes first.
    pub order: [u8; MOST],
    /// Where the counter begins.
    pub base: u16,
    /// What a handler takes besides moving its pin, in [`TURN_CYCLES`].
    pub handler_turns: u32,
    /// How long interrupts are off, in the same.
    pub lock_turns: u32,
    /// How long they are on before, the first time from when the alarms are armed.
    pub gap_turns: u32,
    /// Whether the processor sleeps after the first lock.
    pub sleeps: bool,
}

impl Scenario {
    /// All alarms due at once, `first_us` after they were armed, in that order; the processor is awake.
    pub fn at_once(first_us: u32, order: [u8; MOST]) -> Self {
        Scenario {
            first_us: [first_us; MOST],
            offset: [0; MOST],
            order,
            base: 0,
            handler_turns: 0,
            lock_turns: 0,
            gap_turns: u32::MAX,
            sleeps: false,
        }
    }

    /// As the firmware reads it.
    fn bytes(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = self.first_us.iter().flat_map(|us| us.to_le_bytes()).collect();
        bytes.extend(self.offset.iter().flat_map(|counts| counts.to_le_bytes()));
        bytes.extend(self.order);
        bytes.extend(self.base.to_le_bytes());
        bytes.extend([self.handler_turns, self.lock_turns, self.gap_turns].map(u32::to_le_bytes).concat());
        bytes.push(u8::from(self.sleeps));
        bytes
    }
}

/// A firmware with several alarms.
#[derive(Debug, Clone)]
pub struct Together {
    board: Board,
    periods_us: Vec<u32>,
    chip: &'static Chip,
    image: Image,
    /// Where it looks for its scenario.
    scenario_at: u16,
}

impl Together {
    /// Builds it; the longest period of the board becomes so long that each alarm can begin after the first events of all.
    ///
    /// # Errors
    /// It does not build, or its chip is not simulated.
    pub fn build(board: &Board, periods_us: &[u32], compiler: &Compiler) -> Result<Self, Error> {
        let chip = super::simulator::avr_chip(&board.mcu)?;
        let longest = periods_us.iter().copied().max().unwrap_or(1);
        let mut board = board.clone();
        board.max_period_us = most_first_us(&board, longest.saturating_add(first_us(&board)));
        let firmware = compiler.build(&Program::Alarms { periods_us: periods_us.to_vec() }, &board)?;
        let image = image::load(&firmware.elf)?.image;
        let scenario_at =
            image.variables_end.and_then(|end| u16::try_from(end).ok()).unwrap_or(chip.ram_start);
        Ok(Together { board, periods_us: periods_us.to_vec(), chip, image, scenario_at })
    }

    /// Lets it run for so many cycles, or until its pins have moved so often.
    pub fn run(&self, scenario: &Scenario, cycles: u64, edges: Option<usize>) -> Log {
        let pins = (0..self.periods_us.len() as u8).map(|bit| jitterlab_chip::Pin { port: 1, bit });
        let setup = jitterlab_chip::Setup {
            clock_hz: self.board.clock_hz,
            watch: pins.collect(),
            cycles,
            edges: edges.map(|edges| edges as u64),
            entries: edges.is_some(),
            pokes: (self.scenario_at..).zip(scenario.bytes()).collect(),
            ..jitterlab_chip::Setup::from_image(self.image.clone())
        };
        Avr::new(self.chip, &setup).run()
    }

    /// Microseconds after which alarms of a scenario can be due first.
    pub fn first_us(&self) -> u32 {
        first_us(&self.board)
    }

    fn cycles(&self, us: u32) -> f64 {
        f64::from(us) * f64::from(self.board.clock_hz) / 1e6
    }

    /// Counts until something is due: never early.
    fn counts(&self, us: u32) -> u64 {
        (u64::from(us) * u64::from(self.board.clock_hz)).div_ceil(scale(&self.board))
    }

    /// The event that, late, makes the worst distance: the count to which due times are rounded lengthens the one to the event before, or
    /// shortens the one to the next, by [`rounding`].
    fn worst_event(&self, alarm: usize) -> u32 {
        let (scale, rest) = (scale(&self.board), rest(&self.board, self.periods_us[alarm]));
        // The first distance is rounded up, the one after event k down if that left a rest or more of its count.
        if 2 * rest <= scale {
            return u32::from(rest != 0);
        }
        let most = (self.board.max_period_us - self.first_us()) / self.periods_us[alarm];
        let left = |event: u32| (scale - u64::from(event) * rest % scale) % scale;
        (1..=most).find(|event| left(*event) >= rest).unwrap_or(1)
    }

    /// Cycles from the arming to beyond a first event.
    fn until(&self, us: u32) -> u64 {
        self.cycles(us) as u64 + 4 * u64::from(self.board.prescaler) + 100_000
    }

    /// The others in the order of their periods, the shortest first, and then this one: so the queue takes longest.
    fn with_last(&self, last: usize) -> [u8; MOST] {
        let mut others: Vec<usize> = (0..self.periods_us.len()).filter(|k| *k != last).collect();
        others.sort_by_key(|k| self.periods_us[*k]);
        let mut order = [0; MOST];
        for (place, alarm) in order.iter_mut().zip(others.into_iter().chain([last])) {
            *place = alarm as u8;
        }
        order
    }

    /// The scenario in which an alarm's first event is served after those of some others, while the rest is due later.
    fn behind(&self, alarm: usize, others: &[usize]) -> Scenario {
        let first_us = self.first_us();
        let mut scenario = Scenario::at_once(first_us, self.with_last(alarm));
        let later = |k: &usize| *k != alarm && !others.contains(k);
        for k in (0..self.periods_us.len()).filter(later) {
            scenario.first_us[k] = self.periods_us[k].saturating_add(first_us);
        }
        scenario
    }

    /// Cycles from its due time to its handler in that scenario.
    fn way(&self, alarm: usize, others: &[usize]) -> Option<u64> {
        let cycles = self.until(self.first_us() * 2);
        let log = self.run(&self.behind(alarm, others), cycles, Some(2 * others.len() + 1));
        let start = log.edges_of(alarm, true).next()?;
        let vector = log.vectors.iter().find(|vector| vector.name == "TIMER1_COMPA")?;
        let entry = log.entered.iter().rev().find(|e| e.vector == vector.number && e.cycle <= start)?;
        Some(start - entry.cycle + vector.max_latency_cycles)
    }

    /// All others.
    fn others(&self, alarm: usize) -> Vec<usize> {
        (0..self.periods_us.len()).filter(|k| *k != alarm).collect()
    }

    /// Those that come before some of its events and not before others: what has its period comes before all or none.
    fn rivals(&self, alarm: usize) -> Vec<usize> {
        let period_us = self.periods_us[alarm];
        let is_rival = |k: &usize| self.periods_us[*k] != period_us || rest(&self.board, period_us) != 0;
        self.others(alarm).into_iter().filter(is_rival).collect()
    }

    /// Cycles of the interrupt that serves it alone, from entry to end.
    fn interrupt(&self, alarm: usize) -> u64 {
        // Until the next event of any: its interrupt is over then.
        let log = self.run(&self.behind(alarm, &[]), self.until(self.first_us()), Some(3));
        log.vectors.iter().map(|vector| vector.max_cycles).max().unwrap_or_default()
    }

    /// Everything at once, at the beginning of the longest lock, and this alarm last.
    pub fn critical_instant(&self, last: usize, longest: Longest) -> Scenario {
        let first_us = self.first_us();
        let mut scenario = Scenario {
            handler_turns: (longest.handler / u64::from(TURN_CYCLES)) as u32,
            lock_turns: lock_turns(longest.lock as f64),
            sleeps: true,
            ..Scenario::at_once(first_us, self.with_last(last))
        };
        // An interval begins with the next count, or tick.
        let (events, due) = match self.board.strategy {
            Strategy::Periodic => (0, 2.0 * self.cycles(first_us)),
            Strategy::SingleShot | Strategy::Anchored => {
                let events = self.worst_event(last);
                let until_us = events * self.periods_us[last];
                let begin_us = until_us.saturating_add(first_us);
                let due = self.counts(first_us) + self.counts(until_us);
                for other in self.others(last) {
                    scenario.first_us[other] = begin_us;
                    scenario.offset[other] = due.saturating_sub(self.counts(begin_us)) as u16;
                }
                (events, (due + 1) as f64 * f64::from(self.board.prescaler))
            }
        };
        // Interrupts before keep the program from its way to the lock.
        let until = due as u64 + self.until(0);
        let before = self.run(&scenario, until, Some(2 * events as usize + 1)).vectors;
        let served: u64 = before.iter().map(|vector| vector.cycles).sum();
        Scenario { gap_turns: lock_turns(due - served as f64), ..scenario }
    }

    /// How late the last of them is at most, in cycles, which the counter can bear.
    fn patience(&self) -> u64 {
        match self.board.strategy {
            Strategy::Periodic => self.cycles(self.board.tick_us) as u64,
            Strategy::SingleShot | Strategy::Anchored => 0x4000 * u64::from(self.board.prescaler),
        }
    }
}

/// Up to when alarms may begin: as late as the counter reaches without a station on the way, where it needs none before.
fn most_first_us(board: &Board, at_least: u32) -> u32 {
    let quarter_us = (0x4000 - 1) * scale(board) / u64::from(board.clock_hz);
    at_least.max(quarter_us.min(u32::MAX.into()) as u32)
}

fn first_us(board: &Board) -> u32 {
    let shortest = u64::from(EVENT_CYCLES).max(board.prescaler.into()) * 1_000_000;
    match board.strategy {
        Strategy::Periodic => board.tick_us,
        Strategy::SingleShot | Strategy::Anchored => shortest.div_ceil(board.clock_hz.into()) as u32,
    }
}

/// What was found of several alarms.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// Each of them.
    pub alarms: Vec<WorstAlarm>,
    /// Why it cannot be used.
    pub overload: Option<Overload>,
    /// Share of the processor that interrupts and handlers take, 0 to 1.
    pub busy_share: f64,
    /// Interrupts a second; 0 where it was not simulated.
    pub interrupts_per_s: f64,
}

/// The longest lock and the longest handler, in cycles.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Longest {
    /// With interrupts off outside of handlers, from the beginning of the instruction that turns them off to the end of the one that turns
    /// them on.
    pub lock: u64,
    /// What a handler takes, from its call to its return.
    pub handler: u64,
}

/// Measures what the alarms cost each other, and adds up the worst.
///
/// # Errors
/// Firmware that shows no event.
pub fn judge(firmware: &Together, needs: &[Need], longest: Longest) -> Result<Judgement, Error> {
    let silent = |alarm: usize| {
        Error::not_measured(format!(
            "an alarm of {} us did not come within the simulated time",
            needs[alarm].period_us
        ))
    };
    let (mut late, mut differ, mut events) = (Vec::new(), Vec::new(), 0.0);
    for (alarm, need) in needs.iter().enumerate() {
        let (others, rivals) = (firmware.others(alarm), firmware.rivals(alarm));
        let always: Vec<usize> = others.iter().copied().filter(|k| !rivals.contains(k)).collect();
        let way = |before: &[usize]| firmware.way(alarm, before).ok_or_else(|| silent(alarm));
        let (alone, behind_all) = (way(&[])?, way(&others)?);
        let delay = |before: &[usize], cycles: u64| {
            longest.lock + before.len() as u64 * longest.handler + cycles + SLACK_CYCLES
        };
        let latest = delay(&others, behind_all.saturating_sub(alone));
        late.push(latest);
        differ.push(if always.is_empty() {
            latest
        } else {
            // What always comes before it may do so in the same interrupt, which is quicker.
            let more = way(&rivals)?.saturating_sub(alone).max(behind_all.saturating_sub(way(&always)?));
            delay(&rivals, more)
        });
        let event = firmware.interrupt(alarm) + longest.handler;
        events += event as f64 / firmware.cycles(need.period_us);
    }
    // Locks after each of several events leave an alarm that is late by a period due twice: once more before any other.
    let piled_up =
        needs.iter().zip(&late).any(|(need, late)| *late as f64 >= firmware.cycles(need.period_us));
    if piled_up {
        let all = late.iter().copied().max().unwrap_or_default();
        late.iter_mut().for_each(|late| *late += (all - longest.lock) / (needs.len() as u64 - 1).max(1));
        differ.clone_from(&late);
    }
    let most = late.iter().copied().max().unwrap_or_default() + longest.handler;
    let overload = match () {
        () if events >= 1.0 => Some(Overload::Processor),
        () if most >= firmware.patience() => Some(Overload::Counter),
        () => None,
    };
    let us = |cycles: f64| cycles * 1e6 / f64::from(firmware.board.clock_hz);
    let see = |alarms: &mut [WorstAlarm], log: &Log| {
        for (k, alarm) in alarms.iter_mut().enumerate() {
            let seen = worst_distance(log, k, firmware.cycles(alarm.period_us)).map(us);
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
                .then(|| us(*differ as f64 + rounding(&firmware.board, need.period_us))),
            seen_us: None,
        })
        .collect();
    if overload.is_some() {
        return Ok(Judgement { alarms, overload, busy_share: events.min(1.0), interrupts_per_s: 0.0 });
    }
    let last = (0..needs.len()).max_by_key(|k| needs[*k].period_us).unwrap_or(0);
    let log = firmware.run(&firmware.critical_instant(last, longest), run_cycles(firmware), None);
    see(&mut alarms, &log);
    for k in (0..needs.len()).filter(|k| *k != last) {
        let until_us = (firmware.worst_event(k) + 1).saturating_mul(firmware.periods_us[k]);
        let cycles = firmware.until(until_us.saturating_add(firmware.first_us()));
        see(&mut alarms, &firmware.run(&firmware.critical_instant(k, longest), cycles, None));
    }
    let in_interrupts: u64 = log.vectors.iter().map(|vector| vector.cycles).sum();
    Ok(Judgement {
        alarms,
        overload,
        busy_share: in_interrupts as f64 / log.cycles as f64,
        interrupts_per_s: log.entries as f64 * f64::from(firmware.board.clock_hz) / log.cycles as f64,
    })
}

/// The next event of each has to be seen, and enough of the short ones.
fn run_cycles(firmware: &Together) -> u64 {
    let longest = firmware.periods_us.iter().copied().max().unwrap_or_default();
    2 * firmware.until(longest)
}

/// Of the distances of an alarm's events, the one that differs most from its period, in cycles.
pub fn worst_distance(log: &Log, alarm: usize, period_cycles: f64) -> Option<f64> {
    let starts: Vec<u64> = log.edges_of(alarm, true).collect();
    starts.windows(2).map(|w| ((w[1] - w[0]) as f64 - period_cycles).abs()).reduce(f64::max)
}

/// By which a period that is no whole number of counts is too long or too short, in cycles: its fraction is carried, so that both happen.
fn rounding(board: &Board, period_us: u32) -> f64 {
    let (scale, rest) = (scale(board), rest(board, period_us));
    rest.max(scale - rest) as f64 / 1e6 * f64::from(u8::from(rest != 0))
}

/// One count, in millionths of a cycle.
fn scale(board: &Board) -> u64 {
    u64::from(board.prescaler) * 1_000_000
}

/// What a period leaves of a count, in the same.
fn rest(board: &Board, period_us: u32) -> u64 {
    u64::from(period_us) * u64::from(board.clock_hz) % scale(board)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_leaves_more_or_less_of_a_count() {
        let board = Board::ideal(Strategy::Anchored, 64, 1_000).on("atmega328p", 16_000_000);
        assert_eq!(rounding(&board, 1_000), 0.0, "250 counts");
        assert_eq!(rounding(&board, 1_001), 48.0, "a quarter of a count of 64 cycles, or three");
        assert_eq!(rounding(&board, 1_003), 48.0);
    }

    #[test]
    fn a_scenario_lies_in_memory_as_the_firmware_has_it() {
        let bytes = Scenario { sleeps: true, base: 0x1234, ..Scenario::at_once(7, [4, 3, 2, 1, 0]) }.bytes();
        assert_eq!(bytes.len(), 20 + 10 + 5 + 2 + 12 + 1);
        assert_eq!((bytes[0], bytes[30], bytes[35], bytes[49]), (7, 4, 0x34, 1));
    }
}
