// SPDX-License-Identifier: MIT OR Apache-2.0
// The alternative that most firmware uses: the tick of the Arduino core, asked for the time again and again, as in its
// tutorial "BlinkWithoutDelay". Built with Debian's package arduino-core-avr.
#include <Arduino.h>

#ifndef MCU_PERIOD
#define MCU_PERIOD 20000
#endif

static unsigned long due = MCU_PERIOD / 1000;

void setup() { DDRB |= _BV(PB0); }

void loop() {
    if (long(millis() - due) < 0) return;
    due += MCU_PERIOD / 1000;
    PORTB |= _BV(PB0);
    PORTB &= uint8_t(~_BV(PB0));
}
