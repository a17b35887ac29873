// The handlers of the paper's figure 2 in turn: pin B0 rises with the event and falls with the first action of a function, of a
// thread that it resumes, and of one that waits for a semaphore.
#include "board.h"

#include <mcu/semaphore.h>
#include <mcu/thread.h>

struct Handler_Traits : Traits {
    typedef mcu::Handler_Function Handler;
};

typedef mcu::Services<Handler_Traits> Time;
MCU_INTERRUPTS(Time);

static mcu::Semaphore events(0);
static mcu::Thread* resumed = nullptr;
static uint8_t next = 0;

static int act_when_resumed() {
    for (;;) {
        Mark::end();
        mcu::Thread::suspend();
    }
}

static int act_when_signalled() {
    for (;;) {
        events.p();
        Mark::end();
    }
}

static void event() {
    const uint8_t kind = next;
    next = kind == 2 ? 0 : uint8_t(kind + 1);
    if (kind == 0) {
        Mark::begin();
        Mark::end();
    } else if (kind == 1) {
        Mark::begin();
        resumed->resume();
    } else {
        Mark::begin();
        events.v();
    }
}

int main() {
    Mark::init();
    Time::start();
    static mcu::Stack<STACK_SIZE> first_stack, second_stack;
    mcu::Thread first(first_stack, &act_when_resumed, mcu::Thread::SUSPENDED);
    mcu::Thread second(second_stack, &act_when_signalled);
    resumed = &first;
    mcu::Handler_Function handler(&event);
    Time::Alarm alarm(20000, &handler, Time::Alarm::INFINITE);
    return second.join();
}
