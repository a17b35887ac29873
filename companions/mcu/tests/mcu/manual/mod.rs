//! Each edge of each pin to the cycle: against a second simulator that is nothing but the manual, one clock cycle after the other.

mod model;

use std::path::Path;

use jitterlab_mcu::{Board, Pin, Program, Setup, Strategy, is_missing, simulate};

use super::{bench, skip, test_source};
use model::Model;

/// All edges of ports B and D, and the sent bytes.
fn assert_same_edges(elf: &Path, mcu: &str, pins: &[&str], cycles: u64) -> (usize, usize) {
    let pins: Vec<Pin> = pins.iter().map(|pin| pin.parse().unwrap()).collect();
    let setup = Setup { pins: pins.clone(), clock_hz: Some(16_000_000), ..Setup::new(elf, cycles) };
    let log = simulate(&setup).unwrap().log;
    let mut model = Model::new(elf, mcu == "atmega2560");
    model.run(cycles);
    let named: Vec<_> = log.edges.iter().map(|e| (e.cycle, pins[e.pin].to_string(), e.high)).collect();
    let wanted: Vec<_> = model
        .edges
        .iter()
        .map(|(cycle, port, bit, high)| (*cycle, format!("{port}{bit}"), *high))
        .filter(|(_, pin, _)| pins.iter().any(|p| p.to_string() == *pin))
        .collect();
    let first = named.iter().zip(&wanted).position(|(a, b)| a != b);
    assert_eq!(first.map(|k| (k, &named[k], &wanted[k])), None, "{mcu}, {}", elf.display());
    assert_eq!(named.len(), wanted.len());
    assert_eq!(String::from_utf8_lossy(&log.serial), String::from_utf8_lossy(&model.sent));
    (named.len(), log.serial.len())
}

fn build(name: &str, mcu: &str, program: &Program) -> Option<jitterlab_mcu::Firmware> {
    let compiler = bench()?;
    let board = Board::with_ideal_timing(Strategy::Anchored, 64, 1_000).with_chip(mcu, 16_000_000);
    let firmware = match compiler.build_file(&test_source(name), program, &board) {
        Err(error) if is_missing(&error) => return skip(&error.to_string()),
        other => other.unwrap(),
    };
    // The file lives as long as the compiler.
    std::mem::forget(compiler);
    Some(firmware)
}

#[test]
fn an_unfair_firmware_shows_every_edge_when_the_manual_says() {
    for mcu in ["atmega328p", "atmega2560"] {
        let Some(firmware) = build("unfair", mcu, &Program::EMPTY) else { return };
        let (edges, _) = assert_same_edges(&firmware.elf, mcu, &["B0", "B1"], 1_000_000);
        assert!(edges > 400, "{edges}");
    }
}

#[test]
fn two_sources_and_locks_show_every_edge_when_the_manual_says() {
    for mcu in ["atmega328p", "atmega2560"] {
        let Some(firmware) = build("two_sources", mcu, &Program::EMPTY) else { return };
        let (edges, _) = assert_same_edges(&firmware.elf, mcu, &["B0", "B1", "B2", "B3"], 10_000_000);
        assert!(edges > 10_000, "{edges}");
    }
}

#[test]
fn an_arduino_sketch_with_serial_shows_every_edge_when_the_manual_says() {
    let Some(firmware) = build("sketch", "atmega328p", &Program::with_period("arduino_millis", 1_000)) else {
        return;
    };
    let (edges, sent) = assert_same_edges(&firmware.elf, "atmega328p", &["B0", "B5"], 4_000_000);
    assert!(edges > 10_000 && sent > 500, "{edges} edges, {sent} bytes");
}
