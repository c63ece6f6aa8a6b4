// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/drop.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_arp.h>
#include <linux/if_packet.h>
#include <string.h>
#include <time.h>

#include "base/utf8.h"
#include "watch_abi.h"

#define HEX_LINE 16 /* bytes */
#define SLL_LEN	 16

/* What is told of a drop beside its stage, in this order; `key` in comments. */
static const struct detail {
	enum live_field field;
	const char *key, *before; /* before: in the line for people */
} details[] = {
	{LIVE_REASON, "reason", ""},   {LIVE_LOCATION, "location", ""}, {LIVE_HOOK, "hook", ""},
	{LIVE_IFNAME, "ifname", ""},   {LIVE_NETNS, "netns", "in "},	{LIVE_SOCKET, "socket", ""},
	{LIVE_PROCESS, "process", ""},
};

#define DETAILS (sizeof(details) / sizeof(details[0]))

static const char *stage_of(const struct live_row *row)
{
	return *row->text[LIVE_STAGE] ? row->text[LIVE_STAGE] : "copy";
}

/* Two digits each, by pairs, and what is printable beside them: as tcpdump -X. */
static void put_hex(FILE *out, const struct packet_view *p)
{
	for (uint32_t at = 0; at < p->len; at += HEX_LINE) {
		char text[HEX_LINE + 1] = "";

		fprintf(out, "    0x%04x: ", at);
		for (uint32_t i = 0; i < HEX_LINE; i++) {
			const char *gap = i % 2 ? "" : " ";

			if (at + i >= p->len) {
				fprintf(out, "%s  ", gap);
				continue;
			}
			fprintf(out, "%s%02x", gap, p->bytes[at + i]);
			text[i] = p->bytes[at + i] >= ' ' && p->bytes[at + i] <= '~'
					  ? (char)p->bytes[at + i]
					  : '.';
		}
		fprintf(out, "  %s\n", text);
	}
}

void drop_text(FILE *out, const struct live_drop *drop, const char *netns, bool hex)
{
	const struct live_row *row = &drop->what->row;
	const time_t seconds = (time_t)(drop->realtime_ns / 1000000000);
	char clock[16], packet[PACKET_TEXT], frame[KSYM_NAME];
	struct tm tm;

	localtime_r(&seconds, &tm);
	strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	fprintf(out, "%s.%06u %s%s", clock, (unsigned)(drop->realtime_ns % 1000000000 / 1000),
		stage_of(row), row->noise == NOISE_SUSPECT ? "?" : "");
	for (unsigned i = 0; i < DETAILS; i++) {
		const char *text = row->text[details[i].field];

		if (!*text || (details[i].field == LIVE_NETNS && netns && !strcmp(text, netns)))
			continue;
		fprintf(out, " %s", details[i].before);
		utf8_print(out, text); /* names of devices may be made to drive a terminal */
	}
	fprintf(out, "  %s", packet_text(&drop->packet, packet, sizeof(packet)));
	if (row->counts.packets > 1)
		fprintf(out, ", merged of %llu", (unsigned long long)row->counts.packets);
	fputc('\n', out);
	for (unsigned i = 0; i < drop->frames; i++)
		fprintf(out, "    %s\n",
			ksym_format(drop->ksyms, drop->stack[i], frame, sizeof(frame)));
	if (hex)
		put_hex(out, &drop->packet);
}

static void json_put_hex(struct json_object *o, const struct packet_view *p)
{
	static const char digits[] = "0123456789abcdef";
	char text[2 * (SAMPLE_SNAPLEN_MAX + 4) + 1];
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->len && n + 2 < sizeof(text); i++) {
		text[n++] = digits[p->bytes[i] >> 4];
		text[n++] = digits[p->bytes[i] & 15];
	}
	text[n] = '\0';
	json_put_text(o, "hex", text);
}

static struct json_object *json_stack(const struct live_drop *drop)
{
	struct json_object *list = json_object_new_array();
	char frame[KSYM_NAME];

	for (unsigned i = 0; i < drop->frames; i++)
		json_object_array_add(list, json_text(ksym_format(drop->ksyms, drop->stack[i],
								  frame, sizeof(frame))));
	return list;
}

struct json_object *drop_json(const struct live_drop *drop, bool hex, bool stack)
{
	const struct live_row *row = &drop->what->row;
	struct json_object *o = json_object_new_object();
	char text[PACKET_TEXT];

