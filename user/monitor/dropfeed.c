// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "monitor/dropfeed.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <stdlib.h>

#include "base/ktime.h"
#include "base/when.h"
#include "filter_abi.h"
#include "drops/watch.h"

struct dropfeed {
	struct live *live;
	struct samples *samples;
	bool payload, all;
	uint64_t realtime_off; /* CLOCK_REALTIME - ktime_now() */
	dropfeed_each *each;
	void *arg;
	struct described what;
};

static struct packet_view view_of(const struct sample *s, const uint8_t *bytes)
{
	struct packet_view p = {
		.bytes = bytes,
		.len = s->len,
		.wire_len = s->wire_len,
		.ethernet = s->layer == FILTER_L2,
		.protocol = ntohs(s->key.protocol),
	};

	if (!p.protocol && !p.ethernet && p.len)
		p.protocol = *bytes >> 4 == 4 ? ETH_P_IP : *bytes >> 4 == 6 ? ETH_P_IPV6 : 0;
	return p;
}

/* Without what lies below the place of the drop: the tracepoint, and our own program. */
static void put_stack(struct live_drop *drop, const uint64_t *stack, unsigned frames)
{
	unsigned i = 0;

	while (i < frames && stack[i] != drop->key->location)
		i++;
	if (i == frames)
		i = 0;
	drop->stack = stack + i;
	drop->frames = frames - i;
}

static void take(void *arg, const struct sample *s, const uint64_t *stack, const uint8_t *bytes)
{
	const struct watch_entry e = {
		.key = s->key,
		.count = {.events = 1, .more = s->segments - 1u, .bytes = s->wire_len},
		.cpu = s->cpu,
	};
	struct dropfeed *f = arg;
	struct live_drop drop = {
		.what = &f->what,
		.key = &s->key,
		.time_ns = s->time_ns - live_started(f->live),
		.realtime_ns = s->time_ns + f->realtime_off,
		.packet = view_of(s, bytes),
		.ksyms = live_ksyms(f->live),
	};

	if (!live_describe(f->live, &e, &f->what))
		return;
	if (f->what.row.noise == NOISE_BENIGN && !f->all)
		return;
	put_stack(&drop, stack, s->frames);
	if (!f->payload)
		drop.packet.len = packet_headers(&drop.packet);
	f->each(f->arg, &drop);
}

int dropfeed_open(struct dropfeed **out, struct live *l, bool payload, bool all,
		  dropfeed_each *each, void *arg, struct error *err)
{
	struct dropfeed *f = calloc(1, sizeof(*f));
	int rc;

	if (!f)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	f->live = l;
	f->payload = payload;
	f->all = all;
	f->each = each;
	f->arg = arg;
	rc = samples_open(&f->samples, live_samples(l), take, f, err);
	if (rc) {
		free(f);
		return rc;
	}
	*out = f;
	return 0;
}

int64_t dropfeed_read(struct dropfeed *f, uint64_t budget_ns)
{
	f->realtime_off = when_now() - ktime_now();
	return samples_read(f->samples, budget_ns);
}

void dropfeed_close(struct dropfeed *f)
{
	if (!f)
		return;
	samples_close(f->samples);
	free(f);
}
