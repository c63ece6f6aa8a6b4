// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The sending engine for XDP live frames (BPF_PROG_RUN). bpf/gen.bpf.c writes the sequence header
 * and redirects frames in the kernel. It can send into a veth pair and through any driver that has
 * ndo_xdp_xmit. A veth's peer must have NAPI, which GRO or an XDP program enables.
 *
 * send() gets the whole budget, and the program does the pacing. Calls are kept short: to the
 * kernel each call is an RCU reader, and operations such as `ip link set down` wait for it to end.
 * A call costs 12 us, but 20 ms or more if the program is not attached to any interface. In that
 * case the kernel registers the program with its XDP dispatcher and unregisters it again, with a
 * grace period each time. The program is therefore attached to an interface where no packets
 * arrive.
 *
 * Between the packets of a paced stream the CPU busy-waits. If threads share a CPU, they sleep
 * instead and send their packets in groups.
 *
 * The first packet is sent alone, because only its outcome shows whether the interface accepts live
 * frames.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/file.h"
#include "gen_abi.h"
#include "gen.skel.h"
#include "host/load.h"
#include "host/netdev.h"
#include "host/netns.h"
#include "traffic/frames.h"
#include "traffic/rx.h"
#include "traffic/tx.h"

/*
 * Frames per program run. After each run the interface's queue is flushed and its NAPI woken. The
 * value is not a multiple of 16, so that the tracer can resynchronise (batch_begin() in
 * drops.bpf.c), and well below the 256 entries of a veth's ring.
 */
#define BATCH 72
/*
 * Paced frames leave at the end of the batch in which they were due, so batches are short if they
 * would affect the gaps between packets. The value is less than the interface's own batch of 16.
 */
#define BATCH_PACED 10
#define BATCH_PPS   100000 /* pps per frame in a batch */

#define FRAME_ROOM 4096
#define CALL_NS	   20000000 /* ns, then a signal ends the call */
#define AGAIN_NS   1000000  /* ns, repeat the signal: one sent just before the call is lost */
#define SLACK_NS   50000000 /* ns, extra time after the schedule */
#define REST_NS	   500000   /* ns per thread and CPU: a wake-up and a call take 50 us */
#define REST_MAX   20000000 /* ns, well below PACE_DEBT_NS */
#define DISPATCHED 48	    /* BPF_DISPATCHER_MAX: with more programs a call costs just as little */

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

struct tx {
	const struct tx_config *cfg;
	struct gen_bpf *skel;
	struct gen_state *state;
	struct netns nowhere; /* the program is attached to its loopback */
	int link;	      /* negative: not attached, so calls take long */
	timer_t timer;
	bool has_timer, proven, paced;
	uint64_t rest_ns;     /* ns, group packets due within this time, 0: send each when due */
	uint64_t deadline_ns; /* ns, only if unthrottled, 0: no deadline */
	uint64_t quota;	      /* packets that remain to be sent within the duration */
	struct plan plan;     /* if there is a schedule */
	uint64_t origin;      /* number of the first packet in the plan */
	uint64_t calls;
	unsigned length, batch;
	uint8_t frame[FRAME_ROOM];
};

/* In one's complement, removing a word from a sum equals adding its complement. */
static uint32_t without(uint32_t sum, uint16_t word)
{
	sum += (uint16_t)~word;
	return (sum & 0xffff) + (sum >> 16);
}

