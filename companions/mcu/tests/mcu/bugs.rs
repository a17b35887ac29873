//! Faults of public bug reports: each is found with its location, and correct code gives no finding.

use jitterlab_mcu::{Compiler, Recording, Setup};
use jitterlab_model::Warning;
use jitterlab_model::firmware::FirmwareFinding;

use super::bench;
use super::chip::run_on;

fn program_findings(compiler: &Compiler, program: &str) -> Vec<FirmwareFinding> {
    findings_in(&run_on(compiler, "atmega328p", program, |setup: &mut Setup| setup.record_spans = true))
}

fn findings_in(recording: &Recording) -> Vec<FirmwareFinding> {
    let of_firmware = |warning: &Warning| match warning {
        Warning::Firmware(finding) => Some(finding.clone()),
        _ => None,
    };
    recording.warnings.iter().filter_map(of_firmware).collect()
}

/// A handler that takes longer than the step by which it sets its next match, and a top that is lowered below the counter.
#[test]
fn a_compare_value_behind_the_counter_loses_a_lap() {
    let Some(compiler) = bench() else { return };
    let stepping = |step: u32, work: u32| {
        format!(
            "ISR(TIMER1_COMPA_vect) {{ PINB = 1; for (volatile uint8_t i = 0; i < {work}; i++) {{}} OCR1A += {step}; }}
             int main() {{ DDRB = 1; OCR1A = {step}; TIMSK1 = 2; TCCR1B = 1; sei(); for (;;) {{}} }}"
        )
    };
    let behind = program_findings(&compiler, &stepping(200, 40));
    let [FirmwareFinding::CompareBehind { timer: 1, unit, times, place, lap_ns: 4_096_000, .. }] =
        &behind[..]
    else {
        panic!("{behind:?}")
    };
    assert!(unit == "OCR1A" && *times > 20, "{behind:?}");
    assert!(place.line.as_ref().is_some_and(|line| line.starts_with("program.cc:")), "{place:?}");
    let lowered = "
        int main() {
            DDRB = 1; OCR1A = 40000; TIMSK1 = 2; TCCR1B = _BV(WGM12) | 1; sei();
            for (;;) { while (TCNT1 < 20000) {} OCR1A = 10000; while (TCNT1 > 5000) {} OCR1A = 40000; }
        }
        ISR(TIMER1_COMPA_vect) { PINB = 1; }";
    let lowered = program_findings(&compiler, lowered);
    assert!(matches!(lowered[..], [FirmwareFinding::CompareBehind { .. }]), "{lowered:?}");
    // A step of nearly a lap, a handler that is quick enough, and a counter that restarts at its top.
    assert_eq!(program_findings(&compiler, &stepping(63_000, 40)), []);
    assert_eq!(program_findings(&compiler, &stepping(2_000, 40)), []);
    let begun_anew = "
        ISR(TIMER1_COMPA_vect) { static uint16_t n; PINB = 1; OCR1A = ++n % 2 ? 10000 : 40000; TCNT1 = 0; }
        int main() { DDRB = 1; OCR1A = 40000; TIMSK1 = 2; TCCR1B = _BV(WGM12) | 1; sei(); for (;;) {} }";
    assert_eq!(program_findings(&compiler, begun_anew), []);
}

/// A lock that lasts longer than the counter takes to go around, and a handler that does.
#[test]
fn lost_overflows_name_what_kept_them_waiting() {
    let Some(compiler) = bench() else { return };
    let program = |lock: &str, handler: &str| {
        format!(
            "#include <util/delay.h>
             ISR(TIMER0_OVF_vect) {{ PINB = 1; }}
             ISR(TIMER1_COMPA_vect) {{ {handler} }}
             int main() {{
                DDRB = 1; TCCR0B = 2; TIMSK0 = 1; OCR1A = 40000; TCCR1B = _BV(WGM12) | 1; TIMSK1 = 2; sei();
                for (;;) {{ {lock} _delay_us(900); }}
             }}"
        )
    };
    let locked =
        program_findings(&compiler, &program("cli(); _delay_us(400); sei();", "asm volatile(\"\");"));
    let lost = |finding: &&FirmwareFinding| matches!(finding, FirmwareFinding::InterruptsLost { vector, .. } if vector == "TIMER0_OVF");
    let Some(FirmwareFinding::InterruptsLost { by: None, place: Some(place), at_ns, .. }) =
        locked.iter().find(lost)
    else {
        panic!("{locked:?}")
    };
    assert!(place.line.is_some() && place.function.as_deref() == Some("main") && *at_ns > 0, "{locked:?}");
    let handled = program_findings(&compiler, &program("", "_delay_us(400);"));
    let Some(FirmwareFinding::InterruptsLost { by: Some(by), .. }) = handled.iter().find(lost) else {
        panic!("{handled:?}")
    };
    assert_eq!(by, "TIMER1_COMPA");
}

