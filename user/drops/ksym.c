// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/ksym.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/num.h"

#define FUNCTION_MAX (1 << 20) /* bytes; an address further away from a symbol is in no function */

struct entry {
	uint64_t addr;
	uint32_t name;	 /* offsets into text */
	uint32_t module; /* 0: not in a module; no name is stored at 0 */
};

struct ksyms {
	char *text;	  /* the file, with its lines split into strings in place */
	struct list list; /* struct entry, sorted by address */
	unsigned modules; /* number of modules loaded when the file was read */
	bool own;	  /* symbols of the running kernel */
};

/*
 * Parses a line, "ffffffff81000000 T name", followed by "\t[module]" for a module. Skips lines in
 * any other format and symbols that are not functions.
 */
static void parse_line(struct ksyms *k, char *line, bool *addresses)
{
	char *p = line, *name, *module;
	uint64_t addr = 0;

	for (; (*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'f'); p++)
		addr = addr << 4 | (*p <= '9' ? *p - '0' : *p - 'a' + 10);
	if (p == line || p[0] != ' ' || !p[1] || p[2] != ' ')
		return;
	if (addr)
		*addresses = true;
	if (!addr || !strchr("tTwW", p[1]))
		return;
	name = p + 3;
	module = strchr(name, '\t');
	if (module) {
		*module++ = '\0';
		if (*module == '[')
			module++;
		module[strcspn(module, "]")] = '\0';
	}
	*(struct entry *)list_add(&k->list) =
		(struct entry){addr, name - k->text, module ? module - k->text : 0};
}

