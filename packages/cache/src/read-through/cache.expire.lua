#!lua flags=allow-oom
-- Changes how long entries are fresh from now on. An entry that is another one than the caller has read stays as it is.
--
-- KEYS
--   changes      STRING, the number of the latest invalidation message; until a day after it
--   nearChannel  channel of near tiers; not a key
--   entries...   for each entry: its value (STRING: token, time of storing, body; until keepMs) and its tags (STRING: a token as
--                their version; until twice the keepMs of the entry that lasts longest)
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   announces    1 if near tiers learn of changes by message
--   entries...   for each entry four: the first 8 bytes of the value that was read; ttlMs, how long it is fresh from now on; its
--                staleMs; the number of its tags. Without ttlMs and staleMs the entry is removed
-- RETURNS
--   for each entry 1 if it was changed, else 0
local changes, nearChannel = KEYS[1], KEYS[2]
local publish, announces = ARGV[1], ARGV[2]

-- include server.time.part.lua
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
-- include cache.announce.part.lua

-- The place of the ttl in a value, see envelope.ts.
local TTL_AT = 20

local replies, changed = {}, {}
local key = 3
for index = 3, #ARGV, 4 do
  local value, tags = KEYS[key], tonumber(ARGV[index + 3])
  local ttlMs, keepMs = tonumber(ARGV[index + 1]), ARGV[index + 1] + ARGV[index + 2]
  local head = redis.call('GETRANGE', value, 0, 15)
  local isSame = #head == 16 and string.sub(head, 1, 8) == ARGV[index]
  if isSame and keepMs > 0 then
    local storedAt = struct.unpack('>d', string.sub(head, 9))
    redis.call('SETRANGE', value, TTL_AT, struct.pack('>d', math.max(0, now - storedAt) + ttlMs))
    redis.call('PEXPIRE', value, keepMs)
    for tag = key + 1, key + tags do
      local leftMs = redis.call('PTTL', KEYS[tag])
      if leftMs >= 0 and leftMs < keepMs then
        redis.call('PEXPIRE', KEYS[tag], 2 * keepMs)
      end
    end
  elseif isSame then
    redis.call('UNLINK', value)
  end
  if isSame then
    changed[#changed + 1] = value
  end
  replies[#replies + 1] = isSame and 1 or 0
  key = key + 1 + tags
end
announce(changed)
return replies
