#!lua flags=allow-oom
-- The one call of a working worker: says what became of the tasks that it has finished, and takes the next ones.
-- Also puts back what dead workers held, removes what retention no longer covers, and parks the worker when there
-- is nothing to take.
--
-- A settlement counts only while the task is active under the same token; otherwise another worker has the task.
-- Within a lane, tasks that have fallen due go first, in the order in which they did, then ready ones in theirs.
-- A token is the server's time in µs, cut to 32 bits, so that an id that is used again gets other ones.
--
-- KEYS
--   priorities   STRING names, comma-separated
--   tasks        HASH id -> record: u8 lane, u16 most attempts, …
--   attempts     HASH id -> last attempt: A u32 token, u16 attempt, u8 lane, u16 most attempts while active; then
--                S succeeded, D dead, R back in its lane: f64 instant, u16 attempt, result or error
--   active       ZSET id -> end of the lease, ms
--   succeeded    LIST ids, oldest first
--   dead         ZSET id -> instant of death, ms
--   idle         ZSET channel of a parked worker -> parked until, ms; expires a minute after the last parking
--   timekeeper   STRING "<next due, ms> <channel>": the parked worker that has set a timer; expires like idle
--   lanes...     three for each priority: ready LIST, scheduled ZSET, retrying ZSET
-- ARGV
--   names            the priorities that the worker knows, comma-separated
--   publish          PUBLISH or SPUBLISH
--   channel          the channel on which this worker is woken
--   want             tasks to take at most, 0 to 500; 0: the worker is full or leaves, and is not parked
--   leaseMs          ms
--   parkMs           how long the worker may sleep, ms
--   keepSucceeded    count
--   keepSucceededMs  ms
--   keepDead         count
--   settlements...   two for each, 500 at most, no id twice: id; verdict, u32 token, f64 delay in ms, result or error
--                    verdicts: S succeeded, R retry after the delay, D dead, B back at once, L later (after the delay;
--                    B and L do not count as attempts)
-- RETURNS
--   { settled, sleepMs, token, id, attempt, record, … }: settled has one character a settlement, 1 done, 0 lease lost;
--   sleepMs until something falls due, 0 when there is more to take already, -1 when another worker keeps the time or
--   the worker is not parked; the token of all tasks taken, then three for each
--   error PRIORITIES <stored>: the queue has other priorities; nothing is written
local priorities, tasks, attempts, active, succeeded = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local dead, idle, timekeeper = KEYS[6], KEYS[7], KEYS[8]
local names, publish, channel, want = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local leaseMs, parkMs, keepSucceeded = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local keepSucceededMs, keepDead = tonumber(ARGV[8]), tonumber(ARGV[9])
local FIRST_LANE = 9
local PARKED_KEYS_MS = 60000
local MOST_RECOVERED = 100
local MOST_AGED = 50
-- A reply ends with the piece that makes it longer than this.
local MOST_BYTES = 4194304
-- Redis keeps up to 128 members of a sorted set in a plain list and goes through it for each one that comes: 1.5 µs at
-- 100 of them, 0.25 µs in the skip list that a member of more than 64 bytes brings about.
local MANY = 16
local LONG_MEMBER = '-----------------------------------------------------------------'

