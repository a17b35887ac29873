//! The Debian packages: made from the build of the tests, installed on a bare Debian 12, used by ordinary
//! users, removed.

#![expect(clippy::unwrap_used, reason = "a test that cannot do its steps has failed")]

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

fn packaging() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging")
}

/// True if the programs that the test needs are here. The test is skipped without them, unless everything is
/// required.
pub fn has(programs: &[&str]) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let is_here = |program: &&&str| env::split_paths(&path).any(|folder| folder.join(program).exists());
    let missing: Vec<_> = programs.iter().filter(|program| !is_here(program)).collect();
    assert!(missing.is_empty() || env::var_os("JITTERLAB_REQUIRE_ALL").is_none(), "{missing:?} are required");
    if !missing.is_empty() {
        eprintln!("skipped: {missing:?} are not here (./test installs them)");
    }
    missing.is_empty()
}

#[track_caller]
pub fn fine(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

/// Debian 12 with its essential packages and what these options of mmdebstrap add, kept in the folder of the kernels.
pub fn bare_debian(name: &str, options: &[&str]) -> PathBuf {
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.unwrap_or_else(|| PathBuf::from(env::var_os("HOME").unwrap()).join(".cache"));
    let tarball = cache.join("jitterlab").join(name);
    if !tarball.exists() {
        fs::create_dir_all(tarball.parent().unwrap()).unwrap();
        let incoming = tarball.with_extension(format!("{}.tar", std::process::id()));
        let mut make = Command::new("mmdebstrap");
        fine(make.arg("--variant=minbase").args(options).arg("bookworm").arg(&incoming));
        fs::rename(incoming, &tarball).unwrap();
    }
    tarball
}

/// The program that packages carry, as the tests' Python has it; what needs it is skipped otherwise.
fn duckdb() -> Option<PathBuf> {
    let python = env::var_os("JITTERLAB_PYTHON").unwrap_or_else(|| "python3".into());
    let find = "import duckdb_cli, pathlib; print(pathlib.Path(duckdb_cli.__file__).with_name('duckdb'))";
    let output = Command::new(python).args(["-c", find]).output().ok();
    let found = output.map(|output| PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()));
    let found = found.filter(|program| program.is_file());
    assert!(found.is_some() || env::var_os("JITTERLAB_REQUIRE_ALL").is_none(), "DuckDB is not here");
    if found.is_none() {
        eprintln!("skipped: the program duckdb is not here (pip install duckdb-cli)");
    }
    found
}

/// Makes the packages in `folder/packages`, of what the tests have built; returns that of the program.
pub fn make_packages(folder: &Path) -> PathBuf {
    let (built, packages) = (folder.join("built"), folder.join("packages"));
    fs::create_dir(&built).unwrap();
    let programs = Path::new(env!("CARGO_BIN_EXE_jitterlab")).parent().unwrap();
    let names = ["fleet", "kernel", "mcu", "monitor", "papers"].map(|name| format!("jitterlab-{name}"));
    for program in names.iter().map(String::as_str).chain(["jitterlab"]) {
        symlink(programs.join(program), built.join(program)).unwrap();
    }
    if let Some(duckdb) = duckdb() {
        symlink(duckdb, built.join("duckdb")).unwrap();
    }
    let libraries = env::current_exe().unwrap().parent().unwrap().to_owned();
    for library in ["libjitterlab.a", "libjitterlab.so"] {
        symlink(libraries.join(library), built.join(library)).unwrap();
    }
    let made = fine(Command::new(packaging().join("deb")).arg("--built").arg(&built).arg(&packages));
    PathBuf::from(made.lines().find(|path| path.contains("/jitterlab_")).unwrap())
}

/// Script for the bare system, in mount and process namespaces of its own.
const ON_THE_BARE_SYSTEM: &str = r#"set -eu
all() { find / -xdev \( -path /var/lib/dpkg -o -path /var/log -o -path /var/cache -o -path /home -o -path /tmp \) -prune -o -print | sort; }
useradd --create-home member
useradd --create-home stranger
all >/tmp/before
cp /etc/group /tmp/group.before

