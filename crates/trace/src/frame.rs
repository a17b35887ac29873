//! The journal's frames: pieces that carry their length and a checksum, so that a cut-off end is noticed.
//!
//! A journal is [`MAGIC`], a version, then frames. Each frame is a header of 20 bytes (kind, task, rows, length of
//! the payload, CRC-32 (IEEE) of these four and of the payload; five u32, little endian) and its payload. The description is
//! written twice at the beginning, in blocks of 4096 bytes of their own.

/// The first bytes of every journal.
pub(crate) const MAGIC: &[u8; 14] = b"jitterlab-run\0";
/// First bytes of the file with a measurement's finished parts, their version at the end (see [`crate::FinishedParts`]).
pub(crate) const PARTS_MAGIC: &[u8; PREAMBLE] = b"jitterlab-part\x01\0";
/// Version of the journal's layout.
pub(crate) const VERSION: u16 = 1;
/// Length of magic and version.
pub(crate) const PREAMBLE: usize = MAGIC.len() + 2;
/// Length of a frame's header.
pub(crate) const HEADER: usize = 20;
/// Longest frame in bytes: a longer claim is damage.
const LONGEST: u32 = 64 << 20;

/// Content of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrameKind {
    /// The run's description as JSON; the last one holds.
    Info = 1,
    /// Activations of one task, see [`crate::codec`].
    Rows = 2,
    /// A slice of one task, see [`crate::slices`].
    Slice = 3,
    /// Causes of late activations until now, see [`crate::causes`]; the last one holds.
    Causes = 4,
}

impl FrameKind {
    fn from_number(number: u32) -> Option<FrameKind> {
        [FrameKind::Info, FrameKind::Rows, FrameKind::Slice, FrameKind::Causes]
            .into_iter()
            .find(|k| *k as u32 == number)
    }
}

/// One frame that was read and whose checksum holds.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    pub(crate) kind: FrameKind,
    pub(crate) task: usize,
    pub(crate) rows: usize,
    pub(crate) payload: &'a [u8],
}

impl Frame<'_> {
    /// Length in bytes with its header.
    pub(crate) fn byte_length(&self) -> u64 {
        (HEADER + self.payload.len()) as u64
    }
}

/// The bytes every journal begins with.
pub(crate) fn preamble() -> Vec<u8> {
    [&MAGIC[..], &VERSION.to_le_bytes()].concat()
}

fn checksum(header: &[u8], payload: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(header);
    crc.update(payload);
    crc.finalize()
}

/// Header before a frame's payload.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Header {
    bytes: [u8; HEADER],
    pub(crate) kind: FrameKind,
    task: u32,
    pub(crate) rows: u32,
    /// Length of the payload.
    pub(crate) length: u32,
}

impl Header {
    /// Parses a header; `None` where no frame can begin so.
    pub(crate) fn parse(bytes: &[u8; HEADER]) -> Option<Self> {
        let field = |i: usize| u32::from_le_bytes([0, 1, 2, 3].map(|j| bytes[4 * i + j]));
        let kind = FrameKind::from_number(field(0))?;
        let header = Header { bytes: *bytes, kind, task: field(1), rows: field(2), length: field(3) };
        (header.length <= LONGEST).then_some(header)
    }

    /// Length of the whole frame.
    pub(crate) fn frame_bytes(self) -> u64 {
        HEADER as u64 + u64::from(self.length)
    }

    /// Returns true if this payload is whole and matches the header's checksum.
    pub(crate) fn is_intact(self, payload: &[u8]) -> bool {
        payload.len() == self.length as usize
            && checksum(&self.bytes[..16], payload).to_le_bytes() == self.bytes[16..]
    }

    pub(crate) fn with_payload(self, payload: &[u8]) -> Frame<'_> {
        Frame { kind: self.kind, task: self.task as usize, rows: self.rows as usize, payload }
    }
}

