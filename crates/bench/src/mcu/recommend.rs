//! Which strategy and which prescaler: found by measuring every one of them.

use super::firmware::PRESCALERS;
use super::sweep::{self, Cell};
use super::{AlarmFigures, Board, Choice, Compiler, McuError, Strategy};

/// The library refuses what is shorter (its trait `EVENT_CYCLES`).
const EVENT_CYCLES: f64 = 400.0;

/// A period that is needed, and how exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    /// The period.
    pub period_us: u32,
    /// How much any distance of two events may differ from it.
    pub tolerance_us: u32,
}

/// Measures every strategy with every prescaler; the best comes first: what fits, takes about the least of the processor,
/// and drifts least.
///
/// # Errors
/// No need, a period of nothing, a chip or clock that cannot be simulated.
pub fn recommend(
    mcu: &str,
    clock_hz: u32,
    needs: &[Need],
    compiler: &Compiler,
    done: &(dyn Fn(usize, usize) + Sync),
) -> Result<Vec<Choice>, McuError> {
    let (Some(longest), Some(shortest)) =
        (needs.iter().map(|n| n.period_us).max(), needs.iter().map(|n| n.period_us).min())
    else {
        return Err(McuError::NoNeed);
    };
    let tick_us = needs.iter().fold(0, |tick, need| gcd(tick, need.period_us));
    let boards: Vec<Board> = candidates(mcu, clock_hz, shortest, longest, tick_us);
    if boards.is_empty() {
        return Err(McuError::TooShort { clock_hz, shortest_us: shortest });
    }
    let cells: Vec<Cell> = boards
        .iter()
        .flat_map(|board| {
            let board = board.clone();
            needs.iter().map(move |need| Cell {
                board: board.clone(),
                period_us: need.period_us,
                events: events(need.period_us),
            })
        })
        .collect();
    let results = sweep::measure_all(&cells, compiler, done)?;
    let alarms: Vec<AlarmFigures> = results.into_iter().map(|r| r.figures).collect();
    let by_board = alarms.chunks(needs.len()).zip(&boards);
    let mut choices: Vec<Choice> = by_board.map(|(alarms, board)| judge(board, needs, alarms)).collect();
    rank(&mut choices);
    Ok(choices)
}

/// What fits before what does not; of what fits, those that take about the least of the processor (a tenth more than the
/// least at most), least drift first; then the others by what they take. What does not fit, by how far it is off.
fn rank(choices: &mut [Choice]) {
    let least = choices.iter().filter(|c| c.fits).map(|c| c.busy_share).fold(f64::INFINITY, f64::min);
    let class = |c: &Choice| match c.fits {
        true if c.busy_share <= 1.1 * least => (0, c.drift_ppm),
        true => (1, c.busy_share),
        false => (2, c.worst_us),
    };
    choices.sort_by(|a, b| {
        let ((a_class, a), (b_class, b)) = (class(a), class(b));
        a_class.cmp(&b_class).then(a.total_cmp(&b))
    });
}

/// Boards that equation 1 allows. A tick is worth a try only while it leaves time between two ticks.
fn candidates(mcu: &str, clock_hz: u32, shortest: u32, longest: u32, tick_us: u32) -> Vec<Board> {
    let mut boards = Vec::new();
    for strategy in Strategy::ALL {
        for prescaler in PRESCALERS {
            let board = Board {
                mcu: mcu.into(),
                clock_hz,
                prescaler,
                strategy,
                max_period_us: longest,
                tick_us,
                // A single shot that keeps its periods is anchored.
                inexact: strategy == Strategy::SingleShot,
                compare_as_paper: false,
            };
            if is_possible(&board, shortest) {
                boards.push(board);
            }
        }
    }
    boards
}

fn is_possible(board: &Board, shortest_us: u32) -> bool {
    let counts = |us: u32| f64::from(us) * board.timer_hz() / 1e6;
    let tick_cycles = f64::from(board.tick_us) * f64::from(board.clock_hz) / 1e6;
    let in_general = counts(shortest_us) >= 1.0 && counts(board.max_period_us) < f64::from(1u32 << 30);
    in_general
        && match board.strategy {
            Strategy::Periodic => counts(board.tick_us).fract() == 0.0 && tick_cycles >= EVENT_CYCLES,
            // Beyond 16 bits a tick is counted in software, and the shortest period must be several of them.
            Strategy::SingleShot => {
                counts(board.max_period_us) <= 65_535.0 || shortest_us >= 2 * board.software_tick_us()
            }
            Strategy::Anchored => f64::from(shortest_us) * f64::from(board.clock_hz) / 1e6 >= EVENT_CYCLES,
        }
}

