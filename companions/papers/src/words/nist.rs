//! NIST's report on jitter and motor control: table 1 (section 4) and figure 3.

use std::f64::consts::PI;

use crate::claims::nist::{NistLoads, Statement};
use crate::claims::torques::{Claim, NistTorques, TorqueRow};
use jitterlab_analysis::median_interval::MedianInterval;

use super::{NistReproduction, StatementWords, claims, each, intervals, nist_jitter};
use jitterlab_report::chart::Terminal;
use jitterlab_report::section::{Piece, Section};
use jitterlab_report::warnings::emulated;
use jitterlab_report::words::{count, time};

/// Table 1 with computed and printed values, and the paper's statements about it.
fn torques(found: &NistTorques) -> [Piece; 3] {
    [
        Piece::table(
            "Table 1: torque of jitter in oz-in, printed and computed",
            &TORQUES,
            found.rows.iter().map(torque_row),
        ),
        Piece::table(EQUATIONS_FOR, &EQUATIONS, found.rows.iter().map(equations)),
        super::table("What the paper says of table 1", torque_claims(found)),
    ]
}

const TORQUES: [&str; 10] =
    ["motor", "Tu", "3.60 µs", "4.08 µs", "Tu %", "3.60 µs", "Tc", ".098 µs", "Tc %", ".098 µs"];

fn torque_row(row: &TorqueRow) -> Vec<String> {
    let TorqueRow { printed, uncompensated, uncompensated_found, compensated } = row;
    vec![
        format!("{} oz-in", printed.holding_oz_in),
        format!("{}", printed.uncompensated_oz_in.0),
        format!("{:.4}", uncompensated.oz_in),
        format!("{:.4}", uncompensated_found.oz_in),
        format!("{}", printed.uncompensated_percent),
        format!("{:.3}", uncompensated.percent),
        format!("{}", printed.compensated_oz_in.0),
        format!("{:.5}", compensated.oz_in),
        format!("{}", printed.compensated_percent),
        format!("{:.4}", compensated.percent),
    ]
}

const EQUATIONS_FOR: &str =
    "Equations 4 (w dt), 6 (k = (pi/2) h/S), 5 (-k w dt) and 7 (all of them in one), for the stated 3.60 µs";
const EQUATIONS: [&str; 6] = ["motor", "w, rad/s", "4: µrad", "6: oz-in/rad", "5: oz-in", "7: oz-in"];

/// Equations 4, 6 and 5 in turn, and 7, which is all of them in one.
fn equations(row: &TorqueRow) -> Vec<String> {
    let speed = 2.0 * PI * row.printed.rev_per_s;
    let displacement = speed * row.uncompensated.jitter_s;
    let spring_oz_in = PI / 2.0 * row.printed.holding_oz_in / row.printed.step_deg.to_radians();
    vec![
        format!("{} oz-in", row.printed.holding_oz_in),
        format!("{speed:.2}"),
        format!("{:.2}", displacement * 1e6),
        format!("{spring_oz_in:.0}"),
        format!("{:.4}", -spring_oz_in * displacement),
        format!("{:.4}", -row.uncompensated.oz_in),
    ]
}

pub(super) fn torque_claims(found: &NistTorques) -> Vec<StatementWords> {
    let behind = |range: Option<(f64, f64)>| match range {
        Some((from, to)) => {
            format!("digits cut off, they follow from any jitter in {:.4} to {:.4} µs", from * 1e6, to * 1e6)
        }
        None => "they follow from no single jitter".into(),
    };
    claims(&found.claims, |claim| match claim {
        Claim::CompensatedFollows { stated_s, behind_s } => (
            "table-1-compensated",
            format!("the compensated torques (Tc) follow from the stated {:.3} µs", stated_s * 1e6),
            behind(*behind_s),
        ),
        Claim::UncompensatedFollows { stated_s, behind_s } => (
            "table-1-uncompensated",
            format!("the uncompensated torques (Tu) follow from the stated {:.2} µs", stated_s * 1e6),
            format!(
                "{}; their percentages are ratios of the torques already cut; 4.08/0.0988 = 41 is also the text's \"about 40 times\"",
                behind(*behind_s)
            ),
        ),
        Claim::BelowTenPercent { largest_percent } => (
            "below-ten-percent",
            "the jitter takes less than 10 % of the torque".into(),
            format!("{largest_percent:.1} % by the largest jitter that gives the printed torques"),
        ),
    })
}

/// Figure 3: the paper's statements about it, and the ranges.
fn loads(found: &NistLoads) -> [Piece; 3] {
    let (of, how) =
        if found.in_virtual_time { (" of virtual time", caution(found)) } else { ("", super::in_turns()) };
    [
        super::table("What the paper says of figure 3, and what became of it here", statements(found)),
        Piece::table(
            format!("Figure 3: latency of a task of 500 µs, in µs{of}"),
            &RANGES,
            latency_rows(found),
        ),
        Piece::Text { text: how },
    ]
}

/// All results on this machine.
pub(super) fn section(found: &NistReproduction) -> Section {
    let terminal = Terminal { columns: 80, ascii: false, colour: false };
    let jitter = Piece::Verbatim {
        heading: "Figures 1, 2, 4, 5 and 6 in numbers".into(),
        text: nist_jitter::numbers(&found.jitter, terminal),
    };
    let pieces = torques(&found.torques).into_iter().chain([jitter]).chain(loads(&found.loads));
    super::section(
        "nist",
        "NIST, table 1 and figures 1 to 6",
        "The paper's computations and measurements, repeated on this machine.",
        pieces.collect(),
    )
}

