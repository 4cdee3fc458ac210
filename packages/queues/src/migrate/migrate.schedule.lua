#!lua
-- Ends a job scheduler of BullMQ in one step: a worker between two steps would add one more job, for an instant that the new
-- schedule has too.
--
-- KEYS
--   schedulers  ZSET of BullMQ: id -> the instant of its last job, ms
--   taken       HASH id -> that instant
-- ARGV
--   id          of the job scheduler
-- RETURNS
--   the instant, also after an earlier call; nil: there is no such job scheduler
local schedulers, taken = KEYS[1], KEYS[2]
local id = ARGV[1]

local at = redis.call('ZSCORE', schedulers, id)
if not at then
  return redis.call('HGET', taken, id)
end
redis.call('HSET', taken, id, at)
redis.call('ZREM', schedulers, id)
return at
