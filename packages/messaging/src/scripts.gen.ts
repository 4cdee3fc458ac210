// Made from the .lua files of this folder by `npm run scripts`. Edit those.
import { Script } from '@mortise/redis';

export const chatAck = new Script({
  name: "chat.ack",
  isReadOnly: false,
  keys: [],
  args: ["keepAcked","counts","only"],
  restKey: "chats",
  restArg: "acks",
  source: "#!lua flags=allow-oom\n" +
    "-- Moves cursors of members forward and frees what all have passed. A cursor never moves back, and no member is added.\n" +
    "--\n" +
    "-- Takes acks of several chats, which have several tags: only on a server without slots, where one call costs a third of\n" +
    "-- what one for each chat costs. Nothing is done for one chat that depends on another; where there are slots, the server\n" +
    "-- refuses the call before it begins (CROSSSLOT), and each chat gets a call of its own.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   chats...     for each chat: `chat`, ZSET, see src/keys.ts; `log`, LIST of entries, UNLINK; `uncounted`, ZSET id -> id, UNLINK\n" +
    "-- ARGV\n" +
    "--   keepAcked    how many of the newest messages are kept when all have acked them\n" +
    "--   counts       for each chat a u8, how many acks it has; '' where each has one\n" +
    "--   only         who acks, as stored; '' where they are several\n" +
    "--   acks...      for each: the member as stored, where they are several; -epoch, ms, in which the id was given, as the head has\n" +
    "--                it, or '' for that of the chat, one for all acks of a chat; the last id that is acked\n" +
    "-- RETURNS\n" +
    "--   for each chat its newest id, or nil: there is no such chat; then for each ack the member's cursor, -1: no message has\n" +
    "--   that id (yet), nil: not a member, or no chat\n" +
    "local keepAcked, counts, only = tonumber(ARGV[1]), ARGV[2], ARGV[3]\n" +
    "local isOnly = only ~= ''\n" +
    "\n" +
    "local replies, at, size = {}, 4, 0\n" +
    "for c = 1, #KEYS, 3 do\n" +
    "  local chat, log, uncounted = KEYS[c], KEYS[c + 1], KEYS[c + 2]\n" +
    "  -- `lowest` of the cursors that were moved, as they were.\n" +
    "  local last, lowest\n" +
    "  if counts == '' then\n" +
    "    -- What nearly all calls are: without the tables that several would need.\n" +
    "    local member = only\n" +
    "    if not isOnly then\n" +
    "      member = ARGV[at]\n" +
    "      at = at + 1\n" +
    "    end\n" +
    "    local epoch, upToText = ARGV[at], ARGV[at + 1]\n" +
    "    at = at + 2\n" +
    "    local scores\n" +
    "    if epoch == '' then\n" +
    "      scores = redis.call('ZMSCORE', chat, '\\0l', member)\n" +
    "    else\n" +
    "      scores = redis.call('ZMSCORE', chat, '\\0l', member, '\\0e')\n" +
    "    end\n" +
    "    local score, upTo, cursor = scores[2], tonumber(upToText), false\n" +
    "    last = scores[1] and 0 - scores[1]\n" +
    "    if score then\n" +
    "      score = tonumber(score)\n" +
    "      local fraction = score % 1\n" +
    "      cursor = score - fraction\n" +
    "      if upTo > last or epoch ~= '' and scores[3] ~= epoch then\n" +
    "        cursor = -1\n" +
    "      elseif upTo > cursor then\n" +
    "        lowest, cursor = cursor, upTo\n" +
    "        -- A string that is there costs a tenth of what Redis makes of a number.\n" +
    "        if fraction == 0 then\n" +
    "          redis.call('ZADD', chat, upToText, member)\n" +
    "        else\n" +
    "          redis.call('ZADD', chat, upToText .. (fraction == 0.5 and '.5' or '.25'), member)\n" +
    "        end\n" +
    "      end\n" +
    "    end\n" +
    "    replies[size + 1], replies[size + 2] = last, cursor\n" +
    "    size = size + 2\n" +
    "  else\n" +
    "    local names, ids, moved, written, epoch = {}, {}, {}, {}, nil\n" +
    "    for i = 1, string.byte(counts, (c + 2) / 3) do\n" +
    "      names[i] = only\n" +
    "      if not isOnly then\n" +
    "        names[i] = ARGV[at]\n" +
    "        at = at + 1\n" +
    "      end\n" +
    "      epoch, ids[i] = ARGV[at], tonumber(ARGV[at + 1])\n" +
    "      at = at + 2\n" +
    "    end\n" +
    "    local scores = redis.call('ZMSCORE', chat, '\\0l', '\\0e', unpack(names))\n" +
    "    last = scores[1] and 0 - scores[1]\n" +
    "    replies[size + 1] = last\n" +
    "    local isOther = epoch ~= '' and scores[2] and scores[2] ~= epoch\n" +
    "    for i = 1, #names do\n" +
    "      local name, upTo = names[i], ids[i]\n" +
    "      local score, cursor = moved[name] or tonumber(scores[i + 2]), false\n" +
    "      if score then\n" +
    "        local fraction = score % 1\n" +
    "        cursor = score - fraction\n" +
    "        if upTo > last or isOther then\n" +
    "          cursor = -1\n" +
    "        elseif upTo > cursor then\n" +
    "          if not lowest or cursor < lowest then\n" +
    "            lowest = cursor\n" +
    "          end\n" +
    "          cursor = upTo\n" +
    "          moved[name] = upTo + fraction\n" +
    "          written[#written + 1] = upTo + fraction\n" +
    "          written[#written + 1] = name\n" +
    "        end\n" +
    "      end\n" +
    "      replies[size + 1 + i] = cursor\n" +
    "    end\n" +
    "    size = size + 1 + #names\n" +
    "    if lowest then\n" +
    "      redis.call('ZADD', chat, unpack(written))\n" +
    "    end\n" +
    "  end\n" +
    "  if lowest then\n" +
    "    local floor = math.floor(redis.call('ZRANGE', chat, '4', '4', 'WITHSCORES')[2])\n" +
    "    -- Otherwise somebody else is the last, and was.\n" +
    "    if floor > lowest then\n" +
    "      local cursors = chat\n" +
    "-- Frees what everybody has acked, but for the newest ones that are kept for history.\n" +
    "-- Expects:\n" +
    "--   cursors, log       keys; cursors is the set of the head\n" +
    "--   uncounted          key, or nil: its ids up to the base are left to another script, and count nowhere\n" +
    "--   last, floor        the newest id, the lowest cursor\n" +
    "--   keepAcked          how many are kept\n" +
    "if floor >= last and keepAcked == 0 then\n" +
    "  redis.call('UNLINK', log, uncounted or log)\n" +
    "else\n" +
    "  local stored = redis.call('LLEN', log)\n" +
    "  local freedTo = math.min(floor, last - keepAcked)\n" +
    "  local surplus, freedBytes = freedTo - last + stored, 0\n" +
    "  if surplus > 0 then\n" +
    "    while surplus > 0 do\n" +
    "      local popped = redis.call('LPOP', log, math.min(surplus, 1000))\n" +
    "      for i = 1, #popped do\n" +
    "        freedBytes = freedBytes + #popped[i]\n" +
    "      end\n" +
    "      surplus = surplus - #popped\n" +
    "    end\n" +
    "    redis.call('ZINCRBY', cursors, freedBytes, '\\0b')\n" +
    "    if uncounted then\n" +
    "      redis.call('ZREMRANGEBYSCORE', uncounted, '-inf', freedTo)\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "return replies\n",
} as const);

export const chatCreate = new Script({
  name: "chat.create",
  isReadOnly: false,
  keys: ["chat","log","uncounted","joined","ids","oldIds","ended","events"],
  args: ["publish","retentionMs","dedupMs","keepAcked","notAfter","notBefore","field","body","sender"],
  restArg: "others",
  source: "#!lua\n" +
    "-- Creates a chat with its members and, where there is one, its first message. A chat that is there is left alone.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   chat         ZSET, see src/keys.ts; until its last member leaves\n" +
    "--   log          LIST of entries; PEXPIRE\n" +
    "--   uncounted    ZSET id -> id\n" +
    "--   joined       ZSET member -> id\n" +
    "--   ids          HASH what a message is known by -> id; PEXPIRE\n" +
    "--   oldIds       HASH, the generation before\n" +
    "--   ended        STRING, the epoch of the chat of this name that ended last; see chat.leave.lua\n" +
    "--   events       channel of the chat; not a key\n" +
    "-- ARGV\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "--   retentionMs  ms until a message may be dropped\n" +
    "--   dedupMs      ms that a message is known\n" +
    "--   keepAcked    how many of the newest messages are kept when all have acked them\n" +
    "--   notAfter     the instant (ms) from which on the entries of the chat in the members' indexes may have been cleaned away\n" +
    "--   notBefore    ms; the epoch is not less: an earlier chat, of which this server knows nothing any more, had a lower one\n" +
    "--   field        what the first message is known by; '' when nothing was given\n" +
    "--   body         of the first message; '' when there is none\n" +
    "--   sender       as stored\n" +
    "--   others...    the other members, as stored, none twice\n" +
    "-- RETURNS\n" +
    "--   1 created, 0 it was there, -1 too late; the id of the first message or of the one that was known, 0 when there is\n" +
    "--   none; the server's time, ms\n" +
    "local chat, log, uncounted, joined = KEYS[1], KEYS[2], KEYS[3], KEYS[4]\n" +
    "local ids, oldIds, ended, events = KEYS[5], KEYS[6], KEYS[7], KEYS[8]\n" +
    "local publish, retentionMs, dedupMs, keepAcked = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])\n" +
    "local notAfter, notBefore, field, body, sender = tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7], ARGV[8], ARGV[9]\n" +
    "local OWNER, WINDOWS, MOST_OPERANDS = 0.5, 64, 1000\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "if redis.call('EXISTS', chat) == 1 then\n" +
    "  local id = field ~= '' and (redis.call('HGET', ids, field) or redis.call('HGET', oldIds, field)) or 0\n" +
    "  return { 0, tonumber(id), now }\n" +
    "end\n" +
    "if now > notAfter then\n" +
    "  return { -1, 0, now }\n" +
    "end\n" +
    "\n" +
    "-- Not the clock alone: two chats may be made in one ms, and a clock may be set back, or be that of a new master.\n" +
    "local epoch = math.max(now, notBefore, (redis.call('GET', ended) or 0) + 1)\n" +
    "-- Parts of a chat whose head is gone (evicted, deleted by hand) would mix with new ids.\n" +
    "redis.call('UNLINK', log, uncounted, joined, ids, oldIds)\n" +
    "local others = #ARGV - 9\n" +
    "local last = body == '' and 0 or 1\n" +
    "local entry = '1:0:' .. sender .. '\\0' .. body\n" +
    "local isStored = last == 1 and (others > 0 or keepAcked > 0)\n" +
    "local written = {\n" +
    "  isStored and -#entry or 0, '\\0b', -epoch, '\\0e', 0 - last, '\\0l', 0, '\\0t', last + OWNER, sender,\n" +
    "}\n" +
    "local frames = { struct.pack('>c1Ic0', 'j', #sender, sender) }\n" +
    "for i = 10, #ARGV do\n" +
    "  local name = ARGV[i]\n" +
    "  written[#written + 1] = 0\n" +
    "  written[#written + 1] = name\n" +
    "  if #written >= MOST_OPERANDS then\n" +
    "    redis.call('ZADD', chat, unpack(written))\n" +
    "    written = {}\n" +
    "  end\n" +
    "  frames[#frames + 1] = struct.pack('>c1Ic0', 'j', #name, name)\n" +
    "end\n" +
    "if #written > 0 then\n" +
    "  redis.call('ZADD', chat, unpack(written))\n" +
    "end\n" +
    "if isStored then\n" +
    "  redis.call('RPUSH', log, entry)\n" +
    "  redis.call('PEXPIRE', log, math.ceil(retentionMs + retentionMs / WINDOWS))\n" +
    "end\n" +
    "if last == 1 then\n" +
    "  frames[#frames + 1] = struct.pack('>c1Ic0', 'm', #entry, entry)\n" +
    "  if field ~= '' then\n" +
    "    redis.call('HSET', ids, '', 0, field, 1)\n" +
    "    redis.call('PEXPIRE', ids, 2 * dedupMs)\n" +
    "  end\n" +
    "end\n" +
    "redis.call(publish, events, '*:' .. table.concat(frames))\n" +
    "return { 1, last, now }\n",
} as const);

export const chatJoin = new Script({
  name: "chat.join",
  isReadOnly: false,
  keys: ["chat","log","joined","events"],
  args: ["publish","maxMembers","retentionMs"],
  restArg: "joins",
  source: "#!lua\n" +
    "-- Adds members to a chat, behind its newest message. Who is in it already is left as they are.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   chat         ZSET, see src/keys.ts\n" +
    "--   log          LIST of entries\n" +
    "--   joined       ZSET member -> id; PEXPIRE\n" +
    "--   events       channel of the chat; not a key\n" +
    "-- ARGV\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "--   maxMembers   count\n" +
    "--   retentionMs  ms until a message may be dropped\n" +
    "--   joins...     for each: the member as stored, the fraction of their role, the instant (ms) from which on the entry of the\n" +
    "--                chat in their index may have been cleaned away\n" +
    "-- RETURNS\n" +
    "--   the server's time, ms, then for each two: 1 new, 0 there before, -1 too many members, -2 too late; their cursor, or how\n" +
    "--   many members there are\n" +
    "--   nil: there is no such chat\n" +
    "local chat, log, joined, events = KEYS[1], KEYS[2], KEYS[3], KEYS[4]\n" +
    "local publish, maxMembers, retentionMs = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])\n" +
    "local HEAD_SIZE, WINDOWS = 4, 64\n" +
    "\n" +
    "local last = redis.call('ZSCORE', chat, '\\0l')\n" +
    "if not last then\n" +
    "  return false\n" +
    "end\n" +
    "last = -last\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "local members = redis.call('ZCARD', chat) - HEAD_SIZE\n" +
    "local replies, written, ids, frames, seen = { now }, {}, {}, {}, {}\n" +
    "for i = 4, #ARGV, 3 do\n" +
    "  local name = ARGV[i]\n" +
    "  local score = seen[name] or redis.call('ZSCORE', chat, name)\n" +
    "  local outcome, detail = 1, last\n" +
    "  if score then\n" +
    "    outcome, detail = 0, math.floor(tonumber(score))\n" +
    "  elseif now > tonumber(ARGV[i + 2]) then\n" +
    "    outcome, detail = -2, members\n" +
    "  elseif members >= maxMembers then\n" +
    "    outcome, detail = -1, members\n" +
    "  else\n" +
    "    score = last + tonumber(ARGV[i + 1])\n" +
    "    members = members + 1\n" +
    "    seen[name] = score\n" +
    "    written[#written + 1] = score\n" +
    "    written[#written + 1] = name\n" +
    "    ids[#ids + 1] = last\n" +
    "    ids[#ids + 1] = name\n" +
    "    frames[#frames + 1] = struct.pack('>c1Ic0', 'j', #name, name)\n" +
    "  end\n" +
    "  replies[#replies + 1] = outcome\n" +
    "  replies[#replies + 1] = detail\n" +
    "end\n" +
    "if #written > 0 then\n" +
    "  redis.call('ZADD', chat, unpack(written))\n" +
    "  -- What is stored now is not for them, should they have been here before. Where nothing is, nothing has to be remembered.\n" +
    "  local stored = redis.call('LLEN', log)\n" +
    "  if stored > 0 then\n" +
    "    redis.call('ZREMRANGEBYSCORE', joined, '-inf', last - stored)\n" +
    "    redis.call('ZADD', joined, unpack(ids))\n" +
    "    -- As long as an entry that was there may be stored.\n" +
    "    redis.call('PEXPIRE', joined, math.ceil(2 * (retentionMs + retentionMs / WINDOWS)))\n" +
    "  else\n" +
    "    redis.call('UNLINK', joined)\n" +
    "  end\n" +
    "  redis.call(publish, events, '*:' .. table.concat(frames))\n" +
    "end\n" +
    "return replies\n",
} as const);

export const chatLeave = new Script({
  name: "chat.leave",
  isReadOnly: false,
  keys: ["chat","log","uncounted","joined","ids","oldIds","ended","events"],
  args: ["publish","keepAcked"],
  restArg: "leavers",
  source: "#!lua flags=allow-oom\n" +
    "-- Takes members out of a chat and frees what all others have acked. With its last member the chat goes away.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   chat         ZSET, see src/keys.ts\n" +
    "--   log          LIST of entries\n" +
    "--   uncounted    ZSET id -> id\n" +
    "--   joined       ZSET member -> id\n" +
    "--   ids          HASH what a message is known by -> id\n" +
    "--   oldIds       HASH, the generation before\n" +
    "--   ended        STRING, the epoch of the chat that ended: for the next one of its name, and for who is about to read the log; SET PXAT\n" +
    "--   events       channel of the chat; not a key\n" +
    "-- ARGV\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "--   keepAcked    how many of the newest messages are kept when all have acked them\n" +
    "--   leavers...   as stored\n" +
    "-- RETURNS\n" +
    "--   for each: 1, or 0 for who was no member\n" +
    "local chat, log, uncounted, joined = KEYS[1], KEYS[2], KEYS[3], KEYS[4]\n" +
    "local ids, oldIds, ended, events = KEYS[5], KEYS[6], KEYS[7], KEYS[8]\n" +
    "local publish, keepAcked = ARGV[1], tonumber(ARGV[2])\n" +
    "local HEAD_SIZE = 4\n" +
    "-- Longer than clocks of masters differ, are set back, and than a reader stands still.\n" +
    "local REMEMBERED_MS = 3600000\n" +
    "\n" +
    "local scores = redis.call('ZMSCORE', chat, '\\0l', '\\0e', unpack(ARGV, 3))\n" +
    "if not scores[1] then\n" +
    "  scores = {}\n" +
    "end\n" +
    "local last = 0 - (scores[1] or 0)\n" +
    "local replies, frames, gone = {}, {}, {}\n" +
    "for i = 3, #ARGV do\n" +
    "  local name, score = ARGV[i], scores[i]\n" +
    "  local removed = score and redis.call('ZREM', chat, name) or 0\n" +
    "  replies[i - 2] = removed\n" +
    "  if removed == 1 then\n" +
    "    local text = name .. string.format('\\0%.0f\\0%.0f', last, math.floor(tonumber(score)))\n" +
    "    frames[#frames + 1] = struct.pack('>c1Ic0', 'l', #text, text)\n" +
    "    gone[#gone + 1] = name\n" +
    "  end\n" +
    "end\n" +
    "if #frames > 0 then\n" +
    "  local lowest = redis.call('ZRANGE', chat, HEAD_SIZE, HEAD_SIZE, 'WITHSCORES')[2]\n" +
    "  if not lowest then\n" +
    "    redis.call('UNLINK', chat, log, uncounted, joined, ids, oldIds)\n" +
    "    local time = redis.call('TIME')\n" +
    "    local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "    local epoch = 0 - (scores[2] or 0)\n" +
    "    redis.call('SET', ended, epoch, 'PXAT', math.max(now, epoch) + REMEMBERED_MS)\n" +
    "    frames[#frames + 1] = struct.pack('>c1I', 'x', 0)\n" +
    "  else\n" +
    "    redis.call('ZREM', joined, unpack(gone))\n" +
    "    local cursors, floor = chat, math.floor(tonumber(lowest))\n" +
    "-- Frees what everybody has acked, but for the newest ones that are kept for history.\n" +
    "-- Expects:\n" +
    "--   cursors, log       keys; cursors is the set of the head\n" +
    "--   uncounted          key, or nil: its ids up to the base are left to another script, and count nowhere\n" +
    "--   last, floor        the newest id, the lowest cursor\n" +
    "--   keepAcked          how many are kept\n" +
    "if floor >= last and keepAcked == 0 then\n" +
    "  redis.call('UNLINK', log, uncounted or log)\n" +
    "else\n" +
    "  local stored = redis.call('LLEN', log)\n" +
    "  local freedTo = math.min(floor, last - keepAcked)\n" +
    "  local surplus, freedBytes = freedTo - last + stored, 0\n" +
    "  if surplus > 0 then\n" +
    "    while surplus > 0 do\n" +
    "      local popped = redis.call('LPOP', log, math.min(surplus, 1000))\n" +
    "      for i = 1, #popped do\n" +
    "        freedBytes = freedBytes + #popped[i]\n" +
    "      end\n" +
    "      surplus = surplus - #popped\n" +
    "    end\n" +
    "    redis.call('ZINCRBY', cursors, freedBytes, '\\0b')\n" +
    "    if uncounted then\n" +
    "      redis.call('ZREMRANGEBYSCORE', uncounted, '-inf', freedTo)\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "  end\n" +
    "  redis.call(publish, events, '*:' .. table.concat(frames))\n" +
    "end\n" +
    "return replies\n",
} as const);

export const chatMembers = new Script({
  name: "chat.members",
  isReadOnly: true,
  keys: ["chat"],
  args: ["cursor","limit","small"],
  source: "#!lua flags=no-writes\n" +
    "-- A page of the members of a chat. A small set is paged by name, which is exact; a large one as ZSCAN does it: who is there all\n" +
    "-- the time comes at least once, and a page may have some more than it should.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   chat         ZSET: the head; member -> cursor and role; until the last member leaves\n" +
    "-- ARGV\n" +
    "--   cursor       '' to begin; else 'n' and the last name of the page before, or 's' and the cursor of ZSCAN\n" +
    "--   limit        members, or about so many\n" +
    "--   small        members of a set that is paged by name\n" +
    "-- RETURNS\n" +
    "--   nil when there is no such chat; else { the next cursor, or '' at the end; member, score, … }\n" +
    "local chat = KEYS[1]\n" +
    "local cursor, limit, small = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])\n" +
    "\n" +
    "local size = redis.call('ZCARD', chat)\n" +
    "if size == 0 then\n" +
    "  return nil\n" +
    "end\n" +
    "local kind, from = string.sub(cursor, 1, 1), string.sub(cursor, 2)\n" +
    "\n" +
    "if kind ~= 's' and size - 4 <= small then\n" +
    "  local read = redis.call('ZRANGE', chat, 4, -1, 'WITHSCORES')\n" +
    "  local names, scores = {}, {}\n" +
    "  for index = 1, #read, 2 do\n" +
    "    if read[index] > from then\n" +
    "      names[#names + 1] = read[index]\n" +
    "      scores[read[index]] = read[index + 1]\n" +
    "    end\n" +
    "  end\n" +
    "  table.sort(names)\n" +
    "  local page = { #names > limit and 'n' .. names[limit] or '' }\n" +
    "  for index = 1, math.min(limit, #names) do\n" +
    "    page[2 * index] = names[index]\n" +
    "    page[2 * index + 1] = scores[names[index]]\n" +
    "  end\n" +
    "  return page\n" +
    "end\n" +
    "\n" +
    "local page = { '' }\n" +
    "local next = kind == 's' and from or '0'\n" +
    "-- A page of nothing but the head is none.\n" +
    "repeat\n" +
    "  local scan = redis.call('ZSCAN', chat, next, 'COUNT', limit)\n" +
    "  local read = scan[2]\n" +
    "  next = scan[1]\n" +
    "  for index = 1, #read, 2 do\n" +
    "    if string.byte(read[index], 1) ~= 0 then\n" +
    "      page[#page + 1] = read[index]\n" +
    "      page[#page + 1] = read[index + 1]\n" +
    "    end\n" +
    "  end\n" +
    "until next == '0' or #page > 1\n" +
    "page[1] = next == '0' and '' or 's' .. next\n" +
    "return page\n",
} as const);

