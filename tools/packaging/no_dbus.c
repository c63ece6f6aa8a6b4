// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Libpcap's table of capture devices names D-Bus, whose library has no use here: pktledger takes
 * only filters and files from libpcap. With these the archive's own, and libdbus, stay out.
 */
#include <pcap/pcap.h>

int dbus_findalldevs(void *devices, char *why);
pcap_t *dbus_create(const char *device, char *why, int *is_ours);

int dbus_findalldevs(void *devices, char *why)
{
	(void)devices;
	(void)why;
	return 0;
}

pcap_t *dbus_create(const char *device, char *why, int *is_ours)
{
	(void)device;
	(void)why;
	*is_ours = 0;
	return NULL;
}
