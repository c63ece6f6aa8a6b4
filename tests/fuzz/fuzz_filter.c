// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A filter expression up to the first NUL, followed by a packet. */
#include "fuzz.h"

#include "drops/filter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *nul = memchr(data, 0, size);
	size_t len = nul ? (size_t)(nul - data) : size, have = nul ? size - len - 1 : 0;
	char *text = fuzz_text(data, len), *packet = fuzz_text(data + size - have, have);
	struct error err = {0};
	struct filter *f = NULL;
	int rc = filter_compile(&f, text, &err);

	MUST(!rc || err.status != STATUS_OK);
	if (!rc) {
		filter_match_user(f, FILTER_L2, packet, (uint32_t)have, (uint32_t)have);
		filter_match_user(f, FILTER_L3, packet, (uint32_t)have, (uint32_t)have);
	}
	filter_free(f);
	free(packet);
	free(text);
	return 0;
}
