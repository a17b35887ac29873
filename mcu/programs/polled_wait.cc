// SPDX-License-Identifier: MIT OR Apache-2.0
// A task that wakes early and polls the timer until its due time, as NIST's paper has it, while another timer interrupts.
#include "board.h"

#ifndef MCU_PERIOD
#define MCU_PERIOD 500
#endif

static constexpr uint16_t COUNTS = uint64_t(MCU_PERIOD) * F_CPU / 1000000;
/// From the wake-up to the due time: longer than an interrupt takes.
static constexpr uint16_t MARGIN = COUNTS / 20;
static_assert(COUNTS < 32768, "half the counter's range holds no longer period");

static volatile uint8_t ticks;
ISR(TIMER0_OVF_vect) { ticks = uint8_t(ticks + 1); }

static inline bool before(uint16_t due) { return int16_t(uint16_t(TCNT1) - due) < 0; }

int main() {
    Mark::init();
    TCCR0B = _BV(CS00);
    TIMSK0 = _BV(TOIE0);
    TCCR1B = _BV(CS10);
    sei();
    uint16_t due = COUNTS;
    for (;;) {
        while (before(due - MARGIN)) {}
#ifdef MCU_LOCKED
        cli();
#endif
        while (before(due)) {}
        Mark::begin();
        Mark::end();
        sei();
        due += COUNTS;
    }
}