local stored = redis.call('GET', priorities)
if stored and stored ~= names then
  return redis.error_reply('PRIORITIES ' .. stored)
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local token = (time[1] * 1000000 + time[2]) % 4294967296
local ready, delayed = {}, {}
for lane = 9, #KEYS, 3 do
  ready[#ready + 1] = KEYS[lane]
  delayed[#delayed + 1] = KEYS[lane + 1]
  delayed[#delayed + 1] = KEYS[lane + 2]
end

-- Operands of HSET: what steps 1 to 3 say of attempts.
local changed = {}
local function change(id, last)
  changed[#changed + 1] = id
  changed[#changed + 1] = last
end

local function ended(state, attempt, data)
  return state .. struct.pack('>dH', now, attempt) .. data
end

local hasDied = false
local function bury(id, attempt, reason)
  change(id, ended('D', attempt, reason))
  redis.call('ZADD', dead, now, id)
  hasDied = true
end

local function putBack(id, lane, at, attempt, reason)
  change(id, ended('R', attempt, reason))
  redis.call('ZADD', KEYS[FIRST_LANE + 3 * lane + 2], at, id)
end

local function forget(ids)
  redis.call('HDEL', tasks, unpack(ids))
  redis.call('HDEL', attempts, unpack(ids))
end

-- 1. Settle. Neighbours are often the same in all but the id (taken in one call, without a result): those are not taken
-- apart again.
local settled, left, finished = {}, {}, {}
local isKept = keepSucceeded > 0 and keepSucceededMs > 0
if #ARGV > 9 then
  local ids = {}
  for i = 10, #ARGV, 2 do
    ids[#ids + 1] = ARGV[i]
  end
  local toldBefore, verdict, given, delay, data
  local lastBefore, state, held, attempt, lane
  local success
  for i, last in ipairs(redis.call('HMGET', attempts, unpack(ids))) do
    local id, told = ids[i], ARGV[9 + 2 * i]
    if told ~= toldBefore or last ~= lastBefore then
      local dataAt
      verdict, given, delay, dataAt = struct.unpack('>c1Id', told)
      data = string.sub(told, dataAt)
      state = nil
      if last then
        state, held, attempt, lane = struct.unpack('>c1IHB', last)
      end
      success = ended('S', attempt or 0, data)
      toldBefore, lastBefore = told, last
    end
    if state == 'A' and held == given then
      settled[i] = '1'
      left[#left + 1] = id
      if verdict == 'S' then
        finished[#finished + 1] = id
        if isKept then
          change(id, success)
        end
      elseif verdict == 'D' then
        bury(id, attempt, data)
      else
        putBack(id, lane, now + delay, verdict == 'R' and attempt or attempt - 1, data)
      end
    else
      settled[i] = '0'
    end
  end
end
if #left > 0 then
  redis.call('ZREM', active, unpack(left))
end

-- 2. Put back what dead workers held: due now, so ahead of the ready tasks of their lane.
local expired = redis.call('ZRANGE', active, '-inf', now, 'BYSCORE', 'LIMIT', 0, MOST_RECOVERED)
if #expired > 0 then
  redis.call('ZREM', active, unpack(expired))
  for i, last in ipairs(redis.call('HMGET', attempts, unpack(expired))) do
    if last then
      local _, _, attempt, lane, most = struct.unpack('>c1IHBH', last)
      local reason = 'the lease ended: the worker died or lost its connection'
      if attempt >= most then
        bury(expired[i], attempt, reason)
      else
        putBack(expired[i], lane, now, attempt, reason)
      end
    end
  end
end
local hasDelayed = redis.call('EXISTS', unpack(delayed)) > 0
if hasDelayed and #changed > 0 then
  -- Some of it may be taken again at once.
  redis.call('HSET', attempts, unpack(changed))
  changed = {}
end

-- 3. Take.
local reply = { table.concat(settled), -1, token }
local taken, bytes = 0, 0
local leases = {}
local leaseUntil = string.format('%.0f', now + leaseMs)
local firstMarks = {}

-- What stands in attempts while a task is active; one string for all first attempts of a lane.
local function markOf(attempt, head)
  if attempt > 1 then
    return struct.pack('>c1IH', 'A', token, attempt) .. head
  end
  local mark = firstMarks[head]
  if not mark then
    mark = struct.pack('>c1IH', 'A', token, 1) .. head
    firstMarks[head] = mark
  end
  return mark
end

-- Hands out ids, the first one first, in pieces that double, so that big records end it early. Returns how many ids it
-- got through. An id without a record is dropped: somebody has deleted it.
local function hand(ids, isFirstAttempt)
  local from = 1
  while from <= #ids and bytes < MOST_BYTES do
    local upTo = math.min(#ids, math.max(8, 2 * from))
    local records = redis.call('HMGET', tasks, unpack(ids, from, upTo))
    local lasts = isFirstAttempt and {} or redis.call('HMGET', attempts, unpack(ids, from, upTo))
    for i, record in ipairs(records) do
      local id, last, attempt = ids[from + i - 1], lasts[i], 1
      if record then
        if last then
          local _, _, before = struct.unpack('>c1dH', last)
          attempt = before + 1
        end
        local size, at = 2 * taken, #reply
        change(id, markOf(attempt, string.sub(record, 1, 3)))
        leases[size + 1], leases[size + 2] = leaseUntil, id
        reply[at + 1], reply[at + 2], reply[at + 3] = id, attempt, record
        taken = taken + 1
        bytes = bytes + #record
      elseif last then
        redis.call('HDEL', attempts, id)
      end
    end
    from = upTo + 1
  end
  return from - 1
end

-- Takes due ids from the schedule and the retries of a lane, merged by the instant at which they fell due.
local function takeDue(scheduled, retrying)
  local most = want - taken
  local a = redis.call('ZRANGE', scheduled, '-inf', now, 'BYSCORE', 'LIMIT', 0, most, 'WITHSCORES')
  local b = redis.call('ZRANGE', retrying, '-inf', now, 'BYSCORE', 'LIMIT', 0, most, 'WITHSCORES')
  local i, j, ids, isScheduled = 1, 1, {}, {}
  while #ids < most and (a[i] or b[j]) do
    local isNext = a[i] and (not b[j] or tonumber(a[i + 1]) <= tonumber(b[j + 1]))
    isScheduled[#ids + 1] = isNext
    if isNext then
      ids[#ids + 1] = a[i]
      i = i + 2
    else
      ids[#ids + 1] = b[j]
      j = j + 2
    end
  end
  local used, ofSchedule = hand(ids, false), 0
  for k = 1, used do
    if isScheduled[k] then
      ofSchedule = ofSchedule + 1
    end
  end
  if ofSchedule > 0 then
    redis.call('ZREMRANGEBYRANK', scheduled, 0, ofSchedule - 1)
  end
  if used > ofSchedule then
    redis.call('ZREMRANGEBYRANK', retrying, 0, used - ofSchedule - 1)
  end
end

local function takeReady(key)
  local ids = redis.call('LPOP', key, want - taken) or {}
  for i = #ids, hand(ids, true) + 1, -1 do
    redis.call('LPUSH', key, ids[i])
  end
end

for i, key in ipairs(ready) do
  if taken < want and bytes < MOST_BYTES and hasDelayed then
    takeDue(delayed[2 * i - 1], delayed[2 * i])
  end
  if taken < want and bytes < MOST_BYTES then
    takeReady(key)
  end
end
if #changed > 0 then
  redis.call('HSET', attempts, unpack(changed))
end
if taken >= MANY then
  redis.call('ZADD', active, 0, LONG_MEMBER, unpack(leases))
  redis.call('ZREM', active, LONG_MEMBER)
elseif taken > 0 then
  redis.call('ZADD', active, unpack(leases))
end

-- 4. Retention: by count at least as many as came, by age a few more.
if #finished > 0 then
  local kept
  if isKept then
    kept = redis.call('RPUSH', succeeded, unpack(finished))
  else
    forget(finished)
    kept = redis.call('LLEN', succeeded)
  end
  local surplus = math.min(2 * #finished + 8, kept - keepSucceeded)
  if surplus > 0 then
    forget(redis.call('LPOP', succeeded, surplus))
  end
end
for _ = 1, MOST_AGED do
  local oldest = redis.call('LINDEX', succeeded, 0)
  local last = oldest and redis.call('HGET', attempts, oldest)
  if not oldest or last and struct.unpack('>d', last, 2) > now - keepSucceededMs then
    break
  end
  forget(redis.call('LPOP', succeeded, 1))
end
if hasDied then
  local surplus = redis.call('ZCARD', dead) - keepDead
  if surplus > 0 then
    -- At most 600 have died above; an operator may have lowered the limit.
    local oldest = redis.call('ZRANGE', dead, 0, math.min(surplus, 1000) - 1)
    redis.call('ZREM', dead, unpack(oldest))
    forget(oldest)
  end
end

-- 5. Who waits, and who keeps the time.
local function wake(most)
  for _ = 1, 16 do
    if most == 0 then
      return
    end
    local parked = redis.call('ZPOPMIN', idle)
    if #parked == 0 then
      return
    end
    if tonumber(parked[2]) >= now and redis.call(publish, parked[1], 'w:') > 0 then
      most = most - 1
    end
  end
end

-- The next instant at which a delayed task falls due or a lease ends; math.huge when there is none.
local function nextInstant()
  local earliest = math.huge
  local function look(key)
    local head = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
    if head[2] then
      earliest = math.min(earliest, tonumber(head[2]))
    end
  end
  look(active)
  if hasDelayed then
    for _, key in ipairs(delayed) do
      look(key)
    end
  end
  return earliest
end

-- The instant that is timed, and by whom; math.huge and nil when nobody does.
local function timing()
  local due, keeper = string.match(redis.call('GET', timekeeper) or '', '^(%S+) (.*)$')
  return tonumber(due) or math.huge, keeper
end

if taken < want and bytes < MOST_BYTES then
  redis.call('ZREMRANGEBYSCORE', idle, '-inf', now)
  redis.call('ZADD', idle, now + parkMs, channel)
  redis.call('PEXPIRE', idle, PARKED_KEYS_MS)
  local nextAt = nextInstant()
  local due, keeper = timing()
  local isTimed = keeper and keeper ~= channel and due <= nextAt and redis.call('ZSCORE', idle, keeper)
  if not isTimed and nextAt < math.huge then
    redis.call('SET', timekeeper, string.format('%.0f %s', nextAt, channel), 'PX', PARKED_KEYS_MS)
    reply[2] = math.max(0, nextAt - now)
  elseif not isTimed and keeper then
    -- What was timed is past: it must not stand in the way of what comes.
    redis.call('DEL', timekeeper)
  end
  return reply
end
-- Full, or leaving: others take what is left, and the time. Where nobody is parked there is nobody to tell, and who
-- parks next sees that an old timekeeper is not parked.
if bytes >= MOST_BYTES then
  reply[2] = 0
end
if redis.call('EXISTS', idle) == 1 then
  redis.call('ZREM', idle, channel)
  local nextAt = nextInstant()
  local due, keeper = timing()
  if keeper == channel then
    redis.call('DEL', timekeeper)
    due = math.huge
  end
  if nextAt <= now or redis.call('EXISTS', unpack(ready)) > 0 then
    wake(2)
  elseif nextAt < due then
    wake(1)
  end
end
return reply
