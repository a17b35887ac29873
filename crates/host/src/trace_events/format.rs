//! The layout of an event, as the running kernel describes it in its `format` file.

use std::collections::BTreeMap;

/// An event of the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Format {
    /// Number of the event, which its records begin with.
    pub(super) id: u16,
    fields: BTreeMap<String, Field>,
}

/// A part of an event's record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Field {
    offset: usize,
    size: usize,
    signed: bool,
    /// True if its value is the position of the content.
    is_data_loc: bool,
}

impl Format {
    /// Reads a format file; `None` for other text.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let id = text.lines().find_map(|line| line.strip_prefix("ID:"))?.trim().parse().ok()?;
        let fields = text.lines().filter_map(|line| Field::parse(line.trim().strip_prefix("field:")?));
        Some(Format { id, fields: fields.collect() })
    }

    pub(super) fn field(&self, name: &str) -> Option<Field> {
        self.fields.get(name).copied()
    }
}

impl Field {
    /// Parses a field with its name, such as `pid_t prev_pid; offset:24; size:4; signed:1;`.
    fn parse(line: &str) -> Option<(String, Field)> {
        let (declaration, rest) = line.split_once(';')?;
        let number = |key: &str| -> Option<usize> {
            rest.split(';').find_map(|part| part.trim().strip_prefix(key))?.parse().ok()
        };
        let name = declaration.split_whitespace().last()?.trim_end_matches(']');
        let name = name.split('[').next()?.trim_start_matches('*');
        let field = Field {
            offset: number("offset:")?,
            size: number("size:")?,
            signed: number("signed:") == Some(1),
            is_data_loc: declaration.starts_with("__data_loc"),
        };
        Some((name.to_owned(), field))
    }

    /// Returns the field's value in a record as a number; 0 where the record is too short.
    pub(super) fn number(self, record: &[u8]) -> i64 {
        let bytes = record.get(self.offset..self.offset + self.size).unwrap_or_default();
        let mut whole = [0; 8];
        let Some(low) = whole.get_mut(..bytes.len()) else { return 0 };
        low.copy_from_slice(bytes);
        let unused = 64 - 8 * bytes.len() as u32;
        let value = i64::from_le_bytes(whole);
        match self.signed && unused < 64 {
            true => value << unused >> unused,
            false => value,
        }
    }

    pub(super) fn bytes(self, record: &[u8]) -> &[u8] {
        let (from, size) = match self.is_data_loc {
            true => {
                let place = self.number(record) as u32;
                ((place & 0xffff) as usize, (place >> 16) as usize)
            }
            false => (self.offset, self.size),
        };
        record.get(from..from.saturating_add(size)).unwrap_or_default()
    }

    /// Returns the field's text in a record, up to the first zero.
    pub(super) fn text(self, record: &[u8]) -> &[u8] {
        let bytes = self.bytes(record);
        let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
        &bytes[..end]
    }

    pub(super) fn offset_and_size(self) -> (usize, usize) {
        (self.offset, self.size)
    }

    /// The rest of a record from this field on.
    pub(super) fn bytes_from(self, record: &[u8]) -> &[u8] {
        record.get(self.offset..).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWITCH: &str = "name: sched_migrate_task
ID: 371
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:__data_loc char[] comm;	offset:8;	size:4;	signed:0;
	field:pid_t pid;	offset:12;	size:4;	signed:1;
	field:void * function;	offset:16;	size:8;	signed:0;
	field:char next_comm[16];	offset:24;	size:16;	signed:0;

print fmt: \"comm=%s pid=%d\", __get_str(comm), REC->pid
";

    #[test]
    fn fields_are_read_where_the_kernel_says() {
        let format = Format::parse(SWITCH).unwrap();
        assert_eq!(format.id, 371);
        let mut record = vec![0; 40];
        record[8..12].copy_from_slice(&(40u32 | 5 << 16).to_le_bytes());
        record[12..16].copy_from_slice(&(-7i32).to_le_bytes());
        record[16..24].copy_from_slice(&u64::MAX.to_le_bytes());
        record[24..28].copy_from_slice(b"next");
        record.extend(b"abcd\0");
        let field = |name| format.field(name).unwrap();
        assert_eq!(field("comm").text(&record), b"abcd");
        assert_eq!(field("pid").number(&record), -7);
        assert_eq!(field("function").number(&record) as u64, u64::MAX);
        assert_eq!(field("next_comm").text(&record), b"next");
        assert_eq!(format.field("prio"), None);
        assert_eq!(field("pid").number(&record[..13]), 0, "cut short");
        assert_eq!(Format::parse("nothing"), None);
    }
}
