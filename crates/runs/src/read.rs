//! Going through a run: on all processors where that is possible, each part of it in order of time.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use jitterlab_analysis::scan::TaskScan;
use jitterlab_analysis::scan::series::{Extent, QUANTITIES, Series, SeriesBuilder, Share, Step};
use jitterlab_model::{Activation, Error, Keep, TimingStats};
use jitterlab_trace::{Columns, Measured, RunReader, Slice};

use crate::run::RunStorage;
use crate::{Run, Warned};

/// The longest pause between two calls with the progress.
const PAUSE: Duration = Duration::from_millis(10);

/// Fewer activations are read sooner than threads begin.
const SHORT: u64 = 1 << 13;

/// Progress of reading a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Activations read.
    pub done: u64,
    /// Activations in all.
    pub of: u64,
    /// Time since reading began.
    pub taken: Duration,
    /// True for the last call.
    pub finished: bool,
}

impl Run {
    /// Scans all tasks in one pass.
    ///
    /// # Errors
    /// The file cannot be read or is damaged.
    pub fn scan(&self) -> Result<Warned<Vec<TaskScan>>, Error> {
        let seen = self.scan_tasks(|_| None)?.into_iter().map(|seen| seen.scan).collect();
        Ok(self.warned(seen))
    }

    /// Scans with the series of each task, gathered in the same pass.
    /// `total` is the sum of [`Run::series_rows`] over all runs whose series share a page.
    ///
    /// # Errors
    /// The file cannot be read or is damaged.
    pub fn scan_with_series(&self, total: u64) -> Result<Warned<Vec<(TaskScan, Series)>>, Error> {
        let sizes = self.series_rows()?;
        let seen = self.scan_tasks(|task| {
            let make = if self.keeps_all_rows(task) { SeriesBuilder::new } else { SeriesBuilder::for_spikes };
            Some(make(self.period_ns(task), Share { expected: sizes[task], total }))
        })?;
        let finished = |seen: TaskPass| Some((seen.scan, seen.series?.finish()));
        Ok(self.warned(seen.into_iter().filter_map(finished).collect()))
    }

    /// Number of values in each task's series: its activations, or its slices if only spikes were kept.
    ///
    /// # Errors
    /// The file cannot be read or is damaged.
    pub fn series_rows(&self) -> Result<Vec<u64>, Error> {
        let tasks = self.info().tasks.len();
        let mut slices = vec![0; tasks];
        self.for_each_slice(|slice| slices[slice.task] += 1)?;
        Ok((0..tasks)
            .map(|task| if self.keeps_all_rows(task) { self.row_count(task) } else { slices[task] })
            .collect())
    }

    /// Scans all tasks in one pass, each with the series that `series` makes for it.
    fn scan_tasks(
        &self,
        series: impl Fn(usize) -> Option<SeriesBuilder> + Sync,
    ) -> Result<Vec<TaskPass>, Error> {
        let new = |task: usize| TaskPass {
            scan: TaskScan::new(self.period_ns(task), self.expected_due_times(task)),
            series: series(task),
        };
        let mut all: Vec<TaskPass> = match &*self.storage {
            RunStorage::Imported(import) => {
                let see = |(task, measured): (usize, &Measured)| {
                    let mut seen = new(task);
                    match measured {
                        Measured::Rows(rows) => seen.push_all(rows),
                        Measured::Distributions(stats) => seen.scan.push_figures(0, stats),
                    }
                    seen
                };
                import.tasks.iter().enumerate().map(see).collect()
            }
            RunStorage::File(reader) if reader.has_slices() => self.scan_slices(new)?,
            RunStorage::Journal(reader) if reader.has_slices() => self.scan_slices(new)?,
            _ => self.accumulate(Columns::ALL, new, TaskPass::push_all, TaskPass::merge)?,
        };
        for (seen, task) in all.iter_mut().zip(&self.info().tasks) {
            seen.scan.drop_unknown(&task.unknown);
            seen.scan.repeats_itself = self.info().is_in_virtual_time();
        }
        Ok(all)
    }

