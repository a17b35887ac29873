//! Threads that wait in the ways programs do.

use jitterlab_model::watched::{DueTimeSource, WaitKind};
use jitterlab_model::{Activation, Flags, Known, Overrun};

use super::*;
use crate::causes::{Call, Event, EventKind, Handler, HandlerKind, NameId, NameTable, PrevState};

const THREAD: i32 = 7;
const PERIOD_NS: i64 = 1_000_000;
const MONOTONIC_LESS_REALTIME: i64 = -1_700_000_000_000_000_000;

/// A thread's actions in a cycle, with their events.
struct Script {
    names: NameTable,
    passes: WaitTracker,
    system: SystemState,
    waits: Vec<Wait>,
}

impl Script {
    fn new() -> Self {
        let mut names = NameTable::default();
        let passes = WaitTracker::new(THREAD, &mut names);
        let mut system = SystemState::default();
        system.note_clock_reading(MONOTONIC_LESS_REALTIME, 0, 0, false);
        Script { names, passes, system, waits: Vec::new() }
    }

    fn send(&mut self, t_ns: i64, pid: i32, in_interrupt: bool, what: EventKind) {
        let event = Event { t_ns, cpu: 2, pid, in_interrupt, interrupts_off: in_interrupt, what };
        self.system.process_event(&event);
        self.waits.extend(self.passes.process_event(&event, &self.system));
    }

    fn call(&mut self, t_ns: i64, call: Call, arguments: [u64; 3]) {
        let number = match call {
            Call::Other(number) => number,
            _ => 230,
        };
        self.send(t_ns, THREAD, false, EventKind::SyscallEnter { call, number, arguments });
    }

    fn back(&mut self, t_ns: i64) {
        self.send(t_ns, THREAD, false, EventKind::SyscallExit { return_value: 0 });
        self.leave(t_ns, PrevState::Ready);
    }

    fn leave(&mut self, t_ns: i64, prev_state: PrevState) {
        self.send(t_ns, THREAD, false, switch(THREAD, prev_state, 0));
    }

    fn come(&mut self, t_ns: i64) {
        self.send(t_ns, 0, false, switch(0, PrevState::Ready, THREAD));
    }

    fn timer(&mut self, t_ns: i64, timer: u64, function: &str, soft_ns: i64) {
        let function = self.names.intern(function);
        self.send(t_ns, THREAD, false, EventKind::TimerStart { timer, function, soft_ns, hard_ns: soft_ns });
    }

    /// Out of the processor, and woken in a handler of this kind, or by another thread.
    fn sleep(&mut self, from_ns: i64, woken_ns: i64, by: Option<HandlerKind>) {
        let name = NameId(0);
        self.send(from_ns, THREAD, false, switch(THREAD, PrevState::Sleeps, 0));
        let handler = by.map(|kind| Handler { kind, number: 1, name });
        if let Some(handler) = handler {
            self.send(woken_ns - 500, 0, false, EventKind::HandlerEnter(handler));
        }
        let waker = if by.is_some() { 0 } else { 9 };
        self.send(woken_ns, waker, by.is_some(), EventKind::Waking { pid: THREAD, cpu: 2 });
        if let Some(handler) = handler {
            self.send(woken_ns + 500, 0, false, EventKind::HandlerExit(handler));
        }
        self.send(woken_ns + 1_000, 0, false, switch(0, PrevState::Ready, THREAD));
    }

    fn found(&self) -> PeriodicWait {
        find_periodic_wait(&self.waits).expect("a periodic wait")
    }

    fn overrun(&self) -> Known<Overrun> {
        let mut follower = LoopFollower::new(self.found());
        for wait in &self.waits {
            let _ = follower.process_wait(wait);
        }
        follower.overrun()
    }

    fn activations(&self) -> Vec<Activation> {
        let mut follower = LoopFollower::new(self.found());
        self.waits.iter().filter_map(|wait| follower.process_wait(wait)).collect()
    }
}

fn switch(from: i32, prev_state: PrevState, to: i32) -> EventKind {
    let priority = |pid| if pid == THREAD { 19 } else { 120 };
    let (from_name, name) = (NameId(0), NameId(0));
    EventKind::Switch {
        from,
        from_name,
        from_priority: priority(from),
        prev_state,
        to,
        name,
        priority: priority(to),
    }
}

/// Latency of the k-th wake-up, in ns.
fn late(k: i64) -> i64 {
    2_000 + k * 37 % 500 + if k == 30 { 400_000 } else { 0 }
}

