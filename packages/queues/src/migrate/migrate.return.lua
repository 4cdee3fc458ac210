#!lua
-- Puts a job of another library back into the place from which it was taken, as the next one.
--
-- KEYS
--   place      LIST or ZSET of the library: ids of jobs
--   onTheWay   HASH id -> note and score
--   marker     ZSET on which idle workers of BullMQ block
-- ARGV
--   type       list or zset
--   id         of the job
--   score      in a ZSET
--   wakes      1: a worker may run it now; 0
-- RETURNS
--   1 it is back, 0 it was not on its way
local place, onTheWay, marker = KEYS[1], KEYS[2], KEYS[3]
local type, id, score, wakes = ARGV[1], ARGV[2], ARGV[3], ARGV[4] == '1'

if redis.call('HDEL', onTheWay, id) == 0 then
  return 0
end
if type == 'list' then
  redis.call('RPUSH', place, id)
else
  redis.call('ZADD', place, score, id)
end
if wakes then
  redis.call('ZADD', marker, '0', '0')
end
return 1
