//! Every check must be able to pass and to find fault, and give an exact remedy.

use std::collections::{BTreeMap, BTreeSet};

use jitterlab_model::facts::{GroupLimit, Interrupt, Limit, Preemption, Program, RealTimeThread};

use jitterlab_report::check::words;

use super::*;
use crate::facts::read;
use crate::facts::tests::fixture::Machine;

fn facts(name: &str) -> SystemFacts {
    read(&Machine::named(name).root())
}

fn report(facts: &SystemFacts) -> CheckReport {
    check(facts, &cpus_to_check(facts))
}

type Change = fn(&mut SystemFacts);
/// A check, a machine, the difference on it, the verdict, a part of the finding, a part of a remedy.
type Case = (&'static str, &'static str, Change, Status, &'static str, &'static str);

const AS_IT_IS: Change = |_| ();
use Status::{Fail, NotApplicable as Na, Pass, Warn};

#[rustfmt::skip]
const CASES: &[Case] = &[
    ("rtprio", "cnc-rt", AS_IT_IS, Pass, "up to 95", ""),
    ("rtprio", "server", AS_IT_IS, Pass, "CAP_SYS_NICE", ""),
    ("rtprio", "laptop", AS_IT_IS, Fail, "rtprio is 0", "setcap cap_sys_nice"),
    ("rtprio", "container", AS_IT_IS, Fail, "rtprio is 0", "--cap-add SYS_NICE"),
    ("rtprio", "laptop", |f| f.process.limits.rtprio = Some(Limit::AtMost(20)), Warn, "up to 20", "@realtime - rtprio 85"),
    ("memlock", "cnc-rt", AS_IT_IS, Pass, "no limit", ""),
    ("memlock", "laptop", AS_IT_IS, Warn, "8192 KiB", "memlock unlimited"),
    ("memlock", "container", AS_IT_IS, Warn, "64 KiB", "--ulimit memlock=-1"),
    ("rttime", "cnc-rt", AS_IT_IS, Pass, "no limit", ""),
    ("rttime", "laptop", AS_IT_IS, Warn, "200000 µs", "rttime unlimited"),
    ("rt-group", "cnc-rt", AS_IT_IS, Na, "not shared out", ""),
    ("rt-group", "vm", |f| f.process.cgroup_rt_runtime_us = Some(950_000), Pass, "950000", ""),
    ("rt-group", "vm", |f| { f.process.cgroup_rt_runtime_us = Some(0); f.process.group_limits.push(GroupLimit { file: "/sys/fs/cgroup/cpu/a/cpu.rt_runtime_us".into(), quota_us: 0, period_us: 1_000_000, lifted: "950000".into() }); }, Fail, "refused", "echo 950000 > /sys/fs/cgroup/cpu/a/cpu.rt_runtime_us"),
    ("group-limits", "vm", AS_IT_IS, Pass, "none", ""),
    ("group-limits", "vm", |f| { f.process.group_limits.push(GroupLimit { file: "/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us".into(), quota_us: 20_000, period_us: 100_000, lifted: "-1".into() }); }, Warn, "20000 µs of processor time in 100000", "echo -1 > /sys/fs/cgroup/cpu/a/cpu.cfs_quota_us"),
    ("container", "cnc-rt", AS_IT_IS, Pass, "none", ""),
    ("container", "container", AS_IT_IS, Warn, "docker, without", "--cpuset-cpus=4-5"),
    ("container", "container", |f| f.process.capabilities = Some(u64::MAX), Pass, "docker, with", ""),
    ("allowed-cpus", "arm-board", AS_IT_IS, Pass, "all of 0-3", ""),
    ("allowed-cpus", "container", AS_IT_IS, Warn, "4-5 of 0-7", "--cpuset-cpus=0-7"),
    ("allowed-cpus", "laptop", |f| f.process.allowed_cpus = "1".parse().ok(), Warn, "1 of 0-7", "taskset -c 0-7"),
    ("preemption", "cnc-rt", AS_IT_IS, Pass, "PREEMPT_RT", ""),
    ("preemption", "arm-board", AS_IT_IS, Pass, "full", ""),
    ("preemption", "laptop", AS_IT_IS, Fail, "voluntary", "echo full > /sys/kernel/debug/sched/preempt"),
    ("preemption", "laptop", |f| f.kernel.preemption = Some(Preemption::Lazy), Warn, "lazy", "preempt=full"),
    ("preemption", "vm", |f| f.kernel.preemption = Some(Preemption::None), Fail, "none", "preempt=full"),
    ("preemption", "container", AS_IT_IS, Na, "could not be read", ""),
    ("preempt-rt", "server", AS_IT_IS, Pass, "yes", ""),
    ("preempt-rt", "vm", AS_IT_IS, Warn, "voluntary", "linux-image-rt-amd64"),
    ("preempt-rt", "arm-board", AS_IT_IS, Warn, "full", "linux-image-rt-arm64"),
    ("preempt-rt", "laptop", AS_IT_IS, Warn, "voluntary", "pro enable realtime-kernel"),
    ("high-resolution-timers", "laptop", AS_IT_IS, Pass, "1 ns", ""),
    ("high-resolution-timers", "laptop", |f| (f.clock.resolution_ns, f.clock.high_resolution) = (Some(4_000_000), Some(false)), Fail, "4000 µs", "highres=on"),
    ("tick", "cnc-rt", AS_IT_IS, Pass, "250 Hz", ""),
    ("tick", "cnc-rt", |f| { f.kernel.options.insert("HZ_PERIODIC".into(), "y".into()); }, Warn, "never stops", "NO_HZ_IDLE"),
    ("tick", "cnc-rt", |f| f.kernel.command_line = Some("nohz=off".into()), Warn, "nohz=off", "take `nohz=off` off"),
    ("rt-throttling", "cnc-rt", AS_IT_IS, Pass, "off", ""),
    ("rt-throttling", "laptop", AS_IT_IS, Warn, "up to 50000 µs", "sysctl -w kernel.sched_rt_runtime_us=-1"),
    ("rt-throttling", "laptop", |f| f.scheduler.rt_runtime_us = Some(0), Fail, "no time", "950000"),
    ("preempt-rt", "vm", |f| f.kernel.installed = Some(false), Warn, "voluntary", "the host start this machine"),
    ("skew-tick", "laptop", AS_IT_IS, Warn, "tick together", "skew_tick=1"),
    ("skew-tick", "laptop", |f| f.kernel.command_line = Some("skew_tick=1".into()), Pass, "yes", ""),
    ("skew-tick", "laptop", |f| f.cpus.truncate(1), Na, "one CPU", ""),
    ("timer-migration", "cnc-rt", AS_IT_IS, Pass, "off", ""),
    ("timer-migration", "laptop", AS_IT_IS, Warn, "on", "kernel.timer_migration=0"),
    ("nmi-watchdog", "cnc-rt", AS_IT_IS, Pass, "off", ""),
    ("nmi-watchdog", "server", AS_IT_IS, Pass, "not on CPUs 28-31,60-63", ""),
    ("nmi-watchdog", "laptop", AS_IT_IS, Warn, "also on CPU 6", "nmi_watchdog=0"),
    ("soft-watchdog", "server", AS_IT_IS, Pass, "off", ""),
    ("soft-watchdog", "vm", AS_IT_IS, Warn, "also on CPU 1", "kernel.watchdog_cpumask=0"),
    ("real-time-core", "cnc-rt", AS_IT_IS, Na, "none", ""),
    ("real-time-core", "cnc-rt", |f| f.real_time_cores.cobalt = Some("3.3.1".into()), Pass, "Cobalt 3.3.1", ""),
    ("real-time-core", "cnc-rt", |f| { f.kernel.options.insert("XENOMAI".into(), "y".into()); }, Warn, "does not run", "xenomai.state=enabled"),
    ("real-time-core", "cnc-rt", |f| { f.kernel.options.insert("EVL".into(), "y".into()); }, Warn, "does not run", "evl.state=enabled"),
    ("real-time-core", "cnc-rt", |f| (f.real_time_cores.evl, f.real_time_cores.evl_state) = (Some("36".into()), Some("stopped".into())), Warn, "does not run", "echo start >"),
    ("real-time-core", "cnc-rt", |f| (f.real_time_cores.evl, f.real_time_cores.evl_state) = (Some("36".into()), Some("running".into())), Pass, "ABI 36", ""),
    ("clocksource", "cnc-rt", AS_IT_IS, Pass, "tsc", ""),
    ("clocksource", "arm-board", AS_IT_IS, Pass, "arch_sys_counter", ""),
    ("clocksource", "laptop", AS_IT_IS, Warn, "hpet", "dmesg"),
    ("clocksource", "cnc-rt", |f| f.clock.source = Some("hpet".into()), Warn, "hpet", "echo tsc >"),
    ("clocksource", "laptop", |f| f.clock.source = Some("jiffies".into()), Fail, "tick only", "dmesg"),
    ("tsc", "laptop", AS_IT_IS, Pass, "one speed", ""),
    ("tsc", "vm", AS_IT_IS, Warn, "nonstop_tsc", "invtsc"),
    ("tsc", "laptop", |f| f.processor.properties.clear(), Warn, "constant_tsc and nonstop_tsc", "idle=poll"),
    ("tsc", "arm-board", AS_IT_IS, Pass, "promises", ""),
    ("tsc", "arm-board", |f| f.clock.available.clear(), Na, "no TSC", ""),
    ("governor", "cnc-rt", AS_IT_IS, Pass, "performance", ""),
    ("governor", "laptop", AS_IT_IS, Warn, "powersave on CPU 6", "cpu6/cpufreq/scaling_governor"),
    ("governor", "arm-board", AS_IT_IS, Warn, "ondemand on CPU 3", "cpu3/cpufreq/scaling_governor"),
    ("governor", "vm", AS_IT_IS, Na, "only the host knows", "host's CPUs"),
    ("frequency-range", "cnc-rt", AS_IT_IS, Pass, "2500 MHz", ""),
    ("frequency-range", "laptop", AS_IT_IS, Warn, "400 to 4200 MHz", "echo 4200000"),
    ("turbo", "cnc-rt", AS_IT_IS, Pass, "off", ""),
    ("turbo", "laptop", AS_IT_IS, Warn, "on", "intel_pstate/no_turbo"),
    ("turbo", "server", AS_IT_IS, Warn, "on", "cpufreq/boost"),
    ("energy-preference", "cnc-rt", AS_IT_IS, Na, "no preference", ""),
    ("energy-preference", "laptop", AS_IT_IS, Warn, "balance_power", "cpu6/cpufreq/energy_performance_preference"),
    ("energy-preference", "laptop", |f| f.cpus.iter_mut().for_each(|c| c.frequency.preference = Some("performance".into())), Pass, "performance", ""),
    ("idle-states", "cnc-rt", AS_IT_IS, Pass, "C1, which takes up to 2 µs", ""),
    ("idle-states", "server", AS_IT_IS, Pass, "POLL", ""),
    ("idle-states", "laptop", AS_IT_IS, Pass, "C1", ""),
    ("idle-states", "laptop", |f| f.power.dma_latency_us = Some(2_000_000_000), Fail, "C10", "cpu6/cpuidle/state2/disable"),
    ("idle-states", "container", AS_IT_IS, Warn, "400 µs", "--cpu-dma-latency 0"),
    ("idle-states", "laptop", |f| { f.power.dma_latency_us = None; f.kernel.command_line = Some("idle=poll".into()); }, Pass, "poll", ""),
    ("idle-states", "laptop", |f| f.cpus.iter_mut().flat_map(|c| &mut c.idle_states).for_each(|s| s.exit_latency_us = None), Na, "could not be read", ""),
    ("idle-states", "arm-board", AS_IT_IS, Warn, "cpu-sleep, which takes up to 250 µs", "cpuidle.off=1"),
    ("idle-states", "arm-board", |f| f.kernel.command_line = Some("nohlt".into()), Pass, "poll (nohlt)", ""),
    ("idle-states", "vm", AS_IT_IS, Na, "only the host knows", "idle=poll"),
    ("cpu-dma-latency", "cnc-rt", AS_IT_IS, Pass, "none", ""),
    ("cpu-dma-latency", "laptop", AS_IT_IS, Warn, "100 µs, held by pipewire (pid 900)", "kill 900"),
    ("cpu-dma-latency", "container", AS_IT_IS, Na, "root only", ""),
    ("thermal-throttling", "cnc-rt", AS_IT_IS, Pass, "never", ""),
    ("thermal-throttling", "laptop", AS_IT_IS, Warn, "40 times", "cooling"),
    ("power-supply", "arm-board", AS_IT_IS, Fail, "this moment", "supply"),
    ("power-supply", "arm-board", |f| f.power.firmware_throttled = Some(0x5_0000), Warn, "since the start", "supply"),
    ("power-supply", "arm-board", |f| f.power.firmware_throttled = Some(0), Pass, "enough", ""),
    ("cpu-count", "vm", AS_IT_IS, Pass, "0", ""),
    ("cpu-count", "vm", |f| f.cpus.truncate(1), Fail, "one CPU only", "two cores"),
    ("cpu-count", "vm", |f| f.process.allowed_cpus = "1".parse().ok(), Warn, "one only", "taskset -c 0-1"),
    ("isolated-cpus", "cnc-rt", AS_IT_IS, Pass, "2-3", ""),
    ("isolated-cpus", "laptop", AS_IT_IS, Warn, "CPU 6 is not", "isolcpus=managed_irq,domain,6"),
    ("nohz-full", "cnc-rt", AS_IT_IS, Pass, "2-3", ""),
    ("nohz-full", "laptop", AS_IT_IS, Warn, "CPU 6 is ticking", "nohz_full=6"),
    ("nohz-full", "arm-board", AS_IT_IS, Na, "NO_HZ_FULL", ""),
    ("rcu-nocbs", "server", AS_IT_IS, Pass, "28-31,60-63", ""),
    ("rcu-nocbs", "arm-board", AS_IT_IS, Warn, "CPU 3", "rcu_nocbs=3"),
    ("smt", "cnc-rt", AS_IT_IS, Pass, "no other thread", ""),
    ("smt", "laptop", AS_IT_IS, Warn, "CPU 2 is the second thread", "echo 0 > /sys/devices/system/cpu/cpu2/online"),
    ("smt", "server", AS_IT_IS, Pass, "use one of each", ""),
    ("workqueues", "cnc-rt", AS_IT_IS, Pass, "0-1", ""),
    ("workqueues", "laptop", AS_IT_IS, Warn, "includes CPU 6", "echo bf > /sys/devices/virtual/workqueue/cpumask"),
    ("numa-node", "cnc-rt", AS_IT_IS, Na, "one node", ""),
    ("numa-node", "server", AS_IT_IS, Pass, "node 1", ""),
    ("numa-node", "server", |f| (f.isolation.isolated, f.process.allowed_cpus) = ("2,30".parse().ok(), None), Warn, "2 nodes", "on 2 only"),
    ("irq-affinity", "cnc-rt", AS_IT_IS, Pass, "none on CPUs 2-3", ""),
    ("irq-affinity", "vm", AS_IT_IS, Warn, "IRQ 26 (virtio1-req.0)", "echo 0 > /proc/irq/26/smp_affinity_list"),
    ("irq-affinity", "vm", |f| f.interrupts.lines.iter_mut().for_each(|line| line.fixed = true), Warn, "keeps them there", "isolcpus=managed_irq,domain,1"),
    ("irq-affinity", "arm-board", AS_IT_IS, Warn, "IRQ 14", "--isolate 3"),
    ("default-irq-affinity", "cnc-rt", AS_IT_IS, Pass, "0-1", ""),
    ("default-irq-affinity", "laptop", AS_IT_IS, Warn, "includes CPU 6", "echo bf > /proc/irq/default_smp_affinity"),
    ("irqbalance", "cnc-rt", AS_IT_IS, Pass, "does not run", ""),
    ("irqbalance", "cnc-rt", |f| f.interrupts.irqbalance_running = Some(true), Pass, "keeps off CPUs 2-3", ""),
    ("irqbalance", "laptop", AS_IT_IS, Warn, "runs", "IRQBALANCE_BANNED_CPULIST=6"),
    ("irqbalance", "container", AS_IT_IS, Na, "could not be read", ""),
    ("smi", "cnc-rt", AS_IT_IS, Pass, "none", ""),
    ("smi", "laptop", AS_IT_IS, Warn, "951 since the start, 171.2 an hour", "firmware"),
    ("smi", "arm-board", AS_IT_IS, Na, "none on this kind of processor", ""),
    ("smi", "vm", AS_IT_IS, Na, "does not count", "rdmsr"),
    ("smi", "server", AS_IT_IS, Na, "could not be read", "modprobe msr"),
    ("swap", "cnc-rt", AS_IT_IS, Pass, "none", ""),
    ("swap", "vm", AS_IT_IS, Warn, "97 MiB in use", "swapoff -a"),
    ("free-memory", "laptop", AS_IT_IS, Pass, "5859 of 15625 MiB", ""),
    ("free-memory", "laptop", |f| f.memory.available_bytes = Some(1 << 20), Warn, "1 of", "stop programs"),
    ("huge-pages", "cnc-rt", AS_IT_IS, Pass, "never", ""),
    ("huge-pages", "laptop", AS_IT_IS, Warn, "always", "echo madvise"),
    ("swappiness", "cnc-rt", |f| (f.memory.swap_total_bytes, f.memory.swappiness) = (Some(0), Some(60)), Pass, "no swap", ""),
    ("swappiness", "laptop", |f| (f.memory.swap_total_bytes, f.memory.swappiness) = (Some(1 << 30), Some(10)), Pass, "10 of 200", ""),
    ("swappiness", "laptop", |f| (f.memory.swap_total_bytes, f.memory.swappiness) = (Some(1 << 30), Some(60)), Warn, "60 of 200", "sysctl -w vm.swappiness=10"),
    ("threaded-interrupts", "cnc-rt", AS_IT_IS, Pass, "real-time kernel", ""),
    ("threaded-interrupts", "laptop", AS_IT_IS, Warn, "no: drivers'", "threadirqs"),
    ("threaded-interrupts", "laptop", |f| f.kernel.command_line = Some("threadirqs".into()), Pass, "threadirqs", ""),
    ("dma-latency-permission", "laptop", |f| f.power.dma_latency_writable = Some(true), Pass, "may", ""),
    ("dma-latency-permission", "laptop", |f| f.power.dma_latency_writable = Some(false), Warn, "may not", "chown"),
    ("dma-latency-permission", "container", |f| f.power.dma_latency_writable = Some(false), Warn, "may not", "--device"),
    ("memory-statistics", "laptop", |f| f.memory.stat_interval_s = Some(1), Warn, "every 1 s", "vm.stat_interval=10"),
    ("memory-statistics", "laptop", |f| f.memory.stat_interval_s = Some(120), Pass, "every 120 s", ""),
    ("same-page-merging", "laptop", |f| f.memory.same_page_merging = Some(true), Warn, "on", "echo 0 > /sys/kernel/mm/ksm/run"),
    ("same-page-merging", "laptop", |f| f.memory.same_page_merging = Some(false), Pass, "off", ""),
    ("access-times", "laptop", |f| f.memory.access_times = Some(vec!["/".into()]), Warn, "each reading on /", "noatime"),
    ("access-times", "laptop", |f| f.memory.access_times = Some(vec![]), Pass, "seldom", ""),
    ("numa-balancing", "laptop", AS_IT_IS, Pass, "off", ""),
    ("numa-balancing", "server", AS_IT_IS, Warn, "between 2 nodes", "numa_balancing=disable"),
    ("memory-errors", "laptop", AS_IT_IS, Na, "does not count", ""),
    ("memory-errors", "server", |f| (f.activity.corrected_memory_errors, f.activity.uncorrected_memory_errors) = (Some(0), Some(0)), Pass, "none", ""),
    ("memory-errors", "server", |f| f.activity.corrected_memory_errors = Some(3), Warn, "3 corrected", "edac"),
    ("memory-errors", "laptop", |f| f.interrupts.lines.push(Interrupt { id: "MCE".into(), counts: [(1, 2)].into(), ..Interrupt::default() }), Fail, "2 machine checks", "dmesg"),
    ("virtual-machine", "cnc-rt", AS_IT_IS, Pass, "no", ""),
    ("virtual-machine", "vm", AS_IT_IS, Warn, "under QEMU", "<vcpupin>"),
    ("virtual-machine", "arm-board", AS_IT_IS, Pass, "no", ""),
    ("virtual-machine", "arm-board", |f| f.virtualisation.virtual_machine = None, Na, "does not say", ""),
    ("steal", "cnc-rt", AS_IT_IS, Na, "no hypervisor", ""),
    ("steal", "vm", AS_IT_IS, Fail, "6.9 % of the time of CPU 1", "virtual CPUs"),
    ("steal", "vm", |f| f.cpus.iter_mut().for_each(|c| c.times.as_mut().unwrap().steal_ns = 0), Pass, "none", ""),
    ("steal", "vm", |f| f.cpus.iter_mut().for_each(|c| c.times.as_mut().unwrap().steal_ns = 10_000_000), Warn, "2.98e-6 of the time", "virtual CPUs"),
    ("kernel-threads", "cnc-rt", AS_IT_IS, Pass, "none on CPUs 2-3", ""),
    ("kernel-threads", "cnc-rt", |f| f.real_time_threads.push(RealTimeThread { pid: 91, name: "irq/16-usb".into(), kernel: true, policy: "fifo".into(), priority: 50, cpu: Some(3) }), Pass, "irq/16-usb (fifo:50), less urgent than a task's fifo:80", ""),
    ("kernel-threads", "cnc-rt", |f| f.real_time_threads.push(RealTimeThread { pid: 91, name: "irq/16-usb".into(), kernel: true, policy: "fifo".into(), priority: 90, cpu: Some(3) }), Warn, "irq/16-usb (fifo:90)", "taskset -cp 0-1 91"),
    ("kernel-threads", "container", AS_IT_IS, Na, "could not be read", ""),
    ("real-time-programs", "cnc-rt", AS_IT_IS, Pass, "none", ""),
    ("real-time-programs", "laptop", |f| f.real_time_threads.iter_mut().for_each(|t| t.priority = 60), Pass, "pipewire (rr:60), less urgent", ""),
    ("real-time-programs", "laptop", |f| { let t = f.real_time_threads.iter().find(|t| !t.kernel).unwrap().clone(); f.real_time_threads.push(RealTimeThread { pid: 901, ..t }); }, Warn, "pipewire", "for p in 900 901; do taskset -acp 0-5,7 $p; done"),
    ("real-time-programs", "laptop", AS_IT_IS, Warn, "pipewire (rr:88)", "taskset -acp 0-5,7 900"),
    ("other-measurements", "cnc-rt", AS_IT_IS, Pass, "no other program", ""),
    ("other-measurements", "cnc-rt", |f| f.measuring.push(Program { pid: 4711, name: "cyclictest".into(), kernel: false }), Warn, "cyclictest (process 4711)", "kill 4711"),
    ("other-measurements", "cnc-rt", |f| f.measuring.push(Program { pid: 90, name: "timerlat/1".into(), kernel: true }), Warn, "timerlat/1", "current_tracer"),
    ("graphics", "cnc-rt", |f| f.devices.graphics = Some(vec![]), Pass, "no graphics card", ""),
    ("graphics", "cnc-rt", |f| f.devices.graphics = None, Na, "no devices", ""),
    ("graphics", "cnc-rt", |f| f.devices.graphics = Some(vec!["nvidia".into()]), Warn, "NVIDIA's own", "nouveau"),
    ("graphics", "cnc-rt", |f| f.devices.graphics = Some(vec!["i915".into()]), Warn, "i915", "i915.enable_dc=0"),
    ("graphics", "cnc-rt", |f| { f.devices.graphics = Some(vec!["i915".into()]); f.kernel.command_line = Some("i915.enable_dc=0".into()); }, Pass, "i915", ""),
    ("iommu", "cnc-rt", |f| f.devices.translated = None, Na, "none", ""),
    ("iommu", "cnc-rt", |f| f.devices.translated = Some(0), Pass, "directly", ""),
    ("iommu", "cnc-rt", |f| f.devices.translated = Some(12), Warn, "12 groups", "iommu.passthrough=1"),
    ("load", "cnc-rt", AS_IT_IS, Pass, "0.05 tasks", ""),
    ("load", "vm", AS_IT_IS, Warn, "1.90 tasks", "top"),
    ("mitigations", "cnc-rt", AS_IT_IS, Pass, "switched off", ""),
    ("mitigations", "laptop", AS_IT_IS, Warn, "mds, meltdown", "mitigations=off"),
    ("mitigations", "arm-board", AS_IT_IS, Na, "lists no", ""),
];

