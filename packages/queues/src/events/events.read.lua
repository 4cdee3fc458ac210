#!lua flags=no-writes
-- Returns the events after a number.
--
-- KEYS
--   events       STREAM <number of the last event of the entry>-<first number> -> e: f64 instant (ms), then the events
-- ARGV
--   after        number of the event
--   most         entries to return at most
-- RETURNS
--   { number of the newest event or '', first number of the stream (0: unknown), number, entry, number, entry, … }: number
--   of the last event of each entry; the first entry may begin before `after`
local events = KEYS[1]
local after, most = ARGV[1], tonumber(ARGV[2])

-- The largest second half of an entry's id.
local LARGEST = '18446744073709551615'

local newest = redis.call('XREVRANGE', events, '+', '-', 'COUNT', 1)[1]
local last, begun = string.match(newest and newest[1] or '', '^(%d+)-(%d+)')
local reply = { last or '', begun or '0' }
for _, entry in ipairs(redis.call('XRANGE', events, '(' .. after .. '-' .. LARGEST, '+', 'COUNT', most)) do
  reply[#reply + 1] = string.match(entry[1], '^%d+')
  reply[#reply + 1] = entry[2][2]
end
return reply
