#!lua
-- Appends messages to a mailbox, each with the next id, unless their sender's id is known; drops the oldest messages
-- while there are more, or older ones, than the mailbox may keep; wakes receivers when the mailbox was empty.
--
-- KEYS
--   mailbox       HASH last, bytes, sentAt, acked, epoch, idsSince; until it is forgotten (headMs after the last send)
--   messages      LIST of `<id>:<offset>:<sentAt>:<payload>`, ids dense; until acked, dropped or retentionMs after the last send
--   ids           HASH sender's id -> id, the present generation; until dedupMs after the last send
--   oldIds        HASH, the generation before it; likewise
--   wake          channel of the receivers that wait; not a key
-- ARGV
--   retentionMs   ms until a message may be dropped
--   headMs        ms until the numbering of a mailbox that gets nothing is forgotten
--   dedupMs       ms that a sender's id is remembered at least
--   maxIds        ids in one generation
--   maxMessages   messages that are kept
--   maxBytes      bytes of all entries that are kept
--   publish       PUBLISH or SPUBLISH
--   outgoing...   for each message: the sender's id, then the payload
-- RETURNS
--   four integers for each message: its id, 1 if it was there before (else 0), and the first and the last id
--   that were dropped for it (0 and 0: none)
local mailbox, messages, ids, oldIds, wake = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local retentionMs, headMs, dedupMs = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])
local maxIds, maxMessages, maxBytes = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local publish = ARGV[7]

-- Ends even if an option was lowered by much; what is still too much goes with the next sends.
local MAX_DROPS = 1000

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local head = redis.call('HMGET', mailbox, 'last', 'bytes', 'sentAt', 'idsSince')
local last, bytes = tonumber(head[1] or 0), tonumber(head[2] or 0)
-- The clock of a new master may be behind; ages must not run backwards along the list.
local sentAt = math.max(now, tonumber(head[3] or 0))
local idsSince = tonumber(head[4] or now)
if not head[1] then
  -- Parts of a mailbox whose numbering is gone (evicted, deleted by hand) would mix with new ids.
  redis.call('UNLINK', messages, ids, oldIds)
  redis.call('HSET', mailbox, 'epoch', string.format('%.0f', now))
end
if now - idsSince >= dedupMs or redis.call('HLEN', ids) >= maxIds then
  -- RENAME would free a large HASH at once.
  redis.call('UNLINK', oldIds)
  if redis.call('EXISTS', ids) == 1 then
    redis.call('RENAME', ids, oldIds)
  end
  idsSince = now
end

local stored = redis.call('LLEN', messages)
local wasEmpty = stored == 0

-- The oldest message: its offset and its time.
local function oldest()
  local offset, at = string.match(redis.call('LINDEX', messages, 0), '^%d+:(%d+):(%d+):')
  return tonumber(offset), tonumber(at)
end

local firstOffset, firstAt = bytes, sentAt
if not wasEmpty then
  firstOffset, firstAt = oldest()
end

local replies = {}
for index = 8, #ARGV, 2 do
  local id = ARGV[index]
  local known = redis.call('HGET', ids, id) or redis.call('HGET', oldIds, id)
  local droppedFrom, droppedTo = 0, 0
  if not known then
    last = last + 1
    local entry = string.format('%.0f:%.0f:%.0f:', last, bytes, sentAt) .. ARGV[index + 1]
    stored = redis.call('RPUSH', messages, entry)
    bytes = bytes + #entry
    redis.call('HSET', ids, id, string.format('%.0f', last))
    for _ = 1, MAX_DROPS do
      local isOver = stored > maxMessages or bytes - firstOffset > maxBytes or firstAt <= now - retentionMs
      if stored == 1 or not isOver then
        break
      end
      redis.call('LPOP', messages)
      stored = stored - 1
      droppedTo = last - stored
      droppedFrom = droppedFrom > 0 and droppedFrom or droppedTo
      firstOffset, firstAt = oldest()
    end
  end
  local count = #replies
  replies[count + 1] = known and tonumber(known) or last
  replies[count + 2] = known and 1 or 0
  replies[count + 3] = droppedFrom
  replies[count + 4] = droppedTo
end

redis.call(
  'HSET', mailbox,
  'last', string.format('%.0f', last),
  'bytes', string.format('%.0f', bytes),
  'sentAt', string.format('%.0f', sentAt),
  'idsSince', string.format('%.0f', idsSince)
)
redis.call('PEXPIRE', mailbox, headMs)
redis.call('PEXPIRE', messages, retentionMs)
redis.call('PEXPIRE', ids, dedupMs)
if wasEmpty and stored > 0 then
  redis.call(publish, wake, '*:')
end
return replies
