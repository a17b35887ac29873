//! Alignment of a run with a witness, such as the capture of a pin: the pulse of each activation, and the
//! difference of the two.

use jitterlab_analysis::align::{
    Alignment, AlignmentOutcome, Ambiguous, ChannelAlignment, Matched, RunAlignment, Spread,
};
use jitterlab_model::Fitness;

use crate::conclusion::{Conclusion, file_argument};
use crate::document::Present;
use crate::section::{Cell, Piece, Section};
use crate::warnings;
use crate::words::{count, plural, share, time};

/// Shifts that are named.
const NAMED: usize = 6;
/// Largest residual of the best shift, as a share of an arbitrary shift's residual; above it the pulses show
/// nothing about the run.
const STRANGE: f64 = 0.9;

impl Present for RunAlignment {
    const KIND: &'static str = "alignment";

    fn conclusion(&self) -> Option<Conclusion> {
        Some(conclusion(self))
    }

    fn sections(&self) -> Vec<Section> {
        let mut pieces: Vec<Piece> = self.channels.iter().flat_map(channel_pieces).collect();
        pieces.push(Piece::note(
            "Not in these figures: a delay that all pulses share. Where the other clock begins is unknown, so a constant delay \
             between time stamp and pulse cannot be seen; nor does the rate show which of the clocks is off.",
        ));
        pieces.extend(self.warnings.iter().map(|warning| Piece::note(warnings::warning_sentence(warning))));
        vec![Section::new(
            "witness",
            "The run and its witness",
            format!("{} held against {}, activation by activation.", self.file, self.witness),
            pieces,
        )]
    }
}

fn conclusion(aligned: &RunAlignment) -> Conclusion {
    let matched = aligned.channels.iter().filter_map(|of| match &of.alignment.found {
        AlignmentOutcome::Matched(matched) => Some((of, matched)),
        _ => None,
    });
    // The one that differs most is the one that has to be known.
    match matched.max_by(|a, b| a.1.followed.p99_ns.total_cmp(&b.1.followed.p99_ns)) {
        Some((channel, matched)) => aligned_conclusion(aligned, channel, matched),
        None => unaligned_conclusion(aligned),
    }
}

fn aligned_conclusion(aligned: &RunAlignment, channel: &ChannelAlignment, matched: &Matched) -> Conclusion {
    let of = |what: &str| {
        if aligned.channels.len() > 1 { format!("{what} {}", channel.channel) } else { String::new() }
    };
    let verdict = format!(
        "MATCHED: time stamps and pulses{} differ by up to {} in 99 % of {}, beside a constant that stays unknown.",
        of(" of"),
        time(matched.followed.p99_ns),
        plural(matched.pairs, "activation"),
    );
    let number = format!(
        "At most {} apart; {}; the capture's clock is {} against the run's.",
        time(largest_error(&matched.followed)),
        unpaired_text(matched),
        clock_rate_text(matched),
    );
    let next =
        format!("jitterlab analyze {}: how regular the pin itself is", file_argument(&aligned.witness));
    Conclusion { fitness: Fitness::Good, asked: false, verdict, number, next }
}

fn unaligned_conclusion(aligned: &RunAlignment) -> Conclusion {
    let first = aligned.channels.first().map(|of| &of.alignment);
    let verdict = match first.map(|alignment| &alignment.found) {
        Some(AlignmentOutcome::Ambiguous(ambiguous)) if ambiguous.left <= STRANGE => {
            format!("AMBIGUOUS: {}.", rival_shifts_text(ambiguous))
        }
        _ => "CANNOT TELL: no pulse can be assigned to an activation.".into(),
    };
    let number = first.map_or_else(|| "The witness has no channel.".into(), unassigned_reason);
    let next = "a longer run with something irregular beside it, such as jitterlab run --load cpu:1".into();
    Conclusion { fitness: Fitness::CannotTell, asked: true, verdict, number, next }
}

/// Names the shifts that explain the pulses about as well as the best one.
fn rival_shifts_text(ambiguous: &Ambiguous) -> String {
    let mut nearest = ambiguous.shifts.clone();
    nearest.sort_by_key(|shift| (shift.abs(), *shift));
    let more = nearest.len().saturating_sub(NAMED);
    nearest.truncate(NAMED);
    nearest.sort_unstable();
    let named: Vec<String> = nearest.iter().map(|shift| format!("{shift:+}")).collect();
    let more = if more > 0 { format!(" and {} more", count(more as u64)) } else { String::new() };
    format!(
        "shifted by {}{more} activations the pulses fit about as well as at the best place",
        named.join(", ")
    )
}

