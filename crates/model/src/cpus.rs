//! Sets of processors as the kernel and taskset write them: `0-3,8`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// A set of processor numbers, kept sorted and without repetitions. In text and JSON a list such as `0-3,8`.
///
/// ```
/// # use jitterlab_model::CpuSet;
/// let set: CpuSet = "8,0-2,3".parse()?;
/// assert_eq!(set.to_string(), "0-3,8");
/// assert!(set.contains(2) && !set.contains(4));
/// # Ok::<(), jitterlab_model::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "String"))]
#[serde(try_from = "String", into = "String")]
pub struct CpuSet(Vec<u16>);

impl CpuSet {
    /// A set of no processor.
    pub const fn new() -> Self {
        CpuSet(Vec::new())
    }

    /// The number of processors in it.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if it holds no processor.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if it holds this processor.
    pub fn contains(&self, cpu: u16) -> bool {
        self.0.binary_search(&cpu).is_ok()
    }

    /// Its processors, in ascending order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = u16> + '_ {
        self.0.iter().copied()
    }

    /// Its smallest processor.
    pub fn first(&self) -> Option<u16> {
        self.0.first().copied()
    }

    /// The processors that are in both.
    #[must_use]
    pub fn and(&self, other: &CpuSet) -> CpuSet {
        self.iter().filter(|cpu| other.contains(*cpu)).collect()
    }

    /// The processors that are here and not in the other.
    #[must_use]
    pub fn without(&self, other: &CpuSet) -> CpuSet {
        self.iter().filter(|cpu| !other.contains(*cpu)).collect()
    }

    /// The processors that are in either.
    #[must_use]
    pub fn or(&self, other: &CpuSet) -> CpuSet {
        self.iter().chain(other.iter()).collect()
    }

    /// Returns true if both hold a common processor.
    pub fn overlaps(&self, other: &CpuSet) -> bool {
        self.iter().any(|cpu| other.contains(cpu))
    }

    /// The kernel's mask in hexadecimal, in groups of 32 processors: `ff`, `1,00000000`.
    pub fn to_mask(&self) -> String {
        let groups = self.0.last().map_or(1, |last| usize::from(*last) / 32 + 1);
        let mut words = vec![0u32; groups];
        for cpu in self.iter() {
            words[usize::from(cpu) / 32] |= 1 << (cpu % 32);
        }
        let mut text = format!("{:x}", words[groups - 1]);
        for word in words.iter().rev().skip(1) {
            text.push_str(&format!(",{word:08x}"));
        }
        text
    }

    /// Reads the kernel's mask in hexadecimal, the inverse of [`to_mask`](Self::to_mask); `None` for another text.
    pub fn from_mask(text: &str) -> Option<CpuSet> {
        let mut set = CpuSet::new();
        for (group, word) in text.trim().rsplit(',').enumerate() {
            let word = u32::from_str_radix(word, 16).ok()?;
            let base = u16::try_from(group * 32).ok()?;
            set.0.extend((0..32).filter(|bit| word >> bit & 1 == 1).map(|bit| base + bit));
        }
        Some(set)
    }
}

impl FromIterator<u16> for CpuSet {
    fn from_iter<I: IntoIterator<Item = u16>>(cpus: I) -> Self {
        let mut list: Vec<u16> = cpus.into_iter().collect();
        list.sort_unstable();
        list.dedup();
        CpuSet(list)
    }
}

impl FromStr for CpuSet {
    type Err = Error;

    /// Accepts lists as the kernel writes them, the empty list included.
    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = || {
            Error::bad_use(format!("{:?} is not a list of CPUs", text.trim()))
                .remedy("write numbers and ranges, such as 0-3,8")
        };
        let number = |n: &str| n.trim().parse::<u16>().map_err(|_| bad());
        let mut cpus = Vec::new();
        if text.trim().is_empty() {
            return Ok(CpuSet::new());
        }
        for part in text.split(',') {
            match part.split_once('-') {
                None => cpus.push(number(part)?),
                Some((first, last)) => {
                    let (first, last) = (number(first)?, number(last)?);
                    if last < first {
                        return Err(Error::bad_use(format!(
                            "the CPU range {:?} ends before it begins",
                            part.trim()
                        ))
                        .remedy("write the smaller number first"));
                    }
                    cpus.extend(first..=last);
                }
            }
        }
        Ok(cpus.into_iter().collect())
    }
}

crate::as_text!(CpuSet);

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ranges = self.0.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
            [one] => one.to_string(),
            [first, .., last] => format!("{first}-{last}"),
            [] => String::new(),
        });
        f.write_str(&ranges.collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn mistakes_are_named() {
        let message = |text: &str| text.parse::<CpuSet>().unwrap_err().to_string();
        assert!(message("one").contains("0-3,8"));
        assert!(message("3-1").contains("before"));
        assert!(message("1,,2").contains("numbers"));
        assert!(message("70000").contains("not a list"));
    }

    #[test]
    fn the_empty_list_is_read() {
        assert_eq!("\n".parse(), Ok(CpuSet::new()));
        assert_eq!(CpuSet::new().to_string(), "");
    }

    #[test]
    fn masks_are_the_kernels() {
        let mask = |text: &str| text.parse::<CpuSet>().unwrap().to_mask();
        assert_eq!((mask("0-7"), mask("32"), mask("")), ("ff".into(), "1,00000000".into(), "0".into()));
        assert_eq!(CpuSet::from_mask("00000003\n"), Some("0-1".parse().unwrap()));
        assert_eq!(CpuSet::from_mask("none"), None);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(cpus in prop::collection::vec(0u16..600, 0..40)) {
            let set: CpuSet = cpus.into_iter().collect();
            prop_assert_eq!(set.to_string().parse(), Ok(set.clone()));
            prop_assert_eq!(CpuSet::from_mask(&set.to_mask()), Some(set));
        }

        #[test]
        fn any_text_gives_an_answer_and_never_a_panic(text in "[0-9,x -]{0,30}") {
            let _ = text.parse::<CpuSet>();
            let _ = CpuSet::from_mask(&text);
        }
    }
}
