// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Threads that hold the processor again and again, each in a way of its own, so that it is known what made a task late.
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/interrupt.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/spinlock.h>

#define HOLD_US 200

static DEFINE_RAW_SPINLOCK(lock);

/* The instruction that lets interrupts in stands in this function itself. */
static noinline void interrupts_off(void)
{
	unsigned long flags;

	local_irq_save(flags);
	udelay(HOLD_US);
	local_irq_restore(flags);
	barrier();
}

/* Here it stands in the function that lets go of the lock. */
static noinline void lock_held(void)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	udelay(HOLD_US);
	raw_spin_unlock_irqrestore(&lock, flags);
	barrier();
}

static noinline void not_preempted(void)
{
	preempt_disable();
	udelay(HOLD_US);
	preempt_enable();
	barrier();
}

static void run_softly(struct tasklet_struct *unused)
{
	udelay(HOLD_US);
}
static DECLARE_TASKLET(softly, run_softly);

static void put_off(void)
{
	tasklet_schedule(&softly);
}

static struct holder {
	const char *name;
	void (*hold)(void);
	unsigned int every_us;
	struct task_struct *thread;
} holders[] = {
	{ "irqs-off", interrupts_off, 6100 },
	{ "lock-held", lock_held, 8300 },
	{ "not-preempted", not_preempted, 9700 },
	{ "in-softirq", put_off, 11300 },
};

static int hold_often(void *of)
{
	struct holder *holder = of;

	while (!kthread_should_stop()) {
		usleep_range(holder->every_us, holder->every_us + 50);
		holder->hold();
	}
	return 0;
}

static void end(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(holders); i++)
		if (!IS_ERR_OR_NULL(holders[i].thread))
			kthread_stop(holders[i].thread);
	tasklet_kill(&softly);
}

static int __init begin(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(holders); i++) {
		holders[i].thread = kthread_run(hold_often, &holders[i], "%s", holders[i].name);
		if (IS_ERR(holders[i].thread)) {
			int error = PTR_ERR(holders[i].thread);

			end();
			return error;
		}
	}
	return 0;
}

module_init(begin);
module_exit(end);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Threads that hold the processor in known ways");
