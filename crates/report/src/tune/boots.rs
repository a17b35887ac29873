//! Ways to start the machine, in words: the results, whether they decide, and the next start.

use jitterlab_analysis::tune::{
    BootComparison, BootConfiguration, BootSummary, Effect, Figure, RebootSetting, SettingVerdict,
};
use jitterlab_model::{Fitness, Watched};

use super::{facts_piece, format_change, format_interval};
use crate::chart::{Axis, Chart, Layer, Shape};
use crate::conclusion::Conclusion;
use crate::document::Present;
use crate::printable::printable;
use crate::section::{Cell, Piece, Section};
use crate::words::{plural, time};

/// Names of the two ways.
const NAMES: [&str; 2] = ["A", "B"];

/// File of the starts, in the directory of the call.
pub const FILE: &str = "jitterlab-starts.json";

/// Message after an interruption.
pub const GOES_ON: &str = "what was measured of this start counts; the same command measures more of it";

/// Message before a start is measured.
pub fn intro_message(known: usize) -> String {
    let before = match known {
        0 => "the first one".to_owned(),
        _ => format!("beside {}", plural(known as u64, "start")),
    };
    format!("measuring this start of the machine, {before}; {FILE} keeps it over restarts")
}

/// Name, kernel and parameters of one way that the other lacks.
fn configuration_differences(way: &BootConfiguration, other: &BootConfiguration) -> Vec<String> {
    let mut all: Vec<String> = way.name.iter().map(|name| printable(name).into_owned()).collect();
    if way.kernel != other.kernel {
        all.push(printable(&way.kernel).into_owned());
    }
    all.extend(way.parameters_not_in(other).into_iter().map(|word| printable(word).into_owned()));
    all
}

/// A way by its difference from the other one.
fn configuration_by_difference(result: &BootComparison, at: usize) -> String {
    let other = 1 - at.min(1);
    match (result.ways.get(at), result.ways.get(other)) {
        (Some(this), Some(that)) => match configuration_differences(this, that) {
            mine if mine.is_empty() => format!("without what {} has", NAMES[other]),
            mine => mine.join(" "),
        },
        _ => "as it is now".into(),
    }
}

/// One of the two configurations, with its name and description.
fn configuration_text(result: &BootComparison, at: usize) -> String {
    format!("{} ({})", NAMES[at.min(1)], configuration_by_difference(result, at))
}

impl Present for BootComparison {
    const KIND: &'static str = "starts";

    fn conclusion(&self) -> Option<Conclusion> {
        Some(conclusion(self))
    }

    fn sections(&self) -> Vec<Section> {
        vec![section(self)]
    }
}

fn conclusion(result: &BootComparison) -> Conclusion {
    let tail = &result.tail;
    let verdict = match (result.judgement, result.ways.len()) {
        (_, 0 | 1) => "NOTHING TO COMPARE YET: one way to start this machine was measured.".to_owned(),
        (SettingVerdict::Helps, _) => format!("BETTER when started as {}.", configuration_text(result, 1)),
        (SettingVerdict::HelpsAndHarms, _) => {
            format!(
                "NOT BETTER when started as {}: {tail} is lower, but max or missed may be higher.",
                configuration_text(result, 1)
            )
        }
        (SettingVerdict::Harms, _) => format!("WORSE when started as {}.", configuration_text(result, 1)),
        (_, _) if result.pairs >= result.most => {
            format!(
                "NOT DECIDED, and left at that: {} of each do not tell the two ways apart.",
                start_count_text(result.most)
            )
        }
        _ => "NOT DECIDED: starts differ by themselves.".to_owned(),
    };
    let fitness = match result.judgement {
        SettingVerdict::Helps => Fitness::Good,
        SettingVerdict::Harms | SettingVerdict::HelpsAndHarms => Fitness::Limited,
        _ => Fitness::CannotTell,
    };
    Conclusion {
        fitness,
        asked: false,
        verdict,
        number: key_figure_sentence(result),
        next: next_step(result),
    }
}

