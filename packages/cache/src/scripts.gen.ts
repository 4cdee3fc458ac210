// Made from the .lua files of this folder by `npm run scripts`. Edit those.
import { Script } from '@mortise/redis';

export const cacheClaim = new Script({
  name: "cache.claim",
  isReadOnly: false,
  keys: ["seq"],
  args: ["leaseMs","channel"],
  restKey: "entries",
  restArg: "entries",
  source: "#!lua\n" +
    "-- Tells readers who found no usable value what to do for each entry: take what was stored meanwhile, load it under the\n" +
    "-- lease that they get, or wait for the one who has the lease. A lease that is older than the version of a tag of the entry\n" +
    "-- is worth nothing, since what is loaded under it is not stored: it goes to the next who asks.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   seq         STRING, the latest token; until a day after it\n" +
    "--   entries...  for each entry: its value (STRING, until it expires), its lease (STRING: the token, then the channels to wake,\n" +
    "--               one a line; until leaseMs) and the tags that it is known to get (STRING: a token as their version)\n" +
    "-- ARGV\n" +
    "--   leaseMs     ms\n" +
    "--   channel     where this process hears that an entry is loaded, or '' if it doesn't listen\n" +
    "--   entries...  for each entry two: the first 8 bytes of the value that was read, or ''; the number of its tags\n" +
    "-- RETURNS\n" +
    "--   the server's time (ms); then two for each entry: 1 and a value that was not seen, or 2 and the token of the lease,\n" +
    "--   or 3 and, as text, for how long the lease of somebody else still runs (ms) and its token\n" +
    "local seq = KEYS[1]\n" +
    "local leaseMs, channel = ARGV[1], ARGV[2]\n" +
    "\n" +
    "-- Channels in one lease; a process beyond that looks again when the lease ends.\n" +
    "local MAX_BYTES = 16384\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)\n" +
    "-- Expects: seq, now (ms), time (the reply of TIME). Tokens and versions of tags come from one counter, so each says what came\n" +
    "-- before what; it follows the clock, so that one that is lost doesn't begin again below what it has given out.\n" +
    "local function nextToken()\n" +
    "  local last = tonumber(redis.call('GET', seq) or 0)\n" +
    "  local token = string.format('%.0f', math.max(last + 1, tonumber(time[1]) * 1000000 + tonumber(time[2])))\n" +
    "  redis.call('SET', seq, token, 'PX', 86400000)\n" +
    "  return token\n" +
    "end\n" +
    "\n" +
    "local replies = { now }\n" +
    "local key = 2\n" +
    "for index = 3, #ARGV, 2 do\n" +
    "  local value, lease, tags = KEYS[key], KEYS[key + 1], tonumber(ARGV[index + 1])\n" +
    "  local found = redis.call('GET', value)\n" +
    "  local isNew = found and string.sub(found, 1, 8) ~= ARGV[index]\n" +
    "  local held = not isNew and redis.call('GET', lease)\n" +
    "  local holder = held and string.match(held, '^[^\\n" +
    "]*')\n" +
    "  local isVoid = false\n" +
    "  for tag = key + 2, key + 1 + tags do\n" +
    "    local version = held and not isVoid and redis.call('GET', KEYS[tag])\n" +
    "    isVoid = isVoid or (version and tonumber(version) > tonumber(holder))\n" +
    "  end\n" +
    "  if held and not isVoid then\n" +
    "    if channel ~= '' and #held < MAX_BYTES and not string.find(held, '\\n" +
    "' .. channel .. '\\n" +
    "', 1, true) then\n" +
    "      redis.call('APPEND', lease, channel .. '\\n" +
    "')\n" +
    "    end\n" +
    "    replies[#replies + 1] = 3\n" +
    "    replies[#replies + 1] = math.max(1, redis.call('PTTL', lease)) .. ' ' .. holder\n" +
    "  elseif isNew then\n" +
    "    replies[#replies + 1] = 1\n" +
    "    replies[#replies + 1] = found\n" +
    "  else\n" +
    "    local token = nextToken()\n" +
    "    -- Who waits for the old lease waits for the new one from now on.\n" +
    "    redis.call('SET', lease, token .. (held and string.sub(held, #holder + 1) or '\\n" +
    "'), 'PX', leaseMs)\n" +
    "    replies[#replies + 1] = 2\n" +
    "    replies[#replies + 1] = token\n" +
    "  end\n" +
    "  key = key + 2 + tags\n" +
    "end\n" +
    "return replies\n",
} as const);

export const cacheDelete = new Script({
  name: "cache.delete",
  isReadOnly: false,
  keys: ["changes","heard"],
  args: ["publish","announces"],
  restKey: "entries",
  source: "#!lua flags=allow-oom\n" +
    "-- Removes entries, and the leases of loads that are under way: what those bring is not stored.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   changes     STRING, the number of the latest announcement; until a day after it\n" +
    "--   heard       channel of near tiers; not a key\n" +
    "--   entries...  for each entry two: its value (STRING, until it expires) and its lease (STRING, until leaseMs)\n" +
    "-- ARGV\n" +
    "--   publish     PUBLISH or SPUBLISH\n" +
    "--   announces   1 if near tiers are told of changes by message\n" +
    "-- RETURNS\n" +
    "--   for each entry 1 if it had a value, else 0\n" +
    "local changes, heard = KEYS[1], KEYS[2]\n" +
    "local publish, announces = ARGV[1], ARGV[2]\n" +
    "\n" +
    "-- Expects: changes, heard, publish, announces. One numbered message for what a script has changed: a near tier that\n" +
    "-- misses a number drops what it has. Lines are names of keys, which have no line ends.\n" +
    "local function announce(names)\n" +
    "  if announces == '1' and #names > 0 then\n" +
    "    local number = redis.call('INCR', changes)\n" +
    "    redis.call('PEXPIRE', changes, 86400000)\n" +
    "    redis.call(publish, heard, '*:' .. number .. '\\n" +
    "' .. table.concat(names, '\\n" +
    "'))\n" +
    "  end\n" +
    "end\n" +
    "-- Expects: publish. Ends a lease, and wakes the processes that have noted their channels in it.\n" +
    "local function wake(value, lease, held)\n" +
    "  redis.call('DEL', lease)\n" +
    "  local isToken = true\n" +
    "  for channel in string.gmatch(held, '[^\\n" +
    "]+') do\n" +
    "    if not isToken then\n" +
    "      redis.call(publish, channel, '*:' .. value)\n" +
    "    end\n" +
    "    isToken = false\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local replies, changed = {}, {}\n" +
    "for index = 3, #KEYS, 2 do\n" +
    "  local value, lease = KEYS[index], KEYS[index + 1]\n" +
    "  local held = redis.call('GET', lease)\n" +
    "  replies[#replies + 1] = redis.call('UNLINK', value)\n" +
    "  changed[#changed + 1] = value\n" +
    "  if held then\n" +
    "    wake(value, lease, held)\n" +
    "  end\n" +
    "end\n" +
    "announce(changed)\n" +
    "return replies\n",
} as const);

