//! The library from C and C++: the examples and the guide's programs are compiled and run, the header names the
//! library's exports, and the probe makes only its documented calls.

#![expect(clippy::unwrap_used, reason = "a test that cannot do its steps has failed")]

mod linuxcnc;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use jitterlab_model::run::StopReason;
use jitterlab_model::{Activation, Gap, RunInfo, Warning};
use jitterlab_trace::{Columns, RunReader};
use tempfile::TempDir;

/// The crate's folder.
fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Folder of the built libraries: that of this test.
fn built() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().into()
}

/// Copies of the libraries as they were built for this test, which stay whole.
fn libraries() -> &'static Path {
    static COPIED: OnceLock<PathBuf> = OnceLock::new();
    COPIED.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libjitterlab");
        fs::create_dir_all(&folder).unwrap();
        for name in ["libjitterlab.a", "libjitterlab.so"] {
            fs::copy(built().join(name), folder.join(name)).unwrap();
        }
        folder
    })
}

/// A program that a test needs: skipped without it, unless everything is required.
fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    assert!(found || std::env::var_os("JITTERLAB_REQUIRE_ALL").is_none(), "{program} is required");
    if !found {
        eprintln!("skipped: {program} is not here (./test installs it)");
    }
    found
}

#[track_caller]
fn fine(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let said = String::from_utf8_lossy(&stderr);
    assert!(status.success(), "{command:?}: {status}\n{said}");
    String::from_utf8(stdout).unwrap()
}

/// Compiles a program with every warning an error, and links the static library.
fn compiled(source: &Path, folder: &Path) -> PathBuf {
    let program = folder.join(source.file_stem().unwrap());
    let (compiler, standard) =
        if source.extension().unwrap() == "c" { ("gcc", "-std=gnu11") } else { ("g++", "-std=c++17") };
    fine(
        Command::new(compiler)
            .args([standard, "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"])
            .arg(here().join("include"))
            .arg(source)
            .arg(libraries().join("libjitterlab.a"))
            .args(["-lpthread", "-ldl", "-lm", "-o"])
            .arg(&program),
    );
    program
}

fn example(name: &str, folder: &Path) -> PathBuf {
    compiled(&here().join("examples").join(name), folder)
}

/// A run file's description and the rows of each task.
fn read(path: &Path) -> (RunInfo, Vec<Vec<Activation>>) {
    let reader = RunReader::open(path).unwrap();
    let mut rows = vec![Vec::new(); reader.info().tasks.len()];
    reader.for_each_batch(Columns::ALL, |task, batch| rows[task].extend_from_slice(batch)).unwrap();
    (reader.info().clone(), rows)
}

/// Checks the properties of every task that was recorded whole.
fn check(info: &RunInfo, rows: &[Vec<Activation>]) {
    assert_eq!(info.stop, Some(StopReason::Closed));
    for (task, rows) in info.tasks.iter().zip(rows) {
        let result = task.result.as_ref().unwrap();
        assert_eq!((result.executed, result.dropped), (rows.len() as u64, 0), "{}", task.spec.name);
        assert_eq!(rows.iter().map(Activation::latency_ns).max(), Some(result.max_latency_ns));
        let length_ns = result.last_end_ns - result.first_due_ns - result.phase_loss_ns;
        let due = length_ns.div_euclid(task.spec.period_ns) + 1;
        assert_eq!((result.executed + result.missed) as i64, due, "{result:?}");
    }
}

#[test]
fn the_header_names_what_the_library_exports() {
    if !has("nm") {
        return;
    }
    let header = fs::read_to_string(here().join("include/jitterlab.h")).unwrap();
    let code = header.split("/*").map(|part| part.split_once("*/").map_or(part, |(_, code)| code));
    let declared: BTreeSet<String> = code
        .flat_map(|code| code.match_indices('(').map(|(at, _)| code[..at].to_owned()).collect::<Vec<_>>())
        .filter_map(|before| Some(before.rsplit([' ', '*', '\n']).next()?.to_owned()))
        .filter(|name| name.starts_with("jitterlab_"))
        .collect();
    let listed =
        fine(Command::new("nm").args(["-D", "--defined-only"]).arg(libraries().join("libjitterlab.so")));
    let exported: BTreeSet<String> =
        listed.lines().filter_map(|line| Some(line.split_whitespace().nth(2)?.to_owned())).collect();
    assert!(declared.len() > 10);
    assert_eq!(declared, exported);
}

