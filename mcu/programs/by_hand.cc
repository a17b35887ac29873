// SPDX-License-Identifier: MIT OR Apache-2.0
// The same event without the library, as small timer libraries do it: the timer clears itself at the period's end, and its interrupt
// calls a function through a pointer. One period, for one user.
#include "board.h"

#ifndef MCU_PERIOD
#define MCU_PERIOD 20000
#endif

static constexpr uint64_t COUNTS = uint64_t(MCU_PERIOD) * F_CPU / (uint64_t(MCU_PRESCALER) * 1000000);
static_assert(COUNTS <= 65536, "the hardware holds no longer period: choose a larger prescaler");

static void (*volatile callback)();
ISR(TIMER1_COMPA_vect) { callback(); }

static volatile bool never = false;

static void handler() {
    Mark::begin();
    Mark::end();
}

int main() {
    Mark::init();
    callback = &handler;
    mcu::AVR_Timer1<MCU_PRESCALER>::run_periodic(uint16_t(COUNTS - 1));
    mcu::AVR_Timer1<MCU_PRESCALER>::enable_match();
    mcu::CPU::enable_interrupts();
    Traits::wait_for(&never);
}
