//! Connection to QEMU's monitor: the guest's clock and its end, read from outside without disturbing it.
//! Protocol: QEMU Machine Protocol, one JSON object a line.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;

use serde_json::{Value, json};

use super::qemu_arguments::TIME_SLICES_ID;

/// An event that QEMU reports of the guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The guest asked for a reset, as a kernel does after a panic.
    Reset,
    /// The guest's clock, in whole seconds since some beginning.
    Clock(i64),
    Processors {
        /// True if every processor has halted with its interrupts off, from which nothing wakes it.
        dead: bool,
    },
}

/// A connection to the monitor.
#[derive(Debug)]
pub struct Monitor {
    stream: UnixStream,
    /// Address of the clock in the machine's memory.
    clock: Option<&'static str>,
    received: Vec<u8>,
}

impl Monitor {
    /// Opens the connection; `clock` is the clock's address in memory, `None` if it is a property of the machine.
    pub fn new(stream: UnixStream, clock: Option<&'static str>) -> std::io::Result<Self> {
        stream.set_nonblocking(true)?;
        let mut monitor = Monitor { stream, clock, received: Vec::new() };
        monitor.send(&json!({"execute": "qmp_capabilities"}));
        Ok(monitor)
    }

    /// Asks for the guest's clock; the answer is among later [`Monitor::take_events`].
    pub fn request_clock(&mut self) {
        match self.clock {
            None => {
                let arguments = json!({"path": "/machine", "property": "rtc-time"});
                self.send(&json!({"execute": "qom-get", "arguments": arguments}));
            }
            Some(place) => self.send_human_command(&format!("xp /1wx {place}")),
        }
    }

    /// Asks for the state of the processors; the answer is among later [`Monitor::take_events`].
    pub fn request_processor_states(&mut self) {
        self.send_human_command("info registers -a");
    }

    fn send_human_command(&mut self, line: &str) {
        self.send(&json!({"execute": "human-monitor-command", "arguments": {"command-line": line}}));
    }

    /// Ends the time slices that several processors share.
    pub fn end_time_slices(&mut self) {
        self.send(&json!({"execute": "object-del", "arguments": {"id": TIME_SLICES_ID}}));
    }

    /// Sends a command, without an error if it fails: a QEMU that has gone is noticed by its exit.
    fn send(&mut self, command: &Value) {
        let _ = self.stream.write_all(format!("{command}\n").as_bytes());
    }

    /// Returns the events from QEMU since the last call.
    pub fn take_events(&mut self) -> Vec<Event> {
        let mut chunk = [0; 4096];
        loop {
            match self.stream.read(&mut chunk) {
                Ok(0) => break,
                Ok(n) => self.received.extend(chunk.iter().take(n)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        let whole = self.received.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let lines: Vec<u8> = self.received.drain(..whole).collect();
        lines.split(|byte| *byte == b'\n').filter_map(parse_event).collect()
    }
}

/// Parses a line of QEMU; `None` if it does not matter here.
fn parse_event(line: &[u8]) -> Option<Event> {
    let said: Value = serde_json::from_slice(line).ok()?;
    match said.get("event").and_then(Value::as_str) {
        Some("SHUTDOWN") if said.pointer("/data/reason") == Some(&json!("guest-reset")) => Some(Event::Reset),
        Some(_) => None,
        None => match said.get("return")? {
            Value::String(said) => parse_clock_register(said)
                .or_else(|| are_all_dead(said).map(|dead| Event::Processors { dead })),
            time => unix_seconds(time).map(Event::Clock),
        },
    }
}

/// True if all processors of a register dump are halted with interrupts off; `None` without registers.
/// That is HLT=1 and bit 9 of EFL or RFL off.
fn are_all_dead(registers: &str) -> Option<bool> {
    const INTERRUPTS: u64 = 1 << 9;
    let mut flags = 0;
    let mut dead = None;
    for word in registers.split_whitespace() {
        if let Some(hex) = word.strip_prefix("EFL=").or_else(|| word.strip_prefix("RFL=")) {
            flags = u64::from_str_radix(hex, 16).ok()?;
        } else if let Some(halted) = word.strip_prefix("HLT=") {
            dead = Some(dead.unwrap_or(true) && halted == "1" && flags & INTERRUPTS == 0);
        }
    }
    dead
}

/// Clock event from a memory dump of a PL031 (seconds since 1970): `0000000009010000: 0x6955b900`.
fn parse_clock_register(dump: &str) -> Option<Event> {
    let (place, word) = dump.trim().split_once(": 0x")?;
    u64::from_str_radix(place, 16).ok()?;
    i64::from_str_radix(word, 16).ok().map(Event::Clock)
}

/// Seconds since 1970 of a `struct tm` (its year counted from 1900); `None` if a field is missing.
fn unix_seconds(time: &Value) -> Option<i64> {
    let field = |name: &str| time.get(name).and_then(Value::as_i64);
    let (year, month, day) = (field("tm_year")? + 1900, field("tm_mon")? + 1, field("tm_mday")?);
    let seconds = field("tm_hour")? * 3600 + field("tm_min")? * 60 + field("tm_sec")?;
    // Days since 1970-01-01; a year is taken to begin in March, so that the leap day is its last.
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days =
        365 * y + y.div_euclid(4) - y.div_euclid(100) + y.div_euclid(400) + (153 * m + 2) / 5 + day - 719_469;
    Some(days * 86_400 + seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_qemu_says_is_understood_in_pieces_too() {
        let (mut qemu, ours) = UnixStream::pair().unwrap();
        let mut monitor = Monitor::new(ours, None).unwrap();
        qemu.write_all(b"{\"QMP\": {\"version\": {}}}\n{\"return\": {}}\n{\"return\": {\"tm_year\": 126, \"tm_mon\": 0, \"tm_mday\": 1, \"tm_hour\"").unwrap();
        assert_eq!(monitor.take_events(), []);
        qemu.write_all(b": 0, \"tm_min\": 1, \"tm_sec\": 5}}\nnonsense\n").unwrap();
        // 2026-01-01T00:01:05Z
        assert_eq!(monitor.take_events(), [Event::Clock(1_767_225_665)]);
        qemu.write_all(b"{\"event\": \"RESUME\"}\n{\"event\": \"SHUTDOWN\", \"data\": {\"guest\": true, \"reason\": \"guest-reset\"}}\n").unwrap();
        assert_eq!(monitor.take_events(), [Event::Reset]);
        let registers = |hlt, flags| {
            format!("{{\"return\": \"CPU#0\\r\\nRIP=1 RFL={flags} [---] CPL=0 HLT={hlt}\\r\\nES=0\"}}\n")
        };
        for (hlt, flags, dead) in [(1, "00000046", true), (1, "00000246", false), (0, "00000046", false)] {
            qemu.write_all(registers(hlt, flags).as_bytes()).unwrap();
            assert_eq!(monitor.take_events(), [Event::Processors { dead }], "{hlt} {flags}");
        }
        qemu.write_all(b"{\"return\": \"0000000009010000: 0x6955b945\\r\\n\"}\n").unwrap();
        assert_eq!(monitor.take_events(), [Event::Clock(1_767_225_669)]);
        monitor.request_clock();
        let mut asked = [0; 512];
        let n = qemu.read(&mut asked).unwrap();
        assert!(String::from_utf8_lossy(&asked[..n]).contains("rtc-time"));
        drop(qemu);
        monitor.request_clock();
        assert_eq!(monitor.take_events(), []);
    }
}