export const cacheInvalidate = new Script({
  name: "cache.invalidate",
  isReadOnly: false,
  keys: ["seq","changes","heard"],
  args: ["publish","announces","keepMs"],
  restKey: "tags",
  source: "#!lua flags=allow-oom\n" +
    "-- Gives tags a new version: entries with an older token are not read any more, and loads under an older lease not stored.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   seq         STRING, the latest token; until a day after it\n" +
    "--   changes     STRING, the number of the latest announcement; until a day after it\n" +
    "--   heard       channel of near tiers; not a key\n" +
    "--   tags...     STRING, a token as the version; until no entry or lease can be older\n" +
    "-- ARGV\n" +
    "--   publish     PUBLISH or SPUBLISH\n" +
    "--   announces   1 if near tiers are told of changes by message\n" +
    "--   keepMs      ms, longer than any lease\n" +
    "-- RETURNS\n" +
    "--   the server's time, ms\n" +
    "local seq, changes, heard = KEYS[1], KEYS[2], KEYS[3]\n" +
    "local publish, announces, keepMs = ARGV[1], ARGV[2], tonumber(ARGV[3])\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)\n" +
    "-- Expects: seq, now (ms), time (the reply of TIME). Tokens and versions of tags come from one counter, so each says what came\n" +
    "-- before what; it follows the clock, so that one that is lost doesn't begin again below what it has given out.\n" +
    "local function nextToken()\n" +
    "  local last = tonumber(redis.call('GET', seq) or 0)\n" +
    "  local token = string.format('%.0f', math.max(last + 1, tonumber(time[1]) * 1000000 + tonumber(time[2])))\n" +
    "  redis.call('SET', seq, token, 'PX', 86400000)\n" +
    "  return token\n" +
    "end\n" +
    "-- Expects: changes, heard, publish, announces. One numbered message for what a script has changed: a near tier that\n" +
    "-- misses a number drops what it has. Lines are names of keys, which have no line ends.\n" +
    "local function announce(names)\n" +
    "  if announces == '1' and #names > 0 then\n" +
    "    local number = redis.call('INCR', changes)\n" +
    "    redis.call('PEXPIRE', changes, 86400000)\n" +
    "    redis.call(publish, heard, '*:' .. number .. '\\n" +
    "' .. table.concat(names, '\\n" +
    "'))\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local changed = {}\n" +
    "for index = 4, #KEYS do\n" +
    "  local leftMs = redis.call('PTTL', KEYS[index])\n" +
    "  redis.call('SET', KEYS[index], nextToken(), 'PX', math.max(keepMs, leftMs))\n" +
    "  changed[#changed + 1] = KEYS[index]\n" +
    "end\n" +
    "announce(changed)\n" +
    "return now\n",
} as const);

export const cacheRenew = new Script({
  name: "cache.renew",
  isReadOnly: false,
  keys: [],
  args: ["leaseMs"],
  restKey: "leases",
  restArg: "tokens",
  source: "#!lua\n" +
    "-- Lets leases run on whose loads still run.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   leases...   STRING: the token, then channels to wake; until leaseMs\n" +
    "-- ARGV\n" +
    "--   leaseMs     ms\n" +
    "--   tokens...   of each lease\n" +
    "-- RETURNS\n" +
    "--   for each lease 1 if it held, else 0\n" +
    "local leaseMs = ARGV[1]\n" +
    "\n" +
    "local replies = {}\n" +
    "for index = 2, #ARGV do\n" +
    "  local lease = KEYS[index - 1]\n" +
    "  local token = ARGV[index] .. '\\n" +
    "'\n" +
    "  local held = redis.call('GET', lease)\n" +
    "  local isHeld = held and string.sub(held, 1, #token) == token\n" +
    "  if isHeld then\n" +
    "    redis.call('PEXPIRE', lease, leaseMs)\n" +
    "  end\n" +
    "  replies[#replies + 1] = isHeld and 1 or 0\n" +
    "end\n" +
    "return replies\n",
} as const);

