//! Comparison of Thumb instructions and exceptions with QEMU's Cortex-M0 (the micro:bit), an independent
//! simulator: random programs leave the same registers, flags and memory. (QEMU counts no cycles.)

#![expect(clippy::unwrap_used, reason = "a test that cannot run its tools has failed")]

use std::path::Path;
use std::process::Command;

use crate::thumb::{BX_LR, CPSID, CPSIE, ISB, NOP, bytes, mov, movs, poke, set};
use jitterlab_chip::arm::rp2040::run_with_final_state;
use jitterlab_chip::log::Fault;
use jitterlab_chip::{Image, Setup, Stop};

/// The 16 KiB of both: code, vectors and QEMU's part at the end, data, a log of registers, stacks.
const CODE: u32 = 0x2000_0000;
const VECTORS: u32 = 0x2000_2600;
const WRITING: u32 = 0x2000_2700;
const DATA: u32 = 0x2000_2800;
const LOG: u32 = 0x2000_3000;
const PROCESS_STACK: u32 = 0x2000_3e00;
const STACK: u32 = 0x2000_3fc0;
/// Bytes of the log for one record of the registers.
const LOOK: u32 = 4 * 11;

/// Numbers that are the same every time (xorshift).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: u16) -> u16 {
        (self.next() >> 20) as u16 % end
    }

    fn one_of<T: Copy>(&mut self, items: &[T]) -> T {
        items[usize::from(self.below(items.len() as u16))]
    }
}

/// Registers that a piece may use: those from 8 on that nothing else is kept in.
const HIGH: [u16; 2] = [9, 12];

/// An instruction that changes registers and flags alone.
fn plain_instruction(n: &mut Numbers) -> u16 {
    let free = n.below(0x4000) | n.below(2) << 15;
    let any = |n: &mut Numbers| if n.below(3) == 0 { n.one_of(&HIGH) } else { n.below(8) };
    match n.below(9) {
        0 => free & 0x1fff,              // shifts, additions of three
        1 | 2 => 0x2000 | free & 0x1fff, // with a number of eight bits
        3 | 4 => 0x4000 | free & 0x03ff, // of two low registers
        5 => {
            let (to, from) = (any(n), any(n));
            let op = n.one_of(&[0x4400, 0x4500, 0x4600]);
            op | from << 3 | to & 7 | (to & 8) << 4
        }
        6 => n.one_of(&[0xb200, 0xb240, 0xb280, 0xb2c0, 0xba00, 0xba40, 0xbac0]) | free & 0x3f,
        7 => n.one_of(&[0xa000, 0xa800]) | free & 0x07ff, // addresses from PC and SP
        _ => mov(free & 7, 15),
    }
}

/// A load or store through a register that is set before.
fn memory_access(n: &mut Numbers) -> Vec<u16> {
    let (base, other) = (n.below(8), n.below(8));
    let index = (base + 1 + n.below(7)) % 8;
    let mut words = set(base, DATA + 4 * u32::from(n.below(0x100)));
    match n.below(3) {
        0 => {
            let (op, step) =
                n.one_of(&[(0x6000, 4), (0x6800, 4), (0x7000, 1), (0x7800, 1), (0x8000, 2), (0x8800, 2)]);
            let _ = step;
            words.push(op | n.below(32) << 6 | base << 3 | other);
        }
        1 => {
            words.push(movs(index, (n.below(32) * 4) as u8));
            words.push(0x5000 | n.below(8) << 9 | index << 6 | base << 3 | other);
        }
        _ => {
            let list = n.below(255) + 1;
            // The value stored for the base register is undefined, unless it is the first.
            let list = list & !(1 << base) | 1 << ((base + 1) % 8);
            words.push(n.one_of(&[0xc000, 0xc800]) | base << 8 | list);
        }
    }
    words
}

