#!lua flags=allow-oom
-- Whether a task has not ended. It writes nothing, but has no such flag, since a replica may be out of date.
--
-- KEYS
--   tasks        HASH id -> record
--   attempts     HASH id -> last attempt; its first character is the state: S, D and C are final
-- ARGV
--   id           as stored
-- RETURNS
--   1 it waits or runs, 0 it has ended, nil no such task
local tasks, attempts = KEYS[1], KEYS[2]
local id = ARGV[1]

-- include task.compact.part.lua

if redis.call('HEXISTS', tasks, id) == 0 then
  return nil
end
local state = string.sub(redis.call('HGET', attempts, id) or compactEnd(id) or '', 1, 1)
return (state == 'S' or state == 'D' or state == 'C') and 0 or 1
