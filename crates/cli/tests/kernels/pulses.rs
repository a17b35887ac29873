//! `--pulse` on the real drivers of Debian's kernels, seen from the other side: by the kernel's own events,
//! and by the emulator, which logs writes to its ports.
//!
//! The parallel and the serial port are QEMU's. Debian's kernels have neither gpio-sim nor gpio-mockup, so
//! the GPIO chip is one with a driver there (gpio-amdpt), described to them by a table of the firmware. Its
//! registers lie at addresses where the emulator has nothing, which logs each access to them.

#![expect(clippy::unwrap_used, reason = "a test that cannot do its steps has failed")]

use std::fs;
use std::path::Path;
use std::process::Command;

use jitterlab_model::{Activation, Warning};
use jitterlab_trace::{Columns, RunReader};
use tempfile::TempDir;

use crate::shared::executable;

/// Activations of each task. Their period is no whole number of microseconds, in which the kernel prints its times.
const ACTIVATIONS: usize = 101;

/// The device GPT0 of the firmware's tables, with the hardware ID AMDF030 and 4 KiB of registers at 0xfed8_0000: the body of an SSDT.
const GPIO_CHIP: &[u8] =
    b"\x10\x32\\_SB_\x5b\x82\x2aGPT0\x08_HID\x0dAMDF030\x00\x08_CRS\x11\x11\x0a\x0e\x86\x09\x00\x01\
    \x00\x00\xd8\xfe\x00\x10\x00\x00\x79\x00";
/// Message of the emulator for a write to the chip's output register.
const GPIO_WRITE: &str = "Invalid write at addr 0xFED80008";
/// A step at D5 while D3 is held for the direction: values that no driver writes to find the port.
const STEP: &str = "parallel_ioport_write write [SW] addr 0x00 val 0x28";
const STEP_ENDS: &str = "parallel_ioport_write write [SW] addr 0x00 val 0x08";
/// RTS low, DTR high.
const RTS_LOW: &str = "serial_write write addr 0x04 val 0x09";

/// An emulator with pins, which logs their changes.
fn emulator(folder: &Path) {
    fs::write(folder.join("gpio.aml"), GPIO_CHIP).unwrap();
    let script = "#!/bin/sh\nexec qemu-system-x86_64 \"$@\" -acpitable sig=SSDT,rev=2,data=gpio.aml \
         -chardev null,id=parallel -device isa-parallel,chardev=parallel \
         -chardev null,id=third -device isa-serial,chardev=third,index=2,irq=10 \
         -d guest_errors -trace parallel_ioport_write -trace serial_write -D edges.log\n";
    executable::script(&folder.join("qemu-with-pins"), script);
}

