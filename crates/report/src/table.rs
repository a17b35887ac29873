//! Aligned columns for the terminal.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

/// A table without lines: the first column to the left, the others to the right, as wide as their contents.
pub fn columns(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header);
    for row in rows {
        table.add_row(row);
    }
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((if i == 0 { 2 } else { 1 }, 0));
        if i > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut text: String = table.to_string().lines().map(|line| line.trim_end().to_owned() + "\n").collect();
    if text.is_empty() {
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_line_up_at_their_last_digit() {
        let text = columns(
            &["", "min", "max"],
            [
                vec!["latency".into(), "2.1".into(), "81.3".into()],
                vec!["execution".into(), "0.04".into(), "0.1".into()],
            ],
        );
        assert_eq!(text, "             min  max\n  latency    2.1 81.3\n  execution 0.04  0.1\n");
    }
}
