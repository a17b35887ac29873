// SPDX-License-Identifier: MIT OR Apache-2.0
// An alarm whose interval the simulator writes into memory: as good as one that a program computes. Pin B2 says that it is
// refused. TEST_DEVICE and TEST_INTERRUPTS choose another timer, MCU_OF_KIND another strategy.
#include "board.h"

#ifndef TEST_DEVICE
#define TEST_DEVICE mcu::AVR_Timer1
#define TEST_INTERRUPTS MCU_INTERRUPTS(Time)
#endif

struct Test_Traits : Traits {
    typedef TEST_DEVICE<PRESCALER> Device;
    static constexpr bool TIME_STAMPS = false;
#ifdef MCU_OF_KIND
    static constexpr uint32_t GRACE = MCU_GRACE;
    template <class Traits>
    using Strategy = mcu::MCU_OF_KIND<Traits>;
#endif
};

typedef mcu::Services<Test_Traits> Time;
TEST_INTERRUPTS;

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
