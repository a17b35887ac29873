//! Files whose parts are whole and whose descriptions lie: footers of Parquet that claim other sizes, places and counts, and archives
//! whose entries overlap, lie elsewhere or have foreign names.

use std::path::Path;
use std::sync::LazyLock;

use jitterlab_model::{Activation, Bench, Keep, RunInfo, TaskSpec};
use jitterlab_trace::RunWriter;

use super::{file, runs};

/// Each three bytes of the input are a lie: which number, two bytes, and what it becomes.
pub fn structures(folder: &Path, data: &[u8], long: bool) {
    static FILES: LazyLock<[Vec<u8>; 2]> =
        LazyLock::new(|| [run(Keep::All), run(Keep::Spikes { above_ns: 1_000 })]);
    let Some((kind, lies)) = data.split_first() else { return };
    let lies = lies.as_chunks::<3>().0.iter().map(|lie| (u16::from_le_bytes([lie[0], lie[1]]), lie[2]));
    let lies: Vec<(u16, u8)> = lies.take(8).collect();
    match kind % 3 {
        2 => runs::through(&file(folder, "capture.sr", &archive(&lies)), data, long),
        which => runs::run_file(folder, &lying(&FILES[usize::from(which)], &lies), long),
    }
}

/// What a number becomes: a limit, something near it, or another number of the file.
fn lie(truth: i64, choice: u8, others: &[i64]) -> i64 {
    match choice {
        0..=7 => [0, 1, -1, i64::MAX, i64::MIN, 1 << 31, (1 << 31) - 1, 1 << 40][usize::from(choice)],
        8..=15 => truth.wrapping_add([1, -1, 2, -2, 8, -8, 64, 4096][usize::from(choice - 8)]),
        16..=31 => truth.wrapping_mul(1 << (choice - 15)),
        other => others.get(usize::from(other - 32) % others.len().max(1)).copied().unwrap_or(truth),
    }
}

/// A run file of two tasks, without checksums of its own, as older ones are: else each lie would be found by these.
fn run(keep: Keep) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("true.parquet");
    let tasks = ["base", "servo"].map(|name| TaskSpec { name: name.into(), ..TaskSpec::default() });
    let info = RunInfo { keep, ..RunInfo::new(Bench::Host, "monotonic", tasks) };
    let mut writer = RunWriter::create(&path, &info).expect("a temporary file");
    for task in 0..2 {
        let row = |index: u64| {
            let due_ns = index as i64 * 1_000_000;
            let start_ns = due_ns + (index as i64 * 7_919) % 50_000;
            Activation { index, due_ns, start_ns, end_ns: start_ns + 500, ..Activation::default() }
        };
        writer.append(task, &(0..700).map(row).collect::<Vec<_>>()).expect("room");
    }
    writer.finish(info).expect("room");
    let mut bytes = std::fs::read(&path).expect("the file is there");
    for key in [&b"jitterlab.crc32"[..], b"jitterlab.footer"] {
        while let Some(at) = bytes.windows(key.len()).position(|part| part == key) {
            bytes[at] = b'J';
        }
    }
    bytes
}

/// The file with other numbers in its footer, which is as long as it has to be then.
fn lying(bytes: &[u8], lies: &[(u16, u8)]) -> Vec<u8> {
    let end = bytes.len() - 8;
    let length = u32::from_le_bytes(bytes[end..end + 4].try_into().expect("four bytes")) as usize;
    let (data, footer) = bytes[..end].split_at(end - length);
    let mut numbers = Thrift { bytes: footer, at: 0, numbers: Vec::new() };
    numbers.structure();
    let truths: Vec<i64> = numbers.numbers.iter().map(|(_, _, truth)| *truth).collect();
    let (mut footer_now, mut from) = (Vec::new(), 0);
    for (place, (begin, end, truth)) in numbers.numbers.iter().enumerate() {
        let told = lies.iter().rev().find(|(which, _)| usize::from(*which) % truths.len() == place);
        let Some((_, choice)) = told else { continue };
        footer_now.extend_from_slice(&footer[from..*begin]);
        put(&mut footer_now, lie(*truth, *choice, &truths));
        from = *end;
    }
    footer_now.extend_from_slice(&footer[from..]);
    let length = (footer_now.len() as u32).to_le_bytes();
    [data, &footer_now, &length, b"PAR1"].concat()
}

/// A number as Thrift's compact protocol has it.
fn put(out: &mut Vec<u8>, number: i64) {
    let mut left = (number << 1 ^ number >> 63) as u64;
    while left >= 0x80 {
        out.push(left as u8 | 0x80);
        left >>= 7;
    }
    out.push(left as u8);
}

