//! Against the trees of other machines, so that no test disturbs this one.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use super::*;
use crate::changes::restore;
use crate::facts::read;
use crate::facts::tests::fixture::Machine;

/// Everything below a folder except jitterlab's own files, by name.
fn contents(root: &Root) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.path("")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                let text = fs::read(entry.path()).unwrap();
                // A choice is put back by its name alone, where a kernel would show it among the others.
                let text = String::from_utf8_lossy(text.trim_ascii()).into_owned();
                found.insert(entry.path(), bracketed_choice(&text).to_owned());
            }
        }
    }
    found
}

/// Files of the kernel for a network card, and for the loopback, which is no card.
const NETWORK: &str = "=== sys/class/net/eth0/threaded
0
=== sys/class/net/eth0/gro_flush_timeout
0
=== sys/class/net/eth0/napi_defer_hard_irqs
0
=== sys/class/net/eth0/device/vendor
0x8086
=== sys/class/net/lo/threaded
0
=== sys/kernel/rcu_normal
0
";

/// Knobs that can be tried without touching this machine: threads are those of the running one.
fn offered(root: &Root) -> Vec<ApplicableKnob> {
    // Threads and their groups are those of the running machine.
    const REAL: [Knob; 4] = [Knob::OtherThreads, Knob::SmtSibling, Knob::Cpuset, Knob::KernelThreads];
    let wanted: Vec<Knob> = Knob::ALL.into_iter().filter(|knob| !REAL.contains(knob)).collect();
    let facts = read(root);
    let cpus = facts.usable_cpus().iter().next_back().into_iter().collect();
    applicable_knobs(root, &facts, &cpus, (&TaskSpec::default(), "self"), &wanted).0
}

fn begin(root: &Root) -> Alteration {
    let usable = read(root).usable_cpus();
    let cpus = usable.iter().next_back().into_iter().collect();
    Alteration::begin(root, &cpus, &usable, &[]).unwrap()
}

#[test]
fn every_knob_of_every_machine_is_read_back_and_put_back() {
    let mut tried = std::collections::HashSet::new();
    for name in ["cnc-rt", "laptop", "server", "vm", "arm-board"] {
        let machine = Machine::named(name);
        machine.add(NETWORK);
        let root = machine.root();
        let before = contents(&root);
        for one in offered(&root).iter().filter(|one| changes_machine(one)) {
            let mut alteration = begin(&root);
            apply_to_machine(one, &mut alteration)
                .unwrap_or_else(|error| panic!("{name}, {}: {error}", one.knob));
            let changed = contents(&root);
            for step in &one.steps {
                if let Step::File { file, value } = step {
                    assert_eq!(changed.get(&root.path(file.trim_start_matches('/'))), Some(value), "{name}");
                }
            }
            assert_ne!(changed, before, "{name}, {}", one.knob);
            assert_eq!(alteration.end(), Vec::<String>::new());
            assert_eq!(contents(&root), before, "{name}, {}", one.knob);
            tried.insert(one.knob);
        }
    }
    // Knobs that at least one of these machines has.
    for knob in [
        Knob::Governor,
        Knob::IdleStates,
        Knob::Turbo,
        Knob::HugePages,
        Knob::Interrupts,
        Knob::RcuNormal,
        Knob::NetworkThreads,
        Knob::NetworkCoalescing,
    ] {
        assert!(tried.contains(&knob), "{knob} of {tried:?}");
    }
}

#[test]
fn all_at_once_are_put_back_after_a_crash() {
    let machine = Machine::named("laptop");
    let root = machine.root();
    let before = contents(&root);
    let mut alteration = begin(&root);
    for one in offered(&root).iter().filter(|one| changes_machine(one)) {
        apply_to_machine(one, &mut alteration).unwrap();
    }
    assert_ne!(contents(&root), before);
    std::mem::forget(alteration);
    assert_eq!(restore(&root), [], "whoever set them lives");
    let folder = root.path("run/jitterlab");
    let mut journal = fs::read_dir(&folder).unwrap().flatten().map(|entry| entry.path());
    let journal = journal.find(|path| path.extension().is_some_and(|end| end == "journal")).unwrap();
    // As if it had been another process, long gone.
    let text = fs::read_to_string(&journal).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    let mut owner: serde_json::Value = serde_json::from_str(first).unwrap();
    owner["process"]["started"] = 1.into();
    fs::write(&journal, format!("{owner}\n{rest}")).unwrap();
    let restored = restore(&root);
    assert!(restored.len() == 1 && restored[0].problems.is_empty(), "{restored:?}");
    assert_eq!(contents(&root), before);
}

