//! Devices of a guest that have interrupts of their own: a disk, and network cards with a peer.
//!
//! Both cards are on one line, which forwards at once, so that virtual time repeats; the peer behind the second card is the guest
//! itself, in a network namespace of its own. The disk lies in this machine's memory, and answers in this machine's time.

use std::fs::File;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};
use std::str::FromStr;

use jitterlab_host::programs::system_command;
use jitterlab_model::Error;
use serde::{Deserialize, Serialize};

pub const DISK: &str = "/disk";
/// Address of the first card, and of the peer behind the second.
pub const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
pub const PEER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
/// Size of the disk, of which only the used part takes memory.
const DISK_BYTES: u64 = 512 << 20;

/// Model of the network cards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkCard {
    Virtio,
    /// Intel's 82540EM, emulated.
    E1000,
}

impl NetworkCard {
    const ALL: [(NetworkCard, &'static str); 2] =
        [(NetworkCard::Virtio, "virtio"), (NetworkCard::E1000, "e1000")];

    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(card, _)| *card == self).map_or("", |(_, name)| name)
    }

    /// Returns QEMU's device, and the modules of its driver.
    fn device_and_modules(self) -> (&'static str, &'static [&'static str]) {
        match self {
            NetworkCard::Virtio => ("virtio-net-pci", &["virtio_pci", "virtio_net"]),
            NetworkCard::E1000 => ("e1000", &["e1000"]),
        }
    }
}

impl FromStr for NetworkCard {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|(_, name)| *name == text);
        found.map(|(card, _)| card).ok_or_else(|| {
            Error::bad_use(format!("{text:?} is no network card")).remedy("write virtio or e1000")
        })
    }
}

/// Devices of a guest besides those that every guest has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Devices {
    /// True for a disk, mounted at [`DISK`].
    pub disk: bool,
    /// Model of two network cards, if there are any.
    pub network: Option<NetworkCard>,
}

impl Devices {
    pub fn is_empty(self) -> bool {
        self == Devices::default()
    }

    /// Modules of their drivers; a kernel may have them built in.
    pub(super) fn driver_modules(self) -> Vec<String> {
        let disk: &[&str] =
            if self.disk { &["virtio_pci", "virtio_blk", "crc32c_generic", "ext4"] } else { &[] };
        let network = self.network.map_or(&[][..], |card| card.device_and_modules().1);
        disk.iter().chain(network).map(ToString::to_string).collect()
    }

    pub(super) fn add_qemu_arguments(self, disk: Option<&str>, add: &mut dyn FnMut(&[&str])) {
        if let Some(path) = disk {
            let drive = format!("file={path},format=raw,if=none,id=disk,file.locking=off");
            add(&["-drive", &drive, "-device", "virtio-blk-pci,drive=disk"]);
        }
        let Some(card) = self.network else { return };
        for number in 0..2 {
            let device = card.device_and_modules().0;
            add(&["-netdev", &format!("hubport,id=line{number},hubid=1"), "-device"]);
            // Without the firmware for booting from the network.
            add(&[&format!("{device},netdev=line{number},mac=52:54:00:00:00:0{},romfile=", number + 1)]);
        }
    }
}

/// Makes an empty ext4 file system of 512 MiB in a disk's file; returns the file.
pub(super) fn format_disk(disk: File) -> Result<File, Error> {
    let refused = |cause: io::Error| Error::refused("cannot make the guest's disk").because(cause);
    disk.set_len(DISK_BYTES).map_err(refused)?;
    // The child opens it anew by way of this process.
    let path = format!("/proc/{}/fd/{}", std::process::id(), disk.as_raw_fd());
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    // The PATH of ordinary users lacks its folder.
    for mut program in [system_command("mke2fs"), Command::new("/usr/sbin/mke2fs")] {
        let run = program
            .args(["-q", "-F", "-t", "ext4", "-b", "4096", "-U", "00000000-0000-4000-8000-000000000001"])
            .args(["-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard"])
            .arg(&path)
            .stdin(Stdio::null())
            .output();
        match run {
            Ok(output) if output.status.success() => return Ok(disk),
            Ok(output) => {
                return Err(refused(io::Error::other(
                    String::from_utf8_lossy(&output.stderr).trim().to_owned(),
                )));
            }
            Err(error) => last = error,
        }
    }
    Err(refused(io::Error::other(format!("mke2fs: {last}"))).remedy("install e2fsprogs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(devices: Devices, disk: Option<&str>) -> String {
        let mut words: Vec<String> = Vec::new();
        devices.add_qemu_arguments(disk, &mut |more| words.extend(more.iter().map(ToString::to_string)));
        words.join(" ")
    }

    #[test]
    fn a_card_is_named_as_it_is_asked_for() {
        for (card, name) in NetworkCard::ALL {
            assert_eq!((name.parse::<NetworkCard>(), card.name()), (Ok(card), name));
        }
        assert!("ne2000".parse::<NetworkCard>().unwrap_err().to_string().contains("e1000"));
    }

    #[test]
    fn both_cards_are_on_one_line_and_nothing_is_there_unasked() {
        assert_eq!(
            (line(Devices::default(), None), Devices::default().driver_modules()),
            (String::new(), vec![])
        );
        let devices = Devices { disk: true, network: Some(NetworkCard::E1000) };
        let line = line(devices, Some("/d"));
        assert_eq!(line.matches("hubid=1").count(), 2, "{line}");
        assert!(line.contains("e1000,netdev=line1,mac=52:54:00:00:00:02"), "{line}");
        assert!(line.contains("file=/d,") && devices.driver_modules().contains(&"ext4".into()), "{line}");
    }

    #[test]
    fn a_disk_holds_an_ext4_file_system() {
        use std::os::unix::fs::FileExt;
        if Command::new("/usr/sbin/mke2fs").arg("-V").output().is_err() {
            println!("skipped: no mke2fs here");
            return;
        }
        let disk = format_disk(tempfile::tempfile().unwrap()).unwrap();
        let mut magic = [0; 2];
        // Its superblock is at 1024, the magic number at 56 in it.
        disk.read_exact_at(&mut magic, 1_024 + 56).unwrap();
        assert_eq!(magic, [0x53, 0xEF]);
    }
}
