//! Memory, swap, huge pages, and the machine's counters.

use jitterlab_model::facts::{Activity, Memory};

use super::{Root, field};

pub(super) fn read_memory(root: &Root) -> Memory {
    let info = root.text("proc/meminfo").unwrap_or_default();
    let bytes =
        |key: &str| field(&info, key)?.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024);
    let swap_total_bytes = bytes("SwapTotal");
    Memory {
        total_bytes: bytes("MemTotal"),
        available_bytes: bytes("MemAvailable"),
        swap_total_bytes,
        swap_used_bytes: swap_total_bytes
            .zip(bytes("SwapFree"))
            .and_then(|(all, free)| all.checked_sub(free)),
        swappiness: root.number("proc/sys/vm/swappiness"),
        huge_pages: bracketed_choice(root, "sys/kernel/mm/transparent_hugepage/enabled"),
        huge_pages_defrag: bracketed_choice(root, "sys/kernel/mm/transparent_hugepage/defrag"),
        stat_interval_s: root.number("proc/sys/vm/stat_interval"),
        same_page_merging: root.number::<u8>("sys/kernel/mm/ksm/run").map(|run| run == 1),
        access_times: root.text("proc/self/mounts").map(|mounts| mounts_with_access_times(&mounts)),
    }
}

/// Mount points of disks without `relatime` and `noatime`, which are the usual choices.
fn mounts_with_access_times(mounts: &str) -> Vec<String> {
    let strict = |line: &str| {
        let mut fields = line.split(' ');
        let (device, place, _, options) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        let has = |wanted: &[&str]| options.split(',').any(|option| wanted.contains(&option));
        (device.starts_with("/dev/") && !has(&["relatime", "noatime", "ro"])).then(|| place.to_owned())
    };
    let mut places: Vec<String> = mounts.lines().filter_map(strict).collect();
    places.sort();
    places.dedup();
    places
}

/// The choice in a file such as `always [madvise] never`; `None` if there is none.
fn bracketed_choice(root: &Root, name: &str) -> Option<String> {
    let text = root.text(name)?;
    let (chosen, _) = text.split_once('[')?.1.split_once(']')?;
    Some(chosen.to_owned())
}

pub(super) fn read_activity(root: &Root, stat: &str) -> Activity {
    let events = root.text("proc/vmstat").unwrap_or_default();
    let number = |text: &str, key: &str| field(text, key)?.parse().ok();
    let errors = |kind: &str| {
        const CONTROLLERS: &str = "sys/devices/system/edac/mc";
        let counts = root
            .names(CONTROLLERS)
            .into_iter()
            .filter_map(|name| root.number::<u64>(&format!("{CONTROLLERS}/{name}/{kind}")));
        counts.reduce(|a, b| a + b)
    };
    Activity {
        load_1_min: root.text("proc/loadavg").and_then(|t| t.split_whitespace().next()?.parse().ok()),
        context_switches: number(stat, "ctxt"),
        forks: number(stat, "processes"),
        page_faults: number(&events, "pgfault"),
        major_faults: number(&events, "pgmajfault"),
        corrected_memory_errors: errors("ce_count"),
        uncorrected_memory_errors: errors("ue_count"),
    }
}