#[test]
fn every_case_comes_out_as_it_should() {
    let machines: BTreeMap<&str, SystemFacts> =
        Machine::ALL.iter().map(|name| (*name, facts(name))).collect();
    for &(id, machine, change, status, found, remedy) in CASES {
        let mut f = machines[machine].clone();
        change(&mut f);
        let report = report(&f);
        let check = report.checks.iter().find(|c| c.id == id).unwrap_or_else(|| panic!("no check {id}"));
        assert_eq!(check.status, status, "{id} on {machine}: {check:?}");
        let text = words::finding(check);
        assert!(text.contains(found), "{id} on {machine}: found {text:?}");
        let remedies: Vec<String> = check.remedies.iter().map(|r| words::remedy_text(check, r)).collect();
        let named = remedy.is_empty() || remedies.iter().any(|text| text.contains(remedy));
        assert!(named, "{id} on {machine}: {remedies:?}");
    }
}

#[test]
fn every_check_can_pass_and_can_find_fault() {
    let ids: Vec<&str> = TOPICS.iter().flat_map(|(_, rules)| *rules).map(|rule| rule.id).collect();
    assert!(ids.len() >= 25, "{}", ids.len());
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "each name once");
    for id in ids {
        let outcomes: Vec<Status> = CASES.iter().filter(|case| case.0 == id).map(|case| case.3).collect();
        assert!(outcomes.contains(&Pass), "{id} never passes");
        assert!(outcomes.contains(&Warn) || outcomes.contains(&Fail), "{id} never finds fault");
    }
}

