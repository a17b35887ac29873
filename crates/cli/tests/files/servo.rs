//! `jitterlab servo` as a user meets it, on runs with known timing.

#![expect(clippy::unwrap_used, reason = "a test that cannot do its steps has failed")]

mod linuxcnc;

use std::fs;
use std::path::{Path, PathBuf};

use crate::shared::known::{self, answered, jitterlab, refused};
use jitterlab_model::{Activation, Bench, RunInfo, TaskSpec};
use jitterlab_trace::RunWriter;
use serde_json::Value;
use tempfile::TempDir;

const H: i64 = 6_000_000;

/// Result for a loop, after a check of the exit status: 3 if the run is too short for a verdict.
fn json(folder: &Path, args: &[&str]) -> Value {
    let output = jitterlab(folder, &[&["servo", "--json"], args].concat());
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let status = match document["head"]["fitness"].as_str() {
        Some("unfit") => 1,
        Some("cannot-tell") => 3,
        _ => 0,
    };
    assert_eq!(output.status.code(), Some(status), "{args:?}: {}", document["head"]);
    document["result"].clone()
}

#[test]
fn a_punctual_run_costs_what_the_jitterbug_manual_says() {
    let folder = TempDir::new().unwrap();
    // 20 % of the period late, all of it in front of the sample: the actuation then has no delay of its own, and
    // the loop is that of a shifted grid. With sampling at the due time it is the manual's delay.
    let path = known::run(folder.path(), "late.parquet", H, 500, |_| 1_200_000 - 500);
    let found = json(folder.path(), &["--sampling", "due", path.to_str().unwrap()]);
    let cost = |which: &str| found["judged"]["evaluation"][which]["cost"].as_f64().unwrap();
    assert!((cost("ideal") - 65.523441).abs() < 1e-6, "{}", cost("ideal"));
    assert!((cost("clustered") - 72.662933).abs() < 1e-6, "{}", cost("clustered"));
    assert_eq!(found["judged"]["evaluation"]["timing"]["missed"], 0);
}

