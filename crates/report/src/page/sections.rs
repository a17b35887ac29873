//! Sections as HTML: words and tables, and the places of the figures, which the script draws.

use jitterlab_model::Fitness;

use super::html::{Html, html, with_nonbreaking_spaces};
use super::plots::{figure_id, joined_captions};
use crate::chart::{Chart, Drawing};
use crate::conclusion::Conclusion;
use crate::document::Document;
use crate::section::{Cell, Piece, Section, Table};
use crate::table::is_number;

/// A cell of more characters holds text to be read rather than a figure or a name.
const PROSE_CHARACTERS: usize = 32;

/// Conclusion of a result with a link to its section; nothing if it has no conclusion.
pub fn document_answer(document: &Document) -> Html {
    let Some((section, conclusion)) = document.sections.first().zip(document.head.as_ref()) else {
        return Html::default();
    };
    html!(
        "<article>\n<h3><a href=\"#{id}\">{title}</a></h3>\n{answer}\n</article>\n",
        id = section.id,
        title = section.title,
        answer = answer_html(conclusion, Some(&conclusion.next))
    )
}

/// The class of a fitness in the page's style.
pub fn fitness_class(fitness: Fitness) -> &'static str {
    match fitness {
        Fitness::Good => "good",
        Fitness::Limited => "limited",
        Fitness::CannotTell => "cannot-tell",
        Fitness::Unfit => "unfit",
    }
}

/// A verdict, the number that decides it, and the next step if one is given.
pub fn answer_html(conclusion: &Conclusion, next: Option<&String>) -> Html {
    html!(
        "<p class=\"verdict {fitness}\">{verdict}</p>\n<p>{number}</p>\n{next}",
        fitness = fitness_class(conclusion.fitness),
        verdict = with_nonbreaking_spaces(&conclusion.verdict),
        number = with_nonbreaking_spaces(&conclusion.number),
        next = next
            .map(|next| html!("<p class=\"next\"><strong>Next:</strong> {next}</p>", next = next))
            .unwrap_or_default()
    )
}

pub fn section_links(sections: &[&Section]) -> Html {
    let link =
        |section: &&Section| html!("<a href=\"#{id}\">{title}</a>\n", id = section.id, title = section.title);
    sections.iter().map(link).collect()
}

/// Sections below each other.
pub fn sections_html(sections: &[&Section]) -> Html {
    sections.iter().map(|shown| section_html(shown, None)).collect()
}

/// A section, with its answer unless that is shown elsewhere.
pub fn section_html(section: &Section, conclusion: Option<&Conclusion>) -> Html {
    let conclusion = conclusion
        .map(|conclusion| html!("{answer}\n", answer = answer_html(conclusion, Some(&conclusion.next))));
    html!(
        "<section id=\"{id}\" aria-labelledby=\"{id}-title\">\n<h2 id=\"{id}-title\">{title}</h2>\n{conclusion}<p>{lead}</p>\n{pieces}</section>\n",
        id = section.id,
        title = section.title,
        conclusion = conclusion.unwrap_or_default(),
        lead = section.lead,
        pieces = pieces_html(&section.title, &section.id, &section.pieces)
    )
}

/// Pieces of the section of this title; `name` is that of the section or of the folded part.
pub(super) fn pieces_html(title: &str, name: &str, pieces: &[Piece]) -> Html {
    pieces
        .iter()
        .enumerate()
        .map(|(number, piece)| piece_html(title, figure_id(name, number), piece))
        .collect()
}

fn piece_html(title: &str, id: String, piece: &Piece) -> Html {
    match piece {
        Piece::Text { text } => html!("<p>{text}</p>\n", text = with_nonbreaking_spaces(text)),
        Piece::Note { text } => html!("<p class=\"note\">{text}</p>\n", text = with_nonbreaking_spaces(text)),
        Piece::Facts { caption, facts } => {
            let fact = |(name, value): &(String, String)| {
                html!("<dt>{name}</dt><dd>{value}</dd>", name = name, value = with_nonbreaking_spaces(value))
            };
            let caption = html!("<p>{caption}</p>", caption = with_nonbreaking_spaces(caption))
                .only_if(!caption.is_empty());
            html!(
                "{caption}<dl>{facts}</dl>\n",
                caption = caption,
                facts = facts.iter().map(fact).collect::<Html>()
            )
        }
        Piece::Table(of) => table_html(of),
        Piece::Verbatim { heading, text } => {
            let heading = html!("<p>{heading}</p>", heading = with_nonbreaking_spaces(heading))
                .only_if(!heading.is_empty());
            html!("{heading}<pre tabindex=\"0\">{text}</pre>\n", heading = heading, text = text)
        }
        Piece::Details { summary, pieces } => html!(
            "<details><summary>{summary}</summary>{pieces}</details>\n",
            summary = summary,
            pieces = pieces_html(title, &id, pieces)
        ),
        Piece::Figure(chart) => {
            let charts = std::slice::from_ref(chart);
            FigureSlot { id, title, label: "", options: &[], charts, series: false }.html()
        }
        Piece::Choice { label, figures } => {
            let options: Vec<&str> = figures.iter().map(|shown| shown.label.as_str()).collect();
            let first = figures.first();
            let charts = first.map_or(&[][..], |shown| &shown.charts);
            let series = first.is_some_and(|shown| shown.detail.is_some());
            FigureSlot { id, title, label, options: &options, charts, series }.html()
        }
    }
}

