//! Waits of a task that its own next start does not explain: in its work, for a device, behind a call, with several timers.

use super::states::{main, stopped};
use super::*;

const TIMER: bool = true;
const THREAD: bool = false;
const READ: EventKind = EventKind::SyscallEnter { call: Call::Read, number: 0, arguments: [0; 3] };
const RETURN: EventKind = EventKind::SyscallExit { return_value: 0 };

impl Scene {
    /// The task works since the due time before, and waits for `during` until 800 us behind this one.
    fn waits(&mut self, prev_state: PrevState, during: Vec<(i64, i32, bool, EventKind)>) -> TaskCauses {
        self.k += 1;
        let (to_task, away, back) =
            (self.switch(OTHER, TASK), self.leaving(TASK, prev_state, OTHER), self.switch(OTHER, TASK));
        let mut events = self.timer(-990_000, OTHER);
        events.push((-985_000, OTHER, THREAD, to_task));
        let (before, behind): (Vec<_>, Vec<_>) = during.into_iter().partition(|(at, ..)| *at < -499_000);
        events.extend(before);
        events.push((-499_000, TASK, THREAD, away));
        events.extend(behind);
        events.push((802_000, OTHER, THREAD, back));
        self.worked(-984_000, 803_000);
        self.scripted(events, 805_000);
        std::mem::take(self).causes()
    }

    /// The activation before: its work ends then.
    fn worked(&mut self, start: i64, end: i64) {
        let due_ns = self.due() - PERIOD_NS;
        let (start_ns, end_ns) = (self.due() + start, self.due() + end);
        let index = self.k - 1;
        let activation = Activation { index, due_ns, start_ns, end_ns, cpu: CPU, ..Activation::default() };
        self.explainer.queue_activations(0, &[activation]);
    }

    fn woken(&self) -> EventKind {
        EventKind::Waking { pid: TASK, cpu: CPU }
    }
}

impl Default for Scene {
    fn default() -> Self {
        Scene::new()
    }
}

#[test]
fn a_timeout_behind_the_own_timer_is_no_wake_up_asked_for_too_late() {
    let mut scene = Scene::new();
    scene.k += 1;
    let (function, due) = (scene.name("hrtimer_wakeup"), scene.due());
    // A watchdog, set last, expires a second later.
    let watchdog = EventKind::TimerStart {
        timer: 4,
        function,
        soft_ns: due + 1_000_000_000,
        hard_ns: due + 1_000_000_000,
    };
    let sets = EventKind::TimerStart { timer: 1, function, soft_ns: due, hard_ns: due };
    let [to_task, away, to_hog] =
        [scene.switch(OTHER, TASK), scene.switch(TASK, OTHER), scene.switch(OTHER, HOG)];
    let from_hog = scene.switch(HOG, TASK);
    let mut events = scene.timer(-990_000, OTHER);
    events.extend([
        (-985_000, OTHER, THREAD, to_task),
        (-984_000, TASK, THREAD, sets),
        (-900_000, TASK, THREAD, watchdog),
        (-899_000, TASK, THREAD, away),
    ]);
    events.extend(scene.timer(10_000, OTHER));
    events.extend([(13_000, OTHER, THREAD, to_hog), (613_000, HOG, THREAD, from_hog)]);
    scene.scripted(events, 615_000);
    let causes = scene.causes();
    assert!(
        causes.causes.iter().all(|sum| sum.cause.class != Class::AskedLate),
        "{:#?}",
        causes.worst_starts[0]
    );
    assert_eq!(main(&causes).0, Class::Preempted);
}

#[test]
fn a_timed_wait_in_its_work_is_its_own() {
    let mut scene = Scene::new();
    let function = scene.name("hrtimer_wakeup");
    let at = scene.due() + PERIOD_NS + 790_000;
    let sets = EventKind::TimerStart { timer: 6, function, soft_ns: at, hard_ns: at };
    let woken = scene.woken();
    let during = vec![
        (-500_000, TASK, THREAD, READ),
        (-499_500, TASK, THREAD, sets),
        (800_000, OTHER, TIMER, EventKind::TimerExpire { timer: 6, function }),
        (800_300, OTHER, TIMER, woken),
        (800_500, OTHER, TIMER, EventKind::TimerExpireEnd),
    ];
    let causes = scene.waits(PrevState::Sleeps, during);
    let (class, _, sure, _) = main(&causes);
    assert_eq!((class, sure), (Class::OwnWork, Certainty::Proven), "{:#?}", causes.worst_starts[0]);
}

