//! The monitor's service under systemd, on a Debian that QEMU emulates: installed, killed, hung, upgraded, removed.

#![expect(clippy::unwrap_used, reason = "a test that cannot do its steps has failed")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use jitterlab_host::child::EndWithParent;
use jitterlab_kernel::cpio::CpioArchive;
use jitterlab_kernel::image::KernelChoice;
use nix::sys::signal::Signal;
use tempfile::TempDir;

use crate::package::{bare_debian, fine, has, make_packages};

/// First process: systemd gives its services a root of their own, which needs one that is no initial file system.
const INIT: &str = "#!/bin/sh
mkdir /root-of-systemd
mount --bind / /root-of-systemd
cd /root-of-systemd
mount --move . /
exec chroot . /sbin/init </dev/console >/dev/console 2>&1
";
const UNIT: &str = "[Service]
Type=idle
ExecStart=/bin/sh -c '/steps; systemctl poweroff --force --force'
StandardOutput=file:/dev/ttyS0
StandardError=inherit
";
/// Steps of the guest; one that fails prints FAILED.
const STEPS: &str = r#"#!/bin/sh
unit=jitterlab-monitor.service
folder=/var/lib/jitterlab-monitor
of() { systemctl show -p "$1" --value $unit; }
step() { # NAME CONDITION: waits for it, five minutes at most, where other work slows the guest
    n=0
    until eval "$2"; do
        n=$((n + 1))
        [ $n -lt 300 ] || { echo "FAILED: $1"; systemctl status --no-pager $unit; journalctl --no-pager -n 30; return; }
        sleep 1
    done
    echo "$(cut -d' ' -f1 /proc/uptime) s: $1"
}
said() { journalctl -q --no-pager -o json -u $unit "$@"; }

dpkg -i /packages/1.deb
step 'the package enables nothing' '[ "$(systemctl is-enabled $unit) $(systemctl is-active $unit)" = "disabled inactive" ]'
# udev, which is not here, does this.
chgrp jitterlab /dev/cpu_dma_latency && chmod 660 /dev/cpu_dma_latency
jitterlab monitor install -- --slice 10s
step 'it runs' '[ "$(of ActiveState)" = active ]'
step 'its task has a real-time policy' 'chrt -ap $(of MainPID) | grep -q SCHED_FIFO'
step 'systemd finds it safe' 'systemd-analyze security --no-pager --threshold=30 $unit >/tmp/security'
tail -1 /tmp/security
step 'its hours reach the disk' 'ls $folder/hours/*.json >/dev/null 2>&1'

taken_over() { [ "$(of ActiveState)" = active ] && [ "$(of MainPID)" != "$before" ]; }
before=$(of MainPID)
systemctl kill -s KILL $unit
step 'it is started again when it was killed' taken_over
before=$(of MainPID)
kill -STOP "$before"
step 'the watchdog ends one that hangs' 'journalctl -q --no-pager -u $unit | grep -q "Watchdog timeout"'
step 'and another takes over' taken_over

step 'status counts what both left' 'jitterlab monitor status | grep -q "due times"'
kill -STOP "$(of MainPID)" && sleep 1 && kill -CONT "$(of MainPID)"
step 'an alarm is in the journal with its fields' 'said MESSAGE_ID=3c5ad7e0f1624b0f9f6f1c7d0a7c41e2 |
    grep "\"JITTERLAB_TASK\":\"main\"" | grep "\"JITTERLAB_LATE_NS\":\"[0-9]" | grep "\"JITTERLAB_CAUSE\":" | grep -q "\"PRIORITY\":\"4\""'
(exec 3>/dev/cpu_dma_latency && printf '\0\0\0\0' >&3 && exec sleep 1000) &
holder=$!
step 'somebody who holds /dev/cpu_dma_latency is told of' 'said | grep -q "cpu_dma_latency is now 0"'
kill $holder

