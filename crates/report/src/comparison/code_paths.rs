//! Words for the code paths of two kernels in virtual time: which appeared, moved or vanished.

use std::cmp::Reverse;

use jitterlab_analysis::compare::{CodePath, PathChange, PathsCompared, RARE_SHARE, RunsCompared, StepMove};
use jitterlab_model::Fitness;

use crate::conclusion::Conclusion;
use crate::section::Piece;
use crate::why;
use crate::words::{list, plural, share};

/// The verdict on the paths; `None` if none are known. `worst` is the sentence on the largest difference.
pub(super) fn conclusion(compared: &RunsCompared, worst: String) -> Option<Conclusion> {
    let different = compared.different_path_count()?;
    let tolerance_ns = compared.move_tolerance_ns();
    let (fitness, verdict) = match different {
        0 => (
            Fitness::Good,
            format!(
                "SAME: no code path that 1 % of the activations take moved by more than {tolerance_ns} ns."
            ),
        ),
        _ => (
            Fitness::Unfit,
            format!(
                "DIFFERENT: {} taken by 1 % of the activations or more.",
                plural(different as u64, "code path")
            ),
        ),
    };
    let has_steps =
        compared.tasks.iter().any(|task| task.paths.as_ref().is_some_and(|paths| !paths.steps.is_empty()));
    let next = match (fitness, has_steps) {
        (Fitness::Good, _) => "jitterlab compare, of runs on the machine itself",
        (_, false) => "measure both with --why, which tells the step of a wake-up that grew",
        (_, true) => "the table of steps below names what grew",
    };
    Some(Conclusion {
        fitness,
        asked: compared.move_tolerance_ns.is_some(),
        verdict,
        number: worst,
        next: next.into(),
    })
}

/// A table with a row for each code path of either run, and which steps of a wake-up moved.
pub(super) fn code_path_pieces(task: &str, paths: &PathsCompared, tolerance_ns: i64) -> Vec<Piece> {
    let header = ["median in ns", "first", "other", "moved", "share first", "share other"];
    let rows = paths.changes.iter().map(|change| path_row(change, tolerance_ns));
    let mut pieces = vec![Piece::table(format!("{task}: code paths of the kernel"), &header, rows)];
    pieces.push(Piece::text(match paths.count_different(tolerance_ns) {
        0 => format!("No path that 1 % of the activations take appeared, vanished or moved by more than {tolerance_ns} ns."),
        different => format!("{} that 1 % of the activations take differ.", plural(different as u64, "path")),
    }));
    if !paths.steps.is_empty() {
        let row = |of: &StepMove| {
            vec![
                why::step_text(of.step).into(),
                of.old_ns.to_string(),
                of.new_ns.to_string(),
                format!("{:+}", of.shift_ns()),
            ]
        };
        let caption = format!("{task}: steps of a wake-up, median in ns");
        pieces.push(Piece::table(caption, &["", "first", "other", "moved"], paths.steps.iter().map(row)));
        pieces.push(Piece::text(moved_steps_sentence(&paths.steps, tolerance_ns)));
    }
    pieces
}

/// The steps that moved by more than the tolerance.
fn moved_steps_sentence(steps: &[StepMove], tolerance_ns: i64) -> String {
    let mut moved: Vec<&StepMove> = steps.iter().filter(|of| of.shift_ns().abs() > tolerance_ns).collect();
    moved.sort_by_key(|of| Reverse(of.shift_ns().abs()));
    let said = moved.iter().map(|of| {
        let way = if of.shift_ns() > 0 { "longer" } else { "shorter" };
        format!("the step {} is {} ns {way}", why::step_text(of.step), of.shift_ns().abs())
    });
    let said: Vec<String> = said.collect();
    match said.is_empty() {
        true => format!("No step of a wake-up moved by more than {tolerance_ns} ns."),
        false => format!("In the middle, {}.", list(&said)),
    }
}

fn path_row(change: &PathChange, tolerance_ns: i64) -> Vec<String> {
    let share = |path: &CodePath| share(path.share);
    let none = || "-".to_owned();
    let (what, cells) = match change {
        PathChange::Kept { old, new, moved_ns } => {
            let what = if moved_ns.abs() > tolerance_ns { "moved" } else { "kept" };
            let (was, is) = (old.median_ns.to_string(), new.median_ns.to_string());
            (what, [was, is, format!("{moved_ns:+}"), share(old), share(new)])
        }
        PathChange::Appeared { new } => {
            ("appeared", [none(), new.median_ns.to_string(), none(), none(), share(new)])
        }
        PathChange::Vanished { old } => {
            ("vanished", [old.median_ns.to_string(), none(), none(), share(old), none()])
        }
    };
    let what = if change.share() < RARE_SHARE { format!("{what} (rare)") } else { what.into() };
    std::iter::once(what).chain(cells).collect()
}

#[cfg(test)]
mod tests {
    use jitterlab_model::causes::Step;

    use super::*;
    use crate::chart::Terminal;
    use crate::section::Section;

    fn text(paths: &PathsCompared, tolerance_ns: i64) -> String {
        let section = Section::new("paths", "", "", code_path_pieces("main", paths, tolerance_ns));
        section.text(Terminal { columns: 80, ascii: true, colour: false })
    }

    #[test]
    fn every_path_has_its_line_and_rare_ones_do_not_decide() {
        let path =
            |median_ns, share| CodePath { count: 1, share, min_ns: median_ns, median_ns, max_ns: median_ns };
        let (old, new) = (path(3_900, 0.9), path(3_950, 0.9));
        let kept = PathChange::Kept { old, new, moved_ns: 50 };
        let rare = PathChange::Appeared { new: path(9_000, 0.001) };
        let steps = vec![StepMove { step: Step::Switch, old_ns: 1_850, new_ns: 3_050 }];
        let both = text(&PathsCompared { changes: vec![kept, rare], steps }, 100);
        assert!(both.contains("kept") && both.contains("+50") && both.contains("appeared (rare)"), "{both}");
        assert!(
            both.contains("No path that 1 %") && both.contains("step to the switch is 1200 ns longer"),
            "{both}"
        );
        let moved = text(&PathsCompared { changes: vec![kept], steps: Vec::new() }, 20);
        assert!(moved.contains("moved") && moved.contains("1 path"), "{moved}");
    }
}
