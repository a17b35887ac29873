//! Motors, drives and plants of the user's own.

use std::path::Path;

use jitterlab_motion::catalog::Device;
use jitterlab_motion::servo::{Design, Plant, PlantOfLoops, Question, ServoResult, Several, TaskTiming};
use jitterlab_motion::stepper::{Axis, AxisOptions, Drive, Motor, StepperQuestion};

/// A TOML file as each kind of device, and what another program wrote, with what is first asked of them.
pub fn devices(folder: &Path, data: &[u8]) {
    let exported = folder.join("plant.json");
    let written = std::fs::write(&exported, data).is_ok();
    if let Some(Ok(plant)) = Plant::imported(&exported).filter(|_| written) {
        let plant = Plant { design: Design::StateFeedback, ..plant };
        let _ = ServoResult::alone(&Question::of(plant, 1_000_000));
    }
    let Ok(text) = std::str::from_utf8(data) else { return };
    let _ = Drive::from_toml("fuzzed", text);
    if let Ok(motor) = Motor::from_toml("fuzzed", text) {
        let options = AxisOptions { voltage_v: Some(48.0), ..AxisOptions::new(motor) };
        if let Ok(question) =
            Axis::new(options).and_then(|axis| StepperQuestion::new(axis, None, Some(50_000)))
        {
            let _ = question.under_jitter(20_000);
        }
    }
    if let Ok(plant) = Plant::from_toml("fuzzed", text) {
        if plant.loops.is_empty() {
            let _ = ServoResult::alone(&Question::of(plant, 1_000_000));
        } else if let Ok(several) = Several::bind(&[(None, plant)], &[], None, TaskTiming::default()) {
            several.iter().for_each(|plant| drop(PlantOfLoops::alone(plant)));
        }
    }
}
