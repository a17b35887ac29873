//! Synthetic events of known cause, and arbitrary events: the parts add up to the latency.

mod own_work;
mod states;
mod waits;

use jitterlab_model::causes::{
    Cause, CauseClass as Class, Certainty, Evidence, LatencyPart, TaskCauses, Tracer,
};
use jitterlab_model::{Activation, Flags};
use proptest::prelude::*;

use super::*;

const TASK: i32 = 7;
const OTHER: i32 = 9;
const HOG: i32 = 11;
const CPU: u16 = 1;
const PERIOD_NS: i64 = 1_000_000;

const TOLD: Machine =
    Machine { platform: Platform::StealTimeHypervisor, handler_time_apart: false, limits: Limits::Either };
const BARE: Machine =
    Machine { platform: Platform::Hardware, handler_time_apart: true, limits: Limits::Either };
const COUNTED: Machine = Machine {
    platform: Platform::VirtualTime { ns_per_instruction: 1 },
    handler_time_apart: true,
    limits: Limits::Either,
};

/// A processor on which the task runs every millisecond, next to a thread that never stops.
struct Scene {
    explainer: Explainer,
    k: u64,
    /// Time up to which processor time has been accounted, in ns.
    counted_ns: i64,
    /// Time in ns still to be left out of the accounting.
    missing: i64,
    /// True if the task has set its timer and is not asleep yet.
    sets: bool,
    /// The task's priority in kernel numbering.
    priority: i16,
}

/// Deviations of one activation from the usual scene.
#[derive(Default)]
struct Twist<'a> {
    /// Events from the due time on, before the timer interrupt.
    before: &'a [(i64, i32, EventKind)],
    /// Time of the timer interrupt, instead of 10 us.
    interrupt_at: Option<i64>,
    /// Functions that it interrupts.
    found: &'a [&'a str],
    /// Events from the timer interrupt on, after its end.
    ready: &'a [(i64, i32, EventKind)],
    /// Time from the interrupt to the switch, instead of 3 us.
    switch_after: Option<i64>,
    /// Time since the wake-up that is not accounted, in ns.
    missing: i64,
    /// Time until the tracer has recorded the interrupted functions, instead of 0.8 us.
    noted_after: Option<i64>,
    /// Time from the switch to the first instruction, instead of 2 us.
    start_after: Option<i64>,
    /// Events from the switch on.
    running: &'a [(i64, i32, EventKind)],
    flags: Flags,
    /// True if it is not asleep before the next timer interrupt comes.
    next_sets: bool,
}

impl Scene {
    fn new() -> Self {
        Self::on(TOLD)
    }

    fn on(machine: Machine) -> Self {
        Self::of_priority(machine, 19)
    }

    fn of_priority(machine: Machine, priority: i16) -> Self {
        let explainer = Explainer::new(&[TASK], NameTable::default(), machine);
        let mut scene = Scene { explainer, k: 0, counted_ns: -3_000, missing: 0, sets: false, priority };
        let task = scene.switch(OTHER, TASK);
        scene.send(-3_000, OTHER, task);
        scene.sleep(-2_000, 0);
        (0..300).for_each(|_| scene.activation(&Twist::default()));
        scene
    }

    fn name(&mut self, name: &str) -> NameId {
        self.explainer.names().intern(name)
    }

    fn handler(&mut self, kind: HandlerKind, name: &str) -> Handler {
        Handler { kind, number: 3, name: self.name(name) }
    }

    /// From one thread, which waits if it is the task, to another.
    fn switch(&mut self, from: i32, to: i32) -> EventKind {
        let named = |pid| match pid {
            TASK => ("task", self.priority),
            HOG => ("hog", 0),
            0 => ("swapper", 120),
            _ => ("other", 120),
        };
        let ((from_name, from_priority), (name, priority)) = (named(from), named(to));
        let prev_state = if from == TASK { PrevState::Sleeps } else { PrevState::Ready };
        let (from_name, name) = (self.name(from_name), self.name(name));
        EventKind::Switch { from, from_name, from_priority, prev_state, to, name, priority }
    }

    fn due(&self) -> i64 {
        self.k as i64 * PERIOD_NS
    }

    fn send(&mut self, at: i64, pid: i32, what: EventKind) {
        let in_interrupt = matches!(what, EventKind::Waking { .. } | EventKind::TimerExpire { .. });
        self.send_in(at, pid, in_interrupt, what);
    }

