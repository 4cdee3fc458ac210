#!lua flags=allow-oom
-- Moves cursors of members forward and frees what all have passed. A cursor never moves back, and no member is added.
--
-- Takes acks of several chats, which have several tags: only on a server without slots, where one call costs a third of
-- what one for each chat costs. Nothing is done for one chat that depends on another; where there are slots, the server
-- refuses the call before it begins (CROSSSLOT), and each chat gets a call of its own.
--
-- KEYS
--   chats...     for each chat: `chat`, ZSET, see src/keys.ts; `log`, LIST of entries, UNLINK; `uncounted`, ZSET id -> id, UNLINK
-- ARGV
--   keepAcked    how many of the newest messages are kept when all have acked them
--   counts       for each chat a u8, how many acks it has; '' where each has one
--   only         who acks, as stored; '' where they are several
--   acks...      for each: the member as stored, where they are several; -epoch, ms, in which the id was given, as the head has
--                it, or '' for that of the chat, one for all acks of a chat; the last id that is acked
-- RETURNS
--   for each chat its newest id, or nil: there is no such chat; then for each ack the member's cursor, -1: no message has
--   that id (yet), nil: not a member, or no chat
local keepAcked, counts, only = tonumber(ARGV[1]), ARGV[2], ARGV[3]
local isOnly = only ~= ''

local replies, at, size = {}, 4, 0
for c = 1, #KEYS, 3 do
  local chat, log, uncounted = KEYS[c], KEYS[c + 1], KEYS[c + 2]
  -- `lowest` of the cursors that were moved, as they were.
  local last, lowest
  if counts == '' then
    -- What nearly all calls are: without the tables that several would need.
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
        -- A string that is there costs a tenth of what Redis makes of a number.
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
    -- Otherwise somebody else is the last, and was.
    if floor > lowest then
      local cursors = chat
-- include log.trim.part.lua
    end
  end
end
return replies