export const chatPost = new Script({
  name: "chat.post",
  isReadOnly: false,
  keys: ["chat","log","ids","oldIds","events"],
  args: ["publish","limits","count","incoming"],
  restArg: "senders",
  source: "#!lua\n" +
    "-- Appends messages to a chat, unless their id is known or their sender may not post, and publishes them. The cursor of a\n" +
    "-- sender who had acked everything moves on to their own message.\n" +
    "--\n" +
    "-- All messages come in one argument: each string that a client sends costs it 0.6 µs, and the server half of that.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   chat         ZSET, see src/keys.ts\n" +
    "--   log          LIST of entries, see src/log/entry.ts; PEXPIRE\n" +
    "--   ids          HASH what a message is known by -> id; PEXPIRE\n" +
    "--   oldIds       HASH, the generation before\n" +
    "--   events       channel of the chat; not a key\n" +
    "-- ARGV\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "--   limits       five f64: retentionMs, dedupMs, maxMessages, maxBytes, keepAcked\n" +
    "--   count        of messages, 200 at most\n" +
    "--   incoming     for each message: u16 place of its sender in `senders`, from 1; u16 length · what it is known by;\n" +
    "--                u32 length · body\n" +
    "--   senders...   as they are stored, none twice\n" +
    "-- RETURNS\n" +
    "--   for each message its id; -id of the one that was there before; nil for no member, 0 for a reader; behind them the first and\n" +
    "--   the last id that were dropped, if any were\n" +
    "--   nil: there is no such chat\n" +
    "local chat, log, ids, oldIds, events = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]\n" +
    "local publish, limits, count, incoming = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]\n" +
    "local READER = 0.25\n" +
    "\n" +
    "local head = redis.call('ZMSCORE', chat, '\\0b', '\\0e', '\\0l', '\\0t', unpack(ARGV, 5))\n" +
    "if not head[2] then\n" +
    "  return false\n" +
    "end\n" +
    "\n" +
    "-- One message goes without the tables that several need: that is a fifth of the whole.\n" +
    "local fields, authors, bodies, score, senders, scores, whose, refusals, places\n" +
    "if count == 1 then\n" +
    "  local _, field, body = struct.unpack('>HHc0Ic0', incoming)\n" +
    "  score = tonumber(head[5])\n" +
    "  if not score or score % 1 == READER then\n" +
    "    -- What they have posted before they left they are still told: the first reply may have been lost.\n" +
    "    local id = redis.call('HGET', ids, field) or redis.call('HGET', oldIds, field)\n" +
    "    return { id and 0 - id or score and 0 or false }\n" +
    "  end\n" +
    "  fields, authors, bodies = { field }, { unpack(ARGV, 5) }, { body }\n" +
    "else\n" +
    "  senders, scores = { unpack(ARGV, 5) }, {}\n" +
    "  for i = 1, #senders do\n" +
    "    scores[i] = tonumber(head[4 + i]) or false\n" +
    "  end\n" +
    "  local parts = { struct.unpack('>' .. string.rep('HHc0Ic0', count), incoming) }\n" +
    "  local kept = 0\n" +
    "  fields, authors, bodies, whose, refusals, places = {}, {}, {}, {}, {}, {}\n" +
    "  for i = 1, count do\n" +
    "    local sender, field = parts[3 * i - 2], parts[3 * i - 1]\n" +
    "    if not scores[sender] or scores[sender] % 1 == READER then\n" +
    "      local id = redis.call('HGET', ids, field) or redis.call('HGET', oldIds, field)\n" +
    "      refusals[i] = id and 0 - id or scores[sender] and 0 or false\n" +
    "    else\n" +
    "      kept = kept + 1\n" +
    "      places[kept], whose[kept], authors[kept] = i, sender, senders[sender]\n" +
    "      fields[kept], bodies[kept] = field, parts[3 * i]\n" +
    "    end\n" +
    "  end\n" +
    "  if kept == 0 then\n" +
    "    return refusals\n" +
    "  end\n" +
    "  count = kept\n" +
    "end\n" +
    "\n" +
    "local retentionMs, dedupMs, maxMessages, maxBytes, keepAcked = struct.unpack('>ddddd', limits)\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "-- Not `-head[n]`, which makes -0 of 0.\n" +
    "local bytes, epoch, last, lastAt, kind = 0 - head[1], 0 - head[2], 0 - head[3], 0 - head[4], ''\n" +
    "-- Appends messages, each with the next id, unless the id that its author gave it is known; then drops the oldest ones while\n" +
    "-- there are more, larger or older ones than the log may keep. Nothing is refused any more from here on.\n" +
    "-- Expects:\n" +
    "--   log, ids, oldIds            keys\n" +
    "--   now                         the server's time, ms since 1970\n" +
    "--   epoch, last, lastAt, bytes  the head, all positive; bytes is of no matter while the log is empty\n" +
    "--   retentionMs, dedupMs, maxMessages, maxBytes\n" +
    "--   kind                        of the entries: '' a message, E, D\n" +
    "--   count                       how many there are of\n" +
    "--   fields, authors, bodies     arrays: what they are known by, who they are from, what is behind the first NUL\n" +
    "-- Leaves the head as it is now, for the script to write when fresh > 0: last, lastAt, bytes; lastText and momentText, the first\n" +
    "-- two of them as text, since making a number a string costs more than a command's argument does otherwise; and:\n" +
    "--   outcomes                    array: the id; -id of one that was there before\n" +
    "--   fresh, entries              how many were appended, and they\n" +
    "--   stored                      how many are in the log; nil when fresh is 0\n" +
    "--   droppedFrom, droppedTo      ids; 0 and 0 when none were dropped\n" +
    "--\n" +
    "-- Ids are remembered in two generations, by windows of dedupMs since the epoch. The field '' of a generation is where its\n" +
    "-- window begins, so that nothing has to be asked of Redis but what is looked up anyway. In the same way the time to live of\n" +
    "-- the log and the age of its oldest entries are seen to when a 64th of retentionMs begins.\n" +
    "--\n" +
    "-- One call drops no more than so many, which takes the server about 1 ms: where there are more, since a limit was lowered or\n" +
    "-- because many grew old at once, the next calls go on. To know of the latter, every 32nd message looks at the oldest one.\n" +
    "local MOST_IDS, MANY_IDS, WINDOWS, MOST_DROPPED = 9500, 32, 64, 1000\n" +
    "-- Redis looks through a hash of short fields from one end to the other; one with this field gets an index.\n" +
    "local LONG_FIELD = '-----------------------------------------------------------------'\n" +
    "\n" +
    "local known = redis.call('HMGET', ids, '', unpack(fields))\n" +
    "local older = redis.call('HMGET', oldIds, unpack(fields))\n" +
    "-- The clock of a new master may be behind.\n" +
    "local moment = now - epoch\n" +
    "if moment < lastAt then\n" +
    "  moment = lastAt\n" +
    "end\n" +
    "-- Not `moment .. ''`, which takes longer, and says 1e+14 of so large a number.\n" +
    "local lastText, momentText = nil, string.format('%d', moment)\n" +
    "local stamp = ':' .. kind .. momentText .. ':'\n" +
    "local outcomes, entries, noted\n" +
    "local fresh, added, stored, droppedFrom, droppedTo = 0, 0, nil, 0, 0\n" +
    "if count == 1 then\n" +
    "  -- What most calls are. A table that is made with what it holds costs half of one that grows.\n" +
    "  local id = known[2] or older[1]\n" +
    "  if id then\n" +
    "    outcomes = { -id }\n" +
    "  else\n" +
    "    last = last + 1\n" +
    "    lastText = string.format('%d', last)\n" +
    "    local entry = lastText .. stamp .. authors[1] .. '\\0' .. bodies[1]\n" +
    "    fresh, added = 1, #entry\n" +
    "    entries, outcomes = { entry }, { last }\n" +
    "  end\n" +
    "else\n" +
    "  local seen = {}\n" +
    "  outcomes, entries, noted = {}, {}, {}\n" +
    "  for i = 1, count do\n" +
    "    local field = fields[i]\n" +
    "    local id = known[i + 1] or older[i] or seen[field]\n" +
    "    if id then\n" +
    "      outcomes[i] = -id\n" +
    "    else\n" +
    "      last = last + 1\n" +
    "      lastText = string.format('%d', last)\n" +
    "      local entry = lastText .. stamp .. authors[i] .. '\\0' .. bodies[i]\n" +
    "      fresh = fresh + 1\n" +
    "      entries[fresh] = entry\n" +
    "      added = added + #entry\n" +
    "      noted[2 * fresh - 1], noted[2 * fresh] = field, lastText\n" +
    "      seen[field] = lastText\n" +
    "      outcomes[i] = last\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "if fresh > 0 then\n" +
    "  local window = moment - moment % dedupMs\n" +
    "  local isNth = last % MANY_IDS < fresh\n" +
    "  local size = isNth and redis.call('HLEN', ids) + fresh or 0\n" +
    "  if tonumber(known[1]) ~= window or size > MOST_IDS then\n" +
    "    if known[1] then\n" +
    "      -- RENAME would free a large hash at once.\n" +
    "      redis.call('UNLINK', oldIds)\n" +
    "      redis.call('RENAME', ids, oldIds)\n" +
    "    end\n" +
    "    redis.call('HSET', ids, '', window)\n" +
    "    redis.call('PEXPIRE', ids, 2 * dedupMs)\n" +
    "    size = fresh\n" +
    "  end\n" +
    "  if size > MANY_IDS then\n" +
    "    redis.call('HSET', ids, LONG_FIELD, '')\n" +
    "    redis.call('HDEL', ids, LONG_FIELD)\n" +
    "  end\n" +
    "  if count == 1 then\n" +
    "    redis.call('HSET', ids, fields[1], lastText)\n" +
    "    stored = redis.call('RPUSH', log, entries[1])\n" +
    "  else\n" +
    "    redis.call('HSET', ids, unpack(noted))\n" +
    "    stored = redis.call('RPUSH', log, unpack(entries))\n" +
    "  end\n" +
    "\n" +
    "  bytes = stored == fresh and added or bytes + added\n" +
    "  local step = retentionMs / WINDOWS\n" +
    "  local isDue = stored == fresh or moment - moment % step ~= lastAt - lastAt % step\n" +
    "  lastAt = moment\n" +
    "  if isDue then\n" +
    "    redis.call('PEXPIRE', log, math.ceil(retentionMs + step))\n" +
    "  end\n" +
    "  isDue = isDue or isNth\n" +
    "  if isDue and stored > 1 or stored > maxMessages or bytes > maxBytes then\n" +
    "    local before = stored\n" +
    "    local kept = stored - MOST_DROPPED\n" +
    "    if stored > maxMessages then\n" +
    "      local popped = redis.call('LPOP', log, math.min(stored - maxMessages, MOST_DROPPED))\n" +
    "      for i = 1, #popped do\n" +
    "        bytes = bytes - #popped[i]\n" +
    "      end\n" +
    "      stored = stored - #popped\n" +
    "    end\n" +
    "    local oldest = isDue and redis.call('LINDEX', log, 0)\n" +
    "    while\n" +
    "      stored > 1\n" +
    "      and stored > kept\n" +
    "      and (bytes > maxBytes or oldest and moment - string.match(oldest, '^%d+:%a?(%d+)') >= retentionMs)\n" +
    "    do\n" +
    "      bytes = bytes - #redis.call('LPOP', log)\n" +
    "      stored = stored - 1\n" +
    "      oldest = isDue and redis.call('LINDEX', log, 0)\n" +
    "    end\n" +
    "    if stored < before then\n" +
    "      droppedFrom, droppedTo = last - before + 1, last - stored\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "if fresh > 0 then\n" +
    "  local isOwnMoved, frames = false, nil\n" +
    "  local bytesScore, lastScore, lastAtScore = string.format('-%d', bytes), '-' .. lastText, '-' .. momentText\n" +
    "  if score then\n" +
    "    isOwnMoved = last - score <= 1\n" +
    "    if isOwnMoved then\n" +
    "      local moved = score % 1 == 0 and lastText or score + 1\n" +
    "      redis.call('ZADD', chat, bytesScore, '\\0b', lastScore, '\\0l', lastAtScore, '\\0t', moved, authors[1])\n" +
    "    else\n" +
    "      redis.call('ZADD', chat, bytesScore, '\\0b', lastScore, '\\0l', lastAtScore, '\\0t')\n" +
    "    end\n" +
    "    frames = '*:m' .. struct.pack('>I', #entries[1]) .. entries[1]\n" +
    "  else\n" +
    "    local moved = {}\n" +
    "    for i = 1, count do\n" +
    "      local id, sender = outcomes[i], whose[i]\n" +
    "      local behind = id - scores[sender]\n" +
    "      if behind > 0 and behind <= 1 then\n" +
    "        scores[sender] = scores[sender] + 1\n" +
    "        moved[sender] = true\n" +
    "      end\n" +
    "    end\n" +
    "    local written = { bytesScore, '\\0b', lastScore, '\\0l', lastAtScore, '\\0t' }\n" +
    "    for sender in pairs(moved) do\n" +
    "      isOwnMoved = true\n" +
    "      written[#written + 1] = scores[sender]\n" +
    "      written[#written + 1] = senders[sender]\n" +
    "    end\n" +
    "    redis.call('ZADD', chat, unpack(written))\n" +
    "    frames = { '*:' }\n" +
    "    for i = 1, fresh do\n" +
    "      frames[2 * i], frames[2 * i + 1] = 'm' .. struct.pack('>I', #entries[i]), entries[i]\n" +
    "    end\n" +
    "    frames = table.concat(frames)\n" +
    "  end\n" +
    "  redis.call(publish, events, frames)\n" +
    "\n" +
    "  -- Only where nobody is behind the sender, so that the log was empty, all have acked something now. What is kept of what they\n" +
    "  -- have acked moves on with each message.\n" +
    "  if keepAcked > 0 or isOwnMoved and stored == fresh then\n" +
    "    local cursors, uncounted = chat, nil\n" +
    "    local floor = math.floor(tonumber(redis.call('ZRANGE', chat, 4, 4, 'WITHSCORES')[2]))\n" +
    "    if floor > last - stored then\n" +
    "-- Frees what everybody has acked, but for the newest ones that are kept for history.\n" +
    "-- Expects:\n" +
    "--   cursors, log       keys; cursors is the set of the head\n" +
    "--   uncounted          key, or nil: its ids up to the base are left to another script, and count nowhere\n" +
    "--   last, floor        the newest id, the lowest cursor\n" +
    "--   keepAcked          how many are kept\n" +
    "if floor >= last and keepAcked == 0 then\n" +
    "  redis.call('UNLINK', log, uncounted or log)\n" +
    "else\n" +
    "  local stored = redis.call('LLEN', log)\n" +
    "  local freedTo = math.min(floor, last - keepAcked)\n" +
    "  local surplus, freedBytes = freedTo - last + stored, 0\n" +
    "  if surplus > 0 then\n" +
    "    while surplus > 0 do\n" +
    "      local popped = redis.call('LPOP', log, math.min(surplus, 1000))\n" +
    "      for i = 1, #popped do\n" +
    "        freedBytes = freedBytes + #popped[i]\n" +
    "      end\n" +
    "      surplus = surplus - #popped\n" +
    "    end\n" +
    "    redis.call('ZINCRBY', cursors, freedBytes, '\\0b')\n" +
    "    if uncounted then\n" +
    "      redis.call('ZREMRANGEBYSCORE', uncounted, '-inf', freedTo)\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "if refusals then\n" +
    "  for i = 1, count do\n" +
    "    refusals[places[i]] = outcomes[i]\n" +
    "  end\n" +
    "  outcomes = refusals\n" +
    "end\n" +
    "if droppedTo > 0 then\n" +
    "  outcomes[#outcomes + 1] = droppedFrom\n" +
    "  outcomes[#outcomes + 1] = droppedTo\n" +
    "end\n" +
    "return outcomes\n",
} as const);

export const chatRead = new Script({
  name: "chat.read",
  isReadOnly: false,
  keys: ["chat","log","uncounted"],
  args: ["member","after","before","isLatest","limit","maxScan","maxBytes"],
  source: "#!lua flags=allow-oom\n" +
    "-- Reads a part of a log at one instant, without the places of deleted messages. Ids are dense, so the index of an entry in\n" +
    "-- the list is its id less the first one. Not flagged as one that only reads, so that it is always the master that answers: a\n" +
    "-- replica may not know the cursor yet.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   chat         ZSET: the head; member -> cursor and role; until the last member leaves\n" +
    "--   log          LIST of `<id>:<kind><ms since the epoch>:<payload>`, the oldest first; until acked by all, dropped or too old\n" +
    "--   uncounted    ZSET id -> id: what doesn't count as unread; with its entries\n" +
    "-- ARGV\n" +
    "--   member       who reads from their cursor on, encoded; or '', for whom it goes by the next three alone\n" +
    "--   after        only higher ids\n" +
    "--   before       only lower ids; 0: all\n" +
    "--   isLatest     1: the last ones of these; 0: the first ones\n" +
    "--   limit        entries at most\n" +
    "--   maxScan      entries at most that are looked at\n" +
    "--   maxBytes     of entries at most; none when the first one is larger\n" +
    "-- RETURNS\n" +
    "--   nil when there is no such chat, or the member isn't in it; else { epoch, last id, score of the member (or 0), as text,\n" +
    "--   base: ids up to this one are gone, number of unread messages behind the cursor, how far it looked: nothing is left\n" +
    "--   between there and where it began, entries with ascending ids, of the one that was left for its size its bytes and its\n" +
    "--   instant, ms since the epoch; 0 and 0 when none was }\n" +
    "local chat, log, uncounted = KEYS[1], KEYS[2], KEYS[3]\n" +
    "local member, after, before = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])\n" +
    "local isLatest, limit, maxScan, maxBytes = ARGV[4] == '1', tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])\n" +
    "\n" +
    "local head = redis.call('ZMSCORE', chat, '\\0l', '\\0e', '\\0b', member)\n" +
    "if not head[1] or (member ~= '' and not head[4]) then\n" +
    "  return nil\n" +
    "end\n" +
    "local last, score = -head[1], head[4] or '0'\n" +
    "local stored = redis.call('LLEN', log)\n" +
    "local base = last - stored\n" +
    "local unread = 0\n" +
    "if member ~= '' then\n" +
    "  local cursor = math.floor(tonumber(score))\n" +
    "  local floor = math.max(cursor, base)\n" +
    "  after = math.max(after, cursor)\n" +
    "  unread = last - floor - redis.call('ZCOUNT', uncounted, '(' .. string.format('%.0f', floor), '+inf')\n" +
    "end\n" +
    "\n" +
    "-- What is looked at next lies behind `low` and before `high`.\n" +
    "local low = math.max(after, base)\n" +
    "local high = last + 1\n" +
    "if before > 0 and before < high then\n" +
    "  high = before\n" +
    "end\n" +
    "-- As many at a time as fit if they are like the others: a LRANGE copies what it reads, also what then has to be left.\n" +
    "local usual, most = math.max(-head[3] / math.max(stored, 1), 1), math.max(limit, 100)\n" +
    "local entries, count, scanned, bytes, leftBytes, leftAt = {}, 0, 0, 0, 0, 0\n" +
    "while count < limit and leftBytes == 0 and scanned < maxScan and high - low > 1 do\n" +
    "  -- Places of deleted messages are smaller than others: more of them each time.\n" +
    "  local step = math.min(most, math.max(math.ceil((maxBytes - bytes) / usual), count == 0 and scanned or 1, 1))\n" +
    "  local first, final = low + 1, math.min(low + step, high - 1)\n" +
    "  if isLatest then\n" +
    "    first, final = math.max(high - step, low + 1), high - 1\n" +
    "  end\n" +
    "  local read = redis.call('LRANGE', log, first - base - 1, final - base - 1)\n" +
    "  for index = 1, #read do\n" +
    "    local entry = read[isLatest and #read + 1 - index or index]\n" +
    "    local isDeleted = string.byte(entry, string.find(entry, ':', 1, true) + 1) == 88\n" +
    "    if not isDeleted then\n" +
    "      if bytes + #entry > maxBytes then\n" +
    "        leftBytes, leftAt = #entry, tonumber(string.match(entry, '^%d+:%a?(%d+)')) or 0\n" +
    "        break\n" +
    "      end\n" +
    "      bytes = bytes + #entry\n" +
    "    end\n" +
    "    if isLatest then\n" +
    "      high = high - 1\n" +
    "    else\n" +
    "      low = low + 1\n" +
    "    end\n" +
    "    if not isDeleted then\n" +
    "      count = count + 1\n" +
    "      entries[count] = entry\n" +
    "      if count == limit then\n" +
    "        break\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "  scanned = scanned + final - first + 1\n" +
    "end\n" +
    "if isLatest then\n" +
    "  for index = 1, count / 2 do\n" +
    "    entries[index], entries[count + 1 - index] = entries[count + 1 - index], entries[index]\n" +
    "  end\n" +
    "end\n" +
    "local reached = low\n" +
    "if isLatest then\n" +
    "  reached = high\n" +
    "end\n" +
    "return { -head[2], last, score, base, unread, reached, entries, leftBytes, leftAt }\n",
} as const);

