#!lua flags=allow-oom
-- Prepares the removal of index entries that a refused join or create has added, except those of members of the chat.
--
-- KEYS
--   chat         ZSET, see src/keys.ts
--   left         ZSET member -> instant of the removed index entry, ms; PEXPIRE a minute
-- ARGV
--   entries...   for each: the instant of the entry, ms, then the member as stored
-- RETURNS
--   for each: 1, the entry can be removed, or 0, the member is in the chat
local chat, left = KEYS[1], KEYS[2]

local replies, gone = {}, {}
for i = 1, #ARGV, 2 do
  local isMember = redis.call('ZSCORE', chat, ARGV[i + 1])
  replies[#replies + 1] = isMember and 0 or 1
  if not isMember then
    gone[#gone + 1] = ARGV[i]
    gone[#gone + 1] = ARGV[i + 1]
  end
end
-- include chat.left.part.lua
return replies
