//! A picture on terminals that show one: by kitty's graphics protocol, which Ghostty and WezTerm know as well
//! (<https://sw.kovidgoyal.net/kitty/graphics-protocol/>).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

/// The most characters that one escape sequence may carry.
const PIECE: usize = 4096;

/// A PNG as such a terminal takes it, `columns` wide, with a line feed behind it. The terminal is asked not to answer.
#[must_use]
pub fn kitty(png: &[u8], columns: usize) -> String {
    let data = BASE64.encode(png);
    let mut text = String::new();
    let mut rest = data.as_str();
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.len().min(PIECE));
        let begin = if text.is_empty() { format!("a=T,f=100,q=2,c={columns},") } else { String::new() };
        text += &format!("\x1b_G{begin}m={};{piece}\x1b\\", u8::from(!after.is_empty()));
        rest = after;
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_make_the_picture_again() {
        let png: Vec<u8> = (0..10_000u32).map(|k| ((k * 37) >> 3) as u8).collect();
        let text = kitty(&png, 80);
        assert!(text.starts_with("\x1b_Ga=T,f=100,q=2,c=80,m=1;") && text.ends_with("\x1b\\\n"));
        let pieces: Vec<&str> = text
            .trim_end()
            .split_terminator("\x1b\\")
            .filter_map(|piece| piece.split_once(';'))
            .map(|p| p.1)
            .collect();
        assert!(pieces.len() == 4 && pieces.iter().all(|piece| piece.len() <= PIECE));
        assert_eq!(BASE64.decode(pieces.concat()).unwrap(), png);
        assert_eq!(text.matches("m=0;").count(), 1, "only the last is the last");
    }
}
