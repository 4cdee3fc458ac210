#!lua flags=allow-oom
-- Counts the unread messages of members in a chat. Not flagged as no-writes: the master has to answer, since a replica may lag
-- behind a push.
--
-- KEYS
--   chat         ZSET of the head and the members
--   log          LIST of entries
--   uncounted    ZSET id -> id: entries that don't count as unread
-- ARGV
--   members...   encoded
-- RETURNS
--   for each member the unread messages; 0 if the member is not in the chat
local chat, log, uncounted = KEYS[1], KEYS[2], KEYS[3]

local last = -(redis.call('ZSCORE', chat, '\0l') or 0)
local base = last - redis.call('LLEN', log)
local scores = redis.call('ZMSCORE', chat, unpack(ARGV))
local replies = {}
for index = 1, #ARGV do
  local floor = scores[index] and math.max(math.floor(tonumber(scores[index])), base) or last
  local isUnread = floor < last
  replies[index] = isUnread and last - floor - redis.call('ZCOUNT', uncounted, '(' .. string.format('%.0f', floor), '+inf') or 0
end
return replies
