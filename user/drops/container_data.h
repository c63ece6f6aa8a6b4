/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The forms of container.c. Private to it and its test. */
#ifndef PKTLEDGER_DROPS_CONTAINER_DATA_H
#define PKTLEDGER_DROPS_CONTAINER_DATA_H

enum container_form {
	FORM_ID,     /* 64 hexadecimal digits */
	FORM_NAME,   /* anything; systemd's \x2d is a '-' */
	FORM_BESIDE, /* anything; a helper of the runtime, outside of the container */
};

/*
 * A component of a cgroup path: prefix, what the form says, suffix. Components end at '/' and, for
 * paths that runc wrote where systemd did not take them, at ':'.
 */
struct container_row {
	const char *runtime;
	const char *parent; /* the component before; NULL: any */
	const char *prefix, *suffix;
	enum container_form form;
};

/* The first row that fits a component is taken, the last component that fits any decides. */
extern const struct container_row container_rows[];
extern const unsigned container_rows_n;

#endif
