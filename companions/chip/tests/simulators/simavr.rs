//! Comparison of instructions with simavr, an independent simulator: random programs leave the same registers
//! and the same memory after the same number of cycles. (Its interrupts and peripherals are not compared:
//! they do not follow the manual.)

#![expect(clippy::unwrap_used, reason = "a test that cannot run its tools has failed")]

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use jitterlab_chip::avr::Avr;
use jitterlab_chip::avr::chips::Chip;
use jitterlab_chip::{Image, Setup, Stop};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// Compiles the other simulator's runner; `None` if it is not installed.
fn simavr(directory: &Path) -> Option<PathBuf> {
    let required =
        std::env::var("CI").is_ok_and(|v| v == "true") || std::env::var_os("JITTERLAB_REQUIRE_ALL").is_some();
    if !Path::new("/usr/include/simavr/sim_avr.h").exists() {
        assert!(!required, "libsimavr-dev is not installed");
        eprintln!("skipped: libsimavr-dev is not installed");
        return None;
    }
    let runner = directory.join("runner");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/simulators/simavr.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-I/usr/include/simavr", source, "-o"]).arg(&runner).args(["-lsimavr", "-lelf"]);
    assert!(compiler.status().unwrap().success());
    Some(runner)
}

/// Words that change registers and flags only, each with a mask of the bits that are free.
const PLAIN: [(u16, u16); 41] = [
    (0x0100, 0x00ff), // MOVW
    (0x0200, 0x00ff), // MULS
    (0x0300, 0x0077), // MULSU
    (0x0308, 0x0077), // FMUL
    (0x0380, 0x0077), // FMULS
    (0x0388, 0x0077), // FMULSU
    (0x0400, 0x03ff), // CPC
    (0x0800, 0x03ff), // SBC
    (0x0c00, 0x03ff), // ADD
    (0x1000, 0x03ff), // CPSE
    (0x1400, 0x03ff), // CP
    (0x1800, 0x03ff), // SUB
    (0x1c00, 0x03ff), // ADC
    (0x2000, 0x03ff), // AND
    (0x2400, 0x03ff), // EOR
    (0x2800, 0x03ff), // OR
    (0x2c00, 0x03ff), // MOV
    (0x3000, 0x0fff), // CPI
    (0x4000, 0x0fff), // SBCI
    (0x5000, 0x0fff), // SUBI
    (0x6000, 0x0fff), // ORI
    (0x7000, 0x0fff), // ANDI
    (0xe000, 0x0fff), // LDI
    (0x9400, 0x01f0), // COM
    (0x9401, 0x01f0), // NEG
    (0x9402, 0x01f0), // SWAP
    (0x9403, 0x01f0), // INC
    (0x9405, 0x01f0), // ASR
    (0x9406, 0x01f0), // LSR
    (0x9407, 0x01f0), // ROR
    (0x940a, 0x01f0), // DEC
    (0x9408, 0x0060), // SEC, SEN, SES, SET: not SEI
    (0x9488, 0x0070), // CLC to CLI
    (0x9600, 0x00ff), // ADIW
    (0x9700, 0x00ff), // SBIW
    (0x9c00, 0x03ff), // MUL
    (0xf800, 0x01f7), // BLD
    (0xfa00, 0x01f7), // BST
    (0xfc00, 0x01f7), // SBRC
    (0xfe00, 0x01f7), // SBRS
    (0xb63f, 0x0000), // IN r3, SREG
];

/// Words that reach memory through a pointer, which is set before; not from or to the pointer itself.
const MEMORY: [u16; 20] = [
    0x9004, 0x9005, // LPM Z, Z+
    0x900c, 0x900d, 0x900e, // LD X, X+, -X
    0x9009, 0x900a, 0x8008, 0x800b, // LD Y+, -Y, Y, Y+3
    0x9001, 0x9002, 0x8000, 0x8005, // LD Z+, -Z, Z, Z+5
    0x920c, 0x920d, 0x920e, // ST
    0x9209, 0x820b, 0x9202, 0x8205,
];

/// A piece of a random program.
#[derive(Debug, Clone)]
enum Piece {
    Plain(u16),
    /// Through a pointer that is set to an address before.
    Memory(u16, u16),
    Direct {
        store: bool,
        register: u8,
        address: u16,
    },
    /// A branch over this many of the following words.
    Branch {
        word: u16,
        over: u16,
    },
    Jump {
        over: u16,
        long: bool,
    },
    /// PUSH, the pieces in between, POP.
    Stack(u8, u8),
    /// A call of the next word and a return from it: the return address is used up at once.
    Call {
        long: bool,
    },
}

