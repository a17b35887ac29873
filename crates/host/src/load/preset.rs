//! Loads by a name: the papers', OSADL's, and `stress` as it is called.

use super::error::worker_count_error;
use jitterlab_model::Error;
use jitterlab_model::load::{LoadSpec, Placement};

/// Loads under one name; the report has the origin of each.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    pub name: &'static str,
    /// The loads, separated by spaces.
    pub loads: &'static str,
}

/// Every preset there is. `stress` with its own options (`-c -m -d -i`) is understood as well.
pub const PRESETS: &[Preset] = &[
    Preset { name: "twente", loads: "cpu:4 mem:2" },
    Preset { name: "twente-6", loads: "cpu:4 mem:6" },
    Preset { name: "athlon", loads: "hog" },
    Preset { name: "browser", loads: "exec:firefox" },
    Preset { name: "glxgears", loads: "exec:glxgears" },
    Preset { name: "nist-disk", loads: "disk:1" },
    Preset { name: "nist-net", loads: "net:1" },
    Preset { name: "osadl", loads: "net:1+36% disk:1+36% mem:1+36%" },
];

/// Reads the value of `--load`: `none`, a load, a preset with or without `@CPUS`, or `stress -c 4 -m 2`.
pub fn parse_loads(text: &str) -> Result<Vec<LoadSpec>, Error> {
    let text = text.trim();
    if text == "none" {
        return Ok(Vec::new());
    }
    if let Some(options) = text.strip_prefix("stress").filter(|o| o.is_empty() || o.starts_with(' ')) {
        return parse_stress_options(options.trim());
    }
    let spec: LoadSpec = text.parse()?;
    let preset = PRESETS.iter().find(|preset| preset.name == spec.kind && spec.arguments.is_empty());
    let Some(preset) = preset else {
        super::find_kind(&spec)?;
        return Ok(vec![spec]);
    };
    preset
        .loads
        .split(' ')
        .map(|load| {
            let mut load: LoadSpec = load.parse()?;
            if spec.placement != Placement::Housekeeping {
                load.placement = spec.placement.clone();
            }
            Ok(load)
        })
        .collect()
}

/// Parses the options of stress(1) that have a load here.
fn parse_stress_options(options: &str) -> Result<Vec<LoadSpec>, Error> {
    const USAGE: &str = "stress [-c N] [-m N] [-d N] [-i N]";
    let bad =
        |problem: Error| problem.within(format!("load stress {options}")).remedy(format!("write {USAGE}"));
    let (options_only, placement) = match options.rsplit_once('@') {
        Some((before, place)) => (before, format!("@{place}")),
        None => (options, String::new()),
    };
    let mut words = options_only.split_whitespace();
    let mut loads = Vec::new();
    while let Some(option) = words.next() {
        let kind = match option {
            "-c" | "--cpu" => "cpu",
            "-m" | "--vm" => "mem",
            // Both write to the disk; stress -i calls sync() without writing anything itself.
            "-d" | "--hdd" | "-i" | "--io" => "disk",
            other => return Err(bad(Error::bad_use(format!("{other:?} is not one of its options here")))),
        };
        let n = words.next().ok_or_else(|| bad(Error::bad_use(format!("{option} needs a number"))))?;
        if !matches!(n.parse::<u32>(), Ok(1..)) {
            return Err(bad(worker_count_error(n)));
        }
        loads.push(format!("{kind}:{n}{placement}").parse()?);
    }
    if loads.is_empty() { Err(bad(Error::bad_use("nothing is asked for"))) } else { Ok(loads) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<String, String> {
        let loads = parse_loads(text).map_err(|e| e.to_string())?;
        Ok(loads.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn everything_that_load_takes() {
        for (text, loads) in [
            ("none", ""),
            ("cpu:4@0,1", "cpu:4@0-1"),
            ("stress -c 4 -m 2", "cpu:4 mem:2"),
            ("stress --cpu 1 --hdd 2 @0", "cpu:1@0 disk:2@0"),
            ("twente", "cpu:4 mem:2"),
            ("athlon@0-1", "hog@0-1"),
            ("osadl", "net:1+36% disk:1+36% mem:1+36%"),
            ("exec:make -j2", "exec:make -j2"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(loads), "{text}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        assert!(read("gpu").unwrap_err().contains("twente"));
        assert!(read("stress -x 1").unwrap_err().contains("-c N"));
        assert!(read("stress -c").unwrap_err().contains("needs a number"));
        assert!(read("stress -c 0").unwrap_err().contains("not a number"));
        assert!(read("stress ").unwrap_err().contains("nothing is asked for"));
    }

    #[test]
    fn every_preset_consists_of_loads_there_are() {
        for preset in PRESETS {
            assert!(!parse_loads(preset.name).unwrap().is_empty());
            assert!(jitterlab_report::loads::preset_text(preset.name).is_some(), "{}", preset.name);
        }
    }
}