/// Enough to see a fraction of a count come round, not more than a minute of simulated time.
fn events(period_us: u32) -> u32 {
    (60_000_000 / period_us.max(1)).clamp(11, 200)
}

fn judge(board: &Board, needs: &[Need], alarms: &[AlarmFigures]) -> Choice {
    let worst = |r: &AlarmFigures| r.min_error_us.abs().max(r.max_error_us.abs());
    Choice {
        strategy: board.strategy,
        prescaler: board.prescaler,
        tick_us: (board.strategy == Strategy::Periodic).then_some(board.tick_us),
        fits: needs.iter().zip(alarms).all(|(need, r)| worst(r) <= f64::from(need.tolerance_us)),
        worst_us: alarms.iter().map(worst).fold(0.0, f64::max),
        drift_ppm: alarms.iter().map(drift_ppm).fold(0.0, f64::max),
        busy_share: busy_share(board, alarms),
        alarms: alarms.to_vec(),
    }
}

/// Anchored carries every fraction: what its measured mean is off by is how the last event's way to its handler differs
/// from the first's, and does not accumulate.
fn drift_ppm(alarm: &AlarmFigures) -> f64 {
    match alarm.strategy {
        Strategy::Anchored => 0.0,
        _ => (alarm.mean_error_us() / f64::from(alarm.period_us) * 1e6).abs(),
    }
}

/// Ticks are paid once however many alarms there are; events are paid by each.
fn busy_share(board: &Board, alarms: &[AlarmFigures]) -> f64 {
    let share = |r: &AlarmFigures| r.cycles_per_event / (r.mean_period_us * f64::from(board.clock_hz) / 1e6);
    if board.strategy != Strategy::Periodic {
        return alarms.iter().map(share).sum();
    }
    let per_second = |r: &AlarmFigures| 1e6 / r.mean_period_us;
    let hz = f64::from(board.clock_hz);
    let ticks_per_s = alarms.iter().map(|r| r.interrupts_per_s).fold(0.0, f64::max);
    let tick = alarms.iter().map(|r| r.shortest_interrupt_cycles).min().unwrap_or_default() as f64;
    let events: f64 =
        alarms.iter().map(|r| per_second(r) * (r.longest_interrupt_cycles as f64 - tick).max(0.0)).sum();
    (ticks_per_s * tick + events) / hz
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_equation_1_allows_is_tried() {
        let boards = candidates("atmega328p", 8_000_000, 100, 100, 100);
        assert!(boards.iter().all(|b| b.prescaler <= 256), "a count of 128 us is too long for 100 us");
        assert!(boards.iter().any(|b| b.strategy == Strategy::Anchored && b.prescaler == 1));
        let slow = candidates("atmega328p", 8_000_000, 1_000, 10_000_000, 1_000);
        assert!(
            !slow.iter().any(|b| b.strategy == Strategy::SingleShot),
            "10 s is beyond 16 bits, 1 ms below its tick"
        );
    }

    #[test]
    fn of_what_costs_about_the_same_the_one_that_drifts_least_is_best() {
        let choice = |prescaler, fits, busy_share, drift_ppm| Choice {
            strategy: Strategy::Anchored,
            prescaler,
            tick_us: None,
            fits,
            worst_us: 1.0,
            drift_ppm,
            busy_share,
            alarms: Vec::new(),
        };
        let mut choices = vec![
            choice(1, true, 0.05, 0.0),
            choice(2, false, 0.001, 0.0),
            choice(3, true, 0.0100, 2_000.0),
            choice(4, true, 0.0109, 3.0),
        ];
        rank(&mut choices);
        assert_eq!(choices.iter().map(|c| c.prescaler).collect::<Vec<_>>(), [4, 3, 1, 2]);
    }

    #[test]
    fn the_tick_is_the_common_divisor() {
        assert_eq!([20_000, 30_000, 50_000].into_iter().fold(0, gcd), 10_000);
    }
}
