// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "trace/filter.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/filter_ebpf.h"
#include "trace/filter_patch.h"
#include "trace/filter_pcap.h"

struct filter {
	char *expression;
	struct filter_code layers[2]; /* by enum filter_layer; one without instructions: no match */
	char l3_refusal[160];
	struct bpf_insn code[FILTER_ROOM];
};

static int translate(struct filter *f, struct error *err)
{
	const struct filter_source layers[2] = {
		{f->layers[FILTER_L2].insns, f->layers[FILTER_L2].n},
		{f->layers[FILTER_L3].insns, f->layers[FILTER_L3].n},
	};
	unsigned needed;
	int rc = filter_translate(layers, f->code, FILTER_ROOM, &needed);

	if (rc == -E2BIG)
		return error_set(err, STATUS_USAGE, rc,
				 "shorten the filter, for example by naming networks, not hosts",
				 "the filter is too long for the kernel: it takes %u instructions, "
				 "at most %u fit",
				 needed, FILTER_ROOM);
	if (rc == -ENODATA) /* libpcap loses the offsets where `geneve` has not matched */
		return error_set(err, STATUS_USAGE, rc, "put 'geneve' last, behind 'or'",
				 "filter '%s': libpcap does not know where headers are when "
				 "'geneve' comes first and does not match",
				 f->expression);
	if (rc)
		return error_set(err, STATUS_FAILED, rc, NULL,
				 "libpcap made a filter that cannot be translated");
	return 0;
}

static int compile(struct filter *f, const char *expr, struct error *err)
{
	char why[sizeof(f->l3_refusal)];
	int rc;

	f->expression = strdup(expr);
	if (!f->expression)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	rc = filter_pcap_compile(&f->layers[FILTER_L2], expr, FILTER_L2, why, sizeof(why));
	if (rc == -EINVAL)
		return error_set(err, STATUS_USAGE, rc,
				 "the language of filters is described in man pcap-filter",
				 "filter '%s': %s", expr, why);
	if (!rc)
		rc = filter_pcap_compile(&f->layers[FILTER_L3], expr, FILTER_L3, f->l3_refusal,
					 sizeof(f->l3_refusal));
	if (rc && rc != -EINVAL)
		return error_set(err, STATUS_FAILED, rc, NULL, "out of memory");
	return translate(f, err);
}

int filter_compile(struct filter **out, const char *expr, struct error *err)
{
	struct filter *f = calloc(1, sizeof(*f));
	int rc;

	if (!f)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	rc = compile(f, expr, err);
	if (rc)
		filter_free(f);
	else
		*out = f;
	return rc;
}

void filter_free(struct filter *f)
{
	if (!f)
		return;
	free(f->layers[FILTER_L2].insns);
	free(f->layers[FILTER_L3].insns);
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
	int rc = f ? filter_patch(obj, f->code) : 0;

	return rc ? error_set(err, STATUS_FAILED, rc, NULL,
			      "cannot put the filter into the tracing programs: %s", strerror(-rc))
		  : 0;
}
