//! The task's own state is considered first: stopped, frozen, waiting for a lock, out of budget. Synthetic
//! events of each kind.

use super::*;

const LOCK: Call = Call::Lock { inherits: false };
const TIMER: bool = true;
const THREAD: bool = false;

impl Scene {
    /// Events of the next activation, each with whether it is in an interrupt; the task starts then, and sleeps again.
    pub(super) fn scripted(&mut self, events: Vec<(i64, i32, bool, EventKind)>, start: i64) {
        for (at, pid, in_interrupt, what) in events {
            self.send_in(at, pid, in_interrupt, what);
        }
        let (due_ns, index) = (self.due(), self.k);
        let (start_ns, end_ns) = (due_ns + start, due_ns + start + 100);
        let activation = Activation { index, due_ns, start_ns, end_ns, cpu: CPU, ..Activation::default() };
        self.explainer.queue_activations(0, &[activation]);
        // Due times that pass meanwhile are missed.
        self.k += start as u64 / PERIOD_NS as u64;
        let from = start + 2_000 - start / PERIOD_NS * PERIOD_NS;
        self.sleep(from, PERIOD_NS);
        self.k += 1;
    }

    /// The timer interrupt that wakes the task, over this thread.
    pub(super) fn timer(&mut self, at: i64, over: i32) -> Vec<(i64, i32, bool, EventKind)> {
        let timer = self.handler(HandlerKind::Timer, "local_timer");
        let function = self.name("hrtimer_wakeup");
        vec![
            (at, over, THREAD, EventKind::HandlerEnter(timer)),
            (at + 800, over, THREAD, EventKind::InterruptedStack(Box::default())),
            (at + 1_000, over, TIMER, EventKind::TimerExpire { timer: 1, function }),
            (at + 1_300, over, TIMER, EventKind::Waking { pid: TASK, cpu: CPU }),
            (at + 1_500, over, TIMER, EventKind::TimerExpireEnd),
            (at + 2_000, over, THREAD, EventKind::HandlerExit(timer)),
        ]
    }

    fn expiry(&mut self, at: i64, over: i32, function: &str) -> Vec<(i64, i32, bool, EventKind)> {
        let function = self.name(function);
        vec![
            (at, over, TIMER, EventKind::TimerExpire { timer: 77, function }),
            (at + 500, over, TIMER, EventKind::TimerExpireEnd),
        ]
    }

    pub(super) fn leaving(&mut self, from: i32, prev_state: PrevState, to: i32) -> EventKind {
        match self.switch(from, to) {
            EventKind::Switch { from, from_name, from_priority, to, name, priority, .. } => {
                EventKind::Switch { from, from_name, from_priority, prev_state, to, name, priority }
            }
            other => other,
        }
    }
}

/// The cause that took longest: class, name, how sure, and for how long.
pub(super) fn main(causes: &TaskCauses) -> (Class, Option<&str>, Certainty, i64) {
    let longest = causes.worst_starts[0].parts.iter().max_by_key(|part| part.ns).unwrap();
    let cause = &causes.causes[longest.cause].cause;
    (cause.class, cause.who.as_deref(), longest.evidence.certainty(), longest.ns)
}

/// Stopped before it is due, by `other`, until 2 ms after.
pub(super) fn stopped(
    scene: &mut Scene,
    prev_state: PrevState,
    signal: EventKind,
) -> Vec<(i64, i32, bool, EventKind)> {
    let (to_task, stops, back) =
        (scene.switch(OTHER, TASK), scene.leaving(TASK, prev_state, OTHER), scene.switch(OTHER, TASK));
    let (function, due) = (scene.name("hrtimer_wakeup"), scene.due());
    let wakes = EventKind::Waking { pid: TASK, cpu: CPU };
    let sets = EventKind::TimerStart { timer: 1, function, soft_ns: due, hard_ns: due };
    let by = if matches!(signal, EventKind::Signal { number: 17, .. }) { TASK } else { OTHER };
    let mut events = vec![
        (-300_000, OTHER, THREAD, wakes.clone()),
        (-299_000, OTHER, THREAD, to_task),
        (-298_500, by, THREAD, signal),
        (-298_000, TASK, THREAD, stops),
        (2_000_000, OTHER, THREAD, wakes),
        (2_001_000, OTHER, THREAD, back),
        // The sleep is restarted: its time has passed.
        (2_002_000, TASK, THREAD, sets),
    ];
    events.extend(scene.timer(2_003_000, TASK));
    events
}

