//! A chart as marks: white, with axes, units and its caption, as a paper wants it.

use super::drawing::{
    Anchor, BLACK, COLOURS, Drawing, GRID, Ink, Mark, Point, Style, TextMark, WHITE, WIDTH,
};
use super::range::rows_without_overlap;
use super::{Cells, Chart, Layer, MANY_POINTS, SHADES, Shape, Span, Stroke};
use crate::wrap::break_lines;

/// Length and gap of the dashes of each colour's lines, for lines that could be confused.
const DASH_PATTERNS: [Option<(i32, i32)>; 9] = [
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
/// Bars of counts across a figure, at most.
const MAX_BARS: f64 = 180.0;
/// Size of letters, and about how wide one of the legend is.
const LETTER_HEIGHT: i32 = 12;
const LETTER_WIDTH: i32 = 7;
/// From the middle of a line of words down to its base line.
const BASELINE_OFFSET: i32 = 4;
const LINE_HEIGHT: i32 = 18;
/// Characters that fit on a line of the caption.
const CAPTION_COLUMNS: usize = 124;
const CAPTION_INK: Ink = [60, 60, 60];
const LEFT_MARGIN: i32 = 84;
const RIGHT_MARGIN: i32 = 26;
/// Room below the plot for ticks and the axis' title.
const FOOT_HEIGHT: i32 = 54;
const TICK_LENGTH: i32 = 5;
/// Room for the title of all.
const TITLE_HEIGHT: i32 = 30;
/// Room for the key to the shades.
const KEY_WIDTH: i32 = 84;

impl Drawing {
    /// The charts below each other, each with its caption.
    pub fn new(charts: &[Chart]) -> Self {
        let title = charts.first().map(Chart::title).unwrap_or_default();
        let mut drawing = Drawing { height: TITLE_HEIGHT, marks: Vec::new() };
        drawing.marks.push(text_mark([20, 20], title, BLACK, Anchor::Start, 15));
        for chart in charts {
            drawing.marks.extend(chart_marks(chart, drawing.height));
            drawing.height += chart.height as i32;
            for line in break_lines(&chart.caption, CAPTION_COLUMNS) {
                let at = [20, drawing.height + 11];
                drawing.marks.push(text_mark(at, line, CAPTION_INK, Anchor::Start, LETTER_HEIGHT));
                drawing.height += LINE_HEIGHT;
            }
            drawing.height += 16;
        }
        drawing
    }

    /// The chart without its title and caption.
    pub(crate) fn without_caption(chart: &Chart) -> Self {
        Drawing { height: chart.height as i32, marks: chart_marks(chart, 0) }
    }
}

fn text_mark(at: Point, text: impl Into<String>, ink: Ink, anchor: Anchor, size: i32) -> Mark {
    Mark::Text(TextMark { at, anchor, text: text.into(), size, ink, is_upright: false })
}

fn layer_colour(layer: &Layer) -> Ink {
    COLOURS[layer.colour % COLOURS.len()]
}

/// The corners of a rectangle.
fn corners([from, to]: [Point; 2]) -> Vec<Point> {
    vec![from, [to[0], from[1]], to, [from[0], to[1]]]
}

fn dot(at: Point, radius: i32, ink: Ink) -> Mark {
    Mark::Path(vec![at], Style::line(ink, 2 * radius))
}

/// A chart in a drawing.
struct Panel<'a> {
    chart: &'a Chart,
    /// From where to where its axes reach.
    ranges: [(f64, f64); 2],
    /// Upper left and lower right corner of the plot.
    plot: [Point; 2],
    marks: Vec<Mark>,
}

/// Marks of a chart that begins this many pixels from the top.
fn chart_marks(chart: &Chart, above: i32) -> Vec<Mark> {
    let chart = &chart.clone().with_bars(MAX_BARS);
    let ranges = chart.ranges();
    let legend = legend_entries(&chart.layers);
    let key = chart.layers.iter().find_map(|l| match &l.shape {
        Shape::Cells(cells) if !cells.key.1.is_empty() => Some(cells),
        _ => None,
    });
    let right = WIDTH - RIGHT_MARGIN - if key.is_some() { KEY_WIDTH } else { 0 };
    let (head, rows) = labels_above(chart, ranges[0], f64::from(right - LEFT_MARGIN));
    let top = above + 14 + LINE_HEIGHT * (legend.iter().map(|l| l.1 + 1).max().unwrap_or(0) + rows);
    let bottom = above + chart.height as i32 - FOOT_HEIGHT;
    let mut panel = Panel { chart, ranges, plot: [[LEFT_MARGIN, top], [right, bottom]], marks: Vec::new() };
    panel.draw_axes();
    chart.layers.iter().for_each(|layer| panel.draw_layer(layer));
    for (position, row, text, ink, anchor) in head {
        let at = [panel.x_pixel(position), top - 5 - LINE_HEIGHT * (rows - 1 - row)];
        panel.marks.push(text_mark(at, text, ink, anchor, LETTER_HEIGHT));
    }
    for (at, row, layer) in legend {
        let (left, middle) = (LEFT_MARGIN + at, above + 16 + LINE_HEIGHT * row);
        panel.draw_swatch(layer, left, middle);
        panel.marks.push(text_mark(
            [left + 24, middle + BASELINE_OFFSET],
            &layer.name,
            BLACK,
            Anchor::Start,
            LETTER_HEIGHT,
        ));
    }
    if let Some(cells) = key {
        panel.draw_key(cells);
    }
    panel.marks
}