int tx_xdp_describe(struct gen_config *gen, const uint8_t *frame, const struct tx_config *cfg)
{
	const struct flow *flow = cfg->sender->flow;
	const uint8_t *payload = frame + proto_payload_offset(flow->family);
	const uint8_t *source = payload - (flow->family == AF_INET6 ? 28 : 16);
	uint32_t udp = without((uint16_t)~get16(payload - 2), get16(payload - 8));
	uint32_t ip = (uint16_t)~get16(payload - 18);
	uint64_t flows = cfg->flows, first = 0, ports = flows;

	*gen = (struct gen_config){
		.stream = STAMP_WORD(cfg->stream->id, 0),
		.first_port = get16(payload - 8),
		.ipv6 = flow->family == AF_INET6,
		.debt = (uint64_t)PACE_DEBT_NS << GEN_PERIOD_SHIFT,
		.depth = (uint64_t)PACE_DEPTH_NS << GEN_PERIOD_SHIFT,
	};
	if (cfg->shape) {
		flows = shape_flows_of(cfg->shape, cfg->stream->slot, &first);
		ports = cfg->shape->src_port.n ? cfg->shape->src_port.n : 1;
		gen->addresses = cfg->shape->src_addr.n > 0;
	}
	for (unsigned i = 0; gen->addresses && i < 4; i += 2) {
		udp = without(udp, get16(source + i));
		ip = without(ip, get16(source + i));
	}
	gen->first_address = get32(source);
	gen->flows = (uint32_t)flows;
	gen->ports = (uint32_t)ports;
	gen->from_port = (uint16_t)(first % gen->ports);
	gen->from_address = (uint32_t)(first / gen->ports);
	gen->udp_free_sum = (uint16_t)udp;
	gen->ip_free_sum = (uint16_t)ip;
	memcpy(gen->header, frame, GEN_HEADER_MAX);
	return gen->first_address + (first + gen->flows - 1) / gen->ports > UINT32_MAX ? -ERANGE
										       : 0;
}

int tx_attach_pass(const struct netns *ns, unsigned ifindex)
{
	static const struct bpf_insn pass[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = XDP_PASS},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int prog =
		bpf_prog_load(BPF_PROG_TYPE_XDP, "pktledger_pass", "GPL", pass, LENGTH(pass), NULL);
	int link = prog < 0 ? prog : link_xdp(ns, prog, ifindex, XDP_FLAGS_DRV_MODE);

	fd_close(&prog);
	return link;
}

static int load(struct tx *tx, struct error *err)
{
	const struct tx_config *cfg = tx->cfg;
	int batch_fd = cfg->sender->batch_fd;
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGURG};
	struct gen_config *gen;
	__u32 zero = 0, ifindex = cfg->sender->ifindex;
	int rc;

	tx->skel = gen_bpf__open();
	if (!tx->skel)
		return -errno;
	gen = (struct gen_config *)&tx->skel->rodata->gen;
	if (tx_xdp_describe(gen, tx->frame, cfg))
		return error_usage(err, "use --tx xsk",
				   "--src-addr: with --tx xdp only the last 32 bits may vary");
	gen->paced = tx->paced;
	gen->depth = larger(gen->depth, 2 * tx->rest_ns << GEN_PERIOD_SHIFT);
	gen->time = cfg->sender->flow->payload >= STAMP_TIME_LEN;
	rc = batch_fd >= 0 ? bpf_map__reuse_fd(tx->skel->maps.batch, batch_fd) : 0;
	if (!rc)
		rc = gen_bpf__load(tx->skel);
	if (!rc && bpf_map_update_elem(bpf_map__fd(tx->skel->maps.device), &zero, &ifindex, 0))
		rc = -errno;
	if (rc)
		return rc;
	/* traces the first packet, because without tracepoints its outcome is unknown */
	tx->skel->links.gen_probe = bpf_program__attach(tx->skel->progs.gen_probe);
	tx->skel->links.gen_probe_redirect =
		bpf_program__attach(tx->skel->progs.gen_probe_redirect);
	tx->state = (struct gen_state *)&tx->skel->bss->state;
	tx->state->next = tx->state->limit = cfg->stream->next;
	tx->state->port = gen->from_port;
	tx->state->address = gen->from_address;
	event.sigev_notify_thread_id = gettid();
	if (timer_create(CLOCK_MONOTONIC, &event, &tx->timer))
		return -errno;
	tx->has_timer = true;
	/* attaches the program to an unused interface: without it calls still work, but slowly */
	if (cfg->stream->slot < DISPATCHED && !netns_create(&tx->nowhere, &(struct error){}))
		tx->link = link_xdp(&tx->nowhere, bpf_program__fd(tx->skel->progs.gen_stream),
				    LOOPBACK_IFINDEX, XDP_FLAGS_SKB_MODE);
	return 0;
}

