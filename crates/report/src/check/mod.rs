//! Words for the result of `jitterlab check`: the most expensive findings first, then all checks and
//! remedies, folded.

use jitterlab_model::Fitness;
use jitterlab_model::check::{Check, CheckReport, CommandLinePlace, Remedy, RemedyKind, Status};

use crate::conclusion::Conclusion;
use crate::document::Present;
use crate::machine::machine_line;
use crate::section::{Cell, Piece, Section, Table};
use crate::words::{count, cpus_text, plural, time};
use crate::wrap::break_lines;

pub mod script;
pub mod words;

/// Settings to look at first.
const MAX_FIRST_FAULTS: usize = 4;
/// The kinds of remedies that are easiest to follow, the easiest first.
const EASIEST_REMEDIES: [RemedyKind; 4] =
    [RemedyKind::KernelParameter, RemedyKind::Option, RemedyKind::Command, RemedyKind::Lasting];
/// Columns of a command that is to be copied.
const COMMAND_COLUMNS: usize = 72;

impl Present for CheckReport {
    const KIND: &'static str = "check";

    fn conclusion(&self) -> Option<Conclusion> {
        Some(check_conclusion(self))
    }

    fn sections(&self) -> Vec<Section> {
        let first = first_faults_table(self).map(Piece::Table);
        vec![Section::new(
            "check",
            "Check",
            "How the machine is set up for real time: what is in the way, and what puts it right.",
            first
                .into_iter()
                .chain([Piece::details(
                    "All checks with their reasons, and all remedies",
                    detail_pieces(self),
                )])
                .collect(),
        )]
    }
}

/// Conclusion: the settings in the way and the first of them; it never tells how regular the machine is.
fn check_conclusion(report: &CheckReport) -> Conclusion {
    let (failed, warned) = (report.count(Status::Fail), report.count(Status::Warn));
    let tasks = format!("for real-time tasks on {}", cpus_text(&report.cpus));
    let others = match warned {
        0 => String::new(),
        _ => format!("; {} to consider", count(warned as u64)),
    };
    let verdict = match failed {
        0 => format!("No setting stands in the way {tasks}{others}."),
        _ => format!("{} in the way {tasks}{others}.", fault_count_text(failed)),
    };
    let number = match report.faults().first() {
        Some(worst) if worst.status == Status::Fail => {
            format!("First: {}: {}{}.", words::title(worst), words::finding(worst), cost_text(worst))
        }
        _ => format!("{} checks passed, none failed.", report.count(Status::Pass)),
    };
    let first = match (failed, script::fix_script(report).is_some()) {
        (0, _) => "",
        (_, true) => "jitterlab check --script > fix.sh, read it, sudo bash fix.sh, then ",
        (_, false) => "what is below, then ",
    };
    let next = format!("{first}sudo jitterlab run --why, which measures how much it costs");
    Conclusion { fitness: Fitness::CannotTell, asked: false, verdict, number, next }
}

fn fault_count_text(number: usize) -> String {
    let verb = if number == 1 { "stands" } else { "stand" };
    format!("{} {verb}", plural(number as u64, "setting"))
}

/// The longest delay that it caused here, in brackets; empty if unknown.
fn cost_text(check: &Check) -> String {
    check.longest_delay_ns().map_or_else(String::new, |ns| format!(" (up to {} late)", time(ns as f64)))
}

/// The settings to look at first: those in the way, then those that cost most here.
fn first_faults(report: &CheckReport) -> Vec<&Check> {
    let mut faults = report.faults();
    faults.truncate(MAX_FIRST_FAULTS);
    faults
}

fn first_faults_table(report: &CheckReport) -> Option<Table> {
    let before = |text: String, mark: &str| text.split(mark).next().unwrap_or_default().to_owned();
    let row = |check: &&Check| {
        let remedy = |kind: &RemedyKind| check.remedies.iter().find(|remedy| remedy.kind == *kind);
        let chosen = EASIEST_REMEDIES.iter().find_map(remedy).or(check.remedies.first());
        let done = chosen.map(|remedy| match remedy.kind {
            RemedyKind::Command | RemedyKind::Lasting | RemedyKind::Machine => {
                words::remedy_text(check, remedy)
            }
            kind => format!("{}: {}", words::remedy_kind_text(kind), words::remedy_text(check, remedy)),
        });
        vec![
            status_cell(check.status),
            before(words::title(check).into(), " (").into(),
            (before(words::finding(check), ": ") + &cost_text(check)).into(),
            Cell::optional(done, |done| before(done, " (").into()),
        ]
    };
    let faults = first_faults(report);
    (!faults.is_empty()).then(|| Table::new("", &["", "setting", "found", "do"], faults.iter().map(row)))
}

/// Every check, and every remedy in a form to be copied.
pub(crate) fn detail_pieces(report: &CheckReport) -> Vec<Piece> {
    let mut pieces = vec![Piece::text(machine_line(&report.machine)), Piece::Table(checks_table(report))];
    pieces.extend(commands_piece(report));
    if !report.kernel_parameters.is_empty() {
        let facts = [
            ("all of them", report.kernel_parameters.as_str()),
            ("to set them", how_to_set_parameters(report.kernel_parameters_place)),
        ];
        pieces.push(Piece::facts("Kernel parameters, for the next start:", facts));
    }
    pieces
}

