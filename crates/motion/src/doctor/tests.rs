use super::*;
use std::collections::BTreeMap;

use jitterlab_model::check::{Action, Check, CommandLinePlace, Remedy, RemedyKind, Status};
use jitterlab_model::facts::Program;
use jitterlab_model::{Activation, Bench, Granted, Policy, RunInfo, SystemFacts, TimingStats, Warning};

/// Both tasks of a CNC machine, each with one start that is `late_ns` late.
fn cnc_run(way: &JobMethod, late_ns: i64, policy: Policy) -> MeasuredRun {
    let mut info = RunInfo::new(Bench::Host, "monotonic", way.tasks());
    let mut all = Vec::new();
    for task in &mut info.tasks {
        task.granted = Some(Granted { policy, cpus: vec![1], memory_locked: true, timer_slack_ns: None });
        let period_ns = task.spec.period_ns;
        let mut stats = TimingStats::new(period_ns);
        for index in 0..4_000 {
            let due_ns = index * period_ns;
            let start_ns = due_ns + if index == 1_000 { late_ns } else { 2_000 };
            let (index, end_ns) = (index as u64, start_ns);
            stats.push(&Activation { index, due_ns, start_ns, end_ns, ..Activation::default() });
        }
        all.push(stats);
    }
    MeasuredRun::new(info, &all, None)
}

fn check_report(is_virtual: bool) -> CheckReport {
    let mut machine = SystemFacts::default();
    machine.virtualisation.virtual_machine = Some(is_virtual);
    CheckReport {
        machine,
        cpus: "1".parse().unwrap(),
        checks: Vec::new(),
        kernel_parameters: "isolcpus=1".into(),
        kernel_parameters_place: CommandLinePlace::BootLoader,
    }
}

fn examined(way: &str, late_ns: i64, policy: Policy, is_virtual: bool, privileged: bool) -> DoctorResult {
    let job = Job::by_name("cnc").unwrap();
    let way = job.method(way).unwrap();
    let plan = DoctorPlan::for_budget(600_000_000_000).unwrap();
    let asked = DoctorRequest { job, way, plan, privileged, sudo: true, kept: true };
    let found = DoctorFindings {
        check: check_report(is_virtual),
        before: cnc_run(way, late_ns, policy),
        why: None,
        stepper: Vec::new(),
        servo: Vec::new(),
        tuned: None,
        after: None,
        steps: Vec::new(),
    };
    DoctorResult::new(asked, found)
}

const FIFO: Policy = Policy::Fifo(80);

#[test]
fn one_way_of_several_is_enough_only_where_nothing_is_decided() {
    // 30 us: limited for step pulses of 50 us, good for a servo thread.
    let found = examined("unsure", 30_000, FIFO, false, true);
    let each: Vec<Fitness> = found.purposes.iter().map(|purpose| purpose.final_verdict().fitness).collect();
    assert_eq!((each, found.fitness), (vec![Fitness::Limited, Fitness::Good], Fitness::Good));
    assert_eq!(examined("software", 30_000, FIFO, false, true).fitness, Fitness::Limited);
    assert_eq!(examined("card", 30_000, FIFO, false, true).fitness, Fitness::Good);
    assert_eq!(examined("software", 48_000, FIFO, false, true).fitness, Fitness::Unfit);
}

#[test]
fn what_is_measured_after_counts_and_what_was_before_is_kept() {
    let mut found = examined("card", 30_000, FIFO, false, true);
    let before = examined("card", 900_000, FIFO, false, true);
    let purpose = &mut found.purposes[0];
    purpose.after = Some(before.purposes[0].before.clone());
    assert_eq!((purpose.before.fitness, purpose.final_verdict().fitness), (Fitness::Good, Fitness::Unfit));
}

#[test]
fn advice_is_for_the_machine_at_hand() {
    let advice = |way, late, policy, is_virtual, root| examined(way, late, policy, is_virtual, root).advice;
    let unfit = advice("software", 900_000, FIFO, false, true);
    assert_eq!(unfit.first(), Some(&Advice::StepCard));
    assert!(unfit.iter().any(|a| matches!(a, Advice::KernelParameters { .. })), "{unfit:?}");
    assert!(unfit.contains(&Advice::OtherComputer) && !unfit.contains(&Advice::RealMachine));
    // Behind a host, this kernel's own improvements would not show.
    let virtual_one = advice("software", 900_000, FIFO, true, true);
    assert_eq!(virtual_one.first(), Some(&Advice::RealMachine));
    assert!(
        !virtual_one.iter().any(|a| matches!(a, Advice::KernelParameters { .. } | Advice::OtherComputer))
    );
    let ordinary = advice("card", 30_000, Policy::Other, false, false);
    assert_eq!(ordinary.first(), Some(&Advice::AsRoot));
    assert!(!ordinary.contains(&Advice::Use) && !ordinary.contains(&Advice::StepCard), "{ordinary:?}");
    let late = examined("card", 900_000, Policy::Other, false, false);
    assert_eq!((late.fitness, late.advice.first()), (Fitness::CannotTell, Some(&Advice::AsRoot)));
    let good = advice("card", 30_000, FIFO, false, true);
    assert_eq!(good, [Advice::Longer, Advice::Use], "short, and good as far as it goes");
}

