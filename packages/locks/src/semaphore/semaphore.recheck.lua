#!lua flags=allow-oom
-- Repairs a lost message, a lost queue, or permits whose holder died. Missing waiters get their old places back. Waiters
-- that hold permits without knowing it are notified, and get a new time to confirm. Waiters for more than the limit are
-- refused. Free permits are granted to the first waiters. When the state was lost, holders may still rely on their permits.
-- Then nothing is granted until they have renewed or their leases must have ended.
-- Repeating a call is safe. O((waiters + expired + granted) · log n).
--
-- KEYS
--   permits      ZSET holder -> end of its lease (µs); 7 days from the last grant or renewal
--   queue        ZSET waiter -> its place; 60 s from the last arrival or re-check
--   state        STRING, see semaphore.state.part.lua; 7 days from the last grant, renewal or new limit
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   callerLimit  the limit of a semaphore whose state was lost
--   quarantineMs  how long a lost holder may still rely on its permits (ms)
--   waiters...   two for each: place, member
-- RETURNS
--   now (µs), the time until the next permit may become free (ms; -1: more to do, call again; -2: all are free), limit, number of
--   missing waiters, then two for each waiter whose wait has ended: its number (from 1), and its fencing token, or 0 if it
--   wants more than the limit
local permits, queue, state = KEYS[1], KEYS[2], KEYS[3]
local publish, callerLimit, quarantineMs = ARGV[1], ARGV[2], ARGV[3]
local QUEUE_MS = '60000'

-- include semaphore.state.part.lua
-- include semaphore.change.part.lua
-- include semaphore.proves-loss.part.lua

clock()
local replies = {now, 0, limit, 0}
local places = {}
for i = 4, #ARGV, 2 do
  local place, member = ARGV[i], ARGV[i + 1]
  provesLoss(tonumber(place), quarantineMs, 0)
  local ended
  if used > 0 and redis.call('ZSCORE', permits, member) then
    redis.call('ZADD', permits, 'GT', now + string.match(member, '%.(%d+)%.%d+$') * 1000, member)
    isChanged, hasNewPermits = true, true
    ended = nextFencingToken()
  elseif weightOf(member) > limit then
    redis.call('ZREM', queue, member)
    ended = 0
  else
    places[#places + 1] = place
    places[#places + 1] = member
  end
  if ended then
    replies[#replies + 1] = (i - 2) / 2
    replies[#replies + 1] = ended
  end
end
if #places > 0 then
  replies[4] = redis.call('ZADD', queue, 'NX', unpack(places))
  redis.call('PEXPIRE', queue, QUEUE_MS)
end
local isQueued
-- include semaphore.expire.part.lua
-- include acquire.is-listening.part.lua
-- include semaphore.grant-waiters.part.lua
-- include semaphore.save.part.lua
-- include semaphore.remaining.part.lua

replies[2] = remainingMs
return replies
