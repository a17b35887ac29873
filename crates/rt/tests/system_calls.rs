//! The measured path makes no system call but the wait: each way to wait runs in a process of its own where the
//! kernel kills whoever makes another one (seccomp), once as a loop is by default and once as the bench runs a task:
//! on a thread of its own, in real time where that is permitted, guarded, and out of restartable sequences.

#![expect(unsafe_code, reason = "installing a system call filter is a C call")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure here is a failed test")]

use std::env;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode};

use jitterlab_model::{Policy, ReadClock, TaskSpec, WakeMethod};
use jitterlab_rt::fitted::{FittedClock, processor_counter};
use jitterlab_rt::{Linux, OwnWork, PeriodicLoop, System, TaskThread, ThreadOptions, record};

/// Each way with the only calls it may make.
const WAYS: &[(&str, &[libc::c_long])] = &[
    ("wake=nanosleep", &[libc::SYS_clock_nanosleep]),
    ("wake=nanosleep,read=tsc", &[libc::SYS_clock_nanosleep]),
    ("wake=nanosleep-relative", &[libc::SYS_clock_nanosleep]),
    ("wake=nanosleep,clock=realtime", &[libc::SYS_clock_nanosleep]),
    ("wake=timerfd", &[libc::SYS_timerfd_settime, libc::SYS_read]),
    ("wake=timer-signal", &[libc::SYS_timer_settime, libc::SYS_rt_sigtimedwait]),
    ("wake=deadline,policy=deadline:300us", &[libc::SYS_sched_yield, libc::SYS_clock_nanosleep]),
    ("wake=spin", &[]),
    ("compensate=margin:100us", &[libc::SYS_clock_nanosleep]),
    ("compensate=adaptive:0.1", &[libc::SYS_clock_nanosleep]),
    ("compensate=repeat:100us", &[libc::SYS_clock_nanosleep]),
    ("compensate=margin:100us,wake=timerfd", &[libc::SYS_timerfd_settime, libc::SYS_read]),
];

/// Clocks that are read without entering the kernel.
const READ_IN_USER_SPACE: &[&str] = &["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"];

const PERIOD: &str = "period=400us";
/// Longer than the guard watches before it judges, twice.
const COUNT: u64 = 3_000;

/// Allows the calling thread these calls, the call that ends it, and the guard's reading of the processor time of a
/// thread that seems to hold its processor. No other call is allowed.
fn allow_only(calls: &[libc::c_long]) {
    const ARGUMENT: u32 = 16;
    let statement = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let skip_one_unless =
        |k: u32| libc::sock_filter { jf: 1, ..statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, k) };
    let load = |offset: u32| statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset);
    let answer = |k: u32| statement(libc::BPF_RET | libc::BPF_K, k);
    // The first word of seccomp_data is the number of the call.
    let mut program = vec![load(0)];
    for call in calls.iter().chain(&[libc::SYS_exit_group]) {
        program.extend([skip_one_unless(*call as u32), answer(libc::SECCOMP_RET_ALLOW)]);
    }
    let skip_end = libc::sock_filter { jf: 3, ..skip_one_unless(libc::SYS_clock_gettime as u32) };
    let cpu_time = libc::CLOCK_THREAD_CPUTIME_ID as u32;
    program.extend([skip_end, load(ARGUMENT), skip_one_unless(cpu_time), answer(libc::SECCOMP_RET_ALLOW)]);
    program.push(answer(libc::SECCOMP_RET_KILL_PROCESS));
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: takes numbers only.
    assert_eq!(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }, 0);
    // SAFETY: `filter` and the program it points to outlive the call.
    let installed =
        unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) };
    assert_eq!(installed, 0);
}

/// Ends the process, without the cleaning up that would make more calls.
fn end(extra: bool) -> ! {
    if extra {
        // SAFETY: takes nothing.
        unsafe { libc::getppid() };
    }
    // SAFETY: ends the process.
    unsafe { libc::_exit(0) }
}