/// A check that warns, with a remedy of this kind.
fn fault(id: &str, kind: RemedyKind) -> Check {
    let remedies = vec![Remedy { kind, action: Action::Exact("do it".into()) }];
    let (topic, found, values) = (String::new(), String::new(), BTreeMap::new());
    Check { id: id.into(), topic, status: Status::Warn, found, values, remedies }
}

#[test]
fn usual_first_steps_of_the_job_are_advised_where_they_are_open_and_can_be_done() {
    let with = |job: &str, checks: Vec<Check>| {
        let mut found = examined("card", 300_000, FIFO, false, true);
        found.request.job = Job::by_name(job).unwrap();
        found.findings.check.checks = checks;
        advice::advice(&found)
    };
    let checks = || {
        vec![
            fault("rtprio", RemedyKind::Lasting),
            fault("swappiness", RemedyKind::Command),
            fault("smi", RemedyKind::Machine),
            fault("irq-affinity", RemedyKind::Host),
        ]
    };
    let steps = |advice: &[Advice]| {
        advice.iter().find_map(|one| match one {
            Advice::FirstSteps { checks } => Some(checks.clone()),
            _ => None,
        })
    };
    let cnc = with("cnc", checks());
    assert_eq!(steps(&cnc), Some(vec!["rtprio".to_owned()]), "{cnc:?}");
    assert!(cnc.contains(&Advice::Firmware { checks: vec!["smi".into()] }), "{cnc:?}");
    assert_eq!(steps(&with("audio", checks())), Some(vec!["rtprio".to_owned(), "swappiness".to_owned()]));
    assert_eq!(steps(&with("plc", checks())), None);
}

#[test]
fn what_spoils_the_measurement_or_ends_most_of_the_lateness_comes_first() {
    let first = |change: fn(&mut DoctorResult)| {
        let mut found = examined("card", 900_000, FIFO, false, true);
        change(&mut found);
        advice::advice(&found).first().cloned()
    };
    let other = |found: &mut DoctorResult| found.findings.check.machine.measuring.push(Program::default());
    assert_eq!(first(other), Some(Advice::EndOthers));
    assert_eq!(first(|found| found.request.kept = false), Some(Advice::Room));
    let full = |found: &mut DoctorResult| {
        found.findings.before.run.warnings.push(Warning::RecordingEnded { reason: "full".into() });
    };
    assert_eq!(first(full), Some(Advice::Room));
    let ordinary = |found: &mut DoctorResult| {
        found.findings.check.checks =
            vec![fault("preempt-rt", RemedyKind::Lasting), fault("rtprio", RemedyKind::Lasting)];
    };
    assert_eq!(first(ordinary), Some(Advice::RealTimeKernel));
}

#[test]
fn in_a_container_rights_come_from_who_starts_it() {
    let mut found = examined("card", 30_000, Policy::Other, false, false);
    found.findings.check.machine.virtualisation.container = Some("docker".into());
    let advice = advice::advice(&found);
    assert_eq!(advice.first(), Some(&Advice::ContainerRights));
    assert!(!advice.contains(&Advice::AsRoot) && !advice.contains(&Advice::RealTimeKernel), "{advice:?}");
    // With all rights, causes and settings are still those of the machine outside.
    let mut found = examined("card", 900_000, FIFO, false, true);
    found.findings.check.machine.virtualisation.container = Some("docker".into());
    assert_eq!(advice::advice(&found).first(), Some(&Advice::OutsideContainer));
}

#[test]
fn after_a_restart_it_is_said_which_first_steps_are_done_and_what_the_purposes_were() {
    let mut first = examined("card", 300_000, FIFO, false, true);
    first.findings.check.checks =
        ["isolated-cpus", "smi", "preempt-rt", "load"].map(|id| fault(id, RemedyKind::Lasting)).into();
    let boot = |text: &str| Some(text.to_owned());
    let earlier = SavedExamination::new(&first, boot("a"), Vec::new());
    assert_eq!(earlier.open, ["smi", "isolated-cpus", "preempt-rt"]);
    let mut second = examined("card", 30_000, FIFO, false, true);
    second.findings.check.checks = vec![fault("smi", RemedyKind::Machine)];
    let since = second.with_changes_since(Some(&earlier), boot("b").as_ref()).since.unwrap();
    assert_eq!(
        (since.restarted, &since.done[..], &since.open[..]),
        (Some(true), &["isolated-cpus".to_owned(), "preempt-rt".into()][..], &["smi".to_owned()][..])
    );
    assert_eq!(since.purposes[0].fitness, Fitness::Limited);
}
