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
--   acks...      for each chat: the epoch, ms, in which the ids were given, or '' for that of the chat; the number of its acks;
--                for each of them the member as stored, and the last id that is acked
-- RETURNS
--   for each chat its newest id, or nil: there is no such chat; then for each ack the member's cursor, -1: no message has
--   that id (yet), nil: not a member, or no chat
local keepAcked = tonumber(ARGV[1])

local replies, at, size = {}, 2, 0
for c = 1, #KEYS, 3 do
  local chat, log, uncounted = KEYS[c], KEYS[c + 1], KEYS[c + 2]
  local epoch, count = ARGV[at], ARGV[at + 1]
  at = at + 2
  -- `lowest` of the cursors that were moved, as they were.
  local last, lowest
  if count == '1' then
    -- What nearly all calls are: without the tables that several would need.
    local member, upToText = ARGV[at], ARGV[at + 1]
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
      if upTo > last or epoch ~= '' and 0 - scores[3] ~= tonumber(epoch) then
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
    local names, moved, written = {}, {}, {}
    for i = 1, count do
      names[i] = ARGV[at + 2 * i - 2]
    end
    local scores = redis.call('ZMSCORE', chat, '\0l', '\0e', unpack(names))
    last = scores[1] and 0 - scores[1]
    replies[size + 1] = last
    local isOther = epoch ~= '' and scores[2] and 0 - scores[2] ~= tonumber(epoch)
    for i = 1, #names do
      local name, upTo = names[i], tonumber(ARGV[at + 2 * i - 1])
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
    at = at + 2 * #names
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
