//! Marks of causes: a letter and a colour by the class, the same on every page, in every table and in every lane.

use jitterlab_model::causes::{Cause, CauseClass as Class};

use super::words::class_letter;
use crate::chart::Layer;

/// Marks of the usual way, and of causes that have none of their own.
pub const USUAL: char = '·';
pub const OTHER: char = '*';

/// Letters of causes listed together: the second of a class has a small letter, further ones a digit.
pub fn cause_letters<'a>(causes: &[&'a Cause]) -> Vec<char> {
    let mut known: Vec<&Cause> = Vec::new();
    let mark = |cause: &&'a Cause| {
        let own = class_letter(cause.class);
        if !known.contains(cause) {
            known.push(cause);
        }
        let mut of_class = known.iter().filter(|other| class_letter(other.class) == own);
        match of_class.position(|other| other == cause).unwrap_or(0) {
            _ if own == USUAL => own,
            0 => own,
            1 => own.to_ascii_lowercase(),
            more => u32::try_from(more).ok().and_then(|more| char::from_digit(more, 10)).unwrap_or(OTHER),
        }
    };
    causes.iter().map(mark).collect()
}

/// The colour of a class in figures, as a number of the palette.
pub fn class_colour(class: Class) -> usize {
    match class_letter(class) {
        'I' => 0,
        'T' | 'O' => 1,
        'S' => 2,
        'K' => 3,
        'D' | 'V' => 4,
        'P' => 5,
        _ => OTHERS,
    }
}

/// The colour of all other causes.
pub const OTHERS: usize = Layer::PERIOD;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_of_one_class_are_told_apart() {
        let of = |class, who: &str| Cause { class, who: Some(who.into()) };
        let all =
            [of(Class::Preempted, "a"), of(Class::Idle, "b"), of(Class::Shared, "c"), of(Class::Shared, "d")];
        let twice: Vec<&Cause> = all.iter().chain(&all).collect();
        assert_eq!(cause_letters(&twice), ['P', 'I', 'p', '2', 'P', 'I', 'p', '2']);
    }
}
