// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/balance.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "drops/balance_parts.h"
#include "host/load.h"
#include "drops/side.h"
#include "trace_abi.h"

#define CELLS_BYTES (BALANCE_CELLS * sizeof(struct balance_cell))

/* The cost is measured until so much is known, and again after a while. */
#define MEASURED_RUNS 20000
#define MEASURE_AGAIN 60000000000ULL /* ns */

const char *const balance_kinds[BALANCE_KINDS] = {
	"veth",	  "netkit", "macvlan", "ipvlan", "vrf", /* inside */
	"bridge", "vlan",   "bond",    "team",	 "ifb", /* stacked */
};

static void configure_numbers(struct balance_config *cfg, const struct balance_numbering *n)
{
	cfg->numbers = (uint8_t)n->kind;
	switch (n->kind) {
	case NUMBERS_NONE:
		break;
	case NUMBERS_RTP:
		cfg->bytes = BALANCE_NUMBER;
		cfg->rule = sequence_rule_of(16, 1);
		break;
	case NUMBERS_OFFSET:
		cfg->offset = (uint16_t)n->offset;
		cfg->bytes = (uint16_t)n->bytes;
		cfg->rule = sequence_rule_of(8 * n->bytes, n->step);
		break;
	}
}

static void configure(struct balance *b, const struct balance_numbering *n, bool paged)
{
	struct balance_config *cfg = (void *)&b->skel->rodata->cfg;
	int args = reasons_kfree_args(b->reasons);
	struct ksym_range freeing = {};

	if (b->ksyms)
		freeing = ksym_freeing(b->ksyms);
	cfg->freeing_start = freeing.start;
	cfg->freeing_end = freeing.end;
	cfg->reason_netfilter = reasons_value(b->reasons, "NETFILTER_DROP");
	cfg->reason_otherhost = reasons_value(b->reasons, "OTHERHOST");
	cfg->reason_packet_sock = reasons_value(b->reasons, "PACKET_SOCK_ERROR");
	cfg->cpus = trace_cpus();
	cfg->has_reason = args > 2;
	cfg->has_rx_sk = args > 3;
	cfg->paged = paged;
	cfg->frames = filter_l3_refusal(b->filter) != NULL;
	configure_numbers(cfg, n);
	for (unsigned i = 0; i < BALANCE_KINDS; i++)
		strncpy(cfg->kinds[i].name, balance_kinds[i], sizeof(cfg->kinds[i].name));
	bpf_map__set_max_entries(b->skel->maps.tallies, cfg->cpus);
	if (n->kind != NUMBERS_NONE)
		bpf_map__set_max_entries(b->skel->maps.streams, BALANCE_STREAMS);
}

/* `paged`: read numbers in pages too. */
static int load(struct balance *b, const struct balance_numbering *n, bool paged, struct error *err)
{
	int rc;

	log_libbpf_clear();
	b->skel = balance_bpf__open_opts(trace_open_opts());
	if (!b->skel)
		return -ENOMEM;
	configure(b, n, paged);
	rc = filter_install(b->filter, b->skel->obj, err);
	if (!rc)
		rc = balance_bpf__load(b->skel);
	if (!rc)
		return 0;
	balance_bpf__destroy(b->skel);
	b->skel = NULL;
	return rc;
}

static int check_kernel(const struct reasons *r, struct error *err)
{
	if (reasons_kfree_args(r) < 0)
		return error_set(err, STATUS_UNABLE, -ENOENT,
				 "it needs a kernel with tracepoints and BTF",
				 "this kernel has no tracepoint skb:kfree_skb");
	if (reasons_tracepoint_args(r, "sock_recv_length") < 0)
		return error_set(err, STATUS_UNABLE, -ENOENT,
				 "trace without it shows what is dropped",
				 "--balance needs Linux 6.3: this kernel does not tell what "
				 "sockets read (sock:sock_recv_length)");
	return 0;
}

