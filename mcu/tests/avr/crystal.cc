// SPDX-License-Identifier: MIT OR Apache-2.0
// Three alarms, at pins B0 to B2, and delays, on a watch crystal: everything between is spent in power-save. Pin B3 says when they were
// asked for.
#include <mcu/device/avr_timer2_crystal.h>
#include <mcu/services.h>

FUSES = {0xe2, 0xd9, 0xff}; // the RC oscillator, which starts within 6 cycles

struct Board : mcu::Default_Traits {
    static constexpr uint32_t CLOCK = F_CPU;
    static constexpr uint16_t PRESCALER = MCU_PRESCALER;
    static constexpr uint32_t MAX_PERIOD = MCU_MAX_PERIOD;
    typedef mcu::AVR_Timer2_Crystal<PRESCALER> Device;
    template <class Traits>
    using Strategy = mcu::Anchored<Traits>;
    static void wait_for(const volatile bool* flag) { Device::wait_for(flag); }
};

typedef mcu::Services<Board> Time;
MCU_INTERRUPTS_OF(Time, TIMER2_COMPA_vect, TIMER2_OVF_vect);

template <uint8_t PIN>
static void pulse() {
    PORTB |= _BV(PIN);
    PORTB &= uint8_t(~_BV(PIN));
}

int main() {
    DDRB = 0x0f;
    Time::start();
    mcu::Handler_Function a(&pulse<0>), b(&pulse<1>), c(&pulse<2>);
    Time::Alarm alarm_a(&a), alarm_b(&b), alarm_c(&c);
    pulse<3>();
    alarm_a.start(100000);
    alarm_b.start(170001);
    alarm_c.start(1000000);
    for (;;) Time::Alarm::delay(333333);
}
