//! A chart on the terminal.

use std::fmt::Write as _;

use crate::printable;

use super::{Axis, Chart, Layer, Shape, Span, Stroke, Ticks};
use crate::wrap::break_lines;

/// Lines of a figure, axes not counted, and of one that is only glanced at.
const FIGURE_LINES: usize = 16;
const GLANCE_LINES: usize = 8;
/// Columns left of the figure, for the values.
const LABEL_COLUMNS: usize = 10;
const MARKS: [&[char]; 2] = [&['●', '○', '▲', '■', '◆', '△'], &['*', 'o', '+', 'x', '@', '%']];
const SHADES: [&[char]; 2] = [&['░', '▒', '▓', '█'], &['.', ':', 'o', '#']];

/// Content of a half line of a column.
#[derive(Clone, Copy, PartialEq)]
enum HalfCell {
    Value(usize),
    /// The area below or between values of the layer.
    Filled,
    /// A cell, from little to much.
    Shade(usize),
    /// A line that guides the eye, by its colour.
    Guide(usize),
}

struct Canvas {
    columns: usize,
    lines: usize,
    x: (f64, f64),
    y: (f64, f64),
    /// Two for each line, the lowest first, column by column.
    halves: Vec<Vec<Option<HalfCell>>>,
    /// TextMark over the figure: line from above, column, words.
    words: Vec<(usize, usize, String)>,
}

/// Settings for figures on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terminal {
    /// Width of the terminal; figures take at least 40 columns.
    pub columns: usize,
    /// True if only plain ASCII characters may be used.
    pub ascii: bool,
    /// True if colours may be used.
    pub colour: bool,
}

impl Terminal {
    /// Charts below each other, each with its caption.
    pub fn figures<'a>(self, charts: impl IntoIterator<Item = &'a Chart>) -> String {
        let figure = |chart: &Chart| self.figure(chart) + &self.caption(&chart.caption);
        charts.into_iter().map(figure).collect::<Vec<_>>().join("\n")
    }

    /// The chart without its caption.
    pub fn figure(self, chart: &Chart) -> String {
        if chart.is_counted() {
            // A line for each occupied bin shows more than these few columns could.
            return self.printable(self.counts_text(chart));
        }
        let lines = if chart.height <= Chart::GLANCE { GLANCE_LINES } else { FIGURE_LINES };
        self.figure_with_lines(chart, lines)
    }

    /// The chart without its caption, its figure `lines` lines high; axes and titles take four more.
    pub(crate) fn figure_with_lines(self, chart: &Chart, lines: usize) -> String {
        self.printable(figure_text(chart, self.columns.max(40), lines, self.ascii))
    }

    /// The caption below a figure.
    pub(crate) fn caption(self, caption: &str) -> String {
        self.printable(break_lines(caption, self.columns.max(40)).join("\n") + "\n")
    }

    /// A text in the characters that may be used.
    #[must_use]
    pub fn printable(self, text: String) -> String {
        if self.ascii { printable::to_ascii(&text) } else { text }
    }
}

fn figure_text(chart: &Chart, width: usize, lines: usize, ascii: bool) -> String {
    let columns = width - LABEL_COLUMNS - 2;
    let [x, y] = chart.ranges();
    let halves = vec![vec![None; 2 * lines]; columns];
    let mut canvas = Canvas { columns, lines, x, y, halves, words: Vec::new() };
    for (number, layer) in chart.layers.iter().enumerate() {
        canvas.draw_layer(chart, number, layer);
    }
    let mut out = break_lines(&chart.y.title_with_unit(y), width).join("\n") + "\n";
    canvas.write(&mut out, &chart.y.ticks(y, (lines / 3).clamp(2, 8)), chart.layers.len() == 1, ascii);
    write_foot(&mut out, &chart.x, &chart.x.ticks(x, (columns / 12).max(2)), columns, x, ascii);
    write_legend(&mut out, chart, width, ascii);
    out
}

