//! Packet captures (tcpdump, Wireshark) of cyclic traffic: when frames left, and when they were answered.

use std::collections::BTreeMap;

use pcap_parser::{Block, LegacyPcapSlice, Linktype, PcapBlockOwned, PcapError, PcapNGSlice};

use super::super::starts::Span;
use super::super::{Hints, Import, Input, Mistake, Peer};
use super::Captured;
use super::packets::{Frame, Mac, PacketFilter};
use crate::error::Unreadable;

pub(in crate::import) const PCAP: Peer = Peer {
    name: "packet capture (pcap)",
    recognise: is_pcap,
    parse: |input, hints| read_pcap(input, hints)?.import(hints),
};
pub(in crate::import) const PCAPNG: Peer = Peer {
    name: "packet capture (pcapng)",
    recognise: is_pcapng,
    parse: |input, hints| read_pcapng(input, hints)?.import(hints),
};

const ETHERCAT: u16 = 0x88a4;
const PROFINET: u16 = 0x8892;

fn is_pcap(input: &Input) -> bool {
    const MAGICS: [[u8; 4]; 4] = [
        [0xd4, 0xc3, 0xb2, 0xa1],
        [0xa1, 0xb2, 0xc3, 0xd4],
        [0x4d, 0x3c, 0xb2, 0xa1],
        [0xa1, 0xb2, 0x3c, 0x4d],
    ];
    MAGICS.iter().any(|magic| input.bytes.starts_with(magic))
}

fn is_pcapng(input: &Input) -> bool {
    input.bytes.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a])
}

/// A packet and when it was seen.
type Packet<'a> = (i64, &'a [u8]);

fn ethernet(link: Linktype) -> Result<(), Mistake> {
    if link == Linktype::ETHERNET { Ok(()) } else { Err(Unreadable::NotEthernet { link: link.0 }.into()) }
}

/// A last packet that is cut off with the capture is not counted.
fn is_end<T>(error: &pcap_parser::nom::Err<PcapError<T>>) -> bool {
    matches!(
        error,
        pcap_parser::nom::Err::Incomplete(_)
            | pcap_parser::nom::Err::Error(
                PcapError::Incomplete(_) | PcapError::UnexpectedEof | PcapError::Eof
            )
    )
}

pub(super) fn read_pcap(input: &Input, hints: &Hints) -> Result<Captured, Mistake> {
    let slice = LegacyPcapSlice::from_slice(input.bytes).map_err(|_| Unreadable::Cut)?;
    ethernet(slice.header.network)?;
    let unit_ns: i64 = if slice.header.is_nanosecond_precision() { 1 } else { 1_000 };
    let mut packets: Vec<Packet> = Vec::new();
    for block in slice {
        match block {
            Ok(PcapBlockOwned::Legacy(block)) => {
                let fraction_ns = i64::from(block.ts_usec) * unit_ns;
                if block.origlen == 0 || fraction_ns >= 1_000_000_000 {
                    return Err(Unreadable::Samples.into());
                }
                packets.push((i64::from(block.ts_sec) * 1_000_000_000 + fraction_ns, block.data));
            }
            Ok(_) => {}
            Err(error) if is_end(&error) => break,
            Err(_) => return Err(Unreadable::Samples.into()),
        }
    }
    streams(&packets, hints)
}

/// The unit and the beginning of an interface's times.
struct Clock {
    per_second: u64,
    offset_s: i64,
}

impl Clock {
    fn ns(&self, count: u64) -> Option<i64> {
        let ns = u128::from(count) * 1_000_000_000 / u128::from(self.per_second);
        let ns = i64::try_from(ns).ok()?.checked_add(self.offset_s.checked_mul(1_000_000_000)?)?;
        (ns.abs() < i64::MAX / 4).then_some(ns)
    }
}

pub(super) fn read_pcapng(input: &Input, hints: &Hints) -> Result<Captured, Mistake> {
    let slice = PcapNGSlice::from_slice(input.bytes).map_err(|_| Unreadable::Cut)?;
    let mut clocks: Vec<Clock> = Vec::new();
    let mut packets: Vec<Packet> = Vec::new();
    let mut sections = 0;
    for block in slice {
        match block {
            Ok(PcapBlockOwned::NG(Block::SectionHeader(_))) if sections == 1 => {
                return Err(Unreadable::Second.into());
            }
            Ok(PcapBlockOwned::NG(Block::SectionHeader(_))) => sections += 1,
            Ok(PcapBlockOwned::NG(Block::InterfaceDescription(interface))) => {
                ethernet(interface.linktype)?;
                let per_second =
                    interface.ts_resolution().filter(|each| *each > 0).ok_or(Unreadable::Samples)?;
                clocks.push(Clock { per_second, offset_s: interface.ts_offset() });
            }
            Ok(PcapBlockOwned::NG(Block::EnhancedPacket(packet))) => {
                let count = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                let clock = usize::try_from(packet.if_id).ok().and_then(|at| clocks.get(at));
                let at = clock.and_then(|clock| clock.ns(count)).ok_or(Unreadable::Samples)?;
                let length = packet.data.len().min(packet.caplen as usize);
                packets.push((at, &packet.data[..length]));
            }
            // Packets without a time give no times.
            Ok(_) => {}
            Err(error) if is_end(&error) => break,
            Err(_) => return Err(Unreadable::Samples.into()),
        }
    }
    streams(&packets, hints)
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

fn streams(packets: &[Packet], hints: &Hints) -> Result<Captured, Mistake> {
    let frames: Vec<(i64, Frame)> =
        packets.iter().filter_map(|(at, bytes)| Some((*at, Frame::from_bytes(bytes)?))).collect();
    let usual =
        || [ETHERCAT, PROFINET].into_iter().find(|number| frames.iter().any(|(_, f)| f.ethertype == *number));
    let filter = hints.capture.packets.or_else(|| usual().map(PacketFilter::EtherType));
    let filter = filter.ok_or_else(|| Unreadable::WhichPackets { found: most(&frames) })?;
    let mut streams = Streams::default();
    for (at, frame) in &frames {
        match filter {
            PacketFilter::EtherType(number) if number == frame.ethertype => {
                of_sender(&mut streams, *at, frame);
            }
            PacketFilter::Mac(sender) if sender == frame.sender => {
                streams.begin(Mac(frame.sender).to_string(), *at);
            }
            PacketFilter::Udp(port) => of_port(&mut streams, *at, frame, port),
            _ => {}
        }
    }
    let import = Import::new("a packet capture", "capture");
    let channels = streams.each.into_iter().map(|(name, spans)| (name, answered(spans))).collect();
    Ok(Captured { import, channels, end_ns: None })
}

/// A cycle without its answer at the end was cut off; where others have none either, ends are not known.
fn answered(mut spans: Vec<Span>) -> Vec<Span> {
    if spans.iter().any(|span| span.end_ns.is_some())
        && spans.last().is_some_and(|last| last.end_ns.is_none())
    {
        spans.pop();
    }
    spans
}

fn of_sender(streams: &mut Streams, at: i64, frame: &Frame) {
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

fn of_port(streams: &mut Streams, at: i64, frame: &Frame, port: u16) {
    let Some([(from, from_port), (to, to_port)]) = frame.udp() else { return };
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
fn most(frames: &[(i64, Frame)]) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (_, frame) in frames {
        let name = match frame.udp() {
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