#[test]
fn a_stopped_task_is_stopped_whatever_its_processor_does() {
    let mut scene = Scene::new();
    let name = scene.name("task");
    let events = stopped(&mut scene, PrevState::Stopped, EventKind::Signal { number: 19, to: TASK, name });
    scene.scripted(events, 2_007_000);
    let causes = scene.causes();
    assert_eq!(main(&causes), (Class::Stopped, Some("other"), Certainty::Proven, 2_000_000));

    let mut scene = Scene::new();
    let name = scene.name("strace");
    let events = stopped(&mut scene, PrevState::Traced, EventKind::Signal { number: 17, to: OTHER, name });
    scene.scripted(events, 2_007_000);
    assert_eq!(main(&scene.causes()), (Class::Traced, Some("strace"), Certainty::Proven, 2_000_000));
}

#[test]
fn what_happens_to_a_stopped_task_stays_known_where_events_of_its_processor_are_lost() {
    let mut scene = Scene::new();
    let name = scene.name("task");
    let mut events =
        stopped(&mut scene, PrevState::Stopped, EventKind::Signal { number: 19, to: TASK, name });
    events.insert(4, (1_000_000, -1, THREAD, EventKind::Lost));
    scene.scripted(events, 2_007_000);
    assert_eq!(main(&scene.causes()).0, Class::Stopped);
}

#[test]
fn a_frozen_task_is_frozen() {
    // By its control group, or one above.
    let mut scene = Scene::new();
    scene.explainer.set_process(0, vec![TASK], Some("/robot/loop".into()));
    let (group, elsewhere) = (scene.name("/robot"), scene.name("/rob"));
    let name = scene.name("task");
    let mut events = stopped(&mut scene, PrevState::Sleeps, EventKind::Signal { number: 10, to: TASK, name });
    events.insert(0, (-310_000, OTHER, THREAD, EventKind::Freeze { group, on: true }));
    events.insert(0, (-320_000, OTHER, THREAD, EventKind::Freeze { group: elsewhere, on: false }));
    events.insert(6, (1_999_000, OTHER, THREAD, EventKind::Freeze { group, on: false }));
    scene.scripted(events, 2_007_000);
    let causes = scene.causes();
    let (class, who, sure, ns) = main(&causes);
    assert_eq!((class, who, sure), (Class::Frozen, Some("other"), Certainty::Proven));
    assert!(ns >= 1_999_000, "{ns}");

    // Another processor has the freezer's event: only there does a thread sleep that is in no call.
    let mut scene = Scene::new();
    let name = scene.name("task");
    let mut events = stopped(&mut scene, PrevState::Sleeps, EventKind::Signal { number: 10, to: TASK, name });
    let call = EventKind::SyscallEnter { call: Call::ClockNanosleep, number: 230, arguments: [0; 3] };
    events.insert(0, (-310_000, TASK, THREAD, call));
    events.insert(3, (-298_700, TASK, THREAD, EventKind::SyscallExit { return_value: -516 }));
    scene.scripted(events, 2_007_000);
    assert_eq!(main(&scene.causes()), (Class::Frozen, Some("other"), Certainty::Proven, 2_000_000));

    // While it sleeps: its timer expires, and wakes nobody.
    let mut scene = Scene::new();
    let function = scene.name("hrtimer_wakeup");
    let back = scene.switch(OTHER, TASK);
    scene.scripted(
        vec![
            (5_000, OTHER, TIMER, EventKind::TimerExpire { timer: 1, function }),
            (5_500, OTHER, TIMER, EventKind::TimerExpireEnd),
            (2_000_000, OTHER, THREAD, EventKind::Waking { pid: TASK, cpu: CPU }),
            (2_001_000, OTHER, THREAD, back),
        ],
        2_003_000,
    );
    let causes = scene.causes();
    assert_eq!(main(&causes), (Class::Frozen, Some("other"), Certainty::Proven, 1_995_000));
}

