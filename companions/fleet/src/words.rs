//! The words of a fleet: the answer in three lines, and tables.

use std::collections::BTreeSet;

use jitterlab_analysis::purposes::Measure;
use jitterlab_analysis::summary::{P50, P99, P99_9, P99_99};
use jitterlab_analysis::verdict::DecidingFigure;
use jitterlab_model::Fitness;
use jitterlab_model::causes::{Cause, CauseClass};
use jitterlab_report::chart::{Axis, Cells, Chart, Layer, Shape};
use jitterlab_report::conclusion::{Conclusion, file_argument, joint_verdict, verdict_word};
use jitterlab_report::document::Present;
use jitterlab_report::purpose::{decision_sentence, measure_cell, measure_name};
use jitterlab_report::section::{Cell, Piece, Section};
use jitterlab_report::why;
use jitterlab_report::words::{count, known_count, list_some, plural, sentence, share, signed_percent, time};
use jitterlab_report::{purpose, quantity};

use crate::answer::{ChangeAnswer, Changes, FleetAnswer, LeadingCause, MachineAnswer};
use crate::calendar::day_name;
use crate::folder::LeftOut;
use crate::intake::IntakeResult;
use crate::queries::MonthRow;
use crate::results::{CauseList, DayList, FleetPage, FleetWorst, KernelList, OneMachine};
use crate::statistics::{GroupChange, ShiftShare};
use crate::tables::to_u64;

/// Machines that an answer shows without being asked for all.
const SHOWN: usize = 10;
/// Causes that the query gives at most.
const CAUSES: usize = 100;

impl Present for FleetAnswer {
    const KIND: &'static str = "fleet";

    fn conclusion(&self) -> Option<Conclusion> {
        Some(Conclusion {
            fitness: self.fitness(),
            asked: self.purpose.is_some(),
            verdict: verdict_text(self),
            number: largest_change_text(self),
            next: next_step(self),
        })
    }

    fn sections(&self) -> Vec<Section> {
        vec![machines_section(self, "The worst machines first.", SHOWN)]
    }
}

impl Present for FleetWorst {
    const KIND: &'static str = "fleet-worst";

    fn conclusion(&self) -> Option<Conclusion> {
        self.0.conclusion()
    }

    fn sections(&self) -> Vec<Section> {
        vec![machines_section(&self.0, "All machines, the worst first.", usize::MAX)]
    }
}

impl Present for FleetPage {
    const KIND: &'static str = "fleet-page";

    fn conclusion(&self) -> Option<Conclusion> {
        self.answer.conclusion()
    }

    fn sections(&self) -> Vec<Section> {
        let mut sections = vec![machines_section(&self.answer, "All machines, the worst first.", usize::MAX)];
        if !self.rows.is_empty() {
            let lead = "Which of the worst machines changed, and when?";
            let chart = vec![Piece::Figure(months_chart(self))];
            sections.push(Section::new("fleet-months", "Months", lead, chart));
        }
        sections
    }
}

