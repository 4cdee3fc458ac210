#!lua flags=no-writes
-- Returns one task, and its state, which follows from the place of its id.
--
-- KEYS
--   settings          STRING, see src/shard/settings-text.ts
--   tasks             HASH id -> record
--   attempts          HASH id -> last attempt
--   active            ZSET u32 token · id -> end of the lease, ms
--   progress          HASH id -> JSON
--   logs              HASH id -> lines
--   steps             HASH, see task.steps.part.lua
--   priorityKeys...   three for each priority: ready LIST, scheduled ZSET, retrying ZSET
-- ARGV
--   expectedSettings  the settings that the caller expects
--   id                as stored
--   isWhole           0: the record ends before the payload, and result, logs and steps are left out
-- RETURNS
--   nil: unknown; or { record, state, instant, last attempt, progress, logs, steps }, "" for absent values; the instant is the end of the
--   lease of an active task, the due time of a scheduled or retrying one, or that of a due one that was scheduled, ms; for each step f64 instant, u16 length · name
--   error SETTINGS <stored>: other settings are stored
local settings, tasks, attempts, active = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local progress, logs, steps = KEYS[5], KEYS[6], KEYS[7]
local expectedSettings, id, isWhole = ARGV[1], ARGV[2], ARGV[3] == '1'
local priorityKeys = { unpack(KEYS, 8) }
local PRIORITIES = 16
local STATES = { A = 'active', S = 'succeeded', D = 'dead', C = 'cancelled', W = 'waiting', Q = 'ready' }

local stored = redis.call('GET', settings)
if stored and stored ~= expectedSettings then
  return redis.error_reply('SETTINGS ' .. stored)
end

-- include task.record.part.lua
-- include task.compact.part.lua
-- include task.steps.part.lua

local record, last = expandRecord(redis.call('HGET', tasks, id), redis.call('HGET', attempts, id))
if not record then
  return nil
end
local lastProgress, lines, done = '', '', ''
if last then
  -- Only tasks that have run have progress and logs.
  lastProgress = redis.call('HGET', progress, id) or ''
end
if not isWhole then
  local _, payloadAt = nameOf(record)
  record = string.sub(record, 1, payloadAt - 1)
  if last and string.sub(last, 1, 1) == 'S' then
    last = string.sub(last, 1, 11)
  end
elseif last then
  lines = redis.call('HGET', logs, id) or ''
  local head = redis.call('HGET', steps, 'h' .. id)
  local names = {}
  for number = 1, head and struct.unpack('>H', head) or 0 do
    local step = redis.call('HGET', steps, stepField(number, id))
    names[number] = step and string.sub(step, 1, 10 + struct.unpack('>H', step, 9)) or ''
  end
  done = table.concat(names)
end
local state = last and STATES[string.sub(last, 1, 1)]
if state then
  local leaseUntil = state == 'active' and redis.call('ZSCORE', active, string.sub(last, 2, 5) .. id) or ''
  return { record, state, leaseUntil, last, lastProgress, lines, done }
end
-- include server.time.part.lua
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local _, scheduled, retrying = unpack(priorityKeys, 3 * (string.byte(record) % PRIORITIES) + 1)
local retryAt = redis.call('ZSCORE', retrying, id)
if retryAt and tonumber(retryAt) > now then
  return { record, 'retrying', retryAt, last or '', lastProgress, lines, done }
end
local runAt = redis.call('ZSCORE', scheduled, id)
if runAt and tonumber(runAt) > now then
  return { record, 'scheduled', runAt, last or '', lastProgress, lines, done }
end
return { record, 'ready', runAt or '', last or '', lastProgress, lines, done }
