// SPDX-License-Identifier: MIT OR Apache-2.0
// What an event does: a handler is invoked at every occurrence.
#pragma once

namespace mcu {

/// Base of the handlers. One stored function pointer instead of a vtable: on AVR a vtable lies in RAM, and a call
/// through it reads two pointers more.
class Handler {
public:
    /// Whether its code becomes part of the interrupt.
    static constexpr bool INLINE = false;

    /// Handles one occurrence; called with interrupts off.
    inline __attribute__((always_inline)) void operator()() { _invoke(this); }

protected:
    explicit constexpr Handler(void (*invoke)(Handler*)) : _invoke(invoke) {}

private:
    void (*const _invoke)(Handler*);
};

/// Calls an ordinary function, in the context of the interrupt: keep it short.
class Handler_Function : public Handler {
public:
    explicit constexpr Handler_Function(void (*function)()) : Handler(&invoke), _function(function) {}

    inline __attribute__((always_inline)) void operator()() { _function(); }

private:
    static void invoke(Handler* self) { static_cast<Handler_Function*>(self)->_function(); }

    void (*const _function)();
};

/// Calls a function with an object of the program, in the context of the interrupt: several alarms can share the function.
template <class Context>
class Handler_With : public Handler {
public:
    constexpr Handler_With(void (*function)(Context&), Context& context)
        : Handler(&invoke), _function(function), _context(context) {}

private:
    static void invoke(Handler* self) {
        const Handler_With& handler = *static_cast<Handler_With*>(self);
        handler._function(handler._context);
    }

    void (*const _function)(Context&);
    Context& _context;
};

/// Calls a function that the compiler knows, as part of the interrupt, which then saves no register that is not used: the
/// fastest, for programs whose alarms all call the same function.
template <void (*FUNCTION)()>
class Handler_Of {
public:
    static constexpr bool INLINE = true;

    constexpr Handler_Of() {}

    inline __attribute__((always_inline)) void operator()() { FUNCTION(); }
};

} // namespace mcu
