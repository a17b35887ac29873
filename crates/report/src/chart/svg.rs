//! A chart as SVG: white, with axes, units and its caption, as a paper wants it.

use std::ops::Range;

use jitterlab_model::Error;
use plotters::coord::Shift;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::range::rows;
use super::{Cells, Chart, Layer, MANY, SHADES, Shape, Span, Stroke};
use crate::printable::printable_drawing;
use crate::wrap::lines;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Plot<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<Placed, Placed>>;

/// An axis with ticks and words of our own, the same for every scale.
#[derive(Clone)]
struct Placed {
    reach: (f64, f64),
    ticks: super::Ticks,
}

impl Ranged for Placed {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        // A value far outside the figure must not overflow.
        let share = ((value - self.reach.0) / (self.reach.1 - self.reach.0)).clamp(-2.0, 3.0);
        limit.0 + (f64::from(limit.1 - limit.0) * share).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.iter().map(|tick| tick.0).collect()
    }

    fn range(&self) -> Range<f64> {
        self.reach.0..self.reach.1
    }
}

impl ValueFormatter<f64> for Placed {
    fn format_ext(&self, place: &f64) -> String {
        let tick = self.ticks.iter().find(|tick| (tick.0 - place).abs() < 1e-9);
        tick.map_or(String::new(), |tick| tick.1.clone())
    }
}

type Drawn = Result<(), Box<dyn std::error::Error>>;

const FONT: &str = "sans-serif";
/// Colours that stay apart for colour-blind people and in print (Okabe and Ito, darkened); behind them those of limits.
const COLOURS: [RGBColor; 9] = [
    RGBColor(0, 114, 178),
    RGBColor(179, 71, 0),
    RGBColor(0, 121, 90),
    RGBColor(163, 64, 127),
    RGBColor(106, 82, 0),
    RGBColor(75, 79, 176),
    RGBColor(85, 93, 102),
    RGBColor(138, 90, 0),
    RGBColor(179, 38, 30),
];
/// Length and gap of the dashes of each colour's lines, for lines that could be confused.
const PATTERNS: [Option<(u32, u32)>; 9] = [
    None,
    Some((9, 3)),
    Some((2, 3)),
    Some((5, 5)),
    Some((14, 4)),
    Some((4, 4)),
    Some((1, 3)),
    Some((7, 5)),
    None,
];
const WIDTH: u32 = 900;
/// Bars of counts across a figure, at most.
const BARS: f64 = 180.0;
/// Width of a letter of the legend, about.
const LETTER: i32 = 7;
const LINE: i32 = 18;
/// Characters that fit on a line of the caption.
const CAPTION_COLUMNS: usize = 124;
const LEFT: u32 = 84;
const RIGHT: u32 = 26;
/// Room for the title of all.
const TITLE: u32 = 30;
/// Room for the key to the shades.
const KEY: u32 = 84;

/// The charts below each other, each with its caption.
pub(crate) fn svg(charts: &[Chart]) -> Result<String, Error> {
    let title = charts.first().map(Chart::title).unwrap_or_default();
    let charts: Vec<Chart> = charts.iter().cloned().map(|chart| chart.with_bars(BARS)).collect();
    let captions: Vec<Vec<String>> =
        charts.iter().map(|chart| lines(&chart.caption, CAPTION_COLUMNS)).collect();
    let heights: Vec<u32> = charts
        .iter()
        .zip(&captions)
        .map(|(c, lines)| c.height + 16 + LINE as u32 * lines.len() as u32)
        .collect();
    let mut text = String::new();
    let draw = |text: &mut String| -> Drawn {
        let height = TITLE + heights.iter().sum::<u32>();
        let whole = SVGBackend::with_string(text, (WIDTH, height)).into_drawing_area();
        whole.fill(&WHITE)?;
        let (head, mut rest) = whole.split_vertically(TITLE);
        let style = (FONT, 18).into_font().style(FontStyle::Bold).color(&BLACK);
        head.draw(&Text::new(title.clone(), (20, 8), style))?;
        for ((chart, lines), height) in charts.iter().zip(&captions).zip(&heights) {
            let (own, below) = rest.split_vertically(*height);
            let (upper, lower) = own.split_vertically(chart.height);
            panel(chart, &upper)?;
            let style = (FONT, 13).into_font().color(&RGBColor(60, 60, 60));
            for (i, line) in (0..).zip(lines) {
                lower.draw(&Text::new(line.clone(), (20, 2 + LINE * i), style.clone()))?;
            }
            rest = below;
        }
        whole.present()?;
        Ok(())
    };
    draw(&mut text).map_err(not_drawn)?;
    Ok(printable_drawing(&text).into_owned())
}