/// A table of values under its caption; its first column names the row.
fn table_html(Table { caption, header, rows }: &Table) -> Html {
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(Cell::to_text).collect()).collect();
    let class = |column: usize| {
        let mut cells = rows.iter().filter_map(|row| row.get(column)).filter(|cell| !cell.is_empty());
        match () {
            () if cells.clone().any(|cell| cell.chars().count() > PROSE_CHARACTERS) => " class=\"prose\"",
            () if cells.any(|cell| cell != "-" && !is_number(cell)) => " class=\"words\"",
            () => "",
        }
    };
    let classes: Vec<&str> = (0..header.len()).map(class).collect();
    let class = |column: usize| Html::from_raw(classes.get(column).copied().unwrap_or_default());
    let heading = |(column, cell): (usize, &String)| match cell.as_str() {
        // An empty heading does not help people who hear the page.
        "" => html!("<td></td>"),
        cell => html!("<th scope=\"col\"{class}>{cell}</th>", class = class(column), cell = cell),
    };
    let name = if caption.is_empty() { "Table" } else { caption };
    let cell = |(column, cell): (usize, &String)| match column {
        0 => html!("<th scope=\"row\">{cell}</th>", cell = cell),
        _ => html!("<td{class}>{cell}</td>", class = class(column), cell = cell),
    };
    let row = |row: &Vec<String>| {
        html!("<tr>{cells}</tr>\n", cells = row.iter().enumerate().map(cell).collect::<Html>())
    };
    html!(
        "<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"{name}\"><table><caption><span>{caption}</span></caption>\n<thead><tr>{header}</tr></thead>\n<tbody>{rows}</tbody></table></div>\n",
        name = name,
        caption = caption,
        header = header.iter().enumerate().map(heading).collect::<Html>(),
        rows = rows.iter().map(row).collect::<Html>()
    )
}

/// Place for the figures of a piece, with its first charts. The script puts those that can be explored there.
struct FigureSlot<'a> {
    id: String,
    title: &'a str,
    /// Label and names of the choice.
    label: &'a str,
    options: &'a [&'a str],
    /// The charts that are seen first.
    charts: &'a [Chart],
    /// True for a series, which can be zoomed.
    series: bool,
}

/// A chart in the document itself, for paper and for browsers without scripts, in a drawing as wide as the page.
fn static_chart(chart: &Chart, title: &str) -> Html {
    html!(
        "<svg class=\"still\" style=\"--height:{height}px\" viewBox=\"0 0 900 {height}\" role=\"img\" aria-label=\"{title}: {x}, {y}\">{drawn}</svg>",
        height = chart.height,
        title = title,
        x = chart.x.title,
        y = chart.y.title,
        drawn = Html::from_raw(Drawing::without_caption(chart).page_elements())
    )
}

impl FigureSlot<'_> {
    fn html(&self) -> Html {
        let status = html!("<span class=\"status\" role=\"status\"></span> ").only_if(self.series);
        html!(
            "<figure id=\"figure-{id}\">\n{controls}<div class=\"plots\" style=\"min-height:{height}px\" data-label=\"{title}\">{stills}</div>\n<figcaption>{status}<span class=\"caption\" id=\"caption-{id}\">{caption}</span></figcaption></figure>\n",
            id = self.id,
            controls = self.controls(),
            height = self.charts.iter().map(|chart| chart.height).sum::<u32>(),
            title = self.title,
            stills = self.charts.iter().map(|chart| static_chart(chart, self.title)).collect::<Html>(),
            status = status,
            caption = joined_captions(self.charts)
        )
    }

    fn controls(&self) -> Html {
        let across = self.charts.iter().any(|chart| chart.x.other.is_some());
        let upwards = self.charts.iter().any(|chart| chart.y.other.is_some());
        let option = |(number, option): (usize, &&str)| {
            html!("<option value=\"{number}\">{option}</option>", number = number, option = option)
        };
        let choice = html!(
            "<label>{label} <select data-choose>{options}</select></label>\n",
            label = self.label,
            options = self.options.iter().enumerate().map(option).collect::<Html>()
        );
        let controls: Html = [
            choice.only_if(self.options.len() > 1),
            html!("<label>Axis across <select data-axis=\"x\"></select></label>\n").only_if(across),
            html!("<label>Axis upwards <select data-axis=\"y\"></select></label>\n").only_if(upwards),
            html!(
                "<button type=\"button\" data-act=\"in\">Zoom in</button>
<button type=\"button\" data-act=\"out\">Zoom out</button>
<button type=\"button\" data-act=\"left\">Earlier</button>
<button type=\"button\" data-act=\"right\">Later</button>
<button type=\"button\" data-act=\"all\">Whole run</button>
<button type=\"button\" data-act=\"next\">Next largest latency</button>
"
            )
            .only_if(self.series),
        ]
        .into_iter()
        .collect();
        let is_empty = controls.as_str().is_empty();
        html!(
            "<div class=\"controls\" role=\"group\" aria-label=\"{title} controls\">\n{controls}</div>\n",
            title = self.title,
            controls = controls
        )
        .only_if(!is_empty)
    }
}