impl Panel<'_> {
    /// Column of pixels of a position on the axis; limited far outside the figure, so that it cannot overflow.
    fn x_pixel(&self, position: f64) -> i32 {
        let ([from, to], (low, high)) = (self.plot.map(|corner| corner[0]), self.ranges[0]);
        from + (f64::from(to - from) * ((position - low) / (high - low)).clamp(-2.0, 3.0)).round() as i32
    }

    fn y_pixel(&self, position: f64) -> i32 {
        let ([top, bottom], (low, high)) = (self.plot.map(|corner| corner[1]), self.ranges[1]);
        bottom - (f64::from(bottom - top) * ((position - low) / (high - low)).clamp(-2.0, 3.0)).round() as i32
    }

    fn point_at(&self, x: f64, y: f64) -> Option<Point> {
        let (x, y) = self.chart.x.position(x).zip(self.chart.y.position(y))?;
        Some([self.x_pixel(x), self.y_pixel(y)])
    }

    fn points_at<const N: usize>(&self, points: &[[f64; N]], y: usize) -> Vec<Point> {
        points.iter().filter_map(|point| self.point_at(point[0], point[y])).collect()
    }

    fn push_line(&mut self, points: Vec<Point>, look: Style) {
        if points.len() > 1 {
            self.marks.push(Mark::Path(points, look));
        }
    }

    fn push_area(&mut self, points: Vec<Point>, ink: Ink, opacity: f32) {
        self.marks.push(Mark::Path(points, Style { opacity, ..Style::area(ink) }));
    }

    fn draw_axes(&mut self) {
        let Panel { chart, ranges: [x, y], plot: [[left, top], [right, bottom]], .. } = *self;
        let x_ticks = chart.x.ticks(x, 9).into_iter().map(|(position, text)| (self.x_pixel(position), text));
        let y_ticks = chart.y.ticks(y, chart.height as usize / 70).into_iter();
        let y_ticks = y_ticks.map(|(position, text)| (self.y_pixel(position), text));
        let (x_ticks, y_ticks): (Vec<_>, Vec<_>) = (x_ticks.collect(), y_ticks.collect());
        let (grid, axis) = (Style::line(GRID, 1), Style::line(BLACK, 1));
        for (at, _) in &x_ticks {
            self.push_line(vec![[*at, top], [*at, bottom]], grid);
        }
        for (at, _) in &y_ticks {
            self.push_line(vec![[left, *at], [right, *at]], grid);
        }
        self.push_line(vec![[left, top], [left, bottom], [right, bottom]], axis);
        for (at, text) in x_ticks {
            self.push_line(vec![[at, bottom], [at, bottom + TICK_LENGTH]], axis);
            self.marks.push(text_mark([at, bottom + 18], text, BLACK, Anchor::Middle, LETTER_HEIGHT));
        }
        for (at, text) in y_ticks {
            self.push_line(vec![[left - TICK_LENGTH, at], [left, at]], axis);
            self.marks.push(text_mark(
                [left - 10, at + BASELINE_OFFSET],
                text,
                BLACK,
                Anchor::End,
                LETTER_HEIGHT,
            ));
        }
        let (across, down) = (i32::midpoint(left, right), i32::midpoint(top, bottom));
        self.marks.push(text_mark(
            [across, bottom + 42],
            chart.x.title_with_unit(x),
            BLACK,
            Anchor::Middle,
            LETTER_HEIGHT + 1,
        ));
        let (at, text) = ([20, down], chart.y.title_with_unit(y));
        let title = TextMark {
            at,
            anchor: Anchor::Middle,
            text,
            size: LETTER_HEIGHT + 1,
            ink: BLACK,
            is_upright: true,
        };
        self.marks.extend((!title.text.is_empty()).then_some(Mark::Text(title)));
    }

    /// Draws a sample of a layer next to its name.
    fn draw_swatch(&mut self, layer: &Layer, left: i32, middle: i32) {
        let ink = layer_colour(layer);
        let line = vec![[left, middle], [left + 18, middle]];
        let dashed = |dash| Style { dash, ..Style::line(ink, 2) };
        match &layer.shape {
            _ if may_cross_others(self.chart, layer) => {
                self.push_line(line, dashed(dash_pattern(self.chart, layer)));
            }
            Shape::Bars(_) | Shape::Band(_) => {
                self.push_area(corners([[left, middle - 5], [left + 18, middle + 5]]), ink, 0.6);
            }
            Shape::Points(_) | Shape::Intervals(_) => self.marks.push(dot([left + 9, middle], 4, ink)),
            Shape::Line { stroke: Stroke::Dashed, .. } | Shape::Level(_) if layer.colour != Layer::USABLE => {
                self.push_line(line, dashed(Some((7, 4))));
            }
            shape => {
                self.push_line(line, dashed(None));
                if matches!(shape, Shape::Line { stroke: Stroke::Dotted, .. }) {
                    self.marks.push(dot([left + 9, middle], 3, ink));
                }
            }
        }
    }

    fn draw_layer(&mut self, layer: &Layer) {
        let [[left, top], [right, bottom]] = self.plot;
        let (chart, ink) = (self.chart, layer_colour(layer));
        // Without colours, too, crossing lines need to differ.
        let thick = Style { dash: dash_pattern(chart, layer), ..Style::line(ink, 2) };
        let thin = Style::line(ink, 1);
        match &layer.shape {
            Shape::Line { points, stroke } => {
                let places = self.points_at(points, 1);
                match stroke {
                    Stroke::Steps => {
                        let steps = places.windows(2).flat_map(|two| [two[0], [two[1][0], two[0][1]]]);
                        self.push_line(steps.chain(places.last().copied()).collect(), thick);
                    }
                    Stroke::Solid => self.push_line(places, thick),
                    Stroke::Dashed => self.push_line(places, Style { dash: Some((7, 5)), ..thick }),
                    Stroke::Dotted => {
                        self.push_line(places.clone(), Style::line(ink, 2));
                        self.marks.extend(places.into_iter().map(|at| dot(at, 3, ink)));
                    }
                }
            }
            Shape::Points(points) => {
                let radius = if points.len() > MANY_POINTS { 1 } else { 4 };
                self.marks.extend(self.points_at(points, 1).into_iter().map(|at| dot(at, radius, ink)));
            }
            Shape::Band(parts) => {
                let (lower, upper) = (self.points_at(parts, 1), self.points_at(parts, 2));
                self.push_area(upper.iter().chain(lower.iter().rev()).copied().collect(), ink, 0.3);
                self.push_line(upper, thin);
                self.push_line(lower, thin);
            }
            Shape::Bars(bars) => {
                let foot = if chart.y.is_log() { bottom } else { self.y_pixel(0.0) };
                let bar = |[from, to, height]: &[f64; 3]| {
                    let ([left, top], right) =
                        (self.point_at(*from, *height)?, self.x_pixel(chart.x.position(*to)?));
                    Some([[left, top], [right.max(left + 1), foot]])
                };
                let bars: Vec<[Point; 2]> = bars.iter().filter_map(bar).collect();
                // Outlines distinguish several layers of bars on top of each other.
                if may_cross_others(chart, layer) {
                    bar_outlines(&bars).into_iter().for_each(|outline| self.push_line(outline, thick));
                } else {
                    bars.into_iter().for_each(|bar| self.push_area(corners(bar), ink, 0.6));
                }
            }
            // They are bars by now.
            Shape::Counts(_) => {}
            Shape::Intervals(values) => {
                for [x, low, value, high] in values {
                    if let (Some(from), Some(to), Some(at)) =
                        (self.point_at(*x, *low), self.point_at(*x, *high), self.point_at(*x, *value))
                    {
                        self.push_line(vec![from, to], Style::line(ink, 2));
                        self.marks.push(dot(at, 5, ink));
                    }
                }
            }
            Shape::Cells(cells) => self.draw_cells(cells),
            Shape::Boxes(boxes) => {
                for (from, to, _) in boxes {
                    if let Some((from, to)) = chart.x.position(*from).zip(chart.x.position(*to)) {
                        let (from, to) = (self.x_pixel(from), self.x_pixel(to));
                        self.draw_frame([[from, bottom], [to, top]], Style { dash: Some((6, 4)), ..thin });
                    }
                }
            }
            Shape::Frames(frames) => {
                for [left, low, right, high] in frames {
                    if let Some((from, to)) = self.point_at(*left, *low).zip(self.point_at(*right, *high)) {
                        self.draw_frame([from, to], thin);
                    }
                }
            }
            Shape::Spans(spans) => {
                let ends = |Span { from, to, lane, .. }: &Span| {
                    Some([self.point_at(*from, lane - Span::HALF)?, self.point_at(*to, lane + Span::HALF)?])
                };
                let ends: Vec<[Point; 2]> = spans.iter().filter_map(ends).collect();
                ends.iter().for_each(|ends| self.push_area(corners(*ends), ink, 1.0));
                // The outline keeps shapes narrower than a pixel visible.
                ends.into_iter().for_each(|ends| self.draw_frame(ends, thin));
            }
            Shape::Marks(marks) => {
                for position in marks.iter().filter_map(|(at, _)| chart.x.position(*at)) {
                    let at = self.x_pixel(position);
                    self.push_line(vec![[at, top], [at, bottom]], line_across(layer, (2, 4), thin));
                }
            }
            Shape::Level(value) => {
                if let Some(position) = chart.y.position(*value) {
                    let at = self.y_pixel(position);
                    self.push_line(
                        vec![[left, at], [right, at]],
                        line_across(layer, (7, 5), Style::line(ink, 2)),
                    );
                }
            }
        }
    }

    fn draw_frame(&mut self, ends: [Point; 2], look: Style) {
        let mut outline = corners(ends);
        outline.push(ends[0]);
        self.push_line(outline, look);
    }

    /// Draws cells as level lines as wide as they are high: those of one shade take few bytes.
    fn draw_cells(&mut self, Cells { size: [width, height], cells, labelled, .. }: &Cells) {
        let (low, high) = self.ranges[1];
        // Rows that do not lie on whole pixels touch all the same.
        let high = (f64::from(self.plot[1][1] - self.plot[0][1]) * height / (high - low)).ceil() as i32;
        let (mut lines, mut labels) = (Vec::new(), Vec::new());
        for ([x, y], shade, text) in cells {
            let Some((x, y)) = self.chart.x.position(*x).zip(self.chart.y.position(*y)) else { continue };
            let (left, right) = (self.x_pixel(x - width / 2.0), self.x_pixel(x + width / 2.0));
            // As many as can be told apart.
            lines.push((shade_colour((24.0 * shade).round() / 24.0), self.y_pixel(y), left, right));
            if *labelled {
                let ink = if *shade > 0.6 { WHITE } else { BLACK };
                labels.push(text_mark(
                    [self.x_pixel(x), self.y_pixel(y) + BASELINE_OFFSET],
                    text,
                    ink,
                    Anchor::Middle,
                    LETTER_HEIGHT,
                ));
            }
        }
        lines.sort_unstable();
        for (ink, at, left, right) in lines {
            self.push_line(vec![[left, at], [right, at]], Style::line(ink, high));
        }
        self.marks.extend(labels);
    }

    /// Draws the key to the shades of cells, next to the plot.
    fn draw_key(&mut self, cells: &Cells) {
        let ([[_, top], [_, bottom]], left) = (self.plot, WIDTH - RIGHT_MARGIN - 70);
        for y in top..bottom {
            let share = f64::from(bottom - y) / f64::from(bottom - top);
            let look = Style::line(shade_colour(share), 1);
            self.push_line(vec![[left, y], [left + 14, y]], look);
        }
        let mut label =
            |at, text: &String| self.marks.push(text_mark(at, text, BLACK, Anchor::Start, LETTER_HEIGHT));
        for (shade, text) in &cells.key.1 {
            label([left + 20, bottom - (f64::from(bottom - top) * shade) as i32 + BASELINE_OFFSET], text);
        }
        label([left, bottom + 16 + BASELINE_OFFSET], &cells.key.0);
    }
}

