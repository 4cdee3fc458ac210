// Made from the .lua files of this folder by `npm run scripts`. Edit those.
import { Script } from '@mortise/redis';

export const refresherClaim = new Script({
  name: "refresher.claim",
  isReadOnly: false,
  keys: ["due","every","lease"],
  args: ["limit","leaseMs","idleMs"],
  source: "#!lua\n" +
    "-- Takes rows that are due under a lease: until it ends, their score is its end, and nobody else gets them. The score is\n" +
    "-- the fencing token as well, so leases end at half a millisecond, where no due time lies, and each ends later than the last.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   due      ZSET row id -> when it is due, ms, or the end of its lease; until idle\n" +
    "--   every    ZSET row id -> ms between refreshes; until idle\n" +
    "--   lease    STRING, the end of the latest lease; until idle\n" +
    "-- ARGV\n" +
    "--   limit    the most rows to take\n" +
    "--   leaseMs  ms\n" +
    "--   idleMs   ms until a schedule that nobody touches goes away\n" +
    "-- RETURNS\n" +
    "--   the end of the lease, ms until the next row is due (-1: no further row), then id and due time of each row\n" +
    "local due, every, lease = KEYS[1], KEYS[2], KEYS[3]\n" +
    "local limit, leaseMs, idleMs = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)\n" +
    "\n" +
    "local entries = redis.call(\n" +
    "  'ZRANGE', due, '-inf', string.format('%.0f', now), 'BYSCORE', 'LIMIT', 0, limit, 'WITHSCORES'\n" +
    ")\n" +
    "local replies = { '', -1 }\n" +
    "if #entries > 0 then\n" +
    "  local last = tonumber(redis.call('GET', lease) or 0)\n" +
    "  local token = string.format('%.1f', math.max(now + leaseMs + 0.5, last + 1))\n" +
    "  local leased = {}\n" +
    "  for index = 1, #entries, 2 do\n" +
    "    leased[index], leased[index + 1] = token, entries[index]\n" +
    "    replies[index + 2], replies[index + 3] = entries[index], entries[index + 1]\n" +
    "  end\n" +
    "  redis.call('ZADD', due, 'XX', unpack(leased))\n" +
    "  redis.call('SET', lease, token, 'PX', idleMs)\n" +
    "  replies[1] = token\n" +
    "end\n" +
    "redis.call('PEXPIRE', due, idleMs)\n" +
    "redis.call('PEXPIRE', every, idleMs)\n" +
    "local head = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')[2]\n" +
    "if head then\n" +
    "  replies[2] = math.max(0, math.ceil(tonumber(head) - now))\n" +
    "end\n" +
    "return replies\n",
} as const);

