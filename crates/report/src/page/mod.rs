//! The report: one self-contained HTML page that answers everything, and opens without a network.
//!
//! Words, tables, facts and first figures are in the HTML itself; a script draws the figures anew, to be explored, from
//! data the page carries. Everything foreign (names of tasks, machines, commands) is escaped by [`html`].

mod answer;
mod deciding_task;
mod facts;
mod html;
mod pack;
mod plots;
mod rows;
mod sections;
#[cfg(test)]
mod tests;
mod tiles_and_series;
mod words;

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use sha2::{Digest as _, Sha256};

use html::{Html, html};

use crate::check;
use crate::document::Document;
use crate::printable::printable_drawing;
pub use crate::run_view::{PageRun, PageTask, read_page_runs};
use crate::section::{Piece, Section};
use crate::words::list_some;
use jitterlab_model::Error;

const STYLE: &str = include_str!("page.css");
const SCRIPTS: [&str; 6] = [
    include_str!("data.js"),
    include_str!("axis.js"),
    include_str!("chart.js"),
    include_str!("plot.js"),
    include_str!("series.js"),
    include_str!("start.js"),
];

/// Sections for a sceptical colleague: folded away until the reader opens them.
const FOLDED_SECTIONS: [&str; 7] =
    ["percentiles", "patterns", "pairs", "autocorrelation", "spectrum", "time-error", "prediction"];

/// Sections that the top of the page leads to.
const LINKED_SECTIONS: usize = 3;

/// Prefix of the names of sections that are the answer itself and come before all others.
const LEADING_PREFIX: &str = "doctor-";

fn page_data_error(cause: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::defect("the page's data could not be written").because(cause)
}

/// The page as HTML: sections of the runs themselves, then the further results.
///
/// # Errors
/// There is no run, or (never in practice) the data cannot be put into the page.
pub fn render(runs: &[PageRun], documents: &[Document]) -> Result<String, Error> {
    let is_few = runs.len() <= answer::MAX_DETAILED_RUNS;
    // Figures of many runs on top of each other are unreadable: each has its row, and its series.
    let own = crate::figure::sections(runs).into_iter().chain(crate::patterns::section(runs));
    let mut own: Vec<Section> = own.filter(|section| is_few || section.id == "series").collect();
    // The causes come before the sections that can be explored.
    own.sort_by_key(|section| section.id != "causes");
    let (details, own): (Vec<Section>, Vec<Section>) =
        own.into_iter().partition(|section| FOLDED_SECTIONS.contains(&section.id.as_str()));
    let documents = with_unique_ids(documents, own.iter().chain(&details));
    let is_first = |section: &Section| section.id.starts_with(LEADING_PREFIX);
    let given = || documents.iter().flat_map(|document| &document.sections);
    let title = match (runs, given().next()) {
        ([], None) => return Err(Error::bad_use("a report needs at least one run or result")),
        (_, Some(first)) if is_first(first) => first.title.clone(),
        ([], Some(first)) => format!("{}: timing report", first.title),
        ([only], _) => format!("{}: timing report", only.label),
        ([first, more @ ..], _) => format!("{} and {} more: timing report", first.label, more.len()),
    };
    let (first, given): (Vec<&Section>, Vec<&Section>) = given().partition(|section| is_first(section));
    let (leading, others): (Vec<&Document>, Vec<&Document>) =
        documents.iter().partition(|document| document.sections.first().is_some_and(is_first));
    let sections: Vec<&Section> = own.iter().chain(given).collect();
    let details: Vec<&Section> = details.iter().collect();
    let found: Html = others.into_iter().map(sections::document_answer).collect();
    let first_conclusion = leading.first().and_then(|document| document.head.as_ref());
    let plots = plots::plot_data(runs, &[first.as_slice(), &sections, &details].concat())?;
    let measured: Vec<_> = runs.iter().map(PageRun::measured_run).collect();
    let script = format!("(() => {{\n'use strict';\n{}\n}})();", SCRIPTS.join("\n"));
    let without_conclusion = documents.iter().filter(|document| document.head.is_none());
    let without_conclusion: Vec<&Section> =
        without_conclusion.flat_map(|document| document.sections.first()).collect();
    let own: Vec<&Section> = own.iter().take(LINKED_SECTIONS).collect();
    let links: Html =
        [sections::section_links(&own), sections::section_links(&without_conclusion)].into_iter().collect();
    let conclusion = crate::figure::conclusion(runs).filter(|_| is_few);
    let page = html!(
        include_str!("page.html"),
        title = title,
        policy = content_security_policy(&script),
        version = env!("CARGO_PKG_VERSION"),
        style = Html::from_raw(STYLE),
        links = links,
        first = first
            .iter()
            .enumerate()
            .map(|(number, section)| sections::section_html(
                section,
                first_conclusion.filter(|_| number == 0)
            ))
            .collect::<Html>(),
        answer_title = if first.is_empty() { "The answer" } else { "What was measured" },
        answer = answer::first_screen(runs, conclusion.as_ref(), &found),
        sections = sections::sections_html(&sections),
        caveats = answer::caveats_section(runs),
        measured = answer::measured_section(runs),
        measured_title = list_some(&runs.iter().map(|run| run.label.clone()).collect::<Vec<_>>()),
        details = folded_sections(&details),
        machine = sections::pieces_html("The machine", "machine", &machine_pieces(runs)),
        commands = sections::pieces_html(
            "Commands",
            "commands",
            &runs.iter().map(words::reproduction_commands).collect::<Vec<_>>()
        ),
        documents =
            Html::from_raw(escape_for_script(&serde_json::to_string(&measured).map_err(page_data_error)?)),
        charts = Html::from_raw(plots.charts),
        columns = Html::from_raw(plots.columns),
        script = Html::from_raw(script)
    );
    Ok(printable_drawing(page.as_str()).into_owned())
}

