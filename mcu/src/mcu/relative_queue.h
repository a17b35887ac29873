// SPDX-License-Identifier: MIT OR Apache-2.0
// The queue of pending alarms: a list in order of due time, each element holding its distance to the one before.
#pragma once

namespace mcu {

/// An intrusive relative (delta) queue. A Node has `Node* next` and a `Tick delta`: the ticks from the due time of the
/// element before it. When the first one is due the timer knows best, so its delta means nothing; the passing of time
/// therefore touches no element, however many there are. Equal due times keep their order of insertion.
/// Callers keep interrupts out.
template <class Node, class Tick>
class Relative_Queue {
public:
    constexpr Relative_Queue() : _head(nullptr) {}

    /// The element that is due first, or null.
    Node* head() const { return _head; }

    /// Adds a node that is due first, `ticks` before the present head.
    void insert_first(Node* node, Tick ticks) {
        if (_head != nullptr) _head->delta = ticks;
        node->next = _head;
        _head = node;
    }

    /// Adds a node that is due `ticks` after the head, which there must be.
    void insert_after_head(Node* node, Tick ticks) {
        Node* before = _head;
        Node* after;
        while ((after = before->next) != nullptr && after->delta <= ticks) {
            ticks = Tick(ticks - after->delta);
            before = after;
        }
        if (after != nullptr) after->delta = Tick(after->delta - ticks);
        node->delta = ticks;
        node->next = after;
        before->next = node;
    }

    /// Removes the first element; tells how much later the next one is due (0 if there is none).
    Tick pop() {
        _head = _head->next;
        return _head != nullptr ? _head->delta : Tick(0);
    }

    /// Makes the first element due `ticks` later; tells how much later than it was the then first one is due.
    Tick postpone_head(Tick ticks) {
        Node* const node = _head;
        Node* const second = node->next;
        if (second == nullptr) return ticks;
        if (ticks < second->delta) {
            second->delta = Tick(second->delta - ticks);
            return ticks;
        }
        _head = second;
        insert_after_head(node, Tick(ticks - second->delta));
        return second->delta;
    }

    /// Removes a node that is not the first; false if it was not queued.
    bool remove_after_head(Node* node) {
        for (Node* before = _head; before != nullptr; before = before->next) {
            if (before->next != node) continue;
            before->next = node->next;
            if (node->next != nullptr) node->next->delta = Tick(node->next->delta + node->delta);
            return true;
        }
        return false;
    }

private:
    Node* _head;
};

} // namespace mcu
