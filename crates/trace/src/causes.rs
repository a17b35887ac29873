//! Why activations were late, as it stands in journals and run files: JSON, compressed by zstd.

use std::fs::File;
use std::io::{self, Read};

use jitterlab_model::RunCauses;
use serde::{Deserialize, Serialize};

use crate::column::{Source, check_crc};

/// Nothing larger is read, nor written.
const LARGEST_BYTES: usize = 64 << 20;

/// Where it lies in the run file.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Place {
    /// First byte.
    pub(crate) offset: u64,
    /// Length in bytes.
    pub(crate) length: u64,
    /// CRC-32 of these bytes; files of before have none.
    #[serde(default)]
    pub(crate) crc32: Option<u32>,
}

pub(crate) fn encode(causes: &RunCauses) -> io::Result<Vec<u8>> {
    let json = serde_json::to_vec(causes)?;
    if json.len() > LARGEST_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    zstd::bulk::compress(&json, zstd::DEFAULT_COMPRESSION_LEVEL)
}

pub(crate) fn decode(bytes: &[u8]) -> io::Result<RunCauses> {
    let mut json = Vec::new();
    zstd::stream::read::Decoder::new(bytes)?.take(LARGEST_BYTES as u64).read_to_end(&mut json)?;
    Ok(serde_json::from_slice(&json)?)
}

pub(crate) fn read(file: &File, place: Place) -> io::Result<RunCauses> {
    let bytes = file.part(place.offset, place.length).map_err(io::Error::other)?;
    check_crc(&bytes, place.crc32).map_err(io::Error::other)?;
    decode(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_model::causes::TaskCauses;

    #[test]
    fn what_is_written_is_read() {
        let mut task = TaskCauses { explained: 7, ..TaskCauses::default() };
        task.latencies.record(12_345);
        let causes = RunCauses { tasks: vec![task], ..RunCauses::default() };
        assert_eq!(decode(&encode(&causes).unwrap()).unwrap(), causes);
        assert!(decode(b"nothing").is_err());
    }
}