/// Runs a loop as it is by default behind the filter, and ends the process with 0 if it gets there.
fn run_by_default<S: System>(system: S, spec: &TaskSpec, calls: &[libc::c_long], extra: bool) -> ! {
    let (recorder, _drain) = record::ring(COUNT as usize);
    let mut task = PeriodicLoop::from_spec(system, spec).count(COUNT).recorder(recorder).build().unwrap();
    allow_only(calls);
    while task.wait().is_some() {}
    end(extra)
}

/// Puts its thread behind the filter, and ends the process with 0 if it gets to its last activation.
struct Filtered {
    calls: Vec<libc::c_long>,
    left: u64,
    extra: bool,
}

impl OwnWork for Filtered {
    fn activate(&mut self, _: i64, _: i64, _: &dyn Fn() -> i64) {
        match self.left {
            COUNT => allow_only(&self.calls),
            0 => end(self.extra),
            _ => {}
        }
        self.left = self.left.wrapping_sub(1);
    }
}

/// Runs a task as the bench does.
fn run_as_the_bench(spec: TaskSpec, calls: Vec<libc::c_long>, extra: bool) -> ! {
    // Polling under a real-time policy would need a processor that nobody misses.
    let policy = if spec.wake.traits().polls { Policy::Other } else { Policy::Fifo(1) };
    let spec = TaskSpec { policy: spec.policy.or(Some(policy)), ..spec };
    let options = ThreadOptions { ring: COUNT as usize, guarded: true, ..ThreadOptions::default() };
    let activity = Box::new(Filtered { calls, left: COUNT, extra });
    let mut task = TaskThread::spawn_with(&spec, &options, &Default::default(), Some(activity)).unwrap();
    task.start(Linux.now_ns(), None);
    panic!("it should not have ended: {:?}", task.finish())
}

fn child(text: &str, bench: bool, extra: bool) -> ! {
    let (_, calls) = WAYS.iter().find(|(way, _)| *way == text).unwrap();
    let mut calls = calls.to_vec();
    let clock = fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    if !clock.is_ok_and(|clock| READ_IN_USER_SPACE.contains(&clock.trim())) {
        calls.push(libc::SYS_clock_gettime);
    }
    let spec: TaskSpec = format!("{PERIOD},{text}").parse().unwrap();
    match (bench, spec.read) {
        (true, _) => run_as_the_bench(spec, calls, extra),
        (false, ReadClock::Tsc) => run_by_default(FittedClock::new(processor_counter), &spec, &calls, extra),
        (false, _) => run_by_default(Linux, &spec, &calls, extra),
    }
}

/// Returns true if a child that runs this way survives.
fn survives(text: &str, bench: bool, extra: bool) -> bool {
    let arguments = [text, &bench.to_string(), &extra.to_string()];
    let child = Command::new(env::current_exe().unwrap()).args(arguments).status().unwrap();
    assert!(child.success() || child.signal() == Some(libc::SIGSYS), "{text}: {child}");
    child.success()
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let [text, bench, extra] = &arguments[..]
        && WAYS.iter().any(|(way, _)| way == text)
    {
        child(text, bench == "true", extra == "true");
    }
    for wake in WakeMethod::linux_methods() {
        assert!(WAYS.iter().any(|(text, _)| text.contains(wake.name())), "wake={wake} is to be tested too");
    }
    let mut killed = Vec::new();
    for bench in [false, true] {
        if survives("wake=nanosleep", bench, true) {
            println!("system calls are not filtered: a call that is not allowed went through");
            return ExitCode::FAILURE;
        }
        let ways = WAYS.iter().map(|(text, _)| (*text, bench));
        killed.extend(ways.filter(|(text, bench)| !survives(text, *bench, false)));
    }
    println!("{} ways to wait, by default and as the bench runs them; killed: {killed:?}", WAYS.len());
    if killed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
