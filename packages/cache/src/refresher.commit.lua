#!lua
-- Stores what was loaded for rows under a lease and says when each is due again. A row whose score is no longer the lease
-- is left alone: it was changed, or somebody else has it since.
--
-- KEYS
--   due           ZSET row id -> when it is due, ms, or the end of its lease; until idle
--   every         ZSET row id -> ms between refreshes; until idle
--   failures      HASH row id -> failed loads in a row; until idle
--   rows...       STRING, the value of each row of `outcomes`, in its order; until 10 times `every` (at least 10
--                 minutes) after the last attempt to load it
-- ARGV
--   lease         its end, as the claim gave it
--   idleMs        ms until a schedule that nobody touches goes away
--   minBackoffMs  ms, the pause after one failure; it doubles with each
--   maxBackoffMs  ms
--   jitter        the part of a delay by which a row may be early
--   phase         a random number below 1; each row is early by another part, which begins there
--   outcomes...   for each row: its id; when it was due; and the value to store, or '-' (the row is gone), or '!'
--                 (loading failed)
-- RETURNS
--   ms until the next row of the table is due (-1: there is none), then for each row 1 if its lease held, else 0
local due, every, failures = KEYS[1], KEYS[2], KEYS[3]
local lease, idleMs = tonumber(ARGV[1]), ARGV[2]
local minBackoffMs, maxBackoffMs = tonumber(ARGV[3]), tonumber(ARGV[4])
local jitter, phase = tonumber(ARGV[5]), tonumber(ARGV[6])

local MIN_KEEP_MS = 600000
-- Steps of the golden ratio fill the unit interval evenly, however many they are.
local GOLDEN = 0.6180339887498949

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local ids = {}
for index = 7, #ARGV, 3 do
  ids[#ids + 1] = ARGV[index]
end
local scores = redis.call('ZMSCORE', due, unpack(ids))
local delays = redis.call('ZMSCORE', every, unpack(ids))
local hasFailures = redis.call('HLEN', failures) > 0

local call, floor, max, min, tonumber = redis.call, math.floor, math.max, math.min, tonumber
local replies, planned, count = { -1 }, {}, 0
for row = 1, #ids do
  local isHeld = scores[row] and tonumber(scores[row]) == lease
  if isHeld then
    local id, key, first = ids[row], KEYS[3 + row], 4 + 3 * row
    local everyMs, early = tonumber(delays[row]), (phase + row * GOLDEN) % 1
    -- A row without a delay is what an evicted key leaves behind.
    local outcome = everyMs and ARGV[first + 2] or '-'
    local nextAt
    if outcome == '-' then
      call('ZREM', due, id)
      call('ZREM', every, id)
      call('UNLINK', key)
    elseif outcome == '!' then
      local failed = call('HINCRBY', failures, id, 1)
      call('PEXPIRE', key, max(10 * everyMs, MIN_KEEP_MS))
      nextAt = now + max(1, (1 - early / 2) * min(maxBackoffMs, minBackoffMs * 2 ^ (failed - 1)))
    else
      call('SET', key, outcome, 'PX', max(10 * everyMs, MIN_KEEP_MS))
      -- In step with the last due time, unless that was missed.
      local delay = max(1, everyMs * (1 - early * jitter))
      nextAt = tonumber(ARGV[first + 1]) + delay
      nextAt = nextAt > now and nextAt or now + delay
    end
    if nextAt then
      planned[count + 1], planned[count + 2] = floor(nextAt), id
      count = count + 2
    end
    if hasFailures and outcome ~= '!' then
      call('HDEL', failures, id)
    end
  end
  replies[row + 1] = isHeld and 1 or 0
end
if #planned > 0 then
  redis.call('ZADD', due, 'XX', unpack(planned))
end
redis.call('PEXPIRE', failures, idleMs)
local head = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')[2]
if head then
  replies[1] = math.max(0, math.ceil(tonumber(head) - now))
end
return replies
