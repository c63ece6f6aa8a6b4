// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sites: what the site of each kind of experiment says of itself while it goes on, and what the
 * ledger is in the end. Between two namespaces of a lab, or one end alone in one of
 * them.
 */
#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#define TEST_PORT 40412

#include "cases.h"
#include "base/clock.h"
#include "experiment/settle.h"
#include "experiment/site.h"
#include "host/netdev.h"
#include "recorded.h"
#include "helpers.h"
#include "pair.h"

#define COUNT	     200
#define PAYLOAD	     100
#define ROOM	     (8 << 20)
#define SECOND	     1000000000ULL
#define LATEST_NS    (20 * SECOND)

static struct run_spec spec;
static const struct outcomes_numbers numbers = {TEST_BASE, TRACE_PAGE_SIZE, TEST_STREAM, 2};

enum ends { LAB, PORTS, SENDS, RECEIVES };

/* An experiment, as it differs from 200 packets of one sending thread. */
struct kind {
	const char *name;
	enum ends ends;
	const char *faults;
	struct run_spec spec;
};

static struct site s;
static struct result res;

/* Properties that all experiments of a kind share are omitted. */
static void tell_but(bool is, bool usual, const char *what)
{
	if (is != usual)
		tell("%s%s", is ? "" : "no ", what);
}

/* The BPF program of this name that this process has loaded; 0: none. */
static __u32 loaded(const char *name)
{
	__u32 found = 0;

	for (int fd = 0; fd < 1024; fd++) {
		struct bpf_prog_info info = {};
		__u32 len = sizeof(info);

		if (!bpf_obj_get_info_by_fd(fd, &info, &len) &&
		    !strncmp(info.name, name, BPF_OBJ_NAME_LEN - 1))
			found = info.id;
	}
	return found;
}

/* The link of that program; -1: it is not attached. */
static int link_of(const char *name)
{
	__u32 id = loaded(name);

	for (int fd = 0; fd < 1024 && id; fd++) {
		struct bpf_link_info info = {};
		__u32 len = sizeof(info);

		if (!bpf_obj_get_info_by_fd(fd, &info, &len) &&
		    (info.type == BPF_LINK_TYPE_TRACING ||
		     info.type == BPF_LINK_TYPE_RAW_TRACEPOINT) &&
		    info.prog_id == id)
			return fd;
	}
	return -1;
}

/* Returns the expected count among the sent packets. Partial losses are random. */
static const char *amount(uint64_t n)
{
	static char text[16];

	snprintf(text, sizeof(text), "%d", (int)n);
	return n && n < spec.count ? "some" : text;
}

static void describe_end(void)
{
	bool moved = false, came = res.delivered;

	if (res.delivered != spec.count)
		tell("%s of %d", amount(res.delivered), (int)res.attempted);
	assert_int_equal(res.attempted, res.sent + res.refused);
	if (res.refused)
		tell("refused %d", (int)res.refused);
	if (res.unaccounted || res.in_flight || res.impossible)
		tell("open %d queued %d impossible %d", (int)res.unaccounted, (int)res.in_flight,
		     (int)res.impossible);
	for (int i = 0; i < STAGE_COUNT; i++) {
		if (res.stage[i].packets)
			tell("%s %s %s %s", stage_name(i), amount(res.stage[i].packets),
			     res.stage[i].source, res.stage[i].scope);
		else if (res.stage[i].events) /* of copies, or of delivered packets */
			tell("%s events %s", stage_name(i), amount(res.stage[i].events));
	}
	if (res.frame_bytes != PAYLOAD + 46)
		tell("%d bytes", res.frame_bytes);
	tell_but(came && res.rx_cost.calls && res.rx_cost.cpu_ns, came, "rx-cost");
	tell_but(res.tx_cost.calls, true, "tx-cost");
	tell_but(res.rx_pps > 0, came, "rx-rate");
	tell_but(res.tx_pps > 0, true, "tx-rate");
	tell_but(*res.tx_mode, spec.tx != &tx_socket, "tx-mode");
	tell_but(*res.rx_mode, s.receives && s.receiver_config.ops != &rx_socket, "rx-mode");
	if (res.fragments.seen)
		tell("fragments %d reassembled %d", (int)res.fragments.seen, (int)res.reassembled);
	for (unsigned i = 0; i < res.n_counters; i++) {
		const struct result_counter *c = &res.counter[i];

		moved |= c->delta && c->agrees;
		if (!c->agrees)
			tell("%s %s %d%s", stage_name(c->stage), c->name, (int)c->delta,
			     c->documented ? " documented" : " DISAGREES");
	}
	tell_but(moved, res.dropped, "counted");
}

static unsigned notes;

/* Drops of faults in their order, before a drop that is not traced. */
static void take_note(void *arg, const char *note)
{
	if (notes < s.fx.n_notes)
		assert_string_equal(note, s.fx.notes[notes]);
	else
		assert_non_null(strstr(note, "are not traced"));
	notes++;
}

static ino_t namespace_here(void)
{
	struct stat st;

	assert_int_equal(stat("/proc/thread-self/ns/net", &st), 0);
	return st.st_ino;
}

