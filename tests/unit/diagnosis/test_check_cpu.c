// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* CPUs and interrupts as sysfs and /proc/irq show them, from the files to the findings. */

#include <fcntl.h>

#include "cases.h"
#include "diagnosis/facts.h"
#include "fake_root.h"
#include "host/change.h"
#include "base/proc.h"

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

static void cpu_file(unsigned cpu, const char *file, const char *content)
{
	char path[128];

	snprintf(path, sizeof(path), CPU "%u/%s", cpu, file);
	fake_file(path, content);
}

/* As intel_pstate has it. */
static void laptop(void)
{
	for (unsigned cpu = 0; cpu < 2; cpu++) {
		cpu_file(cpu, "cpufreq/scaling_governor", "powersave\n");
		cpu_file(cpu, "cpufreq/scaling_cur_freq", cpu ? "800000\n" : "2899991\n");
		cpu_file(cpu, "cpufreq/cpuinfo_max_freq", "3000000\n");
	}
}

static struct facts_cpu cpu[3]; /* two, and one after the last */

static void read_cpus(void)
{
	static struct facts_cpus cpus;

	cpus = (struct facts_cpus){.n = 2, .online = 2};
	for (unsigned i = 0; i < 3; i++)
		cpus.at[i].online = true;
	facts_cpus_read(root, &cpus);
	memcpy(cpu, cpus.at, sizeof(cpu));
}

CASE_WITH(cpus_of_a_laptop, begin, end_tree)
{
	laptop();
	cpu_file(2, "cpufreq/scaling_governor", "schedutil\n");
	read_cpus();
	assert_string_equal(cpu[0].governor, "powersave");
	assert_string_equal(cpu[2].governor, ""); /* none of the two */
	assert_int_equal(cpu[0].mhz, 2899);
	assert_int_equal(cpu[0].mhz_max, 3000);
}

/* A guest has no such files, and numbers may be none. */
CASE_WITH(cpus_that_tell_nothing, begin, end_tree)
{
	cpu_file(0, "cpufreq/scaling_cur_freq", "<unknown>\n");
	cpu_file(0, "cpufreq/cpuinfo_max_freq", "\n");
	read_cpus();
	for (unsigned i = 0; i < 2; i++) {
		assert_string_equal(cpu[i].governor, "");
		assert_true(!cpu[i].mhz && !cpu[i].mhz_max);
	}
}

