//! Layers as the page carries them: each shape as its columns, which pack better than rows.

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

use super::{Cells, Shape};

/// A number of as many digits as can be seen: whole ones are exact, others have seven.
fn short(value: f64) -> f64 {
    if value.fract() == 0.0 || !value.is_finite() {
        return value;
    }
    let scale = 10f64.powi(7 - value.abs().log10().ceil() as i32);
    let short = (value * scale).round() / scale;
    if short.is_finite() { short } else { value }
}

/// Rows as columns.
fn columns<const N: usize>(rows: &[[f64; N]]) -> Vec<Vec<f64>> {
    (0..N).map(|i| rows.iter().map(|row| short(row[i])).collect()).collect()
}

impl Shape {
    /// Whether there is nothing of it to draw.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Shape::Line { points, .. } | Shape::Points(points) => points.is_empty(),
            Shape::Band(rows) | Shape::Bars(rows) | Shape::Counts(rows) => rows.is_empty(),
            Shape::Intervals(rows) | Shape::Frames(rows) => rows.is_empty(),
            Shape::Cells(cells) => cells.cells.is_empty(),
            Shape::Boxes(boxes) => boxes.is_empty(),
            Shape::Spans(spans) => spans.is_empty(),
            Shape::Marks(marks) => marks.is_empty(),
            Shape::Level(_) => false,
        }
    }
}

impl Serialize for Shape {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut shape = serializer.serialize_struct("Shape", 4)?;
        let (kind, columns) = match self {
            Shape::Line { points, stroke } => {
                shape.serialize_field("stroke", stroke)?;
                ("line", columns(points))
            }
            Shape::Points(points) => ("points", columns(points)),
            Shape::Band(parts) => ("band", columns(parts)),
            Shape::Bars(bars) => ("bars", columns(bars)),
            Shape::Counts(bins) => ("counts", columns(bins)),
            Shape::Intervals(values) => ("intervals", columns(values)),
            Shape::Frames(frames) => ("frames", columns(frames)),
            Shape::Level(value) => ("level", vec![vec![*value]]),
            Shape::Boxes(boxes) => {
                shape.serialize_field("words", &boxes.iter().map(|b| &b.2).collect::<Vec<_>>())?;
                ("boxes", columns(&boxes.iter().map(|b| [b.0, b.1]).collect::<Vec<_>>()))
            }
            Shape::Spans(spans) => {
                shape.serialize_field("words", &spans.iter().map(|s| &s.words).collect::<Vec<_>>())?;
                ("spans", columns(&spans.iter().map(|s| [s.from, s.to, s.lane]).collect::<Vec<_>>()))
            }
            Shape::Marks(marks) => {
                shape.serialize_field("words", &marks.iter().map(|m| &m.1).collect::<Vec<_>>())?;
                ("marks", columns(&marks.iter().map(|m| [m.0]).collect::<Vec<_>>()))
            }
            Shape::Cells(Cells { size, cells, labelled, key }) => {
                shape.serialize_field("words", &cells.iter().map(|c| &c.2).collect::<Vec<_>>())?;
                shape.serialize_field("size", size)?;
                shape.serialize_field("labelled", labelled)?;
                shape.serialize_field("key", key)?;
                (
                    "cells",
                    columns(&cells.iter().map(|([x, y], shade, _)| [*x, *y, *shade]).collect::<Vec<_>>()),
                )
            }
        };
        shape.serialize_field("kind", kind)?;
        shape.serialize_field("columns", &columns)?;
        shape.end()
    }
}
