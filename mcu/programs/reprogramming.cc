// SPDX-License-Identifier: MIT OR Apache-2.0
// How long it takes to program the timer for the next event: pin B0 is high meanwhile.
#include "board.h"

struct Test_Traits : Traits {
    static constexpr bool TIME_STAMPS = false;
};

typedef mcu::Services<Test_Traits> Time;

static volatile uint16_t ticks = 1000;

int main() {
    Mark::init();
    Time::Strategy::init();
    Time::Strategy::start();
    const uint16_t next = ticks;
    Mark::begin();
    const bool comes = Time::Strategy::next(next);
    Mark::end();
    if (comes) halt();
}
