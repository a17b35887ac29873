//! Recommended strategy and prescaler: found by measuring all of them, with all alarms in one firmware.
use jitterlab_model::Error;
use serde::Serialize;

use super::firmware::PRESCALERS;
use super::several_alarms::{
    self, AlarmRequirement, AlarmsFirmware, EVENT_CYCLES, LongestBlocking, MAX_ALARMS, Overload, WorstAlarm,
};
use super::{Board, Compiler, Strategy, workers};

/// A way to use the timer for some periods, measured with all alarms in one firmware.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Choice {
    pub strategy: Strategy,
    pub prescaler: u16,
    /// Tick of the strategy periodic in microseconds: the greatest common divisor of the periods.
    pub tick_us: Option<u32>,
    /// True if every distance of two events is within its tolerance.
    pub fits: bool,
    /// The largest deviation of a distance from its period in microseconds, over all alarms; `None` if it is unbounded.
    pub worst_us: Option<f64>,
    pub overload: Option<Overload>,
    /// Share of the processor used by interrupts and handlers, 0 to 1.
    pub busy_share: f64,
    pub interrupts_per_s: f64,
    pub alarms: Vec<WorstAlarm>,
}

/// Choices of strategy and prescaler for the needed periods.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct McuRecommendation {
    pub mcu: String,
    pub clock_hz: u32,
    pub lock_ns: i64,
    pub handler_ns: i64,
    pub choices: Vec<Choice>,
}

/// Requirements on a chip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChipRequirements {
    pub mcu: String,
    pub clock_hz: u32,
    /// The alarms, five at most.
    pub needs: Vec<AlarmRequirement>,
    /// The longest stretch with interrupts off outside of the alarms' handlers, in ns.
    pub lock_ns: i64,
    pub handler_ns: i64,
}

impl ChipRequirements {
    fn longest_blocking(&self) -> LongestBlocking {
        let cycles = |ns: i64| (ns.unsigned_abs() as f64 * f64::from(self.clock_hz) / 1e9).ceil() as u64;
        LongestBlocking { lock: cycles(self.lock_ns), handler: cycles(self.handler_ns) }
    }
}

/// Measures every strategy with every prescaler; returns the choices, the best first.
/// The best is one that fits, uses about the least of the processor, and is most exact.
pub fn recommend(
    wanted: &ChipRequirements,
    compiler: &Compiler,
    done: &(dyn Fn(usize, usize) + Sync),
) -> Result<Vec<Choice>, Error> {
    let periods: Vec<u32> = wanted.needs.iter().map(|need| need.period_us).collect();
    let (Some(longest), Some(shortest)) = (periods.iter().copied().max(), periods.iter().copied().min())
    else {
        return Err(Error::bad_use("no period was given").remedy("say what is needed, such as 20ms:50us"));
    };
    if periods.len() > MAX_ALARMS {
        return Err(Error::bad_use(format!("{} alarms are more than can be judged together", periods.len()))
            .remedy(format!("give the {MAX_ALARMS} that come most often")));
    }
    let tick_us = periods.iter().copied().fold(0, gcd);
    let boards: Vec<Board> = candidate_boards(&wanted.mcu, wanted.clock_hz, shortest, longest, tick_us);
    if boards.is_empty() {
        return Err(Error::bad_use(format!(
            "no prescaler of timer 1 at {} Hz can time {shortest} us: it is below one count \
             of all of them",
            wanted.clock_hz
        )));
    }
    let measure = |board: &Board| {
        let firmware = AlarmsFirmware::build(board, &periods, compiler)?;
        Ok(choice_from_bounds(
            board,
            &wanted.needs,
            several_alarms::bound_deviations(&firmware, &wanted.needs, wanted.longest_blocking())?,
        ))
    };
    let mut choices = workers::map_in_parallel(&boards, measure, done)?;
    sort_by_preference(&mut choices);
    Ok(choices)
}

