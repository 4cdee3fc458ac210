#!lua flags=allow-oom
-- Takes out those who leave: a waiter leaves the queue, the holder hands the lock on. A holder that is fair makes the
-- first waiter the holder, here and now: the message is the grant. One that is not frees the lock and only wakes the
-- first waiter, so that whoever comes first takes it. Repeating a call is safe. O((leavers + dead) · log waiters).
--
-- KEYS
--   lease        STRING holder; until the lease ends
--   token        STRING last fencing token; 7 days from the last grant
--   queue        ZSET waiter -> its place; 60 s from the last arrival or re-check
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   leavers...   two for each: member ('*': whoever holds the lock), isFair ('1' or '0')
-- RETURNS
--   for each leaver: 1 if it held the lock, else 0
local lease, token, queue = KEYS[1], KEYS[2], KEYS[3]
local publish = ARGV[1]
-- What one call may drop of waiters whose process is gone; the next re-check goes on.
local MAX_DEAD, TOKEN_MS = 100, '604800000'

-- The same text stands in mutex.recheck.lua; a test compares them.
local function handOn(isFair)
  if redis.call('EXISTS', queue) == 0 then return redis.call('DEL', lease) end
  local time = redis.call('TIME')
  local now = time[1] * 1000000 + time[2]
  local minted = math.max(now, (redis.call('GET', token) or 0) + 1)
  local grant = isFair and string.format('%.0f:%.0f', minted, now) or ''
  local channels = string.gsub(lease, 'lease$', 'grant:')
  if not isFair then redis.call('DEL', lease) end
  for _ = 1, MAX_DEAD do
    local head = redis.call('ZRANGE', queue, 0, 0)[1]
    if not head then break end
    local contender, waiter, claimMs = string.match(head, '^([^.]+)%.([^.]+)%.([1-9]%d*)$')
    local isAlive = contender and redis.call(publish, channels .. contender, waiter .. ':' .. grant) > 0
    if isAlive and not isFair then return end
    redis.call('ZPOPMIN', queue)
    if isAlive then
      redis.call('SET', lease, head, 'PX', claimMs)
      redis.call('SET', token, string.format('%.0f', minted), 'PX', TOKEN_MS)
      return
    end
  end
  redis.call('DEL', lease)
end

local holder = redis.call('GET', lease)
local isFair
local replies = {}
for i = 2, #ARGV, 2 do
  local member = ARGV[i]
  local isHolder = holder and (member == holder or member == '*')
  if isHolder then
    isFair = ARGV[i + 1]
  else
    redis.call('ZREM', queue, member)
  end
  replies[#replies + 1] = isHolder and 1 or 0
end
if isFair then handOn(isFair == '1') end
return replies