export const cacheStore = new Script({
  name: "cache.store",
  isReadOnly: false,
  keys: ["seq","changes","heard"],
  args: ["publish","announces"],
  restKey: "entries",
  restArg: "entries",
  source: "#!lua\n" +
    "-- Stores entries: those that were loaded only while their lease holds and none of their tags was invalidated after it was\n" +
    "-- given, others whatever the lease. Either way the lease ends, and who waited for it is woken.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   seq         STRING, the latest token; until a day after it\n" +
    "--   changes     STRING, the number of the latest announcement; until a day after it\n" +
    "--   heard       channel of near tiers; not a key\n" +
    "--   entries...  for each entry: its value (STRING: token, time of storing, body; until keepMs), its lease (STRING, until\n" +
    "--               leaseMs) and its tags (STRING: a token as their version; until twice the keepMs of the entry that lasts longest)\n" +
    "-- ARGV\n" +
    "--   publish     PUBLISH or SPUBLISH\n" +
    "--   announces   1 if near tiers are told of changes by message\n" +
    "--   entries...  for each entry five: the token of its lease, or '' for one without; keepMs, or 0 to store nothing; restMs, for\n" +
    "--               how long nobody gets the lease when nothing is stored; the body; the number of its tags\n" +
    "-- RETURNS\n" +
    "--   the server's time (ms), then for each entry 1 if it was stored, else 0\n" +
    "local seq, changes, heard = KEYS[1], KEYS[2], KEYS[3]\n" +
    "local publish, announces = ARGV[1], ARGV[2]\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)\n" +
    "-- Expects: seq, now (ms), time (the reply of TIME). Tokens and versions of tags come from one counter, so each says what came\n" +
    "-- before what; it follows the clock, so that one that is lost doesn't begin again below what it has given out.\n" +
    "local function nextToken()\n" +
    "  local last = tonumber(redis.call('GET', seq) or 0)\n" +
    "  local token = string.format('%.0f', math.max(last + 1, tonumber(time[1]) * 1000000 + tonumber(time[2])))\n" +
    "  redis.call('SET', seq, token, 'PX', 86400000)\n" +
    "  return token\n" +
    "end\n" +
    "-- Expects: changes, heard, publish, announces. One numbered message for what a script has changed: a near tier that\n" +
    "-- misses a number drops what it has. Lines are names of keys, which have no line ends.\n" +
    "local function announce(names)\n" +
    "  if announces == '1' and #names > 0 then\n" +
    "    local number = redis.call('INCR', changes)\n" +
    "    redis.call('PEXPIRE', changes, 86400000)\n" +
    "    redis.call(publish, heard, '*:' .. number .. '\\n" +
    "' .. table.concat(names, '\\n" +
    "'))\n" +
    "  end\n" +
    "end\n" +
    "-- Expects: publish. Ends a lease, and wakes the processes that have noted their channels in it.\n" +
    "local function wake(value, lease, held)\n" +
    "  redis.call('DEL', lease)\n" +
    "  local isToken = true\n" +
    "  for channel in string.gmatch(held, '[^\\n" +
    "]+') do\n" +
    "    if not isToken then\n" +
    "      redis.call(publish, channel, '*:' .. value)\n" +
    "    end\n" +
    "    isToken = false\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local replies, changed = { now }, {}\n" +
    "local key = 4\n" +
    "for index = 3, #ARGV, 5 do\n" +
    "  local value, lease = KEYS[key], KEYS[key + 1]\n" +
    "  local token, keepMs, restMs = ARGV[index], tonumber(ARGV[index + 1]), tonumber(ARGV[index + 2])\n" +
    "  local body, tags = ARGV[index + 3], tonumber(ARGV[index + 4])\n" +
    "  local held = redis.call('GET', lease)\n" +
    "  local isHeld = token == '' or (held and string.sub(held, 1, #token + 1) == token .. '\\n" +
    "')\n" +
    "  local isStored = isHeld and keepMs > 0\n" +
    "  if token == '' then\n" +
    "    token = nextToken()\n" +
    "  end\n" +
    "  for tag = key + 2, key + 1 + tags do\n" +
    "    local version = isStored and redis.call('GET', KEYS[tag])\n" +
    "    isStored = isStored and not (version and tonumber(version) > tonumber(token))\n" +
    "  end\n" +
    "  if isStored then\n" +
    "    for tag = key + 2, key + 1 + tags do\n" +
    "      local leftMs = redis.call('PTTL', KEYS[tag])\n" +
    "      if leftMs == -2 then\n" +
    "        redis.call('SET', KEYS[tag], token, 'PX', 2 * keepMs)\n" +
    "      elseif leftMs < keepMs then\n" +
    "        redis.call('PEXPIRE', KEYS[tag], 2 * keepMs)\n" +
    "      end\n" +
    "    end\n" +
    "    redis.call('SET', value, struct.pack('>dd', tonumber(token), now) .. body, 'PX', keepMs)\n" +
    "    changed[#changed + 1] = value\n" +
    "  end\n" +
    "  if isHeld and held then\n" +
    "    if not isStored and restMs > 0 then\n" +
    "      redis.call('PEXPIRE', lease, restMs)\n" +
    "    else\n" +
    "      wake(value, lease, held)\n" +
    "    end\n" +
    "  end\n" +
    "  replies[#replies + 1] = isStored and 1 or 0\n" +
    "  key = key + 2 + tags\n" +
    "end\n" +
    "announce(changed)\n" +
    "return replies\n",
} as const);

export const cacheTime = new Script({
  name: "cache.time",
  isReadOnly: true,
  keys: ["seq"],
  args: [],
  source: "#!lua flags=no-writes\n" +
    "-- Reads the clock that the expiries of a shard run by.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   seq  STRING, the latest token, which is not read: it says which node is asked\n" +
    "-- RETURNS\n" +
    "--   the server's time, ms\n" +
    "local seq = KEYS[1]\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)\n",
} as const);

