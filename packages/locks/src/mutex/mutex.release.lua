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
--   for each leaver: 1 if it held the lock, else 0, or an error of its own; of a single one that held it, not in a list
local publish = ARGV[1]
local replies, left
for i = 1, #KEYS / 3 do
  local lease, token, queue = KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i]
  local member, how = ARGV[2 * i], ARGV[2 * i + 1]
  local isHolder, waiters, reply = false, nil, 0
  if not (left and left[lease]) then
    local holder = redis.pcall('GET', lease)
    waiters = redis.pcall('ZCARD', queue)
    isHolder = holder == member or (holder and member == '*')
    if type(holder) == 'table' or type(waiters) == 'table' then
      -- Somebody else has put something of another type there: the other leavers must not hear of it.
      isHolder, reply = false, type(holder) == 'table' and holder or waiters
    elseif not isHolder and (not holder or holder == 'lost') and how ~= '0' and how ~= '-0' then
-- include waiting.is-plausible.part.lua
      local fencingToken = string.gsub(how, '^-', '')
      isHolder = redis.call('EXISTS', token) == 0 and isPlausible(fencingToken)
      -- What is granted from here on has a greater token.
      if isHolder then redis.call('SET', token, fencingToken, 'PX', '604800000') end
    end
  end
  if not isHolder then
    if reply == 0 then redis.call('ZREM', queue, member) end
  elseif member ~= '*' and waiters == 0 then
    redis.call('DEL', lease)
    -- The usual case. Redis spends as much on a table as on a command.
    if #KEYS == 3 then return 1 end
    reply = 1
  else
    left = left or {}
    left[lease] = {token, queue, string.byte(how) ~= 45, member == '*', i}
    reply = 1
  end
  replies = replies or {}
  replies[i] = reply
end
-- Most releases end here. The functions below would cost them a sixth more.
if not left then return replies end

-- include mutex.mint.part.lua

-- include waiting.is-heard.part.lua

-- include mutex.hand-on.part.lua

for lease, rest in pairs(left) do
  local isDone, problem = pcall(function()
    local token, queue, isFair, isForced = rest[1], rest[2], rest[3], rest[4]
    -- The holder believes that it has the lock, and gets it back where no token stands for those who came later.
    if isForced and redis.call('EXISTS', token) == 0 then mint(token) end
    handOn(lease, token, queue, isFair)
  end)
  if not isDone then
    replies[rest[5]] = type(problem) == 'table' and problem or {err = problem}
  end
end
return replies
