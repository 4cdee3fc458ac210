#!lua flags=allow-oom
-- Moves cursors of members forward and frees the entries that all have acked. A cursor never moves back, and no member is
-- added.
-- A call may contain acks of several chats, but only on a server without slots, where it costs a third of separate calls.
-- The chats are independent. A server with slots refuses the call before it begins (CROSSSLOT), and each chat gets its own
-- call.
--
-- KEYS
--   chats...     for each chat: `chat`, ZSET, see src/keys.ts; `log`, LIST of entries, UNLINK; `uncounted`, ZSET id -> id, UNLINK
-- ARGV
--   keepAcked    number of newest messages to keep when all members have acked them
--   counts       for each chat a u8, its number of acks; '' where each has one
--   only         the member of all acks, as stored; '' for several members
--   acks...      for each: the member as stored, unless `only`; -epoch of the id, ms, as the head has it, or '' for any, the same
--                for all acks of a chat; the last id that is acked
-- RETURNS
--   for each chat its newest id, or nil: there is no such chat; then for each of its acks the member's cursor; -1: the id is above
--   the newest; nil: not a member, or no chat
local keepAcked, counts, only = tonumber(ARGV[1]), ARGV[2], ARGV[3]
local isOnly = only ~= ''

local replies, at, size = {}, 4, 0
for c = 1, #KEYS, 3 do
  local chat, log, uncounted = KEYS[c], KEYS[c + 1], KEYS[c + 2]
  -- `lowest`: the lowest old cursor among those that moved.
  local last, lowest
  if counts == '' then
    -- The usual case, without the tables for several acks.
    local member = only
    if not isOnly then
      member = ARGV[at]
      at = at + 1
    end
    local epoch, upToText = ARGV[at], ARGV[at + 1]
    at = at + 2
    local scores
    if epoch == '' then
      scores = redis.call('ZMSCORE', chat, '\0l', member)
    else
      scores = redis.call('ZMSCORE', chat, '\0l', member, '\0e')
    end
    local score, upTo, cursor = scores[2], tonumber(upToText), false
    last = scores[1] and 0 - scores[1]
    if score then
      score = tonumber(score)
      local fraction = score % 1
      cursor = score - fraction
      if upTo > last or epoch ~= '' and scores[3] ~= epoch then
        cursor = -1
      elseif upTo > cursor then
        lowest, cursor = cursor, upTo
        -- Redis converts a number ten times slower than a string.
        if fraction == 0 then
          redis.call('ZADD', chat, upToText, member)
        else
          redis.call('ZADD', chat, upToText .. (fraction == 0.5 and '.5' or '.25'), member)
        end
      end
    end
    replies[size + 1], replies[size + 2] = last, cursor
    size = size + 2
  else
    local names, ids, moved, written, epoch = {}, {}, {}, {}, nil
    for i = 1, string.byte(counts, (c + 2) / 3) do
      names[i] = only
      if not isOnly then
        names[i] = ARGV[at]
        at = at + 1
      end
      epoch, ids[i] = ARGV[at], tonumber(ARGV[at + 1])
      at = at + 2
    end
    local scores = redis.call('ZMSCORE', chat, '\0l', '\0e', unpack(names))
    last = scores[1] and 0 - scores[1]
    replies[size + 1] = last
    local isOther = epoch ~= '' and scores[2] and scores[2] ~= epoch
    for i = 1, #names do
      local name, upTo = names[i], ids[i]
      local score, cursor = moved[name] or tonumber(scores[i + 2]), false
      if score then
        local fraction = score % 1
        cursor = score - fraction
        if upTo > last or isOther then
          cursor = -1
        elseif upTo > cursor then
          if not lowest or cursor < lowest then
            lowest = cursor
          end
          cursor = upTo
          moved[name] = upTo + fraction
          written[#written + 1] = upTo + fraction
          written[#written + 1] = name
        end
      end
      replies[size + 1 + i] = cursor
    end
    size = size + 1 + #names
    if lowest then
      redis.call('ZADD', chat, unpack(written))
    end
  end
  if lowest then
    local floor = math.floor(redis.call('ZRANGE', chat, '4', '4', 'WITHSCORES')[2])
    -- Otherwise another member is still the slowest.
    if floor > lowest then
      local cursors = chat
-- include log.trim.part.lua
    end
  end
end
return replies