export const changeFeedMark = new Script({
  name: "change-feed.mark",
  isReadOnly: false,
  keys: ["due","wake"],
  args: ["publish"],
  restArg: "ids",
  source: "#!lua\n" +
    "-- Makes rows due now that have changed in the database. A row that is being loaded keeps its lease: a row that changes faster than\n" +
    "-- it can be loaded would otherwise never be stored. It is due at once if it is marked again after that load.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   due   ZSET row id -> when it is due, ms, or the end of its lease; until idle\n" +
    "--   wake  channel of the refreshers that sleep; not a key\n" +
    "-- ARGV\n" +
    "--   publish  PUBLISH or SPUBLISH\n" +
    "--   ids...   of the rows\n" +
    "-- RETURNS\n" +
    "--   for each row: 0 if it isn't scheduled, 1 if it is due, 2 if it is being loaded\n" +
    "local due, wake = KEYS[1], KEYS[2]\n" +
    "local publish = ARGV[1]\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)\n" +
    "\n" +
    "local head = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')[2]\n" +
    "local scores = redis.call('ZMSCORE', due, unpack(ARGV, 2))\n" +
    "local replies, marks = {}, {}\n" +
    "for index = 2, #ARGV do\n" +
    "  local id, score = ARGV[index], scores[index - 1]\n" +
    "  local at = score and tonumber(score)\n" +
    "  if not at then\n" +
    "    replies[index - 1] = 0\n" +
    "  elseif at > now and at % 1 ~= 0 then\n" +
    "    -- Leases end at half a millisecond.\n" +
    "    replies[index - 1] = 2\n" +
    "  else\n" +
    "    replies[index - 1] = 1\n" +
    "    if at > now then\n" +
    "      marks[#marks + 1] = string.format('%d', now)\n" +
    "      marks[#marks + 1] = id\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "if #marks > 0 then\n" +
    "  redis.call('ZADD', due, 'XX', unpack(marks))\n" +
    "  -- Refreshers sleep until the head is due; while it is, they are awake.\n" +
    "  if tonumber(head) > now then\n" +
    "    redis.call(publish, wake, '*:')\n" +
    "  end\n" +
    "end\n" +
    "return replies\n",
} as const);

export const changeFeedRelease = new Script({
  name: "change-feed.release",
  isReadOnly: false,
  keys: ["feed"],
  args: ["publish","token"],
  source: "#!lua\n" +
    "-- Gives the lease of a change feed back, so that another one need not wait for its end.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   feed  STRING, the token of the holder; and the channel of those that wait\n" +
    "-- ARGV\n" +
    "--   publish  PUBLISH or SPUBLISH\n" +
    "--   token    of the one that had it\n" +
    "-- RETURNS\n" +
    "--   1 if it still had it, else 0\n" +
    "local feed = KEYS[1]\n" +
    "local publish, token = ARGV[1], ARGV[2]\n" +
    "\n" +
    "if redis.call('GET', feed) ~= token then\n" +
    "  return 0\n" +
    "end\n" +
    "redis.call('UNLINK', feed)\n" +
    "redis.call(publish, feed, '*:')\n" +
    "return 1\n",
} as const);

export const changeFeedTake = new Script({
  name: "change-feed.take",
  isReadOnly: false,
  keys: ["feed"],
  args: ["token","leaseMs"],
  source: "#!lua\n" +
    "-- Takes or renews the lease of the one change feed of a table that reads its outbox.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   feed  STRING, the token of the holder; for leaseMs\n" +
    "-- ARGV\n" +
    "--   token    of the one that asks\n" +
    "--   leaseMs  ms\n" +
    "-- RETURNS\n" +
    "--   0 if it has the lease now, else the ms that another one has it for\n" +
    "local feed = KEYS[1]\n" +
    "local token, leaseMs = ARGV[1], ARGV[2]\n" +
    "\n" +
    "local holder = redis.call('GET', feed)\n" +
    "if holder and holder ~= token then\n" +
    "  return math.max(1, redis.call('PTTL', feed))\n" +
    "end\n" +
    "redis.call('SET', feed, token, 'PX', leaseMs)\n" +
    "return 0\n",
} as const);