/// The chart without its title and caption, on no ground.
pub(crate) fn bare(chart: &Chart) -> Result<String, Error> {
    let mut text = String::new();
    let chart = chart.clone().with_bars(BARS);
    let draw = |text: &mut String| -> Drawn {
        let area = SVGBackend::with_string(text, (WIDTH, chart.height)).into_drawing_area();
        panel(&chart, &area)?;
        area.present()?;
        Ok(())
    };
    draw(&mut text).map_err(not_drawn)?;
    Ok(text)
}

fn not_drawn(cause: impl std::fmt::Display) -> Error {
    Error::defect("the figure could not be drawn").because(cause.to_string())
}

/// The place of a colour, as SVG writes it, in the palette.
pub(crate) fn in_palette(colour: &str) -> Option<usize> {
    COLOURS.iter().position(|RGBColor(r, g, b)| format!("#{r:02X}{g:02X}{b:02X}") == colour)
}

fn panel(chart: &Chart, area: &Area<'_>) -> Drawn {
    let [x, y] = chart.ranges();
    let legend = legend(&chart.layers);
    let key = chart.layers.iter().find_map(|l| match &l.shape {
        Shape::Cells(cells) if !cells.key.1.is_empty() => Some(cells),
        _ => None,
    });
    let right = if key.is_some() { RIGHT + KEY } else { RIGHT };
    let inner = f64::from(WIDTH - LEFT - right);
    let head = head(chart, x, inner);
    let top = 14 + LINE * (legend.iter().map(|l| l.1 + 1).max().unwrap_or(0) + head.1 as i32);
    let across = Placed { reach: x, ticks: chart.x.ticks(x, 9) };
    let upwards = Placed { reach: y, ticks: chart.y.ticks(y, (chart.height / 70) as usize) };
    let mut plot = ChartBuilder::on(area)
        .margin_top(top)
        .margin_right(right)
        .margin_left(10)
        .margin_bottom(8)
        .x_label_area_size(46)
        .y_label_area_size(LEFT - 10)
        .build_cartesian_2d(across, upwards)?;
    let mut mesh = plot.configure_mesh();
    mesh.x_desc(chart.x.titled(x))
        .y_desc(chart.y.titled(y))
        .axis_desc_style((FONT, 16))
        .label_style((FONT, 14))
        .light_line_style(TRANSPARENT)
        .bold_line_style(RGBColor(224, 224, 224));
    mesh.draw()?;
    for layer in &chart.layers {
        draw(&mut plot, chart, layer, [x, y])?;
    }
    for (place, row, words, colour, anchor) in &head.0 {
        let at = LEFT as i32 + ((place - x.0) / (x.1 - x.0) * inner) as i32;
        let style = (FONT, 13).into_font().color(colour).pos(Pos::new(*anchor, VPos::Bottom));
        area.draw(&Text::new(words.clone(), (at, top - 2 - LINE * (head.1 - 1 - row) as i32), style))?;
    }
    for (at, row, layer) in &legend {
        let (left, middle) = (LEFT as i32 + at, 16 + LINE * row);
        draw_swatch(area, chart, layer, left, middle)?;
        let style = (FONT, 14).into_font().color(&BLACK).pos(Pos::new(HPos::Left, VPos::Center));
        area.draw(&Text::new(layer.name.clone(), (left + 24, middle), style))?;
    }
    if let Some(cells) = key {
        draw_key(area, cells, top, chart.height as i32 - 54)?;
    }
    Ok(())
}

