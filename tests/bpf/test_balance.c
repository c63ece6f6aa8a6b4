// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The probes of a flow's balance, on real traffic between two namespaces: what arrives is
 * delivered, dropped or waits, whatever happens to it. tests/net/test_balance.py has copies,
 * fragments, several senders, and numbers of the application; its scenes have small buffers.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <netinet/udp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cases.h"
#include "bpf/helpers.h"
#include "bpf/pair.h"
#include "drops/reason.h"
#include "monitor/session.h"
#include "recorded.h"

#define LEN	  100 /* payload */
#define SETTLE_NS 5000000000ULL
#define PATIENT_S 10 /* for what must come */

static uint16_t port; /* that no other program uses: the balance covers the whole host */
static struct reasons *reasons;
static struct ksyms *ksyms;
static struct filter *filter;
static struct balance *balance;
static struct balance_moment begun, ended;

enum { TX, RX, OTHER, PEER, OWN, SOCKETS };
static const char *const names[SOCKETS] = {"tx", "rx", "other", "peer", "own"};
static int sock[SOCKETS];

static int open_all(void **state)
{
	struct error err = {};

	return open_lab(state) || ksyms_open(&ksyms, NULL, &err);
}

static int close_all(void **state)
{
	ksyms_free(ksyms);
	reasons_free(reasons);
	return close_lab(state);
}

/* `and`: the rest of the expression, after the port. */
static void attach_with(const char *and)
{
	struct error err = {};
	struct trace_places places;
	struct balance_spec spec;
	char expr[128];

	ksym_places(ksyms, &places);
	snprintf(expr, sizeof(expr), "udp port %u%s", port, and);
	if (filter_compile(&filter, expr, &err))
		fail_msg("%s", err.message);
	spec = (struct balance_spec){.filter = filter, .reasons = reasons, .ksyms = ksyms};
	if (balance_open(&balance, &spec, &err) || balance_attach(balance, &places, &err))
		fail_msg("%s", err.message);
}

static void begin_with(const char *and)
{
	struct error err = {};

	attach_with(and);
	if (balance_begin(balance, &begun, &err))
		fail_msg("%s", err.message);
}

static int open_sockets(void **state)
{
	for (unsigned i = OTHER; i < SOCKETS; i++)
		sock[i] = -1;
	sock[TX] = socket_in(&lab.tx_ns, AF_INET, SOCK_DGRAM, 0);
	sock[RX] = bound_in(&lab.rx_ns, port);
	return 0;
}

static void close_socket(unsigned which)
{
	if (sock[which] >= 0)
		close(sock[which]);
	sock[which] = -1;
}

static int close_sockets(void **state)
{
	for (unsigned i = 0; i < SOCKETS; i++)
		close_socket(i);
	balance_close(balance);
	filter_free(filter);
	balance = NULL;
	filter = NULL;
	return 0;
}

static void send_from(int fd, unsigned n, unsigned len)
{
	const struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = lab.rx.ip4};
	static uint8_t payload[65536];

	for (unsigned i = 0; i < n; i++)
		assert_int_equal(sendto(fd, payload, len, 0, (const void *)&to, sizeof(to)), len);
}

/* Receives a datagram of up to `size` bytes, `named`: with the address that it came from. */
static int read_one(unsigned size, int flags, bool named)
{
	static uint8_t payload[65536];
	struct pollfd p = {.fd = sock[RX], .events = POLLIN};
	struct sockaddr_storage from;
	socklen_t len = sizeof(from);

	assert_true(poll(&p, 1, PATIENT_S * 1000) > 0);
	return (int)recvfrom(sock[RX], payload, size, flags | MSG_DONTWAIT,
			     named ? (void *)&from : NULL, named ? &len : NULL);
}

/* Peeks at each of the datagrams in the queue, at an increasing offset. */
static void await_arrival(int fd, unsigned n)
{
	struct timeval patience = {.tv_sec = PATIENT_S}, forever = {};
	int offset = 0, off = -1;
	char payload[LEN];

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_PEEK_OFF, &offset, sizeof(offset)), 0);
	while (n--)
		assert_true(recv(fd, payload, sizeof(payload), MSG_PEEK) > 0);
	setsockopt(fd, SOL_SOCKET, SO_PEEK_OFF, &off, sizeof(off));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &forever, sizeof(forever));
}

static struct flow_balance close_balance(void)
{
	struct flow_facts facts = {.begin = begun};
	struct flow_balance b;
	struct error err = {};

