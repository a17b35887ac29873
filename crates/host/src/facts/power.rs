//! Power management of the whole machine, and who limits it.

use jitterlab_model::facts::{LatencyHolder, NO_REQUEST_US, Power};
use nix::unistd::{AccessFlags, access};

use super::Root;
use crate::programs::system_command;

pub(super) fn read_power(root: &Root) -> Power {
    // Opening the device for reading asks for nothing: only a write makes a request.
    let dma_latency_us =
        root.bytes_at("dev/cpu_dma_latency", 0).map(i32::from_ne_bytes).and_then(|us| u64::try_from(us).ok());
    let requested = dma_latency_us.is_some_and(|us| us < NO_REQUEST_US);
    Power {
        dma_latency_us,
        dma_latency_holders: if requested { dma_latency_holders(root) } else { Vec::new() },
        dma_latency_writable: is_dma_latency_writable(root),
        turbo: read_turbo(root),
        idle_driver: root.nonempty_text("sys/devices/system/cpu/cpuidle/current_driver"),
        idle_governor: root
            .nonempty_text("sys/devices/system/cpu/cpuidle/current_governor")
            .or_else(|| root.nonempty_text("sys/devices/system/cpu/cpuidle/current_governor_ro")),
        firmware_throttled: root
            .text("sys/devices/platform/soc/soc:firmware/get_throttled")
            .or_else(|| ask_firmware_throttling(root))
            .and_then(|answer| throttled_bits(&answer)),
    }
}

/// Runs `vcgencmd`, for kernels without a file of a Raspberry Pi's throttling; `None` elsewhere.
fn ask_firmware_throttling(root: &Root) -> Option<String> {
    let asked = root.is_system() && root.exists("dev/vcio");
    let answer = asked.then(|| system_command("vcgencmd").arg("get_throttled").output())?.ok()?;
    Some(String::from_utf8_lossy(&answer.stdout).trim().to_owned())
}

/// Parses bits such as `50005` in the file, or `throttled=0x50005` in the program's output.
fn throttled_bits(answer: &str) -> Option<u32> {
    let digits = answer.strip_prefix("throttled=").unwrap_or(answer);
    u32::from_str_radix(digits.trim_start_matches("0x"), 16).ok()
}

/// True if this process may write to `/dev/cpu_dma_latency`, without opening it; `None` without the device.
fn is_dma_latency_writable(root: &Root) -> Option<bool> {
    const DEVICE: &str = "dev/cpu_dma_latency";
    root.exists(DEVICE).then(|| access(&root.path(DEVICE), AccessFlags::W_OK).is_ok())
}

fn read_turbo(root: &Root) -> Option<bool> {
    let forbidden = root.switch("sys/devices/system/cpu/intel_pstate/no_turbo");
    forbidden.map(|no| !no).or_else(|| root.switch("sys/devices/system/cpu/cpufreq/boost"))
}

/// Processes that hold `/dev/cpu_dma_latency` open. Looks at every open file of every process, so it is done only when
/// there is something to find.
fn dma_latency_holders(root: &Root) -> Vec<LatencyHolder> {
    let mut found = Vec::new();
    for name in root.names("proc") {
        let Ok(pid) = name.parse::<u32>() else { continue };
        let folder = format!("proc/{name}/fd");
        let holds = |fd: &String| {
            root.link_target(&format!("{folder}/{fd}")).as_deref() == Some("/dev/cpu_dma_latency")
        };
        if root.names(&folder).iter().any(holds) {
            found.push(LatencyHolder {
                pid,
                name: root.text(&format!("proc/{name}/comm")).unwrap_or_default(),
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_board_says_in_either_way_that_it_is_throttled() {
        for answer in ["50005", "0x50005", "throttled=0x50005"] {
            assert_eq!(throttled_bits(answer), Some(0x5_0005), "{answer}");
        }
        assert_eq!(throttled_bits("error=1 error_msg=\"Command not registered\""), None);
    }
}
