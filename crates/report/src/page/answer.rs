//! The first section of the page: what was measured, and what follows from it.

use jitterlab_model::Refusal;

use super::PageRun;
use super::frame::{answer, figures, whole};
use super::html::{Html, html};
use super::words::{self, About, RunWords};
use crate::head::Head;
use crate::section::Table;

/// The runs in words; `found` are the answers of further results.
pub fn of(runs: &[PageRun], words: &[RunWords], conclusion: Option<&Head>, found: &Html) -> Html {
    let conclusion = conclusion.map(|head| html!("{answer}\n", answer = answer(head, Some(&head.next))));
    let verdict = |run: &RunWords| {
        run.head
            .as_ref()
            .map(|head| html!("{answer}\n", answer = answer(head, run.next.as_ref())))
            .unwrap_or_default()
    };
    let several = words.len() > 1;
    let article = |run: &RunWords| {
        html!(
            "<article>\n<h3>{label}</h3>\n{verdict}{told}</article>\n",
            label = run.label,
            verdict = verdict(run),
            told = told(run)
        )
    };
    let verdicts = match several {
        true => {
            html!("<div class=\"runs\">{runs}</div>\n", runs = words.iter().map(article).collect::<Html>())
        }
        false => words.iter().map(verdict).collect(),
    };
    let warning =
        |text: String| html!("<p class=\"warning\"><strong>Warning:</strong> {text}</p>\n", text = text);
    let caveats: Html = words::caveats(runs)
        .iter()
        .map(|caveat| html!("<li>{caveat}</li>\n", caveat = whole(caveat)))
        .collect();
    let has_caveats = !caveats.as_str().is_empty();
    html!(
        "<div class=\"answers\">\n{conclusion}{verdicts}{found}</div>\n{told}{warnings}{caveats}{about}{tables}",
        conclusion = conclusion.unwrap_or_default(),
        verdicts = verdicts,
        found = found,
        told = words.iter().filter(|_| !several).map(told).collect::<Html>(),
        warnings = words::warned(runs).into_iter().map(warning).collect::<Html>(),
        caveats =
            html!("<h3>Bear in mind</h3>\n<ul>{caveats}</ul>\n", caveats = caveats).only_if(has_caveats),
        about = about(words, &words::about(runs)),
        tables = tables(words)
    )
}

fn told(run: &RunWords) -> Html {
    let statement = |text: &String| html!("<p>{text}</p>\n", text = whole(text));
    let refusal = |refusal: &Refusal| {
        html!(
            "<p class=\"warning\"><strong>Refused:</strong> {what} ({why}). <strong>Remedy:</strong> {remedy}</p>\n",
            what = refusal.what,
            why = refusal.why,
            remedy = refusal.remedy
        )
    };
    run.statements.iter().map(statement).chain(run.refused.iter().map(refusal)).collect()
}

/// What is told of a single run as a list, of several as a table.
fn about(runs: &[RunWords], about: &[About]) -> Html {
    if let [_] = runs {
        let fact = |fact: &About| {
            html!("<dt>{term}</dt><dd>{value}</dd>\n", term = fact.term, value = fact.values[0])
        };
        return html!("<dl>{facts}</dl>\n", facts = about.iter().map(fact).collect::<Html>());
    }
    let heading = |run: &RunWords| html!("<th scope=\"col\">{label}</th>", label = run.label);
    let row = |fact: &About| {
        let cells = match fact.values.as_slice() {
            [same] => html!("<td colspan=\"{runs}\">{value}</td>", runs = runs.len(), value = same),
            values => values.iter().map(|value| html!("<td>{value}</td>", value = value)).collect(),
        };
        html!("<tr><th scope=\"row\">{term}</th>{cells}</tr>\n", term = fact.term, cells = cells)
    };
    html!(
        "<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"The runs\"><table class=\"about\"><caption><span>What differs has a cell for each run.</span></caption>
<thead><tr><th scope=\"col\">run</th>{runs}</tr></thead>
<tbody>{rows}</tbody></table></div>
",
        runs = runs.iter().map(heading).collect::<Html>(),
        rows = about.iter().map(row).collect::<Html>()
    )
    .only_if(!runs.is_empty())
}

/// Every quantity; folded away where the runs are several.
fn tables(runs: &[RunWords]) -> Html {
    let several = runs.len() > 1;
    let tables = runs.iter().flat_map(|run| run.tables.iter().map(move |of| (run, of)));
    let table = |(run, of): (&RunWords, &Table)| {
        let caption = if several { format!("{}: {}", run.label, of.caption) } else { of.caption.clone() };
        html!("{table}\n", table = figures(&caption, of))
    };
    let tables: Html = tables.map(table).collect();
    match several {
        true => html!(
            "<details><summary>Every quantity of each run, in numbers</summary>\n{tables}</details>\n",
            tables = tables
        ),
        false => tables,
    }
}
