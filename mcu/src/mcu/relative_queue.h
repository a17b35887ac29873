// SPDX-License-Identifier: MIT OR Apache-2.0
// The queue of pending alarms: a list in order of due time, each element holding its distance to the one before.
#pragma once

#include <mcu/arithmetic.h>

namespace mcu {

/// An intrusive relative (delta) queue. A Node has `Node* next` and a `Tick delta`: the ticks from the due time of the
/// element before it. The head's counts from a moment of the caller's choice, who sets it before he inserts or removes: the passing
/// of time therefore touches no element, however many there are. Equal due times keep their order of insertion.
/// Callers keep interrupts out.
template <class Node, class Tick>
class Relative_Queue {
    typedef typename Signed<Tick>::Result Distance;

public:
    constexpr Relative_Queue() : _head(nullptr) {}

    /// The element that is due first, or null.
    Node* head() const { return _head; }

    /// Adds a node that is due so many ticks after the moment that the head's delta counts from. Whether it is the head now.
    __attribute__((noinline)) bool insert(Node* node, Tick ticks) {
        Node** link = &_head;
        Node* after;
        // The head may be overdue, so distances have signs.
        while ((after = *link) != nullptr && Distance(after->delta) <= Distance(ticks)) {
            ticks = Tick(ticks - after->delta);
            link = &after->next;
        }
        if (after != nullptr) after->delta = Tick(after->delta - ticks);
        node->delta = ticks;
        node->next = after;
        *link = node;
        return _head == node;
    }

    /// Removes the head, and lets the next one's delta count from the due time that the head had.
    void pop() { _head = _head->next; }

    /// Removes the head, the only one.
    void clear() { _head = nullptr; }

    /// Removes a node, and leaves the others where they are due; false if it was not queued.
    bool remove(Node* node) {
        for (Node** link = &_head; *link != nullptr; link = &(*link)->next) {
            if (*link != node) continue;
            *link = node->next;
            if (*link != nullptr) (*link)->delta = Tick((*link)->delta + node->delta);
            return true;
        }
        return false;
    }

private:
    Node* _head;
};

} // namespace mcu