static int open_kind(const struct kind *k)
{
	static char port_a[64], port_b[64];
	const struct experiment_view view = {.on_note = take_note};
	const ino_t here = namespace_here();
	struct error err = {};
	int rc;

	spec = k->spec;
	spec.count = spec.count ? spec.count : COUNT;
	spec.payload = spec.payload ? spec.payload : PAYLOAD;
	spec.port = TEST_PORT;
	spec.flows = 1;
	spec.threads = spec.threads ? spec.threads : 1;
	if (k->ends != RECEIVES)
		spec.tx = spec.tx ? spec.tx : &tx_socket;
	if (k->ends != SENDS)
		spec.rx = spec.rx ? spec.rx : &rx_socket;
	if (!k->faults && !spec.rcvbuf)
		spec.rcvbuf = ROOM; /* a busy host loses nothing */
	if (k->ends == PORTS) {
		snprintf(port_a, sizeof(port_a), "/proc/self/fd/%d/v-tx", lab.tx_ns.fd);
		snprintf(port_b, sizeof(port_b), "/proc/self/fd/%d/v-rx", lab.rx_ns.fd);
		spec.port_a = port_a;
		spec.port_b = port_b;
	}
	if (k->ends == SENDS)
		spec.to =
			(struct endpoint){.family = AF_INET, .ip4 = lab.rx.ip4, .port = TEST_PORT};
	if (k->ends == SENDS || k->ends == RECEIVES)
		spec.ifname = k->ends == SENDS ? "v-tx" : "v-rx";
	if (k->faults)
		assert_int_equal(fault_parse(k->faults, false, &spec.faults, &err), 0);
	notes = 0;
	rc = site_open(&s, &spec, &view, &err);
	if (rc)
		print_message("%s: %s\n", k->name, err.message);
	else
		assert_int_equal(notes, s.fx.n_notes + (!s.traced && !s.by_engine));
	assert_int_equal(namespace_here(), here);
	return rc;
}

static uint64_t open_numbers(void)
{
	uint64_t next[TRACE_STREAMS] = {}, sum = 0;

	site_next(&s, next);
	for (unsigned t = 0; t < spec.threads; t++)
		sum += next[t];
	return sum;
}

static void start(void)
{
	struct site_status st;
	struct error err = {};

	site_status(&s, &st);
	assert_false(st.running);
	assert_true(st.idle);
	assert_int_equal(open_numbers(), 0);
	if (s.faults)
		assert_int_equal(fault_begin(s.faults, &err), 0);
	site_start(&s);
}

static void stop_sending(void)
{
	uint64_t end = clock_now() + LATEST_NS;
	struct site_status st;
	struct error err = {};

	site_status(&s, &st);
	while (st.running || !sender_done(s.sender)) {
		assert_true(clock_now() < end && !site_failed(&s, &err));
		pace_wait(1000000);
		site_status(&s, &st);
	}
	site_stop_sending(&s, &err);
	site_status(&s, &st);
	assert_false(st.running);
	assert_int_equal(open_numbers(), spec.count);
	assert_string_equal(err.message, "");
}

/* What only the sender of two, or alone, does. */
static void close_one(void)
{
	uint64_t accepted, refused, sent = 0, next[TRACE_STREAMS] = {};
	const struct outcomes *f = &s.tracer.outcomes;

	site_next(&s, next);
	f->failed[outcomes_index(f, 0, f->base + 1)] = EPERM;
	site_prepare(&s, next);
	for (uint16_t t = 0; t < spec.threads && s.by_number; t++) {
		const uint8_t *seen = &f->seen[outcomes_index(f, t, f->base)];

		tell("%d%d", !!(seen[0] & SEEN_TX_DEVICE), !!(seen[1] & SEEN_TX_DEVICE));
	}
	site_fold(&s, next, NULL);
	site_fold(&s, next, NULL);
	for (unsigned t = 0; t < spec.threads; t++) {
		site_count(&s, t, &accepted, &refused);
		assert_int_equal(refused, t == 0);
		sent += accepted;
	}
	assert_int_equal(sent, spec.count - 1);
	site_ledger(&s, 0, &res);
	site_end(&s, &res);
	if (spec.paired)
		assert_int_equal(site_check(&s, &res, &(struct error){}), 0);
	site_describe(&s, &res);
}

static void close_both(void)
{
	uint64_t end = clock_now() + LATEST_NS, next[TRACE_STREAMS] = {};
	struct site_status st;
	struct error err = {};

	while ((!site_is_complete(&s) || (site_status(&s, &st), !st.idle)) && clock_now() < end)
		pace_wait(1000000);
	assert_true(clock_now() < end);
	assert_int_equal(st.delivered + st.dropped, site_outcomes_seen(&s));
	assert_int_equal(site_stop_receiving(&s, &err), 0);
	assert_int_equal(site_stop_receiving(&s, &err), 0); /* it has */
	site_status(&s, &st);
	assert_int_equal(st.in_socket, 0);
	site_next(&s, next);
	site_prepare(&s, next);
	site_fold(&s, next, NULL);
	site_beyond(&s);
	site_ledger(&s, st.in_queues, &res);
	site_end(&s, &res);
	site_describe(&s, &res);
	assert_int_equal(site_check(&s, &res, &err), 0);
	assert_string_equal(err.message, "");
}

static void run_kind(const struct kind *k)
{
	memset(&res, 0, sizeof(res));
	assert_int_equal(open_kind(k), 0);
	start();
	stop_sending();
	if (s.lone)
		close_one();
	else
		close_both();
	describe_end();
}