export const chatRevise = new Script({
  name: "chat.revise",
  isReadOnly: false,
  keys: ["chat","log","uncounted","ids","oldIds","events"],
  args: ["publish","limits","kind","sender","message","field","body"],
  source: "#!lua\n" +
    "-- Edits or deletes a message: changes it where it stands, and appends an event that tells so to who has read it already.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   chat         ZSET, see src/keys.ts\n" +
    "--   log          LIST of entries, see src/log/entry.ts; PEXPIRE\n" +
    "--   uncounted    ZSET id -> id; PEXPIRE\n" +
    "--   ids          HASH what a message is known by -> id; PEXPIRE\n" +
    "--   oldIds       HASH, the generation before\n" +
    "--   events       channel of the chat; not a key\n" +
    "-- ARGV\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "--   limits       five f64: retentionMs, dedupMs, maxMessages, maxBytes, keepAcked\n" +
    "--   kind         E or D\n" +
    "--   sender       who does it, as stored\n" +
    "--   message      id of the message\n" +
    "--   field        what the event is known by\n" +
    "--   body         the new one; '' for D\n" +
    "-- RETURNS\n" +
    "--   { id, last, … }: the id of the event, or -id of the one that was there before; the newest id; and the first and the last\n" +
    "--   id that were dropped, if any were\n" +
    "--   { 0, last, reason }: N not a member, R a reader, M no such message is stored, A neither the author nor (for D) an owner\n" +
    "--   nil: there is no such chat\n" +
    "local chat, log, uncounted, ids, oldIds, events = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]\n" +
    "local publish, limits, kind, sender = ARGV[1], ARGV[2], ARGV[3], ARGV[4]\n" +
    "local message, field, body = tonumber(ARGV[5]), ARGV[6], ARGV[7]\n" +
    "local READER, OWNER = 0.25, 0.5\n" +
    "\n" +
    "local head = redis.call('ZMSCORE', chat, '\\0b', '\\0e', '\\0l', '\\0t', sender)\n" +
    "if not head[2] then\n" +
    "  return false\n" +
    "end\n" +
    "-- Not `-head[n]`, which makes -0 of 0.\n" +
    "local bytes, epoch, last, lastAt = 0 - head[1], 0 - head[2], 0 - head[3], 0 - head[4]\n" +
    "-- Before the sender is looked at: they may have left, and the first reply been lost.\n" +
    "local before = redis.call('HGET', ids, field) or redis.call('HGET', oldIds, field)\n" +
    "if before then\n" +
    "  return { -before, last }\n" +
    "end\n" +
    "local score = tonumber(head[5])\n" +
    "local role = score and score % 1\n" +
    "if not role or role == READER then\n" +
    "  return { 0, last, role and 'R' or 'N' }\n" +
    "end\n" +
    "\n" +
    "local index = message - 1 - last + redis.call('LLEN', log)\n" +
    "local entry = index >= 0 and message <= last and redis.call('LINDEX', log, index)\n" +
    "local changed\n" +
    "if entry then\n" +
    "  local was, at, payload = string.match(entry, '^%d+:(%a?)(%d+):(.*)$')\n" +
    "  if was == 'X' and kind == 'D' then\n" +
    "    return { -payload, last }\n" +
    "  elseif was ~= '' then\n" +
    "    return { 0, last, 'M' }\n" +
    "  end\n" +
    "  local isAuthor = string.sub(payload, 1, #sender + 1) == sender .. '\\0'\n" +
    "  if not isAuthor and not (kind == 'D' and role == OWNER) then\n" +
    "    return { 0, last, 'A' }\n" +
    "  end\n" +
    "  if kind == 'E' then\n" +
    "    changed = string.format('%d:', message) .. at .. ':' .. sender .. '\\0' .. body\n" +
    "  else\n" +
    "    changed = string.format('%d:X%s:%d', message, at, last + 1)\n" +
    "  end\n" +
    "elseif kind == 'E' or role ~= OWNER or message > last then\n" +
    "  -- What isn't stored has no author; an owner needs not be it.\n" +
    "  return { 0, last, 'M' }\n" +
    "end\n" +
    "\n" +
    "local retentionMs, dedupMs, maxMessages, maxBytes, keepAcked = struct.unpack('>ddddd', limits)\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "if changed then\n" +
    "  redis.call('LSET', log, index, changed)\n" +
    "  bytes = bytes - #entry + #changed\n" +
    "end\n" +
    "local count, fields, authors = 1, { field }, { sender }\n" +
    "local bodies = { string.format('%d', message) .. (kind == 'E' and '\\0' .. body or '') }\n" +
    "-- Appends messages, each with the next id, unless the id that its author gave it is known; then drops the oldest ones while\n" +
    "-- there are more, larger or older ones than the log may keep. Nothing is refused any more from here on.\n" +
    "-- Expects:\n" +
    "--   log, ids, oldIds            keys\n" +
    "--   now                         the server's time, ms since 1970\n" +
    "--   epoch, last, lastAt, bytes  the head, all positive; bytes is of no matter while the log is empty\n" +
    "--   retentionMs, dedupMs, maxMessages, maxBytes\n" +
    "--   kind                        of the entries: '' a message, E, D\n" +
    "--   count                       how many there are of\n" +
    "--   fields, authors, bodies     arrays: what they are known by, who they are from, what is behind the first NUL\n" +
    "-- Leaves the head as it is now, for the script to write when fresh > 0: last, lastAt, bytes; lastText and momentText, the first\n" +
    "-- two of them as text, since making a number a string costs more than a command's argument does otherwise; and:\n" +
    "--   outcomes                    array: the id; -id of one that was there before\n" +
    "--   fresh, entries              how many were appended, and they\n" +
    "--   stored                      how many are in the log; nil when fresh is 0\n" +
    "--   droppedFrom, droppedTo      ids; 0 and 0 when none were dropped\n" +
    "--\n" +
    "-- Ids are remembered in two generations, by windows of dedupMs since the epoch. The field '' of a generation is where its\n" +
    "-- window begins, so that nothing has to be asked of Redis but what is looked up anyway. In the same way the time to live of\n" +
    "-- the log and the age of its oldest entries are seen to when a 64th of retentionMs begins.\n" +
    "--\n" +
    "-- One call drops no more than so many, which takes the server about 1 ms: where there are more, since a limit was lowered or\n" +
    "-- because many grew old at once, the next calls go on. To know of the latter, every 32nd message looks at the oldest one.\n" +
    "local MOST_IDS, MANY_IDS, WINDOWS, MOST_DROPPED = 9500, 32, 64, 1000\n" +
    "-- Redis looks through a hash of short fields from one end to the other; one with this field gets an index.\n" +
    "local LONG_FIELD = '-----------------------------------------------------------------'\n" +
    "\n" +
    "local known = redis.call('HMGET', ids, '', unpack(fields))\n" +
    "local older = redis.call('HMGET', oldIds, unpack(fields))\n" +
    "-- The clock of a new master may be behind.\n" +
    "local moment = now - epoch\n" +
    "if moment < lastAt then\n" +
    "  moment = lastAt\n" +
    "end\n" +
    "-- Not `moment .. ''`, which takes longer, and says 1e+14 of so large a number.\n" +
    "local lastText, momentText = nil, string.format('%d', moment)\n" +
    "local stamp = ':' .. kind .. momentText .. ':'\n" +
    "local outcomes, entries, noted\n" +
    "local fresh, added, stored, droppedFrom, droppedTo = 0, 0, nil, 0, 0\n" +
    "if count == 1 then\n" +
    "  -- What most calls are. A table that is made with what it holds costs half of one that grows.\n" +
    "  local id = known[2] or older[1]\n" +
    "  if id then\n" +
    "    outcomes = { -id }\n" +
    "  else\n" +
    "    last = last + 1\n" +
    "    lastText = string.format('%d', last)\n" +
    "    local entry = lastText .. stamp .. authors[1] .. '\\0' .. bodies[1]\n" +
    "    fresh, added = 1, #entry\n" +
    "    entries, outcomes = { entry }, { last }\n" +
    "  end\n" +
    "else\n" +
    "  local seen = {}\n" +
    "  outcomes, entries, noted = {}, {}, {}\n" +
    "  for i = 1, count do\n" +
    "    local field = fields[i]\n" +
    "    local id = known[i + 1] or older[i] or seen[field]\n" +
    "    if id then\n" +
    "      outcomes[i] = -id\n" +
    "    else\n" +
    "      last = last + 1\n" +
    "      lastText = string.format('%d', last)\n" +
    "      local entry = lastText .. stamp .. authors[i] .. '\\0' .. bodies[i]\n" +
    "      fresh = fresh + 1\n" +
    "      entries[fresh] = entry\n" +
    "      added = added + #entry\n" +
    "      noted[2 * fresh - 1], noted[2 * fresh] = field, lastText\n" +
    "      seen[field] = lastText\n" +
    "      outcomes[i] = last\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "if fresh > 0 then\n" +
    "  local window = moment - moment % dedupMs\n" +
    "  local isNth = last % MANY_IDS < fresh\n" +
    "  local size = isNth and redis.call('HLEN', ids) + fresh or 0\n" +
    "  if tonumber(known[1]) ~= window or size > MOST_IDS then\n" +
    "    if known[1] then\n" +
    "      -- RENAME would free a large hash at once.\n" +
    "      redis.call('UNLINK', oldIds)\n" +
    "      redis.call('RENAME', ids, oldIds)\n" +
    "    end\n" +
    "    redis.call('HSET', ids, '', window)\n" +
    "    redis.call('PEXPIRE', ids, 2 * dedupMs)\n" +
    "    size = fresh\n" +
    "  end\n" +
    "  if size > MANY_IDS then\n" +
    "    redis.call('HSET', ids, LONG_FIELD, '')\n" +
    "    redis.call('HDEL', ids, LONG_FIELD)\n" +
    "  end\n" +
    "  if count == 1 then\n" +
    "    redis.call('HSET', ids, fields[1], lastText)\n" +
    "    stored = redis.call('RPUSH', log, entries[1])\n" +
    "  else\n" +
    "    redis.call('HSET', ids, unpack(noted))\n" +
    "    stored = redis.call('RPUSH', log, unpack(entries))\n" +
    "  end\n" +
    "\n" +
    "  bytes = stored == fresh and added or bytes + added\n" +
    "  local step = retentionMs / WINDOWS\n" +
    "  local isDue = stored == fresh or moment - moment % step ~= lastAt - lastAt % step\n" +
    "  lastAt = moment\n" +
    "  if isDue then\n" +
    "    redis.call('PEXPIRE', log, math.ceil(retentionMs + step))\n" +
    "  end\n" +
    "  isDue = isDue or isNth\n" +
    "  if isDue and stored > 1 or stored > maxMessages or bytes > maxBytes then\n" +
    "    local before = stored\n" +
    "    local kept = stored - MOST_DROPPED\n" +
    "    if stored > maxMessages then\n" +
    "      local popped = redis.call('LPOP', log, math.min(stored - maxMessages, MOST_DROPPED))\n" +
    "      for i = 1, #popped do\n" +
    "        bytes = bytes - #popped[i]\n" +
    "      end\n" +
    "      stored = stored - #popped\n" +
    "    end\n" +
    "    local oldest = isDue and redis.call('LINDEX', log, 0)\n" +
    "    while\n" +
    "      stored > 1\n" +
    "      and stored > kept\n" +
    "      and (bytes > maxBytes or oldest and moment - string.match(oldest, '^%d+:%a?(%d+)') >= retentionMs)\n" +
    "    do\n" +
    "      bytes = bytes - #redis.call('LPOP', log)\n" +
    "      stored = stored - 1\n" +
    "      oldest = isDue and redis.call('LINDEX', log, 0)\n" +
    "    end\n" +
    "    if stored < before then\n" +
    "      droppedFrom, droppedTo = last - before + 1, last - stored\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "redis.call('ZADD', uncounted, last, last)\n" +
    "if changed and kind == 'D' then\n" +
    "  redis.call('ZADD', uncounted, message, message)\n" +
    "end\n" +
    "redis.call('ZREMRANGEBYSCORE', uncounted, '-inf', last - stored)\n" +
    "-- An entry lives as long as this after its message was revised, when nothing is posted up to the end of its own time.\n" +
    "redis.call('PEXPIRE', uncounted, math.ceil(2 * (retentionMs + retentionMs / WINDOWS)))\n" +
    "\n" +
    "local isOwnMoved = last - score <= 1\n" +
    "local operands = { -bytes, '\\0b', -last, '\\0l', -lastAt, '\\0t' }\n" +
    "if isOwnMoved then\n" +
    "  operands[7], operands[8] = score + 1, sender\n" +
    "end\n" +
    "redis.call('ZADD', chat, unpack(operands))\n" +
    "redis.call(publish, events, '*:' .. struct.pack('>c1Ic0', 'm', #entries[1], entries[1]))\n" +
    "if keepAcked > 0 or isOwnMoved and stored == 1 then\n" +
    "  local cursors = chat\n" +
    "  local floor = math.floor(tonumber(redis.call('ZRANGE', chat, 4, 4, 'WITHSCORES')[2]))\n" +
    "  if floor > last - stored then\n" +
    "-- Frees what everybody has acked, but for the newest ones that are kept for history.\n" +
    "-- Expects:\n" +
    "--   cursors, log       keys; cursors is the set of the head\n" +
    "--   uncounted          key, or nil: its ids up to the base are left to another script, and count nowhere\n" +
    "--   last, floor        the newest id, the lowest cursor\n" +
    "--   keepAcked          how many are kept\n" +
    "if floor >= last and keepAcked == 0 then\n" +
    "  redis.call('UNLINK', log, uncounted or log)\n" +
    "else\n" +
    "  local stored = redis.call('LLEN', log)\n" +
    "  local freedTo = math.min(floor, last - keepAcked)\n" +
    "  local surplus, freedBytes = freedTo - last + stored, 0\n" +
    "  if surplus > 0 then\n" +
    "    while surplus > 0 do\n" +
    "      local popped = redis.call('LPOP', log, math.min(surplus, 1000))\n" +
    "      for i = 1, #popped do\n" +
    "        freedBytes = freedBytes + #popped[i]\n" +
    "      end\n" +
    "      surplus = surplus - #popped\n" +
    "    end\n" +
    "    redis.call('ZINCRBY', cursors, freedBytes, '\\0b')\n" +
    "    if uncounted then\n" +
    "      redis.call('ZREMRANGEBYSCORE', uncounted, '-inf', freedTo)\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "  end\n" +
    "end\n" +
    "local reply = { last, last }\n" +
    "if droppedTo > 0 then\n" +
    "  reply[3], reply[4] = droppedFrom, droppedTo\n" +
    "end\n" +
    "return reply\n",
} as const);

export const chatRole = new Script({
  name: "chat.role",
  isReadOnly: false,
  keys: ["chat"],
  args: ["member","fraction","by"],
  source: "#!lua\n" +
    "-- Gives a member of a chat another role.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   chat         ZSET, see src/keys.ts\n" +
    "-- ARGV\n" +
    "--   member       as stored\n" +
    "--   fraction     of the role\n" +
    "--   by           who does it, as stored, and has to be an owner; '': nobody is asked\n" +
    "-- RETURNS\n" +
    "--   1 done, 0 there is no such chat, -1 `member` is not in it, -2 `by` is not in it, -3 `by` is no owner\n" +
    "local chat = KEYS[1]\n" +
    "local member, fraction, by = ARGV[1], tonumber(ARGV[2]), ARGV[3]\n" +
    "local OWNER = 0.5\n" +
    "\n" +
    "local scores = redis.call('ZMSCORE', chat, '\\0l', member, by)\n" +
    "if not scores[1] then\n" +
    "  return 0\n" +
    "elseif by ~= '' and not scores[3] then\n" +
    "  return -2\n" +
    "elseif by ~= '' and tonumber(scores[3]) % 1 ~= OWNER then\n" +
    "  return -3\n" +
    "elseif not scores[2] then\n" +
    "  return -1\n" +
    "end\n" +
    "redis.call('ZADD', chat, math.floor(tonumber(scores[2])) + fraction, member)\n" +
    "return 1\n",
} as const);

export const fileAck = new Script({
  name: "file.ack",
  isReadOnly: false,
  keys: ["file","cursors","events"],
  args: ["publish","receiver","token","position","textBytes","first"],
  restKey: "chunks",
  source: "#!lua flags=allow-oom\n" +
    "-- Moves the cursor of a receiver forward, and frees what all have passed. Repeating it changes nothing.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   file         HASH, see src/keys.ts\n" +
    "--   cursors      ZSET receiver -> position\n" +
    "--   events       channel; not a key\n" +
    "--   chunks...    STRINGs: from the last one that the caller knows to be freed up to its cursor\n" +
    "-- ARGV\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "--   receiver     encoded\n" +
    "--   token        of its lease\n" +
    "--   position     of its cursor\n" +
    "--   textBytes    <of inflated text that it has acked>:<of them before the position>; empty: not compressed\n" +
    "--   first        index of the first of the chunks\n" +
    "-- RETURNS\n" +
    "--   the first chunk that is not freed; -1: a younger lease has the file; -2: the receiver is done or was dropped, or the file is gone; -3: the\n" +
    "--   position is of chunks that Redis has forgotten\n" +
    "local file, cursors, events = KEYS[1], KEYS[2], KEYS[3]\n" +
    "local publish, receiver, token, position, textBytes, first = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[6])\n" +
    "\n" +
    "if not redis.call('ZSCORE', cursors, receiver) then\n" +
    "  return -2\n" +
    "end\n" +
    "local held, acked, chunksWritten = unpack(redis.call('HMGET', file, 't:' .. receiver, 'g:' .. receiver, 'n'))\n" +
    "if held ~= token then\n" +
    "  return -1\n" +
    "elseif position / 8388608 >= tonumber(chunksWritten) + 1 then\n" +
    "  return -3\n" +
    "end\n" +
    "local chunks = {}\n" +
    "for i = 4, #KEYS do\n" +
    "  chunks[#chunks + 1] = KEYS[i]\n" +
    "end\n" +
    "if textBytes == '' then\n" +
    "  redis.call('ZADD', cursors, 'XX', 'GT', position, receiver)\n" +
    "  if acked then\n" +
    "    redis.call('HDEL', file, 'g:' .. receiver)\n" +
    "  end\n" +
    "elseif not acked or tonumber(acked:match('^%d+')) <= tonumber(textBytes:match('^%d+')) then\n" +
    "  -- Not so an older one that was sent again: position and text belong together.\n" +
    "  redis.call('ZADD', cursors, 'XX', 'GT', position, receiver)\n" +
    "  redis.call('HSET', file, 'g:' .. receiver, textBytes)\n" +
    "end\n" +
    "-- Frees the chunks that all receivers have passed.\n" +
    "-- Expects:\n" +
    "--   file, cursors, events, publish\n" +
    "--   chunks, first      keys of chunks in their order, and the index of the first one\n" +
    "local n, freed, freedBytes, state = unpack(redis.call('HMGET', file, 'n', 'freed', 'freedBytes', 'state'))\n" +
    "local slowest = redis.call('ZRANGE', cursors, '0', '0', 'WITHSCORES')[2]\n" +
    "-- A position is the chunk times 2^23, and the bytes in it.\n" +
    "local floor = slowest and math.floor(slowest / 8388608) or tonumber(n)\n" +
    "floor = math.min(floor, first + #chunks, tonumber(n))\n" +
    "freed = tonumber(freed)\n" +
    "if floor > freed and first <= freed then\n" +
    "  for index = freed, floor - 1 do\n" +
    "    freedBytes = freedBytes + redis.call('STRLEN', chunks[index - first + 1])\n" +
    "    redis.call('UNLINK', chunks[index - first + 1])\n" +
    "  end\n" +
    "  freed = floor\n" +
    "  freedBytes = string.format('%d', freedBytes)\n" +
    "  redis.call('HSET', file, 'freed', string.format('%d', freed), 'freedBytes', freedBytes)\n" +
    "  redis.call(publish, events, '*:' .. n .. ' ' .. freedBytes .. ' ' .. state)\n" +
    "end\n" +
    "return freed\n",
} as const);

export const fileClose = new Script({
  name: "file.close",
  isReadOnly: false,
  keys: ["file","cursors","events"],
  args: ["publish","token","state","detail","ttlMs"],
  restKey: "chunks",
  source: "#!lua flags=allow-oom\n" +
    "-- Ends a file: whole, or aborted. Repeating it changes nothing.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   file         HASH, see src/keys.ts\n" +
    "--   cursors      ZSET receiver -> position\n" +
    "--   events       channel; not a key\n" +
    "--   chunks...    the empty key of the next chunk; when it is aborted, then those that are stored\n" +
    "-- ARGV\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "--   token        of the writer\n" +
    "--   state        closed or aborted\n" +
    "--   detail       the SHA-256 in hex, or the reason\n" +
    "--   ttlMs        ms\n" +
    "-- RETURNS\n" +
    "--   1; 0 when it had ended before; -1: another writer has the file\n" +
    "local file, cursors, events = KEYS[1], KEYS[2], KEYS[3]\n" +
    "local publish, token, state, detail, ttlMs = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]\n" +
    "\n" +
    "local n, held, present, freedBytes, stored = unpack(redis.call('HMGET', file, 'n', 'token', 'state', 'freedBytes', 'stored'))\n" +
    "if held ~= token then\n" +
    "  return -1\n" +
    "elseif present ~= 'open' then\n" +
    "  return 0\n" +
    "end\n" +
    "for i = 4, #KEYS do\n" +
    "  redis.call('UNLINK', KEYS[i])\n" +
    "end\n" +
    "if state == 'aborted' then\n" +
    "  redis.call('HSET', file, 'freed', n, 'freedBytes', stored)\n" +
    "  freedBytes = stored\n" +
    "end\n" +
    "if state == 'closed' and redis.call('EXISTS', cursors) == 0 then\n" +
    "  redis.call('UNLINK', file)\n" +
    "else\n" +
    "  -- That it was aborted is told until its id is free, see src/files/settling.ts.\n" +
    "  redis.call('HSET', file, 'state', state, 'detail', detail, 'lease', '0')\n" +
    "  redis.call('PEXPIRE', file, ttlMs)\n" +
    "  redis.call('PEXPIRE', cursors, ttlMs)\n" +
    "end\n" +
    "redis.call(publish, events, '*:' .. n .. ' ' .. freedBytes .. ' ' .. state)\n" +
    "return 1\n",
} as const);

export const fileCommit = new Script({
  name: "file.commit",
  isReadOnly: false,
  keys: ["file","cursors","chunk","next","events"],
  args: ["publish","token","index","stored","bytes","crc","leaseMs","ttlMs"],
  source: "#!lua\n" +
    "-- Makes a chunk that was stored visible, and the empty key of the next one. Repeating it changes nothing.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   file         HASH, see src/keys.ts\n" +
    "--   cursors      ZSET receiver -> position\n" +
    "--   chunk        STRING: the chunk\n" +
    "--   next         STRING: the next one\n" +
    "--   events       channel; not a key\n" +
    "-- ARGV\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "--   token        of the writer\n" +
    "--   index        of the chunk\n" +
    "--   stored       bytes, as stored\n" +
    "--   bytes        of the file in it\n" +
    "--   crc          of the file up to its end\n" +
    "--   leaseMs      ms\n" +
    "--   ttlMs        ms\n" +
    "-- RETURNS\n" +
    "--   how many bytes, as stored, were freed so far; -1: another writer has the file; -2: it is not open any more; -3: the chunk is not\n" +
    "--   stored; -4: nobody reads it any more\n" +
    "local file, cursors, chunk, next, events = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]\n" +
    "local publish, token, index, stored, bytes, crc = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6]\n" +
    "local leaseMs, ttlMs = tonumber(ARGV[7]), ARGV[8]\n" +
    "\n" +
    "local n, held, state, allStored, allBytes, freedBytes =\n" +
    "  unpack(redis.call('HMGET', file, 'n', 'token', 'state', 'stored', 'bytes', 'freedBytes'))\n" +
    "if held ~= token then\n" +
    "  return -1\n" +
    "elseif state ~= 'open' then\n" +
    "  return -2\n" +
    "elseif tonumber(n) > index then\n" +
    "  return tonumber(freedBytes)\n" +
    "elseif redis.call('EXISTS', cursors) == 0 then\n" +
    "  -- Also of those that are on the way behind the first one that was refused.\n" +
    "  redis.call('UNLINK', chunk)\n" +
    "  return -4\n" +
    "elseif tonumber(n) < index or redis.call('STRLEN', chunk) ~= stored then\n" +
    "  return -3\n" +
    "end\n" +
    "local time = redis.call('TIME')\n" +
    "local leaseEnd = time[1] * 1000 + math.floor(time[2] / 1000) + leaseMs\n" +
    "n = string.format('%d', index + 1)\n" +
    "allStored = string.format('%d', allStored + stored)\n" +
    "redis.call('HSET', file, 'n', n, 'stored', allStored, 'bytes', string.format('%d', allBytes + bytes), 'crc', crc,\n" +
    "  'lease', string.format('%d', leaseEnd))\n" +
    "redis.call('SET', next, '', 'PX', ttlMs)\n" +
    "redis.call('PEXPIRE', file, ttlMs)\n" +
    "redis.call('PEXPIRE', cursors, ttlMs)\n" +
    "redis.call(publish, events, '*:' .. n .. ' ' .. freedBytes .. ' open')\n" +
    "return tonumber(freedBytes)\n",
} as const);

export const fileJoin = new Script({
  name: "file.join",
  isReadOnly: false,
  keys: ["file","cursors"],
  args: ["receiver","token"],
  source: "#!lua flags=allow-oom\n" +
    "-- A receiver begins to read a file, or goes on; acks of a process that had its name before are refused from now on.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   file         HASH, see src/keys.ts\n" +
    "--   cursors      ZSET receiver -> position\n" +
    "-- ARGV\n" +
    "--   receiver     encoded\n" +
    "--   token        of its lease\n" +
    "-- RETURNS\n" +
    "--   { position, inflated text that was acked (see file.ack), chunks, freed, freedBytes, state, segments, detail, bytes, windowBytes, chunkBytes }\n" +
    "--   { 'absent' }: no such file (yet); { 'lost' }: a younger lease has the file; { 'done' }: nothing to read for this receiver\n" +
    "local file, cursors = KEYS[1], KEYS[2]\n" +
    "local receiver, token = ARGV[1], ARGV[2]\n" +
    "\n" +
    "local held, textBytes, n, freed, freedBytes, state, segments, detail, bytes, windowBytes, chunkBytes = unpack(redis.call('HMGET', file,\n" +
    "  't:' .. receiver, 'g:' .. receiver, 'n', 'freed', 'freedBytes', 'state', 'segments', 'detail', 'bytes', 'windowBytes', 'chunkBytes'))\n" +
    "if not state then\n" +
    "  return { 'absent' }\n" +
    "elseif held and tonumber(held) > tonumber(token) then\n" +
    "  return { 'lost' }\n" +
    "end\n" +
    "local position = redis.call('ZSCORE', cursors, receiver)\n" +
    "if not position then\n" +
    "  return { 'done' }\n" +
    "end\n" +
    "redis.call('HSET', file, 't:' .. receiver, token)\n" +
    "return { position, textBytes or '', n, freed, freedBytes, state, segments, detail or '', bytes, windowBytes, chunkBytes }\n",
} as const);

