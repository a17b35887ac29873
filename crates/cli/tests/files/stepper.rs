//! `jitterlab stepper` as a user meets it, on runs with known timing.

use std::fs;
use std::path::{Path, PathBuf};

use crate::shared::known::{self, answered, refused};
use serde_json::Value;
use tempfile::TempDir;

/// A run of a base thread every 50 us, 1 s long, with one stall of `stall_ns`.
fn run(folder: &Path, name: &str, stall_ns: i64) -> PathBuf {
    known::run(folder, name, 50_000, 20_000, |index| {
        if index == 12_000 { stall_ns } else { 2_000 + index * 7 % 1_000 }
    })
}

const NEMA_23: [&str; 11] = [
    "stepper",
    "--frame",
    "23",
    "--torque",
    "1.9 N m",
    "--voltage",
    "24V",
    "--microsteps",
    "1/8",
    "--travel",
    "10mm/rev",
];

#[test]
fn a_frame_a_torque_and_a_voltage_give_an_answer_with_every_assumption_named() {
    let folder = TempDir::new().unwrap();
    let path = run(folder.path(), "quiet.parquet", 3_000);
    let brief = answered(folder.path(), &[&NEMA_23[..], &[path.to_str().unwrap()]].concat());
    assert!(brief.starts_with("GOOD for software stepping: fit up to "), "{brief}");
    assert!(brief.contains("mm/min") && brief.contains("Base Period Maximum Jitter"), "{brief}");
    let text = answered(folder.path(), &[&NEMA_23[..], &["--details", path.to_str().unwrap()]].concat());
    let taken = text.split("Taken where nothing was given:").nth(1).unwrap();
    for what in ["rotor inertia", "drive timing", "load torque", "load inertia", "friction", "rated current"]
    {
        assert!(taken.contains(&format!("  {what}  ")), "{what}: {taken}");
    }
    assert!(!taken.contains("supply voltage") && !taken.contains("microsteps"), "{taken}");
    assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
}

#[test]
fn a_stall_loses_steps_and_the_quiet_run_beside_it_does_not() {
    let folder = TempDir::new().unwrap();
    let stalled = run(folder.path(), "stalled.parquet", 8_000_000);
    let quiet = run(folder.path(), "quiet.parquet", 3_000);
    let options = ["stepper", "--motor", "as1050", "--voltage", "48V", "--microsteps", "1", "--speed"];
    let files = ["5rev/s", "--json", "--beside", quiet.to_str().unwrap(), stalled.to_str().unwrap()];
    // An axis that software cannot step ends with 1.
    let judged = known::jitterlab(folder.path(), &[&options[..], &files].concat());
    assert_eq!(judged.status.code(), Some(1));
    let json: Value = serde_json::from_slice(&judged.stdout).unwrap();
    assert_eq!((&json["head"]["fitness"], &json["head"]["asked"]), (&"unfit".into(), &true.into()));
    let json = &json["result"];
    assert_eq!(
        (&json["run"]["task"], &json["simulations"]["beside"]),
        (&"known".into(), &"quiet.parquet".into())
    );
    let simulations = json["simulations"]["of"].as_array().unwrap();
    let of = |ticks: &str, policy: Option<&str>| {
        let found = simulations.iter().find(|s| s["ticks"] == ticks && s["policy"].as_str() == policy);
        &found.unwrap()["response"]
    };
    // 8 ms at 1000 full steps/s are 8 steps for good; the equal-area limit at half load is 0.763.
    assert!(of("run", Some("skip"))["lost_at_s"].as_f64().is_some(), "{json:#}");
    assert_eq!(of("punctual", None)["lost_steps"], 0);
    for policy in ["skip", "catch-up"] {
        assert_eq!(of("beside", Some(policy))["lost_steps"], 0);
        assert!(of("beside", Some(policy))["lost_at_s"].is_null());
    }
    // 8 ms at the only speed of the table.
    let lost_from =
        simulations.iter().find(|s| s["policy"] == "skip").and_then(|s| s["loses_from_steps_per_s"].as_f64());
    assert_eq!(lost_from, Some(1000.0));
    // The one rate is that of the stall: no base period below 8 ms leaves the drive its time behind it.
    let verdict = &json["verdict"];
    assert_eq!(
        (verdict["fitness"].as_str(), verdict["recommended"]["limit"].as_str()),
        (Some("unfit"), Some("lost-steps"))
    );
    assert!(verdict["recommended"]["base_period_ns"].as_i64().unwrap() > 7_998_000, "{verdict}");
    let limit = json["assessment"]["step_loss_steps_per_s"].as_f64().unwrap();
    assert!(limit < 200.0, "8 ms late at half load loses steps from 95 full steps/s on: {limit}");
}