#[test]
fn the_answer_comes_first_and_everything_fits_the_terminal() {
    let folder = TempDir::new().unwrap();
    let path = known::run(folder.path(), "jitter.parquet", H, 3_000, |k| (k * 7_919) % 3_000 * 1_000);
    let svg = folder.path().join("responses.svg");
    let args = ["servo", "--details", "--figure", svg.to_str().unwrap(), path.to_str().unwrap()];
    let text = answered(folder.path(), &args);
    assert!(text.starts_with("GOOD for DC servo under pd every 6 ms.\n"), "{text}");
    for part in
        ["phase margin", "delay margin", "jitter margin", "velocity", "the run itself", "move:1:", "sine:1:"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
    assert!(fs::read_to_string(svg).unwrap().contains("as recorded"));
}

#[test]
fn bursts_of_misses_make_a_loop_unstable_and_the_exit_status_says_so() {
    let folder = TempDir::new().unwrap();
    // Every 200 periods a stall over 30 of them.
    let path =
        known::run(folder.path(), "bursts.parquet", H, 4_000, |k| if k % 200 == 100 { 30 * H } else { 0 });
    let output = jitterlab(folder.path(), &["servo", path.to_str().unwrap()]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("NOT stable") && text.contains("bursts"), "{text}");
}

#[test]
fn without_a_run_margins_and_the_cost_of_delays_are_shown() {
    let folder = TempDir::new().unwrap();
    let found = json(folder.path(), &["--period", "6ms"]);
    let delays = found["judged"]["costs"].as_array().unwrap();
    assert!((delays[5]["cost"].as_f64().unwrap() - 86.217599).abs() < 1e-6, "{delays:?}");
    let jitter_ns = found["margins"]["jitter_ns"].as_f64().unwrap();
    assert!((jitter_ns / H as f64 - 2.00513).abs() < 1e-3);
    let unstable = json(folder.path(), &["--period", "10ms"]);
    assert!(unstable["judged"]["costs"][10]["cost"].is_null());
    assert!(answered(folder.path(), &["servo", "--plant", "jiwy", "--period", "5ms"]).contains("tilt"));
}

#[test]
fn own_plants_and_other_controllers_are_taken() {
    let folder = TempDir::new().unwrap();
    let own = folder.path().join("jitterlab/plants");
    fs::create_dir_all(&own).unwrap();
    let plant = "name = 'Gimbal'\n[zpk]\npoles = [0, -5]\ngain = 40\n[noise]\nmeasurement = 1e-6\n\
                 [cost]\noutput = 1.0\ninput = 0.001\n[controller]\nkind = 'pd'\ngain = 4.0\nderivative_time = '50 ms'\n";
    fs::write(own.join("gimbal.toml"), plant).unwrap();
    let list = answered(folder.path(), &["servo", "--list"]);
    assert!(list.contains("gimbal (yours)"), "{list}");
    fs::write(own.join("copied.toml"), known::example(&list, "dc-servo")).unwrap();
    assert!(
        answered(folder.path(), &["servo", "--plant", "copied", "--period", "5ms"]).starts_with("DC servo")
    );
    for controller in ["pd:2:40ms", "pid:2:500ms:40ms", "state-feedback", "lqg"] {
        let args = ["servo", "--plant", "gimbal", "--period", "5ms", "--controller", controller];
        assert!(answered(folder.path(), &args).contains("Gimbal"), "{controller}");
    }
}

/// Execution times a period cannot hold: nothing has been measured, and the answer is exact.
#[test]
fn given_execution_times_are_judged_under_each_overrun_action() {
    let folder = TempDir::new().unwrap();
    let given = |execution: &str, overrun: &str| {
        let args = ["--period", "4ms", "--execution", execution, "--overrun", overrun];
        json(folder.path(), &args)["judged"].clone()
    };
    let near = |found: &Value, expected: f64| (found.as_f64().unwrap() / expected - 1.0).abs() < 1e-8;
    let skip = given("0.8h:0.5,1.2h:0.5", "skip");
    assert!(near(&skip["cost"], 177.855_093_6) && near(&skip["spectral_radius"], 0.764_865_419_2), "{skip}");
    assert!(
        near(&skip["radius_per_period"], 0.841_165_844_6) && near(&skip["interval_periods"], 1.5),
        "{skip}"
    );
    let of =
        |action: &str| skip["actions"].as_array().unwrap().iter().find(|a| a["action"] == action).unwrap();
    assert!(near(&of("re-phase")["cost"], 239.561_188_8) && of("kill")["cost"].is_null(), "{skip}");
    assert!(near(&given("0.8h..1.2h", "skip")["cost"], 178.458_002_3));
    // A backlog makes jobs depend on each other: times are drawn, and the cost has an interval.
    let drawn = given("0.8h:0.9,1.2h:0.1:2", "catch-up");
    assert!((drawn["cost"].as_f64().unwrap() / 75.792_297_21 - 1.0).abs() < 1e-3, "{drawn}");
    let bound = |which: &str| drawn["cost_interval"][which].as_f64().unwrap();
    assert!(bound("low") < 75.792_297_21 && 75.792_297_21 < bound("high"), "{drawn}");
    assert!(near(&given("1h+1ns", "queue")["cost"], 79.476_335_24));
    let killed = ["servo", "--period", "4ms", "--execution", "0.8h,1.2h", "--overrun", "kill"];
    let output = jitterlab(folder.path(), &killed);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.starts_with("NOT FIT: do not close ") && text.contains("with that it would be"), "{text}");
    let proved =
        ["servo", "--period", "4ms", "--execution", "0.5h,1.5h", "--overrun", "kill", "--misses", "1/3"];
    let output = jitterlab(folder.path(), &proved);
    assert!(
        String::from_utf8_lossy(&output.stdout)
            .contains("PROVED stable under every sequence of these jobs with at most 1 missed in")
    );
    // The miss is in the proof though no job misses; a growing sequence ends with 1, a missing proof with 3.
    for (overrun, asked, code, says) in [
        ("kill", "2/3", 1, "It is NOT stable with at most 2 of any 3 periods missed"),
        ("kill/zero", "2/3", 0, "It is PROVED stable with at most 2 of any 3 periods missed"),
        ("catch-up", "1/3", 3, "is not proved"),
    ] {
        let args =
            ["servo", "--period", "4ms", "--execution", "0.5h", "--overrun", overrun, "--misses", asked];
        let output = jitterlab(folder.path(), &args);
        let text = String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        let first = text.split("Next:").next().unwrap();
        assert_eq!((output.status.code(), first.contains(says)), (Some(code), true), "{text}");
    }
    let bad = |args: &[&str], says: &[&str]| {
        refused(folder.path(), &[&["servo", "--period", "4ms"], args].concat(), 2, says);
    };
    bad(&["--execution", "soon"], &["0.8h..1.2h"]);
    bad(&["--execution", "0.5h:0.5,1h:0.4"], &["add up to 0.9"]);
    bad(&["--execution", "0.5h", "--overrun", "wait"], &["kill/predict"]);
    bad(&["--execution", "0.5h", "--overrun", "kill/predict"], &["--controller lqg"]);
    bad(&["--execution", "0.5h", "--misses", "3/2"], &["2/10"]);
}