export const fileOpen = new Script({
  name: "file.open",
  isReadOnly: false,
  keys: ["file","cursors","next","before"],
  args: ["holder","leaseMs","ttlMs","chunks","token","chunkBytes","windowBytes"],
  restArg: "receivers",
  source: "#!lua\n" +
    "-- Takes the writer's lease of a file, under a new fencing token, and makes the empty key of the next chunk; the one of\n" +
    "-- the writer before goes away, so that nothing of theirs is stored any more.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   file         HASH, see src/keys.ts\n" +
    "--   cursors      ZSET receiver -> position\n" +
    "--   next         STRING: the next chunk, under the new token\n" +
    "--   before       STRING: the next chunk, under the old token\n" +
    "-- ARGV\n" +
    "--   holder       who wants the lease\n" +
    "--   leaseMs      ms\n" +
    "--   ttlMs        ms\n" +
    "--   chunks       what the caller has seen: how many are committed\n" +
    "--   token        what the caller has seen: the old token, 0 for none\n" +
    "--   chunkBytes   the most bytes of a chunk, as stored\n" +
    "--   windowBytes  the most bytes of all chunks, as stored\n" +
    "--   receivers...  those who are not done, encoded\n" +
    "-- RETURNS\n" +
    "--   { 'held', token }, { 'busy', ms until the lease of the other ends }, { 'changed' }: look again\n" +
    "local file, cursors, next, before = KEYS[1], KEYS[2], KEYS[3], KEYS[4]\n" +
    "local holder, leaseMs, ttlMs, chunks, token = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]\n" +
    "local chunkBytes, windowBytes = ARGV[6], ARGV[7]\n" +
    "\n" +
    "local n, held, heldBy, leaseEnd, state, segments =\n" +
    "  unpack(redis.call('HMGET', file, 'n', 'token', 'holder', 'lease', 'state', 'segments'))\n" +
    "if (n or '0') ~= chunks or (held or '0') ~= token or (state and state ~= 'open') then\n" +
    "  return { 'changed' }\n" +
    "end\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "if held and heldBy ~= holder and tonumber(leaseEnd) > now then\n" +
    "  return { 'busy', leaseEnd - now }\n" +
    "end\n" +
    "local mine = string.format('%d', token + 1)\n" +
    "redis.call('UNLINK', before)\n" +
    "if not held then\n" +
    "  redis.call('HSET', file, 'n', '0', 'bytes', '0', 'stored', '0', 'freed', '0', 'freedBytes', '0', 'crc', '0', 'state', 'open')\n" +
    "  for i = 8, #ARGV do\n" +
    "    redis.call('ZADD', cursors, '0', ARGV[i])\n" +
    "  end\n" +
    "end\n" +
    "-- Writers that wrote nothing leave nothing.\n" +
    "segments = segments and segments:gsub(',?%d+@' .. chunks .. '$', '') or ''\n" +
    "segments = segments .. (segments == '' and '' or ',') .. mine .. '@' .. chunks\n" +
    "redis.call('HSET', file, 'token', mine, 'holder', holder, 'lease', string.format('%d', now + leaseMs), 'segments', segments,\n" +
    "  'chunkBytes', chunkBytes, 'windowBytes', windowBytes)\n" +
    "redis.call('SET', next, '', 'PX', ttlMs)\n" +
    "redis.call('PEXPIRE', file, ttlMs)\n" +
    "redis.call('PEXPIRE', cursors, ttlMs)\n" +
    "return { 'held', tonumber(mine) }\n",
} as const);

export const fileRenew = new Script({
  name: "file.renew",
  isReadOnly: false,
  keys: ["file","cursors","events"],
  args: ["publish","token","chunks","leaseMs"],
  source: "#!lua flags=allow-oom\n" +
    "-- Renews the lease of a writer, or gives it up.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   file         HASH, see src/keys.ts\n" +
    "--   cursors      ZSET receiver -> position\n" +
    "--   events       channel; not a key\n" +
    "-- ARGV\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "--   token        of the writer\n" +
    "--   chunks       that it has committed\n" +
    "--   leaseMs      ms; 0 gives the lease up\n" +
    "-- RETURNS\n" +
    "--   how many bytes, as stored, were freed so far; -1: another writer has the file; -2: it is not open any more; -4: nobody reads it\n" +
    "--   any more; -3: Redis has forgotten chunks, as after a failover\n" +
    "local file, cursors, events = KEYS[1], KEYS[2], KEYS[3]\n" +
    "local publish, token, chunks, leaseMs = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])\n" +
    "\n" +
    "local held, state, freedBytes, n = unpack(redis.call('HMGET', file, 'token', 'state', 'freedBytes', 'n'))\n" +
    "if held ~= token then\n" +
    "  return -1\n" +
    "elseif state ~= 'open' then\n" +
    "  return -2\n" +
    "elseif leaseMs > 0 and tonumber(n) < chunks then\n" +
    "  return -3\n" +
    "end\n" +
    "local time = redis.call('TIME')\n" +
    "redis.call('HSET', file, 'lease', string.format('%d', time[1] * 1000 + math.floor(time[2] / 1000) + leaseMs))\n" +
    "if leaseMs == 0 then\n" +
    "  redis.call(publish, events, '*:released')\n" +
    "end\n" +
    "return redis.call('EXISTS', cursors) == 0 and -4 or tonumber(freedBytes)\n",
} as const);

export const fileSettle = new Script({
  name: "file.settle",
  isReadOnly: false,
  keys: ["file","cursors","events"],
  args: ["publish","first","isAborted"],
  restKey: "chunks",
  restArg: "receivers",
  source: "#!lua flags=allow-oom\n" +
    "-- Takes out the cursors of receivers who are done, as the channel says, and frees what nobody has to read any more; all of the file,\n" +
    "-- when it has ended and nobody is left. Repeating it changes nothing.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   file         HASH, see src/keys.ts\n" +
    "--   cursors      ZSET receiver -> position\n" +
    "--   events       channel; not a key\n" +
    "--   chunks...    STRINGs: from the last one that the caller knows to be freed up to the newest\n" +
    "-- ARGV\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "--   first        index of the first of the chunks\n" +
    "--   isAborted    1: the caller has seen that it was aborted\n" +
    "--   receivers...  encoded\n" +
    "-- RETURNS\n" +
    "--   1 when the file is gone, 0 when it is there, -1 when it has to be called again: with all chunks, or as aborted\n" +
    "local file, cursors, events = KEYS[1], KEYS[2], KEYS[3]\n" +
    "local publish, first, isAborted = ARGV[1], tonumber(ARGV[2]), ARGV[3]\n" +
    "\n" +
    "if redis.call('EXISTS', file) == 0 then\n" +
    "  redis.call('UNLINK', cursors)\n" +
    "  return 1\n" +
    "end\n" +
    "local chunks = {}\n" +
    "for i = 4, #KEYS do\n" +
    "  chunks[#chunks + 1] = KEYS[i]\n" +
    "end\n" +
    "for i = 4, #ARGV do\n" +
    "  redis.call('ZREM', cursors, ARGV[i])\n" +
    "  redis.call('HDEL', file, 't:' .. ARGV[i], 'g:' .. ARGV[i])\n" +
    "end\n" +
    "-- Frees the chunks that all receivers have passed.\n" +
    "-- Expects:\n" +
    "--   file, cursors, events, publish\n" +
    "--   chunks, first      keys of chunks in their order, and the index of the first one\n" +
    "local n, freed, freedBytes, state = unpack(redis.call('HMGET', file, 'n', 'freed', 'freedBytes', 'state'))\n" +
    "local slowest = redis.call('ZRANGE', cursors, '0', '0', 'WITHSCORES')[2]\n" +
    "-- A position is the chunk times 2^23, and the bytes in it.\n" +
    "local floor = slowest and math.floor(slowest / 8388608) or tonumber(n)\n" +
    "floor = math.min(floor, first + #chunks, tonumber(n))\n" +
    "freed = tonumber(freed)\n" +
    "if floor > freed and first <= freed then\n" +
    "  for index = freed, floor - 1 do\n" +
    "    freedBytes = freedBytes + redis.call('STRLEN', chunks[index - first + 1])\n" +
    "    redis.call('UNLINK', chunks[index - first + 1])\n" +
    "  end\n" +
    "  freed = floor\n" +
    "  freedBytes = string.format('%d', freedBytes)\n" +
    "  redis.call('HSET', file, 'freed', string.format('%d', freed), 'freedBytes', freedBytes)\n" +
    "  redis.call(publish, events, '*:' .. n .. ' ' .. freedBytes .. ' ' .. state)\n" +
    "end\n" +
    "if redis.call('EXISTS', cursors) == 1 then\n" +
    "  return 0\n" +
    "elseif freed < tonumber(n) then\n" +
    "  return -1\n" +
    "elseif state == 'open' then\n" +
    "  -- The writer learns it: it may be waiting for room.\n" +
    "  redis.call(publish, events, '*:' .. n .. ' ' .. freedBytes .. ' unread')\n" +
    "  return 0\n" +
    "elseif state == 'aborted' and isAborted ~= '1' then\n" +
    "  return -1\n" +
    "end\n" +
    "redis.call('UNLINK', file)\n" +
    "return 1\n",
} as const);

export const filesFinish = new Script({
  name: "files.finish",
  isReadOnly: false,
  keys: ["head","files","listed","done","receivers","sent"],
  args: ["number","token","epoch","fileId"],
  restArg: "names",
  source: "#!lua flags=allow-oom\n" +
    "-- A receiver is done with a file, or is not waited for any more. Repeating it changes nothing.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   head         HASH, see src/keys.ts\n" +
    "--   files        ZSET id -> number\n" +
    "--   listed       HASH number -> entry\n" +
    "--   done         SET of <number>:<receiver>\n" +
    "--   receivers    ZSET receiver -> end of its lease\n" +
    "--   sent         HASH host and identity of a path -> record of it\n" +
    "-- ARGV\n" +
    "--   number       of the file\n" +
    "--   token        of the receiver's lease; empty: not asked for\n" +
    "--   epoch        of the channel\n" +
    "--   fileId       of the file; empty: of whichever has the number\n" +
    "--   names...     the receivers, encoded; none: only asks\n" +
    "-- RETURNS\n" +
    "--   { 1 when all receivers are done, id of the file, the names of those who are... }; nil: the lease is another's, or the channel is another\n" +
    "--   one; empty: the file is not listed any more; { -1 }: Redis has forgotten that it was, as after a failover\n" +
    "local head, files, listed, done, receivers, sent = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]\n" +
    "local number, token, epoch, fileId = ARGV[1], ARGV[2], ARGV[3], ARGV[4]\n" +
    "\n" +
    "local names = { unpack(ARGV, 5) }\n" +
    "if redis.call('HGET', head, 'epoch') ~= epoch then\n" +
    "  return token == '' and {}\n" +
    "end\n" +
    "if token ~= '' then\n" +
    "  local lease = redis.call('HGET', head, 'r:' .. names[1])\n" +
    "  if not lease or lease:match('^(%d+):') ~= token then\n" +
    "    return false\n" +
    "  end\n" +
    "end\n" +
    "local entry = redis.call('HGET', listed, number)\n" +
    "if not entry then\n" +
    "  return tonumber(number) > tonumber(redis.call('HGET', head, 'last')) and { -1 } or {}\n" +
    "end\n" +
    "local listedId = entry:match('^%d+:%d+:%d+:[^:]*:([^:]*):')\n" +
    "if fileId ~= '' and listedId ~= fileId then\n" +
    "  -- Another one has the number.\n" +
    "  return { -1 }\n" +
    "end\n" +
    "for i = 1, #names do\n" +
    "  redis.call('SADD', done, number .. ':' .. names[i])\n" +
    "end\n" +
    "-- Lets a channel live on. Its parts expire together: one that outlived the others would belong to the next channel of the name.\n" +
    "-- Expects: head, files, listed, done, receivers, sent (keys).\n" +
    "local keepMs = redis.call('HGET', head, 'ttlMs')\n" +
    "if keepMs then\n" +
    "  for _, key in ipairs({ head, files, listed, done, receivers, sent }) do\n" +
    "    redis.call('PEXPIRE', key, keepMs)\n" +
    "  end\n" +
    "end\n" +
    "local all = redis.call('ZRANGE', receivers, '0', '-1')\n" +
    "local marks = {}\n" +
    "for i = 1, #all do\n" +
    "  marks[i] = number .. ':' .. all[i]\n" +
    "end\n" +
    "local isDone = marks[1] and redis.call('SMISMEMBER', done, unpack(marks)) or {}\n" +
    "local reply = { 1, listedId }\n" +
    "for i = 1, #all do\n" +
    "  if isDone[i] == 1 then\n" +
    "    reply[#reply + 1] = all[i]\n" +
    "  else\n" +
    "    reply[1] = 0\n" +
    "  end\n" +
    "end\n" +
    "-- Who has left the channel is done with all that was listed before.\n" +
    "for last, name in string.gmatch(redis.call('HGET', head, 'left') or '', '(%d+) ([^\\n" +
    "]+)\\n" +
    "') do\n" +
    "  if tonumber(last) >= tonumber(number) then\n" +
    "    reply[#reply + 1] = name\n" +
    "  end\n" +
    "end\n" +
    "return reply\n",
} as const);

export const filesJoin = new Script({
  name: "files.join",
  isReadOnly: false,
  keys: ["head","files","listed","done","receivers","sent"],
  args: ["receiver","maxReceivers","ttlMs"],
  source: "#!lua\n" +
    "-- Makes somebody a receiver of a channel, behind its newest file. Repeating it changes nothing.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   head         HASH, see src/keys.ts\n" +
    "--   files        ZSET id -> number\n" +
    "--   listed       HASH number -> entry\n" +
    "--   done         SET of <number>:<receiver>\n" +
    "--   receivers    ZSET receiver -> end of its lease\n" +
    "--   sent         HASH host and identity of a path -> record of it\n" +
    "-- ARGV\n" +
    "--   receiver     encoded\n" +
    "--   maxReceivers  also those who have left, as long as what was listed before is\n" +
    "--   ttlMs        ms; the channel expires so long after its last use, if no sender says otherwise\n" +
    "-- RETURNS\n" +
    "--   1; 0: it was one; -1: the channel has ended; -2: it has as many as it may have\n" +
    "local head, files, listed, done, receivers, sent = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]\n" +
    "local receiver, maxReceivers, ttlMs = ARGV[1], tonumber(ARGV[2]), ARGV[3]\n" +
    "\n" +
    "local ended, left = unpack(redis.call('HMGET', head, 'ended', 'left'))\n" +
    "if ended then\n" +
    "  return -1\n" +
    "end\n" +
    "local isNew = not redis.call('ZSCORE', receivers, receiver)\n" +
    "if isNew then\n" +
    "  local others, kept = redis.call('ZCARD', receivers), ''\n" +
    "  for number, name in string.gmatch(left or '', '(%d+) ([^\\n" +
    "]+)\\n" +
    "') do\n" +
    "    if name ~= receiver then\n" +
    "      others = others + 1\n" +
    "      kept = kept .. number .. ' ' .. name .. '\\n" +
    "'\n" +
    "    end\n" +
    "  end\n" +
    "  if others >= maxReceivers then\n" +
    "    return -2\n" +
    "  end\n" +
    "  if left and kept ~= left then\n" +
    "    redis.call('HSET', head, 'left', kept)\n" +
    "  end\n" +
    "  local numbers = redis.call('HKEYS', listed)\n" +
    "  for i = 1, #numbers do\n" +
    "    redis.call('SADD', done, numbers[i] .. ':' .. receiver)\n" +
    "  end\n" +
    "  redis.call('ZADD', receivers, '0', receiver)\n" +
    "end\n" +
    "redis.call('HSETNX', head, 'ttlMs', ttlMs)\n" +
    "-- Lets a channel live on. Its parts expire together: one that outlived the others would belong to the next channel of the name.\n" +
    "-- Expects: head, files, listed, done, receivers, sent (keys).\n" +
    "local keepMs = redis.call('HGET', head, 'ttlMs')\n" +
    "if keepMs then\n" +
    "  for _, key in ipairs({ head, files, listed, done, receivers, sent }) do\n" +
    "    redis.call('PEXPIRE', key, keepMs)\n" +
    "  end\n" +
    "end\n" +
    "return isNew and 1 or 0\n",
} as const);

export const filesLeave = new Script({
  name: "files.leave",
  isReadOnly: false,
  keys: ["head","listed","done","receivers"],
  args: ["receiver"],
  source: "#!lua flags=allow-oom\n" +
    "-- Takes a receiver out of a channel: it is done with what is listed, and gets no more. Repeating it changes nothing.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   head         HASH, see src/keys.ts\n" +
    "--   listed       HASH number -> entry\n" +
    "--   done         SET of <number>:<receiver>\n" +
    "--   receivers    ZSET receiver -> end of its lease\n" +
    "-- ARGV\n" +
    "--   receiver     encoded\n" +
    "-- RETURNS\n" +
    "--   the numbers of the files that are listed, to be settled; nil: no such receiver\n" +
    "local head, listed, done, receivers = KEYS[1], KEYS[2], KEYS[3], KEYS[4]\n" +
    "local receiver = ARGV[1]\n" +
    "\n" +
    "if redis.call('ZREM', receivers, receiver) == 0 then\n" +
    "  return false\n" +
    "end\n" +
    "local numbers = redis.call('HKEYS', listed)\n" +
    "local oldest\n" +
    "for i = 1, #numbers do\n" +
    "  redis.call('SREM', done, numbers[i] .. ':' .. receiver)\n" +
    "  oldest = math.min(oldest or math.huge, tonumber(numbers[i]))\n" +
    "end\n" +
    "redis.call('HDEL', head, 'r:' .. receiver)\n" +
    "local last, left = unpack(redis.call('HMGET', head, 'last', 'left'))\n" +
    "local kept = ''\n" +
    "if oldest then\n" +
    "  for number, name in string.gmatch(left or '', '(%d+) ([^\\n" +
    "]+)\\n" +
    "') do\n" +
    "    if tonumber(number) >= oldest then\n" +
    "      kept = kept .. number .. ' ' .. name .. '\\n" +
    "'\n" +
    "    end\n" +
    "  end\n" +
    "  -- A sender that has asked who is to get a file may open it afterwards, with a cursor for who has left meanwhile.\n" +
    "  kept = kept .. last .. ' ' .. receiver .. '\\n" +
    "'\n" +
    "end\n" +
    "if kept ~= '' then\n" +
    "  redis.call('HSET', head, 'left', kept)\n" +
    "elseif left then\n" +
    "  redis.call('HDEL', head, 'left')\n" +
    "end\n" +
    "return numbers\n",
} as const);

export const filesLeft = new Script({
  name: "files.left",
  isReadOnly: true,
  keys: ["files","sent"],
  args: ["host"],
  restArg: "numbers",
  source: "#!lua flags=no-writes\n" +
    "-- Shows what is recorded of the paths of a host that listed files are of.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   files        ZSET id -> number\n" +
    "--   sent         HASH host and identity of a path -> record of it\n" +
    "-- ARGV\n" +
    "--   host         what the keys of its paths begin with\n" +
    "--   numbers...   of the files\n" +
    "-- RETURNS\n" +
    "--   for each number { id, record of its path }, of which it is the file, or the one before; empty: that is recorded as another file, or nothing has the\n" +
    "--   number; nil: the file is of no path of the host\n" +
    "local files, sent = KEYS[1], KEYS[2]\n" +
    "local host = ARGV[1]\n" +
    "\n" +
    "local found = {}\n" +
    "for i = 2, #ARGV do\n" +
    "  local id = redis.call('ZRANGE', files, ARGV[i], ARGV[i], 'BYSCORE')[1]\n" +
    "  local path = id and id:match('^(%x+%-%d+%-%d+%-%d+):')\n" +
    "  if not id then\n" +
    "    found[i - 1] = {}\n" +
    "  elseif not path or path:match('^%x+') ~= host then\n" +
    "    found[i - 1] = false\n" +
    "  else\n" +
    "    local record = redis.call('HGET', sent, path)\n" +
    "    local isOf = record and (record:match('^%S+') == id or record:match(',\"([^\"]*)\",%d+%]$') == id)\n" +
    "    found[i - 1] = isOf and { id, record } or {}\n" +
    "  end\n" +
    "end\n" +
    "return found\n",
} as const);

export const filesNote = new Script({
  name: "files.note",
  isReadOnly: false,
  keys: ["sent"],
  args: ["path","id","to","record"],
  source: "#!lua flags=allow-oom\n" +
    "-- Notes how far a path was sent as a file. Repeating it changes nothing, and so does a writer who has lost the lease to one that has sent more.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   sent         HASH host and identity of a path -> record of it\n" +
    "-- ARGV\n" +
    "--   path         its host and identity\n" +
    "--   id           of the file\n" +
    "--   to           bytes of the path\n" +
    "--   record       begins with that id, and has that byte behind the first one\n" +
    "-- RETURNS\n" +
    "--   1; 0 when the path is recorded as another file now, or more of it is noted\n" +
    "local sent = KEYS[1]\n" +
    "local path, id, to, record = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]\n" +
    "\n" +
    "local found = redis.call('HGET', sent, path)\n" +
    "if not found or found:match('^%S+') ~= id then\n" +
    "  return 0\n" +
    "end\n" +
    "local noted = found:match('^%S+ %[%d+,(%d+)')\n" +
    "if noted and tonumber(noted) > to then\n" +
    "  return 0\n" +
    "end\n" +
    "redis.call('HSET', sent, path, record)\n" +
    "return 1\n",
} as const);

