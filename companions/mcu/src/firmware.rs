//! Firmware built from the programs under `mcu/programs` with chosen traits.
use std::path::PathBuf;

use jitterlab_chip::arm::rp2040;
use jitterlab_host::scratch::ScratchFolder;
use jitterlab_model::Error;
use jitterlab_model::firmware::FirmwareSize;

use super::simulator::Setup;
use super::{image, linker_error, sources, tools};
use crate::error::FailureCase;
use crate::figures::Strategy;

pub const PRESCALERS: [u16; 5] = [1, 8, 64, 256, 1024];

/// A chip, its clock, and the use of its timer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Board {
    /// The chip, as avr-gcc and simavr name it.
    pub mcu: String,
    pub clock_hz: u32,
    /// Divider of the clock for timer 1: one of [`PRESCALERS`]; on the RP2040 the divider that its timer gives.
    pub prescaler: u16,
    pub strategy: Strategy,
    /// Longest period of an alarm, in microseconds; decides whether counting in software is compiled in.
    pub max_period_us: u32,
    pub tick_us: u32,
    /// True if periods may be inexact (the trait `INEXACT`), as the paper's are; otherwise the library
    /// refuses periods that it cannot keep.
    pub inexact: bool,
    /// True if compare registers hold the period itself, one count too long, as in the paper's equation 1.
    pub compare_as_paper: bool,
}

impl Board {
    /// Creates the paper's chip at 7.3728 MHz with everything set ideally for one period, as in its table 1.
    /// The tick and the longest period both equal the period, rounded to counts. (The 100 us at 7200 Hz of
    /// that table are below one count, against the paper's own equation 1: there it is one count.)
    pub fn with_ideal_timing(strategy: Strategy, prescaler: u16, period_us: u32) -> Self {
        let board = Board {
            mcu: String::new(),
            clock_hz: 0,
            prescaler,
            strategy,
            max_period_us: period_us,
            tick_us: period_us,
            inexact: true,
            compare_as_paper: false,
        };
        board.with_chip("atmega128", 7_372_800)
    }

    /// Changes the chip and the clock.
    #[must_use]
    pub fn with_chip(self, mcu: &str, clock_hz: u32) -> Self {
        let one_count_us =
            (u64::from(self.prescaler) * 1_000_000).div_ceil(u64::from(clock_hz.max(1))) as u32;
        Board {
            mcu: mcu.into(),
            clock_hz,
            max_period_us: self.max_period_us.max(one_count_us),
            tick_us: self.tick_us.max(one_count_us),
            ..self
        }
    }

    pub fn is_rp2040(&self) -> bool {
        self.mcu == rp2040::NAME
    }

    /// Pins that show the events and the request for them.
    pub fn event_and_request_pins(&self) -> [&'static str; 2] {
        if self.is_rp2040() { ["GP2", "GP3"] } else { ["B0", "B1"] }
    }

    /// Tick of a single shot beyond 16 bits: 10 ms, or the longest that the hardware counts.
    pub fn software_tick_us(&self) -> u32 {
        let longest = 65_535 * u64::from(self.prescaler) * 1_000_000 / u64::from(self.clock_hz.max(1));
        longest.clamp(1, 10_000) as u32
    }

    pub fn timer_hz(&self) -> f64 {
        f64::from(self.clock_hz) / f64::from(self.prescaler)
    }
}

/// One of the programs under `mcu/programs`, whose files say what they do, with the macros that it reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Its file name without `.cc`.
    name: &'static str,
    defines: Vec<String>,
}

impl Program {
    /// The program that only starts and sleeps.
    pub const EMPTY: Program = Program { name: "empty", defines: Vec::new() };

    pub const fn new(name: &'static str) -> Self {
        Program { name, defines: Vec::new() }
    }

    /// Creates a program with an alarm or a delay of this length.
    pub fn with_period(name: &'static str, period_us: u32) -> Self {
        Program::new(name).with_macro(format!("MCU_PERIOD={period_us}UL"))
    }

