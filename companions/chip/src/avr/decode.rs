//! The instruction words of an AVR, taken apart once when the firmware is loaded.
//!
//! Source: "AVR Instruction Set Manual" (DS40002198), section 5.

/// Operation of an instruction. The letters after the name of a memory access are the pointer and its change:
/// `P` adds one afterwards, `M` subtracts one before, `Q` adds a displacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[rustfmt::skip]
pub enum Kind {
    Nop, Movw, Muls, Mulsu, Fmul, Fmuls, Fmulsu, Mul,
    Cpc, Sbc, Add, Cpse, Cp, Sub, Adc, And, Eor, Or, Mov,
    Cpi, Sbci, Subi, Ori, Andi, Ldi,
    LdX, LdXP, LdXM, LdYP, LdYM, LdYQ, LdZP, LdZM, LdZQ, Lds,
    StX, StXP, StXM, StYP, StYM, StYQ, StZP, StZM, StZQ, Sts,
    Lpm, LpmP, Elpm, ElpmP, Spm, Push, Pop, Xch, Las, Lac, Lat,
    Com, Neg, Swap, Inc, Asr, Lsr, Ror, Dec, Adiw, Sbiw,
    Bset, Bclr, Bst, Bld, Brbs, Brbc, Sbrc, Sbrs, Cbi, Sbi, Sbic, Sbis, In, Out,
    Jmp, Call, Rjmp, Rcall, Ijmp, Eijmp, Icall, Eicall, Ret, Reti,
    Sleep, Wdr, Break,
    /// No instruction: the manual leaves the word reserved.
    Invalid,
}

/// One instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Op {
    pub kind: Kind,
    /// Destination register, or a flag's number.
    pub d: u8,
    /// Source register, or a bit's number.
    pub r: u8,
    /// Length in words.
    pub words: u8,
    /// A constant: an address, a displacement, an immediate value, or the distance of a jump.
    pub k: i32,
}

/// Decodes the instruction that begins with `word`; `next` is the following word.
pub fn decode(word: u16, next: u16) -> Op {
    use Kind as K;
    let d5 = (word >> 4 & 0x1f) as u8;
    let r5 = ((word >> 5 & 0x10) | (word & 0xf)) as u8;
    let d4 = 16 + (word >> 4 & 0xf) as u8;
    let k8 = i32::from((word >> 4 & 0xf0) | (word & 0xf));
    let op = |kind, d, r, k| Op { kind, d, r, words: 1, k };
    let two = |kind| op(kind, d5, r5, 0);
    let immediate = |kind| op(kind, d4, 0, k8);
    match word >> 12 {
        0x0 => match word >> 10 & 3 {
            0 => match word >> 8 & 3 {
                0 if word == 0 => op(K::Nop, 0, 0, 0),
                0 => op(K::Invalid, 0, 0, i32::from(word)),
                1 => op(K::Movw, (word >> 3 & 0x1e) as u8, (word << 1 & 0x1e) as u8, 0),
                2 => op(K::Muls, d4, 16 + (word & 0xf) as u8, 0),
                _ => {
                    let kind = match word & 0x88 {
                        0x00 => K::Mulsu,
                        0x08 => K::Fmul,
                        0x80 => K::Fmuls,
                        _ => K::Fmulsu,
                    };
                    op(kind, 16 + (word >> 4 & 7) as u8, 16 + (word & 7) as u8, 0)
                }
            },
            1 => two(K::Cpc),
            2 => two(K::Sbc),
            _ => two(K::Add),
        },
        0x1 => two([K::Cpse, K::Cp, K::Sub, K::Adc][usize::from(word >> 10 & 3)]),
        0x2 => two([K::And, K::Eor, K::Or, K::Mov][usize::from(word >> 10 & 3)]),
        0x3 => immediate(K::Cpi),
        0x4 => immediate(K::Sbci),
        0x5 => immediate(K::Subi),
        0x6 => immediate(K::Ori),
        0x7 => immediate(K::Andi),
        0x8 | 0xa => {
            let q = i32::from((word >> 8 & 0x20) | (word >> 7 & 0x18) | (word & 7));
            let kind = match (word >> 9 & 1, word >> 3 & 1) {
                (0, 0) => K::LdZQ,
                (0, _) => K::LdYQ,
                (_, 0) => K::StZQ,
                _ => K::StYQ,
            };
            op(kind, d5, 0, q)
        }
        0x9 => decode_9(word, next, d5, r5),
        0xb => {
            let address = i32::from((word >> 5 & 0x30) | (word & 0xf));
            op(if word & 0x800 == 0 { K::In } else { K::Out }, d5, 0, address)
        }
        0xc | 0xd => {
            let far = i32::from((word << 4) as i16 >> 4);
            op(if word >> 12 == 0xc { K::Rjmp } else { K::Rcall }, 0, 0, far)
        }
        0xe => immediate(K::Ldi),
        _ => {
            let bit = (word & 7) as u8;
            match word >> 9 & 7 {
                0 | 1 => op(K::Brbs, bit, 0, i32::from((word << 6) as i16 >> 9)),
                2 | 3 => op(K::Brbc, bit, 0, i32::from((word << 6) as i16 >> 9)),
                _ if word & 8 != 0 => op(K::Invalid, 0, 0, i32::from(word)),
                4 => op(K::Bld, d5, bit, 0),
                5 => op(K::Bst, d5, bit, 0),
                6 => op(K::Sbrc, d5, bit, 0),
                _ => op(K::Sbrs, d5, bit, 0),
            }
        }
    }
}

