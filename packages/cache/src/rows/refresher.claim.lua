#!lua
-- Takes rows that are due under a lease: until it ends, their score is its end, and nobody else gets them. The score is
-- the fencing token as well, so leases end at half a millisecond, where no due time lies, and each ends later than the last.
-- While the source is down, one claim in the time of a pause gets a few rows to find out whether it is back.
--
-- KEYS
--   due           ZSET row id -> when it is due, ms, or the end of its lease; until idle
--   rows          HASH row id -> when it was loaded (13 digits), head of its value (16), ms between refreshes; until idle
--   source        HASH, there while the source is down: failures, opensAt (ms), limit (rows); until idle
--   lease         STRING, the end of the latest lease and when it began; until idle
-- ARGV
--   limit         the most rows to take
--   leaseMs       ms
--   idleMs        ms until a schedule that nobody touches goes away
--   isTouching    '1': put that off, '0': leave it as it is
--   maxBackoffMs  ms, the longest pause of a row that failed
-- RETURNS
--   the end of the lease; now; when the row in the middle was due; for how long the first has been due; ms until the next
--   row is due (-1: no further row); 1 if this finds out about the source; then the ids, and the state of each row (false: none)
local due, rows, source, lease = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local limit, leaseMs, idleMs = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local isTouching, maxBackoffMs = ARGV[4] == '1', tonumber(ARGV[5])

local MAX_LEASE_MS = 3600000
-- Clocks of masters that differ by less are in order.
local SKEW_MS = 1000

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local nowText = string.format('%d', now)

local down = redis.call('HMGET', source, 'opensAt', 'limit')
local isProbe = false
if down[1] then
  local opensIn = tonumber(down[1]) - now
  -- A pause that is longer than any is one that a clock of before has set.
  if opensIn > 0 and opensIn <= math.max(MAX_LEASE_MS, maxBackoffMs) then
    return { '', nowText, nowText, 0, opensIn, 0, {}, {} }
  end
  isProbe = true
  limit = math.min(limit, tonumber(down[2] or 1))
end

local ids = redis.call('ZRANGE', due, '-inf', nowText, 'BYSCORE', 'LIMIT', 0, limit)
local last = redis.call('GET', lease)
local lastEnd, lastBegin = string.match(last or '', '^(%S+) (%d+)$')
if #ids == 0 and lastBegin and tonumber(lastBegin) > now + SKEW_MS then
  -- The clock has run back: rows may be due later than they ever could be.
  local ahead = redis.call('ZRANGE', due, 0, limit - 1, 'WITHSCORES')
  for index = 1, #ahead, 2 do
    local inMs = tonumber(ahead[index + 1]) - now
    local state = redis.call('HGET', rows, ahead[index])
    local isLeased = inMs % 1 ~= 0
    local longest = isLeased and MAX_LEASE_MS or math.max(tonumber(string.sub(state or '', 30)) or 0, maxBackoffMs)
    if inMs > longest + SKEW_MS then
      ids[#ids + 1] = ahead[index]
    end
  end
end

local token, middle, lateMs = '', nowText, 0
if #ids > 0 then
  local scores = redis.call('ZMSCORE', due, ids[1], ids[math.ceil(#ids / 2)])
  lateMs = math.max(0, math.floor(now - tonumber(scores[1])))
  middle = string.format('%d', math.min(now, tonumber(scores[2])))
  token = string.format('%.1f', math.max(now + leaseMs + 0.5, tonumber(lastEnd or 0) + 1))
  local leased = {}
  for index = 1, #ids do
    leased[2 * index - 1], leased[2 * index] = token, ids[index]
  end
  redis.call('ZADD', due, 'XX', unpack(leased))
  local text = token .. ' ' .. nowText
  if last and not isTouching then
    redis.call('SET', lease, text, 'KEEPTTL')
  else
    redis.call('SET', lease, text, 'PX', idleMs)
  end
  if isProbe then
    redis.call('HSET', source, 'opensAt', string.format('%d', now + leaseMs))
  end
end
if isTouching then
  redis.call('PEXPIRE', due, idleMs)
  redis.call('PEXPIRE', rows, idleMs)
end
local head = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')[2]
local nextInMs = head and math.max(0, math.ceil(tonumber(head) - now)) or -1
local states = #ids > 0 and redis.call('HMGET', rows, unpack(ids)) or {}
return { token, nowText, middle, lateMs, nextInMs, isProbe and 1 or 0, ids, states }
