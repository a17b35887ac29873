//! The paper's figure 7: the effect of the time services on a thread that should not be disturbed.
use jitterlab_model::Error;

use super::run::PinTask;
use super::{Board, Compiler, Interruption, McuRun, Program, Setup, Strategy, ThreadFigures, simulate};

/// Returns the figure's conditions: 8 MHz, timer clock 125 kHz, tick 1 ms, alarm every 20 ms.
pub fn board(strategy: Strategy) -> Board {
    Board {
        mcu: "atmega128".into(),
        clock_hz: 8_000_000,
        prescaler: 64,
        strategy,
        max_period_us: ALARM_US,
        tick_us: 1_000,
        inexact: true,
        compare_as_paper: false,
    }
}

const ALARM_US: u32 = 20_000;

/// Rounds of the thread that are left out at the beginning.
const WARM_UP: usize = 50;

/// The thread under one strategy.
#[derive(Debug, Clone)]
pub struct LedThread {
    pub figures: ThreadFigures,
    /// The rounds as an ordinary run, its period the undisturbed one.
    pub run: McuRun,
}

/// Measures the led thread for a number of rounds, while an alarm interrupts it.
pub fn measure(strategy: Strategy, rounds: usize, compiler: &Compiler) -> Result<LedThread, Error> {
    let board = board(strategy);
    let simulate = |empty_handler: bool, edges: usize| {
        let mut program = Program::with_period("glowing_leds", ALARM_US);
        if empty_handler {
            program = program.with_macro("MCU_EMPTY_HANDLER");
        }
        let firmware = compiler.build(&program, &board)?;
        let setup = firmware.setup(&["B0"], u64::from(board.clock_hz) * 3_600)?;
        simulate(&Setup { max_edges: Some(edges as u64), ..setup })
    };
    let mut recording = simulate(false, 2 * (WARM_UP + rounds) + 3)?;
    recording.log.edges.drain(..2 * WARM_UP);
    let starts: Vec<u64> = recording.log.edge_cycles(0, true).take(rounds + 1).collect();
    let lengths: Vec<u64> = starts.windows(2).map(|w| w[1] - w[0]).collect();
    let round_cycles = lengths.iter().copied().min().unwrap_or_default();
    let mean = lengths.iter().sum::<u64>() as f64 / lengths.len().max(1) as f64;
    let variance =
        lengths.iter().map(|l| (*l as f64 - mean).powi(2)).sum::<f64>() / lengths.len().max(1) as f64;
    let ns_per_cycle = 1e9 / f64::from(board.clock_hz);

    let empty = simulate(true, 20_000)?;
    let shortest = empty.log.vectors.iter().map(|v| v.min_cycles).min().unwrap_or_default();
    let longest = empty.log.vectors.iter().map(|v| v.max_cycles).max().unwrap_or_default();
    let pin_task = PinTask {
        name: format!("leds {strategy}"),
        period: Some(format!("{round_cycles}/{}Hz", board.clock_hz).parse()?),
        ..PinTask::default()
    };
    let figures = ThreadFigures {
        strategy,
        round_cycles,
        rounds: lengths.len() as u64,
        mean_ns: mean * ns_per_cycle,
        standard_deviation_ns: variance.sqrt() * ns_per_cycle,
        interruptions: count_longer_rounds(&lengths, round_cycles),
        event_cycles: longest,
        tick_cycles: (shortest < longest).then_some(shortest),
    };
    Ok(LedThread { figures, run: McuRun::new(&recording, "B0".parse()?, &pin_task)? })
}

fn count_longer_rounds(lengths: &[u64], round_cycles: u64) -> Vec<Interruption> {
    let mut longer: Vec<u64> = lengths.iter().map(|l| l - round_cycles).filter(|l| *l > 0).collect();
    longer.sort_unstable();
    longer
        .chunk_by(|a, b| a == b)
        .map(|same| Interruption { cycles: same[0], rounds: same.len() as u64 })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interruptions_are_counted_by_length() {
        let found = count_longer_rounds(&[100, 147, 100, 376, 147], 100);
        assert_eq!(found, [Interruption { cycles: 47, rounds: 2 }, Interruption { cycles: 276, rounds: 1 }]);
    }
}
