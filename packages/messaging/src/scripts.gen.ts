// Made from the .lua files of this folder by `npm run scripts`. Edit those.
import { Script } from '@mortise/redis';

export const mailboxAck = new Script({
  name: "mailbox.ack",
  isReadOnly: false,
  keys: ["mailbox","messages"],
  args: [],
  restArg: "upToIds",
  source: "#!lua\n" +
    "-- Moves the cursor of a mailbox forward and frees the messages that it passes.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   mailbox     HASH last, acked (and more); until it is forgotten\n" +
    "--   messages    LIST of `<id>:…`, ids dense up to `last`\n" +
    "-- ARGV\n" +
    "--   upToIds...  the last id that is acked, or 'all' for the newest one\n" +
    "-- RETURNS\n" +
    "--   the newest id, then for each argument how many messages it freed, or -1: no message has that id yet\n" +
    "local mailbox, messages = KEYS[1], KEYS[2]\n" +
    "\n" +
    "local head = redis.call('HMGET', mailbox, 'last', 'acked')\n" +
    "local last, ackedBefore = tonumber(head[1] or 0), tonumber(head[2] or 0)\n" +
    "local base = last - redis.call('LLEN', messages)\n" +
    "\n" +
    "local acked, freed = ackedBefore, 0\n" +
    "local replies = { last }\n" +
    "for index = 1, #ARGV do\n" +
    "  local upTo = ARGV[index] == 'all' and last or tonumber(ARGV[index])\n" +
    "  local count = -1\n" +
    "  if upTo <= last then\n" +
    "    count = math.max(0, upTo - base - freed)\n" +
    "    freed = freed + count\n" +
    "    acked = math.max(acked, upTo)\n" +
    "  end\n" +
    "  replies[index + 1] = count\n" +
    "end\n" +
    "if acked > ackedBefore then\n" +
    "  redis.call('HSET', mailbox, 'acked', string.format('%.0f', acked))\n" +
    "end\n" +
    "if freed > 0 then\n" +
    "  redis.call('LTRIM', messages, freed, -1)\n" +
    "end\n" +
    "return replies\n",
} as const);

export const mailboxReceive = new Script({
  name: "mailbox.receive",
  isReadOnly: true,
  keys: ["mailbox","messages"],
  args: ["first","final"],
  source: "#!lua flags=no-writes\n" +
    "-- Reads one end of a mailbox and moves nothing.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   mailbox     HASH last, acked (and more); until it is forgotten\n" +
    "--   messages    LIST of entries, the oldest first; until acked, dropped or expired\n" +
    "-- ARGV\n" +
    "--   first       index of the first entry, as LRANGE takes it\n" +
    "--   final       index of the last entry\n" +
    "-- RETURNS\n" +
    "--   the cursor, the id before the oldest entry of all, and the entries, the oldest first\n" +
    "local mailbox, messages = KEYS[1], KEYS[2]\n" +
    "local first, final = ARGV[1], ARGV[2]\n" +
    "\n" +
    "local head = redis.call('HMGET', mailbox, 'last', 'acked')\n" +
    "local base = tonumber(head[1] or 0) - redis.call('LLEN', messages)\n" +
    "return { tonumber(head[2] or 0), base, redis.call('LRANGE', messages, first, final) }\n",
} as const);

