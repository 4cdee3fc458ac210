#!lua
-- Adds a device with a cursor of its own to a mailbox. An existing device is not changed.
--
-- KEYS
--   mailbox      ZSET, see src/keys.ts
--   log          LIST of entries
--   uncounted    ZSET
--   ids          HASH
--   oldIds       HASH
--   expiring     ZSET
-- ARGV
--   device       as stored
--   at           newest or oldest
--   maxDevices   of one mailbox
--   headMs       ms until the numbering of an unused mailbox is forgotten
-- RETURNS
--   { 1 if the device is new (else 0), its cursor }; -1: there are maxDevices already
local mailbox, log, uncounted, ids, oldIds, expiring = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local device, at, maxDevices, headMs = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]

local head = redis.call('ZMSCORE', mailbox, '\0l', device)
if head[2] then
  return { 0, tonumber(head[2]) }
end
local cursor = 0
if head[1] then
  if redis.call('ZCARD', mailbox) - 4 >= maxDevices then
    return -1
  end
  cursor = 0 - head[1]
  if at == 'oldest' then
    cursor = cursor - redis.call('LLEN', log)
  end
  redis.call('ZADD', mailbox, cursor, device)
else
-- include server.now.part.lua
-- include mailbox.begin.part.lua
end
redis.call('PEXPIRE', mailbox, headMs)
return { 1, cursor }
