// SPDX-License-Identifier: MIT OR Apache-2.0
// An alarm whose interval the simulator writes into memory: as good as one that a program computes. Pin B2 says that it is
// refused.
#include "board.h"

typedef mcu::Services<Traits> Time;
MCU_INTERRUPTS(Time);

static void handler() {
    Mark::begin();
    Mark::end();
}

int main() {
    Mark::init();
    DDRB |= _BV(PB2);
    Time::start();
    mcu::Handler_Function handler_function(&handler);
    Time::Alarm alarm(&handler_function);
    if (!alarm.start(*reinterpret_cast<volatile uint32_t*>(0x600))) {
        PORTB |= _BV(PB2);
        halt();
    }
    volatile bool never = false;
    Traits::wait_for(&never);
}