/// A piece of a program that begins at an address.
fn program_piece(n: &mut Numbers, at: u32) -> Vec<u16> {
    match n.below(24) {
        0..=9 => vec![plain_instruction(n)],
        10..=14 => memory_access(n),
        15 => {
            let list = n.below(255) + 1;
            let popped =
                (0..8).fold(0, |to, bit| if list >> bit & 1 != 0 { to | 1 << ((bit * 3) % 8) } else { to });
            vec![0xb400 | list, plain_instruction(n), 0xbc00 | popped]
        }
        16 | 17 => {
            let over = n.below(5);
            let mut words = vec![0xd000 | n.below(14) << 8 | over.wrapping_sub(1) & 0xff];
            words.extend((0..over).map(|_| plain_instruction(n)));
            if over == 0 { vec![NOP] } else { words }
        }
        18 => vec![0xe001, plain_instruction(n), plain_instruction(n), plain_instruction(n)],
        // BL over a jump to a return; the address it left is used.
        19 => vec![0xf000, 0xf801, 0xe001, plain_instruction(n), BX_LR, mov(n.below(8), 14)],
        20 => {
            // A literal, and flags.
            let skip = if at & 2 == 0 { vec![] } else { vec![NOP] };
            let register = n.below(8);
            // Without the flag Q, which this processor has not.
            let literal = [n.next() as u16, n.next() as u16 & 0xf7ff];
            let flags = [0xf380 | register, 0x8800, 0xf3ef, 0x8000 | n.below(8) << 8];
            [skip, vec![0x4800 | register << 8, 0xe001], literal.to_vec(), flags.to_vec()].concat()
        }
        21 => vec![0xdf00 | n.below(256)],
        22 => {
            // A pending exception waits for PRIMASK.
            let pended =
                [vec![CPSID], poke(0xe000_ed04, 1 << 28), vec![0xf3ef, 0x8010 | n.below(8) << 8, CPSIE]]
                    .concat();
            [pended, ISB.to_vec()].concat()
        }
        _ => {
            // On the other stack, and back.
            let there =
                [set(0, PROCESS_STACK), vec![0xf380, 0x8809, movs(1, 2), 0xf381, 0x8814], ISB.to_vec()]
                    .concat();
            let back = [vec![0xdf07, 0xbc04, movs(1, 0), 0xf381, 0x8814], ISB.to_vec()].concat();
            [there, vec![0xb404, plain_instruction(n) & 0x1fff, 0xf3ef, 0x8309, 0xf3ef, 0x8414], back]
                .concat()
        }
    }
}

/// All registers that pieces use, and the flags, go into the log. R0 and R1 are used up.
fn log_registers() -> Vec<u16> {
    let mut words = vec![0xf3ef, 0x8a00, mov(8, 0), mov(0, 11), 0xc0fe];
    for register in [8, 10, 9, 12] {
        words.extend([mov(1, register), 0xc002]);
    }
    words.extend([mov(11, 0), mov(0, 8)]);
    words
}

/// Into R0 the exception's number, into R1 the flags and the state that were stored.
const HANDLER: [u16; 6] = [0xf3ef, 0x8305, 0x9a07, 0x9300, 0x9201, BX_LR];

/// QEMU writes the memory into a file and ends; for the other, the first breakpoint is the end.
fn dump_and_end() -> Vec<u16> {
    let breakpoint = 0xbeab;
    let open = [set(1, WRITING), vec![movs(0, 1), breakpoint]].concat();
    let write = [set(1, WRITING + 12), vec![0x6008, movs(0, 5), breakpoint]].concat();
    let end = [set(1, 0x2_0026), vec![movs(0, 0x18), breakpoint]].concat();
    [open, write, end, vec![0xe7fe]].concat()
}

