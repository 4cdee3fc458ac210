#!lua
-- Leases due rows: until the lease ends, the score of a row is the end of the lease, and no other call gets the row. The score is
-- also the fencing token. So leases end at half a millisecond, where no due time lies, and each ends later than the one before.
-- While the source is down, one call in each pause gets a few rows as a half-open probe.
--
-- Failed rows have a set and a script of their own (refresher.lease-failed.lua). This script only returns when they are due.
--
-- A clock that goes back, as after a failover, leaves rows and leases further ahead than they are ever planned. After that,
-- each call checks some rows and packs and makes those due that are too far ahead, until one whole round has found none. A few
-- are checked every second in any case, because only leases record the earlier clock.
--
-- Rows that were refreshed together form a pack, which is leased as a whole. The row or pack that has been due for longest
-- comes first. Single rows wait a moment for others to become due with them: beside a full pack there is no room for them. A
-- pack with more rows than requested is dissolved, one in a call.
--
-- A call that is sent again, because its reply was lost, gets its lease again, if this script has granted no other one since.
--
-- KEYS
--   due           ZSET row id -> when it is due, ms, or the end of its lease; until idle
--   rows          HASH row id -> when it was loaded (13 digits), head of its value (16), ms between refreshes, or '@', its pack, ' ' and these; until idle
--   packs         ZSET pack -> when its rows are due, ms, or the end of their lease; until idle
--   packed        HASH pack -> when its rows were loaded (13 digits), ' ', ms between refreshes, ' ', their number; <pack>:rows -> for
--                 each row the head of its value (16) and its id, joined by '\n'; <pack>:left -> '\n' and the id of each row that left; until idle
--   source        HASH, exists while the source is down: failures, opensAt (ms), limit (rows); until idle
--   latest        STRING, the end of the latest lease; when it was written; when rows were last checked; 2 or 1 while the check after a
--                 clock that went back runs (0: not); where it goes on in due and in packs (a score, '/', how many with it were checked; '-': all
--                 were); the last lease of the earlier clock; then '@', the last call that this script gave a lease, and that lease; until idle
--   failed        ZSET id of a row whose last load failed -> when it is due, ms, or the end of its lease; until idle
-- ARGV
--   batch         the most rows to lease
--   leaseMs       ms
--   idleMs        ms until an unused schedule expires
--   isTouching    '1': renew that expiry, '0': leave it
--   maxDelayMs    ms, the longest pause of a failed row
--   request       names this call
-- RETURNS
--   the end of the lease; now; when the median row was due; ms since the first row was due; ms until the next row is due and ms until the
--   next failed row is due (-1: none); 1 for a half-open probe; 0, the failures of these rows; their ids; the state of each (false: none);
--   then four for each pack: its name, header, rows, and those that left
local due, rows, packs, packed = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local source, latest, failed = KEYS[5], KEYS[6], KEYS[7]
local batch, leaseMs, idleMs = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local isTouching, maxDelayMs, request = ARGV[4] == '1', tonumber(ARGV[5]), ARGV[6]

-- Clock differences between masters below this are normal.
local SKEW_MS = 1000
-- Packs in one call.
local MAX_PACKS = 8
-- How long single rows wait for others.
local WINDOW_MS = 25
-- The interval of the check for rows too far ahead, and the rows in one check.
local CHECK_MS, CHECK_ROWS, CHECK_PACKS, CHECK_FAILED = 1000, 100, 32, 500

-- include server.time.part.lua
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local nowText = string.format('%d', now)
-- include refresher.in-ms.part.lua

-- Usually neither key exists; one EXISTS checks both.
local isWell = redis.call('EXISTS', source, failed) == 0
local last = redis.call('GET', latest)
local lastEnd, begin, rest, granted = string.match(last or '', '^(%S+) (%d+)([^@]*)(.*)$')
-- The lease that this call got before.
local lastRequest, ownEnd = string.match(granted or '', '^@(%S+) (%S+)$')
ownEnd = lastRequest == request and ownEnd or nil
local down = isWell and {} or redis.call('HMGET', source, 'opensAt', 'limit')
local limit, isProbe = batch, false
if down[1] then
  local opensIn = tonumber(down[1]) - now
  -- A longer pause must come from an earlier clock.
  if not ownEnd and opensIn > 0 and opensIn <= math.max(leaseMs, maxDelayMs) + SKEW_MS then
    return { '', nowText, nowText, 0, opensIn, -1, 0, 0, {}, {}, {} }
  end
  isProbe = true
  limit = ownEnd and limit or math.min(limit, tonumber(down[2] or 1))
end

