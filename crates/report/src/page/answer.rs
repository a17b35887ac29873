//! The first section of the page: the answer as a person looks for it, and its evidence, folded.

use jitterlab_analysis::verdict::Verdict;
use jitterlab_model::Refusal;

use super::PageRun;
use super::frame::{answer, figures, pieces};
use super::glance;
use super::html::{Html, html, whole};
use super::rows;
use super::subject::Scale;
use super::words::{self, About, RunWords};
use crate::head::Head;
use crate::purpose;
use crate::section::Table;
use crate::words::plural;

/// More runs than these are rows alone.
pub const FEW: usize = 6;

/// The first screen: verdict, tiles and series of one run; of several runs their verdicts, and all of them as rows. `found` are
/// the answers of further results.
pub fn build(runs: &[PageRun], words: &[RunWords], conclusion: Option<&Head>, found: &Html) -> Html {
    let verdicts: Vec<Option<Verdict>> = runs.iter().map(|run| run.measured().verdict).collect();
    let subjects = rows::subjects(runs, &verdicts);
    let scale = Scale::for_subjects(&subjects);
    let drawn = scale.as_ref().filter(|_| !subjects.is_empty());
    let many = rows::head(&subjects, runs.len()).filter(|_| runs.len() > FEW);
    let conclusion = many.as_ref().or(conclusion);
    let conclusion = conclusion.map(|head| html!("{answer}\n", answer = answer(head, Some(&head.next))));
    let verdict = |run: &RunWords| {
        let head = run.head.as_ref();
        head.map(|head| html!("{answer}\n", answer = answer(head, run.next.as_ref()))).unwrap_or_default()
    };
    let article = |(run, of): (&RunWords, &PageRun)| {
        let subject = subjects.iter().find(|subject| std::ptr::eq(subject.run, of));
        let series = subject.zip(drawn).map(|(subject, scale)| glance::series(subject, scale, true));
        html!(
            "<article>\n<h3>{label}</h3>\n{verdict}{series}</article>\n",
            label = run.label,
            verdict = verdict(run),
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
        1 => words.iter().map(verdict).collect(),
        several if several <= FEW => {
            let articles = words.iter().zip(runs).map(article).collect::<Html>();
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
        refused = refused(words),
        caveats = caveats_in_short(&words::caveats(runs))
    )
}

/// Refusals of the system, each once.
fn refused(words: &[RunWords]) -> Html {
    let mut all: Vec<&Refusal> = Vec::new();
    for refusal in words.iter().flat_map(|run| &run.refused) {
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

/// All caveats, folded.
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
pub fn measured(runs: &[PageRun], words: &[RunWords]) -> Html {
    let several = words.len() > 1;
    let statement = |run: &RunWords| -> Html {
        let text = |text: &String| html!("<p>{text}</p>\n", text = whole(text));
        run.statements.iter().map(text).collect()
    };
    html!(
        "{statements}{about}{tables}",
        statements = words.iter().filter(|_| !several).map(statement).collect::<Html>(),
        about = about(words, &words::about(runs)),
        tables = tables(words)
    )
}

/// Facts of a single run as a list, of several as a table with a row for each and a column for each
/// difference.
fn about(runs: &[RunWords], about: &[About]) -> Html {
    let fact =
        |fact: &About| html!("<dt>{term}</dt><dd>{value}</dd>\n", term = fact.term, value = fact.values[0]);
    let (alike, differs): (Vec<&About>, Vec<&About>) = about.iter().partition(|fact| fact.values.len() == 1);
    let heading = |fact: &&About| html!("<th scope=\"col\">{term}</th>", term = fact.term);
    let row = |(number, run): (usize, &RunWords)| {
        let cell = |fact: &&About| {
            html!("<td>{value}</td>", value = fact.values.get(number).map_or("–", String::as_str))
        };
        html!(
            "<tr><th scope=\"row\">{label}</th>{cells}</tr>\n",
            label = run.label,
            cells = differs.iter().map(cell).collect::<Html>()
        )
    };
    let table = html!(
        "<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"What differs between the runs\"><table class=\"about\"><caption><span>What differs between the runs.</span></caption>
<thead><tr><th scope=\"col\">run</th>{headings}</tr></thead>
<tbody>{rows}</tbody></table></div>
",
        headings = differs.iter().map(heading).collect::<Html>(),
        rows = runs.iter().enumerate().map(row).collect::<Html>()
    )
    .only_if(!differs.is_empty());
    html!("<dl>{facts}</dl>\n{table}", facts = alike.into_iter().map(fact).collect::<Html>(), table = table)
}

/// Tables of every quantity.
fn tables(runs: &[RunWords]) -> Html {
    let several = runs.len() > 1;
    let tables = runs.iter().flat_map(|run| run.tables.iter().map(move |of| (run, of)));
    let table = |(run, of): (&RunWords, &Table)| {
        let caption = if several { format!("{}: {}", run.label, of.caption) } else { of.caption.clone() };
        html!("{table}\n", table = figures(&caption, of))
    };
    tables.map(table).collect()
}
