// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <stdio.h>

#include "cli/options.h"
#include "host/caps.h"
#include "host/lab.h"
#include "experiment/faults/fault.h"

enum lab_action { LAB_UP, LAB_DOWN, LAB_LIST };

struct lab_options {
	struct global_options global;
	int action;
	const char *name;
	bool named;
	int topology;
	unsigned queues;
	uint64_t mtu;
	struct fault_list faults;
	bool print;
};

static const struct lab_options defaults = {.name = "lab", .queues = 1, .mtu = 1500};

static const struct opt_value actions[] = {
	{"up", LAB_UP, "create the namespaces NAME-tx and NAME-rx and the path between them"},
	{"down", LAB_DOWN, "remove them"},
	{"list", LAB_LIST, "list all test networks"},
	{0},
};

static int parse_faults(const char *value, void *field, struct error *err)
{
	return fault_parse(value, false, field, err);
}

#define AT(member) offsetof(struct lab_options, member)

static const struct opt lab_opts[] = {
	{"topology", 0, OPT_ENUM, AT(topology), .values = lab_topologies,
	 .help = "network to create"},
	{"queues", 0, OPT_UINT, AT(queues), .min = 1, .max = 64,
	 .help = "number of queues per interface"},
	{"mtu", 0, OPT_SIZE, AT(mtu), .min = 1280, .max = 65535, .help = "MTU of the links"},
	{"fault", 0, OPT_CUSTOM, AT(faults), .metavar = "LIST", .values = fault_values,
	 .parse = parse_faults, .default_text = "none",
	 .help = "drop UDP packets on purpose (like run --fault)"},
	{"print", 0, OPT_FLAG, AT(print), .excludes = "json json-lines",
	 .help = "print the commands that lab up runs, and change nothing"},
	{0},
};

static const struct opt lab_args[] = {
	{"up|down|list", 0, OPT_ENUM, AT(action), .values = actions, .required = true,
	 .default_text = "",
	 .help = "action"},
	{"NAME", 0, OPT_STRING, AT(name), .set_offset = OPT_SET(struct lab_options, named),
	 .help = "name of the test network"},
	{0},
};

static const struct opt_group lab_groups[] = {
	{"Lab", lab_opts, 0},
	{"Output", global_opts, AT(global)},
	{0},
};

static struct json_object *port_json(const struct lab_port *p)
{
	struct json_object *o = json_object_new_object();
	const struct lab_text text = lab_text(p);

	json_put_text(o, "ifname", p->ifname);
	json_put_text(o, "ipv4", text.ip4);
	json_put_text(o, "ipv6", text.ip6);
	return o;
}

static void show_lab(const struct lab_options *o, struct json_out *json, const struct lab *lab)
{
	static const char *const roles[] = {"tx", "rx"};
	const struct lab_port *const ports[] = {&lab->tx, &lab->rx};
	const bool text = !json && !o->global.quiet;

	json_out_once(json, "name", json_text(o->name));
	if (text)
		printf("lab '%s' is up:\n", o->name);
	for (unsigned i = 0; i < 2; i++) {
		struct json_object *port = port_json(ports[i]);

		if (text)
			printf("  %s-%-8s %-6s %-15s %s\n", o->name, roles[i],
			       json_get_text(port, "ifname"), json_get_text(port, "ipv4"),
			       json_get_text(port, "ipv6"));
		json_out_once(json, roles[i], port);
	}
	if (text)
		printf("use it: ip netns exec %s-rx ..., pktledger run --lab %s; remove it: "
		       "pktledger lab down %s\n",
		       o->name, o->name, o->name);
}

/*
 * Prints the commands that create a test network with any faults, including faults that only `run`
 * can inject.
 */
static int print(const struct lab_options *o, const struct lab_spec *spec, struct error *err)
{
	struct recipe r = RECIPE;
	struct lab lab;
	int rc;

	lab_plan(&lab, spec);
	lab_recipe(&lab, spec, &r);
	rc = fault_lab_recipe(&o->faults, &lab, &r, err);
	if (rc)
		list_free(&r.steps);
	else
		lab_print(&lab, o->name, &r, stdout);
	return rc;
}

