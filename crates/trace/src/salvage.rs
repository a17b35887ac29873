//! Reading a damaged journal: every whole frame is found, at any position.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use jitterlab_model::warning::Warning;

use crate::frame::{Frame, FrameKind, HEADER, Header, PREAMBLE};

/// A part of a journal that could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Skipped {
    /// Position in the journal, in bytes.
    pub at: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// Activations in it by its frame's header; unknown where that is damaged as well.
    pub rows: Option<u64>,
}

impl Skipped {
    /// Returns it as a warning for a reader of the run.
    #[must_use]
    pub fn warning(self) -> Warning {
        Warning::JournalDamaged { at: self.at, bytes: self.bytes, rows: self.rows }
    }
}

/// Read from the file at once.
const WINDOW: usize = 1 << 18;
/// A frame begins at the end of another; elsewhere only a frame up to this length is looked for, so that bytes that
/// look
/// like the beginning of a long one do not cost a checksum of megabytes each. Recorders write no longer ones.
const LONGEST_FOUND: u32 = 8 << 20;

/// After checksums over this many times the file's length only a frame up to [`SHORTER`] is looked for: bytes made to
/// look like beginnings of long frames cost no more than that.
const CHECKED: u64 = 16;
const SHORTER: u32 = 1 << 12;

/// Reads the whole frames of a journal, and notes the ranges between them.
pub(crate) struct FrameSalvager<'f> {
    file: &'f File,
    length: u64,
    at: u64,
    window: Vec<u8>,
    window_at: u64,
    /// Bytes that went into checksums.
    checked: u64,
    skipped: Vec<Skipped>,
}

impl<'f> FrameSalvager<'f> {
    /// Begins at the first frame.
    pub(crate) fn new(file: &'f File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        Ok(FrameSalvager {
            file,
            length,
            at: PREAMBLE as u64,
            window: Vec::new(),
            window_at: 0,
            checked: 0,
            skipped: Vec::new(),
        })
    }

    /// Returns true if a whole frame is at the position of the first one.
    pub(crate) fn has_whole_first_frame(&mut self) -> io::Result<bool> {
        Ok(self.whole_frame_header(PREAMBLE as u64, u32::MAX)?.is_some())
    }

    /// Returns the position of reading, and the length.
    pub(crate) fn progress(&self) -> (u64, u64) {
        (self.at, self.length)
    }

    /// Returns the ranges that could not be read so far.
    pub(crate) fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }

    /// Notes a part that could not be used.
    pub(crate) fn note_skipped(&mut self, skipped: Skipped) {
        self.skipped.push(skipped);
    }

    /// The next whole frame, wherever it begins, and its place; `None` at the end.
    pub(crate) fn next(&mut self) -> io::Result<Option<(u64, Frame<'_>)>> {
        let begin = self.at;
        while self.at < self.length {
            let at = self.at;
            let patient = self.checked / CHECKED < self.length;
            let elsewhere = if patient { LONGEST_FOUND } else { SHORTER };
            let longest = if at == begin { u32::MAX } else { elsewhere };
            let Some(header) = self.whole_frame_header(at, longest)? else {
                self.at += 1;
                continue;
            };
            self.note_range(begin, at)?;
            self.at = at + header.frame_bytes();
            let payload = self.bytes_at(at + HEADER as u64, header.length as usize)?;
            return Ok(Some((at, header.with_payload(payload))));
        }
        self.note_range(begin, self.length)?;
        Ok(None)
    }

    /// Notes the range between two positions as skipped, unless it is empty.
    fn note_range(&mut self, begin: u64, end: u64) -> io::Result<()> {
        if begin >= end {
            return Ok(());
        }
        // If the frame would end exactly where the next begins, or is cut off by the end, its header is sound.
        let at_end = end == self.length;
        let sound = |h: &Header| begin + h.frame_bytes() == end || at_end;
        let rows = self.header_at(begin)?.filter(sound).and_then(|h| h.plausible_rows());
        self.skipped.push(Skipped { at: begin, bytes: end - begin, rows });
        Ok(())
    }

    fn header_at(&mut self, at: u64) -> io::Result<Option<Header>> {
        if at + HEADER as u64 > self.length {
            return Ok(None);
        }
        Ok(self.bytes_at(at, HEADER)?.first_chunk().and_then(Header::parse))
    }

    /// The header of the frame that begins here, if all of it is there and its checksum holds.
    fn whole_frame_header(&mut self, at: u64, longest: u32) -> io::Result<Option<Header>> {
        let Some(header) = self.header_at(at)? else { return Ok(None) };
        if header.length > longest || at + header.frame_bytes() > self.length {
            return Ok(None);
        }
        self.checked += u64::from(header.length);
        let payload = self.bytes_at(at + HEADER as u64, header.length as usize)?;
        Ok(header.is_intact(payload).then_some(header))
    }

    /// Bytes of the file; fewer than wanted where it has become shorter meanwhile.
    fn bytes_at(&mut self, at: u64, wanted: usize) -> io::Result<&[u8]> {
        let end = at + wanted as u64;
        if at < self.window_at || end > self.window_at + self.window.len() as u64 {
            // From where the search goes on.
            let from = at.min(self.at);
            let left = usize::try_from(self.length.saturating_sub(from)).unwrap_or(usize::MAX);
            self.window.resize(((end - from) as usize).max(WINDOW.min(left)), 0);
            self.window_at = from;
            let mut filled = 0;
            while filled < self.window.len() {
                match self.file.read_at(&mut self.window[filled..], from + filled as u64) {
                    Ok(0) => break,
                    Ok(n) => filled += n,
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                    Err(e) => return Err(e),
                }
            }
            self.window.truncate(filled);
        }
        let begin = ((at - self.window_at) as usize).min(self.window.len());
        Ok(&self.window[begin..(begin + wanted).min(self.window.len())])
    }
}

impl Header {
    /// Returns its number of rows, unless that is impossible: a row takes two bytes at least.
    fn plausible_rows(self) -> Option<u64> {
        match self.kind {
            FrameKind::Rows => (self.rows <= self.length / 2).then_some(u64::from(self.rows)),
            FrameKind::Info | FrameKind::Slice | FrameKind::Causes => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::frame::preamble;

    #[test]
    fn beginnings_of_frames_that_never_hold_cost_no_more_than_in_proportion_to_the_file() {
        const HEADERS: usize = 20_000;
        let mut file = tempfile::tempfile().unwrap();
        let mut journal = preamble();
        for left in (0..HEADERS).rev() {
            for field in [FrameKind::Rows as u32, 0, 1, (left * HEADER) as u32, 0] {
                journal.extend(field.to_le_bytes());
            }
        }
        file.write_all(&journal).unwrap();
        let mut frames = FrameSalvager::new(&file).unwrap();
        assert!(frames.next().unwrap().is_none());
        assert_eq!(frames.skipped().len(), 1);
        let most = journal.len() as u64 * (CHECKED + u64::from(SHORTER) / HEADER as u64 + 1);
        assert!((1..=most).contains(&frames.checked), "{} bytes of {}", frames.checked, journal.len());
    }
}