CASE_WITH(governor_is_written, begin, end_tree)
{
	struct netns ns = {.fd = root}; /* any but -1, which is this one */
	const struct change at = {
		.ns = &ns, .kind = CHANGE_GOVERNOR, .name = "1", .wanted = "performance"};
	struct recipe_step step;
	char value[JOURNAL_VALUE_SIZE], text[32];

	laptop();
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

/* The numbers are at the PCI device, which a virtio one sits on. */
CASE_WITH(interrupts_of_devices, begin, end_tree)
{
	struct netns ns = {.fd = -1};
	unsigned irq[FACTS_IRQS];

	for (int i = 0; i < 8; i++) { /* in whatever order the directory has them */
		char path[64];

		snprintf(path, sizeof(path), "sys/devices/pci0/0000:01:00.0/msi_irqs/%d",
			 64 + i * 5 % 8);
		fake_file(path, "msix\n");
	}
	fake_file("sys/devices/pci0/0000:01:00.0/msi_irqs/not-a-number", "msix\n");
	fake_link("sys/class/net/eth0/device", "../../../devices/pci0/0000:01:00.0");
	fake_file("sys/devices/pci0/0000:02:00.0/msi_irqs/38", "msix\n");
	fake_file("sys/devices/pci0/0000:02:00.0/virtio2/features", "1\n");
	fake_link("sys/class/net/eth1/device", "../../../devices/pci0/0000:02:00.0/virtio2");
	fake_file("sys/class/net/v0/mtu", "1500\n");
	ns.sysfs = openat(root, "sys", O_PATH | O_DIRECTORY);
	assert_int_equal(irq_numbers(&ns, "eth0", irq, FACTS_IRQS), 8);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(irq[i], 64 + i);
	assert_int_equal(irq_numbers(&ns, "eth0", irq, 1), 1);
	assert_int_equal(irq_numbers(&ns, "eth1", irq, FACTS_IRQS), 1);
	assert_int_equal(irq[0], 38);
	assert_int_equal(irq_numbers(&ns, "v0", irq, FACTS_IRQS), 0);
	assert_int_equal(irq_numbers(&ns, "none", irq, FACTS_IRQS), 0);
	close(ns.sysfs);
}

CASE_WITH(affinities, begin, end_tree)
{
	static const struct {
		const char *allowed, *effective;
		int target;
		bool moving;
	} rows[] = {
		{"0-3\n", "2\n", 2, false}, /* any of four, and it is the third */
		{"0\n", "1\n", 1, true},    /* not come since it was changed */
		{"0,4-6\n", "3\n", 3, true},
		{"0,2-6,8\n", "3\n", 3, false},
		{"0-3\n", "0-3\n", -1, false}, /* a chip that spreads them itself */
		{"1\n", NULL, 1, false},       /* no effective one is shown */
		{"1\n", "", 1, false},
		{"0-2\n", "3\n", 3, true},
		{"0-3\n", NULL, -1, false},
		{"0-3\n", "\n", -1, false}, /* it is not started */
		{"1\n", "0\n", 0, true},
		{",3\n", "5\n", 5, false}, /* no list */
		{"1023\n", "1023\n", FACTS_CPUS - 1, false},
		{"1024\n", "1024\n", -1, false}, /* more than are read */
		{NULL, NULL, -1, false},
	};
	const unsigned n = sizeof(rows) / sizeof(rows[0]);
	struct facts_irq irq[16];

	for (unsigned i = 0; i < n; i++) {
		char path[64];

		irq[i] = (struct facts_irq){.irq = 64 + i};
		snprintf(path, sizeof(path), "proc/irq/%u/smp_affinity_list", 64 + i);
		if (rows[i].allowed)
			fake_file(path, rows[i].allowed);
		snprintf(path, sizeof(path), "proc/irq/%u/effective_affinity_list", 64 + i);
		if (rows[i].effective)
			fake_file(path, rows[i].effective);
	}
	irq[n] = (struct facts_irq){.irq = 64, .target = 7};
	irq_affinities(root, irq, n);
	assert_int_equal(irq[n].target, 7); /* not asked for */
	for (unsigned i = 0; i < n; i++) {
		if (irq[i].target != rows[i].target)
			fail_msg("row %u: CPU %d", i, irq[i].target);
		assert_int_equal(irq[i].moving, rows[i].moving);
		assert_memory_equal(irq[i].allowed, rows[i].allowed ? rows[i].allowed : "",
				    strlen(irq[i].allowed));
	}
	assert_string_equal(irq[0].allowed, "0-3");
}

CASE_WITH(names_of_drivers, begin, end_tree)
{
	static const struct {
		const char *name;
		bool receives;
	} rows[] = {
		{"eth0-TxRx-3", true},	   {"ice-eth0-TxRx-0", true},
		{"eth0-rx-0", true},	   {"virtio1-input.0", true},
		{"eth0-rxtx-1", true},	   {"mlx5_comp3@pci:0", true},
		{"eth0-Tx-Rx-0", true},	   {"virtio1-output.0", false},
		{"virtio1-config", false}, {"mlx5_async0@pci:0", false},
		{"eth0-tx-0", false},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct facts_irq irq = {.irq = 1};

		snprintf(irq.name, sizeof(irq.name), "%s", rows[i].name);
		if (irq_receives(&irq) != rows[i].receives)
			fail_msg("%s", rows[i].name);
	}
}

