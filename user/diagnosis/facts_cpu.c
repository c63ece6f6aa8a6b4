// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/proc.h"
#include "diagnosis/facts.h"

#define CPU_DIR "sys/devices/system/cpu/cpu%u/"

void cpu_sample_parse(struct cpu_sample *s, const char *text)
{
	memset(s, 0, sizeof(*s));
	for (const char *line = text; line; line = next_line(line)) {
		uint64_t user, nice, system, idle, iowait, irq, softirq, steal;
		unsigned cpu;

		/*
		 * Guest time is already included in user and nice. On the line for all CPUs, the
		 * user time would be mistaken for a CPU number.
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

void facts_cpus_rates(struct facts_cpus *cpus, const struct cpu_sample *before,
		      const struct cpu_sample *after)
{
	uint64_t stolen = 0, all = 0;

	for (unsigned i = 0; i < FACTS_CPUS; i++) {
		const struct cpu_ticks *b = &before->at[i], *a = &after->at[i];
		struct facts_cpu *cpu = &cpus->at[i];
		uint64_t total = counter_grown(b->total, a->total);

		cpu->online = a->online;
		if (!a->online)
			continue;
		cpus->n = i + 1;
		cpus->online++;
		if (!b->online || !total)
			continue;
		cpu->ticked = true;
		/*
		 * Idle time may go backwards (get_iowait_time_us()), in which case there is no
		 * fraction.
		 */
		cpu->idle = (double)counter_grown(b->idle, a->idle) / (double)total;
		cpu->softirq = (double)counter_grown(b->softirq, a->softirq) / (double)total;
		stolen += counter_grown(b->steal, a->steal);
		all += total;
	}
	cpus->steal = all ? (double)stolen / (double)all : 0;
}

static bool read_number(int root, unsigned cpu, const char *file, uint64_t *value)
{
	char text[24];

	proc_read(root, text, sizeof(text), CPU_DIR "%s", cpu, file);
	return !num_u64(text, 0, UINT64_MAX, value);
}

/* Reads a word, or "" if the file does not exist. */
static void read_word(int root, char *buf, size_t size, unsigned cpu, const char *file)
{
	proc_read(root, buf, size, CPU_DIR "%s", cpu, file);
}

void facts_cpus_read(int root, struct facts_cpus *cpus)
{
	for (unsigned i = 0; i < cpus->n; i++) {
		struct facts_cpu *cpu = &cpus->at[i];
		uint64_t khz;

		if (!cpu->online)
			continue;
		read_word(root, cpu->governor, sizeof(cpu->governor), i,
			  "cpufreq/scaling_governor");
		if (read_number(root, i, "cpufreq/scaling_cur_freq", &khz))
			cpu->mhz = (unsigned)(khz / 1000);
		if (read_number(root, i, "cpufreq/cpuinfo_max_freq", &khz))
			cpu->mhz_max = (unsigned)(khz / 1000);
	}
}

static int compare(const void *a, const void *b)
{
	const unsigned *x = a, *y = b;

	return (int)*x - (int)*y;
}

/* Reads msi_irqs, which contains one file per interrupt, named after its number. */
unsigned irq_numbers(const struct netns *ns, const char *ifname, unsigned *irq, unsigned max)
{
	static const char *const places[] = {"device/msi_irqs", "device/../msi_irqs"};
	bool mounted = ns && ns->sysfs >= 0;
	unsigned n = 0;

	for (unsigned i = 0; i < 2 && !n; i++) {
		DIR *dir = proc_dir(mounted ? ns->sysfs : AT_FDCWD, "%sclass/net/%s/%s",
				    mounted ? "" : "/sys/", ifname, places[i]);
		uint64_t number;

		while (dir && n < max && proc_next_number(dir, &number))
			irq[n++] = (unsigned)number;
		if (dir)
			closedir(dir);
	}
	qsort(irq, n, sizeof(*irq), compare);
	return n;
}

/* Returns the text after the number on an interrupt's line, or NULL. */
static const char *find_line(const char *text, unsigned irq)
{
	for (const char *p = text; p; p = next_line(p)) {
		char *end;
		unsigned long number = strtoul(p, &end, 10);

		if (end != p && *end == ':' && number == irq)
			return end + 1;
	}
	return NULL;
}