/// A row for each machine, in it a shaded histogram for each month.
fn months_chart(page: &FleetPage) -> Chart {
    let names: Vec<&str> =
        page.answer.machines.iter().take(FleetPage::SHOWN).map(|of| of.machine.as_str()).collect();
    let row_height = 0.9 / page.months.len().max(1) as f64;
    let total = |row: &MonthRow| {
        let same = page.rows.iter().filter(|of| (&of.machine, of.from_s) == (&row.machine, row.from_s));
        same.map(|of| of.n).sum::<i64>() as f64
    };
    let cell = |row: &MonthRow| {
        let index = names.iter().position(|name| *name == row.machine)?;
        let month = page.months.iter().position(|(_, from_s)| *from_s == row.from_s)?;
        let (low, high) = (10f64.powf(row.step as f64 / 12.0), 10f64.powf((row.step + 1) as f64 / 12.0));
        let of_month = row.n as f64 / total(row);
        // The first machine is at the top, its latest month below the others.
        let y = (names.len() - 1 - index) as f64 + 0.45 - (month as f64 + 0.5) * row_height;
        let words = format!(
            "{}, {}: {} of its latencies from {} to {}",
            row.machine,
            page.months[month].0,
            share(of_month),
            time(low),
            time(high)
        );
        Some((
            [10f64.powf((row.step as f64 + 0.5) / 12.0), y],
            (1.0 + of_month.log10() / 6.0).max(0.0),
            words,
        ))
    };
    let key = [(0.0, "1 in a million"), (0.5, "1 in 1000"), (1.0, "all")];
    let cells = Cells {
        size: [1.0 / 12.0, row_height],
        cells: page.rows.iter().filter_map(cell).collect(),
        labelled: false,
        key: ("share of a month".into(), key.map(|(shade, words)| (shade, words.to_owned())).into()),
    };
    let (first, last) = (page.months.first(), page.months.last());
    let name = |month: Option<&(String, i64)>| month.map_or_else(String::new, |(name, _)| name.clone());
    Chart {
        name: "months".into(),
        caption: format!(
            "Latencies of {}, the worst first. Each has a line a month from {} to {}, the latest below; darker is more of the month.",
            plural(names.len() as u64, "machine"),
            name(first),
            name(last)
        ),
        x: Axis::log("latency").time(),
        y: Axis::names("", names.iter().rev().copied()),
        layers: vec![Layer::new("", 0, Shape::Cells(cells))],
        height: 120 + 40 * names.len() as u32,
    }
}

impl Present for KernelList {
    const KIND: &'static str = "fleet-kernels";

    fn conclusion(&self) -> Option<Conclusion> {
        None
    }

    fn sections(&self) -> Vec<Section> {
        let header = ["", "task", "from kernel", "to kernel", "machines", "p99.9", "from", "to"];
        let rows = self.changes.changes.iter().map(|of| {
            vec![
                Cell::from(name_or_unknown(&of.class)),
                Cell::from(of.task.as_str()),
                Cell::from(name_or_unknown(&of.from)),
                Cell::from(name_or_unknown(&of.to)),
                Cell::Count(of.change.machines as u64),
                Cell::Change(of.change.change),
                Cell::Change(of.change.low),
                Cell::Change(of.change.high),
            ]
        });
        let mut pieces = Vec::new();
        if !self.changes.changes.is_empty() {
            pieces.push(Piece::table(
                "What a change of the kernel did to a class of machines, with its 95 % interval",
                &header,
                rows,
            ));
        }
        pieces.push(Piece::text(change_tests_text(&self.changes)));
        if !self.worse.is_empty() {
            let names: Vec<String> = self
                .worse
                .iter()
                .map(|(machine, by)| format!("{machine} ({})", signed_percent(*by)))
                .collect();
            pieces.push(Piece::text(format!(
                "Worse since their own update than restarts without one explain (at most 5 % of these by chance): {}.",
                list_some(&names)
            )));
        }
        let mut tested = format!("{} of single machines tested", plural(self.updates as u64, "update"));
        if self.untold > 0 {
            tested += &format!(
                "; {} cannot be told: that takes 14 of 28 days on either side, and 20 restarts without an update",
                count(self.untold as u64)
            );
        }
        if self.updates + self.untold > 0 {
            pieces.push(Piece::text(tested + "."));
        }
        vec![Section::new("fleet-kernels", "Changes", "The unit is the machine.", pieces)]
    }
}

impl Present for CauseList {
    const KIND: &'static str = "fleet-causes";

    fn conclusion(&self) -> Option<Conclusion> {
        None
    }

