// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/reason.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beside.h"
#include "base/file.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/num.h"

#define VMLINUX_BTF  "/sys/kernel/btf/vmlinux"
#define SUBSYS_SHIFT 16	 /* SKB_DROP_REASON_SUBSYS_SHIFT */
#define SUBSYS_MAX   256 /* far above any kernel's SKB_DROP_REASON_SUBSYS_NUM */
#define SUBSYS_NAME  "SKB_DROP_REASON_SUBSYS_"

struct reason {
	uint32_t value;
	char name[REASON_NAME];
};

/* A type in the BTF that may be asked for by its name. */
struct named_type {
	const char *name; /* of a tracepoint, without "btf_trace_" */
	uint32_t type;	  /* the tracepoint's function, as a pointer */
};

struct reasons {
	struct btf *btf;
	bool own;			      /* of the running kernel */
	struct list list;		      /* struct reason */
	struct list tracepoints;	      /* struct named_type */
	char subsys[SUBSYS_MAX][REASON_NAME]; /* "openvswitch"; "": the subsystem does not exist */
};

/* Enums of subsystems, and the module that defines each of them unless it is built in. */
static const struct {
	const char *type, *module;
} subsys_enums[] = {
	{"mac80211_drop_reason", "mac80211"}, /* net/mac80211/drop.h */
	{"ovs_drop_reason", "openvswitch"},   /* net/openvswitch/drop.h */
	{"qdisc_drop_reason", NULL},	      /* include/net/dropreason-qdisc.h */
};

/* Prefixes removed from names for display. If two match, the longer one comes first. */
static const char *const prefixes[] = {
	"SKB_DROP_REASON_", "SKB_",	 "RX_DROP_U_",	"RX_DROP_M_",
	"RX_DROP_",	    "OVS_DROP_", "QDISC_DROP_",
};

static const char *short_name(const char *name)
{
	for (unsigned i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		size_t len = strlen(prefixes[i]);

		if (!strncmp(name, prefixes[i], len) && name[len])
			return name + len;
	}
	return name;
}

/*
 * Adds the enum's reasons whose value is at least `least`. Skips enumerators that are bounds, masks
 * or bases. Adds nothing if the enum is missing.
 */
static void add_enum(struct reasons *r, const struct btf *btf, int id, uint32_t least)
{
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (__u32)id) : NULL;

	for (unsigned i = 0; t && i < btf_vlen(t); i++) {
		const struct btf_enum *e = btf_enum(t) + i;
		const char *name = btf__name_by_offset(btf, e->name_off);
		uint32_t value = e->val, subsys = value >> SUBSYS_SHIFT;
		const char *rest = name ? short_name(name) : NULL;
		struct reason *new;

		if (!name || value < least || !strncmp(name, "__", 2) || !strcmp(rest, "MAX") ||
		    !strcmp(rest, "SUBSYS_MASK") ||
		    (subsys && (subsys >= SUBSYS_MAX || !*r->subsys[subsys])))
			continue;
		new = list_add(&r->list);
		new->value = value;
		snprintf(new->name, sizeof(new->name), "%s%s%s", subsys ? r->subsys[subsys] : "",
			 subsys ? ":" : "", rest);
	}
}

static void read_subsystems(struct reasons *r, int id)
{
	const struct btf_type *t = id > 0 ? btf__type_by_id(r->btf, (__u32)id) : NULL;

	for (unsigned i = 0; t && i < btf_vlen(t); i++) {
		const struct btf_enum *e = btf_enum(t) + i;
		const char *name = btf__name_by_offset(r->btf, e->name_off);
		uint32_t value = e->val;
		char *subsys = r->subsys[value % SUBSYS_MAX];

		if (!name || strncmp(name, SUBSYS_NAME, strlen(SUBSYS_NAME)) ||
		    value >= SUBSYS_MAX || *subsys)
			continue;
		snprintf(subsys, REASON_NAME, "%s", name + strlen(SUBSYS_NAME));
		for (char *c = subsys; *c; c++)
			*c = tolower((unsigned char)*c);
	}
}

