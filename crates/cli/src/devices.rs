//! Motors, drives and plants as `--list` shows them.

use jitterlab_motion::catalog::{self, Device, Origin};

/// One line: its name, whether it is the user's, and the device or what is wrong with its file.
pub type Line<D> = (String, bool, Result<D, String>);

/// All devices of a kind, and the directory for the user's own.
pub fn devices<D: Device>() -> (Vec<Line<D>>, String) {
    let own = catalog::user_directory::<D>();
    let entries = catalog::list::<D>(own.as_deref())
        .into_iter()
        .map(|e| (e.name, matches!(e.origin, Origin::Own(_)), e.device.map_err(|error| error.to_string())));
    let place = own.as_ref().map_or("nowhere, as HOME is not set".into(), |d| d.display().to_string());
    (entries.collect(), place)
}

/// A shipped file, indented, as something to begin one's own with.
pub fn like<D: Device>(name: &str) -> String {
    let shipped = D::SHIPPED.iter().find(|(shipped, _)| *shipped == name).map_or("", |(_, text)| text);
    let lines: String = shipped.lines().map(|line| format!("    {line}\n")).collect();
    format!(",\nsuch as a copy of {name}'s:\n\n{lines}")
}