fn piece() -> impl Strategy<Value = Piece> {
    let plain = (0..PLAIN.len(), any::<u16>()).prop_map(|(index, free)| {
        let (word, mask) = PLAIN[index];
        Piece::Plain(word | free & mask)
    });
    prop_oneof![
        12 => plain,
        4 => (0..MEMORY.len(), 0u16..26, 0x210u16..0x800)
            .prop_map(|(index, register, address)| Piece::Memory(MEMORY[index] | register << 4, address)),
        2 => (any::<bool>(), 0u8..32, 0x200u16..0x800)
            .prop_map(|(store, register, address)| Piece::Direct { store, register, address }),
        2 => (0u16..16, 0u16..5).prop_map(|(flag, over)| {
            // Not by the I bit, which stays off.
            Piece::Branch { word: 0xf000 | (flag & 8) << 7 | (flag & 7).min(6) | over << 3, over }
        }),
        1 => (0u16..5, any::<bool>()).prop_map(|(over, long)| Piece::Jump { over, long }),
        1 => (0u8..32, 0u8..32).prop_map(|(from, to)| Piece::Stack(from, to)),
        1 => any::<bool>().prop_map(|long| Piece::Call { long }),
    ]
}

/// The program's words, with the stack pointer set before and the end after it.
fn assemble(pieces: &[Piece]) -> Vec<u16> {
    let ldi = |register: u16, value: u16| 0xe000 | (value & 0xf0) << 4 | (register - 16) << 4 | value & 0xf;
    let mut words = vec![ldi(16, 0x08), 0xbf0e, ldi(16, 0xff), 0xbf0d]; // SP = 0x8ff
    for piece in pieces {
        let at = words.len() as u16;
        match *piece {
            Piece::Plain(word) => {
                words.push(word);
                // The skipped piece is complete: one word, or two.
                let skips = word & 0xfc00 == 0x1000 || word & 0xfc00 == 0xfc00;
                words.extend(match (skips, word & 1) {
                    (false, _) => &[][..],
                    (true, 0) => &[0x9403],
                    (true, _) => &[0x9180, 0x0200],
                });
            }
            Piece::Memory(word, address) => {
                let pointer = match (word & 0x1000 != 0, word & 0xc) {
                    (true, 0xc) => 26,
                    (true, 8) | (false, 8 | 12) => 28,
                    _ => 30,
                };
                words.extend([ldi(pointer, address & 0xff), ldi(pointer + 1, address >> 8), word]);
            }
            Piece::Direct { store, register, address } => {
                words.extend([0x9000 | u16::from(store) << 9 | u16::from(register) << 4, address]);
            }
            Piece::Branch { word, over } => {
                words.push(word);
                words.extend((0..over).map(|_| 0));
            }
            Piece::Jump { over, long: false } => {
                words.push(0xc000 | over);
                words.extend((0..over).map(|_| 0x9403)); // INC r0
            }
            Piece::Jump { over, long: true } => {
                words.extend([0x940c, at + 2 + over]);
                words.extend((0..over).map(|_| 0x9403));
            }
            Piece::Stack(from, to) => {
                words.extend([0x920f | u16::from(from) << 4, 0x900f | u16::from(to) << 4]);
            }
            // The callee is a RET; a jump after the call leads over it.
            Piece::Call { long: false } => words.extend([0xd001, 0xc001, 0x9508]),
            Piece::Call { long: true } => words.extend([0x940e, at + 3, 0xc001, 0x9508]),
        }
    }
    words.extend([0; 4]);
    words.extend([0x94f8, ldi(16, 1), 0xbf03, 0x9588, 0xcffe]); // CLI, SMCR = SE, SLEEP
    words
}

#[test]
fn random_programs_end_alike() {
    let directory = tempfile::tempdir().unwrap();
    let Some(runner) = simavr(directory.path()) else { return };
    let file = directory.path().join("program.bin");
    let mut test = TestRunner::new(Config { cases: 400, failure_persistence: None, ..Config::default() });
    test.run(&prop::collection::vec(piece(), 1..300), |pieces| {
        let words = assemble(&pieces);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        std::fs::write(&file, &bytes).unwrap();
        for mcu in ["atmega328p", "atmega2560"] {
            let chip = Chip::by_name(mcu).unwrap();
            let mut theirs = Command::new(&runner);
            let theirs = theirs.arg(mcu).arg(&file).arg(chip.ram_start.to_string()).output().unwrap();
            let theirs = String::from_utf8(theirs.stdout).unwrap();
            let image = Image { flash: vec![(0, bytes.clone())], ..Image::default() };
            let (log, registers, status, memory) =
                Avr::new(chip, &Setup::from_image(image)).run_with_final_state();
            prop_assert!(matches!(log.stop, Stop::Asleep(_)), "{:?}", log.stop);
            let mut ours = format!("1 {} {status:08b}", log.cycles);
            for byte in registers.iter().chain(&memory) {
                write!(ours, " {byte:02x}").unwrap();
            }
            let place = ours.split(' ').zip(theirs.split_whitespace()).position(|(a, b)| a != b);
            prop_assert_eq!(
                place.map(|p| (p, ours.split(' ').nth(p), theirs.split_whitespace().nth(p))),
                None
            );
        }
        Ok(())
    })
    .unwrap();
}