/// True if a layer is drawn as a solid line, or in outlines, with others of its kind that it may cross.
fn may_cross_others(chart: &Chart, layer: &Layer) -> bool {
    let is_solid = |shape: &Shape| matches!(shape, Shape::Line { stroke: Stroke::Solid | Stroke::Steps, .. });
    let is_bars = |shape: &Shape| matches!(shape, Shape::Bars(_));
    let several = |is: &dyn Fn(&Shape) -> bool| {
        is(&layer.shape) && chart.layers.iter().filter(|layer| is(&layer.shape)).count() > 1
    };
    several(&is_solid) || several(&is_bars)
}

/// Dash and gap by which such a line differs from the others it may cross; `None` for a solid one.
fn dash_pattern(chart: &Chart, layer: &Layer) -> Option<(i32, i32)> {
    DASH_PATTERNS[layer.colour % COLOURS.len()].filter(|_| may_cross_others(chart, layer))
}

/// Style of a straight line across the plot: dashes of its own for a limit, else the `usual` ones.
fn line_across(layer: &Layer, usual: (i32, i32), look: Style) -> Style {
    let own = DASH_PATTERNS[layer.colour % COLOURS.len()];
    Style { dash: if layer.colour < Layer::PERIOD { Some(usual) } else { own }, ..look }
}

