// SPDX-License-Identifier: MIT OR Apache-2.0
// A counter that is never stopped or set: it serves as the time-stamp counter beside its work for the alarms.
#pragma once

#include <mcu/timer.h>

namespace mcu {

/// Extends the counter to 32 bits by counting its overflows, if the trait TIME_STAMPS asks for it.
template <class Traits>
class Free_Running {
    typedef typename Traits::Device Device;

public:
    static void init() {
        static_assert(!Traits::TIME_STAMPS || Of_Device<Traits>::template lead<Device>(nullptr) == 0,
                      "this timer's overflows come too late for time stamps: take one on the processor's clock");
        Device::run_free();
        if (Traits::TIME_STAMPS) Device::enable_overflow();
    }

    /// The overflow interrupt.
    static void overflow() {
        if (Traits::TIME_STAMPS) _overflows = _overflows + 1;
    }

    /// Counts since `init`, modulo 2^32. Called with interrupts off.
    static uint32_t time_stamp() {
        uint32_t high = _overflows;
        const typename Device::Count low = Device::count();
        // An overflow that waits to be counted happened before a low count, and after a high one.
        if (Device::overflowed() && (low >> (Device::RESOLUTION - 1)) == 0) ++high;
        return high * uint32_t(uint64_t(1) << Device::RESOLUTION) + low;
    }

protected:
    /// A match that waits to be served belongs to the past. (simavr clears the overflow's flag with it, so the flag is
    /// touched only where it is set.)
    static inline __attribute__((always_inline)) void forget_match() {
        if (Device::matched()) Device::clear_match();
    }

private:
    static uint32_t _overflows;
};

template <class Traits>
uint32_t Free_Running<Traits>::_overflows;

} // namespace mcu
