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
    "-- is worth nothing, since what is loaded under it is not stored: it goes to the next who asks. One that rests behind a load that\n" +
    "-- failed, which nobody has, goes to the next who has nothing to serve meanwhile.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   seq         STRING, the latest token; until a day after it\n" +
    "--   entries...  for each entry: its value (STRING, until it expires), its lease (STRING: the token, then the channels to wake,\n" +
    "--               one a line, or a dash while it rests; until leaseMs or restMs) and the tags that it is known to get (STRING: a token as their version)\n" +
    "-- ARGV\n" +
    "--   leaseMs     ms\n" +
    "--   channel     where this process hears that an entry is loaded, or '' if it doesn't listen\n" +
    "--   entries...  for each entry three: the first 8 bytes of the value that was read, or ''; 1 if that is served meanwhile, else 0;\n" +
    "--               the number of its tags\n" +
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
    "for index = 3, #ARGV, 3 do\n" +
    "  local value, lease, tags = KEYS[key], KEYS[key + 1], tonumber(ARGV[index + 2])\n" +
    "  local found = redis.call('GET', value)\n" +
    "  local isNew = found and string.sub(found, 1, 8) ~= ARGV[index]\n" +
    "  local held = not isNew and redis.call('GET', lease)\n" +
    "  local holder = held and string.match(held, '^[^\\n" +
    "]*')\n" +
    "  local isResting = held and string.sub(held, #holder + 1) == '\\n" +
    "-\\n" +
    "'\n" +
    "  local isVoid = isResting and ARGV[index + 1] == '0'\n" +
    "  for tag = key + 2, key + 1 + tags do\n" +
    "    local version = held and not isVoid and redis.call('GET', KEYS[tag])\n" +
    "    isVoid = isVoid or (version and tonumber(version) > tonumber(holder))\n" +
    "  end\n" +
    "  if held and not isVoid then\n" +
    "    if channel ~= '' and not isResting and #held < MAX_BYTES and not string.find(held, '\\n" +
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
    "    redis.call('SET', lease, token .. (held and not isResting and string.sub(held, #holder + 1) or '\\n" +
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
    "-- given, others whatever the lease. Either way the lease ends, or rests, and who waited for it is woken.\n" +
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
    "--               how long nobody who has a value to serve gets the lease when nothing is stored; the body; the number of its tags\n" +
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
    "    wake(value, lease, held)\n" +
    "    if not isStored and restMs > 0 then\n" +
    "      -- Instead of channels: claim knows it by that.\n" +
    "      redis.call('SET', lease, token .. '\\n" +
    "-\\n" +
    "', 'PX', restMs)\n" +
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
  keys: ["due","rows","packs","packed","suspects","hung","wake"],
  args: ["publish","idleMs"],
  restKey: "values",
  restArg: "ids",
  source: "#!lua\n" +
    "-- Makes rows due now that have changed in the database. A row that is being loaded keeps its lease: a row that changes faster than\n" +
    "-- it can be loaded would otherwise never be stored. It is due at once if it is marked again after that load. One whose lease has ended\n" +
    "-- loses it, since who has it may still bring what the row was before. A row of a pack leaves it.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   due        ZSET row id -> when it is due, ms, or the end of its lease; until idle\n" +
    "--   rows       HASH row id -> its state, or '@', its pack, ' ' and ms between refreshes; until idle\n" +
    "--   packs      ZSET pack -> when its rows are due, ms, or the end of their lease; until idle\n" +
    "--   packed     HASH pack -> when its rows were loaded (13 digits), ...; <pack>:left -> '\\n" +
    "' and the id of each that has left; until idle\n" +
    "--   suspects   ZSET id of a row whose last load failed -> when it is due, ms, or the end of its lease; until idle\n" +
    "--   hung       ZSET likewise, of rows whose query hangs; until idle\n" +
    "--   wake       channel of the refreshers that sleep; not a key\n" +
    "--   values...  STRING, the value of each row, in their order; until it expires\n" +
    "-- ARGV\n" +
    "--   publish    PUBLISH or SPUBLISH\n" +
    "--   idleMs     ms until a schedule that nobody touches goes away\n" +
    "--   ids...     of the rows\n" +
    "-- RETURNS\n" +
    "--   for each row: 0 if it isn't scheduled, 1 if it is due, 2 if it is being loaded\n" +
    "local due, rows, packs, packed = KEYS[1], KEYS[2], KEYS[3], KEYS[4]\n" +
    "local suspects, hung, wake = KEYS[5], KEYS[6], KEYS[7]\n" +
    "local publish, idleMs = ARGV[1], ARGV[2]\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)\n" +
    "local nowText = string.format('%d', now)\n" +
    "\n" +
    "local isAwake = false\n" +
    "for _, set in ipairs({ due, packs }) do\n" +
    "  local head = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')[2]\n" +
    "  isAwake = isAwake or (head and tonumber(head) <= now)\n" +
    "end\n" +
    "-- Rows whose last load failed lie apart, and stay there.\n" +
    "local sets = redis.call('EXISTS', suspects, hung) > 0 and { due, suspects, hung } or { due }\n" +
    "local scores = {}\n" +
    "for index, set in ipairs(sets) do\n" +
    "  scores[index] = redis.call('ZMSCORE', set, unpack(ARGV, 3))\n" +
    "end\n" +
    "local states\n" +
    "-- Of packs: when they are due, and when they were loaded; '' if they are gone.\n" +
    "local packScores, loadedAts = {}, {}\n" +
    "local replies, marks, unpacked, left = {}, {}, {}, {}\n" +
    "for index = 1, #scores[1] do\n" +
    "  local id, at, setIndex = ARGV[index + 2], nil, 1\n" +
    "  for each = 1, #sets do\n" +
    "    if scores[each][index] then\n" +
    "      at, setIndex = tonumber(scores[each][index]), each\n" +
    "    end\n" +
    "  end\n" +
    "  local pack, every\n" +
    "  if not at then\n" +
    "    states = states or redis.call('HMGET', rows, unpack(ARGV, 3))\n" +
    "    pack, every = string.match(states[index] or '', '^@(%S+) (%d+)$')\n" +
    "    if pack then\n" +
    "      packScores[pack] = packScores[pack] or redis.call('ZSCORE', packs, pack) or ''\n" +
    "      loadedAts[pack] = loadedAts[pack] or string.match(redis.call('HGET', packed, pack) or '', '^%d+') or ''\n" +
    "      at = loadedAts[pack] ~= '' and tonumber(packScores[pack]) or nil\n" +
    "    end\n" +
    "  end\n" +
    "  if not at then\n" +
    "    replies[index] = 0\n" +
    "  elseif at > now and at % 1 ~= 0 then\n" +
    "    -- Leases end at half a millisecond.\n" +
    "    replies[index] = 2\n" +
    "  else\n" +
    "    replies[index] = 1\n" +
    "    if at > now or at % 1 ~= 0 then\n" +
    "      marks[setIndex] = marks[setIndex] or {}\n" +
    "      table.insert(marks[setIndex], nowText)\n" +
    "      table.insert(marks[setIndex], id)\n" +
    "      if pack then\n" +
    "        local head = redis.call('GETRANGE', KEYS[index + 7], 0, 15)\n" +
    "        unpacked[#unpacked + 1] = id\n" +
    "        unpacked[#unpacked + 1] = loadedAts[pack] .. (#head == 16 and head or string.rep('0', 16)) .. every\n" +
    "        left[pack] = left[pack] or { '' }\n" +
    "        table.insert(left[pack], id)\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "if #unpacked > 0 then\n" +
    "  redis.call('HSET', rows, unpack(unpacked))\n" +
    "  for pack, ids in pairs(left) do\n" +
    "    local field = pack .. ':left'\n" +
    "    redis.call('HSET', packed, field, (redis.call('HGET', packed, field) or '') .. table.concat(ids, '\\n" +
    "'))\n" +
    "  end\n" +
    "end\n" +
    "for index, marked in pairs(marks) do\n" +
    "  redis.call('ZADD', sets[index], unpack(marked))\n" +
    "  -- For those that failed they may sleep while others are due.\n" +
    "  isAwake = isAwake and index == 1\n" +
    "end\n" +
    "if next(marks) then\n" +
    "  if #unpacked > 0 then\n" +
    "    redis.call('PEXPIRE', due, idleMs)\n" +
    "  end\n" +
    "  -- Refreshers sleep until the head is due; while it is, they are awake.\n" +
    "  if not isAwake then\n" +
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
  keys: ["due","rows","packs","packed","source","lease","suspects","hung"],
  args: ["batch","leaseMs","idleMs","isTouching","maxBackoffMs"],
  source: "#!lua\n" +
    "-- Takes rows that are due under a lease: until it ends, their score is its end, and nobody else gets them. The score is\n" +
    "-- the fencing token as well, so leases end at half a millisecond, where no due time lies, and each ends later than the last.\n" +
    "-- While the source is down, one claim in the time of a pause gets a few rows to find out whether it is back.\n" +
    "--\n" +
    "-- Rows whose last load failed lie in sets of their own and have claims of their own (refresher.retry.lua). Here is only told when they are due.\n" +
    "--\n" +
    "-- A clock that runs back, as after a failover, leaves rows further ahead than they are ever planned; leases as well. When that is seen,\n" +
    "-- each claim looks at some rows and packs behind the last ones that were looked at, and makes due what is too far ahead, until a whole round\n" +
    "-- has found nothing. Once in a second some are looked at in any case: what the clock has been is known only from claims.\n" +
    "--\n" +
    "-- Rows that were refreshed together are a pack, which is claimed as a whole; what has been due for longest comes first. But single rows stand\n" +
    "-- back for a moment: beside a full pack there is no room, and they gather meanwhile. A pack with more rows than may be taken is dissolved, one in a claim.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   due           ZSET row id -> when it is due, ms, or the end of its lease; until idle\n" +
    "--   rows          HASH row id -> when it was loaded (13 digits), head of its value (16), ms between refreshes, or '@', its pack, ' ' and these; until idle\n" +
    "--   packs         ZSET pack -> when its rows are due, ms, or the end of their lease; until idle\n" +
    "--   packed        HASH pack -> when its rows were loaded (13 digits), ' ', ms between refreshes, ' ', how many they were; <pack>:rows -> for\n" +
    "--                 each row the head of its value (16) and its id, between them '\\n" +
    "'; <pack>:left -> '\\n" +
    "' and the id of each that has left; until idle\n" +
    "--   source        HASH, there while the source is down: failures, opensAt (ms), limit (rows); until idle\n" +
    "--   lease         STRING, the end of the latest lease; when a claim last wrote this; when rows were last looked at; 2 or 1 while a clock that has run\n" +
    "--                 back is made up for (0: not); where to look on in due and in packs (a score, '/', how many with it were looked at; '-': all were);\n" +
    "--                 the last lease of the clock of before; until idle\n" +
    "--   suspects      ZSET id of a row whose last load failed -> when it is due, ms, or the end of its lease; until idle\n" +
    "--   hung          ZSET likewise, of rows whose query took long although it was for them alone; until idle\n" +
    "-- ARGV\n" +
    "--   batch         the most rows to take\n" +
    "--   leaseMs       ms\n" +
    "--   idleMs        ms until a schedule that nobody touches goes away\n" +
    "--   isTouching    '1': put that off, '0': leave it as it is\n" +
    "--   maxBackoffMs  ms, the longest pause of a row that failed\n" +
    "-- RETURNS\n" +
    "--   the end of the lease; now; when the row in the middle was due; for how long the first has been due; ms until the next\n" +
    "--   row is due (-1: no further row), until the next of the suspects is, and until the next of the hung is (-1: there is none); 1 if this finds\n" +
    "--   out about the source; then the ids, and the state of each row (false: none); then four for each pack: its name, header, rows, and those that have left\n" +
    "local due, rows, packs, packed = KEYS[1], KEYS[2], KEYS[3], KEYS[4]\n" +
    "local source, lease, suspects, hung = KEYS[5], KEYS[6], KEYS[7], KEYS[8]\n" +
    "local batch, leaseMs, idleMs = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]\n" +
    "local isTouching, maxBackoffMs = ARGV[4] == '1', tonumber(ARGV[5])\n" +
    "\n" +
    "-- Clocks of masters that differ by less are in order.\n" +
    "local SKEW_MS = 1000\n" +
    "-- Packs in one claim.\n" +
    "local MAX_PACKS = 8\n" +
    "-- How long single rows stand back.\n" +
    "local GATHER_MS = 25\n" +
    "-- How often rows are looked at that may lie too far ahead, and how many of them.\n" +
    "local LOOK_MS, LOOK_ROWS, LOOK_PACKS, LOOK_FAILED = 1000, 100, 32, 500\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)\n" +
    "local nowText = string.format('%d', now)\n" +
    "\n" +
    "-- All is well most of the time, and one command tells.\n" +
    "local isWell = redis.call('EXISTS', source, suspects, hung) == 0\n" +
    "local down = isWell and {} or redis.call('HMGET', source, 'opensAt', 'limit')\n" +
    "local limit, isProbe = batch, false\n" +
    "if down[1] then\n" +
    "  local opensIn = tonumber(down[1]) - now\n" +
    "  -- A pause that is longer than any is one that a clock of before has set.\n" +
    "  if opensIn > 0 and opensIn <= math.max(leaseMs, maxBackoffMs) + SKEW_MS then\n" +
    "    return { '', nowText, nowText, 0, opensIn, -1, -1, 0, {}, {}, {} }\n" +
    "  end\n" +
    "  isProbe = true\n" +
    "  limit = math.min(limit, tonumber(down[2] or 1))\n" +
    "end\n" +
    "\n" +
    "local failing = isWell and {} or { suspects, hung }\n" +
    "\n" +
    "local last = redis.call('GET', lease)\n" +
    "local lastEnd, begin, rest = string.match(last or '', '^(%S+) (%d+)(.*)$')\n" +
    "local lookedAt, search = string.match(rest or '', '^ (%d+) (%d)')\n" +
    "local hasRunBack = begin and tonumber(begin) > now + SKEW_MS\n" +
    "if hasRunBack or not search then\n" +
    "  lookedAt, search = nowText, hasRunBack and '2' or '0'\n" +
    "  rest = ' ' .. nowText .. ' ' .. search .. ' 0/0 0/0 ' .. (hasRunBack and lastEnd or '0')\n" +
    "end\n" +
    "\n" +
    "local isLooking = lastEnd and (search ~= '0' or now - tonumber(lookedAt) >= LOOK_MS)\n" +
    "if isLooking then\n" +
    "  local dueFrom, packsFrom, bound = string.match(rest, '(%S+) (%S+) (%S+)$')\n" +
    "  local isSearching, isAny = search ~= '0', false\n" +
    "\n" +
    "  -- Makes those due of the next `count` of a set that lie further ahead than rows with their delay are ever planned. Leases that were given\n" +
    "  -- since the clock ran back are far ahead as well, as each ends later than the last. `every` finds the delay. Returns where to go on.\n" +
    "  local function look(set, states, from, count, every)\n" +
    "    local score, skip = string.match(from, '^(.+)/(%d+)$')\n" +
    "    if not score then\n" +
    "      return from\n" +
    "    elseif tonumber(score) <= now then\n" +
    "      score, skip = '(' .. nowText, 0\n" +
    "    end\n" +
    "    local found = redis.call('ZRANGE', set, score, '+inf', 'BYSCORE', 'LIMIT', skip, count, 'WITHSCORES')\n" +
    "    if #found == 0 then\n" +
    "      return '-'\n" +
    "    end\n" +
    "    local members = {}\n" +
    "    for index = 1, #found, 2 do\n" +
    "      members[#members + 1] = found[index]\n" +
    "    end\n" +
    "    local known = redis.call('HMGET', states, unpack(members))\n" +
    "    local lastScore, same = found[#found], 0\n" +
    "    for index, member in ipairs(members) do\n" +
    "      local at = tonumber(found[2 * index])\n" +
    "      local isMoved\n" +
    "      if at % 1 ~= 0 then\n" +
    "        isMoved = at <= tonumber(bound) and at > now + leaseMs + SKEW_MS\n" +
    "      else\n" +
    "        isMoved = at > now + (tonumber(string.match(known[index] or '', every) or nil) or 0) + SKEW_MS\n" +
    "      end\n" +
    "      if isMoved then\n" +
    "        isAny = true\n" +
    "        redis.call('ZADD', set, nowText, member)\n" +
    "      elseif found[2 * index] == lastScore then\n" +
    "        same = same + 1\n" +
    "      end\n" +
    "    end\n" +
    "    return #members < count and '-' or lastScore .. '/' .. (same + (lastScore == score and skip or 0))\n" +
    "  end\n" +
    "\n" +
    "  dueFrom = look(due, rows, dueFrom, isSearching and batch or LOOK_ROWS, '^' .. string.rep('.', 29) .. '(%d+)$')\n" +
    "  packsFrom = look(packs, packed, packsFrom, LOOK_PACKS, ' (%d+) ')\n" +
    "  -- Rows that failed are as far ahead as a pause or a lease, however rarely they are refreshed.\n" +
    "  local farthest = string.format('(%.1f', now + math.max(leaseMs, maxBackoffMs) + SKEW_MS)\n" +
    "  for _, set in ipairs(failing) do\n" +
    "    local found = redis.call('ZRANGE', set, farthest, '+inf', 'BYSCORE', 'LIMIT', 0, LOOK_FAILED, 'WITHSCORES')\n" +
    "    for index = 1, #found, 2 do\n" +
    "      local at = tonumber(found[index + 1])\n" +
    "      if at % 1 == 0 then\n" +
    "        redis.call('ZADD', set, string.format('%d', now + maxBackoffMs), found[index])\n" +
    "      elseif at <= tonumber(bound) then\n" +
    "        redis.call('ZADD', set, nowText, found[index])\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "  if isAny then\n" +
    "    search = '2'\n" +
    "  end\n" +
    "  local isOver = dueFrom == '-' and packsFrom == '-'\n" +
    "  if isOver then\n" +
    "    search = search == '2' and '1' or '0'\n" +
    "  end\n" +
    "  if isOver or (isAny and not isSearching) then\n" +
    "    dueFrom, packsFrom = '0/0', '0/0'\n" +
    "  end\n" +
    "  rest = table.concat({ '', nowText, search, dueFrom, packsFrom, bound }, ' ')\n" +
    "end\n" +
    "\n" +
    "local function drop(pack)\n" +
    "  redis.call('ZREM', packs, pack)\n" +
    "  redis.call('HDEL', packed, pack, pack .. ':rows', pack .. ':left')\n" +
    "end\n" +
    "\n" +
    "local ids, names, taken, room, firstTaken, hasDissolved = {}, {}, {}, limit, nil, false\n" +
    "-- Returns false for a pack that there is no room for. The rows of the first are read at once.\n" +
    "local function takePack(pack, score)\n" +
    "  local fields = { pack, pack .. ':left', room == limit and pack .. ':rows' or nil }\n" +
    "  local found = redis.call('HMGET', packed, unpack(fields))\n" +
    "  local every, size = string.match(found[1] or '', '^%d+ (%d+) (%d+)$')\n" +
    "  if size and tonumber(size) > room and room < limit then\n" +
    "    return false\n" +
    "  end\n" +
    "  local body = found[3] or size and redis.call('HGET', packed, pack .. ':rows')\n" +
    "  local left, hasLeft = found[2] or '', {}\n" +
    "  for id in string.gmatch(left, '[^\\n" +
    "]+') do\n" +
    "    hasLeft[id] = true\n" +
    "  end\n" +
    "  local known = '@' .. pack .. ' ' .. (every or '')\n" +
    "  -- One row that is still in it proves that the schedule was not evicted since: no row is loaded that nobody could take out.\n" +
    "  local isThere = false\n" +
    "  for entry in string.gmatch(body or '', '[^\\n" +
    "]+') do\n" +
    "    local id = string.sub(entry, 17)\n" +
    "    if not hasLeft[id] then\n" +
    "      isThere = redis.call('HGET', rows, id) == known\n" +
    "      break\n" +
    "    end\n" +
    "  end\n" +
    "  if not isThere then\n" +
    "    drop(pack)\n" +
    "  elseif tonumber(size) > limit then\n" +
    "    for entry in string.gmatch(body, '[^\\n" +
    "]+') do\n" +
    "      local id = string.sub(entry, 17)\n" +
    "      if not hasLeft[id] then\n" +
    "        redis.call('HSET', rows, id, string.sub(found[1], 1, 13) .. string.sub(entry, 1, 16) .. every)\n" +
    "        -- Not its lease, if it was under one: whoever had that would take these rows for those that it has claimed.\n" +
    "        redis.call('ZADD', due, string.format('%d', math.floor(tonumber(score))), id)\n" +
    "      end\n" +
    "    end\n" +
    "    redis.call('PEXPIRE', due, idleMs)\n" +
    "    drop(pack)\n" +
    "    hasDissolved = true\n" +
    "  else\n" +
    "    room = room - tonumber(size)\n" +
    "    firstTaken = firstTaken or tonumber(score)\n" +
    "    names[#names + 1] = pack\n" +
    "    for _, part in ipairs({ pack, found[1], body, left }) do\n" +
    "      taken[#taken + 1] = part\n" +
    "    end\n" +
    "  end\n" +
    "  return true\n" +
    "end\n" +
    "\n" +
    "local function headOf(set)\n" +
    "  return redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')[2]\n" +
    "end\n" +
    "\n" +
    "local firstRow = headOf(due)\n" +
    "local function takeRows()\n" +
    "  if room <= 0 or not (hasDissolved or (firstRow and tonumber(firstRow) <= now)) then\n" +
    "    return\n" +
    "  end\n" +
    "  ids = redis.call('ZRANGE', due, '-inf', nowText, 'BYSCORE', 'LIMIT', 0, room)\n" +
    "  room = room - #ids\n" +
    "end\n" +
    "\n" +
    "local duePacks = redis.call('ZRANGE', packs, '-inf', nowText, 'BYSCORE', 'LIMIT', 0, MAX_PACKS, 'WITHSCORES')\n" +
    "local firstPack = duePacks[2]\n" +
    "local isRowFirst = firstRow and (not firstPack or tonumber(firstRow) + GATHER_MS < tonumber(firstPack))\n" +
    "if isProbe and firstRow and tonumber(firstRow) <= now then\n" +
    "  -- It has no room for packs: what one was dissolved into comes before the next.\n" +
    "  isRowFirst = true\n" +
    "end\n" +
    "if isRowFirst then\n" +
    "  takeRows()\n" +
    "end\n" +
    "for index = 1, #duePacks, 2 do\n" +
    "  -- The rows of one that is dissolved are more than may be taken.\n" +
    "  if room <= 0 or hasDissolved or not takePack(duePacks[index], duePacks[index + 1]) then\n" +
    "    break\n" +
    "  end\n" +
    "end\n" +
    "if not isRowFirst or (hasDissolved and #ids + #names == 0) then\n" +
    "  takeRows()\n" +
    "end\n" +
    "\n" +
    "local token, middle, lateMs = '', nowText, 0\n" +
    "if #ids + #names > 0 then\n" +
    "  local first, middleScore\n" +
    "  if #ids > 0 then\n" +
    "    local scores = redis.call('ZMSCORE', due, ids[1], ids[math.ceil(#ids / 2)])\n" +
    "    first, middleScore = tonumber(scores[1]), tonumber(scores[2])\n" +
    "  end\n" +
    "  if #names > 0 then\n" +
    "    first = math.min(first or firstTaken, firstTaken)\n" +
    "    -- Most rows are in packs.\n" +
    "    if 2 * #ids < limit - room then\n" +
    "      middleScore = firstTaken\n" +
    "    end\n" +
    "  end\n" +
    "  lateMs = math.max(0, math.floor(now - first))\n" +
    "  middle = string.format('%d', math.min(now, middleScore))\n" +
    "  token = string.format('%.1f', math.max(now + leaseMs + 0.5, tonumber(lastEnd or 0) + 1))\n" +
    "  for set, members in pairs({ [due] = ids, [packs] = names }) do\n" +
    "    local leased = {}\n" +
    "    for index = 1, #members do\n" +
    "      leased[2 * index - 1], leased[2 * index] = token, members[index]\n" +
    "    end\n" +
    "    if #members > 0 then\n" +
    "      redis.call('ZADD', set, 'XX', unpack(leased))\n" +
    "    end\n" +
    "  end\n" +
    "  lastEnd = token\n" +
    "  if isProbe then\n" +
    "    redis.call('HSET', source, 'opensAt', string.format('%d', now + leaseMs))\n" +
    "  end\n" +
    "end\n" +
    "if token ~= '' or isLooking then\n" +
    "  local text = lastEnd .. ' ' .. nowText .. rest\n" +
    "  if last and not isTouching then\n" +
    "    redis.call('SET', lease, text, 'KEEPTTL')\n" +
    "  else\n" +
    "    redis.call('SET', lease, text, 'PX', idleMs)\n" +
    "  end\n" +
    "end\n" +
    "if isTouching then\n" +
    "  for _, key in ipairs({ due, rows, packs, packed, unpack(failing) }) do\n" +
    "    redis.call('PEXPIRE', key, idleMs)\n" +
    "  end\n" +
    "end\n" +
    "-- What lies too far ahead is looked for without a pause.\n" +
    "local nextInMs = search == '0' and -1 or 0\n" +
    "for _, set in ipairs({ due, packs }) do\n" +
    "  -- Of rows without a pack there are none if there were none.\n" +
    "  local head = (set == packs or firstRow or hasDissolved) and headOf(set)\n" +
    "  if head then\n" +
    "    local inMs = math.max(0, math.ceil(tonumber(head) - now))\n" +
    "    nextInMs = nextInMs < 0 and inMs or math.min(nextInMs, inMs)\n" +
    "  end\n" +
    "end\n" +
    "local failingInMs = { -1, -1 }\n" +
    "for index, set in ipairs(failing) do\n" +
    "  local head = headOf(set)\n" +
    "  failingInMs[index] = head and math.max(0, math.ceil(tonumber(head) - now)) or -1\n" +
    "end\n" +
    "local states = #ids > 0 and redis.call('HMGET', rows, unpack(ids)) or {}\n" +
    "return {\n" +
    "  token,\n" +
    "  nowText,\n" +
    "  middle,\n" +
    "  lateMs,\n" +
    "  nextInMs,\n" +
    "  failingInMs[1],\n" +
    "  failingInMs[2],\n" +
    "  isProbe and 1 or 0,\n" +
    "  ids,\n" +
    "  states,\n" +
    "  taken,\n" +
    "}\n",
} as const);

