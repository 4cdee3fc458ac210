#!lua flags=no-writes
-- Counts the tasks of many shards in each state, as queue.counts.lua does for one, and reads when the next ready task of each was
-- enqueued. The one script whose keys may have several hash tags: a scrape of 100 queues would make 200 calls otherwise. Redis
-- Cluster refuses such a call, so there the caller names one shard.
--
-- Redis counts no ends, since a counter would cost each ack a command. The list of succeeded tasks is in the order of their ends, so a
-- search from its end finds how many are of the last seconds: one look for an idle queue, some 12 for 1,000 tasks. Where the list has only
-- newer ones, since a busy worker keeps 1,000, its oldest tells the time that they took.
--
-- KEYS
--   shardKeys...      for each shard: settings STRING, active ZSET, succeeded LIST, dead ZSET, cancelled ZSET, tombstones HASH,
--                     grouped ZSET, flows HASH, tasks HASH, attempts HASH; then three for each priority: ready LIST, scheduled ZSET,
--                     retrying ZSET
-- ARGV
--   windowMs          counts the tasks that ended in this time; 0: none
--   shardArgs...      for each shard: the settings that the caller expects, and the number of priorities
-- RETURNS
--   { counts, … }: for each shard { scheduled, ready, active, retrying, succeeded, dead, cancelled, waiting, ended, endedMs, died,
--   instant }: tasks that succeeded in the last endedMs, ended -1 if the end of one cannot be read at little cost; tasks that died in the
--   window; the instant as a text, '' without a ready task. Or the stored settings, if they are others
local shardKeys, windowMs = KEYS, tonumber(ARGV[1])
local shardArgs = { unpack(ARGV, 2) }
local FIXED = 10
-- Of a list that is shorter, all tasks may be there that ever succeeded.
local FEW = 100
-- A longer entry has a result that is too big to be read for its instant.
local MOST_ENTRY_BYTES = 16384
-- Removed entries at the head of a list that are passed over.
local MOST_SKIPPED = 100

-- include server.time.part.lua
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- The first task of a ready list; nil if the first ones are all removed.
local function headOf(ready, tombstones, priority)
  if not tombstones then
    return redis.call('LINDEX', ready, 0)
  end
  local char = string.char(48 + priority)
  for _, id in ipairs(redis.call('LRANGE', ready, 0, MOST_SKIPPED - 1)) do
    if not string.find(redis.call('HGET', tombstones, id) or '', char, 1, true) then
      return id
    end
  end
end

-- How many tasks of the list have succeeded since an instant, and in how many ms.
local function endedSince(succeeded, attempts, tasks)
-- include task.compact.part.lua
  local since, size = now - windowMs, redis.call('LLEN', succeeded)
  -- When the task succeeded that has this place from the end, 0 first; nil: unknown.
  local function endOf(place)
    local id = redis.call('LINDEX', succeeded, -1 - place)
    local isBig = redis.call('HSTRLEN', attempts, id) > MOST_ENTRY_BYTES
    local last = not isBig and (redis.call('HGET', attempts, id) or compactEnd(id))
    return last and struct.unpack('>d', last, 2)
  end
  if size == 0 then
    return 0, windowMs
  end
  -- The task at `inside` is of the window, the one at `outside` is not.
  local inside, outside, place = -1, size, 0
  local oldest = now
  while outside - inside > 1 do
    local at = endOf(place)
    if not at then
      return -1, windowMs
    elseif at > since then
      inside, oldest = place, at
      place = outside == size and math.min(2 * place + 1, size - 1) or math.floor((inside + outside) / 2)
    else
      outside = place
      place = math.floor((inside + outside) / 2)
    end
  end
  if inside + 1 == size and size >= FEW then
    return size, math.max(1, now - oldest)
  end
  return inside + 1, windowMs
end

local function overview(base, expectedSettings, priorityCount)
  local settings, active, succeeded = shardKeys[base + 1], shardKeys[base + 2], shardKeys[base + 3]
  local dead, cancelled, tombstones = shardKeys[base + 4], shardKeys[base + 5], shardKeys[base + 6]
  local grouped, flows, tasks, attempts = shardKeys[base + 7], shardKeys[base + 8], shardKeys[base + 9], shardKeys[base + 10]
  local stored = redis.call('GET', settings)
  if stored and stored ~= expectedSettings then
    return stored
  end
  if redis.call('EXISTS', tombstones) == 0 then
    tombstones = nil
  end
  local scheduled, ready, retrying, head = 0, 0, 0, nil
  for priority = 0, priorityCount - 1 do
    local at = base + FIXED + 3 * priority
    local readyKey, scheduledKey, retryingKey = shardKeys[at + 1], shardKeys[at + 2], shardKeys[at + 3]
    local dueScheduled, dueRetrying = redis.call('ZCOUNT', scheduledKey, '-inf', now), redis.call('ZCOUNT', retryingKey, '-inf', now)
    local listed = redis.call('LLEN', readyKey)
    if tombstones then
      listed = listed - tonumber(redis.call('HGET', tombstones, string.char(48 + priority)) or 0)
    end
    if not head and dueScheduled + dueRetrying > 0 then
      head = redis.call('ZRANGE', dueScheduled > 0 and scheduledKey or retryingKey, 0, 0)[1]
    elseif not head and listed > 0 then
      head = headOf(readyKey, tombstones, priority)
    end
    ready = ready + listed + dueScheduled + dueRetrying
    scheduled = scheduled + redis.call('ZCARD', scheduledKey) - dueScheduled
    retrying = retrying + redis.call('ZCARD', retryingKey) - dueRetrying
  end
  local inGroups = redis.call('ZCARD', grouped)
  if not head and inGroups > 0 then
    local entry = redis.call('ZRANGE', grouped, 0, 0)[1]
    head = string.sub(entry, struct.unpack('>H', entry) + 12)
  end
  local record = head and redis.call('HGET', tasks, head)
  local ended, endedMs, died = 0, 0, 0
  if windowMs > 0 then
    ended, endedMs = endedSince(succeeded, attempts, tasks)
    died = redis.call('ZCOUNT', dead, string.format('(%.0f', now - windowMs), '+inf')
  end
  return {
    scheduled,
    ready + inGroups,
    redis.call('ZCARD', active),
    retrying,
    redis.call('LLEN', succeeded),
    redis.call('ZCARD', dead),
    redis.call('ZCARD', cancelled),
    tonumber(redis.call('HGET', flows, 'w') or 0),
    ended,
    endedMs,
    died,
    record and string.format('%.0f', (struct.unpack('>d', record, 4))) or '',
  }
end

local reply, base = {}, 0
for i = 1, #shardArgs, 2 do
  local priorityCount = tonumber(shardArgs[i + 1])
  reply[#reply + 1] = overview(base, shardArgs[i], priorityCount)
  base = base + FIXED + 3 * priorityCount
end
return reply
