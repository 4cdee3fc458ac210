#!lua flags=allow-oom
-- Removes a receiver from a channel: it is done with the listed files, and gets no more. Repeating it changes nothing.
--
-- KEYS
--   head         HASH, see src/files/keys.ts
--   listed       HASH number -> entry
--   done         SET of <number>:<receiver>
--   receivers    ZSET receiver -> end of its lease
-- ARGV
--   receiver     encoded
-- RETURNS
--   { 1 when it was a receiver, else 0, the numbers of the listed files, to complete... }
local head, listed, done, receivers = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local receiver = ARGV[1]

local numbers = redis.call('HKEYS', listed)
if redis.call('ZREM', receivers, receiver) == 0 then
  return { 0, unpack(numbers) }
end
local oldest
for i = 1, #numbers do
  redis.call('SREM', done, numbers[i] .. ':' .. receiver)
  oldest = math.min(oldest or math.huge, tonumber(numbers[i]))
end
redis.call('HDEL', head, 'r:' .. receiver)
local last, left = unpack(redis.call('HMGET', head, 'last', 'left'))
local kept = ''
if oldest then
  for number, name in string.gmatch(left or '', '(%d+) ([^\n]+)\n') do
    if tonumber(number) >= oldest then
      kept = kept .. number .. ' ' .. name .. '\n'
    end
  end
  -- A sender may open a listed file later, with a cursor for a receiver that has left by then.
  kept = kept .. last .. ' ' .. receiver .. '\n'
end
if kept ~= '' then
  redis.call('HSET', head, 'left', kept)
elseif left then
  redis.call('HDEL', head, 'left')
end
return { 1, unpack(numbers) }
