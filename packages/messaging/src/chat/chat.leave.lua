#!lua flags=allow-oom
-- Takes members out of a chat and frees what all others have acked. With its last member the chat goes away.
--
-- KEYS
--   chat         ZSET, see src/keys.ts
--   log          LIST of entries
--   uncounted    ZSET id -> id
--   ids          HASH what a message is known by -> id
--   oldIds       HASH, the generation before
--   events       channel of the chat; not a key
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   keepAcked    how many of the newest messages are kept when all have acked them
--   leavers...   as stored
-- RETURNS
--   for each: 1, or 0 for who was no member
local chat, log, uncounted, ids, oldIds, events = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local publish, keepAcked = ARGV[1], tonumber(ARGV[2])
local HEAD_SIZE = 4

local replies, frames = {}, {}
for i = 3, #ARGV do
  local name = ARGV[i]
  local removed = redis.call('ZREM', chat, name)
  replies[i - 2] = removed
  if removed == 1 then
    frames[#frames + 1] = struct.pack('>c1Ic0', 'l', #name, name)
  end
end
if #frames > 0 then
  local lowest = redis.call('ZRANGE', chat, HEAD_SIZE, HEAD_SIZE, 'WITHSCORES')[2]
  if not lowest then
    redis.call('UNLINK', chat, log, uncounted, ids, oldIds)
    frames[#frames + 1] = struct.pack('>c1I', 'x', 0)
  else
    local cursors, last = chat, -redis.call('ZSCORE', chat, '\0l')
    local floor = math.floor(tonumber(lowest))
-- include log.trim.part.lua
  end
  redis.call(publish, events, '*:' .. table.concat(frames))
end
return replies
