// Made from the .lua files of this folder by `npm run scripts`. Edit those.
import { Script } from '@mortise/redis';

export const queueCounts = new Script({
  name: "queue.counts",
  isReadOnly: true,
  keys: ["priorities","active","succeeded","dead"],
  args: ["names"],
  restKey: "lanes",
  source: "#!lua flags=no-writes\n" +
    "-- How many tasks are in each state. A delayed or retrying task that has fallen due counts as ready.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   priorities   STRING names, comma-separated\n" +
    "--   active       ZSET id -> end of the lease, ms\n" +
    "--   succeeded    LIST ids\n" +
    "--   dead         ZSET id -> instant of death, ms\n" +
    "--   lanes...     three for each priority: ready LIST, scheduled ZSET, retrying ZSET\n" +
    "-- ARGV\n" +
    "--   names        the priorities that the caller knows, comma-separated\n" +
    "-- RETURNS\n" +
    "--   { scheduled, ready, active, retrying, succeeded, dead }\n" +
    "--   error PRIORITIES <stored>: the queue has other priorities\n" +
    "local priorities, active, succeeded, dead = KEYS[1], KEYS[2], KEYS[3], KEYS[4]\n" +
    "local names = ARGV[1]\n" +
    "\n" +
    "local stored = redis.call('GET', priorities)\n" +
    "if stored and stored ~= names then\n" +
    "  return redis.error_reply('PRIORITIES ' .. stored)\n" +
    "end\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "local scheduled, ready, retrying = 0, 0, 0\n" +
    "for lane = 5, #KEYS, 3 do\n" +
    "  local dueScheduled = redis.call('ZCOUNT', KEYS[lane + 1], '-inf', now)\n" +
    "  local dueRetrying = redis.call('ZCOUNT', KEYS[lane + 2], '-inf', now)\n" +
    "  ready = ready + redis.call('LLEN', KEYS[lane]) + dueScheduled + dueRetrying\n" +
    "  scheduled = scheduled + redis.call('ZCARD', KEYS[lane + 1]) - dueScheduled\n" +
    "  retrying = retrying + redis.call('ZCARD', KEYS[lane + 2]) - dueRetrying\n" +
    "end\n" +
    "return {\n" +
    "  scheduled,\n" +
    "  ready,\n" +
    "  redis.call('ZCARD', active),\n" +
    "  retrying,\n" +
    "  redis.call('LLEN', succeeded),\n" +
    "  redis.call('ZCARD', dead),\n" +
    "}\n",
} as const);

