// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/balance.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "balance.skel.h"
#include "balance_old.skel.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"
#include "host/load.h"
#include "trace_abi.h"

#define CELLS_BYTES (BALANCE_CELLS * sizeof(struct balance_cell))

#define MS 1000000ULL

#define BEGIN_NS   (250 * MS)  /* time to look for a moment at which to begin */
#define BEGIN_MOST (2000 * MS) /* the same, if no moment is certain by then */
#define QUIET_NS   (200 * MS)  /* the flow has ended if nothing arrives for this long */
#define BUSY_NS	   (500 * MS)  /* minimum time to sample an ongoing flow */
#define SOCKETS_NS (50 * MS)   /* interval between two searches for sockets */
#define LOOKS_MIN  20 /* consistent snapshots needed before an ongoing flow is called balanced */
/*
 * Number of snapshots that must find equally few datagrams in transit, with packets read in
 * between. In a flood, one snapshot in three may find a datagram that a softirq is about to queue,
 * so a few such snapshots in a row prove nothing.
 */
#define FIRM_MIN 10

struct balance {
	struct balance_bpf *skel;
	struct balance_spec spec;
	struct balance_cell *cells; /* mapped */
	bool names_sources;	    /* programs at cgroup/recvmsg4 and 6 report sources of reads */
	bool by_functions;	    /* reads are traced where udp_recvmsg() returns */
	struct cause_judge causes;
	unsigned known; /* number of causes present in `meaning` */
	struct meaning {
		bool known, sure, suspected;
		enum balance_side side;
	} meaning[BALANCE_CAUSES];
	uint64_t flipped; /* drops when spec.chosen was last called */
	int cgroup[2];	  /* links of the programs that report sources; -1: not attached */
};

/* Which side a drop is on */

/* Hooks that packets pass when they are sent or forwarded. */
#define HOOKS_SENDING                                                                              \
	(1U << HOOK_OUTPUT | 1U << HOOK_POSTROUTING | 1U << HOOK_EGRESS |                          \
	 1U << HOOK_BRIDGE_OUTPUT | 1U << HOOK_BRIDGE_POSTROUTING | 1U << HOOK_ARP_OUTPUT)

static enum path_phase phase_of(const struct verdict *v, const char *location)
{
	switch (v->stage) {
	case STAGE_TX_DEVICE: /* rx: a process wrote it to tun, which rejected it */
		return v->direction == DIRECTION_RX ? PHASE_ARRIVING : PHASE_QUEUED;
	case STAGE_TUNNEL:
		return v->direction == DIRECTION_TX ? PHASE_QUEUED : PHASE_RECEIVED;
	case STAGE_XDP:
	case STAGE_XSK:
		/*
		 * in skb mode after netif_receive_skb (__netif_receive_skb_core), otherwise before
		 */
		return stagemap_listed("do_xdp_generic *generic_xdp* *do_generic_redirect*",
				       location)
			       ? PHASE_RECEIVED
			       : PHASE_ARRIVING;
	case STAGE_GSO: /* udp_rcv_segment(), or validate_xmit_skb() */
		return stagemap_listed("udp*", location) ? PHASE_RECEIVED : PHASE_QUEUED;
	case STAGE_NETFILTER:
		return 1U << v->hook & HOOKS_SENDING ? PHASE_SENDING : PHASE_RECEIVED;
	default:
		return v->stage < STAGE_COUNT ? stage_facts[v->stage].phase : PHASE_RECEIVED;
	}
}

bool drop_arrives(const struct judged_cause *c)
{
	return phase_of(&c->verdict, c->location) == PHASE_ARRIVING;
}