/// Decodes the words that begin with 1001.
fn decode_9(word: u16, next: u16, d5: u8, r5: u8) -> Op {
    use Kind as K;
    let op = |kind, d, r, k| Op { kind, d, r, words: 1, k };
    let invalid = op(K::Invalid, 0, 0, i32::from(word));
    let with_address = |kind| Op { kind, d: d5, r: 0, words: 2, k: i32::from(next) };
    let of = |kind| op(kind, d5, 0, 0);
    match word >> 9 & 7 {
        0 => match word & 0xf {
            0x0 => with_address(K::Lds),
            0x1 => of(K::LdZP),
            0x2 => of(K::LdZM),
            0x4 => of(K::Lpm),
            0x5 => of(K::LpmP),
            0x6 => of(K::Elpm),
            0x7 => of(K::ElpmP),
            0x9 => of(K::LdYP),
            0xa => of(K::LdYM),
            0xc => of(K::LdX),
            0xd => of(K::LdXP),
            0xe => of(K::LdXM),
            0xf => of(K::Pop),
            _ => invalid,
        },
        1 => match word & 0xf {
            0x0 => with_address(K::Sts),
            0x1 => of(K::StZP),
            0x2 => of(K::StZM),
            0x4 => of(K::Xch),
            0x5 => of(K::Las),
            0x6 => of(K::Lac),
            0x7 => of(K::Lat),
            0x9 => of(K::StYP),
            0xa => of(K::StYM),
            0xc => of(K::StX),
            0xd => of(K::StXP),
            0xe => of(K::StXM),
            0xf => of(K::Push),
            _ => invalid,
        },
        2 => match word & 0xf {
            0x0 => of(K::Com),
            0x1 => of(K::Neg),
            0x2 => of(K::Swap),
            0x3 => of(K::Inc),
            0x5 => of(K::Asr),
            0x6 => of(K::Lsr),
            0x7 => of(K::Ror),
            0xa => of(K::Dec),
            0xc..=0xf => {
                let high = i32::from((word >> 3 & 0x3e) | (word & 1)) << 16;
                let kind = if word & 2 == 0 { K::Jmp } else { K::Call };
                Op { kind, d: 0, r: 0, words: 2, k: high | i32::from(next) }
            }
            0x8 if word & 0x100 == 0 => {
                let flag = (word >> 4 & 7) as u8;
                op(if word & 0x80 == 0 { K::Bset } else { K::Bclr }, flag, 0, 0)
            }
            0x8 | 0x9 => match word {
                0x9508 => of(K::Ret),
                0x9518 => of(K::Reti),
                0x9588 => of(K::Sleep),
                0x9598 => of(K::Break),
                0x95a8 => of(K::Wdr),
                0x95c8 => op(K::Lpm, 0, 0, 0),
                0x95d8 => op(K::Elpm, 0, 0, 0),
                0x95e8 | 0x95f8 => of(K::Spm),
                0x9409 => of(K::Ijmp),
                0x9419 => of(K::Eijmp),
                0x9509 => of(K::Icall),
                0x9519 => of(K::Eicall),
                _ => invalid,
            },
            _ => invalid,
        },
        3 => {
            let pair = 24 + (word >> 3 & 6) as u8;
            let k = i32::from((word >> 2 & 0x30) | (word & 0xf));
            op(if word & 0x100 == 0 { K::Adiw } else { K::Sbiw }, pair, 0, k)
        }
        4 | 5 => {
            let kind = [K::Cbi, K::Sbic, K::Sbi, K::Sbis][usize::from(word >> 8 & 3)];
            op(kind, 0, (word & 7) as u8, i32::from(word >> 3 & 0x1f))
        }
        _ => op(K::Mul, d5, r5, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(word: u16, next: u16, kind: Kind, d: u8, r: u8, k: i32) {
        let op = decode(word, next);
        assert_eq!((op.kind, op.d, op.r, op.k), (kind, d, r, k), "{word:04x}");
    }

    /// Output of avr-as for these lines.
    #[test]
    fn instructions_are_what_the_assembler_wrote() {
        is(0x0fff, 0, Kind::Add, 31, 31, 0); // add r31, r31
        is(0x01fc, 0, Kind::Movw, 30, 24, 0); // movw r30, r24
        is(0xe5af, 0, Kind::Ldi, 26, 0, 0x5f); // ldi r26, 0x5f
        is(0x9180, 0x0102, Kind::Lds, 24, 0, 0x102); // lds r24, 0x102
        is(0x9380, 0x0102, Kind::Sts, 24, 0, 0x102);
        is(0x940e, 0x0068, Kind::Call, 0, 0, 0x68); // call 0xd0
        is(0x941d, 0x0001, Kind::Jmp, 0, 0, 0x3_0001);
        is(0xcfff, 0, Kind::Rjmp, 0, 0, -1);
        is(0xd7ff, 0, Kind::Rcall, 0, 0, 0x7ff);
        is(0xf7f1, 0, Kind::Brbc, 1, 0, -2); // brne .-4
        is(0xf009, 0, Kind::Brbs, 1, 0, 1); // breq .+2
        is(0x9631, 0, Kind::Adiw, 30, 0, 1);
        is(0x97cd, 0, Kind::Sbiw, 24, 0, 0x3d); // sbiw r24, 61
        is(0x9a28, 0, Kind::Sbi, 0, 0, 5); // sbi 0x05, 0
        is(0xb60f, 0, Kind::In, 0, 0, 0x3f);
        is(0xbe0f, 0, Kind::Out, 0, 0, 0x3f);
        is(0x8189, 0, Kind::LdYQ, 24, 0, 1); // ldd r24, Y+1
        is(0xafff, 0, Kind::StYQ, 31, 0, 63);
        is(0x8180, 0, Kind::LdZQ, 24, 0, 0);
        is(0x9478, 0, Kind::Bset, 7, 0, 0); // sei
        is(0x94f8, 0, Kind::Bclr, 7, 0, 0); // cli
        is(0xfd87, 0, Kind::Sbrc, 24, 7, 0);
        is(0x9f8a, 0, Kind::Mul, 24, 26, 0);
        is(0x0381, 0, Kind::Fmuls, 16, 17, 0);
        is(0x0389, 0, Kind::Fmulsu, 16, 17, 0);
        is(0x95f8, 0, Kind::Spm, 31, 0, 0);
    }

    #[test]
    fn every_word_is_decoded() {
        let invalid = (0..=u16::MAX).filter(|w| decode(*w, 0).kind == Kind::Invalid).count();
        // Reserved: 255 below the first MOVW, and the gaps of 1001 and 1111.
        assert!((255..2_000).contains(&invalid), "{invalid}");
    }
}
