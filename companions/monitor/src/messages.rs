//! Delivery of alarms and troubles: to the journal of systemd, and to commands.

use std::io::Write as _;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use jitterlab_console::output;
use jitterlab_model::Error;

use crate::alarms::{AlarmState, Alarms, Breach, Notice};
use crate::clock::Clock;
use crate::words;

/// Socket of systemd's journal.
const JOURNAL: &str = "/run/systemd/journal/socket";
/// Id of alarms in the journal: `journalctl MESSAGE_ID=...`.
const ALARM_ID: &str = "3c5ad7e0f1624b0f9f6f1c7d0a7c41e2";
/// Id of the monitor's own troubles in the journal.
const TROUBLE_ID: &str = "b8f0b7c55c0e4f4ab1e4f8de2d6a9d13";
/// Time after which a command is killed.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(30);
/// Commands at most that run at a time.
const MAX_COMMANDS: usize = 8;

/// Event that is delivered to the journal and to commands.
#[derive(Debug)]
pub enum Message {
    /// A start above a limit.
    Breach(Breach),
    /// Something that the monitor itself cannot do.
    Trouble(String),
    /// A file that was given up for want of room.
    GivenUp(PathBuf),
}

/// Receivers of alarms besides the journal.
#[derive(Debug, Clone, Default)]
pub struct Listeners {
    /// Shell commands that get each alarm as JSON on standard input.
    pub commands: Vec<String>,
}

/// Delivers messages until all senders are gone.
pub fn deliver_messages(
    received: &Receiver<Message>,
    clock: &Arc<dyn Clock>,
    machine: &str,
    listeners: &Listeners,
) {
    let mut alarms = Alarms::new(machine);
    let running = Arc::new(());
    loop {
        let message = received.recv_timeout(Duration::from_secs(1));
        let now_ns = clock.now().boot_ns;
        let mut notices = alarms.clear_ended(now_ns);
        match message {
            Ok(Message::Breach(breach)) => notices.extend(alarms.add_breach(&breach, now_ns)),
            Ok(Message::Trouble(what)) => log_trouble(&what),
            Ok(Message::GivenUp(path)) => log_trouble(&words::removed_file_text(&path)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return wait_for_commands(&running),
        }
        for mut notice in notices {
            notice.message = words::alarm_sentence(&notice);
            log_alarm(&notice);
            for command in &listeners.commands {
                start_command(command, &notice, &running);
            }
        }
    }
}

/// Waits until no command runs, for [`COMMAND_TIMEOUT`] at most.
fn wait_for_commands(running: &Arc<()>) {
    let begun = Instant::now();
    while Arc::strong_count(running) > 1 && begun.elapsed() < COMMAND_TIMEOUT {
        thread::sleep(Duration::from_millis(20));
    }
}

fn log_alarm(notice: &Notice) {
    let priority =
        if matches!(notice.state, AlarmState::Cleared | AlarmState::Displaced) { "5" } else { "4" };
    let cause = words::class_id(notice.cause.as_ref());
    let who = notice.cause.as_ref().and_then(|cause| cause.who.as_deref()).unwrap_or_default();
    let (late, limit) = (notice.late_ns.to_string(), notice.limit_ns.to_string());
    send_to_journal(&[
        ("MESSAGE", &notice.message),
        ("MESSAGE_ID", ALARM_ID),
        ("PRIORITY", priority),
        ("JITTERLAB_TASK", &notice.task),
        ("JITTERLAB_CAUSE", &cause),
        ("JITTERLAB_WHO", who),
        ("JITTERLAB_PURPOSE", &notice.purpose),
        ("JITTERLAB_LATE_NS", &late),
        ("JITTERLAB_LIMIT_NS", &limit),
    ]);
}

/// Logs a failure of the monitor itself.
pub fn log_trouble(what: &str) {
    send_to_journal(&[("MESSAGE", what), ("MESSAGE_ID", TROUBLE_ID), ("PRIORITY", "3")]);
}

/// Sends fields to the journal; where there is none, the message goes to standard error.
fn send_to_journal(fields: &[(&str, &str)]) {
    let sent = UnixDatagram::unbound().and_then(|socket| socket.send_to(&journal_bytes(fields), JOURNAL));
    if sent.is_err() {
        let message = fields.iter().find(|(name, _)| *name == "MESSAGE");
        message.iter().for_each(|(_, message)| output::print_note(message));
    }
}

/// Fields in the journal's format: values of several lines behind their length.
fn journal_bytes(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, value) in fields.iter().chain(&[("SYSLOG_IDENTIFIER", "jitterlab-monitor")]) {
        bytes.extend(name.as_bytes());
        if value.contains('\n') {
            bytes.push(b'\n');
            bytes.extend((value.len() as u64).to_le_bytes());
        } else {
            bytes.push(b'=');
        }
        bytes.extend(value.as_bytes());
        bytes.push(b'\n');
    }
    bytes
}

/// Starts a command with the alarm on its standard input, unless too many run.
fn start_command(command: &str, notice: &Notice, running: &Arc<()>) {
    let Ok(json) = serde_json::to_string(notice) else { return };
    if Arc::strong_count(running) > MAX_COMMANDS {
        return log_trouble(&words::skipped_command_text(command));
    }
    let (command, running) = (command.to_owned(), Arc::clone(running));
    let started = thread::Builder::new().name("alarm".into()).spawn(move || {
        let _running = running;
        if let Err(error) = run_command(&command, &json) {
            log_trouble(&error.to_string());
        }
    });
    if let Err(error) = started {
        log_trouble(&error.to_string());
    }
}

fn run_command(command: &str, json: &str) -> Result<(), Error> {
    let failed = |error| Error::refused(format!("the alarm's command {command:?} failed")).because(error);
    let child =
        Command::new("/bin/sh").args(["-c", command]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
    let mut child = child.map_err(failed)?;
    if let Some(mut input) = child.stdin.take() {
        // A command need not read it.
        let _ = input.write_all(json.as_bytes()).and_then(|()| input.write_all(b"\n"));
    }
    let begun = Instant::now();
    loop {
        match child.try_wait().map_err(failed)? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => {
                return Err(Error::refused(format!("the alarm's command {command:?} ended with {status}")));
            }
            None if begun.elapsed() > COMMAND_TIMEOUT => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(Error::refused(format!("the alarm's command {command:?} took longer than 30 s")));
            }
            None => thread::sleep(Duration::from_millis(20)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_several_lines_stays_one_field() {
        let bytes = journal_bytes(&[("MESSAGE", "a\nPRIORITY=0"), ("PRIORITY", "4")]);
        let expected =
            b"MESSAGE\n\x0c\0\0\0\0\0\0\0a\nPRIORITY=0\nPRIORITY=4\nSYSLOG_IDENTIFIER=jitterlab-monitor\n";
        assert_eq!(bytes, expected);
    }
}
