//! Addition of the causes of a run's pieces.

use std::collections::HashMap;

use jitterlab_model::RunCauses;
use jitterlab_model::causes::{Cause, CauseClass, CauseSum, InterruptionSum, LateStart, TaskCauses};

use super::cause_sums::{MAX_CAUSES, MAX_WITH_SPANS, MAX_WORST, OTHERS_NAME};
use super::paths;

/// Adds the causes of a run's next piece to `all`. Memory stays bounded: rare causes are counted together.
pub fn merge(all: &mut RunCauses, piece: &RunCauses) {
    all.tasks.resize_with(all.tasks.len().max(piece.tasks.len()), TaskCauses::default);
    for (all, piece) in all.tasks.iter_mut().zip(&piece.tasks) {
        merge_task(all, piece);
    }
    all.tracer = piece.tracer.clone();
}

fn merge_task(all: &mut TaskCauses, piece: &TaskCauses) {
    all.max_ns = if all.explained == 0 { piece.max_ns } else { all.max_ns.max(piece.max_ns) };
    all.explained += piece.explained;
    all.gaps += piece.gaps;
    all.lateness_ns = all.lateness_ns.saturating_add(piece.lateness_ns);
    all.latencies.merge(&piece.latencies);
    if !piece.typical_steps.is_empty() {
        all.typical_steps.clone_from(&piece.typical_steps);
    }
    let mut numbers: HashMap<Cause, usize> =
        all.causes.iter().enumerate().map(|(number, sum)| (sum.cause.clone(), number)).collect();
    let mut number_of = |cause: &Cause, sums: &mut Vec<CauseSum>| {
        let rare = Cause { class: cause.class, who: Some(OTHERS_NAME.into()) };
        let is_rare = sums.len() >= MAX_CAUSES && !numbers.contains_key(cause);
        let cause = if is_rare { &rare } else { cause };
        *numbers.entry(cause.clone()).or_insert_with(|| {
            sums.push(CauseSum::new(cause.clone()));
            sums.len() - 1
        })
    };
    let mut moved = Vec::with_capacity(piece.causes.len());
    for sum in &piece.causes {
        let number = number_of(&sum.cause, &mut all.causes);
        moved.push(number);
        merge_sum(&mut all.causes[number], sum);
    }
    merge_interruptions(&mut all.interruptions, &piece.interruptions);
    all.misses.activations += piece.misses.activations;
    all.misses.due_times += piece.misses.due_times;
    all.misses.late_ns = all.misses.late_ns.saturating_add(piece.misses.late_ns);
    merge_interruptions(&mut all.misses.work, &piece.misses.work);
    if let Some(quota) = &piece.quota {
        let sum = all.quota.get_or_insert_default();
        sum.periods += quota.periods;
        sum.throttled += quota.throttled;
        sum.ns = sum.ns.saturating_add(quota.ns);
    }
    paths::merge(&mut all.paths, &piece.paths);
    merge_worst_starts(all, piece, &moved);
}

fn merge_interruptions(all: &mut Vec<InterruptionSum>, piece: &[InterruptionSum]) {
    for interruption in piece {
        let has_room = all.len() < MAX_CAUSES;
        match all.iter_mut().find(|known| known.cause == interruption.cause) {
            Some(known) => {
                known.times += interruption.times;
                known.sum_ns = known.sum_ns.saturating_add(interruption.sum_ns);
                known.max_ns = known.max_ns.max(interruption.max_ns);
                // Percentiles of pieces are none of the whole.
                known.p99_ns = None;
            }
            None if has_room => all.push(interruption.clone()),
            None => {}
        }
    }
}

fn merge_sum(all: &mut CauseSum, piece: &CauseSum) {
    all.times += piece.times;
    all.sum_ns = all.sum_ns.saturating_add(piece.sum_ns);
    all.max_ns = all.max_ns.max(piece.max_ns);
    all.proven_ns = all.proven_ns.saturating_add(piece.proven_ns);
    all.likely_ns = all.likely_ns.saturating_add(piece.likely_ns);
    for (function, ns) in &piece.functions {
        *all.functions.entry(function.clone()).or_default() += ns;
    }
    all.delays.merge(&piece.delays);
    all.latencies.merge(&piece.latencies);
    all.latencies_without.merge(&piece.latencies_without);
}

