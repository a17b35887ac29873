//! The options all `jitterlab kernel` commands share: the emulated machine and the files in it.

use std::path::PathBuf;
use std::time::Duration;

use jitterlab_console::measure_args::MeasureArgs;
use jitterlab_kernel::job::Step;
use jitterlab_kernel::{Devices, GuestTime, KernelSession, Machine, NetworkCard, programs};
use jitterlab_model::Error;
use jitterlab_model::units::parse_duration_ns;

/// The emulated machine.
#[derive(clap::Args)]
pub struct MachineArgs {
    /// Virtual processors; several take turns of 7 us of counted time
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64), value_name = "N")]
    cpus: u16,
    /// Memory of the guest in MiB
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u32).range(64..), value_name = "MIB")]
    memory: u32,
    /// How the guest's time passes: icount:SHIFT (2^SHIFT ns for each instruction), or real
    #[arg(long, default_value_t = GuestTime::default(), value_name = "icount:SHIFT|real")]
    time: GuestTime,
    /// A disk, mounted at /disk: --load disk:1,/disk
    #[arg(long)]
    disk: bool,
    /// Two network cards on one line, virtio or e1000, with a peer behind the second that takes everything: --load net:1,10.0.0.2
    #[arg(long, value_name = "virtio|e1000")]
    network: Option<NetworkCard>,
    /// A word for the kernel's command line, such as isolcpus=1; may be given several times
    #[arg(long = "parameter", value_name = "WORD", allow_hyphen_values = true)]
    parameters: Vec<String>,
    /// A program, library or file to put into the guest, by path or name; may be given several times
    #[arg(long, value_name = "FILE")]
    with: Vec<String>,
    /// A kernel module to load first, by name or path; may be given several times
    #[arg(long = "module", value_name = "NAME")]
    modules: Vec<String>,
    /// Stop a guest that is not finished after this time of this machine
    #[arg(long, default_value = "10m", value_parser = parse_duration_ns, value_name = "TIME")]
    timeout: i64,
    /// The emulator [default: QEMU's for the kernel's processor]
    #[arg(long, value_name = "PROGRAM")]
    qemu: Option<PathBuf>,
    /// The jitterlab for kernels of another processor, with jitterlab-kernel beside it [default: those that cargo built beside these]
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

impl MachineArgs {
    /// Time base of the guest.
    pub fn time(&self) -> GuestTime {
        self.time
    }

    /// A session of these steps on such a machine, with the files that a measurement's tasks and loads need.
    pub fn session(&self, steps: Vec<Step>, measure: Option<&MeasureArgs>) -> Result<KernelSession, Error> {
        let mut session = KernelSession {
            machine: Machine {
                qemu: self.qemu.clone(),
                cpus: self.cpus,
                memory_mib: self.memory,
                time: self.time,
                devices: Devices { disk: self.disk, network: self.network },
                parameters: self.parameters.clone(),
                timeout: Duration::from_nanos(self.timeout.unsigned_abs()),
                ..Machine::default()
            },
            companion: programs::own_executable()?,
            with: self.with.clone(),
            program: self.program.clone(),
            modules: self.modules.clone(),
            steps,
        };
        if let Some(measure) = measure {
            session.include_core_files(&measure.specs());
            session.include_load_programs(&measure.loads()?);
        }
        Ok(session)
    }
}