/* A second trial uses the network and the observers of the first, with numbers of its own. */
static void run_twice(const struct kind *k)
{
	char first[RECORDED_TEXT];
	uint64_t next;
	unsigned space;

	run_kind(k);
	space = s.lab.tx_ns.inum;
	next = s.tracer.outcomes.base + spec.count / spec.threads;
	site_rest(&s);
	assert_int_equal(s.lab_open, !k->faults && k->spec.payload < 1500);
	if (!s.lab_open)
		return;
	strcpy(first, told);
	*told = '\0';
	run_kind(k);
	assert_string_equal(told, first);
	assert_int_equal(s.lab.tx_ns.inum, space);
	assert_int_equal(s.tracer.outcomes.base, next);
	site_close(&s);
}

struct request {
	struct run_spec spec;
	uint64_t pps;
	uint8_t tx, rx;
};

#define ASK(member)                                                                                \
	{                                                                                          \
#member, offsetof(struct request, spec.member), sizeof(spec.member), 1, NULL       \
	}
static const char *const engines[] = {"socket", "xsk", "xdp"};
static const char *const topologies[] = {"pair", "router", "bridge", "tap", "vxlan"};
static const struct recorded_field requests[] = {
	ASK(count),
	ASK(payload),
	ASK(threads),
	ASK(rcvbuf),
	ASK(sndbuf),
	ASK(settle_ns),
	ASK(ipv6),
	ASK(legs),
	ASK(pass),
	ASK(ledger),
	ASK(paired),
	ASK(shaped),
	ASK(shape.threads),
	ASK(shape.flows),
	ASK(wish.gro),
	ASK(tuning.send.unconnected),
	ASK(tuning.reader.pause_ns),
	ASK(tuning.reader.read_ns),
	{"topology", offsetof(struct request, spec.topology), sizeof(spec.topology), 0, topologies},
	FIELD(struct request, pps),
	FIELD_ENUM(struct request, tx, engines),
	FIELD_ENUM(struct request, rx, engines),
	{0}};

/* "FAULTS FIELD=VALUE...", or "none". */
static struct kind read_kind(enum ends ends, char *text)
{
	static const struct tx_ops *const tx[] = {NULL, &tx_xsk, &tx_xdp};
	static const struct rx_ops *const rx[] = {NULL, &rx_xsk, &rx_xdp};
	const char *faults = recorded_word(&text);
	struct request r = {};

	recorded_read(requests, text, &r);
	r.spec.tx = tx[r.tx];
	r.spec.rx = rx[r.rx];
	r.spec.topology_set = r.spec.topology != LAB_PAIR;
	r.spec.numbers = r.spec.paired ? &numbers : NULL;
	if (r.pps)
		r.spec.rate = (struct rate){.unit = RATE_PPS, .value = (double)r.pps};
	return (struct kind){faults, ends, strcmp(faults, "none") ? faults : NULL, r.spec};
}

/* As many numbers are kept as time may pass until their outcomes are known, at this rate. */
static void check_window(char *text)
{
	const uint64_t window = strtoull(recorded_word(&text), NULL, 10);
	const bool moving = !strcmp(recorded_word(&text), "moving");
	const bool ports = !strcmp(recorded_word(&text), "ports");
	const struct kind k = read_kind(ports ? PORTS : LAB, text);

	if (window_most(1) < window)
		return; /* of a host with little memory it is shorter */
	assert_int_equal(open_kind(&k), 0);
	assert_int_equal(s.tracer.config.window, window);
	assert_int_equal(s.moving, moving);
	site_close(&s);
}

static void run_line(void *arg, const char *verb, char *text)
{
	int saved = !strcmp(verb, "sends") ? netns_push(&lab.tx_ns) : -1;
	struct kind k;

	if (!strcmp(verb, "window")) {
		check_window(text);
	} else if (!strcmp(verb, "lab")) {
		k = read_kind(LAB, text);
		run_twice(&k);
	} else if (!strcmp(verb, "trial")) { /* of a session */
		k = read_kind(LAB, text);
		run_kind(&k);
		site_rest(&s);
	} else if (!strcmp(verb, "close")) {
		site_close(&s);
	} else if (strcmp(verb, "case")) {
		k = read_kind(saved < 0 ? PORTS : SENDS, text);
		run_kind(&k);
		site_close(&s);
	}
	if (saved >= 0)
		netns_pop(saved);
}

CASE(recorded)
{
	recorded_stories("tests/fixtures/sites", run_line, NULL);
}

/* On older kernels an observer has to know what became of them. */
CASE(AF_XDP_alone)
{
	char text[] = "none tx=xsk";

	if (!tx_xsk_knows_losses())
		skip();
	run_line(NULL, "sends", text);
	assert_string_equal(told, "0 of 200 refused 1 open 199 queued 0 impossible 0");
	*told = '\0';
}

/* Packets that are unread at close are lost, even if the host hides the kernel's drop events. */
CASE(closed_unseen)
{
	const struct kind k = {.name = "unseen", .ends = LAB, .faults = "socket_close"};
	int other = open("/dev/null", O_RDWR | O_CLOEXEC);

	memset(&res, 0, sizeof(res));
	assert_int_equal(open_kind(&k), 0);
	start();
	stop_sending();
	assert_true(dup2(other, link_of("kfree_skb")) >= 0);
	assert_true(dup2(other, link_of("kfree_skb_2nd")) >= 0);
	close_both();
	assert_int_equal(res.stage[STAGE_SOCKET_CLOSE].packets, COUNT);
	assert_int_equal(res.unaccounted, 0);
	site_close(&s);
	close(other);
}