export const filesOpen = new Script({
  name: "files.open",
  isReadOnly: false,
  keys: ["head","files","listed","done","receivers","sent","events"],
  args: ["publish","id","name","reserve","budget","maxListed","remembered","ttlMs","newEpoch","newFileId","path","seen","record"],
  restArg: "names",
  source: "#!lua\n" +
    "-- Lists a file in its channel, and reserves its window in the channel's budget. The first call makes the channel.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   head         HASH, see src/keys.ts\n" +
    "--   files        ZSET id -> number\n" +
    "--   listed       HASH number -> entry\n" +
    "--   done         SET of <number>:<receiver>\n" +
    "--   receivers    ZSET receiver -> end of its lease\n" +
    "--   sent         HASH host and identity of a path -> record of it, see src/files/path-records.ts; `id:` and an id -> SHA-256 and name of what was sent\n" +
    "--   events       channel; not a key\n" +
    "-- ARGV\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "--   id           of the file, encoded\n" +
    "--   name         of the file, encoded\n" +
    "--   reserve      bytes\n" +
    "--   budget       bytes\n" +
    "--   maxListed    files\n" +
    "--   remembered   how many ids of finished files are kept\n" +
    "--   ttlMs        ms; the channel expires so long after its last use\n" +
    "--   newEpoch     of the channel, if this call makes it\n" +
    "--   newFileId    of the file, if this call lists it\n" +
    "--   path         host and identity of the path that it is a part of; empty: of none\n" +
    "--   seen         the record of the path that the caller has seen; empty: none\n" +
    "--   record       what it is to be\n" +
    "--   names...     the receivers, encoded\n" +
    "-- RETURNS\n" +
    "--   { 'listed', epoch, number, bytes reserved, id of the file, its name, who is not done... }, { 'finished', epoch, number }, { 'full' }, { 'ended' }, { 'differ' }: the\n" +
    "--   channel has other receivers, { 'changed' }: the path has another record, look again\n" +
    "local head, files, listed, done, receivers, sent, events = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]\n" +
    "local publish, id, name, reserve, budget = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])\n" +
    "local maxListed, remembered, ttlMs, newEpoch, newFileId = tonumber(ARGV[6]), tonumber(ARGV[7]), ARGV[8], ARGV[9], ARGV[10]\n" +
    "local path, seen, record = ARGV[11], ARGV[12], ARGV[13]\n" +
    "\n" +
    "local names = {}\n" +
    "for i = 14, #ARGV do\n" +
    "  names[#names + 1] = ARGV[i]\n" +
    "end\n" +
    "if path ~= '' and (redis.call('HGET', sent, path) or '') ~= seen then\n" +
    "  return { 'changed' }\n" +
    "end\n" +
    "local epoch = redis.call('HGET', head, 'epoch')\n" +
    "local number = redis.call('ZSCORE', files, id)\n" +
    "if number and redis.call('HEXISTS', listed, number) == 0 then\n" +
    "  return { 'finished', epoch, tonumber(number) }\n" +
    "end\n" +
    "local ended, last, reserved = unpack(redis.call('HMGET', head, 'ended', 'last', 'reserved'))\n" +
    "if ended and not number then\n" +
    "  return { 'ended' }\n" +
    "end\n" +
    "local known = redis.call('ZCARD', receivers)\n" +
    "if known > 0 then\n" +
    "  local scores = redis.call('ZMSCORE', receivers, unpack(names))\n" +
    "  for i = 1, #names do\n" +
    "    if not scores[i] then\n" +
    "      return { 'differ' }\n" +
    "    end\n" +
    "  end\n" +
    "  if known ~= #names then\n" +
    "    return { 'differ' }\n" +
    "  end\n" +
    "end\n" +
    "local entry = number and redis.call('HGET', listed, number)\n" +
    "if not number then\n" +
    "  reserved = tonumber(reserved or 0)\n" +
    "  if (reserved > 0 and reserved + reserve > budget) or redis.call('HLEN', listed) >= maxListed then\n" +
    "    return { 'full' }\n" +
    "  end\n" +
    "  number = string.format('%d', (last or 0) + 1)\n" +
    "  local time = redis.call('TIME')\n" +
    "  local now = string.format('%d', time[1] * 1000 + math.floor(time[2] / 1000))\n" +
    "  if not epoch then\n" +
    "    epoch = newEpoch\n" +
    "    redis.call('HSET', head, 'epoch', epoch)\n" +
    "  end\n" +
    "  redis.call('HSET', head, 'last', number, 'reserved', string.format('%d', reserved + reserve))\n" +
    "  redis.call('ZADD', files, number, id)\n" +
    "  entry = string.format('%d:%s:%s:%s:%s:%s', reserve, now, ttlMs, epoch, newFileId, name)\n" +
    "  redis.call('HSET', listed, number, entry)\n" +
    "  if known == 0 then\n" +
    "    for i = 1, #names do\n" +
    "      redis.call('ZADD', receivers, '0', names[i])\n" +
    "    end\n" +
    "  end\n" +
    "  -- A hundred at most, from the oldest: what is still listed there stays.\n" +
    "  local surplus = redis.call('ZCARD', files) - redis.call('HLEN', listed) - remembered\n" +
    "  if surplus > 0 then\n" +
    "    local oldest = redis.call('ZRANGE', files, '0', '99', 'WITHSCORES')\n" +
    "    for i = 1, #oldest, 2 do\n" +
    "      if surplus > 0 and redis.call('HEXISTS', listed, oldest[i + 1]) == 0 then\n" +
    "        redis.call('ZREM', files, oldest[i])\n" +
    "        surplus = surplus - 1\n" +
    "        redis.call('HDEL', sent, 'id:' .. oldest[i])\n" +
    "        local of = oldest[i]:match('^(%x+%-%d+%-%d+%-%d+):')\n" +
    "        local recorded = of and redis.call('HGET', sent, of)\n" +
    "        if recorded and recorded:match('^%S+') == oldest[i] then\n" +
    "          redis.call('HDEL', sent, of)\n" +
    "        end\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "  redis.call(publish, events, '*:listed')\n" +
    "elseif reserve > tonumber(entry:match('^%d+')) then\n" +
    "  -- It has grown since it was listed. Nobody waits for room within a file that has begun.\n" +
    "  redis.call('HINCRBY', head, 'reserved', string.format('%d', reserve - entry:match('^%d+')))\n" +
    "  entry = string.format('%d%s', reserve, entry:match('^%d+(.*)$'))\n" +
    "  redis.call('HSET', listed, number, entry)\n" +
    "end\n" +
    "if path ~= '' and record ~= seen then\n" +
    "  redis.call('HSET', sent, path, record)\n" +
    "  -- Of files that were aborted, and whose sources have never come again.\n" +
    "  if redis.call('HLEN', sent) > 2 * remembered then\n" +
    "    local some = redis.call('HRANDFIELD', sent, '20', 'WITHVALUES')\n" +
    "    for i = 1, #some, 2 do\n" +
    "      if not redis.call('ZSCORE', files, some[i]:match('^id:(.*)$') or some[i + 1]:match('^%S+')) then\n" +
    "        redis.call('HDEL', sent, some[i])\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "redis.call('HSET', head, 'ttlMs', ttlMs)\n" +
    "-- Lets a channel live on. Its parts expire together: one that outlived the others would belong to the next channel of the name.\n" +
    "-- Expects: head, files, listed, done, receivers, sent (keys).\n" +
    "local keepMs = redis.call('HGET', head, 'ttlMs')\n" +
    "if keepMs then\n" +
    "  for _, key in ipairs({ head, files, listed, done, receivers, sent }) do\n" +
    "    redis.call('PEXPIRE', key, keepMs)\n" +
    "  end\n" +
    "end\n" +
    "local reserved, fileId, listedName = entry:match('^(%d+):%d+:%d+:[^:]*:([^:]*):(.*)$')\n" +
    "local reply = { 'listed', epoch, tonumber(number), tonumber(reserved), fileId, listedName }\n" +
    "local marks = {}\n" +
    "for i = 1, #names do\n" +
    "  marks[i] = number .. ':' .. names[i]\n" +
    "end\n" +
    "local isDone = redis.call('SMISMEMBER', done, unpack(marks))\n" +
    "for i = 1, #names do\n" +
    "  if isDone[i] == 0 then\n" +
    "    reply[#reply + 1] = names[i]\n" +
    "  end\n" +
    "end\n" +
    "return reply\n",
} as const);

export const filesPath = new Script({
  name: "files.path",
  isReadOnly: true,
  keys: ["head","files","listed","sent"],
  args: ["path"],
  source: "#!lua flags=no-writes\n" +
    "-- Shows what is recorded of a path, and what has become of the file that it was sent as last.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   head         HASH, see src/keys.ts\n" +
    "--   files        ZSET id -> number\n" +
    "--   listed       HASH number -> entry\n" +
    "--   sent         HASH host and identity of a path -> record of it\n" +
    "-- ARGV\n" +
    "--   path         its host and identity\n" +
    "-- RETURNS\n" +
    "--   { record, epoch of the channel, number of the file or empty, its entry or empty }; empty: there is no record\n" +
    "local head, files, listed, sent = KEYS[1], KEYS[2], KEYS[3], KEYS[4]\n" +
    "local path = ARGV[1]\n" +
    "\n" +
    "local record = redis.call('HGET', sent, path)\n" +
    "if not record then\n" +
    "  return {}\n" +
    "end\n" +
    "local number = redis.call('ZSCORE', files, record:match('^%S+'))\n" +
    "local entry = number and redis.call('HGET', listed, number)\n" +
    "return { record, redis.call('HGET', head, 'epoch') or '', number or '', entry or '' }\n",
} as const);

export const filesReceive = new Script({
  name: "files.receive",
  isReadOnly: false,
  keys: ["head","files","listed","done","receivers","sent"],
  args: ["receiver","holder","token","leaseMs","limit"],
  source: "#!lua\n" +
    "-- Takes or renews the lease of a receiver, and shows which files it has to read.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   head         HASH, see src/keys.ts\n" +
    "--   files        ZSET id -> number\n" +
    "--   listed       HASH number -> entry\n" +
    "--   done         SET of <number>:<receiver>\n" +
    "--   receivers    ZSET receiver -> end of its lease\n" +
    "--   sent         HASH host and identity of a path -> record of it\n" +
    "-- ARGV\n" +
    "--   receiver     encoded\n" +
    "--   holder       who wants the lease\n" +
    "--   token        of the lease that it has; 0 for none\n" +
    "--   leaseMs      ms; 0 gives the lease up\n" +
    "--   limit        the most files to show\n" +
    "-- RETURNS\n" +
    "--   { 'held', token, 1 if the channel has ended, the numbers of files that it is done with and that are still listed, joined by commas,\n" +
    "--   the epoch, the end of the lease in ms since 1970, then for each file its number and its entry, in their order }\n" +
    "--   { 'absent' }: no channel (yet); { 'unknown' }: no such receiver; { 'busy', ms until the lease of the other ends }; { 'lost' };\n" +
    "--   { 'ended' }: nothing to read any more\n" +
    "local head, files, listed, done, receivers, sent = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]\n" +
    "local receiver, holder, token, leaseMs, limit = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])\n" +
    "\n" +
    "local ended, lease, epoch = unpack(redis.call('HMGET', head, 'ended', 'r:' .. receiver, 'epoch'))\n" +
    "if ended and redis.call('EXISTS', listed) == 0 then\n" +
    "  return { 'ended' }\n" +
    "end\n" +
    "local leaseEnd = redis.call('ZSCORE', receivers, receiver)\n" +
    "if not leaseEnd then\n" +
    "  return { redis.call('EXISTS', receivers) == 0 and 'absent' or 'unknown' }\n" +
    "end\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "local heldToken, heldBy\n" +
    "if lease then\n" +
    "  heldToken, heldBy = lease:match('^(%d+):(.*)$')\n" +
    "end\n" +
    "if token ~= '0' and (heldToken ~= token or heldBy ~= holder) then\n" +
    "  return { 'lost' }\n" +
    "end\n" +
    "if heldBy ~= holder then\n" +
    "  if tonumber(leaseEnd) > now then\n" +
    "    return { 'busy', leaseEnd - now }\n" +
    "  end\n" +
    "  token = string.format('%d', redis.call('HINCRBY', head, 'tokens', 1))\n" +
    "  redis.call('HSET', head, 'r:' .. receiver, token .. ':' .. holder)\n" +
    "else\n" +
    "  token = heldToken\n" +
    "end\n" +
    "redis.call('ZADD', receivers, string.format('%d', now + leaseMs), receiver)\n" +
    "-- Lets a channel live on. Its parts expire together: one that outlived the others would belong to the next channel of the name.\n" +
    "-- Expects: head, files, listed, done, receivers, sent (keys).\n" +
    "local keepMs = redis.call('HGET', head, 'ttlMs')\n" +
    "if keepMs then\n" +
    "  for _, key in ipairs({ head, files, listed, done, receivers, sent }) do\n" +
    "    redis.call('PEXPIRE', key, keepMs)\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local entries = redis.call('HGETALL', listed)\n" +
    "local open, passed, marks = {}, {}, {}\n" +
    "for i = 1, #entries, 2 do\n" +
    "  marks[#marks + 1] = entries[i] .. ':' .. receiver\n" +
    "end\n" +
    "local isDone = marks[1] and redis.call('SMISMEMBER', done, unpack(marks)) or {}\n" +
    "for i = 1, #entries, 2 do\n" +
    "  if isDone[(i + 1) / 2] == 1 then\n" +
    "    passed[#passed + 1] = entries[i]\n" +
    "  else\n" +
    "    open[#open + 1] = { tonumber(entries[i]), entries[i + 1] }\n" +
    "  end\n" +
    "end\n" +
    "table.sort(open, function(a, b)\n" +
    "  return a[1] < b[1]\n" +
    "end)\n" +
    "local reply = { 'held', tonumber(token), ended and 1 or 0, table.concat(passed, ','), epoch or '', now + leaseMs }\n" +
    "for i = 1, math.min(#open, limit) do\n" +
    "  reply[#reply + 1] = open[i][1]\n" +
    "  reply[#reply + 1] = open[i][2]\n" +
    "end\n" +
    "return reply\n",
} as const);

export const filesRemove = new Script({
  name: "files.remove",
  isReadOnly: false,
  keys: ["head","files","listed","done","receivers","sent","events"],
  args: ["publish","isEnd","lingerMs","ttlMs"],
  restArg: "numbers",
  source: "#!lua flags=allow-oom\n" +
    "-- Takes files that all receivers are done with off the list, and gives their reservations back; and ends the channel. With its\n" +
    "-- last file an ended channel goes away, but for what tells latecomers that it has ended.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   head         HASH, see src/keys.ts\n" +
    "--   files        ZSET id -> number\n" +
    "--   listed       HASH number -> entry\n" +
    "--   done         SET of <number>:<receiver>\n" +
    "--   receivers    ZSET receiver -> end of its lease\n" +
    "--   sent         HASH host and identity of a path -> record of it\n" +
    "--   events       channel; not a key\n" +
    "-- ARGV\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "--   isEnd        1: nothing more will be sent\n" +
    "--   lingerMs     ms\n" +
    "--   ttlMs        ms\n" +
    "--   numbers...   of the files\n" +
    "-- RETURNS\n" +
    "--   how many files are still listed\n" +
    "local head, files, listed, done, receivers, sent, events = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]\n" +
    "local publish, isEnd, lingerMs, ttlMs = ARGV[1], ARGV[2], ARGV[3], ARGV[4]\n" +
    "\n" +
    "local names = redis.call('ZRANGE', receivers, '0', '-1')\n" +
    "local given = 0\n" +
    "local isChanged = isEnd == '1'\n" +
    "for i = 5, #ARGV do\n" +
    "  local entry = redis.call('HGET', listed, ARGV[i])\n" +
    "  if entry then\n" +
    "    local marks = {}\n" +
    "    for j = 1, #names do\n" +
    "      marks[j] = ARGV[i] .. ':' .. names[j]\n" +
    "    end\n" +
    "    local isDone, isWhole = marks[1] and redis.call('SMISMEMBER', done, unpack(marks)) or {}, true\n" +
    "    for j = 1, #names do\n" +
    "      isWhole = isWhole and isDone[j] == 1\n" +
    "    end\n" +
    "    if isWhole then\n" +
    "      given = given + tonumber(entry:match('^(%d+):'))\n" +
    "      redis.call('HDEL', listed, ARGV[i])\n" +
    "      if marks[1] then\n" +
    "        redis.call('SREM', done, unpack(marks))\n" +
    "      end\n" +
    "      isChanged = true\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "if given > 0 then\n" +
    "  redis.call('HINCRBY', head, 'reserved', string.format('%d', -given))\n" +
    "end\n" +
    "if isEnd == '1' then\n" +
    "  redis.call('HSET', head, 'ended', '1')\n" +
    "  redis.call('PEXPIRE', head, ttlMs)\n" +
    "end\n" +
    "local left = redis.call('HLEN', listed)\n" +
    "if left == 0 and redis.call('HEXISTS', head, 'ended') == 1 then\n" +
    "  redis.call('UNLINK', listed, done, receivers)\n" +
    "  redis.call('PEXPIRE', head, lingerMs)\n" +
    "  redis.call('PEXPIRE', files, lingerMs)\n" +
    "  redis.call('PEXPIRE', sent, lingerMs)\n" +
    "end\n" +
    "if isChanged then\n" +
    "  redis.call(publish, events, '*:' .. (isEnd == '1' and 'ended' or 'removed'))\n" +
    "end\n" +
    "return left\n",
} as const);

export const filesShrink = new Script({
  name: "files.shrink",
  isReadOnly: false,
  keys: ["head","files","listed","sent","events"],
  args: ["publish","number","fileId","stored","id","what"],
  source: "#!lua flags=allow-oom\n" +
    "-- Gives back what a file that has ended doesn't need of its reservation, and keeps what was sent under an id of the caller's, as the\n" +
    "-- first one says who knows it. Repeating it changes nothing.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   head         HASH, see src/keys.ts\n" +
    "--   files        ZSET id -> number\n" +
    "--   listed       HASH number -> entry\n" +
    "--   sent         HASH, of which `id:` and an id has the SHA-256 and the name of what was sent\n" +
    "--   events       channel; not a key\n" +
    "-- ARGV\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "--   number       of the file\n" +
    "--   fileId       of the file\n" +
    "--   stored       bytes, as stored\n" +
    "--   id           of the file; empty: nothing is kept of it\n" +
    "--   what         the SHA-256 in hex, a space and the name\n" +
    "-- RETURNS\n" +
    "--   how many bytes were given back\n" +
    "local head, files, listed, sent, events = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]\n" +
    "local publish, number, fileId, stored, id, what = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5], ARGV[6]\n" +
    "\n" +
    "if id ~= '' and redis.call('ZSCORE', files, id) == number then\n" +
    "  redis.call('HSETNX', sent, 'id:' .. id, what)\n" +
    "  redis.call('PEXPIREAT', sent, redis.call('PEXPIRETIME', files))\n" +
    "end\n" +
    "\n" +
    "local entry = redis.call('HGET', listed, number)\n" +
    "if not entry or entry:match('^%d+:%d+:%d+:[^:]*:([^:]*):') ~= fileId then\n" +
    "  return 0\n" +
    "end\n" +
    "local surplus = entry:match('^%d+') - stored\n" +
    "if surplus <= 0 then\n" +
    "  return 0\n" +
    "end\n" +
    "redis.call('HSET', listed, number, string.format('%d%s', stored, entry:match('^%d+(.*)$')))\n" +
    "redis.call('HINCRBY', head, 'reserved', string.format('%d', -surplus))\n" +
    "redis.call(publish, events, '*:shrunk')\n" +
    "return surplus\n",
} as const);

export const followIndex = new Script({
  name: "follow.index",
  isReadOnly: false,
  keys: ["chats","mutes"],
  args: [],
  source: "#!lua flags=allow-oom\n" +
    "-- The chats that a member may be in, and those that are muted. Not flagged as one that only reads, so that it\n" +
    "-- is always the master that answers: a replica may not know yet what was pushed.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   chats        ZSET chat -> instant of joining, ms\n" +
    "--   mutes        HASH chat -> muted until, ms, 0 for ever\n" +
    "-- RETURNS\n" +
    "--   the server's clock in s; chats and instants in turn, the oldest first; chats and until when they are muted, in turn\n" +
    "local chats, mutes = KEYS[1], KEYS[2]\n" +
    "\n" +
    "return { redis.call('TIME')[1], redis.call('ZRANGE', chats, 0, -1, 'WITHSCORES'), redis.call('HGETALL', mutes) }\n",
} as const);

export const followPage = new Script({
  name: "follow.page",
  isReadOnly: false,
  keys: ["chat","log"],
  args: ["after","most","mostBytes"],
  source: "#!lua flags=allow-oom\n" +
    "-- What a chat has stored behind an id. Not flagged as one that only reads, so that it is always the master that\n" +
    "-- answers: a replica may not know yet what was pushed.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   chat         ZSET of the head and the members\n" +
    "--   log          LIST of entries\n" +
    "-- ARGV\n" +
    "--   after        id\n" +
    "--   most         entries\n" +
    "--   mostBytes    bytes of entries; one is returned, whatever it has\n" +
    "-- RETURNS\n" +
    "--   the epoch, the last id, the base (no id up to it is stored) and the entries; nothing when there is no chat\n" +
    "local chat, log = KEYS[1], KEYS[2]\n" +
    "local after, most, mostBytes = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])\n" +
    "\n" +
    "local head = redis.call('ZMSCORE', chat, '\\0e', '\\0l', '\\0b')\n" +
    "if not head[1] then\n" +
    "  return {}\n" +
    "end\n" +
    "local last = -head[2]\n" +
    "local stored = redis.call('LLEN', log)\n" +
    "local base = last - stored\n" +
    "local reply = { -head[1], last, base }\n" +
    "if stored > 0 then\n" +
    "  -- As many as fit if they have the usual size: of larger ones some are read in vain.\n" +
    "  local usual = math.max(1, -head[3] / stored)\n" +
    "  local first = math.max(0, after - base)\n" +
    "  local count = math.max(1, math.min(most, math.ceil(mostBytes / usual)))\n" +
    "  local bytes = 0\n" +
    "  for index, entry in ipairs(redis.call('LRANGE', log, first, first + count - 1)) do\n" +
    "    bytes = bytes + #entry\n" +
    "    if index > 1 and bytes > mostBytes then\n" +
    "      break\n" +
    "    end\n" +
    "    reply[index + 3] = entry\n" +
    "  end\n" +
    "end\n" +
    "return reply\n",
} as const);

export const followSince = new Script({
  name: "follow.since",
  isReadOnly: false,
  keys: ["chat","log","joined"],
  args: ["member"],
  source: "#!lua flags=allow-oom\n" +
    "-- Where a member stands in a chat, and since which id they are in it. Not flagged as one that only reads, so that it is always\n" +
    "-- the master that answers: a replica may not know yet what was pushed.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   chat         ZSET of the head and the members\n" +
    "--   log          LIST of entries\n" +
    "--   joined       ZSET member -> the id behind which they joined\n" +
    "-- ARGV\n" +
    "--   member       as stored\n" +
    "-- RETURNS\n" +
    "--   the epoch, the last id, the score of the member as text, the id behind which they joined (0 where that isn't known: then\n" +
    "--   nothing up to it is stored), and the base: no id up to it is stored\n" +
    "--   nil: there is no such chat, or it doesn't have the member\n" +
    "local chat, log, joined = KEYS[1], KEYS[2], KEYS[3]\n" +
    "local member = ARGV[1]\n" +
    "\n" +
    "local head = redis.call('ZMSCORE', chat, '\\0e', '\\0l', member)\n" +
    "if not head[1] or not head[3] then\n" +
    "  return nil\n" +
    "end\n" +
    "local last = 0 - head[2]\n" +
    "return {\n" +
    "  0 - head[1],\n" +
    "  last,\n" +
    "  head[3],\n" +
    "  tonumber(redis.call('ZSCORE', joined, member) or 0),\n" +
    "  last - redis.call('LLEN', log),\n" +
    "}\n",
} as const);

export const followTell = new Script({
  name: "follow.tell",
  isReadOnly: false,
  keys: ["chat","events"],
  args: ["member","publish","kind","text"],
  source: "#!lua flags=allow-oom\n" +
    "-- Tells those who follow a chat what is not stored, if it comes from a member.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   chat         ZSET of the head and the members\n" +
    "--   events       channel of the chat; not a key\n" +
    "-- ARGV\n" +
    "--   member       who tells, encoded\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "--   kind         t typing, p presence\n" +
    "--   text         of the frame, see frame.ts\n" +
    "-- RETURNS\n" +
    "--   1 told; 0 not a member; -1 no such chat\n" +
    "local chat, events = KEYS[1], KEYS[2]\n" +
    "local member, publish, kind, text = ARGV[1], ARGV[2], ARGV[3], ARGV[4]\n" +
    "\n" +
    "if not redis.call('ZSCORE', chat, member) then\n" +
    "  return redis.call('EXISTS', chat) - 1\n" +
    "end\n" +
    "redis.call(publish, events, '*:' .. struct.pack('>c1Ic0', kind, #text, text))\n" +
    "return 1\n",
} as const);

