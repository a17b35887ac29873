// SPDX-License-Identifier: MIT OR Apache-2.0
// Soft timers: events are served where the program asks whether any are due, and by a tick where it does not.
#pragma once

#include <mcu/period.h>
#include <mcu/strategy/free_running.h>
#include <mcu/timer.h>

namespace mcu {

/// Aron and Druschel, "Soft timers" (2000): `Services::poll` serves what is due, at the price of a comparison, so an event comes
/// as soon as the program passes such a place; the hardware interrupts only every TICK microseconds, for what is due and was
/// not asked for. Due times are kept as Anchored keeps them, so no error accumulates, and no event is early.
///
/// `Anchored` with the trait GRACE does the same without a tick: firm timers.
template <class Traits>
class Soft : public Free_Running<Traits> {
    typedef mcu::Timer<Traits> Timer;
    typedef typename Timer::Device Device;
    typedef typename Timer::Count Count;

    static constexpr uint64_t QUARTER = (Timer::MAX_COUNTS + 1) / 4;
    static constexpr uint64_t COUNTS = Timer::counts(Traits::TICK);
    static constexpr Count STEP = Count(COUNTS);

    static_assert(COUNTS >= 1 && COUNTS <= QUARTER,
                  "TICK is below a count of the timer or above a quarter of its range: choose another TICK or prescaler");
    static_assert(COUNTS * Traits::PRESCALER >= Traits::EVENT_CYCLES,
                  "TICK is shorter than an event takes (EVENT_CYCLES): ticks would be lost");

public:
    static constexpr bool COUNTS_TICKS = false;
    static constexpr bool NEVER_STOPS = true;

    /// One count of the timer.
    typedef uint32_t Tick;
    typedef int32_t Remaining;
    typedef Exact_Period<Tick, Timer::DENOMINATOR> Period;

    /// Every interval in range: fractions are carried.
    static constexpr inline __attribute__((always_inline)) bool keeps(uint32_t microseconds) {
        return Timer::in_range(microseconds);
    }

    static Period period(uint32_t microseconds) { return Period(Timer::to_counts(microseconds)); }
    static Period at_least(uint32_t microseconds) { return period(microseconds); }

    static void init() {
        Free_Running<Traits>::init();
        _mark = Device::count();
        expired();
        Device::enable_match();
    }

    /// Whether the head is served later than it may be: a tick after the tick that should have found it.
    static bool late() { return Remaining(0) - remaining() >= Remaining(2 * COUNTS); }

    /// Whether a handler that began at this count took longer than it may.
    static bool too_long(Count begin) { return Count(Device::count() - begin) >= Count(QUARTER); }

    /// Ticks to add to an interval that begins now, so that it is never short: this count has begun already.
    static Tick lead() { return 1; }

    /// The queue is about to be filled: due now, until shifted.
    static void start() { _left = Remaining(Count(Device::count() - _mark)); }
    static void stop() {}

    /// The interrupt, or the program asks: true when the head is due. However late it is called, each tick counts once.
    static bool expired() {
        do {
            while (Count(Device::count() - _mark) >= STEP) {
                _mark = Count(_mark + STEP);
                _left -= Remaining(COUNTS);
            }
            Device::compare(Count(_mark + STEP - 1));
        } while (Count(Device::count() - _mark) >= STEP);
        return remaining() <= 0;
    }

    /// Counts from now to the head's due time; zero or less if that has passed.
    static Remaining remaining(Count now = Device::count()) { return _left - Remaining(Count(now - _mark)); }

    /// The next event is due `ticks` after this one. False if that has passed already.
    static bool next(Tick ticks) {
        _left += Remaining(ticks);
        return remaining() > 0;
    }

    static inline __attribute__((always_inline)) bool next_after_match(Tick ticks) { return next(ticks); }

    /// Outside of the interrupt: the head is due `ticks` later than said before.
    static void shift(Remaining ticks) { _left += ticks; }

private:
    static Count _mark;     // count of the last tick
    static Remaining _left; // counts from there to the head
};

template <class Traits>
typename Soft<Traits>::Count Soft<Traits>::_mark;

template <class Traits>
typename Soft<Traits>::Remaining Soft<Traits>::_left;

} // namespace mcu
