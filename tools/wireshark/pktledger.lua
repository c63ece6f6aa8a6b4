-- SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
--
-- Wireshark and tshark show what pktledger writes into payloads: the stamp and the end record
-- (include/stamp.h). Copy it into the folder of personal Lua plugins (Help > About > Folders), or
-- tshark -X lua_script:pktledger.lua -r FILE -Y pktledger.missing
--
-- Numbers are compared with those of the same stream between the same addresses and ports before
-- it in the capture, so a gap is what did not pass where it was captured, whoever lost it.

local STAMP, END = 0x706b, 0x7065
local STAMP_LEN, TIME_LEN, END_LEN = 18, 34, 36

local proto = Proto("pktledger", "pktledger stamp")
local fields = {
	stream = ProtoField.uint16("pktledger.stream", "Stream"),
	number = ProtoField.uint64("pktledger.number", "Number"),
	time = ProtoField.uint64("pktledger.time", "Sent at (CLOCK_TAI, ns)"),
	missing = ProtoField.uint64("pktledger.missing", "Numbers missing before this one"),
	repeated = ProtoField.bool("pktledger.repeated", "Number seen before, or overtaken"),
	base = ProtoField.uint64("pktledger.end.base", "First number"),
	sent = ProtoField.uint64("pktledger.end.sent", "Packets sent"),
	refused = ProtoField.uint64("pktledger.end.refused", "Packets refused by the kernel"),
}
proto.fields = fields
local gap = ProtoExpert.new("pktledger.gap", "Numbers are missing", expert.group.SEQUENCE,
			    expert.severity.WARN)
local again = ProtoExpert.new("pktledger.again", "Number out of order or repeated",
			      expert.group.SEQUENCE, expert.severity.NOTE)
proto.experts = {gap, again}

-- Of each stream the number that is next; of each frame what was found when it was first seen.
local nexts, found = {}, {}

function proto.init()
	nexts, found = {}, {}
end

-- Whether two ranges of 8 bytes are complements of each other.
local function complements(tvb, a, b)
	return tvb(a, 4):uint() + tvb(b, 4):uint() == 0xffffffff and
	       tvb(a + 4, 4):uint() + tvb(b + 4, 4):uint() == 0xffffffff
end

local function is_stamp(tvb)
	return tvb:len() >= STAMP_LEN and tvb(0, 2):uint() == STAMP and complements(tvb, 2, 10)
end

-- The check of an end record: ~(stream ^ base ^ sent ^ refused), by halves of 32 bits.
local function is_end(tvb)
	if tvb:len() < END_LEN or tvb(0, 2):uint() ~= END then
		return false
	end
	local all = UInt64(tvb(2, 2):uint())
	for at = 4, 28, 8 do
		all = all:bxor(tvb(at, 8):uint64())
	end
	return all == UInt64.max()
end

local function compare(pinfo, stream, number)
	local key = string.format("%s %d %s %d %d", pinfo.src, pinfo.src_port, pinfo.dst,
				  pinfo.dst_port, stream)
	local due = nexts[key]
	local seen = {missing = UInt64(0), repeated = false}

	if due and number < due then
		seen.repeated = true
	else
		if due then
			seen.missing = number - due
		end
		nexts[key] = number + 1
	end
	return seen
end

local function show_stamp(tvb, pinfo, tree)
	local stream, number = tvb(2, 2):uint(), tvb(4, 6):uint64()

	tree:add(fields.stream, tvb(2, 2))
	tree:add(fields.number, tvb(4, 6), number)
	if tvb:len() >= TIME_LEN and complements(tvb, 18, 26) then
		tree:add(fields.time, tvb(18, 8))
	end
	if not pinfo.visited then
		found[pinfo.number] = compare(pinfo, stream, number)
	end
	local seen = found[pinfo.number]
	if seen and seen.missing > UInt64(0) then
		tree:add(fields.missing, tvb(4, 6), seen.missing):set_generated()
		tree:add_proto_expert_info(gap, "missing before this one: " .. tostring(seen.missing))
	elseif seen and seen.repeated then
		tree:add(fields.repeated, tvb(4, 6), true):set_generated()
		tree:add_proto_expert_info(again)
	end
	pinfo.cols.info = string.format("stream %d number %s", stream, tostring(number))
end

local function show_end(tvb, pinfo, tree)
	tree:add(fields.stream, tvb(2, 2))
	tree:add(fields.base, tvb(4, 8))
	tree:add(fields.sent, tvb(12, 8))
	tree:add(fields.refused, tvb(20, 8))
	pinfo.cols.info = string.format("end of stream %d: %s sent", tvb(2, 2):uint(),
					tostring(tvb(12, 8):uint64()))
end

local function dissect(tvb, pinfo, tree)
	local show, length

	if is_stamp(tvb) then
		show, length = show_stamp, tvb:len() >= TIME_LEN and TIME_LEN or STAMP_LEN
	elseif is_end(tvb) then
		show, length = show_end, END_LEN
	else
		return false
	end
	pinfo.cols.protocol = "pktledger"
	show(tvb, pinfo, tree:add(proto, tvb(0, length)))
	return true
end

proto:register_heuristic("udp", dissect)
