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
#include "report/series.h"
#include "watch_abi.h"

#define HEX_LINE 16 /* bytes, half of them where a line is narrower than */
#define HEX_COLS (DROP_INDENT + 8 + HEX_LINE / 2 * 5 + 2 + HEX_LINE)
#define SLL_LEN	 16
#define COMMENT	 "pktledger: stage="

#define DROP_INDENT 4 /* of what is below the first line of a drop */

/* What is said of a drop, in this order; `key` in comments. */
static const struct detail {
	enum live_field field;
	const char *key, *before; /* before: in the line for people, but for the first two */
} details[] = {
	{LIVE_STAGE, "stage", ""},	 {LIVE_CLASS, "class", ""},   {LIVE_REASON, "reason", ""},
	{LIVE_LOCATION, "location", ""}, {LIVE_HOOK, "hook", ""},     {LIVE_IFNAME, "ifname", ""},
	{LIVE_NETNS, "netns", "in "},	 {LIVE_SOCKET, "socket", ""}, {LIVE_PROCESS, "process", ""},
};

#define DETAILS LENGTH(details)
#define REASON	2 /* the first of them behind stage and class */

static const char *stage_of(const struct live_row *row)
{
	return *row->text[LIVE_STAGE] ? row->text[LIVE_STAGE] : "copy";
}

/* Two digits each, by pairs, and what is printable beside them: as tcpdump -X. */
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

/* "pktledger: stage=rcvbuf reason=SOCKET_RCVBUFF ...", what is known; ASCII. Returns `buf`. */
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
	/* Linux cooked capture: kind, type of device, address (none), protocol */
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

/* A capture of drops, read again */

#define SECOND	  1000000000ULL
#define FLOWS_MAX 16
#define BY	  (LIVE_BY_DEFAULT & ~LIVE_BIT(LIVE_DIRECTION))

struct lostcap {
	const struct load_spec *spec;
	struct packetfilter *filter;
	struct series *series;
	struct live_table rows;	    /* of the second that is read, flows apart */
	uint64_t from_ns, to_ns;    /* of that second; 0: none yet */
	uint64_t strangers;	    /* without a comment of ours */
	struct ledgers_file *file;  /* its times are those of all packets, */
	struct ledgers_document *d; /* these of those that are shown */
};

/* Where " key=" is; NULL: nowhere. */
static char *find_key(char *comment, const char *key)
{
	char word[32];

	snprintf(word, sizeof(word), " %s=", key);
	return strstr(comment, word);
}

/* Cuts a comment into its values. Keys are found first: names of processes may have blanks. */
static bool read_comment(char *comment, struct live_row *row)
{
	char *at[DETAILS], *packets;
	uint64_t n = 1;

	if (strncmp(comment, COMMENT, strlen(COMMENT)))
		return false;
	for (unsigned i = 0; i < DETAILS; i++)
		at[i] = find_key(comment, details[i].key);
	packets = find_key(comment, "packets");
	for (unsigned i = 0; i < DETAILS; i++) {
		if (!at[i])
			continue;
		*at[i] = '\0';
		row->text[details[i].field] = strchr(at[i] + 1, '=') + 1;
	}
	if (packets) {
		*packets = '\0';
		if (num_u64(packets + strlen(" packets="), 1, UINT32_MAX, &n))
			n = 1;
	}
	row->counts.packets = n;
	return true;
}

static void end_second(struct lostcap *c)
{
	const struct trace_time time = {c->to_ns, c->to_ns - c->d->from_ns, c->to_ns - c->from_ns};
	struct live_table flows;
	struct json_object *o;

	if (!c->rows.n)
		return;
	worst_rows(&flows, &c->rows, ROWS_BY_FLOW, 1u << CLASS_LOSS, FLOWS_MAX);
	o = json_trace_interval(&c->rows, &flows, BY, &time);
	table_free(&flows);
	table_clear(&c->rows);
	series_add(c->series, o, c->from_ns, c->to_ns);
}

static void add_row(struct lostcap *c, const struct live_row *row, uint64_t time_ns)
{
	if (!c->d->from_ns)
		c->d->from_ns = time_ns / SECOND * SECOND;
	c->d->to_ns = larger(c->d->to_ns, time_ns);
	if (time_ns >= c->to_ns) { /* times may go back a little: then it is still this second */
		end_second(c);
		c->from_ns = time_ns / SECOND * SECOND;
		c->to_ns = c->from_ns + SECOND;
	}
	table_add(&c->rows, row, BY | LIVE_BIT(LIVE_FLOW));
}

