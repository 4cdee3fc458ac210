#!lua
-- Appends messages to a mailbox, unless their sender is blocked or their id is known, and wakes its receivers. The first
-- message makes the mailbox, with the device `main`.
--
-- All messages come in one argument: each string that a client sends costs it 0.6 µs, and the server half of that.
--
-- KEYS
--   mailbox      ZSET, see src/keys.ts; PEXPIRE
--   log          LIST of entries, see src/log/entry.ts; PEXPIRE
--   uncounted    ZSET id -> id: what has expired
--   ids          HASH what a message is known by -> id; PEXPIRE
--   oldIds       HASH, the generation before
--   expiring     ZSET id -> expires at, ms
--   blocked      SET of senders
--   wake         channel of the receivers that wait; not a key
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   limits       six f64: retentionMs, dedupMs, maxMessages, maxBytes, headMs, marksMs
--   count        of messages, 200 at most
--   incoming     for each message: u16 place of its sender in `senders`, from 1; u16 length · what it is known by;
--                u32 length · body
--   ttls         for each message that expires: u16 its place in `incoming`, from 1; f64 ms
--   senders...   as they are stored, none twice
-- RETURNS
--   for each message its id, -id of the one that was there before, nil for a blocked sender; behind them the first and the last
--   id that were dropped, if any were
local mailbox, log, uncounted, ids, oldIds = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local expiring, blocked, wake = KEYS[6], KEYS[7], KEYS[8]
local publish, limits, count, incoming, ttls = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5]
local senders = { unpack(ARGV, 6) }
local retentionMs, dedupMs, maxMessages, maxBytes, headMs, marksMs = struct.unpack('>dddddd', limits)

-- include mailbox.sweep.part.lua
if hasMarks then
-- include mailbox.floor.part.lua
  if canFree then
-- include log.trim.part.lua
  end
end

local head = redis.call('ZMSCORE', mailbox, '\0b', '\0e', '\0l', '\0t')
local parts = { struct.unpack(count == 1 and '>HHc0Ic0' or '>' .. string.rep('HHc0Ic0', count), incoming) }
local fields, authors, bodies, places, refusals = {}, {}, {}, nil, nil
for i = 1, count do
  authors[i], fields[i], bodies[i] = senders[parts[3 * i - 2]], parts[3 * i - 1], parts[3 * i]
end

local isBlocked = redis.call('SMISMEMBER', blocked, unpack(senders))
for i = 1, #senders do
  if isBlocked[i] == 1 then
    isBlocked[senders[i]] = true
    refusals = {}
  end
end
if refusals then
  -- Those that may go on move up. So do those that are known: they have been sent.
  local kept = 0
  places = {}
  for i = 1, count do
    local field = fields[i]
    local isKnown = head[2] and redis.call('HEXISTS', ids, field) + redis.call('HEXISTS', oldIds, field) > 0
    if isBlocked[authors[i]] and not isKnown then
      refusals[i] = false
    else
      kept = kept + 1
      places[kept] = i
      authors[kept], fields[kept], bodies[kept] = authors[i], field, bodies[i]
    end
  end
  if kept == 0 then
    return refusals
  end
  count = kept
end

if not head[2] then
  local device = 'main'
-- include mailbox.begin.part.lua
  head = { 0, 0 - now, 0, 0 }
end
last = 0 - head[3]
local bytes, epoch, lastAt, kind = 0 - head[1], 0 - head[2], 0 - head[4], ''
local before, marks, mostLive = redis.call('LLEN', log), 0, maxMessages
if before + count > maxMessages then
  -- Marks take no place from messages, up to as many as there may be of these.
  marks = redis.call('ZCOUNT', uncounted, last - before + 1, '+inf')
  maxMessages = maxMessages + math.min(marks, maxMessages)
end
-- include log.append.part.lua

if fresh > 0 then
  -- With marks at the front go the places that they gave.
  while marks > 0 and stored > mostLive do
    local base = last - stored
    local surplus = stored - redis.call('ZCOUNT', uncounted, base + 1, '+inf') - mostLive
    if droppedTo > 0 then
      surplus = math.min(surplus, MOST_DROPPED - (droppedTo + 1 - droppedFrom))
    end
    if surplus <= 0 then
      break
    end
    local popped = redis.call('LPOP', log, math.min(surplus, MOST_DROPPED))
    for i = 1, #popped do
      bytes = bytes - #popped[i]
    end
    stored = stored - #popped
    droppedFrom, droppedTo = droppedTo > 0 and droppedFrom or base + 1, base + #popped
  end
  redis.call('ZADD', mailbox, -bytes, '\0b', -last, '\0l', -lastAt, '\0t')
  redis.call('PEXPIRE', mailbox, headMs)
  if ttls ~= '' then
    local ttlOf, at = {}, 1
    while at <= #ttls do
      local place, ttlMs
      place, ttlMs, at = struct.unpack('>Hd', ttls, at)
      ttlOf[place] = ttlMs
    end
    local added = {}
    for i = 1, count do
      local ttlMs = ttlOf[places and places[i] or i]
      if ttlMs and outcomes[i] > 0 then
        added[#added + 1], added[#added + 2] = now + ttlMs, outcomes[i]
      end
    end
    if #added > 0 then
      redis.call('ZADD', expiring, unpack(added))
      redis.call('PEXPIRE', expiring, marksMs)
    end
  end
  if droppedTo > 0 and redis.call('EXISTS', expiring) == 1 then
    for from = droppedFrom, droppedTo, 1000 do
      local dropped = {}
      for id = from, math.min(from + 999, droppedTo) do
        dropped[#dropped + 1] = id
      end
      redis.call('ZREM', expiring, unpack(dropped))
    end
  end
  redis.call(publish, wake, '*:')
end

if refusals then
  for i = 1, count do
    refusals[places[i]] = outcomes[i]
  end
  outcomes = refusals
end
if droppedTo > 0 then
  outcomes[#outcomes + 1] = droppedFrom
  outcomes[#outcomes + 1] = droppedTo
end
return outcomes
