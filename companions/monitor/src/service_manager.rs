//! Notifications to systemd: the monitor measures, and its measurements reach the disk.

use std::env;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The service manager, where there is one.
#[derive(Debug)]
pub struct ServiceManager {
    socket: Option<(UnixDatagram, SocketAddr)>,
    interval: Option<Duration>,
    last_report: Instant,
    is_ready: bool,
    last_journal: Option<(PathBuf, u64)>,
}

impl ServiceManager {
    /// The service manager that started this program.
    pub fn from_environment() -> Self {
        let name = env::var_os("NOTIFY_SOCKET").unwrap_or_default();
        let address = match name.as_bytes() {
            [] => None,
            [b'@', rest @ ..] => SocketAddr::from_abstract_name(rest).ok(),
            _ => SocketAddr::from_pathname(&name).ok(),
        };
        let socket = address.and_then(|address| Some((UnixDatagram::unbound().ok()?, address)));
        let micros = env::var("WATCHDOG_USEC").ok().and_then(|micros| micros.parse().ok());
        let interval = micros.map(|micros| Duration::from_micros(micros) / 3);
        ServiceManager { socket, interval, last_report: Instant::now(), is_ready: false, last_journal: None }
    }

    /// True if it is time to report progress.
    pub fn is_due(&self) -> bool {
        let is_time = self.interval.is_none_or(|every| self.last_report.elapsed() >= every);
        self.socket.is_some() && (is_time || !self.is_ready)
    }

    /// Reports that the monitor is alive if the journal has grown, or cannot grow (`none_expected`). For a
    /// disk that takes nothing, a restart would lose the hours in memory.
    pub fn report_progress(&mut self, journal: Option<PathBuf>, none_expected: bool) {
        let size = |path: &PathBuf| std::fs::metadata(path).map_or(0, |found| found.len());
        let now = journal.map(|path| (size(&path), path)).map(|(bytes, path)| (path, bytes));
        let has_grown = now.is_some() && now != self.last_journal;
        if !has_grown && !none_expected {
            return;
        }
        self.last_journal = now;
        self.last_report = Instant::now();
        if !std::mem::replace(&mut self.is_ready, true) {
            self.send("READY=1");
        }
        self.send("WATCHDOG=1");
    }

    /// Reports that the monitor ends.
    pub fn report_stopping(&self) {
        self.send("STOPPING=1");
    }

    fn send(&self, state: &str) {
        if let Some((socket, address)) = &self.socket {
            let _ = socket.send_to_addr(state.as_bytes(), address);
        }
    }
}