/// Appends a frame whose payload `fill` writes; `fill` returns how many rows it holds.
pub(crate) fn put_frame(
    out: &mut Vec<u8>,
    kind: FrameKind,
    task: usize,
    fill: impl FnOnce(&mut Vec<u8>) -> u32,
) {
    let start = out.len();
    out.resize(start + HEADER, 0);
    let rows = fill(out);
    let length = out.len() - start - HEADER;
    for (i, field) in [kind as u32, task as u32, rows, length as u32].into_iter().enumerate() {
        out[start + 4 * i..][..4].copy_from_slice(&field.to_le_bytes());
    }
    let crc = checksum(&out[start..start + 16], &out[start + HEADER..]);
    out[start + 16..start + HEADER].copy_from_slice(&crc.to_le_bytes());
}

/// The whole frames at the beginning of these bytes: it ends where one is cut off or damaged.
pub(crate) fn whole_frames(mut bytes: &[u8]) -> impl Iterator<Item = Frame<'_>> {
    std::iter::from_fn(move || {
        let (header, rest) = bytes.split_first_chunk()?;
        let header = Header::parse(header)?;
        let payload = rest.get(..header.length as usize).filter(|payload| header.is_intact(payload))?;
        bytes = &rest[payload.len()..];
        Some(header.with_payload(payload))
    })
}

/// Returns true if these are the first bytes of a journal.
pub(crate) fn is_journal(beginning: &[u8]) -> bool {
    beginning.starts_with(MAGIC)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use jitterlab_model::{Activation, Flags};
    use proptest::prelude::*;

    fn any_row() -> impl Strategy<Value = Activation> {
        (any::<(u64, i64, i64, i64)>(), any::<u32>(), any::<u16>(), any::<u16>()).prop_map(
            |(t, missed, cpu, f)| Activation {
                index: t.0,
                due_ns: t.1,
                start_ns: t.2,
                end_ns: t.3,
                missed,
                cpu,
                flags: Flags(f),
            },
        )
    }

    /// A row of a plausible trace: its place on the grid, latency, work.
    fn likely_row() -> impl Strategy<Value = Activation> {
        (0u64..50, -5_000i64..100_000, 0i64..5_000, 0u32..3, 0u16..2).prop_map(
            |(k, late, work, missed, cpu)| {
                let due_ns = k as i64 * 1_000;
                let start_ns = due_ns + late;
                Activation {
                    index: k,
                    due_ns,
                    start_ns,
                    end_ns: start_ns + work,
                    missed,
                    cpu,
                    flags: Flags(0),
                }
            },
        )
    }

    /// Traces of all kinds: on the grid, off it, and out of all bounds.
    pub(crate) fn any_rows() -> impl Strategy<Value = Vec<Activation>> {
        let regular = prop::collection::vec((-5_000i64..100_000, 0i64..5_000), 0..60).prop_map(|times| {
            (0u64..)
                .zip(times)
                .map(|(index, (late, work))| {
                    let due_ns = index as i64 * 1_000;
                    let start_ns = due_ns + late;
                    Activation { index, due_ns, start_ns, end_ns: start_ns + work, ..Activation::default() }
                })
                .collect()
        });
        prop_oneof![regular, prop::collection::vec(prop_oneof![likely_row(), any_row()], 0..60),]
    }

    proptest! {
        #[test]
        fn frames_come_back_and_a_cut_loses_only_the_last(
            payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..6), cut in 0usize..40
        ) {
            let mut bytes = Vec::new();
            for (task, payload) in payloads.iter().enumerate() {
                put_frame(&mut bytes, FrameKind::Rows, task, |out| { out.extend(payload); 7 });
            }
            let end = bytes.len() - cut.min(payloads[payloads.len() - 1].len() + HEADER);
            let mut found = Vec::new();
            for frame in whole_frames(&bytes[..end]) {
                prop_assert_eq!((frame.kind, frame.task, frame.rows), (FrameKind::Rows, found.len(), 7));
                found.push(frame.payload.to_vec());
            }
            let whole = payloads.len() - usize::from(end < bytes.len());
            prop_assert_eq!(&found[..], &payloads[..whole]);
        }

        #[test]
        fn a_flipped_bit_is_noticed(payload in prop::collection::vec(any::<u8>(), 1..40), at in any::<prop::sample::Index>(), bit in 0u8..8) {
            let mut bytes = Vec::new();
            put_frame(&mut bytes, FrameKind::Rows, 3, |out| { out.extend(&payload); 7 });
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            prop_assert!(whole_frames(&bytes).next().is_none());
        }
    }
}
