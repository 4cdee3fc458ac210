// Made from the .lua files of this folder by `npm run scripts`. Edit those.
import { Script } from '@mortise/redis';

export const countDownLatchCount = new Script({
  name: "count-down-latch.count",
  isReadOnly: false,
  keys: ["latch","ids","news"],
  args: ["publish","count","ttlMs"],
  restArg: "downs",
  source: "#!lua\n" +
    "-- Counts down, in the order of the count-downs. The one that reaches 0 opens the latch and tells those who wait. An open\n" +
    "-- latch changes no more. If the latch began with another count, nothing is counted. O(count-downs).\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   latch        HASH epoch (µs when it began), count, remaining; ttlMs from the last call, or from its opening\n" +
    "--   ids          SET ids that have counted; until the latch opens, or ends. No more than `count`\n" +
    "--   news         channel of those who wait; not a key\n" +
    "-- ARGV\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "--   count        of the latch, if it begins here\n" +
    "--   ttlMs        ms\n" +
    "--   downs...     two for each count-down: id ('' for none), by\n" +
    "-- RETURNS\n" +
    "--   the count with which the latch began; then, if that is `count`, what remains after each count-down\n" +
    "local latch, ids, news = KEYS[1], KEYS[2], KEYS[3]\n" +
    "local publish, count, ttlMs = ARGV[1], tonumber(ARGV[2]), ARGV[3]\n" +
    "\n" +
    "local known = redis.call('HMGET', latch, 'epoch', 'count', 'remaining')\n" +
    "local epoch, remaining = known[1], tonumber(known[3] or count)\n" +
    "if epoch and tonumber(known[2]) ~= count then return {tonumber(known[2])} end\n" +
    "local wasOpen = remaining == 0\n" +
    "\n" +
    "if not epoch then\n" +
    "  local time = redis.call('TIME')\n" +
    "  epoch = string.format('%.0f', time[1] * 1000000 + time[2])\n" +
    "  redis.call('HSET', latch, 'epoch', epoch, 'count', count)\n" +
    "  -- Those of a latch that was evicted.\n" +
    "  redis.call('UNLINK', ids)\n" +
    "end\n" +
    "local replies = {count}\n" +
    "for i = 4, #ARGV, 2 do\n" +
    "  local id = ARGV[i]\n" +
    "  if remaining > 0 and (id == '' or redis.call('SADD', ids, id) == 1) then\n" +
    "    remaining = math.max(0, remaining - ARGV[i + 1])\n" +
    "  end\n" +
    "  replies[#replies + 1] = remaining\n" +
    "end\n" +
    "if not wasOpen then\n" +
    "  redis.call('HSET', latch, 'remaining', remaining)\n" +
    "  redis.call('PEXPIRE', latch, ttlMs)\n" +
    "  if remaining > 0 then\n" +
    "    redis.call('PEXPIRE', ids, ttlMs)\n" +
    "  else\n" +
    "    redis.call('UNLINK', ids)\n" +
    "    redis.call(publish, news, '*:' .. epoch)\n" +
    "  end\n" +
    "end\n" +
    "return replies\n",
} as const);

export const countDownLatchReset = new Script({
  name: "count-down-latch.reset",
  isReadOnly: false,
  keys: ["latch","ids","news"],
  args: ["publish"],
  source: "#!lua flags=allow-oom\n" +
    "-- Forgets a latch, and tells those who wait for it. O(1).\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   latch        HASH epoch, count, remaining\n" +
    "--   ids          SET ids that have counted\n" +
    "--   news         channel of those who wait; not a key\n" +
    "-- ARGV\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "-- RETURNS\n" +
    "--   1 if the latch had begun, else 0\n" +
    "local latch, ids, news = KEYS[1], KEYS[2], KEYS[3]\n" +
    "local publish = ARGV[1]\n" +
    "\n" +
    "local hadBegun = redis.call('UNLINK', latch)\n" +
    "redis.call('UNLINK', ids)\n" +
    "if hadBegun == 1 then redis.call(publish, news, '*:') end\n" +
    "return hadBegun\n",
} as const);

export const countDownLatchWatch = new Script({
  name: "count-down-latch.watch",
  isReadOnly: false,
  keys: ["latch","ids"],
  args: ["count","ttlMs","epoch"],
  source: "#!lua flags=allow-oom\n" +
    "-- Looks at a latch for those who wait for it, and keeps it from ending under them. The first look makes a latch begin, so\n" +
    "-- that a later one can tell whether counts were lost. O(1).\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   latch        HASH epoch (µs when it began), count, remaining; ttlMs from the last call, or from its opening\n" +
    "--   ids          SET ids that have counted; until the latch opens, or ends\n" +
    "-- ARGV\n" +
    "--   count        of the latch, if it begins here\n" +
    "--   ttlMs        ms\n" +
    "--   epoch        of the latch that is waited for; '' at the first look\n" +
    "-- RETURNS\n" +
    "--   its epoch, count and remaining; three nulls if the latch that is waited for is gone\n" +
    "local latch, ids = KEYS[1], KEYS[2]\n" +
    "local count, ttlMs, epoch = ARGV[1], ARGV[2], ARGV[3]\n" +
    "\n" +
    "local known = redis.call('HMGET', latch, 'epoch', 'count', 'remaining')\n" +
    "if not known[1] and epoch == '' then\n" +
    "  local time = redis.call('TIME')\n" +
    "  known = {string.format('%.0f', time[1] * 1000000 + time[2]), count, count}\n" +
    "  redis.call('HSET', latch, 'epoch', known[1], 'count', count, 'remaining', count)\n" +
    "  redis.call('UNLINK', ids)\n" +
    "end\n" +
    "if known[2] == count and known[3] ~= '0' and (epoch == '' or epoch == known[1]) then\n" +
    "  redis.call('PEXPIRE', latch, ttlMs)\n" +
    "  redis.call('PEXPIRE', ids, ttlMs)\n" +
    "end\n" +
    "return known\n",
} as const);

export const multiLockAcquire = new Script({
  name: "multi-lock.acquire",
  isReadOnly: false,
  keys: [],
  args: [],
  restKey: "locks",
  restArg: "requests",
  source: "#!lua\n" +
    "-- Takes the locks of each request, in their order, as far as they are free and nobody queues for them. At the first that\n" +
    "-- is not, a request that waits keeps those before it and joins the queue; one that does not wait takes nothing at all.\n" +
    "-- What the member has already is lengthened, so the same request goes on when its lock was granted, and may be repeated.\n" +
    "-- Fair requests leave a free lock to those who queue already: then remainingMs is -2, and the caller has to re-check.\n" +
    "-- O(locks · log waiters).\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   locks...     three for each lock of each request: STRING holder, until the lease ends; STRING last fencing token,\n" +
    "--                7 days; ZSET waiter -> its place, 60 s from the last arrival or re-check\n" +
    "-- ARGV\n" +
    "--   requests...  six for each: member, leaseMs (ms), mode, isFenced ('1' or '0'), how many locks, how many of the first\n" +
    "--                ones it has. Fair modes are 'wait' and 'try'; 'barge' and 'grab' do the same past those who queue\n" +
    "-- RETURNS\n" +
    "--   now (µs), then for each request: outcome, taken, place, remaining lease (ms, -2 if free), fencing tokens of all\n" +
    "--   that it has now (0 if they are not fenced). Outcomes:\n" +
    "--     1    it has all locks\n" +
    "--     2    it has so many of the first, and waits for the next; the place is max(now, last place + 1)\n" +
    "--     0    refused, by the lock after so many of the first\n" +
    "--     3    refused: it has lost a lock that it should have, the one after so many of the first\n" +
    "local QUEUE_MS = '60000'\n" +
    "\n" +
    "-- The next fencing token, as text: max(last + 1, now in µs). Not INCR: a token that follows the clock goes on rising when\n" +
    "-- its key was lost or a failover has lost the last grants, and so the key may expire, 7 days after it was made. SETRANGE\n" +
    "-- keeps that expiry for half the cost of a SET with one. All tokens have 16 digits until the year 2286, so they compare as\n" +
    "-- strings. Numbers are text wherever they can be: Redis spends as much on printing one as on a GET.\n" +
    "local nowText\n" +
    "local function clockText()\n" +
    "  if not nowText then\n" +
    "    local time = redis.call('TIME')\n" +
    "    nowText = time[1] .. string.sub('00000' .. time[2], -6)\n" +
    "  end\n" +
    "  return nowText\n" +
    "end\n" +
    "local function mint(token)\n" +
    "  local minted = clockText()\n" +
    "  local last = redis.call('GET', token)\n" +
    "  -- What isn't a token was put there by somebody else.\n" +
    "  if last and #last == 16 and (last < minted or tonumber(last)) then\n" +
    "    if last >= minted then minted = string.format('%.0f', last + 1) end\n" +
    "    redis.call('SETRANGE', token, '0', minted)\n" +
    "  else\n" +
    "    redis.call('SET', token, minted, 'PX', '604800000')\n" +
    "  end\n" +
    "  return minted\n" +
    "end\n" +
    "\n" +
    "local function join(queue, member)\n" +
    "  local lastPlace = redis.call('ZRANGE', queue, '-1', '-1', 'WITHSCORES')[2] or '0'\n" +
    "  local place = clockText()\n" +
    "  if tonumber(lastPlace) >= tonumber(place) then place = string.format('%.0f', lastPlace + 1) end\n" +
    "  if redis.call('ZADD', queue, 'NX', place, member) == 0 then place = redis.call('ZSCORE', queue, member) end\n" +
    "  redis.call('PEXPIRE', queue, QUEUE_MS)\n" +
    "  return place\n" +
    "end\n" +
    "\n" +
    "local replies = {clockText()}\n" +
    "local first = 1\n" +
    "for i = 1, #ARGV, 6 do\n" +
    "  local member, leaseMs, mode, isFenced = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3] == '1'\n" +
    "  local last, held = first + 3 * ARGV[i + 4] - 3, tonumber(ARGV[i + 5])\n" +
    "  local isFair, isPatient = mode == 'wait' or mode == 'try', mode == 'wait' or mode == 'barge'\n" +
    "  -- One command tells that all are free, which is the case to be quick in.\n" +
    "  local signs = {}\n" +
    "  for n = first, last, 3 do\n" +
    "    signs[#signs + 1] = KEYS[n]\n" +
    "    signs[#signs + 1] = KEYS[n + 2]\n" +
    "  end\n" +
    "  local isAllFree = held == 0 and redis.call('EXISTS', unpack(signs)) == 0\n" +
    "  local isOwn = {}\n" +
    "  local blocked = last + 3\n" +
    "  if not isAllFree then\n" +
    "    for n = first, last, 3 do\n" +
    "      local holder = redis.call('GET', KEYS[n])\n" +
    "      isOwn[n] = holder == member\n" +
    "      if not isOwn[n] and (holder or (isFair and redis.call('EXISTS', KEYS[n + 2]) == 1)) then\n" +
    "        blocked = n\n" +
    "        break\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "  local taken = (blocked - first) / 3\n" +
    "  local reply = {1, taken, 0, 0}\n" +
    "  if taken < held then\n" +
    "    reply[1] = 3\n" +
    "  elseif blocked <= last and not isPatient then\n" +
    "    reply[1], reply[4] = 0, redis.call('PTTL', KEYS[blocked])\n" +
    "  else\n" +
    "    for n = first, blocked - 3, 3 do\n" +
    "      if isOwn[n] then\n" +
    "        redis.call('PEXPIRE', KEYS[n], leaseMs, 'GT')\n" +
    "      else\n" +
    "        redis.call('SET', KEYS[n], member, 'PX', leaseMs)\n" +
    "        if not isAllFree then redis.call('ZREM', KEYS[n + 2], member) end\n" +
    "      end\n" +
    "      local value = 0\n" +
    "      if isFenced then\n" +
    "        value = isOwn[n] and redis.call('GET', KEYS[n + 1]) or mint(KEYS[n + 1])\n" +
    "      end\n" +
    "      reply[#reply + 1] = value\n" +
    "    end\n" +
    "    if blocked <= last then\n" +
    "      reply[1], reply[3], reply[4] = 2, join(KEYS[blocked + 2], member), redis.call('PTTL', KEYS[blocked])\n" +
    "    end\n" +
    "  end\n" +
    "  replies[#replies + 1] = reply\n" +
    "  first = last + 3\n" +
    "end\n" +
    "return replies\n",
} as const);

export const mutexAcquire = new Script({
  name: "mutex.acquire",
  isReadOnly: false,
  keys: [],
  args: [],
  restKey: "locks",
  restArg: "requests",
  source: "#!lua\n" +
    "-- Gives each free lock to the first request that may have it; the others join the queue in their order, or are\n" +
    "-- refused. A fair request leaves a free lock to those who queue already: then remainingMs is -2, and the caller\n" +
    "-- has to re-check. Repeating a request is safe: the holder gets a token again, a waiter keeps its place.\n" +
    "-- O(requests · log waiters).\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   locks...     three for each lock: STRING holder, until the lease ends; STRING last fencing token, 7 days;\n" +
    "--                ZSET waiter -> its place, 60 s from the last arrival or re-check\n" +
    "-- ARGV\n" +
    "--   requests...  for each lock: how many requests, then three for each of them: member, leaseMs (ms), mode. Fair modes\n" +
    "--                are 'W' (waits) and 'T' (tries); 'B' and 'G' do the same past those who queue. In small letters:\n" +
    "--                without a fencing token\n" +
    "-- RETURNS\n" +
    "--   now (µs; 0 if no request needed it), then three for each request:\n" +
    "--     1, fencing token, 0            it holds the lock; the token is 0 if none was wanted\n" +
    "--     2, place, remaining lease      it waits; the place is max(now, last place + 1)\n" +
    "--     0, 0, remaining lease          refused; ms, -2 if the lock is free\n" +
    "--   or, when the only request holds the lock, nothing but the fencing token\n" +
    "local QUEUE_MS = '60000'\n" +
    "\n" +
    "-- The next fencing token, as text: max(last + 1, now in µs). Not INCR: a token that follows the clock goes on rising when\n" +
    "-- its key was lost or a failover has lost the last grants, and so the key may expire, 7 days after it was made. SETRANGE\n" +
    "-- keeps that expiry for half the cost of a SET with one. All tokens have 16 digits until the year 2286, so they compare as\n" +
    "-- strings. Numbers are text wherever they can be: Redis spends as much on printing one as on a GET.\n" +
    "local nowText\n" +
    "local function clockText()\n" +
    "  if not nowText then\n" +
    "    local time = redis.call('TIME')\n" +
    "    nowText = time[1] .. string.sub('00000' .. time[2], -6)\n" +
    "  end\n" +
    "  return nowText\n" +
    "end\n" +
    "local function mint(token)\n" +
    "  local minted = clockText()\n" +
    "  local last = redis.call('GET', token)\n" +
    "  -- What isn't a token was put there by somebody else.\n" +
    "  if last and #last == 16 and (last < minted or tonumber(last)) then\n" +
    "    if last >= minted then minted = string.format('%.0f', last + 1) end\n" +
    "    redis.call('SETRANGE', token, '0', minted)\n" +
    "  else\n" +
    "    redis.call('SET', token, minted, 'PX', '604800000')\n" +
    "  end\n" +
    "  return minted\n" +
    "end\n" +
    "\n" +
    "local replies\n" +
    "local size, at = 1, 1\n" +
    "for n = 1, #KEYS, 3 do\n" +
    "  local lease, token, queue = KEYS[n], KEYS[n + 1], KEYS[n + 2]\n" +
    "  local isQueued = redis.call('EXISTS', queue) == 1\n" +
    "  local last = at + 3 * ARGV[at]\n" +
    "  local hasArrivals, lastPlace, ttl\n" +
    "  for i = at + 1, last, 3 do\n" +
    "    local member, mode = ARGV[i], ARGV[i + 2]\n" +
    "    local isBarging = mode == 'B' or mode == 'G' or mode == 'b' or mode == 'g'\n" +
    "    local isTaken = (isBarging or not isQueued)\n" +
    "      and redis.call('SET', lease, member, 'NX', 'PX', ARGV[i + 1])\n" +
    "    local outcome, value, remaining = 0, 0, 0\n" +
    "    if isTaken or redis.call('GET', lease) == member then\n" +
    "      outcome, ttl = 1, nil\n" +
    "      if mode == 'W' or mode == 'T' or mode == 'B' or mode == 'G' then value = mint(token) end\n" +
    "      if not isTaken then redis.call('PEXPIRE', lease, ARGV[i + 1], 'GT') end\n" +
    "      if isQueued then redis.call('ZREM', queue, member) end\n" +
    "      -- The usual case. Redis spends more on a table than on two commands.\n" +
    "      if #ARGV == 4 then return value end\n" +
    "    else\n" +
    "      if mode == 'W' or mode == 'B' or mode == 'w' or mode == 'b' then\n" +
    "        lastPlace = lastPlace or redis.call('ZRANGE', queue, '-1', '-1', 'WITHSCORES')[2] or '0'\n" +
    "        outcome, value = 2, clockText()\n" +
    "        if tonumber(lastPlace) >= tonumber(value) then value = string.format('%.0f', lastPlace + 1) end\n" +
    "        if redis.call('ZADD', queue, 'NX', value, member) == 1 then\n" +
    "          lastPlace = value\n" +
    "        else\n" +
    "          value = redis.call('ZSCORE', queue, member)\n" +
    "        end\n" +
    "        isQueued, hasArrivals = true, true\n" +
    "      end\n" +
    "      ttl = ttl or redis.call('PTTL', lease)\n" +
    "      remaining = ttl\n" +
    "    end\n" +
    "    replies = replies or {0, 0, 0, 0}\n" +
    "    replies[size + 1], replies[size + 2], replies[size + 3] = outcome, value, remaining\n" +
    "    size = size + 3\n" +
    "  end\n" +
    "  if hasArrivals then redis.call('PEXPIRE', queue, QUEUE_MS) end\n" +
    "  at = last + 1\n" +
    "end\n" +
    "replies[1] = nowText or 0\n" +
    "return replies\n",
} as const);

export const mutexInspect = new Script({
  name: "mutex.inspect",
  isReadOnly: true,
  keys: ["lease","token","queue"],
  args: ["waiter"],
  source: "#!lua flags=no-writes\n" +
    "-- The state of a lock. O(log waiters).\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   lease        STRING holder, or 'lost'\n" +
    "--   token        STRING last fencing token\n" +
    "--   queue        ZSET waiter -> its place\n" +
    "-- ARGV\n" +
    "--   waiter       whose rank is wanted; may be empty\n" +
    "-- RETURNS\n" +
    "--   the holder or nil, the last fencing token or 0, remaining lease (ms, -2 if the lock is free), waiters,\n" +
    "--   the waiter's rank from 0 or nil\n" +
    "local lease, token, queue = KEYS[1], KEYS[2], KEYS[3]\n" +
    "local waiter = ARGV[1]\n" +
    "local holder = redis.call('GET', lease)\n" +
    "return {\n" +
    "  holder ~= 'lost' and holder,\n" +
    "  tonumber(redis.call('GET', token) or 0) or 0,\n" +
    "  redis.call('PTTL', lease),\n" +
    "  redis.call('ZCARD', queue),\n" +
    "  redis.call('ZRANK', queue, waiter),\n" +
    "}\n",
} as const);

