//! The processor and its CPUs: topology, caches, frequencies, idle states, counters.

use std::time::{Duration, Instant};

use jitterlab_model::CpuSet;
use jitterlab_model::facts::{Cache, Cpu, CpuTimes, Frequency, IdleState, Processor, Vulnerability};

use super::{Root, field, in_parallel};

const CPU: &str = "sys/devices/system/cpu";

/// The processor's properties that are kept.
const PROPERTIES: &[&str] =
    &["constant_tsc", "nonstop_tsc", "tsc_known_freq", "arat", "tsc_deadline_timer", "hypervisor"];

/// Older kernels sleep 10 ms for the current frequency of each idle CPU, so reading them ends after this.
const FREQUENCY_BUDGET: Duration = Duration::from_millis(5);

/// From this many CPUs on, their files are read by several threads.
const MANY_CPUS: usize = 16;

pub(super) fn read_online_cpus(root: &Root) -> CpuSet {
    root.cpus(&format!("{CPU}/online")).filter(|set| !set.is_empty()).unwrap_or_else(|| {
        let stat = root.text("proc/stat").unwrap_or_default();
        let numbers =
            stat.lines().filter_map(|line| line.strip_prefix("cpu")?.split(' ').next()?.parse().ok());
        numbers.collect()
    })
}

pub(super) fn read_processor(root: &Root, cpu_info: &str) -> Processor {
    let info = |keys: &[&str]| keys.iter().find_map(|key| field(cpu_info, key)).map(str::to_owned);
    let flags = field(cpu_info, "flags").unwrap_or("");
    let known = flags.split_whitespace().filter(|flag| PROPERTIES.contains(flag));
    let vulnerabilities = root.names(&format!("{CPU}/vulnerabilities")).into_iter().filter_map(|name| {
        let state = root.nonempty_text(&format!("{CPU}/vulnerabilities/{name}"))?;
        (state != "Not affected").then_some(Vulnerability { name, state })
    });
    Processor {
        model: info(&["model name", "Model", "Hardware", "cpu model", "isa"]).or_else(|| {
            root.nonempty_text("proc/device-tree/model").map(|m| m.trim_matches('\0').to_owned())
        }),
        vendor: info(&["vendor_id"]),
        smt: root.nonempty_text(&format!("{CPU}/smt/control")),
        properties: known.map(str::to_owned).collect(),
        vulnerabilities: vulnerabilities.collect(),
    }
}

pub(super) fn read_cpus(root: &Root, online: &CpuSet) -> Vec<Cpu> {
    let nodes: Vec<(u16, CpuSet)> = root
        .names("sys/devices/system/node")
        .into_iter()
        .filter_map(|name| {
            let number = name.strip_prefix("node")?.parse().ok()?;
            Some((number, root.cpus(&format!("sys/devices/system/node/{name}/cpulist"))?))
        })
        .collect();
    let ids: Vec<u16> = online.iter().collect();
    let frequencies_until = Instant::now() + FREQUENCY_BUDGET;
    in_parallel(&ids, MANY_CPUS, |&id| {
        let folder = format!("{CPU}/cpu{id}");
        let siblings = root
            .cpus(&format!("{folder}/topology/thread_siblings_list"))
            .or_else(|| root.cpus(&format!("{folder}/topology/core_cpus_list")))
            .unwrap_or_else(|| [id].into_iter().collect());
        Cpu {
            id,
            package: root.number(&format!("{folder}/topology/physical_package_id")),
            core: root.number(&format!("{folder}/topology/core_id")),
            siblings,
            numa_node: nodes.iter().find(|(_, cpus)| cpus.contains(id)).map(|(node, _)| *node),
            capacity: root.number(&format!("{folder}/cpu_capacity")),
            frequency: read_frequency(root, id, frequencies_until),
            idle_states: read_idle_states(root, &folder),
            resume_latency_limit_us: root
                .number(&format!("{folder}/power/pm_qos_resume_latency_us"))
                .filter(|us| *us > 0),
            times: None,
            smi_count: root.bytes_at(&format!("dev/cpu/{id}/msr"), 0x34).map(u64::from_le_bytes),
            core_throttle_count: root.number(&format!("{folder}/thermal_throttle/core_throttle_count")),
            package_throttle_count: root.number(&format!("{folder}/thermal_throttle/package_throttle_count")),
        }
    })
}