export const refresherCommit = new Script({
  name: "refresher.commit",
  isReadOnly: false,
  keys: ["due","rows","packs","packed","failures","suspects","hung","source","unloaded","wake"],
  args: ["publish","lease","claimed","loaded","renewed","stored","checked","others","firsts","idAt","idleMs","keepMs","minBackoffMs","maxBackoffMs","phase","verdict","tombstone","tombstoneMs","packCount"],
  restKey: "values",
  restArg: "outcomes",
  source: "#!lua\n" +
    "-- Stores what was loaded for rows under a lease and says when each is due again. A row whose score is no longer the lease\n" +
    "-- is left alone: it was changed, or somebody else has it since. So is a row that has left its pack since the claim, and one whose\n" +
    "-- pack has another score. A value that is stored already is not touched.\n" +
    "--\n" +
    "-- Redis hashes each string that comes into Lua, byte by byte. So a value that has not changed isn't sent, nothing is sent\n" +
    "-- twice, and while all leases hold, what is sent goes on as it is: the caller has made the scores and the states. Of a pack whose\n" +
    "-- rows were all loaded there is one score and one state.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   due           ZSET row id -> when it is due, ms, or the end of its lease; until idle\n" +
    "--   rows          HASH row id -> when it was loaded (13 digits), head of its value (16), ms between refreshes, or '@', its pack, ' ' and these; until idle\n" +
    "--   packs         ZSET pack -> when its rows are due, ms, or the end of their lease; until idle\n" +
    "--   packed        HASH pack -> when its rows were loaded (13 digits), ' ', ms between refreshes, ' ', how many they were; <pack>:rows -> for\n" +
    "--                 each row the head of its value (16) and its id, between them '\\n" +
    "'; <pack>:left -> '\\n" +
    "' and the id of each that has left; until idle\n" +
    "--   failures      HASH row id -> failed loads in a row; until idle\n" +
    "--   suspects      ZSET id of a row whose last load failed -> when it is due, ms, or the end of its lease; until idle\n" +
    "--   hung          ZSET likewise, of rows whose query took long although it was for them alone; until idle\n" +
    "--   source        HASH, there while the source is down: failures, opensAt (ms), limit (rows); until idle\n" +
    "--   unloaded      STRING, the number of rows that were never loaded; until idle\n" +
    "--   wake          channel of the refreshers that sleep; not a key\n" +
    "--   values...     STRING, the values of the stored, the checked and the other rows, in their order, first of the rows without a pack, then of each\n" +
    "--                 pack; until keepMs, or 10 times its delay, after their expiry was last put off\n" +
    "-- ARGV\n" +
    "--   publish       PUBLISH or SPUBLISH\n" +
    "--   lease         its end, as the claim gave it\n" +
    "--   claimed       the number of rows without a pack under it that were not committed before\n" +
    "--   loaded        the number of rows without a pack that were loaded: first those whose value is renewed, then those whose value has\n" +
    "--                 changed, those whose value is looked for, and those whose value is there\n" +
    "--   renewed       of these, the number of rows whose value is stored and its expiry put off\n" +
    "--   stored        the number of rows whose value is stored, with the renewed ones; the others keep their expiry\n" +
    "--   checked       the number of rows behind these whose value is looked for\n" +
    "--   others        the number of other rows without a pack\n" +
    "--   firsts        of the loaded, the number of rows that were never loaded before\n" +
    "--   idAt          where the id of a row begins in the key of its value\n" +
    "--   idleMs        ms until a schedule that nobody touches goes away\n" +
    "--   keepMs        ms that a value is kept without being loaded again\n" +
    "--   minBackoffMs  ms, the pause after one failure; it doubles with each\n" +
    "--   maxBackoffMs  ms\n" +
    "--   phase         a random number below 1\n" +
    "--   verdict       of the source: 'failed', 'probe failed', 'probe loaded', 'back' (and no rows wait for it), or 'none'\n" +
    "--   tombstone     the value of a row that is gone; '' if such a row is taken out\n" +
    "--   tombstoneMs   ms until a row that stays gone is taken out\n" +
    "--   packCount     the number of packs\n" +
    "--   outcomes...   of the loaded rows: when each is due and its id; then the state of each; then the value of each that is stored.\n" +
    "--                 Of each other row: its id; when it is due; its state; and '-' (it is gone), '!' (loading it failed), '~' (so it did, alone,\n" +
    "--                 and that took long), or '?' (loading failed, which says nothing of this row).\n" +
    "--                 Of each pack: its name; when it is due ('': its lease goes on); its header ('': stays as it is); its rows ('': stay\n" +
    "--                 as they are; while the lease goes on, with heads that say that nobody knows the values); bytes of those that had left when it was claimed; the number of rows that this is the outcome of; renewed, stored,\n" +
    "--                 checked and others as above; ms between refreshes; whether any row stays (1, or 0); then the values and the other rows, as above.\n" +
    "--                 Of each new pack: its name; when it is due; its header; its rows; the number of packs that it is made of; these; the\n" +
    "--                 number of its rows; their ids\n" +
    "-- RETURNS\n" +
    "--   ms until the first row of the shard is due (-1: there is none), the number of rows whose lease held, and ms until the first of the suspects\n" +
    "--   is due, and of the hung\n" +
    "local due, rows, packs, packed = KEYS[1], KEYS[2], KEYS[3], KEYS[4]\n" +
    "local failures, suspects, hung = KEYS[5], KEYS[6], KEYS[7]\n" +
    "local source, unloaded, wake = KEYS[8], KEYS[9], KEYS[10]\n" +
    "local publish, lease, claimed, loaded = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])\n" +
    "local renewed, stored, checked = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])\n" +
    "local others, firsts, idAt = tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])\n" +
    "local idleMs, keepMs = ARGV[11], tonumber(ARGV[12])\n" +
    "local minBackoffMs, maxBackoffMs, phase = tonumber(ARGV[13]), tonumber(ARGV[14]), tonumber(ARGV[15])\n" +
    "local verdict, tombstone, tombstoneMs, packCount = ARGV[16], ARGV[17], tonumber(ARGV[18]), tonumber(ARGV[19])\n" +
    "\n" +
    "local keys, outcomes = { unpack(KEYS, 11) }, { unpack(ARGV, 20) }\n" +
    "-- Of a state, and of the value: when it was loaded.\n" +
    "local EVERY, HEAD, LOADED_AT = 30, 16, 29\n" +
    "-- Steps of the golden ratio fill the unit interval evenly, however many they are.\n" +
    "local GOLDEN = 0.6180339887498949\n" +
    "\n" +
    "local call, sub, format, max, min, tonumber = redis.call, string.sub, string.format, math.max, math.min, tonumber\n" +
    "local time = call('TIME')\n" +
    "local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)\n" +
    "\n" +
    "local hasFailures = call('EXISTS', failures, suspects, hung) > 0\n" +
    "-- Rows under this lease whose last load failed, which go on as all others until theirs fails again: id -> where they lay.\n" +
    "local wereFailing = {}\n" +
    "for _, set in ipairs(hasFailures and { suspects, hung } or {}) do\n" +
    "  for _, id in ipairs(call('ZRANGE', set, lease, lease, 'BYSCORE')) do\n" +
    "    wereFailing[id] = set\n" +
    "    call('ZREM', set, id)\n" +
    "    call('ZADD', due, lease, id)\n" +
    "    call('PEXPIRE', due, idleMs)\n" +
    "  end\n" +
    "end\n" +
    "-- What comes next of the keys and the outcomes; rows that failed or are gone so far; whether all was as it was at the claim.\n" +
    "local keyAt, at, other, isWhole = 1, 1, 0, true\n" +
    "local held = loaded + others\n" +
    "\n" +
    "local keeps = {}\n" +
    "local function keepOf(every)\n" +
    "  local keep = keeps[every]\n" +
    "  if not keep then\n" +
    "    keep = format('%d', max(keepMs, 10 * tonumber(every)))\n" +
    "    keeps[every] = keep\n" +
    "  end\n" +
    "  return keep\n" +
    "end\n" +
    "\n" +
    "-- Stores the values that come next where isHeld says so. An expiry is dear: it makes half of what a SET costs.\n" +
    "local function store(count, renewals, isHeld, everyOf)\n" +
    "  for row = 1, count do\n" +
    "    local key, value = keys[keyAt + row - 1], outcomes[at + row - 1]\n" +
    "    if isHeld(key) and (row <= renewals or not call('SET', key, value, 'XX', 'KEEPTTL')) then\n" +
    "      call('SET', key, value, 'PX', keepOf(everyOf(row)))\n" +
    "    end\n" +
    "  end\n" +
    "  keyAt, at = keyAt + count, at + count\n" +
    "end\n" +
    "\n" +
    "-- Looks for the values that come next; `mend` gets the place and the id of each that is gone although it was to be there.\n" +
    "local function check(count, isHeld, mend)\n" +
    "  if count > 0 and call('EXISTS', unpack(keys, keyAt, keyAt + count - 1)) < count then\n" +
    "    for row = 1, count do\n" +
    "      local key = keys[keyAt + row - 1]\n" +
    "      if isHeld(key) and call('EXISTS', key) == 0 then\n" +
    "        isWhole = false\n" +
    "        mend(row, sub(key, idAt))\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "  keyAt = keyAt + count\n" +
    "end\n" +
    "\n" +
    "local function withoutHead(loadedAt, every)\n" +
    "  return loadedAt .. string.rep('0', HEAD) .. every\n" +
    "end\n" +
    "\n" +
    "-- Takes the rows that come next on from the lease, or out. Those of a pack leave it.\n" +
    "local function takeOthers(count, isHeld, isPacked)\n" +
    "  for _ = 1, count do\n" +
    "    local id, dueAt, state, code, key = outcomes[at], outcomes[at + 1], outcomes[at + 2], outcomes[at + 3], keys[keyAt]\n" +
    "    keyAt, at, other = keyAt + 1, at + 4, other + 1\n" +
    "    if isHeld(key) then\n" +
    "      local set = code == '?' and wereFailing[id] or code == '!' and suspects or code == '~' and hung or nil\n" +
    "      if set and code ~= '?' then\n" +
    "        local failed, early = call('HINCRBY', failures, id, 1), (phase + other * GOLDEN) % 1\n" +
    "        local pause = (1 - early / 2) * min(maxBackoffMs, minBackoffMs * 2 ^ min(failed - 1, 60))\n" +
    "        dueAt = format('%d', now + max(1, pause))\n" +
    "      end\n" +
    "      local isOut = false\n" +
    "      if code == '-' then\n" +
    "        local was = call('HGET', rows, id)\n" +
    "        -- A row without a state is what an evicted key leaves behind.\n" +
    "        isOut = tombstone == '' or not was\n" +
    "        if not isOut then\n" +
    "          local old = call('GET', key)\n" +
    "          if not old or sub(old, 1, HEAD) ~= sub(tombstone, 1, HEAD) then\n" +
    "            -- Never written again, so that it tells since when the row has been gone.\n" +
    "            call('SET', key, tombstone, 'PX', format('%d', tombstoneMs + tonumber(keepOf(sub(state, EVERY)))))\n" +
    "          else\n" +
    "            isOut = now - tonumber(sub(old, HEAD + 1, LOADED_AT)) >= tombstoneMs\n" +
    "          end\n" +
    "        end\n" +
    "        if was and sub(was, 1, 1) == '0' then\n" +
    "          firsts = firsts + 1\n" +
    "        end\n" +
    "        if hasFailures then\n" +
    "          call('HDEL', failures, id)\n" +
    "        end\n" +
    "      end\n" +
    "      if isOut then\n" +
    "        call('ZREM', due, id)\n" +
    "        call('HDEL', rows, id)\n" +
    "        call('UNLINK', key)\n" +
    "      elseif set or isPacked then\n" +
    "        if set and not isPacked then\n" +
    "          call('ZREM', due, id)\n" +
    "        end\n" +
    "        call('ZADD', set or due, dueAt, id)\n" +
    "        if isPacked then\n" +
    "          call('HSET', rows, id, state)\n" +
    "        end\n" +
    "      else\n" +
    "        call('ZADD', due, 'XX', dueAt, id)\n" +
    "        if code == '-' then\n" +
    "          call('HSET', rows, id, state)\n" +
    "        end\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- Only rows of this claim have this score, so that they are counted is enough, as long as none is missing.\n" +
    "local heldRows\n" +
    "if claimed > 0 and call('ZCOUNT', due, lease, lease) ~= claimed then\n" +
    "  heldRows, firsts, isWhole = {}, 0, false\n" +
    "  for _, id in ipairs(call('ZRANGE', due, lease, lease, 'BYSCORE')) do\n" +
    "    heldRows[id] = true\n" +
    "  end\n" +
    "end\n" +
    "local function isRowHeld(key)\n" +
    "  return not heldRows or heldRows[sub(key, idAt)]\n" +
    "end\n" +
    "\n" +
    "local states = {}\n" +
    "for row = 1, loaded do\n" +
    "  states[2 * row - 1], states[2 * row] = outcomes[2 * row], outcomes[2 * loaded + row]\n" +
    "end\n" +
    "if loaded > 0 and not heldRows then\n" +
    "  call('ZADD', due, 'XX', unpack(outcomes, 1, 2 * loaded))\n" +
    "  call('HSET', rows, unpack(states))\n" +
    "end\n" +
    "if heldRows or hasFailures then\n" +
    "  for row = 1, loaded do\n" +
    "    local id = outcomes[2 * row]\n" +
    "    if heldRows and not heldRows[id] then\n" +
    "      held = held - 1\n" +
    "    else\n" +
    "      if heldRows then\n" +
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
    "at = 3 * loaded + 1\n" +
    "store(stored, renewed, isRowHeld, function(row)\n" +
    "  return sub(states[2 * row], EVERY)\n" +
    "end)\n" +
    "check(checked, isRowHeld, function(row, id)\n" +
    "  local state = states[2 * (stored + row)]\n" +
    "  call('HSET', rows, id, withoutHead(sub(state, 1, 13), sub(state, EVERY)))\n" +
    "  call('ZADD', due, 'XX', format('%d', now), id)\n" +
    "end)\n" +
    "if heldRows then\n" +
    "  for row = 0, others - 1 do\n" +
    "    held = held - (heldRows[outcomes[at + 4 * row]] and 0 or 1)\n" +
    "  end\n" +
    "end\n" +
    "takeOthers(others, isRowHeld, false)\n" +
    "\n" +
    "for _ = 1, packCount do\n" +
    "  local name, dueAt, header, body, seen, count, ownRenewed, ownStored, ownChecked, ownOthers, every, stays =\n" +
    "    unpack(outcomes, at, at + 11)\n" +
    "  at = at + 12\n" +
    "  local score = call('ZSCORE', packs, name)\n" +
    "  local isLost = not score or tonumber(score) ~= tonumber(lease)\n" +
    "  local left = not isLost and call('HGET', packed, name .. ':left') or ''\n" +
    "  -- Of those that have left since the claim.\n" +
    "  local more, hasLeft = sub(left, tonumber(seen) + 1), nil\n" +
    "  held = held + (isLost and 0 or tonumber(count))\n" +
    "  if more ~= '' then\n" +
    "    hasLeft = {}\n" +
    "    for id in string.gmatch(more, '[^\\n" +
    "]+') do\n" +
    "      hasLeft[id] = true\n" +
    "      held = held - (dueAt == '' and 0 or 1)\n" +
    "    end\n" +
    "  end\n" +
    "  isWhole = isWhole and not isLost and not hasLeft\n" +
    "  local function isHeld(key)\n" +
    "    return not isLost and not (hasLeft and hasLeft[sub(key, idAt)])\n" +
    "  end\n" +
    "  store(tonumber(ownStored), tonumber(ownRenewed), isHeld, function()\n" +
    "    return every\n" +
    "  end)\n" +
    "  check(tonumber(ownChecked), isHeld, function(_, id)\n" +
    "    more = more .. '\\n" +
    "' .. id\n" +
    "    call('HSET', rows, id, withoutHead(sub(header, 1, 13), every))\n" +
    "    call('ZADD', due, format('%d', now), id)\n" +
    "  end)\n" +
    "  takeOthers(tonumber(ownOthers), isHeld, true)\n" +
    "  if not isLost and dueAt == '' and body ~= '' then\n" +
    "    call('HSET', packed, name .. ':rows', body)\n" +
    "  end\n" +
    "  if not isLost and dueAt ~= '' then\n" +
    "    if stays == '0' then\n" +
    "      call('ZREM', packs, name)\n" +
    "      call('HDEL', packed, name, name .. ':rows', name .. ':left')\n" +
    "    else\n" +
    "      call('ZADD', packs, 'XX', dueAt, name)\n" +
    "      if header ~= '' then\n" +
    "        call('HSET', packed, name, header)\n" +
    "        if body ~= '' then\n" +
    "          call('HSET', packed, name .. ':rows', body)\n" +
    "        end\n" +
    "        if more ~= '' then\n" +
    "          call('HSET', packed, name .. ':left', more)\n" +
    "        elseif left ~= '' then\n" +
    "          call('HDEL', packed, name .. ':left')\n" +
    "        end\n" +
    "      end\n" +
    "    end\n" +
    "    -- A set of which all had been in packs has lost its expiry.\n" +
    "    if tonumber(ownOthers) > 0 or more ~= '' then\n" +
    "      call('PEXPIRE', due, idleMs)\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "while at <= #outcomes do\n" +
    "  local name, dueAt, header, body, parts = unpack(outcomes, at, at + 4)\n" +
    "  local idsAt = at + 6 + tonumber(parts)\n" +
    "  local size = tonumber(outcomes[idsAt - 1])\n" +
    "  if isWhole then\n" +
    "    for part = at + 5, idsAt - 2 do\n" +
    "      local old = outcomes[part]\n" +
    "      call('ZREM', packs, old)\n" +
    "      call('HDEL', packed, old, old .. ':rows', old .. ':left')\n" +
    "    end\n" +
    "    local state, members = '@' .. name .. sub(header, 14, -(#tostring(size) + 2)), {}\n" +
    "    for row = 1, size do\n" +
    "      members[2 * row - 1], members[2 * row] = outcomes[idsAt + row - 1], state\n" +
    "    end\n" +
    "    call('ZREM', due, unpack(outcomes, idsAt, idsAt + size - 1))\n" +
    "    call('HSET', rows, unpack(members))\n" +
    "    call('HSET', packed, name, header, name .. ':rows', body)\n" +
    "    call('ZADD', packs, dueAt, name)\n" +
    "    call('PEXPIRE', packs, idleMs)\n" +
    "    call('PEXPIRE', packed, idleMs)\n" +
    "  end\n" +
    "  at = idsAt + size\n" +
    "end\n" +
    "\n" +
    "if firsts > 0 and call('DECRBY', unloaded, firsts) <= 0 then\n" +
    "  call('UNLINK', unloaded)\n" +
    "end\n" +
    "local failingInMs = { -1, -1 }\n" +
    "if hasFailures or other > 0 then\n" +
    "  call('PEXPIRE', failures, idleMs)\n" +
    "  for index, set in ipairs({ suspects, hung }) do\n" +
    "    call('PEXPIRE', set, idleMs)\n" +
    "    local head = call('ZRANGE', set, 0, 0, 'WITHSCORES')[2]\n" +
    "    failingInMs[index] = head and max(0, math.ceil(tonumber(head) - now)) or -1\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "if verdict == 'probe loaded' or verdict == 'back' then\n" +
    "  -- Twice as many next time, so that what has gathered doesn't fall upon a source that has just come back.\n" +
    "  local limit = 2 * tonumber(call('HGET', source, 'limit') or 1)\n" +
    "  if limit > 500 or verdict == 'back' then\n" +
    "    call('UNLINK', source)\n" +
    "    call(publish, wake, '*:')\n" +
    "  else\n" +
    "    -- What it answers it may answer once more, so the pauses begin anew.\n" +
    "    call('HSET', source, 'limit', limit, 'opensAt', 0, 'failures', 1)\n" +
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
    "local nextInMs = -1\n" +
    "for _, set in ipairs({ due, packs }) do\n" +
    "  local head = call('ZRANGE', set, 0, 0, 'WITHSCORES')[2]\n" +
    "  if head then\n" +
    "    local inMs = max(0, math.ceil(tonumber(head) - now))\n" +
    "    nextInMs = nextInMs < 0 and inMs or min(nextInMs, inMs)\n" +
    "  end\n" +
    "end\n" +
    "return { nextInMs, held, failingInMs[1], failingInMs[2] }\n",
} as const);

