//! A drawing as PNG, with a font of our own, so that it looks the same on every machine.

use std::io::{self, Write};

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use jitterlab_model::Error;
use tiny_skia::{Color, FillRule, Paint, PathBuilder, Pixmap, Stroke, StrokeDash, Transform};

use super::drawing::{Anchor, Drawing, Ink, Mark, Point, Style, TextMark, WIDTH};
use super::font::{Font, png_error};

/// Pixels of the PNG for one of the drawing: sharp on dense screens and in print.
const SCALE: f32 = 2.0;

impl Drawing {
    /// PNG on white ground, at twice the size in pixels.
    pub fn png(&self) -> Result<Vec<u8>, Error> {
        encode_png(&self.pixels(SCALE)?).map_err(png_error)
    }

    fn pixels(&self, scale: f32) -> Result<Pixmap, Error> {
        let side = |pixels: i32| (pixels as f32 * scale).ceil() as u32;
        let picture = Pixmap::new(side(WIDTH), side(self.height));
        let mut picture = picture.ok_or_else(|| png_error("it has no size"))?;
        let (font, scaled) = (Font::built_in()?, Transform::from_scale(scale, scale));
        picture.fill(Color::WHITE);
        for mark in &self.marks {
            match mark {
                Mark::Path(points, look) => draw_path(points, look, scaled, &mut picture),
                Mark::Text(words) => draw_text(words, &font, scaled, &mut picture),
            }
        }
        Ok(picture)
    }
}

/// Opaque pixels as PNG (ISO/IEC 15948). Each row is its difference from the one above, which is nothing in most of a chart.
/// The encoder that belongs to the pixels would bring four packages into the first build.
fn encode_png(picture: &Pixmap) -> io::Result<Vec<u8>> {
    const FROM_ABOVE: u8 = 2;
    const EIGHT_BITS_OF_RGB: [u8; 5] = [8, 2, 0, 0, 0];
    let mut above = vec![0; picture.width() as usize * 3];
    let mut rows = ZlibEncoder::new(Vec::new(), Compression::default());
    for row in picture.pixels().chunks_exact(picture.width() as usize) {
        let row: Vec<u8> = row.iter().flat_map(|pixel| [pixel.red(), pixel.green(), pixel.blue()]).collect();
        let differences: Vec<u8> =
            row.iter().zip(&above).map(|(here, above)| here.wrapping_sub(*above)).collect();
        rows.write_all(&[FROM_ABOVE])?;
        rows.write_all(&differences)?;
        above = row;
    }
    let size = [picture.width().to_be_bytes(), picture.height().to_be_bytes()].concat();
    let header = [&size[..], &EIGHT_BITS_OF_RGB].concat();
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    for (kind, content) in [(b"IHDR", header), (b"IDAT", rows.finish()?), (b"IEND", Vec::new())] {
        let chunk = [&kind[..], &content].concat();
        let mut sum = Crc::new();
        sum.update(&chunk);
        file.extend([&(content.len() as u32).to_be_bytes()[..], &chunk, &sum.sum().to_be_bytes()].concat());
    }
    Ok(file)
}

fn draw_path(points: &[Point], look: &Style, scaled: Transform, on: &mut Pixmap) {
    let paint = paint(look.ink, look.opacity);
    let mut path = PathBuilder::new();
    let width = look.width.map(|width| width as f32);
    if let ([[x, y]], Some(width)) = (points, width) {
        path.push_circle(*x as f32, *y as f32, width / 2.0);
    }
    for [x, y] in points.iter().filter(|_| points.len() > 1).map(|point| point.map(|at| at as f32)) {
        if path.is_empty() { path.move_to(x, y) } else { path.line_to(x, y) }
    }
    // Points in one place have no extent.
    let Some(path) = path.finish() else { return };
    match width.filter(|_| points.len() > 1) {
        Some(width) => {
            let dash = look.dash.map(|(length, gap)| vec![length as f32, gap as f32]);
            let dash = dash.and_then(|dash| StrokeDash::new(dash, 0.0));
            on.stroke_path(&path, &paint, &Stroke { width, dash, ..Stroke::default() }, scaled, None);
        }
        None => on.fill_path(&path, &paint, FillRule::Winding, scaled, None),
    }
}