/* `before`: the packet had not entered before it was sent. */
static enum balance_side side_of_phase(enum path_phase phase, enum balance_role role, bool before,
				       bool *sure)
{
	enum balance_side if_before = before ? SIDE_OUTSIDE : SIDE_INSIDE;

	switch (phase) {
	case PHASE_ARRIVING:
		return role == ROLE_EDGE ? SIDE_OUTSIDE : SIDE_INSIDE;
	case PHASE_SENDING:
		return if_before;
	case PHASE_QUEUED:
		if (role == ROLE_STACKED)
			return if_before;
		return role == ROLE_EDGE ? SIDE_OUTSIDE : SIDE_INSIDE;
	case PHASE_UNKNOWN:
		*sure = role != ROLE_EDGE && !before;
		return SIDE_INSIDE;
	default:
		return SIDE_INSIDE;
	}
}

enum balance_side side_of(const struct judged_cause *c, const struct balance_cause *key, bool *sure)
{
	enum balance_side side = SIDE_NONE;
	enum path_phase phase;
	bool before;

	*sure = true;
	if (c->verdict.class == CLASS_NONE || c->verdict.class == CLASS_COPY)
		return side;
	phase = phase_of(&c->verdict, c->location);
	before = !(key->flags & BALANCE_ENTERED) && key->flags & (BALANCE_OWN | BALANCE_RENAMED);
	side = side_of_phase(phase, key->role, before, sure);
	if (side == SIDE_INSIDE && key->flags & BALANCE_RENAMED && phase == PHASE_RECEIVED)
		side = SIDE_OUTSIDE;
	if (side == SIDE_INSIDE && c->verdict.class == CLASS_EXPECTED)
		return SIDE_EXPECTED;
	if (c->verdict.class == CLASS_EXPECTED)
		return SIDE_NONE;
	if (c->verdict.stage == STAGE_IP_FRAG && key->flags & BALANCE_INCOMPLETE)
		return SIDE_BEFORE;
	return side;
}

/* Loading */

void link_kinds_fill(struct link_kind *kinds, const uint8_t role[LINK_KINDS])
{
	static const char *const names[LINK_KINDS] = {
		"veth",	     "netkit", "macvlan", "ipvlan", "vrf", /* inside */
		"bridge",    "vlan",   "bond",	  "team",   "ifb", /* stacked */
		"vxlan",     "geneve", "gre",	  "gretap", "ip6gre",
		"ip6gretap", "ipip",   "sit",	  "ip6tnl",
	};

	for (unsigned i = 0; i < LINK_KINDS; i++) {
		const size_t size = sizeof(kinds[i].is.name);

		/* includes the NUL unless it is a unique prefix of a long name */
		snprintf(kinds[i].is.name, size, "%s", names[i]);
		memset(kinds[i].mask.name, 0xff,
		       strlen(names[i]) < size ? strlen(names[i]) + 1 : size - 1);
		kinds[i].role = role[i];
	}
}

static uint8_t role_of_kind(const struct balance_spec *spec, unsigned kind)
{
	if (kind >= LINK_KINDS_HOST)
		return spec->inner ? ROLE_STACKED : ROLE_EDGE;
	if (kind >= LINK_KINDS_INSIDE)
		return ROLE_STACKED;
	return spec->netns && kind < LINK_KINDS_BETWEEN ? ROLE_EDGE : ROLE_INSIDE;
}

