//! What other commands printed as JSON, shown again.

use std::path::Path;

use jitterlab_report::chart::Terminal;
use jitterlab_report::document::Document;
use jitterlab_report::page;

/// A result as text and as JSON; what takes long: as a page.
pub fn results(_: &Path, data: &[u8], long: bool) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(document) = Document::read(text) else { return };
    for columns in [20, 80] {
        let _ = document.text(Terminal { columns, ascii: true, colour: true });
    }
    let json = document.json().expect("every result is JSON");
    assert!(Document::read(&json).is_ok(), "what is printed can be read");
    let sections = document.sections();
    if long && !sections.is_empty() {
        page::render(&[], &sections).expect("every section has a page");
    }
}
