#!lua flags=no-writes
-- One task, and the state that follows from where its id stands.
--
-- KEYS
--   priorities   STRING names, comma-separated
--   tasks        HASH id -> record
--   attempts     HASH id -> last attempt
--   active       ZSET id -> end of the lease, ms
--   lanes...     three for each priority: ready LIST, scheduled ZSET, retrying ZSET
-- ARGV
--   names        the priorities that the caller knows, comma-separated
--   id           as stored
-- RETURNS
--   nil: unknown; or { record, state, instant in ms or "", last attempt or "" }; the instant is the end of the lease
--   of an active task and the due instant of a scheduled or retrying one
--   error PRIORITIES <stored>: the queue has other priorities
local priorities, tasks, attempts, active = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local names, id = ARGV[1], ARGV[2]
local FIRST_LANE = 5
local STATES = { A = 'active', S = 'succeeded', D = 'dead' }

local stored = redis.call('GET', priorities)
if stored and stored ~= names then
  return redis.error_reply('PRIORITIES ' .. stored)
end
local record = redis.call('HGET', tasks, id)
if not record then
  return nil
end
local last = redis.call('HGET', attempts, id) or ''
local state = STATES[string.sub(last, 1, 1)]
if state then
  return { record, state, state == 'active' and redis.call('ZSCORE', active, id) or '', last }
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local lane = FIRST_LANE + 3 * struct.unpack('>B', record)
local retryAt = redis.call('ZSCORE', KEYS[lane + 2], id)
if retryAt and tonumber(retryAt) > now then
  return { record, 'retrying', retryAt, last }
end
local runAt = redis.call('ZSCORE', KEYS[lane + 1], id)
if runAt and tonumber(runAt) > now then
  return { record, 'scheduled', runAt, last }
end
return { record, 'ready', '', last }