/* Packets that are unread at the end of the run wait in the socket and are not lost. */
CASE(not_read_in_time)
{
	const struct kind k = {.name = "waits", .ends = LAB};
	uint64_t next[TRACE_STREAMS] = {};
	struct site_status st;
	struct error err = {};

	memset(&res, 0, sizeof(res));
	assert_int_equal(open_kind(&k), 0);
	receiver_close(s.receiver);
	s.receiver_config.paused = true;
	assert_int_equal(receiver_open(&s.receiver, &s.receiver_config, &err), 0);
	start();
	s.fx.reader = READER_NEVER; /* it is not to go on */
	stop_sending();
	s.fx.reader = READER_NORMAL;
	assert_int_equal(site_stop_receiving(&s, &err), 0);
	site_status(&s, &st);
	assert_int_equal(st.in_socket, COUNT);
	site_next(&s, next);
	site_prepare(&s, next);
	site_fold(&s, next, NULL);
	site_ledger(&s, st.in_queues, &res);
	assert_int_equal(res.in_flight, COUNT);
	assert_int_equal(res.dropped + res.delivered + res.unaccounted, 0);
	site_close(&s);
}

/* Packets in queues of the kernel are in flight. */
CASE(what_waits)
{
	static const struct kind rows[] = {
		{"qdisc", LAB, "qdisc=1k", {.count = 2000}},
		{"reassembly", LAB, "ip_frag:missing=100%", {.payload = 3000}},
		{"neighbour", LAB, "neigh", {}},
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		uint64_t end = clock_now() + LATEST_NS;
		struct site_status st;
		bool waits = false;

		assert_int_equal(open_kind(&rows[i]), 0);
		start();
		while (!waits && clock_now() < end) {
			pace_wait(100000);
			site_status(&s, &st);
			assert_int_equal(st.in_queues, st.in_qdiscs + st.in_reassembly);
			waits = i == 0	 ? st.in_qdiscs > 1
				: i == 1 ? st.in_reassembly > 1
					 : !st.idle && !st.in_queues;
		}
		assert_true(waits);
		assert_false(st.idle);
		assert_int_equal(i == 0, st.in_qdiscs > 0);
		assert_in_range(st.in_qdiscs, 0, spec.count);
		s.fragments = false; /* then the waiting packets belong to other programs */
		site_status(&s, &st);
		assert_int_equal(st.in_reassembly, 0);
		site_stop_sending(&s, &(struct error){});
		site_close(&s);
	}
}

/* Whether the lab delivers there, and the sender sends there by its device. */
static bool routed(const struct endpoint *to)
{
	unsigned ifindex;

	return netdev_hop(&s.lab.rx_ns, to, &ifindex) == HOP_LOCAL &&
	       netdev_way(&s.lab.tx_ns, to) == s.lab.tx.ifindex;
}

/* A test network has these settings. Settings of other programs stay unchanged. */
CASE(destinations)
{
	static const struct {
		enum ends ends;
		const char *range, *in, *out;
		bool ipv6;
	} rows[] = {
		{LAB, "203.0.113.0/28", "203.0.113.9", "203.0.113.17", false},
		{LAB, "2001:2::ff00/124", "2001:2::ff09", "2001:db8::1", true},
		{PORTS, "203.0.113.0/28", NULL, "203.0.113.9", false},
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct kind k = {.name = rows[i].range,
				 .ends = rows[i].ends,
				 .spec = {.tx = &tx_xsk, .rx = &rx_xsk, .ipv6 = rows[i].ipv6}};
		struct endpoint in, out;

		assert_int_equal(addrs_parse(rows[i].range, &k.spec.shape.dst_addr), 0);
		assert_int_equal(open_kind(&k), 0);
		assert_int_equal(num_endpoint(rows[i].out, &out), 0);
		assert_false(routed(&out));
		if (rows[i].in) {
			assert_int_equal(num_endpoint(rows[i].in, &in), 0);
			assert_true(routed(&in));
		}
		site_close(&s);
	}
}

/* The engine of a single-ended AF_XDP sender reports packets that the interface refused. */
CASE(lost_at_the_device)
{
	const struct kind k = {.ends = SENDS, .spec = {.tx = &tx_xsk}};
	uint64_t next[TRACE_STREAMS] = {};
	int saved;

	if (!tx_xsk_knows_losses())
		skip();
	saved = netns_push(&lab.tx_ns);
	memset(&res, 0, sizeof(res));
	assert_int_equal(open_kind(&k), 0);
	assert_true(s.by_engine);
	assert_int_equal(netdev_set_up(&lab.rx_ns, "v-rx", false), 0);
	start();
	stop_sending();
	assert_int_equal(netdev_set_up(&lab.rx_ns, "v-rx", true), 0);
	site_next(&s, next);
	site_fold(&s, next, NULL);
	site_ledger(&s, 0, &res);
	site_end(&s, &res);
	assert_int_equal(res.sent, COUNT);
	assert_int_equal(res.dropped, COUNT);
	assert_int_equal(res.unaccounted, 0);
	assert_int_equal(res.stage[STAGE_TX_DEVICE].packets, COUNT);
	assert_int_equal(res.stage[STAGE_TX_DEVICE].bytes, COUNT * (PAYLOAD + 28));
	assert_string_equal(res.stage[STAGE_TX_DEVICE].source, "counter");
	site_close(&s);
	netns_pop(saved);
}

