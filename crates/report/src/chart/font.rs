//! Text as outlines: letters side by side, closer where the font kerns them. Scripts that need more than
//! that have no letters in it and show as empty boxes.

use std::fmt;

use tiny_skia::PathBuilder;
use ttf_parser::gpos::{PairAdjustment, PositioningSubtable};
use ttf_parser::{Face, GlyphId, OutlineBuilder};

use jitterlab_model::Error;

/// A font with drawable letters.
pub(super) struct Font(Face<'static>);

pub(super) fn png_error(why: impl fmt::Display) -> Error {
    Error::not_measured(format!("the figure could not be turned into PNG ({why}); SVG works"))
        .remedy("name the file .svg")
}

impl Font {
    /// The font that comes with the program.
    ///
    /// # Errors
    /// The font cannot be read: never in practice.
    pub(super) fn built_in() -> Result<Self, Error> {
        let face = Face::parse(epaint_default_fonts::UBUNTU_LIGHT, 0);
        Ok(Font(face.map_err(png_error)?))
    }

    pub(super) fn width(&self, text: &str, size: f32) -> f32 {
        self.glyph_positions(text).last().map_or(0.0, |(_, _, end)| end) * self.scale(size)
    }

    /// Adds the outlines of a text, whose baseline begins at this point.
    pub(super) fn add_outlines(
        &self,
        text: &str,
        size: f32,
        (left, base): (f32, f32),
        path: &mut PathBuilder,
    ) {
        let scale = self.scale(size);
        for (glyph, at, _) in self.glyph_positions(text) {
            let mut pen = Pen { path, left: left + at * scale, base, scale };
            // A space has none.
            let _ = self.0.outline_glyph(glyph, &mut pen);
        }
    }

    fn scale(&self, size: f32) -> f32 {
        size / f32::from(self.0.units_per_em())
    }

    /// The letters of a text with where each begins and ends, in units of the font.
    fn glyph_positions(&self, text: &str) -> impl Iterator<Item = (GlyphId, f32, f32)> {
        let (mut end, mut before) = (0.0, None);
        text.chars().map(move |letter| {
            let glyph = self.0.glyph_index(letter).unwrap_or_default();
            let closer = before.replace(glyph).map_or(0, |before| self.kerning(before, glyph));
            let begin = end + f32::from(closer);
            end = begin + f32::from(self.0.glyph_hor_advance(glyph).unwrap_or(0));
            (glyph, begin, end)
        })
    }

    /// Kerning of two letters, usually negative.
    fn kerning(&self, left: GlyphId, right: GlyphId) -> i16 {
        let lookups = self.0.tables().gpos.map(|gpos| gpos.lookups);
        let tables = lookups.into_iter().flatten().flat_map(|lookup| lookup.subtables.into_iter());
        let mut pairs = tables.filter_map(|table| match table {
            PositioningSubtable::Pair(PairAdjustment::Format1 { coverage, sets }) => {
                sets.get(coverage.get(left)?)?.get(right).map(|(first, _)| first.x_advance)
            }
            PositioningSubtable::Pair(PairAdjustment::Format2 { coverage, classes, matrix }) => {
                coverage.get(left)?;
                let classes = (classes.0.get(left), classes.1.get(right));
                matrix.get(classes).map(|(first, _)| first.x_advance)
            }
            _ => None,
        });
        pairs.next().unwrap_or(0)
    }
}

/// Draws an outline at its letter's position.
struct Pen<'a> {
    path: &'a mut PathBuilder,
    left: f32,
    base: f32,
    scale: f32,
}

impl Pen<'_> {
    fn to_pixels(&self, x: f32, y: f32) -> (f32, f32) {
        (self.left + x * self.scale, self.base - y * self.scale)
    }
}

impl OutlineBuilder for Pen<'_> {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.to_pixels(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.to_pixels(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.to_pixels(x1, y1), self.to_pixels(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) =
            (self.to_pixels(x1, y1), self.to_pixels(x2, y2), self.to_pixels(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_that_lean_on_each_other_stand_closer() {
        let font = Font::built_in().unwrap();
        let width = |text| font.width(text, 100.0);
        assert!(width("AV") < width("A") + width("V") - 2.0);
        assert!((width("HH") - 2.0 * width("H")).abs() < 1e-3 && width("") == 0.0);
        // Twice the size is twice the width; a letter that the font lacks has the width of its empty box.
        assert!((font.width("µs", 50.0) - width("µs") / 2.0).abs() < 1e-3);
        assert!(width("\u{6f22}") > 10.0);
    }
}
