//! Edges of a pin that begin an activation.

use crate::words;

words! {
    /// Kind of edge that begins an activation.
    #[derive(Default)]
    EdgeKind, "kind of edge":
    /// The pin goes high; the activation ends when it goes low.
    #[default]
    Rising = "rising",
    /// The pin goes low; the activation ends when it goes high.
    Falling = "falling",
    /// Any change, for programs that toggle a pin once an activation; ends are not known and taken as the starts.
    Both = "both",
}

/// A change of a pin's level, at a time in the unit of its recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LevelChange<T> {
    /// Time of the change.
    pub at: T,
    /// Level from then on: true if high.
    pub high: bool,
}

impl EdgeKind {
    /// Returns true if an activation begins with this new level of the pin.
    #[must_use]
    pub const fn begins_activation(self, high: bool) -> bool {
        match self {
            EdgeKind::Rising => high,
            EdgeKind::Falling => !high,
            EdgeKind::Both => true,
        }
    }

    /// Returns begin and end of each activation by a pin's level changes. An activation that the recording cut off is
    /// left out.
    pub fn activation_spans<T: Copy + PartialEq>(
        self,
        changes: impl IntoIterator<Item = LevelChange<T>>,
    ) -> Vec<(T, T)> {
        let mut spans: Vec<(T, T)> = Vec::new();
        let mut open = false;
        for change in changes {
            match (self, change.high) {
                (EdgeKind::Both, _) | (EdgeKind::Rising, true) | (EdgeKind::Falling, false) => {
                    spans.push((change.at, change.at));
                    open = self != EdgeKind::Both;
                }
                _ => {
                    if let Some(last) = spans.last_mut() {
                        last.1 = change.at;
                        open = false;
                    }
                }
            }
        }
        if open && spans.len() > 1 {
            spans.pop();
        }
        spans
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_edge_begins_and_the_other_ends() {
        let changes = [(1, false), (2, true), (5, false), (9, true), (11, false), (20, true)];
        let changes = changes.map(|(at, high)| LevelChange { at, high });
        assert_eq!(EdgeKind::Rising.activation_spans(changes), [(2, 5), (9, 11)]);
        assert_eq!(EdgeKind::Falling.activation_spans(changes), [(1, 2), (5, 9), (11, 20)]);
        assert_eq!(EdgeKind::Both.activation_spans(changes).len(), 6);
        for kind in ["rising", "falling", "both"] {
            assert_eq!(kind.parse::<EdgeKind>().unwrap().to_string(), kind);
        }
        assert!("up".parse::<EdgeKind>().is_err());
    }
}
