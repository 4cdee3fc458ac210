#!lua flags=allow-oom
-- Makes tasks that have died or were cancelled due now, as if they had just been enqueued; also those that are going to be
-- tried again later, whose attempts stay counted.
--
-- KEYS
--   settings          STRING, see src/shard/settings-text.ts
--   tasks             HASH id -> record; f64 enqueued at is set anew
--   attempts          HASH id -> last attempt; becomes R, f64 instant, u16 0, why it died
--   dead              ZSET id -> instant of death, ms
--   idle              ZSET "<lease, ms> <channel>" of an idle worker -> idle until, ms
--   cancelled         ZSET id -> instant of cancellation, ms
--   events            STREAM
--   priorityKeys...   three for each priority: ready LIST, scheduled ZSET, retrying ZSET
-- ARGV
--   expectedSettings  the settings that the caller expects
--   publish           PUBLISH or SPUBLISH
--   entries...        two for each, 500 at most: id; the state in which it is to be retried, D or C, or * for any
-- RETURNS
--   a string with one character a task: 1 is due now, 0 is in another state, - unknown
--   error SETTINGS <stored>: something else is stored; nothing is written
local settings, tasks, attempts, dead, idle, cancelled, events = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local expectedSettings, publish = ARGV[1], ARGV[2]
local PRIORITIES = 16
local retrying = {}
for priority = 8, #KEYS, 3 do
  retrying[(priority - 8) / 3] = KEYS[priority + 2]
end

-- include shard.settings.part.lua
local ended = { D = dead, C = cancelled }

-- include task.wake.part.lua
-- include task.events.part.lua

local replies, isAny = {}, false
for i = 3, #ARGV, 2 do
  local id, only = ARGV[i], ARGV[i + 1]
  local last = redis.call('HGET', attempts, id) or ''
  local state = string.sub(last, 1, 1)
  local reply = '0'
  if ended[state] and (only == '*' or only == state) then
    local record = redis.call('HGET', tasks, id)
    if record then
      redis.call('ZREM', ended[state], id)
      redis.call('HSET', tasks, id, string.sub(record, 1, 3) .. struct.pack('>d', now) .. string.sub(record, 12))
      redis.call('HSET', attempts, id, 'R' .. struct.pack('>dH', now, 0) .. (state == 'D' and string.sub(last, 12) or ''))
      redis.call('ZADD', retrying[string.byte(record) % PRIORITIES], now, id)
      reply = '1'
    end
  elseif (state == 'R' or state == 'H') and only == '*' then
    local record = redis.call('HGET', tasks, id)
    local key = record and retrying[string.byte(record) % PRIORITIES]
    local at = key and redis.call('ZSCORE', key, id)
    if at and tonumber(at) > now then
      redis.call('ZADD', key, now, id)
      reply = '1'
    end
    -- Without an entry it was never taken, or has succeeded.
  elseif state == '' and redis.call('HEXISTS', tasks, id) == 0 then
    reply = '-'
  end
  if reply == '1' then
    isAny = true
    recordEvent('Y', id, '')
  end
  replies[#replies + 1] = reply
end
publishEvents()
if isAny then
  wake(1)
end
return table.concat(replies)
