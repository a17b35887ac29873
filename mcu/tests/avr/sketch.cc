// SPDX-License-Identifier: MIT OR Apache-2.0
// An Arduino sketch as people write them: Serial at 115200, millis, digitalWrite. Built with Debian's package arduino-core-avr.
#include <Arduino.h>

static unsigned long due = 0;

void setup() {
    Serial.begin(115200);
    pinMode(13, OUTPUT);
    pinMode(8, OUTPUT);
}

void loop() {
    digitalWrite(8, !digitalRead(8));
    const unsigned long now = millis();
    if (now < due) return;
    due += 5;
    digitalWrite(13, HIGH);
    Serial.print("t=");
    Serial.print(now);
    Serial.print(" us=");
    Serial.println(micros());
    digitalWrite(13, LOW);
}