export const refresherClaim = new Script({
  name: "refresher.claim",
  isReadOnly: false,
  keys: ["due","rows","source","lease"],
  args: ["limit","leaseMs","idleMs","isTouching","maxBackoffMs"],
  source: "#!lua\n" +
    "-- Takes rows that are due under a lease: until it ends, their score is its end, and nobody else gets them. The score is\n" +
    "-- the fencing token as well, so leases end at half a millisecond, where no due time lies, and each ends later than the last.\n" +
    "-- While the source is down, one claim in the time of a pause gets a few rows to find out whether it is back.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   due           ZSET row id -> when it is due, ms, or the end of its lease; until idle\n" +
    "--   rows          HASH row id -> when it was loaded (13 digits), head of its value (16), ms between refreshes; until idle\n" +
    "--   source        HASH, there while the source is down: failures, opensAt (ms), limit (rows); until idle\n" +
    "--   lease         STRING, the end of the latest lease and when it began; until idle\n" +
    "-- ARGV\n" +
    "--   limit         the most rows to take\n" +
    "--   leaseMs       ms\n" +
    "--   idleMs        ms until a schedule that nobody touches goes away\n" +
    "--   isTouching    '1': put that off, '0': leave it as it is\n" +
    "--   maxBackoffMs  ms, the longest pause of a row that failed\n" +
    "-- RETURNS\n" +
    "--   the end of the lease; now; when the row in the middle was due; for how long the first has been due; ms until the next\n" +
    "--   row is due (-1: no further row); 1 if this finds out about the source; then the ids, and the state of each row (false: none)\n" +
    "local due, rows, source, lease = KEYS[1], KEYS[2], KEYS[3], KEYS[4]\n" +
    "local limit, leaseMs, idleMs = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]\n" +
    "local isTouching, maxBackoffMs = ARGV[4] == '1', tonumber(ARGV[5])\n" +
    "\n" +
    "local MAX_LEASE_MS = 3600000\n" +
    "-- Clocks of masters that differ by less are in order.\n" +
    "local SKEW_MS = 1000\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)\n" +
    "local nowText = string.format('%d', now)\n" +
    "\n" +
    "local down = redis.call('HMGET', source, 'opensAt', 'limit')\n" +
    "local isProbe = false\n" +
    "if down[1] then\n" +
    "  local opensIn = tonumber(down[1]) - now\n" +
    "  -- A pause that is longer than any is one that a clock of before has set.\n" +
    "  if opensIn > 0 and opensIn <= math.max(MAX_LEASE_MS, maxBackoffMs) then\n" +
    "    return { '', nowText, nowText, 0, opensIn, 0, {}, {} }\n" +
    "  end\n" +
    "  isProbe = true\n" +
    "  limit = math.min(limit, tonumber(down[2] or 1))\n" +
    "end\n" +
    "\n" +
    "local ids = redis.call('ZRANGE', due, '-inf', nowText, 'BYSCORE', 'LIMIT', 0, limit)\n" +
    "local last = redis.call('GET', lease)\n" +
    "local lastEnd, lastBegin = string.match(last or '', '^(%S+) (%d+)$')\n" +
    "if #ids == 0 and lastBegin and tonumber(lastBegin) > now + SKEW_MS then\n" +
    "  -- The clock has run back: rows may be due later than they ever could be.\n" +
    "  local ahead = redis.call('ZRANGE', due, 0, limit - 1, 'WITHSCORES')\n" +
    "  for index = 1, #ahead, 2 do\n" +
    "    local inMs = tonumber(ahead[index + 1]) - now\n" +
    "    local state = redis.call('HGET', rows, ahead[index])\n" +
    "    local isLeased = inMs % 1 ~= 0\n" +
    "    local longest = isLeased and MAX_LEASE_MS or math.max(tonumber(string.sub(state or '', 30)) or 0, maxBackoffMs)\n" +
    "    if inMs > longest + SKEW_MS then\n" +
    "      ids[#ids + 1] = ahead[index]\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local token, middle, lateMs = '', nowText, 0\n" +
    "if #ids > 0 then\n" +
    "  local scores = redis.call('ZMSCORE', due, ids[1], ids[math.ceil(#ids / 2)])\n" +
    "  lateMs = math.max(0, math.floor(now - tonumber(scores[1])))\n" +
    "  middle = string.format('%d', math.min(now, tonumber(scores[2])))\n" +
    "  token = string.format('%.1f', math.max(now + leaseMs + 0.5, tonumber(lastEnd or 0) + 1))\n" +
    "  local leased = {}\n" +
    "  for index = 1, #ids do\n" +
    "    leased[2 * index - 1], leased[2 * index] = token, ids[index]\n" +
    "  end\n" +
    "  redis.call('ZADD', due, 'XX', unpack(leased))\n" +
    "  local text = token .. ' ' .. nowText\n" +
    "  if last and not isTouching then\n" +
    "    redis.call('SET', lease, text, 'KEEPTTL')\n" +
    "  else\n" +
    "    redis.call('SET', lease, text, 'PX', idleMs)\n" +
    "  end\n" +
    "  if isProbe then\n" +
    "    redis.call('HSET', source, 'opensAt', string.format('%d', now + leaseMs))\n" +
    "  end\n" +
    "end\n" +
    "if isTouching then\n" +
    "  redis.call('PEXPIRE', due, idleMs)\n" +
    "  redis.call('PEXPIRE', rows, idleMs)\n" +
    "end\n" +
    "local head = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')[2]\n" +
    "local nextInMs = head and math.max(0, math.ceil(tonumber(head) - now)) or -1\n" +
    "local states = #ids > 0 and redis.call('HMGET', rows, unpack(ids)) or {}\n" +
    "return { token, nowText, middle, lateMs, nextInMs, isProbe and 1 or 0, ids, states }\n",
} as const);

