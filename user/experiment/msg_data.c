// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The members of all messages, a table each. */
#include "experiment/msg.h"

#define READER_MOST_NS	60000000000 /* that one who reads for others stands still */
#define PROFILE_DOUBLES (3 * PROFILE_PARTS)

_Static_assert(sizeof(struct profile_part) == 3 * sizeof(double), "sent as a list of them");

#define ROW(type, kind, member)                                                                    \
	{                                                                                          \
#member, kind, offsetof(struct type, member), 0, 0                                 \
	}
#define TEXT(type, member)                                                                         \
	{                                                                                          \
#member, MSG_TEXT, offsetof(struct type, member),                                  \
			sizeof(((struct type *)0)->member), 0                                      \
	}
#define LIST(type, member)                                                                         \
	{                                                                                          \
#member, MSG_U64S, offsetof(struct type, member),                                  \
			sizeof(((struct type *)0)->member) / sizeof(uint64_t), 0                   \
	}

const struct msg_field msg_hello[] = {
	ROW(peer_hello, MSG_U32, protocol),
	TEXT(peer_hello, version),
	TEXT(peer_hello, host),
	TEXT(peer_hello, challenge),
	ROW(peer_hello, MSG_BOOL, token),
	{0},
};

const struct msg_field msg_login[] = {
	ROW(peer_login, MSG_U32, protocol), TEXT(peer_login, version), TEXT(peer_login, host),
	TEXT(peer_login, challenge),	    TEXT(peer_login, proof),   {0},
};

const struct msg_field msg_welcome[] = {
	TEXT(peer_welcome, proof),
	ROW(peer_welcome, MSG_U16, port),
	ROW(peer_welcome, MSG_DOUBLE, max_pps),
	{0},
};

const struct msg_field msg_plan[] = {
	ROW(peer_plan, MSG_BOOL, reverse),
	TEXT(peer_plan, engine),
	ROW(peer_plan, MSG_BOOL, ipv6),
	ROW(peer_plan, MSG_U16, port),
	{"base", MSG_U64, offsetof(struct peer_plan, numbers.base), 0, 0},
	{"window", MSG_U64, offsetof(struct peer_plan, numbers.window), 0, 0},
	{"stream", MSG_U16, offsetof(struct peer_plan, numbers.stream0), 0, 0},
	{"streams", MSG_U16, offsetof(struct peer_plan, numbers.streams), 0, TRACE_STREAMS},
	ROW(peer_plan, MSG_U64, count),
	ROW(peer_plan, MSG_U64, duration_ns),
	ROW(peer_plan, MSG_U64, settle_ns),
	ROW(peer_plan, MSG_DOUBLE, rate_pps),
	{"payload", MSG_U32, offsetof(struct peer_plan, payload), 0, 65507},
	{"flows", MSG_U32, offsetof(struct peer_plan, flows), 0, 25000},
	{"sndbuf", MSG_U64, offsetof(struct peer_plan, sndbuf), 0, INT32_MAX / 2},
	{"rcvbuf", MSG_U64, offsetof(struct peer_plan, rcvbuf), 0, INT32_MAX / 2},
	ROW(peer_plan, MSG_BOOL, no_wait),
	ROW(peer_plan, MSG_BOOL, gso),
	ROW(peer_plan, MSG_BOOL, unconnected),
	ROW(peer_plan, MSG_BOOL, gro),
	ROW(peer_plan, MSG_BOOL, pass),
	ROW(peer_plan, MSG_BOOL, per_flow),
	ROW(peer_plan, MSG_BOOL, fragments),
	{"busy_poll_us", MSG_U32, offsetof(struct peer_plan, busy_poll_us), 0, INT32_MAX},
	{"rx_threads", MSG_U32, offsetof(struct peer_plan, rx_threads), 0, 64},
	ROW(peer_plan, MSG_BOOL, cpu_set),
	{"cpu", MSG_U32, offsetof(struct peer_plan, cpu), 0, 8191},
	{"rt", MSG_U32, offsetof(struct peer_plan, rt), 0, 99},
	{"nice", MSG_U32, offsetof(struct peer_plan, nice), 0, PEER_NICE_0 + 19},
	{"work_ns", MSG_U64, offsetof(struct peer_plan, work_ns), 0, READER_MOST_NS},
	{"pause_ns", MSG_U64, offsetof(struct peer_plan, pause_ns), 0, READER_MOST_NS},
	{"read_ns", MSG_U64, offsetof(struct peer_plan, read_ns), 0, READER_MOST_NS},
	ROW(peer_plan, MSG_BOOL, shaped),
	{"vlan", MSG_U32, offsetof(struct peer_plan, vlan), 0, 4094},
	{"tos", MSG_U32, offsetof(struct peer_plan, tos), 0, 255},
	{"ttl", MSG_U32, offsetof(struct peer_plan, ttl), 0, 255},
	{"threads", MSG_U32, offsetof(struct peer_plan, shape.threads), 0, TRACE_STREAMS},
	{"seed", MSG_U64, offsetof(struct peer_plan, shape.seed), 0, 0},
	{"random", MSG_BOOL, offsetof(struct peer_plan, shape.random), 0, 0},
	{"frames", MSG_BOOL, offsetof(struct peer_plan, shape.frames), 0, 0},
	{"n_sizes", MSG_U32, offsetof(struct peer_plan, shape.n_payload), 0, SHAPE_SIZES},
	{"sizes", MSG_U16S, offsetof(struct peer_plan, shape.sizes), SHAPE_SIZES, 0},
	{"src_port", MSG_U16, offsetof(struct peer_plan, shape.src_port.first), 0, 0},
	{"src_ports", MSG_U32, offsetof(struct peer_plan, shape.src_port.n), 0, 65535},
	{"tuples", MSG_U64, offsetof(struct peer_plan, shape.flows), 0, 65535},
	{"duplicate", MSG_DOUBLE, offsetof(struct peer_plan, shape.duplicate), 0, 0},
	{"gap", MSG_DOUBLE, offsetof(struct peer_plan, shape.gap), 0, 0},
	{"reorder", MSG_DOUBLE, offsetof(struct peer_plan, shape.reorder.share), 0, 0},
	{"extent", MSG_U32, offsetof(struct peer_plan, shape.reorder.extent), 0, SHAPE_EXTENT_MAX},
	{"burst", MSG_U32, offsetof(struct peer_plan, shape.burst), 0, SHAPE_BURST_MAX},
	{"scheduled", MSG_BOOL, offsetof(struct peer_plan, shape.scheduled), 0, 0},
	{"repeat", MSG_BOOL, offsetof(struct peer_plan, shape.profile.repeat), 0, 0},
	{"parts", MSG_U32, offsetof(struct peer_plan, shape.profile.parts), 0, PROFILE_PARTS},
	{"part", MSG_DOUBLES, offsetof(struct peer_plan, shape.profile.part), PROFILE_DOUBLES, 0},
	{0},
};