/// Draws a sample of a layer next to its name.
fn draw_swatch(area: &Area<'_>, chart: &Chart, layer: &Layer, left: i32, middle: i32) -> Drawn {
    let colour = COLOURS[layer.colour % COLOURS.len()];
    let bar = |from: i32, to: i32, half: i32| [(left + from, middle - half), (left + to, middle + half)];
    match &layer.shape {
        _ if crosses(chart, layer) => {
            let (dash, gap) = pattern(chart, layer).unwrap_or((18, 0));
            for from in (0..18).step_by((dash + gap) as usize) {
                area.draw(&Rectangle::new(bar(from, (from + dash as i32).min(18), 1), colour.filled()))?;
            }
        }
        Shape::Bars(_) | Shape::Band(_) => {
            area.draw(&Rectangle::new(bar(0, 18, 5), colour.mix(0.6).filled()))?;
        }
        Shape::Points(_) | Shape::Intervals(_) => {
            area.draw(&Circle::new((left + 9, middle), 4, colour.filled()))?;
        }
        Shape::Line { stroke: Stroke::Dashed, .. } | Shape::Level(_) if layer.colour != Layer::USABLE => {
            area.draw(&Rectangle::new(bar(0, 7, 1), colour.filled()))?;
            area.draw(&Rectangle::new(bar(11, 18, 1), colour.filled()))?;
        }
        shape => {
            area.draw(&Rectangle::new(bar(0, 18, 1), colour.filled()))?;
            if matches!(shape, Shape::Line { stroke: Stroke::Dotted, .. }) {
                area.draw(&Circle::new((left + 9, middle), 3, colour.filled()))?;
            }
        }
    }
    Ok(())
}

/// True if a layer is drawn as a solid line, or in outlines, with others of its kind that it may cross.
fn crosses(chart: &Chart, layer: &Layer) -> bool {
    let is_solid = |shape: &Shape| matches!(shape, Shape::Line { stroke: Stroke::Solid | Stroke::Steps, .. });
    let is_bars = |shape: &Shape| matches!(shape, Shape::Bars(_));
    let several = |is: &dyn Fn(&Shape) -> bool| {
        is(&layer.shape) && chart.layers.iter().filter(|layer| is(&layer.shape)).count() > 1
    };
    several(&is_solid) || several(&is_bars)
}

/// Dash and gap by which such a line differs from the others without colours, too.
fn pattern(chart: &Chart, layer: &Layer) -> Option<(u32, u32)> {
    PATTERNS[layer.colour % COLOURS.len()].filter(|_| crosses(chart, layer))
}

/// The legend: place, row and layer of each name.
fn legend(layers: &[Layer]) -> Vec<(i32, i32, &Layer)> {
    let named: Vec<&Layer> = layers.iter().filter(|l| !l.name.is_empty()).collect();
    if named.len() < 2 {
        return Vec::new();
    }
    let room = (WIDTH - LEFT - RIGHT) as i32;
    let (mut at, mut row) = (0, 0);
    named
        .into_iter()
        .map(|layer| {
            let width = 44 + LETTER * layer.name.chars().count() as i32;
            if at > 0 && at + width > room {
                (at, row) = (0, row + 1);
            }
            let place = (at, row, layer);
            at += width;
            place
        })
        .collect()
}

type Labels = (Vec<(f64, usize, String, RGBColor, HPos)>, usize);

/// The words above the plot, in as many rows as they need.
fn head(chart: &Chart, (low, high): (f64, f64), room: f64) -> Labels {
    let mut words = Vec::new();
    for layer in &chart.layers {
        let colour = COLOURS[layer.colour % COLOURS.len()];
        match &layer.shape {
            Shape::Marks(marks) => words.extend(marks.iter().map(|(at, text)| (*at, text, colour))),
            Shape::Boxes(boxes) => {
                words.extend(boxes.iter().map(|(from, to, text)| (f64::midpoint(*from, *to), text, colour)));
            }
            _ => {}
        }
    }
    let placed: Vec<(f64, f64, HPos, f64)> = words
        .iter()
        .map(|(at, text, _)| {
            let place = chart.x.place(*at).unwrap_or(low);
            let (share, width) =
                ((place - low) / (high - low), text.chars().count() as f64 * f64::from(LETTER) / room);
            match share {
                s if s < width / 2.0 => (place, s + width / 2.0, HPos::Left, width),
                s if s > 1.0 - width / 2.0 => (place, s - width / 2.0, HPos::Right, width),
                s => (place, s, HPos::Center, width),
            }
        })
        .collect();
    let rows = rows(&placed.iter().map(|p| (p.1, p.3)).collect::<Vec<_>>());
    let count = rows.iter().max().map_or(0, |row| row + 1);
    let head = words.into_iter().zip(placed).zip(rows);
    (
        head.map(|(((_, text, colour), (place, _, anchor, _)), row)| {
            (place, row, text.clone(), colour, anchor)
        })
        .collect(),
        count,
    )
}

