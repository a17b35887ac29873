//! A chart as plotly takes it (<https://plotly.com/javascript/reference/>).
//!
//! Colours of axes, ground and text are the page's own, for light, dark and paper; `c0` to `c5` stand for its palette,
//! `c0~` for a faded one, `ink` and `soft` for those of text.

use serde_json::{Map, Value, json};

use super::range::rows;
use super::{Axis, Cells, Chart, Layer, MANY, SHADES, Scale, Shape, Stroke};

/// Width of a letter and of a figure in CSS pixels: that of a telephone, where words have the least room.
const LETTER: f64 = 6.5;
const NARROW: f64 = 300.0;
/// Height of a row of words above the figure, in CSS pixels.
const ROW: usize = 16;

/// The chart's traces and layout.
pub fn plotly(chart: &Chart) -> (Value, Value) {
    let mut drawing = Drawing { chart, ranges: chart.ranges(), shapes: Vec::new(), words: Vec::new() };
    let traces: Vec<Value> = chart.layers.iter().flat_map(|layer| drawing.traces(layer)).collect();
    let annotations = drawing.annotations();
    let head = annotations.1 * ROW;
    let named = chart.layers.iter().filter(|l| !l.name.is_empty()).count();
    let [x, y] = drawing.ranges;
    let mut layout = Map::new();
    layout.insert("xaxis".into(), axis(&chart.x, x));
    layout.insert("yaxis".into(), axis(&chart.y, y));
    layout.insert("showlegend".into(), (named > 1).into());
    layout.insert("shapes".into(), drawing.shapes.into());
    layout.insert("annotations".into(), annotations.0.into());
    layout.insert("hovermode".into(), "closest".into());
    // Room for the words at the head, beyond what the page leaves free.
    layout.insert("head".into(), head.into());
    (traces.into(), layout.into())
}

fn axis(axis: &Axis, (low, high): (f64, f64)) -> Value {
    let mut told = json!({ "title": { "text": plain(&axis.title) }, "range": [low, high] });
    match &axis.scale {
        Scale::Linear => {}
        Scale::Log => told["type"] = "log".into(),
        Scale::Names(_) | Scale::NamedLog(_) => {
            let log = axis.is_log();
            let ticks = axis.ticks((low, high), 10);
            let value = |place: f64| if log { 10f64.powf(place) } else { place };
            told["tickmode"] = "array".into();
            told["tickvals"] = ticks.iter().map(|t| value(t.0)).collect();
            told["ticktext"] = ticks.iter().map(|t| plain(&t.1)).collect();
            if log {
                told["type"] = "log".into();
            }
        }
    }
    if axis.is_log() {
        // Otherwise ticks between powers of ten would show but their first digit.
        told["tickformat"] = ",~r".into();
        told["dtick"] = match high - low {
            decades if decades > 1.5 => json!((decades / 6.0).ceil()),
            decades if decades > 0.7 => "D2".into(),
            _ => "D1".into(),
        };
    }
    told
}

/// Text that plotly takes for a kind of HTML.
fn plain(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

struct Drawing<'a> {
    chart: &'a Chart,
    ranges: [(f64, f64); 2],
    shapes: Vec<Value>,
    /// Words at the head: place on the x axis, words, colour.
    words: Vec<(f64, String, String)>,
}

