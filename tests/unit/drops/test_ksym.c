// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <string.h>

#include "cases.h"
#include "drops/ksym.h"

#define FIXTURES "tests/fixtures/kallsyms/"

static struct ksyms *open_small(void)
{
	struct error err = {};
	struct ksyms *k;

	if (ksyms_open(&k, FIXTURES "small", &err))
		fail_msg("%s (run from the top of the tree)", err.message);
	return k;
}

static void assert_place(const struct ksyms *k, uint64_t addr, const char *expected)
{
	char buf[KSYM_NAME];

	assert_string_equal(ksym_format(k, addr, buf, sizeof(buf)), expected);
}

CASE(places)
{
	struct ksyms *k = open_small();

	assert_place(k, 0xffffffff81000fff, "?");
	assert_place(k, 0xffffffff81001000, "ip_rcv+0x0");
	assert_place(k, 0xffffffff8100101f, "ip_rcv+0x1f");
	/* suffixes are cut, data symbols do not count, the first of two aliases is the name */
	assert_place(k, 0xffffffff81002010, "__netif_receive_skb_core+0x10");
	assert_place(k, 0xffffffff81003004, "udp_recvmsg+0x4");
	assert_place(k, 0xffffffff81004100, "alias_first+0x100");
	assert_place(k, 0xffffffff81005001, "weak_one+0x1");
	/* out of order in the file */
	assert_place(k, 0xffffffffa0001234, "vxlan_rcv+0x234 [vxlan]");
	assert_place(k, 0xffffffffa0002000, "vxlan_xmit+0x0 [vxlan]");
	/* too far after any function */
	assert_place(k, 0xffffffffa0102000, "?");
	assert_place(k, 0, "?");
	ksyms_free(k);
}

CASE(ranges)
{
	struct ksyms *k = open_small();
	struct trace_range at = ksym_range(k, "udp_recvmsg");

	assert_int_equal(at.start, 0xffffffff81003000);
	assert_int_equal(at.end, 0xffffffff81004000);
	/* of a truncated name, like any other name */
	at = ksym_range(k, "ip_rcv");
	assert_int_equal(at.start, 0xffffffff81001000);
	assert_true(at.end > at.start && at.end <= 0xffffffff81002000);
	at = ksym_range(k, "no_such_function");
	assert_int_equal(at.start, 0);
	assert_int_equal(at.end, 0);
	ksyms_free(k);
}

CASE(several_ranges)
{
	static const char *const names[] = {"__netif_receive_skb_core.constprop.0.cold",
					    "vxlan_rcv", "alias_second", "no_such_function",
					    "alias_first"};
	static const struct trace_range expected[] = {
		{0xffffffff81006000, 0xffffffff81106000}, /* nothing follows */
		{0xffffffffa0001000, 0xffffffffa0002000},
		{0xffffffff81004000, 0xffffffff81004000}, /* not the first name */
		{0, 0},
		{0xffffffff81004000, 0xffffffff81005000},
	};
	struct trace_range found[5];
	struct ksyms *k = open_small();

	ksym_ranges(k, names, 5, found);
	assert_memory_equal(found, expected, sizeof(found));
	ksyms_free(k);
}

CASE(parts)
{
	struct ksyms *k = open_small();
	struct ksym sym;

	assert_int_equal(ksym_find(k, 0, &sym), -ENOENT);
	assert_int_equal(ksym_find(k, 0xffffffffa0001001, &sym), 0);
	assert_string_equal(sym.name, "vxlan_rcv");
	assert_string_equal(sym.module, "vxlan");
	assert_int_equal(sym.offset, 1);
	assert_int_equal(ksym_find(k, 0xffffffff81002000, &sym), 0);
	assert_string_equal(sym.module, "");
	assert_int_equal(ksym_find(k, 0x1000, &sym), -ENOENT);
	ksyms_free(k);
}

CASE(addresses)
{
	struct ksyms *k = open_small();
	uint64_t addr;

	assert_int_equal(ksym_addr(k, "ip_rcv", &addr), 0);
	assert_true(addr == 0xffffffff81001000);
	/* cut and exact; the .cold part is not the function */
	assert_int_equal(ksym_addr(k, "__netif_receive_skb_core", &addr), 0);
	assert_true(addr == 0xffffffff81002000);
	assert_int_equal(ksym_addr(k, "__netif_receive_skb_core.constprop.0", &addr), 0);
	assert_true(addr == 0xffffffff81002000);
	assert_int_equal(ksym_addr(k, "vxlan_xmit", &addr), 0);
	assert_true(addr == 0xffffffffa0002000);
	assert_int_equal(ksym_addr(k, "ip_rc", &addr), -ENOENT);
	assert_int_equal(ksym_addr(k, "some_data", &addr), -ENOENT);
	ksyms_free(k);
}

CASE(hidden)
{
	struct error err = {};
	struct ksyms *k;

	assert_int_equal(ksyms_open(&k, FIXTURES "hidden", &err), -EPERM);
	assert_null(k);
	assert_int_equal(err.status, STATUS_UNABLE);
	assert_non_null(strstr(err.message, "CAP_SYSLOG"));
	assert_true(err.hint[0] != '\0');
}

CASE(missing)
{
	struct error err = {};
	struct ksyms *k;

	assert_int_equal(ksyms_open(&k, FIXTURES "nothing", &err), -ENOENT);
	assert_int_equal(err.status, STATUS_UNABLE);
	assert_non_null(strstr(err.message, FIXTURES "nothing"));
}

CASE(running_kernel)
{
	struct error err = {};
	struct ksyms *k, *again, *other;
	struct ksym sym;
	uint64_t addr;

	if (ksyms_open(&k, NULL, &err)) {
		assert_int_equal(err.status, STATUS_UNABLE);
		skip();
	}
	assert_int_equal(ksym_addr(k, "consume_skb", &addr), 0);
	assert_int_equal(ksym_find(k, addr + 1, &sym), 0);
	assert_string_equal(sym.name, "consume_skb");
	assert_int_equal(sym.offset, 1);
	/* the next one has them at once, two have their own */
	ksyms_free(k);
	assert_int_equal(ksyms_open(&again, NULL, &err), 0);
	assert_ptr_equal(again, k);
	assert_int_equal(ksyms_open(&other, NULL, &err), 0);
	assert_ptr_not_equal(other, k);
	assert_int_equal(ksym_addr(other, "consume_skb", &sym.offset), 0);
	assert_int_equal(sym.offset, addr);
	ksyms_free(other);
	ksyms_free(again);
	/* one that was not closed is not taken, and a thread reads a new one */
	assert_int_equal(ksyms_open(&again, NULL, &err), 0);
	ksyms_prepare();
	ksyms_prepare();
	assert_int_equal(ksyms_open(&other, NULL, &err), 0);
	assert_ptr_not_equal(other, again);
	assert_int_equal(ksym_addr(other, "consume_skb", &sym.offset), 0);
	assert_int_equal(sym.offset, addr);
	ksyms_free(other);
	ksyms_free(again);
}
