//! Notifications to systemd: the monitor measures, and its measurements reach the disk.

use std::env;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The service manager, where there is one.
#[derive(Debug)]
pub struct Manager {
    socket: Option<(UnixDatagram, SocketAddr)>,
    every: Option<Duration>,
    told: Instant,
    is_ready: bool,
    seen: Option<(PathBuf, u64)>,
}

impl Manager {
    /// The one that started this program.
    pub fn from_environment() -> Self {
        let name = env::var_os("NOTIFY_SOCKET").unwrap_or_default();
        let address = match name.as_bytes() {
            [] => None,
            [b'@', rest @ ..] => SocketAddr::from_abstract_name(rest).ok(),
            _ => SocketAddr::from_pathname(&name).ok(),
        };
        let socket = address.and_then(|address| Some((UnixDatagram::unbound().ok()?, address)));
        let micros = env::var("WATCHDOG_USEC").ok().and_then(|micros| micros.parse().ok());
        let every = micros.map(|micros| Duration::from_micros(micros) / 3);
        Manager { socket, every, told: Instant::now(), is_ready: false, seen: None }
    }

    /// Whether it is time to tell it something.
    pub fn is_due(&self) -> bool {
        let is_time = self.every.is_none_or(|every| self.told.elapsed() >= every);
        self.socket.is_some() && (is_time || !self.is_ready)
    }

    /// Looks whether the journal has grown, and tells so. A disk that is known to take nothing is no reason
    /// to begin again: what is in memory would be lost.
    pub fn look(&mut self, journal: Option<PathBuf>, takes_nothing: bool) {
        let size = |path: &PathBuf| std::fs::metadata(path).map_or(0, |found| found.len());
        let now = journal.map(|path| (size(&path), path)).map(|(bytes, path)| (path, bytes));
        let has_grown = now.is_some() && now != self.seen;
        if !has_grown && !takes_nothing {
            return;
        }
        self.seen = now;
        self.told = Instant::now();
        if !std::mem::replace(&mut self.is_ready, true) {
            self.tell("READY=1");
        }
        self.tell("WATCHDOG=1");
    }

    /// Tells that it ends.
    pub fn stopping(&self) {
        self.tell("STOPPING=1");
    }

    fn tell(&self, state: &str) {
        if let Some((socket, address)) = &self.socket {
            let _ = socket.send_to_addr(state.as_bytes(), address);
        }
    }
}
