//! Contents of the source documents: each of their figures, tables, equations and claims, the way to
//! reproduce it, and the result of its last repetition here.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use clap::ValueEnum as _;
use serde::Serialize;

use crate::RESULT;
use crate::paper::Reproducibility::{self, CannotBeTested, HasCommand, NeedsHardware, NeedsImage, Refuted};
use crate::paper::{Item, ItemResult, Paper};
use crate::statement::StatementVerdict;
use jitterlab_model::Fitness;
use jitterlab_report::conclusion::Conclusion;
use jitterlab_report::document::Present;
use jitterlab_report::section::{Piece, Section};

/// Ways to reproduce an item, with their heading in the table of counts, and in words.
const WAYS: [(Reproducibility, &str, &str); 5] = [
    (HasCommand, "command", "has a command"),
    (Refuted, "refuted", "refuted"),
    (NeedsImage, "image", "needs an image"),
    (NeedsHardware, "hardware", "needs hardware"),
    (CannotBeTested, "untestable", "cannot be tested here"),
];

impl ItemResult {
    fn result_text(self) -> String {
        let became = self.verdict.map_or("repeated", StatementVerdict::words);
        format!("{became}{}", if self.in_virtual_time { " in virtual time" } else { " here" })
    }
}

impl Item {
    fn title(&self) -> String {
        self.name.replace('-', " ")
    }

    /// Folder of the repetition that the item's command makes; `None` for another command, or one with further options.
    fn result_folder(&self) -> Option<String> {
        let command = self.command.as_ref().filter(|_| self.reproducibility == HasCommand)?;
        let folder = command.strip_prefix("jitterlab reproduce ")?.replace(" --virtual", "-virtual");
        (!folder.contains(' ')).then_some(folder)
    }

    /// True if this repetition of the document shows the item.
    fn is_shown_by(&self, paper: Paper, in_virtual_time: bool) -> bool {
        self.result_folder().is_some_and(|folder| {
            folder == paper.folder(in_virtual_time)
                || self.both_ways && folder == paper.folder(!in_virtual_time)
        })
    }

    /// The command that reproduces the item, the shorter where there are two.
    fn command_to_run(&self) -> Option<String> {
        let command = self.command.as_ref()?;
        Some(if self.both_ways { command.replace(" --virtual", "") } else { command.clone() })
    }

    fn item_text(&self) -> String {
        let command =
            self.command.as_ref().map_or_else(String::new, |command| format!(". Command: {command}"));
        format!("{}: {}; {}{command}", self.says, self.state_text(), self.why)
    }

