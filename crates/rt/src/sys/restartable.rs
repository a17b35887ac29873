//! Restartable sequences, rseq(2): the C library registers every thread for them, and from then on the kernel writes the
//! thread's processor into its memory each time it comes back from a sleep, before the program runs on. A task that
//! does not use them need not wait for that.
#![expect(unsafe_code, reason = "C calls")]
#![cfg_attr(
    not(any(target_arch = "x86_64", target_arch = "aarch64")),
    allow(dead_code, reason = "threads stay in on other processors")
)]

use std::ffi::CStr;

/// RSEQ_FLAG_UNREGISTER of linux/rseq.h.
const UNREGISTER: libc::c_int = 1;
/// Sizes of the area under which C libraries register it: that of struct rseq in glibc 2.35 to 2.39, and those that
/// AT_RSEQ_FEATURE_SIZE leads newer ones to.
const SIZES: [u32; 4] = [32, 64, 48, 128];

/// The C library's signature before every restart address (RSEQ_SIG of sys/rseq.h).
#[cfg(target_arch = "x86_64")]
const SIGNATURE: u32 = 0x5305_3053;
#[cfg(target_arch = "aarch64")]
const SIGNATURE: u32 = 0xd428_bc00;

/// Unregisters the calling thread's restartable sequences; returns true if they were registered.
///
/// Only for threads whose whole program is known: allocators and libraries that count on restartable sequences do not find them afterwards.
///
/// The C library takes the thread's processor from them too. Where the kernel offers no other way without a system call
/// (arm64), the thread stays in: a system call in every activation would cost more than is won.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub fn unregister() -> bool {
    if !vdso_has_getcpu() {
        return false;
    }
    let Some(offset) = library_constant::<isize>(c"__rseq_offset") else { return false };
    if library_constant::<u32>(c"__rseq_size").is_none_or(|size| size == 0) {
        return false;
    }
    // The C library counts from there.
    let area = super::origin::thread_pointer().wrapping_offset(offset);
    SIZES.iter().any(|size| {
        // SAFETY: the kernel compares address, size and signature with the registered ones and, if they are the same,
        // forgets them; otherwise it answers an error and nothing changes.
        (unsafe { libc::syscall(libc::SYS_rseq, area, *size, UNREGISTER, SIGNATURE) }) == 0
    })
}

/// Returns false: nothing is done on this kind of processor.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub fn unregister() -> bool {
    false
}

/// Returns true if the C library can ask the kernel's shared page, the vDSO, for the processor (vdso(7)). x86
/// has `__vdso_getcpu`, arm64 and others have not.
fn vdso_has_getcpu() -> bool {
    const NAMES: [(&CStr, &CStr); 2] =
        [(c"linux-vdso.so.1", c"__vdso_getcpu"), (c"linux-vdso64.so.1", c"__kernel_getcpu")];
    NAMES.iter().any(|(library, function)| {
        // SAFETY: the name ends with a zero byte; nothing is loaded that is not there already.
        let vdso = unsafe { libc::dlopen(library.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        // SAFETY: the handle is one that was just given; the name ends with a zero byte.
        !vdso.is_null() && !unsafe { libc::dlsym(vdso, function.as_ptr()) }.is_null()
    })
}

/// Value of a constant that C libraries have which register threads; `None` before glibc 2.35.
fn library_constant<T: Copy>(name: &CStr) -> Option<T> {
    // SAFETY: the name ends with a zero byte.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    // SAFETY: the C library documents both symbols as constants of these types (`const ptrdiff_t __rseq_offset`, `const
    // unsigned int __rseq_size`), and keeps them for the program's life.
    unsafe { address.cast::<T>().as_ref() }.copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::sched;

    #[test]
    fn a_thread_leaves_once_and_still_knows_its_processor() {
        let registers = library_constant::<u32>(c"__rseq_size").is_some_and(|size| size > 0);
        std::thread::spawn(move || {
            assert_eq!(unregister(), registers && vdso_has_getcpu());
            assert!(!unregister(), "it was out already");
            let last = *sched::cpus().unwrap().last().unwrap();
            sched::set_cpus(&[last]).unwrap();
            assert_eq!(sched::current_cpu(), last);
        })
        .join()
        .unwrap();
    }
}
