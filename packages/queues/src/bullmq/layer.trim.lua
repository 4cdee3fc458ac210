#!lua flags=allow-oom
-- Removes finished jobs of the BullMQ layer beyond a number or an age, the oldest first.
--
-- KEYS
--   tasks             HASH id -> record
--   attempts          HASH id -> last attempt
--   succeeded         LIST ids
--   dead              ZSET id -> instant of death, ms
--   progress          HASH id -> JSON
--   layerLogs         HASH id -> lines
-- ARGV
--   state             completed or failed
--   keep              the most jobs; -1 for any number
--   olderThan         ms; -1 for any age
--   most              jobs to remove at most, up to 1,000
-- RETURNS
--   the number of removed jobs
local tasks, attempts, succeeded, dead, progress, layerLogs = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local state, keep, olderThan, most = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
-- include task.compact.part.lua
-- include server.time.part.lua
local before = time[1] * 1000 + math.floor(time[2] / 1000) - olderThan
local isCompleted = state == 'completed'
local size = redis.call(isCompleted and 'LLEN' or 'ZCARD', isCompleted and succeeded or dead)
local count = keep >= 0 and math.max(0, size - keep) or 0
if olderThan >= 0 then
  if isCompleted then
    while count < size and count < most do
      local id = redis.call('LINDEX', succeeded, count)
      local last = redis.call('HGET', attempts, id) or compactEnd(id)
      if last and struct.unpack('>d', last, 2) > before then
        break
      end
      count = count + 1
    end
  else
    count = math.max(count, redis.call('ZCOUNT', dead, '-inf', before))
  end
end
count = math.min(count, most)
if count == 0 then
  return 0
end
local ids
if isCompleted then
  ids = redis.call('LPOP', succeeded, count)
else
  ids = redis.call('ZRANGE', dead, 0, count - 1)
  redis.call('ZREM', dead, unpack(ids))
end
redis.call('HDEL', tasks, unpack(ids))
redis.call('HDEL', attempts, unpack(ids))
redis.call('HDEL', progress, unpack(ids))
redis.call('HDEL', layerLogs, unpack(ids))
return count
