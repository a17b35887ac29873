// SPDX-License-Identifier: MIT OR Apache-2.0
// Alarms: handlers invoked after an interval, once, n times or for ever.
#pragma once

#include <mcu/cpu.h>
#include <mcu/handler.h>
#include <mcu/relative_queue.h>
#include <mcu/timer.h>
#include <mcu/traits.h>

namespace mcu {

/// There is none: it stops the compiler.
void interval_is_not_kept() __attribute__((error(
    "this interval is not kept exactly: it is below EVENT_CYCLES or a count, above MAX_PERIOD, or no whole number of ticks")));

/// How many events an alarm left out, where they may be (trait SKIP_MISSED).
template <bool SKIPS>
class Missed {
public:
    constexpr Missed() : _missed(0) {}

    /// Events that were not invoked, since the next was due already: modulo 65536.
    uint16_t missed() const { return _missed; }

protected:
    void miss() { _missed = uint16_t(_missed + 1); }

private:
    volatile uint16_t _missed;
};

template <>
class Missed<false> {
protected:
    void miss() {}
};

/// A timed event. All alarms of a program share one queue and one hardware timer; the strategy (a trait) decides
/// how the timer is used. An alarm is due at the end of each interval after its construction, never before;
/// an event that comes late (interrupts off, another handler running) is not skipped: late events run back
/// to back (the overrun policy that jitterlab calls catch-up). With the trait SKIP_MISSED those whose successor is due already
/// are left out and counted, and the others stay where they are due (skip).
///
/// Nothing is allocated: the object itself is the queue's element, so it must live as long as it is pending, and
/// its destruction cancels it. Alarms may be made and cancelled anywhere, in handlers too; handlers run in the
/// timer's interrupt only, or in `Services::poll`.
template <class Traits>
class Alarm : public Missed<Traits::SKIP_MISSED> {
    typedef typename Traits::template Strategy<Traits> Strategy;
    typedef typename Strategy::Tick Tick;
    typedef typename Strategy::Remaining Remaining;
    typedef typename Strategy::Period Period;

public:
    typedef uint32_t Microsecond;
    typedef typename Traits::Handler Handler;

    /// For `times`: until cancelled.
    static constexpr int INFINITE = -1;

    /// Whether the strategy keeps an interval exactly, with these traits: what it does not keep is refused.
    static constexpr inline __attribute__((always_inline)) bool keeps(Microsecond interval) {
        return Strategy::keeps(interval);
    }

    /// An alarm that is not armed: `start` does that. It may lie among the global variables.
    ///
    /// @param handler invoked at each event; must outlive the alarm
    constexpr explicit Alarm(Handler* handler)
        : next(nullptr), delta(0), _handler(handler), _period(), _infinite(false), _over(true), _refused(false), _times(0) {}

    /// An alarm that is armed, if its interval is kept: see `refused`.
    ///
    /// @param interval microseconds between events. One that is not kept does not compile where it is a constant
    /// @param handler  invoked at each event; must outlive the alarm
    /// @param times    number of events, or INFINITE
    inline __attribute__((always_inline)) Alarm(Microsecond interval, Handler* handler, int times = 1) : Alarm(handler) {
        begin(interval, times);
    }

    /// Arms an alarm, again if it was: the first event comes one interval from now. False, and the alarm is not armed, if
    /// the interval is not kept; where that is a constant, the program does not compile.
    inline __attribute__((always_inline)) bool start(Microsecond interval, int times = INFINITE) {
        cancel();
        return begin(interval, times);
    }

    /// The same with the first event earlier or later than the others: `first` microseconds from now, from there every
    /// `interval`. Both have to be kept. So alarms get phases of their own, and do not wait for each other.
    bool start_after(Microsecond first, Microsecond interval, int times = INFINITE) {
        cancel();
        if (!check(keeps(first) && keeps(interval))) return false;
        _period = Strategy::period(interval);
        arm(Strategy::period(first).next(), times);
        return true;
    }

    /// Arms it for a moment: the first event comes when the time stamps (trait TIME_STAMPS, `Services::now`) reach `at`, the
    /// others an `interval` apart. False, and it is not armed, if the interval is not kept, or the moment has passed or is further
    /// away than MAX_PERIOD.
    bool start_at(uint32_t at, Microsecond interval, int times = INFINITE) {
        cancel();
        if (!check(keeps(interval))) return false;
        _period = Strategy::period(interval);
        return arm_at(at, times);
    }

    /// The same for a single event.
    bool start_at(uint32_t at) {
        cancel();
        return arm_at(at, 1);
    }

    /// Whether it is not armed because its interval is not kept.
    bool refused() const { return _refused; }
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

    /// Lets the calling thread wait for at least this many microseconds. False, and it does not wait, beyond MAX_PERIOD.
    static bool delay(Microsecond time) {
        if (time > Traits::MAX_PERIOD) {
            Traits::broken(INTERVAL_NOT_KEPT);
            return false;
        }
        Handler_Function nothing(&do_nothing);
        Alarm alarm(&nothing);
        alarm._period = Strategy::at_least(time == 0 ? 1 : time);
        alarm.arm(alarm._period.next(), 1);
        Traits::wait_for(&alarm._over);
        return true;
    }

    /// Outside of the interrupt: serves what is due.
    static void poll() {
        static_assert(!Strategy::COUNTS_TICKS, "only an interrupt lets time pass under this strategy: Soft, or Anchored with GRACE");
        const CPU::Lock lock;
        if (_queue.head() != nullptr && Strategy::remaining() <= 0 && Strategy::expired()) serve_any(_queue.head());
    }

