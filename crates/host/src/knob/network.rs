//! Network cards: frequency of their interrupts, and threads that take their packets.

use super::{Applicability, KnobContext};

const CLASS: &str = "sys/class/net";

/// Time that packets may wait for others, in ns, and number of polls without a packet before the card
/// interrupts again: the values of the kernel's document on NAPI for software that may wait a little.
const WAIT_NS: &str = "200000";
const EMPTY_POLLS: &str = "2";

/// Steps that set these files of every card; other interfaces (loopback, bridges) have no device.
fn card_file_steps(context: &KnobContext<'_>, files: &[(&str, &str)]) -> Applicability {
    let names = context.root.names(CLASS).into_iter().map(|name| format!("{CLASS}/{name}"));
    let cards = names.filter(|card| context.root.exists(&format!("{card}/device")));
    context.file_steps(cards.flat_map(|card| {
        files.iter().map(move |(file, value)| (format!("{card}/{file}"), (*value).to_owned()))
    }))
}

pub(super) fn network_threads_steps(context: &KnobContext<'_>) -> Applicability {
    card_file_steps(context, &[("threaded", "1")])
}

pub(super) fn network_coalescing_steps(context: &KnobContext<'_>) -> Applicability {
    card_file_steps(context, &[("gro_flush_timeout", WAIT_NS), ("napi_defer_hard_irqs", EMPTY_POLLS)])
}
