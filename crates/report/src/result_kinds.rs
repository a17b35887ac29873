//! Every kind of result with its head, its sections and, where the terminal still has words of its own, those.

use jitterlab_motion::servo::{ServoLive, ServoLoops, ServoResult};

use crate::chart::Terminal;
use crate::document::{Extent, Present};
use crate::head::Head;
use crate::motion;
use crate::section::Section;

/// The words of a kind of result: for the answer, and for everything.
type Words<R> = (fn(&R, Terminal) -> Option<String>, fn(&R, Terminal) -> String);

/// The words for this extent; an answer without words of its own is shown in full.
fn words<R>(result: &R, (answer, everything): Words<R>, extent: Extent, terminal: Terminal) -> String {
    let short = if extent == Extent::Answer { answer(result, terminal) } else { None };
    short.unwrap_or_else(|| everything(result, terminal))
}

macro_rules! present {
    ($type:ty, $kind:literal, $head:expr, $sections:expr $(, $words:expr)?) => {
        impl Present for $type {
            const KIND: &'static str = $kind;

            fn head(&self) -> Option<Head> {
                let head: fn(&$type) -> Option<Head> = $head;
                head(self)
            }

            fn sections(&self) -> Vec<Section> {
                let sections: fn(&$type) -> Vec<Section> = $sections;
                sections(self)
            }

            $(fn own_words(&self, extent: Extent, terminal: Terminal) -> Option<String> {
                Some(words(self, $words, extent, terminal))
            })?
        }
    };
}

present!(
    ServoResult,
    "servo",
    motion::servo_verdict::head,
    |result| vec![motion::servo::section(result)],
    (|result, _| motion::servo::answer(result), motion::servo::text)
);
present!(
    ServoLoops,
    "servo-loops",
    motion::servo_loops::head,
    |result| vec![motion::servo_loops::section(result)],
    (|_, _| None, motion::servo_loops::text)
);
present!(
    ServoLive,
    "servo-live",
    |live| Some(motion::servo_live::head(live)),
    |live| vec![motion::servo_live::section(live)],
    (|_, _| None, |live, _| motion::servo_live::text(live))
);