/// A time from a counter and its overflows, read with interrupts off: right if the flag is checked; otherwise
/// it jumps back.
#[test]
fn a_counter_read_beside_a_waiting_overflow_is_named() {
    let Some(compiler) = bench() else { return };
    let program = |look: &str| {
        format!(
            "static volatile uint32_t laps;
             ISR(TIMER0_OVF_vect) {{ laps++; }}
             static uint32_t now() {{
                const uint8_t status = SREG; cli();
                uint32_t high = laps; const uint8_t low = TCNT0; {look}
                SREG = status; return high << 8 | low;
             }}
             int main() {{
                DDRB = 1; TCCR0B = 2; TIMSK0 = 1; sei(); uint32_t before = 0;
                for (;;) {{ const uint32_t is = now(); if (is < before) PINB = 1; before = is; }}
             }}"
        )
    };
    let unseen = run_on(&compiler, "atmega328p", &program(""), |_| ());
    let [FirmwareFinding::OverflowUnseen { counter, place, .. }] = &findings_in(&unseen)[..] else {
        panic!("{:?}", unseen.warnings)
    };
    assert!(counter == "TCNT0" && place.line.is_some(), "{place:?}");
    assert!(!unseen.log.edges.is_empty(), "it jumps back");
    let seen = run_on(&compiler, "atmega328p", &program("if (TIFR0 & 1 && low < 128) high++;"), |_| ());
    assert!(findings_in(&seen).is_empty() && seen.log.edges.is_empty(), "{:?}", seen.warnings);
}

