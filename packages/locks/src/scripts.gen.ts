// Made from the .lua files of this folder by `npm run scripts`. Edit those.
import { Script } from '@mortise/redis';

export const mutexAcquire = new Script({
  name: "mutex.acquire",
  isReadOnly: false,
  keys: ["lease","token","queue"],
  args: [],
  restArg: "requests",
  source: "#!lua\n" +
    "-- Gives the free lock to the first request that may have it; the others join the queue in their order, or are\n" +
    "-- refused. A fair request leaves a free lock to those who queue already: then remainingMs is -2, and the caller\n" +
    "-- has to re-check. Repeating a request is safe: the holder gets a token again, a waiter keeps its place.\n" +
    "-- O(requests · log waiters).\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   lease        STRING holder; until the lease ends\n" +
    "--   token        STRING last fencing token; 7 days from the last grant\n" +
    "--   queue        ZSET waiter -> its place; 60 s from the last arrival or re-check\n" +
    "-- ARGV\n" +
    "--   requests...  three for each: member, leaseMs (ms), mode. Fair modes are 'wait' and 'try'; 'barge' and 'grab' do the\n" +
    "--                same past those who queue\n" +
    "-- RETURNS\n" +
    "--   now (µs), remaining lease (ms, -2 if the lock is free), then two for each request:\n" +
    "--     1, fencing token    it holds the lock\n" +
    "--     2, place            it waits; the place is max(now, last place + 1)\n" +
    "--     0, 0                refused\n" +
    "local lease, token, queue = KEYS[1], KEYS[2], KEYS[3]\n" +
    "local TOKEN_MS, QUEUE_MS = '604800000', '60000'\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000000 + time[2]\n" +
    "local isQueued = redis.call('EXISTS', queue) == 1\n" +
    "local hasArrivals, isHeld, lastPlace\n" +
    "local replies = {now, 0}\n" +
    "for i = 1, #ARGV, 3 do\n" +
    "  local member, mode = ARGV[i], ARGV[i + 2]\n" +
    "  local outcome, value = 0, 0\n" +
    "  local holder, isTaken\n" +
    "  if isQueued and (mode == 'wait' or mode == 'try') then\n" +
    "    holder = redis.call('GET', lease)\n" +
    "  else\n" +
    "    holder = redis.call('SET', lease, member, 'NX', 'GET', 'PX', ARGV[i + 1])\n" +
    "    isTaken = not holder\n" +
    "  end\n" +
    "  if isTaken or holder == member then\n" +
    "    -- Not INCR: a token that follows the clock goes on rising when its key was lost, and so the key may expire.\n" +
    "    outcome, value = 1, now\n" +
    "    local last = redis.call('SET', token, string.format('%.0f', now), 'PX', TOKEN_MS, 'GET')\n" +
    "    if last and tonumber(last) >= now then\n" +
    "      value = last + 1\n" +
    "      redis.call('SET', token, string.format('%.0f', value), 'PX', TOKEN_MS)\n" +
    "    end\n" +
    "    if not isTaken then redis.call('PEXPIRE', lease, ARGV[i + 1], 'GT') end\n" +
    "    if isQueued then redis.call('ZREM', queue, member) end\n" +
    "  else\n" +
    "    isHeld = true\n" +
    "    if mode == 'wait' or mode == 'barge' then\n" +
    "      lastPlace = lastPlace or tonumber(redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2] or 0)\n" +
    "      outcome, value = 2, math.max(now, lastPlace + 1)\n" +
    "      if redis.call('ZADD', queue, 'NX', string.format('%.0f', value), member) == 1 then\n" +
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
    "if hasArrivals then redis.call('PEXPIRE', queue, QUEUE_MS) end\n" +
    "if isHeld then replies[2] = redis.call('PTTL', lease) end\n" +
    "return replies\n",
} as const);

export const mutexInspect = new Script({
  name: "mutex.inspect",
  isReadOnly: true,
  keys: ["lease","token","queue"],
  args: [],
  source: "#!lua flags=no-writes\n" +
    "-- The state of a lock. O(1).\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   lease        STRING holder\n" +
    "--   token        STRING last fencing token\n" +
    "--   queue        ZSET waiter -> its place\n" +
    "-- RETURNS\n" +
    "--   the holder or nil, the last fencing token or 0, remaining lease (ms, -2 if the lock is free), waiters\n" +
    "local lease, token, queue = KEYS[1], KEYS[2], KEYS[3]\n" +
    "local holder = redis.call('GET', lease)\n" +
    "return {\n" +
    "  holder,\n" +
    "  tonumber(redis.call('GET', token) or 0),\n" +
    "  redis.call('PTTL', lease),\n" +
    "  redis.call('ZCARD', queue),\n" +
    "}\n",
} as const);

