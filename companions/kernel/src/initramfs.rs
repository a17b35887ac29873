//! The guest's whole file system: jitterlab and the companion, other requested files, and the libraries they
//! need.

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};

use jitterlab_model::Error;
use jitterlab_trace::source;

use super::architecture::Architecture;
use super::cpio::CpioArchive;
use super::elf::{self, GuestFile, LibraryPath, elf_machine};
use super::job::{INIT, JITTERLAB, JOB_FILE, Job, MODULES, RESULTS};
use super::modules::Module;
use super::programs::Programs;

/// Returns a file that the guest's processor can run or that is no program; an error for another program.
pub(super) fn require_processor(included: GuestFile, wanted: &Architecture) -> Result<GuestFile, Error> {
    match elf_machine(&included.host_path) {
        Some(machine) if machine != wanted.elf => Err(Error::bad_use(format!(
            "{} is for {} and the kernel for {}",
            included.host_path.display(),
            Architecture::by_elf_machine(machine).map_or("another processor", |other| other.name),
            wanted.name
        ))
        .remedy("give one for that processor by its path, with --with")),
        _ => Ok(included),
    }
}

/// Contents of the guest's file system.
#[derive(Debug, Clone)]
pub struct InitramfsContents {
    pub programs: Programs,
    pub with: Vec<GuestFile>,
    pub modules: Vec<Module>,
    pub job: Job,
    pub libraries: LibraryPath,
}

/// A guest's file system, ready to boot.
#[derive(Debug, Clone)]
pub struct Initramfs {
    pub bytes: Vec<u8>,
    /// The directories its libraries are in, for `LD_LIBRARY_PATH`.
    pub library_path: Vec<String>,
}

/// Mount points of the guest's kernel: they cover files of the archive there.
const COVERED: [&str; 3] = ["/dev", "/proc", "/sys"];

/// Finds a file that a user asked to include: a path, a program in PATH, or a library by its name. Programs
/// and libraries keep their path; a relative one, or one that the guest's kernel would cover, ends up in
/// `/bin`.
pub fn find_file(name: &str, libraries: &LibraryPath) -> Result<GuestFile, Error> {
    let path = PathBuf::from(name);
    let covered = COVERED.iter().any(|directory| path.starts_with(directory));
    if path.is_absolute() && path.exists() && !covered {
        return Ok(GuestFile::from_host_path(path));
    }
    if name.contains('/') && path.exists() {
        let there = Path::new("/bin").join(path.file_name().unwrap_or_default());
        return Ok(GuestFile { host_path: path, guest_path: there });
    }
    let in_path = || {
        let directories = env::var_os("PATH")?;
        let found =
            env::split_paths(&directories).map(|directory| directory.join(name)).find(|p| p.is_file());
        found.filter(|path| path.is_absolute())
    };
    let found = in_path().or_else(|| libraries.library_path(name)).filter(|_| !name.contains('/'));
    found.map(GuestFile::from_host_path).ok_or_else(|| {
        Error::bad_use(format!(
            "there is no {name} here, neither as a path nor in PATH nor among the libraries"
        ))
        .remedy("give its path")
    })
}

/// Refuses two relative paths to programs of the same name: in the guest one would replace the other.
pub fn refuse_equal_program_names(with: &[GuestFile]) -> Result<(), Error> {
    let own = [JITTERLAB, INIT]
        .map(|there| GuestFile { host_path: PathBuf::new(), guest_path: PathBuf::from(there) });
    for (number, one) in with.iter().enumerate() {
        let other =
            |other: &&GuestFile| other.guest_path == one.guest_path && other.host_path != one.host_path;
        let before = with[..number].iter().chain(&own).find(other);
        if before.is_some_and(|before| before.host_path.is_relative() || one.host_path.is_relative()) {
            return Err(Error::bad_use(format!(
                "{} would be {} in the guest, which is another program's place there",
                one.host_path.display(),
                one.guest_path.display()
            ))
            .remedy("give it another name"));
        }
    }
    Ok(())
}

