#!lua
-- Takes rows that are due under a lease: until it ends, their score is its end, and nobody else gets them. The score is
-- the fencing token as well, so leases end at half a millisecond, where no due time lies, and each ends later than the last.
-- While the source is down, one claim in the time of a pause gets a few rows to find out whether it is back.
--
-- Rows whose last load failed lie in sets of their own and have claims of their own (refresher.retry.lua). Here is only told when they are due.
--
-- A clock that runs back, as after a failover, leaves rows further ahead than they are ever planned; leases as well. When that is seen,
-- each claim looks at some rows and packs behind the last ones that were looked at, and makes due what is too far ahead, until a whole round
-- has found nothing. Once in a second some are looked at in any case: what the clock has been is known only from claims.
--
-- Rows that were refreshed together are a pack, which is claimed as a whole; what has been due for longest comes first. But single rows stand
-- back for a moment: beside a full pack there is no room, and they gather meanwhile. A pack with more rows than may be taken is dissolved, one in a claim.
--
-- KEYS
--   due           ZSET row id -> when it is due, ms, or the end of its lease; until idle
--   rows          HASH row id -> when it was loaded (13 digits), head of its value (16), ms between refreshes, or '@', its pack, ' ' and these; until idle
--   packs         ZSET pack -> when its rows are due, ms, or the end of their lease; until idle
--   packed        HASH pack -> when its rows were loaded (13 digits), ' ', ms between refreshes, ' ', how many they were; <pack>:rows -> for
--                 each row the head of its value (16) and its id, between them '\n'; <pack>:left -> '\n' and the id of each that has left; until idle
--   source        HASH, there while the source is down: failures, opensAt (ms), limit (rows); until idle
--   lease         STRING, the end of the latest lease; when a claim last wrote this; when rows were last looked at; 2 or 1 while a clock that has run
--                 back is made up for (0: not); where to look on in due and in packs (a score, '/', how many with it were looked at; '-': all were);
--                 the last lease of the clock of before; until idle
--   suspects      ZSET id of a row whose last load failed -> when it is due, ms, or the end of its lease; until idle
--   hung          ZSET likewise, of rows whose query took long although it was for them alone; until idle
-- ARGV
--   batch         the most rows to take
--   leaseMs       ms
--   idleMs        ms until a schedule that nobody touches goes away
--   isTouching    '1': put that off, '0': leave it as it is
--   maxBackoffMs  ms, the longest pause of a row that failed
-- RETURNS
--   the end of the lease; now; when the row in the middle was due; for how long the first has been due; ms until the next
--   row is due (-1: no further row), until the next of the suspects is, and until the next of the hung is (-1: there is none); 1 if this finds
--   out about the source; then the ids, and the state of each row (false: none); then four for each pack: its name, header, rows, and those that have left
local due, rows, packs, packed = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local source, lease, suspects, hung = KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local batch, leaseMs, idleMs = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local isTouching, maxBackoffMs = ARGV[4] == '1', tonumber(ARGV[5])

-- Clocks of masters that differ by less are in order.
local SKEW_MS = 1000
-- Packs in one claim.
local MAX_PACKS = 8
-- How long single rows stand back.
local GATHER_MS = 25
-- How often rows are looked at that may lie too far ahead, and how many of them.
local LOOK_MS, LOOK_ROWS, LOOK_PACKS, LOOK_FAILED = 1000, 100, 32, 500

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local nowText = string.format('%d', now)

-- All is well most of the time, and one command tells.
local isWell = redis.call('EXISTS', source, suspects, hung) == 0
local down = isWell and {} or redis.call('HMGET', source, 'opensAt', 'limit')
local limit, isProbe = batch, false
if down[1] then
  local opensIn = tonumber(down[1]) - now
  -- A pause that is longer than any is one that a clock of before has set.
  if opensIn > 0 and opensIn <= math.max(leaseMs, maxBackoffMs) + SKEW_MS then
    return { '', nowText, nowText, 0, opensIn, -1, -1, 0, {}, {}, {} }
  end
  isProbe = true
  limit = math.min(limit, tonumber(down[2] or 1))
end

local failing = isWell and {} or { suspects, hung }

local last = redis.call('GET', lease)
local lastEnd, begin, rest = string.match(last or '', '^(%S+) (%d+)(.*)$')
local lookedAt, search = string.match(rest or '', '^ (%d+) (%d)')
local hasRunBack = begin and tonumber(begin) > now + SKEW_MS
if hasRunBack or not search then
  lookedAt, search = nowText, hasRunBack and '2' or '0'
  rest = ' ' .. nowText .. ' ' .. search .. ' 0/0 0/0 ' .. (hasRunBack and lastEnd or '0')
end