export const refresherCommit = new Script({
  name: "refresher.commit",
  isReadOnly: false,
  keys: ["due","rows","failures","source","unloaded","wake"],
  args: ["publish","lease","claimed","loaded","renewed","stored","checked","firsts","idleMs","keepMs","minBackoffMs","maxBackoffMs","phase","verdict","tombstone","tombstoneMs"],
  restKey: "values",
  restArg: "outcomes",
  source: "#!lua\n" +
    "-- Stores what was loaded for rows under a lease and says when each is due again. A row whose score is no longer the lease\n" +
    "-- is left alone: it was changed, or somebody else has it since. A value that is stored already is not touched.\n" +
    "--\n" +
    "-- Redis hashes each string that comes into Lua, byte by byte. So a value that has not changed isn't sent, nothing is sent\n" +
    "-- twice, and while all leases hold, what is sent goes on as it is: the caller has made the scores and the states.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   due           ZSET row id -> when it is due, ms, or the end of its lease; until idle\n" +
    "--   rows          HASH row id -> when it was loaded (13 digits), head of its value (16), ms between refreshes; until idle\n" +
    "--   failures      HASH row id -> failed loads in a row; until idle\n" +
    "--   source        HASH, there while the source is down: failures, opensAt (ms), limit (rows); until idle\n" +
    "--   unloaded      STRING, the number of rows that were never loaded; until idle\n" +
    "--   wake          channel of the refreshers that sleep; not a key\n" +
    "--   values...     STRING, the values of the stored, the checked and the other rows, in their order; until keepMs, or 10 times\n" +
    "--                 its delay, after their expiry was last put off\n" +
    "-- ARGV\n" +
    "--   publish       PUBLISH or SPUBLISH\n" +
    "--   lease         its end, as the claim gave it\n" +
    "--   claimed       the number of rows under it that were not committed before\n" +
    "--   loaded        the number of rows that were loaded: first those whose value is renewed, then those whose value has changed,\n" +
    "--                 those whose value is looked for, and those whose value is there\n" +
    "--   renewed       of these, the number of rows whose value is stored and its expiry put off\n" +
    "--   stored        the number of rows whose value is stored, with the renewed ones; the others keep their expiry\n" +
    "--   checked       the number of rows behind these whose value is looked for\n" +
    "--   firsts        of these, the number of rows that were never loaded before\n" +
    "--   idleMs        ms until a schedule that nobody touches goes away\n" +
    "--   keepMs        ms that a value is kept without being loaded again\n" +
    "--   minBackoffMs  ms, the pause after one failure; it doubles with each\n" +
    "--   maxBackoffMs  ms\n" +
    "--   phase         a random number below 1\n" +
    "--   verdict       of the source: 'failed', 'probe failed', 'probe loaded', or 'none'\n" +
    "--   tombstone     the value of a row that is gone; '' if such a row is taken out\n" +
    "--   tombstoneMs   ms until a row that stays gone is taken out\n" +
    "--   outcomes...   of the loaded rows: when each is due and its id; then the state of each; then the value of each that is stored.\n" +
    "--                 Of each other row: its id; when it is due; its state; and '-' (it is gone), '!' (loading it failed), or '?'\n" +
    "--                 (loading failed, which says nothing of this row)\n" +
    "-- RETURNS\n" +
    "--   ms until the first row of the shard is due (-1: there is none), and the number of rows whose lease held\n" +
    "local due, rows, failures, source, unloaded, wake = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]\n" +
    "local publish, lease, claimed, loaded = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])\n" +
    "local renewed, stored, checked = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])\n" +
    "local firsts, idleMs, keepMs = tonumber(ARGV[8]), ARGV[9], tonumber(ARGV[10])\n" +
    "local minBackoffMs, maxBackoffMs, phase = tonumber(ARGV[11]), tonumber(ARGV[12]), tonumber(ARGV[13])\n" +
    "local verdict, tombstone, tombstoneMs = ARGV[14], ARGV[15], tonumber(ARGV[16])\n" +
    "\n" +
    "local outcomes = { unpack(ARGV, 17) }\n" +
    "-- What lies before the first key of a value, the first state and the first value; row 1 has its score at 1 and its id at 2.\n" +
    "local VALUE_KEYS, STATES, VALUES = 6, 2 * loaded, 3 * loaded\n" +
    "local OTHERS = VALUES + stored + 1\n" +
    "-- Of a state, and of the value: when it was loaded.\n" +
    "local EVERY, HEAD, LOADED_AT = 30, 16, 29\n" +
    "-- Steps of the golden ratio fill the unit interval evenly, however many they are.\n" +
    "local GOLDEN = 0.6180339887498949\n" +
    "\n" +
    "local call, sub, format, max, min, tonumber = redis.call, string.sub, string.format, math.max, math.min, tonumber\n" +
    "local time = call('TIME')\n" +
    "local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)\n" +
    "\n" +
    "-- Only rows of this claim have this score, so that they are counted is enough, as long as none is missing.\n" +
    "local isHeld\n" +
    "local held = loaded + (#outcomes - OTHERS + 1) / 4\n" +
    "if call('ZCOUNT', due, lease, lease) ~= claimed then\n" +
    "  isHeld, firsts = {}, 0\n" +
    "  for _, id in ipairs(call('ZRANGE', due, lease, lease, 'BYSCORE')) do\n" +
    "    isHeld[id] = true\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local keeps = {}\n" +
    "local function keepOf(state)\n" +
    "  local every = sub(state, EVERY)\n" +
    "  local keep = keeps[every]\n" +
    "  if not keep then\n" +
    "    keep = format('%d', max(keepMs, 10 * tonumber(every)))\n" +
    "    keeps[every] = keep\n" +
    "  end\n" +
    "  return keep\n" +
    "end\n" +
    "\n" +
    "local hasFailures = call('HLEN', failures) > 0\n" +
    "local states = {}\n" +
    "for row = 1, loaded do\n" +
    "  states[2 * row - 1], states[2 * row] = outcomes[2 * row], outcomes[STATES + row]\n" +
    "end\n" +
    "if loaded > 0 and not isHeld then\n" +
    "  call('ZADD', due, 'XX', unpack(outcomes, 1, STATES))\n" +
    "  call('HSET', rows, unpack(states))\n" +
    "end\n" +
    "if isHeld or hasFailures then\n" +
    "  for row = 1, loaded do\n" +
    "    local id = outcomes[2 * row]\n" +
    "    if isHeld and not isHeld[id] then\n" +
    "      held = held - 1\n" +
    "    else\n" +
    "      if isHeld then\n" +
    "        local was = call('HGET', rows, id)\n" +
    "        if was and sub(was, 1, 1) == '0' then\n" +
    "          firsts = firsts + 1\n" +
    "        end\n" +
    "        call('ZADD', due, 'XX', outcomes[2 * row - 1], id)\n" +
    "        call('HSET', rows, id, states[2 * row])\n" +
    "      end\n" +
    "      if hasFailures then\n" +
    "        call('HDEL', failures, id)\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "for row = 1, stored do\n" +
    "  if not isHeld or isHeld[outcomes[2 * row]] then\n" +
    "    local key, value = KEYS[VALUE_KEYS + row], outcomes[VALUES + row]\n" +
    "    -- An expiry is dear: it makes half of what a SET costs.\n" +
    "    if row <= renewed or not call('SET', key, value, 'XX', 'KEEPTTL') then\n" +
    "      call('SET', key, value, 'PX', keepOf(states[2 * row]))\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "-- A value that is gone although it was to be there is loaded again.\n" +
    "if checked > 0 then\n" +
    "  local keys = {}\n" +
    "  for row = stored + 1, stored + checked do\n" +
    "    keys[#keys + 1] = KEYS[VALUE_KEYS + row]\n" +
    "  end\n" +
    "  if call('EXISTS', unpack(keys)) < checked then\n" +
    "    for index, key in ipairs(keys) do\n" +
    "      local id, state = states[2 * (stored + index) - 1], states[2 * (stored + index)]\n" +
    "      if (not isHeld or isHeld[id]) and call('EXISTS', key) == 0 then\n" +
    "        call('HSET', rows, id, sub(state, 1, 13) .. string.rep('0', HEAD) .. sub(state, EVERY))\n" +
    "        call('ZADD', due, 'XX', format('%d', now), id)\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "for at = OTHERS, #outcomes, 4 do\n" +
    "  local id, dueAt, state, code = outcomes[at], outcomes[at + 1], outcomes[at + 2], outcomes[at + 3]\n" +
    "  local other = (at - OTHERS) / 4 + 1\n" +
    "  local key = KEYS[VALUE_KEYS + stored + checked + other]\n" +
    "  if isHeld and not isHeld[id] then\n" +
    "    held = held - 1\n" +
    "  elseif code == '?' then\n" +
    "    call('ZADD', due, 'XX', dueAt, id)\n" +
    "  elseif code == '!' then\n" +
    "    local failed, early = call('HINCRBY', failures, id, 1), (phase + other * GOLDEN) % 1\n" +
    "    local pause = (1 - early / 2) * min(maxBackoffMs, minBackoffMs * 2 ^ min(failed - 1, 60))\n" +
    "    call('ZADD', due, 'XX', format('%d', now + max(1, pause)), id)\n" +
    "  else\n" +
    "    local was = call('HGET', rows, id)\n" +
    "    -- A row without a state is what an evicted key leaves behind.\n" +
    "    local isOut = tombstone == '' or not was\n" +
    "    if not isOut then\n" +
    "      local old = call('GET', key)\n" +
    "      if not old or sub(old, 1, HEAD) ~= sub(tombstone, 1, HEAD) then\n" +
    "        -- Never written again, so that it tells since when the row has been gone.\n" +
    "        call('SET', key, tombstone, 'PX', format('%d', tombstoneMs + tonumber(keepOf(state))))\n" +
    "      else\n" +
    "        isOut = now - tonumber(sub(old, HEAD + 1, LOADED_AT)) >= tombstoneMs\n" +
    "      end\n" +
    "    end\n" +
    "    if was and sub(was, 1, 1) == '0' then\n" +
    "      firsts = firsts + 1\n" +
    "    end\n" +
    "    if isOut then\n" +
    "      call('ZREM', due, id)\n" +
    "      call('HDEL', rows, id)\n" +
    "      call('UNLINK', key)\n" +
    "    else\n" +
    "      call('ZADD', due, 'XX', dueAt, id)\n" +
    "      call('HSET', rows, id, state)\n" +
    "    end\n" +
    "    if hasFailures then\n" +
    "      call('HDEL', failures, id)\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "if firsts > 0 and call('DECRBY', unloaded, firsts) <= 0 then\n" +
    "  call('UNLINK', unloaded)\n" +
    "end\n" +
    "if hasFailures or OTHERS <= #outcomes then\n" +
    "  call('PEXPIRE', failures, idleMs)\n" +
    "end\n" +
    "\n" +
    "if verdict == 'probe loaded' then\n" +
    "  -- Twice as many next time, so that what has gathered doesn't fall upon a source that has just come back.\n" +
    "  local limit = 2 * tonumber(call('HGET', source, 'limit') or 1)\n" +
    "  if limit > 500 then\n" +
    "    call('UNLINK', source)\n" +
    "    call(publish, wake, '*:')\n" +
    "  else\n" +
    "    call('HSET', source, 'limit', limit, 'opensAt', 0)\n" +
    "    call('PEXPIRE', source, idleMs)\n" +
    "  end\n" +
    "elseif verdict ~= 'none' then\n" +
    "  -- Batches that were under way when it went down fail as well, and count as one.\n" +
    "  local isDown = call('EXISTS', source) == 1\n" +
    "  if not isDown or verdict == 'probe failed' then\n" +
    "    local failed = call('HINCRBY', source, 'failures', 1)\n" +
    "    local pause = max(1, (1 - phase / 2) * min(maxBackoffMs, minBackoffMs * 2 ^ min(failed - 1, 60)))\n" +
    "    call('HSET', source, 'opensAt', format('%d', now + pause), 'limit', 1)\n" +
    "    call('PEXPIRE', source, idleMs)\n" +
    "  end\n" +
    "end\n" +
    "local head = call('ZRANGE', due, 0, 0, 'WITHSCORES')[2]\n" +
    "return { head and max(0, math.ceil(tonumber(head) - now)) or -1, held }\n",
} as const);

