// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/opt_vary.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/opt_value.h"

#define HINT	 "OPTION=VALUE,VALUE or OPTION=FIRST..LAST/STEP"
#define ROUNDING 1e-9 /* of steps of rates, which are no whole numbers */

static int usage(struct error *err, const char *hint, const char *what, const char *text)
{
	char quoted[OPT_QUOTE_MAX];

	return error_set(err, STATUS_USAGE, -EINVAL, hint, what, opt_quote(quoted, text));
}

/* FIRST..LAST/STEP, apart. */
struct range {
	const char *text; /* as given */
	char first[OPT_ITEM_LEN], last[OPT_ITEM_LEN], step[OPT_ITEM_LEN];
	bool factor; /* the step multiplies */
};

static void make_word(const struct opt *o, const char *text, char *word, size_t size)
{
	*word = '\0';
	if (!strcmp(text, "default"))
		return;
	if (o->type != OPT_FLAG)
		snprintf(word, size, "--%s=%s", o->name, text);
	else if (!strcmp(text, "on"))
		snprintf(word, size, "--%s", o->name);
}

static int add(struct opt_vary *v, const char *text, struct error *err)
{
	struct opt_vary_value *value = &v->at[v->n];
	const char *name = v->ref.opt->name;

	if (v->n == OPT_VARY_MAX)
		return error_set(err, STATUS_USAGE, -E2BIG, "use a larger step",
				 "--vary %s: more than %u values", name, OPT_VARY_MAX);
	if (v->ref.opt->type == OPT_FLAG && strcmp(text, "on") && strcmp(text, "off"))
		return error_set(err, STATUS_USAGE, -EINVAL, NULL,
				 "--vary %s: '%s' is not on or off", name, text);
	for (unsigned i = 0; i < v->n; i++) {
		if (!strcmp(v->at[i].text, text))
			return error_set(err, STATUS_USAGE, -EINVAL,
					 "--repeat measures a value again",
					 "--vary %s: '%s' is given twice", name, text);
	}
	snprintf(value->text, sizeof(value->text), "%s", text);
	make_word(v->ref.opt, text, value->word, sizeof(value->word));
	v->n++;
	return 0;
}

/* Cuts a range into its parts; false: it is none. */
static bool split(const char *item, struct range *r)
{
	const char *dots = strstr(item, ".."), *slash = dots ? strrchr(dots, '/') : NULL;
	const char *unit = slash ? slash + 1 : NULL;

	*r = (struct range){.text = item};
	if (!dots)
		return false;
	/* 1Gbit/l1..2Gbit/l1/100Mbit/l1: the step's own unit has a slash, too */
	if (unit && (!strcmp(unit, "l1") || !strcmp(unit, "l2"))) {
		slash = memrchr(dots, '/', (size_t)(slash - dots));
		if (slash && slash[1] == 'l') /* a last value with a unit, and no step */
			slash = NULL;
	}
	if (!slash)
		slash = item + strlen(item);
	snprintf(r->first, sizeof(r->first), "%.*s", (int)(dots - item), item);
	snprintf(r->last, sizeof(r->last), "%.*s", (int)(slash - dots - 2), dots + 2);
	r->factor = *slash && slash[1] == 'x';
	snprintf(r->step, sizeof(r->step), "%s", *slash ? slash + 1 + r->factor : "");
	return true;
}

static int read_factor(const struct range *r, double *factor, struct error *err)
{
	struct rate f;

	/* a plain number above 1, fractions allowed */
	if (num_rate(r->step, &f) || f.unit != RATE_PPS || f.value <= 1)
		return usage(err, "for example 64k..4m/x2",
			     "--vary: the factor of '%s' is not above 1", r->text);
	*factor = f.value;
	return 0;
}

static int backwards(const struct range *r, struct error *err)
{
	return usage(err, "the lower end first: FIRST..LAST/STEP", "--vary: '%s' runs backwards",
		     r->text);
}

static int no_step(const struct range *r, struct error *err)
{
	return usage(err, "FIRST..LAST/STEP, or /x2 to double", "--vary: '%s' needs a step above 0",
		     r->text);
}

static int number(const struct opt *o, const char *text, uint64_t *v)
{
	int rc = opt_value_number(o, text, v);

	return rc == -ENOTSUP ? num_size(text, v) : rc;
}