pub(super) fn virtual_section(found: &NistLoads) -> Section {
    super::section(
        "nist-virtual",
        "NIST figure 3, in virtual time",
        "Two real-time systems under normal, heavy network and heavy disk load.",
        loads(found).into(),
    )
}

const RANGES: [&str; 7] = ["", "activations", "missed", "min", "max", "range", "sd"];

fn latency_rows(found: &NistLoads) -> impl Iterator<Item = Vec<String>> {
    let us = |ns: f64| format!("{:.3}", ns / 1e3);
    found.systems.iter().flat_map(move |system| {
        system.loads.iter().map(move |load| {
            let numbers = load.found.map_or([None; 4], |range| {
                let exact = [range.min_ns, range.max_ns, range.range_ns()].map(|ns| Some(ns as f64));
                [exact[0], exact[1], exact[2], range.sd_ns]
            });
            let counts = load.found.map_or([None; 2], |range| [Some(range.executed), Some(range.missed)]);
            let unknown = || "-".to_owned();
            let counts = counts.map(|number| number.map_or_else(unknown, count));
            let shown = numbers.map(|ns| ns.map_or_else(unknown, us));
            let name = format!("{}, {}", system.system, load.condition);
            std::iter::once(name).chain(counts).chain(shown).collect()
        })
    })
}

fn caution(found: &NistLoads) -> String {
    format!("{} The guest has no disk: the disk load writes to memory.", emulated(found.ns_per_instruction))
}

pub(super) fn statements(found: &NistLoads) -> Vec<StatementWords> {
    let factors = |all: &[Option<MedianInterval>]| intervals(all, |factor| format!("{factor:.2}"));
    let ranges = |ranges_ns: &[Option<i64>]| format!("ranges {}", each(ranges_ns, |ns| time(ns as f64)));
    claims(&found.statements, |statement| match statement {
        Statement::RangeGrowsWithLoad { system, ranges_ns, growth } => (
            "range-grows",
            format!("{system}: the range grows as the environment is loaded more heavily"),
            format!("{}; of a stretch, times that without load: {}", ranges(ranges_ns), factors(growth)),
        ),
        Statement::ComparableUnderDiskLoad { ranges_ns, factor } => (
            "comparable",
            "under heavy disk load both systems are comparable".into(),
            format!(
                "{}; of a stretch, the second's to the first's: {}, within a factor of 2 or not",
                ranges(ranges_ns),
                factors(&[*factor])
            ),
        ),
        Statement::WorstOfTenMicroseconds { worst_ns } => (
            "worst-ten-us",
            "worst cases are on the order of ten microseconds".into(),
            format!(
                "the largest latency is {}",
                worst_ns.map_or_else(|| "unknown".into(), |ns| time(ns as f64))
            ),
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::words;
    use super::*;
    use crate::claims::nist::LatencyRange;
    use crate::claims::{SystemUnderLoads, UnderLoad};

    #[test]
    fn table_1_shows_the_finding() {
        let section = super::super::section("", "", "", torques(&NistTorques::compute()).into());
        let words = words(&section);
        assert!(
            words
                .contains("DOES NOT HOLD digits cut off, they follow from any jitter in 4.0596 to 4.1057 µs")
        );
        // Printed, from the stated 3.60 us, from 4.08 us.
        for row in [
            "23 oz-in 0.88 0.7804 0.8844",
            "80 oz-in 1.3 1.2124 1.3741",
            "500 oz-in 19 16.9646 19.2265",
            "23 oz-in 94.25 339.29 2300 -0.7804 -0.7804",
            "500 oz-in 94.25 339.29 50000 -16.9646 -16.9646",
        ] {
            assert!(words.contains(row), "{row}: {words}");
        }
    }

    fn under(range_ns: Option<i64>) -> UnderLoad<LatencyRange> {
        let found = range_ns.map(|range_ns| LatencyRange {
            min_ns: 1_000,
            max_ns: 1_000 + range_ns,
            sd_ns: Some(10.0),
            executed: 5_000,
            missed: 0,
        });
        UnderLoad { condition: "disk".into(), load: "disk:2".into(), found }
    }

    #[test]
    fn statements_stand_with_their_numbers() {
        let systems = ["fifo", "deadline"].map(|system| SystemUnderLoads {
            system: system.into(),
            loads: [Some(4_000), None, Some(11_000)].map(under).into(),
        });
        let stretches = vec![vec![vec![4e3; 8], vec![], vec![8e3; 8]]; 2];
        let words =
            words(&virtual_section(&NistLoads::new(systems.into(), &stretches).in_virtual_time(Some(1))));
        for part in [
            "fifo, disk 5 000 0 1.000 12.000 11.000 0.010",
            "fifo, disk - - - - - -",
            "loaded more heavily cannot be told ranges 4 µs, unknown, 11 µs; of a stretch, times that without load: \
             unknown, 2.00 (2.00 to 2.00)",
            "comparable holds ranges 11 µs, 11 µs; of a stretch, the second's to the first's: 1.00 (1.00 to 1.00), within",
            "the largest latency is 12 µs",
            "caches",
        ] {
            assert!(words.contains(part), "{part} is not in\n{words}");
        }
    }
}
