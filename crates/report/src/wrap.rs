//! Sentences broken into lines for the terminal.

/// Breaks a sentence into lines of at most 80 columns, the further ones indented.
pub fn wrap(sentence: &str) -> String {
    wrapped(sentence, "")
}

/// The same with every line indented.
pub fn wrap_indented(sentence: &str) -> String {
    wrapped(sentence, "  ")
}

fn wrapped(sentence: &str, before: &str) -> String {
    let mut text = String::new();
    let mut width = 0;
    for word in sentence.split_whitespace() {
        let length = word.chars().count();
        if width == 0 {
            text.push_str(before);
            width = before.len();
        } else if width + 1 + length > 80 {
            text.push_str("\n  ");
            width = 2;
        } else {
            text.push(' ');
            width += 1;
        }
        text.push_str(word);
        width += length;
    }
    text.push('\n');
    text
}

/// A list of remarks below their heading; nothing where there are none.
pub fn remarks(heading: &str, remarks: &[String]) -> String {
    if remarks.is_empty() {
        return String::new();
    }
    let items: String = remarks.iter().map(|remark| wrap(&format!("- {remark}"))).collect();
    format!("\n{heading}:\n{items}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_sentences_are_broken_between_words() {
        let text = wrap(&"jitter ".repeat(30));
        assert!(text.lines().count() == 3 && text.lines().all(|l| l.chars().count() <= 80), "{text}");
    }
}