/* Sends a signal to this thread at `when` (CLOCK_MONOTONIC), then repeats it until set to 0. */
static void set_timer(struct tx *tx, uint64_t when)
{
	const struct itimerspec at = {
		.it_value = {(time_t)(when / 1000000000), (long)(when % 1000000000)},
		.it_interval = {0, when ? AGAIN_NS : 0},
	};

	timer_settime(tx->timer, TIMER_ABSTIME, &at, NULL);
}

static void tx_xdp_close(struct tx *tx)
{
	if (tx->has_timer)
		timer_delete(tx->timer);
	link_close(&tx->link);
	netns_close(&tx->nowhere);
	gen_bpf__destroy(tx->skel);
}

/* Grouped packets, and rates above the limit for short batches, need the long batch. */
static unsigned batch_of(const struct tx_config *cfg, uint64_t rest_ns)
{
	const struct sender_config *all = cfg->sender;
	double each = cfg->profile ? profile_peak(cfg->profile) / all->threads / BATCH_PPS : BATCH;

	if ((all->shape && all->shape->burst > 1) || rest_ns)
		each = BATCH;
	return each > BATCH_PACED ? BATCH : each > 1 ? (unsigned)each : 1;
}

static int tx_xdp_open(struct tx *tx, struct tx_config *cfg, struct error *err)
{
	unsigned threads = cfg->sender->threads, cpus = worker_cpus();
	struct flow flow = *cfg->sender->flow;
	int rc;

	tx->nowhere = NETNS_NONE;
	tx->link = -1;
	if (cfg->shape)
		shape_tuple(cfg->shape, cfg->sender->flow, 0, &flow);
	tx->cfg = cfg;
	tx->paced = cfg->profile;
	if (tx->paced && threads > cpus)
		tx->rest_ns = smaller((uint64_t)REST_NS * threads / cpus, REST_MAX);
	tx->batch = batch_of(cfg, tx->rest_ns);
	cfg->mode = "live frames";
	/* the template for all frames */
	rc = proto_build(tx->frame, sizeof(tx->frame), &flow, cfg->shape ? 0 : cfg->first_flow);
	if (rc < 0)
		return error_set(err, STATUS_USAGE, rc, "use a smaller packet",
				 "%u bytes of payload do not fit a live frame", flow.payload);
	tx->length = (unsigned)rc;
	rc = frame_fits_mtu(cfg->sender->ifname, tx->length, false, "xdp", err);
	if (!rc && (rc = load(tx, err)) && err->status == STATUS_OK)
		xdp_load_failed(rc, "the sending BPF program", err);
	return rc;
}

static int call(struct tx *tx, uint64_t repeat)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = tx->frame, .data_size_in = tx->length,
		    .repeat = (int)repeat, .flags = BPF_F_TEST_XDP_LIVE_FRAMES,
		    .batch_size = tx->batch);

	int rc;

	tx->calls++;
	rc = bpf_prog_test_run_opts(bpf_program__fd(tx->skel->progs.gen_stream), &opts);
	return rc == -EINTR ? 0 : rc;
}

static int call_error(const struct tx *tx, int rc, struct error *err)
{
	switch (rc) {
	case -EINVAL:
		return error_set(err, STATUS_UNABLE, rc, "use a smaller packet, or --tx xsk",
				 "the kernel cannot send live frames of %u bytes", tx->length);
	case -EPERM:
		return error_set(err, STATUS_UNABLE, rc, "run as root or with CAP_BPF",
				 "no permission to send live frames");
	default:
		return error_errno(err, STATUS_FAILED, rc, NULL, "sending live frames ended");
	}
}

