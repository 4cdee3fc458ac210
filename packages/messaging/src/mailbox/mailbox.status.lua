#!lua flags=allow-oom
-- Counts and times of a mailbox and its devices.
--
-- KEYS
--   mailbox     ZSET, see src/keys.ts
--   log         LIST of entries, the oldest first, see src/log/entry.ts
--   uncounted   ZSET id -> id: expired messages
--   expiring    ZSET id -> expires at, ms
--   fetched     HASH device -> when it received last, ms
-- ARGV
--   tombstoneMs     ms until `uncounted` has outlived all entries
-- RETURNS
--   { 1 if more has expired than one call removes (else 0), epoch, last id, instant of the last message since the epoch,
--   bytes, entries stored, messages among them, the oldest message without its payload (or false), then for each device, the
--   slowest first: its name, its cursor, its unread messages, when it received last (or false) }
--   -1: there is no mailbox
local mailbox, log, uncounted, expiring, fetched = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local tombstoneMs = ARGV[1]

-- include mailbox.clean.part.lua

local scores = redis.call('ZRANGE', mailbox, '0', '-1', 'WITHSCORES')
if #scores == 0 then
  return -1
end
local head = {}
for index = 1, 8, 2 do
  head[scores[index]] = 0 - scores[index + 1]
end
local stored = redis.call('LLEN', log)
last = head['\0l']
base = last - stored

local hasUncounted = stored > 0 and redis.call('EXISTS', uncounted) == 1
local function countFrom(id)
  local count = last + 1 - id
  if count > 0 and hasUncounted then
    count = count - redis.call('ZCOUNT', uncounted, id, '+inf')
  end
  return count
end

local live, oldest, place = countFrom(base + 1), false, 0
while live > 0 and not oldest and place < stored do
  oldest = string.match(redis.call('LINDEX', log, place), '^%d+:%d+:') or false
  place = place + 1
end

local reply = {
  hasMore and 1 or 0, head['\0e'], last, head['\0t'], stored > 0 and head['\0b'] or 0, stored, live, oldest,
}
for index = 9, #scores, 2 do
  local device, cursor = scores[index], tonumber(scores[index + 1])
  local count = #reply
  reply[count + 1] = device
  reply[count + 2] = cursor
  reply[count + 3] = countFrom(math.max(cursor, base) + 1)
  reply[count + 4] = redis.call('HGET', fetched, device)
end
return reply
