#!lua flags=allow-oom
-- A receiver is done with a file, or is not waited for any more. Repeating it changes nothing.
--
-- KEYS
--   head         HASH, see src/keys.ts
--   listed       HASH number -> entry
--   done         SET of <number>:<receiver>
--   receivers    ZSET receiver -> end of its lease
-- ARGV
--   number       of the file
--   token        of the receiver's lease; empty: not asked for
--   ttlMs        ms
--   names...     the receivers, encoded; none: only asks
-- RETURNS
--   1 when all receivers are done, then the names of those who are; nil: the lease is another's; empty: the file is not listed any more
local head, listed, done, receivers = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local number, token, ttlMs = ARGV[1], ARGV[2], ARGV[3]

local names = { unpack(ARGV, 4) }
if token ~= '' then
  local lease = redis.call('HGET', head, 'r:' .. names[1])
  if not lease or lease:match('^(%d+):') ~= token then
    return false
  end
end
if redis.call('HEXISTS', listed, number) == 0 then
  return {}
end
for i = 1, #names do
  redis.call('SADD', done, number .. ':' .. names[i])
end
if #names > 0 then
  redis.call('PEXPIRE', done, ttlMs)
end
local all = redis.call('ZRANGE', receivers, '0', '-1')
local marks = {}
for i = 1, #all do
  marks[i] = number .. ':' .. all[i]
end
local isDone = redis.call('SMISMEMBER', done, unpack(marks))
local reply = { 1 }
for i = 1, #all do
  if isDone[i] == 1 then
    reply[#reply + 1] = all[i]
  else
    reply[1] = 0
  end
end
return reply
