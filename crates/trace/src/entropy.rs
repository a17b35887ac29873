//! Random numbers of the system: the standard library takes them for the tables that the writer of run files uses, and panics
//! where there are none, which would be at the end of a measurement.
#![expect(unsafe_code, reason = "a system call that the standard library does not offer")]

use std::fs::File;
use std::path::Path;
use std::ptr;

use nix::errno::Errno;
use nix::libc;

/// Returns true if the system has random bytes. Kernels before 3.17 lack the call, and a sandbox may refuse it: then
/// the device serves.
pub(crate) fn has_random_bytes() -> bool {
    let (nowhere, none) = (ptr::null_mut::<u8>(), 0usize);
    // SAFETY: nothing is written, for no bytes are asked for.
    let answer = unsafe { libc::syscall(libc::SYS_getrandom, nowhere, none, libc::GRND_NONBLOCK) };
    is_available(Errno::result(answer).err(), Path::new("/dev/urandom"))
}

/// Returns true if random bytes can be had, by the call's error and the path of the device.
fn is_available(refusal: Option<Errno>, device: &Path) -> bool {
    !matches!(refusal, Some(Errno::ENOSYS | Errno::EPERM)) || File::open(device).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_the_call_or_the_device_is_enough() {
        let folder = tempfile::tempdir().unwrap();
        let (missing, device) = (folder.path().join("urandom"), folder.path());
        for (refusal, device, expected) in [
            (None, missing.as_path(), true),
            (Some(Errno::ENOSYS), device, true),
            (Some(Errno::EPERM), missing.as_path(), false),
            (Some(Errno::ENOSYS), missing.as_path(), false),
            // Not gathered yet, after a start; it will be.
            (Some(Errno::EAGAIN), missing.as_path(), true),
        ] {
            assert_eq!(is_available(refusal, device), expected, "{refusal:?} {device:?}");
        }
        assert!(has_random_bytes());
    }
}