#[test]
fn a_device_s_timer_is_waited_for_and_not_late() {
    let mut scene = Scene::new();
    let function = scene.name("timerfd_tmrproc");
    let woken = scene.woken();
    let during = vec![
        (-500_000, TASK, THREAD, READ),
        (800_000, OTHER, TIMER, EventKind::TimerExpire { timer: 66, function }),
        (800_300, OTHER, TIMER, woken),
        (800_500, OTHER, TIMER, EventKind::TimerExpireEnd),
    ];
    let causes = scene.waits(PrevState::Sleeps, during);
    let (class, who, sure, _) = main(&causes);
    assert_eq!(
        (class, who, sure),
        (Class::Blocked, Some("timerfd_tmrproc"), Certainty::Undecided),
        "{:#?}",
        causes.worst_starts[0]
    );
}

#[test]
fn a_fault_in_a_call_does_not_explain_the_call_s_wait() {
    let mut scene = Scene::new();
    let woken = scene.woken();
    let during = vec![
        (-501_000, TASK, THREAD, READ),
        (-500_000, TASK, THREAD, EventKind::PageFault),
        (800_000, OTHER, THREAD, woken),
        (803_000, TASK, THREAD, RETURN),
    ];
    let causes = scene.waits(PrevState::SleepsDeeply, during);
    assert_eq!((main(&causes).0, main(&causes).2), (Class::Blocked, Certainty::Undecided));
}

#[test]
fn work_that_a_call_puts_off_to_its_end_is_not_frozen() {
    for prev_state in [PrevState::Sleeps, PrevState::SleepsDeeply] {
        let mut scene = Scene::new();
        let woken = scene.woken();
        let sends = scene.handler(HandlerKind::Softirq, "NET_TX");
        let during = vec![
            (-520_000, TASK, THREAD, READ),
            (-510_000, TASK, THREAD, RETURN),
            // Its packet is sent in a softirq over it.
            (-505_000, TASK, THREAD, EventKind::HandlerEnter(sends)),
            (-503_000, TASK, THREAD, EventKind::HandlerExit(sends)),
            (800_000, OTHER, THREAD, woken),
        ];
        assert_eq!(main(&scene.waits(prev_state, during)).0, Class::Blocked);
    }
}

#[test]
fn a_signal_that_interrupts_a_wait_does_not_end_it() {
    let mut scene = Scene::new();
    scene.k += 1;
    let [to_task, away, to_hog] =
        [scene.switch(OTHER, TASK), scene.leaving(TASK, PrevState::Sleeps, OTHER), scene.switch(OTHER, HOG)];
    let back = scene.switch(HOG, TASK);
    let woken = scene.woken();
    let mut events = scene.timer(-990_000, OTHER);
    events.extend([
        (-985_000, OTHER, THREAD, to_task.clone()),
        (-500_000, TASK, THREAD, READ),
        (-499_000, TASK, THREAD, away.clone()),
        // The sender of the signal.
        (600_000, OTHER, THREAD, woken.clone()),
        (602_000, OTHER, THREAD, to_task),
        (603_000, TASK, THREAD, EventKind::SyscallExit { return_value: -512 }),
        (605_000, TASK, THREAD, READ),
        (606_000, TASK, THREAD, away),
        (610_000, OTHER, THREAD, to_hog),
        (800_000, HOG, THREAD, woken),
        (802_000, HOG, THREAD, back),
        (803_000, TASK, THREAD, RETURN),
    ]);
    scene.worked(-984_000, 803_500);
    scene.scripted(events, 805_000);
    let causes = scene.causes();
    let by = |who: &str| {
        let of = |sum: &&jitterlab_model::causes::CauseSum| sum.cause.who.as_deref() == Some(who);
        causes
            .causes
            .iter()
            .filter(of)
            .find(|sum| sum.cause.class == Class::Blocked)
            .map_or(0, |sum| sum.sum_ns)
    };
    assert!(by("hog") > 700_000 && by("other") == 0, "{:#?}", causes.worst_starts[0]);
}

#[test]
fn a_stop_without_a_signal_of_its_own_has_no_sender() {
    let mut scene = Scene::new();
    let name = scene.name("task");
    let signal = EventKind::Signal { number: 19, to: TASK, name };
    for signal in [signal, EventKind::PageFault] {
        let events = stopped(&mut scene, PrevState::Stopped, signal);
        scene.scripted(events, 2_008_000);
        scene.k += 1;
    }
    let causes = scene.causes();
    let stopped: Vec<Option<&str>> = causes
        .causes
        .iter()
        .filter(|sum| sum.cause.class == Class::Stopped)
        .map(|sum| sum.cause.who.as_deref())
        .collect();
    assert!(stopped.contains(&Some("other")) && stopped.contains(&None), "{stopped:?}");
}

