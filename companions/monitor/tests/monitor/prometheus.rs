//! Metrics and alarm rules with Debian's Prometheus, its tool and its Alertmanager.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use std::{env, fs};

use jitterlab_fleet::limit_counts::LimitCounts;
use jitterlab_model::causes::{Cause, CauseClass};
use jitterlab_model::{Activation, Bench, Granted, Policy, RunInfo, TaskResult, TaskSpec};
use jitterlab_monitor::http;
use jitterlab_monitor::live::LiveFigures;
use tempfile::TempDir;

const RULES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/prometheus");

/// A program of Prometheus, beside promtool; none where it is not installed.
fn program(name: &str) -> Option<PathBuf> {
    let promtool = PathBuf::from(env::var_os("JITTERLAB_PROMTOOL").unwrap_or_else(|| "promtool".into()));
    let path = if name == "promtool" { promtool } else { promtool.with_file_name(name) };
    let works = Command::new(&path).arg("--version").output().is_ok_and(|output| output.status.success());
    assert!(works || env::var_os("JITTERLAB_REQUIRE_ALL").is_none(), "{} is required", path.display());
    if !works {
        println!("skipped: {name} does not work here (./test installs it)");
    }
    works.then_some(path)
}

struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(program: &Path, folder: &Path, arguments: &[String]) -> Ended {
    let log =
        fs::File::create(folder.join(format!("{}.log", program.file_name().unwrap().display()))).unwrap();
    let child =
        Command::new(program).args(arguments).current_dir(folder).stdout(Stdio::null()).stderr(log).spawn();
    Ended(child.unwrap())
}

fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

fn get(address: SocketAddr, path: &str) -> Option<String> {
    let mut connection = TcpStream::connect(address).ok()?;
    write!(connection, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").ok()?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    head.contains(" 200 ").then(|| body.to_owned())
}

/// Waits until something is there, a minute at most.
fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "no {what} within a minute");
        thread::sleep(Duration::from_millis(200));
    }
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

fn rows(count: u64, from: u64, late_ns: impl Fn(u64) -> i64) -> Vec<Activation> {
    let row = |index: u64| {
        let due_ns = index as i64 * 1_000_000;
        let start_ns = due_ns + late_ns(index);
        Activation { index, due_ns, start_ns, end_ns: start_ns + 700, ..Activation::default() }
    };
    (from..from + count).map(row).collect()
}

fn starts() -> Vec<Activation> {
    rows(60_000, 0, |k| 5_000 + (k * 7_919 % 100_000) as i64)
}

/// Metrics of a task that starts 5 to 105 µs late.
fn live() -> Arc<LiveFigures> {
    let live = Arc::new(LiveFigures::new("cnc-07"));
    let mut info =
        RunInfo::new(Bench::Host, "monotonic", [TaskSpec { name: "servo".into(), ..TaskSpec::default() }]);
    let policy: Policy = "fifo:80".parse().unwrap();
    info.tasks[0].granted =
        Some(Granted { policy, cpus: vec![1], memory_locked: true, timer_slack_ns: None });
    info.tasks[0].result = Some(TaskResult { executed: 60_000, ..TaskResult::default() });
    let mut limits = LimitCounts::new(1_000_000);
    live.begin_tasks(&info, &[limits.limits().to_vec()]);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    live.update_task("servo", |task| {
        let rows = starts();
        task.stats.push_all(&rows);
        for row in &rows {
            limits.push(row);
        }
        task.above.copy_from_slice(limits.counts());
        task.max_ns = task.stats.latency.max_ns();
        task.last_start_ns = Some(now.as_nanos() as i64);
    });
    live
}

