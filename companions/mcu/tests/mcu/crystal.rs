//! Timer 2 on a watch crystal (ATmega328P data sheet, section 18.9): behaviour of the chip, and the library's
//! alarms on it.

use jitterlab_mcu::{Board, Program, Setup, SimulationLength, Strategy, simulate};

use super::chip::{done, run_on};
use super::{bench, test_source};

/// Beginning of each program: the timer runs, and the crystal's next edge is a whole period away.
const START: &str = "
    static uint8_t start() {
        DDRB = 3; ASSR = _BV(AS2); TCNT2 = 0; OCR2A = 0; TCCR2A = 0; TCCR2B = _BV(CS20);
        while (ASSR & 0x1f) {}
        uint8_t count = TCNT2;
        while (TCNT2 == count) {}
        TIFR2 = 7;
        return TCNT2;
    }";

/// A period of the crystal at 16 MHz.
const EDGE: u64 = 488;

/// "transferred to its destination after two positive edges on TOSC1": before, the register is busy, and does not match.
#[test]
fn what_is_written_arrives_with_the_second_edge() {
    let Some(compiler) = bench() else { return };
    for (ahead, matches) in [(1, false), (3, true)] {
        let program = format!(
            "{START}
            int main() {{
                const uint8_t count = start();
                PINB = 1; OCR2A = count + {ahead}; while (ASSR & _BV(OCR2AUB)) {{}} PINB = 1;
                while (TCNT2 != uint8_t(count + 20)) {{}}
                send(TIFR2 & _BV(OCF2A)); send(OCR2A - count);
                done();
            }}"
        );
        let log = run_on(&compiler, "atmega328p", &program, |_| ()).log;
        assert_eq!(done(&log), [u8::from(matches) << 1, ahead], "{ahead} ahead");
        let busy = log.edges[1].cycle - log.edges[0].cycle;
        assert!((2 * EDGE - 60..2 * EDGE + 20).contains(&busy), "{busy} cycles");
    }
}

/// A compare value that is on its way does not wake from power-save; one that has arrived does.
#[test]
fn what_has_not_arrived_does_not_wake() {
    let Some(compiler) = bench() else { return };
    for (wait, counts) in [("while (ASSR & _BV(OCR2AUB)) {}", 30..50), ("", 200..300)] {
        let program = format!(
            "FUSES = {{ 0xe2, 0xd9, 0xff }};
            {START}
            ISR(TIMER2_COMPA_vect) {{ PINB = 1; }}
            int main() {{
                TIMSK2 = _BV(OCIE2A); sei();
                const uint8_t count = start();
                set_sleep_mode(SLEEP_MODE_PWR_SAVE); sleep_enable();
                PINB = 1; OCR2A = count + 40; {wait}
                sleep_cpu();
                done();
            }}"
        );
        let log = run_on(&compiler, "atmega328p", &program, |_| ()).log;
        // The first is of the match at 0, before.
        let edges: Vec<u64> = log.edges.iter().map(|e| e.cycle).rev().take(2).collect();
        assert!(counts.contains(&((edges[0] - edges[1]) / EDGE)), "{wait}: {edges:?}");
    }
}

/// "If re-entering sleep mode within the TOSC1 cycle, the interrupt will immediately occur and the device wake up again", and the
/// counter reads as before the sleep.
#[test]
fn within_an_edge_of_waking_the_counter_is_old_and_sleep_ends_at_once() {
    let Some(compiler) = bench() else { return };
    for (wait, again) in [("TCCR2A = 0; while (ASSR & _BV(TCR2AUB)) {}", false), ("", true)] {
        let program = format!(
            "FUSES = {{ 0xe2, 0xd9, 0xff }};
            {START}
            static volatile uint8_t times = 0;
            ISR(TIMER2_COMPA_vect) {{ times = times + 1; PINB = 1; }}
            int main() {{
                const uint8_t count = start();
                OCR2A = count + 40; while (ASSR & _BV(OCR2AUB)) {{}}
                const uint8_t before = TCNT2;
                TIMSK2 = _BV(OCIE2A); set_sleep_mode(SLEEP_MODE_PWR_SAVE); sleep_enable(); sei();
                sleep_cpu();
                const uint8_t old = TCNT2;
                {wait}
                const uint8_t now = TCNT2;
                sleep_cpu(); sleep_cpu();
                send(old - before); send(now - count);
                done();
            }}"
        );
        let log = run_on(&compiler, "atmega328p", &program, |_| ()).log;
        let sent = done(&log);
        assert_eq!(sent[0], 0, "read as before the sleep");
        assert!(again || (41..44).contains(&sent[1]), "{sent:?}");
        let edges: Vec<u64> = log.edges.iter().map(|e| e.cycle).collect();
        let gap = (edges[1] - edges[0]) / EDGE;
        assert_eq!(gap < 2, again, "{wait}: {edges:?}");
    }
}

/// Alarms on the crystal are never early, lose nothing, and the chip is in power-save between them.
#[test]
fn alarms_on_a_watch_crystal_wake_from_power_save() {
    let Some(compiler) = bench() else { return };
    for prescaler in [1, 8, 32, 128, 1024] {
        let board = Board {
            max_period_us: 60_000_000,
            ..Board::with_ideal_timing(Strategy::Anchored, prescaler, 100_000)
                .with_chip("atmega328p", 8_000_000)
        };
        let firmware = compiler.build_file(&test_source("crystal"), &Program::EMPTY, &board).unwrap();
        let recording = simulate(&Setup {
            clock_hz: Some(board.clock_hz),
            pins: ["B0", "B1", "B2", "B3"].map(|pin| pin.parse().unwrap()).into(),
            length: SimulationLength::Time(20_000_000_000),
            ..Setup::new(&firmware.elf, 0)
        })
        .unwrap();
        let us = |cycle: u64| recording.ns(cycle) as f64 / 1e3;
        let count_us = f64::from(prescaler) * 1e6 / 32_768.0;
        // A fraction of a count, the shortest distance of a write, a waiting write, the other handlers.
        let late = count_us * if prescaler == 1 { 4.0 } else { 2.0 } + 300.0;
        // An interval begins with the next count; to ask for an alarm takes most.
        let asking = count_us + 1_000.0;
        let asked = us(recording.log.edge_cycles(3, true).next().unwrap());
        for (pin, period_us) in [(0, 100_000.0), (1, 170_001.0), (2, 1_000_000.0)] {
            let starts: Vec<f64> = recording.log.edge_cycles(pin, true).map(us).collect();
            assert!((starts.len() as f64 - 20e6 / period_us).abs() <= 1.5, "{prescaler}: {}", starts.len());
            for (k, start) in (1..).zip(&starts) {
                let off = start - asked - f64::from(k) * period_us;
                assert!(off > 0.0, "prescaler {prescaler}: event {k} of B{pin} is {off} us early");
                assert!(off < late + asking, "prescaler {prescaler}: event {k} of B{pin} is {off} us late");
                let grid = start - starts[0] - f64::from(k - 1) * period_us;
                assert!(grid.abs() < late, "prescaler {prescaler}: event {k} of B{pin} is {grid} us off");
            }
        }
        let asleep = recording.log.asleep_share();
        assert!(asleep > 0.9, "prescaler {prescaler}: {asleep}");
        let lost: u64 = recording.log.vectors.iter().map(|vector| vector.lost).sum();
        assert_eq!(lost, 0, "prescaler {prescaler}");
    }
}
