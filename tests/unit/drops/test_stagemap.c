// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The stage map against the enums of kernels and against what was measured on them. */
#include <bpf/btf.h>
#include <errno.h>
#include <fnmatch.h>
#include <linux/bpf.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/if_packet.h>

#include "cases.h"
#include "drops/reason.h"
#include "drops/stagemap.h"
#include "trace_abi.h"

#define NAMES_MAX 512

static char names[NAMES_MAX][REASON_NAME];
static unsigned name_count;

/* Lines "value name"; the value is not needed here. */
static unsigned read_fixture(const char *file)
{
	char path[128], line[256], name[REASON_NAME];
	unsigned before = name_count;
	FILE *f;

	snprintf(path, sizeof(path), "tests/fixtures/reasons/%s", file);
	f = fopen(path, "r");
	if (!f)
		fail_msg("%s: %s (run from the top of the tree)", path, strerror(errno));
	while (fgets(line, sizeof(line), f)) {
		if (line[0] == '#' || sscanf(line, "%*s %63s", name) != 1)
			continue;
		assert_true(name_count < NAMES_MAX);
		strcpy(names[name_count++], name);
	}
	fclose(f);
	return name_count - before;
}

static int read_fixtures(void **state)
{
	assert_int_equal(read_fixture("6.1"), 66);
	assert_int_equal(read_fixture("6.12"), 104);
	assert_int_equal(read_fixture("6.18"), 128);
	assert_int_equal(read_fixture("7.2"), 126);
	assert_int_equal(read_fixture("other"), 30);
	return 0;
}

static bool shown[256]; /* rows of the map that a case has met */

static struct verdict look_up(const char *reason, const char *location, unsigned flags)
{
	struct stagemap_event e = {
		.reason = reason,
		.location = location,
		.aux = "",
		.observer = OBSERVER_KFREE_SKB,
		.flags = flags,
	};

	return stagemap_judge(&e);
}

static struct verdict judge(const char *reason, const char *location, unsigned flags)
{
	struct verdict v = look_up(reason, location, flags);

	for (unsigned i = 0; i < stagemap_row_count; i++)
		shown[i] |= stagemap_rows[i].note == v.note;
	return v;
}

/* Whether a row names the reason, for a place that no row knows. */
static bool has_reason(const char *reason)
{
	for (unsigned i = 0; i < stagemap_row_count; i++) {
		const struct stagemap_row *row = &stagemap_rows[i];

		/* NOT_SPECIFIED says nothing: only its places can be known. */
		if (row->reasons && (!row->locations || !strcmp(reason, "NOT_SPECIFIED")) &&
		    stagemap_listed(row->reasons, reason))
			return true;
	}
	return false;
}

/*
 * Reasons of the running kernel that no row names: returns how many, and writes their names to
 * `buf`, separated by blanks, as far as they fit.
 */
static unsigned missing_rows(const struct reasons *r, char *buf, unsigned size)
{
	unsigned missing = 0, len = 0;
	const char **name = reasons_names(r);

	if (size)
		buf[0] = '\0';
	for (unsigned i = 0; i < reasons_count(r); i++) {
		if (has_reason(name[i]))
			continue;
		missing++;
		if (len < size)
			len += snprintf(buf + len, size - len, "%s%s", len ? " " : "", name[i]);
	}
	free(name);
	return missing;
}

CASE(every_reason_has_a_row)
{
	for (unsigned i = 0; i < name_count; i++) {
		if (!has_reason(names[i]))
			fail_msg("no row for %s", names[i]);
		/* At an unknown place too, except the one reason that says nothing. */
		if (strcmp(names[i], "NOT_SPECIFIED") && !look_up(names[i], "nowhere", 0).known)
			fail_msg("%s is unknown at an unknown place", names[i]);
	}
	assert_false(has_reason("NO_SUCH_REASON"));
	assert_false(has_reason("REASON#7"));
}

static void assert_a_kernel_has(const char *pattern)
{
	for (unsigned i = 0; i < name_count; i++) {
		if (!fnmatch(pattern, names[i], 0))
			return;
	}
	fail_msg("no kernel ever had the reason %s", pattern);
}