/* Nothing more is opened, and nothing else is said, where a port is missing. */
CASE(port_that_is_missing)
{
	const struct experiment_view nobody = {};
	struct error err = {};
	char port_a[64];

	snprintf(port_a, sizeof(port_a), "/proc/self/fd/%d/v-tx", lab.tx_ns.fd);
	spec = (struct run_spec){.tx = &tx_socket,
				 .rx = &rx_socket,
				 .threads = 1,
				 .flows = 1,
				 .count = COUNT,
				 .payload = PAYLOAD,
				 .port = TEST_PORT,
				 .port_a = port_a,
				 .port_b = "pl-none"};
	assert_true(site_open(&s, &spec, &nobody, &err) < 0);
	assert_non_null(strstr(err.message, "pl-none"));
	assert_true(!s.faults && !s.receiver && !s.sender);
	site_close(&s);
}

/* A receiver that cannot read any more ends it. */
CASE(receiver_that_fails)
{
	const struct kind k = {.ends = LAB, .spec = {.count = UINT64_MAX}};
	uint64_t end = clock_now() + LATEST_NS;
	int other = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct error err = {};

	assert_int_equal(open_kind(&k), 0);
	start();
	assert_false(site_failed(&s, &err));
	assert_true(dup2(other, receiver_fd(s.receiver, 0)) >= 0);
	while (!site_failed(&s, &err)) {
		assert_true(clock_now() < end);
		pace_wait(1000000);
	}
	assert_true(*err.message);
	site_stop_sending(&s, &err);
	site_close(&s);
	close(other);
}

/* A single end continues without a missing capability, and names it. */
CASE(without_capabilities)
{
	static const int rows[] = {CAP_BPF, CAP_PERFMON, CAP_SYSLOG};
	const struct kind k = {.ends = SENDS};
	int saved = netns_push(&lab.tx_ns);

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		char name[32];

		capng_get_caps_process();
		capng_update(CAPNG_DROP, CAPNG_EFFECTIVE, (unsigned)rows[i]);
		assert_int_equal(capng_apply(CAPNG_SELECT_CAPS), 0);
		assert_int_equal(open_kind(&k), 0);
		capng_update(CAPNG_ADD, CAPNG_EFFECTIVE, (unsigned)rows[i]);
		assert_int_equal(capng_apply(CAPNG_SELECT_CAPS), 0);
		assert_false(s.traced);
		snprintf(name, sizeof(name), "cap_%s", capng_capability_to_name((unsigned)rows[i]));
		if (!strcasestr(s.untraced.message, name))
			fail_msg("%s: %s", name, s.untraced.message);
		site_close(&s);
	}
	netns_pop(saved);
}

/* A single end that must know outcomes fails without the capability. A receiver continues. */
CASE(without_capabilities_they_need)
{
	static const struct {
		struct kind k;
		int missing, rc;
	} rows[] = {
		{{.name = "with a ledger", .ends = SENDS, .spec = {.ledger = 1}},
		 CAP_SYSLOG,
		 -EPERM},
		{{.ends = RECEIVES}, CAP_BPF, 0},
		{{.ends = RECEIVES, .spec = {.rx = &rx_xdp}}, CAP_SYSLOG, 0},
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		int saved = netns_push(i ? &lab.rx_ns : &lab.tx_ns);

		capng_get_caps_process();
		capng_update(CAPNG_DROP, CAPNG_EFFECTIVE, (unsigned)rows[i].missing);
		assert_int_equal(capng_apply(CAPNG_SELECT_CAPS), 0);
		assert_int_equal(open_kind(&rows[i].k), rows[i].rc);
		capng_update(CAPNG_ADD, CAPNG_EFFECTIVE, (unsigned)rows[i].missing);
		assert_int_equal(capng_apply(CAPNG_SELECT_CAPS), 0);
		assert_false(s.traced);
		site_close(&s);
		netns_pop(saved);
	}
}

#define LATE_NS (SECOND / 2)

static void *set_up_late(void *arg)
{
	clock_sleep(LATE_NS);
	netdev_set_up(&lab.tx_ns, "v-tx", true);
	return NULL;
}

/* A device that is negotiating its link, as many do for an XDP program, is waited for. */
CASE(link_that_comes_late)
{
	const struct kind k = {.ends = RECEIVES};
	int saved = netns_push(&lab.rx_ns);
	uint64_t begin, took;
	pthread_t other;

	assert_int_equal(netdev_set_up(&lab.tx_ns, "v-tx", false), 0);
	assert_int_equal(pthread_create(&other, NULL, set_up_late, NULL), 0);
	begin = clock_now();
	assert_int_equal(open_kind(&k), 0);
	took = clock_now() - begin;
	pthread_join(other, NULL);
	site_close(&s);
	netns_pop(saved);
	assert_in_range(took, LATE_NS, 10 * LATE_NS);
}

