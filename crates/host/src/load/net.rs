//! `net`: a TCP stream and UDP datagrams, over the loopback interface or to another machine.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use jitterlab_model::Error;
use jitterlab_model::load::LoadUnit;

use super::{Kind, Work, WorkShare, parse_worker_count};

pub(super) const KIND: Kind = Kind {
    name: "net",
    usage: "net[:N[,HOST[:PORT]]]",
    unit: Some(LoadUnit::Bytes),
    share: |arguments, _| {
        let (n, host) = split_arguments(arguments);
        if let Some(host) = host {
            resolve_address(host).map_err(|why| Error::bad_use(format!("{host:?} is no host: {why}")))?;
        }
        Ok(WorkShare { workers: parse_worker_count(n, 1)?, arguments: host.unwrap_or_default().into() })
    },
    begin: |arguments| {
        Ok(Box::new(if arguments.is_empty() {
            NetworkLoad::new_loopback()?
        } else {
            NetworkLoad::connect(arguments)?
        }))
    },
};

/// Service that takes everything and answers nothing (RFC 863).
const DISCARD: u16 = 9;
/// Time to reach the other machine.
const PATIENCE: Duration = Duration::from_secs(5);
const STREAM_BLOCK: usize = 64 << 10;
/// Payload of a datagram that fits into an Ethernet frame.
const DATAGRAM: usize = 1_472;

/// Splits `N`, `N,HOST` or `HOST` into the number of workers and the other machine, if one is named.
fn split_arguments(arguments: &str) -> (&str, Option<&str>) {
    match arguments.split_once(',') {
        Some((n, host)) => (n, Some(host)),
        None if arguments.chars().all(|c| c.is_ascii_digit()) => (arguments, None),
        None => ("", Some(arguments)),
    }
}

/// Resolves `HOST` or `HOST:PORT` to an address.
fn resolve_address(host: &str) -> io::Result<SocketAddr> {
    let with_port = host.to_socket_addrs();
    let mut found = with_port.or_else(|_| (host.trim_matches(['[', ']']), DISCARD).to_socket_addrs())?;
    found.next().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
}

struct NetworkLoad {
    stream: TcpStream,
    socket: UdpSocket,
    block: Vec<u8>,
    /// Bytes that arrived: at the other end, which is here too, or back from another machine.
    received: Arc<AtomicU64>,
    /// Bytes of `received` that were counted already.
    counted: u64,
    /// True if bytes that are sent count, since another machine takes them.
    counts_sent: bool,
}

impl NetworkLoad {
    /// Creates a load over the loopback interface, with both ends in this process.
    fn new_loopback() -> io::Result<Self> {
        let received = Arc::new(AtomicU64::new(0));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let stream = TcpStream::connect(listener.local_addr()?)?;
        let (arriving, _) = listener.accept()?;
        spawn_byte_counter(arriving, received.clone())?;
        let sink = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.connect(sink.local_addr()?)?;
        spawn_datagram_counter(sink, received.clone())?;
        Self::new(stream, socket, received, false)
    }

    /// Creates a load whose other end is another machine.
    fn connect(host: &str) -> io::Result<Self> {
        let received = Arc::new(AtomicU64::new(0));
        let address = resolve_address(host)?;
        let stream = TcpStream::connect_timeout(&address, PATIENCE).map_err(|error| {
            io::Error::new(error.kind(), format!("no TCP connection to {address}: {error}"))
        })?;
        let mut any = address;
        any.set_ip(if address.is_ipv4() {
            Ipv4Addr::UNSPECIFIED.into()
        } else {
            std::net::Ipv6Addr::UNSPECIFIED.into()
        });
        any.set_port(0);
        let socket = UdpSocket::bind(any)?;
        socket.connect(address)?;
        spawn_byte_counter(stream.try_clone()?, received.clone())?;
        Self::new(stream, socket, received, true)
    }

    fn new(
        stream: TcpStream,
        socket: UdpSocket,
        received: Arc<AtomicU64>,
        counts_sent: bool,
    ) -> io::Result<Self> {
        stream.set_write_timeout(Some(Duration::from_millis(100)))?;
        Ok(NetworkLoad { stream, socket, block: vec![0x5A; STREAM_BLOCK], received, counted: 0, counts_sent })
    }
}

/// Counts the bytes that arrive, on a thread of its own, until the stream ends.
fn spawn_byte_counter(mut arriving: TcpStream, count: Arc<AtomicU64>) -> io::Result<()> {
    thread::Builder::new().spawn(move || {
        let mut block = vec![0; STREAM_BLOCK];
        while let Ok(n @ 1..) = arriving.read(&mut block) {
            count.fetch_add(n as u64, Ordering::Relaxed);
        }
    })?;
    Ok(())
}

fn spawn_datagram_counter(sink: UdpSocket, count: Arc<AtomicU64>) -> io::Result<()> {
    thread::Builder::new().spawn(move || {
        let mut datagram = [0; DATAGRAM];
        while let Ok(n) = sink.recv(&mut datagram) {
            count.fetch_add(n as u64, Ordering::Relaxed);
        }
    })?;
    Ok(())
}

impl Work for NetworkLoad {
    /// Sends some of both. Datagrams to another machine do not count: nothing shows that they arrive.
    fn step(&mut self) -> io::Result<u64> {
        let mut sent = 0;
        for _ in 0..8 {
            match self.stream.write(&self.block) {
                Ok(n) => sent += n as u64,
                Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
                Err(e) => return Err(e),
            }
            // A datagram that finds no room is lost, as datagrams are.
            let _ = self.socket.send(&self.block[..DATAGRAM]);
        }
        let received = self.received.load(Ordering::Relaxed);
        let news = received - self.counted;
        self.counted = received;
        Ok(if self.counts_sent { sent + news } else { news })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_told_from_a_number_and_has_the_port_of_discard() {
        assert_eq!((split_arguments(""), split_arguments("3")), (("", None), ("3", None)));
        assert_eq!(split_arguments("2,10.0.0.1:5001"), ("2", Some("10.0.0.1:5001")));
        assert_eq!(split_arguments("192.168.0.2"), ("", Some("192.168.0.2")));
        assert_eq!(resolve_address("10.0.0.1").unwrap().to_string(), "10.0.0.1:9");
        assert_eq!(resolve_address("10.0.0.1:77").unwrap().port(), 77);
        assert_eq!(resolve_address("[::1]").unwrap().to_string(), "[::1]:9");
        assert!(resolve_address("no host").is_err());
    }

    #[test]
    fn bytes_go_to_another_machine_that_takes_them() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut network = NetworkLoad::connect(&listener.local_addr().unwrap().to_string()).unwrap();
        let (arriving, _) = listener.accept().unwrap();
        spawn_byte_counter(arriving, Arc::default()).unwrap();
        assert!(network.step().unwrap() >= STREAM_BLOCK as u64);
        drop(listener);
        let nobody = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
        let refused = NetworkLoad::connect(&nobody.to_string()).err().unwrap().to_string();
        assert!(refused.contains("no TCP connection to 127.0.0.1:"), "{refused}");
    }
}