#[test]
fn absolute_sleeps_have_exact_due_times_on_either_clock() {
    for offset in [0, -MONOTONIC_LESS_REALTIME] {
        let mut script = Script::new();
        for k in 1..60 {
            let due = k * PERIOD_NS;
            script.call(due - 900_000, Call::ClockNanosleep, [1, 1, 0]);
            script.timer(due - 899_000, 1, "hrtimer_wakeup", due + offset);
            // The scheduler's own timers, set in the same call and in interrupts, are not the thread's.
            script.timer(due - 898_500, 2, "sched_rt_period_timer", due + 5_000);
            script.sleep(due - 898_000, due + late(k), Some(HandlerKind::Timer));
            script.back(due + late(k) + 3_000);
        }
        let found = script.found();
        assert_eq!(
            (found.waits, found.due, found.period_ns),
            (WaitKind::Nanosleep, DueTimeSource::OwnTimer, 1e6)
        );
        let rows = script.activations();
        assert_eq!(rows.len(), 58);
        assert!(
            rows.iter().zip(1..).all(|(a, k)| a.due_ns == k * PERIOD_NS && a.latency_ns() == late(k) + 3_000)
        );
        assert!(rows.windows(2).all(|pair| pair[1].index == pair[0].index + 1 && pair[0].missed == 0));
        assert_eq!(rows[0].execution_ns(), 100_000 - 5_000 - 37);
    }
}

#[test]
fn a_thread_that_skips_most_due_times_has_their_period_all_the_same() {
    let mut script = Script::new();
    let mut k = 1;
    for pass in 0..200i64 {
        let due = k * PERIOD_NS;
        script.call(due - 700_000, Call::Futex, [0x1a8, 0x89, 0]);
        script.timer(due - 699_000, 1, "hrtimer_wakeup", due);
        script.sleep(due - 698_000, due + 2_000, Some(HandlerKind::Timer));
        script.back(due + 5_000);
        // From one to six periods, in no order.
        k += 1 + (pass * 7_919 + pass * pass * 104_729) % 6;
    }
    let found = script.found();
    assert_eq!(
        (found.waits, found.due, found.period_ns),
        (WaitKind::TimedFutex, DueTimeSource::OwnTimer, 1e6)
    );
    let rows = script.activations();
    assert!(rows.iter().all(|row| row.latency_ns() == 5_000), "{rows:?}");
    assert!(rows.iter().all(|row| row.due_ns == (row.index as i64 + 1) * PERIOD_NS));
}

#[test]
fn what_falls_into_a_gap_of_the_events_is_neither_missed_nor_late() {
    let mut script = Script::new();
    for k in 1..60 {
        let due = k * PERIOD_NS;
        script.call(due - 900_000, Call::ClockNanosleep, [1, 1, 0]);
        script.timer(due - 899_000, 1, "hrtimer_wakeup", due);
        script.sleep(due - 898_000, due + late(k), Some(HandlerKind::Timer));
        script.back(due + late(k) + 3_000);
    }
    let mut follower = LoopFollower::new(script.found());
    let (before, after) = (&script.waits[..20], &script.waits[27..]);
    let mut rows: Vec<Activation> = before.iter().filter_map(|wait| follower.process_wait(wait)).collect();
    (0..3).for_each(|_| follower.note_lost_events());
    rows.extend(after.iter().filter_map(|wait| follower.process_wait(wait)));
    assert_eq!((rows.len() as u64, follower.unknown), (19 + 31, 8), "the one that ran and seven others");
    assert!(rows.iter().all(|row| row.missed == 0 && row.due_ns == (row.index as i64 + 1) * PERIOD_NS));
    let gaps = rows.iter().enumerate().filter(|(_, row)| row.flags.contains(Flags::AFTER_GAP));
    assert_eq!(gaps.map(|(number, _)| number).collect::<Vec<_>>(), [19], "no interval across what was lost");
}

#[test]
fn a_start_is_where_a_clock_can_be_read_and_never_behind_the_next_wait() {
    let mut script = Script::new();
    for k in 1..20 {
        let due = k * PERIOD_NS;
        // Every other time it does next to nothing before it waits again.
        let works = if k % 2 == 0 { 1_000 } else { 300_000 };
        script.call(due - PERIOD_NS + 5_000 + works, Call::ClockNanosleep, [1, 1, 0]);
        script.timer(due - 500_000, 1, "hrtimer_wakeup", due);
        script.sleep(due - 400_000, due + 2_000, Some(HandlerKind::Timer));
        script.back(due + 5_000);
    }
    let mut follower = LoopFollower::with_return_time(script.found(), 3_000);
    let rows: Vec<Activation> = script.waits.iter().filter_map(|wait| follower.process_wait(wait)).collect();
    assert_eq!(rows.len(), 18);
    for row in rows {
        let (latency_ns, execution_ns) = if row.index % 2 == 0 { (5_500, 500) } else { (8_000, 297_000) };
        assert_eq!((row.latency_ns(), row.execution_ns()), (latency_ns, execution_ns), "{row:?}");
    }
}

