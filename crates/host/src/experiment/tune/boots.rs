//! Settings that need a restart: one start of the machine measured, next to those that were measured before.

use jitterlab_analysis::compensation_trial::TrialStep;
use jitterlab_analysis::tune::{
    BLOCK_OVERHEAD_NS, Boot, BootComparison, BootConfiguration, FEWEST_BLOCKS_PER_BOOT, Pace, RebootSetting,
    blocks_per_boot,
};
use jitterlab_model::check::{Action, RemedyKind, Status};
use jitterlab_model::units::Exact;
use jitterlab_model::{CpuSet, Error, SystemFacts};
use serde::{Deserialize, Serialize};

use super::{TuneRequest, Tuning, percentile_for_blocks};
use crate::check::check;
use crate::experiment::engine::Experiment;
use crate::facts::{self, Root};

/// The boots so far, kept over restarts of the machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeptBoots {
    /// The task, as `--task` takes it.
    pub task: String,
    /// The thread that is watched in its place.
    pub watch: Option<String>,
    /// Loads that run next to it.
    pub loads: Vec<String>,
    /// The time for each start.
    pub budget_ns: i64,
    /// The starts so far.
    pub starts: Vec<Boot>,
}

impl KeptBoots {
    /// Creates the record of a request, without a boot.
    pub fn new(request: &TuneRequest) -> Self {
        KeptBoots {
            task: request.task.to_string(),
            watch: request.watch.clone(),
            loads: request.loads.iter().map(ToString::to_string).collect(),
            budget_ns: request.budget_ns,
            starts: Vec::new(),
        }
    }

    /// True if the request has the same task, loads and budget as the kept one.
    pub fn is_for(&self, request: &TuneRequest) -> bool {
        KeptBoots { starts: self.starts.clone(), ..KeptBoots::new(request) } == *self
    }
}

/// Current boot of this machine: its boot id, kernel and command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurrentBoot {
    boot: String,
    way: BootConfiguration,
}

impl CurrentBoot {
    /// Reads the current boot from the kernel; a person may give it a name.
    pub fn from_kernel(name: Option<&str>) -> Result<Self, Error> {
        Self::from_root(&Root::system(), name)
    }

    fn from_root(root: &Root, name: Option<&str>) -> Result<Self, Error> {
        let kernel = facts::read(root).kernel;
        let known = |text: Option<String>, what| {
            text.ok_or_else(|| {
                Error::refused(format!(
                    "this system does not tell {what}, without which its starts cannot be told apart"
                ))
            })
        };
        let release = known(kernel.release, "the kernel's release")?;
        let boot = known(root.text(BOOT_ID_FILE).filter(|text| !text.is_empty()), BOOT_ID_FILE)?;
        let way = BootConfiguration {
            kernel: format!("{release} {}", kernel.version.unwrap_or_default()).trim().to_owned(),
            command_line: known(kernel.command_line, "the kernel's command line")?,
            name: name.map(Into::into),
        };
        Ok(CurrentBoot { boot, way })
    }

    /// True if this boot was measured in part before; an error if it does not fit the boots so far. These may
    /// have two ways at most.
    fn is_continued(&self, starts: &[Boot]) -> Result<bool, Error> {
        if let Some(known) = starts.iter().find(|start| start.boot == self.boot) {
            if known.way == self.way {
                return Ok(true);
            }
            let name = known.way.name.as_deref().unwrap_or("one without a name");
            return Err(Error::bad_use(format!(
                "this start of the machine was measured before as {name}: restart it first"
            )));
        }
        let mut ways: Vec<&BootConfiguration> = Vec::new();
        for way in starts.iter().map(|start| &start.way).filter(|way| **way != self.way) {
            if !ways.contains(&way) {
                ways.push(way);
            }
        }
        if ways.len() > 1 {
            return Err(Error::bad_use(
                "two other ways to start this machine are being compared here: start it as one of them, or begin anew in another \
                 directory",
            ));
        }
        Ok(false)
    }
}

/// File with the kernel's identifier of the boot.
const BOOT_ID_FILE: &str = "proc/sys/kernel/random/boot_id";

