// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Recorded files of /proc, /sys and `ethtool -S`, spoilt at random: whatever reads them neither
 * crashes nor hangs, and what it makes of them is no more than there is room for. A text ends at
 * the end of a page, the next one cannot be read. PKTLEDGER_FUZZ: another seed.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "cases.h"
#include "diagnosis/facts.h"
#include "host/counters.h"
#include "host/nic.h"
#include "drops/owners.h"

#define ROUNDS	   300
#define ROUNDS_ALL 30000
#define SECONDS	   20 /* of CPU time, of one reader; 50 times as much of the long test */
#define ROOM	   (1 << 18)

static uint64_t seed = 1, state;
static unsigned rounds = ROUNDS;
static char *guarded; /* ROOM bytes, then a page that faults */

/* splitmix64 */
static uint64_t random_below(uint64_t n)
{
	uint64_t z = state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return n ? (z ^ (z >> 31)) % n : 0;
}

struct text {
	char *at;
	size_t len;
};

/* A recorded file without the lines that describe it. */
static struct text load(const char *name)
{
	struct text t = {calloc(1, ROOM), 0};
	char path[128], line[4096];
	FILE *f;

	snprintf(path, sizeof(path), "tests/fixtures/%s", name);
	f = fopen(path, "r");
	if (!f || !t.at)
		fail_msg("cannot open %s (run from the top of the tree)", path);
	while (fgets(line, sizeof(line), f)) {
		size_t len = strlen(line);

		if (!strncmp(line, "# ", 2))
			continue;
		assert_true(t.len + len < ROOM / 4);
		memcpy(t.at + t.len, line, len);
		t.len += len;
	}
	fclose(f);
	assert_true(t.len > 0);
	return t;
}

static void flip(struct text *t)
{
	if (t->len)
		t->at[random_below(t->len)] ^= (char)(1 + random_below(255));
}

static void cut(struct text *t)
{
	t->len = random_below(t->len + 1);
}

/* `what` instead of [at, at + old). */
static void splice(struct text *t, size_t at, size_t old, const char *what, size_t len)
{
	if (t->len - old + len >= ROOM)
		return;
	memmove(t->at + at + len, t->at + at + old, t->len - at - old);
	memcpy(t->at + at, what, len);
	t->len += len - old;
}

static void repeat(struct text *t)
{
	size_t at = random_below(t->len), len = random_below(t->len - at + 1);
	char *part = malloc(len ? len : 1);

	assert_non_null(part);
	memcpy(part, t->at + at, len);
	for (unsigned n = 1 + random_below(8); n > 0; n--)
		splice(t, at, 0, part, len);
	free(part);
}

static void leave_out(struct text *t)
{
	size_t at = random_below(t->len);

	splice(t, at, random_below(t->len - at + 1), "", 0);
}

static void huge_number(struct text *t)
{
	static const char *const huge[] = {
		"18446744073709551615",
		"18446744073709551616",
		"9223372036854775808",
		"4294967295",
		"4294967296",
		"2147483648",
		"-1",
		"-9223372036854775809",
		"ffffffffffffffff",
		"99999999999999999999999999999999999999999999",
		"0x10",
		"1e308",
		"",
	};
	const char *number = huge[random_below(sizeof(huge) / sizeof(huge[0]))];
	size_t at = random_below(t->len), end;

	while (at < t->len && (t->at[at] < '0' || t->at[at] > '9'))
		at++;
	for (end = at; end < t->len && t->at[end] >= '0' && t->at[end] <= '9';)
		end++;
	splice(t, at, end - at, number, strlen(number));
}

static void separators(struct text *t)
{
	static const char bytes[] = "\n\n \t:::/\r\0%,-";
	char c = bytes[random_below(sizeof(bytes) - 1)];
	char run[300];
	size_t at = random_below(t->len + 1);

	memset(run, c, sizeof(run));
	splice(t, at, 0, run, 1 + random_below(random_below(4) ? 2 : sizeof(run)));
}

/* Spoilt by one or some of them. Ends at the guard, with a NUL that is not part of `len`. */
static struct text spoilt(const struct text *original)
{
	static void (*const ways[])(struct text *) = {
		flip, cut, repeat, leave_out, huge_number, separators,
	};
	struct text t = {malloc(ROOM), original->len}, placed;

