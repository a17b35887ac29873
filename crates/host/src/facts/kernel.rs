//! The kernel: version, configuration, preemption, clock, scheduler, isolation.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Read;

use jitterlab_model::CpuSet;
use jitterlab_model::facts::{Clock, Isolation, Kernel, Preemption, Scheduler};
use nix::errno::Errno;
use nix::sys::time::TimeValLike as _;

use super::{Root, field};

/// File that shows and sets the preemption model while the kernel runs.
const PREEMPTION_SWITCH: &str = "sys/kernel/debug/sched/preempt";

/// The options of the kernel's configuration that matter for timing.
const OPTIONS: &[&str] = &[
    "HZ",
    "HZ_PERIODIC",
    "NO_HZ_IDLE",
    "NO_HZ_FULL",
    "HIGH_RES_TIMERS",
    "PREEMPT_NONE",
    "PREEMPT_VOLUNTARY",
    "PREEMPT_LAZY",
    "PREEMPT",
    "PREEMPT_DYNAMIC",
    "PREEMPT_RT",
    "PREEMPT_RT_FULL",
    "RCU_NOCB_CPU",
    "RCU_NOCB_CPU_DEFAULT_ALL",
    "RCU_BOOST",
    "CPU_ISOLATION",
    "CPUSETS",
    "RT_GROUP_SCHED",
    "TIMERLAT_TRACER",
    "OSNOISE_TRACER",
    "PARAVIRT_TIME_ACCOUNTING",
    "IRQ_TIME_ACCOUNTING",
    "XENOMAI",
    "EVL",
];

pub(super) fn read_kernel(root: &Root) -> Kernel {
    let release = root.nonempty_text("proc/sys/kernel/osrelease");
    let version = root.nonempty_text("proc/sys/kernel/version");
    let command_line = root.text("proc/cmdline");
    let options = release.as_deref().and_then(|r| options(root, r)).unwrap_or_default();
    let about = root.text("etc/os-release").or_else(|| root.text("usr/lib/os-release")).unwrap_or_default();
    let entry = |key: &str| {
        let value = about.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='))?;
        Some(value.trim_matches('"').to_owned())
    };
    let family = [entry("ID"), entry("ID_LIKE")].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let mut kernel = Kernel {
        distribution: entry("PRETTY_NAME"),
        distribution_family: Some(family).filter(|names| !names.is_empty()),
        architecture: architecture(root),
        tick_hz: options.get("HZ").and_then(|hz| hz.parse().ok()),
        release,
        version,
        command_line,
        options,
        init: root.nonempty_text("proc/1/comm"),
        ..Kernel::default()
    };
    kernel.installed = kernel.release.as_deref().map(|release| {
        ["boot/vmlinuz-", "boot/config-", "lib/modules/", "usr/lib/modules/"]
            .iter()
            .any(|place| root.exists(&format!("{place}{release}")))
    });
    kernel.preemption_dynamic = preemption_dynamic(root, &kernel);
    kernel.preemption_switch = preemption_switch(root);
    kernel.preemption = preemption(root, &kernel);
    kernel
}

fn architecture(root: &Root) -> Option<String> {
    root.nonempty_text("proc/sys/kernel/arch").or_else(|| {
        let uname = nix::sys::utsname::uname().ok().filter(|_| root.is_system())?;
        uname.machine().to_str().map(str::to_owned)
    })
}

/// Timing options of the kernel's configuration, from `/boot` or the kernel; `None` if unreadable.
fn options(root: &Root, release: &str) -> Option<BTreeMap<String, String>> {
    let text = root
        .text(&format!("boot/config-{release}"))
        .or_else(|| root.text(&format!("lib/modules/{release}/config")))
        .or_else(|| {
            let compressed = root.bytes("proc/config.gz")?;
            let mut text = String::new();
            flate2::read::GzDecoder::new(compressed.as_slice()).read_to_string(&mut text).ok()?;
            Some(text)
        })?;
    let set = text.lines().filter_map(|line| {
        let (name, value) = line.strip_prefix("CONFIG_")?.split_once('=')?;
        OPTIONS.contains(&name).then(|| (name.to_owned(), value.trim_matches('"').to_owned()))
    });
    Some(set.collect())
}

