// SPDX-License-Identifier: MIT OR Apache-2.0
// What must not compile, case by case, and why: the compiler's message has to say it. CASE 0 compiles.
#define MCU_CPU "mock.h"
#include <mcu/services.h>

#include "mock.h"

struct Board : mcu::Default_Traits {
    typedef mcu::Mock_Timer<16, uint16_t> Device;
    static constexpr uint32_t CLOCK = 7372800;
    static constexpr bool INEXACT = CASE != 6;
    static constexpr uint16_t PRESCALER = 1024; // one count is 138.9 us, the longest hardware period 9.102 s
#if CASE == 1
    static constexpr uint32_t MAX_PERIOD = 138; // below one count
#elif CASE == 2
    static constexpr uint32_t TICK = 100; // below one count
#elif CASE == 3
    static constexpr uint32_t MAX_PERIOD = 5000000;
    static constexpr uint32_t TICK = 9200000; // above the hardware, and MAX_PERIOD does not ask for software
#elif CASE == 4
    static constexpr uint32_t SOFTWARE_TICK = 9200000; // above the hardware
#endif
#if CASE == 4
    template <class Traits>
    using Strategy = mcu::Single_Shot<Traits>;
#elif CASE == 5
    static constexpr bool TIME_STAMPS = false;
    template <class Traits>
    using Strategy = mcu::Anchored<Traits>;
#else
    static constexpr bool TIME_STAMPS = true;
    template <class Traits>
    using Strategy = mcu::Periodic<Traits>;
#endif
};

typedef mcu::Services<Board> Time;

static void nothing() {}

int main() {
    Time::start();
    mcu::Handler_Function handler(&nothing);
    Time::Alarm alarm(1000, &handler);
    Time::Chronometer chron;
#if CASE != 4
    chron.start();
#endif
    return alarm.over();
}