impl Drawing<'_> {
    fn traces(&mut self, layer: &Layer) -> Vec<Value> {
        let colour = format!("c{}", layer.colour);
        let faded = format!("c{}~", layer.colour);
        let column = |points: &[[f64; 2]], i: usize| points.iter().map(|p| rounded(p[i])).collect::<Vec<_>>();
        let scatter = |x: Vec<Value>, y: Vec<Value>, mode: &str| {
            json!({ "type": "scatter", "mode": mode, "name": plain(&layer.name), "showlegend": !layer.name.is_empty(),
                "x": x, "y": y, "line": { "color": colour }, "marker": { "color": colour, "size": 7 } })
        };
        match &layer.shape {
            Shape::Line { points, stroke } => {
                let mode = if *stroke == Stroke::Dotted { "lines+markers" } else { "lines" };
                let mut trace = scatter(column(points, 0), column(points, 1), mode);
                match stroke {
                    Stroke::Dashed => trace["line"]["dash"] = "dash".into(),
                    Stroke::Steps => trace["line"]["shape"] = "hv".into(),
                    Stroke::Dotted => trace["marker"]["size"] = 5.into(),
                    Stroke::Solid => {}
                }
                vec![trace]
            }
            Shape::Points(points) => {
                let mut trace = scatter(column(points, 0), column(points, 1), "markers");
                if points.len() > MANY {
                    trace["marker"]["size"] = 3.into();
                }
                vec![trace]
            }
            Shape::Band(parts) => {
                let side = |i: usize| parts.iter().map(|p| rounded(p[i])).collect::<Vec<_>>();
                let mut lower = scatter(side(0), side(1), "lines");
                lower["showlegend"] = false.into();
                let mut upper = scatter(side(0), side(2), "lines");
                upper["fill"] = "tonexty".into();
                upper["fillcolor"] = faded.into();
                vec![lower, upper]
            }
            Shape::Bars(bars) => {
                let of = |f: fn(&[f64; 3]) -> f64| bars.iter().map(|b| rounded(f(b))).collect::<Vec<_>>();
                vec![json!({ "type": "bar", "name": plain(&layer.name), "showlegend": !layer.name.is_empty(),
                    "x": of(|b| f64::midpoint(b[0], b[1])), "width": of(|b| b[1] - b[0]), "y": of(|b| b[2]),
                    "marker": { "color": colour } })]
            }
            Shape::Intervals(values) => {
                let of = |f: fn(&[f64; 4]) -> f64| values.iter().map(|v| rounded(f(v))).collect::<Vec<_>>();
                let mut trace = scatter(of(|v| v[0]), of(|v| v[2]), "markers");
                trace["error_y"] = json!({ "type": "data", "symmetric": false, "color": colour, "thickness": 2,
                    "array": of(|v| v[3] - v[2]), "arrayminus": of(|v| v[2] - v[1]) });
                vec![trace]
            }
            Shape::Cells(cells) => vec![heat(cells)],
            Shape::Boxes(boxes) => {
                for (from, to, words) in boxes {
                    self.shapes
                        .push(json!({ "type": "rect", "xref": "x", "yref": "paper", "x0": from, "x1": to,
                        "y0": 0, "y1": 1, "line": { "color": colour, "width": 1, "dash": "dash" } }));
                    self.words.push((f64::midpoint(*from, *to), words.clone(), colour.clone()));
                }
                Vec::new()
            }
            Shape::Frames(frames) => {
                let frame = |[left, low, right, high]: &[f64; 4]| {
                    json!({ "type": "rect", "xref": "x", "yref": "y", "x0": left, "x1": right, "y0": low,
                    "y1": high, "line": { "color": colour, "width": 1 } })
                };
                self.shapes.extend(frames.iter().map(frame));
                Vec::new()
            }
            Shape::Marks(marks) => {
                for (at, words) in marks {
                    self.shapes.push(json!({ "type": "line", "xref": "x", "yref": "paper", "x0": at, "x1": at,
                        "y0": 0, "y1": 1, "layer": "below", "line": { "color": colour, "width": 1, "dash": "dot" } }));
                    self.words.push((*at, words.clone(), colour.clone()));
                }
                Vec::new()
            }
            Shape::Level(value) => {
                self.shapes.push(
                    json!({ "type": "line", "xref": "paper", "yref": "y", "x0": 0, "x1": 1, "y0": value,
                    "y1": value, "line": { "color": colour, "width": 1.5, "dash": "dash" } }),
                );
                let name = plain(&layer.name);
                // A trace without points: the legend knows no shapes.
                let trace = json!({ "type": "scatter", "mode": "lines", "x": [null], "y": [null], "name": name,
                    "line": { "color": colour, "dash": "dash" } });
                if layer.name.is_empty() { Vec::new() } else { vec![trace] }
            }
        }
    }

    /// The words at the head, in as many rows as they need.
    fn annotations(&self) -> (Vec<Value>, usize) {
        let (low, high) = self.ranges[0];
        let placed: Vec<(f64, &'static str, f64)> = self
            .words
            .iter()
            .map(|(at, words, _)| {
                let place = self.chart.x.place(*at).unwrap_or(low);
                let (share, width) =
                    ((place - low) / (high - low), words.chars().count() as f64 * LETTER / NARROW);
                // Words near an edge point inwards.
                match share {
                    s if s < width / 2.0 => (place, "left", s + width / 2.0),
                    s if s > 1.0 - width / 2.0 => (place, "right", s - width / 2.0),
                    s => (place, "center", s),
                }
            })
            .collect();
        let widths = self.words.iter().map(|(_, words, _)| words.chars().count() as f64 * LETTER / NARROW);
        let rows = rows(&placed.iter().map(|p| p.2).zip(widths).collect::<Vec<_>>());
        let most = rows.iter().max().map_or(0, |row| row + 1);
        let told = self.words.iter().zip(&placed).zip(&rows).map(|(((_, words, colour), (place, anchor, _)), row)| {
            json!({ "xref": "x", "yref": "paper", "x": place, "xanchor": anchor, "y": 1, "yanchor": "bottom",
                "yshift": (most - 1 - row) * ROW, "showarrow": false, "text": plain(words),
                "font": { "color": colour, "size": 11 } })
        });
        (told.collect(), most)
    }
}

