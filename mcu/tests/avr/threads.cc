// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads that alarms wake: one by a semaphore, one directly. Sends what they counted: "5 42 3 65529".
#include "board.h"

#include <mcu/handler_semaphore.h>
#include <mcu/handler_thread.h>

struct Test_Traits : Traits {
    static void wait_for(const volatile bool* flag) { mcu::Thread::wait_for(flag); }
};

typedef mcu::Services<Test_Traits> Time;
MCU_INTERRUPTS(Time);

static mcu::Semaphore events(0);
static volatile uint8_t handled = 0, resumed = 0;

static int handle_five() {
    for (uint8_t i = 0; i < 5; i++) {
        events.p();
        handled = uint8_t(handled + 1);
        Time::Alarm::delay(500); // the others run meanwhile
    }
    return 42;
}

static int wake_three_times() {
    for (uint8_t i = 0; i < 3; i++) {
        mcu::Thread::suspend();
        resumed = uint8_t(resumed + 1);
    }
    return -7;
}

int main() {
    Time::start();
    static mcu::Stack<STACK_SIZE> first_stack, second_stack;
    mcu::Thread worker(first_stack, &handle_five);
    mcu::Thread sleeper(second_stack, &wake_three_times, mcu::Thread::SUSPENDED);
    mcu::Handler_Semaphore tell(&events);
    mcu::Handler_Thread wake(&sleeper);
    Time::Alarm fast(1000, &tell, 5);
    Time::Alarm slow(3000, &wake, Time::Alarm::INFINITE);
    const int worked = worker.join(), slept = sleeper.join();
    OStream cout;
    cout << handled << " " << uint32_t(worked) << " " << resumed << " " << uint32_t(uint16_t(slept)) << mcu::endl;
    halt();
}