#[test]
fn due_times_that_passed_are_missed_or_served_late() {
    let mut script = Script::new();
    let mut next = 1;
    for k in 1..40i64 {
        if k < next {
            continue;
        }
        let due = k * PERIOD_NS;
        script.call(due - 900_000, Call::ClockNanosleep, [1, 1, 0]);
        script.timer(due - 899_000, 1, "hrtimer_wakeup", due);
        script.sleep(due - 898_000, due + 2_000, Some(HandlerKind::Timer));
        script.back(due + 5_000);
        // Activation 20 lasts 2.5 periods, and the thread continues with the next future due time.
        next = if k == 20 { 24 } else { k + 1 };
    }
    let rows = script.activations();
    let over: Vec<_> = rows.iter().filter(|a| a.missed > 0).map(|a| (a.index, a.missed)).collect();
    assert_eq!(over, [(19, 3)]);
    assert_eq!(rows.last().map(|a| a.index), Some(37));
    assert_eq!(script.overrun(), Known::Unknown, "skipped, or served without a wait");
}

#[test]
fn a_thread_that_catches_up_without_waiting_keeps_its_due_times() {
    let mut script = Script::new();
    for k in 1..60 {
        let due = k * PERIOD_NS;
        // After a stall of 4.3 periods it sleeps for no time until it has caught up.
        let behind = (20..24).contains(&k);
        let called = if behind { 24 * PERIOD_NS + 300_000 + (k - 20) * 10_000 } else { due - 900_000 };
        let asked = if behind { called - 700 } else { due };
        script.call(called, Call::ClockNanosleep, [1, 1, 0]);
        script.timer(called + 500, 1, "hrtimer_wakeup", asked);
        if !behind {
            script.sleep(called + 1_000, due + 2_000, Some(HandlerKind::Timer));
        }
        script.back(called.max(due) + 5_000);
    }
    let found = script.found();
    assert_eq!((found.due, found.period_ns), (DueTimeSource::OwnTimer, 1e6));
    let rows = script.activations();
    assert!(rows.iter().zip(1..).all(|(a, k)| a.due_ns == k * PERIOD_NS), "{rows:?}");
    assert_eq!(rows[19].latency_ns(), 4_305_000);
    assert_eq!(script.overrun(), Known::Exactly(Overrun::CatchUp));
}

#[test]
fn a_timer_read_as_a_file_is_set_anew_while_it_is_read() {
    let mut script = Script::new();
    script.timer(10, 5, "timerfd_tmrproc", PERIOD_NS);
    for k in 1..40 {
        let due = k * PERIOD_NS;
        // In time, or after the time has passed: then the read does not sleep.
        let busy = k % 10 == 9;
        if busy {
            script.call(due + 300_000, Call::Read, [3, 0, 0]);
            script.timer(due + 300_500, 5, "timerfd_tmrproc", due + PERIOD_NS);
            script.back(due + 301_000);
        } else {
            script.call(due - 500_000, Call::Read, [3, 0, 0]);
            script.sleep(due - 499_000, due + 2_000, Some(HandlerKind::Timer));
            script.timer(due + 3_500, 5, "timerfd_tmrproc", due + PERIOD_NS);
            script.back(due + 4_000);
        }
    }
    let found = script.found();
    assert_eq!((found.waits, found.due, found.period_ns), (WaitKind::Timerfd, DueTimeSource::OwnTimer, 1e6));
    let rows = script.activations();
    assert_eq!(rows.len(), 38);
    assert!(rows.iter().zip(1..).all(|(a, k)| a.due_ns == k * PERIOD_NS), "{rows:?}");
    assert_eq!(rows[8].latency_ns(), 301_000);
    assert_eq!(script.overrun(), Known::Unknown, "the read gave all that had passed");
}

