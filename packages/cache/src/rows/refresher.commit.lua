#!lua
-- Stores the rows that were loaded under a lease and sets when each is due again. A row whose score is no longer the lease
-- is left alone: it was changed, or another lease was granted. So is a row that has left its pack, and one whose pack has
-- another score. A value that is already stored is not touched.
--
-- Redis hashes each string that enters Lua, byte by byte. So an unchanged value is not sent, and nothing is sent twice. While
-- all leases hold, arguments are passed on unchanged: the caller formats scores and states. A pack whose rows were all loaded
-- has one score and one state.
--
-- KEYS
--   due           ZSET row id -> when it is due, ms, or the end of its lease; until idle
--   rows          HASH row id -> when it was loaded (13 digits), head of its value (16), ms between refreshes, or '@', its pack, ' ' and these; until idle
--   packs         ZSET pack -> when its rows are due, ms, or the end of their lease; until idle
--   packed        HASH pack -> when its rows were loaded (13 digits), ' ', ms between refreshes, ' ', their number; <pack>:rows -> for
--                 each row the head of its value (16) and its id, joined by '\n'; <pack>:left -> '\n' and the id of each row that left; until idle
--   failures      HASH row id -> failed loads in a row; until idle
--   failed        ZSET id of a row whose last load failed -> when it is due, ms, or the end of its lease; until idle
--   errors        HASH row id -> the text of its last failure, while `failures` has it; until idle
--   source        HASH, exists while the source is down: failures, opensAt (ms), limit (rows); until idle
--   unloaded      STRING, the number of rows that were never loaded; until idle
--   wake          channel of idle refreshers; not a key
--   values...     STRING, the values of the stored, the checked and the other rows, in this order, first of the single rows, then of each
--                 pack; until keepMs, or 10 times the delay of the row, after their expiry was last renewed
-- ARGV
--   publish       PUBLISH or SPUBLISH
--   lease         its end, as the lease script returned it
--   leased        the number of single rows under it that were not committed before
--   loaded        the number of loaded single rows: first those whose value is renewed, then those whose value has changed, those
--                 whose value is checked, and those that are confirmed
--   renewed       of these, the number of rows whose value and expiry are stored
--   stored        the number of rows whose value is stored, including the renewed ones; the others keep their expiry
--   checked       the number of rows after these whose value must exist
--   others        the number of other single rows
--   firsts        of the loaded, the number of rows that were never loaded before
--   idAt          where the id of a row begins in the key of its value
--   idleMs        ms until an unused schedule expires
--   keepMs        ms that a value is kept without being loaded again
--   isFixed       '1': each pause after a failure is delayMs, '0': it doubles up to maxDelayMs
--   delayMs       ms, the pause after the first failure
--   maxDelayMs    ms
--   jitter        the random share of a pause, 0 to 1
--   phase         a random number below 1
--   verdict       on the source: 'down', 'probe failed', 'probe loaded', 'up' (without rows waiting for it), or 'none'
--   tombstone     the value of a missing row; '' if such a row is removed
--   tombstoneMs   ms until a row that stays missing is removed
--   packCount     the number of packs
--   outcomes...   of the loaded rows: when each is due and its id; then the state of each; then the value of each that is stored.
--                 Of each other row: its id; when it is due; its state; and '-' (missing), '!' and a text (loading it failed), or '?' (loading failed for
--                 a reason that is not its own).
--                 Of each pack: its name; when it is due ('': its lease goes on); its header ('': unchanged); its rows ('': unchanged; while
--                 the lease goes on, with heads of unknown values); bytes of the ids that had left it when it was leased; the number of rows that this
--                 is the outcome of; renewed, stored, checked and others as above; ms between refreshes; whether any row stays (1, or 0);
--                 then the values and the other rows, as above.
--                 Of each new pack: its name; when it is due; its header; its rows; the number of packs that it is made of; these; the
--                 number of its rows; their ids
-- RETURNS
--   ms until the first row of the shard is due (-1: none), the number of rows whose lease held, and ms until the first failed row is due
local due, rows, packs, packed = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local failures, failed, errors = KEYS[5], KEYS[6], KEYS[7]
local source, unloaded, wake = KEYS[8], KEYS[9], KEYS[10]
local publish, lease, leased, loaded = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local renewed, stored, checked = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local others, firsts, idAt = tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])
local idleMs, keepMs = ARGV[11], tonumber(ARGV[12])
local isFixed, delayMs, maxDelayMs = ARGV[13] == '1', tonumber(ARGV[14]), tonumber(ARGV[15])
local jitter, phase = tonumber(ARGV[16]), tonumber(ARGV[17])
local verdict, tombstone, tombstoneMs, packCount = ARGV[18], ARGV[19], tonumber(ARGV[20]), tonumber(ARGV[21])

local keys, outcomes = { unpack(KEYS, 11) }, { unpack(ARGV, 22) }
-- Offsets in a state; in a value: the end of its head, and of the time when it was loaded.
local EVERY, HEAD, LOADED_AT = 30, 16, 29
-- Steps of the golden ratio fill the unit interval evenly, however many they are.
local GOLDEN = 0.6180339887498949

local call, sub, format, max, min, tonumber = redis.call, string.sub, string.format, math.max, math.min, tonumber
-- include server.time.part.lua
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
-- include refresher.in-ms.part.lua