fn unassigned_reason(alignment: &Alignment) -> String {
    match &alignment.found {
        AlignmentOutcome::TooFew { needs } => format!(
            "There are {} and {}, and {} of both are needed.",
            plural(alignment.activations, "activation"),
            plural(alignment.pulses, "pulse"),
            count(*needs)
        ),
        AlignmentOutcome::Ambiguous(ambiguous) if ambiguous.left > STRANGE => format!(
            "The best place leaves {} of the disagreement of any: the pulses are of another run, or the run's jitter does not \
             show in a capture with steps of {}.",
            share(ambiguous.left),
            time(alignment.resolution_ns)
        ),
        AlignmentOutcome::Ambiguous(ambiguous) => format!(
            "The best place leaves {} of the disagreement of any, and only the pattern of the jitter can decide.",
            share(ambiguous.left)
        ),
        AlignmentOutcome::Matched(_) => String::new(),
    }
}

fn largest_error(spread: &Spread) -> f64 {
    spread.min_ns.abs().max(spread.max_ns.abs())
}

fn unpaired_text(matched: &Matched) -> String {
    match (matched.silent, matched.extra) {
        (0, 0) => "no activation without its pulse, no pulse without its activation".into(),
        (silent, extra) => {
            format!(
                "{} without a pulse, {} of no activation",
                plural(silent, "activation"),
                plural(extra, "pulse")
            )
        }
    }
}

fn clock_rate_text(matched: &Matched) -> String {
    let way = if matched.rate_ppm < 0.0 { "slow" } else { "fast" };
    let decimals = 1 + [1.0, 0.1].iter().filter(|limit| matched.rate_uncertainty_ppm < **limit).count();
    format!("{:.decimals$} ± {:.decimals$} ppm {way}", matched.rate_ppm.abs(), matched.rate_uncertainty_ppm)
}

fn channel_pieces(of: &ChannelAlignment) -> Vec<Piece> {
    let name = format!("{}, held against {}", of.channel, of.task);
    let AlignmentOutcome::Matched(matched) = &of.alignment.found else {
        return vec![Piece::text(format!("{name}: nothing assigned. {}", unassigned_reason(&of.alignment)))];
    };
    let mut pieces = vec![pulse_error_table(&name, &of.alignment, matched)];
    pieces.extend(period_error_table(matched));
    pieces.push(Piece::text(pairs_sentence(matched)));
    pieces
}

fn spread_row(name: &str, spread: &Spread) -> Vec<Cell> {
    let cells = [spread.sd_ns, spread.p99_ns, spread.min_ns, spread.max_ns].map(Cell::time);
    std::iter::once(name.into()).chain(cells).collect()
}

const HEADER: [&str; 5] = ["µs", "sd", "99 % within", "earliest", "latest"];

fn pulse_error_table(name: &str, alignment: &Alignment, matched: &Matched) -> Piece {
    let sampled = Spread {
        sd_ns: alignment.resolution_ns / 12f64.sqrt(),
        p99_ns: alignment.resolution_ns * 0.495,
        min_ns: -alignment.resolution_ns / 2.0,
        max_ns: alignment.resolution_ns / 2.0,
    };
    let followed = format!("slow changes followed, over {}", count(matched.stretch));
    let rows = [
        spread_row("two clocks of constant rate", &matched.steady),
        spread_row(&followed, &matched.followed),
        spread_row("of that the capture's own steps", &sampled),
    ];
    Piece::table(format!("{name}: pulse less time stamp, about the usual"), &HEADER, rows)
}

fn period_error_table(matched: &Matched) -> Option<Piece> {
    let [stamps, pulses] = matched.period_error.as_ref()?;
    let rows = [spread_row("by the run's time stamps", stamps), spread_row("by the pulses", pulses)];
    Some(Piece::table("period error of the same activations", &HEADER, rows))
}

fn pairs_sentence(matched: &Matched) -> String {
    let beyond = match (matched.unseen, matched.outside) {
        (0, 0) => String::new(),
        (unseen, outside) => format!(
            "; {} and {} lie outside of what both show",
            plural(unseen, "activation"),
            plural(outside, "pulse")
        ),
    };
    format!(
        "Activation {} gave the pulse at {:.6} s of the capture; {}{beyond}. The capture's clock is {} against the run's (95 %).",
        count(matched.first_index),
        matched.first_pulse_ns as f64 / 1e9,
        unpaired_text(matched),
        clock_rate_text(matched),
    )
}
