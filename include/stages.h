/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The stages at which a packet can end, roughly in path order. Each has an identifier, a name used
 * in all output, and a title for display. They are printed in this order.
 */
#ifndef PKTLEDGER_STAGES_H
#define PKTLEDGER_STAGES_H

#define STAGES(X)                                                          \
	X(TX_SOCKET, "tx_socket", "sending socket (cgroup, parameters)")   \
	X(TX_ROUTE, "tx_route", "no route out")                            \
	X(NEIGH, "neigh", "neighbour not resolved")                        \
	X(TC_EGRESS, "tc_egress", "tc egress program or filter")           \
	X(QDISC, "qdisc", "queueing discipline")                           \
	X(TX_DEVICE, "tx_device", "transmit side of the device")           \
	X(WIRE, "wire", "between the hosts")                               \
	X(NIC_RING, "nic_ring", "receive ring of the NIC")                 \
	X(XDP, "xdp", "XDP program or redirect")                           \
	X(XSK, "xsk", "AF_XDP socket rings")                               \
	X(GSO, "gso", "segmentation")                                      \
	X(BACKLOG, "backlog", "per-CPU backlog queue")                     \
	X(TC_INGRESS, "tc_ingress", "tc ingress program or filter")        \
	X(L2, "l2", "link layer (address, bridge)")                        \
	X(IP_HEADER, "ip_header", "IP header check")                       \
	X(NETFILTER, "netfilter", "netfilter rule")                        \
	X(IP_ROUTE, "ip_route", "routing of the arriving packet")          \
	X(IP_FRAG, "ip_frag", "IP reassembly")                             \
	X(IP_FORWARD, "ip_forward", "forwarding (TTL, MTU)")               \
	X(TUNNEL, "tunnel", "tunnel")                                      \
	X(XFRM, "xfrm", "IPsec policy")                                    \
	X(UDP_LOOKUP, "udp_lookup", "no socket on the port")               \
	X(UDP_HEADER, "udp_header", "UDP header check")                    \
	X(UDP_CSUM, "udp_csum", "UDP checksum")                            \
	X(SOCKET_FILTER, "socket_filter", "filter on the socket")          \
	X(UDP_MEM, "udp_mem", "memory for all UDP sockets")                \
	X(RCVBUF, "rcvbuf", "receive buffer of the socket")                \
	X(SOCKET_READ, "socket_read", "read from the queue, not delivered") \
	X(SOCKET_CLOSE, "socket_close", "unread when the socket closed")   \
	X(OTHER, "other", "a place that the map does not know")            \
	X(TCP_LISTEN, "tcp_listen", "listening TCP socket (its queues)")   \
	X(TCP_BACKLOG, "tcp_backlog", "backlog of a TCP socket at work")   \
	X(TCP_STATE, "tcp_state", "state of the TCP connection")           \
	X(TCP_RCVBUF, "tcp_rcvbuf", "receive buffer of the TCP socket")    \
	X(TCP, "tcp", "TCP")                                               \
	X(ICMP, "icmp", "ICMP")

enum stage {
#define STAGE_ENUM(id, name, title) STAGE_##id,
	STAGES(STAGE_ENUM)
#undef STAGE_ENUM
	STAGE_COUNT,
	STAGE_NONE = STAGE_COUNT, /* the event is not the loss of a separate packet */
};

#endif