    /// Timing statistics of each task alone: half of the work of [`Run::scan`].
    ///
    /// # Errors
    /// The file cannot be read or is damaged.
    pub fn timing(&self) -> Result<Warned<Vec<TimingStats>>, Error> {
        let new = |task: usize| TimingStats::new(self.period_ns(task));
        let mut stats: Vec<TimingStats> = (0..self.info().tasks.len()).map(new).collect();
        match &*self.storage {
            RunStorage::Imported(import) => {
                stats = import.tasks.iter().zip(&import.info.tasks).map(|(m, task)| m.stats(task)).collect();
            }
            _ if (0..stats.len()).all(|task| self.keeps_all_rows(task)) => {
                stats = self
                    .accumulate(Columns::TIMING, new, TimingStats::push_all, |all, next| all.append(&next))?;
            }
            _ => self.for_each_slice(|slice| slice.add_to(&mut stats[slice.task]))?,
        }
        stats.iter_mut().zip(&self.info().tasks).for_each(|(stats, task)| stats.drop_unknown(&task.unknown));
        Ok(self.warned(stats))
    }

    /// Scans a run that kept only spikes and a histogram for each second.
    fn scan_slices(&self, new: impl Fn(usize) -> TaskPass) -> Result<Vec<TaskPass>, Error> {
        let tasks = self.info().tasks.len();
        let mut all: Vec<TaskPass> = (0..tasks).map(new).collect();
        // Slices are joined to stretches much shorter than the parts of a scan: (place on the grid, figures).
        let mut pending: Vec<Option<(u64, TimingStats)>> = vec![None; tasks];
        self.for_each_slice(|slice| {
            let task = slice.task;
            if let Some(series) = &mut all[task].series {
                series.push_step(&series_step(slice));
            }
            let period_ns = self.period_ns(task).max(1);
            let place = self.first_index_of(slice);
            let part = (self.expected_due_times(task) / 8_192).max(1);
            if let Some((first, stats)) = pending[task].take_if(|(first, _)| *first / part != place / part) {
                all[task].scan.push_figures(first, &stats);
            }
            let (_, stats) = pending[task].get_or_insert_with(|| (place, TimingStats::new(period_ns)));
            slice.add_to(stats);
        })?;
        for (seen, (first, stats)) in all.iter_mut().zip(pending).filter_map(|(s, p)| Some((s, p?))) {
            seen.scan.push_figures(first, &stats);
        }
        let above_ns = if let Keep::Spikes { above_ns } = self.info().keep { Some(above_ns) } else { None };
        self.for_each_batch(Columns::ALL, |task, rows| {
            if let Some(above_ns) = above_ns {
                all[task].scan.push_spikes(rows, above_ns);
            }
            if let Some(series) = &mut all[task].series {
                series.push_all(rows);
            }
        })?;
        Ok(all)
    }

    /// Index of a slice's first due time on its task's grid.
    pub(crate) fn first_index_of(&self, slice: &Slice) -> u64 {
        let begin = self.info().tasks[slice.task].result.as_ref().map_or(0, |r| r.first_due_ns);
        u64::try_from((slice.first_due_ns - begin) / self.period_ns(slice.task).max(1)).unwrap_or(0)
    }

    /// Visits the kept activations of one task in order of time.
    ///
    /// # Errors
    /// The file cannot be read or is damaged.
    pub fn visit(
        &self,
        task: usize,
        columns: Columns,
        mut visit: impl FnMut(&[Activation]),
    ) -> Result<(), Error> {
        if let RunStorage::File(reader) = &*self.storage {
            let groups = reader.row_groups().iter().enumerate().filter(|(_, group)| group.task == task);
            for (number, _) in groups {
                reader.visit_row_group(number, columns, &mut visit)?;
            }
            return Ok(());
        }
        self.for_each_batch(columns, |of, rows| {
            if of == task {
                visit(rows);
            }
        })
    }

