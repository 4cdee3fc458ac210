#!lua flags=no-writes
-- Shows what is recorded of the paths of a host that listed files are of.
--
-- KEYS
--   files        ZSET id -> number
--   sent         HASH host and identity of a path -> record of it
-- ARGV
--   host         what the keys of its paths begin with
--   numbers...   of the files
-- RETURNS
--   for each number { id, record of its path }, of which it is the file, or the one before; empty: that is recorded as another file, or nothing has the
--   number; nil: the file is of no path of the host
local files, sent = KEYS[1], KEYS[2]
local host = ARGV[1]

local found = {}
for i = 2, #ARGV do
  local id = redis.call('ZRANGE', files, ARGV[i], ARGV[i], 'BYSCORE')[1]
  local path = id and id:match('^(%x+%-%d+%-%d+%-%d+):')
  if not id then
    found[i - 1] = {}
  elseif not path or path:match('^%x+') ~= host then
    found[i - 1] = false
  else
    local record = redis.call('HGET', sent, path)
    local isOf = record and (record:match('^%S+') == id or record:match(',"([^"]*)",%d+%]$') == id)
    found[i - 1] = isOf and { id, record } or {}
  end
end
return found
