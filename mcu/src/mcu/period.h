// SPDX-License-Identifier: MIT OR Apache-2.0
// A period in ticks: rounded once, or with its fraction carried exactly from event to event.
#pragma once

#include <mcu/arithmetic.h>

namespace mcu {

/// A period that is a whole number of ticks: what it was rounded to stays wrong by the same amount every time.
template <class Tick>
class Rounded_Period {
public:
    constexpr Rounded_Period() : _ticks(1) {}
    explicit Rounded_Period(Tick ticks) : _ticks(ticks) {}

    /// Ticks from this event to the next.
    Tick next() const { return _ticks; }

private:
    Tick _ticks;
};

/// A period of whole + rest / DENOMINATOR ticks. Event k is due at ceil(k * period): never early, at most one
/// tick late, and without an error that grows (Bresenham's line, drawn in time).
template <class Tick, uint32_t DENOMINATOR>
class Exact_Period {
public:
    constexpr Exact_Period() : _whole(1), _rest(0), _sum(0) {}
    explicit Exact_Period(const Split& split)
        : _whole(Tick(split.whole)), _rest(Fraction(split.rest)), _sum(Fraction(DENOMINATOR - 1)) {}

    /// Ticks from this event to the next.
    inline __attribute__((always_inline)) Tick next() {
        Tick ticks = _whole;
        const Fraction room = Fraction(DENOMINATOR - _rest);
        if (_sum >= room) {
            _sum = Fraction(_sum - room);
            ++ticks;
        } else {
            _sum = Fraction(_sum + _rest);
        }
        return ticks;
    }

private:
    typedef typename If<DENOMINATOR <= 0xff, uint8_t,
                        typename If<DENOMINATOR <= 0xffff, uint16_t, uint32_t>::Result>::Result Fraction;
    Tick _whole;
    Fraction _rest; // 0 ... DENOMINATOR - 1
    Fraction _sum;  // (k * rest - 1) mod DENOMINATOR: beginning at -1 makes the floor of the sum a ceiling
};

/// Periods are always whole where a microsecond is a whole number of ticks: then there is no fraction to carry.
template <class Tick>
class Exact_Period<Tick, 1> : public Rounded_Period<Tick> {
public:
    constexpr Exact_Period() {}
    explicit Exact_Period(const Split& split) : Rounded_Period<Tick>(Tick(split.whole)) {}
};

} // namespace mcu
