// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "trace/filter_pcap.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHOLE 65535 /* what a matching program returns */

_Static_assert(sizeof(struct sock_filter) == sizeof(struct bpf_insn), "the same, two names");

static int keep(struct filter_code *code, const struct bpf_program *program)
{
	code->n = program->bf_len;
	code->insns = calloc(code->n, sizeof(*code->insns));
	if (!code->insns)
		return -ENOMEM;
	for (unsigned i = 0; i < code->n; i++) {
		const struct bpf_insn *b = &program->bf_insns[i];

		code->insns[i] = (struct sock_filter){b->code, b->jt, b->jf, b->k};
	}
	return 0;
}

int filter_pcap_compile(struct filter_code *code, const char *expr, enum filter_layer layer,
			char *why, size_t size)
{
	pcap_t *pcap = pcap_open_dead(layer == FILTER_L2 ? DLT_EN10MB : DLT_RAW, WHOLE);
	struct bpf_program program;
	int rc = -EINVAL;

	if (!pcap)
		return -ENOMEM;
	if (pcap_compile(pcap, &program, expr, 1, PCAP_NETMASK_UNKNOWN)) {
		snprintf(why, size, "%s", pcap_geterr(pcap));
	} else {
		rc = keep(code, &program);
		pcap_freecode(&program);
	}
	pcap_close(pcap);
	return rc;
}

bool filter_pcap_match(const struct filter_code *code, const void *bytes, uint32_t have,
		       uint32_t length)
{
	const struct bpf_program program = {code->n, (struct bpf_insn *)code->insns};
	const struct pcap_pkthdr head = {.caplen = have, .len = length};

	return pcap_offline_filter(&program, &head, bytes);
}
