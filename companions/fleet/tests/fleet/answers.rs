//! Answers of the program, summed by a real engine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, UNIX_EPOCH};

use jitterlab_analysis::Summary;
use jitterlab_fleet::Delivery;
use jitterlab_fleet::delivery::list_slices_files;
use jitterlab_model::{Activation, Bench, Granted, Policy, RunInfo, SystemFacts, TaskSpec};
use jitterlab_runs::{Hints, Run};
use jitterlab_trace::RunWriter;

use crate::samples::{activations, steady};

pub fn fleet(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_jitterlab-fleet")).args(arguments).output().unwrap()
}

pub fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Whether DuckDB is here; a test that needs it is skipped with a sentence otherwise.
pub fn engine() -> Option<String> {
    let python = std::env::var_os("JITTERLAB_PYTHON").map(PathBuf::from);
    let beside = python.and_then(|python| Some(python.parent()?.join("duckdb")));
    let found = beside.into_iter().chain([PathBuf::from("duckdb")]).find(|program| {
        Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
    });
    if found.is_none() {
        assert!(std::env::var_os("JITTERLAB_REQUIRE_ALL").is_none(), "DuckDB is not here");
        println!("skipped: the program duckdb is not here (pip install duckdb-cli)");
    }
    found.map(|program| program.display().to_string())
}

/// A run file of a machine with these activations, begun at a second of the Unix epoch.
pub fn run_file(path: &Path, host: &str, kernel: &str, began_s: i64, rows: &[Activation]) {
    run_file_of(path, host, began_s, rows, |facts| facts.kernel.release = Some(kernel.into()));
}

/// The same of a machine with other facts.
fn run_file_of(
    path: &Path,
    host: &str,
    began_s: i64,
    rows: &[Activation],
    change: impl FnOnce(&mut SystemFacts),
) {
    let spec = TaskSpec { name: "servo".into(), ..TaskSpec::default() };
    let mut info = RunInfo::new(Bench::Host, "monotonic", [spec]);
    let mut facts = SystemFacts::default();
    facts.processor.model = Some("N100".into());
    change(&mut facts);
    info.facts_before = Some(facts);
    info.started =
        humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(began_s as u64)).to_string();
    info.host = Some(host.into());
    info.epoch_offset_ns = Some(began_s * 1_000_000_000);
    info.tasks[0].granted =
        Some(Granted { policy: Policy::Fifo(80), cpus: vec![1], memory_locked: true, timer_slack_ns: None });
    let mut writer = RunWriter::create(path, &info).unwrap();
    rows.chunks(1_000).for_each(|rows| writer.append(0, rows).unwrap());
    writer.finish(info).unwrap();
}

/// Activations that are late by so much more.
fn later(rows: &[Activation], share: i64) -> Vec<Activation> {
    let later = |a: &Activation| {
        let start_ns = a.due_ns + a.latency_ns() + a.latency_ns() * share / 100;
        Activation { start_ns, end_ns: start_ns + a.execution_ns(), ..*a }
    };
    rows.iter().map(later).collect()
}

const BEGAN_S: i64 = 1_795_730_400;

