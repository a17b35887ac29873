//! The run file: one measurement, one Parquet file with a row per activation, and the run's description.
//!
//! While a run is measured, [`RunWriter`] appends its activations to a *journal* beside the wanted file
//! (`NAME.parquet.part`) that survives a killed process and a power loss up to the last second. Closing the run
//! turns the journal into the Parquet file by write-then-rename; [`recover`] does the same for a journal that a
//! crash left behind. [`RunReader`] reads run files back, row group by row group.
//!
//! The layout of both files is described in `docs/formats/run-file.md`.

mod codec;
mod column;
mod convert;
mod decoder;
mod description;
mod error;
pub mod export;
mod frame;
mod import;
mod journal;
mod layout;
mod paths;
pub mod place;
mod reader;
mod recorder;
mod redescribe;
mod salvage;
mod slice_table;
mod slices;
mod spikes;
mod table;
mod tally;
mod varint;
mod walk;
mod writer;

pub use convert::{recover, recover_to};
pub use decoder::Columns;
pub use error::{Damage, NotARun, TraceError, Unreadable, Wanted};
pub use import::{Hints, Import, Measured, import};
pub use paths::journal_path;
pub use reader::{RowGroup, RunReader};
pub use redescribe::redescribe;
pub use salvage::Skipped;
pub use slices::{Slice, Stored};
pub use table::{FinishedRun, RunFileWriter};
pub use walk::JournalReader;
pub use writer::RunWriter;

/// What one activation takes in a run file, roughly: for telling in advance how large a run will be.
pub const TYPICAL_BYTES_PER_ACTIVATION: u64 = 4;