export const refresherRetry = new Script({
  name: "refresher.retry",
  isReadOnly: false,
  keys: ["due","rows","packs","suspects","hung","source","lease","failures"],
  args: ["batch","leaseMs","idleMs","maxBackoffMs","canHang"],
  source: "#!lua\n" +
    "-- Takes rows whose last load failed under a lease, as refresher.claim.lua does with all others. They are never taken together with\n" +
    "-- those, so one whose query hangs holds up only its like. This is a search for the rows that hang:\n" +
    "--\n" +
    "--   load fails ──▶ suspects: a few together after the first failure, then each alone ──▶ loaded: no longer here\n" +
    "--                                                     └── alone, and it took long ──▶ hung ──▶ loaded, or hung again\n" +
    "--\n" +
    "-- In both sets what has been due for longest comes first, and nothing changes when a row is due but a try of it. So before a row is tried that\n" +
    "-- is due, each other one is tried once at most. Those that are known to hang are taken only where the caller has room for them; the\n" +
    "-- rest of its room is for suspects, whatever hangs. A suspect that hangs costs that once or twice.\n" +
    "--\n" +
    "-- While the source is down, they find out about it only where no other row is due.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   due           ZSET row id -> when it is due, ms, or the end of its lease; until idle\n" +
    "--   rows          HASH row id -> when it was loaded (13 digits), head of its value (16), ms between refreshes; until idle\n" +
    "--   packs         ZSET pack -> when its rows are due, ms, or the end of their lease; until idle\n" +
    "--   suspects      ZSET id of a row whose last load failed -> when it is due, ms, or the end of its lease; until idle\n" +
    "--   hung          ZSET likewise, of rows whose query took long although it was for them alone; until idle\n" +
    "--   source        HASH, there while the source is down: failures, opensAt (ms), limit (rows); until idle\n" +
    "--   lease         STRING, the end of the latest lease, and what refresher.claim.lua needs to know; until idle\n" +
    "--   failures      HASH row id -> failed loads in a row; until idle\n" +
    "-- ARGV\n" +
    "--   batch         the most rows to take\n" +
    "--   leaseMs       ms\n" +
    "--   idleMs        ms until a schedule that nobody touches goes away\n" +
    "--   maxBackoffMs  ms, the longest pause of the source\n" +
    "--   canHang       '1': rows may be taken that are known to hang\n" +
    "-- RETURNS\n" +
    "--   the end of the lease; now; when the first row was due; for how long; ms until the next of the suspects is due, and until the next of the\n" +
    "--   hung (-1: there is none); 1 if this finds out about the source; 1 if the row is known to hang; then the ids, and the state of each (false: none)\n" +
    "local due, rows, packs, suspects, hung = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]\n" +
    "local source, lease, failures = KEYS[6], KEYS[7], KEYS[8]\n" +
    "local batch, leaseMs, idleMs = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]\n" +
    "local maxBackoffMs, canHang = tonumber(ARGV[4]), ARGV[5] == '1'\n" +
    "\n" +
    "-- Clocks of masters that differ by less are in order.\n" +
    "local SKEW_MS = 1000\n" +
    "-- Rows together whose load failed once, and of how many they are the first.\n" +
    "local MAX_TOGETHER, LOOK_ROWS = 16, 64\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)\n" +
    "local nowText = string.format('%d', now)\n" +
    "\n" +
    "local function inMsOf(set)\n" +
    "  local head = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')[2]\n" +
    "  return head and math.max(0, math.ceil(tonumber(head) - now)) or -1\n" +
    "end\n" +
    "\n" +
    "local down = redis.call('HMGET', source, 'opensAt', 'limit')\n" +
    "local isProbe = down[1] and true or false\n" +
    "if isProbe then\n" +
    "  local opensIn = tonumber(down[1]) - now\n" +
    "  if opensIn > 0 and opensIn <= math.max(leaseMs, maxBackoffMs) + SKEW_MS then\n" +
    "    return { '', nowText, nowText, 0, opensIn, opensIn, 0, 0, {}, {} }\n" +
    "  end\n" +
    "  -- What failed before says less of the source than what did not. Whose claims find out about the source tell when these are due.\n" +
    "  if inMsOf(due) == 0 or inMsOf(packs) == 0 then\n" +
    "    return { '', nowText, nowText, 0, -1, -1, 0, 0, {}, {} }\n" +
    "  end\n" +
    "  batch = math.min(batch, tonumber(down[2] or 1))\n" +
    "end\n" +
    "\n" +
    "local ids = {}\n" +
    "local function takeHung()\n" +
    "  ids = redis.call('ZRANGE', hung, '-inf', nowText, 'BYSCORE', 'LIMIT', 0, 1)\n" +
    "  return #ids > 0\n" +
    "end\n" +
    "local function takeSuspects()\n" +
    "  local found = redis.call('ZRANGE', suspects, '-inf', nowText, 'BYSCORE', 'LIMIT', 0, LOOK_ROWS)\n" +
    "  if #found == 0 then\n" +
    "    return false\n" +
    "  end\n" +
    "  local known = redis.call('HMGET', failures, unpack(found))\n" +
    "  local isAlone = tonumber(known[1] or 1) > 1\n" +
    "  for index, id in ipairs(found) do\n" +
    "    if index == 1 or (not isAlone and #ids < math.min(batch, MAX_TOGETHER) and tonumber(known[index] or 1) == 1) then\n" +
    "      ids[#ids + 1] = id\n" +
    "    end\n" +
    "  end\n" +
    "  return true\n" +
    "end\n" +
    "local isHung\n" +
    "if isProbe then\n" +
    "  -- A row that hangs anyway would say of a source that it is still down: only where there is no other, due now or later.\n" +
    "  isHung = not takeSuspects() and canHang and redis.call('EXISTS', due, packs, suspects) == 0 and takeHung()\n" +
    "else\n" +
    "  isHung = canHang and takeHung()\n" +
    "  if not isHung then\n" +
    "    takeSuspects()\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local token, first = '', now\n" +
    "if #ids > 0 then\n" +
    "  local set = isHung and hung or suspects\n" +
    "  first = math.min(now, math.floor(tonumber(redis.call('ZSCORE', set, ids[1]))))\n" +
    "  local last = redis.call('GET', lease)\n" +
    "  -- When a claim was made last is not for this to write: others see by it that the clock has run back.\n" +
    "  local lastEnd, rest = string.match(last or '', '^(%S+) (.*)$')\n" +
    "  token = string.format('%.1f', math.max(now + leaseMs + 0.5, tonumber(lastEnd or 0) + 1))\n" +
    "  local leased = {}\n" +
    "  for index, id in ipairs(ids) do\n" +
    "    leased[2 * index - 1], leased[2 * index] = token, id\n" +
    "  end\n" +
    "  redis.call('ZADD', set, 'XX', unpack(leased))\n" +
    "  if lastEnd then\n" +
    "    redis.call('SET', lease, token .. ' ' .. rest, 'KEEPTTL')\n" +
    "  else\n" +
    "    redis.call('SET', lease, token .. ' ' .. nowText, 'PX', idleMs)\n" +
    "  end\n" +
    "  if isProbe then\n" +
    "    redis.call('HSET', source, 'opensAt', string.format('%d', now + leaseMs))\n" +
    "  end\n" +
    "end\n" +
    "return {\n" +
    "  token,\n" +
    "  nowText,\n" +
    "  string.format('%d', first),\n" +
    "  now - first,\n" +
    "  inMsOf(suspects),\n" +
    "  -- Whoever claims the others tells.\n" +
    "  isProbe and #ids == 0 and -1 or inMsOf(hung),\n" +
    "  isProbe and 1 or 0,\n" +
    "  isHung and 1 or 0,\n" +
    "  ids,\n" +
    "  #ids > 0 and redis.call('HMGET', rows, unpack(ids)) or {},\n" +
    "}\n",
} as const);