export const queueEnqueue = new Script({
  name: "queue.enqueue",
  isReadOnly: false,
  keys: ["priorities","tasks","idle","timekeeper"],
  args: ["names","publish"],
  restKey: "lanes",
  restArg: "entries",
  source: "#!lua\n" +
    "-- Stores new tasks. A task without a delay is ready at once, behind the ready tasks of its lane; a delayed one waits\n" +
    "-- in its lane's schedule. An id that is already stored is left alone. Wakes one parked worker when there is something\n" +
    "-- to run, and the timekeeper when something falls due earlier than it thinks.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   priorities   STRING names, comma-separated; written once\n" +
    "--   tasks        HASH id -> record: u8 lane, u16 attempts, f64 enqueued at (ms), then what the client wrote\n" +
    "--   idle         ZSET channel of a parked worker -> parked until, ms\n" +
    "--   timekeeper   STRING \"<next due, ms> <channel>\"\n" +
    "--   lanes...     three for each priority: ready LIST, scheduled ZSET, retrying ZSET\n" +
    "-- ARGV\n" +
    "--   names        the priorities that the caller knows, comma-separated\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "--   entries...   two for each task, 1,000 at most: id, and the record with another f64 in its head, which says\n" +
    "--                when the task may run: 0 at once, below 0 so many ms from now, above 0 that instant\n" +
    "-- RETURNS\n" +
    "--   a string with one character a task: 1 stored, 0 was there already\n" +
    "--   error PRIORITIES <stored>: the queue has other priorities; nothing is written\n" +
    "local priorities, tasks, idle, timekeeper = KEYS[1], KEYS[2], KEYS[3], KEYS[4]\n" +
    "local names, publish = ARGV[1], ARGV[2]\n" +
    "local FIRST_LANE = 5\n" +
    "\n" +
    "local stored = redis.call('GET', priorities)\n" +
    "if stored and stored ~= names then\n" +
    "  return redis.error_reply('PRIORITIES ' .. stored)\n" +
    "end\n" +
    "if not stored then\n" +
    "  redis.call('SET', priorities, names)\n" +
    "end\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "local enqueuedAt = struct.pack('>d', now)\n" +
    "local replies, ready, isReady, earliest = {}, {}, false, nil\n" +
    "\n" +
    "for i = 3, #ARGV, 2 do\n" +
    "  local id, record = ARGV[i], ARGV[i + 1]\n" +
    "  local isNew = redis.call('HSETNX', tasks, id, string.sub(record, 1, 3) .. enqueuedAt .. string.sub(record, 12))\n" +
    "  replies[#replies + 1] = isNew\n" +
    "  if isNew == 1 then\n" +
    "    local lane, _, at = struct.unpack('>BHd', record)\n" +
    "    if at < 0 then\n" +
    "      at = now - at\n" +
    "    end\n" +
    "    local key = FIRST_LANE + 3 * lane\n" +
    "    if at > now then\n" +
    "      redis.call('ZADD', KEYS[key + 1], at, id)\n" +
    "      earliest = math.min(earliest or at, at)\n" +
    "    else\n" +
    "      local ids = ready[key] or {}\n" +
    "      ready[key] = ids\n" +
    "      ids[#ids + 1] = id\n" +
    "      isReady = true\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "for key, ids in pairs(ready) do\n" +
    "  redis.call('RPUSH', KEYS[key], unpack(ids))\n" +
    "end\n" +
    "\n" +
    "-- Tells one worker, skipping those that are gone or whose parking time is over.\n" +
    "local function wake()\n" +
    "  for _ = 1, 16 do\n" +
    "    local parked = redis.call('ZPOPMIN', idle)\n" +
    "    if #parked == 0 then\n" +
    "      return\n" +
    "    end\n" +
    "    if tonumber(parked[2]) >= now and redis.call(publish, parked[1], 'w:') > 0 then\n" +
    "      return\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "if isReady then\n" +
    "  wake()\n" +
    "end\n" +
    "if earliest then\n" +
    "  local due, channel = string.match(redis.call('GET', timekeeper) or '', '^(%S+) (.*)$')\n" +
    "  if not due or tonumber(due) <= now then\n" +
    "    wake()\n" +
    "  elseif earliest < tonumber(due) and redis.call(publish, channel, 'w:') == 0 then\n" +
    "    redis.call('DEL', timekeeper)\n" +
    "    wake()\n" +
    "  end\n" +
    "end\n" +
    "return table.concat(replies)\n",
} as const);