fn draw_text(words: &TextMark, font: &Font, scaled: Transform, on: &mut Pixmap) {
    let ([x, y], size) = (words.at.map(|at| at as f32), words.size as f32);
    let left = match words.anchor {
        Anchor::Start => x,
        Anchor::Middle => x - font.width(&words.text, size) / 2.0,
        Anchor::End => x - font.width(&words.text, size),
    };
    let turned = match words.is_upright {
        true => scaled.pre_concat(Transform::from_rotate_at(270.0, x, y)),
        false => scaled,
    };
    let mut path = PathBuilder::new();
    font.add_outlines(&words.text, size, (left, y), &mut path);
    if let Some(path) = path.finish() {
        on.fill_path(&path, &paint(words.ink, 1.0), FillRule::Winding, turned, None);
    }
}

fn paint([r, g, b]: Ink, opacity: f32) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color_rgba8(r, g, b, (opacity * 255.0).round() as u8);
    paint
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::drawing::BLACK;

    /// The pixels of these marks, at their own size.
    fn drawn(marks: Vec<Mark>) -> Pixmap {
        Drawing { height: 20, marks }.pixels(1.0).unwrap()
    }

    fn at(picture: &Pixmap, x: u32, y: u32) -> [u8; 3] {
        let pixel = picture.pixel(x, y).unwrap();
        [pixel.red(), pixel.green(), pixel.blue()]
    }

    #[test]
    fn shapes_lie_where_they_should_in_their_colours() {
        let (red, green, blue, white) = ([255, 0, 0], [0, 255, 0], [0, 0, 255], [255; 3]);
        let square = vec![[2, 2], [8, 2], [8, 8], [2, 8]];
        let picture = drawn(vec![
            Mark::Path(square, Style { opacity: 0.5, ..Style::area(red) }),
            Mark::Path(vec![[15, 5]], Style::line(green, 8)),
            Mark::Path(vec![[0, 15], [20, 15]], Style::line(blue, 2)),
            Mark::Path(
                vec![[30, 2], [30, 10], [38, 10]],
                Style { dash: Some((4, 2)), ..Style::line(BLACK, 2) },
            ),
        ]);
        assert_eq!(at(&picture, 5, 5), [255, 127, 127]);
        assert_eq!([at(&picture, 15, 5), at(&picture, 5, 15)], [green, blue]);
        // A dash, a gap, the corner, and the other side of it.
        let line = [(30, 4), (30, 7), (30, 9), (34, 5)].map(|(x, y)| at(&picture, x, y));
        assert_eq!(line, [BLACK, white, BLACK, white]);
    }

    #[test]
    fn a_file_has_the_pixels_that_were_drawn() {
        let line =
            Mark::Path(vec![[3, 4], [17, 12]], Style { opacity: 0.5, ..Style::line([200, 30, 90], 3) });
        let picture = drawn(vec![line]);
        assert_eq!(Pixmap::decode_png(&encode_png(&picture).unwrap()).unwrap(), picture);
    }

    #[test]
    fn text_is_written_from_its_anchor_and_along_its_turn() {
        let inked = |anchor, is_upright| {
            let text = "EE".into();
            let words = TextMark { at: [20, 13], anchor, text, size: 12, ink: BLACK, is_upright };
            let picture = drawn(vec![Mark::Text(words)]);
            let places = (0..40).flat_map(|x| (0..20).map(move |y| (x, y)));
            let inked: Vec<_> = places.filter(|(x, y)| at(&picture, *x, *y)[0] < 155).collect();
            let mean = |all: Vec<u32>| f64::from(all.iter().sum::<u32>()) / all.len() as f64;
            (mean(inked.iter().map(|p| p.0).collect()), mean(inked.iter().map(|p| p.1).collect()))
        };
        let [start, middle, end] = [Anchor::Start, Anchor::Middle, Anchor::End].map(|at| inked(at, false));
        assert!(
            start.0 > 24.0 && end.0 < 16.0 && (middle.0 - 20.0).abs() < 1.5,
            "{start:?} {middle:?} {end:?}"
        );
        assert!((middle.1 - 9.0).abs() < 1.5, "{middle:?}");
        let turned = inked(Anchor::Start, true);
        assert!((turned.0 - 16.0).abs() < 1.5 && turned.1 < 9.0, "{turned:?}");
    }
}