/// The task waits for a lock in its work before, from before it is due until 800 us after; `during` happens meanwhile.
fn locked(scene: &mut Scene, call: Call, during: Vec<(i64, i32, bool, EventKind)>, last: i32) {
    let before = scene.timer(-990_000, OTHER);
    let (to_task, away, back) =
        (scene.switch(OTHER, TASK), scene.leaving(TASK, PrevState::Sleeps, OTHER), scene.switch(last, TASK));
    // The due time before is served in time; its work lasts into this one.
    let mut events = before;
    events.push((-985_000, OTHER, THREAD, to_task));
    events.push((-500_000, TASK, THREAD, EventKind::SyscallEnter { call, number: 202, arguments: [0; 3] }));
    events.push((-499_000, TASK, THREAD, away));
    events.extend(during);
    events.push((800_000, last, THREAD, EventKind::Waking { pid: TASK, cpu: CPU }));
    events.push((802_000, last, THREAD, back));
    events.push((803_000, TASK, THREAD, EventKind::SyscallExit { return_value: 0 }));
    scene.scripted(events, 805_000);
}

#[test]
fn a_task_that_waits_for_a_lock_waits_for_its_holder() {
    let mut scene = Scene::new();
    scene.k += 1;
    locked(&mut scene, LOCK, Vec::new(), OTHER);
    let causes = scene.causes();
    assert_eq!(main(&causes), (Class::Lock, Some("other"), Certainty::Likely, 800_000));
    let held = causes.causes.iter().filter(|sum| sum.cause.class == Class::InterruptsOff).count();
    assert_eq!(held, 0);

    // Another thread has the holder's processor for 600 us. One more urgent than the task would have it anyway.
    for (own, class) in [(19, Class::Preempted), (-1, Class::Inversion)] {
        let mut scene = Scene::of_priority(TOLD, own);
        scene.k += 1;
        let (to_hog, from_hog) = (scene.switch(OTHER, HOG), scene.leaving(HOG, PrevState::Sleeps, OTHER));
        let during = vec![(50_000, OTHER, THREAD, to_hog), (650_000, HOG, THREAD, from_hog)];
        locked(&mut scene, LOCK, during, OTHER);
        assert_eq!(main(&scene.causes()), (class, Some("hog"), Certainty::Likely, 600_000));
    }

    // With priority inheritance it may turn round, and has the processor all the while.
    let mut scene = Scene::new();
    scene.k += 1;
    let (to_task, name) = (scene.switch(OTHER, TASK), scene.name("holder"));
    let mut events = scene.timer(-990_000, OTHER);
    let timer = scene.handler(HandlerKind::Timer, "local_timer");
    events.extend([
        (-985_000, OTHER, THREAD, to_task),
        (
            -500_000,
            TASK,
            THREAD,
            EventKind::SyscallEnter { call: Call::Lock { inherits: true }, number: 202, arguments: [0; 3] },
        ),
        (-499_000, TASK, THREAD, EventKind::LendPriority { to: 23, name }),
        (300_000, TASK, THREAD, EventKind::HandlerEnter(timer)),
        (301_000, TASK, THREAD, EventKind::HandlerExit(timer)),
        (803_000, TASK, THREAD, EventKind::SyscallExit { return_value: 0 }),
    ]);
    scene.scripted(events, 805_000);
    let causes = scene.causes();
    let of = causes.causes.iter().find(|sum| sum.cause.class == Class::LockInheriting).unwrap();
    assert_eq!((of.cause.who.as_deref(), of.max_ns, of.proven_ns), (Some("holder"), 803_000, of.sum_ns));
}

#[test]
fn real_time_threads_that_are_held_off_are_not_held_by_who_runs_meanwhile() {
    for (begins, ends, limits, expected) in [
        (None, Some("sched_rt_period_timer"), Limits::Either, (Class::Throttled, Certainty::Proven)),
        (Some("dl_task_timer"), None, Limits::Either, (Class::FairServer, Certainty::Proven)),
        (None, None, Limits::Either, (Class::Throttled, Certainty::Undecided)),
        (None, None, Limits::Bandwidth, (Class::Throttled, Certainty::Proven)),
    ] {
        for idle in [false, true] {
            let mut scene = Scene::on(Machine { limits, ..TOLD });
            let other = if idle { 0 } else { OTHER };
            // Another thread occupies the processor before, and is displaced although it is ready to run.
            let (to_hog, gone) = (scene.switch(OTHER, HOG), scene.switch(HOG, other));
            let (to_hog_again, back) =
                (scene.switch(other, HOG), scene.leaving(HOG, PrevState::Sleeps, TASK));
            let mut events = vec![(-600_000, OTHER, THREAD, to_hog)];
            events.extend(begins.into_iter().flat_map(|name| scene.expiry(-20_000, HOG, name)));
            events.push((-10_000, HOG, THREAD, gone));
            events.extend(scene.timer(4_000, other));
            events.extend(ends.into_iter().flat_map(|name| scene.expiry(895_000, other, name)));
            events.push((900_000, other, THREAD, to_hog_again));
            events.push((910_000, HOG, THREAD, back));
            scene.scripted(events, 913_000);
            let causes = scene.causes();
            let (class, _, sure, ns) = main(&causes);
            assert_eq!((class, sure), expected, "{begins:?} {ends:?} {idle}: {:#?}", causes.worst_starts[0]);
            assert!(ns > 800_000, "{ns}");
        }
    }
}

