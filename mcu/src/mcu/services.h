// SPDX-License-Identifier: MIT OR Apache-2.0
// All time services of a program, for its traits.
#pragma once

#include <mcu/alarm.h>
#include <mcu/chronometer.h>
#include <mcu/clock.h>
#include <mcu/strategy/anchored.h>
#include <mcu/strategy/periodic.h>
#include <mcu/strategy/single_shot.h>
#include <mcu/strategy/soft.h>
#include <mcu/traits.h>

namespace mcu {

/// `typedef mcu::Services<Board> Time;` and then Time::Alarm, Time::Chronometer, ...
template <class Traits>
struct Services {
    typedef typename Traits::template Strategy<Traits> Strategy;
    typedef mcu::Timer<Traits> Timer;
    typedef mcu::Alarm<Traits> Alarm;
    typedef mcu::TSC<Traits> TSC;
    typedef mcu::Chronometer<Traits> Chronometer;
    typedef mcu::Clock<Traits> Clock;

    /// Counts of the timer since `start`, modulo 2^32 (trait TIME_STAMPS).
    static uint32_t now() { return TSC::time_stamp(); }

    /// Serves the events that are due, here and now, before their interrupt comes: for places that a program passes often. Of use
    /// with the strategy Soft, or the trait GRACE.
    static void poll() { Alarm::poll(); }

    /// Starts the timer and lets interrupts in: once, before anything else is used.
    static void start() {
        Strategy::init();
        CPU::enable_interrupts();
    }
};

} // namespace mcu
