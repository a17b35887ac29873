//! SVG to PNG, with a fount of our own, so that it looks the same on every machine. It draws only the
//! elements of figures: a whole SVG renderer, and the shaping of every script, would be a tenth of the
//! program.
use jitterlab_model::Error;
use roxmltree::{Document, Node};
use tiny_skia::{FillRule, Paint, PathBuilder, Pixmap, Rect, Stroke, Transform};

use super::font::{Font, no_png};

/// Pixels of the PNG for one of the SVG: sharp on dense screens and in print.
const SCALE: f32 = 2.0;

/// The figure as PNG, at twice the size in pixels.
pub fn png(svg: &str) -> Result<Vec<u8>, Error> {
    pixels(svg, SCALE)?.encode_png().map_err(no_png)
}

/// The figure in pixels, `scale` of them for one of the SVG.
fn pixels(svg: &str, scale: f32) -> Result<Pixmap, Error> {
    let document = Document::parse(svg).map_err(no_png)?;
    let root = document.root_element();
    let [width, height] =
        [number(root, "width")?, number(root, "height")?].map(|side| (side * scale).ceil() as u32);
    let mut pixmap = Pixmap::new(width, height).ok_or_else(|| no_png("it has no size"))?;
    let fount = Font::ours()?;
    for element in root.children().filter(Node::is_element) {
        draw(element, &fount, Transform::from_scale(scale, scale), &mut pixmap)?;
    }
    Ok(pixmap)
}

/// Draws an element; one without an extent leaves nothing.
fn draw(element: Node<'_, '_>, fount: &Font, scale: Transform, on: &mut Pixmap) -> Result<(), Error> {
    let number = |name| number(element, name);
    let (mut path, mut transform) = (PathBuilder::new(), scale);
    match element.tag_name().name() {
        "rect" => {
            let rect = Rect::from_xywh(number("x")?, number("y")?, number("width")?, number("height")?);
            rect.into_iter().for_each(|rect| path.push_rect(rect));
        }
        "circle" => path.push_circle(number("cx")?, number("cy")?, number("r")?),
        "line" => {
            path.move_to(number("x1")?, number("y1")?);
            path.line_to(number("x2")?, number("y2")?);
        }
        kind @ ("polyline" | "polygon") => {
            for point in attribute(element, "points")?.split_whitespace() {
                let (x, y) = point.split_once(',').ok_or_else(|| unlike(element, "points"))?;
                let (x, y) = (parsed(element, "points", x)?, parsed(element, "points", y)?);
                if path.is_empty() { path.move_to(x, y) } else { path.line_to(x, y) }
            }
            if kind == "polygon" {
                path.close();
            }
        }
        "text" => {
            let (at, size) = ((number("x")?, number("y")?), number("font-size")?);
            let words = element.text().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
            let left = match attribute(element, "text-anchor")? {
                "start" => at.0,
                "middle" => at.0 - fount.width(&words, size) / 2.0,
                "end" => at.0 - fount.width(&words, size),
                _ => return Err(unlike(element, "text-anchor")),
            };
            let down = attribute(element, "dy")?;
            let down = match (down.strip_suffix("em"), down.strip_suffix("ex")) {
                (Some(ems), _) => parsed(element, "dy", ems)? * size,
                // As browsers take it where they do not ask the fount.
                (_, Some(exes)) => parsed(element, "dy", exes)? * size / 2.0,
                _ => return Err(unlike(element, "dy")),
            };
            if let Some(turn) = element.attribute("transform") {
                let degrees = turn.strip_prefix("rotate(").and_then(|turn| turn.split(',').next());
                let degrees = degrees.ok_or_else(|| unlike(element, "transform"))?;
                let degrees = parsed(element, "transform", degrees)?;
                transform = scale.pre_concat(Transform::from_rotate_at(degrees, at.0, at.1));
            }
            fount.write(&words, size, (left, at.1 + down), &mut path);
        }
        other => {
            return Err(no_png(format!("<{other}> is not drawn")));
        }
    }
    let Some(path) = path.finish() else { return Ok(()) };
    if let Some(paint) = paint(element, "fill")? {
        on.fill_path(&path, &paint, FillRule::Winding, transform, None);
    }
    if let Some(paint) = paint(element, "stroke")? {
        let width = if element.has_attribute("stroke-width") { number("stroke-width")? } else { 1.0 };
        on.stroke_path(&path, &paint, &Stroke { width, ..Stroke::default() }, transform, None);
    }
    Ok(())
}

/// The colour that an element is filled or outlined with, if any: closed shapes are filled by default.
fn paint(element: Node<'_, '_>, what: &str) -> Result<Option<Paint<'static>>, Error> {
    let Some(colour) = element.attribute(what).filter(|colour| *colour != "none") else { return Ok(None) };
    let digits = colour.strip_prefix('#').filter(|digits| digits.len() == 6);
    let rgb = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
    let [_, r, g, b] = rgb.ok_or_else(|| unlike(element, what))?.to_be_bytes();
    let opacity = number(element, "opacity")?.clamp(0.0, 1.0);
    let mut paint = Paint::default();
    paint.set_color_rgba8(r, g, b, (opacity * 255.0).round() as u8);
    Ok(Some(paint))
}