/// Walks a structure of Thrift's compact protocol, and gathers its numbers: from where to where each is, and what it says.
struct Thrift<'a> {
    bytes: &'a [u8],
    at: usize,
    numbers: Vec<(usize, usize, i64)>,
}

impl Thrift<'_> {
    fn byte(&mut self) -> u8 {
        self.at += 1;
        self.bytes[self.at - 1]
    }

    fn varint(&mut self) -> u64 {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = self.byte();
            number |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return number;
            }
        }
    }

    fn structure(&mut self) {
        loop {
            let head = self.byte();
            match (head, head & 0xf) {
                (0, _) => return,
                (1..16, _) => drop(self.varint()),
                _ => {}
            }
            // A boolean is its own type.
            if !matches!(head & 0xf, 1 | 2) {
                self.value(head & 0xf);
            }
        }
    }

    fn value(&mut self, kind: u8) {
        match kind {
            4..=6 => {
                let begin = self.at;
                let raw = self.varint();
                self.numbers.push((begin, self.at, (raw >> 1) as i64 ^ -((raw & 1) as i64)));
            }
            7 => self.at += 8,
            8 => self.at += self.varint() as usize,
            9 | 10 => {
                let head = self.byte();
                let count = if head >> 4 == 15 { self.varint() } else { u64::from(head >> 4) };
                (0..count).for_each(|_| self.value(head & 0xf));
            }
            12 => self.structure(),
            _ => self.at += 1,
        }
    }
}

/// A session of sigrok of two channels; what its directory says of each entry may be a lie.
fn archive(lies: &[(u16, u8)]) -> Vec<u8> {
    const METADATA: &[u8] =
        b"[global]\nsigrok version=0.5.2\n\n[device 1]\ncapturefile=logic-1\ntotal probes=2\n\
        samplerate=1 MHz\nprobe1=D0\nprobe2=D1\nunitsize=1\n";
    let samples: Vec<u8> = (0..4_000u32).map(|n| (n / 50 % 2) as u8 | ((n / 70 % 2) << 1) as u8).collect();
    let names = ["version", "metadata", "logic-1-1", "logic-1-2", "logic-1-3"];
    let foreign = ["../logic-1-1", "/etc/passwd", "logic-1-1", "..\\metadata", "logic-1"];
    let contents = [&b"2"[..], METADATA, &samples, &samples, &samples];
    // Nine numbers of each entry, and four of the end.
    let told = |place: usize, truth: i64, others: &[i64]| {
        let one = lies.iter().rev().find(|(which, _)| usize::from(*which) % (9 * names.len() + 4) == place);
        one.map_or(truth, |(_, choice)| lie(truth, *choice, others))
    };
    let (mut bytes, mut directory, mut places) = (Vec::new(), Vec::new(), Vec::new());
    for (entry, (name, content)) in names.into_iter().zip(contents).enumerate() {
        let number = |field: usize, truth: i64, others: &[i64]| told(9 * entry + field, truth, others);
        let name = if number(0, 0, &[]) == 0 { name } else { foreign[entry] };
        let (size, begin) = (content.len() as i64, bytes.len() as i64);
        let crc = i64::from(crc(content));
        let head = |fields: [i64; 4]| {
            let [method, crc, packed, unpacked] = fields;
            let mut head = [20, 0, 0, 0].to_vec();
            head.extend((method as u16).to_le_bytes());
            head.extend([0; 4]);
            [crc, packed, unpacked].iter().for_each(|n| head.extend((*n as u32).to_le_bytes()));
            head.extend((name.len() as u16).to_le_bytes());
            head
        };
        bytes.extend(b"PK\x03\x04");
        bytes.extend(head([0, crc, number(1, size, &places), number(2, size, &places)]));
        bytes.extend([0; 2]);
        bytes.extend(name.bytes().chain(content.iter().copied()));
        places.push(begin);
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(head([
            number(3, 0, &[8, 12, 93]),
            number(4, crc, &[]),
            number(5, size, &places),
            number(6, size, &places),
        ]));
        directory.extend([0; 12]);
        directory.extend((number(7, begin, &places) as u32).to_le_bytes());
        directory.extend(name.bytes());
    }
    let (count, end) = (names.len() as i64, 9 * names.len());
    let (begin, length) = (bytes.len() as i64, directory.len() as i64);
    bytes.extend(directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    (0..2).for_each(|field| bytes.extend((told(end + field, count, &[]) as u16).to_le_bytes()));
    bytes.extend((told(end + 2, length, &places) as u32).to_le_bytes());
    bytes.extend((told(end + 3, begin, &places) as u32).to_le_bytes());
    bytes.extend([0; 2]);
    bytes
}

fn crc(bytes: &[u8]) -> u32 {
    runs::crc32(bytes.iter())
}
