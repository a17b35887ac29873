//! Outlook of a run: longer latencies to expect, and the verdict on requirements.

use jitterlab_analysis::outlook::{Outlook, TaskOutlook};
use jitterlab_analysis::predict::Prediction;
use jitterlab_analysis::require::{Breaches, Requirement};
use jitterlab_analysis::scan::TaskScan;
use jitterlab_model::{Error, TaskRun, Warning};

use crate::Run;

/// Questions about the time to come.
#[derive(Debug, Clone, Default)]
pub struct OutlookRequest {
    /// Horizon of the prediction in nanoseconds; ten times the run without it.
    pub horizon_ns: Option<i64>,
    /// Requirements to support: the answer is the length of a run that supports them.
    pub claims: Vec<Requirement>,
    /// Requirements to decide; if there are any, nothing else is answered.
    pub requirements: Vec<Requirement>,
    /// Upper limit of consecutive values that break a requirement, if it is known from elsewhere.
    pub burst_at_most: Option<u64>,
    /// Window of a backtest in nanoseconds: predictions from such windows of the run itself, compared with the values
    /// that followed, in place of all else.
    pub backtest_ns: Option<i64>,
}

impl Run {
    /// Predicts the latency, or decides requirements: for the task of this name, or for all.
    ///
    /// # Errors
    /// There is no such task, the file cannot be read, it keeps too little for the question, the horizon is not above
    /// 0, or no run supports a claim.
    pub fn outlook(&self, task: Option<&str>, request: &OutlookRequest) -> Result<Outlook, Error> {
        if request.horizon_ns.is_some_and(|ns| ns <= 0) {
            return Err(Error::bad_use("--horizon is a time ahead").remedy("give one above 0, such as 24h"));
        }
        let wanted = self.task_numbers(task)?.into_iter();
        let (tasks, warnings) = if let Some(window_ns) = request.backtest_ns {
            let tasks =
                wanted.map(|task| self.backtest_outlook(task, window_ns)).collect::<Result<_, _>>()?;
            (tasks, self.info().warnings.clone())
        } else {
            let asked: Vec<&Requirement> = request.requirements.iter().chain(&request.claims).collect();
            let breaches = self.breaches(&asked)?;
            let (predictions, warnings) = self.predictions(request)?;
            let of = |task: usize| self.task_outlook(request, task, &breaches[task], predictions.get(task));
            (wanted.map(of).collect::<Result<_, _>>()?, warnings)
        };
        Ok(Outlook { file: self.path().display().to_string(), tasks, warnings })
    }

    /// Returns the prediction for each task, unless only requirements are to be decided, which takes no scan.
    fn predictions(
        &self,
        request: &OutlookRequest,
    ) -> Result<(Vec<Option<Prediction>>, Vec<Warning>), Error> {
        if !request.requirements.is_empty() {
            return Ok((Vec::new(), self.info().warnings.clone()));
        }
        let (scans, warnings) = self.scan()?.into_parts();
        let horizon_ns = request.horizon_ns.map(|ns| ns as f64);
        let causes = self.causes().ok();
        let of = |(number, (scan, task)): (usize, (&TaskScan, &TaskRun))| {
            let prediction = Prediction::new(scan, task, self.info(), horizon_ns)?;
            let known = causes.as_ref().and_then(|causes| causes.tasks.get(number)).zip(scan.tail());
            Some(match known {
                Some((causes, tail)) => prediction.with_causes(&tail, causes),
                None => prediction,
            })
        };
        Ok((scans.iter().zip(&self.info().tasks).enumerate().map(of).collect(), warnings))
    }

    fn task_outlook(
        &self,
        request: &OutlookRequest,
        task: usize,
        breaches: &[Breaches],
        prediction: Option<&Option<Prediction>>,
    ) -> Result<TaskOutlook, Error> {
        let described = &self.info().tasks[task];
        let (of_requirements, of_claims) = breaches.split_at(request.requirements.len());
        let judged = request.requirements.iter().zip(of_requirements);
        let plan = |(claim, breaches): (&Requirement, &Breaches)| {
            let plan = claim.plan(breaches, request.burst_at_most, described.spec.period_ns);
            plan.ok_or_else(|| {
                Error::not_measured(format!(
                    "no run, however long, supports {:?}, which allows no breach at all",
                    claim.text
                ))
                .remedy("claim a small share, such as \"p(latency > 100us) < 1e-6\"")
            })
        };
        Ok(TaskOutlook {
            task: described.spec.name.clone(),
            prediction: prediction.cloned().flatten(),
            claims: request.claims.iter().zip(of_claims).map(plan).collect::<Result<_, _>>()?,
            requirements: judged.map(|(r, b)| r.judge(b, request.burst_at_most)).collect(),
            reliability: None,
        })
    }

    fn backtest_outlook(&self, task: usize, window_ns: i64) -> Result<TaskOutlook, Error> {
        Ok(TaskOutlook {
            task: self.info().tasks[task].spec.name.clone(),
            reliability: Some(self.backtest(task, window_ns)?),
            ..TaskOutlook::default()
        })
    }
}
