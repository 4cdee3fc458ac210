#!lua flags=allow-oom
-- Removes files that all receivers are done with from the list, and returns their reservations to the budget; can also end
-- the channel. With its last file an ended channel is deleted, except for its head, from which late receivers learn that it
-- has ended.
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
--   lingerMs     ms
--   keepMs        ms, to end the channel: no more files will be sent; 0: it goes on
--   numbers...   of the files
-- RETURNS
--   nothing
local head, files, listed, done, receivers, sent, events = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local publish, lingerMs, keepMs = ARGV[1], ARGV[2], ARGV[3]

local names = redis.call('ZRANGE', receivers, '0', '-1')
local given = 0
local isEnd = keepMs ~= '0'
local isChanged = isEnd
for i = 4, #ARGV do
  local entry = redis.call('HGET', listed, ARGV[i])
  if entry then
    local marks = {}
    for j = 1, #names do
      marks[j] = ARGV[i] .. ':' .. names[j]
    end
    local isDone, isWhole = marks[1] and redis.call('SMISMEMBER', done, unpack(marks)) or {}, true
    for j = 1, #names do
      isWhole = isWhole and isDone[j] == 1
    end
    if isWhole then
      given = given + tonumber(entry:match('^(%d+):'))
      redis.call('HDEL', listed, ARGV[i])
      if marks[1] then
        redis.call('SREM', done, unpack(marks))
      end
      isChanged = true
    end
  end
end
if given > 0 then
  redis.call('HINCRBY', head, 'reserved', string.format('%d', -given))
end
if isEnd then
  redis.call('HSET', head, 'ended', '1')
  redis.call('PEXPIRE', head, keepMs)
end
if redis.call('EXISTS', listed) == 0 and redis.call('HEXISTS', head, 'ended') == 1 then
  redis.call('UNLINK', listed, done, receivers)
  redis.call('PEXPIRE', head, lingerMs)
  redis.call('PEXPIRE', files, lingerMs)
  redis.call('PEXPIRE', sent, lingerMs)
end
if isChanged then
  redis.call(publish, events, '*:' .. (isEnd and 'ended' or 'removed'))
end
