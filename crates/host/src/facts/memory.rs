//! Memory, swap, huge pages, and the machine's counters.

use jitterlab_model::facts::{Activity, Memory};

use super::{Root, field};

pub(super) fn memory(root: &Root) -> Memory {
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
        huge_pages: chosen(root, "sys/kernel/mm/transparent_hugepage/enabled"),
        huge_pages_defrag: chosen(root, "sys/kernel/mm/transparent_hugepage/defrag"),
    }
}

/// The choice in a file such as `always [madvise] never`.
fn chosen(root: &Root, name: &str) -> Option<String> {
    let text = root.text(name)?;
    let (chosen, _) = text.split_once('[')?.1.split_once(']')?;
    Some(chosen.to_owned())
}

pub(super) fn activity(root: &Root, stat: &str) -> Activity {
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
