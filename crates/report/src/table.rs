//! Tables in columns for the terminal, as wide as it is.

use crate::section::{Cell, Table};
use crate::wrap::{break_lines, display_width, unbreakable_words};

/// Columns that a narrow terminal does without, the first to go first.
const DROPPED_COLUMNS: [&str; 5] = ["p90", "p50", "min", "decided by", "good"];
/// Number of columns that remain in the short form of a table.
const MIN_COLUMNS: usize = 3;
/// Longer words may be broken into several lines of their column.
const PROSE_CHARACTERS: usize = 28;
/// No column of words gets narrower than this.
const MIN_PROSE_COLUMNS: usize = 16;

/// Text of a table in at most `widest` columns: drops columns, breaks words, or turns the table if needed. If all of
/// that is not enough, each row gets lines of its own if `everything` is set; otherwise the last columns go.
pub(crate) fn fit_table(
    table: &Table,
    widest: usize,
    everything: bool,
    write: &dyn Fn(&Cell) -> String,
) -> String {
    let fits = |table: &Table| {
        let grid = Grid::new(table, write);
        let widths = grid.fitted_widths(widest)?;
        Some(grid.text(&widths, "  "))
    };
    let mut kept = table.clone();
    for name in DROPPED_COLUMNS {
        if let Some(text) = fits(&kept) {
            return text;
        }
        if let Some(at) = kept.header.iter().skip(1).position(|title| title == name) {
            kept = without_column(kept, at + 1);
        }
    }
    if let Some(text) = fits(&kept).or_else(|| fits(&transpose(table, write))) {
        return text;
    }
    while !everything && kept.header.len() > MIN_COLUMNS {
        let last = kept.header.len() - 1;
        kept = without_column(kept, last);
        if let Some(text) = fits(&kept) {
            return text;
        }
    }
    row_records(table, widest, write)
}

/// True for a number as tables hold it, which ends at the right of its column.
pub(crate) fn is_number(text: &str) -> bool {
    let text = text.trim_start_matches(['+', '-', '(', '>', '<', '±', '≤', '≥', ' ']);
    text.starts_with(|c: char| c.is_ascii_digit())
}

/// Cells as they are written.
struct Grid {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
    /// Of each column whether it holds words, which begin at its left; numbers end at its right.
    is_words: Vec<bool>,
}

impl Grid {
    fn new(table: &Table, write: &dyn Fn(&Cell) -> String) -> Self {
        let is_words = |column: usize| {
            let mut cells = table.rows.iter().filter_map(|row| row.get(column));
            cells
                .clone()
                .any(|cell| matches!(cell, Cell::Text(text) if display_width(text) > PROSE_CHARACTERS))
                || cells.clone().any(|cell| *cell != Cell::Nothing)
                    && cells.all(|cell| match cell {
                        Cell::Nothing => true,
                        Cell::Text(text) | Cell::Verdict { text, .. } => column == 0 || !is_number(text),
                        _ => false,
                    })
        };
        Grid {
            is_words: (0..table.header.len()).map(is_words).collect(),
            header: table.header.clone(),
            rows: table.rows.iter().map(|row| row.iter().map(write).collect()).collect(),
        }
    }

    /// The widths that its columns would like to have.
    fn natural_widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = self.header.iter().map(|cell| display_width(cell)).collect();
        for row in &self.rows {
            widths.iter_mut().zip(row).for_each(|(most, cell)| *most = display_width(cell).max(*most));
        }
        widths
    }

    /// Column widths that fit, narrower for columns of words if needed; `None` if none fit.
    fn fitted_widths(&self, widest: usize) -> Option<Vec<usize>> {
        let mut widths = self.natural_widths();
        let gaps = 2 * widths.len();
        let least = |column: usize| self.longest_word(column).max(MIN_PROSE_COLUMNS);
        let is_prose = |column: &usize| self.is_words[*column] && widths[*column] > least(*column);
        let mut prose: Vec<usize> = (0..widths.len()).filter(is_prose).collect();
        let rigid: usize =
            (0..widths.len()).filter(|column| !prose.contains(column)).map(|at| widths[at]).sum();
        let needed: usize = prose.iter().map(|column| least(*column)).sum();
        let mut room = widest.checked_sub(gaps + rigid + needed)?;
        prose.sort_by_key(|column| widths[*column] - least(*column));
        for (done, column) in prose.iter().enumerate() {
            let more = (room / (prose.len() - done)).min(widths[*column] - least(*column));
            widths[*column] = least(*column) + more;
            room -= more;
        }
        Some(widths)
    }

    fn longest_word(&self, column: usize) -> usize {
        let cells = std::iter::once(&self.header).chain(&self.rows).filter_map(|row| row.get(column));
        cells.flat_map(|cell| unbreakable_words(cell)).map(|word| display_width(&word)).max().unwrap_or(0)
    }

    fn text(&self, widths: &[usize], gap: &str) -> String {
        let rows = std::iter::once(&self.header).chain(&self.rows);
        rows.map(|row| self.row(row, widths, gap)).collect()
    }

    fn row(&self, row: &[String], widths: &[usize], gap: &str) -> String {
        let broken = |(cell, (wide, is_words)): (&String, (&usize, &bool))| match is_words {
            true => break_lines(cell, *wide),
            false => vec![cell.clone()],
        };
        let cells: Vec<Vec<String>> = row.iter().zip(widths.iter().zip(&self.is_words)).map(broken).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        let line = |number: usize| {
            let cells = cells.iter().enumerate().map(|(column, lines)| {
                let text = lines.get(number).map_or("", String::as_str);
                let pad = " ".repeat(widths[column].saturating_sub(display_width(text)));
                if self.is_words[column] { format!("{text}{pad}") } else { format!("{pad}{text}") }
            });
            format!("  {}", cells.collect::<Vec<_>>().join(gap)).trim_end().to_owned() + "\n"
        };
        (0..height).map(line).collect()
    }
}

