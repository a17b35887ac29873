/* Runs AVR firmware on simavr and says, on standard output, what happened at which cycle of the processor.
 *
 * It is compiled on the user's machine against the installed simavr, so the layout of simavr's structures is always the
 * right one, and jitterlab itself needs no simavr to build. Lines on standard output:
 *
 *     pin CYCLE INDEX LEVEL      the watched pin INDEX changed
 *     entry CYCLE VECTOR ADDRESS an interrupt was entered (with --entries 1)
 *     uart BYTE                  the firmware sent a byte (decimal)
 *     vector NUMBER COUNT CYCLES MIN MAX    interrupts of a vector: how many, cycles from entry to return
 *     end REASON cycles N slept N entries N asleep N
 *
 * simavr does not charge what an interrupt's entry costs; the datasheets say 4 cycles at least, and 4 more from sleep.
 * With --charge 1 they are added when an interrupt is entered (of the 4 from sleep, simavr spends 1 itself), so every
 * stamp, and what the firmware reads from its timers, is as on the chip.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "avr_ioport.h"
#include "avr_uart.h"
#include "sim_avr.h"
#include "sim_elf.h"
#include "sim_interrupts.h"
#include "sim_irq.h"

enum { MAX_WATCHED = 64, MAX_VECTORS = 64, MAX_POKES = 16, MAX_DEPTH = 64 };

static avr_t *avr;
static FILE *out;
static int charge = 1, tell_entries, was_asleep;
static unsigned long long slept, entries, entries_asleep, records, wanted_records;
static int watched_level[MAX_WATCHED];

static struct {
	unsigned long long count, cycles, min, max;
} vectors[MAX_VECTORS];
static avr_cycle_count_t entered[MAX_DEPTH];
static int depth;

static void fail(const char *what, const char *detail)
{
	fprintf(stderr, "%s%s\n", what, detail);
	exit(2);
}

static void on_sleep(avr_t *a, avr_cycle_count_t cycles)
{
	(void)a;
	slept += cycles + 1;
}

static void on_pin(struct avr_irq_t *irq, uint32_t level, void *index)
{
	int i = (int)(intptr_t)index;
	(void)irq;
	if (watched_level[i] == (int)level)
		return;
	watched_level[i] = (int)level;
	fprintf(out, "pin %llu %d %u\n", (unsigned long long)avr->cycle, i, level);
	records++;
}

static void on_uart(struct avr_irq_t *irq, uint32_t value, void *unused)
{
	(void)irq;
	(void)unused;
	fprintf(out, "uart %u\n", value & 0xff);
}

/* Entry into (1) and return from (0) an interrupt. The return is told before RETI's own cycles are counted. */
static void on_interrupt(struct avr_irq_t *irq, uint32_t running, void *number)
{
	int n = (int)(intptr_t)number;
	(void)irq;
	if (running) {
		if (depth < MAX_DEPTH)
			entered[depth] = avr->cycle;
		depth++;
		entries++;
		entries_asleep += was_asleep;
		if (tell_entries) {
			/* The return address lies on the stack, its most significant byte first. */
			uint16_t sp = (uint16_t)(avr->data[R_SPL] | avr->data[R_SPH] << 8);
			unsigned long address = 0;
			for (int i = 1; i <= avr->address_size; i++)
				address = address << 8 | avr->data[sp + i];
			fprintf(out, "entry %llu %d %lu\n", (unsigned long long)avr->cycle, n, address * 2);
		}
		if (charge)
			avr->cycle += was_asleep ? 4 + 4 - 1 : 4;
		avr->run_cycle_count = 1; /* timers may have become due meanwhile: look after the next instruction */
		was_asleep = 0;
	} else if (depth > 0 && --depth < MAX_DEPTH) {
		unsigned long long cycles = avr->cycle - entered[depth] + 2 + avr->address_size;
		if (!vectors[n].count || cycles < vectors[n].min)
			vectors[n].min = cycles;
		if (cycles > vectors[n].max)
			vectors[n].max = cycles;
		vectors[n].count++;
		vectors[n].cycles += cycles;
	}
}

static avr_irq_t *port_irq(char port, int index)
{
	avr_irq_t *irq = avr_io_getirq(avr, AVR_IOCTL_IOPORT_GETIRQ(port), index);
	char name[2] = { port, 0 };
	if (!irq)
		fail("no such port on this microcontroller: ", name);
	return irq;
}

