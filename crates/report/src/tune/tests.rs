use super::*;
use crate::chart::Terminal;
use jitterlab_analysis::tune::{
    ApplicableKnob, BlockFigures, FigureChange, KnobResult, PersistenceSupport, Pilot, RemediedCauses, Step,
    TunePlan, UntriedKnob,
};
use jitterlab_model::Knob;
use jitterlab_model::causes::{Cause, CauseClass};

fn effect(figure: Figure, change: f64, interval: [f64; 2]) -> Effect {
    Effect { figure, change, interval, real: interval[0] > 1.0 || interval[1] < 1.0 }
}

fn found(knob: Knob, judgement: SettingVerdict, change: f64, step: Step) -> KnobResult {
    let effects = vec![
        effect(Figure::Tail, change, [change * 0.9, change * 1.1]),
        effect(Figure::Maximum, change, [change * 0.5, change * 2.0]),
    ];
    let offered = ApplicableKnob { knob, steps: vec![step] };
    KnobResult { offered, remedies: None, judgement, effects, beside: Vec::new() }
}

fn result() -> TuneResult {
    let start =
        BlockFigures { tail_ns: 50_000, max_ns: 90_000, missed: 0, due: 5_000, verdict: None, repeated: 0 };
    let change = |figure, start, tuned, effect| FigureChange { figure, start, tuned, effect };
    let pilot = Pilot { figure: Figure::Tail, spread: 0.1, blocks: 4 };
    TuneResult {
        task: "task,period=1ms".into(),
        watched: None,
        cpu: Some(1),
        loads: vec!["cpu:2".into()],
        purpose: None,
        tail: "p99.9".into(),
        plan: TunePlan::new(3, 1_800_000_000_000, 1_000_000, 500_000_000, pilot),
        rounds: 6,
        blocks: 42,
        scatter: Some(0.1),
        why: None,
        start: Some(start),
        knobs: vec![
            found(Knob::OtherThreads, SettingVerdict::Helps, 0.2, Step::Threads { to: "0".parse().unwrap() }),
            found(
                Knob::HugePages,
                SettingVerdict::Undecided,
                1.02,
                Step::File {
                    file: "/sys/kernel/mm/transparent_hugepage/enabled".into(),
                    value: "never".into(),
                },
            ),
        ],
        restart: vec![jitterlab_analysis::tune::RebootSetting::Parameter {
            word: "isolcpus=1".into(),
            in_virtual_time: true,
        }],
        keeping: PersistenceSupport { systemd: true, command_line: true },
        left: vec![UntriedKnob { knob: Knob::Governor, why: LeftOut::Absent }],
        proven: Some(SettingsProof {
            knobs: vec![Knob::OtherThreads],
            pairs: 12,
            changes: vec![
                change(Figure::Tail, 50e3, 10e3, Some(effect(Figure::Tail, 0.2, [0.15, 0.26]))),
                change(Figure::Missed, 0.0, 0.0, None),
            ],
            holds: true,
            start_verdict: None,
            tuned_verdict: None,
        }),
        notes: Vec::new(),
    }
}

#[test]
fn the_answer_comes_first_and_the_table_fits() {
    let result = result();
    let conclusion = conclusion(&result);
    assert!(conclusion.verdict.starts_with("BETTER with other-threads"), "{conclusion:?}");
    assert!(conclusion.number.contains("50 µs before, 10 µs after (-80.0 %"), "{conclusion:?}");
    assert!(conclusion.next.contains("--keep"), "{conclusion:?}");
    let text = result.sections()[0].text(Terminal { columns: 80, ascii: false, colour: false });
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(
        text.contains("governor  not on this machine")
            && text.contains("isolcpus=1  seen in virtual time, too")
            && text.contains("not decided"),
        "{text}"
    );
    // The report itself contains the files to take along.
    assert!(
        text.contains("/etc/systemd/system.conf.d/jitterlab.conf") && text.contains("CPUAffinity=0"),
        "{text}"
    );
    assert!(text.contains("jitterlab restore --kept"), "{text}");
}

