//! Answers about a run, from its scan and, where that does not suffice, from a second pass.

use jitterlab_analysis::causes::{ListedEvents, RunWhy};
use jitterlab_analysis::measured::MeasuredRun;
use jitterlab_analysis::predict::{Backtest, DEFAULT_HORIZON, Reliability};
use jitterlab_analysis::purposes::Purpose;
use jitterlab_analysis::require::{BreachCounter, Breaches, Evidence, Requirement};
use jitterlab_analysis::scan::TaskScan;
use jitterlab_analysis::task_analysis::{AnalysisSection, RunAnalysis, TaskAnalysis};
use jitterlab_analysis::transitions::TransitionCounter;
use jitterlab_analysis::{Summary, Verdict};
use jitterlab_model::{Activation, Error, RunCauses, RunInfo, TaskRun, TimingStats, Warning};
use jitterlab_trace::{Columns, Import, Measured};

use crate::Run;
use crate::error::{Missing, no_causes_error};
use crate::run::RunStorage;

impl Run {
    /// Analyses the run, or its task of this name. `sections` are the requested ones, and `purpose` is the one to judge
    /// it for, all usual ones where none is named. The order of latency modes takes a second pass, which is made only
    /// `with_transitions`.
    ///
    /// # Errors
    /// The file cannot be read or is damaged, or there is no such task.
    pub fn analysis(
        &self,
        task: Option<&str>,
        sections: Vec<AnalysisSection>,
        with_transitions: bool,
        purpose: Option<&Purpose>,
    ) -> Result<RunAnalysis, Error> {
        let wanted = self.task_numbers(task)?;
        let (scans, mut warnings) = self.scan()?.into_parts();
        if matches!(&*self.storage, RunStorage::File(reader) if !reader.has_checksums()) {
            warnings.push(Warning::NoChecksums);
        }
        let all = self.analyses(&scans, with_transitions)?;
        let mut run = RunInfo { warnings, ..self.info().clone() };
        let both = run.tasks.into_iter().zip(all).enumerate();
        let both = both.filter(|(number, _)| wanted.contains(number)).map(|(_, both)| both);
        let tasks;
        (run.tasks, tasks) = both.unzip();
        let file = self.path().display().to_string();
        let tasks: Vec<TaskAnalysis> = tasks;
        fn summary_and_clock_gain(task: &TaskAnalysis) -> (&Summary, Option<f64>) {
            let summary = &task.measured.summary;
            (summary, task.patterns.change.clock_gain_ppm(summary.period_ns as f64))
        }
        let summaries: Vec<(&Summary, Option<f64>)> = tasks.iter().map(summary_and_clock_gain).collect();
        let verdict = Verdict::from_run(&run, &summaries, purpose);
        Ok(RunAnalysis { file, sections, tasks, verdict, run })
    }

    /// Returns the analysis of each task, from its scan.
    fn analyses(&self, scans: &[TaskScan], with_transitions: bool) -> Result<Vec<TaskAnalysis>, Error> {
        let info = self.info();
        let mut analyses: Vec<TaskAnalysis> =
            info.tasks.iter().zip(scans).map(|(task, scan)| TaskAnalysis::new(scan, task, info)).collect();
        let several =
            |(task, a): (usize, &TaskAnalysis)| a.patterns.clusters.len() > 1 && self.keeps_all_rows(task);
        if with_transitions && analyses.iter().enumerate().any(several) {
            let counted = self.accumulate(
                Columns::LATENCY | Columns::MISSED | Columns::FLAGS,
                |task| TransitionCounter::new(&analyses[task].patterns.clusters),
                |counter, rows: &[Activation]| rows.iter().for_each(|a| counter.push(a)),
                |all, next| all.merge(&next),
            )?;
            for (analysis, counter) in analyses.iter_mut().zip(counted) {
                analysis.transitions = counter.figures();
            }
        }
        Ok(analyses)
    }

    /// Returns the main figures of the run and of its tasks.
    ///
    /// # Errors
    /// The file cannot be read or is damaged.
    pub fn measured(&self) -> Result<MeasuredRun, Error> {
        let (stats, warnings) = self.timing()?.into_parts();
        Ok(MeasuredRun::new(RunInfo { warnings, ..self.info().clone() }, &stats, Some(self.path().into())))
    }

