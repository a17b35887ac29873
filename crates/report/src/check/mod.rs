//! What `jitterlab check` found, for the terminal: faults first, each with its remedies, then the rest by topic.

use std::fmt::Write as _;

use jitterlab_model::Fitness;
use jitterlab_model::check::{Check, CheckReport, CommandLinePlace, Remedy, RemedyKind, Status};

use crate::chart::Terminal;
use crate::head::Head;
use crate::machine::machine_line;
use crate::words::{count, cpus_named, plural};
use crate::wrap::{columns, wrap};

mod clock;
mod entry;
mod interrupts;
mod isolation;
mod kernel;
mod memory;
mod permissions;
mod power;
pub mod script;
mod surroundings;
pub mod words;

/// Where the text of a fault begins.
const INDENT: usize = 6;
/// Room for the kind of a remedy.
const KIND: usize = 17;

/// How many faults are named in the answer: what to do first.
const FIRST: usize = 3;

/// The three lines.
pub(crate) fn head(report: &CheckReport) -> Head {
    let (failed, warned) = (report.count(Status::Fail), report.count(Status::Warn));
    let fitness = report.fitness();
    let faults = report.faults();
    let number = faults.first().map_or_else(
        || format!("{} checks passed, none found fault.", report.count(Status::Pass)),
        |worst| format!("First of all: {}: {}.", words::title(worst), words::found(worst)),
    );
    let can_be_undone = script::of(report).is_some();
    let next = match fitness {
        Fitness::Good => "jitterlab run (measure it)",
        _ if can_be_undone => {
            "jitterlab check --script > fix.sh, read it, sudo bash fix.sh, then jitterlab run"
        }
        _ => "what stands below, then jitterlab run",
    };
    Head {
        fitness,
        asked: true,
        verdict: format!(
            "{} for real-time tasks on {}: {} in the way, {}.",
            crate::head::word(fitness),
            cpus_named(&report.cpus),
            plural(failed as u64, "fault"),
            plural(warned as u64, "warning")
        ),
        number,
        next: next.into(),
    }
}

/// What to do first, and the way to the rest.
pub(crate) fn answer(report: &CheckReport) -> String {
    let mut text = String::new();
    for (number, check) in first(report).into_iter().enumerate() {
        let _ = write!(text, "{}. ", number + 1);
        let found = format!("{}: {}", words::title(check), words::found(check));
        text.push_str(paragraph(&found, 3, 3).trim_start());
        let remedy = |kind| check.remedies.iter().find(|remedy| remedy.kind == kind);
        let usual = [RemedyKind::Command, RemedyKind::Lasting, RemedyKind::KernelParameter];
        let chosen = usual.into_iter().find_map(remedy).or(check.remedies.first());
        text.push_str(&chosen.map_or_else(String::new, |remedy| done(check, remedy, 3)));
    }
    let more = report.faults().len().saturating_sub(FIRST);
    if !report.kernel_parameters.is_empty() {
        text.push_str(&paragraph(&format!("At the next start: {}", report.kernel_parameters), 0, 3));
    }
    let more = if more > 0 {
        format!("{} more, reasons and all remedies", count(more as u64))
    } else {
        "Everything".into()
    };
    text + &format!("{more}: jitterlab check --details\n")
}

/// The faults to name first. A kernel that is to be replaced need not be set.
fn first(report: &CheckReport) -> Vec<&Check> {
    let faults = report.faults();
    let replaced = faults.iter().any(|check| check.id == "preempt-rt");
    faults.into_iter().filter(|check| !(replaced && check.id == "preemption")).take(FIRST).collect()
}

/// The whole report.
pub fn text(report: &CheckReport, terminal: Terminal) -> String {
    let colours = terminal.colour;
    let mut text = wrap(&machine_line(&report.machine));
    let _ = writeln!(text, "checked for real-time tasks on {}", cpus_named(&report.cpus));
    for check in report.faults() {
        text.push('\n');
        text.push_str(&fault(check, colours));
    }
    text.push_str(&in_order(report, colours));
    text.push('\n');
    text.push_str(&totals(report));
    if !report.kernel_parameters.is_empty() {
        text.push_str("\nall kernel parameters from above in one line:\n");
        text.push_str(&command(&report.kernel_parameters, 2, 2, ""));
        text.push_str(&paragraph(
            &format!("to set them: {}", how_to_set_parameters(report.kernel_parameters_place)),
            2,
            2,
        ));
    }
    text
}

/// How kernel parameters are set.
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

fn coloured(status: Status, word: &str, colours: bool) -> String {
    let code = match status {
        Status::Fail => "31;1",
        Status::Warn => "33",
        Status::Pass => "32",
        Status::NotApplicable => "2",
    };
    if colours { format!("\x1b[{code}m{word}\x1b[0m") } else { word.into() }
}

