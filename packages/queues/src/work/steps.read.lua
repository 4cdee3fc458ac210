#!lua flags=no-writes
-- Reads the steps of a task.
--
-- KEYS
--   steps        HASH, see task.steps.part.lua
-- ARGV
--   id           as stored
-- RETURNS
--   { now, cursor, step, … }: the server's time, ms; the cursor, '' for none; then for each step f64 instant, u16 length · name, result
local steps = KEYS[1]
local id = ARGV[1]

-- include task.steps.part.lua

-- include server.time.part.lua
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local head = redis.call('HGET', steps, 'h' .. id)
if not head then
  return { now, '' }
end
local fields = { 'c' .. id }
for number = 1, struct.unpack('>H', head) do
  fields[#fields + 1] = stepField(number, id)
end
local reply = { now }
for i, value in ipairs(redis.call('HMGET', steps, unpack(fields))) do
  reply[i + 1] = value or ''
end
return reply
