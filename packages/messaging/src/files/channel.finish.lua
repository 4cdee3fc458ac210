#!lua flags=allow-oom
-- Records receivers as done with a file, or as no longer needed for it. Repeating it changes nothing.
--
-- KEYS
--   head         HASH, see src/files/keys.ts
--   files        ZSET id -> number
--   listed       HASH number -> entry
--   done         SET of <number>:<receiver>
--   receivers    ZSET receiver -> end of its lease
--   sent         HASH id -> SHA-256 and name of the sent file
-- ARGV
--   number       of the file
--   token        of the receiver's lease; empty: not checked
--   epoch        of the channel
--   fileId       of the file; empty: any file with the number
--   names...     the receivers, encoded; none: read only
-- RETURNS
--   { 1 when all receivers are done, fileId, the names of those that are... }; nil: another process has the lease, or the channel has
--   another epoch; empty: the file is no longer listed; { -1 }: a failover has lost the entry of the file
local head, files, listed, done, receivers, sent = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local number, token, epoch, fileId = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local names = { unpack(ARGV, 5) }
if redis.call('HGET', head, 'epoch') ~= epoch then
  return token == '' and {}
end
if token ~= '' then
  local lease = redis.call('HGET', head, 'r:' .. names[1])
  if not lease or lease:match('^(%d+):') ~= token then
    return false
  end
end
local entry = redis.call('HGET', listed, number)
if not entry then
  return tonumber(number) > tonumber(redis.call('HGET', head, 'last')) and { -1 } or {}
end
local listedId = entry:match('^%d+:%d+:%d+:[^:]*:([^:]*):')
if fileId ~= '' and listedId ~= fileId then
  -- Another file has this number.
  return { -1 }
end
for i = 1, #names do
  redis.call('SADD', done, number .. ':' .. names[i])
end
-- include channel.keep.part.lua
local all = redis.call('ZRANGE', receivers, '0', '-1')
local marks = {}
for i = 1, #all do
  marks[i] = number .. ':' .. all[i]
end
local isDone = marks[1] and redis.call('SMISMEMBER', done, unpack(marks)) or {}
local reply = { 1, listedId }
for i = 1, #all do
  if isDone[i] == 1 then
    reply[#reply + 1] = all[i]
  else
    reply[1] = 0
  end
end
-- A receiver that has left the channel is done with all files that were listed before.
for last, name in string.gmatch(redis.call('HGET', head, 'left') or '', '(%d+) ([^\n]+)\n') do
  if tonumber(last) >= tonumber(number) then
    reply[#reply + 1] = name
  end
end
return reply
