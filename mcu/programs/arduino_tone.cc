// SPDX-License-Identifier: MIT OR Apache-2.0
// What the Arduino core has of timers besides its clock: tone(), a square wave on one pin, whose rising edges are the events.
#include <Arduino.h>
#include <avr/sleep.h>

#ifndef MCU_PERIOD
#define MCU_PERIOD 20000
#endif

static constexpr uint8_t PIN_B0 = 8;

void setup() { tone(PIN_B0, 1000000 / MCU_PERIOD); }

void loop() {
    sleep_enable(); // idle
    sleep_cpu();
}
