//! Network cards: frequency of their interrupts, and threads that take their packets.

use super::{Offer, Scene};

const CLASS: &str = "sys/class/net";

/// Time that packets may wait for others, in ns, and number of polls without a packet before the card
/// interrupts again: the values of the kernel's document on NAPI for software that may wait a little.
const WAIT_NS: &str = "200000";
const EMPTY_POLLS: &str = "2";

/// The same files of every card; other interfaces (loopback, bridges) have no device.
fn of_cards(scene: &Scene<'_>, files: &[(&str, &str)]) -> Offer {
    let names = scene.root.names(CLASS).into_iter().map(|name| format!("{CLASS}/{name}"));
    let cards = names.filter(|card| scene.root.exists(&format!("{card}/device")));
    scene.files(cards.flat_map(|card| {
        files.iter().map(move |(file, value)| (format!("{card}/{file}"), (*value).to_owned()))
    }))
}

pub(super) fn threads(scene: &Scene<'_>) -> Offer {
    of_cards(scene, &[("threaded", "1")])
}

pub(super) fn coalescing(scene: &Scene<'_>) -> Offer {
    of_cards(scene, &[("gro_flush_timeout", WAIT_NS), ("napi_defer_hard_irqs", EMPTY_POLLS)])
}
