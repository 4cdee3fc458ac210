#!lua flags=allow-oom
-- Moves the cursor of a receiver forward, and frees the chunks that all receivers have passed. Repeating it changes
-- nothing.
--
-- KEYS
--   file         HASH, see src/files/keys.ts
--   cursors      ZSET receiver -> position
--   events       channel; not a key
--   chunks...    STRINGs: from the first one that is not freed to the cursor
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   receiver     encoded
--   token        of its lease
--   position     of its cursor
--   textBytes    for gzip, <acked bytes of text>:<of them before the position>; else empty
--   first        index of the first of the chunks
-- RETURNS
--   the first chunk that is not freed; -1: a later lease has the file; -2: the receiver is done or was dropped, or the file is deleted;
--   -3: a failover has lost the chunks of the position
local file, cursors, events = KEYS[1], KEYS[2], KEYS[3]
local publish, receiver, token, position, textBytes, first = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[6])

if not redis.call('ZSCORE', cursors, receiver) then
  return -2
end
local held, acked, chunksWritten = unpack(redis.call('HMGET', file, 't:' .. receiver, 'g:' .. receiver, 'n'))
if held ~= token then
  return -1
elseif position / 8388608 >= tonumber(chunksWritten) + 1 then
  return -3
end
local chunks = {}
for i = 4, #KEYS do
  chunks[#chunks + 1] = KEYS[i]
end
if textBytes == '' then
  redis.call('ZADD', cursors, 'XX', 'GT', position, receiver)
  if acked then
    redis.call('HDEL', file, 'g:' .. receiver)
  end
elseif not acked or tonumber(acked:match('^%d+')) <= tonumber(textBytes:match('^%d+')) then
  -- A repeated older ack changes neither: position and text belong together.
  redis.call('ZADD', cursors, 'XX', 'GT', position, receiver)
  redis.call('HSET', file, 'g:' .. receiver, textBytes)
end
-- include file.free.part.lua
return freed