/// The plant and gain of Zhang, Branicky and Phillips (2001): stable up to 1.7294 s, a published bound.
#[test]
fn a_published_loop_with_a_given_gain_is_answered() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("networked.toml");
    fs::write(
        &file,
        "name = 'networked'\n[state_space]\na = [[0, 1], [0, -0.1]]\nb = [[0], [0.1]]\nc = [[1, 0]]\n\
         [cost]\nstate = [1, 0.5]\n[controller]\nkind = 'state-feedback'\ngain = [[3.75, 11.5]]\n",
    )
    .unwrap();
    let file = file.to_str().unwrap();
    assert!(json(folder.path(), &["--plant", file, "--period", "1729ms"])["margins"]["delay"]["ns"].is_i64());
    refused(
        folder.path(),
        &["servo", "--plant", file, "--period", "1730ms"],
        2,
        &["unstable", "shorter period"],
    );
    refused(
        folder.path(),
        &["servo", "--plant", file, "--period", "1730ms", "--live", "-d", "60s"],
        2,
        &["unstable"],
    );
    let delayed = ["servo", "--plant", file, "--period", "1s", "--design-delay", "100ms"];
    refused(folder.path(), &delayed, 2, &["given by its numbers", "lqg"]);
    // A design for the delay is impossible here, so it is not proposed either.
    let run =
        known::run(folder.path(), "late.parquet", 1_000_000_000, 50, |k| 100_000_000 + k * 7_919 % 1_000);
    let output = jitterlab(folder.path(), &["servo", "--plant", file, run.to_str().unwrap()]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("poll to the due time") && !text.contains("design the controller for"), "{text}");
}

/// At 100 us the delay margin is some 193 periods.
#[test]
fn a_fast_loop_s_delay_margin_is_that_of_the_slow_one() {
    let folder = TempDir::new().unwrap();
    let found = json(folder.path(), &["--period", "100us"]);
    let (delay_ns, jitter_ns) = (&found["margins"]["delay"]["ns"], &found["margins"]["jitter_ns"]);
    assert!((19_200_000..19_400_000).contains(&delay_ns.as_i64().unwrap()), "{delay_ns}");
    assert!(jitter_ns.as_f64() < delay_ns.as_f64(), "{jitter_ns}");
}

