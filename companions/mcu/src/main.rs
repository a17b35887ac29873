//! `jitterlab-mcu`, which is `jitterlab mcu`.

mod commands;

use std::process::ExitCode;

use clap::Parser;
use jitterlab_console::{BUILT, companion};

/// Measure firmware on a simulated microcontroller (AVR, or the RP2040 of the Raspberry Pi Pico), cycle by cycle
///
/// Programs that jitterlab builds itself need the cross compiler (Debian: gcc-avr avr-libc; for the RP2040 gcc-arm-none-eabi).
#[derive(Parser)]
#[command(name = "jitterlab-mcu", bin_name = "jitterlab mcu", version, long_version = BUILT, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    action: commands::Action,
}

fn main() -> ExitCode {
    companion::main(|cli: &Cli| commands::execute(&cli.action))
}