/* A sender of frames may need XDP on its own device, if that is no veth. */
CASE(ports_that_are_no_veth)
{
	static const struct kind rows[] = {
		{.ends = PORTS, .spec = {.tx = &tx_xsk, .rx = &rx_socket}},
		{.ends = PORTS, .spec = {.tx = &tx_socket, .rx = &rx_socket}},
	};
	const struct lab_spec tap = {.topology = LAB_TAP};
	const struct netns tx_ns = lab.tx_ns, rx_ns = lab.rx_ns;
	struct error err = {};
	struct lab taps;

	assert_int_equal(lab_open(&taps, &tap, &err), 0);
	lab.tx_ns = taps.tx_ns;
	lab.rx_ns = taps.rx_ns;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		assert_int_equal(open_kind(&rows[i]), 0);
		assert_int_equal(s.sender_config.wants_xdp, i == 0);
		site_close(&s);
	}
	lab.tx_ns = tx_ns;
	lab.rx_ns = rx_ns;
	lab_close(&taps);
}

/* Drops in the sender's queue belong to its namespace, whichever host receives. */
CASE(lost_by_the_sender)
{
	const struct kind k = {.ends = SENDS, .spec = {.ledger = 1, .payload = 1000}};
	uint64_t next[TRACE_STREAMS] = {};
	int saved = netns_push(&lab.tx_ns);
	struct recipe r = RECIPE;
	struct error err = {};

	memset(&res, 0, sizeof(res));
	recipe_add(&r, RECIPE_TC, &lab.tx_ns,
		   "qdisc add dev v-tx root tbf rate 8kbit burst 2000 limit 2000");
	assert_int_equal(recipe_run(&r, "add a tbf", &err), 0);
	assert_int_equal(open_kind(&k), 0);
	start();
	stop_sending();
	site_next(&s, next);
	site_prepare(&s, next);
	site_fold(&s, next, NULL);
	site_ledger(&s, 0, &res);
	assert_in_range(res.stage[STAGE_QDISC].packets, COUNT / 2, COUNT);
	assert_string_equal(res.cause[0].netns, "tx");
	site_close(&s);
	netns_pop(saved);
}

/* All packets of two threads are sent and read; then the test changes what is known of them. */
static void all_read(void)
{
	const struct kind two = {.name = "read", .spec = {.threads = 2}};
	uint64_t end = clock_now() + LATEST_NS;

	memset(&res, 0, sizeof(res));
	assert_int_equal(open_kind(&two), 0);
	start();
	stop_sending();
	while (!site_is_complete(&s)) {
		assert_true(clock_now() < end);
		pace_wait(1000000);
	}
}

/* Who waits for the address of a next hop is known of the devices that packets are sent by. */
CASE(next_hops_that_are_asked_for)
{
	struct sockaddr_in nobody = {.sin_family = AF_INET, .sin_port = htons(TEST_PORT)};
	struct lab opened;
	static const struct {
		enum lab_topology topology;
		bool own, first, second, no_sender, idle; /* which asks; two are in the middle */
	} rows[] = {
		{LAB_PAIR, false, false, false, false, true},
		{LAB_PAIR, true, false, false, false, false},
		{LAB_PAIR, true, false, false, true, true},
		{LAB_PAIR, false, true, true, false, true},
		{LAB_ROUTER, true, false, false, false, false},
		{LAB_ROUTER, false, false, true, false, false},
		{LAB_ROUTER, false, true, false, false, true},
		{LAB_ROUTER, false, false, true, true, true},
		{LAB_VXLAN, false, true, false, false, false},
		{LAB_VXLAN, false, false, true, false, true},
	};
	struct site_status st;
	struct sender *sender;
	int saved, fd;

	all_read();
	opened = s.lab;
	sender = s.sender;
	nobody.sin_addr.s_addr = s.lab.rx.ip4.s_addr ^ htonl(64);
	saved = netns_push(&s.lab.rx_ns);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	assert_int_equal(sendto(fd, "", 1, 0, (const void *)&nobody, sizeof(nobody)), 1);
	close(fd);
	netns_pop(saved);
	for (unsigned i = 0; i < LENGTH(rows); i++) {
		const bool asks[LAB_PORTS] = {rows[i].own, rows[i].first, rows[i].second};
		const bool router = rows[i].topology == LAB_ROUTER;

		s.lab.tx_ns = s.lab.router_ns = opened.rx_ns;
		s.lab.router_tx.ns = router ? &s.lab.router_ns : &s.lab.tx_ns;
		s.lab.router_rx.ns = router ? &s.lab.router_ns : &s.lab.rx_ns;
		if (rows[i].topology == LAB_PAIR)
			s.lab.router_tx.ns = s.lab.router_rx.ns = NULL;
		for (unsigned p = 0; p < LAB_PORTS; p++)
			s.lab.port[p].ifindex = opened.rx.ifindex + !asks[p];
		s.sender = rows[i].no_sender ? NULL : sender;
		site_status(&s, &st);
		if (st.idle != rows[i].idle)
			fail_msg("row %u", i);
	}
	s.lab = opened;
	s.sender = sender;
	site_close(&s);
}

