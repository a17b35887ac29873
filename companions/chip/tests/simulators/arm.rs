//! Cycles on the Cortex-M0+: its Technical Reference Manual (DDI 0484C), table 3-1 and section 3.6.1, and the
//! data sheet of the RP2040.

use crate::thumb::{
    BKPT, BX_LR, CPSID, CPSIE, ISB, NOP, WFI, adds, bytes, load, lsls, mov, movs, poke, set, store,
};
use jitterlab_chip::arm::rp2040::{self, run_with_final_state};
use jitterlab_chip::log::{Fault, FindingKind};
use jitterlab_chip::{Image, Log, Setup, Stop};

const RAM: u32 = 0x2000_0000;
/// Addresses of the vectors, and of their handlers: one for SysTick, one for each interrupt.
const VECTORS: u32 = 0x2001_0000;
const HANDLERS: u32 = 0x2001_1000;
const SYSTICK: u8 = 15;
const LINE: u8 = 16;

/// Runs instructions from the beginning of the memory to a breakpoint behind them. Every handler moves R7 up and returns.
fn run(program: &[u16]) -> (Log, [u32; 16]) {
    let code = [program, &[BKPT]].concat();
    let vectors = [HANDLERS | 1; 48].iter().flat_map(|handler| handler.to_le_bytes()).collect();
    let flash = vec![(RAM, bytes(&code)), (VECTORS, vectors), (HANDLERS, bytes(&[adds(7, 1), BX_LR]))];
    let image = Image { flash, entry: Some(RAM | 1), ..Image::default() };
    let setup = Setup {
        clock_hz: 125_000_000,
        max_cycles: 1_000_000,
        record_entries: true,
        ..Setup::from_image(image)
    };
    let (log, registers, ..) = run_with_final_state(&setup);
    let end = RAM + 2 * program.len() as u32;
    let at_end =
        matches!(log.stop, Stop::Crashed { fault: Fault::Breakpoint, address, .. } if address == end);
    assert!(at_end, "{:?}, not {end:#x}", log.stop);
    (log, registers)
}

/// Cycles of instructions beyond those before them.
fn cycles(before: &[u16], program: &[u16]) -> u64 {
    run(&[before, program].concat()).0.cycles - run(before).0.cycles
}

#[test]
fn instructions_take_what_the_table_says() {
    let none: &[u16] = &[];
    let pointers =
        [movs(0, 0x20), lsls(0, 0, 24), movs(1, 0xd0), lsls(1, 1, 24), movs(2, 0x40), lsls(2, 2, 24)];
    let pointers = [&pointers[..], &set(3, RAM + 0x1000)].concat();
    for (what, before, program, takes) in [
        ("MOVS", none, &[movs(0, 1)][..], 1),
        ("MOV", none, &[mov(8, 0)], 1),
        ("ADDS, ADCS, SUBS, RSBS", none, &[0x1840, 0x4148, 0x1a40, 0x4240], 4),
        ("MULS", none, &[0x4348], 1),
        ("CMP, CMN, TST", none, &[0x4288, 0x42c8, 0x4208], 3),
        ("LSLS, ASRS, RORS", none, &[0x4088, 0x1008, 0x41c8], 3),
        ("SXTH, UXTB, REV", none, &[0xb208, 0xb2c8, 0xba08], 3),
        ("ADD and SUB with SP", none, &[0xb082, 0xa801, 0xb002], 3),
        ("LDR and STR", &pointers, &[load(4, 3, 0), store(4, 3, 0)], 4),
        ("LDRH, LDRB, LDRSH, STRB", &pointers, &[0x881c, 0x781c, 0x5f5c, 0x701c], 8),
        ("LDR of a literal", none, &[0x4800], 2),
        ("LDR and STR with SP", none, &[0xb082, 0x9001, 0x9801, 0xb002], 6),
        ("LDR and STR at the single-cycle port", &pointers, &[load(4, 1, 0x10), store(4, 1, 0x10)], 2),
        ("LDR behind the APB bridge", &pointers, &[load(4, 2, 0)], 4),
        ("STR behind the APB bridge", &pointers, &[store(4, 2, 0)], 5),
        ("LDM of 1, 4, 8", &pointers, &[0xcb10, 0xcbf0, 0xcbff], 2 + 5 + 9),
        ("STM of 1, 4", &pointers, &[0xc310, 0xc3f0], 2 + 5),
        ("PUSH of 1, 5; POP of 5, 1", none, &[0xb401, 0xb51e, 0xbc3e, 0xbc01], 2 + 6 + 6 + 2),
        ("B", none, &[0xe7ff], 2),
        ("B that is taken, and not", none, &[movs(0, 0), 0xd0ff, 0xd1ff], 1 + 2 + 1),
        ("BL and back", none, &[0xf000, 0xf801, 0xe000, BX_LR], 3 + 2 + 2),
        ("MRS, MSR, DSB", none, &[0xf3ef, 0x8000, 0xf380, 0x8800, 0xf3bf, 0x8f4f], 9),
        ("CPS, NOP, SEV", none, &[CPSID, CPSIE, NOP, 0xbf40], 4),
        ("WFE with an event", none, &[0xbf40, 0xbf20], 3),
    ] {
        assert_eq!(cycles(before, program), takes, "{what}");
    }
    // Branches to registers, over three instructions.
    let target = |words: usize| set(0, RAM + 2 * words as u32 + 1);
    for (what, branch, takes) in [("BX", 0x4700, 2), ("BLX", 0x4780, 2), ("MOV to PC", mov(15, 0), 2)] {
        let program = [target(11), vec![branch, NOP, NOP, NOP]].concat();
        assert_eq!(run(&program).0.cycles, 7 + takes, "{what}");
    }
    let pop = [target(13), vec![0xb401, 0xb402, 0xbd02, NOP, NOP, NOP]].concat();
    assert_eq!(run(&pop[..pop.len()]).0.cycles, 7 + 2 + 2 + 5, "POP with PC, of two");
}