    fn sections(&self) -> Vec<Section> {
        if self.0.is_empty() {
            let none = "No slice holds causes: measure with `jitterlab run --why`.";
            return vec![Section::new("fleet-causes", "Causes", "", vec![Piece::text(none)])];
        }
        let header = ["", "machines", "times", "altogether", "at worst", "proven"];
        let rows = self.0.iter().map(|of| {
            let proven = if of.sum_ns > 0 { of.proven_ns as f64 / of.sum_ns as f64 } else { 0.0 };
            vec![
                Cell::from(cause_text(&of.class, &of.who)),
                Cell::Count(to_u64(of.machines)),
                Cell::Count(to_u64(of.times)),
                Cell::from(time(of.sum_ns as f64)),
                Cell::time(of.max_ns as f64),
                Cell::Share(proven),
            ]
        });
        let mut pieces =
            vec![Piece::table("Causes of late starts on all machines; times in µs", &header, rows)];
        if self.0.len() == CAUSES {
            pieces.push(Piece::note(format!(
                "Only the {CAUSES} largest; `jitterlab fleet sql FOLDER 'SELECT ... FROM causes'` finds others."
            )));
        }
        vec![Section::new("fleet-causes", "Causes", "The largest sums first.", pieces)]
    }
}

impl Present for DayList {
    const KIND: &'static str = "fleet-days";

    fn conclusion(&self) -> Option<Conclusion> {
        None
    }

    fn sections(&self) -> Vec<Section> {
        let header = ["", "machines", "activations", "missed", "p99.9", "p99.99", "max"];
        let rows = self.days.iter().map(|of| {
            vec![
                Cell::from(day_name(of.day_s)),
                Cell::Count(to_u64(of.machines)),
                Cell::Count(to_u64(of.count)),
                Cell::optional(of.missed.map(to_u64), Cell::Count),
                time_cell(of.p999_ns),
                time_cell(of.p9999_ns),
                time_cell(of.max_ns),
            ]
        });
        let mut pieces = vec![
            Piece::table("Latency by day (UTC) in µs", &header, rows),
            Piece::text(
                "A quantile here is that of an activation drawn at random from all machines, and belongs to none of them.",
            ),
        ];
        if self.untold > 0 {
            let untold = plural(self.untold as u64, "machine");
            pieces.push(Piece::text(format!(
                "Whether {untold} changed without an update cannot be told: that takes 14 days since the last one."
            )));
        }
        if self.courses > 0 {
            let changed = self.changed.iter().map(|(machine, since_s, worse)| {
                format!("{machine} {} since {}", if *worse { "worse" } else { "better" }, day_name(*since_s))
            });
            let changed: Vec<String> = changed.collect();
            pieces.push(Piece::text(match changed.is_empty() {
                true => {
                    format!("None of {} changed without an update.", plural(self.courses as u64, "machine"))
                }
                false => format!("Changed without a known cause: {}.", list_some(&changed)),
            }));
        }
        vec![Section::new("fleet-days", "Days", "All machines together.", pieces)]
    }
}

impl Present for OneMachine {
    const KIND: &'static str = "fleet-machine";

    fn conclusion(&self) -> Option<Conclusion> {
        let machine = &self.machine;
        let name = file_argument(&machine.machine);
        let next = match (machine.fitness, &machine.leading) {
            (Fitness::Good | Fitness::Limited, _) => "nothing".to_owned(),
            (Fitness::Unfit, Some(cause)) => leading_cause_text(cause),
            (Fitness::Unfit, None) => "measure it with `jitterlab run --why`".to_owned(),
            (Fitness::CannotTell, _) => "measure it longer".to_owned(),
        };
        let latest = machine.tasks.iter().filter_map(|task| task.max_ns).max();
        let latest = || latest.map(|ns| format!("its latest start was {} late", time(ns as f64)));
        let decides = || {
            let of = machine.decided.as_ref()?;
            Some(decision_sentence(&of.purpose, of.decided_by.as_ref()?, machine.tasks.len()))
        };
        Some(Conclusion {
            fitness: machine.fitness,
            asked: self.purpose.is_some(),
            verdict: format!("{} for {}: {name}.", verdict_word(machine.fitness), purposes_text([machine])),
            number: late_shifts_text(machine)
                .or_else(decides)
                .or_else(latest)
                .map_or_else(String::new, |number| sentence(&number)),
            next,
        })
    }

