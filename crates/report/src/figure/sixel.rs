//! A picture on terminals that show sixels: columns of six pixels, one character each
//! (<https://vt100.net/docs/vt3xx-gp/chapter14.html>).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use tiny_skia::Pixmap;

use super::FigureError;
use super::png::pixels;

/// The most colours that such terminals have at once.
const COLOURS: usize = 256;
/// Pixels of a column where the terminal does not say.
const COLUMN: u32 = 9;

type Colour = [u8; 3];

/// The figure as such a terminal takes it, `columns` wide, of `width` pixels where these are known.
///
/// # Errors
/// The SVG is not one that this library drew.
pub fn sixel(svg: &str, columns: usize, width: Option<u16>) -> Result<String, FigureError> {
    let wide = width.map_or(columns as u32 * COLUMN, u32::from).clamp(200, 1_800);
    Ok(encoded(&pixels(svg, |_| wide)?))
}

fn encoded(picture: &Pixmap) -> String {
    let (width, height) = (picture.width() as usize, picture.height() as usize);
    let colours: Vec<Colour> =
        picture.pixels().iter().map(|p| coarse([p.red(), p.green(), p.blue()])).collect();
    let (palette, numbers) = palette(&colours);
    let mut text = format!("\x1bPq\"1;1;{width};{height}");
    for (number, colour) in palette.iter().enumerate() {
        let [r, g, b] = colour.map(|part| (u32::from(part) * 100 + 127) / 255);
        let _ = write!(text, "#{number};2;{r};{g};{b}");
    }
    for band in colours.chunks(6 * width) {
        let mut columns: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
        for (at, colour) in band.iter().enumerate() {
            let number = numbers.get(colour).copied().unwrap_or(0);
            columns.entry(number).or_insert_with(|| vec![0; width])[at % width] |= 1 << (at / width);
        }
        for (number, columns) in columns {
            let _ = write!(text, "#{number}");
            for run in columns.chunk_by(|a, b| a == b) {
                let sixel = char::from(0x3f + run[0]);
                let _ = if run.len() > 3 {
                    write!(text, "!{}{sixel}", run.len())
                } else {
                    write!(text, "{}", sixel.to_string().repeat(run.len()))
                };
            }
            text.push('$');
        }
        text.push('-');
    }
    text + "\x1b\\\n"
}

/// A colour among those of five bits a part, which the eye hardly tells apart.
fn coarse(colour: Colour) -> Colour {
    colour.map(|part| part & 0xf8 | part >> 5)
}

/// The colours that come most often, and which of them stands for each that comes at all.
fn palette(colours: &[Colour]) -> (Vec<Colour>, BTreeMap<Colour, usize>) {
    let mut counts: BTreeMap<Colour, usize> = BTreeMap::new();
    colours.iter().for_each(|colour| *counts.entry(*colour).or_default() += 1);
    let mut often: Vec<(Colour, usize)> = counts.into_iter().collect();
    often.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let palette: Vec<Colour> = often.iter().take(COLOURS).map(|(colour, _)| *colour).collect();
    let distance = |a: &Colour, b: &Colour| -> u32 {
        a.iter().zip(b).map(|(a, b)| u32::from(a.abs_diff(*b)).pow(2)).sum()
    };
    let nearest = |colour: &Colour| {
        let near = palette.iter().enumerate().min_by_key(|(_, other)| distance(colour, other));
        near.map_or(0, |(number, _)| number)
    };
    let numbers = often.iter().map(|(colour, _)| (*colour, nearest(colour))).collect();
    (palette, numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiny_skia::{Color, Paint, Rect, Transform};

    /// What such a terminal draws of it: the colour of each pixel.
    fn drawn(text: &str, width: usize, height: usize) -> Vec<Colour> {
        let body = text.strip_prefix("\x1bPq").unwrap().strip_suffix("\x1b\\\n").unwrap();
        let (_, body) = body.split_once('#').unwrap();
        let (mut palette, mut pixels) = (BTreeMap::new(), vec![[0; 3]; width * height]);
        let (mut number, mut column, mut band) = (0, 0, 0);
        let mut rest = format!("#{body}");
        let take = |rest: &mut String| {
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            rest.drain(..digits.len());
            digits.parse::<usize>().unwrap()
        };
        while !rest.is_empty() {
            let (c, mut times) = (rest.remove(0), 1);
            match c {
                '#' => {
                    number = take(&mut rest);
                    if rest.starts_with(";2;") {
                        rest.drain(..3);
                        let mut parts = [0; 3];
                        for (i, part) in parts.iter_mut().enumerate() {
                            *part = (take(&mut rest) * 255 / 100) as u8;
                            if i < 2 {
                                rest.remove(0);
                            }
                        }
                        palette.insert(number, parts);
                    }
                    continue;
                }
                '$' => column = 0,
                '-' => (column, band) = (0, band + 1),
                _ => {
                    let mut sixel = c;
                    if c == '!' {
                        times = take(&mut rest);
                        sixel = rest.remove(0);
                    }
                    for _ in 0..times {
                        for row in (0..6).filter(|row| (sixel as u8 - 0x3f) >> row & 1 == 1) {
                            pixels[(6 * band + row) * width + column] = palette[&number];
                        }
                        column += 1;
                    }
                }
            }
        }
        pixels
    }

    #[test]
    fn the_characters_make_the_picture_again() {
        let (width, height) = (50, 13);
        let mut picture = Pixmap::new(width, height).unwrap();
        picture.fill(Color::WHITE);
        let mut paint = Paint::default();
        paint.set_color_rgba8(200, 30, 90, 255);
        let place = Rect::from_xywh(7.0, 2.0, 30.0, 9.0).unwrap();
        picture.fill_rect(place, &paint, Transform::identity(), None);
        let drawn = drawn(&encoded(&picture), width as usize, height as usize);
        for (pixel, drawn) in picture.pixels().iter().zip(drawn) {
            let wanted = [pixel.red(), pixel.green(), pixel.blue()];
            assert!(wanted.iter().zip(drawn).all(|(a, b)| a.abs_diff(b) <= 8), "{wanted:?} {drawn:?}");
        }
    }

    #[test]
    fn more_colours_than_there_are_become_their_neighbours() {
        let colours: Vec<Colour> =
            (0..4_096u32).map(|n| coarse([n as u8, (n >> 4) as u8, (n >> 8) as u8 * 16])).collect();
        let (palette, numbers) = palette(&colours);
        assert!(palette.len() == COLOURS && colours.iter().all(|colour| numbers[colour] < COLOURS));
    }
}
