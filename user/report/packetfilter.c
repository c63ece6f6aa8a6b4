// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/packetfilter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drops/filter.h"

#define ETHERNET 1 /* of the pcap registry */

struct packetfilter {
	struct filter_code ethernet, ip;
	bool no_ip; /* it asks for what only Ethernet has */
};

int packetfilter_new(struct packetfilter **out, const char *expr, struct error *err)
{
	struct packetfilter *f;
	char why[256] = "it is too long";
	int rc;

	*out = NULL;
	if (!expr || !*expr)
		return 0;
	f = calloc(1, sizeof(*f));
	if (!f)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	rc = filter_pcap_compile(&f->ethernet, expr, FILTER_L2, why, sizeof(why));
	if (rc) {
		packetfilter_free(f);
		return error_set(err, STATUS_USAGE, rc, "see pcap-filter(7)", "'%.100s': %s", expr,
				 rc == -ENOMEM ? strerror(ENOMEM) : why);
	}
	f->no_ip = filter_pcap_compile(&f->ip, expr, FILTER_L3, why, sizeof(why));
	*out = f;
	return 0;
}

void packetfilter_free(struct packetfilter *f)
{
	if (!f)
		return;
	filter_pcap_free(&f->ethernet);
	filter_pcap_free(&f->ip);
	free(f);
}

bool packetfilter_match(const struct packetfilter *f, const struct capfile_packet *p,
			const struct datagram *d)
{
	if (!f)
		return true;
	if (p->link == ETHERNET)
		return filter_pcap_match(&f->ethernet, p->bytes, p->len, p->wire_len);
	return !f->no_ip && d->flow.family &&
	       filter_pcap_match(&f->ip, d->ip, d->ip_len, d->ip_wire_len);
}