    fn send_in(&mut self, at: i64, pid: i32, in_interrupt: bool, what: EventKind) {
        let t_ns = self.due() + at;
        self.explainer.process_event(&Event {
            t_ns,
            cpu: CPU,
            pid,
            in_interrupt,
            interrupts_off: true,
            what,
        });
    }

    /// The task waits for the next due time, and the other thread runs.
    fn sleep(&mut self, at: i64, next: i64) {
        let (function, soft_ns) = (self.name("hrtimer_wakeup"), self.due() + next);
        self.send(at, TASK, EventKind::TimerStart { timer: 1, function, soft_ns, hard_ns: soft_ns });
        if self.sets {
            return;
        }
        let ns = self.due() + at + 700 - self.counted_ns - std::mem::take(&mut self.missing);
        self.send(at + 700, TASK, EventKind::RuntimeAccounted { pid: TASK, ns });
        let other = self.switch(TASK, OTHER);
        self.send(at + 800, TASK, other);
        self.counted_ns = self.due() + at + 800;
    }

    fn activation(&mut self, twist: &Twist<'_>) {
        let mut running = if self.sets { TASK } else { OTHER };
        for (at, pid, what) in twist.before {
            self.send(*at, *pid, what.clone());
            if let EventKind::Switch { to, .. } = what {
                running = *to;
            }
        }
        let interrupt = twist.interrupt_at.unwrap_or(10_000);
        let timer = self.handler(HandlerKind::Timer, "local_timer");
        let function = self.name("hrtimer_wakeup");
        let found: Box<[NameId]> = twist.found.iter().map(|name| self.name(name)).collect();
        self.send(interrupt, running, EventKind::HandlerEnter(timer));
        self.send(interrupt + twist.noted_after.unwrap_or(800), running, EventKind::InterruptedStack(found));
        let interrupt = interrupt + twist.noted_after.map_or(0, |ns| ns - 800);
        self.send(interrupt + 1_000, running, EventKind::TimerExpire { timer: 1, function });
        self.send(interrupt + 1_300, running, EventKind::Waking { pid: TASK, cpu: CPU });
        self.send(interrupt + 1_500, running, EventKind::TimerExpireEnd);
        self.send(interrupt + 2_000, running, EventKind::HandlerExit(timer));
        for (at, pid, what) in twist.ready {
            self.send(interrupt + at, *pid, what.clone());
            if let EventKind::Switch { to, .. } = what {
                running = *to;
            }
        }
        let switch = interrupt + twist.switch_after.unwrap_or(3_000);
        if running == OTHER {
            // The kernel reads the clock when it wakes the task, and not again when it switches.
            let woken = self.due() + interrupt + 1_300;
            let ns = woken - std::mem::replace(&mut self.counted_ns, woken);
            self.send(switch - 200, OTHER, EventKind::RuntimeAccounted { pid: OTHER, ns });
            self.missing = twist.missing;
        }
        if !std::mem::take(&mut self.sets) {
            let task = self.switch(running, TASK);
            self.send(switch, running, task);
        }
        self.sets = twist.next_sets;
        for (at, pid, what) in twist.running {
            self.send(switch + at, *pid, what.clone());
        }
        let start = switch + twist.start_after.unwrap_or(2_000);
        let (due_ns, index) = (self.due(), self.k);
        let (start_ns, end_ns) = (due_ns + start, due_ns + start + 100);
        let activation =
            Activation { index, due_ns, start_ns, end_ns, missed: 0, cpu: CPU, flags: twist.flags };
        self.explainer.queue_activations(0, &[activation]);
        self.sleep(start + 2_000, PERIOD_NS);
        self.k += 1;
    }

    /// With some ordinary activations behind, so that all is settled.
    fn causes(mut self) -> TaskCauses {
        (0..30).for_each(|_| self.activation(&Twist::default()));
        let causes = self.explainer.finish(Tracer::default()).tasks.remove(0);
        assert_adds_up(&causes);
        causes
    }
}

fn assert_adds_up(causes: &TaskCauses) {
    for late in &causes.worst_starts {
        let mut at = 0;
        for part in &late.parts {
            assert_eq!(part.at_ns, at, "{late:?}");
            assert!(part.ns > 0, "{late:?}");
            at += part.ns;
        }
        assert_eq!(at, late.latency_ns, "{late:?}");
    }
    let of_causes: i64 = causes.causes.iter().map(|sum| sum.sum_ns).sum();
    assert_eq!(of_causes, causes.lateness_ns);
}

