#!lua
-- Acquires or renews the lease of a receiver, and returns its files.
--
-- KEYS
--   head         HASH, see src/files/keys.ts
--   files        ZSET id -> number
--   listed       HASH number -> entry
--   done         SET of <number>:<receiver>
--   receivers    ZSET receiver -> end of its lease
--   sent         HASH id -> SHA-256 and name of the sent file
-- ARGV
--   receiver     encoded
--   holder       the process or group that wants the lease
--   token        of its present lease; 0 for none
--   leaseMs      ms; 0 releases the lease
--   limit        maximum of files to return
-- RETURNS
--   { 'held', token, 1 if the channel has ended, the numbers of listed files that it is done with, joined by commas,
--   the epoch, the end of the lease in ms since 1970, then for each file its number and its entry, in order }
--   { 'absent' }: no channel (yet); { 'unknown' }: no such receiver; { 'busy', ms until the end of the other lease }; { 'lost' };
--   { 'ended' }: no more files
local head, files, listed, done, receivers, sent = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local receiver, holder, token, leaseMs, limit = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])

local ended, lease, epoch = unpack(redis.call('HMGET', head, 'ended', 'r:' .. receiver, 'epoch'))
if ended and redis.call('EXISTS', listed) == 0 then
  return { 'ended' }
end
local leaseEnd = redis.call('ZSCORE', receivers, receiver)
if not leaseEnd then
  return { redis.call('EXISTS', receivers) == 0 and 'absent' or 'unknown' }
end
-- include server.time.part.lua
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local heldToken, heldBy
if lease then
  heldToken, heldBy = lease:match('^(%d+):(.*)$')
end
if token ~= '0' and (heldToken ~= token or heldBy ~= holder) then
  return { 'lost' }
end
if heldBy ~= holder then
  if tonumber(leaseEnd) > now then
    return { 'busy', leaseEnd - now }
  end
  token = string.format('%d', redis.call('HINCRBY', head, 'tokens', 1))
  redis.call('HSET', head, 'r:' .. receiver, token .. ':' .. holder)
else
  token = heldToken
end
redis.call('ZADD', receivers, string.format('%d', now + leaseMs), receiver)
-- include channel.keep.part.lua

local entries = redis.call('HGETALL', listed)
local open, passed, marks = {}, {}, {}
for i = 1, #entries, 2 do
  marks[#marks + 1] = entries[i] .. ':' .. receiver
end
local isDone = marks[1] and redis.call('SMISMEMBER', done, unpack(marks)) or {}
for i = 1, #entries, 2 do
  if isDone[(i + 1) / 2] == 1 then
    passed[#passed + 1] = entries[i]
  else
    open[#open + 1] = { tonumber(entries[i]), entries[i + 1] }
  end
end
table.sort(open, function(a, b)
  return a[1] < b[1]
end)
local reply = { 'held', tonumber(token), ended and 1 or 0, table.concat(passed, ','), epoch or '', now + leaseMs }
for i = 1, math.min(#open, limit) do
  reply[#reply + 1] = open[i][1]
  reply[#reply + 1] = open[i][2]
end
return reply