/// Vectors in memory, and the first eight interrupts enabled.
fn enable_interrupts() -> Vec<u16> {
    [poke(0xe000_ed08, VECTORS), poke(0xe000_e100, 0xff)].concat()
}

fn pend(lines: u8) -> Vec<u16> {
    [set(2, 0xe000_e200), vec![movs(1, lines), store(1, 2, 0), NOP, NOP]].concat()
}

#[test]
fn an_interrupt_takes_15_cycles_to_its_handler() {
    let (log, registers) = run(&[enable_interrupts(), pend(1)].concat());
    let vector = &log.vectors[0];
    assert_eq!((vector.number, vector.name.as_str(), vector.count), (LINE, "TIMER_IRQ_0", 1));
    assert_eq!((vector.min_latency_cycles, vector.max_latency_cycles), (15, 15));
    // The handler: an addition, and BX with the cycles of the return.
    assert_eq!((vector.cycles, registers[7]), (15 + 1 + 2 + 11, 1));
    assert_eq!(registers[13], 0x2004_2000, "the frame is off the stack");
    assert_eq!(log.stack.unwrap().deepest, 32);
}

#[test]
fn a_second_interrupt_follows_without_the_frame() {
    let (log, registers) = run(&[enable_interrupts(), pend(3)].concat());
    let entered: Vec<_> = log.entries.iter().map(|entry| (entry.vector, entry.cycle)).collect();
    let [(first, at), (second, then)] = entered[..] else { panic!("{entered:?}") };
    assert_eq!((first, second, then - at), (LINE, LINE + 1, 15 + 1 + 2));
    let latencies: Vec<u64> = log.vectors.iter().map(|vector| vector.max_latency_cycles).collect();
    assert_eq!((latencies, registers[7]), (vec![15, 15 + 1 + 2 + 6], 2));
    assert_eq!(log.stack.unwrap().deepest, 32);
}

/// Starts SysTick once with its interrupt, this many cycles ahead.
fn tick_after(cycles: u32) -> Vec<u16> {
    let control =
        [set(3, 0xe000_e010), set(4, cycles), vec![store(4, 3, 4), store(4, 3, 8), movs(4, 7)]].concat();
    [control, vec![movs(5, 0), store(4, 3, 0), store(5, 3, 4)]].concat()
}

#[test]
fn a_more_urgent_one_goes_first_if_it_comes_while_the_frame_is_stored() {
    let mut orders = Vec::new();
    for after in 4..60 {
        // The interrupt has the lowest priority, SysTick the highest.
        let prepared =
            [enable_interrupts(), poke(0xe000_e400, 0xc0), set(2, 0xe000_e200), vec![movs(1, 1)]].concat();
        let program = [prepared, tick_after(after), vec![store(1, 2, 0)], vec![NOP; 120]].concat();
        let (log, registers) = run(&program);
        let tick = log.vectors.iter().find(|v| v.number == SYSTICK).unwrap();
        // It waits at most for its own entry and the rest of a store of two cycles.
        assert!((6..=16).contains(&tick.max_latency_cycles), "{after}: {tick:?}");
        assert_eq!(registers[7], 2);
        let (first, second) = (&log.entries[0], &log.entries[1]);
        let follows = second.cycle - first.cycle;
        orders.push((first.vector, tick.max_latency_cycles < 15, follows, log.stack.unwrap().deepest));
    }
    let count = |wanted: fn(&(u8, bool, u64, u32)) -> bool| orders.iter().filter(|o| wanted(o)).count();
    // In the place of the other: while the frame is stored, and while the vector is fetched.
    assert_eq!(count(|o| o.0 == SYSTICK && o.1 && o.2 == 18 && o.3 == 32), 9, "{orders:?}");
    assert_eq!(count(|o| o.0 == SYSTICK && o.1 && o.2 == 24 && o.3 == 32), 6, "{orders:?}");
    // On a frame above that of a handler that runs; on the frame that the return was about to load.
    assert!(count(|o| o.0 == LINE && o.3 == 64) >= 1, "{orders:?}");
    assert!(count(|o| o.0 == LINE && o.1 && o.3 == 32) >= 11, "{orders:?}");
}