#[test]
fn mistakes_are_sentences_with_a_remedy() {
    let folder = TempDir::new().unwrap();
    let bad = |args: &[&str], says: &[&str]| {
        refused(folder.path(), &[&["servo"], args].concat(), 2, says);
    };
    bad(&[], &["no timing to judge", "--period 1ms"]);
    bad(&["--period", "1ms", "--plant", "nosuch"], &["nosuch", "dc-servo", "TOML"]);
    bad(&["--period", "1ms", "--controller", "fuzzy"], &["pid:GAIN:TI:TD"]);
    bad(&["--period", "1ms", "--controller", "pd:1:35"], &["without a unit"]);
    bad(&["--period", "1ms", "--design-delay", "2ms"], &["zero to one period"]);
    bad(&["--period", "1ms", "--sampling", "later"], &["start or due"]);
    bad(&["--period", "1ms", "--actuation", "later"], &["next-start"]);
    bad(&["--period", "1ms", "--reference", "circle:1"], &["step:1"]);
    bad(&["--live", "--duration", "1ms"], &["twenty periods"]);
    bad(&["--live", "--wake", "telepathy"], &["nanosleep"]);
    bad(&["--live", "--actuation", "next-due"], &["cannot be used"]);
    bad(&["--period", "1ms", "--task", "main"], &["--task", "without a run"]);
    bad(&["--period", "1ms", "--figure", "step.svg"], &["no response to draw", "run file"]);
    refused(folder.path(), &["servo", "nosuch.parquet"], 2, &["no file nosuch.parquet here"]);
    let improper = folder.path().join("improper.toml");
    fs::write(
        &improper,
        "name = 'x'\n[transfer_function]\nnumerator = [1, 0]\ndenominator = [1, 1]\n[controller]\nkind = 'lqg'\n",
    )
    .unwrap();
    bad(&["--period", "1ms", "--plant", improper.to_str().unwrap()], &["improper"]);
    // Unstable by its design: the controller is far too slow for this period.
    let path = known::run(folder.path(), "slow.parquet", 10 * H, 100, |_| 0);
    bad(&[path.to_str().unwrap()], &["unstable with this controller", "shorter period"]);
    bad(&["--period", "60ms"], &["unstable with this controller", "shorter period"]);
    bad(&["--period", "100000h"], &["at most a day"]);
    bad(&["--period", "1ms", "--controller", "pd:nan:1ms"], &["finite number", "1.5"]);
    bad(&["--period", "1ms", "--controller", "pd:inf:1ms"], &["finite number"]);
    // Numbers no plant has, and a mode that no controller reaches: each ends in a sentence, none in an endless iteration.
    let own = |name: &str, plant: &str, says: &[&str]| {
        let file = folder.path().join(name);
        fs::write(&file, format!("name = 'x'\n{plant}")).unwrap();
        bad(&["--period", "1ms", "--plant", file.to_str().unwrap()], says);
    };
    let pd = "[controller]\nkind = 'pd'\ngain = 1\nderivative_time = '10 ms'\n";
    own("fast.toml", &format!("{pd}[zpk]\npoles = [0, -1e300]\ngain = 1e300"), &["coefficients", "units"]);
    own("strong.toml", &format!("{pd}[zpk]\npoles = [0, -1]\ngain = 1e200"), &["coefficients", "units"]);
    own(
        "slow-lead.toml",
        &format!("{}[zpk]\npoles = [0, -1]\ngain = 1", pd.replace("10 ms", "1e300 s")),
        &["check the number"],
    );
    own("nan.toml", &format!("{pd}[zpk]\npoles = [nan, -1]\ngain = 1"), &["zeros and poles are numbers"]);
    own(
        "key.toml",
        &format!("mass = 3\n{pd}[zpk]\npoles = [-1]\ngain = 1"),
        &["unknown field `mass`", "cost"],
    );
    own(
        "unreached.toml",
        "[noise]\nmeasurement = 1\n[state_space]\na = [[1, 0], [0, -1]]\nb = [[0], [1]]\nc = [[1, 1]]\n\
         [controller]\nkind = 'lqg'",
        &["no controller of this kind stabilises the plant"],
    );
    own(
        "two-outputs.toml",
        "[state_space]\na = [[0, 1], [0, 0]]\nb = [[0], [1]]\nc = [[1, 0], [0, 1]]\n[controller]\nkind = 'lqg'",
        &["as many outputs as inputs", "cost.state"],
    );
    let short = known::run(folder.path(), "short.parquet", H, 5, |_| 0);
    refused(folder.path(), &["servo", short.to_str().unwrap()], 3, &["longer run"]);
}

#[test]
fn what_cannot_be_run_live_is_refused_before_anything_is_measured() {
    let folder = TempDir::new().unwrap();
    for (option, value, says) in [("--load", "cpu:99999", "1 to 1024"), ("--cpu", "4095", "this machine has")]
    {
        let output = jitterlab(folder.path(), &["servo", "--live", "--wake", "nanosleep", option, value]);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(says) && !text.contains("under load none"), "{text}");
    }
}

#[test]
fn a_loop_is_closed_in_real_time_and_its_error_is_near_the_punctual_one() {
    let folder = TempDir::new().unwrap();
    let args = [
        "--live",
        "--way",
        "wake=nanosleep",
        "--way",
        "compensate=margin:100us",
        "--way",
        "wake=nanosleep-relative",
        "--way",
        "wake=spin",
        "-d",
        "300ms",
        "--period",
        "5ms",
    ];
    let found = json(folder.path(), &[&args[..], &["--reference", "sine:0.5:2Hz"]].concat());
    let ways = found["ways"].as_array().unwrap();
    let name = |way: &Value| ["wake", "compensation"].map(|key| way[key].as_str().unwrap().to_owned());
    let names: Vec<String> = ways.iter().map(|way| name(way).join(" ")).collect();
    assert_eq!(names, ["nanosleep none", "nanosleep margin:100us", "nanosleep-relative none", "spin none"]);
    assert_eq!(found["loop"]["outputs"].as_array().unwrap().len(), 2);
    for way in ways {
        let due = way["executed"].as_u64().unwrap() + way["missed"].as_u64().unwrap();
        assert!((59..=61).contains(&due), "{way}");
        assert_eq!((&way["asked_loads"], &way["load"]), (&serde_json::json!([]), &"none".into()));
        // The joints follow a sine of 0.5 late: that is an error, and not a runaway. Its size depends on the
        // machine's load at this moment.
        assert!(way["errors"].as_array().unwrap().iter().all(|e| e["rms"].as_f64() > Some(0.0)), "{way}");
    }
}