fn start_count_text(n: usize) -> String {
    plural(n as u64, "start")
}

fn key_figure_sentence(result: &BootComparison) -> String {
    let tail = &result.tail;
    if let Some(effect) = result.effects.iter().find(|effect| effect.figure == Figure::Tail) {
        let of = format_change(effect.change);
        return format!(
            "{tail} {of} ({}), {} of each in turns; each look at them has its share of the 5 % that may be wrong.",
            format_interval(effect),
            start_count_text(result.pairs)
        );
    }
    match (result.seen, result.starts.last()) {
        (Some(seen), _) => format!(
            "Seen: {tail} {} from A to B; {} of each decide{} nothing. To decide: {} of each in turns or more, {} so far.",
            format_change(seen),
            start_count_text(result.pairs),
            if result.pairs == 1 { "s" } else { "" },
            start_count_text(result.fewest),
            result.pairs
        ),
        (None, Some(last)) => format!("{tail} {} at this start.", time(last.figures.tail_ns as f64)),
        (None, None) => "Nothing was measured.".into(),
    }
}

fn next_step(result: &BootComparison) -> String {
    const SAME: &str = "then jitterlab tune --continue in this directory";
    match (result.next_way(), result.ways.len()) {
        (Some(_), 1) => format!(
            "change what is to be tried (kernel, its command line, firmware with --way NAME), restart, {SAME}"
        ),
        (Some(at), _) => format!("start it as {}, {SAME}", configuration_text(result, at)),
        (None, _) => match result.judgement {
            SettingVerdict::Helps => {
                "leave it as B is; jitterlab tune for what can be set while it runs".into()
            }
            SettingVerdict::Undecided => "keep the simpler of the two".into(),
            _ => "start it as A again".into(),
        },
    }
}

/// The starts one by one, and their common result.
fn section(result: &BootComparison) -> Section {
    let row = |(n, start): (usize, &BootSummary)| {
        vec![
            Cell::Text(format!("{} {}", n + 1, NAMES[start.way.min(1)])),
            Cell::from(start.measured.as_str()),
            Cell::Count(start.blocks as u64),
            Cell::time(start.figures.tail_ns as f64),
            Cell::time(start.figures.max_ns as f64),
            Cell::Count(start.figures.missed),
        ]
    };
    let header = ["µs", "measured", "blocks", &result.tail, "max", "missed"];
    let subject = |watched: &Watched| format!("thread {} of {}, watched", watched.thread, watched.program);
    let subject = result.watched.as_ref().map_or_else(|| result.task.clone(), subject);
    let caption = format!("each start of the machine: medians of its blocks of {}", printable(&subject));
    let mut pieces = vec![Piece::table(caption, &header, result.starts.iter().enumerate().map(row))];
    if !result.effects.is_empty() {
        let rows = result.effects.iter().map(|effect: &Effect| {
            let name = match effect.figure {
                Figure::Tail => result.tail.as_str(),
                Figure::Maximum => "max",
                Figure::Missed => "missed",
            };
            let decided = if effect.real { "yes" } else { "no" };
            [name.to_owned(), format_change(effect.change), format_interval(effect), decided.to_owned()]
                .into()
        });
        pieces.push(Piece::table::<String>("from A to B", &["", "change", "between", "differs"], rows));
    }
    let ways = (0..result.ways.len())
        .map(|at| (NAMES[at.min(1)].to_owned(), configuration_by_difference(result, at)));
    pieces.extend(facts_piece("The ways to start it", ways));
    pieces.extend(chart(result).map(Piece::Figure));
    Section::new(
        "starts",
        "Ways to start this machine",
        "A start is one value: what differs from start to start is the same in all its blocks. Starts of one way in a row \
         count as one.",
        pieces,
    )
}