fn attribute<'a>(element: Node<'a, '_>, name: &str) -> Result<&'a str, Error> {
    element.attribute(name).ok_or_else(|| unlike(element, name))
}

fn number(element: Node<'_, '_>, name: &str) -> Result<f32, Error> {
    parsed(element, name, attribute(element, name)?)
}

fn parsed(element: Node<'_, '_>, name: &str, text: &str) -> Result<f32, Error> {
    let number = text.trim().parse::<f32>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| unlike(element, name))
}

fn unlike(element: Node<'_, '_>, name: &str) -> Error {
    no_png(format!("the {name} of a <{}>", element.tag_name().name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A drawing of 40 by 20 that holds this, at its own size.
    fn drawn(elements: &str) -> Result<Pixmap, Error> {
        pixels(&format!("<svg width=\"40\" height=\"20\">{elements}</svg>"), 1.0)
    }

    fn at(picture: &Pixmap, x: u32, y: u32) -> [u8; 4] {
        let pixel = picture.pixel(x, y).unwrap();
        [pixel.red(), pixel.green(), pixel.blue(), pixel.alpha()]
    }

    #[test]
    fn shapes_lie_where_they_should_in_their_colours() {
        let picture = drawn(
            "<rect x=\"0\" y=\"0\" width=\"40\" height=\"20\" opacity=\"1\" fill=\"#FFFFFF\" stroke=\"none\"/>
             <rect x=\"2\" y=\"2\" width=\"6\" height=\"6\" opacity=\"0.5\" fill=\"#FF0000\" stroke=\"none\"/>
             <circle cx=\"15\" cy=\"5\" r=\"4\" opacity=\"1\" fill=\"#00FF00\" stroke=\"none\" stroke-width=\"1\"/>
             <line opacity=\"1\" stroke=\"#0000FF\" stroke-width=\"2\" x1=\"0\" y1=\"15\" x2=\"20\" y2=\"15\"/>
             <polyline fill=\"none\" opacity=\"1\" stroke=\"#000000\" stroke-width=\"2\" points=\"30,2 30,10 38,10 \"/>
             <polygon opacity=\"1\" fill=\"#00FFFF\" points=\"22,12 28,12 28,18 22,18 \"/>",
        )
        .unwrap();
        let (white, black) = ([255, 255, 255, 255], [0, 0, 0, 255]);
        assert_eq!(at(&picture, 5, 5), [255, 127, 127, 255]);
        assert_eq!([at(&picture, 15, 5), at(&picture, 5, 15)], [[0, 255, 0, 255], [0, 0, 255, 255]]);
        assert_eq!([at(&picture, 30, 5), at(&picture, 35, 9), at(&picture, 34, 5)], [black, black, white]);
        assert_eq!([at(&picture, 25, 15), at(&picture, 36, 16)], [[0, 255, 255, 255], white]);
    }

    #[test]
    fn text_is_written_from_its_anchor_and_along_its_turn() {
        let inked = |anchor: &str, turn: &str| {
            let text = format!(
                "<text x=\"20\" y=\"10\" dy=\"0.5ex\" text-anchor=\"{anchor}\" font-size=\"12\" opacity=\"1\" \
                 fill=\"#000000\"{turn}>\nEE\n</text>"
            );
            let picture = drawn(&text).unwrap();
            let places = (0..40).flat_map(|x| (0..20).map(move |y| (x, y)));
            let inked: Vec<_> = places.filter(|(x, y)| at(&picture, *x, *y)[3] > 100).collect();
            let mean = |all: Vec<u32>| f64::from(all.iter().sum::<u32>()) / all.len() as f64;
            (mean(inked.iter().map(|p| p.0).collect()), mean(inked.iter().map(|p| p.1).collect()))
        };
        let (start, middle, end) = (inked("start", ""), inked("middle", ""), inked("end", ""));
        assert!(
            start.0 > 24.0 && end.0 < 16.0 && (middle.0 - 20.0).abs() < 1.5,
            "{start:?} {middle:?} {end:?}"
        );
        assert!((middle.1 - 9.0).abs() < 1.5, "{middle:?}");
        let turned = inked("start", " transform=\"rotate(270, 20, 10)\"");
        assert!((turned.0 - 19.0).abs() < 1.5 && turned.1 < 6.0, "{turned:?}");
    }

    #[test]
    fn what_is_not_known_is_not_left_out_in_silence() {
        for strange in [
            "<path d=\"M0,0\"/>",
            "<rect x=\"a\" y=\"0\" width=\"1\" height=\"1\" opacity=\"1\"/>",
            "<circle/>",
        ] {
            assert!(drawn(strange).is_err_and(|e| e.to_string().contains("turned into PNG")), "{strange}");
        }
        assert!(drawn("<rect").is_err_and(|e| e.to_string().contains("turned into PNG")));
    }
}
