//! Files that a program needs to run: its interpreter and its shared libraries, read from the ELF files
//! themselves.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use jitterlab_model::Error;
use jitterlab_rt::xenomai::Core;
use jitterlab_trace::source;
use object::elf::{DT_NEEDED, DT_RPATH, DT_RUNPATH, FileHeader32, FileHeader64, PT_INTERP};
use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use object::{Endianness, U16, U64};

use super::architecture::Architecture;
use super::debian::{C_LIBRARY, PackageArchive};

/// An executable or library, and the files that it needs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Dependencies {
    machine: u16,
    interpreter: Option<PathBuf>,
    libraries: Vec<String>,
    /// DT_RUNPATH or DT_RPATH, with `$ORIGIN` still in it.
    search: Vec<String>,
}

/// Reads the interpreter and libraries that an ELF file needs; `None` for any other file.
fn read_dependencies(path: &Path, data: &[u8]) -> Result<Option<Dependencies>, Error> {
    if let Ok(header) = FileHeader64::<Endianness>::parse(data) {
        return read_class_dependencies(header, path, data).map(Some);
    }
    FileHeader32::<Endianness>::parse(data)
        .ok()
        .map(|header| read_class_dependencies(header, path, data))
        .transpose()
}

fn read_class_dependencies<H: FileHeader<Endian = Endianness>>(
    header: &H,
    path: &Path,
    data: &[u8],
) -> Result<Dependencies, Error> {
    let damaged =
        |error: object::read::Error| Error::damaged(format!("{} is damaged: {error}", path.display()));
    let endian = header.endian().map_err(damaged)?;
    let mut needs = Dependencies { machine: header.e_machine(endian), ..Dependencies::default() };
    let segments = header.program_headers(endian, data).map_err(damaged)?;
    for segment in segments {
        if segment.p_type(endian) == PT_INTERP
            && let Some(name) = segment.interpreter(endian, data).map_err(damaged)?
        {
            needs.interpreter = Some(PathBuf::from(String::from_utf8_lossy(name).into_owned()));
        }
    }
    let sections = header.sections(endian, data).map_err(damaged)?;
    let Some((entries, strings)) = sections.dynamic(endian, data).map_err(damaged)? else {
        return Ok(needs);
    };
    let strings = sections.strings(endian, data, strings).map_err(damaged)?;
    for entry in entries {
        let text = || -> Result<String, Error> {
            let text = entry.string(endian, strings).map_err(damaged)?;
            Ok(String::from_utf8_lossy(text).into_owned())
        };
        match entry.tag(endian) {
            DT_NEEDED => needs.libraries.push(text()?),
            DT_RPATH | DT_RUNPATH => needs.search.extend(text()?.split(':').map(String::from)),
            _ => {}
        }
    }
    Ok(needs)
}

/// A file of this machine, and its path in the guest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct GuestFile {
    pub host_path: PathBuf,
    pub guest_path: PathBuf,
}

impl GuestFile {
    /// Creates a file that has the same path in the guest.
    pub(super) fn from_host_path(path: PathBuf) -> Self {
        GuestFile { host_path: path.clone(), guest_path: path }
    }
}

/// Folders of the libraries of a guest's programs.
#[derive(Debug, Clone)]
pub struct LibraryPath {
    /// The directories that the dynamic linker of this machine looks into.
    directories: Vec<PathBuf>,
    /// Trees of unpacked packages, whose files have the same path in the guest as below the tree.
    trees: Vec<PathBuf>,
}

impl LibraryPath {
    /// This machine's folders: `LD_LIBRARY_PATH`, the directories of `/etc/ld.so.conf`, and the built-in ones.
    pub fn from_this_machine() -> Self {
        let mut directories: Vec<PathBuf> =
            std::env::var_os("LD_LIBRARY_PATH").iter().flat_map(std::env::split_paths).collect();
        add_configured_directories(Path::new("/etc/ld.so.conf"), &mut directories, 8);
        let own = Architecture::own().map(|own| own.multiarch);
        directories
            .extend(own.iter().flat_map(|own| ["/lib", "/usr/lib"].map(|lib| Path::new(lib).join(own))));
        directories.extend(["/lib64", "/usr/lib64", "/lib", "/usr/lib"].map(PathBuf::from));
        directories.extend(Core::ALL.iter().flat_map(|core| core.library_folders()));
        LibraryPath { directories, trees: Vec::new() }
    }

    /// Libraries for programs of a kind of processor: this machine's, or else of Debian's packages.
    pub fn for_architecture(
        architecture: &'static Architecture,
        note: &mut dyn FnMut(&str),
    ) -> Result<Self, Error> {
        if Architecture::own() == Some(architecture) {
            return Ok(Self::from_this_machine());
        }
        let archive = PackageArchive::for_architecture(architecture, note)?;
        let trees = C_LIBRARY.map(|package| archive.fetch_newest(package, &mut *note)?.unpack("./"));
        Ok(LibraryPath { directories: Vec::new(), trees: trees.into_iter().collect::<Result<_, _>>()? })
    }