/// A check that found fault: what, why it matters, what to do.
fn fault(check: &Check, colours: bool) -> String {
    let word = coloured(check.status, words::status(check.status), colours);
    let mut text = format!("{word}  {}\n", words::title(check));
    text.push_str(&paragraph(&words::found(check), INDENT, INDENT));
    text.push_str(&paragraph(words::why(check), INDENT, INDENT));
    text.extend(check.remedies.iter().map(|remedy| done(check, remedy, INDENT)));
    text
}

/// What to do, behind its kind.
fn done(check: &Check, remedy: &Remedy, indent: usize) -> String {
    let continuation = if remedy.kind == RemedyKind::Command { " \\" } else { "" };
    let at = indent + KIND;
    let body = command(&words::remedy(check, remedy), at, at, continuation);
    format!("{:indent$}{:KIND$}{}", "", words::remedy_kind(remedy.kind), body.trim_start())
}

/// Those that passed or do not apply, one line each where it fits, by topic.
fn in_order(report: &CheckReport, colours: bool) -> String {
    let mut text = String::new();
    for group in report.checks.chunk_by(|a, b| a.topic == b.topic) {
        let fine = || group.iter().filter(|c| matches!(c.status, Status::Pass | Status::NotApplicable));
        if let Some(first) = fine().next() {
            let _ = writeln!(text, "\n{}", first.topic);
        }
        for check in fine() {
            let word = coloured(check.status, &format!("{:4}", words::status(check.status)), colours);
            let body = paragraph(&format!("{}: {}", words::title(check), words::found(check)), 8, 8);
            let _ = write!(text, "  {word}  {}", body.trim_start());
        }
    }
    text
}

fn totals(report: &CheckReport) -> String {
    let [failed, warned, passed, other] =
        [Status::Fail, Status::Warn, Status::Pass, Status::NotApplicable].map(|status| report.count(status));
    format!("{failed} fail, {warned} warn, {passed} pass, {other} not applicable\n")
}

/// Text broken between words, its first line indented by `first` and the others by `rest`.
pub(crate) fn paragraph(text: &str, first: usize, rest: usize) -> String {
    command(text, first, rest, "")
}

/// As [`paragraph`], each broken line ending in `continuation`, so that a shell still takes it as one.
fn command(text: &str, first: usize, rest: usize, continuation: &str) -> String {
    let mut out = " ".repeat(first);
    let mut width = first;
    for (n, word) in text.split(' ').enumerate() {
        let length = word.chars().count();
        if n > 0 && width + 1 + length + continuation.len() > columns() {
            let _ = write!(out, "{continuation}\n{:rest$}", "");
            width = rest;
        } else if n > 0 {
            out.push(' ');
            width += 1;
        }
        out.push_str(word);
        width += length;
    }
    out + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_model::SystemFacts;
    use jitterlab_model::check::Action;
    use std::collections::BTreeMap;

    const TERMINAL: Terminal = Terminal { columns: 80, ascii: false, colour: false };

    fn check(id: &str, status: Status, found: &str, remedies: &[(RemedyKind, &str)]) -> Check {
        Check {
            id: id.into(),
            topic: "kernel".into(),
            status,
            found: found.into(),
            values: BTreeMap::new(),
            remedies: remedies
                .iter()
                .map(|(kind, text)| Remedy { kind: *kind, action: Action::Exact((*text).into()) })
                .collect(),
        }
    }

    fn report(checks: Vec<Check>) -> CheckReport {
        CheckReport {
            machine: SystemFacts::default(),
            cpus: "2-3".parse().unwrap(),
            checks,
            kernel_parameters: "nohz_full=2-3".into(),
            kernel_parameters_place: CommandLinePlace::BootLoader,
        }
    }

    #[test]
    fn failures_come_first_and_everything_fits_80_columns() {
        let long = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo 0-1 > /proc/irq/$i/smp_affinity_list; done";
        let text = text(
            &report(vec![
                check("turbo", Status::Pass, "off", &[]),
                check("clocksource", Status::Warn, "slow", &[(RemedyKind::Command, long)]),
                check(
                    "preemption",
                    Status::Fail,
                    "voluntary",
                    &[(RemedyKind::KernelParameter, "preempt=full")],
                ),
            ]),
            TERMINAL,
        );
        let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part} in {text}"));
        assert!(at("Preemption model") < at("Turbo: off") && at("Clocksource") < at("Turbo: off"));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("\n1 fail, 1 warn, 1 pass, 0 not applicable"), "{text}");
        assert!(!text.contains('\x1b'));
        // A shell reads the broken command as it was.
        let joined = text.replace(" \\\n", " ").split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(joined.contains(long), "{text}");
    }

    #[test]
    fn colours_are_for_terminals() {
        let text = text(
            &report(vec![check("preemption", Status::Fail, "none", &[])]),
            Terminal { colour: true, ..TERMINAL },
        );
        assert!(text.contains("\x1b[31;1mfail\x1b[0m"));
    }
}
