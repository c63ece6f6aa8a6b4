// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/ksym.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/beside.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"

#define FUNCTION_MAX (1 << 20) /* bytes; an address further away from a symbol is in no function */
#define RECENT	     1021      /* entries, a prime number */
#define DIGITS	     16	       /* of an address on a 64-bit kernel, */
#define NAME_AT	     19	       /* after which come a type and the name: "T name" */

/* A line of the file. Names end at a tab or at the end of the line. */
struct symbol {
	uint64_t addr; /* 0: the line is in another format */
	const char *name;
};

struct ksyms {
	char *text;    /* the file */
	size_t sorted; /* bytes of its first lines, in ascending order: the kernel's own symbols */
	unsigned modules; /* number of modules loaded when the file was read */
	bool own;	  /* symbols of the running kernel */
	struct recent {
		uint64_t addr;
		struct symbol symbol;
	} *recent; /* addresses in modules, because finding one takes long */
};

/*
 * Parses a line, "ffffffff81000000 T name", followed by "\t[module]" for a module. Returns false
 * unless it names a function.
 */
static bool parse(const char *line, struct symbol *s)
{
	const char *p = line;

	*s = (struct symbol){};
	for (; (*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'f'); p++)
		s->addr = s->addr << 4 | (uint64_t)(*p <= '9' ? *p - '0' : *p - 'a' + 10);
	if (p == line || p[0] != ' ' || !p[1] || p[2] != ' ') {
		s->addr = 0;
		return false;
	}
	s->name = p + 3;
	return s->addr && strchr("tTwW", p[1]);
}

static const char *next_line(const char *line)
{
	line = strchrnul(line, '\n');
	return line + (*line == '\n');
}

/* Returns the line that contains the byte at `p`. */
static const char *line_of(const struct ksyms *k, const char *p)
{
	while (p > k->text && p[-1] != '\n')
		p--;
	return p;
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
	struct symbol s = {};
	const char *tab;
	int ret;

	k->modules = modules_loaded();
	ret = file_read(path, &k->text, NULL);
	if (ret)
		return error_set(err, ret == -ENOMEM ? STATUS_FAILED : STATUS_UNABLE, ret, NULL,
				 "cannot read the kernel's symbols from %s: %s", path,
				 strerror(-ret));
	for (const char *line = k->text; *line && !s.addr; line = next_line(line))
		parse(line, &s);
	if (!s.addr)
		return error_set(err, STATUS_UNABLE, -EPERM,
				 "run as root or with CAP_SYSLOG; kernel.kptr_restrict must not be "
				 "2",
				 "%s hides addresses: CAP_SYSLOG is missing", path);
	/* modules and BPF programs follow, in no order */
	tab = strchrnul(k->text, '\t');
	k->sorted = (size_t)((*tab ? line_of(k, tab) : tab) - k->text);
	k->recent = mem_zero(RECENT, sizeof(*k->recent));
	return 0;
}

/* Kept from the previous user, because reading the kernel's own symbols takes long. */
static struct ksyms *kept;
static struct beside reading; /* ends with `kept` set, or with an error */

static int open_now(struct ksyms **k, const char *path, struct error *err)
{
	int rc;

	*k = mem_new(*k);
	(*k)->own = !path;
	rc = read_symbols(*k, path ? path : "/proc/kallsyms", err);
	if (rc) {
		ksyms_free(*k);
		*k = NULL;
	}
	return rc;
}

static void *read_kept(void *arg)
{
	open_now(arg, NULL, &(struct error){});
	return NULL;
}

void ksyms_prepare(void)
{
	if (!reading.runs && !kept)
		beside_start(&reading, read_kept, &kept);
}

int ksyms_open(struct ksyms **k, const char *path, struct error *err)
{
	if (!path)
		beside_end(&reading);
	if (path || !kept)
		return open_now(k, path, err);
	*k = kept;
	kept = NULL;
	ksyms_refresh(*k);
	return 0;
}

void ksyms_refresh(struct ksyms *k)
{
	struct ksyms *now, old = *k;

	if (k->modules == modules_loaded())
		return;
	now = mem_new(now);
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
	if (k->own && k->sorted && !kept) {
		kept = k;
		return;
	}
	free(k->text);
	free(k->recent);
	free(k);
}

/* Returns the first of the sorted lines with a higher address. */
static const char *line_after(const struct ksyms *k, uint64_t addr)
{
	const char *low = k->text, *high = k->text + k->sorted;

	while (low < high) {
		const char *line = line_of(k, low + (high - low) / 2);
		struct symbol s;

		parse(line, &s);
		if (s.addr <= addr)
			low = next_line(line);
		else
			high = line;
	}
	return low;
}

/* Finds the last of the kernel's own functions up to an address, the first of several names. */
static bool find_own(const struct ksyms *k, uint64_t addr, struct symbol *found)
{
	const char *line = line_after(k, addr);

	*found = (struct symbol){};
	while (line > k->text) {
		struct symbol s;
		bool function;

		line = line_of(k, line - 1);
		function = parse(line, &s) && s.addr <= addr;
		if (s.addr < found->addr ||
		    (s.addr && s.addr <= addr && addr - s.addr >= FUNCTION_MAX))
			break;
		if (function)
			*found = s;
	}
	return found->addr && addr - found->addr < FUNCTION_MAX;
}