export const rowCacheInspect = new Script({
  name: "row-cache.inspect",
  isReadOnly: true,
  keys: ["due","rows","failures","value"],
  args: ["id"],
  source: "#!lua flags=no-writes\n" +
    "-- A row and where it stands in the schedule.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   due       ZSET row id -> when it is due, ms, or the end of its lease; until idle\n" +
    "--   rows      HASH row id -> when it was loaded (13 digits, 0: never), head of its value (16), ms between refreshes; until idle\n" +
    "--   failures  HASH row id -> failed loads in a row; until idle\n" +
    "--   value     STRING, the value of the row; until it expires\n" +
    "-- ARGV\n" +
    "--   id        of the row\n" +
    "-- RETURNS\n" +
    "--   now (ms); its value, its state, when it is due (or the end of its lease) and its failures, each false if it has none\n" +
    "local due, rows, failures, value = KEYS[1], KEYS[2], KEYS[3], KEYS[4]\n" +
    "local id = ARGV[1]\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "return {\n" +
    "  string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)),\n" +
    "  redis.call('GET', value),\n" +
    "  redis.call('HGET', rows, id),\n" +
    "  redis.call('ZSCORE', due, id),\n" +
    "  redis.call('HGET', failures, id),\n" +
    "}\n",
} as const);

export const rowCachePlan = new Script({
  name: "row-cache.plan",
  isReadOnly: false,
  keys: ["due","rows","failures","unloaded","wake"],
  args: ["publish","idleMs","keepMs"],
  restKey: "values",
  restArg: "plans",
  source: "#!lua\n" +
    "-- Changes the schedule of rows: adds them, takes them out together with their values, or makes them due now. A row that is\n" +
    "-- being loaded loses its lease by that, so a result from before the change is not stored.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   due       ZSET row id -> when it is due, ms, or the end of its lease; until idle\n" +
    "--   rows      HASH row id -> when it was loaded (13 digits, 0: never), head of its value (16), ms between refreshes; until idle\n" +
    "--   failures  HASH row id -> failed loads in a row; until idle\n" +
    "--   unloaded  STRING, the number of rows that were never loaded; until idle\n" +
    "--   wake      channel of the refreshers that sleep; not a key\n" +
    "--   values...  STRING, the value of each row of `plans`, in its order; until it expires\n" +
    "-- ARGV\n" +
    "--   publish   PUBLISH or SPUBLISH\n" +
    "--   idleMs    ms until a schedule that nobody touches goes away\n" +
    "--   keepMs    ms that a value is kept without being loaded again, unless 10 times its delay is more\n" +
    "--   plans...  for each row: its id, then 'now' or ms between refreshes (0: take it out)\n" +
    "-- RETURNS\n" +
    "--   for each row: 1 if it was scheduled before, else 0\n" +
    "local due, rows, failures, unloaded, wake = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]\n" +
    "local publish, idleMs, keepMs = ARGV[1], ARGV[2], tonumber(ARGV[3])\n" +
    "\n" +
    "-- The state of a row that was never loaded has no time and no head.\n" +
    "local NEVER, NO_HEAD = string.rep('0', 29), string.rep('0', 16)\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "local now = string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000))\n" +
    "\n" +
    "local head = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')[2]\n" +
    "local hasDue, added = false, 0\n" +
    "local replies = {}\n" +
    "for index = 4, #ARGV, 2 do\n" +
    "  local id, plan, value = ARGV[index], ARGV[index + 1], KEYS[5 + (index - 2) / 2]\n" +
    "  local state = redis.call('HGET', rows, id)\n" +
    "  if plan == '0' then\n" +
    "    if state and string.sub(state, 1, 1) == '0' then\n" +
    "      added = added - 1\n" +
    "    end\n" +
    "    redis.call('ZREM', due, id)\n" +
    "    redis.call('HDEL', rows, id)\n" +
    "    redis.call('HDEL', failures, id)\n" +
    "    redis.call('UNLINK', value)\n" +
    "  elseif plan == 'now' then\n" +
    "    if state then\n" +
    "      -- Refreshers look for a value that has not changed only from time to time; without a head it is stored anew.\n" +
    "      if string.sub(state, 14, 29) ~= NO_HEAD and redis.call('EXISTS', value) == 0 then\n" +
    "        redis.call('HSET', rows, id, string.sub(state, 1, 13) .. NO_HEAD .. string.sub(state, 30))\n" +
    "      end\n" +
    "      redis.call('ZADD', due, now, id)\n" +
    "      hasDue = true\n" +
    "    end\n" +
    "  elseif not state or string.sub(state, 30) ~= plan or not redis.call('ZSCORE', due, id) then\n" +
    "    if not state then\n" +
    "      added = added + 1\n" +
    "    end\n" +
    "    local known = state and string.sub(state, 1, 29) or NEVER\n" +
    "    if state and 10 * tonumber(plan) > math.max(keepMs, 10 * tonumber(string.sub(state, 30))) then\n" +
    "      -- Its value would expire before its expiry is put off: without a head it is stored anew.\n" +
    "      known = string.sub(state, 1, 13) .. NO_HEAD\n" +
    "    end\n" +
    "    redis.call('HSET', rows, id, known .. plan)\n" +
    "    redis.call('ZADD', due, now, id)\n" +
    "    hasDue = true\n" +
    "  end\n" +
    "  replies[#replies + 1] = state and 1 or 0\n" +
    "end\n" +
    "if added ~= 0 and redis.call('INCRBY', unloaded, added) <= 0 then\n" +
    "  redis.call('UNLINK', unloaded)\n" +
    "end\n" +
    "for _, key in ipairs({ due, rows, unloaded }) do\n" +
    "  redis.call('PEXPIRE', key, idleMs)\n" +
    "end\n" +
    "-- Refreshers sleep until the head is due; while it is, they are awake.\n" +
    "if hasDue and (not head or tonumber(head) > tonumber(now)) then\n" +
    "  redis.call(publish, wake, '*:')\n" +
    "end\n" +
    "return replies\n",
} as const);

