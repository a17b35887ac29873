//! Binary exports of Saleae's Logic 2: one channel in each file, version 0 of the format as it is documented.

use jitterlab_model::Error;

use super::super::{Hints, Import, ImportError, Importer, Input};
use super::{Captured, Channel, threshold};
use crate::error::Unreadable;

pub(in crate::import) const IMPORTER: Importer = Importer {
    name: "Saleae Logic binary",
    recognise,
    parse: |input, hints| read(input, hints)?.import(hints),
};

const MAGIC: &[u8] = b"<SALEAE>";

fn recognise(input: &Input) -> bool {
    input.bytes.starts_with(MAGIC)
}

/// The bytes that are left, taken from the front.
struct ByteReader<'a>(&'a [u8]);

impl ByteReader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], ImportError> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or(Unreadable::Cut)?;
        self.0 = rest;
        Ok(*taken)
    }

    /// Takes a count, and checks that as many values of `width` bytes are all that follows.
    fn expect_values_to_end(&mut self, width: usize) -> Result<(), ImportError> {
        let count = u64::from_le_bytes(self.take()?);
        let bytes = usize::try_from(count).ok().and_then(|count| count.checked_mul(width));
        match bytes.map(|bytes| bytes.cmp(&self.0.len())) {
            Some(std::cmp::Ordering::Equal) => Ok(()),
            Some(std::cmp::Ordering::Less) => Err(Unreadable::SecondMeasurement.into()),
            _ => Err(Unreadable::Cut.into()),
        }
    }
}

pub(super) fn read(input: &Input, hints: &Hints) -> Result<Captured, ImportError> {
    let mut rest = ByteReader(input.bytes.strip_prefix(MAGIC).unwrap_or_default());
    let version = i32::from_le_bytes(rest.take()?);
    let kind = i32::from_le_bytes(rest.take()?);
    if version != 0 || !(0..=1).contains(&kind) {
        return Err(Error::damaged(format!(
            "it is of version {version} of its format, of which only version 0 is read: export it as CSV"
        ))
        .into());
    }
    let name = input.name.strip_suffix(".bin").unwrap_or(input.name);
    let mut import = Import::new("Saleae Logic", "capture");
    let channel =
        if kind == 0 { read_levels(rest, name)? } else { read_volts(&mut import, rest, name, hints)? };
    Captured::from_edges(import, vec![channel], hints)
}

/// Reads a channel of levels: the first level, and the times of its changes.
fn read_levels(mut rest: ByteReader, name: &str) -> Result<Channel, ImportError> {
    let mut high = u32::from_le_bytes(rest.take()?) != 0;
    let (_begin, end) = (rest.take::<8>()?, f64::from_le_bytes(rest.take()?));
    rest.expect_values_to_end(8)?;
    let mut channel = Channel::new(name);
    channel.set_level(0, Some(high));
    let mut before = f64::NEG_INFINITY;
    for bytes in rest.0.as_chunks::<8>().0 {
        let seconds = f64::from_le_bytes(*bytes);
        if !seconds.is_finite() || seconds < before {
            return Err(Unreadable::Backwards.into());
        }
        before = seconds;
        high = !high;
        channel.set_level((seconds * 1e9).round() as i64, Some(high));
    }
    channel.until = channel.until.max((end * 1e9).round() as i64);
    Ok(channel)
}

fn read_volts(
    import: &mut Import,
    mut rest: ByteReader,
    name: &str,
    hints: &Hints,
) -> Result<Channel, ImportError> {
    let begin = f64::from_le_bytes(rest.take()?);
    let rate = u64::from_le_bytes(rest.take()?);
    let every = u64::from_le_bytes(rest.take()?).max(1);
    rest.expect_values_to_end(4)?;
    if rate == 0 || !begin.is_finite() {
        return Err(Unreadable::Samples.into());
    }
    let step_ns = 1e9 * every as f64 / rate as f64;
    let each = rest.0.as_chunks::<4>().0.iter().map(|bytes| f64::from(f32::from_le_bytes(*bytes)));
    let samples = each.enumerate().map(|(k, volts)| (begin * 1e9 + step_ns * k as f64, volts)).collect();
    Ok(threshold::channel_of_voltage(import, name, &samples, hints.capture.threshold))
}
