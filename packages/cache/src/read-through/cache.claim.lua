#!lua
-- Tells readers who found no usable value what to do for each entry: take what was stored meanwhile, load it under the
-- lease that they get, or wait for the one who has the lease.
--
-- KEYS
--   seq         STRING, the latest token; until a day after it
--   entries...  for each entry two: its value (STRING, until it expires) and its lease (STRING: the token, then the
--               channels to wake, one a line; until leaseMs)
-- ARGV
--   leaseMs     ms
--   channel     where this process hears that an entry is loaded, or '' if it doesn't listen
--   seen...     for each entry the first 8 bytes of the value that was read, or ''
-- RETURNS
--   the server's time (ms); then two for each entry: 1 and a value that was not seen, or 2 and the token of the lease,
--   or 3 and for how long the lease of somebody else still runs (ms)
local seq = KEYS[1]
local leaseMs, channel = ARGV[1], ARGV[2]

-- Channels in one lease; a process beyond that looks again when the lease ends.
local MAX_BYTES = 16384

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
-- include cache.token.part.lua

local replies = { now }
local entry = 2
for index = 3, #ARGV do
  local value, lease = KEYS[entry], KEYS[entry + 1]
  entry = entry + 2
  local found = redis.call('GET', value)
  local held = not (found and string.sub(found, 1, 8) ~= ARGV[index]) and redis.call('GET', lease)
  if held then
    if channel ~= '' and #held < MAX_BYTES and not string.find(held, '\n' .. channel .. '\n', 1, true) then
      redis.call('APPEND', lease, channel .. '\n')
    end
    replies[#replies + 1] = 3
    replies[#replies + 1] = math.max(1, redis.call('PTTL', lease))
  elseif found and string.sub(found, 1, 8) ~= ARGV[index] then
    replies[#replies + 1] = 1
    replies[#replies + 1] = found
  else
    local token = nextToken()
    redis.call('SET', lease, token .. '\n', 'PX', leaseMs)
    replies[#replies + 1] = 2
    replies[#replies + 1] = token
  end
end
return replies
