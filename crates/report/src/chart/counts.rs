//! Counts: as bars where there is room, on the terminal as a line for each occupied bin.

use std::fmt::Write as _;

use jitterlab_model::Distribution;
use jitterlab_model::units::Human;

use super::{Axis, Chart, Shape, Terminal};
use crate::words::count;

/// Width to which bins are merged: one in `most` of the axis, or wider if many bars were isolated.
fn step_width(all: &[&Vec<[f64; 3]>], axis: &Axis, (low, high): (f64, f64), most: f64) -> f64 {
    let gaps = |width: f64| {
        let alone = |bins: &&Vec<[f64; 3]>| {
            merge_bins(bins, axis, width).windows(2).filter(|two| two[0][1] < two[1][0]).count()
        };
        all.iter().map(alone).max().unwrap_or(0)
    };
    let widths = COARSER_FACTORS.map(|by| (high - low) * by / most);
    let fewest = widths.into_iter().map(gaps).min().unwrap_or(0);
    widths.into_iter().find(|width| gaps(*width) <= FEW_GAPS.max(fewest)).unwrap_or(widths[0])
}

/// Factors by which steps may be coarser than the drawing could show.
const COARSER_FACTORS: [f64; 5] = [1.0, 1.5, 2.0, 3.0, 4.0];
/// Gaps between steps that are no comb.
const FEW_GAPS: usize = 2;

/// Merges neighbouring bins to bars about `width` wide on the axis; none is lost, none is split. A bar reaches to the
/// next one where no more than one step lies between.
pub(super) fn merge_bins(bins: &[[f64; 3]], axis: &Axis, width: f64) -> Vec<[f64; 3]> {
    let mut bars: Vec<[f64; 3]> = Vec::new();
    for [from, to, count] in bins {
        let reach = |from: f64| Some(axis.position(*to)? - axis.position(from)?);
        match bars.last_mut() {
            Some([first, end, sum]) if reach(*first).is_some_and(|reach| reach <= width) => {
                (*end, *sum) = (*to, *sum + count);
            }
            _ => bars.push([*from, *to, *count]),
        }
    }
    let starts: Vec<f64> = bars.iter().skip(1).map(|bar| bar[0]).collect();
    for (bar, next) in bars.iter_mut().zip(starts) {
        if axis.position(next).zip(axis.position(bar[1])).is_some_and(|(next, end)| next - end <= 2.0 * width)
        {
            bar[1] = next;
        }
    }
    bars
}

/// Lines a histogram takes at most, gaps not counted: a screen without scrolling.
const LINES_AT_MOST: usize = 24;
/// Lines of a histogram that is only glanced at.
const FEW_LINES: usize = 8;
/// Columns next to the bars, for the values.
const RANGE_COLUMNS: usize = 24;
/// Columns next to the bars for the upper end alone, on a narrow terminal.
const UPPER_END_COLUMNS: usize = 10;
const NARROW_TERMINAL: usize = 60;

/// Columns that a bar has at least.
const MIN_BAR_COLUMNS: usize = 6;

/// A line: values from `low_ns` to `high_ns`, both inclusive.
struct CountLine {
    low_ns: i64,
    high_ns: i64,
    count: u64,
}

/// The sub-bin of a value when each power of two is split into `2^bits` parts: equal keys share a line.
fn sub_bin(value_ns: i64, bits: u32) -> (i64, i64) {
    let magnitude = value_ns.unsigned_abs();
    let sign = if value_ns < 0 { -1 } else { 1 };
    let exponent = 63 - magnitude.max(1).leading_zeros();
    let part = magnitude >> exponent.saturating_sub(bits);
    (sign * i64::from(exponent + 1), sign * part as i64)
}

/// Groups bins by equal parts of powers of two, as finely as fits on this many lines.
fn group_bins(bins: &[[f64; 3]], most: usize) -> Vec<CountLine> {
    let grouped = |bits: u32| {
        let mut lines: Vec<CountLine> = Vec::new();
        let mut last = None;
        for [from, to, count] in bins {
            let (low_ns, high_ns, count) = (*from as i64, *to as i64 - 1, *count as u64);
            let this = sub_bin(high_ns, bits);
            match lines.last_mut() {
                Some(line) if last == Some(this) => {
                    line.high_ns = high_ns;
                    line.count += count;
                }
                _ => lines.push(CountLine { low_ns, high_ns, count }),
            }
            last = Some(this);
        }
        lines
    };
    (0..=7).rev().map(grouped).find(|lines| lines.len() <= most).unwrap_or_else(|| grouped(0))
}

impl Shape {
    pub fn from_distribution(values: &Distribution) -> Self {
        let bins = values.bins();
        Shape::Counts(bins.map(|b| [b.low_ns as f64, b.high_ns as f64 + 1.0, b.count as f64]).collect())
    }
}

impl Chart {
    /// The chart with its counts as bars, at most `most` across.
    pub(crate) fn with_bars(mut self, most: f64) -> Self {
        let counted = self.layers.iter().filter_map(|layer| match &layer.shape {
            Shape::Counts(bins) => Some(bins),
            _ => None,
        });
        let width = step_width(&counted.collect::<Vec<_>>(), &self.x, self.ranges()[0], most);
        for layer in &mut self.layers {
            if let Shape::Counts(bins) = &layer.shape {
                layer.shape = Shape::Bars(merge_bins(bins, &self.x, width));
            }
        }
        self
    }
}