export const rowCacheInspect = new Script({
  name: "row-cache.inspect",
  isReadOnly: true,
  keys: ["due","rows","packs","packed","failures","suspects","hung","value"],
  args: ["id"],
  source: "#!lua flags=no-writes\n" +
    "-- A row and where it stands in the schedule.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   due       ZSET row id -> when it is due, ms, or the end of its lease; until idle\n" +
    "--   rows      HASH row id -> when it was loaded (13 digits, 0: never), head of its value (16), ms between refreshes, or '@', its pack, ' ' and these; until idle\n" +
    "--   packs     ZSET pack -> when its rows are due, ms, or the end of their lease; until idle\n" +
    "--   packed    HASH pack -> when its rows were loaded (13 digits), ...; until idle\n" +
    "--   failures  HASH row id -> failed loads in a row; until idle\n" +
    "--   suspects  ZSET id of a row whose last load failed -> when it is due, ms, or the end of its lease; until idle\n" +
    "--   hung      ZSET likewise, of rows whose query hangs; until idle\n" +
    "--   value     STRING, the value of the row; until it expires\n" +
    "-- ARGV\n" +
    "--   id        of the row\n" +
    "-- RETURNS\n" +
    "--   now (ms); its value, its state, when it is due (or the end of its lease) and its failures, each false if it has none\n" +
    "local due, rows, packs, packed, failures = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]\n" +
    "local suspects, hung, value = KEYS[6], KEYS[7], KEYS[8]\n" +
    "local id = ARGV[1]\n" +
    "\n" +
    "local state, score = redis.call('HGET', rows, id), nil\n" +
    "local pack, every = string.match(state or '', '^@(%S+) (%d+)$')\n" +
    "if pack then\n" +
    "  -- What an evicted key leaves behind is as a row that was never loaded.\n" +
    "  local header = redis.call('HGET', packed, pack) or ''\n" +
    "  state = (string.match(header, '^%d+') or string.rep('0', 13)) .. string.rep('0', 16) .. every\n" +
    "  score = redis.call('ZSCORE', packs, pack)\n" +
    "else\n" +
    "  score = redis.call('ZSCORE', due, id) or redis.call('ZSCORE', suspects, id) or redis.call('ZSCORE', hung, id)\n" +
    "end\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "return {\n" +
    "  string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)),\n" +
    "  redis.call('GET', value),\n" +
    "  state,\n" +
    "  score,\n" +
    "  redis.call('HGET', failures, id),\n" +
    "}\n",
} as const);

export const rowCachePlan = new Script({
  name: "row-cache.plan",
  isReadOnly: false,
  keys: ["due","rows","packs","packed","failures","suspects","hung","unloaded","wake"],
  args: ["publish","idleMs","keepMs"],
  restKey: "values",
  restArg: "plans",
  source: "#!lua\n" +
    "-- Changes the schedule of rows: adds them, takes them out together with their values, or makes them due now. A row that is\n" +
    "-- being loaded loses its lease by that, so a result from before the change is not stored. A row that is changed leaves its pack.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   due       ZSET row id -> when it is due, ms, or the end of its lease; until idle\n" +
    "--   rows      HASH row id -> when it was loaded (13 digits, 0: never), head of its value (16), ms between refreshes, or '@', its pack, ' ' and these; until idle\n" +
    "--   packs     ZSET pack -> when its rows are due, ms, or the end of their lease; until idle\n" +
    "--   packed    HASH pack -> when its rows were loaded (13 digits), ...; <pack>:left -> '\\n" +
    "' and the id of each that has left; until idle\n" +
    "--   failures  HASH row id -> failed loads in a row; until idle\n" +
    "--   suspects  ZSET id of a row whose last load failed -> when it is due, ms, or the end of its lease; until idle\n" +
    "--   hung      ZSET likewise, of rows whose query hangs; until idle\n" +
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
    "local due, rows, packs, packed = KEYS[1], KEYS[2], KEYS[3], KEYS[4]\n" +
    "local failures, suspects, hung, unloaded, wake = KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9]\n" +
    "local publish, idleMs, keepMs = ARGV[1], ARGV[2], tonumber(ARGV[3])\n" +
    "\n" +
    "-- The state of a row that was never loaded has no time and no head.\n" +
    "local NEVER, NO_HEAD = string.rep('0', 29), string.rep('0', 16)\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "local now = string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000))\n" +
    "\n" +
    "local isAwake = false\n" +
    "for _, set in ipairs({ due, packs }) do\n" +
    "  local head = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')[2]\n" +
    "  isAwake = isAwake or (head and tonumber(head) <= tonumber(now))\n" +
    "end\n" +
    "local failing = redis.call('EXISTS', suspects, hung) > 0 and { suspects, hung } or {}\n" +
    "-- Where a row without a pack has its score. One whose last load failed stays apart from others until it is loaded.\n" +
    "local function setOf(id)\n" +
    "  for _, set in ipairs(failing) do\n" +
    "    if redis.call('ZSCORE', set, id) then\n" +
    "      return set\n" +
    "    end\n" +
    "  end\n" +
    "  return due\n" +
    "end\n" +
    "local hasDue, hasFailingDue, added = false, false, 0\n" +
    "-- Those that failed lie apart, for which refreshers may sleep while others are due.\n" +
    "local function makeDue(id)\n" +
    "  local set = setOf(id)\n" +
    "  redis.call('ZADD', set, now, id)\n" +
    "  hasDue, hasFailingDue = true, hasFailingDue or set ~= due\n" +
    "end\n" +
    "-- Of packs: the header (false: it is gone), and who leaves it.\n" +
    "local headers, left = {}, {}\n" +
    "local function headerOf(pack)\n" +
    "  if headers[pack] == nil then\n" +
    "    headers[pack] = redis.call('ZSCORE', packs, pack) and redis.call('HGET', packed, pack)\n" +
    "  end\n" +
    "  return headers[pack]\n" +
    "end\n" +
    "local function leave(pack, id)\n" +
    "  left[pack] = left[pack] or { '' }\n" +
    "  table.insert(left[pack], id)\n" +
    "end\n" +
    "-- The state of a row that leaves its pack. Its value tells the head; without a value it has none.\n" +
    "local function unpacked(id, pack, every, value)\n" +
    "  local header = headerOf(pack)\n" +
    "  if not header then\n" +
    "    added = added + 1\n" +
    "    return NEVER .. every\n" +
    "  end\n" +
    "  leave(pack, id)\n" +
    "  local known = redis.call('GETRANGE', value, 0, 15)\n" +
    "  return string.sub(header, 1, 13) .. (#known == 16 and known or NO_HEAD) .. every\n" +
    "end\n" +
    "\n" +
    "local replies = {}\n" +
    "for index = 4, #ARGV, 2 do\n" +
    "  local id, plan, value = ARGV[index], ARGV[index + 1], KEYS[9 + (index - 2) / 2]\n" +
    "  local state = redis.call('HGET', rows, id)\n" +
    "  local isKnown = state and 1 or 0\n" +
    "  local pack, every = string.match(state or '', '^@(%S+) (%d+)$')\n" +
    "  if plan == '0' then\n" +
    "    if pack then\n" +
    "      leave(pack, id)\n" +
    "    end\n" +
    "    if state and string.sub(state, 1, 1) == '0' then\n" +
    "      added = added - 1\n" +
    "    end\n" +
    "    redis.call('ZREM', setOf(id), id)\n" +
    "    redis.call('HDEL', rows, id)\n" +
    "    redis.call('HDEL', failures, id)\n" +
    "    redis.call('UNLINK', value)\n" +
    "  elseif plan == 'now' then\n" +
    "    if pack then\n" +
    "      redis.call('HSET', rows, id, unpacked(id, pack, every, value))\n" +
    "      redis.call('ZADD', due, now, id)\n" +
    "      hasDue = true\n" +
    "    elseif state then\n" +
    "      -- Refreshers look for a value that has not changed only from time to time; without a head it is stored anew.\n" +
    "      if string.sub(state, 14, 29) ~= NO_HEAD and redis.call('EXISTS', value) == 0 then\n" +
    "        redis.call('HSET', rows, id, string.sub(state, 1, 13) .. NO_HEAD .. string.sub(state, 30))\n" +
    "      end\n" +
    "      makeDue(id)\n" +
    "    end\n" +
    "  elseif\n" +
    "    not state\n" +
    "    or (pack and (every ~= plan or not headerOf(pack)))\n" +
    "    or (not pack and (string.sub(state, 30) ~= plan or not redis.call('ZSCORE', setOf(id), id)))\n" +
    "  then\n" +
    "    if pack then\n" +
    "      state = unpacked(id, pack, every, value)\n" +
    "    elseif not state then\n" +
    "      added = added + 1\n" +
    "    end\n" +
    "    local known = state and string.sub(state, 1, 29) or NEVER\n" +
    "    if state and 10 * tonumber(plan) > math.max(keepMs, 10 * tonumber(string.sub(state, 30))) then\n" +
    "      -- Its value would expire before its expiry is put off: without a head it is stored anew.\n" +
    "      known = string.sub(state, 1, 13) .. NO_HEAD\n" +
    "    end\n" +
    "    redis.call('HSET', rows, id, known .. plan)\n" +
    "    makeDue(id)\n" +
    "  end\n" +
    "  replies[#replies + 1] = isKnown\n" +
    "end\n" +
    "for pack, ids in pairs(left) do\n" +
    "  if headerOf(pack) then\n" +
    "    local field = pack .. ':left'\n" +
    "    redis.call('HSET', packed, field, (redis.call('HGET', packed, field) or '') .. table.concat(ids, '\\n" +
    "'))\n" +
    "  end\n" +
    "end\n" +
    "if added ~= 0 and redis.call('INCRBY', unloaded, added) <= 0 then\n" +
    "  redis.call('UNLINK', unloaded)\n" +
    "end\n" +
    "for _, key in ipairs({ due, rows, packs, packed, unloaded, unpack(failing) }) do\n" +
    "  redis.call('PEXPIRE', key, idleMs)\n" +
    "end\n" +
    "-- Refreshers sleep until the head is due; while it is, they are awake.\n" +
    "if hasFailingDue or (hasDue and not isAwake) then\n" +
    "  redis.call(publish, wake, '*:')\n" +
    "end\n" +
    "return replies\n",
} as const);

