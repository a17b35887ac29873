//! Layers as the page and JSON carry them: each shape as its columns, which pack better than rows.

use std::borrow::Cow;

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

use super::{Cells, Shape, Span, Stroke};

/// A number of as many digits as can be seen: whole ones are exact, others have seven.
fn round_to_seven_digits(value: f64) -> f64 {
    if value.fract() == 0.0 || !value.is_finite() {
        return value;
    }
    let scale = 10f64.powi(7 - value.abs().log10().ceil() as i32);
    let short = (value * scale).round() / scale;
    if short.is_finite() { short } else { value }
}

impl Shape {
    /// Name of its kind; the axis that each number of a row is on, `-` for none; and the numbers, row by row.
    pub(super) fn numbers(&self) -> (&'static str, &'static str, Cow<'_, [f64]>) {
        match self {
            Shape::Line { points, .. } => ("line", "xy", points.as_flattened().into()),
            Shape::Points(points) => ("points", "xy", points.as_flattened().into()),
            Shape::Band(parts) => ("band", "xyy", parts.as_flattened().into()),
            Shape::Bars(bars) => ("bars", "xxy", bars.as_flattened().into()),
            Shape::Counts(bins) => ("counts", "xxy", bins.as_flattened().into()),
            Shape::Intervals(values) => ("intervals", "xyyy", values.as_flattened().into()),
            Shape::Frames(frames) => ("frames", "xyxy", frames.as_flattened().into()),
            Shape::Level(value) => ("level", "y", std::slice::from_ref(value).into()),
            Shape::Boxes(boxes) => ("boxes", "xx", boxes.iter().flat_map(|b| [b.0, b.1]).collect()),
            Shape::Spans(spans) => {
                ("spans", "xx-", spans.iter().flat_map(|s| [s.from, s.to, s.lane]).collect())
            }
            Shape::Marks(marks) => ("marks", "x", marks.iter().map(|mark| mark.0).collect()),
            Shape::Cells(Cells { cells, .. }) => {
                ("cells", "xy-", cells.iter().flat_map(|([x, y], shade, _)| [*x, *y, *shade]).collect())
            }
        }
    }

    /// Words of each row; `None` for a kind of shape without words.
    pub(super) fn words(&self) -> Option<Vec<&str>> {
        match self {
            Shape::Boxes(boxes) => Some(boxes.iter().map(|b| &*b.2).collect()),
            Shape::Spans(spans) => Some(spans.iter().map(|span| &*span.words).collect()),
            Shape::Marks(marks) => Some(marks.iter().map(|mark| &*mark.1).collect()),
            Shape::Cells(Cells { cells, .. }) => Some(cells.iter().map(|cell| &*cell.2).collect()),
            _ => None,
        }
    }

    /// True if it has nothing to draw.
    pub(crate) fn is_empty(&self) -> bool {
        self.numbers().2.is_empty()
    }
}

impl Serialize for Shape {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (kind, axes, numbers) = self.numbers();
        let column = |i: usize| {
            numbers.iter().skip(i).step_by(axes.len()).map(|value| round_to_seven_digits(*value)).collect()
        };
        let columns: Vec<Vec<f64>> = (0..axes.len()).map(column).collect();
        let mut shape = serializer.serialize_struct("Shape", 4)?;
        if let Some(words) = self.words() {
            shape.serialize_field("words", &words)?;
        }
        match self {
            Shape::Line { stroke, .. } => shape.serialize_field("stroke", stroke)?,
            Shape::Cells(Cells { size, labelled, key, .. }) => {
                shape.serialize_field("size", size)?;
                shape.serialize_field("labelled", labelled)?;
                shape.serialize_field("key", key)?;
            }
            _ => {}
        }
        shape.serialize_field("kind", kind)?;
        shape.serialize_field("columns", &columns)?;
        shape.end()
    }
}

/// A shape as it was written.
#[derive(serde::Deserialize)]
struct SerializedShape {
    kind: String,
    columns: Vec<Vec<Option<f64>>>,
    stroke: Option<Stroke>,
    #[serde(default)]
    words: Vec<String>,
    size: Option<[f64; 2]>,
    #[serde(default)]
    labelled: bool,
    key: Option<(String, Vec<(f64, String)>)>,
}

