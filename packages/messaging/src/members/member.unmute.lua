#!lua flags=allow-oom
-- Unmutes chats of a member, and notifies followers of the member. It only removes, so it works when memory is full.
--
-- KEYS
--   mutes        HASH chat -> muted until, ms, 0 forever; until its last mute goes
--   events       channel of the member; not a key
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   chats...     encoded
-- RETURNS
--   for each: 1, muted or not, as member.mute
local mutes, events = KEYS[1], KEYS[2]
local publish = ARGV[1]

local replies = {}
for index = 2, #ARGV do
  redis.call('HDEL', mutes, ARGV[index])
  replies[index - 1] = 1
end
redis.call(publish, events, '*:u')
return replies
