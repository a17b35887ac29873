// SPDX-License-Identifier: MIT OR Apache-2.0
// Two pins, each with its own period: pin 8 changes every millisecond, pin 9 every 1.5 ms and half a millisecond later, so that
// neither waits for the other for long.
#include <mcu.h>
typedef mcu::Services<mcu::Board<8>> Time;
MCU_INTERRUPTS(Time);

void toggle(uint8_t& pin) { digitalWrite(pin, !digitalRead(pin)); }
uint8_t first = 8, second = 9;
mcu::Handler_With<uint8_t> of_first(&toggle, first), of_second(&toggle, second);
Time::Alarm alarm(&of_first), other(&of_second);

void setup() {
    pinMode(first, OUTPUT);
    pinMode(second, OUTPUT);
    Time::start();
    alarm.start(1000);
    other.start_after(500, 1500);
}

void loop() {}
