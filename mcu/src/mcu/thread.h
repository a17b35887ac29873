// SPDX-License-Identifier: MIT OR Apache-2.0
// Cooperative threads: what alarms need to wake something.
#pragma once

#include <mcu/cpu.h>

namespace mcu {

/// Room for a thread's stack: on AVR at least 60 bytes, and what its functions and one interrupt need.
template <unsigned SIZE>
struct Stack {
    uint8_t bytes[SIZE];
};

/// A thread that runs until it waits, yields or ends. Ready threads take turns in order; when none is ready, the processor
/// sleeps. Interrupts may make threads ready (resume); they run when the running one gives way.
class Thread {
public:
    enum State { RUNNING, READY, SUSPENDED, WAITING, FINISHED };

    /// A thread that will execute `function` on `stack`, now ready, or suspended until `resume`.
    template <unsigned SIZE>
    Thread(Stack<SIZE>& stack, int (*function)(), State state = READY)
        : _next(nullptr), _function(function), _joiner(nullptr), _context(), _status(0), _state(SUSPENDED) {
        CPU::prepare(&_context, stack.bytes, SIZE, &begin);
        if (state == READY) resume();
    }

    Thread(const Thread&) = delete;
    Thread& operator=(const Thread&) = delete;

    static Thread* self() { return _running(); }

    State state() const { return _state; }

    /// Waits for its end; returns what its function returned. For one other thread.
    int join() {
        const CPU::Lock lock;
        while (_state != FINISHED) {
            _joiner = self();
            block(WAITING);
        }
        return _status;
    }

    /// Makes it ready, if it was suspended or waits; fit for interrupts.
    void resume() {
        const CPU::Lock lock;
        if (_state != SUSPENDED && _state != WAITING) return;
        _state = READY;
        _next = nullptr;
        Thread** link = &_ready();
        while (*link != nullptr) link = &(*link)->_next;
        *link = this;
    }

    /// The running thread waits until somebody resumes it.
    static void suspend() {
        const CPU::Lock lock;
        block(SUSPENDED);
    }

    /// The running thread lets the other ready ones run first.
    static void yield() {
        const CPU::Lock lock;
        if (_ready() == nullptr) return;
        self()->_state = SUSPENDED;
        self()->resume();
        dispatch();
    }

    /// The running thread waits until an interrupt sets the flag; others run meanwhile.
    static void wait_for(const volatile bool* flag) {
        const CPU::Lock lock;
        while (!*flag) {
            if (_ready() == nullptr) {
                CPU::sleep();
            } else {
                yield();
            }
        }
    }

private:
    friend class Semaphore;

    /// The thread that main() is.
    constexpr Thread()
        : _next(nullptr), _function(nullptr), _joiner(nullptr), _context(), _status(0), _state(RUNNING) {}

    static Thread*& _running() {
        static Thread main;
        static Thread* running = &main;
        return running;
    }

    static Thread*& _ready() {
        static Thread* first = nullptr;
        return first;
    }

    /// The running thread gives way in the given state. Called with interrupts off.
    static void block(State state) {
        self()->_state = state;
        dispatch();
    }

    /// Goes on with the first ready thread, which may be the one that calls. Called with interrupts off.
    static void dispatch() {
        while (_ready() == nullptr) CPU::sleep();
        Thread* const from = self();
        Thread* const to = _ready();
        _ready() = to->_next;
        to->_state = RUNNING;
        _running() = to;
        if (from != to) CPU::switch_context(&from->_context, &to->_context);
    }

    /// Where every thread begins.
    static void begin() {
        CPU::enable_interrupts();
        Thread* const thread = self();
        thread->_status = thread->_function();
        CPU::disable_interrupts();
        if (thread->_joiner != nullptr) thread->_joiner->resume();
        block(FINISHED);
    }

    Thread* _next;
    int (*const _function)();
    Thread* _joiner;
    CPU::Context _context;
    int _status;
    volatile State _state;
};

} // namespace mcu