fn choice_from_bounds(
    board: &Board,
    needs: &[AlarmRequirement],
    found: several_alarms::DeviationBounds,
) -> Choice {
    let keeps = |(alarm, need): (&WorstAlarm, &AlarmRequirement)| {
        alarm.worst_us.is_some_and(|worst| worst <= f64::from(need.tolerance_us))
    };
    Choice {
        strategy: board.strategy,
        prescaler: board.prescaler,
        tick_us: (board.strategy == Strategy::Periodic).then_some(board.tick_us),
        fits: found.alarms.iter().zip(needs).all(keeps),
        worst_us: found
            .alarms
            .iter()
            .map(|alarm| alarm.worst_us)
            .try_fold(0.0, |worst, one| Some(f64::max(worst, one?))),
        overload: found.overload,
        busy_share: found.busy_share,
        interrupts_per_s: found.interrupts_per_s,
        alarms: found.alarms,
    }
}

/// Sorts those that fit before the others. Of those that fit, the ones that use about the least of the
/// processor (at most a tenth more than the least) come first, ordered by exactness, then the rest by their
/// use. Those that do not fit are ordered by their deviation.
fn sort_by_preference(choices: &mut [Choice]) {
    let least = choices.iter().filter(|c| c.fits).map(|c| c.busy_share).fold(f64::INFINITY, f64::min);
    let class = |c: &Choice| match c.fits {
        true if c.busy_share <= 1.1 * least => (0, c.worst_us.unwrap_or(f64::INFINITY)),
        true => (1, c.busy_share),
        false => (2, c.worst_us.unwrap_or(f64::INFINITY)),
    };
    choices.sort_by(|a, b| {
        let ((a_class, a), (b_class, b)) = (class(a), class(b));
        a_class.cmp(&b_class).then(a.total_cmp(&b))
    });
}

/// Boards of both exact strategies with each prescaler whose timer can time the periods.
/// A tick is tried only if it leaves time between two ticks.
fn candidate_boards(mcu: &str, clock_hz: u32, shortest: u32, longest: u32, tick_us: u32) -> Vec<Board> {
    let mut boards = Vec::new();
    // The paper's single shot loses time at every event; one that keeps its periods is anchored.
    for strategy in [Strategy::Periodic, Strategy::Anchored] {
        for prescaler in PRESCALERS {
            let board = Board {
                mcu: mcu.into(),
                clock_hz,
                prescaler,
                strategy,
                max_period_us: longest,
                tick_us,
                inexact: false,
                compare_as_paper: false,
            };
            if can_time_periods(&board, shortest) {
                boards.push(board);
            }
        }
    }
    boards
}

fn can_time_periods(board: &Board, shortest_us: u32) -> bool {
    let counts = |us: u32| f64::from(us) * board.timer_hz() / 1e6;
    let cycles = |us: u32| f64::from(us) * f64::from(board.clock_hz) / 1e6;
    let in_general = counts(shortest_us) >= 1.0 && counts(board.max_period_us) < f64::from(1u32 << 30);
    in_general
        && match board.strategy {
            Strategy::Periodic => {
                counts(board.tick_us).fract() == 0.0 && cycles(board.tick_us) >= f64::from(EVENT_CYCLES)
            }
            Strategy::SingleShot | Strategy::Anchored => cycles(shortest_us) >= f64::from(EVENT_CYCLES),
        }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_equation_1_allows_is_tried() {
        let boards = candidate_boards("atmega328p", 8_000_000, 100, 100, 100);
        assert!(boards.iter().all(|b| b.prescaler <= 256), "a count of 128 us is too long for 100 us");
        assert!(boards.iter().any(|b| b.strategy == Strategy::Anchored && b.prescaler == 1));
        assert!(!boards.iter().any(|b| b.strategy == Strategy::SingleShot));
    }

    #[test]
    fn of_what_costs_about_the_same_the_most_exact_is_best() {
        let choice = |prescaler, fits, busy_share, worst_us| Choice {
            strategy: Strategy::Anchored,
            prescaler,
            tick_us: None,
            fits,
            worst_us: Some(worst_us),
            overload: None,
            busy_share,
            interrupts_per_s: 0.0,
            alarms: Vec::new(),
        };
        let mut choices = vec![
            choice(1, true, 0.05, 0.0),
            choice(2, false, 0.001, 20.0),
            choice(3, true, 0.0100, 9.0),
            choice(4, true, 0.0109, 3.0),
        ];
        sort_by_preference(&mut choices);
        assert_eq!(choices.iter().map(|c| c.prescaler).collect::<Vec<_>>(), [4, 3, 1, 2]);
    }

    #[test]
    fn the_tick_is_the_common_divisor() {
        assert_eq!([20_000, 30_000, 50_000].into_iter().fold(0, gcd), 10_000);
    }
}
