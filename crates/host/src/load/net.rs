//! `net`: a TCP stream and UDP datagrams over the loopback interface.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use jitterlab_model::load::LoadUnit;

use super::{Kind, Share, Work, workers};

pub(super) const KIND: Kind = Kind {
    name: "net",
    usage: "net[:N]",
    unit: Some(LoadUnit::Bytes),
    share: |arguments, _| Ok(Share { workers: workers(arguments, 1)?, told: String::new() }),
    begin: |_| Ok(Box::new(Network::new()?)),
};

const STREAM_BLOCK: usize = 64 << 10;
/// Payload of a datagram that fits into an Ethernet frame.
const DATAGRAM: usize = 1_472;

struct Network {
    stream: TcpStream,
    socket: UdpSocket,
    block: Vec<u8>,
    received: Arc<AtomicU64>,
    told: u64,
}

impl Network {
    fn new() -> io::Result<Self> {
        let received = Arc::new(AtomicU64::new(0));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let stream = TcpStream::connect(listener.local_addr()?)?;
        stream.set_write_timeout(Some(Duration::from_millis(100)))?;
        let (mut arriving, _) = listener.accept()?;
        let count = received.clone();
        thread::Builder::new().spawn(move || {
            let mut block = vec![0; STREAM_BLOCK];
            while let Ok(n @ 1..) = arriving.read(&mut block) {
                count.fetch_add(n as u64, Ordering::Relaxed);
            }
        })?;

        let sink = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.connect(sink.local_addr()?)?;
        let count = received.clone();
        thread::Builder::new().spawn(move || {
            let mut datagram = [0; DATAGRAM];
            while let Ok(n) = sink.recv(&mut datagram) {
                count.fetch_add(n as u64, Ordering::Relaxed);
            }
        })?;
        Ok(Network { stream, socket, block: vec![0x5A; STREAM_BLOCK], received, told: 0 })
    }
}

impl Work for Network {
    /// Sends some of both; only received bytes count.
    fn step(&mut self) -> io::Result<u64> {
        for _ in 0..8 {
            match self.stream.write(&self.block) {
                Ok(_) => {}
                Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
                Err(e) => return Err(e),
            }
            // A datagram that finds no room is lost, as datagrams are.
            let _ = self.socket.send(&self.block[..DATAGRAM]);
        }
        let received = self.received.load(Ordering::Relaxed);
        let news = received - self.told;
        self.told = received;
        Ok(news)
    }
}
