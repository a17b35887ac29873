//! Loads in words: the effect of each, for `--load help`, and the load of a run.

use jitterlab_model::{Bench, RunInfo};

use crate::wrap::paragraph;

/// Column of a load's text.
const INDENT: usize = 25;

/// Effect of a kind of load, in half a sentence; `None` for an unknown kind.
pub fn of_kind(name: &str) -> Option<&'static str> {
    Some(match name {
        "cpu" => "square roots in N processes, as stress -c; without N one for each CPU",
        "hog" => {
            "system calls to /dev/null in N processes, as LinuxCNC's shell loop; without N one for each CPU"
        }
        "mem" => "allocating, filling and freeing SIZE (256M) in N (1) processes, as stress -m",
        "cache" => "rewriting SIZE (twice the largest cache) at random in N (1) processes",
        "disk" => "writing, syncing, reading and deleting files in DIR (.) in N (1) processes",
        "net" => {
            "TCP and UDP over the loopback interface, or to port PORT (9) of HOST, in N (1) processes; there, \
             `nc -lk PORT > /dev/null` takes it"
        }
        "irq" => "a timer interrupt every 20 µs from each of N processes; without N one for each CPU",
        "fork" => "making processes and waiting for their end in N (1) processes",
        "proc" => "reading interrupt, processor and process figures of /proc in N (1) processes",
        "stress-ng" => "stress-ng (Debian package stress-ng) with these arguments, such as stress-ng:--vm 2",
        "exec" => "any command of the shell, stopped with the run",
        _ => return None,
    })
}

/// Origin of a preset; `None` for an unknown one.
pub fn of_preset(name: &str) -> Option<&'static str> {
    Some(match name {
        "twente" => "Twente report: stress -c 4 -m 2",
        "twente-6" => "Twente report: stress -c 4 -m 6",
        "athlon" => "Athlon report: a CPU hog on each CPU that is not measured",
        "browser" | "glxgears" => "Athlon report: a program of the desktop, which has to be installed",
        "nist-disk" => "NIST paper, figure 3: heavy disk load",
        "nist-net" => "NIST paper, figure 3: heavy network load",
        "osadl" => "like OSADL's farm: idle for 36 % of the run, then network, disk and memory",
        _ => return None,
    })
}

/// Every kind (its name and how it is written) and every preset (its name and loads), a line each.
pub fn help<'a>(
    kinds: impl Iterator<Item = (&'a str, &'a str)>,
    presets: impl Iterator<Item = (&'a str, &'a str)>,
) -> String {
    let line = |name: &str, what: &str| {
        let text = paragraph(what, INDENT, INDENT);
        format!("  {name:22} {}", text.trim_start())
    };
    let kinds = kinds.map(|(name, usage)| line(usage, of_kind(name).unwrap_or_default()));
    let presets = presets
        .map(|(name, loads)| line(name, &format!("{loads} ({})", of_preset(name).unwrap_or_default())));
    kinds.chain(presets).collect()
}

/// The load of a run, with the throughput of each part if it is known.
pub fn of_run(info: &RunInfo) -> String {
    match info.loads.as_slice() {
        [] if info.bench == Bench::Mcu => "the firmware's own".into(),
        [] => info.load.to_string(),
        ran => ran.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    }
}
