//! One machine watched for months: hours that add up, alarms with a cause, in the tools that people have.
//!
//! [`source`] measures, [`keeper`] counts and cuts into hours, [`desk`] writes hours and days, [`recover`] counts what a killed
//! monitor left, [`bell`] tells of alarms, [`live`] is what Prometheus scrapes, [`status`] what the folder says.

pub mod alarms;
pub mod bell;
pub mod clock;
pub mod desk;
pub mod folder;
pub mod hour;
pub mod http;
pub mod keeper;
pub mod lane;
pub mod limits;
pub mod live;
pub mod notify;
pub mod outbox;
pub mod pack;
pub mod recover;
pub mod source;
pub mod status;
pub mod unit;
pub mod words;
