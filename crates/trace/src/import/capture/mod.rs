//! Signals of a pin or a network, as activations: files of logic analysers, oscilloscopes and packet captures.
//!
//! A format gives [`Channel`]s; this module derives their activations, the same way for all.

mod csv;
mod packets;
mod pcap;
mod saleae_binary;
mod sigrok;
mod threshold;
mod vcd;

use jitterlab_model::bounds::EDGES;
use jitterlab_model::edge::LevelChange;
use jitterlab_model::{Activation, EdgeKind, Error, Flags, Gap, Warning};

use super::starts::{self, Span};
use super::{Hints, Import, ImportError, Importer, Input, Measured, TaskDetails};
use crate::error::Unreadable;

pub use packets::PacketFilter;
pub use threshold::Threshold;

/// Importers of captures.
pub(super) const FORMATS: [Importer; 5] =
    [vcd::IMPORTER, sigrok::IMPORTER, csv::IMPORTER, saleae_binary::IMPORTER, pcap::IMPORTER];

/// The user's statements about a capture.
#[derive(Debug, Clone, Default)]
pub struct CaptureHints {
    /// The channels that are tasks; with none, all that change.
    pub channels: Vec<String>,
    /// Edges that begin an activation.
    pub edge: EdgeKind,
    /// Voltages of the high and the low level; with none, found from the smallest and the largest voltage.
    pub threshold: Option<Threshold>,
    /// Packets of a network that begin and end an activation.
    pub packets: Option<PacketFilter>,
    /// True to keep every edge as it came, laid on no grid of due times: for analysis of the edges alone.
    pub raw: bool,
}

/// Returns true if a file has one of the formats that are read here.
pub(super) fn recognise(input: &Input) -> bool {
    FORMATS.iter().any(|peer| (peer.recognise)(input))
}

/// A line of a logic analyser: when it changed.
struct Channel {
    name: String,
    level: Option<bool>,
    changes: Vec<LevelChange<i64>>,
    /// Time up to which its level is known, changed or not.
    until: i64,
}

impl Channel {
    fn new(name: impl Into<String>) -> Self {
        Channel { name: name.into(), level: None, changes: Vec::new(), until: 0 }
    }

    /// Sets the level from a time on, `None` if unknown; records a change between two that are known.
    fn set_level(&mut self, at: i64, level: Option<bool>) {
        if let (Some(before), Some(high)) = (self.level, level)
            && before != high
        {
            self.changes.push(LevelChange { at, high });
        }
        self.level = level;
        self.until = self.until.max(at);
    }
}

/// Checks that the channels together have not too many edges.
fn check_edges<'a>(channels: impl IntoIterator<Item = &'a Channel>) -> Result<(), ImportError> {
    match channels.into_iter().map(|channel| channel.changes.len()).sum() {
        0..=EDGES => Ok(()),
        _ => Err(Unreadable::TooMany { what: "edges", most: EDGES }.into()),
    }
}

/// Fewest activations that determine a period.
const FEWEST: usize = 3;

/// Content of a capture: its description, and the activations of each of its channels.
struct Captured {
    import: Import,
    channels: Vec<(String, Vec<Span>)>,
    /// End of the capture, if known.
    end_ns: Option<i64>,
}

impl Captured {
    /// Makes the activations of channels from their edges.
    fn from_edges(import: Import, channels: Vec<Channel>, hints: &Hints) -> Result<Self, ImportError> {
        check_edges(&channels)?;
        let end_ns = channels.iter().map(|channel| channel.until).max();
        let edge = hints.capture.edge;
        let channels = channels.into_iter().map(|channel| {
            let each = edge.activation_spans(channel.changes).into_iter();
            let end = |end_ns| (edge != EdgeKind::Both).then_some(end_ns);
            (channel.name, each.map(|(start_ns, end_ns)| Span { start_ns, end_ns: end(end_ns) }).collect())
        });
        Ok(Captured { import, channels: channels.collect(), end_ns })
    }

    /// Keeps the channels that the user named, or all that show enough activations.
    fn select_channels(mut self, hints: &Hints) -> Result<Self, ImportError> {
        let wanted = &hints.capture.channels;
        if let Some(missing) =
            wanted.iter().find(|wanted| self.channels.iter().all(|(name, _)| name != *wanted))
        {
            let names: Vec<&str> = self.channels.iter().map(|(name, _)| name.as_str()).collect();
            return Err(Error::damaged(format!(
                "there is no channel {missing}: it has {}",
                names.join(", ")
            ))
            .into());
        }
        self.channels.retain(|(name, _)| wanted.is_empty() || wanted.contains(name));
        let (quiet, live): (Vec<_>, Vec<_>) =
            self.channels.into_iter().partition(|(_, spans)| spans.len() < FEWEST);
        self.channels = live;
        match quiet.first() {
            Some((name, spans)) if self.channels.is_empty() && !wanted.is_empty() => {
                Err(Error::damaged(format!(
                    "channel {name} shows {} activations, and 3 are the fewest that tell a period: name another edge (--edge)",
                    spans.len()
                ))
                .into())
            }
            _ if self.channels.is_empty() => Err(Error::damaged(
                "none of its channels shows 3 activations: name the level of a voltage (--threshold), or another edge \
                 (--edge)",
            )
            .into()),
            None => Ok(self),
            Some(_) => {
                let channels = quiet.into_iter().map(|(name, _)| name).collect();
                self.import.warn(Warning::SilentChannels { channels });
                Ok(self)
            }
        }
    }