#[test]
fn loads_and_stores_of_several_registers_are_given_up_for_an_interrupt() {
    for after in 4..40 {
        // SysTick interrupts in the middle of PUSH and POP, which take 9 cycles.
        let program =
            [enable_interrupts(), tick_after(after), [0xb4ff, 0xbcff].repeat(8), vec![CPSID]].concat();
        let (log, registers) = run(&program);
        let tick = log.vectors.iter().find(|v| v.number == SYSTICK).unwrap();
        assert!(tick.max_latency_cycles <= 17, "{after}: {tick:?}");
        assert_eq!(tick.min_latency_cycles, 15, "{after}: {tick:?}");
        assert_eq!(registers[13], 0x2004_2000, "{after}");
    }
}

#[test]
fn a_sleep_ends_by_what_is_pending_even_with_interrupts_off() {
    let program =
        [enable_interrupts(), vec![CPSID], tick_after(5_000), vec![WFI, CPSIE], ISB.to_vec(), vec![CPSID]]
            .concat();
    let (log, registers) = run(&program);
    let tick = log.vectors.iter().find(|v| v.number == SYSTICK).unwrap();
    // CPSIE, then the entry.
    assert_eq!((tick.max_latency_cycles, tick.count, registers[7]), (1 + 15, 1, 1));
    assert!((4_900..5_000).contains(&log.asleep_cycles), "{}", log.asleep_cycles);
    assert_eq!(log.entries_from_sleep, 1);
    // A sleep does not count as locked: the stretch ends with its beginning.
    assert!(log.longest_off.is_none_or(|off| off.cycles < 60), "{:?}", log.longest_off);
    // With nothing that could end it, it is over.
    let image = Image { flash: vec![(RAM, bytes(&[CPSID, WFI]))], entry: Some(RAM), ..Image::default() };
    let (log, ..) = run_with_final_state(&Setup::from_image(image));
    assert!(matches!(log.stop, Stop::Asleep(jitterlab_chip::log::FinalSleep::Done)), "{:?}", log.stop);
}

/// A hard fault of the chip ends the run, with the reason and the address.
#[test]
fn what_cannot_be_is_a_hard_fault() {
    let fault = |program: &[u16]| {
        let image = Image { flash: vec![(RAM, bytes(program))], entry: Some(RAM), ..Image::default() };
        match run_with_final_state(&Setup::from_image(image)).0.stop {
            Stop::Crashed { fault, address, .. } => (fault, address - RAM),
            other => panic!("{other:?}"),
        }
    };
    let at = |address: u32, op: u16| [set(0, address), vec![op]].concat();
    assert_eq!(fault(&at(RAM + 2, load(1, 0, 0))), (Fault::NoAccess(RAM + 2), 14), "not aligned");
    assert_eq!(fault(&at(0x3000_0000, load(1, 0, 0))), (Fault::NoAccess(0x3000_0000), 14), "no memory");
    assert_eq!(fault(&at(0x1000_0000, store(1, 0, 0))), (Fault::NoAccess(0x1000_0000), 14), "flash");
    assert_eq!(fault(&at(RAM, 0x4700)), (Fault::NoThumb, 14));
    assert_eq!(fault(&[0xde00]), (Fault::NoInstruction(0xde00), 0));
    assert_eq!(fault(&[CPSID, 0xdf00]), (Fault::NoCall, 2));
    assert_eq!(fault(&at(0x5000_0001, 0x4700)).0, Fault::NoCode);
}

/// A firmware in flash begins by its vectors, behind the second stage of the ROM. Assumptions about its time
/// are reported.
#[test]
fn code_in_flash_and_an_unknown_clock_are_said() {
    let vectors = [0x2004_1000u32, 0x1000_0109].iter().flat_map(|word| word.to_le_bytes()).collect();
    let code = bytes(&[adds(7, 5), CPSID, WFI]);
    let flash = vec![(0x1000_0000, vec![0; 256]), (0x1000_0100, vectors), (0x1000_0108, code)];
    let setup = Setup { clock_hz: 6_500_000, ..Setup::from_image(Image { flash, ..Image::default() }) };
    let (_, registers, ..) = run_with_final_state(&setup);
    assert_eq!((registers[7], registers[13]), (5, 0x2004_1000));
    let found = rp2040::run(&setup).findings;
    let found: Vec<FindingKind> = found.iter().map(|of| of.kind).collect();
    assert_eq!(found, [FindingKind::FlashAssumedFast, FindingKind::ClockDiffers(None)]);
    assert_eq!(rp2040::clock_set_by_firmware(&setup.image), None);

    // From the crystal: REF_CTRL is 2.
    let image = Image {
        flash: vec![(RAM, bytes(&[poke(0x4000_8030, 2), vec![CPSID, WFI]].concat()))],
        ..Image::default()
    };
    assert_eq!(rp2040::clock_set_by_firmware(&image), Some(12_000_000));
    let log = rp2040::run(&Setup { clock_hz: 125_000_000, ..Setup::from_image(image) });
    assert_eq!(log.findings[0].kind, FindingKind::ClockDiffers(Some(12_000_000)));
}