export const refresherCommit = new Script({
  name: "refresher.commit",
  isReadOnly: false,
  keys: ["due","every","failures"],
  args: ["lease","idleMs","minBackoffMs","maxBackoffMs","jitter","phase"],
  restKey: "rows",
  restArg: "outcomes",
  source: "#!lua\n" +
    "-- Stores what was loaded for rows under a lease and says when each is due again. A row whose score is no longer the lease\n" +
    "-- is left alone: it was changed, or somebody else has it since.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   due           ZSET row id -> when it is due, ms, or the end of its lease; until idle\n" +
    "--   every         ZSET row id -> ms between refreshes; until idle\n" +
    "--   failures      HASH row id -> failed loads in a row; until idle\n" +
    "--   rows...       STRING, the value of each row of `outcomes`, in its order; until 10 times `every` (at least 10\n" +
    "--                 minutes) after the last attempt to load it\n" +
    "-- ARGV\n" +
    "--   lease         its end, as the claim gave it\n" +
    "--   idleMs        ms until a schedule that nobody touches goes away\n" +
    "--   minBackoffMs  ms, the pause after one failure; it doubles with each\n" +
    "--   maxBackoffMs  ms\n" +
    "--   jitter        the part of a delay by which a row may be early\n" +
    "--   phase         a random number below 1; each row is early by another part, which begins there\n" +
    "--   outcomes...   for each row: its id; when it was due; and the value to store, or '-' (the row is gone), or '!'\n" +
    "--                 (loading failed)\n" +
    "-- RETURNS\n" +
    "--   ms until the next row of the table is due (-1: there is none), then for each row 1 if its lease held, else 0\n" +
    "local due, every, failures = KEYS[1], KEYS[2], KEYS[3]\n" +
    "local lease, idleMs = tonumber(ARGV[1]), ARGV[2]\n" +
    "local minBackoffMs, maxBackoffMs = tonumber(ARGV[3]), tonumber(ARGV[4])\n" +
    "local jitter, phase = tonumber(ARGV[5]), tonumber(ARGV[6])\n" +
    "\n" +
    "local MIN_KEEP_MS = 600000\n" +
    "-- Steps of the golden ratio fill the unit interval evenly, however many they are.\n" +
    "local GOLDEN = 0.6180339887498949\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)\n" +
    "\n" +
    "local ids = {}\n" +
    "for index = 7, #ARGV, 3 do\n" +
    "  ids[#ids + 1] = ARGV[index]\n" +
    "end\n" +
    "local scores = redis.call('ZMSCORE', due, unpack(ids))\n" +
    "local delays = redis.call('ZMSCORE', every, unpack(ids))\n" +
    "local hasFailures = redis.call('HLEN', failures) > 0\n" +
    "\n" +
    "local call, floor, max, min, tonumber = redis.call, math.floor, math.max, math.min, tonumber\n" +
    "local replies, planned, count = { -1 }, {}, 0\n" +
    "for row = 1, #ids do\n" +
    "  local isHeld = scores[row] and tonumber(scores[row]) == lease\n" +
    "  if isHeld then\n" +
    "    local id, key, first = ids[row], KEYS[3 + row], 4 + 3 * row\n" +
    "    local everyMs, early = tonumber(delays[row]), (phase + row * GOLDEN) % 1\n" +
    "    -- A row without a delay is what an evicted key leaves behind.\n" +
    "    local outcome = everyMs and ARGV[first + 2] or '-'\n" +
    "    local nextAt\n" +
    "    if outcome == '-' then\n" +
    "      call('ZREM', due, id)\n" +
    "      call('ZREM', every, id)\n" +
    "      call('UNLINK', key)\n" +
    "    elseif outcome == '!' then\n" +
    "      local failed = call('HINCRBY', failures, id, 1)\n" +
    "      call('PEXPIRE', key, max(10 * everyMs, MIN_KEEP_MS))\n" +
    "      nextAt = now + max(1, (1 - early / 2) * min(maxBackoffMs, minBackoffMs * 2 ^ (failed - 1)))\n" +
    "    else\n" +
    "      call('SET', key, outcome, 'PX', max(10 * everyMs, MIN_KEEP_MS))\n" +
    "      -- In step with the last due time, unless that was missed.\n" +
    "      local delay = max(1, everyMs * (1 - early * jitter))\n" +
    "      nextAt = tonumber(ARGV[first + 1]) + delay\n" +
    "      nextAt = nextAt > now and nextAt or now + delay\n" +
    "    end\n" +
    "    if nextAt then\n" +
    "      planned[count + 1], planned[count + 2] = floor(nextAt), id\n" +
    "      count = count + 2\n" +
    "    end\n" +
    "    if hasFailures and outcome ~= '!' then\n" +
    "      call('HDEL', failures, id)\n" +
    "    end\n" +
    "  end\n" +
    "  replies[row + 1] = isHeld and 1 or 0\n" +
    "end\n" +
    "if #planned > 0 then\n" +
    "  redis.call('ZADD', due, 'XX', unpack(planned))\n" +
    "end\n" +
    "redis.call('PEXPIRE', failures, idleMs)\n" +
    "local head = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')[2]\n" +
    "if head then\n" +
    "  replies[1] = math.max(0, math.ceil(tonumber(head) - now))\n" +
    "end\n" +
    "return replies\n",
} as const);

