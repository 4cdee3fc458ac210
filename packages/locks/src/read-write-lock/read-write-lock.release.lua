#!lua flags=allow-oom
-- Removes holders and waiters, and grants the lock to the next waiters: the message is the grant. When all keys of the lock
-- were lost, a member with a plausible token counts as a holder. If it is a reader, others may have held the lock as well,
-- and no writer gets it until their leases must have ended. Repeating a call is safe.
-- O((releases + 64) · log (readers + waiters)).
--
-- KEYS
--   write        STRING the writer, or 'lost'; until the lease ends
--   readers      ZSET reader, or 'lost.r' -> end of its lease (µs); until the last lease ends
--   token        STRING last fencing token; 7 days from the last grant
--   queue        ZSET waiter -> its place; 60 s from the last arrival or re-check
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   quarantineMs  how long lost readers may still rely on the lock (ms)
--   releases...  two for each: member, its fencing token (0: none)
-- RETURNS
--   1 if there may be more to grant, else 0; then for each release: 1 if the member held the lock, else 0
local write, readers, token, queue = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local publish, quarantineMs = ARGV[1], ARGV[2]

-- include acquire.is-listening.part.lua

-- include read-write-lock.grant-next.part.lua
-- include acquire.is-plausible.part.lua

-- include read-write-lock.restore.part.lua

local writer
local replies = {0}
for i = 3, #ARGV, 2 do
  local member, fencingToken = ARGV[i], ARGV[i + 1]
  local isHolder
  if string.sub(member, -1) == 'r' then
    isHolder = redis.call('ZREM', readers, member) == 1 or restoreReaders(fencingToken, quarantineMs)
  else
    if writer == nil then writer = redis.call('GET', write) end
    isHolder = writer == member or isLostWriter(fencingToken)
    if isHolder then
      writer = false
      redis.call('DEL', write)
    end
  end
  if not isHolder then redis.call('ZREM', queue, member) end
  replies[#replies + 1] = isHolder and 1 or 0
end
if redis.call('EXISTS', queue) == 1 and redis.call('EXISTS', write) == 0 then replies[1] = grantNext(false) end
return replies