#[test]
fn whatever_is_found_wrong_has_a_remedy() {
    for name in Machine::ALL {
        for check in report(&facts(name)).checks {
            let wrong = matches!(check.status, Warn | Fail);
            assert!(!wrong || !check.remedies.is_empty(), "{} on {name}", check.id);
        }
    }
}

#[test]
fn a_machine_that_says_nothing_passes_nothing() {
    let passed: Vec<String> = report(&SystemFacts::default())
        .checks
        .into_iter()
        .filter(|c| c.status != Na && c.id != "container")
        .map(|c| c.id)
        .collect();
    assert_eq!(passed, Vec::<String>::new());
}

#[test]
fn a_prepared_machine_is_ready_and_a_laptop_is_not() {
    let prepared = report(&facts("cnc-rt"));
    assert!(prepared.is_ready());
    assert_eq!(prepared.count(Warn), 0, "{:#?}", prepared.checks);
    assert!(!report(&facts("laptop")).is_ready());
}

#[test]
fn what_fails_leads_and_what_costs_most_here_comes_first() {
    let mut laptop = facts("laptop");
    laptop.process.group_limits.push(GroupLimit {
        file: "/sys/fs/cgroup/cpu.max".into(),
        quota_us: 20_000,
        period_us: 100_000,
        lifted: "max 100000".into(),
    });
    let report = report(&laptop);
    let faults = report.faults();
    let ids = |status: Status| -> Vec<&str> {
        faults.iter().filter(|check| check.status == status).map(|check| check.id.as_str()).collect()
    };
    assert_eq!(ids(Fail), ["rtprio", "preemption"], "{faults:#?}");
    // The group's limit shows how long it stops a program: here 80 ms.
    let warned = ids(Warn);
    assert_eq!(warned[..2], ["group-limits", "preempt-rt"], "{warned:?}");
    assert!(warned[2..].contains(&"governor"), "{warned:?}");
    assert!(faults.iter().zip(&faults[1..]).all(|(a, b)| a.status <= b.status));
}