    fn sections(&self) -> Vec<Section> {
        let machine = &self.machine;
        let facts = [
            ("kernel", machine.kernel.clone()),
            ("hardware", machine.class.clone()),
            ("labels", labels_text(machine)),
            (
                "usual cause of late starts",
                machine.leading.as_ref().map_or_else(String::new, leading_cause_text),
            ),
            ("late shifts", machine.shifts.map_or_else(String::new, shifts_text)),
        ];
        let facts = facts.into_iter().filter(|(_, value)| !value.is_empty());
        let facts = facts.map(|(name, value)| (name.to_owned(), value)).collect();
        let mut pieces = vec![Piece::Facts { caption: String::new(), facts }];
        for summary in &self.summaries {
            let header = ["", "values", "min", "mean", "p50", "p99", "p99.9", "p99.99", "max"];
            let rows = summary.quantities().into_iter().filter(|(_, of)| of.count > 0).map(|(kind, of)| {
                let at = |p| time_cell(of.at(p).exactly());
                vec![
                    Cell::from(quantity::name(kind)),
                    Cell::Count(of.count),
                    time_cell(of.min_ns),
                    Cell::optional(of.mean_ns, Cell::time),
                    at(P50),
                    at(P99),
                    at(P99_9),
                    at(P99_99),
                    time_cell(of.max_ns),
                ]
            });
            let missed = known_count(summary.missed);
            pieces.push(Piece::table(format!("{} in µs, {missed} missed", summary.task), &header, rows));
        }
        vec![Section::new("fleet-machine", &self.machine.machine, "", pieces)]
    }
}

fn time_cell(time: Option<i64>) -> Cell {
    Cell::optional(time, |ns| Cell::time(ns as f64))
}

/// Sentence with the numbers of machines that are fit, not fit, undecided.
fn verdict_text(answer: &FleetAnswer) -> String {
    let worst = answer.fitness();
    let of_worst = answer.machines.iter().filter(|machine| machine.fitness == worst);
    let purpose = answer.purpose.clone().unwrap_or_else(|| purposes_text(of_worst));
    let each: Vec<Fitness> = answer.machines.iter().map(|machine| machine.fitness).collect();
    joint_verdict(worst, Some(&purpose), &each, "machine")
}

/// Sentence about the largest effect of a change on a class of machines.
fn largest_change_text(answer: &FleetAnswer) -> String {
    let Changes { changes, tests, too_few } = &answer.changes;
    let mut shown = changes.iter().filter(|of| of.change.is_shown());
    let Some(first) = shown.next() else {
        return match changes.first() {
            Some(largest) => format!(
                "No change of a kernel made a class of machines slower or faster: at most {} ({}).",
                signed_percent(largest.change.largest()).trim_start_matches('+'),
                plural(*tests as u64, "group")
            ),
            None if *too_few > 0 => {
                "No class has three machines with the same change of the kernel, so none is judged.".into()
            }
            None => {
                format!(
                    "No machine changed its kernel; {} measured.",
                    plural(answer.activations, "activation")
                )
            }
        };
    };
    let others = changes.iter().filter(|of| !std::ptr::eq(*of, first));
    let largest = others.map(|of| of.change.largest()).fold(0.0, f64::max);
    let others = match tests {
        1 => String::new(),
        _ => format!("; no other changed by more than {:.1} %", largest * 100.0),
    };
    format!("{}{others}.", change_sentence(first))
}

fn change_sentence(of: &ChangeAnswer) -> String {
    let GroupChange { machines, change: by, low, high } = of.change;
    let how = if by > 0.0 { "slower" } else { "faster" };
    format!(
        "Kernel {} made {} {how}: p99.9 {:+.1} % ({:+.1} to {:+.1}), {}",
        name_or_unknown(&of.to),
        if of.class.is_empty() { "its machines" } else { &of.class },
        by * 100.0,
        low * 100.0,
        high * 100.0,
        plural(machines as u64, "machine")
    )
}

