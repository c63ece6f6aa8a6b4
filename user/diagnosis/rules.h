/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of the judge have in common. */
#ifndef PKTLEDGER_DIAGNOSIS_RULES_H
#define PKTLEDGER_DIAGNOSIS_RULES_H

#include "diagnosis/judge.h"

/* About what. */
struct about {
	enum check_scope scope;
	const char *subject; /* NULL: none */
	uint64_t lost;	     /* packets in the window, for the rank */
};

/* Facts for the sentences of a state. A name that is not bound is not known. */
#define BINDS_MAX 24

struct binds {
	struct about about;
	unsigned n;
	struct {
		const char *name; /* static */
		char value[JOURNAL_VALUE_SIZE];
	} at[BINDS_MAX];
};

/* Empty texts and zeros are not bound. */
void bind_text(struct binds *b, const char *name, const char *value);
void bind_count(struct binds *b, const char *name, uint64_t value);
void bind_zero(struct binds *b, const char *name, uint64_t value); /* a 0 too */
void bind_rate(struct binds *b, const char *name, double per_second);
void bind_percent(struct binds *b, const char *name, double share);
void bind_time(struct binds *b, const char *name, uint64_t ns);

/* counter, lost, window, loss_rate, total. */
void bind_loss(struct binds *b, const struct facts *f, const char *counter, uint64_t lost,
	       uint64_t total);

/* Adds the state `id` of the table. NULL: no memory. Valid until the next call. */
struct check_finding *judge_state(struct check_findings *out, const struct facts *f, const char *id,
				  const struct binds *b);

/* Adds a change to those of its row. */
void judge_add_change(struct check_findings *out, struct check_finding *c,
		      const struct change *change);

/* Adds what the loss means; `facts` without window. */
void judge_loss(struct check_findings *out, const struct facts *f, enum stage stage,
		const struct about *about, struct finding_facts *facts);

void judge_history(struct check_findings *out, enum stage stage, const char *counter,
		   uint64_t total);

/* SK_RMEM_MAX and SK_WMEM_MAX of 64-bit kernels: what every socket has unless that was changed. */
#define KERNEL_MEM 212992
#define MEM_SANE   (64ULL << 20) /* beyond it a buffer is only delay */

/* What to raise a default or a limit of socket buffers to. */
uint64_t judge_larger_mem(uint64_t now);

#define PROCESS_SIZE 32

/* Who has the socket: "name (pid)". Static, or in `buf`. */
const char *judge_process(const struct facts_sock *s, char buf[PROCESS_SIZE]);

/* Sum of a counter of softnet over all CPUs: "dropped", in the window and in all. */
uint64_t judge_softnet(const struct facts *f, const char *what, bool total);

/* The areas, in the order of a packet's way from its end: who reads is nearest to the cause. */
void judge_socks(const struct facts *f, struct check_findings *out);
void judge_counters(const struct facts *f, struct check_findings *out);
void judge_links(const struct facts *f, struct check_findings *out);
void judge_stack(const struct facts *f, struct check_findings *out);
void judge_cpus(const struct facts *f, struct check_findings *out);

#endif
