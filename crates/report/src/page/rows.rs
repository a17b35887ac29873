//! Several runs as rows: each with its result, a small histogram on the scale of all, and its main numbers; the worst first.

use std::cmp::Reverse;

use jitterlab_analysis::verdict::Verdict;
use jitterlab_model::Fitness;

use super::deciding_task::{DecidingTask, SharedScale};
use super::html::{Html, html, with_nonbreaking_spaces};
use super::tiles_and_series::{limit_lines, verdict_html};
use crate::conclusion::{Conclusion, joint_verdict};
use crate::purpose::plain_decision_sentence;
use crate::run_view::PageRun;
use crate::why::marks;
use crate::words::{count, known_count, list, microseconds_of_bins, plural, time};

/// Steps of a histogram for each factor of ten.
const STEPS_PER_DECADE: f64 = 12.0;
/// Height of a row in the units of its drawing.
const ROW_HEIGHT: f64 = 100.0;

/// The deciding tasks of the runs, the worst first, all judged for the purpose of the worst of them.
pub fn ranked_tasks<'a>(runs: &'a [PageRun], verdicts: &[Option<Verdict>]) -> Vec<DecidingTask<'a>> {
    let each = |purpose: Option<&str>| -> Vec<DecidingTask<'a>> {
        let both = runs.iter().zip(verdicts);
        let mut all: Vec<DecidingTask<'a>> =
            both.filter_map(|(run, verdict)| DecidingTask::new(run, verdict.as_ref(), purpose)).collect();
        all.sort_by_key(|of| Reverse((of.judged.as_ref().map(|judged| judged.fitness), of.worst_ns)));
        all
    };
    let own = each(None);
    match own.iter().find_map(|of| of.judged.as_ref()) {
        Some(worst) => each(Some(&worst.purpose)),
        None => own,
    }
}

