//! simavr, reached through a small C program of ours (`runner.c`).
//!
//! Why not link it: `avr_t` is read and written in a dozen fields (clock, cycle count, sleep callback), and its layout
//! differs between versions and builds of simavr. A C compiler with the installed headers gets it right by construction;
//! hand-copied structures would read garbage after an upgrade. It also keeps simavr out of jitterlab's build.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::{McuError, tools};

const RUNNER: &str = include_str!("runner.c");

/// Cycles of the datasheets' shortest interrupt response, which simavr does not charge.
pub const ENTRY_CYCLES: u64 = 4;
/// What sleep adds to it.
pub const ENTRY_FROM_SLEEP_CYCLES: u64 = 4;

/// What is simulated.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The firmware.
    pub elf: PathBuf,
    /// The chip; `None` if the firmware names it itself (section `.mmcu`).
    pub mcu: Option<String>,
    /// Its clock; `None` if the firmware names it itself.
    pub clock_hz: Option<u32>,
    /// The pins whose edges are recorded, as [`Edge::pin`] counts them.
    pub pins: Vec<super::Pin>,
    /// Simulated time at most, in cycles.
    pub cycles: u64,
    /// Edges at most.
    pub edges: Option<u64>,
    /// Whether interrupt entries cost what the datasheet says.
    pub charge_entries: bool,
    /// Whether each interrupt's entry is recorded with the address it interrupts.
    pub entries: bool,
    /// Bytes written to data memory before the first instruction: address and value.
    pub pokes: Vec<(u16, u8)>,
}

impl Setup {
    /// A firmware on its chip for a time, with honest interrupt entries.
    pub fn new(elf: &Path, cycles: u64) -> Self {
        Setup {
            elf: elf.into(),
            mcu: None,
            clock_hz: None,
            pins: Vec::new(),
            cycles,
            edges: None,
            charge_entries: true,
            entries: false,
            pokes: Vec::new(),
        }
    }
}

/// A change of a pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// The processor's cycle at which the instruction that changed it began.
    pub cycle: u64,
    /// Which of [`Setup::pins`].
    pub pin: usize,
    /// High or low.
    pub high: bool,
}

/// An interrupt's entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// When, before what the entry costs.
    pub cycle: u64,
    /// Its vector.
    pub vector: u8,
    /// The address of the instruction it came before, in bytes.
    pub address: u32,
}

/// All interrupts of one vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vector {
    /// Its number; reset is 0.
    pub number: u8,
    /// How often it ran.
    pub count: u64,
    /// Cycles from the entry (what it costs included, where it is charged) to the end of RETI, of all together.
    pub cycles: u64,
    /// Shortest.
    pub min_cycles: u64,
    /// Longest.
    pub max_cycles: u64,
}

/// Why the simulation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopCause {
    /// The time was over.
    Cycles,
    /// The wanted number of edges was seen.
    Edges,
    /// The firmware stopped for good: it sleeps with interrupts off.
    Done,
}

/// What happened.
#[derive(Debug, Clone)]
pub struct Recording {
    /// The chip.
    pub mcu: String,
    /// Its clock.
    pub clock_hz: u32,
    /// Changes of pins, in order of time.
    pub edges: Vec<Edge>,
    /// Interrupt entries, where asked for.
    pub entered: Vec<Entry>,
    /// What the firmware sent over serial port 0.
    pub uart: Vec<u8>,
    /// Interrupts by vector.
    pub vectors: Vec<Vector>,
    /// Why it ended.
    pub stop: StopCause,
    /// Cycles simulated.
    pub cycles: u64,
    /// Cycles spent asleep.
    pub slept: u64,
    /// Interrupt entries.
    pub entries: u64,
    /// Those from sleep.
    pub entries_asleep: u64,
    /// Whether stamps contain what interrupt entries cost.
    pub entries_charged: bool,
}

impl Recording {
    /// A cycle's time in nanoseconds since reset, rounded to the nearest.
    pub fn ns(&self, cycle: u64) -> i64 {
        let hz = u128::from(self.clock_hz.max(1));
        ((u128::from(cycle) * 1_000_000_000 + hz / 2) / hz) as i64
    }

