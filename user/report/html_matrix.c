// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Many pairs of hosts: a cell each, the redder the more was lost. */
#include "report/html_parts.h"

#include <math.h>

#include "report/matrix.h"

/* How strong the colour is: 0 without any loss, and each decade of loss from 0.01 % on is seen. */
static unsigned strength(double share)
{
	if (!(share > 0))
		return 0;
	return (unsigned)fmin(fmax(8 + 11 * (log10(share) + 4), 8), 50);
}

static void put_cell(struct html *h, struct json_object *pair)
{
	double share = json_get_double(pair, "lost_share");
	const char *stage = json_get_text(pair, "stage");
	uint64_t all = json_get_u64(pair, "sent"), arrived = json_get_u64(pair, "delivered");
	char sent[FMT_MAX], lost[24];

	if (!pair) {
		html_put(h->out, "<td>–");
		return;
	}
	html_put(h->out, "<td style=\"--heat:%u%%\" title=\"%s packets of %lu runs\"><b>%s</b>",
		 strength(share), fmt_count(sent, sizeof(sent), all), json_get_u64(pair, "runs"),
		 html_share(lost, sizeof(lost), all > arrived ? all - arrived : 0, all));
	if (*stage)
		html_put(h->out, "<br><i class=\"key %s\"></i>%s", html_colour(h, stage), stage);
	if (!json_get_bool(pair, "balanced"))
		html_put(h->out, "<br><span class=\"bad\">not balanced</span>");
}

void html_matrix(struct html *h, struct json_object *matrix)
{
	size_t n = json_get_length(matrix, "nodes");

	if (!n)
		return;
	html_put(h->out,
		 "<div class=\"document\"><header><h1>Loss between %lu hosts</h1></header>\n", n);
	html_section(h, "From whom, to whom", "senders down, receivers across");
	html_put(h->out, "<div class=\"scroll\"><table class=\"matrix\"><thead><tr><th>");
	for (size_t i = 0; i < n; i++)
		html_put(h->out, "<th>%s", json_get_item_text(matrix, "nodes", i));
	html_put(h->out, "</thead><tbody>");
	for (size_t i = 0; i < n; i++) {
		const char *from = json_get_item_text(matrix, "nodes", i);

		html_put(h->out, "<tr><th>%s", from);
		for (size_t k = 0; k < n; k++)
			put_cell(h, matrix_pair(matrix, from,
						json_object_get_string(
							json_get_item(matrix, "nodes", k))));
	}
	html_put(h->out, "</tbody></table></div>");
	html_section_end(h);
	html_put(h->out, "</div>\n");
}
