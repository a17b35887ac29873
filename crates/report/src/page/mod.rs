//! The report: one self-contained HTML page that answers everything, and opens without a network.
//!
//! Words, tables and facts stand in the HTML itself; the figures are drawn by a script from data the page carries.
//! Everything foreign (names of tasks, machines, commands) is escaped by the template engine.

pub(crate) mod checks;
pub mod documents;
mod facts;
mod pack;
mod plots;
mod read;
pub use crate::section;
pub(crate) mod sections;
pub mod series;
#[cfg(test)]
mod tests;
mod words;

use std::io;

use jitterlab_analysis::patterns::Patterns;
use jitterlab_analysis::predict::Prediction;
use jitterlab_analysis::scan::TaskScan;
use jitterlab_model::RunInfo;
use jitterlab_model::check::CheckReport;
use minijinja::value::Serde;
use minijinja::{Environment, context};

use crate::section::Section;
use crate::summary::TaskFigures;
use crate::typeset::microseconds;
pub(crate) use plots::phases;
pub use read::read;
use series::Series;

/// plotly.js, with what the figures need.
const PLOTLY: &str = include_str!(concat!(env!("OUT_DIR"), "/plotly.min.js"));
const TEMPLATE: &str = include_str!("page.html");
const LIBRARY: &str = include_str!("library.js");
const STYLE: &str = include_str!("page.css");
const SCRIPTS: [&str; 4] = [
    include_str!("data.js"),
    include_str!("figures.js"),
    include_str!("series.js"),
    include_str!("start.js"),
];

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

/// One run of the page.
#[derive(Debug)]
pub struct PageRun {
    /// What the run is called on the page: its file's name.
    pub label: String,
    /// Its description.
    pub info: RunInfo,
    /// What `analyze --json` prints for it: the page carries it word for word, since reading and writing numbers
    /// again may change their last digit.
    pub document: String,
    /// What `check` says of its machine as it was before the run; `None` where the run does not describe it.
    pub checks: Option<CheckReport>,
    /// Its tasks, in the order of the description.
    pub tasks: Vec<PageTask>,
}

/// One task of a run of the page.
#[derive(Debug)]
pub struct PageTask {
    /// Its number in the run's description.
    pub number: usize,
    /// Its figures.
    pub figures: TaskFigures,
    /// Its series.
    pub series: Series,
    /// Everything gathered for the questions below.
    pub scan: TaskScan,
    /// What pattern its latency has.
    pub patterns: Patterns,
    /// How much worse it can get; `None` if nothing ran.
    pub prediction: Option<Prediction>,
}

impl PageTask {
    /// A task of the run that `info` describes, with what its scan says.
    pub fn new(number: usize, figures: TaskFigures, series: Series, scan: TaskScan, info: &RunInfo) -> Self {
        let patterns = Patterns::of(&scan);
        let prediction = info.tasks.get(number).and_then(|task| Prediction::of(&scan, task, info, None));
        PageTask { number, figures, series, scan, patterns, prediction }
    }
}

/// The page as HTML: what the runs themselves show, then the further sections.
///
/// # Errors
/// There is no run, or (never in practice) the data cannot be put into the page.
pub fn render(runs: &[PageRun], sections: &[Section]) -> Result<String, PageError> {
    let title = match (runs, sections) {
        ([], []) => return Err(PageError::Nothing),
        ([], [first, ..]) => format!("{}: timing report", first.title),
        ([only], _) => format!("{}: timing report", only.label),
        ([first, more @ ..], _) => format!("{} and {} more: timing report", first.label, more.len()),
    };
    let mut sections = [sections::of(runs), sections.to_vec()].concat();
    sections.iter_mut().for_each(Section::typeset);
    let (plots, packed) = plots::data(runs, &sections)?;
    let documents: Vec<_> = runs.iter().map(|run| run.document.trim()).collect();
    let mut environment = Environment::new();
    environment.add_filter("typeset", |text: &str| microseconds(text));
    environment.add_filter("prose", prose);
    environment.add_template("page.html", TEMPLATE)?;
    let page = environment.get_template("page.html")?.render(context! {
        title,
        style => STYLE,
        scripts => SCRIPTS,
        runs => Serde(runs.iter().map(words::RunWords::of).collect::<Vec<_>>()),
        checks => Serde(runs.iter().filter_map(checks::of).collect::<Vec<_>>()),
        facts => Serde(runs.iter().flat_map(facts::of).collect::<Vec<_>>()),
        sections => Serde(&sections),
        documents => in_script(&format!("[{}]", documents.join(","))),
        plots => in_script(&serde_json::to_string(&plots)?),
        packed,
        plotly => PLOTLY,
        library => LIBRARY,
        version => env!("CARGO_PKG_VERSION"),
    })?;
    Ok(page)
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

/// JSON that cannot end the script element it stands in.
fn in_script(json: &str) -> String {
    json.replace('<', "\\u003c")
}