    pub fn with_events(name: &'static str, period_us: u32, events: u32) -> Self {
        Program::with_period(name, period_us).with_macro(format!("MCU_EVENTS={events}"))
    }

    /// Adds a macro: its name, and its value behind `=`.
    #[must_use]
    pub fn with_macro(mut self, define: impl Into<String>) -> Self {
        self.defines.push(define.into());
        self
    }
}

/// A built firmware.
#[derive(Debug, Clone)]
pub struct Firmware {
    pub elf: PathBuf,
    pub board: Board,
    pub size: FirmwareSize,
}

impl Firmware {
    /// Setup that records these pins on its own board, for a number of cycles.
    pub fn setup(&self, pins: &[&str], cycles: u64) -> Result<Setup, Error> {
        Ok(Setup {
            mcu: Some(self.board.mcu.clone()),
            clock_hz: Some(self.board.clock_hz),
            pins: pins.iter().map(|pin| pin.parse()).collect::<Result<_, _>>()?,
            ..Setup::new(&self.elf, cycles)
        })
    }
}

/// The cross compiler with the library's sources; its output files are deleted with it.
pub struct Compiler {
    directory: ScratchFolder,
}

impl Compiler {
    /// Opens the compiler for AVR with the library's sources.
    ///
    /// # Errors
    /// [`FailureCase::Missing`] without avr-g++ or avr-libc; a temporary directory that cannot be written.
    pub fn new() -> Result<Self, Error> {
        let compiler = Self::with_sources()?;
        compiler.check_libc()?;
        Ok(compiler)
    }

    /// Opens the compiler for a board with the library's sources; an error if it is not installed.
    pub fn for_board(board: &Board) -> Result<Self, Error> {
        if !board.is_rp2040() {
            return Self::new();
        }
        let compiler = Self::with_sources()?;
        tools::ARM_CXX.run(compiler.directory.path(), "nothing", ["--version".into()])?;
        Ok(compiler)
    }

    fn with_sources() -> Result<Self, Error> {
        let directory = ScratchFolder::new()
            .map_err(|cause| Error::refused("cannot make a temporary directory").because(cause))?;
        sources::write_sources(directory.path())?;
        Ok(Compiler { directory })
    }

    /// Checks for the C library, which is a package separate from the compiler.
    fn check_libc(&self) -> Result<(), Error> {
        let probe = self.directory.path().join("probe.cc");
        std::fs::write(&probe, "#include <avr/io.h>\n").map_err(Error::file("write", &probe))?;
        let arguments = ["-mmcu=atmega328p", "-fsyntax-only"].map(String::from);
        let arguments = arguments.into_iter().chain([probe.display().to_string()]);
        match tools::AVR_CXX.run(self.directory.path(), "a probe", arguments) {
            Ok(_) => Ok(()),
            Err(error) if matches!(error.case_of(), Some(FailureCase::NotCompiled(_))) => {
                Err(tools::not_installed_error("avr-libc", tools::AVR_CXX.packages))
            }
            Err(other) => Err(other),
        }
    }

    /// Builds a program for a board. Several threads may build at the same time.
    ///
    /// # Errors
    /// [`FailureCase::NotCompiled`] with the compiler's words, such as the library's own when a board breaks equation 1.
    pub fn build(&self, program: &Program, board: &Board) -> Result<Firmware, Error> {
        let source = self.directory.path().join("programs").join(format!("{}.cc", program.name));
        self.build_file(&source.display().to_string(), program, board)
    }