/// Seconds to explain a start that waits while two ordinary threads switch this often.
fn seconds_for(switches: i64) -> f64 {
    let mut scene = Scene::new();
    let there_and_back = [scene.switch(OTHER, 20), scene.switch(20, OTHER)];
    let mut events = scene.timer(4_000, OTHER);
    for k in 0..switches {
        let pid = if k % 2 == 0 { OTHER } else { 20 };
        events.push((10_000 + k * 1_000, pid, THREAD, there_and_back[k as usize % 2].clone()));
    }
    let last = 10_000 + switches * 1_000;
    let back = scene.switch(OTHER, TASK);
    events.push((last, OTHER, THREAD, back));
    scene.scripted(events, last + 3_000);
    let begun = std::time::Instant::now();
    let causes = scene.causes();
    assert_eq!(main(&causes).0, Class::Throttled);
    begun.elapsed().as_secs_f64()
}

#[test]
fn the_time_to_explain_a_start_grows_no_faster_than_its_events() {
    // The shortest of several, since other programs run beside.
    let shortest = |switches| (0..4).map(|_| seconds_for(switches)).fold(f64::INFINITY, f64::min);
    let (few, many) = (shortest(4_000), shortest(32_000));
    assert!(many < 24.0 * few, "8 times the events took {:.0} times as long", many / few);
}

#[test]
fn a_thread_that_was_moved_away_was_not_held_off() {
    let mut scene = Scene::new();
    let (to_hog, gone, back) =
        (scene.switch(OTHER, HOG), scene.switch(HOG, OTHER), scene.switch(OTHER, TASK));
    let mut events = vec![(-600_000, OTHER, THREAD, to_hog), (-10_000, HOG, THREAD, gone)];
    events.push((-9_000, OTHER, THREAD, EventKind::Migrate { pid: HOG, to: 3 }));
    events.extend(scene.timer(4_000, OTHER));
    events.push((900_000, OTHER, THREAD, back));
    scene.scripted(events, 903_000);
    let causes = scene.causes();
    assert!(!matches!(main(&causes).0, Class::Throttled | Class::FairServer), "{causes:#?}");
}

#[test]
fn a_quota_that_was_used_up_is_named_and_its_neighbours_are_not_proven() {
    use jitterlab_model::causes::QuotaCount;
    for (used_up, ends, expected) in [
        (1, true, (Class::Quota, None, Certainty::Likely)),
        (0, true, (Class::Shared, Some("other"), Certainty::Likely)),
        // Its part of this time is unknown.
        (1, false, (Class::Shared, Some("other"), Certainty::Undecided)),
    ] {
        let mut scene = Scene::of_priority(TOLD, 120);
        let due = scene.due();
        let counted = QuotaCount { periods: 1, throttled: used_up, ns: 0 };
        scene.explainer.add_quota(0, (due, due + 50_000_000), counted);
        let (to_task, gone, back) = (
            scene.switch(OTHER, TASK),
            scene.leaving(TASK, PrevState::Ready, OTHER),
            scene.switch(OTHER, TASK),
        );
        let mut events = scene.timer(-990_000, OTHER);
        events.push((-985_000, OTHER, THREAD, to_task));
        events.push((-200_000, TASK, THREAD, gone));
        if ends {
            events.extend(scene.expiry(790_000, OTHER, "sched_cfs_period_timer"));
        }
        events.push((800_000, OTHER, THREAD, back));
        scene.k += 1;
        scene.scripted(events, 803_000);
        let causes = scene.causes();
        let (class, who, sure, _) = main(&causes);
        assert_eq!((class, who, sure), expected, "{:#?}", causes.worst_starts[0]);
        assert_eq!(causes.quota, Some(counted));
    }
}