local isLooking = lastEnd and (search ~= '0' or now - tonumber(lookedAt) >= LOOK_MS)
if isLooking then
  local dueFrom, packsFrom, bound = string.match(rest, '(%S+) (%S+) (%S+)$')
  local isSearching, isAny = search ~= '0', false

  -- Makes those due of the next `count` of a set that lie further ahead than rows with their delay are ever planned. Leases that were given
  -- since the clock ran back are far ahead as well, as each ends later than the last. `every` finds the delay. Returns where to go on.
  local function look(set, states, from, count, every)
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

  dueFrom = look(due, rows, dueFrom, isSearching and batch or LOOK_ROWS, '^' .. string.rep('.', 29) .. '(%d+)$')
  packsFrom = look(packs, packed, packsFrom, LOOK_PACKS, ' (%d+) ')
  -- Rows that failed are as far ahead as a pause or a lease, however rarely they are refreshed.
  local farthest = string.format('(%.1f', now + math.max(leaseMs, maxBackoffMs) + SKEW_MS)
  for _, set in ipairs(failing) do
    local found = redis.call('ZRANGE', set, farthest, '+inf', 'BYSCORE', 'LIMIT', 0, LOOK_FAILED, 'WITHSCORES')
    for index = 1, #found, 2 do
      local at = tonumber(found[index + 1])
      if at % 1 == 0 then
        redis.call('ZADD', set, string.format('%d', now + maxBackoffMs), found[index])
      elseif at <= tonumber(bound) then
        redis.call('ZADD', set, nowText, found[index])
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
-- Returns false for a pack that there is no room for. The rows of the first are read at once.
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
  -- One row that is still in it proves that the schedule was not evicted since: no row is loaded that nobody could take out.
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
        -- Not its lease, if it was under one: whoever had that would take these rows for those that it has claimed.
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

local function headOf(set)
  return redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')[2]
end

local firstRow = headOf(due)
local function takeRows()
  if room <= 0 or not (hasDissolved or (firstRow and tonumber(firstRow) <= now)) then
    return
  end
  ids = redis.call('ZRANGE', due, '-inf', nowText, 'BYSCORE', 'LIMIT', 0, room)
  room = room - #ids
end

local duePacks = redis.call('ZRANGE', packs, '-inf', nowText, 'BYSCORE', 'LIMIT', 0, MAX_PACKS, 'WITHSCORES')
local firstPack = duePacks[2]
local isRowFirst = firstRow and (not firstPack or tonumber(firstRow) + GATHER_MS < tonumber(firstPack))
if isProbe and firstRow and tonumber(firstRow) <= now then
  -- It has no room for packs: what one was dissolved into comes before the next.
  isRowFirst = true
end
if isRowFirst then
  takeRows()
end
for index = 1, #duePacks, 2 do
  -- The rows of one that is dissolved are more than may be taken.
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
  token = string.format('%.1f', math.max(now + leaseMs + 0.5, tonumber(lastEnd or 0) + 1))
  for set, members in pairs({ [due] = ids, [packs] = names }) do
    local leased = {}
    for index = 1, #members do
      leased[2 * index - 1], leased[2 * index] = token, members[index]
    end
    if #members > 0 then
      redis.call('ZADD', set, 'XX', unpack(leased))
    end
  end
  lastEnd = token
  if isProbe then
    redis.call('HSET', source, 'opensAt', string.format('%d', now + leaseMs))
  end
end
if token ~= '' or isLooking then
  local text = lastEnd .. ' ' .. nowText .. rest
  if last and not isTouching then
    redis.call('SET', lease, text, 'KEEPTTL')
  else
    redis.call('SET', lease, text, 'PX', idleMs)
  end
end
if isTouching then
  for _, key in ipairs({ due, rows, packs, packed, unpack(failing) }) do
    redis.call('PEXPIRE', key, idleMs)
  end
end
-- What lies too far ahead is looked for without a pause.
local nextInMs = search == '0' and -1 or 0
for _, set in ipairs({ due, packs }) do
  -- Of rows without a pack there are none if there were none.
  local head = (set == packs or firstRow or hasDissolved) and headOf(set)
  if head then
    local inMs = math.max(0, math.ceil(tonumber(head) - now))
    nextInMs = nextInMs < 0 and inMs or math.min(nextInMs, inMs)
  end
end
local failingInMs = { -1, -1 }
for index, set in ipairs(failing) do
  local head = headOf(set)
  failingInMs[index] = head and math.max(0, math.ceil(tonumber(head) - now)) or -1
end
local states = #ids > 0 and redis.call('HMGET', rows, unpack(ids)) or {}
return {
  token,
  nowText,
  middle,
  lateMs,
  nextInMs,
  failingInMs[1],
  failingInMs[2],
  isProbe and 1 or 0,
  ids,
  states,
  taken,
}
