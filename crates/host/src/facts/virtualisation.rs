//! Platform of this Linux: hypervisor, container, real-time core.

use jitterlab_model::facts::{RealTimeCores, Virtualisation};

use super::{Root, field};

/// Signatures of hypervisors in CPUID leaf 0x4000_0000 (and the firmware's tables), and their names.
const SIGNATURES: &[(&str, &str)] = &[
    ("KVMKVMKVM", "KVM"),
    ("TCGTCGTCGTCG", "QEMU without KVM"),
    ("VMwareVMware", "VMware"),
    ("Microsoft Hv", "Hyper-V"),
    ("XenVMMXenVMM", "Xen"),
    ("VBoxVBoxVBox", "VirtualBox"),
    ("bhyve bhyve", "bhyve"),
    ("prl hyperv", "Parallels"),
    ("ACRNACRNACRN", "ACRN"),
    ("Jailhouse", "Jailhouse"),
];

/// Maker or product in the firmware of virtual machines, and the hypervisor's name.
const FIRMWARE: &[(&str, &str)] = &[
    ("KVM", "KVM"),
    ("QEMU", "QEMU"),
    ("Amazon EC2", "KVM"),
    ("Google Compute Engine", "KVM"),
    ("VMware", "VMware"),
    ("VirtualBox", "VirtualBox"),
    ("innotek GmbH", "VirtualBox"),
    ("Xen", "Xen"),
    ("Virtual Machine", "Hyper-V"),
    ("BHYVE", "bhyve"),
    ("Parallels", "Parallels"),
    ("Firecracker", "KVM"),
];

pub(super) fn read_virtualisation(root: &Root, cpu_info: &str) -> Virtualisation {
    let hypervisor = hypervisor_from_signature(root)
        .or_else(|| {
            root.nonempty_text("sys/hypervisor/type")
                .map(|kind| if kind == "xen" { "Xen".into() } else { kind })
        })
        .or_else(|| hypervisor_from_firmware(root))
        .or_else(|| hypervisor_from_device_tree(root))
        .or_else(|| hypervisor_from_clocksource(root));
    let flagged = field(cpu_info, "flags").map(|flags| flags.split_whitespace().any(|f| f == "hypervisor"));
    // On x86 a processor flag decides. A device tree names a hypervisor or the board. Elsewhere only a
    // hypervisor with a known name is recognised.
    let virtual_machine = match flagged {
        Some(flagged) => Some(flagged || root.exists("sys/hypervisor/type")),
        None if hypervisor.is_some() => Some(true),
        None => root.exists("proc/device-tree/model").then_some(false),
    };
    Virtualisation {
        virtual_machine,
        hypervisor: hypervisor.filter(|_| virtual_machine == Some(true)),
        container: container(root),
    }
}

fn hypervisor_from_signature(root: &Root) -> Option<String> {
    let registers: [u8; 16] = root.bytes_at("dev/cpu/0/cpuid", 0x4000_0000)?;
    let text = String::from_utf8_lossy(&registers[4..]).into_owned();
    SIGNATURES.iter().find(|(mark, _)| text.contains(mark)).map(|(_, name)| (*name).to_owned())
}

fn hypervisor_from_firmware(root: &Root) -> Option<String> {
    ["product_name", "sys_vendor", "board_vendor", "bios_vendor"].iter().find_map(|name| {
        let text = root.text(&format!("sys/class/dmi/id/{name}"))?;
        FIRMWARE.iter().find(|(mark, _)| text.contains(mark)).map(|(_, name)| (*name).to_owned())
    })
}

fn hypervisor_from_device_tree(root: &Root) -> Option<String> {
    let compatible = |name: &str| root.text(&format!("proc/device-tree/{name}")).unwrap_or_default();
    let hypervisor = compatible("hypervisor/compatible");
    match hypervisor.as_str() {
        "" => compatible("compatible").contains("dummy-virt").then(|| "QEMU".into()),
        kind if kind.contains("kvm") => Some("KVM".into()),
        kind if kind.contains("xen") => Some("Xen".into()),
        kind => Some(kind.trim_matches('\0').to_owned()),
    }
}

fn hypervisor_from_clocksource(root: &Root) -> Option<String> {
    let available = root.text("sys/devices/system/clocksource/clocksource0/available_clocksource")?;
    [("kvm-clock", "KVM"), ("hyperv_clocksource", "Hyper-V"), ("xen", "Xen")]
        .iter()
        .find(|(mark, _)| available.contains(mark))
        .map(|(_, name)| (*name).to_owned())
}

/// The name spaces a machine starts with have fixed numbers (`include/linux/proc_ns.h`).
const FIRST_NAMESPACES: &[(&str, &str)] = &[
    ("pid", "pid:[4026531836]"),
    ("uts", "uts:[4026531838]"),
    ("ipc", "ipc:[4026531839]"),
    ("cgroup", "cgroup:[4026531835]"),
];

/// The kind of container this process is in; `None` outside of one. Marks alone do not make one, since images
/// of containers also start as whole machines: it must also be in name spaces of its own.
fn container(root: &Root) -> Option<String> {
    let own = |kind: &str, first: &str| {
        root.link_target(&format!("proc/self/ns/{kind}")).is_some_and(|ns| ns != first)
    };
    if !FIRST_NAMESPACES.iter().any(|(kind, first)| own(kind, first)) {
        return None;
    }
    container_from_marks(root)
        .or_else(|| own("pid", FIRST_NAMESPACES[0].1).then(|| "a container of unknown kind".into()))
}

fn container_from_marks(root: &Root) -> Option<String> {
    if let Some(kind) = root.nonempty_text("run/systemd/container") {
        return Some(kind);
    }
    if root.exists("run/.containerenv") {
        return Some("podman".into());
    }
    if root.exists(".dockerenv") {
        return Some("docker".into());
    }
    let environment = root.text("proc/1/environ").unwrap_or_default();
    if let Some(kind) = environment.split('\0').find_map(|entry| entry.strip_prefix("container=")) {
        return Some(kind.to_owned());
    }
    let groups = root.text("proc/1/cgroup").unwrap_or_default();
    ["kubepods", "docker", "libpod", "lxc", "containerd"]
        .iter()
        .find(|mark| groups.contains(*mark))
        .map(|mark| if *mark == "kubepods" { "kubernetes".into() } else { (*mark).to_owned() })
}

pub(super) fn read_real_time_cores(root: &Root) -> RealTimeCores {
    let evl_clock = "sys/devices/virtual/clock/monotonic/gravity";
    let evl = |file: &str| {
        let folders = ["sys/devices/virtual/evl/control", "sys/class/evl/control"];
        folders.iter().find_map(|folder| root.nonempty_text(&format!("{folder}/{file}")))
    };
    RealTimeCores {
        cobalt: root.nonempty_text("proc/xenomai/version"),
        evl: evl("abi").or_else(|| root.exists("dev/evl/control").then(|| "unknown".into())),
        evl_state: evl("state"),
        gravity: root.nonempty_text(evl_clock).or_else(|| {
            let clock = root.text("proc/xenomai/clock/coreclk")?;
            Some(field(&clock, "gravity")?.to_owned())
        }),
    }
}