-- The pause after so many failures in a row. `random` is below 1.
local function pauseOf(count, random)
  local full = isFixed and delayMs or min(maxDelayMs, delayMs * 2 ^ min(count - 1, 60))
  return max(1, (1 - jitter * random) * full)
end

local hasFailures = call('EXISTS', failures, failed) > 0
-- Failed rows under this lease. They are treated like all others until their load fails again.
local wereFailed = {}
for _, id in ipairs(hasFailures and call('ZRANGE', failed, lease, lease, 'BYSCORE') or {}) do
  wereFailed[id] = true
  call('ZREM', failed, id)
  call('ZADD', due, lease, id)
  call('PEXPIRE', due, idleMs)
end
-- The next key and outcome; the number of other rows so far; whether nothing has changed since the lease was granted.
local keyAt, at, other, isWhole = 1, 1, 0, true
local held = loaded + others

local function succeed(id)
  if call('HDEL', failures, id) == 1 then
    call('HDEL', errors, id)
  end
end

local keeps = {}
local function keepOf(every)
  local keep = keeps[every]
  if not keep then
    keep = format('%d', max(keepMs, 10 * tonumber(every)))
    keeps[every] = keep
  end
  return keep
end

-- Stores the next values where the lease is held. An expiry is half the cost of a SET.
local function store(count, renewals, isHeld, everyOf)
  for row = 1, count do
    local key, value = keys[keyAt + row - 1], outcomes[at + row - 1]
    if isHeld(key) and (row <= renewals or not call('SET', key, value, 'XX', 'KEEPTTL')) then
      call('SET', key, value, 'PX', keepOf(everyOf(row)))
    end
  end
  keyAt, at = keyAt + count, at + count
end

-- Checks that the next values exist; `mend` gets the index and the id of each that does not.
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

-- Ends the lease of the next rows, which were not loaded. Rows of a pack leave it.
local function takeOthers(count, isHeld, isPacked)
  for _ = 1, count do
    local id, dueAt, state, code, key = outcomes[at], outcomes[at + 1], outcomes[at + 2], outcomes[at + 3], keys[keyAt]
    keyAt, at, other = keyAt + 1, at + 4, other + 1
    if isHeld(key) then
      local hasFailed = sub(code, 1, 1) == '!'
      local isFailed = hasFailed or (code == '?' and wereFailed[id])
      if hasFailed then
        local count = call('HINCRBY', failures, id, 1)
        call('HSET', errors, id, sub(code, 2))
        dueAt = format('%d', now + pauseOf(count, (phase + other * GOLDEN) % 1))
      end
      local isOut = false
      if code == '-' then
        local was = call('HGET', rows, id)
        -- The state of the row was evicted.
        isOut = tombstone == '' or not was
        if not isOut then
          local old = call('GET', key)
          if not old or sub(old, 1, HEAD) ~= sub(tombstone, 1, HEAD) then
            -- Written only once: it contains the time since which the row is missing.
            call('SET', key, tombstone, 'PX', format('%d', tombstoneMs + tonumber(keepOf(sub(state, EVERY)))))
          else
            isOut = now - tonumber(sub(old, HEAD + 1, LOADED_AT)) >= tombstoneMs
          end
        end
        if was and sub(was, 1, 1) == '0' then
          firsts = firsts + 1
        end
        if hasFailures then
          succeed(id)
        end
      end
      if isOut then
        call('ZREM', due, id)
        call('HDEL', rows, id)
        call('UNLINK', key)
      elseif isFailed or isPacked then
        if isFailed and not isPacked then
          call('ZREM', due, id)
        end
        call('ZADD', isFailed and failed or due, dueAt, id)
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

-- Only rows of this lease have this score, so counting them is enough if none is missing.
local heldRows
if leased > 0 and call('ZCOUNT', due, lease, lease) ~= leased then
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
        succeed(id)
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
  -- The rows that have left since the lease was granted.
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
    -- A set that was empty, because all rows were in packs, has lost its expiry.
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
local failedInMs = -1
if hasFailures or other > 0 then
  call('PEXPIRE', failures, idleMs)
  call('PEXPIRE', errors, idleMs)
  call('PEXPIRE', failed, idleMs)
  failedInMs = inMsOf(failed)
end

if verdict == 'probe loaded' or verdict == 'up' then
  -- Twice as many rows next time, so that the many due rows do not overload a source that has just come back.
  local limit = 2 * tonumber(call('HGET', source, 'limit') or 1)
  if limit > 500 or verdict == 'up' then
    call('UNLINK', source)
    call(publish, wake, '*:')
  else
    -- After an answer the pauses start anew.
    call('HSET', source, 'limit', limit, 'opensAt', 0, 'failures', 1)
    call('PEXPIRE', source, idleMs)
  end
elseif verdict ~= 'none' then
  -- The batches under way when the source went down fail as well, and count as one failure.
  local isDown = call('EXISTS', source) == 1
  if not isDown or verdict == 'probe failed' then
    local count = call('HINCRBY', source, 'failures', 1)
    call('HSET', source, 'opensAt', format('%d', now + pauseOf(count, phase)), 'limit', 1)
    call('PEXPIRE', source, idleMs)
  end
end
return { inMsOf(due, packs), held, failedInMs }
