//! Motors, drives and plants of the user's own.

use std::path::Path;

use jitterlab_motion::catalog::Device;
use jitterlab_motion::servo::{
    Design, MultiTaskLoop, Plant, PlantResult, ServoResult, SingleTaskLoop, TaskTiming,
};
use jitterlab_motion::stepper::{Axis, AxisFacts, Drive, Motor, StepperQuestion};

/// A TOML file as each kind of device, and what another program wrote; what takes long: what is first asked of them.
pub fn devices(folder: &Path, data: &[u8], long: bool) {
    if let Some(Ok(plant)) = Plant::import(&super::file(folder, "plant.json", data)) {
        closed(Plant { design: Design::StateFeedback, ..plant }, long);
    }
    let Ok(text) = std::str::from_utf8(data) else { return };
    let _ = Drive::from_toml("fuzzed", text);
    if let Ok(motor) = Motor::from_toml("fuzzed", text) {
        let facts = AxisFacts { voltage_v: Some(48.0), ..AxisFacts::default() };
        let question =
            Axis::new(motor, None, facts).and_then(|axis| StepperQuestion::new(axis, None, Some(50_000)));
        if let Some(question) = question.ok().filter(|_| long) {
            let _ = question.under_jitter(20_000);
        }
    }
    if let Ok(plant) = Plant::from_toml("fuzzed", text) {
        closed(plant, long);
    }
}

/// The plant with its controllers, judged if that may take long.
fn closed(plant: Plant, long: bool) {
    if !long {
        return;
    }
    if plant.loops.is_empty() {
        let _ = ServoResult::without_run(&SingleTaskLoop::new(plant, 1_000_000));
    } else if let Ok(several) =
        MultiTaskLoop::from_assignments(&[(None, plant)], &[], None, TaskTiming::default())
    {
        several.iter().for_each(|plant| drop(PlantResult::without_run(plant)));
    }
}