#[test]
fn its_priority_is_the_one_that_it_had_then() {
    let mut scene = Scene::of_priority(BARE, 120);
    scene.k += 1;
    let mut events = scene.timer(10_000, OTHER);
    let to_task = scene.switch(OTHER, TASK);
    scene.priority = 19;
    let away = scene.switch(TASK, OTHER);
    events.extend([(900_000, OTHER, THREAD, to_task)]);
    scene.scripted(events, 905_000);
    // Real-time when it leaves next: it was not while it waited for the processor.
    scene.k -= 1;
    scene.send_in(990_000, TASK, THREAD, away);
    scene.k += 1;
    let causes = scene.causes();
    let (class, who, _, _) = main(&causes);
    assert_eq!((class, who), (Class::Shared, Some("other")), "{:#?}", causes.worst_starts[0]);
}

#[test]
fn a_lock_that_it_spins_for_is_waited_for_and_its_holder_unknown() {
    let mut scene = Scene::new();
    scene.k += 1;
    let to_task = scene.switch(OTHER, TASK);
    let mut events = scene.timer(-990_000, OTHER);
    let call =
        EventKind::SyscallEnter { call: Call::Lock { inherits: true }, number: 202, arguments: [0; 3] };
    events.extend([
        (-985_000, OTHER, THREAD, to_task),
        (-500_000, TASK, THREAD, call),
        (803_000, TASK, THREAD, RETURN),
    ]);
    scene.worked(-984_000, 803_500);
    scene.scripted(events, 805_000);
    let causes = scene.causes();
    let (class, who, ..) = main(&causes);
    assert_eq!((class, who), (Class::LockInheriting, None), "{:#?}", causes.worst_starts[0]);
}

/// The cause of the wait for a start, of a task that a signal's wait paces, or whose work is interrupted before it sleeps.
fn hog_after(call: Call, answers: i64, asleep: bool) -> TaskCauses {
    let mut scene = Scene::new();
    scene.k += 1;
    let (function, due) = (scene.name("hrtimer_wakeup"), scene.due());
    let [to_task, away, to_hog] =
        [scene.switch(OTHER, TASK), scene.switch(TASK, OTHER), scene.switch(OTHER, HOG)];
    let from_hog = scene.switch(HOG, TASK);
    let sets = EventKind::TimerStart { timer: 1, function, soft_ns: due, hard_ns: due };
    let calls = EventKind::SyscallEnter { call, number: 0, arguments: [0; 3] };
    let answers = EventKind::SyscallExit { return_value: answers };
    let mut events = scene.timer(-990_000, OTHER);
    events.push((-985_000, OTHER, THREAD, to_task));
    if !asleep {
        events.extend([(-984_500, TASK, THREAD, calls.clone()), (-984_400, TASK, THREAD, answers.clone())]);
    }
    events.push((-984_000, TASK, THREAD, sets));
    if asleep {
        events.push((-983_900, TASK, THREAD, calls));
    }
    events.push((-983_000, TASK, THREAD, away));
    events.extend(scene.timer(10_000, OTHER));
    events.extend([(13_000, OTHER, THREAD, to_hog), (613_000, HOG, THREAD, from_hog)]);
    if asleep {
        events.push((613_500, TASK, THREAD, answers));
    }
    scene.scripted(events, 615_000);
    scene.causes()
}

#[test]
fn a_wait_that_is_for_a_signal_ends_by_it() {
    for (call, return_value, asleep) in [(Call::Signal, -514, true), (Call::Read, -4, false)] {
        let causes = hog_after(call, return_value, asleep);
        assert_eq!(
            (main(&causes).0, main(&causes).3),
            (Class::Preempted, 600_000),
            "{:#?}",
            causes.worst_starts[0]
        );
        let short = causes.worst_starts[0].parts.iter().filter(|part| part.at_ns < 13_000);
        let would_wait_anyway = |part: &LatencyPart| {
            matches!(causes.causes[part.cause].cause.class, Class::Blocked | Class::AskedLate)
        };
        assert!(!short.into_iter().any(would_wait_anyway), "{:#?}", causes.worst_starts[0]);
    }
}

/// The task works from the start before until 803 us behind this due time, with these events in it.
fn worked(scene: &mut Scene, in_it: Vec<(i64, i32, bool, EventKind)>) -> TaskCauses {
    scene.k += 1;
    let to_task = scene.switch(OTHER, TASK);
    let mut events = scene.timer(-990_000, OTHER);
    events.push((-985_000, OTHER, THREAD, to_task));
    events.extend(in_it);
    events.push((803_000, TASK, THREAD, RETURN));
    scene.worked(-984_000, 803_500);
    scene.scripted(events, 805_000);
    std::mem::take(scene).causes()
}

