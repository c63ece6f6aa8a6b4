// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Looks at this host: a socket of this process loses packets that come over loopback. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cases.h"
#include "facts_of.h"
#include "diagnosis/look.c" /* for its static functions */

#define MS	  1000000ULL
#define WINDOW_NS (300 * MS)

static int rx, tx;
static pthread_t sender;
static uint16_t port;
static atomic_bool stop;

/* As many as are due, however late it comes to it on a busy host. */
static void *flood(void *arg)
{
	for (uint64_t due = clock_now(); !stop; due += MS) {
		assert_int_equal(send(tx, "four hundred bytes or so", 24, 0), 24);
		while (!stop && clock_now() < due + MS)
			clock_sleep(MS);
	}
	return NULL;
}

static int open_sockets(void **state)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof(at);
	int size = 2304;

	rx = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	tx = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (setsockopt(rx, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)) ||
	    bind(rx, (struct sockaddr *)&at, len) ||
	    getsockname(rx, (struct sockaddr *)&at, &len) ||
	    connect(tx, (struct sockaddr *)&at, len))
		return -1;
	port = ntohs(at.sin_port);
	stop = false;
	return pthread_create(&sender, NULL, flood, NULL);
}

static void end_flood(void)
{
	if (!stop) {
		stop = true;
		pthread_join(sender, NULL);
	}
}

static int close_sockets(void **state)
{
	end_flood();
	close(tx);
	return close(rx);
}

static uint64_t setting(const char *path)
{
	uint64_t value = 0;
	FILE *f = fopen(path, "r");

	assert_true(f && fscanf(f, "%lu", &value) == 1);
	fclose(f);
	return value;
}

/* Udp:RcvbufErrors of this namespace, of all that use it. */
static uint64_t full_buffers(void)
{
	FILE *f = fopen("/proc/net/snmp", "r");
	uint64_t value = 0;
	char line[512];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f) &&
	       sscanf(line, "Udp: %*u %*u %*u %*u %lu", &value) != 1)
		;
	fclose(f);
	return value;
}

/* The findings of the socket, or with this id. Other programs on this host also have findings. */
static const struct check_finding *finding(const struct look *l, const char *id)
{
	const struct check_finding *found = NULL;
	char subject[32];

	snprintf(subject, sizeof(subject), "port %u", port);
	for (unsigned i = 0; i < l->findings.n; i++) {
		const struct check_finding *c = &l->findings.at[i];

		if (!strcmp(id ? c->finding.id : c->subject, id ? id : subject)) {
			assert_null(found); /* once */
			found = c;
		}
	}
	assert_non_null(found);
	return found;
}

/*
 * For an interface that existed before: the drops of its root qdisc, if the qdisc is unchanged, and
 * the losses of its NIC.
 */
CASE(losses_of_devices)
{
	static const struct {
		unsigned was, is; /* ifindex */
		uint32_t handle[2];
		uint64_t dropped[2], missed[2], packets[2];
		uint64_t lost;
	} rows[] = {
		{3, 3, {1, 1}, {10, 14}, {20, 20}, {0, 9}, 4},
		{3, 3, {1, 2}, {10, 14}, {20, 27}, {}, 7},
		{3, 3, {1, 1}, {10, 14}, {20, 27}, {}, 11},
		{3, 4, {1, 1}, {10, 14}, {20, 27}, {}, 0},
		{3, 3, {1, 1}, {14, 14}, {20, 20}, {}, 0},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct counters_device device[2] = {};
		struct space s = {.base = {.devices = &device[0], .n_devices = 1},
				  .now = {.devices = &device[1], .n_devices = 1}};

		for (unsigned at = 0; at < 2; at++) {
			struct counters_device *d = &device[at];

			strcpy(d->scope, FACTS_HERE);
			strcpy(d->link.ifname, "eth7");
			strcpy(d->driver, "igb");
			d->link.ifindex = at ? rows[i].is : rows[i].was;
			d->qdisc.root.handle = rows[i].handle[at];
			d->qdisc.drops = rows[i].dropped[at];
			nic_sample_add(&d->nic, "rx_missed_errors", rows[i].missed[at]);
			nic_sample_add(&d->nic, "rx_packets", rows[i].packets[at]);
		}
		assert_int_equal(lost_at_devices(&s), rows[i].lost);
		for (unsigned at = 0; at < 2; at++) {
			nic_sample_free(&device[at].nic);
			nic_plan_free(device[at].plan);
		}
	}
}

