use std::fs;
use std::process::{Child, Command};

use super::journal::lift_limit;
use super::*;
use crate::facts::tests::fixture::Machine;

pub struct Sleeper(Child);

impl Sleeper {
    pub fn start() -> Sleeper {
        Sleeper(Command::new("sleep").arg("60").spawn().unwrap())
    }

    pub fn thread(&self) -> Thread {
        Thread::find(self.0.id()).unwrap()
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_thread_that_ended_needs_nothing() {
    let sleeper = Sleeper::start();
    let thread = sleeper.thread();
    let machine = Machine::from_text("");
    let root = machine.root();
    let cpus = thread.cpus().unwrap();
    let mut journal = Journal::create(&ChangeLock::take(&root).unwrap(), &root, &cpus).unwrap();
    journal.bind_thread(&thread, cpus.clone(), &cpus).unwrap();
    assert!(thread.is_alive());
    drop(sleeper);
    assert!(!thread.is_alive());
    assert_eq!(journal.undo(), Vec::<String>::new());
}

#[test]
fn a_thread_that_the_kernel_binds_needs_nothing() {
    // As a kill leaves it between a refusal and the note of it.
    let bound = other_processes(&|_| true).into_iter().filter_map(Thread::find).find(Thread::is_bound);
    let Some(thread) = bound else { return eprintln!("skipped: no thread of the kernel is seen here") };
    let machine = Machine::from_text("");
    let root = machine.root();
    let cpus = thread.cpus().unwrap();
    let mut journal = Journal::create(&ChangeLock::take(&root).unwrap(), &root, &cpus).unwrap();
    journal.note_cpus(thread, cpus).unwrap();
    assert_eq!(journal.undo(), Vec::<String>::new());
}

#[test]
fn a_limit_that_the_kernel_does_not_take_off_becomes_all_that_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let group = folder.path().join("app");
    fs::create_dir(&group).unwrap();
    fs::write(folder.path().join("cpuset.cpus.effective"), "0-3\n").unwrap();
    let limit = group.join("cpuset.cpus");
    fs::write(&limit, "0").unwrap();
    assert!(lift_limit(&limit, "2").is_none(), "another limit is put back as it was");
    assert!(lift_limit(&group.join("cgroup.procs"), "").is_none());
    lift_limit(&limit, "").unwrap().unwrap();
    assert_eq!(fs::read_to_string(&limit).unwrap().trim(), "0-3");
}
