# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What stands behind the tables in the completion for bash.

# Offers those of the words $3 that begin with $2, each behind $1. bash has divided what was typed at
# = and : and replaces its last part only.
_pktledger_offer()
{
	local typed=$1$2 divided word

	divided=${typed%"${typed##*[=:]}"}
	for word in $3; do
		[[ $word == "$2"* ]] || continue
		word=$1$word
		COMPREPLY+=("${word#"$divided"}")
		[[ $word != *= ]] || compopt -o nospace 2>/dev/null
	done
}

# Values of the option $2 of the command $1, or of its arguments if that is empty: $4 has been typed
# of it, behind $3 in the same word.
_pktledger_value()
{
	local values=${_pktledger_values["$1 $2"]} last=${4##*,} word

	case ${_pktledger_kinds["$1 $2"]} in
	interface) values=$(cd /sys/class/net && echo *) ;;
	netns) values=$(cd /run/netns 2>/dev/null && echo *) ;;
	asked) values=$(eval "$values" 2>/dev/null) ;;
	file)
		while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$4")
		compopt -o filenames 2>/dev/null
		return
		;;
	esac
	_pktledger_offer "$3${4%"$last"}" "$last" "$values"
}

_pktledger()
{
	local line=${COMP_LINE:0:COMP_POINT} words word command last prev

	COMPREPLY=()
	read -ra words <<<"$line"
	[[ $line == *[[:space:]] ]] && words+=("")
	command=${words[1]} last=${words[-1]} prev=${words[-2]}
	if ((${#words[@]} == 2)); then
		_pktledger_offer "" "$last" "$_pktledger_commands help --help --version"
		return
	fi
	if [[ $command == help ]]; then
		_pktledger_offer "" "$last" "$_pktledger_commands"
		return
	fi
	for word in "${words[@]:2:${#words[@]}-3}"; do
		[[ $word == -- ]] || continue
		while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -c -- "$last")
		return
	done
	if [[ $last == --*=* ]]; then
		_pktledger_value "$command" "${last%%=*}" "${last%%=*}=" "${last#*=}"
	elif [[ -n ${_pktledger_kinds["$command $prev"]} ]]; then
		_pktledger_value "$command" "$prev" "" "$last"
	elif [[ $last == -* ]]; then
		_pktledger_offer "" "$last" "${_pktledger_options["$command"]}"
	else
		_pktledger_value "$command" "" "" "$last"
	fi
}

complete -F _pktledger pktledger