/// True if the preemption switch in debugfs opens, false if not; `None` if this process may not look.
fn preemption_switch(root: &Root) -> Option<bool> {
    if !root.exists("sys/kernel") {
        return None;
    }
    match OpenOptions::new().write(true).open(root.path(PREEMPTION_SWITCH)) {
        Ok(_) => Some(true),
        // debugfs is for root alone, so its content is unknown here.
        Err(error) if error.raw_os_error() == Some(Errno::EACCES as i32) => None,
        Err(_) => Some(false),
    }
}

/// True if the preemption model can be chosen at boot or later; `None` without a kernel version.
fn preemption_dynamic(root: &Root, kernel: &Kernel) -> Option<bool> {
    if root.exists(PREEMPTION_SWITCH) {
        return Some(true);
    }
    let version = kernel.version.as_deref()?;
    Some(version.contains("PREEMPT_DYNAMIC") || kernel.options.contains_key("PREEMPT_DYNAMIC"))
}

/// The preemption model by the kernel's own word, version, command line or configuration, if one has it.
fn preemption(root: &Root, kernel: &Kernel) -> Option<Preemption> {
    let version = kernel.version.as_deref().unwrap_or("");
    if root.switch("sys/kernel/realtime") == Some(true)
        || version.contains("PREEMPT_RT")
        || version.contains("PREEMPT RT")
    {
        return Some(Preemption::RealTime);
    }
    if let Some(modes) = root.text(PREEMPTION_SWITCH) {
        // Such as `none voluntary (full) lazy`.
        return parse_preemption(modes.split('(').nth(1)?.split(')').next()?);
    }
    let set = |option: &str| kernel.options.get(option).is_some_and(|value| value == "y");
    let configured = || {
        [
            ("PREEMPT_RT", Preemption::RealTime),
            ("PREEMPT_RT_FULL", Preemption::RealTime),
            ("PREEMPT_NONE", Preemption::None),
            ("PREEMPT_VOLUNTARY", Preemption::Voluntary),
            ("PREEMPT_LAZY", Preemption::Lazy),
            ("PREEMPT", Preemption::Full),
        ]
        .into_iter()
        .find_map(|(option, model)| set(option).then_some(model))
    };
    if kernel.preemption_dynamic == Some(true) {
        return kernel.parameter("preempt").and_then(parse_preemption).or_else(configured);
    }
    configured().or_else(|| version.split_whitespace().any(|w| w == "PREEMPT").then_some(Preemption::Full))
}

fn parse_preemption(mode: &str) -> Option<Preemption> {
    Some(match mode {
        "none" => Preemption::None,
        "voluntary" => Preemption::Voluntary,
        "lazy" => Preemption::Lazy,
        "full" => Preemption::Full,
        _ => return None,
    })
}

pub(super) fn read_clock(root: &Root) -> Clock {
    const SOURCE: &str = "sys/devices/system/clocksource/clocksource0";
    let available = root.text(&format!("{SOURCE}/available_clocksource")).unwrap_or_default();
    let resolution_ns = timer_resolution_ns(root);
    Clock {
        source: root.nonempty_text(&format!("{SOURCE}/current_clocksource")),
        available: available.split_whitespace().map(str::to_owned).collect(),
        resolution_ns,
        // Without them the resolution is the tick, never below 100 us.
        high_resolution: resolution_ns.map(|ns| ns < 100_000),
    }
}

fn timer_resolution_ns(root: &Root) -> Option<u64> {
    if root.is_system() {
        let resolution = nix::time::clock_getres(nix::time::ClockId::CLOCK_MONOTONIC).ok()?;
        return u64::try_from(resolution.num_nanoseconds()).ok();
    }
    let list = root.text("proc/timer_list")?;
    field(list.lines().map(str::trim).find(|line| line.starts_with(".resolution"))?, ".resolution")?
        .split_whitespace()
        .next()?
        .parse()
        .ok()
}

/// Reads the limit on real time, timer migration, NUMA balancing and lockup detectors from `/proc/sys/kernel`.
pub(super) fn read_scheduler(root: &Root) -> Scheduler {
    const K: &str = "proc/sys/kernel";
    Scheduler {
        rt_runtime_us: root.number(&format!("{K}/sched_rt_runtime_us")),
        rt_period_us: root.number(&format!("{K}/sched_rt_period_us")),
        timer_migration: root.switch(&format!("{K}/timer_migration")),
        numa_balancing: root.switch(&format!("{K}/numa_balancing")),
        nmi_watchdog: root.switch(&format!("{K}/nmi_watchdog")),
        soft_watchdog: root.switch(&format!("{K}/soft_watchdog")),
        watchdog_cpus: root.cpus(&format!("{K}/watchdog_cpumask")),
    }
}

