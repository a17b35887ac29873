//! Rates in tables, and whether they stay within their bounds.

use statrs::distribution::{Binomial, DiscreteCDF};

/// A count among a number of trials, with the bound on its share.
#[derive(Debug, Clone, Copy)]
pub struct Rate {
    /// Trials counted.
    pub count: usize,
    /// All trials.
    pub of: usize,
    /// Upper bound on the share.
    pub bound: f64,
}

impl Rate {
    /// Returns the share.
    pub fn share(&self) -> f64 {
        self.count as f64 / self.of.max(1) as f64
    }

    /// Returns the count for tables of few runs, marked where the share exceeds its bound.
    pub fn count_text(&self) -> String {
        if self.share() > self.bound { format!("**{}**", self.count) } else { self.count.to_string() }
    }

    /// True if chance alone explains the count (99.9 %) at a share equal to the bound.
    pub fn holds(&self) -> bool {
        let law = Binomial::new(self.bound, self.of as u64);
        law.is_ok_and(|law| self.count == 0 || law.cdf(self.count as u64 - 1) < 0.999)
    }
}

/// Formats a rate for tables, marked where it leaves its bound.
impl std::fmt::Display for Rate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let share = share_text(self.share());
        if self.share() > self.bound { write!(f, "**{share}**") } else { write!(f, "{share}") }
    }
}

/// Formats a share with three digits.
pub fn share_text(share: f64) -> String {
    format!("{share:.3}")
}

/// Selection of what the tables print.
#[derive(Debug, Clone)]
pub struct TableSelection {
    /// Runs in a row at most.
    pub most: usize,
    /// Parts of row names to select; if empty, all rows are.
    pub rows: Vec<String>,
}

impl TableSelection {
    /// True if a row of this name is printed.
    pub fn includes(&self, name: &str) -> bool {
        self.rows.is_empty() || self.rows.iter().any(|part| name.contains(part))
    }
}

/// Prints a row of a table.
pub fn print_row<T: std::fmt::Display>(cells: impl IntoIterator<Item = T>) {
    let cells: Vec<String> = cells.into_iter().map(|cell| cell.to_string()).collect();
    println!("| {} |", cells.join(" | "));
}

/// Prints the head of a table.
pub fn print_head(columns: &[&str]) {
    println!();
    print_row(columns);
    print_row(columns.iter().map(|_| "---"));
}
