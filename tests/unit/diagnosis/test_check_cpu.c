// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* CPUs and interrupts as sysfs and /proc/irq show them, from the files to the findings. */

#include <fcntl.h>
#include <stdlib.h>

#include "cases.h"
#include "diagnosis/facts.h"
#include "fake_root.h"
#include "host/change.h"
#include "base/num.h"
#include "base/proc.h"
#include "recorded.h"

#define CPU "sys/devices/system/cpu/cpu"

static int root;

static int begin(void **state)
{
	int ret = fake_begin(state);

	root = ret ? -1 : proc_root(fake_root);
	return root < 0 ? -1 : 0;
}

static int end_tree(void **state)
{
	close(root);
	return fake_end(state);
}

/* Two CPUs, and one after the last. */
static void tell_cpus(void)
{
	static struct facts_cpus cpus;

	cpus = (struct facts_cpus){.n = 2, .online = 2};
	for (unsigned i = 0; i < 3; i++)
		cpus.at[i].online = true;
	facts_cpus_read(root, &cpus);
	for (unsigned i = 0; i < 3; i++)
		tell("'%s' %u of %u MHz%s", cpus.at[i].governor, cpus.at[i].mhz, cpus.at[i].mhz_max,
		     i < 2 ? "," : "");
}

/* The numbers of an interface, of which at most so many are read. */
static void tell_numbers(const char *ifname, unsigned most)
{
	struct netns ns = {.fd = -1, .sysfs = openat(root, "sys", O_PATH | O_DIRECTORY)};
	unsigned irq[FACTS_IRQS];
	const int n = irq_numbers(&ns, ifname, irq, most);

	tell("%d", n);
	for (int i = 0; i < n && most > 1; i++) /* of several, any may be the first */
		tell("%u", irq[i]);
	close(ns.sysfs);
}

/* The allowed CPUs and the effective one, "-" for no file. */
static void tell_affinity(char *const word[])
{
	static const char *const files[] = {"smp_affinity_list", "effective_affinity_list"};
	static unsigned number = 64;
	struct facts_irq irq[2] = {{.irq = ++number}, {.irq = number, .target = 7}};
	char path[64];

	for (unsigned i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "proc/irq/%u/%s", number, files[i]);
		if (strcmp(word[i], "-"))
			fake_file(path, word[i]);
	}
	irq_affinities(root, irq, 1);
	assert_int_equal(irq[1].target, 7); /* not asked for */
	tell("'%s' %d%s", irq->allowed, irq->target, irq->moving ? " moving" : "");
}

static void take_line(void *arg, const char *verb, char *text)
{
	const bool begins = !strcmp(verb, "case");
	struct facts_irq irq = {.irq = 1};
	char *word[4];
	const int n = begins ? 0 : recorded_words(text, word, LENGTH(word));

	if (begins) {
		end_tree(NULL);
		assert_int_equal(begin(NULL), 0);
	} else if (!strcmp(verb, "file")) {
		fake_file(word[0], n > 1 ? word[1] : "");
	} else if (!strcmp(verb, "link")) {
		fake_link(word[0], word[1]);
	} else if (!strcmp(verb, "cpus")) {
		tell_cpus();
	} else if (!strcmp(verb, "numbers")) {
		tell_numbers(word[0], n > 1 ? (unsigned)atoi(word[1]) : FACTS_IRQS);
	} else if (!strcmp(verb, "affinity")) {
		tell_affinity(word);
	} else {
		assert_string_equal(verb, "receives");
		snprintf(irq.name, sizeof(irq.name), "%s", word[0]);
		tell(irq_receives(&irq) ? "yes" : "no");
	}
}

CASE_WITH(recorded, begin, end_tree)
{
	recorded_stories("tests/fixtures/check/cpus", take_line, NULL);
}

CASE_WITH(governor_is_written, begin, end_tree)
{
	struct netns ns = {.fd = root}; /* any but -1, which is this one */
	const struct change at = {
		.ns = &ns, .kind = CHANGE_GOVERNOR, .name = "1", .wanted = "performance"};
	struct recipe_step step;
	char value[JOURNAL_VALUE_SIZE], text[32];

	fake_file(CPU "0/cpufreq/scaling_governor", "powersave\n");
	fake_file(CPU "1/cpufreq/scaling_governor", "powersave\n");
	ns.sysfs = openat(root, "sys", O_PATH | O_DIRECTORY);
	assert_true(ns.sysfs >= 0);
	assert_int_equal(change_ops[CHANGE_GOVERNOR].read(&at, value), 0);
	assert_string_equal(value, "powersave");
	step = change_step(&at, false);
	assert_int_equal(recipe_step_run(&step, -1, NULL), 0);
	assert_true(proc_read(root, text, sizeof(text), CPU "1/cpufreq/scaling_governor") > 0);
	assert_string_equal(text, "performance");
	assert_true(proc_read(root, text, sizeof(text), CPU "0/cpufreq/scaling_governor") > 0);
	assert_string_equal(text, "powersave");
	close(ns.sysfs);
}
