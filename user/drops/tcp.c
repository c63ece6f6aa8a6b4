// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/tcp.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drops/balance.h"
#include "drops/cause.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/num.h"
#include "base/mem.h"
#include "host/load.h"
#include "tcp.skel.h"
#include "tcp_old.skel.h"

/* How often, and at what interval, a locked socket is read again. */
#define PASSES	50
#define PASS_NS 10000000

struct tcp_observer {
	struct tcp_bpf *skel;
	struct tcp_spec spec;
	struct tcp_ledger *ledger;
	struct trail *trail; /* NULL: not recorded */
	struct ring_buffer *ring;
	struct list spaces; /* uint32_t: namespaces of the flow's sockets */
	struct cause_judge causes;
	bool has_err;	   /* the tracepoint also reports failed retransmissions */
	int comes, leaves; /* links of tcp_comes and tcp_leaves, or -1; see keep_attached() */
};

#define SOCKETS 4 /* per flow, if the kernel does not report which socket dropped the packet */

/* Maximum records per flow in the ring at the same time. */
#define RING_FLOW 512
#define RING_MOST (256u << 20)

static int configure(struct tcp_observer *o, struct error *err)
{
	static const char *const merged[] = {"TCP_OFO_QUEUE_PRUNE", "TCP_OFOMERGE", "TCP_OFO_DROP"};
	struct tcp_config *cfg = (void *)&o->skel->rodata->cfg;
	struct trace_kfree *kernel = (void *)&o->skel->rodata->kernel;
	uint8_t role[LINK_KINDS];
	uint32_t ring = TCP_RING;
	int rc;

	/* inside: also bridges, the first stacked kind */
	for (unsigned i = 0; i < LINK_KINDS; i++)
		role[i] = i > LINK_KINDS_INSIDE || (o->spec.netns && i < LINK_KINDS_BETWEEN)
				  ? TCP_ROLE_EDGE
				  : TCP_ROLE_INSIDE;
	link_kinds_fill((void *)o->skel->rodata->link_kinds, role);
	cfg->netns = o->spec.netns;
	cfg->has_err = o->has_err;
	bpf_program__set_autoload(o->skel->progs.tcp_failed, !o->has_err);
	bpf_program__set_autoload(o->skel->progs.tcp_failed_outside, !o->has_err);
	cfg->trail = o->spec.trail;
	bpf_program__set_autoload(o->skel->progs.tcp_enters, o->spec.trail);
	if (!o->spec.trail)
		bpf_map__set_max_entries(o->skel->maps.entries, 1);
	for (unsigned i = 0; i < LENGTH(merged); i++)
		cfg->reason_merged[i] = reasons_value(o->spec.reasons, merged[i]);
	while (ring < RING_MOST && ring / RING_FLOW < o->spec.flows)
		ring *= 2;
	bpf_map__set_max_entries(o->skel->maps.records, ring);
	rc = reasons_kfree(o->spec.reasons, kernel, err);
	if (!rc && !kernel->has_rx_sk)
		rc = bpf_map__set_max_entries(o->skel->maps.receivers, SOCKETS * o->spec.flows);
	return rc;
}

static enum tcp_drop drop_is(const struct judged_cause *c)
{
	if (stagemap_listed("TCP_OLD_DATA TCP_OFOMERGE TCP_OLD_SEQUENCE TCP_OFO_DROP", c->reason))
		return TCP_DROP_TWICE;
	if (c->verdict.class != CLASS_LOSS && c->verdict.class != CLASS_SUSPECTED)
		return TCP_DROP_NOTHING;
	return c->verdict.class == CLASS_SUSPECTED && (c->verdict.stage == STAGE_TCP ||
					     c->verdict.stage == STAGE_TCP_STATE)
		       ? TCP_DROP_UNSURE
		       : TCP_DROP_LOSS;
}

static enum tcp_drop judge(void *arg, const struct watch_key *key, enum stage *stage, bool *outside)
{
	struct tcp_observer *o = arg;
	const struct judged_cause *c = cause_judge(&o->causes, key);

	*stage = c->verdict.stage;
	*outside = drop_arrives(c);
	return drop_is(c);
}

static void add_record(struct tcp_observer *o, const struct tcp_record *r)
{
	if (r->netns && !list_find(&o->spaces, 0, &r->netns, sizeof(r->netns)))
		*(uint32_t *)list_add(&o->spaces) = r->netns;
	tcp_ledger_add(o->ledger, r);
}

static int on_record(void *arg, void *data, size_t size)
{
	(void)size;
	add_record(arg, data);
	return 0;
}

/* Processed after all earlier events for the socket. */
static void on_left(void *arg, const void *record)
{
	struct tcp_observer *o = arg;

	ring_buffer__consume(o->ring);
	add_record(o, record);
}