    /// Imports its channels as tasks.
    fn import(self, hints: &Hints) -> Result<Import, ImportError> {
        let Captured { mut import, channels, end_ns } = self.select_channels(hints)?;
        for (name, spans) in channels {
            import_channel(&mut import, name, &spans, end_ns, hints)?;
        }
        Ok(import)
    }
}

/// Imports one channel as a task.
fn import_channel(
    import: &mut Import,
    name: String,
    spans: &[Span],
    end_ns: Option<i64>,
    hints: &Hints,
) -> Result<(), ImportError> {
    if spans.windows(2).any(|pair| pair[1].start_ns < pair[0].start_ns) {
        return Err(Unreadable::Backwards.into());
    }
    let said = hints.period_ns();
    let usual = said
        .or_else(|| starts::typical_interval_ns(spans.iter().map(|span| span.start_ns), None))
        .ok_or(Unreadable::NoPeriod)?;
    if hints.capture.raw {
        let details = TaskDetails::new(name, import.period_or_default(Some(usual), hints, usual))
            .with_gap(Gap::Phase)
            .with_gap(Gap::Missed);
        import.add_task(details, Measured::Rows(due_at_start(spans)));
        return Ok(());
    }
    let rows = fit_grid(spans, usual);
    let found = rows.as_deref().and_then(mean_distance_ns).unwrap_or(usual);
    let period_ns = said.unwrap_or(found);
    if said.is_none() {
        import.warn(Warning::MeanPeriod { period_ns });
    }
    let silent_ns = end_ns.zip(spans.last()).map_or(0, |(end, last)| end.saturating_sub(last.start_ns));
    let is_silent = silent_ns > 2 * period_ns.max(usual);
    if let (true, Some((first, last))) = (is_silent, spans.first().zip(spans.last())) {
        let since_ns = last.start_ns.saturating_sub(first.start_ns);
        import.warn(Warning::SilentToEnd { task: name.clone(), since_ns, silent_ns });
    }
    let details = TaskDetails::new(name, import.period_or_default(Some(period_ns), hints, period_ns));
    let details = if spans.iter().all(|span| span.end_ns.is_some()) { details.with_ends() } else { details };
    // A due time without a pulse may have been missed, or served without one.
    let has_holes = rows.iter().flatten().any(|row| row.flags.contains(Flags::AFTER_GAP));
    let details = if has_holes || is_silent { details.with_gap(Gap::Missed) } else { details };
    import.add_starts(details, spans, rows);
    Ok(())
}

/// Every span as an activation that was due when it began.
fn due_at_start(spans: &[Span]) -> Vec<Activation> {
    let row = |(index, span): (u64, &Span)| Activation {
        index,
        due_ns: span.start_ns,
        start_ns: span.start_ns,
        end_ns: span.end_ns.unwrap_or(span.start_ns),
        ..Activation::default()
    };
    (0..).zip(spans).map(row).collect()
}

/// Mean period of due times, by their numbers; `None` for fewer than two.
fn mean_distance_ns(rows: &[Activation]) -> Option<i64> {
    let (first, last) = (rows.first()?, rows.last()?);
    let steps = i64::try_from(last.index - first.index).ok().filter(|steps| *steps > 0)?;
    Some((last.due_ns - first.due_ns + steps / 2) / steps)
}

/// Activations whose due times lie on the grid that fits the starts best, the earliest of which counts as punctual. By
/// least squares; `None` where it is not plain which due time a start belongs to.
fn fit_grid(spans: &[Span], usual_ns: i64) -> Option<Vec<Activation>> {
    let first_ns = spans.first()?.start_ns;
    let mut index = 0u64;
    let mut before = first_ns;
    let mut points: Vec<(u64, f64)> = Vec::with_capacity(spans.len());
    for (number, span) in spans.iter().enumerate() {
        let steps = (span.start_ns.checked_sub(before)? as f64 / usual_ns as f64).round();
        // Two in one period: one of them is none of the grid's.
        if number > 0 && steps < 1.0 {
            return None;
        }
        index += steps as u64;
        before = span.start_ns;
        points.push((index, span.start_ns.checked_sub(first_ns)? as f64));
    }
    let (offset, slope) = starts::least_squares_line(&points)?;
    let late = |(index, at): &(u64, f64)| at - (offset + slope * *index as f64);
    let earliest = points.iter().map(late).fold(f64::INFINITY, f64::min);
    let latest = points.iter().map(late).fold(f64::NEG_INFINITY, f64::max);
    if slope < 1.0 || latest - earliest >= slope {
        return None;
    }
    let mut before = 0;
    let rows = spans.iter().zip(&points).map(|(span, (index, _))| {
        let due = offset + slope * *index as f64 + earliest;
        let flags = if *index > before + 1 { Flags::AFTER_GAP } else { Flags::default() };
        before = *index;
        Activation {
            index: *index,
            due_ns: first_ns.saturating_add(due.floor() as i64),
            start_ns: span.start_ns,
            end_ns: span.end_ns.unwrap_or(span.start_ns),
            flags,
            ..Activation::default()
        }
    });
    Some(rows.collect())
}

#[cfg(test)]
mod tests;
