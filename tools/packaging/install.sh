#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Installs this directory below a prefix, or removes it again. Part of the static tarball.
set -eu

usage='Usage: ./install.sh [--uninstall] [PREFIX]
  Installs pktledger below PREFIX (default: /usr/local), or removes it.
  DESTDIR, if set in the environment, is the root directory to install into.'

die()
{
	status=$1
	shift
	printf 'install.sh: %s\n' "$*" >&2
	exit "$status"
}

uninstall=
case ${1-} in
-h | --help)
	echo "$usage"
	exit
	;;
--uninstall)
	uninstall=yes
	shift
	;;
esac
[ $# -le 1 ] || die 2 "too many arguments; try: ./install.sh --help"
prefix=${1-/usr/local}
case $prefix in
/*) ;;
*) die 2 "the prefix has to be an absolute path, not '$prefix'" ;;
esac
prefix=${prefix%/}
to=${DESTDIR-}$prefix
list=$to/share/pktledger/installed

if [ "$uninstall" ]; then
	[ -f "$list" ] || die 1 "cannot uninstall: $list does not exist; was pktledger installed below $prefix?"
	[ -w "$list" ] || die 3 "cannot uninstall: $to is not writable; run it as root"
	while read -r file; do
		rm -f "$to/$file"
	done <"$list"
	rm -f "$list"
	for directory in share/pktledger share/doc/pktledger; do
		[ ! -d "$to/$directory" ] || find "$to/$directory" -depth -type d -exec rmdir {} + 2>/dev/null ||
			echo "install.sh: $to/$directory has other files and stays" >&2
	done
	echo "Removed pktledger from $to"
	exit
fi

cd "$(dirname "$0")"
[ -f sbin/pktledger ] || die 1 "cannot install: sbin/pktledger is missing next to install.sh"
sbin/pktledger --version >/dev/null 2>&1 ||
	die 3 "cannot install: sbin/pktledger does not run on this machine ($(uname -m))"
mkdir -p "$to" 2>/dev/null || true
[ -w "$to" ] || die 3 "cannot install: $to is not writable; run it as root, or name another prefix"
mkdir -p "$to/share/pktledger"
find sbin lib share -type f | sort | while read -r file; do
	directory=$to/${file%/*}
	mkdir -p "$directory"
	cp "$file" "$directory/.pktledger-new"
	mv "$directory/.pktledger-new" "$to/$file" # also replaces a program that is running
	printf '%s\n' "$file"
done >"$list"
# The unit names the program by its path.
unit=$to/lib/systemd/system/pktledger-export.service
sed "s,^ExecStart=[^ ]*/sbin/,ExecStart=$prefix/sbin/," "$unit" >"$unit.new"
mv "$unit.new" "$unit"
echo "Installed $("$to/sbin/pktledger" --version) below $to"
case :$PATH: in
*":$prefix/sbin:"*) ;;
*) echo "$prefix/sbin is not in PATH; start it as $prefix/sbin/pktledger" ;;
esac
