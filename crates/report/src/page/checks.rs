//! What `jitterlab check` says of the machine, as a table.

use jitterlab_model::check::{Check, CheckReport, Remedy, Status};

use super::PageRun;
use super::frame::table;
use super::html::{Html, html};
use crate::check::{how_to_set_parameters, words};
use crate::section::{Piece, Section};
use crate::words::cpus_named;

const HEADER: [&str; 4] = ["result", "check", "found", "remedy"];

/// The checks of a run's machine, as it was before the run.
pub(super) fn of(run: &PageRun) -> Option<Html> {
    let report = run.checks.as_ref()?;
    let heading = format!("{}: checks, {}", run.label, totals(report));
    Some(html!(
        "<details><summary>{heading}</summary>\n{table}</details>\n",
        heading = heading,
        table = table(&heading, &HEADER, &rows(report))
    ))
}

/// The section of a report that `jitterlab check --json` printed.
pub fn section(report: &CheckReport) -> Section {
    let parameters = (!report.kernel_parameters.is_empty()).then(|| Piece::Text {
        text: format!(
            "All kernel parameters in one line: {}. To set them: {}",
            report.kernel_parameters,
            how_to_set_parameters(report.kernel_parameters_place)
        ),
    });
    let rows = rows(report).into_iter().map(Vec::from);
    let table = Piece::table(format!("Checks, {}", totals(report)), &HEADER, rows);
    Section {
        id: "check".into(),
        title: "Check".into(),
        lead: "Whether the machine is set up for real time: what stands in the way, and what puts it right."
            .into(),
        pieces: [table].into_iter().chain(parameters).collect(),
    }
}

fn totals(report: &CheckReport) -> String {
    format!(
        "for real-time tasks on {}: {} failed, {} warned, {} passed, {} not applicable",
        cpus_named(&report.cpus),
        report.count(Status::Fail),
        report.count(Status::Warn),
        report.count(Status::Pass),
        report.count(Status::NotApplicable)
    )
}

/// Faults first, each with why it matters and its remedies; otherwise by topic.
fn rows(report: &CheckReport) -> Vec<[String; 4]> {
    let mut checks: Vec<&Check> = report.checks.iter().collect();
    checks.sort_by_key(|check| check.status);
    let row = |check: &Check| {
        let wrong = matches!(check.status, Status::Fail | Status::Warn);
        let found = words::found(check);
        let found = if wrong { format!("{found}. {}", words::why(check)) } else { found };
        let remedy = |r: &Remedy| format!("{}: {}", words::remedy_kind(r.kind), words::remedy(check, r));
        let remedies: Vec<String> = check.remedies.iter().filter(|_| wrong).map(remedy).collect();
        let (status, title) = (words::status(check.status), words::title(check));
        [status.into(), title.into(), found, remedies.join("; ")]
    };
    checks.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::section::{Cell, Table};
    use jitterlab_model::SystemFacts;
    use jitterlab_model::check::{Action, CommandLinePlace, RemedyKind};

    #[test]
    fn faults_stand_first_with_their_remedies() {
        let check = |id: &str, status, found: &str| Check {
            id: id.into(),
            topic: "power".into(),
            status,
            found: found.into(),
            values: [].into(),
            remedies: vec![Remedy { kind: RemedyKind::Command, action: Action::Exact("do this".into()) }],
        };
        let report = CheckReport {
            machine: SystemFacts::default(),
            cpus: [1u16].into_iter().collect(),
            checks: vec![check("turbo", Status::Pass, "off"), check("turbo", Status::Fail, "on")],
            kernel_parameters: "isolcpus=1".into(),
            kernel_parameters_place: CommandLinePlace::BootLoader,
        };
        let section = section(&report);
        let Piece::Table(Table { rows, caption, .. }) = &section.pieces[0] else { panic!("no table") };
        let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(Cell::written).collect()).collect();
        assert_eq!((rows[0][0].as_str(), rows[0][3].as_str()), ("fail", "now: do this"));
        assert!(rows[0][2].starts_with("on. How far"), "{rows:?}");
        assert_eq!(rows[1], ["pass", "Turbo", "off", ""]);
        assert!(caption.contains("CPU 1: 1 failed, 0 warned, 1 passed"), "{caption}");
        assert!(matches!(&section.pieces[1], Piece::Text { text } if text.contains("isolcpus=1")));
    }
}
