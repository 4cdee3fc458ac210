#!lua
-- Stores what was loaded for rows under a lease and says when each is due again. A row whose score is no longer the lease
-- is left alone: it was changed, or somebody else has it since. A value that is stored already is not touched.
--
-- Redis hashes each string that comes into Lua, byte by byte. So a value that has not changed isn't sent, nothing is sent
-- twice, and while all leases hold, what is sent goes on as it is: the caller has made the scores and the states.
--
-- KEYS
--   due           ZSET row id -> when it is due, ms, or the end of its lease; until idle
--   rows          HASH row id -> when it was loaded (13 digits), head of its value (16), ms between refreshes; until idle
--   failures      HASH row id -> failed loads in a row; until idle
--   source        HASH, there while the source is down: failures, opensAt (ms), limit (rows); until idle
--   unloaded      STRING, the number of rows that were never loaded; until idle
--   wake          channel of the refreshers that sleep; not a key
--   values...     STRING, the values of the stored, the checked and the other rows, in their order; until keepMs, or 10 times
--                 its delay, after their expiry was last put off
-- ARGV
--   publish       PUBLISH or SPUBLISH
--   lease         its end, as the claim gave it
--   claimed       the number of rows under it that were not committed before
--   loaded        the number of rows that were loaded: first those whose value is renewed, then those whose value has changed,
--                 those whose value is looked for, and those whose value is there
--   renewed       of these, the number of rows whose value is stored and its expiry put off
--   stored        the number of rows whose value is stored, with the renewed ones; the others keep their expiry
--   checked       the number of rows behind these whose value is looked for
--   firsts        of these, the number of rows that were never loaded before
--   idleMs        ms until a schedule that nobody touches goes away
--   keepMs        ms that a value is kept without being loaded again
--   minBackoffMs  ms, the pause after one failure; it doubles with each
--   maxBackoffMs  ms
--   phase         a random number below 1
--   verdict       of the source: 'failed', 'probe failed', 'probe loaded', or 'none'
--   tombstone     the value of a row that is gone; '' if such a row is taken out
--   tombstoneMs   ms until a row that stays gone is taken out
--   outcomes...   of the loaded rows: when each is due and its id; then the state of each; then the value of each that is stored.
--                 Of each other row: its id; when it is due; its state; and '-' (it is gone), '!' (loading it failed), or '?'
--                 (loading failed, which says nothing of this row)
-- RETURNS
--   ms until the first row of the shard is due (-1: there is none), and the number of rows whose lease held
local due, rows, failures, source, unloaded, wake = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local publish, lease, claimed, loaded = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local renewed, stored, checked = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local firsts, idleMs, keepMs = tonumber(ARGV[8]), ARGV[9], tonumber(ARGV[10])
local minBackoffMs, maxBackoffMs, phase = tonumber(ARGV[11]), tonumber(ARGV[12]), tonumber(ARGV[13])
local verdict, tombstone, tombstoneMs = ARGV[14], ARGV[15], tonumber(ARGV[16])

local outcomes = { unpack(ARGV, 17) }
-- What lies before the first key of a value, the first state and the first value; row 1 has its score at 1 and its id at 2.
local VALUE_KEYS, STATES, VALUES = 6, 2 * loaded, 3 * loaded
local OTHERS = VALUES + stored + 1
-- Of a state, and of the value: when it was loaded.
local EVERY, HEAD, LOADED_AT = 30, 16, 29
-- Steps of the golden ratio fill the unit interval evenly, however many they are.
local GOLDEN = 0.6180339887498949

local call, sub, format, max, min, tonumber = redis.call, string.sub, string.format, math.max, math.min, tonumber
local time = call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

