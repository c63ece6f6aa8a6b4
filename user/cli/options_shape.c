// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cli/options_shape.h"

#include <errno.h>
#include <string.h>

#include "stamp.h"

#define SRC_PORT 40000

static int parse_plan(const char *value, void *field, struct error *err)
{
	return rate_plan_parse(value, field, err);
}

static int parse_imix(const char *value, void *field, struct error *err)
{
	return imix_parse(value, field, err);
}

static int parse_addrs(const char *value, void *field, struct error *err)
{
	int rc = addrs_parse(value, field);

	return rc ? error_set(err, STATUS_USAGE, rc, NULL,
			      rc == -ERANGE
				      ? "'%.80s' is empty or more than 2^32 addresses"
				      : "'%.80s' is no range of addresses (examples: 198.18.0.1, "
					"198.18.0.1..198.18.0.9, 198.18.4.0/24, 2001:2::/120)",
			      value)
		  : 0;
}

static int parse_ports(const char *value, void *field, struct error *err)
{
	int rc = ports_parse(value, field);

	return rc ? error_set(
			    err, STATUS_USAGE, rc, NULL,
			    "'%.40s' is no range of ports 1 to 65535 (examples: 9000, 9000..9099)",
			    value)
		  : 0;
}

static int parse_share(const char *value, void *field, struct error *err)
{
	int rc = share_parse(value, field);

	return rc ? error_set(err, STATUS_USAGE, rc, NULL,
			      "'%.40s' is no share of the packets (examples: 1%%, 0.01%%)", value)
		  : 0;
}

static int parse_reorder(const char *value, void *field, struct error *err)
{
	int rc = reorder_parse(value, field);

	return rc ? error_set(err, STATUS_USAGE, rc, NULL,
			      "'%.40s' is no share of the packets with the extent 1 to %d "
			      "(examples: 1%%, 0.5%%:8)",
			      value, SHAPE_EXTENT_MAX)
		  : 0;
}

#define AT(field) offsetof(struct shape_options, field)

const struct opt shape_opts[] = {
	{"profile", 0, OPT_CUSTOM, AT(plan), .metavar = "KIND:...", .parse = parse_plan,
	 .default_text = "--rate throughout",
	 .help = "ramp:10k..1M/10s, steps:10k,50k,100k/2s (2 s each; the last rate holds), or "
		 "onoff:100ms/900ms (--rate while on)"},
	{"burst", 0, OPT_UINT, AT(burst), .min = 1, .max = SHAPE_BURST_MAX, .default_text = "1",
	 .help = "packets that leave at once, at the same rate on average"},
	{"imix", 0, OPT_CUSTOM, AT(imix), .metavar = "MIX", .parse = parse_imix,
	 .default_text = "one size",
	 .help = "frames with FCS of several sizes: simple (7 x 64, 4 x 594, 1 x 1518), "
		 "64:7,594:4,1518:1 (SIZE:WEIGHT), or an RFC 6985 genome such as aaafg"},
	{"src-addr", 0, OPT_CUSTOM, AT(src_addr), .metavar = "RANGE", .parse = parse_addrs,
	 .default_text = "the port's",
	 .help = "source addresses: ADDR, FIRST..LAST or ADDR/PREFIX"},
	{"dst-addr", 0, OPT_CUSTOM, AT(dst_addr), .metavar = "RANGE", .parse = parse_addrs,
	 .default_text = "the receiver's", .help = "destination addresses, in the same way"},
	{"src-port", 0, OPT_CUSTOM, AT(src_port), .metavar = "RANGE", .parse = parse_ports,
	 .default_text = "from 40000", .help = "source ports: PORT or FIRST..LAST"},
	{"dst-port", 0, OPT_CUSTOM, AT(dst_port), .metavar = "RANGE", .parse = parse_ports,
	 .default_text = "--port", .help = "destination ports; more than one only past sockets"},
	{"random", 0, OPT_FLAG, AT(random), .help = "flows and sizes by chance instead of in turn"},
	{"seed", 0, OPT_U64, AT(seed), .max = UINT64_MAX,
	 .help = "of all that is done by chance: the same seed, the same traffic"},
	{"vlan", 0, OPT_UINT, AT(vlan), .metavar = "ID", .min = 1, .max = 4094,
	 .default_text = "no tag", .help = "802.1Q tag; --tx xsk"},
	{"tos", 0, OPT_UINT, AT(tos), .max = 255, .default_text = "0",
	 .help = "TOS byte or traffic class, DSCP << 2"},
	{"ttl", 0, OPT_UINT, AT(ttl), .min = 1, .max = 255, .default_text = "64",
	 .help = "TTL or hop limit"},
	{"dup", 0, OPT_CUSTOM, AT(duplicate), .metavar = "SHARE", .parse = parse_share,
	 .default_text = "none", .help = "send so many numbers twice, to test receivers"},
	{"reorder", 0, OPT_CUSTOM, AT(reorder), .metavar = "SHARE[:EXTENT]", .parse = parse_reorder,
	 .default_text = "none", .help = "send so many numbers late, behind the next EXTENT (1)"},
	{"gap", 0, OPT_CUSTOM, AT(gap), .metavar = "SHARE", .parse = parse_share,
	 .default_text = "none", .help = "leave so many numbers out: they are not attempted"},
	{"pcap", 0, OPT_STRING, AT(pcap), .metavar = "FILE", .default_text = "none",
	 .help = "send the frames of a capture, with its timing unless --rate; once unless "
		 "--count"},
	{"stamp", 0, OPT_FLAG, AT(stamp),
	 .help = "with --pcap: address them to the receiver and number them"},
	{0},
};