fn draw(plot: &mut Plot<'_>, chart: &Chart, layer: &Layer, [x_range, y_range]: [(f64, f64); 2]) -> Drawn {
    let colour = COLOURS[layer.colour % COLOURS.len()];
    let at = |x: f64, y: f64| chart.x.place(x).zip(chart.y.place(y));
    // Without colours, too, crossing lines need to differ.
    let pattern = pattern(chart, layer);
    match &layer.shape {
        Shape::Line { points, stroke: style } => {
            let mut places: Vec<(f64, f64)> = points.iter().filter_map(|p| at(p[0], p[1])).collect();
            if *style == Stroke::Steps {
                places = places
                    .windows(2)
                    .flat_map(|w| [w[0], (w[1].0, w[0].1)])
                    .chain(places.last().copied())
                    .collect();
            }
            match style {
                Stroke::Dashed => line(plot, places, Some((7, 5)), colour.stroke_width(2))?,
                Stroke::Dotted => {
                    plot.draw_series(LineSeries::new(places.iter().copied(), colour.stroke_width(2)))?;
                    plot.draw_series(places.into_iter().map(|p| Circle::new(p, 3, colour.filled())))?;
                }
                Stroke::Solid | Stroke::Steps => line(plot, places, pattern, colour.stroke_width(2))?,
            }
        }
        Shape::Points(points) => {
            let size = if points.len() > MANY { 1 } else { 4 };
            plot.draw_series(
                points.iter().filter_map(|p| at(p[0], p[1])).map(|p| Circle::new(p, size, colour.filled())),
            )?;
        }
        Shape::Band(parts) => {
            let upper: Vec<_> = parts.iter().filter_map(|p| at(p[0], p[2])).collect();
            let lower: Vec<_> = parts.iter().filter_map(|p| at(p[0], p[1])).collect();
            let outline: Vec<_> = upper.iter().copied().chain(lower.iter().rev().copied()).collect();
            plot.draw_series([Polygon::new(outline, colour.mix(0.3).filled())])?;
            plot.draw_series(LineSeries::new(upper, colour.stroke_width(1)))?;
            plot.draw_series(LineSeries::new(lower, colour.stroke_width(1)))?;
        }
        Shape::Bars(bars) => {
            let foot = if chart.y.is_log() { y_range.0 } else { 0.0 };
            let least = (x_range.1 - x_range.0) / 800.0;
            let bars = bars.iter().filter_map(|b| {
                let (left, right, height) =
                    (chart.x.place(b[0])?, chart.x.place(b[1])?, chart.y.place(b[2])?);
                Some([(left, foot), (right.max(left + least), height)])
            });
            // Outlines distinguish several layers of bars on top of each other.
            if crosses(chart, layer) {
                for outline in outlines(bars, least) {
                    line(plot, outline, pattern, colour.stroke_width(2))?;
                }
            } else {
                plot.draw_series(bars.map(|bar| Rectangle::new(bar, colour.mix(0.6).filled())))?;
            }
        }
        // They are bars by now.
        Shape::Counts(_) => {}
        Shape::Intervals(values) => {
            for [x, low, value, high] in values {
                if let (Some(from), Some(to), Some(middle)) = (at(*x, *low), at(*x, *high), at(*x, *value)) {
                    plot.draw_series([PathElement::new([from, to], colour.stroke_width(2))])?;
                    plot.draw_series([Circle::new(middle, 5, colour.filled())])?;
                }
            }
        }
        Shape::Cells(cells) => {
            let [w, h] = cells.size.map(|s| s / 2.0);
            // As many as can be told apart.
            let shaded = |shade: f64| shaded((24.0 * shade).round() / 24.0);
            plot.draw_series(cells.cells.iter().filter_map(|([x, y], shade, _)| {
                let (x, y) = at(*x, *y)?;
                Some(Rectangle::new([(x - w, y - h), (x + w, y + h)], shaded(*shade).filled()))
            }))?;
            if cells.labelled {
                plot.draw_series(cells.cells.iter().filter_map(|([x, y], shade, words)| {
                    let ink = if *shade > 0.6 { WHITE } else { BLACK };
                    let style = (FONT, 14).into_font().color(&ink).pos(Pos::new(HPos::Center, VPos::Center));
                    Some(Text::new(words.clone(), at(*x, *y)?, style))
                }))?;
            }
        }
        Shape::Boxes(boxes) => {
            for (from, to, _) in boxes {
                if let Some((from, to)) = chart.x.place(*from).zip(chart.x.place(*to)) {
                    let outline = [
                        (from, y_range.0),
                        (to, y_range.0),
                        (to, y_range.1),
                        (from, y_range.1),
                        (from, y_range.0),
                    ];
                    plot.draw_series(DashedLineSeries::new(outline, 6, 4, colour.stroke_width(1)))?;
                }
            }
        }
        Shape::Frames(frames) => {
            let corners = |[left, low, right, high]: &[f64; 4]| at(*left, *low).zip(at(*right, *high));
            let frames = frames.iter().filter_map(corners);
            plot.draw_series(frames.map(|(from, to)| Rectangle::new([from, to], colour.stroke_width(1))))?;
        }
        Shape::Spans(spans) => {
            let corners = |s: &Span| at(s.from, s.lane - Span::HALF).zip(at(s.to, s.lane + Span::HALF));
            // The outline keeps shapes narrower than a pixel visible.
            for style in [colour.filled(), colour.stroke_width(1)] {
                let spans = spans.iter().filter_map(corners);
                plot.draw_series(spans.map(|(from, to)| Rectangle::new([from, to], style)))?;
            }
        }
        Shape::Marks(marks) => {
            for place in marks.iter().filter_map(|(at, _)| chart.x.place(*at)) {
                let ends = [(place, y_range.0), (place, y_range.1)];
                rule(plot, ends, layer.colour, (2, 4), colour.stroke_width(1))?;
            }
        }
        Shape::Level(value) => {
            if let Some(place) = chart.y.place(*value) {
                let ends = [(x_range.0, place), (x_range.1, place)];
                rule(plot, ends, layer.colour, (7, 5), colour.stroke_width(2))?;
            }
        }
    }
    Ok(())
}