CASE(rows_are_sound)
{
	for (unsigned i = 0; i < stagemap_row_count; i++) {
		const struct stagemap_row *row = &stagemap_rows[i];
		char list[1024], *word, *rest = list;

		assert_non_null(row->note);
		assert_in_range(row->stage, 0, STAGE_COUNT);
		assert_true(row->reasons || row->locations);
		if (row->class == CLASS_LOSS)
			assert_true(row->stage != STAGE_NONE);
		snprintf(list, sizeof(list), "%s", row->reasons ? row->reasons : "");
		while ((word = strsep(&rest, " ")))
			if (*word)
				assert_a_kernel_has(word);
	}
}

/* No row may stand behind one that takes all it could take. */
CASE(no_row_is_hidden)
{
	for (unsigned i = 0; i < stagemap_row_count; i++) {
		const struct stagemap_row *a = &stagemap_rows[i];

		for (unsigned j = i + 1; j < stagemap_row_count; j++) {
			const struct stagemap_row *b = &stagemap_rows[j];
			bool reasons =
				!a->reasons || (b->reasons && !strcmp(a->reasons, b->reasons));
			bool places = !a->locations ||
				      (b->locations && !strcmp(a->locations, b->locations));

			if (reasons && places)
				fail_msg("row %u (%s) hides row %u (%s)", i, a->note, j, b->note);
		}
	}
}

CASE(known_places)
{
	char line[256], reason[64], place[64], stage[32], class[16];
	FILE *f = fopen("tests/fixtures/reasons/places", "r");
	unsigned n = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		struct verdict v;

		if (line[0] == '#')
			continue;
		assert_int_equal(sscanf(line, "%63s %63s %31s %15s", reason, place, stage, class),
				 4);
		v = judge(strcmp(reason, "-") ? reason : "", place, 0);
		if (strcmp(stage_name(v.stage), stage) || !v.known ||
		    strcmp(class_name(v.class), class))
			fail_msg("%s @%s: %s %s, not %s %s", reason, place, stage_name(v.stage),
				 class_name(v.class), stage, class);
		n++;
	}
	fclose(f);
	assert_int_equal(n, 224);
}

/* A blackhole of IPv6 ends both ways in dst_discard(). */
CASE(blackholes)
{
	assert_int_equal(judge("NOT_SPECIFIED", "dst_discard_out", CAUSE_SK).stage, STAGE_TX_ROUTE);
	assert_int_equal(judge("NOT_SPECIFIED", "dst_discard_out", 0).stage, STAGE_IP_ROUTE);
}

/* Reasons of a kernel of tomorrow: as many names as fit, and not a byte more. */
CASE(names_that_do_not_fit)
{
	char path[] = "/tmp/pktledger-btf-XXXXXX", list[32], all[64];
	struct btf *btf = btf__new_empty();
	int fd = mkstemp(path);
	struct error err = {};
	struct reasons *r;
	const void *raw;
	uint32_t size;

	assert_true(btf__add_enum(btf, "skb_drop_reason", 4) > 0);
	for (int i = 0; i < 3; i++) {
		snprintf(all, sizeof(all), "SKB_DROP_REASON_OF_TOMORROW_%d", i);
		assert_int_equal(btf__add_enum_value(btf, all, 3 + i), 0);
	}
	raw = btf__raw_data(btf, &size);
	assert_int_equal(write(fd, raw, size), size);
	close(fd);
	assert_int_equal(reasons_open(&r, path, &err), 0);
	unlink(path);
	assert_int_equal(missing_rows(r, all, sizeof(all)), 3);
	assert_string_equal(all, "OF_TOMORROW_0 OF_TOMORROW_1 OF_TOMORROW_2");
	for (unsigned room = 0; room < sizeof(list) / 2; room++) {
		memset(list, '#', sizeof(list));
		assert_int_equal(missing_rows(r, list, room), 3);
		for (size_t i = room; i < sizeof(list); i++)
			assert_int_equal(list[i], '#');
		if (room)
			assert_int_equal(strncmp(list, all, strlen(list)), 0);
	}
	/* the second name is cut, and the third does not come behind it */
	memset(list, '#', sizeof(list));
	missing_rows(r, list, 20);
	assert_string_equal(list, "OF_TOMORROW_0 OF_TO");
	assert_int_equal(list[20], '#');
	reasons_free(r);
	btf__free(btf);
}

