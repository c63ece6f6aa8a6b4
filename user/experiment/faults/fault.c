// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/faults/fault.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/opt.h"
#include "drops/stages_data.h"
#include "experiment/faults/fault_table.h"
#include "drops/stagemap.h"

#define ITEM_LEN 64

enum stage fault_stage(enum fault fault)
{
	const char *name = fault_values[fault].name;
	size_t len = strcspn(name, ":");

	for (int s = 0; s < STAGE_COUNT; s++) {
		if (strlen(stage_name(s)) == len && !strncmp(stage_name(s), name, len))
			return s;
	}
	return STAGE_OTHER;
}

bool fault_is_host_global(enum fault fault)
{
	return fault_rows[fault].host_global;
}

static int bad(struct error *err, const char *hint, const char *what, const char *item)
{
	return error_set(err, STATUS_USAGE, -EINVAL, hint, "%s: %s", item, what);
}

static bool has_fault(enum stage stage)
{
	for (unsigned i = 0; i < FAULT_COUNT; i++) {
		if (fault_stage(i) == stage)
			return true;
	}
	return false;
}

/* A stage at which nothing here can lose packets on purpose. */
static int no_fault_of(enum stage stage, struct error *err)
{
	return error_set(
		err, STATUS_UNABLE, -EOPNOTSUPP, "selftest --catalogue tells of every stage",
		"nothing to inject at the stage %s: %s", stage_name(stage),
		stage_facts[stage].limit ? stage_facts[stage].limit : stage_facts[stage].mechanism);
}

static int unknown_name(const char *name, struct error *err)
{
	const char *names[FAULT_COUNT], *near;
	char hint[96] = "the value help lists all faults";

	for (int s = 0; s < STAGE_COUNT; s++) {
		if (!strcmp(name, stage_name(s)) && !has_fault(s))
			return no_fault_of(s, err);
	}
	for (unsigned i = 0; i < FAULT_COUNT; i++)
		names[i] = fault_values[i].name;
	near = opt_nearest(name, names, FAULT_COUNT);
	if (near)
		snprintf(hint, sizeof(hint), "did you mean %s?", near);
	return error_set(err, STATUS_USAGE, -EINVAL, hint, "there is no fault %s", name);
}

static int set_value(struct fault_list *list, enum fault fault, const char *value,
		     struct error *err)
{
	const char *name = fault_values[fault].name;
	struct rate rate;

	switch (fault_rows[fault].value) {
	case FAULT_VALUE_SHARE:
		if (!value) {
			list->share[fault] = FAULT_SHARE_DEFAULT / 100.0;
			return 0;
		}
		if (num_rate(value, &rate) || rate.unit != RATE_PERCENT)
			return bad(err, "a share is above 0% and at most 100%, as in 20%",
				   "the value is no share", name);
		list->share[fault] = rate.value / 100;
		return 0;
	case FAULT_VALUE_RATE:
		list->rate = (struct rate){.unit = RATE_MAX};
		if (value && (num_rate(value, &list->rate) || list->rate.unit == RATE_MAX ||
			      list->rate.unit == RATE_PERCENT))
			return bad(err, "give bits or packets a second, as in 50Mbit or 20k",
				   "the value is no rate", name);
		return 0;
	case FAULT_VALUE_NONE:
		break;
	}
	return value ? bad(err, NULL, "takes no value", name) : 0;
}

static int add(struct fault_list *list, char *item, struct error *err)
{
	char *value = strchr(item, '=');
	unsigned i;

	if (value)
		*value++ = '\0';
	for (i = 0; i < FAULT_COUNT && strcmp(item, fault_values[i].name); i++)
		;
	if (i == FAULT_COUNT)
		return unknown_name(item, err);
	if (fault_has(list, i))
		return bad(err, NULL, "given twice", item);
	list->set |= FAULT_BIT(i);
	return set_value(list, i, value, err);
}

static const char *first_name(uint64_t set)
{
	return fault_values[__builtin_ctzll(set)].name;
}

static int check_conflicts(const struct fault_list *list, struct error *err)
{
	for (unsigned i = 0; i < fault_conflict_count; i++) {
		const struct fault_conflict *c = &fault_conflicts[i];
		uint64_t a = list->set & c->a, b = list->set & c->b;

		a &= -a; /* the first of them */
		b &= ~a;
		if (a && b)
			return error_set(err, STATUS_USAGE, -EINVAL, "inject them one by one",
					 "%s and %s contradict each other: %s", first_name(a),
					 first_name(b), c->why);
	}
	return 0;
}

/* Those of the text by comma, whether they go together or not. */
static int add_all(const char *text, struct fault_list *list, struct error *err)
{
	char item[ITEM_LEN];
	size_t len;
	int ret;

	for (;; text += len + 1) {
		len = strcspn(text, ",");
		if (!len)
			return error_set(err, STATUS_USAGE, -EINVAL, NULL,
					 "an empty name in the list of faults");
		if (len >= sizeof(item))
			return error_set(err, STATUS_USAGE, -EINVAL,
					 "the value help lists all faults",
					 "there is no fault with so long a name");
		memcpy(item, text, len);
		item[len] = '\0';
		ret = add(list, item, err);
		if (ret || !text[len])
			return ret;
	}
}

int fault_parse(const char *text, struct fault_list *list, struct error *err)
{
	struct fault_list copy = *list;
	int ret = add_all(text, &copy, err);

	if (!ret)
		ret = check_conflicts(&copy, err);
	if (!ret)
		*list = copy;
	return ret;
}

int fault_parse_each(const char *text, struct fault_list *list, struct error *err)
{
	struct fault_list copy = *list;
	int ret = add_all(text, &copy, err);

	if (!ret)
		*list = copy;
	return ret;
}
