#!lua
-- Adds chats to the index of a member, or refreshes their entries, and tells those who follow the member. An entry never
-- gets the instant that it had before: who saw an older one can't remove it.
--
-- KEYS
--   chats        ZSET chat -> instant of joining, ms; until its last chat is forgotten
--   mutes        HASH chat -> muted until, ms, 0 for ever; only read
--   events       channel of the member; not a key
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   maxChats     entries at most; with more, which some are spared, not even those that are there are refreshed
--   added...     for each chat: encoded, and the instant that its entry has to reach, ms
-- RETURNS
--   the server's clock in ms, then for each chat the instant of its entry, -1: the index is full, or -2: it is overfull, and
--   has the chat; then for each chat, 1: there is a mute of it, or 0
local chats, mutes, events = KEYS[1], KEYS[2], KEYS[3]
local publish, maxChats = ARGV[1], tonumber(ARGV[2])

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local size = redis.call('ZCARD', chats)
local replies, count = { now }, (#ARGV - 2) / 2
for index = 1, count do
  local chat, notBefore = ARGV[2 * index + 1], tonumber(ARGV[2 * index + 2])
  local known = redis.call('ZSCORE', chats, chat)
  local joinedAt = -1
  if known and size > maxChats then
    joinedAt = -2
  elseif known then
    joinedAt = math.max(now, known + 1, notBefore)
  elseif size < maxChats then
    joinedAt = math.max(now, notBefore)
    size = size + 1
  end
  if joinedAt > 0 then
    redis.call('ZADD', chats, string.format('%.0f', joinedAt), chat)
    redis.call(publish, events, '*:c' .. chat)
  end
  replies[index + 1] = joinedAt
  replies[index + 1 + count] = redis.call('HEXISTS', mutes, chat)
end
return replies
