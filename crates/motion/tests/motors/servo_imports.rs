//! Plants as python-control wrote them (`data/python-control/make.py`), and its results for the same loops.
#![expect(clippy::unwrap_used, reason = "a test stops at what cannot be")]

use jitterlab_motion::catalog;
use jitterlab_motion::servo::{Design, Margins, Plant, SingleTaskLoop};

const PERIOD_NS: i64 = 1_000_000;

fn question(file: &str, controller: &str) -> SingleTaskLoop {
    let path = format!("{}/tests/data/python-control/{file}", env!("CARGO_MANIFEST_DIR"));
    let mut plant: Plant = catalog::find_device(&path, None).unwrap();
    plant.design = Design::parse(controller, 1).unwrap();
    SingleTaskLoop::new(plant, PERIOD_NS)
}

fn figure(key: &str) -> f64 {
    let figures: serde_json::Value =
        serde_json::from_str(include_str!("../data/python-control/figures.json")).unwrap();
    figures[key].as_f64().unwrap()
}

fn near(found: f64, expected: f64, share: f64) {
    assert!((found / expected - 1.0).abs() < share, "{found} instead of {expected}");
}

#[test]
fn margins_are_python_control_s_of_a_continuous_and_of_a_sampled_transfer_function() {
    for file in ["motor-tf.json", "motor-sampled-tf.json"] {
        let found = Margins::new(&question(file, "pd:0.12:10ms"), 0, 0).unwrap().channels.remove(0);
        let nearest = found.punctual.unwrap().smallest_phase_margin().unwrap();
        near(nearest.degrees, figure("motor degrees"), 1e-6);
        near(nearest.crossover_rad_per_s, figure("motor crossover"), 1e-6);
    }
}

#[test]
fn the_cost_is_python_control_s_of_matrices_in_json_and_in_tables() {
    for file in ["axis-ss.json", "axis-sampled-ss.json", "axis"] {
        let found = question(file, "pd:8:30ms").ideal_stationary().unwrap();
        near(found.spectral_radius.sqrt(), figure("axis radius"), 1e-9);
        // Its mean over a period is of 2000 steps of it.
        near(found.cost, figure("axis mean y2"), 1e-6);
    }
}

#[test]
fn a_sampled_plant_s_noise_is_that_of_the_continuous_one_behind_it() {
    let cost = |file| question(file, "pd:8:30ms").stationary_with_timing(100_000, 300_000).unwrap().cost;
    near(cost("axis-sampled-ss.json"), cost("axis-ss.json"), 1e-8);
}

#[test]
fn a_design_that_is_unstable_is_refused_with_the_reason() {
    let message = question("axis-ss.json", "pd:8000:30ms").ideal_stationary().unwrap_err().to_string();
    assert!(
        message.contains("unstable with this controller") && message.contains("spectral radius"),
        "{message}"
    );
    let path = format!("{}/tests/data/python-control/axis-ss.json", env!("CARGO_MANIFEST_DIR"));
    let plant: Plant = catalog::find_device(&path, None).unwrap();
    let message = SingleTaskLoop::new(plant, PERIOD_NS).ideal_stationary().unwrap_err().to_string();
    assert!(message.contains("--controller"), "{message}");
}

/// Files that describe no plant: each is refused by a sentence with the reason and the right way to write it.
#[test]
fn what_is_no_plant_is_refused_with_the_reason() {
    let square = |n: usize| -> String {
        let row = |i: usize| (0..n).map(|j| if i == j { "-1" } else { "0" }).collect::<Vec<_>>().join(",");
        (0..n).map(|i| format!("[{}]", row(i))).collect::<Vec<_>>().join(",")
    };
    let column = |n: usize| vec!["[1]"; n].join(",");
    let large =
        format!(r#"{{"A": [{}], "B": [{}], "C": [[{}]]}}"#, square(200), column(200), ["1"; 200].join(","));
    let deep = "[".repeat(100_000);
    let cases: [(&str, &str); 20] = [
        ("", "no JSON of a system"),
        ("null", "no JSON of a system"),
        ("\0\u{1}\u{2}", "no JSON of a system"),
        (&deep, "no JSON of a system"),
        (r#"{"A": [[NaN]], "B": [[1]], "C": [[1]]}"#, "no JSON of a system"),
        (r#"{"A": [[1e999]], "B": [[1]], "C": [[1]]}"#, "number out of range"),
        (r#"{"A": [[1e308]], "B": [[1e308]], "C": [[1e308]]}"#, "beyond what can be computed"),
        (r#"{"A": [[1e6]], "B": [[1]], "C": [[1]]}"#, "beyond what can be computed"),
        (r#"{"A": [[-5e-324]], "B": [[5e-324]], "C": [[5e-324]]}"#, "weighs nothing"),
        (r#"{"A": [[1, 2]], "B": [[1]], "C": [[1]]}"#, "A has to be square"),
        (r#"{"A": [[1, 2], [3]], "B": [[1], [1]], "C": [[1, 0]]}"#, "rows of the same length"),
        (r#"{"A": [[1, 0], [0, 1]], "B": [[1]], "C": [[1, 0]]}"#, "as many rows as B"),
        (r#"{"A": [], "B": [], "C": []}"#, "list of rows"),
        (r#"{"A": "x", "B": "y", "C": "z"}"#, "not made of numbers"),
        (r#"{"Ax": [[1]], "Q": [[1]]}"#, "holds A, B, C"),
        (r#"{"num": [0], "den": [0]}"#, "numerator that is not zero"),
        (r#"{"num": [1, 0, 0], "den": [1, 1]}"#, "improper"),
        (r#"{"num": [1], "den": [1, 1], "dt": -1}"#, "period is unknown"),
        (r#"{"A": [[0.5]], "B": [[1]], "C": [[1]], "dt": 1e-12}"#, "unstable"),
        (&large, "at most 12"),
    ];
    let path = format!("{}/no-plant.json", env!("CARGO_TARGET_TMPDIR"));
    for (text, expected) in cases {
        std::fs::write(&path, text).unwrap();
        let refused = catalog::find_device(&path, None).and_then(|mut plant: Plant| {
            plant.design = Design::parse("pd:1:1ms", 1)?;
            SingleTaskLoop::new(plant, PERIOD_NS).ideal_stationary()
        });
        let message = refused.unwrap_err().to_string();
        let told: String = text.chars().take(60).collect();
        assert!(message.contains(expected), "{told}: {message}");
    }
    std::fs::remove_file(&path).unwrap();
}
