//! Packet captures (tcpdump, Wireshark) of cyclic traffic: when frames left, and when they were answered.

use std::collections::BTreeMap;

use jitterlab_model::Error;
use pcap_parser::{Block, LegacyPcapSlice, Linktype, PcapBlockOwned, PcapError, PcapNGSlice};

use super::super::starts::Span;
use super::super::{Hints, Import, ImportError, Importer, Input};
use super::Captured;
use super::packets::{Frame, Mac, PacketFilter};
use crate::error::Unreadable;

pub(in crate::import) const IMPORTER: Importer = Importer {
    name: "packet capture (pcap)",
    recognise: |input| MAGICS.iter().chain([&PCAPNG]).any(|magic| input.bytes.starts_with(magic)),
    parse: |input, hints| packet_streams(&read(input)?, hints)?.import(hints),
};

/// First bytes of the older format, by the order of its bytes and the unit of its times.
const MAGICS: [[u8; 4]; 4] =
    [[0xd4, 0xc3, 0xb2, 0xa1], [0xa1, 0xb2, 0xc3, 0xd4], [0x4d, 0x3c, 0xb2, 0xa1], [0xa1, 0xb2, 0x3c, 0x4d]];
/// First bytes of pcapng.
const PCAPNG: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
const ETHERCAT: u16 = 0x88a4;
const PROFINET: u16 = 0x8892;

/// A packet and when it was seen.
type Packet<'a> = (i64, &'a [u8]);

fn check_ethernet(link: Linktype) -> Result<(), ImportError> {
    match link.0 {
        _ if link == Linktype::ETHERNET => Ok(()),
        link => Err(Error::damaged(format!(
            "its packets are of link type {link}, not Ethernet's: capture at one interface, not at \"any\""
        ))
        .into()),
    }
}

/// The unit and the beginning of an interface's times.
struct Clock {
    per_second: u64,
    offset_s: i64,
}

impl Clock {
    fn timestamp_ns(&self, count: u64) -> Option<i64> {
        let ns = u128::from(count) * 1_000_000_000 / u128::from(self.per_second);
        let ns = i64::try_from(ns).ok()?.checked_add(self.offset_s.checked_mul(1_000_000_000)?)?;
        (ns.abs() < i64::MAX / 4).then_some(ns)
    }
}

fn read<'a>(input: &Input<'a>) -> Result<Vec<Packet<'a>>, ImportError> {
    if input.bytes.starts_with(&PCAPNG) {
        let blocks = PcapNGSlice::from_slice(input.bytes).map_err(|_| Unreadable::Cut)?;
        return packets(blocks, Vec::new());
    }
    let blocks = LegacyPcapSlice::from_slice(input.bytes).map_err(|_| Unreadable::Cut)?;
    check_ethernet(blocks.header.network)?;
    let per_second = if blocks.header.is_nanosecond_precision() { 1_000_000_000 } else { 1_000_000 };
    packets(blocks, vec![Clock { per_second, offset_s: 0 }])
}

/// Packets with their times, by the clock of their interface. Those without a time are left out.
fn packets<'a, E>(
    blocks: impl Iterator<Item = Result<PcapBlockOwned<'a>, pcap_parser::nom::Err<PcapError<E>>>>,
    mut clocks: Vec<Clock>,
) -> Result<Vec<Packet<'a>>, ImportError> {
    use pcap_parser::nom::Err as Stop;
    let mut packets: Vec<Packet> = Vec::new();
    let mut sections = 0;
    for block in blocks {
        let (clock, count, data) = match block {
            Ok(PcapBlockOwned::Legacy(packet)) => {
                let per_second = clocks.first().map_or(1, |clock| clock.per_second);
                if packet.origlen == 0 || u64::from(packet.ts_usec) >= per_second {
                    return Err(Unreadable::Samples.into());
                }
                let count = u64::from(packet.ts_sec) * per_second + u64::from(packet.ts_usec);
                (0, count, packet.data)
            }
            Ok(PcapBlockOwned::NG(Block::EnhancedPacket(packet))) => {
                let count = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                let length = packet.data.len().min(packet.caplen as usize);
                (packet.if_id, count, &packet.data[..length])
            }
            Ok(PcapBlockOwned::NG(Block::SectionHeader(_))) if sections == 1 => {
                return Err(Unreadable::SecondMeasurement.into());
            }
            Ok(PcapBlockOwned::NG(Block::SectionHeader(_))) => {
                sections += 1;
                continue;
            }
            Ok(PcapBlockOwned::NG(Block::InterfaceDescription(interface))) => {
                check_ethernet(interface.linktype)?;
                let per_second =
                    interface.ts_resolution().filter(|each| *each > 0).ok_or(Unreadable::Samples)?;
                clocks.push(Clock { per_second, offset_s: interface.ts_offset() });
                continue;
            }
            Ok(_) => continue,
            // A last packet that is cut off with the capture is not counted.
            Err(
                Stop::Incomplete(_)
                | Stop::Error(PcapError::Incomplete(_) | PcapError::UnexpectedEof | PcapError::Eof),
            ) => break,
            Err(_) => return Err(Unreadable::Samples.into()),
        };
        let clock = usize::try_from(clock).ok().and_then(|at| clocks.get(at));
        packets.push((clock.and_then(|clock| clock.timestamp_ns(count)).ok_or(Unreadable::Samples)?, data));
    }
    Ok(packets)
}