const struct msg_field msg_ready[] = {
	TEXT(peer_ready, mode),
	TEXT(peer_ready, place),
	ROW(peer_ready, MSG_U64, rcvbuf),
	ROW(peer_ready, MSG_U64, rmem_max),
	LIST(peer_ready, udp_mem),
	ROW(peer_ready, MSG_U32, netdev_max_backlog),
	{0},
};

const struct msg_field msg_status[] = {
	ROW(peer_status, MSG_BOOL, running),
	ROW(peer_status, MSG_BOOL, idle),
	ROW(peer_status, MSG_U64, delivered),
	ROW(peer_status, MSG_U64, dropped),
	ROW(peer_status, MSG_U64, in_queues),
	LIST(peer_status, next),
	{0},
};

const struct msg_field msg_fold[] = {LIST(peer_fold, upto), {0}};

const struct msg_field msg_fates[] = {
	ROW(peer_fates, MSG_U16, slot),
	{"first", MSG_U64, offsetof(struct peer_fates, first), 0, 1ULL << 44},
	TEXT(peer_fates, runs),
	{0},
};

const struct msg_field msg_time[] = {ROW(peer_time, MSG_U64, tai_ns), {0}};

const struct msg_field msg_error[] = {
	{"status", MSG_U32, offsetof(struct error, status), 0, STATUS_BROKEN},
	TEXT(error, message),
	TEXT(error, hint),
	{0},
};

