//! Single changes of the machine, noted and put back as those of an isolation are.

use std::io;

use jitterlab_model::warning::{Isolated, LeftBehind};
use jitterlab_model::{CpuSet, Error, Policy};

use super::journal::{Journal, chosen};
use super::{cpuset, kernel, open_journal, other_instances, thread, threads};
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
        let taken = journal.others().iter().fold(CpuSet::new(), |all, other| all.or(&other.cpus));
        let spared = spared.iter().copied().chain([std::process::id()]).collect();
        Ok(Alteration { journal, cpus: cpus.clone(), others: usable.without(cpus).without(&taken), spared })
    }

    /// Writes to a file of the kernel, and reads back whether it took it.
    pub(crate) fn write(&mut self, file: &str, value: &str) -> io::Result<()> {
        let name = file.trim_start_matches('/');
        let root = self.journal.root().clone();
        let holds = || root.text(name).is_some_and(|text| kernel::is_same_mask(chosen(&text), value));
        if holds() {
            return Ok(());
        }
        self.journal.set(name, value)?;
        if holds() {
            return Ok(());
        }
        let now = root.text(name).unwrap_or_default();
        Err(io::Error::other(format!("it took {value:?} and holds {now:?}")))
    }

    /// Sends devices' interrupts elsewhere.
    pub(crate) fn move_interrupts(&mut self) -> io::Result<()> {
        let mut report = self.report()?;
        kernel::move_interrupts(&mut self.journal, &self.others, &mut report);
        if report.interrupts_moved > 0 { Ok(()) } else { Err(io::Error::other("there was none")) }
    }

    /// Moves the threads of other programs, and the movable ones of the kernel. Descendants of this program
    /// and of the spared ones stay, and so does another jitterlab that measures there, with all that it keeps
    /// free.
    pub(crate) fn move_threads(&mut self) -> io::Result<()> {
        let (cpus, others) = (self.cpus.clone(), self.others.clone());
        self.move_threads_off(&cpus, &others)
    }

    /// Moves the threads of others off these CPUs, to `to`.
    pub(crate) fn move_threads_off(&mut self, cpus: &CpuSet, to: &CpuSet) -> io::Result<()> {
        let mut report = Isolated { cpus: cpus.clone(), ..self.report()? };
        let spared = self.spared();
        let wanted = &|process: u32| !other_instances::descends_from(process, &spared);
        threads::move_away(&mut self.journal, to, wanted, 0, &mut report);
        Ok(())
    }

    /// Holds other programs off by control groups.
    pub(crate) fn confine(&mut self) -> io::Result<()> {
        let mut report = self.report()?;
        if self.spared.len() > 1 && !cpuset::moves_single_programs(self.journal.root()) {
            return Err(io::Error::other(Error::refused(
                "the control group of a program that is only watched would be limited",
            )));
        }
        let spared = self.spared();
        let wanted = &|process: u32| !other_instances::descends_from(process, &spared);
        cpuset::confine(&mut self.journal, &self.others, wanted, &mut report);
        match report.left.pop() {
            Some(LeftBehind::Chore { error, .. }) => Err(io::Error::other(error)),
            _ => Ok(()),
        }
    }

    /// Gives the kernel's threads that may run on these CPUs with a higher real-time priority this one.
    pub(crate) fn lower_kernel_threads(&mut self, priority: u8) -> io::Result<()> {
        let mut lowered = 0;
        for thread in thread::processes(&|_| true).into_iter().filter_map(thread::Thread::find) {
            let here = || thread.cpus().is_some_and(|cpus| cpus.overlaps(&self.cpus));
            if !thread.kernel || !thread::may_wait(&thread.name) || !here() {
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
    fn spared(&self) -> Vec<u32> {
        let mut spared = self.spared.clone();
        spared.extend(self.journal.others().iter().map(|other| other.process.id));
        while let Some((other, _)) =
            other_instances::other_measurement_on(&self.cpus, &|process| !spared.contains(&process))
        {
            spared.push(other);
        }
        spared
    }

    fn report(&self) -> io::Result<Isolated> {
        if self.others.is_empty() {
            return Err(io::Error::other(Error::refused("there is no other CPU")));
        }
        Ok(Isolated { cpus: self.cpus.clone(), ..Isolated::default() })
    }

    /// Puts everything back, and returns the failures.
    pub(crate) fn end(mut self) -> Vec<String> {
        self.journal.undo()
    }
}