/// The cycles of a capture, by name.
#[derive(Default)]
struct Streams {
    each: BTreeMap<String, Vec<Span>>,
}

impl Streams {
    fn begin(&mut self, name: String, at: i64) {
        self.each.entry(name).or_default().push(Span { start_ns: at, end_ns: None });
    }

    /// Ends the last cycle of a stream, once.
    fn end(&mut self, name: &str, at: i64) {
        if let Some(last) = self.each.get_mut(name).and_then(|spans| spans.last_mut()) {
            last.end_ns.get_or_insert(at);
        }
    }
}

fn packet_streams(packets: &[Packet], hints: &Hints) -> Result<Captured, ImportError> {
    let frames: Vec<(i64, Frame)> =
        packets.iter().filter_map(|(at, bytes)| Some((*at, Frame::from_bytes(bytes)?))).collect();
    let usual =
        || [ETHERCAT, PROFINET].into_iter().find(|number| frames.iter().any(|(_, f)| f.ethertype == *number));
    let filter = hints.capture.packets.or_else(|| usual().map(PacketFilter::EtherType));
    let filter = filter.ok_or_else(|| {
        let found = most_frequent_packets(&frames);
        Error::damaged(format!("which packets are meant? Name them with --packets; most are {found}"))
    })?;
    let mut streams = Streams::default();
    for (at, frame) in &frames {
        match filter {
            PacketFilter::EtherType(number) if number == frame.ethertype => {
                add_sender_frame(&mut streams, *at, frame);
            }
            PacketFilter::Mac(sender) if sender == frame.sender => {
                streams.begin(Mac(frame.sender).to_string(), *at);
            }
            PacketFilter::Udp(port) => add_udp_frame(&mut streams, *at, frame, port),
            _ => {}
        }
    }
    let import = Import::new("a packet capture", "capture");
    let channels =
        streams.each.into_iter().map(|(name, spans)| (name, without_unanswered_end(spans))).collect();
    Ok(Captured { import, channels, end_ns: None })
}

/// Drops a last cycle without an answer if others have one: the capture cut it off.
fn without_unanswered_end(mut spans: Vec<Span>) -> Vec<Span> {
    if spans.iter().any(|span| span.end_ns.is_some())
        && spans.last().is_some_and(|last| last.end_ns.is_none())
    {
        spans.pop();
    }
    spans
}

/// Begins a cycle of the frame's sender, or ends it if its EtherCAT frame comes back.
fn add_sender_frame(streams: &mut Streams, at: i64, frame: &Frame) {
    /// Set in the sender's address by the first EtherCAT slave that a frame passes.
    const LOCAL: u8 = 2;
    if frame.ethertype == PROFINET {
        // Cyclic data only: alarms and names have other numbers.
        if let Some(id) = frame.payload.first_chunk().map(|id| u16::from_be_bytes(*id))
            && (0x0100..0xfc00).contains(&id)
        {
            streams.begin(format!("{}#{id:04x}", Mac(frame.sender)), at);
        }
        return;
    }
    let mut master = frame.sender;
    master[0] &= !LOCAL;
    let name = Mac(master).to_string();
    if frame.ethertype == ETHERCAT && master != frame.sender && streams.each.contains_key(&name) {
        streams.end(&name, at);
    } else {
        streams.begin(Mac(frame.sender).to_string(), at);
    }
}

/// Begins a client's cycle with its datagram to the port, and ends it with the answer.
fn add_udp_frame(streams: &mut Streams, at: i64, frame: &Frame, port: u16) {
    let Some([(from, from_port), (to, to_port)]) = frame.udp_endpoints() else { return };
    if to_port == port {
        streams.begin(format!("{from}:{from_port}"), at);
    } else if from_port == port {
        let client = format!("{to}:{to_port}");
        if streams.each.contains_key(&client) {
            streams.end(&client, at);
        } else {
            // It sends without being asked.
            streams.begin(format!("{from}:{from_port}"), at);
        }
    }
}

/// The most frequent packets, as filters would name them.
fn most_frequent_packets(frames: &[(i64, Frame)]) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (_, frame) in frames {
        let name = match frame.udp_endpoints() {
            Some([_, (_, port)]) => PacketFilter::Udp(port),
            None => PacketFilter::EtherType(frame.ethertype),
        };
        *counts.entry(name.to_string()).or_default() += 1;
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let shown = counts.iter().take(6).map(|(name, count)| format!("{name} ({count})"));
    shown.collect::<Vec<_>>().join(", ")
}
