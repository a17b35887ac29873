//! Knobs of the kernel's own work on memory.

use super::{Offer, Scene};

pub(super) fn huge_pages(scene: &Scene<'_>) -> Offer {
    scene.file("sys/kernel/mm/transparent_hugepage/enabled", "never")
}

pub(super) fn same_page_merging(scene: &Scene<'_>) -> Offer {
    match scene.root.text("sys/kernel/mm/ksm/run").as_deref() {
        None => Offer::Absent,
        Some("1") => scene.file("sys/kernel/mm/ksm/run", "0"),
        Some(_) => Offer::Already,
    }
}

pub(super) fn numa_balancing(scene: &Scene<'_>) -> Offer {
    scene.file("proc/sys/kernel/numa_balancing", "0")
}

pub(super) fn statistics(scene: &Scene<'_>) -> Offer {
    scene.file("proc/sys/vm/stat_interval", "120")
}

pub(super) fn swappiness(scene: &Scene<'_>) -> Offer {
    // Without swap there is nothing to swap out.
    if scene.facts.memory.swap_total_bytes == Some(0) {
        return Offer::Absent;
    }
    scene.file("proc/sys/vm/swappiness", "1")
}
