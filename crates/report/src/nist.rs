//! The tables of NIST's report on jitter and motor control, recomputed.

use jitterlab_motion::stepper::nist;

use crate::summary::wrap;
use crate::table::columns;

/// NIST's table 1 with computed values beside the printed ones, and the finding.
pub fn table_1() -> String {
    let rows = nist::TABLE_1.iter().map(|row| {
        let (stated, found) = (nist::STATED_UNCOMPENSATED_S, 4.08e-6);
        vec![
            format!("{} oz-in", row.holding_oz_in),
            format!("{}", row.uncompensated_oz_in.0),
            format!("{:.4}", row.torque_oz_in(stated)),
            format!("{:.4}", row.torque_oz_in(found)),
            format!("{}", row.uncompensated_percent),
            format!("{:.3}", row.percent(stated)),
            format!("{}", row.compensated_oz_in.0),
            format!("{:.5}", row.torque_oz_in(nist::STATED_COMPENSATED_S)),
            format!("{}", row.compensated_percent),
            format!("{:.4}", row.percent(nist::STATED_COMPENSATED_S)),
        ]
    });
    let header = ["motor", "Tu", "3.60us", "4.08us", "Tu %", "3.60us", "Tc", ".098us", "Tc %", ".098us"];
    let mut text = "NIST, section 4, table 1: torque of jitter in oz-in, printed and computed\n".to_owned();
    text.push_str(&columns(&header, rows));
    let range = |column: fn(&nist::PrintedRow) -> (f64, f64)| {
        nist::jitter_behind(column).map_or("no single jitter".into(), |(from, to)| {
            format!("{:.4} to {:.4} us", from * 1e6, to * 1e6)
        })
    };
    text.push_str(&wrap(&format!(
        "The compensated column (Tc) follows, digits cut off, from any jitter in {}, which holds the stated 0.098 us. \
         The uncompensated column (Tu) does not follow from the stated 3.60 us, but from any jitter in {}; its \
         percentages are ratios of the torques already cut. 4.08/0.0988 = 41 is also the text's \"about 40 times\". \
         The conclusion, below 10 %, holds either way.",
        range(|row| row.compensated_oz_in),
        range(|row| row.uncompensated_oz_in)
    )));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_1_shows_the_finding() {
        let text = table_1();
        let words: Vec<&str> = text.split_whitespace().collect();
        assert!(words.join(" ").contains("from any jitter in 4.0596 to 4.1057 us"), "{text}");
        // Printed, from the stated 3.60 us, from 4.08 us.
        for row in
            ["23 oz-in 0.88 0.7804 0.8844", "80 oz-in 1.3 1.2124 1.3741", "500 oz-in 19 16.9646 19.2265"]
        {
            assert!(words.join(" ").contains(row), "{row}: {text}");
        }
        assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
    }
}
