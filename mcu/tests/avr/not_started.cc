// SPDX-License-Identifier: MIT OR Apache-2.0
// A program that forgets `Time::start()`: it sends whether an alarm was armed, whether a delay waited, and how often it was told.
#include "board.h"

static volatile uint8_t told = 0;

struct Telling_Traits : Traits {
    static void broken(mcu::Broken what) {
        if (what == mcu::NOT_STARTED) told = uint8_t(told + 1);
    }
};

typedef mcu::Services<Telling_Traits> Time;
MCU_INTERRUPTS(Time);

static void nothing() {}

int main() {
    OStream out;
    mcu::Handler_Function handler(&nothing);
    Time::Alarm alarm(10000, &handler, Time::Alarm::INFINITE);
    const bool early = Time::Alarm::delay(10000);
    out << uint32_t(alarm.refused()) << " " << uint32_t(early) << " " << uint32_t(told) << mcu::endl;
    Time::start();
    const bool armed = alarm.start(10000);
    const bool waited = Time::Alarm::delay(10000);
    out << uint32_t(armed) << " " << uint32_t(waited) << " " << uint32_t(told) << mcu::endl;
    halt();
}
