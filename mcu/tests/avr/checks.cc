// SPDX-License-Identifier: MIT OR Apache-2.0
// What a debug build says at pins B2 to B4: an interval that is not kept, a handler, a lock that is too long. The simulator
// writes into memory what the program does wrong (0 is nothing).
#include "board.h"

struct Checked : Traits {
    static constexpr bool CHECKS = true;
    static void broken(mcu::Broken what) { PORTB |= uint8_t(_BV(PB2) << what); }
};

typedef mcu::Services<Checked> Time;
MCU_INTERRUPTS(Time);

static volatile uint8_t& wrong = *reinterpret_cast<volatile uint8_t*>(0x600);

static void spend(uint16_t turns) {
    while (turns-- != 0) __asm__ __volatile__("");
}

static void handler() {
    Mark::begin();
    if (wrong == 2) spend(MCU_EVENTS);
    Mark::end();
}

int main() {
    Mark::init();
    DDRB |= _BV(PB2) | _BV(PB3) | _BV(PB4);
    Time::start();
    mcu::Handler_Function handler_function(&handler);
    Time::Alarm alarm(&handler_function);
    const uint32_t interval = wrong == 1 ? Checked::MAX_PERIOD + 1 : MCU_PERIOD;
    if (alarm.start(interval) == alarm.refused()) return 1;
    for (;;) {
        if (wrong != 3) continue;
        const mcu::CPU::Lock lock;
        spend(MCU_EVENTS);
    }
}
