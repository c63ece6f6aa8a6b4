// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "monitor/resolve.h"

#include <errno.h>
#include <net/if.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "base/opt.h"
#include "host/nl.h"
#include "drops/cgroup.h"
#include "base/proc.h"

#define NETNS_TRIES 3 /* passes over /proc */

static int unknown_reason(const char *name, const struct reasons *r, struct error *err)
{
	unsigned n = reasons_count(r);
	const char **names = calloc(n + 1, sizeof(*names)), *near = NULL;
	uint32_t value;

	if (names) {
		for (unsigned i = 0; i < n; i++)
			names[i] = reasons_at(r, i, &value);
		near = opt_nearest(name, names, n);
	}
	free(names);
	return error_set(err, STATUS_USAGE, -EINVAL, "see --reason help",
			 "this kernel has no drop reason '%s'%s%s%s", name,
			 near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
}

static int resolve_reasons(const char *list, const struct reasons *r, struct watch_spec *out,
			   struct error *err)
{
	if (!reasons_count(r))
		return error_set(err, STATUS_UNABLE, -EOPNOTSUPP, "leave --reason out",
				 "this kernel tells no drop reasons (Linux 5.17)");
	out->has_reasons = true;
	for (const char *p = list;; p++) {
		size_t len = strcspn(p, ",");
		char name[REASON_NAME];
		int value;

		snprintf(name, sizeof(name), "%.*s", (int)len, p);
		value = reasons_value(r, name);
		if (value < 0)
			return unknown_reason(name, r, err);
		if (value < WATCH_REASONS)
			out->reasons[value / 64] |= 1ULL << value % 64;
		p += len;
		if (!*p)
			return 0;
	}
}

int resolve_netns(const struct live_spec *spec, struct netns *ns, struct error *err)
{
	struct error quiet = {};
	uint64_t inum;
	int rc;

	if (!spec->netns)
		return netns_current(ns, err);
	rc = netns_open(ns, spec->netns, &quiet);
	if (rc == -ENOENT && spec->owners && !num_u64(spec->netns, 1, UINT32_MAX, &inum)) {
		for (int i = 0; i < NETNS_TRIES && rc; i++) {
			owners_tick(spec->owners);
			rc = owners_netns_open(spec->owners, (uint32_t)inum, ns, &quiet);
		}
	}
	if (rc == -ENOENT || rc == -EAGAIN)
		return error_set(err, STATUS_FAILED, -ENOENT, "see: ip netns; lsns -t net",
				 "there is no network namespace %s", spec->netns);
	if (rc)
		*err = quiet;
	return rc;
}

static int resolve_places(const struct live_spec *spec, struct watch_spec *out, struct error *err)
{
	struct netns ns = NETNS_NONE;
	int rc = resolve_netns(spec, &ns, err), saved;

	if (rc)
		return rc;
	out->netns = ns.inum;
	if (spec->ifname) {
		saved = netns_push(&ns);
		if (saved >= 0) {
			out->ifindex = if_nametoindex(spec->ifname);
			netns_pop(saved);
		}
		if (!out->ifindex)
			rc = error_set(err, STATUS_FAILED, -ENODEV, "see: ip link",
				       "no interface %s in %s", spec->ifname,
				       spec->netns ? spec->netns : "this network namespace");
	}
	netns_close(&ns);
	return rc;
}

static bool cgroup_is_there(const char *path)
{
	int root = proc_root(NULL);
	bool found = root < 0 || cgroup_exists(root, path);

	if (root >= 0)
		close(root);
	return found;
}

/* Of a namespace that was given by its number nothing is known here. */
static bool netns_gone(const char *name, uint32_t netns)
{
	struct netns ns = NETNS_NONE;
	struct error quiet = {};
	uint64_t inum;
	bool gone;

	if (!num_u64(name, 1, UINT32_MAX, &inum))
		return false;
	gone = netns_open(&ns, name, &quiet) == -ENOENT || (ns.fd >= 0 && ns.inum != netns);
	netns_close(&ns);
	return gone;
}

static bool interface_gone(const struct live_spec *spec, uint32_t ifindex)
{
	struct netns ns = NETNS_NONE;
	struct error quiet = {};
	int now = 0;

	if (!resolve_netns(spec, &ns, &quiet))
		now = nl_ifindex(&ns, spec->ifname);
	netns_close(&ns);
	return now == -ENODEV || (now > 0 && (uint32_t)now != ifindex);
}

bool resolve_gone(const struct live_spec *spec, uint32_t netns, uint32_t ifindex, char *what,
		  size_t size)
{
	if (spec->netns && netns_gone(spec->netns, netns))
		return snprintf(what, size, "network namespace %s", spec->netns);
	if (spec->ifname && interface_gone(spec, ifindex))
		return snprintf(what, size, "interface %s", spec->ifname);
	if (spec->pid && kill(spec->pid, 0) && errno == ESRCH)
		return snprintf(what, size, "process %d", (int)spec->pid);
	if (spec->cgroup && !cgroup_is_there(spec->cgroup))
		return snprintf(what, size, "cgroup %s", spec->cgroup);
	return false;
}

int resolve_spec(const struct live_spec *spec, const struct reasons *r, struct watch_spec *out,
		 struct error *err)
{
	int rc = 0;

	*out = (struct watch_spec){
		.by_flow = spec->by & LIVE_BIT(LIVE_FLOW),
		.by_sender = spec->senders || spec->pid || spec->cgroup,
		.socket_only = spec->pid || spec->cgroup,
	};
	if (spec->reasons)
		rc = resolve_reasons(spec->reasons, r, out, err);
	if (!rc && (spec->netns || spec->ifname))
		rc = resolve_places(spec, out, err);
	if (!rc && spec->pid && kill(spec->pid, 0) && errno == ESRCH)
		rc = error_set(err, STATUS_FAILED, -ESRCH, NULL, "there is no process %d",
			       (int)spec->pid);
	if (!rc && spec->cgroup && !cgroup_is_there(spec->cgroup))
		rc = error_set(err, STATUS_FAILED, -ENOENT, "see: systemd-cgls",
			       "there is no cgroup %s", spec->cgroup);
	return rc;
}
