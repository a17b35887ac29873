//! Writing to the terminal.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use jitterlab_model::bounds::WIDEST_TERMINAL;
use jitterlab_model::{Error, Fitness};
use jitterlab_report::chart::{Drawing, Terminal};
use jitterlab_report::document::{self, Extent, Present};
use jitterlab_report::printable::printable_lines;
use jitterlab_report::wrap;
use jitterlab_trace::atomic_file;

/// Options for the display of a result: the same for every command that has one.
#[derive(clap::Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Print the result as JSON (docs/formats/json.md)
    #[arg(long)]
    json: bool,
    /// Print the verdict, the number that decides it and the next command, nothing else
    #[arg(long, conflicts_with_all = ["json", "details"])]
    brief: bool,
    /// Print everything that was found, figures included
    #[arg(long, conflicts_with = "json")]
    details: bool,
    /// Draw with plain ASCII characters
    #[arg(long)]
    ascii: bool,
    /// When to colour: auto is on a terminal, unless NO_COLOR is set, and everywhere where CLICOLOR_FORCE is
    #[arg(long, value_enum, default_value = "auto", value_name = "WHEN")]
    color: Colour,
}

/// Rule for colours in the output.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Colour {
    Auto,
    Always,
    Never,
}

impl Colour {
    fn is_wanted(self) -> bool {
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0");
        match self {
            Colour::Always => true,
            Colour::Never => false,
            // Any value of NO_COLOR but none at all forbids it: no-color.org.
            Colour::Auto if std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) => false,
            Colour::Auto => is_terminal() || is_set("CLICOLOR_FORCE"),
        }
    }
}

impl OutputArgs {
    /// Returns true if the result is to be JSON, so that nothing else may be printed.
    pub fn is_json(self) -> bool {
        self.json
    }

    /// Returns true if only the verdict, its number and the next command are wanted.
    pub fn is_brief(self) -> bool {
        self.brief
    }

    /// Width, characters and colours of the terminal, as the user wants them.
    pub fn terminal(self) -> Terminal {
        Terminal { colour: self.color.is_wanted(), ..terminal(self.ascii) }
    }

    /// Returns the text of `write` with lines broken for the terminal, in characters that it shows.
    pub fn fit_to_terminal(self, write: impl FnOnce() -> String) -> String {
        let terminal = self.terminal();
        terminal.printable(wrap::with_columns(terminal.columns, write))
    }

    /// Prints a result, as text or as JSON. Returns its verdict on a requested purpose, for the exit status.
    pub fn show<R: Present>(self, result: &R) -> Result<Option<Fitness>, Error> {
        let extent = match self {
            OutputArgs { brief: true, .. } => Extent::Conclusion,
            OutputArgs { details: true, .. } => Extent::Details,
            _ => Extent::Answer,
        };
        let conclusion = result.conclusion();
        if self.json {
            print(&document::to_json(result)?)?;
        } else {
            let terminal = self.terminal();
            let text = document::terminal_text(result, extent, terminal);
            print(&text)?;
            // A conclusion that has scrolled off a person's terminal is repeated at the end.
            if conclusion.is_some() && is_terminal() && text.lines().count() >= terminal_rows() {
                print(&format!("\n{}", document::terminal_text(result, Extent::Conclusion, terminal)))?;
            }
        }
        Ok(conclusion.filter(|conclusion| conclusion.asked).map(|conclusion| conclusion.fitness))
    }
}

/// Writes text to standard output as a whole; control characters are made visible.
pub fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(printable_lines(text).as_bytes())?;
    out.flush()
}

/// Writes a line to standard error, for people, broken where a terminal ends; a closed standard error is no reason to stop.
pub fn print_note(text: &str) {
    let broken = || wrap::with_columns(terminal_columns(), || wrap::break_long_lines(text));
    let text = if io::stderr().is_terminal() { broken() } else { text.to_owned() };
    // In one piece: output of others comes before or after it.
    let _ = io::stderr().write_all(format!("{}\n", printable_lines(&text)).as_bytes());
}

