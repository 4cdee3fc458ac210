#!lua
-- Stores entries. A loaded entry is stored only while it has its lease, and if none of its tags was invalidated since the
-- grant. An entry without a lease is always stored. Either way the lease ends, or pauses, and its waiters are woken.
--
-- KEYS
--   seq          STRING, the latest token; until a day after it
--   changes      STRING, the number of the latest invalidation message; until a day after it
--   nearChannel  channel of near tiers; not a key
--   entries...   for each entry: its value (STRING: token, time of storing, body; until keepMs), its lease (STRING, until
--                leaseMs) and its tags (STRING: a token as their version; until twice the keepMs of the entry that lasts longest)
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   announces    1 if near tiers learn of changes by message
--   entries...   for each entry five: the token of its lease, or ''; keepMs, or 0 to store nothing; pauseMs, how long readers with a
--                stale value get no lease when nothing is stored; the body; the number of its tags
-- RETURNS
--   the server's time (ms), then for each entry 1 if it was stored, else 0
local seq, changes, nearChannel = KEYS[1], KEYS[2], KEYS[3]
local publish, announces = ARGV[1], ARGV[2]

-- include server.time.part.lua
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
-- include cache.token.part.lua
-- include cache.announce.part.lua
-- include cache.end-lease.part.lua

local replies, changed = { now }, {}
local key = 4
for index = 3, #ARGV, 5 do
  local value, lease = KEYS[key], KEYS[key + 1]
  local token, keepMs, pauseMs = ARGV[index], tonumber(ARGV[index + 1]), tonumber(ARGV[index + 2])
  local body, tags = ARGV[index + 3], tonumber(ARGV[index + 4])
  local current = redis.call('GET', lease)
  local isOwn = token == '' or (current and string.sub(current, 1, #token + 1) == token .. ' ')
  local isStored = isOwn and keepMs > 0
  if token == '' then
    token = nextToken()
  end
  for tag = key + 2, key + 1 + tags do
    local version = isStored and redis.call('GET', KEYS[tag])
    isStored = isStored and not (version and tonumber(version) > tonumber(token))
  end
  if isStored then
    for tag = key + 2, key + 1 + tags do
      local leftMs = redis.call('PTTL', KEYS[tag])
      if leftMs == -2 then
        redis.call('SET', KEYS[tag], token, 'PX', 2 * keepMs)
      elseif leftMs < keepMs then
        redis.call('PEXPIRE', KEYS[tag], 2 * keepMs)
      end
    end
    redis.call('SET', value, struct.pack('>dd', tonumber(token), now) .. body, 'PX', keepMs)
    changed[#changed + 1] = value
  end
  if isOwn and current then
    endLease(value, lease, current)
    if not isStored and pauseMs > 0 then
      -- The dash in place of channels marks a pause, see cache.lease.lua.
      redis.call('SET', lease, token .. '\n-\n', 'PX', pauseMs)
    end
  end
  replies[#replies + 1] = isStored and 1 or 0
  key = key + 2 + tags
end
announce(changed)
return replies
