// Alarms: handlers invoked after an interval, once, n times or for ever.
#pragma once

#include <mcu/cpu.h>
#include <mcu/handler.h>
#include <mcu/relative_queue.h>

namespace mcu {

/// A timed event. All alarms of a program share one queue and one hardware timer; the strategy (a trait) decides
/// how the timer is used. An alarm is due at the end of each interval after its construction, never before;
/// an event that comes late (interrupts off, another handler running) is not skipped: late events run back
/// to back (the overrun policy that jitterlab calls catch-up).
///
/// Nothing is allocated: the object itself is the queue's element, so it must live as long as it is pending, and
/// its destruction cancels it. Alarms may be made and cancelled anywhere, in handlers too; handlers run in the
/// timer's interrupt only.
template <class Traits>
class Alarm {
    typedef typename Traits::template Strategy<Traits> Strategy;
    typedef typename Strategy::Tick Tick;
    typedef typename Strategy::Remaining Remaining;
    typedef typename Strategy::Period Period;

public:
    typedef uint32_t Microsecond;
    typedef typename Traits::Handler Handler;

    /// For `times`: until cancelled.
    static constexpr int INFINITE = -1;

    /// Arms an alarm.
    ///
    /// @param interval microseconds between events, up to the trait MAX_PERIOD; 0 is taken as 1
    /// @param handler  invoked at each event; must outlive the alarm
    /// @param times    number of events, or INFINITE
    Alarm(Microsecond interval, Handler* handler, int times = 1)
        : _handler(handler),
          _period(Strategy::period(interval == 0 ? 1 : interval)),
          _infinite(times < 0),
          _over(times == 0),
          _times(times) {
        if (times == 0) return;
        const CPU::Lock lock;
        const bool first = _queue.head() == nullptr;
        if (first) Strategy::start();
        const Tick due = Tick(_period.next() + Strategy::lead());
        const Remaining earlier = Remaining(Strategy::remaining() - Remaining(due));
        if (first || earlier > 0) {
            _queue.insert_first(this, Tick(earlier));
            Strategy::shift(Remaining(-earlier));
        } else {
            _queue.insert_after_head(this, Tick(-earlier));
        }
    }

    ~Alarm() { cancel(); }

    Alarm(const Alarm&) = delete;
    Alarm& operator=(const Alarm&) = delete;

    /// No further events. Returns whether any were still to come.
    bool cancel() {
        const CPU::Lock lock;
        if (_queue.head() != this) return _queue.remove_after_head(this);
        const Tick later = _queue.pop();
        if (_queue.head() == nullptr) {
            Strategy::stop();
        } else {
            Strategy::shift(Remaining(later));
        }
        return true;
    }

    /// Whether all its events have been.
    bool over() const { return _over; }

    /// Lets the calling thread wait for at least this many microseconds.
    static void delay(Microsecond time) {
        Handler_Function nothing(&do_nothing);
        Alarm alarm(time, &nothing);
        Traits::wait_for(&alarm._over);
    }

    /// The head is due: takes it to its next due time, times the next event, and invokes the handler. Called with
    /// interrupts off. Only the commonest case is inline, a periodic alarm alone, with ticks that fit into two bytes: there
    /// a call costs more than it saves.
    static inline __attribute__((always_inline)) void serve() {
        Alarm* const alarm = _queue.head();
        if (Strategy::NEVER_STOPS && alarm == nullptr) return;
        if (sizeof(Tick) > 2 || !alarm->_infinite || alarm->next != nullptr) return serve_any(alarm);
        if (!Strategy::next_after_match(alarm->_period.next())) return serve_late(alarm);
        (*alarm->_handler)();
    }

    /// The same, for who can only call it.
    static __attribute__((noinline)) void serve_called() { serve(); }

private:
    template <class, class>
    friend class Relative_Queue;

    static __attribute__((noinline)) void serve_any(Alarm* alarm) {
        const bool next_comes = alarm->leave();
        if (!next_comes) return serve_late(alarm);
        (*alarm->_handler)();
    }

    /// Serves an alarm after which the next one is due at once, and all those that are.
    static __attribute__((noinline)) void serve_late(Alarm* alarm) {
        bool next_comes;
        do {
            (*alarm->_handler)();
            alarm = _queue.head();
            if (alarm == nullptr || Strategy::remaining() > 0) return;
            next_comes = alarm->leave();
        } while (!next_comes);
        (*alarm->_handler)();
    }

    /// The head moves to its next due time, or out if this was its last event. False if what is first then is due already.
    bool leave() {
        const Tick interval = _period.next(); // after the last event, too: it comes no sooner than the others did
        const bool last = !_infinite && --_times == 0;
        _over = last;
        const Tick later = last ? _queue.pop() : _queue.postpone_head(interval);
        if (_queue.head() != nullptr) return Strategy::next(later);
        Strategy::stop();
        return true;
    }

    static void do_nothing() {}

    static Relative_Queue<Alarm, Tick> _queue;

    Alarm* next;
    Tick delta;
    Handler* const _handler;
    Period _period;
    const bool _infinite;
    volatile bool _over;
    int _times;
};

template <class Traits>
Relative_Queue<Alarm<Traits>, typename Alarm<Traits>::Tick> Alarm<Traits>::_queue;

} // namespace mcu
