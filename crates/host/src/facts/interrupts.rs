//! Interrupts: their count on each CPU, and the CPUs they may go to.

use std::os::unix::fs::PermissionsExt as _;

use jitterlab_model::CpuSet;
use jitterlab_model::facts::{Interrupt, Interrupts};

use super::Root;

pub(super) fn read_interrupts(root: &Root) -> Interrupts {
    let table = root.text("proc/interrupts").unwrap_or_default();
    let mut lines = parse(&table);
    for line in lines.iter_mut().filter(|line| line.is_device()) {
        let file = format!("proc/irq/{}/smp_affinity_list", line.id);
        line.affinity = root.cpus(&file);
        // The kernel makes the file read-only for such an interrupt.
        line.fixed = root.path(&file).metadata().is_ok_and(|about| about.permissions().mode() & 0o222 == 0);
        line.effective = root.cpus(&format!("proc/irq/{}/effective_affinity_list", line.id));
    }
    Interrupts {
        lines,
        default_affinity: root
            .text("proc/irq/default_smp_affinity")
            .and_then(|mask| CpuSet::from_mask(&mask)),
        irqbalance_running: None,
    }
}

/// Reads the table: a heading with the CPUs, then `ID: count... description`.
fn parse(table: &str) -> Vec<Interrupt> {
    let mut lines = table.lines();
    let heading = lines.next().unwrap_or_default();
    let cpus: Vec<u16> =
        heading.split_whitespace().filter_map(|word| word.strip_prefix("CPU")?.parse().ok()).collect();
    if cpus.is_empty() {
        return Vec::new();
    }
    lines.filter_map(|line| parse_row(line, &cpus)).collect()
}

fn parse_row(line: &str, cpus: &[u16]) -> Option<Interrupt> {
    let (id, mut rest) = line.split_once(':')?;
    let mut counts = Vec::with_capacity(cpus.len());
    for &cpu in cpus {
        rest = rest.trim_start();
        let end = rest.find(' ').unwrap_or(rest.len());
        // Lines such as `ERR: 0` have one count for the whole machine.
        counts.push((cpu, rest[..end].parse::<u64>().ok()?));
        rest = &rest[end..];
    }
    let id = id.trim().to_owned();
    let numbered = id.bytes().all(|b| b.is_ascii_digit());
    let name = if numbered { device_names(rest) } else { rest.trim().to_owned() };
    let counts: std::collections::BTreeMap<u16, u64> = counts.into_iter().filter(|(_, n)| *n > 0).collect();
    (numbered && !name.is_empty() || !counts.is_empty()).then_some(Interrupt {
        id,
        name,
        counts,
        ..Interrupt::default()
    })
}

/// The devices of a line, which follow the controller and the kind of signal (`28-edge`, `27 Level`).
fn device_names(description: &str) -> String {
    let mut rest = description.trim();
    for word in description.split_whitespace() {
        rest = rest.trim_start().strip_prefix(word).unwrap_or(rest);
        let kind = word.rsplit('-').next().unwrap_or(word).to_ascii_lowercase();
        if matches!(kind.as_str(), "edge" | "level" | "fasteoi" | "simple") {
            return rest.trim().to_owned();
        }
    }
    description.trim().rsplit("  ").next().unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_every_kind_are_read() {
        let table = "           CPU0       CPU2
  0:         36          0   IO-APIC    2-edge      timer
 28:          1          7   PCI-MSI 524288-edge      eth0-rx, eth0-tx
 11:      10346       4711     GICv2  27 Level     arch_timer
 99:          0          0   IO-APIC   9-fasteoi
LOC:      35959      33429   Local timer interrupts
ERR:          0
IPI0:         3          4       Rescheduling interrupts";
        let lines = parse(table);
        let names: Vec<(&str, &str)> = lines.iter().map(|l| (l.id.as_str(), l.name.as_str())).collect();
        assert_eq!(
            names,
            [
                ("0", "timer"),
                ("28", "eth0-rx, eth0-tx"),
                ("11", "arch_timer"),
                ("LOC", "Local timer interrupts"),
                ("IPI0", "Rescheduling interrupts")
            ]
        );
        assert_eq!(lines[1].counts, [(0, 1), (2, 7)].into());
        assert!(lines[1].is_device() && !lines[2].is_device() && !lines[3].is_device());
    }

    #[test]
    fn garbage_is_no_interrupt() {
        assert_eq!(parse("no table at all\nx: y"), []);
        assert_eq!(parse(""), []);
    }
}
