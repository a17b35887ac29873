//! Pins of this machine: lines of a GPIO chip, data pins of a parallel port, control lines of a serial port.
#![expect(unsafe_code, reason = "ioctl(2) has no safe form")]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use jitterlab_model::{Error, Pulse, PulsePin, SerialLine};
use nix::libc;

use super::DigitalOutput;
use super::dump::Dump;
use super::error::{Remedies, unusable_device_error};

/// The user interface of GPIO chips, version 2 (linux/gpio.h).
#[repr(C)]
#[derive(Clone, Copy)]
struct LineRequest {
    offsets: [u32; 64],
    consumer: [u8; 32],
    config_flags: u64,
    config_attributes: u32,
    config_padding: [u32; 5],
    config_attribute: [[u64; 3]; 10],
    lines: u32,
    event_buffer: u32,
    padding: [u32; 5],
    fd: i32,
}

/// Values of lines by bits, and the lines that are set.
#[repr(C)]
struct LineValues {
    bits: u64,
    mask: u64,
}

const GPIO_V2_LINE_FLAG_OUTPUT: u64 = 1 << 3;
const GPIO_V2_GET_LINE: u64 = ioctl_read_write_number(0xb4, 0x07, size_of::<LineRequest>());
const GPIO_V2_LINE_SET_VALUES: u64 = ioctl_read_write_number(0xb4, 0x0f, size_of::<LineValues>());
// linux/ppdev.h.
const PPCLAIM: u64 = ioctl_number(0, b'p', 0x8b, 0);
const PPEXCL: u64 = ioctl_number(0, b'p', 0x8f, 0);
const PPRELEASE: u64 = ioctl_number(0, b'p', 0x8c, 0);
const PPWDATA: u64 = ioctl_number(1, b'p', 0x86, 1);

// asm-generic/ioctls.h.
const TIOCMBIS: u64 = 0x5416;
const TIOCMBIC: u64 = 0x5417;

/// Number of an ioctl as in asm-generic/ioctl.h, for x86 and ARM.
const fn ioctl_number(direction: u64, kind: u8, number: u8, size: usize) -> u64 {
    direction << 30 | (size as u64) << 16 | (kind as u64) << 8 | number as u64
}

const fn ioctl_read_write_number(kind: u8, number: u8, size: usize) -> u64 {
    ioctl_number(3, kind, number, size)
}

pub(super) struct Pin {
    file: OwnedFd,
    kind: PinKind,
}

#[derive(Clone, Copy)]
enum PinKind {
    Gpio,
    Parallel {
        /// The data bit that moves.
        moves: u8,
        /// The data bits that are high all the time.
        held: u8,
    },
    /// The modem bits of the line.
    Serial(libc::c_int),
}

type OpenOutput = Box<dyn DigitalOutput>;

/// Opens the pin of a pulse for this program alone, and makes it low; also the pin of its direction, high.
pub(super) fn open(pulse: &Pulse) -> Result<(OpenOutput, Option<OpenOutput>), Error> {
    let direction = pulse.steps.as_ref().and_then(|steps| steps.direction.as_ref());
    if let (PulsePin::Parallel { port, bit }, Some(PulsePin::Parallel { port: same, bit: held })) =
        (&pulse.pin, direction)
        && port == same
    {
        // A port is opened once, whatever its pins are for.
        return Ok((Box::new(open_parallel_port(port, 1 << bit, 1 << held)?), None));
    }
    let high = |of: &PulsePin| {
        let mut opened = open_pin(of)?;
        let refused = |error| unusable_device_error(Path::new(&of.to_string()), error, Remedies::NOT_HELD);
        opened.set(true, 0).map_err(refused)?;
        Ok::<_, Error>(opened)
    };
    let direction = direction.map(high).transpose()?;
    Ok((open_pin(&pulse.pin)?, direction))
}

fn open_pin(pin: &PulsePin) -> Result<OpenOutput, Error> {
    Ok(match pin {
        PulsePin::File(path) => Box::new(Dump::create(Path::new(path))?),
        PulsePin::Gpio { chip, line } => Box::new(Pin::open(chip, &Remedies::GPIO, |chip| {
            Ok(Pin { file: request_gpio_line(&chip, *line)?, kind: PinKind::Gpio })
        })?),
        PulsePin::Parallel { port, bit } => Box::new(open_parallel_port(port, 1 << bit, 0)?),
        PulsePin::Serial { port, line } => Box::new(Pin::open(port, &Remedies::SERIAL, |port| {
            let bits = if *line == SerialLine::Rts { libc::TIOCM_RTS } else { libc::TIOCM_DTR };
            Ok(Pin { file: port.into(), kind: PinKind::Serial(bits) })
        })?),
    })
}

