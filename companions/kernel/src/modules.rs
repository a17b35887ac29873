//! Kernel modules: their files, their dependencies, and the order to load them.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use object::{Object, ObjectSection};

use jitterlab_model::Error;

/// A module ready to be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    pub name: String,
    pub content: Vec<u8>,
}

/// Reads the modules asked for, after those of the drivers, each after those it depends on.
/// They are found by name below `tree` (`lib/modules/RELEASE`) or by path; drivers that the tree lacks count as built in.
pub fn read_modules(requested: &[String], drivers: &[String], tree: &Path) -> Result<Vec<Module>, Error> {
    let mut loader = ModuleReader { tree, index: None, done: Vec::new() };
    for driver in drivers {
        if loader.find_file(driver).is_ok() {
            loader.add_with_dependencies(driver, 0)?;
        }
    }
    requested.iter().try_for_each(|name| loader.add_with_dependencies(name, 0))?;
    Ok(loader.done)
}

struct ModuleReader<'a> {
    tree: &'a Path,
    index: Option<BTreeMap<String, PathBuf>>,
    done: Vec<Module>,
}

impl ModuleReader<'_> {
    fn add_with_dependencies(&mut self, requested: &str, depth: u8) -> Result<(), Error> {
        let path =
            if requested.contains('/') { PathBuf::from(requested) } else { self.find_file(requested)? };
        let name = module_name(&path);
        // Modules with circular dependencies cannot be loaded; the kernel reports that best.
        if self.done.iter().any(|module| module.name == name) || depth > 32 {
            return Ok(());
        }
        let content = read_uncompressed(&path).map_err(Error::file("read", &path))?;
        let depends = dependencies(&content)
            .ok_or_else(|| Error::damaged(format!("{} is not a kernel module", path.display())))?;
        for dependency in depends {
            self.add_with_dependencies(&dependency, depth + 1)?;
        }
        self.done.push(Module { name, content });
        Ok(())
    }

    fn find_file(&mut self, name: &str) -> Result<PathBuf, Error> {
        let tree = self.tree;
        let index = self.index.get_or_insert_with(|| {
            let mut index = BTreeMap::new();
            index_modules(tree, &mut index);
            index
        });
        index.get(&name.replace('-', "_")).cloned().ok_or_else(|| {
            Error::bad_use(format!("{} has no module {name}", tree.display()))
                .remedy("give its path instead if it is elsewhere (a kernel may also have it built in)")
        })
    }
}

/// Returns the name of a module: `virtio_blk` for `.../virtio-blk.ko.xz`.
fn module_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split(".ko").next().unwrap_or_default().replace('-', "_")
}

fn index_modules(directory: &Path, into: &mut BTreeMap<String, PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => index_modules(&path, into),
            Ok(_) if entry.file_name().to_string_lossy().contains(".ko") => {
                into.insert(module_name(&path), path);
            }
            _ => {}
        }
    }
}

fn read_uncompressed(path: &Path) -> io::Result<Vec<u8>> {
    let program = match path.extension().and_then(|e| e.to_str()) {
        Some("xz") => "xz",
        Some("zst") => "zstd",
        Some("gz") => {
            let mut content = Vec::new();
            flate2::read::MultiGzDecoder::new(fs::File::open(path)?).read_to_end(&mut content)?;
            return Ok(content);
        }
        _ => return fs::read(path),
    };
    let answer = Command::new(program).arg("-dc").arg(path).stdin(Stdio::null()).output();
    let answer = answer.map_err(|error| io::Error::other(format!("{program}: {error}")))?;
    if !answer.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&answer.stderr).trim().to_owned()));
    }
    Ok(answer.stdout)
}

/// Returns the modules that a module depends on, from its `.modinfo`; `None` if the file is no module.
fn dependencies(content: &[u8]) -> Option<Vec<String>> {
    let file = object::File::parse(content).ok()?;
    let information = file.section_by_name(".modinfo")?.data().ok()?;
    let depends = information.split(|byte| *byte == 0).find_map(|line| line.strip_prefix(b"depends="));
    let depends = String::from_utf8_lossy(depends.unwrap_or_default()).into_owned();
    Some(depends.split(',').filter(|name| !name.is_empty()).map(String::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Makes a relocatable file with a .modinfo section, as modules have.
    fn module(depends: &str) -> Vec<u8> {
        let mut file = object::write::Object::new(
            object::BinaryFormat::Elf,
            object::Architecture::X86_64,
            object::Endianness::Little,
        );
        let section = file.add_section(vec![], b".modinfo".to_vec(), object::SectionKind::ReadOnlyData);
        let information = format!("license=GPL\0depends={depends}\0name=x\0");
        file.append_section_data(section, information.as_bytes(), 1);
        file.write().unwrap()
    }

    #[test]
    fn a_module_comes_after_what_it_depends_on_and_once() {
        let tree = tempfile::tempdir().unwrap();
        let drivers = tree.path().join("kernel/drivers");
        fs::create_dir_all(&drivers).unwrap();
        fs::write(drivers.join("virtio-blk.ko"), module("virtio,virtio_ring")).unwrap();
        fs::write(drivers.join("virtio_ring.ko"), module("virtio")).unwrap();
        fs::write(drivers.join("virtio.ko"), module("")).unwrap();
        let names = |requested: &[&str]| -> Vec<String> {
            let requested: Vec<String> = requested.iter().map(|s| String::from(*s)).collect();
            read_modules(&requested, &["virtio-net".into()], tree.path())
                .unwrap()
                .into_iter()
                .map(|m| m.name)
                .collect()
        };
        assert_eq!(names(&["virtio_blk"]), ["virtio", "virtio_ring", "virtio_blk"]);
        assert_eq!(names(&["virtio-ring", "virtio-blk", "virtio"]), ["virtio", "virtio_ring", "virtio_blk"]);
        let by_path = drivers.join("virtio.ko").display().to_string();
        assert_eq!(names(&[&by_path]), ["virtio"]);
        let missing = read_modules(&["snd".into()], &[], tree.path()).unwrap_err().to_string();
        assert!(missing.contains("snd"), "{missing}");
        fs::write(drivers.join("text.ko"), "text").unwrap();
        let text = read_modules(&["text".into()], &[], tree.path()).unwrap_err().to_string();
        assert!(text.contains("is not a kernel module"), "{text}");
    }

    #[test]
    fn compressed_modules_are_unpacked() {
        let tree = tempfile::tempdir().unwrap();
        let plain = tree.path().join("a.ko");
        fs::write(&plain, module("")).unwrap();
        for program in ["gzip", "xz", "zstd"] {
            let packed = Command::new(program).args(["-k", "-q"]).arg(&plain).status();
            if packed.is_err() {
                println!("skipped: no {program} here");
                continue;
            }
            let suffix = if program == "gzip" {
                "gz"
            } else if program == "zstd" {
                "zst"
            } else {
                "xz"
            };
            let content = read_uncompressed(&tree.path().join(format!("a.ko.{suffix}"))).unwrap();
            assert_eq!(content, module(""));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_give_an_answer_and_never_a_panic(bytes in any::<Vec<u8>>(), at in any::<usize>(), value in any::<u8>()) {
            let _ = dependencies(&bytes);
            let mut module = module("a,b");
            let at = at % module.len();
            module[at] = value;
            let _ = dependencies(&module);
        }
    }
}
