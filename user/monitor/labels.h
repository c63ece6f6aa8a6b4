/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The labels of a series: what is known of a loss, in the words of Prometheus and Kubernetes. Each
 * has few values on a host; what has many (sockets, processes, flows) is no label.
 */
#ifndef PKTLEDGER_MONITOR_LABELS_H
#define PKTLEDGER_MONITOR_LABELS_H

#include "drops/owners.h"
#include "monitor/table.h"

#define EXPORT_LABELS(X)                                                                           \
	X(STAGE, "stage")                                                                          \
	X(REASON, "reason")                                                                        \
	X(IFNAME, "ifname")                                                                        \
	X(NETNS, "netns")                                                                          \
	X(POD_NAMESPACE, "pod_namespace")                                                          \
	X(POD, "pod")                                                                              \
	X(CONTAINER, "container")

enum export_label {
#define LABEL_ENUM(id, name) LABEL_##id,
	EXPORT_LABELS(LABEL_ENUM)
#undef LABEL_ENUM
		LABEL_COUNT,
};

/* The fields of the collector that they are made of. */
#define LABELS_BY                                                                                  \
	(LIVE_BY_STAGE | LIVE_BIT(LIVE_REASON) | LIVE_BIT(LIVE_IFNAME) | LIVE_BIT(LIVE_NETNS) |    \
	 LIVE_BIT(LIVE_POD) | LIVE_BIT(LIVE_CONTAINER))

struct labels {
	const char *at[LABEL_COUNT]; /* never NULL; "": not known */
	char netns[OWNER_NETNS], pod_namespace[CONTAINER_K8S_NS];
};

/*
 * Of a row, whose texts must live as long as `out`. A namespace that is known by a process only is
 * called by its name, without its number; one that is known by its inode number only is not told:
 * both would have ever new values.
 */
void labels_of(const struct live_row *row, struct labels *out);

/* All but the stage are LIVE_OTHERS: for series that there is no room for. */
void labels_of_others(enum stage stage, struct labels *out);

const char *label_name(enum export_label label);

/* As strcmp(), by all labels in turn. */
int labels_compare(const char *const a[LABEL_COUNT], const char *const b[LABEL_COUNT]);

#endif
