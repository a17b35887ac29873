//! The component for LinuxCNC: built by halcompile, loaded by halrun as the guide shows it, next to LinuxCNC's own
//! timedelta.

use std::env;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use jitterlab_model::{Gap, Overrun, Warning};
use tempfile::TempDir;

use crate::{built, fine, here, read};

/// LinuxCNC loads components from one folder only: here it looks as if the component were there.
const WITH_THE_COMPONENT: &str = r#"set -eu
mount -t tmpfs tmpfs "$1/overlay"
mkdir "$1/overlay/upper" "$1/overlay/work"
modules=/usr/lib/linuxcnc/modules
mount -t overlay overlay -o "lowerdir=$modules,upperdir=$1/overlay/upper,workdir=$1/overlay/work" $modules
cp "$1/jitterlab.so" $modules
exec halrun "$1/threads.hal"
"#;

#[test]
fn threads_of_linuxcnc_are_recorded() {
    if Command::new("halcompile").arg("--help").output().is_err() {
        assert!(env::var_os("JITTERLAB_REQUIRE_ALL").is_none(), "linuxcnc-uspace-dev is required");
        return eprintln!("skipped: linuxcnc-uspace-dev is not here (./test installs it)");
    }
    if fine(Command::new("id").arg("-u")).trim() != "0" {
        return eprintln!("skipped: showing LinuxCNC another component needs root");
    }
    let here = here();
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    // LinuxCNC gives its rights away.
    fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).unwrap();
    let library = built().join("libjitterlab.so");
    fs::copy(&library, folder.join("libjitterlab.so.0")).unwrap();
    symlink("libjitterlab.so.0", folder.join("libjitterlab.so")).unwrap();
    fs::create_dir(folder.join("overlay")).unwrap();
    fs::copy(here.join("linuxcnc/jitterlab.comp"), folder.join("jitterlab.comp")).unwrap();
    let flags = format!("-Wl,--no-as-needed -L{} -ljitterlab", folder.display());
    let mut compiling = Command::new("halcompile");
    compiling.args(["--compile", "jitterlab.comp"]).current_dir(folder).env("LDFLAGS", flags);
    fine(compiling.env("C_INCLUDE_PATH", here.join("include")));

    let guide = fs::read_to_string(here.join("../../docs/guide/linuxcnc.md")).unwrap();
    let shown = guide.split("```hal\n").nth(1).unwrap().split("```").next().unwrap();
    let file = folder.join("threads.parquet");
    let hal = shown
        .replace("/tmp/threads.parquet", file.to_str().unwrap())
        .replace("period1=25000", "period1=250000")
        .replace("start\n", "loadrt timedelta names=delta\naddf delta servo-thread\nstart\n")
        .replace("sleep 600", "sleep 3\nshow pin delta.max");
    fs::write(folder.join("threads.hal"), hal).unwrap();
    let mut running = Command::new("timeout");
    running.args(["60", "unshare", "--mount", "sh", "-c", WITH_THE_COMPONENT, "sh"]).arg(folder);
    running.env("RTAPI_UID", "65534").env("RTAPI_FIFO_PATH", folder.join("fifo"));
    running.env("LD_LIBRARY_PATH", folder);
    let said = fine(&mut running);
    // A further session has a file of its own.
    fine(&mut running);
    assert!(folder.join("threads-2.parquet").exists());
    // Also where one was killed.
    fs::write(folder.join("threads-3.parquet.part"), "").unwrap();
    fine(&mut running);
    assert!(folder.join("threads-4.parquet").exists());

    let (info, rows) = read(&file);
    assert!(
        info.warnings.iter().all(|warning| matches!(warning, Warning::DueFitted { with_period: false, .. }))
    );
    assert_eq!(info.warnings.len(), 2);
    for (task, rows) in info.tasks.iter().zip(&rows) {
        let period_ns = if task.spec.name == "base" { 250_000 } else { 1_000_000 };
        assert_eq!((task.spec.period_ns, task.spec.overrun), (period_ns, Overrun::CatchUp));
        assert!(task.granted.is_some() && task.unknown == [Gap::Settings, Gap::Phase]);
        assert_eq!(task.result.as_ref().unwrap().executed, rows.len() as u64);
        assert!(rows.windows(2).all(|pair| pair[1].due_ns - pair[0].due_ns == period_ns));
        assert!(rows.iter().all(|row| row.end_ns >= row.start_ns) && rows.len() > 100);
    }
    // Both read the clock in the same activations, but an interruption between the two readings may make them differ.
    let longest = said.lines().find(|line| line.ends_with("delta.max")).unwrap();
    let longest: i64 = longest.split_whitespace().nth(3).unwrap().parse().unwrap();
    let servo = rows.iter().find(|rows| rows[1].due_ns - rows[0].due_ns == 1_000_000).unwrap();
    let ours = servo.windows(2).map(|pair| pair[1].start_ns - pair[0].start_ns).max().unwrap();
    println!("longest time between two runs of the servo thread: {ours} ns, by timedelta {longest} ns");
    assert!(ours >= 1_000_000 && ours < 2 * longest, "{ours} {longest}");
}
