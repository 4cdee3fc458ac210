#!lua
-- Acquires the writer's lease of a file under a new fencing token, and creates the empty key of the next chunk; deletes
-- that of the previous writer, which can then store nothing. A repeated call returns what the first one has returned.
--
-- KEYS
--   file         HASH, see src/files/keys.ts
--   cursors      ZSET receiver -> position
--   next         STRING: the next chunk, under the new token
--   before       STRING: the next chunk, under the old token
-- ARGV
--   holder       the writer that wants the lease; each writer has another one
--   leaseMs      ms
--   keepMs        ms
--   chunks       committed, as read by the caller
--   token        the old one, as read by the caller; 0 for none
--   chunkBytes   maximum of a chunk, header included
--   windowBytes  maximum of all chunks, headers included
--   receivers...  those that are not done, encoded
-- RETURNS
--   { 'held', token }, { 'busy', ms until the end of the other lease }, { 'changed' }: read again
local file, cursors, next, before = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local holder, leaseMs, keepMs, chunks, token = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]
local chunkBytes, windowBytes = ARGV[6], ARGV[7]

local n, held, heldBy, leaseEnd, state, writers =
  unpack(redis.call('HMGET', file, 'n', 'token', 'holder', 'lease', 'state', 'writers'))
if state == 'open' and heldBy == holder and held == string.format('%d', token + 1) and n == chunks then
  return { 'held', tonumber(held) }
elseif (n or '0') ~= chunks or (held or '0') ~= token or (state and state ~= 'open') then
  return { 'changed' }
end
-- include server.time.part.lua
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if held and tonumber(leaseEnd) > now then
  return { 'busy', leaseEnd - now }
end
local mine = string.format('%d', token + 1)
redis.call('UNLINK', before)
if not held then
  redis.call('HSET', file, 'n', '0', 'bytes', '0', 'stored', '0', 'freed', '0', 'freedBytes', '0', 'crc', '0', 'state', 'open')
  for i = 8, #ARGV do
    redis.call('ZADD', cursors, '0', ARGV[i])
  end
end
-- A writer that wrote nothing leaves no entry.
writers = writers and writers:gsub(',?%d+@' .. chunks .. '$', '') or ''
writers = writers .. (writers == '' and '' or ',') .. mine .. '@' .. chunks
redis.call('HSET', file, 'token', mine, 'holder', holder, 'lease', string.format('%d', now + leaseMs), 'writers', writers,
  'chunkBytes', chunkBytes, 'windowBytes', windowBytes)
redis.call('SET', next, '', 'PX', keepMs)
redis.call('PEXPIRE', file, keepMs)
redis.call('PEXPIRE', cursors, keepMs)
return { 'held', tonumber(mine) }