/* Compares addresses. Names at the same address stay in file order. */
static int by_addr(const void *x, const void *y)
{
	const struct entry *a = x, *b = y;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

/*
 * The kernel's own symbols are already sorted. Those of modules and BPF programs, at higher
 * addresses, are not.
 */
static void sort(struct ksyms *k)
{
	const struct entry *list = k->list.at, *lowest;
	unsigned n = k->list.n, from = 1;

	while (from < n && by_addr(&list[from - 1], &list[from]) <= 0)
		from++;
	if (from >= n)
		return;
	lowest = &list[from];
	for (unsigned i = from; i < n; i++)
		lowest = by_addr(&list[i], lowest) < 0 ? &list[i] : lowest;
	while (from && by_addr(&list[from - 1], lowest) > 0)
		from--;
	qsort((struct entry *)k->list.at + from, n - from, sizeof(*list), by_addr);
}

static unsigned modules_loaded(void)
{
	unsigned n = 0;
	char *text;
	size_t len;

	if (file_read("/proc/modules", &text, &len))
		return 0;
	for (const char *p = text; (p = strchr(p, '\n')); p++)
		n++;
	free(text);
	return n;
}

static int read_symbols(struct ksyms *k, const char *path, struct error *err)
{
	bool addresses = false;
	char *rest, *line;
	size_t len = 0;
	int ret;

	k->modules = modules_loaded();
	ret = file_read(path, &k->text, &len);
	if (!ret && len >= UINT32_MAX)
		ret = -EFBIG;
	for (rest = k->text; !ret && (line = strsep(&rest, "\n"));)
		parse_line(k, line, &addresses);
	if (ret)
		return error_set(err, ret == -ENOMEM ? STATUS_FAILED : STATUS_UNABLE, ret, NULL,
				 "cannot read the kernel's symbols from %s: %s", path,
				 strerror(-ret));
	if (!addresses)
		return error_set(err, STATUS_UNABLE, -EPERM,
				 "run as root or with CAP_SYSLOG; kernel.kptr_restrict must not be "
				 "2",
				 "%s hides addresses: CAP_SYSLOG is missing", path);
	sort(k);
	return 0;
}

static struct ksyms *new_symbols(void)
{
	struct ksyms *k = mem_new(k);

	k->list.size = sizeof(struct entry);
	return k;
}

/* Kept from the previous user, because reading the kernel's own symbols takes 0.1 s of CPU time. */
static struct ksyms *kept;

int ksyms_open(struct ksyms **k, const char *path, struct error *err)
{
	int rc;

	if (!path && kept) {
		*k = kept;
		kept = NULL;
		ksyms_refresh(*k);
		return 0;
	}
	*k = new_symbols();
	(*k)->own = !path;
	rc = read_symbols(*k, path ? path : "/proc/kallsyms", err);
	if (rc) {
		ksyms_free(*k);
		*k = NULL;
	}
	return rc;
}

void ksyms_refresh(struct ksyms *k)
{
	struct ksyms *now, old = *k;

	if (k->modules == modules_loaded())
		return;
	now = new_symbols();
	if (!read_symbols(now, "/proc/kallsyms", &(struct error){})) {
		*k = *now;
		k->own = true;
		*now = old;
		now->own = false;
	}
	ksyms_free(now);
}

void ksyms_free(struct ksyms *k)
{
	if (!k)
		return;
	if (k->own && k->list.n && !kept) {
		kept = k;
		return;
	}
	free(k->text);
	list_free(&k->list);
	free(k);
}

/* Returns the index of the first symbol after an address. */
static unsigned behind(const struct ksyms *k, uint64_t addr)
{
	const struct entry *list = k->list.at;
	unsigned low = 0, high = k->list.n;

	while (low < high) {
		unsigned mid = low + (high - low) / 2;

		if (list[mid].addr <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

int ksym_find(const struct ksyms *k, uint64_t addr, struct ksym *sym)
{
	const struct entry *list = k->list.at, *e;
	unsigned n = behind(k, addr);
	const char *name;

	if (!n || addr - list[n - 1].addr >= FUNCTION_MAX)
		return -ENOENT;
	e = list + n - 1;
	while (e > list && e[-1].addr == e->addr)
		e--;
	name = k->text + e->name;
	snprintf(sym->name, sizeof(sym->name), "%.*s", (int)strcspn(name, "."), name);
	snprintf(sym->module, sizeof(sym->module), "%s", e->module ? k->text + e->module : "");
	sym->offset = addr - e->addr;
	return 0;
}

const char *ksym_format(const struct ksyms *k, uint64_t addr, char *buf, unsigned size)
{
	struct ksym sym;

	if (ksym_find(k, addr, &sym))
		snprintf(buf, size, "?");
	else
		snprintf(buf, size, "%s+0x%llx%s%s%s", sym.name, (unsigned long long)sym.offset,
			 sym.module[0] ? " [" : "", sym.module, sym.module[0] ? "]" : "");
	return buf;
}

int ksym_addr(const struct ksyms *k, const char *name, uint64_t *addr)
{
	const struct entry *list = k->list.at, *cut = NULL;
	size_t len = strlen(name);

	for (unsigned i = 0; i < k->list.n; i++) {
		const char *have = k->text + list[i].name;

		if (*have != *name || strncmp(have, name, len))
			continue;
		if (!have[len]) {
			*addr = list[i].addr;
			return 0;
		}
		/* A .cold part is not where the function begins. */
		if (have[len] == '.' && !cut && !strstr(have + len, ".cold"))
			cut = &list[i];
	}
	if (!cut)
		return -ENOENT;
	*addr = cut->addr;
	return 0;
}

struct trace_range ksym_range(const struct ksyms *k, const char *name)
{
	const struct entry *list = k->list.at;
	uint64_t start, end;
	struct ksym here;
	unsigned next;

	if (ksym_addr(k, name, &start))
		return (struct trace_range){};
	if (ksym_find(k, start, &here) || strcmp(here.name, name)) /* another name comes first */
		return (struct trace_range){start, start};
	next = behind(k, start);
	end = start + FUNCTION_MAX;
	return (struct trace_range){start, next < k->list.n ? smaller(list[next].addr, end) : end};
}

void ksym_places(const struct ksyms *k, struct trace_places *p)
{
	static const char *const xdp[TRACE_XDP] = {"veth_xdp_rcv_skb", "do_xdp_generic",
						   "netif_receive_generic_xdp"};

	*p = (struct trace_places){};
	if (!k)
		return;
	p->freeing = ksym_range(k, "dev_kfree_skb_any_reason");
	if (!p->freeing.end)
		p->freeing = ksym_range(k, "__dev_kfree_skb_any"); /* of 6.1 */
	p->run = ksym_range(k, "nf_hook_slow");
	p->resume = ksym_range(k, "br_nf_hook_thresh");
	p->in = ksym_range(k, "__netif_receive_skb_core");
	p->out = ksym_range(k, "__dev_queue_xmit");
	for (unsigned i = 0; i < TRACE_XDP; i++)
		p->xdp[i] = ksym_range(k, xdp[i]);
}