/// Conclusion for many runs together; `None` if none has a verdict.
pub fn joint_conclusion(deciding_tasks: &[DecidingTask<'_>]) -> Option<Conclusion> {
    let worst = deciding_tasks.first()?;
    let judged = worst.judged.as_ref()?;
    let each: Vec<Fitness> =
        deciding_tasks.iter().filter_map(|of| Some(of.judged.as_ref()?.fitness)).collect();
    Some(Conclusion {
        fitness: judged.fitness,
        asked: false,
        verdict: joint_verdict(judged.fitness, Some(&judged.purpose), &each, "run"),
        number: format!(
            "Worst: {}. {}",
            worst.run.label,
            plain_decision_sentence(judged.decided_by.as_ref()?)
        ),
        next: format!(
            "jitterlab report {} (the worst run by itself)",
            crate::conclusion::file_argument(&worst.run.label)
        ),
    })
}

pub fn run_table(deciding_tasks: &[DecidingTask<'_>], scale: &SharedScale) -> Html {
    let Some(first) = deciding_tasks.first() else { return Html::default() };
    let limits = limit_lines(first);
    let tick = |class: &str, at: f64, words: &str| {
        html!(
            "<span class=\"{class}\" style=\"left:{at}%\">{words}</span>",
            class = class,
            at = format!("{:.1}", 100.0 * at),
            words = with_nonbreaking_spaces(words)
        )
    };
    let ticks: Html = scale.ticks(6).iter().map(|(at, words)| tick("", *at, words)).collect();
    let names: Html = limits
        .iter()
        .filter(|(_, class, _)| *class != "period")
        .map(|(ns, class, _)| tick(class, scale.position(*ns), class))
        .collect();
    // The rarest that is known of all.
    let of_all = |(share, _): &(f64, &str)| deciding_tasks.iter().all(|of| of.quantile_ns(*share).is_some());
    let (rare, rare_name) =
        [(0.999, "p99.9"), (0.99, "p99")].into_iter().find(of_all).unwrap_or((0.9, "p90"));
    let has_causes = deciding_tasks.iter().any(|of| main_cause_letter(of).is_some());
    let row = |of: &DecidingTask<'_>| {
        let number =
            |ns: Option<i64>| ns.map_or_else(|| "-".into(), |ns| microseconds_of_bins(ns as f64, 0.0));
        html!(
            "<tr><th scope=\"row\">{name}</th><td class=\"left\">{judged}</td><td class=\"steps\">{steps}</td><td><strong>{worst}</strong></td><td>{high}</td><td>{middle}</td><td>{missed}</td>{cause}</tr>\n",
            name = of.run.label,
            judged = verdict_html(of),
            steps = histogram_svg(of, scale),
            worst = number(Some(of.worst_ns)),
            high = number(of.quantile_ns(rare)),
            middle = number(of.quantile_ns(0.5)),
            missed = known_count(of.task.measured.summary.missed),
            cause = html!(
                "<td>{letter}</td>",
                letter = main_cause_letter(of).map_or_else(|| "-".into(), String::from)
            )
            .only_if(has_causes)
        )
    };
    let purpose =
        first.judged.as_ref().map_or_else(String::new, |judged| format!(", judged for {}", judged.purpose));
    let what = if first.is_period_error { "how far periods were off" } else { "how late starts were" };
    html!(
        "<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"Runs as rows\"><table class=\"rows\"><caption><span>{runs}{purpose}; the worst first. Steps: {what}, how often (logarithmic), on one axis for all{log}; lines: {lines}. Numbers in µs.</span></caption>
<thead><tr><th scope=\"col\">run</th><th scope=\"col\" class=\"left\">result</th><th scope=\"col\" class=\"steps\"><div class=\"axis\">{names}</div><div class=\"axis\">{ticks}</div></th><th scope=\"col\">worst</th><th scope=\"col\">{rare_name}</th><th scope=\"col\">p50</th><th scope=\"col\">missed</th>{cause}</tr></thead>
<tbody>{rows}</tbody></table></div>
",
        runs = plural(deciding_tasks.len() as u64, "run"),
        purpose = purpose,
        what = what,
        log = if scale.is_log() { " (logarithmic)" } else { "" },
        lines = list(&limits.iter().map(|(_, _, words)| words.clone()).collect::<Vec<_>>()),
        names = names,
        ticks = ticks,
        rare_name = rare_name,
        cause = html!("<th scope=\"col\">cause</th>").only_if(has_causes),
        rows = deciding_tasks.iter().map(row).collect::<Html>()
    )
}

/// Letter of the cause that delayed the run's worst starts most; `None` if causes are unknown.
fn main_cause_letter(of: &DecidingTask<'_>) -> Option<char> {
    let why = of.run.why.as_ref()?;
    let task = why.tasks.iter().find(|task| task.task == of.task.measured.summary.task)?;
    marks::cause_letters(&[&task.main_cause()?.cause]).first().copied()
}

/// A histogram as steps of equal length on the scale.
fn histogram_svg(of: &DecidingTask<'_>, scale: &SharedScale) -> Html {
    let number = (STEPS_PER_DECADE * scale.decades()).round().max(STEPS_PER_DECADE) as usize;
    let mut counts = vec![0u64; number];
    for (from, _, many) in &of.magnitudes {
        let at = (scale.position(*from as f64) * number as f64) as usize;
        counts[at.min(number - 1)] += many;
    }
    let most = (counts.iter().copied().max().unwrap_or(1).max(1) as f64).ln() + 1.0;
    let top = |many: u64| match many {
        0 => ROW_HEIGHT,
        many => ROW_HEIGHT * (1.0 - 0.9 * ((many as f64).ln() + 1.0) / most),
    };
    let path: String =
        counts.iter().enumerate().map(|(at, many)| format!("V{:.0}H{}", top(*many), at + 1)).collect();
    let worst = scale.position(of.worst_ns as f64) * number as f64;
    let rule = |(ns, class, _): &(f64, &'static str, String)| {
        html!(
            "<path class=\"rule {class}\" d=\"M{at} 0V100\"/>",
            class = *class,
            at = format!("{:.2}", scale.position(*ns) * number as f64)
        )
    };
    html!(
        "<svg viewBox=\"0 0 {number} 100\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{words}\">{rules}<path class=\"band\" d=\"M0 100{path}V100Z\"/><path class=\"worst\" d=\"M{worst} 88h0\"/></svg>",
        number = number,
        words = format!("{} values, worst {}", count(of.count), time(of.worst_ns as f64)),
        rules = limit_lines(of).iter().map(rule).collect::<Html>(),
        path = path,
        worst = format!("{worst:.2}")
    )
}