/// Output of the measured run, and the kernel's events; `None` if a kernel or the emulator is not available.
fn measured(folder: &Path) -> Option<String> {
    let count = ACTIVATIONS.to_string();
    let words = [
        "kernel run -q --kernel debian:generic --qemu ./qemu-with-pins --count",
        &count,
        "--module gpio-amdpt --module parport_pc --module ppdev --parameter trace_buf_size=8M",
        "--parameter trace_clock=mono --parameter trace_event=gpio:gpio_value",
        "--parameter kprobe_event=p:ppdev,ppdev:pp_ioctl,call=%si:x32;p:modem,serial8250_do_set_mctrl,lines=%si:x32",
        "--task name=parallel,period=1000037ns,policy=fifo:90,pulse=parport0:D5,step=500Hz,dir=parport0:D3",
        "--task name=gpio,period=1000037ns,policy=fifo:90,offset=250us,pulse=gpiochip0:3",
        "--task name=serial,period=1000037ns,policy=fifo:90,offset=500us,pulse=ttyS2:rts",
    ];
    let words = words.iter().flat_map(|words| words.split(' '));
    let output = Command::new(env!("CARGO_BIN_EXE_jitterlab"))
        .args(words)
        .args(["--also", "cat /sys/kernel/tracing/trace"])
        .current_dir(folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let missing = ["could not be started", "could not be fetched", "is not here", "package lists"];
    if missing.iter().any(|what| said.contains(what)) {
        assert!(std::env::var_os("JITTERLAB_REQUIRE_ALL").is_none(), "{said}");
        println!("skipped: {said}");
        return None;
    }
    assert!(output.status.success(), "{said}");
    Some(String::from_utf8(output.stdout).unwrap())
}

/// The times of a task's events with this end of their text, in whole microseconds as the kernel prints them.
fn events(said: &str, task: &str, ends: &str) -> Vec<i64> {
    let of_task = said.lines().filter(|line| {
        let thread =
            line.trim_start().rsplit_once("[000]").and_then(|(thread, _)| thread.trim().rsplit_once('-'));
        thread.is_some_and(|(name, _)| name == task) && line.trim_end().ends_with(ends)
    });
    of_task
        .map(|line| {
            let time = line.split(' ').find(|word| word.ends_with(':') && word.contains('.')).unwrap();
            time.trim_end_matches(':').replace('.', "").parse().unwrap()
        })
        .collect()
}

/// Delays of the events after their time stamps: the smallest, the largest usual one, and the largest. The true ones are up to
/// 1 µs longer, since the kernel cuts its microseconds off. In every fourth, a tick may come in between.
fn after(starts: &[i64], events: &[i64]) -> [i64; 3] {
    assert_eq!(starts.len(), events.len());
    let delays = starts.iter().zip(events).map(|(start, event)| event * 1_000 - start);
    let mut delays: Vec<i64> = delays.collect();
    delays.sort_unstable();
    [delays[0], delays[delays.len() * 2 / 3], delays[delays.len() - 1]]
}

#[test]
fn pulses_on_real_drivers_are_those_of_the_activations() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    emulator(folder);
    let Some(said) = measured(folder) else { return };

    let reader = RunReader::open(folder.join("debian-generic.parquet")).unwrap();
    let mut starts = [(); 3].map(|()| Vec::new());
    let of = |rows: &[Activation]| rows.iter().map(|activation| activation.start_ns).collect::<Vec<_>>();
    reader.for_each_batch(Columns::ALL, |task, rows| starts[task].extend(of(rows))).unwrap();
    let [parallel, gpio, serial] = starts;
    assert_eq!([parallel.len(), gpio.len(), serial.len()], [ACTIVATIONS; 3]);

    // By the kernel. At 500 Hz every other activation of the first task makes a step; its call PPWDATA comes first.
    let steps: Vec<i64> = parallel.into_iter().step_by(2).collect();
    let calls = events(&said, "parallel", "call=0x40017086");
    // The last one makes all pins low at the end.
    assert_eq!(calls.len(), 2 * steps.len() + 1);
    let rises: Vec<i64> = calls.into_iter().step_by(2).take(steps.len()).collect();
    let set = events(&said, "gpio", " set 1");
    assert_eq!(events(&said, "gpio", " set 0").len(), set.len() + 1);
    let lines: Vec<i64> = events(&said, "serial", "lines=0x4006");
    assert_eq!(events(&said, "serial", "lines=0x4002").len(), lines.len());
    for (name, index, [least, usual, most]) in [
        ("parallel", 0, after(&steps, &rises)),
        ("gpio", 1, after(&gpio, &set)),
        ("serial", 2, after(&serial, &lines)),
    ] {
        // The starts' places within a microsecond differ: a delay that is always the same lies between these, and one that is
        // not varies by that at least.
        let between = [usual.min(least + 1_000), usual.max(least + 1_000)];
        println!("{name}: {between:?} ns of virtual time after the time stamp");
        // Delays within a microsecond of each other, cut down to whole ones.
        assert!(usual - least < 2_000, "{name}: {least} {usual} {most}");
        let told = reader.info().warnings.iter().find_map(|warning| match warning {
            Warning::Pulsed { task, edges, refused, least_ns, longest_ns, .. } if task == name => {
                println!("{name}: an edge takes {least_ns} to {longest_ns} ns");
                Some((*edges, *refused, *longest_ns))
            }
            _ => None,
        });
        let (edges, refused, longest_ns) = told.unwrap();
        let moved = if index == 0 { steps.len() } else { ACTIVATIONS };
        assert_eq!((edges, refused), (2 * moved as u64, 0), "{name}");
        // Between the time stamp and the edge's end, as the run itself has it.
        assert!(least > -1_000 && most < longest_ns, "{name}: {least} {most} {longest_ns}");
    }

    // From the emulator's log: the events from the first step to the last.
    let log = fs::read_to_string(folder.join("edges.log")).unwrap();
    let log: Vec<&str> = log.lines().collect();
    let is_step = |line: &&str| line.ends_with(STEP);
    let (first, last) = (log.iter().position(is_step).unwrap(), log.iter().rposition(is_step).unwrap());
    let noted = |what: &str| log[first..=last].iter().filter(|line| line.contains(what)).count();
    assert_eq!([noted(STEP), noted(STEP_ENDS)], [steps.len(), steps.len() - 1]);
    assert_eq!([noted(GPIO_WRITE), noted(RTS_LOW)], [2 * (ACTIVATIONS - 1), ACTIVATIONS - 1]);
}
