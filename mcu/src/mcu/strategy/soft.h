// SPDX-License-Identifier: MIT OR Apache-2.0
// Soft timers: events are served where the program asks whether any are due, and by a tick where it does not.
#pragma once

#include <mcu/strategy/absolute.h>

namespace mcu {

/// Aron and Druschel, "Soft timers" (2000): `Services::poll` serves what is due, at the price of a comparison, so an event comes
/// as soon as the program passes such a place; the hardware interrupts only every TICK microseconds, for what is due and was
/// not asked for. Due times are kept as Anchored keeps them, so no error accumulates, and no event is early.
///
/// `Anchored` with the trait GRACE does the same without a tick: firm timers.
template <class Traits>
class Soft : public Absolute<Traits, uint32_t> {
    typedef mcu::Timer<Traits> Timer;
    typedef typename Timer::Device Device;
    typedef typename Timer::Count Count;

    static constexpr uint64_t COUNTS = Timer::counts(Traits::TICK);
    static constexpr Count STEP = Count(COUNTS);

    static_assert(Timer::LEAD == 0, "this timer's interrupts come too late for a tick: take the strategy Anchored");
    // (A match right after the counter is set is lost: section 16.7.2 of the ATmega328P's data sheet.)
    static_assert(COUNTS >= 2 && COUNTS <= Timer::QUARTER,
                  "TICK is below two counts of the timer or above a quarter of its range: choose another TICK or prescaler");
    static_assert(COUNTS * Traits::PRESCALER >= Traits::EVENT_CYCLES,
                  "TICK is shorter than an event takes (EVENT_CYCLES): ticks would be lost");

public:
    static constexpr bool NEVER_STOPS = true;

    typedef uint32_t Tick;
    typedef int32_t Remaining;
    typedef Tick Short;

    static void init() {
        Free_Running<Traits>::init();
        _mark = Device::count();
        expired();
        Device::enable_match();
    }

    /// Whether the head is served later than it may be: a tick after the tick that should have found it.
    static bool late() { return Remaining(0) - remaining() >= Remaining(2 * COUNTS); }

    static void start() {}
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

    /// Counts from a moment to the head's due time; zero or less if that has passed.
    static Remaining remaining(Count now = Device::count()) { return _left - Remaining(Count(now - _mark)); }

    /// The next event is due `ticks` after this one. False if that has passed already.
    static bool next(Tick ticks) {
        _left += Remaining(ticks);
        return remaining() > 0;
    }

    /// What is due has to be looked for: no event is simple.
    template <class Period>
    static bool is_simple(const Period&) {
        return false;
    }
    static bool next_simple(Tick ticks) { return next(ticks); }

    /// Outside of the interrupt: the head is due so many ticks after a moment.
    static void aim(Count now, Remaining ahead) { _left = ahead + Remaining(Count(now - _mark)); }

private:
    static Count _mark;     // count of the last tick
    static Remaining _left; // counts from there to the head
};

template <class Traits>
typename Soft<Traits>::Count Soft<Traits>::_mark;

template <class Traits>
typename Soft<Traits>::Remaining Soft<Traits>::_left;

} // namespace mcu