bool shape_needs_frames(const struct shape_options *o)
{
	return o->vlan || o->pcap;
}

bool shape_needs_fragments(const struct shape_options *o, unsigned mtu)
{
	for (unsigned i = 0; i < o->imix.n; i++) {
		if (o->imix.frame[i] > mtu + 14 + 4)
			return true;
	}
	return false;
}

bool shape_has_schedule(const struct shape_options *o)
{
	return o->pcap || o->plan.kind == PLAN_RAMP || o->plan.kind == PLAN_STEPS;
}

static bool has_ranges(const struct shape_options *o)
{
	return o->src_addr.n || o->dst_addr.n || o->src_port.n || o->dst_port.n;
}

static int check_family(const struct shape_addrs *a, const char *option, bool ipv6,
			struct error *err)
{
	if (!a->n || a->family == (ipv6 ? AF_INET6 : AF_INET))
		return 0;
	return error_set(err, STATUS_USAGE, -EINVAL, ipv6 ? NULL : "add --ipv6, or use IPv4 there",
			 "%s is not IPv%c as the rest of the traffic", option, ipv6 ? '6' : '4');
}

static int check(const struct shape_options *o, const struct traffic_options *t,
		 const struct tx_ops *tx, struct error *err)
{
	int rc = check_family(&o->src_addr, "--src-addr", t->ipv6, err);

	if (!rc)
		rc = check_family(&o->dst_addr, "--dst-addr", t->ipv6, err);
	if (rc)
		return rc;
	if (shape_needs_frames(o) && tx == &tx_socket)
		return error_set(err, STATUS_USAGE, -EINVAL, "use --tx xsk",
				 "--tx socket cannot send %s: the kernel makes its frames",
				 o->vlan ? "VLAN tags" : "captured frames");
	if (o->imix.n && t->size)
		return error_set(err, STATUS_USAGE, -EINVAL, NULL,
				 "--imix and --size cannot be given together");
	if (o->pcap && (o->imix.n || has_ranges(o) || o->vlan || o->tos || o->ttl))
		return error_set(err, STATUS_USAGE, -EINVAL, NULL,
				 "--pcap brings sizes, addresses and headers of its own");
	if (o->stamp && !o->pcap)
		return error_set(err, STATUS_USAGE, -EINVAL, NULL, "--stamp is for --pcap");
	if (o->plan.kind == PLAN_ONOFF && t->rate.unit == RATE_MAX)
		return error_set(err, STATUS_USAGE, -EINVAL, "for example --rate 100k",
				 "--profile onoff needs the --rate of its bursts");
	if (shape_has_schedule(o) && !o->pcap && t->rate_set)
		return error_set(err, STATUS_USAGE, -EINVAL, NULL,
				 "--rate and this --profile cannot be given together");
	if (o->burst > 1 && !t->rate_set && !o->plan.kind)
		return error_set(err, STATUS_USAGE, -EINVAL, "for example --rate 100k",
				 "--burst needs a rate");
	return 0;
}

static int plan_sizes(const struct imix *imix, const struct flow *flow, struct shape *s,
		      struct error *err)
{
	struct flow least = *flow;
	unsigned header, frame;

	least.payload = STAMP_LEN;
	header = flow_frame_bytes(&least) - STAMP_LEN;
	for (unsigned i = 0; i < imix->n; i++) {
		frame = imix->frame[i];
		if (frame < header + STAMP_LEN && imix->simple)
			frame = header + STAMP_LEN;
		if (frame < header + STAMP_LEN)
			return error_set(
				err, STATUS_USAGE, -EINVAL, NULL,
				"--imix: a frame of %u bytes leaves no room for the stamp: "
				"at least %u for IPv%c%s",
				frame, header + STAMP_LEN, flow->family == AF_INET6 ? '6' : '4',
				flow->vlan ? " with a VLAN tag" : "");
		s->sizes[i] = (uint16_t)(frame - header);
	}
	s->n_payload = imix->n;
	s->payload = s->sizes;
	return 0;
}