    /// The cycles at which a pin went high (or low).
    pub fn edges_of(&self, pin: usize, high: bool) -> impl Iterator<Item = u64> + '_ {
        self.edges.iter().filter(move |e| e.pin == pin && e.high == high).map(|e| e.cycle)
    }

    /// Share of the time spent asleep, 0 to 1.
    pub fn asleep_share(&self) -> f64 {
        self.slept as f64 / self.cycles.max(1) as f64
    }
}

/// The compiled runner.
pub struct Simulator {
    directory: TempDir,
}

impl Simulator {
    /// Compiles the runner against the installed simavr.
    ///
    /// # Errors
    /// [`McuError::Missing`] without simavr or a C compiler.
    pub fn new() -> Result<Self, McuError> {
        let headers = tools::simavr_headers()?;
        let directory = TempDir::new().map_err(McuError::io("creating a temporary directory"))?;
        let source = directory.path().join("runner.c");
        fs::write(&source, RUNNER).map_err(McuError::io("writing the simulator's runner"))?;
        let simulator = Simulator { directory };
        let compile = |libraries: &[&str]| {
            let mut arguments = vec!["-O2".into(), format!("-I{}", headers.display())];
            arguments.extend([
                source.display().to_string(),
                "-o".into(),
                simulator.runner().display().to_string(),
            ]);
            arguments.extend(libraries.iter().map(|l| (*l).to_owned()));
            tools::CC.run("the simulator's runner", arguments)
        };
        // A static libsimavr does not bring its own libelf.
        compile(&["-lsimavr"]).or_else(|_| compile(&["-lsimavr", "-lelf"]))?;
        Ok(simulator)
    }

    fn runner(&self) -> PathBuf {
        self.directory.path().join("runner")
    }

    /// Simulates. Several threads may at once.
    ///
    /// # Errors
    /// [`McuError::Refused`] for a firmware, chip or pin that simavr cannot use, [`McuError::Crashed`] for firmware that
    /// runs off its memory.
    pub fn run(&self, setup: &Setup) -> Result<Recording, McuError> {
        let mut command = Command::new(self.runner());
        command.args([
            "--cycles",
            &setup.cycles.to_string(),
            "--charge",
            if setup.charge_entries { "1" } else { "0" },
        ]);
        if let Some(mcu) = &setup.mcu {
            command.args(["--mcu", mcu]);
        }
        if let Some(hz) = setup.clock_hz {
            command.args(["--hz", &hz.to_string()]);
        }
        if let Some(edges) = setup.edges {
            command.args(["--records", &edges.to_string()]);
        }
        if setup.entries {
            command.args(["--entries", "1"]);
        }
        for pin in &setup.pins {
            command.args(["--pin", &pin.to_string()]);
        }
        for (address, value) in &setup.pokes {
            command.args(["--poke", &format!("{address}={value}")]);
        }
        let complaints = tempfile::tempfile().map_err(McuError::io("creating a temporary file"))?;
        let for_child = complaints.try_clone().map_err(McuError::io("creating a temporary file"))?;
        let mut child = command
            .arg(&setup.elf)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(for_child)
            .spawn()
            .map_err(McuError::io("starting the simulator"))?;
        let mut parser = Parser::new(setup.charge_entries);
        let mut parsed = Ok(());
        if let Some(out) = child.stdout.take() {
            parsed = parser.read(BufReader::new(out));
        }
        let status = child.wait().map_err(McuError::io("waiting for the simulator"))?;
        if !status.success() {
            return Err(McuError::Refused { firmware: setup.elf.clone(), message: last_words(complaints) });
        }
        parsed?;
        match parser.finish()? {
            (recording, false) => Ok(recording),
            (recording, true) => {
                Err(McuError::Crashed { cycles: recording.cycles, message: last_words(complaints) })
            }
        }
    }
}

/// What the runner or simavr said last on standard error.
fn last_words(mut file: fs::File) -> String {
    use std::io::{Seek, SeekFrom};
    let mut bytes = Vec::new();
    if file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_end(&mut bytes)).is_err() {
        return String::new();
    }
    let text = String::from_utf8_lossy(&bytes);
    text.lines().rfind(|l| !l.trim().is_empty()).unwrap_or_default().to_owned()
}

/// Reads the runner's lines.
struct Parser {
    recording: Recording,
    ended: bool,
    crashed: bool,
}

impl Parser {
    fn new(entries_charged: bool) -> Self {
        let recording = Recording {
            mcu: String::new(),
            clock_hz: 0,
            edges: Vec::new(),
            entered: Vec::new(),
            uart: Vec::new(),
            vectors: Vec::new(),
            stop: StopCause::Cycles,
            cycles: 0,
            slept: 0,
            entries: 0,
            entries_asleep: 0,
            entries_charged,
        };
        Parser { recording, ended: false, crashed: false }
    }