pub(super) fn read_isolation(root: &Root, kernel: &Kernel, online: &CpuSet) -> Isolation {
    let nohz_full = root.cpus("sys/devices/system/cpu/nohz_full");
    Isolation {
        isolated: root.cpus("sys/devices/system/cpu/isolated"),
        rcu_nocbs: rcu_nocbs(kernel, nohz_full.as_ref(), online),
        nohz_full,
        workqueue_cpus: root
            .text("sys/devices/virtual/workqueue/cpumask")
            .and_then(|mask| CpuSet::from_mask(&mask)),
    }
}

/// CPUs without RCU callbacks, by command line, `nohz_full` and configuration; `None` if unknown. The kernel
/// does not show them.
fn rcu_nocbs(kernel: &Kernel, nohz_full: Option<&CpuSet>, online: &CpuSet) -> Option<CpuSet> {
    kernel.command_line.as_ref()?;
    if kernel.options.contains_key("RCU_NOCB_CPU_DEFAULT_ALL") {
        return Some(online.clone());
    }
    let asked = match kernel.parameter("rcu_nocbs") {
        Some(list) => parse_boot_cpu_list(list, online)?,
        None => CpuSet::new(),
    };
    Some(asked.or(nohz_full.unwrap_or(&CpuSet::new())))
}

/// Parses a CPU list of the kernel's command line: also `all`, `N` for the last, and `0-15:2/4`. That is two
/// of every four.
fn parse_boot_cpu_list(text: &str, online: &CpuSet) -> Option<CpuSet> {
    let last = online.iter().next_back()?;
    if text == "all" {
        return Some(online.clone());
    }
    let number = |n: &str| if n == "N" { Some(last) } else { n.parse().ok() };
    let mut cpus = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (range, stride) = part.split_once(':').unwrap_or((part, "1/1"));
        let (used, group) = stride.split_once('/')?;
        let (used, group): (u16, u16) = (used.parse().ok()?, group.parse().ok()?);
        let (first, end) = range.split_once('-').unwrap_or((range, range));
        let (first, end) = (number(first)?, number(end)?.min(last));
        if group == 0 {
            return None;
        }
        cpus.extend((first..=end).filter(|cpu| (cpu - first) % group < used));
    }
    Some(cpus.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_of_the_command_line_are_the_kernels() {
        let online: CpuSet = "0-15".parse().unwrap();
        let read = |text: &str| parse_boot_cpu_list(text, &online).map(|set| set.to_string());
        assert_eq!(read("all").as_deref(), Some("0-15"));
        assert_eq!(read("1,3-N").as_deref(), Some("1,3-15"));
        assert_eq!(read("0-15:2/4").as_deref(), Some("0-1,4-5,8-9,12-13"));
        assert_eq!(read("1-99").as_deref(), Some("1-15"));
        assert_eq!((read("x"), read("0-3:1/0")), (None, None));
    }

    #[test]
    fn the_model_follows_from_what_there_is() {
        let nothing = Root::at("/nonexistent");
        let model = |version: &str, parameters: &str, options: &[&str]| {
            let mut kernel = Kernel {
                version: Some(version.into()),
                command_line: Some(parameters.into()),
                options: options.iter().map(|o| ((*o).to_owned(), "y".to_owned())).collect(),
                ..Kernel::default()
            };
            kernel.preemption_dynamic = preemption_dynamic(&nothing, &kernel);
            preemption(&nothing, &kernel)
        };
        assert_eq!(model("#1 SMP PREEMPT_RT Debian", "", &[]), Some(Preemption::RealTime));
        assert_eq!(model("#1 SMP PREEMPT RT", "", &[]), Some(Preemption::RealTime));
        assert_eq!(model("#1 SMP PREEMPT", "", &[]), Some(Preemption::Full));
        assert_eq!(
            model("#1 SMP PREEMPT_DYNAMIC", "preempt=full", &["PREEMPT_NONE"]),
            Some(Preemption::Full)
        );
        assert_eq!(model("#1 SMP PREEMPT_DYNAMIC", "", &["PREEMPT_VOLUNTARY"]), Some(Preemption::Voluntary));
        assert_eq!(model("#1 SMP PREEMPT_DYNAMIC", "", &[]), None);
        assert_eq!(model("#1 SMP", "", &["PREEMPT_NONE"]), Some(Preemption::None));
        assert_eq!(model("#1 SMP", "", &[]), None);
    }
}
