// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * `check` examines namespaces of processes of this test, in each of which a socket loses packets
 * from loopback. Losses of other programs on this host are ignored.
 */
#define TEST_PORT 40421

#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"
#include "base/clock.h"
#include "base/mem.h"
#include "diagnosis/look.h"
#include "helpers.h"

#define LOSING	 (LOOK_PLACES + 2)
#define SPACES	 (LOSING + 1) /* the last one loses nothing */
#define PAUSE_NS 25000000
#define SECOND	 1000000000ULL

enum mode { LOSES, READS, SILENT, FLOODS };

static struct {
	pid_t pid;
	uint32_t inum;
} space[SPACES];

static volatile enum mode *mode; /* of each, shared with its process */

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

/* Datagrams at once, from slow to fast. */
static unsigned burst(unsigned i)
{
	static const unsigned at[SPACES] = {1, 10, 16, 24, 36, 54, 80, 120, 180, 270, 0};

	return at[i];
}

static void live(unsigned i)
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
		for (unsigned n = 0; n < burst(i) && mode[i] != SILENT; n++) {
			if (send(tx, data, sizeof(data), 0) < 0)
				_exit(1);
			while (mode[i] == READS && recv(rx, data, sizeof(data), MSG_DONTWAIT) >= 0)
				;
		}
		if (mode[i] == LOSES && i < LOSING)
			call_in_vain(tx);
		while (clock_now() < due + PAUSE_NS) {
			if (mode[i] == FLOODS)
				send(tx, data, sizeof(data), 0);
			else
				clock_sleep(PAUSE_NS / 4);
		}
	}
}

