#!lua
-- Changes the options or the data of a stored job of the BullMQ layer.
--
-- KEYS
--   tasks             HASH id -> record
--   attempts          HASH id -> last attempt
-- ARGV
--   id                as stored
--   seen              the extras that the caller has read; * for any
--   extras            the new extras, JSON; * leaves them
--   payload           the new payload, JSON; '' leaves it
-- RETURNS
--   1 changed; 0 unknown; -1 it has other extras
local tasks, attempts = KEYS[1], KEYS[2]
local id, seen, extras, payload = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
-- include task.record.part.lua
-- include task.compact.part.lua
local stored, before = redis.call('HGET', tasks, id), redis.call('HGET', attempts, id)
if not stored then
  return 0
end
local record, last = expandRecord(stored, before)
local _, payloadAt, extrasAt = nameOf(record)
local old = string.sub(record, extrasAt, payloadAt - 1)
if seen ~= '*' and old ~= seen then
  return -1
end
if extras == '*' then
  extras = old
end
if payload == '' then
  payload = string.sub(record, payloadAt)
end
redis.call('HSET', tasks, id, string.sub(record, 1, extrasAt - 3) .. struct.pack('>H', #extras) .. extras .. payload)
if last and not before then
  redis.call('HSET', attempts, id, last)
end
return 1
