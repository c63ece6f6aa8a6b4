// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/filter.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drops/filter_ebpf.h"
#include "drops/filter_patch.h"
#include "drops/filter_pcap.h"

struct filter {
	char *expression;
	bool tags;		      /* it asks for VLAN tags */
	struct filter_code layers[2]; /* by enum filter_layer; one without instructions: no match */
	char l3_refusal[160];
	struct bpf_insn code[FILTER_ROOM];
};

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

/* Whether the expression has the keyword `vlan`. */
static bool asks_for_tags(const char *expr)
{
	static const char word[] = "vlan";
	const size_t n = sizeof(word) - 1;

	for (const char *at = strstr(expr, word); at; at = strstr(at + 1, word)) {
		if ((at == expr || !is_word(at[-1])) && !is_word(at[n]))
			return true;
	}
	return false;
}

static int compile(struct filter *f, char *why, size_t size)
{
	const char *expr = f->expression;
	int rc = filter_pcap_compile(&f->layers[FILTER_L2], expr, FILTER_L2, why, size);

	if (rc)
		return rc;
	rc = filter_pcap_compile(&f->layers[FILTER_L3], expr, FILTER_L3, f->l3_refusal,
				 sizeof(f->l3_refusal));
	return rc == -EINVAL ? 0 : rc;
}

static int translate(struct filter *f)
{
	const struct filter_source layers[2] = {
		{f->layers[FILTER_L2].insns, f->layers[FILTER_L2].n},
		{f->layers[FILTER_L3].insns, f->layers[FILTER_L3].n},
	};
	int n = filter_translate(layers, f->code, FILTER_ROOM);

	return n < 0 ? n : 0;
}

/* Enough of an expression to know it by, in one line. */
static void quote(char *quoted, size_t size, const char *expr)
{
	size_t n = 0;

	for (; n + 1 < size && expr[n]; n++)
		quoted[n] = isprint((unsigned char)expr[n]) ? expr[n] : '?';
	quoted[n] = '\0';
	if (expr[n])
		memset(quoted + n - 3, '.', 3);
}

static int refuse(const char *expr, int rc, const char *why, struct error *err)
{
	char quoted[100];

	quote(quoted, sizeof(quoted), expr);
	switch (rc) {
	case -EINVAL:
		return error_set(err, STATUS_USAGE, rc, "man pcap-filter describes the language",
				 "bad filter '%s': %s", quoted, why);
	case -E2BIG:
		return error_set(err, STATUS_USAGE, rc,
				 "shorten it, for example with networks in place of hosts",
				 "the filter '%s' is too long for the kernel", quoted);
	case -ENODATA: /* where `geneve` has not matched, libpcap has lost the offsets */
		return error_set(err, STATUS_USAGE, rc, "put 'geneve' last, behind 'or'",
				 "bad filter '%s': libpcap does not know where headers are when "
				 "'geneve' is tried first and does not match",
				 quoted);
	}
	return error_set(err, STATUS_FAILED, rc, NULL, "cannot compile the filter: %s",
			 strerror(-rc));
}

int filter_compile(struct filter **out, const char *expr, struct error *err)
{
	struct filter *f = calloc(1, sizeof(*f));
	char why[sizeof(f->l3_refusal)] = "libpcap's program cannot be translated";
	int rc = -ENOMEM;

	if (f)
		f->expression = strdup(expr);
	if (f && f->expression)
		rc = compile(f, why, sizeof(why));
	if (!rc)
		rc = translate(f);
	if (rc) {
		filter_free(f);
		return refuse(expr, rc, why, err);
	}
	f->tags = asks_for_tags(expr);
	*out = f;
	return 0;
}

void filter_free(struct filter *f)
{
	if (!f)
		return;
	filter_pcap_free(&f->layers[FILTER_L2]);
	filter_pcap_free(&f->layers[FILTER_L3]);
	free(f->expression);
	free(f);
}

const char *filter_expression(const struct filter *f)
{
	return f->expression;
}

const char *filter_l3_refusal(const struct filter *f)
{
	return f->layers[FILTER_L3].n ? NULL : f->l3_refusal;
}

bool filter_match_user(const struct filter *f, enum filter_layer layer, const void *bytes,
		       uint32_t have, uint32_t length)
{
	const struct filter_code *code = &f->layers[layer];

	return code->n && filter_pcap_match(code, bytes, have, length);
}

int filter_install(const struct filter *f, struct bpf_object *obj, struct error *err)
{
	int rc = f ? filter_patch(obj, f->code, f->tags) : 0;

	return rc ? error_set(err, STATUS_FAILED, rc, NULL,
			      "cannot put the filter into the tracing programs: %s", strerror(-rc))
		  : 0;
}