const struct msg_field msg_end[] = {
	ROW(result, MSG_U64, delivered),
	ROW(result, MSG_U64, duplicated),
	ROW(result, MSG_U64, late),
	ROW(result, MSG_U64, damaged),
	ROW(result, MSG_U64, invalid),
	ROW(result, MSG_U64, foreign),
	ROW(result, MSG_U64, impossible),
	ROW(result, MSG_U64, replies),
	ROW(result, MSG_DOUBLE, rx_pps),
	ROW(result, MSG_U64, waits),
	ROW(result, MSG_U64, wait_ns),
	ROW(result, MSG_U64, slipped_ns),
	ROW(result, MSG_U64, held_ns),
	ROW(result, MSG_U64, duration_ns),
	{"tx_calls", MSG_U64, offsetof(struct result, tx_cost.calls), 0, 0},
	{"tx_cpu_ns", MSG_U64, offsetof(struct result, tx_cost.cpu_ns), 0, 0},
	{"rx_calls", MSG_U64, offsetof(struct result, rx_cost.calls), 0, 0},
	{"rx_cpu_ns", MSG_U64, offsetof(struct result, rx_cost.cpu_ns), 0, 0},
	{"fragments_made", MSG_U64, offsetof(struct result, fragments.made), 0, 0},
	{"fragments_seen", MSG_U64, offsetof(struct result, fragments.seen), 0, 0},
	{"fragments_dropped", MSG_U64, offsetof(struct result, fragments.dropped), 0, 0},
	{"fragments_abandoned", MSG_U64, offsetof(struct result, fragments.abandoned), 0, 0},
	{"fragments_unmatched", MSG_U64, offsetof(struct result, fragments.unmatched), 0, 0},
	ROW(result, MSG_U64, reassembled),
	{"deliberate", MSG_BOOL, offsetof(struct result, deliberate.asked), 0, 0},
	{"copies", MSG_U64, offsetof(struct result, deliberate.duplicates), 0, 0},
	{"displaced", MSG_U64, offsetof(struct result, deliberate.reordered), 0, 0},
	{"causes_full", MSG_U64, offsetof(struct result, losses.causes_full), 0, 0},
	{"stamp_unreadable", MSG_U64, offsetof(struct result, losses.stamp_unreadable), 0, 0},
	{"recursion_misses", MSG_U64, offsetof(struct result, losses.recursion_misses), 0, 0},
	{"cell_empty", MSG_U64, offsetof(struct result, losses.cell_empty), 0, 0},
	{"gso_split", MSG_U64, offsetof(struct result, losses.gso_split), 0, 0},
	{"reordered", MSG_U64, offsetof(struct result, arrivals.order.packets), 0, 0},
	{"extent_max", MSG_U64, offsetof(struct result, arrivals.order.extent_max), 0, 0},
	{"extent", MSG_U64S, offsetof(struct result, arrivals.order.extent), ARRIVALS_BUCKETS, 0},
	{"extent_unknown", MSG_U64, offsetof(struct result, arrivals.order.extent_unknown), 0, 0},
	{"measured", MSG_BOOL, offsetof(struct result, arrivals.latency.measured), 0, 0},
	{"min_ns", MSG_U64, offsetof(struct result, arrivals.latency.min), 0, 0},
	{"p50_ns", MSG_U64, offsetof(struct result, arrivals.latency.p50), 0, 0},
	{"p90_ns", MSG_U64, offsetof(struct result, arrivals.latency.p90), 0, 0},
	{"p99_ns", MSG_U64, offsetof(struct result, arrivals.latency.p99), 0, 0},
	{"p999_ns", MSG_U64, offsetof(struct result, arrivals.latency.p999), 0, 0},
	{"p9999_ns", MSG_U64, offsetof(struct result, arrivals.latency.p9999), 0, 0},
	{"max_ns", MSG_U64, offsetof(struct result, arrivals.latency.max), 0, 0},
	{"delay", MSG_U64S, offsetof(struct result, arrivals.delay), HIST_QUARTERS, 0},
	{"jitter_ns", MSG_U64, offsetof(struct result, arrivals.jitter_ns), 0, 0},
	{"negative", MSG_U64, offsetof(struct result, arrivals.negative), 0, 0},
	{"flows_more", MSG_U64, offsetof(struct result, arrivals.flows_more), 0, 0},
	{0},
};

const struct msg_field msg_flow[] = {
	ROW(arrivals_flow, MSG_U16, stream),
	TEXT(arrivals_flow, source),
	ROW(arrivals_flow, MSG_U64, delivered),
	ROW(arrivals_flow, MSG_U64, bytes),
	ROW(arrivals_flow, MSG_U64, duplicated),
	{"reordered", MSG_U64, offsetof(struct arrivals_flow, order.packets), 0, 0},
	{"extent_max", MSG_U64, offsetof(struct arrivals_flow, order.extent_max), 0, 0},
	ROW(arrivals_flow, MSG_U64, jitter_ns),
	ROW(arrivals_flow, MSG_U64, negative),
	{"measured", MSG_BOOL, offsetof(struct arrivals_flow, latency.measured), 0, 0},
	{"min_ns", MSG_U64, offsetof(struct arrivals_flow, latency.min), 0, 0},
	{"p50_ns", MSG_U64, offsetof(struct arrivals_flow, latency.p50), 0, 0},
	{"p90_ns", MSG_U64, offsetof(struct arrivals_flow, latency.p90), 0, 0},
	{"p99_ns", MSG_U64, offsetof(struct arrivals_flow, latency.p99), 0, 0},
	{"p999_ns", MSG_U64, offsetof(struct arrivals_flow, latency.p999), 0, 0},
	{"p9999_ns", MSG_U64, offsetof(struct arrivals_flow, latency.p9999), 0, 0},
	{"max_ns", MSG_U64, offsetof(struct arrivals_flow, latency.max), 0, 0},
	{0},
};