int main(int argc, char **argv)
{
	const char *elf = NULL, *mcu = NULL, *pins[MAX_WATCHED], *reason = "cycles";
	unsigned long long limit = 0;
	unsigned long hz = 0, pokes[MAX_POKES][2];
	int npins = 0, npokes = 0, state = cpu_Running;

	/* simavr and its parts write to standard output as they like: keep it for ourselves, and their words in order. */
	out = fdopen(dup(1), "w");
	dup2(2, 1);
	setvbuf(stdout, NULL, _IONBF, 0);
	for (int i = 1; i < argc; i++) {
		const char *key = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
		if (key[0] != '-') {
			elf = key;
			continue;
		}
		if (!value)
			fail("missing value of ", key);
		i++;
		if (!strcmp(key, "--mcu")) mcu = value;
		else if (!strcmp(key, "--hz")) hz = strtoul(value, NULL, 10);
		else if (!strcmp(key, "--cycles")) limit = strtoull(value, NULL, 10);
		else if (!strcmp(key, "--records")) wanted_records = strtoull(value, NULL, 10);
		else if (!strcmp(key, "--charge")) charge = atoi(value);
		else if (!strcmp(key, "--entries")) tell_entries = atoi(value);
		else if (!strcmp(key, "--pin") && npins < MAX_WATCHED) pins[npins++] = value;
		else if (!strcmp(key, "--poke") && npokes < MAX_POKES &&
			 sscanf(value, "%lu=%lu", &pokes[npokes][0], &pokes[npokes][1]) == 2) npokes++;
		else fail("cannot use option ", key);
	}
	if (!elf || !out)
		fail("no firmware given", "");

	elf_firmware_t firmware;
	memset(&firmware, 0, sizeof firmware);
	if (elf_read_firmware(elf, &firmware) != 0)
		fail("cannot read as AVR firmware: ", elf);
	if (!mcu)
		mcu = firmware.mmcu;
	if (!mcu[0])
		fail("the firmware does not name its microcontroller", "");
	avr = avr_make_mcu_by_name(mcu);
	if (!avr)
		fail("simavr does not know the microcontroller ", mcu);
	avr_init(avr);
	avr_load_firmware(avr, &firmware);
	if (hz)
		avr->frequency = hz;
	if (!avr->frequency)
		fail("the firmware does not tell its clock frequency", "");
	avr->log = 1;
	avr->sleep = on_sleep;
	for (int v = 1; v < MAX_VECTORS; v++) {
		avr_irq_t *irq = avr_get_interrupt_irq(avr, v);
		if (irq)
			avr_irq_register_notify(irq + AVR_INT_IRQ_RUNNING, on_interrupt, (void *)(intptr_t)v);
	}
	for (int i = 0; i < npins; i++)
		avr_irq_register_notify(port_irq(pins[i][0], pins[i][1] - '0'), on_pin, (void *)(intptr_t)i);
	uint32_t quiet = 0;
	avr_ioctl(avr, AVR_IOCTL_UART_SET_FLAGS('0'), &quiet);
	avr_irq_t *uart = avr_io_getirq(avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_OUTPUT);
	if (uart)
		avr_irq_register_notify(uart, on_uart, NULL);
	for (int i = 0; i < npokes; i++)
		if (pokes[i][0] <= avr->ramend)
			avr->data[pokes[i][0]] = (uint8_t)pokes[i][1];

	fprintf(out, "start %s %lu\n", avr->mmcu, (unsigned long)avr->frequency);
	while (state != cpu_Done && state != cpu_Crashed && avr->cycle < limit) {
		if (wanted_records && records >= wanted_records) {
			reason = "records";
			break;
		}
		was_asleep = avr->state == cpu_Sleeping;
		state = avr_run(avr);
	}
	if (state == cpu_Done) reason = "done";
	if (state == cpu_Crashed) reason = "crashed";
	for (int v = 1; v < MAX_VECTORS; v++)
		if (vectors[v].count)
			fprintf(out, "vector %d %llu %llu %llu %llu\n", v, vectors[v].count, vectors[v].cycles,
				vectors[v].min, vectors[v].max);
	fprintf(out, "end %s cycles %llu slept %llu entries %llu asleep %llu\n", reason, (unsigned long long)avr->cycle,
		slept, entries, entries_asleep);
	return fclose(out) ? 1 : 0;
}
