// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/msg.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/json_put.h"
#include "base/utf8.h"
#include "stamp.h"
#include "drops/stagemap.h"

/* The i-th of a list; NULL for 0, if it may be left out. */
static struct json_object *item_of(enum msg_type type, const void *at, size_t i, bool may_lack)
{
	uint64_t v;
	double d;

	if (type == MSG_DOUBLES) {
		d = ((const double *)at)[i];
		return d != 0 || !may_lack ? json_object_new_double(d) : NULL;
	}
	v = type == MSG_U16S ? ((const uint16_t *)at)[i] : ((const uint64_t *)at)[i];
	return v || !may_lack ? json_object_new_uint64(v) : NULL;
}

/* Without the zeros behind the last that is none. */
static struct json_object *list_of(const struct msg_field *f, const void *at)
{
	struct json_object *list = json_object_new_array(), *last = NULL;
	size_t n = f->size;

	while (n && !(last = item_of(f->type, at, n - 1, true)))
		n--;
	for (size_t i = 0; i + 1 < n; i++)
		json_object_array_add(list, item_of(f->type, at, i, false));
	if (last)
		json_object_array_add(list, last);
	return list;
}

struct json_object *msg_make(const char *type, const struct msg_field *rows, const void *from)
{
	struct json_object *o = json_object_new_object();

	json_put_text(o, "type", type);
	for (const struct msg_field *f = rows; f && f->key; f++) {
		const void *at = (const char *)from + f->offset;

		switch (f->type) {
		case MSG_U64:
			json_put_u64(o, f->key, *(const uint64_t *)at);
			break;
		case MSG_U32:
			json_put_u64(o, f->key, *(const uint32_t *)at);
			break;
		case MSG_U16:
			json_put_u64(o, f->key, *(const uint16_t *)at);
			break;
		case MSG_BOOL:
			json_put_bool(o, f->key, *(const bool *)at);
			break;
		case MSG_DOUBLE:
			json_put(o, f->key, json_object_new_double(*(const double *)at));
			break;
		case MSG_TEXT:
			json_put_text(o, f->key, at);
			break;
		case MSG_U64S:
		case MSG_U16S:
		case MSG_DOUBLES:
			json_put(o, f->key, list_of(f, at));
			break;
		}
	}
	return o;
}

const char *msg_type(struct json_object *msg)
{
	struct json_object *o;

	if (!json_object_object_get_ex(msg, "type", &o) ||
	    !json_object_is_type(o, json_type_string))
		return "";
	return json_object_get_string(o);
}

static int take_integer(struct json_object *o, uint64_t max, uint64_t *out)
{
	if (!json_object_is_type(o, json_type_int))
		return -EBADMSG;
	/* negative ones are told apart by their sign only: json-c clamps them to 0 */
	if (json_object_get_int64(o) < 0)
		return -EBADMSG;
	*out = json_object_get_uint64(o);
	return *out <= max ? 0 : -EBADMSG;
}

static int take_text(struct json_object *o, char *to, size_t size)
{
	const char *s = "";

	if (o && !json_object_is_type(o, json_type_string))
		return -EBADMSG;
	if (o)
		s = json_object_get_string(o);
	memset(to, 0, size);
	memcpy(to, s, strnlen(s, size - 1));
	utf8_tame(to);
	return 0;
}

static int take_double(struct json_object *o, double *to)
{
	if (!json_object_is_type(o, json_type_double) && !json_object_is_type(o, json_type_int))
		return -EBADMSG;
	*to = json_object_get_double(o);
	return isfinite(*to) && *to >= 0 ? 0 : -EBADMSG;
}

static int take_item(struct json_object *o, enum msg_type type, void *to, size_t i)
{
	uint64_t v;

	if (type == MSG_DOUBLES)
		return take_double(o, (double *)to + i);
	if (take_integer(o, type == MSG_U16S ? UINT16_MAX : UINT64_MAX, &v))
		return -EBADMSG;
	if (type == MSG_U16S)
		((uint16_t *)to)[i] = (uint16_t)v;
	else
		((uint64_t *)to)[i] = v;
	return 0;
}

