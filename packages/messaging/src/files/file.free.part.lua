-- Frees the chunks that all receivers have passed.
-- Expects:
--   file, cursors, events, publish
--   chunks, first      keys of chunks in their order, and the index of the first one
local n, freed, freedBytes, state = unpack(redis.call('HMGET', file, 'n', 'freed', 'freedBytes', 'state'))
local slowest = redis.call('ZRANGE', cursors, '0', '0', 'WITHSCORES')[2]
-- A position is the index of the chunk times 2^23, plus the bytes in it.
local floor = slowest and math.floor(slowest / 8388608) or tonumber(n)
floor = math.min(floor, first + #chunks, tonumber(n))
freed = tonumber(freed)
if floor > freed and first <= freed then
  for index = freed, floor - 1 do
    freedBytes = freedBytes + redis.call('STRLEN', chunks[index - first + 1])
    redis.call('UNLINK', chunks[index - first + 1])
  end
  freed = floor
  freedBytes = string.format('%d', freedBytes)
  redis.call('HSET', file, 'freed', string.format('%d', freed), 'freedBytes', freedBytes)
  redis.call(publish, events, '*:' .. n .. ' ' .. freedBytes .. ' ' .. state)
end
