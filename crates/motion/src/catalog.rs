//! Devices by name: the shipped ones, the user's own, or a file.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::Serialize;

use jitterlab_model::Error;

use crate::error;

/// The files of `data/`, as the build gathered them.
pub(crate) mod shipped {
    include!(concat!(env!("OUT_DIR"), "/shipped.rs"));
}

/// A kind of device that is described by a TOML file.
pub trait Device: Sized {
    /// Kind of device in messages, such as `motor`.
    const KIND: &'static str;
    /// The folder of the user's own ones, below `jitterlab/` in the configuration directory.
    const FOLDER: &'static str;
    /// The shipped files: name and content.
    const SHIPPED: &'static [(&'static str, &'static str)];

    /// Reads one file's content; `name` is for messages.
    fn from_toml(name: &str, text: &str) -> Result<Self, Error>;

    /// Reads a file of another program, for kinds of devices that have such files; `None` for anything else.
    fn import(_path: &Path) -> Option<Result<Self, Error>> {
        None
    }
}

/// One line of a list of devices.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry<D, E = Error> {
    pub name: String,
    /// True for a file in the user's directory, false for a device shipped with jitterlab.
    pub own: bool,
    pub device: Result<D, E>,
}

/// The devices of a kind, and an example to start one's own from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Devices<D> {
    /// The user's own, then the shipped.
    pub entries: Vec<Entry<D, String>>,
    /// Directory of the user's own files; `None` if no home directory is known.
    pub own_directory: Option<PathBuf>,
    /// A shipped one to begin with: its name and its file's content.
    pub example: (String, String),
}

/// Lists all devices of a kind, with the file of the shipped one called `example` to start from.
pub fn devices_with_example<D: Device, S: From<D>>(example: &str) -> Devices<S> {
    let own_directory = user_device_directory::<D>();
    let shown = |e: Entry<D>| Entry {
        name: e.name,
        own: e.own,
        device: e.device.map(S::from).map_err(|error| error.to_string()),
    };
    let entries = list_entries::<D>(own_directory.as_deref()).into_iter().map(shown).collect();
    let content = D::SHIPPED.iter().find(|(name, _)| *name == example).map_or("", |(_, text)| text);
    Devices { entries, own_directory, example: (example.into(), content.into()) }
}

/// The user's directory for devices of a kind: `$XDG_CONFIG_HOME/jitterlab/motors`, or below `~/.config`.
/// `None` when neither variable is set.
pub fn user_device_directory<D: Device>() -> Option<PathBuf> {
    let config = std::env::var_os("XDG_CONFIG_HOME")
        .filter(|v| !v.is_empty())
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".config")))?;
    Some(config.join("jitterlab").join(D::FOLDER))
}

/// All devices of a kind: those in the directory `own`, then the shipped ones of other names.
pub fn list_entries<D: Device>(own: Option<&Path>) -> Vec<Entry<D>> {
    let mut entries: Vec<Entry<D>> = Vec::new();
    let files = own.and_then(|directory| std::fs::read_dir(directory).ok()).into_iter().flatten().flatten();
    // A FIFO and the like would wait for a writer: only regular files are read.
    let is_device = |path: &PathBuf| path.extension().is_some_and(|e| e == "toml") && path.is_file();
    for path in files.map(|entry| entry.path()).filter(is_device) {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        entries.push(Entry { device: read_device(&path), name, own: true });
    }
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    for (name, text) in D::SHIPPED {
        if !entries.iter().any(|e| e.name == *name) {
            let device = D::from_toml(name, text);
            entries.push(Entry { name: (*name).into(), own: false, device });
        }
    }
    entries
}

/// Finds the device called `name` among the user's and the shipped ones, or in a file of this path.
pub fn known_device<D: Device>(name: &str) -> Result<D, Error> {
    find_device(name, user_device_directory::<D>().as_deref())
}

/// Finds the device called `name`: a path (with a `/`, `.toml` or `.json`), else one of [`list_entries`], letter case aside.
pub fn find_device<D: Device>(name: &str, own: Option<&Path>) -> Result<D, Error> {
    if name.contains('/') || name.ends_with(".toml") || name.ends_with(".json") {
        return read_device(Path::new(name));
    }
    let mut entries = list_entries::<D>(own);
    match entries.iter().position(|e| e.name.eq_ignore_ascii_case(name)) {
        Some(found) => entries.swap_remove(found).device,
        None => Err(Error::bad_use(format!(
            "no {} is called {name:?}: use one of {}, or the path of a TOML file",
            D::KIND,
            entries.into_iter().map(|e| e.name).collect::<Vec<_>>().join(", ")
        ))),
    }
}

/// Limit on a device's file in bytes: a larger one, such as an endless device node, is cut off.
pub(crate) const LARGEST_BYTES: u64 = 1 << 20;

fn read_device<D: Device>(path: &Path) -> Result<D, Error> {
    if let Some(device) = D::import(path) {
        return device;
    }
    let name = path.display().to_string();
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(LARGEST_BYTES).read_to_string(&mut text));
    match read {
        Ok(_) => D::from_toml(&name, &text),
        Err(cause) => Err(error::unreadable(path, &cause)),
    }
}

/// Parses TOML as `T`; the error is one line, with a hint for common mistakes.
pub(crate) fn parse_toml<T: serde::de::DeserializeOwned>(
    kind: &'static str,
    name: &str,
    text: &str,
) -> Result<T, Error> {
    toml::from_str(text).map_err(|cause: toml::de::Error| {
        let line = cause.span().map(|span| 1 + text[..span.start].matches('\n').count());
        let place = line.map_or(String::new(), |line| format!("line {line}: "));
        let message = cause.message().replace('\n', " ");
        let is = |of: &str| message.contains(of);
        // The commonest slip of all: a quantity as a bare number.
        let hint = match () {
            () if message.starts_with("invalid type: ") && message.ends_with("expected a string") => {
                error::QUOTED
            }
            () if is("wrong type of values") => error::PER_STATE,
            () if is("wrong type of value") => error::PER_CHANNEL,
            () => "",
        };
        error::invalid_file(kind, name, &format!("{place}{message}"), hint)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stepper::{Drive, Motor};

    #[test]
    fn a_quantity_as_a_bare_number_is_told_how_to_be_written() {
        let sheet = "name = 'x'\nstep_angle = '1.8 deg'\nholding_torque = 1.2\n";
        let motor = Motor::from_toml("my.toml", sheet).unwrap_err().to_string();
        assert!(motor.contains("line 3") && motor.contains("in quotes with its unit"), "{motor}");
        let drive = Drive::from_toml("my.toml", "name = 'x'\nstep_time = 5\n").unwrap_err().to_string();
        assert!(drive.contains("\"5 us\""), "{drive}");
    }
}