impl SerializedShape {
    /// The columns as rows, null as NaN; `None` unless there are `N` of one length.
    fn rows<const N: usize>(&self) -> Option<Vec<[f64; N]>> {
        let columns: &[Vec<Option<f64>>; N] = self.columns.as_slice().try_into().ok()?;
        let length = columns.first()?.len();
        let is_whole = columns.iter().all(|column| column.len() == length);
        let row = |at: usize| columns.each_ref().map(|column| column[at].unwrap_or(f64::NAN));
        is_whole.then(|| (0..length).map(row).collect())
    }

    /// The rows, each with its words; `None` unless there are as many of both.
    fn rows_with_labels<const N: usize>(
        &mut self,
    ) -> Option<impl Iterator<Item = ([f64; N], String)> + use<N>> {
        let rows = self.rows::<N>()?;
        (rows.len() == self.words.len()).then(|| rows.into_iter().zip(std::mem::take(&mut self.words)))
    }

    fn into_shape(mut self) -> Option<Shape> {
        Some(match self.kind.as_str() {
            "line" => Shape::Line { points: self.rows()?, stroke: self.stroke? },
            "points" => Shape::Points(self.rows()?),
            "band" => Shape::Band(self.rows()?),
            "bars" => Shape::Bars(self.rows()?),
            "counts" => Shape::Counts(self.rows()?),
            "intervals" => Shape::Intervals(self.rows()?),
            "frames" => Shape::Frames(self.rows()?),
            "level" => Shape::Level(self.rows::<1>()?.first()?[0]),
            "boxes" => {
                Shape::Boxes(self.rows_with_labels()?.map(|([from, to], words)| (from, to, words)).collect())
            }
            "spans" => {
                let span = |([from, to, lane], words): ([f64; 3], String)| Span { from, to, lane, words };
                Shape::Spans(self.rows_with_labels()?.map(span).collect())
            }
            "marks" => Shape::Marks(self.rows_with_labels()?.map(|([at], words)| (at, words)).collect()),
            "cells" => {
                let cells =
                    self.rows_with_labels()?.map(|([x, y, shade], words)| ([x, y], shade, words)).collect();
                Shape::Cells(Cells { size: self.size?, cells, labelled: self.labelled, key: self.key? })
            }
            _ => return None,
        })
    }
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = SerializedShape::deserialize(deserializer)?;
        let kind = written.kind.clone();
        written
            .into_shape()
            .ok_or_else(|| D::Error::custom(format!("the layer {kind:?} of a figure is damaged")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_is_read_as_it_was_written() {
        let cells = Cells {
            size: [1.0, 2.0],
            cells: vec![([0.0, 1.0], 0.5, "half".into())],
            labelled: true,
            key: ("shade".into(), vec![(0.0, "little".into())]),
        };
        let shapes = [
            Shape::Line { points: vec![[0.0, 1.5], [2.0, 3.0]], stroke: Stroke::Steps },
            Shape::Points(vec![[0.0, 1.0]]),
            Shape::Band(vec![[0.0, 1.0, 2.0]]),
            Shape::Bars(Vec::new()),
            Shape::Counts(vec![[0.0, 1.0, 7.0]]),
            Shape::Intervals(vec![[0.0, 1.0, 2.0, 3.0]]),
            Shape::Frames(vec![[0.0, 1.0, 2.0, 3.0]]),
            Shape::Level(4.0),
            Shape::Boxes(vec![(0.0, 1.0, "box".into())]),
            Shape::Spans(vec![Span { from: 0.0, to: 1.0, lane: 2.0, words: "span".into() }]),
            Shape::Marks(vec![(1.0, "mark".into())]),
            Shape::Cells(cells),
        ];
        for shape in shapes {
            let text = serde_json::to_string(&shape).unwrap();
            assert_eq!(serde_json::from_str::<Shape>(&text).unwrap(), shape, "{text}");
        }
        let cut = r#"{"kind":"line","stroke":"solid","columns":[[1,2],[1]]}"#;
        assert!(serde_json::from_str::<Shape>(cut).is_err());
    }
}