/// Eight seconds of two tasks, x every ms and z every 4 ms.
fn two_tasks(folder: &Path) -> PathBuf {
    let tasks = [("x", 1_000_000, 10_000, 100_000), ("z", 4_000_000, 120_000, 300_000)];
    let spec = |(name, period_ns, ..): (&str, i64, i64, i64)| TaskSpec {
        name: name.into(),
        period_ns,
        ..TaskSpec::default()
    };
    let info = RunInfo::new(Bench::Host, "CLOCK_MONOTONIC", tasks.map(spec));
    let path = folder.join("two.parquet");
    let mut writer = RunWriter::create(&path, &info).unwrap();
    for (number, (_, period_ns, late_ns, work_ns)) in tasks.into_iter().enumerate() {
        let row = |k: i64| {
            let due_ns = k * period_ns;
            let start_ns = due_ns + late_ns + k * 7_919 % 5_000;
            Activation {
                index: k as u64,
                due_ns,
                start_ns,
                end_ns: start_ns + work_ns,
                ..Activation::default()
            }
        };
        writer.append(number, &(0..8_000_000_000 / period_ns).map(row).collect::<Vec<_>>()).unwrap();
    }
    writer.finish(info).unwrap().path
}

#[test]
fn each_of_several_loops_has_its_controller_its_figures_and_its_redesign() {
    let folder = TempDir::new().unwrap();
    let run = two_tasks(folder.path());
    let (run, gains) = (run.to_str().unwrap(), folder.path().join("better.hal"));
    let plants = ["servo", "--plant", "x=ball-screw", "--plant", "z=dc-servo"];
    let designed = ["--redesign", "--gains", gains.to_str().unwrap(), "--details", run];
    let text = answered(folder.path(), &[&plants[..], &designed].concat());
    assert_eq!(text.matches("designed anew").count(), 2, "{text}");
    assert!(text.contains("what each part of the timing adds to the cost"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let gains = fs::read_to_string(gains).unwrap();
    assert!(gains.contains("setp pid.0.Pgain") && gains.contains("setp pid.1.Dgain"), "{gains}");

    let other =
        ["--plant", "x=ball-screw", "--plant", "z=dc-servo", "--controller", "z=pid:1.5:500ms:35ms", run];
    let found = json(folder.path(), &other);
    assert_eq!(found["plants"][1]["tasks"][0]["loops"][0]["controller"], "pid", "{found}");
    refused(
        folder.path(),
        &[&plants[..], &["--controller", "pd:1:1ms", run]].concat(),
        2,
        &["NAME=CONTROLLER", "x, z"],
    );
    let cascade = [
        "servo",
        "--plant",
        "cascaded-axis",
        "--loop",
        "position=z",
        "--loop",
        "speed=x",
        "--loop",
        "current=x",
    ];
    refused(folder.path(), &[&cascade[..], &["--redesign", run]].concat(), 2, &["--redesign"]);
    refused(
        folder.path(),
        &["servo", "--plant", "cascaded-axis", "--controller", "speed=lqg"],
        2,
        &["a loop of several"],
    );
    let stiffer = ["--plant", "cascaded-axis", "--controller", "position=pd:50:0s"];
    let cost = |args: &[&str]| json(folder.path(), args)["plants"][0]["ideal"]["cost"].as_f64().unwrap();
    assert!((cost(&stiffer) / cost(&stiffer[..2]) - 1.0).abs() > 1e-3);
}

#[test]
fn what_was_taken_and_what_is_not_told_is_said() {
    let folder = TempDir::new().unwrap();
    let run = two_tasks(folder.path());
    let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let taken = words(answered(folder.path(), &["servo", run.to_str().unwrap()]));
    assert!(
        taken.contains("This is about task z, and the run has other tasks: x (--task names another)"),
        "{taken}"
    );
    let named = words(answered(folder.path(), &["servo", "--task", "z", run.to_str().unwrap()]));
    assert!(!named.contains("other tasks"), "{named}");
    refused(
        folder.path(),
        &["servo", "--period", "1ms", "--period", "2ms"],
        2,
        &["--period is given 2 times"],
    );
    // No ends of jobs: their work is not nothing.
    let starts = folder.path().join("starts.csv");
    let row = |k: i64| format!("{},{}\n", k * 1_000_000, k * 1_000_000 + 2_000 + k * 7_919 % 5_000);
    fs::write(&starts, "due_ns,start_ns\n".to_owned() + &(0..5_000).map(row).collect::<String>()).unwrap();
    let text = words(answered(folder.path(), &["servo", starts.to_str().unwrap()]));
    assert!(text.contains("as far as its starts go") || text.contains("As far as its starts go"), "{text}");
    assert!(text.contains("execution unknown") && !text.contains("mean execution 0 ns"), "{text}");
    assert!(text.contains("what the work takes comes on top"), "{text}");
}