static int plan_capture(const struct shape_options *o, struct traffic_options *t,
			struct shape_plan *plan, struct error *err)
{
	int rc = capture_open(&plan->capture, o->pcap, err);
	struct shape *s = &plan->shape;

	if (!rc && o->stamp)
		rc = capture_measure(plan->capture, t->ipv6 ? AF_INET6 : AF_INET, err);
	if (rc)
		return rc;
	s->capture = plan->capture;
	s->n_payload = plan->capture->packets;
	s->payload = plan->capture->payload; /* NULL: not stamped, asked by nobody */
	if (!s->payload)
		s->n_payload = 0;
	if (!t->rate_set && !o->plan.kind) {
		s->scheduled = true;
		s->profile = (struct profile){.due_ns = plan->capture->due_ns,
					      .packets = plan->capture->packets,
					      .pass_ns = plan->capture->pass_ns};
	}
	if (!t->count_set && !t->duration_ns) {
		t->count = plan->capture->packets;
		t->count_set = true;
	}
	return 0;
}

static int plan_schedule(const struct shape_options *o, const struct traffic_options *t,
			 const struct flow *flow, struct shape *s, struct error *err)
{
	struct shape_sizes sizes;
	double pps = 0;
	int rc = 0;

	if (o->plan.kind == PLAN_NONE)
		return 0;
	shape_sizes(s, flow, &sizes);
	if (o->plan.kind == PLAN_ONOFF)
		rc = shape_pps(&sizes, &t->rate, -1, &pps);
	if (!rc)
		rc = rate_plan_profile(&o->plan, &sizes, -1, pps, &s->profile);
	if (rc)
		return error_set(err, STATUS_USAGE, rc, "give packets/s or bit/s",
				 "--profile: a share of the link's speed has no meaning here");
	s->scheduled = true;
	return 0;
}

int shape_plan(const struct shape_options *o, struct traffic_options *t, const struct tx_ops *tx,
	       unsigned payload, struct shape_plan *plan, struct error *err)
{
	struct shape *s = &plan->shape;
	struct flow flow = {.family = t->ipv6 ? AF_INET6 : AF_INET,
			    .payload = payload,
			    .vlan = (uint16_t)o->vlan};
	unsigned flows = t->flows > t->threads ? t->flows : t->threads;
	struct shape_sizes sizes;
	int rc = check(o, t, tx, err);

	*plan = (struct shape_plan){
		.vlan = o->vlan, .tos = o->tos, .ttl = o->ttl, .payload = payload};
	*s = (struct shape){.seed = o->seed,
			    .random = o->random,
			    .burst = o->burst,
			    .src_addr = o->src_addr,
			    .dst_addr = o->dst_addr,
			    .src_port = o->src_port,
			    .dst_port = o->dst_port,
			    .duplicate = o->duplicate,
			    .gap = o->gap,
			    .reorder = o->reorder};
	if (rc)
		return rc;
	s->frames = o->imix.n || has_ranges(o) || o->random || o->vlan || o->tos || o->ttl ||
		    o->duplicate > 0 || o->gap > 0 || o->reorder.share > 0 || o->pcap;
	plan->any = s->frames || o->plan.kind || o->burst > 1;
	if (s->frames && !tx->shapes)
		return error_set(err, STATUS_USAGE, -EINVAL, "use --tx xsk or --tx socket",
				 "--tx %s sends packets that are all alike: of these options it "
				 "knows --profile and --burst",
				 tx->name);
	if (!has_ranges(o) || (t->flows > 1 && !s->src_port.n))
		s->src_port = (struct shape_ports){SRC_PORT, flows};
	if (o->pcap)
		rc = plan_capture(o, t, plan, err);
	else if (o->imix.n)
		rc = plan_sizes(&o->imix, &flow, s, err);
	if (!rc)
		rc = shape_complete(s, t->threads, has_ranges(o) && t->flows > 1 ? t->flows : 0,
				    err);
	if (!rc)
		rc = plan_schedule(o, t, &flow, s, err);
	if (rc) {
		shape_plan_free(plan);
		return rc;
	}
	shape_sizes(s, &flow, &sizes);
	plan->payload = sizes.largest;
	return 0;
}

void shape_plan_free(struct shape_plan *plan)
{
	capture_free(plan->capture);
	plan->capture = NULL;
}