/// The next command: the machine to look at, and the reason.
fn next_step(answer: &FleetAnswer) -> String {
    let Some(first) = answer.machines.first() else { return "take in more runs".into() };
    if first.fitness != Fitness::Unfit {
        return match answer.machines.iter().find(|machine| machine.fitness == Fitness::CannotTell) {
            Some(open) => {
                format!("measure {} longer: what it serves cannot be told", file_argument(&open.machine))
            }
            None => "nothing; every machine is good or usable".into(),
        };
    }
    let mut why = late_shifts_text(first)
        .or_else(|| deciding_figure_text(first))
        .unwrap_or_else(|| purpose::fitness_word(first.fitness).into());
    if let Some(cause) = &first.leading {
        why += &format!(", {}", leading_cause_text(cause));
    }
    let (folder, name) = (file_argument(&answer.folder), file_argument(&first.machine));
    format!("jitterlab fleet machine {folder} {name} (the worst: {why})")
}

/// The purposes that machines were judged for.
fn purposes_text<'a>(machines: impl IntoIterator<Item = &'a MachineAnswer>) -> String {
    let each = machines.into_iter().filter_map(|machine| Some(machine.decided.as_ref()?.purpose.clone()));
    let names: BTreeSet<String> = each.collect();
    match names.is_empty() {
        true => "any usual purpose".into(),
        false => names.into_iter().collect::<Vec<_>>().join(" or "),
    }
}

/// The shifts with late or missed starts; `None` if there are none.
fn late_shifts_text(machine: &MachineAnswer) -> Option<String> {
    machine.shifts.filter(|of| of.late > 0).map(shifts_text)
}

fn shifts_text(of: ShiftShare) -> String {
    match of.late {
        0 => format!("none of {}: at most {} of them", plural(of.shifts, "shift"), share(of.high)),
        late => format!("late or missed starts in {} of its {}", count(late), plural(of.shifts, "shift")),
    }
}

fn leading_cause_text(of: &LeadingCause) -> String {
    format!("{} of its lateness {}", share(of.share), cause_text(&of.class, &of.who))
}

/// The figure that decides about a machine, with its quantity; `None` if it is undecided.
fn deciding_figure_text(machine: &MachineAnswer) -> Option<String> {
    let DecidingFigure { measured, limit, .. } = machine.decided.as_ref()?.decided_by.as_ref()?;
    Some(match limit.measure {
        Measure::Missed => format!("{} missed", plural(to_u64(*measured), "due time")),
        of => format!("{} {}", measure_name(of), time(*measured as f64)),
    })
}

fn machines_section(answer: &FleetAnswer, lead: &str, most: usize) -> Section {
    let header = ["", "verdict", "decided by", "seen", "usable", "p99.9", "missed", "kernel", "labels"];
    // Without labels it fits into 80 characters.
    let has_labels = answer.machines.iter().any(|machine| !machine.labels.is_empty());
    let columns = header.len() - usize::from(!has_labels);
    let rows = answer.machines.iter().take(most).map(|machine| {
        let largest = |of: fn(&crate::answer::TaskAnswer) -> Option<i64>| {
            time_cell(machine.tasks.iter().filter_map(of).max())
        };
        let decides = machine.decided.as_ref().and_then(|of| of.decided_by.as_ref());
        let missed: Option<u64> = machine.tasks.iter().map(|task| task.missed).sum();
        let mut row = vec![
            Cell::from(machine.machine.as_str()),
            Cell::Verdict { fitness: machine.fitness, text: purpose::fitness_word(machine.fitness).into() },
            Cell::optional(decides.map(|by| measure_name(by.limit.measure)), Cell::from),
            Cell::optional(decides.map(|by| (by.limit.measure, by.measured)), |(of, seen)| {
                measure_cell(of, seen)
            }),
            Cell::optional(decides.map(|by| by.limit), |limit| measure_cell(limit.measure, limit.limited)),
            largest(|task| task.p999_ns),
            Cell::optional(missed, Cell::Count),
            Cell::from(name_or_unknown(&machine.kernel)),
            Cell::optional(Some(labels_text(machine)).filter(|labels| !labels.is_empty()), Cell::Text),
        ];
        row.truncate(columns);
        row
    });
    let mut pieces = vec![Piece::table("Times in µs; p99.9 is of the latency", &header[..columns], rows)];
    let more = answer.machines.len().saturating_sub(most) as u64;
    if more > 0 {
        let folder = file_argument(&answer.folder);
        pieces.push(Piece::text(format!("{} more: jitterlab fleet worst {folder}", count(more))));
    }
    pieces.extend(remark_notes(answer));
    Section::new("fleet", "Machines", lead, pieces)
}

