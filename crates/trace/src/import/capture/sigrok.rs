//! Sessions of sigrok (`.sr`, as PulseView and sigrok-cli save them): a ZIP archive with a description and the samples.

use std::collections::{HashMap, HashSet};
use std::io::Read;

use flate2::bufread::DeflateDecoder;
use jitterlab_model::Error;
use jitterlab_model::bounds::VOLTAGES;
use rawzip::{CompressionMethod, ZipArchive, ZipArchiveEntryWayfinder, ZipSliceArchive};

use super::super::{Hints, Import, ImportError, Importer, Input, LONGEST};
use super::{Captured, Channel, check_edges, threshold};
use crate::error::Unreadable;

pub(in crate::import) const IMPORTER: Importer =
    Importer { name: "sigrok session", recognise, parse: |input, hints| read(input, hints)?.import(hints) };

/// The files of a session.
struct Archive<'a> {
    zip: ZipSliceArchive<&'a [u8]>,
    files: HashMap<Vec<u8>, (CompressionMethod, ZipArchiveEntryWayfinder)>,
}

impl<'a> Archive<'a> {
    fn open(bytes: &'a [u8]) -> Result<Self, ImportError> {
        let zip = ZipArchive::from_slice(bytes).map_err(|error| damaged(&error))?;
        let (mut files, mut begins_at) = (HashMap::new(), None);
        let mut entries = zip.entries();
        while let Some(entry) = entries.next_entry().map_err(|error| damaged(&error))? {
            let at = entry.local_header_offset();
            begins_at = Some(begins_at.map_or(at, |first: u64| first.min(at)));
            let name = entry.file_path().as_ref().to_vec();
            files.insert(name, (entry.compression_method(), entry.wayfinder()));
        }
        match begins_at {
            // Another archive stands before it.
            Some(1..) => Err(Unreadable::SecondMeasurement.into()),
            _ => Ok(Self { zip, files }),
        }
    }

    /// Unpacks a file, whose length and checksum are compared at its end; `None` if it is not there.
    fn open_entry(&self, name: &str) -> Result<Option<impl Read>, ImportError> {
        let Some((method, found)) = self.files.get(name.as_bytes()) else { return Ok(None) };
        let entry = self.zip.get_entry(*found).map_err(|error| damaged(&error))?;
        let unpacked: Box<dyn Read> = match *method {
            CompressionMethod::STORE => Box::new(entry.data()),
            CompressionMethod::DEFLATE => Box::new(DeflateDecoder::new(entry.data())),
            other => return Err(damaged(&format!("{name} is compressed by method {}", other.as_u16()))),
        };
        Ok(Some(entry.verifying_reader(unpacked)))
    }
}

/// Archives begin with their first entry, which is `version`.
fn recognise(input: &Input) -> bool {
    input.bytes.starts_with(b"PK\x03\x04") && input.bytes.get(30..37) == Some(b"version")
}

/// Rate in hertz of `500 kHz` and the like.
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

fn damaged(error: &impl ToString) -> ImportError {
    Unreadable::Damaged { what: error.to_string() }.into()
}

/// Longest description that is read.
const LONGEST_METADATA: u64 = 1 << 20;
/// Bytes of a sample of all channels at most.
const WIDEST: usize = 1 << 10;

