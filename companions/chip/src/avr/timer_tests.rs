//! Comparison of counting in one step with counting tick by tick: the timer's prediction agrees with its behaviour.

use super::*;
use crate::Log;
use crate::avr::clock::Clock;
use crate::avr::ports::Ports;
use crate::avr::sources::{Source, Sources};
use proptest::prelude::{
    ProptestConfig, Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest,
};

fn io() -> Io {
    let named = ["OVF", "A", "B", "C", "CAPT"].into_iter().zip(0..);
    let list = named.map(|(name, vector)| Source::for_tests(name, vector)).collect();
    let mut ports = Ports::new();
    for (index, pin) in (0..).zip(pins()) {
        ports.watch_pin(pin, index);
    }
    let (sources, clock, log) = (Sources::new(list), Clock::new(16_000_000), Log::default());
    Io { data: vec![0; 2], sources, ports, clock, log, frozen: false, address: 0 }
}

fn pins() -> [Pin; 3] {
    [0, 1, 2].map(|bit| Pin { port: 1, bit })
}

fn timer(wide: bool, fine: bool, io: &Io) -> Timer {
    let id = |name| io.sources.by_name(name);
    Timer::new(Spec {
        number: 1,
        wide,
        fine,
        overflow: id("OVF"),
        matches: [id("A"), id("B"), id("C")],
        units: if wide { 3 } else { 2 },
        capture: id("CAPT"),
        outputs: pins().map(Some),
        counted: None,
        captured: None,
    })
}

/// Writes of a firmware, each after some cycles.
fn writes() -> impl Strategy<Value = Vec<(u64, u8, u16)>> {
    let value = prop_oneof![0..8u16, 0..0x300u16, any::<u16>(), 0xfff0..=0xffffu16];
    prop::collection::vec((prop_oneof![0..40u64, 0..3_000u64, 0..200_000u64], 0..7u8, value), 1..12)
}

fn write(timer: &mut Timer, reg: u8, value: u16, io: &mut Io) {
    let [low, high] = value.to_le_bytes();
    let mut word = |high_reg, low_reg| {
        timer.write(high_reg, high, io);
        timer.write(low_reg, low, io);
    };
    match reg {
        0 => word(Reg::CountHigh, Reg::Count),
        1..=3 => word(Reg::CompareHigh(reg - 1), Reg::Compare(reg - 1)),
        4 => word(Reg::CaptureHigh, Reg::Capture),
        5 => timer.write(Reg::ControlA, low, io),
        _ => timer.write(Reg::ControlB, low & 0x1f, io),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn counting_at_once_equals_tick_by_tick(wide: bool, fine: bool, mode in 0..16u8, clock in 1..=5u8, writes in writes()) {
        let (mut leaps, mut steps) = (io(), io());
        let (mut leaping, mut stepping) = (timer(wide, fine, &leaps), timer(wide, fine, &steps));
        for (timer, io) in [(&mut leaping, &mut leaps), (&mut stepping, &mut steps)] {
            timer.write(Reg::ControlA, 0xa8 | mode & 3, io);
            timer.write(Reg::ControlB, mode >> 2 << 3 | clock, io);
        }
        for (wait, reg, value) in writes {
            let reg = if wide || reg != 3 { reg } else { 0 };
            for _ in 0..wait {
                steps.clock.now += 1;
                stepping.advance_to_now(&mut steps);
            }
            leaps.clock.now += wait;
            leaping.advance_to_now(&mut leaps);
            prop_assert_eq!((leaping.count, leaping.down), (stepping.count, stepping.down));
            prop_assert_eq!(&leaps.data, &steps.data);
            prop_assert_eq!(&leaps.log.edges, &steps.log.edges);
            write(&mut leaping, reg, value, &mut leaps);
            write(&mut stepping, reg, value, &mut steps);
        }
    }

    /// The prediction contains every action of the counter.
    #[test]
    fn an_event_comes_when_predicted(wide: bool, mode in 0..16u8, writes in writes()) {
        let mut io = io();
        let mut timer = timer(wide, false, &io);
        timer.write(Reg::ControlA, 0xa8 | mode & 3, &mut io);
        timer.write(Reg::ControlB, mode >> 2 << 3, &mut io);
        for (_, reg, value) in writes.into_iter().filter(|(_, reg, _)| *reg < 5) {
            write(&mut timer, if wide || reg != 3 { reg } else { 0 }, value, &mut io);
            for _ in 0..20 {
                let predicted = timer.ticks_to_event();
                let edges = io.log.edges.len();
                for tick in 1..=predicted {
                    prop_assert_eq!((io.data[0], io.log.edges.len()), (0, edges), "tick {}", tick);
                    prop_assert!(tick == predicted || timer.ticks_to_event() == predicted - tick + 1);
                    timer.perform_tick(tick, &mut io);
                }
                io.data[0] = 0;
            }
        }
    }
}