export const mailboxAck = new Script({
  name: "mailbox.ack",
  isReadOnly: false,
  keys: ["mailbox","log","uncounted","expiring"],
  args: ["marksMs"],
  restArg: "acks",
  source: "#!lua flags=allow-oom\n" +
    "-- Moves the cursors of devices forward, and frees what the slowest one has passed.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   mailbox     ZSET, see src/keys.ts\n" +
    "--   log         LIST of entries, the oldest first, see src/log/entry.ts\n" +
    "--   uncounted   ZSET id -> id: what has expired\n" +
    "--   expiring    ZSET id -> expires at, ms\n" +
    "-- ARGV\n" +
    "--   marksMs     ms until `uncounted` has outlived all entries\n" +
    "--   acks...     for each: the device, then the last id that it acks, or 'all' for the newest one\n" +
    "-- RETURNS\n" +
    "--   the newest id, then for each of `acks` how many messages it acked; -1: there is no mailbox; -2: it has no such device;\n" +
    "--   -3: no message has that id yet\n" +
    "local mailbox, log, uncounted, expiring = KEYS[1], KEYS[2], KEYS[3], KEYS[4]\n" +
    "local marksMs = ARGV[1]\n" +
    "\n" +
    "-- What has expired gives its place up: a mark stands there from now on, which isn't counted.\n" +
    "-- Expects mailbox, log, uncounted and expiring (keys), marksMs. Leaves:\n" +
    "--   now         the server's time, ms since 1970\n" +
    "--   hasMore     more has expired than is done in one call\n" +
    "--   hasMarks    some expired: cursors may step over them\n" +
    "--   last, base  the newest id, and the one before the oldest entry; only with hasMarks\n" +
    "local MOST_EXPIRED = 500\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "local expired = redis.call('ZRANGEBYSCORE', expiring, '-inf', string.format('%.0f', now), 'LIMIT', '0', MOST_EXPIRED)\n" +
    "local hasMarks, hasMore, last, base = false, #expired == MOST_EXPIRED, nil, nil\n" +
    "if #expired > 0 then\n" +
    "  redis.call('ZREM', expiring, unpack(expired))\n" +
    "  local scores = redis.call('ZMSCORE', mailbox, '\\0b', '\\0l')\n" +
    "  local bytes = 0 - (scores[1] or 0)\n" +
    "  last = 0 - (scores[2] or 0)\n" +
    "  base = last - redis.call('LLEN', log)\n" +
    "  local marks = {}\n" +
    "  for i = 1, #expired do\n" +
    "    local id = expired[i]\n" +
    "    local place = id - base - 1\n" +
    "    -- Without a head there are no numbers, and no entry is found; the next message begins anew.\n" +
    "    local entry = place >= 0 and redis.call('LINDEX', log, place)\n" +
    "    if entry then\n" +
    "      local mark = id .. ':X' .. string.match(entry, ':(%d+:)')\n" +
    "      redis.call('LSET', log, place, mark)\n" +
    "      bytes = bytes - #entry + #mark\n" +
    "      marks[#marks + 1], marks[#marks + 2] = id, id\n" +
    "    end\n" +
    "  end\n" +
    "  if #marks > 0 then\n" +
    "    hasMarks = true\n" +
    "    redis.call('ZADD', mailbox, 0 - bytes, '\\0b')\n" +
    "    redis.call('ZREMRANGEBYSCORE', uncounted, '-inf', base)\n" +
    "    redis.call('ZADD', uncounted, unpack(marks))\n" +
    "    redis.call('PEXPIRE', uncounted, marksMs)\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local devices, replies = {}, { 0 }\n" +
    "for index = 2, #ARGV, 2 do\n" +
    "  devices[#devices + 1] = ARGV[index]\n" +
    "end\n" +
    "local scores = redis.call('ZMSCORE', mailbox, '\\0l', unpack(devices))\n" +
    "if not scores[1] then\n" +
    "  for i = 1, #devices do\n" +
    "    replies[i + 1] = -1\n" +
    "  end\n" +
    "  return replies\n" +
    "end\n" +
    "last = 0 - scores[1]\n" +
    "base = last - redis.call('LLEN', log)\n" +
    "replies[1] = last\n" +
    "\n" +
    "local moved, written = {}, {}\n" +
    "for i = 1, #devices do\n" +
    "  local device, upTo = devices[i], ARGV[2 * i + 1]\n" +
    "  local cursor = moved[device] or tonumber(scores[i + 1])\n" +
    "  upTo = upTo == 'all' and last or tonumber(upTo)\n" +
    "  local count = 0\n" +
    "  if not cursor then\n" +
    "    count = -2\n" +
    "  elseif upTo > last then\n" +
    "    count = -3\n" +
    "  elseif upTo > cursor then\n" +
    "    local from = math.max(cursor, base) + 1\n" +
    "    if upTo >= from then\n" +
    "      count = upTo + 1 - from - redis.call('ZCOUNT', uncounted, from, upTo)\n" +
    "    end\n" +
    "    moved[device] = upTo\n" +
    "    written[#written + 1], written[#written + 2] = upTo, device\n" +
    "  end\n" +
    "  replies[i + 1] = count\n" +
    "end\n" +
    "if #written > 0 then\n" +
    "  redis.call('ZADD', mailbox, 'XX', 'GT', unpack(written))\n" +
    "end\n" +
    "if #written > 0 or hasMarks then\n" +
    "-- How far a mailbox can be freed. Cursors that nothing but marks is behind step over these first, or a mailbox whose messages\n" +
    "-- all expire would keep the marks of them.\n" +
    "-- Expects mailbox, log, uncounted and expiring (keys), last, base (the id before the oldest entry). Leaves canFree, and what\n" +
    "-- log.trim.part.lua expects then: cursors, last, floor, keepAcked.\n" +
    "local MOST_STEPS = 1000\n" +
    "local cursors, keepAcked = mailbox, 0\n" +
    "local slowest = redis.call('ZRANGE', mailbox, '4', '4', 'WITHSCORES')\n" +
    "-- Where there is no device, everything is kept for one that comes.\n" +
    "local floor = tonumber(slowest[2] or base)\n" +
    "if floor >= base and floor < last and redis.call('EXISTS', uncounted) == 1 then\n" +
    "  local to = floor\n" +
    "  while to < last and to - floor < MOST_STEPS and string.find(redis.call('LINDEX', log, to - base), '^%d+:X') do\n" +
    "    to = to + 1\n" +
    "  end\n" +
    "  if to > floor and slowest[2] then\n" +
    "    local devices = redis.call('ZRANGEBYSCORE', mailbox, floor, '(' .. to)\n" +
    "    for i = 1, #devices do\n" +
    "      if string.byte(devices[i]) ~= 0 then\n" +
    "        redis.call('ZADD', mailbox, 'XX', 'GT', to, devices[i])\n" +
    "      end\n" +
    "    end\n" +
    "    floor = tonumber(redis.call('ZRANGE', mailbox, '4', '4', 'WITHSCORES')[2])\n" +
    "  end\n" +
    "end\n" +
    "local canFree = floor > base\n" +
    "if canFree and redis.call('EXISTS', expiring) == 1 then\n" +
    "  for from = base + 1, floor, MOST_STEPS do\n" +
    "    local ids = {}\n" +
    "    for id = from, math.min(from + MOST_STEPS - 1, floor) do\n" +
    "      ids[#ids + 1] = id\n" +
    "    end\n" +
    "    redis.call('ZREM', expiring, unpack(ids))\n" +
    "  end\n" +
    "end\n" +
    "  if canFree then\n" +
    "-- Frees what everybody has acked, but for the newest ones that are kept for history.\n" +
    "-- Expects:\n" +
    "--   cursors, log       keys; cursors is the set of the head\n" +
    "--   uncounted          key, or nil: its ids up to the base are left to another script, and count nowhere\n" +
    "--   last, floor        the newest id, the lowest cursor\n" +
    "--   keepAcked          how many are kept\n" +
    "if floor >= last and keepAcked == 0 then\n" +
    "  redis.call('UNLINK', log, uncounted or log)\n" +
    "else\n" +
    "  local stored = redis.call('LLEN', log)\n" +
    "  local freedTo = math.min(floor, last - keepAcked)\n" +
    "  local surplus, freedBytes = freedTo - last + stored, 0\n" +
    "  if surplus > 0 then\n" +
    "    while surplus > 0 do\n" +
    "      local popped = redis.call('LPOP', log, math.min(surplus, 1000))\n" +
    "      for i = 1, #popped do\n" +
    "        freedBytes = freedBytes + #popped[i]\n" +
    "      end\n" +
    "      surplus = surplus - #popped\n" +
    "    end\n" +
    "    redis.call('ZINCRBY', cursors, freedBytes, '\\0b')\n" +
    "    if uncounted then\n" +
    "      redis.call('ZREMRANGEBYSCORE', uncounted, '-inf', freedTo)\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "  end\n" +
    "end\n" +
    "return replies\n",
} as const);

export const mailboxAddDevice = new Script({
  name: "mailbox.add-device",
  isReadOnly: false,
  keys: ["mailbox","log","uncounted","ids","oldIds","expiring"],
  args: ["device","at","maxDevices","headMs"],
  source: "#!lua\n" +
    "-- Gives a mailbox one more device, with a cursor of its own. One that is there is left alone.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   mailbox      ZSET, see src/keys.ts\n" +
    "--   log          LIST of entries\n" +
    "--   uncounted    ZSET\n" +
    "--   ids          HASH\n" +
    "--   oldIds       HASH\n" +
    "--   expiring     ZSET\n" +
    "-- ARGV\n" +
    "--   device       as it will stand in `mailbox`\n" +
    "--   at           newest or oldest\n" +
    "--   maxDevices   of one mailbox\n" +
    "--   headMs       ms until the numbering of a mailbox that gets nothing is forgotten\n" +
    "-- RETURNS\n" +
    "--   { 1 when it is new (else 0), its cursor }, or -1: there are maxDevices already\n" +
    "local mailbox, log, uncounted, ids, oldIds, expiring = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]\n" +
    "local device, at, maxDevices, headMs = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]\n" +
    "\n" +
    "local head = redis.call('ZMSCORE', mailbox, '\\0l', device)\n" +
    "if head[2] then\n" +
    "  return { 0, tonumber(head[2]) }\n" +
    "end\n" +
    "local cursor = 0\n" +
    "if head[1] then\n" +
    "  if redis.call('ZCARD', mailbox) - 4 >= maxDevices then\n" +
    "    return -1\n" +
    "  end\n" +
    "  cursor = 0 - head[1]\n" +
    "  if at == 'oldest' then\n" +
    "    cursor = cursor - redis.call('LLEN', log)\n" +
    "  end\n" +
    "  redis.call('ZADD', mailbox, cursor, device)\n" +
    "else\n" +
    "  local time = redis.call('TIME')\n" +
    "  local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "-- Begins a mailbox with one device. Parts of one whose head is gone (evicted, deleted by hand) would mix with new ids.\n" +
    "-- Expects mailbox, log, uncounted, ids, oldIds and expiring (keys), now, device.\n" +
    "redis.call('UNLINK', log, uncounted, ids, oldIds, expiring)\n" +
    "redis.call('ZADD', mailbox, '0', '\\0b', 0 - now, '\\0e', '0', '\\0l', '0', '\\0t', '0', device)\n" +
    "end\n" +
    "redis.call('PEXPIRE', mailbox, headMs)\n" +
    "return { 1, cursor }\n",
} as const);

export const mailboxBlock = new Script({
  name: "mailbox.block",
  isReadOnly: false,
  keys: ["blocked"],
  args: ["maxBlocked"],
  restArg: "changes",
  source: "#!lua\n" +
    "-- Blocks senders of a mailbox, or lets them in again, in the order in which they are named.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   blocked      SET of senders; until they are unblocked\n" +
    "-- ARGV\n" +
    "--   maxBlocked   senders in the set at most\n" +
    "--   changes...   for each: 1 to block or 0 to unblock, then the sender\n" +
    "-- RETURNS\n" +
    "--   for each: 1 when it changed something, 0 when it was so before, -1: the set is full\n" +
    "local blocked = KEYS[1]\n" +
    "local maxBlocked = tonumber(ARGV[1])\n" +
    "\n" +
    "local size = redis.call('SCARD', blocked)\n" +
    "local replies = {}\n" +
    "for index = 2, #ARGV, 2 do\n" +
    "  local isBlock, sender = ARGV[index] == '1', ARGV[index + 1]\n" +
    "  local reply = -1\n" +
    "  if not isBlock then\n" +
    "    reply = redis.call('SREM', blocked, sender)\n" +
    "    size = size - reply\n" +
    "  elseif size < maxBlocked or redis.call('SISMEMBER', blocked, sender) == 1 then\n" +
    "    reply = redis.call('SADD', blocked, sender)\n" +
    "    size = size + reply\n" +
    "  end\n" +
    "  replies[#replies + 1] = reply\n" +
    "end\n" +
    "return replies\n",
} as const);

export const mailboxReceive = new Script({
  name: "mailbox.receive",
  isReadOnly: false,
  keys: ["mailbox","log","uncounted","expiring","fetched"],
  args: ["device","isLatest","limit","headMs","marksMs"],
  source: "#!lua flags=allow-oom\n" +
    "-- Reads one end of what a device of a mailbox has not acked. Moves nothing; notes that the device was here.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   mailbox     ZSET, see src/keys.ts\n" +
    "--   log         LIST of entries, the oldest first, see src/log/entry.ts\n" +
    "--   uncounted   ZSET id -> id: what has expired\n" +
    "--   expiring    ZSET id -> expires at, ms\n" +
    "--   fetched     HASH device -> when it was here last, ms; until headMs after any of them was\n" +
    "-- ARGV\n" +
    "--   device      as it stands in `mailbox`\n" +
    "--   isLatest    1: the newest messages; 0: the oldest\n" +
    "--   limit       messages\n" +
    "--   headMs      ms until the numbering of a mailbox that gets nothing, and that nobody reads, is forgotten\n" +
    "--   marksMs     ms until `uncounted` has outlived all entries\n" +
    "-- RETURNS\n" +
    "--   { 1 when more has expired than one call clears away (else 0), epoch, its cursor, the id before the oldest entry, how many\n" +
    "--   messages are unread, entries, the oldest first }\n" +
    "--   -1: there is no mailbox; -2: it has no such device\n" +
    "local mailbox, log, uncounted, expiring, fetched = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]\n" +
    "local device, isLatest, limit, headMs, marksMs = ARGV[1], ARGV[2] == '1', tonumber(ARGV[3]), ARGV[4], ARGV[5]\n" +
    "-- How exact the time of the last fetch is, ms: a write for each look would go to the replicas and the AOF.\n" +
    "local FETCHED_STEP = 1000\n" +
    "\n" +
    "-- What has expired gives its place up: a mark stands there from now on, which isn't counted.\n" +
    "-- Expects mailbox, log, uncounted and expiring (keys), marksMs. Leaves:\n" +
    "--   now         the server's time, ms since 1970\n" +
    "--   hasMore     more has expired than is done in one call\n" +
    "--   hasMarks    some expired: cursors may step over them\n" +
    "--   last, base  the newest id, and the one before the oldest entry; only with hasMarks\n" +
    "local MOST_EXPIRED = 500\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "local expired = redis.call('ZRANGEBYSCORE', expiring, '-inf', string.format('%.0f', now), 'LIMIT', '0', MOST_EXPIRED)\n" +
    "local hasMarks, hasMore, last, base = false, #expired == MOST_EXPIRED, nil, nil\n" +
    "if #expired > 0 then\n" +
    "  redis.call('ZREM', expiring, unpack(expired))\n" +
    "  local scores = redis.call('ZMSCORE', mailbox, '\\0b', '\\0l')\n" +
    "  local bytes = 0 - (scores[1] or 0)\n" +
    "  last = 0 - (scores[2] or 0)\n" +
    "  base = last - redis.call('LLEN', log)\n" +
    "  local marks = {}\n" +
    "  for i = 1, #expired do\n" +
    "    local id = expired[i]\n" +
    "    local place = id - base - 1\n" +
    "    -- Without a head there are no numbers, and no entry is found; the next message begins anew.\n" +
    "    local entry = place >= 0 and redis.call('LINDEX', log, place)\n" +
    "    if entry then\n" +
    "      local mark = id .. ':X' .. string.match(entry, ':(%d+:)')\n" +
    "      redis.call('LSET', log, place, mark)\n" +
    "      bytes = bytes - #entry + #mark\n" +
    "      marks[#marks + 1], marks[#marks + 2] = id, id\n" +
    "    end\n" +
    "  end\n" +
    "  if #marks > 0 then\n" +
    "    hasMarks = true\n" +
    "    redis.call('ZADD', mailbox, 0 - bytes, '\\0b')\n" +
    "    redis.call('ZREMRANGEBYSCORE', uncounted, '-inf', base)\n" +
    "    redis.call('ZADD', uncounted, unpack(marks))\n" +
    "    redis.call('PEXPIRE', uncounted, marksMs)\n" +
    "  end\n" +
    "end\n" +
    "if hasMarks then\n" +
    "-- How far a mailbox can be freed. Cursors that nothing but marks is behind step over these first, or a mailbox whose messages\n" +
    "-- all expire would keep the marks of them.\n" +
    "-- Expects mailbox, log, uncounted and expiring (keys), last, base (the id before the oldest entry). Leaves canFree, and what\n" +
    "-- log.trim.part.lua expects then: cursors, last, floor, keepAcked.\n" +
    "local MOST_STEPS = 1000\n" +
    "local cursors, keepAcked = mailbox, 0\n" +
    "local slowest = redis.call('ZRANGE', mailbox, '4', '4', 'WITHSCORES')\n" +
    "-- Where there is no device, everything is kept for one that comes.\n" +
    "local floor = tonumber(slowest[2] or base)\n" +
    "if floor >= base and floor < last and redis.call('EXISTS', uncounted) == 1 then\n" +
    "  local to = floor\n" +
    "  while to < last and to - floor < MOST_STEPS and string.find(redis.call('LINDEX', log, to - base), '^%d+:X') do\n" +
    "    to = to + 1\n" +
    "  end\n" +
    "  if to > floor and slowest[2] then\n" +
    "    local devices = redis.call('ZRANGEBYSCORE', mailbox, floor, '(' .. to)\n" +
    "    for i = 1, #devices do\n" +
    "      if string.byte(devices[i]) ~= 0 then\n" +
    "        redis.call('ZADD', mailbox, 'XX', 'GT', to, devices[i])\n" +
    "      end\n" +
    "    end\n" +
    "    floor = tonumber(redis.call('ZRANGE', mailbox, '4', '4', 'WITHSCORES')[2])\n" +
    "  end\n" +
    "end\n" +
    "local canFree = floor > base\n" +
    "if canFree and redis.call('EXISTS', expiring) == 1 then\n" +
    "  for from = base + 1, floor, MOST_STEPS do\n" +
    "    local ids = {}\n" +
    "    for id = from, math.min(from + MOST_STEPS - 1, floor) do\n" +
    "      ids[#ids + 1] = id\n" +
    "    end\n" +
    "    redis.call('ZREM', expiring, unpack(ids))\n" +
    "  end\n" +
    "end\n" +
    "  if canFree then\n" +
    "-- Frees what everybody has acked, but for the newest ones that are kept for history.\n" +
    "-- Expects:\n" +
    "--   cursors, log       keys; cursors is the set of the head\n" +
    "--   uncounted          key, or nil: its ids up to the base are left to another script, and count nowhere\n" +
    "--   last, floor        the newest id, the lowest cursor\n" +
    "--   keepAcked          how many are kept\n" +
    "if floor >= last and keepAcked == 0 then\n" +
    "  redis.call('UNLINK', log, uncounted or log)\n" +
    "else\n" +
    "  local stored = redis.call('LLEN', log)\n" +
    "  local freedTo = math.min(floor, last - keepAcked)\n" +
    "  local surplus, freedBytes = freedTo - last + stored, 0\n" +
    "  if surplus > 0 then\n" +
    "    while surplus > 0 do\n" +
    "      local popped = redis.call('LPOP', log, math.min(surplus, 1000))\n" +
    "      for i = 1, #popped do\n" +
    "        freedBytes = freedBytes + #popped[i]\n" +
    "      end\n" +
    "      surplus = surplus - #popped\n" +
    "    end\n" +
    "    redis.call('ZINCRBY', cursors, freedBytes, '\\0b')\n" +
    "    if uncounted then\n" +
    "      redis.call('ZREMRANGEBYSCORE', uncounted, '-inf', freedTo)\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local head = redis.call('ZMSCORE', mailbox, '\\0e', '\\0l', device)\n" +
    "if not head[1] then\n" +
    "  return -1\n" +
    "end\n" +
    "last = 0 - head[2]\n" +
    "local cursor = tonumber(head[3])\n" +
    "if not cursor then\n" +
    "  return -2\n" +
    "end\n" +
    "\n" +
    "local fetchedAt = redis.call('HGET', fetched, device)\n" +
    "if not fetchedAt or now - fetchedAt >= FETCHED_STEP then\n" +
    "  redis.call('HSET', fetched, device, now)\n" +
    "  redis.call('PEXPIRE', fetched, headMs)\n" +
    "  redis.call('PEXPIRE', mailbox, headMs)\n" +
    "end\n" +
    "\n" +
    "local entries, stored, first, unread = {}, 0, 0, 0\n" +
    "if cursor < last then\n" +
    "  stored = redis.call('LLEN', log)\n" +
    "  first = math.max(cursor + stored - last, 0)\n" +
    "  unread = stored - first\n" +
    "end\n" +
    "if unread > 0 then\n" +
    "  local marks = redis.call('ZCOUNT', uncounted, last - unread + 1, '+inf')\n" +
    "  unread = unread - marks\n" +
    "  local from, to, count = first, stored - 1, math.min(limit, unread)\n" +
    "  -- Marks stand between the messages: on until there are enough.\n" +
    "  while #entries < count and from <= to do\n" +
    "    local chunk\n" +
    "    if isLatest then\n" +
    "      chunk = redis.call('LRANGE', log, math.max(from, to - count + 1), to)\n" +
    "      to = to - #chunk\n" +
    "    else\n" +
    "      chunk = redis.call('LRANGE', log, from, math.min(to, from + count - 1))\n" +
    "      from = from + #chunk\n" +
    "    end\n" +
    "    if marks == 0 then\n" +
    "      entries = chunk\n" +
    "    else\n" +
    "      for i = 1, #chunk do\n" +
    "        local entry = chunk[isLatest and #chunk + 1 - i or i]\n" +
    "        if #entries < count and not string.find(entry, '^%d+:X') then\n" +
    "          entries[#entries + 1] = entry\n" +
    "        end\n" +
    "      end\n" +
    "    end\n" +
    "  end\n" +
    "  if marks > 0 and isLatest then\n" +
    "    for i = 1, math.floor(#entries / 2) do\n" +
    "      entries[i], entries[#entries + 1 - i] = entries[#entries + 1 - i], entries[i]\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "return { hasMore and 1 or 0, 0 - head[1], cursor, last - stored, unread, entries }\n",
} as const);

export const mailboxRemoveDevice = new Script({
  name: "mailbox.remove-device",
  isReadOnly: false,
  keys: ["mailbox","log","uncounted","expiring","fetched"],
  args: ["device"],
  source: "#!lua flags=allow-oom\n" +
    "-- Takes a device away from a mailbox, and frees what it alone had not acked.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   mailbox     ZSET, see src/keys.ts\n" +
    "--   log         LIST of entries, the oldest first\n" +
    "--   uncounted   ZSET id -> id: what has expired\n" +
    "--   expiring    ZSET id -> expires at, ms\n" +
    "--   fetched     HASH device -> when it was here last, ms\n" +
    "-- ARGV\n" +
    "--   device      as it stands in `mailbox`\n" +
    "-- RETURNS\n" +
    "--   1, or 0 when there was no such device\n" +
    "local mailbox, log, uncounted, expiring, fetched = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]\n" +
    "local device = ARGV[1]\n" +
    "\n" +
    "if redis.call('ZREM', mailbox, device) == 0 then\n" +
    "  return 0\n" +
    "end\n" +
    "redis.call('HDEL', fetched, device)\n" +
    "local last = 0 - redis.call('ZSCORE', mailbox, '\\0l')\n" +
    "local base = last - redis.call('LLEN', log)\n" +
    "-- How far a mailbox can be freed. Cursors that nothing but marks is behind step over these first, or a mailbox whose messages\n" +
    "-- all expire would keep the marks of them.\n" +
    "-- Expects mailbox, log, uncounted and expiring (keys), last, base (the id before the oldest entry). Leaves canFree, and what\n" +
    "-- log.trim.part.lua expects then: cursors, last, floor, keepAcked.\n" +
    "local MOST_STEPS = 1000\n" +
    "local cursors, keepAcked = mailbox, 0\n" +
    "local slowest = redis.call('ZRANGE', mailbox, '4', '4', 'WITHSCORES')\n" +
    "-- Where there is no device, everything is kept for one that comes.\n" +
    "local floor = tonumber(slowest[2] or base)\n" +
    "if floor >= base and floor < last and redis.call('EXISTS', uncounted) == 1 then\n" +
    "  local to = floor\n" +
    "  while to < last and to - floor < MOST_STEPS and string.find(redis.call('LINDEX', log, to - base), '^%d+:X') do\n" +
    "    to = to + 1\n" +
    "  end\n" +
    "  if to > floor and slowest[2] then\n" +
    "    local devices = redis.call('ZRANGEBYSCORE', mailbox, floor, '(' .. to)\n" +
    "    for i = 1, #devices do\n" +
    "      if string.byte(devices[i]) ~= 0 then\n" +
    "        redis.call('ZADD', mailbox, 'XX', 'GT', to, devices[i])\n" +
    "      end\n" +
    "    end\n" +
    "    floor = tonumber(redis.call('ZRANGE', mailbox, '4', '4', 'WITHSCORES')[2])\n" +
    "  end\n" +
    "end\n" +
    "local canFree = floor > base\n" +
    "if canFree and redis.call('EXISTS', expiring) == 1 then\n" +
    "  for from = base + 1, floor, MOST_STEPS do\n" +
    "    local ids = {}\n" +
    "    for id = from, math.min(from + MOST_STEPS - 1, floor) do\n" +
    "      ids[#ids + 1] = id\n" +
    "    end\n" +
    "    redis.call('ZREM', expiring, unpack(ids))\n" +
    "  end\n" +
    "end\n" +
    "if canFree then\n" +
    "-- Frees what everybody has acked, but for the newest ones that are kept for history.\n" +
    "-- Expects:\n" +
    "--   cursors, log       keys; cursors is the set of the head\n" +
    "--   uncounted          key, or nil: its ids up to the base are left to another script, and count nowhere\n" +
    "--   last, floor        the newest id, the lowest cursor\n" +
    "--   keepAcked          how many are kept\n" +
    "if floor >= last and keepAcked == 0 then\n" +
    "  redis.call('UNLINK', log, uncounted or log)\n" +
    "else\n" +
    "  local stored = redis.call('LLEN', log)\n" +
    "  local freedTo = math.min(floor, last - keepAcked)\n" +
    "  local surplus, freedBytes = freedTo - last + stored, 0\n" +
    "  if surplus > 0 then\n" +
    "    while surplus > 0 do\n" +
    "      local popped = redis.call('LPOP', log, math.min(surplus, 1000))\n" +
    "      for i = 1, #popped do\n" +
    "        freedBytes = freedBytes + #popped[i]\n" +
    "      end\n" +
    "      surplus = surplus - #popped\n" +
    "    end\n" +
    "    redis.call('ZINCRBY', cursors, freedBytes, '\\0b')\n" +
    "    if uncounted then\n" +
    "      redis.call('ZREMRANGEBYSCORE', uncounted, '-inf', freedTo)\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "end\n" +
    "return 1\n",
} as const);

