/* Runs a raw image on simavr until it sleeps with interrupts off, and prints cycles, status, registers and memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim_avr.h"

int main(int argc, char **argv)
{
	static uint8_t code[1 << 18];
	FILE *file = argc == 4 ? fopen(argv[2], "rb") : NULL;
	avr_t *avr = argc == 4 ? avr_make_mcu_by_name(argv[1]) : NULL;
	int state = cpu_Running;
	if (!file || !avr)
		return 2;
	avr_init(avr);
	avr_loadcode(avr, code, fread(code, 1, sizeof code, file), 0);
	avr->codeend = avr->flashend;
	while (state != cpu_Done && state != cpu_Crashed && avr->cycle < 10000000)
		state = avr_run(avr);
	printf("%d %llu ", state == cpu_Done, (unsigned long long)avr->cycle);
	for (int i = 7; i >= 0; i--)
		printf("%d", avr->sreg[i]);
	for (int i = 0; i <= avr->ramend; i++)
		if (i < 32 || i >= atoi(argv[3]))
			printf(" %02x", avr->data[i]);
	printf("\n");
	return 0;
}
