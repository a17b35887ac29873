//! Words for the checks of the isolation of CPUs.

use super::entry::Words;

pub(super) const WORDS: &[Words] = &[
    Words {
        id: "cpu-count",
        title: "A CPU for everything else",
        why: "On the only CPU the task shares every interrupt and every chore, and a task that runs away takes the machine down.",
        found: &[
            ("unreadable", "the list of CPUs could not be read"),
            ("one-cpu", "there is one CPU only"),
            ("one-usable", "of {number} CPUs this process may use one only"),
            ("others", "{others} for everything else"),
        ],
        advice: &[
            ("host", "give the virtual machine at least two CPUs"),
            ("two-cores", "use a machine with two cores or more"),
            ("taskset", "taskset -c {online} jitterlab ..."),
        ],
    },
    Words {
        id: "isolated-cpus",
        title: "Isolated CPUs (isolcpus, cpusets)",
        why: "Without isolation the scheduler puts other programs on the CPU of the real-time task and balances load across it.",
        found: &[
            ("one-cpu", "there is one CPU only"),
            ("unreadable", "the list of isolated CPUs could not be read"),
            ("covered", "{there}"),
            ("missing", "{missing:are} not isolated"),
        ],
        advice: &[],
    },
    Words {
        id: "nohz-full",
        title: "CPUs without a tick (nohz_full)",
        why: "The tick interrupts a working task hundreds of times a second, for a few microseconds each.",
        found: &[
            ("one-cpu-keeps-tick", "there is one CPU only, and one has to keep the tick"),
            ("not-built", "this kernel is built without it (CONFIG_NO_HZ_FULL)"),
            ("covered", "{there}"),
            ("missing", "{missing:are} ticking"),
        ],
        advice: &[],
    },
    Words {
        id: "rcu-nocbs",
        title: "CPUs without RCU callbacks (rcu_nocbs)",
        why: "The kernel's deferred freeing of memory otherwise runs on the CPU that asked for it, in bursts.",
        found: &[
            ("one-cpu", "there is one CPU only"),
            ("unreadable", "the list of these CPUs could not be read"),
            ("covered", "{there}"),
            ("missing", "{missing:are} running RCU callbacks"),
        ],
        advice: &[],
    },
    Words {
        id: "smt",
        title: "SMT siblings",
        why: "A sibling shares the core's units and first-level caches, so whatever runs there slows the task down.",
        found: &[
            ("unreadable", "the topology could not be read"),
            ("shared", "{siblings:are} the second thread of a core that real-time tasks use"),
            ("isolated", "{siblings:are} isolated as well"),
            ("whole-cores", "all threads of the {cores} cores are isolated: use one of each"),
            ("alone", "no other thread on the core of {cpus:cpus}"),
        ],
        advice: &[(
            "host",
            "do not let the host run two virtual CPUs on one core: `-smp threads=1` and pinning",
        )],
    },
    Words {
        id: "workqueues",
        title: "Unbound kernel work",
        why: "Deferred work of drivers and file systems otherwise runs on any CPU.",
        found: &[
            ("one-cpu", "there is one CPU only"),
            ("unreadable", "the CPUs of unbound work could not be read"),
            ("includes", "may run on {set}, which includes {shared:cpus}"),
            ("apart", "runs on {set}"),
        ],
        advice: &[],
    },
    Words {
        id: "numa-node",
        title: "One NUMA node",
        why: "Tasks on different nodes reach each other's memory through the link between them, at twice the latency.",
        found: &[
            ("one-node", "there is one node only"),
            ("together", "{cpus:are} in node {node}"),
            ("spread", "{cpus:are} spread over {nodes} nodes"),
            ("unreadable", "the nodes of these CPUs could not be read"),
        ],
        advice: &[("together", "run the tasks that exchange data on {together} only")],
    },
];
