//! Sections as a terminal shows them.

use jitterlab_model::Fitness;

use crate::chart::{Chart, Terminal};
use crate::section::{Cell, Piece, Section, Table};
use crate::table::columns;
use crate::wrap::{self, width, wrap};

/// How much of a result is shown on the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Extent {
    /// The head alone.
    Head,
    /// The head and what it rests on, a screen of it.
    #[default]
    Answer,
    /// Everything.
    Details,
}

/// So many remarks are shown before somebody asks for all of them.
const NOTES: usize = 3;

/// Columns that a narrow terminal does without, the first to go first.
const LEFT_OUT: [&str; 5] = ["p90", "p50", "min", "decided by", "good"];

/// The colour of a verdict.
pub(crate) fn colour(fitness: Fitness) -> &'static str {
    match fitness {
        Fitness::Good => "32;1",
        Fitness::Limited | Fitness::CannotTell => "33;1",
        Fitness::Unfit => "31;1",
    }
}

/// Sections below each other: what is folded only with everything else.
pub(crate) fn sections(sections: &[Section], extent: Extent, terminal: Terminal) -> String {
    let show = Show { extent, terminal };
    let all: Vec<&Piece> = sections.iter().flat_map(|section| &section.pieces).collect();
    let is_text = |piece: &&&Piece| matches!(piece, Piece::Text { .. });
    // Where more is to be had stands below the remarks.
    let (all, last) = all.split_at(all.len() - all.iter().rev().take_while(is_text).count());
    let (notes, others): (Vec<&Piece>, Vec<&Piece>) =
        all.iter().partition(|piece| matches!(piece, Piece::Note { .. }));
    let mut text: String = others.into_iter().map(|piece| show.piece(piece)).collect();
    let shown = if extent == Extent::Details { notes.len() } else { NOTES };
    if !notes.is_empty() {
        text.push('\n');
    }
    notes.iter().take(shown).for_each(|note| text.push_str(&show.piece(note)));
    match notes.len().saturating_sub(shown) {
        0 => {}
        1 => text.push_str("  1 more note: --details\n"),
        more => text.push_str(&format!("  {more} more notes: --details\n")),
    }
    text.extend(last.iter().map(|piece| show.piece(piece)));
    text.trim_start_matches('\n').to_owned()
}

impl Section {
    /// All of it on a terminal, without its heading and lead.
    #[must_use]
    pub fn text(&self, terminal: Terminal) -> String {
        sections(std::slice::from_ref(self), Extent::Details, terminal)
    }
}

struct Show {
    extent: Extent,
    terminal: Terminal,
}

impl Show {
    fn piece(&self, piece: &Piece) -> String {
        let everything = self.extent == Extent::Details;
        match piece {
            Piece::Text { text } => wrap(text),
            Piece::Note { text } => wrap(&format!("- {text}")),
            Piece::Facts { caption, facts } => facts_text(caption, facts),
            Piece::Table(table) => format!("\n{}", self.table(table)),
            Piece::Figure(chart) if everything && chart.is_counted() => {
                format!("\n{}", self.terminal.figures([&Chart { height: Chart::TALL, ..chart.clone() }]))
            }
            Piece::Figure(chart) if everything || chart.height <= Chart::GLANCE => {
                format!("\n{}", self.terminal.figures([chart]))
            }
            Piece::Choice { figures, .. } if everything => figures
                .first()
                .map_or_else(String::new, |shown| format!("\n{}", self.terminal.figures(&shown.charts))),
            Piece::Verbatim { heading, text } if heading.is_empty() => format!("\n{text}"),
            Piece::Verbatim { heading, text } => format!("\n{heading}\n{text}"),
            Piece::Details { pieces, .. } if everything => {
                pieces.iter().map(|piece| self.piece(piece)).collect()
            }
            Piece::Figure(_) | Piece::Choice { .. } | Piece::Details { .. } => String::new(),
        }
    }

