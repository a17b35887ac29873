//! The first section of the page: the answer as a person looks for it, and its evidence, folded.

use jitterlab_analysis::caveats::measured_ns;
use jitterlab_analysis::verdict::Verdict;
use jitterlab_model::Refusal;

use super::deciding_task::SharedScale;
use super::html::{Html, html, with_nonbreaking_spaces};
use super::rows;
use super::sections::{answer_html, pieces_html};
use super::tiles_and_series;
use super::words;
use super::{PageRun, PageTask};
use crate::caveats::task_statement;
use crate::conclusion::{Conclusion, run};
use crate::purpose;
use crate::section::{Piece, Table};
use crate::summary::figure_table;
use crate::words::plural;

/// Number of runs up to which each is shown in detail; more are rows alone.
pub const MAX_DETAILED_RUNS: usize = 6;

/// The first screen: verdict, tiles and series of one run; of several their verdicts, and a row for each. `results` are
/// the answers of further results.
pub fn first_screen(runs: &[PageRun], conclusion: Option<&Conclusion>, results: &Html) -> Html {
    let verdicts: Vec<Option<Verdict>> = runs.iter().map(|run| run.measured_run().verdict).collect();
    let deciding_tasks = rows::ranked_tasks(runs, &verdicts);
    let scale = SharedScale::for_tasks(&deciding_tasks);
    let drawn = scale.as_ref().filter(|_| !deciding_tasks.is_empty());
    let many = rows::joint_conclusion(&deciding_tasks).filter(|_| runs.len() > MAX_DETAILED_RUNS);
    let conclusion = many.as_ref().or(conclusion);
    let conclusion = conclusion
        .map(|conclusion| html!("{answer}\n", answer = answer_html(conclusion, Some(&conclusion.next))));
    let answers = run_answers(runs);
    let article = |(run, verdict): (&PageRun, Html)| {
        let task = deciding_tasks.iter().find(|task| std::ptr::eq(task.run, run));
        let series = task.zip(drawn).map(|(task, scale)| tiles_and_series::series_figure(task, scale, true));
        html!(
            "<article>\n<h3>{label}</h3>\n{verdict}{series}</article>\n",
            label = run.label,
            verdict = verdict,
            series = series.unwrap_or_default()
        )
    };
    let (side, below) = match (runs, deciding_tasks.as_slice(), drawn) {
        ([_], [task], Some(scale)) => {
            let purposes = verdicts.iter().flatten().filter_map(purpose::purpose_table).collect::<Vec<_>>();
            let beside =
                [tiles_and_series::number_tiles(task), tiles_and_series::series_figure(task, scale, false)]
                    .into_iter()
                    .collect();
            (beside, pieces_html("Purposes", "purposes", &purposes))
        }
        ([_, _, ..], _, Some(scale)) => (Html::default(), rows::run_table(&deciding_tasks, scale)),
        _ => (Html::default(), Html::default()),
    };
    let verdicts: Html = match runs.len() {
        1 => answers.into_iter().collect(),
        several if several <= MAX_DETAILED_RUNS => {
            let articles = runs.iter().zip(answers).map(article).collect::<Html>();
            html!("<div class=\"runs\">{articles}</div>\n", articles = articles).only_if(several > 1)
        }
        _ => Html::default(),
    };
    let has_side = !side.as_str().is_empty();
    let side = html!("<div class=\"side\">{side}</div>\n", side = side).only_if(has_side);
    let warning =
        |text: String| html!("<p class=\"warning\"><strong>Warning:</strong> {text}</p>\n", text = text);
    html!(
        "<div class=\"first {class}\"><div class=\"answers\">\n{conclusion}{verdicts}{found}</div>\n{side}<div class=\"below\">{below}</div></div>\n{warnings}{refused}{caveats}",
        class = if has_side { "beside" } else { "" },
        conclusion = conclusion.unwrap_or_default(),
        verdicts = verdicts,
        found = results,
        side = side,
        below = below,
        warnings = words::warning_sentences(runs).into_iter().map(warning).collect::<Html>(),
        refused = refusals_html(runs),
        caveats = caveat_summary(&words::caveat_sentences(runs))
    )
}

/// The answer about each run, with its next step unless the run before has the same.
fn run_answers(runs: &[PageRun]) -> Vec<Html> {
    let conclusions: Vec<Option<Conclusion>> =
        runs.iter().map(|run| run::measurement_conclusion(&run.measured_run())).collect();
    let before = std::iter::once(&None).chain(&conclusions);
    let each = conclusions.iter().zip(before).map(|(conclusion, before)| {
        let Some(conclusion) = conclusion else { return Html::default() };
        let is_new = before.as_ref().is_none_or(|before| before.next != conclusion.next);
        html!("{answer}\n", answer = answer_html(conclusion, is_new.then_some(&conclusion.next)))
    });
    each.collect()
}

/// Refusals of the system, each once.
fn refusals_html(runs: &[PageRun]) -> Html {
    let mut all: Vec<&Refusal> = Vec::new();
    for refusal in runs.iter().flat_map(|run| &run.info.refused) {
        if !all.contains(&refusal) {
            all.push(refusal);
        }
    }
    let refusal = |refusal: &Refusal| {
        html!(
            "<p class=\"warning\"><strong>Refused:</strong> {what} ({why}). <strong>Remedy:</strong> {remedy}</p>\n",
            what = refusal.what,
            why = refusal.why,
            remedy = refusal.remedy
        )
    };
    all.into_iter().map(refusal).collect()
}

/// The gravest caveat, and where the others are.
fn caveat_summary(caveats: &[String]) -> Html {
    let first = caveats.first().map(|first| with_nonbreaking_spaces(first)).unwrap_or_default();
    html!(
        "<p class=\"note\"><a href=\"#caveats\">{number}</a>: {first}</p>\n",
        number = plural(caveats.len() as u64, "caveat"),
        first = first
    )
    .only_if(!caveats.is_empty())
}

pub fn caveats_section(runs: &[PageRun]) -> Html {
    let caveats = words::caveat_sentences(runs);
    let item = |caveat: &String| html!("<li>{caveat}</li>\n", caveat = with_nonbreaking_spaces(caveat));
    html!(
        "<section id=\"caveats\"><details><summary><h2>{number}</h2> what the runs cannot show</summary>\n<ul>{items}</ul></details></section>\n",
        number = plural(caveats.len() as u64, "caveat"),
        items = caveats.iter().map(item).collect::<Html>()
    )
    .only_if(!caveats.is_empty())
}

/// Measurement in a sentence, as facts, and every quantity in numbers.
pub fn measured_section(runs: &[PageRun]) -> Html {
    let several = runs.len() > 1;
    let statements = |run: &PageRun| -> Vec<Piece> {
        let tasks = run.tasks.iter().zip(&run.info.tasks);
        tasks.map(|(of, task)| Piece::text(task_statement(&of.measured.summary, measured_ns(task)))).collect()
    };
    let table = |(run, task): (&PageRun, &PageTask)| {
        let of = figure_table(&task.measured.summary);
        let caption = if several { format!("{}: {}", run.label, of.caption) } else { of.caption.clone() };
        Piece::Table(Table { caption, ..of })
    };
    let tasks = runs.iter().flat_map(|run| run.tasks.iter().map(move |task| (run, task)));
    let statements = runs.iter().filter(|_| !several).flat_map(statements);
    let all: Vec<Piece> = statements.chain(words::run_facts(runs)).chain(tasks.map(table)).collect();
    pieces_html("What was measured", "measured", &all)
}
