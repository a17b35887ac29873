//! Answers of `jitterlab kernel` before anything is booted. Its measurements are tested with the program it
//! is a companion of.

use std::fs;
use std::process::Command;

use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_jitterlab-kernel");

#[test]
fn mistakes_are_told_before_anything_is_booted() {
    let cases: [(&[&str], &str); 7] = [
        (&["run", "--kernel", "rt"], "did you mean debian:rt?"),
        (&["run", "--kernel", "debian"], "debian:rt"),
        (&["run", "--kernel", "debian:rtai"], "debian:rt"),
        (&["run", "--kernel", "/etc/hostname"], "not a Linux kernel image"),
        (&["run", "--kernel", "x", "--period", "0"], "period"),
        (&["diff", "old/bzImage", "new/bzImage"], "jitterlab compare BEFORE AFTER"),
        (&["peers"], "--also"),
    ];
    for (words, expected) in cases {
        let output = Command::new(PROGRAM).args(words).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(expected), "{words:?}: {said}");
    }
}

#[test]
fn a_kernel_of_another_processor_wants_a_jitterlab_for_it() {
    let folder = TempDir::new().unwrap();
    let mut image = vec![0; 0x40];
    // The mark of a zImage, for 32-bit ARM.
    image[0x24..0x28].copy_from_slice(&0x016f_2818u32.to_le_bytes());
    let kernel = folder.path().join("zImage");
    fs::write(&kernel, image).unwrap();
    for options in [&[][..], &["--program", PROGRAM]] {
        let mut command = Command::new(PROGRAM);
        command.args(["run", "-q", "--no-file", "--kernel"]).arg(&kernel).args(options);
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains("--program FILE") && said.contains("packaging/cross"), "{said}");
    }
}