#[test]
fn a_budget_that_is_used_up_is_the_budget() {
    let mut scene = Scene::of_priority(TOLD, -1);
    scene.k += 1;
    let (replenish, due) = (scene.name("dl_task_timer"), scene.due());
    let (to_task, gone, back) =
        (scene.switch(OTHER, TASK), scene.leaving(TASK, PrevState::Ready, OTHER), scene.switch(OTHER, TASK));
    let mut events = scene.timer(-990_000, OTHER);
    let sets = EventKind::TimerStart {
        timer: 5,
        function: replenish,
        soft_ns: due + 500_000,
        hard_ns: due + 500_000,
    };
    events.extend([
        (-985_000, OTHER, THREAD, to_task),
        (-100_000, TASK, TIMER, sets),
        (-99_000, TASK, THREAD, gone),
        (500_500, OTHER, TIMER, EventKind::TimerExpire { timer: 5, function: replenish }),
        (501_000, OTHER, TIMER, EventKind::TimerExpireEnd),
        (503_000, OTHER, THREAD, back),
    ]);
    scene.scripted(events, 505_000);
    let (class, _, sure, ns) = main(&scene.causes());
    assert_eq!((class, sure), (Class::Budget, Certainty::Proven));
    assert_eq!(ns, 500_500);
}

#[test]
fn page_faults_of_the_task_s_own_memory_are_no_work() {
    let mut scene = Scene::new();
    scene.k += 1;
    let to_task = scene.switch(OTHER, TASK);
    let mut events = scene.timer(-990_000, OTHER);
    events.push((-985_000, OTHER, THREAD, to_task));
    events.extend((0..200).map(|k| (-100_000 + k * 4_000, TASK, THREAD, EventKind::PageFault)));
    // The activation before works until then.
    let (index, due_ns) = (scene.k - 1, scene.due() - PERIOD_NS);
    let (start_ns, end_ns) = (due_ns + 17_000, due_ns + PERIOD_NS + 719_000);
    let before = Activation { index, due_ns, start_ns, end_ns, cpu: CPU, ..Activation::default() };
    scene.explainer.queue_activations(0, &[before]);
    scene.scripted(events, 720_000);
    let causes = scene.causes();
    let of = |class| {
        causes.causes.iter().filter(|sum| sum.cause.class == class).map(|sum| sum.max_ns).sum::<i64>()
    };
    assert!(of(Class::PageFault) > 690_000 && of(Class::OwnWork) < 30_000, "{causes:#?}");
    let faults = causes.causes.iter().find(|sum| sum.cause.class == Class::PageFault).unwrap();
    assert_eq!(faults.proven_ns, 0, "their ends are in no event");
}

#[test]
fn a_thread_that_comes_out_of_idle_without_an_event_of_it_is_named() {
    let mut scene = Scene::new();
    let idle = scene.leaving(OTHER, PrevState::Sleeps, 0);
    // Its name is known from before.
    let (seen, gone) = (scene.switch(OTHER, HOG), scene.leaving(HOG, PrevState::Sleeps, OTHER));
    let back = scene.leaving(HOG, PrevState::Sleeps, TASK);
    let mut events =
        vec![(-800_000, OTHER, THREAD, seen), (-790_000, HOG, THREAD, gone), (-500_000, OTHER, THREAD, idle)];
    let mut timer = scene.timer(4_000, 0);
    timer.insert(3, (5_200, 0, TIMER, EventKind::Waking { pid: HOG, cpu: CPU }));
    events.extend(timer);
    events.push((412_000, HOG, THREAD, EventKind::RuntimeAccounted { pid: HOG, ns: 405_000 }));
    events.push((413_000, HOG, THREAD, back));
    scene.scripted(events, 415_000);
    let causes = scene.causes();
    let (class, who, sure, ns) = main(&causes);
    assert_eq!(
        (class, who, sure),
        (Class::Preempted, Some("hog"), Certainty::Proven),
        "{:#?}",
        causes.worst_starts[0]
    );
    assert!((400_000..=406_000).contains(&ns), "{ns}");
}

