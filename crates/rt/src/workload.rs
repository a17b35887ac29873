//! Work of a task at each activation, when it is not somebody's own code.

use std::hint::{black_box, spin_loop};

use jitterlab_model::Work;

use crate::system::System;

/// Executes a [`Work`].
#[derive(Debug, Clone)]
pub struct Workload {
    work: Work,
    random: u32,
}

impl Workload {
    /// A workload ready to run.
    pub fn new(work: Work) -> Self {
        Workload { work, random: 1 }
    }

    /// Does the work of one activation that started at `start_ns`.
    #[inline]
    pub fn run<S: System>(&mut self, system: &S, start_ns: i64) {
        self.run_by_clock(|| system.now_ns(), start_ns);
    }

    /// Does the work of one activation with any reading of the task's clock.
    #[inline]
    pub fn run_by_clock(&mut self, now_ns: impl Fn() -> i64, start_ns: i64) {
        match self.work {
            Work::None => {}
            Work::Spin { time_ns } => {
                while now_ns() - start_ns < time_ns {
                    spin_loop();
                }
            }
            Work::Twente { divisions } => {
                black_box(self.run_divisions(divisions));
            }
        }
    }

    /// The loop of the Twente report, assignment 2.1: `j = rand() % 100`, then `x += j / (k + 1)` for each k. The
    /// random number is drawn by a linear congruence (Lehmer's, as in C++ `minstd_rand`), which has no lock.
    fn run_divisions(&mut self, divisions: u32) -> f64 {
        self.random = (u64::from(self.random) * 48_271 % 2_147_483_647) as u32;
        let j = f64::from(self.random % 100);
        let mut x = 0.0;
        for k in 0..divisions {
            // Kept opaque, or the compiler divides several at once and the loop is not the report's.
            x += black_box(j) / (f64::from(k) + 1.0);
        }
        x
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeSystem;

    #[test]
    fn a_spin_lasts_until_its_time_has_passed() {
        let system = FakeSystem::new(0);
        system.set_read_cost_ns(30);
        Workload::new(Work::Spin { time_ns: 1_000 }).run(&system, 0);
        let now = system.now_ns();
        assert!((1_000..1_100).contains(&now), "{now}");
    }

    #[test]
    fn the_divisions_sum_up_the_harmonic_series() {
        let mut workload = Workload::new(Work::Twente { divisions: 10_000 });
        let x = workload.run_divisions(10_000);
        let j = f64::from(48_271u32 % 100);
        let harmonic: f64 = (1..=10_000).map(|k| j / f64::from(k)).sum();
        assert!((x - harmonic).abs() < 1e-9, "{x} {harmonic}");
        assert_ne!(workload.run_divisions(10), workload.run_divisions(10));
    }
}
