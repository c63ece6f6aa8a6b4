// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Drop reasons out of BTF made here, and out of the running kernel's where it has any. */
#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases.h"
#include "drops/reason.h"
#include "drops/tcp.h"

static void add_tracepoint(struct btf *btf, const char *name, unsigned args)
{
	int proto, ptr, u64 = btf__add_int(btf, "u64", 8, 0);
	char type[64];

	proto = btf__add_func_proto(btf, 0);
	assert_true(proto > 0);
	for (unsigned i = 0; i < args + 1; i++) /* __data comes first */
		assert_int_equal(btf__add_func_param(btf, i ? "a" : "__data", u64), 0);
	ptr = btf__add_ptr(btf, proto);
	snprintf(type, sizeof(type), "btf_trace_%s", name);
	assert_true(btf__add_typedef(btf, type, ptr) > 0);
}

static void add_enum(struct btf *btf, const char *type, const char *const names[],
		     const uint32_t values[], unsigned n)
{
	assert_true(btf__add_enum(btf, type, 4) > 0);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(btf__add_enum_value(btf, names[i], values[i]), 0);
}

#define ADD_ENUM(btf, type, names, values)                                                         \
	add_enum(btf, type, names, values, sizeof(values) / sizeof((values)[0]))

/* Writes the BTF to a file, opens it as reasons. */
static struct reasons *open_btf(struct btf *btf)
{
	char path[] = "/tmp/pktledger-btf-XXXXXX";
	struct error err = {};
	struct reasons *r;
	uint32_t size;
	const void *raw = btf__raw_data(btf, &size);
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, raw, size), size);
	close(fd);
	assert_int_equal(reasons_open(&r, path, &err), 0);
	unlink(path);
	btf__free(btf);
	return r;
}

static void assert_name(const struct reasons *r, uint32_t value, const char *name)
{
	char buf[REASON_NAME];

	assert_string_equal(reasons_name(r, value, buf, sizeof(buf)), name);
}

CASE(core_names)
{
	static const char *const names[] = {
		"SKB_NOT_DROPPED_YET",	    "SKB_CONSUMED",
		"SKB_DROP_REASON_SKB_CSUM", "SKB_DROP_REASON_SOCKET_RCVBUFF",
		"SKB_DROP_REASON_MAX",	    "SKB_DROP_REASON_SUBSYS_MASK",
	};
	static const uint32_t values[] = {0, 1, 3, 15, 16, 0xffff0000};
	struct btf *btf = btf__new_empty();
	struct reasons *r;

	ADD_ENUM(btf, "skb_drop_reason", names, values);
	add_tracepoint(btf, "kfree_skb", 3);
	r = open_btf(btf);
	assert_int_equal(reasons_count(r), 4);
	assert_name(r, 0, "NOT_DROPPED_YET");
	assert_name(r, 3, "SKB_CSUM");
	assert_name(r, 15, "SOCKET_RCVBUFF");
	assert_name(r, 16, "REASON#16");
	assert_name(r, 0xffff0000, "REASON#4294901760");
	assert_int_equal(reasons_value(r, "SOCKET_RCVBUFF"), 15);
	assert_int_equal(reasons_value(r, "SOCKET_RCV"), -ENOENT);
	assert_int_equal(reasons_value(r, "MAX"), -ENOENT);
	assert_int_equal(reasons_tracepoint_args(r, "kfree_skb"), 3);
	reasons_free(r);
}