    fn state_text(&self) -> String {
        match self.results[..] {
            [] if self.result_folder().is_some() => "not yet run here".into(),
            [] => WAYS.iter().filter(|way| way.0 == self.reproducibility).map(|way| way.2).collect(),
            _ => self.results.iter().map(|result| result.result_text()).collect::<Vec<_>>().join("; "),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PaperContents {
    pub items: Vec<Item>,
}

impl PaperContents {
    pub fn for_document(document: Option<Paper>) -> Self {
        let all = Paper::value_variants().iter().copied();
        let wanted = all.filter(|paper| document.is_none_or(|only| only == *paper));
        PaperContents { items: wanted.flat_map(Paper::items).collect() }
    }

    /// Adds the results of the last repetitions that were written to this folder.
    pub fn with_results(mut self, folder: &Path) -> Self {
        for paper in Paper::value_variants().iter().copied() {
            for in_virtual_time in [false, true] {
                let folder = folder.join(paper.folder(in_virtual_time));
                let Some(verdicts) = last_verdicts(&folder) else { continue };
                for item in &mut self.items {
                    let standing = verdicts.get(&item.name).copied().filter(|_| item.document == paper);
                    if standing.is_some() || item.is_shown_by(paper, in_virtual_time) {
                        item.results.push(ItemResult { in_virtual_time, verdict: standing });
                    }
                }
            }
        }
        self
    }

    fn by_document(&self) -> impl Iterator<Item = (Paper, Vec<&Item>)> {
        Paper::value_variants().iter().copied().filter_map(|paper| {
            let items: Vec<_> = self.items.iter().filter(|item| item.document == paper).collect();
            (!items.is_empty()).then_some((paper, items))
        })
    }
}

/// The verdicts of the repetition in a folder; `None` without a repetition.
fn last_verdicts(folder: &Path) -> Option<BTreeMap<String, StatementVerdict>> {
    let written = fs::read(folder.join(RESULT)).ok()?;
    let mut written: serde_json::Value = serde_json::from_slice(&written).ok()?;
    serde_json::from_value(written.pointer_mut("/result/verdicts")?.take()).ok()
}

fn contents_section(contents: &PaperContents) -> Section {
    let counts = contents.by_document().map(|(paper, items)| {
        let count = |way| items.iter().filter(|item| item.reproducibility == way).count().to_string();
        std::iter::once(paper.name().to_owned()).chain(WAYS.map(|(way, ..)| count(way))).collect()
    });
    let header: Vec<&str> = std::iter::once("").chain(WAYS.map(|(_, heading, _)| heading)).collect();
    let mut pieces = vec![Piece::table("", &header, counts.collect::<Vec<Vec<String>>>())];
    pieces.extend(contents.by_document().map(|(paper, items)| {
        Piece::facts(paper.name(), items.into_iter().map(|item| (item.title(), item.item_text())))
    }));
    Section::new("papers", "What the source documents hold", "And how it stands here.", pieces)
}

/// Conclusion on the contents: items repeated here with their verdicts, those refuted, and the first wrong one.
fn contents_conclusion(contents: &PaperContents) -> Option<Conclusion> {
    let items = &contents.items;
    let count = |is: &dyn Fn(&Item) -> bool| items.iter().filter(|item| is(item)).count();
    let ran = count(&|item| !item.results.is_empty());
    let became = |standing| count(&|item| item.results.iter().any(|of| of.verdict == Some(standing)));
    let [not, open, holds] = StatementVerdict::ALL.map(became);
    let refuted = count(&|item| item.reproducibility == Refuted);
    let unseen = |item: &&Item| item.reproducibility == HasCommand && item.results.is_empty();
    let mut of_documents = items.iter().filter(unseen);
    let next = of_documents.find(|item| item.result_folder().is_some()).or_else(|| items.iter().find(unseen));
    let next = next.or(items.first())?.command_to_run().unwrap_or_default();
    let (word, became) = match ran {
        0 => ("NOT YET RUN HERE", String::new()),
        _ => ("REPEATED", format!("; of statements {holds} hold, {not} do not, {open} cannot be told")),
    };
    let failed =
        |item: &&Item| item.results.iter().any(|of| of.verdict == Some(StatementVerdict::DoesNotHold));
    let wrong = items.iter().find(failed).or(items.iter().find(|item| item.reproducibility == Refuted));
    let first_wrong = |item: &Item| {
        let how = if failed(&item) { "does not hold here" } else { "is refuted" };
        format!("The first that {how}, {} of {}: {}.", item.title(), item.document.name(), item.says)
    };
    Some(Conclusion {
        fitness: if ran == 0 { Fitness::CannotTell } else { Fitness::Limited },
        asked: false,
        verdict: format!(
            "{word}: {ran} of {} figures, tables, equations and claims were repeated{became}; {refuted} are refuted (by their own \
             numbers, a test or documentation).",
            items.len()
        ),
        number: wrong.map_or_else(|| "None of them is wrong.".into(), first_wrong),
        next,
    })
}

impl Present for PaperContents {
    const KIND: &'static str = "papers";

    fn conclusion(&self) -> Option<Conclusion> {
        contents_conclusion(self)
    }

    fn sections(&self) -> Vec<Section> {
        vec![contents_section(self)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_report::chart::Terminal;
    use jitterlab_report::document::{self, Extent};
    use std::collections::BTreeSet;

    /// The numbered parts of each document: figures, tables, equations.
    const NUMBERED: [(Paper, &str); 4] = [
        (Paper::Athlon, "table-1 table-2"),
        (
            Paper::Epos,
            "equation-1 figure-1 figure-2 figure-3 figure-4 figure-5 figure-6 figure-7 table-1-periodic \
             table-1-single-shot",
        ),
        (
            Paper::Nist,
            "equation-1 equation-2 equation-3 equation-4 equation-5 equation-6 equation-7 figure-1a figure-1b figure-2 \
             figure-3a figure-3b figure-3c figure-4 figure-5 figure-6 table-1-compensated table-1-uncompensated",
        ),
        (
            Paper::Twente,
            "figure-1 figure-10 figure-11 figure-12 figure-13 figure-2 figure-3 figure-4 figure-5 figure-6 figure-7 \
             figure-8 figure-9",
        ),
    ];

    #[test]
    fn every_numbered_part_of_each_document_is_there_once() {
        for (paper, expected) in NUMBERED {
            let is_numbered =
                |part: &&str| ["figure-", "table-", "equation-"].iter().any(|kind| part.starts_with(kind));
            let items = paper.items();
            let mut found: Vec<&str> =
                items.iter().map(|item| item.name.as_str()).filter(is_numbered).collect();
            found.sort_unstable();
            assert_eq!(found.join(" "), expected);
        }
    }

    #[test]
    fn each_item_has_a_name_of_its_own_a_reason_and_a_command_where_one_is_due() {
        let all = PaperContents::for_document(None).items;
        let ids: BTreeSet<&str> = all.iter().map(|item| item.id.as_str()).collect();
        assert_eq!(ids.len(), all.len());
        for item in &all {
            assert!(!item.says.is_empty() && !item.why.is_empty() && !item.why.contains('|'), "{}", item.id);
            match item.reproducibility {
                HasCommand => assert!(item.command.is_some(), "{}", item.id),
                CannotBeTested => {
                    assert_eq!(item.command, None, "{}", item.id);
                }
                _ => {}
            }
        }
        assert_eq!(PaperContents::for_document(Some(Paper::Nist)).items.len(), Paper::Nist.items().len());
    }

    #[test]
    fn the_list_keeps_to_80_columns() {
        let terminal = Terminal { columns: 80, ascii: false, colour: false };
        let long = document::terminal_text(&PaperContents::for_document(None), Extent::Answer, terminal);
        assert!(long.lines().count() > 500);
        let wide: Vec<&str> = long.lines().filter(|line| line.chars().count() > 80).collect();
        assert!(wide.is_empty(), "{wide:#?}");
    }

    #[test]
    fn an_item_is_repeated_by_its_own_command_alone_and_that_is_not_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let state = |part: &str| {
            let listed = PaperContents::for_document(None).with_results(folder.path());
            listed.items.iter().find(|item| item.id == part).unwrap().state_text()
        };
        let next = || {
            contents_conclusion(&PaperContents::for_document(None).with_results(folder.path())).unwrap().next
        };
        let run = |name: &str| {
            fs::create_dir(folder.path().join(name)).unwrap();
            fs::write(folder.path().join(name).join(RESULT), r#"{"result": {"verdicts": {}}}"#).unwrap();
        };
        assert_eq!(next(), "jitterlab reproduce athlon");
        run("nist-virtual");
        assert_eq!(state("nist/figure-3a"), "repeated in virtual time");
        assert_eq!(state("nist/figure-1a"), "not yet run here");
        run("athlon");
        assert_eq!([state("athlon/table-1"), state("athlon/repeatable")], ["repeated here", "has a command"]);
        assert_eq!(next(), "jitterlab reproduce athlon --virtual");
        run("twente-virtual");
        assert_eq!(state("nist/soft-jitter"), "repeated in virtual time");
        ["athlon-virtual", "epos", "epos-virtual", "nist", "twente"].into_iter().for_each(run);
        assert!(!next().starts_with("jitterlab reproduce "), "{}", next());
    }

    #[test]
    fn no_state_is_older_than_its_result() {
        let folder = tempfile::tempdir().unwrap();
        let listed = || PaperContents::for_document(Some(Paper::Twente)).with_results(folder.path());
        let state = |contents: &PaperContents, part: &str| {
            contents.items.iter().find(|item| item.name == part).unwrap().state_text()
        };
        let before = listed();
        assert_eq!(state(&before, "stress-enlarges"), "not yet run here");
        assert_eq!(state(&before, "timers-survive"), "refuted");
        assert!(contents_conclusion(&before).unwrap().verdict.starts_with("NOT YET RUN HERE: 0 of "));
        for (name, verdict) in [("twente", "does-not-hold"), ("twente-virtual", "holds")] {
            fs::create_dir(folder.path().join(name)).unwrap();
            let result = format!("{{\"result\": {{\"verdicts\": {{\"stress-enlarges\": \"{verdict}\"}}}}}}");
            fs::write(folder.path().join(name).join(RESULT), result).unwrap();
        }
        let after = listed();
        assert_eq!(state(&after, "stress-enlarges"), "DOES NOT HOLD here; holds in virtual time");
        assert_eq!(state(&after, "figure-1"), "repeated here; repeated in virtual time");
        let answer = contents_conclusion(&after).unwrap();
        assert!(answer.verdict.contains("of statements 1 hold, 1 do not, 0 cannot"), "{}", answer.verdict);
        assert!(
            answer.number.starts_with("The first that does not hold here, stress enlarges"),
            "{}",
            answer.number
        );
        fs::write(folder.path().join("twente").join(RESULT), "{").unwrap();
        assert_eq!(state(&listed(), "stress-enlarges"), "holds in virtual time");
        assert_eq!(contents_conclusion(&PaperContents { items: Vec::new() }), None);
    }
}
