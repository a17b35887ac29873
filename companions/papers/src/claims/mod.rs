//! The source documents: their printed numbers, and the numbers here that decide on their statements.

pub mod athlon;
pub mod epos;
pub mod epos_faults;
pub mod loads;
pub mod nist;
pub mod nist_calls;
pub mod nist_control;
pub mod time_management;
pub mod torques;
pub mod twente;
