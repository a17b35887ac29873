//! A figure as data, independent of how it is drawn. It looks alike on paper ([`drawing`]), on the terminal
//! ([`text`]) and in the browser (`chart.js` of the page, from the output of [`data`]), since all three draw
//! the same layers over the same axes.

mod counts;
mod data;
mod drawing;
mod font;
mod panel;
mod png;
mod range;
mod text;

pub use drawing::Drawing;
pub use range::Ticks;
pub use text::Terminal;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// A figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Chart {
    /// The figure it belongs to, in lower case with hyphens. A figure of several tasks has a chart for each.
    pub name: Cow<'static, str>,
    /// Contents, amount of data, and how to read it: the text below the figure, and in place of it for people
    /// who cannot see it.
    pub caption: String,
    pub x: Axis,
    pub y: Axis,
    /// Layers, the lowest first.
    pub layers: Vec<Layer>,
    /// Height in CSS pixels.
    pub height: u32,
}

impl Chart {
    /// A height up to which a chart is only glanced at: half the lines on a terminal.
    pub const GLANCE: u32 = 200;
    pub const TALL: u32 = 460;

    /// Title in an exported picture: the figure, and its quantity.
    pub(crate) fn title(&self) -> String {
        let name = self.name.replace('-', " ");
        let of = if self.is_counted() || self.y.title.is_empty() { &self.x.title } else { &self.y.title };
        let title = format!("{}: {of}", crate::words::sentence(&name).trim_end_matches('.'));
        title.trim_end_matches(": ").to_owned()
    }

    /// True if it shows the number of values in each interval.
    pub(crate) fn is_counted(&self) -> bool {
        self.layers.iter().any(|layer| matches!(layer.shape, Shape::Counts(_)))
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// Quantity of the axis; with the unit, unless it is a time.
    pub title: String,
    pub scale: Scale,
    /// True if the values are nanoseconds: they are shown in the unit that suits the range drawn, and the
    /// title names it.
    pub time: bool,
    /// Another scale that the page offers.
    pub other: Option<Scale>,
    /// Values that it shows in any case, so that charts next to each other share it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<[f64; 2]>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Evenly spaced.
    Linear,
    /// By their logarithm; values must be above 0, others are left out.
    Log,
    /// By the logarithm of their size, to either side of 0; evenly below a microsecond.
    SignedLog,
    /// The n-th name is at n, from 0.
    Names(Vec<String>),
    /// By their logarithm, with a name at each of these values.
    NamedLog(Vec<(f64, String)>),
}

impl Axis {
    /// An axis on which values lie evenly.
    pub fn linear(title: impl Into<String>) -> Self {
        Axis::new(title, Scale::Linear)
    }

    /// An axis on which values lie by their logarithm.
    pub fn log(title: impl Into<String>) -> Self {
        Axis::new(title, Scale::Log)
    }

    pub fn names<S: Into<String>>(title: impl Into<String>, names: impl IntoIterator<Item = S>) -> Self {
        Axis::new(title, Scale::Names(names.into_iter().map(Into::into).collect()))
    }

    pub fn new(title: impl Into<String>, scale: Scale) -> Self {
        Axis { title: title.into(), scale, time: false, other: None, holds: None }
    }

    /// Makes it an axis of values in nanoseconds, which are shown in a suitable unit.
    #[must_use]
    pub fn time(self) -> Self {
        Axis { time: true, ..self }
    }

    /// Extends the range of the axis to these values.
    #[must_use]
    pub fn with_values_shown(self, holds: [f64; 2]) -> Self {
        Axis { holds: Some(holds), ..self }
    }

    /// Adds another scale that the page offers.
    #[must_use]
    pub fn with_other_scale(self, other: Scale) -> Self {
        Axis { other: Some(other), ..self }
    }

    /// An axis of times from `low_ns` up, logarithmic if `log`, else linear, with the other scale to choose.
    pub fn time_from(title: impl Into<String>, low_ns: i64, log: bool) -> Self {
        let by_log = if low_ns > 0 { Scale::Log } else { Scale::SignedLog };
        let (scale, other) = if log { (by_log, Scale::Linear) } else { (Scale::Linear, by_log) };
        Axis::new(title, scale).time().with_other_scale(other)
    }

    pub(crate) fn value_at(&self, position: f64) -> f64 {
        match self.scale {
            Scale::Log | Scale::NamedLog(_) => 10f64.powf(position),
            Scale::SignedLog => (LINEAR_ZONE_NS * (10f64.powf(position.abs()) - 1.0)).copysign(position),
            Scale::Linear | Scale::Names(_) => position,
        }
    }

    fn is_log(&self) -> bool {
        matches!(self.scale, Scale::Log | Scale::NamedLog(_))
    }

