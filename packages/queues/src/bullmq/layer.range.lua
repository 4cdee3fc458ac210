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
local due = string.format('%.3f', time[1] * 1000 + time[2] / 1000)

-- The ids of sorted sets whose scores are in a range, merged by score.
local function merged(keys, from, to)
  local found = {}
  for _, key in ipairs(keys) do
    local range = redis.call('ZRANGE', key, from, to, 'BYSCORE', 'WITHSCORES')
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

-- A ready list without its tombstones.
local function listed(key, priority)
  local ids, kept = redis.call('LRANGE', key, 0, -1), {}
  local char = string.char(48 + priority)
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

local ids
if state == 'waiting' or state == 'prioritized' then
  local at = state == 'waiting' and 1 or 4
  -- In the order of their fetch: those of lost leases, the others, and those that are due since the last fetch.
  local parts = {
    merged({ priorityKeys[at + 2] }, '-inf', due),
    merged({ priorityKeys[at + 1] }, '-inf', RANKS_END),
    listed(priorityKeys[at], state == 'waiting' and 0 or 1),
    merged({ priorityKeys[at + 1] }, '(' .. RANKS_END, due),
  }
  ids = {}
  for _, part in ipairs(parts) do
    for _, id in ipairs(part) do
      ids[#ids + 1] = id
    end
  end
elseif state == 'delayed' then
  ids = merged({ priorityKeys[2], priorityKeys[3], priorityKeys[5], priorityKeys[6] }, '(' .. due, '+inf')
elseif state == 'active' then
  if isCount then
    return redis.call('ZCARD', active)
  end
  ids = redis.call('ZRANGE', active, 0, -1)
  for i, member in ipairs(ids) do
    ids[i] = string.sub(member, 5)
  end
elseif state == 'completed' then
  if isCount then
    return redis.call('LLEN', succeeded)
  end
  ids = redis.call('LRANGE', succeeded, 0, -1)
else
  local key = state == 'failed' and dead or layerWaiting
  if isCount then
    return redis.call('ZCARD', key)
  end
  ids = redis.call('ZRANGE', key, 0, -1)
end
if isCount then
  return #ids
end
local from, size = tonumber(first), #ids
if from < 0 then
  from = math.max(0, size + from)
end
if last < 0 then
  last = size + last
end
local page = {}
for i = from, math.min(last, size - 1) do
  page[#page + 1] = ids[isAscending and i + 1 or size - i]
end
return page