export const mutexRecheck = new Script({
  name: "mutex.recheck",
  isReadOnly: false,
  keys: ["lease","token","queue"],
  args: ["publish"],
  restArg: "waiters",
  source: "#!lua flags=allow-oom\n" +
    "-- Repairs what a lost message, a lost queue or a dead holder left behind: waiters that are missing from the queue get\n" +
    "-- their old places back, a waiter that was granted the lock and doesn't know it has its claim lengthened and is told,\n" +
    "-- and a lock without a holder goes to the first waiter. Repeating a call is safe. O((waiters + dead) · log queue).\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   lease        STRING holder; until the lease ends\n" +
    "--   token        STRING last fencing token; 7 days from the last grant\n" +
    "--   queue        ZSET waiter -> its place; 60 s from the last arrival or re-check\n" +
    "-- ARGV\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "--   waiters...   two for each: place, member\n" +
    "-- RETURNS\n" +
    "--   now (µs), remaining lease (ms, -2 if the lock is free), how many waiters were missing,\n" +
    "--   the number of the waiter that holds the lock (from 1; 0 if none does), its fencing token or 0\n" +
    "local lease, token, queue = KEYS[1], KEYS[2], KEYS[3]\n" +
    "local publish = ARGV[1]\n" +
    "-- What one call may drop of waiters whose process is gone; the next re-check goes on.\n" +
    "local MAX_DEAD, TOKEN_MS, QUEUE_MS = 100, '604800000', '60000'\n" +
    "\n" +
    "-- The same text stands in mutex.release.lua; a test compares them.\n" +
    "local function handOn(isFair)\n" +
    "  if redis.call('EXISTS', queue) == 0 then return redis.call('DEL', lease) end\n" +
    "  local time = redis.call('TIME')\n" +
    "  local now = time[1] * 1000000 + time[2]\n" +
    "  local minted = math.max(now, (redis.call('GET', token) or 0) + 1)\n" +
    "  local grant = isFair and string.format('%.0f:%.0f', minted, now) or ''\n" +
    "  local channels = string.gsub(lease, 'lease$', 'grant:')\n" +
    "  if not isFair then redis.call('DEL', lease) end\n" +
    "  for _ = 1, MAX_DEAD do\n" +
    "    local head = redis.call('ZRANGE', queue, 0, 0)[1]\n" +
    "    if not head then break end\n" +
    "    local contender, waiter, claimMs = string.match(head, '^([^.]+)%.([^.]+)%.([1-9]%d*)$')\n" +
    "    local isAlive = contender and redis.call(publish, channels .. contender, waiter .. ':' .. grant) > 0\n" +
    "    if isAlive and not isFair then return end\n" +
    "    redis.call('ZPOPMIN', queue)\n" +
    "    if isAlive then\n" +
    "      redis.call('SET', lease, head, 'PX', claimMs)\n" +
    "      redis.call('SET', token, string.format('%.0f', minted), 'PX', TOKEN_MS)\n" +
    "      return\n" +
    "    end\n" +
    "  end\n" +
    "  redis.call('DEL', lease)\n" +
    "end\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000000 + time[2]\n" +
    "local holder = redis.call('GET', lease)\n" +
    "local missing, granted, grantedToken = 0, 0, 0\n" +
    "for i = 2, #ARGV, 2 do\n" +
    "  local place, member = ARGV[i], ARGV[i + 1]\n" +
    "  if member == holder then\n" +
    "    granted = i / 2\n" +
    "    redis.call('PEXPIRE', lease, string.match(member, '%d+$'), 'GT')\n" +
    "    grantedToken = tonumber(redis.call('GET', token) or 0)\n" +
    "    if grantedToken == 0 then\n" +
    "      grantedToken = now\n" +
    "      redis.call('SET', token, string.format('%.0f', now), 'PX', TOKEN_MS)\n" +
    "    end\n" +
    "  else\n" +
    "    missing = missing + redis.call('ZADD', queue, 'NX', place, member)\n" +
    "  end\n" +
    "end\n" +
    "if #ARGV > 1 then redis.call('PEXPIRE', queue, QUEUE_MS) end\n" +
    "if not holder then handOn(true) end\n" +
    "return {now, redis.call('PTTL', lease), missing, granted, grantedToken}\n",
} as const);

