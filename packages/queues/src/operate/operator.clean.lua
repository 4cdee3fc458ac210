#!lua flags=allow-oom
-- Removes ended tasks, oldest first, up to a limit.
--
-- KEYS
--   settings          STRING, see src/shard/settings-text.ts
--   tasks             HASH id -> record
--   attempts          HASH id -> last attempt
--   ended             the ids of that state: LIST succeeded, or ZSET dead or cancelled with the instants
--   progress          HASH id -> JSON
--   logs              HASH id -> lines
--   flows             HASH
--   outbox            HASH
--   dedupKeys         HASH k and a key -> elements and id; i and that id -> the key
--   steps             HASH, see task.steps.part.lua
-- ARGV
--   expectedSettings  the settings that the caller expects
--   state             S, D or C
--   most              tasks to remove at most, 1 to 500
--   upTo              only tasks that ended up to this instant, ms; 0 or negative: up to so many ms ago
-- RETURNS
--   { removed, upTo, isOver }: number of removed tasks; the instant, for the next call; 1 when there are none left
--   error SETTINGS <stored>: other settings are stored; nothing is written
local settings, tasks, attempts, ended = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local progress, logs, flows, outbox, dedupKeys, steps = KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local expectedSettings, state, most, upTo = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])

-- include shard.settings.part.lua
if upTo <= 0 then
  upTo = now + upTo
end
local usesOptional = true
-- Results are read in batches; the batch that exceeds this size is the last one of the call.
local BATCH = 50
local MOST_BYTES = 4194304

-- include flow.delete.part.lua
-- include task.steps.part.lua
-- include task.delete.part.lua
-- include task.compact.part.lua

-- The number of these tasks, from the start, that succeeded up to that instant.
local function countOld(ids)
  local bytes = 0
  for from = 1, #ids, BATCH do
    for i, last in ipairs(redis.call('HMGET', attempts, unpack(ids, from, math.min(from + BATCH - 1, #ids)))) do
      last = last or compactEnd(ids[from + i - 1])
      if last and struct.unpack('>d', last, 2) > upTo then
        return from + i - 2, true
      end
      bytes = bytes + (last and #last or 0)
    end
    if bytes >= MOST_BYTES then
      return math.min(from + BATCH - 1, #ids), false
    end
  end
  return #ids, #ids < most
end

local ids, isOver
if state == 'S' then
  ids = redis.call('LRANGE', ended, 0, most - 1)
  local count
  count, isOver = countOld(ids)
  ids = count > 0 and redis.call('LPOP', ended, count) or {}
else
  ids = redis.call('ZRANGE', ended, '-inf', upTo, 'BYSCORE', 'LIMIT', 0, most)
  isOver = #ids < most
  if #ids > 0 then
    redis.call('ZREM', ended, unpack(ids))
  end
end
if #ids > 0 then
  deleteTasks(ids)
end
return { #ids, upTo, isOver and 1 or 0 }
