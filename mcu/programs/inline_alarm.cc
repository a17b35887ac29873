// SPDX-License-Identifier: MIT OR Apache-2.0
// One endless alarm with its handler in the interrupt: the least that an event takes.
#include "board.h"

#ifndef MCU_PERIOD
#define MCU_PERIOD 20000
#endif

static inline void handler() {
    PORTB |= _BV(PB0);
    PORTB &= uint8_t(~_BV(PB0));
}

struct Fast : Traits {
    static constexpr bool TIME_STAMPS = false;
    typedef mcu::Handler_Of<&handler> Handler;
};

typedef mcu::Services<Fast> Time;
MCU_INTERRUPTS(Time);

int main() {
    Mark::init();
    Time::start();
    Fast::Handler handler;
    Time::Alarm alarm(MCU_PERIOD, &handler, Time::Alarm::INFINITE);
    volatile bool never = false;
    for (;;) Traits::wait_for(&never);
}
