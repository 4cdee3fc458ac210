#!lua flags=allow-oom
-- First step of a leave: ends the member's mute of a chat, and reads the index entry that the last step removes.
--
-- KEYS
--   chats        ZSET chat -> instant of joining, ms; until its last chat goes
--   mutes        HASH chat -> muted until, ms, 0 forever; until its last mute goes
-- ARGV
--   chat         encoded
--   youngMs      ms for which a join or create under an entry may still be under way
-- RETURNS
--   { instant of the entry as stored, 1 if it is younger than youngMs (else 0) }, or nil: the index doesn't have the chat
local chats, mutes = KEYS[1], KEYS[2]
local chat, youngMs = ARGV[1], tonumber(ARGV[2])

redis.call('HDEL', mutes, chat)
local indexedAt = redis.call('ZSCORE', chats, chat)
if not indexedAt then
  return false
end
-- include server.now.part.lua
return { indexedAt, now - indexedAt < youngMs and 1 or 0 }