export const mutexRecheck = new Script({
  name: "mutex.recheck",
  isReadOnly: false,
  keys: ["lease","token","queue"],
  args: ["publish","quarantineMs"],
  restArg: "waiters",
  source: "#!lua flags=allow-oom\n" +
    "-- Repairs what a lost message, a lost queue or a dead holder left behind: waiters that are missing from the queue get\n" +
    "-- their old places back, a waiter that was granted the lock and doesn't know it has its claim lengthened and is told,\n" +
    "-- and a lock without a holder goes to the first waiter. When all keys of the lock were lost, its holder may still rely on\n" +
    "-- it: then it is kept for that one until it renews or releases, or until its lease must be over.\n" +
    "-- Repeating a call is safe. O((waiters + dead) · log queue).\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   lease        STRING holder, or 'lost'; until the lease ends\n" +
    "--   token        STRING last fencing token; 7 days from the last grant\n" +
    "--   queue        ZSET waiter -> its place; 60 s from the last arrival or re-check\n" +
    "-- ARGV\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "--   quarantineMs  how long a lost holder may still be there (ms; 0 if nobody can tell that one was lost)\n" +
    "--   waiters...   two for each: place, member\n" +
    "-- RETURNS\n" +
    "--   now (µs), remaining lease (ms, -2 if the lock is free), how many waiters were missing,\n" +
    "--   the number of the waiter that holds the lock (from 1; 0 if none does), its fencing token or 0\n" +
    "local lease, token, queue = KEYS[1], KEYS[2], KEYS[3]\n" +
    "local publish, quarantineMs = ARGV[1], ARGV[2]\n" +
    "local QUEUE_MS = '60000'\n" +
    "\n" +
    "-- The next fencing token, as text: max(last + 1, now in µs). Not INCR: a token that follows the clock goes on rising when\n" +
    "-- its key was lost or a failover has lost the last grants, and so the key may expire, 7 days after it was made. SETRANGE\n" +
    "-- keeps that expiry for half the cost of a SET with one. All tokens have 16 digits until the year 2286, so they compare as\n" +
    "-- strings. Numbers are text wherever they can be: Redis spends as much on printing one as on a GET.\n" +
    "local nowText\n" +
    "local function clockText()\n" +
    "  if not nowText then\n" +
    "    local time = redis.call('TIME')\n" +
    "    nowText = time[1] .. string.sub('00000' .. time[2], -6)\n" +
    "  end\n" +
    "  return nowText\n" +
    "end\n" +
    "local function mint(token)\n" +
    "  local minted = clockText()\n" +
    "  local last = redis.call('GET', token)\n" +
    "  -- What isn't a token was put there by somebody else.\n" +
    "  if last and #last == 16 and (last < minted or tonumber(last)) then\n" +
    "    if last >= minted then minted = string.format('%.0f', last + 1) end\n" +
    "    redis.call('SETRANGE', token, '0', minted)\n" +
    "  else\n" +
    "    redis.call('SET', token, minted, 'PX', '604800000')\n" +
    "  end\n" +
    "  return minted\n" +
    "end\n" +
    "\n" +
    "-- Whether a contender listens to its channel here. Asked before a grant is published: what is published to somebody who\n" +
    "-- listens to a replica, or still to a former master, arrives there but isn't counted. The count of PUBLISH would then say\n" +
    "-- that nobody has it, the next one would be granted the same, and both would believe it. Expects publish.\n" +
    "local function isHeard(channel)\n" +
    "  return redis.call('PUBSUB', publish == 'SPUBLISH' and 'SHARDNUMSUB' or 'NUMSUB', channel)[2] > 0\n" +
    "end\n" +
    "\n" +
    "-- Gives a lock to the first waiter that is alive, or frees it. Expects publish, isHeard, clockText and mint. The message is\n" +
    "-- `<turn>:<token>:<now µs>:<claim ms>`; for a waiter that is only woken, without token.\n" +
    "local function handOn(lease, token, queue, isFair)\n" +
    "  -- What one call may drop of waiters whose process is gone; the next re-check goes on.\n" +
    "  local MAX_DEAD = 100\n" +
    "  local channels = string.sub(lease, 1, -6) .. 'grant:'\n" +
    "  if not isFair then redis.call('DEL', lease) end\n" +
    "  for _ = 1, MAX_DEAD do\n" +
    "    local head = redis.call('ZRANGE', queue, '0', '0')[1]\n" +
    "    if not head then break end\n" +
    "    local contender, turn, claimMs = string.match(head, '^([^.]+)%.([^.]+)%.([1-9]%d*)$')\n" +
    "    local isAlive = contender and isHeard(channels .. contender)\n" +
    "    if isAlive then\n" +
    "      local minted = isFair and mint(token) or ''\n" +
    "      redis.call(publish, channels .. contender, turn .. ':' .. minted .. ':' .. clockText() .. ':' .. claimMs)\n" +
    "      if not isFair then return end\n" +
    "      redis.call('SET', lease, head, 'PX', claimMs)\n" +
    "      redis.call('ZREM', queue, head)\n" +
    "      return\n" +
    "    end\n" +
    "    redis.call('ZREM', queue, head)\n" +
    "  end\n" +
    "  redis.call('DEL', lease)\n" +
    "end\n" +
    "\n" +
    "local holder = redis.call('GET', lease)\n" +
    "local missing, granted, grantedToken = 0, 0, 0\n" +
    "for i = 3, #ARGV, 2 do\n" +
    "  local place, member = ARGV[i], ARGV[i + 1]\n" +
    "  if member == holder then\n" +
    "    granted = (i - 1) / 2\n" +
    "    redis.call('PEXPIRE', lease, string.match(member, '%d+$'), 'GT')\n" +
    "    grantedToken = redis.call('GET', token) or mint(token)\n" +
    "  else\n" +
    "    missing = missing + redis.call('ZADD', queue, 'NX', place, member)\n" +
    "  end\n" +
    "end\n" +
    "if #ARGV > 2 then redis.call('PEXPIRE', queue, QUEUE_MS) end\n" +
    "if not holder then\n" +
    "  -- Whoever was granted the lock with a token left that token behind, unless all keys were lost.\n" +
    "  if missing > 0 and quarantineMs ~= '0' and redis.call('EXISTS', token) == 0 then\n" +
    "    redis.call('SET', lease, 'lost', 'PX', quarantineMs)\n" +
    "  elseif redis.call('EXISTS', queue) == 1 then\n" +
    "    handOn(lease, token, queue, true)\n" +
    "  end\n" +
    "end\n" +
    "return {clockText(), redis.call('PTTL', lease), missing, granted, grantedToken}\n",
} as const);

export const mutexRelease = new Script({
  name: "mutex.release",
  isReadOnly: false,
  keys: [],
  args: ["publish"],
  restKey: "locks",
  restArg: "leavers",
  source: "#!lua flags=allow-oom\n" +
    "-- Takes out those who leave: a waiter leaves the queue, the holder hands the lock on. A holder that is fair makes the\n" +
    "-- first waiter the holder, here and now: the message is the grant. One that is not frees the lock and only wakes the\n" +
    "-- first waiter, so that whoever comes first takes it. When the lock's keys were lost, whoever says so is the holder.\n" +
    "-- Repeating a call is safe. O((leavers + dead) · log waiters).\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   locks...     three for each leaver: STRING holder, or 'lost', until the lease ends; STRING last fencing token, 7 days;\n" +
    "--                ZSET waiter -> its place, 60 s from the last arrival or re-check\n" +
    "-- ARGV\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "--   leavers...   two for each: member ('*': whoever holds the lock); its fencing token (0: none), with a '-' before it\n" +
    "--                if the leaver is not fair\n" +
    "-- RETURNS\n" +
    "--   for each leaver: 1 if it held the lock, else 0, or an error of its own; of a single one that held it, not in a list\n" +
    "local publish = ARGV[1]\n" +
    "local replies, left\n" +
    "for i = 1, #KEYS / 3 do\n" +
    "  local lease, token, queue = KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i]\n" +
    "  local member, how = ARGV[2 * i], ARGV[2 * i + 1]\n" +
    "  local isHolder, waiters, reply = false, nil, 0\n" +
    "  if not (left and left[lease]) then\n" +
    "    local holder = redis.pcall('GET', lease)\n" +
    "    waiters = redis.pcall('ZCARD', queue)\n" +
    "    isHolder = holder == member or (holder and member == '*')\n" +
    "    if type(holder) == 'table' or type(waiters) == 'table' then\n" +
    "      -- Somebody else has put something of another type there: the other leavers must not hear of it.\n" +
    "      isHolder, reply = false, type(holder) == 'table' and holder or waiters\n" +
    "    elseif not isHolder and (not holder or holder == 'lost') and how ~= '0' and how ~= '-0' then\n" +
    "-- Whether a fencing token that a holder tells can be one that it was given: 16 digits, and no more than a day ahead of the\n" +
    "-- clock, which may have been set back. It becomes the floor of all further tokens, so with another one they would be too\n" +
    "-- low, or come to an end.\n" +
    "local function isPlausible(fencingToken)\n" +
    "  if #fencingToken ~= 16 or string.find(fencingToken, '%D') then return false end\n" +
    "  local time = redis.call('TIME')\n" +
    "  return fencingToken - time[1] * 1000000 <= 86400000000\n" +
    "end\n" +
    "      local fencingToken = string.gsub(how, '^-', '')\n" +
    "      isHolder = redis.call('EXISTS', token) == 0 and isPlausible(fencingToken)\n" +
    "      -- What is granted from here on has a greater token.\n" +
    "      if isHolder then redis.call('SET', token, fencingToken, 'PX', '604800000') end\n" +
    "    end\n" +
    "  end\n" +
    "  if not isHolder then\n" +
    "    if reply == 0 then redis.call('ZREM', queue, member) end\n" +
    "  elseif member ~= '*' and waiters == 0 then\n" +
    "    redis.call('DEL', lease)\n" +
    "    -- The usual case. Redis spends as much on a table as on a command.\n" +
    "    if #KEYS == 3 then return 1 end\n" +
    "    reply = 1\n" +
    "  else\n" +
    "    left = left or {}\n" +
    "    left[lease] = {token, queue, string.byte(how) ~= 45, member == '*', i}\n" +
    "    reply = 1\n" +
    "  end\n" +
    "  replies = replies or {}\n" +
    "  replies[i] = reply\n" +
    "end\n" +
    "-- Most releases end here. The functions below would cost them a sixth more.\n" +
    "if not left then return replies end\n" +
    "\n" +
    "-- The next fencing token, as text: max(last + 1, now in µs). Not INCR: a token that follows the clock goes on rising when\n" +
    "-- its key was lost or a failover has lost the last grants, and so the key may expire, 7 days after it was made. SETRANGE\n" +
    "-- keeps that expiry for half the cost of a SET with one. All tokens have 16 digits until the year 2286, so they compare as\n" +
    "-- strings. Numbers are text wherever they can be: Redis spends as much on printing one as on a GET.\n" +
    "local nowText\n" +
    "local function clockText()\n" +
    "  if not nowText then\n" +
    "    local time = redis.call('TIME')\n" +
    "    nowText = time[1] .. string.sub('00000' .. time[2], -6)\n" +
    "  end\n" +
    "  return nowText\n" +
    "end\n" +
    "local function mint(token)\n" +
    "  local minted = clockText()\n" +
    "  local last = redis.call('GET', token)\n" +
    "  -- What isn't a token was put there by somebody else.\n" +
    "  if last and #last == 16 and (last < minted or tonumber(last)) then\n" +
    "    if last >= minted then minted = string.format('%.0f', last + 1) end\n" +
    "    redis.call('SETRANGE', token, '0', minted)\n" +
    "  else\n" +
    "    redis.call('SET', token, minted, 'PX', '604800000')\n" +
    "  end\n" +
    "  return minted\n" +
    "end\n" +
    "\n" +
    "-- Whether a contender listens to its channel here. Asked before a grant is published: what is published to somebody who\n" +
    "-- listens to a replica, or still to a former master, arrives there but isn't counted. The count of PUBLISH would then say\n" +
    "-- that nobody has it, the next one would be granted the same, and both would believe it. Expects publish.\n" +
    "local function isHeard(channel)\n" +
    "  return redis.call('PUBSUB', publish == 'SPUBLISH' and 'SHARDNUMSUB' or 'NUMSUB', channel)[2] > 0\n" +
    "end\n" +
    "\n" +
    "-- Gives a lock to the first waiter that is alive, or frees it. Expects publish, isHeard, clockText and mint. The message is\n" +
    "-- `<turn>:<token>:<now µs>:<claim ms>`; for a waiter that is only woken, without token.\n" +
    "local function handOn(lease, token, queue, isFair)\n" +
    "  -- What one call may drop of waiters whose process is gone; the next re-check goes on.\n" +
    "  local MAX_DEAD = 100\n" +
    "  local channels = string.sub(lease, 1, -6) .. 'grant:'\n" +
    "  if not isFair then redis.call('DEL', lease) end\n" +
    "  for _ = 1, MAX_DEAD do\n" +
    "    local head = redis.call('ZRANGE', queue, '0', '0')[1]\n" +
    "    if not head then break end\n" +
    "    local contender, turn, claimMs = string.match(head, '^([^.]+)%.([^.]+)%.([1-9]%d*)$')\n" +
    "    local isAlive = contender and isHeard(channels .. contender)\n" +
    "    if isAlive then\n" +
    "      local minted = isFair and mint(token) or ''\n" +
    "      redis.call(publish, channels .. contender, turn .. ':' .. minted .. ':' .. clockText() .. ':' .. claimMs)\n" +
    "      if not isFair then return end\n" +
    "      redis.call('SET', lease, head, 'PX', claimMs)\n" +
    "      redis.call('ZREM', queue, head)\n" +
    "      return\n" +
    "    end\n" +
    "    redis.call('ZREM', queue, head)\n" +
    "  end\n" +
    "  redis.call('DEL', lease)\n" +
    "end\n" +
    "\n" +
    "for lease, rest in pairs(left) do\n" +
    "  local isDone, problem = pcall(function()\n" +
    "    local token, queue, isFair, isForced = rest[1], rest[2], rest[3], rest[4]\n" +
    "    -- The holder believes that it has the lock, and gets it back where no token stands for those who came later.\n" +
    "    if isForced and redis.call('EXISTS', token) == 0 then mint(token) end\n" +
    "    handOn(lease, token, queue, isFair)\n" +
    "  end)\n" +
    "  if not isDone then\n" +
    "    replies[rest[5]] = type(problem) == 'table' and problem or {err = problem}\n" +
    "  end\n" +
    "end\n" +
    "return replies\n",
} as const);

export const mutexRenew = new Script({
  name: "mutex.renew",
  isReadOnly: false,
  keys: [],
  args: [],
  restKey: "leases",
  restArg: "terms",
  source: "#!lua flags=allow-oom\n" +
    "-- Lengthens the leases of holders that still hold their locks; it never shortens one, so a repeated or overtaken call\n" +
    "-- does no harm. When all keys of a lock were lost (FLUSHALL, a failover), a holder with a token gets it back.\n" +
    "-- O(leases).\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   leases...    two for each lock: STRING holder or 'lost', until the lease ends; STRING last fencing token, 7 days\n" +
    "-- ARGV\n" +
    "--   terms...     three for each lock: member, leaseMs (ms from now), its fencing token (0: none)\n" +
    "-- RETURNS\n" +
    "--   for each lock: 1 if the member holds it, else 0\n" +
    "local TOKEN_MS = '604800000'\n" +
    "\n" +
    "-- Whether a fencing token that a holder tells can be one that it was given: 16 digits, and no more than a day ahead of the\n" +
    "-- clock, which may have been set back. It becomes the floor of all further tokens, so with another one they would be too\n" +
    "-- low, or come to an end.\n" +
    "local function isPlausible(fencingToken)\n" +
    "  if #fencingToken ~= 16 or string.find(fencingToken, '%D') then return false end\n" +
    "  local time = redis.call('TIME')\n" +
    "  return fencingToken - time[1] * 1000000 <= 86400000000\n" +
    "end\n" +
    "\n" +
    "local replies = {}\n" +
    "for i = 1, #KEYS / 2 do\n" +
    "  local lease, token = KEYS[2 * i - 1], KEYS[2 * i]\n" +
    "  local member, leaseMs, fencingToken = ARGV[3 * i - 2], ARGV[3 * i - 1], ARGV[3 * i]\n" +
    "  local holder = redis.call('GET', lease)\n" +
    "  local isHolder = holder == member\n" +
    "  if isHolder then\n" +
    "    redis.call('PEXPIRE', lease, leaseMs, 'GT')\n" +
    "  elseif (not holder or holder == 'lost') and redis.call('EXISTS', token) == 0 and isPlausible(fencingToken) then\n" +
    "    isHolder = true\n" +
    "    redis.call('SET', lease, member, 'PX', leaseMs)\n" +
    "    redis.call('SET', token, fencingToken, 'PX', TOKEN_MS)\n" +
    "  end\n" +
    "  replies[i] = isHolder and 1 or 0\n" +
    "end\n" +
    "return replies\n",
} as const);

export const quorumMutexInspect = new Script({
  name: "quorum-mutex.inspect",
  isReadOnly: true,
  keys: ["vote"],
  args: [],
  source: "#!lua flags=no-writes\n" +
    "-- Who has the vote of this node. O(1).\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   vote         STRING member; until its lease ends\n" +
    "-- RETURNS\n" +
    "--   the member or nil, its remaining lease (ms, -2 if the vote is free)\n" +
    "local vote = KEYS[1]\n" +
    "return {redis.call('GET', vote), redis.call('PTTL', vote)}\n",
} as const);