static int take_list(struct json_object *o, const struct msg_field *f, void *to)
{
	static const size_t width[] = {[MSG_U64S] = sizeof(uint64_t),
				       [MSG_U16S] = sizeof(uint16_t),
				       [MSG_DOUBLES] = sizeof(double)};
	size_t n;

	if (!json_object_is_type(o, json_type_array))
		return -EBADMSG;
	n = json_object_array_length(o);
	if (n > f->size)
		return -EBADMSG;
	memset(to, 0, f->size * width[f->type]);
	for (size_t i = 0; i < n; i++) {
		if (take_item(json_object_array_get_idx(o, i), f->type, to, i))
			return -EBADMSG;
	}
	return 0;
}

static int take_one(struct json_object *o, const struct msg_field *f, void *to)
{
	static const uint64_t most[] = {
		[MSG_U64] = UINT64_MAX, [MSG_U32] = UINT32_MAX, [MSG_U16] = UINT16_MAX};
	uint64_t v = 0;

	switch (f->type) {
	case MSG_BOOL:
		if (!json_object_is_type(o, json_type_boolean))
			return -EBADMSG;
		*(bool *)to = json_object_get_boolean(o);
		return 0;
	case MSG_DOUBLE:
		return take_double(o, to);
	case MSG_TEXT:
		return take_text(o, to, f->size);
	case MSG_U64S:
	case MSG_U16S:
	case MSG_DOUBLES:
		return take_list(o, f, to);
	default:
		break;
	}
	if (take_integer(o, f->max ? f->max : most[f->type], &v))
		return -EBADMSG;
	if (f->type == MSG_U64)
		*(uint64_t *)to = v;
	else if (f->type == MSG_U32)
		*(uint32_t *)to = (uint32_t)v;
	else
		*(uint16_t *)to = (uint16_t)v;
	return 0;
}

int msg_take(struct json_object *msg, const struct msg_field *rows, void *to)
{
	for (const struct msg_field *f = rows; f->key; f++) {
		struct json_object *o;

		if (!json_object_object_get_ex(msg, f->key, &o) ||
		    take_one(o, f, (char *)to + f->offset))
			return -EBADMSG;
	}
	return 0;
}

/* Names of what the program calls by number, so that both sides may count differently. */
struct cause_words {
	char stage[24], direction[16], hook[24];
};

static const struct msg_field cause_words[] = {
	{"stage", MSG_TEXT, offsetof(struct cause_words, stage), 24, 0},
	{"direction", MSG_TEXT, offsetof(struct cause_words, direction), 16, 0},
	{"hook", MSG_TEXT, offsetof(struct cause_words, hook), 24, 0},
	{0},
};

static const struct msg_field cause_fields[] = {
	{"reason", MSG_TEXT, offsetof(struct result_cause, reason), REASON_NAME, 0},
	{"location", MSG_TEXT, offsetof(struct result_cause, location), KSYM_NAME, 0},
	{"ifname", MSG_TEXT, offsetof(struct result_cause, ifname), 16, 0},
	{"netns", MSG_TEXT, offsetof(struct result_cause, netns), 16, 0},
	{0},
};

struct cause_counts {
	uint16_t id;
	struct trace_count count;
};

static const struct msg_field cause_counts[] = {
	{"id", MSG_U16, offsetof(struct cause_counts, id), 0, TRACE_CAUSES - 1},
	{"events", MSG_U64, offsetof(struct cause_counts, count.events), 0, 0},
	{"packets", MSG_U64, offsetof(struct cause_counts, count.packets), 0, 0},
	{"bytes", MSG_U64, offsetof(struct cause_counts, count.bytes), 0, 0},
	{"memory", MSG_U64, offsetof(struct cause_counts, count.memory), 0, 0},
	{0},
};

struct json_object *msg_make_cause(const struct ledger_cause *c)
{
	struct json_object *o = msg_make("cause", cause_fields, &c->named);

