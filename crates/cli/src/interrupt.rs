//! Ctrl-C and its relatives: the first asks for an orderly end, a second ends at once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

/// A flag that Ctrl-C, SIGTERM and a lost terminal set.
pub fn requested() -> io::Result<Arc<AtomicBool>> {
    let requested = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // Registered first, so that it sees the flag as it was before this signal.
        flag::register_conditional_shutdown(signal, 128 + signal, requested.clone())?;
        flag::register(signal, requested.clone())?;
    }
    Ok(requested)
}