export const quorumMutexVote = new Script({
  name: "quorum-mutex.vote",
  isReadOnly: false,
  keys: [],
  args: [],
  restKey: "votes",
  restArg: "terms",
  source: "#!lua\n" +
    "-- Gives votes of this node to members that want them, or lengthens those that they have. Repeating a call is safe. O(votes).\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   votes...     STRING member, one for each lock; until its lease ends\n" +
    "-- ARGV\n" +
    "--   terms...     three for each vote: member, leaseMs (ms from now), isNew ('1': a free vote is taken; '0': it is not)\n" +
    "-- RETURNS\n" +
    "--   for each vote: 1 if it is the member's now else 0, its remaining lease (ms, -2 if it is free), who has it or ''\n" +
    "local replies = {}\n" +
    "for i = 1, #KEYS do\n" +
    "  local vote, member, leaseMs = KEYS[i], ARGV[3 * i - 2], ARGV[3 * i - 1]\n" +
    "  local holder\n" +
    "  if ARGV[3 * i] == '1' then\n" +
    "    holder = redis.call('SET', vote, member, 'NX', 'GET', 'PX', leaseMs) or member\n" +
    "  else\n" +
    "    holder = redis.call('GET', vote) or ''\n" +
    "  end\n" +
    "  if holder == member then redis.call('PEXPIRE', vote, leaseMs, 'GT') end\n" +
    "  replies[i] = {holder == member and 1 or 0, redis.call('PTTL', vote), holder}\n" +
    "end\n" +
    "return replies\n",
} as const);

