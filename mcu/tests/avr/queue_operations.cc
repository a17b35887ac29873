// SPDX-License-Identifier: MIT OR Apache-2.0
// Alarms are made and cancelled while the timer interrupts, at a moment that the simulator chooses: it writes the number of
// cycles to wait into GPIOR1 and GPIOR2 (ATmega328P). Events show at pins B0 (steady), B1 (second) and B2 (third), and
// pin B5 is high during each operation.
#include "board.h"

#include <util/delay_basic.h>

struct Test_Traits : Traits {
    static constexpr bool TIME_STAMPS = false;
};

typedef mcu::Services<Test_Traits> Time;
MCU_INTERRUPTS(Time);

template <uint8_t PIN>
static void pulse() {
    PORTB |= _BV(PIN);
    PORTB &= uint8_t(~_BV(PIN));
}

static void wait_cycles(uint16_t cycles) {
    const uint8_t rest = cycles & 3;
    if (rest == 1) asm volatile("nop");
    if (rest == 2) asm volatile("nop\n\tnop");
    if (rest == 3) asm volatile("nop\n\tnop\n\tnop");
    _delay_loop_2(cycles / 4 + 1);
}

int main() {
    DDRB = 0xff;
    const uint16_t cycles = uint16_t(GPIOR2 << 8 | GPIOR1);
    mcu::Handler_Function steady_handler(&pulse<PB0>), second_handler(&pulse<PB1>), third_handler(&pulse<PB2>);
    Time::start();

    Time::Alarm steady(400, &steady_handler, Time::Alarm::INFINITE);
    wait_cycles(cycles);

    PORTB |= _BV(PB5); // before steady is due: a new head
    Time::Alarm second(100, &second_handler, 3);
    PORTB &= uint8_t(~_BV(PB5));

    PORTB |= _BV(PB5); // behind others
    Time::Alarm third(200, &third_handler, Time::Alarm::INFINITE);
    PORTB &= uint8_t(~_BV(PB5));

    _delay_loop_2(2400); // 9600 cycles: 1200 us
    PORTB |= _BV(PB5);
    third.cancel();
    PORTB &= uint8_t(~_BV(PB5));

    PORTB |= _BV(PB5);
    Time::Alarm::delay(1000);
    PORTB &= uint8_t(~_BV(PB5));

    PORTB |= _BV(PB5);
    steady.cancel();
    PORTB &= uint8_t(~_BV(PB5));
    _delay_loop_2(1000); // nothing comes any more
    halt();
}
