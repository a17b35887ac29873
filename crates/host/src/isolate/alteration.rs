//! Single changes of the machine, noted and put back as those of an isolation are.

use std::io;

use jitterlab_model::warning::{IsolationReport, LeftBehind};
use jitterlab_model::{CpuSet, Error, Policy};

use super::{cpuset, kernel_work, threads};
use crate::changes::{
    self, Journal, Thread, bracketed_choice, descends_from, open_journal, other_measurement_on,
};
use crate::facts::Root;

/// Changes that last as long as this lives. After a crash, `restore` puts them back.
#[derive(Debug)]
pub(crate) struct Alteration {
    journal: Journal,
    cpus: CpuSet,
    others: CpuSet,
    /// Processes whose threads stay where they are.
    spared: Vec<u32>,
}

impl Alteration {
    /// Prepares changes for these CPUs, without making any. Threads move to the other `usable` CPUs, except
    /// those that our own process and the `spared` ones have started.
    pub(crate) fn begin(root: &Root, cpus: &CpuSet, usable: &CpuSet, spared: &[u32]) -> Result<Self, Error> {
        let (lock, journal) = open_journal(root, cpus, &|_| false)?;
        drop(lock);
        let taken = journal.other_journals().iter().fold(CpuSet::new(), |all, other| all.or(&other.cpus));
        let spared = spared.iter().copied().chain([std::process::id()]).collect();
        Ok(Alteration { journal, cpus: cpus.clone(), others: usable.without(cpus).without(&taken), spared })
    }

    /// Writes to a file of the kernel, and fails if the file then holds another value.
    pub(crate) fn write(&mut self, file: &str, value: &str) -> io::Result<()> {
        let name = file.trim_start_matches('/');
        let root = self.journal.root().clone();
        let holds =
            || root.text(name).is_some_and(|text| kernel_work::is_same_mask(bracketed_choice(&text), value));
        if holds() {
            return Ok(());
        }
        self.journal.set_value(name, value)?;
        if holds() {
            return Ok(());
        }
        let now = root.text(name).unwrap_or_default();
        Err(io::Error::other(format!("it took {value:?} and holds {now:?}")))
    }

    /// Moves devices' interrupts to the other CPUs; an error if there was none to move.
    pub(crate) fn move_interrupts(&mut self) -> io::Result<()> {
        let mut report = self.new_report()?;
        kernel_work::move_interrupts(&mut self.journal, &self.others, &mut report);
        if report.interrupts_moved > 0 { Ok(()) } else { Err(io::Error::other("there was none")) }
    }

    /// Moves threads of other programs, and movable ones of the kernel, to the other CPUs. Descendants of
    /// this program and of the spared ones stay, and so does another jitterlab that measures there, with all
    /// that it keeps free.
    pub(crate) fn move_threads(&mut self) -> io::Result<()> {
        let (cpus, others) = (self.cpus.clone(), self.others.clone());
        self.move_threads_off(&cpus, &others)
    }

    /// Moves the threads of others off these CPUs, to `to`.
    pub(crate) fn move_threads_off(&mut self, cpus: &CpuSet, to: &CpuSet) -> io::Result<()> {
        let mut report = IsolationReport { cpus: cpus.clone(), ..self.new_report()? };
        let spared = self.find_spared();
        let wanted = &|process: u32| !descends_from(process, &spared);
        threads::move_threads_away(&mut self.journal, to, wanted, 0, &mut report);
        Ok(())
    }

    /// Confines other programs to the other CPUs by control groups.
    pub(crate) fn confine(&mut self) -> io::Result<()> {
        let mut report = self.new_report()?;
        if self.spared.len() > 1 && !cpuset::moves_single_programs(self.journal.root()) {
            return Err(io::Error::other(Error::refused(
                "the control group of a program that is only watched would be limited",
            )));
        }
        let spared = self.find_spared();
        let wanted = &|process: u32| !descends_from(process, &spared);
        cpuset::confine(&mut self.journal, &self.others, wanted, &mut report);
        match report.left.pop() {
            Some(LeftBehind::Chore { error, .. }) => Err(io::Error::other(error)),
            _ => Ok(()),
        }
    }

    /// Lowers kernel threads on these CPUs to this real-time priority; an error if there was none.
    pub(crate) fn lower_kernel_threads(&mut self, priority: u8) -> io::Result<()> {
        let mut lowered = 0;
        for thread in changes::other_processes(&|_| true).into_iter().filter_map(Thread::find) {
            let here = || thread.cpus().is_some_and(|cpus| cpus.overlaps(&self.cpus));
            if !thread.kernel || !changes::may_be_delayed(&thread.name) || !here() {
                continue;
            }
            let lower = match thread.policy() {
                Some(Policy::Fifo(now)) if now > priority => Policy::Fifo(priority),
                Some(Policy::RoundRobin(now)) if now > priority => Policy::RoundRobin(priority),
                _ => continue,
            };
            self.journal.set_policy(&thread, lower)?;
            lowered += 1;
        }
        if lowered > 0 { Ok(()) } else { Err(io::Error::other("there was none")) }
    }

    /// Processes whose threads stay where they are, another jitterlab that measures there among them.
    fn find_spared(&self) -> Vec<u32> {
        let mut spared = self.spared.clone();
        spared.extend(self.journal.other_journals().iter().map(|other| other.process.id));
        while let Some((other, _)) = other_measurement_on(&self.cpus, &|process| !spared.contains(&process)) {
            spared.push(other);
        }
        spared
    }

    /// An empty report on these CPUs; an error if there is no other CPU.
    fn new_report(&self) -> io::Result<IsolationReport> {
        if self.others.is_empty() {
            return Err(io::Error::other(Error::refused("there is no other CPU")));
        }
        Ok(IsolationReport { cpus: self.cpus.clone(), ..IsolationReport::default() })
    }

    /// Puts everything back, and returns the failures.
    pub(crate) fn end(mut self) -> Vec<String> {
        self.journal.undo()
    }
}