CASE(unknown_places)
{
	struct verdict v = judge("NOT_SPECIFIED", "some_driver_poll", 0);

	assert_int_equal(v.stage, STAGE_OTHER);
	assert_int_equal(v.class, CLASS_LOSS);
	assert_false(v.known);
	assert_int_equal(judge("REASON#200", "", 0).stage, STAGE_OTHER);
	assert_int_equal(judge("REASON#200", "br_flood", 0).stage, STAGE_L2);
	assert_int_equal(judge("", "", 0).stage, STAGE_OTHER);
}

CASE(copies)
{
	assert_int_equal(judge("OTHERHOST", "ip_rcv_core", CAUSE_COPY).class, CLASS_COPY);
	assert_int_equal(judge("OTHERHOST", "ip_rcv_core", CAUSE_COPY).stage, STAGE_L2);
	assert_int_equal(judge("OTHERHOST", "ip_rcv_core", 0).class, CLASS_LOSS);
	assert_int_equal(judge("NOT_SPECIFIED", "skb_release_data", CAUSE_COPY).class,
			 CLASS_NONE);
}

/* What a driver frees when it has been sent is no loss, whatever call it frees it by. */
CASE(transmissions)
{
	assert_int_equal(judge("NOT_SPECIFIED", "vmxnet3_tq_tx_complete", 0).class, CLASS_NONE);
	assert_int_equal(judge("NOT_SPECIFIED", "vmxnet3_rq_rx_complete", 0).class, CLASS_LOSS);
}

/* Who sends still has its socket; of what came from elsewhere ip_rcv_core() took it. */
CASE(directions)
{
	enum { BY_SOCKET = -1 };
	static const struct {
		const char *reason, *location;
		int direction;
		enum stage stage;
	} rows[] = {
		{"QDISC_DROP", "__dev_queue_xmit", BY_SOCKET, STAGE_QDISC},
		{"QDISC_DROP", "noop_enqueue", BY_SOCKET, STAGE_QDISC},
		{"TC_EGRESS", "__dev_queue_xmit", BY_SOCKET, STAGE_TC_EGRESS},
		{"NEIGH_FAILED", "neigh_invalidate", BY_SOCKET, STAGE_NEIGH},
		{"PKT_TOO_BIG", "ip_do_fragment", BY_SOCKET, STAGE_TX_SOCKET},
		{"NOT_SPECIFIED", "veth_xmit", BY_SOCKET, STAGE_TX_DEVICE},
		{"FULL_RING", "tun_net_xmit", DIRECTION_TX, STAGE_TX_DEVICE},
		{"NOMEM", "tap_handle_frame", DIRECTION_TX, STAGE_TX_DEVICE},
		{"NOT_SPECIFIED", "tun_get_user", DIRECTION_RX, STAGE_TX_DEVICE},
		{"NOT_SPECIFIED", "tap_get_user", DIRECTION_RX, STAGE_TX_DEVICE},
		{"IP_OUTNOROUTES", "ip6_pkt_discard_out", DIRECTION_TX, STAGE_TX_ROUTE},
		{"IP_INHDR", "ip_forward", DIRECTION_FORWARD, STAGE_IP_FORWARD},
		{"CPU_BACKLOG", "enqueue_to_backlog", DIRECTION_RX, STAGE_BACKLOG},
		{"SOCKET_RCVBUFF", "x", DIRECTION_RX, STAGE_RCVBUF},
	};

	for (unsigned i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
		const bool sent = i % 2;
		struct verdict v =
			judge(rows[i / 2].reason, rows[i / 2].location, sent ? CAUSE_SK : 0);

		assert_int_equal(v.stage, rows[i / 2].stage);
		assert_int_equal(v.direction, rows[i / 2].direction != BY_SOCKET
						      ? rows[i / 2].direction
					      : sent ? DIRECTION_TX
						     : DIRECTION_FORWARD);
	}
	assert_non_null(strstr(judge("QDISC_DROP", "noop_enqueue", 0).note, "link was down"));
	assert_null(strstr(judge("QDISC_DROP", "__dev_queue_xmit", 0).note, "link was down"));
}

