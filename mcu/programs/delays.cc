// SPDX-License-Identifier: MIT OR Apache-2.0
// The same delay again and again, each time asked for at another place between two ticks: pin B0 is high meanwhile.
#include "board.h"

#ifndef MCU_PERIOD
#define MCU_PERIOD 15000
#endif

typedef mcu::Services<Traits> Time;
MCU_INTERRUPTS(Time);

int main() {
    Mark::init();
    Time::start();
    for (uint8_t place = 0;; ++place) {
        Mark::begin();
        Time::Alarm::delay(MCU_PERIOD);
        Mark::end();
        for (volatile uint16_t rest = uint16_t(place % 128) * 64; rest > 0; rest = rest - 1) {}
    }
}
