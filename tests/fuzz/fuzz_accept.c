// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The field Accept of a scrape: unknown media types change nothing. */
#include "fuzz.h"

#include "report/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size), *more = malloc(strlen(text) + 32);
	enum expose_format format = http_accept(text);

	MUST(format < EXPOSE_FORMATS);
	sprintf(more, "image/png;q=1,%s", text);
	MUST(http_accept(more) == format);
	free(more);
	free(text);
	return 0;
}