static int up(const struct lab_options *o, struct json_out *json, struct error *err)
{
	struct lab_spec spec = {
		.topology = o->topology, .queues = o->queues, .mtu = (unsigned)o->mtu};
	struct lab lab;
	int rc = fault_lab_topology(&o->faults, o->print, &spec.topology, err);

	if (!rc && spec.topology == LAB_TAP)
		rc = error_set(err, STATUS_UNABLE, -EOPNOTSUPP, "use run --topology tap",
			       "a test network with taps exists only while a process forwards its frames");
	if (!rc)
		rc = lab_check_free(o->name, err);
	if (rc || o->print)
		return rc ? rc : print(o, &spec, err);
	rc = lab_open(&lab, &spec, err);
	if (rc)
		return rc;
	rc = fault_lab_apply(&o->faults, &lab, err);
	if (!rc)
		rc = lab_publish(&lab, o->name, err);
	if (!rc)
		show_lab(o, json, &lab);
	lab_close(&lab);
	return rc;
}

static int add_lab(void *arg, const struct lab_info *info)
{
	struct json_object *o = json_add_object(arg);

	json_put_text(o, "name", info->name);
	json_put_text(o, "topology", lab_topologies[info->topology].name);
	json_put_u64(o, "queues", info->queues);
	json_put_u64(o, "mtu", info->mtu);
	json_put_bool(o, "whole", info->whole);
	return 0;
}

static int list(struct json_out *json, struct error *err)
{
	struct json_object *labs = json_object_new_array();
	int rc = lab_list(add_lab, labs, err);

	for (size_t i = 0; i < json_object_array_length(labs) && !json; i++) {
		const struct json_object *lab = json_object_array_get_idx(labs, i);
		uint64_t queues = json_get_u64(lab, "queues");

		printf("%-20s %-8s %2u queue%s  mtu %u%s\n", json_get_text(lab, "name"),
		       json_get_text(lab, "topology"), (unsigned)queues, queues == 1 ? " " : "s",
		       (unsigned)json_get_u64(lab, "mtu"),
		       json_get_bool(lab, "whole")
			       ? ""
			       : "  (a namespace is missing: remove it with lab down)");
	}
	json_out_once(json, "labs", labs);
	return rc;
}

static int act(const struct lab_options *o, struct json_out *json, struct error *err)
{
	int rc;

	for (const struct opt *opt = lab_opts; opt->name && o->action != LAB_UP; opt++) {
		if (option_given(opt->name))
			return error_usage(err, NULL, "--%s is an option of lab up", opt->name);
	}
	if (o->action == LAB_LIST && o->named)
		return error_usage(err, NULL, "lab list takes no name");
	if (o->action == LAB_LIST)
		return list(json, err);
	if (o->print)
		return up(o, json, err);
	if (caps_require(&cmd_lab, o->faults.set ? "up --fault" : NULL, err))
		return -EPERM;
	if (o->action == LAB_UP)
		return up(o, json, err);
	rc = lab_remove(o->name, err);
	if (!rc)
		json_out_once(json, "name", json_text(o->name));
	return rc;
}

static int lab_run(void *options, struct error *err)
{
	const struct lab_options *o = options;
	struct json_out *json = global_json_out(&o->global, "pktledger/lab/1");
	int rc = act(o, json, err);

	return output_end(json, err) ? -EIO : rc;
}

static const struct opt_need needs[] = {
	{OPT_CAP(SYS_ADMIN), "to create and enter network namespaces"},
	{OPT_CAP(NET_ADMIN), "to create links, addresses and routes"},
	{OPT_CAP(BPF), "to load programs that drop packets", .when = "up --fault"},
	{0},
};

static const struct opt_example examples[] = {
	{"lab up", "create a test network named 'lab'"},
	{"lab up --fault netfilter=5%,tc_ingress",
	 "create one that drops UDP packets, for example to try trace"},
	{"lab up --fault netfilter=5% --print", "print the commands that create it"},
	{"run --lab lab -c 100k", "run an experiment in it"},
	{"lab down", "remove it"},
	{0},
};

const struct command cmd_lab = {
	.name = "lab",
	.summary = "create, list and remove test networks (namespaces with links)",
	.description = "A named test network stays until it is removed, so other programs can use "
		       "it. Its namespaces, NAME-tx and NAME-rx, are visible to `ip netns`. "
		       "Addresses are from 198.18.0.0/15 and 2001:2::/48, and neighbours are "
		       "static. `run` without --lab creates a separate test network and removes it "
		       "at the end.",
	.groups = lab_groups,
	.args = lab_args,
	.defaults = &defaults,
	.size = sizeof(struct lab_options),
	.needs = needs,
	.examples = examples,
	.run = lab_run,
};
