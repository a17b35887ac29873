//! The choice on the machines of the tests and on machines of every shape.

use jitterlab_model::facts::{Cache, Cpu};
use proptest::prelude::*;

use super::*;
use crate::facts::read;
use crate::facts::tests::fixture::Machine;

fn tasks(cpus: &[Option<u16>]) -> Vec<TaskSpec> {
    cpus.iter().map(|cpu| TaskSpec { cpu: *cpu, ..TaskSpec::default() }).collect()
}

/// CPUs of the tasks, housekeeping, reasons.
fn chosen(facts: &SystemFacts, cpus: &[Option<u16>]) -> (Vec<u16>, String, Vec<PlacementReason>) {
    let choice = choose_cpus(facts, &tasks(cpus));
    (choice.cpus, choice.housekeeping.to_string(), choice.because)
}

/// A machine of `packages` x `cores` with `threads` each, numbered as Linux does on PCs: all first threads, then
/// all second ones.
fn machine(packages: u16, cores: u16, threads: u16) -> SystemFacts {
    let all = packages * cores;
    let mut facts = SystemFacts::default();
    for id in 0..all * threads {
        let core = id % all;
        let siblings = (0..threads).map(|t| core + t * all).collect();
        facts.cpus.push(Cpu { id, package: Some(core / cores), siblings, ..Cpu::default() });
    }
    for package in 0..packages {
        let cpus = facts.cpus.iter().filter(|c| c.package == Some(package)).map(|c| c.id).collect();
        facts.caches.push(Cache { level: 3, size_bytes: None, cpus });
    }
    facts
}

#[test]
fn the_machines_of_the_tests() {
    type Case = (&'static str, &'static [Option<u16>], &'static [u16], &'static str, Option<PlacementReason>);
    let siblings =
        |cpus: &str, isolated| PlacementReason::FreeSiblings { cpus: cpus.parse().unwrap(), isolated };
    let cases: [Case; 10] = [
        ("cnc-rt", &[None], &[3], "0-1", Some(PlacementReason::Isolated)),
        ("cnc-rt", &[None, None], &[3, 2], "0-1", Some(PlacementReason::SharedCache { level: 3 })),
        ("cnc-rt", &[None, None, None], &[3, 2, 3], "0-1", Some(PlacementReason::Isolated)),
        ("laptop", &[None], &[6], "0-1,3-5,7", Some(siblings("2", false))),
        ("laptop", &[None, None], &[6, 5], "0,3-4,7", Some(PlacementReason::AwayFromZero)),
        ("vm", &[None], &[1], "0", Some(PlacementReason::AwayFromZero)),
        ("vm", &[None, None], &[1, 1], "0", Some(PlacementReason::AwayFromZero)),
        ("container", &[None], &[5], "4", None),
        ("arm-board", &[None], &[3], "0-2", Some(PlacementReason::Isolated)),
        ("server", &[None, None], &[63, 62], "0-27,32-59", Some(siblings("30-31", true))),
    ];
    for (name, wanted, cpus, housekeeping, reason) in cases {
        let (c, h, r) = chosen(&read(&Machine::named(name).root()), wanted);
        assert_eq!((c.as_slice(), h.as_str()), (cpus, housekeeping), "{name} {wanted:?}: {r:?}");
        assert!(reason.is_none_or(|reason| r.contains(&reason)), "{name}: {r:?}");
    }
}

#[test]
fn what_was_asked_for_is_kept() {
    let facts = machine(1, 4, 1);
    assert_eq!(chosen(&facts, &[Some(0), Some(0)]).0, [0, 0]);
    let (cpus, housekeeping, reason) = chosen(&facts, &[Some(2), None]);
    assert_eq!((cpus.as_slice(), housekeeping.as_str()), ([2, 3].as_slice(), "0-1"));
    assert_eq!(reason[0], PlacementReason::AwayFromZero);
    assert_eq!(chosen(&machine(1, 2, 1), &[Some(0), None]).0, [0, 0], "one CPU is left to the system");
}

#[test]
fn a_single_cpu_works() {
    let (cpus, housekeeping, reason) = chosen(&machine(1, 1, 1), &[None, None]);
    assert_eq!((cpus.as_slice(), housekeeping.as_str()), ([0, 0].as_slice(), "0"));
    assert_eq!(reason, [PlacementReason::OnlyOne]);
    assert_eq!(chosen(&machine(1, 1, 2), &[None]).0, [1], "the sibling of CPU 0, for want of another core");
}

#[test]
fn a_machine_that_says_nothing_gets_an_answer_that_says_so() {
    let (cpus, _, reason) = chosen(&SystemFacts::default(), &[None]);
    assert_eq!(cpus, [0]);
    assert_eq!(reason, [PlacementReason::NoneListed]);
    assert!(choose_cpus(&machine(1, 4, 1), &[]).cpus.is_empty());
}

#[test]
fn a_cpu_busy_with_a_device_is_avoided() {
    let mut facts = machine(1, 4, 1);
    facts.uptime_s = Some(10.0);
    let counts = [(3, 100_000)].into();
    facts.interrupts.lines =
        vec![jitterlab_model::facts::Interrupt { id: "30".into(), counts, ..Default::default() }];
    assert_eq!(chosen(&facts, &[None]).0, [2]);
}

#[test]
fn impossible_cpus_are_refused_with_what_there_is() {
    let facts = read(&Machine::named("container").root());
    assert_eq!(check_cpu(&facts, 4), Ok(()));
    assert!(check_cpu(&facts, 9).unwrap_err().to_string().contains("0-7"));
    assert!(check_cpu(&facts, 1).unwrap_err().to_string().contains("4-5"));
}

proptest! {
    #[test]
    fn on_machines_of_every_shape(
        packages in 1u16..=4, cores in 1u16..=64, threads in 1u16..=2, wanted in 1usize..6,
        isolated in prop::collection::vec(0u16..512, 0..4), allowed in prop::option::of(prop::collection::vec(0u16..512, 1..20))
    ) {
        let mut facts = machine(packages, cores, threads);
        facts.isolation.isolated = Some(isolated.into_iter().collect());
        facts.process.allowed_cpus = allowed.map(|cpus| cpus.into_iter().collect());
        prop_assume!(!facts.usable_cpus().is_empty());
        let choice = choose_cpus(&facts, &tasks(&vec![None; wanted]));
        let (usable, measured) = (facts.usable_cpus(), choice.measured_cpus());
        prop_assert_eq!(choice.cpus.len(), wanted);
        prop_assert!(measured.without(&usable).is_empty(), "only CPUs that may be used");
        prop_assert!(choice.housekeeping.without(&usable).is_empty());
        if usable.len() > 1 {
            prop_assert!(!measured.overlaps(&choice.housekeeping), "apart where there is more than one");
        }
        for a in measured.iter() {
            for b in measured.iter().filter(|b| *b != a) {
                prop_assert!(facts.sharing(a, b) != Sharing::Core, "no two tasks on one core");
            }
        }
        let isolated = facts.isolation.isolated.clone().unwrap_or_default().and(&usable);
        if !isolated.is_empty() {
            prop_assert!(measured.without(&isolated).is_empty(), "isolated CPUs first");
        }
    }
}
