//! What timing does to several loops: of a run, or of given execution times put through a schedule.

use super::ServoError;
use super::actions::ActionCost;
use super::along_trace::{TimeBase, Walk};
use super::assessment::{Wishes, proved_of_seen};
use super::chain::Stationary;
use super::classes::Memory;
use super::evaluate::{BATCHES, Evaluation, by_batches, curve_step_ns, is_long_enough, jackknife, values};
use super::follow::{FollowedReference, Window, compared, usual_references};
use super::gather::{MeanTiming, mean_timing};
use super::joint::JointCycles;
use super::looped::{Act, Event, Loop};
use super::loops_judged::{PlantUnderRun, TaskOfLoops};
use super::merged::{Jobs, Merged};
use super::overrun::{Late, OverrunAction, Without};
use super::question::Question;
use super::record::Record;
use super::response::Reference;
use super::schedule::Schedule;
use super::several::{LoopTask, Several, steady};
use super::sources::{Made, Recorded, Replayed, Source};
use super::timing::{Job, Moment, Moments};
use super::verdict::{LateTask, of_loops};
use super::weakly_hard::{Aim, UnderMisses};
use crate::error::MotionError;

/// What each task of the plant does, the others being as they are.
#[derive(Clone, Copy, PartialEq)]
enum But {
    /// As it was.
    Nothing,
    /// Punctual, all but this one.
    This(usize),
}

impl Several {
    /// Judges the plant by what a run recorded of all tasks, in the order of [`Several::all_tasks`].
    ///
    /// # Errors
    /// As [`Several::ideal`], too few activations, and records that cannot be read.
    pub fn under_run<R: Record + ?Sized>(
        &self,
        records: &[&R],
        wishes: &Wishes,
    ) -> Result<PlantUnderRun, MotionError> {
        let sources: Vec<Recorded<R>> = records.iter().map(|record| Recorded(*record)).collect();
        let replayed = |late: Late| {
            let own = self.tasks.len();
            let of = |(i, (task, source)): (usize, (&LoopTask, _))| {
                // Other plants' tasks stay as they were.
                Replayed { source, late: (i < own).then_some(late), period_ns: task.period_ns }
            };
            self.all_tasks().zip(&sources).enumerate().map(of).collect()
        };
        let judged = self.judged(&sources, replayed, wishes)?;
        let redesigns = match (self.tasks.as_slice(), records) {
            ([task], [record, ..]) if wishes.redesign && task.loops.is_empty() => {
                let (plant, timing, overrun) = (self.plant.clone(), self.timing, task.overrun);
                Question { timing, overrun, ..Question::of(plant, task.period_ns) }.redesigns(*record)?
            }
            _ => Vec::new(),
        };
        Ok(PlantUnderRun { redesigns, ..judged })
    }

    /// Judges the plant by jobs that a schedule makes.
    ///
    /// # Errors
    /// As [`Several::ideal`], and tasks that are never idle together.
    pub fn under_schedule(&self, schedule: &Schedule, wishes: &Wishes) -> Result<PlantUnderRun, MotionError> {
        let made = |late: Option<Late>| -> Vec<Made> {
            let action = |task: &LoopTask| match late {
                Some(late) if self.tasks.contains(task) => late,
                _ => task.overrun.late,
            };
            let tasks: Vec<(&str, Late)> =
                self.all_tasks().map(|task| (task.name.as_str(), action(task))).collect();
            schedule.jobs(&tasks).into_iter().map(Made).collect()
        };
        self.judged(&made(None), |late| made(Some(late)), wishes)
    }