static int configure(struct balance *b, bool paged, bool kfuncs, struct error *err)
{
	const struct balance_numbering *n = &b->spec.numbering;
	struct balance_config *cfg = (void *)&b->skel->rodata->cfg;
	uint8_t role[LINK_KINDS];

	cfg->cpus = trace_cpus();
	cfg->netns = b->spec.netns;
	cfg->paged = paged;
	cfg->frames = filter_l3_refusal(b->spec.filter) != NULL;
	b->skel->rodata->nat_followed = b->spec.nat && kfuncs;
	if (b->spec.inner)
		b->skel->rodata->inner = *b->spec.inner;
	cfg->numbers = (uint8_t)n->kind;
	cfg->offset = (uint16_t)n->offset; /* RTP: 0 */
	cfg->bytes = (uint16_t)(n->kind == NUMBERS_RTP ? BALANCE_NUMBER : n->bytes);
	if (n->kind != NUMBERS_NONE)
		cfg->rule = n->kind == NUMBERS_RTP ? sequence_rule_of(16, 1)
						   : sequence_rule_of(8 * n->bytes, n->step);
	if (b->spec.consumed)
		consumed_ranges(b->spec.ksyms, cfg->consumed);
	for (unsigned i = 0; i < LINK_KINDS; i++)
		role[i] = role_of_kind(&b->spec, i);
	link_kinds_fill((void *)b->skel->rodata->link_kinds, role);
	bpf_map__set_max_entries(b->skel->maps.tallies, cfg->cpus);
	bpf_map__set_autocreate(b->skel->maps.fragments, false);
	bpf_map__set_autocreate(b->skel->maps.fragment_counts, false);
	bpf_program__set_autoload(b->skel->progs.balance_from4, b->names_sources);
	bpf_program__set_autoload(b->skel->progs.balance_from6, b->names_sources);
	bpf_program__set_autoattach(b->skel->progs.balance_from4, false);
	bpf_program__set_autoattach(b->skel->progs.balance_from6, false);
	bpf_program__set_autoload(b->skel->progs.balance_used, b->spec.consumed);
	bpf_program__set_autoload(b->skel->progs.balance_read, !b->by_functions);
	bpf_program__set_autoload(b->skel->progs.balance_read4, b->by_functions);
	bpf_program__set_autoload(b->skel->progs.balance_read6, b->by_functions);
	nat_prepare(kfuncs ? b->spec.nat : NULL, b->skel->progs.balance_names);
	if (n->kind != NUMBERS_NONE)
		bpf_map__set_max_entries(b->skel->maps.streams, BALANCE_STREAMS);
	return reasons_kfree(b->spec.reasons, (void *)&b->skel->rodata->kernel, err);
}

/* `paged`: also read numbers in pages. `kfuncs`: use the kernel functions in bpf/skb.bpf.h. */
static int load(struct balance *b, bool paged, bool kfuncs, struct error *err)
{
	int rc;

	b->skel = mem_new(b->skel);
	rc = balance_bpf__create_skeleton(b->skel);
	if (!rc)
		rc = trace_open(b->skel->skeleton, kfuncs ? NULL : balance_old_bpf__elf_bytes);
	if (!rc)
		rc = configure(b, paged, kfuncs, err);
	if (!rc)
		rc = bpf_map__set_max_entries(b->skel->maps.followed, FOLLOWED_MAX);
	if (!rc)
		rc = bpf_map__set_max_entries(b->skel->maps.overtaken, FOLLOWED_MAX);
	if (!rc)
		rc = bpf_map__set_max_entries(b->skel->maps.renamed, b->spec.nat ? NAT_RENAMED : 1);
	if (!rc && b->spec.watch)
		rc = watch_share(b->spec.watch, b->skel->obj, "balance_drop",
				 (void *)&b->skel->rodata->watch_cfg);
	if (!rc)
		rc = filter_install(b->spec.filter, b->skel->obj, err);
	if (!rc)
		rc = balance_bpf__load(b->skel);
	if (!rc)
		return 0;
	balance_bpf__destroy(b->skel);
	b->skel = NULL;
	return rc;
}

/*
 * Before Linux 6.3 the usual reason is that ftrace is missing (CONFIG_FUNCTION_TRACER) or that
 * fexit is forbidden. A general lack of permission is ruled out, because the trace programs are
 * loaded before these and were permitted.
 */
static int load_error(const struct balance *b, struct error *err, int rc)
{
	if (!b->by_functions || !(rc == -EPERM || trace_load_again(rc)))
		return trace_load_error(err, rc);
	return error_set(err, STATUS_UNABLE, rc, "use trace without --balance, which shows drops "
						 "only",
			 "--balance needs Linux 6.3, or before that fexit on udp_recvmsg: this "
			 "kernel does not report what sockets read");
}