/// Returns the only cause of the latest activation beyond the usual way, and its length.
fn one(causes: &TaskCauses) -> (Class, Option<&str>, Option<&str>, Evidence, i64) {
    let parts = causes.worst_starts[0].parts.iter().map(|part| (&causes.causes[part.cause].cause, part));
    let unusual: Vec<(&Cause, &LatencyPart)> =
        parts.filter(|(cause, _)| !matches!(cause.class, Class::TypicalWakeUp | Class::Tracer)).collect();
    let [(cause, part)] = unusual[..] else { panic!("not one cause: {unusual:#?}") };
    let function = part.function.map(|function| &*causes.names[function]);
    (cause.class, cause.who.as_deref(), function, part.evidence, part.ns)
}

#[test]
fn ordinary_activations_are_usual_and_the_tracer_is_named() {
    let causes = Scene::new().causes();
    assert_eq!((causes.explained, causes.gaps, causes.max_ns), (330, 0, 15_000));
    let classes: Vec<_> = causes.causes.iter().map(|sum| (sum.cause.class, sum.max_ns)).collect();
    assert_eq!(classes, [(Class::TypicalWakeUp, 14_200), (Class::Tracer, 800)]);
    let medians: Vec<_> =
        causes.typical_steps.iter().map(|usual| (usual.step, usual.median_ns / 100)).collect();
    use jitterlab_model::causes::Step;
    assert_eq!(
        medians,
        [
            (Step::Timer, 100),
            (Step::Interrupt, 5),
            (Step::InterruptEnd, 7),
            (Step::Switch, 10),
            (Step::Return, 20),
            (Step::StackRecording, 8)
        ]
    );
}

#[test]
fn paths_name_what_had_the_processor_before_and_after_the_due_time() {
    use jitterlab_model::causes::PathStep;
    let mut scene = Scene::new();
    let tick = scene.name("tick_nohz_handler");
    let timer = scene.handler(HandlerKind::Timer, "local_timer");
    let early = [
        (-200_000, OTHER, EventKind::HandlerEnter(timer)),
        (-199_500, OTHER, EventKind::TimerExpire { timer: 50, function: tick }),
        (-199_100, OTHER, EventKind::TimerExpireEnd),
        (-199_000, OTHER, EventKind::HandlerExit(timer)),
    ];
    (0..5).for_each(|_| scene.activation(&Twist { before: &early, ..Twist::default() }));
    let causes = scene.causes();
    let usual = [
        PathStep::Thread("other".into()),
        PathStep::Interrupt("local_timer".into()),
        PathStep::Timer("hrtimer_wakeup".into()),
    ];
    let [most, after_a_tick] = &causes.paths[..] else { panic!("{:#?}", causes.paths) };
    assert_eq!((&most.steps[..], most.latencies.count()), (&usual[..], 330));
    assert_eq!(after_a_tick.steps[..2], [PathStep::Timer("tick_nohz_handler".into()), PathStep::Due]);
    assert_eq!((&after_a_tick.steps[2..], after_a_tick.latencies.count()), (&usual[..], 5));
}

#[test]
fn interrupts_off_are_known_by_the_function_that_lets_them_in() {
    let mut scene = Scene::new();
    let found = &["_raw_spin_unlock_irqrestore", "do_nanosleep", "hrtimer_nanosleep"];
    scene.activation(&Twist { interrupt_at: Some(310_000), found, ..Twist::default() });
    let causes = scene.causes();
    let (class, who, function, evidence, ns) = one(&causes);
    assert_eq!((class, who, function), (Class::InterruptsOff, Some("other"), Some("do_nanosleep")));
    assert_eq!(evidence, Evidence::LetIn);
    assert!((299_900..=300_000).contains(&ns), "the usual 10 us are taken off: {ns}");
}

