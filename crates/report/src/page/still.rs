//! A chart as it is in the document itself, for paper and for browsers without scripts: its SVG in the colours of the page,
//! with neighbours of one look joined to one path, which takes a tenth of the bytes. Low rectangles, as in heat maps, become
//! lines as wide as they are high, which takes a third again.

use roxmltree::{Document, Node};

use super::html::{Html, Part as _, html};
use crate::chart::{Chart, svg};

/// The chart in a drawing as wide as the page; nothing where it cannot be drawn.
pub fn still(chart: &Chart, title: &str) -> Html {
    let drawn = svg::bare(chart).unwrap_or_default();
    let Ok(document) = Document::parse(&drawn) else { return Html::default() };
    let mut marks: Vec<Mark> = document.root_element().children().filter_map(Mark::new).collect();
    // What lies next to each other in one look may change places.
    for rectangles in marks.chunk_by_mut(|a, b| a.is_rectangle && b.is_rectangle) {
        rectangles.sort_by(|a, b| a.look.cmp(&b.look));
    }
    let joined: Html = marks.chunk_by(|a, b| a.look == b.look && !a.look.is_empty()).map(path).collect();
    html!(
        "<svg class=\"still\" style=\"--height:{height}px\" viewBox=\"0 0 900 {height}\" role=\"img\" aria-label=\"{title}: {x}, {y}\">{joined}</svg>",
        height = chart.height,
        title = title,
        x = chart.x.title,
        y = chart.y.title,
        joined = joined
    )
}

/// Height up to which a rectangle is drawn as a line.
const LOW: f64 = 8.0;

/// An element of the drawing.
struct Mark {
    /// Attributes of its path; empty for words, which stand by themselves.
    look: String,
    /// Its path, or for words the whole element; empty for a level line.
    drawn: String,
    /// Beginning and length of a level line.
    level: Option<[f64; 3]>,
    is_rectangle: bool,
}

fn path(marks: &[Mark]) -> Html {
    let drawn = marks.iter().map(|mark| mark.drawn.as_str()).collect::<String>() + &levels(marks);
    Html::as_it_is(match marks.first().map_or("", |mark| mark.look.as_str()) {
        "" => drawn,
        look => format!("<path {look} d=\"{drawn}\"/>"),
    })
}

/// Level lines from one to the next; those that touch become one.
fn levels(marks: &[Mark]) -> String {
    let mut lines: Vec<[f64; 3]> = Vec::new();
    for [x, y, length] in marks.iter().filter_map(|mark| mark.level) {
        match lines.last_mut() {
            Some(last) if last[1] == y && last[0] + last[2] == x => last[2] += length,
            _ => lines.push([x, y, length]),
        }
    }
    let mut from = [0.0, 0.0];
    let step = |[x, y, length]: [f64; 3]| {
        let (right, down) = (x - from[0], y - from[1]);
        from = [x + length, y];
        format!("m{right}{}{down}h{length}", if down < 0.0 { "" } else { " " })
    };
    lines.into_iter().map(step).collect()
}

impl Mark {
    fn new(element: Node<'_, '_>) -> Option<Self> {
        let text = |name: &str| element.attribute(name).unwrap_or_default();
        let at = |name: &str| text(name).parse::<f64>().unwrap_or_default();
        let colour = |name| Some(text(name)).filter(|colour| !["", "none"].contains(colour));
        let name = element.tag_name().name();
        let is_rectangle = name == "rect";
        let [x, y, width, height] = ["x", "y", "width", "height"].map(at);
        let level = (is_rectangle && height <= LOW && colour("stroke").is_none()).then_some([
            x,
            y + height / 2.0,
            width,
        ]);
        let drawn = match name {
            "rect" if level.is_some() => String::new(),
            "rect" => format!("M{x} {y}h{width}v{height}h-{width}z"),
            // A dot is a line without length and with round ends.
            "circle" => format!("M{} {}h0", at("cx"), at("cy")),
            "line" => format!("M{} {} {} {}", at("x1"), at("y1"), at("x2"), at("y2")),
            // Of a band without a value nothing is drawn.
            "polyline" | "polygon" => {
                let line = Some(relative(text("points"))).filter(|line| !line.is_empty())?;
                line + if name == "polygon" { "z" } else { "" }
            }
            "text" => return Some(Mark::words(element)),
            _ => return None,
        };
        let is_line = name == "circle" || level.is_some();
        let (fill, stroke) = match (is_line, colour("fill"), colour("stroke")) {
            (true, fill, stroke) => (None, fill.or(stroke)),
            (_, fill, stroke) => (fill, stroke),
        };
        let mut look = format!("style=\"fill:{}", fill.map_or_else(|| "none".into(), of_page));
        if let Some(colour) = stroke {
            let width = match name {
                "circle" => 2.0 * at("r"),
                "rect" if level.is_some() => height,
                _ => at("stroke-width").max(1.0),
            };
            look += &format!(";stroke:{}", of_page(colour));
            if width > 1.0 {
                look += &format!(";stroke-width:{width}");
            }
        }
        if text("opacity") != "1" {
            look += &format!(";opacity:{}", text("opacity"));
        }
        look += if name == "circle" { ";stroke-linecap:round\"" } else { "\"" };
        Some(Mark { look, drawn, level, is_rectangle })
    }

    fn words(element: Node<'_, '_>) -> Self {
        let attribute = |name: &str| {
            let value = element.attribute(name)?;
            Some(format!(" {name}=\"{}\"", value.html()))
        };
        let kept: String =
            ["x", "y", "dy", "text-anchor", "transform"].into_iter().filter_map(attribute).collect();
        let colour = element.attribute("fill").filter(|colour| *colour != "#000000");
        let colour = colour.map_or_else(String::new, |colour| format!(" style=\"fill:{}\"", of_page(colour)));
        let words = element.text().unwrap_or_default().trim();
        Mark {
            look: String::new(),
            drawn: format!("<text{kept}{colour}>{}</text>", words.html()),
            level: None,
            is_rectangle: false,
        }
    }
}

/// A line from its first point on by distances, which are shorter than positions.
fn relative(points: &str) -> String {
    let mut numbers = points.split([' ', ',']).filter_map(|number| number.parse::<i32>().ok());
    let (mut path, mut before) = (String::new(), None);
    while let (Some(x), Some(y)) = (numbers.next(), numbers.next()) {
        if before == Some((x, y)) {
            continue;
        }
        let (from_x, from_y) = before.unwrap_or_default();
        let (right, down) = (x - from_x, y - from_y);
        let begin = if before.is_none() { "M" } else { "l" };
        path += &match (begin, right, down) {
            ("l", _, 0) => format!("h{right}"),
            ("l", 0, _) => format!("v{down}"),
            _ => format!("{begin}{right}{}{down}", if down < 0 { "" } else { " " }),
        };
        before = Some((x, y));
    }
    path
}

/// A colour as the page has it, light or dark.
fn of_page(colour: &str) -> String {
    match (svg::in_palette(colour), colour) {
        (Some(number), _) => format!("var(--c{number})"),
        (None, "#E0E0E0") => "var(--line)".into(),
        (None, "#000000") => "var(--ink)".into(),
        (None, other) => other.into(),
    }
}
