// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/trace.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/num.h"
#include "monitor/describe.h"
#include "report/capfile.h"
#include "watch_abi.h"

#define HEX_LINE 16 /* bytes per line, half as many if the page is narrower */
#define HEX_COLS (DROP_INDENT + 8 + HEX_LINE / 2 * 5 + 2 + HEX_LINE)
#define SLL_LEN	 16
#define COMMENT	 "pktledger: stage="

#define DROP_INDENT 4 /* indentation of every line after a drop's first */

/* Details of a drop, in this order. `key` is used in comments. */
static const struct detail {
	enum live_field field;
	const char *key, *before; /* before: text before the value, unused for the first two */
} details[] = {
	{LIVE_STAGE, "stage", ""},	 {LIVE_CLASS, "class", ""},   {LIVE_REASON, "reason", ""},
	{LIVE_LOCATION, "location", ""}, {LIVE_HOOK, "hook", ""},     {LIVE_IFNAME, "ifname", ""},
	{LIVE_NETNS, "netns", "in "},	 {LIVE_SOCKET, "socket", ""}, {LIVE_PROCESS, "process", ""},
};

#define DETAILS LENGTH(details)
#define REASON	2 /* index of the first detail after the stage and class */

static const char *stage_of(const struct live_row *row)
{
	return *row->text[LIVE_STAGE] ? row->text[LIVE_STAGE] : "copy";
}

/* Prints bytes as hex pairs next to their printable characters, like tcpdump -X. */
static void put_hex(const struct page *page, const struct packet_view *p)
{
	const uint32_t line = page->width < HEX_COLS ? HEX_LINE / 2 : HEX_LINE;
	FILE *out = page->out;

	for (uint32_t at = 0; at < p->len; at += line) {
		char text[HEX_LINE + 1] = "";

		fprintf(out, "%*s0x%04x: ", DROP_INDENT, "", at);
		for (uint32_t i = 0; i < line; i++) {
			const char *gap = i % 2 ? "" : " ";
			uint8_t byte = at + i < p->len ? p->bytes[at + i] : 0;

			if (at + i >= p->len) {
				fprintf(out, "%s  ", gap);
				continue;
			}
			fprintf(out, "%s%02x", gap, byte);
			text[i] = byte >= ' ' && byte <= '~' ? (char)byte : '.';
		}
		fprintf(out, "  %s\n", text);
	}
}

void drop_text(struct page *p, const struct live_drop *drop, const char *netns, bool hex)
{
	const struct live_row *row = &drop->what->row;
	char packet[PACKET_TEXT], frame[KSYM_NAME];

	p->indent = 0;
	page_words(p, STYLE_PLAIN, "%s.%06u %s%s", when_text(drop->realtime_ns, false),
		   (unsigned)(drop->realtime_ns % 1000000000 / 1000), stage_of(row),
		   row->class == CLASS_SUSPECTED ? "?" : "");
	p->indent = DROP_INDENT;
	for (unsigned i = REASON; i < DETAILS; i++) {
		const char *text = row->text[details[i].field];

		if (!*text || (details[i].field == LIVE_NETNS && netns && !strcmp(text, netns)))
			continue;
		page_words(p, STYLE_PLAIN, "%s%s", details[i].before, text);
	}
	page_words(p, STYLE_PLAIN, "\v%s", packet_text(&drop->packet, packet, sizeof(packet)));
	if (row->counts.packets > 1)
		page_words(p, STYLE_PLAIN, "(%s, merged)", fmt_many(row->counts.packets, "packet"));
	page_end(p);
	for (unsigned i = 0; i < drop->frames; i++)
		page_line(p, DROP_INDENT, STYLE_PLAIN, "", STYLE_PLAIN, "%s",
			  ksym_format(drop->ksyms, drop->stack[i], frame, sizeof(frame)));
	if (hex)
		put_hex(p, &drop->packet);
}

struct json_object *drop_json(const struct live_drop *drop, bool hex, bool stack)
{
	const struct live_row *row = &drop->what->row;
	const struct packet_view *p = &drop->packet;
	struct json_object *o = json_object_new_object(), *frames;
	char text[PACKET_TEXT], frame[KSYM_NAME], *bytes;

