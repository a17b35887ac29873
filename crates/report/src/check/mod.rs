//! What `jitterlab check` found, for the terminal: faults first, each with its remedies, then the rest by topic.

use std::fmt::Write as _;

use jitterlab_model::check::{Check, CheckReport, CommandLinePlace, RemedyKind, Status};

use crate::chart::Terminal;
use crate::machine::machine_line;
use crate::words::cpus_named;
use crate::wrap::wrap;

mod clock;
mod entry;
mod interrupts;
mod isolation;
mod kernel;
mod memory;
mod permissions;
mod power;
mod surroundings;
pub mod words;

/// The width to fill.
const COLUMNS: usize = 80;
/// Where the text of a fault begins.
const INDENT: usize = 6;
/// Room for the kind of a remedy.
const KIND: usize = 17;

/// The whole report.
pub fn text(report: &CheckReport, terminal: Terminal) -> String {
    let colours = terminal.colour;
    let mut text = wrap(&machine_line(&report.machine));
    let _ = writeln!(text, "checked for real-time tasks on {}", cpus_named(&report.cpus));
    for wanted in [Status::Fail, Status::Warn] {
        for check in report.checks.iter().filter(|check| check.status == wanted) {
            text.push('\n');
            text.push_str(&fault(check, colours));
        }
    }
    text.push_str(&in_order(report, colours));
    text.push('\n');
    text.push_str(&totals(report, colours));
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
    for remedy in &check.remedies {
        let _ = write!(text, "{:INDENT$}{:KIND$}", "", words::remedy_kind(remedy.kind));
        let continuation = match remedy.kind {
            RemedyKind::Command => " \\",
            _ => "",
        };
        let body = command(&words::remedy(check, remedy), INDENT + KIND, INDENT + KIND, continuation);
        text.push_str(body.trim_start());
    }
    text
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

fn totals(report: &CheckReport, colours: bool) -> String {
    let (failed, warned) = (report.count(Status::Fail), report.count(Status::Warn));
    let (passed, other) = (report.count(Status::Pass), report.count(Status::NotApplicable));
    let verdict = match (failed, warned) {
        (0, 0) => coloured(Status::Pass, "set up for real time", colours),
        (0, _) => coloured(Status::Warn, "usable for real time, with the reservations above", colours),
        (1.., _) => coloured(Status::Fail, "not set up for real time", colours),
    };
    format!("{verdict}: {failed} fail, {warned} warn, {passed} pass, {other} not applicable\n")
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
        if n > 0 && width + 1 + length + continuation.len() > COLUMNS {
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
    use jitterlab_model::check::{Action, Remedy};
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
        assert!(at("Preemption model") < at("Clocksource") && at("Clocksource") < at("Turbo: off"));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(
            text.contains("not set up for real time: 1 fail, 1 warn, 1 pass, 0 not applicable"),
            "{text}"
        );
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
