#!lua
-- Takes rows whose last load failed under a lease, as refresher.claim.lua does with all others. They are never taken together with
-- those, so one whose query hangs holds up only its like. This is a search for the rows that hang:
--
--   load fails ──▶ suspects: a few together after the first failure, then each alone ──▶ loaded: no longer here
--                                                     └── alone, and it took long ──▶ hung ──▶ loaded, or hung again
--
-- In both sets what has been due for longest comes first, and nothing changes when a row is due but a try of it. So before a row is tried that
-- is due, each other one is tried once at most. Those that are known to hang are taken only where the caller has room for them; the
-- rest of its room is for suspects, whatever hangs. A suspect that hangs costs that once or twice.
--
-- While the source is down, they find out about it only where no other row is due.
--
-- KEYS
--   due           ZSET row id -> when it is due, ms, or the end of its lease; until idle
--   rows          HASH row id -> when it was loaded (13 digits), head of its value (16), ms between refreshes; until idle
--   packs         ZSET pack -> when its rows are due, ms, or the end of their lease; until idle
--   suspects      ZSET id of a row whose last load failed -> when it is due, ms, or the end of its lease; until idle
--   hung          ZSET likewise, of rows whose query took long although it was for them alone; until idle
--   source        HASH, there while the source is down: failures, opensAt (ms), limit (rows); until idle
--   lease         STRING, the end of the latest lease, and what refresher.claim.lua needs to know; until idle
--   failures      HASH row id -> failed loads in a row; until idle
-- ARGV
--   batch         the most rows to take
--   leaseMs       ms
--   idleMs        ms until a schedule that nobody touches goes away
--   maxBackoffMs  ms, the longest pause of the source
--   canHang       '1': rows may be taken that are known to hang
-- RETURNS
--   the end of the lease; now; when the first row was due; for how long; ms until the next of the suspects is due, and until the next of the
--   hung (-1: there is none); 1 if this finds out about the source; 1 if the row is known to hang; then the ids, and the state of each (false: none)
local due, rows, packs, suspects, hung = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local source, lease, failures = KEYS[6], KEYS[7], KEYS[8]
local batch, leaseMs, idleMs = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local maxBackoffMs, canHang = tonumber(ARGV[4]), ARGV[5] == '1'

-- Clocks of masters that differ by less are in order.
local SKEW_MS = 1000
-- Rows together whose load failed once, and of how many they are the first.
local MAX_TOGETHER, LOOK_ROWS = 16, 64

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local nowText = string.format('%d', now)

local function inMsOf(set)
  local head = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')[2]
  return head and math.max(0, math.ceil(tonumber(head) - now)) or -1
end

local down = redis.call('HMGET', source, 'opensAt', 'limit')
local isProbe = down[1] and true or false
if isProbe then
  local opensIn = tonumber(down[1]) - now
  if opensIn > 0 and opensIn <= math.max(leaseMs, maxBackoffMs) + SKEW_MS then
    return { '', nowText, nowText, 0, opensIn, opensIn, 0, 0, {}, {} }
  end
  -- What failed before says less of the source than what did not. Whose claims find out about the source tell when these are due.
  if inMsOf(due) == 0 or inMsOf(packs) == 0 then
    return { '', nowText, nowText, 0, -1, -1, 0, 0, {}, {} }
  end
  batch = math.min(batch, tonumber(down[2] or 1))
end

local ids = {}
local function takeHung()
  ids = redis.call('ZRANGE', hung, '-inf', nowText, 'BYSCORE', 'LIMIT', 0, 1)
  return #ids > 0
end
local function takeSuspects()
  local found = redis.call('ZRANGE', suspects, '-inf', nowText, 'BYSCORE', 'LIMIT', 0, LOOK_ROWS)
  if #found == 0 then
    return false
  end
  local known = redis.call('HMGET', failures, unpack(found))
  local isAlone = tonumber(known[1] or 1) > 1
  for index, id in ipairs(found) do
    if index == 1 or (not isAlone and #ids < math.min(batch, MAX_TOGETHER) and tonumber(known[index] or 1) == 1) then
      ids[#ids + 1] = id
    end
  end
  return true
end
local isHung
if isProbe then
  -- A row that hangs anyway would say of a source that it is still down: only where there is no other, due now or later.
  isHung = not takeSuspects() and canHang and redis.call('EXISTS', due, packs, suspects) == 0 and takeHung()
else
  isHung = canHang and takeHung()
  if not isHung then
    takeSuspects()
  end
end

local token, first = '', now
if #ids > 0 then
  local set = isHung and hung or suspects
  first = math.min(now, math.floor(tonumber(redis.call('ZSCORE', set, ids[1]))))
  local last = redis.call('GET', lease)
  -- When a claim was made last is not for this to write: others see by it that the clock has run back.
  local lastEnd, rest = string.match(last or '', '^(%S+) (.*)$')
  token = string.format('%.1f', math.max(now + leaseMs + 0.5, tonumber(lastEnd or 0) + 1))
  local leased = {}
  for index, id in ipairs(ids) do
    leased[2 * index - 1], leased[2 * index] = token, id
  end
  redis.call('ZADD', set, 'XX', unpack(leased))
  if lastEnd then
    redis.call('SET', lease, token .. ' ' .. rest, 'KEEPTTL')
  else
    redis.call('SET', lease, token .. ' ' .. nowText, 'PX', idleMs)
  end
  if isProbe then
    redis.call('HSET', source, 'opensAt', string.format('%d', now + leaseMs))
  end
end
return {
  token,
  nowText,
  string.format('%d', first),
  now - first,
  inMsOf(suspects),
  -- Whoever claims the others tells.
  isProbe and #ids == 0 and -1 or inMsOf(hung),
  isProbe and 1 or 0,
  isHung and 1 or 0,
  ids,
  #ids > 0 and redis.call('HMGET', rows, unpack(ids)) or {},
}