	json_put_u64(o, "time_ns", drop->time_ns);
	json_put_time(o, "time", drop->realtime_ns);
	json_put_text(o, "stage", row->text[LIVE_STAGE]);
	json_put_text(o, "class", row->text[LIVE_CLASS]);
	json_put_text(o, "direction", row->text[LIVE_DIRECTION]);
	for (unsigned i = REASON; i < DETAILS; i++)
		json_put_text(o, details[i].key, row->text[details[i].field]);
	json_put_u64(o, "packets", row->counts.packets);
	json_put_u64(o, "bytes", p->wire_len);
	json_put_u64(o, "captured_bytes", p->len);
	json_put_text(o, "packet", packet_text(p, text, sizeof(text)));
	if (stack) {
		frames = json_put_list(o, "stack");
		for (unsigned i = 0; i < drop->frames; i++)
			json_object_array_add(frames,
					      json_text(ksym_format(drop->ksyms, drop->stack[i],
								    frame, sizeof(frame))));
	}
	if (!hex)
		return o;
	bytes = mem_zero(2 * (size_t)p->len + 1, 1);
	for (uint32_t i = 0; i < p->len; i++)
		snprintf(bytes + 2 * (size_t)i, 3, "%02x", p->bytes[i]);
	json_put_text(o, "hex", bytes);
	free(bytes);
	return o;
}

/*
 * Formats the known details as ASCII: "pktledger: stage=rcvbuf reason=SOCKET_RCVBUFF ...". Returns
 * `buf`.
 */
static char *drop_comment(const struct live_drop *drop, char *buf, size_t size)
{
	const struct live_row *row = &drop->what->row;
	size_t n = (size_t)snprintf(buf, size, COMMENT "%s", stage_of(row));

	for (unsigned i = 1; i < DETAILS && n < size; i++) {
		const char *text = row->text[details[i].field];

		if (*text && (details[i].field != LIVE_CLASS || row->class != CLASS_LOSS))
			n += (size_t)snprintf(buf + n, size - n, " %s=%s", details[i].key, text);
	}
	if (row->counts.packets > 1 && n < size)
		snprintf(buf + n, size - n, " packets=%llu",
			 (unsigned long long)row->counts.packets);
	for (char *c = buf; *c; c++) {
		if (*c < ' ' || *c > '~')
			*c = '?';
	}
	return buf;
}

int drop_capture(struct pcapng *to, const struct live_drop *drop)
{
	const struct packet_view *p = &drop->packet;
	const struct live_row *row = &drop->what->row;
	const char *direction = row->text[LIVE_DIRECTION];
	/* Linux cooked header: packet type, device type, address (none), protocol */
	uint16_t sll[SLL_LEN / 2] = {htons(drop->key->pkt_type), htons(ARPHRD_NONE)};
	uint8_t *cooked = NULL;
	char comment[PCAPNG_COMMENT], netns[OWNER_NETNS + 8];
	struct pcapng_packet packet = {
		.time_ns = drop->realtime_ns,
		.bytes = p->bytes,
		.len = p->len,
		.wire_len = p->wire_len,
		.direction = !strcmp(direction, "tx")	? PCAPNG_OUTBOUND
			     : !strcmp(direction, "rx") ? PCAPNG_INBOUND
							: PCAPNG_UNKNOWN,
		.comment = drop_comment(drop, comment, sizeof(comment)),
	};
	int interface, rc;

	snprintf(netns, sizeof(netns), "netns %s", row->text[LIVE_NETNS]);
	interface = pcapng_interface(to, p->ethernet ? PCAPNG_ETHERNET : PCAPNG_LINUX_SLL,
				     drop->key->netns, drop->key->ifindex, row->text[LIVE_IFNAME],
				     *row->text[LIVE_NETNS] ? netns : "");
	if (interface < 0)
		return interface;
	packet.interface = (unsigned)interface;
	if (!p->ethernet) {
		sll[SLL_LEN / 2 - 1] = htons(p->protocol);
		cooked = mem_zero(SLL_LEN + (size_t)p->len, 1);
		memcpy(cooked, sll, SLL_LEN);
		memcpy(cooked + SLL_LEN, p->bytes, p->len);
		packet.bytes = cooked;
		packet.len += SLL_LEN;
		packet.wire_len += SLL_LEN;
	}
	rc = pcapng_packet(to, &packet);
	free(cooked);
	return rc;
}