/* `kfuncs`: use the kernel functions in bpf/skb.bpf.h. */
static int load(struct tcp_observer *o, bool kfuncs, struct error *err)
{
	int rc;

	o->skel = mem_new(o->skel);
	rc = tcp_bpf__create_skeleton(o->skel);
	if (!rc)
		rc = trace_open(o->skel->skeleton, kfuncs ? NULL : tcp_old_bpf__elf_bytes);
	if (!rc)
		rc = configure(o, err);
	if (!rc)
		rc = filter_install(o->spec.filter, o->skel->obj, err);
	if (!rc)
		rc = tcp_bpf__load(o->skel);
	if (!rc)
		return 0;
	tcp_bpf__destroy(o->skel);
	o->skel = NULL;
	return rc;
}

/* Reports an error, because there is no other way to detect failed retransmissions. */
static int no_fexit(struct error *err, int rc)
{
	return error_set(err, STATUS_UNABLE, rc, "use trace without --balance, which shows drops "
						 "only",
			 "--balance of TCP needs Linux 6.17, or before that fexit on "
			 "__tcp_retransmit_skb: this kernel does not report which "
			 "retransmissions failed (tcp:tcp_retransmit_skb without err)");
}

int tcp_observer_open(struct tcp_observer **out, const struct tcp_spec *spec, struct error *err)
{
	const bool has_err = reasons_tracepoint_args(spec->reasons, "tcp_retransmit_skb") >= 3;
	struct tcp_observer *o;
	int rc;

	if (reasons_tracepoint_args(spec->reasons, "kfree_skb") < 3)
		return error_set(err, STATUS_UNABLE, -ENOENT,
				 "trace without --balance shows where packets are dropped",
				 "--balance of TCP needs Linux 5.17: this kernel does not report "
				 "why a packet is dropped (skb:kfree_skb without reason)");
	if (!has_err && !reasons_has_function(spec->reasons, "__tcp_retransmit_skb"))
		return no_fexit(err, -ENOENT);
	o = mem_new(o);
	o->comes = o->leaves = -1;
	o->spec = *spec;
	o->causes.reasons = spec->reasons;
	o->causes.ksyms = spec->ksyms;
	o->spaces.size = sizeof(uint32_t);
	o->has_err = has_err;
	o->ledger = tcp_ledger_new(spec->flows, judge, o);
	o->trail = spec->trail ? trail_new() : NULL;
	tcp_ledger_keep(o->ledger, o->trail);
	rc = load(o, true, err);
	if (trace_load_again(rc)) /* Linux before 6.2 */
		rc = load(o, false, err);
	if (!rc) {
		o->ring = ring_buffer__new(bpf_map__fd(o->skel->maps.records), on_record, o, NULL);
		rc = o->ring ? 0 : -errno;
	}
	if (rc) {
		tcp_observer_close(o);
		return trace_load_error(err, rc);
	}
	*out = o;
	return 0;
}

static void detach(struct bpf_link **link)
{
	bpf_link__destroy(*link);
	*link = NULL;
}

/*
 * Runs an iterator until it finds no locked socket. Sockets that stay locked are read anyway and
 * marked as torn.
 */
static int all_sockets(struct tcp_observer *o, const struct bpf_link *iterator, size_t size,
		       trace_each *each)
{
	int rc = 0;

	for (unsigned i = 0; i < PASSES && !rc; i++) {
		o->skel->bss->busy = 0;
		o->skel->bss->take_busy = i + 1 == PASSES;
		rc = trace_iterate(iterator, size, each, o);
		if (!o->skel->bss->busy)
			break;
		clock_sleep(PASS_NS);
	}
	return rc;
}

int tcp_observer_attach(struct tcp_observer *o, const struct trace_places *places,
			struct error *err)
{
	struct tcp_bpf *s = o->skel;
	int rc = 0;

	if (!o->has_err) {
		s->links.tcp_failed = bpf_program__attach(s->progs.tcp_failed);
		if (!s->links.tcp_failed)
			return no_fexit(err, -errno);
	}
	s->bss->places = *places;
	s->links.tcp_left = trace_attach_iter(s->progs.tcp_left, s->maps.sockets);
	if (!s->links.tcp_left)
		rc = -errno;
	/* first, because a retransmission may repeat a segment dropped just before it */
	s->links.tcp_drop = bpf_program__attach(s->progs.tcp_drop);
	if (!s->links.tcp_drop)
		rc = -errno;
	bpf_program__set_autoattach(s->progs.tcp_comes, false);
	bpf_program__set_autoattach(s->progs.tcp_leaves, false);
	if (!rc)
		rc = tcp_bpf__attach(s);
	s->bss->begun = 1;
	if (!rc)
		rc = all_sockets(o, s->links.tcp_files, 1, NULL);
	return trace_load_error(err, rc);
}

/*
 * Keeps programs that run for every packet attached as long as a packet may arrive again or leave.
 * Earlier arrivals can be told from rcv_nxt, but without their time. Attaching a loaded program
 * needs no capability (bpf_tracing_prog_attach()). libbpf is not used here, because it uses a kind
 * of link that could attach anything and is blocked by now (caps_bar_calls()).
 */
