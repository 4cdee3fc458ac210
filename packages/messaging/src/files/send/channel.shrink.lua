#!lua flags=allow-oom
-- Returns the unused part of an ended file's reservation, and records the file sent under an id of the caller: the first
-- record counts. Repeating it changes nothing.
--
-- KEYS
--   head         HASH, see src/files/keys.ts
--   files        ZSET id -> number
--   listed       HASH number -> entry
--   sent         HASH id -> SHA-256 and name of the sent file
--   events       channel; not a key
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   number       of the file
--   fileId       of the file
--   stored       bytes, headers included
--   id           of the file; empty: nothing is recorded
--   what         the SHA-256 in hex, a space and the name
-- RETURNS
--   number of returned bytes
local head, files, listed, sent, events = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local publish, number, fileId, stored, id, what = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5], ARGV[6]

if id ~= '' and redis.call('ZSCORE', files, id) == number then
  redis.call('HSETNX', sent, id, what)
  redis.call('PEXPIREAT', sent, redis.call('PEXPIRETIME', files))
end

local entry = redis.call('HGET', listed, number)
if not entry or entry:match('^%d+:%d+:%d+:[^:]*:([^:]*):') ~= fileId then
  return 0
end
local surplus = entry:match('^%d+') - stored
if surplus <= 0 then
  return 0
end
redis.call('HSET', listed, number, string.format('%d%s', stored, entry:match('^%d+(.*)$')))
redis.call('HINCRBY', head, 'reserved', string.format('%d', -surplus))
redis.call(publish, events, '*:shrunk')
return surplus