#[test]
fn a_program_cannot_hold_the_timer_interrupt() {
    let mut scene = Scene::on(BARE);
    scene.activation(&Twist { interrupt_at: Some(310_000), ..Twist::default() });
    let causes = scene.causes();
    assert_eq!(one(&causes).0, Class::Outside);
    assert_eq!(one(&causes).3, Evidence::UserMode);
    // A function of the kernel may have enabled interrupts itself, or the layer below the kernel held the processor.
    for (machine, class, evidence) in [
        (TOLD, Class::LateInterrupt, Evidence::Interruptible),
        (BARE, Class::LateInterrupt, Evidence::Interruptible),
        (COUNTED, Class::InterruptsOff, Evidence::KernelMode),
    ] {
        let mut scene = Scene::on(machine);
        let found = &["console_emit_next_record", "console_unlock"];
        scene.activation(&Twist { interrupt_at: Some(310_000), found, ..Twist::default() });
        let causes = scene.causes();
        let (is, _, function, shown, _) = one(&causes);
        assert_eq!((is, function, shown), (class, Some("console_emit_next_record"), evidence));
    }
}

#[test]
fn the_tracer_is_not_blamed_for_what_held_it() {
    for (machine, is_outside) in [(BARE, true), (COUNTED, false)] {
        let mut scene = Scene::on(machine);
        scene.activation(&Twist { noted_after: Some(677_000), ..Twist::default() });
        let causes = scene.causes();
        let held = if is_outside { Class::Outside } else { Class::Tracer };
        let sum = causes.causes.iter().find(|sum| sum.cause.class == held).unwrap();
        assert!((676_000..=677_000).contains(&sum.max_ns), "{sum:?}");
    }
}

#[test]
fn a_timer_that_takes_so_long_was_held_by_a_hypervisor() {
    for (machine, class) in [(TOLD, Class::Outside), (BARE, Class::OtherTimer)] {
        let mut scene = Scene::on(machine);
        let function = scene.name("tick_nohz_handler");
        let before = [
            (1_000, OTHER, EventKind::TimerExpire { timer: 2, function }),
            (801_000, OTHER, EventKind::TimerExpireEnd),
        ];
        scene.activation(&Twist { before: &before, interrupt_at: Some(802_000), ..Twist::default() });
        assert_eq!(one(&scene.causes()).0, class);
    }
}

#[test]
fn nothing_is_outside_in_virtual_time() {
    for twist in [
        Twist { interrupt_at: Some(310_000), ..Twist::default() },
        Twist { switch_after: Some(300_000), ..Twist::default() },
    ] {
        let mut scene = Scene::on(COUNTED);
        scene.activation(&twist);
        let causes = scene.causes();
        let (class, _, _, evidence, _) = one(&causes);
        assert!(class != Class::Outside && evidence == Evidence::None, "{causes:?}");
    }
}

#[test]
fn stolen_time_is_proven_whatever_ran() {
    let mut scene = Scene::new();
    let twist =
        Twist { switch_after: Some(500_000), missing: 480_000, found: &["shrink_node"], ..Twist::default() };
    scene.activation(&twist);
    let causes = scene.causes();
    let outside = causes.causes.iter().find(|sum| sum.cause.class == Class::Outside).unwrap();
    assert!(outside.max_ns > 470_000 && outside.proven_ns == outside.sum_ns, "{outside:?}");
    let not_preemptible = causes.causes.iter().find(|sum| sum.cause.class == Class::NotPreemptible);
    assert!(not_preemptible.is_none_or(|sum| sum.max_ns < 30_000), "{not_preemptible:?}");
}

#[test]
fn what_the_kernel_does_before_it_switches_is_not_stolen() {
    for (machine, missing) in [(TOLD, 0), (COUNTED, 480_000)] {
        let mut scene = Scene::on(machine);
        let found = &["shrink_node"];
        scene.activation(&Twist { switch_after: Some(500_000), missing, found, ..Twist::default() });
        let causes = scene.causes();
        let (class, who, _, evidence, ns) = one(&causes);
        assert_eq!((class, who, evidence), (Class::NotPreemptible, Some("other"), Evidence::KernelMode));
        assert!(ns > 490_000, "{ns}");
    }
}

#[test]
fn a_hypervisor_that_tells_nothing_makes_nothing_proven_but_itself() {
    let mut scene = Scene::on(Machine {
        platform: Platform::Hypervisor,
        handler_time_apart: true,
        limits: Limits::Either,
    });
    let disk = scene.handler(HandlerKind::Device, "24 disk");
    let before =
        [(1_000, OTHER, EventKind::HandlerEnter(disk)), (51_000, OTHER, EventKind::HandlerExit(disk))];
    scene.activation(&Twist { before: &before, interrupt_at: Some(60_000), ..Twist::default() });
    assert_eq!(one(&scene.causes()).3, Evidence::EventsOrOutside);
}

