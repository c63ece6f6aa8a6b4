// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "diagnosis/reader.h"
#include "diagnosis/judge.h"

#define FULL_SHARE	0.5 /* fraction of the buffer from which the reader is behind */
#define UDP_MEM_USED_UP 0.95

static uint64_t moved(const struct facts *f, const char *name4, const char *name6)
{
	return facts_moved(f, FACTS_HERE, name4) + facts_moved(f, FACTS_HERE, name6);
}

#define UNCOUNTED 10 /* packets that may arrive between two readings */

/*
 * Returns the stage of a socket's drops. A socket counts all its drops in one number (sk_drops), so
 * the namespace's counters of the same time tell the stage: the largest, if several increased.
 */
static enum stage stage_of_drops(const struct facts *f, const struct facts_sock *sock)
{
	uint64_t errors = moved(f, "Udp:InErrors", "Udp6InErrors");
	uint64_t full = moved(f, "Udp:RcvbufErrors", "Udp6RcvbufErrors");
	uint64_t memory = moved(f, "Udp:MemErrors", "Udp6MemErrors");
	uint64_t checksum = moved(f, "Udp:InCsumErrors", "Udp6InCsumErrors");
	const struct facts_stack *s = &f->stack;
	bool used_up =
		s->udp_mem[2] && (double)s->udp_pages >= UDP_MEM_USED_UP * (double)s->udp_mem[2];
	uint64_t rest = counter_grown(full + memory + checksum, errors);

	if (full && full >= memory && full >= checksum && full >= rest)
		return STAGE_RCVBUF;
	/*
	 * Newer kernels do not count it, and count everything else (__udp_enqueue_schedule_skb()).
	 */
	if (memory > checksum || (!errors && (used_up || sock->lost >= UNCOUNTED)))
		return STAGE_UDP_MEM;
	if (checksum && checksum >= rest)
		return STAGE_UDP_CSUM;
	return rest ? STAGE_SOCKET_FILTER : STAGE_RCVBUF;
}

const char *judge_process(const struct facts_sock *s, char buf[PROCESS_SIZE])
{
	if (!s->pid && !s->holders)
		return "an unknown process";
	if (s->pid)
		snprintf(buf, PROCESS_SIZE, "%s (%d)", s->process, (int)s->pid);
	else
		snprintf(buf, PROCESS_SIZE, "one of %u processes", s->holders);
	return buf;
}

/*
 * Returns whether the reader was behind at both times, by more than one packet of a small buffer.
 */
static bool filling(const struct facts_sock *s)
{
	return s->rcvbuf && (double)s->queued > FULL_SHARE * (double)s->rcvbuf &&
	       (double)s->queued_before > FULL_SHARE * (double)s->rcvbuf;
}

/*
 * Sets the rates. They belong to one socket only if its reads are counted, or no other socket
 * reads.
 */
static void put_rates(const struct facts *f, const struct facts_sock *s, struct finding_facts *facts)
{
	const uint64_t all = moved(f, "Udp:InDatagrams", "Udp6InDatagrams");
	const uint64_t read = s->reads_known ? s->reads : all;
	const double seconds = (double)f->window_ns * 1e-9;

	/* before Linux 6.3 reads are not counted */
	if (s->young || (!s->reads_known && f->socks.all != 1) || seconds <= 0)
		return;
	facts->read_pps = (double)read / seconds;
	facts->arrival_pps = (double)(read + s->lost) / seconds;
}

static void judge_sock(const struct facts *f, struct check_findings *out,
		       const struct facts_sock *s)
{
	const enum stage stage = s->lost ? stage_of_drops(f, s) : STAGE_RCVBUF;
	char subject[32], process[PROCESS_SIZE], reader[READING_TEXT];
	const struct about about = {.scope = CHECK_SOCKET, .subject = subject, .lost = s->lost};
	struct finding_facts facts = {
		.total = s->drops,
		.since = "it was opened",
		.process = judge_process(s, process),
		.port = s->port,
		.page_bytes = f->stack.page_bytes,
		.udp_pages_known = true,
		.udp_pages = f->stack.udp_pages,
	};

	if (!s->lost && !filling(s))
		return;
	snprintf(subject, sizeof(subject), "port %u", s->port);
	memcpy(facts.udp_mem, f->stack.udp_mem, sizeof(facts.udp_mem));
	if (stage == STAGE_RCVBUF) {
		facts.queue_seen = s->rcvbuf;
		facts.queued = s->queued;
		facts.queued_before = s->queued_before;
		facts.rcvbuf = s->rcvbuf;
		facts.rmem_max = f->stack.rmem_max;
		facts.rmem_default = f->stack.rmem_default;
		facts.truesize = s->truesize;
		put_rates(f, s, &facts);
		if (s->reading.window_ns)
			reading_describe(&s->reading, reader, &facts);
	}
	for (unsigned i = 0; i < f->n_links && stage == STAGE_UDP_CSUM; i++) {
		if (f->link[i].dev.link.tunnel_port == s->port)
			facts.tunnel = f->link[i].dev.link.ifname;
	}
	judge_add(out, f, stage, about, &facts);
}

void judge_socks(const struct facts *f, struct check_findings *out)
{
	uint64_t full = moved(f, "Udp:RcvbufErrors", "Udp6RcvbufErrors"), listed = 0;
	struct finding_facts facts = {.counter = "Udp:RcvbufErrors"};

	for (unsigned i = 0; i < f->socks.n; i++) {
		judge_sock(f, out, &f->socks.at[i]);
		listed += f->socks.at[i].lost;
	}
	/*
	 * Sockets outside of the list: closed since, or too many. The two counts are not read at
	 * the same time.
	 */
	if (!f->port && !f->pid && full > listed + listed / 10)
		judge_add(out, f, STAGE_RCVBUF,
			  (struct about){.scope = CHECK_NAMESPACE, .lost = full - listed}, &facts);
	if (f->port && !f->socks.n && !f->socks.more) {
		struct finding_facts closed = {
			.port_closed = true,
			.port = f->port,
			/* for any port: the counter covers the namespace */
			.refused = moved(f, "Udp:NoPorts", "Udp6NoPorts"),
		};

		judge_add(out, f, STAGE_UDP_LOOKUP,
			  (struct about){.scope = CHECK_NAMESPACE, .asked = true}, &closed);
	}
}