/// Documents whose sections each have an id that no other section of the page has, so that links lead to it.
fn with_unique_ids<'a>(documents: &[Document], beside: impl Iterator<Item = &'a Section>) -> Vec<Document> {
    let mut taken: BTreeSet<String> = beside.map(|section| section.id.clone()).collect();
    let mut documents = documents.to_vec();
    for section in documents.iter_mut().flat_map(|document| &mut document.sections) {
        let name = section.id.clone();
        let mut number = 2;
        while !taken.insert(section.id.clone()) {
            section.id = format!("{name}-{number}");
            number += 1;
        }
    }
    documents
}

/// Sections that are folded away, by their titles.
fn folded_sections(sections: &[&Section]) -> Html {
    let titles: Vec<String> = sections.iter().map(|section| section.title.to_lowercase()).collect();
    html!(
        "<section><details><summary><h2>More figures</h2> {titles}</summary>\n{sections}</details></section>",
        titles = titles.join(", "),
        sections = sections::sections_html(sections)
    )
    .only_if(!sections.is_empty())
}

/// Checks and facts of the runs' machines.
fn machine_pieces(runs: &[PageRun]) -> Vec<Piece> {
    if runs.len() > answer::MAX_DETAILED_RUNS {
        return vec![Piece::text(
            "Of many runs the page shows no facts of machines: a page of a run by itself does, and the data of this page hold them.",
        )];
    }
    let checks = |run: &PageRun| {
        Some(Piece::details(format!("{}: checks", run.label), check::detail_pieces(run.checks.as_ref()?)))
    };
    let facts: Vec<Piece> = runs.iter().filter_map(facts::machine_facts).collect();
    let none = facts.is_empty().then(|| Piece::text("The run file describes no machine."));
    runs.iter().filter_map(checks).chain(facts).chain(none).collect()
}

/// Content security policy of the page: its own script, and nothing from anywhere else. Styles are not code.
fn content_security_policy(script: &str) -> String {
    let hash = BASE64.encode(Sha256::digest(script));
    format!(
        "default-src 'none'; script-src 'sha256-{hash}'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    )
}

/// JSON that cannot end the script element around it.
fn escape_for_script(json: &str) -> String {
    json.replace('<', "\\u003c")
}
