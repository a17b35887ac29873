// SPDX-License-Identifier: MIT OR Apache-2.0
// The names of EPOS, for programs as Froehlich et al. (SAC 2009) print them. As there, the system is up when main() begins.
#pragma once

#include "board.h"

#ifndef MCU_PERIOD
#define MCU_PERIOD 100000
#endif
#ifndef MCU_EVENTS
#define MCU_EVENTS 100
#endif
#define PERIOD MCU_PERIOD

struct Epos_Traits : Traits {
    static constexpr uint32_t MAX_PERIOD = uint32_t(MCU_PERIOD) * (MCU_EVENTS + 1);
};

typedef mcu::Services<Epos_Traits> Time;
MCU_INTERRUPTS(Time);
#ifdef __AVR__
MCU_RTC_INTERRUPT();
#endif

typedef Time::Alarm Alarm;
typedef Time::Chronometer Chronometer;
typedef Time::Clock Clock;
typedef Alarm::Microsecond Microsecond;
typedef mcu::Handler_Function Handler_Function;
using mcu::endl;

namespace {
struct System {
    System() {
        Mark::init();
        Time::start();
#ifdef __AVR__
        Traits::RTC::start();
#endif
    }
} epos;
OStream cout __attribute__((unused));
} // namespace
