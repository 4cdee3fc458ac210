#!lua flags=allow-oom
-- Marks tags as revalidated: at once, or stale now and perhaps expired later.
--
-- KEYS
--   seq      STRING, the latest token; until keepMs after it
--   tags...  STRING, three tokens and an instant: entries with an older token than the first are expired, than the second stale,
--            than the third expired after the instant (ms); until keepMs
-- ARGV
--   keepMs    ms, longer than any entry lives
--   mode      now: expired at once; stale: never expired; later: expired after expireMs
--   expireMs  ms, with the mode later
-- RETURNS
--   the token
local seq = KEYS[1]
local keepMs, mode, expireMs = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])

-- include server.time.part.lua
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
-- The counter follows the clock, so that a lost one does not restart below the tokens of entries.
local last = tonumber(redis.call('GET', seq) or 0)
local token = math.max(last + 1, tonumber(time[1]) * 1000000 + tonumber(time[2]))
redis.call('SET', seq, string.format('%.0f', token), 'PX', keepMs)

for index = 2, #KEYS do
  local record = redis.call('GET', KEYS[index]) or '0 0 0 0'
  local expired, stale, later, laterAt = string.match(record, '^(%d+) (%d+) (%d+) (%d+)$')
  expired, stale, later, laterAt = tonumber(expired or 0), tonumber(stale or 0), tonumber(later or 0), tonumber(laterAt or 0)
  if later > 0 and laterAt <= now then
    expired, later, laterAt = math.max(expired, later), 0, 0
  end
  if mode == 'now' then
    expired = token
  else
    stale = token
    if mode == 'later' then
      -- The earlier instant of two: an entry may expire too early, never too late.
      laterAt = later > 0 and math.min(laterAt, now + expireMs) or now + expireMs
      later = token
    end
  end
  redis.call('SET', KEYS[index], string.format('%.0f %.0f %.0f %.0f', expired, stale, later, laterAt), 'PX', keepMs)
end
return string.format('%.0f', token)