export const quorumMutexWithdraw = new Script({
  name: "quorum-mutex.withdraw",
  isReadOnly: false,
  keys: [],
  args: ["publish"],
  restKey: "votes",
  restArg: "leavers",
  source: "#!lua flags=allow-oom\n" +
    "-- Takes votes back from members that have them, and tells those who wait. Repeating a call is safe. O(votes + waiting processes).\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   votes...     STRING member, one for each lock; until its lease ends\n" +
    "-- ARGV\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "--   leavers...   two for each vote: member ('*': whoever has it), isNews ('0' after an attempt that failed: whoever else\n" +
    "--                failed tries again by itself, and waking all of them would never end)\n" +
    "-- RETURNS\n" +
    "--   for each vote: 1 if the member had it, else 0\n" +
    "local publish = ARGV[1]\n" +
    "local replies = {}\n" +
    "for i = 1, #KEYS do\n" +
    "  local vote, member = KEYS[i], ARGV[2 * i]\n" +
    "  local holder = redis.call('GET', vote)\n" +
    "  local isHolder = holder and (holder == member or member == '*')\n" +
    "  if isHolder then\n" +
    "    redis.call('DEL', vote)\n" +
    "    if ARGV[2 * i + 1] == '1' then redis.call(publish, string.gsub(vote, 'vote$', 'vote-news'), '*:') end\n" +
    "  end\n" +
    "  replies[i] = isHolder and 1 or 0\n" +
    "end\n" +
    "return replies\n",
} as const);

export const rateLimiterTake = new Script({
  name: "rate-limiter.take",
  isReadOnly: false,
  keys: [],
  args: [],
  restKey: "limiters",
  restArg: "operands",
  source: "#!lua\n" +
    "-- The generic cell rate algorithm. A limiter that gives `limit` permits in a period gives one in each interval of\n" +
    "-- period / limit. It keeps one instant, its debt's end: each permit moves that one interval on, and a take is refused\n" +
    "-- if it would move it beyond `burst` intervals from now. An instant that is over counts as now: permits that nobody\n" +
    "-- takes are not saved up beyond the burst. Takes are carried out in their order; a refused one changes nothing.\n" +
    "--\n" +
    "-- No rounding: an instant is whole µs and a rest in parts of 1/limit µs, both far below 2^53.\n" +
    "--\n" +
    "-- No take leaves an instant beyond `burst` intervals from now. Where one is found, the clock went back, or the burst\n" +
    "-- was larger. It is cut and kept: cut only in the reply, it would stay out of reach until the clock is where it was.\n" +
    "--\n" +
    "-- O(limiters + takes).\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   limiters...  STRING the instant: '<µs>', or '<µs>:<parts>' with a rest; until that instant. One key may stand twice\n" +
    "-- ARGV\n" +
    "--   operands...  three for each limiter: periodUs (µs), limit, burst; then two for each take: the number of its limiter\n" +
    "--                (from 1), cost (0 looks, -1 gives the whole burst back)\n" +
    "-- RETURNS\n" +
    "--   four integers for each take: 1 if it is allowed, else 0; permits that remain; µs until it would be allowed; µs until\n" +
    "--   the whole burst remains\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000000 + time[2]\n" +
    "\n" +
    "-- The instant (us, parts) moved on by so many intervals.\n" +
    "local function later(limiter, us, parts, permits)\n" +
    "  parts = parts + permits * limiter.parts\n" +
    "  local carry = math.floor(parts / limiter.limit)\n" +
    "  return us + permits * limiter.us + carry, parts - carry * limiter.limit\n" +
    "end\n" +
    "\n" +
    "local states = {}\n" +
    "local limiters = {}\n" +
    "local operand = 1\n" +
    "for i = 1, #KEYS do\n" +
    "  local key = KEYS[i]\n" +
    "  local state = states[key]\n" +
    "  if not state then\n" +
    "    local us, parts = string.match(redis.call('GET', key) or '', '^(%d+):?(%d*)$')\n" +
    "    state = {us = tonumber(us or 0), parts = tonumber(parts) or 0}\n" +
    "    states[key] = state\n" +
    "  end\n" +
    "  local periodUs, limit, burst = tonumber(ARGV[operand]), tonumber(ARGV[operand + 1]), tonumber(ARGV[operand + 2])\n" +
    "  local us = math.floor(periodUs / limit)\n" +
    "  local limiter = {state = state, limit = limit, us = us, parts = periodUs - us * limit}\n" +
    "  limiter.endUs, limiter.endParts = later(limiter, now, 0, burst)\n" +
    "  -- A rest that another limit has left is less than 1 µs.\n" +
    "  if state.parts >= limit then state.us, state.parts = state.us + 1, 0 end\n" +
    "  limiters[i] = limiter\n" +
    "  operand = operand + 3\n" +
    "end\n" +
    "\n" +
    "local function isWithin(limiter, us, parts)\n" +
    "  return us < limiter.endUs or us == limiter.endUs and parts <= limiter.endParts\n" +
    "end\n" +
    "\n" +
    "local replies = {}\n" +
    "local count = 0\n" +
    "for i = operand, #ARGV, 2 do\n" +
    "  local limiter, cost = limiters[tonumber(ARGV[i])], tonumber(ARGV[i + 1])\n" +
    "  local state, limit = limiter.state, limiter.limit\n" +
    "  local us, parts = state.us, state.parts\n" +
    "  local isAllowed, waitUs = 1, 0\n" +
    "  if us < now then\n" +
    "    us, parts = now, 0\n" +
    "  elseif not isWithin(limiter, us, parts) then\n" +
    "    us, parts = limiter.endUs, limiter.endParts\n" +
    "    state.isChanged = true\n" +
    "  end\n" +
    "  if cost < 0 then\n" +
    "    us, parts = now, 0\n" +
    "    state.isChanged = true\n" +
    "  elseif cost > 0 then\n" +
    "    local nextUs, nextParts = later(limiter, us, parts, cost)\n" +
    "    if isWithin(limiter, nextUs, nextParts) then\n" +
    "      us, parts = nextUs, nextParts\n" +
    "      state.isChanged = true\n" +
    "    else\n" +
    "      isAllowed = 0\n" +
    "      waitUs = nextUs - limiter.endUs + (nextParts > limiter.endParts and 1 or 0)\n" +
    "    end\n" +
    "  end\n" +
    "  state.us, state.parts = us, parts\n" +
    "  -- The quotient may be off by its last bits: rounded, it is the number looked for or that plus one.\n" +
    "  local leftUs = limiter.endUs - us + (limiter.endParts - parts) / limit\n" +
    "  local remaining = math.floor(leftUs / (limiter.us + limiter.parts / limit) + 0.5)\n" +
    "  if not isWithin(limiter, later(limiter, us, parts, remaining)) then remaining = remaining - 1 end\n" +
    "  replies[count + 1] = isAllowed\n" +
    "  replies[count + 2] = remaining\n" +
    "  replies[count + 3] = waitUs\n" +
    "  replies[count + 4] = us - now + (parts > 0 and 1 or 0)\n" +
    "  count = count + 4\n" +
    "end\n" +
    "\n" +
    "for i = 1, #KEYS do\n" +
    "  local key = KEYS[i]\n" +
    "  local state = states[key]\n" +
    "  if state.isChanged then\n" +
    "    state.isChanged = false\n" +
    "    if state.us <= now and state.parts == 0 then\n" +
    "      redis.call('DEL', key)\n" +
    "    else\n" +
    "      local instant = string.format('%.0f', state.us)\n" +
    "      if state.parts > 0 then instant = instant .. string.format(':%.0f', state.parts) end\n" +
    "      -- In the first ms that is all behind the instant.\n" +
    "      redis.call('SET', key, instant, 'PXAT', string.format('%.0f', math.floor(state.us / 1000) + 1))\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "return replies\n",
} as const);

export const readWriteLockAcquire = new Script({
  name: "read-write-lock.acquire",
  isReadOnly: false,
  keys: ["write","readers","token","queue"],
  args: [],
  restArg: "requests",
  source: "#!lua\n" +
    "-- Lets a reader in when no writer holds the lock and nobody waits, and a writer when nobody at all holds it or waits;\n" +
    "-- the others join the one queue in their order, or are refused. Repeating a request is safe: who holds the lock gets\n" +
    "-- a token again, a waiter keeps its place. O(requests · log (readers + waiters) + readers that expired).\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   write        STRING the writer, or 'lost'; until the lease ends\n" +
    "--   readers      ZSET reader -> end of its lease (µs); until the last lease ends\n" +
    "--   token        STRING last fencing token; 7 days from the last grant\n" +
    "--   queue        ZSET waiter -> its place; 60 s from the last arrival or re-check\n" +
    "-- ARGV\n" +
    "--   requests...  three for each: member, leaseMs (ms), mode ('wait' or 'try')\n" +
    "-- RETURNS\n" +
    "--   now (µs), the time until a lease ends that is in the way (ms, -2 if none is), then two for each request:\n" +
    "--     1, fencing token    it holds the lock\n" +
    "--     2, place            it waits; the place is max(now, last place + 1)\n" +
    "--     0, 0                refused\n" +
    "local write, readers, token, queue = KEYS[1], KEYS[2], KEYS[3], KEYS[4]\n" +
    "local TOKEN_MS, QUEUE_MS = '604800000', '60000'\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000000 + time[2]\n" +
    "local writer, isQueued = false, false\n" +
    "if redis.call('EXISTS', write, queue) > 0 then\n" +
    "  writer = redis.call('GET', write)\n" +
    "  isQueued = redis.call('EXISTS', queue) == 1\n" +
    "end\n" +
    "local hasMinted, isAhead, hasReaders\n" +
    "local hasArrivals, isRefused, lastPlace, longestMs = false, false, nil, 0\n" +
    "\n" +
    "local function areReadersIn()\n" +
    "  if hasReaders == nil then\n" +
    "    hasReaders = redis.call('EXISTS', readers) == 1\n" +
    "    if hasReaders then\n" +
    "      redis.call('ZREMRANGEBYSCORE', readers, '-inf', now)\n" +
    "      hasReaders = redis.call('EXISTS', readers) == 1\n" +
    "    end\n" +
    "  end\n" +
    "  return hasReaders\n" +
    "end\n" +
    "\n" +
    "-- A token that follows the clock goes on rising when its key was lost. `now` never falls behind it, so a lease does\n" +
    "-- not end early when the clock is set back and forth.\n" +
    "local function mint()\n" +
    "  if hasMinted then\n" +
    "    now, isAhead = now + 1, true\n" +
    "    return\n" +
    "  end\n" +
    "  local last = tonumber(redis.call('SET', token, now, 'PX', TOKEN_MS, 'GET') or 0)\n" +
    "  if last >= now then now, isAhead = last + 1, true end\n" +
    "  hasMinted = true\n" +
    "end\n" +
    "\n" +
    "local replies = {0, 0}\n" +
    "for i = 1, #ARGV, 3 do\n" +
    "  local member, leaseMs = ARGV[i], ARGV[i + 1]\n" +
    "  local isReader = string.sub(member, -1) == 'r'\n" +
    "  local isFree = not writer and not isQueued and (isReader or not areReadersIn())\n" +
    "  local outcome, value = 0, 0\n" +
    "  if isFree or (isReader and redis.call('ZSCORE', readers, member)) or member == writer then\n" +
    "    mint()\n" +
    "    outcome, value = 1, now\n" +
    "    if isReader then\n" +
    "      redis.call('ZADD', readers, 'GT', now + leaseMs * 1000, member)\n" +
    "      longestMs, hasReaders = math.max(longestMs, leaseMs), true\n" +
    "    elseif isFree then\n" +
    "      redis.call('SET', write, member, 'PX', leaseMs)\n" +
    "      writer = member\n" +
    "    else\n" +
    "      redis.call('PEXPIRE', write, leaseMs, 'GT')\n" +
    "    end\n" +
    "    if isQueued then redis.call('ZREM', queue, member) end\n" +
    "  else\n" +
    "    isRefused = true\n" +
    "    if ARGV[i + 2] == 'wait' then\n" +
    "      lastPlace = lastPlace or tonumber(redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2] or 0)\n" +
    "      outcome, value = 2, math.max(now, lastPlace + 1)\n" +
    "      if redis.call('ZADD', queue, 'NX', value, member) == 1 then\n" +
    "        lastPlace = value\n" +
    "      else\n" +
    "        value = tonumber(redis.call('ZSCORE', queue, member))\n" +
    "      end\n" +
    "      isQueued, hasArrivals = true, true\n" +
    "    end\n" +
    "  end\n" +
    "  replies[#replies + 1] = outcome\n" +
    "  replies[#replies + 1] = value\n" +
    "end\n" +
    "if isAhead then redis.call('SET', token, now, 'PX', TOKEN_MS) end\n" +
    "if longestMs > 0 and redis.call('PEXPIRE', readers, longestMs, 'NX') == 0 then\n" +
    "  redis.call('PEXPIRE', readers, longestMs, 'GT')\n" +
    "end\n" +
    "if hasArrivals then redis.call('PEXPIRE', queue, QUEUE_MS) end\n" +
    "replies[1] = now\n" +
    "if isRefused then\n" +
    "  replies[2] = redis.call('PTTL', write)\n" +
    "  if replies[2] < 0 then\n" +
    "    -- The first in the queue waits for the readers, unless it is one.\n" +
    "    local head = redis.call('ZRANGE', queue, 0, 0)[1]\n" +
    "    local next = tonumber(redis.call('ZRANGE', readers, 0, 0, 'WITHSCORES')[2] or 0)\n" +
    "    if next > now and string.sub(head or 'w', -1) == 'w' then replies[2] = math.ceil((next - now) / 1000) end\n" +
    "  end\n" +
    "end\n" +
    "return replies\n",
} as const);

export const readWriteLockDowngrade = new Script({
  name: "read-write-lock.downgrade",
  isReadOnly: false,
  keys: ["write","readers","token","queue"],
  args: ["publish","member","reader","leaseMs","fencingToken"],
  source: "#!lua flags=allow-oom\n" +
    "-- Makes a reader of the writer without letting go of the lock, and lets in the readers that stand first. Repeating a call\n" +
    "-- is safe. O(64 · log (readers + waiters)).\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   write        STRING the writer, or 'lost'; until the lease ends\n" +
    "--   readers      ZSET reader, or 'lost' -> end of its lease (µs); until the last lease ends\n" +
    "--   token        STRING last fencing token; 7 days from the last grant\n" +
    "--   queue        ZSET waiter -> its place; 60 s from the last arrival or re-check\n" +
    "-- ARGV\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "--   member       the writer\n" +
    "--   reader       what it is called from now on\n" +
    "--   leaseMs      ms from now\n" +
    "--   fencingToken  of the writer; 0 if it has none\n" +
    "-- RETURNS\n" +
    "--   the fencing token of the reader, or 0 if the writer did not hold the lock; 1 if there may be more to let in, else 0\n" +
    "local write, readers, token, queue = KEYS[1], KEYS[2], KEYS[3], KEYS[4]\n" +
    "local publish, member, reader, leaseMs, fencingToken = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]\n" +
    "local TOKEN_MS = '604800000'\n" +
    "\n" +
    "-- Whether a contender listens to its channel here. Asked before a grant is published: what is published to somebody who\n" +
    "-- listens to a replica, or still to a former master, arrives there but isn't counted. The count of PUBLISH would then say\n" +
    "-- that nobody has it, the next one would be granted the same, and both would believe it. Expects publish.\n" +
    "local function isHeard(channel)\n" +
    "  return redis.call('PUBSUB', publish == 'SPUBLISH' and 'SHARDNUMSUB' or 'NUMSUB', channel)[2] > 0\n" +
    "end\n" +
    "\n" +
    "-- Lets in whoever stands first and fits: the readers that follow one another, or one writer if nobody else is in.\n" +
    "-- Waiters whose process is gone are dropped. A probe asks even a writer that has to wait whether it is there, once it has\n" +
    "-- waited for a second, so that a dead one doesn't keep the readers behind it out. Returns 1 if there may be more to let\n" +
    "-- in, else 0: what is left by a call that found only dead waiters is for a re-check, which puts those back that weren't\n" +
    "-- heard of yet. Expects write, readers, token, queue, publish, isHeard, and no writer.\n" +
    "local function handOn(isProbing)\n" +
    "  local MAX_READERS, MAX_DEAD, PROBE_US, TOKEN_MS = 64, 100, 1000000, '604800000'\n" +
    "  local time = redis.call('TIME')\n" +
    "  local last = tonumber(redis.call('GET', token) or 0)\n" +
    "  -- A clock that was set back stands still instead, until it is where it was.\n" +
    "  local now = math.max(time[1] * 1000000 + time[2], last)\n" +
    "  local channels = string.gsub(write, 'write$', 'rw-grant:')\n" +
    "  local looks, dead, longestMs, admitted, writer, isOver = 0, 0, 0, {}, nil, false\n" +
    "  while not isOver do\n" +
    "    -- One writer after the other is the rule; only readers need to be looked at in numbers.\n" +
    "    local heads = redis.call('ZRANGE', queue, looks, looks == 0 and 0 or looks + MAX_READERS - 2)\n" +
    "    isOver = #heads < (looks == 0 and 1 or MAX_READERS - 1)\n" +
    "    for _, head in ipairs(heads) do\n" +
    "      local contender, waiter, claimMs, role = string.match(head, '^([^.]+)%.([^.]+)%.([1-9]%d*)%.([rw])$')\n" +
    "      local isBlocked = role == 'w' and #admitted > 0\n" +
    "      if role == 'w' and not isBlocked and redis.call('EXISTS', readers) == 1 then\n" +
    "        redis.call('ZREMRANGEBYSCORE', readers, '-inf', now)\n" +
    "        isBlocked = redis.call('EXISTS', readers) == 1\n" +
    "      end\n" +
    "      if isBlocked then\n" +
    "        -- Whoever has come just now may not be listening yet.\n" +
    "        local isOld = isProbing and #admitted == 0 and now - redis.call('ZSCORE', queue, head) > PROBE_US\n" +
    "        if not isOld or isHeard(channels .. contender) then\n" +
    "          isOver = true\n" +
    "          break\n" +
    "        end\n" +
    "      end\n" +
    "      looks = looks + 1\n" +
    "      local minted = math.max(now, last + 1)\n" +
    "      if contender and not isBlocked and isHeard(channels .. contender) then\n" +
    "        local grant = string.format('%s:%.0f:%.0f:%s.%s', waiter, minted, now, claimMs, role)\n" +
    "        redis.call(publish, channels .. contender, grant)\n" +
    "        last = minted\n" +
    "        if role == 'w' then\n" +
    "          writer, longestMs, isOver = head, claimMs, true\n" +
    "          break\n" +
    "        end\n" +
    "        admitted[#admitted + 1] = now + claimMs * 1000\n" +
    "        admitted[#admitted + 1] = head\n" +
    "        longestMs = math.max(longestMs, claimMs)\n" +
    "      else\n" +
    "        dead = dead + 1\n" +
    "      end\n" +
    "      if #admitted == 2 * MAX_READERS or dead == MAX_DEAD then\n" +
    "        isOver = true\n" +
    "        break\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "  if looks > 0 then redis.call('ZREMRANGEBYRANK', queue, 0, looks - 1) end\n" +
    "  if writer then redis.call('SET', write, writer, 'PX', longestMs) end\n" +
    "  if #admitted > 0 then\n" +
    "    redis.call('ZADD', readers, unpack(admitted))\n" +
    "    if redis.call('PEXPIRE', readers, longestMs, 'NX') == 0 then redis.call('PEXPIRE', readers, longestMs, 'GT') end\n" +
    "  end\n" +
    "  if writer or #admitted > 0 then redis.call('SET', token, last, 'PX', TOKEN_MS) end\n" +
    "  return #admitted == 2 * MAX_READERS and 1 or 0\n" +
    "end\n" +
    "-- Whether a fencing token that a holder tells can be one that it was given: 16 digits, and no more than a day ahead of the\n" +
    "-- clock, which may have been set back. It becomes the floor of all further tokens, so with another one they would be too\n" +
    "-- low, or come to an end.\n" +
    "local function isPlausible(fencingToken)\n" +
    "  if #fencingToken ~= 16 or string.find(fencingToken, '%D') then return false end\n" +
    "  local time = redis.call('TIME')\n" +
    "  return fencingToken - time[1] * 1000000 <= 86400000000\n" +
    "end\n" +
    "\n" +
    "-- When all keys of the lock were lost (FLUSHALL, a failover), a holder that has its fencing token is believed: nothing can\n" +
    "-- have been granted since as long as there is no token. Expects write, readers, token, isPlausible.\n" +
    "\n" +
    "local function isLost(fencingToken)\n" +
    "  return isPlausible(fencingToken) and redis.call('EXISTS', token, readers) == 0\n" +
    "    and (redis.call('GET', write) or 'lost') == 'lost'\n" +
    "end\n" +
    "\n" +
    "-- A writer was alone.\n" +
    "local function isLostWriter(fencingToken)\n" +
    "  if not isLost(fencingToken) then return false end\n" +
    "  redis.call('SET', token, fencingToken, 'PX', '604800000')\n" +
    "  return true\n" +
    "end\n" +
    "\n" +
    "-- A reader may have had others beside it. They may come back for as long as 'lost' stands for them among the readers.\n" +
    "local function restoreReaders(fencingToken, quarantineMs)\n" +
    "  if not isPlausible(fencingToken) then return false end\n" +
    "  if redis.call('ZSCORE', readers, 'lost') then\n" +
    "    local last = tonumber(redis.call('GET', token) or 0)\n" +
    "    if tonumber(fencingToken) > last then redis.call('SET', token, fencingToken, 'PX', '604800000') end\n" +
    "    return true\n" +
    "  end\n" +
    "  if not isLost(fencingToken) then return false end\n" +
    "  local time = redis.call('TIME')\n" +
    "  local lostMs = math.max(quarantineMs, redis.call('PTTL', write))\n" +
    "  redis.call('ZADD', readers, time[1] * 1000000 + time[2] + lostMs * 1000, 'lost')\n" +
    "  redis.call('PEXPIRE', readers, lostMs)\n" +
    "  redis.call('DEL', write)\n" +
    "  redis.call('SET', token, fencingToken, 'PX', '604800000')\n" +
    "  return true\n" +
    "end\n" +
    "\n" +
    "local isDone = redis.call('ZSCORE', readers, reader)\n" +
    "if not isDone and redis.call('GET', write) ~= member and not isLostWriter(fencingToken) then return {0, 0} end\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000000 + time[2]\n" +
    "now = math.max(now, (redis.call('GET', token) or 0) + 1)\n" +
    "redis.call('SET', token, now, 'PX', TOKEN_MS)\n" +
    "redis.call('ZADD', readers, 'GT', now + leaseMs * 1000, reader)\n" +
    "if redis.call('PEXPIRE', readers, leaseMs, 'NX') == 0 then redis.call('PEXPIRE', readers, leaseMs, 'GT') end\n" +
    "if isDone then return {now, 0} end\n" +
    "redis.call('DEL', write)\n" +
    "return {now, redis.call('EXISTS', queue) == 1 and handOn(false) or 0}\n",
} as const);

export const readWriteLockInspect = new Script({
  name: "read-write-lock.inspect",
  isReadOnly: true,
  keys: ["write","readers","token","queue"],
  args: ["waiter","maxReaders"],
  source: "#!lua flags=no-writes\n" +
    "-- The state of a lock. O(log (readers + waiters) + maxReaders).\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   write        STRING the writer, or 'lost'\n" +
    "--   readers      ZSET reader, or 'lost' -> end of its lease (µs)\n" +
    "--   token        STRING last fencing token\n" +
    "--   queue        ZSET waiter -> its place\n" +
    "-- ARGV\n" +
    "--   waiter       whose rank is wanted; may be empty\n" +
    "--   maxReaders   how many readers to name\n" +
    "-- RETURNS\n" +
    "--   the writer or nil, the last fencing token or 0, the time until the last lease ends (ms, -2 if there is none), waiters,\n" +
    "--   the waiter's rank from 0 or nil, readers, then the names of some\n" +
    "local write, readers, token, queue = KEYS[1], KEYS[2], KEYS[3], KEYS[4]\n" +
    "local waiter, maxReaders = ARGV[1], tonumber(ARGV[2])\n" +
    "local time = redis.call('TIME')\n" +
    "local last = tonumber(redis.call('GET', token) or 0)\n" +
    "local now = math.max(time[1] * 1000000 + time[2], last)\n" +
    "local writer = redis.call('GET', write)\n" +
    "local remainingMs = redis.call('PTTL', write)\n" +
    "local latest = tonumber(redis.call('ZRANGE', readers, -1, -1, 'WITHSCORES')[2] or 0)\n" +
    "if latest > now then remainingMs = math.max(remainingMs, math.ceil((latest - now) / 1000)) end\n" +
    "local count = redis.call('ZCOUNT', readers, now + 1, '+inf')\n" +
    "local isLost = tonumber(redis.call('ZSCORE', readers, 'lost') or 0) > now\n" +
    "local reply = {\n" +
    "  writer ~= 'lost' and writer,\n" +
    "  last,\n" +
    "  remainingMs,\n" +
    "  redis.call('ZCARD', queue),\n" +
    "  redis.call('ZRANK', queue, waiter),\n" +
    "  isLost and count - 1 or count,\n" +
    "}\n" +
    "for _, reader in ipairs(redis.call('ZRANGE', readers, now + 1, '+inf', 'BYSCORE', 'LIMIT', 0, maxReaders + 1)) do\n" +
    "  if reader ~= 'lost' and #reply < 6 + maxReaders then reply[#reply + 1] = reader end\n" +
    "end\n" +
    "return reply\n",
} as const);

export const readWriteLockRecheck = new Script({
  name: "read-write-lock.recheck",
  isReadOnly: false,
  keys: ["write","readers","token","queue"],
  args: ["publish","quarantineMs"],
  restArg: "waiters",
  source: "#!lua flags=allow-oom\n" +
    "-- Repairs what a lost message, a lost queue or a dead holder left behind: waiters that are missing from the queue get\n" +
    "-- their old places back, those that were let in and don't know it have their claims lengthened and are told, and who is\n" +
    "-- first is let in if nobody is in the way any more. When all keys of the lock were lost, its holders may still rely on\n" +
    "-- it: then it is kept for them until one renews or releases, or until their leases must be over.\n" +
    "-- Repeating a call is safe. O((waiters + 64) · log (readers + queue)).\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   write        STRING the writer, or 'lost'; until the lease ends\n" +
    "--   readers      ZSET reader, or 'lost' -> end of its lease (µs); until the last lease ends\n" +
    "--   token        STRING last fencing token; 7 days from the last grant\n" +
    "--   queue        ZSET waiter -> its place; 60 s from the last arrival or re-check\n" +
    "-- ARGV\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "--   quarantineMs  how long holders that were lost may still be there (ms; 0 if nobody can tell that any was lost)\n" +
    "--   waiters...   two for each: place, member\n" +
    "-- RETURNS\n" +
    "--   now (µs), the time until a lease ends that is in the way (ms, -2 if none is), how many waiters were missing, 1 if there\n" +
    "--   may be more to let in, else 0; then two for each waiter that holds the lock: its number (from 1), its fencing token\n" +
    "local write, readers, token, queue = KEYS[1], KEYS[2], KEYS[3], KEYS[4]\n" +
    "local publish, quarantineMs = ARGV[1], ARGV[2]\n" +
    "local TOKEN_MS, QUEUE_MS = '604800000', '60000'\n" +
    "\n" +
    "-- Whether a contender listens to its channel here. Asked before a grant is published: what is published to somebody who\n" +
    "-- listens to a replica, or still to a former master, arrives there but isn't counted. The count of PUBLISH would then say\n" +
    "-- that nobody has it, the next one would be granted the same, and both would believe it. Expects publish.\n" +
    "local function isHeard(channel)\n" +
    "  return redis.call('PUBSUB', publish == 'SPUBLISH' and 'SHARDNUMSUB' or 'NUMSUB', channel)[2] > 0\n" +
    "end\n" +
    "\n" +
    "-- Lets in whoever stands first and fits: the readers that follow one another, or one writer if nobody else is in.\n" +
    "-- Waiters whose process is gone are dropped. A probe asks even a writer that has to wait whether it is there, once it has\n" +
    "-- waited for a second, so that a dead one doesn't keep the readers behind it out. Returns 1 if there may be more to let\n" +
    "-- in, else 0: what is left by a call that found only dead waiters is for a re-check, which puts those back that weren't\n" +
    "-- heard of yet. Expects write, readers, token, queue, publish, isHeard, and no writer.\n" +
    "local function handOn(isProbing)\n" +
    "  local MAX_READERS, MAX_DEAD, PROBE_US, TOKEN_MS = 64, 100, 1000000, '604800000'\n" +
    "  local time = redis.call('TIME')\n" +
    "  local last = tonumber(redis.call('GET', token) or 0)\n" +
    "  -- A clock that was set back stands still instead, until it is where it was.\n" +
    "  local now = math.max(time[1] * 1000000 + time[2], last)\n" +
    "  local channels = string.gsub(write, 'write$', 'rw-grant:')\n" +
    "  local looks, dead, longestMs, admitted, writer, isOver = 0, 0, 0, {}, nil, false\n" +
    "  while not isOver do\n" +
    "    -- One writer after the other is the rule; only readers need to be looked at in numbers.\n" +
    "    local heads = redis.call('ZRANGE', queue, looks, looks == 0 and 0 or looks + MAX_READERS - 2)\n" +
    "    isOver = #heads < (looks == 0 and 1 or MAX_READERS - 1)\n" +
    "    for _, head in ipairs(heads) do\n" +
    "      local contender, waiter, claimMs, role = string.match(head, '^([^.]+)%.([^.]+)%.([1-9]%d*)%.([rw])$')\n" +
    "      local isBlocked = role == 'w' and #admitted > 0\n" +
    "      if role == 'w' and not isBlocked and redis.call('EXISTS', readers) == 1 then\n" +
    "        redis.call('ZREMRANGEBYSCORE', readers, '-inf', now)\n" +
    "        isBlocked = redis.call('EXISTS', readers) == 1\n" +
    "      end\n" +
    "      if isBlocked then\n" +
    "        -- Whoever has come just now may not be listening yet.\n" +
    "        local isOld = isProbing and #admitted == 0 and now - redis.call('ZSCORE', queue, head) > PROBE_US\n" +
    "        if not isOld or isHeard(channels .. contender) then\n" +
    "          isOver = true\n" +
    "          break\n" +
    "        end\n" +
    "      end\n" +
    "      looks = looks + 1\n" +
    "      local minted = math.max(now, last + 1)\n" +
    "      if contender and not isBlocked and isHeard(channels .. contender) then\n" +
    "        local grant = string.format('%s:%.0f:%.0f:%s.%s', waiter, minted, now, claimMs, role)\n" +
    "        redis.call(publish, channels .. contender, grant)\n" +
    "        last = minted\n" +
    "        if role == 'w' then\n" +
    "          writer, longestMs, isOver = head, claimMs, true\n" +
    "          break\n" +
    "        end\n" +
    "        admitted[#admitted + 1] = now + claimMs * 1000\n" +
    "        admitted[#admitted + 1] = head\n" +
    "        longestMs = math.max(longestMs, claimMs)\n" +
    "      else\n" +
    "        dead = dead + 1\n" +
    "      end\n" +
    "      if #admitted == 2 * MAX_READERS or dead == MAX_DEAD then\n" +
    "        isOver = true\n" +
    "        break\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "  if looks > 0 then redis.call('ZREMRANGEBYRANK', queue, 0, looks - 1) end\n" +
    "  if writer then redis.call('SET', write, writer, 'PX', longestMs) end\n" +
    "  if #admitted > 0 then\n" +
    "    redis.call('ZADD', readers, unpack(admitted))\n" +
    "    if redis.call('PEXPIRE', readers, longestMs, 'NX') == 0 then redis.call('PEXPIRE', readers, longestMs, 'GT') end\n" +
    "  end\n" +
    "  if writer or #admitted > 0 then redis.call('SET', token, last, 'PX', TOKEN_MS) end\n" +
    "  return #admitted == 2 * MAX_READERS and 1 or 0\n" +
    "end\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "local last = tonumber(redis.call('GET', token) or 0)\n" +
    "local isKnown = last > 0\n" +
    "local now = math.max(time[1] * 1000000 + time[2], last)\n" +
    "redis.call('ZREMRANGEBYSCORE', readers, '-inf', now)\n" +
    "local hasReaders = redis.call('EXISTS', readers) == 1\n" +
    "local writer = redis.call('GET', write)\n" +
    "local missing, more, grants = 0, 0, {}\n" +
    "for i = 3, #ARGV, 2 do\n" +
    "  local place, member = ARGV[i], ARGV[i + 1]\n" +
    "  local claimMs, role = string.match(member, '(%d+)%.([rw])$')\n" +
    "  local isReader = role == 'r' and hasReaders and redis.call('ZSCORE', readers, member)\n" +
    "  if isReader or member == writer then\n" +
    "    if isReader then\n" +
    "      redis.call('ZADD', readers, 'GT', now + claimMs * 1000, member)\n" +
    "      redis.call('PEXPIRE', readers, claimMs, 'GT')\n" +
    "    else\n" +
    "      redis.call('PEXPIRE', write, claimMs, 'GT')\n" +
    "    end\n" +
    "    -- The last token is that of the writer. Which one is a reader's, nobody knows.\n" +
    "    if isReader or last == 0 then\n" +
    "      last = math.max(now, last + 1)\n" +
    "      redis.call('SET', token, last, 'PX', TOKEN_MS)\n" +
    "    end\n" +
    "    grants[#grants + 1] = (i - 1) / 2\n" +
    "    grants[#grants + 1] = last\n" +
    "  else\n" +
    "    missing = missing + redis.call('ZADD', queue, 'NX', place, member)\n" +
    "  end\n" +
    "end\n" +
    "if #ARGV > 2 then redis.call('PEXPIRE', queue, QUEUE_MS) end\n" +
    "if not writer then\n" +
    "  -- Whoever was let in left a token behind, unless all keys were lost.\n" +
    "  if missing > 0 and quarantineMs ~= '0' and not hasReaders and not isKnown then\n" +
    "    redis.call('SET', write, 'lost', 'PX', quarantineMs)\n" +
    "  else\n" +
    "    more = handOn(true)\n" +
    "  end\n" +
    "end\n" +
    "local remainingMs = redis.call('PTTL', write)\n" +
    "if remainingMs < 0 then\n" +
    "  local next = tonumber(redis.call('ZRANGE', readers, 0, 0, 'WITHSCORES')[2] or 0)\n" +
    "  if next > now then remainingMs = math.ceil((next - now) / 1000) end\n" +
    "end\n" +
    "return {now, remainingMs, missing, more, unpack(grants)}\n",
} as const);

export const readWriteLockRelease = new Script({
  name: "read-write-lock.release",
  isReadOnly: false,
  keys: ["write","readers","token","queue"],
  args: ["publish","quarantineMs"],
  restArg: "leavers",
  source: "#!lua flags=allow-oom\n" +
    "-- Takes out those who leave, whether they hold the lock or wait for it, and lets in who fits then: the message is the\n" +
    "-- grant. When the lock's keys were lost, whoever says so is a holder; where that was a reader, others may have been in as\n" +
    "-- well, and no writer gets in until their leases must be over. Repeating a call is safe.\n" +
    "-- O((leavers + 64) · log (readers + waiters)).\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   write        STRING the writer, or 'lost'; until the lease ends\n" +
    "--   readers      ZSET reader, or 'lost' -> end of its lease (µs); until the last lease ends\n" +
    "--   token        STRING last fencing token; 7 days from the last grant\n" +
    "--   queue        ZSET waiter -> its place; 60 s from the last arrival or re-check\n" +
    "-- ARGV\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "--   quarantineMs  how long readers that were lost may still be there (ms)\n" +
    "--   leavers...   two for each: member ('*.r': all readers, '*.w': any writer), its fencing token (0: none)\n" +
    "-- RETURNS\n" +
    "--   1 if there may be more to let in, else 0; then for each leaver: 1 if it held the lock, else 0\n" +
    "local write, readers, token, queue = KEYS[1], KEYS[2], KEYS[3], KEYS[4]\n" +
    "local publish, quarantineMs = ARGV[1], ARGV[2]\n" +
    "\n" +
    "-- Whether a contender listens to its channel here. Asked before a grant is published: what is published to somebody who\n" +
    "-- listens to a replica, or still to a former master, arrives there but isn't counted. The count of PUBLISH would then say\n" +
    "-- that nobody has it, the next one would be granted the same, and both would believe it. Expects publish.\n" +
    "local function isHeard(channel)\n" +
    "  return redis.call('PUBSUB', publish == 'SPUBLISH' and 'SHARDNUMSUB' or 'NUMSUB', channel)[2] > 0\n" +
    "end\n" +
    "\n" +
    "-- Lets in whoever stands first and fits: the readers that follow one another, or one writer if nobody else is in.\n" +
    "-- Waiters whose process is gone are dropped. A probe asks even a writer that has to wait whether it is there, once it has\n" +
    "-- waited for a second, so that a dead one doesn't keep the readers behind it out. Returns 1 if there may be more to let\n" +
    "-- in, else 0: what is left by a call that found only dead waiters is for a re-check, which puts those back that weren't\n" +
    "-- heard of yet. Expects write, readers, token, queue, publish, isHeard, and no writer.\n" +
    "local function handOn(isProbing)\n" +
    "  local MAX_READERS, MAX_DEAD, PROBE_US, TOKEN_MS = 64, 100, 1000000, '604800000'\n" +
    "  local time = redis.call('TIME')\n" +
    "  local last = tonumber(redis.call('GET', token) or 0)\n" +
    "  -- A clock that was set back stands still instead, until it is where it was.\n" +
    "  local now = math.max(time[1] * 1000000 + time[2], last)\n" +
    "  local channels = string.gsub(write, 'write$', 'rw-grant:')\n" +
    "  local looks, dead, longestMs, admitted, writer, isOver = 0, 0, 0, {}, nil, false\n" +
    "  while not isOver do\n" +
    "    -- One writer after the other is the rule; only readers need to be looked at in numbers.\n" +
    "    local heads = redis.call('ZRANGE', queue, looks, looks == 0 and 0 or looks + MAX_READERS - 2)\n" +
    "    isOver = #heads < (looks == 0 and 1 or MAX_READERS - 1)\n" +
    "    for _, head in ipairs(heads) do\n" +
    "      local contender, waiter, claimMs, role = string.match(head, '^([^.]+)%.([^.]+)%.([1-9]%d*)%.([rw])$')\n" +
    "      local isBlocked = role == 'w' and #admitted > 0\n" +
    "      if role == 'w' and not isBlocked and redis.call('EXISTS', readers) == 1 then\n" +
    "        redis.call('ZREMRANGEBYSCORE', readers, '-inf', now)\n" +
    "        isBlocked = redis.call('EXISTS', readers) == 1\n" +
    "      end\n" +
    "      if isBlocked then\n" +
    "        -- Whoever has come just now may not be listening yet.\n" +
    "        local isOld = isProbing and #admitted == 0 and now - redis.call('ZSCORE', queue, head) > PROBE_US\n" +
    "        if not isOld or isHeard(channels .. contender) then\n" +
    "          isOver = true\n" +
    "          break\n" +
    "        end\n" +
    "      end\n" +
    "      looks = looks + 1\n" +
    "      local minted = math.max(now, last + 1)\n" +
    "      if contender and not isBlocked and isHeard(channels .. contender) then\n" +
    "        local grant = string.format('%s:%.0f:%.0f:%s.%s', waiter, minted, now, claimMs, role)\n" +
    "        redis.call(publish, channels .. contender, grant)\n" +
    "        last = minted\n" +
    "        if role == 'w' then\n" +
    "          writer, longestMs, isOver = head, claimMs, true\n" +
    "          break\n" +
    "        end\n" +
    "        admitted[#admitted + 1] = now + claimMs * 1000\n" +
    "        admitted[#admitted + 1] = head\n" +
    "        longestMs = math.max(longestMs, claimMs)\n" +
    "      else\n" +
    "        dead = dead + 1\n" +
    "      end\n" +
    "      if #admitted == 2 * MAX_READERS or dead == MAX_DEAD then\n" +
    "        isOver = true\n" +
    "        break\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "  if looks > 0 then redis.call('ZREMRANGEBYRANK', queue, 0, looks - 1) end\n" +
    "  if writer then redis.call('SET', write, writer, 'PX', longestMs) end\n" +
    "  if #admitted > 0 then\n" +
    "    redis.call('ZADD', readers, unpack(admitted))\n" +
    "    if redis.call('PEXPIRE', readers, longestMs, 'NX') == 0 then redis.call('PEXPIRE', readers, longestMs, 'GT') end\n" +
    "  end\n" +
    "  if writer or #admitted > 0 then redis.call('SET', token, last, 'PX', TOKEN_MS) end\n" +
    "  return #admitted == 2 * MAX_READERS and 1 or 0\n" +
    "end\n" +
    "-- Whether a fencing token that a holder tells can be one that it was given: 16 digits, and no more than a day ahead of the\n" +
    "-- clock, which may have been set back. It becomes the floor of all further tokens, so with another one they would be too\n" +
    "-- low, or come to an end.\n" +
    "local function isPlausible(fencingToken)\n" +
    "  if #fencingToken ~= 16 or string.find(fencingToken, '%D') then return false end\n" +
    "  local time = redis.call('TIME')\n" +
    "  return fencingToken - time[1] * 1000000 <= 86400000000\n" +
    "end\n" +
    "\n" +
    "-- When all keys of the lock were lost (FLUSHALL, a failover), a holder that has its fencing token is believed: nothing can\n" +
    "-- have been granted since as long as there is no token. Expects write, readers, token, isPlausible.\n" +
    "\n" +
    "local function isLost(fencingToken)\n" +
    "  return isPlausible(fencingToken) and redis.call('EXISTS', token, readers) == 0\n" +
    "    and (redis.call('GET', write) or 'lost') == 'lost'\n" +
    "end\n" +
    "\n" +
    "-- A writer was alone.\n" +
    "local function isLostWriter(fencingToken)\n" +
    "  if not isLost(fencingToken) then return false end\n" +
    "  redis.call('SET', token, fencingToken, 'PX', '604800000')\n" +
    "  return true\n" +
    "end\n" +
    "\n" +
    "-- A reader may have had others beside it. They may come back for as long as 'lost' stands for them among the readers.\n" +
    "local function restoreReaders(fencingToken, quarantineMs)\n" +
    "  if not isPlausible(fencingToken) then return false end\n" +
    "  if redis.call('ZSCORE', readers, 'lost') then\n" +
    "    local last = tonumber(redis.call('GET', token) or 0)\n" +
    "    if tonumber(fencingToken) > last then redis.call('SET', token, fencingToken, 'PX', '604800000') end\n" +
    "    return true\n" +
    "  end\n" +
    "  if not isLost(fencingToken) then return false end\n" +
    "  local time = redis.call('TIME')\n" +
    "  local lostMs = math.max(quarantineMs, redis.call('PTTL', write))\n" +
    "  redis.call('ZADD', readers, time[1] * 1000000 + time[2] + lostMs * 1000, 'lost')\n" +
    "  redis.call('PEXPIRE', readers, lostMs)\n" +
    "  redis.call('DEL', write)\n" +
    "  redis.call('SET', token, fencingToken, 'PX', '604800000')\n" +
    "  return true\n" +
    "end\n" +
    "\n" +
    "local writer\n" +
    "local replies = {0}\n" +
    "for i = 3, #ARGV, 2 do\n" +
    "  local member, fencingToken = ARGV[i], ARGV[i + 1]\n" +
    "  local isHolder\n" +
    "  if member == '*.r' then\n" +
    "    isHolder = redis.call('DEL', readers) == 1\n" +
    "  elseif string.sub(member, -1) == 'r' then\n" +
    "    isHolder = redis.call('ZREM', readers, member) == 1 or restoreReaders(fencingToken, quarantineMs)\n" +
    "  else\n" +
    "    if writer == nil then writer = redis.call('GET', write) end\n" +
    "    isHolder = writer and (writer == member or member == '*.w') or isLostWriter(fencingToken)\n" +
    "    if isHolder then\n" +
    "      writer = false\n" +
    "      redis.call('DEL', write)\n" +
    "    end\n" +
    "  end\n" +
    "  if not isHolder then redis.call('ZREM', queue, member) end\n" +
    "  replies[#replies + 1] = isHolder and 1 or 0\n" +
    "end\n" +
    "if redis.call('EXISTS', queue) == 1 and redis.call('EXISTS', write) == 0 then replies[1] = handOn(false) end\n" +
    "return replies\n",
} as const);

export const readWriteLockRenew = new Script({
  name: "read-write-lock.renew",
  isReadOnly: false,
  keys: [],
  args: [],
  restKey: "locks",
  restArg: "terms",
  source: "#!lua flags=allow-oom\n" +
    "-- Lengthens the leases of readers and writers that still hold their locks; it never shortens one, so a repeated or\n" +
    "-- overtaken call does no harm. When all keys of a lock were lost (FLUSHALL, a failover), a holder with a token gets it\n" +
    "-- back. O(leases · log readers).\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   locks...     three for each lock: STRING the writer or 'lost', until the lease ends; ZSET reader or 'lost' -> end of its\n" +
    "--                lease (µs), until the last lease ends; STRING last fencing token, 7 days\n" +
    "-- ARGV\n" +
    "--   terms...     three for each lock: member, leaseMs (ms from now), its fencing token (0: none)\n" +
    "-- RETURNS\n" +
    "--   for each lock: 1 if the member holds it, else 0\n" +
    "local write, readers, token\n" +
    "\n" +
    "-- Whether a fencing token that a holder tells can be one that it was given: 16 digits, and no more than a day ahead of the\n" +
    "-- clock, which may have been set back. It becomes the floor of all further tokens, so with another one they would be too\n" +
    "-- low, or come to an end.\n" +
    "local function isPlausible(fencingToken)\n" +
    "  if #fencingToken ~= 16 or string.find(fencingToken, '%D') then return false end\n" +
    "  local time = redis.call('TIME')\n" +
    "  return fencingToken - time[1] * 1000000 <= 86400000000\n" +
    "end\n" +
    "\n" +
    "-- When all keys of the lock were lost (FLUSHALL, a failover), a holder that has its fencing token is believed: nothing can\n" +
    "-- have been granted since as long as there is no token. Expects write, readers, token, isPlausible.\n" +
    "\n" +
    "local function isLost(fencingToken)\n" +
    "  return isPlausible(fencingToken) and redis.call('EXISTS', token, readers) == 0\n" +
    "    and (redis.call('GET', write) or 'lost') == 'lost'\n" +
    "end\n" +
    "\n" +
    "-- A writer was alone.\n" +
    "local function isLostWriter(fencingToken)\n" +
    "  if not isLost(fencingToken) then return false end\n" +
    "  redis.call('SET', token, fencingToken, 'PX', '604800000')\n" +
    "  return true\n" +
    "end\n" +
    "\n" +
    "-- A reader may have had others beside it. They may come back for as long as 'lost' stands for them among the readers.\n" +
    "local function restoreReaders(fencingToken, quarantineMs)\n" +
    "  if not isPlausible(fencingToken) then return false end\n" +
    "  if redis.call('ZSCORE', readers, 'lost') then\n" +
    "    local last = tonumber(redis.call('GET', token) or 0)\n" +
    "    if tonumber(fencingToken) > last then redis.call('SET', token, fencingToken, 'PX', '604800000') end\n" +
    "    return true\n" +
    "  end\n" +
    "  if not isLost(fencingToken) then return false end\n" +
    "  local time = redis.call('TIME')\n" +
    "  local lostMs = math.max(quarantineMs, redis.call('PTTL', write))\n" +
    "  redis.call('ZADD', readers, time[1] * 1000000 + time[2] + lostMs * 1000, 'lost')\n" +
    "  redis.call('PEXPIRE', readers, lostMs)\n" +
    "  redis.call('DEL', write)\n" +
    "  redis.call('SET', token, fencingToken, 'PX', '604800000')\n" +
    "  return true\n" +
    "end\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000000 + time[2]\n" +
    "local replies = {}\n" +
    "for i = 1, #KEYS, 3 do\n" +
    "  write, readers, token = KEYS[i], KEYS[i + 1], KEYS[i + 2]\n" +
    "  local member, leaseMs, fencingToken = ARGV[i], ARGV[i + 1], ARGV[i + 2]\n" +
    "  local isHolder\n" +
    "  if string.sub(member, -1) == 'r' then\n" +
    "    isHolder = redis.call('ZSCORE', readers, member) or restoreReaders(fencingToken, leaseMs)\n" +
    "    if isHolder then\n" +
    "      redis.call('ZADD', readers, 'GT', now + leaseMs * 1000, member)\n" +
    "      redis.call('PEXPIRE', readers, leaseMs, 'GT')\n" +
    "    end\n" +
    "  else\n" +
    "    isHolder = redis.call('GET', write) == member\n" +
    "    if isHolder then\n" +
    "      redis.call('PEXPIRE', write, leaseMs, 'GT')\n" +
    "    elseif isLostWriter(fencingToken) then\n" +
    "      redis.call('SET', write, member, 'PX', leaseMs)\n" +
    "      isHolder = true\n" +
    "    end\n" +
    "  end\n" +
    "  replies[#replies + 1] = isHolder and 1 or 0\n" +
    "end\n" +
    "return replies\n",
} as const);

export const replicationConfirm = new Script({
  name: "replication.confirm",
  isReadOnly: false,
  keys: ["lease"],
  args: ["member","leaseMs"],
  source: "#!lua flags=allow-oom\n" +
    "-- Writes the lease of a holder once more, not shorter than it is, so that a WAIT on the same connection has a write whose\n" +
    "-- replication it counts; whatever was granted was written before it. PEXPIRE with GT would not do: within the millisecond\n" +
    "-- of the grant it changes nothing, and is not replicated. Nothing is restored here. Repeating a call is safe. O(1).\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   lease        STRING holder, until the lease ends\n" +
    "-- ARGV\n" +
    "--   member\n" +
    "--   leaseMs      ms from now\n" +
    "-- RETURNS\n" +
    "--   1 if the member holds the lock, else 0\n" +
    "local lease = KEYS[1]\n" +
    "local member, leaseMs = ARGV[1], tonumber(ARGV[2])\n" +
    "if redis.call('GET', lease) ~= member then return 0 end\n" +
    "redis.call('SET', lease, member, 'PX', math.max(leaseMs, redis.call('PTTL', lease)))\n" +
    "return 1\n",
} as const);

export const semaphoreAcquire = new Script({
  name: "semaphore.acquire",
  isReadOnly: false,
  keys: ["permits","queue","state"],
  args: ["publish","callerLimit"],
  restArg: "requests",
  source: "#!lua\n" +
    "-- Gives permits to the requests that may have them: those that fit while nobody waits. The others join the queue in their\n" +
    "-- order, or are refused. Who waits already and fits goes first. Repeating a request is safe: a holder gets a token again,\n" +
    "-- a waiter keeps its place. O((requests + expired + granted) · log n).\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   permits      ZSET holder -> end of its lease (µs); 7 days from the last grant or renewal\n" +
    "--   queue        ZSET waiter -> its place; 60 s from the last arrival or re-check\n" +
    "--   state        STRING, see semaphore.state.part.lua; 7 days from the last grant, renewal or new limit\n" +
    "-- ARGV\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "--   callerLimit  the limit of a semaphore that has none yet\n" +
    "--   requests...  four for each: member, leaseMs (ms), mode ('wait' or 'try'), limit that the caller knows\n" +
    "-- RETURNS\n" +
    "--   now (µs), when the next permit may come free (ms; -1: more to do, call recheck; -2: all are free; 0 if nobody has\n" +
    "--   to wait), then two for each request:\n" +
    "--     1, fencing token    it holds its permits\n" +
    "--     2, place            it waits; the place is max(now, last place + 1)\n" +
    "--     3, limit            refused: this is the limit, and the caller has another\n" +
    "--     0, 0                refused\n" +
    "local permits, queue, state = KEYS[1], KEYS[2], KEYS[3]\n" +
    "local publish, callerLimit = ARGV[1], ARGV[2]\n" +
    "local QUEUE_MS = '60000'\n" +
    "\n" +
    "-- The state of a semaphore, and its clock. Expects permits, state, callerLimit ('0': the caller knows none).\n" +
    "-- The state is a STRING of eight numbers: limit, used permits, the last fencing token, the last instant of the clock and\n" +
    "-- what it runs ahead of the server's, when the state began, until when nothing is granted because what was known before\n" +
    "-- it was lost, how many permits of lost holders were heard of since; instants in µs. MessagePack takes 32 bytes and\n" +
    "-- 0.4 µs, text 60 bytes and 2.5 µs, and a HASH needs an EXPIRE of its own.\n" +
    "-- Anchored at the front, a pattern is found in half the time.\n" +
    "local function weightOf(member)\n" +
    "  return tonumber(string.match(member, '^[^.]*%.[^.]*%.[^.]*%.(%d+)$') or 1)\n" +
    "end\n" +
    "\n" +
    "local MAX_COUNTED = 10000\n" +
    "local limit, used, token, at, ahead, began, lostUntil, heard = cmsgpack.unpack(redis.call('GET', state) or '')\n" +
    "local isNew = not limit\n" +
    "local isFresh = isNew\n" +
    "if isNew then\n" +
    "  limit, used, token, at, ahead, began, lostUntil, heard = 0, 0, 0, 0, 0, 0, 0, 0\n" +
    "  -- The state may be gone without the permits (evicted): nobody is lost then.\n" +
    "  for _, member in ipairs(redis.call('ZRANGE', permits, '0', MAX_COUNTED - 1)) do used = used + weightOf(member) end\n" +
    "  isFresh = used == 0\n" +
    "end\n" +
    "-- Who renews or releases may have come under an earlier limit; one that was lost is set by the next who acquires.\n" +
    "if limit == 0 and callerLimit ~= '0' then\n" +
    "  limit = tonumber(callerLimit)\n" +
    "  if heard >= limit then lostUntil = 0 end\n" +
    "end\n" +
    "\n" +
    "local now = 0\n" +
    "-- The server's clock, but that it never goes back: when that of the server does, permits would outlast their leases by\n" +
    "-- as much. It then goes on from where it was.\n" +
    "local function clock()\n" +
    "  if now > 0 then return now end\n" +
    "  local time = redis.call('TIME')\n" +
    "  now = time[1] * 1000000 + time[2] + ahead\n" +
    "  if now < at then\n" +
    "    ahead = ahead + at - now\n" +
    "    now = at\n" +
    "  end\n" +
    "  at = now\n" +
    "  if isFresh then began = now end\n" +
    "  return now\n" +
    "end\n" +
    "-- What those scripts begin with that change a semaphore; semaphore.save.part.lua ends them. Expects permits, and what\n" +
    "-- semaphore.state.part.lua declares. Parts that are needed once are no functions: nine closures cost 1.3 µs a call.\n" +
    "local KEEP_MS = '604800000'\n" +
    "-- What one call may free or grant; callers go on while there is more.\n" +
    "local MAX_MOVES = 100\n" +
    "-- `hasNewPermits`: leases are new or longer.\n" +
    "local isChanged, hasNewPermits, hasMore = false, false, false\n" +
    "-- When the first lease ends, if that is known.\n" +
    "local firstEnd\n" +
    "-- Those that were not counted would be held for nothing; they come back as lost ones do.\n" +
    "if isNew and used > 0 then redis.call('ZREMRANGEBYRANK', permits, MAX_COUNTED, '-1') end\n" +
    "\n" +
    "local function mint()\n" +
    "  token = math.max(now, token) + 1\n" +
    "  return token\n" +
    "end\n" +
    "\n" +
    "-- Returns false for one that holds already.\n" +
    "local function hold(member, ends, weight)\n" +
    "  if redis.call('ZADD', permits, 'NX', ends, member) == 0 then return false end\n" +
    "  used, isChanged, hasNewPermits = used + weight, true, true\n" +
    "  firstEnd = firstEnd and math.min(firstEnd, ends)\n" +
    "  return true\n" +
    "end\n" +
    "\n" +
    "local isQueued\n" +
    "-- Frees the permits whose leases are over. Expects permits, and what semaphore.change.part.lua declares.\n" +
    "clock()\n" +
    "firstEnd = used > 0 and tonumber(redis.call('ZRANGE', permits, '0', '0', 'WITHSCORES')[2])\n" +
    "if firstEnd == nil then\n" +
    "  -- The permits are gone without the state: nothing is granted for the default lease, or until they were heard of.\n" +
    "  used, began, lostUntil, heard, isChanged = 0, now, now + 10000000, 0, true\n" +
    "elseif firstEnd and firstEnd <= now then\n" +
    "  firstEnd = nil\n" +
    "  local ended = redis.call('ZRANGE', permits, '-inf', now, 'BYSCORE', 'LIMIT', '0', MAX_MOVES)\n" +
    "  redis.call('ZREM', permits, unpack(ended))\n" +
    "  for _, member in ipairs(ended) do used = math.max(0, used - weightOf(member)) end\n" +
    "  isChanged, hasMore = true, #ended == MAX_MOVES\n" +
    "end\n" +
    "-- Whether a contender listens to its channel here. Asked before a grant is published: what is published to somebody who\n" +
    "-- listens to a replica, or still to a former master, arrives there but isn't counted. The count of PUBLISH would then say\n" +
    "-- that nobody has it, the next one would be granted the same, and both would believe it. Expects publish.\n" +
    "local function isHeard(channel)\n" +
    "  return redis.call('PUBSUB', publish == 'SPUBLISH' and 'SHARDNUMSUB' or 'NUMSUB', channel)[2] > 0\n" +
    "end\n" +
    "-- Grants from the head of the queue for as long as the head fits: a heavy request at the head holds up the light ones\n" +
    "-- behind it, or it would never get its turn. Stands behind semaphore.expire.part.lua. Expects permits, queue, publish,\n" +
    "-- isHeard, isQueued, which becomes false if nobody waits and permits may be taken. O((granted + 1) · log n).\n" +
    "isQueued = true\n" +
    "local moves, channels = 0, nil\n" +
    "while used < limit and now >= lostUntil do\n" +
    "  local head = redis.call('ZRANGE', queue, '0', '0')[1]\n" +
    "  isQueued = head ~= nil\n" +
    "  if not isQueued then break end\n" +
    "  hasMore = hasMore or moves == MAX_MOVES\n" +
    "  if moves == MAX_MOVES then break end\n" +
    "  moves = moves + 1\n" +
    "  local contender, waiter, claimMs, weight = string.match(head, '^([^.]+)%.([^.]+)%.([1-9]%d*)%.([1-9]%d*)$')\n" +
    "  weight = tonumber(weight)\n" +
    "  local isTooHeavy = weight and weight > limit\n" +
    "  if weight and not isTooHeavy and used + weight > limit then break end\n" +
    "  redis.call('ZREM', queue, head)\n" +
    "  if weight then\n" +
    "    channels = channels or string.gsub(permits, 'permits$', 'permits-grant:')\n" +
    "    -- Nobody listens for one whose process is gone: the next one takes its place.\n" +
    "    if isHeard(channels .. contender) then\n" +
    "      local message = isTooHeavy and string.format('%s:!%.0f', waiter, limit)\n" +
    "        or string.format('%s:%.0f:%.0f:%s.%.0f', waiter, mint(), now, claimMs, weight)\n" +
    "      redis.call(publish, channels .. contender, message)\n" +
    "      if not isTooHeavy then hold(head, now + claimMs * 1000, weight) end\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local hasArrivals, mustWait, lastPlace\n" +
    "local replies = {now, 0}\n" +
    "for i = 3, #ARGV, 4 do\n" +
    "  local member, ends = ARGV[i], now + ARGV[i + 1] * 1000\n" +
    "  local weight = weightOf(member)\n" +
    "  local outcome, value = 0, 0\n" +
    "  local fits = not isQueued and used + weight <= limit\n" +
    "  if tonumber(ARGV[i + 3]) ~= limit then\n" +
    "    outcome, value = 3, limit\n" +
    "  elseif fits and hold(member, ends, weight) then\n" +
    "    outcome, value = 1, mint()\n" +
    "  elseif used > 0 and redis.call('ZSCORE', permits, member) then\n" +
    "    -- It asks again, because it did not hear the answer.\n" +
    "    redis.call('ZADD', permits, 'GT', ends, member)\n" +
    "    isChanged, hasNewPermits = true, true\n" +
    "    outcome, value = 1, mint()\n" +
    "  else\n" +
    "    mustWait = true\n" +
    "    if ARGV[i + 2] == 'wait' then\n" +
    "      lastPlace = lastPlace or tonumber(redis.call('ZRANGE', queue, '-1', '-1', 'WITHSCORES')[2] or 0)\n" +
    "      outcome, value = 2, math.max(now, lastPlace + 1)\n" +
    "      if redis.call('ZADD', queue, 'NX', value, member) == 1 then\n" +
    "        lastPlace = value\n" +
    "      else\n" +
    "        value = tonumber(redis.call('ZSCORE', queue, member))\n" +
    "      end\n" +
    "      isQueued, hasArrivals, isChanged = true, true, true\n" +
    "    end\n" +
    "  end\n" +
    "  replies[#replies + 1] = outcome\n" +
    "  replies[#replies + 1] = value\n" +
    "end\n" +
    "if hasArrivals then redis.call('PEXPIRE', queue, QUEUE_MS) end\n" +
    "-- Ends what semaphore.change.part.lua began. Expects permits, state.\n" +
    "if isChanged then\n" +
    "  local packed = cmsgpack.pack(limit, used, token, at, ahead, began, lostUntil, heard)\n" +
    "  if hasNewPermits or isNew then\n" +
    "    redis.call('SET', state, packed, 'PX', KEEP_MS)\n" +
    "  else\n" +
    "    redis.call('SET', state, packed, 'KEEPTTL')\n" +
    "  end\n" +
    "  if hasNewPermits then redis.call('PEXPIRE', permits, KEEP_MS) end\n" +
    "end\n" +
    "\n" +
    "if mustWait then\n" +
    "-- When the next permit may come free: ms, -1 if this call left something to do, -2 if all are free. Expects permits, and\n" +
    "-- what semaphore.change.part.lua declares.\n" +
    "local remainingMs = -2\n" +
    "if hasMore then\n" +
    "  remainingMs = -1\n" +
    "elseif now < lostUntil then\n" +
    "  remainingMs = math.ceil((lostUntil - now) / 1000)\n" +
    "else\n" +
    "  firstEnd = firstEnd or tonumber(redis.call('ZRANGE', permits, '0', '0', 'WITHSCORES')[2])\n" +
    "  if firstEnd then remainingMs = math.ceil((firstEnd - now) / 1000) end\n" +
    "end\n" +
    "  replies[2] = remainingMs\n" +
    "end\n" +
    "return replies\n",
} as const);

export const semaphoreInspect = new Script({
  name: "semaphore.inspect",
  isReadOnly: true,
  keys: ["permits","queue","state"],
  args: ["callerLimit","maxHolders","waiter"],
  source: "#!lua flags=no-writes\n" +
    "-- The state of a semaphore. O(maxHolders + expired + log n); of more than 1,000 permits that have expired and nobody\n" +
    "-- has noticed, the others count as used.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   permits      ZSET holder -> end of its lease (µs)\n" +
    "--   queue        ZSET waiter -> its place\n" +
    "--   state        STRING, see semaphore.state.part.lua\n" +
    "-- ARGV\n" +
    "--   callerLimit  the limit of a semaphore that has none yet\n" +
    "--   maxHolders   the most holders in the reply\n" +
    "--   waiter       whose rank is wanted; may be empty\n" +
    "-- RETURNS\n" +
    "--   limit, used permits, ms for which nothing is granted because the state was lost (0: none), waiters, the waiter's\n" +
    "--   rank from 0 or nil, then two for each holder, by the ends of their leases: member, remaining lease (ms)\n" +
    "local permits, queue, state = KEYS[1], KEYS[2], KEYS[3]\n" +
    "local callerLimit, maxHolders, waiter = ARGV[1], ARGV[2], ARGV[3]\n" +
    "\n" +
    "-- The state of a semaphore, and its clock. Expects permits, state, callerLimit ('0': the caller knows none).\n" +
    "-- The state is a STRING of eight numbers: limit, used permits, the last fencing token, the last instant of the clock and\n" +
    "-- what it runs ahead of the server's, when the state began, until when nothing is granted because what was known before\n" +
    "-- it was lost, how many permits of lost holders were heard of since; instants in µs. MessagePack takes 32 bytes and\n" +
    "-- 0.4 µs, text 60 bytes and 2.5 µs, and a HASH needs an EXPIRE of its own.\n" +
    "-- Anchored at the front, a pattern is found in half the time.\n" +
    "local function weightOf(member)\n" +
    "  return tonumber(string.match(member, '^[^.]*%.[^.]*%.[^.]*%.(%d+)$') or 1)\n" +
    "end\n" +
    "\n" +
    "local MAX_COUNTED = 10000\n" +
    "local limit, used, token, at, ahead, began, lostUntil, heard = cmsgpack.unpack(redis.call('GET', state) or '')\n" +
    "local isNew = not limit\n" +
    "local isFresh = isNew\n" +
    "if isNew then\n" +
    "  limit, used, token, at, ahead, began, lostUntil, heard = 0, 0, 0, 0, 0, 0, 0, 0\n" +
    "  -- The state may be gone without the permits (evicted): nobody is lost then.\n" +
    "  for _, member in ipairs(redis.call('ZRANGE', permits, '0', MAX_COUNTED - 1)) do used = used + weightOf(member) end\n" +
    "  isFresh = used == 0\n" +
    "end\n" +
    "-- Who renews or releases may have come under an earlier limit; one that was lost is set by the next who acquires.\n" +
    "if limit == 0 and callerLimit ~= '0' then\n" +
    "  limit = tonumber(callerLimit)\n" +
    "  if heard >= limit then lostUntil = 0 end\n" +
    "end\n" +
    "\n" +
    "local now = 0\n" +
    "-- The server's clock, but that it never goes back: when that of the server does, permits would outlast their leases by\n" +
    "-- as much. It then goes on from where it was.\n" +
    "local function clock()\n" +
    "  if now > 0 then return now end\n" +
    "  local time = redis.call('TIME')\n" +
    "  now = time[1] * 1000000 + time[2] + ahead\n" +
    "  if now < at then\n" +
    "    ahead = ahead + at - now\n" +
    "    now = at\n" +
    "  end\n" +
    "  at = now\n" +
    "  if isFresh then began = now end\n" +
    "  return now\n" +
    "end\n" +
    "\n" +
    "clock()\n" +
    "local ended = redis.call('ZRANGE', permits, '-inf', now, 'BYSCORE', 'LIMIT', '0', 1000)\n" +
    "for _, member in ipairs(ended) do used = used - weightOf(member) end\n" +
    "if redis.call('EXISTS', permits) == 0 then used = 0 end\n" +
    "local replies = {\n" +
    "  limit,\n" +
    "  math.max(0, used),\n" +
    "  math.max(0, math.ceil((lostUntil - now) / 1000)),\n" +
    "  redis.call('ZCARD', queue),\n" +
    "  redis.call('ZRANK', queue, waiter),\n" +
    "}\n" +
    "if used == 0 or maxHolders == '0' then return replies end\n" +
    "local from = '(' .. string.format('%.0f', now)\n" +
    "local holders = redis.call('ZRANGE', permits, from, '+inf', 'BYSCORE', 'LIMIT', '0', maxHolders, 'WITHSCORES')\n" +
    "for i = 1, #holders, 2 do\n" +
    "  replies[5 + i] = holders[i]\n" +
    "  replies[6 + i] = math.ceil((holders[i + 1] - now) / 1000)\n" +
    "end\n" +
    "return replies\n",
} as const);

export const semaphoreRecheck = new Script({
  name: "semaphore.recheck",
  isReadOnly: false,
  keys: ["permits","queue","state"],
  args: ["publish","callerLimit","quarantineMs"],
  restArg: "waiters",
  source: "#!lua flags=allow-oom\n" +
    "-- Repairs what a lost message, a lost queue or a dead holder left behind: waiters that are missing from the queue get\n" +
    "-- their old places back, those that were granted their permits and don't know it have their claims lengthened and are\n" +
    "-- told, those that want more than the limit are refused, and what is free goes to the first who wait. When the state was\n" +
    "-- lost, holders may still rely on it: then nothing is granted until they have renewed or their leases must be over.\n" +
    "-- Repeating a call is safe. O((waiters + expired + granted) · log n).\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   permits      ZSET holder -> end of its lease (µs); 7 days from the last grant or renewal\n" +
    "--   queue        ZSET waiter -> its place; 60 s from the last arrival or re-check\n" +
    "--   state        STRING, see semaphore.state.part.lua; 7 days from the last grant, renewal or new limit\n" +
    "-- ARGV\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "--   callerLimit  the limit of a semaphore that has none any more\n" +
    "--   quarantineMs  how long a lost holder may still be there (ms)\n" +
    "--   waiters...   two for each: place, member\n" +
    "-- RETURNS\n" +
    "--   now (µs), when the next permit may come free (ms; -1: more to do, call again; -2: all are free), limit, how many\n" +
    "--   waiters were missing, then two for each waiter that waits no more: its number (from 1), and its fencing token, or 0\n" +
    "--   if it wants more than the limit\n" +
    "local permits, queue, state = KEYS[1], KEYS[2], KEYS[3]\n" +
    "local publish, callerLimit, quarantineMs = ARGV[1], ARGV[2], ARGV[3]\n" +
    "local QUEUE_MS = '60000'\n" +
    "\n" +
    "-- The state of a semaphore, and its clock. Expects permits, state, callerLimit ('0': the caller knows none).\n" +
    "-- The state is a STRING of eight numbers: limit, used permits, the last fencing token, the last instant of the clock and\n" +
    "-- what it runs ahead of the server's, when the state began, until when nothing is granted because what was known before\n" +
    "-- it was lost, how many permits of lost holders were heard of since; instants in µs. MessagePack takes 32 bytes and\n" +
    "-- 0.4 µs, text 60 bytes and 2.5 µs, and a HASH needs an EXPIRE of its own.\n" +
    "-- Anchored at the front, a pattern is found in half the time.\n" +
    "local function weightOf(member)\n" +
    "  return tonumber(string.match(member, '^[^.]*%.[^.]*%.[^.]*%.(%d+)$') or 1)\n" +
    "end\n" +
    "\n" +
    "local MAX_COUNTED = 10000\n" +
    "local limit, used, token, at, ahead, began, lostUntil, heard = cmsgpack.unpack(redis.call('GET', state) or '')\n" +
    "local isNew = not limit\n" +
    "local isFresh = isNew\n" +
    "if isNew then\n" +
    "  limit, used, token, at, ahead, began, lostUntil, heard = 0, 0, 0, 0, 0, 0, 0, 0\n" +
    "  -- The state may be gone without the permits (evicted): nobody is lost then.\n" +
    "  for _, member in ipairs(redis.call('ZRANGE', permits, '0', MAX_COUNTED - 1)) do used = used + weightOf(member) end\n" +
    "  isFresh = used == 0\n" +
    "end\n" +
    "-- Who renews or releases may have come under an earlier limit; one that was lost is set by the next who acquires.\n" +
    "if limit == 0 and callerLimit ~= '0' then\n" +
    "  limit = tonumber(callerLimit)\n" +
    "  if heard >= limit then lostUntil = 0 end\n" +
    "end\n" +
    "\n" +
    "local now = 0\n" +
    "-- The server's clock, but that it never goes back: when that of the server does, permits would outlast their leases by\n" +
    "-- as much. It then goes on from where it was.\n" +
    "local function clock()\n" +
    "  if now > 0 then return now end\n" +
    "  local time = redis.call('TIME')\n" +
    "  now = time[1] * 1000000 + time[2] + ahead\n" +
    "  if now < at then\n" +
    "    ahead = ahead + at - now\n" +
    "    now = at\n" +
    "  end\n" +
    "  at = now\n" +
    "  if isFresh then began = now end\n" +
    "  return now\n" +
    "end\n" +
    "-- What those scripts begin with that change a semaphore; semaphore.save.part.lua ends them. Expects permits, and what\n" +
    "-- semaphore.state.part.lua declares. Parts that are needed once are no functions: nine closures cost 1.3 µs a call.\n" +
    "local KEEP_MS = '604800000'\n" +
    "-- What one call may free or grant; callers go on while there is more.\n" +
    "local MAX_MOVES = 100\n" +
    "-- `hasNewPermits`: leases are new or longer.\n" +
    "local isChanged, hasNewPermits, hasMore = false, false, false\n" +
    "-- When the first lease ends, if that is known.\n" +
    "local firstEnd\n" +
    "-- Those that were not counted would be held for nothing; they come back as lost ones do.\n" +
    "if isNew and used > 0 then redis.call('ZREMRANGEBYRANK', permits, MAX_COUNTED, '-1') end\n" +
    "\n" +
    "local function mint()\n" +
    "  token = math.max(now, token) + 1\n" +
    "  return token\n" +
    "end\n" +
    "\n" +
    "-- Returns false for one that holds already.\n" +
    "local function hold(member, ends, weight)\n" +
    "  if redis.call('ZADD', permits, 'NX', ends, member) == 0 then return false end\n" +
    "  used, isChanged, hasNewPermits = used + weight, true, true\n" +
    "  firstEnd = firstEnd and math.min(firstEnd, ends)\n" +
    "  return true\n" +
    "end\n" +
    "-- Expects what semaphore.change.part.lua declares.\n" +
    "-- Whether a stamp (token or place) proves that the state which it was given by was lost. Then there may be holders that\n" +
    "-- nobody knows: nothing is granted until as many permits as there are were heard of (weight: how many are, with this), or\n" +
    "-- until the leases of their holders, taken to be as long as this one, must be over.\n" +
    "local function isWitness(stamp, leaseMs, weight)\n" +
    "  if stamp == 0 or not (isFresh or stamp < began) then return false end\n" +
    "  -- One that can't have been given would be the floor of all further tokens. The clock may have been set back a day.\n" +
    "  if stamp < 1000000000000000 or stamp - clock() > 86400000000 then return false end\n" +
    "  local till = began + leaseMs * 1000\n" +
    "  if till <= now then return false end\n" +
    "  token, heard, isChanged = math.max(token, stamp), heard + weight, true\n" +
    "  lostUntil = (limit == 0 or heard < limit) and math.max(lostUntil, till) or 0\n" +
    "  return true\n" +
    "end\n" +
    "\n" +
    "clock()\n" +
    "local replies = {now, 0, limit, 0}\n" +
    "local places = {}\n" +
    "for i = 4, #ARGV, 2 do\n" +
    "  local place, member = ARGV[i], ARGV[i + 1]\n" +
    "  isWitness(tonumber(place), quarantineMs, 0)\n" +
    "  local ended\n" +
    "  if used > 0 and redis.call('ZSCORE', permits, member) then\n" +
    "    redis.call('ZADD', permits, 'GT', now + string.match(member, '%.(%d+)%.%d+$') * 1000, member)\n" +
    "    isChanged, hasNewPermits = true, true\n" +
    "    ended = mint()\n" +
    "  elseif weightOf(member) > limit then\n" +
    "    redis.call('ZREM', queue, member)\n" +
    "    ended = 0\n" +
    "  else\n" +
    "    places[#places + 1] = place\n" +
    "    places[#places + 1] = member\n" +
    "  end\n" +
    "  if ended then\n" +
    "    replies[#replies + 1] = (i - 2) / 2\n" +
    "    replies[#replies + 1] = ended\n" +
    "  end\n" +
    "end\n" +
    "if #places > 0 then\n" +
    "  replies[4] = redis.call('ZADD', queue, 'NX', unpack(places))\n" +
    "  redis.call('PEXPIRE', queue, QUEUE_MS)\n" +
    "end\n" +
    "local isQueued\n" +
    "-- Frees the permits whose leases are over. Expects permits, and what semaphore.change.part.lua declares.\n" +
    "clock()\n" +
    "firstEnd = used > 0 and tonumber(redis.call('ZRANGE', permits, '0', '0', 'WITHSCORES')[2])\n" +
    "if firstEnd == nil then\n" +
    "  -- The permits are gone without the state: nothing is granted for the default lease, or until they were heard of.\n" +
    "  used, began, lostUntil, heard, isChanged = 0, now, now + 10000000, 0, true\n" +
    "elseif firstEnd and firstEnd <= now then\n" +
    "  firstEnd = nil\n" +
    "  local ended = redis.call('ZRANGE', permits, '-inf', now, 'BYSCORE', 'LIMIT', '0', MAX_MOVES)\n" +
    "  redis.call('ZREM', permits, unpack(ended))\n" +
    "  for _, member in ipairs(ended) do used = math.max(0, used - weightOf(member)) end\n" +
    "  isChanged, hasMore = true, #ended == MAX_MOVES\n" +
    "end\n" +
    "-- Whether a contender listens to its channel here. Asked before a grant is published: what is published to somebody who\n" +
    "-- listens to a replica, or still to a former master, arrives there but isn't counted. The count of PUBLISH would then say\n" +
    "-- that nobody has it, the next one would be granted the same, and both would believe it. Expects publish.\n" +
    "local function isHeard(channel)\n" +
    "  return redis.call('PUBSUB', publish == 'SPUBLISH' and 'SHARDNUMSUB' or 'NUMSUB', channel)[2] > 0\n" +
    "end\n" +
    "-- Grants from the head of the queue for as long as the head fits: a heavy request at the head holds up the light ones\n" +
    "-- behind it, or it would never get its turn. Stands behind semaphore.expire.part.lua. Expects permits, queue, publish,\n" +
    "-- isHeard, isQueued, which becomes false if nobody waits and permits may be taken. O((granted + 1) · log n).\n" +
    "isQueued = true\n" +
    "local moves, channels = 0, nil\n" +
    "while used < limit and now >= lostUntil do\n" +
    "  local head = redis.call('ZRANGE', queue, '0', '0')[1]\n" +
    "  isQueued = head ~= nil\n" +
    "  if not isQueued then break end\n" +
    "  hasMore = hasMore or moves == MAX_MOVES\n" +
    "  if moves == MAX_MOVES then break end\n" +
    "  moves = moves + 1\n" +
    "  local contender, waiter, claimMs, weight = string.match(head, '^([^.]+)%.([^.]+)%.([1-9]%d*)%.([1-9]%d*)$')\n" +
    "  weight = tonumber(weight)\n" +
    "  local isTooHeavy = weight and weight > limit\n" +
    "  if weight and not isTooHeavy and used + weight > limit then break end\n" +
    "  redis.call('ZREM', queue, head)\n" +
    "  if weight then\n" +
    "    channels = channels or string.gsub(permits, 'permits$', 'permits-grant:')\n" +
    "    -- Nobody listens for one whose process is gone: the next one takes its place.\n" +
    "    if isHeard(channels .. contender) then\n" +
    "      local message = isTooHeavy and string.format('%s:!%.0f', waiter, limit)\n" +
    "        or string.format('%s:%.0f:%.0f:%s.%.0f', waiter, mint(), now, claimMs, weight)\n" +
    "      redis.call(publish, channels .. contender, message)\n" +
    "      if not isTooHeavy then hold(head, now + claimMs * 1000, weight) end\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "-- Ends what semaphore.change.part.lua began. Expects permits, state.\n" +
    "if isChanged then\n" +
    "  local packed = cmsgpack.pack(limit, used, token, at, ahead, began, lostUntil, heard)\n" +
    "  if hasNewPermits or isNew then\n" +
    "    redis.call('SET', state, packed, 'PX', KEEP_MS)\n" +
    "  else\n" +
    "    redis.call('SET', state, packed, 'KEEPTTL')\n" +
    "  end\n" +
    "  if hasNewPermits then redis.call('PEXPIRE', permits, KEEP_MS) end\n" +
    "end\n" +
    "-- When the next permit may come free: ms, -1 if this call left something to do, -2 if all are free. Expects permits, and\n" +
    "-- what semaphore.change.part.lua declares.\n" +
    "local remainingMs = -2\n" +
    "if hasMore then\n" +
    "  remainingMs = -1\n" +
    "elseif now < lostUntil then\n" +
    "  remainingMs = math.ceil((lostUntil - now) / 1000)\n" +
    "else\n" +
    "  firstEnd = firstEnd or tonumber(redis.call('ZRANGE', permits, '0', '0', 'WITHSCORES')[2])\n" +
    "  if firstEnd then remainingMs = math.ceil((firstEnd - now) / 1000) end\n" +
    "end\n" +
    "\n" +
    "replies[2] = remainingMs\n" +
    "return replies\n",
} as const);

export const semaphoreRelease = new Script({
  name: "semaphore.release",
  isReadOnly: false,
  keys: ["permits","queue","state"],
  args: ["publish"],
  restArg: "leavers",
  source: "#!lua flags=allow-oom\n" +
    "-- Takes out those who leave, holders and waiters, and grants what came free to the first who wait. Repeating a call\n" +
    "-- is safe. O((leavers + expired + granted) · log n).\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   permits      ZSET holder -> end of its lease (µs); 7 days from the last grant or renewal\n" +
    "--   queue        ZSET waiter -> its place; 60 s from the last arrival or re-check\n" +
    "--   state        STRING, see semaphore.state.part.lua; 7 days from the last grant, renewal or new limit\n" +
    "-- ARGV\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "--   leavers...   three for each: member, its fencing token (0: none, or its lease is over in its own eyes), leaseMs (ms)\n" +
    "-- RETURNS\n" +
    "--   1 if there is more to grant (call recheck), else 0; then for each leaver: 1 if it held its permits, else 0\n" +
    "local permits, queue, state = KEYS[1], KEYS[2], KEYS[3]\n" +
    "local publish = ARGV[1]\n" +
    "local callerLimit = '0'\n" +
    "\n" +
    "-- The state of a semaphore, and its clock. Expects permits, state, callerLimit ('0': the caller knows none).\n" +
    "-- The state is a STRING of eight numbers: limit, used permits, the last fencing token, the last instant of the clock and\n" +
    "-- what it runs ahead of the server's, when the state began, until when nothing is granted because what was known before\n" +
    "-- it was lost, how many permits of lost holders were heard of since; instants in µs. MessagePack takes 32 bytes and\n" +
    "-- 0.4 µs, text 60 bytes and 2.5 µs, and a HASH needs an EXPIRE of its own.\n" +
    "-- Anchored at the front, a pattern is found in half the time.\n" +
    "local function weightOf(member)\n" +
    "  return tonumber(string.match(member, '^[^.]*%.[^.]*%.[^.]*%.(%d+)$') or 1)\n" +
    "end\n" +
    "\n" +
    "local MAX_COUNTED = 10000\n" +
    "local limit, used, token, at, ahead, began, lostUntil, heard = cmsgpack.unpack(redis.call('GET', state) or '')\n" +
    "local isNew = not limit\n" +
    "local isFresh = isNew\n" +
    "if isNew then\n" +
    "  limit, used, token, at, ahead, began, lostUntil, heard = 0, 0, 0, 0, 0, 0, 0, 0\n" +
    "  -- The state may be gone without the permits (evicted): nobody is lost then.\n" +
    "  for _, member in ipairs(redis.call('ZRANGE', permits, '0', MAX_COUNTED - 1)) do used = used + weightOf(member) end\n" +
    "  isFresh = used == 0\n" +
    "end\n" +
    "-- Who renews or releases may have come under an earlier limit; one that was lost is set by the next who acquires.\n" +
    "if limit == 0 and callerLimit ~= '0' then\n" +
    "  limit = tonumber(callerLimit)\n" +
    "  if heard >= limit then lostUntil = 0 end\n" +
    "end\n" +
    "\n" +
    "local now = 0\n" +
    "-- The server's clock, but that it never goes back: when that of the server does, permits would outlast their leases by\n" +
    "-- as much. It then goes on from where it was.\n" +
    "local function clock()\n" +
    "  if now > 0 then return now end\n" +
    "  local time = redis.call('TIME')\n" +
    "  now = time[1] * 1000000 + time[2] + ahead\n" +
    "  if now < at then\n" +
    "    ahead = ahead + at - now\n" +
    "    now = at\n" +
    "  end\n" +
    "  at = now\n" +
    "  if isFresh then began = now end\n" +
    "  return now\n" +
    "end\n" +
    "-- What those scripts begin with that change a semaphore; semaphore.save.part.lua ends them. Expects permits, and what\n" +
    "-- semaphore.state.part.lua declares. Parts that are needed once are no functions: nine closures cost 1.3 µs a call.\n" +
    "local KEEP_MS = '604800000'\n" +
    "-- What one call may free or grant; callers go on while there is more.\n" +
    "local MAX_MOVES = 100\n" +
    "-- `hasNewPermits`: leases are new or longer.\n" +
    "local isChanged, hasNewPermits, hasMore = false, false, false\n" +
    "-- When the first lease ends, if that is known.\n" +
    "local firstEnd\n" +
    "-- Those that were not counted would be held for nothing; they come back as lost ones do.\n" +
    "if isNew and used > 0 then redis.call('ZREMRANGEBYRANK', permits, MAX_COUNTED, '-1') end\n" +
    "\n" +
    "local function mint()\n" +
    "  token = math.max(now, token) + 1\n" +
    "  return token\n" +
    "end\n" +
    "\n" +
    "-- Returns false for one that holds already.\n" +
    "local function hold(member, ends, weight)\n" +
    "  if redis.call('ZADD', permits, 'NX', ends, member) == 0 then return false end\n" +
    "  used, isChanged, hasNewPermits = used + weight, true, true\n" +
    "  firstEnd = firstEnd and math.min(firstEnd, ends)\n" +
    "  return true\n" +
    "end\n" +
    "-- Expects what semaphore.change.part.lua declares.\n" +
    "-- Whether a stamp (token or place) proves that the state which it was given by was lost. Then there may be holders that\n" +
    "-- nobody knows: nothing is granted until as many permits as there are were heard of (weight: how many are, with this), or\n" +
    "-- until the leases of their holders, taken to be as long as this one, must be over.\n" +
    "local function isWitness(stamp, leaseMs, weight)\n" +
    "  if stamp == 0 or not (isFresh or stamp < began) then return false end\n" +
    "  -- One that can't have been given would be the floor of all further tokens. The clock may have been set back a day.\n" +
    "  if stamp < 1000000000000000 or stamp - clock() > 86400000000 then return false end\n" +
    "  local till = began + leaseMs * 1000\n" +
    "  if till <= now then return false end\n" +
    "  token, heard, isChanged = math.max(token, stamp), heard + weight, true\n" +
    "  lostUntil = (limit == 0 or heard < limit) and math.max(lostUntil, till) or 0\n" +
    "  return true\n" +
    "end\n" +
    "\n" +
    "local hasLeft, isQueued\n" +
    "local replies = {0}\n" +
    "for i = 2, #ARGV, 3 do\n" +
    "  local member, isSure = ARGV[i], ARGV[i + 1] ~= '0'\n" +
    "  local isHolder\n" +
    "  -- A permit may be past its end and nobody has noticed: who isn't sure to have it has lost it.\n" +
    "  local ends = not isSure and redis.call('ZSCORE', permits, member)\n" +
    "  if redis.call('ZREM', permits, member) == 1 then\n" +
    "    used, isChanged, hasLeft = math.max(0, used - weightOf(member)), true, true\n" +
    "    isHolder = isSure or tonumber(ends) > clock()\n" +
    "  elseif redis.call('ZREM', queue, member) == 1 then\n" +
    "    hasLeft = true\n" +
    "  else\n" +
    "    isHolder = isWitness(tonumber(ARGV[i + 1]), ARGV[i + 2], weightOf(member))\n" +
    "    hasLeft = hasLeft or isHolder\n" +
    "  end\n" +
    "  replies[#replies + 1] = isHolder and 1 or 0\n" +
    "end\n" +
    "if hasLeft and redis.call('EXISTS', queue) == 1 then\n" +
    "-- Frees the permits whose leases are over. Expects permits, and what semaphore.change.part.lua declares.\n" +
    "clock()\n" +
    "firstEnd = used > 0 and tonumber(redis.call('ZRANGE', permits, '0', '0', 'WITHSCORES')[2])\n" +
    "if firstEnd == nil then\n" +
    "  -- The permits are gone without the state: nothing is granted for the default lease, or until they were heard of.\n" +
    "  used, began, lostUntil, heard, isChanged = 0, now, now + 10000000, 0, true\n" +
    "elseif firstEnd and firstEnd <= now then\n" +
    "  firstEnd = nil\n" +
    "  local ended = redis.call('ZRANGE', permits, '-inf', now, 'BYSCORE', 'LIMIT', '0', MAX_MOVES)\n" +
    "  redis.call('ZREM', permits, unpack(ended))\n" +
    "  for _, member in ipairs(ended) do used = math.max(0, used - weightOf(member)) end\n" +
    "  isChanged, hasMore = true, #ended == MAX_MOVES\n" +
    "end\n" +
    "-- Whether a contender listens to its channel here. Asked before a grant is published: what is published to somebody who\n" +
    "-- listens to a replica, or still to a former master, arrives there but isn't counted. The count of PUBLISH would then say\n" +
    "-- that nobody has it, the next one would be granted the same, and both would believe it. Expects publish.\n" +
    "local function isHeard(channel)\n" +
    "  return redis.call('PUBSUB', publish == 'SPUBLISH' and 'SHARDNUMSUB' or 'NUMSUB', channel)[2] > 0\n" +
    "end\n" +
    "-- Grants from the head of the queue for as long as the head fits: a heavy request at the head holds up the light ones\n" +
    "-- behind it, or it would never get its turn. Stands behind semaphore.expire.part.lua. Expects permits, queue, publish,\n" +
    "-- isHeard, isQueued, which becomes false if nobody waits and permits may be taken. O((granted + 1) · log n).\n" +
    "isQueued = true\n" +
    "local moves, channels = 0, nil\n" +
    "while used < limit and now >= lostUntil do\n" +
    "  local head = redis.call('ZRANGE', queue, '0', '0')[1]\n" +
    "  isQueued = head ~= nil\n" +
    "  if not isQueued then break end\n" +
    "  hasMore = hasMore or moves == MAX_MOVES\n" +
    "  if moves == MAX_MOVES then break end\n" +
    "  moves = moves + 1\n" +
    "  local contender, waiter, claimMs, weight = string.match(head, '^([^.]+)%.([^.]+)%.([1-9]%d*)%.([1-9]%d*)$')\n" +
    "  weight = tonumber(weight)\n" +
    "  local isTooHeavy = weight and weight > limit\n" +
    "  if weight and not isTooHeavy and used + weight > limit then break end\n" +
    "  redis.call('ZREM', queue, head)\n" +
    "  if weight then\n" +
    "    channels = channels or string.gsub(permits, 'permits$', 'permits-grant:')\n" +
    "    -- Nobody listens for one whose process is gone: the next one takes its place.\n" +
    "    if isHeard(channels .. contender) then\n" +
    "      local message = isTooHeavy and string.format('%s:!%.0f', waiter, limit)\n" +
    "        or string.format('%s:%.0f:%.0f:%s.%.0f', waiter, mint(), now, claimMs, weight)\n" +
    "      redis.call(publish, channels .. contender, message)\n" +
    "      if not isTooHeavy then hold(head, now + claimMs * 1000, weight) end\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "end\n" +
    "-- Ends what semaphore.change.part.lua began. Expects permits, state.\n" +
    "if isChanged then\n" +
    "  local packed = cmsgpack.pack(limit, used, token, at, ahead, began, lostUntil, heard)\n" +
    "  if hasNewPermits or isNew then\n" +
    "    redis.call('SET', state, packed, 'PX', KEEP_MS)\n" +
    "  else\n" +
    "    redis.call('SET', state, packed, 'KEEPTTL')\n" +
    "  end\n" +
    "  if hasNewPermits then redis.call('PEXPIRE', permits, KEEP_MS) end\n" +
    "end\n" +
    "\n" +
    "replies[1] = hasMore and 1 or 0\n" +
    "return replies\n",
} as const);

export const semaphoreRenew = new Script({
  name: "semaphore.renew",
  isReadOnly: false,
  keys: ["permits","state"],
  args: [],
  restArg: "holders",
  source: "#!lua flags=allow-oom\n" +
    "-- Lengthens the leases of holders that still have their permits; it never shortens one, so a repeated or overtaken call\n" +
    "-- does no harm. When the state of the semaphore was lost (FLUSHALL, a failover), a holder with a token gets its permits\n" +
    "-- back as long as they fit. Grants nothing: those who wait look themselves when a lease ends. O(holders · log n).\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   permits      ZSET holder -> end of its lease (µs); 7 days from the last grant or renewal\n" +
    "--   state        STRING, see semaphore.state.part.lua; 7 days from the last grant, renewal or new limit\n" +
    "-- ARGV\n" +
    "--   holders...   three for each: member, leaseMs (ms from now), its fencing token (0: none)\n" +
    "-- RETURNS\n" +
    "--   for each holder: 1 if it has its permits, else 0\n" +
    "local permits, state = KEYS[1], KEYS[2]\n" +
    "local callerLimit = '0'\n" +
    "\n" +
    "-- The state of a semaphore, and its clock. Expects permits, state, callerLimit ('0': the caller knows none).\n" +
    "-- The state is a STRING of eight numbers: limit, used permits, the last fencing token, the last instant of the clock and\n" +
    "-- what it runs ahead of the server's, when the state began, until when nothing is granted because what was known before\n" +
    "-- it was lost, how many permits of lost holders were heard of since; instants in µs. MessagePack takes 32 bytes and\n" +
    "-- 0.4 µs, text 60 bytes and 2.5 µs, and a HASH needs an EXPIRE of its own.\n" +
    "-- Anchored at the front, a pattern is found in half the time.\n" +
    "local function weightOf(member)\n" +
    "  return tonumber(string.match(member, '^[^.]*%.[^.]*%.[^.]*%.(%d+)$') or 1)\n" +
    "end\n" +
    "\n" +
    "local MAX_COUNTED = 10000\n" +
    "local limit, used, token, at, ahead, began, lostUntil, heard = cmsgpack.unpack(redis.call('GET', state) or '')\n" +
    "local isNew = not limit\n" +
    "local isFresh = isNew\n" +
    "if isNew then\n" +
    "  limit, used, token, at, ahead, began, lostUntil, heard = 0, 0, 0, 0, 0, 0, 0, 0\n" +
    "  -- The state may be gone without the permits (evicted): nobody is lost then.\n" +
    "  for _, member in ipairs(redis.call('ZRANGE', permits, '0', MAX_COUNTED - 1)) do used = used + weightOf(member) end\n" +
    "  isFresh = used == 0\n" +
    "end\n" +
    "-- Who renews or releases may have come under an earlier limit; one that was lost is set by the next who acquires.\n" +
    "if limit == 0 and callerLimit ~= '0' then\n" +
    "  limit = tonumber(callerLimit)\n" +
    "  if heard >= limit then lostUntil = 0 end\n" +
    "end\n" +
    "\n" +
    "local now = 0\n" +
    "-- The server's clock, but that it never goes back: when that of the server does, permits would outlast their leases by\n" +
    "-- as much. It then goes on from where it was.\n" +
    "local function clock()\n" +
    "  if now > 0 then return now end\n" +
    "  local time = redis.call('TIME')\n" +
    "  now = time[1] * 1000000 + time[2] + ahead\n" +
    "  if now < at then\n" +
    "    ahead = ahead + at - now\n" +
    "    now = at\n" +
    "  end\n" +
    "  at = now\n" +
    "  if isFresh then began = now end\n" +
    "  return now\n" +
    "end\n" +
    "-- What those scripts begin with that change a semaphore; semaphore.save.part.lua ends them. Expects permits, and what\n" +
    "-- semaphore.state.part.lua declares. Parts that are needed once are no functions: nine closures cost 1.3 µs a call.\n" +
    "local KEEP_MS = '604800000'\n" +
    "-- What one call may free or grant; callers go on while there is more.\n" +
    "local MAX_MOVES = 100\n" +
    "-- `hasNewPermits`: leases are new or longer.\n" +
    "local isChanged, hasNewPermits, hasMore = false, false, false\n" +
    "-- When the first lease ends, if that is known.\n" +
    "local firstEnd\n" +
    "-- Those that were not counted would be held for nothing; they come back as lost ones do.\n" +
    "if isNew and used > 0 then redis.call('ZREMRANGEBYRANK', permits, MAX_COUNTED, '-1') end\n" +
    "\n" +
    "local function mint()\n" +
    "  token = math.max(now, token) + 1\n" +
    "  return token\n" +
    "end\n" +
    "\n" +
    "-- Returns false for one that holds already.\n" +
    "local function hold(member, ends, weight)\n" +
    "  if redis.call('ZADD', permits, 'NX', ends, member) == 0 then return false end\n" +
    "  used, isChanged, hasNewPermits = used + weight, true, true\n" +
    "  firstEnd = firstEnd and math.min(firstEnd, ends)\n" +
    "  return true\n" +
    "end\n" +
    "-- Expects what semaphore.change.part.lua declares.\n" +
    "-- Whether a stamp (token or place) proves that the state which it was given by was lost. Then there may be holders that\n" +
    "-- nobody knows: nothing is granted until as many permits as there are were heard of (weight: how many are, with this), or\n" +
    "-- until the leases of their holders, taken to be as long as this one, must be over.\n" +
    "local function isWitness(stamp, leaseMs, weight)\n" +
    "  if stamp == 0 or not (isFresh or stamp < began) then return false end\n" +
    "  -- One that can't have been given would be the floor of all further tokens. The clock may have been set back a day.\n" +
    "  if stamp < 1000000000000000 or stamp - clock() > 86400000000 then return false end\n" +
    "  local till = began + leaseMs * 1000\n" +
    "  if till <= now then return false end\n" +
    "  token, heard, isChanged = math.max(token, stamp), heard + weight, true\n" +
    "  lostUntil = (limit == 0 or heard < limit) and math.max(lostUntil, till) or 0\n" +
    "  return true\n" +
    "end\n" +
    "\n" +
    "clock()\n" +
    "local hasLooked\n" +
    "local replies = {}\n" +
    "for i = 1, #ARGV, 3 do\n" +
    "  local member, leaseMs, stamp = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2])\n" +
    "  local ends = now + leaseMs * 1000\n" +
    "  local heldUntil = redis.call('ZSCORE', permits, member)\n" +
    "  local isHolder = heldUntil and tonumber(heldUntil) > now\n" +
    "  if isHolder then\n" +
    "    redis.call('ZADD', permits, 'GT', ends, member)\n" +
    "    isChanged, hasNewPermits = true, true\n" +
    "  elseif not heldUntil and stamp > 0 then\n" +
    "    if not hasLooked then\n" +
    "-- Frees the permits whose leases are over. Expects permits, and what semaphore.change.part.lua declares.\n" +
    "clock()\n" +
    "firstEnd = used > 0 and tonumber(redis.call('ZRANGE', permits, '0', '0', 'WITHSCORES')[2])\n" +
    "if firstEnd == nil then\n" +
    "  -- The permits are gone without the state: nothing is granted for the default lease, or until they were heard of.\n" +
    "  used, began, lostUntil, heard, isChanged = 0, now, now + 10000000, 0, true\n" +
    "elseif firstEnd and firstEnd <= now then\n" +
    "  firstEnd = nil\n" +
    "  local ended = redis.call('ZRANGE', permits, '-inf', now, 'BYSCORE', 'LIMIT', '0', MAX_MOVES)\n" +
    "  redis.call('ZREM', permits, unpack(ended))\n" +
    "  for _, member in ipairs(ended) do used = math.max(0, used - weightOf(member)) end\n" +
    "  isChanged, hasMore = true, #ended == MAX_MOVES\n" +
    "end\n" +
    "      hasLooked = true\n" +
    "    end\n" +
    "    local weight = weightOf(member)\n" +
    "    isHolder = isWitness(stamp, leaseMs, weight) and (limit == 0 or used + weight <= limit)\n" +
    "    if isHolder then hold(member, ends, weight) end\n" +
    "  end\n" +
    "  replies[#replies + 1] = isHolder and 1 or 0\n" +
    "end\n" +
    "-- Ends what semaphore.change.part.lua began. Expects permits, state.\n" +
    "if isChanged then\n" +
    "  local packed = cmsgpack.pack(limit, used, token, at, ahead, began, lostUntil, heard)\n" +
    "  if hasNewPermits or isNew then\n" +
    "    redis.call('SET', state, packed, 'PX', KEEP_MS)\n" +
    "  else\n" +
    "    redis.call('SET', state, packed, 'KEEPTTL')\n" +
    "  end\n" +
    "  if hasNewPermits then redis.call('PEXPIRE', permits, KEEP_MS) end\n" +
    "end\n" +
    "\n" +
    "return replies\n",
} as const);

export const semaphoreSetPermits = new Script({
  name: "semaphore.set-permits",
  isReadOnly: false,
  keys: ["permits","queue","state"],
  args: ["publish","callerLimit"],
  source: "#!lua flags=allow-oom\n" +
    "-- Sets the limit, and grants what fits now. Below the number of used permits nobody loses any, and nothing is granted\n" +
    "-- until it fits. Those who wait for more than the limit are refused when they come to the head of the queue, or by\n" +
    "-- their next re-check. Repeating a call is safe. O((expired + granted) · log n).\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   permits      ZSET holder -> end of its lease (µs); 7 days from the last grant or renewal\n" +
    "--   queue        ZSET waiter -> its place; 60 s from the last arrival or re-check\n" +
    "--   state        STRING, see semaphore.state.part.lua; 7 days from the last grant, renewal or new limit\n" +
    "-- ARGV\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "--   callerLimit  the new limit\n" +
    "-- RETURNS\n" +
    "--   1 if there is more to grant (call recheck), else 0\n" +
    "local permits, queue, state = KEYS[1], KEYS[2], KEYS[3]\n" +
    "local publish, callerLimit = ARGV[1], ARGV[2]\n" +
    "\n" +
    "-- The state of a semaphore, and its clock. Expects permits, state, callerLimit ('0': the caller knows none).\n" +
    "-- The state is a STRING of eight numbers: limit, used permits, the last fencing token, the last instant of the clock and\n" +
    "-- what it runs ahead of the server's, when the state began, until when nothing is granted because what was known before\n" +
    "-- it was lost, how many permits of lost holders were heard of since; instants in µs. MessagePack takes 32 bytes and\n" +
    "-- 0.4 µs, text 60 bytes and 2.5 µs, and a HASH needs an EXPIRE of its own.\n" +
    "-- Anchored at the front, a pattern is found in half the time.\n" +
    "local function weightOf(member)\n" +
    "  return tonumber(string.match(member, '^[^.]*%.[^.]*%.[^.]*%.(%d+)$') or 1)\n" +
    "end\n" +
    "\n" +
    "local MAX_COUNTED = 10000\n" +
    "local limit, used, token, at, ahead, began, lostUntil, heard = cmsgpack.unpack(redis.call('GET', state) or '')\n" +
    "local isNew = not limit\n" +
    "local isFresh = isNew\n" +
    "if isNew then\n" +
    "  limit, used, token, at, ahead, began, lostUntil, heard = 0, 0, 0, 0, 0, 0, 0, 0\n" +
    "  -- The state may be gone without the permits (evicted): nobody is lost then.\n" +
    "  for _, member in ipairs(redis.call('ZRANGE', permits, '0', MAX_COUNTED - 1)) do used = used + weightOf(member) end\n" +
    "  isFresh = used == 0\n" +
    "end\n" +
    "-- Who renews or releases may have come under an earlier limit; one that was lost is set by the next who acquires.\n" +
    "if limit == 0 and callerLimit ~= '0' then\n" +
    "  limit = tonumber(callerLimit)\n" +
    "  if heard >= limit then lostUntil = 0 end\n" +
    "end\n" +
    "\n" +
    "local now = 0\n" +
    "-- The server's clock, but that it never goes back: when that of the server does, permits would outlast their leases by\n" +
    "-- as much. It then goes on from where it was.\n" +
    "local function clock()\n" +
    "  if now > 0 then return now end\n" +
    "  local time = redis.call('TIME')\n" +
    "  now = time[1] * 1000000 + time[2] + ahead\n" +
    "  if now < at then\n" +
    "    ahead = ahead + at - now\n" +
    "    now = at\n" +
    "  end\n" +
    "  at = now\n" +
    "  if isFresh then began = now end\n" +
    "  return now\n" +
    "end\n" +
    "-- What those scripts begin with that change a semaphore; semaphore.save.part.lua ends them. Expects permits, and what\n" +
    "-- semaphore.state.part.lua declares. Parts that are needed once are no functions: nine closures cost 1.3 µs a call.\n" +
    "local KEEP_MS = '604800000'\n" +
    "-- What one call may free or grant; callers go on while there is more.\n" +
    "local MAX_MOVES = 100\n" +
    "-- `hasNewPermits`: leases are new or longer.\n" +
    "local isChanged, hasNewPermits, hasMore = false, false, false\n" +
    "-- When the first lease ends, if that is known.\n" +
    "local firstEnd\n" +
    "-- Those that were not counted would be held for nothing; they come back as lost ones do.\n" +
    "if isNew and used > 0 then redis.call('ZREMRANGEBYRANK', permits, MAX_COUNTED, '-1') end\n" +
    "\n" +
    "local function mint()\n" +
    "  token = math.max(now, token) + 1\n" +
    "  return token\n" +
    "end\n" +
    "\n" +
    "-- Returns false for one that holds already.\n" +
    "local function hold(member, ends, weight)\n" +
    "  if redis.call('ZADD', permits, 'NX', ends, member) == 0 then return false end\n" +
    "  used, isChanged, hasNewPermits = used + weight, true, true\n" +
    "  firstEnd = firstEnd and math.min(firstEnd, ends)\n" +
    "  return true\n" +
    "end\n" +
    "\n" +
    "limit, isChanged = tonumber(callerLimit), true\n" +
    "local isQueued\n" +
    "-- Frees the permits whose leases are over. Expects permits, and what semaphore.change.part.lua declares.\n" +
    "clock()\n" +
    "firstEnd = used > 0 and tonumber(redis.call('ZRANGE', permits, '0', '0', 'WITHSCORES')[2])\n" +
    "if firstEnd == nil then\n" +
    "  -- The permits are gone without the state: nothing is granted for the default lease, or until they were heard of.\n" +
    "  used, began, lostUntil, heard, isChanged = 0, now, now + 10000000, 0, true\n" +
    "elseif firstEnd and firstEnd <= now then\n" +
    "  firstEnd = nil\n" +
    "  local ended = redis.call('ZRANGE', permits, '-inf', now, 'BYSCORE', 'LIMIT', '0', MAX_MOVES)\n" +
    "  redis.call('ZREM', permits, unpack(ended))\n" +
    "  for _, member in ipairs(ended) do used = math.max(0, used - weightOf(member)) end\n" +
    "  isChanged, hasMore = true, #ended == MAX_MOVES\n" +
    "end\n" +
    "-- Whether a contender listens to its channel here. Asked before a grant is published: what is published to somebody who\n" +
    "-- listens to a replica, or still to a former master, arrives there but isn't counted. The count of PUBLISH would then say\n" +
    "-- that nobody has it, the next one would be granted the same, and both would believe it. Expects publish.\n" +
    "local function isHeard(channel)\n" +
    "  return redis.call('PUBSUB', publish == 'SPUBLISH' and 'SHARDNUMSUB' or 'NUMSUB', channel)[2] > 0\n" +
    "end\n" +
    "-- Grants from the head of the queue for as long as the head fits: a heavy request at the head holds up the light ones\n" +
    "-- behind it, or it would never get its turn. Stands behind semaphore.expire.part.lua. Expects permits, queue, publish,\n" +
    "-- isHeard, isQueued, which becomes false if nobody waits and permits may be taken. O((granted + 1) · log n).\n" +
    "isQueued = true\n" +
    "local moves, channels = 0, nil\n" +
    "while used < limit and now >= lostUntil do\n" +
    "  local head = redis.call('ZRANGE', queue, '0', '0')[1]\n" +
    "  isQueued = head ~= nil\n" +
    "  if not isQueued then break end\n" +
    "  hasMore = hasMore or moves == MAX_MOVES\n" +
    "  if moves == MAX_MOVES then break end\n" +
    "  moves = moves + 1\n" +
    "  local contender, waiter, claimMs, weight = string.match(head, '^([^.]+)%.([^.]+)%.([1-9]%d*)%.([1-9]%d*)$')\n" +
    "  weight = tonumber(weight)\n" +
    "  local isTooHeavy = weight and weight > limit\n" +
    "  if weight and not isTooHeavy and used + weight > limit then break end\n" +
    "  redis.call('ZREM', queue, head)\n" +
    "  if weight then\n" +
    "    channels = channels or string.gsub(permits, 'permits$', 'permits-grant:')\n" +
    "    -- Nobody listens for one whose process is gone: the next one takes its place.\n" +
    "    if isHeard(channels .. contender) then\n" +
    "      local message = isTooHeavy and string.format('%s:!%.0f', waiter, limit)\n" +
    "        or string.format('%s:%.0f:%.0f:%s.%.0f', waiter, mint(), now, claimMs, weight)\n" +
    "      redis.call(publish, channels .. contender, message)\n" +
    "      if not isTooHeavy then hold(head, now + claimMs * 1000, weight) end\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "-- Ends what semaphore.change.part.lua began. Expects permits, state.\n" +
    "if isChanged then\n" +
    "  local packed = cmsgpack.pack(limit, used, token, at, ahead, began, lostUntil, heard)\n" +
    "  if hasNewPermits or isNew then\n" +
    "    redis.call('SET', state, packed, 'PX', KEEP_MS)\n" +
    "  else\n" +
    "    redis.call('SET', state, packed, 'KEEPTTL')\n" +
    "  end\n" +
    "  if hasNewPermits then redis.call('PEXPIRE', permits, KEEP_MS) end\n" +
    "end\n" +
    "\n" +
    "redis.call('PEXPIRE', state, KEEP_MS)\n" +
    "return hasMore and 1 or 0\n",
} as const);
