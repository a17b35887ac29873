//! Pages of the kernel's ring buffer, as `trace_pipe_raw` hands them out (`events/header_page`, `events/header_event`).

use super::format::{Field, Format};

/// Layout of a page's header.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageLayout {
    timestamp: Field,
    commit: Field,
    data: usize,
    /// Length of a page.
    pub(super) size: usize,
}

/// Mask for the number of bytes of records in the page.
const LENGTH: i64 = (1 << 20) - 1;
/// Records before this page are missing.
const MISSED: i64 = 1 << 31;

impl PageLayout {
    /// Reads `events/header_page`, which is a format file without a name and a number.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let format = Format::parse(&format!("ID: 0\n{text}"))?;
        let data = format.field("data")?;
        let (offset, length) = data.offset_and_size();
        Some(PageLayout {
            timestamp: format.field("timestamp")?,
            commit: format.field("commit")?,
            data: offset,
            size: offset + length,
        })
    }

    /// Iterates over the kernel's longs in these bytes: of 4 bytes each in a kernel of 32 bits.
    pub(super) fn kernel_longs<'a>(&self, bytes: &'a [u8]) -> impl Iterator<Item = u64> + use<'a> {
        // The kernel's local_t is a long.
        let (_, size) = self.commit.offset_and_size();
        bytes.chunks_exact(size.clamp(1, 8)).map(|long| {
            let mut whole = [0; 8];
            whole[..long.len()].copy_from_slice(long);
            u64::from_le_bytes(whole)
        })
    }

    /// The records of a page, in order.
    pub(super) fn records<'a>(&self, page: &'a [u8]) -> Records<'a> {
        let commit = self.commit.number(page);
        let end = (self.data + (commit & LENGTH) as usize).min(page.len());
        Records {
            data: page.get(self.data..end).unwrap_or_default(),
            at: 0,
            t_ns: self.timestamp.number(page),
            missed: commit & MISSED != 0,
        }
    }
}

/// The records of a page: time stamp and bytes of each. Times of a damaged page are nonsense, and wrap around.
#[derive(Debug)]
pub(super) struct Records<'a> {
    data: &'a [u8],
    at: usize,
    t_ns: i64,
    /// True if records before the page are missing.
    pub(super) missed: bool,
}

const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;

impl Records<'_> {
    /// The time at which the page begins.
    pub(super) fn begin_ns(&self) -> i64 {
        self.t_ns
    }

    fn next_u32(&mut self) -> Option<u32> {
        let bytes = self.data.get(self.at..self.at + 4)?;
        self.at += 4;
        Some(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = (i64, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let head = self.next_u32()?;
            let (kind, delta) = (head & 31, i64::from(head >> 5));
            match kind {
                TIME_EXTEND => {
                    let more = (i64::from(self.next_u32()?) << 27) + delta;
                    self.t_ns = self.t_ns.wrapping_add(more);
                }
                TIME_STAMP => {
                    // The upper bits did not fit; they are those of the time before.
                    let low = (i64::from(self.next_u32()?) << 27) + delta;
                    self.t_ns = self.t_ns >> 59 << 59 | low;
                }
                PADDING if delta == 0 => return None,
                PADDING => {
                    let length = self.next_u32()? as usize;
                    self.t_ns = self.t_ns.wrapping_add(delta);
                    self.at += length.saturating_sub(4);
                }
                _ => {
                    self.t_ns = self.t_ns.wrapping_add(delta);
                    let length = match kind {
                        0 => (self.next_u32()? as usize).saturating_sub(4),
                        words => 4 * words as usize,
                    };
                    let record = self.data.get(self.at..self.at.checked_add(length)?)?;
                    self.at += length.next_multiple_of(4);
                    return Some((self.t_ns, record));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEADER: &str = "	field: u64 timestamp;	offset:0;	size:8;	signed:0;
	field: local_t commit;	offset:8;	size:8;	signed:1;
	field: int overwrite;	offset:8;	size:1;	signed:1;
	field: char data;	offset:16;	size:4080;	signed:0;
";

    fn page(words: &[u32], flags: i64) -> Vec<u8> {
        let mut page = 1_000_000i64.to_le_bytes().to_vec();
        page.extend(((words.len() as i64 * 4) | flags).to_le_bytes());
        page.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        page.resize(4096, 0xff);
        page
    }

    #[test]
    fn longs_are_as_long_as_the_kernels() {
        // Of a 6.1.0-50-rt-armmp.
        const OF_32_BITS: &str = "	field: u64 timestamp;	offset:0;	size:8;	signed:0;
	field: local_t commit;	offset:8;	size:4;	signed:1;
	field: int overwrite;	offset:8;	size:1;	signed:1;
	field: char data;	offset:12;	size:4084;	signed:0;
";
        let bytes = [1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 9];
        let kernel_longs =
            |header: &str| PageLayout::parse(header).unwrap().kernel_longs(&bytes).collect::<Vec<_>>();
        assert_eq!(kernel_longs(OF_32_BITS), [1, 0xffff_ffff]);
        assert_eq!(kernel_longs(HEADER), [0xffff_ffff_0000_0001]);
    }

    #[test]
    fn records_have_their_time_and_their_length() {
        let layout = PageLayout::parse(HEADER).unwrap();
        assert_eq!(layout.size, 4096);
        let words = [
            2 | 5 << 5,
            0x11,
            0x22, // two words, 5 ns later
            TIME_EXTEND | 3 << 5,
            1, // 2^27 + 3 ns pass
            9 << 5,
            8,
            0x33, // a length of its own, 9 ns later
            PADDING | 1 << 5,
            4, // 1 ns
            1,
            0x44,
            PADDING,
        ];
        let page = page(&words, MISSED);
        let records = layout.records(&page);
        assert!(records.missed && records.begin_ns() == 1_000_000);
        let found: Vec<_> = records.map(|(t, record)| (t - 1_000_000, record.len(), record[0])).collect();
        let later = (1 << 27) + 5 + 3 + 9;
        assert_eq!(found, [(5, 8, 0x11), (later, 4, 0x33), (later + 1, 4, 0x44)]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_to_their_end(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let layout = PageLayout::parse(HEADER).unwrap();
            let total: usize = layout.records(&bytes).map(|(_, record)| record.len()).sum();
            prop_assert!(total <= bytes.len());
        }
    }
}
