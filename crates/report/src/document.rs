//! Answer of a command, as one tree: the conclusion, then sections. Terminal, page, JSON and Python render this
//! tree and know no kind of result.
//!
//! A result is a type next to its computation, in the crate that computes it. To show a new kind of result:
//! implement [`Present`] for it in a file of words in this crate.

use serde::{Deserialize, Serialize};

use crate::chart::Terminal;
use crate::conclusion::Conclusion;
use crate::section::Section;
pub use crate::terminal::Extent;
use crate::{json, terminal, wrap};

use jitterlab_model::Error;

/// Version of the JSON layout of all results; it grows when a field changes its meaning or goes.
pub const SCHEMA_VERSION: u32 = 3;

/// A result that can be shown.
pub trait Present: Serialize {
    /// The name of this kind of result in JSON.
    const KIND: &'static str;

    /// The answer in three lines; `None` for a result that judges nothing.
    fn conclusion(&self) -> Option<Conclusion>;

    /// Evidence for the answer, the most important first.
    fn sections(&self) -> Vec<Section>;
}

/// The answer of a command as everybody reads it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Document {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema: u32,
    /// Name and version of the writer.
    pub tool: String,
    /// Kind of the result.
    pub kind: String,
    /// The answer in three lines, where the result judges something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<Conclusion>,
    /// Evidence for the answer.
    pub sections: Vec<Section>,
}

fn unreadable_result_error(cause: serde_json::Error) -> Error {
    Error::damaged("it cannot be read as a result of jitterlab").because(cause)
}

impl Document {
    pub fn new<R: Present>(result: &R) -> Self {
        Document {
            schema: SCHEMA_VERSION,
            tool: concat!("jitterlab ", env!("CARGO_PKG_VERSION")).into(),
            kind: R::KIND.into(),
            head: result.conclusion(),
            sections: result.sections(),
        }
    }

    /// Reads the output of [`to_json`], of any kind. Numbers in it are kept as they are.
    ///
    /// # Errors
    /// The text is no JSON, of another version, or lacks a field: nothing is guessed.
    pub fn read(text: &str) -> Result<Self, Error> {
        #[derive(Deserialize)]
        struct Envelope {
            schema: u32,
        }
        let Envelope { schema } = serde_json::from_slice(text.as_bytes()).map_err(unreadable_result_error)?;
        if schema != SCHEMA_VERSION {
            return Err(Error::damaged(format!(
                "it was written with layout {schema} of results, and this jitterlab reads layout {SCHEMA_VERSION}"
            ))
            .remedy("repeat the command that wrote it"));
        }
        serde_json::from_slice(text.as_bytes()).map_err(unreadable_result_error)
    }

    /// Text of the document for the terminal, in this extent.
    pub fn terminal_text(&self, extent: Extent, terminal: Terminal) -> String {
        conclusion_and_evidence(self.head.as_ref(), extent, terminal, |extent| {
            terminal::sections_text(&self.sections, extent, terminal)
        })
    }
}

/// Text of a result for the terminal, in this extent.
pub fn terminal_text<R: Present>(result: &R, extent: Extent, terminal: Terminal) -> String {
    conclusion_and_evidence(result.conclusion().as_ref(), extent, terminal, |extent| {
        terminal::sections_text(&result.sections(), extent, terminal)
    })
}

/// The conclusion, and below it the evidence unless only the conclusion is wanted; without one, everything.
fn conclusion_and_evidence(
    conclusion: Option<&Conclusion>,
    extent: Extent,
    terminal: Terminal,
    rest: impl FnOnce(Extent) -> String,
) -> String {
    wrap::with_columns(terminal.columns, || {
        let rest = match (conclusion, extent) {
            (None, _) => rest(Extent::Details),
            (Some(_), Extent::Conclusion) => String::new(),
            (Some(_), extent) => rest(extent),
        };
        let conclusion = conclusion.map_or_else(String::new, |conclusion| conclusion.text(terminal));
        let gap = if conclusion.is_empty() || rest.is_empty() { "" } else { "\n" };
        let mut text = wrap::break_long_lines(&format!("{conclusion}{gap}{rest}"));
        if !text.is_empty() {
            text.push('\n');
        }
        terminal.printable(text)
    })
}

/// The output of `--json`: the document with the numbers behind it, ending with a line feed.
///
/// # Errors
/// A value that JSON cannot hold: never in practice.
pub fn to_json<R: Present>(result: &R) -> Result<String, Error> {
    #[derive(Serialize)]
    struct Whole<'a, R> {
        schema: u32,
        tool: &'a str,
        kind: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        head: Option<&'a Conclusion>,
        result: &'a R,
        sections: &'a [Section],
    }
    let Document { schema, tool, kind, head, sections } = &Document::new(result);
    json::indented(&Whole { schema: *schema, tool, kind, head: head.as_ref(), result, sections })
}
