// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "diagnosis/facts_cpu.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/num.h"
#include "base/proc.h"

#define CPU_DIR "sys/devices/system/cpu/cpu%u/"

void cpu_sample_parse(struct cpu_sample *s, const char *text)
{
	memset(s, 0, sizeof(*s));
	for (const char *line = text; line; line = strchr(line, '\n')) {
		uint64_t user, nice, system, idle, iowait, irq, softirq, steal;
		unsigned cpu;

		line += *line == '\n';
		/*
		 * Guest time is contained in user and nice. Of the line of all CPUs the user time
		 * would be taken for the number of a CPU.
		 */
		if (strncmp(line, "cpu ", 4) == 0 ||
		    sscanf(line,
			   "cpu%u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
			   " %" SCNu64 " %" SCNu64 " %" SCNu64,
			   &cpu, &user, &nice, &system, &idle, &iowait, &irq, &softirq,
			   &steal) != 9 ||
		    cpu >= FACTS_CPUS)
			continue;
		s->at[cpu] = (struct cpu_ticks){
			.online = true,
			.idle = idle + iowait,
			.softirq = softirq,
			.steal = steal,
			.total = user + nice + system + idle + iowait + irq + softirq + steal,
		};
	}
}

int cpu_sample_read(struct cpu_sample *s)
{
	char *text;
	int ret = file_read("/proc/stat", &text, NULL);

	if (ret)
		return ret;
	cpu_sample_parse(s, text);
	free(text);
	return 0;
}

/* Idle time may go backwards (get_iowait_time_us()): no share of it then. */
static double share(uint64_t before, uint64_t after, uint64_t total)
{
	return after > before && total ? (double)(after - before) / (double)total : 0;
}

void facts_cpus_rates(struct facts_cpus *cpus, const struct cpu_sample *before,
		      const struct cpu_sample *after)
{
	uint64_t stolen = 0, all = 0;

	for (unsigned i = 0; i < FACTS_CPUS; i++) {
		const struct cpu_ticks *b = &before->at[i], *a = &after->at[i];
		struct facts_cpu *cpu = &cpus->at[i];
		uint64_t total = a->total > b->total ? a->total - b->total : 0;

		cpu->online = a->online;
		if (!a->online)
			continue;
		cpus->n = i + 1;
		cpus->online++;
		if (!b->online || !total)
			continue;
		cpu->ticked = true;
		cpu->idle = share(b->idle, a->idle, total);
		cpu->softirq = share(b->softirq, a->softirq, total);
		cpu->steal = share(b->steal, a->steal, total);
		stolen += a->steal > b->steal ? a->steal - b->steal : 0;
		all += total;
	}
	cpus->steal = all ? (double)stolen / (double)all : 0;
}

static bool read_number(int root, unsigned cpu, const char *file, uint64_t *value)
{
	char text[24];

	return proc_read(root, text, sizeof(text), CPU_DIR "%s", cpu, file) > 0 &&
	       !num_u64(text, 0, UINT64_MAX, value);
}

static unsigned read_mhz(int root, unsigned cpu, const char *file)
{
	uint64_t khz;

	return read_number(root, cpu, file, &khz) ? (unsigned)(khz / 1000) : 0;
}

/* States are in the order of their depth; the last that is enabled is the deepest. */
static void read_idle(int root, struct facts_cpu *cpu, unsigned n)
{
	for (unsigned state = 0; state < 16; state++) {
		uint64_t latency, disabled = 0;
		char file[32];

		snprintf(file, sizeof(file), "cpuidle/state%u/latency", state);
		if (!read_number(root, n, file, &latency))
			break;
		snprintf(file, sizeof(file), "cpuidle/state%u/disable", state);
		if (read_number(root, n, file, &disabled) && disabled)
			continue;
		cpu->idle_latency_us = (unsigned)latency;
		if (proc_read(root, cpu->idle_state, sizeof(cpu->idle_state),
			      CPU_DIR "cpuidle/state%u/name", n, state) < 0)
			cpu->idle_state[0] = '\0';
	}
}

void facts_cpus_read(int root, struct facts_cpus *cpus)
{
	for (unsigned i = 0; i < cpus->n; i++) {
		struct facts_cpu *cpu = &cpus->at[i];

		if (!cpu->online)
			continue;
		if (proc_read(root, cpu->governor, sizeof(cpu->governor),
			      CPU_DIR "cpufreq/scaling_governor", i) < 0)
			cpu->governor[0] = '\0';
		cpu->mhz = read_mhz(root, i, "cpufreq/scaling_cur_freq");
		cpu->mhz_max = read_mhz(root, i, "cpufreq/cpuinfo_max_freq");
		read_idle(root, cpu, i);
	}
}
