// SPDX-License-Identifier: MIT OR Apache-2.0
// A naked handler that reads the timer first thing: what an interrupt's entry costs. Sends two bytes: the timer's counts
// since the match, from running code and from sleep. ATmega328P; one count is one cycle.
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
#include <mcu/device/avr_uart.h>

static constexpr uint8_t MATCH = 100;

register uint8_t stamp asm("r2");

ISR(TIMER1_COMPA_vect, ISR_NAKED) { asm volatile("lds r2, %0\n\treti" : : "n"(_SFR_MEM_ADDR(TCNT1L))); }

static void start() {
    TCCR1B = 0;
    TCNT1 = 0;
    OCR1A = MATCH;
    TIFR1 = _BV(OCF1A);
    TIMSK1 = _BV(OCIE1A);
    TCCR1B = _BV(CS10);
}

/// The match is signalled when the counter leaves MATCH.
static void send() {
    TIMSK1 = 0;
    mcu::AVR_UART<F_CPU>::put(char(stamp - (MATCH + 1)));
}

int main() {
    start();
    sei();
    asm volatile(".rept 200\n\tnop\n\t.endr"); // one cycle each: the match comes between two of them
    cli();
    send();

    set_sleep_mode(SLEEP_MODE_IDLE);
    sleep_enable();
    start();
    sei();
    sleep_cpu();
    asm volatile("nop");
    cli();
    send();
    sleep_cpu();
}