    /// Refuses a run in which code paths of the kernel do not show.
    ///
    /// # Errors
    /// Time was not counted in instructions, or several processors took turns.
    pub fn check_code_paths(&self) -> Result<(), Error> {
        let (info, path) = (self.info(), self.path().display());
        let takes_turns = |warning: &Warning| matches!(warning, Warning::Turns { .. });
        if !info.is_in_virtual_time() {
            return Err(Error::bad_use(format!("{path} was not measured in virtual time"))
                .remedy("give run files of `jitterlab kernel run`"));
        }
        if info.warnings.iter().any(takes_turns) {
            return Err(Error::bad_use(format!(
                "{path} is of several processors that took turns, which blurs code paths"
            ))
            .remedy("measure with one processor, without --cpus"));
        }
        Ok(())
    }

    /// Every latency of the task of this number.
    ///
    /// # Errors
    /// The file cannot be read, or does not keep every activation.
    pub fn latencies(&self, task: usize) -> Result<Vec<i64>, Error> {
        if !self.keeps_all_rows(task) {
            return Err(self.needs_activations());
        }
        let mut latencies = Vec::new();
        self.visit(task, Columns::TIMING, |rows| {
            latencies.extend(rows.iter().map(Activation::latency_ns));
        })?;
        Ok(latencies)
    }

    /// Returns the causes of its late activations.
    ///
    /// # Errors
    /// The file cannot be read, or the kernel's events were not recorded.
    pub fn causes(&self) -> Result<RunCauses, Error> {
        let causes = match &*self.storage {
            RunStorage::File(reader) => reader.causes()?,
            RunStorage::Journal(reader) => reader.causes()?,
            RunStorage::Imported(import) => crate::rtla_causes::causes(&import.info),
        };
        causes.ok_or_else(|| no_causes_error(&self.path))
    }

    /// Returns the causes of late activations in the run, or in its task of this name.
    ///
    /// # Errors
    /// As [`Run::causes`], or there is no such task.
    pub fn why(&self, task: Option<&str>, listed: ListedEvents) -> Result<RunWhy, Error> {
        let mut wanted = self.task_numbers(task)?;
        let causes = match self.causes() {
            // Warnings that list late starts, or count interruptions of the machine, are a partial answer.
            Err(lacking)
                if lacking.is(Missing::Causes) && self.info().warnings.iter().any(Warning::is_clue) =>
            {
                RunCauses::default()
            }
            causes => causes?,
        };
        if task.is_none() && self.info().is_imported() {
            // Another tool traced one or two of them.
            wanted.retain(|number| causes.tasks.get(*number).is_some_and(|of| of.explained > 0));
        }
        let (info, warnings) = self.warned(self.info().clone()).into_parts();
        let mut run = RunInfo { warnings, ..info };
        run.tasks = wanted.iter().filter_map(|number| run.tasks.get(*number).cloned()).collect();
        Ok(RunWhy::new(self.path().display().to_string(), &causes, run, &wanted, listed))
    }

    /// Returns the breaches of each of these requirements in each task (the outer list), with their times.
    ///
    /// # Errors
    /// The file cannot be read, or a requirement needs every activation and not all are kept.
    pub fn breaches(&self, requirements: &[&Requirement]) -> Result<Vec<Vec<Breaches>>, Error> {
        let tasks = self.info().tasks.len();
        let found = match &*self.storage {
            _ if requirements.is_empty() => vec![Vec::new(); tasks],
            RunStorage::Imported(import) => self.breaches_of_import(import, requirements),
            _ if (0..tasks).all(|task| self.keeps_all_rows(task)) => self.breaches_of_rows(requirements)?,
            _ => self.breaches_of_slices(requirements)?,
        };
        let judged = |task: &TaskRun, requirement: &Requirement, breaches: Option<Breaches>| {
            if let Some(gap) = requirement.missing_data(task) {
                return Ok(Breaches::from_gap(gap));
            }
            let mut breaches = breaches.ok_or_else(|| self.needs_activations())?;
            breaches.has_long_memory &= !self.info().is_in_virtual_time();
            Ok(breaches.with_counters(task, requirement))
        };
        let of_task = |(task, breaches): (&TaskRun, Vec<Option<Breaches>>)| {
            breaches
                .into_iter()
                .zip(requirements)
                .map(|(b, requirement)| judged(task, requirement, b))
                .collect()
        };
        self.info().tasks.iter().zip(found).map(of_task).collect()
    }