    /// Builds a user's source file as if it were `program`.
    pub fn build_file(&self, source: &str, program: &Program, board: &Board) -> Result<Firmware, Error> {
        let file = tempfile::Builder::new()
            .suffix(".elf")
            .tempfile_in(self.directory.path())
            .and_then(|f| f.into_temp_path().keep().map_err(|e| e.error))
            .map_err(|cause| Error::refused("cannot make a file for the firmware").because(cause))?;
        let root = self.directory.path().display();
        let fixed = "-std=gnu++14 -Os -gdwarf-2 -Wall -Wextra -fno-exceptions -fno-rtti -fno-threadsafe-statics \
                     -ffunction-sections -fdata-sections -Wl,--gc-sections";
        let mut arguments: Vec<String> = fixed.split_whitespace().map(String::from).collect();
        let compiler = if board.is_rp2040() { &tools::ARM_CXX } else { &tools::AVR_CXX };
        if board.is_rp2040() {
            let processor = "-mcpu=cortex-m0plus -mthumb -nostdlib -fno-tree-loop-distribute-patterns";
            arguments.extend(processor.split(' ').map(String::from));
        } else {
            arguments.push(format!("-mmcu={}", board.mcu));
        }
        arguments.extend(["src", "programs"].map(|d| format!("-I{root}/{d}")));
        arguments.extend(board_defines(board).iter().chain(&program.defines).map(|d| format!("-D{d}")));
        arguments.extend([source.to_owned(), "-o".into(), file.display().to_string()]);
        if program.name.starts_with("arduino_") {
            arguments.extend(arduino_core_arguments()?);
        }
        if board.is_rp2040() {
            let own = |file: &str| format!("{root}/programs/rp2040/{file}");
            arguments.extend(["-T".into(), own("memory.ld"), own("start.cc"), "-lgcc".into()]);
        }
        let built = compiler.run(self.directory.path(), program.name, arguments);
        built.map_err(|error| linker_error::explain_linker_error(error, &board.mcu))?;
        let size = image::read_firmware(&file)?.size;
        Ok(Firmware { elf: file, board: board.clone(), size })
    }
}

/// Arguments for the complete Arduino core, as its own tools build it: the linker drops the parts
/// that a sketch does not use.
fn arduino_core_arguments() -> Result<Vec<String>, Error> {
    let avr = tools::arduino_core_directory()?;
    let (core, variant) = (avr.join("cores/arduino"), avr.join("variants/standard"));
    let entries = std::fs::read_dir(&core).map_err(Error::file("read", &core))?;
    let mut files = Vec::new();
    for entry in entries {
        files.push(entry.map_err(Error::file("read", &core))?.path().display().to_string());
    }
    files.sort();
    let of = |ending: &'static str| files.iter().filter(move |f| f.ends_with(ending)).cloned();
    // Debian's compiler does not define DECIMAL_DIG in C++, which the core's WString.cpp needs.
    let mut arguments: Vec<String> =
        ["-w", "-DARDUINO=10819", "-DDECIMAL_DIG=__DECIMAL_DIG__"].map(String::from).into();
    arguments.extend([&core, &variant].map(|d| format!("-I{}", d.display())));
    arguments.extend(of(".cpp"));
    // The driver of the C++ compiler applies a language option to the following file only.
    arguments.extend(of(".c").flat_map(|file| ["-xc".into(), file]));
    Ok(arguments)
}

const fn strategy_class(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::Periodic => "Periodic",
        Strategy::SingleShot => "Single_Shot",
        Strategy::Anchored => "Anchored",
    }
}

fn board_defines(board: &Board) -> Vec<String> {
    let mut defines = vec![
        format!("F_CPU={}UL", board.clock_hz),
        format!("MCU_STRATEGY={}", strategy_class(board.strategy)),
        format!("MCU_MAX_PERIOD={}UL", board.max_period_us),
        format!("MCU_TICK={}UL", board.tick_us),
        format!("MCU_SOFTWARE_TICK={}UL", board.software_tick_us()),
        format!("MCU_COMPARE_EXCESS={}", u8::from(board.compare_as_paper)),
    ];
    if !board.is_rp2040() {
        defines.push(format!("MCU_PRESCALER={}", board.prescaler));
    }
    if board.inexact {
        defines.push("MCU_INEXACT".into());
    }
    defines
}
