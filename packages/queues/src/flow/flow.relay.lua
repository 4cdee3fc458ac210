#!lua flags=allow-oom
-- One step of who sends what the outbox of a shard holds: removes what was sent, and hands out what is to be sent next.
-- One at a time does so, as long as it goes on; when nothing is due it lets go, in the same step, so that whoever puts
-- something in after that finds nobody sending. Also removes, a part with each call, what is kept of the children of
-- parents that are gone.
--
-- KEYS
--   flows        HASH, see flow.open.lua
--   outbox       HASH, see flow.open.lua
-- ARGV
--   sender       who sends
--   leaseMs      for how long it is the only one
--   pauseMs      0; after a failure: lets go, and nobody sends for so long
--   sent...      fields of what was sent, 1,000 at most: n… of the outbox, e… of flows
-- RETURNS
--   { state, kind, key, value, … }: 0 another one sends, 1 it goes on, 2 nothing is left that is due. Three for each: n, the
--   field, a child that has ended; or e, the field, what is to become a child
local flows, outbox = KEYS[1], KEYS[2]
local sender, leaseMs, pauseMs = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
-- How much of the outbox is looked at, and how much of it is handed out, and removed.
local MOST_FIELDS = 200
local MOST_ITEMS = 200
local MOST_BYTES = 2097152
local MOST_REMOVED = 500
local MOST_LOOKED = 2000
local PAUSE_MS = 1000

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local sent = { n = {}, e = {} }
for i = 4, #ARGV do
  local fields = sent[string.sub(ARGV[i], 1, 1)]
  fields[#fields + 1] = ARGV[i]
end
if #sent.n > 0 then
  redis.call('HDEL', outbox, unpack(sent.n))
end
if #sent.e > 0 then
  redis.call('HDEL', flows, unpack(sent.e))
end

local lease = redis.call('HGET', outbox, 'l')
if lease and struct.unpack('>d', lease) > now and string.sub(lease, 9) ~= sender then
  return { 0 }
end

local function letGo(ms)
  redis.call('HDEL', outbox, 'l')
  if ms > 0 and redis.call('EXISTS', outbox) == 1 then
    redis.call('HSET', outbox, 'p', struct.pack('>d', now + ms))
  end
end

if pauseMs > 0 then
  letGo(pauseMs)
  return { 2 }
end

redis.call('HDEL', outbox, 'p')
local reply, items, bytes, looked, removed, nextAt = { 1 }, 0, 0, 0, 0, math.huge
local function isFull()
  return items >= MOST_ITEMS or bytes >= MOST_BYTES or looked >= MOST_LOOKED
end

local function hand(kind, field, value)
  local at = #reply
  reply[at + 1], reply[at + 2], reply[at + 3] = kind, field, value
  items = items + 1
  bytes = bytes + #value
end

-- What is left of the children of a flow; none: all are stored.
local function handChildren(field)
  local dueAt, count = struct.unpack('>dH', redis.call('HGET', outbox, field))
  if dueAt > now then
    nextAt = math.min(nextAt, dueAt)
    return
  end
  local isDone = true
  for index = 0, count - 1 do
    if isFull() then
      return
    end
    local child = field .. struct.pack('>H', index)
    local value = redis.call('HGET', flows, child)
    looked = looked + 1
    if value then
      isDone = false
      hand('e', child, value)
    end
  end
  if isDone then
    redis.call('HDEL', outbox, field)
  end
end

-- From the last child on, so that what is still to be removed is a number.
local function removeChildren(field)
  local count = struct.unpack('>H', redis.call('HGET', outbox, field))
  local from = math.max(0, count - math.floor((MOST_REMOVED - removed) / 2))
  local flow, fields = string.sub(field, 2), {}
  for index = from, count - 1 do
    local child = flow .. struct.pack('>H', index)
    fields[#fields + 1] = 'c' .. child
    fields[#fields + 1] = 'e' .. child
  end
  if #fields > 0 then
    redis.call('HDEL', flows, unpack(fields))
    removed = removed + #fields
  end
  if from == 0 then
    redis.call('HDEL', outbox, field)
  else
    redis.call('HSET', outbox, field, struct.pack('>H', from))
  end
end

-- Any of them: each that is sent makes room for others.
for _, field in ipairs(redis.call('HRANDFIELD', outbox, MOST_FIELDS)) do
  local kind = string.sub(field, 1, 1)
  if kind == 'g' and removed < MOST_REMOVED then
    removeChildren(field)
  elseif kind == 'e' and not isFull() then
    handChildren(field)
  elseif kind == 'n' and not isFull() then
    hand('n', field, redis.call('HGET', outbox, field))
  end
end

local left = redis.call('HLEN', outbox) - redis.call('HEXISTS', outbox, 'l')
if items > 0 or (removed > 0 or looked > 0) and left > 0 then
  redis.call('HSET', outbox, 'l', struct.pack('>d', now + leaseMs) .. sender)
  return reply
end
letGo(left > 0 and math.min(PAUSE_MS, nextAt - now) or 0)
return { 2 }
