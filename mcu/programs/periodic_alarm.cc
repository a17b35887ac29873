// SPDX-License-Identifier: MIT OR Apache-2.0
// The paper's figure 4: a periodic alarm whose handler keeps the time stamp of each event; then the intervals are printed.
#include "board.h"

#ifndef MCU_PERIOD
#define MCU_PERIOD 100000
#endif
#ifndef MCU_EVENTS
#define MCU_EVENTS 11
#endif

typedef mcu::Services<Traits> Time;
MCU_INTERRUPTS(Time);

static Time::Chronometer chron;
static uint32_t time_stamps[MCU_EVENTS]; // in counts: the conversion to microseconds can wait until there is time for it
static volatile int n = 0;
static volatile bool finished = false;

static void handler() {
    Mark::begin();
    time_stamps[n] = chron.ticks();
    n = n + 1;
    finished = n == MCU_EVENTS;
    Mark::end();
}

int main() {
    Mark::init();
    Time::start();
    chron.start();

    // Register the events
    mcu::Handler_Function handler_function(&handler);
    Mark::request();
    Time::Alarm alarm(MCU_PERIOD, &handler_function, MCU_EVENTS);

    // Wait for all handlers to finish
    Traits::wait_for(&finished);

    // Print intervals
    OStream cout;
    for (int i = 0; i < MCU_EVENTS - 1; i++) {
        cout << Time::Timer::to_microseconds(time_stamps[i + 1] - time_stamps[i]) << mcu::endl;
    }
    halt();
}
