// SPDX-License-Identifier: MIT OR Apache-2.0
// Measuring intervals of time.
#pragma once

#include <mcu/tsc.h>

namespace mcu {

/// A stop watch with the resolution of one count, for up to 2^32 counts.
template <class Traits>
class Chronometer {
    typedef mcu::TSC<Traits> TSC;

public:
    typedef uint32_t Microsecond;

    Chronometer() : _start(0), _stop(0), _running(false) {}

    /// Begins to measure, again if it did before.
    void start() {
        _start = TSC::time_stamp();
        _running = true;
    }

    /// Ends the measurement.
    void stop() {
        if (!_running) return;
        _stop = TSC::time_stamp();
        _running = false;
    }

    /// Counts between start and stop, or until now.
    uint32_t ticks() const { return (_running ? TSC::time_stamp() : _stop) - _start; }

    /// The same in microseconds, rounded down.
    Microsecond read() const { return Timer<Traits>::to_microseconds(ticks()); }

private:
    typename TSC::Time_Stamp _start;
    typename TSC::Time_Stamp _stop;
    bool _running;
};

} // namespace mcu