fn read_frequency(root: &Root, id: u16, until: Instant) -> Frequency {
    let folder = format!("{CPU}/cpu{id}/cpufreq");
    let hz = |name: &str| root.number::<u64>(&format!("{folder}/{name}")).map(|khz| khz * 1_000);
    let word = |name: &str| root.nonempty_text(&format!("{folder}/{name}"));
    let Some(governor) = word("scaling_governor") else { return Frequency::default() };
    Frequency {
        governor: Some(governor),
        driver: word("scaling_driver"),
        preference: word("energy_performance_preference"),
        min_hz: hz("scaling_min_freq"),
        max_hz: hz("scaling_max_freq"),
        current_hz: (Instant::now() < until).then(|| hz("scaling_cur_freq")).flatten(),
        hardware_min_hz: hz("cpuinfo_min_freq"),
        hardware_max_hz: hz("cpuinfo_max_freq"),
    }
}

fn read_idle_states(root: &Root, cpu: &str) -> Vec<IdleState> {
    let state = |number: usize| {
        let folder = format!("{cpu}/cpuidle/state{number}");
        Some(IdleState {
            name: root.nonempty_text(&format!("{folder}/name"))?,
            exit_latency_us: root.number(&format!("{folder}/latency")),
            disabled: root.switch(&format!("{folder}/disable")),
            usage: root.number(&format!("{folder}/usage")),
            time_us: root.number(&format!("{folder}/time")),
        })
    };
    (0..).map_while(state).collect()
}

/// Adds the times of each CPU by state, from `/proc/stat`, whose unit is 10 ms everywhere (USER_HZ).
pub(super) fn add_cpu_times(cpus: &mut [Cpu], stat: &str) {
    for line in stat.lines() {
        let mut words = line.split_whitespace();
        let Some(id) = words.next().and_then(|word| word.strip_prefix("cpu")?.parse::<u16>().ok()) else {
            continue;
        };
        let ns: Vec<u64> =
            words.filter_map(|w| w.parse::<u64>().ok()).map(|ticks| ticks * 10_000_000).collect();
        let &[user, nice, system, idle, iowait, irq, softirq, ref rest @ ..] = ns.as_slice() else {
            continue;
        };
        if let Some(cpu) = cpus.iter_mut().find(|cpu| cpu.id == id) {
            cpu.times = Some(CpuTimes {
                user_ns: user + nice,
                system_ns: system,
                idle_ns: idle + iowait,
                irq_ns: irq,
                softirq_ns: softirq,
                steal_ns: rest.first().copied().unwrap_or(0),
            });
        }
    }
}

/// Every data or unified cache once, read from the first CPU that has it.
pub(super) fn read_caches(root: &Root, online: &CpuSet) -> Vec<Cache> {
    let mut found: Vec<(usize, Cache)> = Vec::new();
    for id in online.iter() {
        for index in 0.. {
            if found.iter().rev().any(|(i, cache)| *i == index && cache.cpus.contains(id)) {
                continue;
            }
            let folder = format!("{CPU}/cpu{id}/cache/index{index}");
            let Some(level) = root.number(&format!("{folder}/level")) else { break };
            if root.text(&format!("{folder}/type")).as_deref() == Some("Instruction") {
                continue;
            }
            let Some(cpus) = root.cpus(&format!("{folder}/shared_cpu_list")) else { continue };
            let size_bytes = root.text(&format!("{folder}/size")).and_then(|size| parse_size(&size));
            found.push((index, Cache { level, size_bytes, cpus: cpus.and(online) }));
        }
    }
    let mut caches: Vec<Cache> = found.into_iter().map(|(_, cache)| cache).collect();
    caches.sort_by_key(|cache| (cache.level, cache.cpus.first()));
    caches
}

/// Parses a size such as `32K` into bytes.
fn parse_size(text: &str) -> Option<u64> {
    let (number, factor) = match text.strip_suffix('K') {
        Some(number) => (number, 1 << 10),
        None => match text.strip_suffix('M') {
            Some(number) => (number, 1 << 20),
            None => (text, 1),
        },
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}