    /// Finds a library by its name, of one processor type if given; `first` is searched before all other folders.
    fn find_library(&self, name: &str, machine: Option<u16>, first: &[PathBuf]) -> Option<GuestFile> {
        if name.contains('/') {
            return Some(self.file_at(Path::new(name))).filter(|found| found.host_path.exists());
        }
        let fits =
            |path: &Path| elf_machine(path).is_some_and(|found| machine.is_none_or(|wanted| wanted == found));
        let here = first
            .iter()
            .chain(&self.directories)
            .map(|directory| GuestFile::from_host_path(directory.join(name)));
        let below = Architecture::ALL
            .into_iter()
            .flat_map(|one| ["/lib", "/usr/lib"].map(|lib| Path::new(lib).join(one.multiarch).join(name)));
        let in_trees = below.flat_map(|there| self.trees.iter().map(move |tree| file_in_tree(tree, &there)));
        here.chain(in_trees.collect::<Vec<_>>()).find(|found| fits(&found.host_path))
    }

    /// The file behind a path in the guest, such as a program's interpreter: of a package, or else this machine's.
    fn file_at(&self, there: &Path) -> GuestFile {
        // Packages that keep everything below /usr count on the links that a file system has for that.
        let usr = Path::new("/usr").join(there.strip_prefix("/").unwrap_or(there));
        let candidates =
            self.trees.iter().flat_map(|tree| [file_in_tree(tree, there), file_in_tree(tree, &usr)]);
        let found = candidates.map(|found| GuestFile { guest_path: there.into(), ..found });
        found
            .into_iter()
            .find(|found| found.host_path.exists())
            .unwrap_or_else(|| GuestFile::from_host_path(there.into()))
    }

    /// Path of a library of that name, whatever its processor type.
    pub fn library_path(&self, name: &str) -> Option<PathBuf> {
        self.find_library(name, None, &[]).map(|found| found.host_path)
    }
}

fn file_in_tree(tree: &Path, there: &Path) -> GuestFile {
    GuestFile { host_path: tree.join(there.strip_prefix("/").unwrap_or(there)), guest_path: there.into() }
}

/// Processor type of an ELF file, from its first bytes only; `None` for any other file.
pub(super) fn elf_machine(path: &Path) -> Option<u16> {
    let mut head = [0; 64];
    std::io::Read::read_exact(&mut fs::File::open(path).ok()?, &mut head).ok()?;
    if let Ok(header) = FileHeader64::<Endianness>::parse(head.as_slice()) {
        return Some(header.e_machine(header.endian().ok()?));
    }
    let header = FileHeader32::<Endianness>::parse(head.as_slice()).ok()?;
    Some(header.e_machine(header.endian().ok()?))
}

/// Adds the directories of an ld.so.conf and of the files it includes.
fn add_configured_directories(file: &Path, into: &mut Vec<PathBuf>, depth: u8) {
    let Some(depth) = depth.checked_sub(1) else { return };
    for line in fs::read_to_string(file).unwrap_or_default().lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        match line.strip_prefix("include ") {
            Some(pattern) => {
                // Distributions write `include /etc/ld.so.conf.d/*.conf` and nothing fancier.
                let Some((directory, suffix)) = pattern.trim().split_once('*') else {
                    add_configured_directories(Path::new(pattern.trim()), into, depth);
                    continue;
                };
                let files = fs::read_dir(directory).into_iter().flatten().flatten().map(|e| e.path());
                let mut files: Vec<PathBuf> =
                    files.filter(|path| path.to_string_lossy().ends_with(suffix) && path.is_file()).collect();
                files.sort();
                files.iter().for_each(|file| add_configured_directories(file, into, depth));
            }
            None if line.starts_with('/') => into.push(PathBuf::from(line)),
            None => {}
        }
    }
}

/// No program or library is larger: a guest keeps all of it in memory.
pub(super) const LARGEST_BYTES: u64 = 512 << 20;

/// All files that these programs and libraries need to run, themselves included; only ELF files need any.
pub fn dependency_closure(
    programs: &[PathBuf],
    libraries: &LibraryPath,
) -> Result<BTreeSet<GuestFile>, Error> {
    let mut done = BTreeSet::new();
    let mut waiting: Vec<GuestFile> = programs.iter().cloned().map(GuestFile::from_host_path).collect();
    while let Some(file) = waiting.pop() {
        if !done.insert(file.clone()) {
            continue;
        }
        let path = file.host_path;
        let data = source::read(&path, LARGEST_BYTES).map_err(Error::file("read", &path))?;
        let Some(needs) = read_dependencies(&path, &data)? else { continue };
        waiting.extend(needs.interpreter.map(|interpreter| libraries.file_at(&interpreter)));
        let origin = path.parent().unwrap_or(Path::new("/")).to_string_lossy().into_owned();
        let search: Vec<PathBuf> = needs
            .search
            .iter()
            .map(|directory| directory.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin).into())
            .collect();
        for library in needs.libraries {
            let found = libraries.find_library(&library, Some(needs.machine), &search);
            waiting.push(found.ok_or_else(|| {
                Error::refused(format!(
                    "{} needs {library}, which is in none of the library directories",
                    path.display()
                ))
                .remedy("install it, or set LD_LIBRARY_PATH to where it is")
            })?);
        }
    }
    Ok(done)
}