#[test]
fn waits_without_a_timer_are_on_a_fitted_grid() {
    let kinds = [
        (Call::Futex, None, WaitKind::Futex),
        (Call::Read, Some(HandlerKind::Softirq), WaitKind::Packet),
        (Call::Read, Some(HandlerKind::Device), WaitKind::Interrupt),
        (Call::Read, None, WaitKind::Read),
    ];
    for (call, by, waits) in kinds {
        let mut script = Script::new();
        for k in 1..200 {
            let at = k * PERIOD_NS + 123_456;
            // A condition variable's two words take turns.
            let object = if call == Call::Futex { 0xbee8 + (k as u64 & 1) * 4 } else { 0xbeef };
            script.call(at - 800_000, call, [object, 0, 0]);
            script.sleep(at - 799_000, at + late(k), by);
            script.back(at + late(k) + 3_000);
        }
        let found = script.found();
        assert_eq!((found.waits, found.due), (waits, DueTimeSource::FittedGrid));
        assert!((found.period_ns - 1e6).abs() < 30.0, "{found:?}");
        let rows = script.activations();
        let worst = rows.iter().map(Activation::latency_ns).max().unwrap();
        let best = rows.iter().map(Activation::latency_ns).min().unwrap();
        assert!((-1..2_000).contains(&best) && (398_000..403_000).contains(&worst), "{best} {worst}");
        assert_eq!(rows.last().map(|a| a.index), Some(197));
    }
}

#[test]
fn a_fitted_grid_follows_a_clock_of_another_rate() {
    let mut script = Script::new();
    for k in 1..20_000 {
        // 50 ppm slower from the 2 000th on.
        let at = k * PERIOD_NS + (k - 2_000).max(0) * 50;
        script.call(at - 800_000, Call::Futex, [0xbeef, 0, 0]);
        script.sleep(at - 799_000, at + late(k), None);
        script.back(at + late(k) + 3_000);
    }
    let mut follower = LoopFollower::new(find_periodic_wait(&script.waits[..1_900]).unwrap());
    let rows: Vec<Activation> = script.waits.iter().filter_map(|wait| follower.process_wait(wait)).collect();
    let (best, worst) = rows[10_000..]
        .iter()
        .fold((i64::MAX, i64::MIN), |(low, high), a| (low.min(a.latency_ns()), high.max(a.latency_ns())));
    assert!(best > -1_000 && worst < 2_000, "nothing was late there: {best} {worst}");
    assert_eq!(rows.last().map(|a| a.index), Some(19_997));
}

#[test]
fn of_several_waits_the_own_timer_counts_and_random_ones_do_not() {
    let mut script = Script::new();
    let mut random = 1u64;
    for k in 1..100 {
        let due = k * PERIOD_NS;
        script.call(due - 900_000, Call::ClockNanosleep, [1, 1, 0]);
        script.timer(due - 899_000, 1, "hrtimer_wakeup", due);
        script.sleep(due - 898_000, due + 2_000, Some(HandlerKind::Timer));
        script.back(due + 5_000);
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        if random >> 62 == 0 {
            script.call(due + 6_000, Call::Futex, [0xf00, 0, 0]);
            script.sleep(due + 7_000, due + 20_000, None);
            script.back(due + 23_000);
        }
    }
    assert_eq!(script.found().key.call, Call::ClockNanosleep);
    let mut script = Script::new();
    let mut at = 0;
    for _ in 0..100 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        at += 100_000 + (random >> 42) as i64;
        script.call(at - 50_000, Call::Futex, [0xf00, 0, 0]);
        script.sleep(at - 49_000, at, None);
        script.back(at + 3_000);
    }
    let all = script.waits.len();
    assert!(
        matches!(find_periodic_wait(&script.waits), Err(NoPeriodicWait::Woken { waits, .. }) if waits == all)
    );
}

#[test]
fn what_the_loop_asks_of_the_kernel_in_its_work_has_a_cost() {
    let mut script = Script::new();
    let mut audit = CallAudit::new(&mut script.names);
    for k in 1..60i64 {
        let due = k * PERIOD_NS;
        let (wait, write) = ((230, Call::ClockNanosleep), (1, Call::Other(1)));
        for (at, (number, call), lasts) in
            [(due - 700_000, write, 4_000 + k * 1_000), (due - 500_000, wait, 500_000)]
        {
            script.call(at, call, [1, 1, 0]);
            if number == 230 {
                script.timer(at + 10, 1, "hrtimer_wakeup", due);
                script.sleep(at + 20, due, Some(HandlerKind::Timer));
            }
            script.back(at + lasts);
            audit.process_event(&own(at, EventKind::SyscallEnter { call, number, arguments: [0; 3] }));
            audit.process_event(&own(at + lasts, EventKind::SyscallExit { return_value: 0 }));
        }
        audit.note_wait(script.waits.last().unwrap(), 230);
    }
    let calls = audit.calls(|number| format!("call {number}"));
    let [write] = &calls[..] else { panic!("the wait is none of its work: {calls:?}") };
    assert_eq!((&*write.name, write.times, write.activations, write.worst_ns), ("call 1", 59, 59, 63_000));
    assert!((62_000..=63_000).contains(&write.p99_ns), "{write:?}");
}

