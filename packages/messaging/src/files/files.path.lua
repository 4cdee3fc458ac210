#!lua flags=no-writes
-- Shows what is recorded of a path, and what has become of the file that it was sent as last.
--
-- KEYS
--   head         HASH, see src/keys.ts
--   files        ZSET id -> number
--   listed       HASH number -> entry
--   sent         HASH host and identity of a path -> record of it
-- ARGV
--   path         its host and identity
-- RETURNS
--   { record, epoch of the channel, number of the file or empty, its entry or empty }; empty: there is no record
local head, files, listed, sent = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local path = ARGV[1]

local record = redis.call('HGET', sent, path)
if not record then
  return {}
end
local number = redis.call('ZSCORE', files, record:match('^%S+'))
local entry = number and redis.call('HGET', listed, number)
return { record, redis.call('HGET', head, 'epoch') or '', number or '', entry or '' }