#[test]
fn a_thread_that_keeps_the_processor_is_named_by_its_priority() {
    let mut scene = Scene::new();
    let twist = Twist { switch_after: Some(303_000), found: &["shrink_node", "kswapd"], ..Twist::default() };
    scene.activation(&twist);
    let causes = scene.causes();
    let (class, who, function, evidence, _) = one(&causes);
    assert_eq!((class, who, function), (Class::NotPreemptible, Some("other"), Some("shrink_node")));
    assert_eq!(evidence, Evidence::KernelMode);

    let mut scene = Scene::new();
    let (to_hog, from_hog) = (scene.switch(OTHER, HOG), scene.switch(HOG, TASK));
    drop(from_hog);
    scene.activation(&Twist {
        before: &[(2_000, OTHER, to_hog)],
        switch_after: Some(203_000),
        ..Twist::default()
    });
    let causes = scene.causes();
    assert_eq!(
        (one(&causes).0, one(&causes).1, one(&causes).3),
        (Class::Preempted, Some("hog"), Evidence::Events)
    );
}

#[test]
fn the_largest_latencies_of_a_cause_are_kept_where_there_are_many() {
    for (times, kept) in [(300, 0), (400, 400)] {
        let mut scene = Scene::new();
        for _ in 0..times {
            let to_hog = scene.switch(OTHER, HOG);
            scene.activation(&Twist {
                before: &[(2_000, OTHER, to_hog)],
                switch_after: Some(203_000),
                ..Twist::default()
            });
        }
        let causes = scene.causes();
        let hog = causes.causes.iter().find(|sum| sum.cause.class == Class::Preempted).unwrap();
        assert_eq!((hog.times, hog.largest.len()), (times, kept));
        assert!(hog.largest.iter().all(|(_, ns)| (200_000..=causes.max_ns).contains(ns)));
        assert!(hog.largest.windows(2).all(|pair| pair[0].1 >= pair[1].1));
    }
}

#[test]
fn a_lower_thread_that_gets_the_processor_later_shows_a_limit() {
    let mut scene = Scene::new();
    let (idle, other) = (scene.switch(OTHER, 0), scene.switch(0, OTHER));
    let ready = [(3_000, OTHER, idle), (5_000, 0, other)];
    scene.activation(&Twist { ready: &ready, switch_after: Some(403_000), ..Twist::default() });
    let causes = scene.causes();
    let throttled = causes.causes.iter().find(|sum| sum.cause.class == Class::Throttled).unwrap();
    assert_eq!((throttled.cause.who.as_deref(), throttled.max_ns), (None, 400_000));
}

#[test]
fn handlers_are_named_before_and_after_the_wake_up() {
    for after in [false, true] {
        let mut scene = Scene::new();
        let disk = scene.handler(HandlerKind::Device, "24 disk");
        let net = scene.handler(HandlerKind::Softirq, "NET_RX");
        let events = |at: i64| {
            [(at, OTHER, EventKind::HandlerEnter(disk)), (at + 50_000, OTHER, EventKind::HandlerExit(disk))]
        };
        let late = [events(1_000).as_slice(), &[]].concat();
        let ready =
            [(2_100, OTHER, EventKind::HandlerEnter(net)), (90_000, OTHER, EventKind::HandlerExit(net))];
        scene.activation(&match after {
            false => Twist { before: &late, interrupt_at: Some(60_000), ..Twist::default() },
            true => Twist { ready: &ready, switch_after: Some(91_000), ..Twist::default() },
        });
        let causes = scene.causes();
        let (class, who, _, evidence, ns) = one(&causes);
        let expected = if after {
            (Class::Softirq, Some("NET_RX"), 87_900)
        } else {
            (Class::Interrupt, Some("24 disk"), 50_000)
        };
        assert_eq!((class, who, ns, evidence), (expected.0, expected.1, expected.2, Evidence::Events));
    }
}

#[test]
fn a_page_fault_and_a_slow_return_are_told_apart() {
    for faulted in [false, true] {
        let mut scene = Scene::new();
        let fault = [(1_000, TASK, EventKind::PageFault)];
        let running = if faulted { &fault[..] } else { &[] };
        scene.activation(&Twist { running, start_after: Some(80_000), ..Twist::default() });
        let causes = scene.causes();
        assert_eq!(one(&causes).0, if faulted { Class::PageFault } else { Class::SlowReturn });
    }
}

