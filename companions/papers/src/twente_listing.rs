//! The thread attributes that the Twente report lists, compiled and run as they are and mended.

use std::fs;
use std::process::{Command, Stdio};

use crate::claims::twente::ListingRun;
use jitterlab_host::scratch::Scratch;
use jitterlab_model::Error;

const LISTING: &str = include_str!("../data/twente-listing.c");

/// Compiles and runs the listing; `None` without a C compiler.
pub fn run() -> Result<Option<ListingRun>, Error> {
    let scratch =
        Scratch::new().map_err(|cause| Error::refused("cannot make a temporary directory").because(cause))?;
    let (source, program) = (scratch.path().join("listing.c"), scratch.path().join("listing"));
    fs::write(&source, LISTING).map_err(Error::file("write", &source))?;
    let mut compiler = Command::new("cc");
    compiler.arg("-pthread").arg(&source).arg("-o").arg(&program).stderr(Stdio::null());
    if !compiler.status().is_ok_and(|status| status.success()) {
        return Ok(None);
    }
    let said = |words: &[&str]| {
        let output = Command::new(&program).args(words).output().ok()?;
        String::from_utf8(output.stdout).ok()
    };
    Ok(said(&[]).zip(said(&["explicit"])).map(|(printed, mended)| ListingRun { printed, mended }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_listing_s_thread_keeps_its_creator_s_policy() {
        let Some(found) = run().unwrap() else {
            assert!(std::env::var_os("JITTERLAB_REQUIRE_ALL").is_none(), "no C compiler");
            return;
        };
        assert_eq!(found.printed, "SCHED_OTHER 0");
        assert!(["SCHED_FIFO 99", "not permitted"].contains(&found.mended.as_str()), "{found:?}");
    }
}
