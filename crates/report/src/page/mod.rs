//! The report: one self-contained HTML page that answers everything, and opens without a network.
//!
//! Words, tables and facts stand in the HTML itself; the figures are drawn by a script from data the page carries.
//! Everything foreign (names of tasks, machines, commands) is escaped by the template engine.

pub(crate) mod checks;
mod facts;
mod frame;
mod pack;
mod patterns;
mod plots;
pub use crate::section;
#[cfg(test)]
mod tests;
mod words;

use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use minijinja::value::Serde;
use minijinja::{Environment, context};
use sha2::{Digest as _, Sha256};

use crate::printable::printable_drawing;
use crate::section::Section;
pub use crate::shown::{PageRun, PageTask, read};

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPTS: [&str; 6] = [
    include_str!("data.js"),
    include_str!("axis.js"),
    include_str!("chart.js"),
    include_str!("plot.js"),
    include_str!("series.js"),
    include_str!("start.js"),
];

/// Sections for a colleague who doubts: folded away until somebody wants them.
const FOLDED: [&str; 6] = ["patterns", "pairs", "autocorrelation", "spectrum", "time-error", "prediction"];

/// What a section's name begins with that is the answer itself, and stands before all others.
const FIRST: &str = "doctor-";

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// Nothing was given.
    #[error("a report needs at least one run or result")]
    Nothing,
    /// The template and its data do not fit each other.
    #[error("the page could not be made ({0}); please report this")]
    Template(#[from] minijinja::Error),
    /// A figure that JSON cannot hold.
    #[error("the page's data could not be written ({0}); please report this")]
    Json(#[from] serde_json::Error),
    /// The data could not be compressed.
    #[error("the page's data could not be compressed ({0}); please report this")]
    Compression(#[from] io::Error),
}

/// The page as HTML: what the runs themselves show, then the further sections.
///
/// # Errors
/// There is no run, or (never in practice) the data cannot be put into the page.
pub fn render(runs: &[PageRun], sections: &[Section]) -> Result<String, PageError> {
    let title = match (runs, sections) {
        ([], []) => return Err(PageError::Nothing),
        (_, [first, ..]) if first.id.starts_with(FIRST) => first.title.clone(),
        ([], [first, ..]) => format!("{}: timing report", first.title),
        ([only], _) => format!("{}: timing report", only.label),
        ([first, more @ ..], _) => format!("{} and {} more: timing report", first.label, more.len()),
    };
    let (details, own): (Vec<Section>, Vec<Section>) = crate::figure::sections(runs)
        .into_iter()
        .chain(patterns::section(runs))
        .partition(|section| FOLDED.contains(&section.id.as_str()));
    let (first, given): (Vec<Section>, Vec<Section>) =
        sections.iter().cloned().partition(|section| section.id.starts_with(FIRST));
    let mut sections: Vec<Section> = own.into_iter().chain(given).collect();
    let answers: Vec<frame::Answer> = sections.iter_mut().flat_map(frame::answers).collect();
    let plots = plots::data(runs, &[first.as_slice(), &sections, &details].concat())?;
    let measured: Vec<_> = runs.iter().map(PageRun::measured).collect();
    let script = format!("(() => {{\n'use strict';\n{}\n}})();", SCRIPTS.join("\n"));
    let mut environment = Environment::new();
    environment.add_filter("prose", prose);
    environment.add_filter("whole", whole);
    environment.add_template("page.html", TEMPLATE)?;
    let page = environment.get_template("page.html")?.render(context! {
        title,
        style => STYLE,
        policy => policy(&script),
        script,
        conclusion => Serde(crate::figure::conclusion(runs)),
        runs => Serde(words::runs(runs)),
        answers => Serde(answers),
        caveats => Serde(words::caveats(runs)),
        warnings => Serde(words::warned(runs)),
        about => Serde(words::about(runs)),
        checks => Serde(runs.iter().filter_map(checks::of).collect::<Vec<_>>()),
        facts => Serde(runs.iter().flat_map(facts::of).collect::<Vec<_>>()),
        first => Serde(first.iter().map(frame::of).collect::<Vec<_>>()),
        sections => Serde(sections.iter().map(frame::of).collect::<Vec<_>>()),
        details => Serde(details.iter().map(frame::of).collect::<Vec<_>>()),
        documents => in_script(&serde_json::to_string(&measured)?),
        plots => Serde(&plots),
        version => env!("CARGO_PKG_VERSION"),
    })?;
    Ok(printable_drawing(&page).into_owned())
}

/// What the page may do: run its own script, and nothing from anywhere else. Styles are not code.
fn policy(script: &str) -> String {
    let hash = BASE64.encode(Sha256::digest(script));
    format!(
        "default-src 'none'; script-src 'sha256-{hash}'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    )
}

/// Which columns of a table hold text to be read rather than figures or names.
fn prose(rows: Vec<Vec<String>>) -> Vec<bool> {
    let mut prose = Vec::new();
    for row in rows {
        prose.resize(prose.len().max(row.len()), false);
        for (prose, cell) in prose.iter_mut().zip(row) {
            *prose |= cell.chars().count() > 32;
        }
    }
    prose
}

/// A sentence in which no line ends between a number and its unit, or between its digits.
fn whole(sentence: &str) -> String {
    let words = crate::wrap::words(sentence).into_iter().map(|word| word.replace(' ', "\u{a0}"));
    words.collect::<Vec<_>>().join(" ")
}

/// JSON that cannot end the script element it stands in.
fn in_script(json: &str) -> String {
    json.replace('<', "\\u003c")
}