#[test]
fn reading_the_timer_that_ended_a_wait_is_none_of_the_work() {
    const READ: i64 = 0;
    const EPOLL: i64 = 232;
    let mut names = NameTable::default();
    let mut audit = CallAudit::new(&mut names);
    let function = names.intern("timerfd_tmrproc");
    for k in 1..60i64 {
        let due = k * PERIOD_NS;
        let call = |number, call| EventKind::SyscallEnter { call, number, arguments: [4, 0, 0] };
        let back = EventKind::SyscallExit { return_value: 8 };
        let set =
            EventKind::TimerStart { timer: 1, function, soft_ns: due + PERIOD_NS, hard_ns: due + PERIOD_NS };
        // A read of a file is work even beside it.
        let events = [
            (-500_000, call(EPOLL, Call::Poll)),
            (3_000, back.clone()),
            (5_000, call(READ, Call::Read)),
            (6_000, set),
            (7_000, back.clone()),
            (10_000, call(READ, Call::Read)),
            (40_000, back),
        ];
        for (after, what) in events {
            audit.process_event(&own(due + after, what));
        }
        let wait = Wait {
            key: WaitKey { call: Call::Poll, object: 4 },
            began_ns: due - 500_000,
            ended_ns: due + 3_000,
            cpu: 0,
            waits: WaitKind::Timerfd,
            due_ns: Some(due),
            waker: None,
            on_realtime: false,
            clock_was_set: false,
        };
        audit.note_wait(&wait, EPOLL);
    }
    let calls = audit.calls(|number| format!("call {number}"));
    let [read] = &calls[..] else { panic!("only the file's read is work: {calls:?}") };
    assert_eq!((&*read.name, read.times, read.worst_ns), ("call 0", 59, 30_000));
}

fn own(t_ns: i64, what: EventKind) -> Event {
    Event { t_ns, cpu: 0, pid: THREAD, in_interrupt: false, interrupts_off: false, what }
}

const INTERRUPTED: i64 = -514;
const HANDLED: i64 = 15;

#[test]
fn a_stop_ends_no_wait_and_a_handled_signal_does() {
    let mut script = Script::new();
    let due = 10 * PERIOD_NS;
    let sleep = |script: &mut Script, at| {
        script.call(at, Call::ClockNanosleep, [1, 1, 0]);
        script.timer(at + 10, 1, "hrtimer_wakeup", due);
        script.leave(at + 20, PrevState::Sleeps);
    };
    let interrupt = |script: &mut Script, at| {
        script.send(at, 9, false, EventKind::Waking { pid: THREAD, cpu: 2 });
        script.come(at + 100);
        script.send(at + 200, THREAD, false, EventKind::SyscallExit { return_value: INTERRUPTED });
    };
    let end = |script: &mut Script| {
        script.send(due, 0, true, EventKind::Waking { pid: THREAD, cpu: 2 });
        script.come(due + 1_000);
        script.back(due + 2_000);
    };
    // Stopped and continued, with the call again and with the kernel's own.
    for restart in [(Call::ClockNanosleep, [1, 1, 0]), (Call::Restart, [0; 3])] {
        script.waits.clear();
        sleep(&mut script, PERIOD_NS);
        interrupt(&mut script, 2 * PERIOD_NS);
        script.leave(2 * PERIOD_NS + 300, PrevState::Stopped);
        script.come(3 * PERIOD_NS);
        script.call(3 * PERIOD_NS + 100, restart.0, restart.1);
        script.timer(3 * PERIOD_NS + 110, 1, "hrtimer_wakeup", due);
        script.leave(3 * PERIOD_NS + 120, PrevState::Sleeps);
        end(&mut script);
        let [wait] = script.waits[..] else { panic!("{:?}", script.waits) };
        assert_eq!((wait.began_ns, wait.ended_ns, wait.due_ns), (PERIOD_NS, due + 2_000, Some(due)));
    }
    // A handler of the signal runs, and the program waits on.
    script.waits.clear();
    sleep(&mut script, PERIOD_NS);
    interrupt(&mut script, 2 * PERIOD_NS);
    for (at, call) in [(400, Call::Other(HANDLED)), (600, sigreturn())] {
        script.call(2 * PERIOD_NS + at, call, [0; 3]);
        script.send(2 * PERIOD_NS + at + 100, THREAD, false, EventKind::SyscallExit { return_value: 0 });
    }
    sleep(&mut script, 2 * PERIOD_NS + 800);
    end(&mut script);
    let [wait] = script.waits[..] else { panic!("{:?}", script.waits) };
    assert_eq!((wait.began_ns, wait.ended_ns, wait.due_ns), (PERIOD_NS, due + 2_000, Some(due)));
}

