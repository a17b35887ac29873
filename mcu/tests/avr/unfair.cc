// SPDX-License-Identifier: MIT OR Apache-2.0
// Everything that makes interrupts come a cycle or two later than one thinks: a handler that is due again before it ends, so that one
// instruction of the main program runs between two of its runs; instructions of every length; locks; sleep; calls. Pin B0 changes in the
// handler, B1 in the main program.
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>

static volatile uint8_t events = 0;
static volatile uint8_t table[16];

ISR(TIMER1_COMPA_vect) {
    PINB = _BV(PB0);
    // Now and then longer than the timer's period.
    for (uint8_t i = events & 7; i != 0; --i) table[i] = uint8_t(table[i] + i);
    events = uint8_t(events + 1);
}

static uint8_t __attribute__((noinline)) work(uint8_t x) { return uint8_t(x * 7 + table[x & 15]); }

int main() {
    DDRB = _BV(PB0) | _BV(PB1);
    OCR1A = 96; // 97 cycles, a prime number: it meets every instruction
    TCCR1B = _BV(WGM12) | _BV(CS10);
    TIMSK1 = _BV(OCIE1A);
    set_sleep_mode(SLEEP_MODE_IDLE);
    sleep_enable();
    sei();
    for (uint8_t round = 0; round < 200; ++round) {
        table[round & 15] = work(round);
        cli();
        const uint8_t seen = events;
        sei();
        if ((round & 3) == 0) {
            const uint8_t sreg = SREG;
            cli();
            table[3] = uint8_t(table[3] ^ seen);
            table[4] = uint8_t(table[4] + 1);
            SREG = sreg;
        }
        if ((round & 15) == 7) sleep_cpu();
        PINB = _BV(PB1);
    }
    cli();
    for (;;) sleep_cpu();
}
