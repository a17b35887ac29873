//! List of what sums were made of: a line for each delivery with its slices, `FILE 417:1a2b3c4d 418:...`,
//! in the metadata of their file.

use std::path::Path;

use crate::delivery::{self, Delivery, DeliveryName};
use crate::rows::{Row, SliceRow};

/// Delivery whose rows are in sums.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SumPart {
    /// The parts of its file's name.
    pub name: DeliveryName,
    slices: String,
}

impl SumPart {
    /// Parses the deliveries that sums name in the metadata of their table `slices`; none for damaged sums.
    pub fn from_file(slices: &Path) -> Vec<SumPart> {
        let file = delivery::open(slices).ok();
        let lines = file.as_ref().and_then(|file| file.metadata(delivery::SUMMED_KEY)).unwrap_or_default();
        SumPart::from_lines(lines).collect()
    }

    /// Parses the lines of a list; others are passed over.
    pub fn from_lines(lines: &str) -> impl Iterator<Item = SumPart> {
        lines.lines().filter_map(|line| {
            let (file, slices) = line.split_once(' ')?;
            let (name, _) = DeliveryName::from_path(Path::new(file))?;
            Some(SumPart { name, slices: slices.to_owned() })
        })
    }

    /// Line of the list for a delivery: its file and its slices.
    pub fn to_line(delivery: &Delivery) -> String {
        let slices = delivery.slice_hashes().into_iter().map(|(seq, hash)| format!(" {seq}:{hash}"));
        format!("{}{}\n", delivery.name().file_name(SliceRow::TABLE), slices.collect::<String>())
    }

    /// Number and hash of each of its slices.
    pub fn slices(&self) -> impl Iterator<Item = (i64, &str)> {
        self.slices.split(' ').filter_map(|slice| {
            let (seq, hash) = slice.split_once(':')?;
            Some((seq.parse().ok()?, hash))
        })
    }

    /// True if the names allow that both deliveries have a slice in common.
    pub fn may_share_with(&self, other: &DeliveryName) -> bool {
        self.name.stream == other.stream && self.name.first <= other.last && other.first <= self.name.last
    }
}
