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

    /// Ticks from this event to the next, in a type that holds them.
    template <class Result = Tick>
    Result next() const {
        return Result(_ticks);
    }

    /// What they are at least.
    Tick ticks() const { return _ticks; }

private:
    Tick _ticks;
};

/// A period of whole + rest / DENOMINATOR ticks. Event k is due at ceil(k * period): never early, at most one
/// tick late, and without an error that grows (Bresenham's line, drawn in time).
template <class Tick, uint32_t DENOMINATOR>
class Exact_Period {
public:
    constexpr Exact_Period() : _whole(1), _rest(0), _left(0) {}
    explicit Exact_Period(const Split& split) : _whole(Tick(split.whole)), _rest(Fraction(split.rest)), _left(0) {}

    /// Ticks from this event to the next, in a type that holds them.
    template <class Result = Tick>
    inline __attribute__((always_inline)) Result next() {
        Result ticks = Result(_whole);
        Fraction left = _left;
        if (left < _rest) {
            left = Fraction(left + DENOMINATOR);
            ++ticks;
        }
        _left = Fraction(left - _rest);
        return ticks;
    }

    /// What they are at least.
    Tick ticks() const { return _whole; }

private:
    typedef typename If<DENOMINATOR <= 0xff, uint8_t,
                        typename If<DENOMINATOR <= 0xffff, uint16_t, uint32_t>::Result>::Result Fraction;
    Tick _whole;
    Fraction _rest; // 0 ... DENOMINATOR - 1
    Fraction _left; // -k * rest mod DENOMINATOR: what is left of the tick in which event k is due
};

/// Periods are always whole where a microsecond is a whole number of ticks: then there is no fraction to carry.
template <class Tick>
class Exact_Period<Tick, 1> : public Rounded_Period<Tick> {
public:
    constexpr Exact_Period() {}
    explicit Exact_Period(const Split& split) : Rounded_Period<Tick>(Tick(split.whole)) {}
};

} // namespace mcu
