// SPDX-License-Identifier: MIT OR Apache-2.0
// The classic tick: the timer interrupts at a constant rate, and alarms count its interrupts.
#pragma once

#include <mcu/strategy/countdown.h>
#include <mcu/tick.h>

namespace mcu {

/// The hardware restarts itself every TICK microseconds (rounded to counts), so the ticks themselves do not drift;
/// what an alarm's period loses by being rounded to ticks, it loses every time. The tick never stops: it is the
/// program's sense of time even when no alarm is pending.
template <class Traits>
class Periodic : public Countdown<Periodic<Traits>, typename Tick_Of<Traits, Traits::TICK>::Number> {
    typedef mcu::Timer<Traits> Timer;
    typedef typename Timer::Device Device;
    typedef mcu::Tick_Of<Traits, Traits::TICK> Tick_Length;
    typedef mcu::Countdown<Periodic, typename Tick_Length::Number> Countdown;

    static_assert(Timer::LEAD == 0, "this timer's interrupts come too late for a tick: take the strategy Anchored");
    static_assert(Timer::not_too_short(Traits::TICK),
                  "TICK is below one count of the timer (equation 1): lengthen it or choose a smaller prescaler");
    static_assert(Timer::in_hardware(Traits::TICK) || Timer::COUNTS_IN_SOFTWARE,
                  "TICK is above the timer's longest period (equation 1): choose a larger prescaler, or raise MAX_PERIOD "
                  "to count in software");

    static_assert(Traits::INEXACT || Tick_Length::EXACT,
                  "TICK is not a whole number of counts: choose another TICK or prescaler, or allow it with the trait INEXACT");
    // (A match right after the counter is set is lost, and the counter would not end there: section 16.7.2.)
    static_assert(Traits::INEXACT || Tick_Length::COUNTS >= 2,
                  "TICK is a single count of the timer: choose another TICK or prescaler");
    static_assert(uint64_t(Tick_Length::COUNTS) * Traits::PRESCALER >= Traits::EVENT_CYCLES,
                  "TICK is shorter than an event takes (EVENT_CYCLES): ticks would be lost");

public:
    static constexpr bool NEVER_STOPS = true;

    typedef typename Countdown::Tick Tick;
    typedef typename Tick_Length::Period Period;

    /// Whole numbers of ticks.
    static constexpr inline __attribute__((always_inline)) bool keeps(uint32_t microseconds) {
        return Timer::in_range(microseconds) && (Traits::INEXACT ? Tick_Length::is_one(microseconds) : Tick_Length::is_whole(microseconds));
    }

    static Period period(uint32_t microseconds) { return Tick_Length::period(microseconds); }
    static Period at_least(uint32_t microseconds) { return Tick_Length::at_least(microseconds); }

    /// Whether this tick is served so late that the next could have been lost.
    static bool late() { return Device::count() > typename Device::Count(Tick_Length::COUNTS / 2); }

    /// Whether a handler that began at this count took a tick.
    static bool too_long(typename Device::Count begin) { return Device::matched() && Device::count() >= begin; }

    static void init() {
        Device::run_periodic(typename Device::Count(Tick_Length::COUNTS - 1 + Traits::COMPARE_EXCESS));
        Device::enable_match();
    }

    /// Ticks to add to an interval that begins now, so that it is never short: this tick has begun already, and the
    /// end of the one before may still wait to be served.
    static Tick lead() { return Device::matched() ? 2 : 1; }

    static void start() {}
    static void stop() {}

    static bool expired() {
        if (Traits::TIME_STAMPS) _ticks = _ticks + 1;
        return Countdown::expired();
    }

    static void overflow() {}

    /// Counts since `init`, modulo 2^32: the time-stamp counter, emulated by the tick. Called with interrupts off.
    static uint32_t time_stamp() {
        uint32_t ticks = _ticks;
        typename Device::Count low = Device::count();
        if (Device::matched()) {
            // The end of a tick waits to be served: read again, surely after it.
            low = Device::count();
            ++ticks;
        }
        return ticks * uint32_t(Tick_Length::COUNTS + Traits::COMPARE_EXCESS) + low;
    }

private:
    static uint32_t _ticks;
};

template <class Traits>
uint32_t Periodic<Traits>::_ticks;

} // namespace mcu