    /// A table as wide as the terminal: less important columns go first, then it is turned.
    fn table(&self, table: &Table) -> String {
        let caption = if table.caption.is_empty() { String::new() } else { wrap(&table.caption) };
        let widest = wrap::columns();
        let fits = |text: &String| text.lines().all(|line| width(line) <= widest);
        let mut kept = table.clone();
        let mut text = self.columns(&kept);
        for name in LEFT_OUT {
            if fits(&text) {
                break;
            }
            kept = without(kept, name);
            text = self.columns(&kept);
        }
        if !fits(&text) {
            let turned = self.columns(&turned(table));
            if fits(&turned) {
                text = turned;
            }
        }
        caption + &text
    }

    fn columns(&self, table: &Table) -> String {
        let header: Vec<&str> = table.header.iter().map(String::as_str).collect();
        let rows = table.rows.iter().map(|row| row.iter().map(|cell| self.cell(cell)).collect());
        columns(&header, rows)
    }

    fn cell(&self, cell: &Cell) -> String {
        let text = cell.written();
        match cell {
            Cell::Verdict { fitness, .. } if self.terminal.colour => {
                format!("\x1b[{}m{text}\x1b[0m", colour(*fitness))
            }
            _ => text,
        }
    }
}

/// Names to the left, values behind the longest of them.
fn facts_text(caption: &str, facts: &[(String, String)]) -> String {
    let longest = facts.iter().map(|(name, _)| width(name)).max().unwrap_or(0);
    let caption = if caption.is_empty() { String::new() } else { wrap(caption) };
    let line = |(name, value): &(String, String)| {
        let gap = " ".repeat(longest - width(name) + 2);
        format!("  {name}{gap}{value}\n")
    };
    format!("\n{caption}{}", facts.iter().map(line).collect::<String>())
}

/// The table without a column, if it has it.
fn without(mut table: Table, name: &str) -> Table {
    if let Some(at) = table.header.iter().skip(1).position(|title| title == name).map(|at| at + 1) {
        table.header.remove(at);
        table.rows.iter_mut().filter(|row| row.len() > at).for_each(|row| {
            row.remove(at);
        });
    }
    table
}

/// Its rows as columns.
fn turned(table: &Table) -> Table {
    let name = |row: &Vec<Cell>| row.first().map_or_else(String::new, Cell::written);
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

    const NARROW: Terminal = Terminal { columns: 40, ascii: false, colour: false };

    fn figures() -> Table {
        let row = |name: &str, ns: f64| {
            let mut row = vec![Cell::from(name)];
            row.extend((1..=8).map(|k| Cell::time(ns * f64::from(k))));
            row
        };
        let header = ["µs", "min", "p50", "p90", "p99", "p99.9", "p99.99", "p99.999", "max"];
        Table::new("", &header, [row("latency", 3_944.0), row("execution", 80.0)])
    }

    fn shown(pieces: Vec<Piece>, extent: Extent, terminal: Terminal) -> String {
        let section = Section { id: "a".into(), title: "A".into(), lead: String::new(), pieces };
        wrap::at(terminal.columns, || sections(&[section], extent, terminal))
    }

    #[test]
    fn a_table_that_is_too_wide_loses_columns_and_is_turned_at_last() {
        let wide = Terminal { columns: 80, ..NARROW };
        assert!(shown(vec![Piece::Table(figures())], Extent::Answer, wide).contains("p90"));
        let text = shown(vec![Piece::Table(figures())], Extent::Answer, NARROW);
        assert!(text.lines().all(|line| width(line) <= 40), "{text}");
        assert!(text.contains("  max") && text.starts_with("  µs"), "{text}");
    }

    #[test]
    fn three_notes_are_shown_and_the_others_counted() {
        let notes = || (1..=5).map(|k| Piece::note(format!("remark {k}"))).collect::<Vec<_>>();
        let text = shown(notes(), Extent::Answer, NARROW);
        assert_eq!(text, "- remark 1\n- remark 2\n- remark 3\n  2 more notes: --details\n");
        assert_eq!(shown(notes(), Extent::Details, NARROW).lines().count(), 5);
    }

    #[test]
    fn what_is_folded_is_shown_with_everything_else() {
        let pieces = vec![Piece::said("seen"), Piece::details("more", vec![Piece::said("folded")])];
        assert_eq!(shown(pieces.clone(), Extent::Answer, NARROW), "seen\n");
        assert_eq!(shown(pieces, Extent::Details, NARROW), "seen\nfolded\n");
    }
}
