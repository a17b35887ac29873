//! Selection of a network's packets, and their fields.

use std::fmt;
use std::str::FromStr;

use jitterlab_model::Error;

/// Packets that begin and end an activation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketFilter {
    /// Packets with this EtherType, a task for each sender; of EtherCAT (0x88a4) a frame's return ends its cycle.
    EtherType(u16),
    /// Packets of one sender.
    Mac([u8; 6]),
    /// Packets to a UDP port, a task for each sender; the answer from that port ends it.
    Udp(u16),
}

impl FromStr for PacketFilter {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let read = || match text.split_once(':')? {
            ("ethertype", number) => {
                u16::from_str_radix(number.strip_prefix("0x")?, 16).ok().map(PacketFilter::EtherType)
            }
            ("udp", port) => port.parse().ok().map(PacketFilter::Udp),
            ("mac", address) => {
                let bytes = address.split(':').map(|byte| u8::from_str_radix(byte, 16).ok());
                bytes.collect::<Option<Vec<u8>>>()?.try_into().ok().map(PacketFilter::Mac)
            }
            _ => None,
        };
        read().ok_or_else(|| {
            Error::bad_use(format!("{text:?} names no packets"))
                .remedy("write ethertype:0x88a4, mac:00:11:22:33:44:55 or udp:27181")
        })
    }
}

impl fmt::Display for PacketFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PacketFilter::EtherType(number) => write!(f, "ethertype:{number:#06x}"),
            PacketFilter::Mac(address) => write!(f, "mac:{}", Mac(*address)),
            PacketFilter::Udp(port) => write!(f, "udp:{port}"),
        }
    }
}

/// An address of Ethernet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mac(pub(super) [u8; 6]);

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// Fields of an Ethernet frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Frame<'a> {
    pub(super) sender: [u8; 6],
    pub(super) ethertype: u16,
    pub(super) payload: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Reads the fields of a frame, behind tags of virtual networks.
    pub(super) fn from_bytes(bytes: &'a [u8]) -> Option<Self> {
        let sender = *bytes.get(6..)?.first_chunk()?;
        let mut rest = bytes.get(12..)?;
        loop {
            let (number, behind) = rest.split_first_chunk::<2>()?;
            match u16::from_be_bytes(*number) {
                0x8100 | 0x88a8 => rest = behind.get(2..)?,
                ethertype => return Some(Frame { sender, ethertype, payload: behind }),
            }
        }
    }

    /// Sender and receiver as `address:port` if it is the first of a UDP datagram's.
    pub(super) fn udp_endpoints(&self) -> Option<[(String, u16); 2]> {
        const UDP: u8 = 17;
        let (addresses, ports) = match self.ethertype {
            0x0800 => {
                let length = usize::from(self.payload.first()? & 15) * 4;
                let fragment = u16::from_be_bytes(*self.payload.get(6..)?.first_chunk()?) & 0x1fff;
                (*self.payload.get(9)? == UDP && fragment == 0).then_some(())?;
                let address = |at| {
                    Some(std::net::Ipv4Addr::from(*self.payload.get(at..)?.first_chunk::<4>()?).to_string())
                };
                ([address(12)?, address(16)?], self.payload.get(length..)?)
            }
            0x86dd => {
                (*self.payload.get(6)? == UDP).then_some(())?;
                let address = |at| {
                    Some(format!(
                        "[{}]",
                        std::net::Ipv6Addr::from(*self.payload.get(at..)?.first_chunk::<16>()?)
                    ))
                };
                ([address(8)?, address(24)?], self.payload.get(40..)?)
            }
            _ => return None,
        };
        let port = |at: usize| Some(u16::from_be_bytes(*ports.get(at..)?.first_chunk()?));
        let [from, to] = addresses;
        Some([(from, port(0)?), (to, port(2)?)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_read_as_they_are_written() {
        for text in ["ethertype:0x88a4", "mac:00:1b:21:0a:ff:01", "udp:27181"] {
            assert_eq!(text.parse::<PacketFilter>().unwrap().to_string(), text);
        }
        for text in ["", "udp", "udp:70000", "ethertype:88a4", "mac:00:11", "mac:00:11:22:33:44:zz", "tcp:80"]
        {
            assert!(text.parse::<PacketFilter>().is_err(), "{text}");
        }
    }

    #[test]
    fn short_frames_say_nothing() {
        let whole = [0u8; 64];
        for length in 0..14 {
            assert_eq!(Frame::from_bytes(&whole[..length]), None);
        }
        let mut ip = [0u8; 40];
        ip[12..14].copy_from_slice(&[8, 0]);
        for length in 14..40 {
            let _ = Frame::from_bytes(&ip[..length]).map(|frame| frame.udp_endpoints());
        }
    }
}