export const mailboxSend = new Script({
  name: "mailbox.send",
  isReadOnly: false,
  keys: ["mailbox","messages","ids","oldIds","wake"],
  args: ["retentionMs","headMs","dedupMs","maxIds","maxMessages","maxBytes","publish"],
  restArg: "outgoing",
  source: "#!lua\n" +
    "-- Appends messages to a mailbox, each with the next id, unless their sender's id is known; drops the oldest messages\n" +
    "-- while there are more, or older ones, than the mailbox may keep; wakes receivers when the mailbox was empty.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   mailbox       HASH last, bytes, sentAt, acked, epoch, idsSince; until it is forgotten (headMs after the last send)\n" +
    "--   messages      LIST of `<id>:<offset>:<sentAt>:<payload>`, ids dense; until acked, dropped or retentionMs after the last send\n" +
    "--   ids           HASH sender's id -> id, the present generation; until dedupMs after the last send\n" +
    "--   oldIds        HASH, the generation before it; likewise\n" +
    "--   wake          channel of the receivers that wait; not a key\n" +
    "-- ARGV\n" +
    "--   retentionMs   ms until a message may be dropped\n" +
    "--   headMs        ms until the numbering of a mailbox that gets nothing is forgotten\n" +
    "--   dedupMs       ms that a sender's id is remembered at least\n" +
    "--   maxIds        ids in one generation\n" +
    "--   maxMessages   messages that are kept\n" +
    "--   maxBytes      bytes of all entries that are kept\n" +
    "--   publish       PUBLISH or SPUBLISH\n" +
    "--   outgoing...   for each message: the sender's id, then the payload\n" +
    "-- RETURNS\n" +
    "--   four integers for each message: its id, 1 if it was there before (else 0), and the first and the last id\n" +
    "--   that were dropped for it (0 and 0: none)\n" +
    "local mailbox, messages, ids, oldIds, wake = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]\n" +
    "local retentionMs, headMs, dedupMs = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])\n" +
    "local maxIds, maxMessages, maxBytes = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])\n" +
    "local publish = ARGV[7]\n" +
    "\n" +
    "-- Ends even if an option was lowered by much; what is still too much goes with the next sends.\n" +
    "local MAX_DROPS = 1000\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)\n" +
    "\n" +
    "local head = redis.call('HMGET', mailbox, 'last', 'bytes', 'sentAt', 'idsSince')\n" +
    "local last, bytes = tonumber(head[1] or 0), tonumber(head[2] or 0)\n" +
    "-- The clock of a new master may be behind; ages must not run backwards along the list.\n" +
    "local sentAt = math.max(now, tonumber(head[3] or 0))\n" +
    "local idsSince = tonumber(head[4] or now)\n" +
    "if not head[1] then\n" +
    "  -- Parts of a mailbox whose numbering is gone (evicted, deleted by hand) would mix with new ids.\n" +
    "  redis.call('UNLINK', messages, ids, oldIds)\n" +
    "  redis.call('HSET', mailbox, 'epoch', string.format('%.0f', now))\n" +
    "end\n" +
    "if now - idsSince >= dedupMs or redis.call('HLEN', ids) >= maxIds then\n" +
    "  -- RENAME would free a large HASH at once.\n" +
    "  redis.call('UNLINK', oldIds)\n" +
    "  if redis.call('EXISTS', ids) == 1 then\n" +
    "    redis.call('RENAME', ids, oldIds)\n" +
    "  end\n" +
    "  idsSince = now\n" +
    "end\n" +
    "\n" +
    "local stored = redis.call('LLEN', messages)\n" +
    "local wasEmpty = stored == 0\n" +
    "\n" +
    "-- The oldest message: its offset and its time.\n" +
    "local function oldest()\n" +
    "  local offset, at = string.match(redis.call('LINDEX', messages, 0), '^%d+:(%d+):(%d+):')\n" +
    "  return tonumber(offset), tonumber(at)\n" +
    "end\n" +
    "\n" +
    "local firstOffset, firstAt = bytes, sentAt\n" +
    "if not wasEmpty then\n" +
    "  firstOffset, firstAt = oldest()\n" +
    "end\n" +
    "\n" +
    "local replies = {}\n" +
    "for index = 8, #ARGV, 2 do\n" +
    "  local id = ARGV[index]\n" +
    "  local known = redis.call('HGET', ids, id) or redis.call('HGET', oldIds, id)\n" +
    "  local droppedFrom, droppedTo = 0, 0\n" +
    "  if not known then\n" +
    "    last = last + 1\n" +
    "    local entry = string.format('%.0f:%.0f:%.0f:', last, bytes, sentAt) .. ARGV[index + 1]\n" +
    "    stored = redis.call('RPUSH', messages, entry)\n" +
    "    bytes = bytes + #entry\n" +
    "    redis.call('HSET', ids, id, string.format('%.0f', last))\n" +
    "    for _ = 1, MAX_DROPS do\n" +
    "      local isOver = stored > maxMessages or bytes - firstOffset > maxBytes or firstAt <= now - retentionMs\n" +
    "      if stored == 1 or not isOver then\n" +
    "        break\n" +
    "      end\n" +
    "      redis.call('LPOP', messages)\n" +
    "      stored = stored - 1\n" +
    "      droppedTo = last - stored\n" +
    "      droppedFrom = droppedFrom > 0 and droppedFrom or droppedTo\n" +
    "      firstOffset, firstAt = oldest()\n" +
    "    end\n" +
    "  end\n" +
    "  local count = #replies\n" +
    "  replies[count + 1] = known and tonumber(known) or last\n" +
    "  replies[count + 2] = known and 1 or 0\n" +
    "  replies[count + 3] = droppedFrom\n" +
    "  replies[count + 4] = droppedTo\n" +
    "end\n" +
    "\n" +
    "redis.call(\n" +
    "  'HSET', mailbox,\n" +
    "  'last', string.format('%.0f', last),\n" +
    "  'bytes', string.format('%.0f', bytes),\n" +
    "  'sentAt', string.format('%.0f', sentAt),\n" +
    "  'idsSince', string.format('%.0f', idsSince)\n" +
    ")\n" +
    "redis.call('PEXPIRE', mailbox, headMs)\n" +
    "redis.call('PEXPIRE', messages, retentionMs)\n" +
    "redis.call('PEXPIRE', ids, dedupMs)\n" +
    "if wasEmpty and stored > 0 then\n" +
    "  redis.call(publish, wake, '*:')\n" +
    "end\n" +
    "return replies\n",
} as const);

export const mailboxStatus = new Script({
  name: "mailbox.status",
  isReadOnly: true,
  keys: ["mailbox","messages"],
  args: [],
  source: "#!lua flags=no-writes\n" +
    "-- What is known about a mailbox without reading it.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   mailbox     HASH last, acked, bytes, sentAt, epoch (and more); until it is forgotten\n" +
    "--   messages    LIST of entries, the oldest first; until acked, dropped or expired\n" +
    "-- RETURNS\n" +
    "--   the five fields (nil when there is no mailbox), the number of messages, the oldest entry without its payload (or nil)\n" +
    "local mailbox, messages = KEYS[1], KEYS[2]\n" +
    "\n" +
    "local fields = redis.call('HMGET', mailbox, 'last', 'acked', 'bytes', 'sentAt', 'epoch')\n" +
    "local oldest = redis.call('LINDEX', messages, 0)\n" +
    "return { fields, redis.call('LLEN', messages), oldest and string.match(oldest, '^%d+:%d+:%d+:') }\n",
} as const);
