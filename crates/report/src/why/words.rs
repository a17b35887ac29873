//! Causes, evidence and remedies in words.

use jitterlab_model::causes::{Cause, CauseClass as Class, Certainty, Evidence, PathStep, Step};
use jitterlab_model::facts::Preemption;
use jitterlab_model::{Bench, RunInfo, SystemFacts};

/// A cause as a table names it.
pub fn cause(cause: &Cause) -> String {
    let who = cause.who.as_deref();
    let named = |before: &str, without: &str| match who {
        Some(who) if is_measurement(who) => format!("{before}{who} (a measurement)"),
        Some(who) => format!("{before}{who}"),
        None => without.to_owned(),
    };
    match cause.class {
        Class::Usual => "the usual way".into(),
        Class::Tracer => "jitterlab's own tracing".into(),
        Class::OwnWork => "the task's own work".into(),
        Class::WorkOrOutside => "its own work, or something outside this kernel".into(),
        Class::AskedLate => "a wake-up asked for too late".into(),
        Class::TimerSlack => "timer slack".into(),
        Class::Outside => "outside this kernel".into(),
        Class::Idle => "leaving idle".into(),
        Class::LateInterrupt => "a late timer interrupt".into(),
        Class::InterruptsOff => format!("interrupts off{}", by(who)),
        Class::Interrupt => named("interrupt ", "an interrupt"),
        Class::Vector => named("interrupt ", "an interrupt"),
        Class::Softirq => named("softirq ", "a softirq"),
        Class::OtherTimer => named("timer ", "another timer"),
        Class::TimerInterrupt => "the timer interrupt itself".into(),
        Class::Preempted => named("more urgent thread ", "a more urgent thread"),
        Class::Shared => named("thread ", "another thread"),
        Class::NotPreemptible => format!("{} in the kernel", named("thread ", "a thread")),
        Class::Throttled => "the limit on real-time computing".into(),
        Class::FairServer => "the fair server, which runs ordinary threads".into(),
        Class::Budget => "its SCHED_DEADLINE budget used up".into(),
        Class::Quota => "the CPU quota of its control group".into(),
        Class::Stopped => format!("stopped by a signal{}", from(who)),
        Class::Traced => format!("stopped by a tracer{}", from(who)),
        Class::Frozen => format!("frozen{}", by(who)),
        Class::Lock => named("waiting for a lock of ", "waiting for a lock"),
        Class::LockInheriting => {
            format!("{} (priority inheritance)", named("waiting for a lock of ", "waiting for a lock"))
        }
        Class::Inversion => format!("priority inversion{}", by(who)),
        Class::Mixed => "many short parts".into(),
        Class::Migration => "a move to this CPU".into(),
        Class::PageFault => "a page fault".into(),
        Class::Blocked => match who.and_then(brings) {
            Some(what) => format!("waiting for {what}"),
            None => named("waiting for ", "waiting for something else"),
        },
        Class::SlowReturn => "slow to begin on its CPU".into(),
        Class::Lost => "unknown, events are missing".into(),
        _ => "a cause that this release does not know".into(),
    }
}

/// A path to the first instruction.
pub fn path(steps: &[PathStep]) -> String {
    let step = |step: &PathStep| match step {
        PathStep::Idle(None) => "idle".into(),
        PathStep::Idle(Some(state)) => format!("idle state {state}"),
        PathStep::Thread(name) => format!("thread {name}"),
        PathStep::Task => "the task itself".into(),
        PathStep::Interrupt(name) => format!("interrupt {name}"),
        PathStep::Timer(function) => format!("timer {function}"),
        PathStep::Softirq(name) => format!("softirq {name}"),
        PathStep::Due => "due".into(),
    };
    let named = |steps: &[PathStep]| steps.iter().map(step).collect::<Vec<_>>().join(", ");
    match steps.iter().position(|step| *step == PathStep::Due) {
        _ if steps.is_empty() => "several rare ways".into(),
        Some(due) => format!("after {}: {}", named(&steps[..due]), named(&steps[due + 1..])),
        None => named(steps),
    }
}

