// SPDX-License-Identifier: MIT OR Apache-2.0
// The time-stamp counter.
#pragma once

#include <mcu/cpu.h>
#include <mcu/timer.h>

namespace mcu {

/// Counts of the timer since start, 32 bits: extended by overflows where the timer runs free, emulated by the tick where
/// it does not. Needs the trait TIME_STAMPS.
template <class Traits>
class TSC {
    typedef typename Traits::template Strategy<Traits> Strategy;

public:
    typedef uint32_t Time_Stamp;

    /// Now, modulo 2^32 counts.
    static Time_Stamp time_stamp() {
        static_assert(Traits::TIME_STAMPS, "this program reads time stamps: set its trait TIME_STAMPS");
        const CPU::Lock lock;
        return Strategy::time_stamp();
    }

    /// The counter's overflow interrupt.
    static void overflow() { Strategy::overflow(); }
};

} // namespace mcu
