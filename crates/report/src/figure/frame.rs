//! What all drawn figures share: size, colours, units, the caption.

use std::error::Error;

use jitterlab_analysis::verdict::grouped;
use jitterlab_model::units::{Exact, Human};
use plotters::coord::Shift;
use plotters::prelude::*;

use super::Quantity;
use crate::page::{PageRun, PageTask};

pub type Drawn = Result<(), Box<dyn Error>>;
pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

pub const SIZE: (u32, u32) = (900, 560);
pub const FONT: &str = "sans-serif";
/// Characters that fit on a line of the caption.
const CAPTION_COLUMNS: usize = 118;
const CAPTION_LINE: i32 = 17;

/// Colours that stay apart for colour-blind people and in print (Okabe and Ito, darkened).
pub const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(179, 71, 0),
    RGBColor(0, 121, 90),
    RGBColor(163, 64, 127),
    RGBColor(106, 82, 0),
    RGBColor(75, 79, 176),
];

/// A task of a run with its name in the figure.
pub struct Drawable<'a> {
    pub name: String,
    pub run: &'a PageRun,
    pub task: &'a PageTask,
    pub colour: RGBColor,
}

/// The tasks that have values of the quantity.
pub fn drawables(quantity: Quantity, runs: &[PageRun]) -> Vec<Drawable<'_>> {
    let tasks = runs.iter().flat_map(|run| run.tasks.iter().map(move |task| (run, task)));
    let named =
        tasks.filter(|(_, task)| quantity.of(task).count() > 0).enumerate().map(|(i, (run, task))| {
            let own = &task.figures.summary.task;
            let name = if runs.len() > 1 { format!("{}: {own}", run.label) } else { own.clone() };
            Drawable { name, run, task, colour: COLOURS[i % COLOURS.len()] }
        });
    named.collect()
}

/// The unit in which times of this size have one to three digits before the point: its nanoseconds and name.
pub fn unit(size_ns: f64) -> (f64, &'static str) {
    match size_ns.abs() {
        size if size < 2e3 => (1.0, "ns"),
        size if size < 2e6 => (1e3, "µs"),
        size if size < 2e9 => (1e6, "ms"),
        _ => (1e9, "s"),
    }
}

/// A tick's label: as many decimals as the distance of ticks calls for.
pub fn tick(value: f64) -> String {
    let text = format!("{value:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

/// A white sheet with the caption at its foot; what is above it is for the figure.
pub fn sheet<'a>(
    text: &'a mut String,
    quantity: Quantity,
    drawables: &[Drawable<'_>],
) -> Result<Area<'a>, Box<dyn Error>> {
    let lines: Vec<String> = drawables.iter().flat_map(|d| wrap(&caption(quantity, d))).collect();
    let foot = 10 + CAPTION_LINE * lines.len() as i32;
    let root = SVGBackend::with_string(text, (SIZE.0, SIZE.1 + foot as u32)).into_drawing_area();
    root.fill(&WHITE)?;
    let (upper, lower) = root.split_vertically(SIZE.1);
    let style = (FONT, 13).into_font().color(&RGBColor(60, 60, 60));
    for (i, line) in lines.iter().enumerate() {
        lower.draw(&Text::new(line.clone(), (20, CAPTION_LINE * i as i32), style.clone()))?;
    }
    Ok(upper)
}

fn caption(quantity: Quantity, d: &Drawable<'_>) -> String {
    let summary = &d.task.figures.summary;
    let spec = d.run.info.tasks.iter().map(|t| &t.spec).find(|spec| spec.name == summary.task);
    let length = d.run.info.measured_ns().map_or("unknown length".into(), |ns| Human(ns as f64).to_string());
    let wake = spec.map_or(String::new(), |spec| format!(", wake-up by {}", spec.wake));
    format!(
        "{}: n = {}, {} of {length}, period {}, load {}{wake}, overrun policy {}, {} missed",
        d.name,
        grouped(quantity.of(d.task).count()),
        quantity,
        Exact(summary.period_ns),
        d.run.info.load,
        summary.overrun,
        grouped(summary.missed)
    )
}

fn wrap(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let fits = lines.last().is_some_and(|line| {
            line.is_empty() || line.chars().count() + 1 + word.chars().count() <= CAPTION_COLUMNS
        });
        match lines.last_mut().filter(|_| fits) {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) => {
                line.push(' ');
                line.push_str(word);
            }
            None => lines.push(format!("  {word}")),
        }
    }
    lines
}

/// The legend, where there is more than one curve.
pub fn legend_style() -> (ShapeStyle, ShapeStyle) {
    (WHITE.mix(0.85).filled(), ShapeStyle::from(&RGBColor(180, 180, 180)))
}