fn open_parallel_port(port: &str, moves: u8, held: u8) -> Result<Pin, Error> {
    Pin::open(port, &Remedies::PARALLEL, |port| {
        claim_exclusively(&port)?;
        Ok(Pin { file: port.into(), kind: PinKind::Parallel { moves, held } })
    })
}

impl Pin {
    fn open(
        device: &str,
        remedies: &Remedies,
        take: impl FnOnce(File) -> io::Result<Pin>,
    ) -> Result<Self, Error> {
        let path = Path::new("/dev").join(device);
        // A serial port without a partner would wait for one.
        let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
        let opened = OpenOptions::new().read(true).write(true).custom_flags(flags).open(&path);
        let low = opened.and_then(take).and_then(|mut pin| pin.set(false, 0).map(|()| pin));
        low.map_err(|error| remedies.explain(&path, error))
    }
}

impl DigitalOutput for Pin {
    fn set(&mut self, high: bool, _: i64) -> io::Result<()> {
        match self.kind {
            PinKind::Gpio => {
                let mut values = LineValues { bits: u64::from(high), mask: 1 };
                ioctl(&self.file, GPIO_V2_LINE_SET_VALUES, &raw mut values)
            }
            PinKind::Parallel { moves, held } => {
                let mut data = if high { moves | held } else { held };
                ioctl(&self.file, PPWDATA, &raw mut data)
            }
            PinKind::Serial(mut bits) => {
                ioctl(&self.file, if high { TIOCMBIS } else { TIOCMBIC }, &raw mut bits)
            }
        }
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        if let PinKind::Parallel { held, .. } = &mut self.kind {
            *held = 0;
        }
        // An error here has no receiver.
        let _ = self.set(false, 0);
        if matches!(self.kind, PinKind::Parallel { .. }) {
            let _ = ioctl(&self.file, PPRELEASE, std::ptr::null_mut::<u8>());
        }
    }
}

/// Asks a chip for a line as an output that is low.
fn request_gpio_line(chip: &File, line: u32) -> io::Result<OwnedFd> {
    let mut consumer = [0; 32];
    consumer[..9].copy_from_slice(b"jitterlab");
    let mut request = LineRequest {
        offsets: [0; 64],
        consumer,
        config_flags: GPIO_V2_LINE_FLAG_OUTPUT,
        config_attributes: 0,
        config_padding: [0; 5],
        config_attribute: [[0; 3]; 10],
        lines: 1,
        event_buffer: 0,
        padding: [0; 5],
        fd: -1,
    };
    request.offsets[0] = line;
    ioctl(chip, GPIO_V2_GET_LINE, &raw mut request)?;
    if request.fd < 0 {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    // SAFETY: the kernel has just made this descriptor for us, and nothing else uses it.
    Ok(unsafe { OwnedFd::from_raw_fd(request.fd) })
}

/// Takes a parallel port for this program alone.
fn claim_exclusively(port: &File) -> io::Result<()> {
    ioctl(port, PPEXCL, std::ptr::null_mut::<u8>())?;
    ioctl(port, PPCLAIM, std::ptr::null_mut::<u8>())
}

fn ioctl<T>(file: &impl AsRawFd, number: u64, argument: *mut T) -> io::Result<()> {
    // SAFETY: each number is given with the argument that its driver reads and writes, which outlives the call.
    let answer = unsafe { libc::ioctl(file.as_raw_fd(), number as _, argument) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_those_of_the_kernels_headers() {
        assert_eq!((size_of::<LineRequest>(), size_of::<LineValues>()), (592, 16));
        assert_eq!((GPIO_V2_GET_LINE, GPIO_V2_LINE_SET_VALUES), (0xc250_b407, 0xc010_b40f));
        assert_eq!((TIOCMBIS, TIOCMBIC), (libc::TIOCMBIS, libc::TIOCMBIC));
        assert_eq!((PPCLAIM, PPEXCL, PPRELEASE, PPWDATA), (0x708b, 0x708f, 0x708c, 0x4001_7086));
    }

    #[test]
    fn what_is_no_pin_is_refused_with_a_remedy() {
        for pin in ["null", "zero"] {
            let serial = PulsePin::Serial { port: pin.into(), line: SerialLine::Rts };
            let Err(error) = open_pin(&serial) else { panic!("{pin} took a pulse") };
            assert!(error.to_string().contains("no control lines"), "{error}");
        }
    }
}