/* Adds the reasons of a loaded module. Packets cannot have reasons of a module not loaded. */
static void add_module_enum(struct reasons *r, const char *type, const char *module)
{
	char path[128];
	struct btf *btf;

	snprintf(path, sizeof(path), "/sys/kernel/btf/%s", module);
	if (access(path, R_OK))
		return;
	btf = btf__parse_split(path, r->btf);
	if (libbpf_get_error(btf))
		return; /* its reasons are displayed as REASON#n */
	add_enum(r, btf, btf__find_by_name_kind(btf, type, BTF_KIND_ENUM), 1 << SUBSYS_SHIFT);
	btf__free(btf);
}

/*
 * Finds the enums with these names, and all tracepoints, in one pass. Finding one name in the BTF
 * takes as long.
 */
static void find_types(struct reasons *r, const char *const *names, unsigned n, int *ids)
{
	for (__u32 id = 1; id < btf__type_cnt(r->btf); id++) {
		const struct btf_type *t = btf__type_by_id(r->btf, id);
		const char *name = btf__name_by_offset(r->btf, t->name_off);

		if (!name)
			continue;
		for (unsigned i = 0; btf_is_enum(t) && i < n; i++)
			ids[i] = strcmp(name, names[i]) ? ids[i] : (int)id;
		if (btf_is_typedef(t) && !strncmp(name, "btf_trace_", 10))
			*(struct named_type *)list_add(&r->tracepoints) =
				(struct named_type){name + 10, t->type};
	}
}

static void read_reasons(struct reasons *r)
{
	const char *names[2 + LENGTH(subsys_enums)] = {"skb_drop_reason_subsys", "skb_drop_reason"};
	int ids[LENGTH(names)] = {};

	for (unsigned i = 0; i < LENGTH(subsys_enums); i++)
		names[2 + i] = subsys_enums[i].type;
	find_types(r, names, LENGTH(names), ids);
	read_subsystems(r, ids[0]);
	add_enum(r, r->btf, ids[1], 0);
	for (unsigned i = 0; i < LENGTH(subsys_enums); i++) {
		unsigned before = r->list.n;

		add_enum(r, r->btf, ids[2 + i], 1 << SUBSYS_SHIFT);
		if (r->own && subsys_enums[i].module && r->list.n == before)
			add_module_enum(r, subsys_enums[i].type, subsys_enums[i].module);
	}
}

/* Parses a file of BTF. Maps the kernel's if possible, because it is read in pieces of a page. */
static struct btf *parse_btf(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *at = MAP_FAILED; /* before Linux 6.16 */
	struct btf *btf;
	struct stat st;

	if (fd >= 0 && !fstat(fd, &st))
		at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	fd_close(&fd);
	if (at == MAP_FAILED)
		return btf__parse(path, NULL);
	btf = btf__new(at, (__u32)st.st_size);
	munmap(at, (size_t)st.st_size);
	return btf;
}

static int read_btf(struct reasons **out, const char *path, struct error *err)
{
	struct reasons *r = mem_new(r);
	int ret;

	*out = NULL;
	r->own = !path;
	path = path ? path : VMLINUX_BTF;
	r->list.size = sizeof(struct reason);
	r->tracepoints.size = sizeof(struct named_type);
	r->btf = parse_btf(path);
	ret = libbpf_get_error(r->btf);
	if (ret) {
		free(r);
		return error_errno(err, STATUS_UNABLE, ret,
				   "a kernel built with CONFIG_DEBUG_INFO_BTF is needed",
				   "cannot read the kernel's type information %s", path);
	}
	read_reasons(r);
	*out = r;
	return 0;
}

/* The running kernel's, read once, because its BTF is large. Never freed. */
static struct reasons *own;
static struct beside reading; /* ends with `own` set, or with an error */

static void *read_own(void *arg)
{
	read_btf(arg, NULL, &(struct error){});
	return NULL;
}

void reasons_prepare(void)
{
	if (!reading.runs && !own)
		beside_start(&reading, read_own, &own);
}