static int take_packet(void *arg, const struct capfile_packet *p)
{
	struct live_row row = {.counts = {.events = 1}};
	char comment[PCAPNG_COMMENT], flow[FLOW_TEXT];
	struct lostcap *c = arg;
	struct datagram d;

	for (unsigned f = 0; f < LIVE_FIELD_COUNT; f++)
		row.text[f] = "";
	snprintf(comment, sizeof(comment), "%s", p->comment);
	if (!read_comment(comment, &row)) {
		c->strangers++;
		return 0;
	}
	if (!c->file->from_ns)
		c->file->from_ns = p->time_ns;
	c->file->to_ns = larger(c->file->to_ns, p->time_ns);
	if (p->time_ns < c->spec->since_ns || p->time_ns > c->spec->until_ns)
		return 0;
	datagram_read(&d, p);
	if (!packetfilter_match(c->filter, p, &d))
		return 0;
	row.stage = rows_stage(row.text[LIVE_STAGE]);
	while (row.class < CLASS_NONE && strcmp(class_name(row.class), row.text[LIVE_CLASS]))
		row.class++;
	if (row.class == CLASS_NONE)
		row.class = CLASS_LOSS;
	row.text[LIVE_CLASS] = class_name(row.class);
	row.text[LIVE_SOURCE] = "event";
	row.text[LIVE_SCOPE] = "flow";
	row.text[LIVE_FLOW] = describe_flow(&d.flow, flow, sizeof(flow));
	row.counts.bytes = d.flow.family ? d.ip_wire_len : p->wire_len;
	add_row(c, &row, p->time_ns);
	return 0;
}

static struct json_object *document(struct lostcap *c)
{
	struct json_object *o = json_object_new_object(), *start;

	json_put_text(o, "schema", "pktledger/capture/1");
	json_put_text(o, "file", c->d->path);
	json_put_u64(o, "number", 1);
	start = json_put_object(o, "start");
	json_put_time(start, "time", c->d->from_ns);
	json_put(start, "by", json_fields(BY));
	json_put_text(start, "expression", c->spec->expr);
	json_put(o, "covers", series_covers(c->series, c->d->from_ns, c->d->to_ns));
	json_put(o, "intervals", series_intervals(c->series));
	json_put(o, "worst", series_worst(c->series));
	json_put(o, "sum", series_sum(c->series));
	return o;
}

static int read_all(struct lostcap *c, const char *path, struct error *err)
{
	struct ledgers_file *file = c->file;
	struct capfile_state state;
	int rc = capfile_read(path, take_packet, c, &state, err);

	if (rc)
		return rc;
	end_second(c);
	if (!state.packets)
		return error_set(err, STATUS_FAILED, -ENODATA, NULL, "%s has no packets", path);
	if (c->strangers)
		return error_usage(err, "name the capture of the other end, too, to compare them",
				   "%s: of its %s %llu have no reason for their loss, as those of "
				   "`trace -w` do",
				   path, fmt_many(state.packets, "packet"),
				   (unsigned long long)c->strangers);
	file->documents = 1;
	file->state.lines = state.packets;
	file->state.cut = state.cut;
	file->state.bad = state.cut;
	if (c->d->to_ns)
		c->d->json = document(c);
	return 0;
}

static int look_at_first(void *arg, const struct capfile_packet *p)
{
	*(bool *)arg = !strncmp(p->comment, COMMENT, strlen(COMMENT));
	return 1;
}

bool lostcap_is(const char *path)
{
	struct capfile_state state;
	bool is = false;

	capfile_read(path, look_at_first, &is, &state, &(struct error){});
	return is;
}

int lostcap_read(const char *path, const struct load_spec *spec, struct ledgers_document *d,
		 struct ledgers_file *file, struct error *err)
{
	struct lostcap c = {.spec = spec, .d = d, .file = file};
	int rc = packetfilter_new(&c.filter, spec->expr, err);

	*d = (struct ledgers_document){
		.command = "capture", .parts = true, .path = path, .number = 1};
	if (rc)
		return rc;
	c.series = series_new(SERIES_PARTS, BY);
	table_init(&c.rows, LIVE_ROWS);
	rc = read_all(&c, path, err);
	table_free(&c.rows);
	series_free(c.series);
	packetfilter_free(c.filter);
	return rc;
}
