#!lua flags=allow-oom
-- One step of the delivery of an outbox: removes delivered entries, and returns the next ones. One sender at a time has the
-- lease. When nothing is due the step releases the lease, so that a later entry is seen to have no sender. Each step also
-- deletes some of the fields of deleted parents.
--
-- Steps go through the outbox with a cursor, so an entry that cannot be delivered delays no other; a round returns each
-- notice once. A round also walks through some children of each flow. A flow whose walk left children that could not be
-- stored is due again after a delay, which doubles.
--
-- A failover may lose what the sender has delivered within this shard. So the step first looks for each such delivery, and keeps
-- the entry of one that is gone.
--
-- KEYS
--   tasks        HASH id -> record
--   flows        HASH, see flow.open.lua
--   outbox       HASH, see flow.open.lua
-- ARGV
--   sender       the sender
--   leaseMs      the lease of the sender, ms
--   cursor       continues a round; 0: a new round
--   handed       entries that this round has returned so far
--   pauseMs      above 0: release the lease; nothing is due for this time unless a new entry comes
--   sent...      three for each delivered entry, 1,000 entries at most: its field, n… of the outbox or e… of flows; for a delivery within
--                this shard, the id of the child, or of the parent that got a report; and of that parent 8 bytes flow, u16 index of
--                the child. Else '' and ''
-- RETURNS
--   { state }: 0 another sender has the lease, 2 nothing is due, or the lease was released
--   { 1, cursor, kind, field, value, … }: continue at the cursor; 0: the round is over. Three values for each entry: n, the field, an
--   ended child; e, the field, a child to enqueue; f as e, of a flow that was tried for RETRY_FOR_MS
local tasks, flows, outbox = KEYS[1], KEYS[2], KEYS[3]
local sender, leaseMs, cursor = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local handed, pauseMs = tonumber(ARGV[4]), tonumber(ARGV[5])
-- Bounds of one step: notices and children, bytes of each, and deleted fields.
local PIECE = 20
local MOST_NOTICES = 200
local MOST_CHILDREN = 200
local MOST_BYTES = 1048576
local MOST_REMOVED = 500
local MOST_LOOKED = 2000
local PAUSE_MS = 1000
-- The delay of a flow whose children could not be stored.
local LEAST_OFF_MS, MOST_OFF_MS = 1000, 8000
-- A queue that has refused a child for this time never accepts it.
local RETRY_FOR_MS = 60000

-- include server.time.part.lua
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function isGone(kind, id, child)
  if id == '' then
    return false
  elseif kind == 'e' then
    return redis.call('HEXISTS', tasks, id) == 0
  end
  local head = redis.call('HGET', flows, id)
  local isWaiting = head and string.sub(head, 9, 16) == string.sub(child, 1, 8)
  return isWaiting and redis.call('HEXISTS', flows, 'c' .. child) == 0
end

