// SPDX-License-Identifier: MIT OR Apache-2.0
// Ten times a second something that takes long, such as printing: the interrupt only notes it, and loop() does it.
#include <mcu.h>
typedef mcu::Services<mcu::Board<>> Time;
MCU_INTERRUPTS(Time);

void report(uint8_t events) { Serial.println(events); }
mcu::Deferred work(&report);
Time::Alarm alarm(&work);

void setup() {
    Serial.begin(115200);
    Time::start();
    alarm.start(100000);
}

void loop() { mcu::Deferred::run_one(); }