int balance_open(struct balance **out, const struct filter *f, const struct balance_numbering *n,
		 const struct reasons *r, const struct ksyms *k, struct error *err)
{
	struct balance *b;
	int rc = check_kernel(r, err);

	if (rc)
		return rc;
	b = calloc(1, sizeof(*b));
	if (!b)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	b->filter = f;
	b->reasons = r;
	b->ksyms = k;
	b->stats_fd = -1;
	rc = load(b, n, n->kind != NUMBERS_NONE, err);
	if (trace_load_again(rc) && n->kind != NUMBERS_NONE) /* Linux before 6.12 */
		rc = load(b, n, false, err);
	if (!rc) {
		b->cells = mmap(NULL, CELLS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
				bpf_map__fd(b->skel->maps.cells), 0);
		rc = b->cells == MAP_FAILED ? -errno : 0;
	}
	if (rc) {
		balance_close(b);
		return trace_load_error(err, rc);
	}
	*out = b;
	return 0;
}

/* What people see as names, for the stage map. */
static void judge(struct balance *b, uint32_t index, const struct balance_cause *c)
{
	char reason[REASON_NAME];
	struct stagemap_event e = {
		.reason = reasons_name(b->reasons, (uint32_t)c->reason, reason, sizeof(reason)),
		.location = "",
		.aux = "",
		.observer = OBSERVER_KFREE_SKB,
		.flags = c->flags & (BALANCE_COPY | BALANCE_SK | BALANCE_DST | BALANCE_NO_DEV),
	};
	struct ksym location, aux;
	struct verdict v;
	bool sure;

	if (!ksym_find(b->ksyms, c->location, &location))
		e.location = location.name;
	if (c->aux && !ksym_find(b->ksyms, c->aux, &aux))
		e.aux = aux.name;
	v = stagemap_judge(&e);
	b->skel->bss->sides[index] =
		side_of(&v, e.location, c->role, c->flags & BALANCE_OWN, &sure);
	b->doubtful[index] = !sure;
}

int balance_judge(struct balance *b)
{
	int fd = bpf_map__fd(b->skel->maps.causes);
	struct balance_cause key, *prev = NULL;
	uint32_t index, known = b->skel->bss->cause_next;

	if (known == b->judged)
		return 0;
	while (!bpf_map_get_next_key(fd, prev, &key)) {
		prev = &key;
		if (!bpf_map_lookup_elem(fd, &key, &index) && index < BALANCE_CAUSES &&
		    b->skel->bss->sides[index] == SIDE_UNJUDGED)
			judge(b, index, &key);
	}
	b->judged = known;
	return 0;
}

/* Cost */

static struct balance_cost programs_cost(const struct balance *b)
{
	const struct bpf_program *const prog[] = {
		b->skel->progs.balance_receive,
		b->skel->progs.balance_queue,
		b->skel->progs.balance_read,
		b->skel->progs.balance_drop,
	};
	struct balance_cost sum = {};

	for (unsigned i = 0; i < sizeof(prog) / sizeof(*prog); i++) {
		struct bpf_prog_info info = {};
		__u32 len = sizeof(info);

		if (bpf_obj_get_info_by_fd(bpf_program__fd(prog[i]), &info, &len))
			continue;
		sum.runs += info.run_cnt;
		sum.run_ns += info.run_time_ns;
		sum.recursion_misses += info.recursion_misses;
	}
	return sum;
}

/* The kernel takes the time of BPF programs while somebody asks for it; that has a price too. */
static void measure_begin(struct balance *b)
{
	b->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	b->stats_since = clock_now();
	b->stats_base = programs_cost(b);
}

static struct balance_cost measured(const struct balance *b)
{
	struct balance_cost now = programs_cost(b), sum = b->cost;

	sum.recursion_misses = now.recursion_misses;
	if (b->stats_fd < 0)
		return sum;
	sum.runs += now.runs - b->stats_base.runs;
	sum.run_ns += now.run_ns - b->stats_base.run_ns;
	sum.measured_ns += clock_now() - b->stats_since;
	return sum;
}

