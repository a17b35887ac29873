// SPDX-License-Identifier: MIT OR Apache-2.0
// A random program of alarms, run on the simulated machine and held against the reference.
#pragma once

#define MCU_CPU "mock.h"
#include <mcu/services.h>

#include "reference.h"

/// Where a program's decisions come from: a fuzzer's bytes, or a generator's. Zeros when they are used up.
class Bytes {
public:
    Bytes(const uint8_t* data, size_t size) : _data(data), _left(size) {}
    bool end() const { return _left == 0; }

    uint32_t below(uint32_t limit) {
        uint32_t value = 0;
        for (uint64_t bound = 1; bound < limit; bound <<= 8) value = value << 8 | byte();
        return limit == 0 ? 0 : value % limit;
    }

private:
    uint8_t byte() {
        if (_left == 0) return 0;
        --_left;
        return *_data++;
    }

    const uint8_t* _data;
    size_t _left;
};

/// With a `read_cost` of 0 the machine is infinitely fast, and every event must come at exactly the count the reference
/// says, in exactly its order. Else each reading of the counter takes up to that many counts, so that due times pass in
/// the middle of everything; then no event may be early, lost, doubled, or later than the machine's slowness explains.
template <class Board>
class Program {
    typedef mcu::Services<Board> Time;
    typedef typename Time::Alarm Alarm;
    typedef typename Board::Device Device;
    typedef mcu::Mock Mock;

    struct Handler : mcu::Handler, Entry {
        explicit Handler(Program* p) : mcu::Handler(&invoke), Entry(), program(p) {}
        static void invoke(mcu::Handler* self) {
            Handler* const handler = static_cast<Handler*>(self);
            handler->program->on_event(handler);
        }
        Program* const program;
    };

public:
    Program(Bytes bytes, unsigned read_cost) : _bytes(bytes), _read_cost(read_cost) {}

    void run() {
        Device::reset(_bytes.below(2) ? Device::RANGE - _bytes.below(60) : _bytes.below(1000));
        Mock::deliver = &Device::template deliver<Time>;
        Mock::read_cost = _read_cost;
        Time::start();
        _start = Mock::now;
        _stamp = stamp_now();
        for (unsigned step = 0; step < 300 && !_bytes.end(); ++step) act();
        check_stamp();
        while (!_alarms.empty()) remove(_alarms.front());
        const uint64_t events = _events;
        advance(4 * 64);
        CHECK(_events == events);
        CHECK(Mock::locks == 0);
    }

    uint64_t events() const { return _events; }

private:
    static int64_t now() { return Board::RULE == TICKS ? int64_t(Mock::served) : int64_t(Mock::now); }

    void act() {
        if (Board::LENIENT != 0 && _bytes.below(4) == 0) poll();
        switch (_bytes.below(8)) {
            case 0:
            case 1:
            case 2: add(); break;
            case 3: remove_some(nullptr); break;
            case 4: locked(); break;
            case 5: advance(_bytes.below(8)); break;
            case 6: advance(_bytes.below(300)); break;
            default: advance(_bytes.below(Board::LONG)); break;
        }
    }

    void add() {
        // A slow machine gets no more to do than it can.
        if (_alarms.size() >= (_read_cost == 0 ? 10 : 4)) return;
        const uint32_t shortest = Board::SHORT * (1 + 8 * _read_cost);
        Handler* const handler = new Handler(this);
        switch (_bytes.below(4)) {
            case 0: handler->interval = shortest + _bytes.below(8); break;
            case 1: handler->interval = shortest + _bytes.below(Board::MAX_PERIOD - shortest + 1); break;
            case 2: handler->interval = Board::MAX_PERIOD; break;
            default: handler->interval = _alarms.empty() ? shortest + 20 : _alarms.back()->interval; break;
        }
        handler->times = int(_bytes.below(5)) - 1;
        const mcu::CPU::Lock lock; // nothing is served before the reference knows
        // A tick that has ended but waits to be served does not count; a timer just started has none.
        const bool waits = Device::matched() && (Time::Strategy::NEVER_STOPS || !_reference.pending.empty());
        const int64_t before = now() + (Board::RULE == TICKS && waits ? 2 : 1);
        handler->alarm = new Alarm(handler->interval, handler, handler->times);
        const int64_t after = Board::RULE == TICKS ? before : now() + 1;
        _alarms.push_back(handler);
        if (handler->times != 0) _reference.add(handler, before, after);
        CHECK(static_cast<Alarm*>(handler->alarm)->over() == (handler->times == 0));
    }

