//! Error rates of the statistics on series that are not white: the tables of `docs/evidence/calibration.md`.
//!
//!     cargo bench -p jitterlab-analysis --bench calibration
//!     cargo bench -p jitterlab-analysis --bench calibration -- compare 40 wandering
//!
//! Arguments: names of tables (none prints all), the largest number of runs or pairs in a row, and parts of
//! the names of the rows to print.

#![allow(dead_code, reason = "the test uses a part of it")]

#[path = "../calibration/mod.rs"]
mod calibration;

use std::time::Instant;

use calibration::table::TableSelection;
use calibration::{comparison, periods, prediction, requirement, settings, starts};

/// Prints the selected rows of a table.
type Table = fn(&TableSelection);

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let tables: [(&str, Table); 7] = [
        ("compare", comparison::print_table),
        ("power", comparison::print_power),
        ("require", requirement::print_table),
        ("predict", prediction::print_table),
        ("periods", periods::print_table),
        ("settings", settings::print_table),
        ("starts", starts::print_table),
    ];
    let named = |name: &str| words.iter().any(|word| word == name);
    let all = !tables.iter().any(|(name, _)| named(name));
    let is_row =
        |word: &&String| word.parse::<usize>().is_err() && !tables.iter().any(|(name, _)| word == name);
    let selection = TableSelection {
        most: words.iter().find_map(|word| word.parse().ok()).unwrap_or(usize::MAX),
        rows: words.iter().filter(is_row).cloned().collect(),
    };
    for (name, table) in tables.into_iter().filter(|(name, _)| all || named(name)) {
        let began = Instant::now();
        table(&selection);
        println!("\n{name}: {:.0} s", began.elapsed().as_secs_f64());
    }
}
