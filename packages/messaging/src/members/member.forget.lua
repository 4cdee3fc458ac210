#!lua flags=allow-oom
-- Removes useless entries of an index, unless they have changed since they were read. These are chats that the member has
-- left, chats without the member that are too old for a join under way, and ended mutes.
--
-- KEYS
--   chats        ZSET chat -> instant of joining, ms; until its last chat goes
--   mutes        HASH chat -> muted until, ms, 0 forever; until its last mute goes
-- ARGV
--   minAgeMs     minimum age of an entry, ms
--   seen...      for each: 'chat', 'left' (of any age) or 'mute'; the chat, encoded; the value that was read
-- RETURNS
--   number of removed index entries
local chats, mutes = KEYS[1], KEYS[2]
local minAgeMs = tonumber(ARGV[1])

-- include server.now.part.lua
local forgotten = 0
for index = 2, #ARGV, 3 do
  local chat, value = ARGV[index + 1], ARGV[index + 2]
  if ARGV[index] == 'mute' then
    if tonumber(value) <= now and redis.call('HGET', mutes, chat) == value then
      redis.call('HDEL', mutes, chat)
    end
  elseif
    (ARGV[index] == 'left' or tonumber(value) <= now - minAgeMs)
    and redis.call('ZSCORE', chats, chat) == value
  then
    redis.call('ZREM', chats, chat)
    redis.call('HDEL', mutes, chat)
    forgotten = forgotten + 1
  end
end
return forgotten
