// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/opt.h"

#include "base/json_put.h"
#include "base/opt_value.h"

static struct json_object *describe_values(const struct opt_value *values)
{
	struct json_object *list = json_object_new_array();

	for (const struct opt_value *v = values; v && v->name; v++) {
		struct json_object *o = json_object_new_object();

		json_put_text(o, "name", v->name);
		json_put_text(o, "title", v->title);
		json_object_array_add(list, o);
	}
	return list;
}

static struct json_object *describe_option(const struct opt *opt, const char *base)
{
	struct json_object *o = json_object_new_object();
	char text[OPT_TEXT_MAX];

	json_put_text(o, "name", opt->name);
	json_put_text(o, "letter", (char[]){opt->letter, '\0'});
	json_put_text(o, "type", opt_type_name(opt->type));
	json_put_text(o, "metavar", opt_metavar(opt));
	json_put_text(o, "help", opt->help);
	opt_default_text(opt, base, text, sizeof(text));
	json_put_text(o, "default", text);
	json_put_text(o, "excludes", opt->excludes);
	json_put_bool(o, "required", opt->required);
	json_put(o, "values", describe_values(opt->values));
	return o;
}

static struct json_object *describe_options(const struct opt *opts, const char *base)
{
	struct json_object *list = json_object_new_array();

	for (const struct opt *o = opts; o && o->name; o++)
		json_object_array_add(list, describe_option(o, base));
	return list;
}

static struct json_object *describe_groups(const struct command *cmd)
{
	struct json_object *list = json_object_new_array();
	const char *defaults = cmd->defaults;

	for (const struct opt_group *g = cmd->groups; g && g->opts; g++) {
		struct json_object *o = json_object_new_object();

		json_put_text(o, "title", g->title);
		json_put(o, "options",
			 describe_options(g->opts, defaults ? defaults + g->base : NULL));
		json_object_array_add(list, o);
	}
	return list;
}

static struct json_object *describe_needs(const struct opt_need *needs)
{
	struct json_object *list = json_object_new_array();

	for (const struct opt_need *n = needs; n && n->name; n++) {
		struct json_object *o = json_object_new_object();

		json_put_text(o, "name", n->name);
		json_put_text(o, "what", n->what);
		json_put_text(o, "when", n->when);
		json_put_text(o, "without", n->without);
		json_put_text(o, "keeps", n->keeps);
		json_object_array_add(list, o);
	}
	return list;
}

static struct json_object *describe_examples(const struct opt_example *examples)
{
	struct json_object *list = json_object_new_array();

	for (const struct opt_example *e = examples; e && e->line; e++) {
		struct json_object *o = json_object_new_object();

		json_put_text(o, "line", e->line);
		json_put_text(o, "what", e->what);
		json_object_array_add(list, o);
	}
	return list;
}

struct json_object *opt_describe(const struct command *cmd)
{
	struct json_object *o = json_object_new_object();

	json_put_text(o, "name", cmd->name);
	json_put_text(o, "summary", cmd->summary);
	json_put_text(o, "synopsis", cmd->synopsis);
	json_put_text(o, "description", cmd->description);
	json_put(o, "arguments", describe_options(cmd->args, cmd->defaults));
	json_put(o, "groups", describe_groups(cmd));
	json_put(o, "examples", describe_examples(cmd->examples));
	json_put(o, "capabilities", describe_needs(cmd->needs));
	json_put_text(o, "given_up", cmd->needs ? OPT_GIVEN_UP : NULL);
	json_put_text(o, "again", cmd->again);
	return o;
}
