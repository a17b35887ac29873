//! The EPOS paper's delay of 15 ms under each way to manage time, from an 8-bit microcontroller to Linux.

use crate::claims::time_management::{Managed, ManagedDelay};
use jitterlab_report::section::{Cell, Piece, Section};

const HEADER: [&str; 6] = ["in µs", "tick", "delays", "shortest", "longest", "interrupts"];

const BASIS: &str = "Each delay is asked for at another place between two ticks. A delay never ends early. On the microcontroller it \
    begins to count with the next tick, so a tick adds up to two of its own; on Linux it ends with the first tick behind its time, \
    which adds up to one. Interrupts are those of the timer for each delay.";

pub(super) fn section(all: &[ManagedDelay]) -> Section {
    Section::new(
        "time-management",
        "Time management from an 8-bit microcontroller to Linux",
        "The delay of the paper's introduction, with and without a tick, on a simulated AVR and on an emulated PC.",
        pieces(all).into(),
    )
}

/// The table, and its basis.
pub(super) fn pieces(all: &[ManagedDelay]) -> [Piece; 2] {
    [Piece::table("A delay of 15 ms", &HEADER, all.iter().map(row)), Piece::text(BASIS)]
}

fn row(of: &ManagedDelay) -> Vec<Cell> {
    let us = |us: f64| Cell::time(us * 1e3);
    vec![
        Cell::Text(name(of.system)),
        Cell::new(of.tick_us, us),
        Cell::Count(of.delays),
        us(of.shortest_us),
        us(of.longest_us),
        Cell::new(of.interrupts, |number| Cell::Text(format!("{number:.1}"))),
    ]
}

fn name(system: Managed) -> String {
    match system {
        Managed::Avr { strategy } => format!("AVR, {strategy}"),
        Managed::Linux { high_resolution, tickless } => {
            let switch = |on: bool| if on { "on" } else { "off" };
            format!("Linux, highres={} nohz={}", switch(high_resolution), switch(tickless))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::words;
    use super::*;

    #[test]
    fn every_way_has_its_row_and_what_is_not_counted_is_left_open() {
        let one = |system| ManagedDelay {
            system,
            tick_us: None,
            delays: 8,
            shortest_us: 15_001.0,
            longest_us: 15_005.0,
            interrupts: None,
        };
        let text = words(&section(&Managed::LINUX.map(one)));
        for part in ["Linux, highres=off nohz=off", "Linux, highres=on nohz=on", "never ends early"] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }
}
