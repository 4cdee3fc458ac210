#!lua flags=no-writes
-- Counts the tasks in each state. A due scheduled or retrying task counts as ready.
--
-- KEYS
--   settings          STRING, see src/shard/settings-text.ts
--   active            ZSET u32 token · id -> end of the lease, ms
--   succeeded         LIST ids
--   dead              ZSET id -> instant of death, ms
--   cancelled         ZSET id -> instant of cancellation, ms
--   tombstones        HASH id -> priorities of its tombstones; a priority -> their number
--   grouped           ZSET of waiting tasks with a group
--   flows             HASH; field w: number of parents that wait for their children
--   priorityKeys...   three for each priority: ready LIST, scheduled ZSET, retrying ZSET
-- ARGV
--   expectedSettings  the settings that the caller expects
--   priorityCount     number of priorities
-- RETURNS
--   { scheduled, ready, active, retrying, succeeded, dead, cancelled, waiting }
--   error SETTINGS <stored>: other settings are stored
local settings, active, succeeded, dead = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local cancelled, tombstones, grouped, flows = KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local expectedSettings, priorityCount = ARGV[1], tonumber(ARGV[2])
local priorityKeys = { unpack(KEYS, 9) }

-- include shard.settings.part.lua
local hasTombstones = redis.call('EXISTS', tombstones) == 1
local scheduled, ready, retrying = 0, redis.call('ZCARD', grouped), 0
for priority = 0, priorityCount - 1 do
  local readyKey, scheduledKey, retryingKey = unpack(priorityKeys, 3 * priority + 1, 3 * priority + 3)
  local dueScheduled, dueRetrying = redis.call('ZCOUNT', scheduledKey, '-inf', now), redis.call('ZCOUNT', retryingKey, '-inf', now)
  ready = ready + redis.call('LLEN', readyKey) + dueScheduled + dueRetrying
  scheduled = scheduled + redis.call('ZCARD', scheduledKey) - dueScheduled
  retrying = retrying + redis.call('ZCARD', retryingKey) - dueRetrying
  if hasTombstones then
    ready = ready - tonumber(redis.call('HGET', tombstones, string.char(48 + priority)) or 0)
  end
end
return {
  scheduled,
  ready,
  redis.call('ZCARD', active),
  retrying,
  redis.call('LLEN', succeeded),
  redis.call('ZCARD', dead),
  redis.call('ZCARD', cancelled),
  tonumber(redis.call('HGET', flows, 'w') or 0),
}
