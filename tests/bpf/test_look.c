// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * `check` examines the namespace of a process of this test, in which a socket loses packets from
 * loopback, again after a change, and tries the buffer that it advised. tests/net/test_check.py has
 * several namespaces, and what is asked for.
 */
#define TEST_PORT 40421

#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"
#include "base/clock.h"
#include "base/mem.h"
#include "diagnosis/look.h"
#include "helpers.h"

#define BURST	 270 /* datagrams at once */
#define PAUSE_NS 25000000
#define SECOND	 1000000000ULL

enum mode { LOSES, READS, SILENT, FLOODS };

static struct {
	pid_t pid;
	uint32_t inum;
} space;

static volatile enum mode *mode; /* shared with its process */

/* No socket of either family listens there, so no UDP socket shows the loss. */
static void call_in_vain(int tx)
{
	const struct sockaddr_in udp = {.sin_family = AF_INET,
					.sin_port = htons(TEST_PORT + 1),
					.sin_addr = {htonl(INADDR_LOOPBACK)}};
	const struct sockaddr_in6 tcp = {.sin6_family = AF_INET6,
					 .sin6_port = htons(TEST_PORT),
					 .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK, 0);

	sendto(tx, "in vain", 7, 0, (const void *)&udp, sizeof(udp));
	connect(fd, (const void *)&tcp, sizeof(tcp));
	close(fd);
}

static void live(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_port = htons(TEST_PORT),
				 .sin_addr = {htonl(INADDR_LOOPBACK)}};
	int rx = socket(AF_INET, SOCK_DGRAM, 0), tx = socket(AF_INET, SOCK_DGRAM, 0);
	int size = 2304;
	char data[24];

	setsockopt(rx, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (bind(rx, (void *)&at, sizeof(at)) || connect(tx, (void *)&at, sizeof(at)))
		_exit(1);
	/* as many as are due, however late it comes to it on a busy host */
	for (uint64_t due = clock_now();; due += PAUSE_NS) {
		for (unsigned n = 0; n < BURST && *mode != SILENT; n++) {
			if (send(tx, data, sizeof(data), 0) < 0)
				_exit(1);
			while (*mode == READS && recv(rx, data, sizeof(data), MSG_DONTWAIT) >= 0)
				;
		}
		if (*mode == LOSES)
			call_in_vain(tx);
		while (clock_now() < due + PAUSE_NS) {
			if (*mode == FLOODS)
				send(tx, data, sizeof(data), 0);
			else
				clock_sleep(PAUSE_NS / 4);
		}
	}
}