impl Canvas {
    fn column(&self, position: f64) -> Option<usize> {
        let share = (position - self.x.0) / (self.x.1 - self.x.0);
        (-1e-9..=1.0 + 1e-9)
            .contains(&share)
            .then(|| ((share * self.columns as f64) as usize).min(self.columns - 1))
    }

    fn half_row(&self, position: f64) -> usize {
        let share = ((position - self.y.0) / (self.y.1 - self.y.0)).clamp(0.0, 1.0);
        ((share * (2 * self.lines) as f64) as usize).min(2 * self.lines - 1)
    }

    fn fill(&mut self, column: usize, from: f64, to: f64, ink: HalfCell) {
        let (low, high) = (self.half_row(from.min(to)), self.half_row(from.max(to)));
        self.halves[column][low..=high].fill(Some(ink));
    }

    /// Draws a line between two positions, through every column on its way.
    fn draw_line(&mut self, from: (f64, f64), to: (f64, f64), ink: HalfCell) {
        let (Some(first), Some(last)) = (self.column(from.0), self.column(to.0)) else { return };
        let width = (self.x.1 - self.x.0) / self.columns as f64;
        for column in first..=last {
            let edge = |k: usize| (self.x.0 + width * k as f64).clamp(from.0, to.0);
            let at = |x: f64| {
                if to.0 > from.0 { from.1 + (to.1 - from.1) * (x - from.0) / (to.0 - from.0) } else { to.1 }
            };
            let (start, end) =
                if to.0 > from.0 { (at(edge(column)), at(edge(column + 1))) } else { (from.1, to.1) };
            self.fill(column, start, end, ink);
        }
    }

    fn draw_layer(&mut self, chart: &Chart, number: usize, layer: &Layer) {
        let at = |x: f64, y: f64| chart.x.position(x).zip(chart.y.position(y));
        let value = HalfCell::Value(number);
        match &layer.shape {
            Shape::Line { points, stroke } => {
                let places: Vec<(f64, f64)> = points.iter().filter_map(|p| at(p[0], p[1])).collect();
                for pair in places.windows(2) {
                    if *stroke == Stroke::Steps {
                        self.draw_line(pair[0], (pair[1].0, pair[0].1), value);
                        self.draw_line((pair[1].0, pair[0].1), pair[1], value);
                    } else {
                        self.draw_line(pair[0], pair[1], value);
                    }
                }
                if let [only] = places[..] {
                    self.draw_line(only, only, value);
                }
            }
            Shape::Points(points) => {
                points.iter().filter_map(|p| at(p[0], p[1])).for_each(|p| self.draw_line(p, p, value));
            }
            Shape::Band(parts) => {
                for [x, low, high] in parts {
                    if let (Some((x, low)), Some((_, high))) = (at(*x, *low), at(*x, *high))
                        && let Some(column) = self.column(x)
                    {
                        self.fill(column, low, high, value);
                    }
                }
            }
            Shape::Bars(bars) => {
                let foot = if chart.y.is_log() { self.y.0 } else { 0.0 };
                for [left, right, height] in bars {
                    let (Some((left, height)), Some(right)) = (at(*left, *height), chart.x.position(*right))
                    else {
                        continue;
                    };
                    let (Some(first), Some(last)) = (self.column(left), self.column(right)) else { continue };
                    // A bar ends where the next one begins.
                    for column in first..last.max(first + 1) {
                        self.fill(column, foot, height, value);
                    }
                }
            }
            // Drawn by themselves.
            Shape::Counts(_) => {}
            Shape::Intervals(values) => {
                for [x, low, middle, high] in values {
                    if let (Some(from), Some(to), Some(middle)) =
                        (at(*x, *low), at(*x, *high), at(*x, *middle))
                    {
                        self.draw_line(from, to, HalfCell::Filled);
                        self.draw_line(middle, middle, value);
                    }
                }
            }
            Shape::Cells(cells) => {
                let [w, h] = cells.size.map(|s| s / 2.0);
                for ([x, y], shade, words) in &cells.cells {
                    let Some((x, y)) = at(*x, *y) else { continue };
                    let ink = HalfCell::Shade(((shade * 4.0) as usize).min(3));
                    let (Some(first), Some(last)) = (self.column(x - w), self.column(x + w)) else {
                        continue;
                    };
                    for column in first..last.max(first + 1) {
                        self.fill(column, y - h, y + h, ink);
                    }
                    if cells.labelled {
                        let words = format!(" {words} ");
                        let column = ((first + last) / 2).saturating_sub(words.chars().count() / 2);
                        self.words.push((self.lines - 1 - self.half_row(y) / 2, column, words));
                    }
                }
            }
            Shape::Marks(_) | Shape::Boxes(_) => {
                let (.., edges) = layer.shape.numbers();
                for at in edges.iter().filter_map(|at| chart.x.position(*at)) {
                    if let Some(column) = self.column(at) {
                        self.draw_guide(column);
                    }
                }
            }
            Shape::Spans(spans) => {
                for span in spans {
                    let ends = at(span.from, span.lane - Span::HALF).zip(at(span.to, span.lane + Span::HALF));
                    if let Some((from, to)) = ends {
                        self.draw_edges(from, to);
                    }
                }
            }
            Shape::Frames(frames) => {
                for [left, low, right, high] in frames {
                    if let Some((from, to)) = at(*left, *low).zip(at(*right, *high)) {
                        self.draw_edges(from, to);
                    }
                }
            }
            Shape::Level(value) => {
                if let Some(half) = chart.y.position(*value).map(|position| self.half_row(position)) {
                    self.halves.iter_mut().step_by(2).for_each(|column| {
                        column[half].get_or_insert(HalfCell::Guide(layer.colour));
                    });
                }
            }
        }
    }

