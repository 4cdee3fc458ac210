#!lua
-- Stores what was loaded for rows under a lease and says when each is due again. A row whose score is no longer the lease
-- is left alone: it was changed, or somebody else has it since. So is a row that has left its pack since the claim, and one whose
-- pack has another score. A value that is stored already is not touched.
--
-- Redis hashes each string that comes into Lua, byte by byte. So a value that has not changed isn't sent, nothing is sent
-- twice, and while all leases hold, what is sent goes on as it is: the caller has made the scores and the states. Of a pack whose
-- rows were all loaded there is one score and one state.
--
-- KEYS
--   due           ZSET row id -> when it is due, ms, or the end of its lease; until idle
--   rows          HASH row id -> when it was loaded (13 digits), head of its value (16), ms between refreshes, or '@', its pack, ' ' and these; until idle
--   packs         ZSET pack -> when its rows are due, ms, or the end of their lease; until idle
--   packed        HASH pack -> when its rows were loaded (13 digits), ' ', ms between refreshes, ' ', how many they were; <pack>:rows -> for
--                 each row the head of its value (16) and its id, between them '\n'; <pack>:left -> '\n' and the id of each that has left; until idle
--   failures      HASH row id -> failed loads in a row; until idle
--   suspects      ZSET id of a row whose last load failed -> when it is due, ms, or the end of its lease; until idle
--   hung          ZSET likewise, of rows whose query took long although it was for them alone; until idle
--   source        HASH, there while the source is down: failures, opensAt (ms), limit (rows); until idle
--   unloaded      STRING, the number of rows that were never loaded; until idle
--   wake          channel of the refreshers that sleep; not a key
--   values...     STRING, the values of the stored, the checked and the other rows, in their order, first of the rows without a pack, then of each
--                 pack; until keepMs, or 10 times its delay, after their expiry was last put off
-- ARGV
--   publish       PUBLISH or SPUBLISH
--   lease         its end, as the claim gave it
--   claimed       the number of rows without a pack under it that were not committed before
--   loaded        the number of rows without a pack that were loaded: first those whose value is renewed, then those whose value has
--                 changed, those whose value is looked for, and those whose value is there
--   renewed       of these, the number of rows whose value is stored and its expiry put off
--   stored        the number of rows whose value is stored, with the renewed ones; the others keep their expiry
--   checked       the number of rows behind these whose value is looked for
--   others        the number of other rows without a pack
--   firsts        of the loaded, the number of rows that were never loaded before
--   idAt          where the id of a row begins in the key of its value
--   idleMs        ms until a schedule that nobody touches goes away
--   keepMs        ms that a value is kept without being loaded again
--   minBackoffMs  ms, the pause after one failure; it doubles with each
--   maxBackoffMs  ms
--   phase         a random number below 1
--   verdict       of the source: 'failed', 'probe failed', 'probe loaded', 'back' (and no rows wait for it), or 'none'
--   tombstone     the value of a row that is gone; '' if such a row is taken out
--   tombstoneMs   ms until a row that stays gone is taken out
--   packCount     the number of packs
--   outcomes...   of the loaded rows: when each is due and its id; then the state of each; then the value of each that is stored.
--                 Of each other row: its id; when it is due; its state; and '-' (it is gone), '!' (loading it failed), '~' (so it did, alone,
--                 and that took long), or '?' (loading failed, which says nothing of this row).
--                 Of each pack: its name; when it is due ('': its lease goes on); its header ('': stays as it is); its rows ('': stay
--                 as they are; while the lease goes on, with heads that say that nobody knows the values); bytes of those that had left when it was claimed; the number of rows that this is the outcome of; renewed, stored,
--                 checked and others as above; ms between refreshes; whether any row stays (1, or 0); then the values and the other rows, as above.
--                 Of each new pack: its name; when it is due; its header; its rows; the number of packs that it is made of; these; the
--                 number of its rows; their ids
-- RETURNS
--   ms until the first row of the shard is due (-1: there is none), the number of rows whose lease held, and ms until the first of the suspects
--   is due, and of the hung
local due, rows, packs, packed = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local failures, suspects, hung = KEYS[5], KEYS[6], KEYS[7]
local source, unloaded, wake = KEYS[8], KEYS[9], KEYS[10]
local publish, lease, claimed, loaded = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local renewed, stored, checked = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local others, firsts, idAt = tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])
local idleMs, keepMs = ARGV[11], tonumber(ARGV[12])
local minBackoffMs, maxBackoffMs, phase = tonumber(ARGV[13]), tonumber(ARGV[14]), tonumber(ARGV[15])
local verdict, tombstone, tombstoneMs, packCount = ARGV[16], ARGV[17], tonumber(ARGV[18]), tonumber(ARGV[19])

