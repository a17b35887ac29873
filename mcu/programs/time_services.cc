// SPDX-License-Identifier: MIT OR Apache-2.0
// The paper's figure 3: the time of day, an alarm with a handler, a delay, and a chronometer around it.
#include "board.h"

#ifndef MCU_PERIOD
#define MCU_PERIOD 100000
#endif
#ifndef MCU_EVENTS
#define MCU_EVENTS 100
#endif

struct Long_Traits : Traits {
    static constexpr uint32_t MAX_PERIOD = uint32_t(MCU_PERIOD) * (MCU_EVENTS + 1);
};

typedef mcu::Services<Long_Traits> Time;
MCU_INTERRUPTS(Time);
#ifdef __AVR__
MCU_RTC_INTERRUPT();
#endif

static int iterations = MCU_EVENTS;
static Time::Alarm::Microsecond time_between = MCU_PERIOD;
static volatile uint32_t calls = 0;

static void func() {
    Mark::begin();
    calls = calls + 1;
    Mark::end();
}

int main() {
    Mark::init();
    Time::start();
#ifdef __AVR__
    Traits::RTC::start();
#endif
    OStream cout;
    Time::Clock clock;
    Time::Chronometer chron;

    // Read current system time
    cout << "Current Time: " << clock.now() << mcu::endl;

    // Create a handler function, and associate it to a periodic time event.
    mcu::Handler_Function handler(&func);
    Mark::request();
    Time::Alarm alarm(time_between, &handler, iterations);

    // Start a chronometer, and put this thread to sleep. Afterwards, stop and read the chronometer
    chron.start();
    Time::Alarm::delay(time_between * uint32_t(iterations + 1));
    chron.stop();
    cout << "Elapsed time: " << chron.read() << mcu::endl;
    cout << "Handler calls: " << calls << mcu::endl;
    cout << "Time now: " << clock.now() << mcu::endl;
    halt();
}
