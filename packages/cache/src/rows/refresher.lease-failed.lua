#!lua
-- Leases due rows whose last load failed, as refresher.lease.lua does with all others. The two kinds are never leased together, so
-- a row that fails again delays only failed rows. A failed batch is bisected down to single rows:
--
--   batch ──load fails──▶ failed ──▶ up to 16 rows together after the first failure ──▶ one row alone after each further one
--                           ▲                         └── load fails: failures + 1, a longer pause ──┘
--
-- Rows with the fewest failures come first, and among these the rows that have been due for longest. So a healthy row that
-- failed beside others never waits for rows that keep failing. It is tried twice at most before any of them is tried again.
--
-- While the source is down, failed rows are half-open probes, but only while no other row is due. A row that failed more than
-- once says nothing about the source when it fails again, so its lease does not hold up other probes.
--
-- KEYS
--   due         ZSET row id -> when it is due, ms, or the end of its lease; until idle
--   rows        HASH row id -> when it was loaded (13 digits), head of its value (16), ms between refreshes; until idle
--   packs       ZSET pack -> when its rows are due, ms, or the end of their lease; until idle
--   failed      ZSET id of a row whose last load failed -> when it is due, ms, or the end of its lease; until idle
--   failures    HASH row id -> failed loads in a row; until idle
--   source      HASH, exists while the source is down: failures, opensAt (ms), limit (rows); until idle
--   latest      STRING, the end of the latest lease, and the state of refresher.lease.lua; until idle
-- ARGV
--   batch       the most rows to lease
--   leaseMs     ms
--   idleMs      ms until an unused schedule expires
--   maxDelayMs  ms, the longest pause of the source
-- RETURNS
--   the end of the lease; now; when the first row was due; ms since then; -1; ms until the next failed row is due (-1: none, or the
--   other rows decide); 1 for a half-open probe; the failures of these rows; their ids; the state of each (false: none); no packs
local due, rows, packs, failed, failures = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local source, latest = KEYS[6], KEYS[7]
local batch, leaseMs, idleMs, maxDelayMs = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])

-- Clock differences between masters below this are normal.
local SKEW_MS = 1000
-- Rows leased together after their first failure, and due rows among which the fewest failures are searched for.
local MAX_TOGETHER, CHECK_ROWS = 16, 500

-- include server.time.part.lua
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local nowText = string.format('%d', now)
-- include refresher.in-ms.part.lua

local down = redis.call('HMGET', source, 'opensAt', 'limit')
local isProbe = down[1] and true or false
if isProbe then
  local opensIn = tonumber(down[1]) - now
  if opensIn > 0 and opensIn <= math.max(leaseMs, maxDelayMs) + SKEW_MS then
    return { '', nowText, nowText, 0, -1, opensIn, 0, 0, {}, {}, {} }
  end
  -- Other rows are better probes. Their commits return when failed rows are due.
  if inMsOf(due, packs) == 0 then
    return { '', nowText, nowText, 0, -1, -1, 0, 0, {}, {}, {} }
  end
  batch = math.min(batch, tonumber(down[2] or 1))
end

local ids, fewest = {}, math.huge
local found = redis.call('ZRANGE', failed, '-inf', nowText, 'BYSCORE', 'LIMIT', 0, CHECK_ROWS)
local counts = #found > 0 and redis.call('HMGET', failures, unpack(found)) or {}
for index, id in ipairs(found) do
  local count = tonumber(counts[index] or 1)
  if count < fewest then
    ids, fewest = {}, count
  end
  if count == fewest and #ids < (fewest == 1 and math.min(batch, MAX_TOGETHER) or 1) then
    ids[#ids + 1] = id
  end
end

local token, first = '', now
if #ids > 0 then
  first = math.min(now, math.floor(tonumber(redis.call('ZSCORE', failed, ids[1]))))
  -- Only refresher.lease.lua records the clock, by which it notices that the clock went back.
  local last, rest = string.match(redis.call('GET', latest) or '', '^(%S+) (.*)$')
  token = string.format('%.1f', math.max(now + leaseMs + 0.5, tonumber(last or 0) + 1))
  local leased = {}
  for index, id in ipairs(ids) do
    leased[2 * index - 1], leased[2 * index] = token, id
  end
  redis.call('ZADD', failed, 'XX', unpack(leased))
  if last then
    redis.call('SET', latest, token .. ' ' .. rest, 'KEEPTTL')
  else
    redis.call('SET', latest, token .. ' ' .. nowText, 'PX', idleMs)
  end
  if isProbe and fewest == 1 then
    redis.call('HSET', source, 'opensAt', string.format('%d', now + leaseMs))
  end
end
return {
  token,
  nowText,
  string.format('%d', first),
  now - first,
  -1,
  inMsOf(failed),
  isProbe and 1 or 0,
  #ids > 0 and fewest or 0,
  ids,
  #ids > 0 and redis.call('HMGET', rows, unpack(ids)) or {},
  {},
}
