//! Networks inside a guest: the loopback interface, and two cards with a peer behind the second.
#![expect(unsafe_code, reason = "setting up an interface is an ioctl")]

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use jitterlab_model::Error;
use nix::libc;
use nix::sched::{CloneFlags, unshare};

use super::devices::{ADDRESS, PEER};

/// The cards, in the order of their slots.
const CARDS: [&str; 2] = ["eth0", "eth1"];
/// Port of the peer, which takes everything (RFC 863).
const DISCARD: u16 = 9;
/// Longest time until the cards have agreed on a speed and the peer answers.
const LINK: Duration = Duration::from_secs(20);

/// Switches the loopback interface on, for network loads that talk to themselves.
pub(super) fn switch_loopback_on() {
    let _ = switch_interface_on("lo");
}

/// Sets up both cards, the second in a network namespace of its own, where a thread takes everything.
pub(super) fn set_up_cards_and_peer() -> io::Result<()> {
    let (namespace, made) = channel();
    let (moved, is_moved) = channel();
    let (ready, is_ready) = channel();
    thread::Builder::new().name("peer".into()).spawn(move || {
        let _ = ready.send(run_peer(&namespace, &is_moved));
    })?;
    let gone = || io::Error::other("the peer has ended");
    let namespace: File = made.recv().map_err(|_| gone())??;
    move_interface(&namespace, CARDS[1])?;
    set_address(CARDS[0], ADDRESS)?;
    moved.send(()).map_err(|_| gone())?;
    is_ready.recv().map_err(|_| gone())??;
    // Until the cards have agreed on a speed, there is no way to the peer.
    let begun = Instant::now();
    loop {
        match TcpStream::connect_timeout(&(PEER, DISCARD).into(), LINK) {
            Ok(_) => return Ok(()),
            Err(error) if begun.elapsed() > LINK => {
                let silent = Error::not_measured("the peer behind the second network card does not answer");
                return Err(io::Error::other(silent.because(error)));
            }
            Err(_) => thread::sleep(Duration::from_millis(100)),
        }
    }
}

/// Makes a network namespace, sends it, and starts threads that take everything once the card is in it.
fn run_peer(namespace: &Sender<io::Result<File>>, is_moved: &Receiver<()>) -> io::Result<()> {
    let left = unshare(CloneFlags::CLONE_NEWNET).map_err(io::Error::from);
    let made = left.and_then(|()| File::open("/proc/thread-self/ns/net"));
    let _ = namespace.send(made.map_err(|error| io::Error::other(format!("network namespace: {error}"))));
    if is_moved.recv().is_err() {
        return Ok(());
    }
    set_address(CARDS[1], PEER)?;
    let datagrams = UdpSocket::bind((PEER, DISCARD))?;
    thread::Builder::new().spawn(move || {
        let mut datagram = [0; 2_048];
        while datagrams.recv(&mut datagram).is_ok() {}
    })?;
    let streams = TcpListener::bind((PEER, DISCARD))?;
    thread::Builder::new().spawn(move || {
        for stream in streams.incoming().flatten() {
            let _ = thread::Builder::new().spawn(move || io::copy(&mut &stream, &mut io::sink()));
        }
    })?;
    Ok(())
}

/// Creates an ioctl's request about an interface.
fn interface_request(name: &str) -> libc::ifreq {
    // SAFETY: an all-zero ifreq is a valid one.
    let mut request = unsafe { std::mem::zeroed::<libc::ifreq>() };
    for (into, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *into = from as libc::c_char;
    }
    request
}

fn interface_ioctl(what: libc::Ioctl, request: &libc::ifreq) -> io::Result<()> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    // SAFETY: the request names an interface and outlives the call.
    let answer = unsafe { libc::ioctl(socket.as_raw_fd(), what, std::ptr::from_ref(request)) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn switch_interface_on(name: &str) -> io::Result<()> {
    let mut request = interface_request(name);
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    interface_ioctl(libc::SIOCSIFFLAGS as libc::Ioctl, &request)
}

/// Gives an interface an address in a network of 256, and switches it on.
fn set_address(name: &str, address: Ipv4Addr) -> io::Result<()> {
    let set = |what: libc::Ioctl, address: Ipv4Addr| {
        let mut request = interface_request(name);
        let mut bytes = [0; 14];
        bytes[2..6].copy_from_slice(&address.octets());
        request.ifr_ifru.ifru_addr = libc::sockaddr {
            sa_family: libc::AF_INET as libc::sa_family_t,
            sa_data: bytes.map(|byte: u8| byte as libc::c_char),
        };
        interface_ioctl(what, &request)
    };
    let all = set(libc::SIOCSIFADDR as libc::Ioctl, address)
        .and_then(|()| set(libc::SIOCSIFNETMASK as libc::Ioctl, Ipv4Addr::new(255, 255, 255, 0)))
        .and_then(|()| switch_interface_on(name));
    all.map_err(|error| {
        let refused = Error::refused(format!("cannot set up {name}: this kernel may lack its driver"));
        io::Error::other(refused.because(error))
    })
}

/// Moves an interface to another network namespace (rtnetlink(7): RTM_NEWLINK with IFLA_NET_NS_FD).
fn move_interface(namespace: &File, name: &str) -> io::Result<()> {
    let failed = |error: io::Error| {
        io::Error::other(Error::refused(format!("cannot move {name} to the peer")).because(error))
    };
    let index = fs::read_to_string(format!("/sys/class/net/{name}/ifindex")).map_err(failed)?;
    let index: i32 = index.trim().parse().map_err(io::Error::other)?;
    let message = move_interface_message(index, namespace.as_raw_fd());
    // SAFETY: the call takes plain numbers.
    let line = unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE) };
    if line < 0 {
        return Err(failed(io::Error::last_os_error()));
    }
    // SAFETY: the socket is open, and nobody else has it.
    let mut line = File::from(unsafe { OwnedFd::from_raw_fd(line) });
    line.write_all(&message).map_err(failed)?;
    let mut answer = [0; 4_096];
    let length = line.read(&mut answer).map_err(failed)?;
    // A header of 16 bytes, and the error number, 0 for none.
    let code =
        answer[..length].get(16..20).and_then(|code| code.try_into().ok()).map_or(0, i32::from_ne_bytes);
    if code == 0 { Ok(()) } else { Err(failed(io::Error::from_raw_os_error(-code))) }
}

fn move_interface_message(index: i32, namespace: i32) -> Vec<u8> {
    const LENGTH: u32 = 16 + 16 + 8;
    let mut message = Vec::with_capacity(LENGTH as usize);
    let mut add = |bytes: &[u8]| message.extend_from_slice(bytes);
    add(&LENGTH.to_ne_bytes());
    add(&libc::RTM_NEWLINK.to_ne_bytes());
    add(&((libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16).to_ne_bytes());
    // Sequence number and port.
    add(&[0; 8]);
    // Family and kind of the interface, its index, flags and the mask of those to change.
    add(&[0; 4]);
    add(&index.to_ne_bytes());
    add(&[0; 8]);
    add(&8u16.to_ne_bytes());
    add(&libc::IFLA_NET_NS_FD.to_ne_bytes());
    add(&namespace.to_ne_bytes());
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_to_move_an_interface_is_as_long_as_it_claims() {
        let message = move_interface_message(3, 7);
        assert_eq!(message.len(), 40);
        assert_eq!(message[..4], 40u32.to_ne_bytes());
        assert_eq!((message[20], message[32], message[36]), (3, 8, 7));
    }
}