-- Only rows of this claim have this score, so that they are counted is enough, as long as none is missing.
local isHeld
local held = loaded + (#outcomes - OTHERS + 1) / 4
if call('ZCOUNT', due, lease, lease) ~= claimed then
  isHeld, firsts = {}, 0
  for _, id in ipairs(call('ZRANGE', due, lease, lease, 'BYSCORE')) do
    isHeld[id] = true
  end
end

local keeps = {}
local function keepOf(state)
  local every = sub(state, EVERY)
  local keep = keeps[every]
  if not keep then
    keep = format('%d', max(keepMs, 10 * tonumber(every)))
    keeps[every] = keep
  end
  return keep
end

local hasFailures = call('HLEN', failures) > 0
local states = {}
for row = 1, loaded do
  states[2 * row - 1], states[2 * row] = outcomes[2 * row], outcomes[STATES + row]
end
if loaded > 0 and not isHeld then
  call('ZADD', due, 'XX', unpack(outcomes, 1, STATES))
  call('HSET', rows, unpack(states))
end
if isHeld or hasFailures then
  for row = 1, loaded do
    local id = outcomes[2 * row]
    if isHeld and not isHeld[id] then
      held = held - 1
    else
      if isHeld then
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
for row = 1, stored do
  if not isHeld or isHeld[outcomes[2 * row]] then
    local key, value = KEYS[VALUE_KEYS + row], outcomes[VALUES + row]
    -- An expiry is dear: it makes half of what a SET costs.
    if row <= renewed or not call('SET', key, value, 'XX', 'KEEPTTL') then
      call('SET', key, value, 'PX', keepOf(states[2 * row]))
    end
  end
end
-- A value that is gone although it was to be there is loaded again.
if checked > 0 then
  local keys = {}
  for row = stored + 1, stored + checked do
    keys[#keys + 1] = KEYS[VALUE_KEYS + row]
  end
  if call('EXISTS', unpack(keys)) < checked then
    for index, key in ipairs(keys) do
      local id, state = states[2 * (stored + index) - 1], states[2 * (stored + index)]
      if (not isHeld or isHeld[id]) and call('EXISTS', key) == 0 then
        call('HSET', rows, id, sub(state, 1, 13) .. string.rep('0', HEAD) .. sub(state, EVERY))
        call('ZADD', due, 'XX', format('%d', now), id)
      end
    end
  end
end

for at = OTHERS, #outcomes, 4 do
  local id, dueAt, state, code = outcomes[at], outcomes[at + 1], outcomes[at + 2], outcomes[at + 3]
  local other = (at - OTHERS) / 4 + 1
  local key = KEYS[VALUE_KEYS + stored + checked + other]
  if isHeld and not isHeld[id] then
    held = held - 1
  elseif code == '?' then
    call('ZADD', due, 'XX', dueAt, id)
  elseif code == '!' then
    local failed, early = call('HINCRBY', failures, id, 1), (phase + other * GOLDEN) % 1
    local pause = (1 - early / 2) * min(maxBackoffMs, minBackoffMs * 2 ^ min(failed - 1, 60))
    call('ZADD', due, 'XX', format('%d', now + max(1, pause)), id)
  else
    local was = call('HGET', rows, id)
    -- A row without a state is what an evicted key leaves behind.
    local isOut = tombstone == '' or not was
    if not isOut then
      local old = call('GET', key)
      if not old or sub(old, 1, HEAD) ~= sub(tombstone, 1, HEAD) then
        -- Never written again, so that it tells since when the row has been gone.
        call('SET', key, tombstone, 'PX', format('%d', tombstoneMs + tonumber(keepOf(state))))
      else
        isOut = now - tonumber(sub(old, HEAD + 1, LOADED_AT)) >= tombstoneMs
      end
    end
    if was and sub(was, 1, 1) == '0' then
      firsts = firsts + 1
    end
    if isOut then
      call('ZREM', due, id)
      call('HDEL', rows, id)
      call('UNLINK', key)
    else
      call('ZADD', due, 'XX', dueAt, id)
      call('HSET', rows, id, state)
    end
    if hasFailures then
      call('HDEL', failures, id)
    end
  end
end
if firsts > 0 and call('DECRBY', unloaded, firsts) <= 0 then
  call('UNLINK', unloaded)
end
if hasFailures or OTHERS <= #outcomes then
  call('PEXPIRE', failures, idleMs)
end

if verdict == 'probe loaded' then
  -- Twice as many next time, so that what has gathered doesn't fall upon a source that has just come back.
  local limit = 2 * tonumber(call('HGET', source, 'limit') or 1)
  if limit > 500 then
    call('UNLINK', source)
    call(publish, wake, '*:')
  else
    call('HSET', source, 'limit', limit, 'opensAt', 0)
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
local head = call('ZRANGE', due, 0, 0, 'WITHSCORES')[2]
return { head and max(0, math.ceil(tonumber(head) - now)) or -1, held }
