//! Tables of samples: a line for each time, a column for each channel.

use super::super::text::decimal_ns;
use super::super::{Hints, Import, Mistake};
use super::{Channel, threshold};
use crate::error::{Unreadable, Wanted};

/// Source of a table's times.
#[derive(Debug, Clone, Copy)]
pub(super) enum Times {
    /// In its first column, in this unit.
    First {
        /// The unit.
        unit_ns: i64,
    },
    /// Nowhere: its lines are so far apart.
    Lines {
        /// Time of the first sample.
        first_ns: f64,
        /// The distance.
        step_ns: f64,
    },
}

/// A table before its levels are known.
pub(super) struct Table {
    names: Vec<String>,
    times_ns: Vec<i64>,
    columns: Vec<Vec<f64>>,
}

impl Table {
    /// Reads lines of numbers with commas between them. `first` is the column of the first channel; text after the last
    /// one is left out.
    pub(super) fn read<'a>(
        names: Vec<String>,
        first: usize,
        times: Times,
        lines: impl Iterator<Item = (usize, &'a str)>,
    ) -> Result<Self, Mistake> {
        let channels = names.len();
        let mut table = Table { columns: vec![Vec::new(); names.len()], names, times_ns: Vec::new() };
        // Some scopes end with a time that has no sample any more.
        let is_sample = |line: &str| {
            let mut values = line.split(',').skip(first).take(channels);
            values.any(|cell| !cell.trim().is_empty())
        };
        for (number, line) in lines.filter(|(_, line)| is_sample(line)) {
            let mut cells = line.split(',').map(str::trim);
            let at = match times {
                Times::First { unit_ns } => {
                    let cell = cells.clone().next().unwrap_or_default();
                    decimal_ns(cell, unit_ns).ok_or_else(|| Unreadable::not(cell, Wanted::Time).at(number))?
                }
                Times::Lines { first_ns, step_ns } => {
                    (first_ns + step_ns * table.times_ns.len() as f64).round() as i64
                }
            };
            if table.times_ns.last().is_some_and(|before| *before > at) {
                return Err(Unreadable::Backwards.at(number));
            }
            table.times_ns.push(at);
            let mut values = cells.by_ref().skip(first);
            for column in &mut table.columns {
                let cell = values.next().ok_or_else(|| Unreadable::not(line, Wanted::Row).at(number))?;
                let value = cell.parse::<f64>().ok().filter(|value| value.is_finite());
                column.push(value.ok_or_else(|| Unreadable::not(cell, Wanted::Time).at(number))?);
            }
        }
        Ok(table)
    }

    /// Columns of nothing but 0 and 1 are levels, others voltages.
    pub(super) fn channels(self, import: &mut Import, hints: &Hints) -> Vec<Channel> {
        let Table { names, times_ns, columns } = self;
        let channel = |(name, values): (String, Vec<f64>)| {
            if values.iter().all(|value| *value == 0.0 || *value == 1.0) {
                let mut channel = Channel::new(name);
                times_ns.iter().zip(values).for_each(|(at, value)| channel.see(*at, Some(value == 1.0)));
                channel
            } else {
                let samples = times_ns.iter().map(|at| *at as f64).zip(values).collect();
                threshold::channel(import, &name, &samples, hints.capture.threshold)
            }
        };
        names.into_iter().zip(columns).map(channel).collect()
    }
}
