//! The simulated chip compared with measurements on an ATmega328P, and with the data sheet where simulators disagree.

use jitterlab_chip::Stimulus;
use jitterlab_mcu::SimulationLength;
use jitterlab_model::Warning;
use jitterlab_model::firmware::FirmwareFinding;

use super::bench;
use super::chip::{done, run_on};

/// Published readings of a counter right after it was written, started or stopped (avr8js, issues 36, 40, 41 and 72).
#[test]
fn a_counter_reads_as_on_silicon() {
    let Some(compiler) = bench() else { return };
    let runs = "TCCR0A = 0; TCCR0B = 1;";
    let readings = [
        (runs, "out 0x26, r1\\n in %0, 0x26", 0),
        (runs, "out 0x26, r1\\n nop\\n in %0, 0x26", 1),
        (runs, "out 0x26, r1\\n nop\\n lds %0, 0x46", 2),
        (runs, "sts 0x46, r1\\n ldi r30, 0x46\\n ldi r31, 0\\n ld %0, Z", 3),
        ("", "sts 0xb1, %1\\n nop\\n lds %0, 0xb2", 2),
        ("", "sts 0xb1, %1\\n lds %0, 0xb2", 1),
        ("", "sts 0xb1, %1\\n sts 0xb1, r1\\n nop\\n nop\\n lds %0, 0xb2", 2),
    ];
    for (start, code, reading) in readings {
        let program = format!(
            "int main() {{ uint8_t n; {start}
             asm volatile(\"{code}\" : \"=&r\"(n) : \"r\"(uint8_t(1)) : \"r30\", \"r31\"); send(n); done(); }}"
        );
        assert_eq!(done(&run_on(&compiler, "atmega328p", &program, |_| ()).log), [reading], "{code}");
    }
}

/// Figure 13-1: three cycles of the synchroniser, then four to the vector, its JMP of three, and SBI that writes with its
/// second. NOPs of one cycle add nothing; the jump of the loop one.
#[test]
fn an_edge_takes_the_synchroniser_to_its_handler() {
    let Some(compiler) = bench() else { return };
    let handler = "asm volatile(\"sbi %0,0\\n\\treti\" :: \"I\"(_SFR_IO_ADDR(PINB)));";
    let wait = "sei(); for (;;) asm volatile(\".rept 100\\n\\tnop\\n\\t.endr\");";
    for (vector, enable) in
        [("INT0", "EICRA = _BV(ISC00); EIMSK = 1;"), ("PCINT2", "PCICR = _BV(PCIE2); PCMSK2 = _BV(PCINT18);")]
    {
        let program = format!(
            "ISR({vector}_vect, ISR_NAKED) {{ {handler} }} int main() {{ DDRB = 1; {enable} {wait} }}"
        );
        let pulses = Stimulus::from_pulse_train("D2".parse().unwrap(), 1_000_000, 500_000);
        let log = run_on(&compiler, "atmega328p", &program, |setup| setup.stimuli.push(pulses)).log;
        let late: Vec<u64> = log.edges.iter().map(|edge| edge.cycle % 8_000).collect();
        assert!(late.len() > 100 && late.iter().all(|late| (12..=13).contains(late)), "{vector}: {late:?}");
        assert!(late.contains(&12), "{vector}: {late:?}");
    }
}

/// Sections 16.9.3 and 16.9.4: a compare value at an end of the range makes no pulses.
#[test]
fn pwm_at_its_ends_is_constant() {
    let Some(compiler) = bench() else { return };
    for (mode, top, compare, inverted) in [
        ("_BV(WGM13) | _BV(WGM12)", 1999, 1999, false),
        ("_BV(WGM13) | _BV(WGM12)", 1999, 1999, true),
        ("_BV(WGM13) | _BV(WGM12)", 0, 0, false),
        ("_BV(WGM13)", 1999, 1999, false),
        ("_BV(WGM13)", 1999, 1999, true),
        ("_BV(WGM13)", 1999, 0, false),
        ("_BV(WGM13)", 1999, 0, true),
    ] {
        let action = if inverted { "_BV(COM1A1) | _BV(COM1A0)" } else { "_BV(COM1A1)" };
        let program = format!(
            "int main() {{ DDRB = 2; TCCR1A = {action} | _BV(WGM11); TCCR1B = {mode}; ICR1 = {top};
             OCR1A = {compare}; TCCR1B |= 1; for (;;) {{}} }}"
        );
        let log = run_on(&compiler, "atmega328p", &program, |_| ()).log;
        let settled = log.edges.iter().filter(|edge| edge.cycle > 20_000).count();
        assert_eq!(settled, 0, "{program}");
        let high = log.edges.last().is_some_and(|edge| edge.high);
        assert_eq!(high, (compare == top) != inverted, "{program}");
    }
}

/// A top that is lowered below the counter is missed once, and the counter wraps around at its maximum.
#[test]
fn a_top_below_the_counter_is_missed() {
    let Some(compiler) = bench() else { return };
    let program = "
        ISR(TIMER1_OVF_vect) { static uint8_t n; PINB = 1; if (++n == 20) { while (TCNT1 < 600) {} ICR1 = 500; } }
        int main() {
            DDRB = 1; TCCR1A = 0; TCCR1B = _BV(WGM13); ICR1 = 1000; TIMSK1 = 1; TCCR1B |= 1; sei(); for (;;) {}
        }";
    let log = run_on(&compiler, "atmega328p", program, |_| ()).log;
    let apart: Vec<u64> = log.edges.windows(2).map(|w| w[1].cycle - w[0].cycle).collect();
    let longest = apart.iter().max().unwrap();
    assert!((65_500..65_600).contains(longest), "{longest}");
    assert!(apart[25..].iter().all(|apart| apart.abs_diff(1_000) < 8), "{:?}", &apart[15..40]);
}

/// A timer on a watch crystal that wakes the chip after the simulation's end does not make the sleep endless.
#[test]
fn a_sleep_that_a_crystal_ends_is_not_endless() {
    let Some(compiler) = bench() else { return };
    let program = "
        ISR(TIMER2_OVF_vect) { PINB = 1; }
        int main() {
            DDRB = 1; ASSR = _BV(AS2); TCCR2B = 5; while (ASSR & 0x1f) {} TIFR2 = 7; TIMSK2 = 1;
            set_sleep_mode(SLEEP_MODE_PWR_SAVE); sei();
            for (;;) { sleep_mode(); TCCR2B = 5; while (ASSR & _BV(TCR2BUB)) {} }
        }";
    let recording = run_on(&compiler, "atmega328p", program, |setup| {
        setup.length = SimulationLength::Time(5_500_000_000);
    });
    assert_eq!(recording.log.edges.len(), 5);
    assert_eq!(recording.log.cycles, 88_000_000);
    let endless = |w: &Warning| matches!(w, Warning::Firmware(FirmwareFinding::AsleepForEver { .. }));
    assert!(!recording.warnings.iter().any(endless), "{:?}", recording.warnings);
}