#[test]
fn what_is_set_already_or_not_there_is_not_tried() {
    let machine = Machine::named("laptop");
    let root = machine.root();
    machine.add("=== proc/sys/kernel/timer_migration\n0\n");
    machine.without("sys/kernel/debug/sched/preempt");
    let facts = read(&root);
    let cpus: CpuSet = "7".parse().unwrap();
    let wanted = [Knob::TimerMigration, Knob::Preemption, Knob::Policy];
    let (offered, left) = applicable_knobs(&root, &facts, &cpus, (&TaskSpec::default(), "self"), &wanted);
    assert_eq!(offered, []);
    let why = |knob: Knob| left.iter().find(|left| left.knob == knob).map(|left| left.why.clone());
    assert_eq!(why(Knob::TimerMigration), Some(LeftOut::Already));
    assert_eq!(why(Knob::Preemption), Some(LeftOut::Absent));
    assert!(matches!(why(Knob::Policy), Some(LeftOut::Refused { .. })), "it may use no priority: {left:?}");
    let machine = Machine::named("cnc-rt");
    let facts = read(&machine.root());
    let other = TaskSpec { policy: Some(jitterlab_model::Policy::Other), ..TaskSpec::default() };
    let (offered, _) = applicable_knobs(&machine.root(), &facts, &cpus, (&other, "self"), &[Knob::Policy]);
    let with = apply_task_settings(&offered[0], other.clone()).unwrap();
    assert_eq!((with.policy, with.name), (Some("fifo:80".parse().unwrap()), other.name));
}

/// Steps offered by one knob for a task on the last CPU of a machine.
fn of_task(name: &str, more: &str, task: &str, knob: Knob) -> Result<Vec<Step>, LeftOut> {
    let machine = Machine::named(name);
    machine.add(more);
    let facts = read(&machine.root());
    let cpus = facts.usable_cpus().iter().next_back().into_iter().collect();
    let (mut offered, mut left) =
        applicable_knobs(&machine.root(), &facts, &cpus, (&task.parse().unwrap(), "self"), &[knob]);
    offered.pop().map(|offered| offered.steps).ok_or_else(|| left.remove(0).why)
}

#[test]
fn loopback_is_no_card_and_other_cards_are_all_set() {
    let steps = of_task("laptop", NETWORK, "period=1ms", Knob::NetworkThreads);
    let file = Step::File { file: "/sys/class/net/eth0/threaded".into(), value: "1".into() };
    assert_eq!(steps, Ok(vec![file]));
    assert_eq!(of_task("vm", "", "period=1ms", Knob::NetworkCoalescing), Err(LeftOut::Absent));
}

#[test]
fn every_limit_on_the_processor_time_of_a_group_is_lifted_and_none_where_there_is_none() {
    let fair = "=== proc/self/cgroup
4:cpu,cpuacct:/a/b
0::/
=== sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us
-1
=== sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us
100000
=== sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us
20000
=== sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us
100000
=== sys/fs/cgroup/cpu,cpuacct/a/cpu.rt_runtime_us
500000
=== sys/fs/cgroup/cpu,cpuacct/a/b/cpu.rt_runtime_us
200000
=== sys/fs/cgroup/cpu,cpuacct/a/b/cpu.rt_period_us
1000000
";
    let set =
        |file: &str, value: &str| Step::File { file: format!("/sys/fs/cgroup/{file}"), value: value.into() };
    let folder = "cpu,cpuacct/a/b";
    assert_eq!(
        of_task("cnc-rt", fair, "period=1ms", Knob::GroupLimits),
        Ok(vec![
            set(&format!("{folder}/cpu.cfs_quota_us"), "-1"),
            set(&format!("{folder}/cpu.rt_runtime_us"), "500000")
        ])
    );
    let unified = "=== proc/self/cgroup
0::/a/b
=== sys/fs/cgroup/a/cpu.max
50000 100000
=== sys/fs/cgroup/a/b/cpu.max
max 100000
";
    assert_eq!(
        of_task("laptop", unified, "period=1ms", Knob::GroupLimits),
        Ok(vec![set("a/cpu.max", "max 100000")])
    );
    assert_eq!(of_task("cnc-rt", "", "period=1ms", Knob::GroupLimits), Err(LeftOut::Absent));
}

#[test]
fn what_shares_the_core_is_kept_off_and_the_rest_has_a_place() {
    let Ok(steps) = of_task("laptop", "=== run/lock/none\n\n", "period=1ms", Knob::SmtSibling) else {
        panic!("no sibling")
    };
    let [Step::Siblings { off, to }] = &steps[..] else { panic!("{steps:?}") };
    let facts = read(&Machine::named("laptop").root());
    let own = facts.usable_cpus().iter().next_back().unwrap();
    assert!(off.iter().all(|cpu| cpu != own && facts.cpu(own).unwrap().siblings.contains(cpu)), "{off}");
    assert!(!to.is_empty() && !to.overlaps(off) && !to.contains(own), "{to}");
}

#[test]
fn what_is_of_no_use_to_a_task_is_not_tried_of_it() {
    let ordinary = "policy=other";
    for knob in [Knob::Priority, Knob::KernelThreads] {
        assert!(
            matches!(
                of_task("cnc-rt", "", ordinary, knob),
                Err(LeftOut::NotOfTask | LeftOut::Refused { .. })
            ),
            "{knob}"
        );
    }
    let sets = |parts: &str| Ok(vec![Step::Task { parts: parts.into() }]);
    assert_eq!(of_task("cnc-rt", "", "wake=nanosleep", Knob::WakeUp), sets("wake=timerfd"));
    assert_eq!(of_task("cnc-rt", "", "wake=timerfd", Knob::WakeUp), sets("wake=nanosleep"));
    assert_eq!(of_task("cnc-rt", "", "wake=spin,policy=fifo:80", Knob::WakeUp), Err(LeftOut::NotOfTask));
    assert_eq!(of_task("cnc-rt", "", "wake=spin,policy=fifo:80", Knob::WakeEarly), Err(LeftOut::NotOfTask));
}
