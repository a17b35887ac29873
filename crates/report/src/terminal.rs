//! Sections as a terminal shows them.

use jitterlab_model::Fitness;

use crate::chart::{Chart, Terminal};
use crate::printable::SHADE_CODES;
use crate::section::{Cell, Piece, Section, Table};
use crate::table::{fact_lines, fit_table};
use crate::wrap::{self, display_width, wrap};

/// Amount of detail of a result on the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Extent {
    Conclusion,
    /// The conclusion and its evidence, a screen of it.
    #[default]
    Answer,
    Details,
}

/// Number of remarks that are shown by default.
const SHOWN_NOTES: usize = 3;

pub(crate) fn colour_code(fitness: Fitness) -> &'static str {
    match fitness {
        Fitness::Good => "32;1",
        Fitness::Limited | Fitness::CannotTell => "33;1",
        Fitness::Unfit => "31;1",
    }
}

/// Sections below each other: folded pieces only with all details.
pub(crate) fn sections_text(sections: &[Section], extent: Extent, terminal: Terminal) -> String {
    let show = PieceWriter { extent, terminal };
    let all: Vec<&Piece> = sections.iter().flat_map(|section| &section.pieces).collect();
    let is_text = |piece: &&&Piece| matches!(piece, Piece::Text { .. });
    // The texts at the end, which point to further output, come after the remarks.
    let (all, last) = all.split_at(all.len() - all.iter().rev().take_while(is_text).count());
    let (notes, others): (Vec<&Piece>, Vec<&Piece>) =
        all.iter().partition(|piece| matches!(piece, Piece::Note { .. }));
    let mut text: String = others.into_iter().map(|piece| show.piece_text(piece)).collect();
    let shown = if extent == Extent::Details { notes.len() } else { SHOWN_NOTES };
    if !notes.is_empty() {
        text.push('\n');
    }
    notes.iter().take(shown).for_each(|note| text.push_str(&show.piece_text(note)));
    let says_where = |piece: &&Piece| matches!(piece, Piece::Text { text } if text.contains("--details"));
    let has_more = extent == Extent::Answer && !last.iter().any(says_where);
    let more = match notes.len().saturating_sub(shown) {
        0 if has_more && all.iter().any(|piece| show.is_folded(piece)) => "more",
        0 => "",
        1 => "1 more note",
        more => &format!("{more} more notes"),
    };
    if !more.is_empty() {
        text.push_str(&show.dim_line(&format!("  {more}: --details")));
    }
    text.extend(last.iter().map(|piece| show.piece_text(piece)));
    text.trim_start_matches('\n').to_owned()
}

impl Section {
    /// All of it on a terminal, without its heading and lead.
    pub fn text(&self, terminal: Terminal) -> String {
        sections_text(std::slice::from_ref(self), Extent::Details, terminal)
    }
}

/// Pieces, folded ones included, without colours and in the current line width.
#[cfg(test)]
pub(crate) fn plain(pieces: impl IntoIterator<Item = Piece>) -> String {
    let terminal = Terminal { columns: wrap::columns(), ascii: false, colour: false };
    let show = PieceWriter { extent: Extent::Details, terminal };
    pieces.into_iter().map(|piece| show.piece_text(&piece)).collect()
}

struct PieceWriter {
    extent: Extent,
    terminal: Terminal,
}

impl PieceWriter {
    fn piece_text(&self, piece: &Piece) -> String {
        let everything = self.extent == Extent::Details;
        match piece {
            Piece::Text { text } => wrap(text),
            Piece::Note { text } => wrap(&format!("- {text}")),
            Piece::Facts { caption, facts } => self.facts_text(caption, facts),
            Piece::Table(table) => format!("\n{}", self.table_text(table)),
            folded if !everything && self.is_folded(folded) => String::new(),
            Piece::Figure(chart) if everything && chart.is_counted() => {
                format!("\n{}", self.terminal.figures([&Chart { height: Chart::TALL, ..chart.clone() }]))
            }
            Piece::Figure(chart) => format!("\n{}", self.terminal.figures([chart])),
            Piece::Choice { figures, .. } => figures
                .first()
                .map_or_else(String::new, |shown| format!("\n{}", self.terminal.figures(&shown.charts))),
            Piece::Verbatim { heading, text } if heading.is_empty() => format!("\n{text}"),
            Piece::Verbatim { heading, text } => format!("\n{heading}\n{text}"),
            Piece::Details { pieces, .. } => pieces.iter().map(|piece| self.piece_text(piece)).collect(),
        }
    }

    /// A table as wide as the terminal.
    fn table_text(&self, table: &Table) -> String {
        let everything = self.extent == Extent::Details;
        self.caption_text(&table.caption)
            + &fit_table(table, wrap::columns(), everything, &|cell| self.cell_text(cell))
    }

    /// Names to the left, values behind the longest of them.
    fn facts_text(&self, caption: &str, facts: &[(String, String)]) -> String {
        let longest = facts.iter().map(|(name, _)| display_width(name)).max().unwrap_or(0);
        let lines = facts.iter().map(|(name, value)| fact_lines(name, value, 2, longest, wrap::columns()));
        format!("\n{}{}", self.caption_text(caption), lines.collect::<String>())
    }

    fn caption_text(&self, caption: &str) -> String {
        if caption.is_empty() {
            return String::new();
        }
        wrap(caption).lines().map(|line| self.dim_line(line)).collect()
    }

    fn dim_line(&self, line: &str) -> String {
        if self.terminal.colour { format!("\x1b[2m{line}\x1b[0m\n") } else { format!("{line}\n") }
    }

    /// True if it is shown only with all details.
    fn is_folded(&self, piece: &Piece) -> bool {
        match piece {
            Piece::Figure(chart) => chart.height > Chart::GLANCE,
            Piece::Choice { .. } | Piece::Details { .. } => true,
            _ => false,
        }
    }

    fn cell_text(&self, cell: &Cell) -> String {
        let text = cell.to_text();
        match cell {
            Cell::Verdict { fitness, .. } if self.terminal.colour => {
                format!("\x1b[{}m{text}\x1b[0m", colour_code(*fitness))
            }
            Cell::Shaded { shade, .. } if self.terminal.colour => {
                let colour = SHADE_CODES[((shade * 4.0).round() as usize).min(4)];
                format!("\x1b[30;48;5;{colour}m{text}\x1b[0m")
            }
            _ => text,
        }
    }
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
        let section = Section::new("a", "A", "", pieces);
        wrap::with_columns(terminal.columns, || sections_text(&[section], extent, terminal))
    }

    #[test]
    fn a_table_that_is_too_wide_loses_columns_and_is_turned_at_last() {
        let wide = Terminal { columns: 80, ..NARROW };
        assert!(shown(vec![Piece::Table(figures())], Extent::Answer, wide).contains("p90"));
        let text = shown(vec![Piece::Table(figures())], Extent::Answer, NARROW);
        assert!(text.lines().all(|line| display_width(line) <= 40), "{text}");
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
        let pieces = vec![Piece::text("seen"), Piece::details("more", vec![Piece::text("folded")])];
        assert_eq!(shown(pieces.clone(), Extent::Answer, NARROW), "seen\n  more: --details\n");
        assert_eq!(shown(pieces, Extent::Details, NARROW), "seen\nfolded\n");
    }
}