#[test]
fn each_setting_says_what_it_remedies_and_beside_what_it_was_tried() {
    let mut result = result();
    let cause = Cause { class: CauseClass::Shared, who: Some("hog".into()) };
    result.knobs[0].remedies = Some(RemediedCauses { cause, share: 0.86, own: true });
    result.knobs[1].beside = vec![Knob::OtherThreads];
    result.knobs[1].judgement = SettingVerdict::NotNeeded;
    let text = result.sections()[0].text(Terminal { columns: 80, ascii: false, colour: false });
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        joined.contains("remedies thread hog and the like (86 % of what delayed the latest starts)"),
        "{text}"
    );
    assert!(text.contains("not needed") && text.contains("beside"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn misses_decide_in_verdict_table_and_proof_where_they_decided_the_experiment() {
    let mut result = result();
    let plan = result.plan.as_mut().unwrap();
    plan.pilot.figure = Figure::Missed;
    let missed = effect(Figure::Missed, 2e-4, [1e-4, 4e-4]);
    result.knobs[0].effects.push(missed);
    let proven = result.proven.as_mut().unwrap();
    proven.changes =
        vec![FigureChange { figure: Figure::Missed, start: 0.3, tuned: 0.0, effect: Some(missed) }];
    let conclusion = conclusion(&result);
    assert_eq!(
        conclusion.number,
        "missed 30 % before, 0 % after (x 1/5000, x 1/10000 to x 1/2500 with 95 %), 12 pairs of blocks."
    );
    let outset = plan_sentence(&result.plan.unwrap(), "p99.9", &[Knob::OtherThreads]);
    assert!(
        outset.contains("if it changes missed by ")
            && outset.contains(": 4 blocks of the start differ by 11 %, "),
        "{outset}"
    );
}

#[test]
fn no_file_is_written_that_nothing_on_the_machine_reads() {
    let mut result = result();
    result.keeping = PersistenceSupport { systemd: false, command_line: false };
    assert_eq!(kept_files::settings_files(&result), []);
    let by_hand = kept_files::manual_steps(&result);
    assert!(by_hand.len() == 1 && by_hand[0].contains("taskset -c 0 PROGRAM"), "{by_hand:?}");
    assert!(!by_hand[0].contains("systemd"), "{by_hand:?}");
}

#[test]
fn what_is_not_proven_is_not_kept() {
    let mut result = result();
    assert_eq!(kept_files::settings_files(&result).len(), 1);
    let (place, text) = kept_files::settings_files(&result).remove(0);
    assert!(place.contains("system.conf.d") && text.starts_with(kept_files::MARK), "{text}");
    assert!(text.contains("CPUAffinity=0") && text.contains("-80.0 %"), "{text}");
    // Some of these files are shell scripts.
    result.loads = vec!["exec:true\nrm -rf /".into()];
    let (_, text) = kept_files::settings_files(&result).remove(0);
    assert!(text.lines().all(|line| !line.starts_with("rm")), "{text}");
    result.proven.as_mut().unwrap().holds = false;
    assert_eq!(kept_files::settings_files(&result), []);
    assert!(conclusion(&result).verdict.contains("NOT KEPT"));
    result.proven = None;
    assert!(conclusion(&result).verdict.contains("NO HELP FOUND"));
}

#[test]
fn what_is_kept_lies_where_the_system_reads_it_and_the_rest_is_named() {
    let mut result = result();
    let cpus = |text: &str| text.parse().unwrap();
    let file = |file: &str, value: &str| Step::File { file: file.into(), value: value.into() };
    let kept = [
        (Knob::OtherThreads, Step::Threads { to: cpus("0,2-3") }),
        (Knob::SmtSibling, Step::Siblings { off: cpus("3"), to: cpus("0,2") }),
        (Knob::Cpuset, Step::Cpuset { to: cpus("0,2-3") }),
        (Knob::NetworkThreads, file("/sys/class/net/eth0/threaded", "1")),
        (Knob::RcuNormal, file("/sys/kernel/rcu_normal", "1")),
        (Knob::KernelThreads, Step::KernelThreads { priority: 79 }),
        (Knob::Priority, Step::Task { parts: "policy=fifo:98".into() }),
    ];
    result.proven.as_mut().unwrap().knobs = kept.iter().map(|(knob, _)| *knob).collect();
    result.knobs = kept.map(|(knob, step)| found(knob, SettingVerdict::Helps, 0.5, step)).into();
    let files = kept_files::settings_files(&result);
    let text =
        |part: &str| files.iter().find(|(place, _)| place.contains(part)).map(|(_, text)| text.as_str());
    let holds = |part: &str, line: &str| text(part).is_some_and(|text| text.lines().any(|one| one == line));
    // systemd adds up the CPUs of its lines, so each names the CPUs that all of them leave.
    assert!(
        holds("system.conf.d", "CPUAffinity=0,2") && !holds("system.conf.d", "CPUAffinity=0,2-3"),
        "{files:?}"
    );
    assert!(holds("system.slice.d", "AllowedCPUs=0,2-3") && holds("init.scope.d", "[Scope]"), "{files:?}");
    let rule = r#"ACTION=="add", SUBSYSTEM=="net", KERNEL=="eth0", ATTR{threaded}="1""#;
    assert!(holds("udev", rule) && holds("tmpfiles", "w /sys/kernel/rcu_normal - - - - 1"), "{files:?}");
    let by_hand = kept_files::manual_steps(&result);
    assert!(
        by_hand.len() == 3 && by_hand[0].contains("kernel-threads") && by_hand[1].contains("fifo:98"),
        "{by_hand:?}"
    );
    // A program that is to start on the freed processor must leave the groups, and the CPUs that programs
    // start on.
    let start = "start those by systemd-run --scope --slice=control taskset -c 0-2 PROGRAM";
    assert!(by_hand[2].contains("off CPU 1") && by_hand[2].ends_with(start), "{by_hand:?}");
}