fn heat(cells: &Cells) -> Value {
    let sorted = |i: usize| {
        let mut all: Vec<f64> = cells.cells.iter().map(|(at, ..)| at[i]).collect();
        all.sort_unstable_by(f64::total_cmp);
        all.dedup_by(|a, b| (*a - *b).abs() < cells.size[i] / 2.0);
        // A heat map stretches its cells over gaps unless every column is there.
        let (first, last) = (all.first().copied().unwrap_or(0.0), all.last().copied().unwrap_or(0.0));
        let count = ((last - first) / cells.size[i]).round() as usize;
        (0..=count).map(|k| first + k as f64 * cells.size[i]).collect::<Vec<_>>()
    };
    let (x, y) = (sorted(0), sorted(1));
    let place = |values: &[f64], size: f64, at: f64| {
        ((at - values.first().copied().unwrap_or(0.0)) / size).round() as usize
    };
    let mut shades = vec![vec![Value::Null; x.len()]; y.len()];
    let mut words = vec![vec![""; x.len()]; y.len()];
    for (at, shade, text) in &cells.cells {
        let (column, row) = (place(&x, cells.size[0], at[0]), place(&y, cells.size[1], at[1]));
        shades[row][column] = rounded(*shade);
        words[row][column] = text;
    }
    let colours: Vec<Value> =
        SHADES.iter().map(|(at, [r, g, b])| json!([at, format!("rgb({r},{g},{b})")])).collect();
    let mut trace = json!({ "type": "heatmap", "x": x.iter().map(|v| rounded(*v)).collect::<Vec<_>>(),
        "y": y.iter().map(|v| rounded(*v)).collect::<Vec<_>>(), "z": shades, "text": words, "hoverinfo": "text",
        "zmin": 0, "zmax": 1, "colorscale": colours, "showscale": !cells.key.1.is_empty(),
        "colorbar": { "title": { "text": plain(&cells.key.0) }, "thickness": 12, "len": 0.9, "y": 0, "yanchor": "bottom",
            "tickvals": cells.key.1.iter().map(|k| k.0).collect::<Vec<_>>(),
            "ticktext": cells.key.1.iter().map(|k| plain(&k.1)).collect::<Vec<_>>() } });
    if cells.labelled {
        trace["texttemplate"] = "%{text}".into();
        trace["xgap"] = 2.into();
        trace["ygap"] = 2.into();
    }
    trace
}

/// Six digits are more than any screen shows; `null` where there is no number.
fn rounded(value: f64) -> Value {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { json!(0) } else { Value::Null };
    }
    let scale = 10f64.powi(6 - value.abs().log10().ceil() as i32);
    let short = (value * scale).round() / scale;
    json!(if short.is_finite() { short } else { value })
}