impl Terminal {
    /// Draws histograms, layer by layer. Each line shows the interval of its values, a bar with a length
    /// logarithmic in the count, and the count itself; a gap of more than one empty line is marked with dots.
    pub(super) fn counts_text(self, chart: &Chart) -> String {
        let counted = chart.layers.iter().filter_map(|layer| match &layer.shape {
            Shape::Counts(bins) => Some((&layer.name, bins)),
            _ => None,
        });
        let several = counted.clone().count() > 1;
        let scale = format!("{}; bars: logarithm of the count\n", chart.x.title);
        let heading = |name: &str| if several { format!("{name}\n") } else { String::new() };
        let most = if chart.height <= Chart::GLANCE { FEW_LINES } else { LINES_AT_MOST };
        scale
            + &counted
                .map(|(name, bins)| heading(name) + &self.count_lines(bins, most))
                .collect::<Vec<_>>()
                .join("\n")
    }

    fn count_lines(self, bins: &[[f64; 3]], most: usize) -> String {
        let is_narrow = self.columns < NARROW_TERMINAL;
        let label = if is_narrow { UPPER_END_COLUMNS } else { RANGE_COLUMNS };
        let lines = group_bins(bins, most);
        let counts = lines.iter().map(|line| count(line.count).chars().count()).max().unwrap_or(0);
        // Blanks, and a sign that plain characters take two for.
        let width = self.columns.saturating_sub(label + counts + 3).max(MIN_BAR_COLUMNS);
        let most = lines.iter().map(|l| l.count).max().unwrap_or(0);
        let mut out = String::new();
        let mut previous: Option<&CountLine> = None;
        for line in &lines {
            let reach = line.high_ns.saturating_sub(line.low_ns);
            if previous
                .is_some_and(|p| line.low_ns.saturating_sub(p.high_ns) > reach.saturating_mul(2).max(2))
            {
                let _ = writeln!(out, "{:>label$}", if self.ascii { ":" } else { "⋮" });
            }
            let high = Human(line.high_ns as f64);
            let range = if is_narrow {
                format!("≤{high}")
            } else {
                format!("{} .. {high}", Human(line.low_ns as f64))
            };
            let _ = writeln!(
                out,
                "{range:>label$} {} {}",
                log_bar(line.count, most, width, self.ascii),
                count(line.count)
            );
            previous = Some(line);
        }
        out
    }
}

/// A bar for `count`, `width` long for `most`, on a logarithmic scale; one count is visible.
fn log_bar(count: u64, most: u64, width: usize, ascii: bool) -> String {
    let full = (most.max(1) as f64).ln() + 1.0;
    let share = ((count.max(1) as f64).ln() + 1.0) / full;
    let eighths = (share * (width * 8) as f64).round().max(1.0) as usize;
    if ascii {
        return "#".repeat(eighths.div_ceil(8));
    }
    let mut bar = "█".repeat(eighths / 8);
    if let Some(part) = " ▏▎▍▌▋▊▉".chars().nth(eighths % 8).filter(|c| *c != ' ') {
        bar.push(part);
    }
    bar
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: impl IntoIterator<Item = i64>) -> Distribution {
        let mut d = Distribution::new();
        values.into_iter().for_each(|v| d.record(v));
        d
    }

    #[test]
    fn a_single_far_value_has_its_own_line() {
        let d = of((0..100_000).map(|i| 2_000 + i % 300).chain([5_300_000]));
        let Shape::Counts(bins) = Shape::from_distribution(&d) else { panic!("no counts") };
        let text = Terminal { columns: 80, ascii: true, colour: false }.count_lines(&bins, LINES_AT_MOST);
        let last = text.lines().last().unwrap();
        assert!(last.contains("5.3") && last.ends_with(" 1"), "{text}");
        assert!(text.contains(':'));
    }

    #[test]
    fn a_thin_tail_is_steps_and_no_comb() {
        let d = of((0..5_000).map(|i| 10_000 + i % 997).chain((1..60).map(|k| 11_000 + k * 1_700)));
        let Shape::Counts(bins) = Shape::from_distribution(&d) else { panic!("no counts") };
        let axis = Axis::log("");
        let steps = merge_bins(&bins, &axis, step_width(&[&bins], &axis, (4.0, 5.1), 180.0));
        let gaps = steps.windows(2).filter(|two| two[0][1] < two[1][0]).count();
        assert!(steps.len() > 20 && gaps <= FEW_GAPS, "{gaps} gaps in {steps:?}");
    }

    proptest! {
        #[test]
        fn every_value_is_in_a_bar(values in prop::collection::vec(-9_000i64..9_000_000, 1..300), width in 1f64..1e6) {
            let Shape::Counts(bins) = Shape::from_distribution(&of(values.iter().copied())) else { panic!("no counts") };
            let bars = merge_bins(&bins, &Axis::linear(""), width);
            prop_assert_eq!(bars.iter().map(|b| b[2]).sum::<f64>(), values.len() as f64);
            prop_assert!(bars.windows(2).all(|w| w[0][1] <= w[1][0]));
        }

        #[test]
        fn no_count_is_lost_and_the_screen_holds_it(values in prop::collection::vec(-1_000_000i64..10_000_000, 1..500)) {
            let Shape::Counts(bins) = Shape::from_distribution(&of(values.iter().copied())) else { panic!("no counts") };
            let lines = group_bins(&bins, LINES_AT_MOST);
            prop_assert_eq!(lines.iter().map(|l| l.count).sum::<u64>(), values.len() as u64);
            prop_assert!(lines.len() <= 64);
            prop_assert!(lines.windows(2).all(|w| w[0].high_ns < w[1].low_ns));
        }
    }
}
