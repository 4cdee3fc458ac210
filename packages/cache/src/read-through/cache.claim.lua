#!lua
-- Tells readers who found no usable value what to do for each entry: take what was stored meanwhile, load it under the
-- lease that they get, or wait for the one who has the lease. A lease that is older than the version of a tag of the entry
-- is worth nothing, since what is loaded under it is not stored: it goes to the next who asks. One that rests behind a load that
-- failed, which nobody has, goes to the next who has nothing to serve meanwhile.
--
-- KEYS
--   seq         STRING, the latest token; until a day after it
--   entries...  for each entry: its value (STRING, until it expires), its lease (STRING: the token, then the channels to wake,
--               one a line, or a dash while it rests; until leaseMs or restMs) and the tags that it is known to get (STRING: a token as their version)
-- ARGV
--   leaseMs     ms
--   channel     where this process hears that an entry is loaded, or '' if it doesn't listen
--   entries...  for each entry three: the first 8 bytes of the value that was read, or ''; 1 if that is served meanwhile, else 0;
--               the number of its tags
-- RETURNS
--   the server's time (ms); then two for each entry: 1 and a value that was not seen, or 2 and the token of the lease,
--   or 3 and, as text, for how long the lease of somebody else still runs (ms) and its token
local seq = KEYS[1]
local leaseMs, channel = ARGV[1], ARGV[2]

-- Channels in one lease; a process beyond that looks again when the lease ends.
local MAX_BYTES = 16384

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
-- include cache.token.part.lua

local replies = { now }
local key = 2
for index = 3, #ARGV, 3 do
  local value, lease, tags = KEYS[key], KEYS[key + 1], tonumber(ARGV[index + 2])
  local found = redis.call('GET', value)
  local isNew = found and string.sub(found, 1, 8) ~= ARGV[index]
  local held = not isNew and redis.call('GET', lease)
  local holder = held and string.match(held, '^[^\n]*')
  local isResting = held and string.sub(held, #holder + 1) == '\n-\n'
  local isVoid = isResting and ARGV[index + 1] == '0'
  for tag = key + 2, key + 1 + tags do
    local version = held and not isVoid and redis.call('GET', KEYS[tag])
    isVoid = isVoid or (version and tonumber(version) > tonumber(holder))
  end
  if held and not isVoid then
    if channel ~= '' and not isResting and #held < MAX_BYTES and not string.find(held, '\n' .. channel .. '\n', 1, true) then
      redis.call('APPEND', lease, channel .. '\n')
    end
    replies[#replies + 1] = 3
    replies[#replies + 1] = math.max(1, redis.call('PTTL', lease)) .. ' ' .. holder
  elseif isNew then
    replies[#replies + 1] = 1
    replies[#replies + 1] = found
  else
    local token = nextToken()
    -- Who waits for the old lease waits for the new one from now on.
    redis.call('SET', lease, token .. (held and not isResting and string.sub(held, #holder + 1) or '\n'), 'PX', leaseMs)
    replies[#replies + 1] = 2
    replies[#replies + 1] = token
  end
  key = key + 2 + tags
end
return replies
