//! Devices beside the processors whose drivers can hold a task up. A file of its own, since neither processor nor kernel has them.

use serde::{Deserialize, Serialize};

/// Graphics cards, and how devices reach memory.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Devices {
    /// Drivers of the graphics cards, each once; `None` if the kernel lists no devices.
    pub graphics: Option<Vec<String>>,
    /// Number of groups of devices whose addresses an IOMMU translates; `None` for a kernel without IOMMU.
    pub translated: Option<u64>,
}
