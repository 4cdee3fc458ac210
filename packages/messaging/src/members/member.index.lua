#!lua
-- Adds chats to the index of a member, or refreshes their entries, and notifies followers of the member. Each refresh gives an
-- entry a higher instant, so a process that saw an older instant can't remove it.
--
-- KEYS
--   chats        ZSET chat -> instant of joining, ms; until its last chat goes
--   mutes        HASH chat -> muted until, ms, 0 forever; only read
--   events       channel of the member; not a key
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   maxChats     entries at most; an index with more refreshes no entry
--   added...     for each: the chat, encoded; the lowest instant of its entry, ms
-- RETURNS
--   the server's clock in ms; then for each chat the instant of its entry, -1: the index is full, or -2: it has too many
--   entries, this chat among them; then for each chat 1: it has a mute, or 0
local chats, mutes, events = KEYS[1], KEYS[2], KEYS[3]
local publish, maxChats = ARGV[1], tonumber(ARGV[2])

-- include server.now.part.lua
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