export const queueGet = new Script({
  name: "queue.get",
  isReadOnly: true,
  keys: ["priorities","tasks","attempts","active"],
  args: ["names","id"],
  restKey: "lanes",
  source: "#!lua flags=no-writes\n" +
    "-- One task, and the state that follows from where its id stands.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   priorities   STRING names, comma-separated\n" +
    "--   tasks        HASH id -> record\n" +
    "--   attempts     HASH id -> last attempt\n" +
    "--   active       ZSET id -> end of the lease, ms\n" +
    "--   lanes...     three for each priority: ready LIST, scheduled ZSET, retrying ZSET\n" +
    "-- ARGV\n" +
    "--   names        the priorities that the caller knows, comma-separated\n" +
    "--   id           as stored\n" +
    "-- RETURNS\n" +
    "--   nil: unknown; or { record, state, instant in ms or \"\", last attempt or \"\" }; the instant is the end of the lease\n" +
    "--   of an active task and the due instant of a scheduled or retrying one\n" +
    "--   error PRIORITIES <stored>: the queue has other priorities\n" +
    "local priorities, tasks, attempts, active = KEYS[1], KEYS[2], KEYS[3], KEYS[4]\n" +
    "local names, id = ARGV[1], ARGV[2]\n" +
    "local FIRST_LANE = 5\n" +
    "local STATES = { A = 'active', S = 'succeeded', D = 'dead' }\n" +
    "\n" +
    "local stored = redis.call('GET', priorities)\n" +
    "if stored and stored ~= names then\n" +
    "  return redis.error_reply('PRIORITIES ' .. stored)\n" +
    "end\n" +
    "local record = redis.call('HGET', tasks, id)\n" +
    "if not record then\n" +
    "  return nil\n" +
    "end\n" +
    "local last = redis.call('HGET', attempts, id) or ''\n" +
    "local state = STATES[string.sub(last, 1, 1)]\n" +
    "if state then\n" +
    "  return { record, state, state == 'active' and redis.call('ZSCORE', active, id) or '', last }\n" +
    "end\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "local lane = FIRST_LANE + 3 * struct.unpack('>B', record)\n" +
    "local retryAt = redis.call('ZSCORE', KEYS[lane + 2], id)\n" +
    "if retryAt and tonumber(retryAt) > now then\n" +
    "  return { record, 'retrying', retryAt, last }\n" +
    "end\n" +
    "local runAt = redis.call('ZSCORE', KEYS[lane + 1], id)\n" +
    "if runAt and tonumber(runAt) > now then\n" +
    "  return { record, 'scheduled', runAt, last }\n" +
    "end\n" +
    "return { record, 'ready', '', last }\n",
} as const);