    fn judged<S, T>(
        &self,
        sources: &[S],
        under: impl Fn(Late) -> Vec<T>,
        wishes: &Wishes,
    ) -> Result<PlantUnderRun, MotionError>
    where
        S: Source,
        T: Source,
    {
        let ideal = self.ideal()?;
        let mut closed = self.closed()?;
        let own = self.tasks.len();
        let found = self.tasks.iter().zip(sources).map(|(task, s)| mean_timing(task.period_ns, s));
        let (timings, worst): (Vec<MeanTiming>, Vec<i64>) =
            found.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
        let waits: Vec<(i64, i64)> =
            timings.iter().map(|t| (t.wait_ns.round() as i64, t.execution_ns.round() as i64)).collect();
        let (period_ns, common_ns) = (self.period_ns(), self.common_ns()?);
        let time_ns = timings.iter().map(|t| t.periods as i64).zip(&self.tasks);
        let time_ns = time_ns.map(|(periods, task)| periods * task.period_ns).max().unwrap_or(0).max(1);
        let curve_step_ns = curve_step_ns((time_ns / period_ns) as u64, period_ns);
        let mut cycles = JointCycles::new(closed.lasting(), period_ns, self.owed()?);
        let mut walk = Walk::new(&closed, TimeBase::Nominal, ideal.covariance.as_ref(), curve_step_ns);
        let mut origin = None::<i64>;
        self.merged(sources, But::Nothing)?.run(|moment| {
            match moment {
                Ok(Moment::At(time, event)) if usize::from(event.by) < own => {
                    if event.act == Act::Zero {
                        cycles.missed();
                    }
                    let task = &self.tasks[usize::from(event.by)];
                    if let Some(event) = done(event, task.overrun.without) {
                        walk.pass(Moment::At(time, event));
                        cycles.at(time, event);
                    }
                }
                Ok(Moment::Cut(time)) => {
                    walk.pass(Moment::Cut(time));
                    cycles.cut();
                }
                Ok(_) => {}
                Err(together) => {
                    let since = together.time_ns - *origin.get_or_insert(together.time_ns);
                    let part = (i128::from(since) * BATCHES as i128 / i128::from(time_ns)) as usize;
                    cycles.together(&mut closed, together.time_ns, together.in_time, part);
                }
            }
            true
        })?;
        if cycles.count() == 0 {
            return Err(ServoError::NeverTogether.into());
        }
        let memory = cycles.memory();
        let clustered = cycles.stationary(memory, None);
        let independent = cycles.stationary(Memory::None, None);
        let is_long = is_long_enough((time_ns / period_ns) as f64, clustered.radius_per_period);
        let left_out: Vec<Stationary> = (0..if is_long { BATCHES } else { 0 })
            .map(|part| cycles.stationary(memory, Some(part)))
            .collect();
        let along = walk.finish();
        let along_interval = if is_long { by_batches(&along) } else { None };
        let evaluation = Evaluation {
            mean_delay: self.constant(&waits)?,
            jitter: cycles.in_time().unwrap_or_else(|| independent.clone()),
            independent,
            memory,
            cost_interval: jackknife(clustered.cost, &values(&left_out, |s| s.cost)),
            radius_interval: jackknife(
                clustered.radius_per_period,
                &values(&left_out, |s| s.radius_per_period),
            ),
            clustered,
            along,
            along_interval,
            timing: timings.first().cloned().ok_or(ServoError::TooFewActivations(0))?,
            resolution_ns: 1,
            ideal,
        };
        let alone = self.alone(sources, &closed, &evaluation.ideal)?;
        let stands = self.stands()?;
        let late = |i: usize| LateTask {
            timing: &timings[i],
            period_ns: self.tasks[i].period_ns,
            stands_ns: stands[i],
        };
        let responses = self.responses(sources, &closed, &evaluation.ideal, &timings, &worst, wishes)?;
        let (misses, shown) = misses(&cycles, wishes);
        let verdict = of_loops(&evaluation, (0..own).map(late), &responses);
        let actions = self.actions(&mut closed, under)?;
        let tasks = self.tasks.iter().zip(timings).enumerate().map(|(i, (task, timing))| TaskOfLoops {
            alone: alone.get(i).copied(),
            ..self.described(task, Some(timing))
        });
        Ok(PlantUnderRun {
            verdict,
            tasks: tasks.collect(),
            common_ns,
            cycles: cycles.count(),
            computed: cycles.computed,
            evaluation,
            actions,
            misses,
            misses_period_ns: self.owed()?.period_ns,
            shown,
            responses,
            redesigns: Vec::new(),
        })
    }