export const mailboxSend = new Script({
  name: "mailbox.send",
  isReadOnly: false,
  keys: ["mailbox","log","uncounted","ids","oldIds","expiring","blocked","wake"],
  args: ["publish","limits","count","incoming","ttls"],
  restArg: "senders",
  source: "#!lua\n" +
    "-- Appends messages to a mailbox, unless their sender is blocked or their id is known, and wakes its receivers. The first\n" +
    "-- message makes the mailbox, with the device `main`.\n" +
    "--\n" +
    "-- All messages come in one argument: each string that a client sends costs it 0.6 µs, and the server half of that.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   mailbox      ZSET, see src/keys.ts; PEXPIRE\n" +
    "--   log          LIST of entries, see src/log/entry.ts; PEXPIRE\n" +
    "--   uncounted    ZSET id -> id: what has expired\n" +
    "--   ids          HASH what a message is known by -> id; PEXPIRE\n" +
    "--   oldIds       HASH, the generation before\n" +
    "--   expiring     ZSET id -> expires at, ms\n" +
    "--   blocked      SET of senders\n" +
    "--   wake         channel of the receivers that wait; not a key\n" +
    "-- ARGV\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "--   limits       six f64: retentionMs, dedupMs, maxMessages, maxBytes, headMs, marksMs\n" +
    "--   count        of messages, 200 at most\n" +
    "--   incoming     for each message: u16 place of its sender in `senders`, from 1; u16 length · what it is known by;\n" +
    "--                u32 length · body\n" +
    "--   ttls         for each message that expires: u16 its place in `incoming`, from 1; f64 ms\n" +
    "--   senders...   as they are stored, none twice\n" +
    "-- RETURNS\n" +
    "--   for each message its id, -id of the one that was there before, nil for a blocked sender; behind them the first and the last\n" +
    "--   id that were dropped, if any were\n" +
    "local mailbox, log, uncounted, ids, oldIds = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]\n" +
    "local expiring, blocked, wake = KEYS[6], KEYS[7], KEYS[8]\n" +
    "local publish, limits, count, incoming, ttls = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5]\n" +
    "local senders = { unpack(ARGV, 6) }\n" +
    "local retentionMs, dedupMs, maxMessages, maxBytes, headMs, marksMs = struct.unpack('>dddddd', limits)\n" +
    "\n" +
    "-- What has expired gives its place up: a mark stands there from now on, which isn't counted.\n" +
    "-- Expects mailbox, log, uncounted and expiring (keys), marksMs. Leaves:\n" +
    "--   now         the server's time, ms since 1970\n" +
    "--   hasMore     more has expired than is done in one call\n" +
    "--   hasMarks    some expired: cursors may step over them\n" +
    "--   last, base  the newest id, and the one before the oldest entry; only with hasMarks\n" +
    "local MOST_EXPIRED = 500\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "local expired = redis.call('ZRANGEBYSCORE', expiring, '-inf', string.format('%.0f', now), 'LIMIT', '0', MOST_EXPIRED)\n" +
    "local hasMarks, hasMore, last, base = false, #expired == MOST_EXPIRED, nil, nil\n" +
    "if #expired > 0 then\n" +
    "  redis.call('ZREM', expiring, unpack(expired))\n" +
    "  local scores = redis.call('ZMSCORE', mailbox, '\\0b', '\\0l')\n" +
    "  local bytes = 0 - (scores[1] or 0)\n" +
    "  last = 0 - (scores[2] or 0)\n" +
    "  base = last - redis.call('LLEN', log)\n" +
    "  local marks = {}\n" +
    "  for i = 1, #expired do\n" +
    "    local id = expired[i]\n" +
    "    local place = id - base - 1\n" +
    "    -- Without a head there are no numbers, and no entry is found; the next message begins anew.\n" +
    "    local entry = place >= 0 and redis.call('LINDEX', log, place)\n" +
    "    if entry then\n" +
    "      local mark = id .. ':X' .. string.match(entry, ':(%d+:)')\n" +
    "      redis.call('LSET', log, place, mark)\n" +
    "      bytes = bytes - #entry + #mark\n" +
    "      marks[#marks + 1], marks[#marks + 2] = id, id\n" +
    "    end\n" +
    "  end\n" +
    "  if #marks > 0 then\n" +
    "    hasMarks = true\n" +
    "    redis.call('ZADD', mailbox, 0 - bytes, '\\0b')\n" +
    "    redis.call('ZREMRANGEBYSCORE', uncounted, '-inf', base)\n" +
    "    redis.call('ZADD', uncounted, unpack(marks))\n" +
    "    redis.call('PEXPIRE', uncounted, marksMs)\n" +
    "  end\n" +
    "end\n" +
    "if hasMarks then\n" +
    "-- How far a mailbox can be freed. Cursors that nothing but marks is behind step over these first, or a mailbox whose messages\n" +
    "-- all expire would keep the marks of them.\n" +
    "-- Expects mailbox, log, uncounted and expiring (keys), last, base (the id before the oldest entry). Leaves canFree, and what\n" +
    "-- log.trim.part.lua expects then: cursors, last, floor, keepAcked.\n" +
    "local MOST_STEPS = 1000\n" +
    "local cursors, keepAcked = mailbox, 0\n" +
    "local slowest = redis.call('ZRANGE', mailbox, '4', '4', 'WITHSCORES')\n" +
    "-- Where there is no device, everything is kept for one that comes.\n" +
    "local floor = tonumber(slowest[2] or base)\n" +
    "if floor >= base and floor < last and redis.call('EXISTS', uncounted) == 1 then\n" +
    "  local to = floor\n" +
    "  while to < last and to - floor < MOST_STEPS and string.find(redis.call('LINDEX', log, to - base), '^%d+:X') do\n" +
    "    to = to + 1\n" +
    "  end\n" +
    "  if to > floor and slowest[2] then\n" +
    "    local devices = redis.call('ZRANGEBYSCORE', mailbox, floor, '(' .. to)\n" +
    "    for i = 1, #devices do\n" +
    "      if string.byte(devices[i]) ~= 0 then\n" +
    "        redis.call('ZADD', mailbox, 'XX', 'GT', to, devices[i])\n" +
    "      end\n" +
    "    end\n" +
    "    floor = tonumber(redis.call('ZRANGE', mailbox, '4', '4', 'WITHSCORES')[2])\n" +
    "  end\n" +
    "end\n" +
    "local canFree = floor > base\n" +
    "if canFree and redis.call('EXISTS', expiring) == 1 then\n" +
    "  for from = base + 1, floor, MOST_STEPS do\n" +
    "    local ids = {}\n" +
    "    for id = from, math.min(from + MOST_STEPS - 1, floor) do\n" +
    "      ids[#ids + 1] = id\n" +
    "    end\n" +
    "    redis.call('ZREM', expiring, unpack(ids))\n" +
    "  end\n" +
    "end\n" +
    "  if canFree then\n" +
    "-- Frees what everybody has acked, but for the newest ones that are kept for history.\n" +
    "-- Expects:\n" +
    "--   cursors, log       keys; cursors is the set of the head\n" +
    "--   uncounted          key, or nil: its ids up to the base are left to another script, and count nowhere\n" +
    "--   last, floor        the newest id, the lowest cursor\n" +
    "--   keepAcked          how many are kept\n" +
    "if floor >= last and keepAcked == 0 then\n" +
    "  redis.call('UNLINK', log, uncounted or log)\n" +
    "else\n" +
    "  local stored = redis.call('LLEN', log)\n" +
    "  local freedTo = math.min(floor, last - keepAcked)\n" +
    "  local surplus, freedBytes = freedTo - last + stored, 0\n" +
    "  if surplus > 0 then\n" +
    "    while surplus > 0 do\n" +
    "      local popped = redis.call('LPOP', log, math.min(surplus, 1000))\n" +
    "      for i = 1, #popped do\n" +
    "        freedBytes = freedBytes + #popped[i]\n" +
    "      end\n" +
    "      surplus = surplus - #popped\n" +
    "    end\n" +
    "    redis.call('ZINCRBY', cursors, freedBytes, '\\0b')\n" +
    "    if uncounted then\n" +
    "      redis.call('ZREMRANGEBYSCORE', uncounted, '-inf', freedTo)\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local head = redis.call('ZMSCORE', mailbox, '\\0b', '\\0e', '\\0l', '\\0t')\n" +
    "local parts = { struct.unpack(count == 1 and '>HHc0Ic0' or '>' .. string.rep('HHc0Ic0', count), incoming) }\n" +
    "local fields, authors, bodies, places, refusals = {}, {}, {}, nil, nil\n" +
    "for i = 1, count do\n" +
    "  authors[i], fields[i], bodies[i] = senders[parts[3 * i - 2]], parts[3 * i - 1], parts[3 * i]\n" +
    "end\n" +
    "\n" +
    "local isBlocked = redis.call('SMISMEMBER', blocked, unpack(senders))\n" +
    "for i = 1, #senders do\n" +
    "  if isBlocked[i] == 1 then\n" +
    "    isBlocked[senders[i]] = true\n" +
    "    refusals = {}\n" +
    "  end\n" +
    "end\n" +
    "if refusals then\n" +
    "  -- Those that may go on move up. So do those that are known: they have been sent.\n" +
    "  local kept = 0\n" +
    "  places = {}\n" +
    "  for i = 1, count do\n" +
    "    local field = fields[i]\n" +
    "    local isKnown = head[2] and redis.call('HEXISTS', ids, field) + redis.call('HEXISTS', oldIds, field) > 0\n" +
    "    if isBlocked[authors[i]] and not isKnown then\n" +
    "      refusals[i] = false\n" +
    "    else\n" +
    "      kept = kept + 1\n" +
    "      places[kept] = i\n" +
    "      authors[kept], fields[kept], bodies[kept] = authors[i], field, bodies[i]\n" +
    "    end\n" +
    "  end\n" +
    "  if kept == 0 then\n" +
    "    return refusals\n" +
    "  end\n" +
    "  count = kept\n" +
    "end\n" +
    "\n" +
    "if not head[2] then\n" +
    "  local device = 'main'\n" +
    "-- Begins a mailbox with one device. Parts of one whose head is gone (evicted, deleted by hand) would mix with new ids.\n" +
    "-- Expects mailbox, log, uncounted, ids, oldIds and expiring (keys), now, device.\n" +
    "redis.call('UNLINK', log, uncounted, ids, oldIds, expiring)\n" +
    "redis.call('ZADD', mailbox, '0', '\\0b', 0 - now, '\\0e', '0', '\\0l', '0', '\\0t', '0', device)\n" +
    "  head = { 0, 0 - now, 0, 0 }\n" +
    "end\n" +
    "last = 0 - head[3]\n" +
    "local bytes, epoch, lastAt, kind = 0 - head[1], 0 - head[2], 0 - head[4], ''\n" +
    "local before, marks, mostLive = redis.call('LLEN', log), 0, maxMessages\n" +
    "if before + count > maxMessages then\n" +
    "  -- Marks take no place from messages, up to as many as there may be of these.\n" +
    "  marks = redis.call('ZCOUNT', uncounted, last - before + 1, '+inf')\n" +
    "  maxMessages = maxMessages + math.min(marks, maxMessages)\n" +
    "end\n" +
    "-- Appends messages, each with the next id, unless the id that its author gave it is known; then drops the oldest ones while\n" +
    "-- there are more, larger or older ones than the log may keep. Nothing is refused any more from here on.\n" +
    "-- Expects:\n" +
    "--   log, ids, oldIds            keys\n" +
    "--   now                         the server's time, ms since 1970\n" +
    "--   epoch, last, lastAt, bytes  the head, all positive; bytes is of no matter while the log is empty\n" +
    "--   retentionMs, dedupMs, maxMessages, maxBytes\n" +
    "--   kind                        of the entries: '' a message, E, D\n" +
    "--   count                       how many there are of\n" +
    "--   fields, authors, bodies     arrays: what they are known by, who they are from, what is behind the first NUL\n" +
    "-- Leaves the head as it is now, for the script to write when fresh > 0: last, lastAt, bytes; lastText and momentText, the first\n" +
    "-- two of them as text, since making a number a string costs more than a command's argument does otherwise; and:\n" +
    "--   outcomes                    array: the id; -id of one that was there before\n" +
    "--   fresh, entries              how many were appended, and they\n" +
    "--   stored                      how many are in the log; nil when fresh is 0\n" +
    "--   droppedFrom, droppedTo      ids; 0 and 0 when none were dropped\n" +
    "--\n" +
    "-- Ids are remembered in two generations, by windows of dedupMs since the epoch. The field '' of a generation is where its\n" +
    "-- window begins, so that nothing has to be asked of Redis but what is looked up anyway. In the same way the time to live of\n" +
    "-- the log and the age of its oldest entries are seen to when a 64th of retentionMs begins.\n" +
    "--\n" +
    "-- One call drops no more than so many, which takes the server about 1 ms: where there are more, since a limit was lowered or\n" +
    "-- because many grew old at once, the next calls go on. To know of the latter, every 32nd message looks at the oldest one.\n" +
    "local MOST_IDS, MANY_IDS, WINDOWS, MOST_DROPPED = 9500, 32, 64, 1000\n" +
    "-- Redis looks through a hash of short fields from one end to the other; one with this field gets an index.\n" +
    "local LONG_FIELD = '-----------------------------------------------------------------'\n" +
    "\n" +
    "local known = redis.call('HMGET', ids, '', unpack(fields))\n" +
    "local older = redis.call('HMGET', oldIds, unpack(fields))\n" +
    "-- The clock of a new master may be behind.\n" +
    "local moment = now - epoch\n" +
    "if moment < lastAt then\n" +
    "  moment = lastAt\n" +
    "end\n" +
    "-- Not `moment .. ''`, which takes longer, and says 1e+14 of so large a number.\n" +
    "local lastText, momentText = nil, string.format('%d', moment)\n" +
    "local stamp = ':' .. kind .. momentText .. ':'\n" +
    "local outcomes, entries, noted\n" +
    "local fresh, added, stored, droppedFrom, droppedTo = 0, 0, nil, 0, 0\n" +
    "if count == 1 then\n" +
    "  -- What most calls are. A table that is made with what it holds costs half of one that grows.\n" +
    "  local id = known[2] or older[1]\n" +
    "  if id then\n" +
    "    outcomes = { -id }\n" +
    "  else\n" +
    "    last = last + 1\n" +
    "    lastText = string.format('%d', last)\n" +
    "    local entry = lastText .. stamp .. authors[1] .. '\\0' .. bodies[1]\n" +
    "    fresh, added = 1, #entry\n" +
    "    entries, outcomes = { entry }, { last }\n" +
    "  end\n" +
    "else\n" +
    "  local seen = {}\n" +
    "  outcomes, entries, noted = {}, {}, {}\n" +
    "  for i = 1, count do\n" +
    "    local field = fields[i]\n" +
    "    local id = known[i + 1] or older[i] or seen[field]\n" +
    "    if id then\n" +
    "      outcomes[i] = -id\n" +
    "    else\n" +
    "      last = last + 1\n" +
    "      lastText = string.format('%d', last)\n" +
    "      local entry = lastText .. stamp .. authors[i] .. '\\0' .. bodies[i]\n" +
    "      fresh = fresh + 1\n" +
    "      entries[fresh] = entry\n" +
    "      added = added + #entry\n" +
    "      noted[2 * fresh - 1], noted[2 * fresh] = field, lastText\n" +
    "      seen[field] = lastText\n" +
    "      outcomes[i] = last\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "if fresh > 0 then\n" +
    "  local window = moment - moment % dedupMs\n" +
    "  local isNth = last % MANY_IDS < fresh\n" +
    "  local size = isNth and redis.call('HLEN', ids) + fresh or 0\n" +
    "  if tonumber(known[1]) ~= window or size > MOST_IDS then\n" +
    "    if known[1] then\n" +
    "      -- RENAME would free a large hash at once.\n" +
    "      redis.call('UNLINK', oldIds)\n" +
    "      redis.call('RENAME', ids, oldIds)\n" +
    "    end\n" +
    "    redis.call('HSET', ids, '', window)\n" +
    "    redis.call('PEXPIRE', ids, 2 * dedupMs)\n" +
    "    size = fresh\n" +
    "  end\n" +
    "  if size > MANY_IDS then\n" +
    "    redis.call('HSET', ids, LONG_FIELD, '')\n" +
    "    redis.call('HDEL', ids, LONG_FIELD)\n" +
    "  end\n" +
    "  if count == 1 then\n" +
    "    redis.call('HSET', ids, fields[1], lastText)\n" +
    "    stored = redis.call('RPUSH', log, entries[1])\n" +
    "  else\n" +
    "    redis.call('HSET', ids, unpack(noted))\n" +
    "    stored = redis.call('RPUSH', log, unpack(entries))\n" +
    "  end\n" +
    "\n" +
    "  bytes = stored == fresh and added or bytes + added\n" +
    "  local step = retentionMs / WINDOWS\n" +
    "  local isDue = stored == fresh or moment - moment % step ~= lastAt - lastAt % step\n" +
    "  lastAt = moment\n" +
    "  if isDue then\n" +
    "    redis.call('PEXPIRE', log, math.ceil(retentionMs + step))\n" +
    "  end\n" +
    "  isDue = isDue or isNth\n" +
    "  if isDue and stored > 1 or stored > maxMessages or bytes > maxBytes then\n" +
    "    local before = stored\n" +
    "    local kept = stored - MOST_DROPPED\n" +
    "    if stored > maxMessages then\n" +
    "      local popped = redis.call('LPOP', log, math.min(stored - maxMessages, MOST_DROPPED))\n" +
    "      for i = 1, #popped do\n" +
    "        bytes = bytes - #popped[i]\n" +
    "      end\n" +
    "      stored = stored - #popped\n" +
    "    end\n" +
    "    local oldest = isDue and redis.call('LINDEX', log, 0)\n" +
    "    while\n" +
    "      stored > 1\n" +
    "      and stored > kept\n" +
    "      and (bytes > maxBytes or oldest and moment - string.match(oldest, '^%d+:%a?(%d+)') >= retentionMs)\n" +
    "    do\n" +
    "      bytes = bytes - #redis.call('LPOP', log)\n" +
    "      stored = stored - 1\n" +
    "      oldest = isDue and redis.call('LINDEX', log, 0)\n" +
    "    end\n" +
    "    if stored < before then\n" +
    "      droppedFrom, droppedTo = last - before + 1, last - stored\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "if fresh > 0 then\n" +
    "  -- With marks at the front go the places that they gave.\n" +
    "  while marks > 0 and stored > mostLive do\n" +
    "    local base = last - stored\n" +
    "    local surplus = stored - redis.call('ZCOUNT', uncounted, base + 1, '+inf') - mostLive\n" +
    "    if droppedTo > 0 then\n" +
    "      surplus = math.min(surplus, MOST_DROPPED - (droppedTo + 1 - droppedFrom))\n" +
    "    end\n" +
    "    if surplus <= 0 then\n" +
    "      break\n" +
    "    end\n" +
    "    local popped = redis.call('LPOP', log, math.min(surplus, MOST_DROPPED))\n" +
    "    for i = 1, #popped do\n" +
    "      bytes = bytes - #popped[i]\n" +
    "    end\n" +
    "    stored = stored - #popped\n" +
    "    droppedFrom, droppedTo = droppedTo > 0 and droppedFrom or base + 1, base + #popped\n" +
    "  end\n" +
    "  redis.call('ZADD', mailbox, -bytes, '\\0b', -last, '\\0l', -lastAt, '\\0t')\n" +
    "  redis.call('PEXPIRE', mailbox, headMs)\n" +
    "  if ttls ~= '' then\n" +
    "    local ttlOf, at = {}, 1\n" +
    "    while at <= #ttls do\n" +
    "      local place, ttlMs\n" +
    "      place, ttlMs, at = struct.unpack('>Hd', ttls, at)\n" +
    "      ttlOf[place] = ttlMs\n" +
    "    end\n" +
    "    local added = {}\n" +
    "    for i = 1, count do\n" +
    "      local ttlMs = ttlOf[places and places[i] or i]\n" +
    "      if ttlMs and outcomes[i] > 0 then\n" +
    "        added[#added + 1], added[#added + 2] = now + ttlMs, outcomes[i]\n" +
    "      end\n" +
    "    end\n" +
    "    if #added > 0 then\n" +
    "      redis.call('ZADD', expiring, unpack(added))\n" +
    "      redis.call('PEXPIRE', expiring, marksMs)\n" +
    "    end\n" +
    "  end\n" +
    "  if droppedTo > 0 and redis.call('EXISTS', expiring) == 1 then\n" +
    "    for from = droppedFrom, droppedTo, 1000 do\n" +
    "      local dropped = {}\n" +
    "      for id = from, math.min(from + 999, droppedTo) do\n" +
    "        dropped[#dropped + 1] = id\n" +
    "      end\n" +
    "      redis.call('ZREM', expiring, unpack(dropped))\n" +
    "    end\n" +
    "  end\n" +
    "  redis.call(publish, wake, '*:')\n" +
    "end\n" +
    "\n" +
    "if refusals then\n" +
    "  for i = 1, count do\n" +
    "    refusals[places[i]] = outcomes[i]\n" +
    "  end\n" +
    "  outcomes = refusals\n" +
    "end\n" +
    "if droppedTo > 0 then\n" +
    "  outcomes[#outcomes + 1] = droppedFrom\n" +
    "  outcomes[#outcomes + 1] = droppedTo\n" +
    "end\n" +
    "return outcomes\n",
} as const);

