#!lua flags=allow-oom
-- Starts or resumes the reading of a file. From now on, acks of an earlier process of the receiver are refused.
--
-- KEYS
--   file         HASH, see src/files/keys.ts
--   cursors      ZSET receiver -> position
-- ARGV
--   receiver     encoded
--   token        of its lease
-- RETURNS
--   { position, acked inflated text (see file.ack), chunks, freed, freedBytes, state, writers, detail, bytes, windowBytes, chunkBytes }
--   { 'absent' }: no such file (yet); { 'lost' }: a later lease has the file; { 'done' }: nothing to read for this receiver
local file, cursors = KEYS[1], KEYS[2]
local receiver, token = ARGV[1], ARGV[2]

local held, textBytes, n, freed, freedBytes, state, writers, detail, bytes, windowBytes, chunkBytes = unpack(redis.call('HMGET', file,
  't:' .. receiver, 'g:' .. receiver, 'n', 'freed', 'freedBytes', 'state', 'writers', 'detail', 'bytes', 'windowBytes', 'chunkBytes'))
if not state then
  return { 'absent' }
elseif held and tonumber(held) > tonumber(token) then
  return { 'lost' }
end
local position = redis.call('ZSCORE', cursors, receiver)
if not position then
  return { 'done' }
end
redis.call('HSET', file, 't:' .. receiver, token)
return { position, textBytes or '', n, freed, freedBytes, state, writers, detail or '', bytes, windowBytes, chunkBytes }
