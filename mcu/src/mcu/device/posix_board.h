// SPDX-License-Identifier: MIT OR Apache-2.0
// The clock on the wall and the terminal of a POSIX system.
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <time.h>

namespace mcu {

/// CLOCK_REALTIME. Setting it moves this program's view of it only.
struct POSIX_RTC {
    static uint32_t seconds() { return uint32_t(time(nullptr)) + offset(); }
    static void set(uint32_t value) { offset() = value - uint32_t(time(nullptr)); }

private:
    static uint32_t& offset() {
        static uint32_t seconds;
        return seconds;
    }
};

/// Standard output.
struct POSIX_Console {
    static void put(char character) {
        putchar(character);
        if (character == '\n') fflush(stdout);
    }
};

} // namespace mcu