systemd-run --quiet --unit=victim perl -e 'select undef, undef, undef, 0.01 while 1'
jitterlab monitor install --causes -- --unit victim.service --slice 10s
streams() { ls $folder/journal/*.json 2>/dev/null | sed 's/.*journal.//; s/\..*//' | sort -u; }
step 'it watches the threads of a unit' '[ "$(of ActiveState)" = active ] && [ -n "$(streams)" ]'
first=$(streams)
systemctl restart victim
step 'which are found again after a restart' '[ -n "$(streams)" ] && [ "$(streams)" != "$first" ]'

before=$(of MainPID)
dpkg -i /packages/2.deb
step 'an upgrade starts the new program' taken_over
dpkg -r jitterlab
step 'it ends when the package is removed' '! grep -lq jitterlab-monit /proc/[0-9]*/comm'
step 'and keeps what was measured' 'ls $folder/days/*.parquet >/dev/null'
dpkg -P jitterlab
step 'a purge leaves nothing' '! find / -xdev -path /packages -prune -o -name "*jitterlab*" -print | grep -v "^/var/log\|^/proc\|^/sys" | grep .'
echo all steps are done
"#;

#[test]
fn the_service_is_installed_killed_upgraded_and_removed_under_systemd() {
    if !cfg!(target_arch = "x86_64")
        || !has(&["mmdebstrap", "dpkg-deb", "jq", "readelf", "qemu-system-x86_64"])
        || fine(Command::new("id").arg("-u")).trim() != "0"
    {
        return println!("skipped: needs an x86-64 machine, and root to unpack a system");
    }
    let kernel: KernelChoice = "debian:generic".parse().unwrap();
    let kernel = match kernel.find_image(&mut |_| ()) {
        Ok(image) => image.path,
        Err(error) => {
            assert!(std::env::var_os("JITTERLAB_REQUIRE_ALL").is_none(), "{error}");
            return println!("skipped: {error}");
        }
    };
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let folder = folder.path();
    let system = folder.join("system");
    fs::create_dir(&system).unwrap();
    let bare = bare_debian("debian-12-systemd.tar", &["--include=systemd,systemd-sysv"]);
    fine(Command::new("tar").arg("-xf").arg(bare).arg("-C").arg(&system));
    let made = make_packages(folder);
    let name = fine(Command::new("dpkg-deb").args(["--show", "--showformat=${Version}"]).arg(&made));
    let packages = system.join("packages");
    fs::create_dir(&packages).unwrap();
    let unpacked = folder.join("unpacked");
    fine(Command::new("dpkg-deb").arg("--raw-extract").arg(&made).arg(&unpacked));
    keep_the_monitor(&unpacked);
    pack(&unpacked, &packages.join("1.deb"));
    next_version(&unpacked, &name);
    pack(&unpacked, &packages.join("2.deb"));

    let mut archive = CpioArchive::new();
    archive.add_file("init", 0o755, INIT.as_bytes()).unwrap();
    archive.add_file("steps", 0o755, STEPS.as_bytes()).unwrap();
    archive.add_file("etc/systemd/system/steps.service", 0o644, UNIT.as_bytes()).unwrap();
    let wanted = "etc/systemd/system/multi-user.target.wants/steps.service";
    archive.add_symlink(wanted, "/etc/systemd/system/steps.service");
    put(&mut archive, &system, &system);
    let initial = folder.join("initial");
    fs::write(&initial, archive.finish()).unwrap();

    let mut qemu = Command::new("timeout");
    qemu.args(["-s", "KILL", "1800", "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-smp", "2"]);
    qemu.args(["-m", "1536", "-nodefaults", "-nographic", "-no-reboot", "-serial", "stdio", "-append"]);
    qemu.arg(
        "console=ttyS0 rdinit=/init panic=-1 quiet systemd.show_status=0 no_timer_check mitigations=off",
    );
    qemu.arg("-kernel").arg(kernel).arg("-initrd").arg(initial).stdin(Stdio::null());
    let console = qemu.end_with_parent(Signal::SIGTERM).output().unwrap().stdout;
    let console = String::from_utf8_lossy(&console);
    println!("{console}");
    assert!(console.contains("all steps are done") && !console.contains("FAILED"));
}

/// Removes the programs that the service never starts: they fill the guest's memory, and its time for unpacking.
fn keep_the_monitor(unpacked: &Path) {
    for entry in fs::read_dir(unpacked.join("usr/lib/jitterlab")).unwrap().map(Result::unwrap) {
        if entry.file_name() != "jitterlab-monitor" {
            fs::remove_file(entry.path()).unwrap();
        }
    }
}

/// Makes an unpacked package the next version of itself.
fn next_version(unpacked: &Path, version: &str) {
    let control = unpacked.join("DEBIAN/control");
    let text = fs::read_to_string(&control).unwrap();
    let changed = text.replace(&format!("\nVersion: {version}\n"), &format!("\nVersion: {version}+next\n"));
    assert_ne!(text, changed);
    fs::write(control, changed).unwrap();
}

fn pack(unpacked: &Path, package: &Path) {
    let mut build = Command::new("dpkg-deb");
    fine(build.args(["--root-owner-group", "-Zgzip", "-z1", "--build"]).arg(unpacked).arg(package));
}

/// Puts what is in a folder into an archive, without documents and lists that the guest does not read.
fn put(archive: &mut CpioArchive, root: &Path, folder: &Path) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        if ["usr/share/doc", "usr/share/locale", "usr/share/man", "var/lib/apt/lists"].contains(&&*name) {
            continue;
        }
        if kind.is_symlink() {
            archive.add_symlink(&name, fs::read_link(&path).unwrap().to_str().unwrap());
        } else if kind.is_dir() {
            archive.add_directory(&name);
            put(archive, root, &path);
        } else if kind.is_file() {
            let permissions = entry.metadata().unwrap().permissions().mode() & 0o7777;
            archive.add_file(&name, permissions, &fs::read(&path).unwrap()).unwrap();
        }
    }
}