local checkedAt, search = string.match(rest or '', '^ (%d+) (%d)')
local hasRunBack = begin and tonumber(begin) > now + SKEW_MS
if hasRunBack or not search then
  checkedAt, search = nowText, hasRunBack and '2' or '0'
  rest = ' ' .. nowText .. ' ' .. search .. ' 0/0 0/0 ' .. (hasRunBack and lastEnd or '0')
end

local isChecking = lastEnd and (search ~= '0' or now - tonumber(checkedAt) >= CHECK_MS)
if isChecking then
  local dueFrom, packsFrom, bound = string.match(rest, '(%S+) (%S+) (%S+)$')
  local isSearching, isAny = search ~= '0', false

  -- Makes due those of the next `count` of a set that are further ahead than rows with their delay are ever planned. Leases granted
  -- since the clock went back are far ahead too, since each ends later than the one before. `every` matches the delay. Returns where to go on.
  local function check(set, states, from, count, every)
    local score, skip = string.match(from, '^(.+)/(%d+)$')
    if not score then
      return from
    elseif tonumber(score) <= now then
      score, skip = '(' .. nowText, 0
    end
    local found = redis.call('ZRANGE', set, score, '+inf', 'BYSCORE', 'LIMIT', skip, count, 'WITHSCORES')
    if #found == 0 then
      return '-'
    end
    local members = {}
    for index = 1, #found, 2 do
      members[#members + 1] = found[index]
    end
    local known = redis.call('HMGET', states, unpack(members))
    local lastScore, same = found[#found], 0
    for index, member in ipairs(members) do
      local at = tonumber(found[2 * index])
      local isMoved
      if at % 1 ~= 0 then
        isMoved = at <= tonumber(bound) and at > now + leaseMs + SKEW_MS
      else
        isMoved = at > now + (tonumber(string.match(known[index] or '', every) or nil) or 0) + SKEW_MS
      end
      if isMoved then
        isAny = true
        redis.call('ZADD', set, nowText, member)
      elseif found[2 * index] == lastScore then
        same = same + 1
      end
    end
    return #members < count and '-' or lastScore .. '/' .. (same + (lastScore == score and skip or 0))
  end

  dueFrom = check(due, rows, dueFrom, isSearching and batch or CHECK_ROWS, '^' .. string.rep('.', 29) .. '(%d+)$')
  packsFrom = check(packs, packed, packsFrom, CHECK_PACKS, ' (%d+) ')
  -- Failed rows are at most a pause or a lease ahead, however rarely they are refreshed.
  local farthest = string.format('(%.1f', now + math.max(leaseMs, maxDelayMs) + SKEW_MS)
  if not isWell then
    local found = redis.call('ZRANGE', failed, farthest, '+inf', 'BYSCORE', 'LIMIT', 0, CHECK_FAILED, 'WITHSCORES')
    for index = 1, #found, 2 do
      local at = tonumber(found[index + 1])
      if at % 1 == 0 then
        redis.call('ZADD', failed, string.format('%d', now + maxDelayMs), found[index])
      elseif at <= tonumber(bound) then
        redis.call('ZADD', failed, nowText, found[index])
      end
    end
  end
  if isAny then
    search = '2'
  end
  local isOver = dueFrom == '-' and packsFrom == '-'
  if isOver then
    search = search == '2' and '1' or '0'
  end
  if isOver or (isAny and not isSearching) then
    dueFrom, packsFrom = '0/0', '0/0'
  end
  rest = table.concat({ '', nowText, search, dueFrom, packsFrom, bound }, ' ')
end

local function drop(pack)
  redis.call('ZREM', packs, pack)
  redis.call('HDEL', packed, pack, pack .. ':rows', pack .. ':left')
end

local ids, names, taken, room, firstTaken, hasDissolved = {}, {}, {}, limit, nil, false
-- Returns false for a pack without room. The rows of the first pack are read in the same command.
local function takePack(pack, score)
  local fields = { pack, pack .. ':left', room == limit and pack .. ':rows' or nil }
  local found = redis.call('HMGET', packed, unpack(fields))
  local every, size = string.match(found[1] or '', '^%d+ (%d+) (%d+)$')
  if size and tonumber(size) > room and room < limit then
    return false
  end
  local body = found[3] or size and redis.call('HGET', packed, pack .. ':rows')
  local left, hasLeft = found[2] or '', {}
  for id in string.gmatch(left, '[^\n]+') do
    hasLeft[id] = true
  end
  local known = '@' .. pack .. ' ' .. (every or '')
  -- One row that is still in it proves that the schedule was not evicted meanwhile: no row is loaded that `unschedule` cannot remove.
  local isThere = false
  for entry in string.gmatch(body or '', '[^\n]+') do
    local id = string.sub(entry, 17)
    if not hasLeft[id] then
      isThere = redis.call('HGET', rows, id) == known
      break
    end
  end
  if not isThere then
    drop(pack)
  elseif tonumber(size) > limit then
    for entry in string.gmatch(body, '[^\n]+') do
      local id = string.sub(entry, 17)
      if not hasLeft[id] then
        redis.call('HSET', rows, id, string.sub(found[1], 1, 13) .. string.sub(entry, 1, 16) .. every)
        -- The score must not equal a former lease, whose holder would mistake these rows for its own.
        redis.call('ZADD', due, string.format('%d', math.floor(tonumber(score))), id)
      end
    end
    redis.call('PEXPIRE', due, idleMs)
    drop(pack)
    hasDissolved = true
  else
    room = room - tonumber(size)
    firstTaken = firstTaken or tonumber(score)
    names[#names + 1] = pack
    for _, part in ipairs({ pack, found[1], body, left }) do
      taken[#taken + 1] = part
    end
  end
  return true
end

local firstRow = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')[2]
local function takeRows()
  if room <= 0 or not (ownEnd or hasDissolved or (firstRow and tonumber(firstRow) <= now)) then
    return
  end
  ids = redis.call('ZRANGE', due, ownEnd or '-inf', ownEnd or nowText, 'BYSCORE', 'LIMIT', 0, room)
  room = room - #ids
end

local duePacks =
  redis.call('ZRANGE', packs, ownEnd or '-inf', ownEnd or nowText, 'BYSCORE', 'LIMIT', 0, MAX_PACKS, 'WITHSCORES')
local firstPack = duePacks[2]
local isRowFirst = firstRow and (not firstPack or tonumber(firstRow) + WINDOW_MS < tonumber(firstPack))
if isProbe and firstRow and tonumber(firstRow) <= now then
  -- It has no room for packs: the rows of a dissolved one come before the next pack.
  isRowFirst = true
end
if isRowFirst then
  takeRows()
end
for index = 1, #duePacks, 2 do
  -- A dissolved pack has more rows than requested.
  if room <= 0 or hasDissolved or not takePack(duePacks[index], duePacks[index + 1]) then
    break
  end
end
if not isRowFirst or (hasDissolved and #ids + #names == 0) then
  takeRows()
end

local token, middle, lateMs = '', nowText, 0
if #ids + #names > 0 then
  local first, middleScore
  if #ids > 0 then
    local scores = redis.call('ZMSCORE', due, ids[1], ids[math.ceil(#ids / 2)])
    first, middleScore = tonumber(scores[1]), tonumber(scores[2])
  end
  if #names > 0 then
    first = math.min(first or firstTaken, firstTaken)
    -- Most rows are in packs.
    if 2 * #ids < limit - room then
      middleScore = firstTaken
    end
  end
  lateMs = math.max(0, math.floor(now - first))
  middle = string.format('%d', math.min(now, middleScore))
  token = ownEnd or string.format('%.1f', math.max(now + leaseMs + 0.5, tonumber(lastEnd or 0) + 1))
  for set, members in pairs({ [due] = ids, [packs] = names }) do
    local leased = {}
    for index = 1, #members do
      leased[2 * index - 1], leased[2 * index] = token, members[index]
    end
    if #members > 0 then
      redis.call('ZADD', set, 'XX', unpack(leased))
    end
  end
  -- Failed rows may have got a later lease meanwhile.
  lastEnd = ownEnd and lastEnd or token
  granted = '@' .. request .. ' ' .. token
  if isProbe then
    redis.call('HSET', source, 'opensAt', string.format('%d', now + leaseMs))
  end
end
if token ~= '' or isChecking then
  local text = lastEnd .. ' ' .. nowText .. rest .. (granted or '')
  if last and not isTouching then
    redis.call('SET', latest, text, 'KEEPTTL')
  else
    redis.call('SET', latest, text, 'PX', idleMs)
  end
end
if isTouching then
  for _, key in ipairs({ due, rows, packs, packed, failed }) do
    redis.call('PEXPIRE', key, idleMs)
  end
end
-- The check after a clock that went back runs without a pause.
local nextInMs = 0
if search == '0' then
  -- There are no single rows if there were none before.
  nextInMs = (firstRow or hasDissolved) and inMsOf(due, packs) or inMsOf(packs)
end
local failedInMs = isWell and -1 or inMsOf(failed)
local states = #ids > 0 and redis.call('HMGET', rows, unpack(ids)) or {}
return {
  token,
  nowText,
  middle,
  lateMs,
  nextInMs,
  failedInMs,
  isProbe and 1 or 0,
  0,
  ids,
  states,
  taken,
}