	if (balance_end(balance, &begun, SETTLE_NS, &facts.end, &err))
		fail_msg("%s", err.message);
	ended = facts.end;
	flow_balance_close(&b, &facts);
	return b;
}

static void tell_balance(void)
{
	const struct flow_balance b = close_balance();

	assert_int_equal(b.unaccounted, 0);
	for (unsigned i = 0; i < DOUBT_BALANCE; i++) {
		if (b.doubt[i])
			fail_msg("doubt %u: %llu", i, (unsigned long long)b.doubt[i]);
	}
	assert_true(b.balanced);
	tell("arrived %d delivered %u dropped %u", (int)b.arrived, (unsigned)b.delivered,
	     (unsigned)(b.dropped + b.suspected));
	if (b.in_flight)
		tell("in flight %d", (int)b.in_flight);
	tell("%s", flow_verdict_names[b.verdict]);
}

/* The socket of this name; all send to the port of the test. */
static int socket_of(const char *name)
{
	unsigned i = 0;

	while (strcmp(names[i], name))
		assert_true(++i < SOCKETS);
	if (sock[i] < 0)
		sock[i] = i == OWN ? socket_in(&lab.rx_ns, AF_INET, SOCK_DGRAM, 0)
				   : bound_in(&lab.tx_ns, (uint16_t)(port + i - 1));
	return sock[i];
}

static void take_line(void *arg, const char *verb, char *text)
{
	const struct sockaddr_in peer = {
		.sin_family = AF_INET, .sin_port = htons(port + PEER - 1), .sin_addr = lab.tx.ip4};
	const char *rest = strchr(text, ' ');
	char not_from[40] = "";
	unsigned n = 0, len = LEN;
	int value = atoi(text), got = 0;

	if (!strcmp(verb, "case")) {
		close_sockets(NULL);
		open_sockets(NULL);
	} else if (!strcmp(verb, "begin")) {
		if (*text)
			snprintf(not_from, sizeof(not_from), " and not src port %u",
				 port + OTHER - 1);
		begin_with(not_from);
	} else if (!strcmp(verb, "send")) {
		sscanf(rest, "%u %u", &n, &len);
		send_from(socket_of(recorded_word(&text)), n, len);
	} else if (!strcmp(verb, "await")) {
		await_arrival(sock[RX], (unsigned)value);
	} else if (!strcmp(verb, "nobody")) {
		close_socket(RX);
	} else if (!strcmp(verb, "connect")) {
		assert_int_equal(connect(sock[RX], (const void *)&peer, sizeof(peer)), 0);
	} else if (!strcmp(verb, "segments")) {
		assert_int_equal(setsockopt(sock[TX], SOL_UDP, UDP_SEGMENT, &value, sizeof(value)),
				 0);
	} else if (!strcmp(verb, "gro")) {
		assert_int_equal(setsockopt(sock[RX], SOL_UDP, UDP_GRO, &value, sizeof(value)), 0);
	} else if (!strcmp(verb, "close")) {
		tell_balance();
	} else {
		const int flags = !strcmp(verb, "peek")	      ? MSG_PEEK
				  : !strcmp(verb, "truncate") ? MSG_TRUNC
							      : 0;

		sscanf(text, "%u %u", &n, &len);
		while (n--)
			got = read_one(len, flags, !strcmp(verb, "recvfrom"));
		tell("%d", got);
	}
}

CASE_WITH(recorded, open_sockets, close_sockets)
{
	recorded_stories("tests/fixtures/balance", take_line, NULL);
}

static atomic_bool over;
static atomic_uint n_sent;
static unsigned pause_us;

static void *sends(void *arg)
{
	const struct timespec pause = {.tv_nsec = pause_us * 1000};

	(void)arg;
	while (!over) {
		send_from(sock[TX], 1, LEN);
		n_sent++;
		if (pause_us)
			nanosleep(&pause, NULL);
	}
	return NULL;
}

static void *reads(void *arg)
{
	static uint8_t payload[LEN];

	(void)arg;
	while (sock[RX] >= 0 && !over)
		recv(sock[RX], payload, sizeof(payload), 0);
	return NULL;
}

static pthread_t sender, reader;

