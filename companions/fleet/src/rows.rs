//! Rows of the tables of a fleet (format 1): texts, where an empty one is not known, and signed whole numbers.

use jitterlab_model::Error;
use jitterlab_trace::flat::{ColumnKind, FlatFile, FlatTable, Values};

/// Version of the tables; readers refuse a higher one. Columns that come later are nullable, bins never change.
pub const FORMAT: u32 = 1;
/// Name of the version in a file's metadata.
pub const FORMAT_KEY: &str = "jitterlab.fleet";
/// Upper edge of values of which only is known that they lie above all bins.
pub const BEYOND_NS: i64 = i64::MAX;

/// Row of a table.
pub trait Row: Sized + Ord + Clone {
    const TABLE: &'static str;
    /// Names and kinds of its columns.
    const COLUMNS: &'static [(&'static str, ColumnKind)];

    /// Appends the row's values to the columns.
    fn append_to(&self, values: &mut [Values]);

    /// Takes the values at the front of the columns; `None` if one is missing or out of range.
    fn from_values(values: &mut [ValueIter]) -> Option<Self>;
}

/// Values of a column, one after the other.
pub enum ValueIter {
    Texts(std::vec::IntoIter<String>),
    Numbers(std::vec::IntoIter<Option<i64>>),
}

impl From<Values> for ValueIter {
    fn from(values: Values) -> Self {
        match values {
            Values::Texts(texts) => ValueIter::Texts(texts.into_iter()),
            Values::Numbers(numbers) => ValueIter::Numbers(numbers.into_iter()),
        }
    }
}

/// Value of a row.
pub trait Field: Sized {
    const KIND: ColumnKind;

    /// Appends the value to its column.
    fn append_to(&self, values: &mut Values);

    /// Takes the next value of a column; `None` if it is missing or out of range.
    fn from_values(values: &mut ValueIter) -> Option<Self>;
}

impl Field for String {
    const KIND: ColumnKind = ColumnKind::Text;

    fn append_to(&self, values: &mut Values) {
        if let Values::Texts(texts) = values {
            texts.push(self.clone());
        }
    }

    fn from_values(values: &mut ValueIter) -> Option<Self> {
        if let ValueIter::Texts(texts) = values { texts.next() } else { None }
    }
}

macro_rules! number {
    ($type:ty, $kind:ident, $number:ident => $append:expr, $value:ident => $take:expr) => {
        impl Field for $type {
            const KIND: ColumnKind = ColumnKind::$kind;

            fn append_to(&self, values: &mut Values) {
                let $number = *self;
                if let Values::Numbers(numbers) = values {
                    numbers.push($append);
                }
            }

            fn from_values(values: &mut ValueIter) -> Option<Self> {
                let ValueIter::Numbers(numbers) = values else { return None };
                let $value = numbers.next()?;
                $take
            }
        }
    };
}

number!(i64, Whole, number => Some(number), value => value);
number!(Option<i64>, MaybeWhole, number => number, value => Some(value));
number!(i8, Short, number => Some(number.into()), value => i8::try_from(value?).ok());