static void keep_attached(int *link, const struct bpf_program *prog, uint64_t until)
{
	bool wanted = ktime_now() < until;

	if (wanted && *link < 0)
		*link = bpf_raw_tracepoint_open(NULL, bpf_program__fd(prog));
	else if (!wanted)
		fd_close(link);
}

static int read_ring(struct tcp_observer *o)
{
	int rc = ring_buffer__consume(o->ring);

	tcp_ledger_lost(o->ledger, tcp_observer_losses(o).unranged);
	return rc < 0 ? rc : 0;
}

int tcp_observer_poll(struct tcp_observer *o)
{
	struct tcp_bpf *s = o->skel;

	keep_attached(&o->comes, s->progs.tcp_comes, s->bss->holes_until);
	keep_attached(&o->leaves, s->progs.tcp_leaves, s->bss->exits_until);
	return read_ring(o);
}

/* Reads each flow's final position at the entry. */
static void read_entries(struct tcp_observer *o)
{
	int fd = bpf_map__fd(o->skel->maps.entries);
	struct watch_flow key, *last = NULL;
	struct tcp_entry entry;

	while (o->trail && !bpf_map_get_next_key(fd, last, &key)) {
		uint32_t flow = trail_make(o->trail, &key, false);
		struct trail_flow *f = flow == TRAIL_NONE ? NULL : trail_flow(o->trail, flow);

		last = &key;
		if (!f || bpf_map_lookup_elem(fd, &key, &entry))
			continue;
		f->first = entry.first;
		f->next = entry.next;
		f->came = entry.segs;
		f->begun = entry.begun;
		f->ttl = entry.ttl;
		f->known = true;
	}
}

static void read_exits(struct tcp_observer *o)
{
	int fd = bpf_map__fd(o->skel->maps.exits);
	struct watch_flow key, *last = NULL;
	struct tcp_exit exit;

	while (!bpf_map_get_next_key(fd, last, &key)) {
		last = &key;
		if (!bpf_map_lookup_elem(fd, &key, &exit) && exit.ifindex)
			tcp_ledger_exit(o->ledger, &key, &exit);
	}
}

int tcp_observer_look(struct tcp_observer *o)
{
	struct tcp_bpf *s = o->skel;
	int rc;

	s->bss->looking = 1;
	rc = trace_iterate(s->links.tcp_left, sizeof(struct tcp_record), on_left, o);
	s->bss->looking = 0;
	if (!rc)
		rc = read_ring(o);
	read_exits(o);
	return rc;
}

int tcp_observer_end(struct tcp_observer *o)
{
	struct tcp_bpf *s = o->skel;
	int rc;

	/* from here on no new sockets are recorded */
	detach(&s->links.tcp_state);
	rc = read_ring(o);
	if (!rc)
		rc = all_sockets(o, s->links.tcp_left, sizeof(struct tcp_record), on_left);
	/* twins first, because they would treat all events as missed by their programs */
	detach(&s->links.tcp_drop_again);
	detach(&s->links.tcp_retransmit_again);
	tcp_bpf__detach(s);
	fd_close(&o->comes);
	fd_close(&o->leaves);
	if (!rc)
		rc = read_ring(o);
	read_exits(o);
	read_entries(o);
	return rc;
}

struct trail *tcp_observer_trail(const struct tcp_observer *o)
{
	return o->trail;
}

struct tcp_ledger *tcp_observer_ledger(const struct tcp_observer *o)
{
	return o->ledger;
}

struct tcp_losses tcp_observer_losses(const struct tcp_observer *o)
{
	struct tcp_losses sum;
	const uint32_t zero = 0;

	trace_sum(o->skel->maps.losses, &zero, &sum, sizeof(sum));
	return sum;
}

bool tcp_observer_has(const struct tcp_observer *o, uint32_t netns)
{
	return list_find(&o->spaces, 0, &netns, sizeof(netns));
}

struct tcp_counted tcp_observer_counted(const struct tcp_observer *o, uint32_t netns)
{
	struct tcp_counted c;

	if (bpf_map_lookup_elem(bpf_map__fd(o->skel->maps.counted), &netns, &c))
		memset(&c, 0, sizeof(c));
	return c;
}

uint64_t tcp_observer_bytes(const struct tcp_observer *o)
{
	return tcp_ledger_bytes(o->ledger) + bpfmaps_bytes_of(o->skel->obj);
}

uint64_t tcp_observer_missed(const struct tcp_observer *o)
{
	struct bpf_program *prog;
	const uint64_t nested = o->skel->bss->nested;
	uint64_t sum = 0;

	bpf_object__for_each_program(prog, o->skel->obj) sum += trace_misses(prog);
	return sum > nested ? sum - nested : 0;
}

void tcp_observer_close(struct tcp_observer *o)
{
	if (!o)
		return;
	ring_buffer__free(o->ring);
	fd_close(&o->comes);
	fd_close(&o->leaves);
	tcp_bpf__destroy(o->skel);
	tcp_ledger_free(o->ledger);
	trail_free(o->trail);
	list_free(&o->spaces);
	free(o);
}
