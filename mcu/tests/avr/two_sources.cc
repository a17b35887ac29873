// SPDX-License-Identifier: MIT OR Apache-2.0
// Two timers of different periods, both with handlers, and a main program that locks them out again and again: by cli and sei, by keeping
// and restoring SREG, and by switching one of them off. Each handler has a pin, and so has the main program.
#include <avr/interrupt.h>
#include <avr/io.h>

static volatile uint16_t slow = 0, fast = 0;
static volatile uint32_t sum = 0;

ISR(TIMER1_COMPA_vect) {
    PORTB |= _BV(PB0);
    slow = slow + 1;
    sum = sum + slow;
    PORTB &= uint8_t(~_BV(PB0));
}

ISR(TIMER0_COMPB_vect) {
    PORTB |= _BV(PB1);
    OCR0B = uint8_t(OCR0B + 83); // 83 counts later
    fast = fast + 1;
    PORTB &= uint8_t(~_BV(PB1));
}

ISR(TIMER2_OVF_vect) { PINB = _BV(PB3); }

int main() {
    DDRB = 0xff;
    OCR1A = 2310;
    TCCR1B = _BV(WGM12) | _BV(CS10);
    TIMSK1 = _BV(OCIE1A);
    TCCR0B = _BV(CS01); // by 8
    TIMSK0 = _BV(OCIE0B);
    TCCR2B = _BV(CS21) | _BV(CS20); // by 32
    TIMSK2 = _BV(TOIE2);
    sei();
    for (uint16_t round = 0; round < 5000; ++round) {
        PINB = _BV(PB2);
        cli();
        const uint32_t seen = sum;
        sei();
        {
            const uint8_t sreg = SREG;
            cli();
            sum = seen / (round + 1u);
            if ((round & 31) == 0) TIMSK0 = 0; // its flag is set meanwhile, and waits
            SREG = sreg;
        }
        for (volatile uint8_t i = uint8_t(round) & 7; i != 0; i = uint8_t(i - 1)) {}
        if ((round & 31) == 0) TIMSK0 = _BV(OCIE0B);
    }
    cli();
    MCUSR = 0;
    SMCR = 1;
    for (;;) asm volatile("sleep");
}