/* What each number became, or where it rests for good. */
CASE(all_outcomes_are_known)
{
	static const struct {
		bool bridge;
		enum fault_reader reader;
		bool arrived[2]; /* of both streams */
		uint8_t seen;
		bool complete;
	} rows[] = {
		{false, READER_NORMAL, {false, false}, 0, false},
		{false, READER_NORMAL, {true, false}, 0, false},
		{false, READER_NORMAL, {false, true}, 0, false},
		{false, READER_NORMAL, {true, true}, 0, true},
		{false, READER_NORMAL, {true, false}, SEEN_RX_DEVICE, false},
		{false, READER_NEVER, {true, false}, SEEN_TX_DEVICE, false},
		{false, READER_NEVER, {true, false}, SEEN_RX_DEVICE, true},
		{false, READER_NEVER, {false, false}, SEEN_SOCKET, true},
		{false, READER_NORMAL, {true, false}, SEEN_BRIDGE_IN, false},
		{true, READER_NORMAL, {true, false}, SEEN_BRIDGE_IN, true},
		{true, READER_NORMAL, {true, false}, SEEN_BRIDGE, false},
		{true, READER_NORMAL, {true, false}, SEEN_TX_DEVICE, false},
	};
	struct outcomes *f = &s.tracer.outcomes;

	all_read();
	for (unsigned i = 0; i < LENGTH(rows); i++) {
		memset(s.known, 0, sizeof(s.known));
		s.lab.topology = rows[i].bridge ? LAB_BRIDGE : LAB_PAIR;
		s.fx.reader = rows[i].reader;
		for (uint16_t t = 0; t < 2; t++) {
			for (uint64_t n = f->base; n < f->base + spec.count / 2; n++) {
				f->arrivals[outcomes_index(f, t, n)] = rows[i].arrived[t];
				f->seen[outcomes_index(f, t, n)] = rows[i].seen;
			}
		}
		if (site_is_complete(&s) != rows[i].complete)
			fail_msg("row %u", i);
	}
	s.lab.topology = LAB_PAIR;
	site_close(&s);
}

/*
 * Packets of an engine without an edge probe count as seen at its interface, if the numbers are
 * known.
 */
CASE(handed_to_the_device)
{
	static const struct {
		const struct tx_ops *tx;
		bool sends, by_number, in_lab, noted;
	} rows[] = {
		{&tx_xsk, true, true, false, true},	{&tx_xdp, true, true, false, true},
		{&tx_socket, true, true, false, false}, {&tx_xsk, false, true, false, false},
		{&tx_xsk, true, false, false, false},	{&tx_xsk, true, true, true, false},
	};
	struct outcomes *f = &s.tracer.outcomes;
	uint64_t accepted, refused, next[TRACE_STREAMS] = {};

	all_read();
	site_next(&s, next);
	f->failed[outcomes_index(f, 1, f->base)] = EPERM;
	for (unsigned i = 0; i < LENGTH(rows); i++) {
		memset(f->seen, 0, f->bytes);
		memset(f->arrivals, 0, f->bytes);
		f->seen[outcomes_index(f, 0, f->base + 1)] = SEEN_SOCKET;
		spec.tx = rows[i].tx;
		s.sends = rows[i].sends;
		s.in_lab = rows[i].in_lab;
		s.by_number = rows[i].by_number;
		site_prepare(&s, next);
		for (uint16_t t = 0; t < 2; t++) {
			for (uint64_t n = 0; n <= next[t]; n++) {
				uint8_t wanted = t == 0 && n == 1 ? SEEN_SOCKET
						 : n < next[t] && (t == 0 || n) && rows[i].noted
							 ? SEEN_TX_DEVICE
							 : 0;

				if (f->seen[outcomes_index(f, t, f->base + n)] != wanted)
					fail_msg("row %u, %d of stream %d", i, (int)n, t);
			}
		}
	}
	s.refused[1] = 1; /* folded by now */
	site_count(&s, 1, &accepted, &refused);
	assert_int_equal(refused, 2);
	assert_int_equal(accepted, spec.count / 2 - 2);
	spec.tx = &tx_socket;
	s.sends = s.by_number = s.in_lab = true;
	site_close(&s);
}

/* The drops of a socket that is closed by now are those that it had. */
CASE(counters_of_a_closed_socket)
{
	static const struct {
		int64_t drops;
		bool receives;
		int counted; /* -1: not at all */
	} rows[] = {{0, true, 0}, {3, true, 3}, {-1, true, -1}, {3, false, -1}};
	struct error err = {};

	all_read();
	receiver_close(s.receiver);
	s.receiver = NULL;
	for (unsigned i = 0; i < LENGTH(rows); i++) {
		uint64_t drops = UINT64_MAX;

		memset(&res, 0, sizeof(res));
		s.rx.socket_drops = rows[i].drops;
		s.receives = rows[i].receives;
		assert_int_equal(site_check(&s, &res, &err), 0);
		counters_get(&s.after, "rx", "socket:drops", &drops);
		assert_int_equal(drops, (uint64_t)rows[i].counted);
		counters_free(&s.after);
	}
	s.receives = true;
	site_close(&s);
}