	json_put_text(o, "stage", stage_name(c->named.stage));
	json_put_text(o, "direction", c->named.direction);
	json_put_text(o, "hook", c->named.hook);
	json_put_u64(o, "id", c->raw.index);
	json_put_u64(o, "events", c->raw.count.events);
	json_put_u64(o, "packets", c->raw.count.packets);
	json_put_u64(o, "bytes", c->raw.count.bytes);
	json_put_u64(o, "memory", c->raw.count.memory);
	return o;
}

static enum stage known_stage(const char *word)
{
	for (int s = 0; s < STAGE_COUNT; s++) {
		if (!strcmp(stage_name(s), word))
			return s;
	}
	return STAGE_OTHER; /* of a program that knows more */
}

static const char *known_direction(const char *word)
{
	for (int d = DIRECTION_RX; d <= DIRECTION_FORWARD; d++) {
		if (!strcmp(direction_name(d), word))
			return direction_name(d);
	}
	return NULL;
}

static const char *known_hook(const char *word)
{
	for (int h = HOOK_NONE + 1; h <= HOOK_POSTROUTING; h++) {
		if (!strcmp(netfilter_hook_name(h), word))
			return netfilter_hook_name(h);
	}
	return NULL;
}

int msg_take_cause(struct json_object *msg, struct ledger_cause *c)
{
	struct cause_words words;
	struct cause_counts counts;

	memset(c, 0, sizeof(*c));
	if (msg_take(msg, cause_fields, &c->named) || msg_take(msg, cause_words, &words) ||
	    msg_take(msg, cause_counts, &counts) || !counts.id)
		return -EBADMSG;
	c->named.stage = known_stage(words.stage);
	c->named.direction = known_direction(words.direction);
	c->named.hook = known_hook(words.hook);
	c->verdict.class = VERDICT_LOSS;
	c->verdict.stage = c->named.stage;
	c->raw.index = (uint8_t)counts.id;
	c->raw.count = counts.count;
	return 0;
}

static const struct msg_field counter_fields[] = {
	{"name", MSG_TEXT, offsetof(struct result_counter, name), 96, 0},
	{"delta", MSG_U64, offsetof(struct result_counter, delta), 0, 0},
	{"expected", MSG_U64, offsetof(struct result_counter, expected), 0, 0},
	{"agrees", MSG_BOOL, offsetof(struct result_counter, agrees), 0, 0},
	{"documented", MSG_BOOL, offsetof(struct result_counter, documented), 0, 0},
	{0},
};

struct counter_words {
	char stage[24], scope[16];
};

static const struct msg_field counter_words[] = {
	{"stage", MSG_TEXT, offsetof(struct counter_words, stage), 24, 0},
	{"scope", MSG_TEXT, offsetof(struct counter_words, scope), 16, 0},
	{0},
};

struct json_object *msg_make_counter(const struct result_counter *c)
{
	struct json_object *o = msg_make("counter", counter_fields, c);

	json_put_text(o, "stage", stage_name(c->stage));
	json_put_text(o, "scope", c->scope);
	return o;
}

int msg_take_counter(struct json_object *msg, struct result_counter *c)
{
	struct counter_words words;

	memset(c, 0, sizeof(*c));
	if (msg_take(msg, counter_fields, c) || msg_take(msg, counter_words, &words))
		return -EBADMSG;
	c->stage = known_stage(words.stage);
	for (int s = COUNTER_FLOW; s <= COUNTER_HOST; s++) {
		if (!strcmp(counter_scope_name(s), words.scope))
			c->scope = counter_scope_name(s);
	}
	return c->scope ? 0 : -EBADMSG;
}

bool msg_plan_valid(const struct peer_plan *plan)
{
	if (!fates_numbers_valid(&plan->numbers) || !plan->flows || !plan->count || !plan->port)
		return false;
	if (!plan->reverse)
		return true;
	return plan->payload >= STAMP_LEN &&
	       (!plan->shaped || shape_valid(&plan->shape, plan->numbers.streams));
}