local sent = { n = {}, e = {} }
for i = 6, #ARGV, 3 do
  local kind = string.sub(ARGV[i], 1, 1)
  if not isGone(kind, ARGV[i + 1], ARGV[i + 2]) then
    local fields = sent[kind]
    fields[#fields + 1] = ARGV[i]
  end
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

-- p is 0 during a round; a new entry deletes it.
local isNew = cursor ~= '0' and redis.call('HEXISTS', outbox, 'p') == 0
local function releaseLease(ms)
  redis.call('HDEL', outbox, 'l', 'p')
  if ms > 0 and not isNew and redis.call('EXISTS', outbox) == 1 then
    redis.call('HSET', outbox, 'p', struct.pack('>d', now + ms))
  end
end

if pauseMs > 0 then
  isNew = redis.call('HEXISTS', outbox, 'p') == 0
  releaseLease(pauseMs)
  return { 2 }
end
if cursor == '0' then
  redis.call('HSET', outbox, 'p', struct.pack('>d', 0))
end

local notices, children, noticeBytes, childBytes = 0, 0, 0, 0
local looked, removed, nextAt, reply = 0, 0, math.huge, { 1, '0' }

local function returnEntry(kind, field, value)
  local at = #reply
  reply[at + 1], reply[at + 2], reply[at + 3] = kind, field, value
end

local function isFull()
  return children >= MOST_CHILDREN or childBytes >= MOST_BYTES or looked >= MOST_LOOKED
end

-- Whether any of these children is not stored yet.
local function hasUnstored(field, count)
  for index = 0, count - 1 do
    looked = looked + 1
    if redis.call('HEXISTS', flows, field .. struct.pack('>H', index)) == 1 then
      return true
    end
  end
  return false
end

local function returnChildren(field)
  local value = redis.call('HGET', outbox, field)
  if not value then
    return
  end
  local dueAt, count, from, tries, since = struct.unpack('>dHHBd', value)
  if dueAt > now then
    nextAt = math.min(nextAt, dueAt)
    return
  end
  local isWhole, isNone = from == 0, true
  if from < count then
    local kind = since > 0 and now - since >= RETRY_FOR_MS and 'f' or 'e'
    while from < count and not isFull() do
      local child = field .. struct.pack('>H', from)
      local bytes = redis.call('HGET', flows, child)
      looked, from = looked + 1, from + 1
      if bytes then
        returnEntry(kind, child, bytes)
        isNone, children, childBytes = false, children + 1, childBytes + #bytes
      end
    end
    if isWhole and isNone and from == count then
      redis.call('HDEL', outbox, field)
      return
    end
  elseif hasUnstored(field, count) then
    local offMs = math.min(MOST_OFF_MS, LEAST_OFF_MS * 2 ^ tries)
    dueAt, from, tries, since = now + offMs, 0, math.min(tries + 1, 20), since > 0 and since or now
    nextAt = math.min(nextAt, dueAt)
  else
    redis.call('HDEL', outbox, field)
    return
  end
  redis.call('HSET', outbox, field, struct.pack('>dHHBd', dueAt, count, from, tries, since))
end

-- Backwards, so that one number is the count of remaining deletions.
local function removeChildren(field)
  local value = redis.call('HGET', outbox, field)
  if not value then
    return
  end
  local count = struct.unpack('>H', value)
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

-- Collects all flows of the piece before it reads any, so none is skipped.
local parents, garbage = {}, {}
repeat
  local next, piece = unpack(redis.call('HSCAN', outbox, cursor, 'COUNT', PIECE))
  cursor = next
  for i = 1, #piece, 2 do
    local field, value = piece[i], piece[i + 1]
    local kind = string.sub(field, 1, 1)
    if kind == 'n' then
      returnEntry('n', field, value)
      notices, noticeBytes = notices + 1, noticeBytes + #value
    elseif kind == 'e' then
      parents[#parents + 1] = field
    elseif kind == 'g' then
      garbage[#garbage + 1] = field
    end
  end
until cursor == '0' or notices + #parents + #garbage >= MOST_NOTICES or noticeBytes >= MOST_BYTES
reply[2] = cursor
-- Begins at another flow each time.
for i = 1, #parents do
  if isFull() then
    break
  end
  returnChildren(parents[(i + time[2]) % #parents + 1])
end
for _, field in ipairs(garbage) do
  if removed < MOST_REMOVED then
    removeChildren(field)
  end
end

local left = redis.call('HLEN', outbox) - redis.call('HEXISTS', outbox, 'l') - redis.call('HEXISTS', outbox, 'p')
local hasDone = notices + children > 0 or (removed > 0 or looked > 0) and left > 0
if cursor ~= '0' or handed > 0 or isNew or hasDone then
  redis.call('HSET', outbox, 'l', struct.pack('>d', now + leaseMs) .. sender)
  return reply
end
releaseLease(left > 0 and math.min(PAUSE_MS, nextAt - now) or 0)
return { 2 }
