//! Collects the devices in `data/`: a new motor, drive or plant needs only a TOML file there.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=data");
    let variable = |name| env::var_os(name).ok_or_else(|| io::Error::other(format!("{name} is not set")));
    let data = Path::new(&variable("CARGO_MANIFEST_DIR")?).join("data");
    let mut code = String::new();
    for folder in ["motors", "drives", "plants"] {
        let files = fs::read_dir(data.join(folder))?.map(|entry| Ok(entry?.path()));
        let mut files = files.collect::<io::Result<Vec<_>>>()?;
        files.retain(|path| path.extension().is_some_and(|e| e == "toml"));
        files.sort();
        let list = folder.to_uppercase();
        let _ = writeln!(code, "/// The shipped {folder}: name and content.");
        let _ = writeln!(code, "pub(crate) const {list}: &[(&str, &str)] = &[");
        for path in files {
            let name = path.file_stem().unwrap_or_default();
            let _ = writeln!(code, "({name:?}, include_str!({path:?})),");
        }
        code.push_str("];\n");
    }
    fs::write(Path::new(&variable("OUT_DIR")?).join("shipped.rs"), code)
}
