-- Lets in whoever stands first and fits: the readers that follow one another, or one writer if nobody else is in.
-- Waiters whose process is gone are dropped. A probe asks even a writer that has to wait whether it is there, once it has
-- waited for a second, so that a dead one doesn't keep the readers behind it out. Returns 1 if there may be more to let
-- in, else 0: what is left by a call that found only dead waiters is for a re-check, which puts those back that weren't
-- heard of yet. Expects write, readers, token, queue, publish, isHeard, and no writer.
local function handOn(isProbing)
  local MAX_READERS, MAX_DEAD, PROBE_US, TOKEN_MS = 64, 100, 1000000, '604800000'
  local time = redis.call('TIME')
  local last = tonumber(redis.call('GET', token) or 0)
  -- A clock that was set back stands still instead, until it is where it was.
  local now = math.max(time[1] * 1000000 + time[2], last)
  local channels = string.gsub(write, 'write$', 'rw-grant:')
  local looks, dead, longestMs, admitted, writer, isOver = 0, 0, 0, {}, nil, false
  while not isOver do
    -- One writer after the other is the rule; only readers need to be looked at in numbers.
    local heads = redis.call('ZRANGE', queue, looks, looks == 0 and 0 or looks + MAX_READERS - 2)
    isOver = #heads < (looks == 0 and 1 or MAX_READERS - 1)
    for _, head in ipairs(heads) do
      local contender, waiter, claimMs, role = string.match(head, '^([^.]+)%.([^.]+)%.([1-9]%d*)%.([rw])$')
      local isBlocked = role == 'w' and #admitted > 0
      if role == 'w' and not isBlocked and redis.call('EXISTS', readers) == 1 then
        redis.call('ZREMRANGEBYSCORE', readers, '-inf', now)
        isBlocked = redis.call('EXISTS', readers) == 1
      end
      if isBlocked then
        -- Whoever has come just now may not be listening yet.
        local isOld = isProbing and #admitted == 0 and now - redis.call('ZSCORE', queue, head) > PROBE_US
        if not isOld or isHeard(channels .. contender) then
          isOver = true
          break
        end
      end
      looks = looks + 1
      local minted = math.max(now, last + 1)
      if contender and not isBlocked and isHeard(channels .. contender) then
        local grant = string.format('%s:%.0f:%.0f:%s.%s', waiter, minted, now, claimMs, role)
        redis.call(publish, channels .. contender, grant)
        last = minted
        if role == 'w' then
          writer, longestMs, isOver = head, claimMs, true
          break
        end
        admitted[#admitted + 1] = now + claimMs * 1000
        admitted[#admitted + 1] = head
        longestMs = math.max(longestMs, claimMs)
      else
        dead = dead + 1
      end
      if #admitted == 2 * MAX_READERS or dead == MAX_DEAD then
        isOver = true
        break
      end
    end
  end
  if looks > 0 then redis.call('ZREMRANGEBYRANK', queue, 0, looks - 1) end
  if writer then redis.call('SET', write, writer, 'PX', longestMs) end
  if #admitted > 0 then
    redis.call('ZADD', readers, unpack(admitted))
    if redis.call('PEXPIRE', readers, longestMs, 'NX') == 0 then redis.call('PEXPIRE', readers, longestMs, 'GT') end
  end
  if writer or #admitted > 0 then redis.call('SET', token, last, 'PX', TOKEN_MS) end
  return #admitted == 2 * MAX_READERS and 1 or 0
end