static struct verdict judge_hook(unsigned flags, const char *aux, unsigned pkt_type)
{
	return stagemap_judge(&(struct stagemap_event){
		.reason = "NETFILTER_DROP",
		.location = "nft_do_chain",
		.aux = aux,
		.flags = flags,
		.pkt_type = pkt_type,
	});
}

CASE(hooks)
{
	static const struct {
		unsigned flags;
		const char *aux;
		enum netfilter_hook hook;
		enum direction direction;
	} cases_hook[] = {
		{CAUSE_NO_DEV | CAUSE_SK | CAUSE_DST, "dst_discard", HOOK_OUTPUT, DIRECTION_TX},
		{CAUSE_NO_DEV | CAUSE_SK | CAUSE_DST, "ip6_forward", HOOK_OUTPUT, DIRECTION_TX},
		{CAUSE_DST, "ip_local_deliver", HOOK_INPUT, DIRECTION_RX},
		{CAUSE_DST, "ip6_input", HOOK_INPUT, DIRECTION_RX},
		{CAUSE_DST, "ip6_mc_input", HOOK_INPUT, DIRECTION_RX},
		/* the socket found early (udp_v4_early_demux) */
		{CAUSE_DST | CAUSE_SK, "ip_local_deliver", HOOK_INPUT, DIRECTION_RX},
		{CAUSE_DST, "ip_forward", HOOK_FORWARD, DIRECTION_FORWARD},
		{CAUSE_DST, "ip6_forward", HOOK_FORWARD, DIRECTION_FORWARD},
		{CAUSE_DST | CAUSE_SK, "dst_discard", HOOK_POSTROUTING, DIRECTION_TX},
		{CAUSE_DST | CAUSE_SK, "ip6_forward", HOOK_POSTROUTING, DIRECTION_TX},
		{CAUSE_DST, "__netif_receive_skb_core", HOOK_INGRESS, DIRECTION_RX},
		{CAUSE_DST | CAUSE_SK, "__dev_queue_xmit", HOOK_EGRESS, DIRECTION_TX},
		{CAUSE_DST, "__dev_queue_xmit", HOOK_EGRESS, DIRECTION_FORWARD},
		{0, "", HOOK_PREROUTING, DIRECTION_RX},
		{CAUSE_SK, "", HOOK_INGRESS, DIRECTION_RX},
		{CAUSE_DST, "nft_do_chain", HOOK_BRIDGE_PREROUTING, DIRECTION_RX},
		{CAUSE_DST, "br_nf_pre_routing_finish", HOOK_BRIDGE_PREROUTING, DIRECTION_RX},
		{CAUSE_DST, "br_pass_frame_up", HOOK_BRIDGE_INPUT, DIRECTION_RX},
		{CAUSE_DST | CAUSE_SK, "__br_forward", HOOK_BRIDGE_OUTPUT, DIRECTION_TX},
		{CAUSE_DST, "br_forward_finish", HOOK_BRIDGE_POSTROUTING, DIRECTION_TX},
		{CAUSE_DST, "arp_rcv", HOOK_ARP_INPUT, DIRECTION_RX},
		{CAUSE_DST, "arp_xmit", HOOK_ARP_OUTPUT, DIRECTION_TX},
		/* IP's, run where a bridge has hooks, too */
		{CAUSE_DST, "ip_rcv", HOOK_PREROUTING, DIRECTION_RX},
		{CAUSE_DST, "br_nf_pre_routing", HOOK_PREROUTING, DIRECTION_RX},
		{CAUSE_DST, "br_nf_forward", HOOK_FORWARD, DIRECTION_FORWARD},
		{CAUSE_DST, "br_nf_post_routing", HOOK_POSTROUTING, DIRECTION_FORWARD},
		{CAUSE_DST | CAUSE_SK, "ip6_output", HOOK_POSTROUTING, DIRECTION_TX},
	};

	for (unsigned i = 0; i < sizeof(cases_hook) / sizeof(cases_hook[0]); i++) {
		struct verdict v = judge_hook(cases_hook[i].flags, cases_hook[i].aux, PACKET_HOST);

		assert_int_equal(v.stage, STAGE_NETFILTER);
		assert_int_equal(v.hook, cases_hook[i].hook);
		assert_int_equal(v.direction, cases_hook[i].direction);
	}
	/* what a bridge forwards; with a socket: from another namespace, by veth */
	for (unsigned type = PACKET_BROADCAST; type <= PACKET_OTHERHOST; type++) {
		struct verdict v = judge_hook(CAUSE_DST | CAUSE_SK, "__br_forward", type);

		assert_int_equal(v.hook, HOOK_BRIDGE_FORWARD);
		assert_int_equal(v.direction, DIRECTION_FORWARD);
		v = judge_hook(CAUSE_DST | CAUSE_SK, "br_forward_finish", type);
		assert_int_equal(v.hook, HOOK_BRIDGE_POSTROUTING);
		assert_int_equal(v.direction, DIRECTION_FORWARD);
	}
	assert_int_equal(judge("NO_SOCKET", "udp_rcv", 0).hook, HOOK_NONE);
	assert_null(netfilter_hook_names[HOOK_NONE]);
	assert_string_equal(netfilter_hook_names[HOOK_POSTROUTING], "postrouting");
	assert_string_equal(netfilter_hook_names[HOOK_EGRESS], "egress");
	for (int hook = HOOK_NONE + 1; hook < HOOK_COUNT; hook++)
		assert_non_null(netfilter_hook_names[hook]);
}