int reasons_open(struct reasons **out, const char *btf_path, struct error *err)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	int rc = 0;

	if (btf_path)
		return read_btf(out, btf_path, err);
	pthread_mutex_lock(&lock);
	beside_end(&reading);
	if (!own)
		rc = read_btf(&own, NULL, err);
	*out = own;
	pthread_mutex_unlock(&lock);
	return rc;
}

void reasons_free(struct reasons *r)
{
	if (!r || r->own)
		return;
	list_free(&r->list);
	list_free(&r->tracepoints);
	btf__free(r->btf);
	free(r);
}

unsigned reasons_count(const struct reasons *r)
{
	return r->list.n;
}

const char **reasons_names(const struct reasons *r)
{
	const struct reason *reason = r->list.at;
	const char **names = mem_zero(r->list.n, sizeof(*names));

	for (unsigned i = 0; i < r->list.n; i++)
		names[i] = reason[i].name;
	return names;
}

const char *reasons_name(const struct reasons *r, uint32_t value, char *buf, unsigned size)
{
	const struct reason *known =
		list_find(&r->list, offsetof(struct reason, value), &value, sizeof(value));

	if (known)
		snprintf(buf, size, "%s", known->name);
	else if (r->list.n)
		snprintf(buf, size, "REASON#%u", value);
	else if (size)
		buf[0] = '\0';
	return buf;
}

int reasons_value(const struct reasons *r, const char *name)
{
	const struct reason *list = r->list.at;

	for (unsigned i = 0; i < r->list.n; i++) {
		if (!strcmp(list[i].name, name))
			return list[i].value;
	}
	return -ENOENT;
}

const char *reasons_reset(const struct reasons *r, int value, char *buf, unsigned size)
{
	static const char prefix[] = "SK_RST_REASON_";
	int id = btf__find_by_name_kind(r->btf, "sk_rst_reason", BTF_KIND_ENUM);
	const struct btf_type *t = id > 0 ? btf__type_by_id(r->btf, id) : NULL;

	*buf = '\0';
	for (unsigned i = 0; t && i < btf_vlen(t); i++) {
		const char *name = btf__name_by_offset(r->btf, btf_enum(t)[i].name_off);

		if (btf_enum(t)[i].val == value && !strncmp(name, prefix, sizeof(prefix) - 1))
			snprintf(buf, size, "%s", name + sizeof(prefix) - 1);
	}
	return buf;
}

int reasons_tracepoint_args(const struct reasons *r, const char *tracepoint)
{
	const struct named_type *known = r->tracepoints.at;
	const struct btf_type *t;
	unsigned i = 0;

	while (i < r->tracepoints.n && strcmp(known[i].name, tracepoint) != 0)
		i++;
	if (i == r->tracepoints.n)
		return -ENOENT;
	t = btf__type_by_id(r->btf, known[i].type);
	if (!t || !btf_is_ptr(t))
		return -ENOENT;
	t = btf__type_by_id(r->btf, t->type);
	if (!t || !btf_is_func_proto(t) || !btf_vlen(t))
		return -ENOENT;
	return btf_vlen(t) - 1; /* __data */
}

bool reasons_has_function(const struct reasons *r, const char *name)
{
	return btf__find_by_name_kind(r->btf, name, BTF_KIND_FUNC) > 0;
}

int reasons_kfree(const struct reasons *r, struct trace_kfree *k, struct error *err)
{
	int args = reasons_tracepoint_args(r, "kfree_skb");

	if (args < 0)
		return error_set(err, STATUS_UNABLE, args,
				 "it needs a kernel with tracepoints and BTF",
				 "this kernel has no tracepoint skb:kfree_skb");
	*k = (struct trace_kfree){
		.netfilter = reasons_value(r, "NETFILTER_DROP"),
		.otherhost = reasons_value(r, "OTHERHOST"),
		.packet_sock = reasons_value(r, "PACKET_SOCK_ERROR"),
		.dup_frag = reasons_value(r, "DUP_FRAG"),
		.qdisc = reasons_value(r, "QDISC_DROP"),
		.qdisc_generic = reasons_value(r, "qdisc:GENERIC"),
		.has_reason = args > 2,
		.has_rx_sk = args > 3,
	};
	return 0;
}
