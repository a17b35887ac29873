// SPDX-License-Identifier: MIT OR Apache-2.0
// Everything that a sketch needs, for Arduino, PlatformIO and whoever gives F_CPU.
#pragma once

#include <mcu/deferred.h>
#include <mcu/device/avr_timer16.h>
#include <mcu/services.h>

namespace mcu {

/// The usual board: timer 1, by this prescaler, and alarms up to this many microseconds.
template <uint16_t DIVIDER = 64, uint32_t LONGEST = 10000000>
struct Board : Default_Traits {
    static constexpr uint32_t CLOCK = F_CPU;
    static constexpr uint16_t PRESCALER = DIVIDER;
    static constexpr uint32_t MAX_PERIOD = LONGEST;
    typedef AVR_Timer1<DIVIDER> Device;
    template <class Traits>
    using Strategy = Anchored<Traits>;
};

} // namespace mcu
