#!lua
-- Answers readers without a usable value, for each entry: take a value that was stored in between, load it under the lease
-- granted here, or wait for the holder of the lease. A lease older than the version of a tag of the entry is void, since
-- its load will not be stored: the next caller gets the lease. A lease that pauses after a failed load has no holder: the
-- next caller without a stale value gets it.
--
-- KEYS
--   seq         STRING, the latest token; until a day after it
--   entries...  for each entry: its value (STRING, until it expires), its lease (STRING: the token, then the channels to wake,
--               one a line, or a dash during a pause; until leaseMs or pauseMs) and its known tags (STRING: a token as their version)
-- ARGV
--   leaseMs     ms
--   channel     the wake-up channel of this process, or '' if it is not subscribed
--   entries...  for each entry three: the first 8 bytes of the value that was read, or ''; 1 if readers have a stale value, else 0;
--               the number of its tags
-- RETURNS
--   the server's time (ms); then two for each entry: 1 and a new value, or 2 and the token of the granted lease,
--   or 3 and a text: the ms that the present lease still runs, and its token
local seq = KEYS[1]
local leaseMs, channel = ARGV[1], ARGV[2]

-- Maximum size of the channels in one lease; further processes request the lease again when it ends.
local MAX_BYTES = 16384

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
-- include cache.token.part.lua

local replies = { now }
local key = 2
for index = 3, #ARGV, 3 do
  local value, lease, tags = KEYS[key], KEYS[key + 1], tonumber(ARGV[index + 2])
  local found = redis.call('GET', value)
  local isNew = found and string.sub(found, 1, 8) ~= ARGV[index]
  local held = not isNew and redis.call('GET', lease)
  local holder = held and string.match(held, '^[^\n]*')
  local isPaused = held and string.sub(held, #holder + 1) == '\n-\n'
  local isVoid = isPaused and ARGV[index + 1] == '0'
  for tag = key + 2, key + 1 + tags do
    local version = held and not isVoid and redis.call('GET', KEYS[tag])
    isVoid = isVoid or (version and tonumber(version) > tonumber(holder))
  end
  if held and not isVoid then
    if channel ~= '' and not isPaused and #held < MAX_BYTES and not string.find(held, '\n' .. channel .. '\n', 1, true) then
      redis.call('APPEND', lease, channel .. '\n')
    end
    replies[#replies + 1] = 3
    replies[#replies + 1] = math.max(1, redis.call('PTTL', lease)) .. ' ' .. holder
  elseif isNew then
    replies[#replies + 1] = 1
    replies[#replies + 1] = found
  else
    local token = nextToken()
    -- The waiters of the old lease now wait for the new one.
    redis.call('SET', lease, token .. (held and not isPaused and string.sub(held, #holder + 1) or '\n'), 'PX', leaseMs)
    replies[#replies + 1] = 2
    replies[#replies + 1] = token
  end
  key = key + 2 + tags
end
return replies
