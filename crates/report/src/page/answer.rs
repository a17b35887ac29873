//! The first section of the page: the answer as a person looks for it, and its evidence, folded.

use jitterlab_analysis::caveats::measured_ns;
use jitterlab_analysis::verdict::Verdict;
use jitterlab_model::Refusal;

use super::frame::{answer, pieces};
use super::glance;
use super::html::{Html, html, whole};
use super::rows;
use super::subject::Scale;
use super::words;
use super::{PageRun, PageTask};
use crate::caveats::statement;
use crate::head::{Head, run};
use crate::purpose;
use crate::section::{Piece, Table};
use crate::summary::every_figure;
use crate::words::plural;

/// More runs than these are rows alone.
pub const FEW: usize = 6;

/// The first screen: verdict, tiles and series of one run; of several runs their verdicts, and all of them as rows. `found` are
/// the answers of further results.
pub fn build(runs: &[PageRun], conclusion: Option<&Head>, found: &Html) -> Html {
    let verdicts: Vec<Option<Verdict>> = runs.iter().map(|run| run.measured().verdict).collect();
    let subjects = rows::subjects(runs, &verdicts);
    let scale = Scale::for_subjects(&subjects);
    let drawn = scale.as_ref().filter(|_| !subjects.is_empty());
    let many = rows::head(&subjects).filter(|_| runs.len() > FEW);
    let conclusion = many.as_ref().or(conclusion);
    let conclusion = conclusion.map(|head| html!("{answer}\n", answer = answer(head, Some(&head.next))));
    let answers = answers(runs);
    let article = |(run, verdict): (&PageRun, Html)| {
        let subject = subjects.iter().find(|subject| std::ptr::eq(subject.run, run));
        let series = subject.zip(drawn).map(|(subject, scale)| glance::series(subject, scale, true));
        html!(
            "<article>\n<h3>{label}</h3>\n{verdict}{series}</article>\n",
            label = run.label,
            verdict = verdict,
            series = series.unwrap_or_default()
        )
    };
    let (side, below) = match (runs, subjects.as_slice(), drawn) {
        ([_], [subject], Some(scale)) => {
            let purposes = verdicts.iter().flatten().filter_map(purpose::table).collect::<Vec<_>>();
            let beside =
                [glance::tiles(subject), glance::series(subject, scale, false)].into_iter().collect();
            (beside, pieces("Purposes", "purposes", &purposes))
        }
        ([_, _, ..], _, Some(scale)) => (Html::default(), rows::table(&subjects, scale)),
        _ => (Html::default(), Html::default()),
    };
    let verdicts: Html = match runs.len() {
        1 => answers.into_iter().collect(),
        several if several <= FEW => {
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
        found = found,
        side = side,
        below = below,
        warnings = words::warned(runs).into_iter().map(warning).collect::<Html>(),
        refused = refused(runs),
        caveats = caveats_in_short(&words::caveats(runs))
    )
}

/// The answer about each run, with its next step unless the run before has the same.
fn answers(runs: &[PageRun]) -> Vec<Html> {
    let heads: Vec<Option<Head>> = runs.iter().map(|run| run::measured(&run.measured())).collect();
    let before = std::iter::once(&None).chain(&heads);
    let each = heads.iter().zip(before).map(|(head, before)| {
        let Some(head) = head else { return Html::default() };
        let is_new = before.as_ref().is_none_or(|before| before.next != head.next);
        html!("{answer}\n", answer = answer(head, is_new.then_some(&head.next)))
    });
    each.collect()
}

/// Refusals of the system, each once.
fn refused(runs: &[PageRun]) -> Html {
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
fn caveats_in_short(caveats: &[String]) -> Html {
    let first = caveats.first().map(|first| whole(first)).unwrap_or_default();
    html!(
        "<p class=\"note\"><a href=\"#caveats\">{number}</a>: {first}</p>\n",
        number = plural(caveats.len() as u64, "caveat"),
        first = first
    )
    .only_if(!caveats.is_empty())
}

pub fn caveats(runs: &[PageRun]) -> Html {
    let caveats = words::caveats(runs);
    let item = |caveat: &String| html!("<li>{caveat}</li>\n", caveat = whole(caveat));
    html!(
        "<section id=\"caveats\"><details><summary><h2>{number}</h2> what the runs cannot show</summary>\n<ul>{items}</ul></details></section>\n",
        number = plural(caveats.len() as u64, "caveat"),
        items = caveats.iter().map(item).collect::<Html>()
    )
    .only_if(!caveats.is_empty())
}

/// Measurement in a sentence, as facts, and every quantity in numbers.
pub fn measured(runs: &[PageRun]) -> Html {
    let several = runs.len() > 1;
    let statements = |run: &PageRun| -> Vec<Piece> {
        let tasks = run.tasks.iter().zip(&run.info.tasks);
        tasks.map(|(of, task)| Piece::text(statement(&of.measured.summary, measured_ns(task)))).collect()
    };
    let table = |(run, task): (&PageRun, &PageTask)| {
        let of = every_figure(&task.measured.summary);
        let caption = if several { format!("{}: {}", run.label, of.caption) } else { of.caption.clone() };
        Piece::Table(Table { caption, ..of })
    };
    let tasks = runs.iter().flat_map(|run| run.tasks.iter().map(move |task| (run, task)));
    let statements = runs.iter().filter(|_| !several).flat_map(statements);
    let all: Vec<Piece> = statements.chain(words::about(runs)).chain(tasks.map(table)).collect();
    pieces("What was measured", "measured", &all)
}