    fn read(&mut self, lines: impl BufRead) -> Result<(), McuError> {
        for line in lines.lines() {
            let line = line.map_err(McuError::io("reading from the simulator"))?;
            self.line(&line).ok_or(McuError::Protocol(line))?;
        }
        Ok(())
    }

    fn line(&mut self, line: &str) -> Option<()> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |i: usize| words.get(i)?.parse::<u64>().ok();
        let r = &mut self.recording;
        match *words.first()? {
            "pin" => {
                r.edges.push(Edge { cycle: number(1)?, pin: number(2)? as usize, high: number(3)? != 0 });
            }
            "entry" => {
                r.entered.push(Entry {
                    cycle: number(1)?,
                    vector: number(2)? as u8,
                    address: number(3)? as u32,
                });
            }
            "uart" => r.uart.push(number(1)? as u8),
            "start" => {
                r.mcu = (*words.get(1)?).to_owned();
                r.clock_hz = number(2)? as u32;
            }
            "vector" => r.vectors.push(Vector {
                number: number(1)? as u8,
                count: number(2)?,
                cycles: number(3)?,
                min_cycles: number(4)?,
                max_cycles: number(5)?,
            }),
            "end" => {
                match *words.get(1)? {
                    "cycles" => r.stop = StopCause::Cycles,
                    "records" => r.stop = StopCause::Edges,
                    "done" => r.stop = StopCause::Done,
                    "crashed" => self.crashed = true,
                    _ => return None,
                }
                r.cycles = number(3)?;
                r.slept = number(5)?;
                r.entries = number(7)?;
                r.entries_asleep = number(9)?;
                self.ended = true;
            }
            _ => return None,
        }
        Some(())
    }

    fn finish(self) -> Result<(Recording, bool), McuError> {
        if self.ended { Ok((self.recording, self.crashed)) } else { Err(McuError::Protocol("no end".into())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_line_gives_an_answer_and_never_a_panic(lines in prop::collection::vec("\\PC{0,60}", 0..8)) {
            let _ = Parser::new(true).read(lines.join("\n").as_bytes());
        }

        #[test]
        fn any_numbers_give_an_answer_and_never_a_panic(
            word in "(pin|entry|uart|start|vector|end)", rest in "[a-z0-9 -]{0,60}"
        ) {
            let _ = Parser::new(true).read(format!("{word} {rest}").as_bytes());
        }

        #[test]
        fn a_cycles_time_is_right_to_half_a_nanosecond(cycle in 0u64..1 << 40, hz in 1_000u32..40_000_000) {
            let mut recording = Parser::new(true).recording;
            recording.clock_hz = hz;
            let error = i128::from(recording.ns(cycle)) * i128::from(hz) - i128::from(cycle) * 1_000_000_000;
            prop_assert!(error.abs() * 2 <= i128::from(hz));
        }
    }

    #[test]
    fn the_protocol_is_read() {
        let mut parser = Parser::new(true);
        let text = "start atmega128 7372800\npin 10 0 1\npin 30 0 0\nuart 65\nentry 9 12 200\n\
                    vector 12 2 90 40 50\nend done cycles 100 slept 60 entries 2 asleep 1\n";
        parser.read(text.as_bytes()).unwrap();
        let (r, crashed) = parser.finish().unwrap();
        assert!(!crashed);
        assert_eq!((r.mcu.as_str(), r.clock_hz, r.stop), ("atmega128", 7_372_800, StopCause::Done));
        assert_eq!(r.edges_of(0, true).collect::<Vec<_>>(), [10]);
        assert_eq!(
            (r.uart.as_slice(), r.cycles, r.slept, r.entries, r.entries_asleep),
            (&b"A"[..], 100, 60, 2, 1)
        );
        assert_eq!(r.entered, [Entry { cycle: 9, vector: 12, address: 200 }]);
        assert!((r.asleep_share() - 0.6).abs() < 1e-12);
    }

    #[test]
    fn an_end_that_never_came_is_noticed() {
        let mut parser = Parser::new(true);
        parser.read("start atmega128 1\n".as_bytes()).unwrap();
        assert!(parser.finish().is_err());
    }
}