	assert_non_null(t.at);
	memcpy(t.at, original->at, t.len);
	for (unsigned n = 1 + random_below(6); n > 0; n--)
		ways[random_below(sizeof(ways) / sizeof(ways[0]))](&t);
	placed = (struct text){guarded + ROOM - t.len - 1, t.len};
	memcpy(placed.at, t.at, t.len);
	placed.at[t.len] = '\0';
	free(t.at);
	return placed;
}

#define assert_text(s) assert_true(strnlen(s, sizeof(s)) < sizeof(s))

static void read_cpus(const struct text *t, const struct text *original)
{
	static struct cpu_sample before, after;
	static struct facts_cpus cpus;

	memset(&cpus, 0, sizeof(cpus));
	cpu_sample_parse(&before, original->at);
	cpu_sample_parse(&after, t->at);
	facts_cpus_rates(&cpus, &before, &after);
	assert_true(cpus.n <= FACTS_CPUS && cpus.online <= cpus.n);
	assert_true(cpus.steal >= 0);
}

static void read_irqs(const struct text *t, const struct text *original)
{
	static const unsigned wanted[] = {37, 38, 39, 64, 65, 66, 67, 68, 164};
	static struct facts_irq irq[FACTS_IRQS];
	const unsigned n = sizeof(wanted) / sizeof(wanted[0]);

	for (int turn = 0; turn < 2; turn++) {
		const char *b = turn ? t->at : original->at, *a = turn ? original->at : t->at;
		unsigned found = irq_rates(b, a, wanted, n, irq);

		assert_true(found <= n);
		for (unsigned i = 0; i < found; i++)
			assert_text(irq[i].name);
	}
}

static void read_sockets(const struct text *t, const struct text *original)
{
	static struct facts_socks before, after;

	memset(&before, 0, sizeof(before));
	memset(&after, 0, sizeof(after));
	sockmem_parse(original->at, strlen(original->at), AF_INET, facts_socks_add, &before);
	sockmem_parse(t->at, strlen(t->at), AF_INET, facts_socks_add, &after);
	sockmem_parse(t->at, strlen(t->at), AF_INET6, facts_socks_add, &after);
	assert_true(after.n <= FACTS_SOCKS && after.n + after.more <= 2 * t->len);
	facts_socks_rates(&before, &after);
}

static void read_taps(const struct text *t, const struct text *original)
{
	static struct facts_taps taps;

	(void)original;
	memset(&taps, 0, sizeof(taps));
	facts_taps_parse(&taps, false, t->at);
	facts_taps_parse(&taps, true, t->at);
	assert_true(taps.taps <= t->len && taps.raws <= t->len);
}

static void read_stack(const struct text *t, const struct text *original)
{
	uint64_t value;

	(void)original;
	sockstat_value(t->at, "FRAG", "memory", &value);
	sockstat_value(t->at, "UDP", "mem", &value);
	procnet_column(t->at, strlen(t->at), "table_fulls", true, &value);
	procnet_column(t->at, strlen(t->at), "entries", false, &value);
	nfqueue_drops(t->at);
}

static void read_counters(const struct text *t, const struct text *original)
{
	struct counters c = {0};
	const char *at = t->at + 1; /* these need no NUL: at the very end of the page */

	(void)original;
	memmove(t->at + 1, t->at, t->len);
	procnet_snmp(&c, "here", at, t->len);
	procnet_snmp6(&c, "here", at, t->len);
	procnet_softnet(&c, "host", at, t->len);
	procnet_neigh_stat(&c, "host", "arp_cache", at, t->len);
	for (size_t i = 0; i < c.n; i++) {
		assert_text(c.items[i].name);
		assert_text(c.items[i].scope);
	}
	counters_free(&c);
}

static void read_groups(const struct text *t, const struct text *original)
{
	char *save = NULL;

	(void)original;
	for (char *line = strtok_r(t->at, "\t\n", &save); line;
	     line = strtok_r(NULL, "\t\n", &save)) {
		struct container c = {0};
		char text[32];

		container_of_cgroup(line, &c);
		assert_text(c.id);
		assert_text(c.uid);
		container_text(&c, text, sizeof(text));
		assert_text(text);
		container_pod_text(&c, text, sizeof(text));
		assert_text(text);
	}
}

static struct nic_sample sample_of(const char *text)
{
	struct nic_sample s = {0};

