//! Slices that sums are of: a line for each delivery in the metadata of their file, `FILE 417:1a2b3c4d 418:...`.

use std::path::Path;

use crate::delivery::{self, Delivery, DeliveryName};
use crate::rows::{Row, SliceRow};

/// Delivery whose rows are in sums.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summed {
    /// The parts of its file's name.
    pub name: DeliveryName,
    slices: String,
}

impl Summed {
    /// The deliveries that sums name in their table `slices`; of damaged sums none.
    pub fn from_file(slices: &Path) -> Vec<Summed> {
        let file = delivery::open(slices).ok();
        let lines = file.as_ref().and_then(|file| file.metadata(delivery::SUMMED_KEY)).unwrap_or_default();
        Summed::from_lines(lines).collect()
    }

    /// The deliveries of a list; what is none is passed over.
    pub fn from_lines(lines: &str) -> impl Iterator<Item = Summed> {
        lines.lines().filter_map(|line| {
            let (file, slices) = line.split_once(' ')?;
            let (name, _) = DeliveryName::from_path(Path::new(file))?;
            Some(Summed { name, slices: slices.to_owned() })
        })
    }

    pub fn line(delivery: &Delivery) -> String {
        let slices = delivery.slice_hashes().into_iter().map(|(seq, hash)| format!(" {seq}:{hash}"));
        format!("{}{}\n", delivery.name().file(SliceRow::TABLE), slices.collect::<String>())
    }

    /// Number and hash of each of its slices.
    pub fn slices(&self) -> impl Iterator<Item = (i64, &str)> {
        self.slices.split(' ').filter_map(|slice| {
            let (seq, hash) = slice.split_once(':')?;
            Some((seq.parse().ok()?, hash))
        })
    }

    /// Whether slices of another delivery may be among its own, by what their names tell.
    pub fn may_share_with(&self, other: &DeliveryName) -> bool {
        self.name.stream == other.stream && self.name.first <= other.last && other.first <= self.name.last
    }
}