CASE(observers)
{
	static const struct {
		enum trace_observer observer;
		int error;
		uint32_t map_type;
		unsigned flags;
		enum stage stage;
		enum direction direction;
		const char *note; /* a word of it */
	} rows[] = {
		{OBSERVER_REDIRECT_ERR, ENOBUFS, BPF_MAP_TYPE_XSKMAP, 0, STAGE_XSK, DIRECTION_RX,
		 "RX ring was full"},
		{OBSERVER_REDIRECT_ERR, ENOMEM, BPF_MAP_TYPE_XSKMAP, 0, STAGE_XSK, DIRECTION_RX,
		 "fill ring was empty"},
		{OBSERVER_REDIRECT_ERR, ENOSPC, BPF_MAP_TYPE_XSKMAP, 0, STAGE_XSK, DIRECTION_RX,
		 "larger than the socket's"},
		{OBSERVER_REDIRECT_ERR, ENXIO, BPF_MAP_TYPE_XSKMAP, 0, STAGE_XSK, DIRECTION_RX,
		 "not bound"},
		{OBSERVER_REDIRECT_ERR, EIO, BPF_MAP_TYPE_XSKMAP, 0, STAGE_XSK, DIRECTION_RX,
		 "redirect to the socket failed"},
		{OBSERVER_REDIRECT_ERR, ENETDOWN, BPF_MAP_TYPE_DEVMAP, 0, STAGE_XDP, DIRECTION_RX,
		 "that is down"},
		{OBSERVER_REDIRECT_ERR, ENOSPC, BPF_MAP_TYPE_CPUMAP, 0, STAGE_XDP, DIRECTION_RX,
		 "could not be queued"},
		{OBSERVER_REDIRECT_ERR, EINVAL, 0, 0, STAGE_XDP, DIRECTION_RX, "does not exist"},
		{OBSERVER_REDIRECT_ERR, EIO, 0, 0, STAGE_XDP, DIRECTION_RX, "redirect failed"},
		{OBSERVER_REDIRECT_ERR, ENETDOWN, BPF_MAP_TYPE_DEVMAP, CAUSE_LIVE, STAGE_TX_DEVICE,
		 DIRECTION_TX, "that is down"},
		{OBSERVER_REDIRECT_ERR, ENXIO, BPF_MAP_TYPE_XSKMAP, CAUSE_LIVE, STAGE_TX_DEVICE,
		 DIRECTION_TX, "redirect failed"},
		{OBSERVER_XDP_EXCEPTION, 0, 0, 0, STAGE_XDP, DIRECTION_RX, "aborted"},
		{OBSERVER_XDP_EXCEPTION, 0, 0, CAUSE_LIVE, STAGE_XDP, DIRECTION_RX, "aborted"},
		{OBSERVER_DEVMAP_XMIT, ENXIO, 0, 0, STAGE_XDP, DIRECTION_FORWARD,
		 "the target device"},
		{OBSERVER_DEVMAP_XMIT, ENXIO, 0, CAUSE_LIVE, STAGE_TX_DEVICE, DIRECTION_TX, "NAPI"},
		{OBSERVER_DEVMAP_XMIT, 0, 0, CAUSE_LIVE, STAGE_TX_DEVICE, DIRECTION_TX,
		 "ring was full"},
		{OBSERVER_DEVMAP_XMIT, EIO, 0, CAUSE_LIVE, STAGE_TX_DEVICE, DIRECTION_TX,
		 "refused the frames"},
		{OBSERVER_BULK_TX, ENXIO, 0, 0, STAGE_XDP, DIRECTION_TX, "XDP_TX"},
		{OBSERVER_CPUMAP, 0, 0, 0, STAGE_XDP, DIRECTION_RX, "target CPU"},
		{OBSERVER_SOCKET_QUEUE, 0, 0, 0, STAGE_SOCKET_CLOSE, DIRECTION_RX, "unread"},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct stagemap_event e = {
			.reason = "",
			.location = "",
			.aux = "",
			.observer = rows[i].observer,
			.error = rows[i].error,
			.flags = rows[i].flags,
			.map_type = rows[i].map_type,
		};
		struct verdict v = stagemap_judge(&e);

		assert_int_equal(v.stage, rows[i].stage);
		assert_int_equal(v.direction, rows[i].direction);
		assert_int_equal(v.class, CLASS_LOSS);
		if (!strstr(v.note, rows[i].note))
			fail_msg("row %u: %s", i, v.note);
		assert_true(v.known);
	}
}

