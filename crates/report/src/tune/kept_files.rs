//! The files that keep helpful settings over a restart.

use std::path::Path;

use jitterlab_analysis::tune::{KnobResult, PersistenceSupport, Step, TuneResult};
use jitterlab_model::CpuSet;

use super::{deciding_figure_name, format_change, format_interval, words};
use crate::printable::printable;
use crate::section::Piece;
use crate::words::capitalize;

/// Begin of every kept file: files without it are not ours.
pub const MARK: &str = "# Written by jitterlab tune --keep";

/// All places of kept files, below the root of the file system; what applies a file there, and what ends its effect when it is
/// removed.
pub const PLACES: [(&str, &str, &str); 9] = [
    ("etc/sysctl.d/99-jitterlab.conf", "sysctl --system, or a restart", RESTART),
    ("etc/tmpfiles.d/jitterlab.conf", "systemd-tmpfiles --create, or a restart", RESTART),
    (
        "etc/systemd/system/jitterlab-idle-latency.service",
        "systemctl enable --now jitterlab-idle-latency",
        "systemctl disable --now jitterlab-idle-latency",
    ),
    ("etc/systemd/system.conf.d/jitterlab.conf", RESTART, RESTART),
    ("etc/default/grub.d/jitterlab.cfg", "update-grub and a restart", "update-grub and a restart"),
    ("etc/udev/rules.d/99-jitterlab.rules", "udevadm trigger -c add -s net, or a restart", RESTART),
    ("etc/systemd/system/system.slice.d/jitterlab.conf", RELOAD, RESTART),
    ("etc/systemd/system/user.slice.d/jitterlab.conf", RELOAD, RESTART),
    ("etc/systemd/system/init.scope.d/jitterlab.conf", RELOAD, RESTART),
];
const RESTART: &str = "a restart";
const RELOAD: &str = "systemctl daemon-reload, or a restart";

/// The files that keep a step, with its lines in them; empty if no file can. That is so for settings of the task or of
/// threads that the kernel starts, and if nothing on this machine reads such a file. Programs are started on
/// `programs`.
fn kept_lines(step: &Step, programs: &CpuSet, keeping: PersistenceSupport) -> Vec<(&'static str, String)> {
    let [sysctl, _, _, _, grub, udev, ..] = PLACES.map(|(place, ..)| place);
    let read = |place: &str| match place {
        place if place == sysctl || place == udev => true,
        place if place == grub => keeping.command_line,
        _ => keeping.systemd,
    };
    file_lines(step, programs).into_iter().filter(|(place, _)| read(place)).collect()
}

fn file_lines(step: &Step, programs: &CpuSet) -> Vec<(&'static str, String)> {
    let [sysctl, tmpfiles, service, manager, grub, udev, groups @ ..] = PLACES.map(|(place, ..)| place);
    vec![match step {
        // Groups are made again at each start.
        Step::File { file, .. } if file.starts_with("/sys/fs/cgroup/") => return Vec::new(),
        Step::File { file, value } => match (file.strip_prefix("/proc/sys/"), network_card_attribute(file)) {
            (Some(name), _) => (sysctl, format!("{} = {value}\n", name.replace('/', "."))),
            (None, Some((card, attribute))) => (
                udev,
                format!(
                    "ACTION==\"add\", SUBSYSTEM==\"net\", KERNEL==\"{card}\", ATTR{{{attribute}}}=\"{value}\"\n"
                ),
            ),
            (None, None) => (tmpfiles, format!("w {file} - - - - {value}\n")),
        },
        Step::Threads { .. } | Step::Siblings { .. } => {
            (manager, format!("[Manager]\nCPUAffinity={programs}\n"))
        }
        Step::Cpuset { to } => {
            let section = |place: &str| if place.contains(".scope.") { "Scope" } else { "Slice" };
            return groups.map(|place| (place, format!("[{}]\nAllowedCPUs={to}\n", section(place)))).into();
        }
        Step::Interrupts { to } => {
            (grub, format!("GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT irqaffinity={to}\"\n"))
        }
        Step::IdleLatency { us } => (
            service,
            format!(
                "[Unit]\nDescription=Processors stay out of idle states\n\n[Service]\nExecStart=/bin/sh -c 'exec \
                 3>/dev/cpu_dma_latency; printf \"%%08x\" {us} >&3; exec sleep infinity'\n\n[Install]\n\
                 WantedBy=multi-user.target\n"
            ),
        ),
        Step::Task { .. } | Step::KernelThreads { .. } => return Vec::new(),
    }]
}

/// The network card and attribute that a file sets; `None` for a file of another kind.
fn network_card_attribute(file: &str) -> Option<(&str, &str)> {
    file.strip_prefix("/sys/class/net/")?.split_once('/')
}

/// CPUs for other programs with all settings worth keeping: systemd adds up the CPUs of its lines.
fn program_cpus(result: &TuneResult) -> CpuSet {
    let steps = result.knobs_worth_keeping().flat_map(|found| &found.offered.steps);
    let to = steps.filter_map(|step| match step {
        Step::Threads { to } | Step::Siblings { to, .. } => Some(to.clone()),
        _ => None,
    });
    to.reduce(|all, to| all.and(&to)).unwrap_or_default()
}