/* Reads which CPU each column belongs to from the first line, "CPU0 CPU1 CPU4". */
static unsigned read_columns(const char *text, unsigned *cpu)
{
	const char *end = text + strcspn(text, "\n");
	unsigned n = 0;

	for (const char *p = text; n < FACTS_CPUS && (p = strstr(p, "CPU")) && p < end;) {
		p += strlen("CPU");
		cpu[n++] = (unsigned)strtoul(p, NULL, 10);
	}
	return n;
}

static bool next_count(const char **p, uint64_t *count)
{
	char *end;

	*p += strspn(*p, " \t");
	if (!isdigit((unsigned char)**p))
		return false;
	*count = strtoull(*p, &end, 10);
	*p = end;
	return true;
}

/* Computes an interrupt's rate. Returns false if a line has fewer counts than there are columns. */
static bool rate_of(struct facts_irq *out, const char *before, const char *after, unsigned columns,
		    const unsigned *cpu)
{
	const char *word;
	int len;

	if (!before || !after)
		return false;
	for (unsigned i = 0; i < columns; i++) {
		uint64_t b, a, fired;

		if (!next_count(&before, &b) || !next_count(&after, &a))
			return false;
		fired = (uint32_t)(a - b); /* 32 bits each (kstat_irqs_cpu()) */
		out->fired += fired;
		if (fired > out->most) {
			out->most = fired;
			out->cpu = (int)cpu[i];
		}
	}
	/*
	 * The last word on the line is the name. It follows the chip, hardware number and trigger.
	 */
	len = (int)strcspn(after, "\n");
	for (word = after + len; word > after && word[-1] != ' ';)
		word--;
	snprintf(out->name, sizeof(out->name), "%.*s", len - (int)(word - after), word);
	return true;
}

unsigned irq_rates(const char *before, const char *after, const unsigned *irq, unsigned n,
		   struct facts_irq *out)
{
	unsigned cpu[FACTS_CPUS], columns = read_columns(after, cpu), found = 0;

	if (!columns || strncmp(before, after, strcspn(after, "\n") + 1))
		return 0;
	for (unsigned i = 0; i < n; i++) {
		out[found] = (struct facts_irq){.irq = irq[i], .cpu = -1};
		found += rate_of(&out[found], find_line(before, irq[i]), find_line(after, irq[i]),
				 columns, cpu);
	}
	return found;
}

/* Returns true if a list such as "0-3,8" includes the CPU. A truncated list may include it. */
static bool list_holds(const char *list, unsigned cpu)
{
	for (const char *p = list; *p; p += *p == ',') {
		char *end;
		unsigned long first = strtoul(p, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		if (end == p || (*end && *end != ',') || (cpu >= first && cpu <= last))
			return true;
		p = end;
	}
	return false;
}

/*
 * Reads the affinities. The effective affinity is the actual target, but older kernels report it
 * only for some chips.
 */
void irq_affinities(int root, struct facts_irq *irq, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct facts_irq *q = &irq[i];
		char list[sizeof(q->allowed)];
		uint64_t cpu;

		proc_read(root, q->allowed, sizeof(q->allowed), "proc/irq/%u/smp_affinity_list",
			  q->irq);
		if (proc_read(root, list, sizeof(list), "proc/irq/%u/effective_affinity_list",
			      q->irq) <= 0)
			strcpy(list, q->allowed);
		q->target = num_u64(list, 0, FACTS_CPUS - 1, &cpu) ? -1 : (int)cpu;
		q->moving = q->target >= 0 && *q->allowed && !list_holds(q->allowed, cpu);
	}
}

/* Matches "eth0-TxRx-3", "eth0-rx-0", "virtio1-input.0", "mlx5_comp3@pci:0000:01:00.0". */
bool irq_receives(const struct facts_irq *irq)
{
	return strcasestr(irq->name, "rx") || strstr(irq->name, "input") ||
	       strstr(irq->name, "comp");
}
