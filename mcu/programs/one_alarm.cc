// SPDX-License-Identifier: MIT OR Apache-2.0
// One endless alarm and nothing else: beside empty.cc, what the library costs in flash and RAM.
#include "board.h"

#include <stddef.h>

#ifndef MCU_PERIOD
#define MCU_PERIOD 20000
#endif

struct Small_Traits : Traits {
    static constexpr bool TIME_STAMPS = false;
    typedef mcu::Handler_Function Handler;
};

typedef mcu::Services<Small_Traits> Time;
MCU_INTERRUPTS(Time);

static volatile bool never = false;

static void handler() {
    Mark::begin();
    Mark::end();
}

/// The alarm lies among the variables, so that it is counted with them, and is never destroyed.
static union Storage {
    Storage() {}
    ~Storage() {}
    Time::Alarm alarm;
} storage;

inline void* operator new(size_t, void* place) { return place; }

int main() {
    Mark::init();
    Time::start();
    static mcu::Handler_Function handler_function(&handler);
    new (&storage.alarm) Time::Alarm(MCU_PERIOD, &handler_function, Time::Alarm::INFINITE);
    Traits::wait_for(&never);
}
