// SPDX-License-Identifier: MIT OR Apache-2.0
// Single shot as in the paper: after each event the timer is programmed anew with the interval to the next.
#pragma once

#include <mcu/strategy/anchored.h>
#include <mcu/strategy/countdown.h>
#include <mcu/strategy/free_running.h>
#include <mcu/tick.h>

namespace mcu {

/// Intervals up to equation 1's limit: one interrupt per event. An interval begins when the timer is programmed, so the
/// time from the match to that moment is lost at every event (in whole counts: below one count nothing is lost), and a
/// period is rounded to counts. Instead of clearing the counter, which would take the time-stamp counter with it, the
/// interval is added to where the counter stands.
///
/// An interval and what it is served late by (a lock, a handler) must together fit into the counter's range.
template <class Traits>
class Single_Shot_In_Hardware : public Free_Running<Traits> {
    typedef mcu::Timer<Traits> Timer;
    typedef typename Timer::Device Device;
    typedef typename Timer::Count Count;

    static_assert(Timer::LEAD == 0, "this timer's interrupts come too late for inexact single shots: take the strategy Anchored");

public:
    static constexpr bool COUNTS_TICKS = false;
    static constexpr bool NEVER_STOPS = false;

    /// One count of the timer.
    typedef typename If<Timer::FAR, uint32_t, Count>::Result Tick;
    typedef typename Signed<Tick>::Result Remaining;
    typedef Rounded_Period<Tick> Period;
    typedef Count Moment;
    typedef Tick Short;

    static Period period(uint32_t microseconds) {
        const Split counts = Timer::to_counts(microseconds);
        const Tick rounded = Tick(counts.whole + (counts.rest >= Timer::DENOMINATOR - counts.rest ? 1 : 0));
        return Period(rounded == 0 ? 1 : rounded);
    }

    static constexpr inline __attribute__((always_inline)) bool keeps(uint32_t microseconds) {
        return Timer::in_range(microseconds);
    }

    static Period at_least(uint32_t microseconds) {
        const Split counts = Timer::to_counts(microseconds);
        return Period(Tick(counts.whole + (counts.rest == 0 && counts.whole != 0 ? 0 : 1)));
    }

    /// Whether the head is served later than it may be.
    static bool late() { return Count(Device::count() - Device::compare()) >= Count(Timer::QUARTER); }

    /// Whether a handler that began at this count took longer than it may.
    static bool too_long(Count begin) { return Count(Device::count() - begin) >= Count(Timer::QUARTER); }

    /// Ticks to add to an interval that begins now, so that it is never short: this tick has begun already.
    static Tick lead() { return 1; }

    /// The queue is about to be filled.
    static void start() { Device::enable_match(); }

    /// Nothing is left to wait for.
    static void stop() { Device::disable_match(); }

    static bool expired() { return true; }

    /// Now, as `remaining` and `aim` count.
    static Count now() { return Device::count(); }

    /// Ticks from now to the head's due time; zero or less if that has passed.
    static Remaining remaining(Count now = Device::count()) {
        // What the timer was programmed with, less what has passed since.
        const Count interval = Count(Device::compare() + 1 - Traits::COMPARE_EXCESS - _base);
        return Remaining(Remaining(interval) - Remaining(Count(now - _base)));
    }

    /// In the interrupt: the next event is due `ticks` after now. False if that has passed already.
    static bool next(Tick ticks) { return shoot(Device::count(), Count(ticks), true); }

    /// The same for the first event an interrupt serves: the hardware has forgotten the match.
    static inline __attribute__((always_inline)) bool next_simple(Tick ticks) {
        return shoot(Device::count(), Count(ticks), false);
    }

    static bool is_simple(const Period&) { return true; }

    /// Outside of the interrupt: the head is due so many ticks after a moment, or as soon as the hardware can.
    static void aim(Count now, Remaining ahead) {
        bool comes = ahead > 0 && shoot(now, Count(ahead), true);
        for (Count margin = 1; !comes; margin = Count(margin * 2)) comes = shoot(Device::count(), margin, true);
    }

private:
    static inline __attribute__((always_inline)) bool shoot(Count now, Count interval, bool forget) {
        _base = now;
        Device::compare(Count(now + interval - 1 + Traits::COMPARE_EXCESS));
        if (forget) Free_Running<Traits>::forget_match();
        return Count(Device::count() - now) < interval;
    }

    static Count _base;
};

template <class Traits>
typename Single_Shot_In_Hardware<Traits>::Count Single_Shot_In_Hardware<Traits>::_base;

/// Intervals beyond it: the timer is programmed for SOFTWARE_TICK microseconds again and again, and an event counts
/// these interrupts. Every one of them is a single shot, so every one loses what a single shot loses.
template <class Traits>
class Single_Shot_In_Software
    : public Free_Running<Traits>,
      public Countdown<Single_Shot_In_Software<Traits>, typename Tick_Of<Traits, Traits::SOFTWARE_TICK>::Number> {
    typedef mcu::Timer<Traits> Timer;
    typedef typename Timer::Device Device;
    typedef typename Timer::Count Count;
    typedef mcu::Tick_Of<Traits, Traits::SOFTWARE_TICK> Tick_Length;
    typedef mcu::Countdown<Single_Shot_In_Software, typename Tick_Length::Number> Countdown;

    static_assert(Timer::LEAD == 0, "this timer's interrupts come too late for inexact single shots: take the strategy Anchored");
    static_assert(Timer::in_hardware(Traits::SOFTWARE_TICK),
                  "SOFTWARE_TICK is above the timer's longest period (equation 1): shorten it");

public:
    static constexpr bool NEVER_STOPS = false;

    typedef typename Countdown::Tick Tick;
    typedef typename Tick_Length::Period Period;

    static constexpr inline __attribute__((always_inline)) bool keeps(uint32_t microseconds) {
        return Timer::in_range(microseconds) && Tick_Length::is_one(microseconds);
    }

    static Period period(uint32_t microseconds) { return Tick_Length::period(microseconds); }
    static Period at_least(uint32_t microseconds) { return Tick_Length::at_least(microseconds); }

    /// The next shot is programmed already: whether a quarter of it has passed.
    static bool late() {
        const Count left = Count(Device::compare() - Device::count());
        return left < Count(Tick_Length::COUNTS - Tick_Length::COUNTS / 4);
    }

    /// Whether a handler that began at this count took a shot.
    static bool too_long(Count begin) { return Count(Device::count() - begin) >= Count(Tick_Length::COUNTS); }

    static Tick lead() { return Device::matched() ? 2 : 1; }

    static void start() {
        shoot();
        Free_Running<Traits>::forget_match();
        Device::enable_match();
    }

    static void stop() { Device::disable_match(); }

    static bool expired() {
        shoot();
        return Countdown::expired();
    }

private:
    static void shoot() {
        Device::compare(typename Device::Count(Device::count() + Tick_Length::COUNTS - 1 + Traits::COMPARE_EXCESS));
    }
};

/// A single shot that keeps its periods begins each where the one before was due, not where it was served: that is
/// Anchored. With the trait INEXACT it is the paper's, and MAX_PERIOD decides which of the two.
template <class Traits>
using Single_Shot = typename If<!Traits::INEXACT, Anchored<Traits>,
                                typename If<Timer<Traits>::COUNTS_IN_SOFTWARE, Single_Shot_In_Software<Traits>,
                                            Single_Shot_In_Hardware<Traits>>::Result>::Result;

} // namespace mcu