/// Adds a piece's worst starts and keeps the worst; `moved` maps the piece's cause numbers to those of `all`.
fn merge_worst_starts(all: &mut TaskCauses, piece: &TaskCauses, moved: &[usize]) {
    let least_ns =
        all.worst_starts.last().filter(|_| all.worst_starts.len() >= MAX_WORST).map(|late| late.latency_ns);
    let enters = |late: &&LateStart| least_ns.is_none_or(|least_ns| late.latency_ns > least_ns);
    let mut numbers: HashMap<String, usize> =
        all.names.iter().cloned().enumerate().map(|(number, name)| (name, number)).collect();
    let mut named = |number: usize, names: &mut Vec<String>| {
        let name = piece.names.get(number).cloned().unwrap_or_default();
        *numbers.entry(name.clone()).or_insert_with(|| {
            names.push(name);
            names.len() - 1
        })
    };
    for late in piece.worst_starts.iter().filter(enters) {
        let mut late = late.clone();
        for part in &mut late.parts {
            part.cause = moved[part.cause];
            part.function = part.function.map(|number| named(number, &mut all.names));
        }
        for span in &mut late.spans {
            span.name = named(span.name, &mut all.names);
        }
        all.worst_starts.push(late);
    }
    all.worst_starts.sort_by(|a, b| b.latency_ns.cmp(&a.latency_ns).then(a.index.cmp(&b.index)));
    all.worst_starts.truncate(MAX_WORST);
    all.worst_starts.iter_mut().skip(MAX_WITH_SPANS).for_each(|late| late.spans.clear());
    drop_unused_names(all);
}

/// Removes names that nothing refers to any more.
fn drop_unused_names(all: &mut TaskCauses) {
    let mut numbers: HashMap<usize, usize> = HashMap::new();
    let mut names = Vec::new();
    let mut renumber = |number: &mut usize| {
        *number = *numbers.entry(*number).or_insert_with(|| {
            names.push(all.names[*number].clone());
            names.len() - 1
        });
    };
    for late in &mut all.worst_starts {
        late.parts.iter_mut().filter_map(|part| part.function.as_mut()).for_each(&mut renumber);
        late.spans.iter_mut().for_each(|span| renumber(&mut span.name));
    }
    all.names = names;
}

/// The cause of the longest part of a late start beyond the usual way; `None` where it is late by the usual way alone.
#[must_use]
pub fn main_cause<'a>(of: &'a TaskCauses, late: &LateStart) -> Option<&'a Cause> {
    let unusual = late.parts.iter().filter_map(|part| Some((part.ns, &of.causes.get(part.cause)?.cause)));
    let unusual =
        unusual.filter(|(_, cause)| !matches!(cause.class, CauseClass::TypicalWakeUp | CauseClass::Tracer));
    unusual.max_by_key(|(ns, _)| *ns).map(|(_, cause)| cause)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jitterlab_model::causes::LatencyPart;

    fn piece(who: &str, index: u64, latency_ns: i64) -> RunCauses {
        let mut sum = CauseSum::new(Cause { class: CauseClass::Preempted, who: Some(who.into()) });
        sum.add_activation(latency_ns, latency_ns - 5, latency_ns - 5, 0);
        let usual = CauseSum::new(CauseClass::TypicalWakeUp.into());
        let part =
            |cause, ns| LatencyPart { cause, at_ns: 0, ns, evidence: Default::default(), function: Some(0) };
        let parts = vec![part(0, 5), part(1, latency_ns - 5)];
        let late = LateStart { index, due_ns: 0, latency_ns, cpu: 0, parts, spans: Vec::new() };
        let mut task =
            TaskCauses { explained: 1, max_ns: latency_ns, names: vec![who.into()], ..Default::default() };
        task.causes = vec![usual, sum];
        task.worst_starts = vec![late];
        RunCauses { tasks: vec![task], ..Default::default() }
    }

    #[test]
    fn pieces_add_up_by_name_and_keep_the_latest_starts_with_their_causes() {
        let mut all = RunCauses::default();
        for (who, index, ns) in [("hog", 3, 100), ("eth0", 9, 300), ("hog", 12, 200)] {
            merge(&mut all, &piece(who, index, ns));
        }
        let task = &all.tasks[0];
        let hog = task.causes.iter().find(|sum| sum.cause.who.as_deref() == Some("hog")).unwrap();
        assert_eq!((hog.times, hog.sum_ns, hog.max_ns), (2, 290, 195));
        let names: Vec<_> = task
            .worst_starts
            .iter()
            .map(|late| (late.index, main_cause(task, late).unwrap().who.as_deref().unwrap()))
            .collect();
        assert_eq!(names, [(9, "eth0"), (12, "hog"), (3, "hog")]);
        assert_eq!(task.names[task.worst_starts[2].parts[1].function.unwrap()], "hog");
    }

    #[test]
    fn months_of_other_names_take_no_more_room() {
        let mut all = RunCauses::default();
        for k in 0..5_000u64 {
            merge(&mut all, &piece(&format!("thread-{k}"), k, 100 + k as i64));
        }
        let task = &all.tasks[0];
        assert!(
            task.causes.len() <= MAX_CAUSES + 2
                && task.worst_starts.len() == MAX_WORST
                && task.names.len() <= MAX_WORST
        );
        assert_eq!(task.causes.iter().map(|sum| sum.times).sum::<u64>(), 5_000);
    }
}
