// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/filter.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define WHOLE 65535 /* value returned by a matching program */

/*
 * libpcap's run time grows with the square of the text length, and its optimizer's with the cube of
 * the program length. These limits keep it to a few seconds.
 */
#define TEXT_MAX 8192
#define RAW_MAX	 16384 /* instructions before optimization */

_Static_assert(sizeof(struct sock_filter) == sizeof(struct bpf_insn), "the same, two names");

static bool jumps_back(const struct sock_filter *f)
{
	return f->code == (BPF_JMP | BPF_JA) && (int32_t)f->k < 0;
}

/* Appends copies: each loop's end continues in the next copy. */
static void straighten(struct filter_code *code)
{
	const struct sock_filter no_match = {BPF_RET | BPF_K, 0, 0, 0};
	unsigned loops = 0, n = code->n;

	for (unsigned i = 0; i < n; i++)
		loops += jumps_back(&code->insns[i]);
	code->straight = code->insns;
	code->n_straight = n;
	if (!loops)
		return;
	code->n_straight = n * (FILTER_LOOPS + 1);
	code->straight = mem_zero(code->n_straight, sizeof(*code->straight));
	for (unsigned i = 0; i < code->n_straight; i++) {
		code->straight[i] = code->insns[i % n];
		if (!jumps_back(&code->straight[i]))
			continue;
		if (i < n * FILTER_LOOPS)
			code->straight[i].k += n;
		else
			code->straight[i] = no_match;
	}
}

/* Returns true if a program needs data that only the kernel has, for packets it captures. */
static bool is_live(const struct filter_code *code)
{
	for (unsigned i = 0; i < code->n; i++) {
		const struct sock_filter *f = &code->insns[i];

		if (BPF_CLASS(f->code) == BPF_LD && BPF_MODE(f->code) == BPF_ABS &&
		    f->k - (uint32_t)SKF_AD_OFF < SKF_AD_MAX)
			return true;
	}
	return false;
}

static int compile(pcap_t *pcap, struct filter_code *code, const char *expr)
{
	struct bpf_program program;
	bool fits;

	if (pcap_compile(pcap, &program, expr, 0, PCAP_NETMASK_UNKNOWN))
		return -EINVAL;
	fits = program.bf_len <= RAW_MAX;
	pcap_freecode(&program);
	if (!fits)
		return -E2BIG;
	if (pcap_compile(pcap, &program, expr, 1, PCAP_NETMASK_UNKNOWN))
		return -EINVAL;
	*code = (struct filter_code){.n = program.bf_len};
	code->insns = mem_zero(code->n, sizeof(*code->insns));
	for (unsigned i = 0; i < code->n; i++) {
		const struct bpf_insn *b = &program.bf_insns[i];

		code->insns[i] = (struct sock_filter){b->code, b->jt, b->jf, b->k};
	}
	pcap_freecode(&program);
	straighten(code);
	return 0;
}

int filter_pcap_compile(struct filter_code *code, const char *expr, enum filter_layer layer,
			char *why, size_t size)
{
	pcap_t *pcap;
	int rc;

	if (strlen(expr) > TEXT_MAX)
		return -E2BIG;
	pcap = pcap_open_dead(layer == FILTER_L2 ? DLT_EN10MB : DLT_RAW, WHOLE);
	if (!pcap)
		return -ENOMEM;
	rc = compile(pcap, code, expr);
	if (rc == -EINVAL)
		snprintf(why, size, "%s", pcap_geterr(pcap));
	pcap_close(pcap);
	if (rc || !is_live(code))
		return rc;
	filter_pcap_free(code);
	snprintf(why, size, "inbound, outbound and ifindex are known in a live capture only");
	return -EINVAL;
}

void filter_pcap_free(struct filter_code *code)
{
	if (code->straight != code->insns)
		free(code->straight);
	free(code->insns);
	*code = (struct filter_code){};
}

bool filter_pcap_match(const struct filter_code *code, const void *bytes, uint32_t have,
		       uint32_t length)
{
	const struct bpf_program program = {code->n_straight, (struct bpf_insn *)code->straight};
	const struct pcap_pkthdr head = {.caplen = have, .len = length};

	return pcap_offline_filter(&program, &head, bytes);
}
