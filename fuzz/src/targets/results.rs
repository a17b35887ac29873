//! What other commands printed as JSON, shown again.

use std::path::Path;

use jitterlab_report::chart::Terminal;
use jitterlab_report::document::{Document, Extent};
use jitterlab_report::page;

/// A result as text and as JSON; what takes long: as a page.
pub fn results(_: &Path, data: &[u8], long: bool) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(document) = Document::read(text) else { return };
    for columns in [20, 80] {
        for extent in [Extent::Answer, Extent::Details] {
            let _ = document.terminal_text(extent, Terminal { columns, ascii: true, colour: true });
        }
    }
    let json = serde_json::to_string(&document).expect("every result is JSON");
    assert!(Document::read(&json).is_ok(), "what is printed can be read");
    if long && !document.sections.is_empty() {
        page::render(&[], &[document]).expect("every section has a page");
    }
}