static int refusal_error(const struct tx *tx, int refusal, struct error *err)
{
	const char *ifname = tx->cfg->sender->ifname;
	struct netdev dev;

	/*
	 * newer kernels notice that a veth's peer has no NAPI before the driver does
	 * (__xdp_enqueue())
	 */
	if (refusal == -EOPNOTSUPP && !netdev_get(NULL, ifname, &dev) &&
	    !strcmp(dev.driver, "veth"))
		refusal = -ENXIO;
	switch (refusal) {
	case -ENXIO:
		return error_set(
			err, STATUS_UNABLE, refusal,
			"switch it on at the other end: ethtool -K PEER gro on; or attach an "
			"XDP program there",
			"%s does not accept live frames: its peer runs without NAPI", ifname);
	case -EOPNOTSUPP:
		return error_set(err, STATUS_UNABLE, refusal, "use --tx xsk or --tx socket",
				 "the driver of %s takes no live frames (no ndo_xdp_xmit)", ifname);
	default:
		return error_errno(err, STATUS_FAILED, refusal, NULL, "%s does not accept live "
								      "frames",
				   ifname);
	}
}

/* Sends one packet and checks that the interface accepted it. */
static int prove(struct tx *tx, struct error *err)
{
	struct gen_bpf *s = tx->skel;
	int rc;

	tx->state->limit = tx->state->next + 1;
	rc = call(tx, 1);
	bpf_link__destroy(s->links.gen_probe);
	bpf_link__destroy(s->links.gen_probe_redirect);
	s->links.gen_probe = s->links.gen_probe_redirect = NULL;
	if (rc)
		return call_error(tx, rc, err);
	if (s->bss->refusal)
		return refusal_error(tx, s->bss->refusal, err);
	tx->proven = tx->state->next == tx->state->limit;
	return 0;
}

/*
 * Lets the schedule start with the program's next run. Converts a duration to a number of packets.
 */
static void begin(struct tx *tx)
{
	const struct tx_config *cfg = tx->cfg;
	const struct sender_config *all = cfg->sender;
	struct gen_state *st = tx->state;

	st->start_ns = st->shift = st->allowed = 0;
	st->first_ns = st->last_ns = 0;
	tx->origin = st->next;
	tx->quota = UINT64_MAX;
	tx->plan = (struct plan){cfg->profile, 1, cfg->stream->slot, all->threads, 0};
	if (all->shape && all->shape->burst)
		tx->plan.burst = all->shape->burst;
	if (all->duration_ns && tx->paced) {
		tx->quota = plan_packets(&tx->plan, all->duration_ns);
		tx->quota -= tx->quota > 0; /* the first packet was already sent */
	} else if (all->duration_ns) {
		tx->deadline_ns = clock_now() + all->duration_ns;
	}
}

/* Plans at most n packets. Returns how many were planned. */
static uint64_t plan_call(struct tx *tx, uint64_t n)
{
	struct gen_state *st = tx->state;
	struct gen_segment *segments = tx->skel->bss->segments;
	uint64_t k = st->next - tx->origin;
	double from = plan_seconds(&tx->plan, k);

	if (from == HUGE_VAL)
		return 0;
	if (st->start_ns) {
		st->start_ns += (uint64_t)((from - tx->plan.origin_s) * 1e9 + 0.5);
		tx->plan.origin_s = from;
	}
	st->allowed = 0;
	n = plan_segments(&tx->plan, k, n, st->next, segments);
	st->segment = st->left = 0;
	st->due = segments[0].due + st->shift;
	return n;
}

/* Converts the program's kernel time to our clock. Returns 0 if not available yet. */
static uint64_t by_own_clock(uint64_t ktime_ns)
{
	return ktime_ns ? ktime_ns + (uint64_t)ktime_offset() : 0;
}

/*
 * Estimates when the call ends, 0: when all packets are sent. A paced stream may start late and
 * lose CPU time to other processes. An estimate that is too late does no harm: the program just
 * waits.
 */
static uint64_t end_of(const struct tx *tx, uint64_t packets)
{
	const struct gen_state *st = tx->state;
	uint64_t due;

	if (!tx->paced)
		return tx->deadline_ns;
	due = plan_due(&tx->plan, st->next + packets - 1 - tx->origin) + st->shift;
	return (st->start_ns ? by_own_clock(st->start_ns) : clock_now()) +
	       (due >> GEN_PERIOD_SHIFT) + SLACK_NS;
}