/// Steps by hand: settings worth keeping that no file keeps, and how to start programs with the files.
pub fn manual_steps(result: &TuneResult) -> Vec<String> {
    let kept = |step: &&Step| kept_lines(step, &CpuSet::new(), result.keeping).is_empty();
    let of = |found: &KnobResult| {
        let steps: Vec<&Step> = found.offered.steps.iter().filter(kept).collect();
        let what: Vec<String> = steps.iter().map(|step| words::step_text(step)).collect();
        let how = steps.iter().find_map(|step| manual_step(step, result))?;
        Some(format!("no file keeps {} here ({}): {how}", found.offered.knob, what.join(", ")))
    };
    result.knobs_worth_keeping().filter_map(of).chain(start_command_sentence(result)).collect()
}

/// Describes how to set a step that no file keeps.
fn manual_step(step: &Step, result: &TuneResult) -> Option<String> {
    let cpu = result.cpu.map_or_else(String::new, |cpu| cpu.to_string());
    Some(match step {
        Step::Task { .. } => "set it in the program itself".into(),
        Step::KernelThreads { .. } => "set it after each restart (chrt -p)".into(),
        Step::File { file, .. } if file.starts_with("/sys/fs/cgroup/") => {
            "lift the limit where the group is made (CPUQuota= of its unit, --cpus of its container)".into()
        }
        Step::File { file, value } => format!("at each start: echo {value} > {file}"),
        Step::Interrupts { to } => {
            format!("at each start: for f in /proc/irq/*/smp_affinity_list; do echo {to} > $f; done")
        }
        Step::IdleLatency { .. } => "let the program hold 0 in /dev/cpu_dma_latency while it runs".into(),
        Step::Threads { to } | Step::Siblings { to, .. } | Step::Cpuset { to } => {
            format!("start other programs by taskset -c {to} PROGRAM, and nothing else on CPU {cpu}")
        }
    })
}

/// The files to take along, and how they are kept and taken back.
pub(super) fn kept_files_pieces(result: &TuneResult) -> Vec<Piece> {
    let files = settings_files(result);
    let by_hand = manual_steps(result).into_iter().map(|what| Piece::note(capitalize(&what) + "."));
    let how = (!files.is_empty()).then(|| {
        Piece::text(
            "These files keep it over a restart: the same command with --keep / writes them, jitterlab restore --kept takes \
             them back.",
        )
    });
    let text = |(place, text): (&str, String)| Piece::Verbatim { heading: format!("/{place}"), text };
    let files = (!files.is_empty())
        .then(|| Piece::details("The files that keep it", files.into_iter().map(text).collect()));
    how.into_iter().chain(files).chain(by_hand).collect()
}

/// Describes how to start programs on the processor that the files reserve; `None` if they reserve none.
fn start_command_sentence(result: &TuneResult) -> Option<String> {
    let cpu = result.cpu?;
    let steps: Vec<&Step> = result.knobs_worth_keeping().flat_map(|found| &found.offered.steps).collect();
    if !result.keeping.systemd {
        return None;
    }
    let groups = steps.iter().any(|step| matches!(step, Step::Cpuset { .. }));
    let programs = program_cpus(result);
    if !groups && programs.is_empty() {
        return None;
    }
    let group = if groups { "systemd-run --scope --slice=control " } else { "" };
    let all: CpuSet = programs.iter().chain([cpu]).collect();
    let place = if programs.is_empty() { String::new() } else { format!("taskset -c {all} ") };
    Some(format!(
        "with these files every program starts off CPU {cpu}, the control program and jitterlab too: start those by \
         {group}{place}PROGRAM"
    ))
}

fn gain_comment(found: &KnobResult, result: &TuneResult) -> String {
    let measured = found.effect(result.deciding_figure()).map_or_else(String::new, |effect| {
        format!(
            "# {} {} ({})\n",
            deciding_figure_name(result, result.deciding_figure()),
            format_change(effect.change),
            format_interval(effect)
        )
    });
    format!("# {}: {}\n{measured}", found.offered.knob, words::effect_text(found.offered.knob))
}

/// The files with their content, those of [`PLACES`] that something is kept in.
pub fn settings_files(result: &TuneResult) -> Vec<(&'static str, String)> {
    let programs = program_cpus(result);
    let of = |(place, ..): (&'static str, &str, &str)| {
        // The command of a load may have several lines, and only the first would be a comment.
        let mut text = format!(
            "{MARK}; jitterlab restore --kept removes it.\n# Measured with {}",
            printable(&result.task)
        );
        for load in &result.loads {
            text.push_str(&format!(", load {}", printable(load)));
        }
        text.push('\n');
        let mut any = false;
        for found in result.knobs_worth_keeping() {
            let lines: Vec<String> = found
                .offered
                .steps
                .iter()
                .flat_map(|step| kept_lines(step, &programs, result.keeping))
                .filter(|(at, _)| *at == place)
                .map(|(_, line)| line)
                .collect();
            if !lines.is_empty() {
                any = true;
                text.push_str(&gain_comment(found, result));
                text.push_str(&lines.concat());
            }
        }
        any.then_some((place, text))
    };
    PLACES.into_iter().filter_map(of).collect()
}

/// Message where nothing helped.
pub const NOTHING_TO_KEEP: &str = "nothing to keep: no file was written";
/// Message where there is nothing to remove.
pub const NOTHING_KEPT: &str = "nothing was kept there";

/// Message that a file was written.
pub fn kept_message(path: &Path, place: &str) -> String {
    let applied_by = PLACES.iter().find(|(at, ..)| *at == place).map_or(RESTART, |(_, by, _)| by);
    format!("kept in {}; it holds after {applied_by}", path.display())
}

/// Message that a file was removed.
pub fn removed_message(path: &Path, ended_by: &str) -> String {
    format!("removed {}; what it set holds until {ended_by}", path.display())
}
