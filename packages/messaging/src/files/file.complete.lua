#!lua flags=allow-oom
-- Removes the cursors of receivers that are done according to the channel, and frees the chunks that no receiver needs;
-- deletes an ended file without cursors. Repeating it changes nothing.
--
-- KEYS
--   file         HASH, see src/files/keys.ts
--   cursors      ZSET receiver -> position
--   events       channel; not a key
--   chunks...    STRINGs: from the first one that is not freed to the newest
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   first        index of the first of the chunks
--   isAborted    1: the caller knows that it was aborted
--   receivers...  encoded
-- RETURNS
--   1 when the file is deleted, 0 when it is kept, -1 when the call must be repeated: with all chunks, or as aborted
local file, cursors, events = KEYS[1], KEYS[2], KEYS[3]
local publish, first, isAborted = ARGV[1], tonumber(ARGV[2]), ARGV[3]

if redis.call('EXISTS', file) == 0 then
  redis.call('UNLINK', cursors)
  return 1
end
local chunks = {}
for i = 4, #KEYS do
  chunks[#chunks + 1] = KEYS[i]
end
for i = 4, #ARGV do
  redis.call('ZREM', cursors, ARGV[i])
  redis.call('HDEL', file, 't:' .. ARGV[i], 'g:' .. ARGV[i])
end
-- include file.free.part.lua
if redis.call('EXISTS', cursors) == 1 then
  return 0
elseif freed < tonumber(n) then
  return -1
elseif state == 'open' then
  -- The writer may be waiting for room.
  redis.call(publish, events, '*:' .. n .. ' ' .. freedBytes .. ' unread')
  return 0
elseif state == 'aborted' and isAborted ~= '1' then
  return -1
end
redis.call('UNLINK', file)
return 1
