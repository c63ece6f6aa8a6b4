/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Random filter expressions, by rand(). Addresses, ports and protocols are of the few that the
 * packets of filter_packets.h have, so that there is a fair chance of a match.
 */
#ifndef PKTLEDGER_TESTS_FILTER_EXPRESSIONS_H
#define PKTLEDGER_TESTS_FILTER_EXPRESSIONS_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define EXPRESSION_MAX	   4096
#define EXPRESSION_DEPTH   6
#define EXPRESSION_LETTERS 128

struct expression {
	char text[EXPRESSION_MAX];
	size_t n;
	unsigned depth;
};

/*
 * Replacements for `$` and a letter in templates. `z` is replaced by `P` or `J`, and `e` by a sum.
 */
static const char *const expression_words[EXPRESSION_LETTERS] = {
	['4'] = "198.18.0.1,198.18.0.2,198.18.7.1,198.19.255.255,224.0.0.1",
	['6'] = "2001:2::1,2001:2::2,2001:2:0:7::1,ff02::1",
	['n'] = "198.18.0.0/15,198.18.0.0/24,198.18.0.1/32,198.19,0.0.0.0/0,198.18.7.0/25",
	['N'] = "2001:2::/48,2001:2::/64,2001:2::1/128,2001:2:0:6::/63,ff00::/8,::/0",
	['m'] = "02:70:6b:00:00:01,02:70:6b:00:00:02,ff:ff:ff:ff:ff:ff,01:00:5e:00:00:01",
	['p'] = "53,5060,5061,9,65535,80,domain",
	['r'] = "53-5060,0-1023,5060-5061,80-80,9-65535",
	['d'] = "src,dst,src or dst,src and dst",
	['t'] = "tcp,udp,sctp",
	['l'] = "0,14,34,60,64,100,192,300,1500",
	['v'] = "1,5,69,70,4095",
	['x'] = "6,17,1,58,132,\\tcp,\\udp,0,43,44,51,60,255",
	['y'] = "\\ip,\\ip6,\\arp,0x8100,0x9999,0x88a8,\\stp,\\netbeui",
	['h'] = "ether,ip,ip6,tcp,udp,icmp,icmp6,arp,sctp,igmp,link",
	['o'] = "=,!=,<,>,<=,>=,==",
	['O'] = "+,-,*,/,%,&,|,^,<<,>>",
	['i'] = "0,1,2,4,5,6,8,14,17,20,31,32,53,64,255,256,0x0800,5060,0xffff,0xffffffff",
	['e'] = "$i,$i,len,($e $O $e),$e $O $i,$h[$e:2],$h[$i:4],$h[$i],-$h[$i]",
	['P'] = "host $4,$d host $4,$d $4,host $4 or $4,host $6,$d host $6,ip host $4,"
		"ip6 $d host $6,arp host $4,rarp src host $4,net $n,$d net $n,ip net $n,net $N,"
		"$d net $N,port $p,port $p or $p,$d port $p,$t port $p,$t $d port $p,"
		"not $t port $p and not $x,portrange $r,$d portrange $r,$t portrange $r,"
		"$t $d portrange $r,ip,ip6,arp,rarp,tcp,udp,sctp,icmp,icmp6,igmp,ah,esp,pim,"
		"ip proto $x,ip6 proto $x,proto $x,ip protochain $x,ip6 protochain $x,"
		"protochain $x,ether proto $y,ether host $m,ether $d host $m,ether broadcast,"
		"ether multicast,ip multicast,ip6 multicast,multicast,less $l,greater $l,"
		"len $o $l,vlan,vlan $v,vlan $v and $z,vlan and vlan $v,mpls,mpls $i and $z,"
		"pppoed,pppoes,pppoes $i and $z,geneve,stp,ipx,llc,iso,$e $o $e,$e $o $i,"
		"$h[$i] $o $i,$h[$i:2] $o $i,$h[$i:4] & $i != $i,ip[0] & 0xf != 5,"
		"ip[6:2] & 0x1fff = 0,udp[4:2] $o $l,udp[8:2] = 0x706b,"
		"tcp[tcpflags] & (tcp-syn|tcp-fin) != 0,icmp[icmptype] = icmp-echo,"
		"(ip[2:2] - ((ip[0] & 0xf) << 2)) $o $l,ether[0] & 1 = 0 and ip[16] >= 224",
	['J'] = "$z and $z,$z or $z,not $z,not ($z or $z),($z) or ($z),($z) and ($z),"
		"($z) and not ($z)",
};

static inline void expression_fill(struct expression *e, const char *template, size_t n);

static inline void expression_add(struct expression *e, const char *text, size_t n)
{
	if (e->n + n >= sizeof(e->text))
		return;
	memcpy(e->text + e->n, text, n);
	e->n += n;
	e->text[e->n] = '\0';
}

static inline void expression_word(struct expression *e, const char *words)
{
	unsigned n = 1;

	for (const char *c = words; *c; c++)
		n += *c == ',';
	for (n = (unsigned)rand() % n; n; n--)
		words = strchr(words, ',') + 1;
	expression_fill(e, words, strcspn(words, ","));
}

static inline void expression_letter(struct expression *e, char letter)
{
	bool deep = e->depth++ >= EXPRESSION_DEPTH;

	if (deep && letter == 'e')
		expression_fill(e, "$i", 2);
	else if (deep && letter == 'z')
		expression_fill(e, "udp", 3);
	else if (letter == 'z')
		expression_word(e, expression_words[rand() % 2 ? 'J' : 'P']);
	else
		expression_word(e, expression_words[(unsigned char)letter]);
	e->depth--;
}

static inline void expression_fill(struct expression *e, const char *template, size_t n)
{
	for (const char *end = template + n; template <end; template ++) {
		if (*template == '$')
			expression_letter(e, *++template);
		else
			expression_add(e, template, 1);
	}
}

/* libpcap refuses some of them. */
static inline const char *expression_random(struct expression *e)
{
	e->n = 0;
	e->depth = 0;
	expression_fill(e, "$z", 2);
	return e->text;
}

#endif
