#!lua
-- Stores tasks with children, which wait until these have ended. The children are stored beside them and in the outbox
-- until they are in their own queues, so a flow exists with all its tasks or not at all. A stored id is left alone.
--
-- KEYS
--   settings          STRING, see src/shard/settings-text.ts
--   tasks             HASH id -> record
--   attempts          HASH id -> W, f64 instant, u16 0
--   events            STREAM
--   flows             HASH id of a parent -> f64 when it may run (see record.ts), 8 bytes flow, u16 children, u16 children that
--                     have not ended, u8 policy (1: dead when a child fails, 0: runs anyway), u8 waiting; c, flow, u16 index of a
--                     child -> its end; e, flow, u16 index -> the child to enqueue; w -> number of waiting parents
--   outbox            HASH l -> f64 end of the sender's lease, then the sender; p -> f64 time until which nothing is due;
--                     e, flow -> children to enqueue: f64 when due, u16 children, u16 how many of them were walked through, u8 walks
--                     that left some, f64 since when; n, f64 instant, id -> an ended child; g, flow -> u16 children whose fields
--                     in flows are to be deleted
--   dedupIds          ZSET id -> until when it is refused
-- ARGV
--   expectedSettings  the settings that the caller expects
--   publish           PUBLISH or SPUBLISH
--   graceMs           time for the caller to store the children, before workers do
--   parents...        for each: id, record, flow, policy; number of tasks of its flow in this shard, 1 if they were checked before;
--                     number of their ids that must not be taken, and these ids; number of children, and each child as encoded
--                     by flow-node.ts
-- RETURNS
--   { outcomes, id, … }: a character for each parent: 1 stored, 0 was stored before, C was stored before with another name or
--   payload, F this shard has no room for its part of the flow, T an id is taken, which follows
--   error SETTINGS <stored>: other settings are stored; ;: none, the queue was removed. Nothing is written
local settings, tasks, attempts, events = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local flows, outbox, dedupIds = KEYS[5], KEYS[6], KEYS[7]
local expectedSettings, publish, graceMs = ARGV[1], ARGV[2], tonumber(ARGV[3])

-- include shard.settings.part.lua
if not stored then
  -- The caller has seen settings. The queue was removed.
  return redis.error_reply('SETTINGS ;')
end
local keepEvents = tonumber(string.match(expectedSettings, ';events=(%d+)')) or 0
-- include shard.room.part.lua
local room = mostTasks(expectedSettings) - redis.call('HLEN', tasks)

-- include task.record.part.lua
-- include task.events.part.lua
-- include task.content.part.lua
-- include task.compact.part.lua

-- The children are the `count` arguments starting at `first`.
local function open(id, record, flow, policy, first, count)
  local mark = 'W' .. struct.pack('>dH', now, 0)
  redis.call('HSET', attempts, id, mark)
  local head = string.sub(record, 4, 11) .. flow .. struct.pack('>HHBB', count, count, policy, 1)
  redis.call('HSET', flows, id, head)
  redis.call('HINCRBY', flows, 'w', 1)
  for index = 0, count - 1 do
    redis.call('HSET', flows, 'e' .. flow .. struct.pack('>H', index), ARGV[first + index])
  end
  redis.call('HSET', outbox, 'e' .. flow, struct.pack('>dHHBd', now + graceMs, count, 0, 0, 0))
  recordEvent('E', id, record)
  recordEvent('W', id, mark)
end

-- Returns the first of the `count` ids starting at argument `first` that is stored or still refused.
local function firstTaken(first, count)
  for i = first, first + count - 1 do
    if redis.call('HEXISTS', tasks, ARGV[i]) == 1 then
      return ARGV[i]
    end
    local refusedUntil = redis.call('ZSCORE', dedupIds, ARGV[i])
    if refusedUntil and tonumber(refusedUntil) > now then
      return ARGV[i]
    end
  end
  return nil
end

local outcomes, reply, at = {}, { '' }, 4
while at <= #ARGV do
  local id, record, flow, policy = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  local size, given = tonumber(ARGV[at + 4]), tonumber(ARGV[at + 5])
  local first = at + 7 + given
  local count = tonumber(ARGV[first - 1])
  local stored, outcome = redis.call('HGET', tasks, id), '1'
  local taken = not stored and firstTaken(at + 6, given)
  if stored then
    outcome = contentOf((expandRecord(stored))) == contentOf(record) and '0' or 'C'
  elseif taken then
    outcome = 'T'
    reply[#reply + 1] = taken
  elseif room < size then
    outcome = 'F'
  else
    redis.call('HSET', tasks, id, string.sub(record, 1, 3) .. struct.pack('>d', now) .. string.sub(record, 12))
    -- Children are stored by later calls.
    room = room - size
    open(id, record, flow, tonumber(policy), first, count)
  end
  outcomes[#outcomes + 1] = outcome
  at = first + count
end
publishEvents()
reply[1] = table.concat(outcomes)
return reply
