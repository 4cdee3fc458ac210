#!lua flags=allow-oom
-- The cursor of a member in a chat, and the id after which they joined. Not flagged as no-writes: the master has to answer, since
-- a replica may lag behind a push.
--
-- KEYS
--   chat         ZSET of the head and the members
--   log          LIST of entries
--   joined       ZSET member -> the id after which they joined
-- ARGV
--   member       as stored
-- RETURNS
--   { epoch, last id, score of the member as text, id after which they joined (0 when unknown: then nothing up to it is stored),
--   base: no id up to it is stored }
--   nil: there is no such chat, or the member is not in it
local chat, log, joined = KEYS[1], KEYS[2], KEYS[3]
local member = ARGV[1]

local head = redis.call('ZMSCORE', chat, '\0e', '\0l', member)
if not head[1] or not head[3] then
  return nil
end
local last = 0 - head[2]
return {
  0 - head[1],
  last,
  head[3],
  tonumber(redis.call('ZSCORE', joined, member) or 0),
  last - redis.call('LLEN', log),
}
