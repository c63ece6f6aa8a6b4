// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/site.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "drops/cause.h"
#include "stamp.h"

/*
 * skb_release_data() frees the children of a freed head, which are not separate packets. vmxnet3
 * frees sent packets as if dropped, before they reach their end. Packets freed by fragmentation are
 * remainders that were not sent. If the segments of a merged packet do not fit, the packet is freed
 * before them, and the segments report their own end.
 */
static void find_ranges(struct tracer *t)
{
	static const char *const names[] = {
		"skb_release_data", "vmxnet3_unmap_pkt", "vmxnet3_tq_tx_complete",
		"tbf_enqueue",	    "tbf_segment",	 "veth_xmit",
		"veth_xmit.cold",   "veth_forward_skb",	 "veth_xdp_rx",
		"netkit_xmit",	    "netkit_xmit.cold",
	};
	struct trace_range r[LENGTH(names)];
	struct trace_config *c = &t->config;

	ksym_ranges(t->ksyms, names, LENGTH(names), r);
	memcpy(c->ignored, r, sizeof(c->ignored));
	memcpy(c->segmenting, r + 3, sizeof(c->segmenting));
	memcpy(c->handing, r + 5, sizeof(c->handing));
}

static int configure(struct tracer *t, const struct tracer_spec *spec, struct error *err)
{
	struct trace_range range[WATCH_CONSUMED_MAX] = {};
	int rc = 0;

	t->config = spec->config;
	t->config.base = t->outcomes.base;
	t->config.window = t->outcomes.window;
	t->config.stream0 = t->outcomes.stream0;
	t->config.streams = t->outcomes.streams;
	t->config.count_all = !spec->window && !spec->numbers;
	find_ranges(t);
	/*
	 * functions in which packets freed as consumed are losses, only on request because no
	 * tracepoint is busier (it reports its caller since Linux 6.3)
	 */
	if (spec->consumed)
		rc = consumed_find(t->reasons, t->ksyms, range, err);
	memcpy(t->config.consuming, range, sizeof(t->config.consuming));
	return rc;
}

int tracer_open(struct tracer *t, const struct tracer_spec *spec, struct error *err)
{
	const bool edge = spec->edge.leave || spec->edge.enter;
	struct trace_places places;
	struct trace_kfree kernel;
	enum drops_of of;
	int rc;

	*t = (struct tracer){};
	rc = reasons_open(&t->reasons, NULL, err);
	if (!rc)
		rc = ksyms_open(&t->ksyms, NULL, err);
	if (!rc && spec->numbers)
		outcomes_init_given(&t->outcomes, spec->numbers);
	else if (!rc)
		outcomes_init(&t->outcomes, (uint16_t)spec->streams, outcomes_window(spec->window));
	if (!rc)
		rc = configure(t, spec, err);
	if (!rc)
		rc = reasons_kfree(t->reasons, &kernel, err);
	if (!rc) {
		of = reasons_tracepoint_args(t->reasons, "xdp_redirect_err") <= 0 ? DROPS_OF_SKBS
		     : spec->frames						  ? DROPS_OF_FRAMES
										  : DROPS_OF_ALL;
		rc = drops_open(&t->drops, &t->config, &kernel, of,
				spec->probes ? probes_of(spec->probes) : 0, err);
	}
	if (!rc && spec->probes) {
		rc = probes_open(&t->probes, t->drops, spec->probes, edge, err);
		if (rc == -EINVAL && edge) { /* this kernel does not have such links */
			*err = (struct error){};
			rc = 0;
		}
	}
	if (!rc && edge && !t->probes)
		rc = edge_open(&t->edge, &t->config, t->drops, &spec->edge, spec->edge_ifindex,
			       err);
	if (!rc)
		rc = outcomes_map(&t->outcomes, drops_map_fd(t->drops, "outcomes"),
				  tracer_seen_fd(t), drops_map_fd(t->drops, "arrivals"), err);
	if (!rc) {
		ksym_places(t->ksyms, &places);
		rc = drops_attach(t->drops, &places, err);
	}
	if (rc)
		tracer_close(t);
	return rc;
}

int tracer_arm(struct tracer *t, uint64_t window)
{
	struct outcomes *f = &t->outcomes;
	uint64_t next = f->base;

	for (unsigned i = 0; i < f->streams; i++)
		next = larger(next, f->tail[i]);
	if (outcomes_window(window) > f->window || next - t->config.base > STAMP_SPAN / 2)
		return -ENOSPC;
	f->base = next;
	for (unsigned i = 0; i < TRACE_STREAMS; i++)
		f->tail[i] = next;
	return drops_arm(t->drops, next);
}

int tracer_seen_fd(const struct tracer *t)
{
	if (t->probes)
		return drops_map_fd(t->drops, "seen");
	return t->edge ? edge_seen_fd(t->edge) : -1;
}

int tracer_name(const struct tracer *t, const struct ledger_place *places, unsigned n,
		struct ledger *ledger)
{
	struct drops_cause *raw = mem_zero(TRACE_CAUSES, sizeof(*raw));
	int found;

	found = drops_read(t->drops, raw, TRACE_CAUSES);
	if (t->ksyms)
		ksyms_refresh(t->ksyms);
	if (found >= 0)
		ledger_name(ledger, raw, found, t->reasons, t->ksyms, places, n);
	free(raw);
	return found < 0 ? found : 0;
}

void tracer_losses(const struct drops_losses *l, const struct ledger *ledger, struct result *res)
{
	struct result_losses *out = &res->losses;

	res->late += l->bpf.late;
	out->causes_full += l->bpf.causes_full;
	out->stamp_unreadable += l->bpf.stamp_unreadable;
	out->recursion_misses += l->recursion_misses;
	out->cell_empty += l->bpf.cell_empty;
	out->gso_split += l->bpf.gso_split;
	out->suppressed = ledger->tally.unaccounted_on_init;
	if (out->suppressed)
		snprintf(out->suppressed_evidence, sizeof(out->suppressed_evidence),
			 "%s last seen in the context of a PID 1 thread, where this kernel may "
			 "skip tracing programs",
			 fmt_many(out->suppressed, "packet was|packets were"));
}

void tracer_close(struct tracer *t)
{
	probes_close(t->edge);
	probes_close(t->probes);
	drops_close(t->drops);
	outcomes_unmap(&t->outcomes);
	ksyms_free(t->ksyms);
	reasons_free(t->reasons);
	memset(t, 0, sizeof(*t));
}