    /// Position on the axis: the value itself, or its decimal logarithm; `None` if it has none.
    pub(crate) fn position(&self, value: f64) -> Option<f64> {
        let position = match self.scale {
            Scale::Log | Scale::NamedLog(_) => value.log10(),
            Scale::SignedLog => (1.0 + value.abs() / LINEAR_ZONE_NS).log10().copysign(value),
            Scale::Linear | Scale::Names(_) => value,
        };
        position.is_finite().then_some(position)
    }
}

/// Something drawn in one colour under one name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Layer {
    /// Name in the legend; empty if it needs none.
    pub name: String,
    /// Number of the colour in the palette: one of six, or [`Layer::PERIOD`], [`Layer::GOOD`] or [`Layer::USABLE`].
    pub colour: usize,
    pub shape: Shape,
}

impl Layer {
    /// Colours of limits, whose lines differ as well: dotted for the period (a grey that is free for lines
    /// without a colour), dashed for the limit of good, solid for the limit of usable.
    pub(crate) const PERIOD: usize = 6;
    pub(crate) const GOOD: usize = 7;
    pub(crate) const USABLE: usize = 8;

    pub fn new(name: impl Into<String>, colour: usize, shape: Shape) -> Self {
        Layer { name: name.into(), colour: colour % 6, shape }
    }

    /// A layer in a colour of the whole palette.
    pub(crate) fn coloured(name: impl Into<String>, colour: usize, shape: Shape) -> Self {
        Layer { name: name.into(), colour, shape }
    }
}

/// Shape of a layer. Positions are `[x, y]` in the units of the axes.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// A line from point to point.
    Line {
        /// Points from left to right.
        points: Vec<[f64; 2]>,
        /// Style of the line.
        stroke: Stroke,
    },
    /// Single points.
    Points(Vec<[f64; 2]>),
    /// The stretch between a lower and an upper value: `[x, low, high]` from left to right.
    Band(Vec<[f64; 3]>),
    /// Bars from the foot of the figure: `[left, right, height]`.
    Bars(Vec<[f64; 3]>),
    /// Number of values in each interval: `[from, to, count]`, to excluded, from left to right. Neighbours
    /// are added up to bars as wide as the drawing can show.
    Counts(Vec<[f64; 3]>),
    /// A value with the interval it lies in: `[x, low, value, high]`.
    Intervals(Vec<[f64; 4]>),
    /// Rectangles, shaded.
    Cells(Cells),
    /// A frame around a region over the whole height, with words: `from`, `to`, words.
    Boxes(Vec<(f64, f64, String)>),
    /// Outlines around regions: left, bottom, right, top.
    Frames(Vec<[f64; 4]>),
    /// Bars that lie in lanes of an axis of names; who points at one gets its words.
    Spans(Vec<Span>),
    /// An upright line with words at its head: the most important first.
    Marks(Vec<(f64, String)>),
    /// A level line across the figure.
    Level(f64),
}

/// Style of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stroke {
    /// Straight from point to point.
    Solid,
    Dashed,
    /// In steps: the value of a point holds up to the next one.
    Steps,
    /// With a dot at each point.
    Dotted,
}

/// A bar that lies in a lane.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    pub from: f64,
    pub to: f64,
    /// The middle of its lane.
    pub lane: f64,
    pub words: String,
}

impl Span {
    /// Half of its height, in lanes.
    const HALF: f64 = 0.36;
}

/// Rectangles of one size.
#[derive(Debug, Clone, PartialEq)]
pub struct Cells {
    /// Width and height, in places of the axes: a cell is as large at any position.
    pub size: [f64; 2],
    /// Centre, shade from 0 (little) to 1 (much), and words.
    pub cells: Vec<([f64; 2], f64, String)>,
    /// True if the words are printed in the cells; otherwise they appear only when the pointer is on one.
    pub labelled: bool,
    /// Key to the shades: title, and shades with their words.
    pub key: (String, Vec<(f64, String)>),
}

/// Up to this size, in nanoseconds, values of both signs lie evenly around 0.
const LINEAR_ZONE_NS: f64 = 1e3;

/// Number of points of a layer from which on they are drawn as specks.
pub(crate) const MANY_POINTS: usize = 1_000;

/// Shades from little to much, distinguishable on light and dark ground and without colours.
pub(crate) const SHADES: [(f64, [u8; 3]); 3] =
    [(0.0, [0xe9, 0xb9, 0x49]), (0.5, [0xd1, 0x49, 0x5b]), (1.0, [0x5c, 0x3f, 0x99])];

/// The time unit in which values of this size have one to three digits before the point: its nanoseconds and name.
pub fn time_unit(size_ns: f64) -> (f64, &'static str) {
    match size_ns.abs() {
        size if size < 2e3 => (1.0, "ns"),
        size if size < 2e6 => (1e3, "µs"),
        size if size < 2e9 => (1e6, "ms"),
        _ => (1e9, "s"),
    }
}

#[cfg(test)]
mod tests;