export const mailboxStatus = new Script({
  name: "mailbox.status",
  isReadOnly: false,
  keys: ["mailbox","log","uncounted","expiring","fetched"],
  args: ["marksMs"],
  source: "#!lua flags=allow-oom\n" +
    "-- What is known of a mailbox without reading it.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   mailbox     ZSET, see src/keys.ts\n" +
    "--   log         LIST of entries, the oldest first, see src/log/entry.ts\n" +
    "--   uncounted   ZSET id -> id: what has expired\n" +
    "--   expiring    ZSET id -> expires at, ms\n" +
    "--   fetched     HASH device -> when it was here last, ms\n" +
    "-- ARGV\n" +
    "--   marksMs     ms until `uncounted` has outlived all entries\n" +
    "-- RETURNS\n" +
    "--   { 1 when more has expired than one call clears away (else 0), epoch, last id, instant of the last message since the epoch,\n" +
    "--   bytes, entries stored, messages among them, the oldest message without its payload (or false), then for each device, the\n" +
    "--   slowest first: its name, its cursor, how many messages it has not acked, when it was here last (or false) }\n" +
    "--   -1: there is no mailbox\n" +
    "local mailbox, log, uncounted, expiring, fetched = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]\n" +
    "local marksMs = ARGV[1]\n" +
    "\n" +
    "-- What has expired gives its place up: a mark stands there from now on, which isn't counted.\n" +
    "-- Expects mailbox, log, uncounted and expiring (keys), marksMs. Leaves:\n" +
    "--   now         the server's time, ms since 1970\n" +
    "--   hasMore     more has expired than is done in one call\n" +
    "--   hasMarks    some expired: cursors may step over them\n" +
    "--   last, base  the newest id, and the one before the oldest entry; only with hasMarks\n" +
    "local MOST_EXPIRED = 500\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "local expired = redis.call('ZRANGEBYSCORE', expiring, '-inf', string.format('%.0f', now), 'LIMIT', '0', MOST_EXPIRED)\n" +
    "local hasMarks, hasMore, last, base = false, #expired == MOST_EXPIRED, nil, nil\n" +
    "if #expired > 0 then\n" +
    "  redis.call('ZREM', expiring, unpack(expired))\n" +
    "  local scores = redis.call('ZMSCORE', mailbox, '\\0b', '\\0l')\n" +
    "  local bytes = 0 - (scores[1] or 0)\n" +
    "  last = 0 - (scores[2] or 0)\n" +
    "  base = last - redis.call('LLEN', log)\n" +
    "  local marks = {}\n" +
    "  for i = 1, #expired do\n" +
    "    local id = expired[i]\n" +
    "    local place = id - base - 1\n" +
    "    -- Without a head there are no numbers, and no entry is found; the next message begins anew.\n" +
    "    local entry = place >= 0 and redis.call('LINDEX', log, place)\n" +
    "    if entry then\n" +
    "      local mark = id .. ':X' .. string.match(entry, ':(%d+:)')\n" +
    "      redis.call('LSET', log, place, mark)\n" +
    "      bytes = bytes - #entry + #mark\n" +
    "      marks[#marks + 1], marks[#marks + 2] = id, id\n" +
    "    end\n" +
    "  end\n" +
    "  if #marks > 0 then\n" +
    "    hasMarks = true\n" +
    "    redis.call('ZADD', mailbox, 0 - bytes, '\\0b')\n" +
    "    redis.call('ZREMRANGEBYSCORE', uncounted, '-inf', base)\n" +
    "    redis.call('ZADD', uncounted, unpack(marks))\n" +
    "    redis.call('PEXPIRE', uncounted, marksMs)\n" +
    "  end\n" +
    "end\n" +
    "if hasMarks then\n" +
    "-- How far a mailbox can be freed. Cursors that nothing but marks is behind step over these first, or a mailbox whose messages\n" +
    "-- all expire would keep the marks of them.\n" +
    "-- Expects mailbox, log, uncounted and expiring (keys), last, base (the id before the oldest entry). Leaves canFree, and what\n" +
    "-- log.trim.part.lua expects then: cursors, last, floor, keepAcked.\n" +
    "local MOST_STEPS = 1000\n" +
    "local cursors, keepAcked = mailbox, 0\n" +
    "local slowest = redis.call('ZRANGE', mailbox, '4', '4', 'WITHSCORES')\n" +
    "-- Where there is no device, everything is kept for one that comes.\n" +
    "local floor = tonumber(slowest[2] or base)\n" +
    "if floor >= base and floor < last and redis.call('EXISTS', uncounted) == 1 then\n" +
    "  local to = floor\n" +
    "  while to < last and to - floor < MOST_STEPS and string.find(redis.call('LINDEX', log, to - base), '^%d+:X') do\n" +
    "    to = to + 1\n" +
    "  end\n" +
    "  if to > floor and slowest[2] then\n" +
    "    local devices = redis.call('ZRANGEBYSCORE', mailbox, floor, '(' .. to)\n" +
    "    for i = 1, #devices do\n" +
    "      if string.byte(devices[i]) ~= 0 then\n" +
    "        redis.call('ZADD', mailbox, 'XX', 'GT', to, devices[i])\n" +
    "      end\n" +
    "    end\n" +
    "    floor = tonumber(redis.call('ZRANGE', mailbox, '4', '4', 'WITHSCORES')[2])\n" +
    "  end\n" +
    "end\n" +
    "local canFree = floor > base\n" +
    "if canFree and redis.call('EXISTS', expiring) == 1 then\n" +
    "  for from = base + 1, floor, MOST_STEPS do\n" +
    "    local ids = {}\n" +
    "    for id = from, math.min(from + MOST_STEPS - 1, floor) do\n" +
    "      ids[#ids + 1] = id\n" +
    "    end\n" +
    "    redis.call('ZREM', expiring, unpack(ids))\n" +
    "  end\n" +
    "end\n" +
    "  if canFree then\n" +
    "-- Frees what everybody has acked, but for the newest ones that are kept for history.\n" +
    "-- Expects:\n" +
    "--   cursors, log       keys; cursors is the set of the head\n" +
    "--   uncounted          key, or nil: its ids up to the base are left to another script, and count nowhere\n" +
    "--   last, floor        the newest id, the lowest cursor\n" +
    "--   keepAcked          how many are kept\n" +
    "if floor >= last and keepAcked == 0 then\n" +
    "  redis.call('UNLINK', log, uncounted or log)\n" +
    "else\n" +
    "  local stored = redis.call('LLEN', log)\n" +
    "  local freedTo = math.min(floor, last - keepAcked)\n" +
    "  local surplus, freedBytes = freedTo - last + stored, 0\n" +
    "  if surplus > 0 then\n" +
    "    while surplus > 0 do\n" +
    "      local popped = redis.call('LPOP', log, math.min(surplus, 1000))\n" +
    "      for i = 1, #popped do\n" +
    "        freedBytes = freedBytes + #popped[i]\n" +
    "      end\n" +
    "      surplus = surplus - #popped\n" +
    "    end\n" +
    "    redis.call('ZINCRBY', cursors, freedBytes, '\\0b')\n" +
    "    if uncounted then\n" +
    "      redis.call('ZREMRANGEBYSCORE', uncounted, '-inf', freedTo)\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local scores = redis.call('ZRANGE', mailbox, '0', '-1', 'WITHSCORES')\n" +
    "if #scores == 0 then\n" +
    "  return -1\n" +
    "end\n" +
    "local head = {}\n" +
    "for index = 1, 8, 2 do\n" +
    "  head[scores[index]] = 0 - scores[index + 1]\n" +
    "end\n" +
    "local stored = redis.call('LLEN', log)\n" +
    "last = head['\\0l']\n" +
    "base = last - stored\n" +
    "\n" +
    "local hasMarked = stored > 0 and redis.call('EXISTS', uncounted) == 1\n" +
    "local function countFrom(id)\n" +
    "  local count = last + 1 - id\n" +
    "  if count > 0 and hasMarked then\n" +
    "    count = count - redis.call('ZCOUNT', uncounted, id, '+inf')\n" +
    "  end\n" +
    "  return count\n" +
    "end\n" +
    "\n" +
    "local live, oldest, place = countFrom(base + 1), false, 0\n" +
    "while live > 0 and not oldest and place < stored do\n" +
    "  oldest = string.match(redis.call('LINDEX', log, place), '^%d+:%d+:') or false\n" +
    "  place = place + 1\n" +
    "end\n" +
    "\n" +
    "local reply = {\n" +
    "  hasMore and 1 or 0, head['\\0e'], last, head['\\0t'], stored > 0 and head['\\0b'] or 0, stored, live, oldest,\n" +
    "}\n" +
    "for index = 9, #scores, 2 do\n" +
    "  local device, cursor = scores[index], tonumber(scores[index + 1])\n" +
    "  local count = #reply\n" +
    "  reply[count + 1] = device\n" +
    "  reply[count + 2] = cursor\n" +
    "  reply[count + 3] = countFrom(math.max(cursor, base) + 1)\n" +
    "  reply[count + 4] = redis.call('HGET', fetched, device)\n" +
    "end\n" +
    "return reply\n",
} as const);

export const mailboxUnblock = new Script({
  name: "mailbox.unblock",
  isReadOnly: false,
  keys: ["blocked"],
  args: [],
  restArg: "senders",
  source: "#!lua flags=allow-oom\n" +
    "-- Lets senders of a mailbox in again. Only removes, so that it works at full memory.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   blocked      SET of senders; until they are unblocked\n" +
    "-- ARGV\n" +
    "--   senders...   of 1 or more\n" +
    "-- RETURNS\n" +
    "--   for each: 1 when it was blocked, otherwise 0\n" +
    "local blocked = KEYS[1]\n" +
    "\n" +
    "local replies = {}\n" +
    "for index = 1, #ARGV do\n" +
    "  replies[index] = redis.call('SREM', blocked, ARGV[index])\n" +
    "end\n" +
    "return replies\n",
} as const);

export const mailboxUnread = new Script({
  name: "mailbox.unread",
  isReadOnly: false,
  keys: ["mailbox","log","uncounted","expiring"],
  args: ["device","marksMs"],
  source: "#!lua flags=allow-oom\n" +
    "-- How many messages a device of a mailbox has not acked.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   mailbox     ZSET, see src/keys.ts\n" +
    "--   log         LIST of entries, the oldest first, see src/log/entry.ts\n" +
    "--   uncounted   ZSET id -> id: what has expired\n" +
    "--   expiring    ZSET id -> expires at, ms\n" +
    "-- ARGV\n" +
    "--   device      as it stands in `mailbox`\n" +
    "--   marksMs     ms until `uncounted` has outlived all entries\n" +
    "-- RETURNS\n" +
    "--   { 1 when more has expired than one call clears away (else 0), messages }; -1: there is no mailbox; -2: it has no such device\n" +
    "local mailbox, log, uncounted, expiring = KEYS[1], KEYS[2], KEYS[3], KEYS[4]\n" +
    "local device, marksMs = ARGV[1], ARGV[2]\n" +
    "\n" +
    "-- What has expired gives its place up: a mark stands there from now on, which isn't counted.\n" +
    "-- Expects mailbox, log, uncounted and expiring (keys), marksMs. Leaves:\n" +
    "--   now         the server's time, ms since 1970\n" +
    "--   hasMore     more has expired than is done in one call\n" +
    "--   hasMarks    some expired: cursors may step over them\n" +
    "--   last, base  the newest id, and the one before the oldest entry; only with hasMarks\n" +
    "local MOST_EXPIRED = 500\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "local expired = redis.call('ZRANGEBYSCORE', expiring, '-inf', string.format('%.0f', now), 'LIMIT', '0', MOST_EXPIRED)\n" +
    "local hasMarks, hasMore, last, base = false, #expired == MOST_EXPIRED, nil, nil\n" +
    "if #expired > 0 then\n" +
    "  redis.call('ZREM', expiring, unpack(expired))\n" +
    "  local scores = redis.call('ZMSCORE', mailbox, '\\0b', '\\0l')\n" +
    "  local bytes = 0 - (scores[1] or 0)\n" +
    "  last = 0 - (scores[2] or 0)\n" +
    "  base = last - redis.call('LLEN', log)\n" +
    "  local marks = {}\n" +
    "  for i = 1, #expired do\n" +
    "    local id = expired[i]\n" +
    "    local place = id - base - 1\n" +
    "    -- Without a head there are no numbers, and no entry is found; the next message begins anew.\n" +
    "    local entry = place >= 0 and redis.call('LINDEX', log, place)\n" +
    "    if entry then\n" +
    "      local mark = id .. ':X' .. string.match(entry, ':(%d+:)')\n" +
    "      redis.call('LSET', log, place, mark)\n" +
    "      bytes = bytes - #entry + #mark\n" +
    "      marks[#marks + 1], marks[#marks + 2] = id, id\n" +
    "    end\n" +
    "  end\n" +
    "  if #marks > 0 then\n" +
    "    hasMarks = true\n" +
    "    redis.call('ZADD', mailbox, 0 - bytes, '\\0b')\n" +
    "    redis.call('ZREMRANGEBYSCORE', uncounted, '-inf', base)\n" +
    "    redis.call('ZADD', uncounted, unpack(marks))\n" +
    "    redis.call('PEXPIRE', uncounted, marksMs)\n" +
    "  end\n" +
    "end\n" +
    "if hasMarks then\n" +
    "-- How far a mailbox can be freed. Cursors that nothing but marks is behind step over these first, or a mailbox whose messages\n" +
    "-- all expire would keep the marks of them.\n" +
    "-- Expects mailbox, log, uncounted and expiring (keys), last, base (the id before the oldest entry). Leaves canFree, and what\n" +
    "-- log.trim.part.lua expects then: cursors, last, floor, keepAcked.\n" +
    "local MOST_STEPS = 1000\n" +
    "local cursors, keepAcked = mailbox, 0\n" +
    "local slowest = redis.call('ZRANGE', mailbox, '4', '4', 'WITHSCORES')\n" +
    "-- Where there is no device, everything is kept for one that comes.\n" +
    "local floor = tonumber(slowest[2] or base)\n" +
    "if floor >= base and floor < last and redis.call('EXISTS', uncounted) == 1 then\n" +
    "  local to = floor\n" +
    "  while to < last and to - floor < MOST_STEPS and string.find(redis.call('LINDEX', log, to - base), '^%d+:X') do\n" +
    "    to = to + 1\n" +
    "  end\n" +
    "  if to > floor and slowest[2] then\n" +
    "    local devices = redis.call('ZRANGEBYSCORE', mailbox, floor, '(' .. to)\n" +
    "    for i = 1, #devices do\n" +
    "      if string.byte(devices[i]) ~= 0 then\n" +
    "        redis.call('ZADD', mailbox, 'XX', 'GT', to, devices[i])\n" +
    "      end\n" +
    "    end\n" +
    "    floor = tonumber(redis.call('ZRANGE', mailbox, '4', '4', 'WITHSCORES')[2])\n" +
    "  end\n" +
    "end\n" +
    "local canFree = floor > base\n" +
    "if canFree and redis.call('EXISTS', expiring) == 1 then\n" +
    "  for from = base + 1, floor, MOST_STEPS do\n" +
    "    local ids = {}\n" +
    "    for id = from, math.min(from + MOST_STEPS - 1, floor) do\n" +
    "      ids[#ids + 1] = id\n" +
    "    end\n" +
    "    redis.call('ZREM', expiring, unpack(ids))\n" +
    "  end\n" +
    "end\n" +
    "  if canFree then\n" +
    "-- Frees what everybody has acked, but for the newest ones that are kept for history.\n" +
    "-- Expects:\n" +
    "--   cursors, log       keys; cursors is the set of the head\n" +
    "--   uncounted          key, or nil: its ids up to the base are left to another script, and count nowhere\n" +
    "--   last, floor        the newest id, the lowest cursor\n" +
    "--   keepAcked          how many are kept\n" +
    "if floor >= last and keepAcked == 0 then\n" +
    "  redis.call('UNLINK', log, uncounted or log)\n" +
    "else\n" +
    "  local stored = redis.call('LLEN', log)\n" +
    "  local freedTo = math.min(floor, last - keepAcked)\n" +
    "  local surplus, freedBytes = freedTo - last + stored, 0\n" +
    "  if surplus > 0 then\n" +
    "    while surplus > 0 do\n" +
    "      local popped = redis.call('LPOP', log, math.min(surplus, 1000))\n" +
    "      for i = 1, #popped do\n" +
    "        freedBytes = freedBytes + #popped[i]\n" +
    "      end\n" +
    "      surplus = surplus - #popped\n" +
    "    end\n" +
    "    redis.call('ZINCRBY', cursors, freedBytes, '\\0b')\n" +
    "    if uncounted then\n" +
    "      redis.call('ZREMRANGEBYSCORE', uncounted, '-inf', freedTo)\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local scores = redis.call('ZMSCORE', mailbox, '\\0l', device)\n" +
    "if not scores[1] then\n" +
    "  return -1\n" +
    "end\n" +
    "if not scores[2] then\n" +
    "  return -2\n" +
    "end\n" +
    "last = 0 - scores[1]\n" +
    "local cursor = tonumber(scores[2])\n" +
    "if cursor == last then\n" +
    "  return { hasMore and 1 or 0, 0 }\n" +
    "end\n" +
    "local from = math.max(cursor, last - redis.call('LLEN', log)) + 1\n" +
    "return { hasMore and 1 or 0, last + 1 - from - redis.call('ZCOUNT', uncounted, from, '+inf') }\n",
} as const);

export const memberForget = new Script({
  name: "member.forget",
  isReadOnly: false,
  keys: ["chats","mutes"],
  args: ["minAgeMs"],
  restArg: "seen",
  source: "#!lua flags=allow-oom\n" +
    "-- Removes what the readers of an index found to be of no use, unless it has changed since they looked: chats that don't have\n" +
    "-- the member, once so old that nobody can be about to add them there, and mutes that are over.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   chats        ZSET chat -> instant of joining, ms; until its last chat is forgotten\n" +
    "--   mutes        HASH chat -> muted until, ms, 0 for ever; until its last chat is unmuted or forgotten\n" +
    "-- ARGV\n" +
    "--   minAgeMs     ms that an entry of the index has to be old\n" +
    "--   seen...      for each: 'chat' or 'mute', the chat, encoded, and the value that was seen\n" +
    "-- RETURNS\n" +
    "--   how many entries of the index were removed\n" +
    "local chats, mutes = KEYS[1], KEYS[2]\n" +
    "local minAgeMs = tonumber(ARGV[1])\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "local forgotten = 0\n" +
    "for index = 2, #ARGV, 3 do\n" +
    "  local chat, value = ARGV[index + 1], ARGV[index + 2]\n" +
    "  if ARGV[index] == 'mute' then\n" +
    "    if tonumber(value) <= now and redis.call('HGET', mutes, chat) == value then\n" +
    "      redis.call('HDEL', mutes, chat)\n" +
    "    end\n" +
    "  elseif tonumber(value) <= now - minAgeMs and redis.call('ZSCORE', chats, chat) == value then\n" +
    "    redis.call('ZREM', chats, chat)\n" +
    "    redis.call('HDEL', mutes, chat)\n" +
    "    forgotten = forgotten + 1\n" +
    "  end\n" +
    "end\n" +
    "return forgotten\n",
} as const);

export const memberIndex = new Script({
  name: "member.index",
  isReadOnly: false,
  keys: ["chats","mutes","events"],
  args: ["publish","maxChats"],
  restArg: "added",
  source: "#!lua\n" +
    "-- Adds chats to the index of a member, or refreshes their entries, and tells those who follow the member. An entry never\n" +
    "-- gets the instant that it had before: who saw an older one can't remove it.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   chats        ZSET chat -> instant of joining, ms; until its last chat is forgotten\n" +
    "--   mutes        HASH chat -> muted until, ms, 0 for ever; only read\n" +
    "--   events       channel of the member; not a key\n" +
    "-- ARGV\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "--   maxChats     entries at most; with more, which some are spared, not even those that are there are refreshed\n" +
    "--   added...     chats, encoded\n" +
    "-- RETURNS\n" +
    "--   the server's clock in ms, then for each chat the instant of its entry, -1: the index is full, or -2: it is overfull, and\n" +
    "--   has the chat; then for each chat, 1: there is a mute of it, or 0\n" +
    "local chats, mutes, events = KEYS[1], KEYS[2], KEYS[3]\n" +
    "local publish, maxChats = ARGV[1], tonumber(ARGV[2])\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "local size = redis.call('ZCARD', chats)\n" +
    "local replies, count = { now }, #ARGV - 2\n" +
    "for index = 3, #ARGV do\n" +
    "  local chat = ARGV[index]\n" +
    "  local known = redis.call('ZSCORE', chats, chat)\n" +
    "  local joinedAt = -1\n" +
    "  if known and size > maxChats then\n" +
    "    joinedAt = -2\n" +
    "  elseif known then\n" +
    "    joinedAt = math.max(now, known + 1)\n" +
    "  elseif size < maxChats then\n" +
    "    joinedAt = now\n" +
    "    size = size + 1\n" +
    "  end\n" +
    "  if joinedAt > 0 then\n" +
    "    redis.call('ZADD', chats, string.format('%.0f', joinedAt), chat)\n" +
    "    redis.call(publish, events, '*:c' .. chat)\n" +
    "  end\n" +
    "  replies[index - 1] = joinedAt\n" +
    "  replies[index - 1 + count] = redis.call('HEXISTS', mutes, chat)\n" +
    "end\n" +
    "return replies\n",
} as const);

export const memberMute = new Script({
  name: "member.mute",
  isReadOnly: false,
  keys: ["chats","mutes","events"],
  args: ["publish"],
  restArg: "changes",
  source: "#!lua\n" +
    "-- Mutes and unmutes chats of a member, and tells those who follow the member, who then read the mutes anew.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   chats        ZSET chat -> instant of joining, ms; until its last chat is forgotten\n" +
    "--   mutes        HASH chat -> muted until, ms, 0 for ever; until its last chat is unmuted or forgotten\n" +
    "--   events       channel of the member; not a key\n" +
    "-- ARGV\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "--   changes...   for each: the chat, encoded, and until when it is muted, ms: 0 for ever, -1 not at all\n" +
    "-- RETURNS\n" +
    "--   for each, 1; 0 when the index doesn't have the chat, so that it can't be muted\n" +
    "local chats, mutes, events = KEYS[1], KEYS[2], KEYS[3]\n" +
    "local publish = ARGV[1]\n" +
    "\n" +
    "local replies = {}\n" +
    "for index = 2, #ARGV, 2 do\n" +
    "  local chat, mutedUntil = ARGV[index], ARGV[index + 1]\n" +
    "  local isDone = 1\n" +
    "  if mutedUntil == '-1' then\n" +
    "    redis.call('HDEL', mutes, chat)\n" +
    "  elseif redis.call('ZSCORE', chats, chat) then\n" +
    "    redis.call('HSET', mutes, chat, mutedUntil)\n" +
    "  else\n" +
    "    isDone = 0\n" +
    "  end\n" +
    "  replies[#replies + 1] = isDone\n" +
    "end\n" +
    "redis.call(publish, events, '*:u')\n" +
    "return replies\n",
} as const);

export const memberUnmute = new Script({
  name: "member.unmute",
  isReadOnly: false,
  keys: ["mutes","events"],
  args: ["publish"],
  restArg: "chats",
  source: "#!lua flags=allow-oom\n" +
    "-- Unmutes chats of a member, and tells those who follow the member. Only removes, so that it works at full memory.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   mutes        HASH chat -> muted until, ms, 0 for ever; until its last chat is unmuted or forgotten\n" +
    "--   events       channel of the member; not a key\n" +
    "-- ARGV\n" +
    "--   publish      PUBLISH or SPUBLISH\n" +
    "--   chats...     encoded\n" +
    "-- RETURNS\n" +
    "--   for each, 1: as of a change, whether it was muted or not\n" +
    "local mutes, events = KEYS[1], KEYS[2]\n" +
    "local publish = ARGV[1]\n" +
    "\n" +
    "local replies = {}\n" +
    "for index = 2, #ARGV do\n" +
    "  redis.call('HDEL', mutes, ARGV[index])\n" +
    "  replies[index - 1] = 1\n" +
    "end\n" +
    "redis.call(publish, events, '*:u')\n" +
    "return replies\n",
} as const);