    /// Draws the lower and the upper edge of a region.
    fn draw_edges(&mut self, from: (f64, f64), to: (f64, f64)) {
        let (Some(first), Some(last)) = (self.column(from.0), self.column(to.0)) else { return };
        for half in [self.half_row(from.1), self.half_row(to.1)] {
            self.halves[first..=last].iter_mut().step_by(2).for_each(|column| {
                column[half].get_or_insert(HalfCell::Guide(0));
            });
        }
    }

    fn draw_guide(&mut self, column: usize) {
        self.halves[column].iter_mut().for_each(|half| {
            half.get_or_insert(HalfCell::Guide(0));
        });
    }

    fn write(&self, out: &mut String, ticks: &Ticks, single: bool, ascii: bool) {
        for line in (0..self.lines).rev() {
            let here = ticks.iter().find(|t| self.half_row(t.0) / 2 == line).map_or("", |t| &t.1);
            let cut: String = here.chars().take(LABEL_COLUMNS).collect();
            let _ = write!(out, "{cut:>LABEL_COLUMNS$} {}", if ascii { '|' } else { '│' });
            let mut row: Vec<char> = self
                .halves
                .iter()
                .map(|c| half_cell_character(c[2 * line + 1], c[2 * line], single, ascii))
                .collect();
            for (_, column, words) in self.words.iter().filter(|w| w.0 == self.lines - 1 - line) {
                row.iter_mut()
                    .skip(*column)
                    .zip(words.chars())
                    .for_each(|(position, letter)| *position = letter);
            }
            let row: String = row.into_iter().collect();
            let _ = writeln!(out, "{}", row.trim_end());
        }
    }
}

