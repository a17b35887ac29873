//! Words of the monitor.

pub mod metrics;
mod status;

use std::net::SocketAddr;
use std::path::Path;

use jitterlab_fleet::intake::IntakeResult;
use jitterlab_model::causes::Cause;
use jitterlab_report::words::{list, plural, time};

use crate::alarms::{AlarmState, Notice, other_causes};
use crate::service_unit::{SERVICE, ServiceChange};

/// Name of a cause's class in labels and fields.
pub fn class_id(cause: Option<&Cause>) -> String {
    let id = cause.and_then(|cause| serde_json::to_value(cause.class).ok());
    id.and_then(|id| id.as_str().map(ToOwned::to_owned)).unwrap_or_else(|| "unknown".into())
}

/// A cause within a sentence.
pub(crate) fn cause_text(cause: Option<&Cause>) -> String {
    match cause {
        None => "cause unknown".into(),
        Some(cause) if *cause == other_causes() => "other causes".into(),
        Some(cause) => jitterlab_report::why::cause_text(cause),
    }
}

/// An alarm as a sentence.
pub fn alarm_sentence(notice: &Notice) -> String {
    let Notice { task, purpose, times, missed, late_ns, limit_ns, .. } = notice;
    let why = cause_text(notice.cause.as_ref());
    let late = match (*missed, *limit_ns) {
        (missed, 0) => format!("missed {}; {purpose}: none may be missed", plural(missed, "due time")),
        _ => format!("{} late; {purpose}: usable up to {}", time(*late_ns as f64), time(*limit_ns as f64)),
    };
    match notice.state {
        AlarmState::Raised => format!("{task}: {late} ({why})"),
        AlarmState::GoesOn => format!("{task}: {late}, {} ({why})", plural(*times, "start")),
        AlarmState::Cleared => {
            format!("{task}: no such start for an hour, after {} ({why}), {late}", plural(*times, "start"))
        }
        AlarmState::Displaced => format!(
            "{task}: alarms of later starts leave no room for that of {} ({why}), {late}",
            plural(*times, "start")
        ),
    }
}

/// Message at the start of a monitor.
pub fn start_text(tasks: &[String], folder: &Path, listening: Option<SocketAddr>) -> String {
    let at = listening.map_or_else(String::new, |address| format!(", metrics at http://{address}/metrics"));
    format!("watching {} into {}{at}; Ctrl-C ends", list(tasks), folder.display())
}

/// Message about a file that was removed for want of room.
pub fn removed_file_text(path: &Path) -> String {
    format!("{} was removed: the monitor's share of the disk (--keep) is used", path.display())
}

/// Message about a command of an alarm that was not started.
pub fn skipped_command_text(command: &str) -> String {
    format!("the alarm's command {command:?} was not started: eight of them still run")
}

/// Message about a change of `/dev/cpu_dma_latency` by another process.
pub fn dma_latency_text(now: Option<u64>, holders: &[String]) -> String {
    let by = if holders.is_empty() { String::new() } else { format!(", held by {}", list(holders)) };
    match now {
        Some(us) => format!("/dev/cpu_dma_latency is now {us} µs{by}: starts before and after are not alike"),
        None => "/dev/cpu_dma_latency cannot be read any more".into(),
    }
}

/// Message about slices copied to a stick.
pub fn packed_text(packed: &IntakeResult) -> String {
    let added = jitterlab_fleet::words::added_text(packed);
    format!(
        "{added}\nThe stick may be removed once it is unmounted. Next: jitterlab fleet add FOLDER STICK, where the fleet is.\n"
    )
}

/// Message about a service installed or removed.
pub fn service_change_text(done: &ServiceChange, is_installed: bool) -> String {
    let files: String = done.files.iter().map(|file| format!("{}\n", file.display())).collect();
    match (is_installed, done.systemd_reloaded) {
        (true, true) => {
            format!("{files}{SERVICE} runs and begins with the machine. Next: jitterlab monitor status\n")
        }
        (true, false) => format!("{files}systemd does not run here: {SERVICE} begins where it does.\n"),
        (false, _) => format!("{files}removed; what was measured stays in /var/lib/jitterlab-monitor.\n"),
    }
}
