//! rt-tests' oslat as text: for each core a histogram of how long its busy loop stood still.
//!
//! Bins are named by their upper edge, and the last one holds everything above as well. There is a value for each pass of
//! the loop, and nothing periodic.

use jitterlab_model::Warning;
use jitterlab_model::warning::Aperiodic;

use super::statement::{Statement, Statements};
use super::text::{lines, numbers, us};
use super::{Hints, Import, ImportError, Importer, Input, Period, TaskDetails};
use crate::error::Unreadable;

pub(super) const IMPORTER: Importer = Importer { name: "oslat", recognise, parse };

fn recognise(input: &Input) -> bool {
    lines(input.text).any(|(_, line)| value(line, "Counter Freq").is_some())
        && lines(input.text).any(|(_, line)| line.contains("(us):"))
}

/// Text after a name and its colon, without units in parentheses.
fn value<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (_, values) = line.split_once(':').filter(|(before, _)| before.trim() == name)?;
    Some(values.split('(').next().unwrap_or(values).trim())
}

fn parse(input: &Input, _: &Hints) -> Result<Import, ImportError> {
    let mut import = Import::new("oslat", "TSC");
    let mut cores: Vec<u16> = Vec::new();
    let mut bins: Vec<(i64, Vec<u64>)> = Vec::new();
    let mut figures = [const { Vec::new() }; 3];
    const FIGURES: [&str; 3] = ["Minimum", "Average", "Maximum"];
    for (number, line) in lines(input.text) {
        if let Some(listed) = value(line, "Core") {
            if !cores.is_empty() {
                return Err(Unreadable::SecondMeasurement.at_line(number));
            }
            cores = numbers(listed)
                .ok_or_else(|| Unreadable::unexpected(listed, "a row of numbers").at_line(number))?;
        } else if let Some((edge, counts)) = line.split_once("(us):").filter(|(edge, _)| !edge.contains(':'))
        {
            let edge =
                edge.trim().parse().map_err(|_| Unreadable::unexpected(edge, "a bin").at_line(number))?;
            let counts = counts.split('(').next().unwrap_or(counts);
            let counts: Vec<u64> =
                numbers(counts).ok_or_else(|| Unreadable::unexpected(counts, "a count").at_line(number))?;
            if counts.len() != cores.len() {
                return Err(
                    Unreadable::CountsOfRow { counts: counts.len(), columns: cores.len() }.at_line(number)
                );
            }
            bins.push((us(edge), counts));
        }
        for (name, values) in FIGURES.iter().zip(&mut figures) {
            if let Some(listed) = value(line, name) {
                if !values.is_empty() {
                    return Err(Unreadable::SecondMeasurement.at_line(number));
                }
                *values = numbers::<f64>(listed)
                    .ok_or_else(|| Unreadable::unexpected(listed, "a row of numbers").at_line(number))?;
            }
        }
    }
    for (column, cpu) in cores.into_iter().enumerate() {
        let [min, avg, max] = figures.each_ref().map(|values| values.get(column).copied());
        let (Some(min), Some(avg), Some(max)) = (min, avg, max) else {
            return Err(Unreadable::Cut.into());
        };
        let of_core = bins.iter().map(|(edge, counts)| (*edge, counts[column])).collect();
        let details = TaskDetails::new(format!("cpu{cpu}"), Period::None).on_cpu(Some(cpu));
        import.add_latencies(details, &statements([min, avg, max], of_core));
    }
    import.warn(Warning::NoPeriod { tool: "oslat".into(), measures: Aperiodic::Gaps });
    import.complete()
}

/// Statements about a core by its extremes, in microseconds, and by the upper edges of its bins.
pub(super) fn statements([min, mean, max]: [f64; 3], mut bins: Vec<(i64, u64)>) -> Statements {
    // Whole units: a largest of 5 us may be 5.9 us.
    let mut stated = Statements::with_unit(1_000);
    stated.add([Statement::Min(us(min)), Statement::Mean(mean * 1_000.0), Statement::Max(us(max))]);
    bins.sort_unstable();
    let width = bins.windows(2).map(|pair| pair[1].0 - pair[0].0).filter(|w| *w > 0).min().unwrap_or(1_000);
    let last = bins.last().map_or(0, |bin| bin.0);
    for (edge, count) in bins {
        let low = edge.saturating_sub(width);
        if edge == last {
            stated.add([Statement::Overflow { from: low, count }]);
        } else {
            stated.add_bin(low, edge, count);
        }
    }
    stated
}