CASE(running_kernel)
{
	struct error err = {};
	struct reasons *r;
	char list[1024];

	if (access("/sys/kernel/btf/vmlinux", R_OK))
		skip();
	assert_int_equal(reasons_open(&r, NULL, &err), 0);
	if (missing_rows(r, list, sizeof(list)))
		fail_msg("reasons of this kernel without a row: %s", list);
	reasons_free(r);
}

CASE(stages_have_names)
{
	for (enum stage i = 0; i < STAGE_COUNT; i++) /* rows are found by their place */
		assert_int_equal(stage_facts[i].stage, i);
	assert_string_equal(stage_name(STAGE_UDP_MEM), "udp_mem");
	assert_string_equal(stage_title(STAGE_QDISC), "queueing discipline");
	assert_string_equal(stage_name(STAGE_NONE), "none");
	assert_string_equal(stage_title(STAGE_NONE), "not a loss of another packet");
}

/* The last of the cases: a row without one could say anything. */
CASE(every_row_has_a_case)
{
	for (unsigned i = 0; i < stagemap_row_count; i++) {
		if (!shown[i])
			fail_msg("no case for row %u: %s @%s (%s)", i,
				 stagemap_rows[i].reasons ? stagemap_rows[i].reasons : "any",
				 stagemap_rows[i].locations ? stagemap_rows[i].locations : "any",
				 stagemap_rows[i].note);
	}
}

int main(void)
{
	return run_cases(read_fixtures, NULL);
}
