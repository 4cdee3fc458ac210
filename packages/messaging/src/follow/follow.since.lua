#!lua flags=allow-oom
-- Where a member stands in a chat, and since which id they are in it. Not flagged as one that only reads, so that it is always
-- the master that answers: a replica may not know yet what was pushed.
--
-- KEYS
--   chat         ZSET of the head and the members
--   log          LIST of entries
--   joined       ZSET member -> the id behind which they joined
-- ARGV
--   member       as stored
-- RETURNS
--   the epoch, the last id, the score of the member as text, the id behind which they joined (0 where that isn't known: then
--   nothing up to it is stored), and the base: no id up to it is stored
--   nil: there is no such chat, or it doesn't have the member
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