/// Lines of a name with its value to the right; further lines of the value are aligned with its first.
pub(crate) fn fact_lines(name: &str, value: &str, indent: usize, longest: usize, widest: usize) -> String {
    let blanks = |number: usize| " ".repeat(number);
    let at = indent + longest + 2;
    let is_narrow = widest < at + MIN_PROSE_COLUMNS && widest < at + display_width(value);
    let (at, gap) = match is_narrow {
        true => (indent + 2, format!("\n{}", blanks(indent + 2))),
        false => (at, blanks(at - indent - display_width(name))),
    };
    let lines = break_lines(value, widest.saturating_sub(at));
    format!("{}{name}{gap}{}\n", blanks(indent), lines.join(&format!("\n{}", blanks(at))))
}

/// Text of a table with each row by itself: its name, and below that the other cells.
fn row_records(table: &Table, widest: usize, write: &dyn Fn(&Cell) -> String) -> String {
    let longest = table.header.iter().skip(1).map(|title| display_width(title)).max().unwrap_or(0);
    let record = |row: &Vec<Cell>| {
        // A verdict alone names nothing.
        let names = if matches!(row.first(), Some(Cell::Verdict { .. })) { 2 } else { 1 };
        let name: Vec<String> = row.iter().take(names).map(write).collect();
        let cells = row.iter().zip(&table.header).skip(names);
        let cells = cells.map(|(cell, title)| (title, write(cell))).filter(|(_, text)| !text.is_empty());
        let facts = cells.map(|(title, text)| fact_lines(title, &text, 4, longest, widest));
        format!("{}{}", fact_lines("", &name.join("  "), 0, 0, widest), facts.collect::<String>())
    };
    table.rows.iter().map(record).collect()
}

fn without_column(mut table: Table, column: usize) -> Table {
    table.header.remove(column);
    table.rows.iter_mut().filter(|row| row.len() > column).for_each(|row| {
        row.remove(column);
    });
    table
}

/// The table with its rows as columns.
fn transpose(table: &Table, write: &dyn Fn(&Cell) -> String) -> Table {
    let name = |row: &Vec<Cell>| row.first().map_or_else(String::new, write);
    let corner = table.header.first().cloned().unwrap_or_default();
    let header = std::iter::once(corner).chain(table.rows.iter().map(name)).collect();
    let rows = table.header.iter().enumerate().skip(1).map(|(at, title)| {
        let cells = table.rows.iter().map(|row| row.get(at).cloned().unwrap_or(Cell::Nothing));
        std::iter::once(Cell::Text(title.clone())).chain(cells).collect()
    });
    let rows = rows.collect();
    Table { caption: table.caption.clone(), header, rows }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_line_up_at_their_last_digit() {
        let row = |name: &str, min: &str, max: &str| [name, min, max].map(Cell::from).to_vec();
        let rows = [row("latency", "2.1", "81.3"), row("execution", "0.04", "0.1")];
        let text = fit_table(&Table::new("", &["", "min", "max"], rows), 80, true, &Cell::to_text);
        assert_eq!(text, "              min   max\n  latency     2.1  81.3\n  execution  0.04   0.1\n");
    }

    #[test]
    fn words_are_broken_within_their_column_and_stand_below_their_row_at_last() {
        let words = "it decides how long the kernel's own work may hold up a task";
        let row = vec![Cell::from("preemption"), Cell::from(words), Cell::Count(1_000)];
        let table = Table::new("", &["setting", "why", "times"], [row]);
        let at = |widest| fit_table(&table, widest, true, &Cell::to_text);
        insta::assert_snapshot!(at(50), @r"
          setting     why                            times
          preemption  it decides how long the        1 000
                      kernel's own work may hold up
                      a task
        ");
        insta::assert_snapshot!(at(36), @r"
          setting  preemption
          why      it decides how long the
                   kernel's own work may
                   hold up a task
          times    1 000
        ");
    }
}