int balance_open(struct balance **out, const struct balance_spec *spec, struct error *err)
{
	const bool numbered = spec->numbering.kind != NUMBERS_NONE;
	struct balance *b;
	int rc;

	b = mem_new(b);
	b->spec = *spec;
	b->causes.reasons = spec->reasons;
	b->causes.ksyms = spec->ksyms;
	b->names_sources = true;
	b->cgroup[0] = b->cgroup[1] = -1;
	b->by_functions = reasons_tracepoint_args(spec->reasons, "sock_recv_length") < 0;
	rc = load(b, numbered, true, err);
	if (trace_load_again(rc) && numbered) /* Linux before 6.12 */
		rc = load(b, false, true, err);
	if (trace_load_again(rc)) /* before 6.2 */
		rc = load(b, false, false, err);
	if (trace_load_again(rc)) { /* or a kernel without CONFIG_CGROUP_BPF */
		b->names_sources = false;
		rc = load(b, false, false, err);
	}
	if (!rc) {
		b->cells = trace_map(b->skel->maps.cells, CELLS_BYTES);
		rc = b->cells ? 0 : -errno;
	}
	if (rc) {
		load_error(b, err, rc);
		balance_close(b);
		return rc;
	}
	*out = b;
	return 0;
}

/* Judges the causes that are new since the last call. */
static void judge_causes(struct balance *b)
{
	int fd = bpf_map__fd(b->skel->maps.causes);
	struct balance_cause key, *prev = NULL;
	uint32_t index, known = b->skel->bss->cause_next;

	if (known == b->known)
		return;
	while (!bpf_map_get_next_key(fd, prev, &key)) {
		const struct judged_cause *c;
		struct meaning *m;

		prev = &key;
		if (bpf_map_lookup_elem(fd, &key, &index) || index >= BALANCE_CAUSES ||
		    b->meaning[index].known)
			continue;
		c = cause_judge(&b->causes, &key.key);
		m = &b->meaning[index];
		m->side = side_of(c, &key, &m->sure);
		m->suspected = c->verdict.class == CLASS_SUSPECTED;
		m->known = true;
	}
	b->known = known;
}

/* Returns false if a cause is not known yet. */
static bool judge_drops(const struct balance *b, struct balance_moment *m)
{
	bool known = true;

	memset(m->dropped, 0, sizeof(m->dropped));
	memset(m->suspected, 0, sizeof(m->suspected));
	for (unsigned i = 0; i < BALANCE_CAUSES; i++) {
		const struct meaning *of = &b->meaning[i];

		known &= of->known || !m->sum.dropped[i];
		if (of->suspected)
			m->suspected[of->side] += m->sum.dropped[i];
		else if (of->known)
			m->dropped[of->side] += m->sum.dropped[i];
	}
	return known;
}

uint64_t balance_misses(const struct balance *b)
{
	struct bpf_program *prog;
	uint64_t sum = 0;

	bpf_object__for_each_program(prog, b->skel->obj)
	{
		if (bpf_program__type(prog) == BPF_PROG_TYPE_TRACING &&
		    bpf_program__expected_attach_type(prog) != BPF_TRACE_ITER)
			sum += trace_misses(prog); /* only missed runs of the probes */
	}
	return sum;
}

/*
 * Attaches the programs that report sources, for all processes, at the root of the hierarchy. If
 * that is not possible, reads from a port where other flows also arrive stay inconclusive.
 */
