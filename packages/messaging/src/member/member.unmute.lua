#!lua flags=allow-oom
-- Unmutes chats of a member, and tells those who follow the member. Only removes, so that it works at full memory.
--
-- KEYS
--   mutes        HASH chat -> muted until, ms, 0 for ever; until its last chat is unmuted or forgotten
--   events       channel of the member; not a key
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   chats...     encoded
-- RETURNS
--   for each, 1: as of a change, whether it was muted or not
local mutes, events = KEYS[1], KEYS[2]
local publish = ARGV[1]

local replies = {}
for index = 2, #ARGV do
  redis.call('HDEL', mutes, ARGV[index])
  replies[index - 1] = 1
end
redis.call(publish, events, '*:u')
return replies
