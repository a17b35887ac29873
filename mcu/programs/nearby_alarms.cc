// SPDX-License-Identifier: MIT OR Apache-2.0
// Three alarms whose events lie close to each other, beside a program that passes places where it may ask for what is due. Pins B0
// to B2 say when their handlers run, pin B3 when each is asked for.
#include "board.h"

#ifndef MCU_OF_KIND
#define MCU_OF_KIND Anchored
#endif
#ifndef MCU_GRACE
#define MCU_GRACE 0
#endif

struct Nearby_Traits : Traits {
    static constexpr bool TIME_STAMPS = false;
    static constexpr uint32_t GRACE = MCU_GRACE;
    template <class Traits>
    using Strategy = mcu::MCU_OF_KIND<Traits>;
};

typedef mcu::Services<Nearby_Traits> Time;
MCU_INTERRUPTS(Time);

template <uint8_t PIN>
static void handle() {
    PORTB |= _BV(PIN);
    PORTB &= uint8_t(~_BV(PIN));
}

static void ask(Time::Alarm& alarm, uint32_t first) {
    PORTB |= _BV(PB3);
    alarm.start_after(first, 10000);
    PORTB &= uint8_t(~_BV(PB3));
}

int main() {
    DDRB |= 0x0f;
    Time::start();
    mcu::Handler_Function a(&handle<0>), b(&handle<1>), c(&handle<2>);
    Time::Alarm alarm_a(&a), alarm_b(&b), alarm_c(&c);
    ask(alarm_a, 10000);
    ask(alarm_b, 10300);
    ask(alarm_c, 10600);
    uint16_t noise = 1;
    for (;;) {
        // Stretches of work of up to half a millisecond at 8 MHz, no two alike.
        noise = uint16_t((noise >> 1) ^ ((noise & 1) ? 0xb400 : 0));
        for (volatile uint8_t work = uint8_t(noise); work > 0; work = work - 1) {}
#ifdef MCU_POLLS
        Time::poll();
#endif
    }
}