impl InitramfsContents {
    pub fn build(&self) -> Result<Initramfs, Error> {
        let mut archive = CpioArchive::new();
        for directory in ["/dev", "/proc", "/sys", "/tmp", "/run", "/root", "/etc", RESULTS] {
            archive.add_directory(directory);
        }
        // The kernel opens it for init before init can mount anything.
        archive.add_character_device("/dev/console", 0o600, 5, 1);
        let Programs { jitterlab, companion } = &self.programs;
        for (there, here) in [(JITTERLAB, jitterlab), (INIT, companion)] {
            archive.add_file(there, 0o755, &elf::without_debug_information(read_file(here)?))?;
        }
        for included in &self.with {
            let there = included.guest_path.to_string_lossy();
            if !archive.contains(&there) {
                archive.add_file(&there, 0o755, &read_file(&included.host_path)?)?;
            }
        }
        let mut programs: Vec<PathBuf> =
            self.with.iter().map(|included| included.host_path.clone()).collect();
        programs.extend([jitterlab.clone(), companion.clone()]);
        let mut directories = BTreeSet::new();
        for needed in elf::dependency_closure(&programs, &self.libraries)? {
            if programs.contains(&needed.host_path) {
                continue;
            }
            let there = needed.guest_path.to_string_lossy();
            if !archive.contains(&there) {
                archive.add_file(
                    &there,
                    0o755,
                    &elf::without_debug_information(read_file(&needed.host_path)?),
                )?;
            }
            directories
                .extend(needed.guest_path.parent().map(|parent| parent.to_string_lossy().into_owned()));
        }
        let libraries =
            self.with.iter().filter(|included| included.guest_path.to_string_lossy().contains(".so"));
        directories
            .extend(libraries.filter_map(|i| Some(i.guest_path.parent()?.to_string_lossy().into_owned())));
        for (number, module) in self.modules.iter().enumerate() {
            archive.add_file(
                &format!("{MODULES}/{}", module_file_name(number, module)),
                0o644,
                &module.content,
            )?;
        }
        archive.add_file(
            JOB_FILE,
            0o644,
            &serde_json::to_vec(&self.job)
                .map_err(|e| Error::defect("cannot write the guest's job").because(e))?,
        )?;
        // Programs look up the user's name and home.
        archive.add_file("/etc/passwd", 0o644, b"root:x:0:0:root:/root:/bin/sh\n")?;
        archive.add_file("/etc/group", 0o644, b"root:x:0:\n")?;
        Ok(Initramfs { bytes: archive.finish(), library_path: directories.into_iter().collect() })
    }
}

pub(super) fn module_file_name(number: usize, module: &Module) -> String {
    format!("{number:02}-{}.ko", module.name)
}

fn read_file(path: &Path) -> Result<Vec<u8>, Error> {
    source::read(path, elf::LARGEST_BYTES).map_err(Error::file("read", path))
}

#[cfg(test)]
mod tests {
    use super::super::cpio;
    use super::*;

    #[test]
    fn the_guest_holds_what_its_programs_need_and_nothing_twice() {
        let libraries = LibraryPath::from_this_machine();
        let with = find_file("cat", &libraries).unwrap();
        let contents = InitramfsContents {
            programs: Programs { jitterlab: "/bin/sh".into(), companion: env::current_exe().unwrap() },
            with: vec![with.clone(), with.clone()],
            modules: vec![Module { name: "virtio".into(), content: vec![1] }],
            job: Job::default(),
            libraries,
        };
        let initramfs = contents.build().unwrap();
        let files = cpio::read(&initramfs.bytes).unwrap();
        let content = |path: &str| files.iter().find(|f| f.path == path).map(|f| f.content.as_slice());
        for program in ["init", "bin/jitterlab"] {
            assert!(content(program).is_some_and(|bytes| bytes.starts_with(b"\x7fELF")), "{program}");
        }
        assert_eq!(content("jitterlab/modules/00-virtio.ko"), Some([1].as_slice()));
        assert!(content("dev/console").is_some());
        assert!(files.iter().any(|f| f.path.contains("libc.so")), "the libraries come along");
        let mut paths: Vec<&str> = files.iter().map(|f| f.path.as_str()).collect();
        paths.sort_unstable();
        let all = paths.len();
        paths.dedup();
        assert_eq!(paths.len(), all);
        let job: Job = serde_json::from_slice(content("jitterlab/job.json").unwrap()).unwrap();
        assert_eq!(job, Job::default());
    }

    #[test]
    fn programs_and_libraries_are_found_by_name_or_path() {
        let libraries = LibraryPath::from_this_machine();
        assert!(find_file("cat", &libraries).unwrap().guest_path.ends_with("cat"));
        assert!(find_file("libc.so.6", &libraries).unwrap().host_path.is_absolute());
        let relative = find_file("./Cargo.toml", &libraries).unwrap();
        assert_eq!(relative.guest_path, Path::new("/bin/Cargo.toml"));
        let covered = find_file("/proc/self/status", &libraries).unwrap();
        assert_eq!(
            (covered.host_path, covered.guest_path),
            (PathBuf::from("/proc/self/status"), PathBuf::from("/bin/status"))
        );
        let message = find_file("libnone.so.9", &libraries).unwrap_err().to_string();
        assert!(message.contains("libnone.so.9"), "{message}");
    }
}
