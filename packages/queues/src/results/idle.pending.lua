#!lua flags=no-writes
-- Finds a task that has not ended: ready, active, retrying, or waiting for its children. Prefers one that ends late, so that its
-- caller looks seldom. Scheduled tasks count when they are due.
--
-- KEYS
--   settings          STRING, see src/shard/settings-text.ts
--   attempts          HASH id -> last attempt; W waiting for its children
--   active            ZSET u32 token · id -> end of the lease, ms
--   tombstones        HASH id -> priorities of its tombstones; a priority -> their number
--   grouped           ZSET of waiting tasks with a group
--   flows             HASH; field w: number of parents that wait for their children
--   priorityKeys...   three for each priority: ready LIST, scheduled ZSET, retrying ZSET
-- ARGV
--   expectedSettings  the settings that the caller expects
--   priorityCount     number of priorities
-- RETURNS
--   the id; '' if there are such tasks, but none was found in bounded time; nil if there are none
--   error SETTINGS <stored>: other settings are stored
local settings, attempts, active, tombstones = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local grouped, flows = KEYS[5], KEYS[6]
local expectedSettings, priorityCount = ARGV[1], tonumber(ARGV[2])
local priorityKeys = { unpack(KEYS, 7) }
local TOKEN_BYTES = 4
-- Of a list or of the parents.
local MOST_LOOKED = 200

-- include shard.settings.part.lua

-- The last id of a ready list that has no tombstone; nil for a list of tombstones.
local function lastReady(priority)
  local key, char = priorityKeys[3 * priority + 1], string.char(48 + priority)
  local void = tonumber(redis.call('HGET', tombstones, char) or 0)
  if redis.call('LLEN', key) <= void then
    return nil
  end
  local ids = redis.call('LRANGE', key, void == 0 and -1 or -MOST_LOOKED, -1)
  for i = #ids, 1, -1 do
    if void == 0 or not string.find(redis.call('HGET', tombstones, ids[i]) or '', char, 1, true) then
      return ids[i]
    end
  end
  return ''
end

local function parent()
  local cursor, looked = '0', 0
  repeat
    local nextCursor, fields = unpack(redis.call('HSCAN', flows, cursor, 'COUNT', 50))
    for i = 1, #fields, 2 do
      if string.sub(redis.call('HGET', attempts, fields[i]) or '', 1, 1) == 'W' then
        return fields[i]
      end
    end
    cursor, looked = nextCursor, looked + #fields / 2
  until cursor == '0' or looked >= MOST_LOOKED
  return ''
end

local found
for priority = priorityCount - 1, 0, -1 do
  local _, scheduled, retrying = unpack(priorityKeys, 3 * priority + 1, 3 * priority + 3)
  found = found
    or redis.call('ZRANGE', retrying, '-1', '-1')[1]
    or lastReady(priority)
    or redis.call('ZRANGE', scheduled, now, '-inf', 'BYSCORE', 'REV', 'LIMIT', '0', '1')[1]
end
if not found then
  local entry = redis.call('ZRANGE', grouped, '-1', '-1')[1]
  found = entry and string.sub(entry, struct.unpack('>H', entry) + 12)
end
if not found then
  local member = redis.call('ZRANGE', active, '-1', '-1')[1]
  found = member and string.sub(member, TOKEN_BYTES + 1)
end
if not found and redis.call('HEXISTS', flows, 'w') == 1 then
  found = parent()
end
return found
