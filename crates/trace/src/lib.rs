#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

pub mod atomic_file;
mod causes;
mod checksum;
mod codec;
mod column;
mod decoder;
mod description;
mod entropy;
mod error;
mod finished_parts;
pub mod flat;
mod frame;
mod import;
mod journal;
mod layout;
mod own_file;
mod paths;
mod reader;
mod recorder;
mod recover;
mod redescribe;
mod role;
mod salvage;
mod slice_table;
mod slices;
pub mod source;
mod spikes;
mod table;
mod tally;
mod thrift;
mod walk;
mod writer;

pub use decoder::Columns;
pub use error::FileProblem;
pub use finished_parts::FinishedParts;
pub use import::{
    CaptureHints, HalThread, Hints, Import, Measured, PacketFilter, STANDARD_INPUT, Threshold, hal_thread,
    import, import_bytes, import_columns,
};
pub use jitterlab_model::Error;
pub use own_file::outlive_file_limits;
pub use paths::journal_path;
pub use reader::{RowGroup, RunReader};
pub use recover::{join, recover, recover_to};
pub use redescribe::redescribe;
pub use role::{Column, Role};
pub use salvage::Skipped;
pub use slices::{Slice, Stored};
pub use table::{FinishedRun, RunFileWriter, metadata};
pub use walk::JournalReader;
pub use writer::RunWriter;