#[test]
fn on_a_machine_whose_host_supplies_the_kernel_nobody_is_sent_to_a_boot_loader() {
    let mut vm = facts("vm");
    vm.kernel.installed = Some(false);
    let report = report(&vm);
    assert_eq!(report.kernel_parameters, "");
    let by_hand = |check: &Check| {
        check.remedies.iter().any(|of| matches!(of.kind, RemedyKind::KernelParameter | RemedyKind::Machine))
    };
    assert!(!report.checks.iter().any(by_hand), "{:#?}", report.checks);
}

#[test]
fn kernel_parameters_are_gathered_with_the_way_to_set_them() {
    let laptop = report(&facts("laptop"));
    assert!(laptop.kernel_parameters.starts_with("preempt=full "), "{}", laptop.kernel_parameters);
    assert_eq!(laptop.kernel_parameters.matches("irqaffinity=").count(), 1);
    assert!(!laptop.kernel_parameters.contains("mitigations"), "security is not given up in passing");
    let place = |name: &str| report(&facts(name)).kernel_parameters_place;
    assert_eq!(laptop.kernel_parameters_place, CommandLinePlace::UpdateGrub);
    assert_eq!(
        (place("server"), place("arm-board")),
        (CommandLinePlace::Grubby, CommandLinePlace::CmdlineTxt)
    );
}

