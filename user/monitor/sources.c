// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "monitor/sources.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "monitor/counterrows.h"
#include "monitor/verdictrows.h"
#include "monitor/xdprows.h"

struct sources {
	struct xdprows *xdp;
	struct counterrows *counters;
	struct verdictrows *verdicts;
	struct live_source sampler; /* of counters whose rows are not wanted */
	char gaps[512];
};

static int open_xdp(struct sources *s, const struct live_spec *spec, struct live *l)
{
	struct error none = {.status = STATUS_OK};

	if (xdprows_open(&s->xdp, spec, l, &none)) {
		snprintf(s->gaps, sizeof(s->gaps), "losses of XDP itself are not seen: %s",
			 none.message);
		return 0;
	}
	if (*xdprows_gaps(s->xdp))
		snprintf(s->gaps, sizeof(s->gaps),
			 "some losses of XDP are not seen; this kernel has not, or otherwise: %s",
			 xdprows_gaps(s->xdp));
	return live_add_source(l, xdprows_source(s->xdp));
}

static int open_verdicts(struct sources *s, const struct live_spec *spec, struct live *l,
			 struct error *err)
{
	int rc = verdictrows_open(&s->verdicts, spec, err);

	if (rc)
		return rc;
	if (*verdictrows_gaps(s->verdicts))
		snprintf(s->gaps, sizeof(s->gaps), "%s", verdictrows_gaps(s->verdicts));
	return live_add_source(l, verdictrows_source(s->verdicts));
}

int sources_open(struct sources **out, const struct live_spec *spec, bool counters, struct live *l,
		 struct error *err)
{
	struct sources *s = calloc(1, sizeof(*s));
	bool rows;
	int rc = 0;

	if (!s)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	*out = s;
	rows = !spec->pid && !spec->cgroup && !spec->reasons;
	if (rows)
		rc = open_xdp(s, spec, l);
	if (!rc && rows && spec->xdp_verdicts)
		rc = open_verdicts(s, spec, l, err);
	if (!rc && (rows || counters))
		rc = counterrows_open(&s->counters, spec, s->xdp, counters, err);
	if (rc || !s->counters)
		return rc;
	s->sampler = *counterrows_source(s->counters);
	if (!rows) {
		s->sampler.note = NULL;
		s->sampler.collect = NULL;
	}
	return live_add_source(l, &s->sampler);
}

void sources_close(struct sources *s)
{
	if (!s)
		return;
	counterrows_close(s->counters);
	verdictrows_close(s->verdicts);
	xdprows_close(s->xdp);
	free(s);
}

const struct rates *sources_rates(const struct sources *s)
{
	return s && s->counters ? counterrows_rates(s->counters) : NULL;
}

const char *sources_gaps(const struct sources *s)
{
	return s->gaps;
}
