#!lua flags=allow-oom
-- Tells those who follow a chat what is not stored, if it comes from a member.
--
-- KEYS
--   chat         ZSET of the head and the members
--   events       channel of the chat; not a key
-- ARGV
--   member       who tells, encoded
--   publish      PUBLISH or SPUBLISH
--   kind         t typing, p presence
--   text         of the frame, see frame.ts
-- RETURNS
--   1 told; 0 not a member; -1 no such chat
local chat, events = KEYS[1], KEYS[2]
local member, publish, kind, text = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

if not redis.call('ZSCORE', chat, member) then
  return redis.call('EXISTS', chat) - 1
end
redis.call(publish, events, '*:' .. struct.pack('>c1Ic0', kind, #text, text))
return 1
