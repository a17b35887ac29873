//! Against a copied tree and against processes of our own, so that no test disturbs the machine.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use jitterlab_model::Error;
use jitterlab_model::warning::{Chore, LeftBehind};

use super::*;
use crate::changes::tests::Sleeper;
use crate::changes::{Thread, restore};
use crate::facts::read;
use crate::facts::tests::fixture::Machine;

const NOBODY: &dyn Fn(u32) -> bool = &|_| false;

fn isolate(root: &Root, cpus: &str, usable: &str) -> Result<Isolation, Error> {
    Isolation::begin_for(root, &cpus.parse().unwrap(), &usable.parse().unwrap(), NOBODY)
}

/// Everything below a folder, by name.
fn contents(root: &Root) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.path("")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                let text = fs::read(entry.path()).unwrap();
                found.insert(entry.path(), text.trim_ascii().to_vec());
            }
        }
    }
    found
}

fn journal_path(root: &Root) -> PathBuf {
    contents(root).into_keys().find(|p| p.extension().is_some_and(|e| e == "journal")).unwrap()
}

#[test]
fn interrupts_and_chores_are_moved_and_put_back() {
    let machine = Machine::named("laptop");
    let root = machine.root();
    let before = contents(&root);
    let isolation = isolate(&root, "6-7", "0-7").unwrap();
    let facts = read(&root);
    for line in facts.interrupts.lines.iter().filter(|line| line.is_device()) {
        let affinity = line.affinity.clone().unwrap();
        assert!(!affinity.overlaps(&"6-7".parse().unwrap()) && !affinity.is_empty(), "{line:?}");
    }
    assert_eq!(facts.isolation.workqueue_cpus, "0-5".parse().ok());
    assert_eq!(facts.interrupts.default_affinity, "0-5".parse().ok());
    assert_eq!(
        (facts.scheduler.timer_migration, facts.scheduler.watchdog_cpus),
        (Some(false), "0-5".parse().ok())
    );
    let report = isolation.report();
    assert_eq!(report.interrupts_moved, 2, "the third was not there: {report:?}");
    assert_eq!(report.changed.len(), 4, "{report:?}");
    assert!(report.changed.contains(&Chore::UnboundWork), "{report:?}");
    assert_eq!(isolation.end(), Vec::<String>::new());
    assert_eq!(contents(&root), before);
}

#[test]
fn what_cannot_be_moved_is_told() {
    let machine = Machine::named("laptop");
    // A folder cannot be written, not even by root.
    machine.without("proc/irq/130/smp_affinity_list");
    machine.add("=== proc/irq/130/smp_affinity_list/x\n=== proc/irq/130/i915/x\n");
    let isolation = isolate(&machine.root(), "7", "0-7").unwrap();
    let left = &isolation.report().left;
    let LeftBehind::Interrupts { names } = &left[0] else { panic!("{left:?}") };
    assert!(names[0].0.contains("IRQ 130 i915"), "{names:?}");
}

#[test]
fn what_a_crash_leaves_is_restored_once() {
    let machine = Machine::named("laptop");
    let root = machine.root();
    let before = contents(&root);
    std::mem::forget(isolate(&root, "6-7", "0-7").unwrap());
    assert_eq!(restore(&root), [], "whoever isolated lives");
    // As if this process had been another one, and its last line cut off.
    let journal = journal_path(&root);
    let text = fs::read_to_string(&journal).unwrap();
    let own = format!("\"started\":{}", serde_json::to_value(Thread::own_first_thread()).unwrap()["started"]);
    let other = text.replacen(&own, "\"started\":1", 1) + "{\"change\":\"value\",\"fi";
    fs::write(&journal, other).unwrap();
    let restored = restore(&root);
    assert_eq!((restored.len(), restored[0].changes, restored[0].problems.len()), (1, 6, 0), "{restored:?}");
    assert_eq!(contents(&root), before);
    assert_eq!(restore(&root), []);
}

/// Makes the journal of this process that of another.
fn hand_over(root: &Root, to: &Sleeper) {
    let journal = journal_path(root);
    let text = fs::read_to_string(&journal).unwrap();
    let json = |thread: &Thread| serde_json::to_string(thread).unwrap();
    let other = text.replacen(&json(&Thread::own_first_thread()), &json(&to.thread()), 1);
    assert_ne!(other, text);
    fs::write(journal.with_file_name("isolation-1.journal"), other).unwrap();
    fs::remove_file(journal).unwrap();
}

#[test]
fn two_isolations_are_undone_to_the_origin_in_either_order() {
    for first_ends_first in [true, false] {
        let machine = Machine::named("laptop");
        let root = machine.root();
        let before = contents(&root);
        let first = Sleeper::start();
        std::mem::forget(isolate(&root, "6", "0-7").unwrap());
        hand_over(&root, &first);
        let taken = isolate(&root, "5-6", "0-7").unwrap_err();
        assert!(taken.to_string().contains("keeps CPU"), "{taken}");
        let rest = || read(&root).isolation.workqueue_cpus.unwrap().to_string();
        let second = isolate(&root, "7", "0-7").unwrap();
        assert_eq!(rest(), "0-5");
        if first_ends_first {
            drop(first);
            assert_eq!(restore(&root).len(), 1);
            assert_eq!(rest(), "0-5", "the second needs it still");
            assert_eq!(second.end(), Vec::<String>::new());
        } else {
            assert_eq!(second.end(), Vec::<String>::new());
            assert!(!rest().contains('6'), "the first needs it still");
            drop(first);
            assert_eq!(restore(&root).len(), 1);
        }
        assert_eq!(contents(&root), before);
    }
}

#[test]
fn all_cpus_cannot_be_isolated() {
    let machine = Machine::named("vm");
    assert!(isolate(&machine.root(), "0-1", "0-1").unwrap_err().to_string().contains("at least one"));
    assert!(isolate(&machine.root(), "", "0-1").is_err());
}

#[test]
fn threads_are_moved_and_put_back() {
    let sleeper = Sleeper::start();
    let thread = sleeper.thread();
    let all = thread.cpus().unwrap();
    let Some(last) = all.iter().next_back().filter(|_| all.len() > 1) else { return };
    let isolated: CpuSet = [last].into_iter().collect();
    let machine = Machine::from_text("");
    let root = machine.root();
    let (_, mut journal) = open_journal(&root, &isolated, NOBODY).unwrap();
    let mut report = IsolationReport { cpus: isolated.clone(), ..IsolationReport::default() };
    let only = sleeper.thread().id;
    threads::move_threads_away(&mut journal, &all.without(&isolated), &|pid| pid == only, 0, &mut report);
    assert_eq!((report.threads_moved, report.left.len()), (1, 0));
    assert_eq!(thread.cpus(), Some(all.without(&isolated)));
    assert_eq!(journal.undo(), Vec::<String>::new());
    assert_eq!(thread.cpus(), Some(all));
}
