// SPDX-License-Identifier: MIT OR Apache-2.0
// Linux and other POSIX systems in the place of a processor: a signal is the interrupt.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

namespace mcu {

struct CPU {
    /// The signal that interrupts.
    static int signal_number() { return SIGRTMIN; }

    /// Keeps interrupts out for its lifetime; nests.
    class Lock {
    public:
        Lock() { _was_blocked = block(); }
        ~Lock() {
            if (!_was_blocked) enable_interrupts();
        }
        Lock(const Lock&) = delete;

    private:
        bool _was_blocked;
    };

    static void enable_interrupts() {
        const sigset_t set = interrupts();
        pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
    }

    static void disable_interrupts() { block(); }

    /// Sleeps until an interrupt sets the flag.
    static void wait_for(const volatile bool* flag) {
        const Lock lock;
        while (!*flag) sleep();
    }

    /// Sleeps until an interrupt has been served; called, and returns, with interrupts off.
    static void sleep() {
        sigset_t mask;
        pthread_sigmask(SIG_SETMASK, nullptr, &mask);
        sigdelset(&mask, signal_number());
        sigsuspend(&mask);
    }

    /// Calls a function out of an interrupt's handler.
    template <void (*FUNCTION)()>
    static void call_from_interrupt() {
        FUNCTION();
    }

    typedef ucontext_t Context;

    /// A thread that will begin with `entry` on this stack.
    static void prepare(Context* context, uint8_t* stack, unsigned size, void (*entry)()) {
        getcontext(context);
        sigaddset(&context->uc_sigmask, signal_number());
        context->uc_stack.ss_sp = stack;
        context->uc_stack.ss_size = size;
        context->uc_link = nullptr;
        makecontext(context, entry, 0);
    }

    /// Leaves the running thread and goes on with another. Called with interrupts off.
    static void switch_context(Context* from, Context* to) { swapcontext(from, to); }

private:
    static sigset_t interrupts() {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, signal_number());
        return set;
    }

    /// Returns whether they were off before.
    static bool block() {
        const sigset_t set = interrupts();
        sigset_t before;
        pthread_sigmask(SIG_BLOCK, &set, &before);
        return sigismember(&before, signal_number()) == 1;
    }
};

} // namespace mcu
