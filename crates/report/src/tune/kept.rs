//! The files that keep what helped over a restart.

use std::path::Path;

use jitterlab_analysis::tune::{Figure, KnobFound, Step, TuneResult};

use super::{change, interval, words};
use crate::printable::printable;

/// What every kept file begins with: files without it are somebody else's.
pub const MARK: &str = "# Written by jitterlab tune --keep; jitterlab tune --revert removes it.";

/// Where files are kept, below the root of the file system: all that there may be.
pub const PLACES: [&str; 5] = [
    "etc/sysctl.d/99-jitterlab.conf",
    "etc/tmpfiles.d/jitterlab.conf",
    "etc/systemd/system/jitterlab-idle-latency.service",
    "etc/systemd/system.conf.d/jitterlab.conf",
    "etc/default/grub.d/jitterlab.cfg",
];

/// The file that keeps a step, and its lines in it; `None` for what belongs to the task.
fn line(step: &Step) -> Option<(&'static str, String)> {
    let [sysctl, tmpfiles, service, manager, grub] = PLACES;
    Some(match step {
        Step::File { file, value } => match file.strip_prefix("/proc/sys/") {
            Some(name) => (sysctl, format!("{} = {value}\n", name.replace('/', "."))),
            None => (tmpfiles, format!("w {file} - - - - {value}\n")),
        },
        Step::Threads { to } => (manager, format!("[Manager]\nCPUAffinity={to}\n")),
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
        Step::Task { .. } => return None,
    })
}

fn gain(found: &KnobFound, result: &TuneResult) -> String {
    let measured = found.effect(Figure::Tail).map_or_else(String::new, |effect| {
        let of = change(Figure::Tail, effect.change);
        format!("; {} {of} ({})", result.tail, interval(effect))
    });
    format!("# {}: {}{measured}\n", found.offered.knob, words::does(found.offered.knob))
}

/// The files with their content, those of [`PLACES`] that something is kept in.
#[must_use]
pub fn files(result: &TuneResult) -> Vec<(&'static str, String)> {
    let of = |place: &'static str| {
        // What a load runs may have several lines, and only the first would be a comment.
        let mut text = format!("{MARK}\n# Measured with {}", printable(&result.task));
        for load in &result.loads {
            text.push_str(&format!(", load {}", printable(load)));
        }
        text.push('\n');
        let mut any = false;
        for found in result.worth() {
            let lines: Vec<String> = found
                .offered
                .steps
                .iter()
                .filter_map(line)
                .filter(|(at, _)| *at == place)
                .map(|(_, l)| l)
                .collect();
            if !lines.is_empty() {
                any = true;
                text.push_str(&gain(found, result));
                text.push_str(&lines.concat());
            }
        }
        any.then_some((place, text))
    };
    PLACES.into_iter().filter_map(of).collect()
}

/// Said where nothing helped.
pub const NOTHING_TO_KEEP: &str = "nothing to keep: no file was written";
/// Said where there is nothing to remove.
pub const NOTHING_KEPT: &str = "nothing was kept there";

/// A file was written.
#[must_use]
pub fn kept(path: &Path, place: &str) -> String {
    format!("kept in {}; it holds after {}", path.display(), then(place))
}

/// A file was removed.
#[must_use]
pub fn removed(path: &Path, place: &str) -> String {
    format!("removed {}; what it set holds until {}", path.display(), until(place))
}

/// What is to be done by hand for a kept file to hold.
fn then(place: &str) -> &'static str {
    match place {
        "etc/sysctl.d/99-jitterlab.conf" => "sysctl --system, or a restart",
        "etc/tmpfiles.d/jitterlab.conf" => "systemd-tmpfiles --create, or a restart",
        "etc/systemd/system/jitterlab-idle-latency.service" => {
            "systemctl enable --now jitterlab-idle-latency"
        }
        "etc/default/grub.d/jitterlab.cfg" => "update-grub and a restart",
        _ => "a restart",
    }
}

/// What ends the effect of a file that was removed.
fn until(place: &str) -> &'static str {
    match place {
        "etc/systemd/system/jitterlab-idle-latency.service" => {
            "systemctl disable --now jitterlab-idle-latency"
        }
        "etc/default/grub.d/jitterlab.cfg" => "update-grub and a restart",
        _ => "a restart",
    }
}
