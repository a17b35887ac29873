//! Pulses into a file, for trials that need a capture without a pin: a value change dump by the task's own
//! clock.
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use jitterlab_model::Error;

use super::DigitalOutput;
use super::error::Remedies;

/// Longest line of a dump: sign, digits, value and line feeds.
const LINE: usize = 32;

/// Begin of a dump of ours, and the lines that follow.
const OURS: &[u8] = b"$version jitterlab --pulse $end\n";
const HEAD: [&str; 7] = [
    "$timescale 1 ns $end",
    "$scope module task $end",
    "$var wire 1 ! pulse $end",
    "$upscope $end",
    "$enddefinitions $end",
    "#0",
    "0!\n",
];

/// A dump of one line.
pub(super) struct Dump {
    file: File,
    first_ns: Option<i64>,
    high: bool,
    last_ns: i64,
}

impl Dump {
    /// Begins a dump in a new file.
    pub(super) fn create(path: &Path) -> Result<Self, Error> {
        let refused = |error| Remedies::FILE.explain(path, error);
        let mut file = create_or_replace(path).map_err(refused)?;
        file.write_all(OURS).and_then(|()| file.write_all(HEAD.join("\n").as_bytes())).map_err(refused)?;
        Ok(Dump { file, first_ns: None, high: false, last_ns: 0 })
    }
}

/// Creates a file, or empties a dump of an earlier run; an error if anything else is there.
fn create_or_replace(path: &Path) -> io::Result<File> {
    let open = |new| OpenOptions::new().read(true).write(true).create_new(new).mode(0o644).open(path);
    match open(true) {
        Err(there) if there.kind() == io::ErrorKind::AlreadyExists => {
            let mut begins = [0; OURS.len()];
            // Reading a pipe would block until another process writes to it.
            let is_file = std::fs::metadata(path)?.is_file();
            let mut file = if is_file { open(false)? } else { return Err(there) };
            if file.read_exact(&mut begins).is_err() || begins != OURS {
                return Err(there);
            }
            file.set_len(0)?;
            file.rewind()?;
            Ok(file)
        }
        opened => opened,
    }
}

impl DigitalOutput for Dump {
    fn set(&mut self, high: bool, now_ns: i64) -> io::Result<()> {
        // The first pulse is a microsecond after the dump's beginning.
        let first_ns = *self.first_ns.get_or_insert(now_ns - 1_000);
        let mut line = [0; LINE];
        let mut rest = &mut line[..];
        let value = u8::from(high);
        writeln!(rest, "#{}\n{value}!", now_ns - first_ns)?;
        let left = rest.len();
        self.file.write_all(&line[..LINE - left])?;
        (self.high, self.last_ns) = (high, now_ns);
        Ok(())
    }
}

impl Drop for Dump {
    fn drop(&mut self) {
        if self.high {
            let _ = self.set(false, self.last_ns + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_dump_has_every_edge_and_ends_low() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.vcd");
        let mut dump = Dump::create(&path).unwrap();
        for (high, at) in [(true, 5_000), (false, 6_000), (true, i64::MAX / 4)] {
            dump.set(high, at).unwrap();
        }
        drop(dump);
        let text = fs::read_to_string(&path).unwrap();
        let end =
            format!("#1000\n1!\n#2000\n0!\n#{0}\n1!\n#{1}\n0!\n", i64::MAX / 4 - 4_000, i64::MAX / 4 - 3_999);
        assert!(text.ends_with(&end), "{text}");
        drop(Dump::create(&path).unwrap());
        assert!(!fs::read_to_string(&path).unwrap().contains("#1000"), "the next run replaces it");
        fs::write(&path, "somebody's").unwrap();
        assert!(Dump::create(&path).is_err(), "what is no dump of ours is kept");
    }
}