/// The kernel's identifier of this boot; `None` if it does not report one.
pub fn current_boot_id() -> Option<String> {
    Root::system().text(BOOT_ID_FILE).filter(|text| !text.is_empty())
}

impl Tuning {
    /// Measures this boot, and compares it with those before; blocks are kept by `keep` as they are finished.
    /// Interrupted, it judges the blocks until then.
    ///
    /// # Errors
    /// A block that cannot be measured, a start that does not fit those before, or a budget for too few
    /// blocks.
    pub fn measure_boot(
        mut self,
        this: &CurrentBoot,
        kept: &mut KeptBoots,
        keep: &mut dyn FnMut(&KeptBoots) -> Result<(), Error>,
        experiment: &mut Experiment<'_>,
    ) -> Result<BootComparison, Error> {
        let budget_ns = self.request.budget_ns;
        let Some((blocks, block_ns)) = blocks_per_boot(budget_ns, self.task.period_ns) else {
            return Err(Error::bad_use(format!(
                "--budget {} is too short to tell what a start of the machine is like: give {} or more",
                Exact(budget_ns),
                Exact(shortest_budget_ns(self.task.period_ns))
            )));
        };
        (self.block_ns, self.tail) = (block_ns, percentile_for_blocks(block_ns, self.task.period_ns));
        if !this.is_continued(&kept.starts)? {
            let measured = crate::prepare::now_utc();
            let (boot, way) = (this.boot.clone(), this.way.clone());
            kept.starts.push(Boot { boot, measured, way, blocks: Vec::new() });
        }
        let at = kept.starts.iter().position(|start| start.boot == this.boot).unwrap_or_default();
        experiment.set_total_time(budget_ns);
        experiment.begin_step(TrialStep::ThisStart);
        let interrupted = experiment.interrupted();
        let mut pace = Pace::from_plan(block_ns + BLOCK_OVERHEAD_NS);
        for n in 0..blocks {
            if n >= FEWEST_BLOCKS_PER_BOOT && !pace.has_time(1, budget_ns) {
                break;
            }
            let Some((block, took_ns)) =
                experiment.next_part(|| self.measure_timed_block(&[], interrupted))?
            else {
                break;
            };
            pace.add_elapsed(took_ns);
            kept.starts[at].blocks.push(block);
            keep(kept)?;
            experiment.add_elapsed(took_ns);
        }
        let task = self.task_option_text();
        let found = BootComparison::new(task, kept.loads.clone(), self.tail.name.into(), &kept.starts);
        Ok(BootComparison { watched: self.running.map(|running| running.watched), ..found })
    }
}

/// Shortest time budget that is enough for one boot.
fn shortest_budget_ns(period_ns: i64) -> i64 {
    let longer = (1..).map(|n| n * 4 * BLOCK_OVERHEAD_NS);
    longer.take(100_000).find(|ns| blocks_per_boot(*ns, period_ns).is_some()).unwrap_or(i64::MAX)
}

/// Parameters of the kernel's command line that no setting of a running machine replaces, and whether counted
/// instructions show their effect.
const RESTART_PARAMETERS: [(&str, bool); 13] = [
    ("isolcpus", true),
    ("nohz_full", true),
    ("rcu_nocbs", true),
    ("threadirqs", true),
    ("preempt", true),
    ("skew_tick", true),
    ("iommu.passthrough", false),
    ("nosmt", false),
    ("idle", false),
    ("processor.max_cstate", false),
    ("intel_idle.max_cstate", false),
    ("clocksource", false),
    ("mitigations", false),
];