    /// What each task costs along the run with the plant's others punctual; nothing where there are none.
    fn alone<S: Source>(
        &self,
        sources: &[S],
        closed: &Loop,
        ideal: &Stationary,
    ) -> Result<Vec<f64>, MotionError> {
        let own = self.tasks.len();
        let mut alone = Vec::new();
        for i in 0..if own > 1 { own } else { 0 } {
            let mut walk = Walk::new(closed, TimeBase::Nominal, ideal.covariance.as_ref(), 0);
            self.merged(sources, But::This(i))?.run(|moment| {
                match moment {
                    Ok(Moment::At(time, event)) => {
                        let without = self.tasks[usize::from(event.by)].overrun.without;
                        done(event, without).into_iter().for_each(|e| walk.pass(Moment::At(time, e)));
                    }
                    Ok(moment) => walk.pass(moment),
                    Err(_) => {}
                }
                true
            })?;
            alone.push(walk.finish().cost);
        }
        Ok(alone)
    }

    /// What each overrun action would cost, if all tasks of the plant took it. A grid that begins anew is none of several tasks: they
    /// would never be due together again.
    fn actions<T: Source>(
        &self,
        closed: &mut Loop,
        under: impl Fn(Late) -> Vec<T>,
    ) -> Result<Vec<ActionCost>, MotionError> {
        let (period_ns, own) = (self.period_ns(), self.tasks.len());
        let mut found = Vec::new();
        for late in [Late::Skip, Late::CatchUp, Late::Kill] {
            let mut all = Vec::new();
            for action in super::actions::possible(closed).filter(|action| action.late == late) {
                all.push((action, JointCycles::new(closed.lasting(), period_ns, self.owed()?)));
            }
            let sources = under(late);
            self.merged(&sources, But::Nothing)?.run(|moment| {
                for (action, cycles) in &mut all {
                    match moment {
                        Ok(Moment::At(time, event)) if usize::from(event.by) < own => {
                            if event.act == Act::Zero {
                                cycles.missed();
                            }
                            done(event, action.without).into_iter().for_each(|e| cycles.at(time, e));
                        }
                        Ok(Moment::Cut(_)) => cycles.cut(),
                        Ok(_) => {}
                        Err(together) => cycles.together(closed, together.time_ns, together.in_time, 0),
                    }
                }
                true
            })?;
            let with_cycles = all.into_iter().filter(|(_, cycles)| cycles.count() > 0);
            found.extend(with_cycles.map(|(action, c)| ActionCost { action, stationary: c.clustered() }));
        }
        Ok(found)
    }

    /// References followed through the worst event of any of the plant's tasks, beside all of them punctual.
    fn responses<S: Source>(
        &self,
        sources: &[S],
        closed: &Loop,
        ideal: &Stationary,
        timings: &[MeanTiming],
        worst: &[i64],
        wishes: &Wishes,
    ) -> Result<Vec<FollowedReference>, MotionError> {
        let share = |i: &usize| timings[*i].worst_response_ns as f64 / self.tasks[*i].period_ns as f64;
        let Some(worst_ns) =
            (0..self.tasks.len()).max_by(|a, b| share(a).total_cmp(&share(b))).map(|i| worst[i])
        else {
            return Ok(Vec::new());
        };
        // As fast as its slowest part dies out, of which the covariance shows the square.
        let period_s = self.period_ns() as f64 * 1e-9;
        let rate = -ideal.radius_per_period.max(f64::MIN_POSITIVE).ln() / (2.0 * period_s);
        let rate = rate.clamp(1e-6 / period_s, 1.0 / period_s);
        let usual = usual_references(rate);
        let references = if wishes.references.is_empty() { &usual[..] } else { &wishes.references[..] };
        references.iter().map(|r| self.followed(sources, closed, rate, worst_ns, *r)).collect()
    }