/// True for threads of jitterlab's programs.
pub(super) fn is_measurement(who: &str) -> bool {
    who.starts_with("jitterlab") || matches!(who, "journal" | "journal sync" | "status line")
}

/// Softirqs and threads of the kernel bring what was waited for, and hold up nothing.
fn brings(messenger: &str) -> Option<&'static str> {
    match messenger {
        "NET_RX" | "NET_TX" => Some("the network"),
        "TIMER" | "HRTIMER" => Some("a timeout"),
        "BLOCK" | "IRQ_POLL" => Some("a disk"),
        _ if ["kworker", "ksoftirqd", "rcu"].iter().any(|kernel| messenger.starts_with(kernel)) => {
            Some("a device, or work of the kernel")
        }
        // Callbacks of timers, by the kernel's usual names.
        "timerfd_tmrproc" | "posix_timer_fn" | "it_real_fn" | "alarmtimer_fired" => {
            Some("a timer of another thread")
        }
        _ if messenger.contains("timer") && messenger.contains('_') => Some("a timer of a device"),
        _ => None,
    }
}

fn from(who: Option<&str>) -> String {
    who.map_or(String::new(), |who| format!(" ({who})"))
}

fn by(who: Option<&str>) -> String {
    who.map_or(String::new(), |who| format!(" by {who}"))
}

pub(super) fn certainty(certainty: Certainty) -> &'static str {
    match certainty {
        Certainty::Proven => "proven",
        Certainty::Likely => "likely",
        Certainty::Undecided => "undecided",
    }
}

pub fn evidence(evidence: Evidence) -> &'static str {
    match evidence {
        Evidence::Events => "the kernel's own events show it",
        Evidence::EventsOrOutside => {
            "the kernel's own events show it; something outside it may have a part in it"
        }
        Evidence::Stolen => "the hypervisor says that it took this time",
        Evidence::LetIn => "the timer interrupt came in where this function lets interrupts in",
        Evidence::UserMode => "a program ran, and programs cannot hold interrupts off",
        Evidence::Interruptible => "kernel code ran, and nothing shows that it held interrupts off",
        Evidence::TooLong => "what ran takes no such time by itself",
        Evidence::KernelMode => "kernel code ran, and no time was taken outside of the kernel",
        Evidence::KernelModeOrOutside => "kernel code ran; whether time was taken outside is unknown",
        Evidence::WasIdle => "the processor was idle, where the kernel sees nothing",
        Evidence::LateTick => "a timer tick was due meanwhile, and came only afterwards",
        Evidence::Silence => "no event came meanwhile, far longer than it usually works",
        Evidence::UpTo => "events show its begin; this is an upper limit",
        Evidence::Counted => "the kernel counted it about then, and events fit",
        Evidence::LockValue => "it waits at a futex with the value of a lock, which a latch may have, too",
        Evidence::PriorityAtEnd => "its priority was changed meanwhile, and was this at the end",
        _ => "nothing shows more",
    }
}

/// A step of the usual way.
pub fn step(step: Step) -> &'static str {
    match step {
        Step::Timer => "to the timer interrupt",
        Step::Interrupt => "in it",
        Step::InterruptEnd => "to its end",
        Step::Switch => "to the switch",
        Step::Return => "to the first instruction",
        Step::Noting => "for noting what ran",
    }
}

