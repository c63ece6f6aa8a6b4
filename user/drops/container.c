// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/owners.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/proc.h"

#define ID_DIGITS    64
#define SHOWN_DIGITS 12 /* as `docker ps` and `crictl ps` */
#define UUID_CHARS   36

const struct container_row container_rows[] = {
	/* systemd gets "parent.slice:docker:ID" from runc, which a row with a parent covers */
	{"docker", NULL, "docker-", ".scope", FORM_ID},
	{"docker", "docker", "", "", FORM_ID},

	/* containerd's CRI plugin (getCgroupsPath()), nerdctl */
	{"containerd", NULL, "cri-containerd-", ".scope", FORM_ID},
	{"containerd", "cri-containerd", "", "", FORM_ID},
	{"containerd", NULL, "nerdctl-", ".scope", FORM_ID},

	/* CRI-O; conmon monitors a container from outside */
	{"cri-o", NULL, "crio-conmon-", "", FORM_BESIDE},
	{"cri-o", NULL, "crio-", ".scope", FORM_ID},
	{"cri-o", NULL, "crio-", "", FORM_ID},
	{"cri-o", "crio", "", "", FORM_ID},

	/* Podman; the payload if --cgroups=split is used */
	{"podman", NULL, "libpod-conmon-", "", FORM_BESIDE},
	{"podman", NULL, "libpod-payload-", "", FORM_ID},
	{"podman", NULL, "libpod-", ".scope", FORM_ID},
	{"podman", NULL, "libpod-", "", FORM_ID},
	{"podman", "libpod", "", "", FORM_ID},

	/* LXC 4 and later, LXD, Incus; earlier /lxc/NAME. The monitor is outside the container. */
	{"lxc", NULL, "lxc.monitor", "", FORM_BESIDE},
	{"lxc", NULL, "lxc.payload.", "", FORM_NAME},
	{"lxc", "lxc.payload", "", "", FORM_NAME},
	{"lxc", "lxc", "", "", FORM_NAME},

	/* systemd-nspawn; machined scopes may also be virtual machines */
	{"systemd-nspawn", NULL, "systemd-nspawn@", ".service", FORM_NAME},
	{"machine", "machine.slice", "machine-", ".scope", FORM_NAME},

	/*
	 * a child of a pod with the cgroupfs driver, `ctr run`, ECS: the path does not contain the
	 * runtime
	 */
	{"oci", NULL, "", "", FORM_ID},
};

const unsigned container_rows_n = sizeof(container_rows) / sizeof(container_rows[0]);

/* A component of the path, or part of one. */
struct part {
	const char *p;
	size_t n;
};

static bool all_hex(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!isxdigit((unsigned char)p[i]))
			return false;
	}
	return true;
}

/* Strips prefix and suffix. Returns false if either is missing or nothing is left. */
static bool strip(struct part *part, const char *prefix, const char *suffix)
{
	size_t before = strlen(prefix), after = strlen(suffix);

	if (part->n <= before + after || memcmp(part->p, prefix, before) ||
	    memcmp(part->p + part->n - after, suffix, after))
		return false;
	part->p += before;
	part->n -= before + after;
	return true;
}

/* Undoes systemd-escape(1): '-' and bytes not allowed in unit names are written as \xHH. */
static void copy_unescaped(char *out, size_t size, struct part part)
{
	size_t n = 0;

	for (size_t i = 0; i < part.n && n + 1 < size; i++) {
		unsigned byte = (unsigned char)part.p[i];

		if (byte == '\\' && part.n - i >= 4 && part.p[i + 1] == 'x' &&
		    all_hex(part.p + i + 2, 2)) {
			sscanf(part.p + i + 2, "%2x", &byte);
			i += 3;
		}
		out[n++] = (char)byte;
	}
	out[n] = '\0';
}

/*
 * Returns true if the component names a container. Fills in `out`, or clears it for a helper that
 * runs next to a container.
 */
static bool read_container(struct part parent, struct part component, struct container *out)
{
	for (unsigned i = 0; i < container_rows_n; i++) {
		const struct container_row *row = &container_rows[i];
		struct part inner = component;

		if ((row->parent && (strlen(row->parent) != parent.n ||
				     memcmp(parent.p, row->parent, parent.n) != 0)) ||
		    !strip(&inner, row->prefix, row->suffix) ||
		    (row->form == FORM_ID && (inner.n != ID_DIGITS || !all_hex(inner.p, inner.n))))
			continue;
		out->runtime = row->form == FORM_BESIDE ? NULL : row->runtime;
		out->id[0] = '\0';
		if (out->runtime)
			copy_unescaped(out->id, sizeof(out->id), inner);
		return true;
	}
	return false;
}