#[test]
fn what_follows_a_fault_without_an_event_is_no_proven_work() {
    // A page of 2 MB takes long to clear, and no event shows its end.
    let causes = worked(&mut Scene::new(), vec![(-500_000, TASK, THREAD, EventKind::PageFault)]);
    let (class, _, sure, ns) = main(&causes);
    assert_eq!((class, sure), (Class::PageFault, Certainty::Undecided), "{:#?}", causes.worst_starts[0]);
    assert!(ns > 780_000, "{ns}");
}

#[test]
fn where_its_own_events_were_lost_no_work_is_proven() {
    let mut scene = Scene::new();
    let from_ns = scene.due() + PERIOD_NS - 900_000;
    let causes = worked(&mut scene, vec![(700_000, TASK, THREAD, EventKind::CallsLost { from_ns })]);
    let proven = causes.worst_starts[0].parts.iter().filter(|part| part.at_ns < 700_000);
    assert!(
        !proven.into_iter().any(|part| part.evidence.certainty() == Certainty::Proven),
        "{:#?}",
        causes.worst_starts[0]
    );
}

#[test]
fn a_processor_that_was_taken_away_does_not_lengthen_a_wait() {
    let mut scene = Scene::new();
    let woken = scene.woken();
    let during = vec![
        (-500_000, TASK, THREAD, READ),
        // 0.9 of 1.2 ms were another machine's.
        (700_000, OTHER, THREAD, EventKind::RuntimeAccounted { pid: OTHER, ns: 300_000 }),
        (800_000, OTHER, THREAD, woken),
        (803_000, TASK, THREAD, RETURN),
    ];
    let causes = scene.waits(PrevState::Sleeps, during);
    assert_eq!(
        (main(&causes).0, main(&causes).1),
        (Class::Blocked, Some("other")),
        "{:#?}",
        causes.worst_starts[0]
    );
    let outside = causes.causes.iter().find(|sum| sum.cause.class == Class::Outside);
    assert!(outside.is_none_or(|sum| sum.max_ns < 10_000), "{outside:#?}");
}

#[test]
fn of_a_long_backlog_nothing_is_forgotten_before_it_is_explained() {
    let mut scene = Scene::new();
    let task = scene.switch(OTHER, TASK);
    scene.send(0, OTHER, task);
    let (first_ns, first) = (scene.due(), scene.k);
    for k in 0..200i64 {
        let (due_ns, start_ns) = (first_ns + k * PERIOD_NS, first_ns + k * PERIOD_NS * 3 / 2 + 1_000);
        scene.send(start_ns - first_ns, TASK, RETURN);
        let end_ns = start_ns + PERIOD_NS * 3 / 2 - 1_000;
        let index = first + k as u64;
        let row = Activation { index, due_ns, start_ns, end_ns, cpu: CPU, ..Activation::default() };
        scene.explainer.queue_activations(0, &[row]);
        scene.explainer.advance(end_ns);
    }
    let causes = scene.explainer.finish(Tracer::default()).tasks.remove(0);
    assert!(causes.max_ns > 90_000_000, "{}", causes.max_ns);
    let lost: i64 =
        causes.causes.iter().filter(|sum| sum.cause.class == Class::Lost).map(|sum| sum.sum_ns).sum();
    assert_eq!((lost, causes.gaps), (0, 0));
}

#[test]
fn the_way_back_from_a_wait_is_no_work_where_a_tracer_stops_it() {
    let mut scene = Scene::new();
    let traced = scene.leaving(TASK, PrevState::Traced, OTHER);
    let (to_task, back, woken) = (scene.switch(OTHER, TASK), scene.switch(OTHER, TASK), scene.woken());
    let mut events = scene.timer(10_000, OTHER);
    events.extend([
        (13_000, OTHER, THREAD, to_task),
        (14_000, TASK, THREAD, RETURN),
        (600_000, TASK, THREAD, traced),
        (700_000, OTHER, THREAD, woken),
        (702_000, OTHER, THREAD, back),
    ]);
    scene.scripted(events, 704_000);
    let causes = scene.causes();
    assert!(
        causes.causes.iter().all(|sum| sum.cause.class != Class::OwnWork),
        "{:#?}",
        causes.worst_starts[0]
    );
    let traced = causes.causes.iter().find(|sum| sum.cause.class == Class::Traced).unwrap();
    assert_eq!(
        (traced.max_ns, main(&causes).0),
        (100_000, Class::SlowReturn),
        "{:#?}",
        causes.worst_starts[0]
    );
}