local keys, outcomes = { unpack(KEYS, 11) }, { unpack(ARGV, 20) }
-- Of a state, and of the value: when it was loaded.
local EVERY, HEAD, LOADED_AT = 30, 16, 29
-- Steps of the golden ratio fill the unit interval evenly, however many they are.
local GOLDEN = 0.6180339887498949

local call, sub, format, max, min, tonumber = redis.call, string.sub, string.format, math.max, math.min, tonumber
local time = call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local hasFailures = call('EXISTS', failures, suspects, hung) > 0
-- Rows under this lease whose last load failed, which go on as all others until theirs fails again: id -> where they lay.
local wereFailing = {}
for _, set in ipairs(hasFailures and { suspects, hung } or {}) do
  for _, id in ipairs(call('ZRANGE', set, lease, lease, 'BYSCORE')) do
    wereFailing[id] = set
    call('ZREM', set, id)
    call('ZADD', due, lease, id)
    call('PEXPIRE', due, idleMs)
  end
end
-- What comes next of the keys and the outcomes; rows that failed or are gone so far; whether all was as it was at the claim.
local keyAt, at, other, isWhole = 1, 1, 0, true
local held = loaded + others

local keeps = {}
local function keepOf(every)
  local keep = keeps[every]
  if not keep then
    keep = format('%d', max(keepMs, 10 * tonumber(every)))
    keeps[every] = keep
  end
  return keep
end

-- Stores the values that come next where isHeld says so. An expiry is dear: it makes half of what a SET costs.
local function store(count, renewals, isHeld, everyOf)
  for row = 1, count do
    local key, value = keys[keyAt + row - 1], outcomes[at + row - 1]
    if isHeld(key) and (row <= renewals or not call('SET', key, value, 'XX', 'KEEPTTL')) then
      call('SET', key, value, 'PX', keepOf(everyOf(row)))
    end
  end
  keyAt, at = keyAt + count, at + count
end

-- Looks for the values that come next; `mend` gets the place and the id of each that is gone although it was to be there.
local function check(count, isHeld, mend)
  if count > 0 and call('EXISTS', unpack(keys, keyAt, keyAt + count - 1)) < count then
    for row = 1, count do
      local key = keys[keyAt + row - 1]
      if isHeld(key) and call('EXISTS', key) == 0 then
        isWhole = false
        mend(row, sub(key, idAt))
      end
    end
  end
  keyAt = keyAt + count
end

local function withoutHead(loadedAt, every)
  return loadedAt .. string.rep('0', HEAD) .. every
end

-- Takes the rows that come next on from the lease, or out. Those of a pack leave it.
local function takeOthers(count, isHeld, isPacked)
  for _ = 1, count do
    local id, dueAt, state, code, key = outcomes[at], outcomes[at + 1], outcomes[at + 2], outcomes[at + 3], keys[keyAt]
    keyAt, at, other = keyAt + 1, at + 4, other + 1
    if isHeld(key) then
      local set = code == '?' and wereFailing[id] or code == '!' and suspects or code == '~' and hung or nil
      if set and code ~= '?' then
        local failed, early = call('HINCRBY', failures, id, 1), (phase + other * GOLDEN) % 1
        local pause = (1 - early / 2) * min(maxBackoffMs, minBackoffMs * 2 ^ min(failed - 1, 60))
        dueAt = format('%d', now + max(1, pause))
      end
      local isOut = false
      if code == '-' then
        local was = call('HGET', rows, id)
        -- A row without a state is what an evicted key leaves behind.
        isOut = tombstone == '' or not was
        if not isOut then
          local old = call('GET', key)
          if not old or sub(old, 1, HEAD) ~= sub(tombstone, 1, HEAD) then
            -- Never written again, so that it tells since when the row has been gone.
            call('SET', key, tombstone, 'PX', format('%d', tombstoneMs + tonumber(keepOf(sub(state, EVERY)))))
          else
            isOut = now - tonumber(sub(old, HEAD + 1, LOADED_AT)) >= tombstoneMs
          end
        end
        if was and sub(was, 1, 1) == '0' then
          firsts = firsts + 1
        end
        if hasFailures then
          call('HDEL', failures, id)
        end
      end
      if isOut then
        call('ZREM', due, id)
        call('HDEL', rows, id)
        call('UNLINK', key)
      elseif set or isPacked then
        if set and not isPacked then
          call('ZREM', due, id)
        end
        call('ZADD', set or due, dueAt, id)
        if isPacked then
          call('HSET', rows, id, state)
        end
      else
        call('ZADD', due, 'XX', dueAt, id)
        if code == '-' then
          call('HSET', rows, id, state)
        end
      end
    end
  end
