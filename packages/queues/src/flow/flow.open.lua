#!lua
-- Stores tasks that have children: they wait until these have ended. What is to become the children stands beside them, and
-- the outbox says so, until they are stored where they belong; so a flow is there with all its tasks or not at all. An id
-- that is already stored is left alone.
--
-- KEYS
--   settings     STRING, see src/shard/settings-text.ts
--   tasks        HASH id -> record
--   attempts     HASH id -> W, f64 instant, u16 0
--   events       STREAM
--   flows        HASH id of a parent -> f64 when it may run (see record.ts), 8 bytes flow, u16 children, u16 still to end, u8 policy
--                (1: dead when a child fails, 0: runs all the same), u8 waiting; c, flow, u16 index of a child -> how it ended;
--                e, flow, u16 index -> what is to become the child; w -> how many parents wait
--   outbox       HASH l -> f64 until when somebody sends, then who; p -> f64 until when nothing is due; e, flow -> f64 when due,
--                u16 children: they are to be enqueued; n, f64 instant, id -> a child that has ended; g, flow -> u16 children:
--                their fields in flows are to be removed
-- ARGV
--   believed     the settings that the caller believes to be stored
--   publish      PUBLISH or SPUBLISH
--   graceMs      how long the caller has for storing the children itself, before others do
--   parents...   for each: id, record, flow, policy, how many children, then each child as flow-node.ts has it
-- RETURNS
--   a string with one character a parent: 1 stored, 0 was there already, C is there with another name or payload, F the queue
--   is full
--   error SETTINGS <stored>: something else is stored; nothing is written
local settings, tasks, attempts, events, flows, outbox = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local believed, publish, graceMs = ARGV[1], ARGV[2], tonumber(ARGV[3])
local MAX_TASKS = 10000000

local stored = redis.call('GET', settings)
if stored and stored ~= believed then
  return redis.error_reply('SETTINGS ' .. stored)
end
if not stored then
  redis.call('SET', settings, believed)
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local keepEvents = tonumber(string.match(believed, ';events=(%d+)')) or 0
local room = (tonumber(string.match(believed, ';max=(%d+)')) or MAX_TASKS) - redis.call('HLEN', tasks)

-- include task.events.part.lua
-- include task.essence.part.lua
-- include task.seal.part.lua

-- The children are the `count` arguments from `first` on.
local function open(id, record, flow, policy, first, count)
  local mark = 'W' .. struct.pack('>dH', now, 0)
  redis.call('HSET', attempts, id, mark)
  local head = string.sub(record, 4, 11) .. flow .. struct.pack('>HHBB', count, count, policy, 1)
  redis.call('HSET', flows, id, head)
  redis.call('HINCRBY', flows, 'w', 1)
  for index = 0, count - 1 do
    redis.call('HSET', flows, 'e' .. flow .. struct.pack('>H', index), ARGV[first + index])
  end
  redis.call('HSET', outbox, 'e' .. flow, struct.pack('>dH', now + graceMs, count))
  happen('E', id, record)
  happen('W', id, mark)
end

local replies, at = {}, 4
while at <= #ARGV do
  local id, record, flow, policy, count = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], tonumber(ARGV[at + 4])
  local kept = string.sub(record, 1, 3) .. struct.pack('>d', now) .. string.sub(record, 12)
  if room <= 0 and redis.call('HEXISTS', tasks, id) == 0 then
    replies[#replies + 1] = 'F'
  elseif redis.call('HSETNX', tasks, id, kept) == 0 then
    replies[#replies + 1] = essence((unseal(redis.call('HGET', tasks, id)))) == essence(record) and '0' or 'C'
  else
    replies[#replies + 1] = '1'
    room = room - 1
    open(id, record, flow, tonumber(policy), at + 5, count)
  end
  at = at + 5 + count
end
tellEvents()
return table.concat(replies)
