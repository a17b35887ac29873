// SPDX-License-Identifier: MIT OR Apache-2.0
// Due times that are absolute counts of a counter that never stops: what Anchored and Soft share.
#pragma once

#include <mcu/period.h>
#include <mcu/strategy/free_running.h>
#include <mcu/timer.h>

namespace mcu {

/// One tick is one count of the timer. An event's due time is derived from the due time before it, never from when that was served,
/// and the fraction of a count that a period leaves is carried exactly: event k is due in the first count at or after k periods.
template <class Traits, class TickType>
class Absolute : public Free_Running<Traits> {
    typedef mcu::Timer<Traits> Timer;
    typedef typename Timer::Device Device;

    static_assert(Timer::QUARTER * Timer::DENOMINATOR >= Timer::ONE_EVENT * Timer::NUMERATOR,
                  "an event (EVENT_CYCLES) takes a quarter of the timer's range, which could pass unseen: choose a larger prescaler");

public:
    static constexpr bool COUNTS_TICKS = false;

    typedef TickType Tick;
    typedef typename Signed<Tick>::Result Remaining;
    typedef Exact_Period<Tick, Timer::DENOMINATOR> Period;
    typedef typename Timer::Count Moment;

    /// Every interval in range: fractions are carried.
    static constexpr inline __attribute__((always_inline)) bool keeps(uint32_t microseconds) {
        return Timer::in_range(microseconds);
    }

    static Period period(uint32_t microseconds) { return Period(Timer::to_counts(microseconds)); }

    /// An event is never early.
    static Period at_least(uint32_t microseconds) { return period(microseconds); }

    /// Whether a handler that began at this count took longer than it may.
    static bool too_long(Moment begin) { return Moment(Device::count() - begin) >= Moment(Timer::QUARTER); }

    /// Ticks to add to an interval that begins now, so that it is never short: this count has begun already.
    static Tick lead() { return 1; }

    /// Now, as `remaining` and `aim` count.
    static Moment now() { return Device::count(); }
};

} // namespace mcu