end

-- Only rows of this claim have this score, so that they are counted is enough, as long as none is missing.
local heldRows
if claimed > 0 and call('ZCOUNT', due, lease, lease) ~= claimed then
  heldRows, firsts, isWhole = {}, 0, false
  for _, id in ipairs(call('ZRANGE', due, lease, lease, 'BYSCORE')) do
    heldRows[id] = true
  end
end
local function isRowHeld(key)
  return not heldRows or heldRows[sub(key, idAt)]
end

local states = {}
for row = 1, loaded do
  states[2 * row - 1], states[2 * row] = outcomes[2 * row], outcomes[2 * loaded + row]
end
if loaded > 0 and not heldRows then
  call('ZADD', due, 'XX', unpack(outcomes, 1, 2 * loaded))
  call('HSET', rows, unpack(states))
end
if heldRows or hasFailures then
  for row = 1, loaded do
    local id = outcomes[2 * row]
    if heldRows and not heldRows[id] then
      held = held - 1
    else
      if heldRows then
        local was = call('HGET', rows, id)
        if was and sub(was, 1, 1) == '0' then
          firsts = firsts + 1
        end
        call('ZADD', due, 'XX', outcomes[2 * row - 1], id)
        call('HSET', rows, id, states[2 * row])
      end
      if hasFailures then
        call('HDEL', failures, id)
      end
    end
  end
end
at = 3 * loaded + 1
store(stored, renewed, isRowHeld, function(row)
  return sub(states[2 * row], EVERY)
end)
check(checked, isRowHeld, function(row, id)
  local state = states[2 * (stored + row)]
  call('HSET', rows, id, withoutHead(sub(state, 1, 13), sub(state, EVERY)))
  call('ZADD', due, 'XX', format('%d', now), id)
end)
if heldRows then
  for row = 0, others - 1 do
    held = held - (heldRows[outcomes[at + 4 * row]] and 0 or 1)
  end
end
takeOthers(others, isRowHeld, false)

for _ = 1, packCount do
  local name, dueAt, header, body, seen, count, ownRenewed, ownStored, ownChecked, ownOthers, every, stays =
    unpack(outcomes, at, at + 11)
  at = at + 12
  local score = call('ZSCORE', packs, name)
  local isLost = not score or tonumber(score) ~= tonumber(lease)
  local left = not isLost and call('HGET', packed, name .. ':left') or ''
  -- Of those that have left since the claim.
  local more, hasLeft = sub(left, tonumber(seen) + 1), nil
  held = held + (isLost and 0 or tonumber(count))
  if more ~= '' then
    hasLeft = {}
    for id in string.gmatch(more, '[^\n]+') do
      hasLeft[id] = true
      held = held - (dueAt == '' and 0 or 1)
    end
  end
  isWhole = isWhole and not isLost and not hasLeft
  local function isHeld(key)
    return not isLost and not (hasLeft and hasLeft[sub(key, idAt)])
  end
  store(tonumber(ownStored), tonumber(ownRenewed), isHeld, function()
    return every
  end)
  check(tonumber(ownChecked), isHeld, function(_, id)
    more = more .. '\n' .. id
    call('HSET', rows, id, withoutHead(sub(header, 1, 13), every))
    call('ZADD', due, format('%d', now), id)
  end)
  takeOthers(tonumber(ownOthers), isHeld, true)
  if not isLost and dueAt == '' and body ~= '' then
    call('HSET', packed, name .. ':rows', body)
  end
  if not isLost and dueAt ~= '' then
    if stays == '0' then
      call('ZREM', packs, name)
      call('HDEL', packed, name, name .. ':rows', name .. ':left')
    else
      call('ZADD', packs, 'XX', dueAt, name)
      if header ~= '' then
        call('HSET', packed, name, header)
        if body ~= '' then
          call('HSET', packed, name .. ':rows', body)
        end
        if more ~= '' then
          call('HSET', packed, name .. ':left', more)
        elseif left ~= '' then
          call('HDEL', packed, name .. ':left')
        end
      end
    end
    -- A set of which all had been in packs has lost its expiry.
    if tonumber(ownOthers) > 0 or more ~= '' then
      call('PEXPIRE', due, idleMs)
    end
  end
