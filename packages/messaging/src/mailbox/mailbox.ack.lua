#!lua flags=allow-oom
-- Moves the cursors of devices forward, and frees the messages that all devices have acked.
--
-- KEYS
--   mailbox     ZSET, see src/keys.ts
--   log         LIST of entries, the oldest first, see src/log/entry.ts
--   uncounted   ZSET id -> id: expired messages
--   expiring    ZSET id -> expires at, ms
-- ARGV
--   tombstoneMs     ms until `uncounted` has outlived all entries
--   acks...     for each: the device, then the last id that it acks, or 'all' for the newest one
-- RETURNS
--   the newest id; then for each ack the number of messages that it acked; -1: there is no mailbox; -2: it has no such device;
--   -3: the id is above the newest
local mailbox, log, uncounted, expiring = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local tombstoneMs = ARGV[1]

-- include mailbox.sweep.part.lua

local devices, replies = {}, { 0 }
for index = 2, #ARGV, 2 do
  devices[#devices + 1] = ARGV[index]
end
local scores = redis.call('ZMSCORE', mailbox, '\0l', unpack(devices))
if not scores[1] then
  for i = 1, #devices do
    replies[i + 1] = -1
  end
  return replies
end
last = 0 - scores[1]
base = last - redis.call('LLEN', log)
replies[1] = last

local moved, written = {}, {}
for i = 1, #devices do
  local device, upTo = devices[i], ARGV[2 * i + 1]
  local cursor = moved[device] or tonumber(scores[i + 1])
  upTo = upTo == 'all' and last or tonumber(upTo)
  local count = 0
  if not cursor then
    count = -2
  elseif upTo > last then
    count = -3
  elseif upTo > cursor then
    local from = math.max(cursor, base) + 1
    if upTo >= from then
      count = upTo + 1 - from - redis.call('ZCOUNT', uncounted, from, upTo)
    end
    moved[device] = upTo
    written[#written + 1], written[#written + 2] = upTo, device
  end
  replies[i + 1] = count
end
if #written > 0 then
  redis.call('ZADD', mailbox, 'XX', 'GT', unpack(written))
end
if #written > 0 or hasTombstones then
-- include mailbox.free.part.lua
end
return replies
