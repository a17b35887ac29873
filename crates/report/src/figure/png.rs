//! SVG to PNG, with a fount of our own, so that it looks the same on every machine.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use super::FigureError;

/// Pixels of the PNG for one of the SVG: sharp on dense screens and in print.
const SCALE: f32 = 2.0;

/// The figure as PNG, at twice the size in pixels.
///
/// # Errors
/// The SVG is not one that this library drew.
pub fn png(svg: &str) -> Result<Vec<u8>, FigureError> {
    pixels(svg, |width| (width * SCALE).ceil() as u32)?
        .encode_png()
        .map_err(|error| FigureError::Png(error.to_string()))
}

/// The figure in pixels, as wide as `width` makes of the SVG's width.
pub(super) fn pixels(svg: &str, width: impl Fn(f32) -> u32) -> Result<Pixmap, FigureError> {
    let failed = |error: &dyn std::fmt::Display| FigureError::Png(error.to_string());
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(epaint_default_fonts::UBUNTU_LIGHT.to_vec());
    let family = fonts.faces().next().and_then(|face| face.families.first()).map(|(name, _)| name.clone());
    let family = family.ok_or_else(|| failed(&"its fount cannot be read"))?;
    fonts.set_sans_serif_family(&family);
    let options = Options { font_family: family, fontdb: Arc::new(fonts), ..Options::default() };
    let tree = Tree::from_str(svg, &options).map_err(|e| failed(&e))?;
    let size = tree.size();
    let width = width(size.width());
    let scale = width as f32 / size.width();
    let height = (size.height() * scale).ceil() as u32;
    let mut pixmap = Pixmap::new(width, height).ok_or_else(|| failed(&"it has no size"))?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixmap.as_mut());
    Ok(pixmap)
}