/// Returns the memory from the beginning, and the number of records in it.
fn random_program(seed: u64) -> (Vec<u8>, u32) {
    let mut n = Numbers(seed);
    let mut words = poke(0xe000_ed08, VECTORS);
    words.extend([set(0, LOG), vec![mov(11, 0)], set(0, STACK), vec![mov(13, 0)]].concat());
    words.extend([0xe000 + HANDLER.len() as u16 - 1].into_iter().chain(HANDLER));
    let handler = CODE + 2 * (words.len() - HANDLER.len()) as u32;
    let mut looks = 0;
    while words.len() * 2 < (VECTORS - CODE) as usize - 400 && (looks + 1) * LOOK < PROCESS_STACK - LOG - 0x80
    {
        for _ in 0..12 {
            words.extend(program_piece(&mut n, CODE + 2 * words.len() as u32));
        }
        words.extend(log_registers());
        looks += 1;
    }
    words.extend(dump_and_end());
    let mut memory = bytes(&words);
    memory.resize((DATA - CODE) as usize, 0);
    let mut put = |at: u32, values: &[u32]| {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        memory[(at - CODE) as usize..][..bytes.len()].copy_from_slice(&bytes);
    };
    put(VECTORS, &[handler | 1; 16]);
    put(VECTORS, &[STACK, CODE | 1]);
    // The file's name, its mode of opening, and the part of the memory to write.
    put(WRITING, &[WRITING + 0x20, 5, 4, 0, DATA, LOG + looks * LOOK - DATA]);
    put(WRITING + 0x20, &[u32::from_le_bytes(*b"dump")]);
    memory.extend((0..0x400).flat_map(|k: u16| (k.wrapping_mul(0x9e37)).to_le_bytes()));
    (memory, looks)
}

fn run_on_qemu(directory: &Path, memory: &[u8]) -> Vec<u8> {
    let vectors = (VECTORS - CODE) as usize;
    std::fs::write(directory.join("memory.bin"), memory).unwrap();
    std::fs::write(directory.join("vectors.bin"), &memory[vectors..vectors + 64]).unwrap();
    let output = Command::new("timeout")
        .args(["20", "qemu-system-arm"])
        .args(["-M", "microbit", "-display", "none", "-monitor", "none", "-serial", "none"])
        .args(["-semihosting-config", "enable=on,target=native"])
        .args(["-device", "loader,file=vectors.bin,addr=0"])
        .args(["-device", "loader,file=memory.bin,addr=0x20000000"])
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::read(directory.join("dump")).unwrap()
}

#[test]
fn random_programs_end_alike() {
    if Command::new("qemu-system-arm").arg("--version").output().is_err() {
        let required = std::env::var("CI").is_ok_and(|v| v == "true")
            || std::env::var_os("JITTERLAB_REQUIRE_ALL").is_some();
        assert!(!required, "qemu-system-arm is not installed");
        return eprintln!("skipped: qemu-system-arm is not installed");
    }
    let directory = tempfile::tempdir().unwrap();
    for seed in 1..=8 {
        let (memory, looks) = random_program(seed * 0x9e37_79b9_7f4a_7c15);
        let theirs = run_on_qemu(directory.path(), &memory);
        let image = Image { flash: vec![(CODE, memory)], entry: Some(CODE), ..Image::default() };
        let (log, _, _, ours) =
            run_with_final_state(&Setup { max_cycles: 1_000_000, ..Setup::from_image(image) });
        assert!(matches!(log.stop, Stop::Crashed { fault: Fault::Breakpoint, .. }), "{seed}: {:?}", log.stop);
        let ours = &ours[(DATA - CODE) as usize..][..theirs.len()];
        assert_eq!(theirs.len() as u32, LOG - DATA + looks * LOOK);
        let place = ours.chunks(4).zip(theirs.chunks(4)).position(|(a, b)| a != b);
        let word = |memory: &[u8], at: usize| u32::from_le_bytes(memory[4 * at..][..4].try_into().unwrap());
        let told = place.map(|at| {
            let log = (4 * at)
                .checked_sub((LOG - DATA) as usize)
                .map(|at| (at / LOOK as usize, at % LOOK as usize / 4));
            format!("{at}: {:#x}, not {:#x}; look and register {log:?}", word(ours, at), word(&theirs, at))
        });
        assert_eq!(told, None, "seed {seed}");
        let taken: u64 = log.vectors.iter().map(|vector| vector.count).sum();
        assert!(looks >= 40 && taken > 40, "{looks} looks, {taken} exceptions");
    }
}
