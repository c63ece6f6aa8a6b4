// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cli/options.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "monitor/session.h"

static const struct opt_value stage_values[] = {
#define STAGE(id, name, title, ...) {name, STAGE_##id, title},
#include "stages.h"
	{0},
};

static const struct opt_value field_values[] = {
/* Has the same name as the option that filters by the field. */
#define FIELD_VALUE(id, name, title)                                                               \
	{LIVE_##id == LIVE_IFNAME ? "interface" : name, LIVE_##id, title},
	LIVE_FIELDS(FIELD_VALUE)
#undef FIELD_VALUE
		{0},
};

#define AT(member) offsetof(struct live_options, member)

const struct opt trace_filter_opts[] = {
	{"netns", 'n', OPT_STRING, AT(spec.netns), .metavar = "NAME", .default_text = "all",
	 .help = "only this network namespace: name, path or inode number"},
	{"pod", 0, OPT_STRING, AT(pod), .metavar = "NAMESPACE/NAME", .default_text = "all",
	 .excludes = "netns", .help = "only the network namespace of this Kubernetes pod"},
	{"interface", 'i', OPT_STRING, AT(spec.ifname), .metavar = "IFNAME", .default_text = "all",
	 .help = "only packets at this interface"},
	{"pid", 0, OPT_U64, AT(pid), .min = 1, .max = INT32_MAX, .default_text = "all",
	 .help = "only packets sent by this process or dropped at one of its sockets"},
	{"cgroup", 0, OPT_STRING, AT(spec.cgroup), .metavar = "PATH", .default_text = "all",
	 .help = "only packets of sockets in this cgroup or below it, for example /system.slice"},
	{"stage", 0, OPT_ENUMS, AT(stages), .values = stage_values, .default_text = "all",
	 .help = "only losses at these stages"},
	{"reason", 0, OPT_STRING, AT(spec.reasons), .metavar = "LIST", .default_text = "all",
	 .help = "only these drop reasons of the kernel (`help` lists them)"},
	{"consumed", 0, OPT_FLAG, AT(spec.consumed), .excludes = "reason",
	 .help = "also count packets freed as consumed: tc STOLEN, overlapping fragments (slower)"},
	{0},
};

const struct opt trace_view_opts[] = {
	{"by", 0, OPT_ENUMS, AT(by), .values = field_values,
	 .default_text = "reason,location,interface,netns,socket,process",
	 .help = "group losses by these columns"},
	{"inner", 0, OPT_FLAG, AT(spec.inner),
	 .help = "apply EXPR and flows to the packet inside a tunnel: VXLAN, Geneve, GRE, IP in "
		 "IP"},
	{"all", 0, OPT_FLAG, AT(all),
	 .help = "list expected drops, not just their total"},
	{"counters", 0, OPT_FLAG, AT(counters),
	 .help = "also show the rates of all interfaces, queues and counters of the namespace"},
	{"interval", 'I', OPT_TIME, AT(interval_ns), .min = 100000000,
	 .set_offset = OPT_SET(struct live_options, interval_set),
	 .help = "time between two tables"},
	{0},
};

const struct opt trace_tcp_opts[] = {
	{"balance", 0, OPT_FLAG, AT(balance), .excludes = TRACE_PARTS " inner",
	 .help = "explain every TCP retransmission of EXPR, or of all flows (see `trace "
		 "--balance`)"},
	{"flows", 0, OPT_COUNT, AT(flows), .min = 16, .max = 1 << 22, .needs = "balance",
	 .help = "keep at most N flows to bound the memory (see `trace`)"},
	{0},
};

const struct opt expr_arg[] = {
	{"EXPR", 0, OPT_WORDS, AT(expr), .help = "packet filter, see pcap-filter(7)",
	 .default_text = "all"},
	{0},
};

int pod_netns(const char *pod, const char **netns, struct error *err)
{
	static char path[OWNER_POD_PATH];
	struct owners *owners = NULL;
	int rc;

	if (!pod)
		return 0;
	rc = owners_open(&owners, "/", err);
	if (!rc)
		rc = owners_pod(owners, pod, path, err);
	if (!rc)
		*netns = path;
	owners_close(owners);
	return rc;
}

int trace_spec(const struct live_options *o, struct live_spec *spec, struct error *err)
{
	const unsigned owners = LIVE_BIT(LIVE_SOCKET) | LIVE_BIT(LIVE_PROCESS) |
				LIVE_BIT(LIVE_CGROUP) | LIVE_BIT(LIVE_CONTAINER) |
				LIVE_BIT(LIVE_POD);

	*spec = o->spec;
	spec->expr = *o->expr.text ? o->expr.text : NULL;
	spec->pid = (pid_t)o->pid;
	for (unsigned i = 0; i < o->stages.n; i++)
		spec->stages |= 1ULL << o->stages.at[i];
	for (unsigned i = 0; i < o->by.n; i++)
		spec->by |= LIVE_BIT(o->by.at[i]);
	spec->senders = spec->by & owners;
	spec->by = spec->by ? spec->by | LIVE_BY_STAGE : LIVE_BY_DEFAULT;
	if (spec->cgroup && *spec->cgroup != '/')
		return error_usage(err, "see: systemd-cgls", "--cgroup: '%s' does not begin with /",
				   spec->cgroup);
	return pod_netns(o->pod, &spec->netns, err);
}

int balance_spec(const struct live_options *o, const char *command, struct session *s,
		 struct error *err)
{
	struct flow_expressions *flow = &s->flow;
	struct live_spec *spec = &s->spec;

	s->tcp_flows = (unsigned)o->flows;
	if (trace_spec(o, spec, err))
		return -EINVAL;
	if (!o->balance)
		return 0;
	if (flow_expressions(flow, spec->expr ? spec->expr : "tcp", err))
		return -EINVAL;
	if (*flow->udp)
		return error_usage(err, *flow->tcp ? "add: and tcp" : "use trace --balance",
				   "--balance of %s is for TCP: '%s' %s", command, spec->expr,
				   *flow->tcp ? "matches both" : "is UDP");
	spec->expr = spec->expr ? flow->tcp : NULL;
	spec->unfragmented = true;
	return 0;
}

void trace_show_gaps(const struct live *l)
{
	struct live_own own;

	live_own(l, &own);
	if (own.no_places)
		log_warn("addresses of kernel functions are hidden (kernel.kptr_restrict, or no "
			 "CAP_SYSLOG): drop functions cannot be named, and some stages cannot be "
			 "told apart");
	if (own.no_reasons)
		log_warn("this kernel reports no drop reasons (Linux 5.17 does): only drop "
			 "functions are shown");
	if (own.no_sockets)
		log_warn("this kernel does not report which socket dropped a packet (Linux 6.11 "
			 "does): UDP sockets are found by the packets' destination address");
}

#define EVENT_NS 100 /* estimated kernel cost of one event */

int max_cpu_parse(const char *value, void *field, struct error *err)
{
	struct rate percent;

	if (num_rate(value, &percent) || percent.unit != RATE_PERCENT)
		return error_usage(err, NULL, "'%.40s' is not a percentage (examples: 1%%, 0.5%%)",
				   value);
	*(double *)field = percent.value / 100;
	return 0;
}

void overhead_limit(struct overhead *o, double max, struct live *l)
{
	const uint64_t now = clock_now(), time_ns = now - o->time_ns;
	const bool begun = o->time_ns;
	struct live_own own;
	uint64_t cost_ns, pause_ns;
	int rc;

	live_own(l, &own);
	cost_ns = own.cpu_ns + own.events * EVENT_NS;
	pause_ns = max > 0 ? (uint64_t)((double)(cost_ns - o->cost_ns) / max) : 0;
	*o = (struct overhead){cost_ns, now, o->resume_ns};
	if (o->resume_ns && now >= o->resume_ns) {
		rc = live_resume(l);
		log_warn(rc ? "cannot attach the programs again: %s"
			    : "the programs are attached again",
			 strerror(-rc));
		o->resume_ns = 0;
	} else if (!o->resume_ns && begun && pause_ns > time_ns) { /* excludes startup cost */
		live_pause(l);
		o->resume_ns = now + pause_ns - time_ns;
		log_warn("the overhead is %.1f %% of a CPU: the programs are detached for %s, and "
			 "only counters show drops",
			 (double)pause_ns / (double)time_ns * max * 100,
			 fmt_ns(pause_ns - time_ns));
	}
}
