//! Marks on paper, in pixels: what a chart becomes before it is written as SVG, set into a page or painted as PNG.

use std::fmt::Write as _;

use crate::printable::{escape_markup, printable_drawing};

/// Width of every drawing.
pub(crate) const WIDTH: i32 = 900;

/// Marks, the lowest first.
#[derive(Debug, Clone)]
pub struct Drawing {
    pub(crate) height: i32,
    pub(super) marks: Vec<Mark>,
}

/// Pixels to the right and down.
pub(super) type Point = [i32; 2];

/// Red, green and blue.
pub(super) type Ink = [u8; 3];

pub(super) const BLACK: Ink = [0, 0, 0];
pub(super) const WHITE: Ink = [255, 255, 255];
pub(super) const GRID: Ink = [224, 224, 224];

/// Colours that stay apart for colour-blind people and in print (Okabe and Ito, darkened); behind them those of limits.
pub(super) const COLOURS: [Ink; 9] = [
    [0, 114, 178],
    [179, 71, 0],
    [0, 121, 90],
    [163, 64, 127],
    [106, 82, 0],
    [75, 79, 176],
    [85, 93, 102],
    [138, 90, 0],
    [179, 38, 30],
];

#[derive(Debug, Clone)]
pub(super) enum Mark {
    /// A line through these points, or the area between them; of a single one a dot.
    Path(Vec<Point>, Style),
    Text(TextMark),
}

#[derive(Debug, Clone)]
pub(super) struct TextMark {
    /// The anchor on the base line.
    pub at: Point,
    pub anchor: Anchor,
    pub text: String,
    pub size: i32,
    pub ink: Ink,
    /// True if it runs upwards.
    pub is_upright: bool,
}

/// The part of the words that lies at their place.
#[derive(Debug, Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// Properties of a path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Style {
    pub ink: Ink,
    /// Width of its line, diameter of a dot; `None` for an area.
    pub width: Option<i32>,
    /// Length and gap of dashes.
    pub dash: Option<(i32, i32)>,
    pub opacity: f32,
}

impl Style {
    pub fn line(ink: Ink, width: i32) -> Self {
        Style { ink, width: Some(width), dash: None, opacity: 1.0 }
    }

    pub fn area(ink: Ink) -> Self {
        Style { ink, width: None, dash: None, opacity: 1.0 }
    }

    fn css(&self, colour: fn(Ink) -> String) -> String {
        let ink = colour(self.ink);
        let mut style = match self.width {
            Some(width) => format!("fill:none;stroke:{ink};stroke-width:{width}"),
            None => format!("fill:{ink}"),
        };
        if let Some((length, gap)) = self.dash {
            let _ = write!(style, ";stroke-dasharray:{length} {gap}");
        }
        if self.opacity < 1.0 {
            let _ = write!(style, ";opacity:{}", self.opacity);
        }
        style
    }
}

impl TextMark {
    fn svg(&self, colour: fn(Ink) -> String) -> String {
        let [x, y] = self.at;
        let anchor = match self.anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let turn =
            if self.is_upright { format!(" transform=\"rotate(270,{x},{y})\"") } else { String::new() };
        let ink =
            if self.ink == BLACK { String::new() } else { format!(" style=\"fill:{}\"", colour(self.ink)) };
        let (size, text) = (self.size, escape_markup(&self.text));
        format!(
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" font-size=\"{size}\"{turn}{ink}>{text}</text>"
        )
    }
}

impl Mark {
    /// Style of a path, and true if it is a dot; `None` for text.
    fn path_style(&self) -> Option<(&Style, bool)> {
        match self {
            Mark::Path(points, look) => Some((look, points.len() == 1)),
            Mark::Text(_) => None,
        }
    }
}

impl Drawing {
    /// SVG on white ground.
    pub fn svg(&self) -> String {
        let (height, marks) = (self.height, self.elements(|[r, g, b]| format!("#{r:02X}{g:02X}{b:02X}")));
        let svg = format!(
            "<svg width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" xmlns=\"http://www.w3.org/2000/svg\" \
             font-family=\"sans-serif\">\n<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#FFFFFF\"/>\n{marks}</svg>\n"
        );
        printable_drawing(&svg).into_owned()
    }

    /// Elements of SVG in the colours of the page, light or dark.
    pub(crate) fn page_elements(&self) -> String {
        self.elements(|ink| match COLOURS.iter().position(|colour| *colour == ink) {
            Some(number) => format!("var(--c{number})"),
            None if ink == GRID => "var(--line)".into(),
            None if ink == BLACK => "var(--ink)".into(),
            None => format!("rgb({},{},{})", ink[0], ink[1], ink[2]),
        })
    }

    /// SVG of all marks; neighbouring paths of one style are joined, which takes a tenth of the bytes.
    fn elements(&self, colour: fn(Ink) -> String) -> String {
        let alike = self.marks.chunk_by(|a, b| a.path_style().is_some() && a.path_style() == b.path_style());
        let element = |marks: &[Mark]| match &marks[0] {
            Mark::Text(words) => words.svg(colour) + "\n",
            Mark::Path(points, look) => {
                let cap = if points.len() == 1 { ";stroke-linecap:round" } else { "" };
                format!("<path style=\"{}{cap}\" d=\"{}\"/>\n", look.css(colour), path_data(marks))
            }
        };
        alike.map(element).collect()
    }
}

/// Paths by the distances from point to point, which are shorter than positions.
fn path_data(marks: &[Mark]) -> String {
    let (mut path, mut pen) = (String::new(), [0, 0]);
    for mark in marks {
        let Mark::Path(points, look) = mark else { continue };
        let Some((first, rest)) = points.split_first() else { continue };
        push_step(&mut path, "m", pen, *first);
        pen = *first;
        for point in rest.iter() {
            if *point != pen {
                push_step(&mut path, "l", pen, *point);
                pen = *point;
            }
        }
        match look.width {
            // A dot is a line without length and with round ends.
            Some(_) if rest.is_empty() => path += "h0",
            Some(_) => {}
            None => {
                path += "z";
                pen = *first;
            }
        }
    }
    path
}

fn push_step(path: &mut String, by: &str, from: Point, to: Point) {
    let [right, down] = [to[0] - from[0], to[1] - from[1]];
    let _ = match (by, right, down) {
        ("l", _, 0) => write!(path, "h{right}"),
        ("l", 0, _) => write!(path, "v{down}"),
        _ => write!(path, "{by}{right}{}{down}", if down < 0 { "" } else { " " }),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_one_look_are_one_path() {
        let dot = |at| Mark::Path(vec![at], Style::line(COLOURS[0], 2));
        let line = Mark::Path(vec![[0, 0], [5, 0], [5, 0], [5, -3]], Style::line(COLOURS[0], 2));
        let area = Mark::Path(vec![[1, 1], [4, 1], [4, 3]], Style { opacity: 0.5, ..Style::area(BLACK) });
        let drawing = Drawing { height: 10, marks: vec![dot([3, 4]), dot([5, 4]), line, area] };
        assert_eq!(
            drawing.page_elements(),
            "<path style=\"fill:none;stroke:var(--c0);stroke-width:2;stroke-linecap:round\" d=\"m3 4h0m2 0h0\"/>\n\
             <path style=\"fill:none;stroke:var(--c0);stroke-width:2\" d=\"m0 0h5v-3\"/>\n\
             <path style=\"fill:var(--ink);opacity:0.5\" d=\"m1 1h3v2z\"/>\n"
        );
    }
}
