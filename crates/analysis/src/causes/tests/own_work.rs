//! Work that lasts beyond a due time: proven where ticks or other events show that the task had the processor.

use super::*;

const TICK: u64 = 50;

/// Events of a tick that was due at one time and came at another, over a thread; it sets the next one.
fn tick(scene: &mut Scene, over: i32, (due_ns, came_ns): (i64, i64)) {
    let timer = scene.handler(HandlerKind::Timer, "local_timer");
    let (function, at) = (scene.name("tick_nohz_handler"), scene.due());
    let (soft_ns, hard_ns) = (at + due_ns + 4 * PERIOD_NS, at + due_ns + 4 * PERIOD_NS);
    scene.send(came_ns, over, EventKind::HandlerEnter(timer));
    scene.send_in(came_ns + 500, over, true, EventKind::TimerExpire { timer: TICK, function });
    scene.send_in(came_ns + 900, over, true, EventKind::TimerExpireEnd);
    scene.send_in(
        came_ns + 950,
        over,
        true,
        EventKind::TimerStart { timer: TICK, function, soft_ns, hard_ns },
    );
    scene.send(came_ns + 1_000, over, EventKind::HandlerExit(timer));
}

/// Sets the first tick, over a thread.
fn set_tick(scene: &mut Scene, over: i32, at: i64, due_ns: i64) {
    let (function, soft_ns) = (scene.name("tick_nohz_handler"), scene.due() + due_ns);
    let set = EventKind::TimerStart { timer: TICK, function, soft_ns, hard_ns: soft_ns };
    scene.send_in(at, over, true, set);
}

/// The task, which usually works for 100 ns, seems to work from its start until 10 ms after its next due time.
/// Ticks come then, each with the time at which it was due; other events of its own every `every_ns`.
fn worked(machine: Machine, ticks: &[(i64, i64)], every_ns: Option<i64>) -> TaskCauses {
    const LATE_NS: i64 = 10_000_000;
    let mut scene = Scene::on(machine);
    scene.k += 1;
    if let Some((due_ns, _)) = ticks.first() {
        set_tick(&mut scene, OTHER, -999_000, *due_ns);
    }
    for (at, pid, in_interrupt, what) in scene.timer(-990_000, OTHER) {
        scene.send_in(at, pid, in_interrupt, what);
    }
    let to_task = scene.switch(OTHER, TASK);
    scene.send(-985_000, OTHER, to_task);
    let due_ns = scene.due();
    let row = |index: u64, due_ns: i64, start_ns: i64, end_ns: i64| Activation {
        index,
        due_ns,
        start_ns,
        end_ns,
        cpu: CPU,
        ..Activation::default()
    };
    let mut events: Vec<(i64, Option<(i64, i64)>)> = ticks.iter().map(|tick| (tick.1, Some(*tick))).collect();
    let every = |ns: i64| (-980_000..LATE_NS).step_by(ns as usize).map(|at| (at, None));
    events.extend(every_ns.into_iter().flat_map(every));
    events.sort_unstable();
    for (at, is_tick) in events {
        match is_tick {
            Some(of) => tick(&mut scene, TASK, of),
            None => scene.send(at, TASK, EventKind::SyscallExit { return_value: 0 }),
        }
    }
    let rows = [
        row(scene.k - 1, due_ns - PERIOD_NS, due_ns - 983_000, due_ns + LATE_NS),
        row(scene.k, due_ns, due_ns + LATE_NS, due_ns + LATE_NS + 100),
    ];
    scene.explainer.queue_activations(0, &rows);
    scene.k += 10;
    scene.sleep(2_000, PERIOD_NS);
    scene.k += 1;
    scene.causes()
}

/// Time of a class, with its proven and its likely part, in ns.
fn of(causes: &TaskCauses, class: Class) -> (i64, i64, i64) {
    let sum = causes.causes.iter().find(|sum| sum.cause.class == class);
    sum.map_or((0, 0, 0), |sum| (sum.sum_ns, sum.proven_ns, sum.likely_ns))
}

#[test]
fn own_work_is_proven_by_ticks_that_come_in_time() {
    for machine in [TOLD, BARE] {
        let causes =
            worked(machine, &[(-900_000, -899_000), (3_100_000, 3_101_000), (7_100_000, 7_102_000)], None);
        let (own_ns, proven_ns, _) = of(&causes, Class::OwnWork);
        assert!(own_ns > 9_900_000 && own_ns == proven_ns, "{:#?}", causes.worst_starts[0]);
        assert_eq!(of(&causes, Class::WorkOrOutside).0, 0);
    }
}