/// A straight line across the plot: a limit in its own pattern, others in this one.
fn rule(
    plot: &mut Plot<'_>,
    ends: [(f64, f64); 2],
    colour: usize,
    usual: (u32, u32),
    style: ShapeStyle,
) -> Drawn {
    let pattern = if colour < Layer::PERIOD { Some(usual) } else { PATTERNS[colour % COLOURS.len()] };
    line(plot, ends.into(), pattern, style)
}

/// A line in a pattern of dashes and gaps, or solid.
fn line(
    plot: &mut Plot<'_>,
    places: Vec<(f64, f64)>,
    pattern: Option<(u32, u32)>,
    style: ShapeStyle,
) -> Drawn {
    match pattern {
        Some((dash, gap)) => plot.draw_series(DashedLineSeries::new(places, dash, gap, style))?,
        None => plot.draw_series(LineSeries::new(places, style))?,
    };
    Ok(())
}

/// The lines over bars: one for those that are not more than `gap` apart.
fn outlines(bars: impl Iterator<Item = [(f64, f64); 2]>, gap: f64) -> Vec<Vec<(f64, f64)>> {
    let mut lines: Vec<Vec<(f64, f64)>> = Vec::new();
    let mut end = f64::NEG_INFINITY;
    for [(left, foot), (right, top)] in bars {
        match lines.last_mut() {
            Some(line) if left - end <= gap => {
                // Its end was the foot.
                line.pop();
                line.extend([(left, top), (right, top), (right, foot)]);
            }
            _ => lines.push(vec![(left, foot), (left, top), (right, top), (right, foot)]),
        }
        end = right;
    }
    lines
}

/// Draws the key to the shades of cells, next to the plot.
fn draw_key(area: &Area<'_>, cells: &Cells, top: i32, bottom: i32) -> Drawn {
    let left = (WIDTH - RIGHT - 70) as i32;
    for y in top..bottom {
        let share = f64::from(bottom - y) / f64::from(bottom - top);
        area.draw(&Rectangle::new([(left, y), (left + 14, y + 1)], shaded(share).filled()))?;
    }
    let style = (FONT, 13).into_font().color(&BLACK).pos(Pos::new(HPos::Left, VPos::Center));
    for (shade, words) in &cells.key.1 {
        let y = bottom - (f64::from(bottom - top) * shade) as i32;
        area.draw(&Text::new(words.clone(), (left + 20, y), style.clone()))?;
    }
    area.draw(&Text::new(cells.key.0.clone(), (left, bottom + 16), style))?;
    Ok(())
}

fn shaded(shade: f64) -> RGBColor {
    let shade = shade.clamp(0.0, 1.0);
    let upper = SHADES.iter().position(|s| s.0 >= shade).unwrap_or(SHADES.len() - 1).max(1);
    let ((from, a), (to, b)) = (SHADES[upper - 1], SHADES[upper]);
    let share = (shade - from) / (to - from);
    let mixed = |i: usize| (f64::from(a[i]) + share * (f64::from(b[i]) - f64::from(a[i]))).round() as u8;
    RGBColor(mixed(0), mixed(1), mixed(2))
}