    /// The head is due: takes it to its next due time, times the next event, and invokes the handler. Called with
    /// interrupts off. Only the commonest case is inline, a periodic alarm alone, with ticks that fit into two bytes: there
    /// a call costs more than it saves.
    static inline __attribute__((always_inline)) void serve() {
        Alarm* const alarm = _queue.head();
        if (Strategy::NEVER_STOPS && alarm == nullptr) return;
        if (Traits::CHECKS && Strategy::late()) Traits::broken(LOCK_TOO_LONG);
        if (sizeof(Tick) > 2 || Traits::SKIP_MISSED || !alarm->_infinite || alarm->next != nullptr) {
            // An interrupt with its handler inline saves few registers: what is rare saves the others itself.
            return Handler::INLINE ? CPU::call_from_interrupt<&Alarm::serve_any_head>() : serve_any(alarm);
        }
        if (!Strategy::next_after_match(alarm->_period.next())) {
            return Handler::INLINE ? CPU::call_from_interrupt<&Alarm::serve_late_head>() : serve_late(alarm);
        }
        invoke(alarm);
    }

    /// The same, for who can only call it.
    static __attribute__((noinline)) void serve_called() { serve(); }

private:
    template <class, class>
    friend class Relative_Queue;

    /// The same as what follows them, for who can only call.
    static __attribute__((noinline)) void serve_any_head() { serve_any(_queue.head()); }
    static __attribute__((noinline)) void serve_late_head() { serve_late(_queue.head()); }

    static __attribute__((noinline)) void serve_any(Alarm* alarm) {
        const bool next_comes = alarm->leave();
        if (!next_comes) return serve_late(alarm);
        invoke(alarm);
    }

    /// Serves an alarm after which the next one is due at once, and all those that are.
    static __attribute__((noinline)) void serve_late(Alarm* alarm) {
        bool next_comes;
        do {
            invoke(alarm);
            alarm = _queue.head();
            if (alarm == nullptr || Strategy::remaining() > 0) return;
            next_comes = alarm->leave();
        } while (!next_comes);
        invoke(alarm);
    }

    static inline __attribute__((always_inline)) void invoke(Alarm* alarm) {
        if (!Traits::CHECKS) return (*alarm->_handler)();
        const typename Traits::Device::Count begin = Traits::Device::count();
        (*alarm->_handler)();
        if (Strategy::too_long(begin)) Traits::broken(HANDLER_TOO_LONG);
    }

    /// Arms what is not armed.
    inline __attribute__((always_inline)) bool begin(Microsecond interval, int times) {
        if (__builtin_constant_p(interval) && !keeps(interval)) interval_is_not_kept();
        if (!check(keeps(interval))) return false;
        _period = Strategy::period(interval);
        arm(_period.next(), times);
        return true;
    }

    /// Says it where an interval is not kept.
    inline __attribute__((always_inline)) bool check(bool kept) {
        _refused = !kept;
        if (!kept) {
            _over = true;
            Traits::broken(INTERVAL_NOT_KEPT);
        }
        return kept;
    }

    /// The first event comes after so many ticks.
    void arm(Tick first, int times) {
        const CPU::Lock lock;
        if (!set(times)) return;
        const bool alone = wake();
        insert(Tick(first + Strategy::lead()), Strategy::remaining(), alone);
    }

    /// The first event comes at a time stamp.
    bool arm_at(uint32_t at, int times) {
        static_assert(Traits::TIME_STAMPS && !Strategy::COUNTS_TICKS,
                      "moments are time stamps of a counter that runs free: Anchored, with the trait TIME_STAMPS");
        const CPU::Lock lock;
        const bool alone = wake();
        const uint32_t now = Strategy::time_stamp();
        const uint32_t ahead = at - now;
        if (!check(ahead != 0 && ahead <= uint32_t(Timer<Traits>::counts(Traits::MAX_PERIOD))) || !set(times)) {
            if (alone) Strategy::stop();
            return !_refused;
        }
        insert(Tick(ahead), Strategy::remaining(typename Traits::Device::Count(now)), alone);
        return true;
    }

    /// What is to come. False if that is nothing.
    bool set(int times) {
        _infinite = times < 0;
        _over = times == 0;
        _times = times;
        return times != 0;
    }

    /// Makes the timer ready for an alarm. Whether it is the only one.
    static bool wake() {
        const bool alone = _queue.head() == nullptr;
        if (alone) Strategy::start();
        return alone;
    }

    /// Takes it into the queue: it is due after so many ticks, the head after `remaining`.
    void insert(Tick due, Remaining remaining, bool alone) {
        const Remaining earlier = Remaining(remaining - Remaining(due));
        if (alone || earlier > 0) {
            _queue.insert_first(this, Tick(earlier));
            Strategy::shift(Remaining(-earlier));
        } else {
            _queue.insert_after_head(this, Tick(-earlier));
        }
    }

    /// The head moves to its next due time, or out if this was its last event. False if what is first then is due already.
    bool leave() {
        Tick interval = _period.next(); // after the last event, too: it comes no sooner than the others did
        const bool last = !_infinite && --_times == 0;
        if (Traits::SKIP_MISSED && !last) {
            while (Remaining(Remaining(interval) + Strategy::remaining()) <= 0) {
                interval = Tick(interval + _period.next());
                this->miss();
            }
        }
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
    bool _infinite;
    volatile bool _over;
    bool _refused;
    int _times;
};

template <class Traits>
Relative_Queue<Alarm<Traits>, typename Alarm<Traits>::Tick> Alarm<Traits>::_queue;

} // namespace mcu