#[test]
fn a_tick_that_comes_late_leaves_open_who_had_the_processor() {
    // A user program cannot hold a tick off: on no machine is this the task's own work.
    for machine in [TOLD, BARE] {
        let causes = worked(machine, &[(-900_000, -899_000), (3_100_000, 9_950_000)], None);
        let (ns, proven_ns, likely_ns) = of(&causes, Class::WorkOrOutside);
        assert!(ns > 9_900_000 && proven_ns + likely_ns == 0, "{:#?}", causes.worst_starts[0]);
    }
    // A tick that was cancelled, as nohz_full does, and set again is not late.
    let mut silences = silence::Silences::default();
    let mut names = NameTable::default();
    let name = names.intern("tick_nohz_handler");
    let functions = event::Functions {
        replenish: NameId(91),
        limit: NameId(92),
        quota: NameId(93),
        sleep: NameId(94),
        ticks: [name; 2],
    };
    let set = |at| EventKind::TimerStart { timer: TICK, function: name, soft_ns: at, hard_ns: at };
    silences.process_event(0, &set(4_000_000), functions);
    silences.note_silence(1_000, 20_000_000);
    silences.process_event(20_000_000, &set(24_000_000), functions);
    silences.process_event(24_001_000, &EventKind::TimerExpire { timer: TICK, function: name }, functions);
    let silence = *silences.at(5_000_000).unwrap();
    assert_eq!(silences.tick_evidence(&silence, 0), silence::TickEvidence::NotDue);
    silences.forget_before(50_000_000);
    assert!(silences.at(5_000_000).is_none());
}

#[test]
fn without_ticks_work_far_longer_than_usual_is_not_proven() {
    // As with nohz_full, or on a kernel that does not show its ticks.
    for (machine, class, certainty) in [
        (TOLD, Class::WorkOrOutside, Certainty::Undecided),
        (Machine { platform: Platform::Hypervisor, ..TOLD }, Class::WorkOrOutside, Certainty::Undecided),
        (BARE, Class::OwnWork, Certainty::Likely),
        (COUNTED, Class::OwnWork, Certainty::Proven),
    ] {
        let causes = worked(machine, &[], None);
        let (ns, proven_ns, likely_ns) = of(&causes, class);
        assert!(ns > 9_900_000, "{class:?}: {:#?}", causes.worst_starts[0]);
        let expected = match certainty {
            Certainty::Proven => (ns, 0),
            Certainty::Likely => (0, ns),
            Certainty::Undecided => (0, 0),
        };
        assert_eq!((proven_ns, likely_ns), expected, "{machine:?}");
    }
}

#[test]
fn own_events_in_quick_succession_prove_work() {
    let causes = worked(TOLD, &[], Some(30_000));
    let (own_ns, proven_ns, _) = of(&causes, Class::OwnWork);
    assert!(own_ns > 9_900_000 && own_ns == proven_ns, "{:#?}", causes.worst_starts[0]);
}

#[test]
fn work_that_is_always_so_long_is_the_task_s_own() {
    for (ticks, certainty) in [(true, Certainty::Proven), (false, Certainty::Likely)] {
        let mut scene = Scene::on(TOLD);
        if ticks {
            set_tick(&mut scene, OTHER, -1_000, 2_000_000);
        }
        let task = scene.switch(OTHER, TASK);
        scene.send(0, OTHER, task);
        let first_ns = scene.due();
        // It never waits: each activation takes one period and a half.
        for k in 0..1_000i64 {
            let at_ns = k * PERIOD_NS * 3 / 2;
            scene.send(at_ns + 1_000, TASK, EventKind::SyscallExit { return_value: 0 });
            if ticks && k > 1 && k % 3 == 1 {
                let due_ns = at_ns + 500_000;
                set_tick(&mut scene, TASK, at_ns + 2_000, due_ns);
                tick(&mut scene, TASK, (due_ns, due_ns + 1_000));
            }
            let row = Activation {
                index: scene.k + k as u64,
                due_ns: first_ns + k * PERIOD_NS,
                start_ns: first_ns + at_ns + 1_000,
                end_ns: first_ns + at_ns + PERIOD_NS * 3 / 2,
                cpu: CPU,
                ..Activation::default()
            };
            scene.explainer.queue_activations(0, &[row]);
        }
        let causes = scene.explainer.finish(Tracer::default()).tasks.remove(0);
        let late = &causes.worst_starts[0];
        let own = late.parts.iter().filter(|part| causes.causes[part.cause].cause.class == Class::OwnWork);
        let unproven: i64 =
            own.clone().filter(|part| part.evidence.certainty() != certainty).map(|p| p.ns).sum();
        let own: i64 = own.map(|part| part.ns).sum();
        assert!(
            own > late.latency_ns / 2 && unproven < own / 100,
            "{certainty:?} {own} {unproven}: {late:#?}"
        );
    }
}

#[test]
fn a_thread_whose_ticks_come_late_did_not_surely_run_all_the_time() {
    for (came_ns, certainty) in [(501_000, Certainty::Proven), (4_000_000, Certainty::Likely)] {
        let mut scene = Scene::new();
        let to_hog = scene.switch(OTHER, HOG);
        scene.send(-600_000, OTHER, to_hog);
        set_tick(&mut scene, HOG, -500_000, 500_000);
        for (at, pid, in_interrupt, what) in scene.timer(4_000, HOG) {
            scene.send_in(at, pid, in_interrupt, what);
        }
        tick(&mut scene, HOG, (500_000, came_ns));
        let back = scene.switch(HOG, TASK);
        scene.scripted(vec![(4_100_000, HOG, false, back)], 4_103_000);
        let causes = scene.causes();
        let hog = causes.causes.iter().find(|sum| sum.cause.class == Class::Preempted).unwrap();
        assert!(hog.max_ns > 3_900_000, "{hog:?}");
        match certainty {
            Certainty::Proven => assert_eq!(hog.proven_ns, hog.sum_ns),
            _ => assert!(hog.likely_ns > 3_900_000, "{hog:?}"),
        }
    }
}