#[test]
fn a_controller_in_cpp_records_itself() {
    if !has("g++") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("controller.parquet");
    let said = fine(Command::new(example("controller_1khz.cpp", folder.path())).arg(&file).arg("300"));
    let (info, rows) = read(&file);
    check(&info, &rows);
    assert!(
        said.starts_with(&format!("{} activations", rows[0].len() - 1)),
        "the last one still ran: {said}"
    );
    assert!(rows[0].last().unwrap().index >= 299 && rows[0].iter().all(|a| a.end_ns >= a.start_ns));
    assert!(info.tool.starts_with("libjitterlab ") && info.command[0].ends_with("controller_1khz"));
    assert!(info.tasks[0].granted.is_some() && info.tasks[0].unknown.is_empty());
}

#[test]
fn a_loop_that_existed_is_watched_by_the_due_times_it_says() {
    if !has("g++") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("existing.parquet");
    fine(Command::new(example("existing_loop.cpp", folder.path())).arg(&file).arg("300"));
    let (info, rows) = read(&file);
    check(&info, &rows);
    // It sleeps until due times a period apart, late or not, so that it leaves none out.
    assert_eq!(rows[0].iter().map(|a| a.index).collect::<Vec<_>>(), (0..300).collect::<Vec<_>>());
    assert!(rows[0].windows(2).all(|pair| pair[1].due_ns - pair[0].due_ns == 1_000_000));
    assert!(rows[0].iter().all(|a| a.latency_ns() >= 0));
    assert_eq!((info.tasks[0].unknown.as_slice(), info.warnings.len()), ([Gap::Settings].as_slice(), 0));
}

#[test]
fn a_controller_manager_is_watched_on_its_own_thread() {
    if !has("g++") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("manager.parquet");
    let said = fine(Command::new(example("ros2_control_loop.cpp", folder.path())).arg(&file).arg("400"));
    let (info, rows) = read(&file);
    check(&info, &rows);
    assert!(said.starts_with("400 cycles") && rows[0].len() == 400, "{said}");
    assert!(rows[0].windows(2).all(|pair| pair[1].due_ns - pair[0].due_ns == 2_000_000));
    // The node that is watched from outside prints from its timer.
    let said = fine(Command::new(example("ros2_node.cpp", folder.path())).arg("1"));
    assert!(said.lines().count() > 5, "{said}");
}

/// A loop that does not say when it is due, run as this task.
fn unsaid(folder: &Path, task: &str, activations: u32) -> (RunInfo, Vec<Activation>) {
    let file = folder.join(format!("{activations}-{}.parquet", task.len()));
    let program = compiled(&here().join("tests/fitted.c"), folder);
    let output = Command::new(program).arg(&file).args([task, &activations.to_string()]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("due=fitted is for a probe"), "{said}");
    let (info, mut rows) = read(&file);
    (info, rows.remove(0))
}

