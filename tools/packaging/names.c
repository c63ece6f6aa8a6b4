// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The static program looks up names in files such as /etc/hosts and over DNS. Other services of
 * nsswitch.conf(5) are shared objects for the C library of the host, which a static program cannot use.
 */
#include <nss.h>

static void __attribute__((constructor)) use_files_and_dns(void)
{
	__nss_configure_lookup("hosts", "files dns");
	__nss_configure_lookup("networks", "files dns");
	__nss_configure_lookup("protocols", "files");
	__nss_configure_lookup("services", "files");
	__nss_configure_lookup("passwd", "files");
	__nss_configure_lookup("group", "files");
}