/// The end of a signal's handler.
fn sigreturn() -> Call {
    Call::Other(match () {
        () if cfg!(target_arch = "x86_64") => 15,
        () if cfg!(target_arch = "arm") => 173,
        () => 139,
    })
}

#[test]
fn signals_make_no_period_of_their_own() {
    let mut script = Script::new();
    for k in 1..200i64 {
        let due = 5 * k * PERIOD_NS;
        let mut at = due - 4_900_000;
        // Signals at no even distances, each handled; the program asks for the same time again.
        for signal in 0..4 {
            script.call(at, Call::ClockNanosleep, [1, 1, 0]);
            script.timer(at + 500, 1, "hrtimer_wakeup", due);
            script.leave(at + 1_000, PrevState::Sleeps);
            at += 900_000 + (k * 7_919 + signal * 104_729) % 200_000;
            script.send(at, 9, false, EventKind::Waking { pid: THREAD, cpu: 2 });
            script.come(at + 1_000);
            script.send(at + 2_000, THREAD, false, EventKind::SyscallExit { return_value: INTERRUPTED });
            script.call(at + 3_000, sigreturn(), [0; 3]);
            script.send(at + 4_000, THREAD, false, EventKind::SyscallExit { return_value: -4 });
            at += 5_000;
        }
        script.call(at, Call::ClockNanosleep, [1, 1, 0]);
        script.timer(at + 500, 1, "hrtimer_wakeup", due);
        script.sleep(at + 1_000, due + 2_000, Some(HandlerKind::Timer));
        script.back(due + 5_000);
    }
    let found = script.found();
    assert_eq!((found.due, found.period_ns), (DueTimeSource::OwnTimer, 5e6));
    let rows = script.activations();
    assert!(rows.iter().all(|row| row.missed == 0 && row.latency_ns() == 5_000), "{rows:?}");
    assert!(rows.iter().all(|row| row.execution_ns() == 95_000), "it only waited on: {rows:?}");
}

#[test]
fn a_signal_just_before_the_end_of_a_sleep_is_not_its_end() {
    let mut script = Script::new();
    for k in 1..20i64 {
        let due = k * PERIOD_NS;
        script.call(due - 900_000, Call::ClockNanosleep, [1, 1, 0]);
        script.timer(due - 899_000, 1, "hrtimer_wakeup", due);
        script.sleep(due - 898_000, due - 500, None);
        script.back(due + 5_000);
    }
    assert!(
        script.waits.iter().zip(1..).all(|(wait, k)| wait.due_ns == Some(k * PERIOD_NS)),
        "{:?}",
        script.waits
    );
}

#[test]
fn an_own_timer_that_ends_some_waits_leaves_no_grid_to_fit() {
    let mut script = Script::new();
    for k in 1..200i64 {
        let at = k * PERIOD_NS;
        script.call(at - 900_000, Call::Poll, [1, 0, 0]);
        let is_timed = k % 3 == 0;
        if is_timed {
            script.timer(at - 899_000, 1, "hrtimer_wakeup", at);
        }
        script.sleep(at - 898_000, at + 2_000, is_timed.then_some(HandlerKind::Timer));
        script.back(at + 5_000);
    }
    assert!(find_periodic_wait(&script.waits).is_err());
}

/// A thread that another one wakes at these times.
fn woken(script: &mut Script, times: impl Iterator<Item = i64>) {
    let mut free = script.waits.last().map_or(0, |wait| wait.ended_ns + 10_000);
    for at in times {
        let at = at.max(free + 2_000);
        script.call(free, Call::Read, [3, 0, 0]);
        script.sleep(free + 1_000, at, None);
        script.back(at + 3_000);
        free = at + 10_000;
    }
}

