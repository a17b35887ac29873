//! Integers in as few bytes as they need: seven bits a byte, low ones first; signed ones with the sign in bit 0 (LEB128
//! and zigzag, as in Thrift's compact protocol and Protocol Buffers). Journals, Parquet's structures and pages use them.

/// Appends a number.
#[inline]
pub fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a signed number.
#[inline]
pub fn put_signed(out: &mut Vec<u8>, value: i64) {
    put(out, ((value << 1) ^ (value >> 63)) as u64);
}

/// Takes a number off the front; `None` if it is cut off or longer than 64 bits.
#[inline]
pub fn take(input: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = input.split_first()?;
        *input = rest;
        if shift == 63 && byte > 1 {
            return None;
        }
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// Takes a signed number off the front.
#[inline]
pub fn take_signed(input: &mut &[u8]) -> Option<i64> {
    let zigzag = take(input)?;
    Some((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64))
}

/// Takes a number that fits a smaller type; `None` if it does not.
#[inline]
pub fn take_as<T: TryFrom<u64>>(input: &mut &[u8]) -> Option<T> {
    T::try_from(take(input)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_put_is_taken(values in prop::collection::vec(any::<(u64, i64)>(), 0..20)) {
            let mut bytes = Vec::new();
            for (a, b) in &values {
                put(&mut bytes, *a);
                put_signed(&mut bytes, *b);
            }
            let mut rest = &bytes[..];
            for (a, b) in &values {
                prop_assert_eq!(take(&mut rest), Some(*a));
                prop_assert_eq!(take_signed(&mut rest), Some(*b));
            }
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn any_bytes_give_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..20)) {
            let mut rest = &bytes[..];
            while take(&mut rest).is_some() {}
        }
    }
}
