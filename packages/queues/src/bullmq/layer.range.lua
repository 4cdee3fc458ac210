#!lua flags=no-writes
-- Counts or lists the jobs of the BullMQ layer in one state.
--
-- KEYS
--   settings          STRING, see src/shard/settings-text.ts
--   tasks             HASH id -> record
--   active            ZSET u32 token · id -> end of the lease, ms
--   succeeded         LIST ids
--   dead              ZSET id -> instant of death, ms
--   tombstones        HASH id -> priorities of its tombstones
--   layerWaiting      ZSET id of a parent -> since when it waits
--   priorityKeys...   three for each priority: ready LIST, scheduled ZSET, retrying ZSET
-- ARGV
--   expectedSettings  the settings that the caller expects
--   state             waiting, prioritized, delayed, active, completed, failed, waiting-children
--   first             index of the first job, the oldest first; - to count them
--   last              index of the last job; -1 for all
--   isAscending       1: the oldest first; 0: the newest first
-- RETURNS
--   the number of jobs, or their ids
--   error SETTINGS <stored>: other settings are stored
local settings, tasks, active, succeeded = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local dead, tombstones, layerWaiting = KEYS[5], KEYS[6], KEYS[7]
local expectedSettings, state, first, last, isAscending = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5] == '1'
local priorityKeys = { unpack(KEYS, 8) }
-- include shard.settings.part.lua
-- include task.rank.part.lua
local isCount = first == '-'
local afterRanks = string.format('(%.0f', RANKS_END)

-- A ready list without its tombstones.
local function listed(key, priority)
  local char = string.char(48 + priority)
  if isCount then
    return redis.call('LLEN', key) - (redis.call('HGET', tombstones, char) or 0)
  end
  local ids, kept = redis.call('LRANGE', key, 0, -1), {}
  local hasTombstones = redis.call('EXISTS', tombstones) == 1
  local left = {}
  for _, id in ipairs(ids) do
    local isVoid = false
    if hasTombstones then
      if not left[id] then
        local _, count = string.gsub(redis.call('HGET', tombstones, id) or '', char, '')
        left[id] = count
      end
      isVoid = left[id] > 0
      left[id] = left[id] - 1
    end
    if not isVoid then
      kept[#kept + 1] = id
    end
  end
  return kept
end

-- Of sorted sets, by score.
local function scored(keys, least, most)
  if isCount then
    local count = 0
    for _, key in ipairs(keys) do
      count = count + redis.call('ZCOUNT', key, least, most)
    end
    return count
  end
  local found = {}
  for _, key in ipairs(keys) do
    local range = redis.call('ZRANGE', key, least, most, 'BYSCORE', 'WITHSCORES')
    for i = 1, #range, 2 do
      found[#found + 1] = { range[i], tonumber(range[i + 1]), #found }
    end
  end
  table.sort(found, function(a, b)
    if a[2] == b[2] then
      return a[3] < b[3]
    end
    return a[2] < b[2]
  end)
  for i, one in ipairs(found) do
    found[i] = one[1]
  end
  return found
end

local parts
if state == 'waiting' then
  -- Those of lost leases are fetched before others.
  parts = { scored({ priorityKeys[3] }, '-inf', '+inf'), listed(priorityKeys[1], 0) }
elseif state == 'prioritized' then
  parts = { scored({ priorityKeys[6] }, '-inf', '+inf'), scored({ priorityKeys[5] }, '-inf', RANKS_END), listed(priorityKeys[4], 1) }
elseif state == 'delayed' then
  -- Also due ones, until a fetch places them.
  parts = { scored({ priorityKeys[2], priorityKeys[5] }, afterRanks, '+inf') }
elseif state == 'completed' then
  parts = { isCount and redis.call('LLEN', succeeded) or redis.call('LRANGE', succeeded, 0, -1) }
else
  local key = state == 'active' and active or state == 'failed' and dead or layerWaiting
  parts = { scored({ key }, '-inf', '+inf') }
end
if isCount then
  local count = 0
  for _, part in ipairs(parts) do
    count = count + part
  end
  return count
end
local ids = {}
for _, part in ipairs(parts) do
  for _, id in ipairs(part) do
    ids[#ids + 1] = state == 'active' and string.sub(id, 5) or id
  end
end
local begin, size = tonumber(first), #ids
if begin < 0 then
  begin = math.max(0, size + begin)
end
if last < 0 then
  last = size + last
end
local page = {}
for i = begin, math.min(last, size - 1) do
  page[#page + 1] = ids[isAscending and i + 1 or size - i]
end
return page
