// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Counters of a NIC: the first byte chooses the driver, then lines of `name: value` as ethtool's.
 */
#include "fuzz.h"

#include "host/nic.h"

static struct nic_sample sample_of(char *text)
{
	struct nic_sample s = {0};
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *colon = strrchr(line, ':');

		if (!colon)
			continue;
		*colon = '\0';
		nic_sample_add(&s, line, strtoull(colon + 1, NULL, 10));
	}
	return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nic_sample before = {0}, after;
	struct nic_loss loss[16];
	struct nic_plan *plan;
	char name[32], *text;
	const char *names;

	if (!size)
		return 0;
	names = nic_drivers[data[0] % nic_driver_count].names;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(names, "|"), names);
	text = fuzz_text(data + 1, size - 1);
	after = sample_of(text);
	plan = nic_plan_new(name, &after);
	MUST(plan);
	nic_sample_match(&after, &after, &before);
	if (nic_plan_fits(plan, &before))
		nic_losses(plan, &before, &after, loss, 16);
	nic_plan_free(plan);
	nic_sample_free(&before);
	nic_sample_free(&after);
	free(text);
	return 0;
}