#[test]
fn interrupts_were_not_off_before_the_last_event_that_shows_them_let_in() {
    let mut scene = Scene::new();
    let disk = scene.handler(HandlerKind::Device, "24 disk");
    let found = &["_raw_spin_unlock_irqrestore", "do_nanosleep"];
    let before =
        [(250_000, OTHER, EventKind::HandlerEnter(disk)), (251_000, OTHER, EventKind::HandlerExit(disk))];
    scene.activation(&Twist { before: &before, interrupt_at: Some(310_000), found, ..Twist::default() });
    let causes = scene.causes();
    let of = |class| causes.causes.iter().find(|sum| sum.cause.class == class).map_or(0, |sum| sum.max_ns);
    assert_eq!(of(Class::InterruptsOff), 59_000, "{causes:#?}");
    let late = causes.causes.iter().find(|sum| sum.cause.class == Class::LateInterrupt).unwrap();
    assert!(late.max_ns > 230_000 && late.proven_ns + late.likely_ns == 0, "{late:?}");
}

#[test]
fn of_many_parts_the_longest_are_kept_and_all_add_up() {
    let mut scene = Scene::new();
    let disk = scene.handler(HandlerKind::Device, "24 disk");
    let mut before = Vec::new();
    for k in 0..2_000 {
        before.push((1_000 + k * 400, OTHER, EventKind::HandlerEnter(disk)));
        before.push((1_000 + k * 400 + 100 + k % 50, OTHER, EventKind::HandlerExit(disk)));
    }
    scene.activation(&Twist { before: &before, interrupt_at: Some(810_000), ..Twist::default() });
    let causes = scene.causes();
    assert!(causes.worst_starts[0].parts.len() <= 300, "{}", causes.worst_starts[0].parts.len());
    let disk = causes.causes.iter().find(|sum| sum.cause.class == Class::Interrupt).unwrap();
    assert_eq!(disk.max_ns, (0..2_000).map(|k| 100 + k % 50).sum::<i64>(), "its sum is whole");
}

/// A thread keeps the processor although it came as an ordinary one; the timer's interrupt and a tick find it at `found`,
/// and it leaves with this priority.
fn kept_by_other(scene: &mut Scene, found: &[&str], leaves_with: i16) {
    let timer = scene.handler(HandlerKind::Timer, "local_timer");
    let frames: Box<[NameId]> = found.iter().map(|name| scene.name(name)).collect();
    let mut events = scene.timer(4_000, OTHER);
    events[1].3 = EventKind::InterruptedStack(frames.clone());
    events.push((150_000, OTHER, THREAD, EventKind::HandlerEnter(timer)));
    events.push((150_800, OTHER, THREAD, EventKind::InterruptedStack(frames)));
    events.push((152_000, OTHER, THREAD, EventKind::HandlerExit(timer)));
    let EventKind::Switch { from, from_name, prev_state, to, name, priority, .. } = scene.switch(OTHER, TASK)
    else {
        unreachable!()
    };
    let from_priority = leaves_with;
    let task = EventKind::Switch { from, from_name, from_priority, prev_state, to, name, priority };
    events.push((300_000, OTHER, THREAD, task));
    scene.scripted(events, 303_000);
}

#[test]
fn a_thread_that_raises_its_own_priority_is_not_in_the_kernel() {
    let shrinks = ["shrink_node", "kswapd"];
    for (found, leaves_with, (class, certainty)) in [
        (&shrinks[..], 4, (Class::Preempted, Certainty::Likely)),
        (&[], 19, (Class::Shared, Certainty::Likely)),
        // It was lowered again, and a program ran on meanwhile.
        (&[], 120, (Class::Preempted, Certainty::Undecided)),
        (&shrinks[..], 110, (Class::NotPreemptible, Certainty::Proven)),
    ] {
        let mut scene = Scene::new();
        kept_by_other(&mut scene, found, leaves_with);
        let causes = scene.causes();
        let (seen, who, sure, _) = main(&causes);
        assert_eq!((seen, who), (class, Some("other")), "{leaves_with}: {:#?}", causes.worst_starts[0]);
        // The tick lies between.
        let all_ns: i64 =
            causes.causes.iter().filter(|sum| sum.cause.class == class).map(|sum| sum.sum_ns).sum();
        assert!(sure >= certainty && all_ns > 280_000, "{leaves_with}: {sure:?} {all_ns}");
    }
}
