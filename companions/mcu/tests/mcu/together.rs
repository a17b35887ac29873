//! The bound of `mcu recommend` for several alarms is never below the deviation on the simulated chip, and
//! not much above it.

use jitterlab_mcu::several_alarms::{
    AlarmRequirement, AlarmsFirmware, DeviationBounds, ITERATION_CYCLES, LongestBlocking, MAX_ALARMS,
    Overload, Scenario, bound_deviations, largest_deviation, lock_iterations,
};
use jitterlab_mcu::{Board, Strategy, firmware};

use super::bench;

/// Pseudo-random numbers, the same at every run (Marsaglia's xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit.max(1)
    }

    fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u64) as usize]
    }

    fn order(&mut self, alarms: usize) -> [u8; MAX_ALARMS] {
        let mut order = [0, 1, 2, 3, 4];
        for k in (1..alarms).rev() {
            order.swap(k, self.below(k as u64 + 1) as usize);
        }
        order
    }
}

struct Set {
    board: Board,
    needs: Vec<AlarmRequirement>,
    longest: LongestBlocking,
}

/// Two to five alarms that the board keeps, with locks and handlers, if the processor can do all that.
fn random_set(random: &mut Random) -> Set {
    let strategy = random.one_of(&[Strategy::Anchored, Strategy::Anchored, Strategy::Periodic]);
    // A tick of a millisecond is a fractional number of cycles at 7.3728 MHz.
    let clock_hz = match strategy {
        Strategy::Periodic => random.one_of(&[1_000_000, 8_000_000, 16_000_000]),
        _ => random.one_of(&[1_000_000, 7_372_800, 8_000_000, 16_000_000]),
    };
    let prescaler = match strategy {
        Strategy::Periodic => random.one_of(&[1, 8]),
        _ => random.one_of(&firmware::PRESCALERS),
    };
    let alarms = 2 + random.below(4);
    let unit = if strategy == Strategy::Periodic { 1_000 } else { random.one_of(&[1, 10, 100, 1_000]) };
    // 2 000 cycles at least, so that five events find time.
    let shortest = 2_000_000_000 / u64::from(clock_hz) / unit + 1;
    let needs: Vec<AlarmRequirement> = (0..alarms)
        .map(|_| {
            let period_us = ((shortest + random.below(20_000 / unit)) * unit) as u32;
            AlarmRequirement { period_us, tolerance_us: 1_000 }
        })
        .collect();
    let longest = needs.iter().map(|need| need.period_us).max().unwrap();
    let ideal = Board::with_ideal_timing(strategy, prescaler, longest).with_chip("atmega328p", clock_hz);
    let turns = |turns: u64| turns * u64::from(ITERATION_CYCLES);
    let longest = LongestBlocking { lock: turns(4 + random.below(300)), handler: turns(random.below(60)) };
    Set { board: Board { tick_us: 1_000, inexact: false, ..ideal }, needs, longest }
}

/// The critical instant of each alarm, then any.
fn scenario(number: usize, firmware: &AlarmsFirmware, set: &Set, random: &mut Random) -> Scenario {
    let (first_us, alarms) = (firmware.shortest_first_us(), set.needs.len());
    if number < alarms {
        return firmware.critical_instant(number, set.longest);
    }
    // Around the same time, within the duration of all of them.
    let mut scenario = Scenario {
        handler_iterations: (set.longest.handler / u64::from(ITERATION_CYCLES)) as u32,
        lock_iterations: lock_iterations(set.longest.lock as f64),
        gap_iterations: random.below(100) as u32,
        ..Scenario::all_due_at_once(first_us, random.order(alarms))
    };
    let periodic = set.board.strategy == Strategy::Periodic;
    let spread_us = (1_500 * 1_000_000 / u64::from(set.board.clock_hz)).max(1);
    for k in 0..alarms {
        if periodic {
            scenario.first_us[k] = first_us * (1 + random.below(2)) as u32;
        } else {
            scenario.first_us[k] += random.below(spread_us) as u32;
            scenario.offset[k] = random.below(u64::from(400 / set.board.prescaler) + 1) as u16;
        }
    }
    scenario.base = if periodic { 0 } else { random.below(60_000) as u16 };
    scenario
}

#[test]
fn the_worst_that_is_said_is_never_passed_and_nearly_reached() {
    let Some(compiler) = bench() else { return };
    let sets: u64 = std::env::var("JITTERLAB_SETS").map_or(24, |sets| sets.parse().unwrap());
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut judged = 0;
    for _ in 0..sets {
        let set = random_set(&mut random);
        let periods: Vec<u32> = set.needs.iter().map(|need| need.period_us).collect();
        let firmware = AlarmsFirmware::build(&set.board, &periods, &compiler).unwrap();
        let DeviationBounds { alarms, overload, .. } =
            bound_deviations(&firmware, &set.needs, set.longest).unwrap();
        if overload.is_some() {
            assert!(alarms.iter().all(|alarm| alarm.worst_us.is_none()));
            continue;
        }
        judged += 1;
        let mut seen = alarms.iter().filter_map(|alarm| alarm.seen_us).fold(0.0, f64::max);
        for number in 0..24 {
            let scenario = scenario(number, &firmware, &set, &mut random);
            let log = firmware.run(&scenario, 600_000, None);
            for (k, alarm) in alarms.iter().enumerate() {
                let period_cycles = f64::from(alarm.period_us) * f64::from(set.board.clock_hz) / 1e6;
                let Some(off) = largest_deviation(&log, k, period_cycles) else { continue };
                let off_us = off * 1e6 / f64::from(set.board.clock_hz);
                assert!(
                    off_us <= alarm.worst_us.unwrap(),
                    "{off_us} us of alarm {k}: {alarms:?}, {:?}, {:?}, {scenario:?}",
                    set.board,
                    set.longest
                );
                seen = seen.max(off_us);
            }
        }
        let said = alarms.iter().filter_map(|alarm| alarm.worst_us).fold(0.0, f64::max);
        let context =
            || format!("{said} us said, {seen} us seen: {alarms:?}, {:?}, {:?}", set.board, set.longest);
        eprintln!("{}", context());
        assert!(said <= (seen + 2.0).max(seen * 1.2), "{}", context());
    }
    assert!(judged * 2 > sets, "{judged} of {sets}");
}

/// Handlers that take all of the processor, and such as keep the counter waiting for too long, have no worst case.
#[test]
fn an_overload_is_said_and_no_number() {
    let Some(compiler) = bench() else { return };
    let board = Board {
        inexact: false,
        ..Board::with_ideal_timing(Strategy::Anchored, 1, 10_000).with_chip("atmega328p", 16_000_000)
    };
    let needs = [1_000, 10_000].map(|period_us| AlarmRequirement { period_us, tolerance_us: 100 });
    let firmware = AlarmsFirmware::build(&board, &[1_000, 10_000], &compiler).unwrap();
    let of = |longest| {
        let found = bound_deviations(&firmware, &needs, longest).unwrap();
        (found.overload, found.alarms[0].worst_us.is_some())
    };
    assert_eq!(of(LongestBlocking::default()), (None, true));
    assert_eq!(of(LongestBlocking { lock: 0, handler: 16_000 }), (Some(Overload::Processor), false));
    assert_eq!(of(LongestBlocking { lock: 17_000, handler: 0 }), (Some(Overload::Counter), false));
}
