//! Behaviour of the chip, one small firmware each, against the manual and the list of differences in docs/evidence/mcu.md.

use std::fs;

use jitterlab_chip::Stimulus;
use jitterlab_mcu::{
    Board, Compiler, FinalSleep, Log, Pin, Program, Recording, Setup, SimulationLength, Stop, Strategy,
    simulate,
};
use jitterlab_model::Warning;
use jitterlab_model::firmware::{FirmwareFinding, UnsimulatedPart};

use super::bench;

/// Builds a program for a chip at 16 MHz and simulates it for 100 ms, or as changed by `change`.
pub(super) fn run_on(
    compiler: &Compiler,
    mcu: &str,
    program: &str,
    change: impl FnOnce(&mut Setup),
) -> Recording {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("program.cc");
    let uart = "#include <mcu/device/avr_uart.h>\nstatic void send(uint8_t c) { mcu::AVR_UART<F_CPU>::put(char(c)); }\n";
    let head = "#include <avr/eeprom.h>\n#include <avr/interrupt.h>\n#include <avr/io.h>\n#include <avr/power.h>\n\
                #include <avr/sleep.h>\n#include <avr/wdt.h>\n\
                static void done() { cli(); SMCR = 1; for (;;) sleep_cpu(); }\n";
    fs::write(&source, format!("{}{head}{program}", if program.contains("send(") { uart } else { "" }))
        .unwrap();
    let board = Board::with_ideal_timing(Strategy::Anchored, 64, 1_000).with_chip(mcu, 16_000_000);
    let firmware = compiler.build_file(source.to_str().unwrap(), &Program::EMPTY, &board).unwrap();
    let mut setup = Setup {
        clock_hz: Some(16_000_000),
        pins: ["B0", "B1"].map(|pin| pin.parse().unwrap()).into(),
        length: SimulationLength::Time(100_000_000),
        ..Setup::new(&firmware.elf, 0)
    };
    change(&mut setup);
    simulate(&setup).unwrap()
}

fn run(compiler: &Compiler, program: &str) -> Recording {
    run_on(compiler, "atmega328p", program, |_| ())
}

fn findings(recording: &Recording) -> Vec<&FirmwareFinding> {
    let warnings = recording.warnings.iter();
    warnings.filter_map(|w| if let Warning::Firmware(finding) = w { Some(finding) } else { None }).collect()
}

pub(super) fn done(log: &Log) -> &[u8] {
    assert_eq!(log.stop, Stop::Asleep(FinalSleep::Done));
    &log.serial
}