export const mutexRelease = new Script({
  name: "mutex.release",
  isReadOnly: false,
  keys: ["lease","token","queue"],
  args: ["publish"],
  restArg: "leavers",
  source: "#!lua flags=allow-oom\n" +
    "-- Takes out those who leave: a waiter leaves the queue, the holder hands the lock on. A holder that is fair makes the\n" +
    "-- first waiter the holder, here and now: the message is the grant. One that is not frees the lock and only wakes the\n" +
    "-- first waiter, so that whoever comes first takes it. Repeating a call is safe. O((leavers + dead) · log waiters).\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   lease        STRING holder; until the lease ends\n" +
    "--   token        STRING last fencing token; 7 days from the last grant\n" +
    "--   queue        ZSET waiter -> its place; 60 s from the last arrival or re-check\n" +
    "-- ARGV\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "--   leavers...   two for each: member ('*': whoever holds the lock), isFair ('1' or '0')\n" +
    "-- RETURNS\n" +
    "--   for each leaver: 1 if it held the lock, else 0\n" +
    "local lease, token, queue = KEYS[1], KEYS[2], KEYS[3]\n" +
    "local publish = ARGV[1]\n" +
    "-- What one call may drop of waiters whose process is gone; the next re-check goes on.\n" +
    "local MAX_DEAD, TOKEN_MS = 100, '604800000'\n" +
    "\n" +
    "-- The same text stands in mutex.recheck.lua; a test compares them.\n" +
    "local function handOn(isFair)\n" +
    "  if redis.call('EXISTS', queue) == 0 then return redis.call('DEL', lease) end\n" +
    "  local time = redis.call('TIME')\n" +
    "  local now = time[1] * 1000000 + time[2]\n" +
    "  local minted = math.max(now, (redis.call('GET', token) or 0) + 1)\n" +
    "  local grant = isFair and string.format('%.0f:%.0f', minted, now) or ''\n" +
    "  local channels = string.gsub(lease, 'lease$', 'grant:')\n" +
    "  if not isFair then redis.call('DEL', lease) end\n" +
    "  for _ = 1, MAX_DEAD do\n" +
    "    local head = redis.call('ZRANGE', queue, 0, 0)[1]\n" +
    "    if not head then break end\n" +
    "    local contender, waiter, claimMs = string.match(head, '^([^.]+)%.([^.]+)%.([1-9]%d*)$')\n" +
    "    local isAlive = contender and redis.call(publish, channels .. contender, waiter .. ':' .. grant) > 0\n" +
    "    if isAlive and not isFair then return end\n" +
    "    redis.call('ZPOPMIN', queue)\n" +
    "    if isAlive then\n" +
    "      redis.call('SET', lease, head, 'PX', claimMs)\n" +
    "      redis.call('SET', token, string.format('%.0f', minted), 'PX', TOKEN_MS)\n" +
    "      return\n" +
    "    end\n" +
    "  end\n" +
    "  redis.call('DEL', lease)\n" +
    "end\n" +
    "\n" +
    "local holder = redis.call('GET', lease)\n" +
    "local isFair\n" +
    "local replies = {}\n" +
    "for i = 2, #ARGV, 2 do\n" +
    "  local member = ARGV[i]\n" +
    "  local isHolder = holder and (member == holder or member == '*')\n" +
    "  if isHolder then\n" +
    "    isFair = ARGV[i + 1]\n" +
    "  else\n" +
    "    redis.call('ZREM', queue, member)\n" +
    "  end\n" +
    "  replies[#replies + 1] = isHolder and 1 or 0\n" +
    "end\n" +
    "if isFair then handOn(isFair == '1') end\n" +
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
    "-- does no harm. O(leases).\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   leases...    STRING holder; until the lease ends\n" +
    "-- ARGV\n" +
    "--   terms...     two for each lease: member, leaseMs (ms from now)\n" +
    "-- RETURNS\n" +
    "--   for each lease: 1 if the member holds the lock, else 0\n" +
    "local replies = {}\n" +
    "for i = 1, #KEYS do\n" +
    "  local member, leaseMs = ARGV[2 * i - 1], ARGV[2 * i]\n" +
    "  local isHolder = redis.call('GET', KEYS[i]) == member\n" +
    "  if isHolder then redis.call('PEXPIRE', KEYS[i], leaseMs, 'GT') end\n" +
    "  replies[i] = isHolder and 1 or 0\n" +
    "end\n" +
    "return replies\n",
} as const);
