//! The gains that `servo --redesign --gains` writes for LinuxCNC, in LinuxCNC: its `pid` closes the DC servo's loop, made of HAL's
//! own blocks, and answers as the simulation here does.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use jitterlab_motion::catalog;
use jitterlab_motion::servo::{Design, DrivenLoop, LoopAction, Plant, Reference, SingleTaskLoop};
use tempfile::TempDir;

use crate::shared::known;

const H: i64 = 1_000_000;
const CYCLES: usize = 400;

/// 1000/(s (s + 1)) with its input held for a period, as `lowpass` and `integ` compute it. The plant moves first, then `pid` reads it.
fn plant() -> String {
    let h = H as f64 * 1e-9;
    let left = -(-h).exp_m1();
    let (of_speed, of_input) = (1_000.0 * left / h, 1_000.0 * (h - left) / h);
    format!(
        "loadrt threads name1=servo-thread period1={H}\nloadrt pid num_chan=1\nloadrt sum2\nloadrt integ count=2\nloadrt lowpass\n\
         loadrt sampler depth=4000 cfg=ff\n\
         setp sum2.0.gain0 {of_speed}\nsetp sum2.0.gain1 {of_input}\nsetp lowpass.0.gain {left}\n\
         net x lowpass.0.out => sum2.0.in0\nnet u pid.0.output => sum2.0.in1 lowpass.0.in sampler.0.pin.1\n\
         net rate sum2.0.out => integ.0.in\nnet y integ.0.out => pid.0.feedback sampler.0.pin.0\n\
         addf sum2.0 servo-thread\naddf integ.0 servo-thread\naddf lowpass.0 servo-thread\naddf integ.1 servo-thread\n\
         addf pid.0.do-pid-calcs servo-thread\naddf sampler.0 servo-thread\nsource better.hal\nsetp pid.0.enable 1\n"
    )
}

/// Position and output of each cycle.
fn in_linuxcnc(folder: &Path, commands: &str) -> Vec<[f64; 2]> {
    let (hal, out) = (folder.join("loop.hal"), folder.join("samples"));
    let mut text = plant() + commands;
    let _ = writeln!(text, "start\nloadusr -w halsampler -n {CYCLES} {}", out.display());
    fs::write(&hal, text).unwrap();
    let mut running = Command::new("timeout");
    running.args(["60", "halrun"]).arg(&hal).current_dir(folder);
    running.env("RTAPI_UID", "65534").env("RTAPI_FIFO_PATH", folder.join("fifo"));
    let said = running.output().unwrap();
    let samples = fs::read_to_string(&out).unwrap_or_default();
    let of = |line: &str| -> Option<[f64; 2]> {
        let mut values = line.split_whitespace().map(|value| value.parse().ok());
        Some([values.next()??, values.next()??])
    };
    let found: Vec<[f64; 2]> = samples.lines().filter_map(of).collect();
    assert_eq!(found.len(), CYCLES, "{}", String::from_utf8_lossy(&said.stderr));
    fs::remove_file(out).unwrap();
    found
}

/// The number that a line of the file sets.
fn set(hal: &str, pin: &str) -> f64 {
    let line = hal.lines().find_map(|line| line.strip_prefix(&format!("setp pid.0.{pin} ")));
    line.map_or(0.0, |value| value.parse().unwrap())
}

#[test]
fn linuxcnc_s_pid_with_the_gains_that_were_written_answers_as_computed() {
    if Command::new("halrun").arg("-V").output().is_err() {
        assert!(std::env::var_os("JITTERLAB_REQUIRE_ALL").is_none(), "linuxcnc-uspace is required");
        return eprintln!("skipped: linuxcnc-uspace is not here (./test installs it)");
    }
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    // LinuxCNC gives its rights away.
    fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).unwrap();
    let run = known::run(folder, "late.parquet", H, 4_000, |k| 250_000 + k * 7_919 % 100_000);
    for controller in ["pd:1.5:35ms", "pid:1.5:500ms:35ms"] {
        let file = folder.join("better.hal");
        let args = ["servo", "--plant", "dc-servo", "--controller", controller, "--redesign", "--gains"];
        known::jitterlab(folder, &[&args[..], &[file.to_str().unwrap(), run.to_str().unwrap()]].concat());
        let hal = fs::read_to_string(&file).unwrap();
        let (p, i, d) = (set(&hal, "Pgain"), set(&hal, "Igain"), set(&hal, "Dgain"));
        assert!(hal.contains(&format!("for a thread of {H} ns")) && p > 0.0 && d > 0.0, "{hal}");
        assert_eq!(i > 0.0, controller.starts_with("pid"), "{hal}");

        let integral_s = (i > 0.0).then(|| vec![p / i]);
        let design = Design::Pid { gain: vec![p], integral_s, derivative_s: vec![d / p] };
        let plant: Plant = catalog::find_device("dc-servo", None).unwrap();
        let question = SingleTaskLoop::new(Plant { design, ..plant }, H);
        let mut drive = DrivenLoop::new(&question.closed_loop().unwrap(), Reference::Step(1.0));
        let step = "setp pid.0.FF1 0\nsetp pid.0.FF2 0\nsetp pid.0.command 1\n";
        let mut apart: f64 = 0.0;
        for (k, [y, u]) in in_linuxcnc(folder, step).into_iter().enumerate() {
            drive.advance_to(k as i64 * H);
            apart = apart.max((drive.current_point().outputs[0] - y).abs());
            drive.apply(LoopAction::Sample.as_only_task_event());
            drive.apply(LoopAction::Finish.as_only_task_event());
            apart = apart.max((drive.current_point().inputs[0] - u).abs());
        }
        println!("{controller}: at most {apart:e} apart in {CYCLES} cycles\n{hal}");
        // The samples have six decimals.
        assert!(apart < 1e-6, "{controller}: {apart}\n{hal}");
        if i > 0.0 {
            continue;
        }
        // At a constant speed a PD lags behind by the plant's drive, and with FF1 not at all.
        let ramp = "setp integ.1.in 1\nnet command integ.1.out => pid.0.command\n";
        let behind = |commands: String| {
            let last = in_linuxcnc(folder, &commands)[CYCLES - 1][0];
            CYCLES as f64 * 1e-3 - last
        };
        let (with, without) =
            (behind(ramp.into()), behind(format!("{ramp}setp pid.0.FF1 0\nsetp pid.0.FF2 0\n")));
        println!("at 1/s behind by {without} without, {with} with feedforward");
        assert!(
            (without * p * 1_000.0 - 1.0).abs() < 0.05 && with.abs() < 0.01 * without,
            "{with} {without}"
        );
    }
}