/// Remedy for a cause, as a clause.
pub fn remedy(cause: &Cause, run: &RunInfo) -> String {
    let facts = run.facts_before.as_ref();
    let virtual_machine = facts.and_then(|facts| facts.virtualisation.virtual_machine) == Some(true);
    let real_time = facts.and_then(|facts| facts.kernel.preemption) == Some(Preemption::RealTime);
    let who = cause.who.as_deref().unwrap_or("it");
    let of_host = facts.is_some_and(SystemFacts::is_kernel_of_host);
    let at_boot = |parameters: &str| match of_host {
        true => format!("{parameters} on the kernel's command line, which this machine's host sets"),
        false => format!("{parameters} on the kernel's command line"),
    };
    match cause.class {
        Class::Preempted | Class::Shared | Class::NotPreemptible | Class::InterruptsOff | Class::Blocked
            if cause.who.as_deref().is_some_and(is_measurement) =>
        {
            "it is a measurement that delays it: leave jitterlab a CPU of its own (bind the task to others), or make it fewer events (fewer tasks, --why only where it is needed)".into()
        }
        Class::LateInterrupt if run.bench == Bench::Kernel => {
            "nothing: in virtual time, so much is how the emulator lets interrupts in".into()
        }
        Class::Idle | Class::TimerInterrupt if run.bench == Bench::Kernel => {
            "keep the processor from idling, and other timers off it, to see what they cost (idle=poll, on ARM nohlt; nohz_full=)".into()
        }
        Class::WorkOrOutside if virtual_machine => {
            "watch steal in /proc/stat meanwhile: it grows where the host had the processor (its CPUs are the remedy then); otherwise shorten the work".into()
        }
        Class::WorkOrOutside => {
            "jitterlab check smi tells whether the firmware had the processor; otherwise shorten the work".into()
        }
        Class::Outside | Class::LateInterrupt if virtual_machine => {
            "only the host can help: give this virtual machine CPUs of its own, or measure without one".into()
        }
        Class::Outside | Class::LateInterrupt => {
            "look into the firmware: its power limits; on a PC, system management interrupts (jitterlab check smi) and USB legacy support".into()
        }
        Class::Idle if virtual_machine => {
            "run it again with the CPU kept busy (chrt --idle 0 taskset -c CPU yes > /dev/null): if starts are in time then, it was the host".into()
        }
        Class::Idle => "forbid deep idle states while the task runs: jitterlab run --cpu-dma-latency 0".into(),
        Class::InterruptsOff | Class::NotPreemptible if run.tasks.iter().any(|task| task.spec.name == who) => {
            let is_own = run.tasks.iter().any(|task| task.spec.name == who && task.watched.is_none());
            let fewer = if is_own { "; fewer events delay a measured task less (--why only where it is needed)" } else { "" };
            format!("it is the task's own call of the kernel: look into what makes that slow (jitterlab why --event 1){fewer}")
        }
        Class::InterruptsOff | Class::NotPreemptible if real_time || of_host => {
            format!("keep {who} off this CPU: jitterlab run --isolate, or {}", at_boot("isolcpus="))
        }
        Class::InterruptsOff | Class::NotPreemptible => format!(
            "run a kernel with PREEMPT_RT, which lets go in most places, or keep {who} off this CPU (jitterlab run --isolate)"
        ),
        Class::Interrupt => match who.split_once(' ') {
            Some((number, _)) if is_fixed(facts, number) => format!(
                "move the task off the CPU of this interrupt, which the kernel keeps where it is (cat /proc/irq/{number}/effective_affinity_list)"
            ),
            Some((number, _)) => format!(
                "move this interrupt to another CPU: echo CPU > /proc/irq/{number}/smp_affinity_list"
            ),
            None => "move this interrupt to another CPU: /proc/irq/*/smp_affinity_list".into(),
        },
        Class::Vector => "isolate the CPU, so that others have no reason to interrupt it (jitterlab run --isolate)".into(),
        Class::Softirq => match who {
            "RCU" => format!("let other CPUs do it: {}", at_boot("rcu_nocbs=")),
            "TIMER" | "HRTIMER" | "SCHED" => "keep other threads and timers off this CPU (isolcpus=, nohz_full=)".into(),
            _ => "move the device whose work this is to another CPU (its interrupt's smp_affinity_list)".into(),
        },
        Class::OtherTimer => match who {
            function if function.starts_with("tick_") => {
                format!("stop the tick on this CPU: {}", at_boot("nohz_full="))
            }
            _ => "keep the threads whose timer this is off this CPU".into(),
        },
        Class::TimerInterrupt if virtual_machine => {
            "setting the timer asks the host each time: measure without a virtual machine".into()
        }
        Class::TimerInterrupt => "keep other timers off this CPU (isolcpus=, nohz_full=)".into(),
        Class::Preempted => format!("give the task a higher priority than {who}, or move {who} to another CPU"),
        Class::Shared => format!("give the task a real-time priority above that of {who}, or move {who} to another CPU"),
        Class::Throttled => {
            "lift the limit on real-time computing: sysctl kernel.sched_rt_runtime_us=-1, or compute less".into()
        }
        Class::FairServer => {
            "compute less, or give it no time: echo 0 > /sys/kernel/debug/sched/fair_server/cpuN/runtime".into()
        }
        Class::Budget => "raise its runtime above the longest work, or shorten the work".into(),
        Class::Quota => "raise or lift the quota: cpu.max (version 1: cpu.cfs_quota_us), CPUQuota= of systemd, --cpus of docker".into(),
        Class::Stopped => format!("find out why {who} stops it (SIGSTOP, SIGTSTP)"),
        Class::Traced => format!("do not trace it while it matters: end {who}"),
        Class::Frozen => "do not freeze its control group, or suspend the system, while it matters".into(),
        Class::Lock => format!(
            "give the lock priority inheritance (PTHREAD_PRIO_INHERIT), and let {who} hold it for shorter"
        ),
        Class::Inversion => "give the lock priority inheritance (PTHREAD_PRIO_INHERIT)".into(),
        Class::LockInheriting => format!("let {who} hold the lock for shorter, or hand data over without one"),
        Class::Mixed => "jitterlab why --details lists every cause".into(),
        Class::Migration => "bind the task to one CPU".into(),
        Class::PageFault => "lock the program's memory and touch it before it matters (mlockall)".into(),
        Class::Blocked if brings(who).is_some() => {
            "do not wait for it in the loop: let another thread do it, behind a queue".into()
        }
        Class::Blocked => format!("keep {who} from holding up the task: priority inheritance, shorter locked parts"),
        Class::OwnWork => "shorten the work, or lengthen the period".into(),
        Class::AskedLate => "wait for absolute times (clock_nanosleep with TIMER_ABSTIME)".into(),
        Class::TimerSlack => "give the task a real-time priority, or set its timer slack to 1 ns (prctl)".into(),
        Class::SlowReturn => {
            "its clock frequency, its caches or a host decide: set the performance governor and compare".into()
        }
        Class::Lost => "repeat it with fewer other things on this CPU".into(),
        _ => "nothing: it is the way of a wake-up on this machine".into(),
    }
}

/// True if the kernel keeps an interrupt where it is.
fn is_fixed(facts: Option<&SystemFacts>, number: &str) -> bool {
    let lines = facts.into_iter().flat_map(|facts| &facts.interrupts.lines);
    lines.into_iter().any(|line| line.id == number && line.fixed)
}

/// Due time as the time of day, for comparison with system logs; as seconds since the first due time if the
/// run has no time of day.
pub(super) fn when(due_ns: i64, first_due_ns: i64, run: &RunInfo) -> String {
    const MS: i64 = 1_000_000;
    match run.epoch_offset_ns {
        Some(offset_ns) => {
            let ms = due_ns.saturating_add(offset_ns).div_euclid(MS).rem_euclid(86_400_000);
            let (s, ms) = (ms / 1_000, ms % 1_000);
            format!("{:02}:{:02}:{:02}.{ms:03}", s / 3_600, s / 60 % 60, s % 60)
        }
        None => format!("{:.3} s", (due_ns - first_due_ns) as f64 / 1e9),
    }
}
