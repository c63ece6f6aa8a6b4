/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the CPUs did between two moments, and how they are set up. */
#ifndef PKTLEDGER_DIAGNOSIS_FACTS_CPU_H
#define PKTLEDGER_DIAGNOSIS_FACTS_CPU_H

#include <stdbool.h>
#include <stdint.h>

#define FACTS_CPUS 1024

/* /proc/stat, in ticks since boot. */
struct cpu_ticks {
	bool online;
	uint64_t idle, softirq, steal, total;
};

struct cpu_sample {
	struct cpu_ticks at[FACTS_CPUS];
};

/* Lines "cpuN user nice system idle iowait irq softirq steal ..."; what is short is not online. */
void cpu_sample_parse(struct cpu_sample *s, const char *text);

/* /proc/stat. 0 or -errno. */
int cpu_sample_read(struct cpu_sample *s);

struct facts_cpu {
	bool online;
	bool ticked;		     /* the shares are known */
	double idle, softirq, steal; /* of the window, 0 .. 1 */
	char governor[24];	     /* "" unknown */
	unsigned mhz, mhz_max;	     /* as cpufreq says; 0 unknown */
	char idle_state[24];	     /* the deepest that is not disabled; "" unknown */
	unsigned idle_latency_us;    /* to leave it */
};

struct facts_cpus {
	unsigned n; /* highest number + 1 */
	unsigned online;
	double steal; /* of all CPUs together */
	struct facts_cpu at[FACTS_CPUS];
};

void facts_cpus_rates(struct facts_cpus *cpus, const struct cpu_sample *before,
		      const struct cpu_sample *after);

/* Governor, speed and idle states of the CPUs that are online, from sysfs. `root`: proc_root(). */
void facts_cpus_read(int root, struct facts_cpus *cpus);

#endif