static void name_sources(struct balance *b)
{
	const struct bpf_program *const progs[] = {b->skel->progs.balance_from4,
						   b->skel->progs.balance_from6};
	static const char *const roots[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
	int root = -1;

	for (unsigned i = 0; b->names_sources && i < LENGTH(roots); i++) {
		if (root < 0)
			root = open(roots[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		for (unsigned p = 0; root >= 0 && p < LENGTH(progs); p++)
			b->cgroup[p] = bpf_link_create(
				bpf_program__fd(progs[p]), root,
				bpf_program__expected_attach_type(progs[p]), NULL);
		if (root >= 0 && b->cgroup[0] < 0)
			fd_close(&root);
	}
	if (root >= 0)
		fd_close(&root);
}

int balance_attach(struct balance *b, const struct trace_places *places, struct error *err)
{
	struct balance_bpf *s = b->skel;
	int rc = 0;

	s->bss->places = *places;
	s->links.balance_looks = trace_attach_iter(s->progs.balance_looks, s->maps.sockets);
	s->links.balance_unread = trace_attach_iter(s->progs.balance_unread, s->maps.sockets);
	/* attach ends before entries, because an entered datagram is in transit until it ends */
	s->links.balance_drop = bpf_program__attach(s->progs.balance_drop);
	if (!s->links.balance_looks || !s->links.balance_unread || !s->links.balance_drop)
		rc = -errno;
	if (!rc)
		rc = balance_bpf__attach(s);
	if (!rc)
		name_sources(b);
	if (!rc && b->spec.nat)
		nat_attach(b->spec.nat, s->progs.balance_names);
	return load_error(b, err, rc);
}

/* Streams */

void balance_read_streams(const struct balance *b, struct balance_streams *sum)
{
	int fd = bpf_map__fd(b->skel->maps.streams);
	struct balance_stream_key key, *prev = NULL;
	struct balance_stream stream;
	const struct sequence *s = &stream.sequence;

	memset(sum, 0, sizeof(*sum));
	while (!bpf_map_get_next_key(fd, prev, &key)) {
		prev = &key;
		if (bpf_map_lookup_elem_flags(fd, &key, &stream, BPF_F_LOCK))
			continue;
		sum->strangers += !s->valid;
		if (!s->valid)
			continue;
		sum->streams++;
		sum->seen += s->total + s->seen;
		sum->missing += sequence_missing(s);
		sum->duplicates += s->duplicates;
		sum->reordered += s->reordered;
		sum->stray += s->stray;
		sum->restarts += s->restarts;
	}
}

unsigned balance_translations(const struct balance *b, struct nat_translation *out, unsigned n)
{
	return nat_read(b->skel->maps.translations, out, n);
}

/* Takes snapshots of all counters and queues, and chooses the moments */

/* `unread`: all sockets with unread data; otherwise only the flow's sockets. */
static int find_sockets(struct balance *b, bool unread)
{
	b->skel->bss->take_unread = unread;
	return trace_iterate(b->skel->links.balance_sockets, 1, NULL, NULL);
}

struct unread {
	struct balance *b;
	uint64_t shown, matched, unseen;
	bool note; /* record the sources of packets that arrived before programs were attached */
};

static void note_arrival(struct balance *b, const struct balance_queued *q, bool ours)
{
	struct balance_cell *cell = &b->cells[q->cell];
	const uint32_t kind = ours ? BALANCE_OURS : BALANCE_OTHERS;
	int fd = bpf_map__fd(b->skel->maps.sources);
	uint32_t known = 0;

	bpf_map_lookup_elem(fd, &q->from, &known);
	known |= kind;
	bpf_map_update_elem(fd, &q->from, &known, BPF_ANY);
	if (!cell->first)
		cell->first = (uint8_t)kind;
	__atomic_fetch_or(&cell->came, kind, __ATOMIC_RELAXED);
	if (cell->came == (BALANCE_OURS | BALANCE_OTHERS))
		b->skel->bss->mixed = 1;
	cell->empty |= !q->payload;
	if (ours)
		b->skel->bss->ports[q->port] = 1;
	if (!q->size) {
		if (cell->single < q->payload)
			cell->single = (uint16_t)q->payload;
		return;
	}
	if (!cell->size_min || cell->size_min > q->size)
		cell->size_min = q->size;
	if (cell->size_max < q->size)
		cell->size_max = q->size;
}

static void take_unread(void *arg, const void *record)
{
	const struct balance_queued *q = record;
	struct unread *u = arg;
	bool ours = filter_match_user(u->b->spec.filter, q->layer, q->bytes, q->have, q->length);

	u->shown++;
	if (q->cell >= BALANCE_CELLS)
		return;
	if (ours)
		u->matched += q->segments;
	if (ours && !(u->b->cells[q->cell].came & BALANCE_OURS))
		u->unseen += q->segments;
	if (u->note)
		note_arrival(u->b, q, ours);
}

/* Reads all packets in the queues of known sockets, a few per queue at a time. */
static int walk_unread(struct unread *u)
{
	struct balance *b = u->b;
	uint64_t before;
	int rc;

	b->skel->bss->unread_from = 0;
	do {
		before = u->shown;
		rc = trace_iterate(b->skel->links.balance_unread, sizeof(struct balance_queued),
				   take_unread, u);
		b->skel->bss->unread_from += BALANCE_CHUNK;
	} while (!rc && u->shown > before);
	return rc;
}

static int look_once(struct balance *b, struct balance_moment *m)
{
	const struct balance_look *look = &b->skel->bss->look;
	int rc;

	b->skel->bss->look_begun = 0;
	rc = trace_iterate(b->skel->links.balance_looks, 1, NULL, NULL);
	m->sum = look->sum;
	m->queued = look->queued;
	m->mixed = look->mixed;
	m->dying = look->dying;
	m->sockets = look->sockets;
	m->moved = look->moved;
	m->time_ns = clock_now();
	return rc;
}

static bool same_counts(const struct balance_moment *a, const struct balance_moment *b)
{
	return !memcmp(&a->sum, &b->sum, sizeof(a->sum));
}

static int look(struct balance *b, struct balance_moment *m)
{
	struct unread u = {.b = b};
	struct balance_moment after;
	int rc;

	rc = look_once(b, m);
	if (!rc && m->mixed) { /* read each packet if the sockets are shared with other flows */
		rc = walk_unread(&u);
		if (!rc)
			rc = look_once(b, &after);
		m->moved |= !rc && (after.moved || !same_counts(m, &after));
		m->queued = u.matched;
	}
	judge_causes(b);
	m->moved |= !rc && !judge_drops(b, m);
	return rc;
}

/* Returns how many datagrams have entered, have not ended, and are not in a known queue. */
static int64_t under_way(const struct balance_moment *m)
{
	const struct balance_tally *t = &m->sum;

	uint64_t ended = t->left + t->delivered + m->queued;

	for (unsigned side = 0; side < SIDES; side++) {
		if (side != SIDE_OUTSIDE && side != SIDE_NONE)
			ended += m->dropped[side] + m->suspected[side];
	}
	return (int64_t)(t->entered - ended);
}

/* The best of many snapshots. */
struct search {
	struct balance_moment best, last;
	uint64_t since, changed, sockets;
	unsigned looks; /* consistent snapshots */
	/*
	 * Prefer the last of equally good moments. Otherwise the first one stays, because it is
	 * just as good, and choosing another one after more drops costs an RCU grace period.
	 */
	bool ends;
	uint64_t lacking, filter_unread; /* at the best moment, like lacking() and the filter's */
	/*
	 * Number of snapshots with as few datagrams in transit as the best one, with packets read
	 * in between. They are needed because a reader may have taken a packet and then lost the
	 * CPU for a long time. If no datagram is in transit, no socket receives the flow and no
	 * packet leaves, there is no such reader and no queue through which packets could leave.
	 */
	unsigned firm;
	uint64_t firm_delivered;
};

/* Lets the owner of these drop counters begin or end at this moment too. */
static void choose(struct balance *b, const struct balance_moment *m)
{
	uint64_t drops = 1; /* so that the first moment differs from the initial state */

	for (unsigned i = 0; i < BALANCE_CAUSES; i++)
		drops += m->sum.dropped[i];
	if (b->spec.chosen && drops != b->flipped)
		b->spec.chosen(b->spec.arg);
	b->flipped = drops;
}

/* Returns the number of datagrams that are waiting for more fragments. */
static uint64_t lacking(const struct balance *b)
{
	int fd = bpf_map__fd(b->skel->maps.followed);
	struct fragment_key key, *prev = NULL;
	struct followed d;
	uint64_t n = 0;

	while (!bpf_map_get_next_key(fd, prev, &key)) {
		prev = &key;
		n += !bpf_map_lookup_elem(fd, &key, &d) && d.flags & FOLLOWED_OURS && d.netns &&
		     !d.lost.when && (!d.bytes || d.passed < d.bytes);
	}
	return n;
}

static void take_rest(const struct balance *b, struct search *s)
{
	s->lacking = lacking(b);
	s->filter_unread = filter_unread(b->skel->obj);
}

static int search_look(struct balance *b, struct search *s)
{
	struct balance_moment m;
	uint64_t now = clock_now();
	int64_t way, best;
	bool better;
	int rc = 0;

	if (now - s->sockets > SOCKETS_NS) {
		rc = find_sockets(b, false);
		s->sockets = now;
	}
	if (!rc)
		rc = look(b, &m);
	if (rc)
		return rc;
	if (m.moved || !same_counts(&m, &s->last))
		s->changed = now;
	s->last = m;
	way = under_way(&m);
	best = under_way(&s->best);
	if (m.moved)
		return 0;
	/* packets in a closed socket's queue are freed with it, seen or not */
	better = !s->looks++ || way < best || m.dying < s->best.dying;
	if (better)
		s->firm = 0;
	else if (way > best)
		return 0;
	if (!s->firm || m.sum.delivered != s->firm_delivered ||
	    (!m.sockets && !m.sum.left && way <= 0))
		s->firm++;
	s->firm_delivered = m.sum.delivered;
	if (better || s->ends) {
		s->best = m;
		choose(b, &m);
	}
	if (better && !s->ends)
		take_rest(b, s);
	return 0;
}

/* Sleeps with jitter, to avoid aliasing with periodic traffic. */
static void pause_a_little(unsigned n)
{
	clock_sleep(200000 + n * 7919 % 1000 * 1500);
}

static int finish(const struct balance *b, struct search *s, int rc, struct balance_moment *m,
		  struct error *err)
{
	if (rc)
		return error_errno(err, STATUS_FAILED, rc, NULL,
				   "cannot read the queues of sockets");
	if (s->ends || !s->looks)
		take_rest(b, s);
	*m = s->looks ? s->best : s->last;
	m->unjudged = b->skel->bss->causes_full;
	for (unsigned i = 0; i < BALANCE_CAUSES; i++)
		m->unjudged += m->sum.dropped[i] && !b->meaning[i].sure;
	m->filter_unread = s->filter_unread;
	m->queued += s->lacking;
	return 0;
}

int balance_begin(struct balance *b, struct balance_moment *m, struct error *err)
{
	static const struct balance_moment idle; /* no arrivals or reads since attachment */
	struct unread unread = {.b = b, .note = true};
	struct search s = {};
	int rc = find_sockets(b, true);

	if (!rc)
		rc = walk_unread(&unread);
	s.since = s.changed = clock_now();
	for (unsigned n = 0; !rc; n++) {
		uint64_t since = clock_now() - s.since;

		/* a moment with a datagram in transit counts only if it recurs: see `firm` */
		if (since > BEGIN_MOST || (since > BEGIN_NS && s.looks > LOOKS_MIN &&
					   (s.firm >= FIRM_MIN || under_way(&s.best) <= 0)))
			break;
		rc = search_look(b, &s);
		/* a datagram that is stuck in a softirq looks like one that is always in transit */
		if (s.looks && ((s.firm >= FIRM_MIN && under_way(&s.best) <= 0) ||
				same_counts(&s.last, &idle)))
			break;
		pause_a_little(n);
	}
	return finish(b, &s, rc, m, err);
}

int balance_end(struct balance *b, const struct balance_moment *begin, uint64_t settle_ns,
		struct balance_moment *m, struct error *err)
{
	int64_t wanted = under_way(begin);
	struct unread unread = {.b = b};
	struct search s = {.ends = true};
	int rc = 0;

	b->flipped = 0;
	s.since = s.changed = clock_now();
	for (unsigned n = 0; !rc; n++) {
		uint64_t now, since;
		bool closes;

		rc = search_look(b, &s);
		now = clock_now();
		since = now - s.since;
		closes = s.looks && under_way(&s.best) <= wanted && !s.last.dying;
		if (closes &&
		    (now - s.changed > QUIET_NS || (since > BUSY_NS && s.looks > LOOKS_MIN)))
			break;
		if (since > settle_ns + (s.looks ? 0 : BUSY_NS))
			break;
		pause_a_little(n);
	}
	if (!rc)
		rc = find_sockets(b, true);
	if (!rc)
		rc = walk_unread(&unread);
	rc = finish(b, &s, rc, m, err);
	m->unseen = unread.unseen;
	return rc;
}

void balance_close(struct balance *b)
{
	if (!b)
		return;
	for (unsigned i = 0; i < LENGTH(b->cgroup); i++) {
		if (b->cgroup[i] >= 0)
			fd_close(&b->cgroup[i]);
	}
	trace_unmap(b->cells, CELLS_BYTES);
	balance_bpf__destroy(b->skel);
	free(b);
}

/* The application's sequence numbers: --seq. */

#define PAYLOAD_MAX 65527 /* payload bytes of a datagram: 65535 minus the UDP header */
#define STEP_MAX    (1ULL << 32)
#define HINT                                                                                       \
	"rtp, or OFFSET:BYTES[:STEP], as 0:4 or 2:2:160: BYTES from 1 to 8, STEP from 1 to 2^32"

static int parse_offset(const char *text, struct balance_numbering *n, struct error *err)
{
	static const uint64_t least[] = {0, 1, 1}, most[] = {PAYLOAD_MAX - 1, 8, STEP_MAX};
	uint64_t value[] = {0, 0, 1}, offset, bytes, step;
	char copy[64], *rest = copy;
	bool good = snprintf(copy, sizeof(copy), "%s", text) < (int)sizeof(copy);
	unsigned fields = 0;

	for (char *field; good && (field = strsep(&rest, ":")); fields++)
		good = fields < LENGTH(value) &&
		       !num_u64(field, least[fields], most[fields], &value[fields]);
	if (!good || fields < 2)
		return error_usage(err, HINT, "'%s' does not say where the sequence number is",
				   text);
	offset = value[0];
	bytes = value[1];
	step = value[2];
	if (offset + bytes > PAYLOAD_MAX)
		return error_set(err, STATUS_USAGE, -ERANGE, HINT,
				 "'%s' exceeds the maximum payload length", text);
	if (step > (~0ULL >> (64 - 8 * bytes)) / 4)
		return error_set(err, STATUS_USAGE, -ERANGE, HINT,
				 "'%s': the step is too large for a number of so few bytes", text);
	*n = (struct balance_numbering){NUMBERS_OFFSET, (unsigned)offset, (unsigned)bytes, step};
	return 0;
}

int numbering_parse(const char *text, void *out, struct error *err)
{
	if (strcmp(text, "rtp"))
		return parse_offset(text, out, err);
	*(struct balance_numbering *)out = (struct balance_numbering){.kind = NUMBERS_RTP};
	return 0;
}