/// Section 7.7: "it will always return to the main program and execute one more instruction before any pending interrupt is served".
#[test]
fn one_instruction_runs_after_reti_and_after_sei() {
    let Some(compiler) = bench() else { return };
    // Both matches are pending before SEI. The handlers save the count of r2, which shows the instructions
    // run in between.
    let program = "
        ISR(TIMER1_COMPA_vect, ISR_NAKED) { asm volatile(\"mov r4, r2\\n\\treti\"); }
        ISR(TIMER1_COMPB_vect, ISR_NAKED) { asm volatile(\"mov r5, r2\\n\\treti\"); }
        int main() {
            OCR1A = 10; OCR1B = 12; TCCR1B = _BV(CS10); TIMSK1 = _BV(OCIE1A) | _BV(OCIE1B);
            asm volatile(\".rept 60\\n\\tnop\\n\\t.endr\\n\\tclr r2\\n\\tsei\\n\\tinc r2\\n\\tinc r2\\n\\tinc r2\\n\\tinc r2\" ::: \"r2\", \"r4\", \"r5\");
            uint8_t first, second;
            asm volatile(\"cli\\n\\tmov %0, r4\\n\\tmov %1, r5\" : \"=r\"(first), \"=r\"(second));
            send(first); send(second);
            done();
        }";
    assert_eq!(done(&run(&compiler, program).log), [1, 2], "one after SEI, one more after RETI");
    // avr-gcc restores SREG by OUT.
    let restored =
        program.replace("sei", "ldi r24, 0x80\\n\\tout 0x3f, r24").replace("\"r2\",", "\"r2\", \"r24\",");
    assert_eq!(done(&run(&compiler, &restored).log), [1, 2]);
}

/// Section 16.11.9: flags do not depend on enables.
#[test]
fn a_flag_set_while_its_interrupt_is_off_fires_when_it_is_enabled() {
    let Some(compiler) = bench() else { return };
    let program = "
        ISR(TIMER1_COMPA_vect) { PINB = 1; }
        int main() {
            DDRB = 3; OCR1A = 100; TCCR1B = _BV(CS10);
            asm volatile(\".rept 200\\n\\tnop\\n\\t.endr\");
            sei();
            PINB = 2;
            TIMSK1 = _BV(OCIE1A);
            asm volatile(\"nop\\n\\tnop\\n\\tnop\");
            PINB = 2;
            done();
        }";
    let log = run(&compiler, program).log;
    assert_eq!(log.edges.iter().map(|e| e.pin).collect::<Vec<_>>(), [1, 0, 1]);
    assert_eq!(log.vectors[0].max_latency_cycles, log.vectors[0].min_latency_cycles);
}

/// Table 10-1: in power-down and standby no timer's clock runs, so its enabled interrupts never occur.
#[test]
fn power_down_on_a_timer_sleeps_for_ever_and_says_so() {
    let Some(compiler) = bench() else { return };
    let program = |mode: &str| {
        format!(
            "ISR(TIMER1_COMPA_vect) {{ PINB = 1; }}
             int main() {{
                 DDRB = 3; OCR1A = 16000; TCCR1B = _BV(WGM12) | _BV(CS10); TIMSK1 = _BV(OCIE1A);
                 set_sleep_mode({mode}); sleep_enable(); sei();
                 for (;;) sleep_cpu();
             }}"
        )
    };
    assert_eq!(run(&compiler, &program("SLEEP_MODE_IDLE")).log.edges.len(), 99);
    for (mode, name) in [("SLEEP_MODE_PWR_DOWN", "power-down"), ("SLEEP_MODE_STANDBY", "standby")] {
        let recording = run(&compiler, &program(mode));
        assert!(recording.log.edges.is_empty(), "{mode}");
        let FirmwareFinding::AsleepForEver { mode, place, .. } = findings(&recording)[0] else {
            panic!("{:?}", recording.warnings)
        };
        assert_eq!((mode.as_str(), place.function.as_deref()), (name, Some("main")));
    }
}

/// A pin change wakes from power-down (table 10-1), after the oscillator's start-up time, while no timer counts.
#[test]
fn a_pin_change_wakes_from_power_down() {
    let Some(compiler) = bench() else { return };
    let program = "
        FUSES = { 0xe2, 0xd9, 0xff }; // the RC oscillator: 6 cycles
        ISR(PCINT2_vect) { PINB = 1; }
        int main() {
            DDRB = 3; PCMSK2 = _BV(PCINT20); PCICR = _BV(PCIE2); TCCR1B = _BV(CS12) | _BV(CS10);
            set_sleep_mode(SLEEP_MODE_PWR_DOWN); sleep_enable(); sei();
            sleep_cpu(); sleep_cpu();
            send(uint8_t(TCNT1));
            done();
        }";
    let pulse = Stimulus::from_pulse_train("D4".parse().unwrap(), 20_000_000, 5_000_000);
    let recording = run_on(&compiler, "atmega328p", program, |setup| setup.stimuli.push(pulse.clone()));
    let starts: Vec<u64> =
        recording.log.edge_cycles(0, true).chain(recording.log.edge_cycles(0, false)).collect();
    // The change at 20 ms, 6 cycles to start, 8 to wake and enter, the vector, and the handler's first instructions.
    let [first, second] = starts[..] else { panic!("{starts:?}") };
    assert!((320_000..320_060).contains(&first) && (400_000..400_060).contains(&second), "{starts:?}");
    assert_eq!(done(&recording.log), [0], "1024 cycles of a timer take longer than all of them that ran");
    let unknown = program.replace("FUSES = { 0xe2, 0xd9, 0xff };", "");
    let recording = run_on(&compiler, "atmega328p", &unknown, |setup| setup.stimuli.push(pulse));
    assert!(matches!(findings(&recording)[0], FirmwareFinding::StartUpAssumed { cycles: 16_384 }));
}

/// A lock of 25 ms: here as on the chip all but one of the overflows are lost, and here this is reported.
#[test]
fn what_a_long_lock_loses_is_counted() {
    let Some(compiler) = bench() else { return };
    let program = "
        #include <util/delay_basic.h>
        static volatile uint8_t overflows = 0;
        ISR(TIMER0_OVF_vect) { overflows = overflows + 1; }
        int main() {
            TCCR0B = _BV(CS01) | _BV(CS00); TIMSK0 = _BV(TOIE0); // every 1.024 ms
            sei();
            for (uint8_t i = 0; i < 10; ++i) { _delay_loop_2(4096); }
            cli();
            for (uint8_t i = 0; i < 25; ++i) { _delay_loop_2(4000); }
            sei();
            asm volatile(\"nop\");
            send(overflows);
            done();
        }";
    let recording = run(&compiler, program);
    assert_eq!(done(&recording.log), [10 + 1]);
    let lost = recording.log.vectors[0].lost;
    assert_eq!(lost, 23);
    assert!(
        matches!(findings(&recording)[0], FirmwareFinding::InterruptsLost { lost: 23, vector, .. } if vector == "TIMER0_OVF")
    );
    let off = recording.report.off.as_ref().unwrap();
    assert!(
        (400_000..401_000).contains(&off.cycles) && off.from.function.as_deref() == Some("main"),
        "{off:?}"
    );
    assert!(off.from.line.as_ref().is_some_and(|line| line.starts_with("program.cc:")), "{off:?}");
}

/// Chapter 17: the prescaler runs freely from reset, and timers 0 and 1 share it. The first count of a
/// started timer comes with the next period of the prescaler, at any position within it.
#[test]
fn the_prescaler_runs_free_and_is_shared() {
    let Some(compiler) = bench() else { return };
    let program = "
        int main() {
            DDRB = _BV(PB1);
            TCCR1A = _BV(COM1A0); OCR1A = 4;
            TCCR1B = _BV(WGM12) | _BV(CS11) | _BV(CS10);
            for (;;) {}
        }";
    // Each fifth count of 64 cycles, on the prescaler's own grid, however long the beginning of main took.
    let log = run(&compiler, program).log;
    let toggles: Vec<u64> = log.edges.iter().map(|e| e.cycle).collect();
    assert_eq!(toggles[0] % 64, 0);
    assert!(toggles.len() > 1_000 && toggles.windows(2).all(|w| w[1] - w[0] == 5 * 64));
    let reset = program
        .replace("for (;;) {}", "asm volatile(\"nop\\n\\tnop\\n\\tnop\"); GTCCR = _BV(PSRSYNC); for (;;) {}");
    let log = run(&compiler, &reset).log;
    assert_ne!(log.edges[0].cycle % 64, 0, "GTCCR moves the grid");
}

/// Section 16.7.2: a write to the counter keeps the next count from matching.
#[test]
fn a_write_to_the_counter_blocks_the_match() {
    let Some(compiler) = bench() else { return };
    let program = "
        int main() {
            OCR1A = 20; TCCR1B = _BV(CS12); // by 256: the write is long over before the next count
            TCNT1 = 20;
            while (TCNT1 < 25) {}
            send(TIFR1 & _BV(OCF1A));
            TCNT1 = 19;
            while (TCNT1 < 25) {}
            send(TIFR1 & _BV(OCF1A));
            done();
        }";
    assert_eq!(done(&run(&compiler, program).log), [0, 2]);
}

/// Chapter 16: PWM, its pins and its double buffering.
#[test]
fn pwm_makes_its_pulses() {
    let Some(compiler) = bench() else { return };
    let fast = "
        int main() {
            DDRB = _BV(PB1); OCR1A = 249;
            TCCR1A = _BV(COM1A1) | _BV(WGM11); TCCR1B = _BV(WGM13) | _BV(WGM12) | _BV(CS10);
            ICR1 = 999; // not before: it can be written only where it is the top (section 16.6)
            for (;;) {}
        }";
    let log = run(&compiler, fast).log;
    let (rises, falls): (Vec<u64>, Vec<u64>) =
        (log.edge_cycles(1, true).collect(), log.edge_cycles(1, false).collect());
    assert!(rises[1..].windows(2).all(|w| w[1] - w[0] == 1_000) && rises.len() > 1_000);
    assert!(rises[1..].iter().zip(falls.iter().filter(|f| **f > rises[1])).all(|(r, f)| f - r == 250));
    let correct = fast.replace("_BV(WGM13) | _BV(WGM12)", "_BV(WGM13)");
    let log = run(&compiler, &correct).log;
    let (rises, falls): (Vec<u64>, Vec<u64>) =
        (log.edge_cycles(1, true).collect(), log.edge_cycles(1, false).collect());
    assert!(rises[1..].windows(2).all(|w| w[1] - w[0] == 2 * 999));
    assert!(rises[1..].iter().zip(falls.iter().filter(|f| **f > rises[1])).all(|(r, f)| f - r == 2 * 249));
    // A new length takes effect at the bottom only: no pulse is cut.
    let changed =
        fast.replace("for (;;) {}", "for (uint16_t n = 100;; n = n == 100 ? 900 : 100) { OCR1A = n - 1; }");
    let log = run(&compiler, &changed).log;
    let (rises, falls): (Vec<u64>, Vec<u64>) =
        (log.edge_cycles(1, true).collect(), log.edge_cycles(1, false).collect());
    let lengths = rises.iter().zip(falls.iter().filter(|f| **f > rises[0])).map(|(r, f)| f - r);
    assert!(lengths.skip(1).all(|length| length == 100 || length == 900));
}

/// Section 16.6: the input capture keeps the moment of an edge. Unlike on the chip, the edge is seen at once,
/// without the cycles of synchroniser and edge detector.
#[test]
fn the_input_capture_keeps_the_moment() {
    let Some(compiler) = bench() else { return };
    let program = "
        int main() {
            TCCR1B = _BV(ICES1) | _BV(CS10);
            while (!(TIFR1 & _BV(ICF1))) {}
            const uint16_t first = ICR1;
            TIFR1 = _BV(ICF1);
            while (!(TIFR1 & _BV(ICF1))) {}
            const uint16_t period = ICR1 - first;
            send(uint8_t(period)); send(uint8_t(period >> 8));
            done();
        }";
    let pulses = Stimulus::from_pulse_train("B0".parse().unwrap(), 1_000_000, 10_000);
    let log = run_on(&compiler, "atmega328p", program, |setup| setup.stimuli.push(pulses)).log;
    assert_eq!(u16::from_le_bytes(done(&log).try_into().unwrap()), 16_000);
}

/// Section 18.9: timer 2 counts a watch crystal, in power-save too.
#[test]
fn a_watch_crystal_counts_through_power_save() {
    let Some(compiler) = bench() else { return };
    let program = "
        static volatile uint8_t seconds = 0;
        ISR(TIMER2_OVF_vect) { PINB = 1; seconds = seconds + 1; }
        int main() {
            DDRB = 1; ASSR = _BV(AS2); TCNT2 = 0; TCCR2A = 0; TCCR2B = _BV(CS22) | _BV(CS20);
            while (ASSR & (_BV(TCN2UB) | _BV(TCR2BUB))) {}
            TIMSK2 = _BV(TOIE2);
            set_sleep_mode(SLEEP_MODE_PWR_SAVE); sleep_enable(); sei();
            while (seconds < 5) sleep_cpu();
            done();
        }";
    let recording = run_on(&compiler, "atmega328p", program, |setup| {
        setup.length = SimulationLength::Time(10_000_000_000);
    });
    let beats: Vec<i64> = recording.log.edges.iter().map(|e| recording.ns(e.cycle)).collect();
    assert_eq!(beats.len(), 5);
    assert!(beats.windows(2).all(|w| (w[1] - w[0] - 1_000_000_000).abs() < 100), "{beats:?}");
    assert!(recording.log.asleep_share() > 0.99);
}

/// Section 11.8: the watchdog interrupts, or resets.
#[test]
fn the_watchdog_bites() {
    let Some(compiler) = bench() else { return };
    let reset = "int main() { DDRB = 1; PINB = 1; wdt_enable(WDTO_15MS); for (;;) {} }";
    let recording = run(&compiler, reset);
    assert!(
        matches!(findings(&recording)[0], FirmwareFinding::WatchdogReset { times: 5 | 6, .. }),
        "{:?}",
        recording.warnings
    );
    let interrupt = "
        ISR(WDT_vect) { PINB = 1; }
        int main() {
            DDRB = 1; cli(); wdt_reset(); WDTCSR = _BV(WDCE) | _BV(WDE); WDTCSR = _BV(WDIE);
            set_sleep_mode(SLEEP_MODE_PWR_DOWN); sleep_enable(); sei();
            for (;;) sleep_cpu();
        }";
    let recording = run(&compiler, interrupt);
    assert_eq!(
        recording.log.edges.len(),
        6,
        "every 16 ms: its own oscillator goes on while the other starts"
    );
}

/// Section 9.12: the clock's divider. Time continues as before, instructions take longer.
#[test]
fn a_divided_clock_makes_longer_cycles() {
    let Some(compiler) = bench() else { return };
    let program = "
        int main() {
            DDRB = 1;
            for (uint8_t i = 0; i < 20; ++i) { PINB = 1; asm volatile(\"nop\"); if (i == 9) clock_prescale_set(clock_div_8); }
            done();
        }";
    let log = run(&compiler, program).log;
    let gaps: Vec<u64> = log.edges.windows(2).map(|w| w[1].cycle - w[0].cycle).collect();
    assert_eq!(gaps[15], 8 * gaps[3], "{gaps:?}");
}

/// Chapter 24, table 24-1: the measured voltage is unknown, the duration of a conversion is simulated.
#[test]
fn a_conversion_takes_its_time_and_reads_nothing() {
    let Some(compiler) = bench() else { return };
    let program = "
        int main() {
            DDRB = 1; ADCSRA = _BV(ADEN) | 7;
            ADCSRA |= _BV(ADSC); while (ADCSRA & _BV(ADSC)) {}
            for (uint8_t i = 0; i < 3; ++i) { PINB = 1; ADCSRA |= _BV(ADSC); while (ADCSRA & _BV(ADSC)) {} }
            send(ADCL); done();
        }";
    let recording = run(&compiler, program);
    assert_eq!(done(&recording.log), [0]);
    // 13 cycles of the converter's clock, and the rest of the one in progress.
    let gaps: Vec<u64> = recording.log.edges.windows(2).map(|w| w[1].cycle - w[0].cycle).collect();
    assert!(gaps.iter().all(|gap| (13 * 128..=14 * 128 + 10).contains(gap)), "{gaps:?}");
    assert!(matches!(findings(&recording)[0], FirmwareFinding::AnalogRead { .. }));
}

/// Section 8.4: the EEPROM keeps written bytes; a write takes 3.4 ms.
#[test]
fn the_eeprom_keeps_its_bytes() {
    let Some(compiler) = bench() else { return };
    let program = "
        uint8_t EEMEM kept = 42;
        int main() {
            DDRB = 1; send(eeprom_read_byte(&kept));
            PINB = 1; eeprom_write_byte(&kept, 7); eeprom_busy_wait(); PINB = 1;
            send(eeprom_read_byte(&kept)); done();
        }";
    let log = run(&compiler, program).log;
    assert_eq!(done(&log), [42, 7]);
    assert!((54_400..54_500).contains(&(log.edges[1].cycle - log.edges[0].cycle)), "{:?}", log.edges);
}

/// Chapters 19 and 22: the clock of SPI and of the two-wire interface. Nothing is connected: ones are read,
/// and no device answers.
#[test]
fn nobody_is_on_the_buses() {
    let Some(compiler) = bench() else { return };
    let program = "
        static void wait() { while (!(TWCR & _BV(TWINT))) {} }
        int main() {
            DDRB = 0x2f; SPCR = _BV(SPE) | _BV(MSTR) | _BV(SPR0); // by 16
            PINB = 1; SPDR = 5; while (!(SPSR & _BV(SPIF))) {} PINB = 1;
            send(SPDR);
            TWBR = 72; TWCR = _BV(TWINT) | _BV(TWSTA) | _BV(TWEN); wait(); send(TWSR);
            TWDR = 0x50; TWCR = _BV(TWINT) | _BV(TWEN); wait(); send(TWSR);
            done();
        }";
    let log = run(&compiler, program).log;
    assert_eq!(done(&log), [0xff, 0x08, 0x20]);
    assert!((128..140).contains(&(log.edges[1].cycle - log.edges[0].cycle)), "{:?}", log.edges);
}

/// Chapter 20: bytes are received at the speed of the line.
#[test]
fn the_serial_port_receives() {
    let Some(compiler) = bench() else { return };
    let program = "
        ISR(USART_RX_vect) { UDR0 = UDR0 + 1; }
        int main() { UBRR0L = 103; UCSR0B = _BV(RXEN0) | _BV(TXEN0) | _BV(RXCIE0); sei(); for (;;) {} }";
    let bit = 104_000;
    let levels = |bytes: &[u8]| {
        let mut levels = vec![(0, true)];
        for (k, byte) in (0u64..).zip(bytes) {
            let bits = (0..10).map(|i| if i == 0 { false } else { i == 9 || byte >> (i - 1) & 1 != 0 });
            levels.extend(bits.zip(0u64..).map(|(high, i)| (1_000_000 + (k * 20 + i) * bit, high)));
        }
        levels
    };
    let pin: Pin = "D0".parse().unwrap();
    let recording = run_on(&compiler, "atmega328p", program, |setup| {
        setup.stimuli.push(Stimulus::from_levels(pin, levels(b"HAL")));
    });
    assert_eq!(recording.log.serial, b"IBM");
}

/// Errors are reported: memory that is used up or missing, missing handlers, addresses without code.
#[test]
fn what_goes_wrong_is_found() {
    let Some(compiler) = bench() else { return };
    let deep = "
        static volatile uint8_t big[1700];
        static uint16_t __attribute__((noinline)) down(uint16_t n) {
            volatile uint8_t room[20]; room[n & 15] = uint8_t(n); big[n & 255] = 1;
            return n == 0 ? room[0] : down(n - 1) + room[3];
        }
        int main() { send(uint8_t(down(20))); done(); }";
    let recording = run(&compiler, deep);
    let overflow = findings(&recording).into_iter().find_map(|f| match f {
        FirmwareFinding::StackOverflow { bytes, place, .. } => Some((*bytes, place.function.clone())),
        _ => None,
    });
    let (bytes, function) = overflow.unwrap_or_else(|| panic!("{:?}", recording.warnings));
    assert!(
        bytes > 100 && function.as_deref().is_some_and(|f| f.starts_with("down")),
        "{bytes} {function:?}"
    );
    assert!(
        recording.report.stack.is_some_and(|s| s.deepest > s.room.unwrap()),
        "{:?}",
        recording.report.stack
    );

    let wild = "int main() { *reinterpret_cast<volatile uint8_t*>(0x1234) = 1; done(); }";
    let recording = run(&compiler, wild);
    assert!(matches!(
        findings(&recording)[0],
        FirmwareFinding::OutsideMemory { data: 0x1234, written: true, .. }
    ));

    let unhandled = "int main() { TIMSK1 = _BV(TOIE1); TCCR1B = _BV(CS10); sei(); for (;;) {} }";
    let recording = run(&compiler, unhandled);
    assert!(
        findings(&recording).iter().any(
            |f| matches!(f, FirmwareFinding::Restarted { vector: Some(vector), times: 5.., .. } if vector == "TIMER1_OVF")
        ),
        "{:?}",
        recording.warnings
    );

    let usb = "int main() { PLLCSR = 2; while (!(PLLCSR & 1)) {} USBCON = 0x80; done(); }";
    let recording = run_on(&compiler, "atmega32u4", usb, |_| ());
    assert!(matches!(
        findings(&recording)[0],
        FirmwareFinding::NotSimulated { part: UnsimulatedPart::Usb, .. }
    ));
}

/// Sections 16.6.1, 16.6.2 and 17.2: three cycles of synchroniser and edge detector, four more with the canceler, which lets
/// nothing shorter than four cycles through, from high as from low.
#[test]
fn a_capture_comes_late_and_noise_does_not() {
    let Some(compiler) = bench() else { return };
    let program = |canceler: &str, edge: &str| {
        format!(
            "ISR(TIMER1_CAPT_vect) {{ const uint16_t at = ICR1; send(at >> 8); send(at); }}
             int main() {{ TCCR1B = 1 {canceler} {edge}; TIFR1 = _BV(ICF1); TIMSK1 = _BV(ICIE1); sei(); for (;;) {{}} }}"
        )
    };
    let captured = |program: &str, levels: &[(u64, bool)]| {
        let levels = levels.iter().map(|(cycle, high)| (cycle * 1_000 / 16, *high)).collect();
        let log = run_on(&compiler, "atmega328p", program, |setup| {
            setup.stimuli.push(Stimulus::from_levels("B0".parse().unwrap(), levels));
            setup.length = SimulationLength::Time(20_000_000);
        })
        .log;
        log.serial.chunks(2).map(|two| u64::from(two[0]) << 8 | u64::from(two[1])).collect::<Vec<_>>()
    };
    let rising = "| _BV(ICES1)";
    let plain = captured(&program("", rising), &[(0, false), (1_600, true), (3_200, false), (16_000, true)]);
    let late = captured(
        &program("| _BV(ICNC1)", rising),
        &[(0, false), (1_600, true), (3_200, false), (16_000, true)],
    );
    assert_eq!(plain.len(), 2, "{plain:?}");
    assert_eq!(plain[1] - plain[0], 14_400);
    assert_eq!(late.iter().zip(&plain).map(|(late, plain)| late - plain).collect::<Vec<_>>(), [4, 4]);
    let noise = [(0, false), (1_600, true), (1_603, false), (16_000, true), (20_000, false), (20_003, true)];
    assert_eq!(captured(&program("| _BV(ICNC1)", rising), &noise).len(), 1);
    let from_high = [(0, true), (1_600, false), (1_603, true), (32_000, false), (48_000, true)];
    assert_eq!(captured(&program("| _BV(ICNC1)", rising), &from_high).len(), 1);
}

/// Sections 16.9.3 and 16.9.4: with a fixed top "the unused bits are masked to zero when any of the OCR1x Registers are written".
#[test]
fn bits_above_a_fixed_top_are_masked() {
    let Some(compiler) = bench() else { return };
    let read = |mode: &str| {
        let program =
            format!("int main() {{ {mode} OCR1A = 0xfdff; send(OCR1A >> 8); send(OCR1A); done(); }}");
        done(&run(&compiler, &program).log).to_vec()
    };
    for (mode, high) in [
        ("TCCR1A = 3;", 1),
        ("TCCR1A = 3; TCCR1B = _BV(WGM12);", 1),
        ("TCCR1A = 2;", 1),
        ("TCCR1A = 1;", 0),
        ("TCCR1A = 0;", 0xfd),
        ("TCCR1A = 2; TCCR1B = _BV(WGM13);", 0xfd),
    ] {
        assert_eq!(read(mode), [high, 0xff], "{mode}");
    }
}
