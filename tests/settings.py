# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""All settings of a network namespace as text, to compare before and after."""

import subprocess

import ends

# What is a setting, and not a count or a history, of everything that a namespace shows.
SCRIPT = """
grep -rs . /proc/sys/net
for dev in /sys/class/net/*; do
    [ ${dev##*/} = lo ] && continue
    grep -rs . $dev/ | grep -vE '/(statistics|power|uevent|carrier_|operstate|name_assign|byte_queue_limits/limit:)'
    for option in g l c k a x; do
        echo "ethtool -$option ${dev##*/}"
        ethtool -$option ${dev##*/} 2>&1
    done
    tc qdisc show dev ${dev##*/} | grep -v clsact  # `run` leaves it where it had programs
done
"""


def shell(name, script):
    """Runs a script in the namespace of this name; None: in this one."""
    if name:
        return ends.shell(name, "sh", "-c", script)
    return subprocess.run(["sh", "-c", script], check=False, capture_output=True, text=True)


def settings(name):
    """Line by line. Skip where `ip netns exec`, ethtool or tc do not work."""
    return shell(name, SCRIPT).stdout.splitlines()


def assert_same(before, after):
    different = [f"- {line}" for line in before if line not in after]
    different += [f"+ {line}" for line in after if line not in before]
    assert before == after, "\n".join(different) or "the order of lines"
