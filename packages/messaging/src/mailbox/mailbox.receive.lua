#!lua flags=allow-oom
-- Reads one end of what a device of a mailbox has not acked. Moves nothing; notes that the device was here.
--
-- KEYS
--   mailbox     ZSET, see src/keys.ts
--   log         LIST of entries, the oldest first, see src/log/entry.ts
--   uncounted   ZSET id -> id: what has expired
--   expiring    ZSET id -> expires at, ms
--   fetched     HASH device -> when it was here last, ms; until headMs after any of them was
-- ARGV
--   device      as it stands in `mailbox`
--   isLatest    1: the newest messages; 0: the oldest
--   limit       messages
--   headMs      ms until the numbering of a mailbox that gets nothing, and that nobody reads, is forgotten
--   marksMs     ms until `uncounted` has outlived all entries
-- RETURNS
--   { 1 when more has expired than one call clears away (else 0), epoch, its cursor, the id before the oldest entry, how many
--   messages are unread, entries, the oldest first }
--   -1: there is no mailbox; -2: it has no such device
local mailbox, log, uncounted, expiring, fetched = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local device, isLatest, limit, headMs, marksMs = ARGV[1], ARGV[2] == '1', tonumber(ARGV[3]), ARGV[4], ARGV[5]
-- How exact the time of the last fetch is, ms: a write for each look would go to the replicas and the AOF.
local FETCHED_STEP = 1000

-- include mailbox.sweep.part.lua
if hasMarks then
-- include mailbox.floor.part.lua
  if canFree then
-- include log.trim.part.lua
  end
end

local head = redis.call('ZMSCORE', mailbox, '\0e', '\0l', device)
if not head[1] then
  return -1
end
last = 0 - head[2]
local cursor = tonumber(head[3])
if not cursor then
  return -2
end

local fetchedAt = redis.call('HGET', fetched, device)
if not fetchedAt or now - fetchedAt >= FETCHED_STEP then
  redis.call('HSET', fetched, device, now)
  redis.call('PEXPIRE', fetched, headMs)
  redis.call('PEXPIRE', mailbox, headMs)
end

local entries, stored, first, unread = {}, 0, 0, 0
if cursor < last then
  stored = redis.call('LLEN', log)
  first = math.max(cursor + stored - last, 0)
  unread = stored - first
end
if unread > 0 then
  local marks = redis.call('ZCOUNT', uncounted, last - unread + 1, '+inf')
  unread = unread - marks
  local from, to, count = first, stored - 1, math.min(limit, unread)
  -- Marks stand between the messages: on until there are enough.
  while #entries < count and from <= to do
    local chunk
    if isLatest then
      chunk = redis.call('LRANGE', log, math.max(from, to - count + 1), to)
      to = to - #chunk
    else
      chunk = redis.call('LRANGE', log, from, math.min(to, from + count - 1))
      from = from + #chunk
    end
    if marks == 0 then
      entries = chunk
    else
      for i = 1, #chunk do
        local entry = chunk[isLatest and #chunk + 1 - i or i]
        if #entries < count and not string.find(entry, '^%d+:X') then
          entries[#entries + 1] = entry
        end
      end
    end
  end
  if marks > 0 and isLatest then
    for i = 1, math.floor(#entries / 2) do
      entries[i], entries[#entries + 1 - i] = entries[#entries + 1 - i], entries[i]
    end
  end
end
return { hasMore and 1 or 0, 0 - head[1], cursor, last - stored, unread, entries }