    fn followed<S: Source>(
        &self,
        sources: &[S],
        closed: &Loop,
        rate: f64,
        worst_ns: i64,
        reference: Reference,
    ) -> Result<FollowedReference, MotionError> {
        let window = Window::of(reference, rate, self.period_ns());
        let begin_ns = worst_ns.saturating_sub(window.before_ns);
        let end_ns = begin_ns.saturating_add(window.length_ns);
        let (mut punctual, mut recorded) = (Vec::new(), Vec::new());
        for (task, source) in self.tasks.iter().zip(sources) {
            let mut jobs: Vec<Job> = Vec::new();
            for job in source.jobs() {
                let job = job?;
                if job.due_ns > end_ns {
                    break;
                }
                if job.due_ns >= begin_ns {
                    jobs.push(job);
                }
            }
            let first_ns = jobs.first().map_or(begin_ns, |job| job.due_ns);
            let last_ns = jobs.last().map_or(begin_ns, |job| job.due_ns);
            punctual
                .push(Made(steady(task, first_ns, (0, 0)).take_while(|job| job.due_ns <= last_ns).collect()));
            recorded.push(Made(jobs));
        }
        let last_ns = recorded.iter().filter_map(|made| made.0.last()).map(|job| job.due_ns).min();
        let length_ns = (last_ns.unwrap_or(begin_ns) - begin_ns).clamp(1, window.length_ns);
        let moments = |of: &[Made]| -> Result<Vec<Moment>, MotionError> {
            let mut all = vec![Moment::Cut(begin_ns)];
            let merged = self.merged_own(of)?;
            merged.run(|moment| {
                if let Ok(Moment::At(time, event)) = moment {
                    let without = self.tasks[usize::from(event.by)].overrun.without;
                    all.extend(done(event, without).map(|event| Moment::At(time, event)));
                }
                true
            })?;
            Ok(all)
        };
        Ok(compared(closed, reference, length_ns, moments(&punctual)?, moments(&recorded)?))
    }

    /// The jobs of all tasks; or of the plant's, with all punctual but one.
    fn merged<'a, S: Source>(&'a self, sources: &'a [S], but: But) -> Result<Merged<'a>, MotionError> {
        let But::This(but) = but else {
            return self.merged_of(self.all_tasks(), sources);
        };
        let mut merged = Merged::new(self.common_ns()?);
        for (i, (task, source)) in self.tasks.iter().zip(sources).enumerate() {
            let first = source.jobs().next().transpose()?.map_or(0, |job| job.due_ns);
            let punctual = LoopTask { overrun: OverrunAction::holding(Late::Skip), ..task.clone() };
            let jobs: Jobs<'a> =
                if i == but { source.jobs() } else { Box::new(steady(&punctual, first, (0, 0)).map(Ok)) };
            merged.add(task.period_ns, self.moments(task, source.early_ns()), jobs);
        }
        Ok(merged)
    }

    /// The jobs of the plant's own tasks.
    fn merged_own<'a, S: Source>(&'a self, sources: &'a [S]) -> Result<Merged<'a>, MotionError> {
        self.merged_of(self.tasks.iter(), sources)
    }

    fn merged_of<'a, S: Source>(
        &'a self,
        tasks: impl Iterator<Item = &'a LoopTask>,
        sources: &'a [S],
    ) -> Result<Merged<'a>, MotionError> {
        let mut merged = Merged::new(self.common_ns()?);
        let early_ns = sources.iter().map(Source::early_ns).max().unwrap_or(0);
        for (task, source) in tasks.zip(sources) {
            merged.add(task.period_ns, self.moments(task, early_ns), source.jobs());
        }
        Ok(merged)
    }

    /// The moments of a task, with a mark where a due time is missed or a job killed.
    fn moments(&self, task: &LoopTask, early_ns: i64) -> Moments {
        let marks = matches!(task.overrun.late, Late::Skip | Late::Kill).then_some(Act::Zero);
        Moments::new(self.timing, task.period_ns, early_ns).without(marks)
    }
}

/// What a task does; at a mark what its output does without a job's, if anything.
fn done(event: Event, without: Without) -> Option<Event> {
    match (event.act, without) {
        (Act::Zero, Without::Hold) => None,
        (Act::Zero, Without::Predict) => Some(Event { act: Act::Predict, ..event }),
        _ => Some(event),
    }
}

/// What is proved of any sequence with as many misses as were seen, and as are asked for; and of how many cycles.
fn misses(cycles: &JointCycles, wishes: &Wishes) -> (Vec<UnderMisses>, u64) {
    let (steps, shown) = cycles.steps();
    let seen = proved_of_seen(&steps, &cycles.misses_seen());
    let asked = wishes.misses.iter().map(|asked| steps.under(*asked, Aim::Decide));
    (seen.into_iter().chain(asked).collect(), shown)
}