static void measure_end(struct balance *b)
{
	if (b->stats_fd < 0)
		return;
	b->cost = measured(b);
	close(b->stats_fd);
	b->stats_fd = -1;
}

static void measure(struct balance *b)
{
	uint64_t since = clock_now() - b->stats_since;

	if (b->stats_fd < 0) {
		if (since > MEASURE_AGAIN)
			measure_begin(b);
	} else if (programs_cost(b).runs - b->stats_base.runs > MEASURED_RUNS) {
		measure_end(b);
	}
}

void balance_read_cost(const struct balance *b, struct balance_cost *c)
{
	*c = measured(b);
}

int balance_tick(struct balance *b)
{
	measure(b);
	return balance_judge(b);
}

/* Now, because later the capabilities for it may be given up. */
static int attach_iterators(struct balance *b)
{
	union bpf_iter_link_info info = {.map.map_fd = (__u32)bpf_map__fd(b->skel->maps.sockets)};
	struct bpf_iter_attach_opts opts;
	struct balance_bpf *s = b->skel;

	/* not LIBBPF_OPTS(): the copy that it makes may have anything in its padding */
	memset(&opts, 0, sizeof(opts));
	opts.sz = sizeof(opts);
	opts.link_info = &info;
	opts.link_info_len = sizeof(info);
	s->links.balance_sockets = bpf_program__attach_iter(s->progs.balance_sockets, NULL);
	s->links.balance_looks = bpf_program__attach_iter(s->progs.balance_looks, &opts);
	s->links.balance_unread = bpf_program__attach_iter(s->progs.balance_unread, &opts);
	return s->links.balance_sockets && s->links.balance_looks && s->links.balance_unread
		       ? 0
		       : -errno;
}

int balance_attach(struct balance *b, struct error *err)
{
	struct bpf_link **link[] = {
		&b->skel->links.balance_receive,
		&b->skel->links.balance_queue,
		&b->skel->links.balance_read,
		&b->skel->links.balance_drop,
	};
	struct bpf_program *const prog[] = {
		b->skel->progs.balance_receive,
		b->skel->progs.balance_queue,
		b->skel->progs.balance_read,
		b->skel->progs.balance_drop,
	};
	int rc = attach_iterators(b);

	for (unsigned i = 0; !rc && i < sizeof(prog) / sizeof(*prog); i++) {
		*link[i] = bpf_program__attach(prog[i]);
		if (!*link[i])
			rc = -errno;
	}
	if (rc)
		return trace_load_error(err, rc);
	measure_begin(b);
	return 0;
}

/* Streams */

static void add_stream(struct balance_streams *sum, const struct sequence *s)
{
	if (!s->valid) {
		sum->strangers++;
		return;
	}
	sum->streams++;
	sum->seen += s->total + s->seen;
	sum->missing += sequence_missing(s);
	sum->duplicates += s->duplicates;
	sum->reordered += s->reordered;
	sum->stray += s->stray;
	sum->restarts += s->restarts;
}

int balance_read_streams(const struct balance *b, struct balance_streams *sum)
{
	int fd = bpf_map__fd(b->skel->maps.streams);
	struct balance_stream_key key, *prev = NULL;
	struct balance_stream stream;

	memset(sum, 0, sizeof(*sum));
	while (!bpf_map_get_next_key(fd, prev, &key)) {
		prev = &key;
		if (!bpf_map_lookup_elem_flags(fd, &key, &stream, BPF_F_LOCK))
			add_stream(sum, &stream.sequence);
	}
	return 0;
}

void balance_close(struct balance *b)
{
	if (!b)
		return;
	measure_end(b);
	if (b->cells && b->cells != MAP_FAILED)
		munmap(b->cells, CELLS_BYTES);
	balance_bpf__destroy(b->skel);
	free(b);
}
