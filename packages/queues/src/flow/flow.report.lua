#!lua flags=allow-oom
-- Reports ended children to their parents, each once. A parent whose children have all ended is due. A parent that lost a
-- needed child is dead.
--
-- KEYS
--   settings          STRING, see src/shard/settings-text.ts
--   tasks             HASH id -> record
--   attempts          HASH id -> last attempt; W waiting for its children
--   dead              ZSET id -> instant of death, ms
--   idle              ZSET "<lease, ms> <settings> <channel>" of an idle worker -> idle until, ms
--   awaited           ZSET id -> until when a process waits for its end
--   events            STREAM
--   flows             HASH, see flow.open.lua
--   outbox            HASH, see flow.open.lua
--   priorityKeys...   three for each priority: ready LIST, scheduled ZSET, retrying ZSET
-- ARGV
--   expectedSettings  the settings that the caller expects
--   publish           PUBLISH or SPUBLISH
--   priorityCount     number of priorities
--   reports...        five for each, 200 at most: id of the parent; 8 bytes flow, u16 index of the child; final state of the child:
--                     S, D, C, X removed; the reason if the parent is dead without it; the stored end: f64 instant, …
-- RETURNS
--   number of new reports
--   error SETTINGS <stored>: other settings are stored; nothing is written
local settings, tasks, attempts, dead, idle = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local awaited, events, flows, outbox = KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local expectedSettings, publish, priorityCount = ARGV[1], ARGV[2], tonumber(ARGV[3])
local reports = { unpack(ARGV, 4) }
local usesOptional = true
local PRIORITIES = 16
local scheduled = {}
for priority = 0, priorityCount - 1 do
  scheduled[priority] = KEYS[11 + 3 * priority]
end

-- include shard.settings.part.lua
local keepEvents = tonumber(string.match(expectedSettings, ';events=(%d+)')) or 0

-- include task.wake.part.lua
-- include task.record.part.lua
-- include task.events.part.lua
-- include task.ended.part.lua

local news, released = 0, 0

-- Workers of this queue apply the retention of dead tasks with their next call.
local function bury(id, record, reason)
  local last = 'D' .. struct.pack('>dH', now, 0) .. reason
  redis.call('HSET', attempts, id, last)
  redis.call('ZADD', dead, now, id)
  recordEnd(id, string.byte(record), last)
  recordEvent('D', id, last)
end

-- Makes a parent due at once or at its own time. Due tasks go before the ready tasks of their priority.
local function release(id, record, head)
  local at = struct.unpack('>d', head)
  if at < 0 then
    at = now - at
  end
  redis.call('HDEL', attempts, id)
  redis.call('ZADD', scheduled[string.byte(record) % PRIORITIES], math.max(at, now), id)
  redis.call('HSET', flows, id, string.sub(head, 1, 21) .. '\0')
  if redis.call('HINCRBY', flows, 'w', -1) == 0 then
    redis.call('HDEL', flows, 'w')
  end
  recordEvent('Y', id, '')
  released = released + 1
end

local function report(id, child, state, reason, kept)
  local head = redis.call('HGET', flows, id)
  if not head or string.sub(head, 9, 16) ~= string.sub(child, 1, 8) then
    return
  end
  -- The child is stored, by any process.
  redis.call('HDEL', flows, 'e' .. child)
  if redis.call('HSETNX', flows, 'c' .. child, kept) == 0 then
    -- A repeated report, or the end of a later run.
    if struct.unpack('>d', kept) > struct.unpack('>d', redis.call('HGET', flows, 'c' .. child)) then
      redis.call('HSET', flows, 'c' .. child, kept)
    end
    return
  end
  news = news + 1
  local pending, policy, isWaiting = struct.unpack('>HBB', head, 19)
  head = string.sub(head, 1, 18) .. struct.pack('>H', pending - 1) .. string.sub(head, 21)
  redis.call('HSET', flows, id, head)
  local record = isWaiting == 1 and redis.call('HGET', tasks, id)
  if not record then
    return
  end
  if state ~= 'S' and policy == 1 then
    bury(id, record, reason)
  elseif pending == 1 then
    release(id, record, head)
  end
end

for i = 1, #reports, 5 do
  report(unpack(reports, i, i + 4))
end
publishEnds()
publishEvents()
if released > 0 or #parentNotices > 0 then
  -- A dead parent may have a parent of its own, which needs a notice.
  wake(math.max(1, math.min(released, 4)))
end
return news