#[test]
fn a_clock_that_is_fast_is_named_and_makes_no_tick_late() {
    let folder = TempDir::new().unwrap();
    let table = |name: &str, gained_ns: i64, ticks: i64, stall_ns: i64| {
        let line = |index: i64| {
            let due = index * 50_000;
            // Behind a stall ticks come in a burst.
            let behind = if index < 12_000 { 0 } else { (stall_ns - (index - 12_000) * 49_000).max(0) };
            let late = 2_000 + index * 7_919 % 1_000 + behind;
            format!("{due},{}\n", due + late + index * gained_ns)
        };
        let lines: String = (0..ticks).map(line).collect();
        let path = folder.path().join(name);
        fs::write(&path, format!("due_ns,start_ns\n{lines}")).unwrap();
        path
    };
    // 20 ppm of 50 us are 1 ns a tick: 200 us after 10 s.
    for (gained_ns, said) in [(1, "20.0 ppm fast"), (-1, "20.0 ppm slow")] {
        let path = table("fast.csv", gained_ns, 200_000, 0);
        let text = answered(folder.path(), &[&NEMA_23[..], &[path.to_str().unwrap()]].concat());
        assert!(text.starts_with("GOOD for software stepping"), "{text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&format!("is {said} against that of the due times")), "{text}");
    }
    // Other faults are still reported.
    let path = table("stalled.csv", 1, 200_000, 400_000);
    let judged = known::jitterlab(folder.path(), &[&NEMA_23[..], &[path.to_str().unwrap()]].concat());
    let text = String::from_utf8_lossy(&judged.stdout);
    assert!(judged.status.code() == Some(1) && text.starts_with("NOT FIT"), "{text}");
    assert!(text.contains("up to 40") && text.contains("ppm fast"), "{text}");
    // Too few ticks give no verdict.
    let path = table("few.csv", 0, 500, 0);
    let judged = known::jitterlab(folder.path(), &[&NEMA_23[..], &[path.to_str().unwrap()]].concat());
    let text = String::from_utf8_lossy(&judged.stdout).replace("\n  ", " ");
    assert!(judged.status.code() == Some(3) && text.contains("it takes 2 995 ticks to tell"), "{text}");
}

#[test]
fn an_assumed_jitter_needs_no_run_and_stepconf_s_row_comes_out() {
    let folder = TempDir::new().unwrap();
    let args = ["stepper", "--motor", "as1050", "--drive", "stepconf", "--jitter", "15us", "--json"];
    let json: Value = serde_json::from_str(&answered(folder.path(), &args)).unwrap();
    let json = &json["result"];
    assert_eq!(json["assessment"]["stepconf"]["min_period_ns"], 30_000);
    assert_eq!(json["assessment"]["stepconf"]["max_rate_hz"], 33_333.0);
    assert_eq!(json["assessment"]["stepconf_other"]["mode"], "single-step");
    assert_eq!(json["assessment"]["stepconf_other"]["min_period_ns"], 20_000);
    assert!(json["simulations"].is_null());
}

#[test]
fn a_histogram_of_another_tool_is_judged_and_what_it_cannot_say_is_named() {
    let folder = TempDir::new().unwrap();
    let histogram = folder.path().join("histogram.txt");
    fs::write(
        &histogram,
        "# Histogram\n000001 000010\n000002 000100\n000003 000050\n000025 000001\n# Total: 000000161\n\
         # Min Latencies: 00001\n# Avg Latencies: 00002\n# Max Latencies: 00025\n# Histogram Overflows: 00000\n",
    )
    .unwrap();
    let histogram = histogram.to_str().unwrap();
    let args = ["stepper", "--motor", "as1050", "--json", histogram];
    // A thread with a period of a millisecond gives no verdict.
    let judged = known::jitterlab(folder.path(), &args);
    assert_eq!(judged.status.code(), Some(3));
    let json: Value = serde_json::from_slice(&judged.stdout).unwrap();
    let timing = &json["result"]["assessment"]["timing"];
    assert_eq!(
        (timing["jitter_ns"].as_i64(), timing["period_error_ns"].as_i64()),
        (Some(24_999), Some(24_999))
    );
    let caveats = json["result"]["caveats"].to_string();
    assert!(
        caveats.contains("independent-intervals") && caveats.contains("histogram.txt keeps only a histogram"),
        "{caveats}"
    );
    refused(
        folder.path(),
        &["servo", histogram],
        3,
        &["histogram.txt keeps only a histogram", "jitterlab run --keep all"],
    );
    let notes = folder.path().join("notes.txt");
    fs::write(&notes, "shopping").unwrap();
    refused(
        folder.path(),
        &["servo", notes.to_str().unwrap()],
        3,
        &["notes.txt", "not an output that jitterlab can import"],
    );
}

#[test]
fn own_devices_are_listed_found_by_name_and_hide_shipped_ones() {
    let folder = TempDir::new().unwrap();
    let own = folder.path().join("jitterlab/motors");
    fs::create_dir_all(&own).unwrap();
    let sheet = "name = 'Old plotter'\nstep_angle = '1.8 deg'\nholding_torque = '0.4 N m'\n";
    fs::write(own.join("plotter.toml"), sheet).unwrap();
    fs::write(own.join("broken.toml"), "name = 'x'").unwrap();
    let list = answered(folder.path(), &["stepper", "--list"]);
    assert!(list.contains("plotter (yours)") && list.contains("as1060") && list.contains("gecko203v"));
    assert!(list.contains("broken: ") && list.contains(own.to_str().unwrap()), "{list}");
    let text = answered(folder.path(), &["stepper", "--motor", "plotter", "--jitter", "10us", "--details"]);
    assert!(text.contains("Old plotter"), "{text}");
    // The file that the list shows as an example works.
    fs::write(own.join("copied.toml"), known::example(&list, "as1050")).unwrap();
    let drives = folder.path().join("jitterlab/drives");
    fs::create_dir_all(&drives).unwrap();
    fs::write(drives.join("copied.toml"), known::example(&list, "gecko203v")).unwrap();
    let both = ["stepper", "--motor", "copied", "--drive", "copied", "--jitter", "10us", "--details"];
    assert!(answered(folder.path(), &both).contains("Beckhoff AS1050"));
}

#[test]
fn mistakes_are_sentences_with_a_remedy() {
    let folder = TempDir::new().unwrap();
    let bad = |args: &[&str], says: &[&str]| {
        refused(folder.path(), &[&["stepper"], args].concat(), 2, says);
    };
    bad(&["--jitter", "10us"], &["which motor?", "--list"]);
    bad(&["--frame", "big", "--torque", "1Nm", "--jitter", "9us"], &["no NEMA frame size", "23"]);
    bad(&["--motor", "as1050", "--travel", "5mm", "--jitter", "9us"], &["did you mean 5mm/rev?"]);
    bad(&["--motor", "as1050"], &["no timing to judge", "--jitter"]);
    bad(&["--motor", "as1050", "--jitter", "10us", "--beside", "x.parquet"], &["cannot be used"]);
    bad(&["--motor", "nosuch", "--jitter", "10us"], &["nosuch", "as1050", "TOML"]);
    bad(&["--torque", "1.9", "--jitter", "10us"], &["without a unit", "N m"]);
    bad(&["--motor", "as1050", "--load-inertia=-3gcm2", "--jitter", "10us"], &["inertia", "below zero"]);
    bad(
        &["--motor", "as1050", "--load-torque", "9Nm", "--jitter", "10us"],
        &["holding torque", "larger motor"],
    );
    bad(
        &["--motor", "as1050", "--load-inertia", "1e300 kg m2", "--jitter", "10us"],
        &["no motor or machine has"],
    );
    bad(&["--torque", "1e300 N m", "--jitter", "10us"], &["check the number and its unit"]);
    bad(&["--motor", "as1050", "--voltage", "nan", "--jitter", "10us"], &["does not start with a number"]);
    bad(&["--motor", "as1050", "--jitter", "10us", "--base-period", "0us"], &["at least 1 ns"]);
    let empty = folder.path().join("empty.toml");
    fs::write(&empty, "").unwrap();
    bad(&["--motor", empty.to_str().unwrap(), "--jitter", "10us"], &["missing field `name`"]);
    bad(&["--motor", "./", "--jitter", "10us"], &["directory"]);
    bad(&["--motor", "as1050", "--microsteps", "many", "--jitter", "10us"], &["1/8"]);
    bad(&["--motor", "as1050", "--speed", "5mm/s", "--jitter", "10us"], &["--travel"]);
    bad(&["--motor", "as1050", "--simulate", "0s", "--jitter", "10us"], &["at least 10ms"]);
    bad(&["--motor", "as1050", "--base-period", "1ns", "--jitter", "10us"], &["base period of 1ns", "1us"]);
    bad(&["--motor", "as1050", "--speed", "5rev/s..1rev/s", "--jitter", "10us"], &["lower speed first"]);
    refused(
        folder.path(),
        &["stepper", "--motor", "as1050", "nosuch.parquet"],
        2,
        &["no file nosuch.parquet here"],
    );
}
