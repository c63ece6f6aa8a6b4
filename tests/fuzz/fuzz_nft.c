// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What nft prints as JSON: two lists, divided by a NUL, and what moved between them. */
#include "lines.h"

#include "drops/nftrules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *nul = memchr(data, 0, size);
	size_t len = nul ? (size_t)(nul - data) : size;
	char *first = fuzz_text(data, len), *second = fuzz_text(data + len, size - len);
	struct list before = {0}, after = {0};
	struct nft_result result = {0};
	int rc = nftlist_parse(first, &before);

	if (nul)
		rc |= nftlist_parse(second + 1, &after);
	if (!rc)
		nftlist_compare(&before, &after, HOOK_NONE, &result);
	list_free(&before);
	list_free(&after);
	free(first);
	free(second);
	return 0;
}