CASE(subsystem_names)
{
	static const char *const subsys[] = {
		"SKB_DROP_REASON_SUBSYS_CORE", "SKB_DROP_REASON_SUBSYS_MAC80211_UNUSABLE",
		"SKB_DROP_REASON_SUBSYS_OPENVSWITCH", "SKB_DROP_REASON_SUBSYS_QDISC"};
	static const uint32_t subsys_values[] = {0, 1, 2, 3};
	static const char *const core[] = {"SKB_DROP_REASON_NO_SOCKET"};
	static const uint32_t core_values[] = {3};
	static const char *const ovs[] = {"__OVS_DROP_REASON", "OVS_DROP_METER", "OVS_DROP_MAX"};
	static const uint32_t ovs_values[] = {0x20000, 0x20005, 0x2000c};
	static const char *const qdisc[] = {"QDISC_DROP_UNSPEC", "QDISC_DROP_GENERIC"};
	static const uint32_t qdisc_values[] = {0, 0x30001};
	static const char *const wlan[] = {"RX_CONTINUE", "RX_DROP_U_MIC_FAIL"};
	static const uint32_t wlan_values[] = {1, 0x10001};
	struct btf *btf = btf__new_empty();
	struct reasons *r;

	ADD_ENUM(btf, "skb_drop_reason_subsys", subsys, subsys_values);
	ADD_ENUM(btf, "skb_drop_reason", core, core_values);
	ADD_ENUM(btf, "ovs_drop_reason", ovs, ovs_values);
	ADD_ENUM(btf, "qdisc_drop_reason", qdisc, qdisc_values);
	ADD_ENUM(btf, "mac80211_drop_reason", wlan, wlan_values);
	r = open_btf(btf);
	assert_int_equal(reasons_count(r), 4);
	assert_name(r, 3, "NO_SOCKET");
	assert_name(r, 0x20005, "openvswitch:METER");
	assert_name(r, 0x30001, "qdisc:GENERIC");
	assert_name(r, 0x10001, "mac80211_unusable:MIC_FAIL");
	assert_name(r, 0x20006, "REASON#131078");
	assert_int_equal(reasons_value(r, "openvswitch:METER"), 0x20005);
	reasons_free(r);
}

/* A kernel before 5.17: no enum, and kfree_skb has two arguments. */
CASE(no_reasons)
{
	struct btf *btf = btf__new_empty();
	struct reasons *r;

	add_tracepoint(btf, "kfree_skb", 2);
	r = open_btf(btf);
	assert_int_equal(reasons_count(r), 0);
	assert_name(r, 2, "");
	assert_int_equal(reasons_value(r, "NO_SOCKET"), -ENOENT);
	assert_int_equal(reasons_tracepoint_args(r, "kfree_skb"), 2);
	assert_int_equal(reasons_tracepoint_args(r, "xdp_redirect_err"), -ENOENT);
	reasons_free(r);
}

CASE(no_btf)
{
	struct error err = {};
	struct reasons *r;

	assert_int_equal(reasons_open(&r, "/nonexistent/btf", &err), -ENOENT);
	assert_null(r);
	assert_int_equal(err.status, STATUS_UNABLE);
	assert_non_null(strstr(err.message, "/nonexistent/btf"));
}

/* The result on a kernel without reasons. */
static void assert_refused(struct btf *btf, const char *words)
{
	struct tcp_spec spec = {.reasons = open_btf(btf), .flows = 1};
	struct tcp_observer *o;
	struct error err = {};

	assert_true(tcp_observer_open(&o, &spec, &err) < 0);
	assert_int_equal(err.status, STATUS_UNABLE);
	assert_non_null(strstr(err.message, words));
	assert_non_null(strstr(err.hint, "trace without --balance"));
	reasons_free((struct reasons *)spec.reasons);
}

CASE(what_tcp_needs)
{
	struct btf *btf = btf__new_empty();

	add_tracepoint(btf, "kfree_skb", 2);
	add_tracepoint(btf, "tcp_retransmit_skb", 3);
	assert_refused(btf, "(skb:kfree_skb without reason)");
	btf = btf__new_empty();
	add_tracepoint(btf, "kfree_skb", 4);
	add_tracepoint(btf, "tcp_retransmit_skb", 2);
	assert_refused(btf, "fexit on __tcp_retransmit_skb");
}

CASE(running_kernel)
{
	struct error err = {};
	struct reasons *r, *again;
	char buf[REASON_NAME];
	const char **name;

	if (access("/sys/kernel/btf/vmlinux", R_OK))
		skip();
	reasons_prepare();
	reasons_prepare();
	assert_int_equal(reasons_open(&r, NULL, &err), 0);
	assert_int_equal(reasons_open(&again, NULL, &err), 0);
	assert_ptr_equal(again, r); /* read once */
	reasons_free(again);
	assert_in_range(reasons_tracepoint_args(r, "kfree_skb"), 2, 4);
	assert_int_equal(reasons_count(r) > 0, reasons_tracepoint_args(r, "kfree_skb") > 2);
	name = reasons_names(r);
	for (unsigned i = 0; i < reasons_count(r); i++) {
		int value = reasons_value(r, name[i]);

		assert_true(value >= 0);
		assert_string_equal(reasons_name(r, (uint32_t)value, buf, sizeof(buf)), name[i]);
	}
	free(name);
	reasons_free(r);
}
