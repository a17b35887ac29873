//! What a run answers, from its scan and, where that does not suffice, from a second pass.

use jitterlab_analysis::measured::MeasuredRun;
use jitterlab_analysis::predict::{Backtest, DEFAULT_HORIZON, Reliability};
use jitterlab_analysis::require::{Evidence, EvidenceCounter, Judgement, Requirement};
use jitterlab_analysis::scan::TaskScan;
use jitterlab_analysis::task_analysis::{AnalysisSection, RunAnalysis, TaskAnalysis};
use jitterlab_analysis::transitions::TransitionCounter;
use jitterlab_model::{Activation, Bench, RunInfo};
use jitterlab_trace::Columns;

use crate::{Run, RunsError};

impl Run {
    /// Everything that is said of the run, or of its task of this name; `sections` are those that somebody asked for. How
    /// latency modes follow each other takes a second pass, which is made only `with_transitions`.
    ///
    /// # Errors
    /// The file cannot be read or is damaged, or there is no such task.
    pub fn analysis(
        &self,
        task: Option<&str>,
        sections: Vec<AnalysisSection>,
        with_transitions: bool,
    ) -> Result<RunAnalysis, RunsError> {
        let wanted = self.tasks(task)?;
        let (scans, warnings) = self.scan()?.into_parts();
        let all = self.analyses(&scans, with_transitions)?;
        let mut run = RunInfo { warnings, ..self.info().clone() };
        let both = run.tasks.into_iter().zip(all).enumerate();
        let both = both.filter(|(number, _)| wanted.contains(number)).map(|(_, both)| both);
        let tasks;
        (run.tasks, tasks) = both.unzip();
        let file = self.path().display().to_string();
        Ok(RunAnalysis { file, sections, tasks, run })
    }

    /// What is said of each task, from its scan.
    fn analyses(&self, scans: &[TaskScan], with_transitions: bool) -> Result<Vec<TaskAnalysis>, RunsError> {
        let info = self.info();
        let mut analyses: Vec<TaskAnalysis> =
            info.tasks.iter().zip(scans).map(|(task, scan)| TaskAnalysis::of(scan, task, info)).collect();
        let several =
            |(task, a): (usize, &TaskAnalysis)| a.patterns.clusters.len() > 1 && self.keeps_all(task);
        if with_transitions && analyses.iter().enumerate().any(several) {
            let counted = self.gather(
                Columns::LATENCY | Columns::MISSED | Columns::FLAGS,
                |task| TransitionCounter::new(&analyses[task].patterns.clusters),
                |counter, rows: &[Activation]| rows.iter().for_each(|a| counter.push(a)),
                TransitionCounter::merge,
            )?;
            for (analysis, counter) in analyses.iter_mut().zip(counted) {
                analysis.transitions = counter.figures();
            }
        }
        Ok(analyses)
    }

    /// What its figures say.
    ///
    /// # Errors
    /// The file cannot be read or is damaged.
    pub fn measured(&self) -> Result<MeasuredRun, RunsError> {
        let (stats, warnings) = self.timing()?.into_parts();
        Ok(MeasuredRun::new(RunInfo { warnings, ..self.info().clone() }, &stats, Some(self.path().into())))
    }

    /// Refuses a run whose time was not counted in instructions: code paths do not show in it.
    ///
    /// # Errors
    /// It is such a run.
    pub fn check_virtual_time(&self) -> Result<(), RunsError> {
        let info = self.info();
        let is_virtual = info.bench == Bench::Kernel && info.clock.contains("icount");
        if is_virtual { Ok(()) } else { Err(RunsError::NotVirtual(self.path().into())) }
    }

    /// Every latency of each task, with the task's name.
    ///
    /// # Errors
    /// The file cannot be read, or does not keep every activation.
    pub fn latencies(&self) -> Result<Vec<(String, Vec<i64>)>, RunsError> {
        let tasks = self.info().tasks.iter().enumerate().map(|(number, task)| {
            if !self.keeps_all(number) {
                return Err(self.needs_activations());
            }
            let mut latencies = Vec::new();
            self.visit(number, Columns::TIMING, |rows| {
                latencies.extend(rows.iter().map(Activation::latency_ns));
            })?;
            Ok((task.spec.name.clone(), latencies))
        });
        tasks.collect()
    }

    /// Decides a requirement, or says what the run's source does not tell of it.
    ///
    /// # Errors
    /// The file cannot be read, or the requirement needs every activation and not all are kept.
    pub fn judge(
        &self,
        task: usize,
        scan: &TaskScan,
        requirement: &Requirement,
    ) -> Result<Judgement, RunsError> {
        if let Some(gap) = requirement.gap(&self.info().tasks[task]) {
            return Ok(requirement.unknown(gap));
        }
        let evidence = self.evidence(task, scan, requirement)?;
        Ok(requirement.judge(evidence, requirement.extremal_index(scan)))
    }

    /// What the run shows of a requirement: from the histograms where they decide it, else by counting activations.
    ///
    /// # Errors
    /// As [`Run::judge`].
    pub fn evidence(
        &self,
        task: usize,
        scan: &TaskScan,
        requirement: &Requirement,
    ) -> Result<Evidence, RunsError> {
        let evidence = match Evidence::of(scan, requirement) {
            Some(evidence) if evidence.broke == evidence.may_have_broken => evidence,
            _ if self.keeps_all(task) => {
                let mut counter = EvidenceCounter::new(requirement, self.period_ns(task));
                self.visit(task, Columns::TIMING, |rows| rows.iter().for_each(|a| counter.push(a)))?;
                counter.evidence()
            }
            Some(evidence) => evidence,
            None => return Err(self.needs_activations()),
        };
        let counters = self.info().tasks[task].result.as_ref();
        Ok(counters.map_or(evidence, |counters| evidence.with_counters(counters, requirement)))
    }

    /// How predictions from windows of this length of the run itself turned out.
    ///
    /// # Errors
    /// The file cannot be read, or not every activation is kept.
    pub fn backtest(&self, task: usize, window_ns: i64) -> Result<Reliability, RunsError> {
        if !self.keeps_all(task) {
            return Err(self.needs_activations());
        }
        let period_ns = self.period_ns(task).max(1);
        let window = u64::try_from(window_ns / period_ns).unwrap_or(0);
        let mut backtest = Backtest::new(period_ns, window, DEFAULT_HORIZON as usize);
        self.visit(task, Columns::ALL, |rows| backtest.push_all(rows))?;
        Ok(backtest.finish())
    }
}
