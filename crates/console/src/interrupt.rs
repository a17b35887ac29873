//! Ctrl-C and its relatives: the first asks for an orderly end, a second Ctrl-C ends at once.

use std::sync::Arc;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;

use jitterlab_model::Error;

/// The last signal that asked for an end, 0 if none did.
static LAST_SIGNAL: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);

/// The signal that asked this program to end; `None` if none did.
pub fn received_signal() -> Option<u8> {
    u8::try_from(LAST_SIGNAL.load(Ordering::Relaxed)).ok().filter(|signal| *signal > 0)
}

/// Returns a flag that Ctrl-C, SIGTERM and a lost terminal set from now on.
///
/// A terminal that is closed sends several signals (the system, then the shell), so only a person who presses Ctrl-C
/// twice ends a run at once. A SIGHUP that `nohup` asked to ignore stays ignored.
pub fn listen_for_interrupt() -> Result<Arc<AtomicBool>, Error> {
    register_signals().map_err(|cause| Error::refused("cannot listen for Ctrl-C").because(cause))
}

/// Makes writing beyond the size limit of files (`ulimit -f`) an error instead of the program's end. The signal is not
/// ignored, so that programs that are started have their own say.
pub fn outlive_file_limits() {
    // If the system refuses, nothing changes.
    let _ = flag::register(SIGXFSZ, Arc::default());
}

fn register_signals() -> std::io::Result<Arc<AtomicBool>> {
    let requested = Arc::new(AtomicBool::new(false));
    let pressed = Arc::new(AtomicBool::new(false));
    flag::register_conditional_shutdown(SIGINT, 128 + SIGINT, pressed.clone())?;
    flag::register(SIGINT, pressed)?;
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        if signal == SIGHUP && is_ignored(SIGHUP) {
            continue;
        }
        flag::register_usize(signal, LAST_SIGNAL.clone(), signal.unsigned_abs() as usize)?;
        flag::register(signal, requested.clone())?;
    }
    Ok(requested)
}

/// Returns true if a signal was ignored when this program began.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