/*
 * A command runs in its namespace, if the namespace exists and can be entered. Nothing stays
 * changed.
 */
CASE(changes_of_others)
{
	static const struct {
		unsigned changes;
		const char *enter, *command;
	} rows[] = {
		{0, "ip netns exec a", "ip netns exec a ss -u"},
		{1, "ip netns exec a", ""},
		{0, "", ""},
		{0, NULL, ""},
		{2, NULL, ""},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct check_finding at[3] = {};
		struct check_findings list = {.at = at, .n = 2};

		for (unsigned j = 0; j < 3; j++) {
			at[j].n_changes = rows[i].changes;
			strcpy(at[j].finding.command, "ss -u");
		}
		forget_changes(&list, rows[i].enter);
		for (unsigned j = 0; j < 2; j++) {
			assert_int_equal(at[j].n_changes, 0);
			assert_string_equal(at[j].finding.command, rows[i].command);
		}
		assert_int_equal(at[2].n_changes, rows[i].changes);
		assert_string_equal(at[2].finding.command, "ss -u");
	}
}

/* Counters of the host are notes for a namespace, and counters of the namespace for a port. */
CASE(losses_of_others)
{
	static const struct {
		enum check_scope scope;
		bool losing, asked, of_namespace, of_port;
	} rows[] = {
		{CHECK_HOST, true, false, true, true},	  {CHECK_HOST, false, false, false, false},
		{CHECK_SOCKET, true, false, false, false}, {CHECK_INTERFACE, true, false, false, false},
		{CHECK_NAMESPACE, true, false, false, true}, {CHECK_NAMESPACE, true, true, false, false},
	};

	for (unsigned i = 0; i < 2 * LENGTH(rows); i++) {
		const bool noted = i % 2 ? rows[i / 2].of_port : rows[i / 2].of_namespace;
		struct check_finding c = {.scope = rows[i / 2].scope,
					  .losing = rows[i / 2].losing,
					  .asked = rows[i / 2].asked,
					  .finding.severity = SEVERITY_ERROR,
					  .finding.facts = "{\"lost\":12}"};

		note_others(&(struct check_findings){.at = &c, .n = 1}, i % 2);
		assert_int_equal(c.losing, rows[i / 2].losing && !noted);
		assert_int_equal(c.finding.severity, noted ? SEVERITY_INFO : SEVERITY_ERROR);
		assert_string_equal(fact(&c.finding, "lost"), "12");
		assert_int_equal(*fact(&c.finding, "scope") != '\0', noted);
	}
}

/*
 * Facts from another host: commands that would change this host are not advised, and no host is
 * counted twice.
 */