export const rowCachePlan = new Script({
  name: "row-cache.plan",
  isReadOnly: false,
  keys: ["due","every","failures","wake"],
  args: ["publish","idleMs"],
  restKey: "rows",
  restArg: "plans",
  source: "#!lua\n" +
    "-- Changes the schedule of rows: adds them, takes them out together with their values, or makes them due now. A row that is\n" +
    "-- being loaded loses its lease by that, so a result from before the change is not stored.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   due       ZSET row id -> when it is due, ms, or the end of its lease; until idle\n" +
    "--   every     ZSET row id -> ms between refreshes; until idle\n" +
    "--   failures  HASH row id -> failed loads in a row; until idle\n" +
    "--   wake      channel of the refreshers that sleep; not a key\n" +
    "--   rows...   STRING, the value of each row of `plans`, in its order; until it expires\n" +
    "-- ARGV\n" +
    "--   publish   PUBLISH or SPUBLISH\n" +
    "--   idleMs    ms until a schedule that nobody touches goes away\n" +
    "--   plans...  for each row: its id, then 'now' or ms between refreshes (0: take it out)\n" +
    "-- RETURNS\n" +
    "--   for each row: 1 if it was scheduled before, else 0\n" +
    "local due, every, failures, wake = KEYS[1], KEYS[2], KEYS[3], KEYS[4]\n" +
    "local publish, idleMs = ARGV[1], ARGV[2]\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "local now = string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000))\n" +
    "\n" +
    "local head = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')[2]\n" +
    "local hasDue = false\n" +
    "local replies = {}\n" +
    "for index = 3, #ARGV, 2 do\n" +
    "  local id, plan = ARGV[index], ARGV[index + 1]\n" +
    "  local known = redis.call('ZSCORE', every, id)\n" +
    "  if plan == '0' then\n" +
    "    redis.call('ZREM', due, id)\n" +
    "    redis.call('ZREM', every, id)\n" +
    "    redis.call('HDEL', failures, id)\n" +
    "    redis.call('UNLINK', KEYS[4 + (index - 1) / 2])\n" +
    "  elseif plan == 'now' then\n" +
    "    if known then\n" +
    "      redis.call('ZADD', due, now, id)\n" +
    "      hasDue = true\n" +
    "    end\n" +
    "  elseif not known or tonumber(known) ~= tonumber(plan) or not redis.call('ZSCORE', due, id) then\n" +
    "    redis.call('ZADD', every, plan, id)\n" +
    "    redis.call('ZADD', due, now, id)\n" +
    "    hasDue = true\n" +
    "  end\n" +
    "  replies[#replies + 1] = known and 1 or 0\n" +
    "end\n" +
    "redis.call('PEXPIRE', due, idleMs)\n" +
    "redis.call('PEXPIRE', every, idleMs)\n" +
    "-- Refreshers sleep until the head is due; while it is, they are awake.\n" +
    "if hasDue and (not head or tonumber(head) > tonumber(now)) then\n" +
    "  redis.call(publish, wake, '*:')\n" +
    "end\n" +
    "return replies\n",
} as const);

export const rowCacheStats = new Script({
  name: "row-cache.stats",
  isReadOnly: true,
  keys: ["due","failures"],
  args: [],
  source: "#!lua flags=no-writes\n" +
    "-- Counts the schedule of a table.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   due       ZSET row id -> when it is due, ms, or the end of its lease; until idle\n" +
    "--   failures  HASH row id -> failed loads in a row; until idle\n" +
    "-- RETURNS\n" +
    "--   the number of rows, of rows that are due, of rows whose last load failed, and for how long the first has been due (ms)\n" +
    "local due, failures = KEYS[1], KEYS[2]\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)\n" +
    "local head = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')[2]\n" +
    "local overdue = redis.call('ZCOUNT', due, '-inf', string.format('%.0f', now))\n" +
    "return {\n" +
    "  redis.call('ZCARD', due),\n" +
    "  overdue,\n" +
    "  redis.call('HLEN', failures),\n" +
    "  overdue > 0 and math.max(0, now - tonumber(head)) or 0,\n" +
    "}\n",
} as const);
