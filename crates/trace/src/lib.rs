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
mod journal_reader;
mod layout;
mod own_file;
mod paths;
mod reader;
mod recorder;
mod recover;
mod redescribe;
mod role;
mod run_file_writer;
mod run_writer;
mod salvage;
mod slice_table;
mod slices;
pub mod source;
mod spikes;
mod tally;
mod thrift;

pub use decoder::Columns;
pub use error::FileProblem;
pub use finished_parts::FinishedParts;
pub use import::{
    CaptureHints, HalThread, Hints, Import, Measured, PacketFilter, STANDARD_INPUT, Threshold, import,
    import_bytes, import_columns, parse_hal_thread,
};
pub use jitterlab_model::Error;
pub use journal_reader::JournalReader;
pub use own_file::outlive_file_limits;
pub use paths::journal_path;
pub use reader::{RowGroup, RunReader};
pub use recover::{join_journals, recover, recover_to};
pub use redescribe::redescribe;
pub use role::{Column, Role};
pub use run_file_writer::{FinishedRun, RunFileWriter, metadata};
pub use run_writer::RunWriter;
pub use salvage::Skipped;
pub use slices::{Slice, StoredDistribution};
