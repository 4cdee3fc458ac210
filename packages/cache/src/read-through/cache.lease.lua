#!lua
-- Answers readers without a usable value. For each entry there are three answers: take a value that was stored in between,
-- load it under the lease granted here, or wait for the holder of the lease. A lease older than the version of a tag of the
-- entry is void, since its load will not be stored. The next caller gets the lease. A lease that pauses after a failed load
-- has no holder: the next caller without a stale value gets it. A request that is sent again, because its reply was lost,
-- gets its lease again.
--
-- KEYS
--   seq         STRING, the latest token; until a day after it
--   entries...  for each entry: its value (STRING, until it expires), its lease (STRING: the token, a blank and its request, then the
--               channels to wake, one a line; or the token and a dash during a pause; until leaseMs or pauseMs) and its known tags (STRING: a
--               token as their version; a tag that is new lasts for ten leaseMs)
-- ARGV
--   leaseMs     ms
--   channel     the wake-up channel of this process, or '' if it is not subscribed
--   request     names this call
--   entries...  for each entry three: the first 8 bytes of the value that was read, or ''; 1 if readers have a stale value, else 0;
--               the number of its tags
-- RETURNS
--   the server's time (ms); then two for each entry: 1 and a new value, or 2 and the token of the granted lease,
--   or 3 and a text: the ms that the present lease still runs, and its token; and a dash if it pauses
local seq = KEYS[1]
local leaseMs, channel, request = ARGV[1], ARGV[2], ARGV[3]

-- Maximum size of the channels in one lease; further processes request the lease again when it ends.
local MAX_BYTES = 16384
local LEASES_OF_NEW_TAG = 10

-- include server.time.part.lua
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
-- include cache.token.part.lua

local replies = { now }
local key = 2
for index = 4, #ARGV, 3 do
  local value, lease, tags = KEYS[key], KEYS[key + 1], tonumber(ARGV[index + 2])
  local stored = redis.call('GET', value)
  local isNew = stored and string.sub(stored, 1, 8) ~= ARGV[index]
  local current = not isNew and redis.call('GET', lease)
  local token, grantedTo, channels = string.match(current or '', '^(%d+) ?([^\n]*)(.*)$')
  local isPaused = channels == '\n-\n'
  -- The key tells apart the entries of a call, of which several may have the same value.
  local own = request .. '.' .. key
  local isVoid = isPaused and ARGV[index + 1] == '0'
  for tag = key + 2, key + 1 + tags do
    local version = token and not isVoid and redis.call('GET', KEYS[tag])
    isVoid = isVoid or (version and tonumber(version) > tonumber(token))
  end
  if token and not isVoid and grantedTo == own then
    replies[#replies + 1] = 2
    replies[#replies + 1] = token
  elseif token and not isVoid then
    if channel ~= '' and not isPaused and #current < MAX_BYTES and not string.find(channels, '\n' .. channel .. '\n', 1, true) then
      redis.call('APPEND', lease, channel .. '\n')
    end
    replies[#replies + 1] = 3
    replies[#replies + 1] = math.max(1, redis.call('PTTL', lease)) .. ' ' .. token .. (isPaused and ' -' or '')
  elseif isNew then
    replies[#replies + 1] = 1
    replies[#replies + 1] = stored
  else
    token = nextToken()
    -- Else the first value that is stored with a new tag would make it later than this lease, and void it.
    for tag = key + 2, key + 1 + tags do
      redis.call('SET', KEYS[tag], token, 'NX', 'PX', LEASES_OF_NEW_TAG * leaseMs)
    end
    -- The waiters of the old lease now wait for the new one.
    redis.call('SET', lease, token .. ' ' .. own .. (not isPaused and channels or '\n'), 'PX', leaseMs)
    replies[#replies + 1] = 2
    replies[#replies + 1] = token
  end
  key = key + 2 + tags
end
return replies
