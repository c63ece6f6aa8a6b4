// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "monitor/model.h"

#include <errno.h>
#include <stdlib.h>

#include "monitor/families_data.h"
#include "monitor/store.h"
#include "monitor/ownlosses.h"

struct model {
	struct model_spec spec;
	struct store *store;
	uint64_t lost[STAGE_COUNT];
	struct live_own own;	       /* as of the last interval */
	uint64_t time_ns, realtime_ns; /* its end */
};

struct model *model_new(const struct model_spec *spec)
{
	struct model *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->spec = *spec;
	m->store = store_new(spec->max_series);
	if (!m->store) {
		free(m);
		return NULL;
	}
	return m;
}

void model_free(struct model *m)
{
	if (!m)
		return;
	store_free(m->store);
	free(m);
}

int model_take(struct model *m, const struct model_interval *in)
{
	int rc = 0;

	for (unsigned i = 0; i < in->rows->n && !rc; i++) {
		const struct live_row *row = &in->rows->rows[i];

		rc = store_add(m->store, row, in->time_ns);
		if (row->noise == NOISE_LOSS && row->stage < STAGE_COUNT)
			m->lost[row->stage] += row->counts.packets;
	}
	m->own = *in->own;
	m->time_ns = in->time_ns;
	m->realtime_ns = in->realtime_ns;
	return rc;
}

struct writer {
	FILE *out;
	enum expose_format format;
	const struct family *family;
	bool bytes; /* instead of packets */
};

static const struct family *begin(const struct writer *w, enum family_id id)
{
	expose_family(w->out, w->format, &families[id]);
	return &families[id];
}

static void put_one(const struct writer *w, enum family_id id, uint64_t value)
{
	expose_sample(w->out, begin(w, id), NULL, 0, value);
}

static void put_seconds(const struct writer *w, enum family_id id, uint64_t ns)
{
	expose_seconds(w->out, begin(w, id), ns);
}

static void put_series(void *arg, const struct series *one)
{
	const struct writer *w = arg;
	struct label labels[LABEL_COUNT];

	for (unsigned i = 0; i < LABEL_COUNT; i++)
		labels[i] = (struct label){label_name(i), one->label[i]};
	expose_sample(w->out, w->family, labels, LABEL_COUNT, w->bytes ? one->bytes : one->packets);
}

static void put_class(const struct model *m, struct writer *w, enum family_id id, enum noise noise,
		      bool bytes)
{
	w->family = begin(w, id);
	w->bytes = bytes;
	store_each(m->store, noise, put_series, w);
}

/* `wire` lies between hosts: here nobody can know. */
static void put_stages(const struct model *m, const struct writer *w)
{
	const struct family *f = begin(w, FAMILY_STAGE_LOST);

	for (int s = 0; s < STAGE_COUNT; s++) {
		const struct label label = {label_name(LABEL_STAGE), stage_name(s)};

		if (s != STAGE_WIRE)
			expose_sample(w->out, f, &label, 1, m->lost[s]);
	}
}

static void put_own_losses(const struct model *m, const struct writer *w)
{
	const struct family *f = begin(w, FAMILY_OWN_LOSSES);
	struct live_own_loss losses[LIVE_OWN_LOSSES];

	live_own_losses(&m->own, losses);
	for (unsigned i = 0; i < LIVE_OWN_LOSSES; i++) {
		const struct label label = {"kind", losses[i].name};

		expose_sample(w->out, f, &label, 1, losses[i].n);
	}
}

static void put_observed(const struct model *m, const struct writer *w)
{
	const struct family *f = begin(w, FAMILY_OBSERVED);
	const struct {
		const char *what;
		bool gap;
	} rows[] = {
		{"places", m->own.no_places},
		{"reasons", m->own.no_reasons},
		{"sockets", m->own.no_sockets},
		{"xdp", m->spec.xdp_gaps},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct label label = {"what", rows[i].what};

		expose_sample(w->out, f, &label, 1, !rows[i].gap);
	}
}

static void put_self(const struct model *m, const struct writer *w)
{
	const struct label version = {"version", PKTLEDGER_VERSION};
	struct store_state store;

	store_state(m->store, &store);
	put_own_losses(m, w);
	put_observed(m, w);
	put_one(w, FAMILY_EVENTS, m->own.events);
	put_one(w, FAMILY_SERIES, store.series);
	put_one(w, FAMILY_SERIES_LIMIT, store.max);
	put_one(w, FAMILY_SERIES_MERGED, store.merged);
	put_one(w, FAMILY_SERIES_EXPIRED, store.expired);
	put_seconds(w, FAMILY_CPU, m->own.cpu_ns);
	put_one(w, FAMILY_MAPS, m->own.map_bytes);
	put_seconds(w, FAMILY_STARTED, m->realtime_ns - m->time_ns);
	put_seconds(w, FAMILY_COLLECTED, m->realtime_ns);
	put_seconds(w, FAMILY_COLLECTING, m->own.collect_ns);
	expose_sample(w->out, begin(w, FAMILY_BUILD), &version, 1, 1);
}

int model_write(const struct model *m, enum expose_format format, FILE *out)
{
	struct writer w = {.out = out, .format = format};

	put_stages(m, &w);
	put_class(m, &w, FAMILY_LOST, NOISE_LOSS, false);
	put_class(m, &w, FAMILY_LOST_BYTES, NOISE_LOSS, true);
	put_class(m, &w, FAMILY_SUSPECT, NOISE_SUSPECT, false);
	put_class(m, &w, FAMILY_BENIGN, NOISE_BENIGN, false);
	put_self(m, &w);
	expose_end(out, format);
	return ferror(out) ? -EIO : 0;
}

char *model_text(const struct model *m, enum expose_format format, size_t *len)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, len);
	bool bad;

	if (!out)
		return NULL;
	bad = model_write(m, format, out) != 0;
	if (fclose(out) == EOF || bad) {
		free(text);
		return NULL;
	}
	return text;
}