dpkg -i /tmp/packages/*.deb
usermod -aG jitterlab member
for user in member stranger; do
    su - $user -c 'jitterlab run --duration 3s --json -o run.parquet' >/tmp/$user.json 2>/tmp/$user.said
done
su - member -c 'jitterlab fleet add plant run.parquet && jitterlab fleet plant' >/tmp/fleet.said 2>&1 || true
cp /usr/share/doc/jitterlab/sbom.cdx.json /tmp
zcat /usr/share/man/man1/jitterlab-run.1.gz | grep -q duration
bash -n /usr/share/bash-completion/completions/jitterlab
for file in include/jitterlab.h lib/libjitterlab.a lib/libjitterlab.so lib/pkgconfig/jitterlab.pc; do test -s /usr/$file; done
ldd /usr/lib/libjitterlab.so >/tmp/ldd
# As every new installation, and as one that was there before.
dpkg -i /tmp/packages/*.deb

dpkg --purge jitterlab libjitterlab-dev
all >/tmp/after
cp /etc/group /tmp/group.after
"#;

const BESIDE_THE_BARE_SYSTEM: &str = r#"set -eu
cd "$1"
mount -t proc proc proc
mount --rbind /sys sys
mount -t tmpfs tmpfs dev
for device in null zero full random urandom tty; do
    touch dev/$device
    mount --bind /dev/$device dev/$device
done
exec chroot . sh /tmp/steps
"#;

#[test]
fn members_of_the_group_measure_in_real_time_on_a_bare_debian_and_nothing_stays_behind() {
    if !has(&["mmdebstrap", "dpkg-deb", "jq", "readelf", "unshare"]) {
        return;
    }
    if fine(Command::new("id").arg("-u")).trim() != "0" {
        return eprintln!("skipped: installing into another root needs root");
    }
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let folder = folder.path();
    let bare = folder.join("bare");
    fs::create_dir(&bare).unwrap();
    let tarball = bare_debian("debian-12.tar", &[]);
    fine(Command::new("tar").arg("-xf").arg(tarball).arg("-C").arg(&bare));
    let temporary = bare.join("tmp");
    make_packages(folder);
    fs::rename(folder.join("packages"), temporary.join("packages")).unwrap();
    fs::write(temporary.join("steps"), ON_THE_BARE_SYSTEM).unwrap();
    let mut apart = Command::new("unshare");
    apart.args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", BESIDE_THE_BARE_SYSTEM, "sh"]);
    fine(apart.arg(&bare));

    let read = |name: &str| fs::read_to_string(temporary.join(name)).unwrap();
    let run = |user: &str| -> Value { serde_json::from_str(&read(&format!("{user}.json"))).unwrap() };
    let (member, stranger) = (run("member"), run("stranger"));
    let granted = |run: &Value| run.pointer("/result/run/tasks/0/granted").cloned().unwrap();
    // In some sandboxes not even root may give more than there is.
    if Command::new("prlimit").args(["--rtprio=85", "true"]).status().is_ok_and(|status| status.success()) {
        assert_eq!(granted(&member)["policy"], "fifo:80", "{}", read("member.said"));
        assert_eq!(granted(&member)["memory_locked"], true, "{}", read("member.said"));
    } else {
        eprintln!("skipped: root may not raise limits here, so that members of the group cannot have theirs");
    }
    assert!(member.pointer("/result/run/tasks/0/result/executed").unwrap().as_u64() > Some(0));
    assert_eq!(granted(&stranger)["policy"], "other");
    assert!(
        read("stranger.said").contains("remedy: sudo usermod -aG jitterlab"),
        "{}",
        read("stranger.said")
    );
    assert!(!read("ldd").contains("not found"), "{}", read("ldd"));
    let said = if duckdb().is_some() { "of 1 machine " } else { "pip install duckdb-cli" };
    assert!(read("fleet.said").contains(said), "{}", read("fleet.said"));
    assert_eq!(read("sbom.cdx.json").contains("pkg:pypi/duckdb-cli@"), duckdb().is_some());
    let (before, after) = (read("before"), read("after"));
    let left: Vec<&str> = after.lines().filter(|path| !before.lines().any(|was| was == *path)).collect();
    assert!(left.is_empty() && before.lines().count() == after.lines().count(), "left behind: {left:?}");
    assert_eq!(read("group.before"), read("group.after"));
}

#[test]
fn what_it_is_built_of_is_what_the_lock_file_says() {
    if !has(&["jq"]) {
        return;
    }
    let sbom: Value = serde_json::from_str(&fine(&mut Command::new(packaging().join("sbom")))).unwrap();
    assert_eq!(sbom["metadata"]["component"]["version"], env!("CARGO_PKG_VERSION"));
    let lock = fs::read_to_string(packaging().join("../Cargo.lock")).unwrap();
    let parts = sbom["components"].as_array().unwrap();
    for part in parts {
        let [name, version] = ["name", "version"].map(|key| part[key].as_str().unwrap());
        let entry = format!("name = \"{name}\"\nversion = \"{version}\"\n");
        let (_, rest) = lock.split_once(&entry).unwrap_or_else(|| panic!("{name} {version} is not locked"));
        let own = rest.split("\n\n").next().unwrap();
        let checksum = part.pointer("/hashes/0/content").map(|sum| sum.as_str().unwrap());
        assert_eq!(checksum.is_some(), own.contains("checksum"), "{name}");
        assert!(own.contains(checksum.unwrap_or_default()), "{name}");
        assert_ne!(part.pointer("/licenses/0/expression").unwrap(), "", "{name}");
    }
    assert!(parts.len() > 100, "{}", parts.len());
    let carried = fine(Command::new(packaging().join("sbom")).arg("--duckdb"));
    let carried: Value = serde_json::from_str(&carried).unwrap();
    let [.., duckdb] = &carried["components"].as_array().unwrap()[..] else { panic!("nothing") };
    assert_eq!(carried["components"].as_array().unwrap().len(), parts.len() + 1);
    let copyright = fs::read_to_string(packaging().join("debian/copyright")).unwrap();
    let version = duckdb["version"].as_str().unwrap();
    assert!(copyright.contains(&format!("DuckDB {version} as PyPI has it")), "{version}");
    let hash = duckdb.pointer("/hashes/0/content").unwrap().as_str().unwrap();
    assert!(fs::read_to_string(packaging().join("duckdb")).unwrap().contains(hash), "{hash}");
}

#[test]
fn it_says_how_it_was_built() {
    let said = fine(Command::new(env!("CARGO_BIN_EXE_jitterlab")).arg("--version"));
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[0], concat!("jitterlab ", env!("CARGO_PKG_VERSION")));
    let facts: Vec<(&str, &str)> = lines[1..].iter().map(|line| line.split_once(": ").unwrap()).collect();
    let named = |name: &str| facts.iter().find(|(fact, _)| *fact == name).unwrap().1;
    assert!(named("target").starts_with(env::consts::ARCH), "{said}");
    assert!(named("compiler").starts_with("rustc "), "{said}");
    let folder = Path::new(env!("CARGO_BIN_EXE_jitterlab")).parent().unwrap().file_name().unwrap();
    let profile = folder.to_str().unwrap().replace("debug", "dev");
    assert_eq!(named("profile"), profile, "{said}");
    assert!(!named("commit").is_empty(), "{said}");
}
