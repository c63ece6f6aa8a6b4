// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "monitor/labels.h"

#include <stdio.h>
#include <string.h>

/* "process[pid]" without the number, whose digits say nothing tomorrow. */
static void cut_pid(char *text)
{
	char *open = strrchr(text, '[');

	if (open && !strcmp(open + 1 + strspn(open + 1, "0123456789"), "]"))
		*open = '\0';
}

static const char *netns_of(const struct live_row *row, char *buf, size_t size)
{
	char number[16];

	snprintf(number, sizeof(number), "%u", row->netns);
	if (!strcmp(row->text[LIVE_NETNS], number))
		return "";
	snprintf(buf, size, "%s", row->text[LIVE_NETNS]);
	cut_pid(buf);
	return buf;
}

/* The part behind the last '/'; Kubernetes allows none in its names. */
static const char *last_part(const char *text)
{
	const char *slash = strrchr(text, '/');

	return slash ? slash + 1 : text;
}

void labels_of(const struct live_row *row, struct labels *out)
{
	const char *pod = row->text[LIVE_POD], *name = last_part(pod);

	out->pod_namespace[0] = '\0';
	if (name != pod)
		snprintf(out->pod_namespace, sizeof(out->pod_namespace), "%.*s",
			 (int)(name - pod - 1), pod);
	out->at[LABEL_STAGE] = row->text[LIVE_STAGE];
	out->at[LABEL_REASON] = row->text[LIVE_REASON];
	out->at[LABEL_IFNAME] = row->text[LIVE_IFNAME];
	out->at[LABEL_NETNS] = netns_of(row, out->netns, sizeof(out->netns));
	out->at[LABEL_POD_NAMESPACE] = out->pod_namespace;
	out->at[LABEL_POD] = name;
	out->at[LABEL_CONTAINER] = last_part(row->text[LIVE_CONTAINER]);
}

void labels_of_others(enum stage stage, struct labels *out)
{
	for (unsigned i = 0; i < LABEL_COUNT; i++)
		out->at[i] = LIVE_OTHERS;
	out->at[LABEL_STAGE] = stage < STAGE_COUNT ? stage_name(stage) : "";
}

const char *label_name(enum export_label label)
{
	static const char *const names[LABEL_COUNT] = {
#define LABEL_NAME(id, name) [LABEL_##id] = name,
		EXPORT_LABELS(LABEL_NAME)
#undef LABEL_NAME
	};

	return names[label];
}

int labels_compare(const char *const a[LABEL_COUNT], const char *const b[LABEL_COUNT])
{
	int rc = 0;

	for (unsigned i = 0; i < LABEL_COUNT && !rc; i++)
		rc = strcmp(a[i], b[i]);
	return rc;
}
