// SPDX-License-Identifier: MIT OR Apache-2.0
// The paper's figure 6: a thread lets leds glow by switching them fast, and an alarm changes their intensities.
#include "board.h"

#include <mcu/thread.h>

#ifndef MCU_PERIOD
#define MCU_PERIOD 20000
#endif

struct Led_Traits : Traits {
    static constexpr uint32_t MAX_PERIOD = MCU_PERIOD;
    static constexpr bool TIME_STAMPS = false;
    typedef mcu::Handler_Function Handler;
};

typedef mcu::Services<Led_Traits> Time;
MCU_INTERRUPTS(Time);

static constexpr uint8_t NUM_LEDS = 8;
static volatile uint8_t led_intensity[NUM_LEDS];

static void show(uint8_t leds) {
#ifdef __AVR__
    PORTC = uint8_t(~leds);
#else
    static uint8_t shown = 0;
    if (leds != shown) OStream() << uint32_t(leds) << mcu::endl;
    shown = leds;
#endif
}

/// A round takes the same way through the code whatever the intensities are: the thread's own period is constant. Pin B0
/// is high while a round is computed.
static int print_leds() {
    for (uint8_t phase = 0;; phase++) {
        Mark::begin();
        uint8_t leds = 0;
        for (uint8_t i = 0; i < NUM_LEDS; i++) {
            leds = uint8_t(leds << 1) | uint8_t(led_intensity[i] > phase);
        }
        Mark::end();
        show(leds);
    }
}

/// Each led is a step ahead of the one before it.
static void change_led_intensity() {
#ifndef MCU_EMPTY_HANDLER
    for (uint8_t i = 0; i < NUM_LEDS; i++) {
        led_intensity[i] = uint8_t(led_intensity[i] + 1 + i);
    }
#endif
}

int main() {
#ifdef __AVR__
    DDRC = 0xff;
#endif
    Mark::init();
    Time::start();
    mcu::Handler_Function handler(&change_led_intensity);
    Time::Alarm alarm_a(MCU_PERIOD, &handler, Time::Alarm::INFINITE);
    static mcu::Stack<STACK_SIZE> stack;
    mcu::Thread a(stack, &print_leds);
    return a.join();
}