    /// Afterwards nothing is due.
    void poll() {
        Board::template poll<Time>();
        CHECK(_read_cost != 0 || _reference.deadline() > now());
    }

    void remove_some(const Handler* spared) {
        if (_alarms.empty()) return;
        Handler* const handler = _alarms[_bytes.below(uint32_t(_alarms.size()))];
        if (handler != spared) remove(handler);
    }

    void remove(Handler* handler) {
        const mcu::CPU::Lock lock;
        const int64_t before = now();
        Alarm* const alarm = static_cast<Alarm*>(handler->alarm);
        CHECK(alarm->cancel() == (handler->times != 0));
        CHECK(!alarm->cancel());
        if (handler->times != 0) _reference.remove(handler, before);
        for (size_t i = 0; i < _alarms.size(); ++i) {
            if (_alarms[i] == handler) _alarms.erase(_alarms.begin() + long(i));
        }
        delete alarm;
        delete handler;
    }

    /// Interrupts stay off for a while: events pile up, then all come.
    void locked() {
        {
            const mcu::CPU::Lock lock;
            const uint64_t matches = Device::pass(_bytes.below(Board::LOCKED));
            if (Board::RULE == TICKS && matches > 1) _ticks_lost = true;
            check_stamp();
            if (_bytes.below(2)) add();
            if (_bytes.below(2)) remove_some(nullptr);
            _unlocked = now();
        }
        check_deadline();
    }

    void advance(uint64_t counts) {
        const uint64_t end = Mock::now + counts;
        while (Mock::now < end) {
            const uint64_t left = end - Mock::now;
            Device::pass(Device::quiet() < left ? Device::quiet() : left);
            Mock::deliver();
            check_deadline();
        }
    }

    void on_event(Handler* handler) {
        ++_events;
        CHECK(Mock::locks == 1);
        const bool exact = _read_cost == 0;
        const int64_t due = Reference<Board>::high(*handler);
        if (exact) CHECK(due <= now() && (now() <= due + Board::LENIENT || now() <= _unlocked + 2));
        _reference.serve(handler, now(), exact);
        // Handlers make and cancel alarms, too; even their own.
        if (_bytes.below(8) == 0) add();
        if (_bytes.below(8) == 0) remove_some(handler);
        if (_bytes.below(16) == 0) remove(handler);
    }

    void check_deadline() {
        const int64_t slack = Board::LENIENT + (_read_cost == 0 ? 2 : 64 * int64_t(_read_cost));
        const int64_t deadline = _reference.deadline() > _unlocked ? _reference.deadline() : _unlocked;
        CHECK(Mock::locks != 0 || _reference.pending.empty() || deadline >= now() - slack);
    }

    /// Time stamps count right even while an overflow or a tick waits to be served.
    void check_stamp() {
        if (!Board::TIME_STAMPS || _read_cost != 0 || _ticks_lost) return;
        CHECK(uint32_t(stamp_now() - _stamp) == uint32_t(Mock::now - _start));
    }

    static uint32_t stamp_now() {
        const mcu::CPU::Lock lock;
        return Time::Strategy::time_stamp();
    }

    Bytes _bytes;
    const unsigned _read_cost;
    Reference<Board> _reference;
    std::vector<Handler*> _alarms;
    int64_t _unlocked = -1000;
    uint64_t _events = 0;
    bool _ticks_lost = false;
    uint64_t _start = 0;
    uint32_t _stamp = 0;
};
