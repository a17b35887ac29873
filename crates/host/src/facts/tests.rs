//! The readers against the trees of other machines.

use jitterlab_model::SystemFacts;
use jitterlab_model::facts::{Limit, Power, Preemption, Sharing};

use super::{Root, read};
use fixture::Machine;

pub(crate) mod fixture;

fn facts(name: &str) -> SystemFacts {
    read(&Machine::named(name).root())
}

#[test]
fn a_prepared_pc_is_read_in_full() {
    let f = facts("cnc-rt");
    assert_eq!(f.kernel.preemption, Some(Preemption::RealTime));
    assert_eq!((f.kernel.preemption_dynamic, f.kernel.tick_hz), (Some(false), Some(250)));
    assert_eq!(f.processor.model.as_deref(), Some("Intel(R) Core(TM) i5-6500T CPU @ 2.50GHz"));
    assert_eq!(f.processor.properties, ["constant_tsc", "nonstop_tsc", "arat", "tsc_deadline_timer"]);
    assert_eq!(f.processor.vulnerabilities.len(), 2, "those that do not affect it are left out");
    assert_eq!((f.clock.resolution_ns, f.clock.high_resolution), (Some(1), Some(true)));
    assert_eq!(f.clock.available, ["tsc", "hpet", "acpi_pm"]);
    let list = |set: &Option<jitterlab_model::CpuSet>| set.as_ref().map(ToString::to_string);
    assert_eq!(list(&f.isolation.isolated).as_deref(), Some("2-3"));
    assert_eq!(list(&f.isolation.rcu_nocbs).as_deref(), Some("2-3"));
    assert_eq!(list(&f.isolation.workqueue_cpus).as_deref(), Some("0-1"));
    assert_eq!((f.usable_cpus().to_string().as_str(), f.online_cpus().to_string().as_str()), ("0-3", "0-3"));
    assert_eq!((f.power.dma_latency_us, f.power.turbo), (Some(2_000_000_000), Some(false)));
    assert_eq!(f.power.dma_latency_holders, []);
    let cpu = f.cpu(2).unwrap();
    assert_eq!((cpu.smi_count, cpu.core_throttle_count, cpu.numa_node), (Some(0), Some(0), Some(0)));
    assert_eq!(cpu.frequency.min_hz, Some(2_500_000_000));
    assert_eq!(cpu.idle_states.len(), 2);
    assert_eq!(cpu.times.unwrap().user_ns, 1_000_000_000);
    assert_eq!(f.caches.len(), 5, "instruction caches are left out");
    assert_eq!(f.sharing(0, 3), Sharing::Cache(3));
    assert_eq!(
        (f.process.limits.rtprio, f.process.limits.memlock),
        (Some(Limit::AtMost(95)), Some(Limit::Unlimited))
    );
    assert_eq!(f.process.can_use_any_priority(), Some(false));
    assert_eq!(f.interrupts.irqbalance_running, Some(false));
    let irq = f.interrupts.lines.iter().find(|l| l.id == "124").unwrap();
    assert_eq!(
        (irq.name.as_str(), irq.total(), list(&irq.effective).as_deref()),
        ("enp0s31f6", 90_000, Some("0"))
    );
    let names: Vec<&str> = f.real_time_threads.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["migration/0", "irq/124-enp0s31"]);
    assert_eq!((f.virtualisation.virtual_machine, &f.virtualisation.container), (Some(false), &None));
    assert_eq!(f.memory.swap_total_bytes, Some(0));
    assert_eq!((f.activity.context_switches, f.activity.major_faults), (Some(123_456), Some(200)));
}

#[test]
fn a_laptop_tells_who_holds_the_latency_and_who_balances() {
    let f = facts("laptop");
    assert_eq!(f.kernel.preemption, Some(Preemption::Voluntary));
    assert_eq!(f.power.dma_latency_us, Some(100));
    let holders: Vec<(u32, &str)> =
        f.power.dma_latency_holders.iter().map(|h| (h.pid, h.name.as_str())).collect();
    assert_eq!(holders, [(900, "pipewire")]);
    assert_eq!(f.interrupts.irqbalance_running, Some(true));
    assert_eq!((f.sharing(1, 5), f.sharing(1, 6)), (Sharing::Core, Sharing::Cache(3)));
    assert_eq!(f.cpu(0).unwrap().smi_count, Some(951));
    let user = f.real_time_threads.iter().find(|t| !t.kernel).unwrap();
    assert_eq!((user.name.as_str(), user.policy.as_str(), user.priority), ("pipewire", "rr", 88));
}

#[test]
fn a_virtual_machine_from_a_container_image_is_no_container() {
    let f = facts("vm");
    assert_eq!(f.virtualisation.virtual_machine, Some(true));
    assert_eq!(f.virtualisation.hypervisor.as_deref(), Some("QEMU"));
    assert_eq!(f.virtualisation.container, None);
    assert_eq!(f.kernel.preemption, Some(Preemption::Voluntary));
    assert_eq!(f.cpu(1).unwrap().times.unwrap().steal_ns, 247_950_000_000);
    assert_eq!(f.memory.swap_used_bytes, Some(100_000 * 1024));
}