/* "loss qdisc __dev_queue_xmit tx tbf ports" */
static void check_loss(struct site *of, char *text)
{
	enum {
		LONE,
		THREADED,
		TAPS,
		MOVED,
		FAULT,
		SKB,
		REPLACED,
		TBF,
		PORT,
		NO_SENDER,
		PFIFO,
		NO_RECEIVER,
		TUNNEL,
		ROUTER,
		TX_XDP,
		TX_XSK,
		RX_XDP,
		TRAITS
	};
	static const char *const traits[TRAITS] = {
		"lone",	    "threaded", "taps",	  "moved",     "xdp-fault", "generic",
		"replaced", "tbf",	"ports",  "no-sender", "pfifo",	    "no-receiver",
		"tunnel",   "router",	"tx-xdp", "tx-xsk",    "rx-xdp"};
	static const char *const counters[] = {":tx_dropped", ":rx_dropped", "_xdp_drops",
					       "Udp:SndbufErrors"};
	const struct lab opened = of->lab;
	struct run_spec changed = spec;
	struct ledger_cause *c = &of->ledger.cause[0];
	const char *stage = recorded_word(&text), *location = recorded_word(&text),
		   *netns = recorded_word(&text);
	struct sender *sender = of->sender;
	struct error err = {};
	bool is[TRAITS] = {};

	for (const char *word; *(word = recorded_word(&text));) {
		unsigned i = 0;

		while (strcmp(traits[i], word))
			assert_true(++i < TRAITS);
		is[i] = true;
	}
	if (is[PFIFO]) {
		struct recipe r = RECIPE;

		recipe_add(&r, RECIPE_TC, &of->lab.tx_ns,
			   "qdisc replace dev v-tx root pfifo limit 10");
		assert_int_equal(recipe_run(&r, "add a pfifo", &err), 0);
	}
	changed.tx = is[TX_XDP] ? &tx_xdp : is[TX_XSK] ? &tx_xsk : &tx_socket;
	changed.rx = is[RX_XDP] ? &rx_xdp : &rx_socket;
	changed.port_a = is[PORT] ? "a" : NULL;
	changed.wish.rps_set = is[MOVED];
	of->spec = &changed;
	of->lab.topology = is[TUNNEL] ? LAB_VXLAN : is[ROUTER] ? LAB_ROUTER : LAB_PAIR;
	of->lab.taps = is[TAPS] ? (void *)of : NULL;
	of->lab.router_ns = opened.tx_ns;
	if (is[TUNNEL] || is[ROUTER]) {
		of->lab.router_tx.ns = is[TUNNEL] ? &of->lab.tx_ns : &of->lab.router_ns;
		of->lab.router_rx.ns = is[TUNNEL] ? &of->lab.rx_ns : &of->lab.router_ns;
		of->lab.router_tx.role = is[TUNNEL] ? "tx" : "router";
		of->lab.router_rx.role = is[TUNNEL] ? "rx" : "router";
		strcpy(of->lab.router_tx.ifname, "v-tx");
		strcpy(of->lab.router_rx.ifname, is[TUNNEL] ? "v-rx" : "v-tx");
	}
	if (is[TUNNEL]) { /* its interfaces are not those of the underlying link */
		strcpy(of->lab.tx.ifname, "lo");
		strcpy(of->lab.rx.ifname, "lo");
	}
	of->lone = is[LONE];
	of->in_lab = !is[LONE] && !is[PORT];
	of->receives = !is[NO_RECEIVER];
	of->sender = is[NO_SENDER] ? NULL : sender;
	of->fx = (struct fault_effects){.threaded_napi = is[THREADED],
					.xdp = is[FAULT],
					.qdisc_replaced = is[REPLACED],
					.tbf_bps = is[TBF] ? 1000000 : 0};
	of->receiver_config.xdp_skb_mode = is[SKB];
	of->rx = (struct rx_stats){.socket_drops = -1, .xdp_drops = 5};
	*c = (struct ledger_cause){.raw = {.index = 1, .count = {.events = 7, .packets = 7}}};
	while (strcmp(stage_name(c->named.stage), stage))
		c->named.stage++;
	snprintf(c->named.location, sizeof(c->named.location), "%s",
		 strcmp(location, "-") ? location : "");
	snprintf(c->named.netns, sizeof(c->named.netns), "%s", netns);
	snprintf(c->named.ifname, sizeof(c->named.ifname), "v-%s", netns);
	of->ledger.n = 1;
	memset(&res, 0, sizeof(res));
	res.stage[c->named.stage].packets = 7;
	counters_free(&of->before);
	assert_int_equal(site_read_counters(of, &of->before, &err), 0);
	assert_int_equal(site_check(of, &res, &err), 0);
	for (unsigned k = 0; k < res.n_counters; k++) {
		const struct result_counter *row = &res.counter[k];

		for (unsigned i = 0; i < LENGTH(counters); i++) {
			if (row->stage == c->named.stage && strstr(row->name, counters[i]))
				tell("%s %s %d;", row->name, row->scope, (int)row->expected);
		}
	}
	if (!*told)
		tell("none");
	counters_free(&of->after);
	of->lab = opened;
	of->sender = sender;
	of->spec = &spec;
}

static void take_line(void *arg, const char *verb, char *text)
{
	if (!strcmp(verb, "loss"))
		check_loss(arg, text);
}

CASE(counters_that_have_to_know)
{
	struct receiver *receiver;

	all_read();
	receiver = s.receiver;
	s.receiver = NULL;
	recorded_stories("tests/fixtures/counters/sites", take_line, &s);
	s.receiver = receiver;
	s.lone = false;
	s.in_lab = s.receives = true;
	s.fx = (struct fault_effects){};
	site_close(&s);
}

static int open_queues(void **state)
{
	const struct lab_spec two = {.topology = LAB_PAIR, .queues = 2};
	struct error err = {};

	return lab_open(&lab, &two, &err);
}

int main(void)
{
	skip_unless_privileged();
	return run_cases(open_queues, close_lab);
}