fn remark_notes(answer: &FleetAnswer) -> Vec<Piece> {
    let mut remarks: Vec<String> = answer.left_out.iter().map(|why| format!("Left out: {why}.")).collect();
    for (machine, _, number) in &answer.overlaps.namesakes {
        remarks.push(format!(
            "Two machines, or one whose clock jumped, are called {machine} at the same time: the later one is {machine}~{number} here."
        ));
    }
    for (machine, task) in &answer.overlaps.measured_twice {
        remarks.push(format!(
            "{task} of {machine} was measured twice at the same time: the later measurement counts."
        ));
    }
    if let Some(last_s) = answer.machines.iter().filter_map(|machine| machine.last_s).max() {
        remarks.push(format!("As of {} (UTC), the day of the latest slice.", day_name(last_s)));
    }
    if answer.without_time > 0 {
        remarks
            .push(format!("{} without a time: in sums, not in days.", plural(answer.without_time, "slice")));
    }
    if answer.changes.tests + answer.changes.too_few > 0 {
        remarks.push(change_tests_text(&answer.changes));
    }
    remarks.into_iter().map(Piece::note).collect()
}

fn change_tests_text(changes: &Changes) -> String {
    if changes.tests + changes.too_few == 0 {
        return "No machine was measured with two kernels.".into();
    }
    let compared = format!(
        "{} compared before and after a change of the kernel; of those without an effect one in twenty shows one.",
        plural(changes.tests as u64, "group")
    );
    match changes.too_few {
        0 => compared,
        few => {
            format!("{compared} {} of fewer than three machines cannot be told.", plural(few as u64, "group"))
        }
    }
}

/// Message about slices that were taken in.
pub fn added_text(added: &IntakeResult) -> String {
    let machines = plural(added.machines.len() as u64, "machine");
    let mut said = format!("{} of {machines} taken in", plural(added.slices, "slice"));
    if added.known > 0 {
        said += &format!(", {} were here already", count(added.known));
    }
    if added.without_time > 0 {
        said += &format!(", {} without a time (in sums, not in days)", count(added.without_time));
    }
    said + "."
}

/// Message about the host of all runs that were taken in.
pub fn one_host_text(host: &str, runs: usize) -> String {
    format!(
        "All {} name the machine {host}. If they are of several: jitterlab fleet add, into a new folder, with --machine '{{file}}', which names machines by file.",
        plural(runs as u64, "run")
    )
}

/// Message about a file that was left out.
pub fn left_out_text(file: &LeftOut) -> String {
    let (path, why) = (file.path.display().to_string(), file.why.to_string());
    if why.contains(&path) { format!("left out: {why}") } else { format!("left out: {path}: {why}") }
}

/// Message about the result of a check.
pub fn check_text(whole: u64, bad: usize) -> String {
    format!("{} whole, {} left out.", plural(whole, "file"), count(bad as u64))
}

/// A cause by its class and its name.
fn cause_text(class: &str, who: &str) -> String {
    let class: Option<CauseClass> = serde_json::from_value(serde_json::Value::String(class.into())).ok();
    let who = Some(who.to_owned()).filter(|who| !who.is_empty());
    class.map_or_else(|| "unknown".into(), |class| why::cause_text(&Cause { class, who }))
}

fn labels_text(machine: &MachineAnswer) -> String {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    machine.labels.iter().map(|(name, value)| format!("{name}={}", text(value))).collect::<Vec<_>>().join(" ")
}

fn name_or_unknown(name: &str) -> String {
    if name.is_empty() { "unknown".into() } else { name.into() }
}
