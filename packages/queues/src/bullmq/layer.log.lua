#!lua
-- Appends a log line to a job of the BullMQ layer.
--
-- KEYS
--   tasks             HASH id -> record
--   layerLogs         HASH id -> for each line: u32 length · text
-- ARGV
--   id                as stored
--   line              text
--   keep              the most lines
-- RETURNS
--   the number of lines; -1 unknown job
local tasks, layerLogs = KEYS[1], KEYS[2]
local id, line, keep = ARGV[1], ARGV[2], tonumber(ARGV[3])
if redis.call('HEXISTS', tasks, id) == 0 then
  return -1
end
local packed = (redis.call('HGET', layerLogs, id) or '') .. struct.pack('>I', #line) .. line
local starts, at = {}, 1
while at <= #packed do
  starts[#starts + 1] = at
  at = at + 4 + struct.unpack('>I', packed, at)
end
local first = math.max(1, #starts - keep + 1)
redis.call('HSET', layerLogs, id, string.sub(packed, starts[first]))
return #starts - first + 1
