//! Ranges of a chart's axes, and positions of their ticks.

use super::{Axis, Chart, LINEAR_ZONE_NS, Scale, Shape, time_unit};

/// The ticks of an axis: positions (see [`Axis`]; logarithms on a logarithmic axis) with their words.
pub type Ticks = Vec<(f64, String)>;

/// Free room beyond the outermost values, as a share of the range.
const MARGIN: f64 = 0.04;

impl Chart {
    /// Lowest and highest position on each axis.
    pub(crate) fn ranges(&self) -> [(f64, f64); 2] {
        let held = |axis: &Axis| axis.holds.into_iter().flatten().collect::<Vec<f64>>();
        let (mut x, mut y) = (held(&self.x), held(&self.y));
        let mut foot = false;
        for layer in &self.layers {
            if let Shape::Cells(cells) = &layer.shape {
                let edges = |axis: &Axis, at: f64, size: f64| {
                    let position = axis.position(at).unwrap_or(0.0);
                    [position - size / 2.0, position + size / 2.0].map(|edge| axis.value_at(edge))
                };
                let [w, h] = cells.size;
                x.extend(cells.cells.iter().flat_map(|(at, ..)| edges(&self.x, at[0], w)));
                y.extend(cells.cells.iter().flat_map(|(at, ..)| edges(&self.y, at[1], h)));
                continue;
            }
            foot |= matches!(layer.shape, Shape::Bars(_) | Shape::Counts(_));
            let (_, axes, numbers) = layer.shape.numbers();
            for (axis, value) in axes.chars().cycle().zip(&*numbers) {
                match axis {
                    'x' => x.push(*value),
                    'y' => y.push(*value),
                    _ => {}
                }
            }
        }
        let cells = self.layers.iter().any(|l| matches!(l.shape, Shape::Cells(_)));
        let margin = if cells { 0.0 } else { MARGIN };
        let mut y_range = self.y.range(&y, margin);
        if foot {
            // A bar of one count on a logarithmic axis must be visible; other bars begin at zero.
            y_range.0 =
                if self.y.is_log() { y_range.0.min(-0.3) } else { y.iter().copied().fold(0.0, f64::min) };
        }
        [self.x.range(&x, margin), y_range]
    }
}