#[test]
fn a_container_says_what_it_cannot_see() {
    let f = facts("container");
    assert_eq!(f.virtualisation.container.as_deref(), Some("docker"));
    assert_eq!(f.virtualisation.virtual_machine, Some(false));
    assert_eq!(f.kernel.preemption, None);
    assert_eq!(f.interrupts.irqbalance_running, None, "other processes are hidden");
    assert_eq!(f.usable_cpus().to_string(), "4-5");
    assert_eq!(f.power.dma_latency_us, None);
}

#[test]
fn a_board_without_pc_files_is_read() {
    let f = facts("arm-board");
    assert_eq!(f.kernel.preemption, Some(Preemption::Full));
    assert_eq!(f.processor.model.as_deref(), Some("Raspberry Pi 4 Model B Rev 1.4"));
    assert_eq!(f.virtualisation.virtual_machine, Some(false), "its device tree names a board");
    assert_eq!(f.power.firmware_throttled, Some(0x5_0005));
    assert_eq!(
        f.usable_cpus().to_string(),
        "0-3",
        "isolcpus hides CPU 3 from programs, yet they may ask for it"
    );
    assert_eq!(f.interrupts.lines.iter().filter(|l| l.is_device()).count(), 2, "the timer is each CPU's own");
}

#[test]
fn a_server_is_read_by_several_threads_in_order() {
    let f = facts("server");
    assert_eq!(f.cpus.len(), 64);
    assert!(f.cpus.is_sorted_by_key(|cpu| cpu.id));
    assert_eq!((f.cpu(47).unwrap().numa_node, f.cpu(48).unwrap().numa_node), (Some(0), Some(1)));
    assert_eq!(f.caches.len(), 34);
    assert_eq!(
        (f.sharing(3, 35), f.sharing(3, 4), f.sharing(3, 20)),
        (Sharing::Core, Sharing::Cache(3), Sharing::Machine)
    );
    assert_eq!(f.isolation.rcu_nocbs.as_ref().map(ToString::to_string).as_deref(), Some("28-31,60-63"));
}

#[test]
fn what_makes_no_sense_is_absent() {
    let f = facts("hostile");
    let rest = SystemFacts {
        kernel: f.kernel.clone(),
        cpus: f.cpus.clone(),
        interrupts: f.interrupts.clone(),
        isolation: f.isolation.clone(),
        memory: f.memory.clone(),
        process: f.process.clone(),
        power: Power { dma_latency_writable: f.power.dma_latency_writable, ..Power::default() },
        ..SystemFacts::default()
    };
    assert_eq!(f, rest);
    assert_eq!((f.kernel.preemption, f.kernel.version), (None, None));
    assert_eq!((f.cpus[0].times, f.cpus[0].siblings.len()), (None, 1));
    assert_eq!(f.interrupts.lines, []);
    assert_eq!((f.isolation.isolated, f.isolation.rcu_nocbs), (None, None));
    assert_eq!((f.memory.total_bytes, f.memory.swap_used_bytes), (None, None));
    assert_eq!((f.process.capabilities, f.process.user_id, f.process.allowed_cpus), (None, None, None));
}

#[test]
fn an_empty_machine_has_no_facts() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(read(&Root::at(folder.path())), SystemFacts::default());
}

#[test]
fn every_machine_survives_the_run_file() {
    for name in Machine::ALL {
        let f = facts(name);
        let json = serde_json::to_string(&f).unwrap();
        assert_eq!(serde_json::from_str::<SystemFacts>(&json).unwrap(), f, "{name}");
    }
}

#[test]
fn this_machine_has_a_kernel_and_cpus() {
    let f = read(&Root::system());
    assert!(f.kernel.release.is_some() && f.kernel.architecture.is_some());
    assert!(!f.cpus.is_empty() && !f.usable_cpus().is_empty());
    assert!(f.clock.resolution_ns.is_some_and(|ns| ns > 0));
    let json = serde_json::to_string(&f).unwrap();
    assert_eq!(serde_json::from_str::<SystemFacts>(&json).unwrap(), f);
}

#[test]
fn an_urgent_thread_of_an_ordinary_process_is_found() {
    let machine = Machine::named("laptop");
    // cyclictest -p90: its first thread is an ordinary one, its measuring thread is not.
    let stat = |id: u32, priority: u8, policy: u8| {
        format!(
            "{id} (cyclictest) S 1 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 2 0 3 0 0 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 6 {priority} {policy} 0 0 0"
        )
    };
    machine.add(&format!(
        "=== proc/950/stat\n{}\n=== proc/950/task/950/stat\n{}\n=== proc/950/task/951/stat\n{}\n",
        stat(950, 0, 0),
        stat(950, 0, 0),
        stat(951, 90, 1)
    ));
    let facts = read(&machine.root());
    let found: Vec<_> = facts.real_time_threads.iter().filter(|t| t.name == "cyclictest").collect();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].pid, found[0].priority, found[0].cpu), (950, 90, Some(6)));
    let measuring: Vec<_> =
        facts.measuring.iter().map(|program| (program.pid, program.name.as_str())).collect();
    assert_eq!(measuring, [(950, "cyclictest")]);
}