/// The character for an upper and a lower half.
fn half_cell_character(upper: Option<HalfCell>, lower: Option<HalfCell>, single: bool, ascii: bool) -> char {
    let set = usize::from(ascii);
    match (upper, lower) {
        (Some(HalfCell::Value(n)), _) | (_, Some(HalfCell::Value(n))) if !single => MARKS[set][n % 6],
        (Some(HalfCell::Value(_)), Some(HalfCell::Value(_))) => ['█', '#'][set],
        (Some(HalfCell::Value(_)), _) => ['▀', '#'][set],
        (_, Some(HalfCell::Value(_))) => ['▄', '#'][set],
        (Some(HalfCell::Shade(a)), Some(HalfCell::Shade(b))) => SHADES[set][a.max(b)],
        (Some(HalfCell::Shade(a)), _) | (_, Some(HalfCell::Shade(a))) => SHADES[set][a],
        (Some(HalfCell::Filled), _) | (_, Some(HalfCell::Filled)) => ['│', '|'][set],
        (Some(HalfCell::Guide(colour)), _) | (_, Some(HalfCell::Guide(colour))) => {
            guide_character(colour, ascii)
        }
        (None, None) => ' ',
    }
}

/// The character of a line that guides the eye: limits have their own.
fn guide_character(colour: usize, ascii: bool) -> char {
    let characters = match colour {
        1 => ['─', '_'],
        2 => ['·', '.'],
        Layer::GOOD => ['╌', '-'],
        Layer::USABLE => ['━', '='],
        _ => ['┊', ':'],
    };
    characters[usize::from(ascii)]
}

fn write_foot(
    out: &mut String,
    axis: &Axis,
    ticks: &Ticks,
    columns: usize,
    (low, high): (f64, f64),
    ascii: bool,
) {
    let (corner, rule, tick) = if ascii { ('+', '-', '+') } else { ('└', '─', '┬') };
    let mut line = vec![rule; columns];
    let mut words = vec![' '; columns];
    let mut free = 0;
    for (position, text) in ticks {
        let column = (((position - low) / (high - low) * columns as f64) as usize).min(columns - 1);
        line[column] = tick;
        let length = text.chars().count();
        let from = column.saturating_sub(length / 2).min(columns.saturating_sub(length));
        if from >= free && from + length <= columns {
            words[from..from + length]
                .iter_mut()
                .zip(text.chars())
                .for_each(|(position, letter)| *position = letter);
            free = from + length + 1;
        }
    }
    let (line, words): (String, String) = (line.into_iter().collect(), words.into_iter().collect());
    let _ = writeln!(out, "{:LABEL_COLUMNS$} {corner}{line}", "");
    let _ = writeln!(out, "{:LABEL_COLUMNS$}  {}", "", words.trim_end());
    for part in
        break_lines(&axis.title_with_unit((low, high)), columns).iter().filter(|part| !part.is_empty())
    {
        let _ = writeln!(out, "{:LABEL_COLUMNS$}  {}", "", format!("{part:^columns$}").trim_end());
    }
}

fn write_legend(out: &mut String, chart: &Chart, width: usize, ascii: bool) {
    let set = usize::from(ascii);
    for (number, layer) in chart.layers.iter().enumerate() {
        let words = || layer.shape.words().unwrap_or_default();
        let entry = match &layer.shape {
            Shape::Marks(_) => format!("{} {}", guide_character(0, ascii), words().join("; ")),
            Shape::Boxes(_) => words().join("; "),
            Shape::Level(_) if !layer.name.is_empty() => {
                format!("{} {}", guide_character(layer.colour, ascii), layer.name)
            }
            Shape::Cells(cells) if !cells.key.1.is_empty() => {
                let key = cells.key.1.iter().map(|(shade, words)| {
                    format!("{} {words}", SHADES[set][((shade * 4.0) as usize).min(3)])
                });
                format!("{}: {}", cells.key.0, key.collect::<Vec<_>>().join("  "))
            }
            _ if !layer.name.is_empty() && chart.layers.len() > 1 => {
                format!("{} {}", MARKS[set][number % 6], layer.name)
            }
            _ => continue,
        };
        for line in break_lines(&entry, width - 2) {
            let _ = writeln!(out, "  {line}");
        }
    }
}