/// Types of rows, each with its table and its columns.
macro_rules! rows {
    ($(#[$about:meta])* $name:ident in $table:literal { $($(#[$field_about:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize, serde::Deserialize)]
        #[serde(default)]
        pub struct $name {
            $($(#[$field_about])* pub $field: $type,)*
        }

        impl Row for $name {
            const TABLE: &'static str = $table;
            const COLUMNS: &'static [(&'static str, ColumnKind)] = &[$((stringify!($field), <$type as Field>::KIND),)*];

            fn append_to(&self, values: &mut [Values]) {
                let mut values = values.iter_mut();
                $(if let Some(values) = values.next() {
                    self.$field.append_to(values);
                })*
            }

            fn from_values(values: &mut [ValueIter]) -> Option<Self> {
                let mut values = values.iter_mut();
                Some($name { $($field: <$type as Field>::from_values(values.next()?)?,)* })
            }
        }
    };
}

pub(crate) use rows;

rows! {
    /// Counts and exact sums of a quantity of a task in a slice of time.
    SliceRow in "slices" {
        machine: String,
        /// Sixteen hexadecimal digits: one stretch of measuring on one machine.
        stream: String,
        /// Number of the slice in its stream.
        seq: i64,
        task: String,
        /// Index in [`Quantity::COUNTED`](jitterlab_model::Quantity::COUNTED). Latency, 0, has a row in every slice.
        quantity: i8,
        /// `probe` (a task of jitterlab's own), `watch` (a thread of another program) or `import`.
        source: String,
        period_ns: i64,
        /// Policy that the task ran under.
        policy: String,
        overrun: String,
        /// Quantities that the source leaves unknown, separated by commas.
        unknown: String,
        kernel: String,
        /// Hash of the row in `machines`.
        env: String,
        /// Beginning, in seconds of the Unix epoch.
        start_s: Option<i64>,
        /// Length by the monotonic clock.
        length_ms: i64,
        boot: String,
        /// Beginning by the monotonic clock.
        mono_ns: Option<i64>,
        /// Distance that UTC moved against the monotonic clock within the slice.
        clock_step_ns: Option<i64>,
        /// 1 where UTC was synchronised, 0 where it was not.
        clock_ok: Option<i64>,
        due: Option<i64>,
        /// Values of the quantity.
        count: i64,
        /// Due times that passed unserved.
        missed: Option<i64>,
        /// Activations that ran but were not recorded.
        lost: i64,
        /// Time without measuring inside the slice: suspended, stopped, killed.
        gap_ms: i64,
        min_ns: Option<i64>,
        max_ns: Option<i64>,
        sum_ns: Option<i64>,
        /// Sum of squares, in units of 2^32 ns².
        squares_high: Option<i64>,
        /// The rest of it, in ns², below 2^32.
        squares_low: Option<i64>,
        /// Due time of the largest latency, in seconds of the Unix epoch.
        max_at_s: Option<i64>,
    }
}

rows! {
    /// Values in a bin of a quantity's histogram.
    BinRow in "bins" {
        machine: String,
        stream: String,
        seq: i64,
        task: String,
        quantity: i8,
        kernel: String,
        env: String,
        start_s: Option<i64>,
        /// Largest value of the bin; [`BEYOND_NS`] for those above all bins.
        high_ns: i64,
        n: i64,
    }
}

rows! {
    /// Exact number of activations above a limit of a purpose.
    LimitRow in "limits" {
        machine: String,
        stream: String,
        seq: i64,
        task: String,
        kernel: String,
        start_s: Option<i64>,
        purpose: String,
        /// The latency, or the period error to either side.
        quantity: i8,
        limit_ns: i64,
        /// Not known where only bins were kept and the limit lies inside one.
        above: Option<i64>,
    }
}

rows! {
    /// Delays of a task by a cause in a slice.
    CauseRow in "causes" {
        machine: String,
        stream: String,
        seq: i64,
        task: String,
        kernel: String,
        start_s: Option<i64>,
        class: String,
        who: String,
        times: i64,
        sum_ns: i64,
        max_ns: i64,
        proven_ns: i64,
        likely_ns: i64,
    }
}

rows! {
    /// A start with one of the largest latencies of a slice.
    WorstRow in "worst" {
        machine: String,
        stream: String,
        seq: i64,
        task: String,
        kernel: String,
        at_s: Option<i64>,
        latency_ns: i64,
        /// The cause of its longest part; empty where it is not known.
        class: String,
        who: String,
    }
}

rows! {
    /// Environment of a machine while it was measured.
    MachineRow in "machines" {
        /// Hash of everything here but the machine's name and the times.
        env: String,
        machine: String,
        kernel: String,
        build: String,
        preemption: String,
        command_line: String,
        processor: String,
        microcode: String,
        board: String,
        firmware: String,
        governor: String,
        isolation: String,
        virtual_machine: String,
        jitterlab: String,
        load: String,
        /// Labels as a JSON object.
        labels: String,
        first_s: Option<i64>,
        last_s: Option<i64>,
    }
}

/// Rows of a slice, which begin as its own row does.
macro_rules! of_slices {
    ($($row:ident { $($key:ident),* })*) => {$(
        impl $row {
            /// An empty row of this slice.
            pub fn from_slice(slice: &SliceRow) -> Self {
                $row { $($key: slice.$key.clone(),)* ..$row::default() }
            }
        }
    )*};
}

of_slices! {
    BinRow { machine, stream, seq, task, kernel, env, start_s }
    LimitRow { machine, stream, seq, task, kernel, start_s }
    CauseRow { machine, stream, seq, task, kernel, start_s }
    WorstRow { machine, stream, seq, task, kernel }
}

/// Parquet table of rows.
pub fn to_table<R: Row>(rows: &[R]) -> FlatTable {
    let mut table = FlatTable::new(R::COLUMNS);
    rows.iter().for_each(|row| row.append_to(&mut table.values));
    table
}

/// Reads the rows of a table from its file.
pub fn read<R: Row>(file: &FlatFile) -> Result<Vec<R>, Error> {
    let values = file.read(R::COLUMNS)?.values;
    let rows = match values.first() {
        Some(Values::Texts(texts)) => texts.len(),
        Some(Values::Numbers(numbers)) => numbers.len(),
        None => 0,
    };
    let mut values: Vec<ValueIter> = values.into_iter().map(ValueIter::from).collect();
    let rows: Option<Vec<R>> = (0..rows).map(|_| R::from_values(&mut values)).collect();
    rows.ok_or_else(|| Error::damaged(format!("a row of {} holds a number that cannot be", R::TABLE)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_from_a_file() {
        let row = SliceRow {
            machine: "it's \"one\"/\u{1b}".into(),
            quantity: 4,
            due: None,
            min_ns: Some(-3),
            ..SliceRow::default()
        };
        let bytes = to_table(&[row.clone(), SliceRow::default()]).to_parquet(&[]).unwrap();
        let file = FlatFile::open(bytes).unwrap();
        assert_eq!(read::<SliceRow>(&file).unwrap(), [row, SliceRow::default()]);
        assert!(read::<BinRow>(&file).is_err());
    }
}