#[test]
fn figures_of_a_machine_are_those_of_its_run_whatever_its_name_is() {
    let Some(engine) = engine() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (run, all) = (path("run.parquet"), path("it's a \"fleet\""));
    let name = "cnc'); DROP VIEW bins; --/\u{1b}\n";
    let rows = activations(7, 12_000, 1_000_000);
    run_file(Path::new(&run), name, "6.1", BEGAN_S, &rows);
    for _ in 0..2 {
        let added = fleet(&["add", &all, &run]);
        assert_eq!(added.status.code(), Some(0), "{}", said(&added));
    }
    let output = fleet(&["machine", &all, name, "--engine", &engine, "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let found: Vec<Summary> = serde_json::from_value(answer["result"]["summaries"].clone()).unwrap();
    let run = Run::open(&run, &Hints::default()).unwrap();
    let (stats, _) = run.timing().unwrap().into_parts();
    assert_eq!(found, [Summary::new(&run.info().tasks[0], &stats[0])]);
    let figures = &answer["result"]["machine"]["tasks"][0];
    assert_eq!(serde_json::from_value::<Option<i64>>(figures["p999_ns"].clone()).unwrap(), {
        found[0].latency.at(jitterlab_analysis::summary::P99_9).exactly()
    });
    let p999 = jitterlab_analysis::summary::P99_9;
    assert_eq!(figures["corrected_p999_ns"].as_i64(), found[0].corrected_latency.at(p999).exactly());
}

#[test]
fn a_kernel_that_made_machines_slower_is_named_with_its_interval() {
    let Some(engine) = engine() else { return };
    let folder = tempfile::tempdir().unwrap();
    let all = folder.path().join("fleet").display().to_string();
    for machine in 0..6u64 {
        let rows = steady(machine + 1, 3_000, 1_000_000);
        for (number, (kernel, rows)) in [("6.1", rows.clone()), ("6.12", later(&rows, 12))].iter().enumerate()
        {
            let path = folder.path().join(format!("{machine}-{number}.parquet"));
            run_file(&path, &format!("cnc-{machine:02}"), kernel, BEGAN_S + 86_400 * number as i64, rows);
        }
    }
    let added = fleet(&["add", &all, &folder.path().display().to_string()]);
    assert_eq!(added.status.code(), Some(0), "{}", said(&added));
    let answer = fleet(&[&all, "--for", "servo-thread", "--engine", &engine]);
    assert!(said(&answer).contains("Kernel 6.12 made N100 slower: p99.9 +1"), "{}", said(&answer));
    assert_eq!(answer.status.code(), Some(0), "{}", said(&answer));
    let page = folder.path().join("page.html");
    let paged = fleet(&[&all, "--page", &page.display().to_string(), "--engine", &engine]);
    assert!(paged.status.code() == Some(0) && !said(&paged).contains("fleet-months"), "{}", said(&paged));
    let html = fs::read_to_string(page).unwrap();
    let caption = "Latencies of 6 machines, the worst first. Each has a line a month from 2026-11 to 2026-11";
    assert!(html.contains("id=\"fleet-months\"") && html.contains(caption), "{html}");
    let days = fleet(&["days", &all, "--engine", &engine]);
    assert!(said(&days).contains("2026-11-2"), "{}", said(&days));
    for command in ["worst", "kernels", "causes"] {
        let output = fleet(&[command, &all, "--engine", &engine]);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    }
    let own =
        fleet(&["sql", &all, "SELECT COUNT(DISTINCT machine) AS machines FROM slices", "--engine", &engine]);
    assert_eq!(
        String::from_utf8_lossy(&own.stdout).trim().replace('\r', ""),
        "machines\n6",
        "{}",
        said(&own)
    );
    let nothing = fleet(&[&all, "--since", "2027-01-01", "--engine", &engine]);
    assert_eq!(nothing.status.code(), Some(3), "{}", said(&nothing));
}

#[test]
fn what_cannot_be_summed_is_named_and_the_rest_is_answered() {
    let Some(engine) = engine() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let all = path("fleet");
    for (name, seed) in [("a", 1), ("b", 2)] {
        run_file(Path::new(&path(name)), name, "6.1", BEGAN_S, &activations(seed, 4_000, 1_000_000));
    }
    fs::write(path("notes.txt"), "nothing that a tool printed").unwrap();
    let added = fleet(&["add", &all, &path("a"), &path("b"), &path("notes.txt")]);
    assert_eq!(added.status.code(), Some(1), "{}", said(&added));
    assert!(said(&added).contains("left out") && said(&added).contains("2 machines"), "{}", said(&added));
    let inbox = Path::new(&all).join("in");
    let files = list_slices_files(&inbox).unwrap();
    let bins = PathBuf::from(files[0].display().to_string().replace(".slices.", ".bins."));
    let whole = fs::read(&bins).unwrap();
    fs::write(&bins, &whole[..whole.len() / 2]).unwrap();
    let answer = fleet(&[&all, "--engine", &engine]);
    assert_eq!(answer.status.code(), Some(1), "{}", said(&answer));
    assert!(
        said(&answer).contains("is cut short") && said(&answer).contains("of 1 machine"),
        "{}",
        said(&answer)
    );
    fs::write(&bins, whole).unwrap();
    // A copy under another name, as somebody makes it by hand.
    let twice = Delivery::read(&files[0]).unwrap();
    let mut copy = twice.tables.clone();
    copy.slices.iter_mut().for_each(|row| row.clock_ok = Some(0));
    let copy = Delivery::split(copy).remove(0).write(&inbox).unwrap();
    let refused = fleet(&[&all, "--engine", &engine]);
    assert_eq!(refused.status.code(), Some(3), "{}", said(&refused));
    assert!(said(&refused).contains("lies in the folder 2 times"), "{}", said(&refused));
    let again = fleet(&["add", &path("other"), &files[0].display().to_string(), &copy.display().to_string()]);
    assert!(again.status.code() == Some(1) && said(&again).contains("contradict"), "{}", said(&again));
    assert_eq!(fleet(&["check", &all, "--repair"]).status.code(), Some(1));
    let repaired = fleet(&[&all, "--engine", &engine]);
    assert!(said(&repaired).contains("of 2 machines"), "{}", said(&repaired));
    let packed = fleet(&["pack", &all, &path("stick")]);
    assert_eq!(packed.status.code(), Some(0), "{}", said(&packed));
    assert_eq!(list_slices_files(&Path::new(&path("stick")).join("in")).unwrap().len(), 2);
}

#[test]
fn an_engine_that_is_not_here_or_is_killed_leaves_no_figure() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let all = path("fleet");
    run_file(Path::new(&path("a")), "a", "6.1", BEGAN_S, &activations(1, 2_000, 1_000_000));
    assert_eq!(fleet(&["add", &all, &path("a")]).status.code(), Some(0));
    let program = env!("CARGO_BIN_EXE_jitterlab-fleet");
    let mut alone = Command::new(program);
    let output =
        alone.arg(&all).env("PATH", "/nowhere").env("JITTERLAB_PYTHON", "/nowhere/python3").output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(said(&output).contains("pip install duckdb-cli"), "{}", said(&output));
    let killed = path("duckdb");
    fs::write(
        &killed,
        "#!/bin/sh\ncase \"$*\" in *SELECT*) echo 1;; *) cat > /dev/null; kill -9 $$;; esac\n",
    )
    .unwrap();
    fs::set_permissions(&killed, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let output = fleet(&[&all, "--engine", &killed]);
    assert_eq!((output.status.code(), output.stdout.is_empty()), (Some(3), true), "{}", said(&output));
    assert_eq!(fleet(&[&all, "--engine", "/bin/true"]).status.code(), Some(2));
    let no_folder = fleet(&["add", "/bin/true", "/bin/true"]);
    let said = String::from_utf8_lossy(&no_folder.stderr).into_owned();
    assert!(
        no_folder.status.code() == Some(2) && said.contains("jitterlab fleet add plant /bin/true"),
        "{said}"
    );
}

#[test]
fn two_machines_of_one_name_stay_two_and_one_measured_twice_counts_once() {
    let Some(engine) = engine() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let all = path("fleet");
    let rows = activations(3, 4_000, 1_000_000);
    run_file(Path::new(&path("a")), "cnc", "6.1", BEGAN_S, &rows);
    run_file(Path::new(&path("b")), "cnc", "6.2", BEGAN_S + 1, &rows);
    assert_eq!(fleet(&["add", &all, &path("a"), &path("b")]).status.code(), Some(0));
    let two = fleet(&[&all, "--engine", &engine, "--details"]);
    assert!(said(&two).contains("cnc~2") && said(&two).contains("of 2 machines"), "{}", said(&two));
    let all = path("twice");
    run_file(Path::new(&path("c")), "cnc", "6.1", BEGAN_S + 1, &rows);
    assert_eq!(fleet(&["add", &all, &path("a"), &path("c")]).status.code(), Some(0));
    let one = fleet(&[&all, "--engine", &engine, "--details"]);
    assert!(said(&one).contains("measured twice") && said(&one).contains("of 1 machine"), "{}", said(&one));
}

#[test]
fn a_host_whose_name_stands_for_several_machines_is_refused_until_they_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let rows = activations(3, 400, 1_000_000);
    type Change = fn(&mut SystemFacts);
    let processor: (&str, Change) = ("processors differ", |facts| facts.processor.model = Some("N97".into()));
    let memory: (&str, Change) = ("memory differs", |facts| facts.memory.total_bytes = Some(4 << 30));
    for (number, (why, other)) in [processor, memory].into_iter().enumerate() {
        let folder = folder.path().join(number.to_string());
        let path = |name: &str| folder.join(name).display().to_string();
        for (name, at_s) in [("line1", 0), ("line2", 60), ("line3", 120)] {
            fs::create_dir_all(path(name)).unwrap();
            run_file_of(
                Path::new(&path(&format!("{name}/vm-{name}.parquet"))),
                "vm",
                BEGAN_S + at_s,
                &rows,
                |facts| {
                    (facts.uptime_s, facts.memory.total_bytes) =
                        (Some(1_000.0 + at_s as f64), Some(16 << 30));
                    if name == "line3" {
                        other(facts);
                    }
                },
            );
        }
        let all = path("fleet");
        let lines = ["line1", "line2", "line3"].map(path);
        let add = |more: &[&str]| {
            let lines = lines.iter().map(String::as_str);
            fleet(&["add", &all].into_iter().chain(lines).chain(more.iter().copied()).collect::<Vec<_>>())
        };
        let refused = add(&[]);
        assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
        assert!(
            said(&refused).contains(why) && said(&refused).contains("--machine '{file}'"),
            "{}",
            said(&refused)
        );
        assert!(list_slices_files(&Path::new(&all).join("in")).unwrap().is_empty(), "nothing is taken in");
        for (pattern, machines) in [("{host}", 1), ("{file}", 3), ("cell-{folder}", 3), ("{x}", 1)] {
            let added = add(&["--machine", pattern]);
            let machines = format!("3 slices of {machines} machine");
            assert!(added.status.code() == Some(0) && said(&added).contains(&machines), "{}", said(&added));
        }
        let names = list_slices_files(&Path::new(&all).join("in")).unwrap();
        let has = |name: &str| names.iter().any(|path| path.display().to_string().contains(name));
        assert!(has("/cell-line2.") && has("/vm-line3.") && has("/_x_."), "{names:?}");
        // One machine that was started again, and then measured: nothing is wrong with that.
        let again = path("line3/again.parquet");
        run_file_of(Path::new(&again), "vm", BEGAN_S + 9_000, &rows, |facts| facts.uptime_s = Some(60.0));
        let one = fleet(&["add", &path("one"), &lines[0], &lines[1], &again]);
        assert!(said(&one).contains("3 slices of 1 machine"), "{}", said(&one));
        assert!(said(&one).contains("All 3 runs name the machine vm"), "{}", said(&one));
    }
}
