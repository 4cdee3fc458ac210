#!lua flags=no-writes
-- Counts the tasks of a shard that wait, by priority, and those that become due, by time.
--
-- KEYS
--   settings          STRING
--   tombstones        HASH, by priority how many entries of its ready list are void
--   grouped           ZSET of ready tasks in groups
--   priorityKeys...   three for each priority: ready LIST, scheduled ZSET, retrying ZSET
-- ARGV
--   expectedSettings  the settings that the caller expects
--   withinMs...       ends of the spans of time from now, ascending, 16 at most
-- RETURNS
--   { inGroups, ready, scheduled, retrying, …, due, … }: three counts for each priority, then one for each span and one for later ones;
--   or the stored settings, if they are others
local settings, tombstones, grouped = KEYS[1], KEYS[2], KEYS[3]
local priorityKeys = { unpack(KEYS, 4) }
local expectedSettings = ARGV[1]
local withinMs = { unpack(ARGV, 2) }

local stored = redis.call('GET', settings)
if stored and stored ~= expectedSettings then
  return stored
end
-- include server.time.part.lua
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local reply = { redis.call('ZCARD', grouped) }
local dueBy = {}
for span = 1, #withinMs + 1 do
  dueBy[span] = 0
end
for at = 1, #priorityKeys, 3 do
  local void = redis.call('HGET', tombstones, string.char(48 + (at - 1) / 3))
  local ready = redis.call('LLEN', priorityKeys[at]) - tonumber(void or 0)
  for offset = 1, 2 do
    local key = priorityKeys[at + offset]
    local before = redis.call('ZCOUNT', key, '-inf', now)
    local total = redis.call('ZCARD', key)
    ready = ready + before
    -- Ready tasks are among the delayed ones until a worker fetches them.
    reply[#reply + 1] = total - before
    for span = 1, #withinMs do
      local upTo = before
      if upTo < total then
        upTo = redis.call('ZCOUNT', key, '-inf', string.format('%.0f', now + withinMs[span]))
      end
      dueBy[span], before = dueBy[span] + upTo - before, upTo
    end
    dueBy[#dueBy] = dueBy[#dueBy] + total - before
  end
  table.insert(reply, #reply - 1, ready)
end
for span = 1, #dueBy do
  reply[#reply + 1] = dueBy[span]
end
return reply
