// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Files of /proc and /sys, each read by all that read one. */
#include "fuzz.h"

#include <netinet/in.h>

#include "diagnosis/facts.h"
#include "host/counters.h"
#include "host/nic.h"
#include "drops/ksym.h"
#include "drops/owners.h"

static void read_cpus(char *text)
{
	static struct cpu_sample before, after;
	static struct facts_cpus cpus;

	memset(&cpus, 0, sizeof(cpus));
	memset(&before, 0, sizeof(before));
	cpu_sample_parse(&after, text);
	facts_cpus_rates(&cpus, &before, &after);
	MUST(cpus.n <= FACTS_CPUS);
}

static void read_irqs(char *text)
{
	static const unsigned wanted[] = {1, 37, 164};
	static struct facts_irq irq[FACTS_IRQS];

	MUST(irq_rates("", text, wanted, 3, irq) <= 3);
	MUST(irq_rates(text, text, wanted, 3, irq) <= 3);
}

static void read_sockets(char *text)
{
	static struct facts_socks before, after;

	memset(&before, 0, sizeof(before));
	memset(&after, 0, sizeof(after));
	sockmem_parse(text, strlen(text), AF_INET, facts_socks_add, &before);
	sockmem_parse(text, strlen(text), AF_INET6, facts_socks_add, &after);
	facts_socks_rates(&before, &after);
	MUST(after.n <= FACTS_SOCKS);
}

static void read_stack(char *text)
{
	uint64_t value;

	sockstat_value(text, "UDP", "mem", &value);
	procnet_column(text, strlen(text), "table_fulls", true, &value);
	nfqueue_drops(text);
}

static void read_group(char *text)
{
	struct container c = {0};
	char name[32];

	container_of_cgroup(text, &c);
	container_text(&c, name, sizeof(name));
	container_pod_text(&c, name, sizeof(name));
}

static void read_symbols(char *text)
{
	char path[32], name[KSYM_NAME + 128];
	int fd = fuzz_file((const uint8_t *)text, strlen(text), path);
	struct trace_places places;
	struct error err = {0};
	struct ksyms *k;

	if (!ksyms_open(&k, path, &err)) {
		ksym_places(k, &places);
		MUST(*ksym_format(k, places.run.start, name, sizeof(name)));
		MUST(*ksym_format(k, strtoull(text, NULL, 16), name, sizeof(name)));
		MUST(places.freeing.start <= places.freeing.end);
		ksyms_free(k);
	}
	close(fd);
}

/* `ethtool -S` of two times, as each driver has it: halves of the text. */
static void read_nic(char *text)
{
	struct nic_sample all = {0}, after = {0}, before = {0};
	const size_t half = strlen(text) / 2;
	struct nic_loss loss[16];

	for (char *at = text, *save; (at = strtok_r(at, "\n", &save)); at = NULL) {
		char *colon = strrchr(at, ':');

		if (!colon)
			continue;
		*colon = '\0';
		nic_sample_add(at < text + half ? &all : &after, at, strtoull(colon + 1, NULL, 10));
	}
	nic_sample_match(&all, &after, &before);
	for (unsigned i = 0; i < nic_driver_count; i++) {
		char name[32];
		struct nic_plan *plan;

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(nic_drivers[i].names, "|"),
			 nic_drivers[i].names);
		plan = nic_plan_new(name, &after);
		if (nic_plan_fits(plan, &before))
			MUST(nic_losses(plan, &before, &after, loss, 16) <= after.n);
		nic_plan_free(plan);
	}
	nic_sample_free(&all);
	nic_sample_free(&after);
	nic_sample_free(&before);
}

/* These need no NUL. */
static void read_counters(const char *text, size_t len)
{
	struct counters c = {0};

	procnet_snmp(&c, "here", text, len);
	procnet_snmp6(&c, "here", text, len);
	procnet_softnet(&c, "host", text, len);
	procnet_neigh_stat(&c, "host", "arp_cache", text, len);
	counters_free(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const readers[])(char *text) = {read_cpus,  read_irqs,  read_sockets,
						      read_stack, read_group, read_symbols,
						      read_nic};
	char *bare = malloc(size ? size : 1);

	MUST(bare);
	for (unsigned i = 0; i < sizeof(readers) / sizeof(readers[0]); i++) {
		char *text = fuzz_text(data, size);

		readers[i](text);
		free(text);
	}
	memcpy(bare, data, size);
	read_counters(bare, size);
	free(bare);
	return 0;
}
