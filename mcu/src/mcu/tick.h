// SPDX-License-Identifier: MIT OR Apache-2.0
// A tick of software counting: a fixed number of counts of the timer.
#pragma once

#include <mcu/period.h>
#include <mcu/timer.h>

namespace mcu {

/// A tick of MICROSECONDS, rounded to counts. Beyond the hardware's range (equation 1) it is made of several equal
/// hardware periods, as few as possible, and each of them is a tick.
template <class Traits, uint32_t MICROSECONDS>
class Tick_Of {
    typedef mcu::Timer<Traits> Timer;

    static constexpr uint64_t WANTED = Timer::counts(MICROSECONDS) == 0 ? 1 : Timer::counts(MICROSECONDS);

    /// The smallest divisor of WANTED that is at least `from`; gives up soon, for then rounding costs next to nothing.
    static constexpr uint64_t divisor(uint64_t from, unsigned tries) {
        return WANTED % from == 0 || tries == 0 ? from : divisor(from + 1, tries - 1);
    }
    static constexpr uint64_t PARTS = divisor(ceiling(WANTED, Timer::MAX_COUNTS), 64);

public:
    /// Counts from one tick to the next.
    static constexpr uint64_t COUNTS = nearest(WANTED, PARTS);

    /// Whether it is as long as wanted, exactly.
    static constexpr bool EXACT = uint64_t(MICROSECONDS) * Timer::NUMERATOR == COUNTS * PARTS * Timer::DENOMINATOR;

    /// A number of ticks: up to MAX_PERIOD, with room for sums and signs.
    typedef typename If<(Timer::counts(Traits::MAX_PERIOD) / COUNTS >= 0x3fff), uint32_t, uint16_t>::Result Number;
    typedef Rounded_Period<Number> Period;

    /// Whether a time is a whole number of ticks.
    static constexpr inline __attribute__((always_inline)) bool is_whole(uint32_t microseconds) {
        return Timer::to_counts(microseconds).rest == 0 && Timer::to_counts(microseconds).whole % uint32_t(COUNTS) == 0;
    }

    /// Whether a time is not shorter than a tick, but for a count.
    static constexpr inline __attribute__((always_inline)) bool is_one(uint32_t microseconds) {
        return Timer::to_counts(microseconds).whole + 1 >= uint32_t(COUNTS);
    }

    /// The period of whole ticks nearest to a time, at least one.
    static Period period(uint32_t microseconds) {
        const uint32_t ticks = (Timer::to_counts(microseconds).whole + uint32_t(COUNTS / 2)) / uint32_t(COUNTS);
        return Period(Number(ticks == 0 ? 1 : ticks));
    }

    /// The shortest period of whole ticks that is not below a time.
    static Period at_least(uint32_t microseconds) {
        const Split counts = Timer::to_counts(microseconds);
        const uint32_t ticks = (counts.whole + (counts.rest == 0 ? 0 : 1) + uint32_t(COUNTS - 1)) / uint32_t(COUNTS);
        return Period(Number(ticks == 0 ? 1 : ticks));
    }
};

} // namespace mcu