/// Cuts off a program's debug information: all after the last byte that is loaded when it runs.
/// An executable with debug information shrinks to a tenth. Anything but a 64-bit ELF file is returned as it is.
pub fn without_debug_information(mut data: Vec<u8>) -> Vec<u8> {
    let Some(end) = end_of_loaded_data(&data) else { return data };
    data.truncate(end);
    let Ok((header, _)) = object::from_bytes_mut::<FileHeader64<Endianness>>(&mut data) else { return data };
    // There is no section table any more; to run a program, the kernel reads the program headers only.
    let Ok(endian) = header.endian() else { return data };
    header.e_shoff = U64::new(endian, 0);
    header.e_shnum = U16::new(endian, 0);
    header.e_shstrndx = U16::new(endian, 0);
    data
}

fn end_of_loaded_data(data: &[u8]) -> Option<usize> {
    let header = FileHeader64::<Endianness>::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, data).ok()?;
    let end = segments.iter().map(|s| s.p_offset(endian).saturating_add(s.p_filesz(endian))).max()?;
    usize::try_from(end).ok().filter(|end| *end >= 64 && *end <= data.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Read;
    use std::process::Command;

    fn this_program() -> PathBuf {
        std::env::current_exe().unwrap()
    }

    #[test]
    fn the_files_found_are_those_the_dynamic_linker_maps() {
        let found = dependency_closure(&[this_program()], &LibraryPath::from_this_machine()).unwrap();
        let names: BTreeSet<_> = found.iter().filter_map(|file| file.guest_path.file_name()).collect();
        // Libraries that the linker mapped into this very process (files only, not the test's data).
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let mapped: BTreeSet<&str> =
            maps.lines().filter_map(|l| l.split_whitespace().nth(5)).filter(|p| p.contains(".so")).collect();
        assert!(!mapped.is_empty());
        for library in mapped {
            let name = Path::new(library).file_name().unwrap();
            assert!(names.contains(name), "{library} is missing in {found:?}");
        }
    }

    #[test]
    fn a_library_that_is_nowhere_is_named_with_who_needs_it() {
        let nowhere = LibraryPath { directories: Vec::new(), trees: Vec::new() };
        let message = dependency_closure(&[this_program()], &nowhere).unwrap_err().to_string();
        assert!(message.contains(".so") && message.contains("LD_LIBRARY_PATH"), "{message}");
    }

    #[test]
    fn a_program_runs_without_its_debug_information_and_is_smaller() {
        let whole = fs::read(this_program()).unwrap();
        let slim = without_debug_information(whole.clone());
        assert!(slim.len() < whole.len());
        let directory = tempfile::tempdir().unwrap();
        let (written, program) = (directory.path().join("written"), directory.path().join("slim"));
        fs::write(&written, slim).unwrap();
        // Another program makes the file: a file that a child of another test still holds open for writing
        // cannot be run.
        let mut install = Command::new("install");
        assert!(install.args(["-m", "755"]).args([&written, &program]).status().unwrap().success());
        let listed = Command::new(&program).arg("--list").output().unwrap();
        assert!(String::from_utf8_lossy(&listed.stdout).contains("debug_information"));
    }

    #[test]
    fn the_linker_configuration_is_followed_through_its_includes() {
        let directory = tempfile::tempdir().unwrap();
        let conf = directory.path().join("ld.so.conf");
        fs::create_dir(directory.path().join("d")).unwrap();
        fs::write(
            &conf,
            format!(
                "include {0}/d/*.conf\n/opt/b # by hand\ninclude {0}/ld.so.conf\n",
                directory.path().display()
            ),
        )
        .unwrap();
        fs::write(directory.path().join("d/a.conf"), "/opt/a\n").unwrap();
        fs::write(directory.path().join("d/a.conf.old"), "/opt/old\n").unwrap();
        let mut found = Vec::new();
        add_configured_directories(&conf, &mut found, 2);
        found.dedup();
        assert_eq!(found, ["/opt/a", "/opt/b"].map(PathBuf::from));
    }

    proptest! {
        #[test]
        fn any_bytes_give_an_answer_and_never_a_panic(mut bytes in any::<Vec<u8>>(), flips in prop::collection::vec((0usize..1024, any::<u8>()), 0..8)) {
            let path = Path::new("x");
            let _ = read_dependencies(path, &bytes);
            let _ = without_debug_information(bytes.clone());
            // A real header with bytes changed reaches further into the reader.
            bytes.resize(4096, 0);
            fs::File::open("/proc/self/exe").unwrap().read_exact(&mut bytes).unwrap();
            for (at, value) in flips {
                bytes[at] = value;
            }
            let _ = read_dependencies(path, &bytes);
            let _ = without_debug_information(bytes);
        }
    }
}
