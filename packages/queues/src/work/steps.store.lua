#!lua flags=allow-oom
-- Stores steps and cursors of running tasks. Refuses those of attempts without a lease. They are limited for each task, so they are
-- accepted while memory is full.
--
-- KEYS
--   attempts     HASH id -> last attempt; A u32 token … while active, C … cancelled
--   steps        HASH, see task.steps.part.lua
-- ARGV
--   entries...   five for each, 200 at most: id; token; number of the step, 0: the cursor, -1: by its name; its name; its result, or the cursor
-- RETURNS
--   a string with one character an entry: 1 stored, 0 lease lost, C cancelled, N too many steps, B too many bytes, E
--   there was a step of this name, without a number, and it stays
local attempts, steps = KEYS[1], KEYS[2]
local entries = ARGV

-- include task.steps.part.lua

-- include server.time.part.lua
local now = struct.pack('>d', time[1] * 1000 + math.floor(time[2] / 1000))
-- include step.store.part.lua

local replies = {}
for i = 1, #entries, 5 do
  local id, token, number, name, value = unpack(entries, i, i + 4)
  local last, answer = redis.call('HGET', attempts, id), '0'
  local state, held
  if last then
    state, held = struct.unpack('>c1I', last)
  end
  if state == 'C' then
    answer = 'C'
  elseif state == 'A' and held == tonumber(token) then
    number = tonumber(number)
    local before
    if number < 0 then
      number, before = numberOf(id, name)
    end
    answer = before and 'E' or storeStep(id, number, name, value)
  end
  replies[#replies + 1] = answer
end
return table.concat(replies)