#[test]
fn in_a_container_what_belongs_to_the_kernel_is_the_hosts() {
    let container = report(&facts("container"));
    let check = container.checks.iter().find(|c| c.id == "timer-migration").unwrap();
    assert!(check.remedies.iter().all(|r| r.kind == RemedyKind::Host), "{check:?}");
    assert_eq!(container.kernel_parameters, "");
}

/// Machines for the checks that no case above covers.
fn more_machines() -> Vec<SystemFacts> {
    #[rustfmt::skip]
    const CHANGES: &[(&str, Change)] = &[
        ("cnc-rt", |f| f.clock.source = Some("another".into())),
        ("vm", |f| (f.clock.source, f.clock.available) = (Some("hpet".into()), vec![])),
        ("vm", |f| f.cpus.clear()),
        ("vm", |f| (f.kernel.installed, f.kernel.preemption_dynamic) = (Some(false), Some(false))),
        ("vm", |f| f.cpus.iter_mut().for_each(|c| c.siblings = CpuSet::new())),
        ("vm", |f| f.virtualisation.hypervisor = None),
        ("laptop", |f| f.power.dma_latency_holders.clear()),
        ("laptop", |f| { f.clock.high_resolution = Some(false); f.kernel.command_line = Some("highres=off tsc=unstable".into()); }),
        ("laptop", |f| f.cpus.iter_mut().flat_map(|c| &mut c.idle_states).for_each(|s| s.disabled = Some(true))),
        ("laptop", |f| (f.process.limits.memlock, f.process.limits.rtprio) = (Some(Limit::AtMost(1 << 30)), Some(Limit::Unlimited))),
        ("laptop", |f| (f.scheduler.numa_balancing, f.scheduler.watchdog_cpus) = (Some(true), "0".parse().ok())),
        ("laptop", |f| (f.isolation.isolated, f.process.allowed_cpus) = ("2,6".parse().ok(), "0-1,3-7".parse().ok())),
        ("laptop", |f| f.processor.properties.retain(|p| p != "nonstop_tsc")),
        ("cnc-rt", |f| f.real_time_cores.evl = Some("33".into())),
        ("server", |f| f.cpus.iter_mut().filter(|c| c.id > 27).for_each(|c| c.numa_node = None)),
    ];
    let changed = CHANGES.iter().map(|(name, change)| {
        let mut facts = facts(name);
        change(&mut facts);
        facts
    });
    let laptop = facts("laptop");
    let distributions = ["debian", "ubuntu debian", "rhel fedora", "arch", "sles suse", "gentoo"];
    let installed =
        distributions.into_iter().zip(["x86_64", "", "", "", "", ""]).chain([("debian", "s390x")]);
    let installed = installed.map(|(family, architecture)| {
        let mut facts = laptop.clone();
        facts.kernel.distribution_family = Some(family.into());
        facts.kernel.architecture = Some(architecture.into());
        facts.kernel.preemption_dynamic = Some(false);
        facts
    });
    changed.chain(installed).chain([SystemFacts::default()]).collect()
}

