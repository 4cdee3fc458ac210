#!lua flags=allow-oom
-- Takes the event for which a step of a running task waits, or registers the wait. Refuses an attempt without a lease, which would take
-- the event from the attempt that has it. A registered wait ends the attempt with the verdict E of fetcher.fetch-and-ack.lua, which looks
-- for the event again: it may come between the two scripts.
--
-- KEYS
--   attempts     HASH id -> last attempt; A u32 token … while active, C … cancelled
--   steps        HASH, see task.steps.part.lua
-- ARGV
--   id           as stored
--   token        of the attempt
--   number       of the step, if it ends now; -1: by its name
--   name         of the step
--   event        for which it waits
--   timeoutMs    from the first registration of the step on
-- RETURNS
--   { answer, detail }: 1 taken, now or, for a step without a number, before: the payload; W it waits, until when, ms; T it has waited too long, ''; 0 lease lost, C cancelled, N too many
--   steps, B too many bytes, each with ''
local attempts, steps = KEYS[1], KEYS[2]
local id, token, number, name = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local event, timeoutMs = ARGV[5], tonumber(ARGV[6])
-- As in task-step.ts.
local TIMED_OUT = '!'
-- Of the ids of deliveries: at least 60 of them.
local MOST_TAKEN_BYTES = 16384

-- include task.steps.part.lua
-- include task.event.part.lua

-- include server.time.part.lua
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
local now = struct.pack('>d', nowMs)
-- include step.store.part.lua

local last = redis.call('HGET', attempts, id)
local state, held
if last then
  state, held = struct.unpack('>c1I', last)
end
if state == 'C' then
  return { 'C', '' }
elseif state ~= 'A' or held ~= token then
  return { '0', '' }
end

if number < 0 then
  local before
  number, before = numberOf(id, name)
  if before then
    return before == TIMED_OUT and { 'T', '' } or { '1', before }
  end
end

local untaken = redis.call('HGET', steps, 'e' .. id) or ''
local from, after, delivery, payload = findEvent(untaken, event)
if from then
  local answer = storeStep(id, number, name, payload)
  if answer ~= '1' then
    return { answer, '' }
  end
  local left = string.sub(untaken, 1, from - 1) .. string.sub(untaken, after)
  if left == '' then
    redis.call('HDEL', steps, 'w' .. id, 'e' .. id)
  else
    redis.call('HDEL', steps, 'w' .. id)
    redis.call('HSET', steps, 'e' .. id, left)
  end
  if delivery ~= '' then
    local taken = (redis.call('HGET', steps, 'd' .. id) or '') .. struct.pack('>H', #delivery) .. delivery
    if #taken > MOST_TAKEN_BYTES then
      -- Without the oldest one: each has up to 258 bytes.
      taken = string.sub(taken, 3 + struct.unpack('>H', taken))
    end
    redis.call('HSET', steps, 'd' .. id, taken)
  end
  return { '1', payload }
end

local wait = redis.call('HGET', steps, 'w' .. id)
local untilMs = nowMs + timeoutMs
if wait and string.sub(wait, 9) == name then
  untilMs = struct.unpack('>d', wait)
end
if untilMs <= nowMs then
  local answer = storeStep(id, number, name, TIMED_OUT)
  redis.call('HDEL', steps, 'w' .. id)
  return { answer == '1' and 'T' or answer, '' }
end
redis.call('HSETNX', steps, 'h' .. id, struct.pack('>HI', 0, 0))
redis.call('HSET', steps, 'w' .. id, struct.pack('>d', untilMs) .. name)
return { 'W', string.format('%.0f', untilMs) }
