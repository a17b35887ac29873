// SPDX-License-Identifier: MIT OR Apache-2.0
// Counting ticks in software, for the strategies whose hardware interrupts more often than events are due.
#pragma once

#include <mcu/arithmetic.h>

namespace mcu {

/// Ticks to the head's due time, counted down by the interrupt of every tick.
template <class Strategy, class TickType>
class Countdown {
public:
    typedef TickType Tick;
    typedef typename Signed<Tick>::Result Remaining;
    typedef uint8_t Moment;
    typedef Tick Short;
    static constexpr bool COUNTS_TICKS = true;

    /// One tick of the hardware: true when the head is due.
    static bool expired() {
        const Tick left = Tick(_left - 1);
        _left = left;
        return left == 0;
    }

    /// Only the interrupt lets time pass: it is always now.
    static Moment now() { return 0; }

    /// Ticks from now to the head's due time.
    static Remaining remaining(Moment = 0) { return Remaining(_left); }

    /// In the interrupt: the next event is due `ticks` after this one. False if that is now.
    static bool next(Tick ticks) {
        _left = ticks;
        return ticks != 0;
    }

    static inline __attribute__((always_inline)) bool next_simple(Tick ticks) { return next(ticks); }

    template <class Period>
    static bool is_simple(const Period&) {
        return true;
    }

    /// Outside of the interrupt: the head is due in so many ticks.
    static void aim(Moment, Remaining ahead) { _left = Tick(ahead); }

protected:
    static Tick _left;
};

template <class Strategy, class TickType>
TickType Countdown<Strategy, TickType>::_left;

} // namespace mcu