    fn breaches_of_rows(&self, requirements: &[&Requirement]) -> Result<Vec<Vec<Option<Breaches>>>, Error> {
        let new = |task: usize| {
            let of =
                requirements.iter().map(|requirement| BreachCounter::new(requirement, self.period_ns(task)));
            of.collect::<Vec<_>>()
        };
        let counted = self.accumulate(Columns::TIMING | Columns::INDEX, new, push_each, |all, next| {
            merge_each(all, &next);
        })?;
        let of_task =
            |counters: Vec<BreachCounter<'_>>| counters.into_iter().map(|c| Some(c.breaches())).collect();
        Ok(counted.into_iter().map(of_task).collect())
    }

    /// Counts breaches in another tool's output; `None` where its histogram does not show them.
    fn breaches_of_import(
        &self,
        import: &Import,
        requirements: &[&Requirement],
    ) -> Vec<Vec<Option<Breaches>>> {
        let of = |task: usize, measured: &Measured, requirement: &Requirement| match measured {
            Measured::Rows(rows) => {
                let mut counter = BreachCounter::new(requirement, self.period_ns(task));
                rows.iter().for_each(|a| counter.push(a));
                Some(counter.breaches())
            }
            Measured::Distributions(stats) => Evidence::new(stats, requirement).map(Breaches::from_totals),
        };
        let tasks = import.tasks.iter().enumerate();
        tasks.map(|(task, m)| requirements.iter().map(|r| of(task, m, r)).collect()).collect()
    }

    /// Counts breaches in a run of spikes, second by second; `None` where histograms do not show them.
    fn breaches_of_slices(&self, requirements: &[&Requirement]) -> Result<Vec<Vec<Option<Breaches>>>, Error> {
        let tasks = self.info().tasks.len();
        let mut found = vec![vec![Some(Breaches::default()); requirements.len()]; tasks];
        self.for_each_slice(|slice| {
            let mut stats = TimingStats::new(self.period_ns(slice.task));
            slice.add_to(&mut stats);
            let due_times = stats.executed() + stats.least_missed();
            for (breaches, requirement) in found[slice.task].iter_mut().zip(requirements) {
                match Evidence::new(&stats, requirement) {
                    Some(evidence) => {
                        breaches
                            .iter_mut()
                            .for_each(|b| b.push(self.first_index_of(slice), due_times, &evidence));
                    }
                    None => *breaches = None,
                }
            }
        })?;
        Ok(found)
    }

    /// Returns the reliability of predictions from windows of this length of the run itself.
    ///
    /// # Errors
    /// The file cannot be read, or not every activation is kept.
    pub fn backtest(&self, task: usize, window_ns: i64) -> Result<Reliability, Error> {
        if !self.keeps_all_rows(task) {
            return Err(self.needs_activations());
        }
        let period_ns = self.period_ns(task).max(1);
        let window = u64::try_from(window_ns / period_ns).unwrap_or(0);
        let mut backtest = Backtest::new(period_ns, window, DEFAULT_HORIZON as usize);
        self.visit(task, Columns::ALL, |rows| backtest.push_all(rows))?;
        Ok(backtest.finish())
    }
}

fn push_each(counters: &mut Vec<BreachCounter<'_>>, rows: &[Activation]) {
    counters.iter_mut().for_each(|counter| rows.iter().for_each(|a| counter.push(a)));
}

fn merge_each<'a>(all: &mut Vec<BreachCounter<'a>>, next: &[BreachCounter<'a>]) {
    all.iter_mut().zip(next).for_each(|(all, next)| all.merge(next));
}