	json_put_u64(o, "time_ns", drop->time_ns);
	json_put_text(o, "time", json_time(text, sizeof(text), drop->realtime_ns));
	json_put_text(o, "stage", row->text[LIVE_STAGE]);
	json_put_text(o, "class", row->text[LIVE_CLASS]);
	json_put_text(o, "direction", row->text[LIVE_DIRECTION]);
	for (unsigned i = 0; i < DETAILS; i++)
		json_put_text(o, details[i].key, row->text[details[i].field]);
	json_put_u64(o, "packets", row->counts.packets);
	json_put_u64(o, "bytes", drop->packet.wire_len);
	json_put_u64(o, "captured_bytes", drop->packet.len);
	json_put_text(o, "packet", packet_text(&drop->packet, text, sizeof(text)));
	if (stack)
		json_put(o, "stack", json_stack(drop));
	if (hex)
		json_put_hex(o, &drop->packet);
	return o;
}

static void append(char *buf, size_t size, const char *key, const char *value)
{
	size_t used = strlen(buf);

	snprintf(buf + used, size - used, " %s=%s", key, value);
}

char *drop_comment(const struct live_drop *drop, char *buf, size_t size)
{
	const struct live_row *row = &drop->what->row;
	char number[24];

	snprintf(buf, size, "pktledger:");
	append(buf, size, "stage", stage_of(row));
	if (row->noise != NOISE_LOSS)
		append(buf, size, "class", row->text[LIVE_CLASS]);
	for (unsigned i = 0; i < DETAILS; i++) {
		if (*row->text[details[i].field])
			append(buf, size, details[i].key, row->text[details[i].field]);
	}
	if (row->counts.packets > 1) {
		snprintf(number, sizeof(number), "%llu", (unsigned long long)row->counts.packets);
		append(buf, size, "packets", number);
	}
	for (char *c = buf; *c; c++) {
		if (*c < ' ' || *c > '~')
			*c = '?';
	}
	return buf;
}

static enum pcapng_direction direction_of(const struct live_row *row)
{
	const char *text = row->text[LIVE_DIRECTION];

	return !strcmp(text, "tx")   ? PCAPNG_OUTBOUND
	       : !strcmp(text, "rx") ? PCAPNG_INBOUND
				     : PCAPNG_UNKNOWN;
}

/* Linux cooked capture: kind, type of device, address (none), protocol. */
static void put_sll(uint8_t *to, const struct live_drop *drop)
{
	const uint16_t head[] = {htons(drop->key->pkt_type), htons(ARPHRD_NONE)};
	const uint16_t protocol = htons(drop->packet.protocol);

	memset(to, 0, SLL_LEN);
	memcpy(to, head, sizeof(head));
	memcpy(to + SLL_LEN - sizeof(protocol), &protocol, sizeof(protocol));
}

int drop_capture(struct pcapng *to, const struct live_drop *drop)
{
	const struct packet_view *p = &drop->packet;
	const struct live_row *row = &drop->what->row;
	uint8_t cooked[SLL_LEN + SAMPLE_SNAPLEN_MAX];
	char comment[PCAPNG_COMMENT], netns[OWNER_NETNS + 8];
	struct pcapng_packet packet = {
		.time_ns = drop->realtime_ns,
		.bytes = p->bytes,
		.len = p->len,
		.wire_len = p->wire_len,
		.direction = direction_of(row),
		.comment = drop_comment(drop, comment, sizeof(comment)),
	};
	int interface;

	snprintf(netns, sizeof(netns), "netns %s", row->text[LIVE_NETNS]);
	interface = pcapng_interface(to, p->ethernet ? PCAPNG_ETHERNET : PCAPNG_LINUX_SLL,
				     drop->key->netns, drop->key->ifindex, row->text[LIVE_IFNAME],
				     *row->text[LIVE_NETNS] ? netns : "");
	if (interface < 0)
		return interface;
	packet.interface = (unsigned)interface;
	if (!p->ethernet) {
		put_sll(cooked, drop);
		memcpy(cooked + SLL_LEN, p->bytes, p->len);
		packet.bytes = cooked;
		packet.len += SLL_LEN;
		packet.wire_len += SLL_LEN;
	}
	return pcapng_packet(to, &packet);
}
