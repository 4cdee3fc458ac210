#!lua
-- Lists a file in its channel, and reserves its window in the channel's budget. The first call creates the channel.
--
-- KEYS
--   head         HASH, see src/files/keys.ts
--   files        ZSET id -> number
--   listed       HASH number -> entry
--   done         SET of <number>:<receiver>
--   receivers    ZSET receiver -> end of its lease
--   sent         HASH id -> SHA-256 and name of the sent file
--   events       channel; not a key
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   id           of the file, encoded
--   name         of the file, encoded
--   reserve      bytes
--   budget       bytes
--   maxListed    files
--   remembered   maximum of ids of finished files
--   keepMs        ms; the channel expires this long after its last use
--   newEpoch     of the channel, if this call creates it
--   newFileId    of the file, if this call lists it
--   names...     the receivers, encoded
-- RETURNS
--   { 'listed', epoch, number, reserved bytes, fileId, name, the receivers that are not done... }, { 'finished', epoch, number },
--   { 'full' }, { 'ended' }, { 'differ' }: the channel has other receivers
local head, files, listed, done, receivers, sent, events = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local publish, id, name, reserve, budget = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local maxListed, remembered, keepMs, newEpoch, newFileId = tonumber(ARGV[6]), tonumber(ARGV[7]), ARGV[8], ARGV[9], ARGV[10]

local names = { unpack(ARGV, 11) }
local epoch = redis.call('HGET', head, 'epoch')
local number = redis.call('ZSCORE', files, id)
if number and redis.call('HEXISTS', listed, number) == 0 then
  return { 'finished', epoch, tonumber(number) }
end
local ended, last, reserved = unpack(redis.call('HMGET', head, 'ended', 'last', 'reserved'))
if ended and not number then
  return { 'ended' }
end
local known = redis.call('ZCARD', receivers)
if known > 0 then
  local scores = redis.call('ZMSCORE', receivers, unpack(names))
  for i = 1, #names do
    if not scores[i] then
      return { 'differ' }
    end
  end
  if known ~= #names then
    return { 'differ' }
  end
end
local entry = number and redis.call('HGET', listed, number)
if not number then
  reserved = tonumber(reserved or 0)
  if (reserved > 0 and reserved + reserve > budget) or redis.call('HLEN', listed) >= maxListed then
    return { 'full' }
  end
  number = string.format('%d', (last or 0) + 1)
  -- include server.time.part.lua
  local now = string.format('%d', time[1] * 1000 + math.floor(time[2] / 1000))
  if not epoch then
    epoch = newEpoch
    redis.call('HSET', head, 'epoch', epoch)
  end
  redis.call('HSET', head, 'last', number, 'reserved', string.format('%d', reserved + reserve))
  redis.call('ZADD', files, number, id)
  entry = string.format('%d:%s:%s:%s:%s:%s', reserve, now, keepMs, epoch, newFileId, name)
  redis.call('HSET', listed, number, entry)
  if known == 0 then
    for i = 1, #names do
      redis.call('ZADD', receivers, '0', names[i])
    end
  end
  -- Checks the hundred oldest ids: those that are still listed stay.
  local surplus = redis.call('ZCARD', files) - redis.call('HLEN', listed) - remembered
  if surplus > 0 then
    local oldest = redis.call('ZRANGE', files, '0', '99', 'WITHSCORES')
    for i = 1, #oldest, 2 do
      if surplus > 0 and redis.call('HEXISTS', listed, oldest[i + 1]) == 0 then
        redis.call('ZREM', files, oldest[i])
        surplus = surplus - 1
        redis.call('HDEL', sent, oldest[i])
      end
    end
  end
  redis.call(publish, events, '*:listed')
elseif reserve > tonumber(entry:match('^%d+')) then
  -- The file has grown since it was listed. A file that has begun does not wait for the budget.
  redis.call('HINCRBY', head, 'reserved', string.format('%d', reserve - entry:match('^%d+')))
  entry = string.format('%d%s', reserve, entry:match('^%d+(.*)$'))
  redis.call('HSET', listed, number, entry)
end
redis.call('HSET', head, 'keepMs', keepMs)
-- include channel.keep.part.lua
local reserved, fileId, listedName = entry:match('^(%d+):%d+:%d+:[^:]*:([^:]*):(.*)$')
local reply = { 'listed', epoch, tonumber(number), tonumber(reserved), fileId, listedName }
local marks = {}
for i = 1, #names do
  marks[i] = number .. ':' .. names[i]
end
local isDone = redis.call('SMISMEMBER', done, unpack(marks))
for i = 1, #names do
  if isDone[i] == 0 then
    reply[#reply + 1] = names[i]
  end
end
return reply