fn irregular(script: &Script) -> (i64, i64) {
    let by = Waker::Thread(9);
    match find_periodic_wait(&script.waits) {
        Err(NoPeriodicWait::Woken { by: found, shortest_ns, longest_ns, .. }) if found == by => {
            (shortest_ns / 100_000, longest_ns / 100_000)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_thread_that_is_woken_at_several_distances_has_no_period() {
    // By turns, at random, after one and two periods.
    let mut script = Script::new();
    woken(&mut script, (0..200).map(|k| (k + k / 2 * 2 + k % 2 * 2) * PERIOD_NS + late(k)));
    assert_eq!(irregular(&script), (10, 30));
    let mut script = Script::new();
    let mut at = 0;
    let mut random = 1u64;
    woken(
        &mut script,
        (0..400).map(|_| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            at += PERIOD_NS + (random >> 42) as i64;
            at
        }),
    );
    assert!(matches!(find_periodic_wait(&script.waits), Err(NoPeriodicWait::Woken { .. })));
    let mut script = Script::new();
    woken(&mut script, (0..200).map(|k| (k + k / 3) * PERIOD_NS + late(k)));
    assert_eq!(irregular(&script), (9, 20));
}

#[test]
fn a_thread_that_is_woken_misses_nothing() {
    // Now and then nobody wakes it for 300 periods.
    let mut script = Script::new();
    woken(&mut script, (0..400).map(|k| (k + k / 50 * 300) * PERIOD_NS + late(k)));
    let rows = script.activations();
    assert!((script.found().period_ns - 1e6).abs() < 100.0, "{:?}", script.found());
    assert!(rows.iter().all(|row| row.missed == 0 && row.latency_ns() < 500_000), "{rows:?}");

    // Its waker is late by 2.6 periods every 20, and catches up.
    let mut script = Script::new();
    let waker =
        |k: i64| if k % 20 > 16 { k.max(k / 20 * 20 + 19) * PERIOD_NS + 600_000 } else { k * PERIOD_NS };
    woken(&mut script, (0..400).map(waker));
    let found = script.found();
    assert!(found.is_woken && (found.period_ns - 1e6).abs() < 100.0, "{found:?}");
    let rows = script.activations();
    assert!(rows.iter().all(|row| row.missed == 0), "{rows:?}");
    assert!(rows.windows(2).all(|pair| pair[1].index == pair[0].index + 1), "{rows:?}");
    let worst = rows.iter().map(Activation::latency_ns).max().unwrap();
    assert!((2_590_000..2_620_000).contains(&worst), "{worst}");

    // Another period ends it.
    let mut script = Script::new();
    woken(&mut script, (0..200).map(|k| 2 * k * PERIOD_NS));
    let mut follower = LoopFollower::new(script.found());
    woken(&mut script, (1..200).map(|k| (400 + 5 * k) * PERIOD_NS));
    let rows: Vec<Activation> = script.waits.iter().filter_map(|wait| follower.process_wait(wait)).collect();
    assert!(follower.has_changed() && (195..215).contains(&rows.len()), "{}", rows.len());
    assert_eq!(rows.iter().map(|row| row.missed).sum::<u32>(), 0);
}

#[test]
fn any_call_can_sleep_for_a_length_of_time() {
    for (call, absolute) in [(Call::Poll, 0), (Call::Futex, 0), (Call::Read, 0), (Call::ClockNanosleep, 1)] {
        let mut script = Script::new();
        let mut at = PERIOD_NS;
        for k in 0..400i64 {
            let due = at + 5 * PERIOD_NS + 700 + k % 7 * 100;
            script.call(at, call, [1, absolute, 0]);
            script.timer(at + 500, 1, "hrtimer_wakeup", due);
            script.sleep(at + 1_000, due + 2_000, Some(HandlerKind::Timer));
            script.back(due + 5_000);
            // Work that varies, with an overrun of 8 ms in each tenth.
            at = due + 5_000 + k * 7_919 % 3_000_000 + if k % 10 == 0 { 8_000_000 } else { 0 };
        }
        let found = script.found();
        assert_eq!(
            (found.waits, found.due),
            (WaitKind::NanosleepRelative, DueTimeSource::OwnTimer),
            "{call:?}"
        );
        let rows = script.activations();
        assert!(rows.iter().all(|row| row.missed == 0 && row.latency_ns() == 5_000), "{rows:?}");
        assert_eq!(script.overrun(), Known::Exactly(Overrun::RePhase));
    }
}

#[test]
fn a_rare_sleep_in_the_work_is_not_the_loop() {
    let mut script = Script::new();
    let mut at = PERIOD_NS;
    for k in 0..480i64 {
        let mut sleep = |script: &mut Script, call, length| {
            let due = at + length + k % 7 * 100;
            script.call(at, call, [1, 1, 0]);
            script.timer(at + 500, 1, "hrtimer_wakeup", due);
            script.sleep(at + 1_000, due + 2_000, Some(HandlerKind::Timer));
            script.back(due + 5_000);
            at = due + 100_000 + k * 7_919 % 50_000;
        };
        sleep(&mut script, Call::Poll, 5 * PERIOD_NS);
        if k % 10 == 0 {
            sleep(&mut script, Call::ClockNanosleep, 8 * PERIOD_NS);
        }
    }
    let found = script.found();
    assert_eq!((found.key.call, found.waits), (Call::Poll, WaitKind::NanosleepRelative));
    assert!((found.period_ns - 5.13e6).abs() < 1e5, "{found:?}");
}

#[test]
fn starts_around_a_step_of_their_clock_are_not_late_for_it() {
    let mut script = Script::new();
    let mut offset = MONOTONIC_LESS_REALTIME;
    for k in 1..100i64 {
        let due = k * PERIOD_NS;
        script.call(due - 900_000, Call::ClockNanosleep, [0, 1, 0]);
        script.timer(due - 899_000, 1, "hrtimer_wakeup", due - offset);
        if k == 50 {
            // Set by 3 ms, between two readings.
            offset -= 3 * PERIOD_NS;
            script.system.note_clock_reading(offset, due - 950_000, due + 500_000, true);
        }
        script.sleep(due - 898_000, due + 2_000, Some(HandlerKind::Timer));
        script.back(due + 5_000);
    }
    assert_eq!(script.system.clock_steps(), (1, 3 * PERIOD_NS));
    let rows = script.activations();
    assert!(rows.iter().all(|row| row.latency_ns() == 5_000 && row.missed == 0), "{rows:?}");
    let mut follower = LoopFollower::new(script.found());
    let known = script.waits.iter().filter_map(|wait| follower.process_wait(wait)).count();
    assert_eq!(
        (known, follower.unknown),
        (96, 2),
        "the wait that it was set in, and one that began before the reading"
    );
}

#[test]
fn a_wait_that_a_tracer_stops_on_its_return_ends_after_the_stop() {
    let mut script = Script::new();
    let due = 10 * PERIOD_NS;
    script.call(PERIOD_NS, Call::ClockNanosleep, [1, 1, 0]);
    script.timer(PERIOD_NS + 10, 1, "hrtimer_wakeup", due);
    script.sleep(PERIOD_NS + 20, due, Some(HandlerKind::Timer));
    script.send(due + 2_000, THREAD, false, EventKind::SyscallExit { return_value: 0 });
    script.leave(due + 4_000, PrevState::Traced);
    script.come(due + 300_000);
    // Before its next call, it is stopped again.
    script.leave(due + 310_000, PrevState::Traced);
    script.come(due + 500_000);
    let [wait] = script.waits[..] else { panic!("{:?}", script.waits) };
    assert_eq!((wait.ended_ns, wait.due_ns), (due + 300_000, Some(due)));
}

/// A thread that asks for times at these distances, working for so long.
fn asking(script: &mut Script, distances: impl Iterator<Item = i64>, works_ns: i64, relative: bool) {
    let mut due = script.waits.last().and_then(|wait| wait.due_ns).unwrap_or(PERIOD_NS);
    for distance in distances {
        let called = due + 5_000 + works_ns;
        due = if relative { called + distance } else { due + distance };
        script.call(called, Call::ClockNanosleep, [1, u64::from(!relative), 0]);
        script.timer(called + 500, 1, "hrtimer_wakeup", due);
        script.sleep(called + 1_000, due + 2_000, Some(HandlerKind::Timer));
        script.back(due + 5_000);
    }
}

#[test]
fn times_that_nobody_asked_for_are_not_missed() {
    // By turns.
    let mut script = Script::new();
    asking(&mut script, (0..200).map(|k| if k % 2 == 0 { PERIOD_NS } else { 3 * PERIOD_NS }), 100_000, false);
    let several = NoPeriodicWait::Several { shortest_ns: PERIOD_NS, longest_ns: 3 * PERIOD_NS };
    assert_eq!(find_periodic_wait(&script.waits), Err(several));

    // A period that changes.
    let mut script = Script::new();
    asking(&mut script, [2 * PERIOD_NS; 200].into_iter(), 100_000, false);
    let mut follower = LoopFollower::new(script.found());
    asking(&mut script, [5 * PERIOD_NS; 200].into_iter(), 100_000, false);
    let rows: Vec<Activation> = script.waits.iter().filter_map(|wait| follower.process_wait(wait)).collect();
    assert!(follower.has_changed() && (199..210).contains(&rows.len()), "{}", rows.len());
    assert_eq!(rows.iter().map(|row| row.missed).sum::<u32>(), 0);

    // Lengths of time behind work that varies.
    let mut script = Script::new();
    for k in 0..200 {
        asking(&mut script, std::iter::once(2 * PERIOD_NS), 300_000 + k * 7_919 % 500_000, true);
    }
    let rows = script.activations();
    assert!(rows.iter().all(|row| row.missed == 0 && row.latency_ns() == 5_000), "{rows:?}");
    assert_eq!(script.overrun(), Known::Exactly(Overrun::RePhase));
    assert!(rows.windows(2).all(|pair| pair[1].index == pair[0].index + 1));
}
