#!lua flags=allow-oom
-- Stores progress and log lines of running tasks. Refuses reports of attempts without a lease. Reports have a size limit,
-- so they are accepted while memory is full.
--
-- KEYS
--   attempts     HASH id -> last attempt; A u32 token … while active, C … cancelled
--   progress     HASH id -> JSON; deleted with the task's record
--   logs         HASH id -> lines "<ms since the epoch> <text>\n", the last 100 and 16,384 bytes; deleted with the task's record
--   events       STREAM
-- ARGV
--   keepEvents   maximum of stored events; 0: none are written
--   publish      PUBLISH or SPUBLISH
--   entries...   four for each, 200 at most, no id twice under one token: id; token; JSON or ""; lines that end in \n, or ""
-- RETURNS
--   a string with one character an entry: 1 stored, 0 lease lost, C cancelled
local attempts, progress, logs, events = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local keepEvents, publish = tonumber(ARGV[1]), ARGV[2]
local given = { unpack(ARGV, 3) }
local MOST_LINES = 100
local MOST_BYTES = 16384

-- include server.time.part.lua
local stamp = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000)) .. ' %1\n'
local entries, ids, replies, operands = {}, {}, {}, {}
for i = 1, #given, 4 do
  ids[#ids + 1] = given[i]
  entries[#entries + 1] = { token = tonumber(given[i + 1]), progress = given[i + 2], lines = given[i + 3] }
end

-- include task.record.part.lua
-- include task.events.part.lua

-- Drops the oldest lines beyond the limits.
local function trim(text)
  local _, count = string.gsub(text, '\n', '')
  local from = 1
  while count > MOST_LINES or #text - from + 1 > MOST_BYTES do
    from = string.find(text, '\n', from, true) + 1
    count = count - 1
  end
  return string.sub(text, from)
end

local lines = {}
for i, last in ipairs(redis.call('HMGET', attempts, unpack(ids))) do
  local id, entry = ids[i], entries[i]
  local state, token
  if last then
    state, token = struct.unpack('>c1I', last)
  end
  if state == 'A' and token == entry.token then
    replies[i] = '1'
    if entry.progress ~= '' then
      operands[#operands + 1] = id
      operands[#operands + 1] = entry.progress
      recordEvent('P', id, entry.progress)
    end
    if entry.lines ~= '' then
      local stamped = string.gsub(entry.lines, '([^\n]*)\n', stamp)
      lines[#lines + 1] = id
      lines[#lines + 1] = trim((redis.call('HGET', logs, id) or '') .. stamped)
    end
  else
    replies[i] = state == 'C' and 'C' or '0'
  end
end
if #operands > 0 then
  redis.call('HSET', progress, unpack(operands))
end
if #lines > 0 then
  redis.call('HSET', logs, unpack(lines))
end
publishEvents()
return table.concat(replies)
