// The leds of the paper's figure 6 under a tick that can preempt: it saves all registers, counts the alarms' ticks and the thread's
// quantum, and goes on with the next ready thread, which here is the same. Pin B0 rises once a round.
#include "board.h"

extern "C" {
struct Context {
    uint8_t* volatile stack;
    Context* volatile next;
};
static Context leds;
Context* volatile running __attribute__((used)) = &leds;

static volatile uint32_t ticks = 0;
static volatile uint16_t alarm_ticks = 20;
static volatile uint8_t quantum = 10;

void __attribute__((used, noinline)) preemptive_tick() {
    ticks = ticks + 1;
    alarm_ticks = uint16_t(alarm_ticks - 1);
    if (alarm_ticks == 0) alarm_ticks = 20;
    quantum = uint8_t(quantum - 1);
    if (quantum != 0) return;
    quantum = 10;
    running = running->next;
}
}

#define FOR_ALL(DO)                                                                                            \
    DO("2") DO("3") DO("4") DO("5") DO("6") DO("7") DO("8") DO("9") DO("10") DO("11") DO("12") DO("13")       \
    DO("14") DO("15") DO("16") DO("17") DO("18") DO("19") DO("20") DO("21") DO("22") DO("23") DO("24")        \
    DO("25") DO("26") DO("27") DO("28") DO("29") DO("30") DO("31")
#define FOR_ALL_BACK(DO)                                                                                       \
    DO("31") DO("30") DO("29") DO("28") DO("27") DO("26") DO("25") DO("24") DO("23") DO("22") DO("21")        \
    DO("20") DO("19") DO("18") DO("17") DO("16") DO("15") DO("14") DO("13") DO("12") DO("11") DO("10")        \
    DO("9") DO("8") DO("7") DO("6") DO("5") DO("4") DO("3") DO("2")
#define SAVE(R) "push r" R "\n"
#define RESTORE(R) "pop r" R "\n"

ISR(TIMER1_COMPA_vect, ISR_NAKED) {
    __asm__ __volatile__(
        "push r0\n in r0, __SREG__\n push r0\n push r1\n clr r1\n" FOR_ALL(SAVE)
        "lds r30, running\n lds r31, running+1\n"
        "in r24, __SP_L__\n in r25, __SP_H__\n st Z, r24\n std Z+1, r25\n"
        "call preemptive_tick\n"
        "lds r30, running\n lds r31, running+1\n"
        "ld r24, Z\n ldd r25, Z+1\n out __SP_H__, r25\n out __SP_L__, r24\n" FOR_ALL_BACK(RESTORE)
        "pop r1\n pop r0\n out __SREG__, r0\n pop r0\n reti\n");
}

static volatile uint8_t led_intensity[8];

int main() {
    Mark::init();
    leds.next = &leds;
    // 1000 Hz from 125 kHz, as in the paper.
    TCCR1A = 0;
    OCR1A = 124;
#ifdef TIMSK1
    TIMSK1 = _BV(OCIE1A);
#else
    TIMSK = _BV(OCIE1A);
#endif
    TCCR1B = _BV(WGM12) | 3;
    sei();
    for (uint8_t phase = 0;; phase++) {
        Mark::begin();
        uint8_t shown = 0;
        for (uint8_t i = 0; i < 8; i++) {
            shown = uint8_t(shown << 1) | uint8_t(led_intensity[i] > phase);
        }
        Mark::end();
        PORTC = uint8_t(~shown);
    }
}
