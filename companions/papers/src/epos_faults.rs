//! Table 1 of the EPOS paper, searched for faults of programming the timer that give its cells.

use jitterlab_mcu::Strategy;

use crate::epos::{PERIODS_US, PRESCALERS, printed_period_us, timer_hz};

/// A way to program the timer wrongly.
#[derive(Debug, Clone, Copy)]
pub struct Fault {
    pub rounding: Rounding,
    /// Counts too many in the compare register.
    pub excess: u32,
    /// From a match to the moment from which the next period counts; negative where that lies before.
    pub late_us: i32,
}

/// A way to make whole counts of a period, in words and in numbers.
type Rounding = (&'static str, fn(f64) -> f64);

const ROUNDINGS: [Rounding; 3] =
    [("to the nearest count", f64::round), ("down", f64::floor), ("up", f64::ceil)];

/// A printed cell with the fault that gives it.
#[derive(Debug, Clone, Copy)]
pub struct FaultyCell {
    pub period_us: u32,
    /// Printed, in counts of the timer.
    pub counts: f64,
    /// A fault of its own, besides that of all; `None` for a cell that no fault of the search gives.
    pub fault: Option<Fault>,
}

/// Faults of one column of the paper's table.
#[derive(Debug, Clone)]
pub struct FaultSearch {
    pub strategy: Strategy,
    pub timer_hz: f64,
    /// The one fault that gives most cells.
    pub common: Fault,
    pub explained: usize,
    pub others: Vec<FaultyCell>,
}

/// Cells are printed in whole microseconds, means of ten intervals.
const TOLERANCE_US: f64 = 2.0;

/// The longest delay of the search: below two counts of the slowest clock.
const MAX_DELAY_US: i32 = 40;

/// Numbers of times that the hardware may be programmed within a period that it does not time alone.
const HARDWARE_PERIODS: [f64; 6] = [1.0, 2.0, 10.0, 20.0, 100.0, 1_000.0];

impl Fault {
    /// True if the fault gives this printed mean period.
    fn explains(self, printed_us: f64, period_us: f64, hz: f64) -> bool {
        let wanted = period_us * hz / 1e6;
        let counts = self.rounding.1(wanted);
        let exact_us = counts.max(1.0) * 1e6 / hz;
        let each_us = f64::from(self.excess) * 1e6 / hz + f64::from(self.late_us);
        let alone = wanted < 60_000.0;
        let near = |periods: &f64| (exact_us + periods * each_us - printed_us).abs() <= TOLERANCE_US;
        HARDWARE_PERIODS.iter().take(if alone { 1 } else { HARDWARE_PERIODS.len() }).any(near)
    }
}

/// Every fault with these delays and at most this excess, in the order of the delays, the least excess first.
fn all_faults(most_excess: u32, late_us: Vec<i32>) -> impl Iterator<Item = Fault> {
    late_us.into_iter().flat_map(move |late_us| {
        let of_excess = move |excess| ROUNDINGS.map(|rounding| Fault { rounding, excess, late_us });
        (0..=most_excess).flat_map(of_excess)
    })
}

/// For each column the fault that gives most of its cells, and a fault for each other cell.
pub fn search_faults() -> Vec<FaultSearch> {
    let columns = Strategy::ALL.into_iter().flat_map(|strategy| PRESCALERS.map(|clock| (strategy, clock)));
    columns.filter_map(|(strategy, prescaler)| search_column(strategy, prescaler)).collect()
}

/// Fault that gives most cells of a column, and one for each other cell; `None` if no fault gives any.
fn search_column(strategy: Strategy, prescaler: u16) -> Option<FaultSearch> {
    let timer_hz = timer_hz(prescaler);
    let printed = |us: u32| Some((us, f64::from(printed_period_us(strategy, prescaler, us)?)));
    let cells: Vec<(u32, f64)> = PERIODS_US.into_iter().filter_map(printed).collect();
    let gives = |fault: &Fault, (period_us, printed_us): (u32, f64)| {
        fault.explains(printed_us, f64::from(period_us), timer_hz)
    };
    let delays_us = (0..=MAX_DELAY_US).flat_map(|us| [us, -us]).collect();
    let counted = all_faults(2, delays_us)
        .map(|fault| (cells.iter().filter(|cell| gives(&fault, **cell)).count(), fault));
    // Of those that give as many the first, which is the least.
    let (explained, common) = counted.reduce(|best, next| if next.0 > best.0 { next } else { best })?;
    let others = cells.iter().filter(|cell| !gives(&common, **cell)).map(|cell| FaultyCell {
        period_us: cell.0,
        counts: cell.1 * timer_hz / 1e6,
        fault: all_faults(8, vec![0, common.late_us]).find(|fault| gives(fault, *cell)),
    });
    (explained > 0).then(|| FaultSearch { strategy, timer_hz, common, explained, others: others.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_too_many_gives_the_periodic_column_from_10_ms_on_and_four_cells_stay_unexplained() {
        let found = search_faults();
        let (periodic, shots) = found.split_at(3);
        for column in periodic {
            assert_eq!((column.common.excess, column.common.late_us), (1, 0), "{column:?}");
            assert!(
                column.explained >= 4 && column.others.iter().all(|cell| cell.period_us <= 1_000),
                "{column:?}"
            );
            assert!(column.others.iter().all(|cell| cell.fault.is_some()), "{column:?}");
        }
        let open: Vec<u32> = shots
            .iter()
            .flat_map(|column| &column.others)
            .filter(|cell| cell.fault.is_none())
            .map(|cell| cell.period_us)
            .collect();
        assert_eq!(open, [10_000_000, 10_000_000, 1_000_000, 10_000_000]);
        assert_eq!(found.iter().map(|column| column.explained + column.others.len()).sum::<usize>(), 36);
    }
}