/* Finds the last function of a module up to an address. `found`: set to the nearest one before. */
static void find_in_module(const struct ksyms *k, uint64_t addr, struct symbol *found)
{
	struct recent *recent = &k->recent[addr % RECENT];
	struct symbol s;

	if (recent->addr != addr) {
		for (const char *line = k->text + k->sorted; *line; line = next_line(line)) {
			if (parse(line, &s) && s.addr <= addr && s.addr > found->addr)
				*found = s;
		}
		*recent = (struct recent){addr, *found};
	}
	*found = recent->symbol;
}

int ksym_find(const struct ksyms *k, uint64_t addr, struct ksym *sym)
{
	struct symbol found;
	const char *module;

	if (!find_own(k, addr, &found))
		find_in_module(k, addr, &found);
	if (!found.addr || addr - found.addr >= FUNCTION_MAX)
		return -ENOENT;
	module = found.name + strcspn(found.name, "\t\n");
	module += strspn(module, "\t[");
	snprintf(sym->name, sizeof(sym->name), "%.*s", (int)strcspn(found.name, ".\t\n"),
		 found.name);
	snprintf(sym->module, sizeof(sym->module), "%.*s", (int)strcspn(module, "]\n"), module);
	sym->offset = addr - found.addr;
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

/*
 * Finds the addresses of functions in one pass, first by exact name, then by name cut at the first
 * dot. A .cold part is not where the function begins. 0: not found.
 */
static void find_names(const struct ksyms *k, const char *const *names, unsigned n, uint64_t *addr)
{
	bool exact[KSYM_RANGES] = {}, begins[UCHAR_MAX + 1] = {};
	const char *next;
	struct symbol s;

	memset(addr, 0, n * sizeof(*addr));
	for (unsigned i = 0; i < n; i++)
		begins[(unsigned char)*names[i]] = true;
	for (const char *line = k->text; *line; line = next) {
		next = next_line(line);
		/* most lines need not be parsed */
		if (next - line > NAME_AT && line[DIGITS] == ' ' &&
		    !begins[(unsigned char)line[NAME_AT]])
			continue;
		if (!parse(line, &s))
			continue;
		for (unsigned i = 0; i < n; i++) {
			const size_t len = *s.name == *names[i] ? strlen(names[i]) : 0;
			const char *rest = s.name + len;

			if (!len || exact[i] || strncmp(s.name, names[i], len) != 0)
				continue;
			exact[i] = !*rest || *rest == '\t' || *rest == '\n';
			if (exact[i] || (*rest == '.' && !addr[i] &&
					 !memmem(rest, strcspn(rest, "\t\n"), ".cold", 5)))
				addr[i] = s.addr;
		}
	}
}

/* Returns the lowest address of a function that is above `addr`. */
static uint64_t next_function(const struct ksyms *k, uint64_t addr)
{
	const char *line = line_after(k, addr);
	uint64_t next = UINT64_MAX;
	struct symbol s;

	for (; *line && (next == UINT64_MAX || line >= k->text + k->sorted);
	     line = next_line(line)) {
		if (parse(line, &s) && s.addr > addr)
			next = smaller(next, s.addr);
	}
	return next;
}

void ksym_ranges(const struct ksyms *k, const char *const *names, unsigned n,
		 struct trace_range *out)
{
	uint64_t addr[KSYM_RANGES];
	struct ksym here;

	find_names(k, names, n, addr);
	for (unsigned i = 0; i < n; i++) {
		const size_t len = strcspn(names[i], ".");

		out[i] = (struct trace_range){addr[i], addr[i]};
		/* the first name at an address stands for all */
		if (addr[i] && !ksym_find(k, addr[i], &here) &&
		    !strncmp(here.name, names[i], len) && !here.name[len])
			out[i].end = smaller(next_function(k, addr[i]), addr[i] + FUNCTION_MAX);
	}
}

void ksym_places(const struct ksyms *k, struct trace_places *p)
{
	static const char *const names[] = {
		"dev_kfree_skb_any_reason", "nf_hook_slow",
		"br_nf_hook_thresh",	    "__netif_receive_skb_core",
		"__dev_queue_xmit",	    "veth_xdp_rcv_skb",
		"do_xdp_generic",	    "netif_receive_generic_xdp",
		"__dev_kfree_skb_any", /* of 6.1 */
		"ip_do_fragment",	    "ip6_fragment",
		"kfree_skb_list_reason",
	};
	struct trace_range r[LENGTH(names)];

	*p = (struct trace_places){};
	if (!k)
		return;
	ksym_ranges(k, names, LENGTH(names), r);
	*p = (struct trace_places){.freeing = r[0].end ? r[0] : r[8],
				   .run = r[1],
				   .resume = r[2],
				   .in = r[3],
				   .out = r[4],
				   .xdp = {r[5], r[6], r[7]},
				   .fragmenting = {r[9], r[10], r[11]}};
}