/* Reads a UUID, with '_' instead of '-' in systemd slices, or the hash of a static pod. */
static bool read_uid(struct part part, char uid[CONTAINER_UID])
{
	if (part.n == 32 && all_hex(part.p, part.n)) {
		snprintf(uid, CONTAINER_UID, "%.32s", part.p);
		return true;
	}
	if (part.n != UUID_CHARS)
		return false;
	for (unsigned i = 0; i < UUID_CHARS; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? part.p[i] != '-' && part.p[i] != '_' : !all_hex(part.p + i, 1))
			return false;
	}
	for (unsigned i = 0; i < UUID_CHARS; i++)
		uid[i] = part.p[i] == '_' ? '-' : part.p[i];
	uid[UUID_CHARS] = '\0';
	return true;
}

/* Reads "podUID", or with systemd "kubepods[-QOS]-podUID.slice". A pod resets the container. */
static bool read_pod(struct part component, struct container *out)
{
	const char *pod = memmem(component.p, component.n, "-pod", 4);
	struct part uid = component;

	if (strip(&uid, "", ".slice") && pod)
		uid = (struct part){pod + 1, uid.n - (size_t)(pod + 1 - uid.p)};
	if (!strip(&uid, "pod", "") || !read_uid(uid, out->uid))
		return false;
	out->runtime = NULL;
	out->id[0] = '\0';
	return true;
}

bool container_of_cgroup(const char *path, struct container *out)
{
	struct part parent = {"", 0}, component;
	bool found = false;

	memset(out, 0, sizeof(*out));
	for (const char *p = path; *p; p += component.n) {
		p += strspn(p, "/:");
		component = (struct part){p, strcspn(p, "/:")};
		if (read_pod(component, out) || read_container(parent, component, out))
			found = true;
		parent = component;
	}
	return found && (out->runtime || out->uid[0]);
}

/* Copies [p, end). Returns false if the text is empty or too long. */
static bool copy(char *out, size_t size, const char *p, const char *end)
{
	if (end <= p || (size_t)(end - p) >= size)
		return false;
	snprintf(out, size, "%.*s", (int)(end - p), p);
	return true;
}

/* Reads NAMESPACE_POD_UID. Names in Kubernetes do not contain '_'. */
static bool read_pod_log(const char *name, struct container *c)
{
	const char *first = strchr(name, '_'), *last = strrchr(name, '_');

	if (!first || first == last || strcmp(last + 1, c->uid))
		return false;
	return copy(c->k8s_ns, sizeof(c->k8s_ns), name, first) &&
	       copy(c->pod, sizeof(c->pod), first + 1, last);
}

/* POD_NAMESPACE_NAME-ID.log */
static bool read_container_log(const char *name, struct container *c)
{
	const char *pod_end = strchr(name, '_'), *dash = strrchr(name, '-');
	const char *ns_end = pod_end ? strchr(pod_end + 1, '_') : NULL;
	size_t id = strlen(c->id);

	if (!ns_end || !dash || dash < ns_end || strncmp(dash + 1, c->id, id) ||
	    strcmp(dash + 1 + id, ".log"))
		return false;
	return copy(c->name, sizeof(c->name), ns_end + 1, dash) &&
	       copy(c->pod, sizeof(c->pod), name, pod_end) &&
	       copy(c->k8s_ns, sizeof(c->k8s_ns), pod_end + 1, ns_end);
}

bool container_find(int root, const char *path, struct container *out)
{
	static const struct {
		const char *dir;
		bool (*fits)(const char *name, struct container *c);
	} logs[] = {
		{"var/log/pods", read_pod_log},
		{"var/log/containers", read_container_log},
	};

	if (!container_of_cgroup(path, out))
		return false;
	for (unsigned i = 0; i < 2; i++) {
		bool wanted = i ? out->runtime && out->id[0] : out->uid[0];
		DIR *dir = wanted ? proc_dir(root, "%s", logs[i].dir) : NULL;
		struct dirent *e;

		while (dir && (e = readdir(dir)) && !logs[i].fits(e->d_name, out))
			;
		if (dir)
			closedir(dir);
	}
	return true;
}

char *container_text(const struct container *c, char *buf, unsigned size)
{
	size_t id = strlen(c->id);

	if (!c->runtime)
		buf[0] = '\0';
	else if (c->pod[0] && c->name[0])
		snprintf(buf, size, "%s/%s/%s", c->k8s_ns, c->pod, c->name);
	else if (c->name[0])
		snprintf(buf, size, "%s", c->name);
	else
		snprintf(buf, size, "%.*s",
			 id == ID_DIGITS && all_hex(c->id, id) ? SHOWN_DIGITS : (int)id, c->id);
	return buf;
}

char *container_pod_text(const struct container *c, char *buf, unsigned size)
{
	if (c->pod[0])
		snprintf(buf, size, "%s/%s", c->k8s_ns, c->pod);
	else if (c->uid[0])
		snprintf(buf, size, "pod-%s", c->uid);
	else
		buf[0] = '\0';
	return buf;
}
