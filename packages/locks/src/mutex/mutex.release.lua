#!lua flags=allow-oom
-- Takes out those who leave: a waiter leaves the queue, the holder hands the lock on. A holder that is fair makes the
-- first waiter the holder, here and now: the message is the grant. One that is not frees the lock and only wakes the
-- first waiter, so that whoever comes first takes it. When the lock's keys were lost, whoever says so is the holder.
-- Repeating a call is safe. O((leavers + dead) · log waiters).
--
-- KEYS
--   locks...     three for each leaver: STRING holder, or 'lost', until the lease ends; STRING last fencing token, 7 days;
--                ZSET waiter -> its place, 60 s from the last arrival or re-check
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   leavers...   two for each: member ('*': whoever holds the lock); its fencing token (0: none), with a '-' before it
--                if the leaver is not fair
-- RETURNS
--   for each leaver: 1 if it held the lock, else 0
local publish = ARGV[1]
local TOKEN_MS = '604800000'

-- include mutex.mint.part.lua

-- include mutex.hand-on.part.lua

local replies = {}
for i = 1, #KEYS / 3 do
  local lease, token, queue = KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i]
  local member, how = ARGV[2 * i], ARGV[2 * i + 1]
  local holder = redis.call('GET', lease)
  local isHolder = holder == member or (holder and member == '*')
  if not isHolder and (not holder or holder == 'lost') and how ~= '0' and how ~= '-0' then
    isHolder = redis.call('EXISTS', token) == 0
    -- What is granted from here on has a greater token.
    if isHolder then redis.call('SET', token, string.gsub(how, '^-', ''), 'PX', TOKEN_MS) end
  end
  if isHolder then
    handOn(lease, token, queue, string.byte(how) ~= 45)
  else
    redis.call('ZREM', queue, member)
  end
  replies[i] = isHolder and 1 or 0
end
return replies
