// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/num.h"
#include "report/print.h"

#define CELL_WIDTH 22 /* columns of "100.00 % socket_filter" */

/* By which an end of a run is known. */
static const char *node_of(struct json_object *doc, const char *side)
{
	struct json_object *start = json_get(doc, "start");
	const char *name = json_get_text(json_get(json_get(start, "hosts"), side), "name");
	char port[16];

	if (*name)
		return name;
	snprintf(port, sizeof(port), "%s_port", side);
	return json_get_text(json_get(start, port), "address");
}

static int add_node(struct json_object *nodes, const char *name, struct error *err)
{
	size_t n = json_object_array_length(nodes);

	for (size_t i = 0; i < n; i++) {
		if (!strcmp(json_object_get_string(json_object_array_get_idx(nodes, i)), name))
			return 0;
	}
	if (n == MATRIX_NODES)
		return error_set(err, STATUS_USAGE, -E2BIG, "report fewer of them at a time",
				 "more than %u hosts", MATRIX_NODES);
	json_object_array_add(nodes, json_text(name));
	return 0;
}

struct json_object *matrix_pair(struct json_object *matrix, const char *from, const char *to)
{
	for (struct json_each pair = json_each(matrix, "pairs"); json_next(&pair);) {
		if (!strcmp(json_get_text(pair.item, "from"), from) &&
		    !strcmp(json_get_text(pair.item, "to"), to))
			return pair.item;
	}
	return NULL;
}

static void add_count(struct json_object *o, const char *key, uint64_t count)
{
	uint64_t sum = json_get_u64(o, key) + count;

	json_put_u64(o, key, sum < count ? UINT64_MAX : sum);
}

/* A run, to its pair. */
static int add_run(struct json_object *matrix, struct json_object *doc, struct error *err)
{
	const char *from = node_of(doc, "tx"), *to = node_of(doc, "rx");
	struct json_object *end = json_get(doc, "end"), *nodes = json_get(matrix, "nodes"), *pair;

	if (!*from || !*to || !json_get(end, "sent"))
		return 0;
	if (add_node(nodes, from, err) || add_node(nodes, to, err))
		return -E2BIG;
	pair = matrix_pair(matrix, from, to);
	if (!pair) {
		pair = json_object_new_object();
		json_put_text(pair, "from", from);
		json_put_text(pair, "to", to);
		json_put_bool(pair, "balanced", true);
		json_put(pair, "lost", json_object_new_object());
		json_object_array_add(json_get(matrix, "pairs"), pair);
	}
	add_count(pair, "runs", 1);
	add_count(pair, "sent", json_get_u64(end, "sent"));
	add_count(pair, "delivered", json_get_u64(end, "delivered"));
	if (!json_get_bool(end, "balanced"))
		json_put_bool(pair, "balanced", false);
	for (struct json_each stage = json_each(end, "stages"); json_next(&stage);)
		add_count(json_get(pair, "lost"), json_get_text(stage.item, "stage"),
			  json_get_u64(stage.item, "packets"));
	return 0;
}

/* The sums are there: what follows from them. */
static void conclude(struct json_object *pair)
{
	double sent = json_get_double(pair, "sent");
	const char *worst = NULL;
	uint64_t most = 0;

	json_object_object_foreach (json_get(pair, "lost"), stage, count) {
		if (json_object_get_uint64(count) > most) {
			most = json_object_get_uint64(count);
			worst = stage;
		}
	}
	json_put_text(pair, "stage", worst);
	json_put(pair, "lost_share",
		 sent > 0 ? json_object_new_double(1 - json_get_double(pair, "delivered") / sent)
			  : NULL);
	json_object_object_del(pair, "lost");
}

int matrix_new(struct json_object *const *docs, unsigned n, struct json_object **out,
	       struct error *err)
{
	struct json_object *matrix = json_object_new_object();
	int rc = 0;

	json_put(matrix, "nodes", json_object_new_array());
	json_put(matrix, "pairs", json_object_new_array());
	for (unsigned i = 0; i < n && !rc; i++) {
		if (!json_get(docs[i], "senders"))
			rc = add_run(matrix, docs[i], err);
		for (struct json_each s = json_each(docs[i], "senders"); !rc && json_next(&s);)
			rc = add_run(matrix, s.item, err);
	}
	if (!rc && !json_get_length(matrix, "pairs"))
		rc = error_set(err, STATUS_FAILED, -ENODATA,
			       "a matrix is made of runs from one host to another",
			       "no run reports both its ends");
	for (struct json_each pair = json_each(matrix, "pairs"); json_next(&pair);)
		conclude(pair.item);
	*out = rc ? NULL : matrix;
	if (rc)
		json_object_put(matrix);
	return rc;
}

/* "4.33 % wire"; "!" behind it: a run is not balanced. */
static void print_pair(struct page *p, struct json_object *pair)
{
	double share = json_get_double(pair, "lost_share");
	/* how red: not at all without loss, and each decade of loss from 0.01 % on is seen */
	unsigned heat = share > 0 ? (unsigned)fmin(fmax(8 + 11 * (log10(share) + 4), 8), 50) : 0;
	char markup[192], lost[32];

	if (!pair) {
		page_cell(p, STYLE_PLAIN, "-");
		return;
	}
	snprintf(markup, sizeof(markup), " style=\"--heat:%u%%\" title=\"%s packets of %lu runs\"",
		 heat, page_count(json_get_u64(pair, "sent")), json_get_u64(pair, "runs"));
	snprintf(lost, sizeof(lost), "%.2f %%", 100 * share);
	p->markup = markup;
	page_cell(p, STYLE_PLAIN, share > 0 && share < 0.0001 ? "<0.01 %" : lost);
	page_name(p, json_get_text(pair, "stage"));
	if (json_get_bool(pair, "balanced"))
		return;
	if (p->html)
		page_words(p, STYLE_BAD, "not balanced");
	else
		page_verbatim(p, " !");
}

void matrix_print(const struct print_view *v, struct json_object *matrix)
{
	struct page p = print_page(v, 0);
	struct page_column columns[MATRIX_NODES + 2] = {{"from \\ to", CELL_WIDTH, false}};
	unsigned n = (unsigned)json_get_length(matrix, "nodes");

	for (unsigned i = 0; i < n; i++) {
		columns[1 + i].name = json_object_get_string(json_get_item(matrix, "nodes", i));
		if (strlen(columns[1 + i].name) > columns[0].width)
			columns[0].width = (unsigned)strlen(columns[1 + i].name);
	}
	columns[0].width += 2;
	for (unsigned i = 0; i < n; i++)
		columns[1 + i].width = columns[0].width;
	page_table(&p, columns);
	for (unsigned i = 0; i < n; i++) {
		page_cell(&p, STYLE_PLAIN, columns[1 + i].name);
		for (unsigned k = 0; k < n; k++)
			print_pair(&p,
				   matrix_pair(matrix, columns[1 + i].name, columns[1 + k].name));
		page_end(&p);
	}
}
