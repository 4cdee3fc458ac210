#!lua
-- Adds a receiver to a channel, after its newest file. Repeating it changes nothing.
--
-- KEYS
--   head         HASH, see src/files/keys.ts
--   files        ZSET id -> number
--   listed       HASH number -> entry
--   done         SET of <number>:<receiver>
--   receivers    ZSET receiver -> end of its lease
--   sent         HASH id -> SHA-256 and name of the sent file
-- ARGV
--   receiver     encoded
--   maxReceivers  receivers that have left count while files from before are listed
--   keepMs        ms; the channel expires this long after its last use, unless a sender sets another time
-- RETURNS
--   1 added; 0 it was a receiver; -1 the channel has ended; -2 there are too many receivers
local head, files, listed, done, receivers, sent = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local receiver, maxReceivers, keepMs = ARGV[1], tonumber(ARGV[2]), ARGV[3]

local ended, left = unpack(redis.call('HMGET', head, 'ended', 'left'))
if ended then
  return -1
end
local isNew = not redis.call('ZSCORE', receivers, receiver)
if isNew then
  local others, kept = redis.call('ZCARD', receivers), ''
  for number, name in string.gmatch(left or '', '(%d+) ([^\n]+)\n') do
    if name ~= receiver then
      others = others + 1
      kept = kept .. number .. ' ' .. name .. '\n'
    end
  end
  if others >= maxReceivers then
    return -2
  end
  if left and kept ~= left then
    redis.call('HSET', head, 'left', kept)
  end
  local numbers = redis.call('HKEYS', listed)
  for i = 1, #numbers do
    redis.call('SADD', done, numbers[i] .. ':' .. receiver)
  end
  redis.call('ZADD', receivers, '0', receiver)
end
redis.call('HSETNX', head, 'keepMs', keepMs)
-- include channel.keep.part.lua
return isNew and 1 or 0