#[test]
fn an_idle_processor_is_undecided() {
    let mut scene = Scene::new();
    let idle = scene.switch(OTHER, 0);
    scene.activation(&Twist {
        before: &[(-500_000, OTHER, idle)],
        interrupt_at: Some(410_000),
        ..Twist::default()
    });
    let causes = scene.causes();
    assert_eq!((one(&causes).0, one(&causes).3), (Class::Idle, Evidence::WasIdle));
}

#[test]
fn a_timer_that_is_set_too_slowly_is_not_the_task_s_work() {
    for (machine, at, class, evidence) in [
        (BARE, 310_000, Class::InterruptsOff, Evidence::LetIn),
        (TOLD, 310_000, Class::TimerInterrupt, Evidence::EventsOrOutside),
        (TOLD, 810_000, Class::Outside, Evidence::TooLong),
    ] {
        let mut scene = Scene::on(machine);
        scene.activation(&Twist { next_sets: true, ..Twist::default() });
        let found = &["_raw_spin_unlock_irqrestore", "hrtimer_start_range_ns", "do_nanosleep"];
        scene.activation(&Twist { interrupt_at: Some(at), found, ..Twist::default() });
        let causes = scene.causes();
        assert_eq!((one(&causes).0, one(&causes).3), (class, evidence), "{:#?}", causes.worst_starts[0]);
    }
}

#[test]
fn lost_events_are_said_and_nothing_is_claimed_of_their_time() {
    let mut scene = Scene::new();
    scene.activation(&Twist {
        before: &[(200_000, OTHER, EventKind::Lost)],
        interrupt_at: Some(310_000),
        ..Twist::default()
    });
    let causes = scene.causes();
    let lost = causes.causes.iter().find(|sum| sum.cause.class == Class::Lost).unwrap();
    assert_eq!((causes.gaps, lost.times, lost.proven_ns + lost.likely_ns), (1, 1, 0));
}

#[test]
fn a_budget_s_next_period_wakes_a_deadline_thread() {
    let mut explainer = Explainer::new(&[TASK], NameTable::default(), BARE);
    let [timer, replenish, task, idle] =
        ["local_timer", "dl_task_timer", "task", "swapper"].map(|name| explainer.names().intern(name));
    let timer = Handler { kind: HandlerKind::Timer, number: 0, name: timer };
    for k in 0..20 {
        let due = k * PERIOD_NS;
        let switch = |(from, from_name, from_priority), (to, name, priority)| {
            let prev_state = PrevState::Ready;
            EventKind::Switch { from, from_name, from_priority, prev_state, to, name, priority }
        };
        let mut send = |at: i64, pid, in_interrupt, what| {
            explainer.process_event(&Event {
                t_ns: due + at,
                cpu: CPU,
                pid,
                in_interrupt,
                interrupts_off: true,
                what,
            });
        };
        send(10_000, 0, false, EventKind::HandlerEnter(timer));
        send(11_000, 0, true, EventKind::TimerExpire { timer: 5, function: replenish });
        send(11_500, 0, true, EventKind::TimerExpireEnd);
        send(12_000, 0, false, EventKind::HandlerExit(timer));
        send(13_000, 0, false, switch((0, idle, 120), (TASK, task, -1)));
        send(
            20_000,
            TASK,
            false,
            EventKind::TimerStart {
                timer: 5,
                function: replenish,
                soft_ns: due + PERIOD_NS,
                hard_ns: due + PERIOD_NS,
            },
        );
        send(21_000, TASK, false, switch((TASK, task, -1), (0, idle, 120)));
        let row = Activation {
            index: k as u64,
            due_ns: due,
            start_ns: due + 15_000,
            end_ns: due + 16_000,
            cpu: CPU,
            ..Activation::default()
        };
        explainer.queue_activations(0, &[row]);
    }
    let causes = explainer.finish(Tracer::default()).tasks.remove(0);
    assert_adds_up(&causes);
    let usual: i64 = causes
        .causes
        .iter()
        .filter(|sum| sum.cause.class == Class::TypicalWakeUp)
        .map(|sum| sum.sum_ns)
        .sum();
    assert_eq!(usual, 19 * 15_000, "but for the first, of which nothing was known: {causes:#?}");
}

