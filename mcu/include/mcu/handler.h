// What an event does: a handler is invoked at every occurrence.
#pragma once

namespace mcu {

/// Base of the handlers. One stored function pointer instead of a vtable: on AVR a vtable lies in RAM, and a call
/// through it reads two pointers more.
class Handler {
public:
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

} // namespace mcu
