//! Target of a watch.

/// Threads to watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The process of this number.
    Process(i32),
    /// Every thread of this name, of any program.
    Thread(String),
    /// The processes of a systemd unit.
    Unit(String),
    /// The processes of a container, by its name, the begin of its number, or the path of its control group.
    Container(String),
    /// This command, which is started for it.
    Command(Vec<String>),
}
