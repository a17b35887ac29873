//! One machine watched for months: hours that add up, alarms with a cause, in the tools that people have.
//!
//! [`source`] measures, [`counter`] counts and cuts into hours, [`archive`] writes hours and days, [`recover`] counts what a killed
//! monitor left, [`messages`] delivers alarms, [`live`] is what Prometheus scrapes, [`status`] what the folder says.

pub mod alarms;
pub mod archive;
pub mod clock;
pub mod counter;
pub mod folder;
pub mod hour;
pub mod http;
pub mod live;
pub mod messages;
pub mod outbox;
pub mod recover;
pub mod service_manager;
pub mod service_unit;
pub mod source;
pub mod status;
pub mod task_counter;
pub mod words;