export const rowCacheStats = new Script({
  name: "row-cache.stats",
  isReadOnly: true,
  keys: ["due","rows","packs","packed","failures","suspects","hung","source","unloaded"],
  args: [],
  source: "#!lua flags=no-writes\n" +
    "-- Counts the schedule of a shard.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   due       ZSET row id -> when it is due, ms, or the end of its lease; until idle\n" +
    "--   rows      HASH row id -> its state; until idle\n" +
    "--   packs     ZSET pack -> when its rows are due, ms, or the end of their lease; until idle\n" +
    "--   packed    HASH pack -> when its rows were loaded (13 digits), ' ', ms between refreshes, ' ', how many they were; <pack>:left -> '\\n" +
    "'\n" +
    "--             and the id of each that has left; until idle\n" +
    "--   failures  HASH row id -> failed loads in a row; until idle\n" +
    "--   suspects  ZSET id of a row whose last load failed -> when it is due, ms, or the end of its lease; until idle\n" +
    "--   hung      ZSET likewise, of rows whose query hangs; until idle\n" +
    "--   source    HASH, there while the source is down; until idle\n" +
    "--   unloaded  STRING, the number of rows that were never loaded; until idle\n" +
    "-- RETURNS\n" +
    "--   the number of rows; of rows that are due (where more than 1,000 packs are, by the size of these); of rows whose last load failed; of rows never loaded; for how long the first\n" +
    "--   has been due whose last load did not fail (ms); failures of the source in a row\n" +
    "local due, rows, packs, packed = KEYS[1], KEYS[2], KEYS[3], KEYS[4]\n" +
    "local failures, suspects, hung, source, unloaded = KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9]\n" +
    "\n" +
    "local MAX_PACKS = 1000\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)\n" +
    "local nowText = string.format('%.0f', now)\n" +
    "local overdue, lagMs = 0, 0\n" +
    "for _, set in ipairs({ due, suspects, hung }) do\n" +
    "  overdue = overdue + redis.call('ZCOUNT', set, '-inf', nowText)\n" +
    "end\n" +
    "for _, set in ipairs({ due, packs }) do\n" +
    "  local head = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')[2]\n" +
    "  lagMs = math.max(lagMs, head and now - tonumber(head) or 0)\n" +
    "end\n" +
    "local overduePacks = redis.call('ZCOUNT', packs, '-inf', nowText)\n" +
    "if overduePacks > 0 then\n" +
    "  local fields = {}\n" +
    "  for _, pack in ipairs(redis.call('ZRANGE', packs, '-inf', nowText, 'BYSCORE', 'LIMIT', 0, MAX_PACKS)) do\n" +
    "    fields[#fields + 1] = pack\n" +
    "    fields[#fields + 1] = pack .. ':left'\n" +
    "  end\n" +
    "  local found, inPacks = redis.call('HMGET', packed, unpack(fields)), 0\n" +
    "  for index = 1, #fields, 2 do\n" +
    "    local _, left = string.gsub(found[index + 1] or '', '\\n" +
    "', '')\n" +
    "    inPacks = inPacks + tonumber(string.match(found[index] or '', '%d+$') or 0) - left\n" +
    "  end\n" +
    "  overdue = overdue + math.floor(inPacks * overduePacks / (#fields / 2) + 0.5)\n" +
    "end\n" +
    "return {\n" +
    "  redis.call('HLEN', rows),\n" +
    "  overdue,\n" +
    "  redis.call('HLEN', failures),\n" +
    "  tonumber(redis.call('GET', unloaded) or 0),\n" +
    "  lagMs,\n" +
    "  tonumber(redis.call('HGET', source, 'failures') or 0),\n" +
    "}\n",
} as const);