CASE(two_places_of_another_host)
{
	static const char *const names[] = {"", "away"};
	unsigned hosts = 0, refused[2] = {};
	int fd[2];
	struct look l = {.n = 2};

	for (unsigned i = 0; i < l.n; i++) {
		struct look_place *p = l.at[i] = mem_new(p);

		p->ns = NETNS_NONE;
		p->ns.fd = fd[i] = dup(0);
		strcpy(p->name, names[i]);
		p->facts.window_ns = 1000 * MS;
		counters_add(&p->facts.moved, FACTS_HERE, "Udp:NoPorts", 50);
		counters_add(&p->facts.moved, FACTS_HOST, "arp_cache:unresolved_discards", 50);
	}
	look_judge(&l);
	for (unsigned i = 0; i < l.findings.n; i++) {
		const struct check_finding *c = &l.findings.at[i];

		assert_int_equal(c->n_changes, 0);
		assert_string_equal(c->finding.command, "");
		assert_string_equal(c->finding.undo, "");
		hosts += c->finding.stage == STAGE_NEIGH && c->losing;
		for (unsigned n = 0; n < 2; n++)
			refused[n] += c->finding.stage == STAGE_UDP_LOOKUP && c->losing &&
				      !strcmp(c->finding.netns, names[n]);
	}
	assert_int_equal(hosts, 1);
	assert_int_equal(refused[0], 1);
	assert_int_equal(refused[1], 1);
	look_close(&l);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(fcntl(fd[i], F_GETFD), -1);
}

static const char *const settings[] = {
	"core/rmem_default",
	"core/rmem_max",
	"core/wmem_default",
	"core/wmem_max",
	"core/netdev_max_backlog",
	"core/netdev_budget",
	"core/netdev_budget_usecs",
	"core/rps_sock_flow_entries",
	"ipv4/udp_mem",
	"ipv4/ipfrag_high_thresh",
	"ipv6/ip6frag_high_thresh",
	"ipv4/neigh/default/gc_thresh3",
	"ipv6/neigh/default/gc_thresh3",
};

static void read_settings(uint64_t value[LENGTH(settings)])
{
	for (size_t i = 0; i < LENGTH(settings); i++) {
		char path[128];

		snprintf(path, sizeof(path), "/proc/sys/net/%s", settings[i]);
		value[i] = access(path, R_OK) ? 0 : setting(path);
	}
}

/* `before`: settings before they were read. Other tests may change a setting of the host. */
static void assert_settings(const struct facts_stack *stack, const uint64_t before[])
{
	const uint64_t value[] = {
		stack->rmem_default,
		stack->rmem_max,
		stack->wmem_default,
		stack->wmem_max,
		stack->max_backlog,
		stack->budget,
		stack->budget_usecs,
		stack->flow_entries,
		stack->udp_mem[0],
		stack->frag_high[STACK_V4],
		stack->frag_high[STACK_V6],
		stack->neighbours_max[STACK_V4],
		stack->neighbours_max[STACK_V6],
	};
	uint64_t after[LENGTH(settings)];

	read_settings(after);
	for (size_t i = 0; i < LENGTH(settings); i++) {
		if (value[i] != before[i])
			assert_int_equal(value[i], after[i]);
	}
	assert_int_equal(stack->page_bytes, sysconf(_SC_PAGESIZE));
}

CASE(a_remedy_is_judged_by_the_share_that_is_lost)
{
	static const struct {
		double lost, lost_after, arrived, arrived_after;
		enum remedy_outcome outcome;
	} rows[] = {
		{1000, 400, 2000, 2000, REMEDY_HELPED},
		{1000, 600, 2000, 2000, REMEDY_NO_HELP},
		{1000, 0, 2000, 900, REMEDY_NO_TRAFFIC},
		/* a quarter less arrives, and 5 of 8 are lost */
		{3674, 1699, 3674, 2697, REMEDY_NO_HELP},
		{3674, 1300, 3674, 2697, REMEDY_HELPED},
		/* more arrives: the loss itself has to fall */
		{1000, 600, 2000, 4000, REMEDY_NO_HELP},
		/* losses of packets that IP does not receive */
		{1000, 600, 0, 0, REMEDY_NO_HELP},
		{1000, 400, 0, 0, REMEDY_HELPED},
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		const struct remedy r = {.lost_pps = rows[i].lost,
					 .lost_pps_after = rows[i].lost_after,
					 .arrived_pps = rows[i].arrived,
					 .arrived_pps_after = rows[i].arrived_after};

		assert_int_equal(remedy_judge(&r), rows[i].outcome);
	}
}

