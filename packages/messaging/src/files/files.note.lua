#!lua flags=allow-oom
-- Notes how far a path was sent as a file. Repeating it changes nothing, and so does a writer who has lost the lease to one that has sent more.
--
-- KEYS
--   sent         HASH host and identity of a path -> record of it
-- ARGV
--   path         its host and identity
--   id           of the file
--   to           bytes of the path
--   record       begins with that id, and has that byte behind the first one
-- RETURNS
--   1; 0 when the path is recorded as another file now, or more of it is noted
local sent = KEYS[1]
local path, id, to, record = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]

local found = redis.call('HGET', sent, path)
if not found or found:match('^%S+') ~= id then
  return 0
end
local noted = found:match('^%S+ %[%d+,(%d+)')
if noted and tonumber(noted) > to then
  return 0
end
redis.call('HSET', sent, path, record)
return 1
