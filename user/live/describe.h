/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From what the observer counted, numbers, to a row of the model, texts. */
#ifndef PKTLEDGER_LIVE_DESCRIBE_H
#define PKTLEDGER_LIVE_DESCRIBE_H

#include "live/owners.h"
#include "live/table.h"
#include "trace/ksym.h"
#include "trace/reason.h"
#include "trace/watch.h"

#define SOCKET_TEXT 64
#define FLOW_TEXT   144

struct describer {
	const struct watch *watch;
	const struct reasons *reasons;
	const struct ksyms *ksyms; /* NULL: places are not known */
	struct owners *owners;	   /* NULL: owners are not looked for */
	unsigned by;		   /* fields that matter: others may stay empty */
};

/* A row with room for its texts. */
struct described {
	struct live_row row;
	struct watch_sock sock; /* of the row's cookie; family 0: none */
	struct owner owner;
	bool searching; /* the owner has not been looked for yet: ask again after owners_tick() */
	char reason[REASON_NAME], location[KSYM_NAME], socket[SOCKET_TEXT], flow[FLOW_TEXT];
	char ifname[WATCH_IFNAME], netns[OWNER_NETNS], process[32], cpu[12];
	char container[OWNER_CGROUP], pod[CONTAINER_POD + CONTAINER_K8S_NS];
};

/* Texts of the row point into `out`: it must not be moved. */
void describe(const struct describer *d, const struct watch_entry *e, struct described *out);

/* "198.18.0.1:5000", "*:5000" for any address, "[2001:2::1]:5000"; "packet" for AF_PACKET ... */
char *describe_socket(const struct watch_sock *s, char *buf, size_t size);

/* "udp 198.18.0.1:40000 > 198.18.0.2:53", without ports where there are none; "" if unknown. */
char *describe_flow(const struct watch_flow *f, char *buf, size_t size);

#endif
