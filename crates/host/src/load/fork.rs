//! `fork`: making processes and burying them.
#![expect(unsafe_code, reason = "fork is unsafe by its nature")]

use std::io;

use jitterlab_model::load::LoadUnit;
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, fork};

use super::{Kind, Work, share_of_one};

pub(super) const KIND: Kind = Kind {
    name: "fork",
    usage: "fork[:N]",
    unit: Some(LoadUnit::Operations),
    share: share_of_one,
    begin: |_| Ok(Box::new(ForkLoad)),
};

struct ForkLoad;

impl Work for ForkLoad {
    fn step(&mut self) -> io::Result<u64> {
        const ROUNDS: u64 = 20;
        for _ in 0..ROUNDS {
            // SAFETY: the child calls nothing but _exit, which is allowed after a fork of several threads.
            match unsafe { fork() }? {
                // SAFETY: _exit ends the process at once and runs no handlers of the parent's.
                ForkResult::Child => unsafe { nix::libc::_exit(0) },
                ForkResult::Parent { child } => {
                    waitpid(child, None)?;
                }
            }
        }
        Ok(ROUNDS)
    }
}
