// SPDX-License-Identifier: MIT OR Apache-2.0
// What an alarm can besides: begin at a moment or a phase of its own, call with a context, leave events out, leave work to the
// main program. Pin B0: every 2 ms from an absolute moment on, which pin B1 shows 1000 counts before; pin B2: a single event of a phase;
// pin B3: skips what it missed; pin B4: deferred work. What it sends: how often B3 missed, in two bytes, and whether moments that
// have passed were refused.
#include "board.h"

#include <mcu/deferred.h>

struct Api_Traits : Traits {
    static constexpr bool SKIP_MISSED = true;
};

typedef mcu::Services<Api_Traits> Time;
MCU_INTERRUPTS(Time);

static void pulse(const uint8_t& pin) {
    PORTB |= uint8_t(1 << pin);
    PORTB &= uint8_t(~(1 << pin));
}

static void work(uint8_t events) {
    while (events-- > 0) pulse(4);
}

static volatile bool done = false;
static void finish() { done = true; }

int main() {
    DDRB = 0x1f;
    Time::start();
    static const uint8_t zero = 0, two = 2, three = 3;
    mcu::Handler_With<const uint8_t> of_zero(&pulse, zero), of_two(&pulse, two), of_three(&pulse, three);
    mcu::Deferred deferred(&work);
    mcu::Handler_Function at_end(&finish);
    Time::Alarm exact(&of_zero), single(&of_two), skipping(&of_three), working(&deferred), end(&at_end);

    {
        const mcu::CPU::Lock lock;
        const uint32_t moment = Time::now() + 1000;
        PORTB |= _BV(1);
        exact.start_at(moment, 2000);
        single.start_at(moment + 500);
    }
    working.start_after(3000, 10000, 3);
    bool refused = !end.start_at(Time::now() - 1) && end.refused();
    end.start_after(49500, 1000, 1);

    // Interrupts are off for 5 ms: of the events each millisecond some are due again before they are served.
    skipping.start(1000);
    while (!single.over()) mcu::Deferred::run_one();
    cli();
    for (uint16_t n = 0; n < 20000; n++) __asm__ __volatile__("");
    sei();
    while (!done) mcu::Deferred::run_one();
    skipping.cancel();
    exact.cancel();
    OStream out;
    out << uint32_t(skipping.missed()) << mcu::endl << uint32_t(refused) << mcu::endl;
    halt();
}
