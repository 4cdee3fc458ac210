#!lua flags=allow-oom
-- Releases locks, and removes waiters from queues. A fair release makes the first waiter the holder: its message is the
-- grant. Any other release frees the lock and only wakes the first waiter; the next request takes the lock. If all keys of
-- the lock were lost, a member with a plausible token counts as the holder. Repeating a call is safe. O((releases + dead) ·
-- log waiters).
--
-- KEYS
--   locks...     three for each release: STRING holder, or 'lost', until the lease ends; STRING last fencing token, 7 days;
--                ZSET waiter -> its place, 60 s from the last arrival or re-check
-- ARGV
--   publish      PUBLISH or SPUBLISH
--   releases...  two for each: member; its fencing token (0: none), after a '-' if the release is not fair, or '*' if
--                another process takes the lock away from it
-- RETURNS
--   for each release: 1 if the member held the lock, else 0, or an error of its own; for a single holder 1, not in a list
local publish = ARGV[1]
local replies, waited
for i = 1, #KEYS / 3 do
  local lease, token, queue = KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i]
  local member, how = ARGV[2 * i], ARGV[2 * i + 1]
  local isHolder, waiters, reply = false, nil, 0
  if not (waited and waited[lease]) then
    local holder = redis.pcall('GET', lease)
    waiters = redis.pcall('ZCARD', queue)
    isHolder = holder == member
    if type(holder) == 'table' or type(waiters) == 'table' then
      -- The key has a foreign type: only this release must fail.
      isHolder, reply = false, type(holder) == 'table' and holder or waiters
    elseif not isHolder and (not holder or holder == 'lost') and how ~= '0' and how ~= '-0' then
-- include acquire.is-plausible.part.lua
      local fencingToken = string.gsub(how, '^-', '')
      isHolder = redis.call('EXISTS', token) == 0 and isPlausible(fencingToken)
      -- All later tokens are greater.
      if isHolder then redis.call('SET', token, fencingToken, 'PX', '604800000') end
    end
  end
  if not isHolder then
    if reply == 0 then redis.call('ZREM', queue, member) end
  elseif how ~= '*' and waiters == 0 then
    redis.call('DEL', lease)
    -- The usual case. A table costs Redis as much as a command.
    if #KEYS == 3 then return 1 end
    reply = 1
  else
    waited = waited or {}
    waited[lease] = {token, queue, string.byte(how) ~= 45, how == '*', i}
    reply = 1
  end
  replies = replies or {}
  replies[i] = reply
end
-- Most releases end here. The functions below would cost a sixth more.
if not waited then return replies end

-- include mutex.next-fencing-token.part.lua

-- include acquire.is-listening.part.lua

-- include mutex.grant-next.part.lua

for lease, release in pairs(waited) do
  local isDone, problem = pcall(function()
    local token, queue, isFair, isForced = release[1], release[2], release[3], release[4]
    -- Without a later token, the former holder would get the lock back.
    if isForced and redis.call('EXISTS', token) == 0 then nextFencingToken(token) end
    grantNext(lease, token, queue, isFair)
  end)
  if not isDone then
    replies[release[5]] = type(problem) == 'table' and problem or {err = problem}
  end
end
return replies
