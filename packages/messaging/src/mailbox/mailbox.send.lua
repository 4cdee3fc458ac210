#!lua
-- Appends messages to a mailbox and wakes its receivers. Skips blocked senders, and messages whose key is known. The first
-- message creates the mailbox, with the device `main`.
--
-- All messages are one argument: each argument costs the client 0.6 µs, and the server half of that.
--
-- KEYS
--   mailbox      ZSET, see src/keys.ts; PEXPIRE
--   log          LIST of entries, see src/log/entry.ts; PEXPIRE
--   uncounted    ZSET id -> id: expired messages
--   ids          HASH message key -> id, see src/log/message-key.ts; PEXPIRE
--   oldIds       HASH, the generation before
--   expiring     ZSET id -> expires at, ms
--   blocked      SET of senders
--   wake         channel of waiting receivers; not a key
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   limits       six f64: keepMs, dedupMs, maxMessages, maxBytes, headMs, tombstoneMs
--   count        messages, 200 at most
--   packed       for each message: u16 place of its sender in `senders`, from 1; u16 length · message key; u32 length · body
--   ttls         for each message that expires: u16 its place in `packed`, from 1; f64 ms
--   senders...   as stored, each once
-- RETURNS
--   for each message: its id; -id if its key was known; nil for a blocked sender. Then the first and the last dropped id, if
--   messages were dropped
local mailbox, log, uncounted, ids, oldIds = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local expiring, blocked, wake = KEYS[6], KEYS[7], KEYS[8]
local publish, limits, count, packed, ttls = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5]
local senders = { unpack(ARGV, 6) }
local keepMs, dedupMs, maxMessages, maxBytes, headMs, tombstoneMs = struct.unpack('>dddddd', limits)

-- include mailbox.clean.part.lua

local head = redis.call('ZMSCORE', mailbox, '\0b', '\0e', '\0l', '\0t')
local messageKeys, authors, bodies, places, whose, refusals
local refused, isBlocked = {}, redis.call('SMISMEMBER', blocked, unpack(senders))
for i = 1, #senders do
  if isBlocked[i] == 1 then
    refused[i] = false
  end
end
-- include log.unpack.part.lua

if not head[2] then
  local device = 'main'
-- include mailbox.begin.part.lua
  head = { 0, 0 - now, 0, 0 }
end
last = 0 - head[3]
local bytes, epoch, lastAt, kind = 0 - head[1], 0 - head[2], 0 - head[4], ''
local before, tombstones, mostLive = redis.call('LLEN', log), 0, maxMessages
if before + count > maxMessages then
  -- Up to maxMessages tombstones do not count as messages.
  tombstones = redis.call('ZCOUNT', uncounted, last - before + 1, '+inf')
  maxMessages = maxMessages + math.min(tombstones, maxMessages)
end
-- include log.append.part.lua

if fresh > 0 then
  -- Tombstones that were dropped from the front no longer count.
  while tombstones > 0 and stored > mostLive do
    local base = last - stored
    local surplus = stored - redis.call('ZCOUNT', uncounted, base + 1, '+inf') - mostLive
    if droppedTo > 0 then
      surplus = math.min(surplus, MOST_DROPPED - (droppedTo + 1 - droppedFrom))
    end
    if surplus <= 0 then
      break
    end
    surplus = math.min(surplus, MOST_DROPPED)
-- include log.pop.part.lua
    droppedFrom, droppedTo = droppedTo > 0 and droppedFrom or base + 1, base + surplus
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
      local ttlMs = ttlOf[places[i]]
      if ttlMs and outcomes[i] > 0 then
        added[#added + 1], added[#added + 2] = now + ttlMs, outcomes[i]
      end
    end
    if #added > 0 then
      redis.call('ZADD', expiring, unpack(added))
      redis.call('PEXPIRE', expiring, tombstoneMs)
    end
  end
  if droppedTo > 0 then
    local first, final = droppedFrom, droppedTo
-- include mailbox.unexpire.part.lua
  end
  redis.call(publish, wake, '*:')
end

-- include log.outcomes.part.lua
return outcomes