/* `us`: the pause between two datagrams. */
static void begin_flow(unsigned us, void *(*read)(void *))
{
	struct timeval patience = {.tv_usec = 100000};

	pause_us = us;
	over = false;
	n_sent = 0;
	setsockopt(sock[RX], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	assert_int_equal(pthread_create(&sender, NULL, sends, NULL), 0);
	assert_int_equal(pthread_create(&reader, NULL, read, NULL), 0);
}

static void end_flow(void)
{
	over = true;
	pthread_join(sender, NULL);
	pthread_join(reader, NULL);
}

static void print_moment(const char *name, const struct balance_moment *m)
{
	uint64_t dropped = 0;

	for (unsigned side = 0; side < SIDES; side++)
		dropped += m->dropped[side] + m->suspected[side];
	print_message("%s: entered %llu delivered %llu dropped %llu queued %llu dying %llu\n", name,
		      (unsigned long long)m->sum.entered, (unsigned long long)m->sum.delivered,
		      (unsigned long long)dropped, (unsigned long long)m->queued,
		      (unsigned long long)m->dying);
}

/* A host may be too busy for a look at one moment, which is said then. */
static void assert_accounted(const struct flow_balance *b)
{
	if (!b->unaccounted || b->doubt[DOUBT_MOVED])
		return;
	print_moment("begin", &begun);
	print_moment("end", &ended);
	assert_int_equal(b->unaccounted, 0);
}

/* The balance begins and ends in the middle of a flow. */
static void flows(unsigned us)
{
	struct flow_balance b;
	unsigned before;

	begin_flow(us, reads);
	AWAIT(n_sent >= 100);
	begin_with("");
	before = n_sent;
	AWAIT(n_sent >= before + 2000);
	b = close_balance();
	end_flow();
	assert_accounted(&b);
	assert_int_equal(b.balanced, !b.unaccounted && !b.doubt[DOUBT_MOVED]);
}

CASE_WITH(while_it_flows, open_sockets, close_sockets)
{
	flows(50);
}

CASE_WITH(while_it_floods, open_sockets, close_sockets)
{
	flows(0);
}

CASE_WITH(while_it_flows_and_nobody_reads, open_sockets, close_sockets)
{
	close_socket(RX);
	flows(50);
	assert_int_equal(begun.sockets, 0);
}

static uint8_t *absent; /* a page that userfaultfd provides */

static void *reads_into_absent(void *arg)
{
	(void)arg;
	recv(sock[RX], absent, LEN, 0);
	return reads(NULL);
}

/* Provides the page only after the first 400 ms in which balance_begin() looks for a moment. */
static void *provides(void *arg)
{
	struct uffdio_zeropage zero = {.range = {(uintptr_t)absent, (uint64_t)getpagesize()}};

	clock_sleep(400000000);
	ioctl(*(int *)arg, UFFDIO_ZEROPAGE, &zero);
	return NULL;
}

/* A reader that takes a datagram and gets no CPU for long has not lost the datagram. */
CASE_WITH(begins_while_a_reader_stands_still, open_sockets, close_sockets)
{
	int faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	struct pollfd fault = {.fd = faults, .events = POLLIN};
	struct error err = {};
	pthread_t provider;
	struct flow_balance b;

	if (faults < 0 || ioctl(faults, UFFDIO_API, &api))
		skip();
	absent = mmap(NULL, (size_t)getpagesize(), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(absent, MAP_FAILED);
	range.range = (struct uffdio_range){(uintptr_t)absent, (uint64_t)getpagesize()};
	assert_int_equal(ioctl(faults, UFFDIO_REGISTER, &range), 0);
	attach_with("");
	begin_flow(200, reads_into_absent);
	assert_int_equal(poll(&fault, 1, PATIENT_S * 1000), 1);
	assert_int_equal(pthread_create(&provider, NULL, provides, &faults), 0);
	assert_int_equal(balance_begin(balance, &begun, &err), 0);
	pthread_join(provider, NULL);
	b = close_balance();
	end_flow();
	close(faults);
	munmap(absent, (size_t)getpagesize());
	if (getenv("PKTLEDGER_TEST_PATIENCE")) /* a slow guest */
		assert_accounted(&b);
	else
		assert_int_equal(b.unaccounted, 0);
}

int main(void)
{
	const char *given = getenv("PKTLEDGER_TEST_PORT");
	struct error err = {};

	port = given ? (uint16_t)atoi(given) : 20000;
	if (geteuid()) {
		print_message("needs root\n");
		return SKIPPED;
	}
	if (reasons_open(&reasons, NULL, &err)) {
		print_message("needs BTF\n");
		reasons_free(reasons);
		return SKIPPED;
	}
	return run_cases(open_all, close_all);
}
