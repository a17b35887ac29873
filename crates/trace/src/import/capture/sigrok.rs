//! Sessions of sigrok (`.sr`, as PulseView and sigrok-cli save them): a ZIP archive with a description and the samples.

use std::collections::HashSet;
use std::io::{Cursor, Read};

use zip::ZipArchive;

use super::super::{Hints, Import, Input, LONGEST, Mistake, Peer};
use super::{Captured, Channel, threshold};
use crate::error::Unreadable;

pub(in crate::import) const PEER: Peer =
    Peer { name: "sigrok session", recognise, parse: |input, hints| read(input, hints)?.import(hints) };

type Archive<'a> = ZipArchive<Cursor<&'a [u8]>>;

/// Archives begin with their first entry, which is `version`.
fn recognise(input: &Input) -> bool {
    input.bytes.starts_with(b"PK\x03\x04") && input.bytes.get(30..37) == Some(b"version")
}

/// `500 kHz` and the like.
pub(super) fn rate_hz(text: &str) -> Option<f64> {
    let (number, unit) = text.trim().split_once(' ').unwrap_or((text.trim(), "Hz"));
    let factor = match unit.trim() {
        "Hz" => 1.0,
        "kHz" => 1e3,
        "MHz" => 1e6,
        "GHz" => 1e9,
        _ => return None,
    };
    number.parse::<f64>().ok().map(|rate| rate * factor).filter(|rate| *rate > 0.0 && rate.is_finite())
}

fn damaged(error: &impl ToString) -> Mistake {
    Unreadable::Damaged { what: error.to_string() }.into()
}

/// A file of the archive as a whole, of which no more is unpacked than `left` allows; `None` if it is not there.
fn content(archive: &mut Archive, name: &str, left: &mut u64) -> Result<Option<Vec<u8>>, Mistake> {
    let Some(index) = archive.index_for_name(name) else { return Ok(None) };
    let file = archive.by_index(index).map_err(|error| damaged(&error))?;
    let mut bytes = Vec::new();
    file.take(*left + 1).read_to_end(&mut bytes).map_err(|error| damaged(&error))?;
    *left = left.checked_sub(bytes.len() as u64).ok_or(Unreadable::TooMuch)?;
    Ok(Some(bytes))
}

/// The samples of `name`, in one file or in numbered parts.
fn samples(archive: &mut Archive, name: &str, left: &mut u64) -> Result<Vec<u8>, Mistake> {
    let mut all = content(archive, name, left)?.unwrap_or_default();
    for part in 1.. {
        match content(archive, &format!("{name}-{part}"), left)? {
            Some(bytes) => all.extend(bytes),
            None => break,
        }
    }
    Ok(all)
}

pub(super) fn read(input: &Input, hints: &Hints) -> Result<Captured, Mistake> {
    let mut archive = ZipArchive::new(Cursor::new(input.bytes)).map_err(|error| damaged(&error))?;
    if archive.offset() != 0 {
        return Err(Unreadable::Second.into());
    }
    let mut left = LONGEST;
    let metadata = content(&mut archive, "metadata", &mut left)?.ok_or(Unreadable::Cut)?;
    let metadata = String::from_utf8_lossy(&metadata).into_owned();
    // Older versions write blanks around it.
    let pair = |line: &'_ str| {
        line.split_once('=').map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()))
    };
    let pairs: Vec<(String, String)> = metadata.lines().filter_map(pair).collect();
    let pairs = || pairs.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let value = |key: &str| pairs().find(|(name, _)| *name == key).map(|(_, value)| value);
    let rate = value("samplerate").and_then(rate_hz).ok_or(Unreadable::NoSampleRate)?;
    let at = |sample: usize| sample as f64 * 1e9 / rate;
    let mut import = Import::new("sigrok", "capture");
    let mut channels: Vec<Channel> = Vec::new();
    if let Some(file) = value("capturefile") {
        let width: usize = value("unitsize").and_then(|width| width.parse().ok()).unwrap_or(1);
        let bytes = samples(&mut archive, file, &mut left)?;
        let mut known: HashSet<usize> = HashSet::new();
        for (key, name) in pairs() {
            let Some(bit) = key.strip_prefix("probe").and_then(|n| n.parse::<usize>().ok()) else { continue };
            let bit = bit.checked_sub(1).filter(|bit| bit / 8 < width).ok_or(Unreadable::Samples)?;
            if !known.insert(bit) {
                return Err(Unreadable::Samples.into());
            }
            let mut channel = Channel::new(name);
            for (number, sample) in bytes.chunks_exact(width).enumerate() {
                channel.see(at(number).round() as i64, Some(sample[bit / 8] >> (bit % 8) & 1 == 1));
            }
            channels.push(channel);
        }
    }
    for (key, name) in pairs() {
        let Some(number) = key.strip_prefix("analog").and_then(|n| n.parse::<usize>().ok()) else { continue };
        let bytes = samples(&mut archive, &format!("analog-1-{number}"), &mut left)?;
        let volts = bytes.as_chunks::<4>().0.iter().map(|bytes| f64::from(f32::from_le_bytes(*bytes)));
        let samples = volts.enumerate().map(|(number, volts)| (at(number), volts)).collect();
        channels.push(threshold::channel(&mut import, name, &samples, hints.capture.threshold));
    }
    Ok(Captured::of_edges(import, channels, hints))
}
