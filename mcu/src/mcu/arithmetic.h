// SPDX-License-Identifier: MIT OR Apache-2.0
// The little compile-time arithmetic the library needs: avr-libc has no <type_traits> and no <ratio>.
#pragma once

#include <stdint.h>

namespace mcu {

/// `If<condition, A, B>::Result` is A where the condition holds, else B.
template <bool CONDITION, class A, class B>
struct If {
    typedef A Result;
};

template <class A, class B>
struct If<false, A, B> {
    typedef B Result;
};

/// `Signed<T>::Result` is the signed integer as wide as the unsigned T.
template <class T>
struct Signed {
    typedef typename If<sizeof(T) == 1, int8_t, typename If<sizeof(T) == 2, int16_t, int32_t>::Result>::Result Result;
};

/// Greatest common divisor (Euclid).
constexpr uint64_t gcd(uint64_t a, uint64_t b) { return b == 0 ? a : gcd(b, a % b); }

/// Smallest integer not below a / b.
constexpr uint64_t ceiling(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

/// Integer nearest to a / b, halves upwards.
constexpr uint64_t nearest(uint64_t a, uint64_t b) { return (a + b / 2) / b; }

/// An amount x split by a fraction: x * NUMERATOR / DENOMINATOR = whole + rest / DENOMINATOR, exactly.
struct Split {
    uint32_t whole;
    uint32_t rest;
};

/// x * NUMERATOR / DENOMINATOR for a reduced fraction, without a rounding error and in 32-bit steps:
/// with x = q * DENOMINATOR + r, it is q * NUMERATOR + r * NUMERATOR / DENOMINATOR.
template <uint32_t NUMERATOR, uint32_t DENOMINATOR>
inline constexpr __attribute__((always_inline)) Split split(uint32_t x) {
    static_assert(uint64_t(NUMERATOR) * DENOMINATOR <= 0xffffffffu,
                  "this clock and prescaler need a fraction that does not fit into 32 bits: choose another prescaler");
    if (DENOMINATOR == 1) return Split{x * NUMERATOR, 0};
    const uint32_t part = x % DENOMINATOR * NUMERATOR;
    return Split{x / DENOMINATOR * NUMERATOR + part / DENOMINATOR, part % DENOMINATOR};
}

} // namespace mcu
