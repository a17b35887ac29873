//! Properties of the build, for `jitterlab --version`. The build script runs again only if they change: the commit is
//! stated by the packager, since a checkout may have changes that no commit has.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=JITTERLAB_COMMIT");
    let unknown = || "unknown".to_owned();
    let said = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let rustc = Command::new(said("RUSTC").unwrap_or_else(|| "rustc".into())).arg("--version").output();
    let rustc = rustc.ok().and_then(|output| String::from_utf8(output.stdout).ok());
    // target/[TRIPLE/]PROFILE/build/jitterlab-HASH/out
    let out = said("OUT_DIR");
    let folder = out.as_deref().and_then(|out| Path::new(out).ancestors().nth(3)?.file_name()?.to_str());
    for (fact, value) in [
        ("COMMIT", said("JITTERLAB_COMMIT")),
        ("TARGET", said("TARGET")),
        ("PROFILE", folder.map(|name| if name == "debug" { "dev".into() } else { name.into() })),
        ("RUSTC", rustc.map(|version| version.trim().to_owned())),
    ] {
        println!("cargo:rustc-env=JITTERLAB_BUILT_{fact}={}", value.unwrap_or_else(unknown));
    }
}
