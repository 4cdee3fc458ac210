#!lua flags=no-writes
-- The ends of the children of a parent, and its record, which has their addresses.
--
-- KEYS
--   flows        HASH, see flow.open.lua
--   tasks        HASH id -> record
-- ARGV
--   id           of the parent, as stored
--   from         index of the first child to return
--   hasRecord    1: return the record, without the payload
-- RETURNS
--   { index to continue from, or 0 at the end; number of children, or -1: the task has had none, or their ends were deleted; the
--   record, or '' without one; the stored end of a child, … }: ended children, in order
local flows, tasks = KEYS[1], KEYS[2]
local id, from, hasRecord = ARGV[1], tonumber(ARGV[2]), ARGV[3] == '1'
local PAGE = 100
local MOST_BYTES = 2097152

-- include task.record.part.lua
-- include task.compact.part.lua

local record = hasRecord and expandRecord(redis.call('HGET', tasks, id)) or ''
if record ~= '' then
  local _, payloadAt = nameOf(record)
  record = string.sub(record, 1, payloadAt - 1)
end
local head = redis.call('HGET', flows, id)
if not head then
  return { 0, -1, record }
end
local flow, count = string.sub(head, 9, 16), struct.unpack('>H', head, 17)
local reply, bytes = { 0, count, record }, 0
while from < count and bytes < MOST_BYTES do
  local fields = {}
  for index = from, math.min(count, from + PAGE) - 1 do
    fields[#fields + 1] = 'c' .. flow .. struct.pack('>H', index)
  end
  for _, kept in ipairs(redis.call('HMGET', flows, unpack(fields))) do
    from = from + 1
    if kept then
      reply[#reply + 1] = kept
      bytes = bytes + #kept
    end
    if bytes >= MOST_BYTES then
      break
    end
  end
end
if from < count then
  reply[1] = from
end
return reply
