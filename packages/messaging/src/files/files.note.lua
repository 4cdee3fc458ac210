#!lua flags=allow-oom
-- Notes how far a path was sent as a file. Repeating it changes nothing.
--
-- KEYS
--   sent         HASH identity of a path -> record of it
-- ARGV
--   path         its identity
--   id           of the file
--   record       begins with that id
-- RETURNS
--   1; 0 when the path is recorded as another file now
local sent = KEYS[1]
local path, id, record = ARGV[1], ARGV[2], ARGV[3]

local found = redis.call('HGET', sent, path)
if not found or found:match('^%S+') ~= id then
  return 0
end
redis.call('HSET', sent, path, record)
return 1
