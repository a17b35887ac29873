// SPDX-License-Identifier: MIT OR Apache-2.0
// The time of day.
#pragma once

#include <stdint.h>

namespace mcu {

/// Seconds since 1970 of a real-time clock: for boards whose traits name one (RTC).
template <class Traits>
class Clock {
    typedef typename Traits::RTC RTC;

public:
    typedef uint32_t Second;

    Second now() const { return RTC::seconds(); }
    void set(Second time) { RTC::set(time); }
};

} // namespace mcu
