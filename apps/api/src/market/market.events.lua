#!lua
-- Returns the events after one of them. Starts a missing stream, and keeps it for a while, as nobody writes events without it.
--
-- KEYS
--   events       STREAM of what happened -> 'listingId listing', about 10,000; keepMs from the last read
-- ARGV
--   after        id of an event; '': from now on
--   most         events to return at most
--   keepMs       how long the stream stays without a reader
-- RETURNS
--   {id of the newest event, 'reset' when `after` is gone, or '', then id, what and 'listingId listing' of each event}
local events = KEYS[1]
local after = ARGV[1]
local most = tonumber(ARGV[2])
local keepMs = ARGV[3]

local newest = redis.call('XREVRANGE', events, '+', '-', 'COUNT', 1)[1]
local newestId = newest and newest[1] or redis.call('XADD', events, '*', 'begun', '')
redis.call('PEXPIRE', events, keepMs)
if after == '' then
  return { newestId, '' }
end
-- The event itself shows that none after it was trimmed or lost.
local entries = redis.call('XRANGE', events, after, '+', 'COUNT', most + 1)
if not entries[1] or entries[1][1] ~= after then
  return { newestId, 'reset' }
end
local reply = { newestId, '' }
for i = 2, #entries do
  local id, fields = entries[i][1], entries[i][2]
  reply[#reply + 1] = id
  reply[#reply + 1] = fields[1]
  reply[#reply + 1] = fields[2]
end
return reply