/// The description; `None` if it is not there.
fn read_metadata(archive: &Archive) -> Result<Option<String>, ImportError> {
    let Some(file) = archive.open_entry("metadata")? else { return Ok(None) };
    let mut bytes = Vec::new();
    file.take(LONGEST_METADATA).read_to_end(&mut bytes).map_err(|error| damaged(&error))?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// Unpacks the samples of `name`, and calls `visit` with piece after piece of whole samples. They are in one file or in
/// numbered parts, each sample `width` bytes long; more bytes than `left` are an error.
fn visit_samples(
    archive: &Archive,
    name: &str,
    width: usize,
    left: &mut u64,
    mut visit: impl FnMut(&[u8]) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    let parts = (1..).map(|part| format!("{name}-{part}"));
    let (mut piece, mut begun) = (vec![0; PIECE.next_multiple_of(width)], 0);
    for (part, name) in std::iter::once(name.to_owned()).chain(parts).enumerate() {
        let Some(mut file) = archive.open_entry(&name)? else { if part == 0 { continue } else { break } };
        loop {
            let read = file.read(&mut piece[begun..]).map_err(|error| damaged(&error))?;
            if read == 0 {
                break;
            }
            *left = left
                .checked_sub(read as u64)
                .ok_or_else(|| Error::damaged("it is more than 1 GiB unpacked: save a shorter part of it"))?;
            let filled = begun + read;
            let whole = filled - filled % width;
            visit(&piece[..whole])?;
            piece.copy_within(whole..filled, 0);
            begun = filled - whole;
        }
    }
    Ok(())
}

/// Unpacked at once.
const PIECE: usize = 1 << 16;

/// Returns a function that records the level changes of all channels in samples of this width, `at` their times.
fn level_recorder(
    probes: &mut [(usize, Channel)],
    width: usize,
    at: impl Fn(usize) -> f64,
) -> impl FnMut(&[u8]) -> Result<(), ImportError> {
    let (mut last, mut number) = (Vec::new(), 0);
    move |piece| {
        for sample in piece.chunks_exact(width) {
            if sample != last {
                last = sample.to_vec();
                for (bit, channel) in &mut *probes {
                    channel
                        .set_level(at(number).round() as i64, Some(sample[*bit / 8] >> (*bit % 8) & 1 == 1));
                }
            }
            number += 1;
        }
        probes.iter_mut().for_each(|(_, channel)| channel.until = at(number).round() as i64);
        check_edges(probes.iter().map(|(_, channel)| channel))
    }
}

pub(super) fn read(input: &Input, hints: &Hints) -> Result<Captured, ImportError> {
    let archive = Archive::open(input.bytes)?;
    let mut left = LONGEST;
    let metadata = read_metadata(&archive)?.ok_or(Unreadable::Cut)?;
    // Older versions write blanks around it.
    let pair = |line: &'_ str| {
        line.split_once('=').map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()))
    };
    let pairs: Vec<(String, String)> = metadata.lines().filter_map(pair).collect();
    let pairs = || pairs.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let value = |key: &str| pairs().find(|(name, _)| *name == key).map(|(_, value)| value);
    let rate = value("samplerate").and_then(rate_hz).ok_or(Unreadable::NoSampleRate)?;
    let at = move |sample: usize| sample as f64 * 1e9 / rate;
    let mut import = Import::new("sigrok", "capture");
    let mut channels: Vec<Channel> = Vec::new();
    if let Some(file) = value("capturefile") {
        let width: usize = value("unitsize").and_then(|width| width.parse().ok()).unwrap_or(1);
        if !(1..=WIDEST).contains(&width) {
            return Err(Unreadable::Samples.into());
        }
        let mut known: HashSet<usize> = HashSet::new();
        let mut probes = Vec::new();
        for (key, name) in pairs() {
            let Some(bit) = key.strip_prefix("probe").and_then(|n| n.parse::<usize>().ok()) else { continue };
            let bit = bit.checked_sub(1).filter(|bit| bit / 8 < width).ok_or(Unreadable::Samples)?;
            if !known.insert(bit) {
                return Err(Unreadable::Samples.into());
            }
            probes.push((bit, Channel::new(name)));
        }
        visit_samples(&archive, file, width, &mut left, level_recorder(&mut probes, width, at))?;
        channels.extend(probes.into_iter().map(|(_, channel)| channel));
    }
    for (key, name) in pairs() {
        let Some(number) = key.strip_prefix("analog").and_then(|n| n.parse::<usize>().ok()) else { continue };
        let mut volts: threshold::Samples = Vec::new();
        visit_samples(&archive, &format!("analog-1-{number}"), 4, &mut left, |piece| {
            let each = piece.as_chunks::<4>().0.iter().map(|bytes| f64::from(f32::from_le_bytes(*bytes)));
            volts.extend((volts.len()..).map(at).zip(each));
            match volts.len() {
                ..=VOLTAGES => Ok(()),
                _ => Err(Unreadable::TooMany { what: "samples of voltages", most: VOLTAGES }.into()),
            }
        })?;
        channels.push(threshold::channel_of_voltage(&mut import, name, &volts, hints.capture.threshold));
    }
    Captured::from_edges(import, channels, hints)
}