#[test]
fn due_times_that_are_not_said_are_fitted() {
    if !has("gcc") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let (info, rows) = unsaid(folder.path(), "name=main,due=fitted", 120);
    let task = &info.tasks[0];
    assert!(info_fitted(&info, true), "{:?}", info.warnings);
    assert_eq!(task.unknown, [Gap::Settings, Gap::Phase]);
    assert!((task.spec.period_ns - 25_000_000).abs() < 500_000, "{}", task.spec.period_ns);
    let result = task.result.as_ref().unwrap();
    assert_eq!((result.executed, rows.len()), (120, 120));
    assert_eq!(rows.last().unwrap().index + 1, result.executed + result.missed);
    assert!(rows.windows(2).all(|pair| pair[0].index < pair[1].index && pair[0].due_ns <= pair[1].due_ns));
    assert_eq!(rows.iter().map(Activation::latency_ns).max(), Some(result.max_latency_ns));

    // One that runs late activations back to back, whose period is said: only where the grid lies is fitted.
    let (info, rows) = unsaid(folder.path(), "name=main,period=25ms,overrun=catch-up,due=fitted", 120);
    assert!(info_fitted(&info, false), "{:?}", info.warnings);
    assert!(rows.windows(2).all(|pair| pair[1].due_ns - pair[0].due_ns == 25_000_000));
    let first = rows.iter().take_while(|row| row.start_ns - rows[0].start_ns < 2_000_000_000);
    assert_eq!(first.map(Activation::latency_ns).min(), Some(0));
    assert_eq!(info.tasks[0].result.as_ref().unwrap().missed, 0);
    let (info, rows) = unsaid(folder.path(), "name=main,period=25ms,due=fitted", 20);
    assert!(info_fitted(&info, false) && info.tasks[0].spec.period_ns == 25_000_000);
    assert!(rows.len() == 20 && rows.iter().all(|row| (row.due_ns - rows[0].due_ns) % 25_000_000 == 0));

    // Too few for anything.
    let (info, rows) = unsaid(folder.path(), "name=main,due=fitted", 4);
    assert!(matches!(info.warnings[..], [Warning::NoGridFound { .. }]), "{:?}", info.warnings);
    assert!(
        [Gap::Period, Gap::Missed].iter().all(|gap| info.tasks[0].unknown.contains(gap)) && rows.len() == 4
    );
    assert_eq!(rows.iter().map(Activation::latency_ns).min(), Some(0));
    let program = folder.path().join("fitted");
    let output = Command::new(program).args(["", "name=main,due=fitted", "4"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("needs a run file"));
}

fn info_fitted(info: &RunInfo, period: bool) -> bool {
    matches!(info.warnings[..], [Warning::DueFitted { with_period, .. }] if with_period == period)
}

#[test]
fn two_tasks_in_c_share_a_run_file_and_lose_nothing() {
    if !has("gcc") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("two.parquet");
    let said = fine(Command::new(example("two_tasks.c", folder.path())).arg(&file).arg("2"));
    let (info, rows) = read(&file);
    check(&info, &rows);
    for (task, rows) in info.tasks.iter().zip(&rows) {
        assert!(
            rows.len() > 100 && said.contains(&format!("{} {} executed", task.spec.name, rows.len())),
            "{said}"
        );
    }
}

#[test]
fn a_killed_program_leaves_how_it_ran() {
    if !has("gcc") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("killed.parquet");
    let mut running =
        Command::new(example("two_tasks.c", folder.path())).arg(&file).arg("60").spawn().unwrap();
    let journal = folder.path().join("killed.parquet.part");
    // Two descriptions and a few frames of rows.
    let written = || fs::metadata(&journal).is_ok_and(|found| found.len() > 100_000);
    while !written() {
        assert!(running.try_wait().unwrap().is_none());
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    running.kill().unwrap();
    running.wait().unwrap();
    jitterlab_trace::recover(&journal).unwrap();
    let (info, _) = read(&file);
    assert_eq!(info.stop, Some(StopReason::Crashed));
    for task in &info.tasks {
        assert!(task.granted.is_some() && task.unknown == [Gap::Lost], "{task:?}");
    }
}

#[test]
fn a_program_links_the_shared_library_by_its_interface() {
    if !has("g++") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    symlink(libraries().join("libjitterlab.so"), folder.join("libjitterlab.so")).unwrap();
    symlink(libraries().join("libjitterlab.so"), folder.join("libjitterlab.so.0")).unwrap();
    let mut compiler = Command::new("g++");
    compiler
        .args(["-std=c++17", "-I"])
        .arg(here().join("include"))
        .arg(here().join("examples/existing_loop.cpp"));
    fine(compiler.arg("-L").arg(folder).args(["-ljitterlab", "-o"]).arg(folder.join("program")));
    let file = folder.join("shared.parquet");
    fine(Command::new(folder.join("program")).arg(&file).arg("50").env("LD_LIBRARY_PATH", folder));
    assert_eq!(read(&file).1[0].len(), 50);
}

#[test]
fn what_a_program_does_wrong_is_answered() {
    if !has("gcc") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let taken = folder.path().join("taken.parquet");
    fs::write(&taken, "something").unwrap();
    fine(Command::new(compiled(&here().join("tests/hostile.c"), folder.path())).arg(&taken));
    assert_eq!(fs::read(&taken).unwrap(), b"something");
}

/// Clocks that are read without entering the kernel.
const READ_IN_USER_SPACE: &[&str] = &["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"];

#[test]
fn a_watched_thread_makes_no_system_call() {
    let clock = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let clock = fs::read_to_string(clock).unwrap_or_default();
    if !has("gcc") || !READ_IN_USER_SPACE.contains(&clock.trim()) {
        return eprintln!("skipped: reading the clock {clock:?} is itself a system call, or there is no gcc");
    }
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("sealed.parquet");
    let program = compiled(&here().join("tests/alone.c"), folder.path());
    // Few enough for the ring, which the file's thread empties meanwhile.
    fine(Command::new(program).arg(&file).arg("20000"));
    let (info, rows) = read(&file);
    assert_eq!((rows[0].len(), info.tasks[0].result.as_ref().unwrap().dropped), (20_000, 0));
}

#[test]
fn a_watched_activation_costs_few_instructions() {
    if cfg!(debug_assertions) || cfg!(not(target_arch = "x86_64")) {
        return eprintln!(
            "skipped: instructions are counted in a release build for x86-64 (cargo test --release)"
        );
    }
    if !has("gcc") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let program = compiled(&here().join("tests/stepped.c"), folder.path());
    let counted = fine(Command::new(program).arg(folder.path().join("stepped.parquet")));
    let counted = counted.lines().map(|line| line.split_once(' ').unwrap());
    let counted: BTreeMap<&str, f64> = counted.map(|(way, count)| (way, count.parse().unwrap())).collect();
    // A fifth of it looks whether the handle is one, and this thread's: see the guide.
    let most = 145.0;
    for way in ["said", "period", "fitted"] {
        let alone = counted[way] - counted["clock"];
        println!("instructions of an activation, due times {way}: {alone:.1}");
        assert!(alone > 50.0 && alone <= most, "{way}: {counted:?}");
    }
}

#[test]
fn misuse_is_answered_and_the_file_is_right_all_the_same() {
    if !has("gcc") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("misuse.parquet");
    fine(Command::new(compiled(&here().join("tests/misuse.c"), folder.path())).arg(&file));
    let (info, rows) = read(&file);
    let counts = |task: usize| {
        let result = info.tasks[task].result.as_ref().unwrap();
        (result.executed, result.dropped, rows[task].len() as u64)
    };
    assert_eq!(counts(0), (10, 0, 10));
    // The second thread's activations are not in the file, but are counted.
    let (executed, dropped, recorded) = counts(1);
    assert_eq!((executed, executed - dropped), (5_000 + 3_000, recorded));
    assert!(dropped >= 3_000 && counts(2).2 >= 5, "{info:?}");
}

#[test]
fn a_library_that_is_closed_goes_on_until_its_runs_end() {
    if !has("gcc") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let (program, file) = (folder.path().join("closed"), folder.path().join("closed.parquet"));
    let mut compiler = Command::new("gcc");
    compiler.args(["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-I"]).arg(here().join("include"));
    fine(compiler.arg(here().join("tests/closed.c")).arg("-o").arg(&program).arg("-ldl"));
    fine(Command::new(program).arg(libraries().join("libjitterlab.so")).arg(&file));
    let (info, rows) = read(&file);
    assert_eq!((rows[0].len(), info.tasks[0].result.as_ref().unwrap().executed), (300, 300));
}

/// The programs and commands of the guide, in their order: language and text of each block.
fn guide() -> Vec<(String, String)> {
    let text = fs::read_to_string(here().join("../../docs/guide/own-program.md")).unwrap();
    let blocks = text.split("\n```").skip(1).step_by(2);
    blocks.filter_map(|block| block.split_once('\n')).map(|(kind, code)| (kind.into(), code.into())).collect()
}

#[test]
fn what_the_guide_shows_goes_from_nothing_to_a_page() {
    if !has("gcc") || !has("g++") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let jitterlab = built().parent().unwrap().join("jitterlab");
    let mut shown = 0;
    for (kind, code) in guide() {
        let Some(ending) = ["c", "cpp"].into_iter().find(|ending| *ending == kind) else { continue };
        let lines = code.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("#include"));
        assert!(lines.count() <= 10, "a program of more than ten lines of its own:\n{code}");
        let source = folder.join(format!("program.{ending}"));
        fs::write(&source, &code).unwrap();
        fine(Command::new(compiled(&source, folder)).current_dir(folder));
        let written = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let file = written.into_iter().find(|path| path.extension().is_some_and(|e| e == "parquet")).unwrap();
        let (info, rows) = read(&file);
        check(&info, &rows);
        if jitterlab.exists() {
            let page = folder.join("page.html");
            fine(Command::new(&jitterlab).arg("report").arg(&file).arg("-o").arg(&page));
            assert!(fs::read_to_string(&page).unwrap().contains("</html>"));
        } else if std::env::var_os("JITTERLAB_REQUIRE_ALL").is_some() {
            panic!("{} is not built", jitterlab.display());
        }
        fs::remove_file(file).unwrap();
        shown += 1;
    }
    assert_eq!(shown, 3, "a loop in C and in C++, and a loop that existed before");
}

#[test]
fn it_is_installed_for_pkg_config_and_cmake() {
    if cfg!(debug_assertions) {
        return eprintln!("skipped: what is installed is a release build (cargo test --release)");
    }
    if !has("pkg-config") || !has("g++") || !has("cmake") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let prefix = folder.join("prefix");
    fine(Command::new(here().join("install")).arg(&prefix).env("BUILT", libraries()));
    let flags = fine(
        Command::new("pkg-config")
            .args(["--cflags", "--libs", "jitterlab"])
            .env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")),
    );
    let program = folder.join("program");
    let mut compiler = Command::new("g++");
    compiler.arg("-std=c++17").arg(here().join("examples/existing_loop.cpp")).args(flags.split_whitespace());
    fine(compiler.arg("-o").arg(&program));
    let recorded = |program: &Path, file: &str| {
        let file = folder.join(file);
        fine(Command::new(program).arg(&file).arg("50").env("LD_LIBRARY_PATH", prefix.join("lib")));
        assert_eq!(read(&file).1[0].len(), 50);
    };
    recorded(&program, "pkg-config.parquet");

    // The guide's build file, and one with the static library.
    let shown = guide().into_iter().find(|(kind, _)| kind == "cmake").unwrap().1;
    let project = folder.join("project");
    fs::create_dir(&project).unwrap();
    fs::copy(here().join("examples/existing_loop.cpp"), project.join("servo.cpp")).unwrap();
    let lists = format!(
        "cmake_minimum_required(VERSION 3.18)\nproject(servo CXX)\nset(CMAKE_CXX_STANDARD 17)\n\
         add_executable(servo servo.cpp)\n{shown}\nadd_executable(alone servo.cpp)\n\
         target_link_libraries(alone PRIVATE jitterlab::static)\n"
    );
    fs::write(project.join("CMakeLists.txt"), lists).unwrap();
    let build = folder.join("build");
    let mut configuring = Command::new("cmake");
    configuring.arg("-S").arg(&project).arg("-B").arg(&build);
    fine(configuring.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display())));
    fine(Command::new("cmake").arg("--build").arg(&build));
    recorded(&build.join("servo"), "cmake.parquet");
    recorded(&build.join("alone"), "static.parquet");
    // A release that it is not.
    let lists =
        "cmake_minimum_required(VERSION 3.18)\nproject(other CXX)\nfind_package(jitterlab 99 REQUIRED)\n";
    fs::write(project.join("CMakeLists.txt"), lists).unwrap();
    let mut configuring = Command::new("cmake");
    configuring.arg("-S").arg(&project).arg("-B").arg(folder.join("other"));
    let output = configuring.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display())).output().unwrap();
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains("99"));
}
