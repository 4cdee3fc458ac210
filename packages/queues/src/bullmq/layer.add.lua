#!lua
-- Adds a job of the BullMQ layer: at the front, by a numeric priority, delayed, as a parent that waits for its children, of a job scheduler, or
-- under a deduplication id. Other jobs are enqueued by queue.enqueue.lua.
--
-- KEYS
--   settings          STRING, see src/shard/settings-text.ts
--   tasks             HASH id -> record
--   attempts          HASH id -> last attempt; W of a waiting parent
--   idle              ZSET of idle workers
--   timekeeper        STRING
--   events            STREAM
--   layerWaiting      ZSET id of a parent -> since when it waits
--   layerDedup        HASH deduplication id -> "<until, ms; 0: until the end of the job> <id as stored>"
--   layerSchedulers   HASH id of a job scheduler -> definition, JSON
--   layerDue          ZSET id of a job scheduler -> its next instant
--   children          HASH key of a child -> p: not ended; # -> how many; @ -> place after their ends
--   priorityKeys...   three for each priority: ready LIST, scheduled ZSET, retrying ZSET
-- ARGV
--   expectedSettings  the settings that the caller expects
--   publish           PUBLISH or SPUBLISH
--   id                as stored
--   record            with the time of its enqueue
--   where             see layer.place.part.lua; with W before it: after the ends of the children
--   placed            the event of its place, JSON
--   duplicate         the event of a duplicate, JSON
--   dedup             '' or the deduplication id
--   dedupMs           ms until it may be used again, 0: until the job has ended
--   dedupRule         '' or extend: a refused job extends the time
--   scheduler         '' or the id of the job scheduler
--   seen              its next instant as the caller knows it, '' for none
--   next              its new next instant
--   definition        its new definition
--   childKeys...      keys of the children
-- RETURNS
--   1 stored; 0 the id was stored before; { id } the deduplication id belongs to that job; -1 the job scheduler has changed
--   error SETTINGS <stored>: other settings are stored; nothing is written
local settings, tasks, attempts, idle, timekeeper = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local events, layerWaiting, layerDedup, layerSchedulers = KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local layerDue, children = KEYS[10], KEYS[11]
local expectedSettings, publish, id, record = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local where, placed, duplicate = ARGV[5], ARGV[6], ARGV[7]
local dedup, dedupMs, dedupRule = ARGV[8], tonumber(ARGV[9]), ARGV[10]
local scheduler, seen, next, definition = ARGV[11], ARGV[12], ARGV[13], ARGV[14]
local childKeys = { unpack(ARGV, 15) }
local priorityKeys = { unpack(KEYS, 12) }

-- include shard.settings.part.lua
if not stored then
  redis.call('SET', settings, expectedSettings)
end
local keepEvents = tonumber(string.match(expectedSettings, ';events=(%d+)')) or 0
-- include task.wake.part.lua
-- include shard.time.part.lua
-- include task.record.part.lua
-- include task.events.part.lua
-- include task.compact.part.lua
-- include task.rank.part.lua
-- include layer.place.part.lua

if scheduler ~= '' and (redis.call('ZSCORE', layerDue, scheduler) or '') ~= seen then
  return -1
end
if redis.call('HEXISTS', tasks, id) == 1 then
  if scheduler == '' then
    recordEvent('B', id, duplicate)
    publishEvents()
  end
  return 0
end
if dedup ~= '' then
  local untilMs, holder = string.match(redis.call('HGET', layerDedup, dedup) or '', '^(%d+) (.*)$')
  local isHeld = untilMs and untilMs ~= '0' and tonumber(untilMs) > now
  if untilMs == '0' then
    local last = redis.call('HGET', attempts, holder) or compactEnd(holder)
    local state = string.sub(last or '', 1, 1)
    isHeld = last ~= nil and state ~= 'S' and state ~= 'D' and state ~= 'C'
  end
  if isHeld then
    if dedupRule == 'extend' and dedupMs > 0 then
      redis.call('HSET', layerDedup, dedup, string.format('%.0f', now + dedupMs) .. ' ' .. holder)
    end
    return { holder }
  end
  redis.call('HSET', layerDedup, dedup, string.format('%.0f', dedupMs > 0 and now + dedupMs or 0) .. ' ' .. id)
end
if scheduler ~= '' then
  redis.call('HSET', layerSchedulers, scheduler, definition)
  redis.call('ZADD', layerDue, next, scheduler)
end
redis.call('HSET', tasks, id, record)
recordEvent('B', id, placed)
recordEvent('E', id, record)
local isWaiting = string.sub(where, 1, 1) == 'W'
local at
if isWaiting then
  redis.call('HSET', attempts, id, 'W' .. struct.pack('>dH', now, 0))
  redis.call('ZADD', layerWaiting, now, id)
  redis.call('HSET', children, '#', #childKeys, '@', string.sub(where, 2))
  for _, key in ipairs(childKeys) do
    redis.call('HSET', children, key, 'p')
  end
else
  at = place(id, where)
end
publishEvents()
if at and at > now then
  callAt(at)
elseif not isWaiting then
  wake(1)
end
return 1
