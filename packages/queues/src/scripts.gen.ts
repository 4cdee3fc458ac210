// Made from the .lua files of this folder by `npm run scripts`. Edit those.
import { Script } from '@mortise/redis';

export const eventsOpen = new Script({
  name: "events.open",
  isReadOnly: false,
  keys: ["events"],
  args: [],
  source: "#!lua flags=allow-oom\n" +
    "-- The number of the newest event. A stream that is not there is begun, so that a reader who has seen nothing yet has a number\n" +
    "-- to go on from.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   events       STREAM <number of the last event of the entry>-<first number> -> e: f64 instant (ms), then the events\n" +
    "-- RETURNS\n" +
    "--   the number, as a string\n" +
    "local events = KEYS[1]\n" +
    "\n" +
    "local newest = redis.call('XREVRANGE', events, '+', '-', 'COUNT', 1)[1]\n" +
    "if newest then\n" +
    "  return string.match(newest[1], '^%d+')\n" +
    "end\n" +
    "local time = redis.call('TIME')\n" +
    "local number = string.format('%.0f', time[1] * 1000000 + time[2])\n" +
    "-- An entry without events.\n" +
    "redis.call('XADD', events, number .. '-' .. number, 'e', struct.pack('>d', time[1] * 1000 + math.floor(time[2] / 1000)))\n" +
    "return number\n",
} as const);

export const eventsRead = new Script({
  name: "events.read",
  isReadOnly: true,
  keys: ["events"],
  args: ["after","most"],
  source: "#!lua flags=no-writes\n" +
    "-- What stands in the stream behind an event.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   events       STREAM <number of the last event of the entry>-<first number> -> e: f64 instant (ms), then the events\n" +
    "-- ARGV\n" +
    "--   after        number of the event\n" +
    "--   most         entries to return at most\n" +
    "-- RETURNS\n" +
    "--   { number of the newest event or '', number that the stream began with (0: not known), number, entry, number, entry, … }: number\n" +
    "--   of the last event of each entry; the first entry may begin before `after`\n" +
    "local events = KEYS[1]\n" +
    "local after, most = ARGV[1], tonumber(ARGV[2])\n" +
    "\n" +
    "-- Of what stands behind the `-` of an id.\n" +
    "local LARGEST = '18446744073709551615'\n" +
    "\n" +
    "local newest = redis.call('XREVRANGE', events, '+', '-', 'COUNT', 1)[1]\n" +
    "local last, begun = string.match(newest and newest[1] or '', '^(%d+)-(%d+)')\n" +
    "local reply = { last or '', begun or '0' }\n" +
    "for _, entry in ipairs(redis.call('XRANGE', events, '(' .. after .. '-' .. LARGEST, '+', 'COUNT', most)) do\n" +
    "  reply[#reply + 1] = string.match(entry[1], '^%d+')\n" +
    "  reply[#reply + 1] = entry[2][2]\n" +
    "end\n" +
    "return reply\n",
} as const);

export const flowChildren = new Script({
  name: "flow.children",
  isReadOnly: true,
  keys: ["flows"],
  args: ["id","from"],
  source: "#!lua flags=no-writes\n" +
    "-- How the children of a parent have ended.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   flows        HASH, see flow.open.lua\n" +
    "-- ARGV\n" +
    "--   id           of the parent, as stored\n" +
    "--   from         index of the first child to return\n" +
    "-- RETURNS\n" +
    "--   { index to go on from, or 0 when that was all; what is kept of a child, … }: those that have ended, in order\n" +
    "local flows = KEYS[1]\n" +
    "local id, from = ARGV[1], tonumber(ARGV[2])\n" +
    "local PAGE = 100\n" +
    "local MOST_BYTES = 2097152\n" +
    "\n" +
    "local head = redis.call('HGET', flows, id)\n" +
    "if not head then\n" +
    "  return { 0 }\n" +
    "end\n" +
    "local flow, count = string.sub(head, 9, 16), struct.unpack('>H', head, 17)\n" +
    "local reply, bytes = { 0 }, 0\n" +
    "while from < count and bytes < MOST_BYTES do\n" +
    "  local fields = {}\n" +
    "  for index = from, math.min(count, from + PAGE) - 1 do\n" +
    "    fields[#fields + 1] = 'c' .. flow .. struct.pack('>H', index)\n" +
    "  end\n" +
    "  for _, kept in ipairs(redis.call('HMGET', flows, unpack(fields))) do\n" +
    "    from = from + 1\n" +
    "    if kept then\n" +
    "      reply[#reply + 1] = kept\n" +
    "      bytes = bytes + #kept\n" +
    "    end\n" +
    "    if bytes >= MOST_BYTES then\n" +
    "      break\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "if from < count then\n" +
    "  reply[1] = from\n" +
    "end\n" +
    "return reply\n",
} as const);

export const flowOpen = new Script({
  name: "flow.open",
  isReadOnly: false,
  keys: ["settings","tasks","attempts","events","flows","outbox","remembered"],
  args: ["believed","publish","graceMs"],
  restArg: "parents",
  source: "#!lua\n" +
    "-- Stores tasks that have children: they wait until these have ended. What is to become the children stands beside them, and\n" +
    "-- the outbox says so, until they are stored where they belong; so a flow is there with all its tasks or not at all. An id\n" +
    "-- that is already stored is left alone.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   settings     STRING, see src/shard/settings-text.ts\n" +
    "--   tasks        HASH id -> record\n" +
    "--   attempts     HASH id -> W, f64 instant, u16 0\n" +
    "--   events       STREAM\n" +
    "--   flows        HASH id of a parent -> f64 when it may run (see record.ts), 8 bytes flow, u16 children, u16 still to end, u8 policy\n" +
    "--                (1: dead when a child fails, 0: runs all the same), u8 waiting; c, flow, u16 index of a child -> how it ended;\n" +
    "--                e, flow, u16 index -> what is to become the child; w -> how many parents wait\n" +
    "--   outbox       HASH l -> f64 until when somebody sends, then who; p -> f64 until when nothing is due; e, flow -> f64 when due,\n" +
    "--                u16 children, u16 how many of them were walked through, u8 walks that left some, f64 since when: they are to be\n" +
    "--                enqueued; n, f64 instant, id -> a child that has ended; g, flow -> u16 children: their fields in flows are to\n" +
    "--                be removed\n" +
    "--   remembered   ZSET id -> until when it is refused\n" +
    "-- ARGV\n" +
    "--   believed     the settings that the caller believes to be stored\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "--   graceMs      how long the caller has for storing the children itself, before others do\n" +
    "--   parents...   for each: id, record, flow, policy; how many tasks of its flow will lie in this shard, 1 where that was asked\n" +
    "--                before; how many ids of these that must not be taken, and those; how many children, then each child as\n" +
    "--                flow-node.ts has it\n" +
    "-- RETURNS\n" +
    "--   { outcomes, id, … }: a character for each parent: 1 stored, 0 was there already, C is there with another name or payload, F\n" +
    "--   there is no room for all of the flow that lies here, T an id is taken, which follows\n" +
    "--   error SETTINGS <stored>: something else is stored; nothing is written\n" +
    "local settings, tasks, attempts, events, flows, outbox = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]\n" +
    "local remembered = KEYS[7]\n" +
    "local believed, publish, graceMs = ARGV[1], ARGV[2], tonumber(ARGV[3])\n" +
    "local MAX_TASKS = 10000000\n" +
    "\n" +
    "local stored = redis.call('GET', settings)\n" +
    "if stored and stored ~= believed then\n" +
    "  return redis.error_reply('SETTINGS ' .. stored)\n" +
    "end\n" +
    "if not stored then\n" +
    "  redis.call('SET', settings, believed)\n" +
    "end\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "local keepEvents = tonumber(string.match(believed, ';events=(%d+)')) or 0\n" +
    "local room = (tonumber(string.match(believed, ';max=(%d+)')) or MAX_TASKS) - redis.call('HLEN', tasks)\n" +
    "\n" +
    "-- Tells those who read events what has happened. Expects events, keepEvents, publish. All of one call become one entry of the\n" +
    "-- stream, and one message. Events are numbered without a gap: an entry's id is the number of the last event in it, so a\n" +
    "-- reader knows what it has missed, and the first number of a stream is its time in µs, so that no number comes twice when\n" +
    "-- a stream is begun anew. Behind the `-` of each id stands that first number, which costs nothing, since it is the same in all of\n" +
    "-- them: who has seen less has seen another stream (0: it was begun by an older version). An entry: f64 instant (ms), then for each event: kind, u16 length · id, u16 attempt,\n" +
    "-- u16 length · text.\n" +
    "local happened, happenings = {}, 0\n" +
    "\n" +
    "-- Kinds, and what detail is for each; the text is cut after 512 bytes.\n" +
    "--   E enqueued: the record (text: the name)        P progress: JSON (text, if it isn't longer)\n" +
    "--   A started, S succeeded, R retrying, H retrying and holding its group, D dead, C cancelled, W waiting for children:\n" +
    "--     the value in attempts (text: the reason; results are not told)\n" +
    "--   Y ready again (by hand), X removed, Z paused, U resumed, and whatever comes: '' or the text. What\n" +
    "--     concerns the queue and no task has the id ''.\n" +
    "local function happen(kind, id, detail)\n" +
    "  if keepEvents == 0 then\n" +
    "    return\n" +
    "  end\n" +
    "  local MOST_TEXT = 512\n" +
    "  local attempt, text = 0, detail\n" +
    "  if kind == 'E' then\n" +
    "    local flags, at = string.byte(detail), 12\n" +
    "    if math.floor(flags / 16) % 2 == 1 then\n" +
    "      at = 14 + struct.unpack('>H', detail, 12)\n" +
    "    end\n" +
    "    if flags >= 128 then\n" +
    "      -- For how long the id is remembered.\n" +
    "      at = at + 8\n" +
    "    end\n" +
    "    text = string.sub(detail, at + 2, at + 1 + struct.unpack('>H', detail, at))\n" +
    "  elseif kind == 'A' then\n" +
    "    attempt, text = struct.unpack('>H', detail, 6), ''\n" +
    "  elseif kind == 'S' or kind == 'R' or kind == 'H' or kind == 'D' or kind == 'C' or kind == 'W' then\n" +
    "    attempt = struct.unpack('>H', detail, 10)\n" +
    "    text = (kind == 'S' or kind == 'W') and '' or string.sub(detail, 12)\n" +
    "  elseif kind == 'P' and #detail > MOST_TEXT then\n" +
    "    text = ''\n" +
    "  end\n" +
    "  text = string.sub(text, 1, MOST_TEXT)\n" +
    "  happenings = happenings + 1\n" +
    "  happened[happenings] = kind .. struct.pack('>H', #id) .. id .. struct.pack('>HH', attempt, #text) .. text\n" +
    "end\n" +
    "\n" +
    "-- Once, at the end of the script.\n" +
    "local function tellEvents()\n" +
    "  if happenings == 0 then\n" +
    "    return\n" +
    "  end\n" +
    "  local time = redis.call('TIME')\n" +
    "  local newest = redis.call('XREVRANGE', events, '+', '-', 'COUNT', 1)[1]\n" +
    "  local before, begun\n" +
    "  if newest then\n" +
    "    before, begun = string.match(newest[1], '^(%d+)-(%d+)')\n" +
    "  else\n" +
    "    begun = string.format('%.0f', time[1] * 1000000 + time[2])\n" +
    "    before = begun\n" +
    "  end\n" +
    "  local last = string.format('%.0f', before + happenings)\n" +
    "  local instant = struct.pack('>d', time[1] * 1000 + math.floor(time[2] / 1000))\n" +
    "  local oldest = string.format('%.0f', math.max(0, before + happenings - keepEvents + 1))\n" +
    "  redis.call('XADD', events, 'MINID', '~', oldest, last .. '-' .. begun, 'e', instant .. table.concat(happened))\n" +
    "  redis.call(publish, events, '*:' .. last)\n" +
    "end\n" +
    "-- Where the name begins in a record.\n" +
    "local function nameAt(record)\n" +
    "  local flags, at = string.byte(record), 12\n" +
    "  if math.floor(flags / 16) % 2 == 1 then\n" +
    "    at = at + 2 + struct.unpack('>H', record, at)\n" +
    "  end\n" +
    "  return flags >= 128 and at + 8 or at\n" +
    "end\n" +
    "\n" +
    "-- Name and payload; what else a record has may differ from call to call, as trace context does.\n" +
    "local function essence(record)\n" +
    "  local name, at = struct.unpack('>Hc0', record, nameAt(record))\n" +
    "  local length = struct.unpack('>H', record, at)\n" +
    "  return name .. '\\0' .. string.sub(record, at + 2 + length)\n" +
    "end\n" +
    "-- What became of a task: attempts says so, or its record, which is sealed then (see seal.ts). Whoever finds no entry in attempts\n" +
    "-- has to ask here. Expects: tasks.\n" +
    "\n" +
    "-- The record as it was enqueued, whether it is sealed or not, and what attempts says of the task, or would say: S, f64\n" +
    "-- instant, u16 attempt. `last` is what it has of the task, if anything.\n" +
    "local function unseal(record, last)\n" +
    "  if not record or #record < 16 or string.byte(record, 4) >= 64 then\n" +
    "    return record, last\n" +
    "  end\n" +
    "  local high, low, attempt, low2 = struct.unpack('>HBBB', record)\n" +
    "  local enqueuedAt = struct.unpack('>d', record, 9)\n" +
    "  -- An instant of enqueuing may be a little ahead of the time.\n" +
    "  local endedAt = enqueuedAt + high * 65536 + low * 256 + low2 - 65536\n" +
    "  return string.sub(record, 6), last or struct.pack('>c1dH', 'S', endedAt, attempt)\n" +
    "end\n" +
    "\n" +
    "-- What attempts would say of a task that has no entry there; false when there is nothing to say, since it has not been taken;\n" +
    "-- nil for a task that is unknown. Reads no big record.\n" +
    "local function sealedEnd(id)\n" +
    "  local MOST_BYTES = 512\n" +
    "  local bytes = redis.call('HSTRLEN', tasks, id)\n" +
    "  if bytes == 0 then\n" +
    "    return nil\n" +
    "  end\n" +
    "  local _, last = unseal(bytes <= MOST_BYTES and redis.call('HGET', tasks, id), false)\n" +
    "  return last\n" +
    "end\n" +
    "\n" +
    "-- The children are the `count` arguments from `first` on.\n" +
    "local function open(id, record, flow, policy, first, count)\n" +
    "  local mark = 'W' .. struct.pack('>dH', now, 0)\n" +
    "  redis.call('HSET', attempts, id, mark)\n" +
    "  local head = string.sub(record, 4, 11) .. flow .. struct.pack('>HHBB', count, count, policy, 1)\n" +
    "  redis.call('HSET', flows, id, head)\n" +
    "  redis.call('HINCRBY', flows, 'w', 1)\n" +
    "  for index = 0, count - 1 do\n" +
    "    redis.call('HSET', flows, 'e' .. flow .. struct.pack('>H', index), ARGV[first + index])\n" +
    "  end\n" +
    "  redis.call('HSET', outbox, 'e' .. flow, struct.pack('>dHHBd', now + graceMs, count, 0, 0, 0))\n" +
    "  happen('E', id, record)\n" +
    "  happen('W', id, mark)\n" +
    "end\n" +
    "\n" +
    "-- The first of the `count` arguments from `first` on that is the id of a task, or refused as that of one that is gone.\n" +
    "local function takenOf(first, count)\n" +
    "  for i = first, first + count - 1 do\n" +
    "    if redis.call('HEXISTS', tasks, ARGV[i]) == 1 then\n" +
    "      return ARGV[i]\n" +
    "    end\n" +
    "    local refusedUntil = redis.call('ZSCORE', remembered, ARGV[i])\n" +
    "    if refusedUntil and tonumber(refusedUntil) > now then\n" +
    "      return ARGV[i]\n" +
    "    end\n" +
    "  end\n" +
    "  return nil\n" +
    "end\n" +
    "\n" +
    "local outcomes, reply, at = {}, { '' }, 4\n" +
    "while at <= #ARGV do\n" +
    "  local id, record, flow, policy = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]\n" +
    "  local size, given = tonumber(ARGV[at + 4]), tonumber(ARGV[at + 5])\n" +
    "  local first = at + 7 + given\n" +
    "  local count = tonumber(ARGV[first - 1])\n" +
    "  local stored, outcome = redis.call('HGET', tasks, id), '1'\n" +
    "  local taken = not stored and takenOf(at + 6, given)\n" +
    "  if stored then\n" +
    "    outcome = essence((unseal(stored))) == essence(record) and '0' or 'C'\n" +
    "  elseif taken then\n" +
    "    outcome = 'T'\n" +
    "    reply[#reply + 1] = taken\n" +
    "  elseif room < size then\n" +
    "    outcome = 'F'\n" +
    "  else\n" +
    "    redis.call('HSET', tasks, id, string.sub(record, 1, 3) .. struct.pack('>d', now) .. string.sub(record, 12))\n" +
    "    -- Its children come with calls of their own.\n" +
    "    room = room - size\n" +
    "    open(id, record, flow, tonumber(policy), first, count)\n" +
    "  end\n" +
    "  outcomes[#outcomes + 1] = outcome\n" +
    "  at = first + count\n" +
    "end\n" +
    "tellEvents()\n" +
    "reply[1] = table.concat(outcomes)\n" +
    "return reply\n",
} as const);

export const flowRelay = new Script({
  name: "flow.relay",
  isReadOnly: false,
  keys: ["flows","outbox"],
  args: ["sender","leaseMs","cursor","handed","pauseMs"],
  restArg: "sent",
  source: "#!lua flags=allow-oom\n" +
    "-- One step of who sends what the outbox of a shard holds: removes what was sent, and hands out what is to be sent next.\n" +
    "-- One at a time does so, as long as it goes on; when nothing is due it lets go, in the same step, so that whoever puts\n" +
    "-- something in after that finds nobody sending. Also removes, a part with each call, what is kept of the children of\n" +
    "-- parents that are gone.\n" +
    "--\n" +
    "-- Steps go round the outbox with a cursor, so that nothing stands behind what cannot be sent: a note is handed out once in each\n" +
    "-- round. Children are walked through, a part of them each time that a round comes by; those that are still there at the end of\n" +
    "-- the walk could not be stored, and the flow is not due again until a while later, which doubles.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   flows        HASH, see flow.open.lua\n" +
    "--   outbox       HASH, see flow.open.lua\n" +
    "-- ARGV\n" +
    "--   sender       who sends\n" +
    "--   leaseMs      for how long it is the only one\n" +
    "--   cursor       where the round goes on; 0: a round begins\n" +
    "--   handed       how many this round has handed out before\n" +
    "--   pauseMs      0; otherwise it lets go, and nobody sends for so long, unless something new has come in\n" +
    "--   sent...      fields of what was sent, 1,000 at most: n… of the outbox, e… of flows\n" +
    "-- RETURNS\n" +
    "--   { state }: 0 another one sends, 2 nothing is left that is due, or it has let go\n" +
    "--   { 1, cursor, kind, field, value, … }: it goes on, there; the round is over at 0. Three for each: n, the field, a child that\n" +
    "--   has ended; e, the field, what is to become a child; f as e, of a flow that has been tried for PATIENCE_MS\n" +
    "local flows, outbox = KEYS[1], KEYS[2]\n" +
    "local sender, leaseMs, cursor = ARGV[1], tonumber(ARGV[2]), ARGV[3]\n" +
    "local handed, pauseMs = tonumber(ARGV[4]), tonumber(ARGV[5])\n" +
    "-- How many notes and children are handed out, how many bytes of each, and how many fields are removed.\n" +
    "local PIECE = 20\n" +
    "local MOST_NOTES = 200\n" +
    "local MOST_CHILDREN = 200\n" +
    "local MOST_BYTES = 1048576\n" +
    "local MOST_REMOVED = 500\n" +
    "local MOST_LOOKED = 2000\n" +
    "local PAUSE_MS = 1000\n" +
    "-- For how long a flow is put off whose children could not be stored.\n" +
    "local LEAST_OFF_MS, MOST_OFF_MS = 1000, 8000\n" +
    "-- After that, what refuses a child has had time enough to take it.\n" +
    "local PATIENCE_MS = 60000\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "\n" +
    "local sent = { n = {}, e = {} }\n" +
    "for i = 6, #ARGV do\n" +
    "  local fields = sent[string.sub(ARGV[i], 1, 1)]\n" +
    "  fields[#fields + 1] = ARGV[i]\n" +
    "end\n" +
    "if #sent.n > 0 then\n" +
    "  redis.call('HDEL', outbox, unpack(sent.n))\n" +
    "end\n" +
    "if #sent.e > 0 then\n" +
    "  redis.call('HDEL', flows, unpack(sent.e))\n" +
    "end\n" +
    "\n" +
    "local lease = redis.call('HGET', outbox, 'l')\n" +
    "if lease and struct.unpack('>d', lease) > now and string.sub(lease, 9) ~= sender then\n" +
    "  return { 0 }\n" +
    "end\n" +
    "\n" +
    "-- p stands at 0 during a round; whoever puts something in removes it.\n" +
    "local isNew = cursor ~= '0' and redis.call('HEXISTS', outbox, 'p') == 0\n" +
    "local function letGo(ms)\n" +
    "  redis.call('HDEL', outbox, 'l', 'p')\n" +
    "  if ms > 0 and not isNew and redis.call('EXISTS', outbox) == 1 then\n" +
    "    redis.call('HSET', outbox, 'p', struct.pack('>d', now + ms))\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "if pauseMs > 0 then\n" +
    "  isNew = redis.call('HEXISTS', outbox, 'p') == 0\n" +
    "  letGo(pauseMs)\n" +
    "  return { 2 }\n" +
    "end\n" +
    "if cursor == '0' then\n" +
    "  redis.call('HSET', outbox, 'p', struct.pack('>d', 0))\n" +
    "end\n" +
    "\n" +
    "local notes, children, noteBytes, childBytes = 0, 0, 0, 0\n" +
    "local looked, removed, nextAt, reply = 0, 0, math.huge, { 1, '0' }\n" +
    "\n" +
    "local function hand(kind, field, value)\n" +
    "  local at = #reply\n" +
    "  reply[at + 1], reply[at + 2], reply[at + 3] = kind, field, value\n" +
    "end\n" +
    "\n" +
    "local function isFull()\n" +
    "  return children >= MOST_CHILDREN or childBytes >= MOST_BYTES or looked >= MOST_LOOKED\n" +
    "end\n" +
    "\n" +
    "-- Whether any of the children is still to be stored.\n" +
    "local function isLeft(field, count)\n" +
    "  for index = 0, count - 1 do\n" +
    "    looked = looked + 1\n" +
    "    if redis.call('HEXISTS', flows, field .. struct.pack('>H', index)) == 1 then\n" +
    "      return true\n" +
    "    end\n" +
    "  end\n" +
    "  return false\n" +
    "end\n" +
    "\n" +
    "local function handChildren(field)\n" +
    "  local value = redis.call('HGET', outbox, field)\n" +
    "  if not value then\n" +
    "    return\n" +
    "  end\n" +
    "  local dueAt, count, from, tries, since = struct.unpack('>dHHBd', value)\n" +
    "  if dueAt > now then\n" +
    "    nextAt = math.min(nextAt, dueAt)\n" +
    "    return\n" +
    "  end\n" +
    "  local isWhole, isNone = from == 0, true\n" +
    "  if from < count then\n" +
    "    local kind = since > 0 and now - since >= PATIENCE_MS and 'f' or 'e'\n" +
    "    while from < count and not isFull() do\n" +
    "      local child = field .. struct.pack('>H', from)\n" +
    "      local bytes = redis.call('HGET', flows, child)\n" +
    "      looked, from = looked + 1, from + 1\n" +
    "      if bytes then\n" +
    "        hand(kind, child, bytes)\n" +
    "        isNone, children, childBytes = false, children + 1, childBytes + #bytes\n" +
    "      end\n" +
    "    end\n" +
    "    if isWhole and isNone and from == count then\n" +
    "      redis.call('HDEL', outbox, field)\n" +
    "      return\n" +
    "    end\n" +
    "  elseif isLeft(field, count) then\n" +
    "    local offMs = math.min(MOST_OFF_MS, LEAST_OFF_MS * 2 ^ tries)\n" +
    "    dueAt, from, tries, since = now + offMs, 0, math.min(tries + 1, 20), since > 0 and since or now\n" +
    "    nextAt = math.min(nextAt, dueAt)\n" +
    "  else\n" +
    "    redis.call('HDEL', outbox, field)\n" +
    "    return\n" +
    "  end\n" +
    "  redis.call('HSET', outbox, field, struct.pack('>dHHBd', dueAt, count, from, tries, since))\n" +
    "end\n" +
    "\n" +
    "-- From the last child on, so that what is still to be removed is a number.\n" +
    "local function removeChildren(field)\n" +
    "  local value = redis.call('HGET', outbox, field)\n" +
    "  if not value then\n" +
    "    return\n" +
    "  end\n" +
    "  local count = struct.unpack('>H', value)\n" +
    "  local from = math.max(0, count - math.floor((MOST_REMOVED - removed) / 2))\n" +
    "  local flow, fields = string.sub(field, 2), {}\n" +
    "  for index = from, count - 1 do\n" +
    "    local child = flow .. struct.pack('>H', index)\n" +
    "    fields[#fields + 1] = 'c' .. child\n" +
    "    fields[#fields + 1] = 'e' .. child\n" +
    "  end\n" +
    "  if #fields > 0 then\n" +
    "    redis.call('HDEL', flows, unpack(fields))\n" +
    "    removed = removed + #fields\n" +
    "  end\n" +
    "  if from == 0 then\n" +
    "    redis.call('HDEL', outbox, field)\n" +
    "  else\n" +
    "    redis.call('HSET', outbox, field, struct.pack('>H', from))\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- All that a piece holds is seen: what is left out would be left out again.\n" +
    "local parents, garbage = {}, {}\n" +
    "repeat\n" +
    "  local next, piece = unpack(redis.call('HSCAN', outbox, cursor, 'COUNT', PIECE))\n" +
    "  cursor = next\n" +
    "  for i = 1, #piece, 2 do\n" +
    "    local field, value = piece[i], piece[i + 1]\n" +
    "    local kind = string.sub(field, 1, 1)\n" +
    "    if kind == 'n' then\n" +
    "      hand('n', field, value)\n" +
    "      notes, noteBytes = notes + 1, noteBytes + #value\n" +
    "    elseif kind == 'e' then\n" +
    "      parents[#parents + 1] = field\n" +
    "    elseif kind == 'g' then\n" +
    "      garbage[#garbage + 1] = field\n" +
    "    end\n" +
    "  end\n" +
    "until cursor == '0' or notes + #parents + #garbage >= MOST_NOTES or noteBytes >= MOST_BYTES\n" +
    "reply[2] = cursor\n" +
    "-- Not always the same ones first.\n" +
    "for i = 1, #parents do\n" +
    "  if isFull() then\n" +
    "    break\n" +
    "  end\n" +
    "  handChildren(parents[(i + time[2]) % #parents + 1])\n" +
    "end\n" +
    "for _, field in ipairs(garbage) do\n" +
    "  if removed < MOST_REMOVED then\n" +
    "    removeChildren(field)\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local left = redis.call('HLEN', outbox) - redis.call('HEXISTS', outbox, 'l') - redis.call('HEXISTS', outbox, 'p')\n" +
    "local hasDone = notes + children > 0 or (removed > 0 or looked > 0) and left > 0\n" +
    "if cursor ~= '0' or handed > 0 or isNew or hasDone then\n" +
    "  redis.call('HSET', outbox, 'l', struct.pack('>d', now + leaseMs) .. sender)\n" +
    "  return reply\n" +
    "end\n" +
    "letGo(left > 0 and math.min(PAUSE_MS, nextAt - now) or 0)\n" +
    "return { 2 }\n",
} as const);

export const flowReport = new Script({
  name: "flow.report",
  isReadOnly: false,
  keys: ["settings","tasks","attempts","dead","idle","watched","events","flows","outbox"],
  args: ["believed","publish"],
  restKey: "lanes",
  restArg: "reports",
  source: "#!lua flags=allow-oom\n" +
    "-- Notes how children have ended, once for each. A parent whose children have all ended is due; one that has lost a child it\n" +
    "-- cannot do without is dead.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   settings     STRING, see src/shard/settings-text.ts\n" +
    "--   tasks        HASH id -> record\n" +
    "--   attempts     HASH id -> last attempt; W waits for its children\n" +
    "--   dead         ZSET id -> instant of death, ms\n" +
    "--   idle         ZSET channel of a parked worker -> parked until, ms\n" +
    "--   watched      ZSET id -> until when somebody waits for its end\n" +
    "--   events       STREAM\n" +
    "--   flows        HASH, see flow.open.lua\n" +
    "--   outbox       HASH, see flow.open.lua\n" +
    "--   lanes...     three for each priority: ready LIST, scheduled ZSET, retrying ZSET\n" +
    "-- ARGV\n" +
    "--   believed     the settings that the caller believes to be stored\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "--   reports...   five for each, 200 at most: id of the parent; 8 bytes flow, u16 index of the child; the state in which it ended:\n" +
    "--                S, D, C, X removed; why the parent is dead if it cannot do without it; what is kept of it: f64 instant, …\n" +
    "-- RETURNS\n" +
    "--   how many were news\n" +
    "--   error SETTINGS <stored>: something else is stored; nothing is written\n" +
    "local settings, tasks, attempts, dead, idle = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]\n" +
    "local watched, events, flows, outbox = KEYS[6], KEYS[7], KEYS[8], KEYS[9]\n" +
    "local believed, publish = ARGV[1], ARGV[2]\n" +
    "local isExtended = true\n" +
    "local LANES = 16\n" +
    "local scheduled = {}\n" +
    "for lane = 10, #KEYS, 3 do\n" +
    "  scheduled[(lane - 10) / 3] = KEYS[lane + 1]\n" +
    "end\n" +
    "\n" +
    "-- Refuses who believes in other settings than the stored ones; the time, and how many events are kept.\n" +
    "-- Expects: settings, believed.\n" +
    "local stored = redis.call('GET', settings)\n" +
    "if stored and stored ~= believed then\n" +
    "  return redis.error_reply('SETTINGS ' .. stored)\n" +
    "end\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "local keepEvents = tonumber(string.match(believed, ';events=(%d+)')) or 0\n" +
    "\n" +
    "-- Tells parked workers, those that have waited longest first, that there may be something to take. `message`: for the one who\n" +
    "-- may be handed a task along with it. Returns whether the last who was told was such; nil when nobody was told.\n" +
    "-- Expects: idle, publish, now.\n" +
    "local function wake(most, message)\n" +
    "  local isHanded\n" +
    "  for _ = 1, 16 do\n" +
    "    if most == 0 then\n" +
    "      break\n" +
    "    end\n" +
    "    local parked = redis.call('ZPOPMIN', idle)\n" +
    "    if #parked == 0 then\n" +
    "      break\n" +
    "    end\n" +
    "    -- What is published to somebody who listens to a replica, or still to a former master, arrives there but isn't counted: the next\n" +
    "    -- one would be handed the same task. So whoever isn't heard here gets none.\n" +
    "    local takes = message ~= nil\n" +
    "      and parked[2] % 1 > 0\n" +
    "      and redis.call('PUBSUB', publish == 'SPUBLISH' and 'SHARDNUMSUB' or 'NUMSUB', parked[1])[2] > 0\n" +
    "    -- Not those that are gone, or whose parking time is over.\n" +
    "    if tonumber(parked[2]) >= now and redis.call(publish, parked[1], takes and message or 'w:') > 0 then\n" +
    "      most = most - 1\n" +
    "      isHanded = takes\n" +
    "    end\n" +
    "  end\n" +
    "  return isHanded\n" +
    "end\n" +
    "-- Tells those who read events what has happened. Expects events, keepEvents, publish. All of one call become one entry of the\n" +
    "-- stream, and one message. Events are numbered without a gap: an entry's id is the number of the last event in it, so a\n" +
    "-- reader knows what it has missed, and the first number of a stream is its time in µs, so that no number comes twice when\n" +
    "-- a stream is begun anew. Behind the `-` of each id stands that first number, which costs nothing, since it is the same in all of\n" +
    "-- them: who has seen less has seen another stream (0: it was begun by an older version). An entry: f64 instant (ms), then for each event: kind, u16 length · id, u16 attempt,\n" +
    "-- u16 length · text.\n" +
    "local happened, happenings = {}, 0\n" +
    "\n" +
    "-- Kinds, and what detail is for each; the text is cut after 512 bytes.\n" +
    "--   E enqueued: the record (text: the name)        P progress: JSON (text, if it isn't longer)\n" +
    "--   A started, S succeeded, R retrying, H retrying and holding its group, D dead, C cancelled, W waiting for children:\n" +
    "--     the value in attempts (text: the reason; results are not told)\n" +
    "--   Y ready again (by hand), X removed, Z paused, U resumed, and whatever comes: '' or the text. What\n" +
    "--     concerns the queue and no task has the id ''.\n" +
    "local function happen(kind, id, detail)\n" +
    "  if keepEvents == 0 then\n" +
    "    return\n" +
    "  end\n" +
    "  local MOST_TEXT = 512\n" +
    "  local attempt, text = 0, detail\n" +
    "  if kind == 'E' then\n" +
    "    local flags, at = string.byte(detail), 12\n" +
    "    if math.floor(flags / 16) % 2 == 1 then\n" +
    "      at = 14 + struct.unpack('>H', detail, 12)\n" +
    "    end\n" +
    "    if flags >= 128 then\n" +
    "      -- For how long the id is remembered.\n" +
    "      at = at + 8\n" +
    "    end\n" +
    "    text = string.sub(detail, at + 2, at + 1 + struct.unpack('>H', detail, at))\n" +
    "  elseif kind == 'A' then\n" +
    "    attempt, text = struct.unpack('>H', detail, 6), ''\n" +
    "  elseif kind == 'S' or kind == 'R' or kind == 'H' or kind == 'D' or kind == 'C' or kind == 'W' then\n" +
    "    attempt = struct.unpack('>H', detail, 10)\n" +
    "    text = (kind == 'S' or kind == 'W') and '' or string.sub(detail, 12)\n" +
    "  elseif kind == 'P' and #detail > MOST_TEXT then\n" +
    "    text = ''\n" +
    "  end\n" +
    "  text = string.sub(text, 1, MOST_TEXT)\n" +
    "  happenings = happenings + 1\n" +
    "  happened[happenings] = kind .. struct.pack('>H', #id) .. id .. struct.pack('>HH', attempt, #text) .. text\n" +
    "end\n" +
    "\n" +
    "-- Once, at the end of the script.\n" +
    "local function tellEvents()\n" +
    "  if happenings == 0 then\n" +
    "    return\n" +
    "  end\n" +
    "  local time = redis.call('TIME')\n" +
    "  local newest = redis.call('XREVRANGE', events, '+', '-', 'COUNT', 1)[1]\n" +
    "  local before, begun\n" +
    "  if newest then\n" +
    "    before, begun = string.match(newest[1], '^(%d+)-(%d+)')\n" +
    "  else\n" +
    "    begun = string.format('%.0f', time[1] * 1000000 + time[2])\n" +
    "    before = begun\n" +
    "  end\n" +
    "  local last = string.format('%.0f', before + happenings)\n" +
    "  local instant = struct.pack('>d', time[1] * 1000 + math.floor(time[2] / 1000))\n" +
    "  local oldest = string.format('%.0f', math.max(0, before + happenings - keepEvents + 1))\n" +
    "  redis.call('XADD', events, 'MINID', '~', oldest, last .. '-' .. begun, 'e', instant .. table.concat(happened))\n" +
    "  redis.call(publish, events, '*:' .. last)\n" +
    "end\n" +
    "-- Tells those who wait for a task that it has ended for good. Expects tasks, watched, flows, outbox, publish, isExtended.\n" +
    "-- Call finish while the record is still in tasks. Beside it: flow.forget.part.lua for who removes records (`forgetFlows(ids)`), and\n" +
    "-- flow.due.part.lua for who tells workers of the outbox (`isOutboxDue()`: bit 2 of the exchange's chores). Others wake a worker when\n" +
    "-- there are `notes`: it asks for chores.\n" +
    "local endedIds, endedValues, endedCount, notes = {}, {}, 0, {}\n" +
    "\n" +
    "-- flags is the first byte of the record. value is what attempts says of the end (S…, D…, C…), or '' for a task that is\n" +
    "-- removed before it has ended.\n" +
    "local function finish(id, flags, value)\n" +
    "  if not isExtended then\n" +
    "    return\n" +
    "  end\n" +
    "  endedCount = endedCount + 1\n" +
    "  endedIds[endedCount], endedValues[endedCount] = id, value\n" +
    "  local kin = math.floor(flags / 32) % 4\n" +
    "  if kin % 2 == 1 then\n" +
    "    -- Who the parent is stands in the extras, which are JSON: the note has the record without the payload.\n" +
    "    local record = redis.call('HGET', tasks, id)\n" +
    "    if record then\n" +
    "      local at = 12\n" +
    "      if math.floor(flags / 16) % 2 == 1 then\n" +
    "        at = at + 2 + struct.unpack('>H', record, at)\n" +
    "      end\n" +
    "      if flags >= 128 then\n" +
    "        -- For how long the id is remembered.\n" +
    "        at = at + 8\n" +
    "      end\n" +
    "      at = at + 2 + struct.unpack('>H', record, at)\n" +
    "      at = at + 2 + struct.unpack('>H', record, at)\n" +
    "      local time = redis.call('TIME')\n" +
    "      local told = value ~= '' and value or 'X' .. struct.pack('>dH', time[1] * 1000 + math.floor(time[2] / 1000), 0)\n" +
    "      -- The instant keeps apart the ends of a task that is run again after it has ended.\n" +
    "      notes[#notes + 1] = 'n' .. string.sub(told, 2, 9) .. id\n" +
    "      notes[#notes + 1] = struct.pack('>I', at - 1) .. string.sub(record, 1, at - 1) .. told\n" +
    "    end\n" +
    "  end\n" +
    "  if kin >= 2 then\n" +
    "    -- f64 when, 8 bytes of flow, u16 children, u16 still to come, u8 policy, u8 waiting\n" +
    "    local head = redis.call('HGET', flows, id)\n" +
    "    if head and string.byte(head, 22) == 1 then\n" +
    "      if redis.call('HINCRBY', flows, 'w', -1) == 0 then\n" +
    "        redis.call('HDEL', flows, 'w')\n" +
    "      end\n" +
    "      redis.call('HSET', flows, id, string.sub(head, 1, 21) .. '\\0')\n" +
    "    end\n" +
    "    local state = string.sub(value, 1, 1)\n" +
    "    if head and (state == 'S' or state == '') then\n" +
    "      -- It won't ask for the results of its children again; there may be many, so they are removed step by step.\n" +
    "      redis.call('HDEL', flows, id)\n" +
    "      notes[#notes + 1] = 'g' .. string.sub(head, 9, 16)\n" +
    "      notes[#notes + 1] = string.sub(head, 17, 18)\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- Once, at the end of the script.\n" +
    "local function tellEnded()\n" +
    "  if endedCount == 0 then\n" +
    "    return\n" +
    "  end\n" +
    "  if #notes > 0 then\n" +
    "    redis.call('HSET', outbox, unpack(notes))\n" +
    "    -- Whoever has found that nothing was due yet has not seen these.\n" +
    "    redis.call('HDEL', outbox, 'p')\n" +
    "  end\n" +
    "  if redis.call('EXISTS', watched) == 0 then\n" +
    "    return\n" +
    "  end\n" +
    "  -- The score is the second until which somebody waits · 2^20, plus the number of the process; 0 stands for several.\n" +
    "  local SOLE = 1048576\n" +
    "  for from = 1, endedCount, 1000 do\n" +
    "    local upTo = math.min(from + 999, endedCount)\n" +
    "    for i, score in ipairs(redis.call('ZMSCORE', watched, unpack(endedIds, from, upTo))) do\n" +
    "      if score then\n" +
    "        local id, process = endedIds[from + i - 1], tonumber(score) % SOLE\n" +
    "        local channel = process == 0 and watched or watched .. ':' .. string.format('%.0f', process)\n" +
    "        redis.call(publish, channel, '*:' .. struct.pack('>H', #id) .. id .. endedValues[from + i - 1])\n" +
    "        redis.call('ZREM', watched, id)\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local news, released = 0, 0\n" +
    "\n" +
    "-- How many dead tasks stay is for the workers of this queue to say, with their next call.\n" +
    "local function bury(id, record, reason)\n" +
    "  local last = 'D' .. struct.pack('>dH', now, 0) .. reason\n" +
    "  redis.call('HSET', attempts, id, last)\n" +
    "  redis.call('ZADD', dead, now, id)\n" +
    "  finish(id, string.byte(record), last)\n" +
    "  happen('D', id, last)\n" +
    "end\n" +
    "\n" +
    "-- Due at once, or when it was asked for; what has fallen due is taken before the ready tasks of its lane.\n" +
    "local function release(id, record, head)\n" +
    "  local at = struct.unpack('>d', head)\n" +
    "  if at < 0 then\n" +
    "    at = now - at\n" +
    "  end\n" +
    "  redis.call('HDEL', attempts, id)\n" +
    "  redis.call('ZADD', scheduled[string.byte(record) % LANES], math.max(at, now), id)\n" +
    "  redis.call('HSET', flows, id, string.sub(head, 1, 21) .. '\\0')\n" +
    "  if redis.call('HINCRBY', flows, 'w', -1) == 0 then\n" +
    "    redis.call('HDEL', flows, 'w')\n" +
    "  end\n" +
    "  happen('Y', id, '')\n" +
    "  released = released + 1\n" +
    "end\n" +
    "\n" +
    "local function report(id, child, state, reason, kept)\n" +
    "  local head = redis.call('HGET', flows, id)\n" +
    "  if not head or string.sub(head, 9, 16) ~= string.sub(child, 1, 8) then\n" +
    "    return\n" +
    "  end\n" +
    "  -- It is stored, whoever has done that.\n" +
    "  redis.call('HDEL', flows, 'e' .. child)\n" +
    "  if redis.call('HSETNX', flows, 'c' .. child, kept) == 0 then\n" +
    "    -- Told again, or run again since then.\n" +
    "    if struct.unpack('>d', kept) > struct.unpack('>d', redis.call('HGET', flows, 'c' .. child)) then\n" +
    "      redis.call('HSET', flows, 'c' .. child, kept)\n" +
    "    end\n" +
    "    return\n" +
    "  end\n" +
    "  news = news + 1\n" +
    "  local pending, policy, isWaiting = struct.unpack('>HBB', head, 19)\n" +
    "  head = string.sub(head, 1, 18) .. struct.pack('>H', pending - 1) .. string.sub(head, 21)\n" +
    "  redis.call('HSET', flows, id, head)\n" +
    "  local record = isWaiting == 1 and redis.call('HGET', tasks, id)\n" +
    "  if not record then\n" +
    "    return\n" +
    "  end\n" +
    "  if state ~= 'S' and policy == 1 then\n" +
    "    bury(id, record, reason)\n" +
    "  elseif pending == 1 then\n" +
    "    release(id, record, head)\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "for i = 3, #ARGV, 5 do\n" +
    "  report(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4])\n" +
    "end\n" +
    "tellEnded()\n" +
    "tellEvents()\n" +
    "if released > 0 or #notes > 0 then\n" +
    "  -- Notes: parents of what is dead now have to be told.\n" +
    "  wake(math.max(1, math.min(released, 4)))\n" +
    "end\n" +
    "return news\n",
} as const);

export const operatorCancel = new Script({
  name: "operator.cancel",
  isReadOnly: false,
  keys: ["settings","tasks","attempts","active","idle","holes","cancelled","grouped","groups","turns","resting","progress","logs","watched","events","flows","outbox"],
  args: ["believed","publish","keepCancelled"],
  restKey: "lanes",
  restArg: "entries",
  source: "#!lua flags=allow-oom\n" +
    "-- Cancels tasks that wait or run. What runs is told by a message; its completion is refused from now on.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   settings     STRING, see src/shard/settings-text.ts\n" +
    "--   tasks        HASH id -> record\n" +
    "--   attempts     HASH id -> last attempt; becomes C, f64 instant, u16 attempt, reason\n" +
    "--   active       ZSET id -> end of the lease, ms; also the channel that all workers of the queue hear\n" +
    "--   idle         ZSET channel of a parked worker -> parked until, ms\n" +
    "--   holes        HASH id -> lane of each entry of it that is void\n" +
    "--   cancelled    ZSET id -> instant of cancellation, ms\n" +
    "--   grouped      ZSET of waiting tasks with a group\n" +
    "--   groups       HASH group -> waiting, active, rate\n" +
    "--   turns        ZSET group that may run -> lane and turn\n" +
    "--   resting      ZSET group under its rate limit -> until\n" +
    "--   progress     HASH id -> JSON\n" +
    "--   logs         HASH id -> lines\n" +
    "--   watched      ZSET id -> until when somebody waits for its end\n" +
    "--   events       STREAM\n" +
    "--   flows        HASH\n" +
    "--   outbox       HASH\n" +
    "--   lanes...     three for each priority: ready LIST, scheduled ZSET, retrying ZSET\n" +
    "-- ARGV\n" +
    "--   believed       the settings that the caller believes to be stored\n" +
    "--   publish        PUBLISH or SPUBLISH\n" +
    "--   keepCancelled  how many cancelled tasks stay\n" +
    "--   entries...     two for each, 100 at most: id, reason\n" +
    "-- RETURNS\n" +
    "--   a string with one character a task: 1 cancelled, 0 has ended before, - unknown\n" +
    "--   error SETTINGS <stored>: something else is stored; nothing is written\n" +
    "local settings, tasks, attempts, active, idle, holes = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]\n" +
    "local cancelled, grouped, groups, turns, resting = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]\n" +
    "local progress, logs, watched, events, flows, outbox = KEYS[12], KEYS[13], KEYS[14], KEYS[15], KEYS[16], KEYS[17]\n" +
    "local believed, publish, keepCancelled = ARGV[1], ARGV[2], tonumber(ARGV[3])\n" +
    "local ready, scheduled, retrying = {}, {}, {}\n" +
    "for lane = 18, #KEYS, 3 do\n" +
    "  local index = (lane - 18) / 3\n" +
    "  ready[index], scheduled[index], retrying[index] = KEYS[lane], KEYS[lane + 1], KEYS[lane + 2]\n" +
    "end\n" +
    "\n" +
    "-- Refuses who believes in other settings than the stored ones; the time, and how many events are kept.\n" +
    "-- Expects: settings, believed.\n" +
    "local stored = redis.call('GET', settings)\n" +
    "if stored and stored ~= believed then\n" +
    "  return redis.error_reply('SETTINGS ' .. stored)\n" +
    "end\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "local keepEvents = tonumber(string.match(believed, ';events=(%d+)')) or 0\n" +
    "local isExtended = true\n" +
    "local ENDED = { S = true, D = true, C = true }\n" +
    "\n" +
    "-- Tells parked workers, those that have waited longest first, that there may be something to take. `message`: for the one who\n" +
    "-- may be handed a task along with it. Returns whether the last who was told was such; nil when nobody was told.\n" +
    "-- Expects: idle, publish, now.\n" +
    "local function wake(most, message)\n" +
    "  local isHanded\n" +
    "  for _ = 1, 16 do\n" +
    "    if most == 0 then\n" +
    "      break\n" +
    "    end\n" +
    "    local parked = redis.call('ZPOPMIN', idle)\n" +
    "    if #parked == 0 then\n" +
    "      break\n" +
    "    end\n" +
    "    -- What is published to somebody who listens to a replica, or still to a former master, arrives there but isn't counted: the next\n" +
    "    -- one would be handed the same task. So whoever isn't heard here gets none.\n" +
    "    local takes = message ~= nil\n" +
    "      and parked[2] % 1 > 0\n" +
    "      and redis.call('PUBSUB', publish == 'SPUBLISH' and 'SHARDNUMSUB' or 'NUMSUB', parked[1])[2] > 0\n" +
    "    -- Not those that are gone, or whose parking time is over.\n" +
    "    if tonumber(parked[2]) >= now and redis.call(publish, parked[1], takes and message or 'w:') > 0 then\n" +
    "      most = most - 1\n" +
    "      isHanded = takes\n" +
    "    end\n" +
    "  end\n" +
    "  return isHanded\n" +
    "end\n" +
    "-- Groups. A waiting task with a group stands in the sorted set `grouped`, all scores 0, as\n" +
    "--\n" +
    "--   u16 length · group · u8 lane · f64 sequence · id\n" +
    "--\n" +
    "-- so that the tasks of a group are next to each other, by lane and then in order; `attempts` has the sequence (state Q), so\n" +
    "-- that it can be found from its id. `groups` has for each group how many wait, how many run, and until when its rate is\n" +
    "-- used up (GCRA); its field '' is the counter of sequences and turns. A group that may run stands in `turns` under its turn,\n" +
    "-- that of a lane before those of later lanes; one that has used up its rate stands in `resting`. Who was served goes to the\n" +
    "-- end of its lane, so groups take turns however much each has waiting.\n" +
    "-- Expects: isExtended, attempts, grouped, groups, turns, resting, believed, now.\n" +
    "local LANE_TURNS = 35184372088832\n" +
    "local groupConcurrency, isOrdered, groupInterval, groupSlack\n" +
    "if isExtended then\n" +
    "  groupConcurrency = tonumber(string.match(believed, ';gconc=(%d+)'))\n" +
    "  isOrdered = string.find(believed, ';ordered=1', 1, true) ~= nil\n" +
    "  if isOrdered then\n" +
    "    groupConcurrency = 1\n" +
    "  end\n" +
    "  local limit, period, burst = string.match(believed, ';grate=(%d+)/(%d+)/(%d+)')\n" +
    "  if limit then\n" +
    "    groupInterval = period / limit\n" +
    "    groupSlack = (burst - 1) * groupInterval\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local groupStates, touchedGroups, nextTurn, lastTurn = {}, {}, nil, nil\n" +
    "\n" +
    "-- Turns are drawn from memory; `saveTurns` writes the last one.\n" +
    "local function drawTurn()\n" +
    "  nextTurn = nextTurn or tonumber(redis.call('HGET', groups, '') or 0)\n" +
    "  nextTurn = nextTurn + 1\n" +
    "  lastTurn = nextTurn\n" +
    "  return nextTurn\n" +
    "end\n" +
    "\n" +
    "local function saveTurns()\n" +
    "  if lastTurn then\n" +
    "    redis.call('HSET', groups, '', string.format('%.0f', lastTurn))\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local function groupState(group)\n" +
    "  local state = groupStates[group]\n" +
    "  if not state then\n" +
    "    state = { 0, 0, 0 }\n" +
    "    local packed = redis.call('HGET', groups, group)\n" +
    "    if packed then\n" +
    "      state[1], state[2], state[3] = struct.unpack('>IId', packed)\n" +
    "    end\n" +
    "    groupStates[group] = state\n" +
    "    touchedGroups[#touchedGroups + 1] = group\n" +
    "  end\n" +
    "  return state\n" +
    "end\n" +
    "\n" +
    "local function groupPrefix(group)\n" +
    "  return struct.pack('>H', #group) .. group\n" +
    "end\n" +
    "\n" +
    "-- The first waiting task of a group as `grouped` has it, or nil.\n" +
    "local function headOf(group)\n" +
    "  local prefix = groupPrefix(group)\n" +
    "  return redis.call('ZRANGE', grouped, '[' .. prefix, '(' .. prefix .. '\\255', 'BYLEX', 'LIMIT', 0, 1)[1]\n" +
    "end\n" +
    "\n" +
    "-- Whether the limits of groups say that none of it may start now.\n" +
    "local function isHeldUp(state)\n" +
    "  return groupConcurrency and state[2] >= groupConcurrency or groupInterval and state[3] - groupSlack > now\n" +
    "end\n" +
    "\n" +
    "-- Stores what has become of a group, and puts it where it belongs. Its turn is a new one when it was served.\n" +
    "local function placeGroup(group, wasServed)\n" +
    "  local state = groupState(group)\n" +
    "  if groupInterval then\n" +
    "    -- What was used under another rate must not stand in the way for longer than this one allows.\n" +
    "    state[3] = math.min(state[3], now + groupSlack + groupInterval)\n" +
    "  end\n" +
    "  local waiting, running, usedUntil = state[1], state[2], state[3]\n" +
    "  local restUntil = groupInterval and usedUntil - groupSlack or 0\n" +
    "  if waiting == 0 and running == 0 and restUntil <= now then\n" +
    "    redis.call('HDEL', groups, group)\n" +
    "    redis.call('ZREM', turns, group)\n" +
    "    redis.call('ZREM', resting, group)\n" +
    "    return\n" +
    "  end\n" +
    "  redis.call('HSET', groups, group, struct.pack('>IId', waiting, running, usedUntil))\n" +
    "  if restUntil > now then\n" +
    "    -- Also where nothing waits: the state is dropped when the rest is over.\n" +
    "    redis.call('ZADD', resting, restUntil, group)\n" +
    "    redis.call('ZREM', turns, group)\n" +
    "  elseif waiting == 0 or groupConcurrency and running >= groupConcurrency then\n" +
    "    redis.call('ZREM', turns, group)\n" +
    "  else\n" +
    "    local head = headOf(group)\n" +
    "    local lane = head and string.byte(head, #group + 3) or 0\n" +
    "    if wasServed then\n" +
    "      redis.call('ZADD', turns, string.format('%.0f', lane * LANE_TURNS + drawTurn()), group)\n" +
    "    else\n" +
    "      local score = redis.call('ZSCORE', turns, group)\n" +
    "      if not score or math.floor(score / LANE_TURNS) ~= lane then\n" +
    "        redis.call('ZADD', turns, string.format('%.0f', lane * LANE_TURNS + drawTurn()), group)\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- A task begins to wait in its group. `ahead`: the instant at which it fell due; it goes before those that came without.\n" +
    "local function joinGroup(group, lane, id, attempt, ahead)\n" +
    "  local sequence = ahead and ahead / 9007199254740992 or drawTurn()\n" +
    "  redis.call('ZADD', grouped, 0, groupPrefix(group) .. struct.pack('>Bd', lane, sequence) .. id)\n" +
    "  redis.call('HSET', attempts, id, struct.pack('>c1dH', 'Q', sequence, attempt))\n" +
    "  local state = groupState(group)\n" +
    "  state[1] = state[1] + 1\n" +
    "end\n" +
    "\n" +
    "-- A waiting task (state Q, `last` of `attempts`) is taken out of its group.\n" +
    "local function quitGroup(group, lane, id, last)\n" +
    "  local sequence = struct.unpack('>d', last, 2)\n" +
    "  local state = groupState(group)\n" +
    "  if redis.call('ZREM', grouped, groupPrefix(group) .. struct.pack('>Bd', lane, sequence) .. id) == 1 then\n" +
    "    state[1] = math.max(0, state[1] - 1)\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- A task of the group no longer runs, nor holds it.\n" +
    "local function leaveGroup(group)\n" +
    "  local state = groupState(group)\n" +
    "  state[2] = math.max(0, state[2] - 1)\n" +
    "end\n" +
    "\n" +
    "-- Places all groups that were changed; to be called once, after the last change that is not followed by `placeGroup`.\n" +
    "local function placeGroups()\n" +
    "  for _, group in ipairs(touchedGroups) do\n" +
    "    placeGroup(group, false)\n" +
    "  end\n" +
    "  saveTurns()\n" +
    "end\n" +
    "-- Tells those who read events what has happened. Expects events, keepEvents, publish. All of one call become one entry of the\n" +
    "-- stream, and one message. Events are numbered without a gap: an entry's id is the number of the last event in it, so a\n" +
    "-- reader knows what it has missed, and the first number of a stream is its time in µs, so that no number comes twice when\n" +
    "-- a stream is begun anew. Behind the `-` of each id stands that first number, which costs nothing, since it is the same in all of\n" +
    "-- them: who has seen less has seen another stream (0: it was begun by an older version). An entry: f64 instant (ms), then for each event: kind, u16 length · id, u16 attempt,\n" +
    "-- u16 length · text.\n" +
    "local happened, happenings = {}, 0\n" +
    "\n" +
    "-- Kinds, and what detail is for each; the text is cut after 512 bytes.\n" +
    "--   E enqueued: the record (text: the name)        P progress: JSON (text, if it isn't longer)\n" +
    "--   A started, S succeeded, R retrying, H retrying and holding its group, D dead, C cancelled, W waiting for children:\n" +
    "--     the value in attempts (text: the reason; results are not told)\n" +
    "--   Y ready again (by hand), X removed, Z paused, U resumed, and whatever comes: '' or the text. What\n" +
    "--     concerns the queue and no task has the id ''.\n" +
    "local function happen(kind, id, detail)\n" +
    "  if keepEvents == 0 then\n" +
    "    return\n" +
    "  end\n" +
    "  local MOST_TEXT = 512\n" +
    "  local attempt, text = 0, detail\n" +
    "  if kind == 'E' then\n" +
    "    local flags, at = string.byte(detail), 12\n" +
    "    if math.floor(flags / 16) % 2 == 1 then\n" +
    "      at = 14 + struct.unpack('>H', detail, 12)\n" +
    "    end\n" +
    "    if flags >= 128 then\n" +
    "      -- For how long the id is remembered.\n" +
    "      at = at + 8\n" +
    "    end\n" +
    "    text = string.sub(detail, at + 2, at + 1 + struct.unpack('>H', detail, at))\n" +
    "  elseif kind == 'A' then\n" +
    "    attempt, text = struct.unpack('>H', detail, 6), ''\n" +
    "  elseif kind == 'S' or kind == 'R' or kind == 'H' or kind == 'D' or kind == 'C' or kind == 'W' then\n" +
    "    attempt = struct.unpack('>H', detail, 10)\n" +
    "    text = (kind == 'S' or kind == 'W') and '' or string.sub(detail, 12)\n" +
    "  elseif kind == 'P' and #detail > MOST_TEXT then\n" +
    "    text = ''\n" +
    "  end\n" +
    "  text = string.sub(text, 1, MOST_TEXT)\n" +
    "  happenings = happenings + 1\n" +
    "  happened[happenings] = kind .. struct.pack('>H', #id) .. id .. struct.pack('>HH', attempt, #text) .. text\n" +
    "end\n" +
    "\n" +
    "-- Once, at the end of the script.\n" +
    "local function tellEvents()\n" +
    "  if happenings == 0 then\n" +
    "    return\n" +
    "  end\n" +
    "  local time = redis.call('TIME')\n" +
    "  local newest = redis.call('XREVRANGE', events, '+', '-', 'COUNT', 1)[1]\n" +
    "  local before, begun\n" +
    "  if newest then\n" +
    "    before, begun = string.match(newest[1], '^(%d+)-(%d+)')\n" +
    "  else\n" +
    "    begun = string.format('%.0f', time[1] * 1000000 + time[2])\n" +
    "    before = begun\n" +
    "  end\n" +
    "  local last = string.format('%.0f', before + happenings)\n" +
    "  local instant = struct.pack('>d', time[1] * 1000 + math.floor(time[2] / 1000))\n" +
    "  local oldest = string.format('%.0f', math.max(0, before + happenings - keepEvents + 1))\n" +
    "  redis.call('XADD', events, 'MINID', '~', oldest, last .. '-' .. begun, 'e', instant .. table.concat(happened))\n" +
    "  redis.call(publish, events, '*:' .. last)\n" +
    "end\n" +
    "-- Tells those who wait for a task that it has ended for good. Expects tasks, watched, flows, outbox, publish, isExtended.\n" +
    "-- Call finish while the record is still in tasks. Beside it: flow.forget.part.lua for who removes records (`forgetFlows(ids)`), and\n" +
    "-- flow.due.part.lua for who tells workers of the outbox (`isOutboxDue()`: bit 2 of the exchange's chores). Others wake a worker when\n" +
    "-- there are `notes`: it asks for chores.\n" +
    "local endedIds, endedValues, endedCount, notes = {}, {}, 0, {}\n" +
    "\n" +
    "-- flags is the first byte of the record. value is what attempts says of the end (S…, D…, C…), or '' for a task that is\n" +
    "-- removed before it has ended.\n" +
    "local function finish(id, flags, value)\n" +
    "  if not isExtended then\n" +
    "    return\n" +
    "  end\n" +
    "  endedCount = endedCount + 1\n" +
    "  endedIds[endedCount], endedValues[endedCount] = id, value\n" +
    "  local kin = math.floor(flags / 32) % 4\n" +
    "  if kin % 2 == 1 then\n" +
    "    -- Who the parent is stands in the extras, which are JSON: the note has the record without the payload.\n" +
    "    local record = redis.call('HGET', tasks, id)\n" +
    "    if record then\n" +
    "      local at = 12\n" +
    "      if math.floor(flags / 16) % 2 == 1 then\n" +
    "        at = at + 2 + struct.unpack('>H', record, at)\n" +
    "      end\n" +
    "      if flags >= 128 then\n" +
    "        -- For how long the id is remembered.\n" +
    "        at = at + 8\n" +
    "      end\n" +
    "      at = at + 2 + struct.unpack('>H', record, at)\n" +
    "      at = at + 2 + struct.unpack('>H', record, at)\n" +
    "      local time = redis.call('TIME')\n" +
    "      local told = value ~= '' and value or 'X' .. struct.pack('>dH', time[1] * 1000 + math.floor(time[2] / 1000), 0)\n" +
    "      -- The instant keeps apart the ends of a task that is run again after it has ended.\n" +
    "      notes[#notes + 1] = 'n' .. string.sub(told, 2, 9) .. id\n" +
    "      notes[#notes + 1] = struct.pack('>I', at - 1) .. string.sub(record, 1, at - 1) .. told\n" +
    "    end\n" +
    "  end\n" +
    "  if kin >= 2 then\n" +
    "    -- f64 when, 8 bytes of flow, u16 children, u16 still to come, u8 policy, u8 waiting\n" +
    "    local head = redis.call('HGET', flows, id)\n" +
    "    if head and string.byte(head, 22) == 1 then\n" +
    "      if redis.call('HINCRBY', flows, 'w', -1) == 0 then\n" +
    "        redis.call('HDEL', flows, 'w')\n" +
    "      end\n" +
    "      redis.call('HSET', flows, id, string.sub(head, 1, 21) .. '\\0')\n" +
    "    end\n" +
    "    local state = string.sub(value, 1, 1)\n" +
    "    if head and (state == 'S' or state == '') then\n" +
    "      -- It won't ask for the results of its children again; there may be many, so they are removed step by step.\n" +
    "      redis.call('HDEL', flows, id)\n" +
    "      notes[#notes + 1] = 'g' .. string.sub(head, 9, 16)\n" +
    "      notes[#notes + 1] = string.sub(head, 17, 18)\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- Once, at the end of the script.\n" +
    "local function tellEnded()\n" +
    "  if endedCount == 0 then\n" +
    "    return\n" +
    "  end\n" +
    "  if #notes > 0 then\n" +
    "    redis.call('HSET', outbox, unpack(notes))\n" +
    "    -- Whoever has found that nothing was due yet has not seen these.\n" +
    "    redis.call('HDEL', outbox, 'p')\n" +
    "  end\n" +
    "  if redis.call('EXISTS', watched) == 0 then\n" +
    "    return\n" +
    "  end\n" +
    "  -- The score is the second until which somebody waits · 2^20, plus the number of the process; 0 stands for several.\n" +
    "  local SOLE = 1048576\n" +
    "  for from = 1, endedCount, 1000 do\n" +
    "    local upTo = math.min(from + 999, endedCount)\n" +
    "    for i, score in ipairs(redis.call('ZMSCORE', watched, unpack(endedIds, from, upTo))) do\n" +
    "      if score then\n" +
    "        local id, process = endedIds[from + i - 1], tonumber(score) % SOLE\n" +
    "        local channel = process == 0 and watched or watched .. ':' .. string.format('%.0f', process)\n" +
    "        redis.call(publish, channel, '*:' .. struct.pack('>H', #id) .. id .. endedValues[from + i - 1])\n" +
    "        redis.call('ZREM', watched, id)\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "-- Removes what is kept of the children of tasks that are forgotten. Expects flows, outbox, isExtended.\n" +
    "local function forgetFlows(ids)\n" +
    "  if not isExtended or #ids == 0 or redis.call('EXISTS', flows) == 0 then\n" +
    "    return\n" +
    "  end\n" +
    "  local garbage, parents = {}, {}\n" +
    "  for i, head in ipairs(redis.call('HMGET', flows, unpack(ids))) do\n" +
    "    if head then\n" +
    "      parents[#parents + 1] = ids[i]\n" +
    "      garbage[#garbage + 1] = 'g' .. string.sub(head, 9, 16)\n" +
    "      garbage[#garbage + 1] = string.sub(head, 17, 18)\n" +
    "    end\n" +
    "  end\n" +
    "  if #parents > 0 then\n" +
    "    redis.call('HDEL', flows, unpack(parents))\n" +
    "    redis.call('HSET', outbox, unpack(garbage))\n" +
    "  end\n" +
    "end\n" +
    "-- Removes all that is known of tasks, but where their ids stand.\n" +
    "-- Expects: tasks, attempts, isExtended, progress, logs, and flow.forget.part.lua before it.\n" +
    "local function forget(ids)\n" +
    "  redis.call('HDEL', tasks, unpack(ids))\n" +
    "  redis.call('HDEL', attempts, unpack(ids))\n" +
    "  if isExtended then\n" +
    "    redis.call('HDEL', progress, unpack(ids))\n" +
    "    redis.call('HDEL', logs, unpack(ids))\n" +
    "    forgetFlows(ids)\n" +
    "  end\n" +
    "end\n" +
    "-- Takes a waiting task out of where it stands: a set, its group, or the list of its lane. In a long list its entry can only\n" +
    "-- be made a hole, which workers skip when they come to it; near either end it is taken out, so that tasks that come and go\n" +
    "-- again leave nothing behind.\n" +
    "-- `hasFreed` tells whether a place that others wait for has become free.\n" +
    "-- Expects: ready, scheduled, retrying (keys by lane), holes, and task.group.part.lua.\n" +
    "local GROUPED, LANES = 16, 16\n" +
    "local REACH = 100\n" +
    "local hasFreed = false\n" +
    "\n" +
    "local function groupOf(record)\n" +
    "  if math.floor(string.byte(record) / GROUPED) % 2 == 1 then\n" +
    "    return (struct.unpack('>Hc0', record, 12))\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local function release(group)\n" +
    "  leaveGroup(group)\n" +
    "  hasFreed = true\n" +
    "end\n" +
    "\n" +
    "-- `state` is the first character of `last`, or '' for a task that was never taken.\n" +
    "local function leave(id, record, state, last)\n" +
    "  local lane = string.byte(record) % LANES\n" +
    "  if state == 'W' then\n" +
    "    return\n" +
    "  elseif state == 'Q' then\n" +
    "    quitGroup(groupOf(record), lane, id, last)\n" +
    "    return\n" +
    "  end\n" +
    "  if redis.call('ZREM', scheduled[lane], id) + redis.call('ZREM', retrying[lane], id) > 0 then\n" +
    "    if state == 'H' then\n" +
    "      release(groupOf(record))\n" +
    "    end\n" +
    "    return\n" +
    "  end\n" +
    "  local key = ready[lane]\n" +
    "  -- An id can be there more than once, as a hole and as a task that came later: whichever entry goes, what is left of\n" +
    "  -- them are as many holes as before, and then no task.\n" +
    "  for _, direction in ipairs({ -1, 1 }) do\n" +
    "    if redis.call('LPOS', key, id, 'RANK', direction, 'MAXLEN', REACH) then\n" +
    "      redis.call('LREM', key, direction, id)\n" +
    "      return\n" +
    "    end\n" +
    "  end\n" +
    "  local char = string.char(48 + lane)\n" +
    "  redis.call('HSET', holes, id, (redis.call('HGET', holes, id) or '') .. char)\n" +
    "  redis.call('HINCRBY', holes, char, 1)\n" +
    "end\n" +
    "-- What became of a task: attempts says so, or its record, which is sealed then (see seal.ts). Whoever finds no entry in attempts\n" +
    "-- has to ask here. Expects: tasks.\n" +
    "\n" +
    "-- The record as it was enqueued, whether it is sealed or not, and what attempts says of the task, or would say: S, f64\n" +
    "-- instant, u16 attempt. `last` is what it has of the task, if anything.\n" +
    "local function unseal(record, last)\n" +
    "  if not record or #record < 16 or string.byte(record, 4) >= 64 then\n" +
    "    return record, last\n" +
    "  end\n" +
    "  local high, low, attempt, low2 = struct.unpack('>HBBB', record)\n" +
    "  local enqueuedAt = struct.unpack('>d', record, 9)\n" +
    "  -- An instant of enqueuing may be a little ahead of the time.\n" +
    "  local endedAt = enqueuedAt + high * 65536 + low * 256 + low2 - 65536\n" +
    "  return string.sub(record, 6), last or struct.pack('>c1dH', 'S', endedAt, attempt)\n" +
    "end\n" +
    "\n" +
    "-- What attempts would say of a task that has no entry there; false when there is nothing to say, since it has not been taken;\n" +
    "-- nil for a task that is unknown. Reads no big record.\n" +
    "local function sealedEnd(id)\n" +
    "  local MOST_BYTES = 512\n" +
    "  local bytes = redis.call('HSTRLEN', tasks, id)\n" +
    "  if bytes == 0 then\n" +
    "    return nil\n" +
    "  end\n" +
    "  local _, last = unseal(bytes <= MOST_BYTES and redis.call('HGET', tasks, id), false)\n" +
    "  return last\n" +
    "end\n" +
    "\n" +
    "local replies = {}\n" +
    "for i = 4, #ARGV, 2 do\n" +
    "  local id, reason = ARGV[i], ARGV[i + 1]\n" +
    "  local record, last = redis.call('HGET', tasks, id), nil\n" +
    "  record, last = unseal(record, record and redis.call('HGET', attempts, id))\n" +
    "  last = last or ''\n" +
    "  local state = string.sub(last, 1, 1)\n" +
    "  if not record then\n" +
    "    replies[#replies + 1] = '-'\n" +
    "  elseif ENDED[state] then\n" +
    "    replies[#replies + 1] = '0'\n" +
    "  else\n" +
    "    replies[#replies + 1] = '1'\n" +
    "    local attempt = 0\n" +
    "    if state == 'A' then\n" +
    "      attempt = struct.unpack('>H', last, 6)\n" +
    "      redis.call('ZREM', active, id)\n" +
    "      local group = groupOf(record)\n" +
    "      if group then\n" +
    "        release(group)\n" +
    "      end\n" +
    "      local hex = string.gsub(id, '.', function(byte)\n" +
    "        return string.format('%02x', string.byte(byte))\n" +
    "      end)\n" +
    "      redis.call(publish, active, '*:cancel ' .. hex)\n" +
    "      -- Also a place under a limit.\n" +
    "      hasFreed = true\n" +
    "    else\n" +
    "      if state ~= '' then\n" +
    "        attempt = struct.unpack('>H', last, 10)\n" +
    "      end\n" +
    "      leave(id, record, state, last)\n" +
    "    end\n" +
    "    local value = 'C' .. struct.pack('>dH', now, attempt) .. reason\n" +
    "    redis.call('HSET', attempts, id, value)\n" +
    "    redis.call('ZADD', cancelled, now, id)\n" +
    "    finish(id, string.byte(record), value)\n" +
    "    happen('C', id, value)\n" +
    "  end\n" +
    "end\n" +
    "placeGroups()\n" +
    "\n" +
    "local surplus = redis.call('ZCARD', cancelled) - keepCancelled\n" +
    "if surplus > 0 then\n" +
    "  -- At most 100 have come above; somebody may have lowered the limit.\n" +
    "  local oldest = redis.call('ZRANGE', cancelled, 0, math.min(surplus, 1000) - 1)\n" +
    "  redis.call('ZREM', cancelled, unpack(oldest))\n" +
    "  forget(oldest)\n" +
    "end\n" +
    "tellEnded()\n" +
    "tellEvents()\n" +
    "if hasFreed or #notes > 0 then\n" +
    "  wake(1)\n" +
    "end\n" +
    "return table.concat(replies)\n",
} as const);

export const operatorClean = new Script({
  name: "operator.clean",
  isReadOnly: false,
  keys: ["settings","tasks","attempts","ended","progress","logs","flows","outbox"],
  args: ["believed","state","most","upTo"],
  source: "#!lua flags=allow-oom\n" +
    "-- Removes tasks that have ended, the oldest first, a bounded number of them.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   settings     STRING, see src/shard/settings-text.ts\n" +
    "--   tasks        HASH id -> record\n" +
    "--   attempts     HASH id -> last attempt\n" +
    "--   ended        where ids of that state stand: LIST succeeded, or ZSET dead or cancelled with the instants\n" +
    "--   progress     HASH id -> JSON\n" +
    "--   logs         HASH id -> lines\n" +
    "--   flows        HASH\n" +
    "--   outbox       HASH\n" +
    "-- ARGV\n" +
    "--   believed     the settings that the caller believes to be stored\n" +
    "--   state        S, D or C\n" +
    "--   most         tasks to remove at most, 1 to 500\n" +
    "--   upTo         only those that ended up to this instant, ms; 0 or below: so many ms ago\n" +
    "-- RETURNS\n" +
    "--   { removed, upTo, isOver }: how many tasks are gone; the instant, for the next call; 1 when there is nothing more to remove\n" +
    "--   error SETTINGS <stored>: something else is stored; nothing is written\n" +
    "local settings, tasks, attempts, ended = KEYS[1], KEYS[2], KEYS[3], KEYS[4]\n" +
    "local progress, logs, flows, outbox = KEYS[5], KEYS[6], KEYS[7], KEYS[8]\n" +
    "local believed, state, most, upTo = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])\n" +
    "\n" +
    "local stored = redis.call('GET', settings)\n" +
    "if stored and stored ~= believed then\n" +
    "  return redis.error_reply('SETTINGS ' .. stored)\n" +
    "end\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "if upTo <= 0 then\n" +
    "  upTo = now + upTo\n" +
    "end\n" +
    "local isExtended = true\n" +
    "-- Results are read in pieces; a call ends with the piece that makes it more bytes than this.\n" +
    "local PIECE = 50\n" +
    "local MOST_BYTES = 4194304\n" +
    "\n" +
    "-- Removes what is kept of the children of tasks that are forgotten. Expects flows, outbox, isExtended.\n" +
    "local function forgetFlows(ids)\n" +
    "  if not isExtended or #ids == 0 or redis.call('EXISTS', flows) == 0 then\n" +
    "    return\n" +
    "  end\n" +
    "  local garbage, parents = {}, {}\n" +
    "  for i, head in ipairs(redis.call('HMGET', flows, unpack(ids))) do\n" +
    "    if head then\n" +
    "      parents[#parents + 1] = ids[i]\n" +
    "      garbage[#garbage + 1] = 'g' .. string.sub(head, 9, 16)\n" +
    "      garbage[#garbage + 1] = string.sub(head, 17, 18)\n" +
    "    end\n" +
    "  end\n" +
    "  if #parents > 0 then\n" +
    "    redis.call('HDEL', flows, unpack(parents))\n" +
    "    redis.call('HSET', outbox, unpack(garbage))\n" +
    "  end\n" +
    "end\n" +
    "-- Removes all that is known of tasks, but where their ids stand.\n" +
    "-- Expects: tasks, attempts, isExtended, progress, logs, and flow.forget.part.lua before it.\n" +
    "local function forget(ids)\n" +
    "  redis.call('HDEL', tasks, unpack(ids))\n" +
    "  redis.call('HDEL', attempts, unpack(ids))\n" +
    "  if isExtended then\n" +
    "    redis.call('HDEL', progress, unpack(ids))\n" +
    "    redis.call('HDEL', logs, unpack(ids))\n" +
    "    forgetFlows(ids)\n" +
    "  end\n" +
    "end\n" +
    "-- What became of a task: attempts says so, or its record, which is sealed then (see seal.ts). Whoever finds no entry in attempts\n" +
    "-- has to ask here. Expects: tasks.\n" +
    "\n" +
    "-- The record as it was enqueued, whether it is sealed or not, and what attempts says of the task, or would say: S, f64\n" +
    "-- instant, u16 attempt. `last` is what it has of the task, if anything.\n" +
    "local function unseal(record, last)\n" +
    "  if not record or #record < 16 or string.byte(record, 4) >= 64 then\n" +
    "    return record, last\n" +
    "  end\n" +
    "  local high, low, attempt, low2 = struct.unpack('>HBBB', record)\n" +
    "  local enqueuedAt = struct.unpack('>d', record, 9)\n" +
    "  -- An instant of enqueuing may be a little ahead of the time.\n" +
    "  local endedAt = enqueuedAt + high * 65536 + low * 256 + low2 - 65536\n" +
    "  return string.sub(record, 6), last or struct.pack('>c1dH', 'S', endedAt, attempt)\n" +
    "end\n" +
    "\n" +
    "-- What attempts would say of a task that has no entry there; false when there is nothing to say, since it has not been taken;\n" +
    "-- nil for a task that is unknown. Reads no big record.\n" +
    "local function sealedEnd(id)\n" +
    "  local MOST_BYTES = 512\n" +
    "  local bytes = redis.call('HSTRLEN', tasks, id)\n" +
    "  if bytes == 0 then\n" +
    "    return nil\n" +
    "  end\n" +
    "  local _, last = unseal(bytes <= MOST_BYTES and redis.call('HGET', tasks, id), false)\n" +
    "  return last\n" +
    "end\n" +
    "\n" +
    "-- How many of the first ones succeeded up to then.\n" +
    "local function countOld(ids)\n" +
    "  local bytes = 0\n" +
    "  for from = 1, #ids, PIECE do\n" +
    "    for i, last in ipairs(redis.call('HMGET', attempts, unpack(ids, from, math.min(from + PIECE - 1, #ids)))) do\n" +
    "      last = last or sealedEnd(ids[from + i - 1])\n" +
    "      if last and struct.unpack('>d', last, 2) > upTo then\n" +
    "        return from + i - 2, true\n" +
    "      end\n" +
    "      bytes = bytes + (last and #last or 0)\n" +
    "    end\n" +
    "    if bytes >= MOST_BYTES then\n" +
    "      return math.min(from + PIECE - 1, #ids), false\n" +
    "    end\n" +
    "  end\n" +
    "  return #ids, #ids < most\n" +
    "end\n" +
    "\n" +
    "local ids, isOver\n" +
    "if state == 'S' then\n" +
    "  ids = redis.call('LRANGE', ended, 0, most - 1)\n" +
    "  local count\n" +
    "  count, isOver = countOld(ids)\n" +
    "  ids = count > 0 and redis.call('LPOP', ended, count) or {}\n" +
    "else\n" +
    "  ids = redis.call('ZRANGE', ended, '-inf', upTo, 'BYSCORE', 'LIMIT', 0, most)\n" +
    "  isOver = #ids < most\n" +
    "  if #ids > 0 then\n" +
    "    redis.call('ZREM', ended, unpack(ids))\n" +
    "  end\n" +
    "end\n" +
    "if #ids > 0 then\n" +
    "  forget(ids)\n" +
    "end\n" +
    "return { #ids, upTo, isOver and 1 or 0 }\n",
} as const);

export const operatorDrain = new Script({
  name: "operator.drain",
  isReadOnly: false,
  keys: ["settings","tasks","attempts","idle","holes","grouped","groups","turns","resting","progress","logs","watched","events","flows","outbox"],
  args: ["believed","publish","most","upTo","isAll"],
  restKey: "lanes",
  source: "#!lua flags=allow-oom\n" +
    "-- Removes waiting tasks that were enqueued up to an instant, a bounded number of them.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   settings     STRING, see src/shard/settings-text.ts\n" +
    "--   tasks        HASH id -> record\n" +
    "--   attempts     HASH id -> last attempt\n" +
    "--   idle         ZSET channel of a parked worker -> parked until, ms\n" +
    "--   holes        HASH id -> lane of each entry of it that is void\n" +
    "--   grouped      ZSET of waiting tasks with a group\n" +
    "--   groups       HASH group -> waiting, active, rate\n" +
    "--   turns        ZSET group that may run -> lane and turn\n" +
    "--   resting      ZSET group under its rate limit -> until\n" +
    "--   progress     HASH id -> JSON\n" +
    "--   logs         HASH id -> lines\n" +
    "--   watched      ZSET id -> until when somebody waits for its end\n" +
    "--   events       STREAM\n" +
    "--   flows        HASH\n" +
    "--   outbox       HASH\n" +
    "--   lanes...     three for each priority: ready LIST, scheduled ZSET, retrying ZSET\n" +
    "-- ARGV\n" +
    "--   believed     the settings that the caller believes to be stored\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "--   most         how many entries to look at, 1 to 500\n" +
    "--   upTo         ms since the epoch; 0: now\n" +
    "--   isAll        1: also those that wait for their time\n" +
    "-- RETURNS\n" +
    "--   { removed, upTo, isOver }: how many tasks are gone; the instant, for the next call; 1 when there is nothing more to remove\n" +
    "--   error SETTINGS <stored>: something else is stored; nothing is written\n" +
    "local settings, tasks, attempts, idle, holes, grouped = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]\n" +
    "local groups, turns, resting, progress, logs = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]\n" +
    "local watched, events, flows, outbox = KEYS[12], KEYS[13], KEYS[14], KEYS[15]\n" +
    "local believed, publish, most, upTo, isAll = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5] == '1'\n" +
    "local ready, scheduled, retrying = {}, {}, {}\n" +
    "for lane = 16, #KEYS, 3 do\n" +
    "  local index = (lane - 16) / 3\n" +
    "  ready[index], scheduled[index], retrying[index] = KEYS[lane], KEYS[lane + 1], KEYS[lane + 2]\n" +
    "end\n" +
    "\n" +
    "-- Refuses who believes in other settings than the stored ones; the time, and how many events are kept.\n" +
    "-- Expects: settings, believed.\n" +
    "local stored = redis.call('GET', settings)\n" +
    "if stored and stored ~= believed then\n" +
    "  return redis.error_reply('SETTINGS ' .. stored)\n" +
    "end\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "local keepEvents = tonumber(string.match(believed, ';events=(%d+)')) or 0\n" +
    "if upTo == 0 then\n" +
    "  upTo = now\n" +
    "end\n" +
    "local isExtended = true\n" +
    "-- Records are read in pieces; a call ends with the piece that makes it more bytes than this.\n" +
    "local PIECE = 50\n" +
    "local MOST_BYTES = 4194304\n" +
    "local left, bytes, removed, hasMoved = most, 0, 0, false\n" +
    "\n" +
    "-- Tells parked workers, those that have waited longest first, that there may be something to take. `message`: for the one who\n" +
    "-- may be handed a task along with it. Returns whether the last who was told was such; nil when nobody was told.\n" +
    "-- Expects: idle, publish, now.\n" +
    "local function wake(most, message)\n" +
    "  local isHanded\n" +
    "  for _ = 1, 16 do\n" +
    "    if most == 0 then\n" +
    "      break\n" +
    "    end\n" +
    "    local parked = redis.call('ZPOPMIN', idle)\n" +
    "    if #parked == 0 then\n" +
    "      break\n" +
    "    end\n" +
    "    -- What is published to somebody who listens to a replica, or still to a former master, arrives there but isn't counted: the next\n" +
    "    -- one would be handed the same task. So whoever isn't heard here gets none.\n" +
    "    local takes = message ~= nil\n" +
    "      and parked[2] % 1 > 0\n" +
    "      and redis.call('PUBSUB', publish == 'SPUBLISH' and 'SHARDNUMSUB' or 'NUMSUB', parked[1])[2] > 0\n" +
    "    -- Not those that are gone, or whose parking time is over.\n" +
    "    if tonumber(parked[2]) >= now and redis.call(publish, parked[1], takes and message or 'w:') > 0 then\n" +
    "      most = most - 1\n" +
    "      isHanded = takes\n" +
    "    end\n" +
    "  end\n" +
    "  return isHanded\n" +
    "end\n" +
    "-- Groups. A waiting task with a group stands in the sorted set `grouped`, all scores 0, as\n" +
    "--\n" +
    "--   u16 length · group · u8 lane · f64 sequence · id\n" +
    "--\n" +
    "-- so that the tasks of a group are next to each other, by lane and then in order; `attempts` has the sequence (state Q), so\n" +
    "-- that it can be found from its id. `groups` has for each group how many wait, how many run, and until when its rate is\n" +
    "-- used up (GCRA); its field '' is the counter of sequences and turns. A group that may run stands in `turns` under its turn,\n" +
    "-- that of a lane before those of later lanes; one that has used up its rate stands in `resting`. Who was served goes to the\n" +
    "-- end of its lane, so groups take turns however much each has waiting.\n" +
    "-- Expects: isExtended, attempts, grouped, groups, turns, resting, believed, now.\n" +
    "local LANE_TURNS = 35184372088832\n" +
    "local groupConcurrency, isOrdered, groupInterval, groupSlack\n" +
    "if isExtended then\n" +
    "  groupConcurrency = tonumber(string.match(believed, ';gconc=(%d+)'))\n" +
    "  isOrdered = string.find(believed, ';ordered=1', 1, true) ~= nil\n" +
    "  if isOrdered then\n" +
    "    groupConcurrency = 1\n" +
    "  end\n" +
    "  local limit, period, burst = string.match(believed, ';grate=(%d+)/(%d+)/(%d+)')\n" +
    "  if limit then\n" +
    "    groupInterval = period / limit\n" +
    "    groupSlack = (burst - 1) * groupInterval\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local groupStates, touchedGroups, nextTurn, lastTurn = {}, {}, nil, nil\n" +
    "\n" +
    "-- Turns are drawn from memory; `saveTurns` writes the last one.\n" +
    "local function drawTurn()\n" +
    "  nextTurn = nextTurn or tonumber(redis.call('HGET', groups, '') or 0)\n" +
    "  nextTurn = nextTurn + 1\n" +
    "  lastTurn = nextTurn\n" +
    "  return nextTurn\n" +
    "end\n" +
    "\n" +
    "local function saveTurns()\n" +
    "  if lastTurn then\n" +
    "    redis.call('HSET', groups, '', string.format('%.0f', lastTurn))\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local function groupState(group)\n" +
    "  local state = groupStates[group]\n" +
    "  if not state then\n" +
    "    state = { 0, 0, 0 }\n" +
    "    local packed = redis.call('HGET', groups, group)\n" +
    "    if packed then\n" +
    "      state[1], state[2], state[3] = struct.unpack('>IId', packed)\n" +
    "    end\n" +
    "    groupStates[group] = state\n" +
    "    touchedGroups[#touchedGroups + 1] = group\n" +
    "  end\n" +
    "  return state\n" +
    "end\n" +
    "\n" +
    "local function groupPrefix(group)\n" +
    "  return struct.pack('>H', #group) .. group\n" +
    "end\n" +
    "\n" +
    "-- The first waiting task of a group as `grouped` has it, or nil.\n" +
    "local function headOf(group)\n" +
    "  local prefix = groupPrefix(group)\n" +
    "  return redis.call('ZRANGE', grouped, '[' .. prefix, '(' .. prefix .. '\\255', 'BYLEX', 'LIMIT', 0, 1)[1]\n" +
    "end\n" +
    "\n" +
    "-- Whether the limits of groups say that none of it may start now.\n" +
    "local function isHeldUp(state)\n" +
    "  return groupConcurrency and state[2] >= groupConcurrency or groupInterval and state[3] - groupSlack > now\n" +
    "end\n" +
    "\n" +
    "-- Stores what has become of a group, and puts it where it belongs. Its turn is a new one when it was served.\n" +
    "local function placeGroup(group, wasServed)\n" +
    "  local state = groupState(group)\n" +
    "  if groupInterval then\n" +
    "    -- What was used under another rate must not stand in the way for longer than this one allows.\n" +
    "    state[3] = math.min(state[3], now + groupSlack + groupInterval)\n" +
    "  end\n" +
    "  local waiting, running, usedUntil = state[1], state[2], state[3]\n" +
    "  local restUntil = groupInterval and usedUntil - groupSlack or 0\n" +
    "  if waiting == 0 and running == 0 and restUntil <= now then\n" +
    "    redis.call('HDEL', groups, group)\n" +
    "    redis.call('ZREM', turns, group)\n" +
    "    redis.call('ZREM', resting, group)\n" +
    "    return\n" +
    "  end\n" +
    "  redis.call('HSET', groups, group, struct.pack('>IId', waiting, running, usedUntil))\n" +
    "  if restUntil > now then\n" +
    "    -- Also where nothing waits: the state is dropped when the rest is over.\n" +
    "    redis.call('ZADD', resting, restUntil, group)\n" +
    "    redis.call('ZREM', turns, group)\n" +
    "  elseif waiting == 0 or groupConcurrency and running >= groupConcurrency then\n" +
    "    redis.call('ZREM', turns, group)\n" +
    "  else\n" +
    "    local head = headOf(group)\n" +
    "    local lane = head and string.byte(head, #group + 3) or 0\n" +
    "    if wasServed then\n" +
    "      redis.call('ZADD', turns, string.format('%.0f', lane * LANE_TURNS + drawTurn()), group)\n" +
    "    else\n" +
    "      local score = redis.call('ZSCORE', turns, group)\n" +
    "      if not score or math.floor(score / LANE_TURNS) ~= lane then\n" +
    "        redis.call('ZADD', turns, string.format('%.0f', lane * LANE_TURNS + drawTurn()), group)\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- A task begins to wait in its group. `ahead`: the instant at which it fell due; it goes before those that came without.\n" +
    "local function joinGroup(group, lane, id, attempt, ahead)\n" +
    "  local sequence = ahead and ahead / 9007199254740992 or drawTurn()\n" +
    "  redis.call('ZADD', grouped, 0, groupPrefix(group) .. struct.pack('>Bd', lane, sequence) .. id)\n" +
    "  redis.call('HSET', attempts, id, struct.pack('>c1dH', 'Q', sequence, attempt))\n" +
    "  local state = groupState(group)\n" +
    "  state[1] = state[1] + 1\n" +
    "end\n" +
    "\n" +
    "-- A waiting task (state Q, `last` of `attempts`) is taken out of its group.\n" +
    "local function quitGroup(group, lane, id, last)\n" +
    "  local sequence = struct.unpack('>d', last, 2)\n" +
    "  local state = groupState(group)\n" +
    "  if redis.call('ZREM', grouped, groupPrefix(group) .. struct.pack('>Bd', lane, sequence) .. id) == 1 then\n" +
    "    state[1] = math.max(0, state[1] - 1)\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- A task of the group no longer runs, nor holds it.\n" +
    "local function leaveGroup(group)\n" +
    "  local state = groupState(group)\n" +
    "  state[2] = math.max(0, state[2] - 1)\n" +
    "end\n" +
    "\n" +
    "-- Places all groups that were changed; to be called once, after the last change that is not followed by `placeGroup`.\n" +
    "local function placeGroups()\n" +
    "  for _, group in ipairs(touchedGroups) do\n" +
    "    placeGroup(group, false)\n" +
    "  end\n" +
    "  saveTurns()\n" +
    "end\n" +
    "-- Tells those who read events what has happened. Expects events, keepEvents, publish. All of one call become one entry of the\n" +
    "-- stream, and one message. Events are numbered without a gap: an entry's id is the number of the last event in it, so a\n" +
    "-- reader knows what it has missed, and the first number of a stream is its time in µs, so that no number comes twice when\n" +
    "-- a stream is begun anew. Behind the `-` of each id stands that first number, which costs nothing, since it is the same in all of\n" +
    "-- them: who has seen less has seen another stream (0: it was begun by an older version). An entry: f64 instant (ms), then for each event: kind, u16 length · id, u16 attempt,\n" +
    "-- u16 length · text.\n" +
    "local happened, happenings = {}, 0\n" +
    "\n" +
    "-- Kinds, and what detail is for each; the text is cut after 512 bytes.\n" +
    "--   E enqueued: the record (text: the name)        P progress: JSON (text, if it isn't longer)\n" +
    "--   A started, S succeeded, R retrying, H retrying and holding its group, D dead, C cancelled, W waiting for children:\n" +
    "--     the value in attempts (text: the reason; results are not told)\n" +
    "--   Y ready again (by hand), X removed, Z paused, U resumed, and whatever comes: '' or the text. What\n" +
    "--     concerns the queue and no task has the id ''.\n" +
    "local function happen(kind, id, detail)\n" +
    "  if keepEvents == 0 then\n" +
    "    return\n" +
    "  end\n" +
    "  local MOST_TEXT = 512\n" +
    "  local attempt, text = 0, detail\n" +
    "  if kind == 'E' then\n" +
    "    local flags, at = string.byte(detail), 12\n" +
    "    if math.floor(flags / 16) % 2 == 1 then\n" +
    "      at = 14 + struct.unpack('>H', detail, 12)\n" +
    "    end\n" +
    "    if flags >= 128 then\n" +
    "      -- For how long the id is remembered.\n" +
    "      at = at + 8\n" +
    "    end\n" +
    "    text = string.sub(detail, at + 2, at + 1 + struct.unpack('>H', detail, at))\n" +
    "  elseif kind == 'A' then\n" +
    "    attempt, text = struct.unpack('>H', detail, 6), ''\n" +
    "  elseif kind == 'S' or kind == 'R' or kind == 'H' or kind == 'D' or kind == 'C' or kind == 'W' then\n" +
    "    attempt = struct.unpack('>H', detail, 10)\n" +
    "    text = (kind == 'S' or kind == 'W') and '' or string.sub(detail, 12)\n" +
    "  elseif kind == 'P' and #detail > MOST_TEXT then\n" +
    "    text = ''\n" +
    "  end\n" +
    "  text = string.sub(text, 1, MOST_TEXT)\n" +
    "  happenings = happenings + 1\n" +
    "  happened[happenings] = kind .. struct.pack('>H', #id) .. id .. struct.pack('>HH', attempt, #text) .. text\n" +
    "end\n" +
    "\n" +
    "-- Once, at the end of the script.\n" +
    "local function tellEvents()\n" +
    "  if happenings == 0 then\n" +
    "    return\n" +
    "  end\n" +
    "  local time = redis.call('TIME')\n" +
    "  local newest = redis.call('XREVRANGE', events, '+', '-', 'COUNT', 1)[1]\n" +
    "  local before, begun\n" +
    "  if newest then\n" +
    "    before, begun = string.match(newest[1], '^(%d+)-(%d+)')\n" +
    "  else\n" +
    "    begun = string.format('%.0f', time[1] * 1000000 + time[2])\n" +
    "    before = begun\n" +
    "  end\n" +
    "  local last = string.format('%.0f', before + happenings)\n" +
    "  local instant = struct.pack('>d', time[1] * 1000 + math.floor(time[2] / 1000))\n" +
    "  local oldest = string.format('%.0f', math.max(0, before + happenings - keepEvents + 1))\n" +
    "  redis.call('XADD', events, 'MINID', '~', oldest, last .. '-' .. begun, 'e', instant .. table.concat(happened))\n" +
    "  redis.call(publish, events, '*:' .. last)\n" +
    "end\n" +
    "-- Tells those who wait for a task that it has ended for good. Expects tasks, watched, flows, outbox, publish, isExtended.\n" +
    "-- Call finish while the record is still in tasks. Beside it: flow.forget.part.lua for who removes records (`forgetFlows(ids)`), and\n" +
    "-- flow.due.part.lua for who tells workers of the outbox (`isOutboxDue()`: bit 2 of the exchange's chores). Others wake a worker when\n" +
    "-- there are `notes`: it asks for chores.\n" +
    "local endedIds, endedValues, endedCount, notes = {}, {}, 0, {}\n" +
    "\n" +
    "-- flags is the first byte of the record. value is what attempts says of the end (S…, D…, C…), or '' for a task that is\n" +
    "-- removed before it has ended.\n" +
    "local function finish(id, flags, value)\n" +
    "  if not isExtended then\n" +
    "    return\n" +
    "  end\n" +
    "  endedCount = endedCount + 1\n" +
    "  endedIds[endedCount], endedValues[endedCount] = id, value\n" +
    "  local kin = math.floor(flags / 32) % 4\n" +
    "  if kin % 2 == 1 then\n" +
    "    -- Who the parent is stands in the extras, which are JSON: the note has the record without the payload.\n" +
    "    local record = redis.call('HGET', tasks, id)\n" +
    "    if record then\n" +
    "      local at = 12\n" +
    "      if math.floor(flags / 16) % 2 == 1 then\n" +
    "        at = at + 2 + struct.unpack('>H', record, at)\n" +
    "      end\n" +
    "      if flags >= 128 then\n" +
    "        -- For how long the id is remembered.\n" +
    "        at = at + 8\n" +
    "      end\n" +
    "      at = at + 2 + struct.unpack('>H', record, at)\n" +
    "      at = at + 2 + struct.unpack('>H', record, at)\n" +
    "      local time = redis.call('TIME')\n" +
    "      local told = value ~= '' and value or 'X' .. struct.pack('>dH', time[1] * 1000 + math.floor(time[2] / 1000), 0)\n" +
    "      -- The instant keeps apart the ends of a task that is run again after it has ended.\n" +
    "      notes[#notes + 1] = 'n' .. string.sub(told, 2, 9) .. id\n" +
    "      notes[#notes + 1] = struct.pack('>I', at - 1) .. string.sub(record, 1, at - 1) .. told\n" +
    "    end\n" +
    "  end\n" +
    "  if kin >= 2 then\n" +
    "    -- f64 when, 8 bytes of flow, u16 children, u16 still to come, u8 policy, u8 waiting\n" +
    "    local head = redis.call('HGET', flows, id)\n" +
    "    if head and string.byte(head, 22) == 1 then\n" +
    "      if redis.call('HINCRBY', flows, 'w', -1) == 0 then\n" +
    "        redis.call('HDEL', flows, 'w')\n" +
    "      end\n" +
    "      redis.call('HSET', flows, id, string.sub(head, 1, 21) .. '\\0')\n" +
    "    end\n" +
    "    local state = string.sub(value, 1, 1)\n" +
    "    if head and (state == 'S' or state == '') then\n" +
    "      -- It won't ask for the results of its children again; there may be many, so they are removed step by step.\n" +
    "      redis.call('HDEL', flows, id)\n" +
    "      notes[#notes + 1] = 'g' .. string.sub(head, 9, 16)\n" +
    "      notes[#notes + 1] = string.sub(head, 17, 18)\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- Once, at the end of the script.\n" +
    "local function tellEnded()\n" +
    "  if endedCount == 0 then\n" +
    "    return\n" +
    "  end\n" +
    "  if #notes > 0 then\n" +
    "    redis.call('HSET', outbox, unpack(notes))\n" +
    "    -- Whoever has found that nothing was due yet has not seen these.\n" +
    "    redis.call('HDEL', outbox, 'p')\n" +
    "  end\n" +
    "  if redis.call('EXISTS', watched) == 0 then\n" +
    "    return\n" +
    "  end\n" +
    "  -- The score is the second until which somebody waits · 2^20, plus the number of the process; 0 stands for several.\n" +
    "  local SOLE = 1048576\n" +
    "  for from = 1, endedCount, 1000 do\n" +
    "    local upTo = math.min(from + 999, endedCount)\n" +
    "    for i, score in ipairs(redis.call('ZMSCORE', watched, unpack(endedIds, from, upTo))) do\n" +
    "      if score then\n" +
    "        local id, process = endedIds[from + i - 1], tonumber(score) % SOLE\n" +
    "        local channel = process == 0 and watched or watched .. ':' .. string.format('%.0f', process)\n" +
    "        redis.call(publish, channel, '*:' .. struct.pack('>H', #id) .. id .. endedValues[from + i - 1])\n" +
    "        redis.call('ZREM', watched, id)\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "-- Removes what is kept of the children of tasks that are forgotten. Expects flows, outbox, isExtended.\n" +
    "local function forgetFlows(ids)\n" +
    "  if not isExtended or #ids == 0 or redis.call('EXISTS', flows) == 0 then\n" +
    "    return\n" +
    "  end\n" +
    "  local garbage, parents = {}, {}\n" +
    "  for i, head in ipairs(redis.call('HMGET', flows, unpack(ids))) do\n" +
    "    if head then\n" +
    "      parents[#parents + 1] = ids[i]\n" +
    "      garbage[#garbage + 1] = 'g' .. string.sub(head, 9, 16)\n" +
    "      garbage[#garbage + 1] = string.sub(head, 17, 18)\n" +
    "    end\n" +
    "  end\n" +
    "  if #parents > 0 then\n" +
    "    redis.call('HDEL', flows, unpack(parents))\n" +
    "    redis.call('HSET', outbox, unpack(garbage))\n" +
    "  end\n" +
    "end\n" +
    "-- Removes all that is known of tasks, but where their ids stand.\n" +
    "-- Expects: tasks, attempts, isExtended, progress, logs, and flow.forget.part.lua before it.\n" +
    "local function forget(ids)\n" +
    "  redis.call('HDEL', tasks, unpack(ids))\n" +
    "  redis.call('HDEL', attempts, unpack(ids))\n" +
    "  if isExtended then\n" +
    "    redis.call('HDEL', progress, unpack(ids))\n" +
    "    redis.call('HDEL', logs, unpack(ids))\n" +
    "    forgetFlows(ids)\n" +
    "  end\n" +
    "end\n" +
    "-- Takes a waiting task out of where it stands: a set, its group, or the list of its lane. In a long list its entry can only\n" +
    "-- be made a hole, which workers skip when they come to it; near either end it is taken out, so that tasks that come and go\n" +
    "-- again leave nothing behind.\n" +
    "-- `hasFreed` tells whether a place that others wait for has become free.\n" +
    "-- Expects: ready, scheduled, retrying (keys by lane), holes, and task.group.part.lua.\n" +
    "local GROUPED, LANES = 16, 16\n" +
    "local REACH = 100\n" +
    "local hasFreed = false\n" +
    "\n" +
    "local function groupOf(record)\n" +
    "  if math.floor(string.byte(record) / GROUPED) % 2 == 1 then\n" +
    "    return (struct.unpack('>Hc0', record, 12))\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local function release(group)\n" +
    "  leaveGroup(group)\n" +
    "  hasFreed = true\n" +
    "end\n" +
    "\n" +
    "-- `state` is the first character of `last`, or '' for a task that was never taken.\n" +
    "local function leave(id, record, state, last)\n" +
    "  local lane = string.byte(record) % LANES\n" +
    "  if state == 'W' then\n" +
    "    return\n" +
    "  elseif state == 'Q' then\n" +
    "    quitGroup(groupOf(record), lane, id, last)\n" +
    "    return\n" +
    "  end\n" +
    "  if redis.call('ZREM', scheduled[lane], id) + redis.call('ZREM', retrying[lane], id) > 0 then\n" +
    "    if state == 'H' then\n" +
    "      release(groupOf(record))\n" +
    "    end\n" +
    "    return\n" +
    "  end\n" +
    "  local key = ready[lane]\n" +
    "  -- An id can be there more than once, as a hole and as a task that came later: whichever entry goes, what is left of\n" +
    "  -- them are as many holes as before, and then no task.\n" +
    "  for _, direction in ipairs({ -1, 1 }) do\n" +
    "    if redis.call('LPOS', key, id, 'RANK', direction, 'MAXLEN', REACH) then\n" +
    "      redis.call('LREM', key, direction, id)\n" +
    "      return\n" +
    "    end\n" +
    "  end\n" +
    "  local char = string.char(48 + lane)\n" +
    "  redis.call('HSET', holes, id, (redis.call('HGET', holes, id) or '') .. char)\n" +
    "  redis.call('HINCRBY', holes, char, 1)\n" +
    "end\n" +
    "\n" +
    "local function isOver()\n" +
    "  return left <= 0 or bytes >= MOST_BYTES\n" +
    "end\n" +
    "\n" +
    "-- All that is known of tasks whose entries are gone, or go; false in `records` for an id that has none.\n" +
    "local function removeAll(ids, records)\n" +
    "  local gone = {}\n" +
    "  for i, id in ipairs(ids) do\n" +
    "    if records[i] then\n" +
    "      finish(id, string.byte(records[i]), '')\n" +
    "      happen('X', id, '')\n" +
    "      gone[#gone + 1] = id\n" +
    "    end\n" +
    "  end\n" +
    "  if #gone > 0 then\n" +
    "    forget(gone)\n" +
    "    removed = removed + #gone\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local function recordsOf(ids)\n" +
    "  local records = redis.call('HMGET', tasks, unpack(ids))\n" +
    "  for _, record in ipairs(records) do\n" +
    "    bytes = bytes + (record and #record or 0)\n" +
    "  end\n" +
    "  left = left - #ids\n" +
    "  return records\n" +
    "end\n" +
    "\n" +
    "local function isOld(record)\n" +
    "  return not record or struct.unpack('>d', record, 4) <= upTo\n" +
    "end\n" +
    "\n" +
    "-- Those that came later stay where they are; returns when only such are left, or the call is over.\n" +
    "local function drainSet(key, latest, isRetrying)\n" +
    "  local skipped = 0\n" +
    "  while not isOver() do\n" +
    "    local ids = redis.call('ZRANGE', key, '-inf', latest, 'BYSCORE', 'LIMIT', skipped, math.min(PIECE, left))\n" +
    "    if #ids == 0 then\n" +
    "      return\n" +
    "    end\n" +
    "    local oldIds, oldRecords = {}, {}\n" +
    "    local lasts = isRetrying and redis.call('HMGET', attempts, unpack(ids)) or {}\n" +
    "    for i, record in ipairs(recordsOf(ids)) do\n" +
    "      if isOld(record) then\n" +
    "        oldIds[#oldIds + 1], oldRecords[#oldRecords + 1] = ids[i], record\n" +
    "        if record and lasts[i] and string.sub(lasts[i], 1, 1) == 'H' then\n" +
    "          release(groupOf(record))\n" +
    "        end\n" +
    "      else\n" +
    "        skipped = skipped + 1\n" +
    "      end\n" +
    "    end\n" +
    "    if #oldIds > 0 then\n" +
    "      redis.call('ZREM', key, unpack(oldIds))\n" +
    "      hasMoved = true\n" +
    "      removeAll(oldIds, oldRecords)\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- Whether the first entry of an id in the list of a lane is void; then it is so no longer.\n" +
    "local hasHoles = redis.call('EXISTS', holes) == 1\n" +
    "local function fillHole(id, char)\n" +
    "  local void = hasHoles and redis.call('HGET', holes, id)\n" +
    "  local at = void and string.find(void, char, 1, true)\n" +
    "  if not at then\n" +
    "    return false\n" +
    "  end\n" +
    "  if #void == 1 then\n" +
    "    redis.call('HDEL', holes, id)\n" +
    "  else\n" +
    "    redis.call('HSET', holes, id, string.sub(void, 1, at - 1) .. string.sub(void, at + 1))\n" +
    "  end\n" +
    "  if redis.call('HINCRBY', holes, char, -1) == 0 then\n" +
    "    redis.call('HDEL', holes, char)\n" +
    "  end\n" +
    "  return true\n" +
    "end\n" +
    "\n" +
    "local function drainList(key, lane)\n" +
    "  local char = string.char(48 + lane)\n" +
    "  while not isOver() do\n" +
    "    local ids = redis.call('LRANGE', key, 0, math.min(PIECE, left) - 1)\n" +
    "    if #ids == 0 then\n" +
    "      return\n" +
    "    end\n" +
    "    local goneIds, goneRecords, count = {}, {}, 0\n" +
    "    for i, record in ipairs(recordsOf(ids)) do\n" +
    "      if fillHole(ids[i], char) then\n" +
    "        count = i\n" +
    "      elseif isOld(record) then\n" +
    "        count = i\n" +
    "        goneIds[#goneIds + 1], goneRecords[#goneRecords + 1] = ids[i], record\n" +
    "      else\n" +
    "        break\n" +
    "      end\n" +
    "    end\n" +
    "    if count > 0 then\n" +
    "      redis.call('LPOP', key, count)\n" +
    "      hasMoved = true\n" +
    "      removeAll(goneIds, goneRecords)\n" +
    "    end\n" +
    "    if count < #ids then\n" +
    "      return\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local function drainGroups()\n" +
    "  local skipped = 0\n" +
    "  while not isOver() do\n" +
    "    local entries = redis.call('ZRANGE', grouped, skipped, skipped + math.min(PIECE, left) - 1)\n" +
    "    if #entries == 0 then\n" +
    "      return\n" +
    "    end\n" +
    "    local ids = {}\n" +
    "    for i, entry in ipairs(entries) do\n" +
    "      ids[i] = string.sub(entry, struct.unpack('>H', entry) + 12)\n" +
    "    end\n" +
    "    local lasts = redis.call('HMGET', attempts, unpack(ids))\n" +
    "    local oldIds, oldRecords = {}, {}\n" +
    "    for i, record in ipairs(recordsOf(ids)) do\n" +
    "      if record and not isOld(record) then\n" +
    "        skipped = skipped + 1\n" +
    "      else\n" +
    "        oldIds[#oldIds + 1], oldRecords[#oldRecords + 1] = ids[i], record\n" +
    "        if record then\n" +
    "          quitGroup(groupOf(record), string.byte(record) % LANES, ids[i], lasts[i])\n" +
    "        else\n" +
    "          redis.call('ZREM', grouped, entries[i])\n" +
    "        end\n" +
    "      end\n" +
    "    end\n" +
    "    if #oldIds > 0 then\n" +
    "      hasMoved = true\n" +
    "      removeAll(oldIds, oldRecords)\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "for lane = 0, #ready do\n" +
    "  drainSet(scheduled[lane], isAll and 'inf' or now, false)\n" +
    "  drainSet(retrying[lane], isAll and 'inf' or now, true)\n" +
    "  drainList(ready[lane], lane)\n" +
    "end\n" +
    "drainGroups()\n" +
    "placeGroups()\n" +
    "tellEnded()\n" +
    "tellEvents()\n" +
    "if hasFreed or #notes > 0 then\n" +
    "  wake(1)\n" +
    "end\n" +
    "-- What is left may have come later, all of it.\n" +
    "return { removed, upTo, isOver() and hasMoved and 0 or 1 }\n",
} as const);

export const operatorList = new Script({
  name: "operator.list",
  isReadOnly: true,
  keys: ["settings","tasks","attempts","progress","active","succeeded","dead","holes","cancelled","grouped","flows"],
  args: ["believed","state","limit","name","hasPayloads","section","at","after"],
  restKey: "lanes",
  source: "#!lua flags=no-writes\n" +
    "-- A page of the tasks in one state. What a call looks at is bounded, so a page may have fewer tasks than wanted, or none,\n" +
    "-- though there are more; the place to go on from is told.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   settings     STRING, see src/shard/settings-text.ts\n" +
    "--   tasks        HASH id -> record\n" +
    "--   attempts     HASH id -> last attempt\n" +
    "--   progress     HASH id -> JSON\n" +
    "--   active       ZSET id -> end of the lease, ms\n" +
    "--   succeeded    LIST ids, oldest first\n" +
    "--   dead         ZSET id -> instant of death, ms\n" +
    "--   holes        HASH id -> lane of each entry of it that is void\n" +
    "--   cancelled    ZSET id -> instant of cancellation, ms\n" +
    "--   grouped      ZSET of waiting tasks with a group\n" +
    "--   flows        HASH\n" +
    "--   lanes...     three for each priority: ready LIST, scheduled ZSET, retrying ZSET\n" +
    "-- ARGV\n" +
    "--   believed     the settings that the caller believes to be stored\n" +
    "--   state        scheduled, ready, active, retrying, succeeded, dead, cancelled or waiting\n" +
    "--   limit        tasks, 1 to 1,000\n" +
    "--   name         only tasks with this name; '' for all\n" +
    "--   hasPayloads  0: records end before the payload, and results are left out\n" +
    "--   section      where to go on, as the last call has told; 0, '' and '' to begin: which part of the state\n" +
    "--   at           instant, position or cursor in it\n" +
    "--   after        the id, or entry, after which to go on\n" +
    "-- RETURNS\n" +
    "--   { section, at, after, id, record, last attempt, instant, progress, … }: where to go on, section -1 when there is\n" +
    "--   nothing more; then five for each task, '' for what it doesn't have; the instant is the end of the lease of an active\n" +
    "--   task and the due instant of a scheduled or retrying one\n" +
    "--   error SETTINGS <stored>: something else is stored\n" +
    "local settings, tasks, attempts, progress, active, succeeded = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]\n" +
    "local dead, holes, cancelled, grouped, flows = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]\n" +
    "local believed, state, limit, name, hasPayloads = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5] == '1'\n" +
    "local section, at, after = tonumber(ARGV[6]), ARGV[7], ARGV[8]\n" +
    "local ready, scheduled, retrying = {}, {}, {}\n" +
    "for lane = 12, #KEYS, 3 do\n" +
    "  local index = (lane - 12) / 3\n" +
    "  ready[index], scheduled[index], retrying[index] = KEYS[lane], KEYS[lane + 1], KEYS[lane + 2]\n" +
    "end\n" +
    "local GROUPED, REMEMBERED, LANES = 16, 128, 16\n" +
    "-- Entries are looked at in pieces; a call ends with the piece that brings it to so many of them, or bytes.\n" +
    "local PIECE = 50\n" +
    "local MOST_SEEN = 1000\n" +
    "local MOST_BYTES = 4194304\n" +
    "-- How far an entry of a list may have moved on for it to be found again.\n" +
    "local REACH = 5000\n" +
    "\n" +
    "local stored = redis.call('GET', settings)\n" +
    "if stored and stored ~= believed then\n" +
    "  return redis.error_reply('SETTINGS ' .. stored)\n" +
    "end\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "local reply = { -1, '', '' }\n" +
    "local found, seen, bytes = 0, 0, 0\n" +
    "\n" +
    "-- What became of a task: attempts says so, or its record, which is sealed then (see seal.ts). Whoever finds no entry in attempts\n" +
    "-- has to ask here. Expects: tasks.\n" +
    "\n" +
    "-- The record as it was enqueued, whether it is sealed or not, and what attempts says of the task, or would say: S, f64\n" +
    "-- instant, u16 attempt. `last` is what it has of the task, if anything.\n" +
    "local function unseal(record, last)\n" +
    "  if not record or #record < 16 or string.byte(record, 4) >= 64 then\n" +
    "    return record, last\n" +
    "  end\n" +
    "  local high, low, attempt, low2 = struct.unpack('>HBBB', record)\n" +
    "  local enqueuedAt = struct.unpack('>d', record, 9)\n" +
    "  -- An instant of enqueuing may be a little ahead of the time.\n" +
    "  local endedAt = enqueuedAt + high * 65536 + low * 256 + low2 - 65536\n" +
    "  return string.sub(record, 6), last or struct.pack('>c1dH', 'S', endedAt, attempt)\n" +
    "end\n" +
    "\n" +
    "-- What attempts would say of a task that has no entry there; false when there is nothing to say, since it has not been taken;\n" +
    "-- nil for a task that is unknown. Reads no big record.\n" +
    "local function sealedEnd(id)\n" +
    "  local MOST_BYTES = 512\n" +
    "  local bytes = redis.call('HSTRLEN', tasks, id)\n" +
    "  if bytes == 0 then\n" +
    "    return nil\n" +
    "  end\n" +
    "  local _, last = unseal(bytes <= MOST_BYTES and redis.call('HGET', tasks, id), false)\n" +
    "  return last\n" +
    "end\n" +
    "\n" +
    "local function isFull()\n" +
    "  return found >= limit or seen >= MOST_SEEN or bytes >= MOST_BYTES\n" +
    "end\n" +
    "\n" +
    "-- At least one, to see whether there is more.\n" +
    "local function pieceSize()\n" +
    "  return math.max(1, math.min(PIECE, limit - found, MOST_SEEN - seen))\n" +
    "end\n" +
    "\n" +
    "local function goOn(nextAt, nextAfter)\n" +
    "  reply[1], reply[2], reply[3] = section, nextAt, nextAfter\n" +
    "end\n" +
    "\n" +
    "-- The name of a task, and where its payload begins.\n" +
    "local function nameOf(record)\n" +
    "  local flags, from = string.byte(record), 12\n" +
    "  if math.floor(flags / GROUPED) % 2 == 1 then\n" +
    "    from = from + 2 + struct.unpack('>H', record, from)\n" +
    "  end\n" +
    "  if flags >= REMEMBERED then\n" +
    "    from = from + 8\n" +
    "  end\n" +
    "  local own, extras = struct.unpack('>Hc0', record, from)\n" +
    "  return own, extras + 2 + struct.unpack('>H', record, extras)\n" +
    "end\n" +
    "\n" +
    "-- Adds what is wanted of a piece. `instants` are in the order of the ids; `isThere` says no for an entry that is void.\n" +
    "local function show(ids, instants, isThere)\n" +
    "  seen = seen + #ids\n" +
    "  local records = redis.call('HMGET', tasks, unpack(ids))\n" +
    "  local lasts = redis.call('HMGET', attempts, unpack(ids))\n" +
    "  local told = redis.call('HMGET', progress, unpack(ids))\n" +
    "  for i, record in ipairs(records) do\n" +
    "    local last\n" +
    "    record, last = unseal(record, lasts[i])\n" +
    "    last = last or ''\n" +
    "    if record then\n" +
    "      bytes = bytes + #record + #last\n" +
    "      local own, payloadAt = nameOf(record)\n" +
    "      if (name == '' or name == own) and (not isThere or isThere(ids[i], record, last)) then\n" +
    "        if not hasPayloads then\n" +
    "          record = string.sub(record, 1, payloadAt - 1)\n" +
    "          if string.sub(last, 1, 1) == 'S' then\n" +
    "            last = string.sub(last, 1, 11)\n" +
    "          end\n" +
    "        end\n" +
    "        local size = #reply\n" +
    "        reply[size + 1], reply[size + 2], reply[size + 3] = ids[i], record, last\n" +
    "        reply[size + 4], reply[size + 5] = instants and instants[i] or '', told[i] or ''\n" +
    "        found = found + 1\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- As Redis sorts members, whatever the locale of the server is.\n" +
    "local function isBefore(a, b)\n" +
    "  for i = 1, math.min(#a, #b) do\n" +
    "    local x, y = string.byte(a, i), string.byte(b, i)\n" +
    "    if x ~= y then\n" +
    "      return x < y\n" +
    "    end\n" +
    "  end\n" +
    "  return #a < #b\n" +
    "end\n" +
    "\n" +
    "-- How many members of a set stand before (instant, id), or, with isWithin, up to it. Whether it still is there or not.\n" +
    "local function rankOf(key, instant, id, isWithin)\n" +
    "  local low, high = redis.call('ZCOUNT', key, '-inf', '(' .. instant), redis.call('ZCOUNT', key, '-inf', instant)\n" +
    "  while low < high do\n" +
    "    local middle = math.floor((low + high) / 2)\n" +
    "    local member = redis.call('ZRANGE', key, middle, middle)[1]\n" +
    "    if isBefore(member, id) or isWithin and member == id then\n" +
    "      low = middle + 1\n" +
    "    else\n" +
    "      high = middle\n" +
    "    end\n" +
    "  end\n" +
    "  return low\n" +
    "end\n" +
    "\n" +
    "local function split(pairs)\n" +
    "  local ids, instants = {}, {}\n" +
    "  for i = 1, #pairs, 2 do\n" +
    "    ids[#ids + 1], instants[#instants + 1] = pairs[i], pairs[i + 1]\n" +
    "  end\n" +
    "  return ids, instants\n" +
    "end\n" +
    "\n" +
    "local function reversed(ids)\n" +
    "  local backwards = {}\n" +
    "  for i = #ids, 1, -1 do\n" +
    "    backwards[#backwards + 1] = ids[i]\n" +
    "  end\n" +
    "  return backwards\n" +
    "end\n" +
    "\n" +
    "-- Members from rank `first` on, up to before rank `beyond`, in the order of their instants.\n" +
    "local function listSet(key, first, beyond, hasInstants)\n" +
    "  if at ~= '' then\n" +
    "    first = math.max(first, rankOf(key, at, after, true))\n" +
    "  end\n" +
    "  while first < beyond do\n" +
    "    if isFull() then\n" +
    "      return goOn(at, after)\n" +
    "    end\n" +
    "    local ids, instants = split(redis.call('ZRANGE', key, first, math.min(beyond, first + pieceSize()) - 1, 'WITHSCORES'))\n" +
    "    first = first + #ids\n" +
    "    at, after = instants[#ids], ids[#ids]\n" +
    "    show(ids, hasInstants and instants)\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- All members, the latest first.\n" +
    "local function listSetBackwards(key)\n" +
    "  local beyond = at == '' and redis.call('ZCARD', key) or rankOf(key, at, after, false)\n" +
    "  while beyond > 0 do\n" +
    "    if isFull() then\n" +
    "      return goOn(at, after)\n" +
    "    end\n" +
    "    local first = math.max(0, beyond - pieceSize())\n" +
    "    local ids, instants = split(redis.call('ZRANGE', key, first, beyond - 1, 'WITHSCORES'))\n" +
    "    beyond = first\n" +
    "    at, after = instants[1], ids[1]\n" +
    "    show(reversed(ids))\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- A list, oldest first. It loses its first entries while it is looked at, so the entry at which the last call ended stands\n" +
    "-- further to the front now, if it still is there; if not, those before it are gone as well, as a rule.\n" +
    "local function listReady(lane)\n" +
    "  local key, char = ready[lane], string.char(48 + lane)\n" +
    "  local index = tonumber(at) or 0\n" +
    "  if index > 0 and redis.call('LINDEX', key, index - 1) ~= after then\n" +
    "    local from, place = math.max(0, index - 1 - REACH), 0\n" +
    "    for i, id in ipairs(redis.call('LRANGE', key, from, index - 1)) do\n" +
    "      if id == after then\n" +
    "        place = from + i\n" +
    "        break\n" +
    "      end\n" +
    "    end\n" +
    "    index = place\n" +
    "  end\n" +
    "  local hasHoles = redis.call('EXISTS', holes) == 1\n" +
    "  -- An id with a hole may be somewhere else by now. (A task that was removed and came again to this lane is shown where\n" +
    "  -- its hole is, too.)\n" +
    "  local function isThere(id, record, last)\n" +
    "    if not hasHoles or not string.find(redis.call('HGET', holes, id) or '', char, 1, true) then\n" +
    "      return true\n" +
    "    end\n" +
    "    return last == '' and string.byte(record) % LANES == lane and not redis.call('ZSCORE', scheduled[lane], id)\n" +
    "  end\n" +
    "  while true do\n" +
    "    local ids = redis.call('LRANGE', key, index, index + pieceSize() - 1)\n" +
    "    if #ids == 0 then\n" +
    "      return\n" +
    "    end\n" +
    "    if isFull() then\n" +
    "      return goOn(index, after)\n" +
    "    end\n" +
    "    index = index + #ids\n" +
    "    after = ids[#ids]\n" +
    "    show(ids, nil, isThere)\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local function listGroups()\n" +
    "  while true do\n" +
    "    local from = after == '' and '-' or '(' .. after\n" +
    "    local entries = redis.call('ZRANGE', grouped, from, '+', 'BYLEX', 'LIMIT', 0, pieceSize())\n" +
    "    if #entries == 0 then\n" +
    "      return\n" +
    "    end\n" +
    "    if isFull() then\n" +
    "      return goOn('', after)\n" +
    "    end\n" +
    "    local ids = {}\n" +
    "    for i, entry in ipairs(entries) do\n" +
    "      ids[i] = string.sub(entry, struct.unpack('>H', entry) + 12)\n" +
    "    end\n" +
    "    after = entries[#entries]\n" +
    "    show(ids)\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- The instant at which the task at a place of the list of those that succeeded did so; nil for one without.\n" +
    "local function succeededAt(index)\n" +
    "  local id = redis.call('LINDEX', succeeded, index)\n" +
    "  local last = id and (redis.call('HGET', attempts, id) or sealedEnd(id))\n" +
    "  return last and #last >= 9 and struct.unpack('>d', last, 2) or nil\n" +
    "end\n" +
    "\n" +
    "-- How many of those that succeeded did so before an instant; the list is in the order of these.\n" +
    "local function countSucceeded(instant)\n" +
    "  local low, high = 0, redis.call('LLEN', succeeded)\n" +
    "  while low < high do\n" +
    "    local middle = math.floor((low + high) / 2)\n" +
    "    local one = succeededAt(middle)\n" +
    "    if one and one < instant then\n" +
    "      low = middle + 1\n" +
    "    else\n" +
    "      high = middle\n" +
    "    end\n" +
    "  end\n" +
    "  return low\n" +
    "end\n" +
    "\n" +
    "-- The latest first.\n" +
    "local function listSucceeded()\n" +
    "  local beyond = redis.call('LLEN', succeeded)\n" +
    "  if at ~= '' then\n" +
    "    local instant = tonumber(at)\n" +
    "    local first = countSucceeded(instant)\n" +
    "    beyond = countSucceeded(instant + 1)\n" +
    "    -- Of those of the same instant, all when the one at which the last call ended is gone.\n" +
    "    for i, id in ipairs(redis.call('LRANGE', succeeded, first, math.min(beyond, first + REACH) - 1)) do\n" +
    "      if id == after then\n" +
    "        beyond = first + i - 1\n" +
    "        break\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "  while beyond > 0 do\n" +
    "    if isFull() then\n" +
    "      return goOn(at, after)\n" +
    "    end\n" +
    "    local first = math.max(0, beyond - pieceSize())\n" +
    "    local ids = redis.call('LRANGE', succeeded, first, beyond - 1)\n" +
    "    at, after = string.format('%.0f', succeededAt(first) or 0), ids[1]\n" +
    "    beyond = first\n" +
    "    show(reversed(ids))\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- Parents that wait for their children, in no order. What HSCAN returns may be more than is wanted: then it is asked for the\n" +
    "-- same again, and goes on behind what was shown.\n" +
    "local function listWaiting()\n" +
    "  local function isThere(_, _, last)\n" +
    "    return string.sub(last, 1, 1) == 'W'\n" +
    "  end\n" +
    "  local cursor = at == '' and '0' or at\n" +
    "  repeat\n" +
    "    local nextCursor, fields = unpack(redis.call('HSCAN', flows, cursor, 'COUNT', PIECE))\n" +
    "    local ids = split(fields)\n" +
    "    table.sort(ids, isBefore)\n" +
    "    for _, id in ipairs(ids) do\n" +
    "      if after == '' or isBefore(after, id) then\n" +
    "        if isFull() then\n" +
    "          return goOn(cursor, after)\n" +
    "        end\n" +
    "        show({ id }, nil, isThere)\n" +
    "        after = id\n" +
    "      end\n" +
    "    end\n" +
    "    cursor, after = nextCursor, ''\n" +
    "  until cursor == '0'\n" +
    "end\n" +
    "\n" +
    "-- Goes through the sections of a state, each from its beginning but the one in which the last call ended.\n" +
    "local function inSections(count, list)\n" +
    "  while section < count do\n" +
    "    list(section)\n" +
    "    if reply[1] >= 0 then\n" +
    "      return\n" +
    "    end\n" +
    "    section, at, after = section + 1, '', ''\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local lanes = #ready + 1\n" +
    "if state == 'scheduled' or state == 'retrying' then\n" +
    "  inSections(lanes, function(lane)\n" +
    "    local key = state == 'scheduled' and scheduled[lane] or retrying[lane]\n" +
    "    listSet(key, redis.call('ZCOUNT', key, '-inf', now), redis.call('ZCARD', key), true)\n" +
    "  end)\n" +
    "elseif state == 'ready' then\n" +
    "  inSections(3 * lanes + 1, function(part)\n" +
    "    local lane, kind = math.floor(part / 3), part % 3\n" +
    "    if lane == lanes then\n" +
    "      listGroups()\n" +
    "    elseif kind == 2 then\n" +
    "      listReady(lane)\n" +
    "    else\n" +
    "      local key = kind == 0 and scheduled[lane] or retrying[lane]\n" +
    "      listSet(key, 0, redis.call('ZCOUNT', key, '-inf', now), false)\n" +
    "    end\n" +
    "  end)\n" +
    "elseif state == 'active' then\n" +
    "  listSet(active, 0, redis.call('ZCARD', active), true)\n" +
    "elseif state == 'succeeded' then\n" +
    "  listSucceeded()\n" +
    "elseif state == 'waiting' then\n" +
    "  listWaiting()\n" +
    "else\n" +
    "  listSetBackwards(state == 'dead' and dead or cancelled)\n" +
    "end\n" +
    "return reply\n",
} as const);

export const operatorPromote = new Script({
  name: "operator.promote",
  isReadOnly: false,
  keys: ["settings","tasks","idle","events"],
  args: ["believed","publish"],
  restKey: "lanes",
  restArg: "ids",
  source: "#!lua flags=allow-oom\n" +
    "-- Makes tasks due now that wait for their time: scheduled ones, and those that are going to be tried again.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   settings     STRING, see src/shard/settings-text.ts\n" +
    "--   tasks        HASH id -> record\n" +
    "--   idle         ZSET channel of a parked worker -> parked until, ms\n" +
    "--   events       STREAM\n" +
    "--   lanes...     three for each priority: ready LIST, scheduled ZSET, retrying ZSET\n" +
    "-- ARGV\n" +
    "--   believed     the settings that the caller believes to be stored\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "--   ids...       100 at most\n" +
    "-- RETURNS\n" +
    "--   a string with one character a task: 1 is due now, 0 does not wait for its time, - unknown\n" +
    "--   error SETTINGS <stored>: something else is stored; nothing is written\n" +
    "local settings, tasks, idle, events = KEYS[1], KEYS[2], KEYS[3], KEYS[4]\n" +
    "local believed, publish = ARGV[1], ARGV[2]\n" +
    "local delayed = {}\n" +
    "for lane = 5, #KEYS, 3 do\n" +
    "  delayed[#delayed + 1] = KEYS[lane + 1]\n" +
    "  delayed[#delayed + 1] = KEYS[lane + 2]\n" +
    "end\n" +
    "\n" +
    "-- Refuses who believes in other settings than the stored ones; the time, and how many events are kept.\n" +
    "-- Expects: settings, believed.\n" +
    "local stored = redis.call('GET', settings)\n" +
    "if stored and stored ~= believed then\n" +
    "  return redis.error_reply('SETTINGS ' .. stored)\n" +
    "end\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "local keepEvents = tonumber(string.match(believed, ';events=(%d+)')) or 0\n" +
    "\n" +
    "-- Tells parked workers, those that have waited longest first, that there may be something to take. `message`: for the one who\n" +
    "-- may be handed a task along with it. Returns whether the last who was told was such; nil when nobody was told.\n" +
    "-- Expects: idle, publish, now.\n" +
    "local function wake(most, message)\n" +
    "  local isHanded\n" +
    "  for _ = 1, 16 do\n" +
    "    if most == 0 then\n" +
    "      break\n" +
    "    end\n" +
    "    local parked = redis.call('ZPOPMIN', idle)\n" +
    "    if #parked == 0 then\n" +
    "      break\n" +
    "    end\n" +
    "    -- What is published to somebody who listens to a replica, or still to a former master, arrives there but isn't counted: the next\n" +
    "    -- one would be handed the same task. So whoever isn't heard here gets none.\n" +
    "    local takes = message ~= nil\n" +
    "      and parked[2] % 1 > 0\n" +
    "      and redis.call('PUBSUB', publish == 'SPUBLISH' and 'SHARDNUMSUB' or 'NUMSUB', parked[1])[2] > 0\n" +
    "    -- Not those that are gone, or whose parking time is over.\n" +
    "    if tonumber(parked[2]) >= now and redis.call(publish, parked[1], takes and message or 'w:') > 0 then\n" +
    "      most = most - 1\n" +
    "      isHanded = takes\n" +
    "    end\n" +
    "  end\n" +
    "  return isHanded\n" +
    "end\n" +
    "-- Tells those who read events what has happened. Expects events, keepEvents, publish. All of one call become one entry of the\n" +
    "-- stream, and one message. Events are numbered without a gap: an entry's id is the number of the last event in it, so a\n" +
    "-- reader knows what it has missed, and the first number of a stream is its time in µs, so that no number comes twice when\n" +
    "-- a stream is begun anew. Behind the `-` of each id stands that first number, which costs nothing, since it is the same in all of\n" +
    "-- them: who has seen less has seen another stream (0: it was begun by an older version). An entry: f64 instant (ms), then for each event: kind, u16 length · id, u16 attempt,\n" +
    "-- u16 length · text.\n" +
    "local happened, happenings = {}, 0\n" +
    "\n" +
    "-- Kinds, and what detail is for each; the text is cut after 512 bytes.\n" +
    "--   E enqueued: the record (text: the name)        P progress: JSON (text, if it isn't longer)\n" +
    "--   A started, S succeeded, R retrying, H retrying and holding its group, D dead, C cancelled, W waiting for children:\n" +
    "--     the value in attempts (text: the reason; results are not told)\n" +
    "--   Y ready again (by hand), X removed, Z paused, U resumed, and whatever comes: '' or the text. What\n" +
    "--     concerns the queue and no task has the id ''.\n" +
    "local function happen(kind, id, detail)\n" +
    "  if keepEvents == 0 then\n" +
    "    return\n" +
    "  end\n" +
    "  local MOST_TEXT = 512\n" +
    "  local attempt, text = 0, detail\n" +
    "  if kind == 'E' then\n" +
    "    local flags, at = string.byte(detail), 12\n" +
    "    if math.floor(flags / 16) % 2 == 1 then\n" +
    "      at = 14 + struct.unpack('>H', detail, 12)\n" +
    "    end\n" +
    "    if flags >= 128 then\n" +
    "      -- For how long the id is remembered.\n" +
    "      at = at + 8\n" +
    "    end\n" +
    "    text = string.sub(detail, at + 2, at + 1 + struct.unpack('>H', detail, at))\n" +
    "  elseif kind == 'A' then\n" +
    "    attempt, text = struct.unpack('>H', detail, 6), ''\n" +
    "  elseif kind == 'S' or kind == 'R' or kind == 'H' or kind == 'D' or kind == 'C' or kind == 'W' then\n" +
    "    attempt = struct.unpack('>H', detail, 10)\n" +
    "    text = (kind == 'S' or kind == 'W') and '' or string.sub(detail, 12)\n" +
    "  elseif kind == 'P' and #detail > MOST_TEXT then\n" +
    "    text = ''\n" +
    "  end\n" +
    "  text = string.sub(text, 1, MOST_TEXT)\n" +
    "  happenings = happenings + 1\n" +
    "  happened[happenings] = kind .. struct.pack('>H', #id) .. id .. struct.pack('>HH', attempt, #text) .. text\n" +
    "end\n" +
    "\n" +
    "-- Once, at the end of the script.\n" +
    "local function tellEvents()\n" +
    "  if happenings == 0 then\n" +
    "    return\n" +
    "  end\n" +
    "  local time = redis.call('TIME')\n" +
    "  local newest = redis.call('XREVRANGE', events, '+', '-', 'COUNT', 1)[1]\n" +
    "  local before, begun\n" +
    "  if newest then\n" +
    "    before, begun = string.match(newest[1], '^(%d+)-(%d+)')\n" +
    "  else\n" +
    "    begun = string.format('%.0f', time[1] * 1000000 + time[2])\n" +
    "    before = begun\n" +
    "  end\n" +
    "  local last = string.format('%.0f', before + happenings)\n" +
    "  local instant = struct.pack('>d', time[1] * 1000 + math.floor(time[2] / 1000))\n" +
    "  local oldest = string.format('%.0f', math.max(0, before + happenings - keepEvents + 1))\n" +
    "  redis.call('XADD', events, 'MINID', '~', oldest, last .. '-' .. begun, 'e', instant .. table.concat(happened))\n" +
    "  redis.call(publish, events, '*:' .. last)\n" +
    "end\n" +
    "\n" +
    "local replies, isAny = {}, false\n" +
    "for i = 3, #ARGV do\n" +
    "  local id, isPromoted = ARGV[i], false\n" +
    "  for _, key in ipairs(delayed) do\n" +
    "    local at = redis.call('ZSCORE', key, id)\n" +
    "    if at and tonumber(at) > now then\n" +
    "      redis.call('ZADD', key, now, id)\n" +
    "      isPromoted = true\n" +
    "    end\n" +
    "  end\n" +
    "  if isPromoted then\n" +
    "    isAny = true\n" +
    "    happen('Y', id, '')\n" +
    "    replies[#replies + 1] = '1'\n" +
    "  else\n" +
    "    replies[#replies + 1] = redis.call('HEXISTS', tasks, id) == 1 and '0' or '-'\n" +
    "  end\n" +
    "end\n" +
    "tellEvents()\n" +
    "if isAny then\n" +
    "  wake(1)\n" +
    "end\n" +
    "return table.concat(replies)\n",
} as const);

export const operatorRemove = new Script({
  name: "operator.remove",
  isReadOnly: false,
  keys: ["settings","tasks","attempts","succeeded","dead","idle","holes","cancelled","grouped","groups","turns","resting","progress","logs","watched","events","flows","outbox","remembered"],
  args: ["believed","publish"],
  restKey: "lanes",
  restArg: "ids",
  source: "#!lua flags=allow-oom\n" +
    "-- Removes tasks in any state but active, and all that is known of them.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   settings     STRING, see src/shard/settings-text.ts\n" +
    "--   tasks        HASH id -> record\n" +
    "--   attempts     HASH id -> last attempt\n" +
    "--   succeeded    LIST ids\n" +
    "--   dead         ZSET id -> instant of death, ms\n" +
    "--   idle         ZSET channel of a parked worker -> parked until, ms\n" +
    "--   holes        HASH id -> lane of each entry of it that is void\n" +
    "--   cancelled    ZSET id -> instant of cancellation, ms\n" +
    "--   grouped      ZSET of waiting tasks with a group\n" +
    "--   groups       HASH group -> waiting, active, rate\n" +
    "--   turns        ZSET group that may run -> lane and turn\n" +
    "--   resting      ZSET group under its rate limit -> until\n" +
    "--   progress     HASH id -> JSON\n" +
    "--   logs         HASH id -> lines\n" +
    "--   watched      ZSET id -> until when somebody waits for its end\n" +
    "--   events       STREAM\n" +
    "--   flows        HASH\n" +
    "--   outbox       HASH\n" +
    "--   remembered   ZSET id -> until when it is refused\n" +
    "--   lanes...     three for each priority: ready LIST, scheduled ZSET, retrying ZSET\n" +
    "-- ARGV\n" +
    "--   believed     the settings that the caller believes to be stored\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "--   ids...       100 at most\n" +
    "-- RETURNS\n" +
    "--   a string with one character a task: 1 removed, A not removed since it is active, - unknown\n" +
    "--   error SETTINGS <stored>: something else is stored; nothing is written\n" +
    "local settings, tasks, attempts, succeeded, dead, idle = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]\n" +
    "local holes, cancelled, grouped, groups, turns, resting = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11], KEYS[12]\n" +
    "local progress, logs, watched, events, flows, outbox = KEYS[13], KEYS[14], KEYS[15], KEYS[16], KEYS[17], KEYS[18]\n" +
    "local remembered = KEYS[19]\n" +
    "local believed, publish = ARGV[1], ARGV[2]\n" +
    "local ready, scheduled, retrying = {}, {}, {}\n" +
    "for lane = 20, #KEYS, 3 do\n" +
    "  local index = (lane - 20) / 3\n" +
    "  ready[index], scheduled[index], retrying[index] = KEYS[lane], KEYS[lane + 1], KEYS[lane + 2]\n" +
    "end\n" +
    "\n" +
    "-- Refuses who believes in other settings than the stored ones; the time, and how many events are kept.\n" +
    "-- Expects: settings, believed.\n" +
    "local stored = redis.call('GET', settings)\n" +
    "if stored and stored ~= believed then\n" +
    "  return redis.error_reply('SETTINGS ' .. stored)\n" +
    "end\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "local keepEvents = tonumber(string.match(believed, ';events=(%d+)')) or 0\n" +
    "local isExtended = true\n" +
    "\n" +
    "-- Tells parked workers, those that have waited longest first, that there may be something to take. `message`: for the one who\n" +
    "-- may be handed a task along with it. Returns whether the last who was told was such; nil when nobody was told.\n" +
    "-- Expects: idle, publish, now.\n" +
    "local function wake(most, message)\n" +
    "  local isHanded\n" +
    "  for _ = 1, 16 do\n" +
    "    if most == 0 then\n" +
    "      break\n" +
    "    end\n" +
    "    local parked = redis.call('ZPOPMIN', idle)\n" +
    "    if #parked == 0 then\n" +
    "      break\n" +
    "    end\n" +
    "    -- What is published to somebody who listens to a replica, or still to a former master, arrives there but isn't counted: the next\n" +
    "    -- one would be handed the same task. So whoever isn't heard here gets none.\n" +
    "    local takes = message ~= nil\n" +
    "      and parked[2] % 1 > 0\n" +
    "      and redis.call('PUBSUB', publish == 'SPUBLISH' and 'SHARDNUMSUB' or 'NUMSUB', parked[1])[2] > 0\n" +
    "    -- Not those that are gone, or whose parking time is over.\n" +
    "    if tonumber(parked[2]) >= now and redis.call(publish, parked[1], takes and message or 'w:') > 0 then\n" +
    "      most = most - 1\n" +
    "      isHanded = takes\n" +
    "    end\n" +
    "  end\n" +
    "  return isHanded\n" +
    "end\n" +
    "-- Groups. A waiting task with a group stands in the sorted set `grouped`, all scores 0, as\n" +
    "--\n" +
    "--   u16 length · group · u8 lane · f64 sequence · id\n" +
    "--\n" +
    "-- so that the tasks of a group are next to each other, by lane and then in order; `attempts` has the sequence (state Q), so\n" +
    "-- that it can be found from its id. `groups` has for each group how many wait, how many run, and until when its rate is\n" +
    "-- used up (GCRA); its field '' is the counter of sequences and turns. A group that may run stands in `turns` under its turn,\n" +
    "-- that of a lane before those of later lanes; one that has used up its rate stands in `resting`. Who was served goes to the\n" +
    "-- end of its lane, so groups take turns however much each has waiting.\n" +
    "-- Expects: isExtended, attempts, grouped, groups, turns, resting, believed, now.\n" +
    "local LANE_TURNS = 35184372088832\n" +
    "local groupConcurrency, isOrdered, groupInterval, groupSlack\n" +
    "if isExtended then\n" +
    "  groupConcurrency = tonumber(string.match(believed, ';gconc=(%d+)'))\n" +
    "  isOrdered = string.find(believed, ';ordered=1', 1, true) ~= nil\n" +
    "  if isOrdered then\n" +
    "    groupConcurrency = 1\n" +
    "  end\n" +
    "  local limit, period, burst = string.match(believed, ';grate=(%d+)/(%d+)/(%d+)')\n" +
    "  if limit then\n" +
    "    groupInterval = period / limit\n" +
    "    groupSlack = (burst - 1) * groupInterval\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local groupStates, touchedGroups, nextTurn, lastTurn = {}, {}, nil, nil\n" +
    "\n" +
    "-- Turns are drawn from memory; `saveTurns` writes the last one.\n" +
    "local function drawTurn()\n" +
    "  nextTurn = nextTurn or tonumber(redis.call('HGET', groups, '') or 0)\n" +
    "  nextTurn = nextTurn + 1\n" +
    "  lastTurn = nextTurn\n" +
    "  return nextTurn\n" +
    "end\n" +
    "\n" +
    "local function saveTurns()\n" +
    "  if lastTurn then\n" +
    "    redis.call('HSET', groups, '', string.format('%.0f', lastTurn))\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local function groupState(group)\n" +
    "  local state = groupStates[group]\n" +
    "  if not state then\n" +
    "    state = { 0, 0, 0 }\n" +
    "    local packed = redis.call('HGET', groups, group)\n" +
    "    if packed then\n" +
    "      state[1], state[2], state[3] = struct.unpack('>IId', packed)\n" +
    "    end\n" +
    "    groupStates[group] = state\n" +
    "    touchedGroups[#touchedGroups + 1] = group\n" +
    "  end\n" +
    "  return state\n" +
    "end\n" +
    "\n" +
    "local function groupPrefix(group)\n" +
    "  return struct.pack('>H', #group) .. group\n" +
    "end\n" +
    "\n" +
    "-- The first waiting task of a group as `grouped` has it, or nil.\n" +
    "local function headOf(group)\n" +
    "  local prefix = groupPrefix(group)\n" +
    "  return redis.call('ZRANGE', grouped, '[' .. prefix, '(' .. prefix .. '\\255', 'BYLEX', 'LIMIT', 0, 1)[1]\n" +
    "end\n" +
    "\n" +
    "-- Whether the limits of groups say that none of it may start now.\n" +
    "local function isHeldUp(state)\n" +
    "  return groupConcurrency and state[2] >= groupConcurrency or groupInterval and state[3] - groupSlack > now\n" +
    "end\n" +
    "\n" +
    "-- Stores what has become of a group, and puts it where it belongs. Its turn is a new one when it was served.\n" +
    "local function placeGroup(group, wasServed)\n" +
    "  local state = groupState(group)\n" +
    "  if groupInterval then\n" +
    "    -- What was used under another rate must not stand in the way for longer than this one allows.\n" +
    "    state[3] = math.min(state[3], now + groupSlack + groupInterval)\n" +
    "  end\n" +
    "  local waiting, running, usedUntil = state[1], state[2], state[3]\n" +
    "  local restUntil = groupInterval and usedUntil - groupSlack or 0\n" +
    "  if waiting == 0 and running == 0 and restUntil <= now then\n" +
    "    redis.call('HDEL', groups, group)\n" +
    "    redis.call('ZREM', turns, group)\n" +
    "    redis.call('ZREM', resting, group)\n" +
    "    return\n" +
    "  end\n" +
    "  redis.call('HSET', groups, group, struct.pack('>IId', waiting, running, usedUntil))\n" +
    "  if restUntil > now then\n" +
    "    -- Also where nothing waits: the state is dropped when the rest is over.\n" +
    "    redis.call('ZADD', resting, restUntil, group)\n" +
    "    redis.call('ZREM', turns, group)\n" +
    "  elseif waiting == 0 or groupConcurrency and running >= groupConcurrency then\n" +
    "    redis.call('ZREM', turns, group)\n" +
    "  else\n" +
    "    local head = headOf(group)\n" +
    "    local lane = head and string.byte(head, #group + 3) or 0\n" +
    "    if wasServed then\n" +
    "      redis.call('ZADD', turns, string.format('%.0f', lane * LANE_TURNS + drawTurn()), group)\n" +
    "    else\n" +
    "      local score = redis.call('ZSCORE', turns, group)\n" +
    "      if not score or math.floor(score / LANE_TURNS) ~= lane then\n" +
    "        redis.call('ZADD', turns, string.format('%.0f', lane * LANE_TURNS + drawTurn()), group)\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- A task begins to wait in its group. `ahead`: the instant at which it fell due; it goes before those that came without.\n" +
    "local function joinGroup(group, lane, id, attempt, ahead)\n" +
    "  local sequence = ahead and ahead / 9007199254740992 or drawTurn()\n" +
    "  redis.call('ZADD', grouped, 0, groupPrefix(group) .. struct.pack('>Bd', lane, sequence) .. id)\n" +
    "  redis.call('HSET', attempts, id, struct.pack('>c1dH', 'Q', sequence, attempt))\n" +
    "  local state = groupState(group)\n" +
    "  state[1] = state[1] + 1\n" +
    "end\n" +
    "\n" +
    "-- A waiting task (state Q, `last` of `attempts`) is taken out of its group.\n" +
    "local function quitGroup(group, lane, id, last)\n" +
    "  local sequence = struct.unpack('>d', last, 2)\n" +
    "  local state = groupState(group)\n" +
    "  if redis.call('ZREM', grouped, groupPrefix(group) .. struct.pack('>Bd', lane, sequence) .. id) == 1 then\n" +
    "    state[1] = math.max(0, state[1] - 1)\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- A task of the group no longer runs, nor holds it.\n" +
    "local function leaveGroup(group)\n" +
    "  local state = groupState(group)\n" +
    "  state[2] = math.max(0, state[2] - 1)\n" +
    "end\n" +
    "\n" +
    "-- Places all groups that were changed; to be called once, after the last change that is not followed by `placeGroup`.\n" +
    "local function placeGroups()\n" +
    "  for _, group in ipairs(touchedGroups) do\n" +
    "    placeGroup(group, false)\n" +
    "  end\n" +
    "  saveTurns()\n" +
    "end\n" +
    "-- Tells those who read events what has happened. Expects events, keepEvents, publish. All of one call become one entry of the\n" +
    "-- stream, and one message. Events are numbered without a gap: an entry's id is the number of the last event in it, so a\n" +
    "-- reader knows what it has missed, and the first number of a stream is its time in µs, so that no number comes twice when\n" +
    "-- a stream is begun anew. Behind the `-` of each id stands that first number, which costs nothing, since it is the same in all of\n" +
    "-- them: who has seen less has seen another stream (0: it was begun by an older version). An entry: f64 instant (ms), then for each event: kind, u16 length · id, u16 attempt,\n" +
    "-- u16 length · text.\n" +
    "local happened, happenings = {}, 0\n" +
    "\n" +
    "-- Kinds, and what detail is for each; the text is cut after 512 bytes.\n" +
    "--   E enqueued: the record (text: the name)        P progress: JSON (text, if it isn't longer)\n" +
    "--   A started, S succeeded, R retrying, H retrying and holding its group, D dead, C cancelled, W waiting for children:\n" +
    "--     the value in attempts (text: the reason; results are not told)\n" +
    "--   Y ready again (by hand), X removed, Z paused, U resumed, and whatever comes: '' or the text. What\n" +
    "--     concerns the queue and no task has the id ''.\n" +
    "local function happen(kind, id, detail)\n" +
    "  if keepEvents == 0 then\n" +
    "    return\n" +
    "  end\n" +
    "  local MOST_TEXT = 512\n" +
    "  local attempt, text = 0, detail\n" +
    "  if kind == 'E' then\n" +
    "    local flags, at = string.byte(detail), 12\n" +
    "    if math.floor(flags / 16) % 2 == 1 then\n" +
    "      at = 14 + struct.unpack('>H', detail, 12)\n" +
    "    end\n" +
    "    if flags >= 128 then\n" +
    "      -- For how long the id is remembered.\n" +
    "      at = at + 8\n" +
    "    end\n" +
    "    text = string.sub(detail, at + 2, at + 1 + struct.unpack('>H', detail, at))\n" +
    "  elseif kind == 'A' then\n" +
    "    attempt, text = struct.unpack('>H', detail, 6), ''\n" +
    "  elseif kind == 'S' or kind == 'R' or kind == 'H' or kind == 'D' or kind == 'C' or kind == 'W' then\n" +
    "    attempt = struct.unpack('>H', detail, 10)\n" +
    "    text = (kind == 'S' or kind == 'W') and '' or string.sub(detail, 12)\n" +
    "  elseif kind == 'P' and #detail > MOST_TEXT then\n" +
    "    text = ''\n" +
    "  end\n" +
    "  text = string.sub(text, 1, MOST_TEXT)\n" +
    "  happenings = happenings + 1\n" +
    "  happened[happenings] = kind .. struct.pack('>H', #id) .. id .. struct.pack('>HH', attempt, #text) .. text\n" +
    "end\n" +
    "\n" +
    "-- Once, at the end of the script.\n" +
    "local function tellEvents()\n" +
    "  if happenings == 0 then\n" +
    "    return\n" +
    "  end\n" +
    "  local time = redis.call('TIME')\n" +
    "  local newest = redis.call('XREVRANGE', events, '+', '-', 'COUNT', 1)[1]\n" +
    "  local before, begun\n" +
    "  if newest then\n" +
    "    before, begun = string.match(newest[1], '^(%d+)-(%d+)')\n" +
    "  else\n" +
    "    begun = string.format('%.0f', time[1] * 1000000 + time[2])\n" +
    "    before = begun\n" +
    "  end\n" +
    "  local last = string.format('%.0f', before + happenings)\n" +
    "  local instant = struct.pack('>d', time[1] * 1000 + math.floor(time[2] / 1000))\n" +
    "  local oldest = string.format('%.0f', math.max(0, before + happenings - keepEvents + 1))\n" +
    "  redis.call('XADD', events, 'MINID', '~', oldest, last .. '-' .. begun, 'e', instant .. table.concat(happened))\n" +
    "  redis.call(publish, events, '*:' .. last)\n" +
    "end\n" +
    "-- Tells those who wait for a task that it has ended for good. Expects tasks, watched, flows, outbox, publish, isExtended.\n" +
    "-- Call finish while the record is still in tasks. Beside it: flow.forget.part.lua for who removes records (`forgetFlows(ids)`), and\n" +
    "-- flow.due.part.lua for who tells workers of the outbox (`isOutboxDue()`: bit 2 of the exchange's chores). Others wake a worker when\n" +
    "-- there are `notes`: it asks for chores.\n" +
    "local endedIds, endedValues, endedCount, notes = {}, {}, 0, {}\n" +
    "\n" +
    "-- flags is the first byte of the record. value is what attempts says of the end (S…, D…, C…), or '' for a task that is\n" +
    "-- removed before it has ended.\n" +
    "local function finish(id, flags, value)\n" +
    "  if not isExtended then\n" +
    "    return\n" +
    "  end\n" +
    "  endedCount = endedCount + 1\n" +
    "  endedIds[endedCount], endedValues[endedCount] = id, value\n" +
    "  local kin = math.floor(flags / 32) % 4\n" +
    "  if kin % 2 == 1 then\n" +
    "    -- Who the parent is stands in the extras, which are JSON: the note has the record without the payload.\n" +
    "    local record = redis.call('HGET', tasks, id)\n" +
    "    if record then\n" +
    "      local at = 12\n" +
    "      if math.floor(flags / 16) % 2 == 1 then\n" +
    "        at = at + 2 + struct.unpack('>H', record, at)\n" +
    "      end\n" +
    "      if flags >= 128 then\n" +
    "        -- For how long the id is remembered.\n" +
    "        at = at + 8\n" +
    "      end\n" +
    "      at = at + 2 + struct.unpack('>H', record, at)\n" +
    "      at = at + 2 + struct.unpack('>H', record, at)\n" +
    "      local time = redis.call('TIME')\n" +
    "      local told = value ~= '' and value or 'X' .. struct.pack('>dH', time[1] * 1000 + math.floor(time[2] / 1000), 0)\n" +
    "      -- The instant keeps apart the ends of a task that is run again after it has ended.\n" +
    "      notes[#notes + 1] = 'n' .. string.sub(told, 2, 9) .. id\n" +
    "      notes[#notes + 1] = struct.pack('>I', at - 1) .. string.sub(record, 1, at - 1) .. told\n" +
    "    end\n" +
    "  end\n" +
    "  if kin >= 2 then\n" +
    "    -- f64 when, 8 bytes of flow, u16 children, u16 still to come, u8 policy, u8 waiting\n" +
    "    local head = redis.call('HGET', flows, id)\n" +
    "    if head and string.byte(head, 22) == 1 then\n" +
    "      if redis.call('HINCRBY', flows, 'w', -1) == 0 then\n" +
    "        redis.call('HDEL', flows, 'w')\n" +
    "      end\n" +
    "      redis.call('HSET', flows, id, string.sub(head, 1, 21) .. '\\0')\n" +
    "    end\n" +
    "    local state = string.sub(value, 1, 1)\n" +
    "    if head and (state == 'S' or state == '') then\n" +
    "      -- It won't ask for the results of its children again; there may be many, so they are removed step by step.\n" +
    "      redis.call('HDEL', flows, id)\n" +
    "      notes[#notes + 1] = 'g' .. string.sub(head, 9, 16)\n" +
    "      notes[#notes + 1] = string.sub(head, 17, 18)\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- Once, at the end of the script.\n" +
    "local function tellEnded()\n" +
    "  if endedCount == 0 then\n" +
    "    return\n" +
    "  end\n" +
    "  if #notes > 0 then\n" +
    "    redis.call('HSET', outbox, unpack(notes))\n" +
    "    -- Whoever has found that nothing was due yet has not seen these.\n" +
    "    redis.call('HDEL', outbox, 'p')\n" +
    "  end\n" +
    "  if redis.call('EXISTS', watched) == 0 then\n" +
    "    return\n" +
    "  end\n" +
    "  -- The score is the second until which somebody waits · 2^20, plus the number of the process; 0 stands for several.\n" +
    "  local SOLE = 1048576\n" +
    "  for from = 1, endedCount, 1000 do\n" +
    "    local upTo = math.min(from + 999, endedCount)\n" +
    "    for i, score in ipairs(redis.call('ZMSCORE', watched, unpack(endedIds, from, upTo))) do\n" +
    "      if score then\n" +
    "        local id, process = endedIds[from + i - 1], tonumber(score) % SOLE\n" +
    "        local channel = process == 0 and watched or watched .. ':' .. string.format('%.0f', process)\n" +
    "        redis.call(publish, channel, '*:' .. struct.pack('>H', #id) .. id .. endedValues[from + i - 1])\n" +
    "        redis.call('ZREM', watched, id)\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "-- Removes what is kept of the children of tasks that are forgotten. Expects flows, outbox, isExtended.\n" +
    "local function forgetFlows(ids)\n" +
    "  if not isExtended or #ids == 0 or redis.call('EXISTS', flows) == 0 then\n" +
    "    return\n" +
    "  end\n" +
    "  local garbage, parents = {}, {}\n" +
    "  for i, head in ipairs(redis.call('HMGET', flows, unpack(ids))) do\n" +
    "    if head then\n" +
    "      parents[#parents + 1] = ids[i]\n" +
    "      garbage[#garbage + 1] = 'g' .. string.sub(head, 9, 16)\n" +
    "      garbage[#garbage + 1] = string.sub(head, 17, 18)\n" +
    "    end\n" +
    "  end\n" +
    "  if #parents > 0 then\n" +
    "    redis.call('HDEL', flows, unpack(parents))\n" +
    "    redis.call('HSET', outbox, unpack(garbage))\n" +
    "  end\n" +
    "end\n" +
    "-- Removes all that is known of tasks, but where their ids stand.\n" +
    "-- Expects: tasks, attempts, isExtended, progress, logs, and flow.forget.part.lua before it.\n" +
    "local function forget(ids)\n" +
    "  redis.call('HDEL', tasks, unpack(ids))\n" +
    "  redis.call('HDEL', attempts, unpack(ids))\n" +
    "  if isExtended then\n" +
    "    redis.call('HDEL', progress, unpack(ids))\n" +
    "    redis.call('HDEL', logs, unpack(ids))\n" +
    "    forgetFlows(ids)\n" +
    "  end\n" +
    "end\n" +
    "-- Takes a waiting task out of where it stands: a set, its group, or the list of its lane. In a long list its entry can only\n" +
    "-- be made a hole, which workers skip when they come to it; near either end it is taken out, so that tasks that come and go\n" +
    "-- again leave nothing behind.\n" +
    "-- `hasFreed` tells whether a place that others wait for has become free.\n" +
    "-- Expects: ready, scheduled, retrying (keys by lane), holes, and task.group.part.lua.\n" +
    "local GROUPED, LANES = 16, 16\n" +
    "local REACH = 100\n" +
    "local hasFreed = false\n" +
    "\n" +
    "local function groupOf(record)\n" +
    "  if math.floor(string.byte(record) / GROUPED) % 2 == 1 then\n" +
    "    return (struct.unpack('>Hc0', record, 12))\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local function release(group)\n" +
    "  leaveGroup(group)\n" +
    "  hasFreed = true\n" +
    "end\n" +
    "\n" +
    "-- `state` is the first character of `last`, or '' for a task that was never taken.\n" +
    "local function leave(id, record, state, last)\n" +
    "  local lane = string.byte(record) % LANES\n" +
    "  if state == 'W' then\n" +
    "    return\n" +
    "  elseif state == 'Q' then\n" +
    "    quitGroup(groupOf(record), lane, id, last)\n" +
    "    return\n" +
    "  end\n" +
    "  if redis.call('ZREM', scheduled[lane], id) + redis.call('ZREM', retrying[lane], id) > 0 then\n" +
    "    if state == 'H' then\n" +
    "      release(groupOf(record))\n" +
    "    end\n" +
    "    return\n" +
    "  end\n" +
    "  local key = ready[lane]\n" +
    "  -- An id can be there more than once, as a hole and as a task that came later: whichever entry goes, what is left of\n" +
    "  -- them are as many holes as before, and then no task.\n" +
    "  for _, direction in ipairs({ -1, 1 }) do\n" +
    "    if redis.call('LPOS', key, id, 'RANK', direction, 'MAXLEN', REACH) then\n" +
    "      redis.call('LREM', key, direction, id)\n" +
    "      return\n" +
    "    end\n" +
    "  end\n" +
    "  local char = string.char(48 + lane)\n" +
    "  redis.call('HSET', holes, id, (redis.call('HGET', holes, id) or '') .. char)\n" +
    "  redis.call('HINCRBY', holes, char, 1)\n" +
    "end\n" +
    "-- What became of a task: attempts says so, or its record, which is sealed then (see seal.ts). Whoever finds no entry in attempts\n" +
    "-- has to ask here. Expects: tasks.\n" +
    "\n" +
    "-- The record as it was enqueued, whether it is sealed or not, and what attempts says of the task, or would say: S, f64\n" +
    "-- instant, u16 attempt. `last` is what it has of the task, if anything.\n" +
    "local function unseal(record, last)\n" +
    "  if not record or #record < 16 or string.byte(record, 4) >= 64 then\n" +
    "    return record, last\n" +
    "  end\n" +
    "  local high, low, attempt, low2 = struct.unpack('>HBBB', record)\n" +
    "  local enqueuedAt = struct.unpack('>d', record, 9)\n" +
    "  -- An instant of enqueuing may be a little ahead of the time.\n" +
    "  local endedAt = enqueuedAt + high * 65536 + low * 256 + low2 - 65536\n" +
    "  return string.sub(record, 6), last or struct.pack('>c1dH', 'S', endedAt, attempt)\n" +
    "end\n" +
    "\n" +
    "-- What attempts would say of a task that has no entry there; false when there is nothing to say, since it has not been taken;\n" +
    "-- nil for a task that is unknown. Reads no big record.\n" +
    "local function sealedEnd(id)\n" +
    "  local MOST_BYTES = 512\n" +
    "  local bytes = redis.call('HSTRLEN', tasks, id)\n" +
    "  if bytes == 0 then\n" +
    "    return nil\n" +
    "  end\n" +
    "  local _, last = unseal(bytes <= MOST_BYTES and redis.call('HGET', tasks, id), false)\n" +
    "  return last\n" +
    "end\n" +
    "\n" +
    "local replies = {}\n" +
    "for i = 3, #ARGV do\n" +
    "  local id = ARGV[i]\n" +
    "  local record, last = redis.call('HGET', tasks, id), nil\n" +
    "  record, last = unseal(record, record and redis.call('HGET', attempts, id))\n" +
    "  last = last or ''\n" +
    "  local state = string.sub(last, 1, 1)\n" +
    "  if not record then\n" +
    "    replies[#replies + 1] = '-'\n" +
    "  elseif state == 'A' then\n" +
    "    replies[#replies + 1] = 'A'\n" +
    "  else\n" +
    "    replies[#replies + 1] = '1'\n" +
    "    if state == 'S' then\n" +
    "      redis.call('LREM', succeeded, -1, id)\n" +
    "    elseif state == 'D' then\n" +
    "      redis.call('ZREM', dead, id)\n" +
    "    elseif state == 'C' then\n" +
    "      redis.call('ZREM', cancelled, id)\n" +
    "    else\n" +
    "      finish(id, string.byte(record), '')\n" +
    "      leave(id, record, state, last)\n" +
    "    end\n" +
    "    redis.call('ZREM', remembered, id)\n" +
    "    forget({ id })\n" +
    "    happen('X', id, '')\n" +
    "  end\n" +
    "end\n" +
    "placeGroups()\n" +
    "tellEnded()\n" +
    "tellEvents()\n" +
    "if hasFreed or #notes > 0 then\n" +
    "  wake(1)\n" +
    "end\n" +
    "return table.concat(replies)\n",
} as const);

export const operatorRetry = new Script({
  name: "operator.retry",
  isReadOnly: false,
  keys: ["settings","tasks","attempts","dead","idle","cancelled","events"],
  args: ["believed","publish"],
  restKey: "lanes",
  restArg: "entries",
  source: "#!lua flags=allow-oom\n" +
    "-- Makes tasks that have died or were cancelled due now, as if they had just been enqueued; also those that are going to be\n" +
    "-- tried again later, whose attempts stay counted.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   settings     STRING, see src/shard/settings-text.ts\n" +
    "--   tasks        HASH id -> record; f64 enqueued at is set anew\n" +
    "--   attempts     HASH id -> last attempt; becomes R, f64 instant, u16 0, why it died\n" +
    "--   dead         ZSET id -> instant of death, ms\n" +
    "--   idle         ZSET channel of a parked worker -> parked until, ms\n" +
    "--   cancelled    ZSET id -> instant of cancellation, ms\n" +
    "--   events       STREAM\n" +
    "--   lanes...     three for each priority: ready LIST, scheduled ZSET, retrying ZSET\n" +
    "-- ARGV\n" +
    "--   believed     the settings that the caller believes to be stored\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "--   entries...   two for each, 500 at most: id; the state in which it is to be retried, D or C, or * for any\n" +
    "-- RETURNS\n" +
    "--   a string with one character a task: 1 is due now, 0 is in another state, - unknown\n" +
    "--   error SETTINGS <stored>: something else is stored; nothing is written\n" +
    "local settings, tasks, attempts, dead, idle, cancelled, events = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]\n" +
    "local believed, publish = ARGV[1], ARGV[2]\n" +
    "local LANES = 16\n" +
    "local retrying = {}\n" +
    "for lane = 8, #KEYS, 3 do\n" +
    "  retrying[(lane - 8) / 3] = KEYS[lane + 2]\n" +
    "end\n" +
    "\n" +
    "-- Refuses who believes in other settings than the stored ones; the time, and how many events are kept.\n" +
    "-- Expects: settings, believed.\n" +
    "local stored = redis.call('GET', settings)\n" +
    "if stored and stored ~= believed then\n" +
    "  return redis.error_reply('SETTINGS ' .. stored)\n" +
    "end\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "local keepEvents = tonumber(string.match(believed, ';events=(%d+)')) or 0\n" +
    "local ended = { D = dead, C = cancelled }\n" +
    "\n" +
    "-- Tells parked workers, those that have waited longest first, that there may be something to take. `message`: for the one who\n" +
    "-- may be handed a task along with it. Returns whether the last who was told was such; nil when nobody was told.\n" +
    "-- Expects: idle, publish, now.\n" +
    "local function wake(most, message)\n" +
    "  local isHanded\n" +
    "  for _ = 1, 16 do\n" +
    "    if most == 0 then\n" +
    "      break\n" +
    "    end\n" +
    "    local parked = redis.call('ZPOPMIN', idle)\n" +
    "    if #parked == 0 then\n" +
    "      break\n" +
    "    end\n" +
    "    -- What is published to somebody who listens to a replica, or still to a former master, arrives there but isn't counted: the next\n" +
    "    -- one would be handed the same task. So whoever isn't heard here gets none.\n" +
    "    local takes = message ~= nil\n" +
    "      and parked[2] % 1 > 0\n" +
    "      and redis.call('PUBSUB', publish == 'SPUBLISH' and 'SHARDNUMSUB' or 'NUMSUB', parked[1])[2] > 0\n" +
    "    -- Not those that are gone, or whose parking time is over.\n" +
    "    if tonumber(parked[2]) >= now and redis.call(publish, parked[1], takes and message or 'w:') > 0 then\n" +
    "      most = most - 1\n" +
    "      isHanded = takes\n" +
    "    end\n" +
    "  end\n" +
    "  return isHanded\n" +
    "end\n" +
    "-- Tells those who read events what has happened. Expects events, keepEvents, publish. All of one call become one entry of the\n" +
    "-- stream, and one message. Events are numbered without a gap: an entry's id is the number of the last event in it, so a\n" +
    "-- reader knows what it has missed, and the first number of a stream is its time in µs, so that no number comes twice when\n" +
    "-- a stream is begun anew. Behind the `-` of each id stands that first number, which costs nothing, since it is the same in all of\n" +
    "-- them: who has seen less has seen another stream (0: it was begun by an older version). An entry: f64 instant (ms), then for each event: kind, u16 length · id, u16 attempt,\n" +
    "-- u16 length · text.\n" +
    "local happened, happenings = {}, 0\n" +
    "\n" +
    "-- Kinds, and what detail is for each; the text is cut after 512 bytes.\n" +
    "--   E enqueued: the record (text: the name)        P progress: JSON (text, if it isn't longer)\n" +
    "--   A started, S succeeded, R retrying, H retrying and holding its group, D dead, C cancelled, W waiting for children:\n" +
    "--     the value in attempts (text: the reason; results are not told)\n" +
    "--   Y ready again (by hand), X removed, Z paused, U resumed, and whatever comes: '' or the text. What\n" +
    "--     concerns the queue and no task has the id ''.\n" +
    "local function happen(kind, id, detail)\n" +
    "  if keepEvents == 0 then\n" +
    "    return\n" +
    "  end\n" +
    "  local MOST_TEXT = 512\n" +
    "  local attempt, text = 0, detail\n" +
    "  if kind == 'E' then\n" +
    "    local flags, at = string.byte(detail), 12\n" +
    "    if math.floor(flags / 16) % 2 == 1 then\n" +
    "      at = 14 + struct.unpack('>H', detail, 12)\n" +
    "    end\n" +
    "    if flags >= 128 then\n" +
    "      -- For how long the id is remembered.\n" +
    "      at = at + 8\n" +
    "    end\n" +
    "    text = string.sub(detail, at + 2, at + 1 + struct.unpack('>H', detail, at))\n" +
    "  elseif kind == 'A' then\n" +
    "    attempt, text = struct.unpack('>H', detail, 6), ''\n" +
    "  elseif kind == 'S' or kind == 'R' or kind == 'H' or kind == 'D' or kind == 'C' or kind == 'W' then\n" +
    "    attempt = struct.unpack('>H', detail, 10)\n" +
    "    text = (kind == 'S' or kind == 'W') and '' or string.sub(detail, 12)\n" +
    "  elseif kind == 'P' and #detail > MOST_TEXT then\n" +
    "    text = ''\n" +
    "  end\n" +
    "  text = string.sub(text, 1, MOST_TEXT)\n" +
    "  happenings = happenings + 1\n" +
    "  happened[happenings] = kind .. struct.pack('>H', #id) .. id .. struct.pack('>HH', attempt, #text) .. text\n" +
    "end\n" +
    "\n" +
    "-- Once, at the end of the script.\n" +
    "local function tellEvents()\n" +
    "  if happenings == 0 then\n" +
    "    return\n" +
    "  end\n" +
    "  local time = redis.call('TIME')\n" +
    "  local newest = redis.call('XREVRANGE', events, '+', '-', 'COUNT', 1)[1]\n" +
    "  local before, begun\n" +
    "  if newest then\n" +
    "    before, begun = string.match(newest[1], '^(%d+)-(%d+)')\n" +
    "  else\n" +
    "    begun = string.format('%.0f', time[1] * 1000000 + time[2])\n" +
    "    before = begun\n" +
    "  end\n" +
    "  local last = string.format('%.0f', before + happenings)\n" +
    "  local instant = struct.pack('>d', time[1] * 1000 + math.floor(time[2] / 1000))\n" +
    "  local oldest = string.format('%.0f', math.max(0, before + happenings - keepEvents + 1))\n" +
    "  redis.call('XADD', events, 'MINID', '~', oldest, last .. '-' .. begun, 'e', instant .. table.concat(happened))\n" +
    "  redis.call(publish, events, '*:' .. last)\n" +
    "end\n" +
    "\n" +
    "local replies, isAny = {}, false\n" +
    "for i = 3, #ARGV, 2 do\n" +
    "  local id, only = ARGV[i], ARGV[i + 1]\n" +
    "  local last = redis.call('HGET', attempts, id) or ''\n" +
    "  local state = string.sub(last, 1, 1)\n" +
    "  local reply = '0'\n" +
    "  if ended[state] and (only == '*' or only == state) then\n" +
    "    local record = redis.call('HGET', tasks, id)\n" +
    "    if record then\n" +
    "      redis.call('ZREM', ended[state], id)\n" +
    "      redis.call('HSET', tasks, id, string.sub(record, 1, 3) .. struct.pack('>d', now) .. string.sub(record, 12))\n" +
    "      redis.call('HSET', attempts, id, 'R' .. struct.pack('>dH', now, 0) .. (state == 'D' and string.sub(last, 12) or ''))\n" +
    "      redis.call('ZADD', retrying[string.byte(record) % LANES], now, id)\n" +
    "      reply = '1'\n" +
    "    end\n" +
    "  elseif (state == 'R' or state == 'H') and only == '*' then\n" +
    "    local record = redis.call('HGET', tasks, id)\n" +
    "    local key = record and retrying[string.byte(record) % LANES]\n" +
    "    local at = key and redis.call('ZSCORE', key, id)\n" +
    "    if at and tonumber(at) > now then\n" +
    "      redis.call('ZADD', key, now, id)\n" +
    "      reply = '1'\n" +
    "    end\n" +
    "    -- Without an entry it was never taken, or has succeeded.\n" +
    "  elseif state == '' and redis.call('HEXISTS', tasks, id) == 0 then\n" +
    "    reply = '-'\n" +
    "  end\n" +
    "  if reply == '1' then\n" +
    "    isAny = true\n" +
    "    happen('Y', id, '')\n" +
    "  end\n" +
    "  replies[#replies + 1] = reply\n" +
    "end\n" +
    "tellEvents()\n" +
    "if isAny then\n" +
    "  wake(1)\n" +
    "end\n" +
    "return table.concat(replies)\n",
} as const);

export const queueCounts = new Script({
  name: "queue.counts",
  isReadOnly: true,
  keys: ["settings","active","succeeded","dead","cancelled","holes","grouped","flows"],
  args: ["believed"],
  restKey: "lanes",
  source: "#!lua flags=no-writes\n" +
    "-- How many tasks are in each state. A delayed or retrying task that has fallen due counts as ready.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   settings     STRING, see src/shard/settings-text.ts\n" +
    "--   active       ZSET id -> end of the lease, ms\n" +
    "--   succeeded    LIST ids\n" +
    "--   dead         ZSET id -> instant of death, ms\n" +
    "--   cancelled    ZSET id -> instant of cancellation, ms\n" +
    "--   holes        HASH id -> lane of each entry of it that is void; a lane -> how many it has\n" +
    "--   grouped      ZSET of waiting tasks with a group\n" +
    "--   flows        HASH; in field w how many parents wait for their children\n" +
    "--   lanes...     three for each priority: ready LIST, scheduled ZSET, retrying ZSET\n" +
    "-- ARGV\n" +
    "--   believed     the settings that the caller believes to be stored\n" +
    "-- RETURNS\n" +
    "--   { scheduled, ready, active, retrying, succeeded, dead, cancelled, waiting }\n" +
    "--   error SETTINGS <stored>: something else is stored\n" +
    "local settings, active, succeeded, dead = KEYS[1], KEYS[2], KEYS[3], KEYS[4]\n" +
    "local cancelled, holes, grouped, flows = KEYS[5], KEYS[6], KEYS[7], KEYS[8]\n" +
    "local believed = ARGV[1]\n" +
    "\n" +
    "local stored = redis.call('GET', settings)\n" +
    "if stored and stored ~= believed then\n" +
    "  return redis.error_reply('SETTINGS ' .. stored)\n" +
    "end\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "local hasHoles = redis.call('EXISTS', holes) == 1\n" +
    "local scheduled, ready, retrying = 0, redis.call('ZCARD', grouped), 0\n" +
    "for lane = 9, #KEYS, 3 do\n" +
    "  local dueScheduled = redis.call('ZCOUNT', KEYS[lane + 1], '-inf', now)\n" +
    "  local dueRetrying = redis.call('ZCOUNT', KEYS[lane + 2], '-inf', now)\n" +
    "  ready = ready + redis.call('LLEN', KEYS[lane]) + dueScheduled + dueRetrying\n" +
    "  scheduled = scheduled + redis.call('ZCARD', KEYS[lane + 1]) - dueScheduled\n" +
    "  retrying = retrying + redis.call('ZCARD', KEYS[lane + 2]) - dueRetrying\n" +
    "  if hasHoles then\n" +
    "    ready = ready - tonumber(redis.call('HGET', holes, string.char(48 + (lane - 9) / 3)) or 0)\n" +
    "  end\n" +
    "end\n" +
    "return {\n" +
    "  scheduled,\n" +
    "  ready,\n" +
    "  redis.call('ZCARD', active),\n" +
    "  retrying,\n" +
    "  redis.call('LLEN', succeeded),\n" +
    "  redis.call('ZCARD', dead),\n" +
    "  redis.call('ZCARD', cancelled),\n" +
    "  tonumber(redis.call('HGET', flows, 'w') or 0),\n" +
    "}\n",
} as const);

export const queueEnqueue = new Script({
  name: "queue.enqueue",
  isReadOnly: false,
  keys: ["settings","tasks","attempts","idle","timekeeper"],
  args: ["believed","publish","lanes","stamp","delays","count","entries"],
  restKey: "places",
  source: "#!lua\n" +
    "-- Stores new tasks. A task without a delay is ready at once, behind the ready tasks of its lane, or of its group; a delayed\n" +
    "-- one waits in its lane's schedule. An id that is already stored, or remembered, is left alone. Wakes one parked worker when\n" +
    "-- there is something to run, and the timekeeper when something falls due earlier than it thinks.\n" +
    "--\n" +
    "-- A single task that nothing is ahead of goes to a parked worker along with the message that wakes it, which saves the worker\n" +
    "-- a round trip: it is active under a lease of CLAIM_MS, with attempt 0, until the worker's renewal says that its attempt has\n" +
    "-- begun. A message that is lost costs that time, and no attempt.\n" +
    "--\n" +
    "-- All tasks come in one argument: each string that a client sends costs it 0.6 µs, and the server half of that. For the same\n" +
    "-- reason only the keys of those lanes are sent that the tasks are in.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   settings     STRING, see src/shard/settings-text.ts; written by the first call\n" +
    "--   tasks        HASH id -> record: u8 lane + flags, u16 attempts, f64 enqueued at (ms), then what the client wrote\n" +
    "--   attempts     HASH id -> last attempt; only where it waits in a group, or is handed over\n" +
    "--   idle         ZSET channel of a parked worker -> parked until, ms; half a ms more where it may be handed a task\n" +
    "--   timekeeper   STRING \"<next due, ms> <channel>\"\n" +
    "--   places...    two for each of `lanes`: ready LIST, scheduled ZSET; behind them, for a queue that uses more than the\n" +
    "--                core, the 16 keys of EXTENDED in src/keys.ts; or, for one task that may be handed over: active, the retrying\n" +
    "--                ZSET of its lane, then ready, scheduled and retrying of each lane above\n" +
    "-- ARGV\n" +
    "--   believed     the settings that the caller believes to be stored\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "--   lanes        a byte for each lane that the tasks are in\n" +
    "--   stamp        the instant that the records name as that of their enqueuing, ms: what the caller takes the server's time to\n" +
    "--                be, or 0. Where the server's time is another one it is written instead\n" +
    "--   delays       f64 the server's time when this was sent, ms, which it was at most; then for each task that has to wait: u16 its\n" +
    "--                place in `entries`, from 1; f64 below 0 so many ms from then, above 0 that instant\n" +
    "--   count        how many tasks, 1,000 at most\n" +
    "--   entries      for each task: u16 length · id, u32 length · record; behind them, for each run of tasks of which all are stored\n" +
    "--                or none: u16 first, u16 last, counted from 1; 32,768 more in the first where ids were given, which may\n" +
    "--                belong to other tasks\n" +
    "-- RETURNS\n" +
    "--   the server's time, ms, below 0 when a parked worker was told: all are stored\n" +
    "--   { outcomes, the server's time }: a character for each task: 1 stored, 0 was there already, C is there with another name\n" +
    "--   or payload, F the queue is full, N not stored since another one of its run is not\n" +
    "--   error SETTINGS <stored>: something else is stored; nothing is written\n" +
    "local settings, tasks, attempts, idle, timekeeper = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]\n" +
    "local believed, publish, lanes, stamp, delays = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5]\n" +
    "local count, entries = tonumber(ARGV[6]), ARGV[7]\n" +
    "local more = #KEYS - 5 - 2 * #lanes\n" +
    "-- 2, 5, 8 and so on for a task that may be handed over.\n" +
    "local isExtended, mayHand = more == 16, more % 3 == 2\n" +
    "-- How long a worker may take to say that it has the task.\n" +
    "local CLAIM_MS = 1000\n" +
    "local MAX_TASKS = 10000000\n" +
    "-- The first byte of a record without flags is less.\n" +
    "local FLAGS = 16\n" +
    "-- How far what the caller takes the time to be may be off, ms; a call is some time on its way.\n" +
    "local MOST_BEHIND, MOST_AHEAD = 20, 2\n" +
    "\n" +
    "local stored = redis.call('GET', settings)\n" +
    "if stored ~= believed then\n" +
    "  if stored then\n" +
    "    return redis.error_reply('SETTINGS ' .. stored)\n" +
    "  end\n" +
    "  redis.call('SET', settings, believed)\n" +
    "end\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "\n" +
    "-- Taken apart in one go; what comes out is what HSET wants, and where the last one ends.\n" +
    "local fields = { struct.unpack(count == 1 and '>Hc0Ic0' or '>' .. string.rep('Hc0Ic0', count), entries) }\n" +
    "local runsAt = fields[2 * count + 1]\n" +
    "fields[2 * count + 1] = nil\n" +
    "local ids = {}\n" +
    "for i = 1, count do\n" +
    "  ids[i] = fields[2 * i - 1]\n" +
    "end\n" +
    "\n" +
    "local known = redis.call('HMGET', tasks, unpack(ids))\n" +
    "local size = redis.call('HLEN', tasks)\n" +
    "local isTimely = stamp >= now - MOST_BEHIND and stamp <= now + MOST_AHEAD\n" +
    "local reply, isReady, earliest = now, true, nil\n" +
    "local maxTasks, isPaused, remembered, isRemembering, keepEvents = MAX_TASKS, false, nil, false, 0\n" +
    "if isExtended then\n" +
    "  maxTasks = tonumber(string.match(believed, ';max=(%d+)')) or MAX_TASKS\n" +
    "  isPaused = string.find(believed, ';paused=1', 1, true)\n" +
    "  keepEvents = tonumber(string.match(believed, ';events=(%d+)')) or 0\n" +
    "  remembered = KEYS[#KEYS]\n" +
    "  isRemembering = redis.call('EXISTS', remembered) == 1\n" +
    "end\n" +
    "\n" +
    "-- What nearly all calls are: all new, ready at once, in one lane, and nothing to do beyond the core.\n" +
    "local isPlain = isTimely and #lanes == 1 and delays == '' and not isRemembering and keepEvents == 0\n" +
    "  and size + count <= maxTasks\n" +
    "if isPlain then\n" +
    "  local seen = {}\n" +
    "  for i = 1, count do\n" +
    "    local id = ids[i]\n" +
    "    if known[i] or seen[id] or isExtended and string.byte(fields[2 * i]) >= FLAGS then\n" +
    "      isPlain = false\n" +
    "      break\n" +
    "    end\n" +
    "    seen[id] = true\n" +
    "  end\n" +
    "end\n" +
    "-- Tells parked workers, those that have waited longest first, that there may be something to take. `message`: for the one who\n" +
    "-- may be handed a task along with it. Returns whether the last who was told was such; nil when nobody was told.\n" +
    "-- Expects: idle, publish, now.\n" +
    "local function wake(most, message)\n" +
    "  local isHanded\n" +
    "  for _ = 1, 16 do\n" +
    "    if most == 0 then\n" +
    "      break\n" +
    "    end\n" +
    "    local parked = redis.call('ZPOPMIN', idle)\n" +
    "    if #parked == 0 then\n" +
    "      break\n" +
    "    end\n" +
    "    -- What is published to somebody who listens to a replica, or still to a former master, arrives there but isn't counted: the next\n" +
    "    -- one would be handed the same task. So whoever isn't heard here gets none.\n" +
    "    local takes = message ~= nil\n" +
    "      and parked[2] % 1 > 0\n" +
    "      and redis.call('PUBSUB', publish == 'SPUBLISH' and 'SHARDNUMSUB' or 'NUMSUB', parked[1])[2] > 0\n" +
    "    -- Not those that are gone, or whose parking time is over.\n" +
    "    if tonumber(parked[2]) >= now and redis.call(publish, parked[1], takes and message or 'w:') > 0 then\n" +
    "      most = most - 1\n" +
    "      isHanded = takes\n" +
    "    end\n" +
    "  end\n" +
    "  return isHanded\n" +
    "end\n" +
    "local isTold\n" +
    "if isPlain and mayHand then\n" +
    "  local places = { unpack(KEYS, 6) }\n" +
    "-- Hands the one task of a call to a parked worker, where nothing goes before it: then it is active, and `isTold` is true.\n" +
    "-- Expects: everything of the prologue of queue.enqueue.lua, places, isTold; task.wake.part.lua before it.\n" +
    "local ready, scheduled, active, retrying = unpack(places)\n" +
    "local lists, delayed = { ready, unpack(places, 5) }, { scheduled, retrying }\n" +
    "local isFirst = redis.call('EXISTS', scheduled, retrying, unpack(lists)) == 0\n" +
    "if not isFirst then\n" +
    "  lists = { ready }\n" +
    "  for i = 5, #places, 3 do\n" +
    "    lists[#lists + 1] = places[i]\n" +
    "    delayed[#delayed + 1], delayed[#delayed + 2] = places[i + 1], places[i + 2]\n" +
    "  end\n" +
    "  isFirst = redis.call('EXISTS', unpack(lists)) == 0\n" +
    "  local dueUpTo = string.format('%.3f', time[1] * 1000 + time[2] / 1000)\n" +
    "  for _, key in ipairs(delayed) do\n" +
    "    isFirst = isFirst and redis.call('ZCOUNT', key, '-inf', dueUpTo) == 0\n" +
    "  end\n" +
    "end\n" +
    "if isFirst then\n" +
    "  local id, record = fields[1], fields[2]\n" +
    "  local nowUs = time[1] * 1000000 + time[2]\n" +
    "  isTold = wake(1, 'w:' .. struct.pack('>dIHc0', nowUs, CLAIM_MS, #id, id) .. record)\n" +
    "  if isTold then\n" +
    "    local mark = struct.pack('>c1IH', 'A', nowUs % 4294967296, 0) .. string.sub(record, 1, 3)\n" +
    "    redis.call('HSET', attempts, id, mark)\n" +
    "    redis.call('ZADD', active, string.format('%.0f', now + CLAIM_MS), id)\n" +
    "  end\n" +
    "end\n" +
    "end\n" +
    "if isTold then\n" +
    "  -- Its place is with the worker.\n" +
    "  redis.call('HSET', tasks, unpack(fields))\n" +
    "elseif isPlain then\n" +
    "  local ready = unpack(KEYS, 6)\n" +
    "  -- In this order: an id without a record is dropped, a record without a place would be lost.\n" +
    "  redis.call('RPUSH', ready, unpack(ids))\n" +
    "  redis.call('HSET', tasks, unpack(fields))\n" +
    "else\n" +
    "  local laneKeys, beyond = { unpack(KEYS, 6) }, nil\n" +
    "  if isExtended then\n" +
    "    local before = #laneKeys - 16\n" +
    "    local _, _, grouped, groups, turns, resting = unpack(laneKeys, before + 1)\n" +
    "    local events = laneKeys[before + 11]\n" +
    "-- Groups. A waiting task with a group stands in the sorted set `grouped`, all scores 0, as\n" +
    "--\n" +
    "--   u16 length · group · u8 lane · f64 sequence · id\n" +
    "--\n" +
    "-- so that the tasks of a group are next to each other, by lane and then in order; `attempts` has the sequence (state Q), so\n" +
    "-- that it can be found from its id. `groups` has for each group how many wait, how many run, and until when its rate is\n" +
    "-- used up (GCRA); its field '' is the counter of sequences and turns. A group that may run stands in `turns` under its turn,\n" +
    "-- that of a lane before those of later lanes; one that has used up its rate stands in `resting`. Who was served goes to the\n" +
    "-- end of its lane, so groups take turns however much each has waiting.\n" +
    "-- Expects: isExtended, attempts, grouped, groups, turns, resting, believed, now.\n" +
    "local LANE_TURNS = 35184372088832\n" +
    "local groupConcurrency, isOrdered, groupInterval, groupSlack\n" +
    "if isExtended then\n" +
    "  groupConcurrency = tonumber(string.match(believed, ';gconc=(%d+)'))\n" +
    "  isOrdered = string.find(believed, ';ordered=1', 1, true) ~= nil\n" +
    "  if isOrdered then\n" +
    "    groupConcurrency = 1\n" +
    "  end\n" +
    "  local limit, period, burst = string.match(believed, ';grate=(%d+)/(%d+)/(%d+)')\n" +
    "  if limit then\n" +
    "    groupInterval = period / limit\n" +
    "    groupSlack = (burst - 1) * groupInterval\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local groupStates, touchedGroups, nextTurn, lastTurn = {}, {}, nil, nil\n" +
    "\n" +
    "-- Turns are drawn from memory; `saveTurns` writes the last one.\n" +
    "local function drawTurn()\n" +
    "  nextTurn = nextTurn or tonumber(redis.call('HGET', groups, '') or 0)\n" +
    "  nextTurn = nextTurn + 1\n" +
    "  lastTurn = nextTurn\n" +
    "  return nextTurn\n" +
    "end\n" +
    "\n" +
    "local function saveTurns()\n" +
    "  if lastTurn then\n" +
    "    redis.call('HSET', groups, '', string.format('%.0f', lastTurn))\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local function groupState(group)\n" +
    "  local state = groupStates[group]\n" +
    "  if not state then\n" +
    "    state = { 0, 0, 0 }\n" +
    "    local packed = redis.call('HGET', groups, group)\n" +
    "    if packed then\n" +
    "      state[1], state[2], state[3] = struct.unpack('>IId', packed)\n" +
    "    end\n" +
    "    groupStates[group] = state\n" +
    "    touchedGroups[#touchedGroups + 1] = group\n" +
    "  end\n" +
    "  return state\n" +
    "end\n" +
    "\n" +
    "local function groupPrefix(group)\n" +
    "  return struct.pack('>H', #group) .. group\n" +
    "end\n" +
    "\n" +
    "-- The first waiting task of a group as `grouped` has it, or nil.\n" +
    "local function headOf(group)\n" +
    "  local prefix = groupPrefix(group)\n" +
    "  return redis.call('ZRANGE', grouped, '[' .. prefix, '(' .. prefix .. '\\255', 'BYLEX', 'LIMIT', 0, 1)[1]\n" +
    "end\n" +
    "\n" +
    "-- Whether the limits of groups say that none of it may start now.\n" +
    "local function isHeldUp(state)\n" +
    "  return groupConcurrency and state[2] >= groupConcurrency or groupInterval and state[3] - groupSlack > now\n" +
    "end\n" +
    "\n" +
    "-- Stores what has become of a group, and puts it where it belongs. Its turn is a new one when it was served.\n" +
    "local function placeGroup(group, wasServed)\n" +
    "  local state = groupState(group)\n" +
    "  if groupInterval then\n" +
    "    -- What was used under another rate must not stand in the way for longer than this one allows.\n" +
    "    state[3] = math.min(state[3], now + groupSlack + groupInterval)\n" +
    "  end\n" +
    "  local waiting, running, usedUntil = state[1], state[2], state[3]\n" +
    "  local restUntil = groupInterval and usedUntil - groupSlack or 0\n" +
    "  if waiting == 0 and running == 0 and restUntil <= now then\n" +
    "    redis.call('HDEL', groups, group)\n" +
    "    redis.call('ZREM', turns, group)\n" +
    "    redis.call('ZREM', resting, group)\n" +
    "    return\n" +
    "  end\n" +
    "  redis.call('HSET', groups, group, struct.pack('>IId', waiting, running, usedUntil))\n" +
    "  if restUntil > now then\n" +
    "    -- Also where nothing waits: the state is dropped when the rest is over.\n" +
    "    redis.call('ZADD', resting, restUntil, group)\n" +
    "    redis.call('ZREM', turns, group)\n" +
    "  elseif waiting == 0 or groupConcurrency and running >= groupConcurrency then\n" +
    "    redis.call('ZREM', turns, group)\n" +
    "  else\n" +
    "    local head = headOf(group)\n" +
    "    local lane = head and string.byte(head, #group + 3) or 0\n" +
    "    if wasServed then\n" +
    "      redis.call('ZADD', turns, string.format('%.0f', lane * LANE_TURNS + drawTurn()), group)\n" +
    "    else\n" +
    "      local score = redis.call('ZSCORE', turns, group)\n" +
    "      if not score or math.floor(score / LANE_TURNS) ~= lane then\n" +
    "        redis.call('ZADD', turns, string.format('%.0f', lane * LANE_TURNS + drawTurn()), group)\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- A task begins to wait in its group. `ahead`: the instant at which it fell due; it goes before those that came without.\n" +
    "local function joinGroup(group, lane, id, attempt, ahead)\n" +
    "  local sequence = ahead and ahead / 9007199254740992 or drawTurn()\n" +
    "  redis.call('ZADD', grouped, 0, groupPrefix(group) .. struct.pack('>Bd', lane, sequence) .. id)\n" +
    "  redis.call('HSET', attempts, id, struct.pack('>c1dH', 'Q', sequence, attempt))\n" +
    "  local state = groupState(group)\n" +
    "  state[1] = state[1] + 1\n" +
    "end\n" +
    "\n" +
    "-- A waiting task (state Q, `last` of `attempts`) is taken out of its group.\n" +
    "local function quitGroup(group, lane, id, last)\n" +
    "  local sequence = struct.unpack('>d', last, 2)\n" +
    "  local state = groupState(group)\n" +
    "  if redis.call('ZREM', grouped, groupPrefix(group) .. struct.pack('>Bd', lane, sequence) .. id) == 1 then\n" +
    "    state[1] = math.max(0, state[1] - 1)\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- A task of the group no longer runs, nor holds it.\n" +
    "local function leaveGroup(group)\n" +
    "  local state = groupState(group)\n" +
    "  state[2] = math.max(0, state[2] - 1)\n" +
    "end\n" +
    "\n" +
    "-- Places all groups that were changed; to be called once, after the last change that is not followed by `placeGroup`.\n" +
    "local function placeGroups()\n" +
    "  for _, group in ipairs(touchedGroups) do\n" +
    "    placeGroup(group, false)\n" +
    "  end\n" +
    "  saveTurns()\n" +
    "end\n" +
    "-- Tells those who read events what has happened. Expects events, keepEvents, publish. All of one call become one entry of the\n" +
    "-- stream, and one message. Events are numbered without a gap: an entry's id is the number of the last event in it, so a\n" +
    "-- reader knows what it has missed, and the first number of a stream is its time in µs, so that no number comes twice when\n" +
    "-- a stream is begun anew. Behind the `-` of each id stands that first number, which costs nothing, since it is the same in all of\n" +
    "-- them: who has seen less has seen another stream (0: it was begun by an older version). An entry: f64 instant (ms), then for each event: kind, u16 length · id, u16 attempt,\n" +
    "-- u16 length · text.\n" +
    "local happened, happenings = {}, 0\n" +
    "\n" +
    "-- Kinds, and what detail is for each; the text is cut after 512 bytes.\n" +
    "--   E enqueued: the record (text: the name)        P progress: JSON (text, if it isn't longer)\n" +
    "--   A started, S succeeded, R retrying, H retrying and holding its group, D dead, C cancelled, W waiting for children:\n" +
    "--     the value in attempts (text: the reason; results are not told)\n" +
    "--   Y ready again (by hand), X removed, Z paused, U resumed, and whatever comes: '' or the text. What\n" +
    "--     concerns the queue and no task has the id ''.\n" +
    "local function happen(kind, id, detail)\n" +
    "  if keepEvents == 0 then\n" +
    "    return\n" +
    "  end\n" +
    "  local MOST_TEXT = 512\n" +
    "  local attempt, text = 0, detail\n" +
    "  if kind == 'E' then\n" +
    "    local flags, at = string.byte(detail), 12\n" +
    "    if math.floor(flags / 16) % 2 == 1 then\n" +
    "      at = 14 + struct.unpack('>H', detail, 12)\n" +
    "    end\n" +
    "    if flags >= 128 then\n" +
    "      -- For how long the id is remembered.\n" +
    "      at = at + 8\n" +
    "    end\n" +
    "    text = string.sub(detail, at + 2, at + 1 + struct.unpack('>H', detail, at))\n" +
    "  elseif kind == 'A' then\n" +
    "    attempt, text = struct.unpack('>H', detail, 6), ''\n" +
    "  elseif kind == 'S' or kind == 'R' or kind == 'H' or kind == 'D' or kind == 'C' or kind == 'W' then\n" +
    "    attempt = struct.unpack('>H', detail, 10)\n" +
    "    text = (kind == 'S' or kind == 'W') and '' or string.sub(detail, 12)\n" +
    "  elseif kind == 'P' and #detail > MOST_TEXT then\n" +
    "    text = ''\n" +
    "  end\n" +
    "  text = string.sub(text, 1, MOST_TEXT)\n" +
    "  happenings = happenings + 1\n" +
    "  happened[happenings] = kind .. struct.pack('>H', #id) .. id .. struct.pack('>HH', attempt, #text) .. text\n" +
    "end\n" +
    "\n" +
    "-- Once, at the end of the script.\n" +
    "local function tellEvents()\n" +
    "  if happenings == 0 then\n" +
    "    return\n" +
    "  end\n" +
    "  local time = redis.call('TIME')\n" +
    "  local newest = redis.call('XREVRANGE', events, '+', '-', 'COUNT', 1)[1]\n" +
    "  local before, begun\n" +
    "  if newest then\n" +
    "    before, begun = string.match(newest[1], '^(%d+)-(%d+)')\n" +
    "  else\n" +
    "    begun = string.format('%.0f', time[1] * 1000000 + time[2])\n" +
    "    before = begun\n" +
    "  end\n" +
    "  local last = string.format('%.0f', before + happenings)\n" +
    "  local instant = struct.pack('>d', time[1] * 1000 + math.floor(time[2] / 1000))\n" +
    "  local oldest = string.format('%.0f', math.max(0, before + happenings - keepEvents + 1))\n" +
    "  redis.call('XADD', events, 'MINID', '~', oldest, last .. '-' .. begun, 'e', instant .. table.concat(happened))\n" +
    "  redis.call(publish, events, '*:' .. last)\n" +
    "end\n" +
    "    beyond = { joinGroup = joinGroup, happen = happen }\n" +
    "\n" +
    "    function beyond.tell()\n" +
    "      placeGroups()\n" +
    "      tellEvents()\n" +
    "    end\n" +
    "  end\n" +
    "-- Where the name begins in a record.\n" +
    "local function nameAt(record)\n" +
    "  local flags, at = string.byte(record), 12\n" +
    "  if math.floor(flags / 16) % 2 == 1 then\n" +
    "    at = at + 2 + struct.unpack('>H', record, at)\n" +
    "  end\n" +
    "  return flags >= 128 and at + 8 or at\n" +
    "end\n" +
    "\n" +
    "-- Name and payload; what else a record has may differ from call to call, as trace context does.\n" +
    "local function essence(record)\n" +
    "  local name, at = struct.unpack('>Hc0', record, nameAt(record))\n" +
    "  local length = struct.unpack('>H', record, at)\n" +
    "  return name .. '\\0' .. string.sub(record, at + 2 + length)\n" +
    "end\n" +
    "-- What became of a task: attempts says so, or its record, which is sealed then (see seal.ts). Whoever finds no entry in attempts\n" +
    "-- has to ask here. Expects: tasks.\n" +
    "\n" +
    "-- The record as it was enqueued, whether it is sealed or not, and what attempts says of the task, or would say: S, f64\n" +
    "-- instant, u16 attempt. `last` is what it has of the task, if anything.\n" +
    "local function unseal(record, last)\n" +
    "  if not record or #record < 16 or string.byte(record, 4) >= 64 then\n" +
    "    return record, last\n" +
    "  end\n" +
    "  local high, low, attempt, low2 = struct.unpack('>HBBB', record)\n" +
    "  local enqueuedAt = struct.unpack('>d', record, 9)\n" +
    "  -- An instant of enqueuing may be a little ahead of the time.\n" +
    "  local endedAt = enqueuedAt + high * 65536 + low * 256 + low2 - 65536\n" +
    "  return string.sub(record, 6), last or struct.pack('>c1dH', 'S', endedAt, attempt)\n" +
    "end\n" +
    "\n" +
    "-- What attempts would say of a task that has no entry there; false when there is nothing to say, since it has not been taken;\n" +
    "-- nil for a task that is unknown. Reads no big record.\n" +
    "local function sealedEnd(id)\n" +
    "  local MOST_BYTES = 512\n" +
    "  local bytes = redis.call('HSTRLEN', tasks, id)\n" +
    "  if bytes == 0 then\n" +
    "    return nil\n" +
    "  end\n" +
    "  local _, last = unseal(bytes <= MOST_BYTES and redis.call('HGET', tasks, id), false)\n" +
    "  return last\n" +
    "end\n" +
    "-- Stores tasks of which some may be stored or remembered already, have to wait, or lie in several lanes or in groups.\n" +
    "-- Expects: everything of the prologue of queue.enqueue.lua, laneKeys, beyond, runsAt; task.essence.part.lua, task.seal.part.lua\n" +
    "-- before it.\n" +
    "local GROUPED, REMEMBERED, LANES = 16, 128, 16\n" +
    "-- How many ids whose time is over are forgotten with each call.\n" +
    "local MOST_FORGOTTEN = 200\n" +
    "\n" +
    "local refused = {}\n" +
    "if isRemembering then\n" +
    "  local old = redis.call('ZRANGE', remembered, '-inf', now, 'BYSCORE', 'LIMIT', 0, MOST_FORGOTTEN)\n" +
    "  if #old > 0 then\n" +
    "    redis.call('ZREM', remembered, unpack(old))\n" +
    "  end\n" +
    "  -- Ids that are refused though their tasks may be gone.\n" +
    "  refused = redis.call('ZMSCORE', remembered, unpack(ids))\n" +
    "end\n" +
    "\n" +
    "local enqueuedAt = isTimely and stamp or now\n" +
    "local packedAt = struct.pack('>d', enqueuedAt)\n" +
    "local places, dueAt = {}, {}\n" +
    "for i = 1, #lanes do\n" +
    "  places[string.byte(lanes, i) - 48] = 2 * i - 1\n" +
    "end\n" +
    "-- Delays are counted from when the tasks were sent, or a little later, never from before that: by the time at which that was\n" +
    "-- at the latest, unless the caller is wrong about the time, or they have just come.\n" +
    "local sentAt = time[1] * 1000 + time[2] / 1000\n" +
    "if isTimely and delays ~= '' then\n" +
    "  sentAt = math.min(sentAt, (struct.unpack('>d', delays)))\n" +
    "end\n" +
    "for at = 9, #delays, 10 do\n" +
    "  local i, due = struct.unpack('>Hd', delays, at)\n" +
    "  if due < 0 then\n" +
    "    -- To the µs, and up: in whole ms it would be late by half of one. It may be over by now, and goes before those that came\n" +
    "    -- without.\n" +
    "    dueAt[i] = math.ceil((sentAt - due) * 1000) / 1000\n" +
    "  elseif due > now then\n" +
    "    dueAt[i] = due\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local room = maxTasks - size\n" +
    "local outcomes, seen, ready, scheduled, written = {}, {}, {}, {}, 0\n" +
    "\n" +
    "-- Runs of which all are stored or none, by their first tasks; only those that may have to be left out. None of their records\n" +
    "-- has been moved when they are looked at.\n" +
    "local lastOfRun = {}\n" +
    "for at = runsAt, #entries, 4 do\n" +
    "  local first, last = struct.unpack('>HH', entries, at)\n" +
    "  if first >= 32768 or room < count then\n" +
    "    lastOfRun[first % 32768] = last\n" +
    "  end\n" +
    "end\n" +
    "local mayLeaveOut = next(lastOfRun) ~= nil\n" +
    "\n" +
    "-- Leaves a run out where one of its tasks cannot be stored: its outcomes are settled then.\n" +
    "local function leaveOut(first, last)\n" +
    "  local mine, free, isWhole, found = {}, room, true, {}\n" +
    "  for i = first, last do\n" +
    "    local id, record = ids[i], fields[2 * i]\n" +
    "    local other = seen[id] or mine[id] or known[i] and unseal(known[i])\n" +
    "    if other then\n" +
    "      found[i] = essence(other) == essence(record) and '0' or 'C'\n" +
    "    elseif refused[i] and tonumber(refused[i]) > now then\n" +
    "      found[i] = '0'\n" +
    "    elseif free <= 0 then\n" +
    "      found[i] = 'F'\n" +
    "    else\n" +
    "      found[i] = 'N'\n" +
    "      mine[id] = record\n" +
    "      free = free - 1\n" +
    "    end\n" +
    "    isWhole = isWhole and (found[i] == 'N' or found[i] == '0')\n" +
    "  end\n" +
    "  for i = first, isWhole and 0 or last do\n" +
    "    outcomes[i] = found[i]\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "isReady = false\n" +
    "for i = 1, count do\n" +
    "  local id, record = ids[i], fields[2 * i]\n" +
    "  if mayLeaveOut and lastOfRun[i] then\n" +
    "    leaveOut(i, lastOfRun[i])\n" +
    "  end\n" +
    "  local other = seen[id] or known[i] and unseal(known[i])\n" +
    "  if mayLeaveOut and outcomes[i] then\n" +
    "    -- It is left out with its run.\n" +
    "    other = nil\n" +
    "  elseif other then\n" +
    "    outcomes[i] = essence(other) == essence(record) and '0' or 'C'\n" +
    "  elseif refused[i] and tonumber(refused[i]) > now then\n" +
    "    outcomes[i] = '0'\n" +
    "  elseif room <= 0 then\n" +
    "    outcomes[i] = 'F'\n" +
    "  else\n" +
    "    outcomes[i] = '1'\n" +
    "    seen[id] = record\n" +
    "    room = room - 1\n" +
    "    if not isTimely then\n" +
    "      record = string.sub(record, 1, 3) .. packedAt .. string.sub(record, 12)\n" +
    "    end\n" +
    "    -- Those that are stored move up to the front.\n" +
    "    fields[written + 1], fields[written + 2] = id, record\n" +
    "    written = written + 2\n" +
    "    local head, at = string.byte(record), dueAt[i]\n" +
    "    local place, isGrouped = places[head % LANES], math.floor(head / GROUPED) % 2 == 1\n" +
    "    if at then\n" +
    "      local operands = scheduled[place] or {}\n" +
    "      scheduled[place] = operands\n" +
    "      operands[#operands + 1] = string.format('%.3f', at)\n" +
    "      operands[#operands + 1] = id\n" +
    "      if at > now then\n" +
    "        earliest = math.min(earliest or at, at)\n" +
    "      else\n" +
    "        isReady = true\n" +
    "      end\n" +
    "    elseif isGrouped then\n" +
    "      beyond.joinGroup(struct.unpack('>Hc0', record, 12), head % LANES, id, 0)\n" +
    "      isReady = true\n" +
    "    else\n" +
    "      local list = ready[place] or {}\n" +
    "      ready[place] = list\n" +
    "      list[#list + 1] = id\n" +
    "      isReady = true\n" +
    "    end\n" +
    "    if beyond then\n" +
    "      if head >= REMEMBERED then\n" +
    "        local windowMs = struct.unpack('>d', record, isGrouped and 14 + struct.unpack('>H', record, 12) or 12)\n" +
    "        redis.call('ZADD', remembered, string.format('%.0f', now + windowMs), id)\n" +
    "      end\n" +
    "      beyond.happen('E', id, record)\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "for place, list in pairs(ready) do\n" +
    "  redis.call('RPUSH', laneKeys[place], unpack(list))\n" +
    "end\n" +
    "for place, operands in pairs(scheduled) do\n" +
    "  redis.call('ZADD', laneKeys[place + 1], unpack(operands))\n" +
    "end\n" +
    "if written > 0 then\n" +
    "  redis.call('HSET', tasks, unpack(fields, 1, written))\n" +
    "end\n" +
    "if written < 2 * count then\n" +
    "  reply = { table.concat(outcomes), now }\n" +
    "end\n" +
    "if beyond then\n" +
    "  beyond.tell()\n" +
    "end\n" +
    "end\n" +
    "\n" +
    "if isReady and not isPaused and isTold == nil then\n" +
    "  isTold = wake(1)\n" +
    "end\n" +
    "if earliest then\n" +
    "  local due, channel = string.match(redis.call('GET', timekeeper) or '', '^(%S+) (.*)$')\n" +
    "  if not due or tonumber(due) <= now then\n" +
    "    wake(1)\n" +
    "  elseif earliest < tonumber(due) and redis.call(publish, channel, 'w:') == 0 then\n" +
    "    redis.call('DEL', timekeeper)\n" +
    "    wake(1)\n" +
    "  end\n" +
    "end\n" +
    "return isTold ~= nil and reply == now and -now or reply\n",
} as const);

export const queueGet = new Script({
  name: "queue.get",
  isReadOnly: true,
  keys: ["settings","tasks","attempts","active","progress","logs"],
  args: ["believed","id"],
  restKey: "lanes",
  source: "#!lua flags=no-writes\n" +
    "-- One task, and the state that follows from where its id stands.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   settings     STRING, see src/shard/settings-text.ts\n" +
    "--   tasks        HASH id -> record\n" +
    "--   attempts     HASH id -> last attempt\n" +
    "--   active       ZSET id -> end of the lease, ms\n" +
    "--   progress     HASH id -> JSON\n" +
    "--   logs         HASH id -> lines\n" +
    "--   lanes...     three for each priority: ready LIST, scheduled ZSET, retrying ZSET\n" +
    "-- ARGV\n" +
    "--   believed     the settings that the caller believes to be stored\n" +
    "--   id           as stored\n" +
    "-- RETURNS\n" +
    "--   nil: unknown; or { record, state, instant, last attempt, progress, logs }, \"\" for what it doesn't have; the instant is\n" +
    "--   the end of the lease of an active task and the due instant of a scheduled or retrying one, ms\n" +
    "--   error SETTINGS <stored>: something else is stored\n" +
    "local settings, tasks, attempts, active, progress, logs = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]\n" +
    "local believed, id = ARGV[1], ARGV[2]\n" +
    "local FIRST_LANE = 7\n" +
    "local LANES = 16\n" +
    "local STATES = { A = 'active', S = 'succeeded', D = 'dead', C = 'cancelled', W = 'waiting', Q = 'ready' }\n" +
    "\n" +
    "local stored = redis.call('GET', settings)\n" +
    "if stored and stored ~= believed then\n" +
    "  return redis.error_reply('SETTINGS ' .. stored)\n" +
    "end\n" +
    "\n" +
    "-- What became of a task: attempts says so, or its record, which is sealed then (see seal.ts). Whoever finds no entry in attempts\n" +
    "-- has to ask here. Expects: tasks.\n" +
    "\n" +
    "-- The record as it was enqueued, whether it is sealed or not, and what attempts says of the task, or would say: S, f64\n" +
    "-- instant, u16 attempt. `last` is what it has of the task, if anything.\n" +
    "local function unseal(record, last)\n" +
    "  if not record or #record < 16 or string.byte(record, 4) >= 64 then\n" +
    "    return record, last\n" +
    "  end\n" +
    "  local high, low, attempt, low2 = struct.unpack('>HBBB', record)\n" +
    "  local enqueuedAt = struct.unpack('>d', record, 9)\n" +
    "  -- An instant of enqueuing may be a little ahead of the time.\n" +
    "  local endedAt = enqueuedAt + high * 65536 + low * 256 + low2 - 65536\n" +
    "  return string.sub(record, 6), last or struct.pack('>c1dH', 'S', endedAt, attempt)\n" +
    "end\n" +
    "\n" +
    "-- What attempts would say of a task that has no entry there; false when there is nothing to say, since it has not been taken;\n" +
    "-- nil for a task that is unknown. Reads no big record.\n" +
    "local function sealedEnd(id)\n" +
    "  local MOST_BYTES = 512\n" +
    "  local bytes = redis.call('HSTRLEN', tasks, id)\n" +
    "  if bytes == 0 then\n" +
    "    return nil\n" +
    "  end\n" +
    "  local _, last = unseal(bytes <= MOST_BYTES and redis.call('HGET', tasks, id), false)\n" +
    "  return last\n" +
    "end\n" +
    "\n" +
    "local record, last = unseal(redis.call('HGET', tasks, id), redis.call('HGET', attempts, id))\n" +
    "if not record then\n" +
    "  return nil\n" +
    "end\n" +
    "local told, lines = '', ''\n" +
    "if last then\n" +
    "  -- Only who has run has told something.\n" +
    "  told, lines = redis.call('HGET', progress, id) or '', redis.call('HGET', logs, id) or ''\n" +
    "end\n" +
    "local state = last and STATES[string.sub(last, 1, 1)]\n" +
    "if state then\n" +
    "  return { record, state, state == 'active' and redis.call('ZSCORE', active, id) or '', last, told, lines }\n" +
    "end\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "local lane = FIRST_LANE + 3 * (string.byte(record) % LANES)\n" +
    "local retryAt = redis.call('ZSCORE', KEYS[lane + 2], id)\n" +
    "if retryAt and tonumber(retryAt) > now then\n" +
    "  return { record, 'retrying', retryAt, last or '', told, lines }\n" +
    "end\n" +
    "local runAt = redis.call('ZSCORE', KEYS[lane + 1], id)\n" +
    "if runAt and tonumber(runAt) > now then\n" +
    "  return { record, 'scheduled', runAt, last or '', told, lines }\n" +
    "end\n" +
    "return { record, 'ready', '', last or '', told, lines }\n",
} as const);

export const resultWatch = new Script({
  name: "result.watch",
  isReadOnly: false,
  keys: ["tasks","attempts","watched"],
  args: ["process","waitS"],
  restArg: "ids",
  source: "#!lua flags=allow-oom\n" +
    "-- How tasks have ended; of those that have not, it is remembered that somebody waits for them.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   tasks        HASH id -> record\n" +
    "--   attempts     HASH id -> last attempt: S succeeded, D dead, C cancelled: f64 instant, u16 attempt, data\n" +
    "--   watched      ZSET id -> second until which somebody waits · 2^20 + number of the process; expires a minute after the\n" +
    "--                last call\n" +
    "-- ARGV\n" +
    "--   process      number of who waits, 1 to 2^20 - 1: messages come on the channel <watched>:<process>; on <watched> when\n" +
    "--                several processes wait for the task\n" +
    "--   waitS        for how many seconds this holds\n" +
    "--   ids...       1,000 at most\n" +
    "-- RETURNS\n" +
    "--   one for each id: what attempts says of its end, '' when the task is unknown, nil when it has not ended\n" +
    "local tasks, attempts, watched = KEYS[1], KEYS[2], KEYS[3]\n" +
    "local process, waitS = tonumber(ARGV[1]), tonumber(ARGV[2])\n" +
    "local SOLE = 1048576\n" +
    "local KEY_MS = 60000\n" +
    "\n" +
    "local ids = {}\n" +
    "for i = 3, #ARGV do\n" +
    "  ids[#ids + 1] = ARGV[i]\n" +
    "end\n" +
    "\n" +
    "-- What became of a task: attempts says so, or its record, which is sealed then (see seal.ts). Whoever finds no entry in attempts\n" +
    "-- has to ask here. Expects: tasks.\n" +
    "\n" +
    "-- The record as it was enqueued, whether it is sealed or not, and what attempts says of the task, or would say: S, f64\n" +
    "-- instant, u16 attempt. `last` is what it has of the task, if anything.\n" +
    "local function unseal(record, last)\n" +
    "  if not record or #record < 16 or string.byte(record, 4) >= 64 then\n" +
    "    return record, last\n" +
    "  end\n" +
    "  local high, low, attempt, low2 = struct.unpack('>HBBB', record)\n" +
    "  local enqueuedAt = struct.unpack('>d', record, 9)\n" +
    "  -- An instant of enqueuing may be a little ahead of the time.\n" +
    "  local endedAt = enqueuedAt + high * 65536 + low * 256 + low2 - 65536\n" +
    "  return string.sub(record, 6), last or struct.pack('>c1dH', 'S', endedAt, attempt)\n" +
    "end\n" +
    "\n" +
    "-- What attempts would say of a task that has no entry there; false when there is nothing to say, since it has not been taken;\n" +
    "-- nil for a task that is unknown. Reads no big record.\n" +
    "local function sealedEnd(id)\n" +
    "  local MOST_BYTES = 512\n" +
    "  local bytes = redis.call('HSTRLEN', tasks, id)\n" +
    "  if bytes == 0 then\n" +
    "    return nil\n" +
    "  end\n" +
    "  local _, last = unseal(bytes <= MOST_BYTES and redis.call('HGET', tasks, id), false)\n" +
    "  return last\n" +
    "end\n" +
    "\n" +
    "local nowS = tonumber(redis.call('TIME')[1])\n" +
    "redis.call('ZREMRANGEBYSCORE', watched, '-inf', string.format('(%.0f', nowS * SOLE))\n" +
    "local scores = redis.call('ZMSCORE', watched, unpack(ids))\n" +
    "local replies, waits = {}, {}\n" +
    "for i, last in ipairs(redis.call('HMGET', attempts, unpack(ids))) do\n" +
    "  local id = ids[i]\n" +
    "  local told = last or sealedEnd(id)\n" +
    "  local state = told and string.sub(told, 1, 1)\n" +
    "  if state == 'S' or state == 'D' or state == 'C' then\n" +
    "    replies[i] = told\n" +
    "  elseif told == nil or last and redis.call('HEXISTS', tasks, id) == 0 then\n" +
    "    replies[i] = ''\n" +
    "  else\n" +
    "    local score = scores[i] and tonumber(scores[i])\n" +
    "    local isAlone = not score or score % SOLE == process\n" +
    "    local untilS = nowS + waitS\n" +
    "    if score then\n" +
    "      untilS = math.max(untilS, math.floor(score / SOLE))\n" +
    "    end\n" +
    "    replies[i] = false\n" +
    "    waits[#waits + 1] = string.format('%.0f', untilS * SOLE + (isAlone and process or 0))\n" +
    "    waits[#waits + 1] = id\n" +
    "  end\n" +
    "end\n" +
    "if #waits > 0 then\n" +
    "  redis.call('ZADD', watched, unpack(waits))\n" +
    "  redis.call('PEXPIRE', watched, KEY_MS)\n" +
    "end\n" +
    "return replies\n",
} as const);

export const scheduleBusy = new Script({
  name: "schedule.busy",
  isReadOnly: false,
  keys: ["tasks","attempts"],
  args: ["id"],
  source: "#!lua flags=allow-oom\n" +
    "-- Whether a task has not ended. It writes nothing, but isn't flagged so: what a replica knows may be old.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   tasks        HASH id -> record\n" +
    "--   attempts     HASH id -> last attempt; its first character is the state: S, D and C are final\n" +
    "-- ARGV\n" +
    "--   id           as stored\n" +
    "-- RETURNS\n" +
    "--   1 it waits or runs, 0 it has ended, nil it isn't here\n" +
    "local tasks, attempts = KEYS[1], KEYS[2]\n" +
    "local id = ARGV[1]\n" +
    "\n" +
    "-- What became of a task: attempts says so, or its record, which is sealed then (see seal.ts). Whoever finds no entry in attempts\n" +
    "-- has to ask here. Expects: tasks.\n" +
    "\n" +
    "-- The record as it was enqueued, whether it is sealed or not, and what attempts says of the task, or would say: S, f64\n" +
    "-- instant, u16 attempt. `last` is what it has of the task, if anything.\n" +
    "local function unseal(record, last)\n" +
    "  if not record or #record < 16 or string.byte(record, 4) >= 64 then\n" +
    "    return record, last\n" +
    "  end\n" +
    "  local high, low, attempt, low2 = struct.unpack('>HBBB', record)\n" +
    "  local enqueuedAt = struct.unpack('>d', record, 9)\n" +
    "  -- An instant of enqueuing may be a little ahead of the time.\n" +
    "  local endedAt = enqueuedAt + high * 65536 + low * 256 + low2 - 65536\n" +
    "  return string.sub(record, 6), last or struct.pack('>c1dH', 'S', endedAt, attempt)\n" +
    "end\n" +
    "\n" +
    "-- What attempts would say of a task that has no entry there; false when there is nothing to say, since it has not been taken;\n" +
    "-- nil for a task that is unknown. Reads no big record.\n" +
    "local function sealedEnd(id)\n" +
    "  local MOST_BYTES = 512\n" +
    "  local bytes = redis.call('HSTRLEN', tasks, id)\n" +
    "  if bytes == 0 then\n" +
    "    return nil\n" +
    "  end\n" +
    "  local _, last = unseal(bytes <= MOST_BYTES and redis.call('HGET', tasks, id), false)\n" +
    "  return last\n" +
    "end\n" +
    "\n" +
    "if redis.call('HEXISTS', tasks, id) == 0 then\n" +
    "  return nil\n" +
    "end\n" +
    "local state = string.sub(redis.call('HGET', attempts, id) or sealedEnd(id) or '', 1, 1)\n" +
    "return (state == 'S' or state == 'D' or state == 'C') and 0 or 1\n",
} as const);

export const scheduleClaim = new Script({
  name: "schedule.claim",
  isReadOnly: false,
  keys: ["schedules","firing"],
  args: ["claimMs","most"],
  source: "#!lua flags=allow-oom\n" +
    "-- Schedules that have fallen due, for the worker that asks first: for the time of its claim nobody else is given them. Only\n" +
    "-- `firing` changes; the instant for which a schedule is due stays in its head until its tasks are stored, so a worker that\n" +
    "-- dies meanwhile loses none. Ended schedules whose time of remembrance is over are removed.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   schedules    HASH key -> head of 32 bytes: f64 due at (ms; 0: ended), …; then the definition\n" +
    "--   firing       ZSET key -> instant at which a worker looks at it, ms\n" +
    "-- ARGV\n" +
    "--   claimMs      ms\n" +
    "--   most         schedules to claim, 1 to 1,000\n" +
    "-- RETURNS\n" +
    "--   { now in ms, key, stored, … }\n" +
    "local schedules, firing = KEYS[1], KEYS[2]\n" +
    "local claimMs, most = tonumber(ARGV[1]), tonumber(ARGV[2])\n" +
    "local HEAD = 32\n" +
    "-- A reply ends with the schedule that makes it longer than this.\n" +
    "local MOST_BYTES = 4194304\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "local reply, bytes = { now }, 0\n" +
    "for _, key in ipairs(redis.call('ZRANGE', firing, '-inf', now, 'BYSCORE', 'LIMIT', 0, most)) do\n" +
    "  if bytes >= MOST_BYTES then\n" +
    "    break\n" +
    "  end\n" +
    "  local stored = redis.call('HGET', schedules, key)\n" +
    "  local dueAt = stored and #stored >= HEAD and struct.unpack('>d', stored)\n" +
    "  if not stored or dueAt == 0 then\n" +
    "    redis.call('ZREM', firing, key)\n" +
    "    redis.call('HDEL', schedules, key)\n" +
    "  else\n" +
    "    redis.call('ZADD', firing, now + claimMs, key)\n" +
    "    reply[#reply + 1] = key\n" +
    "    reply[#reply + 1] = stored\n" +
    "    bytes = bytes + #stored\n" +
    "  end\n" +
    "end\n" +
    "return reply\n",
} as const);

export const scheduleFire = new Script({
  name: "schedule.fire",
  isReadOnly: false,
  keys: ["schedules","firing"],
  args: ["keepEndedMs"],
  restArg: "changes",
  source: "#!lua flags=allow-oom\n" +
    "-- Says of claimed schedules that the tasks of their instants are stored, and when they fall due next; or puts them off. A\n" +
    "-- schedule that was changed, removed or fired by somebody else meanwhile is left alone.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   schedules    HASH key -> head of 32 bytes: f64 due at (ms), f64 last fired for (ms), f64 runs, f64 defined at (µs);\n" +
    "--                then the definition\n" +
    "--   firing       ZSET key -> instant at which a worker looks at it, ms\n" +
    "-- ARGV\n" +
    "--   keepEndedMs  for how long an ended schedule is remembered, ms\n" +
    "--   changes...   five for each schedule: key; the head that was claimed; due at, ms, 0: it has ended, below 0: look again\n" +
    "--                after so many ms, the head stays; last fired for, ms; runs\n" +
    "-- RETURNS\n" +
    "--   a string with one character a schedule: 1 done, 0 left alone\n" +
    "local schedules, firing = KEYS[1], KEYS[2]\n" +
    "local keepEndedMs = tonumber(ARGV[1])\n" +
    "local HEAD = 32\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "local done = {}\n" +
    "for i = 2, #ARGV, 5 do\n" +
    "  local key, claimed, dueAt = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2])\n" +
    "  local stored = redis.call('HGET', schedules, key)\n" +
    "  if not stored or string.sub(stored, 1, HEAD) ~= claimed then\n" +
    "    done[#done + 1] = '0'\n" +
    "  else\n" +
    "    if dueAt < 0 then\n" +
    "      redis.call('ZADD', firing, now - dueAt, key)\n" +
    "    else\n" +
    "      local definedAt = string.sub(stored, 25, HEAD)\n" +
    "      local head = struct.pack('>ddd', dueAt, tonumber(ARGV[i + 3]), tonumber(ARGV[i + 4])) .. definedAt\n" +
    "      redis.call('HSET', schedules, key, head .. string.sub(stored, HEAD + 1))\n" +
    "      redis.call('ZADD', firing, dueAt > 0 and dueAt or now + keepEndedMs, key)\n" +
    "    end\n" +
    "    done[#done + 1] = '1'\n" +
    "  end\n" +
    "end\n" +
    "return table.concat(done)\n",
} as const);

export const scheduleRead = new Script({
  name: "schedule.read",
  isReadOnly: false,
  keys: ["schedules"],
  args: ["key"],
  source: "#!lua flags=allow-oom\n" +
    "-- One schedule as it is stored, and the server's time, from which its next instant is found. It writes nothing, but isn't\n" +
    "-- flagged so: a replica could answer with its own clock and an old schedule.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   schedules    HASH key -> head of 32 bytes, see src/schedule/definition.ts, then the definition\n" +
    "-- ARGV\n" +
    "--   key          of the schedule\n" +
    "-- RETURNS\n" +
    "--   { now in ms, stored or nil }\n" +
    "local schedules = KEYS[1]\n" +
    "local key = ARGV[1]\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "return { time[1] * 1000 + math.floor(time[2] / 1000), redis.call('HGET', schedules, key) }\n",
} as const);

export const scheduleRemove = new Script({
  name: "schedule.remove",
  isReadOnly: false,
  keys: ["schedules","firing"],
  args: ["key"],
  source: "#!lua flags=allow-oom\n" +
    "-- Removes a schedule. Tasks that it has made stay.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   schedules    HASH key -> schedule\n" +
    "--   firing       ZSET key -> instant at which a worker looks at it, ms\n" +
    "-- ARGV\n" +
    "--   key          of the schedule\n" +
    "-- RETURNS\n" +
    "--   1 removed, 0 there was none\n" +
    "local schedules, firing = KEYS[1], KEYS[2]\n" +
    "local key = ARGV[1]\n" +
    "\n" +
    "redis.call('ZREM', firing, key)\n" +
    "return redis.call('HDEL', schedules, key)\n",
} as const);

export const scheduleSet = new Script({
  name: "schedule.set",
  isReadOnly: false,
  keys: ["settings","schedules","firing","idle","timekeeper"],
  args: ["believed","publish","most","key","seen","dueAt","lastAt","runs","keepEndedMs","definition"],
  source: "#!lua\n" +
    "-- Stores a schedule, or replaces it, if what is stored still is what the caller has seen. Wakes who times the queue when\n" +
    "-- it falls due earlier than anything else.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   settings     STRING, see src/shard/settings-text.ts\n" +
    "--   schedules    HASH key -> head of 32 bytes: f64 due at (ms), f64 last fired for (ms), f64 runs, f64 defined at (µs);\n" +
    "--                then the definition\n" +
    "--   firing       ZSET key -> instant at which a worker looks at it, ms\n" +
    "--   idle         ZSET channel of a parked worker -> parked until, ms\n" +
    "--   timekeeper   STRING \"<next due, ms> <channel>\"\n" +
    "-- ARGV\n" +
    "--   believed     the settings that the caller believes to be stored\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "--   most         how many schedules there may be\n" +
    "--   key          of the schedule\n" +
    "--   seen         the head that the caller has seen; empty: there was no schedule\n" +
    "--   dueAt        ms; 0: it has ended\n" +
    "--   lastAt       ms\n" +
    "--   runs         count\n" +
    "--   keepEndedMs  for how long an ended schedule is remembered, ms\n" +
    "--   definition   bytes\n" +
    "-- RETURNS\n" +
    "--   1 stored; 0 something else is stored; -1 there are too many\n" +
    "--   error SETTINGS <stored>: other settings are stored; nothing is written\n" +
    "local settings, schedules, firing, idle, timekeeper = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]\n" +
    "local believed, publish, most, key, seen = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5]\n" +
    "local dueAt, lastAt, runs = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])\n" +
    "local keepEndedMs, definition = tonumber(ARGV[9]), ARGV[10]\n" +
    "\n" +
    "local stored = redis.call('GET', settings)\n" +
    "if stored and stored ~= believed then\n" +
    "  return redis.error_reply('SETTINGS ' .. stored)\n" +
    "end\n" +
    "local before = redis.call('HGET', schedules, key)\n" +
    "if string.sub(before or '', 1, 32) ~= seen then\n" +
    "  return 0\n" +
    "end\n" +
    "if not before and redis.call('HLEN', schedules) >= most then\n" +
    "  return -1\n" +
    "end\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "-- Tells parked workers, those that have waited longest first, that there may be something to take. `message`: for the one who\n" +
    "-- may be handed a task along with it. Returns whether the last who was told was such; nil when nobody was told.\n" +
    "-- Expects: idle, publish, now.\n" +
    "local function wake(most, message)\n" +
    "  local isHanded\n" +
    "  for _ = 1, 16 do\n" +
    "    if most == 0 then\n" +
    "      break\n" +
    "    end\n" +
    "    local parked = redis.call('ZPOPMIN', idle)\n" +
    "    if #parked == 0 then\n" +
    "      break\n" +
    "    end\n" +
    "    -- What is published to somebody who listens to a replica, or still to a former master, arrives there but isn't counted: the next\n" +
    "    -- one would be handed the same task. So whoever isn't heard here gets none.\n" +
    "    local takes = message ~= nil\n" +
    "      and parked[2] % 1 > 0\n" +
    "      and redis.call('PUBSUB', publish == 'SPUBLISH' and 'SHARDNUMSUB' or 'NUMSUB', parked[1])[2] > 0\n" +
    "    -- Not those that are gone, or whose parking time is over.\n" +
    "    if tonumber(parked[2]) >= now and redis.call(publish, parked[1], takes and message or 'w:') > 0 then\n" +
    "      most = most - 1\n" +
    "      isHanded = takes\n" +
    "    end\n" +
    "  end\n" +
    "  return isHanded\n" +
    "end\n" +
    "if not stored then\n" +
    "  redis.call('SET', settings, believed)\n" +
    "end\n" +
    "local head = struct.pack('>dddd', dueAt, lastAt, runs, time[1] * 1000000 + time[2])\n" +
    "redis.call('HSET', schedules, key, head .. definition)\n" +
    "redis.call('ZADD', firing, dueAt > 0 and dueAt or now + keepEndedMs, key)\n" +
    "if dueAt > 0 then\n" +
    "  local due, channel = string.match(redis.call('GET', timekeeper) or '', '^(%S+) (.*)$')\n" +
    "  if not due or tonumber(due) <= now then\n" +
    "    wake(1)\n" +
    "  elseif dueAt < tonumber(due) and redis.call(publish, channel, 'w:') == 0 then\n" +
    "    redis.call('DEL', timekeeper)\n" +
    "    wake(1)\n" +
    "  end\n" +
    "end\n" +
    "return 1\n",
} as const);

export const shardConfigure = new Script({
  name: "shard.configure",
  isReadOnly: false,
  keys: ["settings","idle","events"],
  args: ["believed","wanted","publish"],
  source: "#!lua flags=allow-oom\n" +
    "-- Changes the settings of a shard, if they still are what the caller believes, and wakes all parked workers, who may have\n" +
    "-- something to take now.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   settings     STRING\n" +
    "--   idle         ZSET channel of a parked worker -> parked until, ms\n" +
    "--   events       STREAM\n" +
    "-- ARGV\n" +
    "--   believed     the settings that the caller believes to be stored\n" +
    "--   wanted       what shall be stored\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "-- RETURNS\n" +
    "--   1\n" +
    "--   error SETTINGS <stored>: something else is stored; nothing is written\n" +
    "local settings, idle, events = KEYS[1], KEYS[2], KEYS[3]\n" +
    "local believed, wanted, publish = ARGV[1], ARGV[2], ARGV[3]\n" +
    "\n" +
    "local stored = redis.call('GET', settings)\n" +
    "if stored and stored ~= believed then\n" +
    "  return redis.error_reply('SETTINGS ' .. stored)\n" +
    "end\n" +
    "local keepEvents = tonumber(string.match(wanted, ';events=(%d+)') or 0)\n" +
    "\n" +
    "-- Tells those who read events what has happened. Expects events, keepEvents, publish. All of one call become one entry of the\n" +
    "-- stream, and one message. Events are numbered without a gap: an entry's id is the number of the last event in it, so a\n" +
    "-- reader knows what it has missed, and the first number of a stream is its time in µs, so that no number comes twice when\n" +
    "-- a stream is begun anew. Behind the `-` of each id stands that first number, which costs nothing, since it is the same in all of\n" +
    "-- them: who has seen less has seen another stream (0: it was begun by an older version). An entry: f64 instant (ms), then for each event: kind, u16 length · id, u16 attempt,\n" +
    "-- u16 length · text.\n" +
    "local happened, happenings = {}, 0\n" +
    "\n" +
    "-- Kinds, and what detail is for each; the text is cut after 512 bytes.\n" +
    "--   E enqueued: the record (text: the name)        P progress: JSON (text, if it isn't longer)\n" +
    "--   A started, S succeeded, R retrying, H retrying and holding its group, D dead, C cancelled, W waiting for children:\n" +
    "--     the value in attempts (text: the reason; results are not told)\n" +
    "--   Y ready again (by hand), X removed, Z paused, U resumed, and whatever comes: '' or the text. What\n" +
    "--     concerns the queue and no task has the id ''.\n" +
    "local function happen(kind, id, detail)\n" +
    "  if keepEvents == 0 then\n" +
    "    return\n" +
    "  end\n" +
    "  local MOST_TEXT = 512\n" +
    "  local attempt, text = 0, detail\n" +
    "  if kind == 'E' then\n" +
    "    local flags, at = string.byte(detail), 12\n" +
    "    if math.floor(flags / 16) % 2 == 1 then\n" +
    "      at = 14 + struct.unpack('>H', detail, 12)\n" +
    "    end\n" +
    "    if flags >= 128 then\n" +
    "      -- For how long the id is remembered.\n" +
    "      at = at + 8\n" +
    "    end\n" +
    "    text = string.sub(detail, at + 2, at + 1 + struct.unpack('>H', detail, at))\n" +
    "  elseif kind == 'A' then\n" +
    "    attempt, text = struct.unpack('>H', detail, 6), ''\n" +
    "  elseif kind == 'S' or kind == 'R' or kind == 'H' or kind == 'D' or kind == 'C' or kind == 'W' then\n" +
    "    attempt = struct.unpack('>H', detail, 10)\n" +
    "    text = (kind == 'S' or kind == 'W') and '' or string.sub(detail, 12)\n" +
    "  elseif kind == 'P' and #detail > MOST_TEXT then\n" +
    "    text = ''\n" +
    "  end\n" +
    "  text = string.sub(text, 1, MOST_TEXT)\n" +
    "  happenings = happenings + 1\n" +
    "  happened[happenings] = kind .. struct.pack('>H', #id) .. id .. struct.pack('>HH', attempt, #text) .. text\n" +
    "end\n" +
    "\n" +
    "-- Once, at the end of the script.\n" +
    "local function tellEvents()\n" +
    "  if happenings == 0 then\n" +
    "    return\n" +
    "  end\n" +
    "  local time = redis.call('TIME')\n" +
    "  local newest = redis.call('XREVRANGE', events, '+', '-', 'COUNT', 1)[1]\n" +
    "  local before, begun\n" +
    "  if newest then\n" +
    "    before, begun = string.match(newest[1], '^(%d+)-(%d+)')\n" +
    "  else\n" +
    "    begun = string.format('%.0f', time[1] * 1000000 + time[2])\n" +
    "    before = begun\n" +
    "  end\n" +
    "  local last = string.format('%.0f', before + happenings)\n" +
    "  local instant = struct.pack('>d', time[1] * 1000 + math.floor(time[2] / 1000))\n" +
    "  local oldest = string.format('%.0f', math.max(0, before + happenings - keepEvents + 1))\n" +
    "  redis.call('XADD', events, 'MINID', '~', oldest, last .. '-' .. begun, 'e', instant .. table.concat(happened))\n" +
    "  redis.call(publish, events, '*:' .. last)\n" +
    "end\n" +
    "\n" +
    "if stored ~= wanted then\n" +
    "  redis.call('SET', settings, wanted)\n" +
    "  local isPaused = string.find(wanted, ';paused=1', 1, true)\n" +
    "  if not isPaused ~= not string.find(stored or '', ';paused=1', 1, true) then\n" +
    "    happen(isPaused and 'Z' or 'U', '', '')\n" +
    "  end\n" +
    "  tellEvents()\n" +
    "  if keepEvents == 0 and string.find(stored or '', ';events=', 1, true) then\n" +
    "    redis.call('UNLINK', events)\n" +
    "  end\n" +
    "  for _, channel in ipairs(redis.call('ZRANGE', idle, 0, 999)) do\n" +
    "    redis.call(publish, channel, 'w:')\n" +
    "  end\n" +
    "end\n" +
    "return 1\n",
} as const);

export const shardRegroup = new Script({
  name: "shard.regroup",
  isReadOnly: false,
  keys: ["settings","attempts","idle","grouped","groups","turns","resting"],
  args: ["believed","publish","cursor"],
  source: "#!lua flags=allow-oom\n" +
    "-- Puts groups where they belong under limits that have changed, a bounded number of them: what may run now, and may not have\n" +
    "-- run before, must not wait for the next event of its group.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   settings     STRING, see src/shard/settings-text.ts\n" +
    "--   attempts     HASH id -> last attempt\n" +
    "--   idle         ZSET channel of a parked worker -> parked until, ms\n" +
    "--   grouped      ZSET of waiting tasks with a group\n" +
    "--   groups       HASH group -> waiting, active, rate\n" +
    "--   turns        ZSET group that may run -> lane and turn\n" +
    "--   resting      ZSET group under its rate limit -> until\n" +
    "-- ARGV\n" +
    "--   believed     the settings that the caller believes to be stored\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "--   cursor       0 to begin, then what the last call has returned\n" +
    "-- RETURNS\n" +
    "--   the cursor for the next call; 0 when all were looked at\n" +
    "--   error SETTINGS <stored>: something else is stored; nothing is written\n" +
    "local settings, attempts, idle, grouped = KEYS[1], KEYS[2], KEYS[3], KEYS[4]\n" +
    "local groups, turns, resting = KEYS[5], KEYS[6], KEYS[7]\n" +
    "local believed, publish, cursor = ARGV[1], ARGV[2], ARGV[3]\n" +
    "local isExtended = true\n" +
    "local MANY = 200\n" +
    "\n" +
    "local stored = redis.call('GET', settings)\n" +
    "if stored and stored ~= believed then\n" +
    "  return redis.error_reply('SETTINGS ' .. stored)\n" +
    "end\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "\n" +
    "-- Tells parked workers, those that have waited longest first, that there may be something to take. `message`: for the one who\n" +
    "-- may be handed a task along with it. Returns whether the last who was told was such; nil when nobody was told.\n" +
    "-- Expects: idle, publish, now.\n" +
    "local function wake(most, message)\n" +
    "  local isHanded\n" +
    "  for _ = 1, 16 do\n" +
    "    if most == 0 then\n" +
    "      break\n" +
    "    end\n" +
    "    local parked = redis.call('ZPOPMIN', idle)\n" +
    "    if #parked == 0 then\n" +
    "      break\n" +
    "    end\n" +
    "    -- What is published to somebody who listens to a replica, or still to a former master, arrives there but isn't counted: the next\n" +
    "    -- one would be handed the same task. So whoever isn't heard here gets none.\n" +
    "    local takes = message ~= nil\n" +
    "      and parked[2] % 1 > 0\n" +
    "      and redis.call('PUBSUB', publish == 'SPUBLISH' and 'SHARDNUMSUB' or 'NUMSUB', parked[1])[2] > 0\n" +
    "    -- Not those that are gone, or whose parking time is over.\n" +
    "    if tonumber(parked[2]) >= now and redis.call(publish, parked[1], takes and message or 'w:') > 0 then\n" +
    "      most = most - 1\n" +
    "      isHanded = takes\n" +
    "    end\n" +
    "  end\n" +
    "  return isHanded\n" +
    "end\n" +
    "-- Groups. A waiting task with a group stands in the sorted set `grouped`, all scores 0, as\n" +
    "--\n" +
    "--   u16 length · group · u8 lane · f64 sequence · id\n" +
    "--\n" +
    "-- so that the tasks of a group are next to each other, by lane and then in order; `attempts` has the sequence (state Q), so\n" +
    "-- that it can be found from its id. `groups` has for each group how many wait, how many run, and until when its rate is\n" +
    "-- used up (GCRA); its field '' is the counter of sequences and turns. A group that may run stands in `turns` under its turn,\n" +
    "-- that of a lane before those of later lanes; one that has used up its rate stands in `resting`. Who was served goes to the\n" +
    "-- end of its lane, so groups take turns however much each has waiting.\n" +
    "-- Expects: isExtended, attempts, grouped, groups, turns, resting, believed, now.\n" +
    "local LANE_TURNS = 35184372088832\n" +
    "local groupConcurrency, isOrdered, groupInterval, groupSlack\n" +
    "if isExtended then\n" +
    "  groupConcurrency = tonumber(string.match(believed, ';gconc=(%d+)'))\n" +
    "  isOrdered = string.find(believed, ';ordered=1', 1, true) ~= nil\n" +
    "  if isOrdered then\n" +
    "    groupConcurrency = 1\n" +
    "  end\n" +
    "  local limit, period, burst = string.match(believed, ';grate=(%d+)/(%d+)/(%d+)')\n" +
    "  if limit then\n" +
    "    groupInterval = period / limit\n" +
    "    groupSlack = (burst - 1) * groupInterval\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local groupStates, touchedGroups, nextTurn, lastTurn = {}, {}, nil, nil\n" +
    "\n" +
    "-- Turns are drawn from memory; `saveTurns` writes the last one.\n" +
    "local function drawTurn()\n" +
    "  nextTurn = nextTurn or tonumber(redis.call('HGET', groups, '') or 0)\n" +
    "  nextTurn = nextTurn + 1\n" +
    "  lastTurn = nextTurn\n" +
    "  return nextTurn\n" +
    "end\n" +
    "\n" +
    "local function saveTurns()\n" +
    "  if lastTurn then\n" +
    "    redis.call('HSET', groups, '', string.format('%.0f', lastTurn))\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local function groupState(group)\n" +
    "  local state = groupStates[group]\n" +
    "  if not state then\n" +
    "    state = { 0, 0, 0 }\n" +
    "    local packed = redis.call('HGET', groups, group)\n" +
    "    if packed then\n" +
    "      state[1], state[2], state[3] = struct.unpack('>IId', packed)\n" +
    "    end\n" +
    "    groupStates[group] = state\n" +
    "    touchedGroups[#touchedGroups + 1] = group\n" +
    "  end\n" +
    "  return state\n" +
    "end\n" +
    "\n" +
    "local function groupPrefix(group)\n" +
    "  return struct.pack('>H', #group) .. group\n" +
    "end\n" +
    "\n" +
    "-- The first waiting task of a group as `grouped` has it, or nil.\n" +
    "local function headOf(group)\n" +
    "  local prefix = groupPrefix(group)\n" +
    "  return redis.call('ZRANGE', grouped, '[' .. prefix, '(' .. prefix .. '\\255', 'BYLEX', 'LIMIT', 0, 1)[1]\n" +
    "end\n" +
    "\n" +
    "-- Whether the limits of groups say that none of it may start now.\n" +
    "local function isHeldUp(state)\n" +
    "  return groupConcurrency and state[2] >= groupConcurrency or groupInterval and state[3] - groupSlack > now\n" +
    "end\n" +
    "\n" +
    "-- Stores what has become of a group, and puts it where it belongs. Its turn is a new one when it was served.\n" +
    "local function placeGroup(group, wasServed)\n" +
    "  local state = groupState(group)\n" +
    "  if groupInterval then\n" +
    "    -- What was used under another rate must not stand in the way for longer than this one allows.\n" +
    "    state[3] = math.min(state[3], now + groupSlack + groupInterval)\n" +
    "  end\n" +
    "  local waiting, running, usedUntil = state[1], state[2], state[3]\n" +
    "  local restUntil = groupInterval and usedUntil - groupSlack or 0\n" +
    "  if waiting == 0 and running == 0 and restUntil <= now then\n" +
    "    redis.call('HDEL', groups, group)\n" +
    "    redis.call('ZREM', turns, group)\n" +
    "    redis.call('ZREM', resting, group)\n" +
    "    return\n" +
    "  end\n" +
    "  redis.call('HSET', groups, group, struct.pack('>IId', waiting, running, usedUntil))\n" +
    "  if restUntil > now then\n" +
    "    -- Also where nothing waits: the state is dropped when the rest is over.\n" +
    "    redis.call('ZADD', resting, restUntil, group)\n" +
    "    redis.call('ZREM', turns, group)\n" +
    "  elseif waiting == 0 or groupConcurrency and running >= groupConcurrency then\n" +
    "    redis.call('ZREM', turns, group)\n" +
    "  else\n" +
    "    local head = headOf(group)\n" +
    "    local lane = head and string.byte(head, #group + 3) or 0\n" +
    "    if wasServed then\n" +
    "      redis.call('ZADD', turns, string.format('%.0f', lane * LANE_TURNS + drawTurn()), group)\n" +
    "    else\n" +
    "      local score = redis.call('ZSCORE', turns, group)\n" +
    "      if not score or math.floor(score / LANE_TURNS) ~= lane then\n" +
    "        redis.call('ZADD', turns, string.format('%.0f', lane * LANE_TURNS + drawTurn()), group)\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- A task begins to wait in its group. `ahead`: the instant at which it fell due; it goes before those that came without.\n" +
    "local function joinGroup(group, lane, id, attempt, ahead)\n" +
    "  local sequence = ahead and ahead / 9007199254740992 or drawTurn()\n" +
    "  redis.call('ZADD', grouped, 0, groupPrefix(group) .. struct.pack('>Bd', lane, sequence) .. id)\n" +
    "  redis.call('HSET', attempts, id, struct.pack('>c1dH', 'Q', sequence, attempt))\n" +
    "  local state = groupState(group)\n" +
    "  state[1] = state[1] + 1\n" +
    "end\n" +
    "\n" +
    "-- A waiting task (state Q, `last` of `attempts`) is taken out of its group.\n" +
    "local function quitGroup(group, lane, id, last)\n" +
    "  local sequence = struct.unpack('>d', last, 2)\n" +
    "  local state = groupState(group)\n" +
    "  if redis.call('ZREM', grouped, groupPrefix(group) .. struct.pack('>Bd', lane, sequence) .. id) == 1 then\n" +
    "    state[1] = math.max(0, state[1] - 1)\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- A task of the group no longer runs, nor holds it.\n" +
    "local function leaveGroup(group)\n" +
    "  local state = groupState(group)\n" +
    "  state[2] = math.max(0, state[2] - 1)\n" +
    "end\n" +
    "\n" +
    "-- Places all groups that were changed; to be called once, after the last change that is not followed by `placeGroup`.\n" +
    "local function placeGroups()\n" +
    "  for _, group in ipairs(touchedGroups) do\n" +
    "    placeGroup(group, false)\n" +
    "  end\n" +
    "  saveTurns()\n" +
    "end\n" +
    "\n" +
    "local nextCursor, fields = unpack(redis.call('HSCAN', groups, cursor, 'COUNT', MANY))\n" +
    "for i = 1, #fields, 2 do\n" +
    "  if fields[i] ~= '' then\n" +
    "    redis.call('ZREM', resting, fields[i])\n" +
    "    placeGroup(fields[i], false)\n" +
    "  end\n" +
    "end\n" +
    "saveTurns()\n" +
    "if redis.call('EXISTS', turns) == 1 then\n" +
    "  wake(1)\n" +
    "end\n" +
    "return nextCursor\n",
} as const);

export const workerExchange = new Script({
  name: "worker.exchange",
  isReadOnly: false,
  keys: ["settings","tasks","attempts","active","succeeded","dead","idle","timekeeper"],
  args: ["believed","publish","channel","want","slots","leaseMs","parkMs","keepSucceeded","keepSucceededMs","keepDead","isThorough","count","settlements"],
  restKey: "lanes",
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
    "--   settings     STRING, see src/shard/settings-text.ts\n" +
    "--   tasks        HASH id -> record: u8 lane, u16 most attempts, …; or sealed, and then not in attempts: see src/task/seal.ts\n" +
    "--   attempts     HASH id -> last attempt: A u32 token, u16 attempt, u8 lane + flags, u16 most attempts, group while\n" +
    "--                active, attempt 0 as long as it is handed over and has not begun (see queue.enqueue.lua); then S succeeded,\n" +
    "--                D dead, R back in its lane, H the same and it holds its group, C cancelled: f64 instant, u16 attempt,\n" +
    "--                result or error; Q waits in its group: f64 sequence, u16 attempt\n" +
    "--   active       ZSET id -> end of the lease, ms\n" +
    "--   succeeded    LIST ids, oldest first\n" +
    "--   dead         ZSET id -> instant of death, ms\n" +
    "--   idle         ZSET channel of a parked worker -> parked until, ms; expires a minute after the last parking\n" +
    "--   timekeeper   STRING \"<next due, ms> <channel>\": the parked worker that has set a timer; expires like idle\n" +
    "--   lanes...     three for each priority: ready LIST, scheduled ZSET, retrying ZSET; behind them, for a queue that uses\n" +
    "--                more than the core, the 16 keys of EXTENDED in src/keys.ts\n" +
    "-- ARGV\n" +
    "--   believed         the settings that the caller believes to be stored\n" +
    "--   publish          PUBLISH or SPUBLISH\n" +
    "--   channel          the channel on which this worker is woken\n" +
    "--   want             tasks to take at most, 0 to 500\n" +
    "--   slots            for so many of these there is a free slot: who gets fewer is parked; 0: the worker is full or leaves. Beyond\n" +
    "--                    these, no task on its last attempt is taken, nor what is behind it\n" +
    "--   leaseMs          ms\n" +
    "--   parkMs           how long the worker may sleep, ms; half a ms more when it may be handed a task (see queue.enqueue.lua)\n" +
    "--   keepSucceeded    count\n" +
    "--   keepSucceededMs  ms\n" +
    "--   keepDead         count\n" +
    "--   isThorough       1: looks for what dead workers held and for what is too old, which need not be done with each call; 0\n" +
    "--   count            of settlements, 500 at most\n" +
    "--   settlements      for each, no id twice: u16 length · id; u32 length · verdict, u32 token, f64 delay in ms, result or error\n" +
    "--                    verdicts: S succeeded, R retry after the delay, D dead, B back at once, L later (after the delay;\n" +
    "--                    B and L do not count as attempts)\n" +
    "-- RETURNS\n" +
    "--   { settled, sleepUs, nowUs, chores, id, attempt, record, … }: settled has one character a settlement, 1 done,\n" +
    "--   0 lease lost, C cancelled; sleepUs until something falls due, 0 when there is more to take already, -1 when another\n" +
    "--   worker keeps the time or the worker is not parked; the server's time in µs, which modulo 2^32 is the token of all\n" +
    "--   tasks taken; 1 when a schedule is due + 2 when the outbox holds something; then three for each task\n" +
    "--   error SETTINGS <stored>: something else is stored; nothing is written\n" +
    "local settings, tasks, attempts, active, succeeded = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]\n" +
    "local dead, idle, timekeeper = KEYS[6], KEYS[7], KEYS[8]\n" +
    "local believed, publish, channel, want, slots = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])\n" +
    "local leaseMs, parkMs, keepSucceeded = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])\n" +
    "local keepSucceededMs, keepDead, isThorough = tonumber(ARGV[9]), tonumber(ARGV[10]), ARGV[11] == '1'\n" +
    "local count, settlements = tonumber(ARGV[12]), ARGV[13]\n" +
    "-- 3 does not divide the number of the keys beyond the core.\n" +
    "local isExtended = (#KEYS - 8) % 3 ~= 0\n" +
    "-- Ready, scheduled and retrying of lane 0 and so on, and what lies beyond the core behind them.\n" +
    "local laneKeys = { unpack(KEYS, 9) }\n" +
    "local laneCount = (isExtended and #laneKeys - 16 or #laneKeys) / 3\n" +
    "-- A reply ends with the piece that makes it longer than this.\n" +
    "local MOST_BYTES = 4194304\n" +
    "local MOST_RECOVERED = '100'\n" +
    "local LANES = 16\n" +
    "-- Redis keeps up to 128 members of a sorted set in a plain list and goes through it for each one that comes: 1.5 µs at\n" +
    "-- 100 of them, 0.25 µs in the skip list that a member of more than 64 bytes brings about. So it does with up to 512 short\n" +
    "-- fields of a hash: 10 µs for one task more or less.\n" +
    "local MANY = 16\n" +
    "local LONG = 64\n" +
    "local LONG_MEMBER = '-----------------------------------------------------------------'\n" +
    "\n" +
    "local stored = redis.call('GET', settings)\n" +
    "if stored and stored ~= believed then\n" +
    "  return redis.error_reply('SETTINGS ' .. stored)\n" +
    "end\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "local nowUs = time[1] * 1000000 + time[2]\n" +
    "local token = nowUs % 4294967296\n" +
    "\n" +
    "-- A function costs 0.1 µs when it is made, more for each local that it uses, and also where it is never called: so what\n" +
    "-- nearly all calls do stands in line, and functions are made where they are needed. A number as an argument of a command\n" +
    "-- costs 0.3 µs, twice what its text does.\n" +
    "\n" +
    "-- What lies beyond the core.\n" +
    "local beyond, holes, grouped, groups, turns, resting, rate, progress\n" +
    "local logs, watched, events, flows, outbox, firing, keepEvents\n" +
    "if isExtended then\n" +
    "  local _\n" +
    "  holes, _, grouped, groups, turns, resting, rate, progress = unpack(laneKeys, 3 * laneCount + 1)\n" +
    "  logs, watched, events, flows, outbox, _, firing = unpack(laneKeys, 3 * laneCount + 9)\n" +
    "  keepEvents = tonumber(string.match(believed, ';events=(%d+)')) or 0\n" +
    "  beyond = {}\n" +
    "-- Groups. A waiting task with a group stands in the sorted set `grouped`, all scores 0, as\n" +
    "--\n" +
    "--   u16 length · group · u8 lane · f64 sequence · id\n" +
    "--\n" +
    "-- so that the tasks of a group are next to each other, by lane and then in order; `attempts` has the sequence (state Q), so\n" +
    "-- that it can be found from its id. `groups` has for each group how many wait, how many run, and until when its rate is\n" +
    "-- used up (GCRA); its field '' is the counter of sequences and turns. A group that may run stands in `turns` under its turn,\n" +
    "-- that of a lane before those of later lanes; one that has used up its rate stands in `resting`. Who was served goes to the\n" +
    "-- end of its lane, so groups take turns however much each has waiting.\n" +
    "-- Expects: isExtended, attempts, grouped, groups, turns, resting, believed, now.\n" +
    "local LANE_TURNS = 35184372088832\n" +
    "local groupConcurrency, isOrdered, groupInterval, groupSlack\n" +
    "if isExtended then\n" +
    "  groupConcurrency = tonumber(string.match(believed, ';gconc=(%d+)'))\n" +
    "  isOrdered = string.find(believed, ';ordered=1', 1, true) ~= nil\n" +
    "  if isOrdered then\n" +
    "    groupConcurrency = 1\n" +
    "  end\n" +
    "  local limit, period, burst = string.match(believed, ';grate=(%d+)/(%d+)/(%d+)')\n" +
    "  if limit then\n" +
    "    groupInterval = period / limit\n" +
    "    groupSlack = (burst - 1) * groupInterval\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local groupStates, touchedGroups, nextTurn, lastTurn = {}, {}, nil, nil\n" +
    "\n" +
    "-- Turns are drawn from memory; `saveTurns` writes the last one.\n" +
    "local function drawTurn()\n" +
    "  nextTurn = nextTurn or tonumber(redis.call('HGET', groups, '') or 0)\n" +
    "  nextTurn = nextTurn + 1\n" +
    "  lastTurn = nextTurn\n" +
    "  return nextTurn\n" +
    "end\n" +
    "\n" +
    "local function saveTurns()\n" +
    "  if lastTurn then\n" +
    "    redis.call('HSET', groups, '', string.format('%.0f', lastTurn))\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local function groupState(group)\n" +
    "  local state = groupStates[group]\n" +
    "  if not state then\n" +
    "    state = { 0, 0, 0 }\n" +
    "    local packed = redis.call('HGET', groups, group)\n" +
    "    if packed then\n" +
    "      state[1], state[2], state[3] = struct.unpack('>IId', packed)\n" +
    "    end\n" +
    "    groupStates[group] = state\n" +
    "    touchedGroups[#touchedGroups + 1] = group\n" +
    "  end\n" +
    "  return state\n" +
    "end\n" +
    "\n" +
    "local function groupPrefix(group)\n" +
    "  return struct.pack('>H', #group) .. group\n" +
    "end\n" +
    "\n" +
    "-- The first waiting task of a group as `grouped` has it, or nil.\n" +
    "local function headOf(group)\n" +
    "  local prefix = groupPrefix(group)\n" +
    "  return redis.call('ZRANGE', grouped, '[' .. prefix, '(' .. prefix .. '\\255', 'BYLEX', 'LIMIT', 0, 1)[1]\n" +
    "end\n" +
    "\n" +
    "-- Whether the limits of groups say that none of it may start now.\n" +
    "local function isHeldUp(state)\n" +
    "  return groupConcurrency and state[2] >= groupConcurrency or groupInterval and state[3] - groupSlack > now\n" +
    "end\n" +
    "\n" +
    "-- Stores what has become of a group, and puts it where it belongs. Its turn is a new one when it was served.\n" +
    "local function placeGroup(group, wasServed)\n" +
    "  local state = groupState(group)\n" +
    "  if groupInterval then\n" +
    "    -- What was used under another rate must not stand in the way for longer than this one allows.\n" +
    "    state[3] = math.min(state[3], now + groupSlack + groupInterval)\n" +
    "  end\n" +
    "  local waiting, running, usedUntil = state[1], state[2], state[3]\n" +
    "  local restUntil = groupInterval and usedUntil - groupSlack or 0\n" +
    "  if waiting == 0 and running == 0 and restUntil <= now then\n" +
    "    redis.call('HDEL', groups, group)\n" +
    "    redis.call('ZREM', turns, group)\n" +
    "    redis.call('ZREM', resting, group)\n" +
    "    return\n" +
    "  end\n" +
    "  redis.call('HSET', groups, group, struct.pack('>IId', waiting, running, usedUntil))\n" +
    "  if restUntil > now then\n" +
    "    -- Also where nothing waits: the state is dropped when the rest is over.\n" +
    "    redis.call('ZADD', resting, restUntil, group)\n" +
    "    redis.call('ZREM', turns, group)\n" +
    "  elseif waiting == 0 or groupConcurrency and running >= groupConcurrency then\n" +
    "    redis.call('ZREM', turns, group)\n" +
    "  else\n" +
    "    local head = headOf(group)\n" +
    "    local lane = head and string.byte(head, #group + 3) or 0\n" +
    "    if wasServed then\n" +
    "      redis.call('ZADD', turns, string.format('%.0f', lane * LANE_TURNS + drawTurn()), group)\n" +
    "    else\n" +
    "      local score = redis.call('ZSCORE', turns, group)\n" +
    "      if not score or math.floor(score / LANE_TURNS) ~= lane then\n" +
    "        redis.call('ZADD', turns, string.format('%.0f', lane * LANE_TURNS + drawTurn()), group)\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- A task begins to wait in its group. `ahead`: the instant at which it fell due; it goes before those that came without.\n" +
    "local function joinGroup(group, lane, id, attempt, ahead)\n" +
    "  local sequence = ahead and ahead / 9007199254740992 or drawTurn()\n" +
    "  redis.call('ZADD', grouped, 0, groupPrefix(group) .. struct.pack('>Bd', lane, sequence) .. id)\n" +
    "  redis.call('HSET', attempts, id, struct.pack('>c1dH', 'Q', sequence, attempt))\n" +
    "  local state = groupState(group)\n" +
    "  state[1] = state[1] + 1\n" +
    "end\n" +
    "\n" +
    "-- A waiting task (state Q, `last` of `attempts`) is taken out of its group.\n" +
    "local function quitGroup(group, lane, id, last)\n" +
    "  local sequence = struct.unpack('>d', last, 2)\n" +
    "  local state = groupState(group)\n" +
    "  if redis.call('ZREM', grouped, groupPrefix(group) .. struct.pack('>Bd', lane, sequence) .. id) == 1 then\n" +
    "    state[1] = math.max(0, state[1] - 1)\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- A task of the group no longer runs, nor holds it.\n" +
    "local function leaveGroup(group)\n" +
    "  local state = groupState(group)\n" +
    "  state[2] = math.max(0, state[2] - 1)\n" +
    "end\n" +
    "\n" +
    "-- Places all groups that were changed; to be called once, after the last change that is not followed by `placeGroup`.\n" +
    "local function placeGroups()\n" +
    "  for _, group in ipairs(touchedGroups) do\n" +
    "    placeGroup(group, false)\n" +
    "  end\n" +
    "  saveTurns()\n" +
    "end\n" +
    "-- Tells those who read events what has happened. Expects events, keepEvents, publish. All of one call become one entry of the\n" +
    "-- stream, and one message. Events are numbered without a gap: an entry's id is the number of the last event in it, so a\n" +
    "-- reader knows what it has missed, and the first number of a stream is its time in µs, so that no number comes twice when\n" +
    "-- a stream is begun anew. Behind the `-` of each id stands that first number, which costs nothing, since it is the same in all of\n" +
    "-- them: who has seen less has seen another stream (0: it was begun by an older version). An entry: f64 instant (ms), then for each event: kind, u16 length · id, u16 attempt,\n" +
    "-- u16 length · text.\n" +
    "local happened, happenings = {}, 0\n" +
    "\n" +
    "-- Kinds, and what detail is for each; the text is cut after 512 bytes.\n" +
    "--   E enqueued: the record (text: the name)        P progress: JSON (text, if it isn't longer)\n" +
    "--   A started, S succeeded, R retrying, H retrying and holding its group, D dead, C cancelled, W waiting for children:\n" +
    "--     the value in attempts (text: the reason; results are not told)\n" +
    "--   Y ready again (by hand), X removed, Z paused, U resumed, and whatever comes: '' or the text. What\n" +
    "--     concerns the queue and no task has the id ''.\n" +
    "local function happen(kind, id, detail)\n" +
    "  if keepEvents == 0 then\n" +
    "    return\n" +
    "  end\n" +
    "  local MOST_TEXT = 512\n" +
    "  local attempt, text = 0, detail\n" +
    "  if kind == 'E' then\n" +
    "    local flags, at = string.byte(detail), 12\n" +
    "    if math.floor(flags / 16) % 2 == 1 then\n" +
    "      at = 14 + struct.unpack('>H', detail, 12)\n" +
    "    end\n" +
    "    if flags >= 128 then\n" +
    "      -- For how long the id is remembered.\n" +
    "      at = at + 8\n" +
    "    end\n" +
    "    text = string.sub(detail, at + 2, at + 1 + struct.unpack('>H', detail, at))\n" +
    "  elseif kind == 'A' then\n" +
    "    attempt, text = struct.unpack('>H', detail, 6), ''\n" +
    "  elseif kind == 'S' or kind == 'R' or kind == 'H' or kind == 'D' or kind == 'C' or kind == 'W' then\n" +
    "    attempt = struct.unpack('>H', detail, 10)\n" +
    "    text = (kind == 'S' or kind == 'W') and '' or string.sub(detail, 12)\n" +
    "  elseif kind == 'P' and #detail > MOST_TEXT then\n" +
    "    text = ''\n" +
    "  end\n" +
    "  text = string.sub(text, 1, MOST_TEXT)\n" +
    "  happenings = happenings + 1\n" +
    "  happened[happenings] = kind .. struct.pack('>H', #id) .. id .. struct.pack('>HH', attempt, #text) .. text\n" +
    "end\n" +
    "\n" +
    "-- Once, at the end of the script.\n" +
    "local function tellEvents()\n" +
    "  if happenings == 0 then\n" +
    "    return\n" +
    "  end\n" +
    "  local time = redis.call('TIME')\n" +
    "  local newest = redis.call('XREVRANGE', events, '+', '-', 'COUNT', 1)[1]\n" +
    "  local before, begun\n" +
    "  if newest then\n" +
    "    before, begun = string.match(newest[1], '^(%d+)-(%d+)')\n" +
    "  else\n" +
    "    begun = string.format('%.0f', time[1] * 1000000 + time[2])\n" +
    "    before = begun\n" +
    "  end\n" +
    "  local last = string.format('%.0f', before + happenings)\n" +
    "  local instant = struct.pack('>d', time[1] * 1000 + math.floor(time[2] / 1000))\n" +
    "  local oldest = string.format('%.0f', math.max(0, before + happenings - keepEvents + 1))\n" +
    "  redis.call('XADD', events, 'MINID', '~', oldest, last .. '-' .. begun, 'e', instant .. table.concat(happened))\n" +
    "  redis.call(publish, events, '*:' .. last)\n" +
    "end\n" +
    "-- Tells those who wait for a task that it has ended for good. Expects tasks, watched, flows, outbox, publish, isExtended.\n" +
    "-- Call finish while the record is still in tasks. Beside it: flow.forget.part.lua for who removes records (`forgetFlows(ids)`), and\n" +
    "-- flow.due.part.lua for who tells workers of the outbox (`isOutboxDue()`: bit 2 of the exchange's chores). Others wake a worker when\n" +
    "-- there are `notes`: it asks for chores.\n" +
    "local endedIds, endedValues, endedCount, notes = {}, {}, 0, {}\n" +
    "\n" +
    "-- flags is the first byte of the record. value is what attempts says of the end (S…, D…, C…), or '' for a task that is\n" +
    "-- removed before it has ended.\n" +
    "local function finish(id, flags, value)\n" +
    "  if not isExtended then\n" +
    "    return\n" +
    "  end\n" +
    "  endedCount = endedCount + 1\n" +
    "  endedIds[endedCount], endedValues[endedCount] = id, value\n" +
    "  local kin = math.floor(flags / 32) % 4\n" +
    "  if kin % 2 == 1 then\n" +
    "    -- Who the parent is stands in the extras, which are JSON: the note has the record without the payload.\n" +
    "    local record = redis.call('HGET', tasks, id)\n" +
    "    if record then\n" +
    "      local at = 12\n" +
    "      if math.floor(flags / 16) % 2 == 1 then\n" +
    "        at = at + 2 + struct.unpack('>H', record, at)\n" +
    "      end\n" +
    "      if flags >= 128 then\n" +
    "        -- For how long the id is remembered.\n" +
    "        at = at + 8\n" +
    "      end\n" +
    "      at = at + 2 + struct.unpack('>H', record, at)\n" +
    "      at = at + 2 + struct.unpack('>H', record, at)\n" +
    "      local time = redis.call('TIME')\n" +
    "      local told = value ~= '' and value or 'X' .. struct.pack('>dH', time[1] * 1000 + math.floor(time[2] / 1000), 0)\n" +
    "      -- The instant keeps apart the ends of a task that is run again after it has ended.\n" +
    "      notes[#notes + 1] = 'n' .. string.sub(told, 2, 9) .. id\n" +
    "      notes[#notes + 1] = struct.pack('>I', at - 1) .. string.sub(record, 1, at - 1) .. told\n" +
    "    end\n" +
    "  end\n" +
    "  if kin >= 2 then\n" +
    "    -- f64 when, 8 bytes of flow, u16 children, u16 still to come, u8 policy, u8 waiting\n" +
    "    local head = redis.call('HGET', flows, id)\n" +
    "    if head and string.byte(head, 22) == 1 then\n" +
    "      if redis.call('HINCRBY', flows, 'w', -1) == 0 then\n" +
    "        redis.call('HDEL', flows, 'w')\n" +
    "      end\n" +
    "      redis.call('HSET', flows, id, string.sub(head, 1, 21) .. '\\0')\n" +
    "    end\n" +
    "    local state = string.sub(value, 1, 1)\n" +
    "    if head and (state == 'S' or state == '') then\n" +
    "      -- It won't ask for the results of its children again; there may be many, so they are removed step by step.\n" +
    "      redis.call('HDEL', flows, id)\n" +
    "      notes[#notes + 1] = 'g' .. string.sub(head, 9, 16)\n" +
    "      notes[#notes + 1] = string.sub(head, 17, 18)\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- Once, at the end of the script.\n" +
    "local function tellEnded()\n" +
    "  if endedCount == 0 then\n" +
    "    return\n" +
    "  end\n" +
    "  if #notes > 0 then\n" +
    "    redis.call('HSET', outbox, unpack(notes))\n" +
    "    -- Whoever has found that nothing was due yet has not seen these.\n" +
    "    redis.call('HDEL', outbox, 'p')\n" +
    "  end\n" +
    "  if redis.call('EXISTS', watched) == 0 then\n" +
    "    return\n" +
    "  end\n" +
    "  -- The score is the second until which somebody waits · 2^20, plus the number of the process; 0 stands for several.\n" +
    "  local SOLE = 1048576\n" +
    "  for from = 1, endedCount, 1000 do\n" +
    "    local upTo = math.min(from + 999, endedCount)\n" +
    "    for i, score in ipairs(redis.call('ZMSCORE', watched, unpack(endedIds, from, upTo))) do\n" +
    "      if score then\n" +
    "        local id, process = endedIds[from + i - 1], tonumber(score) % SOLE\n" +
    "        local channel = process == 0 and watched or watched .. ':' .. string.format('%.0f', process)\n" +
    "        redis.call(publish, channel, '*:' .. struct.pack('>H', #id) .. id .. endedValues[from + i - 1])\n" +
    "        redis.call('ZREM', watched, id)\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "-- Removes what is kept of the children of tasks that are forgotten. Expects flows, outbox, isExtended.\n" +
    "local function forgetFlows(ids)\n" +
    "  if not isExtended or #ids == 0 or redis.call('EXISTS', flows) == 0 then\n" +
    "    return\n" +
    "  end\n" +
    "  local garbage, parents = {}, {}\n" +
    "  for i, head in ipairs(redis.call('HMGET', flows, unpack(ids))) do\n" +
    "    if head then\n" +
    "      parents[#parents + 1] = ids[i]\n" +
    "      garbage[#garbage + 1] = 'g' .. string.sub(head, 9, 16)\n" +
    "      garbage[#garbage + 1] = string.sub(head, 17, 18)\n" +
    "    end\n" +
    "  end\n" +
    "  if #parents > 0 then\n" +
    "    redis.call('HDEL', flows, unpack(parents))\n" +
    "    redis.call('HSET', outbox, unpack(garbage))\n" +
    "  end\n" +
    "end\n" +
    "-- Whether the outbox holds something that nobody is sending. Expects outbox, now, isExtended.\n" +
    "local function isOutboxDue()\n" +
    "  if not isExtended or redis.call('EXISTS', outbox) == 0 then\n" +
    "    return false\n" +
    "  end\n" +
    "  -- l: f64 until when somebody sends, then who; p: f64 until when nothing is due.\n" +
    "  for _, text in ipairs(redis.call('HMGET', outbox, 'l', 'p')) do\n" +
    "    if text and struct.unpack('>d', text) > now then\n" +
    "      return false\n" +
    "    end\n" +
    "  end\n" +
    "  return true\n" +
    "end\n" +
    "-- Removes all that is known of tasks, but where their ids stand.\n" +
    "-- Expects: tasks, attempts, isExtended, progress, logs, and flow.forget.part.lua before it.\n" +
    "local function forget(ids)\n" +
    "  redis.call('HDEL', tasks, unpack(ids))\n" +
    "  redis.call('HDEL', attempts, unpack(ids))\n" +
    "  if isExtended then\n" +
    "    redis.call('HDEL', progress, unpack(ids))\n" +
    "    redis.call('HDEL', logs, unpack(ids))\n" +
    "    forgetFlows(ids)\n" +
    "  end\n" +
    "end\n" +
    "-- What an exchange does for a queue that uses more than the core. The other parts call it through `beyond`.\n" +
    "-- Expects: everything of the prologue of worker.exchange.lua, and the parts before it.\n" +
    "beyond.isOrdered = isOrdered\n" +
    "beyond.leaveGroup = leaveGroup\n" +
    "beyond.joinGroup = joinGroup\n" +
    "beyond.placeGroup = placeGroup\n" +
    "beyond.finish = finish\n" +
    "beyond.happen = happen\n" +
    "beyond.forget = forget\n" +
    "\n" +
    "-- Groups whose rest is over may run again. Returns whether any may.\n" +
    "function beyond.placeRested()\n" +
    "  for _, group in ipairs(redis.call('ZRANGE', resting, '-inf', now, 'BYSCORE', 'LIMIT', 0, MOST_RECOVERED)) do\n" +
    "    redis.call('ZREM', resting, group)\n" +
    "    groupState(group)\n" +
    "  end\n" +
    "  placeGroups()\n" +
    "  return redis.call('EXISTS', turns) == 1\n" +
    "end\n" +
    "\n" +
    "-- Void entries that one call goes over.\n" +
    "local MOST_HOLES = 1000\n" +
    "\n" +
    "-- How many of `want` tasks the limits of the queue allow now.\n" +
    "local rateInterval, rateBurst, usedUntil\n" +
    "local function saveRate()\n" +
    "  local ms = math.max(1, math.ceil(usedUntil - now))\n" +
    "  redis.call('SET', rate, string.format('%.3f', usedUntil), 'PX', string.format('%.0f', ms))\n" +
    "end\n" +
    "\n" +
    "function beyond.allowed(want)\n" +
    "  if string.find(believed, ';paused=1', 1, true) then\n" +
    "    want = 0\n" +
    "  end\n" +
    "  local concurrency = tonumber(string.match(believed, ';conc=(%d+)'))\n" +
    "  if concurrency then\n" +
    "    want = math.max(0, math.min(want, concurrency - redis.call('ZCARD', active)))\n" +
    "  end\n" +
    "  local limit, period, burst = string.match(believed, ';rate=(%d+)/(%d+)/(%d+)')\n" +
    "  if limit then\n" +
    "    rateInterval, rateBurst = period / limit, tonumber(burst)\n" +
    "    usedUntil = math.max(tonumber(redis.call('GET', rate) or 0), nowUs / 1000)\n" +
    "    local mostUsed = nowUs / 1000 + rateBurst * rateInterval\n" +
    "    if usedUntil > mostUsed then\n" +
    "      -- What was used under another rate must not stand in the way for longer than this one allows.\n" +
    "      usedUntil = mostUsed\n" +
    "      saveRate()\n" +
    "    end\n" +
    "    want = math.min(want, math.floor((nowUs / 1000 - usedUntil) / rateInterval + rateBurst + 0.000001))\n" +
    "  end\n" +
    "  return want\n" +
    "end\n" +
    "\n" +
    "-- So many were taken. Returns when the rate allows more, if it is what stands in the way.\n" +
    "function beyond.started(taken, isBlocked)\n" +
    "  placeGroups()\n" +
    "  if not rateInterval then\n" +
    "    return math.huge\n" +
    "  end\n" +
    "  usedUntil = usedUntil + taken * rateInterval\n" +
    "  if taken > 0 then\n" +
    "    saveRate()\n" +
    "  end\n" +
    "  local freeAt = usedUntil - (rateBurst - 1) * rateInterval\n" +
    "  return isBlocked and freeAt > now and freeAt or math.huge\n" +
    "end\n" +
    "\n" +
    "local hasHoles = redis.call('EXISTS', holes) == 1\n" +
    "\n" +
    "-- Pops ids of a lane, but for the entries that cancelling or removing has made void; and whether there are so many of these\n" +
    "-- that the next call has to go on.\n" +
    "function beyond.popReady(key, lane, most)\n" +
    "  local char, kept, filled = string.char(48 + lane), {}, 0\n" +
    "  while true do\n" +
    "    local ids = redis.call('LPOP', key, most - #kept) or {}\n" +
    "    if not hasHoles then\n" +
    "      for _, id in ipairs(ids) do\n" +
    "        kept[#kept + 1] = id\n" +
    "      end\n" +
    "      return kept, false\n" +
    "    end\n" +
    "    if #ids == 0 then\n" +
    "      return kept, false\n" +
    "    end\n" +
    "    -- The same id may come twice: as a hole, and as a task that was enqueued later.\n" +
    "    local voids, before = {}, filled\n" +
    "    for i, lanes in ipairs(redis.call('HMGET', holes, unpack(ids))) do\n" +
    "      voids[ids[i]] = lanes\n" +
    "    end\n" +
    "    for _, id in ipairs(ids) do\n" +
    "      local lanes = voids[id]\n" +
    "      local at = lanes and string.find(lanes, char, 1, true)\n" +
    "      if at then\n" +
    "        filled = filled + 1\n" +
    "        voids[id] = string.sub(lanes, 1, at - 1) .. string.sub(lanes, at + 1)\n" +
    "        if voids[id] == '' then\n" +
    "          redis.call('HDEL', holes, id)\n" +
    "        else\n" +
    "          redis.call('HSET', holes, id, voids[id])\n" +
    "        end\n" +
    "      else\n" +
    "        kept[#kept + 1] = id\n" +
    "      end\n" +
    "    end\n" +
    "    if filled > before and redis.call('HINCRBY', holes, char, before - filled) <= 0 then\n" +
    "      redis.call('HDEL', holes, char)\n" +
    "      hasHoles = redis.call('EXISTS', holes) == 1\n" +
    "    end\n" +
    "    if #kept == most then\n" +
    "      return kept, false\n" +
    "    elseif filled >= MOST_HOLES then\n" +
    "      return kept, true\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- The next group whose turn it is in this lane gives its first task: returns its id, its record, how often it was tried, and\n" +
    "-- the group. nil when there is none.\n" +
    "function beyond.nextOfGroups(lane)\n" +
    "  while true do\n" +
    "    local first = redis.call('ZRANGE', turns, 0, 0, 'WITHSCORES')\n" +
    "    if not first[1] or math.floor(first[2] / LANE_TURNS) ~= lane then\n" +
    "      return nil\n" +
    "    end\n" +
    "    local group = first[1]\n" +
    "    local state, head, id, record, before = groupState(group), headOf(group), nil, nil, 0\n" +
    "    if isHeldUp(state) then\n" +
    "      -- It was placed under other limits.\n" +
    "      head = nil\n" +
    "    elseif not head then\n" +
    "      state[1] = 0\n" +
    "    else\n" +
    "      id = string.sub(head, #group + 12)\n" +
    "      redis.call('ZREM', grouped, head)\n" +
    "      state[1] = math.max(0, state[1] - 1)\n" +
    "      record = redis.call('HGET', tasks, id)\n" +
    "      local last = redis.call('HGET', attempts, id)\n" +
    "      if last then\n" +
    "        local _\n" +
    "        _, before = struct.unpack('>dH', last, 2)\n" +
    "      end\n" +
    "    end\n" +
    "    if record then\n" +
    "      state[2] = state[2] + 1\n" +
    "      if groupInterval then\n" +
    "        state[3] = math.max(state[3], now) + groupInterval\n" +
    "      end\n" +
    "    end\n" +
    "    placeGroup(group, true)\n" +
    "    if record then\n" +
    "      return id, record, before, group\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- Tells of all that has happened. Returns what there is to do beside tasks: 1 a schedule is due, 2 the outbox holds something.\n" +
    "function beyond.tell()\n" +
    "  saveTurns()\n" +
    "  tellEnded()\n" +
    "  tellEvents()\n" +
    "  local due = redis.call('ZRANGE', firing, 0, 0, 'WITHSCORES')[2]\n" +
    "  return (due and tonumber(due) <= now and 1 or 0) + (isOutboxDue() and 2 or 0)\n" +
    "end\n" +
    "end\n" +
    "\n" +
    "-- 1. Settle, and put back what dead workers held.\n" +
    "-- Settles what has succeeded; the rest is set aside for worker.return.part.lua.\n" +
    "-- Expects: everything of the prologue of worker.exchange.lua.\n" +
    "-- Neighbours are often the same in all but the id (taken in one call, without a result): those are not taken apart again.\n" +
    "\n" +
    "-- Operands of HSET: what is to be said of attempts.\n" +
    "local changed = {}\n" +
    "local settled, left, finished, setAside, hasDied = {}, {}, {}, {}, false\n" +
    "local isKept = keepSucceeded > 0 and keepSucceededMs > 0\n" +
    "if count > 0 then\n" +
    "  local told = { struct.unpack(count == 1 and '>Hc0Ic0' or '>' .. string.rep('Hc0Ic0', count), settlements) }\n" +
    "  local ids = {}\n" +
    "  for i = 1, count do\n" +
    "    ids[i] = told[2 * i - 1]\n" +
    "  end\n" +
    "  local lasts = redis.call('HMGET', attempts, unpack(ids))\n" +
    "  local tellingBefore, lastBefore, verdict, given, delay, data\n" +
    "  local state, held, attempt, flags, most, group, success\n" +
    "  for i = 1, count do\n" +
    "    local id, telling, last = ids[i], told[2 * i], lasts[i]\n" +
    "    if telling ~= tellingBefore or last ~= lastBefore then\n" +
    "      local at\n" +
    "      verdict, given, delay, at = struct.unpack('>c1Id', telling)\n" +
    "      data = string.sub(telling, at)\n" +
    "      state = string.sub(last or '', 1, 1)\n" +
    "      if state == 'A' then\n" +
    "        held, attempt, flags, most, at = struct.unpack('>IHBH', last, 2)\n" +
    "        -- 0: it was handed over, and this is the first that is heard of its attempt.\n" +
    "        attempt = math.max(1, attempt)\n" +
    "        group = string.sub(last, at)\n" +
    "        success = verdict == 'S' and struct.pack('>c1dH', 'S', now, attempt) .. data\n" +
    "      end\n" +
    "      tellingBefore, lastBefore = telling, last\n" +
    "    end\n" +
    "    if state == 'A' and held == given then\n" +
    "      settled[i] = '1'\n" +
    "      left[#left + 1] = id\n" +
    "      if success then\n" +
    "        finished[#finished + 1] = id\n" +
    "        if isKept then\n" +
    "          local size = #changed\n" +
    "          changed[size + 1], changed[size + 2] = id, success\n" +
    "        end\n" +
    "        if beyond then\n" +
    "          if group ~= '' then\n" +
    "            beyond.leaveGroup(group)\n" +
    "          end\n" +
    "          beyond.finish(id, flags, success)\n" +
    "          beyond.happen('S', id, success)\n" +
    "        end\n" +
    "      else\n" +
    "        setAside[#setAside + 1] = { id, flags, group, attempt, verdict, delay, data }\n" +
    "      end\n" +
    "    else\n" +
    "      settled[i] = state == 'C' and 'C' or '0'\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "if #left > 0 then\n" +
    "  redis.call('ZREM', active, unpack(left))\n" +
    "end\n" +
    "local expired = isThorough\n" +
    "    and redis.call('ZRANGEBYSCORE', active, '-inf', string.format('%.0f', now), 'LIMIT', '0', MOST_RECOVERED)\n" +
    "  or {}\n" +
    "if #setAside > 0 or #expired > 0 then\n" +
    "-- What has not succeeded: it is dead, or goes back to its lane, with what dead workers held.\n" +
    "-- Expects: everything of the prologue of worker.exchange.lua, and the parts before it; expired.\n" +
    "-- In these, `flags` is the first byte of the record, `group` is '' for a task without one.\n" +
    "local function bury(id, flags, group, attempt, reason)\n" +
    "  local last = struct.pack('>c1dH', 'D', now, attempt) .. reason\n" +
    "  changed[#changed + 1] = id\n" +
    "  changed[#changed + 1] = last\n" +
    "  redis.call('ZADD', dead, now, id)\n" +
    "  hasDied = true\n" +
    "  if beyond then\n" +
    "    if group ~= '' then\n" +
    "      beyond.leaveGroup(group)\n" +
    "    end\n" +
    "    beyond.finish(id, flags, last)\n" +
    "    beyond.happen('D', id, last)\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local function putBack(id, flags, group, at, attempt, reason)\n" +
    "  local state = 'R'\n" +
    "  if group ~= '' then\n" +
    "    if beyond.isOrdered then\n" +
    "      state = 'H'\n" +
    "    else\n" +
    "      beyond.leaveGroup(group)\n" +
    "    end\n" +
    "  end\n" +
    "  local last = struct.pack('>c1dH', state, now, attempt) .. reason\n" +
    "  changed[#changed + 1] = id\n" +
    "  changed[#changed + 1] = last\n" +
    "  redis.call('ZADD', laneKeys[3 * (flags % LANES) + 3], string.format('%.3f', at), id)\n" +
    "  if beyond then\n" +
    "    beyond.happen(state, id, last)\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- What goes back at once keeps its order whatever the ids are: each has an instant of its own, by the µs, and none is ahead of now.\n" +
    "local backAt = now - 2 + time[2] % 1000 / 1000\n" +
    "for i, one in ipairs(setAside) do\n" +
    "  local id, flags, group, attempt, verdict, delay, reason = unpack(one)\n" +
    "  if verdict == 'D' then\n" +
    "    bury(id, flags, group, attempt, reason)\n" +
    "  else\n" +
    "    local at = verdict == 'B' and delay == 0 and backAt + i / 1000 or now + delay\n" +
    "    putBack(id, flags, group, at, verdict == 'R' and attempt or attempt - 1, reason)\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- Due now, so ahead of the ready tasks of their lane.\n" +
    "if #expired > 0 then\n" +
    "  redis.call('ZREM', active, unpack(expired))\n" +
    "  for i, last in ipairs(redis.call('HMGET', attempts, unpack(expired))) do\n" +
    "    if last and string.sub(last, 1, 1) == 'A' then\n" +
    "      local attempt, flags, most, at = struct.unpack('>HBH', last, 6)\n" +
    "      local group = string.sub(last, at)\n" +
    "      local reason = 'the lease ended: the worker died or lost its connection'\n" +
    "      if attempt >= most then\n" +
    "        bury(expired[i], flags, group, attempt, reason)\n" +
    "      else\n" +
    "        putBack(expired[i], flags, group, now, attempt, reason)\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "end\n" +
    "\n" +
    "-- 2. Take, as far as the limits allow. What isn't allowed now doesn't keep the worker from parking.\n" +
    "local delayed = {}\n" +
    "for i = 2, 3 * laneCount, 3 do\n" +
    "  delayed[#delayed + 1], delayed[#delayed + 2] = laneKeys[i], laneKeys[i + 1]\n" +
    "end\n" +
    "local hasDelayed = redis.call('EXISTS', unpack(delayed)) > 0\n" +
    "if hasDelayed and #changed > 0 then\n" +
    "  -- Some of it may be taken again at once.\n" +
    "  redis.call('HSET', attempts, unpack(changed))\n" +
    "  changed = {}\n" +
    "end\n" +
    "local reply = { #settled == 1 and settled[1] or table.concat(settled), -1, nowUs, 0 }\n" +
    "local wanted, isBlocked, rateFreeAt = want, false, math.huge\n" +
    "local taken, bytes, leases = 0, 0, {}\n" +
    "local leaseUntil = string.format('%.0f', now + leaseMs)\n" +
    "if hasDelayed or isExtended then\n" +
    "-- Takes tasks: in each lane those that have fallen due, in the order in which they did, then groups and ready tasks in turn.\n" +
    "-- Expects: everything of the prologue of worker.exchange.lua, and the parts before it.\n" +
    "local GROUPED = 16\n" +
    "local firstMarks = {}\n" +
    "local hasGroups = false\n" +
    "if isExtended then\n" +
    "  hasGroups = beyond.placeRested() or hasDelayed\n" +
    "  want = beyond.allowed(want)\n" +
    "end\n" +
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
    "-- The task is active from now on.\n" +
    "local function give(id, attempt, head, record)\n" +
    "  local size, at = 2 * taken, #reply\n" +
    "  local mark = markOf(attempt, head)\n" +
    "  changed[#changed + 1] = id\n" +
    "  changed[#changed + 1] = mark\n" +
    "  leases[size + 1], leases[size + 2] = leaseUntil, id\n" +
    "  reply[at + 1], reply[at + 2], reply[at + 3] = id, attempt, record\n" +
    "  taken = taken + 1\n" +
    "  bytes = bytes + #record\n" +
    "  if isExtended then\n" +
    "    beyond.happen('A', id, mark)\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- Hands out ids, the first one first, in pieces that double, so that big records end it early. Returns how many ids it\n" +
    "-- got through. An id without a record is dropped: somebody has deleted it. `dueAt`: for each id when it fell due, or nil for\n" +
    "-- first attempts. A task with a group that has fallen due waits for the turn of its group, unless it holds that.\n" +
    "local function hand(ids, dueAt)\n" +
    "  local from, joined = 1, {}\n" +
    "  while from <= #ids and bytes < MOST_BYTES do\n" +
    "    local upTo = math.min(#ids, math.max(8, 2 * from))\n" +
    "    local records = redis.call('HMGET', tasks, unpack(ids, from, upTo))\n" +
    "    local lasts = dueAt and redis.call('HMGET', attempts, unpack(ids, from, upTo)) or {}\n" +
    "    for i, record in ipairs(records) do\n" +
    "      local id, last, before = ids[from + i - 1], lasts[i], 0\n" +
    "      if record then\n" +
    "        local state\n" +
    "        if last then\n" +
    "          local _\n" +
    "          state, _, before = struct.unpack('>c1dH', last)\n" +
    "        end\n" +
    "        local flags = isExtended and string.byte(record) or 0\n" +
    "        if taken >= slots and before + 1 >= struct.unpack('>H', record, 2) then\n" +
    "          -- Nobody may die of having waited for a slot: the reply ends here, and there is more to take.\n" +
    "          bytes, upTo = MOST_BYTES, from + i - 2\n" +
    "          break\n" +
    "        end\n" +
    "        if math.floor(flags / GROUPED) % 2 == 0 then\n" +
    "          give(id, before + 1, string.sub(record, 1, 3), record)\n" +
    "        else\n" +
    "          local group = struct.unpack('>Hc0', record, 12)\n" +
    "          if state == 'H' then\n" +
    "            give(id, before + 1, string.sub(record, 1, 3) .. group, record)\n" +
    "          else\n" +
    "            beyond.joinGroup(group, flags % LANES, id, before, dueAt[from + i - 1])\n" +
    "            joined[#joined + 1] = group\n" +
    "          end\n" +
    "        end\n" +
    "      elseif last then\n" +
    "        redis.call('HDEL', attempts, id)\n" +
    "      end\n" +
    "    end\n" +
    "    from = upTo + 1\n" +
    "  end\n" +
    "  -- Now, since it may be their turn in this call: nobody is woken for them.\n" +
    "  local isPlaced = {}\n" +
    "  for _, group in ipairs(joined) do\n" +
    "    if not isPlaced[group] then\n" +
    "      isPlaced[group] = true\n" +
    "      beyond.placeGroup(group, false)\n" +
    "    end\n" +
    "  end\n" +
    "  return from - 1\n" +
    "end\n" +
    "\n" +
    "-- To the µs, as delays end.\n" +
    "local dueUpTo = string.format('%.3f', nowUs / 1000)\n" +
    "-- Takes due ids from the schedule and the retries of a lane, merged by the instant at which they fell due.\n" +
    "local function takeDue(scheduled, retrying)\n" +
    "  local most = want - taken\n" +
    "  local a = redis.call('ZRANGE', scheduled, '-inf', dueUpTo, 'BYSCORE', 'LIMIT', 0, most, 'WITHSCORES')\n" +
    "  local b = redis.call('ZRANGE', retrying, '-inf', dueUpTo, 'BYSCORE', 'LIMIT', 0, most, 'WITHSCORES')\n" +
    "  local i, j, ids, isScheduled, dueAt = 1, 1, {}, {}, {}\n" +
    "  while #ids < most and (a[i] or b[j]) do\n" +
    "    local isNext = a[i] and (not b[j] or tonumber(a[i + 1]) <= tonumber(b[j + 1]))\n" +
    "    local at = #ids + 1\n" +
    "    isScheduled[at] = isNext\n" +
    "    if isNext then\n" +
    "      ids[at], dueAt[at] = a[i], a[i + 1]\n" +
    "      i = i + 2\n" +
    "    else\n" +
    "      ids[at], dueAt[at] = b[j], b[j + 1]\n" +
    "      j = j + 2\n" +
    "    end\n" +
    "  end\n" +
    "  local used, ofSchedule = hand(ids, dueAt), 0\n" +
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
    "local function takeReady(lane)\n" +
    "  local key, ids, isCut = laneKeys[3 * lane + 1], nil, false\n" +
    "  if isExtended then\n" +
    "    ids, isCut = beyond.popReady(key, lane, want - taken)\n" +
    "  else\n" +
    "    ids = redis.call('LPOP', key, want - taken) or {}\n" +
    "  end\n" +
    "  for i = #ids, hand(ids) + 1, -1 do\n" +
    "    redis.call('LPUSH', key, ids[i])\n" +
    "  end\n" +
    "  if isCut then\n" +
    "    -- The reply ends here, and there is more to take.\n" +
    "    bytes = MOST_BYTES\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "-- One task of each group whose turn it is, until there are `most`.\n" +
    "local function takeGrouped(lane, most)\n" +
    "  while most > 0 and taken < want and bytes < MOST_BYTES do\n" +
    "    local id, record, before, group = beyond.nextOfGroups(lane)\n" +
    "    if not id then\n" +
    "      return\n" +
    "    end\n" +
    "    give(id, before + 1, string.sub(record, 1, 3) .. group, record)\n" +
    "    most = most - 1\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local function takeLane(lane)\n" +
    "  if taken < want and bytes < MOST_BYTES and hasDelayed then\n" +
    "    takeDue(laneKeys[3 * lane + 2], laneKeys[3 * lane + 3])\n" +
    "  end\n" +
    "  if hasGroups and taken < want then\n" +
    "    -- Of what is left, half for the groups and half for the others, or all for the ones where there are none of the others.\n" +
    "    -- A worker that has one free slot at a time asks for one task: the µs decide whose it is, as a coin would.\n" +
    "    local isBoth = redis.call('EXISTS', laneKeys[3 * lane + 1]) == 1\n" +
    "    takeGrouped(lane, isBoth and math.floor((want - taken + nowUs % 2) / 2) or want)\n" +
    "  end\n" +
    "  if taken < want and bytes < MOST_BYTES then\n" +
    "    takeReady(lane)\n" +
    "  end\n" +
    "  if hasGroups and taken < want then\n" +
    "    takeGrouped(lane, want)\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "for lane = 0, laneCount - 1 do\n" +
    "  if taken < want then\n" +
    "    takeLane(lane)\n" +
    "  end\n" +
    "end\n" +
    "else\n" +
    "-- Takes ready tasks, those of earlier lanes first: where nothing is delayed and no more than the core is used.\n" +
    "-- Expects: everything of the prologue of worker.exchange.lua, and the parts before it. What a task is taken with is said in\n" +
    "-- worker.take.part.lua.\n" +
    "local lane, headBefore, mark, isOnly = 1, nil, nil, false\n" +
    "while taken < want and bytes < MOST_BYTES and lane <= 3 * laneCount do\n" +
    "  local ready, ids = laneKeys[lane], nil\n" +
    "  lane = lane + 3\n" +
    "  if want == 1 then\n" +
    "    ids = { redis.call('LPOP', ready) or nil }\n" +
    "  else\n" +
    "    ids = redis.call('LPOP', ready, want - taken) or {}\n" +
    "  end\n" +
    "  -- In pieces that double, so that big records end it early.\n" +
    "  local from, most = 1, #ids\n" +
    "  while from <= most and bytes < MOST_BYTES do\n" +
    "    local upTo = math.min(most, math.max(8, 2 * from))\n" +
    "    local records = redis.call('HMGET', tasks, unpack(ids, from, upTo))\n" +
    "    for i = from, upTo do\n" +
    "      local id, record = ids[i], records[i - from + 1]\n" +
    "      -- An id without a record is dropped: somebody has deleted it.\n" +
    "      if record then\n" +
    "        local head = string.sub(record, 1, 3)\n" +
    "        if head ~= headBefore then\n" +
    "          headBefore, mark = head, struct.pack('>c1IH', 'A', token, 1) .. head\n" +
    "          isOnly = string.sub(head, 2) == '\\0\\1'\n" +
    "        end\n" +
    "        if isOnly and taken >= slots then\n" +
    "          -- Nobody may die of having waited for a slot: the reply ends here, and there is more to take.\n" +
    "          bytes, upTo = MOST_BYTES, i - 1\n" +
    "          break\n" +
    "        end\n" +
    "        local change, lease, at = #changed, 2 * taken, #reply\n" +
    "        changed[change + 1], changed[change + 2] = id, mark\n" +
    "        leases[lease + 1], leases[lease + 2] = leaseUntil, id\n" +
    "        reply[at + 1], reply[at + 2], reply[at + 3] = id, 1, record\n" +
    "        taken = taken + 1\n" +
    "        bytes = bytes + #record\n" +
    "      end\n" +
    "    end\n" +
    "    from = upTo + 1\n" +
    "  end\n" +
    "  for i = most, from, -1 do\n" +
    "    redis.call('LPUSH', ready, ids[i])\n" +
    "  end\n" +
    "end\n" +
    "end\n" +
    "if #changed > 0 then\n" +
    "  redis.call('HSET', attempts, unpack(changed))\n" +
    "end\n" +
    "if isThorough and taken > 0 then\n" +
    "  redis.call('HSET', attempts, '', LONG_MEMBER)\n" +
    "  redis.call('HDEL', attempts, '')\n" +
    "  if bytes <= LONG * taken then\n" +
    "    redis.call('HSET', tasks, '', LONG_MEMBER)\n" +
    "    redis.call('HDEL', tasks, '')\n" +
    "  end\n" +
    "end\n" +
    "if taken >= MANY then\n" +
    "  redis.call('ZADD', active, '0', LONG_MEMBER, unpack(leases))\n" +
    "  redis.call('ZREM', active, LONG_MEMBER)\n" +
    "elseif taken > 0 then\n" +
    "  redis.call('ZADD', active, unpack(leases))\n" +
    "end\n" +
    "if isExtended then\n" +
    "  isBlocked = want < wanted and taken == want\n" +
    "  rateFreeAt = beyond.started(taken, isBlocked)\n" +
    "end\n" +
    "\n" +
    "-- 3. Retention.\n" +
    "local endOf\n" +
    "if isThorough then\n" +
    "-- What became of a task: attempts says so, or its record, which is sealed then (see seal.ts). Whoever finds no entry in attempts\n" +
    "-- has to ask here. Expects: tasks.\n" +
    "\n" +
    "-- The record as it was enqueued, whether it is sealed or not, and what attempts says of the task, or would say: S, f64\n" +
    "-- instant, u16 attempt. `last` is what it has of the task, if anything.\n" +
    "local function unseal(record, last)\n" +
    "  if not record or #record < 16 or string.byte(record, 4) >= 64 then\n" +
    "    return record, last\n" +
    "  end\n" +
    "  local high, low, attempt, low2 = struct.unpack('>HBBB', record)\n" +
    "  local enqueuedAt = struct.unpack('>d', record, 9)\n" +
    "  -- An instant of enqueuing may be a little ahead of the time.\n" +
    "  local endedAt = enqueuedAt + high * 65536 + low * 256 + low2 - 65536\n" +
    "  return string.sub(record, 6), last or struct.pack('>c1dH', 'S', endedAt, attempt)\n" +
    "end\n" +
    "\n" +
    "-- What attempts would say of a task that has no entry there; false when there is nothing to say, since it has not been taken;\n" +
    "-- nil for a task that is unknown. Reads no big record.\n" +
    "local function sealedEnd(id)\n" +
    "  local MOST_BYTES = 512\n" +
    "  local bytes = redis.call('HSTRLEN', tasks, id)\n" +
    "  if bytes == 0 then\n" +
    "    return nil\n" +
    "  end\n" +
    "  local _, last = unseal(bytes <= MOST_BYTES and redis.call('HGET', tasks, id), false)\n" +
    "  return last\n" +
    "end\n" +
    "  endOf = sealedEnd\n" +
    "end\n" +
    "-- Retention: by count at least as many as came, by age a few more.\n" +
    "-- Expects: everything of the prologue of worker.exchange.lua, and the parts before it; when it is thorough, task.seal.part.lua.\n" +
    "local MOST_AGED = 200\n" +
    "local gone = isKept and {} or finished\n" +
    "local kept = 0\n" +
    "if #finished > 0 then\n" +
    "  kept = isKept and redis.call('RPUSH', succeeded, unpack(finished)) or redis.call('LLEN', succeeded)\n" +
    "end\n" +
    "if kept > keepSucceeded then\n" +
    "  local oldest = redis.call('LPOP', succeeded, math.min(2 * #finished + 8, kept - keepSucceeded))\n" +
    "  for _, id in ipairs(oldest) do\n" +
    "    gone[#gone + 1] = id\n" +
    "  end\n" +
    "end\n" +
    "for _ = 1, isThorough and MOST_AGED or 0 do\n" +
    "  local oldest = redis.call('LINDEX', succeeded, '0')\n" +
    "  local last = oldest and (redis.call('HGET', attempts, oldest) or endOf(oldest))\n" +
    "  if not oldest or last and struct.unpack('>d', last, 2) > now - keepSucceededMs then\n" +
    "    break\n" +
    "  end\n" +
    "  gone[#gone + 1] = redis.call('LPOP', succeeded)\n" +
    "end\n" +
    "-- Where there is more than the core, parents die of their children in other calls.\n" +
    "if hasDied or isExtended then\n" +
    "  local surplus = redis.call('ZCARD', dead) - keepDead\n" +
    "  if surplus > 0 then\n" +
    "    -- At most 600 have died above; an operator may have lowered the limit.\n" +
    "    local oldest = redis.call('ZRANGE', dead, 0, math.min(surplus, 1000) - 1)\n" +
    "    redis.call('ZREM', dead, unpack(oldest))\n" +
    "    for _, id in ipairs(oldest) do\n" +
    "      gone[#gone + 1] = id\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "if #gone > 0 then\n" +
    "  if isExtended then\n" +
    "    beyond.forget(gone)\n" +
    "  else\n" +
    "    redis.call('HDEL', tasks, unpack(gone))\n" +
    "    redis.call('HDEL', attempts, unpack(gone))\n" +
    "  end\n" +
    "end\n" +
    "if isThorough and taken == 0 and isKept then\n" +
    "-- Seals records, see task/seal.ts. That costs half of what it costs to run a task, and where much goes on most records are gone\n" +
    "-- before long: so it is done where there is nothing to take.\n" +
    "-- Expects: everything of the prologue of worker.exchange.lua, and the parts before it.\n" +
    "local PIECE = 20\n" +
    "-- As many as are kept by default: 3 ms.\n" +
    "local MOST_SEALED = 1000\n" +
    "local MOST_RECORD_BYTES = 256\n" +
    "local MOST_ATTEMPT = 63\n" +
    "local MOST_MS = 4294967295\n" +
    "\n" +
    "-- The sealed record; nil for one that has to stay as it is. `last` is what attempts says: S, f64 instant, u16 attempt.\n" +
    "local function sealed(record, last)\n" +
    "  local enqueuedAt, endedAt, attempt = struct.unpack('>d', record, 4), struct.unpack('>dH', last, 2)\n" +
    "  local isOfFlow = math.floor(string.byte(record) / 32) % 4 > 0\n" +
    "  local ms = endedAt - enqueuedAt + 65536\n" +
    "  if isOfFlow or attempt > MOST_ATTEMPT or ms < 0 or ms > MOST_MS or ms % 1 > 0 then\n" +
    "    return nil\n" +
    "  end\n" +
    "  return struct.pack('>HBBB', math.floor(ms / 65536), math.floor(ms / 256) % 256, attempt, ms % 256) .. record\n" +
    "end\n" +
    "\n" +
    "-- Those at these places of the list; returns how many records it has sealed. Who has told nothing but the end has 11 bytes.\n" +
    "local function sealAll(first, last)\n" +
    "  local ids = redis.call('LRANGE', succeeded, first, last)\n" +
    "  local bare, ends = {}, {}\n" +
    "  for i, told in ipairs(#ids > 0 and redis.call('HMGET', attempts, unpack(ids)) or {}) do\n" +
    "    if told and #told == 11 and redis.call('HSTRLEN', tasks, ids[i]) <= MOST_RECORD_BYTES then\n" +
    "      bare[#bare + 1], ends[#ends + 1] = ids[i], told\n" +
    "    end\n" +
    "  end\n" +
    "  local operands, done = {}, {}\n" +
    "  for i, record in ipairs(#bare > 0 and redis.call('HMGET', tasks, unpack(bare)) or {}) do\n" +
    "    local other = record and sealed(record, ends[i])\n" +
    "    if other then\n" +
    "      local size = #done\n" +
    "      done[size + 1] = bare[i]\n" +
    "      operands[2 * size + 1], operands[2 * size + 2] = bare[i], other\n" +
    "    end\n" +
    "  end\n" +
    "  if #done > 0 then\n" +
    "    redis.call('HSET', tasks, unpack(operands))\n" +
    "    redis.call('HDEL', attempts, unpack(done))\n" +
    "  end\n" +
    "  return #done\n" +
    "end\n" +
    "\n" +
    "-- From the latest one back to where others have been.\n" +
    "local upTo = -1\n" +
    "while upTo >= -MOST_SEALED and sealAll(upTo - PIECE + 1, upTo) > 0 do\n" +
    "  upTo = upTo - PIECE\n" +
    "end\n" +
    "end\n" +
    "\n" +
    "-- 4. Who waits, and who keeps the time. Where nobody is parked a worker that is full has nobody to tell, and who parks next\n" +
    "-- sees that an old timekeeper is not parked.\n" +
    "local parks = taken < slots and bytes < MOST_BYTES\n" +
    "if parks or redis.call('EXISTS', idle) == 1 then\n" +
    "-- Tells parked workers, those that have waited longest first, that there may be something to take. `message`: for the one who\n" +
    "-- may be handed a task along with it. Returns whether the last who was told was such; nil when nobody was told.\n" +
    "-- Expects: idle, publish, now.\n" +
    "local function wake(most, message)\n" +
    "  local isHanded\n" +
    "  for _ = 1, 16 do\n" +
    "    if most == 0 then\n" +
    "      break\n" +
    "    end\n" +
    "    local parked = redis.call('ZPOPMIN', idle)\n" +
    "    if #parked == 0 then\n" +
    "      break\n" +
    "    end\n" +
    "    -- What is published to somebody who listens to a replica, or still to a former master, arrives there but isn't counted: the next\n" +
    "    -- one would be handed the same task. So whoever isn't heard here gets none.\n" +
    "    local takes = message ~= nil\n" +
    "      and parked[2] % 1 > 0\n" +
    "      and redis.call('PUBSUB', publish == 'SPUBLISH' and 'SHARDNUMSUB' or 'NUMSUB', parked[1])[2] > 0\n" +
    "    -- Not those that are gone, or whose parking time is over.\n" +
    "    if tonumber(parked[2]) >= now and redis.call(publish, parked[1], takes and message or 'w:') > 0 then\n" +
    "      most = most - 1\n" +
    "      isHanded = takes\n" +
    "    end\n" +
    "  end\n" +
    "  return isHanded\n" +
    "end\n" +
    "-- Who waits, and who keeps the time.\n" +
    "-- Expects: everything of the prologue of worker.exchange.lua, and the parts before it.\n" +
    "\n" +
    "local PARKED_KEYS_MS = '60000'\n" +
    "\n" +
    "-- The next instant at which something can be taken that cannot be now, or a lease ends; math.huge when there is none.\n" +
    "local function nextInstant()\n" +
    "  local earliest = math.huge\n" +
    "  local function look(key)\n" +
    "    local head = redis.call('ZRANGE', key, '0', '0', 'WITHSCORES')\n" +
    "    if head[2] then\n" +
    "      earliest = math.min(earliest, tonumber(head[2]))\n" +
    "    end\n" +
    "  end\n" +
    "  look(active)\n" +
    "  if isExtended then\n" +
    "    local fires = redis.call('ZRANGE', firing, 0, 0, 'WITHSCORES')[2]\n" +
    "    -- Of schedules that are due this worker is told below, and asks again when it has fired them.\n" +
    "    if fires and tonumber(fires) > now then\n" +
    "      earliest = math.min(earliest, tonumber(fires))\n" +
    "    end\n" +
    "    earliest = math.min(earliest, rateFreeAt)\n" +
    "    if isBlocked then\n" +
    "      -- What falls due has to wait for something else, whose end is an exchange of whoever ends it.\n" +
    "      return earliest\n" +
    "    end\n" +
    "    look(resting)\n" +
    "  end\n" +
    "  if hasDelayed then\n" +
    "    for lane = 0, laneCount - 1 do\n" +
    "      look(laneKeys[3 * lane + 2])\n" +
    "      look(laneKeys[3 * lane + 3])\n" +
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
    "local nextAt\n" +
    "if parks then\n" +
    "  -- Nothing more to take: the worker sleeps until it is woken, or for so long; -1 when another one keeps the time.\n" +
    "  redis.call('ZREMRANGEBYSCORE', idle, '-inf', string.format('%.0f', now))\n" +
    "  redis.call('ZADD', idle, string.format('%.1f', now + parkMs), channel)\n" +
    "  redis.call('PEXPIRE', idle, PARKED_KEYS_MS)\n" +
    "  nextAt = nextInstant()\n" +
    "  local due, keeper = timing()\n" +
    "  local isTimed = keeper and keeper ~= channel and due <= nextAt and redis.call('ZSCORE', idle, keeper)\n" +
    "  if not isTimed and nextAt < math.huge then\n" +
    "    redis.call('SET', timekeeper, string.format('%.3f %s', nextAt, channel), 'PX', PARKED_KEYS_MS)\n" +
    "    reply[2] = nextAt > now and math.max(1, math.ceil(nextAt * 1000 - nowUs)) or 0\n" +
    "  elseif not isTimed and keeper then\n" +
    "    -- What was timed is past: it must not stand in the way of what comes.\n" +
    "    redis.call('DEL', timekeeper)\n" +
    "  end\n" +
    "else\n" +
    "  -- Full, or leaving: others take what is left, and the time.\n" +
    "  redis.call('ZREM', idle, channel)\n" +
    "  nextAt = nextInstant()\n" +
    "  local due, keeper = timing()\n" +
    "  if keeper == channel then\n" +
    "    redis.call('DEL', timekeeper)\n" +
    "    due = math.huge\n" +
    "  end\n" +
    "  local hasMore = false\n" +
    "  for lane = 0, isBlocked and -1 or laneCount - 1 do\n" +
    "    hasMore = hasMore or redis.call('EXISTS', laneKeys[3 * lane + 1]) == 1\n" +
    "  end\n" +
    "  if isExtended then\n" +
    "    local fires = redis.call('ZRANGE', firing, '0', '0', 'WITHSCORES')[2]\n" +
    "    hasMore = hasMore\n" +
    "      or not isBlocked and redis.call('EXISTS', turns) == 1\n" +
    "      -- Who leaves fires no schedules.\n" +
    "      or fires and tonumber(fires) <= now\n" +
    "  end\n" +
    "  if nextAt <= now or hasMore then\n" +
    "    wake(2)\n" +
    "  elseif nextAt < due then\n" +
    "    wake(1)\n" +
    "  end\n" +
    "end\n" +
    "end\n" +
    "if bytes >= MOST_BYTES then\n" +
    "  reply[2] = 0\n" +
    "end\n" +
    "\n" +
    "-- 5. Tell.\n" +
    "if isExtended then\n" +
    "  reply[4] = beyond.tell()\n" +
    "end\n" +
    "return reply\n",
} as const);

export const workerNote = new Script({
  name: "worker.note",
  isReadOnly: false,
  keys: ["attempts","progress","logs","events"],
  args: ["keepEvents","publish"],
  restArg: "entries",
  source: "#!lua flags=allow-oom\n" +
    "-- Keeps what running tasks tell of themselves. What comes from an attempt that no longer holds its lease is refused. It is\n" +
    "-- bounded, so memory that is full is no reason to fail the attempts of whoever tells something.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   attempts     HASH id -> last attempt; A u32 token … while active, C … cancelled\n" +
    "--   progress     HASH id -> JSON; as long as the task's record\n" +
    "--   logs         HASH id -> lines \"<ms since the epoch> <text>\\n" +
    "\", the last 100 and 16,384 bytes; likewise\n" +
    "--   events       STREAM\n" +
    "-- ARGV\n" +
    "--   keepEvents   how many events are kept; 0: none are written\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "--   entries...   four for each, 200 at most, no id twice under one token: id; token; JSON or \"\"; lines that end in \\n" +
    ", or \"\"\n" +
    "-- RETURNS\n" +
    "--   a string with one character an entry: 1 stored, 0 lease lost, C cancelled\n" +
    "local attempts, progress, logs, events = KEYS[1], KEYS[2], KEYS[3], KEYS[4]\n" +
    "local keepEvents, publish = tonumber(ARGV[1]), ARGV[2]\n" +
    "local MOST_LINES = 100\n" +
    "local MOST_BYTES = 16384\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "local stamp = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000)) .. ' %1\\n" +
    "'\n" +
    "local entries, ids, replies, told = {}, {}, {}, {}\n" +
    "for i = 3, #ARGV, 4 do\n" +
    "  ids[#ids + 1] = ARGV[i]\n" +
    "  entries[#entries + 1] = { token = tonumber(ARGV[i + 1]), progress = ARGV[i + 2], lines = ARGV[i + 3] }\n" +
    "end\n" +
    "\n" +
    "-- Tells those who read events what has happened. Expects events, keepEvents, publish. All of one call become one entry of the\n" +
    "-- stream, and one message. Events are numbered without a gap: an entry's id is the number of the last event in it, so a\n" +
    "-- reader knows what it has missed, and the first number of a stream is its time in µs, so that no number comes twice when\n" +
    "-- a stream is begun anew. Behind the `-` of each id stands that first number, which costs nothing, since it is the same in all of\n" +
    "-- them: who has seen less has seen another stream (0: it was begun by an older version). An entry: f64 instant (ms), then for each event: kind, u16 length · id, u16 attempt,\n" +
    "-- u16 length · text.\n" +
    "local happened, happenings = {}, 0\n" +
    "\n" +
    "-- Kinds, and what detail is for each; the text is cut after 512 bytes.\n" +
    "--   E enqueued: the record (text: the name)        P progress: JSON (text, if it isn't longer)\n" +
    "--   A started, S succeeded, R retrying, H retrying and holding its group, D dead, C cancelled, W waiting for children:\n" +
    "--     the value in attempts (text: the reason; results are not told)\n" +
    "--   Y ready again (by hand), X removed, Z paused, U resumed, and whatever comes: '' or the text. What\n" +
    "--     concerns the queue and no task has the id ''.\n" +
    "local function happen(kind, id, detail)\n" +
    "  if keepEvents == 0 then\n" +
    "    return\n" +
    "  end\n" +
    "  local MOST_TEXT = 512\n" +
    "  local attempt, text = 0, detail\n" +
    "  if kind == 'E' then\n" +
    "    local flags, at = string.byte(detail), 12\n" +
    "    if math.floor(flags / 16) % 2 == 1 then\n" +
    "      at = 14 + struct.unpack('>H', detail, 12)\n" +
    "    end\n" +
    "    if flags >= 128 then\n" +
    "      -- For how long the id is remembered.\n" +
    "      at = at + 8\n" +
    "    end\n" +
    "    text = string.sub(detail, at + 2, at + 1 + struct.unpack('>H', detail, at))\n" +
    "  elseif kind == 'A' then\n" +
    "    attempt, text = struct.unpack('>H', detail, 6), ''\n" +
    "  elseif kind == 'S' or kind == 'R' or kind == 'H' or kind == 'D' or kind == 'C' or kind == 'W' then\n" +
    "    attempt = struct.unpack('>H', detail, 10)\n" +
    "    text = (kind == 'S' or kind == 'W') and '' or string.sub(detail, 12)\n" +
    "  elseif kind == 'P' and #detail > MOST_TEXT then\n" +
    "    text = ''\n" +
    "  end\n" +
    "  text = string.sub(text, 1, MOST_TEXT)\n" +
    "  happenings = happenings + 1\n" +
    "  happened[happenings] = kind .. struct.pack('>H', #id) .. id .. struct.pack('>HH', attempt, #text) .. text\n" +
    "end\n" +
    "\n" +
    "-- Once, at the end of the script.\n" +
    "local function tellEvents()\n" +
    "  if happenings == 0 then\n" +
    "    return\n" +
    "  end\n" +
    "  local time = redis.call('TIME')\n" +
    "  local newest = redis.call('XREVRANGE', events, '+', '-', 'COUNT', 1)[1]\n" +
    "  local before, begun\n" +
    "  if newest then\n" +
    "    before, begun = string.match(newest[1], '^(%d+)-(%d+)')\n" +
    "  else\n" +
    "    begun = string.format('%.0f', time[1] * 1000000 + time[2])\n" +
    "    before = begun\n" +
    "  end\n" +
    "  local last = string.format('%.0f', before + happenings)\n" +
    "  local instant = struct.pack('>d', time[1] * 1000 + math.floor(time[2] / 1000))\n" +
    "  local oldest = string.format('%.0f', math.max(0, before + happenings - keepEvents + 1))\n" +
    "  redis.call('XADD', events, 'MINID', '~', oldest, last .. '-' .. begun, 'e', instant .. table.concat(happened))\n" +
    "  redis.call(publish, events, '*:' .. last)\n" +
    "end\n" +
    "\n" +
    "-- Without the lines, from the first one on, that are too many.\n" +
    "local function trim(text)\n" +
    "  local _, count = string.gsub(text, '\\n" +
    "', '')\n" +
    "  local from = 1\n" +
    "  while count > MOST_LINES or #text - from + 1 > MOST_BYTES do\n" +
    "    from = string.find(text, '\\n" +
    "', from, true) + 1\n" +
    "    count = count - 1\n" +
    "  end\n" +
    "  return string.sub(text, from)\n" +
    "end\n" +
    "\n" +
    "local lines = {}\n" +
    "for i, last in ipairs(redis.call('HMGET', attempts, unpack(ids))) do\n" +
    "  local id, entry = ids[i], entries[i]\n" +
    "  local state, token\n" +
    "  if last then\n" +
    "    state, token = struct.unpack('>c1I', last)\n" +
    "  end\n" +
    "  if state == 'A' and token == entry.token then\n" +
    "    replies[i] = '1'\n" +
    "    if entry.progress ~= '' then\n" +
    "      told[#told + 1] = id\n" +
    "      told[#told + 1] = entry.progress\n" +
    "      happen('P', id, entry.progress)\n" +
    "    end\n" +
    "    if entry.lines ~= '' then\n" +
    "      local stamped = string.gsub(entry.lines, '([^\\n" +
    "]*)\\n" +
    "', stamp)\n" +
    "      lines[#lines + 1] = id\n" +
    "      lines[#lines + 1] = trim((redis.call('HGET', logs, id) or '') .. stamped)\n" +
    "    end\n" +
    "  else\n" +
    "    replies[i] = state == 'C' and 'C' or '0'\n" +
    "  end\n" +
    "end\n" +
    "if #told > 0 then\n" +
    "  redis.call('HSET', progress, unpack(told))\n" +
    "end\n" +
    "if #lines > 0 then\n" +
    "  redis.call('HSET', logs, unpack(lines))\n" +
    "end\n" +
    "tellEvents()\n" +
    "return table.concat(replies)\n",
} as const);

export const workerRenew = new Script({
  name: "worker.renew",
  isReadOnly: false,
  keys: ["attempts","active"],
  args: ["leaseMs"],
  restArg: "leases",
  source: "#!lua flags=allow-oom\n" +
    "-- Prolongs the leases of running tasks. A task that is active under another token, or not at all, is not touched. Of a task that\n" +
    "-- was handed over (see queue.enqueue.lua) the first attempt has begun with that.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   attempts     HASH id -> last attempt; A u32 token, u16 attempt … while active, C … cancelled\n" +
    "--   active       ZSET id -> end of the lease, ms\n" +
    "-- ARGV\n" +
    "--   leaseMs      ms from now\n" +
    "--   leases...    two for each, 500 at most: id, token\n" +
    "-- RETURNS\n" +
    "--   a string with one character a lease: 1 renewed, 0 lost, C the task was cancelled\n" +
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
    "  local state, token, attempt, at\n" +
    "  if last then\n" +
    "    state, token, attempt, at = struct.unpack('>c1IH', last)\n" +
    "  end\n" +
    "  if state == 'A' and token == tonumber(ARGV[2 * i + 1]) then\n" +
    "    renewed[#renewed + 1] = leaseUntil\n" +
    "    renewed[#renewed + 1] = ids[i]\n" +
    "    replies[i] = '1'\n" +
    "    if attempt == 0 then\n" +
    "      redis.call('HSET', attempts, ids[i], struct.pack('>c1IH', state, token, 1) .. string.sub(last, at))\n" +
    "    end\n" +
    "  else\n" +
    "    replies[i] = state == 'C' and 'C' or '0'\n" +
    "  end\n" +
    "end\n" +
    "if #renewed > 0 then\n" +
    "  redis.call('ZADD', active, unpack(renewed))\n" +
    "end\n" +
    "return table.concat(replies)\n",
} as const);