impl Axis {
    fn range(&self, values: &[f64], margin: f64) -> (f64, f64) {
        if let Scale::Names(names) = &self.scale {
            return (-0.5, names.len() as f64 - 0.5);
        }
        let places = || values.iter().filter_map(|v| self.position(*v));
        let (low, high) = places().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), p| (l.min(p), h.max(p)));
        match (low < high, low.is_finite()) {
            (true, _) => (low - margin * (high - low), high + margin * (high - low)),
            (false, true) => {
                let room = if self.is_log() { 0.5 } else { (low.abs() * 0.5).max(0.5) };
                (low - room, low + room)
            }
            (false, false) => (0.0, 1.0),
        }
    }

    /// The nanoseconds and the name of the unit that all of an evenly spread axis is in.
    fn unit(&self, (low, high): (f64, f64)) -> (f64, &'static str) {
        if self.time { time_unit(low.abs().max(high.abs())) } else { (1.0, "") }
    }

    /// The title with its unit, where one holds for all of the axis.
    pub(super) fn title_with_unit(&self, range: (f64, f64)) -> String {
        match (&self.scale, self.time) {
            (Scale::Linear, true) => format!("{}, {}", self.title, self.unit(range).1),
            _ => self.title.clone(),
        }
    }

    /// A value at its tick, with its own unit if values of the axis have different ones.
    fn tick_label(&self, value: f64) -> String {
        if !self.time || value == 0.0 {
            return axis_number(value);
        }
        let (per, unit) = time_unit(2.0 * value);
        format!("{} {unit}", axis_number(value / per))
    }

    /// About `count` ticks between two positions.
    pub(crate) fn ticks(&self, (low, high): (f64, f64), count: usize) -> Ticks {
        match &self.scale {
            Scale::Names(names) => (0u32..).map(f64::from).zip(names.iter().cloned()).collect(),
            Scale::NamedLog(named) => {
                let placed = named.iter().map(|(value, name)| (value.log10(), name.clone()));
                placed.filter(|(position, _)| (low..=high).contains(position)).collect()
            }
            Scale::Linear => {
                let (per, _) = self.unit((low, high));
                round_ticks(low, high, count).into_iter().map(|v| (v, axis_number(v / per))).collect()
            }
            Scale::SignedLog => {
                let value = |position: f64| self.value_at(position);
                let step = ((high - low) / count.max(2) as f64).ceil();
                multiples_between(low, high, step)
                    .into_iter()
                    .map(|p| {
                        // The nearest power of ten, which makes a readable number.
                        let power = if p == 0.0 {
                            0.0
                        } else {
                            (LINEAR_ZONE_NS * 10f64.powf(p.abs().round())).copysign(p)
                        };
                        let position = self.position(power).filter(|at| (low..=high).contains(at));
                        position
                            .map_or_else(|| (p, self.tick_label(value(p))), |at| (at, self.tick_label(power)))
                    })
                    .collect()
            }
            Scale::Log => {
                let number = |value: f64| self.tick_label(value);
                let whole = |step: f64| {
                    let ticks = multiples_between(low, high, step);
                    ticks.into_iter().map(|p| (p, number(10f64.powf(p)))).collect::<Ticks>()
                };
                let decades = high - low;
                if decades >= 2.0 {
                    return whole((decades / count.max(2) as f64).ceil());
                }
                // Less than two decades: values between the powers of ten, too.
                let steps: &[f64] = if decades > 0.8 {
                    &[1.0, 2.0, 5.0]
                } else {
                    &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
                };
                let powers = (low.floor() as i32..=high.ceil() as i32).map(|p| 10f64.powi(p));
                let values = powers.flat_map(|power| steps.iter().map(move |s| s * power));
                let found: Ticks = values
                    .map(|v| (v.log10(), number(v)))
                    .filter(|(p, _)| (low..=high).contains(p))
                    .collect();
                if found.len() >= 2 {
                    found
                } else {
                    let (from, to) = (10f64.powf(low), 10f64.powf(high));
                    round_ticks(from, to, count).into_iter().map(|v| (v.log10(), number(v))).collect()
                }
            }
        }
    }
}

/// Round numbers between two values.
fn round_ticks(low: f64, high: f64, count: usize) -> Vec<f64> {
    let rough = (high - low) / count.max(1) as f64;
    if !rough.is_finite() || rough <= 0.0 {
        return Vec::new();
    }
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|s| s * power).find(|s| *s >= rough * 0.999);
    multiples_between(low, high, step.unwrap_or(rough))
}

fn multiples_between(low: f64, high: f64, step: f64) -> Vec<f64> {
    let (first, last) = ((low / step).ceil(), (high / step).floor());
    (0..=((last - first).max(-1.0) + 0.5) as usize)
        .map(|k| (first + k as f64) * step)
        .filter(|v| *v >= low && *v <= high)
        .collect()
}

/// A number as an axis shows it: 0.001, 12.5, 20 000, 1e9.
pub(crate) fn axis_number(value: f64) -> String {
    if value != 0.0 && (value.abs() >= 1e7 || value.abs() < 1e-4) {
        return format!("{value:.2e}").replace(".00e", "e");
    }
    let text = format!("{value:.5}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    let (sign, text) = text.strip_prefix('-').map_or(("", text), |t| ("−", t));
    let (whole, part) = text.split_once('.').map_or((text, String::new()), |(w, p)| (w, format!(".{p}")));
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), crate::words::count);
    if text == "0" { "0".into() } else { format!("{sign}{whole}{part}") }
}

/// Returns a row for each word, by its position and width as shares of the axis, so that none overlap.
pub(crate) fn rows_without_overlap(words: &[(f64, f64)]) -> Vec<usize> {
    let mut taken: Vec<Vec<(f64, f64)>> = Vec::new();
    let position = |(at, width): &(f64, f64)| {
        let (from, to) = (at - width / 2.0, at + width / 2.0);
        let free = |row: &Vec<(f64, f64)>| row.iter().all(|(f, t)| to < *f || from > *t);
        let row = taken.iter().position(free).unwrap_or(taken.len());
        if row == taken.len() {
            taken.push(Vec::new());
        }
        taken[row].push((from, to));
        row
    };
    words.iter().map(position).collect()
}