/// Threads on stacks from malloc(), switched as FreeRTOS for AVR does it, the low byte of the stack pointer
/// first: the depths are unknown, and so is the duration of a handler that switches threads.
#[test]
fn figures_of_changing_stacks_are_unknown() {
    let Some(compiler) = bench() else { return };
    let program = "
        #include <stdlib.h>
        static uint8_t* volatile stacks[2]; static volatile uint8_t current;
        extern \"C\" void change() { current ^= 1; }
        #define SAVE \"push r0\\n in r0, __SREG__\\n cli\\n push r0\\n push r1\\n clr r1\\n push r18\\n push r19\\n push r24\\n push r25\\n push r26\\n push r27\\n push r28\\n push r29\\n push r30\\n push r31\\n\"
        #define RESTORE \"pop r31\\n pop r30\\n pop r29\\n pop r28\\n pop r27\\n pop r26\\n pop r25\\n pop r24\\n pop r19\\n pop r18\\n pop r1\\n pop r0\\n out __SREG__, r0\\n pop r0\\n\"
        ISR(TIMER1_COMPA_vect, ISR_NAKED) {
            asm volatile(SAVE);
            if (current) asm volatile(\"in r28, __SP_L__\\n in r29, __SP_H__\\n sts saved+2, r28\\n sts saved+3, r29\");
            else asm volatile(\"in r28, __SP_L__\\n in r29, __SP_H__\\n sts saved, r28\\n sts saved+1, r29\");
            asm volatile(\"call change\");
            if (current) asm volatile(\"lds r28, saved+2\\n out __SP_L__, r28\\n lds r29, saved+3\\n out __SP_H__, r29\");
            else asm volatile(\"lds r28, saved\\n out __SP_L__, r28\\n lds r29, saved+1\\n out __SP_H__, r29\");
            asm volatile(RESTORE \"reti\");
        }
        volatile uint16_t saved[2] asm(\"saved\");
        static void second() { sei(); for (;;) PINB = 2; }
        int main() {
            DDRB = 3;
            uint8_t* stack = (uint8_t*)malloc(200) + 199;
            *stack-- = uint16_t(second); *stack-- = uint16_t(second) >> 8;
            for (uint8_t i = 0; i < 13; i++) *stack-- = 0;
            saved[1] = uint16_t(stack);
            OCR1A = 15999; TCCR1B = _BV(WGM12) | 1; TIMSK1 = 2; sei();
            for (;;) PINB = 1;
        }";
    let recording = run_on(&compiler, "atmega328p", program, |_| ());
    let found = findings_in(&recording);
    assert!(matches!(found[..], [FirmwareFinding::StacksChanged { .. }]), "{found:?}");
    assert_eq!((recording.report.stack, recording.report.interrupts[0].count), (None, 0));
    assert!(recording.report.interrupts[0].switched > 50, "{:?}", recording.report.interrupts);
    assert!([0, 1].iter().all(|pin| recording.log.edge_cycles(*pin, true).count() > 1_000));
    // A function with a frame, and an array of a length that is found out, are no other stacks.
    let frames = "
        #include <stdlib.h>
        __attribute__((noinline)) static uint8_t deep(uint8_t n) {
            volatile uint8_t own[40]; volatile uint8_t* more = (volatile uint8_t*)__builtin_alloca(n);
            own[n] = n; more[0] = n; return n < 20 ? deep(n + 5) + own[n] + more[0] : n;
        }
        int main() { DDRB = 1; for (;;) PORTB = deep(5); }";
    let recording = run_on(&compiler, "atmega328p", frames, |_| ());
    assert!(findings_in(&recording).is_empty(), "{:?}", recording.warnings);
    assert!(recording.report.stack.is_some_and(|stack| stack.deepest > 200));
}

/// The watchdog's oscillator is accurate to a tenth, and so is a period made from it.
#[test]
fn the_watchdogs_oscillator_is_named() {
    let Some(compiler) = bench() else { return };
    let program = "
        ISR(WDT_vect) { PINB = 1; }
        int main() { DDRB = 1; WDTCSR = _BV(WDCE) | _BV(WDE); WDTCSR = _BV(WDIE); sei(); for (;;) {} }";
    let found = program_findings(&compiler, program);
    assert!(matches!(found[..], [FirmwareFinding::WatchdogTimes { times: 5.. }]), "{found:?}");
}

/// A counter of two or four bytes that a handler adds to, read without a lock: named where a value is seen that it never had. With a lock,
/// and where the two bytes are variables of their own, nothing is.
#[test]
fn a_variable_read_in_parts_is_named() {
    let Some(compiler) = bench() else { return };
    let program = |kind: &str, read: &str| {
        format!(
            "static volatile {kind} events; static volatile uint8_t pair[2]; static volatile uint32_t sum;
             ISR(TIMER0_COMPA_vect) {{ events += 255; pair[0]++; pair[1]++; }}
             int main() {{
                OCR0A = 150; TCCR0A = 2; TCCR0B = 1; TIMSK0 = 2; sei();
                for (;;) {{ {read} }}
             }}"
        )
    };
    for (kind, size) in [("uint16_t", 2), ("uint32_t", 4)] {
        let torn = program_findings(&compiler, &program(kind, "sum = events;"));
        let [FirmwareFinding::TornRead { variable, bytes, vector, times, place, before, after, read, .. }] =
            &torn[..]
        else {
            panic!("{torn:?}")
        };
        assert_eq!((variable.as_str(), *bytes, vector.as_str()), ("events", size, "TIMER0_COMPA"));
        assert_eq!(*after, before + 255, "{torn:?}");
        assert!(*times > 1 && read != before && read != after, "{torn:?}");
        assert!(place.line.as_ref().is_some_and(|line| line.starts_with("program.cc:")), "{place:?}");
        assert_eq!(
            program_findings(
                &compiler,
                &program(kind, "cli(); sum = events; sei(); asm volatile(\"nop\\n nop\");")
            ),
            []
        );
    }
    assert_eq!(program_findings(&compiler, &program("uint16_t", "sum = pair[0] == pair[1];")), []);
}

/// A function that makes room for its variables is no thread, be it that a handler comes between the reading of the stack pointer and
/// its writing.
#[test]
fn an_interrupted_function_changes_no_stack() {
    let Some(compiler) = bench() else { return };
    let program = "
        ISR(TIMER0_COMPA_vect) { for (volatile uint8_t i = 0; i < 5; i++) {} }
        __attribute__((noinline)) static uint8_t framed(uint8_t n) {
            volatile uint8_t own[40]; own[n] = n; return own[n / 2];
        }
        int main() {
            OCR0A = 250; TCCR0A = 2; TCCR0B = 1; TIMSK0 = 2; sei();
            for (;;) PORTB = framed(PINB & 31);
        }";
    let recording = run_on(&compiler, "atmega328p", program, |_| ());
    assert!(findings_in(&recording).is_empty(), "{:?}", recording.warnings);
    assert!(recording.report.stack.is_some(), "{:?}", recording.report);
}

/// A timer whose top is 0 matches with every count: more often than handlers can come, which loses nothing.
#[test]
fn a_match_with_every_count_is_no_loss() {
    let Some(compiler) = bench() else { return };
    let program = "
        ISR(TIMER1_COMPA_vect) { OCR1A = 1000; }
        int main() { TCCR1B = _BV(WGM12) | 1; TIMSK1 = 2; sei(); for (;;) {} }";
    let found = program_findings(&compiler, program);
    let [FirmwareFinding::DueTooOften { vector, cycles: 1, times, .. }] = &found[..] else {
        panic!("{found:?}")
    };
    assert!(vector == "TIMER1_COMPA" && *times < 100, "{found:?}");
}

/// A library puts what it reads from the EEPROM into registers through a pointer; one that is null writes there too.
#[test]
fn words_of_the_eeprom_are_no_null_pointers() {
    let Some(compiler) = bench() else { return };
    let program = |body: &str| {
        format!(
            "#include <avr/eeprom.h>
             int main() {{ uint32_t sum = 0; for (uint8_t* at = (uint8_t*)0; ; at += 4) {{ {body} GPIOR0 = sum; }} }}"
        )
    };
    let read = "sum += eeprom_read_dword((uint32_t*)at) + eeprom_read_word((uint16_t*)at);";
    assert_eq!(program_findings(&compiler, &program(read)), []);
    let null = program_findings(&compiler, &program("uint8_t* volatile none = (uint8_t*)20; *none = 7;"));
    assert!(matches!(null[..], [FirmwareFinding::OutsideMemory { data: 20, .. }]), "{null:?}");
}

/// A tick that lets another thread go on, which hands over by itself: what that thread does is no time of the tick's handler, though
/// the handler ends on the stack on which it began.
#[test]
fn a_thread_is_no_part_of_the_tick_that_let_it_go_on() {
    let Some(compiler) = bench() else { return };
    let program = "
        #include <stdlib.h>
        #include <util/delay.h>
        static volatile uint8_t current;
        volatile uint16_t saved[2] asm(\"saved\");
        extern \"C\" void change() { current ^= 1; }
        #define SAVE \"push r0\\n in r0, __SREG__\\n cli\\n push r0\\n push r1\\n clr r1\\n push r18\\n push r19\\n push r24\\n push r25\\n push r26\\n push r27\\n push r28\\n push r29\\n push r30\\n push r31\\n\"
        #define RESTORE \"pop r31\\n pop r30\\n pop r29\\n pop r28\\n pop r27\\n pop r26\\n pop r25\\n pop r24\\n pop r19\\n pop r18\\n pop r1\\n pop r0\\n out __SREG__, r0\\n pop r0\\n\"
        extern \"C\" __attribute__((naked, noinline)) void hand_over() {
            asm volatile(SAVE);
            if (current) asm volatile(\"in r28, __SP_L__\\n in r29, __SP_H__\\n sts saved+2, r28\\n sts saved+3, r29\");
            else asm volatile(\"in r28, __SP_L__\\n in r29, __SP_H__\\n sts saved, r28\\n sts saved+1, r29\");
            asm volatile(\"call change\");
            if (current) asm volatile(\"lds r28, saved+2\\n out __SP_L__, r28\\n lds r29, saved+3\\n out __SP_H__, r29\");
            else asm volatile(\"lds r28, saved\\n out __SP_L__, r28\\n lds r29, saved+1\\n out __SP_H__, r29\");
            asm volatile(RESTORE \"ret\");
        }
        ISR(TIMER1_COMPA_vect, ISR_NAKED) { asm volatile(\"call hand_over\\n reti\"); }
        static void second() { sei(); for (;;) { PINB = 2; _delay_us(300); hand_over(); } }
        int main() {
            DDRB = 3;
            uint8_t* stack = (uint8_t*)malloc(200) + 199;
            *stack-- = uint16_t(second); *stack-- = uint16_t(second) >> 8;
            for (uint8_t i = 0; i < 13; i++) *stack-- = 0;
            saved[1] = uint16_t(stack);
            OCR1A = 15999; TCCR1B = _BV(WGM12) | 1; TIMSK1 = 2; sei();
            for (;;) PINB = 1;
        }";
    let recording = run_on(&compiler, "atmega328p", program, |_| ());
    let [tick] = &recording.report.interrupts[..] else { panic!("{:?}", recording.report) };
    assert!(tick.count <= 1 && tick.switched > 50, "{tick:?}");
    assert!(recording.log.edge_cycles(1, true).count() > 20, "the second thread goes on");
}
