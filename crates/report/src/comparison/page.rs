//! Runs side by side, for the page.

use jitterlab_analysis::compare::{
    AgainstFirst, Comparison, Difference, RunsCompared, SettingsCompared, Statistic,
};

use super::{settings, verdicts, word};
use crate::chart::{Axis, Chart, Layer, Shape};
use crate::section::{Piece, Section};
use crate::words::time;

/// The page's section; `None` where nothing is compared.
#[must_use]
pub fn section(compared: &[(&str, &Comparison)]) -> Option<Section> {
    let mut pieces = Vec::new();
    for (task, comparison) in compared {
        pieces.extend(verdicts(comparison).into_iter().map(|text| Piece::Text { text }));
        pieces.extend(chart(task, comparison).map(Piece::Figure));
        let base = comparison.runs.first().map_or("", |run| run.name.as_str());
        pieces.extend(comparison.against_first.iter().map(|other| difference_table(task, base, other)));
    }
    (!pieces.is_empty()).then(|| Section {
        id: "comparison".into(),
        title: "Comparison".into(),
        lead: "Every figure of the latency against that of the first run, with the interval that holds the true change; all intervals together hold with 95 %. An interval that reaches over zero shows no real difference.".into(),
        pieces,
    })
}

/// What the page shows of it.
#[must_use]
pub fn sections(compared: &RunsCompared) -> Vec<Section> {
    let of_settings = compared.tasks.iter().filter_map(|of| Some((of.task.as_str(), of.settings.as_ref()?)));
    let found = compared.tasks.iter().filter_map(|of| Some((of.task.as_str(), of.comparison.as_ref()?)));
    of_settings.map(settings_section).chain(section(&found.collect::<Vec<_>>())).collect()
}

fn settings_section((task, compared): (&str, &SettingsCompared)) -> Section {
    let table = Piece::Table {
        caption: format!(
            "Task {task}: means over runs in µs, and their change; spread: standard deviation from run to run"
        ),
        header: ["statistic", "first", "with", "change", "from", "to", "spread", "difference"]
            .map(String::from)
            .to_vec(),
        rows: settings::rows(compared),
    };
    let texts = settings::verdict(compared).into_iter().map(|text| Piece::Text { text });
    Section {
        id: "settings".into(),
        title: "Two settings".into(),
        lead: "Several runs of each, with the spread from run to run as the measure; all intervals together hold with 95 %.".into(),
        pieces: texts.chain([table]).collect(),
    }
}

/// The change of a figure, as a share of the first run's.
fn relative(difference: &Difference) -> Option<[f64; 3]> {
    let [low, high] = difference.interval?;
    let first = difference.difference / (difference.ratio? - 1.0);
    let percent = |ns: f64| 100.0 * ns / first;
    let all = [percent(low), percent(difference.difference), percent(high)];
    all.iter().all(|v| v.is_finite()).then_some(all)
}

fn chart(task: &str, comparison: &Comparison) -> Option<Chart> {
    // The share of missed due times is no latency: the table has it.
    let shown = || Statistic::ALL.iter().filter(|s| **s != Statistic::MissedShare);
    let names: Vec<&str> = shown().map(|s| s.name()).collect();
    let others = comparison.against_first.len() as f64;
    let layer = |(k, other): (usize, &AgainstFirst)| {
        // Runs stand side by side at each name.
        let shift = (k as f64 - (others - 1.0) / 2.0) * 0.6 / others;
        let values = other.differences.iter().filter_map(|d| {
            let [low, middle, high] = relative(d)?;
            let at = shown().position(|s| *s == d.statistic)?;
            Some([at as f64 + shift, low, middle, high])
        });
        Layer::new(&other.name, k, Shape::Intervals(values.collect()))
    };
    let layers: Vec<Layer> = comparison.against_first.iter().enumerate().map(layer).collect();
    if layers.iter().all(|l| matches!(&l.shape, Shape::Intervals(v) if v.is_empty())) {
        return None;
    }
    let base = &comparison.runs.first()?.name;
    let level = Layer::new("", 4, Shape::Level(0.0));
    Some(Chart {
        name: "comparison",
        caption: format!(
            "Latency of task {task} in {}, against {base}: change of each figure in percent; below zero is better. Bars: 95 % intervals of all together.",
            comparison.against_first.iter().map(|o| o.name.as_str()).collect::<Vec<_>>().join(", "),
        ),
        x: Axis::names("figure of the latency", names),
        y: Axis::linear(format!("change against {base}, %")),
        layers: [level].into_iter().chain(layers).collect(),
        height: 400,
    })
}

fn difference_table(task: &str, base: &str, other: &AgainstFirst) -> Piece {
    let rows = other.differences.iter().map(|d| {
        let show = |v: f64| match d.statistic {
            Statistic::MissedShare => format!("{:+.4} %", 100.0 * v),
            _ => format!("{}{}", if v > 0.0 { "+" } else { "" }, time(v)),
        };
        vec![
            d.statistic.name().into(),
            show(d.difference),
            d.interval.map_or("–".into(), |[low, high]| format!("{} to {}", show(low), show(high))),
            d.ratio.map_or("–".into(), |r| format!("{r:.3}")),
            word(d).into(),
        ]
    });
    Piece::Table {
        caption: format!(
            "Task {task}: {} against {base}; a latency of it is the lower one with a probability of {:.1} %",
            other.name,
            100.0 * other.p_lower
        ),
        header: ["statistic", "change", "interval", "ratio", "difference"].map(String::from).to_vec(),
        rows: rows.collect(),
    }
}
