//! What people see of a run. Terminal first: readable at 80 columns, colour only where it is wanted.

pub mod chart;
pub mod check;
pub mod comparison;
pub mod compensation;
pub mod figure;
pub mod histogram;
pub mod isolation;
pub mod kernels;
pub mod live;
pub mod machine;
pub mod matrix;
pub mod mcu;
pub mod nist;
pub mod nist_jitter;
pub mod page;
pub mod patterns;
pub mod prediction;
pub mod run;
pub mod servo;
pub mod servo_live;
pub mod stepper;
pub mod summary;
pub mod table;
mod typeset;
pub mod waiting;
pub mod wakeups;