    /// Visits all kept activations with the number of their task; those of each task in order of time.
    ///
    /// # Errors
    /// The file cannot be read or is damaged.
    pub fn for_each_batch(
        &self,
        columns: Columns,
        mut visit: impl FnMut(usize, &[Activation]),
    ) -> Result<(), Error> {
        match &*self.storage {
            RunStorage::File(reader) => reader.for_each_batch(columns, visit)?,
            RunStorage::Journal(reader) => reader.for_each_batch(visit)?,
            RunStorage::Imported(import) => {
                for (task, measured) in import.tasks.iter().enumerate() {
                    if let Measured::Rows(rows) = measured {
                        visit(task, rows);
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the number of parts it can be read in.
    #[must_use]
    pub fn part_count(&self) -> usize {
        match &*self.storage {
            RunStorage::File(reader) => reader.row_groups().len(),
            RunStorage::Journal(_) | RunStorage::Imported(_) => 1,
        }
    }

    /// Visits the activations of one part, as [`Run::for_each_batch`] does those of all.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn visit_part(&self, part: usize, mut visit: impl FnMut(usize, &[Activation])) -> Result<(), Error> {
        if let RunStorage::File(reader) = &*self.storage {
            let task = reader.row_groups()[part].task;
            return reader.visit_row_group(part, Columns::ALL, |rows| visit(task, rows));
        }
        self.for_each_batch(Columns::ALL, visit)
    }

    /// Goes through the slices of a run that keeps only spikes, each task's in order of time. There are none
    /// where every activation is kept.
    ///
    /// # Errors
    /// The file cannot be read or is damaged.
    pub fn for_each_slice(&self, visit: impl FnMut(&Slice)) -> Result<(), Error> {
        match &*self.storage {
            RunStorage::File(reader) => reader.for_each_slice(visit)?,
            RunStorage::Journal(reader) => reader.for_each_slice(visit)?,
            RunStorage::Imported(_) => {}
        }
        Ok(())
    }

    /// Activations in these rows of a task.
    ///
    /// # Errors
    /// The file cannot be read or is damaged, or not every activation is kept.
    pub fn activations(&self, task: usize, rows: Range<u64>) -> Result<Vec<Activation>, Error> {
        if !self.keeps_all_rows(task) {
            return Err(self.needs_activations());
        }
        let mut kept = Vec::new();
        // `row` is the place of the first of a batch among the task's rows.
        let mut take = |row: u64, batch: &[Activation]| {
            let from = rows.start.saturating_sub(row).min(batch.len() as u64) as usize;
            let to = rows.end.saturating_sub(row).min(batch.len() as u64) as usize;
            kept.extend_from_slice(batch.get(from..to).unwrap_or_default());
        };
        let mut row = 0;
        if let RunStorage::File(reader) = &*self.storage {
            for (number, group) in reader.row_groups().iter().enumerate().filter(|(_, g)| g.task == task) {
                let end = row + group.rows as u64;
                // Row groups outside need not be read.
                if row < rows.end && rows.start < end {
                    reader.visit_row_group(number, Columns::ALL, |batch| {
                        take(row, batch);
                        row += batch.len() as u64;
                    })?;
                }
                row = end;
            }
        } else {
            self.visit(task, Columns::ALL, |batch| {
                take(row, batch);
                row += batch.len() as u64;
            })?;
        }
        Ok(kept)
    }

    /// Goes through all activations on all processors; returns an accumulator for each task. One for each
    /// task and processor, by row groups, joined in order of time. Tasks known only by their distributions
    /// keep their initial accumulator.
    ///
    /// # Errors
    /// The file cannot be read or is damaged.
    pub fn accumulate<T: Send>(
        &self,
        columns: Columns,
        new: impl Fn(usize) -> T + Sync,
        push: impl Fn(&mut T, &[Activation]) + Sync,
        merge: impl Fn(&mut T, T),
    ) -> Result<Vec<T>, Error> {
        let tasks = self.info().tasks.len();
        let RunStorage::File(reader) = &*self.storage else {
            let mut gathered: Vec<T> = (0..tasks).map(new).collect();
            self.for_each_batch(columns, |task, rows| push(&mut gathered[task], rows))?;
            return Ok(gathered);
        };
        let done = AtomicU64::new(0);
        let part = |groups: Range<usize>| {
            let mut gathered: Vec<Option<T>> = (0..tasks).map(|_| None).collect();
            for group in groups {
                let task = reader.row_groups()[group].task;
                let to = gathered[task].get_or_insert_with(|| new(task));
                reader.visit_row_group(group, columns, |rows| {
                    push(to, rows);
                    done.fetch_add(rows.len() as u64, Ordering::Relaxed);
                })?;
            }
            Ok(gathered)
        };
        let shares = row_group_ranges(reader);
        let alone = shares.len() == 1 && self.progress.is_none();
        let parts: Vec<Option<Result<Vec<Option<T>>, Error>>> = thread::scope(|scope| {
            let begin = |groups: Range<usize>| {
                let (part, own) = (&part, groups.clone());
                let thread = || thread::Builder::new().spawn_scoped(scope, move || part(own)).ok();
                (groups, if alone { None } else { thread() })
            };
            let running: Vec<_> = shares.into_iter().map(begin).collect();
            let ended = |thread: &Option<thread::ScopedJoinHandle<_>>| {
                thread.as_ref().is_none_or(thread::ScopedJoinHandle::is_finished)
            };
            self.report_progress_until(reader.rows(), &done, || {
                running.iter().all(|(_, thread)| ended(thread))
            });
            // Groups without a thread are read here.
            let parts = running.into_iter();
            parts
                .map(|(groups, thread)| thread.map_or_else(|| Some(part(groups)), |t| t.join().ok()))
                .collect()
        });
        let mut all: Vec<Option<T>> = (0..tasks).map(|_| None).collect();
        for part in parts {
            let part = part.ok_or_else(|| {
                Error::defect(format!(
                    "{} was not read whole: a reading thread ended too early",
                    self.path.display()
                ))
            })??;
            for (all, part) in all.iter_mut().zip(part) {
                match (all.as_mut(), part) {
                    (Some(all), Some(part)) => merge(all, part),
                    (None, Some(part)) => *all = Some(part),
                    (_, None) => {}
                }
            }
        }
        Ok(all.into_iter().enumerate().map(|(task, t)| t.unwrap_or_else(|| new(task))).collect())
    }

    /// Reports progress until the work is finished, then returns.
    fn report_progress_until(&self, of: u64, done: &AtomicU64, finished: impl Fn() -> bool) {
        let Some(progress) = &self.progress else { return };
        let begin = Instant::now();
        let mut pause = Duration::from_micros(50);
        loop {
            let finished = finished();
            progress(Progress { done: done.load(Ordering::Relaxed), of, taken: begin.elapsed(), finished });
            if finished {
                return;
            }
            thread::sleep(pause);
            pause = (pause * 2).min(PAUSE);
        }
    }

    pub(crate) fn period_ns(&self, task: usize) -> i64 {
        self.info().tasks[task].spec.period_ns
    }

    /// Number of due times of a task, as far as is known before reading.
    fn expected_due_times(&self, task: usize) -> u64 {
        let known = self.info().tasks[task].result.as_ref().map(|r| r.executed + r.missed);
        known.unwrap_or_else(|| self.row_count(task))
    }

    /// Number of kept activations of a task.
    pub fn row_count(&self, task: usize) -> u64 {
        match &*self.storage {
            RunStorage::File(reader) => {
                reader.row_groups().iter().filter(|g| g.task == task).map(|g| g.rows as u64).sum()
            }
            RunStorage::Journal(reader) => reader.rows().get(task).copied().unwrap_or(0),
            RunStorage::Imported(import) => match import.tasks.get(task) {
                Some(Measured::Rows(rows)) => rows.len() as u64,
                _ => 0,
            },
        }
    }
}

/// Results of one pass over a task: the scan and, where it is drawn, its series.
struct TaskPass {
    scan: TaskScan,
    series: Option<SeriesBuilder>,
}

impl TaskPass {
    fn push_all(&mut self, rows: &[Activation]) {
        self.scan.push_all(rows);
        if let Some(series) = &mut self.series {
            series.push_all(rows);
        }
    }

    fn merge(&mut self, next: TaskPass) {
        self.scan.merge(&next.scan);
        if let (Some(mine), Some(theirs)) = (&mut self.series, next.series) {
            mine.merge(theirs);
        }
    }
}

/// A slice as a step of a series.
fn series_step(slice: &Slice) -> Step {
    let extent = |quantity| {
        let moments = slice.of(quantity).map(|stored| stored.moments).unwrap_or_default();
        Extent { count: moments.count, min_ns: moments.min_ns, max_ns: moments.max_ns, sum_ns: moments.sum }
    };
    Step {
        due_ns: slice.first_due_ns,
        executed: slice.executed(),
        missed: slice.missed,
        extents: QUANTITIES.map(extent),
    }
}

/// Divides the row groups into ranges of about as many activations, one for each processor; one if few.
fn row_group_ranges(reader: &RunReader) -> Vec<Range<usize>> {
    let groups = reader.row_groups();
    let share = match reader.rows() {
        rows @ ..SHORT => rows,
        rows => rows.div_ceil(thread::available_parallelism().map_or(1, usize::from) as u64),
    }
    .max(1);
    let mut shares = Vec::new();
    let (mut begin, mut rows) = (0, 0);
    for (i, group) in groups.iter().enumerate() {
        rows += group.rows as u64;
        if rows >= share || i + 1 == groups.len() {
            shares.push(begin..i + 1);
            (begin, rows) = (i + 1, 0);
        }
    }
    shares
}