/// Prints a warning: a person has to know of it, though the command goes on.
pub fn print_warning(text: &str) {
    print_note(&format!("warning: {text}"));
}

/// Returns a function that shows `done of all` in one line of standard error, if a person watches. Each call overwrites
/// the one before; the last ends the line.
pub fn progress_line(quiet: bool) -> impl Fn(usize, usize) + Sync {
    let watched = !quiet && is_terminal();
    move |done, of| {
        if watched {
            let end = if done == of { "\n" } else { "" };
            let _ = write!(io::stderr(), "\r{done} of {of} done{end}");
        }
    }
}

/// Returns true if standard output is a terminal.
pub fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Options of a command that writes a page or a figure.
#[derive(clap::Args, Clone, Debug)]
pub struct ForceArgs {
    /// Replace the file even if it holds a measurement
    #[arg(long)]
    pub force: bool,
}

/// Writes a page, figure or table; refuses to replace a measurement.
pub fn write_file(path: &Path, content: &[u8]) -> Result<(), Error> {
    atomic_file::write(path, content, false)
}

/// Reads the name of a run file; refuses `-`, since a run is recovered by its file's name.
pub fn parse_run_file(name: &str) -> Result<PathBuf, Error> {
    if name == "-" { Err(Error::bad_use("a run file needs a name of its own")) } else { Ok(name.into()) }
}

/// Returns true if `path` means standard output.
pub fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Refuses to overwrite an input file, under whatever name.
pub fn check_not_input(path: &Path, inputs: &[PathBuf]) -> Result<(), Error> {
    let file = |path: &Path| fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    let is_read = |output| inputs.iter().any(|input| file(input) == Some(output));
    if !is_stdout(path) && file(path).is_some_and(is_read) {
        return Err(Error::bad_use(format!("--output {} is one of the files that are read", path.display()))
            .remedy("choose another name"));
    }
    Ok(())
}

/// Writes the result of a command to the file the user named, then reports it by `said`.
pub fn write_result(path: &Path, content: &[u8], force: bool, said: &str) -> Result<(), Error> {
    write_result_by(path, force, |out| {
        out.write_all(content).map_err(Error::file("write", path))?;
        Ok(said.to_owned())
    })
}

/// Writes what `fill` writes to the file the user named, then reports it by the text that `fill` returns. `-` is
/// standard output, and the report goes to standard error then.
pub fn write_result_by(
    path: &Path,
    force: bool,
    fill: impl FnOnce(&mut dyn Write) -> Result<String, Error>,
) -> Result<(), Error> {
    if is_stdout(path) {
        print_note(&write_to_stdout(fill)?);
    } else {
        let said = atomic_file::write_with(path, force, fill)?;
        print(&format!("{}: {said}\n", path.display()))?;
    }
    Ok(())
}

/// Writes a file's content to standard output, on a terminal with control characters made visible.
fn write_to_stdout<T>(fill: impl FnOnce(&mut dyn Write) -> Result<T, Error>) -> Result<T, Error> {
    let mut out = io::stdout().lock();
    if is_terminal() {
        let mut shown = EscapingWriter { out, line: Vec::new() };
        let filled = fill(&mut shown)?;
        shown.write_rest()?;
        return Ok(filled);
    }
    let filled = fill(&mut out)?;
    out.flush()?;
    Ok(filled)
}

/// A terminal that shows lines, whatever is in them.
struct EscapingWriter<W> {
    out: W,
    /// Bytes since the last line's end.
    line: Vec<u8>,
}

impl<W: Write> EscapingWriter<W> {
    fn write_escaped(&mut self, bytes: usize) -> io::Result<()> {
        let lines: Vec<u8> = self.line.drain(..bytes).collect();
        self.out.write_all(printable_lines(&String::from_utf8_lossy(&lines)).as_bytes())
    }