static int add_numbers(struct opt_vary *v, const struct range *r, struct error *err)
{
	const struct opt *o = v->ref.opt;
	uint64_t first, last, step = 0;
	double factor = 1;
	int rc;

	if (number(o, r->first, &first) || number(o, r->last, &last))
		return usage(err, HINT, "--vary: the ends of '%s' are not values of the option",
			     r->text);
	if (first > last)
		return backwards(r, err);
	if (r->factor && !first)
		return usage(err, "start above 0", "--vary: '%s' stays 0 however it is multiplied",
			     r->text);
	rc = r->factor ? read_factor(r, &factor, err)
		       : (number(o, r->step, &step) || !step ? no_step(r, err) : 0);
	while (!rc) {
		char text[OPT_ITEM_LEN];
		uint64_t next = step ? first + step : (uint64_t)llround((double)first * factor);

		if (o->type == OPT_CUSTOM)
			snprintf(text, sizeof(text), "%llu", (unsigned long long)first);
		else
			opt_value_number_text(o, first, text, sizeof(text));
		rc = add(v, text, err);
		if (next > last || next <= first) /* the end, or an overflow */
			break;
		first = next;
	}
	return rc;
}

/* Without what sums in binary leave behind: 0.3, not 0.30000000000000004. */
static double rounded(double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.12g", value);
	return strtod(text, NULL);
}

static int add_rates(struct opt_vary *v, const struct range *r, struct error *err)
{
	struct rate first, last, step = {0}, now;
	double factor = 1;
	int rc = 0;

	if (num_rate(r->first, &first) || num_rate(r->last, &last) || first.unit == RATE_MAX ||
	    first.unit != last.unit)
		return usage(err, "for example 100k..1M/100k",
			     "--vary: the ends of '%s' are not two rates of one unit", r->text);
	if (first.value > last.value)
		return backwards(r, err);
	if (r->factor)
		rc = read_factor(r, &factor, err);
	else if (num_rate(r->step, &step) || step.unit != first.unit)
		rc = no_step(r, err);
	now = first;
	for (unsigned i = 1; !rc && now.value <= last.value * (1 + ROUNDING); i++) {
		char text[FMT_MAX];

		rc = add(v, num_text_rate(text, sizeof(text), &now), err);
		now.value = rounded(r->factor ? now.value * factor : first.value + i * step.value);
	}
	return rc;
}

static bool is_number(const struct opt *o, const char *text)
{
	struct rate rate;
	uint64_t v;

	return o->type == OPT_RATE ? !num_rate(text, &rate) : !number(o, text, &v);
}

static int add_item(struct opt_vary *v, const char *item, struct error *err)
{
	const struct opt *o = v->ref.opt;
	struct range r;

	if (!split(item, &r) || (o->type == OPT_CUSTOM && (!*r.step || !is_number(o, r.first))))
		return add(v, item, err);
	if (o->type == OPT_RATE)
		return add_rates(v, &r, err);
	if (o->type != OPT_CUSTOM && opt_value_number(o, "1", &(uint64_t){0}) == -ENOTSUP)
		return add(v, item, err);
	return add_numbers(v, &r, err);
}

int opt_vary_parse(const struct command *cmd, const char *text, struct opt_vary *v,
		   struct error *err)
{
	size_t len = strcspn(text, "=");
	char name[OPT_ITEM_LEN], item[OPT_ITEM_LEN];
	int rc;

	v->n = 0;
	if (!text[len] || !len || len >= sizeof(name))
		return usage(err, HINT, "--vary: '%s' is not OPTION=LIST", text);
	snprintf(name, sizeof(name), "%.*s", (int)len, text);
	rc = opt_find(cmd, name, &v->ref, err);
	for (text += len + 1; !rc; text += len + 1) {
		len = strcspn(text, ",");
		if (!len)
			return usage(err, HINT, "--vary %s: the list is empty, or an item of it",
				     name);
		if (len >= sizeof(item))
			return usage(err, NULL, "--vary: '%s' is too long", text);
		snprintf(item, sizeof(item), "%.*s", (int)len, text);
		rc = add_item(v, item, err);
		if (!text[len])
			break;
	}
	return rc;
}