static int open_space(void **state)
{
	struct netns ns;
	struct error err = {};

	mode = mmap(NULL, sizeof(*mode), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (netns_create(&ns, &err))
		return -1;
	space.inum = ns.inum;
	space.pid = fork();
	if (!space.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (netns_enter(&ns))
			_exit(1);
		live();
	}
	netns_close(&ns);
	return 0;
}

static int close_space(void **state)
{
	kill(space.pid, SIGKILL);
	waitpid(space.pid, NULL, 0);
	return 0;
}

/* The only loss of a socket in the namespace, or what was refused there. */
static const struct check_finding *found_in(const struct look *l, enum stage stage)
{
	const struct check_finding *found = NULL;
	char name[OWNER_NETNS];

	owners_netns(l->owners, space.inum, name);
	for (unsigned f = 0; f < l->findings.n; f++) {
		const struct check_finding *c = &l->findings.at[f];

		if (strcmp(c->finding.netns, name) || c->finding.stage != stage)
			continue;
		assert_null(found);
		found = c;
	}
	assert_non_null(found);
	return found;
}

/* The socket that is not read, and the sending socket, which has no facts. */
static void assert_sockets(const struct facts *f)
{
	assert_int_equal(f->socks.n, 2);
	for (unsigned k = 0; k < 2; k++) {
		const struct facts_sock *s = &f->socks.at[k];
		const struct reading *r = &s->reading;

		assert_int_equal(s->pid, space.pid);
		assert_false(s->reads_known);
		if (s->port != TEST_PORT) {
			assert_true(!s->lost && !s->queued && !s->truesize && !r->window_ns);
			continue;
		}
		assert_true(s->lost >= BURST && s->queued && s->queued_before);
		assert_in_range(s->truesize, 256, 2304);
		if (!r->window_ns) /* a busy host: no interval was whole */
			continue;
		assert_int_equal(r->pid, space.pid);
		assert_int_equal(r->threads, 1);
		assert_in_range(r->burst, 1, s->drops);
		assert_in_range(r->lost, 1, s->drops);
		assert_true(r->run_ns < r->window_ns);
		if (r->samples) /* otherwise the process waited for a CPU each time */
			assert_in_range(r->queue_bytes, s->truesize, 3 * 2304);
	}
	if (f->self.xdp_features) /* Linux 6.3, where nothing is missing */
		assert_int_equal(f->n_unread, 0);
}

CASE(ended_by_a_signal)
{
	const struct look_spec spec = {.pid = space.pid, .window_ns = 20 * SECOND};
	static struct look l;
	struct error err = {};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	kill(getpid(), SIGTERM);
	assert_int_equal(look(&l, &spec, &err), 0);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	assert_true(l.window_ns < 10 * SECOND);
	look_close(&l);
}

/*
 * Losses that no socket shows belong to other programs: the window of the counters lies inside the
 * window of the sockets.
 */
CASE(counters_within_sockets)
{
	struct facts_spec spec = {.port = TEST_PORT};
	static struct facts f;
	struct facts_reader *r;
	uint64_t moved = 0, lost = 0;
	struct error err = {};
	struct netns ns;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/net", space.pid);
	assert_int_equal(netns_open(&ns, path, &err), 0);
	spec.ns = &ns;
	*mode = FLOODS;
	for (int i = 0; i < 6; i++) { /* of a busy host the sender may not run just then */
		assert_int_equal(facts_begin(&r, &spec, &f, &err), 0);
		assert_true(facts_wait(&r, 1, SECOND / 20));
		assert_int_equal(facts_end(r, &err), 0);
		assert_int_equal(f.socks.n, 1);
		moved += facts_moved(&f, FACTS_HERE, "Udp:RcvbufErrors");
		lost += f.socks.at[0].lost;
		facts_free(&f);
	}
	*mode = LOSES;
	netns_close(&ns);
	assert_in_range(moved, 1, lost);
}

/* A sender that a busy host kept from its CPU shows nothing, and that is said. */
static void assert_outcome(const struct remedy *r, enum remedy_outcome wanted)
{
	if (r->arrived_pps_after * 2 < r->arrived_pps)
		wanted = REMEDY_NO_TRAFFIC;
	assert_int_equal(r->outcome, wanted);
}

/* After a change: as before, nothing to judge by, better. */
CASE(what_became_of_it)
{
	const struct look_spec spec = {.window_ns = SECOND, .pid = space.pid};
	static const enum mode modes[] = {LOSES, SILENT, READS};
	static const enum remedy_outcome outcomes[] = {REMEDY_NO_HELP, REMEDY_NO_TRAFFIC,
						       REMEDY_HELPED};
	const struct check_finding *c;
	struct check_finding other;
	static struct look l;
	struct remedy remedy;
	struct error err = {};
	const struct facts *f;
	double four, six;

	assert_int_equal(look(&l, &spec, &err), 0);
	c = found_in(&l, STAGE_RCVBUF);
	f = &l.at[0]->facts;
	assert_sockets(f);
	assert_in_range(c->loss_pps, 2 * BURST, 400 * BURST);
	four = (double)facts_moved(f, FACTS_HERE, "Ip:InReceives");
	six = (double)facts_moved(f, FACTS_HERE, "Ip6InReceives");
	assert_true(four > 10 && six > 10);
	for (unsigned i = 0; i < N_ELEMENTS(modes); i++) {
		*mode = modes[i];
		assert_int_equal(look_again(&l, &spec, c, &remedy, &err), 0);
		assert_outcome(&remedy, outcomes[i]);
		assert_float_equal(remedy.lost_pps, c->loss_pps, 1e-6);
		assert_float_equal(remedy.arrived_pps, (four + six) * 1e9 / (double)f->window_ns,
				   1e-3);
		assert_string_equal(remedy.netns, c->finding.netns);
		assert_string_equal(remedy.subject, c->subject);
		assert_true(modes[i] != SILENT || remedy.arrived_pps_after < remedy.arrived_pps);
		assert_true(modes[i] == LOSES || remedy.lost_pps_after < remedy.lost_pps);
	}
	*mode = LOSES;
	other = *c;
	other.losing = false;
	assert_int_equal(look_again(&l, &spec, &other, &remedy, &err), -ENODATA);
	other = *c;
	other.loss_pps = 0;
	assert_int_equal(look_again(&l, &spec, &other, &remedy, &err), -ENODATA);
	other = *c;
	strcpy(other.finding.netns, "another");
	assert_int_equal(look_again(&l, &spec, &other, &remedy, &err), -ENODATA);
	other = *found_in(&l,
			  STAGE_UDP_LOOKUP); /* of the namespace: a note in a check of a process */
	assert_false(other.losing);
	other.losing = true;
	assert_int_equal(look_again(&l, &spec, &other, &remedy, &err), 0);
	assert_outcome(&remedy, REMEDY_NO_HELP);
	assert_true(remedy.lost_pps_after > 0);
	/* findings without a subject, or with another subject */
	other = *c;
	strcpy(other.subject, "port 1");
	other.loss_pps = 1;
	assert_int_equal(look_again(&l, &spec, &other, &remedy, &err), 0);
	assert_outcome(&remedy, REMEDY_HELPED);
	other.subject[0] = '\0';
	assert_int_equal(look_again(&l, &spec, &other, &remedy, &err), 0);
	assert_outcome(&remedy, REMEDY_NO_HELP);
	look_close(&l);
}

#define DEPTH 60 /* datagrams of a burst */

/* Shared with the process of bursts(). */
static volatile struct {
	int size;	/* SO_RCVBUF */
	unsigned ended; /* bursts */
} * buffer;

/* Each burst is read after its end, so each burst loses the packets that do not fit. */
static void bursts(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_port = htons(TEST_PORT),
				 .sin_addr = {htonl(INADDR_LOOPBACK)}};
	int rx = socket(AF_INET, SOCK_DGRAM, 0), tx = socket(AF_INET, SOCK_DGRAM, 0);
	char data[800] = "";

	if (bind(rx, (void *)&at, sizeof(at)) || connect(tx, (void *)&at, sizeof(at)))
		_exit(1);
	for (;;) {
		int size = buffer->size;

		setsockopt(rx, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
		for (unsigned n = 0; n < DEPTH; n++)
			send(tx, data, sizeof(data), 0);
		while (recv(rx, data, sizeof(data), MSG_DONTWAIT) >= 0)
			;
		buffer->ended++;
		clock_sleep(SECOND / 10);
	}
}

/* The second burst from now on has the buffer that is set by now. */
static void await_bursts(int size)
{
	const unsigned before = buffer->ended;

	buffer->size = size;
	AWAIT(buffer->ended >= before + 2);
}

/* The advised buffer is tried: it suffices, and is not twice the necessary size. */
CASE(buffer_for_a_burst)
{
	struct look_spec spec = {.window_ns = SECOND};
	unsigned losing = 0, wanted = 0;
	struct netns ns;
	struct error err = {};
	const char *at;
	struct look *l;

	skip_without_tracepoint("sock_recv_length", 1); /* it shows when readers sleep */
	buffer = mmap(NULL, sizeof(*buffer), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	assert_int_equal(netns_create(&ns, &err), 0);
	spec.pid = fork();
	if (!spec.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (netns_enter(&ns))
			_exit(1);
		bursts();
	}
	await_bursts(8192);
	for (unsigned i = 0; i < 3; i++) {
		l = mem_zero(1, sizeof(*l));
		assert_int_equal(look(l, &spec, &err), 0);
		losing = 0;
		for (unsigned f = 0; f < l->findings.n; f++) {
			const struct finding *found = &l->findings.at[f].finding;

			if (found->stage != STAGE_RCVBUF)
				continue;
			losing++;
			assert_string_equal(found->id, "rcvbuf-bursts");
			at = strstr(found->fix, "SO_RCVBUF: ");
			assert_int_equal(at ? sscanf(at, "SO_RCVBUF: %u (", &wanted) : 0, 1);
		}
		look_close(l);
		free(l);
		assert_int_equal(losing, i == 1 ? 0 : 1);
		await_bursts(i ? (int)wanted / 2 : (int)wanted);
	}
	kill(spec.pid, SIGKILL);
	waitpid(spec.pid, NULL, 0);
	netns_close(&ns);
}

int main(void)
{
	skip_unless_privileged();
	return run_cases(open_space, close_space);
}
