#!lua flags=allow-oom
-- Removes the notes of children that were stored, and the flow from the outbox when none is left. A failover may have lost a
-- child of this shard since its caller stored it: its note stays, and a worker stores the child again.
--
-- KEYS
--   tasks        HASH id -> record
--   flows        HASH, see flow.open.lua
--   outbox       HASH, see flow.open.lua
-- ARGV
--   flow         8 bytes
--   count        number of children of the flow
--   stored...    two for each stored child: its index; its id, as stored, if it lies in this shard, else ''
-- RETURNS
--   nothing
local tasks, flows, outbox = KEYS[1], KEYS[2], KEYS[3]
local flow, count = ARGV[1], tonumber(ARGV[2])

local fields = {}
for i = 3, #ARGV, 2 do
  local id = ARGV[i + 1]
  if id == '' or redis.call('HEXISTS', tasks, id) == 1 then
    fields[#fields + 1] = 'e' .. flow .. struct.pack('>H', ARGV[i])
  end
end
if #fields > 0 then
  redis.call('HDEL', flows, unpack(fields))
end
if #fields == count then
  redis.call('HDEL', outbox, 'e' .. flow)
end