static int open_spaces(void **state)
{
	mode = mmap(NULL, sizeof(*mode) * SPACES, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (unsigned i = 0; i < SPACES; i++) {
		struct netns ns;
		struct error err = {};

		if (netns_create(&ns, &err))
			return -1;
		space[i].inum = ns.inum;
		space[i].pid = fork();
		if (!space[i].pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (netns_enter(&ns))
				_exit(1);
			live(i);
		}
		netns_close(&ns);
	}
	clock_sleep(SECOND / 5);
	return 0;
}

static int close_spaces(void **state)
{
	for (unsigned i = 0; i < SPACES; i++) {
		kill(space[i].pid, SIGKILL);
		waitpid(space[i].pid, NULL, 0);
	}
	return 0;
}

/* Returns the index among the places, or -1. */
static int place_of(const struct look *l, unsigned i)
{
	for (unsigned p = 0; p < l->n; p++) {
		if (l->at[p]->ns.fd >= 0 && l->at[p]->ns.inum == space[i].inum)
			return (int)p;
	}
	return -1;
}

/* How many losses of its socket were found in this namespace. */
static unsigned found_in(const struct look *l, unsigned i, const struct check_finding **found)
{
	char name[OWNER_NETNS];
	unsigned n = 0;

	owners_netns(l->owners, space[i].inum, name);
	for (unsigned f = 0; f < l->findings.n; f++) {
		const struct check_finding *c = &l->findings.at[f];

		if (strcmp(c->finding.netns, name) || c->finding.stage != STAGE_RCVBUF)
			continue;
		assert_true(c->losing);
		*found = c;
		n++;
	}
	return n;
}

static const struct check_finding *refused_in(const struct look *l, unsigned i)
{
	char name[OWNER_NETNS];

	owners_netns(l->owners, space[i].inum, name);
	for (unsigned f = 0; f < l->findings.n; f++) {
		const struct finding *c = &l->findings.at[f].finding;

		if (!strcmp(c->netns, name) && c->stage == STAGE_UDP_LOOKUP)
			return &l->findings.at[f];
	}
	fail_msg("nothing was refused");
	return NULL;
}

/* The refused packets are found in that namespace, with a command that runs there. */
static void assert_refused(const struct look *l, unsigned i)
{
	const struct finding *found = &refused_in(l, i)->finding;
	char enter[OWNER_ENTER];

	assert_non_null(owners_netns_enter(l->owners, space[i].inum, enter));
	if (strncmp(found->command, enter, strlen(enter)) || !strstr(found->command, " ss -u"))
		fail_msg("%u: %s", i, found->command);
}

/* The socket that is not read, and the sending socket, which has no facts. */
static void assert_sockets(const struct facts *f, unsigned i)
{
	assert_int_equal(f->socks.n, 2);
	for (unsigned k = 0; k < 2; k++) {
		const struct facts_sock *s = &f->socks.at[k];
		const struct reading *r = &s->reading;

		assert_int_equal(s->pid, space[i].pid);
		assert_false(s->reads_known);
		if (s->port != TEST_PORT) {
			assert_true(!s->lost && !s->queued && !s->truesize && !r->window_ns);
			continue;
		}
		assert_true(s->lost >= burst(i) && s->queued && s->queued_before);
		assert_in_range(s->truesize, 256, 2304);
		if (!r->window_ns) /* a busy host: no interval was whole */
			continue;
		assert_int_equal(r->pid, space[i].pid);
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

static unsigned seconds, losing_seen;
static uint64_t latest_ns, begun_ns;

static void on_second(uint64_t elapsed_ns, uint64_t all_ns, unsigned losing)
{
	assert_in_range(elapsed_ns, seconds * SECOND, clock_now() - begun_ns);
	seconds++;
	losing_seen = losing;
	latest_ns = all_ns;
}

/*
 * The sockets with the largest losses are sampled, counters show the losses of all others. The
 * slowest is waited for.
 */
CASE(all_namespaces)
{
	const struct look_spec spec = {.on_second = on_second};
	const struct check_finding *c;
	static struct look l;
	struct error err = {};
	unsigned read = 0;

	seconds = 0;
	begun_ns = clock_now();
	assert_int_equal(look(&l, &spec, &err), 0);
	assert_int_equal(l.n, LOOK_PLACES);
	assert_int_equal(l.at[0]->ns.fd, -1); /* this one */
	assert_string_equal(l.at[0]->name, "");
	assert_true(l.spaces >= SPACES);
	for (unsigned i = 0; i < SPACES; i++) {
		int at = place_of(&l, i);
		unsigned n = found_in(&l, i, &c);

		read += at >= 0;
		assert_int_equal(n, i < LOSING);
		if (!n)
			continue;
		assert_in_range(c->loss_pps, 2 * burst(i), 400 * burst(i));
		assert_refused(&l, i);
		if (at >= 0) {
			assert_sockets(&l.at[at]->facts, i);
			assert_true(l.at[at]->facts.window_ns < l.window_ns);
			assert_true(*c->subject);
			assert_false(c->on_host);
		} else {
			assert_int_equal(c->n_changes, 0);
			assert_false(*c->finding.undo || *c->subject);
		}
	}
	for (unsigned f = 0; f + 1 < l.findings.n; f++) {
		const struct check_finding *a = &l.findings.at[f], *b = a + 1;

		assert_true(a->losing > b->losing ||
			    (a->losing == b->losing && a->loss_pps >= b->loss_pps));
		for (unsigned g = f + 1; g < l.findings.n; g++) /* the host's are said once */
			assert_true(
				l.findings.at[f].scope != CHECK_HOST ||
				l.findings.at[g].scope != CHECK_HOST ||
				strcmp(l.findings.at[f].finding.id, l.findings.at[g].finding.id) ||
				strcmp(l.findings.at[f].subject, l.findings.at[g].subject));
	}
	assert_in_range(read, 1, LOOK_PLACES - 1);
	assert_int_equal(place_of(&l, SPACES - 1), -1);
	assert_in_range(l.losing, LOSING - read, l.spaces - LOOK_PLACES - 1);
	assert_true(l.window_ns >= 2 * SECOND);
	assert_true(seconds);
	assert_in_range(losing_seen, LOSING, l.spaces - 1); /* the last one does not */
	assert_int_equal(latest_ns, LOOK_LONGEST_NS);
	look_close(&l);
}

/* So long, and no longer: half of the time shows where, the other half why. */
CASE(so_long)
{
	const struct look_spec spec = {.window_ns = SECOND, .on_second = on_second};
	static struct look l;
	const struct look_spec again = {.window_ns = SECOND / 2};
	const struct check_finding *c;
	struct remedy remedy;
	struct error err = {};

	seconds = 0;
	assert_int_equal(look(&l, &spec, &err), 0);
	assert_int_equal(l.n, LOOK_PLACES);
	assert_true(l.window_ns >= SECOND);
	assert_in_range(l.at[0]->facts.window_ns, SECOND * 9 / 10, l.window_ns);
	assert_true(l.at[1]->facts.window_ns + SECOND / 3 < l.at[0]->facts.window_ns);
	assert_int_equal(seconds, 0);
	/* at another place than the first two, too */
	for (unsigned i = 0; i < LOSING; i++) {
		if (place_of(&l, i) < 2 || !found_in(&l, i, &c))
			continue;
		assert_int_equal(look_again(&l, &again, c, &remedy, &err), 0);
		assert_string_equal(remedy.netns, c->finding.netns);
		assert_true(remedy.arrived_pps > 0 && remedy.arrived_pps_after > 0);
		break;
	}
	look_close(&l);
}

/* Who waits longer than a second is told how far it is. */
CASE(longer_than_a_second)
{
	const struct look_spec spec = {
		.ifname = "lo", .window_ns = SECOND * 6 / 5, .on_second = on_second};
	static struct look l;
	struct error err = {};

	seconds = 0;
	begun_ns = clock_now();
	assert_int_equal(look(&l, &spec, &err), 0);
	assert_true(seconds);
	assert_int_equal(latest_ns, spec.window_ns);
	assert_int_equal(losing_seen, 0);
	assert_int_equal(l.spaces, 0);
	look_close(&l);
}

CASE(ended_by_a_signal)
{
	const struct look_spec spec = {.pid = space[9].pid, .window_ns = 20 * SECOND};
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

/* Where a port is open; and one namespace by its name, its process. */
CASE(asked_for)
{
	const struct look_spec port = {.port = TEST_PORT, .window_ns = SECOND / 5};
	struct look_spec one = {.window_ns = SECOND / 5, .pid = space[9].pid};
	const struct check_finding *c;
	static struct look at_port[2], by_pid, by_name, by_device, nobody;
	const struct sockaddr_in here = {.sin_family = AF_INET,
					 .sin_port = htons(TEST_PORT),
					 .sin_addr = {htonl(INADDR_LOOPBACK)}};
	struct error err = {};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char path[64];

	/* also open in this namespace, which is the first */
	for (unsigned own = 0; own < 2; own++) {
		struct look *l = &at_port[own];

		if (own)
			assert_int_equal(bind(fd, (const void *)&here, sizeof(here)), 0);
		assert_int_equal(look(l, &port, &err), 0);
		assert_int_equal(l->n, LOOK_PLACES);
		for (unsigned i = 0; i < l->n; i++) {
			assert_int_equal(l->at[i]->ns.fd < 0, own && !i);
			assert_int_equal(l->at[i]->facts.socks.n, 1);
			assert_int_equal(l->at[i]->facts.socks.at[0].port, TEST_PORT);
			for (unsigned j = own; j < i; j++)
				assert_true(l->at[i]->ns.inum != l->at[j]->ns.inum);
		}
		assert_int_equal(l->spaces, 0);
		look_close(l);
	}
	close(fd);

	assert_int_equal(look(&by_pid, &one, &err), 0);
	assert_int_equal(by_pid.n, 1);
	assert_int_equal(place_of(&by_pid, 9), 0);
	assert_int_equal(by_pid.at[0]->facts.socks.at[0].pid, space[9].pid);
	assert_int_equal(found_in(&by_pid, 9, &c), 1);
	look_close(&by_pid);
	/* a second, and nothing to wait for: no other namespace is looked at */
	one.window_ns = seconds = 0;
	one.on_second = on_second;
	by_pid = (struct look){};
	assert_int_equal(look(&by_pid, &one, &err), 0);
	assert_true(by_pid.window_ns >= SECOND);
	assert_int_equal(seconds, 0);
	look_close(&by_pid);

	one = (struct look_spec){.window_ns = SECOND / 5, .netns = path};
	snprintf(path, sizeof(path), "/proc/%d/ns/net", space[8].pid);
	mode[8] = READS;
	assert_int_equal(look(&by_name, &one, &err), 0);
	mode[8] = LOSES;
	assert_int_equal(by_name.n, 1);
	assert_int_equal(place_of(&by_name, 8), 0);
	assert_int_equal(by_name.spaces, 0);
	for (unsigned k = 0; k < 2; k++) {
		const struct facts_sock *read = &by_name.at[0]->facts.socks.at[k];
		/* by a tracepoint of Linux 6.3, the source of this field */
		bool traced = by_name.at[0]->facts.self.xdp_features, known = read->reads_known;

		assert_int_equal(known, traced && read->port == TEST_PORT);
		assert_true(!known || read->reads >= 10);
	}
	look_close(&by_name);

	one = (struct look_spec){.window_ns = SECOND / 5, .ifname = "pl-none"};
	assert_true(look(&by_device, &one, &err) < 0);
	assert_non_null(strstr(err.message, "find interface pl-none"));
	assert_int_equal(by_device.spaces, 0);
	look_close(&by_device);
	err = (struct error){};
	one = (struct look_spec){.pid = INT32_MAX};
	assert_true(look(&nobody, &one, &err) < 0);
	assert_non_null(strstr(err.message, "find process 2147483647"));
	look_close(&nobody);
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

	snprintf(path, sizeof(path), "/proc/%d/ns/net", space[8].pid);
	assert_int_equal(netns_open(&ns, path, &err), 0);
	spec.ns = &ns;
	mode[8] = FLOODS;
	for (int i = 0; i < 6; i++) { /* of a busy host the sender may not run just then */
		assert_int_equal(facts_begin(&r, &spec, &f, &err), 0);
		assert_true(facts_wait(&r, 1, SECOND / 20));
		assert_int_equal(facts_end(r, &err), 0);
		assert_int_equal(f.socks.n, 1);
		moved += facts_moved(&f, FACTS_HERE, "Udp:RcvbufErrors");
		lost += f.socks.at[0].lost;
		facts_free(&f);
	}
	mode[8] = LOSES;
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
	const struct look_spec spec = {.window_ns = SECOND / 4, .pid = space[9].pid};
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
	assert_int_equal(found_in(&l, 9, &c), 1);
	f = &l.at[0]->facts;
	four = (double)facts_moved(f, FACTS_HERE, "Ip:InReceives");
	six = (double)facts_moved(f, FACTS_HERE, "Ip6InReceives");
	assert_true(four > 10 && six > 10);
	for (unsigned i = 0; i < N_ELEMENTS(modes); i++) {
		mode[9] = modes[i];
		assert_int_equal(look_again(&l, &spec, c, &remedy, &err), 0);
		assert_outcome(&remedy, outcomes[i]);
		assert_float_equal(remedy.lost_pps, c->loss_pps, 1e-6);
		assert_float_equal(remedy.arrived_pps, (four + six) * 1e9 / (double)f->window_ns,
				   1e-3);
		assert_string_equal(remedy.netns, c->finding.netns);
		assert_string_equal(remedy.subject, c->subject);
		assert_true(modes[i] != SILENT || remedy.arrived_pps_after < 100);
		assert_true(modes[i] == LOSES || remedy.lost_pps_after < 100);
	}
	mode[9] = LOSES;
	other = *c;
	other.losing = false;
	assert_int_equal(look_again(&l, &spec, &other, &remedy, &err), -ENODATA);
	other = *c;
	other.loss_pps = 0;
	assert_int_equal(look_again(&l, &spec, &other, &remedy, &err), -ENODATA);
	other = *c;
	strcpy(other.finding.netns, "another");
	assert_int_equal(look_again(&l, &spec, &other, &remedy, &err), -ENODATA);
	other = *refused_in(&l, 9); /* of the namespace: a note in a check of a process */
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
	const uint64_t end = clock_now() + 20 * SECOND;
	const unsigned before = buffer->ended;

	buffer->size = size;
	while (buffer->ended < before + 2) {
		assert_true(clock_now() < end);
		clock_sleep(SECOND / 100);
	}
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
	return run_cases(open_spaces, close_spaces);
}
