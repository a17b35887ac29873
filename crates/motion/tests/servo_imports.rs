//! Plants as python-control wrote them out (`data/python-control/make.py`), and what it computed of the same loops.
#![expect(clippy::unwrap_used, reason = "a test stops at what cannot be")]

use jitterlab_motion::catalog;
use jitterlab_motion::servo::{Design, Margins, Plant, Question};

const PERIOD_NS: i64 = 1_000_000;

fn question(file: &str, controller: &str) -> Question {
    let path = format!("{}/tests/data/python-control/{file}", env!("CARGO_MANIFEST_DIR"));
    let mut plant: Plant = catalog::find(&path, None).unwrap();
    plant.design = Design::parse(controller, 1).unwrap();
    Question::of(plant, PERIOD_NS)
}

fn figure(key: &str) -> f64 {
    let figures: serde_json::Value =
        serde_json::from_str(include_str!("data/python-control/figures.json")).unwrap();
    figures[key].as_f64().unwrap()
}

fn near(found: f64, expected: f64, share: f64) {
    assert!((found / expected - 1.0).abs() < share, "{found} instead of {expected}");
}

#[test]
fn margins_are_python_control_s_of_a_continuous_and_of_a_sampled_transfer_function() {
    for file in ["motor-tf.json", "motor-sampled-tf.json"] {
        let found = Margins::of(&question(file, "pd:0.12:10ms"), 0).unwrap().channels.remove(0);
        near(found.punctual_degrees.unwrap(), figure("motor degrees"), 1e-6);
        near(found.crossover_rad_per_s.unwrap(), figure("motor crossover"), 1e-6);
    }
}

#[test]
fn the_cost_is_python_control_s_of_matrices_in_json_and_in_tables() {
    for file in ["axis-ss.json", "axis-sampled-ss.json", "axis"] {
        let found = question(file, "pd:8:30ms").ideal().unwrap();
        near(found.spectral_radius.sqrt(), figure("axis radius"), 1e-9);
        // Its mean over a period is of 2000 steps of it.
        near(found.cost, figure("axis mean y2"), 1e-6);
    }
}

#[test]
fn a_sampled_plant_s_noise_is_that_of_the_continuous_one_behind_it() {
    let cost = |file| question(file, "pd:8:30ms").constant(100_000, 300_000).unwrap().cost;
    near(cost("axis-sampled-ss.json"), cost("axis-ss.json"), 1e-8);
}

#[test]
fn a_design_that_is_unstable_is_refused_with_the_reason() {
    let message = question("axis-ss.json", "pd:8000:30ms").ideal().unwrap_err().to_string();
    assert!(
        message.contains("unstable with this controller") && message.contains("spectral radius"),
        "{message}"
    );
    let path = format!("{}/tests/data/python-control/axis-ss.json", env!("CARGO_MANIFEST_DIR"));
    let plant: Plant = catalog::find(&path, None).unwrap();
    let message = Question::of(plant, PERIOD_NS).ideal().unwrap_err().to_string();
    assert!(message.contains("--controller"), "{message}");
}