#[test]
fn the_text_passes_promtool_and_its_buckets_are_exact() {
    let text = live().exposition().unwrap();
    let count = |le: &str| -> u64 {
        let line = text.lines().find(|line| {
            line.starts_with("jitterlab_latency_seconds_bucket") && line.contains(&format!("le=\"{le}\""))
        });
        line.unwrap_or_else(|| panic!("no bucket {le}")).rsplit(' ').next().unwrap().parse().unwrap()
    };
    // A limit of a purpose, which is no edge of a bin; and all.
    let below = starts().iter().filter(|row| row.latency_ns() <= 100_000).count() as u64;
    assert!(below < 60_000);
    assert_eq!((count("+Inf"), count("0.0005"), count("0.0001")), (60_000, 60_000, below));
    assert!(text.contains(
        "jitterlab_late_by_cause_total{machine=\"cnc-07\",task=\"servo\",class=\"unknown\",who=\"\"} 0"
    ));
    let Some(promtool) = program("promtool") else { return };
    let mut check = Command::new(&promtool)
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    check.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = check.wait_with_output().unwrap();
    assert_eq!((output.status.success(), String::from_utf8_lossy(&output.stderr).trim()), (true, ""));
    let output = Command::new(promtool)
        .args(["test", "rules", "jitterlab.tests.yml"])
        .current_dir(RULES)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn at_most_twenty_causes_have_a_series() {
    let live = live();
    for k in 0..500 {
        live.count_cause(
            "servo",
            Some(&Cause { class: CauseClass::Preempted, who: Some(format!("hog-{k}\n\"")) }),
        );
    }
    let text = live.exposition().unwrap();
    let series = text.lines().filter(|line| line.starts_with("jitterlab_late_by_cause_total{"));
    assert!(series.count() <= 21);
    assert!(text.contains("who=\"others\"} 481"), "{text}");
}

#[test]
fn a_real_prometheus_scrapes_shows_and_alarms_once() {
    let (Some(prometheus), Some(alertmanager)) = (program("prometheus"), program("prometheus-alertmanager"))
    else {
        return;
    };
    let folder = TempDir::new().unwrap();
    let live = live();
    let metrics = http::serve("127.0.0.1:0".parse().unwrap(), Arc::clone(&live)).unwrap();
    let calls = Arc::new(AtomicUsize::new(0));
    let hook = webhook(&calls);
    let (own, alerts) = (free_address(), free_address());
    let manager = format!(
        "route: {{receiver: hook, group_by: [alertname, machine], group_wait: 1s, group_interval: 1h, repeat_interval: 4h}}\n\
         receivers:\n- name: hook\n  webhook_configs:\n  - {{url: 'http://{hook}/', send_resolved: false}}\n"
    );
    fs::write(folder.path().join("alertmanager.yml"), manager).unwrap();
    let config = format!(
        "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: ['{RULES}/jitterlab.rules.yml']\n\
         alerting: {{alertmanagers: [{{static_configs: [{{targets: ['{alerts}']}}]}}]}}\n\
         scrape_configs:\n- {{job_name: jitterlab, static_configs: [{{targets: ['{metrics}']}}]}}\n"
    );
    fs::write(folder.path().join("prometheus.yml"), config).unwrap();
    let arguments = [
        "--config.file=alertmanager.yml".into(),
        "--storage.path=alerts".into(),
        format!("--web.listen-address={alerts}"),
        "--cluster.listen-address=".into(),
    ];
    let (alertmanager, arguments) = with_template(alertmanager, &arguments);
    let _alertmanager = start(&alertmanager, folder.path(), &arguments);
    let arguments = [
        "--config.file=prometheus.yml".into(),
        "--storage.tsdb.path=data".into(),
        format!("--web.listen-address={own}"),
    ];
    let _prometheus = start(&prometheus, folder.path(), &arguments);
    let query = |expression: &str| {
        let answer = get(own, &format!("/api/v1/query?query={}", encoded(expression)))?;
        let answer: serde_json::Value =
            serde_json::from_str(answer.get(answer.find('{')?..=answer.rfind('}')?)?).ok()?;
        Some(answer["data"]["result"].clone())
    };
    let has = |expression: &str| {
        query(expression).filter(|found| found.as_array().is_some_and(|found| !found.is_empty()))
    };
    wait_for("second scrape", || has("count_over_time(jitterlab_activations_total[1m]) > 2"));
    // A start above a limit that the purpose does not bear, with its cause.
    live.update_task("servo", |task| {
        task.stats.push_all(&rows(100, 60_000, |k| if k == 60_050 { 700_000 } else { 5_000 }));
        for (limit, above) in task.limits.iter().zip(&mut task.above) {
            *above += u64::from(limit.limit_ns < 700_000);
        }
    });
    live.count_cause("servo", Some(&Cause { class: CauseClass::Preempted, who: Some("hog".into()) }));
    let fired = wait_for("alert", || has("ALERTS{alertname=\"JitterlabAboveLimit\",alertstate=\"firing\"}"));
    assert_eq!(fired[0]["metric"]["task"], "servo");
    let caused = wait_for("cause", || has("jitterlab_late_by_cause_total{who=\"hog\"} == 1"));
    assert_eq!(caused[0]["metric"]["class"], "preempted");
    // The histogram that Prometheus has gives the median that we have.
    let median = wait_for("median", || has("histogram_quantile(0.5, jitterlab_latency_seconds_bucket)"));
    let median: f64 = median[0]["value"][1].as_str().unwrap().parse().unwrap();
    assert!((median - 55e-6).abs() < 2e-6, "{median}");
    every_panel_has_data(&has);
    wait_for("call", || (calls.load(Ordering::SeqCst) > 0).then_some(()));
    thread::sleep(Duration::from_secs(5));
    assert_eq!(calls.load(Ordering::SeqCst), 1, "one call for one machine's alarm");
}

/// Debian's Alertmanager wants its template at one place: where its package was only unpacked, that is laid over it for this
/// one process.
fn with_template(program: PathBuf, arguments: &[String]) -> (PathBuf, Vec<String>) {
    let share = program.parent().unwrap().join("../share");
    let is_unpacked = share.join("prometheus/alertmanager/default.tmpl").exists();
    if Path::new("/usr/share/prometheus/alertmanager/default.tmpl").exists() || !is_unpacked {
        return (program, arguments.to_vec());
    }
    let share = fs::canonicalize(share).unwrap();
    let script = format!(
        "mount -t overlay overlay -o lowerdir={}:/usr/share /usr/share && exec {} {}",
        share.display(),
        program.display(),
        arguments.join(" ")
    );
    ("unshare".into(), ["-m", "sh", "-c", &script].map(Into::into).to_vec())
}

/// A place that alarms are sent to; counts them.
fn webhook(calls: &Arc<AtomicUsize>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, calls) = (listener.local_addr().unwrap(), Arc::clone(calls));
    thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            let mut buffer = [0; 65_536];
            let _ = connection.read(&mut buffer);
            calls.fetch_add(1, Ordering::SeqCst);
            let _ =
                connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        }
    });
    address
}

fn every_panel_has_data(has: &dyn Fn(&str) -> Option<serde_json::Value>) {
    let text = fs::read_to_string(format!("{RULES}/jitterlab.dashboard.json")).unwrap();
    let board: serde_json::Value = serde_json::from_str(&text).unwrap();
    let panels = board["panels"].as_array().unwrap();
    assert!(panels.len() > 8);
    for panel in panels {
        for target in panel["targets"].as_array().unwrap() {
            let expression = target["expr"].as_str().unwrap().replace("$machine", ".*");
            wait_for(&format!("data of {expression}"), || has(&expression));
        }
    }
}
