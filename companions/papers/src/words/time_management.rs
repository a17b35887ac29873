//! The EPOS paper's delay of 15 ms under each way to manage time, from an 8-bit microcontroller to Linux.

use super::Results;
use crate::paper::Paper;
use crate::time_management::{Managed, ManagedDelay, ManagedDelays};
use jitterlab_report::section::{Cell, Piece};

const HEADER: [&str; 6] = ["in µs", "tick", "delays", "shortest", "longest", "interrupts"];

impl Results for ManagedDelays {
    const PAPER: Paper = Paper::Epos;
    const NAME: &'static str = "epos-virtual";

    fn pieces(&self) -> Vec<Piece> {
        pieces(&self.0)
    }
}

/// The table, and its basis.
pub(super) fn pieces(all: &[ManagedDelay]) -> Vec<Piece> {
    let basis = Piece::text(Paper::Epos.words("delays"));
    vec![Piece::table("A delay of 15 ms", &HEADER, all.iter().map(row)), basis]
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
        let linux = |(high_resolution, tickless)| one(Managed::Linux { high_resolution, tickless });
        let text = words(pieces(&[(false, false), (true, true)].map(linux)));
        for part in ["Linux, highres=off nohz=off", "Linux, highres=on nohz=on", "never ends early"] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }
}
