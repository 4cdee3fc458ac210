#!lua flags=allow-oom
-- Returns the number of the newest event. Starts a missing stream, so that a new reader has a number to continue from.
--
-- KEYS
--   events       STREAM <number of the last event of the entry>-<first number> -> e: f64 instant (ms), then the events
-- RETURNS
--   the number, as a string
local events = KEYS[1]

local newest = redis.call('XREVRANGE', events, '+', '-', 'COUNT', 1)[1]
if newest then
  return string.match(newest[1], '^%d+')
end
-- include server.time.part.lua
local number = string.format('%.0f', time[1] * 1000000 + time[2])
-- An entry without events.
redis.call('XADD', events, number .. '-' .. number, 'e', struct.pack('>d', time[1] * 1000 + math.floor(time[2] / 1000)))
return number