export const workerExchange = new Script({
  name: "worker.exchange",
  isReadOnly: false,
  keys: ["priorities","tasks","attempts","active","succeeded","dead","idle","timekeeper"],
  args: ["names","publish","channel","want","leaseMs","parkMs","keepSucceeded","keepSucceededMs","keepDead"],
  restKey: "lanes",
  restArg: "settlements",
  source: "#!lua flags=allow-oom\n" +
    "-- The one call of a working worker: says what became of the tasks that it has finished, and takes the next ones.\n" +
    "-- Also puts back what dead workers held, removes what retention no longer covers, and parks the worker when there\n" +
    "-- is nothing to take.\n" +
    "--\n" +
    "-- A settlement counts only while the task is active under the same token; otherwise another worker has the task.\n" +
    "-- Within a lane, tasks that have fallen due go first, in the order in which they did, then ready ones in theirs.\n" +
    "-- A token is the server's time in µs, cut to 32 bits, so that an id that is used again gets other ones.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   priorities   STRING names, comma-separated\n" +
    "--   tasks        HASH id -> record: u8 lane, u16 most attempts, …\n" +
    "--   attempts     HASH id -> last attempt: A u32 token, u16 attempt, u8 lane, u16 most attempts while active; then\n" +
    "--                S succeeded, D dead, R back in its lane: f64 instant, u16 attempt, result or error\n" +
    "--   active       ZSET id -> end of the lease, ms\n" +
    "--   succeeded    LIST ids, oldest first\n" +
    "--   dead         ZSET id -> instant of death, ms\n" +
    "--   idle         ZSET channel of a parked worker -> parked until, ms; expires a minute after the last parking\n" +
    "--   timekeeper   STRING \"<next due, ms> <channel>\": the parked worker that has set a timer; expires like idle\n" +
    "--   lanes...     three for each priority: ready LIST, scheduled ZSET, retrying ZSET\n" +
    "-- ARGV\n" +
    "--   names            the priorities that the worker knows, comma-separated\n" +
    "--   publish          PUBLISH or SPUBLISH\n" +
    "--   channel          the channel on which this worker is woken\n" +
    "--   want             tasks to take at most, 0 to 500; 0: the worker is full or leaves, and is not parked\n" +
    "--   leaseMs          ms\n" +
    "--   parkMs           how long the worker may sleep, ms\n" +
    "--   keepSucceeded    count\n" +
    "--   keepSucceededMs  ms\n" +
    "--   keepDead         count\n" +
    "--   settlements...   two for each, 500 at most, no id twice: id; verdict, u32 token, f64 delay in ms, result or error\n" +
    "--                    verdicts: S succeeded, R retry after the delay, D dead, B back at once, L later (after the delay;\n" +
    "--                    B and L do not count as attempts)\n" +
    "-- RETURNS\n" +
    "--   { settled, sleepMs, token, id, attempt, record, … }: settled has one character a settlement, 1 done, 0 lease lost;\n" +
    "--   sleepMs until something falls due, 0 when there is more to take already, -1 when another worker keeps the time or\n" +
    "--   the worker is not parked; the token of all tasks taken, then three for each\n" +
    "--   error PRIORITIES <stored>: the queue has other priorities; nothing is written\n" +
    "local priorities, tasks, attempts, active, succeeded = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]\n" +
    "local dead, idle, timekeeper = KEYS[6], KEYS[7], KEYS[8]\n" +
    "local names, publish, channel, want = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])\n" +
    "local leaseMs, parkMs, keepSucceeded = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])\n" +
    "local keepSucceededMs, keepDead = tonumber(ARGV[8]), tonumber(ARGV[9])\n" +
    "local FIRST_LANE = 9\n" +
    "local PARKED_KEYS_MS = 60000\n" +
    "local MOST_RECOVERED = 100\n" +
    "local MOST_AGED = 50\n" +
    "-- A reply ends with the piece that makes it longer than this.\n" +
    "local MOST_BYTES = 4194304\n" +
    "-- Redis keeps up to 128 members of a sorted set in a plain list and goes through it for each one that comes: 1.5 µs at\n" +
    "-- 100 of them, 0.25 µs in the skip list that a member of more than 64 bytes brings about.\n" +
    "local MANY = 16\n" +
    "local LONG_MEMBER = '-----------------------------------------------------------------'\n" +
    "\n" +
    "local stored = redis.call('GET', priorities)\n" +
    "if stored and stored ~= names then\n" +
    "  return redis.error_reply('PRIORITIES ' .. stored)\n" +
    "end\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "local token = (time[1] * 1000000 + time[2]) % 4294967296\n" +
    "local ready, delayed = {}, {}\n" +
    "for lane = 9, #KEYS, 3 do\n" +
    "  ready[#ready + 1] = KEYS[lane]\n" +
    "  delayed[#delayed + 1] = KEYS[lane + 1]\n" +
    "  delayed[#delayed + 1] = KEYS[lane + 2]\n" +
    "end\n" +
    "\n" +
    "-- Operands of HSET: what steps 1 to 3 say of attempts.\n" +
    "local changed = {}\n" +
    "local function change(id, last)\n" +
    "  changed[#changed + 1] = id\n" +
    "  changed[#changed + 1] = last\n" +
    "end\n" +
    "\n" +
    "local function ended(state, attempt, data)\n" +
    "  return state .. struct.pack('>dH', now, attempt) .. data\n" +
    "end\n" +
    "\n" +
    "local hasDied = false\n" +
    "local function bury(id, attempt, reason)\n" +
    "  change(id, ended('D', attempt, reason))\n" +
    "  redis.call('ZADD', dead, now, id)\n" +
    "  hasDied = true\n" +
    "end\n" +
    "\n" +
    "local function putBack(id, lane, at, attempt, reason)\n" +
    "  change(id, ended('R', attempt, reason))\n" +
    "  redis.call('ZADD', KEYS[FIRST_LANE + 3 * lane + 2], at, id)\n" +
    "end\n" +
    "\n" +
    "local function forget(ids)\n" +
    "  redis.call('HDEL', tasks, unpack(ids))\n" +
    "  redis.call('HDEL', attempts, unpack(ids))\n" +
    "end\n" +
    "\n" +
    "-- 1. Settle. Neighbours are often the same in all but the id (taken in one call, without a result): those are not taken\n" +
    "-- apart again.\n" +
    "local settled, left, finished = {}, {}, {}\n" +
    "local isKept = keepSucceeded > 0 and keepSucceededMs > 0\n" +
    "if #ARGV > 9 then\n" +
    "  local ids = {}\n" +
    "  for i = 10, #ARGV, 2 do\n" +
    "    ids[#ids + 1] = ARGV[i]\n" +
    "  end\n" +
    "  local toldBefore, verdict, given, delay, data\n" +
    "  local lastBefore, state, held, attempt, lane\n" +
    "  local success\n" +
    "  for i, last in ipairs(redis.call('HMGET', attempts, unpack(ids))) do\n" +
    "    local id, told = ids[i], ARGV[9 + 2 * i]\n" +
    "    if told ~= toldBefore or last ~= lastBefore then\n" +
    "      local dataAt\n" +
    "      verdict, given, delay, dataAt = struct.unpack('>c1Id', told)\n" +
    "      data = string.sub(told, dataAt)\n" +
    "      state = nil\n" +
    "      if last then\n" +
    "        state, held, attempt, lane = struct.unpack('>c1IHB', last)\n" +
    "      end\n" +
    "      success = ended('S', attempt or 0, data)\n" +
    "      toldBefore, lastBefore = told, last\n" +
    "    end\n" +
    "    if state == 'A' and held == given then\n" +
    "      settled[i] = '1'\n" +
    "      left[#left + 1] = id\n" +
    "      if verdict == 'S' then\n" +
    "        finished[#finished + 1] = id\n" +
    "        if isKept then\n" +
    "          change(id, success)\n" +
    "        end\n" +
    "      elseif verdict == 'D' then\n" +
    "        bury(id, attempt, data)\n" +
    "      else\n" +
    "        putBack(id, lane, now + delay, verdict == 'R' and attempt or attempt - 1, data)\n" +
    "      end\n" +
    "    else\n" +
    "      settled[i] = '0'\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "if #left > 0 then\n" +
    "  redis.call('ZREM', active, unpack(left))\n" +
    "end\n" +
    "\n" +
    "-- 2. Put back what dead workers held: due now, so ahead of the ready tasks of their lane.\n" +
    "local expired = redis.call('ZRANGE', active, '-inf', now, 'BYSCORE', 'LIMIT', 0, MOST_RECOVERED)\n" +
    "if #expired > 0 then\n" +
    "  redis.call('ZREM', active, unpack(expired))\n" +
    "  for i, last in ipairs(redis.call('HMGET', attempts, unpack(expired))) do\n" +
    "    if last then\n" +
    "      local _, _, attempt, lane, most = struct.unpack('>c1IHBH', last)\n" +
    "      local reason = 'the lease ended: the worker died or lost its connection'\n" +
    "      if attempt >= most then\n" +
    "        bury(expired[i], attempt, reason)\n" +
    "      else\n" +
    "        putBack(expired[i], lane, now, attempt, reason)\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "local hasDelayed = redis.call('EXISTS', unpack(delayed)) > 0\n" +
    "if hasDelayed and #changed > 0 then\n" +
    "  -- Some of it may be taken again at once.\n" +
    "  redis.call('HSET', attempts, unpack(changed))\n" +
    "  changed = {}\n" +
    "end\n" +
    "\n" +
    "-- 3. Take.\n" +
    "local reply = { table.concat(settled), -1, token }\n" +
    "local taken, bytes = 0, 0\n" +
    "local leases = {}\n" +
    "local leaseUntil = string.format('%.0f', now + leaseMs)\n" +
    "local firstMarks = {}\n" +
    "\n" +
    "-- What stands in attempts while a task is active; one string for all first attempts of a lane.\n" +
    "local function markOf(attempt, head)\n" +
    "  if attempt > 1 then\n" +
    "    return struct.pack('>c1IH', 'A', token, attempt) .. head\n" +
    "  end\n" +
    "  local mark = firstMarks[head]\n" +
    "  if not mark then\n" +
    "    mark = struct.pack('>c1IH', 'A', token, 1) .. head\n" +
    "    firstMarks[head] = mark\n" +
    "  end\n" +
    "  return mark\n" +
    "end\n" +
    "\n" +
    "-- Hands out ids, the first one first, in pieces that double, so that big records end it early. Returns how many ids it\n" +
    "-- got through. An id without a record is dropped: somebody has deleted it.\n" +
    "local function hand(ids, isFirstAttempt)\n" +
    "  local from = 1\n" +
    "  while from <= #ids and bytes < MOST_BYTES do\n" +
    "    local upTo = math.min(#ids, math.max(8, 2 * from))\n" +
    "    local records = redis.call('HMGET', tasks, unpack(ids, from, upTo))\n" +
    "    local lasts = isFirstAttempt and {} or redis.call('HMGET', attempts, unpack(ids, from, upTo))\n" +
    "    for i, record in ipairs(records) do\n" +
    "      local id, last, attempt = ids[from + i - 1], lasts[i], 1\n" +
    "      if record then\n" +
    "        if last then\n" +
    "          local _, _, before = struct.unpack('>c1dH', last)\n" +
    "          attempt = before + 1\n" +
    "        end\n" +
    "        local size, at = 2 * taken, #reply\n" +
    "        change(id, markOf(attempt, string.sub(record, 1, 3)))\n" +
    "        leases[size + 1], leases[size + 2] = leaseUntil, id\n" +
    "        reply[at + 1], reply[at + 2], reply[at + 3] = id, attempt, record\n" +
    "        taken = taken + 1\n" +
    "        bytes = bytes + #record\n" +
    "      elseif last then\n" +
    "        redis.call('HDEL', attempts, id)\n" +
    "      end\n" +
    "    end\n" +
    "    from = upTo + 1\n" +
    "  end\n" +
    "  return from - 1\n" +
    "end\n" +
    "\n" +
    "-- Takes due ids from the schedule and the retries of a lane, merged by the instant at which they fell due.\n" +
    "local function takeDue(scheduled, retrying)\n" +
    "  local most = want - taken\n" +
    "  local a = redis.call('ZRANGE', scheduled, '-inf', now, 'BYSCORE', 'LIMIT', 0, most, 'WITHSCORES')\n" +
    "  local b = redis.call('ZRANGE', retrying, '-inf', now, 'BYSCORE', 'LIMIT', 0, most, 'WITHSCORES')\n" +
    "  local i, j, ids, isScheduled = 1, 1, {}, {}\n" +
    "  while #ids < most and (a[i] or b[j]) do\n" +
    "    local isNext = a[i] and (not b[j] or tonumber(a[i + 1]) <= tonumber(b[j + 1]))\n" +
    "    isScheduled[#ids + 1] = isNext\n" +
    "    if isNext then\n" +
    "      ids[#ids + 1] = a[i]\n" +
    "      i = i + 2\n" +
    "    else\n" +
    "      ids[#ids + 1] = b[j]\n" +
    "      j = j + 2\n" +
    "    end\n" +
    "  end\n" +
    "  local used, ofSchedule = hand(ids, false), 0\n" +
    "  for k = 1, used do\n" +
    "    if isScheduled[k] then\n" +
    "      ofSchedule = ofSchedule + 1\n" +
    "    end\n" +
    "  end\n" +
    "  if ofSchedule > 0 then\n" +
    "    redis.call('ZREMRANGEBYRANK', scheduled, 0, ofSchedule - 1)\n" +
    "  end\n" +
    "  if used > ofSchedule then\n" +
    "    redis.call('ZREMRANGEBYRANK', retrying, 0, used - ofSchedule - 1)\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local function takeReady(key)\n" +
    "  local ids = redis.call('LPOP', key, want - taken) or {}\n" +
    "  for i = #ids, hand(ids, true) + 1, -1 do\n" +
    "    redis.call('LPUSH', key, ids[i])\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "for i, key in ipairs(ready) do\n" +
    "  if taken < want and bytes < MOST_BYTES and hasDelayed then\n" +
    "    takeDue(delayed[2 * i - 1], delayed[2 * i])\n" +
    "  end\n" +
    "  if taken < want and bytes < MOST_BYTES then\n" +
    "    takeReady(key)\n" +
    "  end\n" +
    "end\n" +
    "if #changed > 0 then\n" +
    "  redis.call('HSET', attempts, unpack(changed))\n" +
    "end\n" +
    "if taken >= MANY then\n" +
    "  redis.call('ZADD', active, 0, LONG_MEMBER, unpack(leases))\n" +
    "  redis.call('ZREM', active, LONG_MEMBER)\n" +
    "elseif taken > 0 then\n" +
    "  redis.call('ZADD', active, unpack(leases))\n" +
    "end\n" +
    "\n" +
    "-- 4. Retention: by count at least as many as came, by age a few more.\n" +
    "if #finished > 0 then\n" +
    "  local kept\n" +
    "  if isKept then\n" +
    "    kept = redis.call('RPUSH', succeeded, unpack(finished))\n" +
    "  else\n" +
    "    forget(finished)\n" +
    "    kept = redis.call('LLEN', succeeded)\n" +
    "  end\n" +
    "  local surplus = math.min(2 * #finished + 8, kept - keepSucceeded)\n" +
    "  if surplus > 0 then\n" +
    "    forget(redis.call('LPOP', succeeded, surplus))\n" +
    "  end\n" +
    "end\n" +
    "for _ = 1, MOST_AGED do\n" +
    "  local oldest = redis.call('LINDEX', succeeded, 0)\n" +
    "  local last = oldest and redis.call('HGET', attempts, oldest)\n" +
    "  if not oldest or last and struct.unpack('>d', last, 2) > now - keepSucceededMs then\n" +
    "    break\n" +
    "  end\n" +
    "  forget(redis.call('LPOP', succeeded, 1))\n" +
    "end\n" +
    "if hasDied then\n" +
    "  local surplus = redis.call('ZCARD', dead) - keepDead\n" +
    "  if surplus > 0 then\n" +
    "    -- At most 600 have died above; an operator may have lowered the limit.\n" +
    "    local oldest = redis.call('ZRANGE', dead, 0, math.min(surplus, 1000) - 1)\n" +
    "    redis.call('ZREM', dead, unpack(oldest))\n" +
    "    forget(oldest)\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- 5. Who waits, and who keeps the time.\n" +
    "local function wake(most)\n" +
    "  for _ = 1, 16 do\n" +
    "    if most == 0 then\n" +
    "      return\n" +
    "    end\n" +
    "    local parked = redis.call('ZPOPMIN', idle)\n" +
    "    if #parked == 0 then\n" +
    "      return\n" +
    "    end\n" +
    "    if tonumber(parked[2]) >= now and redis.call(publish, parked[1], 'w:') > 0 then\n" +
    "      most = most - 1\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- The next instant at which a delayed task falls due or a lease ends; math.huge when there is none.\n" +
    "local function nextInstant()\n" +
    "  local earliest = math.huge\n" +
    "  local function look(key)\n" +
    "    local head = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')\n" +
    "    if head[2] then\n" +
    "      earliest = math.min(earliest, tonumber(head[2]))\n" +
    "    end\n" +
    "  end\n" +
    "  look(active)\n" +
    "  if hasDelayed then\n" +
    "    for _, key in ipairs(delayed) do\n" +
    "      look(key)\n" +
    "    end\n" +
    "  end\n" +
    "  return earliest\n" +
    "end\n" +
    "\n" +
    "-- The instant that is timed, and by whom; math.huge and nil when nobody does.\n" +
    "local function timing()\n" +
    "  local due, keeper = string.match(redis.call('GET', timekeeper) or '', '^(%S+) (.*)$')\n" +
    "  return tonumber(due) or math.huge, keeper\n" +
    "end\n" +
    "\n" +
    "if taken < want and bytes < MOST_BYTES then\n" +
    "  redis.call('ZREMRANGEBYSCORE', idle, '-inf', now)\n" +
    "  redis.call('ZADD', idle, now + parkMs, channel)\n" +
    "  redis.call('PEXPIRE', idle, PARKED_KEYS_MS)\n" +
    "  local nextAt = nextInstant()\n" +
    "  local due, keeper = timing()\n" +
    "  local isTimed = keeper and keeper ~= channel and due <= nextAt and redis.call('ZSCORE', idle, keeper)\n" +
    "  if not isTimed and nextAt < math.huge then\n" +
    "    redis.call('SET', timekeeper, string.format('%.0f %s', nextAt, channel), 'PX', PARKED_KEYS_MS)\n" +
    "    reply[2] = math.max(0, nextAt - now)\n" +
    "  elseif not isTimed and keeper then\n" +
    "    -- What was timed is past: it must not stand in the way of what comes.\n" +
    "    redis.call('DEL', timekeeper)\n" +
    "  end\n" +
    "  return reply\n" +
    "end\n" +
    "-- Full, or leaving: others take what is left, and the time. Where nobody is parked there is nobody to tell, and who\n" +
    "-- parks next sees that an old timekeeper is not parked.\n" +
    "if bytes >= MOST_BYTES then\n" +
    "  reply[2] = 0\n" +
    "end\n" +
    "if redis.call('EXISTS', idle) == 1 then\n" +
    "  redis.call('ZREM', idle, channel)\n" +
    "  local nextAt = nextInstant()\n" +
    "  local due, keeper = timing()\n" +
    "  if keeper == channel then\n" +
    "    redis.call('DEL', timekeeper)\n" +
    "    due = math.huge\n" +
    "  end\n" +
    "  if nextAt <= now or redis.call('EXISTS', unpack(ready)) > 0 then\n" +
    "    wake(2)\n" +
    "  elseif nextAt < due then\n" +
    "    wake(1)\n" +
    "  end\n" +
    "end\n" +
    "return reply\n",
} as const);