export const rowCacheStats = new Script({
  name: "row-cache.stats",
  isReadOnly: true,
  keys: ["due","failures","source","unloaded"],
  args: [],
  source: "#!lua flags=no-writes\n" +
    "-- Counts the schedule of a shard.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   due       ZSET row id -> when it is due, ms, or the end of its lease; until idle\n" +
    "--   failures  HASH row id -> failed loads in a row; until idle\n" +
    "--   source    HASH, there while the source is down; until idle\n" +
    "--   unloaded  STRING, the number of rows that were never loaded; until idle\n" +
    "-- RETURNS\n" +
    "--   the number of rows; of rows that are due; of rows whose last load failed; of rows never loaded; for how long the first\n" +
    "--   has been due (ms); failures of the source in a row\n" +
    "local due, failures, source, unloaded = KEYS[1], KEYS[2], KEYS[3], KEYS[4]\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)\n" +
    "local head = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')[2]\n" +
    "local overdue = redis.call('ZCOUNT', due, '-inf', string.format('%.0f', now))\n" +
    "return {\n" +
    "  redis.call('ZCARD', due),\n" +
    "  overdue,\n" +
    "  redis.call('HLEN', failures),\n" +
    "  tonumber(redis.call('GET', unloaded) or 0),\n" +
    "  overdue > 0 and math.max(0, now - tonumber(head)) or 0,\n" +
    "  tonumber(redis.call('HGET', source, 'failures') or 0),\n" +
    "}\n",
} as const);
