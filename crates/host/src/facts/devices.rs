//! Devices beside the processors whose drivers can hold a task up.

use jitterlab_model::facts::Devices;

use super::Root;

pub(super) fn read_devices(root: &Root) -> Devices {
    Devices { graphics: graphics_drivers(root), translated: translated_group_count(root) }
}

/// Drivers of the graphics cards, and NVIDIA's own without a card; `None` if this cannot be known. `card0` is
/// a card, `card0-HDMI-A-1` one of its connectors.
fn graphics_drivers(root: &Root) -> Option<Vec<String>> {
    const CLASS: &str = "sys/class";
    let number = |name: &String| name.strip_prefix("card").is_some_and(|n| n.parse::<u32>().is_ok());
    let cards = root.names(&format!("{CLASS}/drm")).into_iter().filter(number);
    let driver = |card: String| {
        Some(root.link_target(&format!("{CLASS}/drm/{card}/device/driver"))?.rsplit('/').next()?.to_owned())
    };
    let mut drivers: Vec<String> = cards.filter_map(driver).collect();
    drivers.extend(root.exists("sys/module/nvidia").then(|| "nvidia".to_owned()));
    drivers.sort_unstable();
    drivers.dedup();
    (root.exists(CLASS) || !drivers.is_empty()).then_some(drivers)
}

/// Number of IOMMU groups that the kernel translates (`DMA`, `DMA-FQ`); `None` without an IOMMU.
fn translated_group_count(root: &Root) -> Option<u64> {
    const GROUPS: &str = "sys/kernel/iommu_groups";
    let is_translated = |group: &String| {
        root.text(&format!("{GROUPS}/{group}/type")).is_some_and(|kind| kind.starts_with("DMA"))
    };
    root.exists(GROUPS).then(|| root.names(GROUPS).iter().filter(|group| is_translated(group)).count() as u64)
}
