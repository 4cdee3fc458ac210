#!lua
-- Takes rows that are due under a lease: until it ends, their score is its end, and nobody else gets them. The score is
-- the fencing token as well, so leases end at half a millisecond, where no due time lies, and each ends later than the last.
--
-- KEYS
--   due      ZSET row id -> when it is due, ms, or the end of its lease; until idle
--   every    ZSET row id -> ms between refreshes; until idle
--   lease    STRING, the end of the latest lease; until idle
-- ARGV
--   limit    the most rows to take
--   leaseMs  ms
--   idleMs   ms until a schedule that nobody touches goes away
-- RETURNS
--   the end of the lease, ms until the next row is due (-1: no further row), then id and due time of each row
local due, every, lease = KEYS[1], KEYS[2], KEYS[3]
local limit, leaseMs, idleMs = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local entries = redis.call(
  'ZRANGE', due, '-inf', string.format('%.0f', now), 'BYSCORE', 'LIMIT', 0, limit, 'WITHSCORES'
)
local replies = { '', -1 }
if #entries > 0 then
  local last = tonumber(redis.call('GET', lease) or 0)
  local token = string.format('%.1f', math.max(now + leaseMs + 0.5, last + 1))
  local leased = {}
  for index = 1, #entries, 2 do
    leased[index], leased[index + 1] = token, entries[index]
    replies[index + 2], replies[index + 3] = entries[index], entries[index + 1]
  end
  redis.call('ZADD', due, 'XX', unpack(leased))
  redis.call('SET', lease, token, 'PX', idleMs)
  replies[1] = token
end
redis.call('PEXPIRE', due, idleMs)
redis.call('PEXPIRE', every, idleMs)
local head = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')[2]
if head then
  replies[2] = math.max(0, math.ceil(tonumber(head) - now))
end
return replies
