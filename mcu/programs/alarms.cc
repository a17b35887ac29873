// SPDX-License-Identifier: MIT OR Apache-2.0
// Several alarms, and what they wait for: each other's handlers, and a program that turns interrupts off. When each begins and how
// long all this takes, the simulator writes behind the variables; pins B0 to B4 say when the alarms' handlers run.
#include "board.h"

#ifndef MCU_PERIODS
#define MCU_PERIODS 20000UL, 3000UL
#endif

/// The program stops the counter while it arms its alarms: that it stands does not mean that the services were not started.
struct Standing_Timer : Traits::Device {
    static bool counts() { return true; }
};

struct Alarms_Traits : Traits {
    static constexpr bool TIME_STAMPS = false;
    typedef Standing_Timer Device;
};

typedef mcu::Services<Alarms_Traits> Time;
MCU_INTERRUPTS(Time);

static constexpr uint32_t PERIODS[] = {MCU_PERIODS};
static constexpr uint8_t ALARMS = sizeof(PERIODS) / sizeof(PERIODS[0]);

/// What the simulator writes. The least significant byte comes first, and nothing lies between.
struct Scenario {
    uint32_t first[5];      // microseconds to the first event of each
    uint16_t offset[5];     // counts by which each is armed later than the first
    uint8_t order[5];       // in which they are armed
    uint16_t base;          // where the counter begins
    uint32_t handler_turns; // how long a handler lasts, 6 cycles each
    uint32_t lock_turns;    // how long interrupts are off
    uint32_t gap_turns;     // how long they are on before
    uint8_t sleeps;         // after the first lock
};

extern const volatile Scenario scenario __asm__("_end"); // where the variables end

/// Lasts 6 cycles a turn and 5 more.
static inline __attribute__((always_inline)) void spin(uint32_t turns) {
    __asm__ __volatile__("1: subi %A0, 1\n sbci %B0, 0\n sbci %C0, 0\n sbci %D0, 0\n brcc 1b\n" : "+d"(turns));
}

template <uint8_t PIN>
static void handle() {
    PORTB |= _BV(PIN);
    spin(scenario.handler_turns);
    PORTB &= uint8_t(~_BV(PIN));
}

int main() {
    DDRB |= 0x1f;
    Time::start();
    cli();
    mcu::Handler_Function a(&handle<0>), b(&handle<1>), c(&handle<2>), d(&handle<3>), e(&handle<4>);
    Time::Alarm alarm_a(&a), alarm_b(&b), alarm_c(&c), alarm_d(&d), alarm_e(&e);
    Time::Alarm* const alarms[] = {&alarm_a, &alarm_b, &alarm_c, &alarm_d, &alarm_e};
    static_assert(ALARMS <= 5, "there are five pins");

    // While the counter stands, they are armed at the very same time.
    const uint8_t running = TCCR1B;
    TCCR1B = running & uint8_t(~(_BV(CS12) | _BV(CS11) | _BV(CS10)));
    for (uint8_t n = 0; n < ALARMS; n++) {
        const uint8_t k = scenario.order[n];
        TCNT1 = scenario.base + scenario.offset[k];
        alarms[k]->start_after(scenario.first[k], PERIODS[k]);
    }
    TCNT1 = scenario.base;
    // The prescaler ran on: begin with a whole count, so that the lock is where it is meant to be.
#if defined(GTCCR)
    GTCCR = _BV(PSRSYNC);
#elif defined(PSR321)
    SFIOR |= _BV(PSR321);
#endif
    TCCR1B = running;

    for (;;) {
        sei();
        spin(scenario.gap_turns);
        cli();
        spin(scenario.lock_turns);
        sei();
        while (scenario.sleeps) {
            mcu::CPU::sleep();
            sei();
        }
    }
}