/* Returns when the packet that follows the next k is due, but not before the schedule starts. */
static uint64_t due_ns(const struct tx *tx, uint64_t k)
{
	const struct gen_state *st = tx->state;

	return by_own_clock(st->start_ns) +
	       ((plan_due(&tx->plan, st->next + k - tx->origin) + st->shift) >> GEN_PERIOD_SHIFT);
}

/* Sleeps until packets are due. Returns how many program runs it takes to send them, 0: not yet. */
static uint64_t rest(const struct tx *tx)
{
	uint64_t left = tx->state->limit - tx->state->next, n = 1, now, wake;

	if (!tx->state->start_ns)
		return 1;
	wake = due_ns(tx, 0) + tx->rest_ns;
	now = clock_now();
	if (now < wake) {
		clock_sleep(smaller(wake - now, SLACK_NS));
		now = clock_now();
	}
	if (now < wake)
		return 0;
	while (n < left && due_ns(tx, n) <= now)
		n *= 2;
	return n;
}

/* Makes one call that sends until `end` at the latest (0: no limit). */
static int call_once(struct tx *tx, uint64_t now, uint64_t end)
{
	uint64_t left = tx->state->limit - tx->state->next;
	bool brief = tx->link >= 0 || tx->cfg->stream->slot >= DISPATCHED;
	int rc;

	if (tx->rest_ns) {
		left = rest(tx);
		return left ? call(tx, left) : 0;
	}
	if (brief && (!end || end - now > CALL_NS))
		end = now + CALL_NS;
	if (end)
		set_timer(tx, end);
	rc = call(tx, tx->paced ? INT32_MAX : left);
	if (end)
		set_timer(tx, 0);
	return rc;
}

static int send_many(struct tx *tx, uint64_t n, struct error *err)
{
	uint64_t end, now = clock_now();
	int rc = 0;

	if (tx->paced)
		n = plan_call(tx, n);
	if (!n) { /* the profile is silent from here on */
		pace_wait(SLACK_NS);
		return 0;
	}
	end = end_of(tx, n);
	tx->state->limit = tx->state->next + n;
	tx->state->last_ns = 0;
	do { /* at least once: the program skips packets that are too late */
		rc = call_once(tx, now, end);
		now = clock_now();
	} while (!rc && tx->state->next < tx->state->limit && (!end || now < end) &&
		 !atomic_load_explicit(tx->cfg->stop, memory_order_relaxed));
	return rc ? call_error(tx, rc, err) : 0;
}

/* Sends the first packet alone, then all others. */
static int tx_xdp_send(struct tx *tx, unsigned n, struct error *err)
{
	uint64_t before = tx->state->next;
	int rc = 0;

	if (!tx->proven) {
		rc = prove(tx, err);
		if (tx->proven)
			begin(tx);
	} else if (!tx->quota) { /* the caller's clock has not reached the packet's time */
		pace_wait(AGAIN_NS);
	} else {
		rc = send_many(tx, n < tx->quota ? n : tx->quota, err);
		tx->quota -= tx->quota == UINT64_MAX ? 0 : tx->state->next - before;
	}
	__atomic_store_n(&tx->cfg->stream->next, tx->state->next, __ATOMIC_RELEASE);
	return rc ? rc : (int)(tx->state->next - before);
}

static uint64_t tx_xdp_next(const struct tx *tx)
{
	return __atomic_load_n(&tx->state->next, __ATOMIC_ACQUIRE);
}

static void tx_xdp_stats(const struct tx *tx, struct tx_stats *st)
{
	*st = (struct tx_stats){
		.calls = tx->calls,
		.first_ns = tx->proven ? by_own_clock(tx->state->first_ns) : 0,
		.last_ns = tx->proven ? by_own_clock(tx->state->last_ns) : 0,
		.slipped_ns = tx->state->shift >> GEN_PERIOD_SHIFT,
	};
}

const struct tx_ops tx_xdp = {
	.name = "xdp",
	.size = sizeof(struct tx),
	.place = "xdp_devmap_xmit",
	.paces = true,
	.sources = true,
	.fastest_pps = 12e6,
	.open = tx_xdp_open,
	.send = tx_xdp_send,
	.next = tx_xdp_next,
	.stats = tx_xdp_stats,
	.close = tx_xdp_close,
};
