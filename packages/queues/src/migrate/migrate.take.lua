#!lua
-- Takes jobs of another library out of the place where they wait, and writes down that they are on their way. No worker of that
-- library finds them any more. A migration that died before it stored them continues with them. A job that a worker has
-- fetched in the meantime stays.
--
-- KEYS
--   place      LIST or ZSET of the library: ids of jobs
--   onTheWay   HASH id -> note and score
--   locks...   one for each of `ids`: STRING, there while a worker has the job
-- ARGV
--   type       list or zset
--   note       the state of the jobs; the entry has it, a space, and the score in a ZSET, else 0
--   ids...     of jobs, 250 at most
-- RETURNS
--   a string with one character a job: 1 taken, 0 it is no longer in its place, or locked
local place, onTheWay = KEYS[1], KEYS[2]
local locks = { unpack(KEYS, 3) }
local type, note = ARGV[1], ARGV[2]
local ids = { unpack(ARGV, 3) }

local replies = {}
for i, id in ipairs(ids) do
  local removed, score = 0, 0
  if redis.call('EXISTS', locks[i]) == 0 then
    if type == 'list' then
      -- The ids are near the end from which workers fetch.
      removed = redis.call('LREM', place, -1, id)
    else
      score = redis.call('ZSCORE', place, id)
      removed = redis.call('ZREM', place, id)
    end
  end
  if removed == 1 then
    redis.call('HSET', onTheWay, id, note .. ' ' .. score)
  end
  replies[i] = removed
end
return table.concat(replies)