end

while at <= #outcomes do
  local name, dueAt, header, body, parts = unpack(outcomes, at, at + 4)
  local idsAt = at + 6 + tonumber(parts)
  local size = tonumber(outcomes[idsAt - 1])
  if isWhole then
    for part = at + 5, idsAt - 2 do
      local old = outcomes[part]
      call('ZREM', packs, old)
      call('HDEL', packed, old, old .. ':rows', old .. ':left')
    end
    local state, members = '@' .. name .. sub(header, 14, -(#tostring(size) + 2)), {}
    for row = 1, size do
      members[2 * row - 1], members[2 * row] = outcomes[idsAt + row - 1], state
    end
    call('ZREM', due, unpack(outcomes, idsAt, idsAt + size - 1))
    call('HSET', rows, unpack(members))
    call('HSET', packed, name, header, name .. ':rows', body)
    call('ZADD', packs, dueAt, name)
    call('PEXPIRE', packs, idleMs)
    call('PEXPIRE', packed, idleMs)
  end
  at = idsAt + size
end

if firsts > 0 and call('DECRBY', unloaded, firsts) <= 0 then
  call('UNLINK', unloaded)
end
local failingInMs = { -1, -1 }
if hasFailures or other > 0 then
  call('PEXPIRE', failures, idleMs)
  for index, set in ipairs({ suspects, hung }) do
    call('PEXPIRE', set, idleMs)
    local head = call('ZRANGE', set, 0, 0, 'WITHSCORES')[2]
    failingInMs[index] = head and max(0, math.ceil(tonumber(head) - now)) or -1
  end
end

if verdict == 'probe loaded' or verdict == 'back' then
  -- Twice as many next time, so that what has gathered doesn't fall upon a source that has just come back.
  local limit = 2 * tonumber(call('HGET', source, 'limit') or 1)
  if limit > 500 or verdict == 'back' then
    call('UNLINK', source)
    call(publish, wake, '*:')
  else
    -- What it answers it may answer once more, so the pauses begin anew.
    call('HSET', source, 'limit', limit, 'opensAt', 0, 'failures', 1)
    call('PEXPIRE', source, idleMs)
  end
elseif verdict ~= 'none' then
  -- Batches that were under way when it went down fail as well, and count as one.
  local isDown = call('EXISTS', source) == 1
  if not isDown or verdict == 'probe failed' then
    local failed = call('HINCRBY', source, 'failures', 1)
    local pause = max(1, (1 - phase / 2) * min(maxBackoffMs, minBackoffMs * 2 ^ min(failed - 1, 60)))
    call('HSET', source, 'opensAt', format('%d', now + pause), 'limit', 1)
    call('PEXPIRE', source, idleMs)
  end
end
local nextInMs = -1
for _, set in ipairs({ due, packs }) do
  local head = call('ZRANGE', set, 0, 0, 'WITHSCORES')[2]
  if head then
    local inMs = max(0, math.ceil(tonumber(head) - now))
    nextInMs = nextInMs < 0 and inMs or min(nextInMs, inMs)
  end
end
return { nextInMs, held, failingInMs[1], failingInMs[2] }
