// SPDX-License-Identifier: MIT OR Apache-2.0
// A lamp that changes every half second, whatever loop() does.
#include <mcu.h>
typedef mcu::Services<mcu::Board<>> Time;
MCU_INTERRUPTS(Time);

void blink() { digitalWrite(LED_BUILTIN, !digitalRead(LED_BUILTIN)); }
mcu::Handler_Function handler(&blink);
Time::Alarm alarm(&handler);

void setup() {
    pinMode(LED_BUILTIN, OUTPUT);
    Time::start();
    alarm.start(500000);
}

void loop() {}