fn any_what() -> impl Strategy<Value = (i32, EventKind)> {
    let pid = prop_oneof![Just(0), Just(TASK), Just(OTHER), Just(HOG)];
    let handler = (0u32..3, 0u32..2).prop_map(|(kind, number)| Handler {
        kind: [HandlerKind::Timer, HandlerKind::Device, HandlerKind::Softirq][kind as usize],
        number,
        name: NameId(number),
    });
    let prev_state = prop_oneof![
        Just(PrevState::Ready),
        Just(PrevState::Sleeps),
        Just(PrevState::SleepsDeeply),
        Just(PrevState::Stopped),
        Just(PrevState::Traced)
    ];
    let call = prop_oneof![Just(Call::Futex), any::<bool>().prop_map(|inherits| Call::Lock { inherits })];
    let what = prop_oneof![
        (pid.clone(), pid.clone(), prev_state, 0i16..3).prop_map(|(from, to, prev_state, urgent)| {
            EventKind::Switch {
                from,
                from_name: NameId(1),
                from_priority: [19, -1, 120][urgent as usize],
                prev_state,
                to,
                name: NameId(2),
                priority: 19,
            }
        }),
        pid.clone().prop_map(|pid| EventKind::Waking { pid, cpu: CPU }),
        (pid.clone(), 0u16..3).prop_map(|(pid, to)| EventKind::Migrate { pid, to }),
        (pid.clone(), 0i64..400_000).prop_map(|(pid, ns)| EventKind::RuntimeAccounted { pid, ns }),
        handler.clone().prop_map(EventKind::HandlerEnter),
        handler.prop_map(EventKind::HandlerExit),
        Just(EventKind::TimerExpire { timer: 1, function: NameId(3) }),
        Just(EventKind::TimerExpireEnd),
        Just(EventKind::InterruptedStack(Box::default())),
        Just(EventKind::PageFault),
        call.prop_map(|call| EventKind::SyscallEnter { call, number: 202, arguments: [0; 3] }),
        Just(EventKind::SyscallExit { return_value: 0 }),
        pid.clone().prop_map(|to| EventKind::LendPriority { to, name: NameId(2) }),
        (17i32..23, pid.clone()).prop_map(|(number, to)| EventKind::Signal { number, to, name: NameId(2) }),
        any::<bool>().prop_map(|on| EventKind::Freeze { group: NameId(0), on }),
        Just(EventKind::Lost),
        Just(EventKind::CallsLost { from_ns: 0 }),
        (-50_000i64..50_000).prop_map(|soft_ns| EventKind::TimerStart {
            timer: 1,
            function: NameId(3),
            soft_ns,
            hard_ns: soft_ns + 50_000
        }),
    ];
    (pid, what)
}

proptest! {
    #[test]
    fn parts_add_up_whatever_the_events_are(
        events in prop::collection::vec((0i64..90_000, 0u16..3, any::<bool>(), any_what()), 0..200),
        rows in prop::collection::vec((0i64..300_000, 0i64..50_000, 0u16..4), 1..20),
        cut in 0usize..200,
    ) {
        let mut explainer = Explainer::new(&[TASK], NameTable::default(), TOLD);
        let mut t_ns = 0;
        let mut cut = Some(cut);
        let rows: Vec<Activation> = rows.iter().enumerate().map(|(k, (late, work, cpu))| {
            let due_ns = k as i64 * PERIOD_NS / 2;
            let start_ns = due_ns + late;
            Activation { index: k as u64, due_ns, start_ns, end_ns: start_ns + work, cpu: *cpu, ..Activation::default() }
        }).collect();
        for (number, (after, cpu, in_interrupt, (pid, what))) in events.into_iter().enumerate() {
            if cut.is_some_and(|cut| cut == number) {
                explainer.queue_activations(0, &rows[..rows.len() / 2]);
                explainer.advance(t_ns);
                cut = None;
            }
            t_ns += after;
            explainer.process_event(&Event { t_ns, cpu, pid, in_interrupt, interrupts_off: true, what });
        }
        explainer.queue_activations(0, if cut.is_some() { &rows } else { &rows[rows.len() / 2..] });
        let causes = explainer.finish(Tracer::default()).tasks.remove(0);
        prop_assert_eq!(causes.explained, rows.len() as u64);
        assert_adds_up(&causes);
    }
}
