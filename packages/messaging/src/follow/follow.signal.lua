#!lua flags=allow-oom
-- Publishes a signal of a member to the followers of a chat.
--
-- KEYS
--   chat         ZSET of the head and the members
--   events       channel of the chat; not a key
-- ARGV
--   member       encoded
--   publish      PUBLISH or SPUBLISH
--   kind         t typing, p presence
--   text         of the frame, see frame.ts
-- RETURNS
--   1 published; 0 not a member; -1 no such chat
local chat, events = KEYS[1], KEYS[2]
local member, publish, kind, text = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

if not redis.call('ZSCORE', chat, member) then
  return redis.call('EXISTS', chat) - 1
end
redis.call(publish, events, '*:' .. struct.pack('>c1Ic0', kind, #text, text))
return 1