	while (text && *text) {
		const char *end = text + strcspn(text, "\n");
		char line[128];
		char *colon;

		snprintf(line, sizeof(line), "%.*s", (int)(end - text), text);
		colon = strrchr(line, ':');
		text = *end ? end + 1 : end;
		if (!colon)
			continue;
		*colon = '\0';
		nic_sample_add(&s, line, strtoull(colon + 1, NULL, 10));
	}
	return s;
}

/* The driver is not always the one whose counters they are. */
static void read_nic(const struct text *t, const struct text *original)
{
	const struct nic_driver *driver = &nic_drivers[random_below(nic_driver_count)];
	struct nic_sample after = sample_of(t->at), all = sample_of(original->at), before = {0};
	struct nic_loss loss[16];
	struct nic_plan *plan;
	char name[32];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(driver->names, " "), driver->names);
	nic_sample_match(&all, &after, &before);
	plan = nic_plan_new(name, &after);
	assert_non_null(plan);
	if (nic_plan_fits(plan, &before))
		assert_true(nic_losses(plan, &before, &after, loss, 16) <= after.n);
	nic_plan_free(plan);
	nic_sample_free(&after);
	nic_sample_free(&before);
	nic_sample_free(&all);
}

static const struct reader {
	const char *name;
	void (*read)(const struct text *t, const struct text *original);
	const char *files[12];
} readers[] = {
	{"CPUs", read_cpus, {"check/stat-before.txt", "check/stat-after.txt"}},
	{"interrupts",
	 read_irqs,
	 {"check/interrupts-queues-before.txt", "check/interrupts-virtio-after.txt"}},
	{"sockets", read_sockets, {"proc/udp-1.txt"}},
	{"taps", read_taps, {"check/packet.txt", "check/raw.txt", "check/raw6.txt"}},
	{"stack",
	 read_stack,
	 {"check/sockstat.txt", "check/sockstat6.txt", "check/stat-arp_cache.txt",
	  "check/stat-nf_conntrack.txt", "check/nfnetlink_queue.txt"}},
	{"counters",
	 read_counters,
	 {"proc/snmp-1.txt", "proc/snmp-2.txt", "proc/proc-net-netstat-1.txt",
	  "proc/softnet_stat-1.txt", "proc/softnet_stat-5.txt", "proc/udp-1.txt",
	  "check/stat-arp_cache.txt"}},
	{"groups", read_groups, {"owners/cgroup-paths"}},
	{"NIC",
	 read_nic,
	 {"nic/igb-2-after.txt", "nic/vmxnet3-2.txt", "nic/ena-2.txt", "nic/virtio_net-3.txt",
	  "nic/mlx5_core-2.txt", "nic/odd-names-1.txt", "nic/hv_netvsc-2.txt"}},
};

/* CPU time that is left, 0: any. SIGPROF ends a reader that takes more. */
static void limit(unsigned seconds)
{
	const struct itimerval left = {.it_value.tv_sec = seconds};

	assert_int_equal(setitimer(ITIMER_PROF, &left, NULL), 0);
}

static void fuzzed(void **arg)
{
	const struct reader *r = *arg;

	state = seed;
	limit(rounds == ROUNDS ? SECONDS : 50 * SECONDS);
	for (unsigned i = 0; r->files[i]; i++) {
		struct text original = load(r->files[i]);

		for (unsigned n = 0; n < rounds; n++) {
			struct text t = spoilt(&original);

			r->read(&t, &original);
		}
		free(original.at);
	}
	limit(0);
}

int main(void)
{
	const char *all = getenv("PKTLEDGER_TEST"), *chosen = getenv("PKTLEDGER_FUZZ");
	struct CMUnitTest tests[sizeof(readers) / sizeof(readers[0])] = {0};
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (all && !strcmp(all, "all"))
		rounds = ROUNDS_ALL;
	if (chosen)
		seed = strtoull(chosen, NULL, 0);
	guarded =
		mmap(NULL, ROOM + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (guarded == MAP_FAILED || mprotect(guarded + ROOM, page, PROT_NONE))
		return 1;
	for (unsigned i = 0; i < sizeof(readers) / sizeof(readers[0]); i++) {
		tests[i].name = readers[i].name;
		tests[i].test_func = fuzzed;
		tests[i].initial_state = (void *)&readers[i];
	}
	fprintf(stderr, "# seed %llu (PKTLEDGER_FUZZ), %u rounds a file\n",
		(unsigned long long)seed, rounds);
	return cmocka_run_group_tests_name("fuzz", tests, NULL, NULL);
}