/// Every finding and every piece of advice has its words, all their quantities are given, and no words are left over.
#[test]
fn words_and_rules_fit_each_other() {
    let machines: BTreeMap<&str, SystemFacts> =
        Machine::ALL.iter().map(|name| (*name, facts(name))).collect();
    let of_cases = CASES.iter().map(|&(_, machine, change, ..)| {
        let mut facts = machines[machine].clone();
        change(&mut facts);
        facts
    });
    let mut used = BTreeSet::new();
    for facts in of_cases.chain(machines.values().cloned()).chain(more_machines()) {
        for check in report(&facts).checks {
            used.insert(format!("{}: {}", check.id, check.found));
            let mut texts = vec![words::finding(&check)];
            for remedy in &check.remedies {
                if let Action::Advice(id) = &remedy.action {
                    used.insert(format!("{}: {id}", check.id));
                }
                texts.push(words::remedy_text(&check, remedy));
            }
            for text in texts {
                assert!(!text.is_empty() && !text.contains(['[', ']']), "{check:?}: {text}");
                let placeholder = text.split_once('{').is_some_and(|(_, rest)| {
                    rest.starts_with(|c: char| c.is_ascii_alphabetic()) && !rest.contains(',')
                });
                assert!(!placeholder, "{check:?}: {text}");
            }
        }
    }
    let known: BTreeSet<String> = words::all_ids().into_iter().collect();
    let missing: Vec<_> = used.difference(&known).collect();
    let unused: Vec<_> = known.difference(&used).collect();
    assert!(missing.is_empty() && unused.is_empty(), "without words: {missing:?}; never used: {unused:?}");
}