    fn write_rest(mut self) -> io::Result<()> {
        self.write_escaped(self.line.len())?;
        self.out.flush()
    }
}

impl<W: Write> Write for EscapingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.line.extend(bytes);
        if let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') {
            self.write_escaped(self.line.len() - (bytes.len() - 1 - end))?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Returns true for a figure in PNG, false for SVG, by the name's ending; `None` for another ending.
fn is_png(path: &Path) -> Option<bool> {
    if is_stdout(path) {
        return Some(false);
    }
    match path.extension().map(|e| e.to_string_lossy().to_lowercase()).as_deref() {
        Some("svg") => Some(false),
        Some("png") => Some(true),
        _ => None,
    }
}

/// Refuses a figure's file whose name ends neither in .svg nor in .png; `option` named the file.
pub fn check_figure_name(path: &Path, option: &'static str) -> Result<(), Error> {
    is_png(path).map(drop).ok_or_else(|| {
        Error::bad_use(format!("{option} {}", path.display())).remedy("name a file that ends in .svg or .png")
    })
}

/// Converts a figure to SVG or PNG, by the ending of the file's name.
pub fn encode_figure(path: &Path, drawing: &Drawing) -> Result<Vec<u8>, Error> {
    match is_png(path) {
        Some(true) => drawing.png(),
        _ => Ok(drawing.svg().into_bytes()),
    }
}

/// Writes a figure as SVG or PNG, by the ending of the file's name.
pub fn write_figure(path: &Path, drawing: &Drawing) -> Result<(), Error> {
    write_file(path, &encode_figure(path, drawing)?)
}

/// Width, characters and colours of the terminal; plain characters if `ascii` or the locale is C.
pub fn terminal(ascii: bool) -> Terminal {
    let ascii = ascii || is_plain_locale(|name| std::env::var(name).ok());
    Terminal { columns: terminal_columns(), ascii, colour: is_terminal() }
}

/// Returns true if the locale is C or POSIX by name; without a name, nothing is known of the terminal.
fn is_plain_locale(variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name: &&str| variable(name).filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(set);
    locale.is_some_and(|locale| locale == "C" || locale == "POSIX")
}

/// The terminal's height in lines, 24 where it is unknown.
fn terminal_rows() -> usize {
    terminal_size::terminal_size().map_or(24, |(_, terminal_size::Height(rows))| usize::from(rows))
}

/// The terminal's width in columns, 80 if unknown or below 20, and at most [`WIDEST_TERMINAL`].
pub fn terminal_columns() -> usize {
    let set = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let asked =
        || terminal_size::terminal_size().map(|(terminal_size::Width(columns), _)| usize::from(columns));
    set.or_else(asked).filter(|columns| *columns >= 20).unwrap_or(80).min(WIDEST_TERMINAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_locale_c_has_plain_characters() {
        let of = |values: &[(&str, &str)]| {
            is_plain_locale(|name| {
                values.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            })
        };
        assert!(of(&[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")]) && of(&[("LANG", "POSIX")]));
        assert!(!of(&[("LC_ALL", "C.UTF-8"), ("LANG", "C")]) && !of(&[("LC_ALL", "")]) && !of(&[]));
    }

    #[test]
    fn a_terminal_gets_harmless_lines_in_whatever_pieces_they_come() {
        let mut out = Vec::new();
        let mut shown = EscapingWriter { out: &mut out, line: Vec::new() };
        for piece in ["task\na\u{1b}", "]0;µ", "", "\n\nb\r", "c"] {
            let (first, rest) = piece.as_bytes().split_at(piece.len() / 2);
            shown.write_all(first).unwrap();
            shown.write_all(rest).unwrap();
        }
        shown.write_rest().unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "task\na\\u001b]0;µ\n\nb\\u000dc");
    }
}