export const workerRenew = new Script({
  name: "worker.renew",
  isReadOnly: false,
  keys: ["attempts","active"],
  args: ["leaseMs"],
  restArg: "leases",
  source: "#!lua flags=allow-oom\n" +
    "-- Prolongs the leases of running tasks. A task that is active under another token, or not at all, is not touched.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   attempts     HASH id -> last attempt; A u32 token … while active\n" +
    "--   active       ZSET id -> end of the lease, ms\n" +
    "-- ARGV\n" +
    "--   leaseMs      ms from now\n" +
    "--   leases...    two for each, 500 at most: id, token\n" +
    "-- RETURNS\n" +
    "--   a string with one character a lease: 1 renewed, 0 lost\n" +
    "local attempts, active = KEYS[1], KEYS[2]\n" +
    "local leaseMs = tonumber(ARGV[1])\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "local leaseUntil = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000) + leaseMs)\n" +
    "local ids, renewed, replies = {}, {}, {}\n" +
    "for i = 2, #ARGV, 2 do\n" +
    "  ids[#ids + 1] = ARGV[i]\n" +
    "end\n" +
    "for i, last in ipairs(redis.call('HMGET', attempts, unpack(ids))) do\n" +
    "  local state, token\n" +
    "  if last then\n" +
    "    state, token = struct.unpack('>c1I', last)\n" +
    "  end\n" +
    "  local isHeld = state == 'A' and token == tonumber(ARGV[2 * i + 1])\n" +
    "  if isHeld then\n" +
    "    renewed[#renewed + 1] = leaseUntil\n" +
    "    renewed[#renewed + 1] = ids[i]\n" +
    "  end\n" +
    "  replies[i] = isHeld and '1' or '0'\n" +
    "end\n" +
    "if #renewed > 0 then\n" +
    "  redis.call('ZADD', active, unpack(renewed))\n" +
    "end\n" +
    "return table.concat(replies)\n",
} as const);