/// Every check with its reason and its remedies, the faults first.
fn checks_table(report: &CheckReport) -> Table {
    let mut checks: Vec<&Check> = report.checks.iter().collect();
    checks.sort_by_key(|check| check.status);
    let row = |check: &Check| {
        let found = words::finding(check);
        let (found, remedies) = match is_fault(check) {
            true => (format!("{found}. {}", words::reason(check)), check.remedies.as_slice()),
            false => (found, [].as_slice()),
        };
        let remedy =
            |r: &Remedy| format!("{}: {}", words::remedy_kind_text(r.kind), words::remedy_text(check, r));
        let remedies: Vec<String> = remedies.iter().filter(|of| !is_command(of)).map(remedy).collect();
        vec![status_cell(check.status), words::title(check).into(), found.into(), remedies.join("; ").into()]
    };
    let [failed, warned, passed, other] =
        [Status::Fail, Status::Warn, Status::Pass, Status::NotApplicable].map(|status| report.count(status));
    let caption = format!(
        "All checks for real-time tasks on {}: {failed} failed, {warned} warned, {passed} passed, {other} not applicable",
        cpus_text(&report.cpus),
    );
    Table::new(caption, &["", "setting", "found", "to do"], checks.into_iter().map(row))
}

/// Commands that put faults right until the next start, to be copied; `None` if there are none.
fn commands_piece(report: &CheckReport) -> Option<Piece> {
    let of_check = |check: &&Check| {
        let commands = check.remedies.iter().filter(|of| is_command(of));
        let lines: String = commands.map(|remedy| wrap_command(&words::remedy_text(check, remedy))).collect();
        (!lines.is_empty()).then(|| format!("# {}\n{lines}", words::title(check)))
    };
    let text: String = report.faults().iter().filter_map(of_check).collect();
    let heading = "Commands that put it right until the next start, as root:".into();
    (!text.is_empty()).then_some(Piece::Verbatim { heading, text })
}

fn is_fault(check: &Check) -> bool {
    matches!(check.status, Status::Fail | Status::Warn)
}

fn is_command(remedy: &Remedy) -> bool {
    remedy.kind == RemedyKind::Command
}

fn status_cell(status: Status) -> Cell {
    let text = words::status_text(status).to_owned();
    match status {
        Status::Fail => Cell::Verdict { fitness: Fitness::Unfit, text },
        Status::Warn => Cell::Verdict { fitness: Fitness::Limited, text },
        Status::Pass => Cell::Verdict { fitness: Fitness::Good, text },
        Status::NotApplicable => Cell::Text(text),
    }
}

/// A command in short lines that a shell takes as one.
fn wrap_command(command: &str) -> String {
    break_lines(command, COMMAND_COLUMNS).join(" \\\n    ") + "\n"
}

/// Describes how to set kernel parameters.
pub(crate) fn how_to_set_parameters(place: CommandLinePlace) -> &'static str {
    match place {
        CommandLinePlace::CmdlineTxt => {
            "append them to the one line of /boot/firmware/cmdline.txt, then restart"
        }
        CommandLinePlace::Grubby => "grubby --update-kernel=ALL --args='THE PARAMETERS', then restart",
        CommandLinePlace::UpdateGrub => {
            "add them to GRUB_CMDLINE_LINUX in /etc/default/grub, run update-grub, then restart"
        }
        CommandLinePlace::GrubMkconfig => {
            "add them to GRUB_CMDLINE_LINUX in /etc/default/grub, run grub-mkconfig -o /boot/grub/grub.cfg, then restart"
        }
        _ => "add them to the kernel's command line in the boot loader, then restart",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_model::SystemFacts;
    use jitterlab_model::check::Action;
    use std::collections::BTreeMap;

    use crate::chart::Terminal;
    use crate::document::terminal_text;
    use crate::terminal::Extent;

    fn check(id: &str, status: Status, found: &str, remedies: &[(RemedyKind, &str)]) -> Check {
        let remedy =
            |(kind, text): &(RemedyKind, &str)| Remedy { kind: *kind, action: Action::Exact((*text).into()) };
        Check {
            id: id.into(),
            topic: "kernel".into(),
            status,
            found: found.into(),
            values: BTreeMap::new(),
            remedies: remedies.iter().map(remedy).collect(),
        }
    }

    /// A machine with two faults.
    fn report() -> CheckReport {
        let interrupts =
            "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo 0-1 > /proc/irq/$i/smp_affinity_list; done";
        let checks = vec![
            check("turbo", Status::Pass, "off", &[]),
            check(
                "irqbalance",
                Status::Warn,
                "runs",
                &[(RemedyKind::Command, interrupts), (RemedyKind::Lasting, "systemctl disable irqbalance")],
            ),
            check("preemption", Status::Fail, "none", &[(RemedyKind::KernelParameter, "preempt=full")]),
            check("smi", Status::NotApplicable, "not-counted", &[]),
        ];
        CheckReport {
            machine: SystemFacts::default(),
            cpus: "2-3".parse().unwrap(),
            checks,
            kernel_parameters: "preempt=full".into(),
            kernel_parameters_place: CommandLinePlace::BootLoader,
        }
    }

    fn shown(columns: usize, extent: Extent) -> String {
        terminal_text(&report(), extent, Terminal { columns, ascii: false, colour: false })
    }

    #[test]
    fn the_worst_setting_comes_first() {
        insta::assert_snapshot!(shown(80, Extent::Answer));
        insta::assert_snapshot!(shown(40, Extent::Answer));
        insta::assert_snapshot!(shown(80, Extent::Details));
        insta::assert_snapshot!(shown(120, Extent::Details));
    }

    #[test]
    fn a_shell_reads_a_broken_command_as_it_was() {
        let text = shown(80, Extent::Details).replace(" \\\n", "");
        let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(joined.contains("11 12; do echo 0-1 > /proc/irq/$i/smp_affinity_list; done"), "{text}");
    }
}
