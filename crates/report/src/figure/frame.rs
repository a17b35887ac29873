//! What all drawn figures share: size, colours, ticks, the legend.

use std::error::Error;

use plotters::prelude::*;

pub type Drawn = Result<(), Box<dyn Error>>;

pub const SIZE: (u32, u32) = (900, 560);
pub const FONT: &str = "sans-serif";

/// Colours that stay apart for colour-blind people and in print (Okabe and Ito, darkened).
pub const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(179, 71, 0),
    RGBColor(0, 121, 90),
    RGBColor(163, 64, 127),
    RGBColor(106, 82, 0),
    RGBColor(75, 79, 176),
];

/// A tick's label: as many decimals as the distance of ticks calls for.
pub fn tick(value: f64) -> String {
    let text = format!("{value:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

/// The legend, where there is more than one curve.
pub fn legend_style() -> (ShapeStyle, ShapeStyle) {
    (WHITE.mix(0.85).filled(), ShapeStyle::from(&RGBColor(180, 180, 180)))
}
