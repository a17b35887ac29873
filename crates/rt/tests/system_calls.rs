//! The measured path makes no system call but the wait: each way to wait runs in a process of its own where the
//! kernel kills whoever makes another one (seccomp).

#![expect(unsafe_code, reason = "installing a system call filter is a C call")]
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::env;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode};
use std::time::Duration;

use jitterlab_model::TaskSpec;
use jitterlab_rt::fitted::{Fitted, processor_counter};
use jitterlab_rt::system::{Linux, System};
use jitterlab_rt::{PeriodicLoop, record, wake};

/// Each way with the only calls it may make.
const WAYS: &[(&str, &[libc::c_long])] = &[
    ("wake=nanosleep", &[libc::SYS_clock_nanosleep]),
    ("wake=nanosleep,read=tsc", &[libc::SYS_clock_nanosleep]),
    ("wake=nanosleep-relative", &[libc::SYS_clock_nanosleep]),
    ("wake=nanosleep,clock=realtime", &[libc::SYS_clock_nanosleep]),
    ("wake=timerfd", &[libc::SYS_timerfd_settime, libc::SYS_read]),
    ("wake=timer-signal", &[libc::SYS_timer_settime, libc::SYS_rt_sigtimedwait]),
    ("wake=spin", &[]),
    ("compensate=margin:100us", &[libc::SYS_clock_nanosleep]),
    ("compensate=adaptive:0.1", &[libc::SYS_clock_nanosleep]),
    ("compensate=repeat:100us", &[libc::SYS_clock_nanosleep]),
    ("compensate=margin:100us,wake=timerfd", &[libc::SYS_timerfd_settime, libc::SYS_read]),
];

/// Clocks that are read without entering the kernel.
const READ_IN_USER_SPACE: &[&str] = &["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"];

/// Lets the calling thread make these calls, the one that ends it, and no other.
fn allow_only(calls: &[libc::c_long]) {
    let statement = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let answer = |k: u32| statement(libc::BPF_RET | libc::BPF_K, k);
    // The first word of seccomp_data is the number of the call.
    let mut program = vec![statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0)];
    for call in calls.iter().chain(&[libc::SYS_exit_group]) {
        let code = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
        program.push(libc::sock_filter { code, jt: 0, jf: 1, k: *call as u32 });
        program.push(answer(libc::SECCOMP_RET_ALLOW));
    }
    program.push(answer(libc::SECCOMP_RET_KILL_PROCESS));
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: takes numbers only.
    assert_eq!(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }, 0);
    // SAFETY: `filter` and the program it points to outlive the call.
    let installed =
        unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) };
    assert_eq!(installed, 0);
}

/// Runs one task behind the filter and ends the process with 0, if it gets there.
fn run_filtered<S: System>(system: S, spec: &TaskSpec, calls: &[libc::c_long], extra: bool) -> ! {
    let (recorder, _drain) = record::ring(500);
    let wake = wake::of_task(&system, spec).unwrap();
    let mut task = PeriodicLoop::every_on(system, Duration::from_nanos(spec.period_ns as u64))
        .wake_by(wake)
        .count(500)
        .recorder(recorder)
        .build()
        .unwrap();
    allow_only(calls);
    while task.wait().is_some() {}
    if extra {
        // SAFETY: takes nothing.
        unsafe { libc::getppid() };
    }
    // SAFETY: ends the process, without the cleaning up that would make more calls.
    unsafe { libc::_exit(0) }
}

fn child(text: &str, extra: bool) -> ! {
    let (_, calls) = WAYS.iter().find(|(way, _)| *way == text).unwrap();
    let mut calls = calls.to_vec();
    let clock = fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    if !clock.is_ok_and(|clock| READ_IN_USER_SPACE.contains(&clock.trim())) {
        calls.push(libc::SYS_clock_gettime);
    }
    let spec: TaskSpec = format!("period=400us,{text}").parse().unwrap();
    if text.contains("read=tsc") {
        run_filtered(Fitted::new(processor_counter), &spec, &calls, extra)
    } else {
        run_filtered(Linux, &spec, &calls, extra)
    }
}

/// Whether a child that runs this way comes through alive.
fn survives(text: &str, extra: bool) -> bool {
    let child = Command::new(env::current_exe().unwrap()).args([text, &extra.to_string()]).status().unwrap();
    assert!(child.success() || child.signal() == Some(libc::SIGSYS), "{text}: {child}");
    child.success()
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let [text, extra] = &arguments[..]
        && WAYS.iter().any(|(way, _)| way == text)
    {
        child(text, extra == "true");
    }
    if survives("wake=nanosleep", true) {
        println!("system calls are not filtered: a call that is not allowed went through");
        return ExitCode::FAILURE;
    }
    let killed: Vec<&str> =
        WAYS.iter().map(|(text, _)| *text).filter(|text| !survives(text, false)).collect();
    println!(
        "{} ways to wait make no system call but the wait; killed: {killed:?}",
        WAYS.len() - killed.len()
    );
    if killed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
