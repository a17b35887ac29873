//! Writing to the terminal.

use std::io::{self, IsTerminal, Write};

/// Writes text to standard output as a whole.
pub fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Writes a line to standard error, for people; a closed standard error is no reason to stop.
pub fn note(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Whether a person watches standard output.
pub fn is_terminal() -> bool {
    io::stdout().is_terminal()
}
