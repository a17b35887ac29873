//! In which blocks which knobs are set: a round of balanced halves.

use crate::random::Random;

/// A block of a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Whether each knob is set in it.
    pub on: Vec<bool>,
    /// Whether it is of the balanced halves; else it shows the start as it is.
    pub counts: bool,
}

/// Blocks in which each knob that is tried is set in one half, whatever the others are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Round {
    /// The blocks, in the order in which they are measured.
    pub rows: Vec<Row>,
}

/// What becomes of a knob in the next round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It is tried.
    Tried,
    /// It is set in every block but those of the start.
    Held,
    /// It is left as it is.
    Left,
}

/// How many blocks of a round are of the balanced halves, for so many knobs that are tried: the next power of two.
#[must_use]
pub fn halves(tried: usize) -> usize {
    (tried + 1).next_power_of_two()
}

impl Round {
    /// A two-level design of resolution III from Sylvester's matrix (R. L. Plackett & J. P. Burman, Biometrika 33, 1946, for
    /// the powers of two). Which column a knob gets, which half is which and the order of the blocks are drawn anew for
    /// each round: so what two knobs do together adds noise to a third one's effect, but no bias, and a machine that
    /// drifts or has bursts favours none.
    #[must_use]
    pub fn draw(roles: &[Role], random: &mut Random) -> Round {
        let tried: Vec<usize> = (0..roles.len()).filter(|knob| roles[*knob] == Role::Tried).collect();
        let count = halves(tried.len());
        let mut columns: Vec<usize> = (1..count).collect();
        random.shuffle(&mut columns);
        let turned: Vec<bool> = tried.iter().map(|_| random.below(2) == 1).collect();
        let mut rows: Vec<Row> = (0..count)
            .map(|row| {
                let mut on: Vec<bool> = roles.iter().map(|role| *role == Role::Held).collect();
                for ((knob, column), turned) in tried.iter().zip(&columns).zip(&turned) {
                    on[*knob] = ((row & column).count_ones() % 2 == 1) != *turned;
                }
                Row { on, counts: true }
            })
            .collect();
        if rows.iter().all(|row| row.on.contains(&true)) {
            rows.push(Row { on: vec![false; roles.len()], counts: false });
        }
        random.shuffle(&mut rows);
        Round { rows }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_knob_is_set_in_half_of_the_blocks_and_beside_each_other_in_a_quarter() {
        let mut random = Random::new(1);
        for tried in 1..40 {
            let mut roles = vec![Role::Tried; tried];
            roles.push(Role::Held);
            roles.push(Role::Left);
            let round = Round::draw(&roles, &mut random);
            let rows: Vec<&Row> = round.rows.iter().filter(|row| row.counts).collect();
            assert_eq!(rows.len(), halves(tried));
            assert!(rows.iter().all(|row| row.on[tried] && !row.on[tried + 1]));
            assert_eq!(round.rows.len(), rows.len() + 1, "the start is shown");
            for a in 0..tried {
                assert_eq!(rows.iter().filter(|row| row.on[a]).count() * 2, rows.len());
                for b in 0..a {
                    let both = rows.iter().filter(|row| row.on[a] && row.on[b]).count();
                    assert_eq!(both * 4, rows.len(), "{a} {b} of {tried}");
                }
            }
        }
    }

    #[test]
    fn one_knob_is_tried_in_turns_and_the_start_needs_no_block_of_its_own() {
        let round = Round::draw(&[Role::Tried], &mut Random::new(7));
        assert_eq!(round.rows.len(), 2);
        assert!(
            round.rows.iter().any(|row| row.on == [true]) && round.rows.iter().any(|row| row.on == [false])
        );
    }
}
