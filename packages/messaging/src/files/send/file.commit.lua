#!lua
-- Makes a stored chunk visible, and creates the empty key of the next one. Repeating it changes nothing.
--
-- KEYS
--   file         HASH, see src/files/keys.ts
--   cursors      ZSET receiver -> position
--   chunk        STRING: the chunk
--   next         STRING: the next one
--   events       channel; not a key
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   token        of the writer
--   index        of the chunk
--   stored       bytes, header included
--   bytes        of the file in it
--   crc          of the file up to its end
--   leaseMs      ms
--   keepMs        ms
-- RETURNS
--   number of freed bytes so far, headers included; -1: another writer has the file; -2: it is no longer open; -3: the chunk is not
--   stored; -4: no receiver is left
local file, cursors, chunk, next, events = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local publish, token, index, stored, bytes, crc = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6]
local leaseMs, keepMs = tonumber(ARGV[7]), ARGV[8]

local n, held, state, allStored, allBytes, freedBytes =
  unpack(redis.call('HMGET', file, 'n', 'token', 'state', 'stored', 'bytes', 'freedBytes'))
if held ~= token then
  return -1
elseif state ~= 'open' then
  return -2
elseif tonumber(n) > index then
  return tonumber(freedBytes)
elseif redis.call('EXISTS', cursors) == 0 then
  -- This also deletes chunks sent after the first refused one.
  redis.call('UNLINK', chunk)
  return -4
elseif tonumber(n) < index or redis.call('STRLEN', chunk) ~= stored then
  return -3
end
-- include server.time.part.lua
local leaseEnd = time[1] * 1000 + math.floor(time[2] / 1000) + leaseMs
n = string.format('%d', index + 1)
allStored = string.format('%d', allStored + stored)
redis.call('HSET', file, 'n', n, 'stored', allStored, 'bytes', string.format('%d', allBytes + bytes), 'crc', crc,
  'lease', string.format('%d', leaseEnd))
redis.call('SET', next, '', 'PX', keepMs)
redis.call('PEXPIRE', file, keepMs)
redis.call('PEXPIRE', cursors, keepMs)
redis.call(publish, events, '*:' .. n .. ' ' .. freedBytes .. ' open')
return tonumber(freedBytes)
