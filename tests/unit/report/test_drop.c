// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* One drop and its packet, as text. Complete outputs are in tests/golden. */

#include "cases.h"
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "monitor/describe.h"
#include "report/page.h"
#include "report/trace.h"

/* A line of bytes is never broken: it has half of them where there is not room for 16. */
CASE(bytes_of_a_packet)
{
	static const uint8_t bytes[20] = "0123456789abcdefghi";
	static struct described what;
	struct live_drop drop = {.what = &what, .packet = {.bytes = bytes, .len = 20}};
	struct page p;
	char *printed;
	size_t len;

	live_row_begin(&what.row, "event", "flow");
	for (unsigned width = 69; width <= 70; width++) {
		FILE *f = open_memstream(&printed, &len);

		p = page_open(f, false, 0);
		p.width = width;
		drop_text(&p, &drop, NULL, true);
		fclose(f);
		assert_string_equal(
			strchr(printed, '\n') + 1,
			width < 70 ? "    0x0000:  3031 3233 3435 3637  01234567\n"
				     "    0x0008:  3839 6162 6364 6566  89abcdef\n"
				     "    0x0010:  6768 6900            ghi.\n"
				   : "    0x0000:  3031 3233 3435 3637 3839 6162 6364 6566  "
				     "0123456789abcdef\n"
				     "    0x0010:  6768 6900                                "
				     "ghi.\n");
		free(printed);
	}
}

CASE(sockets_and_flows)
{
	struct watch_sock s = {.family = AF_INET, .local_port = 53};
	struct watch_flow f = {.family = AF_INET,
			       .proto = IPPROTO_UDP,
			       .src_port = htons(1),
			       .dst_port = htons(53),
			       .src = {198, 18, 0, 1},
			       .dst = {198, 18, 0, 2}};
	char buf[FLOW_TEXT];

	assert_string_equal(describe_socket(&s, buf, sizeof(buf)), "*:53");
	memcpy(s.local, (uint8_t[]){198, 18, 0, 2}, 4);
	assert_string_equal(describe_socket(&s, buf, sizeof(buf)), "198.18.0.2:53");
	s.family = AF_INET6;
	inet_pton(AF_INET6, "2001:2::1", s.local);
	assert_string_equal(describe_socket(&s, buf, sizeof(buf)), "[2001:2::1]:53");
	memset(s.local, 0, sizeof(s.local));
	assert_string_equal(describe_socket(&s, buf, sizeof(buf)), "*:53");
	s.family = AF_PACKET;
	assert_string_equal(describe_socket(&s, buf, sizeof(buf)), "packet");
	s.family = 45;
	assert_string_equal(describe_socket(&s, buf, sizeof(buf)), "family 45");

	assert_string_equal(describe_flow(&f, buf, sizeof(buf)),
			    "udp 198.18.0.1:1 > 198.18.0.2:53");
	f.src_port = f.dst_port = 0;
	f.proto = IPPROTO_ICMP;
	assert_string_equal(describe_flow(&f, buf, sizeof(buf)), "icmp 198.18.0.1 > 198.18.0.2");
	f.family = AF_INET6;
	f.proto = 200;
	f.dst_port = htons(9);
	inet_pton(AF_INET6, "2001:2::1", f.src);
	inet_pton(AF_INET6, "2001:2::2", f.dst);
	assert_string_equal(describe_flow(&f, buf, sizeof(buf)),
			    "proto 200 2001:2::1 > [2001:2::2]:9");
	f.family = 0;
	assert_string_equal(describe_flow(&f, buf, sizeof(buf)), "");
}
