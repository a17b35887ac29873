//! Loading a shared library at run time and finding its functions.
#![expect(unsafe_code, reason = "a C library")]
use std::env;
use std::ffi::CString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use jitterlab_model::Error;
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

use super::core::Core;
use super::error::{LIBRARY_NOT_FOUND, STATIC_TLS_REFUSED, not_preloaded_error};

/// Set in the restarted program, so that it does not restart for ever.
const PRELOADED_VARIABLE: &str = "JITTERLAB_PRELOADED";

/// A loaded library.
#[derive(Debug)]
pub(super) struct LoadedLibrary {
    name: String,
    library: Library,
    needed: &'static str,
}

/// Loads a core's library for the rest of the process. A library that refuses is preloaded: then this process restarts.
/// `needed` names the release that is needed if a function is missing.
pub(super) fn load(core: Core, needed: &'static str) -> Result<LoadedLibrary, Error> {
    let mut said = Vec::new();
    for name in load_names(core) {
        if is_preloaded(&name) {
            // Programs that this one starts later are not to be programs of the core's.
            // SAFETY: a core is prepared before the program has other threads.
            unsafe { env::remove_var("LD_PRELOAD") };
            return Ok(LoadedLibrary { name, library: Library::this(), needed });
        }
        // SAFETY: the library's constructors run; Xenomai's only register forks and set up tables. It is never
        // unloaded, because its functions outlive every thread.
        match unsafe { Library::open(Some(&name), RTLD_NOW | RTLD_GLOBAL) } {
            Ok(library) => return Ok(LoadedLibrary { name, library, needed }),
            Err(error) if error.to_string().contains(STATIC_TLS_REFUSED) => {
                return Err(restart_preloaded(&name));
            }
            Err(error) => said.push(error.to_string()),
        }
    }
    // The error of a library that exists and does not load helps more than that of one that is nowhere.
    let telling = said.iter().find(|said| !said.ends_with(LIBRARY_NOT_FOUND)).or(said.first()).cloned();
    let library = core.libraries().join(" or ");
    Err(Error::refused(format!("{library} cannot be loaded ({})", telling.unwrap_or_default())).remedy(
        "install Xenomai's user space, and name its directory in LD_LIBRARY_PATH or \
         /etc/ld.so.conf if it is neither the linker's nor Xenomai's own",
    ))
}

/// Names to load a core's library by: plain ones for the dynamic linker, then paths in the core's folders.
fn load_names(core: Core) -> impl Iterator<Item = String> {
    let plain = core.libraries().iter().map(ToString::to_string);
    let in_folder = move |folder: PathBuf| core.libraries().iter().map(move |name| folder.join(name));
    let elsewhere = core.library_folders().into_iter().flat_map(in_folder);
    plain.chain(elsewhere.map(|path| path.to_string_lossy().into_owned()))
}

fn is_preloaded(name: &str) -> bool {
    env::var_os(PRELOADED_VARIABLE).is_some_and(|preloaded| preloaded == name)
}

/// Replaces this program by itself with the library preloaded; returns only if that failed. Other preloaded libraries
/// are left out: a foreign library's calls would move the thread to Linux's side.
fn restart_preloaded(library: &str) -> Error {
    let mut arguments = env::args_os();
    let name = arguments.next().unwrap_or_default();
    let error = Command::new("/proc/self/exe")
        .arg0(name)
        .args(arguments)
        .env("LD_PRELOAD", library)
        .env(PRELOADED_VARIABLE, library)
        .exec();
    not_preloaded_error(library, &error.to_string())
}

impl LoadedLibrary {
    /// Name under which the library was found.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Finds the function of this name.
    ///
    /// # Safety
    /// `F` must be its type: an `unsafe extern "C" fn` pointer.
    pub(super) unsafe fn function<F: Copy>(&self, symbol: &str) -> Result<F, Error> {
        let missing = |said: String| {
            let library = self.name.clone();
            if is_preloaded(&library) {
                return not_preloaded_error(&library, &said);
            }
            Error::refused(format!("{library} has no {symbol}: {}", self.needed))
        };
        let name = CString::new(symbol).map_err(|error| missing(error.to_string()))?;
        // SAFETY: the caller answers for the type.
        let found = unsafe { self.library.get::<F>(name.as_bytes_with_nul()) };
        found.map(|function| *function).map_err(|error| missing(error.to_string()))
    }
}