/// Chart of the key figure of each start, by configuration; `None` for fewer than two starts.
fn chart(result: &BootComparison) -> Option<Chart> {
    if result.starts.len() < 2 {
        return None;
    }
    let of = |way: usize| {
        let mine = result.starts.iter().enumerate().filter(move |(_, start)| start.way == way);
        Shape::Points(mine.map(|(n, start)| [n as f64, start.figures.tail_ns as f64 / 1e3]).collect())
    };
    let names = result.starts.iter().enumerate();
    Some(Chart {
        name: "starts".into(),
        caption: format!("{} of each start, in the order they were measured.", result.tail),
        x: Axis::names("start", names.map(|(n, start)| format!("{} {}", n + 1, NAMES[start.way.min(1)]))),
        y: Axis::log(format!("{} in us", result.tail)),
        layers: vec![Layer::new("A", 0, of(0)), Layer::new("B", 1, of(1))],
        height: 280,
    })
}

/// Caption of the settings that need a restart.
pub(super) const RESTARTS: &str = "Needs a restart: jitterlab tune --continue compares two ways to start this machine over its starts; jitterlab kernel run \
     --parameter WORD shows some of it in virtual time, too";

/// A setting that needs a restart, and whether virtual time shows it.
pub(super) fn reboot_setting_row(restart: &RebootSetting) -> (String, String) {
    let (what, in_virtual_time) = match restart {
        RebootSetting::Parameter { word, in_virtual_time } => {
            (printable(word).into_owned(), *in_virtual_time)
        }
        RebootSetting::RealTimeKernel => ("a real-time kernel (PREEMPT_RT)".into(), true),
    };
    (what, if in_virtual_time { "seen in virtual time, too" } else { "seen after a restart only" }.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Terminal;
    use jitterlab_analysis::tune::{BlockFigures, Boot};

    fn result(count: usize) -> BootComparison {
        let start = |n: usize| {
            let word = if n % 2 == 1 { "isolcpus=1" } else { "" };
            let tail_ns = if n % 2 == 1 { 21_000 } else { 50_000 } + 500 * n as i64;
            let block = BlockFigures {
                tail_ns,
                max_ns: 2 * tail_ns,
                missed: 0,
                due: 5_000,
                verdict: None,
                repeated: 0,
            };
            let way = BootConfiguration {
                kernel: "6.1 rt".into(),
                command_line: format!("quiet {word}"),
                name: None,
            };
            let measured = "2026-01-01T10:00:00Z".into();
            Boot { boot: n.to_string(), measured, way, blocks: vec![block; 6] }
        };
        let starts: Vec<Boot> = (0..count).map(start).collect();
        BootComparison::new("task,period=1ms".into(), Vec::new(), "p99.9".into(), &starts)
    }

    #[test]
    fn one_start_of_each_is_told_and_decides_nothing() {
        let first = conclusion(&result(1));
        assert!(
            first.verdict.starts_with("NOTHING TO COMPARE YET") && first.next.contains("restart"),
            "{first:?}"
        );
        let conclusion = conclusion(&result(2));
        assert!(conclusion.verdict.starts_with("NOT DECIDED"), "{conclusion:?}");
        let said = "Seen: p99.9 -57.0 % from A to B; 1 start of each decides nothing. To decide: 3 starts of each in turns or more, 1 so far.";
        assert_eq!(conclusion.number, said);
        assert!(conclusion.next.contains("start it as A (without what B has)"), "{conclusion:?}");
    }

    #[test]
    fn enough_starts_decide_and_all_fits_the_terminal() {
        let result = result(6);
        let conclusion = conclusion(&result);
        assert_eq!(
            (conclusion.fitness, conclusion.verdict.as_str()),
            (Fitness::Good, "BETTER when started as B (isolcpus=1).")
        );
        let terminal = Terminal { columns: 80, ascii: false, colour: false };
        let text = result.sections()[0].text(terminal);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("A  without what B has") && text.contains("from A to B"), "{text}");
    }
}
