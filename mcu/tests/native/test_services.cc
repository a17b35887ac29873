// SPDX-License-Identifier: MIT OR Apache-2.0
// The services on this system: threads, semaphores, delays, chronometers. Times are checked from below only: alarms never
// come early, however busy the machine is.
#include <mcu/device/posix_board.h>
#include <mcu/device/posix_timer.h>
#include <mcu/handler_semaphore.h>
#include <mcu/handler_thread.h>
#include <mcu/ostream.h>
#include <mcu/services.h>

#include <string.h>

#include "reference.h"

#ifndef MCU_STRATEGY
#define MCU_STRATEGY Anchored
#endif

struct Board : mcu::Default_Traits {
    static constexpr uint32_t CLOCK = 8000000;
    static constexpr uint16_t PRESCALER = 64;
    static constexpr uint32_t MAX_PERIOD = 200000;
    static constexpr bool TIME_STAMPS = true;
    typedef mcu::POSIX_Timer<CLOCK, PRESCALER> Device;
    typedef mcu::POSIX_RTC RTC;
    template <class Traits>
    using Strategy = mcu::MCU_STRATEGY<Traits>;
    static void wait_for(const volatile bool* flag) { mcu::Thread::wait_for(flag); }
};

typedef mcu::Services<Board> Time;
MCU_INTERRUPTS(Time);

static uint64_t now_ns() {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return uint64_t(t.tv_sec) * 1000000000u + uint64_t(t.tv_nsec);
}

static volatile int calls = 0;
static void count() { calls = calls + 1; }

static void an_alarm_comes_as_often_as_asked_and_never_early() {
    calls = 0;
    mcu::Handler_Function handler(&count);
    const uint64_t begin = now_ns();
    Time::Alarm alarm(2000, &handler, 10);
    Time::Alarm other(3000, &handler, 2);
    while (!alarm.over() || !other.over()) Time::Alarm::delay(1000);
    CHECK(calls == 12);
    CHECK(now_ns() - begin >= 20000000u);
    CHECK(!alarm.cancel());
}

static void a_cancelled_alarm_is_silent() {
    calls = 0;
    mcu::Handler_Function handler(&count);
    {
        Time::Alarm alarm(150000, &handler, Time::Alarm::INFINITE);
        CHECK(alarm.cancel());
        Time::Alarm scoped(100000, &handler);
    }
    Time::Alarm::delay(160000);
    CHECK(calls == 0);
}

static void a_delay_is_never_short_and_the_chronometer_sees_it() {
    const uint64_t before = now_ns();
    Time::Chronometer chron;
    chron.start();
    const uint64_t begin = now_ns();
    Time::Alarm::delay(150000); // more than a quarter of the counter's range: over a station
    const uint64_t end = now_ns();
    chron.stop();
    CHECK(end - begin >= 150000000u);
    CHECK(chron.read() >= 150000u);
    CHECK(chron.read() <= (now_ns() - before) / 1000u + 8); // one count more, for the first has begun
    const uint32_t stopped = chron.read();
    CHECK(chron.read() == stopped);
}

static mcu::Stack<65536> first_stack, second_stack;
static mcu::Semaphore events(0);
static volatile int handled = 0, resumed = 0;

static int handle_five() {
    for (int i = 0; i < 5; i++) {
        events.p();
        handled = handled + 1;
    }
    return 42;
}

static int wake_three_times() {
    for (int i = 0; i < 3; i++) {
        mcu::Thread::suspend();
        resumed = resumed + 1;
    }
    return -7;
}

static void handlers_wake_threads() {
    mcu::Thread worker(first_stack, &handle_five);
    mcu::Thread sleeper(second_stack, &wake_three_times, mcu::Thread::SUSPENDED);
    mcu::Handler_Semaphore tell(&events);
    mcu::Handler_Thread wake(&sleeper);
    Time::Alarm fast(1000, &tell, 5);
    Time::Alarm slow(20000, &wake, Time::Alarm::INFINITE);
    CHECK(worker.join() == 42);
    CHECK(sleeper.join() == -7);
    CHECK(handled == 5 && resumed == 3);
    CHECK(worker.state() == mcu::Thread::FINISHED);
}

static char printed[64];
static size_t length = 0;
struct Memory {
    static void put(char c) { printed[length++] = c; }
};

static void numbers_are_printed() {
    mcu::OStream<Memory> out;
    out << "a " << 0u << " " << 4294967295u << mcu::endl;
    CHECK(strncmp(printed, "a 0 4294967295\n", length) == 0);
}

int main() {
    Time::start();
    an_alarm_comes_as_often_as_asked_and_never_early();
    a_cancelled_alarm_is_silent();
    a_delay_is_never_short_and_the_chronometer_sees_it();
    handlers_wake_threads();
    numbers_are_printed();
    Time::Clock clock;
    clock.set(1000);
    CHECK(clock.now() >= 1000 && clock.now() < 4600);
    printf("services: fine\n");
    return 0;
}
