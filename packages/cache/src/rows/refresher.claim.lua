#!lua
-- Takes rows that are due under a lease: until it ends, their score is its end, and nobody else gets them. The score is
-- the fencing token as well, so leases end at half a millisecond, where no due time lies, and each ends later than the last.
-- While the source is down, one claim in the time of a pause gets a few rows to find out whether it is back.
--
-- Rows that were refreshed together are a pack, which is claimed as a whole; what has been due for longest comes first. A pack with
-- more rows than may be taken is dissolved.
--
-- KEYS
--   due           ZSET row id -> when it is due, ms, or the end of its lease; until idle
--   rows          HASH row id -> when it was loaded (13 digits), head of its value (16), ms between refreshes, or '@', its pack, ' ' and these; until idle
--   packs         ZSET pack -> when its rows are due, ms, or the end of their lease; until idle
--   packed        HASH pack -> when its rows were loaded (13 digits), ' ', ms between refreshes, ' ', how many they were; <pack>:rows -> for
--                 each row the head of its value (16) and its id, between them '\n'; <pack>:left -> '\n' and the id of each that has left; until idle
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
--   row is due (-1: no further row); 1 if this finds out about the source; then the ids, and the state of each row (false: none);
--   then four for each pack: its name, header, rows, and those that have left
local due, rows, packs, packed, source, lease = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local limit, leaseMs, idleMs = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local isTouching, maxBackoffMs = ARGV[4] == '1', tonumber(ARGV[5])

local MAX_LEASE_MS = 3600000
-- Clocks of masters that differ by less are in order.
local SKEW_MS = 1000
-- Packs in one claim.
local MAX_PACKS = 8

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local nowText = string.format('%d', now)

local down = redis.call('HMGET', source, 'opensAt', 'limit')
local isProbe = false
if down[1] then
  local opensIn = tonumber(down[1]) - now
  -- A pause that is longer than any is one that a clock of before has set.
  if opensIn > 0 and opensIn <= math.max(MAX_LEASE_MS, maxBackoffMs) then
    return { '', nowText, nowText, 0, opensIn, 0, {}, {}, {} }
  end
  isProbe = true
  limit = math.min(limit, tonumber(down[2] or 1))
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
        redis.call('ZADD', due, score, id)
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
  if room > 0 and (hasDissolved or (firstRow and tonumber(firstRow) <= now)) then
    ids = redis.call('ZRANGE', due, '-inf', nowText, 'BYSCORE', 'LIMIT', 0, room)
    room = room - #ids
  end
end

local duePacks = redis.call('ZRANGE', packs, '-inf', nowText, 'BYSCORE', 'LIMIT', 0, MAX_PACKS, 'WITHSCORES')
local firstPack = duePacks[2]
local isRowFirst = firstRow and (not firstPack or tonumber(firstRow) < tonumber(firstPack))
if isRowFirst then
  takeRows()
end
for index = 1, #duePacks, 2 do
  if room <= 0 or not takePack(duePacks[index], duePacks[index + 1]) then
    break
  end
end
if not isRowFirst then
  takeRows()
end

local last = redis.call('GET', lease)
local lastEnd, lastBegin = string.match(last or '', '^(%S+) (%d+)$')
if #ids + #names == 0 and lastBegin and tonumber(lastBegin) > now + SKEW_MS then
  -- The clock has run back: rows may be due later than they ever could be.
  local function isAhead(score, every)
    local inMs = tonumber(score) - now
    return inMs > (inMs % 1 ~= 0 and MAX_LEASE_MS or math.max(tonumber(every) or 0, maxBackoffMs)) + SKEW_MS
  end
  local ahead = redis.call('ZRANGE', due, 0, limit - 1, 'WITHSCORES')
  for index = 1, #ahead, 2 do
    local state = redis.call('HGET', rows, ahead[index])
    if isAhead(ahead[index + 1], string.sub(state or '', 30)) then
      ids[#ids + 1] = ahead[index]
    end
  end
  room = room - #ids
  ahead = redis.call('ZRANGE', packs, 0, MAX_PACKS - 1, 'WITHSCORES')
  for index = 1, #ahead, 2 do
    local header = redis.call('HGET', packed, ahead[index])
    if isAhead(ahead[index + 1], string.match(header or '', ' (%d+) ')) then
      -- One that is dissolved is due at once.
      if room <= 0 or not takePack(ahead[index], nowText) then
        break
      end
    end
  end
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
  for _, key in ipairs({ due, rows, packs, packed }) do
    redis.call('PEXPIRE', key, idleMs)
  end
end
local nextInMs = -1
for _, set in ipairs({ due, packs }) do
  -- Of rows without a pack there are none if there were none.
  local head = (set == packs or firstRow or hasDissolved) and headOf(set)
  if head then
    local inMs = math.max(0, math.ceil(tonumber(head) - now))
    nextInMs = nextInMs < 0 and inMs or math.min(nextInMs, inMs)
  end
end
local states = #ids > 0 and redis.call('HMGET', rows, unpack(ids)) or {}
return { token, nowText, middle, lateMs, nextInMs, isProbe and 1 or 0, ids, states, taken }
