// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sends one stream as live frames. BPF_PROG_RUN runs this program on recycled pages, and redirected
 * frames leave through the interface. A page still contains any changes made during its last use (a
 * router's TTL and addresses, a broken checksum), so all headers are rewritten.
 *
 * A number is used up only when the frame has its sequence header and is redirected. A frame that
 * is not due yet is dropped here and recycled immediately.
 */
#include "kernel.h"

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "gen_abi.h"
#include "headers.h"
#include "stamp.h"
#include "trace_abi.h"

#define PAYLOAD_V4 (ETHERNET_HLEN + IP4_HLEN + UDP_HLEN)
#define PAYLOAD_V6 (ETHERNET_HLEN + IP6_HLEN + UDP_HLEN)
#define UDP_CHECK  (-2) /* offsets from the payload */
#define UDP_SOURCE (-8)
#define IP4_SOURCE (-16)
#define IP4_CHECK  (-18)
#define IP6_SOURCE (-28) /* its last 4 bytes */

const volatile struct gen_config gen;

struct gen_state state __attribute__((aligned(64)));
struct gen_segment segments[GEN_SEGMENTS];

/* The interface to send on. */
MAP(device, DEVMAP, 1, __u32, __u32);

/* Shared with the tracer: the words of the frames waiting on this CPU in the interface's batch. */
ONE_PER_CPU(batch, struct trace_batch);

/* Returns the segment that contains a number, either the current one or the next. */
static __always_inline const struct gen_segment *segment_of(__u64 number)
{
	const struct gen_segment *s = &segments[state.segment & (GEN_SEGMENTS - 1)];

	if (number < s->until)
		return s;
	s = &segments[++state.segment & (GEN_SEGMENTS - 1)];
	state.due = s->due + state.shift;
	state.left = 0;
	return s;
}

/*
 * Uses absolute deadlines. After this CPU falls behind, it catches up the way a token bucket does,
 * a little faster than the schedule, but only until the debt is paid, because the average rate
 * would otherwise change.
 */
static __always_inline bool is_due(__u64 number)
{
	const struct gen_segment *s = segment_of(number);
	__u64 raw = bpf_ktime_get_ns(), now;

	if (state.left) {
		state.left--;
		state.last_ns = raw;
		return true;
	}
	if (!state.start_ns)
		state.start_ns = raw;
	if (raw < state.start_ns)
		return false;
	now = (raw - state.start_ns) << GEN_PERIOD_SHIFT;
	if (now < state.due || now + gen.depth < state.allowed)
		return false;
	if (now - state.due > gen.debt + s->period) {
		__u64 slip = now - state.due - gen.debt - s->period;

		state.shift += slip;
		state.due += slip;
	}
	if (state.allowed < now)
		state.allowed = now;
	state.allowed += s->period - s->period / 5; /* PACE_CATCH_UP */
	state.due += s->period;
	state.left = s->group - 1;
	state.last_ns = raw;
	return true;
}

static __always_inline __u16 checksum(__u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

static __always_inline void put16(__u8 *at, __u16 value)
{
	*(__u16 *)at = bpf_htons(value);
}

static __always_inline void put64(__u8 *at, __u64 value)
{
	*(__u64 *)at = bpf_cpu_to_be64(value);
}

/*
 * Writes the fields that identify this packet's flow. The next packet uses the next flow, or the
 * first one after the last.
 */
static __always_inline void write_flow(__u8 *at)
{
	__u16 port = gen.first_port + state.port, check;
	__u32 address = gen.first_address + state.address, sum = 0;

	if (gen.addresses) {
		sum = (address >> 16) + (address & 0xffff);
		*(__u32 *)(at + (gen.ipv6 ? IP6_SOURCE : IP4_SOURCE)) = bpf_htonl(address);
		if (!gen.ipv6)
			put16(at + IP4_CHECK, checksum(gen.ip_free_sum + sum));
	}
	put16(at + UDP_SOURCE, port);
	/* IPv6 requires a checksum, and 0 means no checksum (RFC 768, 8200) */
	check = checksum(gen.udp_free_sum + sum + port);
	put16(at + UDP_CHECK, check ? check : 0xffff);
	if (++state.flow >= gen.flows) {
		state.flow = 0;
		state.port = gen.from_port;
		state.address = gen.from_address;
	} else if (++state.port >= gen.ports) {
		state.port = 0;
		state.address++;
	}
}

/*
 * Writes the headers, flow, sequence header and time. Returns false if the frame is too short,
 * which open() rules out.
 */
static __always_inline bool write_frame(struct xdp_md *ctx, __u32 payload, __u64 word)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u64 *to = data;
	__u8 *at = data + payload;
	int i;

	if (data + PAYLOAD_V6 + STAMP_LEN > end && payload == PAYLOAD_V6)
		return false;
	if (data + PAYLOAD_V4 + STAMP_LEN > end)
		return false;
	for (i = 0; i < (int)(payload + 2) / 8; i++)
		to[i] = gen.header[i];
	if ((payload + 2) % 8)
		*(__u32 *)&to[i] = (__u32)gen.header[i];
	if (gen.flows > 1)
		write_flow(at);
	put64(at + 2, word);
	put64(at + 10, ~word);
	if (gen.time && (void *)(at + STAMP_TIME_LEN) <= end) {
		__u64 now = bpf_ktime_get_tai_ns();

		put64(at + STAMP_TIME_OFF, now);
		put64(at + STAMP_TIME_OFF + 8, ~now);
	}
	return true;
}

static __always_inline void note_time(__u64 number)
{
	if (!state.first_ns)
		state.first_ns = bpf_ktime_get_ns();
	if (number + 1 == state.limit)
		state.last_ns = bpf_ktime_get_ns();
}

SEC("xdp")
int gen_stream(struct xdp_md *ctx)
{
	__u64 number = state.next, word = gen.stream | number;
	struct trace_batch *b;
	__u32 zero = 0;

	if (number >= state.limit || (gen.paced && !is_due(number)))
		return XDP_DROP;
	b = bpf_map_lookup_elem(&batch, &zero);
	if (!b || !write_frame(ctx, gen.ipv6 ? PAYLOAD_V6 : PAYLOAD_V4, word))
		return XDP_DROP;
	b->word[b->tail++ % TRACE_BATCH] = word;
	note_time(number);
	state.next = number + 1;
	return bpf_redirect_map(&device, 0, 0);
}

__s32 refusal; /* result for the last frame: -errno */

/*
 * Returns true if the event is about the frame that this program has just sent on this CPU and
 * comes from the live-frame interface. The check is needed because the receiver's program may fail
 * before the call returns.
 */
static __always_inline bool is_mine(const struct net_device *from)
{
	__u64 word = gen.stream | (state.next - 1);
	struct trace_batch *b;
	__u32 zero = 0;

	b = bpf_map_lookup_elem(&batch, &zero);
	/* the tracer may already have removed the entry */
	return b && from && from->ifindex == LOOPBACK_IFINDEX &&
	       (b->word[(b->tail - 1) % TRACE_BATCH] == word ||
		b->word[b->tail % TRACE_BATCH] == word);
}

/*
 * Attached for the first frame only, to test whether the interface accepts frames at all. A veth
 * whose peer has no NAPI does not, and no counter records that (veth_xdp_xmit()).
 */
SEC("tp_btf/xdp_devmap_xmit")
int gen_probe(__u64 *ctx)
{
	if ((int)ctx[4] < 0 && is_mine((void *)ctx[0]))
		refusal = (int)ctx[4];
	return 0;
}

/* Handles frames that fail earlier because ndo_xdp_xmit is missing or the interface is down. */
SEC("tp_btf/xdp_redirect_err")
int gen_probe_redirect(__u64 *ctx)
{
	if (is_mine((void *)ctx[0]))
		refusal = (int)ctx[3];
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
