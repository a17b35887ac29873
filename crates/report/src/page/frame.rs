//! Sections as the page's template takes them: words and tables, and the places of the figures.

use serde::Serialize;

use super::plots::id;
use crate::chart::Chart;
use crate::head::Head;
use crate::section::{Piece, Section};

/// A section.
#[derive(Serialize)]
pub struct Framed<'a> {
    id: &'a str,
    title: &'a str,
    lead: &'a str,
    pieces: Vec<Fitted<'a>>,
}

/// A piece of a section.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum Fitted<'a> {
    Answer(&'a Head),
    Text { text: &'a str },
    Table { caption: &'a str, header: &'a [String], rows: &'a [Vec<String>] },
    Figure(Place<'a>),
    Details { summary: &'a str, text: &'a str },
}

/// Where the figures of a piece stand. The script puts the charts there.
#[derive(Serialize)]
struct Place<'a> {
    id: String,
    /// What there is to choose, and its names.
    label: &'a str,
    options: Vec<&'a str>,
    /// Whether each axis can be drawn in two ways.
    across: bool,
    upwards: bool,
    /// Whether it is a series, which can be looked at more closely.
    series: bool,
    height: u32,
    caption: String,
}

/// What a result answers, which stands before all evidence.
#[derive(Serialize)]
pub struct Answer {
    id: String,
    title: String,
    head: Head,
}

/// Takes a section's answers out of it.
pub fn answers(section: &mut Section) -> Vec<Answer> {
    let (id, title) = (section.id.clone(), section.title.clone());
    let taken = section.pieces.extract_if(.., |piece| matches!(piece, Piece::Answer(_)));
    let heads = taken.filter_map(|piece| if let Piece::Answer(head) = piece { Some(head) } else { None });
    heads.map(|head| Answer { id: id.clone(), title: title.clone(), head }).collect()
}

/// The section for the template.
pub fn of(section: &Section) -> Framed<'_> {
    let pieces = section.pieces.iter().enumerate().map(|(number, piece)| match piece {
        Piece::Answer(head) => Fitted::Answer(head),
        Piece::Text { text } => Fitted::Text { text },
        Piece::Table { caption, header, rows } => Fitted::Table { caption, header, rows },
        Piece::Details { summary, text } => Fitted::Details { summary, text },
        Piece::Figure(chart) => {
            Fitted::Figure(place(id(section, number), "", Vec::new(), std::slice::from_ref(chart), false))
        }
        Piece::Choice { label, figures } => {
            let first = figures.first();
            let series = first.is_some_and(|shown| shown.detail.is_some());
            let charts = first.map_or(&[][..], |shown| &shown.charts);
            let options = figures.iter().map(|shown| shown.label.as_str()).collect();
            Fitted::Figure(place(id(section, number), label, options, charts, series))
        }
    });
    Framed { id: &section.id, title: &section.title, lead: &section.lead, pieces: pieces.collect() }
}

fn place<'a>(id: String, label: &'a str, options: Vec<&'a str>, charts: &[Chart], series: bool) -> Place<'a> {
    let captions = charts.iter().map(|chart| chart.caption.as_str()).filter(|text| !text.is_empty());
    Place {
        id,
        label,
        options,
        across: charts.iter().any(|chart| chart.x.other.is_some()),
        upwards: charts.iter().any(|chart| chart.y.other.is_some()),
        series,
        height: charts.iter().map(|chart| chart.height).sum(),
        caption: captions.collect::<Vec<_>>().join(" "),
    }
}
