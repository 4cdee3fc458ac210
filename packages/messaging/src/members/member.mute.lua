#!lua
-- Mutes and unmutes chats of a member, and notifies followers of the member, who then read the mutes again.
--
-- KEYS
--   chats        ZSET chat -> instant of joining, ms; until its last chat goes
--   mutes        HASH chat -> muted until, ms, 0 forever; until its last mute goes
--   events       channel of the member; not a key
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   changes...   for each: the chat, encoded; the end of its mute, ms: 0 forever, -1 not muted
-- RETURNS
--   for each: 1; 0 if the index doesn't have the chat
local chats, mutes, events = KEYS[1], KEYS[2], KEYS[3]
local publish = ARGV[1]

local replies = {}
for index = 2, #ARGV, 2 do
  local chat, mutedUntil = ARGV[index], ARGV[index + 1]
  local isDone = 1
  if mutedUntil == '-1' then
    redis.call('HDEL', mutes, chat)
  elseif redis.call('ZSCORE', chats, chat) then
    redis.call('HSET', mutes, chat, mutedUntil)
  else
    isDone = 0
  end
  replies[#replies + 1] = isDone
end
redis.call(publish, events, '*:u')
return replies
