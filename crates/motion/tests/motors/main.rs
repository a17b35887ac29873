//! Effect of timing on motors and loops, checked against papers, other programs, and independent
//! computations.

mod second_way;
mod servo_agreement;
mod servo_benchmarks;
mod servo_events;
mod servo_hostile;
mod servo_imports;
mod servo_jobs;
mod servo_margins;
mod servo_misses;
mod servo_published;
mod servo_scan;
mod servo_several;
mod stepper_simulation;