/// Kernel parameters and kernels worth trying over restarts, from remedies of `check` without a knob.
pub(super) fn restart_proposals(facts: &SystemFacts, cpus: &CpuSet) -> Vec<RebootSetting> {
    let report = check(facts, cpus);
    let switchable = facts.kernel.preemption_switch == Some(true);
    let in_virtual_time = |word: &str| {
        let key = word.split('=').next()?;
        RESTART_PARAMETERS
            .iter()
            .find(|(known, _)| *known == key && !(key == "preempt" && switchable))
            .map(|(_, shows)| *shows)
    };
    let warned = |id: &str| {
        report
            .checks
            .iter()
            .any(|check| check.id == id && check.status != Status::Pass && !check.remedies.is_empty())
    };
    let mut found = Vec::new();
    let remedies = report.checks.iter().flat_map(|check| &check.remedies);
    for word in remedies.filter_map(|remedy| match (&remedy.kind, &remedy.action) {
        (RemedyKind::KernelParameter, Action::Exact(word)) => Some(word.as_str()),
        _ => None,
    }) {
        if let Some(in_virtual_time) = in_virtual_time(word) {
            let parameter = RebootSetting::Parameter { word: word.into(), in_virtual_time };
            if !found.contains(&parameter) {
                found.push(parameter);
            }
        }
    }
    if warned("mitigations") {
        found.push(RebootSetting::Parameter { word: "mitigations=off".into(), in_virtual_time: false });
    }
    if warned("preempt-rt") {
        found.push(RebootSetting::RealTimeKernel);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::tests::fixture::Machine;
    use jitterlab_analysis::tune::{BlockFigures, SettingVerdict};

    /// A start of the machine, with this word on its command line.
    fn started(machine: &Machine, boot: usize, word: &str) -> CurrentBoot {
        machine.add(&format!("=== {BOOT_ID_FILE}\n{boot}\n=== proc/cmdline\nquiet {word}\n"));
        CurrentBoot::from_root(&machine.root(), None).unwrap()
    }

    fn measured(this: &CurrentBoot, tail_ns: i64) -> Boot {
        let block =
            BlockFigures { tail_ns, max_ns: 2 * tail_ns, missed: 0, due: 5_000, verdict: None, repeated: 0 };
        let measured = String::new();
        Boot { boot: this.boot.clone(), measured, way: this.way.clone(), blocks: vec![block; 6] }
    }

    #[test]
    fn a_machine_that_is_started_in_turns_is_judged_by_its_starts() {
        let machine = Machine::named("laptop");
        let mut starts = Vec::new();
        let judged = |starts: &[Boot]| BootComparison::new("task".into(), Vec::new(), "p99".into(), starts);
        for (boot, tail_ns) in [50_000, 21_000, 54_000, 20_000, 52_000, 19_000].into_iter().enumerate() {
            let word = if boot % 2 == 1 { "isolcpus=7" } else { "" };
            let this = started(&machine, boot, word);
            assert!(!this.is_continued(&starts).unwrap());
            assert_eq!(judged(&starts).judgement, SettingVerdict::Undecided, "after {boot} starts");
            starts.push(measured(&this, tail_ns));
            assert!(this.is_continued(&starts).unwrap(), "the same start is gone on with");
        }
        let found = judged(&starts);
        assert_eq!(
            (found.judgement, found.pairs, found.ways.len()),
            (SettingVerdict::Helps, 3, 2),
            "{found:?}"
        );
        let third = started(&machine, 9, "nohz_full=7");
        assert!(third.is_continued(&starts).unwrap_err().to_string().contains("two other ways"));
        let renamed = CurrentBoot {
            way: BootConfiguration { name: Some("bios".into()), ..third.way },
            ..started(&machine, 5, "")
        };
        assert!(renamed.is_continued(&starts).unwrap_err().to_string().contains("restart it first"));
    }

    #[test]
    fn what_needs_a_restart_is_what_is_not_so_already() {
        let words = |name: &str| -> Vec<String> {
            let facts = facts::read(&Machine::named(name).root());
            let cpus = facts.usable_cpus().iter().next_back().into_iter().collect();
            let word = |restart: RebootSetting| match restart {
                RebootSetting::Parameter { word, .. } => word,
                RebootSetting::RealTimeKernel => "real-time".into(),
            };
            restart_proposals(&facts, &cpus).into_iter().map(word).collect()
        };
        let laptop = words("laptop");
        for wanted in ["isolcpus=", "nohz_full=", "rcu_nocbs=", "real-time"] {
            assert!(laptop.iter().any(|word| word.starts_with(wanted)), "{wanted} of {laptop:?}");
        }
        assert!(laptop.iter().all(|word| !word.starts_with("transparent_hugepage")), "{laptop:?}");
        let ready = words("cnc-rt");
        assert!(ready.iter().all(|word| word != "real-time" && !word.starts_with("isolcpus")), "{ready:?}");
    }
}