/* Facts of the socket, facts of the host, and a loss that is not fixed. */
CASE_WITH(socket_that_overflows, open_sockets, close_sockets)
{
	const struct look_spec spec = {.port = port, .window_ns = WINDOW_NS};
	static struct look l, again;
	const struct check_finding *c;
	const struct facts_sock *s;
	const struct facts *f;
	struct remedy remedy;
	struct error err = {};
	socklen_t len = sizeof(int);
	uint64_t full = full_buffers(), before[LENGTH(settings)];
	int size = 0;

	read_settings(before);
	assert_int_equal(look(&l, &spec, &err), 0);
	assert_int_equal(l.n, 1);
	f = &l.at[0]->facts;
	s = &f->socks.at[0];
	assert_int_equal(f->socks.n, 1);
	assert_true(f->socks.all >= 1);
	assert_int_equal(s->port, port);
	assert_int_equal(s->family, AF_INET);
	assert_int_equal(s->pid, getpid());
	assert_int_equal(s->holders, 1);
	assert_int_equal(getsockopt(rx, SOL_SOCKET, SO_RCVBUF, &size, &len), 0);
	assert_int_equal(s->rcvbuf, size);
	assert_true(s->queued && s->queued_before);
	assert_false(s->young);
	assert_true(s->lost >= 10 && s->drops > s->lost);
	/* the counters' window is within the socket's, on a busy host by far */
	assert_in_range(facts_moved(f, FACTS_HERE, "Udp:RcvbufErrors"), 10, full_buffers() - full);
	assert_in_range(f->window_ns, WINDOW_NS, l.window_ns);
	if (!geteuid() && f->self.btf) { /* by BPF programs */
		assert_in_range(s->truesize, 256, 2304);
		assert_false(s->reads_known); /* it was not read */
	}
	assert_in_range(s->reading.threads, 1, 4);
	assert_int_equal(s->reading.pid, getpid());

	assert_int_equal(f->self.btf, !access("/sys/kernel/btf/vmlinux", R_OK));
	assert_int_equal(f->self.reasons > 50, f->self.btf);
	assert_int_equal(f->cpus.online, sysconf(_SC_NPROCESSORS_ONLN));
	assert_settings(&f->stack, before);

	c = finding(&l, NULL);
	assert_int_equal(c->finding.stage, STAGE_RCVBUF);
	assert_int_equal(c->scope, CHECK_SOCKET);
	assert_float_equal(c->loss_pps, (double)s->lost * 1e9 / (double)f->window_ns, 1);
	assert_int_equal(look_again(&l, &spec, c, &remedy, &err), 0);
	assert_float_equal(remedy.lost_pps, c->loss_pps, 1);
	assert_float_equal(remedy.arrived_pps * (double)f->window_ns * 1e-9,
			   (double)(facts_moved(f, FACTS_HERE, "Ip:InReceives") +
				    facts_moved(f, FACTS_HERE, "Ip6InReceives")),
			   1);
	assert_true(remedy.lost_pps_after > 0);
	/* a busy host sends fewer packets, or reads the sockets late */
	if (remedy.arrived_pps_after > 0.8 * remedy.arrived_pps &&
	    (double)s->lost < 1.2 * (double)facts_moved(f, FACTS_HERE, "Udp:RcvbufErrors")) {
		assert_int_equal(remedy.outcome, REMEDY_NO_HELP);
		assert_true(remedy.lost_pps_after > remedy.lost_pps / 2);
	}
	assert_string_equal(remedy.id, c->finding.id);

	end_flood();
	close(rx);
	assert_int_equal(look(&again, &spec, &err), 0);
	assert_int_equal(again.at[0]->facts.socks.n, 0);
	assert_int_equal(finding(&again, "port-closed")->finding.stage, STAGE_UDP_LOOKUP);
	look_close(&again);
	look_close(&l);
	rx = dup(0);
}