/// The legend: position, row and layer of each name.
fn legend_entries(layers: &[Layer]) -> Vec<(i32, i32, &Layer)> {
    let named: Vec<&Layer> = layers.iter().filter(|l| !l.name.is_empty()).collect();
    if named.len() < 2 {
        return Vec::new();
    }
    let room = WIDTH - LEFT_MARGIN - RIGHT_MARGIN;
    let (mut at, mut row) = (0, 0);
    let mut placed = Vec::new();
    for layer in named {
        let width = 44 + LETTER_WIDTH * layer.name.chars().count() as i32;
        if at > 0 && at + width > room {
            (at, row) = (0, row + 1);
        }
        placed.push((at, row, layer));
        at += width;
    }
    placed
}

/// Words above the plot: position, row, text, colour and anchor.
type Labels = Vec<(f64, i32, String, Ink, Anchor)>;

/// Places the words above the plot in rows; returns them, and the number of rows.
fn labels_above<'a>(chart: &'a Chart, (low, high): (f64, f64), room: f64) -> (Labels, i32) {
    let mut labels = Vec::new();
    for layer in &chart.layers {
        match &layer.shape {
            Shape::Marks(marks) => {
                labels.extend(marks.iter().map(|(at, text)| (*at, text, layer_colour(layer))));
            }
            Shape::Boxes(boxes) => {
                let middle = |(from, to, text): &'a (f64, f64, String)| {
                    (f64::midpoint(*from, *to), text, layer_colour(layer))
                };
                labels.extend(boxes.iter().map(middle));
            }
            _ => {}
        }
    }
    let placed = labels.iter().map(|(at, text, _)| {
        let position = chart.x.position(*at).unwrap_or(low);
        let width = text.chars().count() as f64 * f64::from(LETTER_WIDTH) / room;
        match (position - low) / (high - low) {
            share if share < width / 2.0 => (position, share + width / 2.0, Anchor::Start, width),
            share if share > 1.0 - width / 2.0 => (position, share - width / 2.0, Anchor::End, width),
            share => (position, share, Anchor::Middle, width),
        }
    });
    let placed: Vec<(f64, f64, Anchor, f64)> = placed.collect();
    let rows = rows_without_overlap(
        &placed.iter().map(|(_, middle, _, width)| (*middle, *width)).collect::<Vec<_>>(),
    );
    let count = rows.iter().max().map_or(0, |row| row + 1) as i32;
    let head = labels.into_iter().zip(placed).zip(rows);
    let head = head.map(|(((_, text, ink), (position, _, anchor, _)), row)| {
        (position, row as i32, text.clone(), ink, anchor)
    });
    (head.collect(), count)
}

/// Outlines of bars, one for all that touch each other.
fn bar_outlines(bars: &[[Point; 2]]) -> Vec<Vec<Point>> {
    let touch = |a: &[Point; 2], b: &[Point; 2]| b[0][0] - a[1][0] <= 1;
    let outline = |bars: &[[Point; 2]]| {
        let (first, last) = (bars[0], bars[bars.len() - 1]);
        let tops = bars.iter().flat_map(|[[left, top], [right, _]]| [[*left, *top], [*right, *top]]);
        [[first[0][0], first[1][1]]].into_iter().chain(tops).chain([last[1]]).collect()
    };
    bars.chunk_by(touch).map(outline).collect()
}

fn shade_colour(shade: f64) -> Ink {
    let shade = shade.clamp(0.0, 1.0);
    let upper = SHADES.iter().position(|s| s.0 >= shade).unwrap_or(SHADES.len() - 1).max(1);
    let ((from, a), (to, b)) = (SHADES[upper - 1], SHADES[upper]);
    let share = (shade - from) / (to - from);
    std::array::from_fn(|i| (f64::from(a[i]) + share * (f64::from(b[i]) - f64::from(a[i]))).round() as u8)
}
